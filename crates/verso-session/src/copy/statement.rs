//! COPY: rows between tables and data in files or with the client.
//!
//! ```text
//! COPY FROM:  client or file ─► Reader (copy/) ─► batches ─► INSERT's plan over them
//! COPY TO:    query's plan ─► batches ─► Writer (copy/) ─► client or file
//! ```
//!
//! Y1. COPY FROM is an INSERT whose rows come from outside, so defaults, NOT NULL and constraints hold as they do there.
//! Y2. It never runs twice: its data come once.

use std::cell::RefCell;
use std::path::Path;
use std::sync::Arc;

use verso_catalog::authority;
use verso_env::{OpenMode, VfsFile, scheme_of};
use verso_exec::error::ExecError;
use verso_exec::exec::Scan as _;
use verso_exec::files::FileSink;
use verso_exec::memory::{Memory, Reservation};
use verso_exec::plan::{Insert, OutputColumn, Plan, Statement as Bound};
use verso_exec::spill::Spool;
use verso_exec::{ExecContext, ExternalRows, Sink, execute};
use verso_storage::workers::Listed;
use verso_storage::{ObjectId, TableLockMode};
use verso_types::encoding::has_text;
use verso_types::{Batch, Encoding, SqlType, TimeStyle};

use crate::client::{Client, CommandTag, CopyLayout, Notice, Results};
use crate::copy::layout::Layout;
use crate::copy::parquet;
use crate::copy::reader::{Progress, Reader};
use crate::copy::writer::Writer;
use crate::ddl::schema_absent;
use crate::failure::Failure;
use crate::frame::Frame;
use verso_parser::syntax::{Copy, CopyFormat, CopyOptions, CopyPlace, CopyWhat};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

/// Rows handed on at a time.
const BATCH_ROWS: usize = 1_024;
/// Bytes read from or written to a file at a time.
const PIECE_BYTES: usize = 256 << 10;

/// COPY.
pub(crate) fn copy(
    frame: &Frame<'_>,
    binder: &Binder<'_>,
    copy: &Copy,
    results: &mut Results<'_>,
) -> Result<CommandTag, Failure> {
    Transfer { frame }.run(binder, copy, results)
}

/// Rows from outside: the table that they are for, its columns that they have, and which of these have a default.
struct External<'a> {
    table: &'a str,
    columns: &'a [(String, SqlType)],
    defaults: Vec<bool>,
}

/// Of a table that is not there PostgreSQL does not show where the statement names it.
fn without_place(error: SqlError) -> SqlError {
    match error.sqlstate == sqlstate::UNDEFINED_TABLE {
        true => SqlError { position: None, ..error },
        false => error,
    }
}

/// A COPY, over the frame that it runs in.
struct Transfer<'f> {
    frame: &'f Frame<'f>,
}

