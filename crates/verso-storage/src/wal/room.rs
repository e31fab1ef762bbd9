//! Room on disk, promised before it is needed.
//!
//! ```text
//! room = rest of the segment in use + spares   ≥   appended, not yet written + promised + slack + kept for undo
//! ```
//!
//! R1. A mini-transaction has its room before it changes anything, so a full disk refuses a change and never breaks one.
//! R2. What gives room back (undo, back-out, checkpoints) may use room that nobody else gets.
//! R3. Spares are made by the log writer ahead of need, and written and synced before they are taken into use as far as
//!     nobody needs the disk meanwhile; who is promised room that is not there makes one himself.
//! R4. Files are made, renamed, removed and their names synced with no lock held that a commit needs.
//! R5. Whoever is refused room has a checkpoint made, which gives back what recovery does not need any more. Changes of rows, of
//!     their keys, undo and commits make it themselves and go on; who holds a latch leaves it to the thread that makes checkpoints.
//!     Where all of the log stands in one segment that could not be given back so, it goes on in a spare first.
//! R6. On a nearly full disk segments are as small as they have to be.
//! R7. A small database leaves two short segments when it is closed, of which one is a spare: it can be opened and read as often as
//!     one likes, on a full disk too. Room is kept for undo again from the first change on, which is refused where there is none; spares
//!     are made ahead once so much was logged that more is to be expected. As long as the log is so short, all that is promised goes
//!     into one segment as a whole, which needs no slack for the ends of others. A log stays as it is in which something is to be
//!     undone later.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::chunk::{CHUNK_HEADER, SECTOR};
use super::log::{Shared, Wal};
use super::segment::{self, Segment};
use super::tail::Tail;
use crate::StorageError;
use crate::error::LogFileProblem;
use crate::page::Lsn;
use crate::rules::{Rule, disabled};

/// Room beside the slack before anything is changed.
const START_ROOM: u64 = 16 << 10;
/// Spares are made ahead of need once this part of a segment was logged.
const AHEAD_PART: u64 = 4;
/// A segment of which so much was used, or this part, is worth being given back.
const USED_BYTES: u64 = 64 << 10;
const USED_PART: u64 = 4;

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

impl Wal {
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
            shared.ensure_room(wanted).inspect_err(|error| {
                if matches!(error, StorageError::Full { .. }) {
                    shared.starved.store(true, Ordering::SeqCst);
                    shared.sleeper.call();
                }
            })?;
        }
        Ok(reservation)
    }

    /// Gives segments wholly before `redo` back for reuse, or removes them when there are enough. Recovery must not
    /// start before `redo` any more: the superblock that says so is durable.
    ///
    /// # Errors
    /// What the file system reports; the log itself is not harmed.
    pub fn recycle(&self, redo: Lsn) -> Result<(), StorageError> {
        self.shared.recycle(redo)
    }

    /// Whether a checkpoint would give something back, however little was logged since the last one (R5).
    pub(crate) fn would_give_back(&self) -> bool {
        let shared = &*self.shared;
        let tail = shared.tail.lock();
        match tail.live.get(1) {
            Some(next) => shared.pins.oldest().is_none_or(|pinned| pinned >= next.start),
            None => shared.can_turn_over(&tail, START_ROOM),
        }
    }

    /// Before a checkpoint that needs `bytes`: if somebody was refused room and all of the log stands in one segment, it goes on in a
    /// spare, so that the checkpoint gives that segment back (R5). Only while nobody else logs.
    ///
    /// # Errors
    /// As [`Wal::flush`].
    pub(crate) fn turn_over_if_starved(&self, bytes: u64) -> Result<(), StorageError> {
        if self.is_starved() {
            self.flush(self.appended())?;
            self.shared.turn_over(bytes);
        }
        Ok(())
    }

    /// Before the last checkpoint of a small database, which needs `bytes`: the log goes on in a short segment, beside which there is another one (R7), so
    /// that what was logged before can go. Only while nobody else logs, and of a log in which nothing is to be undone later.
    ///
    /// # Errors
    /// As [`Wal::flush`]; `Full`, what the file system reports; the log goes on as it was.
    pub fn begin_short(&self, bytes: u64) -> Result<(), StorageError> {
        self.flush(self.appended())?;
        self.shared.begin_short(bytes)
    }

    /// Ends the log, of which no more than `bytes` of spares stay beside what is in use, and one in any case (R7).
    ///
    /// # Errors
    /// What the file system reports; the log itself is not harmed.
    pub fn stop_within(&self, bytes: u64) -> Result<(), StorageError> {
        self.stop();
        self.shared.trim(bytes)
    }
}

