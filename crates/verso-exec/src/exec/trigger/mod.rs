//! Triggers: which of them a change of rows fires, and when.
//!
//! ```text
//! BEFORE STATEMENT ─► each row: BEFORE ROW ─► check, change ─► noted ─┐
//!                                                                     ▼ end of the statement
//!                   each row: its foreign keys, and what goes along, AFTER ROW ─► AFTER STATEMENT
//!                                                                               └─► then the same of each statement that went along
//! ```
//!
//! G1. A statement over a table without triggers for it has no [`Triggers`]: it pays for one check.
//! G2. Triggers of one kind fire by name: those of rows that stand before `RI_ConstraintTrigger`, which are PostgreSQL's of foreign
//!     keys, before the keys of their row are acted upon, the others behind that. WHEN of AFTER triggers is asked when a row is noted; a row that nobody wants is
//!     not kept.
//! G3. Rows noted are charged to the session's work memory, and go to a file beyond; so do those of transition tables.
//! G4. A row is still as it was found before BEFORE ROW triggers see it, and before it is changed: a trigger that changes it
//!     itself is an error (27000). MERGE finds the rows of all its actions first, so that triggers of one may have changed those
//!     of another.
//! G5. A trigger that is put off to the commit takes its rows along ([`DeferredEvent`]).
//! G6. INSTEAD OF triggers fire for rows of a view, of which nothing is stored: what they return is counted, and seen by
//!     RETURNING. Where `session_replication_role` keeps them from firing, nothing is done.
//! G7. Rows of transition tables of a partitioned table are noted where they are changed, in its leaves, and handed up when the
//!     statement ends. A row that an UPDATE moves is one that it updates. AFTER ROW triggers of the leaves fire in the order in
//!     which the rows of all of them were changed, which their numbers tell (`foreign/rounds.rs`).
//! G8. Statements that go along for foreign keys, and the changes of a WITH, share the statement triggers of a table and an event
//!     (`foreign/rounds.rs`, `exec/with.rs`).
//! G9. A statement does not see what its own BEFORE STATEMENT triggers do: it finds its rows before they fire, and one that they
//!     have changed meanwhile is an error, as of a row's trigger. Where it reads the rows
//!     of a change in WITH, it finds them behind: that change begins later (`exec/with.rs`).

mod call;
mod condition;
mod deferred;
mod noted;
mod transition;

use std::sync::Arc;

use verso_catalog::{Oid, TableDef, TriggerDef, TriggerEnabled, TriggerKind};
use verso_types::Value;

use self::call::Bound;
use self::noted::{Noted, stands_before_keys};
use super::ExecContext;
use crate::error::{ExecError, Result};

pub(crate) use self::call::TriggerCall;
pub use self::deferred::{DeferredEvent, fire_deferred};
pub(super) use self::noted::Stage;
pub use self::noted::Transitions;
pub(super) use self::transition::TransitionOperator;

/// What happens to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TriggerEvent {
    /// INSERT.
    Insert,
    /// UPDATE.
    Update,
    /// DELETE.
    Delete,
    /// TRUNCATE.
    Truncate,
}

impl TriggerEvent {
    fn mark(self) -> i16 {
        match self {
            TriggerEvent::Insert => TriggerKind::INSERT,
            TriggerEvent::Update => TriggerKind::UPDATE,
            TriggerEvent::Delete => TriggerKind::DELETE,
            TriggerEvent::Truncate => TriggerKind::TRUNCATE,
        }
    }

    /// TG_OP.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            TriggerEvent::Insert => "INSERT",
            TriggerEvent::Update => "UPDATE",
            TriggerEvent::Delete => "DELETE",
            TriggerEvent::Truncate => "TRUNCATE",
        }
    }
}

/// The triggers of a table that an event may fire; `assigned` are the columns that an UPDATE names.
fn fired<'t>(
    table: &'t TableDef,
    event: TriggerEvent,
    assigned: &'t [usize],
) -> impl Iterator<Item = &'t Arc<TriggerDef>> {
    let named = move |trigger: &TriggerDef| {
        event != TriggerEvent::Update
            || trigger.columns.is_empty()
            || assigned.iter().any(|at| trigger.columns.contains(&table.columns[*at].id))
    };
    // Those of rows of a partitioned table are its leaves' as well, and fire there.
    let here = |trigger: &TriggerDef| table.partitioned.is_none() || !trigger.kind.is_row();
    table.triggers.iter().filter(move |trigger| {
        trigger.enabled != TriggerEnabled::Disabled
            && trigger.kind.has(event.mark())
            && named(trigger)
            && here(trigger)
    })
}

