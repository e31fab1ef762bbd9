//! Tables that are not logged: what the log does not get, what a crash leaves, loads that become logged.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use verso_env::Env;
use verso_sim::{FaultPlan, World, seeds};
use verso_storage::archive::{ArchiveOptions, RestoreTarget, restore_base};
use verso_storage::heap::Heap;
use verso_storage::{
    CommitMode, Engine, EngineOptions, IndexSpec, KeyPart, ObjectId, StorageError, SweepOptions, Txn,
    TxnOptions,
};
use verso_types::KeyType;

use crate::support::{COLUMNS, Row, batch, bump, fill, now, options, read, rows, sound, try_remove};

const PAGE_SIZE: u64 = 4096;

/// The tables do not fit, so pages without log go to the disk and come back.
fn small_pool() -> EngineOptions {
    EngineOptions { buffer_pool_bytes: 64 * PAGE_SIZE, ..options() }
}

fn path() -> PathBuf {
    World::dir().join("t.verso")
}

fn spec(table: ObjectId) -> IndexSpec {
    IndexSpec {
        table,
        parts: vec![KeyPart::ascending(1, KeyType::I64)],
        unique: true,
        nulls_distinct: true,
        fill_factor: IndexSpec::FILL_FACTOR,
    }
}

/// A table that is not logged, with a unique index.
fn make(engine: &Engine, txn: &mut Txn) -> Result<Arc<Heap>, StorageError> {
    let object = engine.create_unlogged_heap(txn, &COLUMNS)?;
    engine.create_index(txn, spec(object), &mut |_| ControlFlow::Continue(()))?;
    engine.heap(object)
}

/// A logged table and one that is not, both with a unique index.
fn create(env: &Env, path: &Path) -> Result<(Engine, Arc<Heap>, Arc<Heap>), StorageError> {
    let engine = Engine::create(env.clone(), path, small_pool())?;
    let mut txn = engine.begin(TxnOptions::default());
    let logged = engine.create_heap(&mut txn, &COLUMNS)?;
    engine.create_index(&mut txn, spec(logged), &mut |_| ControlFlow::Continue(()))?;
    let unlogged = make(&engine, &mut txn)?;
    txn.commit(CommitMode::Wait)?;
    let logged = engine.heap(logged)?;
    Ok((engine, logged, unlogged))
}

fn insert(heap: &Arc<Heap>, txn: &mut Txn, rows: &[Row]) -> Result<(), StorageError> {
    txn.begin_statement()?;
    heap.insert(txn, &batch(rows), None)?;
    txn.end_statement()
}

#[test]
fn u1_rows_and_keys_of_an_unlogged_table_stay_out_of_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, logged, unlogged) = create(&Env::real(), &dir.path().join("t.verso")).unwrap();
    let logs = |heap: &Arc<Heap>| {
        let mut txn = engine.begin(TxnOptions::default());
        insert(heap, &mut txn, &rows(0..4000)).unwrap();
        for id in 4000..4200 {
            insert(heap, &mut txn, &rows(id..id + 1)).unwrap();
        }
        let bytes = txn.statistics().log_bytes;
        txn.commit(CommitMode::Wait).unwrap();
        bytes
    };
    let (all, few) = (logs(&logged), logs(&unlogged));
    assert!(few * 8 < all, "{few} of {all} bytes");
    // Rolled back, swept, read by its index, all the same as any other.
    for heap in [&logged, &unlogged] {
        let mut txn = engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        bump(heap, &mut txn, "x", 1.0, |id| id % 3 == 0).unwrap();
        bump(heap, &mut txn, "y", 1.0, |id| id % 6 == 0).unwrap();
        txn.end_statement().unwrap();
        txn.rollback().unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        try_remove(heap, &mut txn, |id| id % 2 == 1).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
    }
    engine.housekeeping().unwrap();
    engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!(now(&engine, &unlogged), now(&engine, &logged));
    assert_eq!(now(&engine, &unlogged).len(), 2100);
    sound(&engine);
    // The key is still had once.
    let mut txn = engine.begin(TxnOptions::default());
    let again = insert(&unlogged, &mut txn, &rows(2..3));
    assert!(matches!(again, Err(StorageError::Unique { .. })), "{again:?}");
}

