//! What lies behind the end of the log: the torn tail of a power cut, or what the disk has lost.
//!
//! ```text
//!  … chunk │ chunk │ ✗ unreadable │ chunk (unsynced 0) │ chunk …     everything before the third was on disk when it was
//!                  └ end                                             written: this is damage
//!  … chunk │ chunk │ ✗ unreadable │ chunk (unsynced 900) │ zeroes    both were on their way when the power went: a torn tail
//!                  └ end
//! ```
//!
//! R1. The log is damaged exactly if a whole chunk of the newest epoch stands behind its end which says that more was on
//!     disk when it was written than can be read now, or if the mark beside the log says so (`mark.rs`). Unsynced chunks
//!     reach the disk in any order, so finding one is no proof by itself.
//! R2. Nobody was told that a commit in a torn tail is durable; that there is one is reported all the same.
//!
//! The last flush before a crash has no chunk behind it that could tell of it, only the mark. Where a power cut has left an
//! older one, what is left of the last chunk looks like a torn one, and is reported as such.

use super::GroupView;
use super::chunk::{CHUNK_HEADER, ChunkHeader, DatabaseId, SECTOR, verify_chunk};
use super::record::RecordKind;
use super::segment::Segment;
use crate::StorageError;
use crate::page::Lsn;
use crate::page::bytes::{u32_at, u64_at};

/// Read at once while chunks are looked for.
const BLOCK_BYTES: usize = 1 << 20;

/// What was found behind the end of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Remains {
    /// So far the log was on disk once; at most its end if nothing is lost.
    pub durable: Lsn,
    /// The end of the last whole chunk.
    pub upto: Lsn,
    /// Whole chunks.
    pub chunks: u64,
    /// Commits in them.
    pub commits: u64,
    /// The chunk at the end is there in part.
    pub torn: bool,
}

/// Whose chunks are looked for.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    pub database: DatabaseId,
    pub epoch: u64,
    /// The end of the log: what starts before is old.
    pub end: Lsn,
}

impl Remains {
    /// Looks at a segment from `position` on.
    pub(super) fn look(
        &mut self,
        segment: &Segment,
        says_durable: bool,
        position: u64,
        wanted: Wanted,
    ) -> Result<(), StorageError> {
        let mut at = position;
        while let Some((found, header, bytes)) = next_chunk(
            segment,
            at,
            |header| header.epoch == wanted.epoch && header.start >= wanted.end,
            wanted.database,
        )? {
            if says_durable {
                self.durable = self.durable.max(header.durable());
            }
            self.upto = self.upto.max(header.end());
            self.chunks += 1;
            self.commits += commits(&bytes[CHUNK_HEADER..]);
            at = found + header.disk_len();
        }
        Ok(())
    }

    /// Whether the chunk that is expected at `position` is there in part: all of its header fits but one field, and it is not a
    /// whole chunk of former times.
    pub(super) fn look_for_torn(
        &mut self,
        segment: &Segment,
        position: u64,
        wanted: Wanted,
    ) -> Result<(), StorageError> {
        let mut sector = [0; SECTOR];
        if read(segment, &mut sector, position)? < SECTOR {
            return Ok(());
        }
        let fits = [
            u32_at(&sector, 4) == super::chunk::CHUNK_MAGIC,
            sector[8..24] == wanted.database.0,
            u64_at(&sector, 24) == wanted.epoch,
            u64_at(&sector, 32) == wanted.end.0,
        ];
        let whole = || -> Result<bool, StorageError> {
            let Some(header) = ChunkHeader::parse(&sector, wanted.database) else { return Ok(false) };
            Ok(read_chunk(segment, position, header)?.is_some())
        };
        self.torn = fits.iter().filter(|fits| **fits).count() >= 3 && !whole()?;
        Ok(())
    }
}

fn commits(mut groups: &[u8]) -> u64 {
    let mut count = 0;
    while let Ok(group) = GroupView::parse(groups) {
        count += group.records().flatten().filter(|record| record.kind == RecordKind::COMMIT).count() as u64;
        groups = &groups[group.byte_len()..];
    }
    count
}

/// The first whole chunk at or behind `from` whose header is `wanted`: where it is, its header, its bytes.
pub(super) fn next_chunk(
    segment: &Segment,
    from: u64,
    wanted: impl Fn(&ChunkHeader) -> bool,
    database: DatabaseId,
) -> Result<Option<(u64, ChunkHeader, Vec<u8>)>, StorageError> {
    let mut block = vec![0; BLOCK_BYTES];
    let mut at = from;
    loop {
        let length = read(segment, &mut block, at)? / SECTOR * SECTOR;
        if length == 0 {
            return Ok(None);
        }
        for (sector, index) in block[..length].chunks_exact(SECTOR).zip(0u64..) {
            let position = at + index * SECTOR as u64;
            if let Some(header) = ChunkHeader::parse(sector, database).filter(&wanted)
                && let Some(bytes) = read_chunk(segment, position, header)?
            {
                return Ok(Some((position, header, bytes)));
            }
        }
        at += length as u64;
    }
}

/// The chunk with this header, if it is whole.
pub(super) fn read_chunk(
    segment: &Segment,
    position: u64,
    header: ChunkHeader,
) -> Result<Option<Vec<u8>>, StorageError> {
    let mut bytes = vec![0; CHUNK_HEADER + header.length];
    let count = read(segment, &mut bytes, position)?;
    Ok((count == bytes.len() && verify_chunk(&bytes)).then_some(bytes))
}

fn read(segment: &Segment, bytes: &mut [u8], position: u64) -> Result<usize, StorageError> {
    segment.file.read_at(bytes, position).map_err(|e| StorageError::io("reading the log", e))
}
