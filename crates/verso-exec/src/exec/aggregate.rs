//! Grouping and aggregates.
//!
//! GROUP BY without grouping sets is [`super::group`]'s.
//!
//! G1. Each grouping set has groups of its own; an empty one has its group also without any row.

use std::collections::HashMap;

use verso_types::{Batch, Column, SqlType, Value};

use super::operator::Operator;
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext, key};
use crate::aggregate::Accumulator;
use crate::error::Result;
use crate::expr::{Executor, ExprList, Predicate, RowExpr};
use crate::memory::Reservation;
use crate::plan::{AggregateCall, ExprKind, GroupingSets, TypedExpr};

/// One group without keys, or a hash table of groups, yielded in the order in which they were met.
pub(crate) struct AggregateOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    keys: ExprList,
    key_batch: Batch,
    calls: Vec<Call>,
    executor: Executor,
    sets: Vec<Set>,
    groups: Vec<Groups>,
    held: Option<Reservation>,
    done: bool,
    /// The set and the group of it that come out next.
    next: (usize, usize),
    types: Vec<SqlType>,
}

/// A grouping set.
struct Set {
    /// Which keys it has.
    keys: Vec<bool>,
    /// The values of the GROUPING() calls.
    groupings: Vec<i32>,
}

impl Set {
    fn is_empty(&self) -> bool {
        !self.keys.contains(&true)
    }
}

/// An aggregate, compiled.
pub(super) struct Call {
    pub call: AggregateCall,
    /// A lone argument that is a column of the input needs no evaluation.
    column: Option<usize>,
    /// Arguments, then sort keys, then direct arguments.
    args: ExprList,
    arg_batch: Batch,
    /// How many of these are direct.
    direct: usize,
    filter: Option<Predicate>,
    selection: Vec<u32>,
}

#[derive(Default)]
struct Groups {
    index: HashMap<Box<[u8]>, u32>,
    keys: Batch,
    /// `calls.len()` for each group.
    accumulators: Vec<Accumulator>,
    bytes: u64,
}

impl AggregateOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        group_by: &[TypedExpr],
        aggregates: &[AggregateCall],
        sets: Option<&GroupingSets>,
        executor: Executor,
    ) -> Self {
        let keys = ExprList::compile(group_by, executor);
        let groupings = sets.map_or(0, |sets| sets.calls.len());
        let output = group_by
            .iter()
            .map(|key| key.ty.clone())
            .chain(aggregates.iter().map(|call| call.ty.clone()))
            .chain((0..groupings).map(|_| SqlType::Int4));
        let sets = match sets {
            None => vec![Set { keys: vec![true; group_by.len()], groupings: Vec::new() }],
            Some(sets) => {
                sets.sets.iter().map(|set| grouping_set(set, group_by.len(), &sets.calls)).collect()
            }
        };
        Self {
            input,
            batch: Batch::of_types(types),
            key_batch: Batch::of_types(keys.types()),
            keys,
            calls: aggregates.iter().map(|call| Call::new(call, executor)).collect(),
            executor,
            sets,
            groups: Vec::new(),
            held: None,
            done: false,
            next: (0, 0),
            types: output.collect(),
        }
    }

    fn collect(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let plain = self.sets.len() == 1 && self.sets[0].is_empty();
        let mut groups = Vec::with_capacity(self.sets.len());
        for set in &self.sets {
            let mut own = Groups { keys: Batch::of_types(self.keys.types()), ..Groups::default() };
            if set.is_empty() {
                own.keys.columns.iter_mut().for_each(Column::push_null);
                own.keys.rows = 1;
                own.accumulators.extend(self.calls.iter().map(|call| Accumulator::new(&call.call)));
            }
            groups.push(own);
        }
        self.groups = groups;
        self.held = Some(cx.reserve(if plain { "an aggregate" } else { "GROUP BY" }));
        let mut group_of_row = Vec::new();
        while self.input.next(cx, &mut self.batch)? {
            for call in &mut self.calls {
                call.evaluate(cx, &self.batch)?;
            }
            if plain {
                for (call, accumulator) in self.calls.iter_mut().zip(&mut self.groups[0].accumulators) {
                    call.feed(accumulator, &self.batch, self.executor)?;
                }
                let bytes: usize = self.groups[0].accumulators.iter().map(Accumulator::heap_bytes).sum();
                self.charge(bytes as u64)?;
                continue;
            }
            self.keys.eval(&cx.eval(), &self.batch, &mut self.key_batch)?;
            for set in 0..self.sets.len() {
                self.find_groups(set, &mut group_of_row);
                self.feed_groups(set, &group_of_row)?;
            }
            self.charge(self.groups.iter().map(|groups| groups.bytes).sum())?;
        }
        Ok(())
    }

    fn charge(&mut self, bytes: u64) -> Result<()> {
        self.held.as_mut().map_or(Ok(()), |held| held.resize(bytes))
    }

    /// The group of each row of the batch in a set; new ones are made.
    fn find_groups(&mut self, set: usize, group_of_row: &mut Vec<u32>) {
        group_of_row.clear();
        let (set, groups) = (&self.sets[set], &mut self.groups[set]);
        if set.is_empty() {
            group_of_row.resize(self.key_batch.rows, 0);
            return;
        }
        let mut encoded = Vec::new();
        for row in 0..self.key_batch.rows {
            encoded.clear();
            key::encode_some(&self.key_batch, self.keys.types(), &set.keys, row, &mut encoded);
            let group = match groups.index.get(&encoded[..]) {
                Some(group) => *group,
                None => {
                    let group = groups.index.len() as u32;
                    groups.bytes += (encoded.len() * 2 + 96) as u64;
                    groups.bytes += (self.calls.len() * size_of::<Accumulator>()) as u64;
                    groups.index.insert(encoded.as_slice().into(), group);
                    let columns = self.key_batch.columns.iter().zip(&mut groups.keys.columns);
                    for ((from, to), there) in columns.zip(&set.keys) {
                        match there {
                            true => to.append_range(from, row..row + 1),
                            false => to.push_null(),
                        }
                    }
                    groups.keys.rows += 1;
                    groups.accumulators.extend(self.calls.iter().map(|call| Accumulator::new(&call.call)));
                    group
                }
            };
            group_of_row.push(group);
        }
    }

    fn feed_groups(&mut self, set: usize, group_of_row: &[u32]) -> Result<()> {
        let width = self.calls.len();
        let groups = &mut self.groups[set];
        for (at, call) in self.calls.iter().enumerate() {
            for row in call.rows(group_of_row.len()) {
                let accumulator = &mut groups.accumulators[group_of_row[row] as usize * width + at];
                let before = accumulator.heap_bytes();
                call.add_row(accumulator, &self.batch, row)?;
                groups.bytes += (accumulator.heap_bytes() - before) as u64;
            }
        }
        Ok(())
    }
}

