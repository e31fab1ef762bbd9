//! The end of the log on disk: the segment written to, the spares ahead of it, what is not synced yet.

use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use verso_env::VfsFile;

use super::chunk::{ChunkBuffer, SECTOR, SegmentHeader, disk_len};
use super::segment::{self, Segment};
use crate::StorageError;
use crate::page::Lsn;

/// Small flushes zero so much ahead of themselves at once.
const ZERO_AHEAD_BYTES: u64 = 512 << 10;

/// A segment in use and the LSN of its first chunk.
pub(super) struct LiveSegment {
    pub segment: Segment,
    pub start: Lsn,
}

/// Guarded by the log's `tail` lock.
pub(super) struct Tail {
    /// The log folder; errors name the file.
    pub dir: PathBuf,
    /// Segments in use, oldest first; the last is written to. Empty before the first chunk of a new log.
    pub live: VecDeque<LiveSegment>,
    /// Where the next chunk goes in the last live segment.
    pub position: u64,
    /// Ready to be taken into use, by number.
    pub spares: VecDeque<Segment>,
    /// Files written to since they were last synced, with their numbers.
    pub unsynced: Vec<(u64, Arc<dyn VfsFile>)>,
    pub unsynced_bytes: u64,
    /// A segment whose name is not durable was entered.
    pub unsynced_names: bool,
    /// Every group before is handed to the operating system.
    pub written: Lsn,
    /// Number of the next new segment file.
    pub next_number: u64,
    /// Size of the next new segment file.
    pub next_size: u64,
    /// In a log that is short for now: what is kept beyond what is promised for the unused ends of segments (R7). Else 0.
    pub slack_of_ends: u64,
}

impl Tail {
    /// What is left of the segment that is written to.
    pub fn rest(&self) -> u64 {
        self.live.back().map_or(0, |live| live.segment.size - self.position)
    }

    /// Bytes that can be written without a new file.
    pub fn room(&self) -> u64 {
        self.room_with(self.rest(), self.slack_of_ends)
    }

    /// The same of a log that has its usual segments: ends of several are lost.
    pub fn usual_room(&self) -> u64 {
        self.room_with(self.rest(), 0)
    }

    /// The same without the segment in use, of a log as short as may be.
    pub fn room_of_spares(&self, slack_of_ends: u64) -> u64 {
        self.room_with(0, slack_of_ends)
    }

    /// What goes into one segment as a whole loses no end (R7).
    fn room_with(&self, rest: u64, slack_of_ends: u64) -> u64 {
        let spares = || self.spares.iter().map(|spare| spare.size - SECTOR as u64);
        match spares().max().unwrap_or(0).max(rest) {
            0 => 0,
            longest => (rest + spares().sum::<u64>()).max(longest + slack_of_ends),
        }
    }

    /// Bytes of all segment files.
    pub fn disk_bytes(&self) -> u64 {
        let live: u64 = self.live.iter().map(|live| live.segment.size).sum();
        live + self.spares.iter().map(|spare| spare.size).sum::<u64>()
    }

    /// Whether the current segment or a spare takes `bytes` in one piece.
    pub fn fits(&self, bytes: u64) -> bool {
        self.live.back().is_some_and(|live| live.segment.size - self.position >= bytes)
            || self.spares.iter().any(|spare| spare.size - SECTOR as u64 >= bytes)
    }

    /// Writes `chunk` behind the last one, in a spare if it does not fit; the caller has made sure of one. Everything before
    /// `durable` is on disk.
    pub fn write(
        &mut self,
        chunk: &mut ChunkBuffer,
        header: SegmentHeader,
        durable: Lsn,
    ) -> Result<(), StorageError> {
        let bytes = disk_len(chunk.len());
        assert_eq!(chunk.start, self.written, "chunks are written in LSN order");
        if self.live.back().is_none_or(|live| live.segment.size - self.position < bytes) {
            self.enter_spare(bytes, SegmentHeader { start: chunk.start, ..header })?;
        }
        let live = self.live.back().expect("a segment was entered");
        let (number, file) = (live.segment.number, live.segment.file.clone());
        let end = chunk.end();
        file.write_at(chunk.seal(header.database, header.epoch, durable), self.position)
            .map_err(|e| self.failed("writing", number, e))?;
        self.position += bytes;
        self.written = end;
        self.note_unsynced(number, file, bytes);
        Ok(())
    }

    fn enter_spare(&mut self, bytes: u64, header: SegmentHeader) -> Result<(), StorageError> {
        let index = self
            .spares
            .iter()
            .position(|spare| spare.size - SECTOR as u64 >= bytes)
            .ok_or_else(|| StorageError::Full { what: "the log".to_owned() })?;
        let segment = self.spares.remove(index).expect("position() found it");
        let header = SegmentHeader { number: segment.number, ..header };
        let written = segment.file.write_at(&header.encode(), 0);
        written.map_err(|e| self.failed("writing", segment.number, e))?;
        self.note_unsynced(segment.number, segment.file.clone(), SECTOR as u64);
        self.unsynced_names |= !segment.named;
        self.live.push_back(LiveSegment { segment, start: header.start });
        self.position = SECTOR as u64;
        Ok(())
    }

    /// Zeroes a stretch ahead, if what was written before ends here, for small flushes to overwrite.
    pub fn zero_ahead(&mut self) -> Result<(), StorageError> {
        let position = self.position;
        let Some(live) = self.live.back_mut() else { return Ok(()) };
        let segment = &mut live.segment;
        if position + SECTOR as u64 <= segment.overwritable || position >= segment.size {
            return Ok(());
        }
        let end = segment.size.min(position + ZERO_AHEAD_BYTES);
        let zeroes = vec![0; usize::try_from(end - position).expect("a short stretch")];
        match segment.file.write_at(&zeroes, position) {
            Ok(()) => segment.overwritable = end,
            Err(error) => {
                let number = segment.number;
                return Err(self.failed("writing", number, error));
            }
        }
        Ok(())
    }

    /// An error of segment `number`'s file.
    pub fn failed(&self, what: &str, number: u64, error: io::Error) -> StorageError {
        StorageError::io(format!("{what} {}", segment::path_of(&self.dir, number).display()), error)
    }

    fn note_unsynced(&mut self, number: u64, file: Arc<dyn VfsFile>, bytes: u64) {
        if !self.unsynced.iter().any(|(known, _)| *known == number) {
            self.unsynced.push((number, file));
        }
        self.unsynced_bytes += bytes;
    }
}
