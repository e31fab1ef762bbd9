//! Only some tables, only definitions, only rows.

use verso_backup::{BackupError, BackupOptions, Event, Job, RestoreOptions};

use crate::world::{answer, archive, database, open, restore};

const SCRIPT: &str = "CREATE SCHEMA s; CREATE TABLE s.a (id serial PRIMARY KEY, v text UNIQUE);
    CREATE TABLE b (id integer PRIMARY KEY, a integer REFERENCES s.a, n integer CHECK (n > 0), q numeric(8,2) DEFAULT 1.5,
      twice integer GENERATED ALWAYS AS (n * 2) STORED);
    INSERT INTO s.a (v) VALUES ('x'), ('y'), ('z'); INSERT INTO b VALUES (1, 2, 3, DEFAULT), (2, NULL, 4, 0.25);
    CREATE VIEW v AS SELECT * FROM b";

fn tables(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn one_table_is_saved_or_restored_with_what_belongs_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let saved = database(&folder.path().join("saved.verso"), SCRIPT);
    let one = BackupOptions { tables: tables(&["s.a"]), ..BackupOptions::default() };
    let chosen = RestoreOptions { tables: tables(&["a"]), ..RestoreOptions::default() };
    let (all, only) = (archive(&saved, &BackupOptions::default()), archive(&saved, &one));
    for (name, bytes, options) in [("1", &only, RestoreOptions::default()), ("2", &all, chosen)] {
        let path = folder.path().join(name);
        restore(bytes, &path, &options).unwrap();
        let copy = open(&path);
        let mut connection = copy.connect().unwrap();
        connection.execute("INSERT INTO s.a (v) VALUES ('new')").unwrap();
        assert_eq!(answer(&mut connection, "SELECT id, v FROM s.a ORDER BY id"), "1|x\n2|y\n3|z\n4|new");
        assert_eq!(connection.query("SELECT * FROM b").unwrap_err().sqlstate, "42P01");
        assert_eq!(connection.execute("INSERT INTO s.a (v) VALUES ('x')").unwrap_err().sqlstate, "23505");
    }
    let missing = BackupOptions { tables: tables(&["s.b"]), ..BackupOptions::default() };
    let error = verso_backup::backup(&saved, std::io::sink(), &missing, &Default::default()).unwrap_err();
    assert_eq!(error.to_string(), "there is no table s.b");
    let missing = RestoreOptions { tables: tables(&["c"]), ..RestoreOptions::default() };
    let error = restore(&all, &folder.path().join("3"), &missing).unwrap_err();
    assert_eq!(error.to_string(), "the archive has no table c");
}

#[test]
fn types_that_chosen_tables_need_keep_their_comments() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TYPE mood AS ENUM ('sad'); CREATE TYPE other AS ENUM ('x'); CREATE DOMAIN few AS integer CONSTRAINT small CHECK (VALUE < 9);
        CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
        CREATE TABLE t (m mood, n few, w text COLLATE blind); INSERT INTO t VALUES ('sad', 1, 'w');
        COMMENT ON TYPE mood IS 'moods'; COMMENT ON TYPE other IS 'others'; COMMENT ON DOMAIN few IS 'little'; COMMENT ON CONSTRAINT small ON DOMAIN few IS 'below 9';
        COMMENT ON COLLATION blind IS 'any case'; COMMENT ON SCHEMA public IS 'changed'";
    let saved = database(&folder.path().join("saved.verso"), script);
    let bytes = archive(&saved, &BackupOptions { tables: tables(&["t"]), ..BackupOptions::default() });
    let path = folder.path().join("copy.verso");
    restore(&bytes, &path, &RestoreOptions::default()).unwrap();
    let comments =
        "SELECT description FROM pg_description WHERE objoid >= 16384 ORDER BY description COLLATE \"C\"";
    assert_eq!(answer(&mut open(&path).connect().unwrap(), comments), "any case\nbelow 9\nlittle\nmoods");
}

