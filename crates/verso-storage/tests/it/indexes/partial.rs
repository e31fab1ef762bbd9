//! An index with a guard: it has the records whose guard is not NULL, whatever happens to them (I1, I3, I4).

use super::*;

/// On the third column, of the records that have a name; unique or not.
fn spec(table: ObjectId, unique: bool) -> IndexSpec {
    let parts = vec![KeyPart::ascending(3, KeyType::I32), KeyPart::guard(2, KeyType::Bytes)];
    IndexSpec { table, parts, unique, nulls_distinct: true, fill_factor: IndexSpec::FILL_FACTOR }
}

fn make(table: &Table, unique: bool) -> Result<Arc<Index>, StorageError> {
    let mut txn = table.engine.begin(TxnOptions::default());
    let made = table.engine.create_index(&mut txn, spec(table.heap.object, unique), &mut go_on);
    let object = made?;
    txn.commit(CommitMode::Wait)?;
    table.engine.index(object)
}

/// The rows through the guarded index are those with a name.
fn agree(table: &Table, txn: &Txn, index: &Arc<Index>) {
    let mut named: Vec<Row> = table.rows(txn).into_iter().filter(|row| row.1.is_some()).collect();
    for descending in [false, true] {
        let mut found = table.through(txn, index, KeyRange::all(), descending);
        found.sort();
        assert_eq!(found, named);
    }
    named.sort_by_key(|row| row.2);
    let keys: Vec<i32> = table.through(txn, index, KeyRange::all(), false).iter().map(|row| row.2).collect();
    assert_eq!(keys, named.iter().map(|row| row.2).collect::<Vec<_>>());
}

#[test]
fn i3_records_enter_and_leave_a_guarded_index_with_their_guard() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &fill(0..400), true);
    let first = make(&table, false).unwrap();
    let old = table.begin();
    agree(&table, &old, &first);
    let mut random = 7_u64;
    let mut next = |below: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for round in 0..60_u64 {
        let mut txn = table.begin();
        for step in 0..8 {
            let id = next(400) as i64;
            let name = (next(2) == 0).then(|| format!("name {}", next(9)));
            let changed = (id, name, next(50) as i32);
            let columns: &[u16] = [&[2][..], &[3], &[2, 3]][next(3) as usize];
            table.update(&mut txn, id, &changed, columns).unwrap();
            match step {
                2 => txn.savepoint("a").unwrap(),
                5 if round % 3 == 0 => txn.rollback_to("a").unwrap(),
                _ => {}
            }
        }
        agree(&table, &txn, &first);
        if round % 4 == 0 {
            txn.rollback().unwrap()
        } else {
            txn.commit(CommitMode::Wait).unwrap()
        }
        agree(&table, &old, &first);
    }
    // One that is built now has the old versions, too.
    let second = make(&table, false).unwrap();
    let txn = table.begin();
    for index in [&first, &second] {
        agree(&table, &old, index);
        agree(&table, &txn, index);
    }
    drop((old, txn));
    table.settled();
    let (one, other) = (first.object(), second.object());
    drop((first, second));
    let again = table.reopened(dir.path(), options());
    let txn = again.begin();
    for object in [one, other] {
        agree(&again, &txn, &again.engine.index(object).unwrap());
    }
    drop(txn);
    again.settled();
}

#[test]
fn i2_a_guarded_index_refuses_equal_keys_of_the_records_that_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let name = || Some("x".to_owned());
    let table = Table::new(dir.path(), &[(1, name(), 5), (2, None, 5), (3, None, 5)], true);
    let index = make(&table, true).unwrap();
    let change = |id: i64, row: Row, columns: &[u16]| {
        let mut txn = table.begin();
        let done = table.update(&mut txn, id, &row, columns);
        match done {
            Ok(()) => txn.commit(CommitMode::Wait),
            Err(error) => {
                txn.rollback().unwrap();
                Err(error)
            }
        }
    };
    assert!(matches!(change(2, (2, name(), 5), &[2]), Err(StorageError::Unique { .. })));
    let mut txn = table.begin();
    table.insert(&mut txn, &[(4, None, 5), (5, name(), 6)]).unwrap();
    assert!(matches!(table.insert(&mut txn, &[(6, name(), 6)]), Err(StorageError::Unique { .. })));
    txn.commit(CommitMode::Wait).unwrap();
    change(1, (1, None, 5), &[2]).unwrap();
    change(2, (2, name(), 5), &[2]).unwrap();
    agree(&table, &table.begin(), &index);
    assert!(matches!(change(3, (3, name(), 6), &[2, 3]), Err(StorageError::Unique { .. })));
    table.settled();
    // Two records of one key: the build says so.
    change(2, (2, None, 5), &[2]).unwrap();
    let mut txn = table.engine.begin(TxnOptions::default());
    table.engine.drop_object(&mut txn, index.object()).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    for id in [2, 3] {
        change(id, (id, name(), 5), &[2]).unwrap();
    }
    assert!(matches!(make(&table, true), Err(StorageError::Unique { .. })));
}
