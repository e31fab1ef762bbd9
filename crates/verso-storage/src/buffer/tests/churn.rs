//! Several threads on a pool much smaller than its database: with real threads, with simulated ones, and with the
//! power cut at any operation.
//!
//! Each shared page holds one value throughout, the LSN of its last change, so a lost, torn or mixed-up page shows.

use verso_sim::{FaultPlan, World as Machine, seeds};

use verso_env::OpenMode;
use verso_env::sync::Mutex as SyncMutex;

use super::*;

const SHARED_PAGES: u32 = 48;
const SCRATCH_PAGES: u32 = 12;
const THREADS: u32 = 3;

/// What must be true of the pages, whatever happens to the pool.
struct Model {
    /// Value of each page in memory; changes under the page's latch.
    newest: Vec<AtomicU64>,
    /// Value of each page at least, after any crash.
    durable: SyncMutex<Vec<u64>>,
    /// The log's end; next LSN.
    log_end: AtomicU64,
    log_durable: AtomicU64,
}

impl Model {
    fn new() -> Arc<Model> {
        Arc::new(Model {
            newest: (0..=SHARED_PAGES).map(|_| AtomicU64::new(0)).collect(),
            durable: SyncMutex::new(vec![0; SHARED_PAGES as usize + 1]),
            log_end: AtomicU64::new(1),
            log_durable: AtomicU64::new(0),
        })
    }

    fn newest(&self) -> Vec<u64> {
        self.newest.iter().map(|value| value.load(Ordering::SeqCst)).collect()
    }
}

impl LogGate for Model {
    fn flush_to(&self, lsn: Lsn) -> Result<(), StorageError> {
        assert!(lsn.0 <= self.log_end.load(Ordering::SeqCst), "pages do not run ahead of the log");
        self.log_durable.fetch_max(lsn.0, Ordering::SeqCst);
        Ok(())
    }
}

/// Small numbers from a seed, for threads of either kind.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u32) -> u32 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) % u64::from(limit)) as u32
    }
}

fn open_pool(env: &Env, frames: u64, model: &Arc<Model>) -> Result<Arc<BufferPool>, StorageError> {
    let open = |name: &str| {
        let path = Machine::dir().join(name);
        env.vfs.open(&path, OpenMode::CREATE).map_err(|error| StorageError::io("opening", error))
    };
    let (file, area) = (open("file")?, open("area")?);
    env.vfs.sync_dir(Machine::dir()).map_err(|error| StorageError::io("syncing names", error))?;
    doublewrite::restore(&*file, &*area, PAGE_SIZE)?;
    let options = PoolOptions { lru_min_dirty: 30, lru_max_dirty: 60, ..options(frames) };
    BufferPool::new(options, env, file, area, Arc::clone(model) as _)
}

/// Creates the shared pages that no earlier run made durable.
fn create_shared(pool: &BufferPool, model: &Model) -> Result<(), StorageError> {
    for number in 1..=SHARED_PAGES {
        let mut page = pool.create(PageId(number))?;
        page.init(PageKind::Data, ObjectId(2), 0);
        change(&mut page, number, model);
    }
    Ok(())
}

fn change(page: &mut ExclusivePage<'_>, number: u32, model: &Model) {
    let start = model.log_end.fetch_add(1, Ordering::SeqCst);
    put_value(page, start);
    page.set_lsn(Lsn(start), Lsn(start + 1));
    model.newest[number as usize].store(start, Ordering::SeqCst);
}

