//! Changes in WITH, and the statement behind them.
//!
//! 1. What is read of the tables they change is there before the first of them (T2).
//! 2. They happen one after the other, each to its end; the rows that others read of one are kept.
//! 3. What they mean for other tables is looked at when all of them are done.

use std::sync::Arc;

use verso_types::Batch;

use super::ExecContext;
use super::combine::outside;
use super::operator::{Operator, compile};
use super::statement::{Compiled, Sink};
use crate::error::Result;
use crate::expr::Executor;
use crate::memory::Memory;
use crate::plan::{Plan, With};
use crate::spill::Spool;

/// A compiled statement with changes in its WITH.
pub(crate) struct WithStatement {
    before: Vec<Box<dyn Operator>>,
    parts: Vec<Part>,
    watched: bool,
}

struct Part {
    statement: Compiled,
    is_main: bool,
    number: Option<usize>,
}

impl WithStatement {
    pub fn new(with: &With, executor: Executor) -> Self {
        let part = |part: &crate::plan::WithPart| Part {
            statement: Compiled::new(&part.statement, executor),
            is_main: part.name.is_none(),
            number: part.number,
        };
        Self {
            before: with
                .before
                .iter()
                .map(|plan| compile(&Plan::shared(Arc::clone(plan)), executor))
                .collect(),
            parts: with.parts.iter().map(part).collect(),
            watched: with.watched,
        }
    }

    /// Runs all of it; yields how many rows the statement itself has changed or returned.
    pub fn run(&mut self, cx: &ExecContext<'_>, sink: &mut dyn Sink) -> Result<u64> {
        let state = cx.state().ok_or_else(outside)?;
        if self.watched {
            state.watch();
        }
        for operator in &mut self.before {
            operator.open(cx)?;
            operator.close();
        }
        let mut count = 0;
        for Part { statement, is_main, number } in &mut self.parts {
            match number {
                _ if *is_main => count = statement.run_part(cx, sink)?,
                None => {
                    statement.run_part(cx, &mut Unread)?;
                }
                Some(number) => {
                    let mut kept = Kept { rows: Spool::default(), memory: cx.services.memory };
                    statement.run_part(cx, &mut kept)?;
                    state.work.borrow_mut().insert(*number, Arc::new(kept.rows));
                }
            }
        }
        self.parts.iter_mut().try_for_each(|part| part.statement.finish_part(cx))?;
        Ok(count)
    }
}

/// Takes rows that nothing reads.
struct Unread;

impl Sink for Unread {
    fn batch(&mut self, _: &Batch) -> Result<()> {
        Ok(())
    }
}

/// Keeps the rows that others read.
struct Kept<'m> {
    rows: Spool,
    memory: Memory<'m>,
}

impl Sink for Kept<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<()> {
        self.rows.push(self.memory, "WITH", batch.clone())
    }
}
