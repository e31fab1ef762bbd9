//! One record behind the others of its page, as the log has it and as the page does.
//!
//! Log record `DATA_APPEND`:
//!
//! ```text
//! writer u64 │ slot u16 │ null bitmap │ per column that is not NULL: its bytes, for variable ones behind their length u16
//! ```

use smallvec::SmallVec;
use verso_types::{Batch, ColumnData};

use super::layout::*;
use super::value_slot::ValueSlot;
use crate::page::bytes::{checked_slice, checked_u16, checked_u64, put_u16, put_u64, u16_at, u64_at};
use crate::page::{Flaw, TxnId};

/// Bytes that a value of variable length takes in its column's array.
const REFERENCE: usize = 8;

/// Where the arrays of a data page begin; those of the columns follow one from the other.
#[derive(Clone, Debug)]
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

    /// The row has no value in this column.
    fn set_null(&self, page: &mut [u8], column: usize, row: usize) {
        page[self.nulls + column * self.bitmap + row / 8] |= 1 << (row % 8);
    }

    /// What a new row changes besides its values, of which the lowest variable byte is at `start`.
    #[inline]
    fn finish(&self, page: &mut [u8], row: usize, writer: u64, start: usize) {
        put_u64(page, self.writer + row * 8, writer);
        put_u64(page, self.writer + (self.capacity + row) * 8, 0);
        page[self.live + row / 8] |= 1 << (row % 8);
        put_u16(page, VARIABLE_START, start as u16);
        put_u16(page, SLOT_HIGH, row as u16 + 1);
        let live = u16_at(page, LIVE_COUNT);
        put_u16(page, LIVE_COUNT, live + 1);
        let greatest = u64_at(page, MAX_WRITER).max(writer);
        put_u64(page, MAX_WRITER, greatest);
        super::apply::clear_flags(page);
    }

    /// Bytes of the array of elements of this width.
    fn bytes(&self, width: usize) -> usize {
        (self.capacity * width).next_multiple_of(8)
    }
}

/// Where the arrays of a data page are, the columns' among them, for who appends one row after the other.
#[derive(Clone, Debug)]
pub(super) struct Places {
    arrays: Arrays,
    columns: SmallVec<[usize; 12]>,
    /// First byte behind them.
    end: usize,
}

impl Places {
    /// Those of a page with columns of these descriptors; `None` when they do not fit it.
    pub(super) fn of(page: &[u8], specs: &[ColumnSpec]) -> Option<Places> {
        let arrays = Arrays::of(page)?;
        let mut end = arrays.data();
        let mut columns = SmallVec::new();
        for spec in specs {
            columns.push(end);
            end += arrays.bytes(spec.physical.width().unwrap_or(REFERENCE));
        }
        (columns.len() == arrays.columns && end <= page.len()).then_some(Places { arrays, columns, end })
    }

    /// Whether the page has another slot behind those used, and room for `need` variable bytes.
    #[inline]
    pub(super) fn take(&self, page: &[u8], need: usize) -> bool {
        usize::from(u16_at(page, SLOT_HIGH)) < self.arrays.capacity
            && usize::from(u16_at(page, VARIABLE_START)).saturating_sub(self.end) >= need
    }

