//! Indexes through the engine: what they find, whom they refuse, what is left when all is done.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use verso_env::Env;
use verso_sim::{FaultPlan, World, seeds};
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
        },
        IndexSpec {
            table,
            parts: vec![name, KeyPart::ascending(3, KeyType::I32)],
            unique: false,
            nulls_distinct: true,
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

#[test]
fn i2_a_key_is_had_once() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..100), true);
    let mut txn = table.begin();
    let duplicate = |result: Result<(), StorageError>| {
        assert!(
            matches!(result, Err(StorageError::Unique { index, .. }) if index == table.primary.object()),
            "{result:?}"
        );
    };
    duplicate(table.insert(&mut txn, &[row(200), row(50)]));
    duplicate(table.insert(&mut txn, &[row(200), row(201), row(200)]));
    table.insert(&mut txn, &[row(200)]).unwrap();
    duplicate(table.insert(&mut txn, &[row(200)]));
    duplicate(table.update(&mut txn, 7, &row(8), &[1]));
    // What was deleted or moved away is free.
    table.delete(&mut txn, 50).unwrap();
    table.insert(&mut txn, &[row(50)]).unwrap();
    table.update(&mut txn, 51, &row(300), &[1]).unwrap();
    table.insert(&mut txn, &[row(51)]).unwrap();
    duplicate(table.update(&mut txn, 300, &row(51), &[1]));
    let expected: Vec<Row> = {
        let mut rows = fill((0..100).chain([200]));
        rows.push((300, row(51).1, row(51).2));
        rows
    };
    assert_eq!(table.rows(&txn), expected);
    txn.commit(CommitMode::Wait).unwrap();
    assert_eq!(table.now(), expected);
    table.settled();
}

#[test]
fn i2_an_update_is_checked_when_its_statement_ends_and_a_deferred_constraint_at_the_commit() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..500), true);
    let mut txn = table.begin();
    // id = id + 1 for every row.
    table
        .statement(&mut txn, |txn| {
            let mut scan = table.heap.scan(txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
            let mut out = ScanBatch::default();
            while scan.next(&mut out)? {
                let ids = out.batch.columns[0].data.i64s().unwrap().iter().map(|id| row(id + 1));
                let values =
                    Batch::from_columns(vec![batch(&ids.collect::<Vec<_>>()).columns.swap_remove(0)]);
                table.heap.update(txn, &out, None, &[1], &values)?;
            }
            Ok(())
        })
        .unwrap();
    assert_eq!(table.rows(&txn).iter().map(|row| row.0).collect::<Vec<_>>(), (1..501).collect::<Vec<_>>());
    txn.commit(CommitMode::Wait).unwrap();
    let mut txn = table.begin();
    txn.defer_unique(table.primary.object(), true);
    table.insert(&mut txn, &[row(7)]).unwrap();
    assert!(matches!(txn.check_unique_now(), Err(StorageError::Unique { .. })));
    let before = table.now();
    assert!(matches!(txn.commit(CommitMode::Wait), Err(StorageError::Unique { .. })));
    assert_eq!(table.now(), before);
    // Two keys change places.
    let mut txn = table.begin();
    txn.defer_unique(table.primary.object(), true);
    table.update(&mut txn, 1, &row(2), &[1]).unwrap();
    let mut out = ScanBatch::default();
    table
        .statement(&mut txn, |txn| {
            let spec =
                IndexScanSpec { columns: &[1, 3], range: KeyRange::prefix(&id_key(2)), descending: false };
            let mut scan = table.heap.index_scan(txn, &table.primary, spec);
            assert!(scan.next(&mut out)?);
            assert_eq!(out.records.len(), 2);
            let other =
                (0..2u32).find(|at| out.batch.columns[1].data.i32s().unwrap()[*at as usize] == row(1).2);
            let values = Batch::from_columns(vec![batch(&[row(1)]).columns.swap_remove(0)]);
            table.heap.update(txn, &out, Some(&[other.unwrap()]), &[1], &values)
        })
        .unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    table.settled();
    assert_eq!(table.now().len(), 500);
}

