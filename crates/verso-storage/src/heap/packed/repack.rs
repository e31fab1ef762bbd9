//! Packing the data pages of a table.
//!
//! Packed pages go to pages that were never used, not to those that were freed: so whole units become free, one behind the
//! other. Where nobody else uses the table they go back to the space map at once; else all pages that were given up go to the
//! table's list, of which [`crate::heap::shrink`] gives back what is whole.
//!
//! Others may use the table meanwhile. Pages are encoded under latches that everybody shares; then they are latched one after the
//! other, never waited for, and those that have changed since are left alone. A page that somebody waits for while he has
//! the root is none that the directory leads to, so that no two wait for each other.
//!
//! Latches: data and packed pages, the root, leaves of the directory; new pages and the space map last.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};

use verso_env::sync::Mutex;

use super::container;
use super::dictionary::Dictionary;
use super::encode::encode;
use super::part::{Image, Part};
use crate::StorageError;
use crate::heap::layout::{FLAG_ALL_VISIBLE, FLAG_SWEPT, LIVE_COUNT, PageLayout};
use crate::heap::{Heap, apply, directory, room, root};
use crate::maintenance::sweep::Waiting;
use crate::mini::Mini;
use crate::page::bytes::u16_at;
use crate::page::{Flaw, Lsn, ObjectId, PageId, PageKind, TxnId, header};
use crate::shared::Shared;
use crate::space::{ExtentRun, UNIT_PAGES};
use crate::wal::RecordKind;
use crate::workers::Job;

/// Units whose pages are packed together at most, and what part of the pool that may be.
const UNITS_TOGETHER: usize = 3;
/// The same of pages without records, of which many fit one.
const EMPTY_UNITS_TOGETHER: usize = 16;
const POOL_PART: usize = 8;
/// Units of which some pages were met and others are awaited.
const UNITS_OPEN: usize = 32;

/// What a table knows of its packing, in memory.
#[derive(Default)]
pub(crate) struct PackingState {
    /// Its cold pages are packed by themselves.
    pub by_itself: AtomicBool,
    /// Data pages that were packed by themselves since the database was opened.
    pub packed: AtomicU64,
    /// Data pages that were unpacked since then.
    pub unpacked: AtomicU64,
    /// Held by who packs.
    pub(in crate::heap) running: Mutex<()>,
}

/// What packing a table has done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packing {
    /// Data pages that are in packed pages now and were not before.
    pub packed: u64,
    /// Packed pages that were made.
    pub made: u64,
    /// Data pages that are as they were: not full of what everybody sees, or not smaller by encoding.
    pub left: u64,
    /// Pages given back to the database.
    pub freed: u64,
}

impl Packing {
    fn add(&mut self, other: Packing) {
        self.packed += other.packed;
        self.made += other.made;
        self.left += other.left;
        self.freed += other.freed;
    }
}

/// Which data pages are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Which {
    /// All that hold nothing but what every snapshot sees.
    Visible,
    /// These, and those in packed pages once more.
    Anew,
    /// Those of them without records.
    Empty,
    /// Those of them that have little room for other records.
    Full,
}

impl Which {
    /// The word of the statement.
    pub fn word(self) -> &'static str {
        match self {
            Which::Visible | Which::Full => "COMPRESS",
            Which::Anew => "REPACK",
            Which::Empty => "SHRINK",
        }
    }
}

/// A data page by its directory index, encoded.
pub(super) type PartOf = (u32, Vec<u8>);

/// A data page that may be packed, or a packed page that may be packed anew.
#[derive(Clone, Copy)]
struct Candidate {
    index: u32,
    page: PageId,
}

/// A candidate with the parts that it becomes.
struct Prepared {
    candidate: Candidate,
    /// The page's, when it was encoded.
    lsn: Lsn,
    parts: Vec<PartOf>,
    is_fresh: bool,
}

/// How pages are encoded.
#[derive(Clone, Copy)]
struct How<'d> {
    dictionary: Option<&'d Dictionary>,
    /// Parts of packed pages as well.
    anew: bool,
    /// Of data pages only those without records.
    empty: bool,
}

/// Pages of units, in the order of their numbers, until all of a unit are there.
#[derive(Default)]
pub(crate) struct Units {
    open: BTreeMap<u32, Vec<Candidate>>,
    whole: Vec<Candidate>,
}

