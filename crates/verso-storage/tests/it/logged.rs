//! Commits that are in the log and not on disk yet (T1-logged, T3-logged): changes build upon them, and nobody is shown
//! what may still be lost.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use verso_env::Env;
use verso_sim::{FaultPlan, Gate, World, seeds};
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::{
    CommitMode, Engine, EngineOptions, Isolation, RecordLockMode, StorageError, Txn, TxnOptions, TxnState,
    WaitPolicy,
};
use verso_types::{SqlType, Value};

use crate::support::{COLUMNS, batch, create, fill, now, options, sound};

/// A database with `count` rows, and the gate of its disk.
fn gated(dir: &Path, count: i64) -> (Engine, Arc<Heap>, Arc<Gate>) {
    let (env, gate) = Gate::before(Env::real());
    let engine = Engine::create(env, &dir.join("t.verso"), options()).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    fill(&engine, &heap, 0..count);
    (engine, heap, gate)
}

fn amount(batch: &ScanBatch, row: usize) -> f64 {
    let Value::Float8(amount) = batch.batch.columns[1].value(row, &SqlType::Float8) else {
        panic!("an amount")
    };
    amount
}

/// Adds 1 to the amounts of rows with these numbers, as an UPDATE at READ COMMITTED does it.
fn add_one(heap: &Arc<Heap>, txn: &mut Txn, ids: &[i64]) -> Result<(), StorageError> {
    let mut scan = heap.scan(txn, ScanSpec { columns: &[1, 3], pages: 0..u32::MAX });
    let mut out = ScanBatch::default();
    while scan.next(&mut out)? {
        let found = out.batch.columns[0].data.i64s().unwrap().to_vec();
        let mut selection: Vec<u32> =
            (0..found.len() as u32).filter(|row| ids.contains(&found[*row as usize])).collect();
        while !selection.is_empty() {
            let row = |row: &u32| (0, None, amount(&out, *row as usize) + 1.0);
            let mut values = batch(&selection.iter().map(row).collect::<Vec<_>>());
            values.columns.drain(..2);
            let mut stale = Vec::new();
            heap.update_unless_stale(txn, &out, Some(&selection), &[3], &values, &mut stale)?;
            let again: Vec<_> =
                stale.iter().map(|at| out.records[selection[*at as usize] as usize]).collect();
            if again.is_empty() {
                break;
            }
            heap.fetch_newest(txn, &again, &[1, 3], &mut out)?;
            selection = (0..out.batch.rows as u32).collect();
        }
    }
    Ok(())
}

fn change(heap: &Arc<Heap>, txn: &mut Txn, ids: &[i64]) -> Result<(), StorageError> {
    txn.begin_change()?;
    match add_one(heap, txn, ids) {
        Ok(()) => txn.end_statement(),
        Err(error) => txn.abort_statement().and(Err(error)),
    }
}

fn amounts(heap: &Arc<Heap>, txn: &Txn) -> Result<Vec<f64>, StorageError> {
    let mut scan = heap.scan(txn, ScanSpec { columns: &[1, 3], pages: 0..u32::MAX });
    let (mut out, mut all) = (ScanBatch::default(), Vec::new());
    while scan.next(&mut out)? {
        all.extend((0..out.batch.rows).map(|row| amount(&out, row)));
    }
    Ok(all)
}

/// A transaction has changed row 0 and commits; the disk does not answer. Then `meanwhile`.
fn while_a_commit_waits(meanwhile: impl FnOnce(&Engine, &Arc<Heap>, &Gate)) {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap, gate) = gated(dir.path(), 3);
    let before = now(&engine, &heap)[0].2;
    let mut first = engine.begin(TxnOptions::default());
    change(&heap, &mut first, &[0]).unwrap();
    let id = first.id().unwrap();
    gate.set(true);
    std::thread::scope(|scope| {
        let commit = scope.spawn(|| first.commit(CommitMode::Wait));
        gate.until_somebody_waits();
        assert_eq!(engine.txn_state(id), TxnState::Active);
        meanwhile(&engine, &heap, &gate);
        gate.set(false);
        commit.join().unwrap().unwrap();
    });
    assert_eq!(engine.txn_state(id), TxnState::Committed);
    assert!(now(&engine, &heap)[0].2 > before);
    sound(&engine);
}