/// One life: transactions over both tables, until the power goes or the database is closed. Ends committed so far.
fn live(
    engine: &Engine,
    tables: [&Arc<Heap>; 2],
    first: i64,
    rounds: u32,
    done: &mut Vec<Vec<Row>>,
) -> Result<(), StorageError> {
    for round in 0..rounds {
        let mut txn = engine.begin(TxnOptions::default());
        let from = first + i64::from(round) * 200;
        for heap in tables {
            insert(heap, &mut txn, &rows(from..from + 150))?;
            txn.begin_statement()?;
            bump(heap, &mut txn, "u", 1.0, |id| id % 5 == i64::from(round % 5))?;
            txn.end_statement()?;
            txn.savepoint("s")?;
            txn.begin_statement()?;
            bump(heap, &mut txn, "gone", 1.0, |id| id % 3 == 0)?;
            txn.end_statement()?;
            txn.rollback_to("s")?;
            try_remove(heap, &mut txn, |id| id == from)?;
        }
        match round % 4 {
            3 => txn.rollback()?,
            _ => {
                let after = read(tables[0], &txn);
                done.push(after);
                txn.commit(CommitMode::Wait)?;
            }
        }
        match round % 3 {
            1 => engine.checkpoint()?,
            2 => engine.housekeeping()?,
            _ => {}
        }
    }
    Ok(())
}

#[test]
fn u2_a_crash_leaves_nothing_of_an_unlogged_table_and_all_of_the_others() {
    let (mut cut, mut closed) = (0, 0);
    for seed in seeds(12) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let (logged, unlogged) = world.run(|env| {
            let (engine, logged, unlogged) = create(env, &path()).unwrap();
            fill(&engine, &logged, -1000..0);
            fill(&engine, &unlogged, -1000..0);
            engine.close().unwrap();
            (logged.object, unlogged.object)
        });
        let mut states = vec![rows(-1000..0)];
        let (ended, closing, last) = world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), small_pool()).unwrap();
            let tables = [logged, unlogged].map(|object| engine.heap(object).unwrap());
            assert_eq!(now(&engine, &tables[1]), rows(-1000..0), "a clean shutdown keeps all of it");
            // Every fourth life ends in order.
            let at = rng.between(20, 600);
            let power_off_at_op = (!seed.is_multiple_of(4)).then_some(at);
            world.vfs().set_faults(FaultPlan { power_off_at_op, ..FaultPlan::default() });
            let mut closing = false;
            let mut work = || -> Result<Vec<Row>, StorageError> {
                live(&engine, [&tables[0], &tables[1]], 0, 5, &mut states)?;
                let last = now(&engine, &tables[1]);
                closing = true;
                engine.close()?;
                Ok(last)
            };
            let done = work();
            (done.is_ok(), closing, done.unwrap_or_default())
        });
        world.crash();
        closed += u32::from(ended);
        cut += u32::from(!ended);
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), small_pool()).unwrap();
            let heap = engine.heap(logged).unwrap();
            let found = now(&engine, &heap);
            let known: Vec<&Vec<Row>> = states.iter().rev().take(2).collect();
            assert!(known.contains(&&found), "seed {seed}: an acknowledged commit, or the one under way");
            if ended {
                assert_eq!(now(&engine, &engine.heap(unlogged).unwrap()), last, "seed {seed}");
                assert_eq!(last, found, "both tables had the same changes");
            } else if engine.recovery().unwrap().complete {
                assert!(
                    closing,
                    "seed {seed}: only a shutdown says so, and the power went before it had said it twice"
                );
                assert_eq!(now(&engine, &engine.heap(unlogged).unwrap()), found, "seed {seed}");
            } else {
                let gone = engine.heap(unlogged).err();
                assert!(matches!(gone, Some(StorageError::NoSuchObject(_))), "seed {seed}: {gone:?}");
                assert_eq!(engine.pages_of(unlogged), 0, "seed {seed}");
            }
            sound(&engine);
            engine.housekeeping().unwrap();
            engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
            sound(&engine);
            assert_eq!(now(&engine, &heap), found, "seed {seed}");
            // A new one has another number, and goes when it is dropped.
            let mut txn = engine.begin(TxnOptions::default());
            let new = make(&engine, &mut txn).unwrap();
            assert!(new.object > unlogged);
            insert(&new, &mut txn, &rows(0..500)).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            engine.drop_object(&mut txn, new.object).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            engine.housekeeping().unwrap();
            assert_eq!((engine.pages_of(new.object), engine.is_unlogged(new.object)), (0, false));
            sound(&engine);
            engine.close().unwrap();
        });
    }
    let one_seed = std::env::var_os("SEED").is_some();
    assert!((cut > 0 && closed > 0) || one_seed, "{cut} lives were cut off, {closed} ended in order");
}

