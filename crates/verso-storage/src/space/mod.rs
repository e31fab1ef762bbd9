//! Space in the file: which extents are free and whose the others are.
//!
//! ```text
//! file     region 0: superblock, map page, …extents… │ region 1: –, map page, …extents… │ …
//! region   as many units of 8 pages as its map page has entries; the first unit holds the map page
//! extent   contiguous units of one owner within a region; or a page by itself (see [`pages`])
//! ```
//!
//! S1. The map pages are the truth and change through log records only; the runs in memory are read from them at
//!     open and changed together with them.
//! S2. Allocation and freeing take the map's lock until the mini-transaction commits, so no other one sees, or
//!     allocates, what is not in the log yet. Units freed by a mini-transaction are free to others only, after it.
//! S3. A freed page's frame is dropped unwritten after the commit, and recovery skips records of its former life.
//! S4. The file grows, with space reserved on disk, before any page changes: a full disk refuses and breaks nothing.
//! S5. The last `reserve` units are for undo and back-out, and for what a change needs behind its first allocation, where
//!     nothing may fail any more.
//! S6. Work that may be refused begins only while the reserve is whole: what changes have taken of it is replaced before,
//!     by a longer file, or the work is refused. Changes of rows go on where the file cannot grow, while half of the reserve
//!     is there, if their table has the pages that they need. Rows are
//!     deleted as long as a quarter of the reserve is there. What makes room otherwise is never refused for the reserve.
//! S7. Behind the last unit of the map there are zeroes: new units begin so. What a crash while closing has left there (the state
//!     of the last checkpoint) goes when the map is read.
//! S8. An object's first pages are given out one by one, wherever they stand in the file, further ones as units.
//! S9. A small database that is closed, or one whose file is mostly free at its end, has no units behind the last one in use: what is kept
//!     for changes comes back with the first one (S6). A file is cut only when both copies of the superblock say how short it is.
//! S10. A map page counts as it is also where its newest change stood in a part of the log that was given up: what it says too much is lost
//!     room, what it says too little is no more than damage of the pages that need it.
//!
//! Latches: allocate and free *after* all existing pages of the mini-transaction are latched; pages from an allocation
//! may follow, as nobody else can hold them. Map pages are latched under the map's lock only.
//! Log records: `SPACE_MAP_INIT`, `SPACE_GROW`, `SPACE_ALLOCATE`, `SPACE_FREE`, `SPACE_PAGES_INIT`, `SPACE_PAGES`, `SPACE_SHRINK`.

mod format;
#[cfg(test)]
mod large;
mod pages;
mod runs;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_env::VfsFile;
use verso_env::sync::{Mutex, MutexGuard};

pub(crate) use format::freed_pages;
pub use format::{ExtentKind, UNIT_PAGES, redo};
pub(crate) use runs::Runs;

use crate::buffer::BufferPool;
use crate::engine_core::Core;
use crate::mini::Mini;
use crate::page::{Flaw, ObjectId, PageId};
use crate::rules::{Rule, disabled};
use crate::wal::RecordKind;
use crate::{StorageError, TxnId};
use format::{Entry, Group};

/// Units kept for undo and back-out unless told otherwise.
pub const RESERVE_UNITS: u32 = 64;
/// The file grows by at least this many units, unless the disk is nearly full.
const GROW_UNITS_MIN: u32 = 64;
/// The file grows by at most this many units ahead of need.
const GROW_UNITS_MAX: u32 = 2048;

/// Who has fewer pages than this gets the next one by itself (S8).
const FEW_PAGES: u32 = 4;
/// Free pages whose page maps are latched ahead of the first change of a mini-transaction, which may take as many of them.
const HELD_AHEAD: usize = 4;

/// Contiguous pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExtentRun {
    /// The first of them.
    pub first: PageId,
    /// How many.
    pub pages: u32,
}

impl ExtentRun {
    /// Every page of the run.
    pub fn page_ids(self) -> impl Iterator<Item = PageId> {
        (0..self.pages).map(move |index| self.first.offset(index))
    }

    /// The run in pieces that lie in one unit each.
    pub(crate) fn by_unit(self) -> impl Iterator<Item = ExtentRun> {
        let (first, end) = (self.first.0, self.first.0 + self.pages);
        let units = first / UNIT_PAGES..end.div_ceil(UNIT_PAGES);
        units.map(pages::of_unit).map(move |unit| {
            let start = unit.start.max(first);
            ExtentRun { first: PageId(start), pages: unit.end.min(end) - start }
        })
    }
}

/// How the file is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SpaceStats {
    /// Pages of the file.
    pub total_pages: u64,
    /// Pages in free extents, the reserve included.
    pub free_pages: u64,
    /// Pages in extents by [`ExtentKind`]; index 0 is unused.
    pub pages_per_kind: [u64; ExtentKind::ALL.len() + 1],
}

/// The space map of an open database.
pub struct SpaceMap {
    file: Arc<dyn VfsFile>,
    page_size: usize,
    max_units: u32,
    reserve_units: u32,
    /// Fewer units are free than are kept for undo and back-out.
    low: AtomicBool,
    runs: Mutex<Runs>,
    /// Pages that a page map names as somebody's, and the map page does not (S10).
    orphans: Vec<u32>,
    /// Pages of the extents of objects that have a say in it.
    growth: Mutex<HashMap<ObjectId, Growth>>,
}

