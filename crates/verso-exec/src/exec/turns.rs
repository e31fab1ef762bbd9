//! Functions that do something ([`acts`](crate::plan::TypedExpr::acts)) in two operators, one above the other: they take turns, row by row.
//!
//! ```text
//! SELECT f(x) FROM t WHERE g(x)    g of row 1, f of row 1, g of row 2, f of row 2, …: f sees what g has done so far
//! ```
//!
//! 1. Where an operator calls such functions, and so does something below it, it asks for one row at a time
//!    ([`Plan::takes_turns_with`]). Which operators these are is known when the plan is compiled: no other plan has any of it.
//! 2. What stands in between passes that on ([`Operator::bound`]), unless it has to have all rows first, as a sort does.
//! 3. A change of rows does the same where its own expressions call such functions ([`super::insert`], [`super::change`]).

use std::sync::Arc;

use verso_types::Batch;

use super::ExecContext;
use super::filter::{KeyFilter, Reach};
use super::operator::Operator;
use crate::error::Result;
use crate::memory::Memory;
use crate::plan::Plan;

/// Asks its input for one row at a time.
pub(crate) struct TurnsOperator {
    input: Box<dyn Operator>,
}

impl TurnsOperator {
    pub fn over(input: Box<dyn Operator>) -> Box<dyn Operator> {
        Box::new(Self { input })
    }
}

impl Operator for TurnsOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.input.open(cx)
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
        self.input.bound(1);
        self.input.next(cx, out)
    }

    fn can_set_aside(&self) -> bool {
        self.input.can_set_aside()
    }

    fn set_aside(&mut self, cx: &ExecContext<'_>, memory: Memory<'_>, plan: &Plan) -> Result<()> {
        self.input.set_aside(cx, memory, plan)
    }

    fn close(&mut self) {
        self.input.close();
    }
}
