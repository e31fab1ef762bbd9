//! An archive to a database, or only read.
//!
//! ```text
//! a new database:       created unfinished ─► definitions ─► workers: chunk ─► table ─► keys, indexes, … ─► finished
//! one that was cut off: what its notes do not say is done ─► finished
//! one that is there:    one transaction: definitions, rows by INSERT, keys, indexes, …
//! ```
//!
//! R1. Of a new database the first commit says that it is unfinished; only when everything is in it and on disk, the last one
//!     takes that back. What an error or a cancel leaves is removed; what a crash leaves is gone on with ([`marks`]).
//! R2. Rows go into tables without indexes, so they are appended page by page; keys and indexes are built from the tables
//!     afterwards, foreign keys are checked when all of them are there.
//! R3. Into a database that is there, nothing is restored or everything, but for what R4 leaves out.
//! R4. A restore may be asked to go on where a statement fails ([`failures`]): what fails is left out, with the rows of tables
//!     that are not there, and told; of rows that go into tables with constraints each that fails.

mod existing;
mod failures;
mod fresh;
mod marks;
mod narrow;
mod older;
mod order;

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use verso_env::Env;
use verso_env::sync::Mutex;
use verso_exec::functions::quote_ident;
use verso_types::SqlType;
use versodb::{Database, Options};

use self::failures::Failures;
use crate::archive::columns::Rows;
use crate::archive::contents::{Definitions, Kind, Step, TableOf};
use crate::archive::reader::ArchiveReader;
use crate::error::{BackupError, Part};
use crate::job::{Event, Job, Unit};
use crate::schema::{Selection, left_out_key};
use crate::workers;

/// What is restored, and how.
#[derive(Clone, Debug)]
pub struct RestoreOptions {
    /// How many threads unpack, insert and build indexes.
    pub workers: usize,
    /// Only these tables, `schema.table` or `table`; empty means everything.
    pub tables: Vec<String>,
    /// The objects?
    pub schema: bool,
    /// The rows?
    pub data: bool,
    /// How the database is made or opened.
    pub database: Options,
    /// Bytes of a page of a database that is made; without, those that the archive's database had: keys that fit there fit.
    pub page_size: Option<u32>,
    /// What fails is left out, and told; else it ends the restore.
    pub goes_on: bool,
}

impl Default for RestoreOptions {
    fn default() -> RestoreOptions {
        RestoreOptions {
            workers: 1,
            tables: Vec::new(),
            schema: true,
            data: true,
            database: Options::new(),
            page_size: None,
            goes_on: false,
        }
    }
}

/// What was restored, and how long it took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RestoreReport {
    /// Tables.
    pub tables: u64,
    /// Rows of all.
    pub rows: u64,
    /// Bytes of the archive.
    pub bytes: u64,
    /// Seconds until all rows were in.
    pub data_s: f64,
    /// Seconds for keys and indexes.
    pub index_s: f64,
    /// Chunks that a restore before this one, which was cut off, had put in.
    pub resumed: u64,
    /// What was left out, and why.
    pub failed: Vec<String>,
}

type Input = Box<dyn Read + Send>;

/// Restores the archive that `input` yields into the database at `path`.
///
/// It must not exist, or be one that another restore has left unfinished, which goes on then if it was of the same archive. One
/// that is there is opened if only some tables are
/// wanted, or only rows.
///
/// # Errors
/// `Damaged` names the chunk; `Refused`, `Cancelled`; those of the database. A database that was made is removed then, one that
/// was there is as before.
pub fn restore(
    input: Input,
    path: &Path,
    options: &RestoreOptions,
    job: &Arc<Job>,
) -> Result<RestoreReport, BackupError> {
    let env = options.database.outside().clone();
    let (reader, definitions) = ArchiveReader::begin(input)?;
    let mut plan = Plan::new(definitions, options)?;
    let exists = env.vfs.exists(path).map_err(BackupError::io(path.display().to_string()))?;
    if exists {
        let database = match Database::open(path, options.database.clone().unfinished(true)) {
            Err(error) if was_not_made(&error) => {
                fresh::remove(&env, path)?;
                plan.leave_schemas(false);
                return fresh::restore(path, None, (reader, plan), options, &env, job);
            }
            opened => opened?,
        };
        if !database.is_unfinished()? {
            if options.schema && options.tables.is_empty() {
                let text = format!(
                    "{} exists; only some tables (--table) or rows (--data-only) are restored into a database that is there",
                    path.display()
                );
                return Err(BackupError::Refused(text));
            }
            plan.leave_schemas(true);
            let failures = Failures::new(options.goes_on);
            let done = existing::restore(&database, path, reader, (&plan, failures), &env, job);
            database.close()?;
            return done;
        }
        plan.leave_schemas(false);
        return fresh::restore(path, Some(database), (reader, plan), options, &env, job);
    } else if !options.schema {
        return Err(BackupError::Refused(format!(
            "{} does not exist: there is nothing to put rows into",
            path.display()
        )));
    } else if !plan.definitions.schema {
        let text = "the archive has rows only: --data-only puts them into a database that has its tables";
        return Err(BackupError::Refused(text.to_owned()));
    }
    plan.leave_schemas(false);
    fresh::restore(path, None, (reader, plan), options, &env, job)
}

