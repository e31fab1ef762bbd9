//! Sweep: backs out the dead, proves that nothing below OIT is dead, sets swept flags; one that somebody has asked for gives free pages
//! of tables and indexes back to the database (`heap/shrink.rs`).
//!
//! Damaged pages and tables are stepped over, noted and counted; a sweep of one table reports its damage as an error when it
//! is through with the others.
//!
//! V7. *swept*: every live writer committed below OIT, nothing deleted pending, no live back pointer; set by sweep,
//!     cleared in the same log record as any change of the page.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use crate::heap::Heap;
use crate::heap::layout::{DELETED_COUNT, FLAG_ALL_VISIBLE, FLAG_SWEPT, LIVE_COUNT, PageLayout, SLOT_HIGH};
use crate::heap::slots::Slots;
use crate::heap::{apply, bounds};
use crate::maintenance::packing::GIVE_BACK_PAUSE;
use crate::maintenance::{backout, retire};
use crate::mini::Mini;
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{PageId, PageKind, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::Markers;
use crate::version::page as version_page;
use crate::wal::RecordKind;
use crate::workers::{Ranges, Stop};
use crate::{ObjectId, StorageError};

/// What to sweep.
#[derive(Clone, Copy, Debug, Default)]
pub struct SweepOptions {
    /// One table instead of all.
    pub table: Option<ObjectId>,
    /// Report every table.
    pub verbose: bool,
    /// Threads that may work, the caller's among them; 0 is as 1.
    pub workers: u32,
    /// The session that asks; 0 for housekeeping.
    pub session: u64,
    /// Waits for the end of another sweep, in place of `SweepRunning`.
    pub waits: bool,
    /// Leaves the processors to sessions that want them (W5).
    pub gives_way: bool,
    /// Gives whole units of free pages back to the database, those of data pages without records among them.
    pub gives_back: bool,
}

/// Between two looks at whether another sweep has ended.
const BETWEEN_LOOKS: Duration = Duration::from_millis(10);
/// Data pages without records that a worker notes at most; others are given back by another sweep.
const EMPTY_MAX: usize = 1 << 18;

/// How far a sweep is.
#[derive(Clone, Copy, Debug)]
pub struct SweepProgress {
    /// Data pages of all tables.
    pub pages_total: u64,
    /// Data pages done.
    pub pages_done: u64,
}

/// What a sweep did.
#[derive(Clone, Copy, Debug)]
pub struct SweepReport {
    /// Markers at its start.
    pub before: Markers,
    /// Markers at its end.
    pub after: Markers,
    /// Data pages looked at.
    pub pages_visited: u64,
    /// Data pages that were swept already.
    pub pages_skipped: u64,
    /// Data pages on which dead transactions were backed out.
    pub pages_backed_out: u64,
    /// Version pages retired.
    pub version_pages_retired: u64,
    /// Pages of tables and indexes that were given back to the database.
    pub pages_freed: u64,
    /// Time it took.
    pub seconds: f64,
    /// Damaged pages and tables that were stepped over.
    pub damaged: u64,
    /// Threads that worked.
    pub workers: u32,
    /// When it began, in microseconds since 1970.
    pub started_unix_micros: i64,
}

/// Sweeps; `progress` may end it early, what is done stays done.
///
/// # Errors
/// `Cancelled`; `SweepRunning` when another sweep is at work and this one does not wait; `Corrupt`, `Io`.
pub fn sweep(
    shared: &Arc<Shared>,
    options: &SweepOptions,
    progress: &mut dyn FnMut(SweepProgress) -> ControlFlow<()>,
) -> Result<SweepReport, StorageError> {
    let _running = loop {
        match shared.sweeping.try_lock() {
            Some(running) => break running,
            None if !options.waits => return Err(StorageError::SweepRunning),
            None => {}
        }
        if progress(SweepProgress { pages_total: 0, pages_done: 0 }).is_break() {
            return Err(StorageError::Cancelled);
        }
        shared.env.clock.sleep(BETWEEN_LOOKS);
    };
    let started = shared.env.clock.monotonic_nanos();
    let started_unix_micros = shared.env.clock.unix_micros();
    let before = shared.transactions.markers();
    tracing::info!(
        oit = before.oit.0,
        oat = before.oat.0,
        ost = before.ost.0,
        next = before.next.0,
        "sweep starts"
    );
    let listed = shared.workers.begin("SWEEP", options.session, None);
    let crew = shared.workers.gather(listed.job(), options.workers).giving_way(options.gives_way);
    let workers = crew.size() as u32;
    let mut watch = |pages_total| {
        let pages_done = if pages_total == 0 { 0 } else { listed.job().done() };
        match progress(SweepProgress { pages_total, pages_done }) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(StorageError::Cancelled),
        }
    };
    let full = backout::Pace::Full;
    let pages_backed_out = backout::back_out_all(shared, true, full, &crew, &mut || watch(0))?;
    shared.versions.close_idle(&shared.transactions);
    shared.versions.release_held();
    let version_pages_retired = retire::retire(shared, &crew, &mut || watch(0))?;
    // Below this everything is committed and needed by no snapshot in an older form.
    let now = shared.transactions.markers();
    let limit = now.oit.min(now.ost);
    let waiting = match Waiting::of(shared) {
        // They may lead anywhere.
        Err(error) if error.is_of_a_page() => None,
        waiting => Some(waiting?),
    };
    let mut objects: Vec<ObjectId> = shared.roots.lock().keys().copied().collect();
    objects.sort_unstable();
    objects.retain(|object| options.table.is_none_or(|table| table == *object));
    let mut damage = Damage { shared, count: 0, first: None };
    let mut heaps = Vec::new();
    for object in objects {
        let Some(root) = shared.roots.lock().get(&object).copied() else { continue };
        match shared.object_kind(root) {
            Ok(kind) if kind != crate::heap::root::TABLE => {}
            Ok(_) => match shared.heap(object) {
                Err(StorageError::NoSuchObject(_)) => {}
                heap => heaps.extend(damage.steps_over(heap)?),
            },
            Err(error) => damage.note(error)?,
        }
    }
    let swept = heaps.clone();
    let tables = Tables::new(heaps);
    let pages_total = tables.pages;
    listed.job().enter("scanning heap", pages_total);
    let ranges = Ranges::new(pages_total, crew.size());
    let (its, job) = (Arc::clone(shared), Arc::clone(listed.job()));
    let done = crew.run(Stop::All, &mut || watch(pages_total), move |part| {
        let mut done = Done::default();
        while let Some(range) = ranges.take() {
            for number in range {
                let (heap, index) = tables.find(number);
                one_page(&its, heap, index, limit, waiting.as_ref(), &mut done)?;
                job.advance(1);
                part.go_on()?;
            }
        }
        Ok(done)
    })?;
    let (mut visited, mut skipped) = (0, 0);
    let mut empty: BTreeMap<ObjectId, Vec<u32>> = BTreeMap::new();
    for part in done {
        visited += part.visited;
        skipped += part.skipped;
        part.empty.into_iter().for_each(|(object, index)| empty.entry(object).or_default().push(index));
        part.damage.into_iter().try_for_each(|error| damage.note(error))?;
    }
    let pages_freed = match options.gives_back {
        true => give_back(shared, &swept, &empty, &mut damage, &mut || watch(pages_total))?,
        false => 0,
    };
    let mut mini = Mini::begin(shared.core(), TxnId::NONE);
    mini.state(RecordKind::SWEPT, &limit.0.to_le_bytes())?;
    let (_, end) = mini.commit()?;
    shared.core().wal.flush(end)?;
    let after = shared.transactions.markers();
    let seconds = (shared.env.clock.monotonic_nanos() - started) as f64 / 1e9;
    tracing::info!(
        workers,
        seconds,
        oit = after.oit.0,
        oat = after.oat.0,
        ost = after.ost.0,
        next = after.next.0,
        "sweep is done"
    );
    if let Some(error) = damage.first.filter(|_| options.table.is_some()) {
        return Err(error);
    }
    Ok(SweepReport {
        before,
        after,
        pages_visited: visited,
        pages_skipped: skipped,
        pages_backed_out,
        version_pages_retired,
        pages_freed,
        seconds,
        damaged: damage.count,
        workers,
        started_unix_micros,
    })
}

