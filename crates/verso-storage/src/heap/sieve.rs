//! Conditions that are asked of the arrays of a page, before anything is copied out of it.
//!
//! ```text
//! records that are seen ─► first condition, on its column's array ─► slots left ─► second … ─► only their values are copied
//! ```
//!
//! 1. A NULL fulfils no condition.
//! 2. All conditions hold for the records that are left, whatever their order: the one that leaves out most for what it costs is
//!    asked first. Only sets of keys are no longer asked once they leave out little: their records would not be missed.
//! 3. Where older versions have to be restored, the page's records are copied first and judged in the batch.

use std::fmt::Debug;
use std::sync::Arc;

use verso_types::{Batch, Column, ColumnData, Physical};

use super::copier::Copier;
use super::layout::{ColumnPlace, PageLayout};
use super::slice::bit;
use super::slots::Slots;
use super::value_slot::ValueSlot;
use crate::StorageError;
use crate::bounds::ColumnBounds;
use crate::page::bytes::{checked_slice, u64_at};

/// A condition on records. Columns are given by their identities, and are among those that the scan reads.
#[derive(Clone, Debug)]
pub enum Condition {
    /// An integer, as it is stored, from `low` to `high`.
    Range {
        /// Its column.
        column: u16,
        /// The least value.
        low: i64,
        /// The greatest one.
        high: i64,
    },
    /// The integer of one column is less than that of another one.
    Below {
        /// The column of the lesser one.
        column: u16,
        /// The column of the greater one, of the same layout.
        other: u16,
        /// They may also be equal.
        or_equal: bool,
    },
    /// A value of variable length is one of these, or none of them.
    Among {
        /// Its column.
        column: u16,
        /// The values.
        values: Arc<[Box<[u8]>]>,
        /// None of them.
        negated: bool,
    },
    /// An integer is in a set.
    Keys {
        /// Its column.
        column: u16,
        /// The set.
        keys: Arc<dyn KeySet>,
    },
}

/// A set of integers that lie close together.
pub trait KeySet: Debug + Send + Sync {
    /// The least of them, and a bit for each integer from it on.
    fn bits(&self) -> (i64, &[u64]);
}

/// Whether an integer is in a set that is given as [`KeySet::bits`] gives it.
#[inline]
pub fn has_bit((base, bits): (i64, &[u64]), key: i64) -> bool {
    // Below the base it becomes a large number.
    let at = key.wrapping_sub(base).cast_unsigned();
    let word = usize::try_from(at / 64).ok().and_then(|word| bits.get(word));
    word.is_some_and(|word| word >> (at % 64) & 1 != 0)
}

impl Condition {
    /// The columns that it looks at.
    pub fn columns(&self) -> impl Iterator<Item = u16> + use<> {
        let (column, other) = match self {
            Condition::Range { column, .. }
            | Condition::Among { column, .. }
            | Condition::Keys { column, .. } => (*column, None),
            Condition::Below { column, other, .. } => (*column, Some(*other)),
        };
        std::iter::once(column).chain(other)
    }

    /// What asking for a record costs, roughly.
    fn cost(&self) -> f64 {
        match self {
            Condition::Range { .. } => 1.0,
            Condition::Below { .. } => 1.5,
            Condition::Keys { .. } => 2.0,
            Condition::Among { .. } => 6.0,
        }
    }
}

/// The conditions of a scan, and what has become of the records so far.
#[derive(Debug, Default)]
pub(crate) struct Sieve {
    asked: Vec<Asked>,
    /// The slots of a page that are left.
    pub kept: Vec<u16>,
    /// Pages since the order was looked at.
    pages: u32,
    /// A value that does not stand in its page.
    elsewhere: Option<Column>,
    /// Records that conditions other than sets of keys have left out, until they are taken.
    removed: usize,
}

#[derive(Debug)]
struct Asked {
    condition: Condition,
    seen: u64,
    kept: u64,
}

