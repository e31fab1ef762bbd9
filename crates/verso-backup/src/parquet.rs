//! A database to a folder of Parquet files, which other programs read, with the statements that make it again.
//!
//! ```text
//! FOLDER/schema.sql                     schemas, types, tables
//!        load.sql                       COPY … FROM 'shop.item.parquet' (FORMAT parquet), for each file
//!        keys.sql                       keys, indexes, triggers, views
//!        shop.item.parquet              the rows of a table
//!        shop.log.1.parquet, ….2.…      those of a large one, a file for each range of pages
//! ```
//!
//! As for archives all workers read one snapshot, and take ranges of pages from one list, large tables first.

use std::fmt::Write as _;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use verso_catalog::TableDef;
use verso_catalog::packs::Wanted;
use verso_env::sync::Mutex;
use verso_env::{Env, Vfs, scheme_of};
use verso_exec::files;
use verso_exec::functions::quote_ident;
use verso_exec::plan::OutputColumn;
use verso_storage::CommitMode;
use verso_storage::heap::{Heap, ScanBatch, ScanSpec};
use verso_types::TimeStyle;
use versodb::Database;

use crate::archive::contents::Step;
use crate::backup::{BackupOptions, BackupReport, Snapshot, import};
use crate::error::BackupError;
use crate::files::write_whole;
use crate::job::{Event, Job, Unit};
use crate::schema::{Dialect, left_out};
use crate::script::Script;
use crate::workers::{self, Team};

/// Bytes of pages whose rows are a file.
const FILE_BYTES: u32 = 256 << 20;
/// Bytes of a file's name beyond which it gets a number in place of its end.
const NAME_BYTES: usize = 200;
/// The scripts, in the order in which they are run.
const SCRIPTS: [&str; 3] = ["schema.sql", "load.sql", "keys.sql"];

/// Writes the folder, which has its name only when it is complete; before, `.part` is behind it.
///
/// # Errors
/// `Refused` where the folder is there and may not be replaced, or has other files than those that are written here, and where the
/// program has no Parquet; as [`script`](crate::script()); values that Parquet does not have.
pub fn parquet_to_folder(
    database: &Database,
    folder: &Path,
    replace: bool,
    options: &BackupOptions,
    job: &Arc<Job>,
) -> Result<BackupReport, BackupError> {
    let env = database.engine().env().clone();
    let vfs = &*env.vfs;
    let error = |error| BackupError::io(folder.display().to_string())(error);
    if let Some(scheme) = scheme_of(folder) {
        return Err(BackupError::Refused(format!(
            "a folder of Parquet files is written to a disk, not to {scheme}://"
        )));
    }
    if !replace && vfs.exists(folder).map_err(error)? {
        return Err(BackupError::Refused(format!("{} exists; --replace replaces it", folder.display())));
    }
    refuse_strange(vfs, folder)?;
    let mut part = folder.as_os_str().to_owned();
    part.push(".part");
    let part = PathBuf::from(part);
    // A backup that was cut off has left it.
    remove(vfs, &part)?;
    vfs.create_dir_all(&part).map_err(error)?;
    let done = job.unlist(write(database, &env, &part, options, job)).and_then(|report| {
        vfs.sync_dir(&part).map_err(error)?;
        remove(vfs, folder)?;
        vfs.rename(&part, folder).map_err(error)?;
        let parent = folder.parent().filter(|parent| !parent.as_os_str().is_empty());
        vfs.sync_dir(parent.unwrap_or(Path::new("."))).map_err(error)?;
        Ok(report)
    });
    if done.is_err() {
        // The error that is reported is the one before.
        let _ = remove(vfs, &part);
    }
    done
}

/// Refuses a folder with files that no backup has written: they are somebody's.
fn refuse_strange(vfs: &dyn Vfs, folder: &Path) -> Result<(), BackupError> {
    let error = |error| BackupError::io(folder.display().to_string())(error);
    if !vfs.exists(folder).map_err(error)? {
        return Ok(());
    }
    for path in vfs.list_dir(folder).map_err(error)? {
        let name = path.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
        let own = name.strip_suffix(".part").unwrap_or(&name);
        if !own.ends_with(".parquet") && !SCRIPTS.contains(&own) {
            let text = format!("{} has a file that no backup has written: {name}", folder.display());
            return Err(BackupError::Refused(text));
        }
    }
    Ok(())
}

/// Removes a folder that a backup has written, if it is there.
fn remove(vfs: &dyn Vfs, folder: &Path) -> Result<(), BackupError> {
    let error = |error| BackupError::io(folder.display().to_string())(error);
    refuse_strange(vfs, folder)?;
    if vfs.exists(folder).map_err(error)? {
        vfs.remove_dir_all(folder).map_err(error)?;
    }
    Ok(())
}

/// A file that is to be written: a range of pages of a table.
struct Piece {
    table: Arc<Source>,
    pages: Range<u32>,
    name: String,
}

