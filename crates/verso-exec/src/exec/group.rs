//! GROUP BY.
//!
//! ```text
//! input ─► keys ─► groups in memory ─────────────► rows, in the order in which the groups were met
//!                    │ refused: no further group
//!                    ├─► rows of other groups ─┐
//!                    └─► groups that grow ─────┴─► parts by the hash ─► a pass for each
//! ```
//!
//! H1. Groups come out in the order in which they were met, those of later [passes](Passes) behind those of earlier ones.
//! H2. The rows of a group reach its accumulators in the order of the input, also through files: a group whose state is put
//!     aside stands there before its further rows.

use verso_types::{Batch, Column, SqlType, Value, decode_row, encode_row};

use super::aggregate::Call;
use super::keys::{self, KeyTable};
use super::operator::Operator;
use super::passes::Passes;
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, KEEP_BYTES, key};
use crate::aggregate::Accumulator;
use crate::error::{ExecError, Result};
use crate::expr::{Executor, ExprList};
use crate::memory::{Refused, Reservation};
use crate::plan::{AggregateCall, TypedExpr};

/// A hash table of groups.
pub(crate) struct GroupOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    input_types: Vec<SqlType>,
    keys: ExprList,
    key_batch: Batch,
    calls: Vec<Call>,
    groups: Groups,
    held: Option<Reservation>,
    passes: Passes,
    /// What rows in files consist of: a state, which only groups have; the keys; the columns of the input.
    stored_types: Vec<SqlType>,
    /// What was held when the pass was closed, which may be one batch more than there is room for.
    tolerated: u64,
    collected: bool,
    next: usize,
    types: Vec<SqlType>,
}

#[derive(Default)]
struct Groups {
    table: KeyTable,
    keys: Batch,
    /// `calls.len()` for each group.
    accumulators: Vec<Accumulator>,
    /// What accumulators hold beside themselves.
    states: usize,
}

impl Groups {
    fn heap_bytes(&self) -> u64 {
        let places = self.accumulators.capacity() * size_of::<Accumulator>();
        (self.table.heap_bytes() + self.keys.heap_bytes() + places + self.states) as u64
    }
}

/// A group of rows for a later pass.
const LATER: u32 = u32::MAX;

