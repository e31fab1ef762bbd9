//! One record behind the others of its page: what an INSERT of a single row does, over and over.
//!
//! The row goes to the page that the writer slot used last, which its insert note names, at the next unused slot.
//! Whatever is not so simple is left to [`super::insert`]: another page, a slot to be used again, values that need
//! collecting garbage or a page of their own, the first note of a page.
//!
//! Log record `DATA_APPEND`:
//!
//! ```text
//! writer u64 │ slot u16 │ null bitmap │ per column that is not NULL: its bytes, for variable ones behind their length u16
//! ```

use std::sync::Arc;

use smallvec::SmallVec;
use verso_types::Batch;

use super::layout::*;
use super::slots::Slots;
use super::table::Heap;
use super::value_slot::ValueSlot;
use crate::StorageError;
use crate::index::maintain;
use crate::mini::Mini;
use crate::page::bytes::{checked_slice, checked_u16, checked_u64, put_u16, put_u64, u16_at, u32_at, u64_at};
use crate::page::{Flaw, ObjectId, PageId, PageKind, RecordId, TxnId, header};
use crate::shared::Shared;
use crate::txn::transaction::Txn;
use crate::wal::RecordKind;

/// The page that a writer slot's last record of a table went to.
#[derive(Clone, Copy, Debug)]
pub struct InsertTarget {
    /// The table.
    pub table: ObjectId,
    /// Directory index of the page.
    pub index: u32,
    /// The page.
    pub page: PageId,
}

/// Rows whose sizes enter the mean that new pages are laid out by: one in so many.
const OBSERVED: u16 = 16;

impl Heap {
    /// Inserts the only row of `rows` at the next slot of the page used last, and its keys; the record, or `None` where
    /// that is not enough and nothing has happened.
    ///
    /// # Errors
    /// As [`Heap::insert`].
    pub(super) fn append_row(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &Batch,
    ) -> Result<Option<RecordId>, StorageError> {
        let id = txn.id;
        let shared: &Shared = &txn.shared;
        let writer = txn.slot.as_mut().expect("begin_write gave one");
        let Some(target) = writer.target else { return Ok(None) };
        if target.table != self.object || writer.note != Some((self.object, target.index)) {
            return Ok(None);
        }
        let mut need = 0;
        for column in &rows.columns {
            // A NULL has no bytes.
            if let Some(bytes) = column.data.bytes() {
                let length = bytes.get(0).len();
                if length > shared.page_size / 4 {
                    return Ok(None);
                }
                need += length;
            }
        }
        // Before all latches; an index that is built meanwhile waits for it.
        let gate = self.indexes.any().then(|| self.indexes.enter());
        let Some(page) = shared.core().pool.try_write(target.page)? else { return Ok(None) };
        if need > shared.page_size / 2 || !self.takes(&page, &target, need) {
            return Ok(None);
        }
        let next = u16_at(&page, SLOT_HIGH);
        let mut mini = Mini::begin(shared.core(), id);
        if writer.promised(&shared.core().wal) {
            mini.promised();
        }
        let home = mini.take(page);
        mini.apply_with(home, RecordKind::DATA_APPEND, |out| encode(out, id, next, rows))?;
        let record = RecordId { page_index: target.index, slot: next };
        let indexes: &[_] = gate.as_ref().map_or(&[], |list| list);
        let entries = &mut txn.index_entries;
        let added =
            maintain::add_within(shared, &mut mini, indexes, rows, record, entries, &mut writer.leaves);
        let indexed = indexes.len();
        // What was applied is committed, also where an index cannot be read (M3).
        let lsns = mini.commit()?;
        writer.used(lsns);
        drop(gate);
        txn.wrote(lsns);
        if next.is_multiple_of(OBSERVED) {
            self.observe(1, need);
        }
        txn.inserted(self.object, record);
        if let Some(reader) = &txn.reader {
            reader.wrote(self.object, target.index, Slots::Run { first: next, count: 1 })?;
        }
        let added = added?;
        if !added.is_all_of(indexed) || txn.reader.is_some() {
            let shared = Arc::clone(&txn.shared);
            maintain::added(&shared, txn, self, rows, record, added)?;
        }
        Ok(Some(record))
    }

    /// Whether the page is still what the target says and takes a row behind the others with `need` variable bytes.
    fn takes(&self, page: &[u8], target: &InsertTarget, need: usize) -> bool {
        let next = u16_at(page, SLOT_HIGH);
        let used = usize::from(u16_at(page, LIVE_COUNT)) + usize::from(u16_at(page, DELETED_COUNT));
        header::kind(page) == Some(PageKind::Data)
            && header::owner(page) == self.object
            && u32_at(page, PAGE_INDEX) == target.index
            && next < u16_at(page, CAPACITY)
            // No slot before it is free: those are used again first.
            && used == usize::from(next)
            && page.get(COLUMNS..COLUMNS + self.descriptors().len()) == Some(self.descriptors())
            && usize::from(u16_at(page, COLUMN_COUNT)) * 4 == self.descriptors().len()
            && Arrays::of(page).is_some_and(|arrays| {
                let widths = self.columns().iter().map(|spec| spec.physical.width().unwrap_or(REFERENCE));
                usize::from(u16_at(page, VARIABLE_START)).saturating_sub(arrays.end(widths)) >= need
            })
    }
}

