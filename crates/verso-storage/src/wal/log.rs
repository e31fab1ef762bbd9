//! The log while the database is open: append, flush, the background log writer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use verso_env::sync::{Condvar, Mutex};
use verso_env::{Env, JoinHandle};

use super::chunk::{CHUNK_HEADER, ChunkBuffer, DatabaseId, SECTOR, SegmentHeader, disk_len};
use super::lookup::{LogLookup, LogPin, Pins};
use super::queue::Queue;
use super::segment::{self, Segment};
use super::tail::Tail;
use super::turns::{Lead, Turns};
use super::{Group, MAX_GROUP};
use crate::StorageError;
use crate::page::Lsn;
use crate::rules::{Rule, disabled};

/// LSN of the first group of a new database; 0 is the LSN of a page that never was in the log.
pub const FIRST_LSN: Lsn = Lsn(1);

/// Sizes of the log; the default suits everything but tests.
#[derive(Clone, Copy, Debug)]
pub struct WalOptions {
    /// Size of the first segment file.
    pub segment_bytes_first: u64,
    /// Segments double up to this size.
    pub segment_bytes_max: u64,
    /// A buffer with this much in it is written.
    pub chunk_bytes: usize,
    /// Buffers; together they are what can be logged ahead of the disk.
    pub buffer_count: usize,
    /// The log writer syncs when this much was written without anybody waiting.
    pub sync_bytes: u64,
    /// Whether a thread drains full buffers; without it whoever appends does.
    pub background: bool,
    /// At most this many bytes of used segments are kept for reuse.
    pub spare_bytes_max: u64,
    /// Undo reads values in the log if they stand at most so far behind its end when they are replaced.
    pub undo_bytes: u64,
    /// The log is not kept for undo when it has become longer than this.
    pub undo_bytes_kept: u64,
}

impl Default for WalOptions {
    fn default() -> WalOptions {
        WalOptions {
            segment_bytes_first: 1 << 20,
            segment_bytes_max: 64 << 20,
            chunk_bytes: 256 << 10,
            buffer_count: 16,
            sync_bytes: 4 << 20,
            background: true,
            spare_bytes_max: 256 << 20,
            // Debug builds go all ways with little data.
            undo_bytes: if cfg!(debug_assertions) { 64 << 10 } else { 256 << 20 },
            undo_bytes_kept: if cfg!(debug_assertions) { 256 << 10 } else { 1 << 30 },
        }
    }
}

/// A flush of at most this much is one of many small ones to come.
const SMALL_FLUSH_BYTES: u64 = 64 << 10;

/// Counters since the log was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalStats {
    /// Groups appended.
    pub groups: u64,
    /// Bytes of groups appended.
    pub bytes: u64,
    /// Chunks written.
    pub chunks: u64,
    /// Bytes written to segment files, headers and padding included.
    pub bytes_written: u64,
    /// Calls of [`Wal::flush`] that found something to do.
    pub flushes: u64,
    /// Calls of fsync on segment files.
    pub fsyncs: u64,
    /// Segment files created.
    pub segments_created: u64,
    /// Segment files reused.
    pub segments_recycled: u64,
}

#[derive(Default)]
struct Counters {
    chunks: AtomicU64,
    bytes_written: AtomicU64,
    flushes: AtomicU64,
    fsyncs: AtomicU64,
    segments_created: AtomicU64,
    segments_recycled: AtomicU64,
}

/// The write-ahead log of an open database.
pub struct Wal {
    shared: Arc<Shared>,
    writer: Mutex<Option<JoinHandle>>,
}

struct Shared {
    env: Env,
    dir: PathBuf,
    database: DatabaseId,
    epoch: u64,
    options: WalOptions,
    first: Lsn,
    /// Who leads a flush now.
    turns: Turns,
    /// Serialises the making of spares.
    preparing: Mutex<()>,
    tail: Mutex<Tail>,
    hot: Hot,
    work: Condvar,
    written: AtomicU64,
    durable: AtomicU64,
    /// Bytes that can be written without a new file.
    room: AtomicU64,
    /// What must not be recycled.
    pins: Arc<Pins>,
    /// Bytes promised to mini-transactions under way.
    reserved: Arc<AtomicU64>,
    poisoned: AtomicBool,
    counters: Counters,
}

