//! What goes along with a statement, and the AFTER triggers of all of it.
//!
//! ```text
//! keys of each part acted upon ─► its AFTER triggers ─► the same of each statement that went along, in their order
//! ```
//!
//! A statement has parts where it is a WITH with several changes, a MERGE, or a change of a partitioned table: all of them
//! are done when the first turn begins.
//!
//! 1. The AFTER triggers of a table fire before what its changes take along takes further rows along.
//! 2. Within all of that the statement triggers of a table and an event fire once: BEFORE with the first statement, AFTER
//!    behind the last one, which takes over the rows of the transition tables. A statement that comes when they have fired
//!    fires AFTER triggers again, and BEFORE triggers where a transition table was read.
//! 3. What is still referenced is looked for behind all that goes along, before the AFTER triggers of the last statement; where
//!    nothing does, before those of the part.
//! 4. Keys that came with a part are looked for before the next part's take anything along. A row that has gone by then, with
//!    what an earlier part has deleted, references nothing.
//! 5. Parts that change one table share its transition tables: the rows of all are lent to the part whose triggers fire.
//! 6. AFTER ROW triggers that PostgreSQL fires before its own of foreign keys, by name, fire for all rows of a part before its keys
//!    are acted upon.
//! 7. AFTER ROW triggers of the leaves of a partitioned table fire for the rows of all of them in the order in which these were
//!    changed, when all that the keys of the leaves ask for is done.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use verso_catalog::TableDef;

use super::super::ExecContext;
use super::super::trigger::{TriggerEvent, Triggers};
use super::{ForeignKeys, is_replica, within_statement};
use crate::error::Result;

/// What is left to do of a change, or of a part of one, when the statement ends: the keys that it has noted, its AFTER triggers.
pub(in crate::exec) struct End<'t> {
    keys: Vec<ForeignKeys>,
    triggers: Option<&'t mut Triggers>,
    /// AFTER triggers for its rows and for those of the part before it take turns.
    in_turn: bool,
}

impl<'t> End<'t> {
    /// AFTER triggers for its rows and for those of the part before it take turns, row by row, if they can.
    pub fn take_turns(&mut self, before: &End<'_>) {
        self.in_turn = match (&self.triggers, &before.triggers) {
            (Some(own), Some(_)) => !own.changes_rows(TriggerEvent::Insert),
            _ => false,
        };
    }

    /// AFTER triggers for the rows of these, of one partitioned table, fire in the order in which the rows were changed.
    pub fn join(ends: &mut [End<'_>]) {
        ends.iter_mut().skip(1).for_each(|end| end.in_turn = true);
    }

    /// Adds one, unless there is nothing to do.
    pub fn add<'k>(
        ends: &mut Vec<End<'t>>,
        keys: impl IntoIterator<Item = Option<&'k mut ForeignKeys>>,
        triggers: Option<&'t mut Triggers>,
    ) {
        let noted = keys.into_iter().flatten().filter(|keys| keys.has_noted());
        let keys: Vec<ForeignKeys> = noted.map(ForeignKeys::take).collect();
        if !keys.is_empty() || triggers.is_some() {
            ends.push(End { keys, triggers, in_turn: false });
        }
    }
}

/// Statements of which something is left to do. They are numbered: the parts of the one that all began with, then the others.
pub(super) struct Rounds<'t> {
    /// The triggers of the parts.
    own: Vec<Option<&'t mut Triggers>>,
    /// Which parts fire with the one before them.
    in_turn: Vec<bool>,
    /// Those of statements that went along, in their order.
    along: Vec<Triggers>,
    queue: VecDeque<Turn>,
    /// How many of the queue are parts: they stand in front.
    ahead: usize,
    /// Rows of an earlier part may have gone: there were several parts, or something went along.
    deletes: bool,
    /// How many of them have fired, the own ones first.
    fired: usize,
}

/// The keys that a statement has noted, and the number of its triggers.
struct Turn {
    keys: Vec<ForeignKeys>,
    triggers: Option<usize>,
}

