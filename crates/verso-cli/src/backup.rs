//! `verso backup` and `verso restore`: options, progress, Ctrl-C.

use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Weak};

use indicatif::{ProgressBar, ProgressStyle};
use verso_backup::{
    BackupError, BackupOptions, BackupReport, Compression, Event, Job, RestoreOptions, RestoreReport, Unit,
    backup, backup_to_file, parquet_to_folder, reader, restore, script, script_to_file, verify,
};
use verso_env::sync::Mutex;
use verso_env::{Clock, OpenMode, VfsFile};
use versodb::Database;

use crate::args::{BackupArguments, BackupFormat, Columns, PageArguments, RestoreArguments, WatchArguments};
use crate::interrupt::{exit_code, when_interrupted};
use crate::run_shell::{EXIT_SCRIPT, EXIT_USAGE, options};

/// `verso backup`.
pub fn run_backup(arguments: &BackupArguments) -> ExitCode {
    let done = watched(&arguments.watch, |job| {
        if arguments.incremental_from.is_some() {
            let text = "--incremental-from is about base backups: --physical is wanted, too";
            return Err(BackupError::Refused(text.to_owned()));
        }
        if arguments.format == BackupFormat::Sql
            && arguments.compress.is_some_and(|how| how != Compression::None)
        {
            let text = "statements are written as they are, not packed as --compress says";
            return Err(BackupError::Refused(text.to_owned()));
        }
        if let Some(server) = &arguments.server {
            if arguments.watch.stat.is_some_and(|columns| columns.reads || columns.writes) {
                let text = "--stat r and w count the pages of a database that this program opens itself; with --server there are t and d";
                return Err(BackupError::Refused(text.to_owned()));
            }
            return crate::remote::backup(server, arguments, job);
        }
        let (database, file) = (&arguments.database, &arguments.file);
        let mut open = options(&pages(arguments.pool_bytes));
        if arguments.no_gc {
            open = open.auto_backout(false).sweep_interval(0);
        }
        let database = Database::open(database, open)?;
        crate::tools::warn_of(&database);
        let asked = arguments.parallel.map(|workers| u32::try_from(workers).unwrap_or(u32::MAX));
        let allowed = crate::tools::workers(&mut database.connect()?, asked)?;
        let wanted = BackupOptions {
            workers: (allowed as usize).min(WORKERS_MAX),
            compression: arguments.compress.unwrap_or_default(),
            tables: arguments.table.clone(),
            schema: !arguments.data_only,
            data: !arguments.schema_only,
        };
        let (pipe, replace) = (file == Path::new("-"), arguments.replace);
        let done = match (arguments.format, pipe) {
            (BackupFormat::Archive, true) => backup(&database, std::io::stdout(), &wanted, job),
            (BackupFormat::Archive, false) => backup_to_file(&database, file, replace, &wanted, job),
            (BackupFormat::Sql, true) => script(&database, std::io::stdout().lock(), &wanted, job),
            (BackupFormat::Sql, false) => script_to_file(&database, file, replace, &wanted, job),
            (BackupFormat::Parquet, true) => {
                Err(BackupError::Refused("Parquet files are a folder: name one in place of -".to_owned()))
            }
            (BackupFormat::Parquet, false) if arguments.compress.is_some() => Err(BackupError::Refused(
                "Parquet files are packed with zstd, whatever --compress says".to_owned(),
            )),
            (BackupFormat::Parquet, false) => parquet_to_folder(&database, file, replace, &wanted, job),
        };
        database.close()?;
        done
    });
    finish(done, |BackupReport { tables, rows, bytes }, seconds| match &arguments.server {
        Some(_) => format!("{bytes} bytes, {seconds:.3} s"),
        None => format!("{tables} tables, {rows} rows, {bytes} bytes, {seconds:.3} s"),
    })
}

