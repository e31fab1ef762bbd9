//! Operators that pass rows on: projection, filter, limit, append, single rows.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use verso_env::stack;
use verso_types::{Batch, SqlType, TypeError, Value};

use super::aside::{reads_tables, set_input_aside};
use super::drawn::Drawn;
use super::filter::{KeyFilter, Reach};
use super::operator::{Bounded, Operator, boxed};
use super::prune::Pruner;
use super::{BATCH_BYTES, ExecContext, KEEP_BYTES};
use crate::error::{ExecError, Result};
use crate::expr::{Executor, ExprList, Predicate, RowExpr};
use crate::memory::Memory;
use crate::plan::{Plan, Pruning, TypedExpr};

/// Computes its columns from those of the input.
pub(crate) struct ProjectOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    /// The first row of the batch that is still to come.
    row: usize,
    exprs: ExprList,
    /// Which column of the input an expression is.
    columns: Vec<Option<usize>>,
    /// Each is one, and none twice: columns need not be copied.
    moves: bool,
    bounded: Bounded,
    types: Vec<SqlType>,
    /// Random values that the expressions read as columns behind those of the input.
    drawn: Option<Drawn>,
    /// Functions in it are called for every row that is asked for, and for no other.
    is_volatile: bool,
    /// Workers may compute them.
    is_safe: bool,
    /// They read tables by themselves.
    reads: bool,
}

impl ProjectOperator {
    pub fn new(input: Box<dyn Operator>, types: &[SqlType], exprs: &[TypedExpr], executor: Executor) -> Self {
        let is_safe = exprs.iter().all(TypedExpr::is_parallel_safe);
        let reads = exprs.iter().any(reads_tables);
        let taken = (executor != Executor::Row).then(|| Drawn::take_out(exprs, types.len())).flatten();
        let (exprs, drawn) = match taken {
            Some((exprs, drawn)) => (Cow::Owned(exprs), Some(drawn)),
            None => (Cow::Borrowed(exprs), None),
        };
        let list = ExprList::compile(exprs.iter(), executor);
        Self {
            input,
            batch: Batch::of_types(types),
            row: 0,
            columns: exprs.iter().map(TypedExpr::as_column).collect(),
            moves: {
                let mut seen = HashSet::new();
                executor != Executor::Row
                    && exprs.iter().all(|expr| expr.as_column().is_some_and(|column| seen.insert(column)))
            },
            bounded: Bounded::default(),
            types: types.to_vec(),
            is_volatile: drawn.is_some() || list.is_volatile(),
            drawn,
            is_safe,
            reads,
            exprs: list,
        }
    }

    /// The same over another input of the same kind.
    fn over(&self, input: Box<dyn Operator>) -> Self {
        Self {
            input,
            batch: Batch::of_types(&self.types),
            row: 0,
            exprs: self.exprs.clone(),
            columns: self.columns.clone(),
            moves: self.moves,
            bounded: Bounded::default(),
            types: self.types.clone(),
            drawn: self.drawn.as_ref().map(Drawn::fresh),
            is_volatile: self.is_volatile,
            is_safe: self.is_safe,
            reads: self.reads,
        }
    }
}

