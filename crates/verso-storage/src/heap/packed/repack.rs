//! Packing the data pages of a table, and making one of them a page of its own again.
//!
//! Packed pages go to pages that were never used, not to those that were freed: so whole units become free, one behind the
//! other, and go back to the space map at once. What is left of units that are not free as a whole goes to the table's list.
//!
//! Latches: data and packed pages, the root, leaves of the directory; new pages and the space map last.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::container;
use super::encode::encode;
use super::part::{Image, Part};
use crate::StorageError;
use crate::engine_core::Core;
use crate::heap::layout::{FLAG_ALL_VISIBLE, FLAG_SWEPT, PageLayout, VARIABLE_START};
use crate::heap::{Heap, apply, directory, root};
use crate::maintenance::sweep::Waiting;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::u16_at;
use crate::page::{Flaw, ObjectId, PageId, PageKind, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::space::{ExtentRun, UNIT_PAGES};
use crate::wal::RecordKind;

/// Units whose pages are packed together at most, and what part of the pool that may be.
const UNITS_TOGETHER: usize = 3;
const POOL_PART: usize = 8;
/// Units of which some pages were met and others are awaited.
const UNITS_OPEN: usize = 32;
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

/// A data page by its directory index, encoded.
pub(super) type PartOf = (u32, Vec<u8>);

/// A data page that may be packed.
#[derive(Clone, Copy)]
struct Candidate {
    index: u32,
    page: PageId,
}

/// Pages of units, in the order of their numbers, until all of a unit are there.
#[derive(Default)]
struct Units {
    open: BTreeMap<u32, Vec<Candidate>>,
    whole: Vec<Candidate>,
    /// Pages that are packed together at most.
    most: usize,
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

    /// The next pages to pack together; at the `end`, whatever is there.
    fn next(&mut self, end: bool) -> Vec<Candidate> {
        if self.whole.len() >= self.most || end && !self.whole.is_empty() {
            return std::mem::take(&mut self.whole);
        }
        let mut loose = Vec::new();
        while (self.open.len() > UNITS_OPEN || end) && loose.len() + UNIT_PAGES as usize <= self.most {
            let Some((_, mut pages)) = self.open.pop_first() else { break };
            loose.append(&mut pages);
        }
        loose
    }
}

impl Heap {
    /// Packs the data pages that hold nothing but what every snapshot sees; packed pages that have lost most of their parts are
    /// packed anew. `waiting` are the pages that a purge is still to look at. Nobody else may use the table meanwhile; a sweep
    /// before shows which pages these are. `go_on` is asked between some pages.
    ///
    /// # Errors
    /// Those of `go_on`; `Full`, `Corrupt`, `Io`. What is packed stays packed.
    pub(crate) fn pack(
        &self,
        shared: &Shared,
        waiting: &Waiting,
        go_on: &mut dyn FnMut() -> Result<(), StorageError>,
    ) -> Result<Packing, StorageError> {
        let mut done = Packing::default();
        let together = shared.core().pool.capacity() / POOL_PART / UNIT_PAGES as usize;
        let most = together.clamp(1, UNITS_TOGETHER) * UNIT_PAGES as usize;
        let mut units = Units { most, ..Units::default() };
        let pages = self.page_count();
        for index in 0..pages {
            match self.candidate(shared, index, waiting)? {
                Some(page) => units.add(Candidate { index, page }),
                None => done.left += u64::from(self.is_plain(shared, index)?),
            }
            let together = units.next(false);
            if !together.is_empty() {
                go_on()?;
                self.pack_together(shared, together, &mut done)?;
            }
        }
        loop {
            let together = units.next(true);
            if together.is_empty() {
                return Ok(done);
            }
            go_on()?;
            self.pack_together(shared, together, &mut done)?;
        }
    }

    fn is_plain(&self, shared: &Shared, index: u32) -> Result<bool, StorageError> {
        Ok(self.home(&shared.core().pool, index, true)?.is_some_and(|home| !home.is_packed()))
    }

    /// The page at a directory index, if it looks as if it may be packed.
    fn candidate(
        &self,
        shared: &Shared,
        index: u32,
        waiting: &Waiting,
    ) -> Result<Option<PageId>, StorageError> {
        let Some(home) = self.home(&shared.core().pool, index, true)? else { return Ok(None) };
        let page = home.latched();
        if home.is_packed() {
            let corrupt = |flaw| StorageError::corrupt(home.id(), self.object, flaw);
            let parts = container::parts(page).map_err(corrupt)?;
            let is_sparse = container::used(&parts) < page.len() / 2;
            // The page stands for all of its parts.
            let is_first = parts.iter().map(|(index, _)| *index).min() == Some(index);
            return Ok((is_sparse && is_first).then(|| home.id()));
        }
        let visible = FLAG_ALL_VISIBLE | FLAG_SWEPT;
        let may = header::flags(page) & visible == visible && !waiting.has(self.object, index);
        Ok(may.then(|| home.id()))
    }

    /// Packs some pages in one mini-transaction, if that makes them fewer.
    fn pack_together(
        &self,
        shared: &Shared,
        mut candidates: Vec<Candidate>,
        done: &mut Packing,
    ) -> Result<(), StorageError> {
        let core = shared.core();
        shared.space.keep_reserve(core)?;
        candidates.sort_unstable_by_key(|candidate| candidate.index);
        // Sweep and its like, which lock no table, keep away while pages are freed.
        let _gate = self.indexes.close();
        let leaves = self.leaves(&candidates, shared)?;
        let mut mini = Mini::begin(core, TxnId::NONE);
        let mut parts: Vec<PartOf> = Vec::new();
        let mut given_up: Vec<PageId> = Vec::new();
        let (mut fresh, mut left) = (0, 0);
        for candidate in &candidates {
            let handle = mini.write(candidate.page)?;
            let known = parts.len();
            match self.parts_of(&mini, handle, candidate)? {
                Some(new) => parts.extend(new),
                None => left += 1,
            }
            if parts.len() > known {
                given_up.push(candidate.page);
                fresh += u64::from(header::kind(mini.page(handle)) == Some(PageKind::Data));
            }
        }
        parts.sort_unstable_by_key(|(index, _)| *index);
        // M2: nothing is missing once something has changed.
        if parts.iter().any(|(index, _)| !leaves.contains_key(index)) {
            return Err(self.corrupt(self.root, Flaw::from("a packed page that has changed meanwhile")));
        }
        let bins = bins(parts, core.pool.page_size());
        if bins.len() >= given_up.len() {
            done.left += fresh + left;
            return Ok(());
        }
        mini.reserve(((bins.len() + 2) * core.pool.page_size() + candidates.len() * 64) as u64)?;
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
            for (index, _) in parts {
                let (leaf, place) = leaves[index];
                let leaf = mini.write(leaf)?;
                mini.apply(leaf, RecordKind::PATCH, &directory::change(place, page))?;
                places.push((*index, page));
            }
        }
        let whole = whole_units(&mut given_up);
        for page in given_up {
            root::free_page(&mut mini, self.object, root, page)?;
        }
        done.packed += fresh;
        done.left += left;
        done.made += bins.len() as u64;
        done.freed += whole.iter().map(|run| u64::from(run.pages)).sum::<u64>();
        if !whole.is_empty() {
            shared.space.free_runs(&mut mini, &whole)?;
        }
        mini.commit_with(|_, _| {
            for (index, page) in places {
                self.directory.replace(index, page);
                self.room.forget(index);
            }
        })?;
        Ok(())
    }

    /// Where the directory has the entries of the pages that candidates stand for.
    fn leaves(
        &self,
        candidates: &[Candidate],
        shared: &Shared,
    ) -> Result<BTreeMap<u32, (PageId, usize)>, StorageError> {
        let mut leaves = BTreeMap::new();
        for candidate in candidates {
            let page = shared.core().pool.read_for_scan(candidate.page)?;
            let mut indexes = vec![candidate.index];
            if header::kind(&page) == Some(PageKind::Packed) {
                let parts = container::parts(&page).map_err(|flaw| self.corrupt(candidate.page, flaw))?;
                indexes = parts.iter().map(|(index, _)| *index).collect();
            }
            drop(page);
            for index in indexes {
                leaves.insert(index, self.directory.place_of(index)?);
            }
        }
        Ok(leaves)
    }

    /// The parts that a latched candidate becomes; `None` where it stays as it is.
    fn parts_of(
        &self,
        mini: &Mini<'_>,
        handle: PageHandle,
        candidate: &Candidate,
    ) -> Result<Option<Vec<PartOf>>, StorageError> {
        let (page, id) = (mini.page(handle), candidate.page);
        let corrupt = |flaw| self.corrupt(id, flaw);
        if header::owner(page) != self.object {
            return Err(corrupt(Flaw::from("not a page of this table")));
        }
        if header::kind(page) == Some(PageKind::Packed) {
            let parts = container::parts(page).map_err(corrupt)?;
            return Ok(Some(parts.into_iter().map(|(index, range)| (index, page[range].to_vec())).collect()));
        }
        let visible = FLAG_ALL_VISIBLE | FLAG_SWEPT;
        if header::kind(page) != Some(PageKind::Data)
            || apply::page_index(page) != candidate.index
            || header::flags(page) & visible != visible
        {
            return Ok(None);
        }
        let layout = PageLayout::of(page).map_err(corrupt)?;
        let part = encode(page, &layout).map_err(corrupt)?;
        // Two of them are to fit a page.
        let pays = |part: &Vec<u8>| container::size([part.len(), part.len()].into_iter()) <= page.len();
        let Some(part) = part.filter(pays) else { return Ok(None) };
        if cfg!(debug_assertions) {
            self.assert_same(page, &layout, &part, candidate);
        }
        Ok(Some(vec![(candidate.index, part)]))
    }

    /// P3: the part expands to what the page says.
    fn assert_same(&self, page: &[u8], layout: &PageLayout, part: &[u8], candidate: &Candidate) {
        let mut image = Image::default();
        let id = (candidate.page, self.object, candidate.index);
        let expanded = Part::of(part).and_then(|part| part.expand(&mut image, page.len(), id, None));
        assert!(expanded.is_ok(), "P3: {} cannot be expanded: {expanded:?}", candidate.page);
        let image = image.page();
        let again = PageLayout::of(image).map(|layout| encode(image, &layout));
        assert!(
            layout.describes(image) && matches!(again, Ok(Ok(Some(again))) if again == part),
            "P3: {} expands to another page",
            candidate.page
        );
    }

    /// Makes the data page at a directory index a page of its own, if it was `seen` in a packed one; the page that has it. Who
    /// `makes_room` may use the space kept for that.
    ///
    /// # Errors
    /// `Full` before anything is changed; `Corrupt` where `seen` is neither its page nor was it; `Io`.
    #[cold]
    pub(crate) fn unpack(
        &self,
        shared: &Shared,
        page_index: u32,
        seen: PageId,
        makes_room: bool,
    ) -> Result<PageId, StorageError> {
        let core: &Core = shared.core();
        let (leaf, place) = self.directory.place_of(page_index)?;
        let mut mini = Mini::begin(core, TxnId::NONE);
        if makes_room {
            mini.use_reserve();
        } else {
            shared.space.keep_reserve(core)?;
        }
        let old = mini.write(seen)?;
        let now = self.page_at(page_index)?.ok_or(StorageError::NoSuchObject(self.object))?;
        if now != seen {
            return Ok(now);
        }
        let packed = mini.page(old);
        let is_packed =
            header::kind(packed) == Some(PageKind::Packed) && header::owner(packed) == self.object;
        let found = if is_packed { container::find(packed, page_index) } else { Ok(None) };
        let range = found.map_err(|flaw| self.corrupt(seen, flaw))?;
        let Some(range) = range else { return Err(self.corrupt(seen, Flaw::from("not a data page"))) };
        let mut image = Image::default();
        let id = (seen, self.object, page_index);
        Part::of(&packed[range])
            .and_then(|part| part.expand(&mut image, packed.len(), id, None))
            .map_err(|flaw| self.corrupt(seen, flaw))?;
        let image = image.page();
        let layout = PageLayout::of(image).map_err(|flaw| self.corrupt(seen, flaw))?;
        let parts = container::parts(packed).map_err(|flaw| self.corrupt(seen, flaw))?;
        let root = mini.write(self.root)?;
        let leaf = mini.write(leaf)?;
        let page = root::allocate_page(&mut mini, &shared.space, self.object, root)?;
        let handle = mini.create(page)?;
        mini.apply_with(handle, RecordKind::DATA_IMAGE, |out| {
            let variable = usize::from(u16_at(image, VARIABLE_START));
            container::image_payload(out, page, image, layout.end, variable);
        })?;
        mini.apply(leaf, RecordKind::PATCH, &directory::change(place, page))?;
        if parts.len() > 1 && !disabled(Rule::P2) {
            mini.apply(old, RecordKind::PACKED_REMOVE, &page_index.to_le_bytes())?;
        } else if parts.len() == 1 {
            root::free_page(&mut mini, self.object, root, seen)?;
        }
        mini.commit_with(|_, _| self.directory.replace(page_index, page))?;
        Ok(page)
    }

    fn corrupt(&self, page: PageId, flaw: Flaw) -> StorageError {
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
    go_on: &mut dyn FnMut() -> Result<(), StorageError>,
) -> Result<Packing, StorageError> {
    let heap = shared.heap(object)?;
    let waiting = Waiting::of(shared)?;
    heap.pack(shared, &waiting, go_on)
}
