//! The archive of the log, base backups, and restoring to a point in time.
//!
//! ```text
//!  log segments ──closed──► archiver ──► archive/ID/NUMBER-FIRST-LAST-DIGEST.vlog
//!  pages + log  ──backup──► base/{pages, log/…, base}                      │
//!                             └───────── plan ─► restore ─► a new database ┘
//! ```
//!
//! A1. A segment is archived only when its last byte is durable in the database's own log, so nothing in the archive is
//!     ever undone by a crash.
//! A2. Before a segment gets its name in the archive the database notes durably that it is *sealed*; a sealed segment is
//!     never added to, also after a crash. So an archived range is written once, and writing it again gives the same bytes.
//! A3. A segment is recycled only when the archive has it; what it has is noted durably.
//! A4. A file in the archive is whole: temporary name, sync, rename, sync of the folder. Each chunk was verified on the way.
//! A5. The archiver never adds to what another copy of the same database has archived: it refuses where ranges overlap.
//! A6. A target that fails is tried again, at growing intervals; commits never wait for it.
//!
//! B1. A base is complete when it has its manifest, which is written last.
//! B2. Its pages hold all changes before the redo LSN and none behind the end; the log between is in the base.
//!
//! R1. What is restored is read and verified from end to end before the target is touched.
//! R2. The target is made under another name; while that file is there, opening the target is refused. Restoring again
//!     begins anew; one that is cancelled leaves nothing.
//! R3. The log that is replayed is one chain without a gap, and ends behind a group, at or behind the base's end.
//! R4. A restored database has an id of its own and a new epoch: its log is never taken for that of the old one.
//!
//! Why: `docs/decisions/0022`. Bytes: `docs/FORMAT.md`, "Archive of the log".

mod archiver;
mod base;
mod changed;
mod note;
mod plan;
mod prune;
mod restore;
mod segment;

pub(crate) use archiver::Archiver;
pub use archiver::{ArchiveOptions, ArchiveStatus};
pub(crate) use base::{BaseParts, write_base};
pub use base::{BaseReport, WatchPages};
pub(crate) use changed::{Increment, changed_since};
pub(crate) use note::ArchiveNote;
pub use plan::{ArchiveReport, verify_archive, verify_archive_with};
pub use prune::{PruneReport, prune_archive};
pub(crate) use restore::refuse_unfinished;
pub use restore::{Restore, RestoreReport, RestoreTarget, restore_base, restore_chain, restore_while};

use std::path::Path;

use verso_env::{OpenMode, Vfs};

use crate::StorageError;

/// Whether an archive can be put there: the folder is on the disk, or its object store answers.
///
/// # Errors
/// What the target reports.
pub fn target_is_there(vfs: &dyn Vfs, target: &Path) -> std::io::Result<bool> {
    match verso_env::scheme_of(target) {
        // A folder of an object store is there as soon as it is named.
        Some(_) => vfs.list_dir(target).map(|_| true),
        None => vfs.exists(target),
    }
}

fn damaged(problem: impl Into<String>) -> StorageError {
    StorageError::Archive { problem: problem.into() }
}

/// Writes a small file so that it is there whole or not at all.
fn write_whole(vfs: &dyn Vfs, dir: &Path, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
    let (part, path) = (dir.join(format!("{name}.part")), dir.join(name));
    let failed = |e| StorageError::io(format!("writing {}", path.display()), e);
    let file = vfs.open(&part, OpenMode { truncate: true, ..OpenMode::CREATE }).map_err(failed)?;
    file.write_at(bytes, 0).and_then(|()| file.sync_data()).map_err(failed)?;
    vfs.rename(&part, &path).and_then(|()| vfs.sync_dir(dir)).map_err(failed)
}

/// Reads a file that is at most a few sectors long; none if it is not there.
fn read_small(vfs: &dyn Vfs, path: &Path) -> Result<Option<Vec<u8>>, StorageError> {
    let failed = |e| StorageError::io(format!("reading {}", path.display()), e);
    match vfs.exists(path) {
        Ok(true) => (),
        Ok(false) => return Ok(None),
        // A file stands where its folder is to be.
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(None),
        Err(error) => return Err(failed(error)),
    }
    let file = vfs.open(path, OpenMode::READ_ONLY).map_err(failed)?;
    let mut bytes = vec![0; 4096];
    let read = file.read_at(&mut bytes, 0).map_err(failed)?;
    bytes.truncate(read);
    Ok(Some(bytes))
}
