//! The log while the database is open: its state, and appending to it. [`super::room`] promises room on disk,
//! [`super::writer`] brings it there.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};

use verso_env::sync::{Condvar, Mutex};
use verso_env::{Env, JoinHandle};

use super::chunk::DatabaseId;
use super::lookup::{LogLookup, LogPin, Pins};
use super::mark::Mark;
use super::options::{Counters, WalOptions, WalProgress, WalStats};
use super::queue::Queue;
use super::segment::Segment;
use super::tail::Tail;
use super::turns::Turns;
use super::{Group, MAX_GROUP};
use crate::StorageError;
use crate::failed::Failed;
use crate::page::Lsn;
use crate::sleeper::Sleeper;

/// LSN of the first group of a new database; 0 is the LSN of a page that never was in the log.
pub const FIRST_LSN: Lsn = Lsn(1);

/// The write-ahead log of an open database.
pub struct Wal {
    pub(super) shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle>>,
}

/// Nobody waits for a flush.
pub(super) const ASKED_NOTHING: u8 = 0;
/// What was appended is to be durable soon.
pub(super) const ASKED_SOON: u8 = 1;
/// What was appended is to be durable as soon as the log writer gets to it.
pub(super) const ASKED_NOW: u8 = 2;

/// What the callers and the log writer's thread share.
pub(super) struct Shared {
    pub(super) env: Env,
    pub(super) dir: PathBuf,
    pub(super) database: DatabaseId,
    pub(super) epoch: u64,
    pub(super) options: WalOptions,
    /// Most bytes of used segments that are kept for reuse.
    pub(super) spare_bytes: AtomicU64,
    pub(super) first: Lsn,
    /// Who leads a flush now.
    pub(super) turns: Turns,
    /// What says so far the log is on disk.
    pub(super) mark: Option<Mark>,
    /// Serialises the making of spares.
    pub(super) preparing: Mutex<()>,
    pub(super) tail: Mutex<Tail>,
    pub(super) hot: Hot,
    pub(super) work: Condvar,
    /// What commits that do not wait want of the log writer.
    pub(super) asked: AtomicU8,
    pub(super) written: AtomicU64,
    pub(super) durable: AtomicU64,
    /// Bytes that can be written without a new file.
    pub(super) room: AtomicU64,
    /// What must not be recycled.
    pub(super) pins: Arc<Pins>,
    /// Bytes promised to mini-transactions under way.
    pub(super) reserved: Arc<AtomicU64>,
    pub(super) poisoned: Failed,
    /// Somebody was refused room since the last checkpoint, which may give some back.
    pub(super) starved: AtomicBool,
    /// Commit records say when they were made.
    pub(super) stamps: AtomicBool,
    /// The same, as the past is kept.
    pub(super) stamps_history: AtomicBool,
    pub(super) counters: Counters,
    /// Called by appends.
    pub(super) sleeper: Arc<Sleeper>,
}

/// What every append changes, by itself: others look at the rest all the time.
#[repr(C, align(128))]
pub(super) struct Hot {
    /// Where the next group will start.
    pub(super) appended: AtomicU64,
    pub(super) queue: Mutex<Queue>,
}

impl Wal {
    /// The log that goes on behind `tail` in `epoch`, which is durable in the superblock before the first append. Of a `settled` one
    /// nothing is to be undone (R7 of `room.rs`).
    pub(super) fn start(
        env: &Env,
        dir: &Path,
        database: DatabaseId,
        epoch: u64,
        options: WalOptions,
        tail: Tail,
        settled: bool,
    ) -> Wal {
        let end = tail.written;
        let shared = Arc::new(Shared {
            env: env.clone(),
            dir: dir.to_owned(),
            database,
            epoch,
            spare_bytes: AtomicU64::new(options.spare_bytes_max),
            options,
            first: end,
            turns: Turns::new(),
            mark: Mark::open(&*env.vfs, dir, database, epoch),
            preparing: Mutex::new(()),
            room: AtomicU64::new(tail.room()),
            pins: Arc::default(),
            tail: Mutex::new(tail),
            hot: Hot {
                appended: AtomicU64::new(end.0),
                queue: Mutex::new(Queue::new(end, options.chunk_bytes, options.buffer_count)),
            },
            work: Condvar::new(),
            asked: AtomicU8::new(ASKED_NOTHING),
            written: AtomicU64::new(end.0),
            durable: AtomicU64::new(end.0),
            reserved: Arc::default(),
            poisoned: Failed::default(),
            starved: AtomicBool::new(false),
            stamps: AtomicBool::new(false),
            stamps_history: AtomicBool::new(false),
            counters: Counters::default(),
            sleeper: Arc::default(),
        });
        let made = shared.ensure_room(match settled {
            true => shared.room_at_start(),
            false => shared.slack() + shared.kept(),
        });
        if made.is_err() {
            // On a full disk the database opens all the same, to be read or made smaller.
            shared.is_short();
        }
        let writer = if options.background {
            let shared = Arc::clone(&shared);
            Some(env.spawn("verso-log", move || shared.write_in_background()))
        } else {
            None
        };
        Wal { shared, writer: Mutex::new(writer) }
    }

