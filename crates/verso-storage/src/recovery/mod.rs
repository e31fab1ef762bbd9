//! Opening a database after whatever happened, and checkpoints, which bound how long that takes.
//!
//! ```text
//! open   lock ─► superblock ─► log pass 1: end of the log, checkpoint state, lives of pages ─► double-write restore
//!        ─► log pass 2: redo ─► new epoch in the superblock ─► appending
//!
//! log    …──── redo lsn ───────── checkpoint lsn [state] ───────── end
//!              │ page records count from here │ state records from here
//! ```
//!
//! C1. Redo repeats history: a page record counts where the page's LSN is older than the end of its group, all
//!     records of a group for a page together. Nothing is undone.
//! C2. A record of a page's former life (before its newest init, void or free record) does not count: the frame may
//!     have been dropped unwritten, so what is on disk may be older than the redo LSN promises.
//! C3. Recovery changes nothing durable but pages, in the usual way, until the superblock names the new epoch: a crash
//!     in between, and recovery starts over with the same result.
//! C4. What recovery read is made durable before it is relied upon: after a crash of the process alone it may not be.
//! C5. A checkpoint is fuzzy: it writes pages while others go on; only the moment of its LSN is alone.
//!
//! Lock order: `checkpointing`, then the gate. Source: redo-only recovery after ARIES (Mohan et al., 1992).

mod checkpointer;
mod replay;
mod superblock;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use verso_env::sync::{Mutex, MutexGuard};
use verso_env::{Env, OpenMode, Vfs, VfsFile};

pub(crate) use checkpointer::CHECKPOINT_BYTES_OWN;
pub use checkpointer::{CheckpointTarget, Checkpointer, CheckpointerOptions};
pub use replay::{LostLog, RecoveryReport, StateRedo};
pub(crate) use superblock::set_log_end;
pub use superblock::{FILE_FORMAT, renew_identity};

use crate::StorageError;
use crate::archive::{
    Archiver, BaseParts, BaseReport, Increment, WatchPages, changed_since, refuse_unfinished, write_base,
};
use crate::bounds::PageBounds;
use crate::buffer::{BufferPool, FlushProgress, LogGate, PoolOptions, doublewrite};
use crate::clean::CleanPages;
use crate::engine_core::{CheckpointGate, Core, PageRedo};
use crate::mini::Mini;
use crate::page::{Lsn, ObjectId, PAGE_SIZES, PageId, TxnId};
use crate::rules::{Rule, disabled};
use crate::space::{ExtentRun, SpaceMap};
use crate::unlogged::UnloggedObjects;
use crate::wal::{DatabaseId, FIRST_LSN, Group, LogGaps, LogImage, LogOrigin, RecordKind, Wal, WalOptions};
use superblock::{StatePlace, Superblock, new_identity};

/// A part of a checkpoint's state is at most this long.
const STATE_PART_BYTES: usize = 256 << 10;

/// Who waits for a checkpoint and may be cancelled looks so often.
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// A small database that is closed leaves as many bytes of log as this part of its own, and some in any case.
const LOG_SHARE: u64 = 16;
/// Bounds of pages take this part of the buffer pool's bytes at most, beside them.
const BOUNDS_SHARE: u64 = 64;

/// How a database is created or opened.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The pool. Its page size is used at creation; at open the file says which one it has.
    pub pool: PoolOptions,
    /// At open: refuse a database of another page size.
    pub page_size: Option<usize>,
    /// The log.
    pub wal: WalOptions,
    /// At open: give up what stands behind damaged log, and pages that cannot be brought up to date.
    pub open_damaged_log: bool,
}

/// The files of an open database: pages, log, superblock.
pub struct Store {
    /// What changes pages.
    pub core: Core,
    file: Arc<dyn VfsFile>,
    superblock: Mutex<Superblock>,
    checkpointing: Mutex<()>,
    /// Copies the log to its archive, if it has one.
    pub(crate) archiver: Archiver,
    /// Who waits for a checkpoint now.
    awaiting: AtomicU32,
}

/// Where recovery would start, as the superblock says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// The database.
    pub database: DatabaseId,
    /// The newest checkpoint's place in the log.
    pub checkpoint: Lsn,
    /// Where redo would start.
    pub redo: Lsn,
    /// The format of the file.
    pub format: u32,
}

