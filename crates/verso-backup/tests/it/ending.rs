//! Backups and restores that do not come to their end.

use std::sync::{Arc, OnceLock};

use verso_backup::{BackupError, BackupOptions, Event, Job, RestoreOptions, backup_to_file, script_to_file};
use versodb::{Database, Options};

use crate::world::{archive, database, open, restore, restore_as};

const SCRIPT: &str = "CREATE TABLE t (id integer PRIMARY KEY, v text);
    INSERT INTO t SELECT n, 'v' || n FROM generate_series(1, 20000) AS s(n); CREATE INDEX ON t (v)";

/// A job that cancels itself at an event.
fn cancelled_at(at: fn(&Event<'_>) -> bool) -> Arc<Job> {
    let own: Arc<OnceLock<std::sync::Weak<Job>>> = Arc::default();
    let known = Arc::clone(&own);
    let job = Arc::new(Job::new(move |event| {
        if at(event) {
            known.get().and_then(std::sync::Weak::upgrade).unwrap().cancel();
        }
    }));
    own.set(Arc::downgrade(&job)).unwrap();
    job
}

fn names(folder: &tempfile::TempDir) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder.path())
        .unwrap()
        .map(|file| file.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_cancelled_backup_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let saved = database(&folder.path().join("a.verso"), SCRIPT);
    let before = names(&folder);
    let job = cancelled_at(|event| matches!(event, Event::Rows { .. }));
    let path = folder.path().join("a.backup");
    let error = backup_to_file(&saved, &path, false, &BackupOptions::default(), &job).unwrap_err();
    assert!(matches!(error, BackupError::Cancelled), "{error}");
    assert_eq!(names(&folder), before);
    backup_to_file(&saved, &path, false, &BackupOptions::default(), &Arc::default()).unwrap();
    let error = backup_to_file(&saved, &path, false, &BackupOptions::default(), &Arc::default()).unwrap_err();
    assert!(error.to_string().contains("--replace"), "{error}");
    backup_to_file(&saved, &path, true, &BackupOptions::default(), &Arc::default()).unwrap();
    // A database is replaced by nothing, itself least of all.
    let path = folder.path().join("a.verso");
    let error = backup_to_file(&saved, &path, true, &BackupOptions::default(), &Arc::default()).unwrap_err();
    assert!(error.to_string().contains("is a database"), "{error}");
    let error = script_to_file(&saved, &path, true, &BackupOptions::default(), &Arc::default()).unwrap_err();
    assert!(error.to_string().contains("is a database"), "{error}");
}

#[test]
fn a_bug_in_a_worker_ends_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let saved = database(&folder.path().join("a.verso"), SCRIPT);
    let before = names(&folder);
    let path = folder.path().join("a.backup");
    for workers in [1, 3] {
        let options = BackupOptions { workers, ..BackupOptions::default() };
        let job = Job::new(|event| assert!(!matches!(event, Event::Rows { .. }), "it dies"));
        let error = backup_to_file(&saved, &path, false, &options, &Arc::new(job)).unwrap_err().to_string();
        assert!(error.contains("it dies"), "{error}");
        assert_eq!(names(&folder), before);
        // Housekeeping may analyze the table meanwhile.
        assert!(saved.engine().jobs().iter().all(|job| job.session == 0 && job.what == "ANALYZE"));
    }
    backup_to_file(&saved, &path, false, &BackupOptions::default(), &Arc::default()).unwrap();
}

#[test]
fn one_file_is_of_one_backup() {
    let folder = tempfile::tempdir().unwrap();
    let saved = database(&folder.path().join("a.verso"), SCRIPT);
    let (path, part) = (folder.path().join("a.backup"), folder.path().join("a.backup.part"));
    let env = verso_env::Env::real();
    let other = verso_env::open_alone(&*env.vfs, &part).unwrap().expect("nobody has it");
    other.write_at(&[7; 100], 0).unwrap();
    let error = backup_to_file(&saved, &path, false, &BackupOptions::default(), &Arc::default()).unwrap_err();
    assert!(error.to_string().contains("another backup writes"), "{error}");
    assert_eq!(other.len().unwrap(), 100, "it is left alone");
    // It ends: what it has made is not touched by one that comes then.
    env.vfs.rename(&part, &path).unwrap();
    let error = backup_to_file(&saved, &path, false, &BackupOptions::default(), &Arc::default()).unwrap_err();
    assert!(error.to_string().contains("--replace"), "{error}");
    backup_to_file(&saved, &path, true, &BackupOptions::default(), &Arc::default()).unwrap();
    assert_eq!(other.len().unwrap(), 100);
    drop(other);
    // One that was killed has left its part.
    std::fs::write(&part, [7; 100_000]).unwrap();
    backup_to_file(&saved, &path, true, &BackupOptions::default(), &Arc::default()).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let input = Box::new(std::io::Cursor::new(bytes));
    verso_backup::verify(&env, input, 1, &Arc::default()).unwrap();
}

