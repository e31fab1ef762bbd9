//! Chunks: what one write brings to the log file.
//!
//! ```text
//! 0 crc u32 (of everything behind it, padding excluded) │ 4 magic "VLOG" │ 8 database id [16] │ 24 epoch u64 │
//! 32 start lsn u64 │ 40 length u32 │ 44 unsynced u32 │ 48 groups … │ zeroes up to the next sector
//! ```
//!
//! *unsynced* says how much of the log before the chunk was not known to be on disk when the chunk was written. So whoever
//! finds the chunk, but not all of the log up to there, knows that the disk has lost what it had.
//!
//! A segment file starts with a sector of its own:
//!
//! ```text
//! 0 crc u32 │ 4 magic "VSEG" │ 8 database id [16] │ 24 epoch u64 │ 32 start lsn u64 │ 40 number u64 │ 48 format u32 │ zeroes
//! ```

use std::fmt;

use crate::page::bytes::{put_u32, put_u64, u32_at, u64_at};
use crate::page::{Flaw, Lsn};
use crate::rules::{Rule, disabled};

/// The unit a disk writes as a whole.
pub const SECTOR: usize = 512;
/// Bytes before the first group of a chunk.
pub const CHUNK_HEADER: usize = 48;
/// A chunk's groups are together at most this long; a longer one is junk.
pub const CHUNK_LENGTH_MAX: usize = 16 << 20;
/// Version of segment, chunk and group layout. Version 2 had longer groups; version 1 had the number of groups where *unsynced*
/// is, too. Both can be read.
pub const LOG_FORMAT: u32 = 3;
/// The first version whose chunks say what was not on disk when they were written.
pub(super) const FORMAT_UNSYNCED: u32 = 2;
/// More than can be said, or not known.
const UNSYNCED_UNKNOWN: u32 = u32::MAX;

pub(super) const CHUNK_MAGIC: u32 = u32::from_le_bytes(*b"VLOG");
const SEGMENT_MAGIC: u32 = u32::from_le_bytes(*b"VSEG");

/// Which database something belongs to: random, drawn at creation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct DatabaseId(pub [u8; 16]);

impl fmt::Debug for DatabaseId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

impl fmt::Display for DatabaseId {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(out, "{byte:02x}"))
    }
}

/// A chunk that is filled in memory; the header's place is kept free, so that it goes out in one write.
#[derive(Debug)]
pub(super) struct ChunkBuffer {
    bytes: Vec<u8>,
    /// LSN of the first group.
    pub start: Lsn,
    pub groups: u32,
}

impl ChunkBuffer {
    pub fn new(start: Lsn, capacity: usize) -> ChunkBuffer {
        let mut bytes = Vec::with_capacity(capacity + CHUNK_HEADER + SECTOR);
        bytes.resize(CHUNK_HEADER, 0);
        ChunkBuffer { bytes, start, groups: 0 }
    }

    /// Empties it for groups from `start` on; an exceptionally large buffer is given back.
    pub fn reset(&mut self, start: Lsn, capacity: usize) {
        self.bytes.truncate(CHUNK_HEADER);
        self.bytes.shrink_to(capacity + CHUNK_HEADER + SECTOR);
        self.start = start;
        self.groups = 0;
    }

    pub fn is_empty(&self) -> bool {
        self.groups == 0
    }

    /// Bytes of groups.
    pub fn len(&self) -> usize {
        self.bytes.len() - CHUNK_HEADER
    }

    pub fn end(&self) -> Lsn {
        Lsn(self.start.0 + self.len() as u64)
    }

    pub fn push(&mut self, group: &[u8]) {
        self.bytes.extend_from_slice(group);
        self.groups += 1;
    }