/// `verso restore`.
pub fn run_restore(arguments: &RestoreArguments) -> ExitCode {
    let mut done = watched(&arguments.watch, |job| {
        let env = crate::environment();
        let input: Box<dyn Read + Send> = if arguments.file == Path::new("-") {
            Box::new(std::io::stdin())
        } else if arguments.file.is_dir() {
            let text =
                format!("{} is a folder: restore a base backup with --physical", arguments.file.display());
            return Err(BackupError::Refused(text));
        } else {
            let (input, bytes) = reader(&env, &arguments.file)?;
            job.bytes_are(bytes);
            input
        };
        let workers = workers(arguments.parallel);
        if arguments.verify {
            return verify(&env, input, workers, job);
        }
        let Some(database) = &arguments.database else {
            return Err(BackupError::Refused("DATABASE is wanted, or --verify".to_owned()));
        };
        let wanted = RestoreOptions {
            workers,
            tables: arguments.table.clone(),
            schema: !arguments.data_only,
            data: !arguments.schema_only,
            database: options(&pages(arguments.pool_bytes)),
            page_size: arguments.page_size,
            goes_on: arguments.continue_on_error,
        };
        restore(input, database, &wanted, job)
    });
    let failed = done.as_mut().map_or_else(|_| Vec::new(), |(report, _)| std::mem::take(&mut report.failed));
    let code = finish(
        done,
        |RestoreReport { tables, rows, bytes, data_s, index_s, resumed, .. }, seconds| {
            let resumed = match resumed {
                0 => String::new(),
                chunks => format!("; {chunks} chunks were there from a restore that was cut off"),
            };
            format!(
                "{tables} tables, {rows} rows, {bytes} bytes, {seconds:.3} s: rows {data_s:.3} s, keys and indexes {index_s:.3} s{resumed}"
            )
        },
    );
    if failed.is_empty() {
        return code;
    }
    for failure in &failed {
        eprintln!("verso: error: {failure}");
    }
    eprintln!("verso: {} left out of the restore by errors", failed.len());
    ExitCode::from(EXIT_SCRIPT)
}

fn pages(pool_bytes: Option<u64>) -> PageArguments {
    PageArguments { page_size: None, pool_bytes, open_damaged_log: false }
}

/// More write no faster.
const WORKERS_MAX: usize = 64;

/// As many as were asked for, or as the machine has processors.
fn workers(wanted: Option<usize>) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    wanted.unwrap_or_else(processors).clamp(1, WORKERS_MAX)
}

/// Runs a job that is shown and logged, and that Ctrl-C ends; with the seconds that it took.
fn watched<T>(
    watch: &WatchArguments,
    work: impl FnOnce(&Arc<Job>) -> Result<T, BackupError>,
) -> Result<(T, f64), BackupError> {
    let clock = crate::environment().clock;
    let start = clock.monotonic_nanos();
    let shown = Shown::new(watch, Arc::clone(&clock), start)?;
    let job = Arc::new_cyclic(|job: &Weak<Job>| {
        let job = job.clone();
        Job::new(move |event| shown.show(event, &|| job.upgrade().map_or((0, 0), |job| job.pages())))
    });
    let cancelled = Arc::clone(&job);
    when_interrupted(move || cancelled.cancel());
    let done = work(&job);
    job.ended();
    done.map(|done| (done, (clock.monotonic_nanos() - start) as f64 / 1e9))
}

fn finish<T>(done: Result<(T, f64), BackupError>, text: impl FnOnce(T, f64) -> String) -> ExitCode {
    match done {
        // Standard output may be the archive.
        Ok((report, seconds)) => {
            eprintln!("{}", text(report, seconds));
            ExitCode::SUCCESS
        }
        Err(error) => {
            let hint = match &error {
                BackupError::Sql(error) | BackupError::Statement { error, .. } => error.hint.clone(),
                _ => None,
            };
            eprintln!("verso: error: {error}");
            if let Some(hint) = hint {
                eprintln!("verso: hint: {hint}");
            }
            ExitCode::from(match error {
                BackupError::Cancelled => exit_code(),
                BackupError::Damaged { .. } => EXIT_SCRIPT,
                _ => EXIT_USAGE,
            })
        }
    }
}

/// The bar in the terminal, and the log.
struct Shown {
    bar: ProgressBar,
    /// The one that the work began by: each has a beginning of its own.
    clock: Arc<dyn Clock>,
    /// Which figures stand in front of a line.
    columns: Option<Columns>,
    verbose: bool,
    log: Option<Mutex<(Arc<dyn VfsFile>, u64)>>,
    /// A line for every so many rows of a table.
    interval: u64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Bytes of the archive that is read.
    bytes: u64,
    /// The table of the last rows, its rows so far, and how many of them were told.
    table: (String, u64, u64),
    /// When the work began, when the line before was written, by the monotonic clock; pages read and written then.
    began: u64,
    before: u64,
    pages: (u64, u64),
    /// Whether the heads of the columns stand there.
    has_head: bool,
}

/// Tells pages read and written so far.
type Pages<'p> = &'p dyn Fn() -> (u64, u64);

impl Shown {
    fn new(watch: &WatchArguments, clock: Arc<dyn Clock>, began: u64) -> Result<Shown, BackupError> {
        let log = watch.log.as_ref().map(|path| {
            let mode = OpenMode { truncate: true, ..OpenMode::CREATE };
            let file = crate::environment().vfs.open(path, mode);
            file.map(|file| Mutex::new((file, 0)))
                .map_err(|error| BackupError::Io { what: path.display().to_string(), error })
        });
        Ok(Shown {
            bar: ProgressBar::new(0),
            clock,
            columns: watch.stat,
            verbose: watch.verbose || (watch.stat.is_some() && watch.log.is_none()),
            log: log.transpose()?,
            interval: watch.verbint.max(1),
            state: Mutex::new(State { began, before: began, ..State::default() }),
        })
    }

