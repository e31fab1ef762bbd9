//! Older versions of the records of a page: what a reader sees in place of values whose writer is not visible (V2).
//!
//! ```text
//! rows of the page:   0 1 2 3 4 5 6 7 8 9       values copied from the page, fixed ones already in the batch
//! runs by pointer:   [── A ──]  [ B ][─ A ─]    each entry is latched and decoded once for all rows that lead to it
//! entry A, columns:   ▒▒▒▒▒▒▒▒        ▒▒▒▒▒     its slices are copied over the runs; rows whose prior writer is not
//!     └─► prior: C    ▓▓▓▓▓▓▓▓                  visible either go on to the prior pointer, and older values win
//! ```
//!
//! 1. A row is in at most one run at a time, so a chain's entries are taken newest first, whatever the order of runs.
//! 2. Only wanted columns are looked at. Fixed ones are overwritten in the batch; of variable ones it is noted where
//!    the value comes from, for the caller to append once all is known.
//! 3. Version pages are latched shared one at a time, below the home page.

use std::ops::Range;

use smallvec::SmallVec;
use verso_types::{Batch, BytesColumn, Column};

use super::copier::Copier;
use super::layout::PageLayout;
use super::slice::{ColumnSlice, Variable};
use super::slots::Slots;
use super::table::Heap;
use crate::StorageError;
use crate::buffer::SharedPage;
use crate::page::{Flaw, PageKind, RecordId, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::ReadView;
use crate::version::entry::{Entry, VersionPointer};

/// Neighbouring rows whose older version stands in the same entry.
#[derive(Clone, Copy)]
pub(super) struct RowRun {
    pointer: VersionPointer,
    first: usize,
    count: usize,
}

/// Adds rows, to the last run if they continue it.
#[inline]
pub(super) fn push_run(runs: &mut Vec<RowRun>, pointer: VersionPointer, first: usize, count: usize) {
    match runs.last_mut() {
        Some(last) if last.pointer == pointer && last.first + last.count == first => last.count += count,
        _ => runs.push(RowRun { pointer, first, count }),
    }
}

/// Appends the records `range` of a page as they were before the entry that all of them lead to: its values where it
/// has any, else those of the page. `false`, and nothing appended, when it is not that simple: the version before is not
/// visible either, not the same for all, or has values elsewhere.
///
/// # Errors
/// As [`Restore::run`].
pub(super) fn copy_older(
    home: &Copier<'_>,
    layout: &PageLayout,
    pointer: VersionPointer,
    range: &Range<u16>,
    wanted: &[u16],
    batch: &mut Batch,
) -> Result<bool, StorageError> {
    let Copier { shared, heap, view, page_index, .. } = *home;
    let page = shared.core().pool.read(pointer.page())?;
    let corrupt = |flaw: Flaw| StorageError::corrupt(pointer.page(), heap.object, flaw);
    let entry = entry_at(&page, pointer, heap, page_index)?;
    let Slots::Run { first, count } = entry.slots else { return Ok(false) };
    if first > range.start || first + count < range.end {
        return Err(corrupt(Flaw::from(WITHOUT_RECORD)));
    }
    if !entry.is_uniform() || !view.visible(entry.prior(0).0) || disabled(Rule::V2) {
        return Ok(false);
    }
    let mut slices: SmallVec<[Option<ColumnSlice<'_>>; 8]> = SmallVec::from_elem(None, wanted.len());
    let mut alike = true;
    // Of a column that the page lacks nothing is restored.
    let is_wanted = |id| wanted.contains(&id) && layout.ordinal(id).is_some();
    let read = entry.each_column(is_wanted, |slice| {
        for (index, found) in slices.iter_mut().enumerate().filter(|(index, _)| wanted[*index] == slice.id) {
            alike &= slice.physical == batch.columns[index].physical();
            *found = Some(slice);
        }
    });
    read.map_err(corrupt)?;
    if !alike {
        return Err(corrupt(Flaw::from("an old value of another type than its column")));
    }
    if slices.iter().flatten().any(ColumnSlice::has_references) {
        return Ok(false);
    }
    let ranks = usize::from(range.start - first)..usize::from(range.end - first);
    for (column, slice) in batch.columns.iter_mut().zip(&slices) {
        if let Some(slice) = slice {
            append_part(column, slice, ranks.clone());
        }
    }
    let held: SmallVec<[bool; 8]> = slices.iter().map(Option::is_some).collect();
    drop(slices);
    drop(page);
    let slots = Slots::Run { first: range.start, count: range.end - range.start };
    for (index, column) in batch.columns.iter_mut().enumerate().filter(|(index, _)| !held[*index]) {
        match layout.ordinal(wanted[index]) {
            None => column.push_nulls(slots.len()),
            Some(ordinal) => home.copy(&layout.columns[ordinal], slots, column)?,
        }
    }
    Ok(true)
}

/// Appends values without references of an entry.
fn append_part(column: &mut Column, slice: &ColumnSlice<'_>, ranks: Range<usize>) {
    let row = column.len();
    match slice.physical.width() {
        Some(_) if slice.constant => ranks.clone().for_each(|_| column.extend_fixed_raw(slice.fixed)),
        Some(width) => column.extend_fixed_raw(&slice.fixed[ranks.start * width..ranks.end * width]),
        None => {
            let bytes = column.data.bytes_mut().expect("a variable column");
            if ranks.len() == slice.count && slice.is_plain() {
                push_piece(bytes, slice.bytes, slice.lengths.as_chunks::<2>().0.iter().copied());
            } else {
                for value in slice.variables().skip(ranks.start).take(ranks.len()) {
                    bytes.push(if let Variable::Bytes(bytes) = value { bytes } else { &[] });
                }
            }
        }
    }
    if let Some(nulls) = slice.nulls {
        column.nulls.append_bitmap(row, nulls, ranks.start, ranks.len());
    }
}

/// Appends values that stand one behind the other; their lengths are little-endian.
pub(super) fn push_piece(
    column: &mut BytesColumn,
    bytes: &[u8],
    lengths: impl ExactSizeIterator<Item = [u8; 2]>,
) {
    let mut end = column.bytes.len() as u32;
    column.bytes.extend_from_slice(bytes);
    column.ends.extend(lengths.map(|length| {
        end += u32::from(u16::from_le_bytes(length));
        end
    }));
    assert_eq!(end as usize, column.bytes.len(), "lengths and bytes were compared");
}

const WITHOUT_RECORD: &str = "a version entry without the record that points at it (V6)";

/// The entry that a back pointer of this page leads to.
fn entry_at<'p>(
    page: &'p SharedPage<'_>,
    pointer: VersionPointer,
    heap: &Heap,
    page_index: u32,
) -> Result<Entry<'p>, StorageError> {
    let corrupt = |flaw: Flaw| StorageError::corrupt(page.id(), heap.object, flaw);
    if header::kind(page) != Some(PageKind::Version)
        || (header::incarnation(page) != pointer.incarnation() && !disabled(Rule::V6Incarnation))
    {
        return Err(corrupt(Flaw::from("a back pointer leads to a page that was given out anew (V6)")));
    }
    let entry = Entry::linked(page, pointer.offset()).map_err(corrupt)?;
    if entry.table() != heap.object || entry.page_index() != page_index {
        return Err(corrupt(Flaw::from("a back pointer leads to another record's version (V6)")));
    }
    Ok(entry)
}

