//! Into a database that is there: one transaction, by INSERT, so that constraints and triggers see every row.
//!
//! Where the restore goes on without what fails, each statement has a savepoint; of rows that fail together each has one of its own.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use verso_env::Env;
use verso_exec::functions::quote_ident;
use verso_types::{SqlType, Value};
use versodb::{Connection, Database, Statement};

use super::failures::Failures;
use super::order::{Waiting, waiting};
use super::{Input, Plan, RestoreReport, check_texts, run, tell_left_out};
use crate::archive::columns::Rows;
use crate::archive::contents::{Kind, Step, TableOf};
use crate::archive::reader::{ArchiveReader, StoredChunk};
use crate::error::{BackupError, Part};
use crate::job::{Event, Job, Unit};
use crate::references::{References, names_objects};
use crate::schema::labels_of;

/// Rows sent at a time.
const ROWS: usize = 1_024;

pub(super) fn restore(
    database: &Database,
    path: &Path,
    reader: ArchiveReader<Input>,
    (plan, failures): (&Plan, Failures),
    env: &Env,
    job: &Arc<Job>,
) -> Result<RestoreReport, BackupError> {
    let mut connection = job.session(database, "verso restore")?;
    connection.execute("BEGIN")?;
    job.list(database.engine(), "RESTORE", 1);
    let waiting = waiting(database, plan);
    let done = waiting.and_then(|order| {
        let held = Waiting::new(env, path);
        fill(&mut connection, reader, (plan, &failures), (&order[..], held), env, job)
    });
    let done = job.unlist(done);
    if let Err(error) = done {
        // The transaction ends with the session at the latest.
        let _ = connection.execute("ROLLBACK");
        return Err(error);
    }
    connection.execute("COMMIT")?;
    done
}

