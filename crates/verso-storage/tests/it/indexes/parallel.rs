//! Builds and sweeps by several workers, in little memory: the same as by one with plenty.

use std::sync::atomic::{AtomicU64, Ordering};

use verso_sim::{FaultPlan, World, seeds};
use verso_storage::{JobLimits, TemporarySpace};

use super::*;

/// Counts temporary files, up to a limit.
struct Counted {
    used: AtomicU64,
    /// Files that have gone.
    files: AtomicU64,
    limit: u64,
}

impl Counted {
    fn new(limit: u64) -> Arc<Counted> {
        Arc::new(Counted { used: AtomicU64::new(0), files: AtomicU64::new(0), limit })
    }
}

impl TemporarySpace for Counted {
    fn charge(&self, bytes: u64) -> Result<(), StorageError> {
        if self.used.fetch_add(bytes, Ordering::Relaxed) + bytes > self.limit {
            self.used.fetch_sub(bytes, Ordering::Relaxed);
            return Err(StorageError::NoTemporarySpace { limit_bytes: self.limit });
        }
        Ok(())
    }

    fn give_back(&self, bytes: u64) {
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        self.files.fetch_add(1, Ordering::Relaxed);
    }
}

fn limits(workers: u32, memory_bytes: u64) -> JobLimits {
    JobLimits { workers, memory_bytes, ..JobLimits::default() }
}

const KIBIBYTE: u64 = 1 << 10;

/// Rows with names that come again and again.
fn named(count: i64) -> Vec<Row> {
    (0..count).map(|id| (id, Some(format!("name {}", id * 7919 % 997)), (id % 3) as i32)).collect()
}

#[test]
fn b1_workers_and_runs_in_files_make_the_index_that_one_worker_makes_in_memory() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &named(6000), true);
    // Versions that an old snapshot sees are indexed, too.
    let old = table.begin();
    let mut txn = table.begin();
    for id in (0..6000).step_by(50) {
        table.update(&mut txn, id, &(id, Some(format!("changed {id}")), 1), &[2]).unwrap();
    }
    txn.commit(CommitMode::Wait).unwrap();
    for (workers, memory) in [(1, 64 << 20), (1, 32 * KIBIBYTE), (3, 64 << 20), (4, 32 * KIBIBYTE)] {
        let space = Counted::new(u64::MAX);
        let mut txn = table.begin();
        txn.set_job_limits(limits(workers, memory), Some(Arc::clone(&space) as Arc<dyn TemporarySpace>));
        let (mut most, mut spilled) = (0, 0);
        let made = table.engine.create_indexes(&mut txn, specs(table.heap.object).to_vec(), &mut |done| {
            most = most.max(done.held_bytes);
            let jobs = table.engine.jobs();
            assert_eq!((jobs.len(), jobs[0].workers), (1, workers));
            spilled = spilled.max(jobs[0].spilled_bytes);
            ControlFlow::Continue(())
        });
        let made = made.unwrap();
        assert_eq!(spilled > 0, memory < 1 << 20, "{workers} workers");
        // Some blocks of files besides, which are not smaller than 4 KiB.
        assert!(memory > 1 << 20 || most < memory + 600 * KIBIBYTE, "{most} bytes were held");
        assert_eq!(space.used.load(Ordering::Relaxed), 0);
        assert!(table.engine.jobs().is_empty());
        txn.commit(CommitMode::Wait).unwrap();
        let problems = table.engine.check(&mut |_| ()).unwrap().problems;
        assert!(problems.is_empty(), "{workers} workers: {problems:?}");
        let mut txn = table.begin();
        made.iter().for_each(|object| table.engine.drop_object(&mut txn, *object).unwrap());
        txn.commit(CommitMode::Wait).unwrap();
        table.engine.housekeeping().unwrap();
    }
    drop(old);
    table.settled();
}