/// Gives back what is free of swept tables and their indexes: the data pages that the sweep has found `empty` are packed for that,
/// where nothing else keeps their units.
fn give_back(
    shared: &Shared,
    heaps: &[Arc<Heap>],
    empty: &BTreeMap<ObjectId, Vec<u32>>,
    damage: &mut Damage<'_>,
    go_on: &mut dyn FnMut() -> Result<(), StorageError>,
) -> Result<u64, StorageError> {
    let there: BTreeSet<ObjectId> = shared.roots.lock().keys().copied().collect();
    shared.nothing_to_return.lock().retain(|object, _| there.contains(object));
    let mut packed = BTreeSet::new();
    for heap in heaps {
        let Some(indexes) = empty.get(&heap.object) else { continue };
        if damage.leaves(heap.pack_empty(shared, indexes, go_on))? > 0 {
            packed.insert(heap.object);
        }
    }
    if !packed.is_empty() {
        let_pass(shared, go_on)?;
    }
    let mut freed = 0;
    for heap in heaps {
        go_on()?;
        let tail = packed.contains(&heap.object);
        freed += damage.leaves(heap.give_back_swept(shared, tail, go_on))?;
    }
    Ok(freed)
}

/// Waits until who has read an entry of a directory has latched the page: for some time, or until nobody reads or writes.
fn let_pass(
    shared: &Shared,
    go_on: &mut dyn FnMut() -> Result<(), StorageError>,
) -> Result<(), StorageError> {
    let clock = &shared.env.clock;
    let until = clock.monotonic_nanos() + GIVE_BACK_PAUSE.as_nanos() as u64;
    while !shared.transactions.is_at_rest() && clock.monotonic_nanos() < until {
        go_on()?;
        clock.sleep(BETWEEN_LOOKS);
    }
    Ok(())
}

