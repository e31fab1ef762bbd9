//! Writing an archive: frames, one behind the other, and the contents at the end.

use std::io::{self, Write};

use super::compression::Compression;
use super::contents::{self, Line};
use super::{FrameKind, Head, end, header};

/// A frame that is packed, ready to be written.
pub(crate) struct Packed {
    packing: u8,
    raw: u32,
    checksum: u32,
    bytes: Vec<u8>,
    /// The table and its rows, of a chunk.
    rows: (u32, u32),
}

impl Packed {
    /// Packs what a frame shall hold.
    pub fn new(raw: Vec<u8>, compression: Compression, rows: (u32, u32)) -> io::Result<Packed> {
        let length = u32::try_from(raw.len()).map_err(|_| io::Error::other("a frame of more than 4 GiB"))?;
        let (packing, bytes) = compression.pack(raw);
        Ok(Packed { packing, raw: length, checksum: crc32c::crc32c(&bytes), bytes, rows })
    }

    /// Bytes that it takes in the archive.
    pub fn stored_bytes(&self) -> u64 {
        contents::frame_bytes(self.bytes.len() as u32).into()
    }
}

/// An archive that is being written.
pub(crate) struct ArchiveWriter<W> {
    out: W,
    at: u64,
    definitions: u32,
    lines: Vec<Line>,
}

impl<W: Write> ArchiveWriter<W> {
    /// Writes the header and the definitions.
    pub fn begin(mut out: W, definitions: &Packed) -> io::Result<ArchiveWriter<W>> {
        let header = header();
        out.write_all(&header)?;
        let at = header.len() as u64;
        let mut writer = ArchiveWriter { out, at, definitions: definitions.checksum, lines: Vec::new() };
        writer.frame(FrameKind::Definitions, 0, definitions)?;
        Ok(writer)
    }

    /// Writes a chunk.
    pub fn chunk(&mut self, chunk: &Packed) -> io::Result<()> {
        let number = u32::try_from(self.lines.len() + 1).map_err(|_| io::Error::other("too many chunks"))?;
        let (table, rows) = chunk.rows;
        let bytes = contents::frame_bytes(chunk.bytes.len() as u32);
        self.lines.push(Line { at: self.at, bytes, checksum: chunk.checksum, table, rows });
        self.frame(FrameKind::Chunk, number, chunk)
    }

    /// Writes the contents and the end; how many bytes the archive has, and what it was written to.
    pub fn finish(mut self, compression: Compression) -> io::Result<(u64, W)> {
        let contents = contents::encode(self.definitions, &self.lines);
        let at = self.at;
        self.frame(FrameKind::Contents, 0, &Packed::new(contents, compression, (0, 0))?)?;
        let end = end(at, self.lines.len() as u32);
        self.out.write_all(&end)?;
        self.out.flush()?;
        Ok((self.at + end.len() as u64, self.out))
    }

    fn frame(&mut self, kind: FrameKind, number: u32, packed: &Packed) -> io::Result<()> {
        let Packed { packing, raw, checksum, ref bytes, .. } = *packed;
        let head = Head { kind, packing, number, stored: bytes.len() as u32, raw, checksum };
        self.out.write_all(&head.encode())?;
        self.out.write_all(bytes)?;
        self.at += u64::from(contents::frame_bytes(bytes.len() as u32));
        Ok(())
    }
}
