//! Rows of many columns: whatever the lengths of their values, a row is stored, changed and put back, or refused before
//! anything is changed. None leaves the database without changes.

use std::sync::Arc;

use verso_env::Env;
use verso_sim::Rng;
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::{ColumnSpec, CommitMode, Engine, EngineOptions, StorageError, Txn, TxnOptions};
use verso_types::{Batch, Column, Physical, SqlType, Value};

use crate::support::{options, sound};

const PAGE_SIZES: [u32; 4] = [4096, 8192, 16384, 32768];

/// A row: its bytes by column, none for NULL. Columns of fixed width have eight.
type Wide = Vec<Option<Vec<u8>>>;

/// A table of so many columns, every `fixed`th of them of fixed width; `None` where no page has room for them.
fn table(dir: &std::path::Path, page_size: u32, columns: usize, fixed: usize) -> Option<(Engine, Arc<Heap>)> {
    let options = EngineOptions { page_size, ..options() };
    let engine = Engine::create(Env::real(), &dir.join("t.verso"), options).unwrap();
    let physical = |at: usize| if at % fixed == fixed - 1 { Physical::I64 } else { Physical::Bytes };
    let specs: Vec<ColumnSpec> =
        (0..columns).map(|at| ColumnSpec { id: at as u16 + 1, physical: physical(at) }).collect();
    let mut txn = engine.begin(TxnOptions::default());
    let object = match engine.create_heap(&mut txn, &specs) {
        Ok(object) => object,
        Err(StorageError::TooLarge { .. }) => return None,
        Err(error) => panic!("{error}"),
    };
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    Some((engine, heap))
}

fn row(rng: &mut Rng, heap: &Heap, length: impl Fn(&mut Rng) -> usize, nulls: u64) -> Wide {
    let mut value = |physical| {
        let length = if physical == Physical::I64 { 8 } else { length(rng) };
        (nulls == 0 || !rng.one_in(nulls)).then(|| rng.bytes(length))
    };
    heap.columns().iter().map(|spec| value(spec.physical)).collect()
}

/// The values of some columns as storage takes them.
fn batch(heap: &Heap, columns: std::ops::Range<usize>, rows: &[Wide]) -> Batch {
    let column = |at: usize| {
        let mut column = Column::new(heap.columns()[at].physical);
        for row in rows {
            let (value, ty) = match (&row[at], column.physical()) {
                (None, _) => {
                    column.push_null();
                    continue;
                }
                (Some(bytes), Physical::I64) => {
                    (Value::Int8(i64::from_le_bytes(bytes.as_slice().try_into().unwrap())), SqlType::Int8)
                }
                (Some(bytes), _) => (Value::Bytes(bytes.as_slice().into()), SqlType::Bytea),
            };
            column.push_value(&value, &ty).unwrap();
        }
        column
    };
    Batch::from_columns(columns.map(column).collect())
}

fn read(engine: &Engine, heap: &Arc<Heap>) -> Vec<Wide> {
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    let ids: Vec<u16> = heap.columns().iter().map(|spec| spec.id).collect();
    let mut scan = heap.scan(&txn, ScanSpec { columns: &ids, pages: 0..u32::MAX });
    let (mut out, mut rows) = (ScanBatch::default(), Vec::new());
    while scan.next(&mut out).unwrap() {
        for at in 0..out.batch.rows {
            let value = |column: &Column| match column.is_null(at) {
                true => None,
                false if column.physical() == Physical::I64 => {
                    Some(column.data.i64s().unwrap()[at].to_le_bytes().to_vec())
                }
                false => Some(column.bytes_at(at).to_vec()),
            };
            rows.push(out.batch.columns.iter().map(value).collect());
        }
    }
    rows
}

fn insert(heap: &Arc<Heap>, txn: &mut Txn, rows: &[Wide]) {
    txn.begin_statement().unwrap();
    heap.insert(txn, &batch(heap, 0..heap.columns().len(), rows), None).unwrap();
    txn.end_statement().unwrap();
}

