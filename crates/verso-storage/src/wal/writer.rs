//! From the buffers to the disk: who waits for a group leads a flush, a thread of its own drains full buffers.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::chunk::{ChunkBuffer, LOG_FORMAT, SECTOR, SegmentHeader, disk_len};
use super::log::{ASKED_NOTHING, ASKED_SOON, Shared};
use super::segment;
use super::tail::Tail;
use super::turns::Lead;
use crate::StorageError;
use crate::page::Lsn;
use crate::rules::{Rule, disabled};

/// A flush of at most this much is one of many small ones to come.
const SMALL_FLUSH_BYTES: u64 = 64 << 10;

/// Poisons the log when a flush fails or panics, before those who wait for it look again.
struct Leader<'s> {
    shared: &'s Shared,
    poison: bool,
    lead: Lead<'s>,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if self.poison && !disabled(Rule::FailedSync) {
            self.shared.poison(None);
        }
    }
}

impl Shared {
    pub(super) fn flush(&self, upto: Lsn) -> Result<(), StorageError> {
        let reached = || self.durable.load(Ordering::Acquire) >= upto.0;
        if reached() {
            return Ok(());
        }
        // Groups that were durable before a failure stay so.
        let done = || if reached() { Ok(true) } else { self.check().map(|()| false) };
        let Some(lead) = self.turns.take(upto.0, done)? else { return Ok(()) };
        let mut leader = Leader { shared: self, poison: true, lead };
        let target = leader.lead.covers(|| self.hot.appended.load(Ordering::Acquire));
        assert!(upto.0 <= target, "flush up to {upto}, but the log ends at {target}");
        let led = self.lead(target);
        leader.poison = led.is_err();
        led.inspect_err(|error| {
            if !disabled(Rule::FailedSync) {
                self.poison_because(error);
            }
        })
    }

    /// Writes what was appended up to `target` and syncs it. Only one thread at a time is here.
    fn lead(&self, target: u64) -> Result<(), StorageError> {
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
        let now = || self.env.clock.monotonic_nanos();
        // A commit is counted behind its append, so all that are counted now are before `target`, or just behind it: the
        // end of the log is asked for again.
        let commits = self.counters.commits.load(Ordering::Acquire);
        let target = target.max(self.hot.appended.load(Ordering::Acquire));
        let (files, names, written) = {
            let mut tail = self.tail.lock();
            let before = tail.written.0;
            while tail.written.0 < target {
                if !self.write_one(&mut tail)? {
                    self.write_active(&mut tail)?;
                }
            }
            if tail.written.0 - before <= SMALL_FLUSH_BYTES {
                tail.zero_ahead()?;
            }
            tail.unsynced_bytes = 0;
            let names = std::mem::take(&mut tail.unsynced_names);
            (std::mem::take(&mut tail.unsynced), names, tail.written)
        };
        if names {
            self.sync_names()?;
        }
        for (number, file) in files {
            self.counters.fsyncs.fetch_add(1, Ordering::Relaxed);
            let path = segment::path_of(&self.dir, number);
            let began = now();
            file.sync_data().map_err(|e| StorageError::io(format!("syncing {}", path.display()), e))?;
            let nanos = now().saturating_sub(began);
            self.counters.fsync_nanos.fetch_add(nanos, Ordering::Relaxed);
            self.counters.fsync_micros.count(nanos / 1000);
        }
        if let Some(mark) = &self.mark {
            mark.set(written);
        }
        self.durable.fetch_max(written.0, Ordering::AcqRel);
        let before = self.counters.commits_durable.fetch_max(commits, Ordering::AcqRel);
        if commits > before {
            self.counters.group_commits.count(commits - before);
        }
        Ok(())
    }

    pub(super) fn sync_names(&self) -> Result<(), StorageError> {
        let synced = self.env.vfs.sync_dir(&self.dir);
        synced.map_err(|e| StorageError::io(format!("syncing the folder {}", self.dir.display()), e))
    }

    /// Writes the oldest full buffer; `false` if there is none.
    pub(super) fn write_one(&self, tail: &mut Tail) -> Result<bool, StorageError> {
        self.check()?;
        let Some(chunk) = self.hot.queue.lock().full.pop_front() else { return Ok(false) };
        self.or_poison(self.write(tail, chunk))?;
        Ok(true)
    }

