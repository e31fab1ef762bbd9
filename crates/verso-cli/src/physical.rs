//! `verso backup --physical`, `verso restore --physical`, `verso archive verify` and `prune`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use verso_backup::BackupError;
use verso_storage::archive::{
    ArchiveReport, Restore, RestoreTarget, prune_archive, restore_while, verify_archive_with,
};
use verso_storage::{EngineOptions, Lsn, StorageError};
use verso_types::datetime::{UNIX_EPOCH_MICROS, format_timestamptz, parse_timestamptz};
use verso_types::time_style::TimeStyle;
use versodb::{Database, Error};

use crate::args::{BackupArguments, PageArguments, RestoreArguments};
use crate::interrupt::{exit_code, interrupted};
use crate::run_shell::{EXIT_SCRIPT, EXIT_USAGE, options};
use crate::tools::{Counted, watched};

/// Why one of them failed.
enum Failure {
    /// The command line.
    Usage(String),
    /// The database or the archive.
    Sql(Box<Error>),
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Failure {
        Failure::Sql(Box::new(error.into()))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure::Sql(Box::new(error))
    }
}

/// `verso backup --physical DATABASE FOLDER`.
pub fn back_up(arguments: &BackupArguments) -> ExitCode {
    let (database, folder) = (&arguments.database, &arguments.file);
    if let Some(server) = &arguments.server {
        return finish(back_up_of_server(server, arguments));
    }
    finish((|| {
        let pages =
            PageArguments { page_size: None, pool_bytes: arguments.pool_bytes, open_damaged_log: false };
        let database = Database::open(database, options(&pages))?;
        let stop = interrupted();
        let bar = crate::tools::progress_bar("pages");
        let go_on = &mut |done: u64, total: u64| {
            bar.set_length(total);
            bar.set_position(done);
            match stop.load(Ordering::Relaxed) {
                true => Err(StorageError::Cancelled),
                false => Ok(()),
            }
        };
        let report = match &arguments.incremental_from {
            None => database.engine().backup_base(folder, go_on),
            Some(parent) => database.engine().backup_increment(folder, parent, go_on),
        };
        bar.finish_and_clear();
        database.close()?;
        let report = report?;
        let of = match report.copied == report.pages {
            true => String::new(),
            false => format!("{} of ", report.copied),
        };
        Ok(format!(
            "{of}{} pages of {} bytes, log from LSN {} to {}, consistent at {}",
            report.pages,
            report.page_size,
            report.redo,
            report.end,
            time(report.ended)
        ))
    })())
}

