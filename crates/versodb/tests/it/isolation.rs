//! Golden scripts of interleaved transactions, `tests/isolation/*.spec`, at every isolation level.
//!
//! A script has the lines of `setup`, run by one session, and `steps`, each `session: statement`. A session begins a
//! transaction at its first step; what comes behind COMMIT or ROLLBACK stands for itself. Behind the steps is, for each
//! level, what happened: a step that waits says so, and again when it comes back. `UPDATE=1` rewrites that.
//!
//! The runner knows databases by [`Server`] and [`Client`] only.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};

use verso_env::Env;
use versodb::{Connection, Database};

use crate::new_database;

const LEVELS: [&str; 4] = ["read uncommitted", "read committed", "repeatable read", "serializable"];

/// One conversation with a database.
pub trait Client: Send {
    /// Runs a statement: its rows as text, or how many it changed; or the SQLSTATE.
    fn run(&mut self, sql: &str) -> Result<String, String>;
}

/// Something to connect to.
pub trait Server {
    /// A new conversation.
    fn connect(&self) -> Box<dyn Client>;
}

impl Server for Database {
    fn connect(&self) -> Box<dyn Client> {
        Box::new(Database::connect(self).unwrap())
    }
}

impl Client for Connection {
    fn run(&mut self, sql: &str) -> Result<String, String> {
        let word = sql.split_whitespace().next().unwrap_or_default().to_ascii_lowercase();
        if word == "select" {
            let rows = self.query(sql).map_err(|error| error.sqlstate.to_string())?;
            let width = rows.columns().len();
            let row = |row: &versodb::Row| (0..width).map(|at| row.text(at)).collect::<Vec<_>>().join("|");
            return Ok(format!("[{}]", rows.into_rows().iter().map(row).collect::<Vec<_>>().join(" ")));
        }
        let changed = self.execute(sql).map_err(|error| error.sqlstate.to_string())?;
        Ok(if matches!(&*word, "insert" | "update" | "delete") {
            changed.to_string()
        } else {
            "ok".to_owned()
        })
    }
}

struct Spec {
    head: String,
    setup: Vec<String>,
    steps: Vec<(String, String)>,
    outcome: String,
}

fn parse(text: &str) -> Spec {
    let (script, outcome) = text.split_at(text.find("\n== ").map_or(text.len(), |at| at + 1));
    let mut spec =
        Spec { head: script.to_owned(), setup: Vec::new(), steps: Vec::new(), outcome: outcome.to_owned() };
    let mut steps = false;
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line {
            "setup" => steps = false,
            "steps" => steps = true,
            _ if !steps => spec.setup.push(line.to_owned()),
            _ => {
                let (session, sql) = line.split_once(':').unwrap_or_else(|| panic!("{line}: no session"));
                spec.steps.push((session.trim().to_owned(), sql.trim().to_owned()));
            }
        }
    }
    spec
}

/// A session on a thread of its own.
struct Worker {
    send: Sender<String>,
    receive: Receiver<Result<String, String>>,
    /// Statements sent, whose results have not come.
    open: Vec<String>,
}

fn worker(env: &Env, mut client: Box<dyn Client>) -> Worker {
    let (send, jobs) = channel::<String>();
    let (results, receive) = channel();
    drop(env.spawn("session", move || {
        for sql in jobs {
            if results.send(client.run(&sql)).is_err() {
                return;
            }
        }
    }));
    Worker { send, receive, open: Vec::new() }
}

fn show(out: &mut String, session: &str, sql: &str, result: &Result<String, String>) {
    match result {
        Ok(text) => writeln!(out, "{session}: {sql} -> {text}").unwrap(),
        Err(code) => writeln!(out, "{session}: {sql} -> ERROR {code}").unwrap(),
    }
}

/// Takes results until every session is idle or waits for a lock; that of the step's own session is shown first.
fn settle(workers: &mut BTreeMap<String, Worker>, step: &str, control: &mut dyn Client, out: &mut String) {
    let mut results: Vec<(bool, String, String, Result<String, String>)> = Vec::new();
    loop {
        // First who waits, then who has answered: one that answers in between is seen.
        let waiting = control
            .run("SELECT count(*) FROM verso_locks WHERE NOT granted AND blocked_by IS NOT NULL")
            .expect("the view of locks");
        let known = results.len();
        for (session, worker) in workers.iter_mut() {
            while let Ok(result) = worker.receive.try_recv() {
                results.push((session != step, session.clone(), worker.open.remove(0), result));
            }
        }
        let busy = workers.values().filter(|worker| !worker.open.is_empty()).count();
        if results.len() == known && waiting == format!("[{busy}]") {
            break;
        }
        std::thread::yield_now();
    }
    results.sort_by(|a, b| (a.0, &a.1).cmp(&(b.0, &b.1)));
    for (_, session, sql, result) in &results {
        show(out, session, sql, result);
    }
}

