//! DISTINCT and DISTINCT ON: the first of equal rows.

use std::collections::HashSet;

use verso_types::{Batch, SqlType};

use super::operator::Operator;
use super::{ExecContext, key, spool};
use crate::error::Result;
use crate::expr::{Executor, ExprList};
use crate::plan::TypedExpr;

/// Keeps the keys of the rows it has passed on.
pub(crate) struct DistinctOperator {
    input: Box<dyn Operator>,
    types: Vec<SqlType>,
    /// What tells rows apart; none where all columns do.
    keys: Option<(ExprList, Batch)>,
    seen: HashSet<Box<[u8]>>,
    bytes: u64,
    selection: Vec<u32>,
    key: Vec<u8>,
}

impl DistinctOperator {
    pub fn new(input: Box<dyn Operator>, types: Vec<SqlType>) -> Self {
        Self {
            input,
            types,
            keys: None,
            seen: HashSet::new(),
            bytes: 0,
            selection: Vec::new(),
            key: Vec::new(),
        }
    }

    /// The first of the rows that are equal in the keys.
    pub fn on(input: Box<dyn Operator>, keys: &[TypedExpr], executor: Executor) -> Self {
        let keys = ExprList::compile(keys, executor);
        let types = keys.types().to_vec();
        let batch = Batch::of_types(&types);
        Self { keys: Some((keys, batch)), ..Self::new(input, types) }
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
            let told = match &mut self.keys {
                None => &*out,
                Some((keys, batch)) => {
                    keys.eval(&cx.eval(), out, batch)?;
                    batch
                }
            };
            for row in 0..told.rows {
                self.key.clear();
                key::encode(told, &self.types, row, &mut self.key);
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
