//! Backups that a server hands to its clients: `BACKUP DATABASE TO STDOUT`.

use std::str::FromStr;
use std::sync::Arc;

use verso_env::JoinHandle;
use verso_env::sync::Mutex;
use verso_parser::syntax::LogicalBackup;
use verso_session::errors::sqlstate;
use verso_session::{Export, Exporter, Instance, PipeWriter, SqlError};
use versodb::Database;

use crate::archive::compression::Compression;
use crate::backup::{BackupOptions, BackupReport, backup};
use crate::error::BackupError;
use crate::job::{Event, Job};
use crate::script::script;

/// Makes what `BACKUP DATABASE TO STDOUT` asks for: [`Cluster::exported_by`](verso_session::Cluster::exported_by) takes it.
#[derive(Debug)]
pub struct Archives;

type Outcome = Result<BackupReport, BackupError>;

struct Running {
    job: Arc<Job>,
    thread: JoinHandle,
    outcome: Arc<Mutex<Option<Outcome>>>,
    /// What whoever asked for it may not expect.
    notices: Arc<Mutex<Vec<String>>>,
}

impl Exporter for Archives {
    fn start(
        &self,
        instance: &Arc<Instance>,
        wanted: &LogicalBackup,
        session: u64,
        pipe: PipeWriter,
    ) -> Result<Box<dyn Export>, SqlError> {
        let options = options(wanted)?;
        let notices = Arc::new(Mutex::new(Vec::new()));
        let said = Arc::clone(&notices);
        let job = Job::of_session(session, move |event| {
            if let Event::Notice(text) = event {
                said.lock().push((*text).to_owned());
            }
        });
        let job = Arc::new(job);
        let outcome = Arc::new(Mutex::new(None));
        let database = Database::over(instance);
        let (job_of, outcome_of, is_script) = (Arc::clone(&job), Arc::clone(&outcome), wanted.script);
        let body = move || {
            let done = match is_script {
                true => script(&database, pipe, &options, &job_of),
                false => backup(&database, pipe, &options, &job_of),
            };
            *outcome_of.lock() = Some(done);
        };
        let thread = instance.engine.env().threads.try_spawn("verso-backup", Box::new(body));
        let thread =
            thread.map_err(|error| SqlError::new("53000", format!("cannot start a thread: {error}")))?;
        Ok(Box::new(Running { job, thread, outcome, notices }))
    }
}

impl Export for Running {
    fn cancel(&self) {
        self.job.cancel();
    }

    fn notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock())
    }

    fn end(self: Box<Self>) -> Result<u64, SqlError> {
        let panicked = self.thread.join().err();
        let outcome = self.outcome.lock().take();
        match (outcome, panicked) {
            (Some(Ok(report)), _) => Ok(report.rows),
            (Some(Err(error)), _) => Err(failure(error)),
            (None, panicked) => {
                let what = panicked.map_or_else(String::new, |panic| panic.to_string());
                Err(SqlError::new(sqlstate::INTERNAL_ERROR, format!("the backup ended: {what}")))
            }
        }
    }
}

fn options(wanted: &LogicalBackup) -> Result<BackupOptions, SqlError> {
    let invalid = |text: String| SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text);
    if wanted.schema_only && wanted.data_only {
        return Err(invalid("SCHEMA_ONLY and DATA_ONLY leave nothing".to_owned()));
    }
    let compression = wanted.compress.as_deref().map(Compression::from_str).transpose().map_err(invalid)?;
    if wanted.script && compression.is_some_and(|how| how != Compression::None) {
        return Err(invalid("statements are not packed: COMPRESS is for archives".to_owned()));
    }
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    Ok(BackupOptions {
        workers: wanted.parallel.map_or_else(processors, |count| count as usize).clamp(1, 64),
        compression: compression.unwrap_or_default(),
        tables: wanted.tables.clone(),
        schema: !wanted.data_only,
        data: !wanted.schema_only,
    })
}

fn failure(error: BackupError) -> SqlError {
    match error {
        BackupError::Sql(error) => *error,
        BackupError::Cancelled => {
            SqlError::new(sqlstate::QUERY_CANCELED, "canceling statement due to user request")
        }
        BackupError::Io { .. } => SqlError::new(sqlstate::IO_ERROR, error.to_string()),
        BackupError::Refused(text) => SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text),
        BackupError::Statement { .. } | BackupError::Damaged { .. } => {
            SqlError::new(sqlstate::INTERNAL_ERROR, error.to_string())
        }
    }
}
