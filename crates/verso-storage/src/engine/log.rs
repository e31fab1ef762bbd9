//! The log of an engine: how far it is, its files, and names of places in it.

use super::Engine;
use crate::StorageError;
use crate::mini::Mini;
use crate::page::{Lsn, TxnId};
use crate::wal::{RecordKind, SegmentInfo, WalProgress};

/// Most bytes in the name of a restore point, as in PostgreSQL.
pub const RESTORE_POINT_BYTES_MAX: usize = 63;

impl Engine {
    /// How far the log is on disk; see [`Txn::needs`](crate::Txn::needs).
    pub fn durable(&self) -> Lsn {
        self.shared().core().wal.durable()
    }

    /// Where the log ends: everything that is committed is before it.
    pub fn logged(&self) -> Lsn {
        self.shared().core().wal.appended()
    }

    /// How far the log is, and how its flushes went.
    pub fn log_progress(&self) -> WalProgress {
        self.shared().core().wal.progress()
    }

    /// Waits until the log is on disk up to there; writes it, if nobody does.
    ///
    /// # Errors
    /// `Poisoned`, or the failure that makes it so.
    pub fn flush_log(&self, upto: Lsn) -> Result<(), StorageError> {
        self.shared().core().wal.flush(upto)
    }

    /// Makes what was logged durable, and goes on in another segment; that one is archived if anything is.
    ///
    /// # Errors
    /// `Full` if the disk has no room for another segment; `Poisoned`, or what makes it so.
    pub fn switch_segment(&self) -> Result<Lsn, StorageError> {
        let wal = &self.shared().core().wal;
        wal.close_segment()?;
        Ok(wal.appended())
    }

    /// Gives this place in the log a name, to which a restore can go, and waits until it is on disk; where the log goes on.
    ///
    /// # Errors
    /// `TooLarge` for a name of more than [`RESTORE_POINT_BYTES_MAX`]; `Full` if the log has no room; `Poisoned`, or what makes it
    /// so.
    pub fn restore_point(&self, name: &str) -> Result<Lsn, StorageError> {
        if name.len() > RESTORE_POINT_BYTES_MAX {
            let (size, limit) = (name.len() as u64, RESTORE_POINT_BYTES_MAX as u64);
            return Err(StorageError::TooLarge {
                what: "the name of a restore point".to_owned(),
                size,
                limit,
            });
        }
        let core = self.shared().core();
        let mut mini = Mini::begin(core, TxnId::NONE);
        mini.state(RecordKind::RESTORE_POINT, name.as_bytes())?;
        let (_, end) = mini.commit()?;
        core.wal.flush(end)?;
        Ok(end)
    }

    /// The segments of the log.
    pub fn log_segments(&self) -> Vec<SegmentInfo> {
        self.shared().core().wal.segment_list()
    }

    /// Most bytes of log files that are kept ready when the log does not need them.
    pub fn spare_log(&self) -> u64 {
        self.shared().core().wal.spare_bytes()
    }

    /// Keeps so many bytes of log files ready.
    pub fn set_spare_log(&self, bytes: u64) {
        self.shared().core().wal.set_spare_bytes(bytes);
    }

    /// Makes a log file of this size ready; its number. `go_on` is asked while it is written.
    ///
    /// # Errors
    /// `Full`, `Poisoned`, what the file system reports, or `go_on`; no file is left then.
    pub fn add_log_file(
        &self,
        bytes: u64,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<u64, StorageError> {
        self.shared().core().wal.add_file(bytes, go_on)
    }

    /// Removes a log file that is ready and not in use; its size.
    ///
    /// # Errors
    /// `LogFile` says why not; `Poisoned`, what the file system reports.
    pub fn drop_log_file(&self, number: u64) -> Result<u64, StorageError> {
        self.shared().core().wal.drop_file(number)
    }
}
