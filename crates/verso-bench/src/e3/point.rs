//! One point of the ramp: a copy of the loaded database, a placement, a pool, a run of TPC-C.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use verso_env::Env;
use versodb::{Database, Options, Value};

use super::E3Options;
use crate::BenchError;
use crate::tpcc::{Embedded, Load, TpccFigures, check, drive, load};

/// Threads that fill the tables.
const LOADERS: u32 = 2;
/// The pool has room for this much at least: a worker's batches, and the pages that are latched.
const LEAST_POOL: u64 = 8 << 20;

/// What a point is about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    pub warehouses: u32,
    /// "quarter" of the data, or "all" of it.
    pub pool: &'static str,
    pub pool_bytes: u64,
    pub colocate: bool,
}

/// Figures of one point.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Point {
    /// Warehouses.
    pub warehouses: u32,
    /// Terminals at a time.
    pub connections: u32,
    /// "quarter" where the buffer pool has a quarter of the data's size, "all" where all of it fits.
    pub pool: &'static str,
    /// Bytes of the buffer pool.
    pub pool_bytes: u64,
    /// Whether what one transaction writes stands together.
    pub colocate: bool,
    /// New orders a minute.
    pub tpmc: f64,
    /// Median response time of a new order in milliseconds …
    pub p50_ms: f64,
    /// … and what 5 per cent of them exceed.
    pub p95_ms: f64,
    /// Transactions that ended in a commit, the warm-up's included, as the writes below are.
    pub commits: u64,
    /// Pages written until the file had all changes, by kind of page and table.
    pub page_writes: BTreeMap<String, BTreeMap<String, u64>>,
    /// All of them, for each commit.
    pub writes_per_tx: f64,
    /// Bytes of the file at the end.
    pub bytes: u64,
    /// By how much it has grown.
    pub grown_bytes: u64,
}

impl Point {
    /// Writes of pages of one kind, for each commit.
    pub(super) fn writes_of(&self, kind: &str) -> f64 {
        let writes: u64 = self.page_writes.get(kind).map_or(0, |tables| tables.values().sum());
        writes as f64 / self.commits.max(1) as f64
    }
}

fn refused(error: versodb::Error) -> BenchError {
    BenchError::engine("verso")(error)
}

fn file_bytes(database: &Database) -> u64 {
    let space = database.space();
    space.total_pages * space.page_size
}

/// Makes a database with so many warehouses; its bytes.
pub(super) fn fill(env: &Env, path: &Path, warehouses: u32, seed: u64) -> Result<u64, BenchError> {
    crate::folder::remove_database(path)?;
    let target = Embedded::new(Database::create(path, Options::new()).map_err(refused)?);
    load(env, &target, warehouses, LOADERS, seed)?;
    let bytes = file_bytes(target.database());
    target.close()?;
    Ok(bytes)
}

/// Runs TPC-C on the database.
pub(super) fn measure(
    env: &Env,
    path: &Path,
    asked: &Asked,
    options: &E3Options,
) -> Result<Point, BenchError> {
    let pool = Options::new().buffer_pool(asked.pool_bytes.max(LEAST_POOL));
    let target = Embedded::new(Database::open(path, pool).map_err(refused)?);
    let database = target.database();
    let setting = if asked.colocate { "on" } else { "off" };
    let mut connection = database.connect().map_err(refused)?;
    connection.execute(&format!("ALTER SYSTEM SET colocate = {setting}")).map_err(refused)?;
    database.checkpoint().map_err(refused)?;
    let (before, bytes, commits) =
        (page_writes(database)?, file_bytes(database), database.statistics().commits);
    let connections = asked.warehouses.saturating_mul(options.terminals);
    let notes = drive(
        env,
        &target,
        &Load {
            warehouses: asked.warehouses,
            connections,
            warm_up: Duration::from_secs(options.warm_up),
            duration: Duration::from_secs(options.seconds),
            think: false,
            procedures: false,
            seed: options.seed.wrapping_add(1),
        },
    )?;
    if let Some(error) = &notes.first_error {
        let message = format!("{} transactions failed, the first with {error}", notes.errors);
        return Err(BenchError::Engine { engine: "tpcc", message });
    }
    // What is still only in memory would have to be written, too.
    database.checkpoint().map_err(refused)?;
    let commits = database.statistics().commits - commits;
    let mut after = page_writes(database)?;
    for (kind, tables) in before {
        for (table, writes) in tables {
            let now = after.entry(kind.clone()).or_default().entry(table).or_default();
            *now = now.saturating_sub(writes);
        }
    }
    after.values_mut().for_each(|tables| tables.retain(|_, writes| *writes > 0));
    after.retain(|_, tables| !tables.is_empty());
    let now = file_bytes(database);
    check(&target)?;
    let figures = TpccFigures::new(notes);
    let writes: u64 = after.values().flat_map(BTreeMap::values).sum();
    let of = |times: &BTreeMap<&'static str, f64>| times.get("new_order").copied().unwrap_or_default();
    let point = Point {
        warehouses: asked.warehouses,
        connections,
        pool: asked.pool,
        pool_bytes: asked.pool_bytes.max(LEAST_POOL),
        colocate: asked.colocate,
        tpmc: figures.tpmc,
        p50_ms: of(&figures.p50_ms),
        p95_ms: of(&figures.p95_ms),
        commits,
        page_writes: after,
        writes_per_tx: writes as f64 / commits.max(1) as f64,
        bytes: now,
        grown_bytes: now.saturating_sub(bytes),
    };
    drop(connection);
    target.close()?;
    Ok(point)
}

/// Pages written since the database was opened, by kind and table; what belongs to no table of the user's is the system's.
fn page_writes(database: &Database) -> Result<BTreeMap<String, BTreeMap<String, u64>>, BenchError> {
    let mut connection = database.connect().map_err(refused)?;
    let sql = "SELECT page_kind, coalesce(table_name, 'system'), writes FROM verso_page_writes";
    let mut counts: BTreeMap<String, BTreeMap<String, u64>> = BTreeMap::new();
    for row in connection.query(sql).map_err(refused)?.into_rows() {
        let writes = match row.values().get(2) {
            Some(Value::Int8(writes)) => u64::try_from(*writes).unwrap_or_default(),
            _ => 0,
        };
        *counts.entry(row.text(0)).or_default().entry(row.text(1)).or_default() += writes;
    }
    Ok(counts)
}
