//! Rows by one integer key.
//!
//! 1. Keys are gathered first; the table is made when all are there, so it never grows.
//! 2. Where keys lie close together their places are an array, else open addressing with the key beside the row.
//! 3. Rows are put in from the last to the first, each before those of its key, so a list is in their order.

use std::sync::Arc;

use verso_types::{Column, ColumnData, Physical, SqlType};

use super::build::NONE;
use crate::exec::ExecContext;
use crate::exec::filter::KeyFilter;
use crate::exec::keys::hash_integer;

/// Places of an array for each row, at most.
const SPARSE: usize = 8;

/// See the module.
pub(super) struct IntegerTable {
    /// The key of each row; forgotten when the table is made.
    keys: Column,
    places: Places,
}

enum Places {
    /// The rows of keys from `base` on.
    Array { base: i64, rows: Vec<u32> },
    /// Keys with their rows; a row is [`NONE`] where there is no key.
    Hashed { slots: Vec<(i64, u32)> },
}

impl IntegerTable {
    /// Whether values of these types are equal exactly where their integers are.
    pub fn takes(left: &SqlType, right: &SqlType) -> bool {
        let plain = |ty: &SqlType| {
            let integer = matches!(ty.physical(), Physical::I16 | Physical::I32 | Physical::I64);
            // Numerics of several scales, and other types that are told apart by more than their integers, go by bytes.
            integer
                && matches!(
                    ty,
                    SqlType::Int2
                        | SqlType::Int4
                        | SqlType::Int8
                        | SqlType::Oid
                        | SqlType::Date
                        | SqlType::Time(_)
                        | SqlType::Timestamp(_)
                        | SqlType::Timestamptz(_)
                )
        };
        left.same_base(right) && plain(left) && plain(right)
    }

    /// No rows yet.
    pub fn new(physical: Physical) -> IntegerTable {
        IntegerTable { keys: Column::new(physical), places: Places::Array { base: 0, rows: Vec::new() } }
    }

    /// Bytes that it will hold with so many more rows, made or not.
    pub fn bytes_with(&self, rows: usize) -> usize {
        let count = self.keys.len() + rows;
        let keys = (count * 8).max(self.keys.heap_bytes()) * 2;
        keys + (slots_for(count) * size_of::<(i64, u32)>()).max((SPARSE * count + 64) * 4)
    }

    /// The keys of further rows.
    pub fn push(&mut self, keys: &Column) {
        self.keys.append(keys);
    }

    /// Makes the table. `next` becomes the row behind each row in the list of its key; whether there are none.
    ///
    /// If rows may be brought `together` and the keys are an array, some of several rows, they are numbered anew in the order of the
    /// keys, so that those of a key follow each other; the old number of each. Rows without a key go.
    pub fn finish(&mut self, next: &mut Vec<u32>, together: bool) -> (bool, Option<Vec<u32>>) {
        let keys = std::mem::replace(&mut self.keys, Column::new(Physical::I64));
        match &keys.data {
            ColumnData::I16(values) => self.fill(values, &keys, next, together),
            ColumnData::I32(values) => self.fill(values, &keys, next, together),
            ColumnData::I64(values) => self.fill(values, &keys, next, together),
            _ => (true, None),
        }
    }