/// What a checkpoint did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckpointReport {
    /// Pages written for it.
    pub pages_written: u64,
    /// Its place in the log.
    pub checkpoint: Lsn,
    /// Where recovery would start redoing now.
    pub redo: Lsn,
}

/// The folder for temporary files of the database at `path`, which it may leave behind: it holds nothing that lasts.
#[must_use]
pub fn temporary_dir(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-tmp");
    PathBuf::from(name)
}

/// The log folder of the database file at `path`.
#[must_use]
pub fn wal_dir(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push("-wal");
    PathBuf::from(name)
}

/// Whether the file at `path` is there and holds nothing: its creation did not end, or never began.
///
/// # Errors
/// What the file system reports.
pub fn is_unborn(env: &Env, path: &Path) -> Result<bool, StorageError> {
    match env.vfs.open(path, OpenMode::READ_ONLY) {
        Ok(file) => Superblock::is_unborn(&*file),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StorageError::io(format!("opening {}", path.display()), error)),
    }
}

/// Removes what was made of a database whose creation has failed. Whenever that is cut off, what is left is a file whose creation did
/// not end.
///
/// # Errors
/// `Locked`, what the file system reports.
pub fn remove_new(env: &Env, path: &Path) -> Result<(), StorageError> {
    let removing = |e| StorageError::io(format!("removing {}", path.display()), e);
    let file = env.vfs.open(path, OpenMode::EXISTING).map_err(removing)?;
    lock(&*file)?;
    file.set_len(0).and_then(|()| file.sync_data()).map_err(removing)?;
    for folder in [wal_dir(path), temporary_dir(path)] {
        if env.vfs.exists(&folder).map_err(removing)? {
            env.vfs.remove_dir_all(&folder).map_err(removing)?;
        }
    }
    env.vfs.remove_file(path).map_err(removing)?;
    sync_parent(env, path)
}

impl Store {
    /// Creates a database at `path` with an empty space map.
    ///
    /// # Errors
    /// `Io` with `AlreadyExists` when there is a file with something in it; `PageSize`, `Locked`, `Full`, what the file system reports.
    /// No file is left then.
    pub fn create(
        env: &Env,
        path: &Path,
        options: &StoreOptions,
        redo: &'static dyn PageRedo,
    ) -> Result<Store, StorageError> {
        if !PAGE_SIZES.contains(&options.pool.page_size) {
            return Err(StorageError::PageSize(options.pool.page_size as u32));
        }
        let dir = wal_dir(path);
        let vfs = &*env.vfs;
        let creating = |e| StorageError::io(format!("creating {}", path.display()), e);
        refuse_unfinished(vfs, path)?;
        refuse_lone_log(vfs, path, &dir)?;
        let file = vfs.open(path, OpenMode::CREATE).map_err(creating)?;
        lock(&*file)?;
        if !Superblock::is_unborn(&*file)? {
            return Err(creating(std::io::Error::from(std::io::ErrorKind::AlreadyExists)));
        }
        let made = Store::create_in(env, path, options, redo, file);
        if made.is_err() {
            // The first error is the one that is told. What cannot be removed says that its creation did not end.
            let _ = remove_new(env, path);
        }
        made
    }

    /// Makes a database of a file that holds nothing.
    fn create_in(
        env: &Env,
        path: &Path,
        options: &StoreOptions,
        redo: &'static dyn PageRedo,
        file: Arc<dyn VfsFile>,
    ) -> Result<Store, StorageError> {
        let (vfs, dir) = (&*env.vfs, wal_dir(path));
        let creating = |e| StorageError::io(format!("creating {}", path.display()), e);
        file.set_len(0).map_err(creating)?;
        vfs.create_dir_all(&dir).map_err(creating)?;
        sync_parent(env, path)?;

        let database = new_identity(env);
        let origin = LogOrigin {
            database,
            epoch: 1,
            epoch_start: FIRST_LSN,
            redo: FIRST_LSN,
            gaps: LogGaps::default(),
        };
        // Segments that lie there are of a creation that was cut off.
        remove_segments(env, &dir)?;
        let wal = Arc::new(LogImage::empty(&dir, origin, FIRST_LSN).start(env, options.wal, 1)?);
        let area = open_doublewrite(env, &dir)?;
        let core = open_core(env, options.pool.clone(), &file, area, wal, redo)?;

        let mut mini = Mini::begin(&core, TxnId::NONE);
        SpaceMap::format(&mut mini, &*file)?;
        let (_, end) = mini.commit()?;
        core.wal.flush(end)?;
        core.pool.flush_all()?;
        let superblock = Superblock {
            page_size: u32::try_from(options.pool.page_size).expect("asserted above"),
            database,
            sequence: 0,
            epoch: 1,
            epoch_start: FIRST_LSN,
            checkpoint: FIRST_LSN,
            redo: FIRST_LSN,
            clean: false,
            complete: false,
            has_checkpoint: false,
            state: StatePlace::default(),
            pages: file_pages(&*file, options.pool.page_size)?,
            gaps: LogGaps::default(),
        }
        .write(&*file)?;
        let archiver = Archiver::new(env, &core.wal, &dir, None, options.wal.background);
        Ok(Store::new(core, file, superblock, archiver))
    }

