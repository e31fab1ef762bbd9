//! Values that do not go with their record in one mini-transaction: written ahead of it, taken over, given back.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use verso_env::Env;
use verso_sim::{FaultPlan, Rng, World, seeds};
use verso_storage::heap::Heap;
use verso_storage::{
    CommitMode, Engine, EngineOptions, ObjectId, StorageError, SweepOptions, Txn, TxnOptions,
};

use crate::support::{COLUMNS, Row, batch, bump, create, fill, now, options, read, remove, rows, sound};

fn path() -> PathBuf {
    World::dir().join("t.verso")
}

/// A row whose name has so many bytes, no two pages of them alike.
fn long(id: i64, bytes: usize) -> Row {
    let mut rng = Rng::new(id as u64);
    let name: String = (0..bytes).map(|_| (b'a' + rng.index(26) as u8) as char).collect();
    (id, Some(name), 0.5)
}

fn statement(
    txn: &mut Txn,
    work: impl FnOnce(&mut Txn) -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    txn.begin_statement()?;
    match work(txn) {
        Ok(()) => txn.end_statement(),
        Err(error) => {
            let _ = txn.abort_statement();
            Err(error)
        }
    }
}

fn insert(engine: &Engine, heap: &Arc<Heap>, row: &Row) {
    let mut txn = engine.begin(TxnOptions::default());
    statement(&mut txn, |txn| heap.insert(txn, &batch(std::slice::from_ref(row)), None)).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
}

fn sweep(engine: &Engine) {
    engine.housekeeping().unwrap();
    engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
    engine.housekeeping().unwrap();
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| row.0);
    rows
}

/// Pages of the table that hold values, and all that it has.
fn pages(engine: &Engine, heap: &Heap) -> (u64, u64) {
    let space = engine.table_space(heap.object).unwrap();
    (space.overflow_pages, space.pages)
}

#[test]
fn a_value_longer_than_a_group_of_the_log_is_stored_changed_and_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..20);
    let mut expected = rows(0..20);
    // Longer than what goes with a record in release builds, and than a group of the log may be.
    for (id, bytes) in [(100, 9 << 20), (101, 300 << 10), (102, (32 << 10) + 1)] {
        insert(&engine, &heap, &long(id, bytes));
        expected.push(long(id, bytes));
    }
    assert_eq!(now(&engine, &heap), expected);
    sound(&engine);
    let (held, all) = pages(&engine, &heap);
    // Longer ones in their place, for some that are seen until then.
    let mut old =
        engine.begin(TxnOptions { isolation: verso_storage::Isolation::Snapshot, ..TxnOptions::default() });
    old.begin_statement().unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    statement(&mut txn, |txn| bump(&heap, txn, "end", 1.0, |id| id >= 100)).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let changed: Vec<Row> = expected
        .iter()
        .cloned()
        .map(|row| if row.0 < 100 { row } else { (row.0, row.1.map(|name| name + "end"), row.2 + 1.0) })
        .collect();
    assert_eq!(now(&engine, &heap), changed);
    assert_eq!(read(&heap, &old), expected);
    sound(&engine);
    drop(old);
    sweep(&engine);
    sound(&engine);
    assert_eq!(pages(&engine, &heap).0, held);
    // What was given back is used again: the same once more takes no further page.
    let (_, twice) = pages(&engine, &heap);
    assert!(twice < all * 2 + 64);
    let mut txn = engine.begin(TxnOptions::default());
    statement(&mut txn, |txn| bump(&heap, txn, "", 1.0, |id| id >= 100)).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    assert_eq!(pages(&engine, &heap).1, twice);
    sound(&engine);
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    remove(&heap, &mut txn, |id| id >= 100);
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    sweep(&engine);
    assert_eq!(now(&engine, &heap), rows(0..20));
    assert_eq!(pages(&engine, &heap), (0, twice));
    sound(&engine);
    // Many short values out of the chains given back.
    let short: Vec<Row> = (200..400).map(|id| long(id, 2000 + id as usize * 10)).collect();
    let mut txn = engine.begin(TxnOptions::default());
    statement(&mut txn, |txn| heap.insert(txn, &batch(&short), None)).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    assert_eq!(pages(&engine, &heap).1, twice);
    sound(&engine);
    let expected: Vec<Row> = rows(0..20).into_iter().chain(short).collect();
    assert_eq!(now(&engine, &heap), expected);
    let object = heap.object;
    drop(heap);
    engine.close().unwrap();
    drop(engine);
    let engine = Engine::open(Env::real(), &dir.path().join("t.verso"), options()).unwrap();
    assert_eq!(now(&engine, &engine.heap(object).unwrap()), expected);
    sound(&engine);
}