/// One thread's share: changes and reads shared pages, and fills, reads and frees scratch pages of its own.
fn churn(pool: &BufferPool, model: &Model, thread: u32, steps: u32, seed: u64) -> Result<(), StorageError> {
    let mut dice = Dice(seed ^ u64::from(thread) << 40);
    let mut scratch = vec![None; SCRATCH_PAGES as usize];
    let first_scratch = SHARED_PAGES + 1 + thread * SCRATCH_PAGES;
    for step in 0..steps {
        let number = 1 + dice.below(SHARED_PAGES);
        match dice.below(12) {
            0..4 => {
                let mut page = pool.write(PageId(number))?;
                assert_eq!(value(&page), model.newest[number as usize].load(Ordering::SeqCst));
                change(&mut page, number, model);
                if dice.below(2) == 0 {
                    let before = page.version();
                    let page = page.downgrade();
                    assert_eq!(page.version(), before + 1);
                    assert_eq!(value(&page), model.newest[number as usize].load(Ordering::SeqCst));
                }
            }
            4..7 => {
                let page = pool.read(PageId(number))?;
                assert_eq!(value(&page), model.newest[number as usize].load(Ordering::SeqCst));
            }
            7 => {
                pool.prefetch(PageId(number), 4);
                value(&pool.read_for_scan(PageId(number))?);
            }
            8 => {
                // Two latches at once, in the order of their numbers.
                let other = number + 1 + dice.below(SHARED_PAGES);
                let left = pool.read(PageId(number))?;
                if other <= SHARED_PAGES
                    && let Some(mut right) = pool.try_write(PageId(other))?
                {
                    change(&mut right, other, model);
                }
                assert_eq!(value(&left), model.newest[number as usize].load(Ordering::SeqCst));
            }
            // Frames come and go meanwhile (C5).
            9 if thread == 0 && dice.below(4) == 0 => {
                let frames = u64::from(16 + dice.below(40));
                let now = pool.set_capacity(frames * PAGE_SIZE as u64)?;
                assert_eq!(now, frames * PAGE_SIZE as u64);
            }
            _ => {
                let index = dice.below(SCRATCH_PAGES);
                let id = PageId(first_scratch + index);
                let known: &mut Option<u64> = &mut scratch[index as usize];
                match *known {
                    Some(expected) => {
                        assert_eq!(value(&pool.read(id)?), expected);
                        pool.discard(id);
                        *known = None;
                    }
                    None => {
                        let mut page = pool.create(id)?;
                        assert!(page.iter().all(|byte| *byte == 0));
                        let kind = if index.is_multiple_of(2) { PageKind::Temp } else { PageKind::Version };
                        page.init(kind, ObjectId(0), 0);
                        put_value(&mut page, u64::from(step));
                        if kind == PageKind::Temp {
                            page.mark_dirty_unlogged();
                        } else {
                            let start = model.log_end.fetch_add(1, Ordering::SeqCst);
                            page.set_lsn(Lsn(start), Lsn(start + 1));
                        }
                        *known = Some(u64::from(step));
                    }
                }
            }
        }
    }
    Ok(())
}

/// Flushes again and again, noting what is durable by then.
fn keep_flushing(pool: &BufferPool, model: &Model, rounds: u32) -> Result<(), StorageError> {
    for round in 0..rounds {
        let before = model.newest();
        if round % 3 == 2 {
            pool.flush_all()?;
        } else {
            pool.flush_dirty_before(Lsn(u64::MAX), &mut |_| Ok(()))?;
        }
        let mut durable = model.durable.lock();
        for (durable, before) in durable.iter_mut().zip(before) {
            *durable = before.max(*durable);
        }
        drop(durable);
        // Others go on writing: the end is asked for behind the page.
        let oldest = pool.oldest_dirty();
        let end = model.log_end.load(Ordering::SeqCst);
        assert!(oldest.is_none_or(|lsn| lsn.0 <= end));
    }
    Ok(())
}

/// Runs all threads; the first error of any.
fn run_threads(
    env: &Env,
    pool: &Arc<BufferPool>,
    model: &Arc<Model>,
    steps: u32,
    seed: u64,
) -> Result<(), StorageError> {
    let outcome = Arc::new(SyncMutex::new(Ok(())));
    let work = |name: String, body: Box<dyn FnOnce() -> Result<(), StorageError> + Send>| {
        let outcome = Arc::clone(&outcome);
        env.spawn(&name, move || {
            if let Err(error) = body() {
                *outcome.lock() = Err(error);
            }
        })
    };
    let mut threads: Vec<_> = (0..THREADS)
        .map(|thread| {
            let (pool, model) = (Arc::clone(pool), Arc::clone(model));
            work(format!("churn {thread}"), Box::new(move || churn(&pool, &model, thread, steps, seed)))
        })
        .collect();
    let (flushed, known) = (Arc::clone(pool), Arc::clone(model));
    let rounds = 2 + steps / 20;
    threads.push(work("flush".to_owned(), Box::new(move || keep_flushing(&flushed, &known, rounds))));
    for thread in threads {
        thread.join().unwrap();
    }
    let outcome = outcome.lock();
    outcome.clone()
}