impl Transfer<'_> {
    fn run(
        &self,
        binder: &Binder<'_>,
        copy: &Copy,
        results: &mut Results<'_>,
    ) -> Result<CommandTag, Failure> {
        let wanted = if copy.from { authority::READ_FILES } else { authority::WRITE_FILES };
        if matches!(copy.place, CopyPlace::File(_)) && !self.frame.services.has_role(wanted) {
            let (way, role) = match copy.from {
                true => ("from", "pg_read_server_files"),
                false => ("to", "pg_write_server_files"),
            };
            let text = format!("permission denied to COPY {way} a file");
            let detail = format!("Only roles with privileges of the \"{role}\" role may COPY {way} a file.");
            let hint =
                "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for anyone.";
            let error = SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text);
            return Err(error.with_detail(detail).with_hint(hint).into());
        }
        if copy.options.nolog && !copy.from {
            let text = "COPY NOLOG cannot be used with COPY TO";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
        }
        if let CopyWhat::Table { name, .. } = &copy.what
            && let Some(error) = schema_absent(self.frame.catalog, name)
        {
            return Err(error.into());
        }
        let rows = match &copy.what {
            CopyWhat::Table { .. } if copy.options.nolog => self.load(binder, copy, results)?,
            CopyWhat::Table { name, columns } if copy.from => {
                let names: Vec<&str> = columns.iter().map(|column| column.text.as_str()).collect();
                let asks = copy.options.default.is_some();
                let (insert, columns, defaults) =
                    binder.copy_from(name, &names, copy.filter.as_ref(), asks).map_err(without_place)?;
                // Before the first of its data has come it may still run again.
                self.frame.tables().lock(&insert.table, TableLockMode::RowExclusive)?;
                let table = insert.table.name.to_string();
                let rows = External { table: &table, columns: &columns, defaults };
                self.copy_from(copy, rows, &Bound::Insert(insert), results)?
            }
            CopyWhat::Table { name, columns } => {
                let names: Vec<&str> = columns.iter().map(|column| column.text.as_str()).collect();
                let plan = binder.copy_to(name, &names).map_err(without_place)?;
                let mut bound = Bound::Query(plan);
                binder.planned(&mut bound)?;
                self.copy_to(copy, &bound, results)?
            }
            CopyWhat::Query(query) => {
                let bound = binder.statement(query)?;
                self.copy_to(copy, &bound, results)?
            }
        };
        Ok(CommandTag { text: format!("COPY {rows}"), rows })
    }

    /// COPY FROM with NOLOG: into a new heap that is not logged before all of it is on disk.
    fn load(&self, binder: &Binder<'_>, copy: &Copy, results: &mut Results<'_>) -> Result<u64, Failure> {
        let logged = Copy { options: CopyOptions { nolog: false, ..copy.options.clone() }, ..copy.clone() };
        let CopyWhat::Table { name, columns } = &copy.what else {
            return Err(SqlError::internal("COPY FROM without a table").into());
        };
        let names: Vec<&str> = columns.iter().map(|column| column.text.as_str()).collect();
        let (insert, ..) = binder.copy_from(name, &names, copy.filter.as_ref(), false)?;
        let table = self.frame.catalog.table_by_oid(insert.table.oid);
        let Some(table) = table.filter(|table| !table.unlogged) else {
            // A view has no rows; those of an unlogged table are not logged anyhow.
            return self.run(binder, &logged, results).map(|tag| tag.rows);
        };
        let catalog = &self.frame.services.instance.catalog;
        let Some(load) = catalog.begin_load(&mut self.frame.txn.borrow_mut(), &table)? else {
            let text = "nolog has no effect: the log is archived, or a base backup is under way";
            self.frame.services.notices.tell(Notice::message(text));
            return self.run(binder, &logged, results).map(|tag| tag.rows);
        };
        self.frame.inside_now(|frame| {
            let time_zone = &frame.services.settings.time_zone;
            let binder = Binder::new(frame.catalog, time_zone, &[]).with_rules(frame.services.settings.rules);
            let done = Transfer { frame }.run(&binder, &logged, results)?;
            let table = frame.catalog.table_by_oid(table.oid);
            let table = table.ok_or_else(|| SqlError::internal("the table that is loaded is not there"))?;
            catalog.end_load(&mut frame.txn.borrow_mut(), load, &table)?;
            Ok(done.rows)
        })
    }

    fn run_external(
        &self,
        bound: &Bound,
        external: Option<&dyn ExternalRows>,
        sink: &mut dyn Sink,
    ) -> Result<u64, ExecError> {
        let tables = self.frame.tables();
        let executor = self.frame.services.settings.executor;
        let services = self.frame.lend();
        let cx = ExecContext::new(&tables, self.frame.catalog, &[], &services, self.frame.cancel, executor);
        let cx = cx.with_definitions(self.frame).seeing_transitions(self.frame.transitions.rows);
        execute(bound, &cx.with_external(external), sink)
    }

    fn copy_from(
        &self,
        copy: &Copy,
        rows: External<'_>,
        bound: &Bound,
        results: &mut Results<'_>,
    ) -> Result<u64, Failure> {
        let External { table, columns, defaults } = rows;
        let names: Vec<&str> = columns.iter().map(|(name, _)| name.as_str()).collect();
        let layout = Layout::of(&copy.options, &names, true)?;
        if layout.format == CopyFormat::Parquet {
            let source = parquet::source(&copy.place, columns, self.frame)?;
            self.sends(results); // Y2
            return Ok(self.run_external(bound, Some(&source), &mut Nowhere)?);
        }
        let binary = layout.format == CopyFormat::Binary;
        self.sends(results); // Y2
        let data = match &copy.place {
            CopyPlace::Client => {
                let client = results.client();
                client.with(|sink| sink.copy_in(CopyLayout { binary, columns: columns.len() }))?;
                Data::Client(client)
            }
            CopyPlace::File(path) => {
                let mode = OpenMode { read_only: true, ..OpenMode::default() };
                Data::File { file: self.open(path, mode)?, at: 0 }
            }
        };
        let time_zone = self.frame.services.settings.time_zone.clone();
        let subject = format!("COPY {table}");
        let reader = Reader::new(layout, &subject, columns, time_zone).with_defaults(defaults);
        let line = self.frame.services.memory.lend().account.reserve("a line of COPY", u64::MAX);
        let object = match bound {
            Bound::Insert(insert) => Some(insert.table.heap),
            _ => None,
        };
        let listed = self.listed("COPY FROM", object, &copy.place);
        if let Data::File { file, .. } = &data {
            listed.job().advance_to(0, file.len().unwrap_or_default());
        }
        let encoding = encoding_of(copy, binary, &self.frame.services.settings.time_zone);
        let data = Texts { data, encoding, open: Vec::new() };
        let source =
            Rows { data, reader, line, listed, at_end: false, done: false, error: None, refused: None };
        let source = Source(RefCell::new(source));
        let result = self.run_external(bound, Some(&source), &mut Nowhere);
        let mut rows = source.0.into_inner();
        let messages = rows.reader.messages(result.is_ok());
        messages.into_iter().for_each(|message| self.frame.services.notices.tell(Notice::message(message)));
        match (result, rows.error.take()) {
            (Err(_), Some(error)) => Err(error.into()),
            (Err(error), None) => {
                // Filters and triggers leave rows out, and those of a partitioned table are checked by its partitions.
                let plain = |insert: &Insert| {
                    insert.routes.is_empty()
                        && !insert.table.triggers.iter().any(|trigger| trigger.kind.is_before())
                };
                let told = copy.filter.is_none() && matches!(bound, Bound::Insert(insert) if plain(insert));
                let refused = rows.refused.filter(|_| told);
                let context = rows.reader.context(refused);
                let failure = Failure::from(error);
                Err(Failure { error: failure.error.with_context(&context), conflict: failure.conflict })
            }
            (Ok(count), _) => Ok(count),
        }
    }

    fn copy_to(&self, copy: &Copy, bound: &Bound, results: &mut Results<'_>) -> Result<u64, Failure> {
        let columns: Vec<OutputColumn> = bound.output();
        let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        let types: Vec<SqlType> = columns.iter().map(|column| column.ty.clone()).collect();
        let layout = Layout::of(&copy.options, &names, false)?;
        let time_zone = &self.frame.services.settings.time_zone;
        let made = match layout.format {
            CopyFormat::Parquet => Made::File(parquet::sink(&columns, time_zone)?),
            _ => Made::Rows(Writer::new(&layout, &types, time_zone)),
        };
        let binary = matches!(layout.format, CopyFormat::Binary | CopyFormat::Parquet);
        let fields = layout.format == CopyFormat::Binary && time_zone.encoding.converts();
        let changed = match bound {
            Bound::Query(plan) => {
                self.lock_scanned(plan)?;
                None
            }
            _ => Some(self.changed_rows(bound)?),
        };
        self.sends(results);
        let object = match &copy.what {
            CopyWhat::Table { name, .. } => {
                self.frame.catalog.table(name.schema_text(), &name.name.text).map(|table| table.heap)
            }
            CopyWhat::Query(_) => None,
        };
        let target = match &copy.place {
            CopyPlace::Client => {
                let client = results.client();
                client.with(|sink| sink.copy_out(CopyLayout { binary, columns: columns.len() }))?;
                Target::Client(client)
            }
            CopyPlace::File(path) => {
                if !Path::new(path).is_absolute() {
                    let text = "relative path not allowed for COPY to file";
                    return Err(SqlError::new("42602", text).into());
                }
                let mode = OpenMode { create: true, truncate: true, ..OpenMode::default() };
                Target::File { file: self.open(path, mode)?, at: 0 }
            }
        };
        let mut out = Out {
            made,
            target,
            listed: self.listed("COPY TO", object, &copy.place),
            buffer: Vec::new(),
            encoding: encoding_of(copy, binary, time_zone),
            fields: fields.then(|| (time_zone.encoding, types.iter().map(has_text).collect())),
            count: 0,
            error: None,
        };
        out.begin(&names)?;
        let result = match changed {
            None => self.run_external(bound, None, &mut out),
            Some(rows) => send(rows, &mut out),
        };
        match (result, out.error.take()) {
            (Err(_), Some(error)) => Err(error.into()),
            (Err(error), None) => Err(error.into()),
            (Ok(_), _) => Ok(out.end()?),
        }
    }

    /// From here on the client hears of it, or its data come: it does not run again.
    fn sends(&self, results: &mut Results<'_>) {
        results.sent = true;
        self.frame.services.may_restart.set(false);
    }

    /// Locks the tables of a query as its scans will, as long as it may begin anew.
    fn lock_scanned(&self, plan: &Plan) -> Result<(), Failure> {
        let tables = self.frame.tables();
        plan.locked_ahead().iter().try_for_each(|(table, of)| tables.lock_for(table, *of))?;
        let mut scanned = Vec::new();
        plan.any(&mut |part| {
            if let Plan::TableScan { table, .. } | Plan::IndexScan { table, .. } = part {
                scanned.push(Arc::clone(table));
            }
            false
        });
        scanned.iter().try_for_each(|table| tables.lock(table, TableLockMode::AccessShare))?;
        Ok(())
    }

    /// The rows that a change returns. They wait here for its end: until something is sent it may run again, behind whoever
    /// has changed a row meanwhile.
    fn changed_rows(&self, bound: &Bound) -> Result<Spool, Failure> {
        let mut kept = Kept { rows: Spool::default(), memory: self.frame.services.memory.lend() };
        self.run_external(bound, None, &mut kept)?;
        Ok(kept.rows)
    }

    /// What others see of it; the phase says with whom rows are exchanged, as in `pg_stat_progress_copy`.
    fn listed(&self, what: &'static str, table: Option<ObjectId>, place: &CopyPlace) -> Listed {
        let services = self.frame.services;
        let listed = services.instance.engine.begin_job(what, services.info.number, table);
        let kind = if matches!(place, CopyPlace::File(_)) { "FILE" } else { "PIPE" };
        listed.job().enter_of(kind, 0, "bytes");
        listed
    }

    fn open(&self, path: &str, mode: OpenMode) -> Result<Arc<dyn VfsFile>, SqlError> {
        let (vfs, place) = (&self.frame.services.env.vfs, Path::new(path));
        // A folder is opened like a file, but not read like one.
        if mode.read_only && scheme_of(place).is_none() && vfs.list_dir(place).is_ok() {
            return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, format!("\"{path}\" is a directory")));
        }
        vfs.open(place, mode).map_err(|error| {
            let code = match error.kind() {
                std::io::ErrorKind::IsADirectory => sqlstate::WRONG_OBJECT_TYPE,
                std::io::ErrorKind::NotFound => "58P01",
                std::io::ErrorKind::PermissionDenied => sqlstate::INSUFFICIENT_PRIVILEGE,
                _ => sqlstate::IO_ERROR,
            };
            let what = if mode.read_only { "reading" } else { "writing" };
            let error = error.to_string();
            // Rust names the number behind the text.
            let why = error.split(" (os error").next().unwrap_or_default();
            SqlError::new(code, format!("could not open file \"{path}\" for {what}: {why}"))
        })
    }
}