#[test]
fn nulls_are_distinct_unless_they_are_not() {
    for nulls_distinct in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let table = Table::new(dir.path(), &[], true);
        let mut txn = table.begin();
        let [_, second] = specs(table.heap.object);
        let parts = vec![second.parts[0]];
        let spec = IndexSpec { parts, unique: true, nulls_distinct, ..second };
        table.engine.create_index(&mut txn, spec, &mut go_on).unwrap();
        table.insert(&mut txn, &[(1, None, 0), (2, Some("a".into()), 0)]).unwrap();
        let result = table.insert(&mut txn, &[(3, None, 0)]);
        assert_eq!(result.is_ok(), nulls_distinct, "{result:?}");
        assert!(table.insert(&mut txn, &[(4, Some("a".into()), 0)]).is_err());
        txn.commit(CommitMode::Wait).unwrap();
        table.settled();
    }
}

#[test]
fn i3_what_is_superseded_loses_its_entry_and_what_has_the_key_again_keeps_it() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..10), true);
    let update = |from: i64, to: i64| {
        let mut txn = table.begin();
        table.update(&mut txn, from, &row(to), &[1]).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
    };
    let records = |id: i64| {
        let txn = table.begin();
        table.primary.records_current(&txn, &id_key(id)).unwrap().len()
    };
    let old = table.begin();
    update(3, 30);
    update(30, 3);
    update(3, 31);
    update(31, 3);
    table.engine.housekeeping().unwrap();
    assert_eq!((records(3), records(30), records(31)), (1, 1, 1), "a snapshot may need them");
    drop(old);
    table.engine.housekeeping().unwrap();
    assert_eq!((records(3), records(30), records(31)), (1, 0, 0));
    table.settled();
    // Deleted, and its place taken by another key.
    let mut txn = table.begin();
    table.delete(&mut txn, 4).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    table.settled();
    assert_eq!(records(4), 0);
    let mut txn = table.begin();
    table.insert(&mut txn, &[row(40)]).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    table.settled();
    assert_eq!(table.now().len(), 10);
}

#[test]
fn i4_savepoints_bring_keys_back_that_were_superseded_twice() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..20), true);
    let before = table.now();
    let mut txn = table.begin();
    table.update(&mut txn, 5, &row(50), &[1]).unwrap();
    table.insert(&mut txn, &[row(60)]).unwrap();
    txn.savepoint("a").unwrap();
    let at_savepoint = table.rows(&txn);
    for (from, to) in [(50, 51), (51, 52), (60, 61), (61, 62)] {
        table.update(&mut txn, from, &row(to), &[1, 2, 3]).unwrap();
    }
    table.update(&mut txn, 7, &row(70), &[1]).unwrap();
    table.update(&mut txn, 70, &row(71), &[1]).unwrap();
    let records = |txn: &Txn, id: i64| table.primary.records_current(txn, &id_key(id)).unwrap().len();
    assert_eq!([5, 50, 51, 52, 60, 61, 62, 70].map(|id| records(&txn, id)), [1, 0, 0, 1, 0, 0, 1, 0]);
    table.sound();
    txn.rollback_to("a").unwrap();
    assert_eq!(table.rows(&txn), at_savepoint);
    assert_eq!([5, 50, 51, 52, 60, 61, 62, 70].map(|id| records(&txn, id)), [1, 1, 0, 0, 1, 0, 0, 0]);
    table.update(&mut txn, 50, &row(53), &[1]).unwrap();
    txn.rollback().unwrap();
    assert_eq!(table.now(), before);
    table.settled();
}

#[test]
fn rolled_back_work_leaves_no_entries() {
    for (savepoints, eager) in [(true, 1000), (true, 0), (false, 0)] {
        let dir = tempfile::tempdir().unwrap();
        let options = EngineOptions { eager_rollback_records: eager, ..options() };
        let table = Table::new(dir.path(), &fill(0..200), true).reopened(dir.path(), options);
        let before = table.now();
        let mut txn = table.engine.begin(TxnOptions { savepoints, ..TxnOptions::default() });
        table.insert(&mut txn, &fill(1000..1300)).unwrap();
        for id in (0..200).step_by(2) {
            table.update(&mut txn, id, &row(id + 2000), &[1, 2, 3]).unwrap();
            table.update(&mut txn, id + 2000, &row(id + 3000), &[1, 2, 3]).unwrap();
        }
        for id in (1..200).step_by(4) {
            table.delete(&mut txn, id).unwrap();
        }
        txn.rollback().unwrap();
        assert_eq!(table.now(), before);
        // A key of the dead is free.
        let mut txn = table.begin();
        table.insert(&mut txn, &[row(1000), row(3000)]).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        table.settled();
        assert_eq!(table.now().len(), 202);
    }
}