/// Pages after which the order is looked at.
const PAGES: u32 = 64;
/// Records after which it is decided whether a set of keys pays.
const TRIAL: u64 = 16 << 10;

impl Sieve {
    /// Asks one more condition.
    pub fn add(&mut self, condition: Condition) {
        self.asked.push(Asked { condition, seen: 0, kept: 0 });
    }

    /// Records that conditions other than sets of keys, which joins have made, have left out since this was asked last.
    pub fn take_removed(&mut self) -> usize {
        std::mem::take(&mut self.removed)
    }

    /// The same conditions for a part of the scan.
    pub fn of_part(&self) -> Sieve {
        let mut part = Sieve::default();
        self.asked.iter().for_each(|asked| part.add(asked.condition.clone()));
        part
    }

    /// Whether no record of a page with these bounds fulfils all conditions.
    pub(super) fn excludes(&self, bounds: &[ColumnBounds]) -> bool {
        self.asked.iter().any(|asked| asked.condition.excludes(bounds))
    }

    /// Leaves in [`Sieve::kept`] those of the slots whose records fulfil all conditions as they stand on the page.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub(super) fn sift(
        &mut self,
        copier: &Copier<'_>,
        layout: &PageLayout,
        set: Slots<'_>,
    ) -> Result<(), StorageError> {
        self.order();
        let Sieve { asked, kept, elsewhere, removed, .. } = self;
        kept.clear();
        let mut set = Some(set);
        for Asked { condition, seen, kept: left } in asked {
            let before = set.as_ref().map_or(kept.len(), Slots::len);
            *seen += before as u64;
            let counts = !matches!(condition, Condition::Keys { .. });
            let mut columns = condition.columns();
            let place = |id: Option<u16>| Some(&layout.columns[layout.ordinal(id?)?]);
            let Some(column) = place(columns.next()) else {
                // The page is older than the column, whose values are NULL.
                kept.clear();
                *removed += if counts { before } else { 0 };
                return Ok(());
            };
            let slots = Left { slots: set.take(), kept: &mut *kept };
            match condition {
                Condition::Range { low, high, .. } => {
                    let width = high.wrapping_sub(*low).cast_unsigned();
                    let empty = low > high;
                    let within = |value: i64| !empty & (value.wrapping_sub(*low).cast_unsigned() <= width);
                    integers(copier, column, slots, within)?;
                }
                Condition::Keys { keys, .. } => {
                    let (base, bits) = keys.bits();
                    integers(copier, column, slots, |value| has_bit((base, bits), value))?;
                }
                Condition::Below { or_equal, .. } => {
                    let Some(other) = place(columns.next()) else {
                        kept.clear();
                        *removed += before;
                        return Ok(());
                    };
                    below(copier, column, other, slots, *or_equal)?;
                    drop_nulls(copier, other, kept);
                }
                Condition::Among { values, negated, .. } => {
                    among(copier, column, slots, elsewhere, |value| {
                        values.iter().any(|one| **one == *value) != *negated
                    })?;
                }
            }
            drop_nulls(copier, column, kept);
            *left += kept.len() as u64;
            *removed += if counts { before - kept.len() } else { 0 };
            if kept.is_empty() {
                return Ok(());
            }
        }
        if let Some(set) = set {
            kept.extend(set.iter());
        }
        Ok(())
    }

    /// Keeps those of the rows from `first` on that fulfil all conditions; their columns are these. Which rows that leaves, if not
    /// all.
    pub fn judge(
        &mut self,
        batch: &mut Batch,
        columns: &[u16],
        first: usize,
        end: usize,
    ) -> Option<Vec<u32>> {
        let column = |id: u16| {
            let at = columns.iter().position(|column| *column == id).expect("a condition's columns are read");
            &batch.columns[at]
        };
        let mut removed = 0;
        let mut holds = |row: &usize| {
            let fails = self.asked.iter().find(|asked| !holds(&asked.condition, &column, *row));
            removed += usize::from(fails.is_some_and(|it| !matches!(it.condition, Condition::Keys { .. })));
            fails.is_none()
        };
        let left: Vec<u32> =
            (0..first).chain((first..end).filter(|row| holds(row))).map(|row| row as u32).collect();
        self.removed += removed;
        if left.len() == end {
            return None;
        }
        batch.columns.iter_mut().for_each(|column| column.filter(&left));
        Some(left)
    }

    /// Brings the conditions into the order in which they leave out most for what they cost.
    fn order(&mut self) {
        self.pages += 1;
        if self.pages < PAGES {
            return;
        }
        self.pages = 0;
        self.asked.retain(|asked| {
            let keeps_most = asked.seen >= TRIAL && asked.kept >= asked.seen / 4 * 3;
            !(keeps_most && matches!(asked.condition, Condition::Keys { .. }))
        });
        let gain = |asked: &Asked| {
            let left_out = asked.seen.saturating_sub(asked.kept) as f64 / asked.seen.max(1) as f64;
            left_out / asked.condition.cost()
        };
        self.asked.sort_by(|a, b| gain(b).total_cmp(&gain(a)));
    }
}

