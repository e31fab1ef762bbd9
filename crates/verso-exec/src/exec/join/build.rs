//! The right rows of a join in memory.
//!
//! ```text
//! one integer key:  key ─► places of a table of integers (an array by the key where they lie close together) ─► first row
//! several of them:  packed into one, where they fit (`packed`)
//! any other keys:   bytes ─► number of the key ─► first row                                     first row ─► next ─► …
//! ```

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use verso_types::{Batch, SqlType};

use super::integers::IntegerTable;
use super::packed::{PackedProbe, PackedTable};
use crate::error::Result;
use crate::exec::filter::{KeyFilter, collect};
use crate::exec::keys::{KeyTable, RowKeys};
use crate::exec::{BATCH_BYTES, BATCH_ROWS, ExecContext};
use crate::expr::ExprList;
use crate::memory::{Refused, Reservation};
use crate::plan::JoinKind;

/// Fewer rows are left in their order: they stay in a cache.
const TOGETHER: usize = if cfg!(test) { 8 } else { 16 << 10 };

/// No row.
pub(super) const NONE: u32 = u32::MAX;

/// Rows, and a list of those of each key.
#[derive(Default)]
pub(super) struct Build {
    pub rows: Batch,
    index: Index,
    /// Per row the next one of the same key.
    next: Vec<u32>,
    /// No row has a next one.
    pub is_unique: bool,
    /// Per row whether it has had a partner; kept where that matters.
    pub matched: Vec<AtomicBool>,
    /// Parts of the join that may still find partners.
    pub unfinished: AtomicUsize,
    /// A batch of pairs may become too large.
    pub has_long_values: bool,
    held: Option<Reservation>,
    keys: Batch,
}

/// The first row of each key.
#[derive(Default)]
enum Index {
    /// There are no keys: all rows are one list.
    #[default]
    None,
    Integers(IntegerTable),
    Packed(PackedTable),
    Bytes(BytesTable),
}

/// Rows by the bytes of their keys.
#[derive(Default)]
struct BytesTable {
    table: KeyTable,
    /// First and last row of each key.
    ends: Vec<(u32, u32)>,
    encoded: RowKeys,
}

impl BytesTable {
    /// Adds the rows from `first` on, whose keys these are, encoded; whether each key is new.
    fn add(&mut self, keys: &Batch, first: u32, next: &mut [u32]) -> bool {
        let mut all_new = true;
        for row in 0..keys.rows {
            if keys.columns.iter().any(|column| column.is_null(row)) {
                continue;
            }
            let (number, new) = self.table.find_or_add(self.encoded.hash(row), self.encoded.key(row));
            let at = first + row as u32;
            if new {
                self.ends.push((at, at));
            } else {
                let (_, last) = &mut self.ends[number as usize];
                next[std::mem::replace(last, at) as usize] = at;
                all_new = false;
            }
        }
        all_new
    }
}

/// What looking up needs for a moment.
#[derive(Default)]
pub(super) struct FindScratch {
    encoded: RowKeys,
    packed: PackedProbe,
}

impl Build {
    /// No rows yet, of these types; `left_keys` are the types of the expressions that the right ones are to be equal to.
    pub fn new(
        cx: &ExecContext<'_>,
        types: &[SqlType],
        what: &'static str,
        (left_keys, right_keys): (&[SqlType], &[SqlType]),
    ) -> Build {
        let index = match (left_keys, right_keys) {
            (_, []) => Index::None,
            ([left], [right]) if IntegerTable::takes(left, right) => {
                Index::Integers(IntegerTable::new(right.physical()))
            }
            (left, right) if PackedTable::takes(left, right) => Index::Packed(PackedTable::new(right)),
            _ => Index::Bytes(BytesTable::default()),
        };
        Build {
            rows: Batch::of_types(types),
            held: Some(cx.reserve(what)),
            index,
            is_unique: !right_keys.is_empty(),
            keys: Batch::of_types(right_keys),
            ..Build::default()
        }
    }

    /// Adds rows; the inner result tells whether there is room for them, and nothing has happened if there is not.
    pub fn add(
        &mut self,
        cx: &ExecContext<'_>,
        exprs: &mut ExprList,
        batch: &Batch,
    ) -> Result<std::result::Result<(), Refused>> {
        if !matches!(self.index, Index::None) {
            exprs.eval(&cx.eval(), batch, &mut self.keys)?;
        }
        let count = self.rows.rows + batch.rows;
        let index = match &mut self.index {
            Index::None => 0,
            Index::Integers(table) => table.bytes_with(batch.rows),
            // Both forms: it is known at the end only whether the keys can be packed.
            Index::Packed(table) => {
                let bytes = 9 * exprs.types().len() * count;
                table
                    .bytes_with(batch.rows)
                    .max(KeyTable::default().bytes_with(count, bytes) + 16 * count + bytes)
            }
            Index::Bytes(BytesTable { table, encoded, .. }) => {
                // At most: all keys are new.
                encoded.fill(&self.keys, exprs.types(), None, None);
                table.bytes_with(batch.rows, encoded.key_bytes()) + 16 * count
            }
        };
        let bytes = self.rows.bytes_with(batch) + index + 2 * 5 * count;
        if let Some(held) = &mut self.held
            && let Err(refused) = held.try_resize(bytes as u64)
        {
            return Ok(Err(refused));
        }
        let first = self.rows.rows as u32;
        self.rows.append(batch);
        self.has_long_values |= self.rows.variable_bytes() > BATCH_BYTES / BATCH_ROWS
            && batch
                .columns
                .iter()
                .filter_map(|column| column.data.bytes())
                .any(|bytes| bytes.longest() > BATCH_BYTES / BATCH_ROWS);
        self.next.resize(self.rows.rows, NONE);
        match &mut self.index {
            Index::None => {
                for row in first.max(1)..self.rows.rows as u32 {
                    self.next[row as usize - 1] = row;
                }
            }
            Index::Integers(table) => table.push(&self.keys.columns[0]),
            Index::Packed(table) => table.keys.append(&self.keys),
            Index::Bytes(table) => self.is_unique &= table.add(&self.keys, first, &mut self.next),
        }
        Ok(Ok(()))
    }