    /// Opens the database at `path` and recovers it; `state` gets the newest checkpoint's state, then every state
    /// record since. What was not committed then is still in the pages; who keeps the states marks it dead.
    ///
    /// # Errors
    /// `Io` with `NotFound`; `Locked`, `NotADatabase`, `UnsupportedFormat`, `Corrupt`, `DamagedLog`, `MissingLog`, what the
    /// file system reports.
    pub fn open(
        env: &Env,
        path: &Path,
        options: &StoreOptions,
        redo: &'static dyn PageRedo,
        state: &mut dyn StateRedo,
    ) -> Result<(Store, RecoveryReport), StorageError> {
        let opening = |e| StorageError::io(format!("opening {}", path.display()), e);
        refuse_unfinished(&*env.vfs, path)?;
        let file = env.vfs.open(path, OpenMode::EXISTING).map_err(opening)?;
        lock(&*file)?;
        let mut superblock = Superblock::read(&*file)?;
        let page_size = superblock.page_size as usize;
        if let Some(wanted) = options.page_size.filter(|wanted| *wanted != page_size) {
            let what = format!("its pages have {page_size} bytes, not {wanted}");
            return Err(StorageError::NotADatabase { what });
        }
        let pages = file_pages(&*file, page_size)?;
        if pages < superblock.pages {
            let flaw = format!("the file is cut off: {pages} of {} pages are left", superblock.pages);
            return Err(StorageError::corrupt(PageId(pages), ObjectId::SYSTEM, flaw));
        }
        let dir = wal_dir(path);
        env.vfs.create_dir_all(&dir).map_err(opening)?;
        sync_parent(env, path)?;
        let area = open_doublewrite(env, &dir)?;
        // Before anything is changed: the folder may be that of another database.
        let mut found = replay::find_log(env, &dir, &superblock, &*file, state, options.open_damaged_log)?;
        let pages_restored = match superblock.clean {
            true => 0,
            false => doublewrite::restore(&*file, &*area, page_size)?,
        };
        // C4: pages that only the operating system has must not count as written.
        file.sync_data().map_err(opening)?;
        if found.lost.is_some() {
            found.give_up(&mut superblock.gaps, &*file, page_size)?;
        }

        if superblock.clean && !found.log_missing {
            found.image.settle();
        }
        let epoch = superblock.epoch + 1;
        let wal = Arc::new(found.image.start(env, options.wal, epoch)?);
        if found.log_missing {
            // What lies there may be of another life of the file.
            area.set_len(0).map_err(opening)?;
        }
        let pool = PoolOptions { page_size, ..options.pool.clone() };
        let core = open_core(env, pool, &file, area, wal, redo)?;
        core.pool.give_up(superblock.gaps);
        let mut report = found.replay(&core, superblock.checkpoint, state, options.open_damaged_log)?;
        report.pages_restored = pages_restored;
        report.tell();

        superblock.epoch = epoch;
        superblock.epoch_start = found.image.end();
        if found.log_missing {
            // The state came from the file itself; from now on it has to be in the log.
            let (begin, end) = append_state(&core.wal, found.checkpoint.as_deref().unwrap_or_default())?;
            core.wal.flush(end)?;
            (superblock.checkpoint, superblock.redo) = (begin, begin);
        }
        let state_place = std::mem::take(&mut superblock.state);
        (superblock.clean, superblock.complete) = (false, false);
        let superblock = superblock.write(&*file)?;
        if state_place.length > 0 {
            file.set_len(state_place.offset).map_err(opening)?;
        }
        let archiver = Archiver::new(env, &core.wal, &dir, found.note, options.wal.background);
        Ok((Store::new(core, file, superblock, archiver), report))
    }

