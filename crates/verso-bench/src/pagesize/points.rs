//! Single records of a table, found by their record ids: what a page costs when one record of it is wanted.
//!
//! Below SQL, on the storage engine itself, so that nothing but pages counts.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use verso_env::Env;
use verso_storage::heap::{Heap, ScanBatch};
use verso_storage::{
    ColumnSpec, CommitMode, Engine, EngineOptions, ObjectId, RecordId, StorageError, TxnOptions,
};
use verso_types::{Batch, Column, Physical, SqlType, Value};

use crate::BenchError;
use crate::child::ChildTask;

/// E1's columns.
const COLUMNS: [(u16, Physical); 8] = [
    (1, Physical::I64),
    (2, Physical::Bytes),
    (3, Physical::Bytes),
    (4, Physical::I32),
    (5, Physical::F64),
    (6, Physical::I64),
    (7, Physical::I64),
    (8, Physical::Bytes),
];
/// What a read asks for: `id`, `name`, `qrt`.
const WANTED: [u16; 3] = [1, 2, 5];
const READS: u64 = 100_000;
const UNCACHED_READS: u64 = 10_000;
const WRITES: u64 = 2_000;

/// What single records cost.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PointFigures {
    /// Microseconds to read one, everything cached.
    pub read_us: f64,
    /// The same with a pool of an eighth of the table; the file is in the system's cache.
    pub read_uncached_us: f64,
    /// Microseconds to update one, a transaction of 2,000 with its durable COMMIT and a checkpoint shared out.
    pub write_us: f64,
    /// Log bytes of such an update.
    pub write_log_bytes: f64,
    /// Bytes of pages written for such an update, double-write area included.
    pub write_page_bytes: f64,
}

/// Makes the table, reads and writes at random.
pub fn measure(env: &Env, task: &ChildTask) -> Result<PointFigures, BenchError> {
    let mut figures = PointFigures::default();
    let failed = BenchError::engine::<StorageError>("verso");
    let (object, records, pages) = fill(env, task).map_err(&failed)?;

    let table = Table::open(env, task, task.pool_bytes, object).map_err(&failed)?;
    table.read(env, &records, READS)?;
    figures.read_us = table.read(env, &records, READS)?;
    table.engine.close().map_err(&failed)?;
    drop(table);

    let table = Table::open(env, task, pages * u64::from(task.page_size) / 8, object).map_err(&failed)?;
    table.read(env, &records, UNCACHED_READS)?;
    figures.read_uncached_us = table.read(env, &records, UNCACHED_READS)?;
    table.engine.close().map_err(&failed)?;
    drop(table);

    let table = Table::open(env, task, task.pool_bytes, object).map_err(&failed)?;
    table.read(env, &records, READS)?;
    table.write(env, task, &records, &mut figures).map_err(&failed)?;
    table.engine.close().map_err(&failed)?;
    Ok(figures)
}

/// Steps over all rows in an order without pattern: multiples of a large prime.
fn at_random(step: u64, count: usize) -> usize {
    (step.wrapping_mul(2_654_435_761) % count as u64) as usize
}

fn options(task: &ChildTask, pool_bytes: u64) -> EngineOptions {
    EngineOptions {
        page_size: task.page_size,
        buffer_pool_bytes: pool_bytes,
        background: false,
        ..EngineOptions::default()
    }
}

/// The table's object, its records in order, its data pages.
fn fill(env: &Env, task: &ChildTask) -> Result<(ObjectId, Vec<RecordId>, u64), StorageError> {
    let engine = Engine::create(env.clone(), &task.database, options(task, task.pool_bytes))?;
    let mut txn = engine.begin(TxnOptions::default());
    let specs = COLUMNS.map(|(id, physical)| ColumnSpec { id, physical });
    let object = engine.create_heap(&mut txn, &specs)?;
    txn.commit(CommitMode::Wait)?;
    let heap = engine.heap(object)?;
    let mut records = Vec::with_capacity(task.rows as usize);
    let mut txn = engine.begin(TxnOptions::default());
    let mut first = 0;
    while first < task.rows {
        let numbers = first..task.rows.min(first + 1000);
        first = numbers.end;
        heap.insert(&mut txn, &rows(numbers), Some(&mut records))?;
    }
    txn.commit(CommitMode::Wait)?;
    let pages = u64::from(heap.page_count());
    engine.close()?;
    Ok((object, records, pages))
}

