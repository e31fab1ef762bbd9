//! A short way from keys to groups, in front of the table of keys, which has them all.
//!
//! ```text
//! one integer, close to others: key ─► an array by the key, in chunks ─► group
//! short texts and integers:     key ─► packed into 64 bits ─► a few places ─► group
//!                                                 └ not there ─► the table of keys
//! ```
//!
//! 1. What it says is what the table would say. Behind an array all groups stand, so what is not in it is a new group: the table
//!    need not look for it, and learns of it later ([`settle`](crate::exec::keys::KeyTable::settle)).
//! 2. Where keys lie too far apart, or are too long, there is no short way any more. Integers that come in no order lie far apart
//!    at first: when there are many groups, it is looked whether they have come to lie close.
//! 3. NULLs, and batches whose texts are longer than their types say, go by the table.

use verso_types::{Batch, Column, ColumnData, SqlType};

use crate::exec::filter::{Integers, integers};
use crate::exec::join::takes_integers;
use crate::exec::keys::hash_integer;

/// See the module.
#[derive(Default)]
pub(super) enum Front {
    /// There is none.
    #[default]
    None,
    Array(Array),
    Codes(Codes),
}

/// Groups by an integer. Keys may come in any order, and in runs that lie far apart, as where several have loaded a table at once.
#[derive(Default)]
pub(super) struct Array {
    /// Which chunk of all integers the first one is.
    first: i64,
    chunks: Vec<Option<Box<Chunk>>>,
    /// How many there are.
    used: usize,
    count: usize,
}

/// The numbers of the groups of [`CHUNK`] integers that follow each other, each behind one; zero where there is none.
type Chunk = [u32; CHUNK];
const CHUNK_BITS: u32 = 10;
const CHUNK: usize = 1 << CHUNK_BITS;

/// Places of an array that stand for no group, for each one that has some: at most. Of keys that are a quarter of their range each of
/// four workers meets a sixteenth.
const SPARSE: usize = 16;
/// Places that an array may have anyway.
const FEW: usize = 64 << 10;
/// So many groups without an array are looked at again, and whenever they are twice as many.
pub(super) const MANY: usize = 64 << 10;
/// Places that an array of all of them may have for each.
const DENSE: u64 = 8;
/// Chunks over which the keys of a few groups may be spread.
const SPREAD: usize = 64 << 10;

/// Groups by what several short values are, packed.
pub(super) struct Codes {
    /// Bytes of each value within the code.
    widths: Vec<u32>,
    codes: Vec<u64>,
    places: Vec<(u64, u32)>,
}

/// Places of codes.
const PLACES: usize = 256;
/// No group.
pub(super) const NONE: u32 = u32::MAX;

impl Front {
    /// The way for keys of these types.
    pub fn of(types: &[SqlType]) -> Front {
        if let [ty] = types
            && takes_integers(ty)
        {
            return Front::Array(Array::default());
        }
        let widths: Option<Vec<u32>> = types.iter().map(width).collect();
        match widths {
            Some(widths) if !widths.is_empty() && widths.iter().sum::<u32>() <= 8 => {
                let places = vec![(0, NONE); PLACES];
                Front::Codes(Codes { widths, codes: Vec::new(), places })
            }
            _ => Front::None,
        }
    }

    /// Bytes of memory held.
    pub fn heap_bytes(&self) -> usize {
        match self {
            Front::None => 0,
            Front::Array(array) => array.heap_bytes(),
            Front::Codes(codes) => {
                codes.codes.capacity() * 8 + codes.places.capacity() * size_of::<(u64, u32)>()
            }
        }
    }
}

/// The integer of a row that has one.
pub(super) fn integer(column: &Column, row: usize) -> i64 {
    match integers(column) {
        Some(Integers::Short(values)) => values[row].into(),
        Some(Integers::Plain(values)) => values[row].into(),
        Some(Integers::Long(values)) => values[row],
        None => 0,
    }
}

/// Bytes that a value of a type takes at most, with its length.
fn width(ty: &SqlType) -> Option<u32> {
    match ty {
        SqlType::Bool => Some(1),
        SqlType::Int2 => Some(2),
        SqlType::Int4 | SqlType::Date => Some(4),
        SqlType::Char(Some(length)) | SqlType::Varchar(Some(length)) if *length < 8 => Some(1 + length),
        _ => None,
    }
}

