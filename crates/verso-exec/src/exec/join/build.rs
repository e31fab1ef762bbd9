//! The right rows of a join in memory.
//!
//! ```text
//! one integer key:  key ─► places of a table of integers (an array by the key where they lie close together) ─► first row
//! any other keys:   bytes ─► number of the key ─► first row                                     first row ─► next ─► …
//! ```

use std::sync::Arc;

use verso_types::{Batch, SqlType};

use super::integers::IntegerTable;
use crate::error::Result;
use crate::exec::filter::KeyFilter;
use crate::exec::keys::{KeyTable, RowKeys};
use crate::exec::{BATCH_BYTES, BATCH_ROWS, ExecContext};
use crate::expr::ExprList;
use crate::memory::{Refused, Reservation};
use crate::plan::JoinKind;

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
    pub matched: Vec<bool>,
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
    Bytes {
        table: KeyTable,
        /// First and last row of each key.
        ends: Vec<(u32, u32)>,
        encoded: RowKeys,
    },
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
            _ => Index::Bytes { table: KeyTable::default(), ends: Vec::new(), encoded: RowKeys::default() },
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
            Index::Bytes { table, encoded, .. } => {
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
            Index::Bytes { table, ends, encoded } => {
                for row in 0..batch.rows {
                    if self.keys.columns.iter().any(|column| column.is_null(row)) {
                        continue;
                    }
                    let (number, new) = table.find_or_add(encoded.hash(row), encoded.key(row));
                    let at = first + row as u32;
                    if new {
                        ends.push((at, at));
                    } else {
                        let (_, last) = &mut ends[number as usize];
                        self.next[std::mem::replace(last, at) as usize] = at;
                        self.is_unique = false;
                    }
                }
            }
        }
        Ok(Ok(()))
    }

    /// All rows are there.
    pub fn finish(&mut self, kind: JoinKind) {
        if let Index::Integers(table) = &mut self.index {
            self.is_unique = table.finish(&mut self.next);
        }
        if kind.pads_left() {
            self.matched = vec![false; self.rows.rows];
        }
    }

    /// The first candidate of each of the rows whose keys these are; `encoded` is for their bytes.
    pub fn find(&self, keys: &Batch, types: &[SqlType], encoded: &mut RowKeys, heads: &mut Vec<u32>) {
        match &self.index {
            Index::None => heads.resize(keys.rows, if self.rows.rows > 0 { 0 } else { NONE }),
            Index::Integers(table) => table.find(&keys.columns[0], heads),
            Index::Bytes { table, ends, .. } => {
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
            Index::None | Index::Bytes { .. } => None,
        }
    }

    /// The candidate after this one.
    #[inline]
    pub fn next_of(&self, row: u32) -> u32 {
        self.next[row as usize]
    }
}
