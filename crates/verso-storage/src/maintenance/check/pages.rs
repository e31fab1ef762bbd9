//! Proof that no page of a table is lost or used twice: every page in its extents is its root, of its directory, a data
//! page, part of one value, in the list of those given back, or was never used; nothing else is the table's.
//!
//! ```text
//!            update, undo (home page latched)        sweep cuts the record off, retirement purges: for good
//! home record ◄─────────────────────────► version ─────────────────────────────────────────────► cut-off version
//! ```
//!
//! Others change records meanwhile, so what the first count finds is only a reason to count exactly:
//!
//! G1. A value is at any moment in its home record, in a version that the record leads to, or in one that is cut off.
//! G2. The first two are looked at together, with the home page latched, and all versions afterwards: a value that is
//!     there all the time is seen.
//! G3. What a version names that is void is back in its record, or gone with its pages, which may be others' by now: it counts
//!     for nothing.
//! G4. Values come and go under the latch of the table's root, which shows in its LSN or in that of a companion page. What
//!     is found counts only if these are what they were before.

use std::collections::{BTreeMap, BTreeSet};

use super::CheckProblem;
use crate::StorageError;
use crate::heap::layout::{PageLayout, SLOT_HIGH};
use crate::heap::slice::Variable;
use crate::heap::value_slot::ValueSlot;
use crate::heap::{self, Heap, companion, overflow};
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{Lsn, PageId, PageKind, TxnId, header};
use crate::progress::Steps;
use crate::shared::Shared;
use crate::version::entry::{Entry, EntryKind, VersionPointer};
use crate::version::page as version_page;

/// Values outside of their records' pages that were met.
#[derive(Default)]
pub(super) struct Moved {
    /// Pages of a chain and its incarnation, or companion page and item.
    pub(super) values: BTreeSet<(PageId, u16)>,
    /// Companion pages looked at.
    pub(super) companions: BTreeSet<PageId>,
}

impl Moved {
    /// Notes what a value slot refers to. What was undone, purged or freed meanwhile may be gone.
    fn note(&mut self, shared: &Shared, heap: &Heap, raw: u64) {
        let pool = &shared.core().pool;
        match ValueSlot::decode(raw) {
            Some(ValueSlot::Overflow { page, incarnation }) => {
                let chain = overflow::read(pool, heap.object, page, incarnation, None).unwrap_or_default();
                self.values.extend(chain.into_iter().map(|part| (part, incarnation)));
            }
            Some(ValueSlot::Companion { page, item })
                if companion::read(pool, heap.object, page, item, &mut Vec::new()).is_ok() =>
            {
                self.companions.insert(page);
                self.values.insert((page, item));
            }
            _ => {}
        }
    }

    /// Pages of chains.
    fn parts(&self) -> BTreeSet<PageId> {
        let parts = self.values.iter().map(|(page, _)| *page);
        parts.filter(|page| !self.companions.contains(page)).collect()
    }
}

/// How often the pages of a table are counted anew when some were given out or taken back meanwhile.
const TRIES: usize = 8;

/// Proves that no page of a table is lost or used twice. `moved` has what home records refer to.
///
/// # Errors
/// `Io`, `Poisoned`, `Corrupt`.
pub(super) fn check(
    shared: &Shared,
    heap: &Heap,
    moved: &Moved,
    steps: &mut Steps<'_>,
    report: &mut super::CheckReport,
) -> Result<(), StorageError> {
    let pool = &shared.core().pool;
    steps.enter("tables", u64::from(heap.page_count()))?;
    let root = pool.read(heap.root)?.to_vec();
    let old = old_values(shared, heap, steps)?;
    let mut found = count_pages(shared, heap, &root, (moved, &old), steps)?;
    found.extend(unused_items(shared, moved, &old, None)?.into_iter().map(|item| item.problem(heap)));
    let mut companions: BTreeSet<PageId> = moved.companions.union(&old.companions).copied().collect();
    for _ in 0..TRIES {
        if found.is_empty() {
            break;
        }
        let root = pool.read(heap.root)?.to_vec();
        let mut before = BTreeMap::new();
        for id in &companions {
            // It may have been given back meanwhile.
            if let Ok(page) = pool.read(*id) {
                before.insert(*id, header::lsn(&page));
            }
        }
        let mut moved = Moved::default();
        for index in 0..heap.page_count() {
            steps.advance(1)?;
            note_reachable(shared, heap, index, &mut moved)?;
        }
        let old = old_values(shared, heap, steps)?;
        found = count_pages(shared, heap, &root, (&moved, &old), steps)?;
        let items = unused_items(shared, &moved, &old, Some(&before))?;
        companions = moved.companions.union(&old.companions).copied().collect();
        let is_exact = header::lsn(&pool.read(heap.root)?) == header::lsn(&root);
        if is_exact && items.iter().all(|item| item.is_exact) {
            found.extend(items.iter().map(|item| item.problem(heap)));
            report.problems.append(&mut found);
        } else {
            found.extend(items.iter().map(|item| item.problem(heap)));
        }
    }
    Ok(())
}

