//! Indexes through the engine: what they find, whom they refuse, what is left when all is done.

mod bounds;
mod build;
mod commands;
mod concurrently;
mod entries;
mod keys_alone;
mod parallel;
mod partial;
mod unique;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use verso_env::Env;
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::index::key;
use verso_storage::{
    ColumnSpec, CommitMode, Engine, EngineOptions, Index, IndexScanSpec, IndexSpec, Isolation, KeyPart,
    KeyRange, ObjectId, StorageError, SweepOptions, Txn, TxnOptions,
};
use verso_types::{Batch, Column, KeyType, Physical, SqlType, Value};

const COLUMNS: [ColumnSpec; 3] = [
    ColumnSpec { id: 1, physical: Physical::I64 },
    ColumnSpec { id: 2, physical: Physical::Bytes },
    ColumnSpec { id: 3, physical: Physical::I32 },
];
const TYPES: [SqlType; 3] = [SqlType::Int8, SqlType::Text, SqlType::Int4];

type Row = (i64, Option<String>, i32);

struct Table {
    engine: Engine,
    heap: Arc<Heap>,
    /// Unique, on the first column.
    primary: Arc<Index>,
    /// On the second column descending, then the third.
    second: Arc<Index>,
}

fn options() -> EngineOptions {
    EngineOptions {
        background: false,
        page_size: 4096,
        max_database_bytes: 1 << 30,
        ..EngineOptions::default()
    }
}

fn specs(table: ObjectId) -> [IndexSpec; 2] {
    let name = KeyPart { descending: true, nulls_first: true, ..KeyPart::ascending(2, KeyType::Bytes) };
    [
        IndexSpec {
            table,
            parts: vec![KeyPart::ascending(1, KeyType::I64)],
            unique: true,
            nulls_distinct: true,
            fill_factor: IndexSpec::FILL_FACTOR,
        },
        IndexSpec {
            table,
            parts: vec![name, KeyPart::ascending(3, KeyType::I32)],
            unique: false,
            nulls_distinct: true,
            fill_factor: IndexSpec::FILL_FACTOR,
        },
    ]
}

fn go_on(_: verso_storage::IndexProgress) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

impl Table {
    /// A table with `rows`, indexed before they come or afterwards.
    fn new(dir: &Path, rows: &[Row], indexed_first: bool) -> Table {
        let engine = Engine::create(Env::real(), &dir.join("t.verso"), options()).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
        let heap = engine.heap(object).unwrap();
        if !indexed_first {
            heap.insert(&mut txn, &batch(rows), None).unwrap();
        }
        let [primary, second] =
            specs(object).map(|spec| engine.create_index(&mut txn, spec, &mut go_on).unwrap());
        if indexed_first {
            heap.insert(&mut txn, &batch(rows), None).unwrap();
        }
        txn.commit(CommitMode::Wait).unwrap();
        let (primary, second) = (engine.index(primary).unwrap(), engine.index(second).unwrap());
        Table { engine, heap, primary, second }
    }

    /// The table after its database was closed and opened.
    fn reopened(self, dir: &Path, options: EngineOptions) -> Table {
        self.engine.close().unwrap();
        let objects = (self.heap.object, self.primary.object(), self.second.object());
        drop(self);
        let engine = Engine::open(Env::real(), &dir.join("t.verso"), options).unwrap();
        let heap = engine.heap(objects.0).unwrap();
        let (primary, second) = (engine.index(objects.1).unwrap(), engine.index(objects.2).unwrap());
        Table { engine, heap, primary, second }
    }

    fn begin(&self) -> Txn {
        let mut txn =
            self.engine.begin(TxnOptions { isolation: Isolation::Snapshot, ..TxnOptions::default() });
        txn.begin_statement().unwrap();
        txn.end_statement().unwrap();
        txn
    }

    fn insert(&self, txn: &mut Txn, rows: &[Row]) -> Result<(), StorageError> {
        self.statement(txn, |txn| self.heap.insert(txn, &batch(rows), None))
    }

    fn statement(
        &self,
        txn: &mut Txn,
        body: impl FnOnce(&mut Txn) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        txn.begin_statement()?;
        match body(txn) {
            Ok(()) => txn.end_statement(),
            Err(error) => {
                txn.abort_statement()?;
                Err(error)
            }
        }
    }

    /// Sets columns of the row with this key, found through the index.
    fn update(&self, txn: &mut Txn, id: i64, row: &Row, columns: &[u16]) -> Result<(), StorageError> {
        self.statement(txn, |txn| {
            let mut out = ScanBatch::default();
            assert!(self.heap.get(txn, &self.primary, &id_key(id), &[1], &mut out)?, "{id} is there");
            let all = batch(std::slice::from_ref(row));
            let picked = columns.iter().map(|column| all.columns[usize::from(*column) - 1].clone());
            self.heap.update(txn, &out, None, columns, &Batch::from_columns(picked.collect()))
        })
    }

