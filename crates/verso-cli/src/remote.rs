//! Tools that talk to a running server, over a connection like any other.

use std::io::{Read, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use postgres::{Client, Config, NoTls};
use verso_backup::{BackupError, BackupReport, Event, Job, Unit, write_whole};

use crate::args::{BackupArguments, BackupFormat};

/// How often a server is asked how far its base backup is.
const LOOK: Duration = Duration::from_millis(200);
/// Bytes taken from the server at a time.
const PIECE_BYTES: usize = 1 << 18;

/// How to reach a server: `HOST:PORT`, an address as libpq writes it, or `key=value` pairs.
///
/// # Errors
/// It is none of these.
pub fn configuration(server: &str, database: Option<&str>, tool: &str) -> Result<Config, postgres::Error> {
    let mut config: Config = if server.contains("://") || server.contains('=') {
        server.parse()?
    } else {
        let mut config = Config::new();
        match server.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse::<u16>().ok()?))) {
            Some((host, port)) => config.host(host.trim_matches(['[', ']'])).port(port),
            None => config.host(server),
        };
        config
    };
    if let Some(database) = database {
        config.dbname(database);
    } else if config.get_dbname().is_none() {
        config.dbname("verso");
    }
    if config.get_user().is_none() {
        config.user("verso");
    }
    if let (None, Ok(password)) = (config.get_password(), std::env::var("PGPASSWORD")) {
        config.password(password);
    }
    config.application_name(tool);
    Ok(config)
}

/// `verso backup --server`: the server makes the archive, this process writes it down.
///
/// # Errors
/// `Refused` with what the server or the connection says; those of the file.
pub fn backup(
    server: &str,
    arguments: &BackupArguments,
    job: &Arc<Job>,
) -> Result<BackupReport, BackupError> {
    if arguments.format == BackupFormat::Parquet {
        let text = "Parquet files are written by the program that has the database open; over a connection there is COPY t TO STDOUT (FORMAT parquet)";
        return Err(BackupError::Refused(text.to_owned()));
    }
    let database = arguments.database.to_string_lossy();
    let mut config = configuration(server, Some(&database), "verso backup").map_err(failure)?;
    let told = Arc::clone(job);
    config.notice_callback(move |notice| told.tell(Event::Notice(notice.message())));
    let mut client = config.connect(NoTls).map_err(failure)?;
    let statement = statement(arguments);
    job.tell(Event::Statement(&statement));
    job.tell(Event::Phase { name: "data", total: 0, unit: Unit::Bytes });
    if arguments.file == Path::new("-") {
        return copy(&mut client, &statement, std::io::stdout().lock(), job);
    }
    write_whole(&crate::environment(), &arguments.file, arguments.replace, |out| {
        copy(&mut client, &statement, out, job)
    })
}

fn copy(
    client: &mut Client,
    statement: &str,
    mut out: impl Write,
    job: &Arc<Job>,
) -> Result<BackupReport, BackupError> {
    let stopping = client.cancel_token();
    let writing = |error| BackupError::Io { what: "writing the backup".to_owned(), error };
    let mut data = client.copy_out(statement).map_err(failure)?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        if job.is_cancelled() {
            // The server ends it when this connection goes, too.
            let _ = stopping.cancel_query(NoTls);
            return Err(BackupError::Cancelled);
        }
        let count = match data.read(&mut piece) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) => return Err(reading(error)),
        };
        out.write_all(&piece[..count]).map_err(writing)?;
        bytes += count as u64;
        job.tell(Event::Done(count as u64));
    }
    out.flush().map_err(writing)?;
    Ok(BackupReport { tables: 0, rows: 0, bytes })
}