/// Who has written the newest version behind a back pointer that a view sees; none if it sees none (V2). The home page is
/// latched.
///
/// # Errors
/// `Corrupt`, `Io`.
pub(super) fn older_writer(
    shared: &Shared,
    heap: &Heap,
    view: &ReadView,
    record: RecordId,
    mut back: VersionPointer,
) -> Result<Option<TxnId>, StorageError> {
    while !back.is_none() {
        let page = shared.core().pool.read(back.page())?;
        let entry = entry_at(&page, back, heap, record.page_index)?;
        let Some(rank) = entry.slots.rank(record.slot) else {
            return Err(StorageError::corrupt(page.id(), heap.object, Flaw::from(WITHOUT_RECORD)));
        };
        let (writer, prior) = entry.prior(rank);
        if view.visible(writer) {
            return Ok(Some(writer));
        }
        back = prior;
    }
    Ok(None)
}

/// Where a variable value comes from.
#[derive(Clone, Copy)]
pub(super) enum Chosen<'a> {
    /// The page itself.
    Home,
    Null,
    Bytes(&'a [u8]),
    /// The raw 8 bytes of a value slot.
    Reference(u64),
}

/// The same while it is being found: bytes are a range of the arena.
#[derive(Clone, Copy)]
enum Source {
    Home,
    Null,
    Bytes(u32, u32),
    Reference(u64),
}

