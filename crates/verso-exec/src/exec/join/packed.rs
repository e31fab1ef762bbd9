//! Rows by several integer keys, packed into one integer.
//!
//! ```text
//! keys (7, 1203), (9, 1200), (8, 1201)   ─►   7 + 2 bits | 1200 + 2 bits: 0b0011, 0b1000, 0b0101
//! ```
//!
//! 1. Keys are gathered first. When all are there, each gets as many bits as lie between its least and its greatest value;
//!    they are packed if all of them together have 63 bits at most, so nothing is lost and no packed key is negative.
//! 2. A key looked up that lies outside of those ends has no row.

use verso_types::{Batch, Column, ColumnData, Physical, SqlType};

use super::build::NONE;
use super::integers::IntegerTable;
use crate::exec::filter::{Integers, integers};

/// See the module.
pub(super) struct PackedTable {
    /// The keys of the rows; forgotten when the table is made.
    pub keys: Batch,
    fields: Vec<Field>,
    table: IntegerTable,
}

/// A key within a packed one.
struct Field {
    /// Its least value, and what lies between that and its greatest one.
    base: i64,
    most: u64,
    bits: u32,
}

/// What looking up needs for a moment.
#[derive(Default)]
pub(super) struct PackedProbe {
    packed: Vec<i64>,
    /// Not zero where a key is NULL or lies outside of the ends.
    absent: Vec<u8>,
}

impl PackedTable {
    /// Whether keys of these types, of both inputs, can be packed at all.
    pub fn takes(left: &[SqlType], right: &[SqlType]) -> bool {
        right.len() > 1 && left.iter().zip(right).all(|(left, right)| IntegerTable::takes(left, right))
    }

    /// No rows yet.
    pub fn new(types: &[SqlType]) -> PackedTable {
        PackedTable {
            keys: Batch::of_types(types),
            fields: Vec::new(),
            table: IntegerTable::new(Physical::I64),
        }
    }

    /// Bytes that it will hold with so many more rows, made or not.
    pub fn bytes_with(&self, rows: usize) -> usize {
        let count = self.keys.rows + rows;
        let gathered = 8 * self.keys.columns.len() * count;
        self.keys.heap_bytes().max(gathered) + self.table.bytes_with(count)
    }

    /// Makes the table, like [`IntegerTable::finish`]; nothing where the keys cannot be packed.
    pub fn finish(&mut self, next: &mut Vec<u32>, together: bool) -> Option<(bool, Option<Vec<u32>>)> {
        let fields: Option<Vec<Field>> = self.keys.columns.iter().map(Field::of).collect();
        self.fields = fields?;
        if self.fields.iter().map(|field| field.bits).sum::<u32>() > 63 {
            return None;
        }
        let mut probe = PackedProbe::default();
        probe.pack(&self.keys, &self.fields);
        let mut column = Column::new(Physical::I64);
        column.data = ColumnData::I64(probe.packed);
        let nulls = probe.absent.iter().enumerate().filter(|(_, absent)| **absent != 0);
        nulls.for_each(|(row, _)| column.nulls.set_range(row..row + 1));
        self.keys = Batch::default();
        self.table.push(&column);
        Some(self.table.finish(next, together))
    }

    /// Appends the first row of each of these keys, [`NONE`] where there is none.
    pub fn find(&self, keys: &Batch, probe: &mut PackedProbe, heads: &mut Vec<u32>) {
        let start = heads.len();
        probe.pack(keys, &self.fields);
        self.table.find_packed(&probe.packed, heads);
        for (head, absent) in heads[start..].iter_mut().zip(&probe.absent) {
            if *absent != 0 {
                *head = NONE;
            }
        }
    }
}

impl Field {
    /// Of the keys of a column, if they are integers.
    fn of(column: &Column) -> Option<Field> {
        fn ends<T: Copy + Into<i64>>(values: &[T], column: &Column) -> Option<(i64, i64)> {
            let any_nulls = column.nulls.any();
            let present = values.iter().enumerate().filter(|(row, _)| !any_nulls || !column.is_null(*row));
            present.map(|(_, key)| (*key).into()).fold(None, |ends, key: i64| {
                Some(ends.map_or((key, key), |(low, high): (i64, i64)| (low.min(key), high.max(key))))
            })
        }
        let ends = match integers(column)? {
            Integers::Short(values) => ends(values, column),
            Integers::Plain(values) => ends(values, column),
            Integers::Long(values) => ends(values, column),
        };
        let (low, high) = ends.unwrap_or((0, 0));
        let most = high.abs_diff(low);
        Some(Field { base: low, most, bits: u64::BITS - most.leading_zeros() })
    }
}

