//! Apply: for each left row the right input is opened anew, with what it needs of that row handed in (P5).
//!
//! A1. Pairs come out in the order of the left input; where the right one has none for a left row, a left join yields
//!     the row alone.
//! A2. Nothing else is held but one batch of each input: a right input that is an index scan makes this an index nested loop.
//!     Rows of the right input are kept for left rows that hand in the same values, as far as they are few ([`memo`](super::memo)).
//! A3. Several workers take some of the left rows each, and open copies of the right input, where those find their rows through
//!     an index.

use std::sync::Arc;

use verso_env::stack;
use verso_types::{Batch, Column, SqlType, Value};

use super::beside::Beside;
use super::memo::{Looked, Memo, Ticket};
use super::operator::{Bounded, Operator};
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext};
use crate::error::Result;
use crate::expr::{Executor, ExprList, Predicate, RowInput};
use crate::plan::{JoinKind, TypedExpr};

/// For each left row the rows of a plan that depends on it.
pub(crate) struct ApplyOperator {
    left: Box<dyn Operator>,
    right: Box<dyn Operator>,
    kind: JoinKind,
    outer: ExprList,
    filter: Option<Predicate>,
    left_rows: Batch,
    right_rows: Batch,
    /// How many of the right rows have been paired with the left row under way.
    paired: usize,
    pairs: Batch,
    /// Left columns beside their partners; those that only `outer` reads are not copied.
    beside: Beside,
    /// The left row whose partners are being read.
    row: usize,
    values: Option<Vec<Value>>,
    /// The rows that a left row with the same values has found, and how many batches of them have been taken.
    known: Option<(Arc<Vec<Batch>>, usize)>,
    memo: Memo<Arc<Vec<Batch>>>,
    /// What is to be kept of the left row under way.
    noted: Option<Noted>,
    matched: bool,
    selection: Vec<u32>,
    bounded: Bounded,
    /// Of left rows, right rows and pairs.
    types: [Vec<SqlType>; 3],
    /// Workers may compute what is handed in, and the filter.
    is_safe: bool,
    /// Functions of the filter do something: it is asked of one pair at a time where not all may be wanted.
    steps: bool,
}

/// The rows of the right input so far.
struct Noted {
    ticket: Ticket,
    batches: Vec<Batch>,
    bytes: u64,
}

impl ApplyOperator {
    pub fn new(
        left: (Box<dyn Operator>, Vec<SqlType>),
        right: (Box<dyn Operator>, Vec<SqlType>),
        kind: JoinKind,
        (outer, may_keep): (&[TypedExpr], bool),
        (filter, unread): (Option<&TypedExpr>, &[usize]),
        executor: Executor,
    ) -> Self {
        let types: Vec<SqlType> = left.1.iter().chain(&right.1).cloned().collect();
        Self {
            kind,
            outer: ExprList::compile(outer, Executor::Row), // one row each: closures
            filter: filter.map(|filter| Predicate::compile(filter, executor)),
            left_rows: Batch::of_types(&left.1),
            right_rows: Batch::of_types(&right.1),
            paired: 0,
            pairs: Batch::of_types(&types),
            beside: Beside::new(left.1.len(), unread),
            left: left.0,
            right: right.0,
            row: 0,
            values: None,
            known: None,
            memo: Memo::new(may_keep),
            noted: None,
            matched: false,
            selection: Vec::new(),
            bounded: Bounded::default(),
            types: [left.1, right.1, types],
            is_safe: outer.iter().chain(filter).all(TypedExpr::is_parallel_safe),
            steps: filter.is_some_and(TypedExpr::acts),
        }
    }

    /// The same over other inputs of the same kind.
    fn over(&self, left: Box<dyn Operator>, right: Box<dyn Operator>) -> Self {
        let [left_types, right_types, types] = &self.types;
        Self {
            left,
            right,
            kind: self.kind,
            outer: self.outer.clone(),
            filter: self.filter.clone(),
            left_rows: Batch::of_types(left_types),
            right_rows: Batch::of_types(right_types),
            paired: 0,
            pairs: Batch::of_types(types),
            beside: self.beside.clone(),
            row: 0,
            values: None,
            known: None,
            memo: self.memo.of_part(),
            noted: None,
            matched: false,
            selection: Vec::new(),
            bounded: Bounded::default(),
            types: self.types.clone(),
            is_safe: self.is_safe,
            steps: self.steps,
        }
    }

    /// Adds what comes next of a left row's partners. False at the end.
    fn add_pairs(&mut self, cx: &ExecContext<'_>, bounded: bool, out: &mut Batch) -> Result<bool> {
        cx.check_cancelled()?;
        let has_rows = self.paired < self.right_rows.rows;
        if !has_rows && self.values.is_none() && self.known.is_none() {
            return self.advance(cx, bounded);
        }
        if has_rows || self.next_right(cx, bounded)? {
            self.pairs(cx, if bounded && self.steps { 1 } else { usize::MAX })?;
            self.matched |= self.pairs.rows > 0;
            out.append(&self.pairs);
            return Ok(true);
        }
        if !self.matched && self.kind == JoinKind::Left {
            self.lonely(out);
        }
        Ok(true)
    }

