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

/// The bounds of the pages of a database.
#[derive(Default)]
pub struct PageBounds {
    count: AtomicUsize,
    pages: RwLock<HashMap<PageId, Box<[ColumnBounds]>>>,
}

impl PageBounds {
    /// The page, which is latched and swept, has these.
    pub(crate) fn insert(&self, page: PageId, bounds: Box<[ColumnBounds]>) {
        let mut pages = self.pages.write();
        pages.insert(page, bounds);
        self.count.store(pages.len(), Ordering::Release);
    }

    /// Whether those of a page are known.
    pub(crate) fn has(&self, page: PageId) -> bool {
        !self.is_empty() && self.pages.read().contains_key(&page)
    }

    /// The page is about to be changed, or to become another one (PB2).
    pub(crate) fn remove(&self, page: PageId) {
        if !self.is_empty() && !disabled(Rule::PageBounds) {
            let mut pages = self.pages.write();
            pages.remove(&page);
            self.count.store(pages.len(), Ordering::Release);
        }
    }

    /// What `ask` says of the bounds of a page; `None` where they are not known.
    pub(crate) fn of<T>(&self, page: PageId, ask: impl FnOnce(&[ColumnBounds]) -> T) -> Option<T> {
        if self.is_empty() {
            return None;
        }
        self.pages.read().get(&page).map(|bounds| ask(bounds))
    }

    /// Whether those of no page are known.
    pub(crate) fn is_empty(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }
}
