//! Procedures and blocks that end their transaction, beside others who change the schema. Expected outcomes are PostgreSQL's.

use crate::{Client, World};

/// What a block has said, and the error that it has ended with.
type Outcome = Result<Vec<String>, &'static str>;

/// Runs a block that commits a row, waits for a lock, and goes on with `then`; while it waits somebody else runs `definition`.
fn beside(world: &World, definition: &str, then: &str) -> Outcome {
    let (mut other, mut holder, mut client) = (world.connect(), world.connect(), world.connect());
    other.run("TRUNCATE begun");
    holder.run("SELECT pg_advisory_lock(1)");
    let block = format!(
        "DO $$ BEGIN
            INSERT INTO begun VALUES (1); INSERT INTO r (a) VALUES (1);
            COMMIT;
            PERFORM pg_advisory_lock(1); PERFORM pg_advisory_unlock(1);
            {then};
         END $$"
    );
    std::thread::scope(|scope| {
        let runs = scope.spawn(move || client.try_run(&block).map_err(|error| error.sqlstate));
        while other.value("SELECT count(*) FROM begun") == "0" {
            std::thread::yield_now();
        }
        let done = other.try_run(definition);
        holder.run("SELECT pg_advisory_unlock(1)");
        done.unwrap_or_else(|error| panic!("{definition}: {error:?}"));
        runs.join().expect("no panic")
    })
}

fn prepared_world() -> (World, Client) {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE begun (n int);
         CREATE TABLE r (a int, b int);
         CREATE TYPE mood AS ENUM ('sad');
         CREATE TABLE moods (m mood);
         CREATE FUNCTION twice() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.a := NEW.a * 2; RETURN NEW; END';
         CREATE FUNCTION said() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    );
    (world, client)
}

#[test]
fn what_others_define_behind_a_commit_is_seen() {
    let (world, mut client) = prepared_world();
    let insert = "INSERT INTO r (a) VALUES (2)";
    let works: [(&str, &str); 12] = [
        ("CREATE INDEX ON r (a)", insert),
        ("ALTER TABLE r ADD COLUMN c int DEFAULT 3", insert),
        ("ALTER TABLE r DROP COLUMN c", insert),
        ("ALTER TABLE r ADD CHECK (a < 100)", insert),
        ("ALTER TABLE r ALTER b TYPE bigint", insert),
        ("ALTER TABLE r RENAME COLUMN b TO bb", insert),
        ("ALTER TABLE r RENAME COLUMN bb TO b", "UPDATE r SET b = 1"),
        ("TRUNCATE r", insert),
        ("CREATE TABLE made (a int)", "INSERT INTO made VALUES (2)"),
        ("ALTER TYPE mood ADD VALUE 'new'", "INSERT INTO moods VALUES ('new')"),
        (
            "CREATE OR REPLACE FUNCTION said() RETURNS int LANGUAGE sql AS 'SELECT 22'",
            "UPDATE r SET a = said()",
        ),
        ("CREATE TRIGGER t BEFORE INSERT ON r FOR EACH ROW EXECUTE FUNCTION twice()", insert),
    ];
    for (definition, then) in works {
        client.run("TRUNCATE r");
        let outcome = beside(&world, definition, then);
        assert_eq!(outcome.as_deref(), Ok(&["DO".to_string()][..]), "{definition}");
        let wanted = match definition {
            "TRUNCATE r" => "2",
            other if other.contains("said") => "22",
            other if other.contains("TRIGGER") => "1,4",
            other if other.contains("made") || other.contains("mood") || then != insert => "1",
            _ => "1,2",
        };
        assert_eq!(client.value("SELECT string_agg(a::text, ',' ORDER BY a) FROM r"), wanted, "{definition}");
    }
    assert_eq!(client.value("SELECT string_agg(m::text, ',') FROM moods"), "new");
    assert_eq!(client.value("SELECT a FROM made"), "2");
}

#[test]
fn what_others_take_away_behind_a_commit_is_the_plain_error() {
    let (world, mut client) = prepared_world();
    assert_eq!(beside(&world, "ALTER TABLE r DROP COLUMN b", "UPDATE r SET b = 1"), Err("42703"));
    assert_eq!(beside(&world, "ALTER TABLE r ADD CHECK (a <> 7)", "INSERT INTO r VALUES (7)"), Err("23514"));
    assert_eq!(beside(&world, "ALTER TABLE r RENAME TO rr", "INSERT INTO r VALUES (8)"), Err("42P01"));
    assert_eq!(client.value("SELECT count(*) FROM rr"), "3");
}

/// Statements of one EXECUTE run once each, and expressions that read tables go on as well.
#[test]
fn parts_of_a_statement_see_it_too() {
    let (world, mut client) = prepared_world();
    let both =
        "EXECUTE 'INSERT INTO begun VALUES (2); INSERT INTO r (a) VALUES (2); INSERT INTO begun VALUES (3)'";
    let outcome = beside(&world, "ALTER TABLE r ADD CHECK (a < 100)", both);
    assert_eq!(outcome.as_deref(), Ok(&["DO".to_string()][..]));
    assert_eq!(client.value("SELECT string_agg(n::text, ',' ORDER BY n) FROM begun"), "1,2,3");
    let reads = "IF (SELECT count(*) FROM r WHERE b IS NULL) <> 3 THEN RAISE EXCEPTION 'wrong'; END IF";
    for definition in ["ALTER TABLE r ALTER b TYPE bigint", "CREATE INDEX ON r (b)"] {
        client.run("TRUNCATE r; INSERT INTO r VALUES (5), (6)");
        assert_eq!(beside(&world, definition, reads).as_deref(), Ok(&["DO".to_string()][..]), "{definition}");
    }
}

/// A procedure that another one calls, and which does not end its transaction itself, goes on as well.
#[test]
fn a_procedure_that_is_called_sees_it_too() {
    let (world, mut client) = prepared_world();
    client.run(
        "CREATE PROCEDURE adds(n int) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO r (a) VALUES (n); END $$",
    );
    for definition in ["ALTER TABLE r ADD COLUMN c int", "CREATE INDEX ON r (b)", "TRUNCATE r"] {
        let outcome = beside(&world, definition, "CALL adds(2); COMMIT; CALL adds(3)");
        assert_eq!(outcome.as_deref(), Ok(&["DO".to_string()][..]), "{definition}");
    }
    assert_eq!(client.value("SELECT string_agg(a::text, ',' ORDER BY a) FROM r"), "2,3");
}