#[test]
fn t3_a_change_does_not_wait_for_the_disk_of_the_one_before_it() {
    while_a_commit_waits(|engine, heap, gate| {
        let seen = now(engine, heap)[0].2;
        let mut next = engine.begin(TxnOptions::default());
        next.set_lock_timeout(Some(Duration::from_secs(5)));
        change(heap, &mut next, &[0]).unwrap();
        // It knows more than it may tell before the disk answers.
        assert_eq!(now(engine, heap)[0].2, seen);
        let opened = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let told = scope.spawn(|| {
                next.begin_statement().unwrap();
                assert!(opened.load(Ordering::Relaxed), "told of what may be lost");
                let told = amounts(heap, &next).unwrap()[0];
                next.end_statement().unwrap();
                next.commit(CommitMode::Wait).unwrap();
                told
            });
            gate.changes_within(Duration::from_millis(20));
            opened.store(true, Ordering::Relaxed);
            gate.set(false);
            assert_eq!(told.join().unwrap(), seen + 2.0);
        });
    });
}

#[test]
fn t3_a_queue_of_changes_goes_on_while_the_disk_does_not_answer() {
    while_a_commit_waits(|engine, heap, gate| {
        let done = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    let mut txn = engine.begin(TxnOptions::default());
                    change(heap, &mut txn, &[0]).unwrap();
                    done.fetch_add(1, Ordering::Relaxed);
                    txn.commit(CommitMode::Wait).unwrap();
                });
            }
            // Each holds the row until its commit is logged; none needs the disk for that.
            while done.load(Ordering::Relaxed) < 3 {
                std::thread::yield_now();
            }
            gate.set(false);
        });
    });
}

#[test]
fn t1_what_is_logged_only_is_not_shown_and_stays_locked() {
    while_a_commit_waits(|engine, heap, _| {
        let shown = now(engine, heap);
        let mut locker = engine.begin(TxnOptions::default());
        locker.begin_statement().unwrap();
        let mut scan = heap.scan(&locker, ScanSpec { columns: &[1], pages: 0..u32::MAX });
        let mut rows = ScanBatch::default();
        assert!(scan.next(&mut rows).unwrap());
        drop(scan);
        let locked =
            heap.lock_records(&mut locker, &rows, Some(&[0]), RecordLockMode::Update, WaitPolicy::NoWait);
        assert!(matches!(locked, Err(StorageError::LockNotAvailable)), "{locked:?}");
        for (isolation, silent) in [(Isolation::Snapshot, true), (Isolation::ReadCommitted, false)] {
            let mut txn = engine.begin(TxnOptions { isolation, ..TxnOptions::default() });
            txn.set_lock_timeout(Some(Duration::from_millis(5)));
            if silent {
                txn.begin_change().unwrap()
            } else {
                txn.begin_statement().unwrap()
            }
            let changed = add_one(heap, &mut txn, &[0]);
            assert!(matches!(changed, Err(StorageError::LockTimeout)), "{isolation:?}: {changed:?}");
            txn.abort_statement().unwrap();
        }
        assert_eq!(now(engine, heap), shown);
    });
}

#[test]
fn t1_a_rollback_behind_a_commit_that_waits_is_over_at_once() {
    while_a_commit_waits(|engine, heap, _| {
        let mut other = engine.begin(TxnOptions::default());
        change(heap, &mut other, &[1]).unwrap();
        let id = other.id().unwrap();
        other.rollback().unwrap();
        assert_eq!(engine.txn_state(id), TxnState::Committed, "nothing is left of it");
        let mut next = engine.begin(TxnOptions::default());
        next.begin_statement().unwrap();
        add_one(heap, &mut next, &[1]).unwrap();
        next.end_statement().unwrap();
        next.rollback().unwrap();
    });
}

