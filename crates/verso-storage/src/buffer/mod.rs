//! The buffer pool: pages in memory, addressed by arithmetic, latched by one word each.
//!
//! Address space for the largest possible database is reserved once; page `n` lives at `base + n × page size`
//! whenever it is in memory (*vmcache*: Leis et al., "Virtual-Memory Assisted Buffer Management", SIGMOD 2023). So a
//! hit takes one atomic operation and no look-up; memory comes with the first touch and goes by `madvise`. The file
//! is read and written by positional calls through the [`Vfs`](verso_env::Vfs), never mapped.
//!
//! ```text
//!  read(page) ─► word: latch shared ── resident ─► guard: &[u8]
//!                        └─ absent ─► claim ─► frame (evict ► flush) ─► read file ─► checksum ─► guard
//! ```
//!
//! B1. Page bytes reach other modules only through a guard that holds the page's latch.
//! B2. What comes from the file has passed its checksum, and says it is the page that was asked for.
//! B3. A page goes to the file only behind its log, and whole or mendable (see [`doublewrite`]).
//! B4. Memory beyond the pool's frames does not grow with the database, except 24 bytes per page ever touched.
//! B5. A failed write or sync poisons the pool for good: nothing is written any more, changes return `Poisoned`. What is only
//!     in memory stays there, so that reads go on; those of pages whose content is not known return `Poisoned`, too.
//! B6. A write that has no room on the disk is no such failure: it is tried again, and until it is done changes return `Full`.
//!
//! Latches come before the flusher's mutex, that before the clock's, that before the free list's. A thread that
//! holds latches may need a frame, hence a flush: so the flusher only tries latches, never waits for one.
//!
//! Modules: `mapping` (addresses) ◄ `latch` (words) ◄ `frame` (guards) ◄ `evict`, `fault`, `flush`, `cleaner`.

mod abandoned;
mod cleaner;
mod damaged;
pub mod doublewrite;
mod evict;
mod fault;
mod flush;
mod frame;
mod held;
mod latch;
mod mapping;
mod owners;
mod read_ahead;
mod stats;
mod words;

#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};

use verso_env::sync::{Mutex, pause_point};
use verso_env::{Env, JoinHandle, VfsFile};

pub use self::flush::FlushProgress;
pub use self::frame::{ExclusivePage, SharedPage};
pub use self::owners::FetchCount;
pub use self::read_ahead::ReadAhead;
pub use self::stats::{PerKind, PoolStats, WriteCount};

pub use self::damaged::DamagedPage;

use self::abandoned::Abandoned;
use self::cleaner::Cleaner;
use self::damaged::DamagedPages;
use self::evict::Frames;
use self::flush::{Flusher, UnderWay};
use self::frame::{Claim, Memory};
use self::latch::{KEEP, Shared, Touch};
use self::read_ahead::ReadAheadCell;
use self::stats::{Counters, add};
use crate::error::StorageError;
use crate::failed::Failed;
use crate::page::{Lsn, ObjectId, PAGE_SIZES, PageId};
use crate::wal::LogGaps;

/// Fewest frames a pool works with.
pub const MIN_FRAMES: u64 = 16;

/// How a pool is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolOptions {
    /// Bytes per page, one of [`PAGE_SIZES`].
    pub page_size: usize,
    /// Memory for pages, in bytes; at least [`MIN_FRAMES`] pages are taken.
    pub capacity_bytes: u64,
    /// The most that it can be set to later on ([`BufferPool::set_capacity`]).
    pub capacity_max_bytes: u64,
    /// Largest database the pool can serve; less if the system does not give as much address space.
    pub max_database_bytes: u64,
    /// Percentage of dirty frames at which the page cleaner stops writing.
    pub lru_min_dirty: u8,
    /// Percentage of dirty frames at which the page cleaner starts writing.
    pub lru_max_dirty: u8,
}

impl Default for PoolOptions {
    fn default() -> PoolOptions {
        PoolOptions {
            page_size: 8192,
            capacity_bytes: 256 << 20,
            capacity_max_bytes: 0,
            max_database_bytes: if cfg!(miri) { 4 << 20 } else { 1 << 40 },
            lru_min_dirty: 50,
            lru_max_dirty: 60,
        }
    }
}

/// The log as the pool sees it.
pub trait LogGate: Send + Sync {
    /// Makes the log durable up to `lsn`; called before a page with that LSN is written.
    ///
    /// # Errors
    /// The log cannot be made durable; the page is not written then.
    fn flush_to(&self, lsn: Lsn) -> Result<(), StorageError>;
}