#[test]
fn an_index_that_is_not_committed_goes_and_a_dropped_one_too() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..500), true);
    let [first, _] = specs(table.heap.object);
    let free = |table: &Table| {
        table.engine.housekeeping().unwrap();
        table.engine.space().free_pages
    };
    let before = free(&table);
    let mut txn = table.begin();
    let object = table.engine.create_index(&mut txn, first.clone(), &mut go_on).unwrap();
    table.insert(&mut txn, &fill(500..600)).unwrap();
    assert_eq!(table.heap.indexes.list().len(), 3);
    txn.rollback().unwrap();
    assert_eq!(table.heap.indexes.list().len(), 2);
    assert!(matches!(table.engine.index(object), Err(StorageError::NoSuchObject(_))));
    table.settled();
    // A double key is found when the index is made.
    let mut txn = table.begin();
    let third = IndexSpec { parts: vec![KeyPart::ascending(3, KeyType::I32)], ..first.clone() };
    let error = table.engine.create_index(&mut txn, third, &mut go_on).unwrap_err();
    assert!(matches!(error, StorageError::Unique { .. }), "{error}");
    txn.rollback().unwrap();
    let mut txn = table.begin();
    table.engine.drop_object(&mut txn, table.second.object()).unwrap();
    // Built anew: another object, and the old one goes.
    let rebuilt = table.engine.create_index(&mut txn, first, &mut go_on).unwrap();
    table.engine.drop_object(&mut txn, table.primary.object()).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    table.settled();
    assert_eq!(table.heap.indexes.list().len(), 1);
    assert!(free(&table) > 0 && before > 0);
    let mut txn = table.begin();
    table.insert(&mut txn, &[row(700)]).unwrap();
    assert!(table.insert(&mut txn, &[row(7)]).is_err());
    txn.commit(CommitMode::Wait).unwrap();
    table.settled();
    // A dropped table takes its indexes along.
    let (object, index) = (table.heap.object, rebuilt);
    table.engine.close().unwrap();
    drop(table);
    let engine = Engine::open(Env::real(), &dir.path().join("t.verso"), options()).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    engine.drop_object(&mut txn, object).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    engine.housekeeping().unwrap();
    assert!(matches!(engine.index(index), Err(StorageError::NoSuchObject(_))));
    assert!(engine.check(&mut |_| ()).unwrap().problems.is_empty());
}