    fn new(core: Core, file: Arc<dyn VfsFile>, superblock: Superblock, archiver: Archiver) -> Store {
        Store {
            core,
            file,
            superblock: Mutex::new(superblock),
            checkpointing: Mutex::new(()),
            archiver,
            awaiting: AtomicU32::new(0),
        }
    }

    /// The space map, read from its pages. `reserve_units` are kept for undo and back-out.
    ///
    /// # Errors
    /// As [`SpaceMap::load`].
    pub fn load_space(&self, reserve_units: u32) -> Result<SpaceMap, StorageError> {
        SpaceMap::load(&self.core.pool, Arc::clone(&self.file), reserve_units)
    }

    /// The database's identity.
    #[must_use]
    pub fn database(&self) -> DatabaseId {
        self.core.wal.database()
    }

    /// What the superblock says.
    pub(crate) fn control(&self) -> Control {
        let Superblock { database, checkpoint, redo, .. } = *self.superblock.lock();
        Control { database, checkpoint, redo, format: FILE_FORMAT }
    }

    /// Bytes of log that recovery would have to read now.
    #[must_use]
    pub fn redo_bytes(&self) -> u64 {
        self.core.wal.appended_for_sleeper().0 - self.superblock.lock().redo.0
    }

    /// Makes everything older than its own start durable in pages, so that the log before can go. Writers go on but
    /// for the moment in which `collect` gathers the state kept in memory.
    ///
    /// # Errors
    /// `Full` when the log has no room; failed writes and syncs, which poison.
    pub fn checkpoint(&self, collect: impl FnOnce() -> Vec<u8>) -> Result<CheckpointReport, StorageError> {
        self.awaiting.fetch_add(1, Ordering::AcqRel);
        let one = self.checkpointing.lock();
        self.awaiting.fetch_sub(1, Ordering::AcqRel);
        self.checkpoint_alone(&one, &mut |_| Ok(()), collect)
    }

    /// As [`Store::checkpoint`] when nobody waits for it: `pace` is called behind each batch of pages, and may sleep.
    ///
    /// # Errors
    /// As [`Store::checkpoint`].
    pub fn checkpoint_at(
        &self,
        pace: &mut dyn FnMut(FlushProgress),
        collect: impl FnOnce() -> Vec<u8>,
    ) -> Result<CheckpointReport, StorageError> {
        let mut pace = |done| {
            pace(done);
            Ok(())
        };
        self.checkpoint_alone(&self.checkpointing.lock(), &mut pace, collect)
    }

    /// Whether somebody waits until the checkpoint under way is done.
    #[must_use]
    pub fn checkpoint_is_awaited(&self) -> bool {
        self.awaiting.load(Ordering::Acquire) > 0
    }

    fn checkpoint_alone(
        &self,
        _one: &MutexGuard<'_, ()>,
        pace: &mut dyn FnMut(FlushProgress) -> Result<(), StorageError>,
        collect: impl FnOnce() -> Vec<u8>,
    ) -> Result<CheckpointReport, StorageError> {
        let core = &self.core;
        let pages_written = core.pool.flush_dirty_before(core.wal.appended(), pace)?;
        let (begin, end) = {
            let _alone = core.gate.close();
            let state = collect();
            core.wal.turn_over_if_starved(state_bytes(&state))?;
            append_state(&core.wal, &state)?
        };
        // Whatever becomes dirty from here on starts behind `begin`.
        let mut redo = core.pool.oldest_dirty().map_or(begin, |oldest| oldest.min(begin));
        if disabled(Rule::RedoPoint) {
            redo = begin;
        }
        core.wal.flush(end)?;
        self.write_superblock(|superblock| {
            (superblock.checkpoint, superblock.redo, superblock.has_checkpoint) = (begin, redo, true);
        })?;
        core.wal.recycle(redo)?;
        Ok(CheckpointReport { pages_written, checkpoint: begin, redo })
    }

