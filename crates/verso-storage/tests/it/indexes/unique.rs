//! Unique keys: who is refused, and when (I2).

use std::sync::atomic::{AtomicUsize, Ordering};

use verso_env::sync::pause_point;
use verso_sim::{World, seeds};

use super::*;

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

/// An empty table in a simulated world.
fn empty(env: &verso_env::Env) -> Table {
    let engine = Engine::create(env.clone(), &World::dir().join("t.verso"), options()).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    let [first, second] = specs(object);
    let first = engine.create_index(&mut txn, first, &mut go_on).unwrap();
    let second = engine.create_index(&mut txn, second, &mut go_on).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    Table {
        heap: engine.heap(object).unwrap(),
        primary: engine.index(first).unwrap(),
        second: engine.index(second).unwrap(),
        engine,
    }
}

#[test]
fn i2_who_waits_for_a_key_goes_on_when_its_row_is_undone() {
    for seed in seeds(30) {
        World::new(seed).run(|env| {
            let table = Arc::new(empty(env));
            let mut txn = table.begin();
            txn.savepoint("before").unwrap();
            table.insert(&mut txn, &[row(7)]).unwrap();
            let other = Arc::clone(&table);
            let waiter = env.spawn("waiter", move || {
                let mut txn = other.begin();
                other.insert(&mut txn, &[row(7)]).unwrap();
                txn.commit(CommitMode::Wait).unwrap();
            });
            while table.engine.locks().iter().all(|lock| lock.granted) {
                pause_point();
            }
            txn.rollback_to("before").unwrap();
            // With this one open: a simulation in which all wait says so.
            waiter.join().unwrap();
            txn.rollback().unwrap();
            assert_eq!(table.now(), [row(7)]);
            table.settled();
        });
    }
}

#[test]
fn i2_of_two_racers_exactly_the_later_sees_the_other() {
    for seed in seeds(30) {
        let world = World::new(seed);
        let mut rng = world.rng();
        world.run(|env| {
            let table = Arc::new(empty(env));
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