/// Gives every record of the table the values of `rows` in some columns.
fn update(heap: &Arc<Heap>, txn: &mut Txn, columns: std::ops::Range<usize>, rows: &[Wide]) {
    txn.begin_statement().unwrap();
    let ids: Vec<u16> = columns.clone().map(|at| heap.columns()[at].id).collect();
    let mut scan = heap.scan(txn, ScanSpec { columns: &[], pages: 0..u32::MAX });
    let (mut out, mut first) = (ScanBatch::default(), 0);
    while scan.next(&mut out).unwrap() {
        let count = out.records.len();
        let values = batch(heap, columns.clone(), &rows[first..first + count]);
        heap.update(txn, &out, None, &ids, &values).unwrap();
        first += count;
    }
    txn.end_statement().unwrap();
}

fn sorted(mut rows: Vec<Wide>) -> Vec<Wide> {
    rows.sort();
    rows
}

#[test]
fn a_row_of_short_values_that_exceed_a_page_is_stored() {
    for page_size in PAGE_SIZES {
        for columns in [60, 100, 146, 200, 300, 350, 434] {
            let dir = tempfile::tempdir().unwrap();
            let Some((engine, heap)) = table(dir.path(), page_size, columns, usize::MAX) else { continue };
            let mut expected = Vec::new();
            for length in [0, 1, 10, 18, 20, 30, 40, 60, 64, 65, 80, 200] {
                let row = row(&mut Rng::new(length as u64), &heap, |_| length, 0);
                let mut txn = engine.begin(TxnOptions::default());
                insert(&heap, &mut txn, std::slice::from_ref(&row));
                txn.commit(CommitMode::Wait).unwrap();
                expected.push(row);
            }
            assert_eq!(
                sorted(read(&engine, &heap)),
                sorted(expected),
                "{columns} columns, {page_size} bytes"
            );
            sound(&engine);
        }
    }
}

#[test]
fn rows_of_any_lengths_are_stored_widened_narrowed_and_put_back() {
    for seed in 0..40 {
        let mut rng = Rng::new(seed);
        let page_size = *rng.pick(&PAGE_SIZES);
        let (columns, fixed) = (1 + rng.index(434), 2 + rng.index(20));
        let dir = tempfile::tempdir().unwrap();
        let Some((engine, heap)) = table(dir.path(), page_size, columns, fixed) else { continue };
        let mut expected: Vec<Wide> = Vec::new();
        let nulls = *rng.pick(&[0, 2, 10]);
        let rows = |rng: &mut Rng, heap: &Heap, count: usize| -> Vec<Wide> {
            // About a page together, each longer than others by chance.
            let most = *rng.pick(&[8, 40, 64, 65, 3 * page_size as usize / columns, page_size as usize / 3]);
            let most = most.min(200_000 / columns).max(1);
            // Some of a batch are short, behind others that are not.
            let most = |rng: &mut Rng| if rng.one_in(3) { 4 } else { most };
            (0..count)
                .map(|_| {
                    let most = most(rng);
                    row(rng, heap, |rng| rng.index(most + 1), nulls)
                })
                .collect()
        };
        for step in 0..6 {
            let count = 1 + rng.index(if step % 2 == 0 { 1 } else { 6 });
            let new = rows(&mut rng, &heap, count);
            let mut txn = engine.begin(TxnOptions::default());
            insert(&heap, &mut txn, &new);
            txn.commit(CommitMode::Wait).unwrap();
            expected.extend(new);
            engine.set_packing(&heap, rng.one_in(2));
            engine.set_packing_delay(std::time::Duration::ZERO);
            engine.housekeeping().unwrap();
            // The order of the records is the scan's.
            let mut now = read(&engine, &heap);
            assert_eq!(sorted(now.clone()), sorted(expected.clone()), "seed {seed}");
            let part = rng.index(columns);
            let part = part..part + 1 + rng.index(columns - part);
            let mut txn = engine.begin(TxnOptions::default());
            for _ in 0..1 + rng.index(2) {
                let values = rows(&mut rng, &heap, now.len());
                update(&heap, &mut txn, part.clone(), &values);
                for (row, values) in now.iter_mut().zip(values) {
                    row[part.clone()].clone_from_slice(&values[part.clone()]);
                }
            }
            if rng.one_in(3) {
                txn.rollback().unwrap();
            } else {
                txn.commit(CommitMode::Wait).unwrap();
                expected = now;
            }
            assert_eq!(sorted(read(&engine, &heap)), sorted(expected.clone()), "seed {seed}");
        }
        sound(&engine);
    }
}
