//! Page bytes behind latch guards: the only way from a page number to its bytes.
//!
//! F1. `&[u8]` of a page exists only within a guard that holds its latch, `&mut [u8]` only within an exclusive one.
//! F2. A page that is not resident reads as zeroes (M1) to the claim that is about to fill it.
//! F3. `first_dirty` is 0 for a clean or unlogged page, otherwise 1 + the LSN where the log starts to tell what the
//!     file does not hold yet. It changes under the page's latch.
#![allow(unsafe_code)]

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::cleaner::Cleaner;
use super::latch::{DIRTY, Parking, RESIDENT, Shared, Touch, Word};
use super::mapping::{AtomicArray, Mapping};
use super::{held, words};
use crate::page::{Lsn, ObjectId, PageId, PageKind, header};

/// Addresses, words and first-dirty LSNs of all possible pages.
pub(super) struct Memory {
    page_size: usize,
    page_count: u32,
    bytes: Mapping,
    words: AtomicArray<Word>,
    first_dirty: AtomicArray<AtomicU64>,
    /// Frame number of each resident page, for leaving early.
    frames: AtomicArray<AtomicU32>,
    parking: Parking,
    dirty_pages: AtomicU64,
    /// With so many the cleaner has work.
    dirty_limit: AtomicU64,
    cleaner: Arc<Cleaner>,
}

impl Memory {
    /// Reserves addresses for `page_count` pages.
    ///
    /// # Errors
    /// The operating system refuses.
    pub(super) fn reserve(page_size: usize, page_count: u32, cleaner: &Arc<Cleaner>) -> io::Result<Memory> {
        let count = page_count as usize;
        let length = count.checked_mul(page_size).ok_or(io::Error::from(io::ErrorKind::OutOfMemory))?;
        Ok(Memory {
            page_size,
            page_count,
            bytes: Mapping::reserve(length)?,
            words: AtomicArray::reserve(words::reserved(count))?,
            first_dirty: AtomicArray::reserve(count)?,
            frames: AtomicArray::reserve(count)?,
            parking: Parking::new(),
            dirty_pages: AtomicU64::new(0),
            dirty_limit: AtomicU64::new(u64::MAX),
            cleaner: Arc::clone(cleaner),
        })
    }

    pub(super) fn page_size(&self) -> usize {
        self.page_size
    }

    /// Pages from here on do not exist.
    pub(super) fn page_count(&self) -> u32 {
        self.page_count
    }

    pub(super) fn dirty_pages(&self) -> u64 {
        self.dirty_pages.load(Ordering::Relaxed)
    }

    /// With so many dirty pages the cleaner is called.
    pub(super) fn dirty_limit(&self) -> u64 {
        self.dirty_limit.load(Ordering::Relaxed)
    }

    /// See [`Memory::dirty_limit`].
    pub(super) fn set_dirty_limit(&self, pages: u64) {
        self.dirty_limit.store(pages, Ordering::Relaxed);
    }

    pub(super) fn latch_waits(&self) -> u64 {
        self.parking.waits()
    }

    /// The word of a page, if such a page can exist.
    #[inline]
    pub(super) fn find_word(&self, page: PageId) -> Option<&Word> {
        if page.0 < self.page_count { self.words.find(words::place_of(page)) } else { None }
    }

    /// The word of a page that can exist.
    #[inline]
    pub(super) fn word(&self, page: PageId) -> &Word {
        self.words.get(words::place_of(page))
    }

    /// The page's [`F3`](self) value.
    pub(super) fn first_dirty(&self, page: PageId) -> Option<Lsn> {
        self.first_dirty.get(page.0 as usize).load(Ordering::Acquire).checked_sub(1).map(Lsn)
    }

    /// Number of the frame that a resident page was given.
    pub(super) fn frame(&self, page: PageId) -> &AtomicU32 {
        self.frames.get(page.0 as usize)
    }

