//! Several clients, each of which inserts a row and commits, again and again.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use postgres::{Client, NoTls};
use serde::{Deserialize, Serialize};
use verso_env::Env;
use versodb::Value;

use super::procedures::{NAME, create};
use super::{E2Options, E2Task};
use crate::BenchError;
use crate::wire::{RunningServer, Transport};

/// Durable commits of several threads in one process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Concurrent {
    pub clients: u32,
    pub commits_per_s: f64,
    pub fsyncs: u64,
}

/// Commits of several clients through the server.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Wire {
    pub clients: u32,
    pub durable_per_s: f64,
    pub nowait_per_s: f64,
}

/// Runs `client` on so many threads until the time is up; what they have counted, by second.
fn rate(
    clients: u32,
    time: Duration,
    client: impl Fn(u32, &dyn Fn() -> Option<u64>) -> Result<(), BenchError> + Sync,
) -> Result<f64, BenchError> {
    let (stop, next) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for number in 0..clients {
            let (stop, next, client) = (&stop, &next, &client);
            let id = move || (!stop.load(Ordering::Relaxed)).then(|| next.fetch_add(1, Ordering::Relaxed));
            threads.push(scope.spawn(move || client(number, &id)));
        }
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
        for thread in threads {
            let failed = |_| BenchError::Usage("a client's thread has panicked".to_owned());
            thread.join().map_err(failed)??;
        }
        Ok(next.load(Ordering::Relaxed) as f64 / time.as_secs_f64())
    })
}

/// Threads of this process.
pub(super) fn embedded(
    _env: &Env,
    task: &E2Task,
    clients: u32,
    millis: u64,
) -> Result<Concurrent, BenchError> {
    let error = BenchError::engine::<versodb::Error>(NAME);
    let (database, connection) = create(task)?;
    drop(connection);
    let before = database.statistics().log.fsyncs;
    let commits_per_s = rate(clients, Duration::from_millis(millis), |_, next| {
        let mut connection = database.connect().map_err(&error)?;
        let insert = connection.prepare("INSERT INTO demo VALUES ($1, $2, $3)").map_err(&error)?;
        while let Some(id) = next() {
            let id = i32::try_from(id).unwrap_or(i32::MAX);
            let row = [Value::Int4(id), Value::text("Katie"), Value::Int4(id % 10_000)];
            insert.execute(&row).map_err(&error)?;
        }
        Ok(())
    })?;
    let fsyncs = database.statistics().log.fsyncs - before;
    database.close().map_err(&error)?;
    Ok(Concurrent { clients, commits_per_s, fsyncs })
}

/// The table of the experiment, made anew.
pub(super) const TABLE: &str = "DROP TABLE IF EXISTS demo;
    CREATE TABLE demo (id INTEGER PRIMARY KEY, text VARCHAR(15), number INTEGER)";

/// Clients of Verso's server.
pub(super) fn wire(options: &E2Options, folder: &Path) -> Result<Vec<Wire>, BenchError> {
    let server = RunningServer::start(folder, options.pool_bytes, Transport::Unix)?;
    let all = measure(&server.dsn(Transport::Unix), options.seconds, NAME)?;
    server.stop()?;
    Ok(all)
}

/// Clients of a server, with prepared statements: durable, and by `synchronous_commit = off`.
pub(super) fn measure(dsn: &str, seconds: u64, name: &'static str) -> Result<Vec<Wire>, BenchError> {
    let error = BenchError::engine::<postgres::Error>(name);
    let connect = || Client::connect(dsn, NoTls).map_err(&error);
    let measure = |clients: u32, set: &str| {
        connect()?.batch_execute(TABLE).map_err(&error)?;
        rate(clients, Duration::from_secs(seconds), |_, next| {
            let mut client = connect()?;
            client.batch_execute(set).map_err(&error)?;
            let insert = client.prepare("INSERT INTO demo VALUES ($1, $2, $3)").map_err(&error)?;
            while let Some(id) = next() {
                let id = i32::try_from(id).unwrap_or(i32::MAX);
                client.execute(&insert, &[&id, &"Katie", &(id % 10_000)]).map_err(&error)?;
            }
            Ok(())
        })
    };
    let mut all = Vec::new();
    for clients in [1, 4, 16] {
        eprintln!("e2: {name}, {clients} clients of a server");
        let durable_per_s = measure(clients, "SET synchronous_commit = on")?;
        let nowait_per_s = measure(clients, "SET synchronous_commit = off")?;
        all.push(Wire { clients, durable_per_s, nowait_per_s });
    }
    Ok(all)
}