    fn fill<T: Copy + Into<i64>>(
        &mut self,
        values: &[T],
        keys: &Column,
        next: &mut Vec<u32>,
        together: bool,
    ) -> (bool, Option<Vec<u32>>) {
        let any_nulls = keys.nulls.any();
        let present = || {
            let all = values.iter().enumerate();
            all.filter(|(row, _)| !any_nulls || !keys.is_null(*row)).map(|(row, key)| (row, (*key).into()))
        };
        let mut unique = true;
        let mut put = |head: &mut u32, row: usize| {
            unique &= *head == NONE;
            next[row] = std::mem::replace(head, row as u32);
        };
        let ends = present().fold(None, |ends: Option<(i64, i64)>, (_, key)| {
            Some(ends.map_or((key, key), |(low, high)| (low.min(key), high.max(key))))
        });
        let (low, high) = ends.unwrap_or((0, 0));
        let width = high.abs_diff(low);
        let is_array = width < (SPARSE * values.len() + 64) as u64;
        if is_array && together {
            let mut rows = vec![0; width as usize + 1];
            present().for_each(|(_, key)| rows[(key - low) as usize] += 1);
            if rows.iter().any(|count| *count > 1) {
                let rest = present().rev().map(|(row, key)| (row, (key - low) as usize));
                let order = by_key(&mut rows, rest, next);
                self.places = Places::Array { base: low, rows };
                return (false, Some(order));
            }
        }
        if is_array {
            let mut rows = vec![NONE; width as usize + 1];
            present().rev().for_each(|(row, key)| put(&mut rows[(key - low) as usize], row));
            self.places = Places::Array { base: low, rows };
        } else {
            let mut slots = vec![(0, NONE); slots_for(values.len())];
            for (row, key) in present().rev() {
                let at = place(&slots, key);
                slots[at].0 = key;
                put(&mut slots[at].1, row);
            }
            self.places = Places::Hashed { slots };
        }
        (unique, None)
    }

    /// The set of its keys.
    pub fn filter(&self, cx: &ExecContext<'_>) -> Option<Arc<KeyFilter>> {
        match &self.places {
            Places::Array { base, rows } => {
                let there = rows.iter().enumerate().filter(|(_, row)| **row != NONE);
                KeyFilter::new(cx, there.map(|(at, _)| base + at as i64))
            }
            Places::Hashed { slots } => {
                KeyFilter::new(cx, slots.iter().filter(|(_, row)| *row != NONE).map(|(key, _)| *key))
            }
        }
    }

    /// Appends the first row of each of these keys, [`NONE`] where there is none.
    pub fn find(&self, keys: &Column, heads: &mut Vec<u32>) {
        match &keys.data {
            ColumnData::I16(values) => self.find_all(values, keys, heads),
            ColumnData::I32(values) => self.find_all(values, keys, heads),
            ColumnData::I64(values) => self.find_all(values, keys, heads),
            _ => heads.resize(heads.len() + keys.len(), NONE),
        }
    }

    /// The same for keys none of which is NULL.
    pub fn find_packed(&self, keys: &[i64], heads: &mut Vec<u32>) {
        self.find_present(keys, heads);
    }

    fn find_all<T: Copy + Into<i64>>(&self, values: &[T], keys: &Column, heads: &mut Vec<u32>) {
        let start = heads.len();
        self.find_present(values, heads);
        if keys.nulls.any() {
            keys.nulls.iter().for_each(|row| heads[start + row] = NONE);
        }
    }

    fn find_present<T: Copy + Into<i64>>(&self, values: &[T], heads: &mut Vec<u32>) {
        match &self.places {
            Places::Array { base, rows } => heads.extend(values.iter().map(|key| {
                // Below the base it becomes a large number.
                let at = (*key).into().wrapping_sub(*base).cast_unsigned();
                usize::try_from(at).ok().and_then(|at| rows.get(at)).copied().unwrap_or(NONE)
            })),
            Places::Hashed { slots } => {
                heads.extend(values.iter().map(|key| slots[place(slots, (*key).into())].1));
            }
        }
    }
}

/// Numbers rows in the order of their keys, of each of which `heads` says how many rows it has, and then which is the first; `rows` come
/// from the last to the first, each with the place of its key. The old number of each, and the row behind each one.
fn by_key(heads: &mut [u32], rows: impl Iterator<Item = (usize, usize)>, next: &mut Vec<u32>) -> Vec<u32> {
    next.clear();
    for head in heads.iter_mut() {
        // For now the end of its rows.
        let count = std::mem::replace(head, NONE);
        if count > 0 {
            let start = next.len() as u32;
            next.extend(start + 1..start + count);
            next.push(NONE);
            *head = start + count;
        }
    }
    let mut order = vec![NONE; next.len()];
    for (row, place) in rows {
        heads[place] -= 1;
        order[heads[place] as usize] = row as u32;
    }
    order
}