/// Whether a change has to know the whole rows, for its triggers.
#[must_use]
pub fn triggers_read_rows(table: &TableDef, event: TriggerEvent, assigned: &[usize]) -> bool {
    !table.triggers.is_empty()
        && fired(table, event, assigned).any(|trigger| {
            trigger.kind.is_row()
                || trigger.old_table.is_some()
                || trigger.new_table.is_some()
                || changes_found(trigger, event)
        })
}

/// Whether a trigger of a statement may change what the statement finds: UPDATE and DELETE know their rows before it fires.
fn changes_found(trigger: &TriggerDef, event: TriggerEvent) -> bool {
    matches!(event, TriggerEvent::Update | TriggerEvent::Delete)
        && !trigger.kind.is_row()
        && !trigger.kind.is_after()
}

/// Whether a table has triggers that fire before a change or one of its rows.
fn fires_before(table: &TableDef) -> bool {
    let fires = |trigger: &Arc<TriggerDef>| {
        trigger.enabled != TriggerEnabled::Disabled && !trigger.kind.is_after() && !trigger.kind.is_instead()
    };
    table.triggers.iter().any(fires)
}

/// Whether triggers may replace or skip the rows of a change, or have changed those that it has found.
#[must_use]
pub fn triggers_change_rows(table: &TableDef, event: TriggerEvent) -> bool {
    !table.triggers.is_empty()
        && table.partitioned.is_none()
        && table.triggers.iter().any(|trigger| {
            trigger.enabled != TriggerEnabled::Disabled
                && trigger.kind.has(event.mark())
                && !trigger.kind.is_after()
                && (trigger.kind.is_row() || changes_found(trigger, event))
        })
}

/// Whether triggers see the rows of a change before they are changed: BEFORE ROW, or INSTEAD OF those of a view.
pub(super) fn fires_before_rows(table: &TableDef, event: TriggerEvent) -> bool {
    table.triggers.iter().any(|trigger| {
        trigger.enabled != TriggerEnabled::Disabled
            && trigger.kind.has(event.mark())
            && trigger.kind.is_row()
            && !trigger.kind.is_after()
    })
}

/// Whether triggers fire for the rows of a table: then the order in which these are changed shows.
pub(super) fn fires_for_rows(table: &TableDef) -> bool {
    table.triggers.iter().any(|trigger| trigger.enabled != TriggerEnabled::Disabled && trigger.kind.is_row())
}

/// The triggers that a statement fires.
pub(crate) struct Triggers {
    table: Arc<TableDef>,
    sets: Vec<EventTriggers>,
    /// Rows for AFTER triggers.
    noted: Noted,
    /// Once they are bound: whether the session's role was replica then.
    bound: Option<bool>,
    /// Events for which BEFORE STATEMENT triggers have fired with a statement before (G8).
    goes_on: Vec<TriggerEvent>,
    /// They are those of a part of a statement: none of them is a statement's.
    is_part: bool,
    /// Of a MERGE.
    merges: bool,
    /// They have fired for the execution that is about to begin.
    fired: bool,
    /// Events whose AFTER STATEMENT triggers another statement fires, by its number (G8).
    passed: Vec<(TriggerEvent, usize)>,
}

/// The rows of the transition tables of an event, for the statement of this number.
pub(super) struct Passed {
    pub(super) to: usize,
    event: TriggerEvent,
    rows: Transitions,
}

/// The triggers of one event, each kind by name.
pub(super) struct EventTriggers {
    event: TriggerEvent,
    all: Vec<Arc<TriggerDef>>,
    /// Of a part of a statement: the rows that it hands up (G7).
    up: Option<HandedUp>,
    /// BEFORE STATEMENT triggers of the statement that this one is a part of may have changed rows that it has found (G9).
    found: bool,
    /// INSTEAD OF triggers do the change.
    replaced: bool,
    before_statement: Vec<Bound>,
    /// BEFORE ROW and INSTEAD OF, of which a table has the ones and a view the others.
    before_row: Vec<Bound>,
    after_row: Vec<Bound>,
    after_statement: Vec<Bound>,
}

/// Rows for transition tables of the statement that a change is a part of.
#[derive(Clone, Copy)]
struct HandedUp {
    /// What the change is to that statement.
    event: TriggerEvent,
    old: bool,
    new: bool,
}