/// Rows as E1 has them.
fn rows(numbers: std::ops::Range<u64>) -> Batch {
    let mut columns = COLUMNS.map(|(_, physical)| Column::new(physical));
    for n in numbers {
        let texts =
            [format!("name {n}"), format!("description of record {n}"), format!("notes of record {n}")];
        let values = [
            Value::Int8(n.cast_signed()),
            Value::text(&texts[0]),
            Value::text(&texts[1]),
            Value::Int4(n as i32),
            Value::Float8(n as f64 * 0.5),
            Value::Int8(n.cast_signed() * 1_000_000),
            Value::Int8(0),
            Value::text(&texts[2]),
        ];
        for (column, value) in columns.iter_mut().zip(values) {
            let ty = match value {
                Value::Int8(_) => SqlType::Int8,
                Value::Int4(_) => SqlType::Int4,
                Value::Float8(_) => SqlType::Float8,
                _ => SqlType::Text,
            };
            column.push_value(&value, &ty).expect("a value of the column's type");
        }
    }
    Batch::from_columns(columns.into())
}

struct Table {
    engine: Engine,
    heap: Arc<Heap>,
}

impl Table {
    fn open(env: &Env, task: &ChildTask, pool_bytes: u64, object: ObjectId) -> Result<Table, StorageError> {
        let engine = Engine::open(env.clone(), &task.database, options(task, pool_bytes))?;
        let heap = engine.heap(object)?;
        Ok(Table { engine, heap })
    }

    /// Microseconds of a read; every value is compared.
    fn read(&self, env: &Env, records: &[RecordId], reads: u64) -> Result<f64, BenchError> {
        let failed = BenchError::engine::<StorageError>("verso");
        let mut txn = self.engine.begin(TxnOptions::default());
        txn.begin_statement().map_err(&failed)?;
        let mut out = ScanBatch::default();
        let start = env.clock.monotonic_nanos();
        for step in 0..reads {
            let row = at_random(step, records.len());
            let there = self.heap.fetch(&txn, records[row], &WANTED, &mut out).map_err(&failed)?;
            let found = out.batch.columns[0].data.i64s().and_then(|ids| ids.first()).copied();
            if !there || found != Some(row as i64) {
                let message = format!("record {} gave {found:?}, expected {row}", records[row]);
                return Err(BenchError::Wrong { engine: "verso", message });
            }
        }
        let nanos = env.clock.monotonic_nanos() - start;
        txn.end_statement().map_err(&failed)?;
        txn.commit(CommitMode::Wait).map_err(&failed)?;
        Ok(nanos as f64 / 1e3 / reads as f64)
    }

    /// Updates `qrt` of single records.
    fn write(
        &self,
        env: &Env,
        task: &ChildTask,
        records: &[RecordId],
        figures: &mut PointFigures,
    ) -> Result<(), StorageError> {
        self.engine.checkpoint()?;
        let before = self.engine.statistics();
        let mut out = ScanBatch::default();
        let start = env.clock.monotonic_nanos();
        let mut txn = self.engine.begin(TxnOptions::default());
        for step in 0..WRITES {
            let record = records[at_random(step, records.len())];
            txn.begin_statement()?;
            if self.heap.fetch(&txn, record, &[5], &mut out)? {
                let mut values = Column::new(Physical::F64);
                values.push_value(&Value::Float8(step as f64), &SqlType::Float8).expect("a float");
                self.heap.update(&mut txn, &out, None, &[5], &Batch::from_columns(vec![values]))?;
            }
            txn.end_statement()?;
        }
        txn.commit(CommitMode::Wait)?;
        self.engine.checkpoint()?;
        let nanos = env.clock.monotonic_nanos() - start;
        let after = self.engine.statistics();
        let writes = WRITES as f64;
        let page_writes = (after.pool.writes - before.pool.writes) as f64;
        figures.write_us = nanos as f64 / 1e3 / writes;
        figures.write_log_bytes = (after.log.bytes - before.log.bytes) as f64 / writes;
        figures.write_page_bytes = page_writes * 2.0 * f64::from(task.page_size) / writes;
        Ok(())
    }
}