/// Rows `row ..` of the page are records `rank ..` of an entry.
struct Piece {
    row: usize,
    rank: usize,
    count: usize,
}

/// See the module.
pub(super) struct Restore<'a> {
    shared: &'a Shared,
    heap: &'a Heap,
    view: &'a ReadView,
    page_index: u32,
    /// Slots of the rows, ascending.
    slots: &'a [u16],
    /// Wanted columns; `None` where nothing is to be restored.
    wanted: SmallVec<[Option<u16>; 8]>,
    /// Per wanted column the sources of its variable values, empty while all come from the page.
    sources: SmallVec<[Vec<Source>; 8]>,
    arena: Vec<u8>,
    /// Rows that did not exist yet; empty while there are none.
    gone: Vec<bool>,
}

impl<'a> Restore<'a> {
    /// For the records at `slots` of a page.
    pub(super) fn new(
        shared: &'a Shared,
        heap: &'a Heap,
        view: &'a ReadView,
        page_index: u32,
        columns: &[u16],
        slots: &'a [u16],
    ) -> Restore<'a> {
        Restore {
            shared,
            heap,
            view,
            page_index,
            slots,
            wanted: columns.iter().map(|id| Some(*id)).collect(),
            sources: columns.iter().map(|_| Vec::new()).collect(),
            arena: Vec::new(),
            gone: Vec::new(),
        }
    }

    /// Nothing of this wanted column is to be restored.
    pub(super) fn ignore(&mut self, column: usize) {
        self.wanted[column] = None;
    }

    /// Follows the runs until every row is at a visible version or gone. The page's rows begin at row `first` of
    /// `columns`, in which fixed values stand as the page has them.
    ///
    /// # Errors
    /// `Corrupt` where a pointer leads astray (V6); `Io`.
    pub(super) fn run(
        &mut self,
        runs: &mut Vec<RowRun>,
        first: usize,
        columns: &mut [Column],
    ) -> Result<(), StorageError> {
        let mut further = Vec::new();
        while !runs.is_empty() {
            runs.sort_unstable_by_key(|run| (run.pointer.0, run.first));
            for group in runs.chunk_by(|a, b| a.pointer == b.pointer) {
                self.take(group, first, columns, &mut further)?;
            }
            std::mem::swap(runs, &mut further);
            further.clear();
        }
        Ok(())
    }

    /// Restores the rows of runs with one pointer from the entry there; those that go on are added to `further`.
    fn take(
        &mut self,
        group: &[RowRun],
        first: usize,
        columns: &mut [Column],
        further: &mut Vec<RowRun>,
    ) -> Result<(), StorageError> {
        let pointer = group[0].pointer;
        let id = pointer.page();
        let page = self.shared.core().pool.read(id)?;
        let corrupt = |flaw: Flaw| StorageError::corrupt(id, self.heap.object, flaw);
        let entry = entry_at(&page, pointer, self.heap, self.page_index)?;
        let pieces =
            pieces(group, self.slots, &entry.slots).ok_or_else(|| corrupt(Flaw::from(WITHOUT_RECORD)))?;
        let mut alike = true;
        let wanted = if entry.is_own() { SmallVec::new() } else { self.wanted.clone() };
        let read = entry.each_column(
            |id| wanted.contains(&Some(id)),
            |slice| {
                for (index, column) in columns.iter_mut().enumerate() {
                    if wanted[index] != Some(slice.id) {
                        continue;
                    }
                    alike &= slice.physical == column.physical();
                    match slice.physical.width() {
                        _ if !alike => {}
                        Some(width) => overwrite(column, first, &slice, width, &pieces),
                        None => self.choose(index, &slice, &pieces),
                    }
                }
            },
        );
        read.map_err(corrupt)?;
        if !alike {
            return Err(corrupt(Flaw::from("an old value of another type than its column")));
        }
        for piece in &pieces {
            if entry.is_uniform() {
                self.proceed(&entry, piece.rank, piece.row, piece.count, further);
            } else {
                for offset in 0..piece.count {
                    self.proceed(&entry, piece.rank + offset, piece.row + offset, 1, further);
                }
            }
        }
        Ok(())
    }

    /// Whether rows need still older values, or did not exist.
    fn proceed(
        &mut self,
        entry: &Entry<'_>,
        rank: usize,
        row: usize,
        count: usize,
        further: &mut Vec<RowRun>,
    ) {
        let (writer, back) = entry.prior(rank);
        if self.view.visible(writer) || disabled(Rule::V2) {
            return;
        }
        if back.is_none() {
            self.gone.resize(self.slots.len(), false);
            self.gone[row..row + count].fill(true);
        } else {
            push_run(further, back, row, count);
        }
    }

    /// Notes where variable values come from.
    fn choose(&mut self, index: usize, slice: &ColumnSlice<'_>, pieces: &[Piece]) {
        let sources = &mut self.sources[index];
        sources.resize(self.slots.len(), Source::Home);
        let mut values = slice.variables();
        let mut at = 0;
        for piece in pieces {
            let skipped = piece.rank - at;
            at = piece.rank + piece.count;
            for (row, value) in (piece.row..).zip(values.by_ref().skip(skipped).take(piece.count)) {
                sources[row] = match value {
                    Variable::Null => Source::Null,
                    Variable::Reference(raw) => Source::Reference(raw),
                    Variable::Bytes(bytes) => {
                        let from = self.arena.len() as u32;
                        self.arena.extend_from_slice(bytes);
                        Source::Bytes(from, self.arena.len() as u32)
                    }
                };
            }
        }
    }

    /// Where the values of a wanted variable column come from, row by row; `None` when all stand on the page.
    pub(super) fn chosen(&self, column: usize) -> Option<impl Iterator<Item = Chosen<'_>>> {
        let sources = &self.sources[column];
        let chosen = |source: &Source| match *source {
            Source::Home => Chosen::Home,
            Source::Null => Chosen::Null,
            Source::Bytes(from, to) => Chosen::Bytes(&self.arena[from as usize..to as usize]),
            Source::Reference(raw) => Chosen::Reference(raw),
        };
        (!sources.is_empty()).then(|| sources.iter().map(chosen))
    }

    /// Whether some row did not exist yet.
    pub(super) fn any_gone(&self) -> bool {
        !self.gone.is_empty()
    }

    /// Whether this row did not exist yet.
    pub(super) fn is_gone(&self, row: usize) -> bool {
        self.gone.get(row).is_some_and(|gone| *gone)
    }

    /// The rows that existed.
    pub(super) fn kept(&self) -> impl Iterator<Item = usize> {
        (0..self.slots.len()).filter(|row| !self.is_gone(*row))
    }
}

