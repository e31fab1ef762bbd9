//! A backup or a restore under way: who is told of its progress, and how it is cancelled.

use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::sync::Mutex;
use versodb::{CancelHandle, Connection};

use crate::error::BackupError;

/// What happens, for progress bars and logs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event<'e> {
    /// Something begins: `data`, `indexes`, … and how many units of it there are, if that is known.
    Phase {
        /// Its name.
        name: &'e str,
        /// How many units; 0 is not known.
        total: u64,
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
        }
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
        self.tell(Event::Bytes(bytes));
    }

    /// Says that nothing more happens.
    pub fn ended(&self) {
        self.tell(Event::Ended);
    }

    /// Tells whoever watches.
    pub fn tell(&self, event: Event<'_>) {
        (self.listener)(&event);
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
