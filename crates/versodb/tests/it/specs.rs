//! Golden scripts of interleaved transactions, `tests/isolation/*.spec`, at every isolation level.
//!
//! A script has the lines of `setup`, run by one session, and `steps`, each `session: statement`. A session begins a
//! transaction at its first step; what comes behind COMMIT or ROLLBACK stands for itself. Behind the steps is, for each
//! level, what happened: a step that waits says so, and again when it comes back. `UPDATE=1` rewrites that.
//!
//! The runner knows databases by [`Server`] and [`Client`] only: they are run by the library and through the server.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};

use verso_env::{Env, JoinHandle};

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
    thread: JoinHandle,
}

fn worker(env: &Env, mut client: Box<dyn Client>) -> Worker {
    let (send, jobs) = channel::<String>();
    let (results, receive) = channel();
    let thread = env.spawn("session", move || {
        for sql in jobs {
            if results.send(client.run(&sql)).is_err() {
                return;
            }
        }
    });
    Worker { send, receive, open: Vec::new(), thread }
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
    for Worker { send, thread, .. } in workers.into_values() {
        drop(send);
        thread.join().expect("a session's thread");
    }
    // A server hears of their end somewhat later; what they still hold is not the next level's.
    while control.run("SELECT count(*) FROM verso_locks WHERE kind = 'advisory'").expect("the view") != "[0]"
    {
        std::thread::yield_now();
    }
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