/// A clean shutdown keeps unlogged tables also where the disk has no room for the state that it writes into the file: the log has it.
#[test]
fn u2_a_database_that_is_closed_on_a_full_disk_keeps_its_unlogged_tables() {
    for seed in seeds(8) {
        let world = World::new(seed);
        let (logged, unlogged) = world.run(|env| {
            let (engine, logged, unlogged) = create(env, &path()).unwrap();
            fill(&engine, &logged, 0..1000);
            fill(&engine, &unlogged, 0..1000);
            engine.checkpoint().unwrap();
            let capacity_bytes = Some(world.vfs().used_bytes());
            world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            engine.close().unwrap();
            (logged.object, unlogged.object)
        });
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), small_pool()).unwrap();
            let report = engine.recovery().unwrap();
            assert!(report.complete && !report.clean, "seed {seed}: {report:?}");
            for object in [logged, unlogged] {
                assert_eq!(now(&engine, &engine.heap(object).unwrap()), rows(0..1000), "seed {seed}");
            }
            world.vfs().set_faults(FaultPlan::default());
            engine.housekeeping().unwrap();
            sound(&engine);
            fill(&engine, &engine.heap(unlogged).unwrap(), 1000..1100);
            // Without being closed: that it was complete once is no longer true.
        });
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), small_pool()).unwrap();
            assert!(!engine.recovery().unwrap().complete);
            let gone = engine.heap(unlogged).err();
            assert!(matches!(gone, Some(StorageError::NoSuchObject(_))), "seed {seed}: {gone:?}");
            assert_eq!(now(&engine, &engine.heap(logged).unwrap()), rows(0..1000), "seed {seed}");
            sound(&engine);
        });
    }
}

/// Loads a table within one transaction, and changes it once more behind the load.
fn load(engine: &Engine, txn: &mut Txn) -> Result<ObjectId, StorageError> {
    let load = engine.begin_unlogged_load().expect("nothing is archived");
    let heap = make(engine, txn)?;
    for part in 0..5 {
        insert(&heap, txn, &rows(part * 300..(part + 1) * 300))?;
    }
    load.end(txn, heap.object)?;
    txn.begin_statement()?;
    bump(&heap, txn, "logged", 1.0, |id| id % 2 == 0)?;
    txn.end_statement()?;
    insert(&heap, txn, &rows(1500..1600))?;
    Ok(heap.object)
}

