//! Rows as bytes, column by column.
//!
//! ```text
//! table, rows, number of columns │ for each column: layout, form, has NULLs │ NULLs │ values
//! ```
//!
//! Integers that lie close together are written as their distance from the least one, in one, two or four bytes; lengths of
//! texts in as few bytes as the longest needs.

use verso_types::{Batch, BytesColumn, Column, ColumnData, NullMask, Physical};

use super::u32_at;

/// Values as they stand in memory.
const RAW: u8 = 0;
/// Rows of a chunk at most, so that a wrong number takes no memory.
const ROWS_MAX: u32 = 1 << 26;

/// Appends rows of the table with that number.
pub(crate) fn encode(table: u32, batch: &Batch, out: &mut Vec<u8>) {
    out.extend_from_slice(&table.to_le_bytes());
    out.extend_from_slice(&(batch.rows as u32).to_le_bytes());
    out.extend_from_slice(&(batch.columns.len() as u32).to_le_bytes());
    for column in &batch.columns {
        encode_column(column, out);
    }
}

fn encode_column(column: &Column, out: &mut Vec<u8>) {
    let nulls = column.nulls.any();
    let head = out.len();
    out.extend_from_slice(&[column.physical() as u8, RAW, u8::from(nulls)]);
    if nulls {
        for word in 0..column.len().div_ceil(64) {
            out.extend_from_slice(&column.nulls.word(word).to_le_bytes());
        }
    }
    let form = match &column.data {
        ColumnData::I16(values) => encode_integers(values, out),
        ColumnData::I32(values) => encode_integers(values, out),
        ColumnData::I64(values) => encode_integers(values, out),
        ColumnData::Bytes(bytes) => encode_bytes(bytes, out),
        _ => None,
    };
    match form {
        Some(form) => out[head + 1] = form,
        None => out.extend_from_slice(column.fixed_bytes().unwrap_or_default()),
    }
}

/// Appends the least value and the distances from it; nothing where that saves nothing.
fn encode_integers<T: Copy + Into<i64>>(values: &[T], out: &mut Vec<u8>) -> Option<u8> {
    let least: i64 = values.iter().map(|value| (*value).into()).min()?;
    let greatest: i64 = values.iter().map(|value| (*value).into()).max()?;
    let form = width_of(greatest.abs_diff(least)).filter(|form| usize::from(*form) < size_of::<T>())?;
    out.extend_from_slice(&least.to_le_bytes());
    let distances = values.iter().map(|value| (*value).into().wrapping_sub(least));
    match form {
        1 => out.extend(distances.map(|distance| distance as u8)),
        2 => distances.for_each(|distance| out.extend_from_slice(&(distance as u16).to_le_bytes())),
        _ => distances.for_each(|distance| out.extend_from_slice(&(distance as u32).to_le_bytes())),
    }
    Some(form)
}

/// Bytes that a number up to this one needs; none for more than four.
fn width_of(greatest: u64) -> Option<u8> {
    match greatest {
        0..=0xFF => Some(1),
        0x100..=0xFFFF => Some(2),
        0x1_0000..=0xFFFF_FFFF => Some(4),
        _ => None,
    }
}

fn encode_bytes(column: &BytesColumn, out: &mut Vec<u8>) -> Option<u8> {
    let form = width_of(column.longest() as u64).unwrap_or(4);
    let mut start = 0;
    let lengths = column.ends.iter().map(|end| end - std::mem::replace(&mut start, *end));
    match form {
        1 => out.extend(lengths.map(|length| length as u8)),
        2 => lengths.for_each(|length| out.extend_from_slice(&(length as u16).to_le_bytes())),
        _ => lengths.for_each(|length| out.extend_from_slice(&length.to_le_bytes())),
    }
    out.extend_from_slice(&column.bytes);
    Some(form)
}

/// Rows of a table, read from bytes.
pub(crate) struct Rows {
    /// The number of the table.
    pub table: u32,
    pub batch: Batch,
}

