//! Tables of more columns than a page describes.
//!
//! A data page has an array for each of its columns, and the root of a table lists 434 of them at most. Where a table has more, or
//! where the arrays for one row would fill a page, its first columns and those of its indexes are stored by themselves.
//! The others stand together in *packs*: stored columns of bytes, each for up to 64 columns of the table.
//!
//! ```text
//! u64: a bit for each column that is not NULL │ for each of these: layout u8, value │ …
//!                                                                   └ of fixed width, or length u32 and bytes
//! ```
//!
//! W1. The pack of column `id` is the stored column `FIRST_PACK + id / 64`, its bit `id % 64`. A column stands in its pack
//!     exactly if its heap has no column with its number. A pack of nothing but NULLs is NULL.
//! W2. Columns of indexes, and hidden ones, stand by themselves: storage makes keys of them.
//! W3. Which columns are packed is decided when a heap is made ([`stored_columns`]), and holds as long as it is there.
//! W4. Who reads or writes rows of a table through its heap asks [`Wanted`] (or [`stored_ids`]) and [`Pack`], which
//!     leave all tables but such alone.

use verso_storage::heap::Heap;
use verso_storage::heap::overflow::VALUE_MAX;
use verso_storage::heap::root::MAX_COLUMNS;
use verso_storage::{ColumnSpec, ObjectId, PageId, StorageError};
use verso_types::{Batch, Column, ColumnData, Physical};

use crate::definition::ColumnDef;

/// The numbers of packs begin here, behind those of all columns.
const FIRST_PACK: u16 = 0xF000;
/// Columns of a pack.
const PACK_COLUMNS: u16 = 64;
/// Columns of a table with packs that are stored by themselves without an index that needs them.
const PLAIN_MAX: usize = 256;
/// Bytes that a column of one row takes of a page at most: descriptor, bitmap of NULLs, value.
const COLUMN_BYTES: usize = 4 + 8 + 16;

/// The columns of a heap for a table: all of them, or some and packs for the rest. Those whose numbers are in `apart` stand by
/// themselves, as W2 asks.
pub(crate) fn stored_columns(columns: &[ColumnDef], apart: &[u16], page_size: usize) -> Vec<ColumnSpec> {
    let plain = |column: &ColumnDef| ColumnSpec { id: column.id, physical: column.ty.physical() };
    let fits_page = columns.len() * COLUMN_BYTES <= page_size - page_size / 8;
    if columns.len() <= MAX_COLUMNS && fits_page {
        return columns.iter().map(plain).collect();
    }
    let mut room = PLAIN_MAX.min(page_size / 2 / COLUMN_BYTES);
    let mut packs: Vec<u16> = Vec::new();
    let mut stored = Vec::new();
    for column in columns {
        if column.is_hidden() || apart.contains(&column.id) {
            stored.push(plain(column));
        } else if room > 0 {
            room -= 1;
            stored.push(plain(column));
        } else if packs.last() != Some(&pack_of(column.id)) {
            packs.push(pack_of(column.id));
        }
    }
    packs.sort_unstable();
    packs.dedup();
    stored.extend(packs.into_iter().map(|id| ColumnSpec { id, physical: Physical::Bytes }));
    stored
}

fn pack_of(id: u16) -> u16 {
    FIRST_PACK + id / PACK_COLUMNS
}

fn bit_of(id: u16) -> u32 {
    u32::from(id % PACK_COLUMNS)
}

/// Whether a heap has packs: its columns ascend, so that they are its last ones.
fn has_packs(heap: &Heap) -> bool {
    heap.columns().last().is_some_and(|column| column.id >= FIRST_PACK)
}

/// Whether a column of a heap with packs stands by itself.
fn is_stored(heap: &Heap, id: u16) -> bool {
    heap.columns().binary_search_by_key(&id, |column| column.id).is_ok()
}

/// Whether columns with these numbers stand by themselves, so that an index over them can be built.
pub fn are_stored(heap: &Heap, columns: impl IntoIterator<Item = u16>) -> bool {
    !has_packs(heap) || columns.into_iter().all(|id| is_stored(heap, id))
}

#[cold]
fn damaged(object: ObjectId) -> StorageError {
    StorageError::corrupt(PageId::NONE, object, "columns stored together do not fit their definitions")
}

// ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/// Puts into `ids` the numbers of the stored columns that the wanted ones are read from; how these come out of them, unless
/// they are the same.
pub fn stored_ids<'c>(
    heap: &Heap,
    wanted: impl Iterator<Item = &'c ColumnDef> + Clone,
    ids: &mut Vec<u16>,
) -> Option<Unpack> {
    ids.clear();
    if !has_packs(heap) {
        ids.extend(wanted.map(|column| column.id));
        return None;
    }
    let mut unpack = Unpack { object: heap.object, sources: Vec::new() };
    for column in wanted {
        let packed = (!is_stored(heap, column.id)).then(|| (bit_of(column.id), column.ty.physical()));
        let stored = if packed.is_some() { pack_of(column.id) } else { column.id };
        let at = ids.iter().position(|other| *other == stored).unwrap_or_else(|| {
            ids.push(stored);
            ids.len() - 1
        });
        unpack.sources.push(Source { at, packed });
    }
    Some(unpack)
}

/// Wanted columns of a table, and what is read for them.
#[derive(Clone)]
pub struct Wanted {
    ids: Vec<u16>,
    unpack: Option<Unpack>,
}

impl Wanted {
    /// Reads these columns of a table that is stored there.
    pub fn of<'c>(heap: &Heap, wanted: impl Iterator<Item = &'c ColumnDef> + Clone) -> Wanted {
        let mut ids = Vec::new();
        let unpack = stored_ids(heap, wanted, &mut ids);
        Wanted { ids, unpack }
    }

    /// Whether some of them come out of stored columns that hold several.
    #[must_use]
    pub fn is_packed(&self) -> bool {
        self.unpack.is_some()
    }

    /// Numbers of the stored columns to be read.
    pub fn ids(&self) -> &[u16] {
        &self.ids
    }

    /// Makes of the stored columns, as they were read, those that are wanted.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn finish(&self, batch: &mut Batch) -> Result<(), StorageError> {
        self.unpack.as_ref().map_or(Ok(()), |unpack| unpack.unpack(batch))
    }
}

/// How wanted columns come out of stored ones.
#[derive(Clone)]
pub struct Unpack {
    object: ObjectId,
    sources: Vec<Source>,
}

/// Where the values of a wanted column are.
#[derive(Clone)]
struct Source {
    /// Which of the stored columns read.
    at: usize,
    /// Its bit and layout, if that is a pack.
    packed: Option<(u32, Physical)>,
}

impl Unpack {
    /// Makes of the stored columns, as they were read, those that are wanted.
    ///
    /// # Errors
    /// `Corrupt`.
    pub fn unpack(&self, batch: &mut Batch) -> Result<(), StorageError> {
        let rows = batch.rows;
        let column = |source: &Source| match source.packed {
            None => batch.columns[source.at].clone(),
            Some((_, physical)) => Column::with_capacity(physical, rows),
        };
        let mut columns: Vec<Column> = self.sources.iter().map(column).collect();
        for (at, stored) in batch.columns.iter().enumerate() {
            let of_pack = |source: &Source| source.packed.filter(|_| source.at == at).map(|(bit, _)| bit);
            // Who takes the value of each bit.
            let mut takers: Vec<(u32, usize)> =
                (0..).zip(&self.sources).filter_map(|(to, source)| Some((of_pack(source)?, to))).collect();
            if takers.is_empty() {
                continue;
            }
            takers.sort_unstable();
            let packs = stored.data.bytes().ok_or_else(|| damaged(self.object))?;
            for row in 0..rows {
                let pack = if stored.is_null(row) { &[][..] } else { packs.get(row) };
                let mut rest = takers.as_slice();
                for value in Values::of(pack) {
                    let (bit, physical, bytes) = value.ok_or_else(|| damaged(self.object))?;
                    while let [(wanted, to), behind @ ..] = rest
                        && *wanted <= bit
                    {
                        rest = behind;
                        if *wanted < bit {
                            columns[*to].push_null();
                        } else if columns[*to].physical() != physical || !push(&mut columns[*to], bytes) {
                            return Err(damaged(self.object));
                        }
                    }
                }
                rest.iter().for_each(|(_, to)| columns[*to].push_null());
            }
        }
        batch.columns = columns;
        Ok(())
    }
}

/// Appends a value; whether it is one of the column's layout.
fn push(column: &mut Column, bytes: &[u8]) -> bool {
    match &mut column.data {
        ColumnData::Bytes(values) => values.push(bytes),
        ColumnData::Bool(_) if bytes[0] > 1 => return false,
        fixed => fixed.extend_fixed_raw(bytes),
    }
    true
}

/// The values of a pack by ascending bit; `None` where it is damaged.
struct Values<'p> {
    bits: u64,
    rest: &'p [u8],
}