    /// Copies the database to `folder` while it is used: its pages, and the log that makes them consistent.
    ///
    /// # Errors
    /// `Archive` if there is something in the folder; `Corrupt` names a damaged page; what the file system reports, or
    /// `cancelled`.
    pub fn write_base(
        &self,
        env: &Env,
        folder: &Path,
        parent: Option<&Path>,
        space: &SpaceMap,
        collect: impl FnOnce() -> Vec<u8>,
        watch: WatchPages<'_>,
    ) -> Result<BaseReport, StorageError> {
        let began = env.clock.unix_micros();
        let Some(_copying) = self.core.unlogged.begin_base() else {
            let problem = "a COPY … WITH (nolog) is under way, whose rows a base backup would lack";
            return Err(StorageError::Archive { problem: problem.to_owned() });
        };
        // What is in the log folder now stays until it was read.
        let oldest = self.core.wal.live_log().first().map_or(self.core.wal.durable(), |live| live.first);
        let pin_of_log = parent.map(|_| self.core.wal.pin_anyway(oldest));
        let (superblock, pin) = {
            let one = self.checkpoints_held(env, &mut || watch(0, 0))?;
            self.checkpoint_alone(&one, &mut |_| watch(0, 0), collect)?;
            let superblock = *self.superblock.lock();
            (superblock, self.core.wal.pin_anyway(superblock.redo))
        };
        let target = self.archiver.status().target;
        let increment = match parent {
            None => None,
            Some(parent) => {
                let wanted = Increment { parent, archive: target.as_deref() };
                let extents = |object| space.extents_of(object);
                let upto = (superblock.redo, superblock.pages);
                Some(changed_since(&*env.vfs, &wanted, &self.core.wal, upto, &extents, &mut || watch(0, 0))?)
            }
        };
        drop(pin_of_log);
        let parts = BaseParts {
            increment,
            env,
            file: &*self.file,
            wal: &self.core.wal,
            superblock: superblock.encode(),
            page_size: self.core.pool.page_size(),
            pages: superblock.pages,
            redo: superblock.redo,
            epoch: superblock.epoch,
            began,
            has_owner: &|page| {
                let counts = |(owner, kind)| match kind {
                    crate::space::ExtentKind::Map => space.is_map_page(page),
                    crate::space::ExtentKind::Temp => false,
                    _ => !self.core.unlogged.contains(owner),
                };
                space.owner_of(page).is_some_and(counts)
            },
        };
        let report = write_base(&parts, folder, watch);
        drop(pin);
        report
    }

    /// Waits until no checkpoint is under way; the one that is hurries.
    fn checkpoints_held(
        &self,
        env: &Env,
        cancelled: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<MutexGuard<'_, ()>, StorageError> {
        self.awaiting.fetch_add(1, Ordering::AcqRel);
        let held = loop {
            match (self.checkpointing.try_lock(), cancelled()) {
                (_, Err(error)) => break Err(error),
                (Some(one), Ok(())) => break Ok(one),
                (None, Ok(())) => env.clock.sleep(LOOK_AGAIN),
            }
        };
        self.awaiting.fetch_sub(1, Ordering::AcqRel);
        held
    }

