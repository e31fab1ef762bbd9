//! Comments beside sessions that drop what they are on: of every kind of object, in both orders and at both levels. Whatever comes of
//! it, no comment is left whose object is gone.

use crate::held_definitions::beside;
use crate::new_database;

const OBJECTS: &str = "
    CREATE TABLE t (a int PRIMARY KEY, b int CONSTRAINT positive CHECK (b > 0), c int);
    CREATE INDEX i ON t (c);
    CREATE STATISTICS st ON a, b FROM t;
    CREATE VIEW v AS SELECT 1 AS one;
    CREATE SEQUENCE q;
    CREATE TYPE e AS ENUM ('a');
    CREATE TYPE fields AS (x int, y text);
    CREATE DOMAIN d AS int CONSTRAINT small CHECK (VALUE < 10);
    CREATE COLLATION col (provider = icu, locale = 'en');
    CREATE FUNCTION f(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';
    CREATE FUNCTION tf() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
    CREATE FUNCTION same(int, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 = $2';
    CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = same);
    CREATE FUNCTION told_of(fields) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1';
    CREATE CAST (fields AS int) WITH FUNCTION told_of(fields);
    CREATE AGGREGATE ag(int) (SFUNC = int4pl, STYPE = int);
    CREATE TRIGGER tr BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION tf();
    CREATE TRIGGER vtr INSTEAD OF INSERT ON v FOR EACH ROW EXECUTE FUNCTION tf();
    CREATE POLICY p ON t USING (a > 0);
    CREATE SCHEMA beside;
    CREATE ROLE held_role";

/// What a comment is on, and how that goes.
const PAIRS: [(&str, &str); 22] = [
    ("TABLE t", "DROP TABLE t"),
    ("COLUMN t.c", "ALTER TABLE t DROP COLUMN c"),
    ("INDEX i", "DROP INDEX i"),
    ("STATISTICS st", "DROP STATISTICS st"),
    ("CONSTRAINT positive ON t", "ALTER TABLE t DROP CONSTRAINT positive"),
    ("TRIGGER tr ON t", "DROP TRIGGER tr ON t"),
    ("POLICY p ON t", "DROP POLICY p ON t"),
    ("VIEW v", "DROP VIEW v"),
    ("COLUMN v.one", "DROP VIEW v"),
    ("TRIGGER vtr ON v", "DROP TRIGGER vtr ON v"),
    ("SEQUENCE q", "DROP SEQUENCE q"),
    ("TYPE e", "DROP TYPE e"),
    ("COLUMN fields.y", "ALTER TYPE fields DROP ATTRIBUTE y"),
    ("DOMAIN d", "DROP DOMAIN d"),
    ("CONSTRAINT small ON DOMAIN d", "ALTER DOMAIN d DROP CONSTRAINT small"),
    ("COLLATION col", "DROP COLLATION col"),
    ("FUNCTION f(int)", "DROP FUNCTION f(int)"),
    ("AGGREGATE ag(int)", "DROP AGGREGATE ag(int)"),
    ("OPERATOR === (int, int)", "DROP OPERATOR === (int, int)"),
    ("CAST (fields AS int)", "DROP CAST (fields AS int)"),
    ("SCHEMA beside", "DROP SCHEMA beside"),
    ("ROLE held_role", "DROP ROLE held_role"),
];

/// How many of these comments there are.
const LEFT: &str = "
    SELECT (SELECT count(*) FROM pg_description WHERE description LIKE 'said of%')
        + (SELECT count(*) FROM pg_shdescription WHERE description LIKE 'said of%')";

#[test]
fn a_comment_waits_for_what_drops_its_object_and_is_waited_for() {
    let (_directory, database) = new_database();
    let mut control = database.connect().unwrap();
    let mut wrong = Vec::new();
    for (on, drop) in PAIRS {
        for level in ["READ COMMITTED", "REPEATABLE READ"] {
            for comment_first in [true, false] {
                control.execute("CREATE SCHEMA held; SET search_path = held").unwrap();
                control.execute(OBJECTS).unwrap();
                let comment = format!("COMMENT ON {on} IS 'said of what goes'");
                let (first, second) = match comment_first {
                    true => (comment.as_str(), drop),
                    false => (drop, comment.as_str()),
                };
                let session = || {
                    let mut session = database.connect().unwrap();
                    session.execute("SET search_path = held").unwrap();
                    session.execute(&format!("BEGIN ISOLATION LEVEL {level}")).unwrap();
                    session.query("SELECT 1 FROM pg_class LIMIT 1").unwrap();
                    session
                };
                let (mut one, two) = (session(), session());
                one.execute(first).unwrap();
                let later = beside(&database, two, second.to_owned());
                one.execute("COMMIT").unwrap();
                let (mut two, result) = later();
                two.execute(if result.is_ok() { "COMMIT" } else { "ROLLBACK" }).unwrap();
                let round = format!("{first} | {second} ({level}): {result:?}");
                if matches!(&result, Err(state) if state.starts_with("XX")) {
                    wrong.push(round.clone());
                }
                // Where the level did not let it go it goes now, with its comment.
                if comment_first && result.is_err() {
                    control.execute(drop).unwrap();
                }
                let left = control.query(LEFT).unwrap().into_rows()[0].text(0);
                if left != "0" {
                    wrong.push(format!("{round}: {left} left"));
                }
                control.execute("SET search_path = public; DROP SCHEMA held CASCADE").unwrap();
                control.execute("DROP SCHEMA IF EXISTS beside; DROP ROLE IF EXISTS held_role").unwrap();
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
