//! A database to a script of SQL, which PostgreSQL's psql and Verso's shell can run: definitions, the rows as COPY, and what
//! comes behind them.

use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use verso_catalog::TableDef;
use verso_catalog::packs::Wanted;
use verso_exec::functions::quote_ident;
use verso_parser::syntax::CopyOptions;
use verso_session::copy::layout::Layout;
use verso_session::copy::writer::Writer;
use verso_storage::CommitMode;
use verso_storage::heap::{ScanBatch, ScanSpec};
use verso_types::{SqlType, TimeStyle};
use versodb::Database;

use crate::archive::contents::Step;
use crate::backup::{BackupOptions, BackupReport, Snapshot};
use crate::error::BackupError;
use crate::files::write_whole;
use crate::job::{Event, Job, Unit};
use crate::schema::{Dialect, left_out};

/// Bytes handed on at a time.
const PIECE_BYTES: usize = 1 << 18;

/// Writes the script to `out`; `options` say which tables, objects and rows, the other ones are for archives.
///
/// # Errors
/// As [`backup`](crate::backup()); `Refused` for what PostgreSQL cannot have.
pub fn script(
    database: &Database,
    out: impl Write,
    options: &BackupOptions,
    job: &Arc<Job>,
) -> Result<BackupReport, BackupError> {
    job.unlist(write_script(database, out, options, job))
}

fn write_script(
    database: &Database,
    out: impl Write,
    options: &BackupOptions,
    job: &Arc<Job>,
) -> Result<BackupReport, BackupError> {
    job.list(database.engine(), "BACKUP", 1);
    let mut snapshot = Snapshot::take(database, job)?;
    let (definitions, tables) = snapshot.definitions(options, Dialect::Postgres)?;
    left_out(&tables).iter().for_each(|text| job.tell(Event::Notice(text)));
    let mut script = Script::new(out);
    script.head().map_err(BackupError::io("writing the script"))?;
    let steps = |script: &mut Script<_>, steps: &[Step]| {
        let mut steps = steps.iter();
        steps.try_for_each(|step| script.step(step)).map_err(BackupError::io("writing the script"))
    };
    steps(&mut script, &definitions.before)?;
    if options.data {
        let pages = tables.iter().map(|table| Ok(u64::from(snapshot.heap(table)?.page_count())));
        let total = pages.sum::<Result<u64, BackupError>>()?;
        job.tell(Event::Phase { name: "data", total, unit: Unit::Pages });
        for table in &tables {
            script.rows(&snapshot, table, job)?;
        }
    }
    steps(&mut script, &definitions.after)?;
    script.out.flush().map_err(BackupError::io("writing the script"))?;
    snapshot.end()?;
    script.report.tables = tables.len() as u64;
    Ok(script.report)
}

/// Writes the script to a file, which has its name only when it is complete.
///
/// # Errors
/// As [`script`]; `Refused` where the file is there and may not be replaced.
pub fn script_to_file(
    database: &Database,
    path: &Path,
    replace: bool,
    options: &BackupOptions,
    job: &Arc<Job>,
) -> Result<BackupReport, BackupError> {
    let env = database.engine().env().clone();
    write_whole(&env, path, replace, |out| script(database, out, options, job))
}

/// A script that is being written.
pub(crate) struct Script<W> {
    out: W,
    report: BackupReport,
}

impl<W: Write> Script<W> {
    /// One without a line yet.
    pub fn new(out: W) -> Script<W> {
        Script { out, report: BackupReport::default() }
    }

    /// All is handed on; how many bytes there were.
    pub fn end(mut self) -> io::Result<u64> {
        self.out.flush()?;
        Ok(self.report.bytes)
    }

    pub fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.report.bytes += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// What stands before all statements.
    pub fn head(&mut self) -> io::Result<()> {
        let version = env!("CARGO_PKG_VERSION");
        let text = format!(
            "-- Backup of a database of Verso {version}\n\n\
             SET client_encoding = 'UTF8';\nSET standard_conforming_strings = on;\n\
             SET check_function_bodies = off;\nSET client_min_messages = warning;\n\n"
        );
        self.put(text.as_bytes())
    }

    /// A statement.
    pub fn step(&mut self, step: &Step) -> io::Result<()> {
        // A text of a user may end with a comment.
        let end = if step.sql.contains("--") { "\n;\n" } else { ";\n" };
        self.put(step.sql.as_bytes())?;
        self.put(end.as_bytes())
    }

    fn rows(&mut self, snapshot: &Snapshot, table: &TableDef, job: &Job) -> Result<(), BackupError> {
        let writing = || BackupError::io("writing the script");
        // Generated columns follow from the others.
        let own = || table.shown().iter().filter(|column| !column.generated);
        let names: Vec<&str> = own().map(|column| &*column.name).collect();
        let types: Vec<SqlType> = own().map(|column| column.ty.clone()).collect();
        let layout = Layout::of(&CopyOptions::default(), &names, false)?;
        let time_zone = TimeStyle::UTC;
        if let Some(names) = &snapshot.names {
            verso_types::names::lend(names);
        }
        let mut writer = Writer::new(&layout, &types, &time_zone);
        let mut txn = snapshot.txn()?;
        let heap = snapshot.heap(table)?;
        let wanted = Wanted::of(&heap, table.shown().iter().filter(|column| !column.generated));
        let mut scan = heap.scan(&txn, ScanSpec { columns: wanted.ids(), pages: 0..u32::MAX });
        let mut rows = ScanBatch::default();
        let mut text = Vec::new();
        let place = format!("{}.{}", quote_ident(&table.schema), quote_ident(&table.name));
        let list: Vec<String> = names.iter().map(|name| quote_ident(name)).collect();
        // A table without columns has rows, which are empty lines.
        let list = if list.is_empty() { String::new() } else { format!(" ({})", list.join(", ")) };
        self.put(format!("\nCOPY {place}{list} FROM stdin;\n").as_bytes()).map_err(writing())?;
        while scan.next(&mut rows)? {
            wanted.finish(&mut rows.batch)?;
            job.check()?;
            for row in 0..rows.batch.rows {
                writer.row(&rows.batch, row, &mut text);
                if text.len() >= PIECE_BYTES {
                    self.put(&text).map_err(writing())?;
                    text.clear();
                }
            }
            self.report.rows += rows.batch.rows as u64;
        }
        text.extend_from_slice(b"\\.\n\n");
        self.put(&text).map_err(writing())?;
        let bytes = text.len() as u64;
        job.tell(Event::Rows { table: &place, rows: self.report.rows, bytes });
        job.tell(Event::Done(heap.page_count().into()));
        drop(scan);
        txn.end_statement()?;
        txn.commit(CommitMode::NoWait)?;
        Ok(())
    }
}
