//! What the tests of tables share: a table of three columns, its rows, statements on it.

use std::path::Path;
use std::sync::Arc;

use verso_env::Env;
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::{ColumnSpec, CommitMode, Engine, EngineOptions, StorageError, Txn, TxnOptions};
use verso_types::{Batch, Column, Physical, SqlType, Value};

/// Number, name, amount.
pub const COLUMNS: [ColumnSpec; 3] = [
    ColumnSpec { id: 1, physical: Physical::I64 },
    ColumnSpec { id: 2, physical: Physical::Bytes },
    ColumnSpec { id: 3, physical: Physical::F64 },
];

/// Small pages, and no threads.
pub fn options() -> EngineOptions {
    EngineOptions {
        background: false,
        page_size: 4096,
        max_database_bytes: 1 << 30,
        ..EngineOptions::default()
    }
}

/// A database with one empty table.
pub fn create(dir: &Path) -> (Engine, Arc<Heap>) {
    let engine = Engine::create(Env::real(), &dir.join("t.verso"), options()).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    (engine, heap)
}

/// A row of [`COLUMNS`].
pub type Row = (i64, Option<String>, f64);

/// Rows as storage takes them.
pub fn batch(rows: &[Row]) -> Batch {
    let mut columns = COLUMNS.map(|column| Column::new(column.physical));
    for (id, name, amount) in rows {
        columns[0].push_value(&Value::Int8(*id), &SqlType::Int8).unwrap();
        let name = name.as_ref().map_or(Value::Null, |name| Value::Text(name.as_str().into()));
        columns[1].push_value(&name, &SqlType::Text).unwrap();
        columns[2].push_value(&Value::Float8(*amount), &SqlType::Float8).unwrap();
    }
    Batch::from_columns(columns.into())
}

/// What the transaction sees, in the order of the records.
pub fn read(heap: &Arc<Heap>, txn: &Txn) -> Vec<Row> {
    let mut scan = heap.scan(txn, ScanSpec { columns: &[1, 2, 3], pages: 0..u32::MAX });
    let (mut out, mut rows) = (ScanBatch::default(), Vec::new());
    while scan.next(&mut out).unwrap() {
        rows.append(&mut rows_of(&out));
    }
    rows
}

/// The rows of a batch with all columns.
pub fn rows_of(out: &ScanBatch) -> Vec<Row> {
    let row = |row: usize| {
        let name = match out.batch.columns[1].value(row, &SqlType::Text) {
            Value::Text(text) => Some(text.to_string()),
            _ => None,
        };
        let Value::Int8(id) = out.batch.columns[0].value(row, &SqlType::Int8) else { panic!("an id") };
        let Value::Float8(amount) = out.batch.columns[2].value(row, &SqlType::Float8) else {
            panic!("an amount")
        };
        (id, name, amount)
    };
    (0..out.batch.rows).map(row).collect()
}

/// What is committed.
pub fn now(engine: &Engine, heap: &Arc<Heap>) -> Vec<Row> {
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    read(heap, &txn)
}

/// One statement that adds `by` to the amounts and appends `suffix` to the names of rows that `which` picks.
pub fn bump(
    heap: &Arc<Heap>,
    txn: &mut Txn,
    suffix: &str,
    by: f64,
    which: impl Fn(i64) -> bool,
) -> Result<(), StorageError> {
    let mut scan = heap.scan(txn, ScanSpec { columns: &[1, 2, 3], pages: 0..u32::MAX });
    let mut out = ScanBatch::default();
    while scan.next(&mut out)? {
        let (mut selection, mut rows) = (Vec::new(), Vec::new());
        for row in 0..out.batch.rows {
            let Value::Int8(id) = out.batch.columns[0].value(row, &SqlType::Int8) else { panic!("an id") };
            if which(id) {
                selection.push(row as u32);
                let Value::Float8(amount) = out.batch.columns[2].value(row, &SqlType::Float8) else {
                    panic!("an amount")
                };
                let name = match out.batch.columns[1].value(row, &SqlType::Text) {
                    Value::Text(text) => Some(format!("{text}{suffix}")),
                    _ => None,
                };
                rows.push((id, name, amount + by));
            }
        }
        let mut values = batch(&rows);
        values.columns.remove(0);
        heap.update(txn, &out, Some(&selection), &[2, 3], &values)?;
    }
    Ok(())
}

/// Deletes the rows that `which` picks.
pub fn remove(heap: &Arc<Heap>, txn: &mut Txn, which: impl Fn(i64) -> bool) {
    try_remove(heap, txn, which).unwrap();
}

/// As [`remove`], where something may fail.
pub fn try_remove(heap: &Arc<Heap>, txn: &mut Txn, which: impl Fn(i64) -> bool) -> Result<(), StorageError> {
    let mut scan = heap.scan(txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
    let mut out = ScanBatch::default();
    while scan.next(&mut out)? {
        let ids: Vec<i64> = out.batch.columns[0].data.i64s().unwrap().to_vec();
        let selection: Vec<u32> = (0..ids.len() as u32).filter(|row| which(ids[*row as usize])).collect();
        heap.delete(txn, &out, Some(&selection))?;
    }
    Ok(())
}

/// Rows with these numbers.
pub fn rows(range: std::ops::Range<i64>) -> Vec<Row> {
    range.map(|id| (id, (id % 7 != 0).then(|| format!("name {id}")), id as f64 / 2.0)).collect()
}

/// Inserts and commits [`rows`].
pub fn fill(engine: &Engine, heap: &Arc<Heap>, range: std::ops::Range<i64>) {
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    heap.insert(&mut txn, &batch(&rows(range)), None).unwrap();
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
}

/// Nothing breaks a rule.
pub fn sound(engine: &Engine) {
    let report = engine.check(&mut |_| ()).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}