impl GroupOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        group_by: &[TypedExpr],
        aggregates: &[AggregateCall],
        executor: Executor,
    ) -> Self {
        let keys = ExprList::compile(group_by, executor);
        let output =
            group_by.iter().map(|key| key.ty.clone()).chain(aggregates.iter().map(|call| call.ty.clone()));
        let stored = std::iter::once(SqlType::Bytea).chain(keys.types().iter().cloned());
        Self {
            input,
            batch: Batch::of_types(types),
            key_batch: Batch::of_types(keys.types()),
            stored_types: stored.chain(types.iter().cloned()).collect(),
            keys,
            calls: aggregates.iter().map(|call| Call::new(call, executor)).collect(),
            groups: Groups::default(),
            held: None,
            passes: Passes::default(),
            tolerated: 0,
            collected: false,
            next: 0,
            types: output.collect(),
            input_types: types.to_vec(),
        }
    }

    /// The input in groups: all of it, or the rows of a later pass.
    fn collect(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.groups = Groups { keys: Batch::of_types(self.keys.types()), ..Groups::default() };
        self.next = 0;
        self.held = Some(cx.reserve("GROUP BY"));
        let mut group_of_row = Vec::new();
        let mut stored = Batch::of_types(&self.stored_types);
        loop {
            cx.check_cancelled()?;
            if self.passes.is_later() {
                if !self.passes.read(&mut stored)? {
                    return Ok(());
                }
                self.take_stored(&stored)?;
            } else {
                if !self.input.next(cx, &mut self.batch)? {
                    return Ok(());
                }
                self.keys.eval(&cx.eval(), &self.batch, &mut self.key_batch)?;
            }
            for call in &mut self.calls {
                call.evaluate(cx, &self.batch)?;
            }
            self.find_groups(&mut group_of_row)?;
            self.feed_groups(&group_of_row)?;
            self.charge(cx)?;
        }
    }

    /// Takes rows back from a file: states of groups become groups, the others the batch.
    fn take_stored(&mut self, stored: &Batch) -> Result<()> {
        let (state, rest) = stored.columns.split_first().ok_or_else(broken)?;
        let (keys, input) = rest.split_at(self.keys.types().len());
        let mut encoded = Vec::new();
        let key_rows = Batch { rows: stored.rows, columns: keys.to_vec() };
        for row in (0..stored.rows).filter(|row| !state.is_null(*row)) {
            encoded.clear();
            key::encode(&key_rows, self.keys.types(), row, &mut encoded);
            let (_, new) = self.groups.table.find_or_add(keys::hash(&encoded), &encoded);
            if !new {
                return Err(broken());
            }
            for (from, to) in keys.iter().zip(&mut self.groups.keys.columns) {
                to.append_range(from, row..row + 1);
            }
            self.groups.keys.rows += 1;
            for (call, saved) in self.calls.iter().zip(decode_row(state.bytes_at(row))?) {
                let Value::Record(saved) = saved else { return Err(broken()) };
                let accumulator = Accumulator::load(&call.call, saved.to_vec())?;
                self.groups.states += accumulator.heap_bytes();
                self.groups.accumulators.push(accumulator);
            }
        }
        let rows: Vec<u32> = (0..stored.rows as u32).filter(|row| state.is_null(*row as usize)).collect();
        let taken = |columns: &[Column]| Batch {
            rows: rows.len(),
            columns: columns.iter().map(|column| column.gather(&rows)).collect(),
        };
        self.key_batch = taken(keys);
        self.batch = taken(input);
        Ok(())
    }

    /// The group of each row of the batch; new ones are made, unless the pass is closed: then the rows are put aside.
    fn find_groups(&mut self, group_of_row: &mut Vec<u32>) -> Result<()> {
        group_of_row.clear();
        let closed = self.passes.is_closed();
        let mut encoded = Vec::new();
        let mut later = Vec::new();
        for row in 0..self.key_batch.rows {
            encoded.clear();
            key::encode(&self.key_batch, self.keys.types(), row, &mut encoded);
            let hash = keys::hash(&encoded);
            let group = match self.groups.table.find(hash, &encoded) {
                Some(group) => group,
                None if closed => {
                    later.push((row as u32, hash));
                    LATER
                }
                None => {
                    let group = self.groups.table.add(hash, &encoded);
                    for (from, to) in self.key_batch.columns.iter().zip(&mut self.groups.keys.columns) {
                        to.append_range(from, row..row + 1);
                    }
                    self.groups.keys.rows += 1;
                    self.groups
                        .accumulators
                        .extend(self.calls.iter().map(|call| Accumulator::new(&call.call)));
                    group
                }
            };
            group_of_row.push(group);
        }
        if later.is_empty() {
            return Ok(());
        }
        let mut state = Column::new(SqlType::Bytea.physical());
        state.push_nulls(self.batch.rows);
        let columns = std::iter::once(state)
            .chain(std::mem::take(&mut self.key_batch.columns))
            .chain(std::mem::take(&mut self.batch.columns));
        let mut stored = Batch { rows: self.batch.rows, columns: columns.collect() };
        self.passes.put(&stored, later.into_iter())?;
        // The columns go back where they came from.
        self.batch.columns = stored.columns.split_off(1 + self.keys.types().len());
        self.key_batch.columns = stored.columns.split_off(1);
        Ok(())
    }

    fn feed_groups(&mut self, group_of_row: &[u32]) -> Result<()> {
        let width = self.calls.len();
        for (at, call) in self.calls.iter().enumerate() {
            for row in call.rows(group_of_row.len()) {
                if group_of_row[row] == LATER {
                    continue;
                }
                let accumulator = &mut self.groups.accumulators[group_of_row[row] as usize * width + at];
                let before = accumulator.heap_bytes();
                call.add_row(accumulator, &self.batch, row)?;
                self.groups.states += accumulator.heap_bytes();
                self.groups.states -= before;
            }
        }
        Ok(())
    }

    /// Charges what the groups hold; refused, the pass is closed, and if that is not enough the younger half of the groups is
    /// put aside.
    fn charge(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        loop {
            let bytes = self.groups.heap_bytes();
            let Some(held) = &mut self.held else { return Ok(()) };
            let Err(refused) = held.try_resize(bytes) else { return Ok(()) };
            if !self.passes.is_closed() {
                if self.calls.iter().any(Call::is_volatile) {
                    // Its rows would be computed twice.
                    return Err(refused.error(held.what()));
                }
                self.passes.close_pass(cx, held, refused, &self.stored_types)?;
                self.tolerated = bytes.min(2 * held.limit_bytes().max(64 << 10));
            }
            if bytes <= self.tolerated {
                return Ok(());
            }
            self.put_groups_aside(refused)?;
        }
    }

    fn put_groups_aside(&mut self, refused: Refused) -> Result<()> {
        let groups = &mut self.groups;
        let count = groups.table.len();
        let kept = count / 2;
        if kept == 0 || !groups.accumulators.iter().all(Accumulator::can_be_put_aside) {
            return Err(refused.error("GROUP BY"));
        }
        let width = self.calls.len();
        let mut stored = Batch::of_types(&self.stored_types);
        let mut accumulators = groups.accumulators.split_off(kept * width).into_iter();
        let mut hashes = Vec::new();
        let mut state = Vec::new();
        for group in kept..count {
            let saved: Vec<Value> = accumulators
                .by_ref()
                .take(width)
                .map(|accumulator| Value::Record(accumulator.save().into()))
                .collect();
            state.clear();
            encode_row(&saved, &mut state);
            drop(saved);
            for (at, column) in stored.columns.iter_mut().enumerate() {
                match at.checked_sub(1) {
                    None => column.push_value(&Value::bytes(&state), &SqlType::Bytea)?,
                    Some(key) => match groups.keys.columns.get(key) {
                        Some(from) => column.append_range(from, group..group + 1),
                        None => column.push_null(),
                    },
                }
            }
            stored.rows += 1;
            hashes.push(groups.table.hash(group as u32));
            if stored.rows == BATCH_ROWS || stored.variable_bytes() >= BATCH_BYTES || group + 1 == count {
                self.passes.put(&stored, (0u32..).zip(hashes.drain(..)))?;
                stored.recycle(KEEP_BYTES);
            }
        }
        groups.table.truncate(kept);
        // A copy, which takes no more memory than it needs.
        groups.keys = groups.keys.gather(&(0..kept as u32).collect::<Vec<_>>());
        groups.accumulators.shrink_to_fit();
        groups.states = groups.accumulators.iter().map(Accumulator::heap_bytes).sum();
        self.tolerated = 0;
        Ok(())
    }
}

