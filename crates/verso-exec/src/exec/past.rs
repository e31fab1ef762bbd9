//! A table as it was: `AS OF`.
//!
//! 1. The moment is evaluated when the scan is opened; opened again, it reads the same state if the moment is still the same.
//! 2. The state is entered for the calls of the scan only, and nothing that is evaluated in them runs statements of its own: the
//!    planner pushes no other conditions into it.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_storage::HeldView;
use verso_types::{Batch, Value};

use super::ExecContext;
use super::filter::{KeyFilter, Reach};
use super::operator::Operator;
use super::tables::Moment;
use crate::error::{ExecError, Result};
use crate::expr::RowExpr;
use crate::plan::TypedExpr;

/// Reads a scan's table as it was.
pub(crate) struct PastOperator {
    input: Box<dyn Operator>,
    table: Arc<TableDef>,
    moment: RowExpr,
    held: Option<(Moment, HeldView)>,
}

impl PastOperator {
    pub fn new(input: Box<dyn Operator>, table: &Arc<TableDef>, moment: &TypedExpr) -> Self {
        Self { input, table: Arc::clone(table), moment: RowExpr::compile(moment), held: None }
    }

    fn within<T>(
        &mut self,
        cx: &ExecContext<'_>,
        work: impl FnOnce(&mut dyn Operator) -> Result<T>,
    ) -> Result<T> {
        let Some((_, held)) = &self.held else {
            return Err(ExecError::raised("XX000", "a past state that was not opened"));
        };
        let tables = cx.tables()?;
        tables.enter_past(held);
        let done = work(&mut *self.input);
        tables.leave_past();
        done
    }
}

impl Operator for PastOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let moment = match self.moment.eval_constant(&cx.eval())? {
            Value::Timestamptz(micros) => Moment::Time(micros),
            Value::Int8(number) => Moment::Number(number),
            _ => return Err(ExecError::raised("22004", "the moment of AS OF is null")),
        };
        if self.held.as_ref().is_none_or(|(known, _)| *known != moment) {
            self.held = None;
            self.held = Some((moment, cx.tables()?.past(&self.table, moment)?));
        }
        self.within(cx, |input| input.open(cx))
    }

    fn bound(&mut self, rows: u64) {
        self.input.bound(rows);
    }

    fn restrict(&mut self, column: usize, filter: &Arc<KeyFilter>) {
        self.input.restrict(column, filter);
    }

    fn reach(&self, column: usize) -> Reach {
        self.input.reach(column)
    }

    fn keep_order(&mut self) -> bool {
        self.input.keep_order()
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        self.within(cx, |input| input.next(cx, out))
    }

    fn shareable(&self) -> Option<u64> {
        self.input.shareable()
    }

    fn split(&mut self, cx: &ExecContext<'_>, parts: usize) -> Result<Vec<Box<dyn Operator>>> {
        // The state stays held by this one until it is closed, which is behind the last of its parts.
        self.within(cx, |input| input.split(cx, parts))
    }

    fn close(&mut self) {
        self.input.close();
        self.held = None;
    }
}