/// How large the extents of an object are to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Pages of the first extent of rows; 0 as usual.
    pub first: u32,
    /// Pages of further ones; 0 as usual.
    pub next: u32,
}

/// The map's lock, held by a mini-transaction until it commits, and what becomes free then (S2).
pub(crate) struct SpaceChange<'e> {
    map: &'e SpaceMap,
    runs: MutexGuard<'e, Runs>,
    freed: Vec<(u32, u32)>,
    /// Pages of units whose pages are given out one by one.
    freed_pages: Vec<u32>,
}

impl SpaceChange<'_> {
    /// The mini-transaction is in the log.
    pub(crate) fn finish(mut self) {
        for (first, count) in std::mem::take(&mut self.freed) {
            self.runs.insert_free(first, count, self.map.region_units());
        }
        for page in std::mem::take(&mut self.freed_pages) {
            if self.runs.has_pages(page / UNIT_PAGES) {
                self.runs.pages.free.insert(page);
            }
        }
        self.map.low.store(self.runs.free_units < self.map.reserve_units, Ordering::Relaxed);
    }
}

/// Bytes looked at together by [`wipe`].
const WIPED_BYTES: u64 = 1 << 20;

/// Makes a range of the file zero, and durably so before anybody grows into it (S7).
fn wipe(file: &dyn VfsFile, bytes: std::ops::Range<u64>) -> Result<(), StorageError> {
    let failed = |e| StorageError::io("the end of the database file", e);
    let mut has_wiped = false;
    for at in bytes.clone().step_by(WIPED_BYTES as usize) {
        let mut piece = vec![0; WIPED_BYTES.min(bytes.end - at) as usize];
        file.read_exact_at(&mut piece, at).map_err(failed)?;
        if piece.iter().any(|byte| *byte != 0) {
            piece.fill(0);
            file.write_at(&piece, at).map_err(failed)?;
            has_wiped = true;
        }
    }
    if has_wiped { file.sync_data().map_err(failed) } else { Ok(()) }
}

impl SpaceMap {
    /// Formats the map of a new database within `mini`.
    ///
    /// # Errors
    /// `Full`; what [`Mini`] returns.
    pub fn format(mini: &mut Mini<'_>, file: &dyn VfsFile) -> Result<(), StorageError> {
        let page_size = mini.core().pool.page_size();
        let bytes = u64::from(GROW_UNITS_MIN) * u64::from(UNIT_PAGES) * page_size as u64;
        file.preallocate(0, bytes).map_err(|e| StorageError::io("the database file", e))?;
        let page = mini.create(format::map_page(0, page_size))?;
        mini.apply(page, RecordKind::SPACE_MAP_INIT, &format::init_payload(0, GROW_UNITS_MIN))
    }

    /// Reads the map. `reserve_units` are kept for undo and back-out. Makes the file as long as the map says, should
    /// a crash have left it shorter.
    ///
    /// # Errors
    /// `Corrupt` names a map page; errors of reading.
    pub fn load(
        pool: &BufferPool,
        file: Arc<dyn VfsFile>,
        reserve_units: u32,
    ) -> Result<SpaceMap, StorageError> {
        let page_size = pool.page_size();
        let (runs, orphans) = read_runs(pool)?;
        let bytes = u64::from(runs.total_units) * u64::from(UNIT_PAGES) * page_size as u64;
        let length = file.len().map_err(|e| StorageError::io("the database file", e))?;
        if length < bytes {
            file.set_len(bytes).map_err(|e| StorageError::io("extending the database file", e))?;
        } else {
            wipe(&*file, bytes..length)?;
        }
        let max_units = pool.max_pages() / UNIT_PAGES;
        let low = AtomicBool::new(runs.free_units < reserve_units);
        Ok(SpaceMap {
            file,
            page_size,
            max_units,
            reserve_units,
            low,
            runs: Mutex::new(runs),
            orphans,
            growth: Mutex::default(),
        })
    }

    /// Where one of two map pages is as a lost part of the log has left it, and the other is not: what only one of them says goes.
    ///
    /// # Errors
    /// What [`Mini`] returns.
    pub fn mend(&self, core: &Core) -> Result<(), StorageError> {
        if self.orphans.is_empty() {
            return Ok(());
        }
        let mut mini = Mini::begin(core, TxnId::NONE);
        let change = self.change(&mut mini);
        let done = self.orphans.iter().try_for_each(|page| {
            let (map, index) = self.page_place(&change.runs, *page)?;
            let map = mini.write(map)?;
            mini.apply(map, RecordKind::SPACE_FREE, &format::free_payload(index, 1))
        });
        mini.put_space(change);
        done?;
        mini.commit().map(drop)
    }

    /// Before work that needs space and may be refused: what others have taken of the reserve is replaced (S6). Costs one load
    /// where nothing is missing.
    ///
    /// # Errors
    /// `Full` or the disk's, of a database that cannot grow; nothing has changed.
    #[inline]
    pub fn keep_reserve(&self, core: &Core) -> Result<(), StorageError> {
        if self.low.load(Ordering::Relaxed) && !disabled(Rule::S6) {
            self.refill_reserve(core)
        } else {
            Ok(())
        }
    }

    /// Whether at least half of the reserve is there, be it in single pages.
    pub fn has_half(&self) -> bool {
        self.has_part(2)
    }

