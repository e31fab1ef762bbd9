//! The load: pgbench, or the same transactions by a driver of our own.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use postgres::{Client, NoTls};
use verso_env::Env;

use crate::BenchError;
use crate::error::words;

/// Accounts for each unit of scale.
const ACCOUNTS: u32 = 100_000;
/// Tellers for each unit of scale.
const TELLERS: u32 = 10;
/// Sums that must be equal after the load (W1).
const SUMS: &str = "SELECT (SELECT coalesce(sum(abalance), 0) FROM pgbench_accounts), \
    (SELECT coalesce(sum(tbalance), 0) FROM pgbench_tellers), \
    (SELECT coalesce(sum(bbalance), 0) FROM pgbench_branches), \
    (SELECT coalesce(sum(delta), 0) FROM pgbench_history)";

/// What a transaction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Workload {
    SelectPrepared,
    SelectSimple,
    TpcbDurable,
}

impl Workload {
    pub const ALL: [Workload; 3] = [Workload::SelectPrepared, Workload::SelectSimple, Workload::TpcbDurable];

    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Workload::SelectPrepared => "select_prepared",
            Workload::SelectSimple => "select_simple",
            Workload::TpcbDurable => "tpcb_durable",
        }
    }
}

/// Who makes the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Load {
    Pgbench,
    Own,
}

fn refused(error: &postgres::Error) -> BenchError {
    BenchError::Engine { engine: "server", message: words(error) }
}

fn connect(dsn: &str) -> Result<Client, BenchError> {
    Client::connect(dsn, NoTls).map_err(|error| refused(&error))
}

impl Load {
    /// pgbench if it is there.
    pub fn choose(own: bool) -> Load {
        let there =
            Command::new("pgbench").arg("--version").output().is_ok_and(|output| output.status.success());
        if there && !own { Load::Pgbench } else { Load::Own }
    }

    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Load::Pgbench => "pgbench",
            Load::Own => "own driver",
        }
    }

    /// Makes and fills the tables.
    pub fn prepare(self, dsn: &str, scale: u32) -> Result<(), BenchError> {
        match self {
            Load::Pgbench => pgbench(dsn, &["-i", "-q", "-s", &scale.to_string()]).map(drop),
            Load::Own => prepare(dsn, scale).map_err(|error| refused(&error)),
        }
    }

    /// Transactions a second.
    pub fn run(
        self,
        env: &Env,
        dsn: &str,
        workload: Workload,
        clients: u32,
        duration: Duration,
        scale: u32,
    ) -> Result<f64, BenchError> {
        match self {
            Load::Own => Ok(drive(env, dsn, workload, clients, duration, scale)?.per_s),
            Load::Pgbench => {
                let (clients, seconds) = (clients.to_string(), duration.as_secs().max(1).to_string());
                let mut arguments = vec!["-n", "-c", &clients, "-j", "2", "-T", &seconds];
                if clients == "1" {
                    arguments[4] = "1";
                }
                arguments.extend(match workload {
                    Workload::SelectPrepared => ["-M", "prepared", "-S"].as_slice(),
                    Workload::SelectSimple => &["-M", "simple", "-S"],
                    Workload::TpcbDurable => &["-M", "prepared"],
                });
                let output = pgbench(dsn, &arguments)?;
                rate_of(&output).ok_or_else(|| BenchError::Engine {
                    engine: "pgbench",
                    message: format!("no figure in its output:\n{output}"),
                })
            }
        }
    }
}

/// `tps = 1234.5 (without initial connection time)`; transactions that failed do not count as figures at all.
fn rate_of(output: &str) -> Option<f64> {
    let failed = output.lines().find_map(|line| line.strip_prefix("number of failed transactions: "));
    if failed.is_some_and(|count| !count.starts_with("0 ")) {
        return None;
    }
    let figure = output.lines().find_map(|line| line.strip_prefix("tps = "))?;
    figure.split_whitespace().next()?.parse().ok()
}

