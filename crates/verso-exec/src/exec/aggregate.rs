//! Grouping and aggregates.

use std::collections::HashMap;

use verso_types::{Batch, SqlType, Value};

use super::operator::Operator;
use super::{BATCH_ROWS, ExecContext, key, spool};
use crate::aggregate::Accumulator;
use crate::error::Result;
use crate::expr::{Executor, ExprList, Predicate};
use crate::plan::{AggregateCall, ExprKind, TypedExpr};

/// One group without keys, or a hash table of groups, yielded in the order in which they were met.
pub(crate) struct AggregateOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    keys: ExprList,
    key_batch: Batch,
    calls: Vec<Call>,
    executor: Executor,
    groups: Groups,
    done: bool,
    next: usize,
    types: Vec<SqlType>,
}

/// An aggregate, compiled.
struct Call {
    call: AggregateCall,
    /// A lone argument that is a column of the input needs no evaluation.
    column: Option<usize>,
    args: ExprList,
    arg_batch: Batch,
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
        executor: Executor,
    ) -> Self {
        let keys = ExprList::compile(group_by, executor);
        let output =
            group_by.iter().map(|key| key.ty.clone()).chain(aggregates.iter().map(|call| call.ty.clone()));
        Self {
            input,
            batch: Batch::of_types(types),
            key_batch: Batch::of_types(keys.types()),
            keys,
            calls: aggregates.iter().map(|call| Call::new(call, executor)).collect(),
            executor,
            groups: Groups::default(),
            done: false,
            next: 0,
            types: output.collect(),
        }
    }

    fn collect(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let grouped = !self.keys.types().is_empty();
        self.groups = Groups { keys: Batch::of_types(self.keys.types()), ..Groups::default() };
        if !grouped {
            self.groups.accumulators.extend(self.calls.iter().map(|call| Accumulator::new(&call.call)));
            self.groups.keys.rows = 1;
        }
        let mut group_of_row = Vec::new();
        while self.input.next(cx, &mut self.batch)? {
            for call in &mut self.calls {
                call.evaluate(cx, &self.batch)?;
            }
            if grouped {
                self.keys.eval(&cx.eval(), &self.batch, &mut self.key_batch)?;
                self.find_groups(&mut group_of_row);
                self.feed_groups(&group_of_row)?;
                spool::check_memory(cx, "GROUP BY", self.groups.bytes)?;
            } else {
                for (call, accumulator) in self.calls.iter_mut().zip(&mut self.groups.accumulators) {
                    call.feed(accumulator, &self.batch, self.executor)?;
                }
                let held: usize = self.groups.accumulators.iter().map(Accumulator::heap_bytes).sum();
                spool::check_memory(cx, "an aggregate", held as u64)?;
            }
        }
        Ok(())
    }

    /// The group of each row of the batch; new ones are made.
    fn find_groups(&mut self, group_of_row: &mut Vec<u32>) {
        group_of_row.clear();
        let mut encoded = Vec::new();
        for row in 0..self.key_batch.rows {
            encoded.clear();
            key::encode(&self.key_batch, self.keys.types(), row, &mut encoded);
            let group = match self.groups.index.get(&encoded[..]) {
                Some(group) => *group,
                None => {
                    let group = self.groups.index.len() as u32;
                    self.groups.bytes += (encoded.len() * 2 + 96) as u64;
                    self.groups.bytes += (self.calls.len() * size_of::<Accumulator>()) as u64;
                    self.groups.index.insert(encoded.as_slice().into(), group);
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
    }

    fn feed_groups(&mut self, group_of_row: &[u32]) -> Result<()> {
        let width = self.calls.len();
        for (at, call) in self.calls.iter().enumerate() {
            for row in call.rows(group_of_row.len()) {
                let accumulator = &mut self.groups.accumulators[group_of_row[row] as usize * width + at];
                let before = accumulator.heap_bytes();
                call.add_row(accumulator, &self.batch, row)?;
                self.groups.bytes += (accumulator.heap_bytes() - before) as u64;
            }
        }
        Ok(())
    }
}

impl Call {
    fn new(call: &AggregateCall, executor: Executor) -> Self {
        let column = match &call.args[..] {
            [TypedExpr { kind: ExprKind::Column(index), .. }] => Some(*index),
            _ => None,
        };
        let args = ExprList::compile(if column.is_some() { &[][..] } else { &call.args[..] }, executor);
        Self {
            call: call.clone(),
            column,
            arg_batch: Batch::of_types(args.types()),
            args,
            filter: call.filter.as_ref().map(|filter| Predicate::compile(filter, executor)),
            selection: Vec::new(),
        }
    }

    /// Computes arguments and filter for a batch. A filter keeps the arguments of other rows from being computed.
    fn evaluate(&mut self, cx: &ExecContext<'_>, batch: &Batch) -> Result<()> {
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
    fn rows(&self, rows: usize) -> Box<dyn Iterator<Item = usize> + '_> {
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
    fn add_row(&self, accumulator: &mut Accumulator, batch: &Batch, row: usize) -> Result<()> {
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
        accumulator.add(&args)
    }
}

impl Operator for AggregateOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.done = false;
        self.next = 0;
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
        let end = self.groups.keys.rows.min(self.next + BATCH_ROWS);
        for group in self.next..end {
            for (from, to) in self.groups.keys.columns.iter().zip(&mut out.columns) {
                to.append_range(from, group..group + 1);
            }
            for at in 0..self.calls.len() {
                let slot = &mut self.groups.accumulators[group * self.calls.len() + at];
                let finished = std::mem::replace(slot, Accumulator::new(&self.calls[at].call)).finish()?;
                out.columns[keys + at].push_value(&finished, &self.types[keys + at])?;
            }
            out.rows += 1;
        }
        self.next = end;
        Ok(out.rows > 0)
    }

    fn close(&mut self) {
        self.input.close();
        self.groups = Groups::default();
    }
}