/// The slots that a condition is asked about: a set, or those kept so far; what it keeps.
struct Left<'a, 's> {
    slots: Option<Slots<'s>>,
    kept: &'a mut Vec<u16>,
}

impl Left<'_, '_> {
    /// Keeps the slots for which the test holds, without branches: every slot is written, the end moves where it counts.
    #[inline(always)]
    fn keep(self, mut test: impl FnMut(u16) -> bool) {
        let Left { slots, kept } = self;
        let mut count = 0;
        match slots {
            Some(slots) => {
                kept.resize(slots.len(), 0);
                for slot in slots.iter() {
                    kept[count] = slot;
                    count += usize::from(test(slot));
                }
            }
            None => {
                for rank in 0..kept.len() {
                    let slot = kept[rank];
                    kept[count] = slot;
                    count += usize::from(test(slot));
                }
            }
        }
        kept.truncate(count);
    }

    /// The same for the values of an array.
    #[inline(always)]
    fn keep_values<const WIDTH: usize>(
        self,
        array: &[[u8; WIDTH]],
        decode: impl Fn([u8; WIDTH]) -> i64,
        test: impl Fn(i64) -> bool,
    ) {
        if let Some(Slots::Run { first, count }) = self.slots {
            let values = &array[usize::from(first)..usize::from(first) + usize::from(count)];
            self.kept.resize(values.len(), 0);
            let mut left = 0;
            for (slot, value) in (first..).zip(values) {
                self.kept[left] = slot;
                left += usize::from(test(decode(*value)));
            }
            self.kept.truncate(left);
            return;
        }
        self.keep(|slot| test(decode(array[usize::from(slot)])));
    }
}

/// The array of a column.
fn array<'p>(page: &'p [u8], layout: &ColumnPlace) -> &'p [u8] {
    &page[layout.data..]
}

/// A condition on the integers of a column.
#[inline(always)]
fn integers(
    copier: &Copier<'_>,
    column: &ColumnPlace,
    slots: Left<'_, '_>,
    test: impl Fn(i64) -> bool,
) -> Result<(), StorageError> {
    let values = array(copier.page, column);
    match column.physical {
        Physical::I16 => {
            slots.keep_values(values.as_chunks().0, |value| i16::from_le_bytes(value).into(), test);
        }
        Physical::I32 => {
            slots.keep_values(values.as_chunks().0, |value| i32::from_le_bytes(value).into(), test);
        }
        Physical::I64 => slots.keep_values(values.as_chunks().0, i64::from_le_bytes, test),
        _ => return Err(copier.corrupt("a condition on integers of a column that has none")),
    }
    Ok(())
}

