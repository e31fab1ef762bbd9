//! Commits that do not wait for the disk (T1-nowait): seen at once, in order, lost from the end only.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use verso_env::Env;
use verso_sim::{FaultPlan, Gate, Rng, World, seeds};
use verso_storage::heap::Heap;
use verso_storage::{CommitMode, Engine, EngineOptions, StorageError, TxnOptions, TxnState};

use crate::support::{COLUMNS, batch, now, options, sound};

const MODES: [CommitMode; 4] =
    [CommitMode::Wait, CommitMode::WaitBatch, CommitMode::NoWait, CommitMode::NoWaitBatch];

/// A database with a log writer, and the gate of its disk.
fn gated(dir: &Path) -> (Engine, Arc<Heap>, Arc<Gate>) {
    let (env, gate) = Gate::before(Env::real());
    let options = EngineOptions { background: true, ..options() };
    let engine = Engine::create(env, &dir.join("t.verso"), options).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    (engine, heap, gate)
}

/// Inserts a row for each number, in one transaction.
fn add(engine: &Engine, heap: &Arc<Heap>, ids: &[i64], mode: CommitMode) -> Result<(), StorageError> {
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement()?;
    let rows: Vec<_> = ids.iter().map(|id| (*id, None, 0.0)).collect();
    heap.insert(&mut txn, &batch(&rows), None)?;
    txn.end_statement()?;
    txn.commit(mode)
}

fn ids(engine: &Engine, heap: &Arc<Heap>) -> BTreeSet<i64> {
    now(engine, heap).iter().map(|row| row.0).collect()
}