impl Units {
    fn add(&mut self, candidate: Candidate) {
        let unit = candidate.page.0 / UNIT_PAGES;
        let known = self.open.entry(unit).or_default();
        known.push(candidate);
        if known.len() == UNIT_PAGES as usize {
            self.whole.append(known);
            self.open.remove(&unit);
        }
    }

    /// The next pages to pack together, so many at most; at the `end`, whatever is there.
    fn next(&mut self, most: usize, end: bool) -> Vec<Candidate> {
        if self.whole.len() >= most || end && !self.whole.is_empty() {
            return std::mem::take(&mut self.whole);
        }
        let mut loose = Vec::new();
        while self.open.len() > UNITS_OPEN || end {
            // Of a unit whose pages were given out one by one there are few.
            let fits = |pages: &Vec<Candidate>| loose.len() + pages.len() <= most;
            let Some(unit) = self.open.first_entry().filter(|unit| fits(unit.get())) else { break };
            loose.append(&mut unit.remove());
        }
        loose
    }
}

impl Heap {
    /// Packs the data pages that hold nothing but what every snapshot sees; packed pages that have lost most of their parts are
    /// packed anew. Nobody else may use the table meanwhile; a sweep before shows which pages these are. `go_on` is asked
    /// between some pages, and `job` counts them.
    ///
    /// # Errors
    /// Those of `go_on`; `Full`, `Corrupt`, `Io`. What is packed stays packed.
    pub(crate) fn pack(
        &self,
        shared: &Shared,
        which: Which,
        job: &Job,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Packing, StorageError> {
        let _running = self.packing.running.lock();
        let mut done = Packing::default();
        let mut units = Units::default();
        for index in 0..self.page_count() {
            self.offer(shared, index, which, &mut units, &mut done)?;
            self.pack_offered(shared, &mut units, (which, false, true), go_on, &mut done)?;
            job.advance(1);
        }
        self.pack_offered(shared, &mut units, (which, true, true), go_on, &mut done)?;
        if which == Which::Anew {
            self.forget_dictionaries(shared)?;
        }
        Ok(done)
    }

    /// As [`Heap::pack`] for some data pages, while others use the table; `units` holds what waits for neighbours, until the
    /// `end`. Nothing happens where somebody packs the table already.
    ///
    /// # Errors
    /// As [`Heap::pack`].
    pub(crate) fn pack_beside(
        &self,
        shared: &Shared,
        pages: &[u32],
        which: Which,
        units: &mut Units,
        end: bool,
    ) -> Result<Packing, StorageError> {
        let mut done = Packing::default();
        let Some(_running) = self.packing.running.try_lock() else { return Ok(done) };
        for index in pages {
            self.offer(shared, *index, which, units, &mut done)?;
            self.pack_offered(shared, units, (which, false, false), &mut || Ok(()), &mut done)?;
        }
        if end {
            self.pack_offered(shared, units, (which, true, false), &mut || Ok(()), &mut done)?;
        }
        Ok(done)
    }

    /// Packs those of some data pages, by their directory indexes, that have no records and keep units from being free, while others
    /// use the table; how many these were. Nothing happens where somebody packs the table already.
    ///
    /// # Errors
    /// As [`Heap::pack`].
    pub(crate) fn pack_empty(
        &self,
        shared: &Shared,
        indexes: &[u32],
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<u64, StorageError> {
        let Some(_running) = self.packing.running.try_lock() else { return Ok(0) };
        let units = {
            let _gate = self.indexes.enter();
            match self.page_count() {
                0 => return Ok(0),
                _ => self.making_units_free(shared, indexes)?,
            }
        };
        let together = shared.core().pool.capacity() / POOL_PART / UNIT_PAGES as usize;
        let most = together.clamp(1, EMPTY_UNITS_TOGETHER);
        let mut units = units.into_values().peekable();
        let mut packed = 0;
        while units.peek().is_some() {
            go_on()?;
            let pages = units.by_ref().take(most).flatten();
            let candidates = pages.map(|(index, page)| Candidate { index, page }).collect();
            packed += self.pack_together(shared, candidates, Which::Empty, false)?.packed;
        }
        Ok(packed)
    }

    /// Puts a data page among those to be packed, if it looks as if it may be.
    fn offer(
        &self,
        shared: &Shared,
        index: u32,
        which: Which,
        units: &mut Units,
        done: &mut Packing,
    ) -> Result<(), StorageError> {
        match self.candidate(shared, index, which)? {
            Some(page) => units.add(Candidate { index, page }),
            None => done.left += u64::from(self.is_plain(shared, index)?),
        }
        Ok(())
    }

    fn pack_offered(
        &self,
        shared: &Shared,
        units: &mut Units,
        (which, end, alone): (Which, bool, bool),
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
        done: &mut Packing,
    ) -> Result<(), StorageError> {
        let together = shared.core().pool.capacity() / POOL_PART / UNIT_PAGES as usize;
        let most = together.clamp(1, UNITS_TOGETHER) * UNIT_PAGES as usize;
        loop {
            let together = units.next(most, end);
            if together.is_empty() {
                return Ok(());
            }
            go_on()?;
            done.add(self.pack_together(shared, together, which, alone)?);
            if !end {
                return Ok(());
            }
        }
    }

    fn is_plain(&self, shared: &Shared, index: u32) -> Result<bool, StorageError> {
        Ok(self.home(&shared.core().pool, index, true)?.is_some_and(|home| !home.is_packed()))
    }

    /// The page at a directory index, if it looks as if it may be packed.
    fn candidate(&self, shared: &Shared, index: u32, which: Which) -> Result<Option<PageId>, StorageError> {
        let Some(home) = self.home(&shared.core().pool, index, true)? else { return Ok(None) };
        let page = home.latched();
        let corrupt = |flaw| self.corrupt(home.id(), flaw);
        if home.is_packed() {
            let parts = container::parts(page).map_err(corrupt)?;
            let is_sparse = container::used(&parts) < page.len() / 2;
            // The page stands for all of its parts.
            let is_first = parts.iter().map(|(index, _)| *index).min() == Some(index);
            return Ok(((is_sparse || which == Which::Anew) && is_first).then(|| home.id()));
        }
        let visible = FLAG_ALL_VISIBLE | FLAG_SWEPT;
        if header::kind(page) != Some(PageKind::Data) || header::flags(page) & visible != visible {
            return Ok(None);
        }
        let is_wanted = match which {
            Which::Visible | Which::Anew => true,
            Which::Empty => u16_at(page, LIVE_COUNT) == 0,
            Which::Full => {
                let layout = PageLayout::of(page).map_err(corrupt)?;
                room::room(page, &layout).is_none_or(|room| room < page.len() / 4)
            }
        };
        Ok(is_wanted.then(|| home.id()))
    }

    /// Packs some pages in one mini-transaction, if that makes them fewer. `alone`: nobody else uses the table.
    fn pack_together(
        &self,
        shared: &Shared,
        mut candidates: Vec<Candidate>,
        which: Which,
        alone: bool,
    ) -> Result<Packing, StorageError> {
        let core = shared.core();
        let makes_room = which == Which::Empty;
        if !makes_room {
            shared.space.keep_reserve(core)?;
        }
        candidates.sort_unstable_by_key(|candidate| candidate.index);
        let all = candidates.len() as u64;
        // The table's pages stay its own; where they are freed, sweep and its like, which lock no table, keep away.
        let (_enter, _close) = match alone {
            true => (None, Some(self.indexes.close())),
            false => (Some(self.indexes.enter()), None),
        };
        if self.page_count() == 0 {
            return Ok(Packing::default());
        }
        let newest = self.newest_dictionary(&core.pool)?;
        let how = How { dictionary: newest.as_deref(), anew: which == Which::Anew, empty: makes_room };
        let mut prepared = Vec::new();
        for candidate in candidates {
            prepared.extend(self.prepare(shared, candidate, how)?);
        }
        let packed = prepared.iter().filter(|prepared| !prepared.is_fresh).count() as u64;
        // A change behind this look shows in the page's LSN, so no purge can have come that is not among these.
        if prepared.iter().any(|prepared| prepared.is_fresh) {
            let waiting = Waiting::of(shared)?;
            let waits =
                |prepared: &Prepared| prepared.is_fresh && waiting.has(self.object, prepared.candidate.index);
            prepared.retain(|prepared| !waits(prepared));
        }
        let mut leaves: BTreeMap<u32, (PageId, usize)> = BTreeMap::new();
        for (index, _) in prepared.iter().flat_map(|prepared| &prepared.parts) {
            leaves.insert(*index, self.directory.place_of(*index)?);
        }
        let mut mini = Mini::begin(core, TxnId::NONE);
        let mut parts: Vec<PartOf> = Vec::new();
        let mut given_up: Vec<PageId> = Vec::new();
        let mut fresh = 0;
        for Prepared { candidate, lsn, parts: mut new, is_fresh } in prepared {
            // The directory still leads to one that has not changed: what was given up has, and goes to the database no
            // sooner than this has ended (`running`).
            let page = match alone {
                true => Some(core.pool.write(candidate.page)?),
                false => core.pool.try_write(candidate.page)?,
            };
            let Some(page) = page else { continue };
            // U5: the LSN of an unlogged page tells nothing.
            if core.unlogged.contains(self.object) {
                match self.parts_of(&page, candidate, how)? {
                    Some(now) if alone => new = now,
                    _ => continue,
                }
            } else if page.lsn() != lsn {
                continue;
            }
            mini.take(page);
            parts.append(&mut new);
            given_up.push(candidate.page);
            fresh += u64::from(is_fresh);
        }
        parts.sort_unstable_by_key(|(index, _)| *index);
        // M2: nothing is missing once something has changed.
        if parts.iter().any(|(index, _)| !leaves.contains_key(index)) {
            return Err(self.corrupt(self.root, Flaw::from("a packed page that has changed meanwhile")));
        }
        leaves.retain(|index, _| parts.binary_search_by_key(index, |(index, _)| *index).is_ok());
        let bins = bins(parts, core.pool.page_size());
        if bins.len() >= given_up.len() {
            return Ok(Packing { left: all - packed, ..Packing::default() });
        }
        if makes_room {
            mini.use_reserve();
        }
        mini.reserve(((bins.len() + 2) * core.pool.page_size() + given_up.len() * 64) as u64)?;
        let root = mini.write(self.root)?;
        let mut places = Vec::new();
        for leaf in leaves.values() {
            mini.write(leaf.0)?;
        }
        for parts in &bins {
            let page = root::allocate_fresh(&mut mini, &shared.space, self.object, root)?;
            // Behind the first allocation nothing may fail any more.
            mini.use_reserve();
            let handle = mini.create(page)?;
            mini.apply_with(handle, RecordKind::PACKED_INIT, |out| {
                container::init_payload(out, page, self.object, parts);
            })?;
            for (index, part) in parts {
                let (leaf, place) = leaves[index];
                let leaf = mini.write(leaf)?;
                mini.apply(leaf, RecordKind::PATCH, &directory::change(place, page))?;
                places.push((*index, page, Part::of(part).is_ok_and(|part| part.is_empty())));
            }
        }
        let done = Packing { packed: fresh, made: bins.len() as u64, left: all - packed - fresh, freed: 0 };
        let whole = if alone { whole_units(&mut given_up) } else { Vec::new() };
        for page in given_up {
            root::free_page(&mut mini, self.object, root, page)?;
        }
        let freed = whole.iter().map(|run| u64::from(run.pages)).sum::<u64>();
        if !whole.is_empty() {
            shared.space.free_runs(&mut mini, &whole)?;
        }
        mini.commit_with(|_, _| {
            for (index, page, is_empty) in places {
                self.directory.replace(index, page);
                match is_empty {
                    true => self.room.note_empty(index),
                    false => self.room.forget(index),
                }
            }
        })?;
        Ok(Packing { freed, ..done })
    }

    /// A candidate as it is now, encoded; `None` where it stays as it is.
    fn prepare(
        &self,
        shared: &Shared,
        candidate: Candidate,
        how: How<'_>,
    ) -> Result<Option<Prepared>, StorageError> {
        let Some(home) = self.home(&shared.core().pool, candidate.index, true)? else { return Ok(None) };
        if home.id() != candidate.page {
            return Ok(None);
        }
        let page = home.latched();
        let parts = self.parts_of(page, candidate, how)?;
        let is_fresh = !home.is_packed();
        Ok(parts.filter(|parts| !parts.is_empty()).map(|parts| Prepared {
            candidate,
            lsn: page.lsn(),
            parts,
            is_fresh,
        }))
    }

    /// The parts that a latched candidate becomes; `None` where it stays as it is.
    fn parts_of(
        &self,
        page: &[u8],
        candidate: Candidate,
        how: How<'_>,
    ) -> Result<Option<Vec<PartOf>>, StorageError> {
        let id = candidate.page;
        let corrupt = |flaw| self.corrupt(id, flaw);
        if header::owner(page) != self.object {
            return Err(corrupt(Flaw::from("not a page of this table")));
        }
        if header::kind(page) == Some(PageKind::Packed) {
            let mut parts = Vec::new();
            for (index, range) in container::parts(page).map_err(corrupt)? {
                let part = &page[range];
                let anew = if how.anew { self.encode_anew(page, part, (id, index), how)? } else { None };
                parts.push((index, anew.unwrap_or_else(|| part.to_vec())));
            }
            return Ok(Some(parts));
        }
        let visible = FLAG_ALL_VISIBLE | FLAG_SWEPT;
        if header::kind(page) != Some(PageKind::Data)
            || apply::page_index(page) != candidate.index
            || header::flags(page) & visible != visible
            || how.empty && u16_at(page, LIVE_COUNT) > 0
        {
            return Ok(None);
        }
        let layout = PageLayout::of(page).map_err(corrupt)?;
        let part = encode(page, &layout, how.dictionary).map_err(corrupt)?;
        // Two of them are to fit a page.
        let pays = |part: &Vec<u8>| container::size([part.len(), part.len()].into_iter()) <= page.len();
        let Some(part) = part.filter(pays) else { return Ok(None) };
        if cfg!(debug_assertions) {
            self.assert_same(page, &layout, &part, candidate, how);
        }
        Ok(Some(vec![(candidate.index, part)]))
    }

    /// A part of a packed page, encoded once more.
    fn encode_anew(
        &self,
        page: &[u8],
        part: &[u8],
        (id, index): (PageId, u32),
        how: How<'_>,
    ) -> Result<Option<Vec<u8>>, StorageError> {
        let corrupt = |flaw| self.corrupt(id, flaw);
        let part = Part::of(part).map_err(corrupt)?;
        let old = self.dictionary_of(&part, None, id)?;
        let mut image = Image::default();
        part.expand(&mut image, page.len(), (id, self.object, index), None, old.as_deref())
            .map_err(corrupt)?;
        let layout = PageLayout::of(image.page()).map_err(corrupt)?;
        encode(image.page(), &layout, how.dictionary).map_err(corrupt)
    }

    /// P3: the part expands to what the page says.
    fn assert_same(&self, page: &[u8], layout: &PageLayout, part: &[u8], candidate: Candidate, how: How<'_>) {
        let mut image = Image::default();
        let id = (candidate.page, self.object, candidate.index);
        let expanded =
            Part::of(part).and_then(|part| part.expand(&mut image, page.len(), id, None, how.dictionary));
        assert!(expanded.is_ok(), "P3: {} cannot be expanded: {expanded:?}", candidate.page);
        let image = image.page();
        let again = PageLayout::of(image).map(|layout| encode(image, &layout, how.dictionary));
        assert!(
            layout.describes(image) && matches!(again, Ok(Ok(Some(again))) if again == part),
            "P3: {} expands to another page",
            candidate.page
        );
    }

    pub(super) fn corrupt(&self, page: PageId, flaw: Flaw) -> StorageError {
        StorageError::corrupt(page, self.object, flaw)
    }
}

/// Parts by page, in their order: what is scanned together stands together.
fn bins(parts: Vec<PartOf>, page_size: usize) -> Vec<Vec<PartOf>> {
    let mut bins: Vec<Vec<PartOf>> = Vec::new();
    for part in parts {
        let fits = |bin: &Vec<PartOf>| {
            container::size(bin.iter().map(|(_, part)| part.len()).chain([part.1.len()])) <= page_size
        };
        match bins.last_mut().filter(|bin| fits(bin)) {
            Some(bin) => bin.push(part),
            None => bins.push(vec![part]),
        }
    }
    bins
}

/// Takes the pages that are whole units out of a list of pages.
fn whole_units(pages: &mut Vec<PageId>) -> Vec<ExtentRun> {
    pages.sort_unstable();
    let mut runs = Vec::new();
    let whole: Vec<u32> = pages
        .chunk_by(|one, other| one.0 / UNIT_PAGES == other.0 / UNIT_PAGES)
        .filter(|unit| unit.len() == UNIT_PAGES as usize)
        .map(|unit| unit[0].0 / UNIT_PAGES)
        .collect();
    pages.retain(|page| !whole.contains(&(page.0 / UNIT_PAGES)));
    for unit in whole {
        runs.push(ExtentRun { first: PageId(unit * UNIT_PAGES), pages: UNIT_PAGES });
    }
    runs
}

/// Gives the table its packing: see [`Heap::pack`].
pub(crate) fn pack_table(
    shared: &Arc<Shared>,
    object: ObjectId,
    which: Which,
    job: &Job,
    go_on: &mut dyn FnMut() -> Result<(), StorageError>,
) -> Result<Packing, StorageError> {
    shared.heap(object)?.pack(shared, which, job, go_on)
}
