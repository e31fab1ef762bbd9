//! The archive of an engine's log, and backups of its pages.

use std::path::Path;

use super::Engine;
use crate::StorageError;
use crate::archive::{ArchiveOptions, ArchiveStatus, BaseReport, WatchPages};

impl Engine {
    /// Archives the log to another place from now on, or to none.
    ///
    /// # Errors
    /// What the file system reports of the log folder. A target that is not there is shown by
    /// [`Engine::archive_status`], and tried again.
    pub fn set_archive(&self, options: Option<ArchiveOptions>) -> Result<(), StorageError> {
        self.shared().store.archiver.configure(options)
    }

    /// Archives everything that is logged by now.
    ///
    /// # Errors
    /// `Archive` if the log is not archived, or what is there does not fit; what the target reports.
    pub fn archive_log(&self) -> Result<(), StorageError> {
        self.shared().store.archiver.archive_all()
    }

    /// How archiving goes.
    pub fn archive_status(&self) -> ArchiveStatus {
        self.shared().store.archiver.status()
    }

    /// Copies the database to a new folder while it is used; [`restore_base`](crate::archive::restore_base) makes a database
    /// of it. `watch` is told between blocks.
    ///
    /// # Errors
    /// `Archive` if there is something in the folder; `Corrupt` names a damaged page; what the file system reports, or
    /// `watch`.
    pub fn backup_base(&self, folder: &Path, watch: WatchPages<'_>) -> Result<BaseReport, StorageError> {
        let shared = self.shared();
        shared.store.write_base(&shared.env, folder, None, &shared.space, || shared.collect(), watch)
    }

    /// As [`Engine::backup_base`], of those pages only that have changed since the backup in `parent`, which the log tells:
    /// [`restore_chain`](crate::archive::restore_chain) puts them together.
    ///
    /// # Errors
    /// Also `Archive` if `parent` is a backup of another database, or where the log since then is not all there.
    pub fn backup_increment(
        &self,
        folder: &Path,
        parent: &Path,
        watch: WatchPages<'_>,
    ) -> Result<BaseReport, StorageError> {
        let shared = self.shared();
        let parent = Some(parent);
        shared.store.write_base(&shared.env, folder, parent, &shared.space, || shared.collect(), watch)
    }
}
