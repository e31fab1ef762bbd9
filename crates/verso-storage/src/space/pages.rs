//! Pages that are given out one by one, so that small objects take little of the file.
//!
//! ```text
//! unit 0           superblock │ map page │ page map of the first group │ five pages
//! a unit of pages  eight pages, each of an owner of its own, or free; the first one of each group begins with the group's page map
//! page map         an entry for each page of the group, as the map page has one for each unit
//! ```
//!
//! P1. The map page says of a unit that its pages are given out one by one, the page map of its group then whose each of them is; entries of
//!     pages of other units are zero. Unit 0 is one of these once there is a page map.
//! P2. A unit all of whose pages are free is given back as a whole, in the mini-transaction that frees the last of them; a page map
//!     goes with its unit, when nothing else of its group is left.
//! P3. No page is taken from a group whose page map a lost part of the log has left unreadable: what its units hold is lost room.

use std::collections::{BTreeMap, BTreeSet};

use super::format::{Entry, Group, UNIT_PAGES};
use crate::page::ObjectId;

/// Guarded by the map's lock.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Pages {
    /// The page map of each group that has one.
    pub maps: BTreeMap<Group, u32>,
    /// Groups whose page map cannot be read (P3).
    pub lost: BTreeSet<Group>,
    pub used: BTreeMap<u32, Entry>,
    pub free: BTreeSet<u32>,
    owners: BTreeSet<(ObjectId, u32)>,
}

/// The pages of a unit.
pub(super) fn of_unit(unit: u32) -> std::ops::Range<u32> {
    unit * UNIT_PAGES..(unit + 1) * UNIT_PAGES
}

impl Pages {
    /// The pages of a unit are given out one by one from now on.
    pub fn insert_unit(&mut self, unit: u32) {
        self.free.extend(of_unit(unit));
    }

    /// The unit was given back; none of its pages is used.
    pub fn remove_unit(&mut self, unit: u32) {
        of_unit(unit).for_each(|page| {
            self.free.remove(&page);
        });
    }

    /// A page that is not noted as used has an owner.
    pub fn insert_used(&mut self, page: u32, entry: Entry) {
        self.free.remove(&page);
        self.used.insert(page, entry);
        self.owners.insert((entry.owner, page));
    }

    /// Takes pages out of the used ones; they are not free yet. `false` if not all of them are used.
    pub fn remove_used(&mut self, pages: std::ops::Range<u32>) -> bool {
        let all = pages.clone().all(|page| self.used.contains_key(&page));
        for page in pages.filter(|_| all) {
            if let Some(entry) = self.used.remove(&page) {
                self.owners.remove(&(entry.owner, page));
            }
        }
        all
    }

    /// Whether no page of the unit is used.
    pub fn is_unused(&self, unit: u32) -> bool {
        self.used.range(of_unit(unit)).next().is_none()
    }

    /// The page map of a group that has nothing else any more. The first group's, which stands beside the map page, stays.
    pub fn lone_map(&self, group: Group, page_size: usize) -> Option<u32> {
        let map = *self.maps.get(&group).filter(|_| group != Group::FIRST)?;
        let pages = group.pages(page_size);
        let is_lone = self.used.range(pages.clone()).all(|(page, _)| *page == map)
            && self.free.range(pages).all(|page| page / UNIT_PAGES == map / UNIT_PAGES);
        is_lone.then_some(map)
    }

    /// The pages of an object by address.
    pub fn pages_of(&self, owner: ObjectId) -> impl Iterator<Item = (u32, Entry)> {
        self.owners
            .range((owner, 0)..=(owner, u32::MAX))
            .map(|(_, page)| (*page, *self.used.get(page).expect("owners and pages agree")))
    }
}
