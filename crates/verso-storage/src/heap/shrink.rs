//! Giving the free pages of a table and of its indexes back to the database: those that are whole units.
//!
//! ```text
//! list of free pages   17 ─► 40 ─► 41 ─► 9 ─► 42 ─► … ─► 47        unit 5 (pages 40 to 47) goes back: 17 ─► 9 ─► …
//! ```
//!
//! The list is read first, with nothing latched. Then each unit is taken out of it in a mini-transaction of its own, with
//! the root, its pages and those before them latched: where they are not what was read, others were there meanwhile and
//! the unit stays. Long values that were given back as a whole become pages of the list before, some at a time.
//!
//! SHRINK has the table for itself. SWEEP and VACUUM do it beside others: data pages without records that would make whole units
//! free are packed ([`Heap::pack_empty`]), whoever has read an entry of the directory passes by, and the list is gone through.
//!
//! Latches: the root, then pages of the list, which are not waited for: who has taken one of them from the list since may hold it
//! and wait for the root. Then the space map.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::root;
use super::table::Heap;
use super::unused::{Listed, each_page};
use crate::StorageError;
use crate::mini::{Mini, PageHandle};
use crate::page::{ObjectId, PageId, TxnId};
use crate::shared::Shared;
use crate::space::{ExtentRun, UNIT_PAGES};

/// Pages of a list that are looked at in one go.
const LISTED_MAX: usize = 1 << 18;
/// Pages of a long value that become pages of the list in one mini-transaction.
const PARTS_TOGETHER: usize = 32;
/// And before what is whole of them goes back: pages that are given back at once are not written.
const PARTS_AT_ONCE: usize = 4096;

/// Asked while it is done, between two units.
type GoOn<'g> = &'g mut dyn FnMut() -> Result<(), StorageError>;

/// The list as it was read, without the pages that went back since.
struct FreeList {
    head: PageId,
    next: HashMap<PageId, PageId>,
    before: HashMap<PageId, PageId>,
}

impl FreeList {
    /// The list of an object, from its head on: so many pages of it as are looked at in one go.
    fn read(shared: &Shared, object: ObjectId, head: PageId) -> Result<FreeList, StorageError> {
        let mut list = FreeList { head, next: HashMap::new(), before: HashMap::new() };
        let mut last = PageId::NONE;
        each_page(&shared.core().pool, object, head, |page, of_rest| {
            if !of_rest {
                if !last.is_none() {
                    list.next.insert(last, page);
                }
                list.before.insert(page, last);
                last = page;
            }
            !of_rest && list.before.len() < LISTED_MAX
        })?;
        list.next.insert(last, PageId::NONE);
        Ok(list)
    }

    /// How many of its pages each unit has.
    fn units(&self) -> BTreeMap<u32, u32> {
        let mut units = BTreeMap::new();
        for page in self.before.keys() {
            *units.entry(page.0 / UNIT_PAGES).or_default() += 1;
        }
        units
    }

    /// What a page or, for none, the root is to lead to when `pages` are gone, of those before them.
    fn links_without(&self, pages: &BTreeSet<PageId>) -> BTreeMap<PageId, PageId> {
        let mut links = BTreeMap::new();
        for page in pages {
            let before = self.before[page];
            if pages.contains(&before) {
                continue;
            }
            let mut next = *page;
            while pages.contains(&next) {
                next = self.next[&next];
            }
            links.insert(before, next);
        }
        links
    }

    fn remove(&mut self, pages: &BTreeSet<PageId>, links: BTreeMap<PageId, PageId>) {
        for page in pages {
            self.next.remove(page);
            self.before.remove(page);
        }
        for (before, next) in links {
            match before {
                PageId::NONE => self.head = next,
                _ => drop(self.next.insert(before, next)),
            }
            if !next.is_none() {
                self.before.insert(next, before);
            }
        }
    }
}

impl Heap {
    /// Gives units back of which all pages are free; how many pages that were. With the `tail` also those of the newest extent
    /// that were never used. Others may use the table meanwhile. `go_on` is asked between units.
    ///
    /// # Errors
    /// Those of `go_on`; `Corrupt`, `Io`. What is given back is.
    pub(crate) fn give_back(
        &self,
        shared: &Shared,
        tail: bool,
        go_on: GoOn<'_>,
    ) -> Result<u64, StorageError> {
        let _running = self.packing.running.lock();
        // Nobody frees the table meanwhile.
        let _gate = self.indexes.enter();
        if self.page_count() == 0 {
            return Ok(0);
        }
        Returning { shared, object: self.object, root: self.root }.give_back(tail, go_on)
    }

