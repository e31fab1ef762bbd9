//! The least and the greatest integers of data pages, so that scans pass over pages that cannot have what they look for.
//!
//! ```text
//! new page ─► nothing yet ─┐
//!                          ├─► bounds of its columns, in memory ─► scan with `a > 400000`: not there, next page
//! sweep ─► as they stand ──┘            ▲
//! change of the page ───────────────────┘ widens them while it has the page latched
//! ```
//!
//! PB1. Bounds hold for every version of the page's records that anybody may read. They begin where that is so: with a page
//!     that is new and has no record, or with one that is swept, whose records every snapshot sees as they stand there (V7).
//! PB2. Whoever puts values into a page widens its bounds before the page's latch is released, so before a snapshot can see the
//!     change. They never get narrower but by sweep, under PB1. A change of another kind, or one that makes the page another one,
//!     takes them back.
//! PB3. NULL is in no bounds, as it fulfils no condition that is asked of them. A column that the page does not have has no bounds.
//! PB4. They take no more memory than they are given, a part of the buffer pool's: when it is full, further pages get none until others
//!     have lost theirs.
//!
//! In memory only, like what is known of clean pages ([`clean`](crate::clean)): after a restart the next sweep finds them out
//! anew. Dates, times and numerics of few digits are integers here, too. Packed pages have none.
//!
//! Every change of a page asks whether it has bounds: pages stand in a tree of three levels by their numbers, where that costs a
//! few loads and takes no lock.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use verso_env::sync::RwLock;

use crate::page::PageId;

/// Columns of a page whose bounds are kept.
pub(crate) const COLUMNS_MAX: usize = 32;

/// Between which integers the values of a column of a page lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ColumnBounds {
    /// The column's identity.
    pub column: u16,
    /// The least value; greater than the greatest where there is none but NULL.
    pub low: i64,
    /// The greatest value.
    pub high: i64,
}

impl ColumnBounds {
    /// Whether the page has nothing but NULL in the column.
    pub(crate) fn is_empty(self) -> bool {
        self.low > self.high
    }

    /// The column has this value, too.
    #[inline]
    pub(crate) fn widen(&mut self, value: i64) {
        self.low = self.low.min(value);
        self.high = self.high.max(value);
    }
}

/// The bounds of the pages of a database.
pub struct PageBounds {
    /// Pages that have bounds.
    count: AtomicUsize,
    /// What all of them take.
    bytes: AtomicUsize,
    /// Most bytes that they take together.
    capacity: usize,
    parts: Box<[OnceLock<Part>]>,
}

/// Groups of pages whose numbers follow each other.
type Part = Box<[OnceLock<Box<Group>>]>;

/// Parts of all numbers, and groups of a part.
const FAN: usize = 1 << 12;
/// Pages of a group.
const PAGES: usize = 1 << 8;
const _: () = assert!(FAN * FAN * PAGES == 1 << 32);

/// Pages whose numbers follow each other.
struct Group {
    /// A bit for each page that has bounds; changed with the page latched.
    known: [AtomicU64; PAGES / 64],
    pages: RwLock<Vec<Option<Box<[ColumnBounds]>>>>,
}

impl Group {
    fn new() -> Box<Group> {
        let pages = RwLock::new((0..PAGES).map(|_| None).collect());
        Box::new(Group { known: Default::default(), pages })
    }

    #[inline]
    fn knows(&self, page: usize) -> bool {
        self.known[page / 64].load(Ordering::Acquire) >> (page % 64) & 1 == 1
    }
}

/// What the bounds of a page take.
fn size_of(bounds: &[ColumnBounds]) -> usize {
    ENTRY + std::mem::size_of_val(bounds)
}

/// Bytes of a page besides its columns: its place in its group, and what the allocator adds.
const ENTRY: usize = 32;

/// Where a page stands: part, group, place in the group.
#[inline]
fn place(page: PageId) -> (usize, usize, usize) {
    let page = page.0 as usize;
    (page / PAGES / FAN, page / PAGES % FAN, page % PAGES)
}

impl PageBounds {
    /// None are known, and all together take at most so many bytes.
    pub(crate) fn within(capacity: usize) -> PageBounds {
        let parts = (0..FAN).map(|_| OnceLock::new()).collect();
        PageBounds { count: AtomicUsize::new(0), bytes: AtomicUsize::new(0), capacity, parts }
    }