#[test]
fn definitions_come_without_rows_and_rows_without_definitions() {
    let folder = tempfile::tempdir().unwrap();
    let saved = database(&folder.path().join("saved.verso"), SCRIPT);
    let shapes = archive(&saved, &BackupOptions { data: false, ..BackupOptions::default() });
    let rows = archive(&saved, &BackupOptions { schema: false, ..BackupOptions::default() });
    let path = folder.path().join("copy.verso");
    restore(&shapes, &path, &RestoreOptions::default()).unwrap();
    let count = "SELECT (SELECT count(*) FROM s.a), (SELECT count(*) FROM b), (SELECT count(*) FROM v)";
    assert_eq!(answer(&mut open(&path).connect().unwrap(), count), "0|0|0");
    let only_rows = RestoreOptions { schema: false, ..RestoreOptions::default() };
    let a = RestoreOptions { tables: tables(&["s.a"]), ..only_rows.clone() };
    let b = RestoreOptions { tables: tables(&["b"]), ..only_rows.clone() };
    let error = restore(&rows, &path, &b).unwrap_err();
    assert!(matches!(&error, BackupError::Statement { error, .. } if error.sqlstate == "23503"), "{error}");
    assert_eq!(answer(&mut open(&path).connect().unwrap(), count), "0|0|0", "nothing or everything");
    // By its name b would be first.
    restore(&rows, &path, &only_rows).unwrap();
    let copy = open(&path);
    let mut connection = copy.connect().unwrap();
    assert_eq!(answer(&mut connection, count), "3|2|2");
    connection.execute("INSERT INTO s.a (v) VALUES ('new')").unwrap();
    assert_eq!(answer(&mut connection, "SELECT max(id) FROM s.a"), "4", "the sequence went along");
    drop(connection);
    copy.close().unwrap();
    let twice = restore(&rows, &path, &a).unwrap_err();
    assert!(matches!(&twice, BackupError::Statement { error, .. } if error.sqlstate == "23505"), "{twice}");
    let error = restore(&rows, &folder.path().join("none.verso"), &only_rows).unwrap_err();
    assert!(error.to_string().contains("does not exist"), "{error}");
}

/// Rows come in behind those that they reference, whatever the order of the archive.
#[test]
fn rows_alone_come_in_the_order_of_foreign_keys() {
    let folder = tempfile::tempdir().unwrap();
    // Large tables stand first in an archive: here the last of the chain, whose names say the opposite, too.
    let script = "CREATE TABLE a4 (id integer PRIMARY KEY); CREATE TABLE a3 (id integer PRIMARY KEY, up integer REFERENCES a4);
        CREATE TABLE a2 (id integer PRIMARY KEY, up integer REFERENCES a3) PARTITION BY RANGE (id);
        CREATE TABLE a2_low PARTITION OF a2 FOR VALUES FROM (0) TO (1000); CREATE TABLE a2_high PARTITION OF a2 FOR VALUES FROM (1000) TO (100000);
        CREATE TABLE a1 (id integer PRIMARY KEY, up integer REFERENCES a2, own integer REFERENCES a1, pad text);
        CREATE TABLE a0 (id integer, CONSTRAINT late FOREIGN KEY (id) REFERENCES a1 DEFERRABLE INITIALLY DEFERRED);
        ALTER TABLE a4 ADD later integer; ALTER TABLE a4 ADD FOREIGN KEY (later) REFERENCES a1 DEFERRABLE INITIALLY DEFERRED;
        INSERT INTO a4 SELECT n FROM generate_series(1, 10) n; INSERT INTO a3 SELECT n, n % 10 + 1 FROM generate_series(1, 100) n;
        INSERT INTO a2 SELECT n, n % 100 + 1 FROM generate_series(1, 3000) n;
        INSERT INTO a1 SELECT n, n % 3000 + 1, NULL, repeat('x', 200) FROM generate_series(1, 6000) n; INSERT INTO a0 SELECT n FROM generate_series(1, 6000) n; UPDATE a4 SET later = id";
    let saved = database(&folder.path().join("saved.verso"), script);
    for workers in [1, 4] {
        let path = folder.path().join(format!("copy{workers}.verso"));
        let shapes = archive(&saved, &BackupOptions { data: false, ..BackupOptions::default() });
        let rows = archive(&saved, &BackupOptions { schema: false, workers, ..BackupOptions::default() });
        restore(&shapes, &path, &RestoreOptions::default()).unwrap();
        let report =
            restore(&rows, &path, &RestoreOptions { schema: false, ..RestoreOptions::default() }).unwrap();
        assert_eq!(report.rows, 10 + 100 + 3000 + 6000 + 6000);
        let sums = "SELECT (SELECT sum(id) FROM a1), (SELECT sum(up) FROM a2), (SELECT sum(up) FROM a3), (SELECT sum(later) FROM a4), (SELECT count(*) FROM a0)";
        let expected = answer(&mut saved.connect().unwrap(), sums);
        assert_eq!(answer(&mut open(&path).connect().unwrap(), sums), expected);
        let left = std::fs::read_dir(folder.path()).unwrap().filter(|entry| {
            entry.as_ref().is_ok_and(|entry| entry.file_name().to_string_lossy().ends_with(".restoring"))
        });
        assert_eq!(left.count(), 0);
    }
}