    /// All rows are there; the types are those of their keys.
    pub fn finish(&mut self, kind: JoinKind, types: &[SqlType]) {
        let before = self.held.as_ref().map_or(0, Reservation::bytes);
        let together = !kind.pads_left() && self.may_bring_together();
        let made = match &mut self.index {
            Index::Integers(table) => Some(table.finish(&mut self.next, together)),
            Index::Packed(table) => match table.finish(&mut self.next, together) {
                Some(made) => Some(made),
                None => {
                    let keys = std::mem::take(&mut table.keys);
                    let mut table = BytesTable::default();
                    table.encoded.fill(&keys, types, None, None);
                    let unique = table.add(&keys, 0, &mut self.next);
                    table.encoded = RowKeys::default();
                    self.index = Index::Bytes(table);
                    Some((unique, None))
                }
            },
            Index::None | Index::Bytes(_) => None,
        };
        if let Some((unique, order)) = made {
            self.is_unique = unique;
            if let Some(order) = order {
                self.rows.columns.iter_mut().for_each(|column| *column = column.gather(&order));
                self.rows.rows = order.len();
            }
        }
        if together && let Some(held) = &mut self.held {
            // Less than it was.
            let _ = held.try_resize(before);
        }
        self.unfinished = AtomicUsize::new(1);
        if kind.pads_left() {
            self.matched.resize_with(self.rows.rows, AtomicBool::default);
        }
    }

    /// Whether the rows of each key may be brought one behind the other, so that a search for them does not go all over the memory: if
    /// values are short, and there is room for both orders for a while, which is charged now.
    fn may_bring_together(&mut self) -> bool {
        let by_integers = matches!(self.index, Index::Integers(_) | Index::Packed(_));
        let variable = self.rows.columns.iter().any(|column| column.data.bytes().is_some());
        let wanted = by_integers && !variable && self.rows.rows > TOGETHER;
        let Some(held) = self.held.as_mut().filter(|_| wanted) else { return false };
        let more = self.rows.heap_bytes() as u64 + 4 * self.rows.rows as u64;
        held.try_resize(held.bytes() + more).is_ok()
    }

    /// The first candidate of each of the rows whose keys these are.
    pub fn find(&self, keys: &Batch, types: &[SqlType], scratch: &mut FindScratch, heads: &mut Vec<u32>) {
        match &self.index {
            Index::None => heads.resize(keys.rows, if self.rows.rows > 0 { 0 } else { NONE }),
            Index::Integers(table) => table.find(&keys.columns[0], heads),
            Index::Packed(table) => table.find(keys, &mut scratch.packed, heads),
            Index::Bytes(BytesTable { table, ends, .. }) => {
                let encoded = &mut scratch.encoded;
                encoded.fill(keys, types, None, None);
                let any_nulls = keys.columns.iter().any(|column| column.nulls.any());
                heads.extend((0..keys.rows).map(|row| {
                    if any_nulls && keys.columns.iter().any(|column| column.is_null(row)) {
                        return NONE;
                    }
                    let found = table.find(encoded.hash(row), encoded.key(row));
                    found.map_or(NONE, |number| ends[number as usize].0)
                }));
            }
        }
    }

    /// The set of the keys, where they are integers that lie close together.
    pub fn filter(&self, cx: &ExecContext<'_>) -> Option<Arc<KeyFilter>> {
        match &self.index {
            Index::Integers(table) => table.filter(cx),
            Index::None | Index::Packed(_) | Index::Bytes(_) => None,
        }
    }

    /// The set of the integers of a column, where they lie close together.
    pub fn filter_of(&self, cx: &ExecContext<'_>, column: usize) -> Option<Arc<KeyFilter>> {
        let mut held = cx.reserve("a filter of a join");
        held.try_resize(8 * self.rows.rows as u64).ok()?;
        let mut keys = Vec::with_capacity(self.rows.rows);
        let taken = collect(&self.rows.columns[column], &mut keys);
        if taken { KeyFilter::new(cx, keys.iter().copied()) } else { None }
    }

    /// The candidate after this one.
    #[inline]
    pub fn next_of(&self, row: u32) -> u32 {
        self.next[row as usize]
    }
}