impl<'t> Rounds<'t> {
    /// Does all that follows from the keys that the parts of a statement have noted.
    pub fn run(cx: &ExecContext<'_>, ends: Vec<End<'t>>) -> Result<()> {
        let (mut own, mut queue) = (Vec::with_capacity(ends.len()), VecDeque::with_capacity(ends.len()));
        let in_turn = ends.iter().map(|end| end.in_turn).collect();
        for (number, End { keys, triggers, in_turn: _ }) in ends.into_iter().enumerate() {
            queue.push_back(Turn { keys, triggers: Some(number) });
            own.push(triggers);
        }
        let (ahead, deletes) = (own.len(), own.len() > 1);
        let mut rounds = Rounds { own, in_turn, along: Vec::new(), queue, ahead, deletes, fired: 0 };
        rounds.share(cx)?;
        let mut checks = Vec::new();
        while let Some(mut turn) = rounds.queue.pop_front() {
            cx.check_cancelled()?;
            rounds.ahead = rounds.ahead.saturating_sub(1);
            if let Some(number) = turn.triggers.filter(|_| !turn.keys.is_empty()) {
                rounds.fire_before_keys(cx, number)?;
            }
            for keys in &turn.keys {
                rounds.act(cx, keys)?;
            }
            let gone = rounds.deletes;
            if rounds.ahead > 0 && !turn.keys.is_empty() {
                let keys = &mut turn.keys;
                within_statement(cx, |cx| keys.iter_mut().try_for_each(|keys| keys.check_new(cx, gone)))?;
            }
            checks.append(&mut turn.keys);
            if rounds.queue.len() == rounds.ahead && !checks.is_empty() {
                within_statement(cx, |cx| checks.iter().try_for_each(|keys| keys.check(cx, gone)))?;
                checks.clear();
            }
            if let Some(number) = turn.triggers {
                rounds.fire(cx, number)?;
            }
        }
        Ok(())
    }

