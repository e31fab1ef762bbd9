//! What the archiver has to know when the database is opened next: a file of the log folder.
//!
//! ```text
//! 0 crc u32 │ 4 magic "VARN" │ 8 version u32 │ 12 zero │ 16 database id [16] │ 32 sealed lsn u64 │ 40 archived lsn u64 │ zeroes …512
//! ```

use std::path::Path;

use verso_env::Vfs;

use super::{damaged, read_small, write_whole};
use crate::StorageError;
use crate::page::Lsn;
use crate::page::bytes::{put_u32, put_u64, u32_at, u64_at};
use crate::wal::{DatabaseId, SECTOR};

const NAME: &str = "archive";
const MAGIC: u32 = u32::from_le_bytes(*b"VARN");
const VERSION: u32 = 1;

/// How far the archive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ArchiveNote {
    /// The archive may have the log up to here: what ends here is never added to (A2).
    pub sealed: Lsn,
    /// The archive has the log up to here (A3).
    pub archived: Lsn,
}

impl ArchiveNote {
    /// The note in a log folder.
    ///
    /// # Errors
    /// `Archive` if it is damaged; what the file system reports.
    pub fn read(
        vfs: &dyn Vfs,
        dir: &Path,
        database: DatabaseId,
    ) -> Result<Option<ArchiveNote>, StorageError> {
        let path = dir.join(NAME);
        let Some(bytes) = read_small(vfs, &path)? else { return Ok(None) };
        let sound = bytes.len() == SECTOR
            && u32_at(&bytes, 4) == MAGIC
            && u32_at(&bytes, 8) == VERSION
            && crc32c::crc32c(&bytes[4..]) == u32_at(&bytes, 0);
        if !sound {
            let text =
                "is damaged: remove it, then the archive goes on with a gap and a new base backup is needed";
            return Err(damaged(format!("{} {text}", path.display())));
        }
        // That of another database was left behind by a file that is gone.
        let ours = bytes[16..32] == database.0;
        Ok(ours.then(|| ArchiveNote { sealed: Lsn(u64_at(&bytes, 32)), archived: Lsn(u64_at(&bytes, 40)) }))
    }

    /// Writes it; durable when this returns.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn write(&self, vfs: &dyn Vfs, dir: &Path, database: DatabaseId) -> Result<(), StorageError> {
        let mut bytes = [0; SECTOR];
        put_u32(&mut bytes, 4, MAGIC);
        put_u32(&mut bytes, 8, VERSION);
        bytes[16..32].copy_from_slice(&database.0);
        put_u64(&mut bytes, 32, self.sealed.0);
        put_u64(&mut bytes, 40, self.archived.0);
        let crc = crc32c::crc32c(&bytes[4..]);
        put_u32(&mut bytes, 0, crc);
        write_whole(vfs, dir, NAME, &bytes)
    }

    /// Nothing is archived any more.
    ///
    /// # Errors
    /// What the file system reports.
    pub fn remove(vfs: &dyn Vfs, dir: &Path) -> Result<(), StorageError> {
        let path = dir.join(NAME);
        let failed = |e| StorageError::io(format!("removing {}", path.display()), e);
        if vfs.exists(&path).map_err(failed)? {
            vfs.remove_file(&path).and_then(|()| vfs.sync_dir(dir)).map_err(failed)?;
        }
        Ok(())
    }
}
