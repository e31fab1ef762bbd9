//! Restoring a base, and the log upon it, as a new database.
//!
//! ```text
//! plan ─► TARGET.restoring: pages of the base, TARGET.restoring-wal/: the log up to the stop ─► recovery ─► clean shutdown
//!      ─► a new id in the superblock ─► renamed to TARGET
//! ```
//!
//! What replays the log is recovery itself, so restoring needs no rules of its own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use verso_env::{Env, OpenMode, Vfs, VfsFile, open_alone};

use super::base::Manifest;
use super::damaged;
use super::plan::{Plan, Stop, chain, verify_pages};
use crate::StorageError;
use crate::engine::{Engine, EngineOptions};
use crate::page::Lsn;
use crate::progress::{Steps, WatchProgress};
use crate::recovery::{renew_identity, set_log_end, wal_dir};
use crate::wal::{DatabaseId, SECTOR, segment_header, segment_path};

/// A file of the log that is replayed has at least this much.
const SEGMENT_BYTES: u64 = 64 << 20;

/// Up to where the log is replayed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RestoreTarget {
    /// All there is.
    #[default]
    End,
    /// Everything that ends at or before this LSN.
    Lsn(Lsn),
    /// What was committed at or before this time (microseconds since 1970), up to the first later commit.
    Time(i64),
    /// Everything up to the first restore point of this name behind the end of the base.
    Name(Arc<str>),
}

/// What was restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreReport {
    /// Whose base it was.
    pub of: DatabaseId,
    /// The new database.
    pub database: DatabaseId,
    /// The log was replayed up to here.
    pub upto: Lsn,
    /// When the last commit was made that is restored (microseconds since 1970), 0 where it does not say so.
    pub last_commit: i64,
    /// A restore of the same target had been cut off, and was done anew.
    pub again: bool,
}

/// What a target is called until it is whole.
fn unfinished(target: &Path) -> PathBuf {
    let mut name = target.as_os_str().to_owned();
    name.push(".restoring");
    PathBuf::from(name)
}

/// Refuses a database whose restore was cut off (R2).
pub(crate) fn refuse_unfinished(vfs: &dyn Vfs, path: &Path) -> Result<(), StorageError> {
    let rest = unfinished(path);
    match vfs.exists(&rest).map_err(|e| StorageError::io(format!("looking for {}", rest.display()), e))? {
        true => Err(damaged(format!(
            "the restore of {} was not finished: run it again, or remove {}",
            path.display(),
            rest.display()
        ))),
        false => Ok(()),
    }
}

/// Makes the database `target` of the base in `base` and, if given, the log in `archive`.
///
/// # Errors
/// `Archive` if what is wanted cannot be restored, before anything is written; `Io` with `AlreadyExists` if there is a
/// database; what the file system or recovery report.
pub fn restore_base(
    env: &Env,
    base: &Path,
    archive: Option<&Path>,
    to: RestoreTarget,
    target: &Path,
    options: &EngineOptions,
) -> Result<RestoreReport, StorageError> {
    restore_chain(env, &[base.to_owned()], archive, to, target, options)
}

/// As [`restore_base`], of a base and increments upon it, in their order.
///
/// # Errors
/// As [`restore_base`].
pub fn restore_chain(
    env: &Env,
    bases: &[PathBuf],
    archive: Option<&Path>,
    to: RestoreTarget,
    target: &Path,
    options: &EngineOptions,
) -> Result<RestoreReport, StorageError> {
    restore_while(env, &Restore { bases, archive, to, options }, target, &mut |_| Ok(()))
}

/// What a database is made of.
#[derive(Clone, Debug)]
pub struct Restore<'r> {
    /// A base, and increments upon it in their order.
    pub bases: &'r [PathBuf],
    /// The log that follows.
    pub archive: Option<&'r Path>,
    /// Up to where.
    pub to: RestoreTarget,
    /// How the database is opened to replay the log.
    pub options: &'r EngineOptions,
}

