//! What a thread has done so far: pages it has latched and read, log it has written.
//!
//! The difference between two moments is what the statement that runs on the thread, or a part of it, has done, whatever
//! other sessions do meanwhile: a thread that others have worked for [takes over](take_over) what they have counted. The
//! counters of the pool and of the log count for all of them.

use std::cell::Cell;
use std::ops::{AddAssign, Sub};

/// Counts of one thread since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Pages latched, in memory already or not.
    pub fetches: u64,
    /// Pages read from the file.
    pub reads: u64,
    /// Log records written.
    pub log_records: u64,
    /// Their bytes, with those of their groups.
    pub log_bytes: u64,
    /// Rows of scans that their conditions have left out.
    pub removed: u64,
    /// Pages that scans have not read, as their bounds left nothing for the conditions.
    pub passed_over: u64,
}

impl Sub for Work {
    type Output = Work;

    fn sub(self, earlier: Work) -> Work {
        Work {
            fetches: self.fetches.saturating_sub(earlier.fetches),
            reads: self.reads.saturating_sub(earlier.reads),
            log_records: self.log_records.saturating_sub(earlier.log_records),
            log_bytes: self.log_bytes.saturating_sub(earlier.log_bytes),
            removed: self.removed.saturating_sub(earlier.removed),
            passed_over: self.passed_over.saturating_sub(earlier.passed_over),
        }
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, more: Work) {
        self.fetches += more.fetches;
        self.reads += more.reads;
        self.log_records += more.log_records;
        self.log_bytes += more.log_bytes;
        self.removed += more.removed;
        self.passed_over += more.passed_over;
    }
}

struct Counts {
    fetches: Cell<u64>,
    reads: Cell<u64>,
    log_records: Cell<u64>,
    log_bytes: Cell<u64>,
    removed: Cell<u64>,
    passed_over: Cell<u64>,
}

thread_local! {
    static COUNTS: Counts = const {
        Counts {
            fetches: Cell::new(0),
            reads: Cell::new(0),
            log_records: Cell::new(0),
            log_bytes: Cell::new(0),
            removed: Cell::new(0),
            passed_over: Cell::new(0),
        }
    };
}

/// What this thread has done so far.
#[must_use]
pub fn done() -> Work {
    COUNTS.with(|counts| Work {
        fetches: counts.fetches.get(),
        reads: counts.reads.get(),
        log_records: counts.log_records.get(),
        log_bytes: counts.log_bytes.get(),
        removed: counts.removed.get(),
        passed_over: counts.passed_over.get(),
    })
}

/// Counts for this thread what others have done for it.
pub fn take_over(more: Work) {
    COUNTS.with(|counts| {
        counts.fetches.set(counts.fetches.get() + more.fetches);
        counts.reads.set(counts.reads.get() + more.reads);
        counts.log_records.set(counts.log_records.get() + more.log_records);
        counts.log_bytes.set(counts.log_bytes.get() + more.log_bytes);
        counts.removed.set(counts.removed.get() + more.removed);
        counts.passed_over.set(counts.passed_over.get() + more.passed_over);
    });
}

/// The condition of a scan has left out so many rows.
#[inline]
pub fn removed(rows: usize) {
    COUNTS.with(|counts| counts.removed.set(counts.removed.get() + rows as u64));
}

/// A scan has not read a page.
#[inline]
pub(crate) fn passed_over() {
    COUNTS.with(|counts| counts.passed_over.set(counts.passed_over.get() + 1));
}

#[inline]
pub(crate) fn fetched() {
    COUNTS.with(|counts| counts.fetches.set(counts.fetches.get() + 1));
}

#[inline]
pub(crate) fn read() {
    COUNTS.with(|counts| counts.reads.set(counts.reads.get() + 1));
}

#[inline]
pub(crate) fn logged(records: u32, bytes: u64) {
    COUNTS.with(|counts| {
        counts.log_records.set(counts.log_records.get() + u64::from(records));
        counts.log_bytes.set(counts.log_bytes.get() + bytes);
    });
}
