//! A database to an archive.
//!
//! The leader begins a transaction, exports its snapshot and writes the definitions that this snapshot has. Workers import it,
//! take ranges of pages from one queue, large tables first, and hand packed chunks to the writer.

use std::io::Write;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use verso_catalog::packs::Wanted;
use verso_catalog::{CatalogSnapshot, TableDef};
use verso_env::sync::Mutex;
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_storage::{CommitMode, Engine, Isolation, TableLockMode, Txn, TxnOptions, WaitPolicy};
use verso_types::names::{self, ObjectNames};
use verso_types::{Batch, SqlType};
use versodb::{Connection, Database};

use crate::archive::columns;
use crate::archive::compression::Compression;
use crate::archive::contents::Definitions;
use crate::archive::writer::{ArchiveWriter, Packed};
use crate::error::BackupError;
use crate::files::write_whole;
use crate::job::{Event, Job, Unit};
use crate::references::{names_objects, to_texts};
use crate::schema::{Dialect, Selection, Source, definitions, left_out};
use crate::workers::{self, Team};

/// A chunk ends when its rows have so many bytes.
const CHUNK_BYTES: usize = 4 << 20;
/// Bytes of pages that a worker takes at a time.
const RANGE_BYTES: u32 = 2 << 20;

/// What a backup holds, and how it is made.
#[derive(Clone, Debug)]
pub struct BackupOptions {
    /// How many threads read and pack.
    pub workers: usize,
    /// How chunks are packed.
    pub compression: Compression,
    /// Only these tables, `schema.table` or `table`; empty means everything.
    pub tables: Vec<String>,
    /// The objects?
    pub schema: bool,
    /// The rows?
    pub data: bool,
}

impl Default for BackupOptions {
    fn default() -> BackupOptions {
        BackupOptions {
            workers: 1,
            compression: Compression::default(),
            tables: Vec::new(),
            schema: true,
            data: true,
        }
    }
}

/// What a backup has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BackupReport {
    /// Tables.
    pub tables: u64,
    /// Rows of all.
    pub rows: u64,
    /// Bytes of the archive or script.
    pub bytes: u64,
}

/// Writes a backup to `out`.
///
/// # Errors
/// `Refused` for tables that are not there or cannot be written; `Cancelled`; those of the database and of `out`.
pub fn backup(
    database: &Database,
    out: impl Write + Send + 'static,
    options: &BackupOptions,
    job: &Arc<Job>,
) -> Result<BackupReport, BackupError> {
    let whole = move || {
        job.list(database.engine(), "BACKUP", options.workers);
        let mut snapshot = Snapshot::take(database, job)?;
        let (definitions, tables) = snapshot.definitions(options, Dialect::Verso)?;
        left_out(&tables).iter().for_each(|text| job.tell(Event::Notice(text)));
        let written = write_archive(&snapshot, &definitions, &tables, out, options, job);
        let ended = snapshot.end();
        written.and_then(|report| ended.map(|()| report))
    };
    job.unlist(whole())
}

/// Writes a backup to a file, which has its name only when it is complete.
///
/// # Errors
/// As [`backup`]; `Refused` where the file is there and may not be replaced.
pub fn backup_to_file(
    database: &Database,
    path: &Path,
    replace: bool,
    options: &BackupOptions,
    job: &Arc<Job>,
) -> Result<BackupReport, BackupError> {
    let env = database.engine().env().clone();
    write_whole(&env, path, replace, |out| backup(database, out, options, job))
}

/// The snapshot that a backup reads, and the leader's session in it.
pub(crate) struct Snapshot {
    pub engine: Engine,
    database: Database,
    connection: Connection,
    /// The name under which it was exported.
    name: String,
    txn: Txn,
    pub catalog: Arc<CatalogSnapshot>,
    /// The names of all objects as the leader's session writes them: with their schema.
    pub names: Option<Arc<dyn ObjectNames>>,
}