    /// Appends a group; returns its first LSN and the LSN behind it. Costs a copy under a short lock, unless all
    /// buffers wait for the disk. The group is durable only after [`Wal::flush`] up to its end.
    ///
    /// # Errors
    /// `TooLarge`; `Poisoned`, or what makes it so from now on.
    pub fn append(&self, group: &mut Group) -> Result<(Lsn, Lsn), StorageError> {
        self.append_with(group, |_, _| ())
    }

    /// As [`Wal::append`]; `inside` runs in the critical section, so in the order of the log.
    ///
    /// # Errors
    /// As [`Wal::append`]; `inside` has not run then.
    pub fn append_with(
        &self,
        group: &mut Group,
        inside: impl FnOnce(Lsn, Lsn),
    ) -> Result<(Lsn, Lsn), StorageError> {
        if group.len() > MAX_GROUP {
            let (size, limit) = (group.len() as u64, MAX_GROUP as u64);
            return Err(StorageError::TooLarge { what: "a log group".to_owned(), size, limit });
        }
        let bytes = group.finish();
        let shared = &*self.shared;
        let mut queue = shared.hot.queue.lock();
        let mut rotated = false;
        loop {
            shared.check()?;
            if queue.takes(bytes.len()) {
                break;
            }
            if queue.rotate() {
                rotated = true;
                continue;
            }
            // Every buffer is full: help the log writer rather than wait for its turn.
            drop(queue);
            shared.counters.buffers_full.fetch_add(1, Ordering::Relaxed);
            shared.write_one(&mut shared.tail.lock())?;
            queue = shared.hot.queue.lock();
        }
        let (start, end) = queue.push(bytes);
        inside(start, end);
        shared.hot.appended.store(end.0, Ordering::Release);
        drop(queue);
        shared.sleeper.call();
        if rotated {
            // Out of the lock, which the log writer wants first of all: it may run at once, on this very processor.
            shared.work.notify_one();
        }
        Ok((start, end))
    }

    /// Makes every group that ends at or before `upto` durable. Who finds no flush under way flushes, for all that
    /// was appended so far; who finds one waits for its end, and most likely finds his group durable then.
    ///
    /// # Errors
    /// `Poisoned`, or the failure that makes it so from now on.
    pub fn flush(&self, upto: Lsn) -> Result<(), StorageError> {
        self.shared.flush(upto)
    }

    /// A commit was appended that nobody waits for: the log writer makes it durable, at once, or, in a `batch`, at most
    /// [`WalOptions::nowait_delay`] after the first of them. Costs a look, unless the log writer has to be called. Without
    /// a log writer it is made durable here.
    ///
    /// # Errors
    /// `Poisoned`; without a log writer also what makes it so.
    #[inline]
    pub fn ask(&self, batch: bool) -> Result<(), StorageError> {
        let shared = &*self.shared;
        shared.counters.commits.fetch_add(1, Ordering::Relaxed);
        let wanted = if batch { ASKED_SOON } else { ASKED_NOW };
        if shared.asked.load(Ordering::SeqCst) >= wanted { shared.check() } else { self.call_writer(wanted) }
    }

    #[cold]
    fn call_writer(&self, wanted: u8) -> Result<(), StorageError> {
        let shared = &*self.shared;
        if !shared.options.background {
            return self.flush(self.appended());
        }
        shared.check()?;
        if shared.asked.fetch_max(wanted, Ordering::SeqCst) < wanted {
            // Under its lock: the log writer has seen what is wanted, or waits and is woken.
            let queue = shared.hot.queue.lock();
            drop(queue);
            shared.work.notify_one();
        }
        Ok(())
    }

    /// A commit was appended that somebody waits for.
    #[inline]
    pub fn note_commit(&self) {
        self.shared.counters.commits.fetch_add(1, Ordering::Relaxed);
    }

    /// How far the log is, and how its flushes went.
    #[must_use]
    pub fn progress(&self) -> WalProgress {
        let shared = &*self.shared;
        let counters = &shared.counters;
        // In this order, so that none is ahead of the one before it.
        let (commits_durable, durable) = (counters.commits_durable.load(Ordering::Acquire), self.durable());
        WalProgress {
            durable: durable.0,
            commits_durable,
            written: shared.written.load(Ordering::Acquire),
            appended: self.appended().0,
            commits: counters.commits.load(Ordering::Acquire),
            fsync_micros: counters.fsync_micros.buckets(),
            group_commits: counters.group_commits.buckets(),
        }
    }