impl Shared {
    pub(super) fn unwritten(&self) -> u64 {
        let written = self.written.load(Ordering::Relaxed);
        self.hot.appended.load(Ordering::Relaxed).saturating_sub(written)
    }

    /// Room kept beyond what is promised: unused ends of segments, chunk headers and padding.
    pub(super) fn slack(&self) -> u64 {
        self.options.slack()
    }

    /// Room that only undo, back-out and checkpoints may use.
    pub(super) fn kept(&self) -> u64 {
        if disabled(Rule::LogRoom) {
            return 0;
        }
        self.options.segment_bytes_first
    }

    /// Room of a log in which nothing is to be undone: enough for a checkpoint.
    pub(super) fn room_at_start(&self) -> u64 {
        self.slack() + START_ROOM.min(self.options.least() / 2)
    }

    /// With less room the log writer makes a spare ahead of need, once it is worth the while (R7).
    pub(super) fn room_wanted(&self) -> u64 {
        let first = self.options.segment_bytes_first;
        let logged = self.hot.appended.load(Ordering::Relaxed).saturating_sub(self.first.0);
        if logged < first / AHEAD_PART { 0 } else { 2 * self.slack() + self.kept() + first }
    }

    /// Makes spares until `bytes` fit beside what is appended and not yet written.
    pub(super) fn ensure_room(&self, bytes: u64) -> Result<(), StorageError> {
        let _one = self.preparing.lock();
        loop {
            let (number, size) = {
                let mut tail = self.tail.lock();
                self.is_as_usual(&mut tail);
                let room = tail.room();
                self.room.store(room, Ordering::Relaxed);
                if room >= self.unwritten() + bytes {
                    return Ok(());
                }
                tail.next_number += 1;
                (tail.next_number - 1, tail.next_size)
            };
            // Out of the lock: flushes go on meanwhile.
            let spare = self.create_spare(number, size, self.options.segment_bytes_first)?;
            let mut tail = self.tail.lock();
            tail.next_size = (spare.size * 2).min(self.options.segment_bytes_max);
            tail.spares.push_back(spare);
        }
    }

    /// Creates a spare of `size` bytes; where the disk has no room for that, of half as many and so on, down to `least`.
    fn create_spare(&self, number: u64, size: u64, least: u64) -> Result<Segment, StorageError> {
        let mut size = size;
        loop {
            match segment::create(&*self.env.vfs, &self.dir, number, size) {
                Err(StorageError::Full { .. }) if size > least => {
                    size = (size / 2).max(least).next_multiple_of(SECTOR as u64);
                }
                made => {
                    let spare = made?;
                    self.counters.segments_created.fetch_add(1, Ordering::Relaxed);
                    return Ok(spare);
                }
            }
        }
    }

    /// Makes a spare of at least `bytes` while holding the tail.
    pub(super) fn add_spare(&self, tail: &mut Tail, bytes: u64) -> Result<(), StorageError> {
        let least = bytes.next_multiple_of(SECTOR as u64);
        let spare = self.create_spare(tail.next_number, tail.next_size.max(least), least)?;
        tail.next_number += 1;
        tail.next_size = (tail.next_size * 2).min(self.options.segment_bytes_max);
        tail.spares.push_back(spare);
        Ok(())
    }