/// The notices of a restore.
fn told(
    bytes: &[u8],
    path: &std::path::Path,
    options: &RestoreOptions,
) -> (Result<(), BackupError>, Vec<String>) {
    let notices = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let kept = std::sync::Arc::clone(&notices);
    let job = std::sync::Arc::new(Job::new(move |event| {
        if let Event::Notice(text) = event {
            kept.lock().unwrap().push((*text).to_owned());
        }
    }));
    let input = Box::new(std::io::Cursor::new(bytes.to_vec()));
    let done = verso_backup::restore(input, path, options, &job).map(drop);
    let notices = notices.lock().unwrap().clone();
    (done, notices)
}

/// Foreign keys of a table that is restored alone are made where the other table is there, and told where it is not.
#[test]
fn foreign_keys_of_one_table_are_made_or_told() {
    let folder = tempfile::tempdir().unwrap();
    let saved_at = folder.path().join("saved.verso");
    let saved = database(&saved_at, SCRIPT);
    saved.connect().unwrap().execute("COMMENT ON CONSTRAINT b_a_fkey ON b IS 'to s.a'").unwrap();
    let b = RestoreOptions { tables: tables(&["b"]), ..RestoreOptions::default() };
    let whole = archive(&saved, &BackupOptions::default());
    let part = archive(&saved, &BackupOptions { tables: tables(&["b"]), ..BackupOptions::default() });
    let keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'f'";
    let mut script = Vec::new();
    let only = BackupOptions { tables: tables(&["b"]), ..BackupOptions::default() };
    verso_backup::script(&saved, &mut script, &only, &Default::default()).unwrap();
    let script = String::from_utf8(script).unwrap();
    assert!(
        script.contains("to_regclass('s.a') IS NULL") && script.contains("REFERENCES s.a(id)"),
        "{script}"
    );
    saved.connect().unwrap().execute("DROP TABLE b CASCADE").unwrap();
    saved.close().unwrap();
    let told_of = ["foreign key b_a_fkey of public.b is left out: table s.a is not there"];
    for (at, bytes) in [("1", &whole), ("2", &part)] {
        // A new database has no s.a.
        let (done, notices) = told(bytes, &folder.path().join(at), &b);
        done.unwrap();
        assert_eq!(notices, told_of);
        // One that is there has it.
        let (done, notices) = told(bytes, &saved_at, &b);
        done.unwrap();
        assert_eq!(notices, Vec::<String>::new());
        let saved = open(&saved_at);
        let mut connection = saved.connect().unwrap();
        assert_eq!(answer(&mut connection, keys), "1");
        assert_eq!(connection.execute("INSERT INTO b VALUES (7, 99, 1)").unwrap_err().sqlstate, "23503");
        connection.execute("DROP TABLE b; DELETE FROM s.a WHERE id = 2").unwrap();
        drop(connection);
        saved.close().unwrap();
        // It is checked.
        let (done, _) = told(bytes, &saved_at, &b);
        assert!(done.unwrap_err().to_string().contains("violates foreign key constraint"));
        let saved = open(&saved_at);
        let mut connection = saved.connect().unwrap();
        assert_eq!(answer(&mut connection, keys), "0", "nothing or everything");
        connection.execute("INSERT INTO s.a VALUES (2, 'y')").unwrap();
        drop(connection);
        saved.close().unwrap();
    }
    let (done, notices) = told(&part, &folder.path().join("3"), &RestoreOptions::default());
    done.unwrap();
    assert_eq!(notices, told_of);
    let (done, notices) = told(&whole, &folder.path().join("4"), &RestoreOptions::default());
    done.unwrap();
    assert_eq!(notices, Vec::<String>::new());
}

