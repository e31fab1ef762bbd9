//! RAISE: which messages a client hears, when, and how often.

use std::sync::mpsc;

use verso_session::{CommandTag, Notice, OutputColumn, SqlError, StatementSink};
use verso_types::Batch;

use crate::World;

/// Says at once what it hears.
struct Ear(mpsc::Sender<String>);

impl StatementSink for Ear {
    fn begin(&mut self, _: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn batch(&mut self, _: &Batch) -> Result<(), SqlError> {
        Ok(())
    }

    fn complete(&mut self, tag: &CommandTag) -> Result<(), SqlError> {
        let _ = self.0.send(tag.text.clone());
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        let _ = self.0.send(notice.message.clone());
        Ok(())
    }
}

/// Refuses every message.
struct Deaf;

impl StatementSink for Deaf {
    fn begin(&mut self, _: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn batch(&mut self, _: &Batch) -> Result<(), SqlError> {
        Ok(())
    }

    fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, _: &Notice) -> Result<(), SqlError> {
        Err(SqlError::new("08006", "connection to client lost"))
    }
}

#[test]
fn a_client_hears_of_a_statement_that_still_runs() {
    let world = World::new();
    let mut holder = world.connect();
    holder.run(
        "CREATE TABLE t (a int);
         CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  raise notice 'trigger %', new.a;
  perform pg_advisory_xact_lock(new.a);
  return new;
end $$;
         CREATE TRIGGER wait BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION wait();
         CREATE FUNCTION say(n int) RETURNS int LANGUAGE plpgsql AS $$
begin
  raise notice 'function %', n;
  perform pg_advisory_xact_lock(n);
  return n;
end $$",
    );
    for (sql, said) in [
        ("DO $$ BEGIN RAISE NOTICE 'block'; PERFORM pg_advisory_xact_lock(1); END $$", "block"),
        ("INSERT INTO t VALUES (1)", "trigger 1"),
        ("SELECT say(1) ORDER BY 1", "function 1"),
        ("WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT * FROM x", "trigger 1"),
    ] {
        holder.run("SELECT pg_advisory_lock(1)");
        let (send, hear) = mpsc::channel();
        std::thread::scope(|scope| {
            let mut other = world.connect();
            let ran = scope.spawn(move || other.session.execute(sql, &[], &mut Ear(send)));
            // The statement waits for the lock, and would for ever.
            assert_eq!(hear.recv().as_deref(), Ok(said), "{sql}");
            holder.run("SELECT pg_advisory_unlock(1)");
            ran.join().expect("no panic").expect(sql);
        });
        assert_eq!(hear.iter().count(), 1, "{sql}: only its tag is left");
    }
}

#[test]
fn a_statement_that_runs_again_repeats_no_message() {
    let world = World::new();
    let mut first = world.connect();
    first.run(
        "CREATE TABLE t (a int PRIMARY KEY, n int); INSERT INTO t VALUES (1, 0); CREATE SEQUENCE runs;
         CREATE FUNCTION seen(a int) RETURNS bool LANGUAGE plpgsql AS $$
begin
  raise notice 'seen';
  return true;
end $$",
    );
    first.run("BEGIN; UPDATE t SET n = n + 1 WHERE a = 1");
    let (send, hear) = mpsc::channel();
    std::thread::scope(|scope| {
        let mut second = world.connect();
        let ran = scope.spawn(move || {
            let block = "DO $$ BEGIN
  PERFORM nextval('runs');
  RAISE NOTICE 'before';
  UPDATE t SET n = t.n + s.n FROM (SELECT sum(n) + 1 AS n FROM t) s WHERE seen(a);
  RAISE NOTICE 'after';
END $$";
            // In a transaction, so that the whole block is run again and not its UPDATE alone.
            second.session.execute("BEGIN", &[], &mut Ear(mpsc::channel().0))?;
            second.session.execute(block, &[], &mut Ear(send))?;
            second.session.execute("COMMIT", &[], &mut Ear(mpsc::channel().0))
        });
        // Its UPDATE has begun before the other one is committed, and meets a newer row.
        assert_eq!(hear.recv().as_deref(), Ok("before"));
        assert_eq!(hear.recv().as_deref(), Ok("seen"));
        first.run("COMMIT");
        ran.join().expect("no panic").expect("it runs again");
    });
    let heard: Vec<String> = hear.iter().filter(|text| text != "seen").collect();
    assert_eq!(heard, ["after", "DO"]);
    assert_ne!(first.value("SELECT last_value FROM runs"), "1", "it has run again");
    assert_eq!(first.value("SELECT n FROM t"), "3");
}

#[test]
fn no_handler_of_a_function_catches_that_its_client_is_gone() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int)");
    let block = "DO $$ BEGIN
  BEGIN
    RAISE NOTICE 'hello';
  EXCEPTION WHEN OTHERS THEN
    INSERT INTO t VALUES (1);
  END;
END $$";
    let error = client.session.execute(block, &[], &mut Deaf).expect_err("the sink fails");
    assert_eq!((error.sqlstate, &*error.message), ("08006", "connection to client lost"));
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
}