/// What the keys of an index say is read from them alone, where nothing waits to be cleared up: whatever happens, a scan of
/// key columns yields what the heap does, for every snapshot.
#[test]
fn i1_scans_of_keys_alone_agree_with_the_heap() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..3000), true);
    let keys = |txn: &Txn, index: &Arc<Index>, columns: &[u16]| -> Vec<Vec<Option<Vec<u8>>>> {
        let spec = IndexScanSpec { columns, range: KeyRange::all(), descending: false };
        let mut scan = table.heap.index_scan(txn, index, spec);
        let (mut out, mut rows) = (ScanBatch::default(), Vec::new());
        while scan.next(&mut out).unwrap() {
            assert_eq!(out.records.len(), out.batch.rows);
            let value =
                |column: &Column, row: usize| (!column.is_null(row)).then(|| column.raw_at(row).to_vec());
            let row = |row: usize| out.batch.columns.iter().map(|column| value(column, row)).collect();
            rows.extend((0..out.batch.rows).map(row));
        }
        rows
    };
    let heap = |txn: &Txn, columns: &[u16]| -> Vec<Vec<Option<Vec<u8>>>> {
        let mut scan = table.heap.scan(txn, ScanSpec { columns, pages: 0..u32::MAX });
        let (mut out, mut rows) = (ScanBatch::default(), Vec::new());
        while scan.next(&mut out).unwrap() {
            let value =
                |column: &Column, row: usize| (!column.is_null(row)).then(|| column.raw_at(row).to_vec());
            let row = |row: usize| out.batch.columns.iter().map(|column| value(column, row)).collect();
            rows.extend((0..out.batch.rows).map(row));
        }
        rows.sort();
        rows
    };
    let agree = |txn: &Txn, when: &str| {
        for (index, columns) in [
            (&table.primary, &[1_u16][..]),
            (&table.second, &[2, 3]),
            (&table.second, &[3]),
            (&table.second, &[]),
        ] {
            let mut through = keys(txn, index, columns);
            through.sort();
            assert_eq!(through, heap(txn, columns), "{when}, {columns:?}");
        }
    };
    let sweep = || {
        for _ in 0..2 {
            table.engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
            table.engine.housekeeping().unwrap();
        }
    };
    let fetches = |txn: &Txn, columns: &[u16]| {
        let before = table.engine.statistics().pool.fetches;
        keys(txn, &table.primary, columns);
        table.engine.statistics().pool.fetches - before
    };
    let txn = table.begin();
    let visiting = fetches(&txn, &[1]);
    agree(&txn, "never swept");
    txn.commit(CommitMode::Wait).unwrap();
    sweep();
    let txn = table.begin();
    agree(&txn, "swept");
    let alone = fetches(&txn, &[1]);
    assert!(
        fetches(&txn, &[1, 3]) > alone && alone * 3 < visiting * 2,
        "{alone} pages alone, {visiting} with the table"
    );
    txn.commit(CommitMode::Wait).unwrap();
    let mut rng = verso_sim::Rng::new(7);
    let mut old = Vec::new();
    for round in 0..40 {
        let mut txn = table.begin();
        for _ in 0..rng.below(4) {
            let id = rng.below(3000) as i64;
            let seen = table.through(&txn, &table.primary, KeyRange::prefix(&id_key(id)), false);
            match (seen.is_empty(), rng.below(4)) {
                (true, _) => table.insert(&mut txn, &[row(id)]).unwrap(),
                (false, 0) => table.delete(&mut txn, id).unwrap(),
                (false, 1) => {
                    let free = 3000 + rng.below(1_000_000) as i64;
                    table.update(&mut txn, id, &(free, None, 1), &[1, 2, 3]).unwrap();
                }
                (false, _) => {
                    let changed = (id, Some(format!("changed {round}")), round);
                    table.update(&mut txn, id, &changed, &[2, 3]).unwrap();
                }
            }
        }
        agree(&txn, "one's own changes");
        match rng.below(3) {
            0 => txn.rollback().unwrap(),
            _ => txn.commit(CommitMode::Wait).unwrap(),
        }
        if rng.below(4) == 0 {
            old.push(table.begin());
        }
        if rng.below(5) == 0 {
            sweep();
        }
        for txn in &old {
            agree(txn, "an old snapshot");
        }
        agree(&table.begin(), "now");
        if old.len() > 3 {
            old.remove(0).commit(CommitMode::Wait).unwrap();
        }
    }
    old.into_iter().for_each(|txn| txn.commit(CommitMode::Wait).unwrap());
    sweep();
    agree(&table.begin(), "swept again");
    table.sound();
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

/// Versions that were there before an index: an old snapshot finds them through it, and their keys go with them.
#[test]
fn i3_keys_of_versions_older_than_their_index_are_purged() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..300), true);
    // No index has the columns while they change.
    let mut txn = table.begin();
    table.engine.drop_object(&mut txn, table.second.object()).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    table.engine.housekeeping().unwrap();
    assert_eq!(table.heap.indexes.list().len(), 1);
    let rows = |txn: &Txn| table.through(txn, &table.primary, KeyRange::all(), false);
    let old = table.begin();
    let seen = rows(&old);
    let mut txn = table.begin();
    for id in 0..100 {
        let mut changed = row(id);
        changed.1 = Some(format!("changed {id}"));
        changed.2 += 1000;
        table.update(&mut txn, id, &changed, &[2, 3]).unwrap();
    }
    (200..220).for_each(|id| table.delete(&mut txn, id).unwrap());
    txn.commit(CommitMode::Wait).unwrap();
    // One record with several old keys, one of them its own again, and one under the transaction that makes the index.
    let middle = table.begin();
    let between = rows(&middle);
    for n in [7, 8, 9, 7] {
        let mut txn = table.begin();
        table.update(&mut txn, 50, &(50, Some(format!("name {n}")), n), &[2, 3]).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
    }
    let now = rows(&table.begin());
    let mut txn = table.begin();
    table.update(&mut txn, 51, &(51, None, -1), &[2, 3]).unwrap();
    let [_, second] = specs(table.heap.object);
    let third = IndexSpec {
        parts: vec![KeyPart::ascending(3, KeyType::I32), KeyPart::ascending(2, KeyType::Bytes)],
        ..second.clone()
    };
    let objects = [second, third].map(|spec| table.engine.create_index(&mut txn, spec, &mut go_on).unwrap());
    table.update(&mut txn, 51, &(51, None, -2), &[3]).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let mut after = now;
    *after.iter_mut().find(|row| row.0 == 51).unwrap() = (51, None, -2);
    let mut table = table;
    for object in objects {
        table.second = table.engine.index(object).unwrap();
        for (txn, rows) in [(&old, &seen), (&middle, &between)] {
            let mut through = table.through(txn, &table.second, KeyRange::all(), false);
            through.sort();
            assert_eq!(&through, rows);
        }
    }
    table.second = table.engine.index(objects[0]).unwrap();
    assert_eq!(table.now(), after);
    old.commit(CommitMode::Wait).unwrap();
    table.sound();
    middle.commit(CommitMode::Wait).unwrap();
    table.settled();
    assert_eq!(table.now(), after);
}

