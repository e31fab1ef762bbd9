//! The values of a column, one `Vec` per physical type, and the bulk operations on them.

use std::ops::Range;

use zerocopy::IntoBytes;

use super::BytesColumn;
use crate::sqltype::Physical;

/// Physical values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnData {
    /// 0 or 1
    Bool(Vec<u8>),
    /// smallint
    I16(Vec<i16>),
    /// integer, date
    I32(Vec<i32>),
    /// bigint, oid, time, timestamps, numeric up to 18 digits
    I64(Vec<i64>),
    /// numeric up to 38 digits, interval, uuid
    I128(Vec<i128>),
    /// real
    F32(Vec<f32>),
    /// double precision
    F64(Vec<f64>),
    /// Everything of variable length
    Bytes(BytesColumn),
}

/// Runs `$body` with `$v` bound to the `Vec` of a fixed layout, `$bytes` with `$b` bound to the bytes.
macro_rules! each {
    ($data:expr, $v:ident => $body:expr, $b:ident => $bytes:expr) => {
        match $data {
            ColumnData::Bool($v) => $body,
            ColumnData::I16($v) => $body,
            ColumnData::I32($v) => $body,
            ColumnData::I64($v) => $body,
            ColumnData::I128($v) => $body,
            ColumnData::F32($v) => $body,
            ColumnData::F64($v) => $body,
            ColumnData::Bytes($b) => $bytes,
        }
    };
}

/// Runs `$body` with `$a`, `$b` bound to the vectors of two columns of one fixed layout, `$bytes` for two bytes columns.
macro_rules! each_pair {
    ($left:expr, $right:expr, $a:ident, $b:ident => $body:expr, $bytes:expr) => {
        match ($left, $right) {
            (ColumnData::Bool($a), ColumnData::Bool($b)) => $body,
            (ColumnData::I16($a), ColumnData::I16($b)) => $body,
            (ColumnData::I32($a), ColumnData::I32($b)) => $body,
            (ColumnData::I64($a), ColumnData::I64($b)) => $body,
            (ColumnData::I128($a), ColumnData::I128($b)) => $body,
            (ColumnData::F32($a), ColumnData::F32($b)) => $body,
            (ColumnData::F64($a), ColumnData::F64($b)) => $body,
            (ColumnData::Bytes($a), ColumnData::Bytes($b)) => $bytes,
            (a, b) => panic!("columns of {:?} and {:?}", a.physical(), b.physical()),
        }
    };
}

/// The typed slices of a column, `None` for another layout: `column.data.i64s()`.
macro_rules! slices {
    ($($variant:ident $read:ident $write:ident $ty:ty;)*) => {
        impl ColumnData {
            $(
                #[doc = concat!("The values of a `", stringify!($variant), "` column.")]
                #[inline]
                pub fn $read(&self) -> Option<&[$ty]> {
                    match self {
                        ColumnData::$variant(values) => Some(values),
                        _ => None,
                    }
                }

                #[doc = concat!("The values of a `", stringify!($variant), "` column, to be changed.")]
                #[inline]
                pub fn $write(&mut self) -> Option<&mut Vec<$ty>> {
                    match self {
                        ColumnData::$variant(values) => Some(values),
                        _ => None,
                    }
                }
            )*
        }
    };
}

slices! {
    Bool bools bools_mut u8;
    I16 i16s i16s_mut i16;
    I32 i32s i32s_mut i32;
    I64 i64s i64s_mut i64;
    I128 i128s i128s_mut i128;
    F32 f32s f32s_mut f32;
    F64 f64s f64s_mut f64;
}

impl ColumnData {
    /// No values yet.
    pub fn new(physical: Physical) -> ColumnData {
        match physical {
            Physical::Bool => ColumnData::Bool(Vec::new()),
            Physical::I16 => ColumnData::I16(Vec::new()),
            Physical::I32 => ColumnData::I32(Vec::new()),
            Physical::I64 => ColumnData::I64(Vec::new()),
            Physical::I128 => ColumnData::I128(Vec::new()),
            Physical::F32 => ColumnData::F32(Vec::new()),
            Physical::F64 => ColumnData::F64(Vec::new()),
            Physical::Bytes => ColumnData::Bytes(BytesColumn::default()),
        }
    }

    /// The layout.
    pub fn physical(&self) -> Physical {
        match self {
            ColumnData::Bool(_) => Physical::Bool,
            ColumnData::I16(_) => Physical::I16,
            ColumnData::I32(_) => Physical::I32,
            ColumnData::I64(_) => Physical::I64,
            ColumnData::I128(_) => Physical::I128,
            ColumnData::F32(_) => Physical::F32,
            ColumnData::F64(_) => Physical::F64,
            ColumnData::Bytes(_) => Physical::Bytes,
        }
    }

    /// The number of values.
    #[inline]
    pub fn len(&self) -> usize {
        each!(self, v => v.len(), b => b.len())
    }

