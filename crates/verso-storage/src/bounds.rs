//! The least and the greatest integers of data pages, so that scans pass over pages that cannot have what they look for.
//!
//! ```text
//! sweep ─► page swept: bounds of its columns, in memory ─► scan with `a > 400000`: not there, next page
//!                            ▲
//! change of the page ────────┘ takes them back first
//! ```
//!
//! PB1. A page has bounds only while it is swept: every record of it is then seen by every snapshot as it stands there (V7). So
//!     the bounds hold for all versions that anybody may read of the page.
//! PB2. Whoever changes the page, or makes it another one, takes the bounds back before the change. A snapshot that sees the
//!     change is taken later, and finds none.
//! PB3. NULL is in no bounds, as it fulfils no condition that is asked of them. A column that the page does not have has no bounds.
//!
//! PB4. They take no more memory than they are given, a part of the buffer pool's: when it is full, further pages get none until others
//!     have lost theirs.
//!
//! In memory only, like what is known of clean pages ([`clean`](crate::clean)): after a restart the next sweep finds them out
//! anew. Dates, times and numerics of few digits are integers here, too. Packed pages have none.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use verso_env::sync::RwLock;

use crate::page::PageId;
use crate::rules::{Rule, disabled};

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
}

/// The bounds of the pages of a database.
pub struct PageBounds {
    count: AtomicUsize,
    /// Most bytes that they take together.
    capacity: usize,
    pages: RwLock<Pages>,
}

#[derive(Default)]
struct Pages {
    bounds: HashMap<PageId, Box<[ColumnBounds]>>,
    /// What they take.
    bytes: usize,
}

/// What the bounds of a page take.
fn size_of(bounds: &[ColumnBounds]) -> usize {
    ENTRY + std::mem::size_of_val(bounds)
}

/// Bytes of a page in the table, about.
const ENTRY: usize = 64;

impl PageBounds {
    /// None are known, and all together take at most so many bytes.
    pub(crate) fn within(capacity: usize) -> PageBounds {
        PageBounds { count: AtomicUsize::new(0), capacity, pages: RwLock::default() }
    }

    /// The page, which is latched and swept, has these.
    pub(crate) fn insert(&self, page: PageId, bounds: Box<[ColumnBounds]>) {
        let mut pages = self.pages.write();
        let (new, old) = (size_of(&bounds), pages.bounds.get(&page).map_or(0, |old| size_of(old)));
        if pages.bytes - old + new > self.capacity {
            return; // what is known of the page still holds
        }
        pages.bytes = pages.bytes - old + new;
        pages.bounds.insert(page, bounds);
        self.count.store(pages.bounds.len(), Ordering::Release);
    }

    /// Whether those of a page are known.
    pub(crate) fn has(&self, page: PageId) -> bool {
        !self.is_empty() && self.pages.read().bounds.contains_key(&page)
    }

    /// The page is about to be changed, or to become another one (PB2).
    pub(crate) fn remove(&self, page: PageId) {
        if !self.is_empty() && !disabled(Rule::PageBounds) {
            let mut pages = self.pages.write();
            if let Some(old) = pages.bounds.remove(&page) {
                pages.bytes -= size_of(&old);
            }
            self.count.store(pages.bounds.len(), Ordering::Release);
        }
    }

    /// What `ask` says of the bounds of a page; `None` where they are not known.
    pub(crate) fn of<T>(&self, page: PageId, ask: impl FnOnce(&[ColumnBounds]) -> T) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.pages.read().bounds.get(&page).map(|bounds| ask(bounds))
    }

    /// Whether those of no page are known.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_take_no_more_than_they_are_given() {
        let bounds = || vec![ColumnBounds { column: 1, low: 1, high: 2 }].into_boxed_slice();
        let known = PageBounds::within(2 * size_of(&bounds()));
        (1..=3).for_each(|page| known.insert(PageId(page), bounds()));
        assert!(known.has(PageId(1)) && known.has(PageId(2)) && !known.has(PageId(3)));
        known.insert(PageId(2), bounds());
        known.remove(PageId(1));
        known.insert(PageId(3), bounds());
        assert!(!known.has(PageId(1)) && known.has(PageId(2)) && known.has(PageId(3)));
        (2..=3).for_each(|page| known.remove(PageId(page)));
        assert!(known.is_empty() && known.pages.read().bytes == 0);
    }
}