impl Operator for ProjectOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        self.close();
        self.input.open(cx)
    }

    fn bound(&mut self, rows: u64) {
        self.bounded.set(rows);
    }

    fn restrict(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        // Volatile functions are called for every row.
        if let (Some(column), false) = (self.columns[column], self.is_volatile) {
            self.input.restrict(column, filter);
        }
    }

    fn reach(&self, column: usize) -> Reach {
        match self.columns[column] {
            Some(column) if !self.is_volatile => self.input.reach(column),
            _ => Reach::Nowhere,
        }
    }

    fn keep_order(&mut self) -> bool {
        self.input.keep_order()
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bound = self.bounded.begin()?;
        if self.row >= self.batch.rows {
            if let Some(bound) = bound {
                self.input.bound(bound);
            }
            if let Some(drawn) = &mut self.drawn {
                drawn.put_aside(&mut self.batch);
            }
            if !self.input.next(cx, &mut self.batch)? {
                return Ok(false);
            }
            if let Some(drawn) = &mut self.drawn {
                drawn.put_back(&mut self.batch);
            }
            self.row = 0;
        }
        // Those who look at each row for itself may leave some of them for later.
        let end = match bound {
            Some(bound) if self.is_volatile => {
                self.row + usize::try_from(bound).unwrap_or(usize::MAX).min(self.batch.rows - self.row)
            }
            _ => self.batch.rows,
        };
        if let Some(drawn) = &mut self.drawn {
            drawn.fill(&cx.eval(), &mut self.batch, end)?;
        }
        let rows = self.row..end;
        if self.moves && rows == (0..self.batch.rows) && self.batch.variable_bytes() < BATCH_BYTES {
            for (column, to) in self.columns.iter().flatten().zip(&mut out.columns) {
                std::mem::swap(&mut self.batch.columns[*column], to);
            }
            out.rows = self.batch.rows;
            self.batch.clear();
            return Ok(true);
        }
        let error = self.exprs.eval_bounded(&cx.eval(), &self.batch, rows, BATCH_BYTES, out);
        self.row += out.rows;
        match error {
            None => Ok(true),
            Some(error) => {
                self.row = end;
                self.bounded.failed(error, out.rows, bound).map(|()| true)
            }
        }
    }

    fn shareable(&self) -> Option<u64> {
        self.input.shareable().filter(|_| self.is_safe)
    }

    fn split(&mut self, cx: &ExecContext<'_>, parts: usize) -> Result<Vec<Box<dyn Operator>>> {
        let inputs = self.input.split(cx, parts)?.into_iter();
        Ok(boxed(inputs.map(|input| self.over(input))))
    }

    fn is_portable(&self) -> bool {
        self.is_safe && self.input.is_portable()
    }

    fn copy(&self, cx: &ExecContext<'_>) -> Result<Box<dyn Operator>> {
        Ok(Box::new(self.over(self.input.copy(cx)?)))
    }

    fn can_set_aside(&self) -> bool {
        !self.reads && (self.is_volatile || self.input.can_set_aside())
    }

    fn set_aside(&mut self, cx: &ExecContext<'_>, memory: Memory<'_>, plan: &Plan) -> Result<()> {
        match self.input.can_set_aside() {
            true => self.input.set_aside(cx, memory, plan),
            false => set_input_aside(&mut self.input, cx, &Batch::of_types(&self.types), memory),
        }
    }

    fn close(&mut self) {
        self.batch.recycle(KEEP_BYTES);
        self.row = 0;
        self.bounded = Bounded::default();
        self.input.close();
    }
}

/// Keeps the rows for which a condition is true.
pub(crate) struct FilterOperator {
    input: Box<dyn Operator>,
    predicate: Predicate,
    is_volatile: bool,
    /// Workers may compute it.
    is_safe: bool,
    /// It reads tables by itself.
    reads: bool,
    selection: Vec<u32>,
    bounded: Bounded,
}

impl FilterOperator {
    pub fn new(input: Box<dyn Operator>, predicate: &TypedExpr, executor: Executor) -> Self {
        let (is_volatile, is_safe) = (predicate.is_volatile(), predicate.is_parallel_safe());
        let reads = reads_tables(predicate);
        let predicate = Predicate::compile(predicate, executor);
        let (selection, bounded) = (Vec::new(), Bounded::default());
        Self { input, predicate, is_volatile, is_safe, reads, selection, bounded }
    }

    /// The same over another input of the same kind.
    fn over(&self, input: Box<dyn Operator>) -> Self {
        Self {
            input,
            predicate: self.predicate.clone(),
            is_volatile: self.is_volatile,
            is_safe: self.is_safe,
            reads: self.reads,
            selection: Vec::new(),
            bounded: Bounded::default(),
        }
    }
}

impl Operator for FilterOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        self.bounded = Bounded::default();
        self.input.open(cx)
    }

    fn bound(&mut self, rows: u64) {
        self.bounded.set(rows);
    }

    fn restrict(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        if !self.is_volatile {
            self.input.restrict(column, filter);
        }
    }

    fn reach(&self, column: usize) -> Reach {
        if self.is_volatile { Reach::Nowhere } else { self.input.reach(column) }
    }

    fn keep_order(&mut self) -> bool {
        self.input.keep_order()
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bound = self.bounded.begin()?;
        loop {
            if bound.is_some() {
                self.input.bound(1); // one row may be enough
            }
            if !self.input.next(cx, out)? {
                return Ok(false);
            }
            if let Some(error) = self.predicate.select(&cx.eval(), out, &mut self.selection) {
                self.bounded.failed(error, self.selection.len(), bound)?;
            }
            if !self.selection.is_empty() {
                out.filter(&self.selection);
                return Ok(true);
            }
        }
    }

    fn shareable(&self) -> Option<u64> {
        self.input.shareable().filter(|_| self.is_safe)
    }

    fn split(&mut self, cx: &ExecContext<'_>, parts: usize) -> Result<Vec<Box<dyn Operator>>> {
        let inputs = self.input.split(cx, parts)?.into_iter();
        Ok(boxed(inputs.map(|input| self.over(input))))
    }

    fn is_portable(&self) -> bool {
        self.is_safe && self.input.is_portable()
    }

    fn copy(&self, cx: &ExecContext<'_>) -> Result<Box<dyn Operator>> {
        Ok(Box::new(self.over(self.input.copy(cx)?)))
    }

    fn can_set_aside(&self) -> bool {
        !self.reads && self.input.can_set_aside()
    }

    fn set_aside(&mut self, cx: &ExecContext<'_>, memory: Memory<'_>, plan: &Plan) -> Result<()> {
        self.input.set_aside(cx, memory, plan)
    }

    fn close(&mut self) {
        self.bounded = Bounded::default();
        self.input.close();
    }
}

