//! The child's side: clients, each a thread with a connection, and what their commits took.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use serde::{Deserialize, Serialize};
use verso_env::Env;
use versodb::{Connection, Database, Options, params};

use crate::BenchError;

/// What a child process does.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HotTask {
    /// The file to make.
    pub hot_database: PathBuf,
    /// Clients at one time.
    pub clients: u32,
    /// For so long.
    pub seconds: u64,
    /// Whether the balance is RESERVABLE.
    pub reservable: bool,
    /// Bytes of the pool.
    pub pool_bytes: u64,
}

/// What a child process found.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HotFigures {
    /// Commits a second of all clients together.
    pub commits_per_s: f64,
    /// Milliseconds of a transaction, from BEGIN to its durable COMMIT: median.
    pub p50_ms: f64,
    /// The same: 95 of a hundred took no longer.
    pub p95_ms: f64,
    /// How many there were.
    pub commits: u64,
}

fn error(error: versodb::Error) -> BenchError {
    BenchError::engine("verso")(error)
}

/// Runs the clients and verifies the balance.
pub(crate) fn run_task(env: &Env, task: &HotTask) -> Result<HotFigures, BenchError> {
    let options = Options::new().buffer_pool(task.pool_bytes);
    let database = Database::create(&task.hot_database, options).map_err(error)?;
    let mut connection = database.connect().map_err(error)?;
    let kind = if task.reservable { " RESERVABLE" } else { "" };
    for sql in [
        format!("CREATE TABLE account (id int PRIMARY KEY, balance bigint NOT NULL{kind})").as_str(),
        "CREATE TABLE entry (id bigint PRIMARY KEY, amount bigint)",
        "INSERT INTO account SELECT n, 0 FROM generate_series(1, 100) n",
    ] {
        connection.execute(sql).map_err(error)?;
    }
    let (done, ready) = (AtomicBool::new(false), AtomicU32::new(0));
    let start = env.clock.monotonic_nanos();
    let results: Vec<Result<Vec<u64>, BenchError>> = std::thread::scope(|scope| {
        let clients: Vec<_> = (0..task.clients)
            .map(|client| {
                let (database, done, ready) = (&database, &done, &ready);
                scope.spawn(move || {
                    let connection = database.connect().map_err(error);
                    ready.fetch_add(1, Ordering::AcqRel);
                    while ready.load(Ordering::Acquire) < task.clients {
                        std::hint::spin_loop();
                    }
                    let worked = work(env, &mut connection?, client, done);
                    // Who cannot go on ends the run.
                    worked.inspect_err(|_| done.store(true, Ordering::Release))
                })
            })
            .collect();
        let end = start + task.seconds * 1_000_000_000;
        while env.clock.monotonic_nanos() < end && !done.load(Ordering::Acquire) {
            env.clock.sleep(std::time::Duration::from_millis(5));
        }
        done.store(true, Ordering::Release);
        let panicked = |_| Err(BenchError::Usage("a thread panicked".into()));
        clients.into_iter().map(|client| client.join().unwrap_or_else(panicked)).collect()
    });
    let nanos = env.clock.monotonic_nanos() - start;
    let mut took = Vec::new();
    for result in results {
        took.append(&mut result?);
    }
    verify(&mut connection, took.len() as u64)?;
    took.sort_unstable();
    let at = |percent: usize| took.get(took.len() * percent / 100).map_or(0.0, |nanos| *nanos as f64 / 1e6);
    Ok(HotFigures {
        commits_per_s: took.len() as f64 * 1e9 / nanos.max(1) as f64,
        p50_ms: at(50),
        p95_ms: at(95),
        commits: took.len() as u64,
    })
}

/// One client's transactions until all are done; nanoseconds of each.
fn work(
    env: &Env,
    connection: &mut Connection,
    client: u32,
    done: &AtomicBool,
) -> Result<Vec<u64>, BenchError> {
    let update =
        connection.prepare("UPDATE account SET balance = balance + $1 WHERE id = 1").map_err(error)?;
    let insert = connection.prepare("INSERT INTO entry VALUES ($1, $2)").map_err(error)?;
    let mut took = Vec::new();
    for number in 0_i64.. {
        if done.load(Ordering::Acquire) {
            break;
        }
        let amount = number % 7 + 1;
        let id = (i64::from(client) << 40) + number;
        let start = env.clock.monotonic_nanos();
        connection.execute("BEGIN").map_err(error)?;
        let changed = update.execute(&params![amount]).map_err(error)?;
        insert.execute(&params![id, amount]).map_err(error)?;
        connection.execute("COMMIT").map_err(error)?;
        took.push(env.clock.monotonic_nanos() - start);
        if changed != 1 {
            let message = format!("adding to the balance changed {changed} rows");
            return Err(BenchError::Wrong { engine: "verso", message });
        }
    }
    Ok(took)
}

/// The balance is what the entries sum up to, and there is one for each commit.
fn verify(connection: &mut Connection, commits: u64) -> Result<(), BenchError> {
    let sql = "SELECT (SELECT balance FROM account WHERE id = 1), coalesce(cast(sum(amount) AS bigint), 0), count(*) FROM entry";
    let rows = connection.query(sql).map_err(error)?.into_rows();
    let value = |at: usize| rows[0].get::<i64>(at).map_err(error);
    let (balance, sum, count) = (value(0)?, value(1)?, value(2)?);
    if balance == sum && count.cast_unsigned() == commits {
        return Ok(());
    }
    let message =
        format!("a balance of {balance} for entries of {sum}; {count} of them for {commits} commits");
    Err(BenchError::Wrong { engine: "verso", message })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_add_to_one_balance_with_and_without_reservations() {
        for reservable in [false, true] {
            let dir = tempfile::tempdir().expect("a folder");
            let hot_database = dir.path().join("hot.verso");
            let task = HotTask { hot_database, clients: 3, seconds: 0, reservable, pool_bytes: 16 << 20 };
            let figures = run_task(&Env::real(), &task).expect("figures");
            assert!(figures.commits_per_s >= 0.0 && figures.p50_ms <= figures.p95_ms, "{figures:?}");
        }
    }
}
