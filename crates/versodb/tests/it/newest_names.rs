//! Statements under a snapshot that look names up as they are now: LOCK TABLE, COMMENT, GRANT and REVOKE, and what drops or renames a
//! definition that others have left alone. What the transaction reads stays what its snapshot has.

use versodb::{Connection, Database};

use crate::new_database;

const OBJECTS: &str = "
    CREATE TABLE t (a int PRIMARY KEY, b text);
    CREATE TABLE u (a int);
    INSERT INTO t VALUES (1, 'x');
    INSERT INTO u VALUES (1);
    CREATE FUNCTION tf() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE SCHEMA s;
    CREATE TABLE s.x (a int);
    CREATE VIEW s.v AS SELECT * FROM u;
    CREATE ROLE one;
    CREATE ROLE two";

const LEVELS: [&str; 2] = ["REPEATABLE READ", "SERIALIZABLE"];

/// A transaction of this level with a snapshot, behind which another session has run `change`.
fn behind(database: &Database, level: &str, change: &str) -> (Connection, Connection) {
    let (mut one, mut two) = (database.connect().unwrap(), database.connect().unwrap());
    one.execute(&format!("BEGIN ISOLATION LEVEL {level}")).unwrap();
    assert_eq!(text(&mut one, "SELECT count(*) FROM u"), "1");
    two.execute(change).unwrap();
    (one, two)
}

fn text(connection: &mut Connection, query: &str) -> String {
    connection.query(query).unwrap().into_rows()[0].text(0)
}

fn sqlstate(connection: &mut Connection, statement: &str) -> String {
    connection.execute(statement).map_or_else(|error| error.sqlstate.to_string(), |_| String::new())
}

#[test]
fn tables_are_locked_by_the_names_that_they_have_now() {
    let changes = [
        ("ALTER TABLE t ADD COLUMN c int DEFAULT 5", ""),
        ("ALTER TABLE t ADD CHECK (a > 0)", ""),
        ("ALTER TABLE t ALTER b SET DEFAULT 'y'", ""),
        ("ALTER TABLE t ALTER a TYPE bigint", ""),
        ("ALTER TABLE t RENAME b TO c", ""),
        ("CREATE TRIGGER w BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION tf()", ""),
        ("CREATE UNIQUE INDEX ON t (b)", ""),
        ("TRUNCATE t", ""),
        ("CREATE TABLE w (a int)", ""),
        ("ALTER TABLE t RENAME TO w", "42P01"),
        ("ALTER TABLE t SET SCHEMA s", "42P01"),
        ("DROP TABLE t", "42P01"),
    ];
    for level in LEVELS {
        for (change, expected) in changes {
            for mode in ["ACCESS SHARE", "SHARE", "ACCESS EXCLUSIVE"] {
                let (_directory, database) = new_database();
                database.connect().unwrap().execute(OBJECTS).unwrap();
                let (mut one, mut two) = behind(&database, level, change);
                one.execute("SAVEPOINT kept").unwrap();
                let lock = format!("LOCK TABLE t IN {mode} MODE");
                assert_eq!(sqlstate(&mut one, &lock), expected, "{level}: {change}; {lock}");
                if !expected.is_empty() {
                    one.execute("ROLLBACK TO kept").unwrap();
                }
                // What it reads is what its snapshot has, whatever was locked.
                assert_eq!(text(&mut one, "SELECT count(*) FROM t"), "1", "{level}: {change}; {lock}");
                assert_eq!(one.query("SELECT * FROM t").unwrap().columns().len(), 2);
                if expected.is_empty() && mode == "SHARE" {
                    two.execute("SET lock_timeout = '10ms'").unwrap();
                    assert_eq!(sqlstate(&mut two, "DELETE FROM t"), "55P03", "{change}");
                }
                one.execute("COMMIT").unwrap();
            }
        }
    }
}