/// What every append changes, by itself: others look at the rest all the time.
#[repr(C, align(128))]
struct Hot {
    /// Where the next group will start.
    appended: AtomicU64,
    queue: Mutex<Queue>,
}

/// A promise of room in the log; given back when dropped.
#[must_use]
pub struct Reservation<'w> {
    shared: &'w Shared,
    bytes: u64,
}

impl Reservation<'_> {
    /// Whether a group of `bytes` has its room already.
    pub(crate) fn covers(&self, bytes: u64) -> bool {
        self.bytes >= bytes + (CHUNK_HEADER + SECTOR) as u64
    }
}

/// Room for the groups of a writer that appends many small ones: he need not ask for each, and shares nothing with
/// others until the promise is used up. Given back when dropped.
#[derive(Debug)]
#[must_use]
pub struct Promise {
    reserved: Arc<AtomicU64>,
    bytes: u64,
    /// Of what may be appended under it.
    left: u64,
}

impl Promise {
    /// Most bytes of one group.
    pub const GROUP_MAX: u64 = 256 << 10;
    /// All groups under one promise.
    const BETWEEN: u64 = 256 << 10;

    /// Whether a group of [`Promise::GROUP_MAX`] has room.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.left > 0
    }

    /// So much was appended under it. All of it stays reserved, for who asks meanwhile counts what was appended and not yet
    /// written by itself.
    pub fn used(&mut self, bytes: u64) {
        self.left = self.left.saturating_sub(bytes);
    }
}

impl Drop for Promise {
    fn drop(&mut self) {
        self.reserved.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.shared.reserved.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// Poisons the log when a flush fails or panics, before those who wait for it look again.
struct Leader<'s> {
    shared: &'s Shared,
    poison: bool,
    lead: Lead<'s>,
}

impl Drop for Leader<'_> {
    fn drop(&mut self) {
        if self.poison && !disabled(Rule::FailedSync) {
            self.shared.poison();
        }
    }
}

impl Wal {
    /// The log that goes on behind `tail` in `epoch`, which is durable in the superblock before the first append.
    pub(super) fn start(
        env: &Env,
        dir: &Path,
        database: DatabaseId,
        epoch: u64,
        options: WalOptions,
        tail: Tail,
    ) -> Wal {
        let end = tail.written;
        let shared = Arc::new(Shared {
            env: env.clone(),
            dir: dir.to_owned(),
            database,
            epoch,
            options,
            first: end,
            turns: Turns::new(),
            preparing: Mutex::new(()),
            room: AtomicU64::new(tail.room()),
            pins: Arc::default(),
            tail: Mutex::new(tail),
            hot: Hot {
                appended: AtomicU64::new(end.0),
                queue: Mutex::new(Queue::new(end, options.chunk_bytes, options.buffer_count)),
            },
            work: Condvar::new(),
            written: AtomicU64::new(end.0),
            durable: AtomicU64::new(end.0),
            reserved: Arc::default(),
            poisoned: AtomicBool::new(false),
            counters: Counters::default(),
        });
        // On a full disk the database opens all the same, to be read or made smaller.
        let _ = shared.ensure_room(shared.slack() + shared.kept());
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
            shared.write_one(&mut shared.tail.lock())?;
            queue = shared.hot.queue.lock();
        }
        let (start, end) = queue.push(bytes);
        inside(start, end);
        shared.hot.appended.store(end.0, Ordering::Release);
        drop(queue);
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