/// Skips rows, then yields so many.
pub(crate) struct LimitOperator {
    input: Box<dyn Operator>,
    limit: Option<RowExpr>,
    offset: Option<RowExpr>,
    skip: u64,
    left: u64,
    bound: Option<u64>,
    ties: Option<Ties>,
}

/// WITH TIES: rows behind the last one that are equal to it.
struct Ties {
    exprs: ExprList,
    keys: Batch,
    /// The key of the last row yielded.
    last: Vec<u8>,
    /// All rows asked for are yielded.
    full: bool,
    /// The input locks what it yields: of rows that are no ties only the first is asked for.
    locks: bool,
}

impl LimitOperator {
    pub fn new(input: Box<dyn Operator>, limit: Option<&TypedExpr>, offset: Option<&TypedExpr>) -> Self {
        let (limit, offset) = (limit.map(RowExpr::compile), offset.map(RowExpr::compile));
        Self { input, limit, offset, skip: 0, left: 0, bound: None, ties: None }
    }

    /// The same with the rows that are equal in these to the last one.
    pub fn with_ties(self, keys: &[TypedExpr], locks: bool) -> Self {
        let exprs = ExprList::compile(keys, Executor::Row);
        let keys = Batch::of_types(exprs.types());
        Self { ties: Some(Ties { exprs, keys, last: Vec::new(), full: false, locks }), ..self }
    }

    /// The rows of a batch behind the first `skip` ones, as far as they count.
    fn tied(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<()> {
        let Some(ties) = &mut self.ties else { return Ok(()) };
        ties.exprs.eval(&cx.eval(), out, &mut ties.keys)?;
        let mut key = Vec::new();
        for row in 0..out.rows {
            if ties.full {
                key.clear();
                super::key::encode(&ties.keys, ties.exprs.types(), row, &mut key);
                if key != ties.last {
                    out.truncate(row);
                    self.left = 0;
                    return Ok(());
                }
                continue;
            }
            self.left -= 1;
            if self.left == 0 {
                // Rows may still follow; `left` says only whether to go on.
                (self.left, ties.full) = (1, true);
                ties.last.clear();
                super::key::encode(&ties.keys, ties.exprs.types(), row, &mut ties.last);
            }
        }
        Ok(())
    }
}

/// The number of rows an expression gives; `None` for NULL.
fn row_count(
    cx: &ExecContext<'_>,
    expr: Option<&RowExpr>,
    sqlstate: &'static str,
    name: &str,
) -> Result<Option<u64>> {
    let Some(expr) = expr else { return Ok(None) };
    match expr.eval_constant(&cx.eval())? {
        Value::Null => Ok(None),
        value => match u64::try_from(value.as_i64().unwrap_or(-1)) {
            Ok(count) => Ok(Some(count)),
            Err(_) => Err(TypeError::new(sqlstate, format!("{name} must not be negative")).into()),
        },
    }
}

impl Operator for LimitOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        self.skip = row_count(cx, self.offset.as_ref(), "2201X", "OFFSET")?.unwrap_or(0);
        let limit = row_count(cx, self.limit.as_ref(), "2201W", "LIMIT")?;
        if self.ties.is_some() && limit.is_none() {
            let text = "row count cannot be null in FETCH FIRST ... WITH TIES clause";
            return Err(TypeError::new("2201W", text).into());
        }
        self.left = limit.unwrap_or(u64::MAX);
        self.bound = None;
        if let Some(ties) = &mut self.ties {
            ties.full = false;
        }
        self.input.open(cx)
    }

    fn bound(&mut self, rows: u64) {
        self.bound = Some(rows);
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bound = self.bound.take().filter(|_| self.ties.is_none());
        loop {
            // what no longer counts is not computed either
            if self.left == 0 {
                return Ok(false);
            }
            if let Some(ties) = self.ties.as_ref().filter(|ties| ties.locks) {
                self.input.bound(if ties.full { 1 } else { self.left.saturating_add(self.skip) });
            }
            if self.ties.is_none() && (bound.is_some() || self.left < u64::MAX) {
                self.input.bound(self.left.min(bound.unwrap_or(u64::MAX)).saturating_add(self.skip));
            }
            if !self.input.next(cx, out)? {
                return Ok(false);
            }
            let rows = out.rows as u64;
            if self.skip >= rows {
                self.skip -= rows;
                continue;
            }
            if self.ties.is_some() {
                if self.skip > 0 {
                    let selection: Vec<u32> = (self.skip as u32..out.rows as u32).collect();
                    out.filter(&selection);
                    self.skip = 0;
                }
                self.tied(cx, out)?;
                if out.rows == 0 {
                    continue;
                }
                return Ok(true);
            }
            let end = rows.min(self.skip.saturating_add(self.left));
            if self.skip > 0 {
                let selection: Vec<u32> = (self.skip as u32..end as u32).collect();
                out.filter(&selection);
            } else if end < rows {
                out.truncate(end as usize);
            }
            self.left -= end - self.skip;
            self.skip = 0;
            return Ok(true);
        }
    }

    fn can_set_aside(&self) -> bool {
        self.ties.is_none() && self.input.can_set_aside()
    }

    fn set_aside(&mut self, cx: &ExecContext<'_>, memory: Memory<'_>, plan: &Plan) -> Result<()> {
        self.input.set_aside(cx, memory, plan)
    }

    fn close(&mut self) {
        self.input.close();
    }
}