/// The pages of one database file in memory. Dropping it writes nothing.
pub struct BufferPool {
    core: Arc<Core>,
    cleaner_thread: Mutex<Option<JoinHandle>>,
    /// Held by who changes the capacity.
    resizing: Mutex<()>,
}

/// Frames for so many bytes.
fn frames_of(bytes: u64, options: &PoolOptions, memory: &Memory) -> usize {
    let wanted = (bytes / options.page_size as u64).max(MIN_FRAMES);
    usize::try_from(wanted.min(u64::from(memory.page_count()))).expect("limited to the page count")
}

/// With so many dirty frames the cleaner has work.
fn dirty_limit(capacity: usize, lru_max_dirty: u8) -> u64 {
    (capacity as u64 * u64::from(lru_max_dirty)).div_ceil(100).max(1)
}

/// What the pool's users and its cleaner thread share.
struct Core {
    options: PoolOptions,
    memory: Memory,
    frames: Frames,
    flusher: Mutex<Flusher>,
    under_way: UnderWay,
    cleaner: Arc<Cleaner>,
    counters: Counters,
    poisoned: Failed,
    /// A batch waits for room on the disk (B6).
    stalled: AtomicBool,
    /// Pages whose content is not known.
    abandoned: Abandoned,
    /// The shares of dirty frames, in per cent, at which the cleaner stops and starts.
    lru_dirty: [AtomicU8; 2],
    read_ahead: ReadAheadCell,
    /// First page of an extent that will be created next, most likely; 0 for none.
    ahead: AtomicU32,
    file: Arc<dyn VfsFile>,
    doublewrite: Arc<dyn VfsFile>,
    gate: Arc<dyn LogGate>,
    /// Pages changed by what was there are damaged.
    lost: OnceLock<LogGaps>,
    damaged: DamagedPages,
}

impl BufferPool {
    /// A pool over `file`, with `doublewrite` as its double-write area, and its cleaner thread.
    ///
    /// [`doublewrite::restore`] must have run before. The names of both files must be durable.
    ///
    /// # Errors
    /// Not even a little address space is to be had, or no disk space for the double-write area.
    pub fn new(
        options: PoolOptions,
        env: &Env,
        file: Arc<dyn VfsFile>,
        doublewrite: Arc<dyn VfsFile>,
        gate: Arc<dyn LogGate>,
    ) -> Result<Arc<BufferPool>, StorageError> {
        let core = Arc::new(Core::new(options, file, doublewrite, gate)?);
        core.reserve_area()?;
        let body = Arc::clone(&core);
        let thread = env.threads.try_spawn("page cleaner", Box::new(move || body.clean_until_stopped()));
        let thread = thread.map_err(|error| StorageError::io("starting the page cleaner", error))?;
        Ok(Arc::new(BufferPool { core, cleaner_thread: Mutex::new(Some(thread)), resizing: Mutex::new(()) }))
    }

