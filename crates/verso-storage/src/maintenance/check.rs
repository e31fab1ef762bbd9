//! `verso check`: proves the numbered invariants of a database.

mod pages;

use std::collections::BTreeMap;
use std::sync::Arc;

use self::pages::Moved;
use crate::heap::apply;
use crate::heap::layout::{
    DELETED_COUNT, FLAG_ALIKE, FLAG_SWEPT, GARBAGE, LIVE_COUNT, MAX_WRITER, PageLayout, SLOT_HIGH,
    VARIABLE_START,
};
use crate::heap::packed::Image;
use crate::heap::value_slot::ValueSlot;
use crate::heap::{self, Heap};
use crate::heap::{companion, overflow};
use crate::index;
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{PageId, PageKind, TxnId, header};
use crate::progress::{Steps, WatchProgress};
use crate::shared::Shared;
use crate::txn::TxnState;
use crate::version::entry::{Entry, VersionPointer};
use crate::version::page as version_page;
use crate::{ObjectId, StorageError};

/// Something that breaks a rule.
#[derive(Clone, Debug)]
pub struct CheckProblem {
    /// Where.
    pub page: PageId,
    /// Whose.
    pub table: ObjectId,
    /// Which rule.
    pub rule: &'static str,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for CheckProblem {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} of {}: {} ({})", self.page, self.table, self.message, self.rule)
    }
}

/// Whether an error is none of the database that is checked, but the end of the check.
fn ends(error: &StorageError) -> bool {
    matches!(error, StorageError::Poisoned { .. } | StorageError::Closed | StorageError::Cancelled)
}