impl Triggers {
    /// Those that these events fire; an UPDATE with the columns it names. None where there are none.
    pub fn of(table: &Arc<TableDef>, events: &[(TriggerEvent, &[usize])]) -> Option<Box<Triggers>> {
        if table.triggers.is_empty() {
            return None;
        }
        let set = |(event, assigned): &(TriggerEvent, &[usize])| {
            let all: Vec<Arc<TriggerDef>> = fired(table, *event, assigned).cloned().collect();
            (!all.is_empty()).then(|| EventTriggers::new(*event, all))
        };
        Triggers::with_sets(table, events.iter().filter_map(set).collect())
    }

    /// The same of a MERGE; a partitioned table has some in any case, for its leaves to know of it.
    pub fn of_merge(table: &Arc<TableDef>, events: &[(TriggerEvent, &[usize])]) -> Option<Box<Triggers>> {
        let mut triggers = match Triggers::of(table, events) {
            Some(triggers) => triggers,
            None if table.partitioned.is_some() => Box::new(Triggers::new(table, Vec::new())),
            None => return None,
        };
        triggers.merges = true;
        Some(triggers)
    }

    /// None where there are no sets.
    fn with_sets(table: &Arc<TableDef>, sets: Vec<EventTriggers>) -> Option<Box<Triggers>> {
        if sets.is_empty() { None } else { Some(Box::new(Triggers::new(table, sets))) }
    }

    fn new(table: &Arc<TableDef>, sets: Vec<EventTriggers>) -> Triggers {
        let noted = Noted::new(table, sets.iter().map(|set| set.event));
        Triggers {
            table: Arc::clone(table),
            sets,
            noted,
            bound: None,
            goes_on: Vec::new(),
            is_part: false,
            merges: false,
            fired: false,
            passed: Vec::new(),
        }
    }

    /// Of a part of a statement for a table that this one is a part of: those of rows, and what those of the statement want to
    /// know of its rows. Each event stands with what it is to the statement.
    pub fn of_part(
        own: Option<Box<Triggers>>,
        table: &Arc<TableDef>,
        whole: Option<&Triggers>,
        events: &[(TriggerEvent, TriggerEvent)],
    ) -> Option<Box<Triggers>> {
        let mut sets = own.map_or_else(Vec::new, |own| own.sets);
        for set in &mut sets {
            set.all.retain(|trigger| trigger.kind.is_row());
        }
        let merges = whole.is_some_and(|whole| whole.merges);
        for (own, event) in events {
            let wanted = whole.and_then(|whole| whole.sets.iter().find(|set| set.event == *event));
            let (old, new) = wanted.map_or((false, false), |wanted| (wanted.wants_old(), wanted.wants_new()));
            let found = wanted
                .is_some_and(|wanted| wanted.all.iter().any(|trigger| changes_found(trigger, *event)))
                || merges && *own != TriggerEvent::Insert && fires_before(table);
            if !old && !new && !found {
                continue;
            }
            let up = (old || new).then_some(HandedUp { event: *event, old, new });
            match sets.iter_mut().find(|set| set.event == *own) {
                Some(set) => (set.up, set.found) = (up, found),
                None => sets.push(EventTriggers { up, found, ..EventTriggers::new(*own, Vec::new()) }),
            }
        }
        sets.retain(|set| !set.all.is_empty() || set.up.is_some() || set.found);
        let mut triggers = Triggers::with_sets(table, sets)?;
        (triggers.is_part, triggers.merges) = (true, merges);
        triggers.noted.number_with_parts();
        Some(triggers)
    }

    /// Takes the rows that a part of the statement hands up.
    pub fn take_from(&mut self, cx: &ExecContext<'_>, part: &mut Triggers) -> Result<()> {
        for set in &part.sets {
            let Some(up) = set.up else { continue };
            let Some(rows) = part.noted.take_transitions(set.event) else { continue };
            for (wanted, rows, new) in [(up.old, rows.old, false), (up.new, rows.new, true)] {
                if wanted {
                    self.noted.keep_of_part(cx, (up.event, new), &self.table, rows, &part.table)?;
                }
            }
        }
        Ok(())
    }

    /// BEFORE STATEMENT triggers fire ahead of the execution, which [`Triggers::begin`] begins.
    pub fn fire_first(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.fired = false;
        self.begin(cx)?;
        self.fired = true;
        Ok(())
    }