/// Which records of an entry the rows are, ascending; `None` when one of them is not among them.
fn pieces(group: &[RowRun], slots: &[u16], entry: &Slots<'_>) -> Option<SmallVec<[Piece; 4]>> {
    let mut pieces = SmallVec::new();
    for run in group {
        let (mut row, end) = (run.first, run.first + run.count);
        while row < end {
            let rank = entry.rank(slots[row])?;
            let most = (end - row).min(entry.len() - rank);
            let count = match Slots::from_list(&slots[row..row + most]) {
                Slots::Run { .. } if matches!(entry, Slots::Run { .. }) => most,
                _ => (1..most).find(|next| entry.get(rank + next) != slots[row + next]).unwrap_or(most),
            };
            pieces.push(Piece { row, rank, count });
            row += count;
        }
    }
    Some(pieces)
}

/// Writes fixed values of an entry over those of the batch.
fn overwrite(column: &mut Column, first: usize, slice: &ColumnSlice<'_>, width: usize, pieces: &[Piece]) {
    let values = column.data.fixed_bytes_mut().expect("a fixed type has fixed bytes");
    for piece in pieces {
        let target = &mut values[(first + piece.row) * width..][..piece.count * width];
        if slice.constant {
            target.chunks_exact_mut(width).for_each(|value| value.copy_from_slice(slice.fixed));
        } else {
            target.copy_from_slice(&slice.fixed[piece.rank * width..][..piece.count * width]);
        }
    }
    for piece in pieces {
        let row = first + piece.row;
        column.nulls.unset_range(row..row + piece.count);
        if let Some(nulls) = slice.nulls {
            column.nulls.append_bitmap(row, nulls, piece.rank, piece.count);
        }
    }
}
