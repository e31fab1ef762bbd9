//! The superblock: where recovery starts. Page 0 of the file, two copies in sectors of their own.
//!
//! ```text
//! 0 magic "verso\0db" │ 8 format u32 │ 12 page size u32 │ 16 database id [16] │ 32 sequence u64 │ 40 epoch u64 │
//! 48 epoch start lsn u64 │ 56 checkpoint lsn u64 │ 64 redo lsn u64 │ 72 flags u32 │ 76 state length u32 │
//! 80 state offset u64 │ 88 state crc u32 │ 92 pages u32 │ 96 gaps: 4 × {from lsn u64, to lsn u64} │ 160 zeroes … │
//! 508 crc u32 (of bytes 0..508)
//! ```
//!
//! B1. The copies lie at offsets 0 and 2048 and are written in turn, so one of them is always whole; the greater
//!     sequence counts.
//! B2. Both say the same of a database that was shut down in order: neither needs what has gone then.

use verso_env::{Env, VfsFile};

use crate::StorageError;
use crate::page::bytes::{put_u32, put_u64, u32_at, u64_at};
use crate::page::{Lsn, ObjectId, PAGE_SIZES, PageId};
use crate::rules::{Rule, disabled};
use crate::wal::{DatabaseId, LogGap, LogGaps, SECTOR};

/// Version of the database file. In version 8 no page behind those of the first page map was given out by itself, and every index had a tree; in version 7 no page was given out by itself; in version 6 no table had dictionaries; in version 5 no table had packed pages; in version 4 no table stored several of its columns
/// together; in version 3 no page that was given back had a rest, and no table a list of values that are being written.
pub const FILE_FORMAT: u32 = 9;
/// The oldest version that can be opened: before it the catalog had other columns.
const FILE_FORMAT_OLDEST: u32 = 3;

const MAGIC: &[u8; 8] = b"verso\0db";
const OFFSETS: [u64; 2] = [0, 2048];
const GAPS: usize = 96;
const CRC: usize = SECTOR - 4;
const FLAG_CLEAN: u32 = 1;
const FLAG_CHECKPOINT: u32 = 2;
const FLAG_COMPLETE: u32 = 4;
/// The greatest page.
const PAGE_BYTES_MAX: u64 = PAGE_SIZES[PAGE_SIZES.len() - 1] as u64;
/// A file whose creation did not end is at most so long: the first units of the greatest pages.
const UNBORN_BYTES_MAX: u64 = 64 * 8 * PAGE_BYTES_MAX;

/// A checkpoint's state in the file itself, behind the last page; only of a database that was shut down cleanly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StatePlace {
    pub offset: u64,
    pub length: u32,
    pub crc: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Superblock {
    pub page_size: u32,
    pub database: DatabaseId,
    /// Counts the writes of the superblock.
    pub sequence: u64,
    pub epoch: u64,
    pub epoch_start: Lsn,
    /// Start of the groups that hold the newest checkpoint's state; state records count from here.
    pub checkpoint: Lsn,
    /// Page records count from here.
    pub redo: Lsn,
    /// Shut down in order, nothing to be replayed.
    pub clean: bool,
    /// Shut down in order, and every page is in its place, those that are not logged too; but the disk had no room for the state behind
    /// the last page: the log is needed, which ends with it. Earlier programs see a database that was not shut down.
    pub complete: bool,
    /// There is a checkpoint at `checkpoint`; not so in a database just created.
    pub has_checkpoint: bool,
    pub state: StatePlace,
    /// The file had at least so many pages.
    pub pages: u32,
    /// Parts of the log that were given up.
    pub gaps: LogGaps,
}

impl Superblock {
    pub fn encode(&self) -> [u8; SECTOR] {
        let mut bytes = [0; SECTOR];
        bytes[..8].copy_from_slice(MAGIC);
        put_u32(&mut bytes, 8, FILE_FORMAT);
        put_u32(&mut bytes, 12, self.page_size);
        bytes[16..32].copy_from_slice(&self.database.0);
        put_u64(&mut bytes, 32, self.sequence);
        put_u64(&mut bytes, 40, self.epoch);
        put_u64(&mut bytes, 48, self.epoch_start.0);
        put_u64(&mut bytes, 56, self.checkpoint.0);
        put_u64(&mut bytes, 64, self.redo.0);
        let clean = if self.clean { FLAG_CLEAN } else { 0 };
        let checkpoint = if self.has_checkpoint { FLAG_CHECKPOINT } else { 0 };
        let complete = if self.complete { FLAG_COMPLETE } else { 0 };
        put_u32(&mut bytes, 72, clean | checkpoint | complete);
        put_u32(&mut bytes, 76, self.state.length);
        put_u64(&mut bytes, 80, self.state.offset);
        put_u32(&mut bytes, 88, self.state.crc);
        put_u32(&mut bytes, 92, self.pages);
        for (gap, at) in self.gaps.0.iter().zip((GAPS..).step_by(16)) {
            put_u64(&mut bytes, at, gap.from.0);
            put_u64(&mut bytes, at + 8, gap.to.0);
        }
        let crc = crc32c::crc32c(&bytes[..CRC]);
        put_u32(&mut bytes, CRC, crc);
        bytes
    }

