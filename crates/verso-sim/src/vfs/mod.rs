//! A disk in memory that forgets what was not synced, fails on request and can lose power at any operation.
//!
//! ```text
//! file    live bytes  ◄─ what reads see
//!         durable bytes + pending changes ─sync_data─► durable bytes
//! names   live table  ;  durable table + pending changes ─sync_dir─► durable table
//! crash   durable, plus any mix of pending sectors and, per directory, a prefix of pending name changes
//! ```
//!
//! D1. A crash leaves in each 512-byte sector one of the contents it had since the last sync, sector by sector;
//!     a file's length is one that it had since then. Sectors never synced may read as zeroes.
//! D2. A sync covers what was written before it began; what is written while it runs stays pending.
//! D3. A name created, renamed or removed is durable only after `sync_dir` of its directory; unsynced changes of
//!     one directory survive as a prefix in their order. Syncing a file does not sync its name.
//! D4. After a failed sync the pending sectors are durable or not, at random, and no later sync writes them.
//! D5. Handles die with the power: every operation on one from before is an error, and its lock is gone.

mod disk;
mod faults;
mod file;
mod inode;
mod names;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use verso_env::sync::pause_point;
use verso_env::{Clock, OpenMode, Vfs, VfsFile};

use self::disk::Disk;
pub use self::faults::{DiskStats, FaultPlan, Operation, OperationKind};
use self::file::SimFile;
use self::inode::Loss;
use crate::clock::SimClock;
use crate::rng::Rng;

/// Bytes that are written all or not at all.
pub const SECTOR_BYTES: usize = 512;

/// A simulated file system; clones are the same one.
#[derive(Clone)]
pub struct SimVfs {
    shared: Arc<Shared>,
}

/// What handles and the file system share.
struct Shared {
    disk: Mutex<Disk>,
    clock: SimClock,
}

impl SimVfs {
    /// An empty disk whose random outcomes come from `seed`; syncs take time of `clock`.
    pub fn new(seed: u64, clock: &SimClock) -> SimVfs {
        SimVfs::over(Disk::new(Rng::new(seed)), clock)
    }

    fn over(disk: Disk, clock: &SimClock) -> SimVfs {
        SimVfs { shared: Arc::new(Shared { disk: Mutex::new(disk), clock: clock.clone() }) }
    }

    /// Cuts the power and restores it: the disk is left as by D1 and D3, chosen by `seed`. The fault plan ends.
    pub fn crash(&self, seed: u64) {
        self.shared.disk.lock().crash(&mut Rng::new(seed), Loss::Random);
    }

    /// As [`SimVfs::crash`], but exactly what was synced survives.
    pub fn crash_losing_all(&self) {
        self.shared.disk.lock().crash(&mut Rng::new(0), Loss::Everything);
    }

    /// As [`SimVfs::crash`], but everything written survives: a killed process, not a power cut.
    pub fn crash_losing_nothing(&self) {
        self.shared.disk.lock().crash(&mut Rng::new(0), Loss::Nothing);
    }

    /// Another disk as a crash now would leave it, in the time of `clock`; this one goes on.
    pub fn fork_crashed(&self, seed: u64, clock: &SimClock) -> SimVfs {
        let mut disk = self.shared.disk.lock().clone();
        disk.crash(&mut Rng::new(seed), Loss::Random);
        SimVfs::over(disk, clock)
    }

    /// Cuts the power: every operation fails from now on, until [`SimVfs::crash`] restores it.
    pub fn power_off(&self) {
        self.shared.disk.lock().is_off = true;
    }

    /// Whether the power is off, by [`SimVfs::power_off`] or by the fault plan.
    pub fn is_off(&self) -> bool {
        self.shared.disk.lock().is_off
    }

    /// Installs what shall go wrong and counts operations anew.
    pub fn set_faults(&self, plan: FaultPlan) {
        self.shared.disk.lock().faults.install(plan);
    }

