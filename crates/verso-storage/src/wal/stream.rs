//! One file of log read from its first chunk on, wherever the file lies: in the log folder, in an archive, in a base backup.
//!
//! S1. A chunk is handed on only if its checksum holds, it is of the database, starts where the one before ended, and its epoch
//!     is not older than that of the one before.

use std::path::Path;
use std::sync::Arc;

use verso_env::{OpenMode, Vfs, VfsFile};

use super::GroupView;
use super::chunk::{
    CHUNK_HEADER, ChunkHeader, DatabaseId, Head, LOG_FORMAT, SECTOR, SegmentHeader, verify_chunk,
};
use super::reader::corrupt;
use super::segment;
use crate::StorageError;
use crate::page::Lsn;
use crate::page::bytes::{put_u32, u32_at};

/// The chunks of a file of log, one after the other.
pub(crate) struct LogStream {
    file: Arc<dyn VfsFile>,
    name: String,
    database: DatabaseId,
    position: u64,
    expected: Lsn,
    epoch: u64,
    bytes: Vec<u8>,
}

/// A chunk whose checksum holds.
pub(crate) struct StreamedChunk<'a> {
    /// LSN of its first group.
    pub start: Lsn,
    /// Behind its last group.
    pub end: Lsn,
    /// Its epoch.
    pub epoch: u64,
    /// Header and groups, without padding.
    pub bytes: &'a [u8],
}

impl StreamedChunk<'_> {
    /// Its groups, each with the LSN at which it starts.
    pub fn groups(&self) -> impl Iterator<Item = Result<(Lsn, GroupView<'_>), StorageError>> {
        let mut offset = CHUNK_HEADER;
        std::iter::from_fn(move || {
            if offset >= self.bytes.len() {
                return None;
            }
            let start = Lsn(self.start.0 + (offset - CHUNK_HEADER) as u64);
            match GroupView::parse(&self.bytes[offset..]) {
                Ok(group) => {
                    offset += group.byte_len();
                    Some(Ok((start, group)))
                }
                Err(flaw) => {
                    offset = self.bytes.len();
                    Some(Err(corrupt(start, &flaw)))
                }
            }
        })
    }

    /// What is written for the part of it before `upto`, which is the end of one of its groups: with its own checksum, padded.
    pub fn before(&self, upto: Lsn) -> Vec<u8> {
        let length = usize::try_from(upto.0.min(self.end.0) - self.start.0).expect("a chunk is in memory");
        let mut bytes = self.bytes[..CHUNK_HEADER + length].to_vec();
        put_u32(&mut bytes, 40, u32::try_from(length).expect("a chunk is far shorter than 4 GiB"));
        let crc = crc32c::crc32c(&bytes[4..]);
        put_u32(&mut bytes, 0, crc);
        bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
        bytes
    }
}

impl LogStream {
    /// The file's chunks; its header says at which LSN it starts.
    ///
    /// # Errors
    /// `Archive` for a file that is none of the database; what the file system reports.
    pub fn open(vfs: &dyn Vfs, path: &Path, database: DatabaseId) -> Result<LogStream, StorageError> {
        let name = path.display().to_string();
        let failed = |e| StorageError::io(format!("reading {name}"), e);
        let file = vfs.open(path, OpenMode::READ_ONLY).map_err(failed)?;
        let mut sector = [0; SECTOR];
        let read = file.read_at(&mut sector, 0).map_err(failed)?;
        let header = match SegmentHeader::parse(&sector[..read]) {
            Ok(Head::Used(header)) if header.database == database => header,
            Ok(Head::Used(header)) => {
                let problem = format!("{name} is log of database {}, not of {database}", header.database);
                return Err(StorageError::Archive { problem });
            }
            Ok(_) => return Err(StorageError::Archive { problem: format!("{name} has no header") }),
            Err(flaw) => return Err(StorageError::Archive { problem: format!("{name}: {flaw}") }),
        };
        Ok(LogStream::new(file, name, header.database, header.start))
    }

    fn new(file: Arc<dyn VfsFile>, name: String, database: DatabaseId, start: Lsn) -> LogStream {
        let position = SECTOR as u64;
        LogStream { file, name, database, position, expected: start, epoch: 0, bytes: Vec::new() }
    }

    /// Where the next chunk starts.
    pub fn expected(&self) -> Lsn {
        self.expected
    }

    /// Where the next chunk lies in the file.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The next chunk; none where none follows.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn next(&mut self) -> Result<Option<StreamedChunk<'_>>, StorageError> {
        let failed = |e| StorageError::io(format!("reading {}", self.name), e);
        self.bytes.resize(SECTOR, 0);
        let read = self.file.read_at(&mut self.bytes, self.position).map_err(failed)?;
        let header = ChunkHeader::parse(&self.bytes[..read], self.database)
            .filter(|header| header.start == self.expected && header.epoch >= self.epoch);
        let Some(header) = header else { return Ok(None) };
        self.bytes.resize(CHUNK_HEADER + header.length, 0);
        let read = self.file.read_at(&mut self.bytes, self.position).map_err(failed)?;
        if read < self.bytes.len() || !verify_chunk(&self.bytes) {
            return Ok(None);
        }
        self.position += header.disk_len();
        (self.expected, self.epoch) = (header.end(), header.epoch);
        Ok(Some(StreamedChunk {
            start: header.start,
            end: header.end(),
            epoch: header.epoch,
            bytes: &self.bytes,
        }))
    }
}

/// A segment in use, as others copy it.
pub(crate) struct LiveLog {
    /// Its number.
    pub number: u64,
    /// LSN of its first chunk.
    pub first: Lsn,
    /// Where the next segment starts; none for the one that is written to.
    pub last: Option<Lsn>,
    pub(super) file: Arc<dyn VfsFile>,
    pub(super) name: String,
    pub(super) database: DatabaseId,
}

impl LiveLog {
    /// Its chunks.
    pub fn stream(&self) -> LogStream {
        LogStream::new(Arc::clone(&self.file), self.name.clone(), self.database, self.first)
    }
}

/// First sector of a file of log.
pub(crate) fn segment_header(database: DatabaseId, epoch: u64, start: Lsn, number: u64) -> [u8; SECTOR] {
    SegmentHeader { database, epoch, start, number, format: LOG_FORMAT }.encode()
}

/// The name of segment `number` in a log folder.
pub(crate) fn segment_path(dir: &Path, number: u64) -> std::path::PathBuf {
    segment::path_of(dir, number)
}

/// The checksum of a chunk: two chunks with the same one at the same LSN are the same.
pub(crate) fn chunk_crc(bytes: &[u8]) -> u32 {
    u32_at(bytes, 0)
}