impl Array {
    /// An array of groups with these keys, numbered in their order, if the keys lie close to each other and none is NULL.
    pub fn of_all(keys: &Column) -> Option<Array> {
        if keys.nulls.any() {
            return None;
        }
        match integers(keys)? {
            Integers::Short(values) => Array::of_keys(values),
            Integers::Plain(values) => Array::of_keys(values),
            Integers::Long(values) => Array::of_keys(values),
        }
    }

    fn of_keys<T: Copy + Into<i64>>(keys: &[T]) -> Option<Array> {
        let integers = || keys.iter().map(|key| (*key).into());
        let (least, greatest) = (integers().min()?, integers().max()?);
        if greatest.abs_diff(least) / DENSE > keys.len() as u64 {
            return None;
        }
        let (first, last) = (least >> CHUNK_BITS, greatest >> CHUNK_BITS);
        let mut chunks: Vec<Option<Box<Chunk>>> = Vec::new();
        chunks.resize_with((last - first + 1) as usize, || Some(Box::new([0; CHUNK])));
        for (group, key) in (1..).zip(integers()) {
            let chunk = chunks[((key >> CHUNK_BITS) - first) as usize].as_mut()?;
            chunk[place_within(key)] = group;
        }
        Some(Array { first, used: chunks.len(), count: keys.len(), chunks })
    }

    /// The group of each row, [`NONE`] where there is none yet; those rows are listed. False for a column of anything but integers, and
    /// one with NULLs.
    pub fn find(&self, column: &Column, groups: &mut Vec<u32>, new: &mut Vec<u32>) -> bool {
        if column.nulls.any() {
            return false;
        }
        match integers(column) {
            None => return false,
            Some(Integers::Short(values)) => self.find_all(values, groups, new),
            Some(Integers::Plain(values)) => self.find_all(values, groups, new),
            Some(Integers::Long(values)) => self.find_all(values, groups, new),
        }
        true
    }

    fn find_all<T: Copy + Into<i64>>(&self, values: &[T], groups: &mut Vec<u32>, new: &mut Vec<u32>) {
        groups.extend(values.iter().map(|key| self.get((*key).into())));
        let missing = (0u32..).zip(groups.iter()).filter(|(_, group)| **group == NONE);
        new.extend(missing.map(|(row, _)| row));
    }

    /// The group of a key, or [`NONE`].
    #[inline]
    pub fn get(&self, key: i64) -> u32 {
        // Below the first chunk it becomes a large number, and no group becomes the largest one.
        let at = (key >> CHUNK_BITS).wrapping_sub(self.first).cast_unsigned();
        let chunk = usize::try_from(at).ok().and_then(|at| self.chunks.get(at)?.as_deref());
        chunk.map_or(0, |chunk| chunk[place_within(key)]).wrapping_sub(1)
    }

    /// Adds a group. False, and nothing has happened, where its key lies too far from the others.
    pub fn add(&mut self, key: i64, group: u32) -> bool {
        let wanted = key >> CHUNK_BITS;
        if self.chunks.is_empty() {
            self.first = wanted;
        }
        let (mut first, end) =
            (self.first.min(wanted), (self.first + self.chunks.len() as i64).max(wanted + 1));
        let most = SPREAD.max(self.count) as i64;
        if end - first > most {
            return false;
        }
        if first < self.first {
            // Twice as many, as more may come from there.
            let room = (self.chunks.len() as i64).min(most - (end - first));
            first -= room.min(first - (i64::MIN >> CHUNK_BITS));
        }
        let length = end - first;
        let before = (self.first - first) as usize;
        let at = (wanted - first) as usize;
        let is_there = before == 0 && self.chunks.get(at).is_some_and(Option::is_some);
        if !is_there {
            if (self.used + 1) * CHUNK > (SPARSE * (self.count + 1)).max(FEW) {
                return false;
            }
            self.chunks.splice(..0, std::iter::repeat_with(|| None).take(before));
            self.chunks.resize_with(length as usize, || None);
            self.first = first;
            self.used += 1;
        }
        let chunk = self.chunks[at].get_or_insert_with(|| Box::new([0; CHUNK]));
        chunk[place_within(key)] = group + 1;
        self.count += 1;
        true
    }

