//! The pool over files in memory that record what is done to them.

mod basics;
mod churn;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use verso_env::{Env, VfsFile};

use super::*;
use crate::page::{ObjectId, PageKind, header};

pub(super) const PAGE_SIZE: usize = 4096;

/// What happened, in order.
pub(super) type Trace = Arc<Mutex<Vec<String>>>;

/// A file in memory that notes writes and syncs, and fails the ones it is told to.
pub(super) struct TestFile {
    name: &'static str,
    bytes: Mutex<Vec<u8>>,
    trace: Trace,
    pub(super) fail_sync: AtomicBool,
    /// No file becomes longer.
    pub(super) is_full: AtomicBool,
    pub(super) reads: AtomicU64,
}

impl TestFile {
    pub(super) fn new(name: &'static str, trace: &Trace) -> Arc<TestFile> {
        Arc::new(TestFile {
            name,
            bytes: Mutex::new(Vec::new()),
            trace: Arc::clone(trace),
            fail_sync: AtomicBool::new(false),
            is_full: AtomicBool::new(false),
            reads: AtomicU64::new(0),
        })
    }

    fn note(&self, what: String) {
        self.trace.lock().unwrap().push(format!("{} {what}", self.name));
    }

    pub(super) fn change(&self, work: impl FnOnce(&mut Vec<u8>)) {
        work(&mut self.bytes.lock().unwrap());
    }
}

impl VfsFile for TestFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.reads.fetch_add(1, Ordering::Relaxed);
        let bytes = self.bytes.lock().unwrap();
        let there = bytes.get(offset as usize..).unwrap_or(&[]);
        let length = there.len().min(buf.len());
        buf[..length].copy_from_slice(&there[..length]);
        Ok(length)
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> io::Result<()> {
        self.note(format!("write {}+{}", offset / PAGE_SIZE as u64, buf.len() / PAGE_SIZE));
        let mut bytes = self.bytes.lock().unwrap();
        let end = offset as usize + buf.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset as usize..end].copy_from_slice(buf);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.note("sync".to_owned());
        if self.fail_sync.load(Ordering::Relaxed) { Err(io::Error::other("sync failed")) } else { Ok(()) }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes.lock().unwrap().len() as u64)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.bytes.lock().unwrap().resize(len as usize, 0);
        Ok(())
    }

    fn preallocate(&self, offset: u64, len: u64) -> io::Result<()> {
        let mut bytes = self.bytes.lock().unwrap();
        let end = (offset + len) as usize;
        if bytes.len() < end {
            if self.is_full.load(Ordering::Relaxed) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            bytes.resize(end, 0);
        }
        Ok(())
    }

    fn try_lock(&self) -> io::Result<bool> {
        Ok(true)
    }
}

/// A log that is as durable as one asks, and notes it.
pub(super) struct TestLog {
    trace: Trace,
    pub(super) durable: AtomicU64,
}

impl LogGate for TestLog {
    fn flush_to(&self, lsn: Lsn) -> Result<(), StorageError> {
        self.trace.lock().unwrap().push(format!("log {lsn}"));
        self.durable.fetch_max(lsn.0, Ordering::Relaxed);
        Ok(())
    }
}

/// A pool and what it stands on.
pub(super) struct World {
    pub(super) trace: Trace,
    pub(super) file: Arc<TestFile>,
    pub(super) area: Arc<TestFile>,
    pub(super) log: Arc<TestLog>,
    pub(super) pool: Arc<BufferPool>,
}

pub(super) fn options(frames: u64) -> PoolOptions {
    PoolOptions {
        page_size: PAGE_SIZE,
        capacity_bytes: frames * PAGE_SIZE as u64,
        capacity_max_bytes: 4 * frames * PAGE_SIZE as u64,
        max_database_bytes: if cfg!(miri) { 1 << 20 } else { 1 << 36 },
        // The cleaner stays out of the way of tests that count, unless they ask for it.
        lru_min_dirty: 100,
        lru_max_dirty: 101,
    }
}

impl World {
    pub(super) fn new(options: PoolOptions) -> World {
        let trace = Trace::default();
        let (file, area) = (TestFile::new("file", &trace), TestFile::new("area", &trace));
        World::over(options, trace, file, area)
    }

    pub(super) fn over(
        options: PoolOptions,
        trace: Trace,
        file: Arc<TestFile>,
        area: Arc<TestFile>,
    ) -> World {
        let log = Arc::new(TestLog { trace: Arc::clone(&trace), durable: AtomicU64::new(0) });
        let pool = BufferPool::new(options, &Env::real(), file.clone(), area.clone(), log.clone()).unwrap();
        World { trace, file, area, log, pool }
    }

    /// The same files under a new pool; what was not flushed is gone.
    pub(super) fn reopen(self) -> World {
        let World { trace, file, area, log: _, pool } = self;
        let options = pool.core.options.clone();
        drop(pool);
        World::over(options, trace, file, area)
    }

    /// Creates a data page of a user's table holding `value`, logged from `lsn` to `lsn` + 1.
    pub(super) fn create(&self, page: u32, value: u64, lsn: u64) {
        self.create_of(ObjectId(1007), page, value, lsn);
    }

    /// As [`World::create`], of a table.
    pub(super) fn create_of(&self, owner: ObjectId, page: u32, value: u64, lsn: u64) {
        let mut page = self.pool.create(PageId(page)).unwrap();
        page.init(PageKind::Data, owner, 1);
        put_value(&mut page, value);
        page.set_lsn(Lsn(lsn), Lsn(lsn + 1));
    }

    pub(super) fn update(&self, page: u32, value: u64, lsn: u64) {
        let mut page = self.pool.write(PageId(page)).unwrap();
        put_value(&mut page, value);
        page.set_lsn(Lsn(lsn), Lsn(lsn + 1));
    }

    pub(super) fn value(&self, page: u32) -> u64 {
        value(&self.pool.read(PageId(page)).unwrap())
    }

    /// What was noted since the last call.
    pub(super) fn take_trace(&self) -> Vec<String> {
        std::mem::take(&mut *self.trace.lock().unwrap())
    }
}

/// Writes `value` all over the page's body.
pub(super) fn put_value(page: &mut [u8], value: u64) {
    for chunk in page[header::SIZE..].chunks_exact_mut(8) {
        chunk.copy_from_slice(&value.to_le_bytes());
    }
}

/// The value that is all over the page's body.
pub(super) fn value(page: &[u8]) -> u64 {
    let chunks = page[header::SIZE..].chunks_exact(8);
    let mut values = chunks.map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap()));
    let first = values.next().unwrap();
    assert!(values.all(|value| value == first), "the page holds one value throughout");
    first
}