fn run(env: &Env, server: &dyn Server, spec: &Spec, level: &str) -> String {
    let mut control = server.connect();
    for sql in &spec.setup {
        control.run(sql).unwrap_or_else(|code| panic!("{sql}: {code}"));
    }
    let mut out = String::new();
    let mut workers: BTreeMap<String, Worker> = BTreeMap::new();
    for (session, sql) in &spec.steps {
        if !workers.contains_key(session) {
            let mut client = server.connect();
            client.run(&format!("BEGIN ISOLATION LEVEL {level}")).unwrap();
            workers.insert(session.clone(), worker(env, client));
        }
        let worker = workers.get_mut(session).expect("made above");
        worker.open.push(sql.clone());
        worker.send.send(sql.clone()).unwrap();
        settle(&mut workers, session, &mut *control, &mut out);
        if workers[session].open.last() == Some(sql) {
            writeln!(out, "{session}: {sql} (waits)").unwrap();
        }
    }
    let stuck: Vec<&String> =
        workers.iter().filter(|(_, worker)| !worker.open.is_empty()).map(|(session, _)| session).collect();
    assert!(stuck.is_empty(), "{level}: {stuck:?} still wait at the end\n{out}");
    out
}

/// Runs every script against a server; the failures.
pub fn run_all(env: &Env, server: &dyn Server) -> Vec<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/isolation");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let mut failures = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|end| end == "spec")) {
        let spec = parse(&std::fs::read_to_string(file).unwrap());
        let mut outcome = String::new();
        for level in LEVELS {
            write!(outcome, "== {level}\n{}\n", run(env, server, &spec, level)).unwrap();
        }
        let outcome = format!("{}\n", outcome.trim_end());
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(file, format!("{}{outcome}", spec.head)).unwrap();
        } else if outcome != spec.outcome {
            failures.push(format!("{}:\n--- expected\n{}--- got\n{outcome}", file.display(), spec.outcome));
        }
    }
    failures
}

