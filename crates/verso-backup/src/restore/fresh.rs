//! Into a database that is made for it.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use verso_catalog::TableDef;
use verso_catalog::packs::Pack;
use verso_env::Env;
use verso_env::sync::Mutex;
use verso_storage::heap::Heap;
use verso_storage::recovery::{temporary_dir, wal_dir};
use verso_storage::{CommitMode, Engine, Isolation, TableLockMode, TxnOptions, WaitPolicy};
use verso_types::{Column, SqlType};
use versodb::{Connection, Database};

use super::{Input, Plan, RestoreOptions, RestoreReport, check_texts, chunks, run};
use crate::archive::columns::Rows;
use crate::archive::contents::{Kind, Step, TableOf};
use crate::archive::reader::ArchiveReader;
use crate::error::{BackupError, Part};
use crate::job::{Event, Job, Unit};
use crate::schema::labels_of;
use crate::workers;

/// Rows that are inserted together at most where values are long: storage looks at all of them for each page.
const LONG_ROWS: usize = 256;
/// A value that counts as long.
const LONG_BYTES: usize = 1_000;

/// Removes a database: its file, its log, its temporary files.
pub(super) fn remove(env: &Env, path: &Path) -> Result<(), BackupError> {
    let error = |path: &Path| BackupError::io(format!("removing {}", path.display()));
    let exists = |path: &Path| env.vfs.exists(path).map_err(error(path));
    for folder in [wal_dir(path), temporary_dir(path)] {
        if exists(&folder)? {
            env.vfs.remove_dir_all(&folder).map_err(error(&folder))?;
        }
    }
    if exists(path)? {
        env.vfs.remove_file(path).map_err(error(path))?;
    }
    Ok(())
}

pub(super) fn restore(
    path: &Path,
    reader: ArchiveReader<Input>,
    plan: Plan,
    options: &RestoreOptions,
    env: &Env,
    job: &Arc<Job>,
) -> Result<RestoreReport, BackupError> {
    let database = Database::create(path, options.database.clone().unfinished(true))?;
    let done = job.unlist(fill(&database, reader, plan, options, env, job));
    let closed = database.close().map_err(BackupError::from);
    let done = done.and_then(|report| closed.map(|()| report));
    if done.is_err() {
        // The first error is the one that is told. What cannot be removed says that it is unfinished.
        let _ = remove(env, &PathBuf::from(path));
    }
    done
}

/// A session that does what the archive says, and does not wait for the disk: the end of the restore does.
fn connect(database: &Database, job: &Job) -> Result<Connection, BackupError> {
    let mut connection = database.connect()?;
    job.joined_by(&connection);
    connection.execute("SET synchronous_commit = off")?;
    connection.execute("SET check_function_bodies = off")?;
    Ok(connection)
}

fn fill(
    database: &Database,
    reader: ArchiveReader<Input>,
    plan: Plan,
    options: &RestoreOptions,
    env: &Env,
    job: &Arc<Job>,
) -> Result<RestoreReport, BackupError> {
    let seconds = |since: u64| (env.clock.monotonic_nanos() - since) as f64 / 1e9;
    let start = env.clock.monotonic_nanos();
    job.list(database.engine(), "RESTORE", options.workers);
    let plan = Arc::new(plan);
    let mut connection = connect(database, job)?;
    phase(&mut connection, &plan, &plan.definitions.before, "definitions", job)?;
    let targets = if plan.data { targets(database, &plan)? } else { Vec::new() };
    let tables = plan.definitions.tables.iter().filter(|table| plan.wants(table)).count() as u64;
    job.tell(Event::Phase { name: "data", total: 0, unit: Unit::Bytes });
    let engine = database.engine().clone();
    let data = plan.data;
    let (rows, bytes) = chunks(env, reader, &plan, options.workers, job, move |rows, part| {
        let target = targets.get(rows.table as usize).and_then(Option::as_ref);
        match target.filter(|_| data) {
            Some(target) => target.insert(&engine, rows, part),
            None => Ok(()),
        }
    })?;
    let data_s = seconds(start);
    let start = env.clock.monotonic_nanos();
    let of = |kinds: &[Kind]| -> Vec<Step> {
        plan.definitions.after.iter().filter(|step| kinds.contains(&step.kind)).cloned().collect()
    };
    build(database, &plan, &of(&[Kind::Key, Kind::Index]), options.workers, env, job)?;
    let index_s = seconds(start);
    phase(&mut connection, &plan, &of(&[Kind::Value, Kind::View]), "views", job)?;
    phase(&mut connection, &plan, &of(&[Kind::ForeignKey]), "foreign keys", job)?;
    phase(&mut connection, &plan, &of(&[Kind::Trigger, Kind::Comment, Kind::Setting]), "triggers", job)?;
    phase(&mut connection, &plan, &of(&[Kind::Rights]), "rights", job)?;
    drop(connection);
    job.check()?;
    database.wait_durable()?;
    database.checkpoint()?;
    job.check()?;
    database.finish()?;
    Ok(RestoreReport { tables, rows: if data { rows } else { 0 }, bytes, data_s, index_s })
}