/// A set of so many keys, and what GROUPING() says in it.
fn grouping_set(set: &[usize], keys: usize, calls: &[Vec<usize>]) -> Set {
    let bits = |call: &Vec<usize>| call.iter().fold(0, |bits, key| bits << 1 | i32::from(!set.contains(key)));
    Set {
        keys: (0..keys).map(|key| set.contains(&key)).collect(),
        groupings: calls.iter().map(bits).collect(),
    }
}

impl Call {
    pub fn new(call: &AggregateCall, executor: Executor) -> Self {
        let more = call.order_by.iter().map(|key| &key.expr).chain(&call.direct);
        let column = match &call.args[..] {
            [TypedExpr { kind: ExprKind::Column(index), .. }] if more.clone().next().is_none() => {
                Some(*index)
            }
            _ => None,
        };
        let exprs = call.args.iter().chain(more).filter(|_| column.is_none());
        let args = ExprList::compile(exprs, executor);
        Self {
            call: call.clone(),
            column,
            arg_batch: Batch::of_types(args.types()),
            args,
            direct: call.direct.len(),
            filter: call.filter.as_ref().map(|filter| Predicate::compile(filter, executor)),
            selection: Vec::new(),
        }
    }

    /// Whether a function in it may do something.
    pub fn is_volatile(&self) -> bool {
        self.args.is_volatile() || self.call.filter.as_ref().is_some_and(TypedExpr::is_volatile)
    }

    /// Computes arguments and filter for a batch. A filter keeps the arguments of other rows from being computed.
    pub fn evaluate(&mut self, cx: &ExecContext<'_>, batch: &Batch) -> Result<()> {
        let eval = cx.eval();
        if let Some(filter) = &mut self.filter {
            if let Some(error) = filter.select(&eval, batch, &mut self.selection) {
                return Err(error);
            }
            if self.column.is_none() && !self.args.types().is_empty() {
                let kept = batch.gather(&self.selection);
                let mut values = Batch::of_types(self.args.types());
                self.args.eval(&eval, &kept, &mut values)?;
                self.arg_batch = values;
            }
        } else if self.column.is_none() && !self.args.types().is_empty() {
            self.args.eval(&eval, batch, &mut self.arg_batch)?;
        }
        Ok(())
    }

