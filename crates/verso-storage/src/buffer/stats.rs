//! Counters of the pool: exact, and cheap enough for every fetch.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use verso_env::sync::Mutex;

use super::owners::{FetchCount, OwnerCounts};
use crate::page::{ObjectId, PageId, PageKind, header};

/// Counts per page kind, indexed by [`PageKind::index`]; index 0 is "of no known kind".
pub type PerKind = [u64; PageKind::COUNT];

/// What the pool did since it was created, and what it holds now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolStats {
    /// Pages latched for reading or writing, whether they had to be read or not.
    pub fetches: u64,
    /// `fetches` by kind; pages handed out by `create` have no kind yet.
    pub fetches_per_kind: PerKind,
    /// Pages read from the file.
    pub reads: u64,
    /// `reads` by kind.
    pub reads_per_kind: PerKind,
    /// Pages of `reads` that came by `prefetch`.
    pub prefetched: u64,
    /// Pages written to the file; their copies in the double-write area do not count.
    pub writes: u64,
    /// `writes` by kind.
    pub writes_per_kind: PerKind,
    /// Batches of writes.
    pub write_batches: u64,
    /// Batches that a thread in need of a frame had to write itself.
    pub foreground_batches: u64,
    /// Calls of fsync, on the file and on the double-write area.
    pub syncs: u64,
    /// Frames taken from one page for another.
    pub evictions: u64,
    /// Pages dropped unwritten because they were freed.
    pub discards: u64,
    /// Times a thread slept for a latch.
    pub latch_waits: u64,
    /// Times a thread waited because every frame was in use.
    pub frame_waits: u64,
    /// Frames of the pool.
    pub capacity_pages: u64,
    /// Frames in use, freed pages' among them until their frames are taken.
    pub resident_pages: u64,
    /// Pages in memory that differ from the file.
    pub dirty_pages: u64,
}

/// Pages of one kind and one owner that were written to the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WriteCount {
    /// Of which kind.
    pub kind: PageKind,
    /// Whose; 0 for the system's.
    pub owner: ObjectId,
    /// How often one was written.
    pub writes: u64,
}

/// Stripes of the fetch counters that belong to one thread each, for as many threads as come first.
const OWN: usize = 48;
/// Stripes behind these, which the other threads share.
const SHARED: usize = 16;

#[derive(Default)]
#[repr(align(128))]
struct Stripe([AtomicU64; PageKind::COUNT]);

/// Pages whose counts are kept together.
const CHUNK_PAGES: usize = 4096;
/// Chunks that are kept at most: 32 MB of counts, for files of 64 GB with pages of 16 kB. Pages behind them are not counted.
const CHUNKS: usize = 1024;
/// They take this share of the pool at most, but one of them is always there: pages written later than others are not counted then.
const SHARE_OF_POOL: usize = 64;

/// How often each page was written: the number of its owner in the upper half, so that a page that another object gets is
/// counted anew, and the count in the lower half. A chunk is there from the first write of one of its pages on.
struct PageCounts {
    chunks: [OnceLock<Box<[AtomicU64]>>; CHUNKS],
    /// Chunks that may still be made.
    left: AtomicUsize,
}

impl PageCounts {
    fn new(pool_bytes: usize) -> PageCounts {
        let most = pool_bytes / SHARE_OF_POOL / (CHUNK_PAGES * size_of::<AtomicU64>());
        PageCounts {
            chunks: [const { OnceLock::new() }; CHUNKS],
            left: AtomicUsize::new(most.clamp(1, CHUNKS)),
        }
    }

    /// A page is written once more. Nobody else writes the same page meanwhile.
    fn add(&self, owner: ObjectId, page: PageId) {
        let at = page.0 as usize;
        let Some(chunk) = self.chunks.get(at / CHUNK_PAGES) else { return };
        let chunk = match chunk.get() {
            Some(chunk) => chunk,
            None => {
                let take = |left: usize| left.checked_sub(1);
                if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).is_err() {
                    return;
                }
                chunk.get_or_init(|| (0..CHUNK_PAGES).map(|_| AtomicU64::new(0)).collect())
            }
        };
        let count = &chunk[at % CHUNK_PAGES];
        let known = count.load(Ordering::Relaxed);
        let before = if known >> 32 == u64::from(owner.0) { known & u64::from(u32::MAX) } else { 0 };
        let after = (before + 1).min(u64::from(u32::MAX));
        count.store(u64::from(owner.0) << 32 | after, Ordering::Relaxed);
    }

    fn get(&self, owner: ObjectId, page: PageId) -> u64 {
        let at = page.0 as usize;
        let chunk = self.chunks.get(at / CHUNK_PAGES).and_then(OnceLock::get);
        let known = chunk.map_or(0, |chunk| chunk[at % CHUNK_PAGES].load(Ordering::Relaxed));
        if known >> 32 == u64::from(owner.0) { known & u64::from(u32::MAX) } else { 0 }
    }
}

/// The counters behind [`PoolStats`].
pub(super) struct Counters {
    fetches: [Stripe; OWN + SHARED],
    reads: [AtomicU64; PageKind::COUNT],
    writes: [AtomicU64; PageKind::COUNT],
    /// Writes by kind and owner: as many as there are objects that were written.
    writes_per_owner: Mutex<HashMap<(PageKind, ObjectId), u64>>,
    writes_per_page: PageCounts,
    per_owner: OwnerCounts,
    pub(super) prefetched: AtomicU64,
    pub(super) write_batches: AtomicU64,
    pub(super) foreground_batches: AtomicU64,
    pub(super) syncs: AtomicU64,
    pub(super) evictions: AtomicU64,
    pub(super) discards: AtomicU64,
    pub(super) frame_waits: AtomicU64,
}