fn within(limit: Duration, mut done: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while !done() {
        if Instant::now() > end {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

#[test]
fn a_commit_that_does_not_wait_is_seen_while_the_disk_does_not_answer() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap, gate) = gated(dir.path());
    for (id, mode) in [(1, CommitMode::NoWait), (2, CommitMode::NoWaitBatch)] {
        gate.set(true);
        let (done, before) = (AtomicBool::new(false), engine.durable());
        std::thread::scope(|scope| {
            scope.spawn(|| {
                add(&engine, &heap, &[id], mode).unwrap();
                done.store(true, Ordering::SeqCst);
            });
            let returned = within(Duration::from_secs(5), || done.load(Ordering::SeqCst));
            let seen = returned && ids(&engine, &heap).contains(&id);
            let progress = engine.log_progress();
            gate.set(false);
            assert!(returned, "{mode:?} has waited");
            assert!(seen, "{mode:?} is not seen");
            assert_eq!(progress.durable, before.0);
            assert!(progress.appended > before.0 && progress.commits > progress.commits_durable);
        });
        // Nobody asks for it, and it becomes durable all the same. Housekeeping may log more behind it, for which nobody waits.
        let durable = || {
            let progress = engine.log_progress();
            progress.commits == progress.commits_durable
        };
        assert!(within(Duration::from_secs(5), durable), "{mode:?} is forgotten");
    }
    sound(&engine);
}

#[test]
fn a_commit_that_does_not_wait_is_published_behind_those_that_do() {
    let dir = tempfile::tempdir().unwrap();
    let (engine, heap, gate) = gated(dir.path());
    add(&engine, &heap, &[0], CommitMode::Wait).unwrap();
    gate.set(true);
    std::thread::scope(|scope| {
        let before = engine.log_progress().commits;
        let first = scope.spawn(|| add(&engine, &heap, &[1], CommitMode::Wait));
        // Not until somebody waits for the disk: that may be the log writer, on behalf of housekeeping.
        assert!(within(Duration::from_secs(60), || engine.log_progress().commits > before));
        let mut second = engine.begin(TxnOptions::default());
        second.begin_statement().unwrap();
        heap.insert(&mut second, &batch(&[(2, None, 0.0)]), None).unwrap();
        second.end_statement().unwrap();
        let id = second.id().unwrap();
        second.commit_logged(CommitMode::NoWait).unwrap();
        let state = engine.txn_state(id);
        let told = second.answers_at_once();
        gate.set(false);
        first.join().unwrap().unwrap();
        assert_eq!(state, TxnState::Active, "seen before the one before it");
        assert!(told);
        // Its own session does nothing more; the other one has published it.
        assert_eq!(engine.txn_state(id), TxnState::Committed);
        assert_eq!(ids(&engine, &heap), [0, 1, 2].into());
        second.finish_commit().unwrap();
        second.begin_again(TxnOptions::default());
        second.begin_statement().unwrap();
        heap.insert(&mut second, &batch(&[(3, None, 0.0)]), None).unwrap();
        second.end_statement().unwrap();
        second.commit(CommitMode::NoWaitBatch).unwrap();
    });
    assert_eq!(ids(&engine, &heap), [0, 1, 2, 3].into());
    sound(&engine);
}

/// What clients know of their commits.
#[derive(Default)]
struct Known {
    /// Of transactions that returned, whatever their mode.
    returned: BTreeSet<i64>,
    /// What a wait that has ended vouches for.
    durable: BTreeSet<i64>,
}

/// Rows of one transaction: its number, and its number negated.
fn rows_of(number: i64) -> [i64; 2] {
    [number, -number]
}

/// Clients commit in every mode; the power fails in any operation. What a commit that waits vouches for is there, its own
/// rows and all that had returned before it began; of each client a first part is there, and no half of a transaction.
fn run_simulated(seed: u64) {
    let world = World::new(seed);
    let mut rng = world.rng();
    let path = World::dir().join("t.verso");
    let options = EngineOptions {
        page_size: 4096,
        max_database_bytes: 64 << 20,
        background: !rng.one_in(4),
        ..EngineOptions::default()
    };
    let object = world.run(|env| {
        let engine = Engine::create(env.clone(), &path, options.clone()).unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        engine.close().unwrap();
        object
    });
    let known: Arc<Mutex<Known>> = Arc::default();
    let cut = (!rng.one_in(5)).then(|| rng.between(1, 80));
    world.run(|env| {
        let engine = Arc::new(Engine::open(env.clone(), &path, options.clone()).unwrap());
        let heap = engine.heap(object).unwrap();
        if let Some(at) = cut {
            world.vfs().set_faults(FaultPlan { power_off_at_op: Some(at), ..FaultPlan::default() });
        }
        let threads: Vec<_> = (1..=3)
            .map(|client| {
                let (engine, heap, known) = (Arc::clone(&engine), Arc::clone(&heap), Arc::clone(&known));
                let mut rng = Rng::new(seed ^ ((client as u64) << 32));
                env.spawn("client", move || {
                    for turn in 0..12 {
                        let number = client * 100 + turn;
                        let mode = MODES[rng.below(4) as usize];
                        let mut vouched = known.lock().unwrap().returned.clone();
                        if rng.one_in(8) {
                            // An express wait vouches for all that had returned, too.
                            if engine.flush_log(engine.logged()).is_err() {
                                return;
                            }
                            known.lock().unwrap().durable.append(&mut vouched);
                            continue;
                        }
                        if add(&engine, &heap, &rows_of(number), mode).is_err() {
                            return;
                        }
                        let mut known = known.lock().unwrap();
                        known.returned.insert(number);
                        if mode.waits() {
                            known.durable.insert(number);
                            known.durable.append(&mut vouched);
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
        let found = ids(&engine, &heap);
        let known = known.lock().unwrap();
        for number in found.iter().map(|id| id.abs()) {
            assert!(rows_of(number).iter().all(|id| found.contains(id)), "seed {seed}: half of {number}");
        }
        for number in &known.durable {
            assert!(found.contains(number), "seed {seed}: {number} was vouched for");
        }
        for client in 1..=3 {
            let of = |id: &&i64| **id / 100 == client;
            let last = found.iter().filter(of).max();
            for number in known.returned.iter().filter(of) {
                let hole = last.is_some_and(|last| number < last) && !found.contains(number);
                assert!(!hole, "seed {seed}: {number} is missing before {last:?}");
            }
        }
        sound(&engine);
    });
}

#[test]
fn a_power_cut_takes_only_the_end_of_what_did_not_wait() {
    for seed in seeds(150) {
        run_simulated(seed);
    }
}