/// Bytes that a value of variable length takes in its column's array.
const REFERENCE: usize = 8;

fn encode(out: &mut Vec<u8>, writer: TxnId, slot: u16, rows: &Batch) {
    let mut head = [0; 10];
    put_u64(&mut head, 0, writer.0);
    put_u16(&mut head, 8, slot);
    out.extend_from_slice(&head);
    let nulls = out.len();
    out.resize(nulls + rows.columns.len().div_ceil(8), 0);
    for (index, column) in rows.columns.iter().enumerate() {
        if column.is_null(0) {
            out[nulls + index / 8] |= 1 << (index % 8);
            continue;
        }
        if let Some(bytes) = column.data.bytes() {
            out.extend_from_slice(&(bytes.get(0).len() as u16).to_le_bytes());
        }
        column.append_raw(0, out);
    }
}

/// Where the arrays of a data page begin; those of the columns follow one from the other.
struct Arrays {
    columns: usize,
    capacity: usize,
    bitmap: usize,
    live: usize,
    writer: usize,
    nulls: usize,
}

impl Arrays {
    /// `None` when the columns do not fit the page.
    fn of(page: &[u8]) -> Option<Arrays> {
        let (columns, capacity) =
            (usize::from(u16_at(page, COLUMN_COUNT)), usize::from(u16_at(page, CAPACITY)));
        let bitmap = bitmap_bytes(capacity);
        let live = (COLUMNS + columns * 4).next_multiple_of(8);
        let writer = live + bitmap;
        let nulls = writer + capacity * 16;
        let arrays = Arrays { columns, capacity, bitmap, live, writer, nulls };
        (arrays.data() <= page.len()).then_some(arrays)
    }

    /// Where the first column's array begins.
    fn data(&self) -> usize {
        self.nulls + self.columns * self.bitmap
    }

    /// Bytes of the array of elements of this width.
    fn bytes(&self, width: usize) -> usize {
        (self.capacity * width).next_multiple_of(8)
    }

    /// First byte behind the arrays of columns of these widths.
    fn end(&self, widths: impl Iterator<Item = usize>) -> usize {
        self.data() + widths.map(|width| self.bytes(width)).sum::<usize>()
    }
}

/// Copies `value` to `place`; of the widths of columns that are not of variable length.
fn put_fixed(page: &mut [u8], place: usize, value: &[u8]) {
    // Without a call for the usual ones.
    match *value {
        [a, b, c, d, e, f, g, h] => page[place..place + 8].copy_from_slice(&[a, b, c, d, e, f, g, h]),
        [a, b, c, d] => page[place..place + 4].copy_from_slice(&[a, b, c, d]),
        [a, b] => page[place..place + 2].copy_from_slice(&[a, b]),
        [a] => page[place] = a,
        _ => page[place..place + value.len()].copy_from_slice(value),
    }
}

/// A value of a row, on its way from the log record to the page.
struct Put {
    /// In its column's array.
    place: usize,
    /// Where it begins in the record.
    from: usize,
    length: usize,
    variable: bool,
}