impl Snapshot {
    pub fn take(database: &Database, job: &Job) -> Result<Snapshot, BackupError> {
        let mut connection = job.session(database, "verso backup")?;
        // Texts of definitions name everything with its schema then, whatever path the database has.
        connection.execute("SET search_path = ''")?;
        // And their literals are read alike everywhere, whatever the database says of its sessions.
        connection
            .execute("SET datestyle = 'ISO, YMD'; SET intervalstyle = 'postgres'; SET timezone = 'UTC'")?;
        connection.execute("SET bytea_output = 'hex'; SET extra_float_digits = 1")?;
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let exported = connection.prepare("SELECT pg_export_snapshot()")?;
        let name: Option<String> = exported.query_row(&[], |row| row.get(0))?;
        let name = name.unwrap_or_default();
        let names = names::lent();
        let engine = database.engine().clone();
        let txn = import(&engine, &name)?;
        let whole = database.instance().catalog.snapshot(&txn)?;
        let lost = database.instance().catalog.losses(&whole);
        let (catalog, damaged) = whole.without_damage();
        for one in lost {
            job.tell(Event::Notice(&format!("not all is known: {one}")));
        }
        // Whoever restores the backup is not to miss anything that nobody has told of.
        for one in damaged {
            job.tell(Event::Notice(&format!("left out: {one}")));
        }
        Ok(Snapshot { engine, database: database.clone(), connection, name, txn, catalog, names })
    }

    /// The definitions of what was chosen, and its tables; these are locked against being changed in their definition.
    pub fn definitions(
        &mut self,
        options: &BackupOptions,
        dialect: Dialect,
    ) -> Result<(Definitions, Vec<Arc<TableDef>>), BackupError> {
        let selection = Selection { tables: options.tables.clone() };
        let catalog = &self.database.instance().catalog;
        let roles = catalog.roles(&self.txn)?;
        let settings = catalog.database_settings()?;
        let mut source = Source {
            connection: &mut self.connection,
            catalog: &self.catalog,
            engine: &self.engine,
            roles,
            settings,
            selection: &selection,
            dialect,
        };
        let (definitions, tables) = definitions(&mut source, options.schema, options.data)?;
        for table in tables.iter().filter(|_| options.data) {
            let mode = TableLockMode::AccessShare;
            self.engine.lock_table(&mut self.txn, table.heap, mode, WaitPolicy::Block)?;
        }
        Ok((definitions, tables))
    }

    pub fn heap(&self, table: &TableDef) -> Result<Arc<Heap>, BackupError> {
        Ok(self.engine.heap(table.heap)?)
    }

    /// The name under which others import it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A transaction that sees what the leader sees.
    pub fn txn(&self) -> Result<Txn, BackupError> {
        import(&self.engine, &self.name)
    }

    pub fn end(self) -> Result<(), BackupError> {
        let Snapshot { mut connection, mut txn, .. } = self;
        txn.end_statement()?;
        txn.commit(CommitMode::NoWait)?;
        connection.execute("ROLLBACK")?;
        Ok(())
    }
}

/// A transaction that sees what the snapshot of this name shows.
pub(crate) fn import(engine: &Engine, name: &str) -> Result<Txn, BackupError> {
    let options = TxnOptions { isolation: Isolation::Snapshot, savepoints: false, read_only: true };
    let mut txn = engine.begin(options);
    txn.import_snapshot(name)?;
    txn.begin_statement()?;
    Ok(txn)
}

/// A table whose pages are handed out.
struct PagesOf {
    number: u32,
    name: String,
    heap: Arc<Heap>,
    wanted: Wanted,
    pages: u32,
    /// The columns whose values name objects.
    named: Vec<(usize, SqlType)>,
}

/// Ranges of pages that nobody has taken yet.
struct Queue {
    tables: Vec<Arc<PagesOf>>,
    table: usize,
    page: u32,
    range: u32,
}

impl Queue {
    fn next(&mut self) -> Option<(Arc<PagesOf>, Range<u32>)> {
        loop {
            let table = self.tables.get(self.table)?;
            if self.page < table.pages {
                let end = self.page.saturating_add(self.range).min(table.pages);
                let range = std::mem::replace(&mut self.page, end)..end;
                return Some((Arc::clone(table), range));
            }
            (self.table, self.page) = (self.table + 1, 0);
        }
    }
}