    /// Writes the buffer that is being filled, as far as it is.
    fn write_active(&self, tail: &mut Tail) -> Result<(), StorageError> {
        let chunk = {
            let mut queue = self.hot.queue.lock();
            // Meanwhile others may have filled more; the order of the log comes first.
            match queue.full.pop_front() {
                Some(chunk) => Some(chunk),
                None => queue.take_active(),
            }
        };
        chunk.map_or(Ok(()), |chunk| self.or_poison(self.write(tail, chunk)))
    }

    fn write(&self, tail: &mut Tail, mut chunk: ChunkBuffer) -> Result<(), StorageError> {
        let bytes = disk_len(chunk.len());
        if !tail.fits(bytes) {
            // Reservations make this rare: a group beyond what its mini-transaction reserved.
            self.add_spare(tail, bytes + SECTOR as u64)?;
        }
        let header = SegmentHeader {
            database: self.database,
            epoch: self.epoch,
            start: chunk.start,
            number: 0,
            format: LOG_FORMAT,
        };
        tail.write(&mut chunk, header, Lsn(self.durable.load(Ordering::Acquire)))?;
        let room = tail.room();
        self.room.store(room, Ordering::Relaxed);
        self.written.store(tail.written.0, Ordering::Release);
        self.counters.chunks.fetch_add(1, Ordering::Relaxed);
        self.counters.bytes_written.fetch_add(bytes, Ordering::Relaxed);
        let mut queue = self.hot.queue.lock();
        queue.give_back(chunk);
        if self.options.background && !queue.spare_wanted && room < self.room_wanted() {
            queue.spare_wanted = true;
            self.work.notify_one();
        }
        Ok(())
    }

    /// Body of the log writer's thread.
    pub(super) fn write_in_background(&self) {
        // When what was asked for soon is due.
        let mut due = None;
        loop {
            let Some(Work { spare_wanted, flush }) = self.next_work(&mut due) else { return };
            if flush {
                due = None;
                // First, so that who asks from now on is not overlooked.
                self.asked.swap(ASKED_NOTHING, Ordering::SeqCst);
                if self.flush(Lsn(self.hot.appended.load(Ordering::Acquire))).is_err() {
                    return;
                }
            }
            let unsynced = {
                let mut tail = self.tail.lock();
                match self.write_one(&mut tail) {
                    Ok(_) => tail.unsynced_bytes,
                    Err(_) => return, // poisoned: whoever waits is told
                }
            };
            if spare_wanted {
                // Ahead of need, so that nobody waits for it; a full disk is reported to who needs the room.
                let _ = self.prepare_spares();
            }
            if unsynced >= self.options.sync_bytes {
                let written = Lsn(self.written.load(Ordering::Acquire));
                if self.flush(written).is_err() {
                    return;
                }
            }
        }
    }

    /// Waits for something to do; none when the log ends.
    fn next_work(&self, due: &mut Option<u64>) -> Option<Work> {
        let mut queue = self.hot.queue.lock();
        loop {
            if queue.stopped || self.check().is_err() {
                return None;
            }
            let asked = self.asked.load(Ordering::SeqCst);
            let mut flush = asked > ASKED_SOON;
            let mut rest = 0;
            if asked == ASKED_SOON {
                let now = self.env.clock.monotonic_nanos();
                let delay = u64::try_from(self.options.nowait_delay.as_nanos()).unwrap_or(u64::MAX);
                rest = due.get_or_insert(now.saturating_add(delay)).saturating_sub(now);
                flush = rest == 0;
            }
            if flush || !queue.full.is_empty() || queue.spare_wanted {
                return Some(Work { spare_wanted: std::mem::take(&mut queue.spare_wanted), flush });
            }
            if asked == ASKED_SOON {
                self.work.wait_for(&mut queue, Duration::from_nanos(rest));
            } else {
                self.work.wait(&mut queue);
            }
        }
    }
}

/// What the log writer is woken for; there may be full buffers besides.
struct Work {
    spare_wanted: bool,
    /// Commits that nobody waits for are to be made durable.
    flush: bool,
}