/// A table whose rows are written.
struct Source {
    /// As in messages.
    name: String,
    heap: Arc<Heap>,
    wanted: Wanted,
    columns: Vec<OutputColumn>,
    /// The statement that loads a file, up to its name; `None` where no column is to be loaded.
    copy: Option<String>,
    /// The table as SQL names it.
    place: String,
}

fn write(
    database: &Database,
    env: &Env,
    folder: &Path,
    options: &BackupOptions,
    job: &Arc<Job>,
) -> Result<BackupReport, BackupError> {
    if files::format("read_parquet").is_none() {
        return Err(BackupError::Refused("this program was built without Parquet".to_owned()));
    }
    job.list(database.engine(), "BACKUP", options.workers);
    let mut snapshot = Snapshot::take(database, job)?;
    let written = write_from(&mut snapshot, env, folder, options, job);
    let ended = snapshot.end();
    written.and_then(|report| ended.map(|()| report))
}

fn write_from(
    snapshot: &mut Snapshot,
    env: &Env,
    folder: &Path,
    options: &BackupOptions,
    job: &Arc<Job>,
) -> Result<BackupReport, BackupError> {
    let (definitions, mut tables) = snapshot.definitions(options, Dialect::Postgres)?;
    left_out(&tables).iter().for_each(|text| job.tell(Event::Notice(text)));
    // The rows are in the partitions.
    tables.retain(|table| table.partitioned.is_none());
    let mut report = BackupReport { tables: tables.len() as u64, ..BackupReport::default() };
    let [schema, load, keys] = SCRIPTS.map(|name| folder.join(name));
    report.bytes += write_steps(env, &schema, &definitions.before)?;
    if options.data {
        let pieces = pieces(snapshot, &tables)?;
        let total = pieces.iter().map(|piece| u64::from(piece.pages.end - piece.pages.start)).sum();
        job.tell(Event::Phase { name: "data", total, unit: Unit::Pages });
        let loads = write_pieces(snapshot, env, folder, pieces, options, job)?;
        report.rows += loads.rows;
        report.bytes += loads.bytes;
        report.bytes += write_whole(env, &load, true, |out| {
            let mut script = Script::new(out);
            let writing = |error| BackupError::io("writing load.sql")(error);
            for (_, line) in &loads.lines {
                script.put(line.as_bytes()).map_err(writing)?;
            }
            script.end().map_err(writing)
        })?;
    }
    report.bytes += write_steps(env, &keys, &definitions.after)?;
    Ok(report)
}

fn write_steps(env: &Env, path: &Path, steps: &[Step]) -> Result<u64, BackupError> {
    write_whole(env, path, true, |out| {
        let mut script = Script::new(out);
        let done = script.head().and_then(|()| steps.iter().try_for_each(|step| script.step(step)));
        done.and_then(|()| script.end()).map_err(BackupError::io(path.display().to_string()))
    })
}

/// The files to come, those of large tables first.
fn pieces(snapshot: &Snapshot, tables: &[Arc<TableDef>]) -> Result<Vec<Piece>, BackupError> {
    let mut sources = Vec::new();
    for (number, table) in tables.iter().enumerate() {
        let heap = snapshot.heap(table)?;
        let place = format!("{}.{}", quote_ident(&table.schema), quote_ident(&table.name));
        // Generated columns follow from the others: other programs read them, COPY does not.
        let own = table.shown().iter().filter(|column| !column.generated);
        let stored = || table.shown().iter().filter(|column| !column.is_virtual);
        let names: Vec<String> = own.map(|column| quote_ident(&column.name)).collect();
        let column = |column: &verso_catalog::ColumnDef| {
            OutputColumn::new(Arc::clone(&column.name), column.ty.clone())
        };
        let source = Source {
            name: format!("{}.{}", table.schema, table.name),
            // Virtual ones are not stored.
            wanted: Wanted::of(&heap, stored()),
            columns: stored().map(column).collect(),
            copy: (!names.is_empty()).then(|| format!("COPY {place} ({}) FROM ", names.join(", "))),
            place,
            heap,
        };
        sources.push((file_name(table, number), Arc::new(source)));
    }
    sources.sort_by_key(|(_, source)| std::cmp::Reverse(source.heap.page_count()));
    let mut pieces = Vec::new();
    for (name, source) in sources {
        let pages = source.heap.page_count();
        let each = (FILE_BYTES / snapshot.engine.page_size().max(1) as u32).max(1);
        let count = pages.div_ceil(each).max(1);
        for at in 0..count {
            let name = match count {
                1 => format!("{name}.parquet"),
                _ => format!("{name}.{}.parquet", at + 1),
            };
            let pages = at * each..pages.min((at + 1).saturating_mul(each));
            pieces.push(Piece { table: Arc::clone(&source), pages, name });
        }
    }
    Ok(pieces)
}