#[test]
fn a_table_is_restored_into_a_database_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.verso");
    let saved = database(&path, SCRIPT);
    let bytes = archive(&saved, &BackupOptions::default());
    saved.connect().unwrap().execute("DROP TABLE b CASCADE; INSERT INTO s.a (v) VALUES ('later')").unwrap();
    saved.close().unwrap();
    let b = RestoreOptions { tables: tables(&["b"]), ..RestoreOptions::default() };
    restore(&bytes, &path, &b).unwrap();
    let saved = open(&path);
    let mut connection = saved.connect().unwrap();
    assert_eq!(answer(&mut connection, "SELECT * FROM b ORDER BY id"), "1|2|3|1.50|6\n2||4|0.25|8");
    assert_eq!(connection.execute("INSERT INTO b VALUES (1, 1, 1)").unwrap_err().sqlstate, "23505");
    assert_eq!(answer(&mut connection, "SELECT count(*) FROM s.a"), "4");
    drop(connection);
    saved.close().unwrap();
    let error = restore(&bytes, &path, &b).unwrap_err();
    assert!(error.to_string().contains("already exists"), "{error}");
}

#[test]
fn a_partition_is_restored_alone_or_with_the_whole() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE p (id integer PRIMARY KEY, v text CHECK (v <> '')) PARTITION BY RANGE (id);
        CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10); CREATE TABLE p2 PARTITION OF p DEFAULT;
        CREATE INDEX p_v ON p (v); INSERT INTO p SELECT n, 'v' || n FROM generate_series(5, 15) AS s(n)";
    let all = archive(&database(&folder.path().join("saved.verso"), script), &BackupOptions::default());
    let alone = RestoreOptions { tables: tables(&["p1"]), ..RestoreOptions::default() };
    let path = folder.path().join("1");
    restore(&all, &path, &alone).unwrap();
    let copy = open(&path);
    let mut connection = copy.connect().unwrap();
    assert_eq!(answer(&mut connection, "SELECT count(*), min(id), max(v) FROM p1"), "5|5|v9");
    for (sql, sqlstate) in [
        ("INSERT INTO p1 VALUES (5, 'x')", "23505"),
        ("INSERT INTO p1 VALUES (6, '')", "23514"),
        ("SELECT * FROM p", "42P01"),
    ] {
        assert_eq!(connection.execute(sql).unwrap_err().sqlstate, sqlstate, "{sql}");
    }
    assert_eq!(connection.execute("INSERT INTO p1 VALUES (77, 'x')").unwrap(), 1, "it is no partition");
    let some = RestoreOptions { tables: tables(&["p", "p1"]), ..RestoreOptions::default() };
    let path = folder.path().join("2");
    restore(&all, &path, &some).unwrap();
    let copy = open(&path);
    let mut connection = copy.connect().unwrap();
    assert_eq!(answer(&mut connection, "SELECT count(*), max(tableoid)::regclass FROM p"), "5|p1");
    assert_eq!(connection.execute("INSERT INTO p VALUES (77, 'x')").unwrap_err().sqlstate, "23514");
    let parts =
        "SELECT count(*) FROM pg_inherits WHERE inhrelid::regclass::text IN ('p1', 'p1_pkey', 'p1_v_idx')";
    assert_eq!(answer(&mut connection, parts), "3");
}

#[test]
fn a_table_is_restored_without_the_roles_and_the_schemas_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE ROLE bob; CREATE SCHEMA his AUTHORIZATION bob; CREATE SCHEMA other AUTHORIZATION bob; CREATE SCHEMA \"T y\";
        ALTER SCHEMA public OWNER TO bob; CREATE TYPE \"T y\".mood AS ENUM ('sad');
        CREATE TABLE his.a (id integer, m \"T y\".mood); INSERT INTO his.a VALUES (1, 'sad');
        CREATE TABLE other.b (id integer); CREATE TABLE c (id integer); INSERT INTO c VALUES (2)";
    let saved = database(&folder.path().join("saved.verso"), script);
    let all = archive(&saved, &BackupOptions::default());
    let few = archive(&saved, &BackupOptions { tables: tables(&["his.a"]), ..BackupOptions::default() });
    let chosen = RestoreOptions { tables: tables(&["his.a"]), ..RestoreOptions::default() };
    let schemas = "SELECT string_agg(nspname, ' ' ORDER BY nspname) FROM pg_namespace WHERE nspname IN ('his', 'other', 'T y', 'public')";
    for (name, bytes, options) in [("1", &few, RestoreOptions::default()), ("2", &all, chosen.clone())] {
        let path = folder.path().join(name);
        restore(bytes, &path, &options).unwrap();
        let copy = open(&path);
        let mut connection = copy.connect().unwrap();
        assert_eq!(answer(&mut connection, "SELECT * FROM his.a"), "1|sad");
        assert!(!answer(&mut connection, schemas).contains("other"));
    }
    // Into a database that is there.
    let path = folder.path().join("3");
    let made = "CREATE SCHEMA \"T y\"; CREATE TYPE \"T y\".mood AS ENUM ('sad')";
    database(&path, made).close().unwrap();
    restore(&all, &path, &chosen).unwrap();
    restore(&all, &path, &RestoreOptions { tables: tables(&["c"]), ..RestoreOptions::default() }).unwrap();
    let copy = open(&path);
    let mut connection = copy.connect().unwrap();
    assert_eq!(answer(&mut connection, "SELECT a.id, c.id FROM his.a, c"), "1|2");
    assert!(!answer(&mut connection, schemas).contains("other"));
}

