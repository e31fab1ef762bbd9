//! The log as an administrator has it: files kept ready, transactions that span much of it; settings wherever they are made.

use versodb::{Connection, Database, Options};

use crate::new_database;

fn number(connection: &mut Connection, sql: &str) -> i64 {
    connection.query(sql).unwrap().into_rows()[0].get(0).unwrap()
}

fn text(connection: &mut Connection, sql: &str) -> String {
    connection.query(sql).unwrap().into_rows()[0].text(0)
}

fn code(connection: &mut Connection, sql: &str) -> String {
    connection.execute(sql).expect_err(sql).sqlstate.to_string()
}

const ROWS: &str = "INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 30000) AS s(i)";

/// What was not in the file when a process ended is in the log, by whichever name the database is opened next.
#[cfg(unix)]
#[test]
fn a_symbolic_link_leads_to_the_log_of_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let [file, link, other] =
        ["real.verso", "link.verso", "nothing.verso"].map(|name| directory.path().join(name));
    let count = |path: &std::path::Path| {
        let database = Database::open(path, Options::default()).unwrap();
        number(&mut database.connect().unwrap(), "SELECT count(*) FROM t")
    };
    let database = Database::create(&file, Options::default()).unwrap();
    database.connect().unwrap().execute("CREATE TABLE t (a int)").unwrap();
    drop(database);
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let database = Database::open(&link, Options::default()).unwrap();
    database.connect().unwrap().execute("INSERT INTO t VALUES (1), (2)").unwrap();
    drop(database);
    assert!(directory.path().join("real.verso-wal").exists());
    assert!(!directory.path().join("link.verso-wal").exists());
    assert_eq!((count(&file), count(&link)), (2, 2));
    // A link to nothing leads nowhere.
    std::os::unix::fs::symlink(directory.path().join("gone.verso"), &other).unwrap();
    assert!(Database::open(&other, Options::default()).is_err());
}