    fn show(&self, event: &Event<'_>, pages: Pages<'_>) {
        match *event {
            Event::Bytes(bytes) => self.state.lock().bytes = bytes,
            Event::Phase { name, total, unit } => {
                // Only a file says how many bytes there are.
                let total = if unit == Unit::Bytes { self.state.lock().bytes } else { total };
                let (done, rate) = match unit {
                    Unit::Bytes => ("{bytes}/{total_bytes}", "{bytes_per_sec}"),
                    Unit::Pages | Unit::Statements => ("{pos}/{len}", "{per_sec}"),
                };
                let unit = if unit == Unit::Bytes { "" } else { unit.name() };
                let template = if total > 0 {
                    format!(
                        "{name} {{bar:40}} {{percent:>3}} % {done} {unit} {rate} {{elapsed}}, {{eta}} left"
                    )
                } else {
                    format!("{name} {{spinner}} {{pos}} {{elapsed}}")
                };
                if let Ok(style) = ProgressStyle::with_template(&template) {
                    self.bar.set_style(style);
                }
                self.bar.reset();
                self.bar.set_length(total);
                self.line(&format!("{name}: begins"), pages);
            }
            Event::Done(units) => self.bar.inc(units),
            Event::Statement(sql) => self.line(sql, pages),
            Event::Notice(text) => {
                // Whoever closed it does not want it.
                self.bar.suspend(|| drop(writeln!(std::io::stderr(), "verso: notice: {text}")));
            }
            Event::Rows { table, rows, .. } => self.rows(table, rows, pages),
            Event::Ended => {
                self.rows("", 0, pages);
                if self.columns.is_some() {
                    self.line("ended", pages);
                }
                self.bar.finish_and_clear();
            }
        }
    }

    fn rows(&self, table: &str, rows: u64, pages: Pages<'_>) {
        if !self.verbose && self.log.is_none() {
            return;
        }
        let mut state = self.state.lock();
        let (known, count, told) = &mut state.table;
        let mut lines = Vec::new();
        if known != table {
            if !known.is_empty() && told != count {
                lines.push(format!("{known}: {count} rows"));
            }
            (*known, *count, *told) = (table.to_owned(), 0, 0);
        }
        *count += rows;
        if *count - *told >= self.interval {
            lines.push(format!("{known}: {count} rows"));
            *told = *count;
        }
        drop(state);
        lines.iter().for_each(|line| self.line(line, pages));
    }

    /// The line with the figures that were asked for.
    fn counted(&self, columns: Columns, line: &str, pages: (u64, u64)) -> String {
        let now = self.clock.monotonic_nanos();
        let mut state = self.state.lock();
        let seconds = |since: u64| format!("{:>10.3}", now.saturating_sub(since) as f64 / 1e9);
        let figures = [
            (columns.total, "      time", seconds(state.began)),
            (columns.delta, "     delta", seconds(state.before)),
            (columns.reads, "     reads", format!("{:>10}", pages.0.saturating_sub(state.pages.0))),
            (columns.writes, "    writes", format!("{:>10}", pages.1.saturating_sub(state.pages.1))),
        ];
        let mut out = String::new();
        if !std::mem::replace(&mut state.has_head, true) {
            let heads = figures.iter().filter(|(wanted, ..)| *wanted).map(|(_, head, _)| *head);
            out.extend(heads);
            out.push('\n');
        }
        (state.before, state.pages) = (now, pages);
        out.extend(figures.into_iter().filter(|(wanted, ..)| *wanted).map(|(.., figure)| figure));
        out.push_str("  ");
        out.push_str(line);
        out
    }

    fn line(&self, line: &str, pages: Pages<'_>) {
        if !self.verbose && self.log.is_none() {
            return;
        }
        let counted = self.columns.map(|columns| self.counted(columns, line, pages()));
        let line = counted.as_deref().unwrap_or(line);
        if self.verbose {
            self.bar.suspend(|| {
                // Whoever closed it does not want it.
                let _ = writeln!(std::io::stderr(), "{line}");
            });
        }
        if let Some(log) = &self.log {
            let mut log = log.lock();
            let bytes = format!("{line}\n");
            if log.0.write_at(bytes.as_bytes(), log.1).is_ok() {
                log.1 += bytes.len() as u64;
            }
        }
    }
}
