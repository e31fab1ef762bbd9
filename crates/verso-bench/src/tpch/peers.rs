//! TPC-H on peers: they read files of CSV, get the same keys, and answer the same queries.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use postgres::{Client, NoTls, SimpleQueryMessage};
use verso_env::Env;

use super::queries::{Answer, queries};
use super::rows::{TABLES, Table};
use super::{Found, Load, Query, TpchTask, millis_of};
use crate::BenchError;
use crate::error::in_time;
use crate::folder::remove_database;
use crate::peers::duckdb::{self, Duckdb};

const POSTGRES: &str = "postgres";
const SCHEMA: &str = "verso_bench";

/// What the workload needs of a peer.
trait Engine {
    fn name(&self) -> &'static str;
    fn run(&mut self, sql: &str) -> Result<(), BenchError>;
    fn answer(&mut self, sql: &str) -> Result<Answer, BenchError>;
    /// Fills a table from a file.
    fn copy(&mut self, table: &Table, file: &Path) -> Result<(), BenchError>;
    /// Lets statements use so many threads.
    fn use_threads(&mut self, threads: usize) -> Result<(), BenchError>;
    /// Ends queries that take longer, if the engine can.
    fn limit(&mut self, seconds: u64) -> Result<(), BenchError>;
}

/// Writes the rows of all tables into files.
#[expect(clippy::disallowed_methods, reason = "files that peers read, in the real world")]
pub(super) fn write_files(folder: &Path, scale: f64) -> Result<(), BenchError> {
    for table in TABLES {
        let path = csv(folder, &table);
        let mut file = BufWriter::new(File::create(&path).map_err(BenchError::file(&path))?);
        let mut line = String::new();
        let written = (1..=table.parts).try_for_each(|part| {
            table.rows(scale, part, &mut |row| {
                line.clear();
                row.csv(&mut line);
                file.write_all(line.as_bytes())
            })
        });
        written.and_then(|()| file.flush()).map_err(BenchError::file(&path))?;
    }
    Ok(())
}

fn csv(folder: &Path, table: &Table) -> PathBuf {
    folder.join(format!("{}.csv", table.name))
}

/// All of the workload on DuckDB.
pub(super) fn duckdb(env: &Env, task: &TpchTask) -> Result<Found, BenchError> {
    let path = task.folder.join("tpch.duckdb");
    remove_database(&path)?;
    let mut engine = Duckdb::open(&path)?;
    engine.run(&format!("SET memory_limit = '{}B'", task.pool_bytes * 2))?;
    let mut found = measure(env, task, &mut engine)?;
    engine.run("CHECKPOINT")?;
    drop(engine);
    found.load.bytes = Some(path.metadata().map_err(BenchError::file(&path))?.len());
    remove_database(&path)?;
    Ok(found)
}

/// All of the workload on a PostgreSQL that runs already, in a schema of its own.
pub(super) fn postgres(env: &Env, task: &TpchTask, dsn: &str) -> Result<Found, BenchError> {
    let client = Client::connect(dsn, NoTls).map_err(BenchError::engine(POSTGRES))?;
    let mut engine = Postgres { client };
    engine.run(&format!(
        "DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA}; SET search_path = {SCHEMA}"
    ))?;
    let mut found = measure(env, task, &mut engine)?;
    let size = format!(
        "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c WHERE relnamespace = '{SCHEMA}'::regnamespace AND relkind = 'r'"
    );
    engine.limit(0)?;
    let size = engine.answer(&size)?;
    found.load.bytes = size.first().and_then(|row| row.first()?.parse().ok());
    engine.run(&format!("DROP SCHEMA {SCHEMA} CASCADE"))?;
    Ok(found)
}

fn measure(env: &Env, task: &TpchTask, engine: &mut impl Engine) -> Result<Found, BenchError> {
    let name = engine.name();
    eprintln!("tpch: {name}, loading");
    let start = env.clock.monotonic_nanos();
    let seconds = || (env.clock.monotonic_nanos() - start) as f64 / 1e9;
    for table in TABLES {
        engine.run(&table.create())?;
        engine.copy(&table, &csv(&task.folder, &table))?;
    }
    let data_s = seconds();
    for table in TABLES {
        engine.run(&table.add_key())?;
    }
    let mut found = Found { load: Load { s: seconds(), data_s, bytes: None }, ..Found::default() };
    engine.run("ANALYZE")?;
    engine.limit(task.limit)?;
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    for (at, sql) in queries(task.scale).iter().enumerate() {
        let number = at + 1;
        if !task.is_asked(number) {
            continue;
        }
        eprintln!("tpch: {name}, query {number}");
        engine.use_threads(cores)?;
        let Some((mut query, answer)) = in_time(millis_of(env, task.runs, || engine.answer(sql)))?.ok()
        else {
            eprintln!("tpch: {name}, query {number} takes more than {} s", task.limit);
            let ms = task.limit as f64 * 1e3;
            found.queries.insert(number, Query { ms, over_limit: true, ..Query::default() });
            continue;
        };
        engine.use_threads(1)?;
        let alone = in_time(millis_of(env, task.runs, || engine.answer(sql)))?.ok();
        query.ms_1_worker = alone.map(|(alone, _)| alone.ms);
        found.queries.insert(number, query);
        found.answers.insert(number, answer);
    }
    Ok(found)
}

