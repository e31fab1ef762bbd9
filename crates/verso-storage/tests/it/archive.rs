//! The archive of the log, base backups, and restoring: to every point, with parts missing, with the power cut in every step.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use verso_env::{Env, OpenMode, open_alone};
use verso_sim::{FaultPlan, World, seeds};
use verso_storage::archive::{
    ArchiveOptions, Restore, RestoreTarget, prune_archive, restore_base, restore_chain, restore_while,
    verify_archive, verify_archive_with,
};
use verso_storage::heap::Heap;
use verso_storage::wal::{CHUNK_HEADER, SECTOR};
use verso_storage::{CommitMode, Engine, Lsn, ObjectId, StorageError, TxnOptions, WatchProgress};

use crate::support::{COLUMNS, Row, bump, fill, now, options, sound};

fn at(name: &str) -> PathBuf {
    World::dir().join(name)
}

fn archive() -> ArchiveOptions {
    ArchiveOptions { target: at("archive"), timeout: Duration::ZERO }
}

/// An archived database with a table of three rows.
fn create(env: &Env) -> (Engine, Arc<Heap>, ObjectId) {
    env.vfs.create_dir_all(&at("archive")).unwrap();
    env.vfs.sync_dir(World::dir()).unwrap();
    let engine = Engine::create(env.clone(), &at("t.verso"), options()).unwrap();
    engine.set_archive(Some(archive())).unwrap();
    let mut txn = engine.begin(TxnOptions::default());
    let object = engine.create_heap(&mut txn, &COLUMNS).unwrap();
    txn.commit(CommitMode::Wait).unwrap();
    let heap = engine.heap(object).unwrap();
    fill(&engine, &heap, 0..3);
    (engine, heap, object)
}

fn open(env: &Env, name: &str, object: ObjectId) -> (Engine, Arc<Heap>) {
    let engine = Engine::open(env.clone(), &at(name), options()).unwrap();
    let heap = engine.heap(object).unwrap();
    (engine, heap)
}

fn change(engine: &Engine, heap: &Arc<Heap>, suffix: &str) {
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    bump(heap, &mut txn, suffix, 1.0, |_| true).unwrap();
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
}

fn back_up(engine: &Engine, name: &str) -> Result<Lsn, StorageError> {
    engine.backup_base(&at(name), &mut |_, _| Ok(())).map(|report| report.end)
}

fn restore(env: &Env, base: &str, to: RestoreTarget, name: &str) -> Result<Lsn, StorageError> {
    let done = restore_base(env, &at(base), Some(&at("archive")), to, &at(name), &options());
    done.map(|report| report.upto)
}

/// What a restored database holds; it is sound, can be written to and archived, and is removed again.
fn holds(env: &Env, name: &str, object: ObjectId) -> Vec<Row> {
    let (engine, heap) = open(env, name, object);
    let rows = now(&engine, &heap);
    sound(&engine);
    fill(&engine, &heap, 9000..9001);
    assert_eq!(now(&engine, &heap).len(), rows.len() + 1);
    engine.close().unwrap();
    drop((heap, engine));
    env.vfs.remove_file(&at(name)).unwrap();
    env.vfs.remove_dir_all(&at(&format!("{name}-wal"))).unwrap();
    rows
}

/// Files of log in the archive.
fn archived(env: &Env) -> Vec<PathBuf> {
    let folder = env.vfs.list_dir(&at("archive")).unwrap().remove(0);
    let files = env.vfs.list_dir(&folder).unwrap();
    files.into_iter().filter(|path| path.extension().is_some_and(|end| end == "vlog")).collect()
}

fn problem(result: Result<impl std::fmt::Debug, StorageError>) -> String {
    match result {
        Err(StorageError::Archive { problem }) => problem,
        other => panic!("{other:?}"),
    }
}

fn verify(env: &Env, base: Option<&Path>) -> Result<u64, StorageError> {
    verify_archive(&*env.vfs, &at("archive"), base).map(|(reports, _)| reports[0].commits)
}

