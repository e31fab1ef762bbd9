//! What one input of a join tells the other: the integers that its key has. Scans leave out rows of others, before anything
//! is computed from them.
//!
//! ```text
//! join ◄─ right rows: keys 7, 9, 12 ──┐ restrict(column, {7, 9, 12})
//!      ◄─ projection ◄─ scan ◄────────┘
//! ```
//!
//! 1. A filter only ever leaves out rows that would have had no partner, so whoever is told of it may take no notice.
//! 2. NULL is in no filter.
//! 3. A filter that keeps most of the rows is asked no more.

use std::sync::Arc;

use verso_storage::heap::{KeySet, has_bit};
use verso_types::{Batch, Column, ColumnData};

use super::ExecContext;
use crate::memory::Reservation;

/// Bits of the widest filter: 8 MB.
const BITS_MAX: u64 = 64 << 20;
/// Rows after which it is decided whether a filter pays.
const TRIAL: u64 = 16 << 10;

/// A set of integers that lie close together.
#[derive(Debug)]
pub(crate) struct KeyFilter {
    base: i64,
    bits: Vec<u64>,
    _held: Reservation,
}

impl KeySet for KeyFilter {
    fn bits(&self) -> (i64, &[u64]) {
        (self.base, &self.bits)
    }
}

impl KeyFilter {
    /// The filter of these keys; none where they lie too far apart, or memory is refused.
    pub fn new(cx: &ExecContext<'_>, keys: impl Iterator<Item = i64> + Clone) -> Option<Arc<KeyFilter>> {
        let ends = keys.clone().fold(None, |ends: Option<(i64, i64)>, key| {
            Some(ends.map_or((key, key), |(low, high)| (low.min(key), high.max(key))))
        });
        let (low, high) = ends.unwrap_or((0, 0));
        let width = high.abs_diff(low);
        if width >= BITS_MAX {
            return None;
        }
        let words = width as usize / 64 + 1;
        let mut held = cx.reserve("a filter of a join");
        held.try_resize(words as u64 * 8).ok()?;
        let mut bits = vec![0; words];
        for key in keys {
            let at = key.abs_diff(low) as usize;
            bits[at / 64] |= 1 << (at % 64);
        }
        Some(Arc::new(KeyFilter { base: low, bits, _held: held }))
    }

    #[inline]
    fn has(&self, key: i64) -> bool {
        has_bit(self.bits(), key)
    }

    /// Replaces `selection` by the rows whose value is in the set. False for a column of anything but integers.
    fn select(&self, column: &Column, selection: &mut Vec<u32>) -> bool {
        match integers(column) {
            None => false,
            Some(Integers::Short(values)) => self.select_all(values, column, selection),
            Some(Integers::Plain(values)) => self.select_all(values, column, selection),
            Some(Integers::Long(values)) => self.select_all(values, column, selection),
        }
    }

    fn select_all<T: Copy + Into<i64>>(
        &self,
        values: &[T],
        column: &Column,
        selection: &mut Vec<u32>,
    ) -> bool {
        let any_nulls = column.nulls.any();
        selection.clear();
        selection.resize(values.len(), 0);
        let mut count = 0;
        for (row, key) in values.iter().enumerate() {
            selection[count] = row as u32;
            count += usize::from(self.has((*key).into()) && !(any_nulls && column.nulls.is_null(row)));
        }
        selection.truncate(count);
        true
    }
}

/// Integers of a column.
pub(super) enum Integers<'c> {
    Short(&'c [i16]),
    Plain(&'c [i32]),
    Long(&'c [i64]),
}

/// The integers of a column, if it is one of those.
pub(super) fn integers(column: &Column) -> Option<Integers<'_>> {
    match &column.data {
        ColumnData::I16(values) => Some(Integers::Short(values)),
        ColumnData::I32(values) => Some(Integers::Plain(values)),
        ColumnData::I64(values) => Some(Integers::Long(values)),
        _ => None,
    }
}

/// Appends the integers of a column, without its NULLs. False for a column of anything else.
pub(super) fn collect(column: &Column, keys: &mut Vec<i64>) -> bool {
    fn push<T: Copy + Into<i64>>(values: &[T], column: &Column, keys: &mut Vec<i64>) {
        let any_nulls = column.nulls.any();
        let present = values.iter().enumerate().filter(|(row, _)| !any_nulls || !column.nulls.is_null(*row));
        keys.extend(present.map(|(_, key)| (*key).into()));
    }
    match integers(column) {
        None => return false,
        Some(Integers::Short(values)) => push(values, column, keys),
        Some(Integers::Plain(values)) => push(values, column, keys),
        Some(Integers::Long(values)) => push(values, column, keys),
    }
    true
}

/// The filters of a scan.
#[derive(Default)]
pub(super) struct ScanFilters {
    filters: Vec<ScanFilter>,
    selection: Vec<u32>,
}

struct ScanFilter {
    column: usize,
    filter: Arc<KeyFilter>,
    /// Rows looked at, and those kept.
    seen: u64,
    kept: u64,
}

impl ScanFilters {
    /// Leaves out rows by one more filter.
    pub fn add(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        self.filters.push(ScanFilter { column, filter: Arc::clone(filter), seen: 0, kept: 0 });
    }

    /// The same filters for a part of the scan, which finds out by itself whether they pay.
    pub fn of_part(&self) -> ScanFilters {
        let mut part = ScanFilters::default();
        self.filters.iter().for_each(|own| part.add(own.column, &own.filter));
        part
    }

    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.filters.clear();
    }

    /// Whether one of them leaves out many rows.
    pub fn leave_out_many(&self) -> bool {
        self.filters.iter().any(|own| own.kept < own.seen / 4)
    }

    /// The columns of all of them.
    pub fn columns(&self) -> impl Iterator<Item = usize> + '_ {
        self.filters.iter().map(|own| own.column)
    }

    /// Leaves rows out.
    pub fn apply(&mut self, batch: &mut Batch) {
        self.apply_by(batch, |batch, selection| batch.filter(selection));
    }

    /// The same where `keep` keeps the rows selected.
    pub fn apply_by(&mut self, batch: &mut Batch, mut keep: impl FnMut(&mut Batch, &[u32])) {
        let Self { filters, selection } = self;
        filters.retain_mut(|own| {
            if batch.rows == 0 {
                return true;
            }
            if !own.filter.select(&batch.columns[own.column], selection) {
                return false;
            }
            own.seen += batch.rows as u64;
            own.kept += selection.len() as u64;
            keep(batch, selection);
            own.seen < TRIAL || own.kept < own.seen / 4 * 3
        });
    }
}

/// How far down [`restrict`](super::operator::Operator::restrict) reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reach {
    /// It changes nothing.
    Nowhere,
    /// To a scan.
    Scan,
    /// To a scan whose rows are grouped.
    Groups,
}
