//! Segments as views and the archive see them: which there are, and closing the one that is written to.

use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::chunk::SECTOR;
use super::log::Wal;
use super::lookup::LogPin;
use super::segment;
use super::stream::LiveLog;
use crate::StorageError;
use crate::page::Lsn;

/// What a segment is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentState {
    /// It is written to.
    Current,
    /// It is full; the log goes on in another one.
    Closed,
    /// It is ready to be written.
    Spare,
}

/// A segment of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentInfo {
    /// Its number.
    pub number: u64,
    /// The name of its file in the log folder.
    pub file: String,
    /// Its size.
    pub bytes: u64,
    /// LSN of its first chunk; none of a spare.
    pub first: Option<Lsn>,
    /// Behind its last group; none of a spare.
    pub last: Option<Lsn>,
    /// What it is there for.
    pub state: SegmentState,
}

impl Wal {
    /// All segments: those of the log in its order, then the spares.
    #[must_use]
    pub fn segment_list(&self) -> Vec<SegmentInfo> {
        let tail = self.shared.tail.lock();
        let name = |number| {
            let path = segment::path_of(&tail.dir, number);
            path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned())
        };
        let live = tail.live.iter().enumerate().map(|(index, live)| {
            let next = tail.live.get(index + 1).map(|next| next.start);
            SegmentInfo {
                number: live.segment.number,
                file: name(live.segment.number),
                bytes: live.segment.size,
                first: Some(live.start),
                last: Some(next.unwrap_or(tail.written)),
                state: if next.is_some() { SegmentState::Closed } else { SegmentState::Current },
            }
        });
        let spares = tail.spares.iter().map(|spare| SegmentInfo {
            number: spare.number,
            file: name(spare.number),
            bytes: spare.size,
            first: None,
            last: None,
            state: SegmentState::Spare,
        });
        live.chain(spares).collect()
    }

    /// Most bytes of spares that stay when the log does not need them.
    #[must_use]
    pub fn spare_bytes(&self) -> u64 {
        self.shared.spare_bytes.load(Ordering::Relaxed)
    }

    /// Keeps so many bytes of spares from now on; those that are there stay until they were used once more.
    pub fn set_spare_bytes(&self, bytes: u64) {
        self.shared.spare_bytes.store(bytes, Ordering::Relaxed);
    }

    /// As [`Engine::add_log_file`](crate::Engine::add_log_file).
    pub(crate) fn add_file(
        &self,
        bytes: u64,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<u64, StorageError> {
        self.shared.add_file(bytes, go_on)
    }

    /// As [`Engine::drop_log_file`](crate::Engine::drop_log_file).
    pub(crate) fn drop_file(&self, number: u64) -> Result<u64, StorageError> {
        self.shared.drop_file(number)
    }

    /// As [`Wal::pin`], whether the log is still there or not.
    pub(crate) fn pin_anyway(&self, lsn: Lsn) -> LogPin {
        self.shared.pins.add(lsn)
    }

    /// Whether commit records say when they were made, from now on.
    pub(crate) fn stamp_commits(&self, on: bool) {
        self.shared.stamps.store(on, Ordering::Release);
    }

    /// The same, for the sake of the past that is kept.
    pub(crate) fn stamp_for_history(&self, on: bool) {
        self.shared.stamps_history.store(on, Ordering::Release);
    }

    /// What a commit record that is made now holds: the time where the log is archived, or the past is kept (microseconds since
    /// 1970), else nothing.
    pub(crate) fn commit_stamp(&self) -> SmallVec<[u8; 8]> {
        let shared = &self.shared;
        match shared.stamps.load(Ordering::Acquire) || shared.stamps_history.load(Ordering::Acquire) {
            true => SmallVec::from_buf(self.shared.env.clock.unix_micros().to_le_bytes()),
            false => SmallVec::new(),
        }
    }

    /// The segments in use, oldest first. One whose room is given up (see [`Wal::close_segment`]) has an end, too.
    pub(crate) fn live_log(&self) -> Vec<LiveLog> {
        let tail = self.shared.tail.lock();
        let live = tail.live.iter().enumerate().map(|(index, live)| LiveLog {
            number: live.segment.number,
            first: live.start,
            last: match tail.live.get(index + 1) {
                Some(next) => Some(next.start),
                None => (tail.position >= live.segment.size).then_some(tail.written),
            },
            file: live.segment.file.clone(),
            name: segment::path_of(&tail.dir, live.segment.number).display().to_string(),
            database: self.shared.database,
        });
        live.collect()
    }

    /// Makes what was appended durable and goes on in another segment, so that all of the log up to here is in closed ones.
    ///
    /// # Errors
    /// `Full` if the disk has no room for another segment; `Poisoned`, or what makes it so.
    pub(crate) fn close_segment(&self) -> Result<(), StorageError> {
        self.flush(self.appended())?;
        let shared = &*self.shared;
        let rest = {
            let tail = shared.tail.lock();
            match tail.live.back() {
                Some(live) if tail.position > SECTOR as u64 => {
                    live.segment.size.saturating_sub(tail.position)
                }
                _ => return Ok(()),
            }
        };
        // The room that was promised must be there without the rest of this segment (W5).
        let promised = shared.reserved.load(Ordering::Relaxed);
        shared.ensure_room(rest + promised + shared.slack() + shared.kept())?;
        let mut tail = shared.tail.lock();
        let Some(size) = tail.live.back().map(|live| live.segment.size) else { return Ok(()) };
        let before = tail.room();
        let position = std::mem::replace(&mut tail.position, size);
        let room = tail.room();
        shared.room.store(room, Ordering::SeqCst);
        if room < shared.unwritten() + shared.reserved.load(Ordering::SeqCst) + shared.slack() {
            // Somebody was promised that room meanwhile: it stays open for now.
            tail.position = position;
            shared.room.store(before, Ordering::SeqCst);
        }
        Ok(())
    }
}
