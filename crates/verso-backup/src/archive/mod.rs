//! The archive: one file, or what goes through a pipe, written and read from its beginning to its end.
//!
//! ```text
//! header │ frame: definitions │ frame: chunk 1 │ frame: chunk 2 │ … │ frame: contents │ end
//!             JSON               rows of one table, by columns          every chunk: place, length, checksum
//! ```
//!
//! A1. Every byte is under a checksum: the header and the end have one, and a frame has one for its head and one for what it
//!     holds. A reader looks at nothing before its checksum was right.
//! A2. Chunks have numbers from 1 on, without a gap, in the order in which they stand.
//! A3. The contents repeat the checksum of every frame, so a chunk of another archive is noticed, and a missing one.
//! A4. A frame is packed by the worker that made it; the one who writes only appends.
//!
//! Numbers are little-endian. The bytes are described in docs/FORMAT.md, "Archive".

pub(crate) mod columns;
pub(crate) mod compression;
pub(crate) mod contents;
pub(crate) mod reader;
pub(crate) mod writer;

use crate::error::{BackupError, Part};

/// How an archive begins.
pub(crate) const MAGIC: [u8; 8] = *b"VERSOBAK";
/// How it ends.
pub(crate) const END: [u8; 8] = *b"KABOSREV";
/// The version of the format.
pub(crate) const VERSION: u32 = 1;
/// Bytes of the header and of the end.
pub(crate) const EDGE_BYTES: usize = 32;
/// Bytes of the head of a frame.
pub(crate) const HEAD_BYTES: usize = 24;

/// What a frame holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrameKind {
    Definitions = 1,
    Chunk = 2,
    Contents = 3,
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub kind: FrameKind,
    /// How it is packed; see [`compression`].
    pub packing: u8,
    /// The number of a chunk; 0 for others.
    pub number: u32,
    /// Bytes that follow.
    pub stored: u32,
    /// Bytes once they are unpacked.
    pub raw: u32,
    /// The checksum of what follows.
    pub checksum: u32,
}

impl Head {
    pub fn encode(&self) -> [u8; HEAD_BYTES] {
        let mut out = [0; HEAD_BYTES];
        out[0] = self.kind as u8;
        out[1] = self.packing;
        out[4..8].copy_from_slice(&self.number.to_le_bytes());
        out[8..12].copy_from_slice(&self.stored.to_le_bytes());
        out[12..16].copy_from_slice(&self.raw.to_le_bytes());
        out[16..20].copy_from_slice(&self.checksum.to_le_bytes());
        let own = crc32c::crc32c(&out[..20]);
        out[20..24].copy_from_slice(&own.to_le_bytes());
        out
    }

    /// Reads a head; `part` is what is expected there.
    pub fn decode(bytes: &[u8; HEAD_BYTES], part: Part) -> Result<Head, BackupError> {
        let flaw = |flaw: &str| BackupError::damaged(part, flaw);
        if u32_at(bytes, 20) != crc32c::crc32c(&bytes[..20]) {
            return Err(flaw("the head of the frame has a wrong checksum"));
        }
        let kind = match bytes[0] {
            1 => FrameKind::Definitions,
            2 => FrameKind::Chunk,
            3 => FrameKind::Contents,
            _ => return Err(flaw("unknown kind of frame")),
        };
        Ok(Head {
            kind,
            packing: bytes[1],
            number: u32_at(bytes, 4),
            stored: u32_at(bytes, 8),
            raw: u32_at(bytes, 12),
            checksum: u32_at(bytes, 16),
        })
    }
}

/// The header of an archive.
pub(crate) fn header() -> [u8; EDGE_BYTES] {
    let mut out = [0; EDGE_BYTES];
    out[..8].copy_from_slice(&MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    sealed(out)
}

/// The end of an archive whose contents begin at `contents`.
pub(crate) fn end(contents: u64, chunks: u32) -> [u8; EDGE_BYTES] {
    let mut out = [0; EDGE_BYTES];
    out[..8].copy_from_slice(&END);
    out[8..16].copy_from_slice(&contents.to_le_bytes());
    out[16..20].copy_from_slice(&chunks.to_le_bytes());
    sealed(out)
}

fn sealed(mut out: [u8; EDGE_BYTES]) -> [u8; EDGE_BYTES] {
    let own = crc32c::crc32c(&out[..EDGE_BYTES - 4]);
    out[EDGE_BYTES - 4..].copy_from_slice(&own.to_le_bytes());
    out
}

/// The four bytes at a place that is known to be there.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}