    /// Latches a page for reading, waiting for writers; reads it from the file if need be.
    ///
    /// # Errors
    /// `Corrupt` when the file does not hold that page; `PoolExhausted`; errors of reading and, when a dirty page has
    /// to go first, of writing.
    #[inline]
    #[track_caller]
    pub fn read(&self, page: PageId) -> Result<SharedPage<'_>, StorageError> {
        self.core.read(page, Touch::Count)
    }

    /// As [`BufferPool::read`], for one pass over many pages: the visit does not count against eviction.
    ///
    /// # Errors
    /// As [`BufferPool::read`].
    #[inline]
    #[track_caller]
    pub fn read_for_scan(&self, page: PageId) -> Result<SharedPage<'_>, StorageError> {
        self.core.read(page, Touch::Ignore)
    }

    /// Latches a page for writing, waiting for all others; reads it from the file if need be.
    ///
    /// # Errors
    /// As [`BufferPool::read`].
    #[inline]
    #[track_caller]
    pub fn write(&self, page: PageId) -> Result<ExclusivePage<'_>, StorageError> {
        let core = &*self.core;
        let claim = core.claim(page, Touch::Count)?;
        core.enter(claim, Touch::Count)
    }

    /// As [`BufferPool::write`], for one pass over many pages: the visit does not count against eviction.
    ///
    /// # Errors
    /// As [`BufferPool::read`].
    #[inline]
    #[track_caller]
    pub fn write_for_scan(&self, page: PageId) -> Result<ExclusivePage<'_>, StorageError> {
        let core = &*self.core;
        let claim = core.claim(page, Touch::Ignore)?;
        core.enter(claim, Touch::Ignore)
    }

    /// As [`BufferPool::read`], but `None` when a writer holds the page.
    ///
    /// # Errors
    /// As [`BufferPool::read`].
    pub fn try_read(&self, page: PageId) -> Result<Option<SharedPage<'_>>, StorageError> {
        let core = &*self.core;
        pause_point();
        match core.memory.try_share(page, Touch::Count) {
            Ok(shared) => {
                core.counters.fetch(&shared);
                Ok(Some(shared))
            }
            Err(Shared::Busy) => Ok(None),
            Err(_) => Ok(self.try_write(page)?.map(ExclusivePage::downgrade)),
        }
    }

    /// As [`BufferPool::write`], but `None` when anybody holds the page.
    ///
    /// # Errors
    /// As [`BufferPool::read`].
    #[inline]
    pub fn try_write(&self, page: PageId) -> Result<Option<ExclusivePage<'_>>, StorageError> {
        self.core.try_write(page, Touch::Count)
    }

    /// As [`BufferPool::try_write`], for one pass over many pages: the visit does not count against eviction.
    ///
    /// # Errors
    /// As [`BufferPool::read`].
    pub fn try_write_for_scan(&self, page: PageId) -> Result<Option<ExclusivePage<'_>>, StorageError> {
        self.core.try_write(page, Touch::Ignore)
    }

    /// Latches a page for writing whose old content does not matter, and empties it; never reads the file.
    ///
    /// # Errors
    /// `Full` when the database would outgrow the pool's address space; `PoolExhausted`; errors of writing.
    pub fn create(&self, page: PageId) -> Result<ExclusivePage<'_>, StorageError> {
        let (mut page, clean) = self.core.take_over(page)?;
        if !clean {
            page.fill(0);
        }
        Ok(page)
    }

    /// As [`BufferPool::create`], but the page is not emptied: it holds anything until it is written over.
    ///
    /// # Errors
    /// As [`BufferPool::create`].
    pub fn take_over(&self, page: PageId) -> Result<ExclusivePage<'_>, StorageError> {
        Ok(self.core.take_over(page)?.0)
    }

    /// Brings in the memory of the pages that will be created next, if more have been created lately than it was brought
    /// in for. That takes a hundred microseconds for an extent: for who has just created a page and holds no latch any more.
    #[inline]
    pub fn prepare_ahead(&self) {
        if self.core.ahead.load(Ordering::Relaxed) != 0 {
            self.core.prepare_ahead();
        }
    }

    /// The page was freed: its content is forgotten, its changes are never written, its frame is the next to be taken.
    /// Waits for the latch.
    pub fn discard(&self, page: PageId) {
        self.discard_run(page, 1);
    }

    /// As [`BufferPool::discard`] for `count` neighbours.
    pub fn discard_run(&self, first: PageId, count: u32) {
        let core = &*self.core;
        let end = first.0.saturating_add(count).min(core.memory.page_count());
        for page in (first.0..end).map(PageId) {
            let mut claim = core.claim_waiting(page, Touch::Ignore);
            if claim.present() {
                claim.forget_changes();
                core.hollow_out(&claim);
                add(&core.counters.discards, 1);
            }
        }
    }

    /// Reads up to `count` pages from `first` on with as few calls as possible: a hint. At most an eighth of the pool
    /// is read at once; nothing is written to make room, and unreadable pages are passed over.
    pub fn prefetch(&self, first: PageId, count: u32) {
        self.core.prefetch(first, count);
    }

    /// The log position from which on the log tells what the file does not hold yet: redo may not start behind it.
    /// `None` when the file holds everything. Looks at every frame.
    pub fn oldest_dirty(&self) -> Option<Lsn> {
        self.core.oldest_dirty()
    }

    /// Makes every page durable that has been dirty since before `lsn`, and returns how many were written; `progress`
    /// hears behind each batch how far it is. Waits for writers, so the caller holds no latch; pages dirtied meanwhile need not be
    /// included.
    ///
    /// # Errors
    /// A failed write or sync, which poisons the pool.
    pub fn flush_dirty_before(
        &self,
        lsn: Lsn,
        progress: &mut dyn FnMut(FlushProgress) -> Result<(), StorageError>,
    ) -> Result<u64, StorageError> {
        self.core.flush_chosen(|first| first.is_some_and(|first| first < lsn), progress)
    }

    /// Gives room of the double-write area back, when a database is closed: what is left of it is enough to open it.
    pub fn give_area_back(&self) {
        self.core.give_area_back();
    }

    /// Makes every dirty page durable, unlogged ones too; returns how many were written.
    ///
    /// # Errors
    /// As [`BufferPool::flush_dirty_before`].
    pub fn flush_all(&self) -> Result<u64, StorageError> {
        self.core.flush_chosen(|_| true, &mut |_| Ok(()))
    }

    /// Writes every dirty page of a range to its place; the file is not synced for unlogged ones. Nobody changes them
    /// meanwhile.
    ///
    /// # Errors
    /// As [`BufferPool::flush_dirty_before`].
    pub fn flush_range(&self, pages: Range<PageId>) -> Result<u64, StorageError> {
        let pages = (pages.start.0..pages.end.0.min(self.core.memory.page_count())).map(PageId).collect();
        self.core.flush_these(pages, &mut |_| Ok(()))
    }

    /// Sets how many bytes of pages are held in memory: what is beyond leaves at once. At most as many as were said at the
    /// opening; returns how many there are now.
    ///
    /// # Errors
    /// Errors of writing the pages that leave.
    pub fn set_capacity(&self, bytes: u64) -> Result<u64, StorageError> {
        let core = &self.core;
        let _one = self.resizing.lock();
        let capacity = frames_of(bytes, &core.options, &core.memory).min(core.frames.capacity_max());
        let max = core.lru_dirty[1].load(Ordering::Relaxed);
        core.memory.set_dirty_limit(dirty_limit(capacity, max));
        core.resize(capacity)?;
        core.cleaner.nudge();
        Ok(capacity as u64 * core.options.page_size as u64)
    }

    /// The most bytes that [`BufferPool::set_capacity`] takes.
    pub fn capacity_max_bytes(&self) -> u64 {
        self.core.frames.capacity_max() as u64 * self.core.options.page_size as u64
    }

    /// The cleaner starts when so many per cent of the frames are dirty (`max`), and stops at `min`.
    pub fn set_lru_dirty(&self, min: u8, max: u8) {
        let core = &self.core;
        core.lru_dirty[0].store(min, Ordering::Relaxed);
        core.lru_dirty[1].store(max, Ordering::Relaxed);
        core.memory.set_dirty_limit(dirty_limit(core.frames.capacity(), max));
        core.cleaner.nudge();
    }

    /// How scans read ahead.
    pub fn read_ahead(&self) -> ReadAhead {
        self.core.read_ahead.get()
    }

    /// Changes that.
    pub fn set_read_ahead(&self, wanted: ReadAhead) {
        self.core.read_ahead.set(wanted);
    }

    /// Marks pages as wanted in memory, or no longer so: they are evicted only when nothing else is left.
    pub fn set_resident(&self, pages: Range<PageId>, resident: bool) {
        let end = pages.end.0.min(self.core.memory.page_count());
        for number in pages.start.0..end {
            let word = self.core.memory.word(PageId(number));
            if resident {
                word.set(KEEP)
            } else {
                word.clear(KEEP)
            };
        }
    }

    /// What the pool did and holds.
    pub fn stats(&self) -> PoolStats {
        let core = &*self.core;
        PoolStats {
            latch_waits: core.memory.latch_waits(),
            capacity_pages: core.frames.capacity() as u64,
            resident_pages: self.resident_pages(),
            dirty_pages: core.memory.dirty_pages(),
            ..core.counters.snapshot()
        }
    }

    /// How often pages of an object were latched, and read from the file first.
    pub fn fetches_of(&self, owner: ObjectId) -> FetchCount {
        self.core.counters.of_owner(owner)
    }

    /// Forgets what was counted of an object that has gone.
    pub(crate) fn forget(&self, owner: ObjectId) {
        self.core.counters.forget(owner);
    }

    /// How often pages were written, by kind and owner, in no order.
    pub fn writes_per_owner(&self) -> Vec<WriteCount> {
        self.core.counters.writes_per_owner()
    }

    /// How often a page was written as one of an object.
    pub fn writes_of_page(&self, owner: ObjectId, page: PageId) -> u64 {
        self.core.counters.writes_of_page(owner, page)
    }

    /// Bytes of pages in memory.
    pub fn resident_bytes(&self) -> u64 {
        self.resident_pages() * self.page_size() as u64
    }

    /// Most pages it holds at a time.
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.core.frames.capacity()
    }

    /// Bytes per page.
    pub fn page_size(&self) -> usize {
        self.core.memory.page_size()
    }

    /// Most pages the database can have.
    pub fn max_pages(&self) -> u32 {
        self.core.memory.page_count()
    }

    /// Notes that a page is damaged, if `error` says so: for what a checksum does not show.
    pub fn note_damage(&self, error: &StorageError) {
        self.core.damaged.note(error);
    }

    /// Whether a damaged page was met since the database was opened.
    #[must_use]
    pub fn has_damaged(&self) -> bool {
        self.core.damaged.any()
    }

    /// The damaged pages that were met since the database was opened.
    #[must_use]
    pub fn damaged(&self) -> Vec<DamagedPage> {
        self.core.damaged.list()
    }

    /// From now on pages whose newest change stood in a part of the log that was given up are corrupt: nobody knows what
    /// belongs to it. Said once, before any page is read.
    pub fn give_up(&self, lost: LogGaps) {
        // Told twice is told.
        let _ = self.core.lost.set(lost);
    }

    /// Whether some part of the log was given up once.
    pub fn has_gaps(&self) -> bool {
        self.core.lost.get().is_some_and(|lost| *lost != LogGaps::default())
    }

    /// Makes every change and every write from now on fail with `Poisoned`, because what is durable is unknown.
    pub fn poison(&self, why: Option<&StorageError>) {
        self.core.poison(why);
    }

    /// Whether the pool is poisoned.
    pub fn is_poisoned(&self) -> bool {
        self.core.poisoned.has()
    }

    /// Whether pages that have to be written wait for room on the disk.
    pub(crate) fn is_stalled(&self) -> bool {
        self.core.is_stalled()
    }

    /// Whether pages may be changed: asked before the first change of several.
    ///
    /// # Errors
    /// `Poisoned`; `Full` while pages that have to be written have no room on the disk, which is tried once more here.
    #[inline]
    pub fn check_changes(&self) -> Result<(), StorageError> {
        let core = &*self.core;
        if core.poisoned.has() || core.stalled.load(Ordering::Relaxed) {
            core.try_once_more()
        } else {
            Ok(())
        }
    }

    /// What the page holds is neither what it was nor what it was to become: nobody may read it any more. The pool is
    /// poisoned.
    pub(crate) fn abandon(&self, page: ExclusivePage<'_>) {
        debug_assert!(self.is_poisoned(), "pages are abandoned because nothing can be changed any more");
        let core = &*self.core;
        let mut claim = page.into_claim();
        core.abandoned.add(claim.page());
        // Nor is there a checkpoint any more: the log has it from where it was.
        claim.forget_changes();
        core.hollow_out(&claim);
    }

    fn resident_pages(&self) -> u64 {
        (self.core.frames.capacity() - self.core.frames.free_count()) as u64
    }
}

