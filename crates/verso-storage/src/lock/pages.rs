//! Explicit record locks of one table: one by one on the pages where there are few, whole pages as ranges beyond that.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use smallvec::SmallVec;

use super::mode::RecordLockMode;
use crate::heap::slots::SlotSet;
use crate::page::RecordId;

/// Ranges of whole pages for an owner, table and mode.
pub(super) const RANGES_MAX: usize = 1024;

/// Explicit locks of one owner on records of a page, in one mode, taken at one mark.
pub(super) struct PageLock {
    pub(super) owner: u64,
    pub(super) mode: RecordLockMode,
    pub(super) since: u32,
    pub(super) slots: SlotSet,
}

/// Explicit record locks of one page.
pub(super) type PageLocks = SmallVec<[PageLock; 1]>;

/// Explicit record locks of one table.
pub(super) struct TableRecords {
    /// Pages with locks, owners with ranges and records with queues, for who wants to know without the mutex.
    pub(super) count: Arc<AtomicU32>,
    pub(super) pages: BTreeMap<u32, PageLocks>,
    /// Whole pages, by owner and mode.
    pub(super) ranges: BTreeMap<(u64, RecordLockMode), PageRanges>,
}

impl TableRecords {
    pub(super) fn new(count: &Arc<AtomicU32>) -> TableRecords {
        TableRecords { count: Arc::clone(count), pages: BTreeMap::new(), ranges: BTreeMap::new() }
    }

    /// Who locks a record explicitly, and how.
    pub(super) fn holders(&self, record: RecordId) -> impl Iterator<Item = (u64, RecordLockMode)> {
        let page = self.pages.get(&record.page_index).into_iter().flatten();
        let of_page =
            page.filter(move |lock| lock.slots.contains(record.slot)).map(|lock| (lock.owner, lock.mode));
        let ranges = self.ranges.iter().filter(move |(_, ranges)| ranges.contains(record.page_index));
        of_page.chain(ranges.map(|(holder, _)| *holder))
    }

    /// Locks whole pages.
    pub(super) fn lock_range(&mut self, holder: (u64, RecordLockMode), first: u32, last: u32, since: u32) {
        let count = &self.count;
        let ranges = self.ranges.entry(holder).or_insert_with(|| {
            count.fetch_add(1, Ordering::Relaxed);
            PageRanges::default()
        });
        ranges.add(first, last, since);
    }

    /// Removes what `gone` says of the locks of an owner on a page; the records that were locked by it.
    pub(super) fn unlock_page(
        &mut self,
        page: u32,
        gone: impl Fn(&PageLock) -> bool,
    ) -> SmallVec<[SlotSet; 1]> {
        let mut unlocked = SmallVec::new();
        if let Some(locks) = self.pages.get_mut(&page) {
            locks.retain(|lock| {
                let gone = gone(lock);
                if gone {
                    unlocked.push(std::mem::take(&mut lock.slots));
                }
                !gone
            });
            if locks.is_empty() {
                self.pages.remove(&page);
                self.count.fetch_sub(1, Ordering::Relaxed);
            }
        }
        unlocked
    }

    /// Removes the ranges of an owner that bear `since` or a later mark.
    pub(super) fn unlock_ranges(&mut self, owner: u64, since: u32) {
        let count = &self.count;
        self.ranges.retain(|(holder, _), ranges| {
            if *holder == owner {
                ranges.0.retain(|_, (_, its)| *its < since);
                if ranges.0.is_empty() {
                    count.fetch_sub(1, Ordering::Relaxed);
                    return false;
                }
            }
            true
        });
    }
}

/// Pages of one table that an owner locks in a mode: from each first to its last, and since which mark.
///
/// Beyond [`RANGES_MAX`] ranges those nearest to each other become one, with what lies between them: that denies others
/// more than was asked for, and nobody loses what he has.
#[derive(Default)]
pub(super) struct PageRanges(pub(super) BTreeMap<u32, (u32, u32)>);

impl PageRanges {
    pub(super) fn contains(&self, page: u32) -> bool {
        self.0.range(..=page).next_back().is_some_and(|(_, (last, _))| page <= *last)
    }

    pub(super) fn add(&mut self, first: u32, last: u32, since: u32) {
        let (mut from, mut to, mut oldest) = (first, last, since);
        if let Some((before, (end, its))) = self.0.range(..=first).next_back()
            && *end >= first.saturating_sub(1)
        {
            if *end >= last {
                return; // It has them already.
            }
            (from, to, oldest) = (*before, (*end).max(to), oldest.min(*its));
        }
        let touched: Vec<u32> = self.0.range(from..=to.saturating_add(1)).map(|(at, _)| *at).collect();
        for at in touched {
            if let Some((end, its)) = self.0.remove(&at) {
                (to, oldest) = (to.max(end), oldest.min(its));
            }
        }
        self.0.insert(from, (to, oldest));
        if self.0.len() > RANGES_MAX {
            self.coarsen();
        }
    }

    /// Closes the smaller half of the gaps.
    pub(super) fn coarsen(&mut self) {
        let list: Vec<(u32, (u32, u32))> = std::mem::take(&mut self.0).into_iter().collect();
        let gap = |two: &[(u32, (u32, u32))]| two[1].0 - two[0].1.0;
        let mut gaps: Vec<u32> = list.windows(2).map(gap).collect();
        let middle = gaps.len() / 2;
        let limit = *gaps.select_nth_unstable(middle).1;
        let mut open: Option<(u32, (u32, u32))> = None;
        for (first, (last, since)) in list {
            open = Some(match open {
                Some((from, (to, its))) if first - to <= limit => (from, (last, its.min(since))),
                Some((from, range)) => {
                    self.0.insert(from, range);
                    (first, (last, since))
                }
                None => (first, (last, since)),
            });
        }
        self.0.extend(open);
    }
}