    /// Parts that change one table fire its AFTER STATEMENT triggers once, with the last of them, which gets the rows of all.
    fn share(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        for at in 1..self.own.len() {
            let (before, rest) = self.own.split_at_mut(at);
            let Some(later) = rest[0].as_deref_mut() else { continue };
            for earlier in before.iter_mut().flatten() {
                if !earlier.is_like(later) {
                    continue;
                }
                earlier.pass_to(at, later);
                for (event, _) in earlier.all_passed().into_iter().filter(|(_, to)| *to == at) {
                    if let Some(passed) = earlier.hand_over(event, at) {
                        later.take_over(cx, passed)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The rows that a part has handed to a later one are lent to it: it hands them on when its triggers have fired.
    fn lend(&mut self, cx: &ExecContext<'_>, number: usize) -> Result<()> {
        let parts = self.own.len();
        let passed = |rounds: &Self, number: usize, event: TriggerEvent| {
            let triggers = rounds.own.get(number)?.as_deref()?;
            triggers.passed_to(event).filter(|to| *to < parts)
        };
        let Some(Some(triggers)) = self.own.get(number) else { return Ok(()) };
        for (event, to) in triggers.all_passed() {
            let mut last = to;
            while let Some(next) = passed(self, last, event) {
                last = next;
            }
            let lent = self.own.get_mut(last).and_then(|own| own.as_deref_mut()?.hand_over(event, number));
            if let (Some(lent), Some(Some(triggers))) = (lent, self.own.get_mut(number)) {
                triggers.take_over(cx, lent)?;
            }
        }
        Ok(())
    }

    /// AFTER ROW triggers fire whose names stand before those of foreign keys.
    fn fire_before_keys(&mut self, cx: &ExecContext<'_>, number: usize) -> Result<()> {
        self.lend(cx, number)?;
        if let Some(triggers) = self.triggers(number)
            && triggers.fire_before_keys(cx)?
        {
            // They may have done anything.
            self.deletes = true;
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
        let next = self.own.len() + self.along.len();
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
        self.deletes = true;
        let number = triggers.map(|triggers| {
            self.along.push(*triggers);
            self.own.len() + self.along.len() - 1
        });
        self.queue.push_back(Turn { keys: vec![keys], triggers: number });
    }

    fn triggers(&mut self, number: usize) -> Option<&mut Triggers> {
        match number.checked_sub(self.own.len()) {
            None => self.own.get_mut(number)?.as_deref_mut(),
            Some(at) => self.along.get_mut(at),
        }
    }

    fn fire(&mut self, cx: &ExecContext<'_>, number: usize) -> Result<()> {
        if self.in_turn.get(number + 1).is_some_and(|in_turn| *in_turn) {
            return Ok(());
        }
        let mut first = number;
        while self.in_turn.get(first).is_some_and(|in_turn| *in_turn) {
            first -= 1;
        }
        if first < number && !self.share_rows(first..number + 1) {
            self.fire_in_turn(cx, first..number + 1)?;
        }
        (first..number + 1).try_for_each(|number| self.fire_one(cx, number))
    }

    /// Whether two of these parts share transition tables, which only one has at a time.
    fn share_rows(&self, parts: Range<usize>) -> bool {
        let own: Vec<&Triggers> = parts.filter_map(|number| self.own.get(number)?.as_deref()).collect();
        let shares = |one: &Triggers, other: &Triggers| one.is_like(other) && one.has_transitions(other);
        (1..own.len()).any(|at| own[..at].iter().any(|one| shares(one, own[at])))
    }

    /// AFTER ROW triggers of parts whose rows take turns.
    fn fire_in_turn(&mut self, cx: &ExecContext<'_>, parts: Range<usize>) -> Result<()> {
        parts.clone().try_for_each(|number| self.lend(cx, number))?;
        // By the number of its next row each part that has one.
        let mut next = BinaryHeap::with_capacity(parts.len());
        for number in parts {
            let order = self.triggers(number).map_or(Ok(None), Triggers::next_order)?;
            next.extend(order.map(|order| Reverse((order, number))));
        }
        while let Some(Reverse((_, number))) = next.pop() {
            let Some(triggers) = self.triggers(number) else { continue };
            triggers.fire_row(cx)?;
            next.extend(triggers.next_order()?.map(|order| Reverse((order, number))));
        }
        Ok(())
    }

    fn fire_one(&mut self, cx: &ExecContext<'_>, number: usize) -> Result<()> {
        self.fired = number + 1;
        self.lend(cx, number)?;
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

    /// What is still referenced, and rows that reference nothing; `gone` as of [`Rounds::deletes`].
    fn check(&self, cx: &ExecContext<'_>, gone: bool) -> Result<()> {
        self.incoming.iter().try_for_each(|key| key.check(cx, &self.table, false))?;
        self.outgoing.iter().try_for_each(|key| key.check(cx, &self.table, gone))
    }

    /// Only rows that reference nothing, which are done with then.
    fn check_new(&mut self, cx: &ExecContext<'_>, gone: bool) -> Result<()> {
        self.outgoing.drain(..).try_for_each(|key| key.check(cx, &self.table, gone))
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
    let mut ends = Vec::new();
    End::add(&mut ends, keys, own);
    finish_parts(cx, ends)
}

/// The same of a statement with several parts, in their order.
///
/// # Errors
/// As of [`finish_keys`].
pub fn finish_parts(cx: &ExecContext<'_>, mut ends: Vec<End<'_>>) -> Result<()> {
    if ends.is_empty() {
        return Ok(());
    }
    // A key that is there twice is found before what the rows lead to.
    cx.tables()?.check_keys()?;
    if ends.iter().any(|end| !end.keys.is_empty()) && is_replica(cx) {
        ends.iter_mut().for_each(|end| end.keys.clear());
    }
    match ends.as_mut_slice() {
        [End { keys, triggers: Some(own), .. }] if keys.is_empty() => own.finish(cx).map(drop),
        _ => Rounds::run(cx, ends),
    }
}
