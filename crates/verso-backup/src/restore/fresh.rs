//! Into a database that is made for it, or that a restore of the same archive has left unfinished.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use verso_catalog::TableDef;
use verso_catalog::packs::Pack;
use verso_env::Env;
use verso_env::sync::Mutex;
use verso_exec::functions::quote_ident;
use verso_storage::heap::Heap;
use verso_storage::page::PAGE_SIZES;
use verso_storage::recovery::{temporary_dir, wal_dir};
use verso_storage::{CommitMode, Engine, Isolation, TableLockMode, TxnOptions, WaitPolicy};
use verso_types::{Column, SqlType};
use versodb::{Connection, Database};

use super::failures::Failures;
use super::marks::{Mark, Marks};
use super::{Input, Plan, RestoreOptions, RestoreReport, check_texts, chunks, run, shown, tell_left_out};
use crate::archive::columns::Rows;
use crate::archive::contents::{Kind, Step, TableOf};
use crate::archive::reader::ArchiveReader;
use crate::error::{BackupError, Part};
use crate::job::{Event, Job, Unit};
use crate::references::{References, names_objects};
use crate::schema::labels_of;
use crate::workers;

/// Rows that are inserted together at most where values are long: storage looks at all of them for each page.
const LONG_ROWS: usize = 256;
/// Tables from so many pages on have their indexes built by all workers, one table after the other.
const LARGE_PAGES: u32 = 512;
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

/// Into a new database, or into `unfinished`: one that another restore of the same archive has left.
///
/// What belongs to another archive, or to none, is removed first.
pub(super) fn restore(
    path: &Path,
    unfinished: Option<Database>,
    (reader, plan): (ArchiveReader<Input>, Plan),
    options: &RestoreOptions,
    env: &Env,
    job: &Arc<Job>,
) -> Result<RestoreReport, BackupError> {
    let id = plan.id(options);
    let known = match unfinished {
        None => None,
        Some(database) => {
            // Archives of versions that gave them no number cannot be told from each other.
            // Numbers that stand for names until their objects are there are known while the restore runs only.
            let names =
                plan.definitions.tables.iter().flat_map(|table| &table.columns).any(|column| column.named);
            let has_id = !plan.definitions.id.is_empty() && !names;
            let marks = connect(&database, options, None, job)
                .and_then(|mut session| Marks::read(&database, &mut session, &id));
            match marks {
                Ok(Some(marks)) if has_id => Some((database, marks)),
                // Whatever is wrong with what was left, it is not used.
                _ => {
                    database.close()?;
                    remove(env, path)?;
                    None
                }
            }
        }
    };
    job.check()?;
    let (database, marks) = match known {
        Some((database, marks)) => (database, Some(marks)),
        None => (create(path, &plan, options, env)?, None),
    };
    // Keys and indexes of a table are built from one scan, when the rows are there.
    database.instance().builds_later.store(true, Ordering::Relaxed);
    let failures = Failures::new(options.goes_on);
    let fill = Fill { database: &database, plan: Arc::new(plan), options, env, job, failures };
    let done = job.unlist(fill.run(reader, marks, &id));
    let done = match done {
        Ok(report) => database.close().map(|()| report).map_err(BackupError::from),
        // Without being closed: what goes anyway need not be written.
        Err(error) => {
            drop(database);
            Err(error)
        }
    };
    if done.is_err() {
        // The first error is the one that is told. What cannot be removed says that it is unfinished.
        let _ = remove(env, path);
    }
    done
}

/// A database that says that it is unfinished. Nothing is left where it cannot be made, on a full disk for example.
fn create(path: &Path, plan: &Plan, options: &RestoreOptions, env: &Env) -> Result<Database, BackupError> {
    let was_there = env.vfs.exists(path).map_err(BackupError::io(path.display().to_string()))?;
    let mut database = options.database.clone().unfinished(true);
    let archived = Some(plan.definitions.page_bytes)
        .filter(|bytes| usize::try_from(*bytes).is_ok_and(|bytes| PAGE_SIZES.contains(&bytes)));
    if let Some(bytes) = options.page_size.or(archived) {
        database = database.page_size(bytes);
    }
    let made = Database::create(path, database);
    made.map_err(|error| {
        // Another program may have made one meanwhile.
        let is_of_others = was_there || matches!(error.sqlstate, "55006" | "58P02");
        if !is_of_others {
            let _ = remove(env, path);
        }
        error.into()
    })
}