#[test]
fn rows_of_tables_without_columns_go_into_a_database_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE z (); INSERT INTO z DEFAULT VALUES; INSERT INTO z DEFAULT VALUES;
        CREATE TABLE g (a integer GENERATED ALWAYS AS (1 + 1) STORED); INSERT INTO g DEFAULT VALUES";
    let all = archive(&database(&folder.path().join("saved.verso"), script), &BackupOptions::default());
    let path = folder.path().join("copy.verso");
    let z = RestoreOptions { tables: tables(&["z"]), ..RestoreOptions::default() };
    restore(&all, &path, &z).unwrap();
    restore(&all, &path, &RestoreOptions { schema: false, ..z }).unwrap();
    restore(&all, &path, &RestoreOptions { tables: tables(&["g"]), ..RestoreOptions::default() }).unwrap();
    let copy = open(&path);
    let mut connection = copy.connect().unwrap();
    assert_eq!(answer(&mut connection, "SELECT count(*), (SELECT a FROM g) FROM z"), "4|2");
}

#[test]
fn partitions_with_numbers_of_their_own_are_restored() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE i (a integer, b integer GENERATED ALWAYS AS IDENTITY) PARTITION BY LIST (a);
        CREATE TABLE i1 PARTITION OF i FOR VALUES IN (1); CREATE TABLE i2 (b integer NOT NULL, a integer);
        ALTER TABLE i ATTACH PARTITION i2 FOR VALUES IN (2); INSERT INTO i (a) VALUES (1), (2), (1);
        ALTER TABLE i ALTER b SET STATISTICS 7";
    let saved = database(&folder.path().join("saved.verso"), script);
    let all = archive(&saved, &BackupOptions::default());
    let path = folder.path().join("copy.verso");
    restore(&all, &path, &RestoreOptions::default()).unwrap();
    let copy = open(&path);
    let mut connection = copy.connect().unwrap();
    connection.execute("INSERT INTO i (a) VALUES (2); INSERT INTO i1 (a) VALUES (1)").unwrap();
    assert_eq!(answer(&mut connection, "SELECT a, b FROM i ORDER BY b"), "1|1\n2|2\n1|3\n2|4\n1|5");
    let kinds = "SELECT string_agg(attidentity, '') FROM pg_attribute WHERE attname = 'b' AND attrelid::regclass::text IN ('i', 'i1', 'i2')";
    assert_eq!(answer(&mut connection, kinds), "aaa");
    // Alone it is a table like others.
    let path = folder.path().join("alone.verso");
    restore(&all, &path, &RestoreOptions { tables: tables(&["i2"]), ..RestoreOptions::default() }).unwrap();
    let copy = open(&path);
    assert_eq!(answer(&mut copy.connect().unwrap(), "SELECT a, b FROM i2"), "2|2");
}