#[test]
fn a_table_that_was_changed_since_is_not_written_to_behind_its_lock() {
    for level in LEVELS {
        let (_directory, database) = new_database();
        database.connect().unwrap().execute(OBJECTS).unwrap();
        let (mut one, _two) = behind(&database, level, "ALTER TABLE t ADD COLUMN c int DEFAULT 5");
        one.execute("LOCK TABLE t").unwrap();
        assert_eq!(sqlstate(&mut one, "INSERT INTO t VALUES (2, 'y')"), "40001", "{level}");
        one.execute("ROLLBACK").unwrap();
        // A new name, and a table that the snapshot does not know at all.
        let (mut one, _two) = behind(&database, level, "ALTER TABLE t RENAME TO w; CREATE TABLE n (a int)");
        one.execute("LOCK TABLE w, n IN SHARE MODE").unwrap();
        one.execute("DO 'BEGIN LOCK TABLE w; END;'").unwrap();
        assert_eq!(sqlstate(&mut one, "SELECT * FROM n"), "42P01", "{level}");
        one.execute("ROLLBACK").unwrap();
    }
}

#[test]
fn a_lock_ahead_of_the_first_query_leaves_the_snapshot_to_that() {
    let (_directory, database) = new_database();
    let (mut one, mut two) = (database.connect().unwrap(), database.connect().unwrap());
    two.execute(OBJECTS).unwrap();
    one.execute("BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap();
    one.execute("LOCK TABLE t IN ACCESS SHARE MODE").unwrap();
    two.execute("INSERT INTO t VALUES (2, 'y')").unwrap();
    assert_eq!(text(&mut one, "SELECT count(*) FROM t"), "2");
}

#[test]
fn rights_and_comments_come_to_what_there_is_now() {
    let changes = ["CREATE TABLE w (a int)", "ALTER TABLE t ADD COLUMN c int DEFAULT 5", "TRUNCATE t"];
    for level in LEVELS {
        for change in changes {
            let (_directory, database) = new_database();
            database.connect().unwrap().execute(OBJECTS).unwrap();
            let (mut one, mut two) = behind(&database, level, change);
            two.execute("GRANT SELECT ON t TO one").unwrap();
            two.execute("COMMENT ON TABLE t IS 'theirs'").unwrap();
            two.execute("CREATE ROLE three").unwrap();
            for statement in [
                "GRANT INSERT ON t TO two",
                "GRANT UPDATE (b) ON t TO three",
                "GRANT one TO two",
                "REVOKE ALL ON u FROM PUBLIC",
                "GRANT USAGE ON SCHEMA s TO one",
                "ALTER DEFAULT PRIVILEGES IN SCHEMA s GRANT SELECT ON TABLES TO one",
                "COMMENT ON TABLE t IS 'ours'",
                "COMMENT ON SCHEMA s IS 'ours'",
            ] {
                assert_eq!(sqlstate(&mut one, statement), "", "{level}: {change}; {statement}");
                assert_eq!(text(&mut one, "SELECT count(*) FROM t"), "1", "{level}: {change}; {statement}");
            }
            one.execute("COMMIT").unwrap();
            let all = "has_table_privilege('one', 't', 'SELECT'), has_table_privilege('two', 't', 'INSERT'),
                has_column_privilege('three', 't', 'b', 'UPDATE'), pg_has_role('two', 'one', 'USAGE'),
                has_schema_privilege('one', 's', 'USAGE'), obj_description('t'::regclass) = 'ours'";
            assert_eq!(
                text(&mut two, &format!("SELECT ({all})::text")),
                "(t,t,t,t,t,t)",
                "{level}: {change}"
            );
        }
    }
}

#[test]
fn schemas_that_others_have_left_alone_are_dropped_and_renamed() {
    for level in LEVELS {
        for (change, statement, expected) in [
            ("ALTER TABLE t ADD COLUMN c int", "DROP SCHEMA s CASCADE", ""),
            ("ALTER TABLE t ADD COLUMN c int", "ALTER SCHEMA s RENAME TO r", ""),
            ("CREATE TABLE s.y (a int)", "ALTER SCHEMA s RENAME TO r", ""),
            // What others have made there it does not see.
            ("CREATE TABLE s.y (a int)", "DROP SCHEMA s CASCADE", "40001"),
            (
                "CREATE FUNCTION s.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
                "DROP SCHEMA s CASCADE",
                "40001",
            ),
            ("CREATE TYPE s.e AS ENUM ('a')", "DROP SCHEMA s CASCADE", "40001"),
            ("ALTER TABLE s.x ADD COLUMN b int", "DROP SCHEMA s CASCADE", "40001"),
            ("CREATE VIEW w AS SELECT * FROM s.x", "DROP SCHEMA s CASCADE", "40001"),
            ("ALTER SCHEMA s RENAME TO q", "ALTER SCHEMA s RENAME TO r", "40001"),
        ] {
            let (_directory, database) = new_database();
            database.connect().unwrap().execute(OBJECTS).unwrap();
            let (mut one, mut two) = behind(&database, level, change);
            assert_eq!(sqlstate(&mut one, statement), expected, "{level}: {change}; {statement}");
            one.execute("COMMIT").unwrap();
            assert_eq!(text(&mut two, "SELECT count(*) FROM t"), "1");
        }
        let (_directory, database) = new_database();
        database.connect().unwrap().execute(OBJECTS).unwrap();
        let mut one = database.connect().unwrap();
        one.execute("CREATE TEMPORARY TABLE own (a int)").unwrap();
        one.execute(&format!("BEGIN ISOLATION LEVEL {level}; SELECT count(*) FROM u")).unwrap();
        database.connect().unwrap().execute("CREATE TABLE w (a int)").unwrap();
        assert_eq!(sqlstate(&mut one, "DISCARD TEMP"), "", "{level}");
        one.execute("COMMIT").unwrap();
    }
}

#[test]
fn definitions_that_others_have_left_alone_are_changed() {
    const MORE: &str = "
        CREATE TYPE e AS ENUM ('a');
        CREATE DOMAIN d AS int;
        CREATE TYPE k AS (x int);
        CREATE VIEW v AS SELECT a FROM u";
    let replaced = "CREATE OR REPLACE VIEW v AS SELECT a, 1 AS more FROM u";
    let made = [
        "DROP TYPE e",
        "ALTER TYPE e ADD VALUE 'b'",
        "ALTER TYPE e RENAME VALUE 'a' TO 'z'",
        "ALTER TYPE e RENAME TO g",
        "ALTER DOMAIN d SET DEFAULT 3",
        "DROP DOMAIN d",
        "ALTER TYPE k ADD ATTRIBUTE y int",
        "DROP TYPE k",
        "DROP VIEW v",
        replaced,
        "DROP ROLE two",
    ];
    let left_alone = made.map(|statement| ("CREATE TABLE w (a int)", statement, ""));
    let changed = [
        ("CREATE TABLE w (c e)", "DROP TYPE e", "40001"),
        ("CREATE TABLE w (c e[])", "DROP TYPE e", "40001"),
        ("CREATE TABLE w (c e DEFAULT 'a')", "ALTER TYPE e RENAME VALUE 'a' TO 'z'", "40001"),
        ("CREATE VIEW w AS SELECT 'a'::e AS x", "DROP TYPE e CASCADE", "40001"),
        ("ALTER TYPE e ADD VALUE 'b'", "ALTER TYPE e ADD VALUE 'c'", "40001"),
        ("CREATE DOMAIN w AS d", "DROP DOMAIN d", "40001"),
        ("CREATE TABLE w (c d)", "ALTER DOMAIN d ADD CHECK (VALUE > 0)", "40001"),
        ("CREATE TABLE w (c k)", "ALTER TYPE k ADD ATTRIBUTE y int", "40001"),
        ("CREATE VIEW w AS SELECT * FROM v", "DROP VIEW v CASCADE", "40001"),
        ("CREATE OR REPLACE VIEW v AS SELECT a, 2 AS other FROM u", replaced, "40001"),
        ("GRANT SELECT ON t TO two", "DROP ROLE two", "40001"),
        ("GRANT one TO two", "DROP ROLE two", "40001"),
    ];
    for level in LEVELS {
        for (change, statement, expected) in left_alone.into_iter().chain(changed) {
            let (_directory, database) = new_database();
            database.connect().unwrap().execute(&format!("{OBJECTS};{MORE}")).unwrap();
            let (mut one, mut two) = behind(&database, level, change);
            assert_eq!(sqlstate(&mut one, statement), expected, "{level}: {change}; {statement}");
            one.execute("COMMIT").unwrap();
            assert_eq!(text(&mut two, "SELECT count(*) FROM t"), "1", "{level}: {change}; {statement}");
        }
    }
}
