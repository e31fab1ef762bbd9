//! Transactions, savepoints, failures, restarts.

use crate::{Client, World};

#[test]
fn statements_commit_by_themselves_or_together() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE t (a int)");
    one.run("INSERT INTO t VALUES (1), (2)");
    assert_eq!(two.value("SELECT count(*) FROM t"), "2");
    assert_eq!(one.run("BEGIN; DELETE FROM t WHERE a = 1"), ["BEGIN", "DELETE 1"]);
    assert!(one.session.in_transaction());
    assert_eq!(two.value("SELECT count(*) FROM t"), "2");
    one.run("COMMIT");
    assert_eq!(two.value("SELECT count(*) FROM t"), "1");
    let begun = one.run("START TRANSACTION READ WRITE; UPDATE t SET a = 9; ROLLBACK");
    assert_eq!(begun, ["START TRANSACTION", "UPDATE 1", "ROLLBACK"]);
    assert_eq!(one.value("SELECT a FROM t"), "2");
}

#[test]
fn savepoints_undo_what_came_after_them() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE t (a int); BEGIN; INSERT INTO t VALUES (1); SAVEPOINT s; INSERT INTO t VALUES (2)",
    );
    assert_eq!(client.value("SELECT count(*) FROM t"), "2");
    assert_eq!(client.run("ROLLBACK TO s"), ["ROLLBACK"]);
    assert_eq!(client.value("SELECT count(*) FROM t"), "1");
    client.run("INSERT INTO t VALUES (3); ROLLBACK TO SAVEPOINT s; RELEASE s");
    assert_eq!(client.fails("ROLLBACK TO s").0, "3B001");
    client.run("ROLLBACK");
    assert_eq!(client.fails("SAVEPOINT s").0, "25P01");
}

#[test]
fn a_failed_transaction_accepts_only_its_end() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int NOT NULL)");
    client.run("BEGIN; INSERT INTO t VALUES (1); SAVEPOINT s");
    assert_eq!(client.fails("INSERT INTO t VALUES (2), (NULL)").0, "23502");
    assert!(client.session.transaction_failed());
    let aborted = "current transaction is aborted, commands ignored until end of transaction block";
    assert_eq!(client.fails("SELECT 1"), ("25P02", aborted.to_string()));
    assert_eq!(client.fails("SAVEPOINT x").0, "25P02");
    client.run("ROLLBACK TO s");
    assert_eq!(client.value("SELECT count(*) FROM t"), "1");
    assert_eq!(client.fails("SELECT 1 / 0"), ("22012", "division by zero".to_string()));
    assert_eq!(client.run("COMMIT"), ["ROLLBACK"]);
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
    // A text that does not parse fails the transaction, too.
    client.run("BEGIN");
    assert_eq!(client.fails("SELEC 1").0, "42601");
    assert_eq!(client.fails("SELECT 1").0, "25P02");
    client.run("ROLLBACK");
}

#[test]
fn no_savepoint_allows_reads_after_an_error_and_nothing_else() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int NOT NULL)");
    client.run("BEGIN NO SAVEPOINT; INSERT INTO t VALUES (1)");
    assert_eq!(client.value("SHOW transaction_savepoints"), "off");
    let refused = client.fails("SAVEPOINT s");
    assert_eq!(refused.0, "3B000");
    let error = client.try_run("INSERT INTO t VALUES (2)").expect_err("must roll back");
    assert_eq!((error.sqlstate, error.detail.as_deref()), ("25V01", Some("no savepoint")));
    assert_eq!(client.fails("COMMIT").0, "25V01");
    client.run("SELECT count(*) FROM t");
    assert_eq!(client.run("ROLLBACK"), ["ROLLBACK"]);
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
    client.run("SET default_transaction_savepoints = off; BEGIN");
    assert_eq!(client.value("SHOW transaction_savepoints"), "off");
}

