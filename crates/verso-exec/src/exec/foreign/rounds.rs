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
//! 3. The rows of a part are dealt with in their order, keys and AFTER ROW triggers by name (`rows.rs`): what a row takes along goes
//!    before the triggers of the next row fire. What is still referenced is looked for there, too, before what went along takes
//!    further rows along.
//! 4. One statement takes along what follows from one key in rows that come one after the other; where rows of several tables take
//!    turns, and triggers can tell, there are as many statements.
//! 5. Parts that change one table share its transition tables: the rows of all are lent to the part whose triggers fire.
//! 6. A row that has gone by then, with what was deleted before, references nothing.
//! 7. AFTER ROW triggers of the leaves of a partitioned table fire for the rows of all of them in the order in which these were
//!    changed; so do those of the actions of a MERGE.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use verso_catalog::TableDef;

use super::super::ExecContext;
use super::super::trigger::{Stage, TriggerEvent, Triggers};
use super::referenced::Along;
use super::rows::{self, Lanes};
use super::{ForeignKeys, is_replica};
use crate::error::Result;
use crate::memory::Reservation;

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

/// So many statements wait without being charged; about how much memory each holds.
const FREE_TURNS: usize = 64;
const TURN_BYTES: u64 = 2 << 10;

/// Statements of which something is left to do. They are numbered: the parts of the one that all began with, then the others.
pub(super) struct Rounds<'t> {
    /// The triggers of the parts.
    own: Vec<Option<&'t mut Triggers>>,
    /// Which parts fire with the one before them.
    in_turn: Vec<bool>,
    /// Those of statements that went along, in their order.
    along: Vec<Option<Box<Triggers>>>,
    queue: VecDeque<Turn>,
    /// Statements that go along for the rows dealt with now, each with the number of its keys; none while it runs.
    going: Vec<(usize, Option<Along>)>,
    /// A statement ends when another one goes on.
    alternates: bool,
    /// Rows of an earlier part may have gone: there were several parts, something went along, or triggers fired.
    deletes: bool,
    /// How many of them have fired, the own ones first.
    fired: usize,
    held: Option<Reservation>,
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
        let deletes = own.len() > 1;
        let mut rounds = Rounds {
            own,
            in_turn,
            along: Vec::new(),
            queue,
            going: Vec::new(),
            alternates: false,
            deletes,
            fired: 0,
            held: None,
        };
        rounds.share(cx)?;
        while let Some(turn) = rounds.queue.pop_front() {
            cx.check_cancelled()?;
            rounds.take_turn(cx, turn)?;
            rounds.charge(cx)?;
        }
        Ok(())
    }

    /// The rows of a statement, or of parts of one whose rows take turns, then its statement triggers.
    fn take_turn(&mut self, cx: &ExecContext<'_>, turn: Turn) -> Result<()> {
        let mut turns = vec![turn];
        if let Some(first) = turns[0].triggers {
            let with_it = self.in_turn.iter().skip(first + 1).take_while(|in_turn| **in_turn).count();
            if with_it > 0 && !self.share_rows(first..first + 1 + with_it) {
                turns.extend(self.queue.drain(..with_it));
            }
        }
        let numbers: Vec<usize> = turns.iter().filter_map(|turn| turn.triggers).collect();
        numbers.iter().try_for_each(|number| self.lend(cx, *number))?;
        let mut lanes = 0;
        let of = |Turn { keys, triggers }| Lanes::of(cx, keys, triggers, &mut lanes);
        let mut parts: Vec<Lanes> = turns.into_iter().map(of).collect();
        rows::run(cx, self, &mut parts)?;
        self.end_going();
        drop(parts);
        numbers.into_iter().try_for_each(|number| self.fire_one(cx, number))
    }

    /// What waits is charged where it is much.
    fn charge(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let waiting = self.queue.len();
        if waiting > FREE_TURNS || self.held.is_some() {
            let account = cx.services.memory.account;
            let held = self.held.get_or_insert_with(|| account.reserve("foreign keys", u64::MAX));
            held.resize(waiting as u64 * TURN_BYTES)?;
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

    /// Whether rows may have gone that the statement has changed.
    pub fn may_have_gone(&self) -> bool {
        self.deletes
    }

    /// The number of the next row for which AFTER ROW triggers fire.
    pub fn next_fired(&mut self, number: Option<usize>) -> Result<Option<i64>> {
        number.and_then(|number| self.triggers(number)).map_or(Ok(None), Triggers::next_order)
    }

    /// They fire for that row.
    pub fn fire_row(&mut self, cx: &ExecContext<'_>, number: Option<usize>, stage: Stage) -> Result<()> {
        let Some(triggers) = number.and_then(|number| self.triggers(number)) else { return Ok(()) };
        if stage == Stage::Ahead && !triggers.some_stand_before_keys() {
            return Ok(());
        }
        triggers.fire_row(cx, stage)?;
        // They may have done anything.
        self.deletes = true;
        Ok(())
    }

    /// Whether a statement that goes along ends when another one goes on.
    pub fn alternate(&mut self, alternates: bool) {
        self.alternates = alternates;
    }

    /// The statement that goes along for the keys of this number, where it goes on.
    pub fn take(&mut self, number: usize) -> Option<Along> {
        if self.alternates && self.going.iter().any(|(known, _)| *known != number) {
            self.end_going();
        }
        self.going.iter_mut().find(|(known, _)| *known == number)?.1.take()
    }

    /// It may go on.
    pub fn keep(&mut self, number: usize, along: Along) {
        self.deletes = true;
        match self.going.iter_mut().find(|(known, _)| *known == number) {
            Some((_, place)) => *place = Some(along),
            None => self.going.push((number, Some(along))),
        }
    }

    /// Statements went along: what follows from them comes in their turn.
    fn end_going(&mut self) {
        for (_, along) in std::mem::take(&mut self.going) {
            let Some((keys, triggers)) = along.map(Along::into_parts) else { continue };
            let number = triggers.map(|triggers| {
                self.along.push(Some(triggers));
                self.own.len() + self.along.len() - 1
            });
            if number.is_some() || keys.has_noted() {
                self.queue.push_back(Turn { keys: vec![keys], triggers: number });
            }
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

    fn triggers(&mut self, number: usize) -> Option<&mut Triggers> {
        match number.checked_sub(self.own.len()) {
            None => self.own.get_mut(number)?.as_deref_mut(),
            Some(at) => self.along.get_mut(at)?.as_deref_mut(),
        }
    }

    /// Whether two of these parts share transition tables, which only one has at a time.
    fn share_rows(&self, parts: Range<usize>) -> bool {
        let own: Vec<&Triggers> = parts.filter_map(|number| self.own.get(number)?.as_deref()).collect();
        let shares = |one: &Triggers, other: &Triggers| one.is_like(other) && one.has_transitions(other);
        (1..own.len()).any(|at| own[..at].iter().any(|one| shares(one, own[at])))
    }

    fn fire_one(&mut self, cx: &ExecContext<'_>, number: usize) -> Result<()> {
        self.fired = number + 1;
        self.lend(cx, number)?;
        let Some(triggers) = self.triggers(number) else { return Ok(()) };
        let has_passed = !triggers.all_passed().is_empty();
        for passed in triggers.finish(cx)? {
            if let Some(next) = self.triggers(passed.to) {
                next.take_over(cx, passed)?;
            }
        }
        // Statements that come find the one that has taken over.
        if has_passed && let Some(along) = number.checked_sub(self.own.len()) {
            self.along[along] = None;
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
            row: 0,
            numbered: 0,
        }
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