#[test]
fn what_is_undone_and_rolled_back_gives_its_values_back() {
    for savepoints in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let (engine, heap) = create(dir.path());
        insert(&engine, &heap, &long(1, 400 << 10));
        let before = pages(&engine, &heap).0;
        let mut txn = engine.begin(TxnOptions { savepoints, ..TxnOptions::default() });
        statement(&mut txn, |txn| heap.insert(txn, &batch(&[long(2, 300 << 10)]), None)).unwrap();
        if savepoints {
            txn.savepoint("s").unwrap();
            statement(&mut txn, |txn| heap.insert(txn, &batch(&[long(3, 300 << 10)]), None)).unwrap();
            statement(&mut txn, |txn| bump(&heap, txn, "x", 1.0, |_| true)).unwrap();
            statement(&mut txn, |txn| bump(&heap, txn, "y", 1.0, |_| true)).unwrap();
            txn.rollback_to("s").unwrap();
            txn.begin_statement().unwrap();
            assert_eq!(read(&heap, &txn), [long(1, 400 << 10), long(2, 300 << 10)]);
            txn.end_statement().unwrap();
            let held = pages(&engine, &heap).0;
            assert!(held <= before + (300 << 10) / 4064 + 1 + before, "{held} pages, {before} before");
        }
        statement(&mut txn, |txn| bump(&heap, txn, "z", 1.0, |_| true)).unwrap();
        txn.rollback().unwrap();
        sweep(&engine);
        assert_eq!(now(&engine, &heap), [long(1, 400 << 10)]);
        assert_eq!(pages(&engine, &heap).0, before);
        sound(&engine);
    }
}

#[test]
fn a_statement_that_is_cancelled_while_it_writes_a_value_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    insert(&engine, &heap, &long(1, 300 << 10));
    let before = pages(&engine, &heap).0;
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    txn.cancel_handle().cancel();
    let cancelled = heap.insert(&mut txn, &batch(&[long(2, 900 << 10)]), None);
    assert!(matches!(cancelled, Err(StorageError::Cancelled)), "{cancelled:?}");
    txn.abort_statement().unwrap();
    txn.rollback().unwrap();
    assert_eq!(pages(&engine, &heap).0, before);
    assert_eq!(now(&engine, &heap), [long(1, 300 << 10)]);
    sound(&engine);
}

/// An update that names columns whose long values stay leaves their chains alone.
#[test]
fn a_long_value_that_an_update_gives_once_more_stays_where_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    let mut expected = [long(1, 300 << 10), long(2, 9000)];
    expected.iter().for_each(|row| insert(&engine, &heap, row));
    let held = pages(&engine, &heap).0;
    for round in 0..4 {
        let before = engine.log_progress().appended;
        let mut txn = engine.begin(TxnOptions::default());
        for id in [1, 2] {
            // Twice in one transaction, once taken back.
            statement(&mut txn, |txn| bump(&heap, txn, "", 1.0, |of| of == id)).unwrap();
            txn.savepoint("s").unwrap();
            statement(&mut txn, |txn| bump(&heap, txn, "", 1.0, |of| of == id)).unwrap();
            txn.rollback_to("s").unwrap();
        }
        if round == 2 {
            txn.rollback().unwrap();
        } else {
            txn.commit(CommitMode::Wait).unwrap();
            expected.iter_mut().for_each(|row| row.2 += 1.0);
        }
        let logged = engine.log_progress().appended - before;
        assert!(logged < 8000, "{logged} bytes of log");
        assert_eq!(now(&engine, &heap), expected);
        if round % 2 == 1 {
            sweep(&engine);
        }
        sound(&engine);
        assert_eq!(pages(&engine, &heap).0, held);
    }
    // One byte is another one.
    let mut txn = engine.begin(TxnOptions::default());
    statement(&mut txn, |txn| bump(&heap, txn, "!", 1.0, |_| true)).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    for row in &mut expected {
        row.1 = row.1.take().map(|name| name + "!");
        row.2 += 1.0;
    }
    assert_eq!(now(&engine, &heap), expected);
    sweep(&engine);
    assert_eq!(pages(&engine, &heap).0, held);
    sound(&engine);
}

/// The disk is full at any point of a value: the statement fails, and its pages are used for the next.
#[test]
fn a_disk_that_is_full_in_the_middle_of_a_value_gets_its_pages_back() {
    for seed in seeds(25) {
        let world = World::new(seed);
        world.run(|env| {
            let (engine, object) = create_in(env);
            let heap = engine.heap(object).unwrap();
            insert(&engine, &heap, &long(1, 40 << 10));
            let before = pages(&engine, &heap).0;
            let room = world.rng().below(700 << 10);
            let capacity_bytes = Some(world.vfs().used_bytes() + room);
            world.vfs().set_faults(FaultPlan { capacity_bytes, ..FaultPlan::default() });
            let mut txn = engine.begin(TxnOptions::default());
            let done = statement(&mut txn, |txn| heap.insert(txn, &batch(&[long(2, 900 << 10)]), None));
            assert!(matches!(done, Err(StorageError::Full { .. })), "{done:?}");
            let _ = txn.rollback();
            world.vfs().set_faults(FaultPlan::default());
            assert_eq!(pages(&engine, &heap).0, before, "seed {seed}, {room} bytes of room");
            sound(&engine);
            insert(&engine, &heap, &long(3, 500 << 10));
            assert_eq!(now(&engine, &heap), [long(1, 40 << 10), long(3, 500 << 10)]);
            sound(&engine);
        });
    }
}