/// The encoding of text and CSV: what the statement says, or the client's. Binary data as a whole have none.
fn encoding_of(copy: &Copy, binary: bool, style: &TimeStyle) -> Encoding {
    match binary {
        true => Encoding::UTF8,
        false => copy.options.encoding.unwrap_or(style.encoding),
    }
}

// ── from ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

/// Where data come from.
enum Data<'s> {
    Client(&'s Client<'s>),
    File { file: Arc<dyn VfsFile>, at: u64 },
}

impl Data<'_> {
    /// Appends a piece; false at the end.
    fn read(&mut self, into: &mut Vec<u8>) -> Result<bool, SqlError> {
        match self {
            Data::Client(client) => client.with(|sink| sink.copy_read(into)),
            Data::File { file, at } => {
                let length = into.len();
                into.resize(length + PIECE_BYTES, 0);
                let count = file.read_at(&mut into[length..], *at).map_err(|error| io("read", &error))?;
                into.truncate(length + count);
                *at += count as u64;
                Ok(count > 0)
            }
        }
    }
}

/// Data in an encoding, as UTF-8.
struct Texts<'s> {
    data: Data<'s>,
    encoding: Encoding,
    /// What has come and is not converted yet: less than a character between two pieces.
    open: Vec<u8>,
}

impl Texts<'_> {
    /// Appends a piece; false at the end.
    fn read(&mut self, into: &mut Vec<u8>) -> Result<bool, SqlError> {
        if !self.encoding.converts() {
            return self.data.read(into);
        }
        let more = self.data.read(&mut self.open)?;
        let length = self.open.len();
        let end = if more { self.encoding.whole(&self.open, length) } else { length };
        into.extend_from_slice(self.encoding.decode(&self.open[..end])?.as_bytes());
        self.open.drain(..end);
        Ok(more)
    }
}

