//! Which entries are left: when keys are superseded, purged, undone (I3, I4).

use super::*;

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
        let spec = IndexSpec {
            table: object,
            parts,
            unique: false,
            nulls_distinct: true,
            fill_factor: IndexSpec::FILL_FACTOR,
        };
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

/// Each record's entry is looked for by its whole name: how many others have the same key does not matter.
#[test]
fn a_check_of_an_index_of_few_keys_costs_as_much_for_each_record_whatever_their_number() {
    let fetches = |count: i64| {
        let dir = tempfile::tempdir().unwrap();
        let rows: Vec<Row> = (0..count).map(|id| (id, Some(format!("name {}", id % 20)), 7)).collect();
        let table = Table::new(dir.path(), &rows, true);
        let before = table.engine.statistics().pool.fetches;
        let report = table.engine.check(&mut |_| ()).unwrap();
        assert!(report.problems.is_empty(), "{:?}", report.problems);
        table.engine.statistics().pool.fetches - before
    };
    let (few, many) = (fetches(1000), fetches(8000));
    assert!(many < 12 * few, "{few} {many}");
}