    /// Makes spares ahead of need (R3): their names are durable, and as much of them as there was time for is written, so
    /// that commits overwrite.
    pub(super) fn prepare_spares(&self) -> Result<(), StorageError> {
        loop {
            let (number, size) = {
                let mut tail = self.tail.lock();
                if tail.room() >= self.unwritten() + self.room_wanted() {
                    return Ok(());
                }
                tail.next_number += 1;
                let size = tail.next_size;
                tail.next_size = (size * 2).min(self.options.segment_bytes_max);
                (tail.next_number - 1, size)
            };
            let mut spare = segment::create(&*self.env.vfs, &self.dir, number, size)?;
            self.counters.segments_created.fetch_add(1, Ordering::Relaxed);
            if let Err(error) = self.write_ahead(&mut spare, &mut || Ok(())) {
                // Nobody has relied on it.
                let _ = self.env.vfs.remove_file(&segment::path_of(&self.dir, number));
                return Err(error);
            }
            self.or_poison(self.sync_names())?;
            spare.named = true;
            self.add_spares([spare]);
        }
    }

    /// Writes and syncs a spare piece by piece, until somebody else needs the disk or the room.
    fn write_ahead(
        &self,
        spare: &mut Segment,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        const PIECE: u64 = 1 << 20;
        let zeroes = vec![0; PIECE.min(spare.size) as usize];
        let urgent = || {
            let wanted =
                self.unwritten() + self.reserved.load(Ordering::Relaxed) + self.slack() + self.kept();
            let queue = self.hot.queue.lock();
            queue.stopped || !queue.full.is_empty() || self.room.load(Ordering::Relaxed) < wanted
        };
        while spare.overwritable < spare.size && !urgent() {
            go_on()?;
            let bytes = PIECE.min(spare.size - spare.overwritable);
            let written = spare.file.write_at(&zeroes[..bytes as usize], spare.overwritable);
            let synced = written.and_then(|()| spare.file.sync_data());
            synced.map_err(|e| StorageError::io("preparing a log segment", e))?;
            spare.overwritable += bytes;
        }
        Ok(())
    }