    /// Whether at least a quarter is.
    pub fn has_quarter(&self) -> bool {
        self.has_part(4)
    }

    fn has_part(&self, part: u32) -> bool {
        let runs = self.runs.lock();
        let free = runs.free_units as usize * UNIT_PAGES as usize + runs.pages.free.len();
        free >= (self.reserve_units / part * UNIT_PAGES) as usize
    }

    #[cold]
    fn refill_reserve(&self, core: &Core) -> Result<(), StorageError> {
        let mut mini = Mini::begin(core, TxnId::NONE);
        let mut change = self.change(&mut mini);
        let before = change.runs.total_units;
        let mut result = Ok(());
        while result.is_ok() && change.runs.free_units < self.reserve_units {
            result = self.grow(&mut change, &mut mini, 0, self.reserve_units);
        }
        let has_grown = change.runs.total_units > before;
        mini.put_space(change);
        // Also where a second piece was refused.
        if has_grown {
            mini.commit()?;
        }
        result
    }

    /// Allocates `units` contiguous units to `owner`, at the lowest address where they fit; the file grows if they
    /// do not. With `root`, the first page is the owner's root. All pages are to be formatted by init records.
    ///
    /// # Errors
    /// `Full`: the disk or the database's greatest size, counting the reserve unless `mini` may use it and wants one unit; `TooLarge`
    /// for more than a region. Nothing has changed then.
    pub fn allocate<'e>(
        &'e self,
        mini: &mut Mini<'e>,
        owner: ObjectId,
        kind: ExtentKind,
        units: u32,
        root: bool,
    ) -> Result<ExtentRun, StorageError> {
        assert!(units > 0 && kind != ExtentKind::Map, "an extent has units and is no map");
        let limit = self.region_units() - 1;
        if units > limit {
            let bytes = |units: u32| u64::from(units) * u64::from(UNIT_PAGES) * self.page_size as u64;
            let (size, limit) = (bytes(units), bytes(limit));
            return Err(StorageError::TooLarge { what: "an extent".to_owned(), size, limit });
        }
        let mut change = self.change(mini);
        let held = self.hold_page_maps(&change, mini);
        let entry = Entry { owner, kind, root };
        let result = held.and_then(|()| self.allocate_in(&mut change, mini, units, entry));
        mini.put_space(change);
        result
    }

    /// Allocates the next extent to who has some already, or none: a page by itself as long as these are few, then `units`, or fewer
    /// where there is no room for so many (S8).
    ///
    /// # Errors
    /// As [`SpaceMap::allocate`].
    pub fn extend<'e>(
        &'e self,
        mini: &mut Mini<'e>,
        owner: ObjectId,
        kind: ExtentKind,
        units: u32,
    ) -> Result<ExtentRun, StorageError> {
        let entry = Entry { owner, kind, root: false };
        let mut change = self.change(mini);
        let result = self.extend_in(&mut change, mini, units, entry);
        mini.put_space(change);
        result
    }

    /// Allocates the first page of an object, its root: a page by itself, or a unit.
    ///
    /// # Errors
    /// As [`SpaceMap::allocate`].
    pub fn begin<'e>(&'e self, mini: &mut Mini<'e>, owner: ObjectId) -> Result<ExtentRun, StorageError> {
        let entry = Entry { owner, kind: ExtentKind::Object, root: true };
        let mut change = self.change(mini);
        let result = self.allocate_page(&mut change, mini, entry);
        mini.put_space(change);
        result
    }

    /// Latches the page maps that the next pages come from, as long as nothing has changed: what needs them later must not fail then.
    fn hold_page_maps<'e>(
        &'e self,
        change: &SpaceChange<'e>,
        mini: &mut Mini<'e>,
    ) -> Result<(), StorageError> {
        let pages = &change.runs.pages;
        let free = pages.free.iter().take(HELD_AHEAD).map(|page| page / UNIT_PAGES);
        let next = change.runs.first_fit(1).filter(|_| pages.free.len() < HELD_AHEAD);
        for unit in free.chain(next) {
            let group = Group::of_unit(unit, self.page_size);
            if let Some(map) = group.and_then(|group| pages.maps.get(&group)) {
                mini.write(PageId(*map))?;
            }
        }
        Ok(())
    }

    /// The page map that tells of a page, and the page's number there.
    fn page_place(&self, runs: &Runs, page: u32) -> Result<(PageId, u32), StorageError> {
        let group = Group::of_page(page, self.page_size);
        let map = group.and_then(|group| Some((group, *runs.pages.maps.get(&group)?)));
        match map {
            Some((group, map)) => Ok((PageId(map), page - group.first_page(self.page_size))),
            None => {
                let flaw = "no page map tells whose it is";
                Err(StorageError::corrupt(PageId(page), ObjectId::SYSTEM, flaw))
            }
        }
    }

    fn extend_in<'e>(
        &'e self,
        change: &mut SpaceChange<'e>,
        mini: &mut Mini<'e>,
        units: u32,
        entry: Entry,
    ) -> Result<ExtentRun, StorageError> {
        self.hold_page_maps(change, mini)?;
        // The database itself has a map page in each region, none of which need be looked at.
        let is_small = change.runs.total_units <= format::group_units(self.page_size);
        if (is_small || entry.owner != ObjectId::SYSTEM)
            && change.runs.has_few(entry.owner, entry.kind, FEW_PAGES)
        {
            return self.allocate_page(change, mini, entry);
        }
        match self.allocate_in(change, mini, units, entry) {
            Err(StorageError::Full { .. }) if units > 1 => self.allocate_in(change, mini, 1, entry),
            result => result,
        }
    }

    /// Allocates a page by itself; a unit where the next free one belongs to no group.
    fn allocate_page<'e>(
        &'e self,
        change: &mut SpaceChange<'e>,
        mini: &mut Mini<'e>,
        entry: Entry,
    ) -> Result<ExtentRun, StorageError> {
        // What may fail comes before any change.
        self.hold_page_maps(change, mini)?;
        if change.runs.pages.maps.is_empty() {
            self.begin_pages(change, mini)?;
        }
        let page = match change.runs.pages.free.first() {
            Some(page) => *page,
            None => match self.add_unit_of_pages(change, mini)? {
                Some(first) => first,
                None => return self.allocate_in(change, mini, 1, entry),
            },
        };
        let (map, index) = self.page_place(&change.runs, page)?;
        let map = mini.write(map)?;
        mini.apply(map, RecordKind::SPACE_ALLOCATE, &format::allocate_payload(index, 1, entry))?;
        change.runs.pages.insert_used(page, entry);
        Ok(single(page))
    }

    /// Makes the page map of the first group, beside the map page: it comes with some pages.
    fn begin_pages<'e>(
        &'e self,
        change: &mut SpaceChange<'e>,
        mini: &mut Mini<'e>,
    ) -> Result<(), StorageError> {
        let pages = mini.create(format::PAGE_MAP)?;
        let map = mini.write(format::map_page(0, self.page_size))?;
        let payload = format::pages_payload(format::PAGE_MAP, self.page_size);
        mini.apply(pages, RecordKind::SPACE_PAGES_INIT, &payload)?;
        mini.apply(map, RecordKind::SPACE_PAGES, &[0; 8])?;
        change.runs.begin_pages();
        Ok(())
    }

    /// Makes a unit of pages of the lowest free unit, with a page map where its group has none; the first of its free pages. `None` if
    /// it belongs to no group, or to one of which the page map is lost (P3).
    fn add_unit_of_pages<'e>(
        &'e self,
        change: &mut SpaceChange<'e>,
        mini: &mut Mini<'e>,
    ) -> Result<Option<u32>, StorageError> {
        let unit = self.free_unit(change, mini, 1)?;
        let group = Group::of_unit(unit, self.page_size);
        let Some(group) = group.filter(|group| !change.runs.pages.lost.contains(group)) else {
            return Ok(None);
        };
        let (region, index) = self.place(unit);
        let known = change.runs.pages.maps.get(&group).copied();
        let first = pages::of_unit(unit).start;
        let pages = match known {
            Some(page) => mini.write(PageId(page))?,
            None => mini.create(PageId(first))?,
        };
        let map = mini.write(format::map_page(region, self.page_size))?;
        let kind = if known.is_some() { ExtentKind::Pages } else { ExtentKind::PagesWithMap };
        let entry = Entry { owner: ObjectId::SYSTEM, kind, root: false };
        mini.apply(map, RecordKind::SPACE_ALLOCATE, &format::allocate_payload(index, 1, entry))?;
        change.runs.allocate(unit, 1, entry);
        change.runs.pages.insert_unit(unit);
        if known.is_some() {
            return Ok(Some(first));
        }
        let payload = format::pages_payload(PageId(first), self.page_size);
        mini.apply(pages, RecordKind::SPACE_PAGES_INIT, &payload)?;
        change.runs.pages.maps.insert(group, first);
        change.runs.pages.insert_used(first, Entry { kind: ExtentKind::Map, ..entry });
        Ok(Some(first + 1))
    }

    fn allocate_in<'e>(
        &'e self,
        change: &mut SpaceChange<'e>,
        mini: &mut Mini<'e>,
        units: u32,
        entry: Entry,
    ) -> Result<ExtentRun, StorageError> {
        let first = self.free_unit(change, mini, units)?;
        let (region, index) = self.place(first);
        let page = mini.write(format::map_page(region, self.page_size))?;
        mini.apply(page, RecordKind::SPACE_ALLOCATE, &format::allocate_payload(index, units, entry))?;
        change.runs.allocate(first, units, entry);
        Ok(self.run(first, units))
    }

    /// The first of so many free units; the file grows if there are none.
    fn free_unit<'e>(
        &'e self,
        change: &mut SpaceChange<'e>,
        mini: &mut Mini<'e>,
        units: u32,
    ) -> Result<u32, StorageError> {
        // The reserve is for what cannot be refused any more, and goes unit by unit: a large extent would leave nothing to others.
        let is_spared = mini.uses_reserve() && units == 1;
        loop {
            let reserve = if is_spared { 0 } else { self.reserve_units };
            let fit = change.runs.first_fit(units);
            let spared = change.runs.free_units >= units + reserve;
            match fit.filter(|_| spared) {
                Some(first) => return Ok(first),
                None => self.grow(change, mini, units, reserve)?,
            }
        }
    }

    /// Makes the file longer by what `units` beside `reserve` need, or more to spare later growth.
    fn grow<'e>(
        &'e self,
        change: &mut SpaceChange<'e>,
        mini: &mut Mini<'e>,
        units: u32,
        reserve: u32,
    ) -> Result<(), StorageError> {
        let total = change.runs.total_units;
        let (region, used) = self.place(total);
        let least = units.max((units + reserve).saturating_sub(change.runs.free_units));
        let ahead = (total / 8).clamp(GROW_UNITS_MIN, GROW_UNITS_MAX);
        // A region's first unit is its map's; one with less left than needed is filled up, and the loop comes again.
        let (left, least, ahead) = match used {
            0 => (self.region_units(), least + 1, ahead + 1),
            _ => (self.region_units() - used, least, ahead),
        };
        let room = left.min(self.max_units.saturating_sub(total));
        if least > left {
            // All of it before any page changes (S4): the next region's first unit is its map's.
            self.preallocate(total, least + 1)?;
        }
        let least = least.min(left);
        if room < least || room == 0 {
            return Err(StorageError::Full { what: "the database, which has its greatest size".to_owned() });
        }
        let added = match self.preallocate(total, least.max(ahead).min(room)) {
            Ok(added) => added,
            Err(_) => self.preallocate(total, least)?,
        };
        if used == 0 {
            let map = mini.create(format::map_page(region, self.page_size))?;
            mini.apply(map, RecordKind::SPACE_MAP_INIT, &format::init_payload(region, added))?;
            let first = mini.write(format::map_page(0, self.page_size))?;
            let payload = format::grow_payload(self.region_units(), region + 1);
            mini.apply(first, RecordKind::SPACE_GROW, &payload)?;
            change.runs.regions = region + 1;
            let entry = Entry { owner: ObjectId::SYSTEM, kind: ExtentKind::Map, root: false };
            change.runs.insert_used(total, 1, entry);
            change.runs.insert_free(total + 1, added - 1, self.region_units());
        } else {
            let map = mini.write(format::map_page(region, self.page_size))?;
            let number = if region == 0 { change.runs.regions } else { region };
            mini.apply(map, RecordKind::SPACE_GROW, &format::grow_payload(used + added, number))?;
            change.runs.insert_free(total, added, self.region_units());
        }
        change.runs.total_units = total + added;
        Ok(())
    }

    fn preallocate(&self, total: u32, added: u32) -> Result<u32, StorageError> {
        let unit = u64::from(UNIT_PAGES) * self.page_size as u64;
        let result = self.file.preallocate(u64::from(total) * unit, u64::from(added) * unit);
        result.map_err(|e| StorageError::io("the database file", e))?;
        Ok(added)
    }

    /// Where the last unit in use ends, as far as what stands behind it can be cut off, and the file.
    pub fn bytes_in_use(&self) -> (u64, u64) {
        let runs = self.runs.lock();
        (self.bytes_of(used_units(&runs)), self.bytes_of(runs.total_units))
    }

    /// Takes the free units at the end of the file out of the map, for a database that is being closed, which is then cut there (S9).
    /// How many bytes the file is to have.
    ///
    /// # Errors
    /// `Full` where the log has no room for that; what [`Mini`] returns.
    pub fn shorten(&self, core: &Core) -> Result<u64, StorageError> {
        let mut mini = Mini::begin(core, TxnId::NONE);
        let mut change = self.change(&mut mini);
        let end = used_units(&change.runs);
        let result = self.shorten_in(&mut change, &mut mini, end);
        mini.put_space(change);
        if result? {
            mini.commit()?;
        }
        Ok(self.bytes_of(end))
    }

    fn shorten_in<'e>(
        &'e self,
        change: &mut SpaceChange<'e>,
        mini: &mut Mini<'e>,
        end: u32,
    ) -> Result<bool, StorageError> {
        if end == change.runs.total_units {
            return Ok(false);
        }
        let (region, index) = self.place(end);
        let map = mini.write(format::map_page(region, self.page_size))?;
        mini.apply(map, RecordKind::SPACE_SHRINK, &format::shrink_payload(index))?;
        change.runs.cut(end);
        Ok(true)
    }

    /// Whether that is where the file ends. Not where somebody is changing the map.
    pub fn ends_at(&self, bytes: u64) -> bool {
        self.runs.try_lock().is_some_and(|runs| self.bytes_of(runs.total_units) == bytes)
    }

    fn bytes_of(&self, units: u32) -> u64 {
        u64::from(units) * u64::from(UNIT_PAGES) * self.page_size as u64
    }

    /// Frees extents or parts of them, in whole units but for pages that were given out by themselves. Their frames are dropped after the commit.
    ///
    /// # Errors
    /// `Corrupt` when something is not allocated; what [`Mini`] returns.
    pub fn free_runs<'e>(&'e self, mini: &mut Mini<'e>, runs: &[ExtentRun]) -> Result<(), StorageError> {
        let mut change = self.change(mini);
        let result = runs.iter().try_for_each(|run| self.free_in(&mut change, mini, *run));
        mini.put_space(change);
        result
    }

    /// Frees everything of an object; returns how many pages that were.
    ///
    /// # Errors
    /// As [`SpaceMap::free_runs`].
    pub fn free_owner<'e>(&'e self, mini: &mut Mini<'e>, owner: ObjectId) -> Result<u64, StorageError> {
        let mut change = self.change(mini);
        let runs = self.runs_of(&change.runs, owner);
        let result = runs.iter().try_for_each(|run| self.free_in(&mut change, mini, *run));
        mini.put_space(change);
        result.map(|()| runs.iter().map(|run| u64::from(run.pages)).sum())
    }

    fn free_in<'e>(
        &'e self,
        change: &mut SpaceChange<'e>,
        mini: &mut Mini<'e>,
        run: ExtentRun,
    ) -> Result<(), StorageError> {
        if change.runs.has_pages(run.first.0 / UNIT_PAGES) {
            return self.free_pages_in(change, mini, run);
        }
        assert!(
            run.first.0.is_multiple_of(UNIT_PAGES) && run.pages.is_multiple_of(UNIT_PAGES) && run.pages > 0,
            "whole units are freed, not {run:?}"
        );
        let (first, count) = (run.first.0 / UNIT_PAGES, run.pages / UNIT_PAGES);
        let (region, index) = self.place(first);
        let page = mini.write(format::map_page(region, self.page_size))?;
        mini.apply(page, RecordKind::SPACE_FREE, &format::free_payload(index, count))?;
        assert!(change.runs.remove_used(first, count), "the map page has just said that they are allocated");
        mini.discard_on_commit(run.first, run.pages);
        change.freed.push((first, count));
        Ok(())
    }

    /// As [`SpaceMap::free_in`] of pages of one unit that were given out by themselves.
    fn free_pages_in<'e>(
        &'e self,
        change: &mut SpaceChange<'e>,
        mini: &mut Mini<'e>,
        run: ExtentRun,
    ) -> Result<(), StorageError> {
        let (first, end) = (run.first.0, run.first.0 + run.pages);
        let unit = first / UNIT_PAGES;
        assert!(run.pages > 0 && end <= pages::of_unit(unit).end, "pages of one unit are freed, not {run:?}");
        let (map, index) = self.page_place(&change.runs, first)?;
        let handle = mini.write(map)?;
        mini.write(format::map_page(self.place(unit).0, self.page_size))?;
        mini.apply(handle, RecordKind::SPACE_FREE, &format::free_payload(index, run.pages))?;
        assert!(
            change.runs.pages.remove_used(first..end),
            "the page map has just said that they are allocated"
        );
        mini.discard_on_commit(run.first, run.pages);
        change.freed_pages.extend(first..end);
        // P2. The first unit has pages that are always used.
        if change.runs.pages.is_unused(unit) {
            self.free_unit_of_pages(change, mini, unit)?;
        }
        let group = Group::of_unit(unit, self.page_size);
        let lone = group.and_then(|group| Some((group, change.runs.pages.lone_map(group, self.page_size)?)));
        if let Some((group, map)) = lone {
            change.runs.pages.maps.remove(&group);
            assert!(change.runs.pages.remove_used(map..map + 1), "a page map is its own");
            self.free_unit_of_pages(change, mini, map / UNIT_PAGES)?;
            mini.discard_on_commit(PageId(map), 1);
        }
        Ok(())
    }

    /// Gives back a unit none of whose pages is used any more.
    fn free_unit_of_pages<'e>(
        &'e self,
        change: &mut SpaceChange<'e>,
        mini: &mut Mini<'e>,
        unit: u32,
    ) -> Result<(), StorageError> {
        let (region, index) = self.place(unit);
        let map = mini.write(format::map_page(region, self.page_size))?;
        mini.apply(map, RecordKind::SPACE_FREE, &format::free_payload(index, 1))?;
        assert!(change.runs.remove_used(unit, 1), "it is a unit of pages");
        change.runs.pages.remove_unit(unit);
        change.freed.push((unit, 1));
        Ok(())
    }

    /// The extents of an object by address; neighbours are one run.
    pub fn extents_of(&self, owner: ObjectId) -> Vec<ExtentRun> {
        self.runs_of(&self.runs.lock(), owner)
    }

    /// Pages that were given out by themselves, then units.
    fn runs_of(&self, runs: &Runs, owner: ObjectId) -> Vec<ExtentRun> {
        let pages = runs.pages.pages_of(owner).map(|(page, _)| single(page));
        let units = runs.runs_of(owner).filter(|(_, run)| !run.entry.kind.is_of_pages());
        let mut all: Vec<ExtentRun> =
            pages.chain(units.map(|(first, run)| self.run(first, run.count))).collect();
        all.sort_unstable();
        all
    }

    /// Sets how large extents of an object are from now on.
    pub fn set_growth(&self, object: ObjectId, growth: Growth) {
        let mut known = self.growth.lock();
        match growth == Growth::default() {
            true => known.remove(&object),
            false => known.insert(object, growth),
        };
    }

    /// Units of the next extent of an object that has so many data pages, where somebody has said it: of more than an extent can
    /// have as many as it can.
    pub(crate) fn units_wanted(&self, object: ObjectId, pages: u32) -> Option<u32> {
        let growth = *self.growth.lock().get(&object)?;
        let wanted = if pages < UNIT_PAGES { growth.first } else { growth.next };
        (wanted > 0).then(|| wanted.div_ceil(UNIT_PAGES).min(self.region_units() - 1))
    }

    /// All extents of a kind with their owners, by address.
    pub fn extents_of_kind(&self, kind: ExtentKind) -> Vec<(ObjectId, ExtentRun)> {
        let runs = self.runs.lock();
        let units = runs.used.iter().map(|(first, run)| (run.entry, self.run(*first, run.count)));
        let pages = runs.pages.used.iter().map(|(page, entry)| (*entry, single(*page)));
        let of_kind = units.chain(pages).filter(|(entry, _)| entry.kind == kind);
        let mut all: Vec<_> = of_kind.map(|(entry, run)| (entry.owner, run)).collect();
        all.sort_unstable_by_key(|(_, run)| *run);
        all
    }

    /// Every object with a root page, and that page.
    pub fn roots(&self) -> Vec<(ObjectId, PageId)> {
        let runs = self.runs.lock();
        let units = runs.used.iter().map(|(first, run)| (run.entry, PageId(first * UNIT_PAGES)));
        let pages = runs.pages.used.iter().map(|(page, entry)| (*entry, PageId(*page)));
        let roots = units.chain(pages).filter(|(entry, _)| entry.root);
        roots.map(|(entry, page)| (entry.owner, page)).collect()
    }

    /// Whose the page is and what for; `None` if it is free or beyond the end.
    pub fn owner_of(&self, page: PageId) -> Option<(ObjectId, ExtentKind)> {
        owner_in(&self.runs.lock(), page)
    }

    /// As [`SpaceMap::owner_of`], for a mini-transaction that may have the map's lock.
    pub(crate) fn owner_within(&self, mini: &mut Mini<'_>, page: PageId) -> Option<(ObjectId, ExtentKind)> {
        let Some(change) = mini.take_space() else { return self.owner_of(page) };
        let owner = owner_in(&change.runs, page);
        mini.put_space(change);
        owner
    }

    /// Whether it is a map page or a page map. The other pages of its unit mean nothing, if they are not given out by themselves.
    pub fn is_map_page(&self, page: PageId) -> bool {
        page == format::map_page(page.0 / UNIT_PAGES / self.region_units(), self.page_size) || {
            let group = Group::of_page(page.0, self.page_size);
            group.is_some_and(|group| self.runs.lock().pages.maps.get(&group) == Some(&page.0))
        }
    }

    /// How the file is used.
    pub fn stats(&self) -> SpaceStats {
        let runs = self.runs.lock();
        let pages = |units: u32| u64::from(units) * u64::from(UNIT_PAGES);
        let mut stats = SpaceStats {
            total_pages: pages(runs.total_units),
            free_pages: pages(runs.free_units) + runs.pages.free.len() as u64,
            ..SpaceStats::default()
        };
        for run in runs.used.values().filter(|run| !run.entry.kind.is_of_pages()) {
            stats.pages_per_kind[run.entry.kind as usize] += pages(run.count);
        }
        for entry in runs.pages.used.values() {
            stats.pages_per_kind[entry.kind as usize] += 1;
        }
        stats
    }

    /// Proves S1: the map pages read anew say what is in memory, and every unit is free or allocated once.
    ///
    /// # Errors
    /// `Corrupt` names what differs.
    pub fn check(&self, pool: &BufferPool) -> Result<(), StorageError> {
        let runs = self.runs.lock();
        let flaw = |text: &'static str| Err(StorageError::corrupt(PageId(1), ObjectId::SYSTEM, text));
        let (read, _) = read_runs(pool)?;
        // Neighbouring runs may be merged in another way in memory; units may not.
        let units = |runs: &Runs| -> Vec<(u32, Entry)> {
            let of = |(first, run): (&u32, &runs::Run)| {
                let (first, run) = (*first, *run);
                (0..run.count)
                    .map(move |unit| (first + unit, Entry { root: run.entry.root && unit == 0, ..run.entry }))
            };
            runs.used.iter().flat_map(of).collect()
        };
        let counted: u32 = read.used.values().map(|run| run.count).sum();
        if counted + read.free_units != read.total_units {
            return flaw("units are missing from the map");
        }
        if units(&read) != units(&runs)
            || read.free != runs.free
            || read.total_units != runs.total_units
            || read.pages != runs.pages
        {
            return flaw("the space map in memory differs from its pages");
        }
        Ok(())
    }

    /// The lock that `mini` has, or takes now.
    fn change<'e>(&'e self, mini: &mut Mini<'e>) -> SpaceChange<'e> {
        mini.take_space().unwrap_or_else(|| SpaceChange {
            map: self,
            runs: self.runs.lock(),
            freed: Vec::new(),
            freed_pages: Vec::new(),
        })
    }

    fn region_units(&self) -> u32 {
        format::region_units(self.page_size)
    }

    /// Region of a unit, and its index there.
    fn place(&self, unit: u32) -> (u32, u32) {
        (unit / self.region_units(), unit % self.region_units())
    }

    #[expect(clippy::unused_self, reason = "reads as a question to the map")]
    fn run(&self, first: u32, count: u32) -> ExtentRun {
        ExtentRun { first: PageId(first * UNIT_PAGES), pages: count * UNIT_PAGES }
    }
}