#[test]
fn schema_changes_roll_back() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE kept (a int); INSERT INTO kept VALUES (1)");
    one.run("BEGIN; CREATE TABLE t (a int); INSERT INTO t VALUES (1); SAVEPOINT s; DROP TABLE kept");
    assert_eq!(one.fails("SELECT * FROM kept").0, "42P01");
    // The table that is about to go is locked until it is certain.
    two.run("SET lock_timeout = '20ms'");
    assert_eq!(two.fails("SELECT a FROM kept").0, "55P03");
    assert_eq!(two.fails("SELECT * FROM t").0, "42P01");
    one.run("ROLLBACK TO s");
    assert_eq!(one.value("SELECT a FROM kept"), "1");
    assert_eq!(one.value("SELECT a FROM t"), "1");
    one.run("TRUNCATE kept");
    assert_eq!(one.value("SELECT count(*) FROM kept"), "0");
    one.run("ROLLBACK");
    assert_eq!(one.fails("SELECT * FROM t").0, "42P01");
    assert_eq!(one.value("SELECT count(*) FROM kept"), "1");
}

#[test]
fn transaction_modes_are_set_at_the_start() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int)");
    client.run("BEGIN ISOLATION LEVEL SNAPSHOT READ ONLY");
    assert_eq!(client.value("SHOW transaction_isolation"), "repeatable read");
    let refused = "cannot execute INSERT in a read-only transaction";
    assert_eq!(client.fails("INSERT INTO t VALUES (1)"), ("25006", refused.to_string()));
    client.run("ROLLBACK");
    client.run("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE");
    assert_eq!(client.value("SHOW transaction_isolation"), "serializable");
    client.run("COMMIT");
    client.run("BEGIN; SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(client.value("SHOW TRANSACTION ISOLATION LEVEL"), "repeatable read");
    client.run("SELECT count(*) FROM t");
    client.run("SET TRANSACTION READ ONLY");
    assert_eq!(client.fails("SET TRANSACTION READ WRITE").0, "25001");
    client.run("ROLLBACK; BEGIN; SELECT count(*) FROM t");
    assert_eq!(client.fails("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE").0, "25001");
    client.run("ROLLBACK");
    assert_eq!(
        client.run("SET TRANSACTION READ ONLY"),
        ["WARNING: SET TRANSACTION can only be used in transaction blocks", "SET"]
    );
    assert_eq!(client.run("COMMIT"), ["WARNING: there is no transaction in progress", "COMMIT"]);
    assert_eq!(
        client.run("BEGIN; BEGIN"),
        ["BEGIN", "WARNING: there is already a transaction in progress", "BEGIN"]
    );
}

#[test]
fn autocommit_off_opens_a_transaction_with_the_first_statement() {
    let world = World::new();
    let mut client = world.connect();
    client.session.set_autocommit(false);
    client.run("CREATE TABLE t (a int)");
    assert!(client.session.in_transaction());
    client.run("ROLLBACK");
    assert_eq!(client.fails("SELECT * FROM t").0, "42P01");
    client.run("ROLLBACK; SET TRANSACTION NO SAVEPOINT, READ ONLY");
    assert_eq!(client.value("SHOW transaction_read_only"), "on");
    client.run("COMMIT");
}

#[test]
fn read_committed_runs_again_after_a_conflict() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    one.run("BEGIN ISOLATION LEVEL SNAPSHOT; SELECT a FROM t");
    two.run("UPDATE t SET a = 2");
    assert_eq!(one.fails("UPDATE t SET a = a + 10").0, "40001");
    one.run("ROLLBACK; BEGIN; SELECT a FROM t");
    two.run("UPDATE t SET a = 3");
    assert_eq!(one.run("UPDATE t SET a = a + 10 RETURNING a"), ["13", "UPDATE 1"]);
    one.run("COMMIT");
}