    /// Makes a spare of this size, beside those that the log makes by itself; `go_on` is asked while it is written.
    ///
    /// # Errors
    /// `Full`, what the file system reports, or `go_on`; no file is left then.
    pub(super) fn add_file(
        &self,
        bytes: u64,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<u64, StorageError> {
        self.check()?;
        let size = bytes.next_multiple_of(SECTOR as u64);
        let number = {
            let mut tail = self.tail.lock();
            tail.next_number += 1;
            tail.next_number - 1
        };
        let mut spare = segment::create(&*self.env.vfs, &self.dir, number, size)?;
        self.counters.segments_created.fetch_add(1, Ordering::Relaxed);
        if let Err(error) = self.write_ahead(&mut spare, go_on) {
            // Nobody has relied on it.
            let _ = self.env.vfs.remove_file(&segment::path_of(&self.dir, number));
            return Err(error);
        }
        self.or_poison(self.sync_names())?;
        spare.named = true;
        self.add_spares([spare]);
        Ok(number)
    }

    /// Removes a spare; its size.
    ///
    /// # Errors
    /// `LogFile` if it is in use, if there is none of that number, or if what is promised would not have its room; what the
    /// file system reports.
    pub(super) fn drop_file(&self, number: u64) -> Result<u64, StorageError> {
        let _one = self.preparing.lock();
        self.check()?;
        let refused = |problem: LogFileProblem| StorageError::LogFile { number, problem };
        let spare = {
            let mut tail = self.tail.lock();
            if tail.live.iter().any(|live| live.segment.number == number) {
                return Err(refused(LogFileProblem::InUse));
            }
            let at = tail.spares.iter().position(|spare| spare.number == number);
            let at = at.ok_or_else(|| refused(LogFileProblem::Missing))?;
            let spare = tail.spares.remove(at).expect("position() found it");
            let before = self.room.load(Ordering::SeqCst);
            self.room.store(tail.room(), Ordering::SeqCst);
            let needed = self.unwritten() + self.reserved.load(Ordering::SeqCst) + self.slack() + self.kept();
            if tail.room() < needed {
                tail.spares.push_back(spare);
                self.room.store(before, Ordering::SeqCst);
                return Err(refused(LogFileProblem::Needed));
            }
            spare
        };
        let path = segment::path_of(&self.dir, number);
        self.env.vfs.remove_file(&path).map_err(|e| StorageError::io("removing a log segment", e))?;
        self.sync_names()?;
        Ok(spare.size)
    }

    fn add_spares(&self, spares: impl IntoIterator<Item = Segment>) {
        let mut tail = self.tail.lock();
        tail.spares.extend(spares);
        self.is_as_usual(&mut tail);
        self.room.store(tail.room(), Ordering::Relaxed);
    }

    pub(super) fn recycle(&self, redo: Lsn) -> Result<(), StorageError> {
        let Old { again, gone } = self.take_old(redo);
        let vfs = &*self.env.vfs;
        let mut spares = Vec::with_capacity(again.len());
        let mut renamed = Ok(());
        for (mut old, number) in again {
            let (from, to) = (segment::path_of(&self.dir, old.number), segment::path_of(&self.dir, number));
            renamed = vfs.rename(&from, &to).map_err(|e| StorageError::io("renaming a log segment", e));
            if renamed.is_err() {
                break;
            }
            (old.number, old.overwritable) = (number, old.size);
            spares.push(old);
        }
        if !spares.is_empty() {
            // Before anything is written to a spare its new name must be durable.
            self.or_poison(self.sync_names())?;
            self.counters.segments_recycled.fetch_add(spares.len() as u64, Ordering::Relaxed);
            self.add_spares(spares);
        }
        renamed?;
        for old in gone {
            let path = segment::path_of(&self.dir, old.number);
            vfs.remove_file(&path).map_err(|e| StorageError::io("removing a log segment", e))?;
        }
        Ok(())
    }

    /// Whether there is one segment in use, of which a good part was used and nothing is kept, and what was promised and `bytes` more have
    /// their room without its rest.
    fn can_turn_over(&self, tail: &Tail, bytes: u64) -> bool {
        let Some(live) = tail.live.back().filter(|_| tail.live.len() == 1) else { return false };
        if tail.rest() == 0 || self.pins.oldest().is_some() {
            return false;
        }
        let is_used = tail.position >= USED_BYTES.min(live.segment.size / USED_PART);
        let needed = self.unwritten() + self.reserved.load(Ordering::SeqCst) + self.slack() + bytes;
        let room = tail.room_of_spares(self.options.slack_of_ends());
        is_used && room >= needed + (CHUNK_HEADER + SECTOR) as u64
    }

    fn turn_over(&self, bytes: u64) {
        let _one = self.preparing.lock();
        let mut tail = self.tail.lock();
        if self.can_turn_over(&tail, bytes) {
            tail.position = tail.live.back().map_or(0, |live| live.segment.size);
            tail.slack_of_ends = self.options.slack_of_ends();
            self.room.store(tail.room(), Ordering::SeqCst);
        }
    }

    /// The log has not its usual room: what it has is for what goes into one segment as a whole (R7).
    #[cold]
    pub(super) fn is_short(&self) {
        let mut tail = self.tail.lock();
        tail.slack_of_ends = self.options.slack_of_ends();
        self.room.store(tail.room(), Ordering::Relaxed);
    }

    /// A log that was short has its usual room.
    fn is_as_usual(&self, tail: &mut Tail) {
        let needed = self.unwritten() + self.reserved.load(Ordering::SeqCst) + self.slack() + self.kept();
        if tail.slack_of_ends > 0 && tail.usual_room() >= needed {
            tail.slack_of_ends = 0;
        }
    }

    /// Somebody has said how much of spares is to be kept: that is left as it is.
    fn has_own_spares(&self) -> bool {
        self.spare_bytes.load(Ordering::Relaxed) != self.options.spare_bytes_max
    }

    fn begin_short(&self, bytes: u64) -> Result<(), StorageError> {
        let _one = self.preparing.lock();
        let least = self.options.least();
        let numbers = {
            let mut tail = self.tail.lock();
            let is_long = tail.live.back().is_some_and(|live| live.segment.size > least);
            let is_quiet = self.unwritten() == 0 && self.reserved.load(Ordering::SeqCst) == 0;
            if !is_long || !is_quiet || self.has_own_spares() {
                return Ok(());
            }
            tail.next_number += 2;
            [tail.next_number - 2, tail.next_number - 1]
        };
        let mut made = Vec::new();
        for number in numbers {
            match segment::create(&*self.env.vfs, &self.dir, number, least) {
                Ok(spare) => made.push(spare),
                Err(error) => {
                    // What is there does as well.
                    self.add_spares(made);
                    return Err(error);
                }
            }
        }
        self.counters.segments_created.fetch_add(made.len() as u64, Ordering::Relaxed);
        let mut tail = self.tail.lock();
        made.into_iter().rev().for_each(|spare| tail.spares.push_front(spare));
        let slack_of_ends = self.options.slack_of_ends();
        if tail.room_of_spares(slack_of_ends) >= self.slack() + bytes + (CHUNK_HEADER + SECTOR) as u64 {
            tail.position = tail.live.back().map_or(0, |live| live.segment.size);
            tail.slack_of_ends = slack_of_ends;
        }
        self.room.store(tail.room(), Ordering::SeqCst);
        Ok(())
    }

    /// Removes spares, the longest first, until all segments together have at most `bytes`, or one spare is left. Only where nobody
    /// logs any more.
    fn trim(&self, bytes: u64) -> Result<(), StorageError> {
        let _one = self.preparing.lock();
        if self.has_own_spares() {
            return Ok(());
        }
        loop {
            let spare = {
                let mut tail = self.tail.lock();
                if tail.spares.len() < 2 || tail.disk_bytes() <= bytes {
                    return Ok(());
                }
                let sizes = tail.spares.iter().map(|spare| spare.size).enumerate();
                let longest = sizes.max_by_key(|(_, size)| *size).map_or(0, |(index, _)| index);
                let spare = tail.spares.remove(longest);
                self.room.store(tail.room(), Ordering::SeqCst);
                spare
            };
            let Some(spare) = spare else { return Ok(()) };
            let path = segment::path_of(&self.dir, spare.number);
            self.env.vfs.remove_file(&path).map_err(|e| StorageError::io("removing a log segment", e))?;
        }
    }

    /// Takes segments wholly before `redo` out of use: nobody else knows of them any more.
    fn take_old(&self, redo: Lsn) -> Old {
        let mut tail = self.tail.lock();
        let redo = self.pins.oldest().map_or(redo, |pinned| pinned.min(redo));
        let mut old = Old::default();
        let mut spare_bytes: u64 = tail.spares.iter().map(|spare| spare.size).sum();
        // A segment ends where the next one starts; the last is in use.
        while tail.live.get(1).is_some_and(|next| next.start <= redo) {
            let segment = tail.live.pop_front().expect("there are two").segment;
            if spare_bytes + segment.size > self.spare_bytes.load(Ordering::Relaxed).max(segment.size) {
                old.gone.push(segment);
                continue;
            }
            spare_bytes += segment.size;
            old.again.push((segment, tail.next_number));
            tail.next_number += 1;
        }
        old
    }
}

/// Segments that recovery does not need any more.
#[derive(Default)]
struct Old {
    /// To be used again under these numbers.
    again: Vec<(Segment, u64)>,
    /// To be removed.
    gone: Vec<Segment>,
}