#[test]
fn a_database_that_cannot_be_made_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let saved = database(&folder.path().join("a.verso"), SCRIPT);
    let bytes = archive(&saved, &BackupOptions::default());
    let world = verso_sim::World::new(3);
    let path = verso_sim::World::dir().join("b.verso");
    for room in [0, 100_000, 1 << 20] {
        world.vfs().set_faults(verso_sim::FaultPlan {
            capacity_bytes: Some(room),
            ..verso_sim::FaultPlan::default()
        });
        world.run(|env| {
            let database = Options::new().env(env.clone()).buffer_pool(1 << 20);
            let wanted = RestoreOptions { database, ..RestoreOptions::default() };
            let input = Box::new(std::io::Cursor::new(bytes.clone()));
            verso_backup::restore(input, &path, &wanted, &Arc::default()).unwrap_err();
            assert!(!env.vfs.exists(&path).unwrap(), "{room}");
            assert!(!env.vfs.exists(&path.with_file_name("b.verso-wal")).unwrap(), "{room}");
        });
    }
}

#[test]
fn a_cancelled_script_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let saved = database(&folder.path().join("a.verso"), SCRIPT);
    let before = names(&folder);
    let job = cancelled_at(|event| matches!(event, Event::Phase { .. }));
    let path = folder.path().join("a.sql");
    let error = script_to_file(&saved, &path, false, &BackupOptions::default(), &job).unwrap_err();
    assert!(matches!(error, BackupError::Cancelled), "{error}");
    assert_eq!(names(&folder), before);
}

#[test]
fn a_cancelled_restore_leaves_no_database() {
    let folder = tempfile::tempdir().unwrap();
    let saved = database(&folder.path().join("a.verso"), SCRIPT);
    let bytes = archive(&saved, &BackupOptions::default());
    saved.close().unwrap();
    let before = names(&folder);
    let path = folder.path().join("b.verso");
    let moments: [fn(&Event<'_>) -> bool; 3] = [
        |event| matches!(event, Event::Rows { .. }),
        |event| matches!(event, Event::Statement(sql) if sql.contains("PRIMARY KEY")),
        |event| matches!(event, Event::Phase { name: "triggers", .. }),
    ];
    for moment in moments {
        let job = cancelled_at(moment);
        let error = restore_as(&bytes, &path, &RestoreOptions::default(), &job).unwrap_err();
        assert!(matches!(error, BackupError::Cancelled), "{error}");
        assert_eq!(names(&folder), before);
    }
}

#[test]
fn a_restore_that_was_killed_leaves_a_database_that_says_so_and_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let saved = database(&folder.path().join("a.verso"), SCRIPT);
    let bytes = archive(&saved, &BackupOptions::default());
    let path = folder.path().join("b.verso");
    // As a killed process leaves it: made, and nothing more.
    let killed = Database::create(&path, Options::new().unfinished(true)).unwrap();
    killed.connect().unwrap().execute("CREATE TABLE half (x integer)").unwrap();
    assert!(killed.is_unfinished().unwrap());
    killed.close().unwrap();
    let error = Database::open(&path, Options::new()).unwrap_err();
    assert_eq!(error.sqlstate, "55000");
    assert!(error.message.ends_with("is unfinished"), "{error}");
    restore(&bytes, &path, &RestoreOptions::default()).unwrap();
    let copy = open(&path);
    assert!(!copy.is_unfinished().unwrap());
    let mut connection = copy.connect().unwrap();
    assert_eq!(crate::world::answer(&mut connection, "SELECT count(*) FROM t"), "20000");
    assert_eq!(connection.query("SELECT * FROM half").unwrap_err().sqlstate, "42P01");
}

#[test]
fn a_statement_that_fails_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE p (id integer PRIMARY KEY); CREATE TABLE c (p integer REFERENCES p);
        INSERT INTO p VALUES (1); INSERT INTO c VALUES (1); SET session_replication_role = replica; DELETE FROM p";
    let path = folder.path().join("a.verso");
    let saved = Database::create(&path, Options::new()).unwrap();
    if saved.connect().unwrap().execute(script).is_err() {
        return; // foreign keys cannot be broken: then there is nothing to find
    }
    let bytes = archive(&saved, &BackupOptions::default());
    let error = restore(&bytes, &folder.path().join("b.verso"), &RestoreOptions::default()).unwrap_err();
    assert!(error.to_string().contains("ADD CONSTRAINT c_p_fkey FOREIGN KEY"), "{error}");
}

/// What a database says of sessions that take long or do nothing is not for those of a backup, a restore or an export.
#[test]
fn timeouts_of_sessions_end_no_backup() {
    let folder = tempfile::tempdir().unwrap();
    let saved = database(&folder.path().join("a.verso"), SCRIPT);
    let mut connection = saved.connect().unwrap();
    for timeout in ["idle_in_transaction_session_timeout", "statement_timeout", "transaction_timeout"] {
        connection.execute(&format!("ALTER SYSTEM SET {timeout} = '50ms'")).unwrap();
    }
    drop(connection);
    let slow = || {
        Arc::new(Job::new(|event| {
            if let Event::Rows { .. } = event {
                std::thread::sleep(std::time::Duration::from_millis(120));
            }
        }))
    };
    let path = folder.path().join("a.backup");
    backup_to_file(&saved, &path, false, &BackupOptions::default(), &slow()).unwrap();
    script_to_file(&saved, &folder.path().join("a.sql"), false, &BackupOptions::default(), &slow()).unwrap();
}