/// Runs a record of kind 45 on a data page.
pub(super) fn redo(page: &mut [u8], payload: &[u8]) -> Result<(), Flaw> {
    let (writer, slot) = (checked_u64(payload, 0)?, checked_u16(payload, 8)?);
    let arrays = Arrays::of(page).ok_or_else(|| Flaw::from("columns do not fit the page"))?;
    let row = usize::from(slot);
    if slot != u16_at(page, SLOT_HIGH) || row >= arrays.capacity {
        return Err(Flaw::from("not the next slot of the page"));
    }
    let nulls = checked_slice(payload, 10, arrays.columns.div_ceil(8))?;
    let first = 10 + nulls.len();
    let is_null = |column: usize| nulls[column / 8] >> (column % 8) & 1 == 1;
    // M2: everything is looked at before anything changes.
    let mut puts: SmallVec<[Put; 12]> = SmallVec::new();
    let (mut at, mut need, mut end) = (first, 0, arrays.data());
    for (column, descriptor) in page[COLUMNS..COLUMNS + arrays.columns * 4].chunks_exact(4).enumerate() {
        let physical = physical_from_code(descriptor[2]);
        let fixed = physical.ok_or_else(|| Flaw::from("unknown column type in a data page"))?.width();
        let width = fixed.unwrap_or(REFERENCE);
        let place = end + row * width;
        end += arrays.bytes(width);
        if is_null(column) {
            continue;
        }
        let length = match fixed {
            Some(width) => width,
            None => {
                let length = usize::from(checked_u16(payload, at)?);
                need += length;
                at += 2;
                length
            }
        };
        puts.push(Put { place, from: at, length, variable: fixed.is_none() });
        at += length;
    }
    if at != payload.len() {
        return Err(Flaw::from("a row of another size"));
    }
    let mut start = usize::from(u16_at(page, VARIABLE_START));
    if end > page.len() || start > page.len() || start < end + need {
        return Err(Flaw::new(format!("{need} bytes of values do not fit")));
    }
    for put in &puts {
        let value = &payload[put.from..put.from + put.length];
        if put.variable {
            start -= value.len();
            page[start..start + value.len()].copy_from_slice(value);
            let slot = ValueSlot::Inline { offset: start as u16, length: value.len() as u16 };
            put_u64(page, put.place, slot.encode());
        } else {
            put_fixed(page, put.place, value);
        }
    }
    if puts.len() < arrays.columns {
        for column in (0..arrays.columns).filter(|column| is_null(*column)) {
            page[arrays.nulls + column * arrays.bitmap + row / 8] |= 1 << (row % 8);
        }
    }
    put_u64(page, arrays.writer + row * 8, writer);
    put_u64(page, arrays.writer + (arrays.capacity + row) * 8, 0);
    page[arrays.live + row / 8] |= 1 << (row % 8);
    put_u16(page, VARIABLE_START, start as u16);
    put_u16(page, SLOT_HIGH, slot + 1);
    let live = u16_at(page, LIVE_COUNT);
    put_u16(page, LIVE_COUNT, live + 1);
    let greatest = u64_at(page, MAX_WRITER).max(writer);
    put_u64(page, MAX_WRITER, greatest);
    super::apply::clear_flags(page);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use verso_types::{Physical, SqlType, Value};

    use super::super::apply;
    use super::super::slice::encode_column;
    use super::*;

    const COLUMNS_OF_TEST: [(SqlType, ColumnSpec); 4] = [
        (SqlType::Int8, ColumnSpec { id: 1, physical: Physical::I64 }),
        (SqlType::Text, ColumnSpec { id: 2, physical: Physical::Bytes }),
        (SqlType::Bool, ColumnSpec { id: 5, physical: Physical::Bool }),
        (SqlType::Text, ColumnSpec { id: 6, physical: Physical::Bytes }),
    ];

    fn empty_page() -> Vec<u8> {
        let specs = COLUMNS_OF_TEST.map(|(_, spec)| spec);
        let mut page = vec![0; 4096];
        let mut payload = Vec::new();
        apply::init_payload(&mut payload, PageId(9), ObjectId(1000), 3, 20, &specs);
        apply::redo(RecordKind::DATA_INIT, &mut page, &payload).unwrap();
        page
    }

    fn batch(row: &(Option<i64>, Option<String>, Option<bool>, Option<String>)) -> Batch {
        let mut batch = Batch::of_types(&COLUMNS_OF_TEST.map(|(ty, _)| ty));
        let (number, text, flag, more) = row.clone();
        let values = [
            number.map_or(Value::Null, Value::Int8),
            text.as_deref().map_or(Value::Null, Value::text),
            flag.map_or(Value::Null, Value::Bool),
            more.as_deref().map_or(Value::Null, Value::text),
        ];
        for ((column, value), (ty, _)) in batch.columns.iter_mut().zip(&values).zip(&COLUMNS_OF_TEST) {
            column.push_value(value, ty).unwrap();
        }
        batch.rows = 1;
        batch
    }

    proptest! {
        /// A row appended alone leaves the page as the general insert leaves it, byte for byte.
        #[test]
        fn an_appended_row_is_an_inserted_row(rows in prop::collection::vec(any::<(Option<i64>, Option<String>, Option<bool>, Option<String>)>(), 1..20)) {
            let (mut inserted, mut appended) = (empty_page(), empty_page());
            for (slot, row) in rows.iter().enumerate() {
                let (batch, slot) = (batch(row), [slot as u16]);
                let mut payload = 77u64.to_le_bytes().to_vec();
                Slots::from_list(&slot).encode(&mut payload);
                payload.extend_from_slice(&4u16.to_le_bytes());
                for (column, (_, spec)) in batch.columns.iter().zip(&COLUMNS_OF_TEST) {
                    encode_column(&mut payload, spec.id, column, 0..1, None);
                }
                let general = apply::redo(RecordKind::DATA_INSERT, &mut inserted, &payload);
                payload.clear();
                encode(&mut payload, TxnId(77), slot[0], &batch);
                let row = apply::redo(RecordKind::DATA_APPEND, &mut appended, &payload);
                prop_assert_eq!(general.is_ok(), row.is_ok());
                prop_assert!(inserted == appended);
                if row.is_err() {
                    break;
                }
            }
        }

        /// Junk is a flaw that changes nothing (M2, G2).
        #[test]
        fn junk_changes_nothing(mut payload in prop::collection::vec(any::<u8>(), 0..80), slot in 0u16..2) {
            let mut page = empty_page();
            if payload.len() > 10 {
                payload[8..10].copy_from_slice(&slot.to_le_bytes());
            }
            let before = page.clone();
            if apply::redo(RecordKind::DATA_APPEND, &mut page, &payload).is_err() {
                prop_assert!(page == before);
            }
        }
    }
}