    /// The groups of keys that another array has, too: its own group, and the other's. None where there are more than so many.
    pub fn common(&self, other: &Array, most: usize) -> Option<Vec<(u32, u32)>> {
        let mut common = Vec::new();
        for (number, chunk) in (self.first..).zip(&self.chunks) {
            let at = usize::try_from(number - other.first).ok();
            let theirs = at.and_then(|at| other.chunks.get(at)?.as_deref());
            let (Some(own), Some(theirs)) = (chunk.as_deref(), theirs) else { continue };
            let both = own.iter().zip(theirs).filter(|(own, theirs)| **own != 0 && **theirs != 0);
            common.extend(both.map(|(own, theirs)| (own - 1, theirs - 1)));
            if common.len() > most {
                return None;
            }
        }
        Some(common)
    }

    fn heap_bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<Option<Box<Chunk>>>() + self.used * size_of::<Chunk>()
    }
}

/// Where a key stands in its chunk.
#[inline]
fn place_within(key: i64) -> usize {
    key.cast_unsigned() as usize % CHUNK
}

impl Codes {
    /// Packs the keys of a batch; false where some of them cannot be packed.
    pub fn pack(&mut self, keys: &Batch) -> bool {
        self.codes.clear();
        self.codes.resize(keys.rows, 0);
        keys.columns.iter().zip(&self.widths).all(|(column, width)| {
            let codes = self.codes.iter_mut();
            if column.nulls.any() {
                return false;
            }
            match &column.data {
                ColumnData::Bool(values) => {
                    codes.zip(values).for_each(|(code, value)| *code = *code << 8 | u64::from(*value));
                }
                ColumnData::I16(values) => codes
                    .zip(values)
                    .for_each(|(code, value)| *code = *code << 16 | u64::from(value.cast_unsigned())),
                ColumnData::I32(values) => codes
                    .zip(values)
                    .for_each(|(code, value)| *code = *code << 32 | u64::from(value.cast_unsigned())),
                ColumnData::Bytes(values) if values.bytes.len() == keys.rows && values.longest() == 1 => {
                    // One byte each.
                    let bits = 8 * width;
                    codes.zip(&values.bytes).for_each(|(code, byte)| {
                        *code = *code << bits | 1 << (bits - 8) | u64::from(*byte);
                    });
                }
                ColumnData::Bytes(values) => {
                    if values.longest() >= *width as usize {
                        return false;
                    }
                    for (code, value) in codes.zip(values.iter()) {
                        let bytes = value.iter().fold(0, |bytes, byte| bytes << 8 | u64::from(*byte));
                        let bits = 8 * width;
                        *code =
                            code.checked_shl(bits).unwrap_or(0) | (value.len() as u64) << (bits - 8) | bytes;
                    }
                }
                _ => return false,
            }
            true
        })
    }

    /// The group of a row, or [`NONE`].
    #[inline]
    pub fn get(&self, row: usize) -> u32 {
        let code = self.codes[row];
        let (known, group) = self.places[place(code)];
        if known == code { group } else { NONE }
    }

    /// Notes the group of a row.
    pub fn note(&mut self, row: usize, group: u32) {
        let code = self.codes[row];
        self.places[place(code)] = (code, group);
    }
}