#[test]
fn named_anomalies_are_allowed_and_refused_as_the_levels_say() {
    let (_directory, database) = new_database();
    let failures = run_all(&Env::real(), &database);
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_deferrable_transaction_waits_for_a_safe_snapshot() {
    let (_directory, database) = new_database();
    let database = Arc::new(database);
    let mut one = Database::connect(&database).unwrap();
    one.execute("CREATE TABLE t (a int)").unwrap();
    one.execute("BEGIN ISOLATION LEVEL SERIALIZABLE").unwrap();
    one.execute("INSERT INTO t VALUES (1)").unwrap();
    let other = Arc::clone(&database);
    let (send, receive) = channel();
    let reader = Env::real().spawn("reader", move || {
        let mut reader = Database::connect(&other).unwrap();
        reader.execute("BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY DEFERRABLE").unwrap();
        send.send(None).unwrap();
        let rows = reader.query("SELECT count(*) FROM t").unwrap().into_rows();
        send.send(Some(rows[0].get::<i64>(0).unwrap())).unwrap();
        reader.execute("COMMIT").unwrap();
    });
    assert_eq!(receive.recv().unwrap(), None);
    assert!(receive.recv_timeout(std::time::Duration::from_millis(30)).is_err(), "it waits for the writer");
    one.execute("COMMIT").unwrap();
    // Its snapshot is that of its first try, which has turned out to be safe.
    assert_eq!(receive.recv().unwrap(), Some(0));
    reader.join().unwrap();
}

#[test]
fn prepared_transactions_survive_a_restart_with_their_locks() {
    let (directory, database) = new_database();
    let mut one = Database::connect(&database).unwrap();
    one.execute("CREATE TABLE t (a int)").unwrap();
    one.execute("INSERT INTO t VALUES (1), (2), (3)").unwrap();
    for (gid, sql) in [("keep", "UPDATE t SET a = 10 WHERE a = 1"), ("drop", "DELETE FROM t WHERE a = 2")] {
        one.execute("BEGIN").unwrap();
        one.execute(sql).unwrap();
        one.execute(&format!("PREPARE TRANSACTION '{gid}'")).unwrap();
    }
    one.execute("BEGIN").unwrap();
    assert_eq!(one.execute("PREPARE TRANSACTION 'keep'").unwrap_err().sqlstate, "42710");
    assert!(!one.in_transaction());
    // As after a crash: nothing is closed.
    drop(one);
    drop(database);
    let database = Database::open(directory.path().join("test.verso"), versodb::Options::new()).unwrap();
    let mut one = Database::connect(&database).unwrap();
    let gids = one.query("SELECT gid FROM pg_prepared_xacts ORDER BY gid").unwrap().into_rows();
    assert_eq!(gids.iter().map(|row| row.text(0)).collect::<Vec<_>>(), ["drop", "keep"]);
    assert_eq!(one.query("SELECT a FROM t").unwrap().into_rows().len(), 3);
    one.execute("SET lock_timeout = '10ms'").unwrap();
    assert_eq!(one.execute("UPDATE t SET a = 11 WHERE a = 1").unwrap_err().sqlstate, "55P03");
    assert_eq!(one.execute("DROP TABLE t").unwrap_err().sqlstate, "55P03");
    one.execute("COMMIT PREPARED 'keep'").unwrap();
    one.execute("ROLLBACK PREPARED 'drop'").unwrap();
    assert_eq!(one.execute("COMMIT PREPARED 'keep'").unwrap_err().sqlstate, "42704");
    let rows = one.query("SELECT a FROM t ORDER BY a").unwrap().into_rows();
    assert_eq!(rows.iter().map(|row| row.text(0)).collect::<Vec<_>>(), ["2", "3", "10"]);
    assert_eq!(one.execute("UPDATE t SET a = a + 1").unwrap(), 3);
    assert!(database.engine().check(&mut |_| {}).unwrap().problems.is_empty());
}

#[test]
fn snapshots_are_taken_over_by_name_and_by_number() {
    let (_directory, database) = new_database();
    let (mut one, mut two) = (Database::connect(&database).unwrap(), Database::connect(&database).unwrap());
    one.execute("CREATE TABLE t (a int)").unwrap();
    one.execute("BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap();
    let name = one.query("SELECT pg_export_snapshot()").unwrap().into_rows()[0].text(0);
    two.execute("INSERT INTO t VALUES (1)").unwrap();
    let count = |client: &mut Connection| client.query("SELECT a FROM t").unwrap().into_rows().len();
    assert_eq!(count(&mut two), 1);
    let number = u64::from_str_radix(name.split('-').nth(1).unwrap(), 16).unwrap();
    let by_name = format!("SET TRANSACTION SNAPSHOT '{name}'");
    for begin in [by_name, format!("SET TRANSACTION SNAPSHOT '{number}'")] {
        two.execute("BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap();
        two.execute(&begin).unwrap();
        assert_eq!(count(&mut two), 0, "{begin}");
        two.execute("COMMIT").unwrap();
    }
    two.execute(&format!("BEGIN SNAPSHOT AT NUMBER {number}")).unwrap();
    assert_eq!(count(&mut two), 0);
    two.execute("COMMIT").unwrap();
    one.execute("COMMIT").unwrap();
    for (begin, code) in [(&name[..], "42704"), (&number.to_string()[..], "72000")] {
        two.execute("BEGIN ISOLATION LEVEL REPEATABLE READ").unwrap();
        let refused = two.execute(&format!("SET TRANSACTION SNAPSHOT '{begin}'")).unwrap_err();
        assert_eq!(refused.sqlstate, code, "{begin}");
        two.execute("ROLLBACK").unwrap();
    }
}

#[test]
fn cancel_ends_a_wait_for_a_lock() {
    let (_directory, database) = new_database();
    let (mut one, mut two) = (Database::connect(&database).unwrap(), Database::connect(&database).unwrap());
    one.execute("CREATE TABLE t (a int)").unwrap();
    one.execute("INSERT INTO t VALUES (1)").unwrap();
    one.execute("BEGIN").unwrap();
    one.execute("UPDATE t SET a = 2").unwrap();
    let handle = two.cancel_handle();
    let waiter = Env::real().spawn("waiter", move || {
        assert_eq!(two.execute("UPDATE t SET a = 3").unwrap_err().sqlstate, "57014");
        assert_eq!(two.execute("SELECT pg_advisory_unlock(1)").unwrap(), 1);
    });
    while !database.engine().locks().iter().any(|lock| !lock.granted) {
        std::thread::yield_now();
    }
    handle.cancel();
    waiter.join().unwrap();
    one.execute("COMMIT").unwrap();
    assert_eq!(one.query("SELECT a FROM t").unwrap().into_rows()[0].text(0), "2");
}