/// Reads what [`encode`] wrote. The columns satisfy the invariants of columns.
///
/// # Errors
/// What is wrong with the bytes.
pub(crate) fn decode(bytes: &[u8]) -> Result<Rows, String> {
    let mut bytes = Bytes { left: bytes };
    let (table, rows, columns) = (bytes.u32()?, bytes.u32()?, bytes.u32()?);
    if rows > ROWS_MAX || columns > 1_600 {
        return Err(format!("{rows} rows of {columns} columns"));
    }
    let columns = (0..columns).map(|_| decode_column(&mut bytes, rows as usize));
    let columns = columns.collect::<Result<Vec<Column>, String>>()?;
    if !bytes.left.is_empty() {
        return Err(format!("{} bytes behind the last column", bytes.left.len()));
    }
    Ok(Rows { table, batch: Batch { rows: rows as usize, columns } })
}

fn decode_column(bytes: &mut Bytes<'_>, rows: usize) -> Result<Column, String> {
    let [layout, form, nulls] = *bytes.take(3)? else { return Err("a cut column".to_owned()) };
    let mut column = Column::new(physical(layout).ok_or_else(|| format!("unknown layout {layout}"))?);
    if nulls > 1 {
        return Err("a wrong mark for NULLs".to_owned());
    }
    if nulls == 1 {
        let words = bytes.take(rows.div_ceil(64) * 8)?;
        let word = |word: &[u8]| u64::from_le_bytes(word.try_into().unwrap_or_default());
        column.nulls = NullMask::from_words(words.chunks_exact(8).map(word).collect(), rows);
    }
    match (&mut column.data, form) {
        (ColumnData::Bytes(values), 1 | 2 | 4) => decode_bytes(bytes, rows, form, values)?,
        (ColumnData::I16(values), 1) => {
            *values = integers(bytes, rows, form, |value| i16::try_from(value).ok())?;
        }
        (ColumnData::I32(values), 1 | 2) => {
            *values = integers(bytes, rows, form, |value| i32::try_from(value).ok())?;
        }
        (ColumnData::I64(values), 1 | 2 | 4) => *values = integers(bytes, rows, form, Some)?,
        (data, RAW) => {
            let width = data.physical().width().ok_or("texts without lengths")?;
            data.extend_fixed_raw(bytes.take(rows * width)?);
        }
        _ => return Err(format!("unknown form {form} of layout {layout}")),
    }
    column.check().map_err(str::to_owned)?;
    Ok(column)
}

fn physical(layout: u8) -> Option<Physical> {
    use Physical::{Bool, Bytes, F32, F64, I16, I32, I64, I128};
    [Bool, I16, I32, I64, I128, F32, F64, Bytes].into_iter().find(|physical| *physical as u8 == layout)
}

fn integers<T>(
    bytes: &mut Bytes<'_>,
    rows: usize,
    form: u8,
    value: impl Fn(i64) -> Option<T>,
) -> Result<Vec<T>, String> {
    let least = i64::from_le_bytes(bytes.take(8)?.try_into().unwrap_or_default());
    let value = |distance: u32| least.checked_add(distance.into()).and_then(&value);
    let distances = bytes.take(rows * usize::from(form))?;
    let values: Option<Vec<T>> = match form {
        1 => distances.iter().map(|byte| value((*byte).into())).collect(),
        2 => distances
            .chunks_exact(2)
            .map(|pair| value(u16::from_le_bytes([pair[0], pair[1]]).into()))
            .collect(),
        _ => distances.chunks_exact(4).map(|four| value(u32_at(four, 0))).collect(),
    };
    values.ok_or_else(|| "an integer beyond its type".to_owned())
}