/// As [`restore_chain`], for as long as `watch`, which is told how many bytes are done, returns no error. If it returns
/// `Cancelled`, nothing is left of the target.
///
/// # Errors
/// As [`restore_base`]; what `watch` returns.
pub fn restore_while(
    env: &Env,
    what: &Restore<'_>,
    target: &Path,
    watch: WatchProgress<'_>,
) -> Result<RestoreReport, StorageError> {
    let vfs = &*env.vfs;
    let writing = |e| StorageError::io(format!("restoring {}", target.display()), e);
    for path in [target.to_owned(), wal_dir(target)] {
        if vfs.exists(&path).map_err(writing)? {
            return Err(damaged(format!("{} exists already", path.display())));
        }
    }
    let links = chain(vfs, what.bases)?;
    let Some((last, _)) = links.last() else { return Err(damaged("a base is wanted")) };
    let plan = Plan::new(vfs, last, what.archive)?;
    plan.refuse_empty_archive()?;
    let (log, pages) = (plan.log_bytes(), links.iter().map(|(_, manifest)| manifest.bytes()).sum::<u64>());
    // Everything is read twice, to verify and to write it; the log two times more, by recovery.
    let steps = &mut Steps::new(watch, 4 * log + 2 * pages);
    let stop = plan.find_stop(vfs, &what.to, steps)?;
    verify_pages(vfs, &links, steps)?;

    let made = unfinished(target);
    let again = vfs.exists(&made).map_err(writing)?;
    let Some(file) = open_alone(vfs, &made).map_err(writing)? else {
        return Err(damaged(format!("another restore makes {}", target.display())));
    };
    let restored = Restored { target, made: &made, stop };
    let done = restored.write(env, (&links, &plan), file, steps).and_then(|()| {
        let options = EngineOptions { background: false, open_damaged_log: false, ..what.options.clone() };
        restored.replay(env, options, log, steps)
    });
    if matches!(done, Err(StorageError::Cancelled)) {
        // The file goes last: while it is there, it says that the database is not whole.
        vfs.remove_dir_all(&wal_dir(&made)).and_then(|()| vfs.remove_file(&made)).map_err(writing)?;
        sync_parent(vfs, target).map_err(writing)?;
    }
    let database = done?;
    let of = plan.manifest.report.database;
    Ok(RestoreReport { of, database, upto: stop.at, last_commit: stop.last_commit, again })
}

/// A database that is being made.
struct Restored<'r> {
    target: &'r Path,
    /// Its name until it is whole.
    made: &'r Path,
    stop: Stop,
}

impl Restored<'_> {
    fn failed(&self, error: std::io::Error) -> StorageError {
        StorageError::io(format!("restoring {}", self.target.display()), error)
    }

    /// Writes its pages, and the log that is replayed.
    fn write(
        &self,
        env: &Env,
        (links, plan): (&[(&Path, Manifest)], &Plan),
        file: Arc<dyn VfsFile>,
        steps: &mut Steps<'_>,
    ) -> Result<(), StorageError> {
        let (vfs, log) = (&*env.vfs, wal_dir(self.made));
        let writing = |e| self.failed(e);
        if vfs.exists(&log).map_err(writing)? {
            vfs.remove_dir_all(&log).map_err(writing)?;
        }
        sync_parent(vfs, self.target).map_err(writing)?;
        vfs.create_dir_all(&log).map_err(writing)?;
        let superblock = write_pages(vfs, links, &*file, steps)?;
        write_log(vfs, plan, &log, self.stop, steps)?;
        vfs.sync_dir(&log).and_then(|()| sync_parent(vfs, self.target)).map_err(writing)?;
        // Last, so that nothing opens before all of it is there.
        file.write_at(&superblock, 0).and_then(|()| file.sync_data()).map_err(writing)?;
        set_log_end(&*file, self.stop.epoch)
    }

    /// Replays the log, which has about so many bytes, and gives the database an id and its name.
    fn replay(
        &self,
        env: &Env,
        options: EngineOptions,
        log: u64,
        steps: &mut Steps<'_>,
    ) -> Result<DatabaseId, StorageError> {
        let (vfs, stop) = (&*env.vfs, self.stop);
        let writing = |e| self.failed(e);
        steps.enter("replay", 2 * log)?;
        let mut last = Lsn::ZERO;
        let engine = Engine::open_while(env.clone(), self.made, options, &mut |at| {
            // The first place is where the pass begins.
            let by = if last == Lsn::ZERO { 0 } else { at.0.saturating_sub(last.0) };
            last = at;
            steps.advance(by)
        })?;
        let reached = engine.recovery().map_or(Lsn::ZERO, |recovery| recovery.end);
        if reached != stop.at {
            return Err(damaged(format!("recovery ended at LSN {reached}, not at LSN {}", stop.at)));
        }
        engine.close()?;
        drop(engine);
        steps.advance(0)?;
        let file = vfs.open(self.made, OpenMode::EXISTING).map_err(writing)?;
        let database = renew_identity(env, &*file)?;
        drop(file);
        // A clean file is whole by itself (R4).
        vfs.remove_dir_all(&wal_dir(self.made)).map_err(writing)?;
        vfs.rename(self.made, self.target).map_err(writing)?;
        sync_parent(vfs, self.target).map_err(writing)?;
        Ok(database)
    }
}