    /// Latches the page shared, if it is resident and free to share.
    #[inline]
    pub(super) fn try_share(&self, page: PageId, touch: Touch) -> Result<SharedPage<'_>, Shared> {
        let word = self.find_word(page).ok_or(Shared::Absent)?;
        match word.try_shared(touch) {
            Shared::Got => {
                held::taken(self, page);
                Ok(SharedPage { memory: self, page, bytes: self.bytes_of(page) })
            }
            other => Err(other),
        }
    }

    /// Latches the page exclusively, resident or not, if nobody holds it.
    #[inline]
    pub(super) fn try_claim(&self, page: PageId, touch: Touch) -> Option<Claim<'_>> {
        self.word(page).try_exclusive(touch)?;
        Some(self.claim(page))
    }

    /// Latches the page exclusively if its state is still `seen`.
    pub(super) fn try_claim_from(&self, page: PageId, seen: super::latch::State) -> Option<Claim<'_>> {
        self.word(page).try_exclusive_from(seen).then(|| self.claim(page))
    }

    /// Waits until the page may be latched.
    pub(super) fn wait(&self, page: PageId, to_share: bool) {
        held::about_to_wait(self, page);
        self.parking.wait(page, self.word(page), to_share);
    }

    /// Brings memory for pages about to be read or created.
    pub(super) fn populate(&self, first: PageId, count: u32) {
        let count = count.min(self.page_count - first.0) as usize;
        self.bytes.populate(first.0 as usize * self.page_size, count * self.page_size);
    }

    /// Lends the bytes of claimed neighbours as one slice.
    pub(super) fn with_run<R>(&self, run: &mut [Claim<'_>], work: impl FnOnce(&mut [u8]) -> R) -> R {
        let first = check_run(run);
        let length = run.len() * self.page_size;
        let start = self.bytes.at(first.0 as usize * self.page_size);
        // SAFETY: every page of the run is claimed exclusively (its claims are borrowed mutably for as long), they are
        // neighbours, and the last lies within the mapping because it could be claimed.
        work(unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), length) })
    }

    /// Gives back the memory of claimed neighbours, which are not resident any more.
    pub(super) fn release_run(&self, run: &mut [Claim<'_>]) {
        let first = check_run(run);
        debug_assert!(run.iter().all(|claim| !claim.resident()), "resident pages keep their memory");
        // SAFETY: all pages of the range are claimed exclusively, so nobody else has a reference into it.
        unsafe { self.bytes.release(first.0 as usize * self.page_size, run.len() * self.page_size) }
    }

    #[inline]
    fn claim(&self, page: PageId) -> Claim<'_> {
        held::taken(self, page);
        Claim { memory: self, page, bytes: self.bytes_of(page) }
    }

    #[inline]
    fn bytes_of(&self, page: PageId) -> NonNull<[u8]> {
        let start = self.bytes.at(page.0 as usize * self.page_size);
        NonNull::slice_from_raw_parts(start, self.page_size)
    }

    #[inline]
    fn unlatched(&self, page: PageId, wake: bool) {
        if wake {
            self.parking.wake(page, self.word(page));
        }
    }
}

/// The first page of a run of claimed neighbours.
fn check_run(run: &[Claim<'_>]) -> PageId {
    let first = run.first().expect("a run has a page").page;
    let neighbours = run.iter().zip(first.0..).all(|(claim, number)| claim.page.0 == number);
    assert!(neighbours, "claims of a run are neighbours");
    first
}

/// A page latched for reading; dropping it releases the latch.
///
/// A thread must not latch a page twice: it would wait for itself, which debug builds turn into a panic.
#[must_use = "dropping the guard releases the latch"]
pub struct SharedPage<'p> {
    memory: &'p Memory,
    page: PageId,
    bytes: NonNull<[u8]>,
}

impl SharedPage<'_> {
    /// The page's number.
    pub fn id(&self) -> PageId {
        self.page
    }

    /// End of the newest log group that changed the page.
    pub fn lsn(&self) -> Lsn {
        header::lsn(self)
    }

    /// Changes whenever the page's latch was held exclusively in between.
    pub fn version(&self) -> u64 {
        self.memory.word(self.page).state().version()
    }

    /// The flusher has copied the page: from now on it counts as clean. What [`Memory::first_dirty`] said goes to
    /// `before_forgetting` first.
    pub(super) fn copied(&self, before_forgetting: impl FnOnce(Option<Lsn>)) {
        before_forgetting(self.memory.first_dirty(self.page));
        self.memory.first_dirty.get(self.page.0 as usize).store(0, Ordering::Release);
        self.memory.word(self.page).copied();
        self.memory.dirty_pages.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Deref for SharedPage<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the shared latch keeps writers and eviction away for as long as `self` lives.
        unsafe { self.bytes.as_ref() }
    }
}

impl Drop for SharedPage<'_> {
    #[inline]
    fn drop(&mut self) {
        held::released(self.memory, self.page);
        let wake = self.memory.word(self.page).release_shared();
        self.memory.unlatched(self.page, wake);
    }
}

/// A page held exclusively, whether it is resident or not: what the pool itself works with.
pub(super) struct Claim<'p> {
    memory: &'p Memory,
    page: PageId,
    bytes: NonNull<[u8]>,
}

impl<'p> Claim<'p> {
    #[inline]
    pub(super) fn page(&self) -> PageId {
        self.page
    }