impl Drop for BufferPool {
    fn drop(&mut self) {
        self.core.cleaner.stop();
        if let Some(thread) = self.cleaner_thread.get_mut().take() {
            // A panic of the cleaner was reported by its thread; there is nobody left to tell.
            let _ = thread.join();
        }
    }
}

impl Core {
    fn new(
        options: PoolOptions,
        file: Arc<dyn VfsFile>,
        doublewrite: Arc<dyn VfsFile>,
        gate: Arc<dyn LogGate>,
    ) -> Result<Core, StorageError> {
        assert!(PAGE_SIZES.contains(&options.page_size), "page size {} is supported", options.page_size);
        let cleaner = Arc::default();
        let memory = reserve(&options, &cleaner)?;
        let capacity = frames_of(options.capacity_bytes, &options, &memory);
        let most = frames_of(options.capacity_max_bytes, &options, &memory);
        memory.set_dirty_limit(dirty_limit(capacity, options.lru_max_dirty));
        Ok(Core {
            frames: Frames::new(capacity, most),
            lru_dirty: [options.lru_min_dirty, options.lru_max_dirty].map(AtomicU8::new),
            read_ahead: ReadAheadCell::default(),
            flusher: Mutex::new(Flusher::new(options.page_size)),
            under_way: UnderWay::new(),
            cleaner,
            counters: Counters::new(capacity * options.page_size),
            poisoned: Failed::default(),
            stalled: AtomicBool::new(false),
            abandoned: Abandoned::default(),
            ahead: AtomicU32::new(0),
            options,
            memory,
            file,
            doublewrite,
            gate,
            lost: OnceLock::new(),
            damaged: DamagedPages::default(),
        })
    }