    fn delete(&self, txn: &mut Txn, id: i64) -> Result<(), StorageError> {
        self.statement(txn, |txn| {
            let mut out = ScanBatch::default();
            assert!(self.heap.get(txn, &self.primary, &id_key(id), &[], &mut out)?, "{id} is there");
            self.heap.delete(txn, &out, None)
        })
    }

    /// The rows as the transaction sees them, the same through the heap and through every index.
    fn rows(&self, txn: &Txn) -> Vec<Row> {
        let mut scan = self.heap.scan(txn, ScanSpec { columns: &[1, 2, 3], pages: 0..u32::MAX });
        let (mut out, mut rows) = (ScanBatch::default(), Vec::new());
        while scan.next(&mut out).unwrap() {
            rows.extend(decode(&out));
        }
        rows.sort();
        let mut by_name = rows.clone();
        by_name.sort_by(|a, b| {
            let key = |row: &Row| (row.1.is_some(), std::cmp::Reverse(row.1.clone()), row.2);
            key(a).cmp(&key(b))
        });
        for descending in [false, true] {
            let mut through = self.through(txn, &self.primary, KeyRange::all(), descending);
            let mut second = self.through(txn, &self.second, KeyRange::all(), descending);
            if descending {
                through.reverse();
                second.reverse();
            }
            assert_eq!(through, rows);
            let keys = |rows: &[Row]| -> Vec<_> { rows.iter().map(|row| (row.1.clone(), row.2)).collect() };
            assert_eq!(keys(&second), keys(&by_name));
            second.sort();
            assert_eq!(second, rows);
        }
        rows
    }

    fn through(&self, txn: &Txn, index: &Arc<Index>, range: KeyRange, descending: bool) -> Vec<Row> {
        let spec = IndexScanSpec { columns: &[1, 2, 3], range, descending };
        let mut scan = self.heap.index_scan(txn, index, spec);
        let (mut out, mut rows) = (ScanBatch::default(), Vec::new());
        while scan.next(&mut out).unwrap() {
            rows.extend(decode(&out));
        }
        rows
    }

    fn now(&self) -> Vec<Row> {
        let mut txn = self.engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        self.rows(&txn)
    }

    fn sound(&self) {
        let report = self.engine.check(&mut |_| ()).unwrap();
        assert!(report.problems.is_empty(), "{:?}", report.problems);
    }

    /// Sweeps, so that nothing waits for purge, and proves that the indexes hold what they must and nothing else.
    fn settled(&self) {
        self.sound();
        for _ in 0..2 {
            self.engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
            self.engine.housekeeping().unwrap();
        }
        assert_eq!(self.engine.space().version_pages, 0, "V4: nobody needs them");
        self.sound();
    }
}

fn id_key(id: i64) -> Vec<u8> {
    key::encode(&[KeyPart::ascending(1, KeyType::I64)], [(&Value::Int8(id), &SqlType::Int8)]).unwrap()
}

fn batch(rows: &[Row]) -> Batch {
    let mut columns = COLUMNS.map(|column| Column::new(column.physical));
    for (id, name, number) in rows {
        let name = name.as_deref().map_or(Value::Null, Value::text);
        for ((column, value), ty) in
            columns.iter_mut().zip([Value::Int8(*id), name, Value::Int4(*number)]).zip(&TYPES)
        {
            column.push_value(&value, ty).unwrap();
        }
    }
    Batch::from_columns(columns.into())
}

fn decode(out: &ScanBatch) -> Vec<Row> {
    (0..out.batch.rows)
        .map(|row| {
            let value = |column: usize| out.batch.columns[column].value(row, &TYPES[column]);
            let name = value(1).as_str().map(str::to_owned);
            (value(0).as_i64().unwrap(), name, value(2).as_i64().unwrap() as i32)
        })
        .collect()
}

fn row(id: i64) -> Row {
    (id, (id % 5 != 0).then(|| format!("name {}", id % 37)), (id * 7 % 100) as i32)
}

fn fill(ids: impl Iterator<Item = i64>) -> Vec<Row> {
    ids.map(row).collect()
}

/// All numbers below `count`, shuffled.
fn shuffled(count: i64) -> impl Iterator<Item = i64> {
    (0..count).map(move |at| at * 7919 % count)
}