    /// Promises room on disk for a group of up to `bytes`, beside the room kept for undo.
    ///
    /// # Errors
    /// `Full` when the disk has no more; `Poisoned`.
    pub fn reserve(&self, bytes: u64) -> Result<Reservation<'_>, StorageError> {
        self.promise(bytes, self.shared.kept())
    }

    /// As [`Wal::reserve`], out of the room kept for undo, back-out and checkpoints, which give room back.
    ///
    /// # Errors
    /// As [`Wal::reserve`].
    pub fn reserve_kept(&self, bytes: u64) -> Result<Reservation<'_>, StorageError> {
        self.promise(bytes, 0)
    }

    /// Promises room for many small groups of one writer, beside the room kept for undo; none when the disk has no more, or
    /// the log is poisoned.
    #[must_use]
    pub fn promise_many(&self) -> Option<Promise> {
        let reservation = self.reserve(Promise::GROUP_MAX + Promise::BETWEEN).ok()?;
        let bytes = reservation.bytes;
        // What was added stays.
        std::mem::forget(reservation);
        Some(Promise { reserved: Arc::clone(&self.shared.reserved), bytes, left: Promise::BETWEEN })
    }

    fn promise(&self, bytes: u64, kept: u64) -> Result<Reservation<'_>, StorageError> {
        let shared = &*self.shared;
        shared.check()?;
        // A group of its own chunk, padded.
        let bytes = bytes + (CHUNK_HEADER + SECTOR) as u64;
        let reservation = Reservation { shared, bytes };
        let before = shared.reserved.fetch_add(bytes, Ordering::Relaxed);
        let wanted = before + bytes + shared.slack() + kept;
        if shared.room.load(Ordering::Relaxed) < shared.unwritten() + wanted {
            shared.ensure_room(wanted)?;
        }
        Ok(reservation)
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

    /// Refuses everything from now on: what is in memory and what is on disk may differ.
    pub fn poison(&self) {
        self.shared.poison();
    }

    /// Whether everything is refused.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.shared.poisoned.load(Ordering::Acquire)
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
        }
    }

    /// Gives segments wholly before `redo` back for reuse, or removes them when there are enough. Recovery must not
    /// start before `redo` any more: the superblock that says so is durable.
    ///
    /// # Errors
    /// What the file system reports; the log itself is not harmed.
    pub fn recycle(&self, redo: Lsn) -> Result<(), StorageError> {
        self.shared.recycle(redo)
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
        let tail = self.shared.tail.lock();
        let live: u64 = tail.live.iter().map(|live| live.segment.size).sum();
        live + tail.spares.iter().map(|spare| spare.size).sum::<u64>()
    }

    /// Ends the log writer; what is not flushed is not written. Happens on drop, too.
    pub fn stop(&self) {
        self.shared.hot.queue.lock().stopped = true;
        self.shared.work.notify_all();
        let writer = self.writer.lock().take();
        if writer.is_some_and(|writer| writer.join().is_err()) {
            self.poison();
        }
    }
}

impl Drop for Wal {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Shared {
    fn check(&self) -> Result<(), StorageError> {
        if self.poisoned.load(Ordering::Acquire) { Err(StorageError::Poisoned) } else { Ok(()) }
    }

    fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
        self.work.notify_all();
    }

    /// Poisons when `result` is an error: what was lost cannot be told.
    fn or_poison<T>(&self, result: Result<T, StorageError>) -> Result<T, StorageError> {
        if result.is_err() {
            self.poison();
        }
        result
    }

    fn unwritten(&self) -> u64 {
        let written = self.written.load(Ordering::Relaxed);
        self.hot.appended.load(Ordering::Relaxed).saturating_sub(written)
    }

    /// Room kept beyond what is promised: unused ends of segments, chunk headers and padding.
    fn slack(&self) -> u64 {
        3 * disk_len(self.options.chunk_bytes)
    }

    /// Room that only undo, back-out and checkpoints may use.
    fn kept(&self) -> u64 {
        if disabled(Rule::LogRoom) {
            return 0;
        }
        self.options.segment_bytes_first
    }

    /// With less room the log writer makes a spare ahead of need.
    fn room_wanted(&self) -> u64 {
        2 * self.slack() + self.kept() + self.options.segment_bytes_first
    }

    fn flush(&self, upto: Lsn) -> Result<(), StorageError> {
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
        self.lead(target)?;
        leader.poison = false;
        Ok(())
    }

    /// Writes what was appended up to `target` and syncs it. Only one thread at a time is here.
    fn lead(&self, target: u64) -> Result<(), StorageError> {
        self.counters.flushes.fetch_add(1, Ordering::Relaxed);
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
        for file in files {
            self.counters.fsyncs.fetch_add(1, Ordering::Relaxed);
            file.sync_data().map_err(|e| StorageError::io("syncing the log", e))?;
        }
        self.durable.fetch_max(written.0, Ordering::AcqRel);
        Ok(())
    }

    fn sync_names(&self) -> Result<(), StorageError> {
        self.env.vfs.sync_dir(&self.dir).map_err(|e| StorageError::io("syncing the log folder", e))
    }