    /// Fills in header and padding; returns what is to be written. Everything before `durable` is on disk. The buffer is of
    /// no use but `reset` afterwards.
    pub fn seal(&mut self, database: DatabaseId, epoch: u64, durable: Lsn) -> &[u8] {
        let length = u32::try_from(self.len()).expect("a chunk is far shorter than 4 GiB");
        let bytes = &mut self.bytes;
        put_u32(bytes, 4, CHUNK_MAGIC);
        bytes[8..24].copy_from_slice(&database.0);
        put_u64(bytes, 24, epoch);
        put_u64(bytes, 32, self.start.0);
        put_u32(bytes, 40, length);
        let unsynced = self.start.0.saturating_sub(durable.0);
        put_u32(bytes, 44, u32::try_from(unsynced).unwrap_or(UNSYNCED_UNKNOWN));
        let crc = crc32c::crc32c(&bytes[4..]);
        put_u32(bytes, 0, crc);
        bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
        &self.bytes
    }
}

/// Header of a chunk read from disk; nothing in it is proven before [`verify_chunk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ChunkHeader {
    pub epoch: u64,
    pub start: Lsn,
    /// Bytes of groups.
    pub length: usize,
    /// Bytes of the log before that were not known to be on disk.
    unsynced: u32,
}

impl ChunkHeader {
    /// Reads a header from at least [`CHUNK_HEADER`] bytes; `None` if they are none of this database.
    pub fn parse(bytes: &[u8], database: DatabaseId) -> Option<ChunkHeader> {
        let fits = bytes.len() >= CHUNK_HEADER
            && u32_at(bytes, 4) == CHUNK_MAGIC
            && (bytes[8..24] == database.0 || disabled(Rule::L2Database));
        let length = if fits { u32_at(bytes, 40) as usize } else { 0 };
        (fits && (1..=CHUNK_LENGTH_MAX).contains(&length)).then(|| ChunkHeader {
            epoch: u64_at(bytes, 24),
            start: Lsn(u64_at(bytes, 32)),
            length,
            unsynced: u32_at(bytes, 44),
        })
    }

    /// Bytes on disk, padding included.
    pub fn disk_len(&self) -> u64 {
        disk_len(self.length)
    }

    pub fn end(&self) -> Lsn {
        Lsn(self.start.0.saturating_add(self.length as u64))
    }

    /// Everything before was on disk when this chunk, of a segment of the newest format, was written.
    pub fn durable(&self) -> Lsn {
        match self.unsynced {
            UNSYNCED_UNKNOWN => Lsn::ZERO,
            unsynced => Lsn(self.start.0.saturating_sub(u64::from(unsynced))),
        }
    }
}

/// Bytes on disk of a chunk with `length` bytes of groups.
pub(super) fn disk_len(length: usize) -> u64 {
    (CHUNK_HEADER + length).next_multiple_of(SECTOR) as u64
}

/// Whether the checksum of header and groups (`bytes`, without padding) holds.
pub(super) fn verify_chunk(bytes: &[u8]) -> bool {
    bytes.len() >= CHUNK_HEADER && crc32c::crc32c(&bytes[4..]) == u32_at(bytes, 0)
}

/// First sector of a segment file in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SegmentHeader {
    pub database: DatabaseId,
    pub epoch: u64,
    /// LSN of its first chunk.
    pub start: Lsn,
    pub number: u64,
    /// Version of its layout.
    pub format: u32,
}

/// What a segment's first sector says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// In use, if the number is that of the file.
    Used(SegmentHeader),
    /// Never was in use.
    Blank,
    /// Something that nobody writes there.
    Damaged,
}

impl SegmentHeader {
    pub fn encode(&self) -> [u8; SECTOR] {
        let mut sector = [0; SECTOR];
        put_u32(&mut sector, 4, SEGMENT_MAGIC);
        sector[8..24].copy_from_slice(&self.database.0);
        put_u64(&mut sector, 24, self.epoch);
        put_u64(&mut sector, 32, self.start.0);
        put_u64(&mut sector, 40, self.number);
        put_u32(&mut sector, 48, self.format);
        let crc = crc32c::crc32c(&sector[4..]);
        put_u32(&mut sector, 0, crc);
        sector
    }