fn decode_bytes(
    bytes: &mut Bytes<'_>,
    rows: usize,
    form: u8,
    values: &mut BytesColumn,
) -> Result<(), String> {
    let lengths = bytes.take(rows * usize::from(form))?;
    let mut end = 0u32;
    values.ends.reserve(rows);
    for length in lengths.chunks_exact(usize::from(form)) {
        let length = match *length {
            [one] => one.into(),
            [one, two] => u16::from_le_bytes([one, two]).into(),
            _ => u32_at(length, 0),
        };
        end = end.checked_add(length).ok_or("texts of more than 4 GiB")?;
        values.ends.push(end);
    }
    values.bytes.extend_from_slice(bytes.take(end as usize)?);
    Ok(())
}

/// Bytes that are still to be read.
struct Bytes<'b> {
    left: &'b [u8],
}

impl<'b> Bytes<'b> {
    fn take(&mut self, count: usize) -> Result<&'b [u8], String> {
        let (taken, left) = self.left.split_at_checked(count).ok_or("it ends too early")?;
        self.left = left;
        Ok(taken)
    }

    fn u32(&mut self) -> Result<u32, String> {
        Ok(u32_at(self.take(4)?, 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Batch {
        let mut text = Column::new(Physical::Bytes);
        let mut wide = Column::new(Physical::Bytes);
        if let (Some(text), Some(wide)) = (text.data.bytes_mut(), wide.data.bytes_mut()) {
            for n in 0..100usize {
                text.push(&vec![b'x'; n % 7]);
                wide.push(&vec![b'y'; if n == 50 { 70_000 } else { 300 }]);
            }
        }
        text.nulls.set(3);
        text.nulls.set(99);
        let column = |data: ColumnData| Column { data, nulls: NullMask::default() };
        let numbers = 0..100i64;
        Batch::from_columns(vec![
            column(ColumnData::Bool(numbers.clone().map(|n| (n % 2) as u8).collect())),
            column(ColumnData::I16(numbers.clone().map(|n| n as i16 - 30_000).collect())),
            column(ColumnData::I32(numbers.clone().map(|n| n as i32 * 600).collect())),
            column(ColumnData::I64(numbers.clone().map(|n| i64::MIN + n * 40_000_000).collect())),
            column(ColumnData::I64(vec![i64::MAX; 100])),
            column(ColumnData::I64(
                numbers.clone().map(|n| if n == 5 { i64::MIN } else { i64::MAX }).collect(),
            )),
            column(ColumnData::I128(numbers.clone().map(|n| i128::from(n) << 100).collect())),
            column(ColumnData::F32(numbers.clone().map(|n| n as f32 / 3.0).collect())),
            column(ColumnData::F64(numbers.map(|n| n as f64 / 3.0).collect())),
            text,
            wide,
        ])
    }

    #[test]
    fn columns_of_every_layout_come_back_as_they_were() {
        let batch = sample();
        let mut bytes = Vec::new();
        encode(7, &batch, &mut bytes);
        let rows = decode(&bytes).unwrap();
        assert_eq!((rows.table, rows.batch), (7, batch));
        let empty = Batch { rows: 5, columns: Vec::new() };
        let mut bytes = Vec::new();
        encode(0, &empty, &mut bytes);
        assert_eq!(decode(&bytes).unwrap().batch, empty);
    }

    #[test]
    fn close_integers_and_short_texts_take_few_bytes() {
        let data = ColumnData::I64((0..1_000).map(|n| 5_000_000_000 + n / 4).collect());
        let batch = Batch::from_columns(vec![Column { data, nulls: NullMask::default() }]);
        let mut bytes = Vec::new();
        encode(0, &batch, &mut bytes);
        assert_eq!(bytes.len(), 12 + 3 + 8 + 1_000);
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let mut bytes = Vec::new();
        encode(7, &sample(), &mut bytes);
        for length in 0..bytes.len().min(2_000) {
            assert!(decode(&bytes[..length]).is_err(), "{length}");
        }
        for at in 0..bytes.len().min(6_000) {
            for bit in [0x01, 0x80] {
                let mut wrong = bytes.clone();
                wrong[at] ^= bit;
                if let Ok(rows) = decode(&wrong) {
                    rows.batch.check().unwrap();
                }
            }
        }
    }
}