#[test]
fn an_index_finds_what_was_there_and_what_comes() {
    let count = 4003; // no multiple of the step
    for indexed_first in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let table = Table::new(dir.path(), &fill(shuffled(count)), indexed_first);
        assert_eq!(table.now(), fill(0..count));
        table.sound();
        let mut txn = table.begin();
        txn.begin_statement().unwrap();
        let mut out = ScanBatch::default();
        for id in [-1, 0, 17, count - 1, count] {
            let found = table.heap.get(&txn, &table.primary, &id_key(id), &[1, 2, 3], &mut out).unwrap();
            assert_eq!(found, (0..count).contains(&id));
            assert_eq!(decode(&out), if found { vec![row(id)] } else { Vec::new() });
        }
        let parts = &table.primary.spec().parts;
        let (low, high) = (Value::Int8(100), Value::Int8(160));
        let range =
            KeyRange::of(parts, &[SqlType::Int8], &[], Some((&low, true)), Some((&high, false))).unwrap();
        assert_eq!(table.through(&txn, &table.primary, range, false), fill(100..160));
        let name = [Value::text("name 3")];
        let parts = &table.second.spec().parts;
        let range = KeyRange::of(parts, &[SqlType::Text, SqlType::Int4], &name, None, None).unwrap();
        let named = table.through(&txn, &table.second, range, true);
        let expected = (0..count).filter(|id| row(*id).1.as_deref() == Some("name 3")).count();
        assert_eq!(named.len(), expected);
        assert!(named.is_sorted_by(|a, b| a.2 >= b.2));
        let statistics = table.primary.statistics(&txn).unwrap();
        assert!(statistics.height >= 2 && statistics.entries > 1000, "{statistics:?}");
        drop(txn);
        drop(out);
        let again = table.reopened(dir.path(), options());
        assert_eq!(again.now(), fill(0..count));
        again.settled();
    }
}

#[test]
fn i1_a_snapshot_reads_the_same_through_every_index_whatever_happens_later() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..300), true);
    let mut snapshots = Vec::new();
    for pass in 0..4i64 {
        let mut old = table.begin();
        old.begin_statement().unwrap();
        let seen = table.rows(&old);
        snapshots.push((old, seen));
        let mut txn = table.begin();
        for id in (pass..300).step_by(3) {
            // Keys go away and come back: every other pass has the same ones.
            let moved = if pass % 2 == 0 { 1000 + id } else { id };
            let from = table.rows_key(&txn, id);
            table.update(&mut txn, from, &(moved, row(id + pass).1, pass as i32), &[1, 2, 3]).unwrap();
        }
        for id in (0..300).step_by(50) {
            let key = table.rows_key(&txn, id);
            table.delete(&mut txn, key).unwrap();
            table.insert(&mut txn, &[row(id)]).unwrap();
        }
        txn.commit(CommitMode::Wait).unwrap();
        table.engine.housekeeping().unwrap();
        table.sound();
        for (old, seen) in &snapshots {
            assert_eq!(table.rows(old), *seen);
        }
    }
    while let Some((old, seen)) = snapshots.pop() {
        assert_eq!(table.rows(&old), seen);
        drop(old);
        table.engine.housekeeping().unwrap();
        table.sound();
    }
    table.settled();
}

impl Table {
    /// The key under which the row of this number is now.
    fn rows_key(&self, txn: &Txn, id: i64) -> i64 {
        let mut out = ScanBatch::default();
        let found = self.heap.get(txn, &self.primary, &id_key(id), &[1], &mut out).unwrap();
        if found { id } else { 1000 + id }
    }
}

/// A key goes away and comes back a thousand times under snapshots of before and in between.
#[test]
fn i1_snapshots_read_the_same_while_keys_come_and_go() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..20), true);
    let before = table.begin();
    let mut snapshots = vec![(table.rows(&before), before)];
    for round in 0..1000 {
        let mut txn = table.begin();
        // The primary key too: 7 becomes 1007 and 7 again, twice in one transaction now and then.
        let (from, to) = if round % 2 == 0 { (7, 1007) } else { (1007, 7) };
        table.update(&mut txn, from, &(to, Some(format!("name {to}")), 7), &[1, 2]).unwrap();
        if round % 10 == 3 {
            table.update(&mut txn, to, &(from, None, 8), &[1, 2, 3]).unwrap();
            table.update(&mut txn, from, &(to, Some(format!("name {to}")), 7), &[1, 2, 3]).unwrap();
        }
        txn.commit(CommitMode::Wait).unwrap();
        if round % 250 == 100 {
            let middle = table.begin();
            snapshots.push((table.rows(&middle), middle));
        }
        if round % 100 == 99 {
            table.engine.housekeeping().unwrap();
            for (rows, txn) in &snapshots {
                assert_eq!(&table.rows(txn), rows, "round {round}");
            }
        }
    }
    for (rows, txn) in snapshots {
        assert_eq!(table.rows(&txn), rows);
        txn.commit(CommitMode::Wait).unwrap();
    }
    table.settled();
}