/// The name of a table's file without its end: `schema.table`, with `%` and a number for characters that file systems or
/// patterns of names have a use for.
fn file_name(table: &TableDef, number: usize) -> String {
    let mut name = String::new();
    let part = |name: &mut String, text: &str| {
        for letter in text.chars() {
            match letter {
                '/' | '\\' | '.' | '%' | ':' | '*' | '?' | '"' | '\'' | '<' | '>' | '|' => {
                    // Writing to a string cannot fail.
                    let _ = write!(name, "%{:02x}", letter as u32);
                }
                letter if letter.is_control() => {
                    let _ = write!(name, "%{:02x}", letter as u32);
                }
                letter => name.push(letter),
            }
        }
    };
    part(&mut name, &table.schema);
    name.push('.');
    part(&mut name, &table.name);
    if name.len() > NAME_BYTES {
        name.truncate(name.floor_char_boundary(NAME_BYTES));
        let _ = write!(name, "~{number}");
    }
    name
}

/// What workers have written.
#[derive(Default)]
struct Loads {
    /// The lines of `load.sql`, with the names by which they are sorted.
    lines: Vec<(String, String)>,
    rows: u64,
    bytes: u64,
}

fn write_pieces(
    snapshot: &Snapshot,
    env: &Env,
    folder: &Path,
    mut pieces: Vec<Piece>,
    options: &BackupOptions,
    job: &Arc<Job>,
) -> Result<Loads, BackupError> {
    pieces.reverse();
    let queue = Mutex::new(pieces);
    let loads = Arc::new(Mutex::new(Loads::default()));
    let (all, engine, exported) = (Arc::clone(&loads), snapshot.engine.clone(), snapshot.name().to_owned());
    let (own, folder) = (env.clone(), folder.to_owned());
    workers::run(env, job, options.workers, move |team| {
        let mut txn = import(&engine, &exported)?;
        loop {
            let Some(piece) = queue.lock().pop() else { break };
            let (rows, bytes) = write_piece(&own, &txn, &folder, &piece, team)?;
            let line = match &piece.table.copy {
                Some(copy) => format!("{copy}'{}' (FORMAT parquet);\n", piece.name),
                None => {
                    format!("INSERT INTO {} SELECT FROM generate_series(1, {rows});\n", piece.table.place)
                }
            };
            let mut all = all.lock();
            all.rows += rows;
            all.bytes += bytes;
            all.lines.push((piece.name, line));
        }
        txn.end_statement()?;
        txn.commit(CommitMode::NoWait)?;
        Ok(())
    })?;
    let mut loads = std::mem::take(&mut *loads.lock());
    loads.lines.sort();
    Ok(loads)
}

/// Writes a file: its rows and bytes.
fn write_piece(
    env: &Env,
    txn: &verso_storage::Txn,
    folder: &Path,
    piece: &Piece,
    team: &Team,
) -> Result<(u64, u64), BackupError> {
    let table = &*piece.table;
    let pages = u64::from(piece.pages.end - piece.pages.start);
    let mut scan = table.heap.scan(txn, ScanSpec { columns: table.wanted.ids(), pages: piece.pages.clone() });
    let mut batch = ScanBatch::default();
    let mut rows = 0;
    // A file of Parquet has columns.
    if table.columns.is_empty() {
        while scan.next(&mut batch)? {
            team.check()?;
            rows += batch.batch.rows as u64;
        }
        team.job.tell(Event::Done(pages));
        return Ok((rows, 0));
    }
    let failed = |error: verso_exec::error::ExecError| BackupError::Statement {
        error: Box::new(error.into()),
        statement: format!("backup of table {}", table.name),
    };
    let Some(format) = files::format("read_parquet") else { return Err(BackupError::Cancelled) };
    let mut sink = format.writer(&table.columns, &TimeStyle::UTC).map_err(failed)?;
    let bytes = write_whole(env, &folder.join(&piece.name), true, |mut out| {
        let writing = |error| BackupError::io(piece.name.clone())(error);
        let (mut made, mut bytes) = (Vec::new(), 0);
        let mut put = |made: &mut Vec<u8>| {
            bytes += made.len() as u64;
            let done = out.write_all(made);
            made.clear();
            done.map(|()| bytes)
        };
        while scan.next(&mut batch)? {
            table.wanted.finish(&mut batch.batch)?;
            team.check()?;
            sink.rows(&batch.batch, &mut made).map_err(failed)?;
            let before = rows;
            rows += batch.batch.rows as u64;
            let bytes = made.len() as u64;
            put(&mut made).map_err(writing)?;
            team.job.tell(Event::Rows { table: &table.name, rows: rows - before, bytes });
        }
        sink.end(&mut made).map_err(failed)?;
        let bytes = put(&mut made).map_err(writing)?;
        out.flush().map_err(writing)?;
        Ok(bytes)
    })?;
    team.job.tell(Event::Done(pages));
    Ok((rows, bytes))
}
