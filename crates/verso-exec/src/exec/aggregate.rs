//! Aggregates, compiled; those over all rows. GROUP BY is [`super::group`]'s.

use verso_types::{Batch, SqlType, Value};

use super::operator::Operator;
use super::overflow::Overflow;
use super::{ExecContext, parallel};
use crate::aggregate::{Accumulator, GroupStates, OrderedRows};
use crate::context::EvalContext;
use crate::error::Result;
use crate::expr::{Executor, ExprList, Predicate, RowExpr};
use crate::functions::AggregateKind;
use crate::memory::Reservation;
use crate::plan::{AggregateCall, ExprKind, TypedExpr};

/// Aggregates without GROUP BY: one row, also where there is none to aggregate.
pub(crate) struct AggregateOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    calls: Vec<Call>,
    executor: Executor,
    /// Rows of calls with an order that do not fit into memory.
    overflow: Overflow,
    held: Option<Reservation>,
    done: bool,
    types: Vec<SqlType>,
    input_types: Vec<SqlType>,
}

/// An aggregate, compiled.
#[derive(Clone)]
pub(super) struct Call {
    pub call: AggregateCall,
    /// A lone argument that is a column of the input needs no evaluation.
    column: Option<usize>,
    /// Arguments, then sort keys, then direct arguments.
    args: ExprList,
    /// Values of the arguments, of their types.
    arg_batch: Batch,
    /// Values where kernels could compute them all, numerics as scaled integers.
    scaled_batch: Batch,
    scaled_types: Vec<SqlType>,
    /// Which of both the batch at hand has filled.
    is_scaled: bool,
    executor: Executor,
    /// How many of these are direct.
    direct: usize,
    filter: Option<Predicate>,
    selection: Vec<u32>,
    shareable: bool,
    /// The different ones of a column of texts are counted by their bytes.
    tells_texts: bool,
    keeps_rows: bool,
}

impl AggregateOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        aggregates: &[AggregateCall],
        executor: Executor,
    ) -> Self {
        Self {
            input,
            batch: Batch::of_types(types),
            calls: aggregates.iter().map(|call| Call::new(call, executor)).collect(),
            executor,
            overflow: Overflow::default(),
            held: None,
            done: false,
            types: aggregates.iter().map(|call| call.ty.clone()).collect(),
            input_types: types.to_vec(),
        }
    }

    /// The accumulators, fed with all rows.
    fn collect(&mut self, cx: &ExecContext<'_>) -> Result<Vec<Accumulator>> {
        if self.calls.iter().all(Call::is_shareable)
            && let Some(parts) = parallel::split(cx, &mut *self.input)?
        {
            return self.collect_parts(cx, parts);
        }
        let held = self.held.insert(cx.reserve("an aggregate"));
        let fed = Fed { batch: &mut self.batch, calls: &mut self.calls, executor: self.executor };
        fed.with_all(cx, &mut *self.input, held, &mut self.overflow)
    }

    /// The same with several workers, each of which feeds accumulators of its own.
    fn collect_parts(
        &mut self,
        cx: &ExecContext<'_>,
        parts: Vec<Box<dyn Operator>>,
    ) -> Result<Vec<Accumulator>> {
        let (calls, types, executor) = (self.calls.clone(), self.input_types.clone(), self.executor);
        let parts = parts.into_iter().map(|input| (input, calls.clone())).collect();
        let states =
            parallel::run(cx, parts, move |cx, (mut input, mut calls): (Box<dyn Operator>, Vec<Call>)| {
                let mut held = cx.reserve("an aggregate");
                let fed = Fed { batch: &mut Batch::of_types(&types), calls: &mut calls, executor };
                let mut overflow = Overflow::default();
                let accumulators = fed.with_all(cx, &mut *input, &mut held, &mut overflow)?;
                input.close();
                Ok((accumulators, overflow, held))
            })?;
        let held = self.held.insert(cx.reserve("an aggregate"));
        let mut whole: Vec<_> = self.calls.iter().map(|call| Accumulator::new(&call.call)).collect();
        for (part, mut overflow, of_part) in states {
            for (at, (accumulator, mut part)) in whole.iter_mut().zip(part).enumerate() {
                cx.check_cancelled()?;
                if !self.overflow.absorb(cx, at, &self.calls[at], (&mut overflow, &mut part))? {
                    accumulator.merge(part)?;
                }
            }
            drop(of_part);
            charge(cx, held, &self.calls, &mut whole, &mut self.overflow)?;
        }
        Ok(whole)
    }
}

