//! The log of statements: of all that `log_statement` names, and of slow ones.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use crate::{Client, World};

/// Keeps the messages of a thread.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<String>>>);

impl Visit for Log {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() == "message" {
            self.0.lock().expect("no panic").push(format!("{value:?}"));
        }
    }
}

impl Subscriber for Log {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

/// What is logged while the text runs, behind these words.
fn lines(client: &mut Client, sql: &str, words: &str) -> Vec<String> {
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || drop(client.try_run(sql)));
    let lines = log.0.lock().expect("no panic");
    lines.iter().filter_map(|line| line.strip_prefix(words)).map(str::to_string).collect()
}

/// The slow statements that are logged while the text runs.
fn logged(client: &mut Client, sql: &str) -> Vec<String> {
    let told = lines(client, sql, "duration: ");
    told.iter().map(|line| line.split_once(" ms  statement: ").expect("its parts").1.to_string()).collect()
}

#[test]
fn statements_that_take_long_are_logged() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (id int)");
    assert_eq!(client.value("SHOW log_min_duration_statement"), "-1");
    assert!(logged(&mut client, "SELECT 1").is_empty(), "off");
    client.run("SET log_min_duration_statement = 0");
    let (insert, wrong) = ("INSERT INTO t VALUES (1)", "SELECT 1 / (id - 1) FROM t");
    assert_eq!(logged(&mut client, insert), [insert]);
    assert_eq!(logged(&mut client, &format!("{insert}; {wrong}")), [insert, wrong], "failed ones, too");
    let long = format!("SELECT '{}'", "x".repeat(5_000));
    assert_eq!(logged(&mut client, &long), [format!("{} …", &long[..1_024])]);
    client.run("SET log_min_duration_statement = '20ms'");
    assert_eq!(logged(&mut client, "SELECT pg_sleep(0.03)"), ["SELECT pg_sleep(0.03)"]);
    client.run("SET log_min_duration_statement = '1h'");
    assert_eq!(client.value("SHOW log_min_duration_statement"), "1h");
    assert!(logged(&mut client, insert).is_empty());
    assert_eq!(client.fails("SET log_min_duration_statement = 'soon'").0, "22023");
}

/// What is logged of plans while the text runs.
fn plans(client: &mut Client, sql: &str) -> Vec<String> {
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), || drop(client.try_run(sql)));
    let lines = log.0.lock().expect("no panic");
    let plans = lines.iter().filter_map(|line| line.split_once(" ms  plan:\n"));
    // Each line of it stands behind a tab.
    plans.map(|(_, plan)| plan.replace("\n\t", "\n").trim_start_matches('\t').to_string()).collect()
}

#[test]
fn plans_of_statements_that_take_long_are_logged_with_what_was_measured() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT n, n FROM generate_series(1, 100) n");
    client.run("SET log_min_duration_statement = 0");
    let query = "SELECT sum(v) FROM t WHERE v > 90";
    assert!(plans(&mut client, query).is_empty(), "off");
    client.run("SET log_plans = on");
    let [plan] = &plans(&mut client, query)[..] else { panic!("one plan") };
    assert!(plan.starts_with("Aggregate  (cost="), "{plan}");
    assert!(plan.contains("\n  ->  Seq Scan on t") && !plan.contains("actual"), "{plan}");
    client.run("SET log_plans = analyze");
    let [plan] = &plans(&mut client, query)[..] else { panic!("one plan") };
    assert!(plan.contains("Seq Scan on t") && plan.contains("rows=10.00 loops=1"), "{plan}");
    let [plan] = &plans(&mut client, "UPDATE t SET v = 0 WHERE id = 7")[..] else { panic!("one plan") };
    assert!(plan.starts_with("Update on t"), "{plan}");
    client.run("SET log_min_duration_statement = '1h'");
    assert!(plans(&mut client, query).is_empty(), "not long");
    assert_eq!(client.value("SHOW log_plans"), "analyze");
    assert_eq!(client.fails("SET log_plans = 'some'").0, "22023");
    client.run("CREATE ROLE ann LOGIN; SET SESSION AUTHORIZATION ann");
    assert_eq!(client.fails("SET log_plans = off").0, "42501");
}

#[test]
fn the_database_says_it_for_sessions_that_do_not() {
    let world = World::new();
    let (mut client, mut other) = (world.connect(), world.connect());
    client.run("ALTER SYSTEM SET log_min_duration_statement = 0");
    assert_eq!(logged(&mut other, "SELECT 2"), ["SELECT 2"]);
    other.run("SET log_min_duration_statement = -1");
    assert!(logged(&mut other, "SELECT 2").is_empty());
    other.run("RESET log_min_duration_statement");
    assert_eq!(logged(&mut other, "SELECT 2"), ["SELECT 2"]);
    client.run("CREATE ROLE ann LOGIN; SET SESSION AUTHORIZATION ann");
    assert_eq!(client.fails("SET log_min_duration_statement = -1").0, "42501");
}

#[test]
fn statements_are_logged_by_what_they_do() {
    let world = World::new();
    let mut client = world.connect();
    let told = |client: &mut Client, sql: &str| lines(client, sql, "statement: ");
    assert_eq!(client.value("SHOW log_statement"), "none");
    assert!(told(&mut client, "CREATE TABLE t (id int)").is_empty());
    let statements = [
        ("ALTER TABLE t ADD c int", 1),
        ("INSERT INTO t VALUES (1)", 2),
        ("TRUNCATE t", 2),
        ("EXPLAIN ANALYZE DELETE FROM t", 2),
        ("PREPARE p AS UPDATE t SET c = 1", 2),
        ("EXECUTE p", 2),
        ("DEALLOCATE p", 3),
        ("EXPLAIN DELETE FROM t", 3),
        ("SELECT 1", 3),
        ("SELECT no_such_column", 3),
        ("ANALYZE t", 3),
    ];
    for (level, setting) in ["ddl", "mod", "all"].iter().zip(1..) {
        client.run(&format!("SET log_statement = {setting}", setting = level));
        for (sql, from) in statements {
            let wanted = if setting >= from { vec![sql.to_string()] } else { Vec::new() };
            assert_eq!(told(&mut client, sql), wanted, "{level}: {sql}");
        }
        client.run("ALTER TABLE t DROP c");
    }
    assert_eq!(client.fails("SET log_statement = 'some'").0, "22023");
    let shown = "SELECT setting FROM pg_settings WHERE name = 'log_statement'";
    assert_eq!(client.value(shown), "all");
    let secret = told(&mut client, "CREATE ROLE secretive PASSWORD $$hush$$ LOGIN");
    assert_eq!(secret, ["CREATE ROLE secretive PASSWORD '…' LOGIN"]);
    client.run("CREATE ROLE plain; SET ROLE plain");
    assert_eq!(client.fails("SET log_statement = none").0, "42501");
}