fn write_archive(
    snapshot: &Snapshot,
    definitions: &Definitions,
    tables: &[Arc<TableDef>],
    out: impl Write + Send + 'static,
    options: &BackupOptions,
    job: &Arc<Job>,
) -> Result<BackupReport, BackupError> {
    let compression = options.compression;
    let writing = || BackupError::io("writing the archive");
    let first = serde_json::to_vec(definitions).map_err(|error| BackupError::Refused(error.to_string()))?;
    let first = Packed::new(first, compression, (0, 0)).map_err(writing())?;
    let writer = ArchiveWriter::begin(out, &first).map_err(writing())?;
    let shared = Arc::new(Mutex::new(Some((writer, 0u64))));
    if options.data {
        let mut sources = Vec::new();
        for (number, table) in (0..).zip(tables) {
            let heap = snapshot.heap(table)?;
            sources.push(Arc::new(PagesOf {
                number,
                name: format!("{}.{}", table.schema, table.name),
                wanted: Wanted::of(&heap, table.shown().iter()),
                named: named(table),
                pages: heap.page_count(),
                heap,
            }));
        }
        let total: u64 = sources.iter().map(|source| u64::from(source.pages)).sum();
        job.tell(Event::Phase { name: "data", total, unit: Unit::Pages });
        sources.sort_by_key(|source| std::cmp::Reverse(source.pages));
        let range = (RANGE_BYTES / definitions.page_bytes.max(1)).max(1);
        let queue = Mutex::new(Queue { tables: sources, table: 0, page: 0, range });
        let (writer, engine, name) = (Arc::clone(&shared), snapshot.engine.clone(), snapshot.name.clone());
        let names = snapshot.names.clone();
        workers::run(snapshot.engine.env(), job, options.workers, move |team| {
            if let Some(names) = &names {
                names::lend(names);
            }
            let mut txn = import(&engine, &name)?;
            loop {
                let Some((table, pages)) = queue.lock().next() else { break };
                let count = u64::from(pages.end - pages.start);
                read_range(&txn, &table, pages, team, &mut |batch| {
                    let packed = pack(table.number, batch, compression)?;
                    let bytes = packed.stored_bytes();
                    let rows = batch.rows as u64;
                    let mut writer = writer.lock();
                    let Some((archive, all)) = writer.as_mut() else { return Err(BackupError::Cancelled) };
                    archive.chunk(&packed).map_err(BackupError::io("writing the archive"))?;
                    *all += rows;
                    drop(writer);
                    team.job.tell(Event::Rows { table: &table.name, rows, bytes });
                    Ok(())
                })?;
                team.job.tell(Event::Done(count));
            }
            txn.end_statement()?;
            txn.commit(CommitMode::NoWait)?;
            Ok(())
        })?;
    }
    let Some((writer, rows)) = shared.lock().take() else { return Err(BackupError::Cancelled) };
    job.check()?;
    let (bytes, _) = writer.finish(compression).map_err(writing())?;
    Ok(BackupReport { tables: tables.len() as u64, rows, bytes })
}

/// The columns of a table whose values name objects.
fn named(table: &TableDef) -> Vec<(usize, SqlType)> {
    let columns = table.shown().iter().enumerate();
    columns
        .filter(|(_, column)| names_objects(&column.ty))
        .map(|(at, column)| (at, column.ty.clone()))
        .collect()
}

fn pack(table: u32, batch: &Batch, compression: Compression) -> Result<Packed, BackupError> {
    let mut raw = Vec::with_capacity(batch.heap_bytes() + 64);
    columns::encode(table, batch, &mut raw);
    Packed::new(raw, compression, (table, batch.rows as u32)).map_err(BackupError::io("packing a chunk"))
}

/// Reads the rows of a range of pages and hands them on, a chunk at a time.
fn read_range(
    txn: &Txn,
    table: &PagesOf,
    pages: Range<u32>,
    team: &Team,
    each: &mut dyn FnMut(&Batch) -> Result<(), BackupError>,
) -> Result<(), BackupError> {
    let mut scan = table.heap.scan(txn, ScanSpec { columns: table.wanted.ids(), pages });
    let mut rows = ScanBatch::default();
    let mut chunk: Option<Batch> = None;
    while scan.next(&mut rows)? {
        table.wanted.finish(&mut rows.batch)?;
        for (at, ty) in &table.named {
            rows.batch.columns[*at] = to_texts(&rows.batch.columns[*at], ty)?;
        }
        team.check()?;
        let so_far = match &mut chunk {
            Some(chunk) => {
                chunk.append(&rows.batch);
                chunk
            }
            None => chunk.insert(rows.batch.clone()),
        };
        if so_far.heap_bytes() >= CHUNK_BYTES {
            each(so_far)?;
            chunk = None;
        }
    }
    chunk.filter(|chunk| chunk.rows > 0).map_or(Ok(()), |chunk| each(&chunk))
}