impl<'p> Values<'p> {
    fn of(pack: &'p [u8]) -> Values<'p> {
        match pack.split_first_chunk() {
            Some((bits, rest)) => Values { bits: u64::from_le_bytes(*bits), rest },
            // Fewer than eight bytes are damage, which the first value shows.
            None => Values { bits: u64::from(!pack.is_empty()), rest: &[] },
        }
    }

    fn value(&mut self, bit: u32) -> Option<(u32, Physical, &'p [u8])> {
        let (code, rest) = self.rest.split_first()?;
        let physical = Physical::from_code(*code)?;
        let (length, rest) = match physical.width() {
            Some(width) => (width, rest),
            None => {
                let (length, rest) = rest.split_first_chunk()?;
                (u32::from_le_bytes(*length) as usize, rest)
            }
        };
        let (bytes, rest) = rest.split_at_checked(length)?;
        self.rest = rest;
        Some((bit, physical, bytes))
    }
}

impl<'p> Iterator for Values<'p> {
    type Item = Option<(u32, Physical, &'p [u8])>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bits == 0 {
            return None;
        }
        let bit = self.bits.trailing_zeros();
        self.bits &= self.bits - 1;
        let value = self.value(bit);
        if value.is_none() {
            self.bits = 0;
        }
        Some(value)
    }
}

// ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/// How columns that get values go into stored ones.
pub struct Pack {
    object: ObjectId,
    /// Which of the columns are stored as they are, by their place, and their numbers.
    plain: Vec<(usize, u16)>,
    /// The packs, by number, and which columns go there: bit and place, ascending.
    packs: Vec<(u16, Vec<(u32, usize)>)>,
}

impl Pack {
    /// For columns with these numbers; `None` if they are stored as they are.
    pub fn of(heap: &Heap, columns: impl Iterator<Item = u16>) -> Option<Pack> {
        if !has_packs(heap) {
            return None;
        }
        let mut pack = Pack { object: heap.object, plain: Vec::new(), packs: Vec::new() };
        for (place, id) in columns.enumerate() {
            if is_stored(heap, id) {
                pack.plain.push((place, id));
                continue;
            }
            let number = pack_of(id);
            let at = pack.packs.iter().position(|(other, _)| *other == number).unwrap_or_else(|| {
                pack.packs.push((number, Vec::new()));
                pack.packs.len() - 1
            });
            pack.packs[at].1.push((bit_of(id), place));
        }
        pack.packs.sort_unstable();
        pack.packs.iter_mut().for_each(|(_, members)| members.sort_unstable());
        Some(pack)
    }

    /// Numbers of the packs that change.
    pub fn packs(&self) -> Vec<u16> {
        self.packs.iter().map(|(id, _)| *id).collect()
    }

    /// Numbers of the stored columns, in the order of [`Pack::pack`]'s batch: for all columns of a table that of its heap.
    pub fn stored(&self) -> Vec<u16> {
        self.plain.iter().map(|(_, id)| *id).chain(self.packs()).collect()
    }

    /// Makes of the columns' values those of the stored columns. `old` has the packs of the same rows as they are, in the
    /// order of [`Pack::packs`], whose other columns stay; new rows have none.
    ///
    /// # Errors
    /// `Corrupt`; `TooLarge` where the columns of a pack would be longer than a value may be.
    pub fn pack(&self, values: &Batch, old: Option<&Batch>) -> Result<Batch, StorageError> {
        let mut columns: Vec<Column> =
            self.plain.iter().map(|(place, _)| values.columns[*place].clone()).collect();
        let mut bytes = Vec::new();
        for (at, (_, members)) in self.packs.iter().enumerate() {
            let mut packs = Column::with_capacity(Physical::Bytes, values.rows);
            for row in 0..values.rows {
                let old = old.map(|old| &old.columns[at]).filter(|old| !old.is_null(row));
                let old = Values::of(old.map_or(&[], |old| old.bytes_at(row)));
                self.one((values, row), members, old, &mut bytes)?;
                match packs.data.bytes_mut().filter(|_| !bytes.is_empty()) {
                    Some(packs) => packs.push(&bytes),
                    None => packs.push_null(),
                }
            }
            columns.push(packs);
        }
        Ok(Batch { rows: values.rows, columns })
    }

