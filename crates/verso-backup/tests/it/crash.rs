//! The power fails during a restore.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use verso_backup::{BackupError, BackupOptions, Event, Job, RestoreOptions, RestoreReport};
use verso_env::Env;
use verso_sim::{FaultPlan, World};
use versodb::{Database, Options};

use crate::world::{answer, archive, database};

const SCRIPT: &str = "CREATE TABLE p (id integer PRIMARY KEY, v text);
    INSERT INTO p SELECT n, repeat('v', n % 300) FROM generate_series(1, 500) AS s(n);
    CREATE TABLE c (p integer REFERENCES p, b bigint); CREATE INDEX ON c (b);
    INSERT INTO c SELECT n, n * 7 FROM generate_series(1, 500) AS s(n)";

fn path() -> PathBuf {
    World::dir().join("copy.verso")
}

fn options(env: &Env) -> Options {
    Options::new().env(env.clone()).buffer_pool(1 << 20)
}

fn restore(env: &Env, bytes: &[u8]) -> Result<RestoreReport, BackupError> {
    restore_as(env, bytes, &Arc::default())
}

fn restore_as(env: &Env, bytes: &[u8], job: &Arc<Job>) -> Result<RestoreReport, BackupError> {
    let wanted = RestoreOptions { database: options(env), ..RestoreOptions::default() };
    verso_backup::restore(Box::new(Cursor::new(bytes.to_vec())), &path(), &wanted, job)
}

/// Whether everything is there.
fn is_whole(database: &Database) {
    let mut connection = database.connect().unwrap();
    let question = "SELECT (SELECT count(*) FROM p), (SELECT sum(length(v)) FROM p), (SELECT sum(b) FROM c),
                           (SELECT count(*) FROM pg_indexes WHERE schemaname = 'public')";
    assert_eq!(answer(&mut connection, question), "500|64950|876750|2");
}

#[test]
fn a_restore_that_loses_its_power_leaves_nothing_or_says_that_it_is_unfinished_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let bytes =
        archive(&database(Path::new(&folder.path().join("a.verso")), SCRIPT), &BackupOptions::default());
    let healthy = World::new(1);
    let before = healthy.vfs().change_count();
    healthy.run(|env| restore(env, &bytes)).unwrap();
    let changes = healthy.vfs().change_count() - before;
    healthy.run(|env| is_whole(&Database::open(path(), options(env)).unwrap()));
    let (mut unfinished, mut missing, mut resumed) = (0, 0, 0);
    const TRIALS: u64 = 24;
    for trial in 0..TRIALS {
        let world = World::new(100 + trial);
        let at = 1 + changes * trial / TRIALS;
        world.vfs().set_faults(FaultPlan { power_off_at_op: Some(at), ..FaultPlan::default() });
        let done = world.run(|env| restore(env, &bytes).is_ok());
        world.crash();
        world.run(|env| match Database::open(path(), options(env)) {
            // The last sync may be the one that was cut off.
            Ok(database) => {
                is_whole(&database);
                database.close().unwrap();
            }
            Err(error) if error.sqlstate == "55000" => {
                assert!(!done, "{at}");
                unfinished += 1;
            }
            // The power failed while the file was made: it is none yet.
            Err(error) => {
                assert!(!done && at < changes / 3, "{at} of {changes}: {error}");
                missing += 1;
            }
        });
        world.run(|env| match restore(env, &bytes) {
            Ok(report) => {
                resumed += u64::from(report.resumed > 0);
                assert_eq!(report.rows, 1_000, "{at}");
                let database = Database::open(path(), options(env)).unwrap();
                is_whole(&database);
                let mut connection = database.connect().unwrap();
                let left = "SELECT count(*) FROM pg_namespace WHERE nspname = 'verso restore'";
                assert_eq!(answer(&mut connection, left), "0");
            }
            Err(BackupError::Refused(text)) => assert!(text.contains("exists"), "{at}: {text}"),
            Err(error) => panic!("{at}: {error}"),
        });
    }
    assert!(unfinished > 2 && resumed > 2, "{unfinished} unfinished, {missing} missing, {resumed} resumed");
}

/// The world as a restore of `bytes` leaves it that loses its power at the `count`th event of a kind.
fn cut(bytes: &[u8], at: fn(&Event<'_>) -> bool, count: u64) -> World {
    let world = Arc::new(World::new(300 + count));
    let (cut, seen) = (Arc::new(OnceLock::new()), AtomicU64::new(0));
    let job = {
        let (world, cut) = (world.clone(), cut.clone());
        Arc::new(Job::new(move |event| {
            if at(event) && seen.fetch_add(1, Ordering::Relaxed) + 1 == count {
                let _ = cut.set(world.fork_crashed());
            }
        }))
    };
    world.run(|env| restore_as(env, bytes, &job)).unwrap();
    drop(job);
    Arc::into_inner(cut).and_then(OnceLock::into_inner).expect("that many events")
}

#[test]
fn a_restore_goes_on_where_one_of_the_same_archive_was_cut_off_and_begins_anew_after_another() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE t (id integer PRIMARY KEY, v text, u integer UNIQUE, CHECK (id > 0));
        INSERT INTO t SELECT n, repeat('v', 3000), -n FROM generate_series(1, 500) AS s(n);
        CREATE INDEX t_expression ON t (length(v), id) WHERE id % 2 = 0; CREATE TABLE c (t integer REFERENCES t);
        INSERT INTO c SELECT id FROM t";
    let bytes = archive(&database(&folder.path().join("a.verso"), script), &BackupOptions::default());
    let other = archive(
        &database(&folder.path().join("o.verso"), "CREATE TABLE t (id integer); INSERT INTO t VALUES (7)"),
        &BackupOptions::default(),
    );
    let question = "SELECT (SELECT count(*) FROM t), (SELECT sum(u) FROM t), (SELECT count(*) FROM c),
        (SELECT count(*) FROM pg_index WHERE indrelid = 't'::regclass AND indisvalid)";
    type Moment = (fn(&Event<'_>) -> bool, u64, bool);
    let moments: [Moment; 3] = [
        (|event| matches!(event, Event::Statement(sql) if sql.contains("CREATE TABLE")), 2, false),
        // The log of what was committed last may still be in memory.
        (|event| matches!(event, Event::Rows { .. }), 2, false),
        (|event| matches!(event, Event::Statement(sql) if sql.contains("REINDEX")), 1, true),
    ];
    for (number, (at, count, has_rows)) in moments.into_iter().enumerate() {
        cut(&bytes, at, count).run(|env| {
            assert_eq!(Database::open(path(), options(env)).unwrap_err().sqlstate, "55000", "{number}");
            let report = restore(env, &bytes).unwrap();
            assert!(report.resumed > 0 || !has_rows, "{number}");
            assert_eq!(report.rows, 1_000, "{number}");
            let copy = Database::open(path(), options(env)).unwrap();
            let mut connection = copy.connect().unwrap();
            assert_eq!(answer(&mut connection, question), "500|-125250|500|3", "{number}");
            connection.execute("INSERT INTO t (id, u) VALUES (501, -1)").unwrap_err();
        });
    }
    cut(&bytes, |event| matches!(event, Event::Rows { .. }), 2).run(|env| {
        let report = restore(env, &other).unwrap();
        assert_eq!((report.resumed, report.rows), (0, 1));
    });
}