fn fill(
    connection: &mut Connection,
    mut reader: ArchiveReader<Input>,
    (plan, failures): (&Plan, &Failures),
    (order, mut held): (&[u32], Waiting<'_>),
    env: &Env,
    job: &Arc<Job>,
) -> Result<RestoreReport, BackupError> {
    let seconds = |since: u64| (env.clock.monotonic_nanos() - since) as f64 / 1e9;
    let start = env.clock.monotonic_nanos();
    connection.execute("SET LOCAL check_function_bodies = off")?;
    let there = |step: &Step| match step.kind {
        // The schema of a table may be there.
        Kind::Schema => Step {
            sql: step.sql.replacen("CREATE SCHEMA ", "CREATE SCHEMA IF NOT EXISTS ", 1),
            ..step.clone()
        },
        _ => step.clone(),
    };
    // Sequences and functions that belong to no table are the database's own, not the table's.
    let wanted = |step: &&Step| plan.runs(step) && (step.table.is_some() || step.kind == Kind::Schema);
    for step in plan.definitions.before.iter().filter(wanted) {
        apart(connection, failures, |connection| run(connection, &there(step), job))?;
    }
    job.tell(Event::Phase { name: "data", total: 0, unit: Unit::Bytes });
    let mut targets = Vec::new();
    for table in &plan.definitions.tables {
        let open = plan.data && plan.wants(table);
        targets.push(match open {
            true => apart(connection, failures, |connection| Target::open(connection, table))?,
            false => None,
        });
    }
    let references = references(connection)?;
    let (mut count, mut left_out) = (0, LeftOut::default());
    let mut put = |chunk: StoredChunk| -> Result<(), BackupError> {
        job.check()?;
        let part = Part::Chunk(chunk.number());
        let mut rows = chunk.rows()?;
        let table = plan.check(&rows, part)?;
        let Some(target) = &targets[rows.table as usize] else { return Ok(()) };
        references.read(&mut rows.batch.columns, table, &target.types, part)?;
        check_texts(&rows, &target.types, part)?;
        for first in (0..rows.batch.rows).step_by(ROWS) {
            job.check()?;
            let end = rows.batch.rows.min(first + ROWS);
            count += target.put(connection, &rows, first..end, (failures, &mut left_out))?;
        }
        let name = format!("{}.{}", table.schema, table.name);
        job.tell(Event::Rows { table: &name, rows: rows.batch.rows as u64, bytes: 0 });
        Ok(())
    };
    let waits: HashSet<u32> = order.iter().copied().collect();
    while let Some(stored) = reader.next()? {
        job.check()?;
        // Only the rows say whose they are.
        let place = if waits.is_empty() { None } else { Some(stored.clone().rows()?.table) };
        match place.filter(|place| waits.contains(place)) {
            Some(place) => held.keep(place, &stored)?,
            None => put(stored)?,
        }
    }
    for place in order {
        held.chunks_of(*place).try_for_each(|chunk| put(chunk?))?;
    }
    left_out.tell(&plan.definitions.tables, failures);
    let bytes = reader.bytes();
    let data_s = seconds(start);
    let start = env.clock.monotonic_nanos();
    let wanted = |step: &&Step| plan.runs(step) && step.table.is_some();
    for step in &plan.definitions.after {
        let runs = match plan.lacks(step) {
            // The table that it references may be there without being restored.
            Some(other) if is_there(connection, other)? => true,
            Some(other) => {
                tell_left_out(step, other, job);
                false
            }
            None => wanted(&step),
        };
        if runs {
            apart(connection, failures, |connection| run(connection, step, job))?;
        }
    }
    let tables = targets.iter().flatten().count() as u64;
    Ok(RestoreReport {
        tables,
        rows: count,
        bytes,
        data_s,
        index_s: seconds(start),
        failed: failures.texts(),
        ..RestoreReport::default()
    })
}

/// Does something in a savepoint, and without what fails where the restore goes on; `None` then.
fn apart<T>(
    connection: &mut Connection,
    failures: &Failures,
    work: impl FnOnce(&mut Connection) -> Result<T, BackupError>,
) -> Result<Option<T>, BackupError> {
    match tried(connection, failures, work)? {
        Ok(done) => Ok(Some(done)),
        Err(error) => {
            failures.take(error)?;
            Ok(None)
        }
    }
}

/// The same; what failed, if the restore may go on without it.
fn tried<T>(
    connection: &mut Connection,
    failures: &Failures,
    work: impl FnOnce(&mut Connection) -> Result<T, BackupError>,
) -> Result<Result<T, BackupError>, BackupError> {
    if !failures.go_on() {
        return work(connection).map(Ok);
    }
    connection.execute("SAVEPOINT verso_restore")?;
    let done = work(connection);
    match &done {
        Ok(_) => {}
        Err(error) if failures.may_take(error) => {
            connection.execute("ROLLBACK TO SAVEPOINT verso_restore")?;
        }
        // The transaction ends.
        Err(_) => return done.map(Ok),
    }
    connection.execute("RELEASE SAVEPOINT verso_restore")?;
    Ok(done)
}

/// Rows that were left out: of each table how many, and what the first one failed by.
#[derive(Default)]
struct LeftOut(BTreeMap<u32, (u64, String)>);

impl LeftOut {
    fn add(&mut self, table: u32, error: &BackupError) {
        self.0.entry(table).or_insert_with(|| (0, error.to_string())).0 += 1;
    }

    fn tell(&self, tables: &[TableOf], failures: &Failures) {
        for (place, (count, first)) in &self.0 {
            let table = &tables[*place as usize];
            let (rows, place) = (if *count == 1 { "row" } else { "rows" }, place_of(table));
            failures.note(format!("{count} {rows} of {place}: {first}"));
        }
    }
}

fn place_of(table: &TableOf) -> String {
    format!("{}.{}", quote_ident(&table.schema), quote_ident(&table.name))
}

/// Whether the transaction sees a table of this name.
fn is_there(connection: &mut Connection, (schema, table): &(String, String)) -> Result<bool, BackupError> {
    let place = format!("{}.{}", quote_ident(schema), quote_ident(table)).replace('\'', "''");
    let sql = format!(
        "SELECT count(*) FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass('{place}') AND relkind IN ('r', 'p')"
    );
    let rows = connection.query(&sql)?.into_rows();
    let count: i64 = rows.first().map_or(Ok(0), |row| row.get(0))?;
    Ok(count > 0)
}

/// What names with their schema mean to the transaction.
fn references(connection: &mut Connection) -> Result<References, BackupError> {
    let path = connection.query("SELECT current_setting('search_path')")?.into_rows();
    let path: String = path.first().map_or(Ok(String::new()), |row| row.get(0))?;
    connection.execute("SET LOCAL search_path = ''")?;
    connection.query("SELECT 1")?;
    let references = References::lent(false);
    connection.query(&format!("SELECT set_config('search_path', '{}', true)", path.replace('\'', "''")))?;
    Ok(references)
}

struct Target {
    insert: Statement,
    /// The text of the statement.
    sql: String,
    types: Vec<SqlType>,
    /// For each column, whether it is given; generated ones are not.
    given: Vec<bool>,
}

impl Target {
    fn open(connection: &mut Connection, table: &TableOf) -> Result<Target, BackupError> {
        let place = place_of(table);
        let all: Vec<String> = table.columns.iter().map(|column| quote_ident(&column.name)).collect();
        let given: Vec<bool> = table.columns.iter().map(|column| !column.generated).collect();
        let names = all.iter().zip(&given).filter(|(_, given)| **given).map(|(name, _)| name.clone());
        let names: Vec<String> = names.collect();
        let params: Vec<String> = (1..=names.len()).map(|number| format!("${number}")).collect();
        let sql = match names.is_empty() {
            true => format!("INSERT INTO {place} DEFAULT VALUES"),
            false => format!(
                "INSERT INTO {place} ({}) OVERRIDING SYSTEM VALUE VALUES ({})",
                names.join(", "),
                params.join(", ")
            ),
        };
        let prepare = |connection: &mut Connection, sql: &str| {
            let failed = |error| BackupError::Statement { error: Box::new(error), statement: sql.to_owned() };
            connection.prepare(sql).map_err(failed)
        };
        let insert = prepare(connection, &sql)?;
        // Those of the columns; parameters have none of their modifiers.
        let shown = prepare(connection, &format!("SELECT {} FROM {place}", all.join(", ")))?;
        let types: Vec<SqlType> =
            shown.columns().unwrap_or_default().iter().map(|column| column.ty.clone()).collect();
        let fits = types.iter().zip(&table.columns).all(|(ty, column)| {
            let labels = labels_of(ty);
            let layout = if column.named { SqlType::Text.physical() } else { ty.physical() };
            let same = layout as u8 == column.layout && names_objects(ty) == column.named;
            same && column.labels.iter().all(|label| labels.contains(label))
        });
        if !fits {
            let text = format!("table {place} has columns of other types than the archive");
            return Err(BackupError::Refused(text));
        }
        Ok(Target { insert, sql, types, given })
    }

    /// Inserts rows; how many went in. Where the restore goes on those that fail are left out.
    fn put(
        &self,
        connection: &mut Connection,
        rows: &Rows,
        range: Range<usize>,
        (failures, left_out): (&Failures, &mut LeftOut),
    ) -> Result<u64, BackupError> {
        let insert = |range: Range<usize>| {
            let sets = range.map(|row| self.values(rows.batch.row(row, &self.types)));
            let failed =
                |error| BackupError::Statement { error: Box::new(error), statement: self.sql.clone() };
            self.insert.execute_batch(sets).map(drop).map_err(failed)
        };
        let count = range.len() as u64;
        if tried(connection, failures, |_| insert(range.clone()))?.is_ok() {
            return Ok(count);
        }
        let mut put = 0;
        for row in range {
            match tried(connection, failures, |_| insert(row..row + 1))? {
                Ok(()) => put += 1,
                Err(error) => left_out.add(rows.table, &error),
            }
        }
        Ok(put)
    }

    /// The values of a row that are given.
    fn values(&self, row: Vec<Value>) -> Vec<Value> {
        let given = row.into_iter().zip(&self.given).filter(|(_, given)| **given);
        given.map(|(value, _)| value).collect()
    }
}
