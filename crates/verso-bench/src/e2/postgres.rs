//! PostgreSQL beside Verso: the same procedures, steps and clients, on a server that is there.
//!
//! It has no COMMIT WRITE: what waits for the disk is measured by `synchronous_commit = on`, what does not by `off`.

use std::collections::BTreeMap;

use postgres::{Client, NoTls};
use serde::Serialize;
use verso_env::Env;

use super::clients::{self, Wire};
use super::procedures::Case;
use super::{E2Options, Loaded, steps};
use crate::BenchError;

const NAME: &str = "postgres";

/// What was found of it.
#[derive(Debug, Serialize)]
pub(super) struct Peer {
    /// As it calls itself.
    pub version: String,
    /// Runs over all rows, by the names that Verso's have.
    pub loops: BTreeMap<&'static str, Loaded>,
    /// Clients through the Unix socket or the network, as the connection string says.
    pub wire: Vec<Wire>,
    /// Nanoseconds of single steps.
    pub plpgsql: BTreeMap<String, f64>,
}

/// Measures the server at `dsn`; its table `demo` is made anew.
pub(super) fn run(env: &Env, options: &E2Options, dsn: &str) -> Result<Peer, BenchError> {
    let error = BenchError::engine::<postgres::Error>(NAME);
    let mut client = Client::connect(dsn, NoTls).map_err(&error)?;
    let version: String = client.query_one("SHOW server_version", &[]).map_err(&error)?.get(0);
    let mut loops = BTreeMap::new();
    for (case, waits) in
        [(Case::AtEnd, true), (Case::Default, true), (Case::NowaitBatch, false), (Case::Bulk, true)]
    {
        eprintln!("e2: {NAME}, {}", case.name());
        client.batch_execute(clients::TABLE).map_err(&error)?;
        let set = if waits { "SET synchronous_commit = on" } else { "SET synchronous_commit = off" };
        client.batch_execute(set).map_err(&error)?;
        // A commit for each row is COMMIT in both.
        let script = if case == Case::NowaitBatch { Case::Default } else { case }.script(options.rows);
        let start = env.clock.monotonic_nanos();
        client.batch_execute(&script).map_err(&error)?;
        let nanos = env.clock.monotonic_nanos() - start;
        let count: i64 = client.query_one("SELECT count(*) FROM demo", &[]).map_err(&error)?.get(0);
        if count != options.rows.cast_signed() {
            let message = format!("the table has {count} rows, not {}", options.rows);
            return Err(BenchError::Wrong { engine: NAME, message });
        }
        loops.insert(case.name(), Loaded::new(options.rows, nanos));
    }
    client.batch_execute("SET synchronous_commit = on").map_err(&error)?;
    client.batch_execute(clients::TABLE).map_err(&error)?;
    eprintln!("e2: {NAME}, steps of PL/pgSQL");
    let plpgsql = steps::measure(env, options.rows, &mut |sql| client.batch_execute(sql).map_err(&error))?;
    let wire = clients::measure(dsn, options.seconds, NAME)?;
    client
        .batch_execute("DROP TABLE IF EXISTS demo; DROP FUNCTION IF EXISTS one_more(integer)")
        .map_err(&error)?;
    Ok(Peer { version, loops, wire, plpgsql })
}
