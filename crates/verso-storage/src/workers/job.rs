//! A job of maintenance as others see it.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use verso_env::sync::Mutex;

use crate::heap::Heap;
use crate::page::ObjectId;

/// One job: what it is, how far it is, and from which part on it is to stop.
#[derive(Debug)]
pub struct Job {
    number: u64,
    what: &'static str,
    session: u64,
    table: AtomicU32,
    index: AtomicU32,
    /// What it does, and what it counts.
    phase: Mutex<(&'static str, &'static str)>,
    done: AtomicU64,
    /// The table whose pages are what is done, where a statement fills it.
    filled: Mutex<Option<Arc<Heap>>>,
    total: AtomicU64,
    pub(super) workers: AtomicU32,
    rows: AtomicU64,
    held_bytes: AtomicU64,
    spilled_bytes: AtomicU64,
    started_nanos: u64,
    /// Parts from this one on stop.
    pub(super) stop: AtomicUsize,
}

/// What a list of jobs says of one.
#[derive(Clone, Debug)]
pub struct JobInfo {
    /// Its number.
    pub number: u64,
    /// The statement's first words.
    pub what: &'static str,
    /// The session that asked for it; 0 for housekeeping.
    pub session: u64,
    /// The table it works at.
    pub table: Option<ObjectId>,
    /// The index that it makes.
    pub index: Option<ObjectId>,
    /// What it does now.
    pub phase: &'static str,
    /// What is counted.
    pub unit: &'static str,
    /// Pages done in this phase.
    pub done: u64,
    /// Pages of this phase; 0 where that is not known.
    pub total: u64,
    /// Threads that work.
    pub workers: u32,
    /// Rows read or written so far, by all phases; 0 where they are not counted.
    pub rows: u64,
    /// Memory held.
    pub held_bytes: u64,
    /// Bytes written to temporary files.
    pub spilled_bytes: u64,
    /// When it began, by the monotonic clock.
    pub started_nanos: u64,
}

impl Job {
    pub(super) fn new(number: u64, what: &'static str, session: u64, started_nanos: u64) -> Job {
        Job {
            number,
            what,
            session,
            table: AtomicU32::new(0),
            index: AtomicU32::new(0),
            phase: Mutex::new(("initializing", "pages")),
            done: AtomicU64::new(0),
            filled: Mutex::new(None),
            total: AtomicU64::new(0),
            workers: AtomicU32::new(1),
            rows: AtomicU64::new(0),
            held_bytes: AtomicU64::new(0),
            spilled_bytes: AtomicU64::new(0),
            started_nanos,
            stop: AtomicUsize::new(usize::MAX),
        }
    }

    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// A new phase of so many pages.
    pub fn enter(&self, phase: &'static str, total: u64) {
        self.enter_of(phase, total, "pages");
    }

    /// A new phase of so many of something.
    pub fn enter_of(&self, phase: &'static str, total: u64, unit: &'static str) {
        *self.phase.lock() = (phase, unit);
        *self.filled.lock() = None;
        self.done.store(0, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// A new phase in which a statement fills a table, about as many pages as `total`.
    pub fn enter_filling(&self, phase: &'static str, heap: Arc<Heap>, total: u64) {
        self.enter(phase, total);
        *self.filled.lock() = Some(heap);
    }

    /// It is at this table, and this index.
    pub fn at(&self, table: ObjectId, index: Option<ObjectId>) {
        self.table.store(table.0, Ordering::Relaxed);
        self.index.store(index.map_or(0, |index| index.0), Ordering::Relaxed);
    }

    /// Pages are done.
    #[inline]
    pub fn advance(&self, pages: u64) {
        self.done.fetch_add(pages, Ordering::Relaxed);
    }

    /// So much of this phase is done.
    pub fn advance_to(&self, done: u64, total: u64) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    /// Rows were read or written.
    pub fn moved(&self, rows: u64) {
        self.rows.fetch_add(rows, Ordering::Relaxed);
    }

    /// So many threads work, which are no workers of the pool.
    pub fn works_with(&self, threads: u32) {
        self.workers.store(threads, Ordering::Relaxed);
    }

    /// Pages done in this phase.
    pub fn done(&self) -> u64 {
        match &*self.filled.lock() {
            // It may need more pages than the table before.
            Some(heap) => u64::from(heap.page_count()).min(self.total.load(Ordering::Relaxed)),
            None => self.done.load(Ordering::Relaxed),
        }
    }

    /// A worker holds `now` bytes and held `before`.
    pub fn hold(&self, before: u64, now: u64) {
        self.held_bytes.fetch_add(now.wrapping_sub(before), Ordering::Relaxed);
    }

    /// Bytes that all its workers hold.
    pub fn held_bytes(&self) -> u64 {
        self.held_bytes.load(Ordering::Relaxed)
    }

    /// Bytes were written to temporary files.
    pub fn spilled(&self, bytes: u64) {
        self.spilled_bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    fn info(&self) -> JobInfo {
        let (phase, unit) = *self.phase.lock();
        let object = |of: &AtomicU32| Some(of.load(Ordering::Relaxed)).filter(|id| *id != 0).map(ObjectId);
        JobInfo {
            number: self.number,
            what: self.what,
            session: self.session,
            table: object(&self.table),
            index: object(&self.index),
            phase,
            unit,
            done: self.done(),
            total: self.total.load(Ordering::Relaxed),
            workers: self.workers.load(Ordering::Relaxed),
            rows: self.rows.load(Ordering::Relaxed),
            held_bytes: self.held_bytes(),
            spilled_bytes: self.spilled_bytes.load(Ordering::Relaxed),
            started_nanos: self.started_nanos,
        }
    }
}

/// The jobs under way.
#[derive(Debug, Default)]
pub(super) struct Jobs {
    list: Mutex<(u64, BTreeMap<u64, Arc<Job>>)>,
}

impl Jobs {
    pub fn list(&self) -> Vec<JobInfo> {
        self.list.lock().1.values().map(|job| job.info()).collect()
    }

    /// `table`: where the job begins; nobody sees it in the list without.
    pub fn begin(
        self: &Arc<Self>,
        what: &'static str,
        session: u64,
        table: Option<ObjectId>,
        now: u64,
    ) -> Listed {
        let mut list = self.list.lock();
        list.0 += 1;
        let number = list.0;
        let job = Arc::new(Job::new(number, what, session, now));
        if let Some(table) = table {
            job.at(table, None);
        }
        list.1.insert(number, Arc::clone(&job));
        Listed { jobs: Arc::clone(self), job }
    }
}

/// A job in the list, which it leaves when this is dropped.
#[derive(Debug)]
pub struct Listed {
    jobs: Arc<Jobs>,
    job: Arc<Job>,
}

impl Listed {
    /// The job.
    #[must_use]
    pub fn job(&self) -> &Arc<Job> {
        &self.job
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        self.jobs.list.lock().1.remove(&self.job.number);
    }
}