/// Whether a file is one whose making as a database was cut off: it holds nothing.
fn was_not_made(error: &versodb::Error) -> bool {
    error.sqlstate == "55000" && error.message.contains("its creation did not end")
}

/// Reads an archive to its end, unpacks every chunk, and compares all of it with its checksums and its contents.
///
/// # Errors
/// `Damaged` names the chunk; `Cancelled`.
pub fn verify(env: &Env, input: Input, workers: usize, job: &Arc<Job>) -> Result<RestoreReport, BackupError> {
    let start = env.clock.monotonic_nanos();
    let (reader, definitions) = ArchiveReader::begin(input)?;
    let plan = Arc::new(Plan::new(definitions, &RestoreOptions::default())?);
    let tables = plan.definitions.tables.len() as u64;
    job.tell(Event::Phase { name: "verify", total: 0, unit: Unit::Bytes });
    let (rows, bytes) = chunks(env, reader, &plan, workers, job, HashSet::new(), |_, _| Ok(()))?;
    let data_s = (env.clock.monotonic_nanos() - start) as f64 / 1e9;
    Ok(RestoreReport { tables, rows, bytes, data_s, ..RestoreReport::default() })
}

/// What of an archive is restored.
struct Plan {
    definitions: Definitions,
    /// The names of its tables.
    known: HashSet<(String, String)>,
    selection: Selection,
    schema: bool,
    data: bool,
}

impl Plan {
    fn new(mut definitions: Definitions, options: &RestoreOptions) -> Result<Plan, BackupError> {
        older::mend_partitions(&mut definitions.before);
        if options.schema && !options.data && !definitions.schema {
            return Err(BackupError::Refused("the archive has no definitions".to_owned()));
        }
        if options.data && !options.schema && !definitions.data {
            return Err(BackupError::Refused("the archive has no rows".to_owned()));
        }
        let selection = Selection { tables: options.tables.clone() };
        let names = definitions.tables.iter().map(|table| (&*table.schema, &*table.name));
        if let Some(missing) = selection.missing(names) {
            return Err(BackupError::Refused(format!("the archive has no table {missing}")));
        }
        let tables = definitions.tables.iter();
        let known = tables.map(|table| (table.schema.clone(), table.name.clone())).collect();
        let data = options.data && definitions.data;
        Ok(Plan { selection, schema: options.schema, data, definitions, known })
    }

    /// Which restore this is, for its notes: of which archive, and what of it.
    fn id(&self, options: &RestoreOptions) -> String {
        let RestoreOptions { tables, schema, data, .. } = options;
        format!("{} {schema} {data} {tables:?}", self.definitions.id)
    }

    fn wants(&self, table: &TableOf) -> bool {
        self.selection.has(&table.schema, &table.name)
    }

    /// The table that a foreign key of a wanted table references, where it is not restored with it: the key is left out, unless
    /// that table is there already.
    fn lacks<'s>(&self, step: &'s Step) -> Option<&'s (String, String)> {
        let has = |table: &(String, String)| self.selection.has(&table.0, &table.1);
        let wanted = self.schema && step.kind == Kind::ForeignKey && step.table.as_ref().is_some_and(has);
        step.other.as_ref().filter(|other| wanted && !(has(other) && self.known.contains(*other)))
    }

    /// Whether a statement is run.
    fn runs(&self, step: &Step) -> bool {
        let has = |table: &(String, String)| self.selection.has(&table.0, &table.1);
        if self.lacks(step).is_some() {
            return false;
        }
        if step.kind == Kind::Value {
            // Rows without the numbers that made them would be overtaken by the next ones.
            return self.data && step.table.as_ref().map_or(self.selection.is_all(), has);
        }
        let chosen = match &step.table {
            Some(table) => has(table) && step.other.as_ref().is_none_or(has),
            None => {
                self.selection.is_all()
                    || matches!(step.kind, Kind::Schema | Kind::Type | Kind::Sequence | Kind::Function)
            }
        };
        self.schema && chosen
    }

    /// Whether rows are as the definitions of their table say; the table.
    fn check(&self, rows: &Rows, part: Part) -> Result<&TableOf, BackupError> {
        let damaged = |flaw: String| BackupError::damaged(part, flaw);
        let table = self.definitions.tables.get(rows.table as usize);
        let table = table.ok_or_else(|| damaged(format!("there is no table {}", rows.table)))?;
        if table.columns.len() != rows.batch.columns.len() {
            return Err(damaged(format!("rows of another number of columns than {}", table.name)));
        }
        for (known, column) in table.columns.iter().zip(&rows.batch.columns) {
            if known.layout != column.physical() as u8 {
                return Err(damaged(format!("values of another layout than {}.{}", table.name, known.name)));
            }
            if known.not_null && column.nulls.any() {
                return Err(damaged(format!("NULLs in {}.{}", table.name, known.name)));
            }
        }
        Ok(table)
    }
}