#[test]
fn u4_a_load_without_log_is_there_whole_or_not_at_all() {
    let (mut there, mut not, mut backed_out) = (0, 0, 0);
    let mut expected = rows(0..1500);
    for row in expected.iter_mut().filter(|row| row.0 % 2 == 0) {
        *row = (row.0, row.1.as_ref().map(|name| format!("{name}logged")), row.2 + 1.0);
    }
    expected.extend(rows(1500..1600));
    for seed in seeds(40) {
        let world = World::new(seed);
        let mut rng = world.rng();
        world.run(|env| create(env, &path()).unwrap().0.close().unwrap());
        let (loaded, acknowledged) = world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), small_pool()).unwrap();
            let at = rng.between(10, 160);
            world.vfs().set_faults(FaultPlan { power_off_at_op: Some(at), ..FaultPlan::default() });
            let mut loaded = None;
            let mut work = || -> Result<(), StorageError> {
                let mut txn = engine.begin(TxnOptions::default());
                loaded = Some(load(&engine, &mut txn)?);
                txn.commit(CommitMode::Wait)?;
                let heap = engine.heap(loaded.unwrap())?;
                let mut txn = engine.begin(TxnOptions::default());
                insert(&heap, &mut txn, &rows(5000..5001))?;
                engine.checkpoint()?;
                // Nothing of this one.
                world.vfs().set_faults(FaultPlan { power_off_at_op: Some(1), ..FaultPlan::default() });
                Ok(())
            };
            let done = work();
            (loaded, done.is_ok())
        });
        world.crash();
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), small_pool()).unwrap();
            engine.housekeeping().unwrap();
            let heap = loaded.and_then(|object| engine.heap(object).ok());
            match &heap {
                Some(heap) => {
                    assert_eq!(now(&engine, heap), expected, "seed {seed}");
                    there += 1;
                }
                None => {
                    assert!(!acknowledged, "seed {seed}: what was acknowledged is gone");
                    not += 1;
                    backed_out += u32::from(loaded.is_some());
                }
            }
            sound(&engine);
            engine.close().unwrap();
        });
    }
    let one_seed = std::env::var_os("SEED").is_some();
    assert!(
        (there > 0 && not > 0 && backed_out > 0) || one_seed,
        "{there} there, {not} not, {backed_out} after their load"
    );
}

#[test]
fn u4_copies_do_not_lack_what_was_loaded_without_log() {
    let at = |name: &str| World::dir().join(name);
    let world = World::new(1);
    world.run(|env| {
        env.vfs.create_dir_all(&at("archive")).unwrap();
        env.vfs.sync_dir(World::dir()).unwrap();
        let (engine, logged, unlogged) = create(env, &path()).unwrap();
        fill(&engine, &logged, 0..300);
        fill(&engine, &unlogged, 0..300);
        engine.backup_base(&at("before"), &mut |_, _| Ok(())).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let under_way = engine.begin_unlogged_load().unwrap();
        let refused = engine.backup_base(&at("refused"), &mut |_, _| Ok(()));
        assert!(matches!(&refused, Err(StorageError::Archive { problem }) if problem.contains("nolog")));
        drop(under_way);
        let loaded = load(&engine, &mut txn).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        let loaded_at = engine.durable();
        let options_of = ArchiveOptions { target: at("archive"), timeout: Duration::ZERO };
        engine.set_archive(Some(options_of)).unwrap();
        assert!(engine.begin_unlogged_load().is_none(), "the archive has to have all rows");
        engine.backup_base(&at("after"), &mut |_, _| Ok(())).unwrap();
        fill(&engine, &engine.heap(loaded).unwrap(), 7000..7010);
        engine.archive_log().unwrap();
        let restore = |base: &str| {
            let target = RestoreTarget::End;
            restore_base(env, &at(base), Some(&at("archive")), target, &at("r.verso"), &options())
        };
        match restore("before") {
            Err(StorageError::Archive { problem }) => assert!(problem.contains("nolog"), "{problem}"),
            other => panic!("{other:?} goes past LSN {loaded_at}"),
        }
        restore("after").unwrap();
        let restored = Engine::open(env.clone(), &at("r.verso"), options()).unwrap();
        assert_eq!(now(&restored, &restored.heap(logged.object).unwrap()).len(), 300);
        assert_eq!(now(&restored, &restored.heap(loaded).unwrap()).len(), 1610);
        assert!(restored.heap(unlogged.object).is_err(), "an unlogged table is not restored");
        sound(&restored);
        restored.close().unwrap();
        engine.close().unwrap();
    });
}