/// Threads add to one row that all want and to one of their own, in one transaction; others look. After a power cut the
/// sums agree, what was acknowledged is there, and nothing that anybody was shown is lost.
fn run_simulated(seed: u64) {
    const CLIENTS: u64 = 3;
    let world = World::new(seed);
    let mut rng = world.rng();
    let path = World::dir().join("t.verso");
    let options = EngineOptions {
        page_size: 4096,
        max_database_bytes: 64 << 20,
        background: rng.one_in(2),
        ..EngineOptions::default()
    };
    let object = world.run(|env| {
        let engine = Engine::create(env.clone(), &path, options.clone()).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        txn.begin_statement().unwrap();
        let rows: Vec<_> = (0..=CLIENTS as i64).map(|id| (id, None, 0.0)).collect();
        engine.heap(object).unwrap().insert(&mut txn, &batch(&rows), None).unwrap();
        txn.end_statement().unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        engine.close().unwrap();
        object
    });
    let shown: Arc<[AtomicU64; 4]> = Arc::default();
    let cut = (!rng.one_in(4)).then(|| rng.between(1, 120));
    world.run(|env| {
        let engine = Arc::new(Engine::open(env.clone(), &path, options.clone()).unwrap());
        let heap = engine.heap(object).unwrap();
        if let Some(at) = cut {
            world.vfs().set_faults(FaultPlan { power_off_at_op: Some(at), ..FaultPlan::default() });
        }
        let threads: Vec<_> = (0..=CLIENTS)
            .map(|client| {
                let (engine, heap, shown) = (Arc::clone(&engine), Arc::clone(&heap), Arc::clone(&shown));
                let mut rng = verso_sim::Rng::new(seed ^ ((client + 1) << 32));
                env.spawn("client", move || {
                    let mut own = 0;
                    for _ in 0..6 {
                        let done = if client == 0 {
                            look(&engine, &heap, &*shown)
                        } else {
                            one(&engine, &heap, client, &mut own, &*shown, &mut rng)
                        };
                        if done.is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        if !world.vfs().is_off() {
            world.vfs().set_faults(FaultPlan::default());
        }
    });
    world.crash();
    world.run(|env| {
        let engine = Engine::open(env.clone(), &path, options.clone()).unwrap();
        let heap = engine.heap(object).unwrap();
        engine.housekeeping().unwrap();
        let found: Vec<u64> = now(&engine, &heap).iter().map(|row| row.2 as u64).collect();
        assert_eq!(found[0], found[1..].iter().sum::<u64>(), "seed {seed}: {found:?}");
        for (found, shown) in found.iter().zip(shown.iter()) {
            let shown = shown.load(Ordering::Relaxed);
            assert!(*found >= shown, "seed {seed}: {found} there, {shown} shown");
        }
        sound(&engine);
    });
}

/// One look at all rows.
fn look(engine: &Engine, heap: &Arc<Heap>, shown: &[AtomicU64]) -> Result<(), StorageError> {
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement()?;
    let amounts = amounts(heap, &txn)?;
    txn.end_statement()?;
    txn.commit(CommitMode::Wait)?;
    for (shown, amount) in shown.iter().zip(amounts) {
        shown.fetch_max(amount as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// One transaction of a client, which perhaps looks at what it does before it commits, or takes it back.
fn one(
    engine: &Engine,
    heap: &Arc<Heap>,
    client: u64,
    own: &mut u64,
    shown: &[AtomicU64],
    rng: &mut verso_sim::Rng,
) -> Result<(), StorageError> {
    let mut txn = engine.begin(TxnOptions::default());
    change(heap, &mut txn, &[0])?;
    if rng.one_in(4) {
        txn.begin_statement()?;
        let amounts = amounts(heap, &txn)?;
        txn.end_statement()?;
        // Its own 1 may be lost; the others' may not.
        shown[0].fetch_max(amounts[0] as u64 - 1, Ordering::Relaxed);
    }
    change(heap, &mut txn, &[client as i64])?;
    if rng.one_in(6) {
        return txn.rollback();
    }
    txn.commit(CommitMode::Wait)?;
    *own += 1;
    shown[client as usize].fetch_max(*own, Ordering::Relaxed);
    Ok(())
}

#[test]
fn t1_nothing_that_was_shown_is_lost_in_a_power_cut() {
    for seed in seeds(150) {
        run_simulated(seed);
    }
}

/// What a transaction of one row costs in the log beside the values of the row: group, version range, note of the insert and
/// row, then the commit.
#[test]
fn a_transaction_of_one_row_logs_few_bytes() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap) = create(dir.path());
    fill(&engine, &heap, 0..10);
    let before = engine.statistics().log.bytes;
    (100..200).for_each(|row| fill(&engine, &heap, row..row + 1));
    let bytes = engine.statistics().log.bytes - before;
    // Each row has 24 bytes of values; a page that is new, or full, has its part.
    assert!((5_000..9_000).contains(&bytes), "{bytes} bytes of 100 transactions");
    drop((heap, engine));
    let engine = Engine::open(Env::real(), &dir.path().join("t.verso"), options()).unwrap();
    sound(&engine);
}
