//! A disk that can be made to wait, and to fail.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use verso_env::sync::{Condvar, Mutex};
use verso_env::{Env, OpenMode, Vfs, VfsFile};

/// A disk whose syncs wait while it is shut, and fail while it is broken.
#[derive(Debug, Default)]
pub struct Gate {
    /// Whether it is shut, and how many wait.
    state: Mutex<(bool, usize)>,
    broken: AtomicBool,
    changed: Condvar,
}

impl Gate {
    /// The world with a gate before its disk, open so far.
    pub fn before(mut env: Env) -> (Env, Arc<Gate>) {
        let gate = Arc::new(Gate::default());
        env.vfs = Arc::new(GatedVfs(env.vfs, Arc::clone(&gate)));
        (env, gate)
    }

    /// Shuts or opens it.
    pub fn set(&self, shut: bool) {
        self.state.lock().0 = shut;
        self.changed.notify_all();
    }

    /// Syncs fail from now on, or do not.
    pub fn break_syncs(&self, broken: bool) {
        self.broken.store(broken, Ordering::SeqCst);
    }

    fn pass(&self) -> io::Result<()> {
        let mut state = self.state.lock();
        state.1 += 1;
        self.changed.notify_all();
        self.changed.wait_while(&mut state, |(shut, _)| *shut);
        state.1 -= 1;
        if self.broken.load(Ordering::SeqCst) {
            Err(io::Error::other("simulated failure of a sync"))
        } else {
            Ok(())
        }
    }

    /// Returns when a sync waits.
    pub fn until_somebody_waits(&self) {
        self.changed.wait_while(&mut self.state.lock(), |(_, waiting)| *waiting == 0);
    }

    /// Waits until something changes, at most that long.
    pub fn changes_within(&self, time: Duration) {
        self.changed.wait_for(&mut self.state.lock(), time);
    }
}

struct GatedVfs(Arc<dyn Vfs>, Arc<Gate>);
struct GatedFile(Arc<dyn VfsFile>, Arc<Gate>);

impl Vfs for GatedVfs {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        Ok(Arc::new(GatedFile(self.0.open(path, mode)?, Arc::clone(&self.1))))
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.0.exists(path)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.0.remove_file(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }
    fn list_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.0.list_dir(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.0.remove_dir_all(path)
    }
}

impl VfsFile for GatedFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.0.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(buf, offset)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.1.pass()?;
        self.0.sync_data()
    }
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }
    fn preallocate(&self, offset: u64, len: u64) -> io::Result<()> {
        self.0.preallocate(offset, len)
    }
    fn try_lock(&self) -> io::Result<bool> {
        self.0.try_lock()
    }
}
