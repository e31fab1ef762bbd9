//! Several threads on one engine, checked by what each saw: [`History`].
//!
//! ```text
//! clients ──┐  random statements: bulk changes of random columns, savepoints, failures, deaths without savepoints
//! readers ──┼─► Engine, 64 pages ─► simulated disk (a power cut in any operation), or a real one
//! keeper  ──┘  snapshots held meanwhile; sweeps, checkpoints, retirement, back-out, check at random
//! ```
//!
//! Under the simulated scheduler one thread runs at a time, in the order that the seed decides.

mod client;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use verso_env::{Env, JoinHandle};
use verso_sim::model::{History, Row, Writes};
use verso_sim::{FaultPlan, Operation, Rng, RunReport, SchedulerOptions, World, seeds};
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::{
    CommitMode, Engine, EngineOptions, Isolation, ObjectId, StorageError, SweepOptions, Txn, TxnOptions,
};

use crate::columns::{COLUMNS, PAGE_SIZE, TABLE_COUNT, ids, rid, rows_of};
use client::Client;

/// How much is done.
#[derive(Clone, Copy)]
struct Load {
    clients: u64,
    readers: u64,
    transactions: u64,
    rows_max: usize,
}

/// What all threads share.
struct Work {
    engine: Engine,
    heaps: Vec<Arc<Heap>>,
    history: History,
    load: Load,
    /// Rows that a scan of each table last found.
    sizes: [AtomicUsize; TABLE_COUNT as usize],
    /// Clients under way.
    clients: AtomicU64,
    /// The disk fails sooner or later, so errors are no bugs.
    power_fails: bool,
    failed: AtomicBool,
    env: Env,
}

/// Why a thread does not go on.
enum Stop {
    /// The transaction is to be rolled back.
    Conflict,
    /// The engine has failed.
    Failed,
}

impl Work {
    /// Which errors are part of the game.
    fn stop(&self, error: StorageError) -> Stop {
        match error {
            StorageError::Conflict { .. } | StorageError::Deadlock { .. } => Stop::Conflict,
            error => {
                assert!(self.power_fails, "{error}");
                self.failed.store(true, Ordering::Relaxed);
                Stop::Failed
            }
        }
    }

    fn read(&self, txn: &Txn, table: u32) -> Result<BTreeMap<u64, Row>, StorageError> {
        let ids = ids();
        let mut scan = self.heaps[table as usize].scan(txn, ScanSpec { columns: &ids, pages: 0..u32::MAX });
        let (mut out, mut found) = (ScanBatch::default(), BTreeMap::new());
        while scan.next(&mut out)? {
            for (row, record) in rows_of(&out).into_iter().zip(&out.records) {
                assert_eq!(found.insert(rid(*record), row), None, "{record} twice in one scan");
            }
        }
        self.sizes[table as usize].store(found.len(), Ordering::Relaxed);
        Ok(found)
    }

    /// Everything there is now.
    fn everything(&self) -> Result<BTreeMap<(u32, u64), Row>, StorageError> {
        let mut txn = self.engine.begin(TxnOptions::default());
        txn.begin_statement()?;
        let mut all = BTreeMap::new();
        for table in 0..TABLE_COUNT {
            all.extend(self.read(&txn, table)?.into_iter().map(|(rid, row)| ((table, rid), row)));
        }
        Ok(all)
    }
}

/// Runs transactions one after the other.
fn client(work: &Work, mut rng: Rng) {
    for _ in 0..work.load.transactions {
        if matches!(Client::run(work, rng.fork()), Err(Stop::Failed)) {
            break;
        }
    }
    work.clients.fetch_sub(1, Ordering::AcqRel);
}

/// Holds snapshots and looks whether they stay what they were.
fn reader(work: &Work, mut rng: Rng) {
    while work.clients.load(Ordering::Acquire) > 0 {
        let isolation = Isolation::Snapshot;
        let mut txn = work.engine.begin(TxnOptions { isolation, ..TxnOptions::default() });
        let table = rng.below(u64::from(TABLE_COUNT)) as u32;
        let mut look = || -> Result<(u64, BTreeMap<u64, Row>), StorageError> {
            txn.begin_statement()?;
            let found = work.read(&txn, table)?;
            let seen = txn.snapshot_number().unwrap();
            txn.end_statement()?;
            Ok((seen, found))
        };
        let first = look();
        for _ in 0..rng.between(1, 12) {
            work.env.clock.sleep(Duration::from_micros(rng.between(1, 3000)));
            match (&first, look()) {
                (Ok(first), Ok(found)) => assert!(*first == found, "a snapshot changed"),
                (_, Err(error)) => {
                    work.stop(error);
                    return;
                }
                (Err(error), _) => {
                    work.stop(error.clone());
                    return;
                }
            }
        }
        if let Ok((seen, found)) = first {
            work.history.read(seen, &Writes::new(), table, found);
        }
    }
}

