//! The right rows of a join in memory.

use verso_types::{Batch, SqlType};

use crate::error::Result;
use crate::exec::keys::{self, KeyTable};
use crate::exec::{BATCH_BYTES, BATCH_ROWS, ExecContext, key};
use crate::expr::ExprList;
use crate::memory::{Refused, Reservation};
use crate::plan::JoinKind;

/// No row.
pub(super) const NONE: u32 = u32::MAX;

/// Rows, and a list of those of each key.
#[derive(Default)]
pub(super) struct Build {
    pub rows: Batch,
    table: KeyTable,
    /// First and last row of each key.
    ends: Vec<(u32, u32)>,
    /// Per row the next one of the same key.
    next: Vec<u32>,
    /// Per row whether it has had a partner; kept where that matters.
    pub matched: Vec<bool>,
    /// A batch of pairs may become too large.
    pub has_long_values: bool,
    held: Option<Reservation>,
    keys: Batch,
    encoded: Vec<u8>,
}

impl Build {
    pub fn new(cx: &ExecContext<'_>, types: &[SqlType], what: &'static str) -> Build {
        Build { rows: Batch::of_types(types), held: Some(cx.reserve(what)), ..Build::default() }
    }

    /// Adds rows; the inner result tells whether there is room for them, and nothing has happened if there is not.
    pub fn add(
        &mut self,
        cx: &ExecContext<'_>,
        exprs: &mut ExprList,
        batch: &Batch,
    ) -> Result<std::result::Result<(), Refused>> {
        let keyed = !exprs.types().is_empty();
        if keyed {
            if self.keys.columns.len() != exprs.types().len() {
                self.keys = Batch::of_types(exprs.types());
            }
            exprs.eval(&cx.eval(), batch, &mut self.keys)?;
        }
        // At most: all keys are new.
        let count = self.rows.rows + batch.rows;
        let table =
            self.table.heap_bytes() + if keyed { 2 * self.keys.heap_bytes() + 64 * batch.rows } else { 0 };
        let table = if keyed { table.max(self.table.bytes_with(self.keys.heap_bytes())) } else { table };
        let bytes = self.rows.bytes_with(batch) + table + 2 * 13 * count;
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
        if !keyed {
            for row in first..self.rows.rows as u32 {
                if row > 0 {
                    self.next[row as usize - 1] = row;
                }
            }
            return Ok(Ok(()));
        }
        for row in 0..batch.rows {
            if self.keys.columns.iter().any(|column| column.is_null(row)) {
                continue;
            }
            self.encoded.clear();
            key::encode(&self.keys, exprs.types(), row, &mut self.encoded);
            let (number, new) = self.table.find_or_add(keys::hash(&self.encoded), &self.encoded);
            let at = first + row as u32;
            if new {
                self.ends.push((at, at));
            } else {
                let (_, last) = &mut self.ends[number as usize];
                self.next[std::mem::replace(last, at) as usize] = at;
            }
        }
        Ok(Ok(()))
    }

    /// All rows are there.
    pub fn finish(&mut self, kind: JoinKind) {
        if kind.pads_left() {
            self.matched = vec![false; self.rows.rows];
        }
    }

    /// The first candidate of each of the rows whose keys these are.
    pub fn find(&mut self, keys: &Batch, types: &[SqlType], heads: &mut Vec<u32>) {
        for row in 0..keys.rows {
            if keys.columns.iter().any(|column| column.is_null(row)) {
                heads.push(NONE);
                continue;
            }
            self.encoded.clear();
            key::encode(keys, types, row, &mut self.encoded);
            let found = self.table.find(keys::hash(&self.encoded), &self.encoded);
            heads.push(found.map_or(NONE, |number| self.ends[number as usize].0));
        }
    }

    /// The candidate after this one.
    #[inline]
    pub fn next_of(&self, row: u32) -> u32 {
        self.next[row as usize]
    }
}
