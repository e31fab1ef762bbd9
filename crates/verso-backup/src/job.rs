//! A backup or a restore under way: who is told of its progress, and how it is cancelled.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use verso_env::sync::Mutex;
use verso_storage::Engine;
use verso_storage::workers::Listed;
use versodb::{CancelHandle, Connection, Database};

use crate::error::BackupError;

/// What the progress of a phase is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Pages of tables.
    Pages,
    /// Bytes of the archive.
    Bytes,
    /// Statements.
    Statements,
}

impl Unit {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Pages => "pages",
            Unit::Bytes => "bytes",
            Unit::Statements => "statements",
        }
    }
}

/// What happens, for progress bars and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'e> {
    /// Something begins: `data`, `indexes`, … and how many units of it there are, if that is known.
    Phase {
        /// Its name.
        name: &'static str,
        /// How many units; 0 is not known.
        total: u64,
        /// What is counted.
        unit: Unit,
    },
    /// So many more units are done: pages read, bytes of the archive read, statements run.
    Done(u64),
    /// Rows of a table were written or read.
    Rows {
        /// Its schema and name.
        table: &'e str,
        /// How many.
        rows: u64,
        /// Bytes in the archive.
        bytes: u64,
    },
    /// A statement is run.
    Statement(&'e str),
    /// Something that whoever asked for the job may not expect.
    Notice(&'e str),
    /// The archive that is read has so many bytes.
    Bytes(u64),
    /// Nothing more happens.
    Ended,
}

type Listener = Box<dyn Fn(&Event<'_>) + Send + Sync>;

/// A backup or a restore under way; shared by its workers and by those who watch or cancel it.
pub struct Job {
    cancelled: AtomicBool,
    sessions: Mutex<Vec<CancelHandle>>,
    listener: Listener,
    /// The session whose statement it is; 0 for none.
    session: u64,
    /// The database, and how others see the job there.
    listed: Mutex<Option<(Engine, Listed)>>,
    /// Pages read and written when the work ended.
    pages: Mutex<(u64, u64)>,
    /// Bytes of the archive that is read, if they are known.
    bytes: AtomicU64,
}

impl std::fmt::Debug for Job {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Job").field("cancelled", &self.cancelled).finish_non_exhaustive()
    }
}

impl Default for Job {
    fn default() -> Job {
        Job::new(|_| {})
    }
}

impl Job {
    /// A job whose events go to `listener`, from several threads.
    pub fn new(listener: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Job {
        Job {
            cancelled: AtomicBool::new(false),
            sessions: Mutex::new(Vec::new()),
            listener: Box::new(listener),
            session: 0,
            listed: Mutex::new(None),
            pages: Mutex::default(),
            bytes: AtomicU64::new(0),
        }
    }

    /// A job that a statement of this session has asked for.
    pub fn of_session(session: u64, listener: impl Fn(&Event<'_>) + Send + Sync + 'static) -> Job {
        Job { session, ..Job::new(listener) }
    }

    /// Others see it in this database from now on, until it ends.
    pub(crate) fn list(&self, engine: &Engine, what: &'static str, threads: usize) {
        let listed = engine.begin_job(what, self.session, None);
        listed.job().works_with(threads as u32);
        *self.listed.lock() = Some((engine.clone(), listed));
    }

    /// Pages that were read and written by the database so far.
    pub fn pages(&self) -> (u64, u64) {
        let listed = self.listed.lock();
        let pool = listed.as_ref().map(|(engine, _)| engine.statistics().pool);
        pool.map_or_else(|| *self.pages.lock(), |pool| (pool.reads, pool.writes))
    }

    /// The work has ended: nobody sees it any more, and the database may be closed.
    pub(crate) fn unlist<T>(&self, result: Result<T, BackupError>) -> Result<T, BackupError> {
        *self.pages.lock() = self.pages();
        *self.listed.lock() = None;
        self.outcome(result)
    }

    /// Ends it: statements that run are cancelled, workers stop at their next batch.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Release);
        self.sessions.lock().iter().for_each(CancelHandle::cancel);
    }

    /// Whether it is to end.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Acquire)
    }

    /// Says how many bytes the archive has that is read.
    pub fn bytes_are(&self, bytes: u64) {
        self.bytes.store(bytes, Ordering::Relaxed);
        self.tell(Event::Bytes(bytes));
    }

    /// Says that nothing more happens.
    pub fn ended(&self) {
        self.tell(Event::Ended);
    }

    /// Tells whoever watches.
    pub fn tell(&self, event: Event<'_>) {
        if let Some((_, listed)) = &*self.listed.lock() {
            let job = listed.job();
            match event {
                Event::Phase { name, total, unit } => {
                    let known = if unit == Unit::Bytes { self.bytes.load(Ordering::Relaxed) } else { total };
                    job.enter_of(name, known, unit.name());
                }
                Event::Done(units) => job.advance(units),
                Event::Rows { rows, .. } => job.moved(rows),
                Event::Statement(_) | Event::Notice(_) | Event::Bytes(_) | Event::Ended => {}
            }
        }
        (self.listener)(&event);
    }

    /// A session of the job. What the database says of sessions that take long or do nothing is not for it: its work is done
    /// beside it.
    pub(crate) fn session(&self, database: &Database, name: &str) -> Result<Connection, BackupError> {
        let mut connection = database.connect()?;
        self.joined_by(&connection);
        connection.execute(&format!("SET application_name = '{name}'"))?;
        for timeout in [
            "statement_timeout",
            "lock_timeout",
            "transaction_timeout",
            "idle_in_transaction_session_timeout",
        ] {
            connection.execute(&format!("SET {timeout} = 0"))?;
        }
        Ok(connection)
    }

    /// A session works for the job from now on.
    pub(crate) fn joined_by(&self, connection: &Connection) {
        self.sessions.lock().push(connection.cancel_handle());
    }

    pub(crate) fn check(&self) -> Result<(), BackupError> {
        if self.is_cancelled() { Err(BackupError::Cancelled) } else { Ok(()) }
    }

    /// What the work ended with: whatever statement a cancel has hit, it was the cancel.
    pub(crate) fn outcome<T>(&self, result: Result<T, BackupError>) -> Result<T, BackupError> {
        result.map_err(|error| if self.is_cancelled() { BackupError::Cancelled } else { error })
    }
}