/// A session that does what the archive says, and does not wait for the disk: the end of the restore does.
fn connect(
    database: &Database,
    options: &RestoreOptions,
    search_path: Option<&str>,
    job: &Job,
) -> Result<Connection, BackupError> {
    let mut connection = job.session(database, "verso restore")?;
    if let Some(path) = search_path {
        connection.execute(&format!("SET search_path = {path}"))?;
    }
    connection.execute("SET synchronous_commit = off")?;
    connection.execute("SET check_function_bodies = off")?;
    let most =
        connection.query("SELECT setting::bigint FROM pg_settings WHERE name = 'max_parallel_workers'")?;
    let most: i64 = most.into_rows().first().map_or(Ok(1), |row| row.get(0))?;
    connection
        .execute(&format!("SET parallel_workers = {}", (options.workers as i64).clamp(1, most.max(1))))?;
    Ok(connection)
}

/// A step with its place among those behind the rows.
type Placed<'p> = (u32, &'p Step);

/// A restore into a database of its own.
struct Fill<'f> {
    database: &'f Database,
    plan: Arc<Plan>,
    options: &'f RestoreOptions,
    env: &'f Env,
    job: &'f Arc<Job>,
    failures: Failures,
}

impl Fill<'_> {
    fn run(
        &self,
        reader: ArchiveReader<Input>,
        marks: Option<Marks>,
        id: &str,
    ) -> Result<RestoreReport, BackupError> {
        let Fill { database, plan, options, env, job, failures } = self;
        let seconds = |since: u64| (env.clock.monotonic_nanos() - since) as f64 / 1e9;
        let start = env.clock.monotonic_nanos();
        job.list(database.engine(), "RESTORE", options.workers);
        let mut connection = connect(database, options, plan.definitions.search_path.as_deref(), job)?;
        let marks = match marks {
            Some(marks) => marks,
            None => Marks::begin(database, &mut connection, id)?,
        };
        let marks = Arc::new(marks);
        let before: Vec<Placed<'_>> = (0..).zip(&plan.definitions.before).collect();
        self.phase(&mut connection, &marks, &before, "definitions", Mark::Before)?;
        // Behind the rows tables may have got hidden columns; all rows are there then.
        let is_behind = marks.is_behind_rows();
        let targets = if plan.data && !is_behind { targets(database, plan, failures)? } else { Vec::new() };
        let absent = targets.iter().zip(&plan.definitions.tables);
        let absent = absent.filter(|(target, table)| target.is_none() && plan.wants(table)).count() as u64;
        let references = Arc::new(self.references()?);
        let tables = plan.definitions.tables.iter().filter(|table| plan.wants(table)).count() as u64;
        job.tell(Event::Phase { name: "data", total: 0, unit: Unit::Bytes });
        let (engine, data) = (database.engine().clone(), plan.data);
        let there = marks.chunks();
        let resumed = there.len() as u64;
        let noted = Arc::clone(&marks);
        let (meant, plan_of) = (Arc::clone(&references), Arc::clone(plan));
        let (goes_on, skipped) = (failures.go_on(), Arc::new(AtomicU64::new(0)));
        let left_out = Arc::clone(&skipped);
        let (rows, bytes) = chunks(env, reader, plan, options.workers, job, there, move |rows, part| {
            let target = targets.get(rows.table as usize).and_then(Option::as_ref);
            match target.filter(|_| data) {
                Some(target) => {
                    let mut rows = rows;
                    let table = &plan_of.definitions.tables[rows.table as usize];
                    meant.read(&mut rows.batch.columns, table, &target.types, part)?;
                    target.insert(&engine, rows, part, &noted)
                }
                // The table is not there.
                None if data && goes_on => {
                    left_out.fetch_add(rows.batch.rows as u64, Ordering::Relaxed);
                    Ok(())
                }
                None if data && is_behind => {
                    let flaw = "the restore that was cut off had not put it in";
                    Err(BackupError::damaged(part, flaw))
                }
                None => Ok(()),
            }
        })?;
        let data_s = seconds(start);
        let start = env.clock.monotonic_nanos();
        let after: Vec<Placed<'_>> = (0..).zip(&plan.definitions.after).collect();
        let of = |kinds: &[Kind]| -> Vec<Placed<'_>> {
            after.iter().filter(|(_, step)| kinds.contains(&step.kind)).copied().collect()
        };
        self.build(&mut connection, &marks, &of(&[Kind::Key, Kind::Index]))?;
        references.settle(&mut connection, false)?;
        // Those of materialized views are built with them.
        database.instance().builds_later.store(false, Ordering::Relaxed);
        let index_s = seconds(start);
        for (kinds, name) in [
            (&[Kind::Value, Kind::View][..], "views"),
            (&[Kind::ForeignKey], "foreign keys"),
            (&[Kind::Trigger, Kind::Comment, Kind::Setting], "triggers"),
            (&[Kind::Rights], "rights"),
        ] {
            let steps = of(kinds);
            for (_, step) in &steps {
                if let Some(other) = plan.lacks(step) {
                    tell_left_out(step, other, job);
                }
            }
            self.phase(&mut connection, &marks, &steps, name, Mark::After)?;
            if name == "views" {
                references.settle(&mut connection, true)?;
            }
        }
        // The notes stay until all pages are written, which takes long: who is cut off before goes on from here.
        job.tell(Event::Phase { name: "writing pages", total: 0, unit: Unit::Statements });
        database.wait_durable()?;
        database.checkpoint()?;
        job.check()?;
        Marks::end(&mut connection)?;
        drop(connection);
        database.wait_durable()?;
        database.checkpoint()?;
        job.check()?;
        database.finish()?;
        let rows = if data { rows - skipped.load(Ordering::Relaxed) } else { 0 };
        let failed = failures.texts();
        Ok(RestoreReport { tables: tables - absent, rows, bytes, data_s, index_s, resumed, failed })
    }

    /// What names with their schema mean when the tables are there.
    fn references(&self) -> Result<References, BackupError> {
        let mut connection = connect(self.database, self.options, Some("''"), self.job)?;
        connection.query("SELECT 1")?;
        Ok(References::lent(true))
    }

    /// Runs the statements that are wanted, one after the other, each with its note in one transaction.
    fn phase(
        &self,
        connection: &mut Connection,
        marks: &Marks,
        steps: &[Placed<'_>],
        name: &'static str,
        mark: fn(u32) -> Mark,
    ) -> Result<(), BackupError> {
        let wanted = |(place, step): &&Placed<'_>| self.plan.runs(step) && !marks.has(mark(*place));
        let steps: Vec<&Placed<'_>> = steps.iter().filter(wanted).collect();
        self.job.tell(Event::Phase { name, total: steps.len() as u64, unit: Unit::Statements });
        for (place, step) in steps {
            if let Err(error) = noted(connection, step, mark(*place), self.job) {
                self.failures.take(error)?;
                connection.execute("ROLLBACK")?;
            }
        }
        Ok(())
    }

    /// Makes keys and indexes and builds those of each table from one scan: small tables side by side, large ones one after the
    /// other with all workers. All of them together have the memory that one has.
    fn build(
        &self,
        connection: &mut Connection,
        marks: &Marks,
        steps: &[Placed<'_>],
    ) -> Result<(), BackupError> {
        self.phase(connection, marks, steps, "keys and indexes", Mark::After)?;
        let workers = self.options.workers.max(1);
        let (mut small, mut large) = (VecDeque::new(), VecDeque::new());
        for (table, pages) in idle_tables(self.database)? {
            let all = if pages >= LARGE_PAGES { &mut large } else { &mut small };
            all.push_back(table);
        }
        self.job.tell(Event::Phase {
            name: "building indexes",
            total: (small.len() + large.len()) as u64,
            unit: Unit::Statements,
        });
        let reindex = |table: &str, workers: usize| Step {
            kind: Kind::Index,
            table: None,
            other: None,
            sql: format!("REINDEX (PARALLEL {workers}) TABLE {table}"),
        };
        for table in &large {
            run(connection, &reindex(table, workers), self.job).or_else(|error| self.failures.take(error))?;
        }
        let side_by_side = workers.min(small.len()).max(1);
        let memory = connection
            .query("SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem'")?;
        let memory_kib: i64 = memory.into_rows().first().map_or(Ok(65_536), |row| row.get(0))?;
        let share_kib = (memory_kib / side_by_side as i64).max(1_024);
        let (small, database, options) = (Mutex::new(small), self.database.clone(), self.options.clone());
        let (plan, failures) = (Arc::clone(&self.plan), self.failures.clone());
        workers::run(self.env, self.job, side_by_side, move |team| {
            let path = plan.definitions.search_path.as_deref();
            let mut connection = connect(&database, &options, path, &team.job)?;
            connection.execute(&format!("SET maintenance_work_mem = '{share_kib}kB'"))?;
            loop {
                let Some(table) = small.lock().pop_front() else { return Ok(()) };
                team.check()?;
                let built = run(&mut connection, &reindex(&table, 1), &team.job);
                built.or_else(|error| failures.take(error))?;
            }
        })
    }
}

/// A statement and its note, in one transaction.
fn noted(connection: &mut Connection, step: &Step, mark: Mark, job: &Job) -> Result<(), BackupError> {
    // Settings of the database are no rows of a transaction; setting one twice changes nothing.
    if step.kind == Kind::Setting {
        run(connection, step, job)?;
        connection.execute(&Marks::statement(mark))?;
        return Ok(());
    }
    connection.execute("BEGIN")?;
    run(connection, step, job)?;
    let noted = connection.execute(&Marks::statement(mark)).and_then(|_| connection.execute("COMMIT"));
    job.outcome(
        noted
            .map(drop)
            .map_err(|error| BackupError::Statement { error: Box::new(error), statement: shown(&step.sql) }),
    )
}

/// The tables of which indexes are to be built, with their pages; the largest first.
fn idle_tables(database: &Database) -> Result<Vec<(String, u32)>, BackupError> {
    let engine = database.engine();
    let mut txn = engine.begin(read_only());
    txn.begin_statement()?;
    let catalog = database.instance().catalog.snapshot(&txn)?;
    let mut tables = Vec::new();
    for table in catalog.tables().filter(|table| !table.idle_indexes.is_empty()) {
        let name = format!("{}.{}", quote_ident(&table.schema), quote_ident(&table.name));
        tables.push((name, engine.heap(table.heap)?.page_count()));
    }
    txn.end_statement()?;
    txn.commit(CommitMode::NoWait)?;
    tables.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(tables)
}

/// A table that rows go into.
struct Target {
    heap: Arc<Heap>,
    types: Vec<SqlType>,
    /// How the columns of the archive, which are those of the table, go into the heap's, unless they are the same.
    pack: Option<Pack>,
    /// It may have rows of its own.
    has_rows: bool,
}

/// The tables of the archive as they are in the database; none for those that are not wanted.
fn targets(
    database: &Database,
    plan: &Plan,
    failures: &Failures,
) -> Result<Vec<Option<Target>>, BackupError> {
    let engine = database.engine();
    let mut txn = engine.begin(read_only());
    txn.begin_statement()?;
    let catalog = database.instance().catalog.snapshot(&txn)?;
    let target = |table: &TableOf| {
        if !plan.wants(table) {
            return Ok(None);
        }
        let found = catalog.table(Some(&table.schema), &table.name);
        if found.is_none() && failures.go_on() {
            failures.note(format!("the rows of {}.{}: the table is not there", table.schema, table.name));
            return Ok(None);
        }
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

pub(super) fn read_only() -> TxnOptions {
    TxnOptions { isolation: Isolation::ReadCommitted, savepoints: false, read_only: true }
}

impl Target {
    fn new(engine: &Engine, table: &TableOf, found: &TableDef) -> Result<Target, BackupError> {
        let heap = engine.heap(found.heap)?;
        let shown = found.shown();
        let same = shown.len() == table.columns.len()
            && shown.iter().zip(&table.columns).all(|(found, column)| {
                *found.name == *column.name
                    && (found.ty.physical() as u8 == column.layout || column.named)
                    && names_objects(&found.ty) == column.named
                    && labels_of(&found.ty) == column.labels
            });
        if !same {
            return Err(mismatch(table, "has other columns than its rows"));
        }
        let numbers = shown.iter().map(|column| column.id);
        let pack = Pack::of(&heap, numbers.clone());
        let stored = pack.as_ref().map_or_else(|| numbers.collect(), Pack::stored);
        // One that is divided by an expression has a hidden column for it, and no rows.
        let has_rows = found.partitioned.is_none();
        let in_heap = heap.columns().iter().map(|spec| spec.id);
        if has_rows && !in_heap.eq(stored) {
            return Err(mismatch(table, "has other columns than its rows"));
        }
        let types = shown.iter().map(|column| column.ty.clone()).collect();
        Ok(Target { heap, types, pack, has_rows })
    }

    /// Inserts the rows of a chunk in a transaction of their own, with the note that they are there.
    fn insert(&self, engine: &Engine, rows: Rows, part: Part, marks: &Marks) -> Result<(), BackupError> {
        check_texts(&rows, &self.types, part)?;
        let count = rows.batch.rows;
        if !self.has_rows {
            return Err(BackupError::damaged(part, "rows of a table that has none of its own".to_owned()));
        }
        let batch = match &self.pack {
            Some(pack) => pack.pack(&rows.batch, None)?,
            None => rows.batch,
        };
        let mut txn = engine.begin(TxnOptions { read_only: false, ..read_only() });
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
        if let Part::Chunk(number) = part {
            marks.note(&mut txn, Mark::Chunk(number))?;
        }
        txn.end_statement()?;
        txn.commit(CommitMode::NoWaitBatch)?;
        Ok(())
    }
}
