//! Indexes made, half made and dropped.

use verso_sim::{FaultPlan, World, seeds};
use verso_storage::JobLimits;

use super::*;

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
                // Some by several workers, with runs in files.
                let workers = 1 + (seed % 2) as u32 * 2;
                txn.set_job_limits(
                    JobLimits {
                        workers,
                        memory_bytes: if workers > 1 { 64 << 10 } else { 64 << 20 },
                        ..JobLimits::default()
                    },
                    None,
                );
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
    assert!(matches!(error, StorageError::IndexRowTooLarge { .. }), "{error}");
    assert!(table.update(&mut txn, 1, &long(1, 2000), &[2]).is_err());
    txn.commit(CommitMode::Wait).unwrap();
    assert_eq!(table.now(), vec![row(1), long(2, 600)]);
    table.settled();
}
