//! Reading an archive, from its beginning to its end.

use std::io::{ErrorKind, Read};

use super::compression::unpack;
use super::contents::{self, Definitions, Line};
use super::{EDGE_BYTES, FrameKind, HEAD_BYTES, Head, MAGIC, VERSION, columns, end, u32_at};
use crate::error::{BackupError, Part};

/// Memory taken at a time for bytes that are said to follow.
const PIECE_BYTES: usize = 16 << 20;

/// A chunk as it stands in the archive; whoever unpacks it need not hold the reader.
#[derive(Clone)]
pub(crate) struct StoredChunk {
    pub head: Head,
    pub bytes: Vec<u8>,
}

/// An archive that is being read.
pub(crate) struct ArchiveReader<R> {
    input: R,
    at: u64,
    definitions: u32,
    /// The chunks read so far; table and rows are known when they are unpacked, and are compared then.
    lines: Vec<Line>,
    /// The table of contents, once it was read and is right.
    contents: Option<Vec<Line>>,
}

impl<R: Read> ArchiveReader<R> {
    /// Reads the header and the definitions.
    pub fn begin(input: R) -> Result<(ArchiveReader<R>, Definitions), BackupError> {
        let mut reader = ArchiveReader { input, at: 0, definitions: 0, lines: Vec::new(), contents: None };
        let mut header = [0; EDGE_BYTES];
        reader.fill(&mut header, Part::Header)?;
        if header[..8] != MAGIC {
            return Err(BackupError::damaged(Part::Header, "this is no archive of Verso"));
        }
        if u32_at(&header, EDGE_BYTES - 4) != crc32c::crc32c(&header[..EDGE_BYTES - 4]) {
            return Err(BackupError::damaged(Part::Header, "it has a wrong checksum"));
        }
        let version = u32_at(&header, 8);
        if version != VERSION {
            let text =
                format!("the archive has version {version} of the format; this program reads {VERSION}");
            return Err(BackupError::Refused(text));
        }
        let part = Part::Definitions;
        let (head, bytes) = reader.frame(part)?;
        if head.kind != FrameKind::Definitions || head.number != 0 {
            return Err(BackupError::damaged(part, "they are not there"));
        }
        reader.definitions = head.checksum;
        let raw = unpacked(head, bytes, part)?;
        let definitions =
            serde_json::from_slice(&raw).map_err(|error| BackupError::damaged(part, error.to_string()))?;
        Ok((reader, definitions))
    }

    /// The next chunk; none behind the last one, when the contents were read to the end of the archive and agree with all
    /// chunks.
    pub fn next(&mut self) -> Result<Option<StoredChunk>, BackupError> {
        if self.contents.is_some() {
            return Ok(None);
        }
        let number = self.lines.len() as u32 + 1;
        let at = self.at;
        let (head, bytes) = self.frame(Part::Chunk(number))?;
        match head.kind {
            FrameKind::Chunk if head.number == number => {
                let frame = contents::frame_bytes(head.stored);
                self.lines.push(Line { at, bytes: frame, checksum: head.checksum, table: 0, rows: 0 });
                Ok(Some(StoredChunk { head, bytes }))
            }
            FrameKind::Chunk => {
                let flaw = format!("chunk {} stands in its place", head.number);
                Err(BackupError::damaged(Part::Chunk(number), flaw))
            }
            FrameKind::Definitions => {
                Err(BackupError::damaged(Part::Chunk(number), "definitions stand in its place"))
            }
            FrameKind::Contents => {
                self.finish(at, head, bytes)?;
                Ok(None)
            }
        }
    }

    /// The table of contents; none before all chunks were read.
    pub fn contents(&self) -> Option<&[Line]> {
        self.contents.as_deref()
    }

    /// Bytes read so far.
    pub fn bytes(&self) -> u64 {
        self.at
    }

    /// Compares the contents with what was read, and looks at the end.
    fn finish(&mut self, at: u64, head: Head, bytes: Vec<u8>) -> Result<(), BackupError> {
        let part = Part::Contents;
        let raw = unpacked(head, bytes, part)?;
        let (definitions, lines) = contents::decode(&raw).map_err(|flaw| BackupError::damaged(part, flaw))?;
        if definitions != self.definitions {
            return Err(BackupError::damaged(Part::Definitions, "the contents have another checksum"));
        }
        if lines.len() != self.lines.len() {
            let flaw = format!("it has {} chunks, {} were read", lines.len(), self.lines.len());
            return Err(BackupError::damaged(part, flaw));
        }
        let same = |(a, b): (&Line, &Line)| (a.at, a.bytes, a.checksum) == (b.at, b.bytes, b.checksum);
        if let Some(first) = lines.iter().zip(&self.lines).position(|pair| !same(pair)) {
            let part = Part::Chunk(first as u32 + 1);
            return Err(BackupError::damaged(part, "the contents describe another one"));
        }
        let mut last = [0; EDGE_BYTES];
        self.fill(&mut last, Part::End)?;
        if last != end(at, lines.len() as u32) {
            return Err(BackupError::damaged(Part::End, "it does not fit the contents"));
        }
        let mut behind = [0];
        let more = self.input.read(&mut behind).map_err(BackupError::io("reading the archive"))?;
        if more != 0 {
            return Err(BackupError::damaged(Part::End, "something stands behind it"));
        }
        self.contents = Some(lines);
        Ok(())
    }

    /// Reads a frame whose checksums are right.
    fn frame(&mut self, part: Part) -> Result<(Head, Vec<u8>), BackupError> {
        let mut head = [0; HEAD_BYTES];
        self.fill(&mut head, part)?;
        let head = Head::decode(&head, part)?;
        let part = if head.kind == FrameKind::Contents { Part::Contents } else { part };
        let mut bytes = Vec::new();
        let mut left = head.stored as usize;
        while left > 0 {
            let length = bytes.len();
            let piece = left.min(PIECE_BYTES);
            bytes.resize(length + piece, 0);
            self.fill(&mut bytes[length..], part)?;
            left -= piece;
        }
        if crc32c::crc32c(&bytes) != head.checksum {
            return Err(BackupError::damaged(part, "it has a wrong checksum"));
        }
        Ok((head, bytes))
    }

    fn fill(&mut self, bytes: &mut [u8], part: Part) -> Result<(), BackupError> {
        self.input.read_exact(bytes).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => BackupError::damaged(part, "the archive ends there"),
            _ => BackupError::io("reading the archive")(error),
        })?;
        self.at += bytes.len() as u64;
        Ok(())
    }
}

impl StoredChunk {
    /// Its number.
    pub fn number(&self) -> u32 {
        self.head.number
    }

    /// Unpacks its rows.
    pub fn rows(self) -> Result<columns::Rows, BackupError> {
        let part = Part::Chunk(self.head.number);
        let raw = unpacked(self.head, self.bytes, part)?;
        columns::decode(&raw).map_err(|flaw| BackupError::damaged(part, flaw))
    }
}

fn unpacked(head: Head, bytes: Vec<u8>, part: Part) -> Result<Vec<u8>, BackupError> {
    unpack(head.packing, bytes, head.raw as usize).map_err(|flaw| BackupError::damaged(part, flaw))
}
