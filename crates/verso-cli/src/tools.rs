//! `verso sweep`, `check` and `stat`.

use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use indicatif::{ProgressBar, ProgressStyle};
use verso_storage::{StorageError, WatchProgress};
use versodb::{Connection, Database, Error, Markers, SweepOptions};

use crate::args::{DatabaseArguments, PageArguments, SweepArguments};
use crate::interrupt::{Interrupts, exit_code, interrupted};
use crate::run_shell::{EXIT_SCRIPT, EXIT_USAGE, options};
use crate::shell::{End, Lines, Output, Shell};

/// What `verso stat` asks.
const STATISTICS: &str = "\\set QUIET on\n\\x on\nSELECT * FROM verso_database;\n\\x off\nSELECT * FROM verso_table_space;\nSELECT * FROM verso_logs;\n";

/// `verso sweep`: backs out the dead and moves OIT; prints the markers before and after.
pub fn sweep(arguments: &SweepArguments) -> ExitCode {
    with_database(&arguments.database, |database, out| {
        let workers = workers(&mut database.connect()?, arguments.parallel)?;
        let sweep = SweepOptions { workers, waits: true, gives_back: true, ..SweepOptions::default() };
        let bar = progress_bar("pages");
        let stop = interrupted();
        let swept = database.sweep(sweep, &mut |progress| {
            bar.set_length(progress.pages_total);
            bar.set_position(progress.pages_done);
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        bar.finish_and_clear();
        let report = match swept {
            Err(error) if error.sqlstate == "57014" => return Ok(cancelled(&error)),
            swept => swept?,
        };
        let _ = writeln!(out, "before: {}", markers(&report.before));
        let _ = writeln!(out, "after:  {}", markers(&report.after));
        let _ = writeln!(
            out,
            "{} pages visited, {} skipped, {} pages backed out, {:.3} s, {} workers",
            report.pages_visited,
            report.pages_skipped,
            report.pages_backed_out,
            report.seconds,
            report.workers
        );
        if report.pages_freed > 0 {
            let _ = writeln!(out, "{} pages of tables given back to the database", report.pages_freed);
        }
        for damaged in database.engine().damaged_pages() {
            let _ = writeln!(out, "{}", damaged.message);
        }
        if report.damaged > 0 {
            let _ = writeln!(out, "{} damaged pages were left out", report.damaged);
            return Ok(ExitCode::from(EXIT_SCRIPT));
        }
        Ok(ExitCode::SUCCESS)
    })
}

/// `verso reindex-collations`: one line for each index that was built.
pub fn reindex_collations(arguments: &SweepArguments) -> ExitCode {
    with_database(&arguments.database, |database, out| {
        let mut connection = database.connect()?;
        let idle = |connection: &mut Connection| -> Result<Vec<String>, Error> {
            let rows = connection
                .query("SELECT indexrelid::regclass FROM pg_index WHERE NOT indisvalid ORDER BY 1")?;
            Ok(rows.into_rows().iter().map(|row| row.text(0)).collect())
        };
        let before = idle(&mut connection)?;
        let workers = workers(&mut connection, arguments.parallel)?;
        connection.execute(&format!("REINDEX (PARALLEL {workers}) COLLATIONS"))?;
        let after = idle(&mut connection)?;
        let built: Vec<&String> = before.iter().filter(|name| !after.contains(name)).collect();
        for name in &built {
            let _ = writeln!(out, "{name}");
        }
        let _ = writeln!(out, "{} indexes were built anew", built.len());
        Ok(ExitCode::SUCCESS)
    })
}

/// How many workers a job gets: those asked for, or the processors, within what the database allows; a warning says where
/// more were asked for (01V10).
pub(crate) fn workers(connection: &mut Connection, asked: Option<u32>) -> Result<u32, Error> {
    let rows = connection.query("SHOW max_parallel_workers")?.into_rows();
    let most = rows.first().and_then(|row| row.text(0).parse().ok()).unwrap_or(1);
    if let Some(asked) = asked.filter(|asked| *asked > most) {
        eprintln!(
            "warning: {asked} workers are more than max_parallel_workers allows: {most} work (SQLSTATE 01V10)"
        );
    }
    let wanted = asked.unwrap_or_else(|| verso_env::process::processors() as u32);
    Ok(wanted.clamp(1, most))
}

fn markers(markers: &Markers) -> String {
    format!("OIT {}, OAT {}, OST {}, Next {}", markers.oit.0, markers.oat.0, markers.ost.0, markers.next.0)
}

/// `verso check`: one line for each broken rule.
pub fn check(arguments: &DatabaseArguments) -> ExitCode {
    with_database(arguments, |database, out| {
        let report = match watched(Counted::Pages, |watch| database.engine().check_while(watch)) {
            Err(StorageError::Cancelled) => return Ok(cancelled(&StorageError::Cancelled.into())),
            report => report?,
        };
        for problem in &report.problems {
            let _ = writeln!(out, "{problem}");
        }
        // A catalog that cannot be read is a finding as any other.
        let of_catalog =
            database.catalog_problems().unwrap_or_else(|error| vec![format!("catalog: {error}")]);
        for problem in &of_catalog {
            let _ = writeln!(out, "{problem}");
        }
        let found = report.problems.len() + of_catalog.len();
        let _ = writeln!(
            out,
            "{} pages, {} records: {}",
            report.pages,
            report.records,
            if found == 0 { "no problem found".to_owned() } else { format!("{found} problems") }
        );
        Ok(if found == 0 { ExitCode::SUCCESS } else { ExitCode::from(EXIT_SCRIPT) })
    })
}

/// `verso stat`: the system views, as the shell shows them.
pub fn stat(database: &Path, pool_bytes: Option<u64>) -> ExitCode {
    let arguments = &DatabaseArguments { database: database.to_owned(), pool_bytes, open_damaged_log: false };
    let mut out = BufWriter::new(std::io::stdout().lock());
    let mut err = std::io::stderr().lock();
    let mut shell =
        Shell::new(options(&pages(arguments)), Output::new(&mut out, &mut err), Interrupts::default());
    if let Err(error) = shell.open(&arguments.database, false) {
        shell.output().complain(&failure(&arguments.database, &error));
        return ExitCode::from(EXIT_USAGE);
    }
    let end = shell.run(&mut Lines::unnamed(STATISTICS.as_bytes()), true);
    match (end, shell.close()) {
        (End::Finished, Ok(())) => ExitCode::SUCCESS,
        _ => ExitCode::from(EXIT_USAGE),
    }
}

fn with_database(
    arguments: &DatabaseArguments,
    work: impl FnOnce(&Database, &mut dyn Write) -> Result<ExitCode, Error>,
) -> ExitCode {
    let mut out = std::io::stdout().lock();
    let done = Database::open(&arguments.database, options(&pages(arguments))).and_then(|database| {
        if let Some(lost) = database.engine().recovery().and_then(|report| report.lost) {
            let _ = writeln!(
                out,
                "the log from LSN {} to {} is lost, at least {} commits with it; {} pages changed by it are damaged",
                lost.from.0, lost.upto.0, lost.commits, lost.pages
            );
        }
        warn_of(&database);
        let code = work(&database, &mut out)?;
        database.close()?;
        Ok(code)
    });
    done.unwrap_or_else(|error| {
        // Nobody reads it: then there is nobody to tell.
        let _ = std::io::stderr().write_all(failure(&arguments.database, &error).as_bytes());
        ExitCode::from(EXIT_USAGE)
    })
}

/// What is to be said of a database that was opened: that indexes of it are not used.
pub(crate) fn warning_of(database: &Database) -> Option<String> {
    let count = database.outdated_indexes().ok().filter(|count| *count > 0)?;
    Some(outdated_text(count))
}

fn outdated_text(count: usize) -> String {
    let (indexes, them) = if count == 1 { ("index was", "it") } else { ("indexes were", "them") };
    format!(
        "verso: warning: {count} {indexes} built with another version of the collations and not used: REINDEX COLLATIONS builds {them} anew\n"
    )
}

/// Says it on standard error.
pub(crate) fn warn_of(database: &Database) {
    if let Some(warning) = warning_of(database) {
        // Nobody reads it: then there is nobody to tell.
        let _ = std::io::stderr().write_all(warning.as_bytes());
    }
}

fn pages(arguments: &DatabaseArguments) -> PageArguments {
    let DatabaseArguments { pool_bytes, open_damaged_log, .. } = *arguments;
    PageArguments { page_size: None, pool_bytes, open_damaged_log }
}

fn failure(database: &Path, error: &Error) -> String {
    let hint = error.hint.as_ref().map_or_else(String::new, |hint| format!("verso: hint: {hint}\n"));
    format!("verso: error: {}: {error}\n{hint}", database.display())
}

fn cancelled(error: &Error) -> ExitCode {
    eprintln!("verso: error: {error}");
    ExitCode::from(exit_code())
}

/// What a bar counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    /// Pages of a database.
    Pages,
    /// Bytes of files.
    Bytes,
}

/// Runs work of several phases: a bar shows how far it is, and Ctrl-C ends it with `Cancelled`.
pub(crate) fn watched<T>(counted: Counted, work: impl FnOnce(WatchProgress<'_>) -> T) -> T {
    let bar = ProgressBar::new(0);
    let figures = match counted {
        Counted::Pages => "{pos}/{len} pages, {per_sec}",
        Counted::Bytes => "{bytes}/{total_bytes}, {bytes_per_sec}",
    };
    let template = format!("{{msg}} {{bar:40}} {{percent:>3}} % {figures}, {{elapsed}}, {{eta}} left");
    if let Ok(style) = ProgressStyle::with_template(&template) {
        bar.set_style(style);
    }
    let stop = interrupted();
    let mut phase = "";
    let done = work(&mut |now| {
        if std::mem::replace(&mut phase, now.phase) != now.phase {
            bar.set_message(now.phase);
        }
        bar.set_length(now.total);
        bar.set_position(now.done);
        if stop.load(Ordering::Relaxed) { Err(StorageError::Cancelled) } else { Ok(()) }
    });
    bar.finish_and_clear();
    done
}

/// Drawn on standard error, only where that is a terminal.
pub(crate) fn progress_bar(unit: &str) -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template(&format!(
        "{{bar:40}} {{pos}}/{{len}} {unit}, {{per_sec}}, {{elapsed}}, {{eta}} left"
    )) {
        bar.set_style(style);
    }
    bar
}