#[test]
fn client_min_messages_says_which_messages_are_sent() {
    let world = World::new();
    let mut client = world.connect();
    let block = "DO $$ BEGIN
  RAISE DEBUG 'd'; RAISE LOG 'l'; RAISE INFO 'i'; RAISE NOTICE 'n'; RAISE WARNING 'w';
END $$";
    // As PostgreSQL 18 has them.
    for (level, heard) in [
        ("debug5", "DEBUG: d|LOG: l|INFO: i|NOTICE: n|WARNING: w|DO"),
        ("debug1", "DEBUG: d|LOG: l|INFO: i|NOTICE: n|WARNING: w|DO"),
        ("LOG", "LOG: l|INFO: i|NOTICE: n|WARNING: w|DO"),
        ("notice", "INFO: i|NOTICE: n|WARNING: w|DO"),
        ("warning", "INFO: i|WARNING: w|DO"),
        ("error", "INFO: i|DO"),
    ] {
        client.run(&format!("SET client_min_messages = {level}"));
        assert_eq!(client.run(block).join("|"), heard, "{level}");
        assert_eq!(client.value("SHOW client_min_messages"), level.to_lowercase());
    }
    // Other messages, too.
    assert_eq!(client.run("DROP TABLE IF EXISTS nosuch"), ["DROP TABLE"]);
    client.run("RESET client_min_messages");
    assert_eq!(client.run("DROP TABLE IF EXISTS nosuch").len(), 2);
    let error = client.try_run("SET client_min_messages = 'loud'").expect_err("no level");
    assert_eq!(error.message, "invalid value for parameter \"client_min_messages\": \"loud\"");
    // What a function sets holds while it runs.
    client.run(
        "CREATE FUNCTION quiet() RETURNS int LANGUAGE plpgsql SET client_min_messages = 'warning' AS $$
begin
  raise notice 'unheard';
  return 1;
end $$",
    );
    assert_eq!(
        client.run("DO $$ BEGIN PERFORM quiet(); RAISE NOTICE 'heard'; END $$"),
        ["NOTICE: heard", "DO"]
    );
}

#[test]
fn messages_come_in_the_order_in_which_they_were_told() {
    let world = World::new();
    let mut client = world.connect();
    let block = "DO $$ BEGIN
  RAISE NOTICE 'one';
  DROP TABLE IF EXISTS nosuch;
  RAISE NOTICE 'two';
END $$";
    let lines = client.run(block);
    assert_eq!(
        lines,
        ["NOTICE: one", "NOTICE: table \"nosuch\" does not exist, skipping", "NOTICE: two", "DO"]
    );
}

#[test]
fn names_that_are_cut_are_told_each_time() {
    let world = World::new();
    let mut user = world.connect();
    let (long, wide) = ("A".repeat(70), "ä".repeat(40));
    let told = [
        format!("identifier \"{}\" will be truncated to \"{}\"", long.to_lowercase(), "a".repeat(63)),
        format!("identifier \"{wide}\" will be truncated to \"{}\"", "ä".repeat(31)),
    ];
    let mut heard = |sql: &str| -> Vec<String> {
        let (send, hear) = mpsc::channel();
        user.session.execute(sql, &[], &mut Ear(send)).expect(sql);
        hear.iter().filter(|text| text.starts_with("identifier")).collect()
    };
    // A text that comes again is read again.
    for _ in 0..3 {
        assert_eq!(heard(&format!("SELECT 1 AS {long}, 2 AS \"{wide}\"")), told);
    }
    assert_eq!(heard(&format!("CREATE TABLE {long} (a int); DROP TABLE {long}")).len(), 2);
    assert!(heard(&format!("SELECT 1 AS {}, '{long}'", "a".repeat(63))).is_empty());
}

#[test]
fn what_goes_along_with_several_schemas_is_told_once() {
    let world = World::new();
    let mut user = world.connect();
    user.run("CREATE SCHEMA s1; CREATE SCHEMA s2; CREATE TABLE s1.a (b int); CREATE TABLE s2.a (b int)");
    let (send, hear) = mpsc::channel();
    user.session.execute("DROP SCHEMA s1, s2 CASCADE", &[], &mut Ear(send)).expect("dropped");
    assert_eq!(hear.iter().collect::<Vec<_>>(), ["drop cascades to 2 other objects", "DROP SCHEMA"]);
    // An index of another kind is told of only where there is a table for it.
    let (send, hear) = mpsc::channel();
    user.session.execute("CREATE INDEX ON nosuch USING hash (a)", &[], &mut Ear(send)).expect_err("no table");
    assert_eq!(hear.iter().count(), 0);
}

#[test]
fn errors_of_columns_say_what_to_write_instead() {
    let world = World::new();
    let mut user = world.connect();
    user.run(
        "CREATE TABLE t (i int GENERATED ALWAYS AS IDENTITY, a int, g int GENERATED ALWAYS AS (a + 1) STORED);
         CREATE VIEW v AS SELECT a FROM t",
    );
    for (sql, hint) in [
        (
            "ALTER TABLE t ALTER i DROP DEFAULT",
            Some("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead."),
        ),
        ("ALTER TABLE t ALTER i SET DEFAULT 1", None),
        (
            "ALTER TABLE t ALTER g DROP DEFAULT",
            Some("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead."),
        ),
        (
            "ALTER TABLE t ALTER g SET DEFAULT 1",
            Some("Use ALTER TABLE ... ALTER COLUMN ... SET EXPRESSION instead."),
        ),
        (
            "CREATE OR REPLACE VIEW v AS SELECT a AS b FROM t",
            Some("Use ALTER VIEW ... RENAME COLUMN ... to change name of view column instead."),
        ),
    ] {
        let error = user.session.execute(sql, &[], &mut Ear(mpsc::channel().0)).expect_err(sql);
        assert_eq!(error.hint.as_deref(), hint, "{sql}");
    }
}
