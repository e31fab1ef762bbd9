//! GROUP BY over rows that come group by group: a group comes out when the next one begins.
//!
//! ```text
//! rows of a batch   a a b b b c ─► groups a, b come out; c may go on in the next batch
//! ```
//!
//! O1. Rows with the same keys come one behind the other; so the plan says, which knows of an order of the input.
//! O2. The groups of one batch of rows are held, and no more rows are read than the groups wanted need.
//!
//! What it yields is what [`GroupOperator`](super::GroupOperator) yields.

use verso_types::{Batch, SqlType};

use super::super::aggregate::Call;
use super::super::keys::RowKeys;
use super::super::operator::Operator;
use super::super::overflow::Overflow;
use super::super::{BATCH_BYTES, BATCH_ROWS, ExecContext};
use crate::aggregate::GroupStates;
use crate::error::Result;
use crate::expr::{Executor, ExprList};
use crate::memory::Reservation;
use crate::plan::{AggregateCall, TypedExpr};

/// Groups of rows that stand together.
pub(crate) struct SortedGroupOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    input_types: Vec<SqlType>,
    keys: ExprList,
    key_batch: Batch,
    encoded: RowKeys,
    calls: Vec<Call>,
    /// The keys of the groups at hand, and their states by call.
    groups: Batch,
    states: Vec<GroupStates>,
    /// The key of the last group, which may go on.
    last: Vec<u8>,
    /// The next group to come out.
    next: usize,
    held: Option<Reservation>,
    /// Rows of the first group, if it is too large.
    overflow: Overflow,
    types: Vec<SqlType>,
    /// How many groups the next call is for at most.
    bound: Option<u64>,
    /// No row is asked for that is not needed: functions of the input do something.
    steps: bool,
    /// The input has ended: the last group is whole.
    ended: bool,
}