/// A run is written when its share of the memory is full, not sooner because one before it was.
#[test]
fn b1_runs_are_as_long_as_memory_allows() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &named(20_000), true);
    let [_, second] = specs(table.heap.object);
    let (memory, space) = (256 * KIBIBYTE, Counted::new(u64::MAX));
    let mut txn = table.begin();
    txn.set_job_limits(limits(1, memory), Some(Arc::clone(&space) as Arc<dyn TemporarySpace>));
    let mut spilled = 0;
    let made = table.engine.create_index(&mut txn, second, &mut |_| {
        spilled = spilled.max(table.engine.jobs()[0].spilled_bytes);
        ControlFlow::Continue(())
    });
    made.unwrap();
    let files = space.files.load(Ordering::Relaxed);
    // Of a third of the memory about half is the entries themselves.
    assert!(spilled > memory && files <= 1 + 8 * spilled / memory, "{files} files of {spilled} bytes");
    txn.rollback().unwrap();
    table.settled();
}

#[test]
fn b1_workers_tell_the_error_that_one_tells() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &named(4000), true);
    let by_name = IndexSpec {
        parts: vec![KeyPart::ascending(2, KeyType::Bytes)],
        ..specs(table.heap.object)[0].clone()
    };
    let mut errors = Vec::new();
    for (workers, memory) in [(1, 64 << 20), (4, 64 << 20), (3, 32 * KIBIBYTE)] {
        let mut txn = table.begin();
        txn.set_job_limits(limits(workers, memory), None);
        let error = table.engine.create_index(&mut txn, by_name.clone(), &mut go_on).unwrap_err();
        let StorageError::Unique { record, .. } = error else { panic!("{error}") };
        errors.push(record);
        txn.rollback().unwrap();
    }
    assert!(errors.iter().all(|record| *record == errors[0]), "{errors:?}");
    // Neither does a full disk of temporary files leave anything, or a cancel, whenever it comes.
    let [_, second] = specs(table.heap.object);
    for asked in 0..12 {
        let cancels = asked > 0;
        let space = Counted::new(if cancels { u64::MAX } else { 20 * KIBIBYTE });
        let mut txn = table.begin();
        txn.set_job_limits(limits(3, 32 * KIBIBYTE), Some(Arc::clone(&space) as Arc<dyn TemporarySpace>));
        let mut times = 0;
        let made = table.engine.create_index(&mut txn, second.clone(), &mut |_| {
            times += 1;
            if cancels && times >= asked { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        match made {
            Err(StorageError::NoTemporarySpace { limit_bytes }) => assert!(!cancels && limit_bytes > 0),
            Err(StorageError::Cancelled) => assert!(cancels),
            Err(error) => panic!("{error}"),
            // How often it is asked depends on which worker is first, but once it always is.
            Ok(_) => assert!(times < asked && asked > 1, "asked {times} times of {asked}"),
        }
        assert_eq!(space.used.load(Ordering::Relaxed), 0);
        txn.rollback().unwrap();
    }
    assert_eq!(table.heap.indexes.list().len(), 2);
    table.settled();
}

/// Whenever it is asked whether it is to go on, a sweep ends, and the next one does what is left.
#[test]
fn a_sweep_that_is_cancelled_at_any_look_leaves_a_sound_index() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &named(2000), true);
    let mut left = 0;
    for looks in 0.. {
        let mut txn = table.begin();
        for id in (looks % 7..2000).step_by(7) {
            table.update(&mut txn, id, &(id, Some(format!("look {looks} {id}")), 1), &[2]).unwrap();
        }
        txn.commit(CommitMode::Wait).unwrap();
        left = looks * looks;
        let swept = table.engine.sweep(SweepOptions { workers: 2, ..SweepOptions::default() }, &mut |_| {
            left -= 1;
            if left < 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        table.sound();
        match swept {
            Ok(_) => break,
            Err(error) => assert!(matches!(error, StorageError::Cancelled), "{error}"),
        }
    }
    assert!(left >= 0);
    table.settled();
}

/// One that is asked to waits for the end of another, and can be cancelled meanwhile.
#[test]
fn a_sweep_waits_for_another_or_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let table = Table::new(dir.path(), &named(50), true);
    let mut asked = 0;
    let inner = |waits: bool| {
        let options = SweepOptions { waits, ..SweepOptions::default() };
        table.engine.sweep(options, &mut |_| ControlFlow::Break(())).unwrap_err()
    };
    let outer = SweepOptions { waits: true, ..SweepOptions::default() };
    table
        .engine
        .sweep(outer, &mut |_| {
            asked += 1;
            if asked == 1 {
                assert!(matches!(inner(false), StorageError::SweepRunning));
                assert!(matches!(inner(true), StorageError::Cancelled));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    assert!(asked > 0);
}

/// Three workers back out, purge and sweep while a writer changes the table, in simulated schedules.
#[test]
fn workers_sweep_beside_a_writer() {
    for seed in seeds(6) {
        let world = World::new(seed);
        let path = World::dir().join("t.verso");
        world.run(|env| {
            let engine = Engine::create(env.clone(), &path, options()).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            for spec in specs(object) {
                engine.create_index(&mut txn, spec, &mut go_on).unwrap();
            }
            let heap = engine.heap(object).unwrap();
            heap.insert(&mut txn, &batch(&named(1500)), None).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let change = |savepoints: bool, commit: bool| {
                let mut txn = engine.begin(TxnOptions { savepoints, ..TxnOptions::default() });
                txn.begin_statement().unwrap();
                let mut found = ScanBatch::default();
                let mut scan = heap.scan(&txn, ScanSpec { columns: &[1, 2, 3], pages: 0..u32::MAX });
                let mut batches = Vec::new();
                while scan.next(&mut found).unwrap() {
                    batches.push(std::mem::take(&mut found));
                }
                for found in &batches {
                    let mut new = Column::new(Physical::Bytes);
                    for row in 0..found.batch.rows {
                        let text = format!("new {row} {commit}");
                        new.push_value(&Value::text(&text), &SqlType::Text).unwrap();
                    }
                    heap.update(&mut txn, found, None, &[2], &Batch::from_columns(vec![new])).unwrap();
                }
                txn.end_statement().unwrap();
                match commit {
                    true => txn.commit(CommitMode::Wait).unwrap(),
                    false => txn.rollback().unwrap(),
                }
            };
            change(true, true);
            // Left to sweep.
            change(false, false);
            let writer = {
                let engine = engine.clone();
                env.spawn("writer", move || {
                    let heap = engine.heap(object).unwrap();
                    for id in 5000..5020 {
                        let mut txn = engine.begin(TxnOptions::default());
                        txn.begin_statement().unwrap();
                        heap.insert(&mut txn, &batch(&[row(id)]), None).unwrap();
                        txn.end_statement().unwrap();
                        txn.commit(CommitMode::Wait).unwrap();
                    }
                })
            };
            let options = SweepOptions { workers: 3, session: 9, ..SweepOptions::default() };
            let report = engine
                .sweep(options, &mut |_| {
                    assert_eq!(engine.jobs()[0].session, 9);
                    ControlFlow::Continue(())
                })
                .unwrap();
            assert_eq!(report.workers, 3);
            assert!(report.pages_backed_out > 10, "seed {seed}: {report:?}");
            writer.join().unwrap();
            // A second one has what the first one could not yet.
            engine
                .sweep(SweepOptions { workers: 3, ..SweepOptions::default() }, &mut |_| {
                    ControlFlow::Continue(())
                })
                .unwrap();
            let problems = engine.check(&mut |_| ()).unwrap().problems;
            assert!(problems.is_empty(), "seed {seed}: {problems:?}");
            assert_eq!(engine.space().version_pages, 0, "seed {seed}");
            let again = engine.sweep(SweepOptions::default(), &mut |_| ControlFlow::Continue(())).unwrap();
            assert_eq!((again.pages_visited, again.workers), (0, 1), "seed {seed}");
            engine.close().unwrap();
        });
    }
}

/// What ends a job of several workers: the nth read of the disk fails, whoever does it, or it is cancelled when it asks for the
/// nth time.
#[derive(Clone, Copy, Debug)]
enum Death {
    Read,
    Cancel,
}

/// Work that asks at each step whether it is to go on, and says whether it did all.
type Dying<'w> = &'w mut dyn FnMut(&mut dyn FnMut() -> ControlFlow<()>) -> Result<bool, StorageError>;

/// Builds and sweeps by three workers end at each of their steps, in simulated schedules: nothing is left of them, and the next
/// one does all.
#[test]
fn workers_that_die_at_any_step_leave_nothing() {
    for (seed, death) in seeds(2).flat_map(|seed| [(seed, Death::Read), (seed, Death::Cancel)]) {
        let world = World::new(seed);
        let path = World::dir().join("t.verso");
        world.run(|env| {
            let options = EngineOptions { buffer_pool_bytes: 24 * 4096, auto_backout: false, ..options() };
            let engine = Engine::create(env.clone(), &path, options).unwrap();
            let mut txn = engine.begin(TxnOptions::default());
            let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
            let heap = engine.heap(object).unwrap();
            heap.insert(&mut txn, &batch(&named(1000)), None).unwrap();
            txn.commit(CommitMode::Wait).unwrap();
            let sound = |nth: u64| {
                world.vfs().set_faults(FaultPlan::default());
                assert!(engine.jobs().is_empty() && engine.workers().iter().all(|one| one.job.is_none()));
                let problems = engine.check(&mut |_| ()).unwrap().problems;
                assert!(problems.is_empty(), "{death:?} {nth}, seed {seed}: {problems:?}");
            };
            // Runs the work with its nth step failing, then the next one, until it has fewer.
            let deaths = |work: Dying<'_>| {
                for nth in 1.. {
                    let mut left = nth;
                    if matches!(death, Death::Read) {
                        world.vfs().set_faults(FaultPlan { fail_read: Some(nth), ..FaultPlan::default() });
                    }
                    let done = work(&mut || {
                        left = left.saturating_sub(u64::from(matches!(death, Death::Cancel)));
                        if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                    });
                    sound(nth);
                    match (done, death) {
                        (Ok(true), _) => return nth,
                        // A sweep steps over pages that cannot be read.
                        (Ok(false), Death::Read) => {}
                        (Err(StorageError::Io { .. } | StorageError::Unreadable { .. }), Death::Read) => {}
                        (Err(StorageError::Cancelled), Death::Cancel) => {}
                        (other, _) => panic!("{other:?}"),
                    }
                }
                unreachable!("it ends")
            };
            let space = Counted::new(u64::MAX);
            let steps = deaths(&mut |step| {
                let mut txn = engine.begin(TxnOptions::default());
                txn.set_job_limits(
                    limits(3, 32 * KIBIBYTE),
                    Some(Arc::clone(&space) as Arc<dyn TemporarySpace>),
                );
                let done = engine.create_indexes(&mut txn, specs(object).to_vec(), &mut |_| step()).map(drop);
                assert_eq!(space.used.load(Ordering::Relaxed), 0);
                match done {
                    Ok(()) => txn.commit(CommitMode::Wait).map(|()| true),
                    Err(error) => txn.rollback().and(Err(error)),
                }
            });
            assert!(steps > 5, "a build has steps: {steps}");
            assert_eq!(heap.indexes.list().len(), 2);
            // Records of dead transactions, with their keys.
            let die = |count: i64| {
                let mut txn = engine.begin(TxnOptions { savepoints: false, ..TxnOptions::default() });
                txn.begin_statement().unwrap();
                let more: Vec<Row> =
                    (1000..1000 + count).map(|id| (id, Some(format!("dead {id:0>200}")), 0)).collect();
                heap.insert(&mut txn, &batch(&more), None).unwrap();
                txn.end_statement().unwrap();
                txn.rollback().unwrap();
            };
            let options = SweepOptions { workers: 3, ..SweepOptions::default() };
            if matches!(death, Death::Cancel) {
                die(900);
                let steps = deaths(&mut |step| engine.sweep(options, &mut |_| step()).map(|_| true));
                assert!(steps > 5, "a sweep has steps: {steps}");
            }
            // What cannot be read ahead is read later, and pages that cannot be read are stepped over.
            for nth in if matches!(death, Death::Read) { 1..12 } else { 0..0 } {
                die(100);
                world.vfs().set_faults(FaultPlan { fail_read: Some(nth), ..FaultPlan::default() });
                let swept = engine.sweep(options, &mut |_| ControlFlow::Continue(()));
                let is_fine =
                    matches!(swept, Ok(_) | Err(StorageError::Io { .. } | StorageError::Unreadable { .. }));
                assert!(is_fine, "{swept:?}");
                sound(nth);
            }
            engine.sweep(options, &mut |_| ControlFlow::Continue(())).unwrap();
            let again = engine.sweep(options, &mut |_| ControlFlow::Continue(())).unwrap();
            assert_eq!(again.pages_visited, 0, "{death:?}, seed {seed}");
            engine.close().unwrap();
        });
    }
}