struct Rows<'s> {
    data: Texts<'s>,
    /// What others see of it.
    listed: Listed,
    reader: Reader,
    /// For what was read, of which a row is still to be made.
    line: Reservation,
    at_end: bool,
    done: bool,
    error: Option<SqlError>,
    /// The row of the last batch that a constraint refuses.
    refused: Option<usize>,
}

impl Rows<'_> {
    fn fill(&mut self, out: &mut Batch) -> Result<bool, SqlError> {
        out.clear();
        while !self.done && out.rows < BATCH_ROWS {
            if self.reader.read(out, BATCH_ROWS, self.at_end)? == Progress::Done {
                self.done = true;
                // What the client sends behind the end of the data is not ours, but must be taken.
                let mut behind = Vec::new();
                while !self.at_end && self.data.data.read(&mut behind)? {
                    behind.clear();
                }
            } else if out.rows < BATCH_ROWS {
                let into = self.reader.more();
                let before = into.len();
                let read = self.data.read(into);
                let come = into.len() - before;
                let more = match read {
                    // Bytes that are no characters.
                    Err(error) if error.sqlstate.starts_with("22") => {
                        let context = self.reader.context(None);
                        return Err(error.with_context(&context));
                    }
                    read => read?,
                };
                self.listed.job().advance(come as u64);
                if !more {
                    self.at_end = true;
                    self.reader.end();
                }
            }
            // A long line becomes fields, and these become values.
            let pending = self.reader.pending();
            self.line.resize(if pending > PIECE_BYTES { 4 * pending as u64 } else { 0 })?;
        }
        self.listed.job().moved(out.rows as u64);
        Ok(out.rows > 0)
    }
}

