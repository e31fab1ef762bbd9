//! What can go wrong in storage, grouped by what the caller does next.

use std::io;
use std::sync::Arc;

use verso_types::Physical;

use crate::page::{Flaw, ObjectId, PageId, RecordId, TxnId};

/// Why a log file cannot be dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFileProblem {
    /// There is none of that number.
    Missing,
    /// It holds log.
    InUse,
    /// What is written now has no room without it.
    Needed,
}

impl LogFileProblem {
    fn text(self) -> &'static str {
        match self {
            LogFileProblem::Missing => "does not exist",
            LogFileProblem::InUse => "is in use",
            LogFileProblem::Needed => "is needed by what is being written",
        }
    }
}

/// An error of the storage engine. Clones share the operating system's error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum StorageError {
    // ── retry the transaction ────────────────────────────────────────────────────────────────────────────────
    /// Another transaction changed the record first.
    #[error("{record} was changed by transaction {by}")]
    Conflict {
        /// The record both wanted.
        record: RecordId,
        /// Who has it.
        by: TxnId,
        /// It was deleted.
        deleted: bool,
    },
    /// Waiting would never end: the transactions wait for each other.
    #[error("deadlock: {detail}")]
    Deadlock {
        /// The transaction that gives way, if it has written.
        victim: TxnId,
        /// Who waits for whom, a line each.
        detail: Box<str>,
    },
    /// Another transaction did not end in the time allowed for waiting.
    #[error("waited too long for another transaction")]
    LockTimeout,
    /// A lock that others have was asked for without waiting (NOWAIT).
    #[error("the lock is held by another transaction")]
    LockNotAvailable,
    /// So many advisory locks are held that there is no room for another one.
    #[error("no more than {limit} locks can be held at a time")]
    TooManyLocks {
        /// How many are.
        limit: usize,
    },
    /// Going on could give a result that no order of the transactions, one after the other, has.
    #[error("{reason}")]
    Serialization {
        /// What was found.
        reason: &'static str,
    },
    /// The snapshot's versions are gone.
    #[error("the snapshot is too old: its record versions were removed")]
    SnapshotTooOld,

    // ── end the statement or the transaction ─────────────────────────────────────────────────────────────────
    /// Another record has the same key of a unique index.
    #[error("{record} has the same key of {index}")]
    Unique {
        /// The index.
        index: ObjectId,
        /// The record that has the key already.
        record: RecordId,
    },
    /// Another record is there that excludes this one, by the operators of an exclusion constraint.
    #[error("{record} and {with} exclude each other in {index}")]
    Excluded {
        /// The index.
        index: ObjectId,
        /// The record that is refused.
        record: RecordId,
        /// The record that is there.
        with: RecordId,
    },
    /// A change could not be undone piece by piece: the whole transaction has to roll back.
    #[error("the transaction can only be rolled back")]
    MustRollback,
    /// The caller asked for an end.
    #[error("cancelled")]
    Cancelled,
    /// A savepoint in a transaction without savepoints.
    #[error("the transaction has no savepoints (NO SAVEPOINT)")]
    SavepointsOff,
    /// A sequence has no further number.
    #[error("the sequence reached its limit {limit}")]
    SequenceExhausted {
        /// The bound.
        limit: i64,
    },
    /// A number outside of a sequence's bounds.
    #[error("the value is beyond the sequence's limit {limit}")]
    SequenceBounds {
        /// The bound.
        limit: i64,
    },
    /// Only one sweep runs at a time.
    #[error("another sweep is running")]
    SweepRunning,
    /// A prepared transaction of that name exists already.
    #[error("transaction identifier \"{0}\" is already in use")]
    PreparedExists(String),
    /// There is no prepared transaction of that name.
    #[error("prepared transaction with identifier \"{0}\" does not exist")]
    NoSuchPrepared(String),
    /// There is no exported snapshot of that name (any more).
    #[error("snapshot \"{0}\" does not exist")]
    NoSuchSnapshot(String),
    /// No savepoint of that name is open.
    #[error("savepoint \"{0}\" does not exist")]
    NoSuchSavepoint(String),
    /// A change in a transaction or database that may only read.
    #[error("cannot execute a change of rows in a read-only transaction")]
    ReadOnly,
    /// Something exceeds a limit of the format.
    #[error("{what} takes {size} bytes, at most {limit} are possible")]
    TooLarge {
        /// What is too large.
        what: String,
        /// Its size in bytes.
        size: u64,
        /// The greatest size in bytes.
        limit: u64,
    },
    /// A key is too long for an entry of its index.
    #[error("an index row of {index} takes {size} bytes, at most {limit} are possible")]
    IndexRowTooLarge {
        /// Which index.
        index: ObjectId,
        /// The entry's size in bytes.
        size: u64,
        /// The greatest size in bytes.
        limit: u64,
    },
    /// Work that holds much was refused further memory.
    #[error("out of memory: {what} needs more than {limit_bytes} bytes")]
    NoMemory {
        /// What needed it.
        what: &'static str,
        /// What it may have.
        limit_bytes: u64,
        /// The setting that says so.
        setting: &'static str,
    },
    /// The temporary files of a session have their greatest size.
    #[error("temporary file size exceeds \"temp_file_limit\" ({}kB)", limit_bytes >> 10)]
    NoTemporarySpace {
        /// What they may have.
        limit_bytes: u64,
    },
    /// There is no object of that number (any more).
    #[error("{0} does not exist")]
    NoSuchObject(ObjectId),
    /// Rows were handed in whose columns are laid out otherwise than the table's: a mistake of the caller, found before
    /// anything has changed.
    #[error("values of column {column} of {object} have the form {found:?}, its own is {own:?}")]
    OtherForm {
        /// The table.
        object: ObjectId,
        /// The number of the column in it.
        column: u16,
        /// The form of its values.
        own: Physical,
        /// What came.
        found: Physical,
    },
    /// No room: the disk is full or the database has its greatest size.
    #[error("no room for {what}")]
    Full {
        /// What needed the room.
        what: String,
    },
    /// Every frame of the buffer pool stayed in use for longer than a wait may last.
    #[error("the buffer pool of {frames} pages is too small: every page is in use")]
    PoolExhausted {
        /// Capacity of the pool in pages.
        frames: u64,
    },

    // ── report ───────────────────────────────────────────────────────────────────────────────────────────────
    /// Bytes on disk break the format.
    #[error("{page} of {owner} is corrupt: {flaw}")]
    Corrupt {
        /// The page.
        page: PageId,
        /// Whose it is, as far as its bytes can be believed.
        owner: ObjectId,
        /// What is wrong with it.
        flaw: Flaw,
    },
    /// What the database is made of is not all known, so that nothing can be changed without breaking something.
    #[error("nothing can be changed: {why}")]
    Frozen {
        /// What is not known.
        why: Arc<str>,
    },
    /// The operating system cannot read a page.
    #[error("reading {page}: {source}")]
    Unreadable {
        /// The page.
        page: PageId,
        /// What the system said.
        source: Arc<io::Error>,
    },
    /// The operating system refused.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// What the system said.
        source: Arc<io::Error>,
    },

    /// An archive, a base backup or a restore is not as it should be.
    #[error("{problem}")]
    Archive {
        /// What is wrong.
        problem: String,
    },

    /// A log file cannot be dropped.
    #[error("log file {number} {}", problem.text())]
    LogFile {
        /// Its number.
        number: u64,
        /// Why not.
        problem: LogFileProblem,
    },

    // ── open otherwise, or reopen ────────────────────────────────────────────────────────────────────────────
    /// Log that was on disk cannot be read any more; what stands behind it would be lost.
    #[error(
        "the log is damaged at offset {offset} of {segment} (LSN {from}): the log behind it, up to LSN {upto}, was on disk \
         and cannot be recovered; at least {commits} commits are in it"
    )]
    DamagedLog {
        /// The file.
        segment: String,
        /// Where in it.
        offset: u64,
        /// How far the log can be read.
        from: u64,
        /// How far it is known to have gone.
        upto: u64,
        /// Commits behind the damage, as far as they can be read.
        commits: u64,
    },
    /// Log that recovery needs is not there.
    #[error("log is missing: {what}")]
    MissingLog {
        /// Which.
        what: String,
    },
    /// Another process has the database open.
    #[error("the database is in use by another process")]
    Locked,
    /// The file is something else.
    #[error("not a Verso database: {what}")]
    NotADatabase {
        /// How that was seen.
        what: String,
    },
    /// The file is of a format this program does not know.
    #[error("file format {found} is not supported, only {supported}")]
    UnsupportedFormat {
        /// Format version of the file.
        found: u32,
        /// Format version of this program.
        supported: u32,
    },
    /// A new database was to have pages of another size than the format has.
    #[error("pages of {0} bytes are not possible: 4096, 8192, 16384 and 32768 are")]
    PageSize(u32),
    /// A write or an fsync failed, so what is durable is unknown. An fsync is never retried.
    #[error("no changes are possible after a failed write or sync: the database has to be opened again")]
    Poisoned {
        /// What failed, if that is known.
        why: Option<Arc<StorageError>>,
    },
    /// The database was closed.
    #[error("the database is closed")]
    Closed,
}