    /// The next rows for the left row under way. False at their end.
    fn next_right(&mut self, cx: &ExecContext<'_>, bounded: bool) -> Result<bool> {
        self.right_rows.clear();
        self.paired = 0;
        if let Some((batches, at)) = &mut self.known {
            match batches.get(*at) {
                Some(batch) => {
                    *at += 1;
                    self.right_rows.clone_from(batch);
                    return Ok(true);
                }
                None => self.known = None,
            }
            return Ok(false);
        }
        let Some(values) = &self.values else { return Ok(false) };
        if bounded {
            self.right.bound(1); // one row may be enough
        }
        if self.right.next(&cx.with_outer(values), &mut self.right_rows)? {
            if let Some(noted) = &mut self.noted {
                noted.bytes += (self.right_rows.heap_bytes() + size_of::<Batch>()) as u64;
                if noted.bytes > self.memo.answer_max(cx) {
                    self.noted = None;
                } else {
                    noted.batches.push(self.right_rows.clone());
                }
            }
            return Ok(true);
        }
        self.right.close();
        self.values = None;
        if let Some(noted) = self.noted.take() {
            self.memo.keep(cx, noted.ticket, Arc::new(noted.batches), noted.bytes);
        }
        Ok(false)
    }

    /// Goes to the next left row and opens the right input for it. False at the end.
    fn advance(&mut self, cx: &ExecContext<'_>, bounded: bool) -> Result<bool> {
        self.row += 1;
        while self.row >= self.left_rows.rows {
            if bounded {
                self.left.bound(1);
            }
            if !self.left.next(cx, &mut self.left_rows)? {
                return Ok(false);
            }
            self.row = 0;
        }
        let input = RowInput::new(&self.left_rows, self.row);
        let values = self.outer.eval_row(&cx.eval(), input)?;
        self.matched = false;
        self.noted = match self.memo.find(&values) {
            Looked::Known(known) => {
                self.known = Some((Arc::clone(known), 0));
                looked_up(cx, true);
                return Ok(true);
            }
            Looked::Asked(ticket) => {
                looked_up(cx, false);
                Some(Noted { ticket, batches: Vec::new(), bytes: 0 })
            }
            Looked::Alone => None,
        };
        self.right.open(&cx.with_outer(&values))?;
        self.values = Some(values);
        Ok(true)
    }

    /// The partners in `right_rows` that pass the filter: of the next of these, as many as fit a batch beside long values, `most` at
    /// most.
    fn pairs(&mut self, cx: &ExecContext<'_>, most: usize) -> Result<()> {
        let fitting = self.beside.most(&self.left_rows, self.row);
        let rows = (self.right_rows.rows - self.paired).min(fitting).min(most);
        self.pairs.clear();
        let (left, right) = self.pairs.columns.split_at_mut(self.left_rows.columns.len());
        self.beside.repeat(&self.left_rows, self.row, rows, left);
        let partners = self.paired..self.paired + rows;
        for (from, to) in self.right_rows.columns.iter().zip(right) {
            to.append_range(from, partners.clone());
        }
        self.paired = partners.end;
        self.pairs.rows = rows;
        if let Some(filter) = &mut self.filter {
            if let Some(error) = filter.select(&cx.eval(), &self.pairs, &mut self.selection) {
                return Err(error);
            }
            self.pairs.filter(&self.selection);
        }
        Ok(())
    }

    /// The left row alone.
    fn lonely(&self, out: &mut Batch) {
        let (left, right) = out.columns.split_at_mut(self.left_rows.columns.len());
        self.beside.repeat(&self.left_rows, self.row, 1, left);
        right.iter_mut().for_each(Column::push_null);
        out.rows += 1;
    }
}

/// EXPLAIN ANALYZE is told whether the rows were known.
fn looked_up(cx: &ExecContext<'_>, was_known: bool) {
    if let Some(probes) = cx.probes {
        probes.looked_up(None, was_known);
    }
}

impl Operator for ApplyOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        self.close();
        self.left.open(cx)
    }

    fn bound(&mut self, rows: u64) {
        self.bounded.set(rows);
    }

    fn keep_order(&mut self) -> bool {
        self.left.keep_order()
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        out.clear();
        let bound = self.bounded.begin()?;
        let wanted = bound.unwrap_or(u64::MAX).min(BATCH_ROWS as u64);
        while (out.rows as u64) < wanted && out.variable_bytes() < BATCH_BYTES {
            match self.add_pairs(cx, bound.is_some(), out) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    self.bounded.failed(error, out.rows, bound)?;
                    break;
                }
            }
        }
        Ok(out.rows > 0)
    }

    fn shareable(&self) -> Option<u64> {
        self.left.shareable().filter(|_| self.is_safe && self.right.is_portable())
    }

    fn split(&mut self, cx: &ExecContext<'_>, parts: usize) -> Result<Vec<Box<dyn Operator>>> {
        let mut split: Vec<Box<dyn Operator>> = Vec::with_capacity(parts);
        for left in self.left.split(cx, parts)? {
            split.push(Box::new(self.over(left, self.right.copy(cx)?)));
        }
        Ok(split)
    }

    fn close(&mut self) {
        self.left.close();
        self.right.close();
        self.left_rows.clear();
        self.right_rows.clear();
        (self.row, self.paired) = (0, 0);
        (self.values, self.known, self.noted) = (None, None, None);
        self.memo.reset();
        self.bounded = Bounded::default();
    }
}