/// Indexes that overlap in a chain, of values so long that the old ones fill more than a version page: the entry is split
/// between key columns, and whole keys are purged all the same.
#[test]
fn i3_keys_of_a_split_entry_are_purged() {
    const COLUMNS: u16 = 20;
    let dir = tempfile::tempdir().unwrap();
    let engine = Engine::create(
        Env::real(),
        &dir.path().join("t.verso"),
        EngineOptions { page_size: 4096, ..options() },
    )
    .unwrap();
    let columns: Vec<ColumnSpec> =
        (1..=COLUMNS).map(|id| ColumnSpec { id, physical: verso_types::Physical::Bytes }).collect();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &columns).unwrap();
    for id in 1..COLUMNS {
        let parts = [id, id + 1].map(|id| KeyPart::ascending(id, KeyType::Bytes)).to_vec();
        let spec = IndexSpec { table: object, parts, unique: false, nulls_distinct: true };
        engine.create_index(&mut txn, spec, &mut go_on).unwrap();
    }
    let heap = engine.heap(object).unwrap();
    let value = |text: &str| {
        let mut column = verso_types::Column::new(verso_types::Physical::Bytes);
        column.data.bytes_mut().unwrap().push(text.repeat(300).as_bytes());
        column
    };
    let all = |text: &str| Batch::from_columns((0..COLUMNS).map(|_| value(text)).collect());
    heap.insert(&mut txn, &all("a"), None).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    for text in ["b", "c", "a"] {
        let mut txn = engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        let mut scan = heap.scan(&txn, ScanSpec { columns: &[1], pages: 0..u32::MAX });
        let mut out = ScanBatch::default();
        assert!(scan.next(&mut out).unwrap());
        // The first, so that the columns are kept in their order; and one at whose index they are cut in two.
        let values = Batch::from_columns(vec![value(text), value(text)]);
        heap.update(&mut txn, &out, None, &[1, COLUMNS / 2], &values).unwrap();
        txn.end_statement().unwrap();
        txn.commit(CommitMode::Wait).unwrap();
    }
    engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    (0..2).for_each(|_| engine.housekeeping().unwrap());
    assert_eq!(engine.space().version_pages, 0);
    let report = engine.check(&mut |_| ()).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