/// What the records of a page refer to, and the versions that they lead to, at one moment: the page stays latched.
fn note_reachable(shared: &Shared, heap: &Heap, index: u32, moved: &mut Moved) -> Result<(), StorageError> {
    let Some(home) = heap.home(&shared.core().pool, index, false)? else { return Ok(()) };
    if home.is_packed() {
        return Ok(()); // it refers to nothing (P1)
    }
    let (id, page) = (home.id(), home.latched());
    let layout = PageLayout::of(page).map_err(|flaw| StorageError::corrupt(id, heap.object, flaw))?;
    let _walking = shared.versions.walk();
    // Many records lead to one entry, which has the values of all of them.
    let mut entries = BTreeSet::new();
    for slot in 0..u16_at(page, SLOT_HIGH) {
        let at = usize::from(slot) * 8;
        if TxnId(u64_at(page, layout.writer + at)) == TxnId::NONE {
            continue;
        }
        for place in layout.columns.iter().filter(|place| place.is_variable()) {
            moved.note(shared, heap, u64_at(page, place.data + at));
        }
        let mut back = VersionPointer(u64_at(page, layout.back + at));
        let mut way = BTreeSet::new();
        while !back.is_none() && way.insert(back.0) {
            let (values, next) = {
                // Where it was retired, so that the record is cut off there (G1), may be anything by now.
                let version = match shared.core().pool.read(back.page()) {
                    Err(StorageError::Corrupt { .. }) => break,
                    version => version?,
                };
                let is_there = header::kind(&version) == Some(PageKind::Version)
                    && header::incarnation(&version) == back.incarnation();
                let entry = is_there.then(|| Entry::linked(&version, back.offset()).ok()).flatten();
                let Some(entry) = entry.filter(|entry| entry.table() == heap.object) else { break };
                let Some(rank) = entry.slots.rank(slot) else { break };
                let values = if entries.insert(back.0) { references(&entry) } else { Vec::new() };
                (values, entry.prior(rank).1)
            };
            values.into_iter().for_each(|raw| moved.note(shared, heap, raw));
            back = next;
        }
    }
    Ok(())
}

/// The references among the old values of an entry (G3).
fn references(entry: &Entry<'_>) -> Vec<u64> {
    if entry.kind != EntryKind::Update || entry.is_void() {
        return Vec::new();
    }
    let slices = entry.columns().unwrap_or_default();
    let values = slices.iter().filter(|slice| slice.has_references()).flat_map(|slice| slice.variables());
    let reference = |value| match value {
        Variable::Reference(raw) => Some(raw),
        _ => None,
    };
    values.filter_map(reference).collect()
}

/// A value on a companion page that nothing leads to.
struct UnusedItem {
    page: PageId,
    item: u16,
    /// The page is as it was before the references were collected.
    is_exact: bool,
}

impl UnusedItem {
    fn problem(&self, heap: &Heap) -> CheckProblem {
        let message = format!("nothing leads to item {}", self.item);
        CheckProblem { page: self.page, table: heap.object, rule: "free list", message }
    }
}

fn unused_items(
    shared: &Shared,
    moved: &Moved,
    old: &Moved,
    before: Option<&BTreeMap<PageId, Lsn>>,
) -> Result<Vec<UnusedItem>, StorageError> {
    let mut unused = Vec::new();
    for id in moved.companions.union(&old.companions).copied() {
        let page = shared.core().pool.read(id)?;
        let is_exact =
            before.and_then(|before| before.get(&id)).is_some_and(|lsn| *lsn == header::lsn(&page));
        let live = companion::live(&page).into_iter();
        let lost =
            live.filter(|item| !moved.values.contains(&(id, *item)) && !old.values.contains(&(id, *item)));
        unused.extend(lost.map(|item| UnusedItem { page: id, item, is_exact }));
    }
    Ok(unused)
}

