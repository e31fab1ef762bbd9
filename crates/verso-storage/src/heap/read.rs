//! Reading records: scans and fetches at a snapshot.
//!
//! V2. Start from the home record; while its writer is not visible follow the pointer, restore the masked columns and
//!     liveness, take the prior writer; no pointer means no record.
//! A page whose greatest writer is below everything the snapshot might miss is copied by the column, without a look at
//! any record. Latches: home page shared, then version or overflow page shared.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use verso_types::{Batch, Column};

use super::layout::{MAX_WRITER, PageLayout, SLOT_HIGH};
use super::slice::{Variable, bit};
use super::slots::Slots;
use super::table::Heap;
use super::value_slot::ValueSlot;
use super::{apply, overflow};
use crate::StorageError;
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{Flaw, PageKind, RecordId, TxnId, header};
use crate::shared::Shared;
use crate::txn::{ReadView, Registration};
use crate::version::entry::{Entry, VersionPointer};

/// Rows a batch should have before it is handed out.
const BATCH_ROWS: usize = 1024;

/// What to scan.
pub struct ScanSpec<'a> {
    /// Identities of the columns wanted, in the order of the batch.
    pub columns: &'a [u16],
    /// Directory indexes; the end may lie beyond the table's.
    pub pages: Range<u32>,
}

/// Records read together; reused between calls.
#[derive(Default)]
pub struct ScanBatch {
    /// The wanted columns.
    pub batch: Batch,
    /// Names of the records, ascending.
    pub records: Vec<RecordId>,
}

/// A scan under way.
pub struct HeapScan {
    pub(crate) shared: Arc<Shared>,
    pub(crate) heap: Arc<Heap>,
    pub(crate) view: ReadView,
    /// Keeps the versions when the scan runs outside of a statement.
    pub(crate) _registration: Option<Registration>,
    pub(crate) cancel: Arc<AtomicBool>,
    pub(crate) columns: Vec<u16>,
    pub(crate) next: u32,
    pub(crate) end: u32,
}

impl HeapScan {
    /// Reads the next records into `out`: about 1,024 to 4,096; `false` at the end.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Cancelled`.
    pub fn next(&mut self, out: &mut ScanBatch) -> Result<bool, StorageError> {
        prepare(&self.heap, &self.columns, out);
        while self.next < self.end && out.records.len() < BATCH_ROWS {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(StorageError::Cancelled);
            }
            if self.next.is_multiple_of(8) {
                self.prefetch();
            }
            read_page(&self.shared, &self.heap, &self.view, self.next, None, &self.columns, out)?;
            self.next += 1;
        }
        out.batch.rows = out.records.len();
        Ok(!out.records.is_empty())
    }

    /// Fetches the next pages together when they follow each other in the file.
    fn prefetch(&self) {
        if let (Some(first), Some(last)) =
            (self.heap.page_at(self.next + 8), self.heap.page_at(self.next + 15))
            && last.0.wrapping_sub(first.0) == 7
        {
            self.shared.core().pool.prefetch(first, 8);
        }
    }
}

/// Empties `out` and gives it the columns wanted.
pub(crate) fn prepare(heap: &Heap, columns: &[u16], out: &mut ScanBatch) {
    let shapes = columns.iter().map(|id| {
        let column = heap.columns().iter().find(|column| column.id == *id);
        column.map_or(verso_types::Physical::Bytes, |column| column.physical)
    });
    let fits = out.batch.columns.len() == columns.len()
        && shapes.clone().zip(&out.batch.columns).all(|(shape, column)| column.physical() == shape);
    if fits {
        out.batch.clear();
    } else {
        out.batch = Batch::from_columns(shapes.map(Column::new).collect());
    }
    out.records.clear();
}

/// An old value that replaces the home record's.
#[derive(Clone, Copy)]
enum Old {
    Null,
    Bytes(usize, usize),
    Reference(u64),
}