    /// Has it no values?
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The values of a bytes column.
    #[inline]
    pub fn bytes(&self) -> Option<&BytesColumn> {
        match self {
            ColumnData::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The values of a bytes column, to be changed.
    #[inline]
    pub fn bytes_mut(&mut self) -> Option<&mut BytesColumn> {
        match self {
            ColumnData::Bytes(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// Forgets all values, keeps the memory.
    pub fn clear(&mut self) {
        each!(self, v => v.clear(), b => b.clear())
    }

    /// Forgets the values from `rows` on.
    pub fn truncate(&mut self, rows: usize) {
        each!(self, v => v.truncate(rows), b => b.truncate(rows))
    }

    /// Makes room for `rows` more values.
    pub fn reserve(&mut self, rows: usize) {
        each!(self, v => v.reserve(rows), b => b.reserve(rows, 0))
    }

    /// Appends `count` zeros or empty strings.
    pub fn push_default(&mut self, count: usize) {
        each!(self, v => v.resize(v.len() + count, Default::default()), b => b.push_empty(count))
    }

    /// The bytes of value `i`, little-endian.
    #[inline]
    pub fn raw_at(&self, i: usize) -> &[u8] {
        each!(self, v => v[i..=i].as_bytes(), b => b.get(i))
    }

    /// Bytes of the values.
    pub fn used_bytes(&self) -> usize {
        let width = self.physical().width().unwrap_or(1);
        each!(self, v => v.len() * width, b => b.used_bytes())
    }

    /// Bytes of memory held.
    pub fn heap_bytes(&self) -> usize {
        let width = self.physical().width().unwrap_or(1);
        each!(self, v => v.capacity() * width, b => b.heap_bytes())
    }

    /// The values as little-endian bytes; `None` for a bytes column.
    pub fn fixed_bytes(&self) -> Option<&[u8]> {
        each!(self, v => Some(v.as_bytes()), _b => None)
    }

    /// The values as little-endian bytes to be overwritten; `None` for a bytes column.
    pub fn fixed_bytes_mut(&mut self) -> Option<&mut [u8]> {
        each!(self, v => Some(v.as_mut_bytes()), _b => None)
    }

    /// Appends fixed-width values from little-endian bytes. The loops compile to a vectorised copy.
    /// # Panics
    /// For a bytes column, and where `raw` is no whole number of values.
    pub fn extend_fixed_raw(&mut self, raw: &[u8]) {
        match self {
            ColumnData::Bool(v) => v.extend_from_slice(raw),
            ColumnData::I16(v) => extend_chunks(v, raw, i16::from_le_bytes),
            ColumnData::I32(v) => extend_chunks(v, raw, i32::from_le_bytes),
            ColumnData::I64(v) => extend_chunks(v, raw, i64::from_le_bytes),
            ColumnData::I128(v) => extend_chunks(v, raw, i128::from_le_bytes),
            ColumnData::F32(v) => extend_chunks(v, raw, f32::from_le_bytes),
            ColumnData::F64(v) => extend_chunks(v, raw, f64::from_le_bytes),
            ColumnData::Bytes(_) => panic!("a bytes column has no fixed width"),
        }
    }

    /// Appends the fixed-width values at `indexes` of an array of little-endian bytes.
    /// # Panics
    /// For a bytes column, and where an index is beyond the array.
    pub fn extend_fixed_gather(&mut self, array: &[u8], indexes: impl Iterator<Item = usize>) {
        match self {
            ColumnData::Bool(v) => v.extend(indexes.map(|index| array[index])),
            ColumnData::I16(v) => gather_chunks(v, array, indexes, i16::from_le_bytes),
            ColumnData::I32(v) => gather_chunks(v, array, indexes, i32::from_le_bytes),
            ColumnData::I64(v) => gather_chunks(v, array, indexes, i64::from_le_bytes),
            ColumnData::I128(v) => gather_chunks(v, array, indexes, i128::from_le_bytes),
            ColumnData::F32(v) => gather_chunks(v, array, indexes, f32::from_le_bytes),
            ColumnData::F64(v) => gather_chunks(v, array, indexes, f64::from_le_bytes),
            ColumnData::Bytes(_) => panic!("a bytes column has no fixed width"),
        }
    }

    /// Appends the values `selection` names to `out`.
    /// # Panics
    /// Where `out` has another layout, or a value does not exist.
    pub fn gather_into(&self, selection: &[u32], out: &mut ColumnData) {
        each_pair!(self, out, from, to => to.extend(selection.iter().map(|row| from[*row as usize])),
            from.gather_into(selection, to))
    }

    /// Keeps the values of the strictly ascending `selection`, in place.
    pub fn filter(&mut self, selection: &[u32]) {
        each!(self, v => {
            for (i, row) in selection.iter().enumerate() {
                v[i] = v[*row as usize];
            }
            v.truncate(selection.len());
        }, b => b.filter(selection))
    }

    /// Appends a run of values of `other`.
    /// # Panics
    /// Where it has another layout or fewer values.
    pub fn append_range(&mut self, other: &ColumnData, rows: Range<usize>) {
        each_pair!(self, other, to, from => to.extend_from_slice(&from[rows]), to.append_range(from, rows))
    }
}

/// Appends the values whose bytes `raw` holds.
fn extend_chunks<T, const WIDTH: usize>(values: &mut Vec<T>, raw: &[u8], decode: impl Fn([u8; WIDTH]) -> T) {
    let (chunks, rest) = raw.as_chunks::<WIDTH>();
    assert!(rest.is_empty(), "{} bytes are no whole number of values", raw.len());
    values.extend(chunks.iter().map(|chunk| decode(*chunk)));
}

/// Appends the values at `indexes` of an array.
fn gather_chunks<T, const WIDTH: usize>(
    values: &mut Vec<T>,
    array: &[u8],
    indexes: impl Iterator<Item = usize>,
    decode: impl Fn([u8; WIDTH]) -> T,
) {
    let chunks = array.as_chunks::<WIDTH>().0;
    values.extend(indexes.map(|index| decode(chunks[index])));
}