impl PackedProbe {
    /// Packs the keys of a batch.
    fn pack(&mut self, keys: &Batch, fields: &[Field]) {
        self.packed.clear();
        self.packed.resize(keys.rows, 0);
        self.absent.clear();
        self.absent.resize(keys.rows, 0);
        for (column, field) in keys.columns.iter().zip(fields) {
            match integers(column) {
                Some(Integers::Short(values)) => self.pack_one(values, field),
                Some(Integers::Plain(values)) => self.pack_one(values, field),
                Some(Integers::Long(values)) => self.pack_one(values, field),
                None => self.absent.fill(1),
            }
            if column.nulls.any() {
                column.nulls.iter().for_each(|row| self.absent[row] = 1);
            }
        }
    }

    fn pack_one<T: Copy + Into<i64>>(&mut self, values: &[T], field: &Field) {
        for ((packed, absent), value) in self.packed.iter_mut().zip(&mut self.absent).zip(values) {
            // Below the base it becomes a large number.
            let above: u64 = (*value).into().wrapping_sub(field.base).cast_unsigned();
            *absent |= u8::from(above > field.most);
            // What does not fit is absent, whatever its bits are.
            *packed = *packed << field.bits | above.cast_signed();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn batch(rows: &[(Option<i64>, Option<i64>)]) -> Batch {
        let column = |keys: Vec<Option<i64>>| {
            let mut column = Column::new(Physical::I64);
            for key in keys {
                match key {
                    Some(key) => column.data.i64s_mut().expect("integers").push(key),
                    None => column.push_null(),
                }
            }
            column
        };
        let (first, second) = rows.iter().copied().unzip();
        Batch::from_columns(vec![column(first), column(second)])
    }

    #[test]
    fn packed_keys_find_the_rows_that_have_them() {
        let rows: Vec<_> = (0..500i64)
            .map(|i| {
                ((i % 13 != 0).then_some(i * 7 % 90 - 1_000_000), (i % 17 != 0).then_some(i % 5 * 1_000_003))
            })
            .collect();
        let mut table = PackedTable::new(&[SqlType::Int8, SqlType::Int8]);
        table.keys = batch(&rows);
        let mut next = vec![NONE; rows.len()];
        assert_eq!(table.finish(&mut next, false), Some((false, None)));
        let strange =
            [(Some(i64::MIN), Some(0)), (Some(-1_000_000), Some(-1)), (Some(-1_000_090), Some(i64::MAX))];
        let wanted: Vec<_> = rows.iter().copied().chain(strange).collect();
        let mut heads = Vec::new();
        table.find(&batch(&wanted), &mut PackedProbe::default(), &mut heads);
        for (key, head) in wanted.iter().zip(heads) {
            let mut found = Vec::new();
            let mut row = head;
            while row != NONE {
                found.push(row as usize);
                row = next[row as usize];
            }
            let is_key = key.0.is_some() && key.1.is_some();
            let equal = rows.iter().enumerate().filter(|(_, row)| is_key && *row == key);
            assert_eq!(found, equal.map(|(at, _)| at).collect::<Vec<_>>(), "{key:?}");
        }
    }

    #[test]
    fn keys_that_lie_too_far_apart_are_not_packed() {
        let far = [(Some(i64::MIN), Some(0)), (Some(i64::MAX), Some(1))];
        let mut table = PackedTable::new(&[SqlType::Int8, SqlType::Int8]);
        table.keys = batch(&far);
        assert_eq!(table.finish(&mut vec![NONE; 2], false), None);
        assert_eq!(table.keys.rows, 2);
        // One value each needs no bit at all.
        let same = [(Some(i64::MAX), Some(i64::MIN)); 3];
        let mut table = PackedTable::new(&[SqlType::Int8, SqlType::Int8]);
        table.keys = batch(&same);
        let mut next = vec![NONE; 3];
        assert_eq!(table.finish(&mut next, false), Some((false, None)));
        let mut heads = Vec::new();
        table.find(
            &batch(&[(Some(i64::MAX), Some(i64::MIN)), (Some(0), Some(0))]),
            &mut PackedProbe::default(),
            &mut heads,
        );
        assert_eq!(heads, [0, NONE]);
    }
}