/// Does what must not change an answer.
fn keeper(work: &Work, mut rng: Rng) {
    while work.clients.load(Ordering::Acquire) > 0 {
        work.env.clock.sleep(Duration::from_micros(rng.between(1, 5000)));
        let done = match rng.below(5) {
            0 | 1 => work.engine.housekeeping(),
            2 => match work.engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())) {
                Err(StorageError::SweepRunning) => Ok(()),
                swept => swept.map(|_| ()),
            },
            3 => work.engine.checkpoint(),
            _ => work.engine.check(&mut |_| ()).map(|report| {
                assert!(report.problems.is_empty() || work.power_fails, "{:?}", report.problems);
            }),
        };
        if let Err(error) = done
            && matches!(work.stop(error), Stop::Failed)
        {
            return;
        }
    }
}

/// Runs all threads to their ends.
fn run(work: Work, rng: &mut Rng) -> Arc<Work> {
    let work = Arc::new(work);
    work.clients.store(work.load.clients, Ordering::Release);
    let mut threads: Vec<JoinHandle> = Vec::new();
    let mut start = |name: &str, body: fn(&Work, Rng)| {
        let (work, rng) = (Arc::clone(&work), rng.fork());
        let env = work.env.clone();
        threads.push(env.spawn(name, move || body(&work, rng)));
    };
    (0..work.load.clients).for_each(|_| start("client", client));
    (0..work.load.readers).for_each(|_| start("reader", reader));
    start("keeper", keeper);
    for thread in threads {
        thread.join().unwrap();
    }
    if let Err(text) = work.history.check() {
        panic!("{text}");
    }
    work
}

/// Opens the database anew and goes on from what is found there.
fn reopen(env: &Env, path: &Path, options: &EngineOptions, objects: &[ObjectId], history: &History) -> Work {
    let engine = Engine::open(env.clone(), path, options.clone()).unwrap();
    let heaps = objects.iter().map(|object| engine.heap(*object).unwrap()).collect();
    let mut work = work(env, engine, heaps, Load { clients: 0, readers: 0, transactions: 0, rows_max: 0 });
    let found = work.everything().unwrap();
    work.history = history.after_crash(found).unwrap_or_else(|text| panic!("{text}"));
    work
}

fn work(env: &Env, engine: Engine, heaps: Vec<Arc<Heap>>, load: Load) -> Work {
    // Every other table has its transactions share pages.
    heaps.iter().enumerate().for_each(|(number, heap)| heap.set_colocation(number % 2 == 0));
    Work {
        engine,
        heaps,
        history: History::default(),
        load,
        sizes: Default::default(),
        clients: AtomicU64::new(0),
        power_fails: false,
        failed: AtomicBool::new(false),
        env: env.clone(),
    }
}

fn create(env: &Env, path: &Path, options: &EngineOptions) -> (Engine, Vec<ObjectId>) {
    let engine = Engine::create(env.clone(), path, options.clone()).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let specs = COLUMNS.map(|(spec, _)| spec);
    let objects = (0..TABLE_COUNT).map(|_| engine.create_heap(&mut txn, &specs).unwrap()).collect();
    txn.commit(CommitMode::Wait).unwrap();
    (engine, objects)
}

fn options(rng: &mut Rng) -> EngineOptions {
    EngineOptions {
        page_size: PAGE_SIZE,
        buffer_pool_bytes: u64::from(PAGE_SIZE) * 64,
        max_database_bytes: 64 << 20,
        auto_backout: rng.one_in(2),
        eager_rollback_records: *rng.pick(&[0, 3, 1000]),
        background: rng.one_in(2),
        ..EngineOptions::default()
    }
}