#[test]
fn log_files_are_added_and_dropped() {
    let (directory, database) = new_database();
    let path = directory.path().join("test.verso");
    let mut connection = database.connect().unwrap();
    connection.execute("ALTER SYSTEM SET wal_spare_size = '8MB'").unwrap();
    let spares = "SELECT count(*) FROM verso_logs WHERE state = 'spare' AND bytes = 5242880";
    assert_eq!(number(&mut connection, spares), 0);
    connection.execute("ALTER SYSTEM ADD LOGFILE SIZE '5MB'").unwrap();
    connection.execute("ALTER SYSTEM ADD LOGFILE SIZE '5'").unwrap();
    assert_eq!(number(&mut connection, spares), 2);
    assert_eq!(text(&mut connection, "SHOW wal_spare_size"), "18MB");
    let newest = "SELECT max(segment) FROM verso_logs WHERE state = 'spare' AND bytes = 5242880";
    let file = number(&mut connection, newest);
    connection.execute(&format!("ALTER SYSTEM DROP LOGFILE {file}")).unwrap();
    assert_eq!(
        (number(&mut connection, spares), text(&mut connection, "SHOW wal_spare_size")),
        (1, "13MB".into())
    );
    assert_eq!(code(&mut connection, &format!("ALTER SYSTEM DROP LOGFILE {file}")), "42704");
    let current = number(&mut connection, "SELECT segment FROM verso_logs WHERE state = 'current'");
    assert_eq!(code(&mut connection, &format!("ALTER SYSTEM DROP LOGFILE {current}")), "55006");
    for wrong in ["'1kB'", "'65GB'", "'much'"] {
        assert_eq!(code(&mut connection, &format!("ALTER SYSTEM ADD LOGFILE SIZE {wrong}")), "22023");
    }
    connection.execute("BEGIN").unwrap();
    assert_eq!(code(&mut connection, "ALTER SYSTEM ADD LOGFILE SIZE '5MB'"), "25001");
    connection.execute("ROLLBACK").unwrap();
    connection.execute("CREATE ROLE reader").unwrap();
    connection.execute("SET ROLE reader").unwrap();
    assert_eq!(code(&mut connection, "ALTER SYSTEM ADD LOGFILE SIZE '5MB'"), "42501");
    assert_eq!(code(&mut connection, "ALTER SYSTEM DROP LOGFILE 1"), "42501");
    // The log is written to them, and they are there when the database is opened again.
    connection.execute("RESET ROLE").unwrap();
    connection.execute("CREATE TABLE t (a integer, b text)").unwrap();
    connection.execute(ROWS).unwrap();
    drop(connection);
    database.close().unwrap();
    let database = Database::open(&path, Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    assert_eq!(text(&mut connection, "SHOW wal_spare_size"), "13MB");
    let all = "SELECT count(*) FROM verso_logs WHERE bytes = 5242880";
    assert_eq!(number(&mut connection, all), 1);
    assert_eq!(number(&mut connection, "SELECT count(*) FROM t"), 30_000);
}

#[test]
fn a_transaction_that_spans_much_log_is_cancelled_or_ended() {
    let (_directory, database) = new_database();
    let mut control = database.connect().unwrap();
    control.execute("CREATE TABLE t (a integer, b text)").unwrap();
    control.execute("CREATE TABLE few (a integer)").unwrap();
    control.execute("ALTER SYSTEM SET long_tx_wal_limit = '1MB'").unwrap();
    assert_eq!(text(&mut control, "SHOW long_tx_action"), "warn");
    let mut client = database.connect().unwrap();
    // Warned of only.
    client.execute("BEGIN").unwrap();
    client.execute(ROWS).unwrap();
    client.execute("SELECT pg_sleep(0.1)").unwrap();
    client.execute("ROLLBACK").unwrap();
    control.execute("ALTER SYSTEM SET long_tx_action = 'cancel'").unwrap();
    // One statement that would never end by itself: how much it has logged is known while it runs.
    let endless = "INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 2000000000) AS s(i)";
    assert_eq!(code(&mut client, endless), "53400");
    // The log of others counts, too: a small change that stays open becomes an old one.
    client.execute("BEGIN").unwrap();
    client.execute("INSERT INTO few VALUES (1)").unwrap();
    for _ in 0..3 {
        // Each of them is short.
        control
            .execute("INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 5000) AS s(i)")
            .unwrap();
    }
    assert_eq!(code(&mut client, "SELECT pg_sleep(60)"), "53400");
    client.execute("ROLLBACK").unwrap();
    client.execute("INSERT INTO few VALUES (2)").unwrap();
    // Where all its statements are short, the one that follows a pause is cancelled.
    client.execute("BEGIN").unwrap();
    client.execute("INSERT INTO few VALUES (3)").unwrap();
    for _ in 0..3 {
        control
            .execute("INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 5000) AS s(i)")
            .unwrap();
    }
    std::thread::sleep(std::time::Duration::from_secs(1));
    assert_eq!(code(&mut client, "INSERT INTO few VALUES (4)"), "53400");
    assert_eq!(code(&mut client, "SELECT 1"), "25P02");
    client.execute("ROLLBACK").unwrap();
    assert_eq!(number(&mut client, "SELECT 1"), 1, "one of its own is not concerned");
    control.execute("ALTER SYSTEM SET long_tx_action = 'terminate'").unwrap();
    client.execute("BEGIN").unwrap();
    let ended = client.execute(ROWS).and_then(|_| client.execute("SELECT pg_sleep(60)")).unwrap_err();
    assert_eq!(ended.sqlstate, "53400");
    assert_eq!(code(&mut client, "SELECT 1"), "53400");
    drop(client);
    assert_eq!(number(&mut control, "SELECT count(*) FROM few"), 1);
    assert_eq!(code(&mut control, "ALTER SYSTEM SET long_tx_action = 'sing'"), "22023");
    assert_eq!(code(&mut control, "ALTER SYSTEM SET long_tx_wal_limit = '10kB'"), "22023");
    assert_eq!(code(&mut control, "SET long_tx_wal_limit = 0"), "55P02");
}

#[test]
fn a_long_transaction_does_not_hold_the_log() {
    let (_directory, database) = new_database();
    let mut control = database.connect().unwrap();
    control.execute("CREATE TABLE t (a integer, b text)").unwrap();
    control.execute("ALTER SYSTEM SET wal_spare_size = '1MB'").unwrap();
    let mut long = database.connect().unwrap();
    long.execute("BEGIN").unwrap();
    long.execute("INSERT INTO t VALUES (0, 'first')").unwrap();
    long.execute("SAVEPOINT s").unwrap();
    long.execute("UPDATE t SET b = 'second'").unwrap();
    for _ in 0..12 {
        control
            .execute("INSERT INTO t SELECT i, repeat('x', 100) FROM generate_series(1, 10000) AS s(i)")
            .unwrap();
        control.execute("CHECKPOINT").unwrap();
    }
    let span = "SELECT (SELECT appended FROM verso_wal) - first_lsn FROM verso_transactions WHERE first_lsn IS NOT NULL";
    assert!(number(&mut control, span) > 10 << 20);
    let oldest = "SELECT (SELECT appended FROM verso_wal) - min(first_lsn) FROM verso_logs";
    let held = number(&mut control, oldest);
    assert!(held < 6 << 20, "{held} bytes of log are there");
    long.execute("ROLLBACK TO s").unwrap();
    long.execute("COMMIT").unwrap();
    assert_eq!(text(&mut control, "SELECT b FROM t WHERE a = 0"), "first");
}

/// A value of a setting that is not its default, and what SHOW makes of it. None: nobody can set it, or it belongs to a
/// transaction.
fn another(name: &str, folder: &str) -> Option<(String, String)> {
    let same = |value: &str| Some((value.to_owned(), value.to_owned()));
    match name {
        "server_encoding" | "server_version" | "server_version_num" => None,
        name if name.starts_with("transaction_") && name != "transaction_timeout" => None,
        "extra_float_digits" | "standard_conforming_strings" => None,
        "begin_options" => same("no_savepoint"),
        "client_encoding" => same("LATIN1"),
        "bytea_output" => same("escape"),
        "archive_target" => same(folder),
        "application_name" => same("billing"),
        "autovacuum" | "auto_backout" | "colocate" | "default_transaction_savepoints" => same("off"),
        name if name.starts_with("enable_") => same("off"),
        "autovacuum_analyze_scale_factor" => same("0.25"),
        "autovacuum_analyze_threshold" => same("77"),
        "client_min_messages" => same("warning"),
        "commit_logging" => same("batch"),
        "commit_wait" => same("nowait"),
        "datestyle" => Some(("german".to_owned(), "German, DMY".to_owned())),
        "compress"
        | "default_transaction_deferrable"
        | "default_transaction_read_only"
        | "quote_all_identifiers"
        | "statement_statistics" => same("on"),
        "default_text_search_config" => Some(("simple".to_owned(), "pg_catalog.simple".to_owned())),
        "default_transaction_isolation" => same("serializable"),
        "executor" => same("vector"),
        "plan_cache_mode" => same("force_generic_plan"),
        "intervalstyle" => same("iso_8601"),
        "long_tx_action" => same("cancel"),
        "scram_iterations" => same("5000"),
        "max_parallel_workers" | "parallel_workers" | "lru_min_dirty" | "pdq_priority" => same("3"),
        "lru_max_dirty" | "max_pdq_priority" | "sweep_interval" => same("77"),
        "auto_readahead" => same("1,77"),
        "row_security" | "stmt_cache" => same("off"),
        "stmt_cache_size" => same("77"),
        "compute_query_id" => same("regress"),
        "pg_stat_statements.max" => same("777"),
        "pg_stat_statements.track" => same("all"),
        "pg_stat_statements.track_planning" => same("on"),
        "pg_stat_statements.track_utility" => same("off"),
        "gc_policy" => same("combined"),
        "log_plans" => same("analyze"),
        "log_error_verbosity" => same("terse"),
        "log_min_error_statement" | "log_min_messages" => same("log"),
        "log_statement" => same("mod"),
        "procedure_commit" => same("wait"),
        "search_path" => same("pg_catalog, public"),
        "synchronous_commit" => same("off"),
        "timezone" => same("Europe/Berlin"),
        "verso_rules_off" => same("all"),
        name if name.ends_with("_timeout")
            || name == "autovacuum_naptime"
            || ["checkpoint_interval", "compress_delay", "version_retention", "max_snapshot_age"]
                .contains(&name) =>
        {
            same("7min")
        }
        "log_min_duration_statement" => same("7min"),
        _ => same("96MB"),
    }
}

#[test]
fn every_setting_is_the_same_by_alter_system_in_the_configuration_and_in_show() {
    let directory = tempfile::tempdir().unwrap();
    let archive = directory.path().join("archive");
    std::fs::create_dir(&archive).unwrap();
    let folder = archive.display().to_string();
    let path = directory.path().join("test.verso");
    Database::create(&path, Options::new()).unwrap().close().unwrap();
    let (mut tried, mut wrong) = (0, Vec::new());
    let names: Vec<&str> = versodb::SETTINGS.iter().map(|(name, _)| *name).collect();
    for name in &names {
        let Some((value, shown)) = another(name, &folder) else {
            let database = Database::open(&path, Options::new()).unwrap();
            let mut connection = database.connect().unwrap();
            // Some take the value that they have.
            let fixed = !["extra_float_digits", "standard_conforming_strings"].contains(name);
            if fixed {
                let refused = code(&mut connection, &format!("ALTER SYSTEM SET {name} = '1'"));
                assert!(["55P02", "42704"].contains(&&*refused), "{name}: {refused}");
            }
            drop(connection);
            database.close().unwrap();
            continue;
        };
        tried += 1;
        let show = format!("SHOW {name}");
        // The configuration says it.
        let configured = Options::new().defaults(vec![((*name).to_owned(), value.clone())]);
        let database = Database::open(&path, configured).unwrap();
        let found = text(&mut database.connect().unwrap(), &show);
        if found != shown {
            wrong.push(format!("{name} of the configuration: {found}, not {shown}"));
        }
        database.close().unwrap();
        let database = Database::open(&path, Options::new()).unwrap();
        let usual = text(&mut database.connect().unwrap(), &show);
        assert_ne!(usual, shown, "{name} needs a value that is not its default");
        let listed = format!("SELECT setting FROM pg_settings WHERE lower(name) = '{name}'");
        let listed_usual = text(&mut database.connect().unwrap(), &listed);
        let unit = format!("SELECT coalesce(unit, '') FROM pg_settings WHERE lower(name) = '{name}'");
        let has_unit = !text(&mut database.connect().unwrap(), &unit).is_empty();
        // ALTER SYSTEM says it, to this database and when it is opened again, whatever the configuration says.
        let list = value.replace(", ", "', '");
        database.connect().unwrap().execute(&format!("ALTER SYSTEM SET {name} = '{list}'")).unwrap();
        let found = text(&mut database.connect().unwrap(), &show);
        if found != shown {
            wrong.push(format!("{name} by ALTER SYSTEM: {found}, not {shown}"));
        }
        // With a unit it is a number of these, which SHOW writes otherwise.
        let found = text(&mut database.connect().unwrap(), &listed);
        if found == listed_usual || (found != shown && !has_unit) {
            wrong.push(format!("{name} in pg_settings: {found}, not {shown}"));
        }
        database.close().unwrap();
        let configured = Options::new().defaults(vec![((*name).to_owned(), usual.clone())]);
        let database = Database::open(&path, configured).unwrap();
        let found = text(&mut database.connect().unwrap(), &show);
        if found != shown {
            wrong.push(format!("{name} kept: {found}, not {shown}"));
        }
        database.connect().unwrap().execute(&format!("ALTER SYSTEM RESET {name}")).unwrap();
        let found = text(&mut database.connect().unwrap(), &show);
        if found != usual {
            wrong.push(format!("{name} reset: {found}, not {usual}"));
        }
        database.close().unwrap();
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(tried > 40, "{tried}");
}