/// The tables of a sweep, with their pages numbered one behind the other.
struct Tables {
    /// Each with the number of its first page.
    heaps: Vec<(u64, Arc<Heap>)>,
    pages: u64,
}

impl Tables {
    fn new(heaps: Vec<Arc<Heap>>) -> Tables {
        let mut pages = 0;
        let numbered = |heap: Arc<Heap>| {
            let first = pages;
            pages += u64::from(heap.page_count());
            (first, heap)
        };
        let heaps = heaps.into_iter().map(numbered).collect();
        Tables { heaps, pages }
    }

    /// The table of a page, and its index there.
    fn find(&self, number: u64) -> (&Arc<Heap>, u32) {
        let behind = self.heaps.partition_point(|(first, _)| *first <= number);
        let (first, heap) = &self.heaps[behind - 1];
        (heap, (number - first) as u32)
    }
}

/// What a worker has done.
#[derive(Default)]
struct Done {
    visited: u64,
    skipped: u64,
    damage: Vec<StorageError>,
    /// Swept data pages without records, by their directory indexes.
    empty: Vec<(ObjectId, u32)>,
}

impl Done {
    /// Notes a swept data page that has no records.
    fn note_if_empty(&mut self, heap: &Heap, index: u32, page: &[u8]) {
        if u16_at(page, LIVE_COUNT) == 0 && self.empty.len() < EMPTY_MAX {
            self.empty.push((heap.object, index));
        }
    }
}

/// Sweeps one page of a table, unless it is swept already.
fn one_page(
    shared: &Shared,
    heap: &Heap,
    index: u32,
    limit: TxnId,
    waiting: Option<&Waiting>,
    done: &mut Done,
) -> Result<(), StorageError> {
    // A table whose pages are freed meanwhile has none any more.
    let _gate = heap.indexes.enter();
    let home = match heap.home(&shared.core().pool, index, true) {
        Err(error) if error.is_of_a_page() => {
            done.damage.push(error);
            return Ok(());
        }
        home => home?,
    };
    let Some(home) = home else { return Ok(()) };
    if home.is_packed() {
        // There is nothing to do on packed ones (P1).
        if home.has_no_records() {
            heap.room.note_empty(index);
        }
        done.skipped += 1;
        return Ok(());
    }
    let page = home.latched();
    let is_swept = header::flags(page) & FLAG_SWEPT != 0;
    let settled = heap.indexes.any() && waiting.is_some_and(|waiting| !waiting.has(heap.object, index));
    if is_swept {
        if settled {
            shared.core().clean.insert(home.id());
        }
        if !shared.core().bounds.has(home.id()) {
            note_bounds(shared, home.id(), page);
        }
        heap.room.note(index, page);
        done.note_if_empty(heap, index, page);
        done.skipped += 1;
        return Ok(());
    }
    drop(home);
    done.visited += 1;
    let mut mini = Mini::begin(shared.core(), TxnId::NONE);
    let Some(home) = heap.write_home_for_scan(&mut mini, index)? else { return Ok(()) };
    let id = mini.page_id(home);
    if header::kind(mini.page(home)) == Some(PageKind::Packed) {
        return Ok(());
    }
    match sweep_page(&mut mini, home, heap.object, limit) {
        Err(error) if error.is_of_a_page() => {
            done.damage.push(error);
            return Ok(());
        }
        swept => swept?,
    }
    heap.room.note(index, mini.page(home));
    if !mini.is_empty() {
        // Still latched.
        let is_swept = header::flags(mini.page(home)) & FLAG_SWEPT != 0;
        if is_swept {
            done.note_if_empty(heap, index, mini.page(home));
        }
        let bounds = if is_swept { bounds::of_page(mini.page(home)).ok() } else { None };
        mini.commit_with(|_, _| {
            if settled && is_swept {
                shared.core().clean.insert(id);
            }
            if let Some(bounds) = bounds {
                shared.core().bounds.insert(id, bounds);
            }
        })?;
    }
    Ok(())
}

