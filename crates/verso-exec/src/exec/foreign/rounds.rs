//! What goes along with a statement, and the AFTER triggers of all of it.
//!
//! ```text
//! keys of the statement acted upon ─► its AFTER triggers ─► the same of each statement that went along, in their order
//! ```
//!
//! 1. The AFTER triggers of a table fire before what its changes take along takes further rows along.
//! 2. Within all of that the statement triggers of a table and an event fire once: BEFORE with the first statement, AFTER
//!    behind the last one, which takes over the rows of the transition tables. A statement that comes when they have fired
//!    fires AFTER triggers again, and BEFORE triggers where a transition table was read.
//! 3. What is still referenced is looked for behind all that goes along, before the AFTER triggers of the last statement.

use std::collections::VecDeque;
use std::sync::Arc;

use verso_catalog::TableDef;

use super::super::ExecContext;
use super::super::trigger::Triggers;
use super::{ForeignKeys, within_statement};
use crate::error::Result;

/// Statements of which something is left to do.
pub(super) struct Rounds<'t> {
    /// The triggers of the statement that all began with.
    own: Option<&'t mut Triggers>,
    /// Those of statements that went along, in their order.
    along: Vec<Triggers>,
    queue: VecDeque<Turn>,
    /// How many of them have fired, the own ones first.
    fired: usize,
}

/// The keys that a statement has noted, and the number of its triggers.
struct Turn {
    keys: Vec<ForeignKeys>,
    triggers: Option<usize>,
}

impl<'t> Rounds<'t> {
    /// Does all that follows from the keys that a statement has noted.
    pub fn run(cx: &ExecContext<'_>, keys: Vec<ForeignKeys>, own: Option<&'t mut Triggers>) -> Result<()> {
        let first = Turn { keys, triggers: Some(0) };
        let mut rounds = Rounds { own, along: Vec::new(), queue: VecDeque::from([first]), fired: 0 };
        let mut checks = Vec::new();
        while let Some(turn) = rounds.queue.pop_front() {
            cx.check_cancelled()?;
            for keys in &turn.keys {
                rounds.act(cx, keys)?;
            }
            checks.extend(turn.keys);
            if rounds.queue.is_empty() {
                within_statement(cx, |cx| checks.iter().try_for_each(|keys| keys.check(cx)))?;
            }
            if let Some(number) = turn.triggers {
                rounds.fire(cx, number)?;
            }
        }
        Ok(())
    }

    fn act(&mut self, cx: &ExecContext<'_>, keys: &ForeignKeys) -> Result<()> {
        within_statement(cx, |cx| {
            for key in keys.incoming.iter().filter(|key| !key.keys.is_empty()) {
                key.act(cx, &keys.table, self)?;
            }
            Ok(())
        })?;
        // Before what goes along takes others along.
        let mut restricting = keys.incoming.iter().filter(|key| !key.keys.is_empty() && key.restricts());
        match restricting.clone().next() {
            Some(_) => {
                within_statement(cx, |cx| restricting.try_for_each(|key| key.check(cx, &keys.table, true)))
            }
            None => Ok(()),
        }
    }

    /// A statement is about to go along: it shares the statement triggers of those before it.
    pub fn enter(&mut self, triggers: Option<&mut Triggers>) {
        let Some(triggers) = triggers else { return };
        let next = self.along.len() + 1;
        let fired = self.fired;
        let prior = (0..next).rev().find(|n| self.triggers(*n).is_some_and(|known| known.is_like(triggers)));
        let Some((n, known)) = prior.and_then(|n| Some((n, self.triggers(n)?))) else { return };
        if n >= fired {
            known.pass_to(next, triggers);
        } else if known.has_transitions(triggers) {
            return;
        }
        triggers.go_on();
    }

    /// A statement went along.
    pub fn push(&mut self, keys: ForeignKeys, triggers: Option<Box<Triggers>>) {
        let number = triggers.map(|triggers| {
            self.along.push(*triggers);
            self.along.len()
        });
        self.queue.push_back(Turn { keys: vec![keys], triggers: number });
    }

    fn triggers(&mut self, number: usize) -> Option<&mut Triggers> {
        match number.checked_sub(1) {
            None => self.own.as_deref_mut(),
            Some(at) => self.along.get_mut(at),
        }
    }

    fn fire(&mut self, cx: &ExecContext<'_>, number: usize) -> Result<()> {
        self.fired = number + 1;
        let Some(triggers) = self.triggers(number) else { return Ok(()) };
        for passed in triggers.finish(cx)? {
            if let Some(next) = self.triggers(passed.to) {
                next.take_over(cx, passed)?;
            }
        }
        Ok(())
    }
}

impl ForeignKeys {
    /// Whether rows were noted for any of them.
    fn has_noted(&self) -> bool {
        self.outgoing.iter().any(|key| !key.keys.is_empty())
            || self.incoming.iter().any(|key| !key.keys.is_empty())
    }

    fn take(&mut self) -> ForeignKeys {
        ForeignKeys {
            table: Arc::<TableDef>::clone(&self.table),
            outgoing: self.outgoing.iter_mut().map(super::Outgoing::take).collect(),
            incoming: self.incoming.iter_mut().map(super::Incoming::take).collect(),
            held: self.held.take(),
        }
    }

    fn check(&self, cx: &ExecContext<'_>) -> Result<()> {
        self.incoming.iter().try_for_each(|key| key.check(cx, &self.table, false))?;
        self.outgoing.iter().try_for_each(|key| key.check(cx, &self.table))
    }
}

/// At the end of a statement: checks and does what the keys noted ask for, and fires its AFTER triggers.
///
/// # Errors
/// Those of what goes along, of triggers, of rows that are still referenced or that reference none.
pub fn finish_keys<'k>(
    cx: &ExecContext<'_>,
    keys: impl IntoIterator<Item = Option<&'k mut ForeignKeys>>,
    own: Option<&mut Triggers>,
) -> Result<()> {
    let noted = keys.into_iter().flatten().filter(|keys| keys.has_noted());
    let noted: Vec<ForeignKeys> = noted.map(ForeignKeys::take).collect();
    match (noted.is_empty(), own) {
        (true, None) => Ok(()),
        (is_empty, own) => {
            // A key that is there twice is found before what the rows lead to.
            cx.tables()?.check_keys()?;
            match own {
                Some(own) if is_empty => own.finish(cx).map(drop),
                own => Rounds::run(cx, noted, own),
            }
        }
    }
}