impl Engine for Duckdb {
    fn name(&self) -> &'static str {
        duckdb::NAME
    }

    fn run(&mut self, sql: &str) -> Result<(), BenchError> {
        Duckdb::run(self, sql)
    }

    fn answer(&mut self, sql: &str) -> Result<Answer, BenchError> {
        let mut rows = Answer::new();
        self.query(sql, &mut |row| rows.push(row.iter().map(|cell| (*cell).to_owned()).collect()))?;
        Ok(rows)
    }

    fn copy(&mut self, table: &Table, file: &Path) -> Result<(), BenchError> {
        Duckdb::run(
            self,
            &format!("COPY {} FROM '{}' (FORMAT csv, HEADER false)", table.name, file.display()),
        )
    }

    fn use_threads(&mut self, threads: usize) -> Result<(), BenchError> {
        Duckdb::run(self, &format!("SET threads = {threads}"))
    }

    fn limit(&mut self, _seconds: u64) -> Result<(), BenchError> {
        Ok(())
    }
}

struct Postgres {
    client: Client,
}

impl Engine for Postgres {
    fn name(&self) -> &'static str {
        POSTGRES
    }

    fn run(&mut self, sql: &str) -> Result<(), BenchError> {
        self.client.batch_execute(sql).map_err(BenchError::engine(POSTGRES))
    }

    fn answer(&mut self, sql: &str) -> Result<Answer, BenchError> {
        answer_of(&mut self.client, sql)
    }

    #[expect(clippy::disallowed_methods, reason = "a file of the benchmark's own, in the real world")]
    fn copy(&mut self, table: &Table, file: &Path) -> Result<(), BenchError> {
        let mut input = File::open(file).map_err(BenchError::file(file))?;
        let sql = format!("COPY {} FROM STDIN (FORMAT csv)", table.name);
        let mut writer = self.client.copy_in(&sql).map_err(BenchError::engine(POSTGRES))?;
        std::io::copy(&mut input, &mut writer).map_err(BenchError::engine(POSTGRES))?;
        writer.finish().map(drop).map_err(BenchError::engine(POSTGRES))
    }

    fn use_threads(&mut self, threads: usize) -> Result<(), BenchError> {
        // Its leader works as well.
        self.run(&format!("SET max_parallel_workers_per_gather = {}", threads - 1))
    }

    fn limit(&mut self, seconds: u64) -> Result<(), BenchError> {
        self.run(&format!("SET statement_timeout = '{seconds}s'"))
    }
}

/// What a server of PostgreSQL's protocol answers.
pub(crate) fn answer_of(client: &mut Client, sql: &str) -> Result<Answer, BenchError> {
    let messages = client.simple_query(sql).map_err(BenchError::engine("server"))?;
    let row = |message: &SimpleQueryMessage| match message {
        SimpleQueryMessage::Row(row) => {
            Some((0..row.len()).map(|at| row.get(at).unwrap_or("NULL").to_owned()).collect())
        }
        _ => None,
    };
    Ok(messages.iter().filter_map(row).collect())
}

/// Makes lineitem anew, with its key and its statistics, on such a server.
pub(crate) fn fill_lineitem(client: &mut Client, scale: f64) -> Result<(), BenchError> {
    let failed = BenchError::engine("server");
    let Some(table) = TABLES.iter().find(|table| table.name == "lineitem") else {
        return Err(BenchError::Usage("TPC-H has no lineitem".to_owned()));
    };
    client.batch_execute("DROP TABLE IF EXISTS lineitem").map_err(&failed)?;
    client.batch_execute(&table.create()).map_err(&failed)?;
    let mut writer = client.copy_in("COPY lineitem FROM STDIN (FORMAT csv)").map_err(&failed)?;
    let mut line = String::new();
    for part in 1..=table.parts {
        let sent = table.rows(scale, part, &mut |row| {
            line.clear();
            row.csv(&mut line);
            writer.write_all(line.as_bytes())
        });
        sent.map_err(BenchError::engine("server"))?;
    }
    writer.finish().map_err(&failed)?;
    client.batch_execute(&table.add_key()).map_err(&failed)?;
    client.batch_execute("ANALYZE lineitem").map_err(&failed)
}