/// Every page is as new as was acknowledged, whole, and not ahead of the log.
fn check_after_crash(pool: &BufferPool, model: &Model) {
    let durable = model.durable.lock().clone();
    for number in 1..=SHARED_PAGES {
        let (at_least, at_most) =
            (durable[number as usize], model.newest[number as usize].load(Ordering::SeqCst));
        match pool.read(PageId(number)) {
            Ok(page) => {
                let found = value(&page);
                assert!((at_least..=at_most).contains(&found), "page {number}: {found}");
                assert!(page.lsn().0 <= model.log_durable.load(Ordering::SeqCst), "page {number} is ahead");
            }
            Err(StorageError::Corrupt { flaw, .. }) => {
                assert_eq!(at_least, 0, "page {number} was durable: {flaw}");
                let text = flaw.to_string();
                assert!(
                    text == "beyond end of file" || text == "all bytes are zero",
                    "page {number}: {flaw}"
                );
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn real_threads_on_a_small_pool_lose_nothing() {
    let steps = if cfg!(miri) { 30 } else { 6000 };
    let trace = Trace::default();
    let (file, area) = (TestFile::new("file", &trace), TestFile::new("area", &trace));
    let model = Model::new();
    let options = PoolOptions { lru_min_dirty: 30, lru_max_dirty: 60, ..options(20) };
    let open = || {
        BufferPool::new(options.clone(), &Env::real(), file.clone(), area.clone(), Arc::clone(&model) as _)
    };
    let pool = open().unwrap();
    create_shared(&pool, &model).unwrap();
    run_threads(&Env::real(), &pool, &model, steps, 1).unwrap();
    pool.flush_all().unwrap();
    // Nobody holds a page now that would have to leave.
    pool.set_capacity(20 * PAGE_SIZE as u64).unwrap();
    assert_eq!(pool.stats().resident_pages.min(20), pool.stats().resident_pages);
    drop(pool);
    let pool = open().unwrap();
    for number in 1..=SHARED_PAGES {
        assert_eq!(value(&pool.read(PageId(number)).unwrap()), model.newest()[number as usize]);
    }
}

#[test]
#[cfg_attr(miri, ignore = "the simulation is slow under Miri")]
fn simulated_threads_on_a_small_pool_lose_nothing() {
    for seed in seeds(60) {
        let machine = Machine::new(seed);
        let model = Model::new();
        machine.run(|env| {
            let pool = open_pool(env, 16, &model).unwrap();
            create_shared(&pool, &model).unwrap();
            run_threads(env, &pool, &model, 60, seed).unwrap();
            pool.flush_all().unwrap();
        });
        machine.crash();
        machine.run(|env| {
            let pool = open_pool(env, 16, &model).unwrap();
            for number in 1..=SHARED_PAGES {
                assert_eq!(value(&pool.read(PageId(number)).unwrap()), model.newest()[number as usize]);
            }
        });
    }
}

#[test]
#[cfg_attr(miri, ignore = "the simulation is slow under Miri")]
fn a_power_cut_anywhere_leaves_whole_pages_and_all_that_was_acknowledged() {
    let (mut cuts, mut mended) = (0, 0);
    for seed in seeds(200) {
        let machine = Machine::new(seed);
        let model = Model::new();
        let at = machine.rng().between(1, 130);
        machine.vfs().set_faults(FaultPlan { power_off_at_op: Some(at), ..FaultPlan::default() });
        let outcome = machine.run(|env| {
            let pool = open_pool(env, 16, &model)?;
            create_shared(&pool, &model)?;
            run_threads(env, &pool, &model, 60, seed)
        });
        cuts += u32::from(outcome.is_err());
        machine.crash();
        machine.run(|env| {
            let open = |name: &str| env.vfs.open(&Machine::dir().join(name), OpenMode::EXISTING);
            if let (Ok(file), Ok(area)) = (open("file"), open("area")) {
                mended += doublewrite::restore(&*file, &*area, PAGE_SIZE).unwrap();
                assert_eq!(doublewrite::restore(&*file, &*area, PAGE_SIZE).unwrap(), 0);
            }
            let pool = open_pool(env, 16, &model).unwrap();
            check_after_crash(&pool, &model);
        });
    }
    if std::env::var("SEED").is_err() {
        assert!(cuts >= 100 && mended > 20, "{cuts} cuts, {mended} pages mended");
    }
}

#[test]
#[cfg_attr(miri, ignore = "the simulation is slow under Miri")]
fn failed_writes_and_syncs_poison_and_lose_nothing_acknowledged() {
    let mut failures = 0;
    for seed in seeds(60) {
        let machine = Machine::new(seed);
        let model = Model::new();
        let mut rng = machine.rng();
        let plan = if seed % 2 == 0 {
            FaultPlan { fail_sync: Some(rng.between(2, 20)), ..FaultPlan::default() }
        } else {
            FaultPlan { fail_write: Some(rng.between(2, 60)), ..FaultPlan::default() }
        };
        machine.vfs().set_faults(plan);
        machine.run(|env| {
            let Ok(pool) = open_pool(env, 16, &model) else { return };
            let outcome = create_shared(&pool, &model);
            let outcome = outcome.and_then(|()| run_threads(env, &pool, &model, 60, seed));
            assert_eq!(outcome.is_err(), pool.is_poisoned());
            failures += u32::from(outcome.is_err());
            if pool.is_poisoned() {
                assert!(matches!(pool.check_changes(), Err(StorageError::Poisoned { .. })));
                assert!(matches!(pool.flush_all(), Err(StorageError::Poisoned { .. })));
            }
        });
        machine.crash();
        machine.run(|env| {
            let pool = open_pool(env, 16, &model).unwrap();
            check_after_crash(&pool, &model);
        });
    }
    assert!(failures > 20 || std::env::var("SEED").is_ok(), "{failures}");
}

#[test]
#[cfg_attr(miri, ignore = "the simulation is slow under Miri")]
fn when_every_page_is_held_a_thread_waits_and_then_gets_an_error() {
    for seed in seeds(10) {
        let machine = Machine::new(seed);
        let model = Model::new();
        machine.run(|env| {
            let pool = open_pool(env, 16, &model).unwrap();
            create_shared(&pool, &model).unwrap();
            let held: Vec<_> = (1..=16).map(|number| pool.write(PageId(number)).unwrap()).collect();
            assert!(matches!(pool.read(PageId(20)), Err(StorageError::PoolExhausted { frames: 16 })));
            assert!(pool.stats().frame_waits > 0);
            drop(held);
            value(&pool.read(PageId(20)).unwrap());

            let held: Vec<_> = (1..=16).map(|number| pool.write(PageId(number)).unwrap()).collect();
            let waiter = Arc::clone(&pool);
            let thread = env.spawn("waiter", move || drop(waiter.read(PageId(20)).unwrap()));
            env.clock.sleep(std::time::Duration::from_millis(100));
            drop(held);
            thread.join().unwrap();
        });
    }
}

/// A log whose flush takes a while, and looks at the pool meanwhile.
struct SlowLog {
    env: Env,
    pool: SyncMutex<std::sync::Weak<BufferPool>>,
    oldest_during_flush: SyncMutex<Option<Lsn>>,
    done: AtomicBool,
}

impl LogGate for SlowLog {
    fn flush_to(&self, _: Lsn) -> Result<(), StorageError> {
        let pool = self.pool.lock().upgrade();
        *self.oldest_during_flush.lock() = pool.and_then(|pool| pool.oldest_dirty());
        self.env.clock.sleep(std::time::Duration::from_millis(100));
        self.done.store(true, Ordering::SeqCst);
        Ok(())
    }
}

#[test]
#[cfg_attr(miri, ignore = "the simulation is slow under Miri")]
fn pages_under_way_hold_the_redo_point_and_a_second_flush_waits_for_them() {
    for seed in seeds(10) {
        Machine::new(seed).run(|env| {
            let open = |name: &str| env.vfs.open(&Machine::dir().join(name), OpenMode::CREATE).unwrap();
            let log = Arc::new(SlowLog {
                env: env.clone(),
                pool: SyncMutex::default(),
                oldest_during_flush: SyncMutex::default(),
                done: AtomicBool::new(false),
            });
            let pool =
                BufferPool::new(options(64), env, open("file"), open("area"), Arc::clone(&log) as _).unwrap();
            *log.pool.lock() = Arc::downgrade(&pool);
            let mut page = pool.create(PageId(3)).unwrap();
            page.init(PageKind::Data, ObjectId(1), 0);
            page.set_lsn(Lsn(10), Lsn(20));
            drop(page);
            let flushed = Arc::clone(&pool);
            let first = env.spawn("first flush", move || assert_eq!(flushed.flush_all().unwrap(), 1));
            env.clock.sleep(std::time::Duration::from_millis(50));
            assert_eq!((pool.flush_all().unwrap(), pool.oldest_dirty()), (0, None));
            assert!(log.done.load(Ordering::SeqCst), "the page was on its way to the disk");
            assert_eq!(*log.oldest_during_flush.lock(), Some(Lsn(10)));
            first.join().unwrap();
        });
    }
}