/// One input after the other.
pub(crate) struct AppendOperator {
    inputs: Vec<Box<dyn Operator>>,
    current: usize,
    bound: Option<u64>,
    /// Of partitions: which of them are read.
    pruner: Option<Pruner>,
    kept: Vec<bool>,
}

impl AppendOperator {
    pub fn new(inputs: Vec<Box<dyn Operator>>, pruning: Option<&Pruning>) -> Self {
        let pruner = pruning.filter(|pruning| !pruning.steps.is_empty()).map(Pruner::new);
        let kept = vec![true; inputs.len()];
        Self { inputs, current: 0, bound: None, pruner, kept }
    }

    /// Opens the first input from `current` on that is read.
    fn open_next(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        while self.kept.get(self.current) == Some(&false) {
            self.current += 1;
        }
        match self.inputs.get_mut(self.current) {
            Some(input) => input.open(cx),
            None => Ok(()),
        }
    }
}

impl Operator for AppendOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        stack::check()?;
        (self.current, self.bound) = (0, None);
        if let Some(pruner) = &self.pruner {
            pruner.select(&cx.eval(), &mut self.kept);
        }
        self.open_next(cx)
    }

    fn bound(&mut self, rows: u64) {
        self.bound = Some(rows);
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        let bound = self.bound.take();
        while let Some(input) = self.inputs.get_mut(self.current) {
            if let Some(bound) = bound {
                input.bound(bound);
            }
            if input.next(cx, out)? {
                return Ok(true);
            }
            input.close();
            self.current += 1;
            self.open_next(cx)?;
        }
        Ok(false)
    }

    fn close(&mut self) {
        let read = self.inputs.iter_mut().zip(&self.kept).filter(|(_, kept)| **kept);
        read.for_each(|(input, _)| input.close());
    }
}

/// Refuses a second row.
pub(crate) struct SingleOperator {
    input: Box<dyn Operator>,
    seen: bool,
}

impl SingleOperator {
    pub fn new(input: Box<dyn Operator>) -> Self {
        Self { input, seen: false }
    }
}

impl Operator for SingleOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.seen = false;
        self.input.open(cx)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        // A second one is refused, a third one not made.
        self.input.bound(if self.seen { 1 } else { 2 });
        if !self.input.next(cx, out)? {
            return Ok(false);
        }
        if out.rows > usize::from(!self.seen) {
            return Err(ExecError::raised("21000", SEVERAL_ROWS));
        }
        self.seen |= out.rows > 0;
        Ok(true)
    }

    fn close(&mut self) {
        self.input.close();
    }
}

/// The message of 21000.
pub(super) const SEVERAL_ROWS: &str = "more than one row returned by a subquery used as an expression";