    pub(super) fn word(&self) -> &'p Word {
        self.memory.word(self.page)
    }

    /// Whether the page has a frame.
    pub(super) fn resident(&self) -> bool {
        self.word().state().has(RESIDENT)
    }

    /// Whether the page has a frame and its content is there.
    #[inline]
    pub(super) fn present(&self) -> bool {
        self.word().state().present()
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the exclusive latch is ours, and `self` is borrowed for as long as the slice lives.
        unsafe { self.bytes.as_ref() }
    }

    #[inline]
    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the exclusive latch is ours, and `self` is borrowed mutably for as long as the slice lives.
        unsafe { self.bytes.as_mut() }
    }

    /// The page's bytes differ from the file from now on; the log tells the difference from `since` on.
    pub(super) fn mark_dirty(&mut self, since: Option<Lsn>) {
        if let Some(since) = since {
            let first = self.memory.first_dirty.get(self.page.0 as usize);
            let (old, new) = (first.load(Ordering::Relaxed), since.0.saturating_add(1));
            if old == 0 || new < old {
                first.store(new, Ordering::Release);
            }
        }
        if !self.word().state().has(DIRTY) {
            self.word().set(DIRTY);
            let before = self.memory.dirty_pages.fetch_add(1, Ordering::Relaxed);
            if before + 1 == self.memory.dirty_limit() {
                self.memory.cleaner.nudge();
            }
        }
    }

    /// The page's bytes do not matter any more.
    pub(super) fn forget_changes(&mut self) {
        self.memory.first_dirty.get(self.page.0 as usize).store(0, Ordering::Release);
        if self.word().clear(DIRTY).has(DIRTY) {
            self.memory.dirty_pages.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Goes on as a reader, with nobody in between.
    pub(super) fn downgrade(self) -> SharedPage<'p> {
        let claim = std::mem::ManuallyDrop::new(self);
        let wake = claim.word().downgrade();
        claim.memory.unlatched(claim.page, wake);
        SharedPage { memory: claim.memory, page: claim.page, bytes: claim.bytes }
    }
}

impl Drop for Claim<'_> {
    #[inline]
    fn drop(&mut self) {
        held::released(self.memory, self.page);
        let wake = self.word().release_exclusive();
        self.memory.unlatched(self.page, wake);
    }
}

/// A page latched for writing; dropping it releases the latch.
///
/// Whoever changes bytes calls [`set_lsn`](ExclusivePage::set_lsn) (or
/// [`mark_dirty_unlogged`](ExclusivePage::mark_dirty_unlogged)) before the guard goes, or the change may be lost.
/// A thread must not latch a page twice.
#[must_use = "dropping the guard releases the latch"]
pub struct ExclusivePage<'p> {
    claim: Claim<'p>,
}

impl<'p> ExclusivePage<'p> {
    /// Hands a page to the world once its content is there.
    #[inline]
    pub(super) fn new(claim: Claim<'p>) -> ExclusivePage<'p> {
        debug_assert!(claim.present(), "only pages with content leave the pool");
        ExclusivePage { claim }
    }

    /// The page's number.
    pub fn id(&self) -> PageId {
        self.claim.page
    }

    /// End of the newest log group that changed the page.
    pub fn lsn(&self) -> Lsn {
        header::lsn(self)
    }

    /// The version the page had when it was latched.
    pub fn version(&self) -> u64 {
        self.claim.word().state().version()
    }

    /// Notes that the log group from `start` to `end` tells what was changed under this latch.
    ///
    /// The page's LSN becomes `end`; the page is dirty, since `start` if it was clean.
    pub fn set_lsn(&mut self, start: Lsn, end: Lsn) {
        header::set_lsn(self.claim.bytes_mut(), end);
        self.claim.mark_dirty(Some(start));
    }

    /// Notes that the page was changed without a log record: pages of kind `Temp`, or ones whose loss is no loss.
    pub fn mark_dirty_unlogged(&mut self) {
        self.claim.mark_dirty(None);
    }

    /// As [`mark_dirty_unlogged`](ExclusivePage::mark_dirty_unlogged) of a page that was given out by the group that ends at
    /// `end`: it does not go to its place before that.
    pub fn given_out_unlogged(&mut self, end: Lsn) {
        header::set_lsn(self.claim.bytes_mut(), end);
        self.claim.mark_dirty(None);
    }

    /// Whether the page differs from the file.
    pub fn is_dirty(&self) -> bool {
        self.claim.word().state().has(DIRTY)
    }

    /// Empties the page and gives it an identity; see [`header::init`].
    pub fn init(&mut self, kind: PageKind, owner: ObjectId, incarnation: u16) {
        let id = self.id();
        header::init(self, id, kind, owner, incarnation);
    }

    /// The claim behind it.
    pub(super) fn into_claim(self) -> Claim<'p> {
        self.claim
    }

    /// Goes on as a reader; nobody changes the page in between.
    pub fn downgrade(self) -> SharedPage<'p> {
        self.claim.downgrade()
    }
}

impl Deref for ExclusivePage<'_> {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.claim.bytes()
    }
}

impl DerefMut for ExclusivePage<'_> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.claim.bytes_mut()
    }
}
