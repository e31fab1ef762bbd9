//! Semi-joins and anti-joins: left rows that have a partner on the right, or that have none.
//!
//! 1. The right input is held in memory, chained by the equal expressions; without these every right row is a candidate.
//! 2. A NULL in an equal expression has no partner.
//! 3. Left rows come out in their order. Candidates are looked at in rounds, one for each row that has found no partner
//!    yet, so that a row costs no more once it has found one.

use std::collections::HashMap;

use verso_env::stack;
use verso_types::{Batch, SqlType};

use super::operator::Operator;
use super::{ExecContext, key};
use crate::error::Result;
use crate::expr::{Executor, ExprList, Predicate};
use crate::memory::Reservation;
use crate::plan::TypedExpr;

/// No row.
const NONE: u32 = u32::MAX;

/// Left rows with, or without, a partner.
pub(crate) struct SemiOperator {
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    right_types: Vec<SqlType>,
    left_keys: ExprList,
    right_keys: ExprList,
    filter: Option<Predicate>,
    anti: bool,
    /// The right rows, the first one of each key, and behind each row the next of the same key.
    rows: Batch,
    heads: HashMap<Box<[u8]>, u32>,
    /// For the right rows.
    held: Option<Reservation>,
    next: Vec<u32>,
    keys: Batch,
    pairs: Batch,
    /// Per left row its next candidate, and whether it has a partner.
    candidates: Vec<u32>,
    matched: Vec<bool>,
    selection: Vec<u32>,
    bounded: bool,
}

impl SemiOperator {
    pub fn new(
        left: (Box<dyn Operator>, Vec<SqlType>),
        right: (Box<dyn Operator>, Vec<SqlType>),
        equal: &[(TypedExpr, TypedExpr)],
        filter: Option<&TypedExpr>,
        anti: bool,
        executor: Executor,
    ) -> Self {
        let left_keys = ExprList::compile(equal.iter().map(|(left, _)| left), executor);
        let both: Vec<SqlType> = left.1.iter().chain(&right.1).cloned().collect();
        Self {
            keys: Batch::of_types(left_keys.types()),
            left_keys,
            right_keys: ExprList::compile(equal.iter().map(|(_, right)| right), executor),
            filter: filter.map(|filter| Predicate::compile(filter, executor)),
            anti,
            rows: Batch::of_types(&right.1),
            left: left.0,
            right: right.0,
            right_types: right.1,
            heads: HashMap::new(),
            held: None,
            next: Vec::new(),
            pairs: Batch::of_types(&both),
            candidates: Vec::new(),
            matched: Vec::new(),
            selection: Vec::new(),
            bounded: false,
        }
    }

    /// Reads the right input to its end.
    fn build(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let mut batch = Batch::of_types(&self.right_types);
        let mut keys = Batch::of_types(self.right_keys.types());
        let (mut encoded, mut bytes) = (Vec::new(), 0);
        self.right.open(cx)?;
        while self.right.next(cx, &mut batch)? {
            cx.check_cancelled()?;
            self.right_keys.eval(&cx.eval(), &batch, &mut keys)?;
            let first = self.rows.rows;
            self.rows.append(&batch);
            for row in 0..batch.rows {
                self.next.push(NONE);
                if keys.columns.iter().any(|column| column.is_null(row)) {
                    continue;
                }
                encoded.clear();
                key::encode(&keys, self.right_keys.types(), row, &mut encoded);
                let at = (first + row) as u32;
                match self.heads.get_mut(encoded.as_slice()) {
                    Some(head) => self.next[at as usize] = std::mem::replace(head, at),
                    None => {
                        bytes += encoded.len() as u64 + 48;
                        self.heads.insert(encoded.as_slice().into(), at);
                    }
                }
            }
            let held = self.rows.heap_bytes() as u64 + bytes + self.next.len() as u64 * 4;
            self.held.get_or_insert_with(|| cx.reserve("a semi-join")).resize(held)?;
        }
        self.right.close();
        Ok(())
    }

    /// Which left rows of a batch have a partner.
    fn find(&mut self, cx: &ExecContext<'_>, batch: &Batch) -> Result<()> {
        self.left_keys.eval(&cx.eval(), batch, &mut self.keys)?;
        self.candidates.clear();
        let mut encoded = Vec::new();
        for row in 0..batch.rows {
            let null = self.keys.columns.iter().any(|column| column.is_null(row));
            encoded.clear();
            if !null {
                key::encode(&self.keys, self.left_keys.types(), row, &mut encoded);
            }
            let head = if null { None } else { self.heads.get(encoded.as_slice()) };
            self.candidates.push(head.copied().unwrap_or(NONE));
        }
        self.matched.clear();
        let Some(filter) = &mut self.filter else {
            self.matched.extend(self.candidates.iter().map(|candidate| *candidate != NONE));
            return Ok(());
        };
        self.matched.resize(batch.rows, false);
        let mut open: Vec<u32> = (0..batch.rows as u32).collect();
        loop {
            cx.check_cancelled()?;
            open.retain(|row| !self.matched[*row as usize] && self.candidates[*row as usize] != NONE);
            if open.is_empty() {
                return Ok(());
            }
            let right: Vec<u32> = open.iter().map(|row| self.candidates[*row as usize]).collect();
            self.pairs.clear();
            let (ours, theirs) = self.pairs.columns.split_at_mut(batch.columns.len());
            batch.columns.iter().zip(ours).for_each(|(from, to)| from.gather_into(&open, to));
            self.rows.columns.iter().zip(theirs).for_each(|(from, to)| from.gather_into(&right, to));
            self.pairs.rows = open.len();
            if let Some(error) = filter.select(&cx.eval(), &self.pairs, &mut self.selection) {
                return Err(error);
            }
            self.selection.iter().for_each(|pair| self.matched[open[*pair as usize] as usize] = true);
            for (row, right) in open.iter().zip(&right) {
                self.candidates[*row as usize] = self.next[*right as usize];
            }
        }
    }
}

impl Operator for SemiOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        self.close();
        self.build(cx)?;
        self.left.open(cx)
    }

    fn bound(&mut self, _: u64) {
        self.bounded = true;
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bounded = std::mem::take(&mut self.bounded);
        loop {
            cx.check_cancelled()?;
            if bounded {
                self.left.bound(1); // one row may be enough
            }
            if (self.rows.rows == 0 && !self.anti) || !self.left.next(cx, out)? {
                return Ok(false);
            }
            self.find(cx, out)?;
            let wanted = !self.anti;
            let kept = self.matched.iter().enumerate().filter(|(_, matched)| **matched == wanted);
            self.selection.clear();
            self.selection.extend(kept.map(|(row, _)| row as u32));
            if !self.selection.is_empty() {
                out.filter(&self.selection);
                return Ok(true);
            }
        }
    }

    fn close(&mut self) {
        self.left.close();
        self.right.close();
        self.rows = Batch::of_types(&self.right_types);
        self.heads = HashMap::new();
        self.held = None;
        self.next = Vec::new();
        self.bounded = false;
    }
}