/// Where the free units at the end of the last region begin.
fn used_units(runs: &Runs) -> u32 {
    match runs.free.last_key_value() {
        Some((first, count)) if first + count == runs.total_units => *first,
        _ => runs.total_units,
    }
}

/// Whose a page is and what for.
fn owner_in(runs: &Runs, page: PageId) -> Option<(ObjectId, ExtentKind)> {
    let entry = match runs.entry(page.0 / UNIT_PAGES)? {
        entry if entry.kind.is_of_pages() => *runs.pages.used.get(&page.0)?,
        entry => entry,
    };
    Some((entry.owner, entry.kind))
}

/// A page by itself.
fn single(page: u32) -> ExtentRun {
    ExtentRun { first: PageId(page), pages: 1 }
}

/// What the map pages say, and pages that only one of two of them names.
fn read_runs(pool: &BufferPool) -> Result<(Runs, Vec<u32>), StorageError> {
    let page_size = pool.page_size();
    let region_units = format::region_units(page_size);
    let mut runs = Runs::default();
    runs.regions = 1;
    let mut region = 0;
    while region < runs.regions {
        let id = format::map_page(region, page_size);
        let page = pool.read(id)?;
        let corrupt = |flaw: Flaw| StorageError::corrupt(id, ObjectId::SYSTEM, flaw);
        let units = format::units(&page).map_err(corrupt)?;
        if region == 0 {
            runs.regions = format::regions(&page);
        }
        if region + 1 < runs.regions && units != region_units {
            return Err(corrupt(Flaw::from("a region that is not the last has units missing")));
        }
        for unit in 0..units {
            let number = region * region_units + unit;
            match format::entry(&page, unit).map_err(corrupt)? {
                Some(entry) => runs.insert_used(number, 1, entry),
                None => runs.insert_free(number, 1, region_units),
            }
        }
        runs.total_units = region * region_units + units;
        region += 1;
    }
    let orphans = read_pages(pool, &mut runs)?;
    Ok((runs, orphans))
}