/// Work that is cancelled at its first step, then at the second one, and so on until it is through; what it returns then.
fn cancelled_at_each_step<T: std::fmt::Debug>(
    mut work: impl FnMut(WatchProgress<'_>) -> Result<T, StorageError>,
    mut check: impl FnMut(),
) -> T {
    for limit in 0_u64.. {
        let (mut steps, mut before) = (0, 0);
        let done = work(&mut |now| {
            assert!(before <= now.done && now.done <= now.total, "{now:?}");
            (before, steps) = (now.done, steps + 1);
            if steps > limit { Err(StorageError::Cancelled) } else { Ok(()) }
        });
        match done {
            Err(StorageError::Cancelled) => check(),
            done => {
                assert!(limit > 3, "it has steps: {limit}");
                return done.expect("nothing else fails");
            }
        }
    }
    unreachable!("it ends")
}

#[test]
fn an_archive_without_the_log_of_the_bases_database_is_not_whole() {
    World::new(1).run(|env| {
        let (engine, heap, _) = create(env);
        back_up(&engine, "base").unwrap();
        change(&engine, &heap, "later");
        engine.archive_log().unwrap();
        drop(heap);
        engine.close().unwrap();
        verify(env, Some(&at("base"))).unwrap();
        // Another database archives to the same place, and the log of the first one gets lost.
        let other = Engine::create(env.clone(), &at("other.verso"), options()).unwrap();
        let own = env.vfs.list_dir(&at("archive")).unwrap().remove(0);
        other.set_archive(Some(archive())).unwrap();
        let mut txn = other.begin(TxnOptions::default());
        other.create_heap(&mut txn, &COLUMNS).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        other.archive_log().unwrap();
        verify(env, Some(&at("base"))).unwrap();
        env.vfs.remove_dir_all(&own).unwrap();
        let found = problem(verify(env, Some(&at("base"))));
        let expected = format!("{} holds no log of the base's database ", at("archive").display());
        assert!(found.starts_with(&expected), "{found}");
        verify(env, None).unwrap();
        other.close().unwrap();
    });
}

#[test]
fn what_is_cancelled_leaves_nothing() {
    World::new(1).run(|env| {
        let (engine, heap, object) = create(env);
        back_up(&engine, "base").unwrap();
        change(&engine, &heap, "later");
        engine.archive_log().unwrap();
        let rows = now(&engine, &heap);
        let report = cancelled_at_each_step(|watch| engine.check_while(watch), || {});
        assert!(report.problems.is_empty());
        let (archive, bases, options) = (at("archive"), [at("base")], options());
        cancelled_at_each_step(|watch| verify_archive_with(&*env.vfs, &archive, &bases, watch), || {});
        let what =
            Restore { bases: &bases, archive: Some(&archive), to: RestoreTarget::End, options: &options };
        let report = cancelled_at_each_step(
            |watch| restore_while(env, &what, &at("r.verso"), watch),
            || {
                let left = env.vfs.list_dir(World::dir()).unwrap();
                assert!(!left.iter().any(|path| path.to_string_lossy().contains("r.verso")), "{left:?}");
            },
        );
        // None of the attempts before had left a file to begin anew from.
        assert!(!report.again);
        assert_eq!(holds(env, "r.verso", object), rows);
    });
}

#[test]
fn a_database_is_restored_to_every_point_behind_its_base() {
    let world = World::new(1);
    world.run(|env| {
        let (mut engine, mut heap, object) = create(env);
        engine.archive_log().unwrap();
        let end = back_up(&engine, "base").unwrap();
        let mut points = vec![(end, env.clock.unix_micros(), now(&engine, &heap))];
        for step in 0..12 {
            world.clock().advance(Duration::from_secs(10));
            change(&engine, &heap, &step.to_string());
            points.push((engine.durable(), env.clock.unix_micros(), now(&engine, &heap)));
            match step % 4 {
                0 => engine.archive_log().unwrap(),
                1 => engine.checkpoint().unwrap(),
                // A process that ends goes on in a new epoch.
                2 => {
                    drop((heap, engine));
                    (engine, heap) = open(env, "t.verso", object);
                    // What is committed while a database is opened does not say when.
                    let mut txn = engine.begin(TxnOptions::default());
                    engine.create_heap(&mut txn, &COLUMNS).unwrap();
                    txn.commit(CommitMode::Wait).unwrap();
                    engine.set_archive(Some(archive())).unwrap();
                }
                _ => {}
            }
        }
        engine.archive_log().unwrap();
        assert!(verify(env, Some(&at("base"))).unwrap() >= 13);
        for (lsn, time, rows) in &points {
            restore(env, "base", RestoreTarget::Lsn(*lsn), "r.verso").unwrap();
            assert_eq!(&holds(env, "r.verso", object), rows, "to {lsn}");
            if time != &points.last().unwrap().1 {
                restore(env, "base", RestoreTarget::Time(*time + 1), "r.verso").unwrap();
                assert_eq!(&holds(env, "r.verso", object), rows, "to time {time}");
            }
        }
        restore(env, "base", RestoreTarget::End, "r.verso").unwrap();
        assert_eq!(holds(env, "r.verso", object), points.last().unwrap().2);
        // Without the archive, the base's own end.
        restore_base(env, &at("base"), None, RestoreTarget::End, &at("r.verso"), &options()).unwrap();
        assert_eq!(holds(env, "r.verso", object), points[0].2);
        // Before the base, and behind the archive.
        let before = RestoreTarget::Time(points[0].1 - 60_000_000);
        assert!(problem(restore(env, "base", before, "r.verso")).contains("take an older base"));
        let behind = RestoreTarget::Time(env.clock.unix_micros() + 1);
        assert!(problem(restore(env, "base", behind, "r.verso")).contains("before a commit later"));
        let behind = RestoreTarget::Lsn(Lsn(engine.logged().0 + 1000));
        assert!(problem(restore(env, "base", behind, "r.verso")).contains("the log ends at"));
        let before = RestoreTarget::Lsn(Lsn(end.0 - 1));
        assert!(problem(restore(env, "base", before, "r.verso")).contains("consistent from"));
        assert!(
            !env.vfs.exists(&at("r.verso.restoring")).unwrap(),
            "nothing is written before the plan is sound"
        );
    });
}

#[test]
fn a_missing_segment_is_named_and_what_is_before_it_can_be_restored() {
    let world = World::new(2);
    world.run(|env| {
        let (engine, heap, object) = create(env);
        engine.archive_log().unwrap();
        back_up(&engine, "base").unwrap();
        let mut points = Vec::new();
        for step in ["a", "b", "c"] {
            change(&engine, &heap, step);
            points.push((engine.durable(), now(&engine, &heap)));
            engine.archive_log().unwrap();
        }
        let files = archived(env);
        env.vfs.remove_file(&files[files.len() - 2]).unwrap();
        let gap = problem(verify(env, None));
        assert!(gap.contains("log is missing"), "{gap}");
        assert_eq!(problem(verify(env, Some(&at("base")))), gap);
        assert_eq!(problem(restore(env, "base", RestoreTarget::End, "r.verso")), gap);
        restore(env, "base", RestoreTarget::Lsn(points[0].0), "r.verso").unwrap();
        assert_eq!(holds(env, "r.verso", object), points[0].1);
    });
}

#[test]
fn a_torn_or_damaged_segment_is_named() {
    let world = World::new(3);
    world.run(|env| {
        let (engine, heap, _) = create(env);
        engine.archive_log().unwrap();
        back_up(&engine, "base").unwrap();
        change(&engine, &heap, "a");
        engine.archive_log().unwrap();
        let last = archived(env).pop().unwrap();
        let whole = world.vfs().read_file(&last).unwrap();
        for offset in (0..whole.len()).step_by(97).chain([whole.len() - 1]) {
            world.vfs().flip_bit(&last, offset as u64, 3).unwrap();
            let text = problem(verify(env, None));
            assert!(text.contains(last.to_str().unwrap()), "{offset}: {text}");
            world.vfs().flip_bit(&last, offset as u64, 3).unwrap();
        }
        world.vfs().write_file(&last, &whole[..whole.len() - 700]).unwrap();
        assert!(problem(verify(env, None)).contains("is damaged at offset"));
        world.vfs().write_file(&last, &whole[..1100]).unwrap();
        assert!(problem(restore(env, "base", RestoreTarget::End, "r.verso")).contains("is damaged"));
        world.vfs().write_file(&last, &whole).unwrap();
        verify(env, Some(&at("base"))).unwrap();
        // The base's pages.
        let pages = at("base").join("pages");
        world.vfs().flip_bit(&pages, 3 * 4096 + 7, 0).unwrap();
        assert!(problem(verify(env, Some(&at("base")))).contains("checksum"));
    });
}

#[test]
fn two_copies_of_a_database_do_not_share_an_archive_folder() {
    let world = World::new(4);
    world.run(|env| {
        let (engine, heap, object) = create(env);
        engine.archive_log().unwrap();
        back_up(&engine, "base").unwrap();
        engine.close().unwrap();
        drop((heap, engine));
        // A copy of the file made while nobody had it open goes on under the same id.
        let file = world.vfs().read_file(&at("t.verso")).unwrap();
        world.vfs().write_file(&at("copy.verso"), &file).unwrap();
        for name in ["t.verso", "copy.verso"] {
            let (engine, heap) = open(env, name, object);
            change(&engine, &heap, name);
            engine.set_archive(Some(archive())).unwrap();
            let archived = engine.archive_log();
            if name == "copy.verso" {
                assert!(problem(archived).contains("another copy of the database"));
                assert_eq!(engine.archive_status().failures, 1);
                assert!(engine.archive_status().error.is_some());
            } else {
                archived.unwrap();
            }
        }
        verify(env, Some(&at("base"))).unwrap();
        // A restored database is another one.
        restore(env, "base", RestoreTarget::End, "r.verso").unwrap();
        let (engine, heap) = open(env, "r.verso", object);
        engine.set_archive(Some(archive())).unwrap();
        change(&engine, &heap, "restored");
        engine.archive_log().unwrap();
        assert_eq!(env.vfs.list_dir(&at("archive")).unwrap().len(), 2);
        verify(env, Some(&at("base"))).unwrap();
    });
}

#[test]
fn what_is_not_archived_stays_until_the_target_takes_it() {
    let world = World::new(5);
    world.run(|env| {
        let (mut engine, mut heap, object) = create(env);
        engine.archive_log().unwrap();
        back_up(&engine, "base").unwrap();
        for step in 0..4 {
            fill(&engine, &heap, 100 + step * 20_000..100 + (step + 1) * 20_000);
            let part = Some(".part".to_owned());
            let fails = FaultPlan { only_paths_ending: part, fail_write: Some(1), ..FaultPlan::default() };
            world.vfs().set_faults(fails);
            engine.archive_log().unwrap_err();
            assert!(engine.archive_status().failures >= 1);
            assert!(engine.archive_status().waiting_bytes > 0);
            engine.checkpoint().unwrap();
            engine.checkpoint().unwrap();
            if step == 2 {
                engine.close().unwrap();
            }
            if step > 0 {
                drop((heap, engine));
                (engine, heap) = open(env, "t.verso", object);
                engine.set_archive(Some(archive())).unwrap();
            }
        }
        engine.archive_log().unwrap();
        let rows = now(&engine, &heap);
        verify(env, Some(&at("base"))).unwrap();
        restore(env, "base", RestoreTarget::End, "r.verso").unwrap();
        assert_eq!(holds(env, "r.verso", object), rows);
        assert_eq!(engine.archive_status().failures, 0);
    });
}

/// Cuts the power in every fifth change of the disk that `work` makes, until one run gets through; `after` sees what is left.
fn cut_everywhere(
    seed: u64,
    prepare: impl Fn(&World, &Env),
    work: impl Fn(&Env) -> bool,
    after: impl Fn(&World, &Env, bool),
) {
    let mut nth = 1 + seed % 5;
    loop {
        let world = World::new(seed);
        world.run(|env| prepare(&world, env));
        world.vfs().set_faults(FaultPlan { power_off_at_op: Some(nth), ..FaultPlan::default() });
        let done = world.run(|env| work(env));
        let off = world.vfs().is_off();
        world.crash();
        world.run(|env| after(&world, env, done));
        if !off {
            assert!(done, "nothing but the power failed");
            return;
        }
        nth += 5;
    }
}

#[test]
fn the_power_is_cut_while_a_segment_is_archived() {
    for seed in seeds(1) {
        let object = std::sync::Mutex::new(None);
        cut_everywhere(
            seed,
            |_, env| {
                let (engine, heap, table) = create(env);
                engine.archive_log().unwrap();
                back_up(&engine, "base").unwrap();
                change(&engine, &heap, "a");
                *object.lock().unwrap() = Some(table);
            },
            |env| {
                let Ok(engine) = Engine::open(env.clone(), &at("t.verso"), options()) else { return false };
                engine.set_archive(Some(archive())).is_ok()
                    && engine.archive_log().is_ok()
                    && engine.checkpoint().is_ok()
                    && engine.archive_log().is_ok()
            },
            |_, env, _| {
                let object = object.lock().unwrap().unwrap();
                let (engine, heap) = open(env, "t.verso", object);
                engine.set_archive(Some(archive())).unwrap();
                change(&engine, &heap, "b");
                engine.archive_log().unwrap();
                let rows = now(&engine, &heap);
                verify(env, Some(&at("base"))).unwrap();
                restore(env, "base", RestoreTarget::End, "r.verso").unwrap();
                assert_eq!(holds(env, "r.verso", object), rows);
            },
        );
    }
}

#[test]
fn the_power_is_cut_while_a_base_is_taken() {
    for seed in seeds(1) {
        let object = std::sync::Mutex::new(None);
        cut_everywhere(
            seed,
            |_, env| *object.lock().unwrap() = Some(create(env).2),
            |env| {
                let Ok(engine) = Engine::open(env.clone(), &at("t.verso"), options()) else { return false };
                back_up(&engine, "base").is_ok()
            },
            |_, env, done| {
                let object = object.lock().unwrap().unwrap();
                let (engine, heap) = open(env, "t.verso", object);
                let restored =
                    restore_base(env, &at("base"), None, RestoreTarget::End, &at("r.verso"), &options());
                match restored {
                    Ok(_) => assert_eq!(holds(env, "r.verso", object), now(&engine, &heap)),
                    Err(error) => {
                        assert!(!done, "a base that was told to be complete: {error}");
                        assert!(problem(Err::<(), _>(error)).contains("not finished"));
                        back_up(&engine, "base").unwrap();
                    }
                }
                let again = problem(back_up(&engine, "base"));
                assert!(again.contains("holds a base backup already"), "{again}");
            },
        );
    }
}

#[test]
fn the_power_is_cut_while_a_database_is_restored() {
    for seed in seeds(1) {
        let expected = std::sync::Mutex::new(None);
        cut_everywhere(
            seed,
            |_, env| {
                let (engine, heap, object) = create(env);
                engine.archive_log().unwrap();
                back_up(&engine, "base").unwrap();
                change(&engine, &heap, "a");
                engine.archive_log().unwrap();
                *expected.lock().unwrap() = Some((object, now(&engine, &heap)));
            },
            |env| restore(env, "base", RestoreTarget::End, "r.verso").is_ok(),
            |_, env, done| {
                let (object, rows) = expected.lock().unwrap().clone().unwrap();
                let cut = env.vfs.exists(&at("r.verso.restoring")).unwrap();
                assert!(!(cut && done));
                if cut {
                    for refused in [
                        Engine::open(env.clone(), &at("r.verso"), options()),
                        Engine::create(env.clone(), &at("r.verso"), options()),
                    ] {
                        assert!(problem(refused.map(|_| ())).contains("was not finished"));
                    }
                }
                if !env.vfs.exists(&at("r.verso")).unwrap() {
                    assert!(!done);
                    restore(env, "base", RestoreTarget::End, "r.verso").unwrap();
                }
                assert_eq!(holds(env, "r.verso", object), rows);
                assert!(
                    problem(restore(env, "base", RestoreTarget::End, "t.verso")).contains("exists already")
                );
            },
        );
    }
}

#[test]
fn a_base_is_taken_while_others_write() {
    for seed in seeds(5) {
        let world = World::new(seed);
        world.run(|env| {
            let (engine, heap, object) = create(env);
            let writer = {
                let (engine, heap) = (engine.clone(), Arc::clone(&heap));
                env.spawn("writer", move || {
                    for step in 0..20 {
                        change(&engine, &heap, "w");
                        fill(&engine, &heap, 100 * step + 100..100 * step + 110);
                        if step % 5 == 0 {
                            engine.checkpoint().unwrap();
                        }
                    }
                })
            };
            back_up(&engine, "base").unwrap();
            writer.join().unwrap();
            engine.archive_log().unwrap();
            restore_base(env, &at("base"), None, RestoreTarget::End, &at("r.verso"), &options()).unwrap();
            holds(env, "r.verso", object);
            restore(env, "base", RestoreTarget::End, "r.verso").unwrap();
            assert_eq!(holds(env, "r.verso", object), now(&engine, &heap));
        });
    }
}

#[test]
fn a_base_that_is_cancelled_leaves_nothing_and_one_folder_is_of_one_backup() {
    World::new(1).run(|env| {
        let (engine, heap, object) = create(env);
        let cancelled = engine.backup_base(&at("base"), &mut |_, _| Err(StorageError::Cancelled));
        assert!(matches!(cancelled, Err(StorageError::Cancelled)), "{cancelled:?}");
        assert!(!env.vfs.exists(&at("base")).unwrap());
        // A folder that was there stays, empty.
        env.vfs.create_dir_all(&at("base")).unwrap();
        engine.backup_base(&at("base"), &mut |_, _| Err(StorageError::Cancelled)).unwrap_err();
        assert!(env.vfs.list_dir(&at("base")).unwrap().is_empty());
        // Another process takes one there.
        let other = open_alone(&*env.vfs, &at("base").join("pages.part")).unwrap().expect("nobody has it");
        other.write_at(b"its own", 0).unwrap();
        let refused = back_up(&engine, "base").unwrap_err().to_string();
        assert!(refused.contains("another backup writes"), "{refused}");
        assert_eq!(other.len().unwrap(), 7, "it is left alone");
        drop(other);
        back_up(&engine, "base").unwrap();
        restore_base(env, &at("base"), None, RestoreTarget::End, &at("r.verso"), &options()).unwrap();
        assert_eq!(holds(env, "r.verso", object), now(&engine, &heap));
    });
}

fn increment(
    engine: &Engine,
    name: &str,
    parent: &str,
) -> Result<verso_storage::archive::BaseReport, StorageError> {
    engine.backup_increment(&at(name), &at(parent), &mut |_, _| Ok(()))
}

fn restore_increments(env: &Env, chain: &[&str], to: RestoreTarget, name: &str) -> Result<Lsn, StorageError> {
    let chain: Vec<PathBuf> = chain.iter().map(|name| at(name)).collect();
    restore_chain(env, &chain, Some(&at("archive")), to, &at(name), &options()).map(|report| report.upto)
}

#[test]
fn increments_have_what_changed_and_are_restored_upon_their_base() {
    let world = World::new(1);
    world.run(|env| {
        let (engine, heap, object) = create(env);
        fill(&engine, &heap, 100..4000);
        let mut txn = engine.begin(TxnOptions::default());
        let other = engine.create_heap(&mut txn, &COLUMNS).unwrap();
        txn.commit(CommitMode::Wait).unwrap();
        fill(&engine, &engine.heap(other).unwrap(), 0..8000);
        back_up(&engine, "base").unwrap();
        let mut points = Vec::new();
        let mut parent = "base".to_owned();
        let mut chain = vec![parent.clone()];
        for step in 0..4 {
            world.clock().advance(Duration::from_secs(10));
            change(&engine, &heap, &step.to_string());
            if step == 2 {
                // Pages that come, go and are something else.
                let mut txn = engine.begin(TxnOptions::default());
                engine.drop_object(&mut txn, other).unwrap();
                txn.commit(CommitMode::Wait).unwrap();
                engine.housekeeping().unwrap();
                fill(&engine, &heap, 20_000..22_000);
            }
            match step % 2 {
                // The log since the backup before is in the archive, or in the log folder still.
                0 => engine.archive_log().unwrap(),
                _ => engine.checkpoint().unwrap(),
            }
            let name = format!("increment{step}");
            let report = increment(&engine, &name, &parent).unwrap();
            assert!(step == 2 || report.copied * 2 < report.pages, "{report:?}");
            points.push((report.end, now(&engine, &heap)));
            chain.push(name.clone());
            parent = name;
            change(&engine, &heap, "behind");
            points.push((engine.durable(), now(&engine, &heap)));
        }
        engine.archive_log().unwrap();
        let all: Vec<&str> = chain.iter().map(String::as_str).collect();
        for length in 1..=all.len() {
            // From each increment on to every point behind it.
            for (lsn, rows) in points.iter().skip((length.max(2) - 2) * 2) {
                restore_increments(env, &all[..length], RestoreTarget::Lsn(*lsn), "r.verso").unwrap();
                assert_eq!(&holds(env, "r.verso", object), rows, "{length} to {lsn}");
            }
        }
        verify_archive_with(
            &*env.vfs,
            &at("archive"),
            &all.iter().map(|name| at(name)).collect::<Vec<_>>(),
            &mut |_| Ok(()),
        )
        .unwrap();
        // An increment by itself, a wrong order, a link left out, an increment upon itself.
        let refused = |chain: &[&str]| problem(restore_increments(env, chain, RestoreTarget::End, "r.verso"));
        assert!(refused(&all[1..]).contains("name the base"));
        assert!(refused(&[all[0], all[2]]).contains("no increment upon"));
        assert!(refused(&[all[0], all[0]]).contains("no increment upon"));
        assert!(refused(&[all[0], all[2], all[1]]).contains("no increment upon"));
        // Of another database, or damaged.
        let stranger = Engine::create(env.clone(), &at("s.verso"), options()).unwrap();
        assert!(problem(increment(&stranger, "no", "base")).contains("not of this one"));
        stranger.close().unwrap();
        let file = env.vfs.open(&at("increment1").join("pages"), OpenMode::EXISTING).unwrap();
        let middle = file.len().unwrap() / 2;
        file.write_at(&[0xAB; 64], middle).unwrap();
        assert!(refused(&all).contains("checksum"));
        engine.close().unwrap();
    });
}

/// P1: the page maps of all groups are in the base, and in an increment when they have changed.
#[test]
fn small_tables_come_with_a_chain_wherever_they_stand() {
    let world = World::new(3);
    world.run(|env| {
        let (engine, heap, object) = create(env);
        let make = |count: u32| -> Vec<ObjectId> {
            let mut txn = engine.begin(TxnOptions::default());
            let made = (0..count).map(|_| engine.create_heap(&mut txn, &COLUMNS).unwrap()).collect();
            txn.commit(CommitMode::Wait).unwrap();
            made
        };
        let put = |table: ObjectId| fill(&engine, &engine.heap(table).unwrap(), 0..5);
        // Pages of a group of 4096 bytes: 504.
        let first = make(700);
        put(first[699]);
        back_up(&engine, "base").unwrap();
        let mut txn = engine.begin(TxnOptions::default());
        first[..650].iter().for_each(|table| engine.drop_object(&mut txn, *table).unwrap());
        txn.commit(CommitMode::Wait).unwrap();
        engine.housekeeping().unwrap();
        increment(&engine, "one", "base").unwrap();
        let second = make(1200);
        put(second[1199]);
        increment(&engine, "two", "one").unwrap();
        let third = make(10);
        put(third[9]);
        engine.archive_log().unwrap();
        let chain = ["base", "one", "two"];
        for length in 1..=3 {
            restore_increments(env, &chain[..length], RestoreTarget::End, "r.verso").unwrap();
            let (again, _) = open(env, "r.verso", object);
            sound(&again);
            let rows = |table: ObjectId| now(&again, &again.heap(table).unwrap()).len();
            assert_eq!([first[699], second[1199], third[9]].map(rows), [5; 3]);
            let left = first[650..699].iter().chain(&second[..1199]).chain(&third[..9]);
            assert!(left.copied().map(rows).all(|rows| rows == 0));
            assert!(first[..650].iter().all(|table| again.heap(*table).is_err()));
            again.close().unwrap();
            drop(again);
            env.vfs.remove_file(&at("r.verso")).unwrap();
            env.vfs.remove_dir_all(&at("r.verso-wal")).unwrap();
        }
        drop(heap);
        engine.close().unwrap();
    });
}

#[test]
fn a_restore_ends_at_the_first_restore_point_of_the_name_behind_the_base() {
    let world = World::new(1);
    world.run(|env| {
        let (engine, heap, object) = create(env);
        engine.restore_point("before").unwrap();
        back_up(&engine, "base").unwrap();
        change(&engine, &heap, "one");
        let one = (engine.restore_point("load").unwrap(), now(&engine, &heap));
        change(&engine, &heap, "two");
        engine.restore_point("load").unwrap();
        engine.restore_point("loaded").unwrap();
        let two = now(&engine, &heap);
        change(&engine, &heap, "three");
        let long = "x".repeat(64);
        assert!(matches!(engine.restore_point(&long), Err(StorageError::TooLarge { .. })));
        engine.close().unwrap();
        let named = |name: &str| restore(env, "base", RestoreTarget::Name(name.into()), "r.verso");
        assert_eq!(named("load").unwrap(), one.0);
        assert_eq!(holds(env, "r.verso", object), one.1);
        named("loaded").unwrap();
        assert_eq!(holds(env, "r.verso", object), two);
        for missing in ["before", "loa", "Load", ""] {
            assert!(problem(named(missing)).contains("there is no restore point"), "{missing}");
        }
        drop((engine, heap));
        // A database that is opened again steps over them.
        let (engine, heap) = open(env, "t.verso", object);
        engine.restore_point("last").unwrap();
        let rows = now(&engine, &heap);
        drop((engine, heap));
        world.crash();
        let (engine, heap) = open(env, "t.verso", object);
        assert_eq!(now(&engine, &heap), rows);
        drop(heap);
        engine.close().unwrap();
    });
}

#[test]
fn every_file_of_a_chain_of_increments_is_verified() {
    World::new(1).run(|env| {
        let (engine, heap, _) = create(env);
        back_up(&engine, "base").unwrap();
        change(&engine, &heap, "one");
        increment(&engine, "one", "base").unwrap();
        change(&engine, &heap, "two");
        increment(&engine, "two", "one").unwrap();
        drop(heap);
        engine.close().unwrap();
        let chain = ["base", "one", "two"].map(at);
        let verified = || verify_archive_with(&*env.vfs, &at("archive"), &chain, &mut |_| Ok(()));
        verified().unwrap();
        let mut damaged = 0;
        for folder in &chain {
            for log in env.vfs.list_dir(&folder.join("log")).unwrap() {
                let file = env.vfs.open(&log, OpenMode::EXISTING).unwrap();
                // The first byte that is logged.
                let (mut byte, at) = ([0], (SECTOR + CHUNK_HEADER) as u64);
                file.read_at(&mut byte, at).unwrap();
                file.write_at(&[!byte[0]], at).unwrap();
                assert!(problem(verified()).contains("damaged"), "{}", log.display());
                file.write_at(&byte, at).unwrap();
                damaged += 1;
            }
            let pages = env.vfs.open(&folder.join("pages"), OpenMode::EXISTING).unwrap();
            let length = pages.len().unwrap();
            pages.set_len(length + 100).unwrap();
            assert!(problem(verified()).contains("100 bytes behind"), "{}", folder.display());
            pages.set_len(length).unwrap();
        }
        assert!(damaged >= 3, "{damaged}");
        verified().unwrap();
        // Nothing of the database is left in the archive.
        archived(env).iter().for_each(|file| env.vfs.remove_file(file).unwrap());
        assert!(problem(verified()).contains("holds no log"));
        assert!(problem(restore(env, "base", RestoreTarget::End, "r.verso")).contains("holds no log"));
    });
}

#[test]
fn an_increment_needs_the_log_since_its_parent() {
    let world = World::new(2);
    world.run(|env| {
        let (engine, heap, _) = create(env);
        engine.set_archive(None).unwrap();
        back_up(&engine, "base").unwrap();
        fill(&engine, &heap, 100..200);
        // The log folder has it all.
        increment(&engine, "one", "base").unwrap();
        for round in 0..6 {
            fill(&engine, &heap, 1000 + round * 20_000..21_000 + round * 20_000);
            engine.checkpoint().unwrap();
        }
        assert!(problem(increment(&engine, "two", "one")).contains("take a full base"));
        back_up(&engine, "again").unwrap();
        engine.close().unwrap();
    });
}

#[test]
fn an_increment_that_is_cut_off_is_none_and_one_that_ended_restores() {
    let mut ended = 0;
    for seed in seeds(12) {
        let world = World::new(seed);
        let mut rng = world.rng();
        let (object, rows, done) = world.run(|env| {
            let (engine, heap, object) = create(env);
            fill(&engine, &heap, 100..900);
            back_up(&engine, "base").unwrap();
            change(&engine, &heap, "later");
            engine.archive_log().unwrap();
            env.vfs.sync_dir(World::dir()).unwrap();
            let rows = now(&engine, &heap);
            world
                .vfs()
                .set_faults(FaultPlan { power_off_at_op: Some(rng.between(3, 90)), ..FaultPlan::default() });
            (object, rows, increment(&engine, "one", "base").is_ok())
        });
        world.crash();
        world.run(|env| {
            match restore_increments(env, &["base", "one"], RestoreTarget::End, "r.verso") {
                Ok(_) => assert_eq!(holds(env, "r.verso", object), rows, "seed {seed}"),
                Err(error) => assert!(!done, "seed {seed}: {error}"),
            }
            // Begun anew in the same folder.
            if !done {
                let (engine, _) = open(env, "t.verso", object);
                engine.set_archive(Some(archive())).unwrap();
                if let Err(error) = increment(&engine, "one", "base") {
                    assert!(
                        problem(Err::<(), _>(error)).contains("holds a base backup already"),
                        "seed {seed}"
                    );
                }
                engine.close().unwrap();
                restore_increments(env, &["base", "one"], RestoreTarget::End, "r.verso").unwrap();
                assert_eq!(holds(env, "r.verso", object), rows, "seed {seed}");
            }
        });
        ended += u32::from(done);
    }
    assert!(ended > 0 || std::env::var_os("SEED").is_some());
}

#[test]
fn what_no_backup_needs_is_removed_and_nothing_else() {
    let world = World::new(3);
    world.run(|env| {
        let (engine, heap, object) = create(env);
        let mut ends = Vec::new();
        for name in ["one", "two", "three"] {
            back_up(&engine, name).unwrap();
            for _ in 0..3 {
                change(&engine, &heap, name);
                engine.archive_log().unwrap();
            }
            ends.push((engine.durable(), now(&engine, &heap)));
        }
        let before = archived(env).len();
        let prune = |kept: &[&str], removes| {
            let kept: Vec<PathBuf> = kept.iter().map(|name| at(name)).collect();
            prune_archive(&*env.vfs, &at("archive"), &kept, removes)
        };
        assert!(problem(prune(&[], true)).contains("name the backups"));
        assert!(prune(&["one"], true).unwrap().files.len() <= 1, "the first needs all behind it");
        let kept = archived(env).len();
        let report = prune(&["three", "two"], false).unwrap();
        assert!(!report.files.is_empty() && report.bytes > 0 && archived(env).len() == kept, "a dry run");
        assert_eq!(prune(&["three", "two"], true).unwrap().files, report.files);
        assert!(archived(env).len() < before);
        for name in ["two", "three"] {
            for (lsn, rows) in ends.iter().skip(if name == "two" { 1 } else { 2 }) {
                restore(env, name, RestoreTarget::Lsn(*lsn), "r.verso").unwrap();
                assert_eq!(&holds(env, "r.verso", object), rows, "{name} to {lsn}");
            }
        }
        assert!(problem(restore(env, "one", RestoreTarget::End, "r.verso")).contains("log"));
        // A backup that cannot be restored any more is no reason to remove more.
        assert!(problem(prune(&["one", "three"], true)).contains("nothing is removed"));
        // The archive goes on, also when the database is opened again.
        change(&engine, &heap, "after");
        engine.archive_log().unwrap();
        let rows = now(&engine, &heap);
        engine.close().unwrap();
        restore(env, "three", RestoreTarget::End, "r.verso").unwrap();
        assert_eq!(holds(env, "r.verso", object), rows);
        verify(env, Some(&at("three"))).unwrap();
        let all = archived(env).len();
        let oldest = archived(env).into_iter().min().unwrap();
        env.vfs.remove_file(&oldest).unwrap();
        assert!(problem(prune(&["two"], true)).contains("nothing is removed"));
        assert_eq!(archived(env).len(), all - 1);
    });
}

/// An archive that has lost its log is refused, so the last segment is not removed, though no backup needs it.
#[test]
fn an_archive_of_which_no_backup_needs_anything_keeps_its_last_segment() {
    World::new(4).run(|env| {
        let (engine, heap, object) = create(env);
        for step in ["one", "two", "three"] {
            change(&engine, &heap, step);
            engine.archive_log().unwrap();
        }
        back_up(&engine, "base").unwrap();
        let rows = now(&engine, &heap);
        let before = archived(env).len();
        let report = prune_archive(&*env.vfs, &at("archive"), &[at("base")], true).unwrap();
        assert_eq!((report.files.len(), archived(env).len()), (before - 1, 1));
        assert!(report.first > Lsn::ZERO);
        restore(env, "base", RestoreTarget::End, "r.verso").unwrap();
        assert_eq!(holds(env, "r.verso", object), rows);
        verify(env, Some(&at("base"))).unwrap();
        engine.close().unwrap();
    });
}

#[test]
fn pruning_beside_a_restore_and_a_backup_leaves_no_wrong_database() {
    let (mut restored, mut refused) = (0, 0);
    for seed in seeds(16) {
        let world = World::new(seed);
        world.run(|env| {
            let (engine, heap, object) = create(env);
            back_up(&engine, "one").unwrap();
            for step in 0..6 {
                change(&engine, &heap, &step.to_string());
                engine.archive_log().unwrap();
            }
            back_up(&engine, "two").unwrap();
            change(&engine, &heap, "last");
            engine.archive_log().unwrap();
            let rows = now(&engine, &heap);
            let (its, own) = (env.clone(), engine.clone());
            let pruner = env.spawn("pruner", move || {
                prune_archive(&*its.vfs, &at("archive"), &[at("two")], true).map(|_| ()).unwrap();
            });
            let backup = env.spawn("backup", move || {
                own.backup_base(&at("three"), &mut |_, _| Ok(())).unwrap();
            });
            let done = restore(env, "one", RestoreTarget::End, "r.verso");
            pruner.join().unwrap();
            backup.join().unwrap();
            match done {
                Ok(_) => {
                    restored += 1;
                    assert_eq!(holds(env, "r.verso", object), rows, "seed {seed}");
                }
                Err(_) => {
                    refused += 1;
                    let there = Engine::open(env.clone(), &at("r.verso"), options());
                    assert!(there.is_err(), "seed {seed}: what was not restored is no database");
                }
            }
            restore(env, "two", RestoreTarget::End, "r2.verso").unwrap();
            assert_eq!(holds(env, "r2.verso", object), rows, "seed {seed}");
            restore(env, "three", RestoreTarget::End, "r3.verso").unwrap();
            assert_eq!(holds(env, "r3.verso", object), rows, "seed {seed}");
            engine.close().unwrap();
        });
    }
    let one_seed = std::env::var_os("SEED").is_some();
    assert!(one_seed || restored + refused == 16, "{restored} restored, {refused} refused");
}