/// No transaction is open: everything dead can be backed out, and no version is needed.
fn at_rest(work: &Work) {
    let expected = work.history.last();
    assert_eq!(work.everything().unwrap(), expected);
    // Housekeeping of the background may sweep at the same time.
    let sweep = |_| ControlFlow::Continue(());
    work.engine.sweep(SweepOptions::default(), &mut { sweep }).unwrap();
    work.engine.housekeeping().unwrap();
    let report = work.engine.check(&mut |_| ()).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
    // A page may be in the hands of the background's housekeeping, which has not yet logged that it is free.
    for _ in 0..1000 {
        if work.engine.space().version_pages == 0 {
            break;
        }
        work.env.clock.sleep(Duration::from_millis(10));
        work.engine.housekeeping().unwrap();
    }
    assert_eq!(work.engine.space().version_pages, 0, "nobody needs them");
    assert_eq!(work.everything().unwrap(), expected);
}

/// Rounds of work, each cut off by a power failure or closed.
fn run_simulated(seed: u64) {
    run_in(&World::new(seed), &mut |_| ());
}

/// As [`run_simulated`]; `ran` hears of every round.
fn run_in(world: &World, ran: &mut dyn FnMut(&World)) {
    let mut rng = world.rng();
    let options = options(&mut rng);
    let path = World::dir().join("t.verso");
    let objects = world.run(|env| {
        let (engine, objects) = create(env, &path, &options);
        engine.close().unwrap();
        objects
    });
    ran(world);
    let mut history = History::default();
    for _ in 0..2 {
        let load = Load {
            clients: rng.between(2, 4),
            readers: rng.between(0, 2),
            transactions: rng.between(2, 8),
            rows_max: *rng.pick(&[20, 100]),
        };
        let cut = rng.one_in(2).then(|| rng.between(1, 400));
        history = world.run(|env| {
            let mut work = reopen(env, &path, &options, &objects, &history);
            work.load = load;
            if let Some(at) = cut {
                work.power_fails = true;
                world.vfs().set_faults(FaultPlan { power_off_at_op: Some(at), ..FaultPlan::default() });
            }
            let work = run(work, &mut rng);
            if !work.failed.load(Ordering::Relaxed) && !world.vfs().is_off() {
                world.vfs().set_faults(FaultPlan::default());
                at_rest(&work);
                if rng.one_in(2) {
                    work.engine.close().unwrap();
                }
            }
            Arc::into_inner(work).expect("all threads have ended").history
        });
        ran(world);
        world.crash();
    }
    world.run(|env| at_rest(&reopen(env, &path, &options, &objects, &history)));
    ran(world);
}

/// Everything that happens in a run of a seed: each step of each thread, and each operation of the disk.
fn traces(seed: u64) -> Vec<(RunReport, Vec<Operation>)> {
    let world = World::new(seed);
    world.set_scheduler(SchedulerOptions { keep_trace: true, ..SchedulerOptions::default() });
    world.vfs().start_trace();
    let mut found = Vec::new();
    run_in(&world, &mut |world| {
        found.push((world.last_report().expect("it has ended well"), world.vfs().take_trace()));
        world.vfs().start_trace();
    });
    found
}

/// What a seed has shown once it shows again: nothing depends on addresses, on the order of hash maps, on the numbers of
/// threads, or on the clock of the machine.
#[test]
fn the_same_seed_is_the_same_run_step_by_step() {
    for seed in seeds(12) {
        let (first, second) = (traces(seed), traces(seed));
        assert_eq!(first.len(), second.len());
        for (round, (first, second)) in first.iter().zip(&second).enumerate() {
            let difference = first.0.difference(&second.0);
            assert!(difference.is_none(), "seed {seed}, round {round}: {}", difference.unwrap_or_default());
            assert_eq!(first.1, second.1, "seed {seed}, round {round}: operations of the disk");
        }
    }
}

#[test]
fn simulated_threads_see_what_their_snapshots_say() {
    for seed in seeds(100) {
        run_simulated(seed);
    }
}

#[test]
fn real_threads_see_what_their_snapshots_say() {
    for seed in seeds(2) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("t.verso");
        let (env, mut rng) = (Env::real(), Rng::new(seed));
        let options = EngineOptions { background: true, ..options(&mut rng) };
        let (engine, objects) = create(&env, &path, &options);
        engine.close().unwrap();
        drop(engine);
        let mut work = reopen(&env, &path, &options, &objects, &History::default());
        work.load = Load { clients: 4, readers: 2, transactions: 40, rows_max: 100 };
        let work = run(work, &mut rng);
        at_rest(&work);
        work.engine.close().unwrap();
    }
}