/// Appends the records of one page visible to `view`; `only` restricts to one slot.
pub(crate) fn read_page(
    shared: &Shared,
    heap: &Heap,
    view: &ReadView,
    page_index: u32,
    only: Option<u16>,
    columns: &[u16],
    out: &mut ScanBatch,
) -> Result<(), StorageError> {
    let Some(id) = heap.page_at(page_index) else { return Ok(()) };
    let page = shared.core().pool.read(id)?;
    let corrupt = |flaw: Flaw| StorageError::corrupt(id, heap.object, flaw);
    if header::kind(&page) != Some(PageKind::Data)
        || header::owner(&page) != heap.object
        || apply::page_index(&page) != page_index
    {
        return Err(corrupt(Flaw::from("not the data page the directory says")));
    }
    let layout = PageLayout::of(&page).map_err(corrupt)?;
    let high = u16_at(&page, SLOT_HIGH).min(layout.capacity as u16);
    let range = match only {
        Some(slot) if slot < high => slot..slot + 1,
        Some(_) => return Ok(()),
        None => 0..high,
    };
    let mut slots: Vec<u16> = Vec::with_capacity(range.len());
    // Old values by row and wanted column, where a version had to be restored.
    let mut old: Vec<Vec<Option<Old>>> = Vec::new();
    let mut arena: Vec<u8> = Vec::new();
    if TxnId(u64_at(&page, MAX_WRITER)) < view.all_below() {
        let live = &page[layout.live..];
        slots.extend(range.filter(|slot| bit(live, usize::from(*slot))));
    } else {
        let mut follow: Vec<(usize, VersionPointer)> = Vec::new();
        let mut last = (0, false);
        for slot in range {
            let writer = u64_at(&page, layout.writer + usize::from(slot) * 8);
            if writer == 0 {
                continue;
            }
            if writer != last.0 {
                last = (writer, view.visible(TxnId(writer)));
            }
            if last.1 {
                if apply::is_live(&page, &layout, slot) {
                    slots.push(slot);
                }
            } else {
                let back = VersionPointer(u64_at(&page, layout.back + usize::from(slot) * 8));
                if !back.is_none() {
                    follow.push((slots.len(), back));
                    slots.push(slot);
                }
            }
        }
        if !follow.is_empty() {
            let mut gone = vec![false; slots.len()];
            old = vec![Vec::new(); slots.len()];
            let mut restore = Restore {
                shared,
                heap,
                view,
                page_index,
                columns,
                slots: &slots,
                old: &mut old,
                arena: &mut arena,
                gone: &mut gone,
            };
            restore.run(follow)?;
            if gone.iter().any(|gone| *gone) {
                let mut keep = gone.iter().map(|gone| !gone);
                slots.retain(|_| keep.next().unwrap_or(true));
                let mut keep = gone.iter().map(|gone| !gone);
                old.retain(|_| keep.next().unwrap_or(true));
            }
        }
    }
    if slots.is_empty() {
        return Ok(());
    }
    let set = Slots::from_list(&slots);
    for (wanted, (column_id, column)) in columns.iter().zip(&mut out.batch.columns).enumerate() {
        match layout.ordinal(*column_id) {
            None => column.push_nulls(slots.len()),
            Some(ordinal) => {
                let place = &layout.columns[ordinal];
                if old.is_empty() {
                    copy_column(shared, heap, &page, place, set, column)
                        .map_err(|e| e.unwrap_or_else(corrupt))?;
                } else {
                    for (row, slot) in slots.iter().enumerate() {
                        match old[row].get(wanted).copied().flatten() {
                            None => {
                                let one = Slots::Run { first: *slot, count: 1 };
                                copy_column(shared, heap, &page, place, one, column)
                                    .map_err(|e| e.unwrap_or_else(corrupt))?;
                            }
                            Some(Old::Null) => column.push_null(),
                            Some(Old::Bytes(from, to)) => match column.data.bytes_mut() {
                                Some(bytes) => bytes.push(&arena[from..to]),
                                None => column.extend_fixed_raw(&arena[from..to]),
                            },
                            Some(Old::Reference(raw)) => push_reference(shared, heap, raw, column)?,
                        }
                    }
                }
            }
        }
    }
    out.records.extend(slots.iter().map(|slot| RecordId { page_index, slot: *slot }));
    Ok(())
}

struct Restore<'a> {
    shared: &'a Shared,
    heap: &'a Heap,
    view: &'a ReadView,
    page_index: u32,
    columns: &'a [u16],
    slots: &'a [u16],
    old: &'a mut Vec<Vec<Option<Old>>>,
    arena: &'a mut Vec<u8>,
    gone: &'a mut [bool],
}