/// `verso backup --physical --server WHERE DATABASE FOLDER`: the server writes the folder.
fn back_up_of_server(server: &str, arguments: &BackupArguments) -> Result<String, Failure> {
    let is_of_server = |folder: &Path| folder.is_absolute() || folder.to_string_lossy().contains("://");
    for folder in std::iter::once(&arguments.file).chain(&arguments.incremental_from) {
        if !is_of_server(folder) {
            let text = format!(
                "{}: the server writes and reads folders of its own machine, by their absolute paths, or of an object store (s3://…)",
                folder.display()
            );
            return Err(Failure::Usage(text));
        }
    }
    let clock = crate::environment().clock;
    let begun = clock.monotonic_nanos();
    let bar = crate::tools::progress_bar("pages");
    let done = crate::remote::base(server, arguments, &interrupted(), |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    match done {
        Ok(()) => Ok(format!(
            "{} of the server, {:.3} s",
            arguments.file.display(),
            (clock.monotonic_nanos() - begun) as f64 / 1e9
        )),
        Err(BackupError::Cancelled) => Err(StorageError::Cancelled.into()),
        Err(error) => Err(Failure::Usage(error.to_string())),
    }
}

/// `verso restore --physical BASE TARGET`.
pub fn restore(arguments: &RestoreArguments) -> ExitCode {
    finish((|| {
        let Some(target) = &arguments.database else {
            return Err(Failure::Usage("the database to be made is wanted".to_owned()));
        };
        let to = match (arguments.to_lsn, &arguments.to_time) {
            _ if let Some(name) = &arguments.to_name => RestoreTarget::Name(name.as_str().into()),
            (Some(lsn), _) => RestoreTarget::Lsn(Lsn(lsn)),
            (None, Some(text)) => {
                let parsed = parse_timestamptz(text, &TimeStyle::UTC);
                let micros = parsed.map_err(|error| Failure::Usage(format!("--to-time: {error}")))?;
                RestoreTarget::Time(micros + UNIX_EPOCH_MICROS)
            }
            (None, None) => RestoreTarget::End,
        };
        let defaults = EngineOptions::default();
        let pool = arguments.pool_bytes.unwrap_or(defaults.buffer_pool_bytes);
        let engine = EngineOptions { buffer_pool_bytes: pool, ..defaults };
        let archive = arguments.archive.as_deref();
        let mut bases = vec![arguments.file.clone()];
        bases.extend(arguments.increment.iter().cloned());
        let what = Restore { bases: &bases, archive, to, options: &engine };
        let report =
            watched(Counted::Bytes, |watch| restore_while(&crate::environment(), &what, target, watch))?;
        let last = match report.last_commit {
            0 => String::new(),
            at => format!(", last commit at {}", time(at)),
        };
        let again = if report.again { " (a restore that was cut off was begun anew)" } else { "" };
        Ok(format!("restored up to LSN {}{last}, as database {}{again}", report.upto, report.database))
    })())
}

/// `verso archive prune DIR BASE…`.
pub fn prune(archive: &Path, kept: &[PathBuf], dry_run: bool) -> ExitCode {
    finish((|| {
        let report = prune_archive(&*crate::environment().vfs, archive, kept, !dry_run)?;
        let (count, bytes) = (report.files.len(), report.bytes);
        let done = if dry_run { "would be removed" } else { "removed" };
        let rest = match report.first {
            Lsn::ZERO => "no log is left".to_owned(),
            first => format!("log from LSN {first} on is kept"),
        };
        Ok(format!("database {}: {count} segments of {bytes} bytes {done}, {rest}", report.database))
    })())
}

/// `verso archive verify DIR [BASE [INCREMENT…]]`.
pub fn verify(archive: &Path, bases: &[PathBuf]) -> ExitCode {
    finish((|| {
        let (reports, base) = watched(Counted::Bytes, |watch| {
            verify_archive_with(&*crate::environment().vfs, archive, bases, watch)
        })?;
        let mut lines: Vec<String> = reports.iter().map(line).collect();
        lines.extend(base.map(|base| {
            format!(
                "base of {}: {} pages, consistent at LSN {}, {}",
                base.database,
                base.pages,
                base.end,
                time(base.ended)
            )
        }));
        Ok(lines.join("\n"))
    })())
}

fn line(report: &ArchiveReport) -> String {
    let times = match report.first_commit {
        0 => String::new(),
        first => format!(", from {} to {}", time(first), time(report.last_commit)),
    };
    format!(
        "database {}: {} segments, LSN {} to {}, {} commits{times}",
        report.database, report.segments, report.first, report.last, report.commits
    )
}

/// Microseconds since 1970 as text.
fn time(unix_micros: i64) -> String {
    let mut text = String::new();
    format_timestamptz(unix_micros - UNIX_EPOCH_MICROS, &TimeStyle::UTC, &mut text);
    text
}

fn finish(done: Result<String, Failure>) -> ExitCode {
    match done {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(Failure::Usage(text)) => {
            eprintln!("verso: error: {text}");
            ExitCode::from(EXIT_USAGE)
        }
        Err(Failure::Sql(error)) => {
            eprintln!("verso: error: {error}");
            if let Some(hint) = &error.hint {
                eprintln!("verso: hint: {hint}");
            }
            ExitCode::from(match error.sqlstate {
                "57014" => exit_code(),
                // Base, increment or archive are not what they should be.
                "55000" | "XX001" => EXIT_SCRIPT,
                _ => EXIT_USAGE,
            })
        }
    }
}