fn pgbench(dsn: &str, arguments: &[&str]) -> Result<String, BenchError> {
    let failed = |message: String| BenchError::Engine { engine: "pgbench", message };
    let output = Command::new("pgbench")
        .args(arguments)
        .arg(dsn)
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        return Err(failed(String::from_utf8_lossy(&output.stderr).into_owned()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Money moves, none is lost (W1).
pub(super) fn check_sums(dsn: &str) -> Result<(), BenchError> {
    let row = connect(dsn)?.query_one(SUMS, &[]).map_err(|error| refused(&error))?;
    let sums: Vec<i64> = (0..4).map(|i| row.get(i)).collect();
    // History has every transaction since it was emptied, and the balances began at nothing.
    if sums.windows(2).all(|pair| pair[0] == pair[1]) {
        return Ok(());
    }
    let message = format!("sums of accounts, tellers, branches and history differ: {sums:?}");
    Err(BenchError::Wrong { engine: "server", message })
}

// ── our own driver ───────────────────────────────────────────────────────────────────────────────────────────────────

fn prepare(dsn: &str, scale: u32) -> Result<(), postgres::Error> {
    let mut client = Client::connect(dsn, NoTls)?;
    client.batch_execute(
        "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history;
         CREATE TABLE pgbench_history (tid integer, bid integer, aid integer, delta integer, mtime timestamp, filler char(22));
         CREATE TABLE pgbench_tellers (tid integer NOT NULL, bid integer, tbalance integer, filler char(84));
         CREATE TABLE pgbench_accounts (aid integer NOT NULL, bid integer, abalance integer, filler char(84));
         CREATE TABLE pgbench_branches (bid integer NOT NULL, bbalance integer, filler char(88))",
    )?;
    let fill = format!(
        "INSERT INTO pgbench_branches SELECT n, 0, '' FROM generate_series(1, {scale}) AS s(n);
         INSERT INTO pgbench_tellers SELECT n, (n - 1) / {TELLERS} + 1, 0, '' FROM generate_series(1, {}) AS s(n);
         INSERT INTO pgbench_accounts SELECT n, (n - 1) / {ACCOUNTS} + 1, 0, '' FROM generate_series(1, {}) AS s(n)",
        scale * TELLERS,
        scale * ACCOUNTS
    );
    client.batch_execute(&fill)?;
    client.batch_execute(
        "ALTER TABLE pgbench_branches ADD PRIMARY KEY (bid);
         ALTER TABLE pgbench_tellers ADD PRIMARY KEY (tid);
         ALTER TABLE pgbench_accounts ADD PRIMARY KEY (aid)",
    )
}

/// What clients did within a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Driven {
    /// Transactions a second.
    pub(crate) per_s: f64,
    /// Microseconds of each.
    pub(crate) micros: Vec<u32>,
}

/// TPC-B's transactions, each durable, by our own driver.
#[derive(Debug)]
pub(crate) struct TpcB {
    dsn: String,
    scale: u32,
}

impl TpcB {
    /// Makes and fills the tables.
    pub(crate) fn prepare(dsn: &str, scale: u32) -> Result<TpcB, BenchError> {
        prepare(dsn, scale).map_err(|error| refused(&error))?;
        Ok(TpcB { dsn: dsn.to_owned(), scale })
    }

    /// Runs transactions for a while.
    pub(crate) fn run(&self, env: &Env, clients: u32, duration: Duration) -> Result<Driven, BenchError> {
        drive(env, &self.dsn, Workload::TpcbDurable, clients, duration, self.scale)
    }

    /// W1.
    pub(crate) fn check(&self) -> Result<(), BenchError> {
        check_sums(&self.dsn)
    }
}

/// Runs the transactions with a thread for each client and times those that end within the time.
fn drive(
    env: &Env,
    dsn: &str,
    workload: Workload,
    clients: u32,
    duration: Duration,
    scale: u32,
) -> Result<Driven, BenchError> {
    let (begun, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut micros = Vec::new();
    let connections = (0..clients).map(|_| connect(dsn)).collect::<Result<Vec<_>, _>>()?;
    let mut nanos = 0;
    let result = std::thread::scope(|scope| {
        let threads: Vec<_> = connections
            .into_iter()
            .map(|mut client| {
                let (begun, done) = (&begun, &done);
                scope.spawn(move || -> Result<Vec<u32>, postgres::Error> {
                    let mut micros = Vec::new();
                    let mut transactions = Transactions::new(&mut client, env, workload, scale)?;
                    while !begun.load(Ordering::Acquire) {
                        std::thread::yield_now();
                    }
                    while !done.load(Ordering::Relaxed) {
                        let start = env.clock.monotonic_nanos();
                        transactions.one(&mut client)?;
                        let nanos = env.clock.monotonic_nanos().saturating_sub(start);
                        micros.push(u32::try_from(nanos / 1000).unwrap_or(u32::MAX));
                    }
                    Ok(micros)
                })
            })
            .collect();
        let start = env.clock.monotonic_nanos();
        begun.store(true, Ordering::Release);
        env.clock.sleep(duration);
        done.store(true, Ordering::Relaxed);
        nanos = env.clock.monotonic_nanos().saturating_sub(start);
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(result) => {
                micros.extend(result.map_err(|error| refused(&error))?);
                Ok(())
            }
            Err(_) => Err(BenchError::Engine { engine: "driver", message: "a client panicked".to_owned() }),
        })
    });
    result?;
    Ok(Driven { per_s: micros.len() as f64 / (nanos.max(1) as f64 / 1e9), micros })
}

/// One client's transactions.
struct Transactions<'e> {
    env: &'e Env,
    workload: Workload,
    scale: u32,
    prepared: Vec<postgres::Statement>,
}