thread_local! {
    static STRIPE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Number of this thread's stripe; threads take them in turn.
#[inline]
fn stripe() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    STRIPE.with(|stripe| {
        if stripe.get() == usize::MAX {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            stripe.set(if number < OWN { number } else { OWN + number % SHARED });
        }
        stripe.get()
    })
}

/// The array index of the kind a page's bytes claim to be of.
#[inline]
fn kind_index(page: &[u8]) -> usize {
    let number = usize::from(page[crate::page::header::KIND]);
    if number < PageKind::COUNT { number } else { 0 }
}

impl Counters {
    /// Of a pool of so many bytes.
    pub(super) fn new(pool_bytes: usize) -> Counters {
        Counters {
            fetches: std::array::from_fn(|_| Stripe::default()),
            reads: Default::default(),
            writes: Default::default(),
            writes_per_owner: Mutex::default(),
            writes_per_page: PageCounts::new(pool_bytes),
            per_owner: OwnerCounts::new(OWN, SHARED),
            prefetched: AtomicU64::default(),
            write_batches: AtomicU64::default(),
            foreground_batches: AtomicU64::default(),
            syncs: AtomicU64::default(),
            evictions: AtomicU64::default(),
            discards: AtomicU64::default(),
            frame_waits: AtomicU64::default(),
        }
    }
}

impl Counters {
    #[inline]
    pub(super) fn fetch(&self, page: &[u8]) {
        crate::work::fetched();
        let stripe = stripe();
        self.per_owner.fetch(stripe, header::owner(page));
        let count = &self.fetches[stripe].0[kind_index(page)];
        if stripe < OWN {
            // Nobody else writes it.
            count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        } else {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn read(&self, page: &[u8]) {
        crate::work::read();
        self.per_owner.read(header::owner(page));
        self.reads[kind_index(page)].fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn write(&self, page: &[u8]) {
        self.writes[kind_index(page)].fetch_add(1, Ordering::Relaxed);
        if let Some(kind) = header::kind(page) {
            *self.writes_per_owner.lock().entry((kind, header::owner(page))).or_default() += 1;
            self.writes_per_page.add(header::owner(page), header::page_id(page));
        }
    }

    /// How often a page was written as one of this object.
    pub(super) fn writes_of_page(&self, owner: ObjectId, page: PageId) -> u64 {
        self.writes_per_page.get(owner, page)
    }

    /// How often pages of an object were latched and read.
    pub(super) fn of_owner(&self, owner: ObjectId) -> FetchCount {
        self.per_owner.of(owner)
    }

    /// An object has gone: nobody asks for its counts any more.
    pub(super) fn forget(&self, owner: ObjectId) {
        self.per_owner.forget(owner);
        self.writes_per_owner.lock().retain(|(_, other), _| *other != owner);
    }

    /// Writes by kind and owner, in no order.
    pub(super) fn writes_per_owner(&self) -> Vec<WriteCount> {
        let counts = self.writes_per_owner.lock();
        counts.iter().map(|(&(kind, owner), &writes)| WriteCount { kind, owner, writes }).collect()
    }

    /// The counts; what the pool holds now is left for the caller to fill in.
    pub(super) fn snapshot(&self) -> PoolStats {
        let mut fetches_per_kind = [0; PageKind::COUNT];
        for stripe in &self.fetches {
            for (total, count) in fetches_per_kind.iter_mut().zip(&stripe.0) {
                *total += get(count);
            }
        }
        let reads_per_kind = self.reads.each_ref().map(get);
        let writes_per_kind = self.writes.each_ref().map(get);
        PoolStats {
            fetches: fetches_per_kind.iter().sum(),
            fetches_per_kind,
            reads: reads_per_kind.iter().sum(),
            reads_per_kind,
            prefetched: get(&self.prefetched),
            writes: writes_per_kind.iter().sum(),
            writes_per_kind,
            write_batches: get(&self.write_batches),
            foreground_batches: get(&self.foreground_batches),
            syncs: get(&self.syncs),
            evictions: get(&self.evictions),
            discards: get(&self.discards),
            frame_waits: get(&self.frame_waits),
            ..PoolStats::default()
        }
    }
}

/// Adds to a counter.
pub(super) fn add(counter: &AtomicU64, count: u64) {
    counter.fetch_add(count, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_of_pages_take_no_more_than_their_share_of_the_pool() {
        let chunk = CHUNK_PAGES * size_of::<AtomicU64>();
        let counts = PageCounts::new(2 * SHARE_OF_POOL * chunk);
        let (owner, page) = (ObjectId(7), |chunk: usize| PageId((chunk * CHUNK_PAGES) as u32 + 1));
        for place in [5, 0, 9, 5] {
            counts.add(owner, page(place));
        }
        assert_eq!([5, 0, 9].map(|place| counts.get(owner, page(place))), [2, 1, 0]);
        let counts = PageCounts::new(0);
        counts.add(owner, page(3));
        assert_eq!(counts.get(owner, page(3)), 1, "one part is always there");
    }
}