    /// Puts the only row of `rows` behind the others of a page that [takes](Places::take) it, as [`redo`] does with the
    /// payload that goes to `out`.
    #[inline]
    pub(super) fn append(&self, page: &mut [u8], out: &mut Vec<u8>, writer: TxnId, rows: &Batch) {
        let slot = u16_at(page, SLOT_HIGH);
        let row = usize::from(slot);
        let mut head = [0; 10];
        put_u64(&mut head, 0, writer.0);
        put_u16(&mut head, 8, slot);
        out.extend_from_slice(&head);
        let nulls = out.len();
        out.resize(nulls + rows.columns.len().div_ceil(8), 0);
        let mut start = usize::from(u16_at(page, VARIABLE_START));
        for (index, (column, array)) in rows.columns.iter().zip(&self.columns).enumerate() {
            if column.is_null(0) {
                out[nulls + index / 8] |= 1 << (index % 8);
                self.arrays.set_null(page, index, row);
                continue;
            }
            let mut fixed = |value: &[u8]| {
                out.extend_from_slice(value);
                put_fixed(page, array + row * value.len(), value);
            };
            match &column.data {
                ColumnData::Bool(values) => fixed(&[values[0]]),
                ColumnData::I16(values) => fixed(&values[0].to_le_bytes()),
                ColumnData::I32(values) => fixed(&values[0].to_le_bytes()),
                ColumnData::I64(values) => fixed(&values[0].to_le_bytes()),
                ColumnData::I128(values) => fixed(&values[0].to_le_bytes()),
                ColumnData::F32(values) => fixed(&values[0].to_le_bytes()),
                ColumnData::F64(values) => fixed(&values[0].to_le_bytes()),
                ColumnData::Bytes(values) => {
                    let value = values.get(0);
                    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
                    out.extend_from_slice(value);
                    put_variable(page, array + row * REFERENCE, &mut start, value);
                }
            }
        }
        self.arrays.finish(page, row, writer.0, start);
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

/// Puts a value in front of those at `start`, and where it is to `place`.
#[inline]
fn put_variable(page: &mut [u8], place: usize, start: &mut usize, value: &[u8]) {
    *start -= value.len();
    page[*start..*start + value.len()].copy_from_slice(value);
    let slot = ValueSlot::Inline { offset: *start as u16, length: value.len() as u16 };
    put_u64(page, place, slot.encode());
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
            put_variable(page, put.place, &mut start, value);
        } else {
            put_fixed(page, put.place, value);
        }
    }
    if puts.len() < arrays.columns {
        (0..arrays.columns)
            .filter(|column| is_null(*column))
            .for_each(|column| arrays.set_null(page, column, row));
    }
    arrays.finish(page, row, writer, start);
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use verso_types::{Physical, SqlType, Value};

    use super::super::apply;
    use super::super::slice::encode_column;
    use super::super::slots::Slots;
    use super::*;
    use crate::page::{ObjectId, PageId};
    use crate::wal::RecordKind;

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
        /// A row appended alone leaves the page as the general insert leaves it, byte for byte, and so does its log record.
        #[test]
        fn an_appended_row_is_an_inserted_row(rows in prop::collection::vec(any::<(Option<i64>, Option<String>, Option<bool>, Option<String>)>(), 1..20)) {
            let (mut inserted, mut appended) = (empty_page(), empty_page());
            let places = Places::of(&appended, &COLUMNS_OF_TEST.map(|(_, spec)| spec)).unwrap();
            for (slot, row) in rows.iter().enumerate() {
                let (batch, slot) = (batch(row), [slot as u16]);
                let mut payload = 77u64.to_le_bytes().to_vec();
                Slots::from_list(&slot).encode(&mut payload);
                payload.extend_from_slice(&4u16.to_le_bytes());
                for (column, (_, spec)) in batch.columns.iter().zip(&COLUMNS_OF_TEST) {
                    encode_column(&mut payload, spec.id, column, 0..1, None);
                }
                let general = apply::redo(RecordKind::DATA_INSERT, &mut inserted, &payload);
                let need = batch.columns.iter().filter_map(|column| column.data.bytes()).map(|bytes| bytes.get(0).len()).sum();
                prop_assert_eq!(general.is_ok(), places.take(&appended, need));
                if general.is_err() {
                    break;
                }
                payload.clear();
                let mut redone = appended.clone();
                places.append(&mut appended, &mut payload, TxnId(77), &batch);
                prop_assert!(inserted == appended);
                prop_assert!(apply::redo(RecordKind::DATA_APPEND, &mut redone, &payload).is_ok());
                prop_assert!(redone == appended);
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