/// How many pages an object has.
pub(crate) fn pages_of(shared: &Shared, object: ObjectId) -> u64 {
    shared.space.extents_of(object).iter().map(|run| u64::from(run.pages)).sum()
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct CheckReport {
    /// Broken rules; none for a sound database.
    pub problems: Vec<CheckProblem>,
    /// Data pages read.
    pub pages: u64,
    /// Live records.
    pub records: u64,
}

/// Checks every table, page by page, while others work.
///
/// # Errors
/// `Io`, `Poisoned`, what `go_on` returns; corrupt pages are problems, not errors.
pub fn check(shared: &Shared, go_on: WatchProgress<'_>) -> Result<CheckReport, StorageError> {
    let mut report = CheckReport::default();
    if let Err(error) = shared.space.check(&shared.core().pool) {
        let message = error.to_string();
        report.problems.push(CheckProblem {
            page: PageId(1),
            table: ObjectId::SYSTEM,
            rule: "space map",
            message,
        });
    }
    let roots: BTreeMap<ObjectId, PageId> =
        shared.roots.lock().iter().map(|(id, root)| (*id, *root)).collect();
    let mut heaps = Vec::new();
    for (object, root) in roots {
        match shared.heap(object) {
            Ok(heap) => heaps.push(heap),
            Err(StorageError::NoSuchObject(_)) => {}
            Err(_) if shared.object_kind(root).is_ok_and(|kind| kind != heap::root::TABLE) => {}
            Err(_) if is_gone(shared, object) => {}
            Err(error) => report.problems.push(CheckProblem {
                page: root,
                table: object,
                rule: "directory",
                message: error.to_string(),
            }),
        }
    }
    let planned = |heap: &Arc<Heap>| {
        let rows = u64::from(heap.page_count());
        let indexes = heap.indexes.list();
        let trees: u64 = indexes.iter().map(|one| pages_of(shared, one.object())).sum();
        // Tables are read for themselves, to count their pages, and for each index; indexes as trees, and for their entries.
        (2 + indexes.len() as u64) * rows + 2 * trees
    };
    let versions = shared.versions.pages().len() as u64;
    let pages_total = heaps.iter().map(planned).sum::<u64>() + versions;
    let steps = &mut Steps::new(go_on, pages_total);
    // Keeps every version that the chains lead to while they are followed.
    let _registration = shared.transactions.register();
    for heap in heaps {
        let known = report.problems.len();
        let mut moved = Moved::default();
        steps.enter("tables", u64::from(heap.page_count()))?;
        for index in 0..heap.page_count() {
            let id = match heap.page_at(index) {
                Ok(Some(id)) => id,
                Ok(None) => break,
                Err(error) if ends(&error) => return Err(error),
                Err(error) => {
                    let (page, table, message) = (heap.root, heap.object, error.to_string());
                    report.problems.push(CheckProblem { page, table, rule: "directory", message });
                    break;
                }
            };
            if let Err(error) = check_page(shared, &heap, index, &mut moved, &mut report) {
                if ends(&error) {
                    return Err(error);
                }
                let message = error.to_string();
                report.problems.push(CheckProblem {
                    page: id,
                    table: heap.object,
                    rule: "page format",
                    message,
                });
            }
            report.pages += 1;
            steps.advance(1)?;
        }
        if let Err(error) = pages::check(shared, &heap, &moved, steps, &mut report) {
            if ends(&error) {
                return Err(error);
            }
            let (page, table, message) = (heap.root, heap.object, error.to_string());
            report.problems.push(CheckProblem { page, table, rule: "free list", message });
        }
        for one in heap.indexes.list().iter() {
            match index::check(shared, &heap, one, steps) {
                Err(StorageError::Cancelled) => return Err(StorageError::Cancelled),
                _ if is_gone(shared, one.object()) => {}
                Ok(problems) => report.problems.extend(problems),
                Err(error) if ends(&error) => return Err(error),
                Err(error) => report.problems.push(CheckProblem {
                    page: one.root(),
                    table: one.object(),
                    rule: "page format",
                    message: error.to_string(),
                }),
            }
        }
        if is_gone(shared, heap.object) {
            report.problems.truncate(known);
        }
    }
    if let Err(error) = check_versions(shared, steps, &mut report) {
        if ends(&error) {
            return Err(error);
        }
        let (page, table, message) = (PageId(1), ObjectId::SYSTEM, error.to_string());
        report.problems.push(CheckProblem { page, table, rule: "V8", message });
    }
    Ok(report)
}

/// Whether an object was dropped, or its creation undone, since the check has begun: it has no pages any more, and what was
/// found in them says nothing.
fn is_gone(shared: &Shared, object: ObjectId) -> bool {
    shared.space.extents_of(object).is_empty()
}

/// V8: every version page is known with the transactions in it, and whether retirement has to read it. All other pages
/// of version extents are free.
fn check_versions(
    shared: &Shared,
    steps: &mut Steps<'_>,
    report: &mut CheckReport,
) -> Result<(), StorageError> {
    let mut problem = |page: PageId, message: String| {
        let (table, rule) = (ObjectId::SYSTEM, "V8");
        report.problems.push(CheckProblem { page, table, rule, message });
    };
    let pages = shared.versions.pages();
    steps.enter("versions", pages.len() as u64)?;
    for (id, _) in pages {
        steps.advance(1)?;
        let page = match shared.core().pool.read(id) {
            Err(_) if shared.versions.info(id).is_none() => continue,
            page => page?,
        };
        // Latched, so that no entry comes; the page may have been retired meanwhile.
        let Some(info) = shared.versions.info(id) else { continue };
        if header::kind(&page) != Some(PageKind::Version) {
            problem(id, "no version page, but known as one".into());
            continue;
        }
        match version_page::entries(&page) {
            Ok(entries) => {
                for (_, entry) in entries {
                    let is_known = info.all_committed || info.txns.contains(&entry.writer());
                    if !is_known {
                        problem(id, format!("not known to hold entries of {}", entry.writer()));
                    }
                    if entry.needs_purge() && !info.purge {
                        problem(id, format!("not known to need a purge for {}", entry.writer()));
                    }
                }
            }
            Err(flaw) => problem(id, flaw.to_string()),
        }
    }
    Ok(())
}

fn check_page(
    shared: &Shared,
    heap: &Heap,
    index: u32,
    moved: &mut Moved,
    report: &mut CheckReport,
) -> Result<(), StorageError> {
    let Some(home) = heap.home(&shared.core().pool, index, false)? else { return Ok(()) };
    let mut image = Image::default();
    let (id, page) = (home.id(), home.bytes(heap, &mut image, None)?);
    let mut problem = |rule: &'static str, message: String| {
        report.problems.push(CheckProblem { page: id, table: heap.object, rule, message });
    };
    if header::kind(page) != Some(PageKind::Data)
        || header::owner(page) != heap.object
        || apply::page_index(page) != index
    {
        problem("directory", "the directory names a page that is not this table's data page".into());
        return Ok(());
    }
    let layout = PageLayout::of(page).map_err(|flaw| StorageError::corrupt(id, heap.object, flaw))?;
    let high = usize::from(u16_at(page, SLOT_HIGH));
    let (mut live, mut used, mut inline) = (0usize, 0usize, 0usize);
    let oit = shared.transactions.markers().oit;
    let swept = header::flags(page) & FLAG_SWEPT != 0;
    let limit = u64_at(page, MAX_WRITER);
    let view = shared.transactions.register();
    let alike = header::flags(page) & FLAG_ALIKE != 0;
    for slot in 0..high as u16 {
        let at = usize::from(slot) * 8;
        let writer = TxnId(u64_at(page, layout.writer + at));
        let is_live = apply::is_live(page, &layout, slot);
        let same = |array: usize| u64_at(page, array + at) == u64_at(page, array);
        if alike && !(same(layout.writer) && same(layout.back)) {
            problem("V2", format!("slot {slot} has another writer or pointer than its flag says"));
        }
        if writer == TxnId::NONE {
            if is_live {
                problem("V1", format!("slot {slot} is live without a writer"));
            }
            continue;
        }
        used += 1;
        live += usize::from(is_live);
        if writer.0 > limit {
            problem("V7", format!("slot {slot} has a writer above the page's greatest"));
        }
        if shared.transactions.state(writer) == TxnState::Dead && writer < oit {
            problem("V7", format!("slot {slot} was written by the dead transaction {writer} below OIT"));
        }
        let back = VersionPointer(u64_at(page, layout.back + at));
        if swept && (writer >= oit || !is_live || !back.is_none()) {
            problem("V7", format!("slot {slot} is not what the swept flag says"));
        }
        let visible = shared.transactions.commit_number(writer).is_some_and(|number| number <= view.number);
        if !visible && let Some(message) = check_chain(shared, heap, index, slot, writer, back, view.number)?
        {
            problem("V6", format!("slot {slot}: {message}"));
        }
        for place in layout.columns.iter().filter(|place| place.is_variable()) {
            match ValueSlot::decode(u64_at(page, place.data + at)) {
                Some(ValueSlot::Empty) => {}
                Some(ValueSlot::Inline { offset, length }) => {
                    inline += usize::from(length);
                    // An empty value is nowhere.
                    if length > 0
                        && (offset < u16_at(page, VARIABLE_START)
                            || usize::from(offset) + usize::from(length) > page.len())
                    {
                        problem(
                            "page format",
                            format!("value of slot {slot} lies outside of the variable bytes"),
                        );
                    }
                }
                Some(ValueSlot::Overflow { page: first, incarnation }) => {
                    for part in overflow::read(&shared.core().pool, heap.object, first, incarnation, None)? {
                        // In another incarnation it was freed and used again meanwhile.
                        if !moved.values.insert((part, incarnation)) {
                            problem("V5", format!("{part} belongs to two values"));
                        }
                    }
                }
                Some(ValueSlot::Companion { page: id, item }) => {
                    let pool = &shared.core().pool;
                    if moved.companions.insert(id) {
                        companion::check(&pool.read(id)?)
                            .map_err(|flaw| StorageError::corrupt(id, heap.object, flaw))?;
                    }
                    companion::read(pool, heap.object, id, item, &mut Vec::new())?;
                    if !moved.values.insert((id, item)) {
                        problem("V5", format!("an item of {id} belongs to two values"));
                    }
                }
                None => problem("page format", format!("unknown value slot at {slot}")),
            }
        }
    }
    if live != usize::from(u16_at(page, LIVE_COUNT))
        || used - live != usize::from(u16_at(page, DELETED_COUNT))
    {
        problem(
            "page format",
            format!("counts {live} live and {} deleted records, the page says otherwise", used - live),
        );
    }
    let start = usize::from(u16_at(page, VARIABLE_START));
    if page.len() - start != inline + usize::from(u16_at(page, GARBAGE)) {
        problem("page format", "variable bytes and garbage do not add up".into());
    }
    report.records += live as u64;
    Ok(())
}

fn check_chain(
    shared: &Shared,
    heap: &Heap,
    index: u32,
    slot: u16,
    mut writer: TxnId,
    mut back: VersionPointer,
    number: u64,
) -> Result<Option<String>, StorageError> {
    while shared.transactions.commit_number(writer).is_none_or(|committed| committed > number)
        && !back.is_none()
    {
        let page = shared.core().pool.read(back.page())?;
        if header::kind(&page) != Some(PageKind::Version) || header::incarnation(&page) != back.incarnation()
        {
            return Ok(Some("its back pointer leads to a page that was given out anew".into()));
        }
        let entry = match Entry::linked(&page, back.offset()) {
            Ok(entry) => entry,
            Err(flaw) => return Ok(Some(flaw.to_string())),
        };
        let Some(rank) =
            entry.slots.rank(slot).filter(|_| entry.table() == heap.object && entry.page_index() == index)
        else {
            return Ok(Some("its back pointer leads to another record's version".into()));
        };
        (writer, back) = entry.prior(rank);
    }
    Ok(None)
}
