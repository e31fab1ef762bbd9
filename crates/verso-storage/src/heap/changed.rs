//! How many rows of a table were changed, for who keeps statistics of it.
//!
//! ```text
//! transaction: rows by table ──its end──► total ──reaches tell_at──► call of who collects statistics
//! ```
//!
//! 1. Rows count when their transaction ends, also if it is rolled back, as in PostgreSQL: before that statistics would not
//!    see them.
//! 2. Who collects is called once, and then no more until it has said when next.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of rows, by what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// New ones.
    pub inserted: u64,
    /// Changed ones.
    pub updated: u64,
    /// Deleted ones.
    pub deleted: u64,
}

impl RowCounts {
    /// All of them.
    pub fn all(self) -> u64 {
        self.inserted + self.updated + self.deleted
    }

    /// With these, too.
    pub(crate) fn add(&mut self, more: RowCounts) {
        self.inserted += more.inserted;
        self.updated += more.updated;
        self.deleted += more.deleted;
    }
}

/// Rows that statements have read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReadCounts {
    /// By scans of tables.
    pub scanned: u64,
    /// One by one, as indexes have found them.
    pub fetched: u64,
}

/// The same, counted by several threads.
#[derive(Debug, Default)]
pub struct ReadTotals {
    scanned: AtomicU64,
    fetched: AtomicU64,
}

impl ReadTotals {
    /// The numbers of now.
    pub fn get(&self) -> ReadCounts {
        let (scanned, fetched) = (self.scanned.load(Ordering::Relaxed), self.fetched.load(Ordering::Relaxed));
        ReadCounts { scanned, fetched }
    }

    pub(crate) fn scan(&self, rows: usize) {
        self.scanned.fetch_add(rows as u64, Ordering::Relaxed);
    }

    pub(crate) fn fetch(&self, rows: usize) {
        if rows > 0 {
            self.fetched.fetch_add(rows as u64, Ordering::Relaxed);
        }
    }
}

/// Changes, counted by several threads.
#[derive(Debug, Default)]
pub struct RowTotals {
    inserted: AtomicU64,
    updated: AtomicU64,
    deleted: AtomicU64,
}

impl RowTotals {
    /// The numbers of now.
    pub fn get(&self) -> RowCounts {
        RowCounts {
            inserted: self.inserted.load(Ordering::Relaxed),
            updated: self.updated.load(Ordering::Relaxed),
            deleted: self.deleted.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn add(&self, rows: RowCounts) {
        for (total, rows) in
            [(&self.inserted, rows.inserted), (&self.updated, rows.updated), (&self.deleted, rows.deleted)]
        {
            if rows > 0 {
                total.fetch_add(rows, Ordering::Relaxed);
            }
        }
    }
}

/// Rows of one table that were inserted, changed and deleted since it was opened.
#[derive(Debug)]
pub struct ChangedRows {
    total: AtomicU64,
    /// The total that the statistics know of.
    known: AtomicU64,
    /// The total at which who collects them is called.
    tell_at: AtomicU64,
    /// The total by kind.
    kinds: RowTotals,
}

impl ChangedRows {
    /// Of a table just opened: its first change is told, where anybody cares.
    pub(super) fn new(told: bool) -> ChangedRows {
        let tell_at = if told { 1 } else { u64::MAX };
        let (total, known) = (AtomicU64::new(0), AtomicU64::new(0));
        ChangedRows { total, known, tell_at: AtomicU64::new(tell_at), kinds: RowTotals::default() }
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.total.load(Ordering::SeqCst)
    }

    /// All of them, by kind.
    pub fn kinds(&self) -> RowCounts {
        self.kinds.get()
    }

    /// Those that the statistics do not know of.
    pub fn since_analyze(&self) -> u64 {
        self.total().saturating_sub(self.known.load(Ordering::SeqCst))
    }

    /// Statistics were collected when this was the total.
    pub fn analyzed(&self, total: u64) {
        self.known.fetch_max(total, Ordering::SeqCst);
    }

    /// A call is wanted when so many rows have changed that the statistics do not know of; whether they have already.
    pub fn tell_at(&self, since_analyze: u64) -> bool {
        let at = self.known.load(Ordering::SeqCst).saturating_add(since_analyze);
        self.tell_at.store(at, Ordering::SeqCst);
        // A change behind the store sees it; one before it is seen here.
        self.total() >= at
    }

    /// Counts rows; whether who collects statistics is to be called.
    pub(crate) fn add(&self, counts: RowCounts) -> bool {
        self.kinds.add(counts);
        let rows = counts.all();
        let total = self.total.fetch_add(rows, Ordering::SeqCst) + rows;
        total >= self.tell_at.load(Ordering::SeqCst)
            && self.tell_at.swap(u64::MAX, Ordering::SeqCst) != u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inserted(rows: u64) -> RowCounts {
        RowCounts { inserted: rows, ..RowCounts::default() }
    }

    #[test]
    fn who_collects_is_called_once_and_then_when_it_said() {
        let rows = ChangedRows::new(true);
        assert!(rows.add(inserted(3)), "the first change");
        assert!(!rows.add(inserted(1_000)), "nobody has said when next");
        rows.analyzed(rows.total());
        assert_eq!((rows.total(), rows.since_analyze()), (1_003, 0));
        assert!(!rows.tell_at(50));
        assert!(!rows.add(inserted(49)));
        assert!(rows.add(inserted(1)));
        assert_eq!(rows.since_analyze(), 50);
        assert!(rows.tell_at(50), "they have changed already");
        assert!(!ChangedRows::new(false).add(inserted(1_000_000)));
    }
}
