//! History within reach: old states stay readable for a time, also across crashes, and give way to space.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use verso_env::Env;
use verso_sim::{World, seeds};
use verso_storage::heap::Heap;
use verso_storage::{CommitMode, Engine, StorageError, Txn, TxnOptions};

use crate::support::{COLUMNS, Row, bump, fill, now, options, read, remove, sound};

const RETENTION: Duration = Duration::from_secs(3600);

fn path() -> PathBuf {
    World::dir().join("t.verso")
}

fn create(env: &Env) -> (Engine, Arc<Heap>) {
    let engine = Engine::create(env.clone(), &path(), options()).unwrap();
    engine.set_version_retention(RETENTION);
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    (engine, heap)
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by_key(|row| row.0);
    rows
}

/// The rows as they were.
fn past(heap: &Arc<Heap>, txn: &mut Txn, number: u64) -> Result<Vec<Row>, StorageError> {
    let past = txn.past(number)?;
    txn.enter_past(&past);
    let rows = read(heap, txn);
    txn.leave_past();
    Ok(sorted(rows))
}

fn at(engine: &Engine, heap: &Arc<Heap>, number: u64) -> Result<Vec<Row>, StorageError> {
    past(heap, &mut engine.begin(TxnOptions::default()), number)
}

fn change(engine: &Engine, heap: &Arc<Heap>, by: f64, which: impl Fn(i64) -> bool) {
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    bump(heap, &mut txn, "+", by, which).unwrap();
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
}

#[test]
fn h1_old_states_stay_for_the_time_set_and_go_then() {
    let world = World::new(1);
    world.run(|env| {
        let (engine, heap) = create(env);
        fill(&engine, &heap, 0..200);
        let mut states = Vec::new();
        for step in 0..20 {
            states.push((
                env.clock.unix_micros(),
                engine.history().unwrap().newest,
                sorted(now(&engine, &heap)),
            ));
            world.clock().advance(Duration::from_secs(60));
            change(&engine, &heap, 1.0, |id| id % 3 == step % 3);
            if step == 10 {
                let mut txn = engine.begin(TxnOptions::default());
                remove(&heap, &mut txn, |id| id < 50);
                txn.commit(CommitMode::Wait).unwrap();
            }
            engine.housekeeping().unwrap();
        }
        for (time, number, rows) in &states {
            assert_eq!(engine.number_at(*time).unwrap(), *number);
            assert_eq!(&at(&engine, &heap, *number).unwrap(), rows);
        }
        // What the transaction has done itself is not of the past.
        let mut own = engine.begin(TxnOptions::default());
        own.begin_statement().unwrap();
        bump(&heap, &mut own, "own", 5.0, |_| true).unwrap();
        assert_eq!(past(&heap, &mut own, states[3].1).unwrap(), states[3].2);
        own.abort_statement().unwrap();
        own.rollback().unwrap();
        sound(&engine);
        // The first half is too old by then.
        world.clock().advance(RETENTION - Duration::from_secs(600));
        engine.housekeeping().unwrap();
        let report = engine.history().unwrap();
        for (time, number, rows) in &states {
            match *time < report.start {
                true => {
                    assert!(matches!(engine.number_at(*time), Err(StorageError::SnapshotTooOld)));
                    if *number < report.oldest {
                        let gone = at(&engine, &heap, *number);
                        assert!(matches!(gone, Err(StorageError::SnapshotTooOld)), "{gone:?}");
                    }
                }
                false => assert_eq!(&at(&engine, &heap, *number).unwrap(), rows),
            }
        }
        assert!(report.oldest > states[5].1 && report.oldest < states[19].1);
        let kept = engine.space().version_pages;
        engine.set_version_retention(Duration::ZERO);
        engine.housekeeping().unwrap();
        assert!(engine.space().version_pages < kept && engine.history().is_none());
        assert!(matches!(engine.number_at(states[19].0), Err(StorageError::SnapshotTooOld)));
        sound(&engine);
    });
}