#[test]
fn a_restore_that_goes_on_leaves_out_what_fails() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE FUNCTION twice(n integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 2 * n; END';
        CREATE TABLE t (id integer PRIMARY KEY, n integer); INSERT INTO t SELECT n, n FROM generate_series(1, 100) n;
        CREATE TABLE u (id integer PRIMARY KEY); INSERT INTO u VALUES (1);
        CREATE MATERIALIZED VIEW m AS SELECT twice(n) AS n FROM t; COMMENT ON MATERIALIZED VIEW m IS 'doubles';
        CREATE VIEW v AS SELECT count(*) AS n FROM t; CREATE INDEX ON t (n);
        CREATE OR REPLACE FUNCTION twice(n integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RAISE ''too much''; END'";
    let saved = database(&folder.path().join("saved.verso"), script);
    let bytes = archive(&saved, &BackupOptions::default());
    let path = folder.path().join("copy.verso");
    let error = restore(&bytes, &path, &RestoreOptions::default()).unwrap_err();
    assert!(error.to_string().contains("too much"), "{error}");
    assert!(!path.exists());
    let goes_on = RestoreOptions { goes_on: true, ..RestoreOptions::default() };
    let report = restore(&bytes, &path, &goes_on).unwrap();
    assert_eq!((report.tables, report.rows), (2, 101));
    // The view, and what is said of it.
    assert_eq!(report.failed.len(), 2, "{:?}", report.failed);
    assert!(
        report.failed[0].contains("too much") && report.failed[0].contains("MATERIALIZED VIEW"),
        "{:?}",
        report.failed
    );
    assert!(report.failed[1].contains("COMMENT"), "{:?}", report.failed);
    let copy = open(&path);
    let mut connection = copy.connect().unwrap();
    assert_eq!(answer(&mut connection, "SELECT n FROM v"), "100");
    assert_eq!(connection.query("SELECT * FROM m").unwrap_err().sqlstate, "42P01");
    drop(connection);
    copy.close().unwrap();
}

#[test]
fn into_a_database_that_is_there_a_restore_goes_on_without_what_fails() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE t (id integer PRIMARY KEY, n integer CHECK (n > 0));
        INSERT INTO t SELECT n, n FROM generate_series(1, 3000) n;
        CREATE TABLE u (id integer PRIMARY KEY, t integer REFERENCES t); INSERT INTO u VALUES (1, 1), (2, 2);
        CREATE INDEX u_t ON u (t)";
    let saved = database(&folder.path().join("saved.verso"), script);
    let bytes = archive(&saved, &BackupOptions::default());
    let path = folder.path().join("other.verso");
    let other = "CREATE TABLE t (id integer PRIMARY KEY, n integer CHECK (n <> 7)); INSERT INTO t VALUES (5, 1), (2999, 1)";
    database(&path, other).close().unwrap();
    let rows = RestoreOptions { schema: false, tables: tables(&["t"]), ..RestoreOptions::default() };
    let error = restore(&bytes, &path, &rows).unwrap_err();
    assert!(error.to_string().contains("t_pkey") || error.to_string().contains("t_n_check"), "{error}");
    let report = restore(&bytes, &path, &RestoreOptions { goes_on: true, ..rows }).unwrap();
    assert_eq!((report.tables, report.rows), (1, 2997));
    assert_eq!(report.failed.len(), 1, "{:?}", report.failed);
    assert!(report.failed[0].starts_with("3 rows of public.t: "), "{:?}", report.failed);
    let copy = open(&path);
    let mut connection = copy.connect().unwrap();
    let kept =
        "SELECT count(*), sum(n) FILTER (WHERE id IN (5, 2999)), count(*) FILTER (WHERE id = 7) FROM t";
    assert_eq!(answer(&mut connection, kept), "2999|2|0");
    connection.execute("DELETE FROM t WHERE id = 2").unwrap();
    drop(connection);
    copy.close().unwrap();
    // A statement that fails leaves out no more than itself: the foreign key of a row that has nothing to reference.
    let chosen = RestoreOptions { tables: tables(&["u"]), ..RestoreOptions::default() };
    assert!(restore(&bytes, &path, &chosen).unwrap_err().to_string().contains("u_t_fkey"));
    let report = restore(&bytes, &path, &RestoreOptions { goes_on: true, ..chosen }).unwrap();
    assert_eq!((report.tables, report.rows), (1, 2));
    assert!(report.failed.len() == 1 && report.failed[0].contains("u_t_fkey"), "{:?}", report.failed);
    let copy = open(&path);
    let mut connection = copy.connect().unwrap();
    assert_eq!(answer(&mut connection, "SELECT count(*) FROM u"), "2");
    let indexes = "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind = 'i' AND relname LIKE 'u%'";
    assert_eq!(answer(&mut connection, indexes), "u_pkey u_t");
}