    /// Writes one pack: the members' new values, the old ones of all others; no bytes if all are NULL.
    fn one(
        &self,
        (values, row): (&Batch, usize),
        members: &[(u32, usize)],
        old: Values<'_>,
        out: &mut Vec<u8>,
    ) -> Result<(), StorageError> {
        let mut writer = Writer::new(out);
        let mut rest = members;
        for value in old {
            let (bit, physical, bytes) = value.ok_or_else(|| damaged(self.object))?;
            while let [(member, place), behind @ ..] = rest
                && *member < bit
            {
                writer.put_new(*member, &values.columns[*place], row)?;
                rest = behind;
            }
            if rest.first().is_none_or(|(member, _)| *member != bit) {
                writer.put(bit, physical, bytes)?;
            }
        }
        for (member, place) in rest {
            writer.put_new(*member, &values.columns[*place], row)?;
        }
        writer.end();
        Ok(())
    }
}

/// Writes a pack, by ascending bits.
struct Writer<'o> {
    out: &'o mut Vec<u8>,
    bits: u64,
}

impl Writer<'_> {
    fn new(out: &mut Vec<u8>) -> Writer<'_> {
        out.clear();
        out.extend_from_slice(&[0; 8]);
        Writer { out, bits: 0 }
    }

    fn put_new(&mut self, bit: u32, column: &Column, row: usize) -> Result<(), StorageError> {
        if column.is_null(row) { Ok(()) } else { self.put(bit, column.physical(), column.raw_at(row)) }
    }

    fn put(&mut self, bit: u32, physical: Physical, bytes: &[u8]) -> Result<(), StorageError> {
        let (size, limit) = (self.out.len() + 5 + bytes.len(), VALUE_MAX);
        if size > limit {
            let what = "the columns of a row that are stored together".into();
            return Err(StorageError::TooLarge { what, size: size as u64, limit: limit as u64 });
        }
        self.bits |= 1 << bit;
        self.out.push(physical as u8);
        if physical.width().is_none() {
            self.out.extend_from_slice(&(bytes.len() as u32).to_le_bytes());
        }
        self.out.extend_from_slice(bytes);
        Ok(())
    }

    /// Puts the bits in front; a pack of nothing is left without bytes.
    fn end(self) {
        if self.bits == 0 {
            self.out.clear();
        } else {
            self.out[..8].copy_from_slice(&self.bits.to_le_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use verso_types::SqlType;

    use super::*;

    fn columns(count: u16, ty: &SqlType) -> Vec<ColumnDef> {
        (1..=count).map(|id| ColumnDef::new("c", id, ty.clone())).collect()
    }

    fn read(pack: &[u8]) -> Vec<Option<(u32, Physical, Vec<u8>)>> {
        Values::of(pack)
            .map(|value| value.map(|(bit, physical, bytes)| (bit, physical, bytes.to_vec())))
            .collect()
    }

    #[test]
    fn few_columns_are_stored_as_they_are_and_of_many_those_of_indexes() {
        let all = columns(434, &SqlType::Int4);
        assert_eq!(stored_columns(&all, &[], 16384).len(), 434);
        let all = columns(1600, &SqlType::Numeric(None));
        for (page_size, plain) in [(4096, 73), (8192, 146), (16384, 256), (32768, 256)] {
            let stored = stored_columns(&all, &[1000, 1600], page_size);
            assert!(stored.is_sorted_by_key(|column| column.id));
            let own: Vec<u16> = stored.iter().map(|column| column.id).filter(|id| *id < FIRST_PACK).collect();
            assert_eq!(own.len(), plain + 2, "{page_size}");
            assert_eq!(own[plain..], [1000, 1600]);
            let packs = stored.len() - own.len();
            assert_eq!(packs, 1600 / 64 - plain / 64 + usize::from(1600 % 64 > 0), "{page_size}");
            assert!(stored.len() * COLUMN_BYTES <= page_size, "{page_size}");
        }
    }

    #[test]
    fn a_pack_gives_back_what_was_put_in_and_notices_damage() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        writer.put(3, Physical::I32, &7i32.to_le_bytes()).unwrap();
        writer.put(40, Physical::Bytes, b"text").unwrap();
        writer.put(63, Physical::Bool, &[1]).unwrap();
        writer.end();
        let expected = vec![
            Some((3, Physical::I32, vec![7, 0, 0, 0])),
            Some((40, Physical::Bytes, b"text".to_vec())),
            Some((63, Physical::Bool, vec![1])),
        ];
        assert_eq!(read(&bytes), expected);
        assert_eq!(read(&[]), []);
        for length in 1..bytes.len() {
            assert_eq!(read(&bytes[..length]).last(), Some(&None), "cut to {length}");
        }
        for at in [8, 13] {
            let mut other = bytes.clone();
            other[at] = 99;
            assert_eq!(read(&other).last(), Some(&None), "byte {at}");
        }
        let mut nothing = Vec::new();
        Writer::new(&mut nothing).end();
        assert!(nothing.is_empty());
    }
}
