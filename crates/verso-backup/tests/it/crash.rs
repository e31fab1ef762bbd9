//! The power fails during a restore.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use verso_backup::{BackupError, BackupOptions, RestoreOptions, RestoreReport};
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
    let wanted = RestoreOptions { database: options(env), ..RestoreOptions::default() };
    verso_backup::restore(Box::new(Cursor::new(bytes.to_vec())), &path(), &wanted, &Arc::default())
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