impl<'e> Transactions<'e> {
    fn new(
        client: &mut Client,
        env: &'e Env,
        workload: Workload,
        scale: u32,
    ) -> Result<Transactions<'e>, postgres::Error> {
        let texts: &[&str] = match workload {
            Workload::SelectSimple => &[],
            Workload::SelectPrepared => &["SELECT abalance FROM pgbench_accounts WHERE aid = $1"],
            Workload::TpcbDurable => &[
                "BEGIN",
                "UPDATE pgbench_accounts SET abalance = abalance + $2 WHERE aid = $1",
                "SELECT abalance FROM pgbench_accounts WHERE aid = $1",
                "UPDATE pgbench_tellers SET tbalance = tbalance + $2 WHERE tid = $1",
                "UPDATE pgbench_branches SET bbalance = bbalance + $2 WHERE bid = $1",
                "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES ($1, $2, $3, $4, CURRENT_TIMESTAMP)",
                "END",
            ],
        };
        let prepared = texts.iter().map(|text| client.prepare(text)).collect::<Result<_, _>>()?;
        Ok(Transactions { env, workload, scale, prepared })
    }

    fn random(&self, below: u32) -> i32 {
        (self.env.random.next_u64() % u64::from(below)) as i32
    }

    fn one(&mut self, client: &mut Client) -> Result<(), postgres::Error> {
        let account = self.random(self.scale * ACCOUNTS) + 1;
        match self.workload {
            Workload::SelectSimple => {
                let text = format!("SELECT abalance FROM pgbench_accounts WHERE aid = {account}");
                client.simple_query(&text).map(drop)
            }
            Workload::SelectPrepared => client.query_one(&self.prepared[0], &[&account]).map(drop),
            Workload::TpcbDurable => {
                let (branch, teller) = (self.random(self.scale) + 1, self.random(self.scale * TELLERS) + 1);
                let delta = self.random(10_001) - 5_000;
                let p = &self.prepared;
                client.execute(&p[0], &[])?;
                client.execute(&p[1], &[&account, &delta])?;
                client.query_one(&p[2], &[&account])?;
                client.execute(&p[3], &[&teller, &delta])?;
                client.execute(&p[4], &[&branch, &delta])?;
                client.execute(&p[5], &[&teller, &branch, &account, &delta])?;
                client.execute(&p[6], &[]).map(drop)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_counts_only_if_nothing_failed() {
        let output = |failed: &str| {
            format!(
                "number of failed transactions: {failed}\ntps = 123.5 (without initial connection time)\n"
            )
        };
        assert_eq!(rate_of(&output("0 (0.000%)")), Some(123.5));
        assert_eq!(rate_of(&output("3 (0.100%)")), None);
        assert_eq!(rate_of("nothing"), None);
    }
}