/// Rows whose values are written while others are: each takes its own out of the list.
#[test]
fn values_that_several_write_at_once_are_told_apart() {
    let dir = tempfile::tempdir().unwrap();
    let threads = EngineOptions { background: true, ..options() };
    let engine = Engine::create(Env::real(), &dir.path().join("t.verso"), threads).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    let writers: Vec<_> = (0..4)
        .map(|writer: i64| {
            let (engine, heap) = (engine.clone(), Arc::clone(&heap));
            Env::real().spawn("writer", move || {
                for round in 0..6 {
                    let id = writer * 100 + round;
                    let mut txn = engine.begin(TxnOptions::default());
                    let row = long(id, (260 << 10) + id as usize * 700);
                    statement(&mut txn, |txn| heap.insert(txn, &batch(&[row]), None)).unwrap();
                    match round % 3 {
                        2 => txn.rollback().unwrap(),
                        _ => txn.commit(CommitMode::Wait).unwrap(),
                    }
                    if round == 4 {
                        sound(&engine);
                    }
                }
            })
        })
        .collect();
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let ids: Vec<i64> = (0..4).flat_map(|writer| [0, 1, 3, 4].map(|round| writer * 100 + round)).collect();
    let expected: Vec<Row> = ids.iter().map(|id| long(*id, (260 << 10) + *id as usize * 700)).collect();
    assert!(sorted(now(&engine, &heap)) == expected);
    sound(&engine);
    engine.close().unwrap();
}

/// The engine's work of the crash tests: long rows come, change and go.
fn work(engine: &Engine, heap: &Arc<Heap>, acknowledged: &mut Vec<Row>) -> Result<(), StorageError> {
    for id in 0..4 {
        let row = long(id, (200 << 10) + (id as usize % 3) * (100 << 10));
        let mut next = acknowledged.clone();
        next.push(row.clone());
        let mut txn = engine.begin(TxnOptions::default());
        statement(&mut txn, |txn| heap.insert(txn, &batch(&[row]), None))?;
        if id == 2 {
            statement(&mut txn, |txn| bump(heap, txn, "changed", 1.0, |id| id < 2))?;
            for row in next.iter_mut().filter(|row| row.0 < 2) {
                row.1 = row.1.take().map(|name| name + "changed");
                row.2 += 1.0;
            }
        }
        txn.commit(CommitMode::Wait)?;
        *acknowledged = next;
        engine.housekeeping()?;
    }
    Ok(())
}

fn small() -> EngineOptions {
    EngineOptions { buffer_pool_bytes: 48 * 4096, ..options() }
}

fn create_in(env: &Env) -> (Engine, ObjectId) {
    let engine = Engine::create(env.clone(), &path(), small()).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    engine.checkpoint().unwrap();
    (engine, object)
}

/// N1, N2. The power goes at the nth write of the disk: what was acknowledged is there, and no page is lost.
#[test]
fn n1_a_power_cut_while_a_value_is_written_loses_no_page() {
    let writes = {
        let world = World::new(0);
        world.run(|env| {
            let (engine, object) = create_in(env);
            world.vfs().start_trace();
            work(&engine, &engine.heap(object).unwrap(), &mut Vec::new()).unwrap();
        });
        let trace = world.vfs().take_trace();
        trace.iter().filter(|operation| operation.kind == verso_sim::OperationKind::Write).count() as u64
    };
    for seed in seeds(60) {
        let world = World::new(seed);
        let mut acknowledged = Vec::new();
        let mut in_doubt = Vec::new();
        let object = world.run(|env| {
            let (engine, object) = create_in(env);
            let fail_write = Some(world.rng().between(1, writes));
            world.vfs().set_faults(FaultPlan { fail_write, ..FaultPlan::default() });
            let heap = engine.heap(object).unwrap();
            if work(&engine, &heap, &mut acknowledged).is_err() {
                in_doubt.clone_from(&acknowledged);
            }
            object
        });
        match seed % 2 {
            0 => world.crash(),
            _ => world.vfs().crash_losing_nothing(),
        }
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), small()).unwrap();
            let heap = engine.heap(object).unwrap();
            let found = sorted(now(&engine, &heap));
            assert!(
                found.len() == acknowledged.len() && found == acknowledged
                    || found.len() == acknowledged.len() + 1,
                "seed {seed}: {} rows, {} were acknowledged",
                found.len(),
                acknowledged.len()
            );
            sound(&engine);
            sweep(&engine);
            sound(&engine);
            let expected: u64 = found
                .iter()
                .map(|row| row.1.as_ref().map_or(0, |name| name.len().div_ceil(4096 - 32)) as u64)
                .sum();
            let (held, _) = pages(&engine, &heap);
            assert_eq!(held, expected, "seed {seed}: pages of values");
            engine.close().unwrap();
        });
    }
}
