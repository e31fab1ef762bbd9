//! Checkpoints of an engine: when they are made, and how they are counted.

use std::sync::Weak;
use std::time::Duration;

use super::Engine;
use super::report::CheckpointCounts;
use crate::StorageError;
use crate::buffer::FlushProgress;
use crate::recovery::{CHECKPOINT_BYTES_OWN, CheckpointReport, CheckpointTarget, CheckpointerOptions};
use crate::shared::Shared;

/// The database, as the thread that makes checkpoints knows it.
pub(super) struct Target(pub(super) Weak<Shared>);

impl CheckpointTarget for Target {
    fn redo_bytes(&self) -> u64 {
        self.0.upgrade().map_or(0, |shared| {
            let (bytes, wal) = (shared.store.redo_bytes(), &shared.core().wal);
            let helps = || bytes > CHECKPOINT_BYTES_OWN || wal.would_give_back();
            if wal.is_starved() && helps() { u64::MAX } else { bytes }
        })
    }

    fn checkpoint(&self, pace: &mut dyn FnMut(FlushProgress)) -> Result<(), StorageError> {
        let shared = self.0.upgrade().ok_or(StorageError::Closed)?;
        let done = counted(
            &shared,
            |counts| &mut counts.timed,
            || shared.store.checkpoint_at(pace, || shared.collect()),
        );
        shared.core().wal.is_fed();
        done
    }

    fn is_awaited(&self) -> bool {
        self.0
            .upgrade()
            .is_none_or(|shared| shared.store.checkpoint_is_awaited() || shared.core().wal.is_starved())
    }
}

/// Makes a checkpoint, which counts as one of a kind.
fn counted(
    shared: &Shared,
    kind: fn(&mut CheckpointCounts) -> &mut u64,
    make: impl FnOnce() -> Result<CheckpointReport, StorageError>,
) -> Result<(), StorageError> {
    let began = shared.env.clock.monotonic_nanos();
    *kind(&mut shared.checkpoints.lock()) += 1;
    let report = make()?;
    let mut counts = shared.checkpoints.lock();
    counts.done += 1;
    counts.nanos += shared.env.clock.monotonic_nanos().saturating_sub(began);
    counts.pages += report.pages_written;
    counts.last_at = shared.env.clock.unix_micros();
    Ok(())
}

/// How often one change is tried again in a log that has no room (R5): what was given back may go to others.
const TRIES: u32 = 4;

/// A change that goes on where a checkpoint gives the log room.
pub(crate) struct RoomInLog {
    tries: u32,
}

impl RoomInLog {
    /// For one change, which has not been tried yet.
    pub(crate) fn new() -> RoomInLog {
        RoomInLog { tries: TRIES }
    }

    /// After an error that has left everything as it was: whether it is worth trying again, for which a checkpoint was made. No
    /// page is latched.
    #[cold]
    pub(crate) fn is_there_after(&mut self, shared: &Shared, error: &StorageError) -> bool {
        if !error.is_full_log() || self.tries == 0 {
            return false;
        }
        self.tries -= 1;
        let make = || shared.store.checkpoint(|| shared.collect());
        let made = counted(shared, |counts| &mut counts.requested, make);
        shared.core().wal.is_fed();
        made.is_ok()
    }
}

impl Engine {
    /// When checkpoints are made without being asked for, from now on: at the latest after this time, and this much log.
    pub fn set_checkpoints(&self, interval: Duration, log_bytes: u64) {
        if let Some(checkpointer) = &*self.inner.checkpointer.lock() {
            checkpointer.configure(CheckpointerOptions {
                interval,
                log_bytes,
                ..CheckpointerOptions::default()
            });
        }
    }

    /// Makes a checkpoint.
    ///
    /// # Errors
    /// `Poisoned`, `Io`, `Full`.
    pub fn checkpoint(&self) -> Result<(), StorageError> {
        let shared = self.shared();
        counted(shared, |counts| &mut counts.requested, || shared.store.checkpoint(|| shared.collect()))
    }
}