impl SortedGroupOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        group_by: &[TypedExpr],
        aggregates: &[AggregateCall],
        executor: Executor,
    ) -> Self {
        let keys = ExprList::compile(group_by, executor);
        let results = aggregates.iter().map(|call| call.ty.clone());
        Self {
            input,
            batch: Batch::of_types(types),
            input_types: types.to_vec(),
            key_batch: Batch::of_types(keys.types()),
            encoded: RowKeys::default(),
            calls: aggregates.iter().map(|call| Call::new(call, executor)).collect(),
            groups: Batch::of_types(keys.types()),
            states: Vec::new(),
            last: Vec::new(),
            next: 0,
            held: None,
            overflow: Overflow::default(),
            types: keys.types().iter().cloned().chain(results).collect(),
            keys,
            bound: None,
            steps: false,
            ended: false,
        }
    }

    /// Over an input whose functions do something, which are called for no row too many.
    pub fn stepping(self, steps: bool) -> Self {
        Self { steps, ..self }
    }

    /// How many groups are whole.
    fn whole(&self) -> usize {
        if self.ended { self.groups.rows } else { self.groups.rows.saturating_sub(1) }
    }

    /// Forgets the groups that have come out: all but the last one.
    fn forget(&mut self) {
        if let Some(kept) = self.groups.rows.checked_sub(1).filter(|kept| *kept > 0) {
            for (call, states) in self.calls.iter().zip(&mut self.states) {
                let last = states.split_off(kept);
                *states = GroupStates::new(&call.call);
                last.into_iter().for_each(|state| states.push_state(state));
            }
            self.groups = self.groups.gather(&[kept as u32]);
            self.overflow = Overflow::default();
        }
        self.next = 0;
    }

    /// Feeds the next batch of rows to the groups.
    fn advance(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if !self.input.next(cx, &mut self.batch)? {
            self.ended = true;
            self.input.close();
            return Ok(());
        }
        self.keys.eval(&cx.eval(), &self.batch, &mut self.key_batch)?;
        self.encoded.fill(&self.key_batch, self.keys.types(), None, None);
        for call in &mut self.calls {
            call.evaluate(cx, &self.batch)?;
        }
        let mut group_of_row = Vec::with_capacity(self.batch.rows);
        for row in 0..self.batch.rows {
            let key = self.encoded.key(row);
            let begins = match row {
                0 => self.groups.rows == 0 || self.last != key,
                _ => self.encoded.key(row - 1) != key,
            };
            if begins {
                self.states.iter_mut().for_each(|states| states.push(1));
                for (from, to) in self.key_batch.columns.iter().zip(&mut self.groups.columns) {
                    to.append_range(from, row..row + 1);
                }
                self.groups.rows += 1;
            }
            group_of_row.push(self.groups.rows as u32 - 1);
        }
        if let Some(row) = self.batch.rows.checked_sub(1) {
            self.last.clear();
            self.last.extend_from_slice(self.encoded.key(row));
        }
        for (call, states) in self.calls.iter().zip(&mut self.states) {
            if call.feed_groups(states, &self.batch, &group_of_row)? {
                continue;
            }
            for row in call.rows(group_of_row.len()) {
                states.with(group_of_row[row], |accumulator| call.add_row(accumulator, &self.batch, row))?;
            }
        }
        self.charge(cx)
    }

    /// Charges what the groups hold; refused, the rows of the first one go to a file: all others are of the last batch.
    fn charge(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let held = self.held.get_or_insert_with(|| cx.reserve("GROUP BY"));
        let bytes = |groups: &Batch, states: &[GroupStates]| {
            (groups.heap_bytes() + states.iter().map(GroupStates::heap_bytes).sum::<usize>()) as u64
        };
        let Err(refused) = held.try_resize(bytes(&self.groups, &self.states)) else { return Ok(()) };
        let mut of_first = 0;
        for (at, (call, states)) in self.calls.iter().zip(&mut self.states).enumerate() {
            if call.keeps_rows() {
                states.with(0, |state| self.overflow.take(cx, at, call, state))?;
            }
            of_first += states.bytes_of(0);
        }
        if of_first as u64 > held.limit_bytes() || !self.calls.iter().any(Call::keeps_rows) {
            return Err(refused.error(held.what()));
        }
        held.hold(bytes(&self.groups, &self.states));
        Ok(())
    }

    /// Yields groups that are whole, as many as fit a batch and `wanted` at most.
    fn finish(&mut self, cx: &ExecContext<'_>, wanted: usize, out: &mut Batch) -> Result<()> {
        let keys = self.keys.types().len();
        let end = self.whole().min(self.next + wanted);
        while self.next < end && out.variable_bytes() < BATCH_BYTES {
            let group = self.next;
            for (from, to) in self.groups.columns.iter().zip(&mut out.columns) {
                to.append_range(from, group..group + 1);
            }
            for (at, (call, states)) in self.calls.iter().zip(&mut self.states).enumerate() {
                let state = states.take(group);
                let value = match group {
                    0 => self.overflow.finish(cx, at, call, state)?,
                    _ => call.finish(cx, state)?,
                };
                out.columns[keys + at].push_value(&value, &self.types[keys + at])?;
            }
            out.rows += 1;
            self.next += 1;
        }
        Ok(())
    }
}

impl Operator for SortedGroupOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        self.states = self.calls.iter().map(|call| GroupStates::new(&call.call)).collect();
        self.input.open(cx)
    }

    fn bound(&mut self, rows: u64) {
        self.bound = Some(rows);
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bound = self.bound.take();
        let wanted = bound.map_or(BATCH_ROWS, |bound| bound.clamp(1, BATCH_ROWS as u64) as usize);
        // A group ends with the first row of the next one. How long groups are is not known: more rows each time.
        let mut rows = wanted as u64 + 1;
        out.clear();
        loop {
            cx.check_cancelled()?;
            if self.next < self.whole() {
                self.finish(cx, wanted, out)?;
                return Ok(true);
            }
            if self.ended {
                return Ok(false);
            }
            self.forget();
            if bound.is_some() {
                self.input.bound(if self.steps { 1 } else { rows });
                rows = rows.saturating_mul(2);
            }
            self.advance(cx)?;
        }
    }

    fn close(&mut self) {
        self.input.close();
        self.batch = Batch::of_types(&self.input_types);
        self.groups = Batch::of_types(self.keys.types());
        self.states = Vec::new();
        self.last = Vec::new();
        self.held = None;
        self.overflow = Overflow::default();
        self.bound = None;
        (self.next, self.ended) = (0, false);
    }
}