    /// A new execution: BEFORE STATEMENT triggers fire.
    pub fn begin(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if std::mem::replace(&mut self.fired, false) {
            return Ok(());
        }
        self.bind(cx)?;
        self.noted.clear();
        self.passed.clear();
        let goes_on = &self.goes_on;
        for set in self.sets.iter_mut().filter(|set| !goes_on.contains(&set.event)) {
            for trigger in &mut set.before_statement {
                if trigger.wants(cx, None, None)? {
                    trigger.call(cx, &self.table, set.event, None, None)?;
                }
            }
        }
        Ok(())
    }

    fn bind(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let role = cx.services.settings.setting("session_replication_role");
        let replica = role.is_some_and(|role| role.eq_ignore_ascii_case("replica"));
        if self.bound == Some(replica) {
            return Ok(());
        }
        for set in &mut self.sets {
            let lists = [
                &mut set.before_statement,
                &mut set.before_row,
                &mut set.after_row,
                &mut set.after_statement,
            ];
            lists.into_iter().for_each(Vec::clear);
            for trigger in set.all.iter().filter(|trigger| trigger.enabled.fires(replica)) {
                let kind = trigger.kind;
                let list = match (!kind.is_after(), kind.is_row()) {
                    (true, true) => &mut set.before_row,
                    (true, false) => &mut set.before_statement,
                    (false, true) => &mut set.after_row,
                    (false, false) => &mut set.after_statement,
                };
                list.push(Bound::new(cx, trigger, &self.table)?);
            }
        }
        self.noted.fit(&self.sets);
        self.bound = Some(replica);
        Ok(())
    }

    fn set(&mut self, event: TriggerEvent) -> Option<&mut EventTriggers> {
        self.sets.iter_mut().find(|set| set.event == event)
    }

    /// Whether triggers may replace or skip rows, or have changed those that were found.
    pub fn changes_rows(&self, event: TriggerEvent) -> bool {
        let found = |set: &EventTriggers| {
            set.before_statement.iter().any(|trigger| changes_found(trigger.definition(), event))
        };
        let changes = |set: &EventTriggers| {
            set.event == event && (!set.before_row.is_empty() || set.replaced || set.found || found(set))
        };
        self.sets.iter().any(changes)
            || self.merges && event != TriggerEvent::Insert && fires_before(&self.table)
    }

    /// Before BEFORE ROW triggers fire for a row that was found: it has to be as it was then (G4), which `stays` tells.
    pub fn check_found(&self, event: TriggerEvent, stays: impl FnOnce() -> bool) -> Result<()> {
        let asks = |set: &EventTriggers| set.event == event && !set.before_row.is_empty();
        // PostgreSQL has these words for rows to be deleted, too.
        match !self.sets.iter().any(asks) || stays() {
            true => Ok(()),
            false => Err(changed_by_trigger(TriggerEvent::Update)),
        }
    }

    /// `27000`: a row is no longer as it was found.
    pub fn changed(&self, event: TriggerEvent) -> ExecError {
        if self.merges { changed_before("updated or deleted") } else { changed_by_trigger(event) }
    }

    /// Whether BEFORE STATEMENT triggers are about to fire, which change nothing of what the statement sees (G9).
    pub fn come_first(&mut self, cx: &ExecContext<'_>) -> Result<bool> {
        self.bind(cx)?;
        let fires =
            |set: &EventTriggers| !set.before_statement.is_empty() && !self.goes_on.contains(&set.event);
        Ok(!self.fired && self.sets.iter().any(fires))
    }

    /// Whether triggers do the change (G6).
    pub fn replaces(&self, event: TriggerEvent) -> bool {
        self.sets.iter().any(|set| set.event == event && set.replaced)
    }

    /// BEFORE ROW or INSTEAD OF triggers fire. Yields the row as it is to be stored, or for a DELETE the old one; none if it is skipped.
    pub fn before_row(
        &mut self,
        cx: &ExecContext<'_>,
        event: TriggerEvent,
        old: Option<&[Value]>,
        new: Option<Vec<Value>>,
    ) -> Result<Option<Vec<Value>>> {
        let table = Arc::clone(&self.table);
        let mut row = new.or_else(|| old.map(<[Value]>::to_vec)).unwrap_or_default();
        let Some(set) = self.set(event) else { return Ok(Some(row)) };
        for trigger in &mut set.before_row {
            let new = (event != TriggerEvent::Delete).then_some(row.as_slice());
            if !trigger.wants(cx, old, new)? {
                continue;
            }
            match trigger.call(cx, &table, event, old, new)? {
                None => return Ok(None),
                Some(_) if event == TriggerEvent::Delete => {}
                Some(returned) => row = returned,
            }
        }
        Ok(Some(row))
    }