#[test]
fn h4_the_past_gives_way_to_space() {
    let world = World::new(2);
    world.run(|env| {
        let (engine, heap) = create(env);
        fill(&engine, &heap, 0..400);
        let bytes = 40 * 4096;
        engine.set_retention_bytes(bytes);
        let first = engine.history().unwrap().newest;
        for _ in 0..60 {
            world.clock().advance(Duration::from_secs(1));
            change(&engine, &heap, 1.0, |_| true);
            engine.housekeeping().unwrap();
            assert!(engine.space().version_pages * 4096 <= bytes);
        }
        let report = engine.history().unwrap();
        assert!(matches!(at(&engine, &heap, first), Err(StorageError::SnapshotTooOld)));
        assert!(report.oldest > first && report.oldest < report.newest && report.moments > 1, "{report:?}");
        at(&engine, &heap, report.oldest).unwrap();
        sound(&engine);
    });
}

/// Commits, rollbacks, checkpoints, shutdowns and crashes in any order: whatever the report says is within reach reads as it
/// was, by its moment, and by its number where no crash has lost it.
#[test]
fn h3_the_past_survives_shutdowns_and_crashes() {
    for seed in seeds(40) {
        let world = World::new(seed);
        let mut rng = world.rng();
        // Moment, number, rows; the number of those behind the last checkpoint may be another one after a crash.
        let mut states: Vec<(i64, u64, Vec<Row>)> = Vec::new();
        let mut object = None;
        for life in 0..4 {
            world.run(|env| {
                let (engine, heap) = match object {
                    None => create(env),
                    Some(object) => {
                        let engine = Engine::open(env.clone(), &path(), options()).unwrap();
                        let heap = engine.heap(object).unwrap();
                        (engine, heap)
                    }
                };
                if object.replace(heap.object).is_none() {
                    fill(&engine, &heap, 0..60);
                }
                let check = |states: &[(i64, u64, Vec<Row>)]| {
                    for (time, _, rows) in states {
                        let number = engine.number_at(*time).unwrap();
                        assert_eq!(&at(&engine, &heap, number).unwrap(), rows, "seed {seed}, life {life}");
                    }
                };
                check(&states);
                engine.housekeeping().unwrap();
                check(&states);
                for _ in 0..rng.between(5, 20) {
                    world.clock().advance(Duration::from_millis(rng.between(2, 30_000)));
                    let (part, by) = (rng.below(5) as i64, rng.below(9) as f64);
                    match rng.below(8) {
                        0 => {
                            let mut txn = engine.begin(TxnOptions::default());
                            txn.begin_statement().unwrap();
                            bump(&heap, &mut txn, "no", by, |id| id % 5 == part).unwrap();
                            txn.end_statement().unwrap();
                            txn.rollback().unwrap();
                        }
                        1 => {
                            let mut txn = engine.begin(TxnOptions::default());
                            txn.begin_statement().unwrap();
                            let first = 1000 + rng.below(1 << 30) as i64;
                            let new: Vec<Row> = (first..first + 5).map(|id| (id, None, by)).collect();
                            heap.insert(&mut txn, &crate::support::batch(&new), None).unwrap();
                            txn.end_statement().unwrap();
                            txn.commit(CommitMode::Wait).unwrap();
                        }
                        2 => {
                            let mut txn = engine.begin(TxnOptions::default());
                            txn.begin_statement().unwrap();
                            remove(&heap, &mut txn, |id| id % 11 == part);
                            txn.end_statement().unwrap();
                            txn.commit(CommitMode::Wait).unwrap();
                        }
                        3 => engine.checkpoint().unwrap(),
                        4 => engine.housekeeping().unwrap(),
                        _ => change(&engine, &heap, by, |id| id % 5 == part),
                    }
                    world.clock().advance(Duration::from_millis(2));
                    states.push((
                        env.clock.unix_micros(),
                        engine.history().unwrap().newest,
                        sorted(now(&engine, &heap)),
                    ));
                }
                check(&states);
                for (_, number, rows) in states.iter().rev().take(5) {
                    assert_eq!(&at(&engine, &heap, *number).unwrap(), rows);
                }
                if rng.one_in(2) {
                    engine.close().unwrap();
                }
            });
            world.crash();
        }
        world.run(|env| {
            let engine = Engine::open(env.clone(), &path(), options()).unwrap();
            sound(&engine);
        });
    }
}
