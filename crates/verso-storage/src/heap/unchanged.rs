//! Long values that an update gives its record once more: their chains stay where they are.
//!
//! A statement with row triggers, or one that sets a column to itself, names columns whose values do not change. Writing a
//! long one again would cost as much as the value; so it is compared with the record's first, and the column left out of
//! the change.
//!
//! 1. The comparison is made before the change, with no latch held. The pages of a chain never change, so the column may
//!    be left out if the record still has the very same reference when the change has it latched; else it is not.
//! 2. One column at least is changed: a change of nothing is none.

use smallvec::SmallVec;
use verso_types::Batch;

use super::apply;
use super::layout::PageLayout;
use super::overflow;
use super::table::Heap;
use super::value_slot::ValueSlot;
use crate::StorageError;
use crate::buffer::BufferPool;
use crate::page::bytes::u64_at;
use crate::page::{PageKind, header};

/// References that columns of a record must still have.
pub(super) type Kept = SmallVec<[(u16, u64); 1]>;

/// An update of one record without the columns that keep their values.
pub(super) struct Narrowed {
    /// The others.
    pub columns: Vec<u16>,
    /// Their values.
    pub values: Batch,
    /// Those that keep theirs.
    pub kept: Kept,
}

impl Heap {
    /// The update of the record at `slot` to row `row` of `values`, without long values that the record has already.
    ///
    /// # Errors
    /// Those of reading; what is damaged counts as different.
    pub(super) fn narrowed(
        &self,
        pool: &BufferPool,
        page_index: u32,
        slot: u16,
        columns: &[u16],
        values: &Batch,
        row: usize,
    ) -> Result<Option<Narrowed>, StorageError> {
        let long = |index: usize| {
            let column = &values.columns[index];
            let bytes = column.data.bytes().filter(|_| !column.is_null(row))?;
            Some(bytes.get(row)).filter(|value| value.len() > pool.page_size() / 4)
        };
        if columns.len() < 2 || (0..columns.len()).all(|index| long(index).is_none()) {
            return Ok(None);
        }
        // A packed page has no long values.
        let Some(home) = self.home(pool, page_index, false)? else { return Ok(None) };
        let page = home.latched();
        if header::kind(page) != Some(PageKind::Data) {
            return Ok(None);
        }
        let Ok(layout) = PageLayout::of(page) else { return Ok(None) };
        let raws: Kept = columns.iter().map(|id| (*id, raw(page, &layout, slot, *id).unwrap_or(0))).collect();
        drop(home);
        let (mut others, mut kept) = (Vec::new(), Kept::new());
        for (index, (id, raw)) in raws.into_iter().enumerate() {
            let same = match (long(index), ValueSlot::decode(raw)) {
                (Some(value), Some(ValueSlot::Overflow { page, incarnation })) => {
                    match overflow::is(pool, self.object, page, incarnation, value) {
                        Err(error) if error.is_of_a_page() => false,
                        same => same?,
                    }
                }
                _ => false,
            };
            if same { kept.push((id, raw)) } else { others.push(index) }
        }
        if kept.is_empty() || others.is_empty() {
            return Ok(None);
        }
        let values = others.iter().map(|index| values.columns[*index].gather(&[row as u32])).collect();
        let columns = others.iter().map(|index| columns[*index]).collect();
        Ok(Some(Narrowed { columns, values: Batch::from_columns(values), kept }))
    }

    /// Whether the record at `slot` of a latched page still has these references.
    pub(super) fn still_has(&self, page: &[u8], layout: &PageLayout, slot: u16, kept: &[(u16, u64)]) -> bool {
        apply::is_live(page, layout, slot)
            && kept.iter().all(|(id, reference)| raw(page, layout, slot, *id) == Some(*reference))
    }
}

/// The raw value slot of a record's variable column.
fn raw(page: &[u8], layout: &PageLayout, slot: u16, column: u16) -> Option<u64> {
    let place = layout.ordinal(column).map(|ordinal| &layout.columns[ordinal])?;
    let in_page = usize::from(slot) < layout.capacity;
    (place.is_variable() && in_page).then(|| u64_at(page, place.data + usize::from(slot) * 8))
}