    /// Whether AFTER triggers have to be told of rows.
    pub fn notes(&self, event: TriggerEvent) -> bool {
        self.sets.iter().any(|set| set.event == event && set.notes())
    }

    /// Notes rows that were changed, for AFTER triggers: their columns before and behind the change, those that there are.
    pub fn note(
        &mut self,
        cx: &ExecContext<'_>,
        event: TriggerEvent,
        rows: usize,
        old: Option<&[verso_types::Column]>,
        new: Option<&[verso_types::Column]>,
    ) -> Result<()> {
        let Some(set) = self.sets.iter_mut().find(|set| set.event == event) else { return Ok(()) };
        if rows == 0 || !set.notes() {
            return Ok(());
        }
        self.noted.add(cx, set, rows, old, new)
    }

    /// Rows that are noted get numbers: those of another change take turns with them (`exec/with.rs`).
    pub(super) fn number_rows(&mut self) {
        self.noted.number_rows();
    }

    /// The number of the next row for which AFTER ROW triggers fire; none when they have fired for all.
    pub(super) fn next_order(&mut self) -> Result<Option<i64>> {
        self.noted.next_order()
    }

    /// The number of the first of so many rows that are about to be noted for an event (`foreign/rounds.rs`).
    pub(super) fn number(&mut self, cx: &ExecContext<'_>, event: TriggerEvent, rows: usize) -> i64 {
        let skipped = !self.notes(event);
        self.noted.next_number(cx, rows, skipped)
    }

    /// They fire for that row, ahead of [`Triggers::finish`].
    pub(super) fn fire_row(&mut self, cx: &ExecContext<'_>, stage: Stage) -> Result<()> {
        let Triggers { table, sets, noted, .. } = self;
        noted.fire_row(cx, table, sets, stage)
    }

    /// Whether some of those for rows stand before foreign keys.
    pub(super) fn some_stand_before_keys(&self) -> bool {
        let mut triggers = self.sets.iter().flat_map(|set| &set.after_row);
        triggers.any(|trigger| stands_before_keys(trigger.definition()))
    }

    /// The end of the statement: AFTER triggers fire, those of rows in the order of the rows, then those of the statement.
    /// Rows of transition tables of which another statement fires the triggers are handed on.
    pub fn finish(&mut self, cx: &ExecContext<'_>) -> Result<Vec<Passed>> {
        let Triggers { table, sets, noted, passed, .. } = self;
        noted.fire(cx, table, sets)?;
        // ON CONFLICT: those of UPDATE come first.
        for set in sets.iter_mut().rev() {
            if passed.iter().any(|(event, _)| *event == set.event) {
                continue;
            }
            let (event, transitions) = (set.event, noted.transitions(set.event));
            for trigger in &mut set.after_statement {
                if trigger.wants(cx, None, None)? {
                    let cx = &cx.with_transitions(transitions);
                    trigger.call(cx, table, event, None, None)?;
                }
            }
        }
        let mut handed = Vec::new();
        for (event, to) in passed.drain(..) {
            handed.extend(noted.take_transitions(event).map(|rows| Passed { to, event, rows }));
        }
        noted.clear();
        Ok(handed)
    }

    /// Whether they are of the same table, and of an event of the others.
    pub(super) fn is_like(&self, others: &Triggers) -> bool {
        let whole = !self.is_part && !others.is_part;
        whole
            && self.table.oid == others.table.oid
            && self.sets.iter().any(|set| others.sets.iter().any(|other| other.event == set.event))
    }

    /// Whether one of them, for an event of the others, has a transition table.
    pub(super) fn has_transitions(&self, others: &Triggers) -> bool {
        let mut shared =
            self.sets.iter().filter(|set| others.sets.iter().any(|other| other.event == set.event));
        shared.any(|set| set.wants_old() || set.wants_new())
    }

    /// The statement of that number fires what is left of the statement triggers for the events of these, but for those events
    /// that were passed before.
    pub(super) fn pass_to(&mut self, number: usize, triggers: &Triggers) {
        for set in &triggers.sets {
            if self.passed_to(set.event).is_none() {
                self.passed.push((set.event, number));
            }
        }
    }