/// Runs the statements that are wanted, one after the other.
fn phase(
    connection: &mut Connection,
    plan: &Plan,
    steps: &[Step],
    name: &'static str,
    job: &Job,
) -> Result<(), BackupError> {
    let steps: Vec<&Step> = steps.iter().filter(|step| plan.runs(step)).collect();
    job.tell(Event::Phase { name, total: steps.len() as u64, unit: Unit::Statements });
    steps.into_iter().try_for_each(|step| run(connection, step, job))
}

/// Builds keys and indexes: tables side by side, those of one table one after the other, for each needs the whole of it.
fn build(
    database: &Database,
    plan: &Plan,
    steps: &[Step],
    workers: usize,
    env: &Env,
    job: &Arc<Job>,
) -> Result<(), BackupError> {
    let mut tables: VecDeque<Vec<Step>> = VecDeque::new();
    let mut total = 0;
    for step in steps.iter().filter(|step| plan.runs(step)) {
        total += 1;
        match tables.iter_mut().find(|known| known[0].table == step.table) {
            Some(known) => known.push(step.clone()),
            None => tables.push_back(vec![step.clone()]),
        }
    }
    job.tell(Event::Phase { name: "keys and indexes", total, unit: Unit::Statements });
    let workers = workers.min(tables.len());
    let (tables, database) = (Mutex::new(tables), database.clone());
    workers::run(env, job, workers, move |team| {
        let mut connection = connect(&database, &team.job)?;
        loop {
            let Some(steps) = tables.lock().pop_front() else { return Ok(()) };
            for step in &steps {
                team.check()?;
                run(&mut connection, step, &team.job)?;
            }
        }
    })
}

/// A table that rows go into.
struct Target {
    heap: Arc<Heap>,
    types: Vec<SqlType>,
    /// How the columns of the archive, which are those of the table, go into the heap's, unless they are the same.
    pack: Option<Pack>,
}

/// The tables of the archive as they are in the database; none for those that are not wanted.
fn targets(database: &Database, plan: &Plan) -> Result<Vec<Option<Target>>, BackupError> {
    let engine = database.engine();
    let mut txn = engine.begin(options(true));
    txn.begin_statement()?;
    let catalog = database.instance().catalog.snapshot(&txn)?;
    let target = |table: &TableOf| {
        if !plan.wants(table) {
            return Ok(None);
        }
        let found = catalog.table(Some(&table.schema), &table.name);
        let found = found.ok_or_else(|| mismatch(table, "is not among the definitions"))?;
        Target::new(engine, table, &found).map(Some)
    };
    let targets = plan.definitions.tables.iter().map(target).collect::<Result<Vec<_>, BackupError>>();
    txn.end_statement()?;
    txn.commit(CommitMode::NoWait)?;
    targets
}

fn mismatch(table: &TableOf, what: &str) -> BackupError {
    BackupError::damaged(Part::Definitions, format!("table {}.{} {what}", table.schema, table.name))
}

fn options(read_only: bool) -> TxnOptions {
    TxnOptions { isolation: Isolation::ReadCommitted, savepoints: false, read_only }
}

impl Target {
    fn new(engine: &Engine, table: &TableOf, found: &TableDef) -> Result<Target, BackupError> {
        let heap = engine.heap(found.heap)?;
        let same = found.columns.len() == table.columns.len()
            && found.columns.iter().zip(&table.columns).all(|(found, column)| {
                *found.name == *column.name
                    && found.ty.physical() as u8 == column.layout
                    && labels_of(&found.ty) == column.labels
            });
        if !same {
            return Err(mismatch(table, "has other columns than its rows"));
        }
        let numbers = found.columns.iter().map(|column| column.id);
        let pack = Pack::of(&heap, numbers.clone());
        let stored = pack.as_ref().map_or_else(|| numbers.collect(), Pack::stored);
        if !heap.columns().iter().map(|spec| spec.id).eq(stored) {
            return Err(mismatch(table, "has other columns than its rows"));
        }
        let types = found.columns.iter().map(|column| column.ty.clone()).collect();
        Ok(Target { heap, types, pack })
    }

    /// Inserts rows in a transaction of their own.
    fn insert(&self, engine: &Engine, rows: Rows, part: Part) -> Result<(), BackupError> {
        check_texts(&rows, &self.types, part)?;
        let count = rows.batch.rows;
        let batch = match &self.pack {
            Some(pack) => pack.pack(&rows.batch, None)?,
            None => rows.batch,
        };
        let mut txn = engine.begin(options(false));
        txn.begin_statement()?;
        engine.lock_table(&mut txn, self.heap.object, TableLockMode::RowExclusive, WaitPolicy::Block)?;
        let long = |column: &Column| column.data.bytes().is_some_and(|bytes| bytes.longest() > LONG_BYTES);
        if batch.columns.iter().any(long) {
            for first in (0..count).step_by(LONG_ROWS) {
                let part: Vec<u32> = (first..count.min(first + LONG_ROWS)).map(|row| row as u32).collect();
                self.heap.insert(&mut txn, &batch.gather(&part), None)?;
            }
        } else {
            self.heap.insert(&mut txn, &batch, None)?;
        }
        txn.end_statement()?;
        txn.commit(CommitMode::NoWaitBatch)?;
        Ok(())
    }
}