    /// Writes the oldest full buffer; `false` if there is none.
    fn write_one(&self, tail: &mut Tail) -> Result<bool, StorageError> {
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
        let header =
            SegmentHeader { database: self.database, epoch: self.epoch, start: chunk.start, number: 0 };
        tail.write(&mut chunk, header)?;
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

    /// Makes spares until `bytes` fit beside what is appended and not yet written.
    fn ensure_room(&self, bytes: u64) -> Result<(), StorageError> {
        let _one = self.preparing.lock();
        loop {
            let (number, size) = {
                let mut tail = self.tail.lock();
                let room = tail.room();
                self.room.store(room, Ordering::Relaxed);
                if room >= self.unwritten() + bytes {
                    return Ok(());
                }
                tail.next_number += 1;
                (tail.next_number - 1, tail.next_size)
            };
            // Out of the lock: flushes go on meanwhile.
            let spare = segment::create(&*self.env.vfs, &self.dir, number, size)?;
            self.counters.segments_created.fetch_add(1, Ordering::Relaxed);
            let mut tail = self.tail.lock();
            tail.next_size = (size * 2).min(self.options.segment_bytes_max);
            tail.spares.push_back(spare);
        }
    }

    /// Makes a spare of at least `bytes` while holding the tail.
    fn add_spare(&self, tail: &mut Tail, bytes: u64) -> Result<(), StorageError> {
        let size = tail.next_size.max(bytes.next_multiple_of(SECTOR as u64));
        let spare = segment::create(&*self.env.vfs, &self.dir, tail.next_number, size)?;
        self.counters.segments_created.fetch_add(1, Ordering::Relaxed);
        tail.next_number += 1;
        tail.next_size = (tail.next_size * 2).min(self.options.segment_bytes_max);
        tail.spares.push_back(spare);
        Ok(())
    }

    fn recycle(&self, redo: Lsn) -> Result<(), StorageError> {
        let vfs = &*self.env.vfs;
        let mut tail = self.tail.lock();
        let redo = self.pins.oldest().map_or(redo, |pinned| pinned.min(redo));
        let mut changed = false;
        // A segment ends where the next one starts; the last is in use.
        while tail.live.get(1).is_some_and(|next| next.start <= redo) {
            let mut old = tail.live.pop_front().expect("there are two").segment;
            let from = segment::path_of(&self.dir, old.number);
            let spare_bytes: u64 = tail.spares.iter().map(|spare| spare.size).sum();
            if spare_bytes + old.size > self.options.spare_bytes_max.max(old.size) {
                vfs.remove_file(&from).map_err(|e| StorageError::io("removing a log segment", e))?;
                continue;
            }
            old.number = tail.next_number;
            old.overwritable = old.size;
            tail.next_number += 1;
            let to = segment::path_of(&self.dir, old.number);
            vfs.rename(&from, &to).map_err(|e| StorageError::io("renaming a log segment", e))?;
            tail.spares.push_back(old);
            changed = true;
            self.counters.segments_recycled.fetch_add(1, Ordering::Relaxed);
        }
        if changed {
            // Before anything is written to a spare its new name must be durable; the tail is still held.
            self.or_poison(self.sync_names())?;
        }
        self.room.store(tail.room(), Ordering::Relaxed);
        Ok(())
    }

    /// Body of the log writer's thread.
    fn write_in_background(&self) {
        loop {
            let spare_wanted = {
                let mut queue = self.hot.queue.lock();
                while queue.full.is_empty() && !queue.spare_wanted && !queue.stopped && self.check().is_ok() {
                    self.work.wait(&mut queue);
                }
                if queue.stopped || self.check().is_err() {
                    return;
                }
                std::mem::take(&mut queue.spare_wanted)
            };
            let unsynced = {
                let mut tail = self.tail.lock();
                match self.write_one(&mut tail) {
                    Ok(_) => tail.unsynced_bytes,
                    Err(_) => return, // poisoned: whoever waits is told
                }
            };
            if spare_wanted {
                // Ahead of need, so that nobody waits for it; a full disk is reported to who needs the room.
                let _ = self.ensure_room(self.room_wanted());
            }
            if unsynced >= self.options.sync_bytes {
                let written = Lsn(self.written.load(Ordering::Acquire));
                if self.flush(written).is_err() {
                    return;
                }
            }
        }
    }
}