#[cold]
fn broken() -> ExecError {
    ExecError::raised("XX000", "groups in a temporary file are not what was put there")
}

impl Operator for GroupOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.close();
        self.input.open(cx)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if !self.collected {
            self.collect(cx)?;
            self.input.close();
            self.collected = true;
        }
        while self.next >= self.groups.keys.rows {
            if !self.passes.next_pass()? {
                return Ok(false);
            }
            self.collect(cx)?;
        }
        out.clear();
        let keys = self.keys.types().len();
        while self.next < self.groups.keys.rows && out.rows < BATCH_ROWS && out.variable_bytes() < BATCH_BYTES
        {
            let group = self.next;
            for (from, to) in self.groups.keys.columns.iter().zip(&mut out.columns) {
                to.append_range(from, group..group + 1);
            }
            for at in 0..self.calls.len() {
                let slot = &mut self.groups.accumulators[group * self.calls.len() + at];
                let whole = std::mem::replace(slot, Accumulator::new(&self.calls[at].call));
                let finished = self.calls[at].finish(cx, whole)?;
                out.columns[keys + at].push_value(&finished, &self.types[keys + at])?;
            }
            out.rows += 1;
            self.next += 1;
        }
        Ok(out.rows > 0)
    }

    fn close(&mut self) {
        self.input.close();
        self.groups = Groups::default();
        self.held = None;
        self.passes = Passes::default();
        self.collected = false;
        self.next = 0;
        // In a later pass it had other columns.
        self.batch = Batch::of_types(&self.input_types);
        self.key_batch = Batch::of_types(self.keys.types());
    }
}