    /// The number of the statement that an event was passed to.
    pub(super) fn passed_to(&self, event: TriggerEvent) -> Option<usize> {
        self.passed.iter().find(|(known, _)| *known == event).map(|(_, number)| *number)
    }

    /// The events passed, each with the number of the statement.
    pub(super) fn all_passed(&self) -> Vec<(TriggerEvent, usize)> {
        self.passed.clone()
    }

    /// The rows of the transition tables of an event, as those of the statement of this number.
    pub(super) fn hand_over(&mut self, event: TriggerEvent, to: usize) -> Option<Passed> {
        self.noted.take_transitions(event).map(|rows| Passed { to, event, rows })
    }

    /// The BEFORE STATEMENT triggers have fired already.
    pub(super) fn go_on(&mut self) {
        self.goes_on = self.sets.iter().map(|set| set.event).collect();
    }

    /// BEFORE STATEMENT triggers do not fire again for the events that parts of a WITH have fired them for before; those of this
    /// part join them.
    pub fn begin_behind(&mut self, begun: &mut Vec<(Oid, TriggerEvent)>) {
        self.goes_on.clear();
        for set in &self.sets {
            let event = (self.table.oid, set.event);
            if begun.contains(&event) {
                self.goes_on.push(set.event);
            } else {
                begun.push(event);
            }
        }
    }

    /// Takes the rows of transition tables over from a statement before.
    pub(super) fn take_over(&mut self, cx: &ExecContext<'_>, passed: Passed) -> Result<()> {
        self.noted.put_before(cx, passed.event, passed.rows)
    }
}

impl EventTriggers {
    fn new(event: TriggerEvent, all: Vec<Arc<TriggerDef>>) -> EventTriggers {
        EventTriggers {
            event,
            replaced: all.iter().any(|trigger| trigger.kind.is_instead()),
            all,
            up: None,
            found: false,
            before_statement: Vec::new(),
            before_row: Vec::new(),
            after_row: Vec::new(),
            after_statement: Vec::new(),
        }
    }

    /// Whether a transition table may have the old rows, of the statement or of the one that it is a part of.
    fn wants_old(&self) -> bool {
        self.up.is_some_and(|up| up.old) || self.all.iter().any(|trigger| trigger.old_table.is_some())
    }

    /// The same of the new rows.
    fn wants_new(&self) -> bool {
        self.up.is_some_and(|up| up.new) || self.all.iter().any(|trigger| trigger.new_table.is_some())
    }

    fn notes(&self) -> bool {
        !self.after_row.is_empty() || self.keeps_old() || self.keeps_new()
    }

    /// Whether a transition table has the old rows.
    fn keeps_old(&self) -> bool {
        self.up.is_some_and(|up| up.old)
            || self.after().any(|trigger| trigger.definition().old_table.is_some())
    }

    /// The same of the new rows.
    fn keeps_new(&self) -> bool {
        self.up.is_some_and(|up| up.new)
            || self.after().any(|trigger| trigger.definition().new_table.is_some())
    }

    fn after(&self) -> impl Iterator<Item = &Bound> {
        self.after_row.iter().chain(&self.after_statement)
    }
}

/// Fires the triggers that a statement without rows has: TRUNCATE.
/// # Errors
/// Those of the functions.
pub fn fire_statement(
    cx: &ExecContext<'_>,
    table: &Arc<TableDef>,
    event: TriggerEvent,
    before: bool,
) -> Result<()> {
    let Some(mut triggers) = Triggers::of(table, &[(event, &[])]) else { return Ok(()) };
    if before { triggers.begin(cx) } else { triggers.bind(cx).and_then(|()| triggers.finish(cx)).map(drop) }
}

/// `27000`: a BEFORE trigger, or a function that the statement calls, has changed the very row.
pub(super) fn changed_by_trigger(event: TriggerEvent) -> ExecError {
    changed_before(if event == TriggerEvent::Delete { "deleted" } else { "updated" })
}

pub(super) fn changed_before(word: &str) -> ExecError {
    let message =
        format!("tuple to be {word} was already modified by an operation triggered by the current command");
    let hint =
        "Consider using an AFTER trigger instead of a BEFORE trigger to propagate changes to other rows.";
    verso_types::TypeError::new("27000", message).with_hint(hint).into()
}