fn sync_parent(vfs: &dyn Vfs, path: &Path) -> std::io::Result<()> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    vfs.sync_dir(parent.unwrap_or(Path::new(".")))
}

/// Copies the pages of a base, then those of the increments over them, but for the first sector: the superblock, of which the
/// last one is returned.
fn write_pages(
    vfs: &dyn Vfs,
    links: &[(&Path, Manifest)],
    file: &dyn VfsFile,
    steps: &mut Steps<'_>,
) -> Result<[u8; SECTOR], StorageError> {
    let writing = |e| StorageError::io("writing the restored database", e);
    let mut superblock = [0; SECTOR];
    for (number, (folder, manifest)) in links.iter().enumerate() {
        file.set_len(manifest.report.pages * manifest.report.page_size).map_err(writing)?;
        steps.enter("writing pages", manifest.bytes())?;
        manifest.read_pages(vfs, folder, |at, bytes| {
            steps.advance(bytes.len() as u64)?;
            if at == 0 {
                superblock.copy_from_slice(&bytes[..SECTOR]);
                return file.write_at(&bytes[SECTOR..], SECTOR as u64).map_err(writing);
            }
            // What was never written is zero.
            match number > 0 || bytes.iter().any(|byte| *byte != 0) {
                true => file.write_at(bytes, at).map_err(writing),
                false => Ok(()),
            }
        })?;
    }
    file.sync_data().map_err(writing)?;
    Ok(superblock)
}

/// Writes the log up to the stop as segments of the new log folder.
fn write_log(
    vfs: &dyn Vfs,
    plan: &Plan,
    log: &Path,
    stop: Stop,
    steps: &mut Steps<'_>,
) -> Result<(), StorageError> {
    steps.enter("writing log", plan.log_bytes())?;
    let writing = |e| StorageError::io("writing the log that is replayed", e);
    let database = plan.manifest.report.database;
    let mut number = 0;
    let mut current: Option<(Arc<dyn VfsFile>, u64)> = None;
    plan.walk(vfs, |chunk| {
        steps.advance(chunk.end.0 - chunk.start.0)?;
        if chunk.start >= stop.at {
            return Ok(true);
        }
        if let Some((file, _)) = current.take_if(|(_, at)| *at >= SEGMENT_BYTES) {
            file.sync_data().map_err(writing)?;
        }
        let (file, at) = match current.take() {
            Some(open) => open,
            None => {
                number += 1;
                let file = vfs.open(&segment_path(log, number), OpenMode::CREATE_NEW).map_err(writing)?;
                let header = segment_header(database, chunk.epoch, chunk.start, number);
                file.write_at(&header, 0).map_err(writing)?;
                (file, SECTOR as u64)
            }
        };
        let bytes = chunk.before(stop.at);
        file.write_at(&bytes, at).map_err(writing)?;
        current = Some((file, at + bytes.len() as u64));
        Ok(chunk.end >= stop.at)
    })?;
    match current {
        Some((file, _)) => file.sync_data().map_err(writing),
        None => Ok(()),
    }
}
