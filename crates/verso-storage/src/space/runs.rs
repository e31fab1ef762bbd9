//! The space map in memory: free and allocated runs of units by address.

use std::collections::{BTreeMap, BTreeSet};

use super::format::{Entry, ExtentKind, Group, PAGE_MAP, PAGES_OF_MAP, UNIT_PAGES};
use super::pages::Pages;
use crate::page::ObjectId;

/// An allocated run; neighbours of one owner and kind are one run unless a root starts the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub count: u32,
    pub entry: Entry,
}

/// Guarded by the map's lock. Units are numbered through the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Runs {
    pub(super) free: BTreeMap<u32, u32>,
    pub(super) used: BTreeMap<u32, Run>,
    owners: BTreeSet<(ObjectId, u32)>,
    pub(super) free_units: u32,
    pub(super) total_units: u32,
    pub(super) regions: u32,
    /// Pages that are given out one by one.
    pub(super) pages: Pages,
}

impl Runs {
    /// The lowest free run of at least `count` units.
    pub(super) fn first_fit(&self, count: u32) -> Option<u32> {
        self.free.iter().find(|(_, length)| **length >= count).map(|(first, _)| *first)
    }

    /// Units are free now, new ones or given back ones. Runs do not cross `region_units`.
    pub(super) fn insert_free(&mut self, first: u32, count: u32, region_units: u32) {
        let (mut first, mut count) = (first, count);
        self.free_units += count;
        if let Some((&before, &length)) = self.free.range(..first).next_back() {
            assert!(before + length <= first, "unit {first} is free twice");
            if before + length == first && before / region_units == first / region_units {
                self.free.remove(&before);
                (first, count) = (before, length + count);
            }
        }
        let behind = first + count;
        if !behind.is_multiple_of(region_units) {
            count += self.free.remove(&behind).unwrap_or(0);
        }
        self.free.insert(first, count);
    }

    /// The file ends where its last free run begins.
    pub(super) fn cut(&mut self, end: u32) {
        let count = self.free.remove(&end).expect("what is cut off is free");
        self.free_units -= count;
        self.total_units = end;
    }

    /// Takes units at the start of a free run.
    pub(super) fn allocate(&mut self, first: u32, count: u32, entry: Entry) {
        let length = self.free.remove(&first).expect("the run is free");
        assert!(length >= count, "the free run is long enough");
        if length > count {
            self.free.insert(first + count, length - count);
        }
        self.free_units -= count;
        self.insert_used(first, count, entry);
    }

    /// Notes allocated units.
    pub(super) fn insert_used(&mut self, first: u32, count: u32, entry: Entry) {
        if let Some((&before, run)) = self.used.range_mut(..first).next_back() {
            let same = run.entry.owner == entry.owner && run.entry.kind == entry.kind;
            if before + run.count == first && same && !entry.root {
                run.count += count;
                return;
            }
        }
        self.used.insert(first, Run { count, entry });
        self.owners.insert((entry.owner, first));
    }

    /// Takes units out of the allocated ones; they are not free yet. `false` if not all of them are allocated.
    pub(super) fn remove_used(&mut self, first: u32, count: u32) -> bool {
        let end = first + count;
        let mut covered = first;
        let touched: Vec<(u32, Run)> = self
            .used
            .range(..end)
            .rev()
            .take_while(|(start, run)| **start + run.count > first)
            .map(|(start, run)| (*start, *run))
            .collect();
        for (start, run) in touched.iter().rev() {
            if *start > covered {
                return false;
            }
            covered = start + run.count;
        }
        if covered < end {
            return false;
        }
        for (start, run) in touched {
            self.used.remove(&start);
            self.owners.remove(&(run.entry.owner, start));
            if start < first {
                self.used.insert(start, Run { count: first - start, ..run });
                self.owners.insert((run.entry.owner, start));
            }
            if start + run.count > end {
                let entry = Entry { root: false, ..run.entry };
                self.used.insert(end, Run { count: start + run.count - end, entry });
                self.owners.insert((run.entry.owner, end));
            }
        }
        true
    }

    /// The first group has its page map from now on, and the first unit is one of pages.
    pub(super) fn begin_pages(&mut self) {
        let first = self.used.get_mut(&0).expect("the map page's unit");
        first.entry.kind = ExtentKind::Pages;
        let own = Entry { kind: ExtentKind::Map, ..first.entry };
        debug_assert_eq!(first.count, 1, "nothing else is of its kind");
        self.pages.maps.insert(Group::FIRST, PAGE_MAP.0);
        self.pages.insert_unit(0);
        (0..PAGES_OF_MAP).for_each(|page| self.pages.insert_used(page, own));
    }

    /// What a unit is used for.
    pub(super) fn entry(&self, unit: u32) -> Option<Entry> {
        let (first, run) = self.used.range(..=unit).next_back()?;
        (first + run.count > unit).then_some(run.entry)
    }

    /// Whether the pages of a unit are given out one by one.
    pub(super) fn has_pages(&self, unit: u32) -> bool {
        self.entry(unit).is_some_and(|entry| entry.kind.is_of_pages())
    }

    /// Whether an owner has less than so many pages of a kind.
    pub(super) fn has_few(&self, owner: ObjectId, kind: ExtentKind, limit: u32) -> bool {
        let units =
            self.runs_of(owner).map(|(_, run)| (run.entry.kind, run.count.saturating_mul(UNIT_PAGES)));
        let pages = self.pages.pages_of(owner).map(|(_, entry)| (entry.kind, 1));
        let mut left = limit;
        units.chain(pages).filter(|(of, _)| *of == kind).all(|(_, pages)| {
            left = left.saturating_sub(pages);
            left > 0
        })
    }

    /// The runs of an object by address.
    pub(super) fn runs_of(&self, owner: ObjectId) -> impl Iterator<Item = (u32, Run)> {
        self.owners
            .range((owner, 0)..=(owner, u32::MAX))
            .map(|(_, first)| (*first, *self.used.get(first).expect("owners and runs agree")))
    }
}