/// The power goes while an index is built anew: what was allocated for it comes back.
#[test]
fn an_index_half_built_leaves_no_pages() {
    let mut built = 0;
    for seed in seeds(6) {
        let world = World::new(seed);
        let path = World::dir().join("t.verso");
        let mut rng = world.rng();
        let (object, free) = world.run(|env| {
            let engine = Engine::create(env.clone(), &path, options()).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            let specs = specs(object);
            for spec in specs {
                engine.create_index(&mut txn, spec, &mut go_on).unwrap();
            }
            engine.heap(object).unwrap().insert(&mut txn, &batch(&fill(0..3000)), None).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            engine.housekeeping().unwrap();
            let free = engine.space().total_pages - engine.space().free_pages;
            engine.close().unwrap();
            (object, free)
        });
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path, options()).unwrap();
            let at = rng.between(1, 60);
            world.vfs().set_faults(FaultPlan { power_off_at_op: Some(at), ..FaultPlan::default() });
            let mut work = || -> Result<(), StorageError> {
                let mut txn = engine.begin(TxnOptions::default());
                let [first, _] = specs(object);
                let old = engine.heap(object)?.indexes.list()[0].object();
                engine.create_index(&mut txn, first, &mut go_on)?;
                engine.drop_object(&mut txn, old)?;
                built += 1;
                engine.checkpoint()?;
                // Not committed: nothing reaches the disk any more.
                world.vfs().set_faults(FaultPlan { power_off_at_op: Some(1), ..FaultPlan::default() });
                Ok(())
            };
            let _ = work();
        });
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path, options()).unwrap();
            engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
            engine.housekeeping().unwrap();
            assert_eq!(engine.heap(object).unwrap().indexes.list().len(), 2, "seed {seed}");
            let report = engine.check(&mut |_| ()).unwrap();
            assert!(report.problems.is_empty(), "seed {seed}: {:?}", report.problems);
            let space = engine.space();
            let used = space.total_pages - space.free_pages;
            assert!(used <= free + 16, "seed {seed}: {used} pages are used, {free} were before");
        });
    }
    assert!(built > 0);
}

#[test]
fn a_key_too_long_for_a_page_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &[row(1)], true);
    let mut txn = table.begin();
    let long = |id: i64, length: usize| (id, Some("x".repeat(length)), 0);
    table.insert(&mut txn, &[long(2, 600)]).unwrap();
    let error = table.insert(&mut txn, &[row(3), long(4, 2000)]).unwrap_err();
    assert!(matches!(error, StorageError::TooLarge { .. }), "{error}");
    assert!(table.update(&mut txn, 1, &long(1, 2000), &[2]).is_err());
    txn.commit(CommitMode::Wait).unwrap();
    assert_eq!(table.now(), vec![row(1), long(2, 600)]);
    table.settled();
}

#[test]
fn i2_of_two_racers_exactly_the_later_sees_the_other() {
    for seed in seeds(30) {
        let world = World::new(seed);
        let mut rng = world.rng();
        world.run(|env| {
            let engine = Engine::create(env.clone(), &World::dir().join("t.verso"), options()).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            let [first, second] = specs(object);
            let first = engine.create_index(&mut txn, first, &mut go_on).unwrap();
            let second = engine.create_index(&mut txn, second, &mut go_on).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let table = Arc::new(Table {
                heap: engine.heap(object).unwrap(),
                primary: engine.index(first).unwrap(),
                second: engine.index(second).unwrap(),
                engine,
            });
            let outcomes = Arc::new(parking_lot::Mutex::new(Vec::new()));
            let deadlocks = Arc::new(AtomicUsize::new(0));
            let gives_up: Vec<bool> = (0..4).map(|_| rng.one_in(3)).collect();
            let threads: Vec<_> = gives_up
                .iter()
                .map(|gives_up| {
                    let (table, outcomes, gives_up) = (Arc::clone(&table), Arc::clone(&outcomes), *gives_up);
                    let deadlocks = Arc::clone(&deadlocks);
                    env.spawn("racer", move || {
                        let mut txn = table.begin();
                        let result = table.insert(&mut txn, &[row(7), row(8)]);
                        if result.is_ok() && !gives_up {
                            txn.commit(CommitMode::Wait).unwrap();
                            outcomes.lock().push(true);
                        } else {
                            // A place that one gave up and another took makes both see each other.
                            let deadlock = matches!(result, Err(StorageError::Deadlock { .. }));
                            assert!(deadlock || matches!(result, Ok(()) | Err(StorageError::Unique { .. })));
                            deadlocks.fetch_add(usize::from(deadlock), Ordering::Relaxed);
                            txn.rollback().unwrap();
                            outcomes.lock().push(false);
                        }
                    })
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            let won = outcomes.lock().iter().filter(|won| **won).count();
            let expected = usize::from(gives_up.iter().any(|gives_up| !gives_up));
            let deadlocked = deadlocks.load(Ordering::Relaxed) > 0;
            assert!(won == expected || (deadlocked && won == 0), "{won} of {gives_up:?}");
            assert_eq!(table.now().len(), won * 2);
            table.settled();
        });
    }
}
