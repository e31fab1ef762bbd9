//! So far the log is on disk, written apart from it.
//!
//! ```text
//! 0 crc u32 (of everything behind it) │ 4 magic "VMRK" │ 8 database id [16] │ 24 epoch u64 │ 32 durable lsn u64
//! ```
//!
//! The last flush before a crash has no chunk behind it that could tell of it: a segment cut short or overwritten there would
//! look like the torn tail of a power cut. The file `durable` of the log folder tells of it.
//!
//! M1. The mark is written behind the sync that it tells of, so it never says more than is on disk.
//! M2. It is never synced and nobody waits for it: a power cut may leave an older one, or none. An older one proves less, and
//!     is never wrong.
//! M3. It counts in its own epoch only: the log that goes on behind lost parts has another.

use std::path::Path;
use std::sync::Arc;

use verso_env::{OpenMode, Vfs, VfsFile};

use super::chunk::DatabaseId;
use crate::page::Lsn;
use crate::page::bytes::{put_u32, put_u64, u32_at, u64_at};

const NAME: &str = "durable";
const MAGIC: u32 = u32::from_le_bytes(*b"VMRK");
const BYTES: usize = 40;

/// The file that is written behind each sync.
pub(super) struct Mark {
    file: Arc<dyn VfsFile>,
    database: DatabaseId,
    epoch: u64,
}

impl Mark {
    /// Opens or creates it; none where the file system refuses, for the log does without.
    pub(super) fn open(vfs: &dyn Vfs, dir: &Path, database: DatabaseId, epoch: u64) -> Option<Mark> {
        let file = vfs.open(&dir.join(NAME), OpenMode::CREATE).ok()?;
        Some(Mark { file, database, epoch })
    }

    /// The log is on disk up to `durable`. One write into the cache of the operating system. A failure leaves the mark before.
    pub(super) fn set(&self, durable: Lsn) {
        let mut bytes = [0; BYTES];
        put_u32(&mut bytes, 4, MAGIC);
        bytes[8..24].copy_from_slice(&self.database.0);
        put_u64(&mut bytes, 24, self.epoch);
        put_u64(&mut bytes, 32, durable.0);
        let crc = crc32c::crc32c(&bytes[4..]);
        put_u32(&mut bytes, 0, crc);
        let _ = self.file.write_at(&bytes, 0);
    }
}

/// What the mark says of `epoch`; zero where there is none, or none that can be read.
pub(super) fn read(vfs: &dyn Vfs, dir: &Path, database: DatabaseId, epoch: u64) -> Lsn {
    let mut bytes = [0; BYTES];
    let file = vfs.open(&dir.join(NAME), OpenMode::READ_ONLY);
    let read = file.and_then(|file| file.read_at(&mut bytes, 0));
    let holds = matches!(read, Ok(BYTES))
        && u32_at(&bytes, 0) == crc32c::crc32c(&bytes[4..])
        && u32_at(&bytes, 4) == MAGIC
        && bytes[8..24] == database.0
        && u64_at(&bytes, 24) == epoch;
    if holds { Lsn(u64_at(&bytes, 32)) } else { Lsn::ZERO }
}