    /// As [`Heap::give_back`] after a sweep, of its indexes too, as far as there is something that the last sweep did not see. Nothing
    /// happens where somebody packs the table.
    ///
    /// # Errors
    /// As [`Heap::give_back`].
    pub(crate) fn give_back_swept(
        &self,
        shared: &Shared,
        tail: bool,
        go_on: GoOn<'_>,
    ) -> Result<u64, StorageError> {
        let Some(_running) = self.packing.running.try_lock() else { return Ok(0) };
        let gate = self.indexes.enter();
        if self.page_count() == 0 {
            return Ok(0);
        }
        // Whoever builds or drops an index waits for no more than a unit.
        let gives_way = Cell::new(false);
        let mut go_on = || {
            gives_way.set(self.indexes.is_wanted());
            if gives_way.get() { Err(StorageError::Cancelled) } else { go_on() }
        };
        let table = Returning { shared, object: self.object, root: self.root };
        let indexes =
            gate.iter().map(|index| Returning { shared, object: index.object(), root: index.root() });
        let mut given = 0;
        for (object, tail) in std::iter::once((table, tail)).chain(indexes.map(|index| (index, false))) {
            match object.give_back_what_is_new(tail, &mut go_on) {
                Ok(more) => given += more,
                Err(StorageError::Cancelled) if gives_way.get() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(given)
    }

    /// Which of these data pages, by their directory indexes, make units free when they are given up, as everything else in them is.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn making_units_free(
        &self,
        shared: &Shared,
        indexes: &[u32],
    ) -> Result<BTreeMap<u32, Vec<(u32, PageId)>>, StorageError> {
        let mut units: BTreeMap<u32, Vec<(u32, PageId)>> = BTreeMap::new();
        for index in indexes {
            if let Some(page) = self.page_at(*index)? {
                units.entry(page.0 / UNIT_PAGES).or_default().push((*index, page));
            }
        }
        let (never_used, head) = root::unused(&shared.core().pool.read(self.root)?);
        let mut free = FreeList::read(shared, self.object, head)?.units();
        for page in never_used {
            *free.entry(page / UNIT_PAGES).or_default() += 1;
        }
        let others = |unit: &u32| free.get(unit).copied().unwrap_or(0);
        units.retain(|unit, pages| pages.len() as u32 + others(unit) == UNIT_PAGES);
        Ok(units)
    }
}

/// An object whose free pages go back: a table, or an index.
struct Returning<'s> {
    shared: &'s Shared,
    object: ObjectId,
    root: PageId,
}