/// What feeds accumulators over all rows.
struct Fed<'f> {
    batch: &'f mut Batch,
    calls: &'f mut [Call],
    executor: Executor,
}

impl Fed<'_> {
    /// Accumulators with all rows of an input.
    fn with_all(
        self,
        cx: &ExecContext<'_>,
        input: &mut dyn Operator,
        held: &mut Reservation,
        overflow: &mut Overflow,
    ) -> Result<Vec<Accumulator>> {
        let mut accumulators: Vec<_> = self.calls.iter().map(|call| Accumulator::new(&call.call)).collect();
        while input.next(cx, self.batch)? {
            for (call, accumulator) in self.calls.iter_mut().zip(&mut accumulators) {
                call.evaluate(cx, self.batch)?;
                call.feed(accumulator, self.batch, self.executor)?;
            }
            charge(cx, held, self.calls, &mut accumulators, overflow)?;
        }
        Ok(accumulators)
    }
}

/// Charges what accumulators hold; refused, the rows that they keep go to files.
fn charge(
    cx: &ExecContext<'_>,
    held: &mut Reservation,
    calls: &[Call],
    accumulators: &mut [Accumulator],
    overflow: &mut Overflow,
) -> Result<()> {
    let bytes = |of: &[Accumulator]| of.iter().map(Accumulator::heap_bytes).sum::<usize>() as u64;
    let Err(refused) = held.try_resize(bytes(accumulators)) else { return Ok(()) };
    let mut moved = false;
    for (at, (call, accumulator)) in calls.iter().zip(&mut *accumulators).enumerate() {
        moved |= overflow.take(cx, at, call, accumulator)?;
    }
    if !moved {
        return Err(refused.error(held.what()));
    }
    held.resize(bytes(accumulators))
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
        let args = ExprList::compile_scaled(exprs, executor);
        let scaled_types = args.scaled_types();
        Self {
            call: call.clone(),
            column,
            arg_batch: Batch::of_types(args.types()),
            scaled_batch: Batch::of_types(&scaled_types),
            scaled_types,
            is_scaled: false,
            executor,
            args,
            direct: call.direct.len(),
            filter: call.filter.as_ref().map(|filter| Predicate::compile(filter, executor)),
            selection: Vec::new(),
            tells_texts: call.distinct
                && call.function.kind == AggregateKind::Count
                && matches!(call.args.as_slice(), [arg] if matches!(arg.ty, SqlType::Text | SqlType::Varchar(_))),
            keeps_rows: call.distinct || OrderedRows::of(call).is_some(),
            shareable: Accumulator::merges(call) && call.exprs().all(TypedExpr::is_parallel_safe),
        }
    }

    /// Whether workers may feed it with parts of the rows.
    pub fn is_shareable(&self) -> bool {
        self.shareable
    }

    /// Whether it keeps rows, to sort them or to tell repeats.
    pub fn keeps_rows(&self) -> bool {
        self.keeps_rows
    }

    /// Computes arguments and filter for a batch. A filter keeps the arguments of other rows from being computed.
    pub fn evaluate(&mut self, cx: &ExecContext<'_>, batch: &Batch) -> Result<()> {
        let eval = cx.eval();
        if let Some(filter) = &mut self.filter {
            if let Some(error) = filter.select(&eval, batch, &mut self.selection) {
                return Err(error);
            }
            if self.column.is_none() && !self.args.types().is_empty() {
                self.compute(&eval, &batch.gather(&self.selection))?;
            }
        } else if self.column.is_none() && !self.args.types().is_empty() {
            self.compute(&eval, batch)?;
        }
        Ok(())
    }

    fn compute(&mut self, eval: &EvalContext<'_>, batch: &Batch) -> Result<()> {
        self.is_scaled = self.args.eval_scaled(eval, batch, &mut self.scaled_batch);
        if self.is_scaled { Ok(()) } else { self.args.eval_rows(eval, batch, &mut self.arg_batch) }
    }

    /// The computed arguments of the batch at hand, with their types.
    fn computed(&self) -> (&Batch, &[SqlType]) {
        match self.is_scaled {
            true => (&self.scaled_batch, &self.scaled_types),
            false => (&self.arg_batch, self.args.types()),
        }
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
                (None, _) => {
                    let (computed, types) = self.computed();
                    accumulator.add_column(&computed.columns[0], &types[0])?
                }
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

    /// Feeds a batch to the states of its rows' groups; rows of no group are left out. False where [`Call::add_row`] must do
    /// it; nothing was fed then.
    /// # Errors
    /// 22003.
    pub fn feed_groups(&self, states: &mut GroupStates, batch: &Batch, group_of_row: &[u32]) -> Result<bool> {
        if self.executor == Executor::Row
            || self.call.distinct
            || !self.call.order_by.is_empty()
            || self.direct > 0
        {
            return Ok(false);
        }
        let filtered: Vec<u32>;
        let groups = match self.filter {
            Some(_) => {
                filtered = self.selection.iter().map(|row| group_of_row[*row as usize]).collect();
                &filtered[..]
            }
            None => group_of_row,
        };
        if self.call.args.is_empty() {
            return Ok(states.add_rows(groups));
        }
        if self.call.args.len() > 1 {
            return Ok(false);
        }
        let ty = &self.call.args[0].ty;
        match (self.column, &self.filter) {
            (Some(index), None) => states.add_column(groups, &batch.columns[index], ty),
            (Some(index), Some(_)) => {
                states.add_column(groups, &batch.columns[index].gather(&self.selection), ty)
            }
            (None, _) => {
                let (computed, types) = self.computed();
                states.add_column(groups, &computed.columns[0], &types[0])
            }
        }
    }

    /// Feeds one row of the input batch.
    pub fn add_row(&self, accumulator: &mut Accumulator, batch: &Batch, row: usize) -> Result<()> {
        if let Some(index) = self.column {
            let column = &batch.columns[index];
            if let (true, Some(texts)) = (self.tells_texts, column.data.bytes())
                && (column.is_null(row) || accumulator.add_text(texts.get(row)))
            {
                return Ok(());
            }
            return accumulator.add(&[batch.columns[index].value(row, &self.call.args[0].ty)]);
        }
        // computed arguments have a row for each row that counts
        let row = if self.filter.is_some() {
            self.selection.binary_search(&(row as u32)).unwrap_or_default()
        } else {
            row
        };
        let (computed, types) = self.computed();
        let args: Vec<Value> =
            computed.columns.iter().zip(types).map(|(column, ty)| column.value(row, ty)).collect();
        let (args, direct) = args.split_at(args.len() - self.direct);
        if self.direct > 0 && accumulator.wants_direct() {
            accumulator.take_direct(direct.to_vec());
        }
        accumulator.add(args)
    }

    /// The result for a group. Direct arguments that no row has told have no columns.
    pub fn finish(&self, cx: &ExecContext<'_>, mut accumulator: Accumulator) -> Result<Value> {
        self.complete(cx, &mut accumulator)?;
        accumulator.finish()
    }

    /// Tells the accumulator the direct arguments, if no row has.
    pub fn complete(&self, cx: &ExecContext<'_>, accumulator: &mut Accumulator) -> Result<()> {
        if self.direct > 0 && accumulator.wants_direct() {
            let value =
                |expr: &TypedExpr| match expr.any(&mut |part| matches!(part.kind, ExprKind::Column(_))) {
                    true => Ok(Value::Null),
                    false => RowExpr::compile(expr).eval_constant(&cx.eval()),
                };
            accumulator.take_direct(self.call.direct.iter().map(value).collect::<Result<_>>()?);
        }
        Ok(())
    }
}

impl Operator for AggregateOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.done = false;
        self.input.open(cx)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if std::mem::replace(&mut self.done, true) {
            return Ok(false);
        }
        let accumulators = self.collect(cx)?;
        self.input.close();
        out.clear();
        for (at, (call, accumulator)) in self.calls.iter().zip(accumulators).enumerate() {
            out.columns[at].push_value(&self.overflow.finish(cx, at, call, accumulator)?, &self.types[at])?;
        }
        out.rows = 1;
        Ok(true)
    }

    fn close(&mut self) {
        self.input.close();
        self.overflow = Overflow::default();
        self.held = None;
    }
}