    #[inline]
    #[track_caller]
    fn read(&self, page: PageId, touch: Touch) -> Result<SharedPage<'_>, StorageError> {
        pause_point();
        match self.memory.try_share(page, touch) {
            Ok(shared) => {
                self.counters.fetch(&shared);
                Ok(shared)
            }
            Err(reason) => self.read_slow(page, touch, reason),
        }
    }

    #[cold]
    fn read_slow(
        &self,
        page: PageId,
        touch: Touch,
        mut reason: Shared,
    ) -> Result<SharedPage<'_>, StorageError> {
        self.check_number(page)?;
        loop {
            if reason == Shared::Busy {
                self.memory.wait(page, true);
            } else if let Some(mut claim) = self.memory.try_claim(page, touch) {
                if !claim.present() {
                    self.fault_in(&mut claim, touch)?;
                }
                self.counters.fetch(claim.bytes());
                return Ok(claim.downgrade());
            }
            match self.memory.try_share(page, touch) {
                Ok(shared) => {
                    self.counters.fetch(&shared);
                    return Ok(shared);
                }
                Err(again) => reason = again,
            }
        }
    }

    /// The exclusive latch of a page that can exist, resident or not.
    #[inline]
    #[track_caller]
    fn claim(&self, page: PageId, touch: Touch) -> Result<Claim<'_>, StorageError> {
        self.check_number(page)?;
        pause_point();
        Ok(self.claim_waiting(page, touch))
    }

    #[inline]
    fn claim_waiting(&self, page: PageId, touch: Touch) -> Claim<'_> {
        loop {
            if let Some(claim) = self.memory.try_claim(page, touch) {
                return claim;
            }
            self.memory.wait(page, false);
        }
    }

    /// A page whose old content does not matter, and whether it is all zeroes.
    fn take_over(&self, page: PageId) -> Result<(ExclusivePage<'_>, bool), StorageError> {
        if page.0 >= self.memory.page_count() {
            return Err(StorageError::Full { what: format!("{page}: the database has its greatest size") });
        }
        let mut claim = self.claim(page, Touch::Ignore)?;
        let clean = !claim.present() && self.conjure(&mut claim)?;
        self.counters.fetch(claim.bytes());
        Ok((ExclusivePage::new(claim), clean))
    }

    #[inline]
    fn try_write(&self, page: PageId, touch: Touch) -> Result<Option<ExclusivePage<'_>>, StorageError> {
        self.check_number(page)?;
        pause_point();
        match self.memory.try_claim(page, touch) {
            Some(claim) => self.enter(claim, touch).map(Some),
            None => Ok(None),
        }
    }

    /// Makes a claimed page resident and hands it out.
    #[inline]
    fn enter<'p>(&'p self, mut claim: Claim<'p>, touch: Touch) -> Result<ExclusivePage<'p>, StorageError> {
        if !claim.present() {
            self.fault_in(&mut claim, touch)?;
        }
        self.counters.fetch(claim.bytes());
        Ok(ExclusivePage::new(claim))
    }

    /// Nothing is written once the pool is poisoned.
    #[inline]
    fn check_usable(&self) -> Result<(), StorageError> {
        self.poisoned.check()
    }

    /// A page number beyond every possible page came from bytes that are not right.
    #[inline]
    fn check_number(&self, page: PageId) -> Result<(), StorageError> {
        if page.0 < self.memory.page_count() { Ok(()) } else { Err(self.beyond(page)) }
    }

    #[cold]
    fn beyond(&self, page: PageId) -> StorageError {
        StorageError::corrupt(page, ObjectId::SYSTEM, "beyond end of file")
    }

    fn poison(&self, why: Option<&StorageError>) {
        if self.poisoned.set(why) {
            tracing::error!("the buffer pool is poisoned: a write or sync failed");
        }
    }
}

/// Reserves addresses for the largest database the system lets us have, up to what is asked for.
fn reserve(options: &PoolOptions, cleaner: &Arc<Cleaner>) -> Result<Memory, StorageError> {
    let wanted = options.max_database_bytes / options.page_size as u64;
    let mut pages = u32::try_from(wanted).unwrap_or(u32::MAX - 1).max(1);
    loop {
        match Memory::reserve(options.page_size, pages, cleaner) {
            Ok(memory) => return Ok(memory),
            Err(_) if pages > 1024 => pages /= 2,
            Err(error) => return Err(StorageError::io("reserving address space for pages", error)),
        }
    }
}
