//! Semi-joins and anti-joins: left rows that have a partner on the right, or that have none.
//!
//! 1. Inputs are built and parted as those of a [join](super); without equal expressions every right row is a candidate.
//! 2. A NULL in an equal expression has no partner.
//! 3. Left rows come out in their order where the right input fits into memory (`keep_order` says whether it did). Candidates are looked at in rounds, one for
//!    each row that has found no partner yet, so that a row costs no more once it has found one.
//! 4. Of a part that is joined in chunks, left rows come out with the last one.

use std::sync::Arc;

use verso_env::stack;
use verso_types::{Batch, SqlType};

use super::build::NONE;
use super::sides::{LeftRows, Sides};
use crate::error::Result;
use crate::exec::filter::{KeyFilter, Reach};
use crate::exec::operator::{Operator, boxed};
use crate::exec::{BATCH_BYTES, BATCH_ROWS, ExecContext};
use crate::expr::{Executor, Predicate};
use crate::plan::{JoinKind, TypedExpr};

/// Left rows with, or without, a partner.
pub(crate) struct SemiOperator {
    sides: Sides,
    filter: Option<Predicate>,
    anti: bool,
    left: LeftRows,
    pairs: Batch,
    /// Per left row whether it has a partner.
    matched: Vec<bool>,
    selection: Vec<u32>,
    bounded: bool,
    both: Vec<SqlType>,
    /// Workers may compute the filter.
    is_safe: bool,
}

impl SemiOperator {
    pub fn new(
        left: (Box<dyn Operator>, Vec<SqlType>),
        right: (Box<dyn Operator>, Vec<SqlType>),
        reads_ahead: bool,
        equal: &[(TypedExpr, TypedExpr)],
        filter: Option<&TypedExpr>,
        anti: bool,
        executor: Executor,
    ) -> Self {
        let both: Vec<SqlType> = left.1.iter().chain(&right.1).cloned().collect();
        Self {
            // What becomes of every left row is asked for.
            sides: Sides::new(left, right, (JoinKind::Left, "a semi-join"), equal, executor)
                .telling(!anti, reads_ahead.then_some(Reach::Scan)),
            filter: filter.map(|filter| Predicate::compile(filter, executor)),
            anti,
            left: LeftRows::default(),
            pairs: Batch::of_types(&both),
            matched: Vec::new(),
            selection: Vec::new(),
            bounded: false,
            both,
            is_safe: filter.is_none_or(TypedExpr::is_parallel_safe),
        }
    }

    /// Which left rows of the batch have a partner among the rows built.
    fn find(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let Self { sides, filter, left: LeftRows { rows, heads, .. }, pairs, matched, selection, .. } = self;
        let build = &sides.build;
        matched.clear();
        let Some(filter) = filter else {
            matched.extend(heads.iter().map(|candidate| *candidate != NONE));
            return Ok(());
        };
        matched.resize(rows.rows, false);
        let long = build.has_long_values || rows.variable_bytes() > BATCH_BYTES / BATCH_ROWS;
        let mut open: Vec<u32> = (0..rows.rows as u32).collect();
        let mut right = Vec::new();
        loop {
            open.retain(|row| !matched[*row as usize] && heads[*row as usize] != NONE);
            if open.is_empty() {
                return Ok(());
            }
            let mut rest = &open[..];
            while !rest.is_empty() {
                cx.check_cancelled()?;
                right.clear();
                let mut bytes = 0;
                for row in rest {
                    let candidate = heads[*row as usize];
                    right.push(candidate);
                    if long {
                        bytes += rows.variable_bytes_at(*row as usize)
                            + build.rows.variable_bytes_at(candidate as usize);
                        if bytes >= BATCH_BYTES {
                            break;
                        }
                    }
                }
                let (now, later) = rest.split_at(right.len());
                rest = later;
                pairs.clear();
                let (ours, theirs) = pairs.columns.split_at_mut(rows.columns.len());
                rows.columns.iter().zip(ours).for_each(|(from, to)| from.gather_into(now, to));
                build.rows.columns.iter().zip(theirs).for_each(|(from, to)| from.gather_into(&right, to));
                pairs.rows = now.len();
                if let Some(error) = filter.select(&cx.eval(), pairs, selection) {
                    return Err(error);
                }
                selection.iter().for_each(|pair| matched[now[*pair as usize] as usize] = true);
                for (row, candidate) in now.iter().zip(&right) {
                    heads[*row as usize] = build.next_of(*candidate);
                }
            }
        }
    }
}

impl Operator for SemiOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        self.close();
        self.left = self.sides.left_rows();
        self.sides.open(cx)
    }

    fn bound(&mut self, _: u64) {
        self.bounded = true;
    }

    fn restrict(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        self.sides.restrict_left(column, filter);
    }

    fn reach(&self, column: usize) -> Reach {
        self.sides.reach_left(column)
    }

    fn keep_order(&mut self) -> bool {
        self.sides.keep_order()
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bounded = std::mem::take(&mut self.bounded);
        loop {
            cx.check_cancelled()?;
            let needs_left = self.anti || self.sides.build.rows.rows > 0;
            if !(needs_left && self.sides.read_left(cx, bounded, &mut self.left)?) {
                if self.sides.tasks.is_parted() && self.sides.next_task(cx)? {
                    continue;
                }
                return Ok(false);
            }
            self.find(cx)?;
            if !self.sides.tasks.note_matched(&mut self.matched) {
                continue;
            }
            let wanted = !self.anti;
            let kept = self.matched.iter().enumerate().filter(|(_, matched)| **matched == wanted);
            self.selection.clear();
            self.selection.extend(kept.map(|(row, _)| row as u32));
            if !self.selection.is_empty() {
                std::mem::swap(out, &mut self.left.rows);
                out.filter(&self.selection);
                return Ok(true);
            }
        }
    }

    fn shareable(&self) -> Option<u64> {
        self.sides.shareable().filter(|_| self.is_safe)
    }

    fn split(&mut self, cx: &ExecContext<'_>, parts: usize) -> Result<Vec<Box<dyn Operator>>> {
        let part = |sides: Sides| SemiOperator {
            left: sides.left_rows(),
            sides,
            filter: self.filter.clone(),
            anti: self.anti,
            pairs: Batch::of_types(&self.both),
            matched: Vec::new(),
            selection: Vec::new(),
            bounded: false,
            both: self.both.clone(),
            is_safe: true,
        };
        Ok(boxed(self.sides.split(cx, parts)?.into_iter().map(part)))
    }

    fn close(&mut self) {
        self.sides.close();
        self.left = LeftRows::default();
        self.bounded = false;
    }
}