/// Notes between which integers the values of a swept page lie, which is latched.
fn note_bounds(shared: &Shared, id: PageId, page: &[u8]) {
    // A page that cannot be read is met by whoever reads its records.
    if let Ok(bounds) = bounds::of_page(page) {
        shared.core().bounds.insert(id, bounds);
    }
}

/// Sweeps one page as far as that goes by itself: what is dead there stays.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(super) fn sweep_alone(
    shared: &Shared,
    heap: &Heap,
    index: u32,
    limit: TxnId,
) -> Result<(), StorageError> {
    let mut done = Done::default();
    one_page(shared, heap, index, limit, None, &mut done)?;
    done.damage.pop().map_or(Ok(()), Err)
}

/// What was stepped over.
struct Damage<'s> {
    shared: &'s Shared,
    count: u64,
    first: Option<StorageError>,
}

impl Damage<'_> {
    /// Notes an error that says that a page is damaged; others are given back.
    fn note(&mut self, error: StorageError) -> Result<(), StorageError> {
        if !error.is_of_a_page() {
            return Err(error);
        }
        self.shared.core().pool.note_damage(&error);
        self.count += 1;
        self.first.get_or_insert(error);
        Ok(())
    }

    /// What is damaged, or finds no room in the log, stays as it is.
    fn leaves(&mut self, done: Result<u64, StorageError>) -> Result<u64, StorageError> {
        match done {
            Err(error @ StorageError::Full { .. }) => {
                tracing::warn!(%error, "free pages of a table stay where they are");
                Ok(0)
            }
            done => Ok(self.steps_over(done)?.unwrap_or(0)),
        }
    }

    fn steps_over<T>(&mut self, result: Result<T, StorageError>) -> Result<Option<T>, StorageError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) => self.note(error).map(|()| None),
        }
    }
}

/// Data pages that a purge is still to look at: entries of indexes may lead there, and deleted records hold their slots.
pub(crate) struct Waiting(HashSet<(ObjectId, u32)>);

impl Waiting {
    /// Those of now.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn of(shared: &Shared) -> Result<Waiting, StorageError> {
        let mut waiting = HashSet::new();
        let _walking = shared.versions.walk();
        for id in shared.versions.pages_to_purge() {
            let page = shared.core().pool.read_for_scan(id)?;
            let entries = version_page::entries(&page)
                .map_err(|flaw| StorageError::corrupt(id, ObjectId::SYSTEM, flaw))?;
            waiting.extend(entries.iter().map(|(_, entry)| (entry.table(), entry.page_index())));
        }
        Ok(Waiting(waiting))
    }

    /// Whether a page of a table is among them.
    pub fn has(&self, table: ObjectId, page_index: u32) -> bool {
        self.0.contains(&(table, page_index))
    }
}

fn sweep_page(
    mini: &mut Mini<'_>,
    home: crate::PageHandle,
    object: ObjectId,
    limit: TxnId,
) -> Result<(), StorageError> {
    let page = mini.page(home);
    let layout =
        PageLayout::of(page).map_err(|flaw| StorageError::corrupt(mini.page_id(home), object, flaw))?;
    let mut clear = Vec::new();
    let mut clean = u16_at(page, DELETED_COUNT) == 0;
    for slot in 0..u16_at(page, SLOT_HIGH) {
        let at = usize::from(slot) * 8;
        let writer = TxnId(u64_at(page, layout.writer + at));
        if writer == TxnId::NONE {
            continue;
        }
        if writer < limit && apply::is_live(page, &layout, slot) {
            if u64_at(page, layout.back + at) != 0 {
                clear.push(slot);
            }
        } else {
            clean = disabled(Rule::V7Sweep);
        }
    }
    if clear.is_empty() && !clean {
        return Ok(());
    }
    let mut payload = vec![if clean { FLAG_SWEPT | FLAG_ALL_VISIBLE } else { 0 }];
    Slots::from_list(&clear).encode(&mut payload);
    mini.apply(home, RecordKind::DATA_SWEEP, &payload)
}
