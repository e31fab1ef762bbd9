//! A database of 100 GB, of which the disk has next to nothing: what opening it reads and holds.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;

use verso_env::{Env, OpenMode, Vfs};

use super::*;
use crate::engine::{Engine, EngineOptions};

/// The real file system, on which room that is reserved is a hole; counts the bytes that are read.
struct Holes {
    real: Arc<dyn Vfs>,
    read: Arc<AtomicU64>,
}

struct HoledFile {
    real: Arc<dyn VfsFile>,
    read: Arc<AtomicU64>,
}

impl Vfs for Holes {
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Arc<dyn VfsFile>> {
        let real = self.real.open(path, mode)?;
        Ok(Arc::new(HoledFile { real, read: Arc::clone(&self.read) }))
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.real.exists(path)
    }
    fn remove_file(&self, path: &Path) -> io::Result<()> {
        self.real.remove_file(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.real.rename(from, to)
    }
    fn create_dir_all(&self, path: &Path) -> io::Result<()> {
        self.real.create_dir_all(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.real.sync_dir(path)
    }
    fn list_dir(&self, path: &Path) -> io::Result<Vec<PathBuf>> {
        self.real.list_dir(path)
    }
    fn remove_dir_all(&self, path: &Path) -> io::Result<()> {
        self.real.remove_dir_all(path)
    }
}

impl VfsFile for HoledFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.read.fetch_add(buf.len() as u64, Ordering::Relaxed);
        self.real.read_at(buf, offset)
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.real.write_at(buf, offset)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.real.sync_data()
    }
    fn len(&self) -> io::Result<u64> {
        self.real.len()
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.real.set_len(len)
    }
    fn preallocate(&self, offset: u64, len: u64) -> io::Result<()> {
        let end = offset + len;
        if self.real.len()? < end { self.real.set_len(end) } else { Ok(()) }
    }
    fn try_lock(&self) -> io::Result<bool> {
        self.real.try_lock()
    }
}

#[test]
fn opening_100_gigabytes_reads_their_map_and_holds_a_run_for_each_part_of_it() {
    const BYTES: u64 = 100_000_000_000;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("large.verso");
    let read = Arc::new(AtomicU64::new(0));
    let real = Env::real();
    let holes = Holes { real: Arc::clone(&real.vfs), read: Arc::clone(&read) };
    let env = Env { vfs: Arc::new(holes), ..real };
    let options = EngineOptions { background: false, ..EngineOptions::default() };
    let engine = Engine::create(env.clone(), &path, options.clone()).unwrap();
    let page = engine.page_size() as u64;
    let part = format::region_units(engine.page_size()) - 1;
    // Two tables whose pages take turns, in the largest pieces that there are.
    let mut pages = 0;
    for turn in 0.. {
        let shared = engine.shared();
        let mut mini = Mini::begin(shared.core(), crate::page::TxnId::NONE);
        let (owner, kind) = (ObjectId(900 + turn % 2), ExtentKind::Object);
        pages += u64::from(shared.space.allocate(&mut mini, owner, kind, part, false).unwrap().pages);
        mini.commit().unwrap();
        if pages * page >= BYTES {
            break;
        }
    }
    engine.close().unwrap();
    drop(engine);
    assert!(env.vfs.open(&path, OpenMode::READ_ONLY).unwrap().len().unwrap() >= BYTES);

    read.store(0, Ordering::Relaxed);
    let engine = Engine::open(env, &path, options).unwrap();
    let (regions, runs) = {
        let runs = engine.shared().space.runs.lock();
        (u64::from(runs.regions), runs.used.len() + runs.free.len())
    };
    let read = read.load(Ordering::Relaxed);
    // A page of the map for each part of the file, and a few others.
    assert!(read < (regions + 200) * page && read < BYTES / 1000, "{read} bytes for {regions} parts");
    assert!(runs as u64 <= 3 * regions + 20, "{runs} runs for {regions} parts");
    let pool = engine.statistics().pool;
    assert!(pool.reads <= regions + 100, "{pool:?}");
    engine.close().unwrap();
}
