//! Into a database that is there: one transaction, by INSERT, so that constraints and triggers see every row.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use verso_env::Env;
use verso_exec::functions::quote_ident;
use verso_types::{SqlType, Value};
use versodb::{Connection, Database, Statement};

use super::order::{Waiting, waiting};
use super::{Input, Plan, RestoreReport, check_texts, run, tell_left_out};
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
    plan: &Plan,
    env: &Env,
    job: &Arc<Job>,
) -> Result<RestoreReport, BackupError> {
    let mut connection = job.session(database, "verso restore")?;
    connection.execute("BEGIN")?;
    job.list(database.engine(), "RESTORE", 1);
    let waiting = waiting(database, plan);
    let done = waiting.and_then(|order| {
        let held = Waiting::new(env, path);
        fill(&mut connection, reader, plan, (&order[..], held), env, job)
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
    plan: &Plan,
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
        run(connection, &there(step), job)?;
    }
    job.tell(Event::Phase { name: "data", total: 0, unit: Unit::Bytes });
    let mut targets = Vec::new();
    for table in &plan.definitions.tables {
        let open = plan.data && plan.wants(table);
        targets.push(if open { Some(Target::open(connection, table)?) } else { None });
    }
    let references = references(connection)?;
    let mut count = 0;
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
            let sets = (first..end).map(|row| target.values(rows.batch.row(row, &target.types)));
            target.insert.execute_batch(sets)?;
        }
        count += rows.batch.rows as u64;
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
    let bytes = reader.bytes();
    let data_s = seconds(start);
    let start = env.clock.monotonic_nanos();
    let wanted = |step: &&Step| plan.runs(step) && step.table.is_some();
    for step in &plan.definitions.after {
        match plan.lacks(step) {
            // The table that it references may be there without being restored.
            Some(other) if is_there(connection, other)? => run(connection, step, job)?,
            Some(other) => tell_left_out(step, other, job),
            None if wanted(&step) => run(connection, step, job)?,
            None => {}
        }
    }
    let tables = targets.iter().flatten().count() as u64;
    Ok(RestoreReport {
        tables,
        rows: count,
        bytes,
        data_s,
        index_s: seconds(start),
        ..RestoreReport::default()
    })
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
    types: Vec<SqlType>,
    /// For each column, whether it is given; generated ones are not.
    given: Vec<bool>,
}

impl Target {
    fn open(connection: &mut Connection, table: &TableOf) -> Result<Target, BackupError> {
        let place = format!("{}.{}", quote_ident(&table.schema), quote_ident(&table.name));
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
        let insert = connection.prepare(&sql)?;
        // Those of the columns; parameters have none of their modifiers.
        let shown = connection.prepare(&format!("SELECT {} FROM {place}", all.join(", ")))?;
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
        Ok(Target { insert, types, given })
    }

    /// The values of a row that are given.
    fn values(&self, row: Vec<Value>) -> Vec<Value> {
        let given = row.into_iter().zip(&self.given).filter(|(_, given)| **given);
        given.map(|(value, _)| value).collect()
    }
}