impl Returning<'_> {
    /// As [`Returning::give_back`], unless nothing has changed since that found nothing.
    fn give_back_what_is_new(&self, tail: bool, go_on: GoOn<'_>) -> Result<u64, StorageError> {
        let (core, known) = (self.shared.core(), &self.shared.nothing_to_return);
        // Whatever comes into the list, or leaves it, changes the root. U5: the LSN of an unlogged page tells nothing.
        let seen = || -> Result<_, StorageError> {
            let root = core.pool.read(self.root)?;
            let (_, head) = root::unused(&root);
            Ok((root.lsn(), head.is_none(), core.unlogged.contains(self.object)))
        };
        let (lsn, is_empty, is_unlogged) = seen()?;
        let is_known = !is_unlogged && known.lock().get(&self.object) == Some(&lsn);
        if !tail && (is_empty || is_known) {
            return Ok(0);
        }
        let given = self.give_back(tail, go_on)?;
        if given == 0 {
            known.lock().insert(self.object, lsn);
        }
        Ok(given)
    }

    fn give_back(&self, tail: bool, go_on: GoOn<'_>) -> Result<u64, StorageError> {
        let mut given = 0;
        loop {
            let is_flat = self.flatten(go_on)?;
            let more = self.give_back_listed(tail, go_on)?;
            given += more;
            if is_flat || more == 0 {
                return Ok(given);
            }
        }
    }

    /// Gives back what is whole of the list, without the rests of its pages.
    fn give_back_listed(&self, tail: bool, go_on: GoOn<'_>) -> Result<u64, StorageError> {
        let (never_used, head) = root::unused(&self.shared.core().pool.read(self.root)?);
        let mut list = FreeList::read(self.shared, self.object, head)?;
        let units = list.units();
        let mut given = 0;
        if tail && !never_used.is_empty() {
            given += self.give_back_tail(&mut list, &units)?;
        }
        for unit in units.into_iter().filter(|(_, free)| *free == UNIT_PAGES).map(|(unit, _)| unit) {
            go_on()?;
            let first = unit * UNIT_PAGES;
            given += self.give_back_unit(&mut list, first..first + UNIT_PAGES, None)?;
        }
        Ok(given)
    }

    /// Gives back what was never used of the newest extent: whole units, and one more if its other pages are free.
    fn give_back_tail(&self, list: &mut FreeList, units: &BTreeMap<u32, u32>) -> Result<u64, StorageError> {
        let (never_used, _) = root::unused(&self.shared.core().pool.read(self.root)?);
        if never_used.is_empty() {
            return Ok(0);
        }
        let (unit, used) = (never_used.start / UNIT_PAGES, never_used.start % UNIT_PAGES);
        let is_free = units.get(&unit).copied().unwrap_or(0) == used;
        let from = if is_free { unit * UNIT_PAGES } else { (unit + 1) * UNIT_PAGES };
        if from >= never_used.end {
            return Ok(0);
        }
        self.give_back_unit(list, from..never_used.end, Some(never_used))
    }

    /// Gives some pages back that are whole units: they are in the list, or among those `never_used`. How many, or 0 where
    /// others have used some of them meanwhile.
    fn give_back_unit(
        &self,
        list: &mut FreeList,
        pages: std::ops::Range<u32>,
        never_used: Option<std::ops::Range<u32>>,
    ) -> Result<u64, StorageError> {
        let run = ExtentRun { first: PageId(pages.start), pages: pages.end - pages.start };
        let is_listed = |page: &PageId| never_used.as_ref().is_none_or(|range| !range.contains(&page.0));
        let gone: BTreeSet<PageId> = run.page_ids().filter(is_listed).collect();
        if gone.iter().any(|page| !list.next.contains_key(page)) {
            return Ok(0);
        }
        let links = list.links_without(&gone);
        let pool = &self.shared.core().pool;
        let mut mini = Mini::begin(self.shared.core(), TxnId::NONE);
        let root = mini.write(self.root)?;
        let (now_unused, now_head) = root::unused(mini.page(root));
        if never_used.as_ref().is_some_and(|range| *range != now_unused) {
            return Ok(0);
        }
        let mut handles: BTreeMap<PageId, PageHandle> = BTreeMap::new();
        for page in gone.iter().chain(links.keys()).filter(|page| !page.is_none()) {
            let Some(latched) = pool.try_write(*page)? else { return Ok(0) };
            let handle = mini.take(latched);
            let listed = Listed::of(mini.page(handle), self.object);
            let is_same = listed
                .is_some_and(|listed| listed.rest.is_none() && list.next.get(page) == Some(&listed.next));
            if !is_same {
                return Ok(0);
            }
            handles.insert(*page, handle);
        }
        if links.contains_key(&PageId::NONE) && now_head != list.head {
            return Ok(0);
        }
        if !links.contains_key(&PageId::NONE) {
            // The root's LSN tells who counts the pages that they have changed.
            root::set_free_head(&mut mini, root, now_head)?;
        }
        for (before, next) in &links {
            match handles.get(before) {
                None => root::set_free_head(&mut mini, root, *next)?,
                Some(handle) => {
                    let listed = Listed { next: *next, rest: PageId::NONE, incarnation: 0 };
                    listed.put(&mut mini, *handle, self.object)?;
                }
            }
        }
        if never_used.is_some() {
            root::set_newest_extent(&mut mini, root, now_unused.start.min(pages.start), pages.start)?;
        }
        self.shared.space.free_runs(&mut mini, &[run])?;
        mini.commit()?;
        list.remove(&gone, links);
        Ok(u64::from(run.pages))
    }

    /// Makes pages of the list of the parts of long values that were given back as a whole, of some of them; whether these were all.
    fn flatten(&self, go_on: GoOn<'_>) -> Result<bool, StorageError> {
        let pool = &self.shared.core().pool;
        let (_, mut page) = root::unused(&pool.read(self.root)?);
        let mut parts = 0;
        for _ in 0..LISTED_MAX {
            if page.is_none() {
                break;
            }
            let listed = Listed::of(&pool.read_for_scan(page)?, self.object);
            page = match listed {
                // Others have taken it.
                None => break,
                Some(listed) if listed.rest.is_none() => listed.next,
                Some(_) if parts >= PARTS_AT_ONCE => return Ok(false),
                Some(listed) => {
                    go_on()?;
                    parts += PARTS_TOGETHER;
                    // A rest that is damaged, or that others have taken, is left where it is.
                    self.flatten_some(page)?.unwrap_or(listed.next)
                }
            };
        }
        Ok(true)
    }

    /// Makes pages of the list of some parts behind one; the one that has what is left of them.
    fn flatten_some(&self, page: PageId) -> Result<Option<PageId>, StorageError> {
        let pool = &self.shared.core().pool;
        let mut mini = Mini::begin(self.shared.core(), TxnId::NONE);
        // Values come and go under its latch.
        let root = mini.write(self.root)?;
        let Some(latched) = pool.try_write(page)? else { return Ok(None) };
        let mut at = mini.take(latched);
        let Some(mut listed) = Listed::of(mini.page(at), self.object) else { return Ok(None) };
        let (behind, mut changes) = (listed.next, Vec::new());
        while !listed.rest.is_none() && changes.len() < PARTS_TOGETHER {
            let Some(latched) = pool.try_write(listed.rest)? else { break };
            let rest = mini.take(latched);
            let Some(next) = listed.behind_first(mini.page(rest), self.object) else { break };
            changes.push((at, Listed { next: listed.rest, rest: PageId::NONE, incarnation: 0 }));
            (at, listed) = (rest, Listed { next: behind, rest: next, ..listed });
        }
        if changes.is_empty() {
            return Ok(None);
        }
        changes.push((at, listed));
        let left = mini.page_id(at);
        // Its LSN tells who counts the pages that the list has changed.
        let (_, head) = root::unused(mini.page(root));
        root::set_free_head(&mut mini, root, head)?;
        for (handle, listed) in changes {
            listed.put(&mut mini, handle, self.object)?;
        }
        mini.commit()?;
        Ok(Some(left))
    }
}