/// A session's next transaction begins with what the last one has left: of its modes and locks nothing.
#[test]
fn a_transaction_takes_nothing_over_from_the_one_before_it() {
    let world = World::new();
    let (mut client, mut other) = (world.connect(), world.connect());
    client.run("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)");
    client.run("BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL work_mem = '1MB'");
    client.run("LOCK TABLE t; SAVEPOINT s; UPDATE t SET a = 2; COMMIT");
    other.run("SET lock_timeout = '100ms'");
    other.run("BEGIN; LOCK TABLE t; COMMIT");
    client.run("BEGIN READ ONLY");
    assert_eq!(client.fails("UPDATE t SET a = 3").0, "25006");
    client.run("ROLLBACK; BEGIN READ ONLY; SELECT a FROM t; COMMIT");
    client.run("UPDATE t SET a = 3");
    client.run("BEGIN NO SAVEPOINT; UPDATE t SET a = 4");
    client.run("COMMIT; BEGIN; SAVEPOINT s; UPDATE t SET a = 5; ROLLBACK TO s");
    assert_eq!(client.value("SELECT a FROM t"), "4");
    client.run("COMMIT");
    // The snapshot of one goes with it, and the next sees what was committed meanwhile.
    client.run("BEGIN ISOLATION LEVEL REPEATABLE READ");
    assert_eq!(client.value("SELECT a FROM t"), "4");
    other.run("UPDATE t SET a = 6");
    assert_eq!(client.value("SELECT a FROM t"), "4");
    client.run("COMMIT");
    assert_eq!(client.value("SELECT a FROM t"), "6");
    // Who is between two transactions has none.
    let count = "SELECT count(*) FROM verso_transactions";
    assert_eq!(other.value(count), "1");
    client.run("BEGIN; UPDATE t SET a = 7");
    assert_eq!(other.value(count), "2");
    client.run("COMMIT");
    assert_eq!(other.value(count), "1");
}

/// PostgreSQL: several statements of one text are no transaction block, so there is nothing to chain.
#[test]
fn and_chain_needs_a_transaction_block() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int)");
    for word in ["COMMIT", "ROLLBACK"] {
        let text = format!("{word} AND CHAIN can only be used in transaction blocks");
        for before in ["", "SELECT 1; ", "INSERT INTO t VALUES (1); "] {
            let sql = format!("{before}{word} AND CHAIN");
            assert_eq!(client.fails(&sql), ("25P01", text.clone()), "{sql}");
            assert!(!client.session.in_transaction());
        }
    }
    assert_eq!(client.value("SELECT count(*) FROM t"), "0", "what came before it is undone");
    client.run("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE; COMMIT AND CHAIN");
    assert_eq!(client.value("SHOW transaction_isolation"), "serializable");
    assert_eq!(client.value("SHOW transaction_deferrable"), "on");
    client.run("ROLLBACK");
}

#[test]
fn deferrable_is_a_mode_with_a_default() {
    let world = World::new();
    let mut client = world.connect();
    assert_eq!(client.value("SHOW transaction_deferrable"), "off");
    assert_eq!(client.value("SHOW default_transaction_deferrable"), "off");
    client.run("BEGIN; SET TRANSACTION DEFERRABLE");
    assert_eq!(client.value("SHOW transaction_deferrable"), "on");
    client.run("ROLLBACK; BEGIN; SET transaction_deferrable = on");
    assert_eq!(client.value("SHOW transaction_deferrable"), "on");
    let text = "SET TRANSACTION [NOT] DEFERRABLE must be called before any query";
    client.run("SELECT 1");
    assert_eq!(client.fails("SET TRANSACTION NOT DEFERRABLE"), ("25001", text.to_string()));
    client.run("ROLLBACK; SET SESSION CHARACTERISTICS AS TRANSACTION DEFERRABLE");
    assert_eq!(client.value("SHOW default_transaction_deferrable"), "on");
    client.run("BEGIN");
    assert_eq!(client.value("SHOW transaction_deferrable"), "on");
    client.run("COMMIT; SET default_transaction_deferrable = off; BEGIN");
    assert_eq!(client.value("SHOW transaction_deferrable"), "off");
    client.run("COMMIT");
}

