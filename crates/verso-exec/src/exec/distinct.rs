//! DISTINCT: the first of equal rows.

use std::collections::HashSet;

use verso_types::{Batch, SqlType};

use super::operator::Operator;
use super::{ExecContext, key, spool};
use crate::error::Result;

/// Keeps the keys of the rows it has passed on.
pub(crate) struct DistinctOperator {
    input: Box<dyn Operator>,
    types: Vec<SqlType>,
    seen: HashSet<Box<[u8]>>,
    bytes: u64,
    selection: Vec<u32>,
    key: Vec<u8>,
}

impl DistinctOperator {
    pub fn new(input: Box<dyn Operator>, types: Vec<SqlType>) -> Self {
        Self { input, types, seen: HashSet::new(), bytes: 0, selection: Vec::new(), key: Vec::new() }
    }
}

impl Operator for DistinctOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        self.input.open(cx)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        while self.input.next(cx, out)? {
            self.selection.clear();
            for row in 0..out.rows {
                self.key.clear();
                key::encode(out, &self.types, row, &mut self.key);
                if !self.seen.contains(&self.key[..]) {
                    self.bytes += self.key.len() as u64 + 32;
                    self.seen.insert(self.key.as_slice().into());
                    self.selection.push(row as u32);
                }
            }
            spool::check_memory(cx, "DISTINCT", self.bytes)?;
            if !self.selection.is_empty() {
                out.filter(&self.selection);
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn close(&mut self) {
        self.input.close();
        self.seen = HashSet::new();
        self.bytes = 0;
    }
}