    /// Operations that change the disk since [`SimVfs::set_faults`] (or the start): the crash points there are.
    pub fn change_count(&self) -> u64 {
        self.shared.disk.lock().faults.change_count()
    }

    /// Counters since the start.
    pub fn stats(&self) -> DiskStats {
        self.shared.disk.lock().faults.stats
    }

    /// Starts recording operations, with none so far.
    pub fn start_trace(&self) {
        self.shared.disk.lock().faults.trace = Some(Vec::new());
    }

    /// Ends recording and hands over what was recorded.
    pub fn take_trace(&self) -> Vec<Operation> {
        self.shared.disk.lock().faults.trace.take().unwrap_or_default()
    }

    /// Bytes of disk space in use.
    pub fn used_bytes(&self) -> u64 {
        self.shared.disk.lock().used_bytes()
    }

    /// The bytes of a file as a program would read them.
    ///
    /// # Errors
    /// `NotFound`.
    pub fn read_file(&self, path: &Path) -> io::Result<Vec<u8>> {
        let disk = self.shared.disk.lock();
        let inode = disk.names.file(path)?;
        Ok(disk.inode(inode).live().to_vec())
    }

    /// Replaces a file by `bytes`, durable at once; an old or foreign file for a test to find.
    ///
    /// # Errors
    /// `NotFound` for the directory.
    pub fn write_file(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut disk = self.shared.disk.lock();
        let inode = disk.open_inode(path, OpenMode::CREATE)?;
        disk.inode_mut(inode).replace(bytes);
        disk.names.sync_all();
        Ok(())
    }

    /// Flips one bit of a file, on the disk and for readers.
    ///
    /// # Errors
    /// `NotFound`; `InvalidInput` behind the end.
    pub fn flip_bit(&self, path: &Path, offset: u64, bit: u8) -> io::Result<()> {
        let mut disk = self.shared.disk.lock();
        let inode = disk.names.file(path)?;
        disk.inode_mut(inode).flip_bit(offset, bit)
    }
}

impl Shared {
    /// Lets the time of a sync pass, in which other threads run.
    fn take_sync_time(&self) {
        let micros = self.disk.lock().rng.between(20, 300);
        self.clock.sleep(Duration::from_micros(micros));
    }
}

impl Vfs for SimVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        pause_point();
        let mut disk = self.shared.disk.lock();
        let creates = (mode.create || mode.create_new) && !disk.names.exists(path);
        let kind = if creates || mode.truncate { OperationKind::Create } else { OperationKind::Open };
        disk.begin(kind, path)?;
        let inode = disk.open_inode(path, mode)?;
        let (handle, boot) = disk.new_handle();
        Ok(Arc::new(SimFile::new(self.shared.clone(), path, inode, handle, boot, mode.read_only)))
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        pause_point();
        let disk = self.shared.disk.lock();
        disk.check_power()?;
        Ok(disk.names.exists(path))
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        pause_point();
        let mut disk = self.shared.disk.lock();
        disk.begin(OperationKind::Remove, path)?;
        disk.names.remove_file(path)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        pause_point();
        let mut disk = self.shared.disk.lock();
        disk.begin(OperationKind::Rename, to)?;
        disk.names.rename(from, to)
    }

    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        pause_point();
        let mut disk = self.shared.disk.lock();
        disk.begin(OperationKind::CreateDir, path)?;
        disk.names.create_dir_all(path)
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        pause_point();
        let mut disk = self.shared.disk.lock();
        disk.begin(OperationKind::SyncDir, path)?;
        disk.names.sync_dir(path)
    }

    fn list_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        pause_point();
        let disk = self.shared.disk.lock();
        disk.check_power()?;
        disk.names.list_dir(path)
    }

    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        pause_point();
        let mut disk = self.shared.disk.lock();
        disk.begin(OperationKind::Remove, path)?;
        disk.names.remove_dir_all(path)
    }
}

#[cfg(test)]
mod tests;
