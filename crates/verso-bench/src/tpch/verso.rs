//! TPC-H on Verso, in a process of its own.

use std::sync::atomic::{AtomicUsize, Ordering};

use indicatif::{ProgressBar, ProgressStyle};
use serde_json::Value as Json;
use verso_env::Env;
use versodb::{Connection, Database, Options, TxOptions};

use super::rows::{TABLES, Table};
use super::{Found, Load, Query, TpchTask, millis_of};
use crate::BenchError;
use crate::folder::remove_database;
use crate::tpch::queries::{Answer, OF_PEER, compare, queries};

const NAME: &str = "verso";

fn engine(error: impl std::error::Error) -> BenchError {
    BenchError::engine(NAME)(error)
}

/// Loads and asks.
pub(super) fn run(env: &Env, task: &TpchTask) -> Result<Found, BenchError> {
    let path = task.folder.join("tpch.verso");
    remove_database(&path)?;
    let options = Options::new().buffer_pool(task.pool_bytes);
    let database = Database::create(&path, options).map_err(engine)?;
    let load = load(env, &database, task)?;
    let mut connection = database.connect().map_err(engine)?;
    if let Some(work_mem) = &task.work_mem {
        connection.execute(&format!("SET work_mem = '{work_mem}'")).map_err(engine)?;
    }
    let mut found = Found { load, ..Found::default() };
    for (at, sql) in queries(task.scale).iter().enumerate() {
        let number = at + 1;
        if !task.is_asked(number) {
            continue;
        }
        eprintln!("tpch: {NAME}, query {number}");
        let (mut query, answer) = ask(env, &mut connection, task, sql)?;
        connection.execute("SET parallel_workers = 1").map_err(engine)?;
        let (alone, again) = ask(env, &mut connection, task, sql)?;
        connection.execute("RESET parallel_workers").map_err(engine)?;
        compare(&answer, &again, OF_PEER).map_err(|message| BenchError::Wrong {
            engine: NAME,
            message: format!("query {number}, one worker against all: {message}"),
        })?;
        query.ms_1_worker = Some(alone.ms);
        let (memory, spilled) = footprint(&mut connection, sql)?;
        (query.mem_bytes, query.spilled_bytes) = (Some(memory), Some(spilled));
        found.queries.insert(number, query);
        found.answers.insert(number, answer);
    }
    drop(connection);
    database.close().map_err(engine)?;
    remove_database(&path)?;
    Ok(found)
}

/// The median of the task's runs, behind one that is not counted.
fn ask(
    env: &Env,
    connection: &mut Connection,
    task: &TpchTask,
    sql: &str,
) -> Result<(Query, Answer), BenchError> {
    millis_of(env, task.runs, || {
        let rows = connection.query(sql).map_err(engine)?.into_rows();
        Ok(rows.iter().map(|row| (0..row.values().len()).map(|at| row.text(at)).collect()).collect())
    })
}

/// Bytes that the operators held and spilled, as EXPLAIN tells.
fn footprint(connection: &mut Connection, sql: &str) -> Result<(u64, u64), BenchError> {
    let explain = format!("EXPLAIN (ANALYZE, MEMORY, TIMING OFF, FORMAT JSON) {sql}");
    let text: String = connection.query(&explain).map_err(engine)?.into_rows()[0].text(0);
    let plan: Json = serde_json::from_str(&text).map_err(engine)?;
    let mut sums = (0, 0);
    add_up(&plan, &mut sums);
    Ok((sums.0 * 1024, sums.1 * 1024))
}

fn add_up(plan: &Json, sums: &mut (u64, u64)) {
    match plan {
        Json::Array(nodes) => nodes.iter().for_each(|node| add_up(node, sums)),
        Json::Object(fields) => {
            let kilobytes = |key| fields.get(key).and_then(Json::as_u64).unwrap_or_default();
            sums.0 += kilobytes("Peak Memory Usage");
            sums.1 += kilobytes("Disk Usage");
            fields.values().for_each(|field| add_up(field, sums));
        }
        _ => {}
    }
}

fn load(env: &Env, database: &Database, task: &TpchTask) -> Result<Load, BenchError> {
    let mut connection = database.connect().map_err(engine)?;
    let start = env.clock.monotonic_nanos();
    for table in TABLES {
        connection.execute(&table.create()).map_err(engine)?;
    }
    // The parts of all tables, the largest table first: what is left for the end is small.
    let parts: Vec<(Table, i32)> =
        TABLES.iter().rev().flat_map(|table| (1..=table.parts).map(|part| (*table, part))).collect();
    let bar = ProgressBar::new(parts.len() as u64);
    if let Ok(style) = ProgressStyle::with_template("verso: loading {wide_bar} {pos}/{len} {elapsed}") {
        bar.set_style(style);
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), BenchError> {
        let mut connection = database.connect().map_err(engine)?;
        while let Some((table, part)) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut transaction = connection.transaction(TxOptions::new()).map_err(engine)?;
            let mut appender = transaction.connection().appender(table.name, &[]).map_err(engine)?;
            table.rows(task.scale, *part, &mut |line| appender.append(line.values()).map_err(engine))?;
            appender.finish().map_err(engine)?;
            transaction.commit().map_err(engine)?;
            bar.inc(1);
        }
        Ok(())
    };
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let panicked = || BenchError::Engine { engine: NAME, message: "a loader panicked".to_owned() };
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| panicked())?)
    })?;
    bar.finish_and_clear();
    let data_s = (env.clock.monotonic_nanos() - start) as f64 / 1e9;
    for table in TABLES {
        connection.execute(&table.add_key()).map_err(engine)?;
    }
    let s = (env.clock.monotonic_nanos() - start) as f64 / 1e9;
    connection.execute("ANALYZE").map_err(engine)?;
    database.checkpoint().map_err(engine)?;
    let space = database.space();
    Ok(Load { s, data_s, bytes: Some(space.total_pages * space.page_size) })
}
