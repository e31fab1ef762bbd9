//! Changes in WITH, and the statement behind them.
//!
//! 1. What is read of the tables they change is there before the first of them (T2).
//! 2. They happen one after the other, each to its end; the rows that others read of one are kept.
//! 3. BEFORE STATEMENT triggers of one that reads the rows of another fire before those of that one.
//! 4. What they mean for other tables is looked at when all of them are done, and AFTER triggers fire then.
//! 5. Statement triggers of a table and an event fire once for all parts: BEFORE with the first, AFTER behind the last (G8).

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_types::Batch;

use super::ExecContext;
use super::combine::outside;
use super::foreign::finish_parts;
use super::operator::{Operator, compile};
use super::statement::{Compiled, Sink};
use super::trigger::Triggers;
use crate::error::Result;
use crate::expr::Executor;
use crate::memory::Memory;
use crate::plan::{Plan, Statement, With};
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
    /// The places, among the parts, of those that read its rows, directly or not: the nearest first.
    readers: Vec<usize>,
    /// Under which it is measured: the address of its statement.
    place: usize,
    /// Its rows are those of the next part, one by one: PostgreSQL makes each of them when that asks for it, so that AFTER
    /// triggers for the rows of both take turns.
    takes_turns: bool,
}

impl WithStatement {
    pub fn new(with: &With, executor: Executor) -> Self {
        let part = |part: &crate::plan::WithPart| Part {
            statement: Compiled::new(&part.statement, executor),
            is_main: part.name.is_none(),
            number: part.number,
            readers: Vec::new(),
            place: std::ptr::from_ref(&part.statement).addr(),
            takes_turns: false,
        };
        let mut parts: Vec<Part> = with.parts.iter().map(part).collect();
        // A part stands behind those that it reads.
        for at in (0..parts.len()).rev() {
            let Some(number) = with.parts[at].number else { continue };
            let mut readers = BTreeSet::new();
            for (reader, part) in with.parts.iter().enumerate().skip(at + 1) {
                if part.reads.contains(&number) {
                    readers.insert(reader);
                    readers.extend(&parts[reader].readers);
                }
            }
            parts[at].takes_turns = parts[at].statement.notes_in_order()
                && parts.get(at + 1).is_some_and(|next| next.statement.notes_in_order())
                && with.parts.get(at + 1).and_then(|next| source_of(&next.statement)) == Some(number)
                && with.parts.iter().filter(|part| part.reads.contains(&number)).count() == 1;
            parts[at].readers = readers.into_iter().collect();
        }
        Self {
            before: with
                .before
                .iter()
                .map(|plan| compile(&Plan::shared(Arc::clone(plan)), executor))
                .collect(),
            parts,
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
            // In a statement that changes rows that computes all of them.
            operator.open(cx)?;
            operator.close();
        }
        for at in 1..self.parts.len() {
            if self.parts[at - 1].takes_turns {
                let both = self.parts[at - 1..=at].iter_mut();
                both.filter_map(|part| part.statement.triggers_mut()).for_each(Triggers::number_rows);
            }
        }
        let mut count = 0;
        let mut begun = vec![false; self.parts.len()];
        let mut events = Vec::new();
        for at in 0..self.parts.len() {
            let readers = std::mem::take(&mut self.parts[at].readers);
            let mut fire_first = || -> Result<()> {
                for reader in
                    readers.iter().rev().filter(|reader| !std::mem::replace(&mut begun[**reader], true))
                {
                    let Some(triggers) = self.parts[*reader].statement.triggers_mut() else { continue };
                    triggers.begin_behind(&mut events);
                    triggers.fire_first(cx)?;
                }
                Ok(())
            };
            let fired = fire_first();
            if !std::mem::replace(&mut begun[at], true)
                && let Some(triggers) = self.parts[at].statement.triggers_mut()
            {
                triggers.begin_behind(&mut events);
            }
            let Part { statement, is_main, number, place, readers: kept, takes_turns: _ } =
                &mut self.parts[at];
            *kept = readers;
            fired?;
            if *is_main {
                count = statement.run_part(cx, sink)?;
                continue;
            }
            let start = cx.probes.map(|probes| probes.enter(cx, *place));
            let mut returned = 0;
            let done = match number {
                None => statement.run_part(cx, &mut Unread),
                Some(number) => {
                    let mut kept = Kept { rows: Spool::default(), memory: cx.services.memory, count: 0 };
                    let done = statement.run_part(cx, &mut kept);
                    returned = kept.count;
                    state.work.borrow_mut().insert(*number, Arc::new(kept.rows));
                    done
                }
            };
            if let (Some(probes), Some(start)) = (cx.probes, start) {
                probes.ran(cx, *place, start, returned);
            }
            done?;
        }
        let mut ends = Vec::new();
        let mut takes_turns = false;
        for Part { statement, takes_turns: next_takes_turns, .. } in &mut self.parts {
            let first = ends.len();
            statement.end_part(cx, &mut ends)?;
            let is_one = ends.len() == first + 1;
            if let (true, [.., before, own]) = (takes_turns && is_one, ends.as_mut_slice()) {
                own.take_turns(before);
            }
            takes_turns = *next_takes_turns && is_one;
        }
        finish_parts(cx, ends)?;
        Ok(count)
    }
}

/// The part whose rows an INSERT adds, one by one.
fn source_of(statement: &Statement) -> Option<usize> {
    let Statement::Insert(insert) = statement else { return None };
    let mut plan = &insert.source;
    loop {
        match plan {
            Plan::Project { input, .. } => plan = input,
            Plan::WorkTable { number, .. } => return Some(*number),
            _ => return None,
        }
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
    count: u64,
}

impl Sink for Kept<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<()> {
        self.count += batch.rows as u64;
        self.rows.push(self.memory, "WITH", batch.clone())
    }
}