    /// Everything before is on disk.
    #[must_use]
    pub fn durable(&self) -> Lsn {
        Lsn(self.shared.durable.load(Ordering::Acquire))
    }

    /// Where the next group will start.
    #[must_use]
    pub fn appended(&self) -> Lsn {
        Lsn(self.shared.hot.appended.load(Ordering::Acquire))
    }

    /// As [`Wal::appended`], including every append that did not call the [sleeper](Wal::sleeper).
    #[must_use]
    pub fn appended_for_sleeper(&self) -> Lsn {
        let _queue = self.shared.hot.queue.lock();
        self.appended()
    }

    /// Who sleeps while nothing is appended: the checkpoint thread.
    #[must_use]
    pub fn sleeper(&self) -> &Arc<Sleeper> {
        &self.shared.sleeper
    }

    /// Refuses everything from now on: what is in memory and what is on disk may differ.
    pub fn poison(&self, why: Option<&StorageError>) {
        self.shared.poison(why);
    }

    /// Whether everything is refused.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.shared.poisoned.has()
    }

    /// Whether somebody was refused room in the log since the last checkpoint.
    #[must_use]
    pub fn is_starved(&self) -> bool {
        self.shared.starved.load(Ordering::SeqCst)
    }

    /// A checkpoint has given back what could be.
    pub(crate) fn is_fed(&self) {
        self.shared.starved.store(false, Ordering::SeqCst);
    }

    /// The database this log belongs to.
    #[must_use]
    pub fn database(&self) -> DatabaseId {
        self.shared.database
    }

    /// The recovery epoch written into every chunk.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.shared.epoch
    }

    /// Counters since the log was opened.
    #[must_use]
    pub fn stats(&self) -> WalStats {
        let counters = &self.shared.counters;
        let get = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        WalStats {
            groups: self.shared.hot.queue.lock().groups(),
            bytes: get(&self.shared.hot.appended) - self.shared.first.0,
            chunks: get(&counters.chunks),
            bytes_written: get(&counters.bytes_written),
            flushes: get(&counters.flushes),
            fsyncs: get(&counters.fsyncs),
            segments_created: get(&counters.segments_created),
            segments_recycled: get(&counters.segments_recycled),
            fsync_nanos: get(&counters.fsync_nanos),
            buffers_full: get(&counters.buffers_full),
        }
    }

    /// Keeps the log from `lsn` on; none if it is gone already.
    #[must_use]
    pub fn pin(&self, lsn: Lsn) -> Option<LogPin> {
        // Held, so that it does not go meanwhile.
        let tail = self.shared.tail.lock();
        let oldest = tail.live.front().map_or(tail.written, |live| live.start);
        (oldest <= lsn).then(|| self.shared.pins.add(lsn))
    }

    /// For reading what is [pinned](Wal::pin).
    #[must_use]
    pub fn lookup(&self) -> LogLookup<'_> {
        LogLookup::new(self)
    }

    /// Segments in use with the LSN of their first chunk, oldest first.
    pub(super) fn segments(&self) -> Vec<(Segment, Lsn)> {
        let tail = self.shared.tail.lock();
        tail.live.iter().map(|live| (live.segment.clone(), live.start)).collect()
    }

    /// How far behind the end of the log undo may look for what was replaced, and from where on the log is kept for it.
    #[must_use]
    pub fn undo_bytes(&self) -> (u64, u64) {
        (self.shared.options.undo_bytes, self.shared.options.undo_bytes_kept)
    }

    /// Bytes of all segment files.
    #[must_use]
    pub fn disk_bytes(&self) -> u64 {
        self.shared.tail.lock().disk_bytes()
    }

    /// Ends the log writer; what is not flushed is not written. Happens on drop, too.
    pub fn stop(&self) {
        self.shared.hot.queue.lock().stopped = true;
        self.shared.work.notify_all();
        let writer = self.writer.lock().take();
        if writer.is_some_and(|writer| writer.join().is_err()) {
            self.poison(None);
        }
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    pub(super) fn check(&self) -> Result<(), StorageError> {
        self.poisoned.check()
    }

    pub(super) fn poison(&self, why: Option<&StorageError>) {
        self.poisoned.set(why);
        self.work.notify_all();
    }

    /// As [`Shared::poison`]; the log of the program says why.
    pub(super) fn poison_because(&self, error: &StorageError) {
        if !self.poisoned.has() {
            error.ends_the_engine();
        }
        self.poison(Some(error));
    }

    /// Poisons when `result` is an error: what was lost cannot be told.
    pub(super) fn or_poison<T>(&self, result: Result<T, StorageError>) -> Result<T, StorageError> {
        result.inspect_err(|error| self.poison_because(error))
    }
}