/// Texts are UTF-8, whatever an archive says.
fn check_texts(rows: &Rows, types: &[SqlType], part: Part) -> Result<(), BackupError> {
    for (ty, column) in types.iter().zip(&rows.batch.columns) {
        let is_text = matches!(
            ty,
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name | SqlType::Json
        );
        let Some(values) = column.data.bytes().filter(|_| is_text) else { continue };
        // All at once, and each one begins at a character.
        let sound = std::str::from_utf8(&values.bytes)
            .is_ok_and(|all| values.ends.iter().all(|end| all.is_char_boundary(*end as usize)));
        if !sound {
            return Err(BackupError::damaged(part, "a text is not UTF-8"));
        }
    }
    Ok(())
}

/// Unpacks all chunks but those that are there on several threads and hands on the rows of tables that are wanted; how many
/// rows these were with those that are there, and the bytes of the archive. It has been read to its end and is sound then.
fn chunks(
    env: &Env,
    reader: ArchiveReader<Input>,
    plan: &Arc<Plan>,
    workers: usize,
    job: &Arc<Job>,
    there: HashSet<u32>,
    each: impl Fn(Rows, Part) -> Result<(), BackupError> + Send + Sync + 'static,
) -> Result<(u64, u64), BackupError> {
    let shared = Arc::new(Mutex::new((reader, Vec::new(), 0u64)));
    let there = Arc::new(there);
    let (state, plan_of, there_of) = (Arc::clone(&shared), Arc::clone(plan), Arc::clone(&there));
    workers::run(env, job, workers, move |team| {
        loop {
            let (stored, bytes) = {
                let mut state = state.lock();
                team.check()?;
                let before = state.0.bytes();
                match state.0.next() {
                    Ok(Some(stored)) => (stored, state.0.bytes() - before),
                    Ok(None) => return Ok(()),
                    Err(error) => {
                        team.fail(error);
                        return Err(BackupError::Cancelled);
                    }
                }
            };
            let number = stored.number();
            if there_of.contains(&number) {
                team.job.tell(Event::Done(bytes));
                continue;
            }
            let part = Part::Chunk(number);
            let rows = stored.rows()?;
            let table = plan_of.check(&rows, part)?;
            let (place, count) = (rows.table, rows.batch.rows as u64);
            let wanted = plan_of.wants(table);
            if wanted {
                each(rows, part)?;
            }
            let mut state = state.lock();
            state.1.push((number, place, count));
            state.2 += if wanted { count } else { 0 };
            drop(state);
            team.job.tell(Event::Done(bytes));
            if wanted {
                let name = format!("{}.{}", table.schema, table.name);
                team.job.tell(Event::Rows { table: &name, rows: count, bytes });
            }
        }
    })?;
    let (reader, read, rows) = &*shared.lock();
    let contents = reader.contents().ok_or(BackupError::Cancelled)?;
    for (number, table, rows) in read {
        let line = contents.get(*number as usize - 1);
        if line.is_none_or(|line| line.table != *table || u64::from(line.rows) != *rows) {
            return Err(BackupError::damaged(Part::Chunk(*number), "the contents describe other rows"));
        }
    }
    let known = there.iter().filter_map(|number| contents.get(*number as usize - 1));
    let known = known.filter(|line| {
        plan.definitions.tables.get(line.table as usize).is_some_and(|table| plan.wants(table))
    });
    Ok((*rows + known.map(|line| u64::from(line.rows)).sum::<u64>(), reader.bytes()))
}

/// The beginning of a statement, for messages.
fn shown(sql: &str) -> String {
    const SHOWN: usize = 200;
    let mut text: String = sql.chars().take(SHOWN).collect();
    if text.len() < sql.len() {
        text.push('…');
    }
    text
}

/// Says that a foreign key is left out: the table that it references is not there.
fn tell_left_out(step: &Step, (schema, other): &(String, String), job: &Job) {
    let key = step.sql.split_once(" ADD CONSTRAINT ").and_then(|(_, rest)| rest.split_once(" FOREIGN KEY"));
    let place = |schema: &str, table: &str| format!("{}.{}", quote_ident(schema), quote_ident(table));
    let own = step.table.as_ref().map(|(schema, table)| place(schema, table)).unwrap_or_default();
    let text = left_out_key(key.map_or("", |(key, _)| key), &own, &place(schema, other));
    job.tell(Event::Notice(&text));
}

/// Runs a statement of the archive.
fn run(connection: &mut versodb::Connection, step: &Step, job: &Job) -> Result<(), BackupError> {
    job.check()?;
    job.tell(Event::Statement(&step.sql));
    let result = connection.execute(&step.sql).map(drop);
    job.tell(Event::Done(1));
    job.outcome(
        result
            .map_err(|error| BackupError::Statement { error: Box::new(error), statement: shown(&step.sql) }),
    )
}