    /// The group of a page that has bounds, and the page's place there.
    #[inline]
    fn known(&self, page: PageId) -> Option<(&Group, usize)> {
        if self.is_empty() {
            return None;
        }
        let (part, group, place) = place(page);
        let group = self.parts[part].get()?[group].get()?;
        group.knows(place).then_some((group, place))
    }

    /// The page, which is latched and new or swept (PB1), has these.
    pub(crate) fn insert(&self, page: PageId, bounds: Box<[ColumnBounds]>) {
        let size = size_of(&bounds);
        if self.bytes.fetch_add(size, Ordering::Relaxed) + size > self.capacity {
            self.bytes.fetch_sub(size, Ordering::Relaxed);
            return; // what is known of the page still holds
        }
        let (part, group, place) = place(page);
        let part = self.parts[part].get_or_init(|| (0..FAN).map(|_| OnceLock::new()).collect());
        let group = part[group].get_or_init(Group::new);
        match group.pages.write()[place].replace(bounds) {
            Some(old) => {
                self.bytes.fetch_sub(size_of(&old), Ordering::Relaxed);
            }
            None => {
                group.known[place / 64].fetch_or(1 << (place % 64), Ordering::Release);
                self.count.fetch_add(1, Ordering::Release);
            }
        }
    }

    /// Whether those of a page are known.
    #[inline]
    pub(crate) fn has(&self, page: PageId) -> bool {
        self.known(page).is_some()
    }

    /// Lets `widen` widen the bounds of a page that is latched (PB2), if they are known.
    #[inline]
    pub(crate) fn widen(&self, page: PageId, widen: impl FnOnce(&mut [ColumnBounds])) {
        if let Some((group, place)) = self.known(page)
            && let Some(bounds) = &mut group.pages.write()[place]
        {
            widen(bounds);
        }
    }

    /// The page becomes another one (PB2).
    pub(crate) fn remove(&self, page: PageId) {
        let Some((group, place)) = self.known(page) else { return };
        if let Some(old) = group.pages.write()[place].take() {
            group.known[place / 64].fetch_and(!(1 << (place % 64)), Ordering::Release);
            self.count.fetch_sub(1, Ordering::Release);
            self.bytes.fetch_sub(size_of(&old), Ordering::Relaxed);
        }
    }

    /// What `ask` says of the bounds of a page; `None` where they are not known.
    pub(crate) fn of<T>(&self, page: PageId, ask: impl FnOnce(&[ColumnBounds]) -> T) -> Option<T> {
        let (group, place) = self.known(page)?;
        group.pages.read()[place].as_deref().map(ask)
    }

    /// Whether those of no page are known.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds() -> Box<[ColumnBounds]> {
        Box::new([ColumnBounds { column: 1, low: 1, high: 2 }])
    }

    #[test]
    fn bounds_take_no_more_than_they_are_given() {
        let known = PageBounds::within(2 * size_of(&bounds()));
        (1..=3).for_each(|page| known.insert(PageId(page), bounds()));
        assert!(known.has(PageId(1)) && known.has(PageId(2)) && !known.has(PageId(3)));
        known.insert(PageId(2), bounds());
        known.remove(PageId(1));
        known.insert(PageId(3), bounds());
        assert!(!known.has(PageId(1)) && known.has(PageId(2)) && known.has(PageId(3)));
        (2..=3).for_each(|page| known.remove(PageId(page)));
        assert!(known.is_empty() && known.bytes.load(Ordering::Relaxed) == 0);
    }

    #[test]
    fn pages_far_apart_have_bounds_of_their_own() {
        let known = PageBounds::within(1 << 20);
        let pages = [0, 63, 64, 255, 256, 1 << 20, u32::MAX].map(PageId);
        pages.into_iter().for_each(|page| known.insert(page, bounds()));
        known.widen(PageId(256), |bounds| bounds[0].widen(-7));
        known.widen(PageId(257), |_| unreachable!("it has none"));
        for page in pages {
            let low = if page.0 == 256 { -7 } else { 1 };
            assert_eq!(known.of(page, |bounds| (bounds[0].low, bounds[0].high)), Some((low, 2)), "{page:?}");
        }
        known.remove(PageId(256));
        assert!(!known.has(PageId(256)) && known.has(PageId(255)) && !known.has(PageId(1)));
    }
}