struct Source<'s>(RefCell<Rows<'s>>);

impl ExternalRows for Source<'_> {
    fn next(&self, out: &mut Batch) -> Result<bool, ExecError> {
        let mut rows = self.0.borrow_mut();
        rows.fill(out).map_err(|error| {
            let message = error.message.clone();
            rows.error = Some(error);
            ExecError::Sink(message)
        })
    }

    fn refused(&self, row: usize) {
        self.0.borrow_mut().refused = Some(row);
    }
}

/// An INSERT without RETURNING has nothing to say.
struct Nowhere;

impl Sink for Nowhere {
    fn batch(&mut self, _: &Batch) -> Result<(), ExecError> {
        Ok(())
    }
}

/// Keeps rows, in files beyond the work memory.
struct Kept<'s> {
    rows: Spool,
    memory: Memory<'s>,
}

impl Sink for Kept<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExecError> {
        self.rows.push(self.memory, "COPY", batch.clone())
    }
}

/// Sends rows that were kept.
fn send(mut rows: Spool, out: &mut Out<'_, '_>) -> Result<u64, ExecError> {
    let mut batch = Batch::default();
    while rows.next(&mut batch)? {
        out.batch(&batch)?;
    }
    Ok(out.count)
}

// ── to ───────────────────────────────────────────────────────────────────────────────────────────────────────────────

/// Where data go.
enum Target<'s> {
    Client(&'s Client<'s>),
    File { file: Arc<dyn VfsFile>, at: u64 },
}