/// Reads the page maps (P1); those pages whose unit is not one of pages, where log was lost.
fn read_pages(pool: &BufferPool, runs: &mut Runs) -> Result<Vec<u32>, StorageError> {
    let page_size = pool.page_size();
    let of_pages = runs.used.iter().filter(|(_, run)| run.entry.kind.is_of_pages());
    let units: Vec<(u32, ExtentKind)> = of_pages
        .flat_map(|(first, run)| (*first..first + run.count).map(|unit| (unit, run.entry.kind)))
        .collect();
    let mut orphans = Vec::new();
    for (unit, kind) in &units {
        let map = match (*unit, kind) {
            (0, _) => format::PAGE_MAP,
            (_, ExtentKind::PagesWithMap) => PageId(pages::of_unit(*unit).start),
            _ => continue,
        };
        let corrupt = |flaw: &'static str| StorageError::corrupt(map, ObjectId::SYSTEM, flaw);
        let group = Group::of_unit(*unit, page_size).ok_or_else(|| corrupt("a page map of no group"))?;
        if runs.pages.maps.contains_key(&group) || runs.pages.lost.contains(&group) {
            return Err(corrupt("a second page map of its group"));
        }
        match read_page_map(pool, runs, (group, map), &mut orphans) {
            Ok(()) => {}
            // P3. Without that of the first group there is no table of the catalog.
            Err(error) if pool.has_gaps() && group != Group::FIRST && error.is_of_a_page() => {
                runs.pages.lost.insert(group);
            }
            Err(error) => return Err(error),
        }
    }
    for (unit, _) in units {
        let group = Group::of_unit(unit, page_size);
        let is_told_of = group.is_some_and(|group| runs.pages.maps.contains_key(&group));
        if !is_told_of && pool.has_gaps() {
            runs.pages.lost.extend(group);
        } else if !is_told_of {
            let flaw = "a unit of pages that no page map tells of";
            return Err(StorageError::corrupt(PageId(unit * UNIT_PAGES), ObjectId::SYSTEM, flaw));
        }
    }
    Ok(orphans)
}

