//! Pages as a command sees them (T4): records that its transaction has changed since are read as they were.
//!
//! ```text
//! slots        0 1 2 3 4 5 6 7 8        runs of records of one kind, each read by itself
//!              └now┘ └fresh┘ │ └now┘    as they are; as if the transaction had no version of them; from the image
//!                         image
//! ```

use std::ops::Range;

use super::copier;
use super::read::{ScanBatch, Wanted, height, read_page_in};
use super::sieve::Sieve;
use super::slice::{ColumnSlice, Variable};
use super::slots::Slots;
use super::table::Heap;
use crate::StorageError;
use crate::page::{Flaw, RecordId};
use crate::shared::Shared;
use crate::txn::ReadView;
use crate::txn::command::{Command, Earlier};

/// As [`super::read::read_page`] under a view with this command.
#[allow(clippy::too_many_arguments, reason = "as the function that it stands beside")]
pub(super) fn read_page(
    shared: &Shared,
    heap: &Heap,
    (view, command): (&ReadView, &Command),
    page_index: u32,
    wanted: Wanted<'_>,
    columns: &[u16],
    mut sieve: Option<(&mut Sieve, &mut bool)>,
    out: &mut ScanBatch,
) -> Result<Range<u16>, StorageError> {
    let (rows, seen) = (out.records.len(), out.seen());
    let only = match wanted {
        Wanted::Slots(slots) => Some(slots),
        Wanted::Short | Wanted::Drawn(_) => None,
    };
    loop {
        let notes = command.notes(heap.object, page_index);
        let long = match command.earlier(&shared.core().pool, heap.object, page_index, only)? {
            None => {
                let sieve = sieve.as_mut().map(|(sieve, is_sifted)| (&mut **sieve, &mut **is_sifted));
                read_page_in(shared, heap, view, page_index, wanted, columns, sieve, out)?
            }
            Some(earlier) => read_parts(shared, heap, view, &earlier, page_index, wanted, columns, out)?,
        };
        // On another thread the transaction may have gone on meanwhile.
        if command.notes(heap.object, page_index) == notes {
            return Ok(long);
        }
        out.cut(rows, seen);
        if let Some((_, is_sifted)) = &mut sieve {
            **is_sifted = false;
        }
    }
}

/// How a record is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Now,
    Fresh,
    Image(usize),
}

#[allow(clippy::too_many_arguments, reason = "one place calls it")]
fn read_parts(
    shared: &Shared,
    heap: &Heap,
    view: &ReadView,
    earlier: &Earlier,
    page_index: u32,
    wanted: Wanted<'_>,
    columns: &[u16],
    out: &mut ScanBatch,
) -> Result<Range<u16>, StorageError> {
    let Some((high, is_long)) = height(shared, heap, page_index, columns)? else { return Ok(0..0) };
    let slots: Vec<u16> = match wanted {
        Wanted::Short | Wanted::Drawn(_) if is_long => return Ok(0..high),
        Wanted::Short => (0..high).collect(),
        Wanted::Drawn(draw) => {
            (0..high).filter(|slot| draw.has(RecordId { page_index, slot: *slot })).collect()
        }
        Wanted::Slots(slots) => slots.iter().copied().filter(|slot| *slot < high).collect(),
    };
    let kind = |slot: u16| match earlier.images.iter().position(|(slots, _)| slots.contains(slot)) {
        Some(image) => Kind::Image(image),
        None if earlier.fresh.contains(slot) => Kind::Fresh,
        None => Kind::Now,
    };
    let without_own = view.clone().without_own();
    for run in slots.chunk_by(|one, next| kind(*one) == kind(*next)) {
        if let (Some(reader), true) = (view.reader(), kind(run[0]) != Kind::Now) {
            run.iter().for_each(|slot| reader.reads_record(heap.object, page_index, *slot));
        }
        let of_page = |view, out: &mut ScanBatch| {
            read_page_in(shared, heap, view, page_index, Wanted::Slots(run), columns, None, out)
        };
        match kind(run[0]) {
            Kind::Now => {
                of_page(view, out)?;
            }
            Kind::Fresh => {
                of_page(&without_own, out)?;
            }
            Kind::Image(at) => {
                append(shared, heap, &earlier.images[at].1, run, columns, out)?;
                out.records.extend(run.iter().map(|slot| RecordId { page_index, slot: *slot }));
            }
        }
    }
    Ok(0..0)
}

/// Appends records of an image.
fn append(
    shared: &Shared,
    heap: &Heap,
    image: &[u8],
    slots: &[u16],
    columns: &[u16],
    out: &mut ScanBatch,
) -> Result<(), StorageError> {
    let corrupt = |flaw: Flaw| StorageError::corrupt(heap.root, heap.object, flaw);
    let mut at = 0;
    let held = Slots::decode(image, &mut at).map_err(corrupt)?;
    let mut slices = Vec::new();
    while at < image.len() {
        slices.push(ColumnSlice::decode(image, &mut at, held.len()).map_err(corrupt)?);
    }
    let ranks: Option<Vec<usize>> = slots.iter().map(|slot| held.rank(*slot)).collect();
    let ranks = ranks.ok_or_else(|| corrupt(Flaw::from("an image without its record")))?;
    for (id, column) in columns.iter().zip(&mut out.batch.columns) {
        // A column that the page does not have.
        let Some(slice) = slices.iter().find(|slice| slice.id == *id) else {
            column.push_nulls(ranks.len());
            continue;
        };
        if slice.physical != column.physical() {
            return Err(corrupt(Flaw::from("an image of another type than its column")));
        }
        let starts = slice.starts();
        for rank in &ranks {
            match slice.physical.width() {
                _ if slice.is_null(*rank) => column.push_null(),
                Some(width) => column.extend_fixed_raw(slice.fixed_at(*rank, width)),
                None => match slice.variable_from(*rank, starts[*rank] as usize) {
                    Variable::Null => column.push_null(),
                    Variable::Bytes(bytes) => {
                        column.data.bytes_mut().expect("a variable column").push(bytes);
                    }
                    Variable::Reference(raw) => copier::push_reference(shared, heap, raw, column)?,
                },
            }
        }
    }
    Ok(())
}