/// What makes the data.
enum Made<'l> {
    /// One row after the other.
    Rows(Writer<'l>),
    /// A file as a whole.
    File(Box<dyn FileSink>),
}

struct Out<'s, 'l> {
    made: Made<'l>,
    target: Target<'s>,
    /// What others see of it.
    listed: Listed,
    buffer: Vec<u8>,
    /// That of text and CSV, which are made in UTF-8.
    encoding: Encoding,
    /// The client's, where binary data are converted to it, and which fields are texts.
    fields: Option<(Encoding, Vec<bool>)>,
    count: u64,
    error: Option<SqlError>,
}

impl Out<'_, '_> {
    fn begin(&mut self, names: &[&str]) -> Result<(), SqlError> {
        let Made::Rows(writer) = &mut self.made else { return Ok(()) };
        writer.begin(names, &mut self.buffer);
        // Clients expect the signature of binary data together with the first row, as PostgreSQL sends it.
        if writer.is_binary() { Ok(()) } else { self.send(false) }
    }

    /// Hands the buffer on: every row to a client, larger pieces to a file.
    fn send(&mut self, last: bool) -> Result<(), SqlError> {
        let full = matches!(self.target, Target::Client(_)) || last || self.buffer.len() >= PIECE_BYTES;
        if self.encoding.converts() && full && !self.buffer.is_ascii() {
            let text =
                std::str::from_utf8(&self.buffer).map_err(|_| SqlError::internal("COPY made no text"))?;
            self.buffer = self.encoding.encode(text)?.into_owned();
        }
        match &mut self.target {
            Target::Client(client) => {
                if !self.buffer.is_empty() {
                    self.listed.job().advance(self.buffer.len() as u64);
                    client.with(|sink| sink.copy_data(&self.buffer))?;
                    self.buffer.clear();
                }
            }
            Target::File { file, at } => {
                if last || self.buffer.len() >= PIECE_BYTES {
                    file.write_at(&self.buffer, *at).map_err(|error| io("write", &error))?;
                    *at += self.buffer.len() as u64;
                    self.listed.job().advance(self.buffer.len() as u64);
                    self.buffer.clear();
                }
            }
        }
        Ok(())
    }

    fn rows(&mut self, batch: &Batch) -> Result<(), SqlError> {
        match &mut self.made {
            Made::File(file) => {
                file.rows(batch, &mut self.buffer)?;
                self.send(false)?;
            }
            Made::Rows(_) => {
                for row in 0..batch.rows {
                    let start = self.buffer.len();
                    if let Made::Rows(writer) = &mut self.made {
                        writer.row(batch, row, &mut self.buffer);
                    }
                    if let Some((encoding, texts)) = &self.fields {
                        // Behind the number of fields.
                        let fields = self.buffer.split_off(start + 2);
                        let encoded = encoding.encode_fields(&fields, |i| texts.get(i) == Some(&true))?;
                        self.buffer.extend_from_slice(&encoded);
                    }
                    self.send(false)?;
                }
            }
        }
        self.count += batch.rows as u64;
        self.listed.job().moved(batch.rows as u64);
        Ok(())
    }

    fn end(mut self) -> Result<u64, SqlError> {
        match &mut self.made {
            Made::Rows(writer) => writer.end(&mut self.buffer),
            Made::File(file) => file.end(&mut self.buffer)?,
        }
        self.send(true)?;
        match self.target {
            Target::Client(client) => client.with(|sink| sink.copy_done())?,
            Target::File { file, .. } => match file.sync_data() {
                // A device that keeps nothing, as /dev/null, has nothing to make durable.
                Err(error) if error.kind() == std::io::ErrorKind::InvalidInput => {}
                synced => synced.map_err(|error| io("write", &error))?,
            },
        }
        Ok(self.count)
    }
}

impl Sink for Out<'_, '_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExecError> {
        self.rows(batch).map_err(|error| {
            let message = error.message.clone();
            self.error = Some(error);
            ExecError::Sink(message)
        })
    }
}

fn io(what: &str, error: &std::io::Error) -> SqlError {
    SqlError::new(sqlstate::IO_ERROR, format!("could not {what} COPY file: {error}"))
}