    /// The rows that count, of so many.
    pub fn rows(&self, rows: usize) -> Box<dyn Iterator<Item = usize> + '_> {
        match self.filter {
            Some(_) => Box::new(self.selection.iter().map(|row| *row as usize)),
            None => Box::new(0..rows),
        }
    }

    /// Feeds a whole batch to one accumulator.
    fn feed(&mut self, accumulator: &mut Accumulator, batch: &Batch, executor: Executor) -> Result<()> {
        let filtered = self.filter.is_some();
        if self.call.args.is_empty() && !self.call.distinct {
            accumulator.add_rows(if filtered { self.selection.len() } else { batch.rows });
            return Ok(());
        }
        if executor != Executor::Row && self.call.args.len() == 1 {
            let ty = &self.call.args[0].ty;
            let taken = match (self.column, filtered) {
                (Some(index), false) => accumulator.add_column(&batch.columns[index], ty)?,
                (Some(index), true) => {
                    accumulator.add_column(&batch.columns[index].gather(&self.selection), ty)?
                }
                // evaluated for the rows that count
                (None, _) => accumulator.add_column(&self.arg_batch.columns[0], ty)?,
            };
            if taken {
                return Ok(());
            }
        }
        for row in self.rows(batch.rows) {
            self.add_row(accumulator, batch, row)?;
        }
        Ok(())
    }

    /// Feeds one row of the input batch.
    pub fn add_row(&self, accumulator: &mut Accumulator, batch: &Batch, row: usize) -> Result<()> {
        if let Some(index) = self.column {
            return accumulator.add(&[batch.columns[index].value(row, &self.call.args[0].ty)]);
        }
        // computed arguments have a row for each row that counts
        let row = if self.filter.is_some() {
            self.selection.binary_search(&(row as u32)).unwrap_or_default()
        } else {
            row
        };
        let args: Vec<Value> = self
            .arg_batch
            .columns
            .iter()
            .zip(self.args.types())
            .map(|(column, ty)| column.value(row, ty))
            .collect();
        let (args, direct) = args.split_at(args.len() - self.direct);
        if self.direct > 0 && accumulator.wants_direct() {
            accumulator.take_direct(direct.to_vec());
        }
        accumulator.add(args)
    }

    /// The result for a group. Direct arguments that no row has told have no columns.
    pub fn finish(&self, cx: &ExecContext<'_>, mut accumulator: Accumulator) -> Result<Value> {
        if self.direct > 0 && accumulator.wants_direct() {
            let value =
                |expr: &TypedExpr| match expr.any(&mut |part| matches!(part.kind, ExprKind::Column(_))) {
                    true => Ok(Value::Null),
                    false => RowExpr::compile(expr).eval_constant(&cx.eval()),
                };
            accumulator.take_direct(self.call.direct.iter().map(value).collect::<Result<_>>()?);
        }
        accumulator.finish()
    }
}

impl Operator for AggregateOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.done = false;
        self.next = (0, 0);
        self.input.open(cx)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if !self.done {
            self.collect(cx)?;
            self.input.close();
            self.done = true;
        }
        out.clear();
        let keys = self.keys.types().len();
        let calls = self.calls.len();
        while let (set, group) = self.next
            && set < self.sets.len()
            && out.rows < BATCH_ROWS
            && out.variable_bytes() < BATCH_BYTES
        {
            if group >= self.groups[set].keys.rows {
                self.next = (set + 1, 0);
                continue;
            }
            for (from, to) in self.groups[set].keys.columns.iter().zip(&mut out.columns) {
                to.append_range(from, group..group + 1);
            }
            for at in 0..calls {
                let slot = &mut self.groups[set].accumulators[group * calls + at];
                let whole = std::mem::replace(slot, Accumulator::new(&self.calls[at].call));
                let finished = self.calls[at].finish(cx, whole)?;
                out.columns[keys + at].push_value(&finished, &self.types[keys + at])?;
            }
            for (n, bits) in self.sets[set].groupings.iter().enumerate() {
                out.columns[keys + calls + n].push_value(&Value::Int4(*bits), &SqlType::Int4)?;
            }
            out.rows += 1;
            self.next.1 += 1;
        }
        Ok(out.rows > 0)
    }

    fn close(&mut self) {
        self.input.close();
        self.groups = Vec::new();
        self.held = None;
    }
}