    /// Reads a segment's first sector.
    ///
    /// # Errors
    /// A flaw for a sound header of a format this program does not know.
    pub fn parse(sector: &[u8]) -> Result<Head, Flaw> {
        if sector.iter().all(|byte| *byte == 0) {
            return Ok(Head::Blank);
        }
        let sound = sector.len() == SECTOR
            && u32_at(sector, 4) == SEGMENT_MAGIC
            && crc32c::crc32c(&sector[4..]) == u32_at(sector, 0);
        if !sound {
            return Ok(Head::Damaged);
        }
        let format = u32_at(sector, 48);
        if !(1..=LOG_FORMAT).contains(&format) {
            return Err(Flaw::new(format!("log format {format}, only those up to {LOG_FORMAT} are known")));
        }
        Ok(Head::Used(SegmentHeader {
            format,
            database: DatabaseId(sector[8..24].try_into().expect("16 bytes")),
            epoch: u64_at(sector, 24),
            start: Lsn(u64_at(sector, 32)),
            number: u64_at(sector, 40),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ID: DatabaseId = DatabaseId([7; 16]);

    #[test]
    fn a_chunk_comes_back_and_ends_at_a_sector() {
        let mut chunk = ChunkBuffer::new(Lsn(100), 64);
        chunk.push(&[1; 700]);
        chunk.push(&[2; 30]);
        assert_eq!((chunk.len(), chunk.end()), (730, Lsn(830)));
        let bytes = chunk.seal(ID, 3, Lsn(70)).to_vec();
        assert_eq!(bytes.len(), 1024);
        let header = ChunkHeader::parse(&bytes, ID).unwrap();
        assert_eq!(header, ChunkHeader { epoch: 3, start: Lsn(100), length: 730, unsynced: 30 });
        assert_eq!(header.durable(), Lsn(70));
        assert_eq!(header.disk_len(), 1024);
        assert!(verify_chunk(&bytes[..CHUNK_HEADER + 730]));
        assert_eq!(ChunkHeader::parse(&bytes, DatabaseId([8; 16])), None);
    }

    #[test]
    fn every_flipped_byte_of_a_chunk_shows() {
        let mut chunk = ChunkBuffer::new(Lsn(100), 64);
        chunk.push(&[1; 50]);
        let bytes = chunk.seal(ID, 3, Lsn(100))[..CHUNK_HEADER + 50].to_vec();
        for at in 0..bytes.len() {
            let mut flipped = bytes.clone();
            flipped[at] ^= 4;
            assert!(!verify_chunk(&flipped), "byte {at}");
        }
    }

    #[test]
    fn a_segment_header_comes_back_and_zeroes_are_none() {
        let header = SegmentHeader { database: ID, epoch: 9, start: Lsn(5), number: 2, format: LOG_FORMAT };
        assert_eq!(SegmentHeader::parse(&header.encode()), Ok(Head::Used(header)));
        assert_eq!(SegmentHeader::parse(&[0; SECTOR]), Ok(Head::Blank));
        assert_eq!(SegmentHeader::parse(&[]), Ok(Head::Blank));
        for at in 0..SECTOR {
            let mut flipped = header.encode();
            flipped[at] ^= 1;
            assert_eq!(SegmentHeader::parse(&flipped), Ok(Head::Damaged), "byte {at}");
        }
        let mut newer = header.encode();
        put_u32(&mut newer, 48, LOG_FORMAT + 1);
        let crc = crc32c::crc32c(&newer[4..]);
        put_u32(&mut newer, 0, crc);
        assert!(SegmentHeader::parse(&newer).is_err());
    }

    proptest! {
        #[test]
        fn junk_headers_do_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            let _ = ChunkHeader::parse(&bytes, ID);
            let _ = SegmentHeader::parse(&bytes);
            let _ = verify_chunk(&bytes);
        }
    }
}