/// Where a code stands.
#[inline]
fn place(code: u64) -> usize {
    (hash_integer(code.cast_signed()) >> 32) as usize % PLACES
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_grows_both_ways_and_gives_up_where_keys_lie_far_apart() {
        let mut array = Array::default();
        let keys: Vec<i64> =
            (0..5000).map(|i| if i % 2 == 0 { 100_000 + i * 3 } else { 100_000 - i * 5 }).collect();
        for (group, key) in keys.iter().enumerate() {
            assert_eq!(array.get(*key), NONE);
            assert!(array.add(*key, group as u32), "{key}");
        }
        for (group, key) in keys.iter().enumerate() {
            assert_eq!(array.get(*key), group as u32);
        }
        assert!(!array.add(i64::MIN, 9) && !array.add(i64::MAX, 9) && !array.add(1 << 30, 9));
        assert_eq!((array.get(i64::MIN), array.get(i64::MAX), array.get(keys[7])), (NONE, NONE, 7));
        for end in [i64::MIN, i64::MAX] {
            let mut array = Array::default();
            assert!(array.add(end, 3) && array.get(end) == 3 && array.get(0) == NONE, "{end}");
            let next = if end < 0 { end + 1 } else { end - 1 };
            assert!(array.add(next, 4) && array.get(next) == 4 && array.get(end) == 3, "{next}");
        }
    }

    #[test]
    fn an_array_takes_runs_of_keys_that_lie_apart_and_not_keys_that_all_do() {
        // Four have loaded a table at once: every fourth key of eight, a thousand rows in turn.
        let mut array = Array::default();
        let key = |group: i64| (group / 1000 % 4) * 5_000_000 + group / 4000 * 4000 + group % 1000 * 4;
        (0..200_000).for_each(|group| assert!(array.add(key(group), group as u32), "{group}"));
        assert!((0..200_000).all(|group| array.get(key(group)) == group as u32));
        assert!(array.heap_bytes() <= 4 * SPARSE * 200_000 + 8 * 2 * SPREAD);
        let mut array = Array::default();
        let taken = (0..10_000).take_while(|group| array.add(group * 5000, *group as u32)).count();
        assert_eq!(taken, FEW / CHUNK, "each has a chunk of its own");
    }

    #[test]
    fn an_array_of_all_groups_is_made_where_their_keys_lie_close() {
        let column = |keys: &[i64]| {
            let mut column = Column::new(SqlType::Int8.physical());
            keys.iter()
                .for_each(|key| column.push_value(&verso_types::Value::Int8(*key), &SqlType::Int8).unwrap());
            column
        };
        // 7 generates all numbers below 5003, which is a prime.
        let keys: Vec<i64> = (1..5003).map(|i| i * 7 % 5003 - 2000).collect();
        let mut array = Array::of_all(&column(&keys)).expect("they lie close");
        for (group, key) in keys.iter().enumerate() {
            assert_eq!(array.get(*key), group as u32);
        }
        assert_eq!((array.get(-2000), array.get(3003), array.get(i64::MIN)), (NONE, NONE, NONE));
        assert!(array.add(3003, 5002) && array.get(3003) == 5002);
        assert!(Array::of_all(&column(&[1, 2, 3, 1 << 40])).is_none());
        assert!(Array::of_all(&column(&[i64::MIN, i64::MAX])).is_none());
        let mut with_null = column(&[1, 2, 3]);
        with_null.push_null();
        assert!(Array::of_all(&with_null).is_none() && Array::of_all(&column(&[])).is_none());
    }

    #[test]
    fn arrays_find_what_they_have_in_common() {
        let array = |keys: &[i64]| {
            let mut array = Array::default();
            keys.iter().enumerate().for_each(|(group, key)| assert!(array.add(*key, group as u32)));
            array
        };
        let (one, other) = (array(&[-5, 7, 1_030, 9_000, -2_000]), array(&[9_000, 8, -2_000, 1_029, -5]));
        let mut common = one.common(&other, 3).expect("not too many");
        common.sort_unstable();
        assert_eq!(common, [(0, 4), (3, 0), (4, 2)]);
        assert_eq!(one.common(&other, 2), None);
        assert_eq!(one.common(&Array::default(), 0), Some(Vec::new()));
    }

    #[test]
    fn codes_tell_apart_what_differs() {
        let types = [SqlType::Char(Some(2)), SqlType::Int2, SqlType::Varchar(Some(2))];
        let Front::Codes(mut codes) = Front::of(&types) else { panic!("short values have codes") };
        let mut batch = Batch::of_types(&types);
        for (a, b, c) in
            [("", 0, ""), ("a", 0, ""), ("", 0, "a"), ("a", 1, "bc"), ("ab", -1, "c"), ("\0", 0, "")]
        {
            let values =
                [verso_types::Value::text(a), verso_types::Value::Int2(b), verso_types::Value::text(c)];
            batch.push_row(&values, &types).unwrap();
        }
        assert!(codes.pack(&batch));
        let mut seen: Vec<u64> = codes.codes.clone();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), batch.rows);
        (0..batch.rows).for_each(|row| codes.note(row, row as u32));
        assert!((0..batch.rows).all(|row| [NONE, row as u32].contains(&codes.get(row))));
        batch.columns[0].data.bytes_mut().unwrap().push("ä€".as_bytes());
        batch.columns[1].data.i16s_mut().unwrap().push(0);
        batch.columns[2].data.bytes_mut().unwrap().push(b"");
        batch.rows += 1;
        assert!(!codes.pack(&batch), "longer than its type says");
    }
}