    /// One copy; `Ok(None)` if it is not whole.
    fn parse(bytes: &[u8]) -> Result<Option<Superblock>, StorageError> {
        if &bytes[..8] != MAGIC || crc32c::crc32c(&bytes[..CRC]) != u32_at(bytes, CRC) {
            return Ok(None);
        }
        let found = u32_at(bytes, 8);
        if !(FILE_FORMAT_OLDEST..=FILE_FORMAT).contains(&found) {
            return Err(StorageError::UnsupportedFormat { found, supported: FILE_FORMAT });
        }
        let page_size = u32_at(bytes, 12);
        if !PAGE_SIZES.contains(&(page_size as usize)) {
            let flaw = format!("page size {page_size}");
            return Err(StorageError::corrupt(PageId(0), ObjectId::SYSTEM, flaw));
        }
        let flags = u32_at(bytes, 72);
        Ok(Some(Superblock {
            page_size,
            database: DatabaseId(bytes[16..32].try_into().expect("16 bytes")),
            sequence: u64_at(bytes, 32),
            epoch: u64_at(bytes, 40),
            epoch_start: Lsn(u64_at(bytes, 48)),
            checkpoint: Lsn(u64_at(bytes, 56)),
            redo: Lsn(u64_at(bytes, 64)),
            clean: flags & FLAG_CLEAN != 0,
            complete: flags & FLAG_COMPLETE != 0,
            has_checkpoint: flags & FLAG_CHECKPOINT != 0,
            state: StatePlace {
                length: u32_at(bytes, 76),
                offset: u64_at(bytes, 80),
                crc: u32_at(bytes, 88),
            },
            pages: u32_at(bytes, 92),
            gaps: LogGaps(std::array::from_fn(|index| {
                let at = GAPS + index * 16;
                LogGap { from: Lsn(u64_at(bytes, at)), to: Lsn(u64_at(bytes, at + 8)) }
            })),
        }))
    }

    /// The newest whole copy.
    pub fn read(file: &dyn VfsFile) -> Result<Superblock, StorageError> {
        let bytes = read_both(file)?;
        let mut newest: Option<Superblock> = None;
        for offset in OFFSETS {
            let at = usize::try_from(offset).expect("small");
            let copy = Superblock::parse(&bytes[at..at + SECTOR])?;
            if copy.is_some_and(|copy| newest.is_none_or(|newest| newest.sequence < copy.sequence)) {
                newest = copy;
            }
        }
        newest.ok_or_else(|| {
            let ours = OFFSETS.iter().any(|offset| bytes[*offset as usize..].starts_with(MAGIC));
            if ours {
                StorageError::corrupt(
                    PageId(0),
                    ObjectId::SYSTEM,
                    "both copies of the superblock are damaged",
                )
            } else {
                let zero = bytes.iter().all(|byte| *byte == 0);
                let what =
                    if zero { "it is empty, or its creation did not end" } else { "it is some other file" };
                StorageError::NotADatabase { what: what.to_owned() }
            }
        })
    }

    /// Whether the file is one whose creation never came to an end: there is nothing in it, but for the map of its pages. A database
    /// whose superblock was lost has more.
    pub fn is_unborn(file: &dyn VfsFile) -> Result<bool, StorageError> {
        let reading = |e| StorageError::io("reading the database file", e);
        let length = file.len().map_err(reading)?;
        if length > UNBORN_BYTES_MAX || read_both(file)?.iter().any(|byte| *byte != 0) {
            return Ok(false);
        }
        let mut piece = vec![0; 1 << 20];
        for at in (2 * PAGE_BYTES_MAX..length).step_by(piece.len()) {
            let read = file.read_at(&mut piece, at).map_err(reading)?;
            if piece[..read].iter().any(|byte| *byte != 0) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the next copy and makes the file durable; what is returned counts from then on.
    pub fn write(mut self, file: &dyn VfsFile) -> Result<Superblock, StorageError> {
        self.sequence += 1;
        let offset = OFFSETS[usize::from(self.sequence % 2 == 1 && !disabled(Rule::Superblocks))];
        let written = file.write_at(&self.encode(), offset);
        written.map_err(|e| StorageError::io("writing the superblock", e))?;
        file.sync_data().map_err(|e| StorageError::sync("syncing the superblock", e))?;
        Ok(self)
    }
}

/// Which database a new one is.
pub(super) fn new_identity(env: &Env) -> DatabaseId {
    let mut id = [0; 16];
    id[..8].copy_from_slice(&env.random.next_u64().to_le_bytes());
    id[8..].copy_from_slice(&env.random.next_u64().to_le_bytes());
    DatabaseId(id)
}

/// The sectors that hold both copies, zeroes where the file is shorter.
fn read_both(file: &dyn VfsFile) -> Result<Vec<u8>, StorageError> {
    let mut bytes = vec![0; OFFSETS[1] as usize + SECTOR];
    file.read_at(&mut bytes, 0).map_err(|e| StorageError::io("reading the superblock", e))?;
    Ok(bytes)
}

/// The log goes on to a newer epoch than the superblock of a base knows: which, and where it starts.
pub(crate) fn set_log_end(file: &dyn VfsFile, epoch: Option<(u64, Lsn)>) -> Result<(), StorageError> {
    let Some((epoch, epoch_start)) = epoch else { return Ok(()) };
    let superblock = Superblock { epoch, epoch_start, ..Superblock::read(file)? };
    superblock.write(file).map(|_| ())
}

/// Makes another database of one that was shut down in order, a copy or one that was restored: its log is never taken for
/// that of the one it comes from.
///
/// # Errors
/// `NotADatabase` if it was not shut down in order; `Corrupt`, what the file system reports.
pub fn renew_identity(env: &Env, file: &dyn VfsFile) -> Result<DatabaseId, StorageError> {
    let superblock = Superblock::read(file)?;
    if !superblock.clean {
        let what = "it was not shut down in order".to_owned();
        return Err(StorageError::NotADatabase { what });
    }
    let (database, epoch_start) = (new_identity(env), superblock.checkpoint);
    // Both copies: the other one would lead to the log of the old database.
    let next = Superblock { database, epoch: superblock.epoch + 1, epoch_start, ..superblock };
    next.write(file)?.write(file)?;
    Ok(database)
}