/// PostgreSQL restores the mode of the transaction around a savepoint with its rollback and with its release.
#[test]
fn read_only_lasts_as_long_as_the_savepoint_in_which_it_was_set() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int)");
    for end in ["ROLLBACK TO s", "RELEASE s"] {
        client.run("BEGIN; INSERT INTO t VALUES (1); SAVEPOINT s; SET TRANSACTION READ ONLY");
        assert_eq!(client.value("SHOW transaction_read_only"), "on");
        client.run("SAVEPOINT inner");
        assert_eq!(client.fails("INSERT INTO t VALUES (2)").0, "25006");
        client.run("ROLLBACK TO inner");
        assert_eq!(client.value("SHOW transaction_read_only"), "on");
        client.run(end);
        assert_eq!(client.value("SHOW transaction_read_only"), "off");
        client.run("INSERT INTO t VALUES (3); COMMIT");
    }
    assert_eq!(client.value("SELECT count(*) FROM t"), "4");
    // One that began READ ONLY stays so.
    client.run("BEGIN READ ONLY; SAVEPOINT s; SELECT count(*) FROM t");
    assert_eq!(client.fails("SET TRANSACTION READ WRITE").0, "25001");
    client.run("ROLLBACK TO s");
    assert_eq!(client.value("SHOW transaction_read_only"), "on");
    client.run("RELEASE s; COMMIT");
}

#[test]
fn a_read_only_transaction_has_savepoints() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    client.run("BEGIN READ ONLY; SAVEPOINT a; SELECT a FROM t; SAVEPOINT b");
    assert_eq!(client.fails("SELECT 1 / 0").0, "22012");
    client.run("ROLLBACK TO b");
    assert_eq!(client.value("SELECT a FROM t"), "1");
    client.run("RELEASE a; COMMIT");
    client.run("BEGIN READ ONLY; PREPARE TRANSACTION 'p'; COMMIT PREPARED 'p'");
}

#[test]
fn vacuum_answers_by_its_name_and_tells_of_pages() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    assert_eq!(client.run("VACUUM"), ["VACUUM"]);
    assert_eq!(client.run("SWEEP"), ["SWEEP"]);
    let lines = client.run("VACUUM VERBOSE t");
    assert!(lines[0].starts_with("INFO: swept ") && lines[0].contains(" backed out, "), "{lines:?}");
    assert!(!lines[0].contains("records"), "{lines:?}");
    client.run("BEGIN");
    let text = "VACUUM cannot run inside a transaction block";
    assert_eq!(client.fails("VACUUM"), ("25001", text.to_string()));
    client.run("ROLLBACK");
}

/// Data pages of a table that two open transactions have inserted into in turns.
fn pages_of_two_writers(one: &mut Client, two: &mut Client, table: &str) -> String {
    one.run("BEGIN");
    two.run("BEGIN");
    for _ in 0..3 {
        one.run(&format!("INSERT INTO {table} VALUES (1)"));
        two.run(&format!("INSERT INTO {table} VALUES (1)"));
    }
    one.run("COMMIT");
    two.run("COMMIT");
    one.value(&format!("SELECT data_pages FROM verso_table_space WHERE table_name = '{table}'"))
}

#[test]
fn transactions_share_pages_where_colocation_is_off() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE by_default (a int)");
    one.run("CREATE TABLE shared (a int) WITH (colocate = off)");
    one.run("CREATE TABLE altered (a int)");
    one.run("ALTER TABLE altered SET (colocate = off)");
    let mut pages = |table| pages_of_two_writers(&mut one, &mut two, table);
    assert_eq!([pages("by_default"), pages("shared"), pages("altered")], ["2", "1", "1"]);
    one.run("ALTER SYSTEM SET colocate = off");
    one.run("CREATE TABLE off_by_default (a int)");
    one.run("CREATE TABLE own (a int) WITH (colocate = on)");
    let mut pages = |table| pages_of_two_writers(&mut one, &mut two, table);
    assert_eq!([pages("off_by_default"), pages("own")], ["1", "2"]);
}