/// Reads the page map of a group; nothing was noted if it is damaged.
fn read_page_map(
    pool: &BufferPool,
    runs: &mut Runs,
    (group, map): (Group, PageId),
    orphans: &mut Vec<u32>,
) -> Result<(), StorageError> {
    let page_size = pool.page_size();
    let page = pool.read(map)?;
    let corrupt = |flaw: Flaw| StorageError::corrupt(map, ObjectId::SYSTEM, flaw);
    let pages = group.pages(page_size);
    let count = format::units(&page).map_err(corrupt)?;
    if count != pages.end - pages.start {
        return Err(corrupt(Flaw::new(format!("a page map of {count} pages"))));
    }
    let mut entries = Vec::with_capacity(count as usize);
    for index in 0..count {
        entries.push((pages.start + index, format::entry(&page, index).map_err(corrupt)?));
    }
    let own = map.0 - pages.start;
    if entries[own as usize].1.is_none_or(|entry| entry.kind != ExtentKind::Map) {
        return Err(corrupt(Flaw::from("a page map that does not tell of itself")));
    }
    let is_stray =
        |(number, entry): &&(u32, Option<Entry>)| entry.is_some() && !runs.has_pages(number / UNIT_PAGES);
    let strays: Vec<u32> = entries.iter().filter(is_stray).map(|(number, _)| *number).collect();
    if let Some(number) = strays.first().filter(|_| !pool.has_gaps()) {
        return Err(corrupt(Flaw::new(format!("page {number} has no unit of pages"))));
    }
    orphans.extend(strays);
    runs.pages.maps.insert(group, map.0);
    for (number, entry) in entries {
        match entry {
            _ if !runs.has_pages(number / UNIT_PAGES) => {}
            Some(entry) => runs.pages.insert_used(number, entry),
            None => drop(runs.pages.free.insert(number)),
        }
    }
    Ok(())
}