/// The table's pages that are used twice, or not at all.
fn count_pages(
    shared: &Shared,
    heap: &Heap,
    root: &[u8],
    (moved, old): (&Moved, &Moved),
    steps: &mut Steps<'_>,
) -> Result<Vec<CheckProblem>, StorageError> {
    let mut found = Vec::new();
    let problem =
        |page: PageId, message: String| CheckProblem { page, table: heap.object, rule: "free list", message };
    let mut uses: BTreeMap<PageId, &'static str> = BTreeMap::new();
    let mut take = |page: PageId, what: &'static str, found: &mut Vec<CheckProblem>| {
        if let Some(before) = uses.insert(page, what) {
            found.push(problem(page, format!("{what} and {before} at once")));
            return false;
        }
        true
    };
    take(heap.root, "the root", &mut found);
    for page in heap.directory_pages()? {
        take(page, "of the directory", &mut found);
    }
    for page in heap.all_dictionaries(&shared.core().pool)? {
        take(page, "a dictionary", &mut found);
    }
    let mut packed = BTreeSet::new();
    for index in 0..heap.page_count() {
        steps.advance(1)?;
        let Some(home) = heap.home(&shared.core().pool, index, false)? else { break };
        // A packed page is met once for each of its parts.
        if !home.is_packed() || packed.insert(home.id()) {
            take(home.id(), "a data page", &mut found);
        }
    }
    for id in &packed {
        let page = shared.core().pool.read(*id)?;
        let flawed = |flaw| StorageError::corrupt(*id, heap.object, flaw);
        for (index, _) in heap::packed::container::parts(&page).map_err(flawed)? {
            if heap.page_at(index)? != Some(*id) {
                found.push(problem(*id, format!("has a part of data page {index}, which is elsewhere")));
            }
        }
    }
    let (never_used, given_back) = heap::root::unused(root);
    for page in never_used.map(PageId) {
        take(page, "never used", &mut found);
    }
    let lists = [
        (given_back, "in the list of free pages"),
        (heap::root::written_head(root), "of a value that is being written"),
    ];
    for (head, what) in lists {
        let pool = &shared.core().pool;
        let stray = heap::unused::each_page(pool, heap.object, head, |page, _| take(page, what, &mut found))?;
        if let Some(page) = stray {
            found.push(problem(page, format!("{what}, but in use")));
        }
    }
    let parts = moved.parts();
    for page in &parts {
        take(*page, "part of a value", &mut found);
    }
    for page in &moved.companions {
        take(*page, "a companion page", &mut found);
    }
    for page in old.parts().difference(&parts) {
        take(*page, "part of an old value", &mut found);
    }
    for page in old.companions.difference(&moved.companions) {
        take(*page, "a companion page", &mut found);
    }
    let mut its = BTreeSet::new();
    for run in shared.space.extents_of(heap.object) {
        for page in run.page_ids() {
            its.insert(page);
            if !uses.contains_key(&page) {
                found.push(problem(page, "allocated to the table, but nothing leads to it".into()));
            }
        }
    }
    let strangers = uses.iter().filter(|(page, _)| !its.contains(*page));
    found.extend(
        strangers.map(|(page, what)| problem(*page, format!("{what}, but not in the table's extents"))),
    );
    Ok(found)
}

/// What old versions of a table's records refer to.
fn old_values(shared: &Shared, heap: &Heap, steps: &mut Steps<'_>) -> Result<Moved, StorageError> {
    let pool = &shared.core().pool;
    let mut found = Moved::default();
    for (id, _) in shared.versions.pages() {
        steps.advance(1)?;
        let bytes = match pool.read(id) {
            Err(_) if shared.versions.info(id).is_none() => continue,
            page => page?.to_vec(),
        };
        let Ok(entries) = version_page::entries(&bytes) else { continue };
        for (_, entry) in entries.iter().filter(|(_, entry)| entry.table() == heap.object) {
            references(entry).into_iter().for_each(|raw| found.note(shared, heap, raw));
        }
    }
    Ok(found)
}