    /// The last checkpoint: afterwards the file is whole without its log, and both copies of the superblock say so. No mini-transaction
    /// may follow. One that is `small`, which is asked while nobody logs, and of which nothing is to be undone later, gives back what it
    /// kept for changes: of the file, which has so many bytes then, of log and double-write area.
    ///
    /// # Errors
    /// As [`Store::checkpoint`]; the database is recovered at the next open then.
    pub fn close(
        &self,
        small: impl FnOnce() -> Option<u64>,
        collect: impl FnOnce() -> Vec<u8>,
    ) -> Result<(), StorageError> {
        let _one = self.checkpointing.lock();
        let core = &self.core;
        core.pool.flush_all()?;
        let _alone = core.gate.close();
        let state = collect();
        let small = small();
        if small.is_some() {
            match core.wal.begin_short(state_bytes(&state)) {
                // What is there does as well.
                Ok(()) | Err(StorageError::Full { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let (begin, end) = append_state(&core.wal, &state)?;
        core.wal.flush(end)?;
        core.pool.flush_all()?;
        assert_eq!(core.pool.oldest_dirty(), None, "nobody changes pages while the database closes");
        let place = match self.write_state(&state, small) {
            Ok(place) => Some(place),
            // The log has the state, too: it stays, and the next open reads it there.
            Err(error @ StorageError::Full { .. }) => {
                tracing::warn!(%error, "the database is closed, and needs its log when it is opened again");
                None
            }
            Err(error) => return Err(error),
        };
        // Both copies, one after the other: the older one would need log, and pages, that go now (B2).
        for _ in 0..2 {
            self.write_superblock(|superblock| {
                (superblock.checkpoint, superblock.redo, superblock.has_checkpoint) = (begin, begin, true);
                superblock.complete = place.is_none();
                if let Some(place) = place {
                    (superblock.clean, superblock.state) = (true, place);
                    superblock.pages = self.pages_before(place);
                }
            })?;
        }
        let recycled = core.wal.recycle(begin);
        match (small, place) {
            (Some(bytes), Some(place)) => {
                // What stays does no harm.
                if let Err(error) = recycled.and(self.give_back(bytes, place)) {
                    tracing::warn!(%error, "a closed database takes more of the disk than it need");
                }
                Ok(())
            }
            _ => {
                core.wal.stop();
                recycled
            }
        }
    }

    /// Gives back what a small database of so many bytes needs only while it is open.
    fn give_back(&self, bytes: u64, place: StatePlace) -> Result<(), StorageError> {
        self.core.pool.give_area_back();
        let end = place.offset + u64::from(place.length);
        self.file.set_len(end).map_err(|e| StorageError::io("cutting the database file", e))?;
        self.core.wal.stop_within(bytes / LOG_SHARE)
    }

    /// Pages of the file without the state behind them.
    fn pages_before(&self, place: StatePlace) -> u32 {
        u32::try_from(place.offset / self.core.pool.page_size() as u64).unwrap_or(u32::MAX)
    }

    /// Writes the state behind the last page: that of a `small` database of so many bytes, or of the file.
    fn write_state(&self, state: &[u8], small: Option<u64>) -> Result<StatePlace, StorageError> {
        let page_size = self.core.pool.page_size() as u64;
        let closing = |e| StorageError::io("writing the last checkpoint's state", e);
        let length = || self.file.len().map_err(closing);
        let offset = small.map_or_else(length, Ok)?.next_multiple_of(page_size);
        self.file.write_at(state, offset).map_err(closing)?;
        self.file.sync_data().map_err(closing)?;
        let length = u32::try_from(state.len()).expect("the state is far shorter than 4 GiB");
        Ok(StatePlace { offset, length, crc: crc32c::crc32c(state) })
    }

    /// Makes all pages of these extents durable, though no log tells of them. Nobody may change them meanwhile.
    ///
    /// # Errors
    /// Failed writes and syncs, which poison.
    pub(crate) fn flush_unlogged(&self, runs: &[ExtentRun]) -> Result<(), StorageError> {
        for run in runs {
            self.core.pool.flush_range(run.first..run.first.offset(run.pages))?;
        }
        self.file.sync_data().map_err(|e| {
            // Which of them are durable is unknown now.
            let error = StorageError::sync("syncing the database file", e);
            error.ends_the_engine();
            self.core.poison(&error);
            error
        })
    }

    fn write_superblock(&self, change: impl FnOnce(&mut Superblock)) -> Result<(), StorageError> {
        let mut current = self.superblock.lock();
        let mut next = *current;
        next.pages = file_pages(&*self.file, self.core.pool.page_size())?;
        change(&mut next);
        // The length it names must be durable before it is.
        let synced = self.file.sync_data().map_err(|e| StorageError::sync("syncing the database file", e));
        match synced.and_then(|()| next.write(&*self.file)) {
            Ok(written) => {
                *current = written;
                Ok(())
            }
            // Only the older copy is harmed by that, and it is the one that is written next time.
            Err(error @ StorageError::Full { .. }) => Err(error),
            Err(error) => {
                // Which copy is whole is unknown now.
                error.ends_the_engine();
                self.core.poison(&error);
                Err(error)
            }
        }
    }
}

/// Room in the log for a checkpoint's state.
fn state_bytes(state: &[u8]) -> u64 {
    state.len() as u64 + 4096
}

/// Appends a checkpoint's state in groups that follow each other. Nobody else appends meanwhile.
fn append_state(wal: &Wal, state: &[u8]) -> Result<(Lsn, Lsn), StorageError> {
    let _room = wal.reserve_kept(state_bytes(state))?;
    let mut parts: Vec<&[u8]> = state.chunks(STATE_PART_BYTES).collect();
    if parts.is_empty() {
        parts.push(&[]);
    }
    let count = u32::try_from(parts.len()).expect("the state is far shorter than 4 GiB");
    let begin = wal.appended();
    let mut end = begin;
    for (index, part) in (0u32..).zip(parts) {
        let mut group = Group::new(TxnId::NONE);
        group.push_with(RecordKind::CHECKPOINT, PageId::NONE, |out| {
            out.extend_from_slice(&index.to_le_bytes());
            out.extend_from_slice(&count.to_le_bytes());
            out.extend_from_slice(part);
        });
        let (start, next) = wal.append(&mut group)?;
        assert_eq!(start, end, "a checkpoint is alone while it appends");
        end = next;
    }
    Ok((begin, end))
}

fn lock(file: &dyn VfsFile) -> Result<(), StorageError> {
    match file.try_lock().map_err(|e| StorageError::io("locking the database file", e))? {
        true => Ok(()),
        false => Err(StorageError::Locked),
    }
}

fn file_pages(file: &dyn VfsFile, page_size: usize) -> Result<u32, StorageError> {
    let length = file.len().map_err(|e| StorageError::io("the database file", e))?;
    Ok(u32::try_from(length / page_size as u64).unwrap_or(u32::MAX))
}

fn sync_parent(env: &Env, path: &Path) -> Result<(), StorageError> {
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    env.vfs.sync_dir(parent).map_err(|e| StorageError::io("syncing the database's folder", e))
}

/// A log without its database is not overwritten: it is what is left of a database whose file was taken away, or lies elsewhere.
fn refuse_lone_log(vfs: &dyn Vfs, path: &Path, dir: &Path) -> Result<(), StorageError> {
    let failed = |e| StorageError::io(format!("looking for {}", dir.display()), e);
    if vfs.exists(path).map_err(failed)? || !vfs.exists(dir).map_err(failed)? {
        return Ok(());
    }
    let is_segment = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "log");
    if !vfs.list_dir(dir).map_err(failed)?.iter().any(is_segment) {
        return Ok(());
    }
    let what = format!(
        "there is no file {}, but {} holds the log of a database; bring the file back, or move that folder away",
        path.display(),
        dir.display()
    );
    Err(StorageError::NotADatabase { what })
}

fn remove_segments(env: &Env, dir: &Path) -> Result<(), StorageError> {
    let removing = |e| StorageError::io("removing an old log", e);
    for path in env.vfs.list_dir(dir).map_err(removing)? {
        if path.extension().is_some_and(|extension| extension == "log") {
            env.vfs.remove_file(&path).map_err(removing)?;
        }
    }
    env.vfs.sync_dir(dir).map_err(removing)
}

fn open_doublewrite(env: &Env, dir: &Path) -> Result<Arc<dyn VfsFile>, StorageError> {
    let opening = |e| StorageError::io("opening the double-write area", e);
    let area = env.vfs.open(&dir.join("doublewrite"), OpenMode::CREATE).map_err(opening)?;
    env.vfs.sync_dir(dir).map_err(opening)?;
    Ok(area)
}

fn open_core(
    env: &Env,
    pool: PoolOptions,
    file: &Arc<dyn VfsFile>,
    area: Arc<dyn VfsFile>,
    wal: Arc<Wal>,
    redo: &'static dyn PageRedo,
) -> Result<Core, StorageError> {
    let gate: Arc<dyn LogGate> = Arc::clone(&wal) as Arc<dyn LogGate>;
    let bounds =
        PageBounds::within(usize::try_from(pool.capacity_bytes / BOUNDS_SHARE).unwrap_or(usize::MAX));
    let pool = BufferPool::new(pool, env, Arc::clone(file), area, gate)?;
    Ok(Core {
        pool,
        wal,
        gate: CheckpointGate::default(),
        redo,
        clean: CleanPages::default(),
        bounds,
        unlogged: UnloggedObjects::default(),
    })
}