impl Restore<'_> {
    /// Follows pointers until every row is at a visible version or gone; rows with one pointer are restored together.
    fn run(&mut self, mut follow: Vec<(usize, VersionPointer)>) -> Result<(), StorageError> {
        while let Some(&(_, pointer)) = follow.first() {
            let mut rest = Vec::new();
            let id = pointer.page();
            let page = self.shared.core().pool.read(id)?;
            let corrupt = |flaw: Flaw| StorageError::corrupt(id, self.heap.object, flaw);
            if header::kind(&page) != Some(PageKind::Version)
                || header::incarnation(&page) != pointer.incarnation()
            {
                return Err(corrupt(Flaw::from(
                    "a back pointer leads to a page that was given out anew (V6)",
                )));
            }
            let entry = Entry::decode(&page, pointer.offset()).map_err(corrupt)?;
            if entry.table() != self.heap.object || entry.page_index() != self.page_index {
                return Err(corrupt(Flaw::from("a back pointer leads to another record's version (V6)")));
            }
            let slices = entry.columns().map_err(corrupt)?;
            let wanted: Vec<Option<usize>> =
                self.columns.iter().map(|id| slices.iter().position(|slice| slice.id == *id)).collect();
            // Offsets of variable values are found in one pass per column.
            let variables: Vec<Vec<Variable<'_>>> = wanted
                .iter()
                .map(|index| match index {
                    Some(index) if slices[*index].physical.width().is_none() => {
                        slices[*index].variables().collect()
                    }
                    _ => Vec::new(),
                })
                .collect();
            for (row, its) in follow {
                if its != pointer {
                    rest.push((row, its));
                    continue;
                }
                let Some(rank) = entry.slots.rank(self.slots[row]) else {
                    return Err(corrupt(Flaw::from(
                        "a version entry without the record that points at it (V6)",
                    )));
                };
                if self.old[row].is_empty() {
                    self.old[row] = vec![None; self.columns.len()];
                }
                for (column, index) in wanted.iter().enumerate() {
                    let Some(index) = *index else { continue };
                    let slice = &slices[index];
                    let from = self.arena.len();
                    let value = match slice.physical.width() {
                        _ if slice.is_null(rank) => Old::Null,
                        Some(width) => {
                            self.arena.extend_from_slice(slice.fixed_at(rank, width));
                            Old::Bytes(from, self.arena.len())
                        }
                        None => match variables[column][rank] {
                            Variable::Null => Old::Null,
                            Variable::Reference(raw) => Old::Reference(raw),
                            Variable::Bytes(bytes) => {
                                self.arena.extend_from_slice(bytes);
                                Old::Bytes(from, self.arena.len())
                            }
                        },
                    };
                    self.old[row][column] = Some(value);
                }
                let (writer, back) = entry.prior(rank);
                if !self.view.visible(writer) {
                    if back.is_none() {
                        self.gone[row] = true;
                    } else {
                        rest.push((row, back));
                    }
                }
            }
            follow = rest;
        }
        Ok(())
    }
}

/// Appends the values at `slots` of a page. `Err(Err(flaw))` is a flaw of the page itself.
#[allow(clippy::type_complexity, reason = "the caller wraps flaws with the page it knows")]
fn copy_column(
    shared: &Shared,
    heap: &Heap,
    page: &[u8],
    place: &super::layout::ColumnPlace,
    slots: Slots<'_>,
    column: &mut Column,
) -> Result<(), PageError> {
    let bitmap = &page[place.nulls..];
    let first = column.len();
    if !place.is_variable() {
        match slots {
            Slots::Run { first: slot, count } => {
                let from = place.data + usize::from(slot) * place.width;
                column.extend_fixed_raw(&page[from..from + usize::from(count) * place.width]);
            }
            _ => {
                for slot in slots.iter() {
                    let from = place.data + usize::from(slot) * place.width;
                    column.extend_fixed_raw(&page[from..from + place.width]);
                }
            }
        }
    } else {
        for slot in slots.iter() {
            let raw = u64_at(page, place.data + usize::from(slot) * 8);
            match ValueSlot::decode(raw) {
                Some(ValueSlot::Empty) => column.data.bytes_mut().expect("a variable column").push(&[]),
                Some(ValueSlot::Inline { offset, length }) => {
                    let bytes =
                        crate::page::bytes::checked_slice(page, usize::from(offset), usize::from(length))
                            .map_err(PageError::Flaw)?;
                    column.data.bytes_mut().expect("a variable column").push(bytes);
                }
                Some(_) => push_reference(shared, heap, raw, column).map_err(PageError::Other)?,
                None => return Err(PageError::Flaw(Flaw::from("unknown value slot"))),
            }
        }
    }
    match slots {
        Slots::Run { first: slot, count } => {
            let (slot, count) = (usize::from(slot), usize::from(count));
            if bitmap[slot / 8..(slot + count).div_ceil(8)].iter().any(|byte| *byte != 0) {
                column.nulls.append_bitmap(first, bitmap, slot, count);
            }
        }
        _ => {
            for (row, slot) in slots.iter().enumerate() {
                if bit(bitmap, usize::from(slot)) {
                    column.nulls.set(first + row);
                }
            }
        }
    }
    Ok(())
}

/// A flaw of the page at hand, or an error that knows its page.
enum PageError {
    Flaw(Flaw),
    Other(StorageError),
}

impl PageError {
    fn unwrap_or_else(self, wrap: impl FnOnce(Flaw) -> StorageError) -> StorageError {
        match self {
            PageError::Flaw(flaw) => wrap(flaw),
            PageError::Other(error) => error,
        }
    }
}

fn push_reference(shared: &Shared, heap: &Heap, raw: u64, column: &mut Column) -> Result<(), StorageError> {
    let Some(ValueSlot::Overflow { page, incarnation }) = ValueSlot::decode(raw) else {
        return Err(StorageError::corrupt(heap.root, heap.object, "a reference of unknown kind"));
    };
    let bytes = column.data.bytes_mut().expect("references stand for variable values");
    bytes.push_with(|out| overflow::read(&shared.core().pool, heap.object, page, incarnation, Some(out)))?;
    Ok(())
}