/// A condition on the integers of two columns.
fn below(
    copier: &Copier<'_>,
    column: &ColumnPlace,
    other: &ColumnPlace,
    slots: Left<'_, '_>,
    or_equal: bool,
) -> Result<(), StorageError> {
    macro_rules! compare {
        ($ty:ty) => {{
            let (ours, theirs) =
                (array(copier.page, column).as_chunks().0, array(copier.page, other).as_chunks().0);
            slots.keep(|slot| {
                let value =
                    |values: &[[u8; size_of::<$ty>()]]| <$ty>::from_le_bytes(values[usize::from(slot)]);
                let (a, b) = (value(ours), value(theirs));
                a < b || or_equal && a == b
            });
        }};
    }
    match (column.physical, other.physical) {
        (Physical::I16, Physical::I16) => compare!(i16),
        (Physical::I32, Physical::I32) => compare!(i32),
        (Physical::I64, Physical::I64) => compare!(i64),
        _ => return Err(copier.corrupt("a condition on integers of columns that have none")),
    }
    Ok(())
}

/// A condition on the values of a column of variable length.
fn among(
    copier: &Copier<'_>,
    column: &ColumnPlace,
    slots: Left<'_, '_>,
    elsewhere: &mut Option<Column>,
    test: impl Fn(&[u8]) -> bool,
) -> Result<(), StorageError> {
    if !column.is_variable() {
        return Err(copier.corrupt("a condition on bytes of a column that has none"));
    }
    let mut failed = None;
    slots.keep(|slot| {
        let raw = u64_at(copier.page, column.data + usize::from(slot) * 8);
        match ValueSlot::decode(raw) {
            Some(ValueSlot::Inline { offset, length }) => {
                match checked_slice(copier.page, usize::from(offset), usize::from(length)) {
                    Ok(value) => test(value),
                    Err(flaw) => {
                        failed = Some(copier.corrupt(flaw));
                        false
                    }
                }
            }
            Some(ValueSlot::Empty) => test(&[]),
            // NULLs are left out below.
            _ if bit(&copier.page[column.nulls..], usize::from(slot)) => false,
            _ => {
                let value = elsewhere.get_or_insert_with(|| Column::new(Physical::Bytes));
                value.clear();
                match copier.copy(column, Slots::Run { first: slot, count: 1 }, value) {
                    Ok(()) => test(value.bytes_at(0)),
                    Err(error) => {
                        failed = Some(error);
                        false
                    }
                }
            }
        }
    });
    failed.map_or(Ok(()), Err)
}

/// Leaves out slots whose value is NULL.
fn drop_nulls(copier: &Copier<'_>, column: &ColumnPlace, kept: &mut Vec<u16>) {
    let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return };
    let nulls = &copier.page[column.nulls..];
    if nulls[usize::from(*first / 8)..=usize::from(*last / 8)].iter().any(|byte| *byte != 0) {
        kept.retain(|slot| !bit(nulls, usize::from(*slot)));
    }
}

/// Whether a row of a batch fulfils a condition.
fn holds<'b>(condition: &Condition, column: &impl Fn(u16) -> &'b Column, row: usize) -> bool {
    let integer = |id: u16| {
        let column = column(id);
        match &column.data {
            _ if column.is_null(row) => None,
            ColumnData::I16(values) => Some(i64::from(values[row])),
            ColumnData::I32(values) => Some(i64::from(values[row])),
            ColumnData::I64(values) => Some(values[row]),
            _ => None,
        }
    };
    match condition {
        Condition::Range { column, low, high } => {
            integer(*column).is_some_and(|value| (*low..=*high).contains(&value))
        }
        Condition::Below { column, other, or_equal } => match (integer(*column), integer(*other)) {
            (Some(a), Some(b)) => a < b || *or_equal && a == b,
            _ => false,
        },
        Condition::Among { column: id, values, negated } => {
            let column = column(*id);
            !column.is_null(row) && values.iter().any(|one| **one == *column.bytes_at(row)) != *negated
        }
        Condition::Keys { column, keys } => integer(*column).is_some_and(|value| has_bit(keys.bits(), value)),
    }
}