impl StorageError {
    /// Wraps an error of the operating system; a full disk becomes [`StorageError::Full`].
    pub fn io(what: impl Into<String>, source: io::Error) -> StorageError {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                StorageError::Full { what: what.into() }
            }
            _ => StorageError::Io { what: what.into(), source: Arc::new(source) },
        }
    }

    /// Wraps the failure of a sync. It is never a mere lack of room: what the disk has of earlier writes is unknown.
    pub(crate) fn sync(what: impl Into<String>, source: io::Error) -> StorageError {
        StorageError::Io { what: what.into(), source: Arc::new(source) }
    }

    /// Whether the disk, or what the database may have of it, was full.
    #[must_use]
    pub fn is_full_disk(&self) -> bool {
        match self {
            StorageError::Full { .. } => true,
            StorageError::Io { source, .. } => {
                matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
            }
            StorageError::Poisoned { why: Some(why) } => why.is_full_disk(),
            _ => false,
        }
    }

    /// Whether the log was refused room: a checkpoint may give some back.
    #[must_use]
    pub(crate) fn is_full_log(&self) -> bool {
        matches!(self, StorageError::Full { what } if what == crate::wal::SEGMENT)
    }

    /// Whether it says that one page is damaged: what does not need that page can go on.
    #[must_use]
    pub fn is_of_a_page(&self) -> bool {
        matches!(self, StorageError::Corrupt { .. } | StorageError::Unreadable { .. })
    }

    /// Tells the operator, in the program's log, which failure closes the engine and how to go on. `Poisoned` itself is a
    /// consequence, and said already.
    pub(crate) fn ends_the_engine(&self) {
        if !matches!(self, StorageError::Poisoned { .. }) {
            tracing::error!(
                error = %self,
                "the database takes no more changes: a write or a sync failed, so what is on disk is not known; see to the \
                 disk, then stop and start again, which recovers every commit that was acknowledged"
            );
        }
    }

    /// A corrupt page whose owner is known from elsewhere than its bytes.
    pub fn corrupt(page: PageId, owner: ObjectId, flaw: impl Into<Flaw>) -> StorageError {
        StorageError::Corrupt { page, owner, flaw: flaw.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_apart() {
        let full = StorageError::io("writing page 3", io::Error::from(io::ErrorKind::StorageFull));
        assert!(matches!(full, StorageError::Full { .. }));
        let other = StorageError::io("writing page 3", io::Error::from(io::ErrorKind::NotFound));
        assert!(matches!(other, StorageError::Io { .. }));
    }

    #[test]
    fn a_corrupt_page_names_itself_and_its_owner() {
        let error = StorageError::corrupt(PageId(7), ObjectId(3), "checksum mismatch");
        assert_eq!(error.to_string(), "page 7 of object 3 is corrupt: checksum mismatch");
    }
}
