//! Removing archived log that no backup needs.
//!
//! Q1. The caller names the backups that are to be kept. Each of them must be restorable to the end of the archive now: a gap or a
//!     damaged file refuses the whole request, for what is left would be taken for a backup that works.
//! Q2. A file goes only if all of it lies before the end of every backup that is named: such a backup has the log before its end
//!     itself, and an increment upon it reads the log from there on.
//! Q3. Files go oldest first, so that a crash leaves an archive without a gap behind its first file.
//! Q4. A restore that reads what goes meanwhile fails before its target can be opened; it never leaves log out.

use std::path::{Path, PathBuf};

use verso_env::Vfs;

use super::damaged;
use super::plan::Plan;
use super::restore::RestoreTarget;
use crate::StorageError;
use crate::page::Lsn;
use crate::progress::Steps;
use crate::wal::DatabaseId;

/// What was removed from an archive, or would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PruneReport {
    /// Whose log it is.
    pub database: DatabaseId,
    /// The files, oldest first.
    pub files: Vec<PathBuf>,
    /// Their bytes.
    pub bytes: u64,
    /// The archive has the log from here on afterwards.
    pub first: Lsn,
}

/// Removes the log of a database that none of these backups of it needs, or only says what would go.
///
/// # Errors
/// `Archive` if no backup is named, if they are of several databases, or if one of them cannot be restored to the end of the
/// archive; what the file system reports.
pub fn prune_archive(
    vfs: &dyn Vfs,
    archive: &Path,
    kept: &[PathBuf],
    removes: bool,
) -> Result<PruneReport, StorageError> {
    let mut plans = Vec::new();
    for folder in kept {
        plans.push(Plan::new(vfs, folder, Some(archive))?);
    }
    let Some(one) = plans.first() else {
        return Err(damaged("name the backups that are to be kept"));
    };
    if let Some(other) = plans.iter().position(|plan| plan.database() != one.database()) {
        let (one, other) = (kept[0].display(), kept[other].display());
        return Err(damaged(format!("{one} and {other} are backups of different databases")));
    }
    for (plan, folder) in plans.iter().zip(kept) {
        plan.find_stop(vfs, &RestoreTarget::End, &mut Steps::new(&mut |_| Ok(()), 0)).map_err(|error| {
            match error {
                StorageError::Archive { problem } => damaged(format!(
                    "{} cannot be restored, so nothing is removed: {problem}",
                    folder.display()
                )),
                error => error,
            }
        })?;
    }
    let needed = plans.iter().map(|plan| plan.manifest.report.end).min().unwrap_or(Lsn::ZERO);
    let mut report = PruneReport { database: one.database(), files: Vec::new(), bytes: 0, first: Lsn::ZERO };
    let last = one.archived().last().map(|file| file.first);
    for file in one.archived() {
        // The last one stays in any case: an archive without log is taken for one that has lost it.
        if file.last > needed || Some(file.first) == last {
            report.first = file.first;
            break;
        }
        let failed = |e| StorageError::io(format!("removing {}", file.path.display()), e);
        let opened = vfs.open(&file.path, verso_env::OpenMode::READ_ONLY).map_err(failed)?;
        report.bytes += opened.len().map_err(failed)?;
        drop(opened);
        if removes {
            vfs.remove_file(&file.path).map_err(failed)?;
            // One after the other: the names of a folder may go in any order otherwise (Q3).
            vfs.sync_dir(one.folder()).map_err(failed)?;
        }
        report.files.push(file.path.clone());
    }
    Ok(report)
}