/// Where a key is, or would be.
#[inline]
fn place(slots: &[(i64, u32)], key: i64) -> usize {
    let mask = slots.len() - 1;
    let mut at = hash_integer(key) as usize & mask;
    while slots[at].1 != NONE && slots[at].0 != key {
        at = (at + 1) & mask;
    }
    at
}

/// Slots for so many keys: a third of them at least stays empty.
fn slots_for(count: usize) -> usize {
    (count + count / 2 + 1).next_power_of_two().max(16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::keys::ZERO_HASHES;

    fn column_of(keys: &[Option<i64>]) -> Column {
        let mut column = Column::new(Physical::I64);
        for key in keys {
            match key {
                Some(key) => column.data.i64s_mut().unwrap().push(*key),
                None => column.push_null(),
            }
        }
        column
    }

    #[test]
    fn lists_are_in_the_order_of_the_rows_whatever_the_keys() {
        let close: Vec<Option<i64>> = (0..300i64).map(|i| (i % 7 != 0).then_some(i * 5 % 90 - 40)).collect();
        let far: Vec<Option<i64>> = close.iter().map(|key| key.map(|key| key * 1_000_003)).collect();
        let ends = vec![Some(i64::MIN), Some(i64::MAX), None, Some(i64::MIN), Some(0)];
        for (zero, keys) in [(false, &close), (false, &far), (true, &far), (false, &ends), (false, &vec![])] {
            ZERO_HASHES.set(zero);
            let column = column_of(keys);
            let mut table = IntegerTable::new(Physical::I64);
            table.push(&column);
            let mut next = vec![NONE; keys.len()];
            let (unique, _) = table.finish(&mut next, false);
            let mut heads = Vec::new();
            let mut wanted = column.clone();
            wanted.data.i64s_mut().unwrap().extend([i64::MAX - 1, i64::MIN + 1, 12_345, -41]);
            table.find(&wanted, &mut heads);
            ZERO_HASHES.set(false);
            assert_eq!(heads[keys.len()..], [NONE; 4]);
            let mut any_list = false;
            for (key, head) in keys.iter().zip(&heads) {
                let mut found = Vec::new();
                let mut row = *head;
                while row != NONE {
                    found.push(row as usize);
                    row = next[row as usize];
                }
                let of_key = |(at, other): (usize, &Option<i64>)| (other == key).then_some(at);
                let expected: Vec<usize> = match key {
                    Some(_) => keys.iter().enumerate().filter_map(of_key).collect(),
                    None => Vec::new(),
                };
                any_list |= expected.len() > 1;
                assert_eq!(found, expected, "{key:?}");
            }
            assert_eq!(unique, !any_list);
        }
    }

    #[test]
    fn rows_of_a_key_are_brought_together_in_their_order() {
        let keys: Vec<Option<i64>> = (0..300i64).map(|i| (i % 7 != 0).then_some(i * 5 % 90 - 40)).collect();
        let column = column_of(&keys);
        let mut table = IntegerTable::new(Physical::I64);
        table.push(&column);
        let mut next = vec![NONE; keys.len()];
        let (unique, order) = table.finish(&mut next, true);
        let order = order.expect("keys that lie close together");
        assert!(!unique);
        assert_eq!((order.len(), next.len()), (257, 257));
        let mut heads = Vec::new();
        table.find(&column, &mut heads);
        for (key, head) in keys.iter().zip(heads) {
            let (mut found, mut row) = (Vec::new(), head);
            while row != NONE {
                found.push(order[row as usize] as usize);
                let behind = next[row as usize];
                assert!([row + 1, NONE].contains(&behind));
                row = behind;
            }
            let of_key = |(at, other): (usize, &Option<i64>)| (other == key).then_some(at);
            let expected: Vec<usize> = match key {
                Some(_) => keys.iter().enumerate().filter_map(of_key).collect(),
                None => Vec::new(),
            };
            assert_eq!(found, expected, "{key:?}");
        }
        // Nothing is to be brought together where each key has one row.
        let mut table = IntegerTable::new(Physical::I64);
        let mut column = Column::new(Physical::I64);
        column.data.i64s_mut().unwrap().extend([3, 1, 2]);
        table.push(&column);
        assert_eq!(table.finish(&mut vec![NONE; 3], true), (true, None));
    }
}