/// `verso backup --physical --server`: the server copies the pages into a folder of its own machine, or of an object store. A second connection
/// asks how far it is (pages done, pages in all), and `stop` ends it.
///
/// # Errors
/// `Cancelled`; `Refused` with what the server or the connection says.
pub fn base(
    server: &str,
    arguments: &BackupArguments,
    stop: &AtomicBool,
    mut show: impl FnMut(u64, u64),
) -> Result<(), BackupError> {
    let database = arguments.database.to_string_lossy();
    let config = configuration(server, Some(&database), "verso backup").map_err(failure)?;
    let mut client = config.connect(NoTls).map_err(failure)?;
    let mut watcher = config.connect(NoTls).map_err(failure)?;
    let session: i32 = client.query_one("SELECT pg_backend_pid()", &[]).map_err(failure)?.get(0);
    let stopping = client.cancel_token();
    let parent = arguments.incremental_from.as_deref();
    let parent = parent.map_or_else(String::new, |parent| format!(" INCREMENTAL FROM {}", literal(parent)));
    let statement = format!("BACKUP DATABASE TO {}{parent}", literal(&arguments.file));
    let (told, outcome) = mpsc::channel();
    let copying = crate::environment().spawn("base backup", move || {
        // Nobody waits for it if this end has gone.
        let _ = told.send(client.batch_execute(&statement));
    });
    let question =
        "SELECT done, total FROM verso_progress WHERE session = $1::int8 AND operation = 'BASE BACKUP'";
    let done = loop {
        match outcome.recv_timeout(LOOK) {
            Err(mpsc::RecvTimeoutError::Timeout) => {}
            done => break done,
        }
        if stop.load(Ordering::Relaxed) {
            // One that comes before the statement has begun ends nothing, so it is sent each time.
            let _ = stopping.cancel_query(NoTls);
        }
        if let Ok(Some(row)) = watcher.query_opt(question, &[&i64::from(session)]) {
            let [done, total] = [0, 1].map(|at| row.get::<_, Option<i64>>(at).unwrap_or(0));
            show(done.unsigned_abs(), total.unsigned_abs());
        }
    };
    match (done, copying.join()) {
        (Ok(done), _) => done.map_err(failure),
        (Err(_), ended) => {
            let why = ended.err().map_or_else(String::new, |panic| format!(": {panic}"));
            Err(BackupError::Refused(format!("the connection to the server has failed{why}")))
        }
    }
}

/// A path as a literal of SQL.
fn literal(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', "''"))
}

/// What the server is asked.
fn statement(arguments: &BackupArguments) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let mut options = vec![match arguments.format {
        BackupFormat::Archive | BackupFormat::Parquet => "FORMAT archive".to_owned(),
        BackupFormat::Sql => "FORMAT sql".to_owned(),
    }];
    options.extend(arguments.parallel.map(|count| format!("PARALLEL {count}")));
    options.extend(arguments.compress.map(|how| format!("COMPRESS {}", quoted(&how.to_string()))));
    options.extend(arguments.table.iter().map(|table| format!("TABLE {}", quoted(table))));
    options.extend(arguments.schema_only.then(|| "SCHEMA_ONLY".to_owned()));
    options.extend(arguments.data_only.then(|| "DATA_ONLY".to_owned()));
    format!("BACKUP DATABASE TO STDOUT ({})", options.join(", "))
}

/// An error in the midst of the data: what the server said, if it said anything.
fn reading(error: std::io::Error) -> BackupError {
    match error.into_inner().map(|inner| inner.downcast::<postgres::Error>()) {
        Some(Ok(error)) => failure(*error),
        Some(Err(other)) => BackupError::Refused(other.to_string()),
        None => BackupError::Refused("the connection to the server has ended".to_owned()),
    }
}

fn failure(error: postgres::Error) -> BackupError {
    let Some(said) = error.as_db_error() else {
        // Why there was no answer stands behind it.
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}"));
        return BackupError::Refused(format!("{error}{}", cause.unwrap_or_default()));
    };
    if said.code().code() == "57014" {
        return BackupError::Cancelled;
    }
    BackupError::Refused(format!("{}: {}", said.severity(), said.message()))
}
