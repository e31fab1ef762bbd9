//! The rows of a statement, one after the other, as far as foreign keys and AFTER ROW triggers want them.
//!
//! ```text
//! each row: triggers that stand before foreign keys ─► keys that reference it ─► its own keys ─► the other triggers
//! ```
//!
//! PostgreSQL has a trigger for each side of a foreign key, which fires for each row among those of users, by name. What takes
//! less time is done where nobody can tell:
//!
//! 1. Without triggers of its own rows the keys of a statement are dealt with one after the other, each for all rows, unless
//!    triggers can tell in which order rows go along, or a key looks at rows that another one lets go along.
//! 2. Where nothing goes along, keys are looked at before the triggers fire: a row that is referenced does not go, whatever
//!    these do, and one that is gone is not referenced again. Only what would be refused waits for its turn.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

use verso_catalog::{Oid, ReferentialAction, TableDef, TriggerEnabled};

use super::super::ExecContext;
use super::super::trigger::Stage;
use super::referenced::Lane;
use super::referencing::Outgoing;
use super::rounds::Rounds;
use super::{ForeignKeys, foreign, within_statement};
use crate::error::Result;
use crate::memory::Reservation;

/// The keys that a part of a statement has noted, as far as they are not dealt with.
pub(super) struct Lanes {
    /// By the age of the foreign keys, as the names of PostgreSQL's triggers are.
    incoming: Vec<Lane>,
    outgoing: Vec<(Arc<TableDef>, Outgoing)>,
    /// The number of its triggers.
    triggers: Option<usize>,
    _held: Vec<Option<Reservation>>,
}

impl Lanes {
    /// Those of a part with triggers of this number. `lanes` counts them.
    pub fn of(
        cx: &ExecContext<'_>,
        keys: Vec<ForeignKeys>,
        triggers: Option<usize>,
        lanes: &mut usize,
    ) -> Lanes {
        let (mut incoming, mut outgoing, mut held) = (Vec::new(), Vec::new(), Vec::new());
        for keys in keys {
            for key in keys.incoming.into_iter().filter(|key| !key.keys.is_empty()) {
                *lanes += 1;
                incoming.push((key.constraint.oid, Lane::new(cx, *lanes, &keys.table, key)));
            }
            for key in keys.outgoing.into_iter().filter(|key| !key.keys.is_empty()) {
                outgoing.push((Arc::clone(&keys.table), key));
            }
            held.push(keys.held);
        }
        incoming.sort_by_key(|(oid, _)| *oid);
        outgoing.sort_by_key(|(_, key)| key.constraint.oid);
        let incoming = incoming.into_iter().filter_map(|(_, lane)| lane).collect();
        Lanes { incoming, outgoing, triggers, _held: held }
    }

    /// The number of the next row that a key wants.
    fn next_row(&self) -> Option<i64> {
        let incoming = self.incoming.iter().filter_map(Lane::next_row);
        incoming.chain(self.outgoing.iter().filter_map(|(_, key)| key.next_row())).min()
    }

    /// Does what follows from the rows up to this one, a key after the other. Each sees what those before it have done.
    fn deal(&mut self, cx: &ExecContext<'_>, rounds: &mut Rounds<'_>, row: i64) -> Result<()> {
        let wanted = |next: Option<i64>| next.is_some_and(|next| next <= row);
        for lane in self.incoming.iter_mut().filter(|lane| wanted(lane.next_row())) {
            lane.deal(cx, rounds, row)?;
        }
        let gone = rounds.may_have_gone();
        for (table, key) in self.outgoing.iter_mut().filter(|(_, key)| wanted(key.next_row())) {
            within_statement(cx, |cx| key.check(cx, table, row, gone))?;
        }
        Ok(())
    }

    /// Deals with all keys that nothing can be said against any more.
    fn look_ahead(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if self.next_row().is_none() {
            return Ok(());
        }
        within_statement(cx, |cx| {
            self.incoming.iter_mut().try_for_each(|lane| lane.look_ahead(cx))?;
            self.outgoing.iter_mut().try_for_each(|(table, key)| key.look_ahead(cx, table))
        })
    }
}

/// Deals with the rows of parts of a statement, which take turns by the numbers of their rows.
pub(super) fn run(cx: &ExecContext<'_>, rounds: &mut Rounds<'_>, parts: &mut [Lanes]) -> Result<()> {
    let mut fires = false;
    for part in parts.iter() {
        fires |= rounds.next_fired(part.triggers)?.is_some();
    }
    let lanes = || parts.iter().flat_map(|part| &part.incoming);
    let acts = lanes().any(Lane::acts);
    let several = lanes().count() + parts.iter().map(|part| part.outgoing.len()).sum::<usize>() > 1;
    let told = acts && several && show_order(cx, lanes().filter(|lane| lane.acts()));
    let by_rows = fires || told || acts && meet(lanes());
    rounds.alternate(told);
    if !by_rows {
        return parts.iter_mut().try_for_each(|part| part.deal(cx, rounds, i64::MAX));
    }
    if !acts {
        parts.iter_mut().try_for_each(|part| part.look_ahead(cx))?;
        if parts.len() == 1 && parts[0].next_row().is_none() {
            // Its triggers fire with those of the statement.
            return Ok(());
        }
    }
    let mut next = BinaryHeap::with_capacity(parts.len());
    for (at, part) in parts.iter().enumerate() {
        next.extend(next_row(rounds, part)?.map(|row| Reverse((row, at))));
    }
    while let Some(Reverse((row, at))) = next.pop() {
        cx.check_cancelled()?;
        let part = &mut parts[at];
        let wanted = part.next_row().is_some_and(|next| next <= row);
        let fires = rounds.next_fired(part.triggers)? == Some(row);
        if wanted && fires {
            rounds.fire_row(cx, part.triggers, Stage::Ahead)?;
        }
        if wanted {
            part.deal(cx, rounds, row)?;
        }
        if fires {
            rounds.fire_row(cx, part.triggers, if wanted { Stage::Behind } else { Stage::All })?;
        }
        next.extend(next_row(rounds, &parts[at])?.map(|row| Reverse((row, at))));
    }
    Ok(())
}

/// The number of the next row of a part that keys or triggers want.
fn next_row(rounds: &mut Rounds<'_>, part: &Lanes) -> Result<Option<i64>> {
    let fired = rounds.next_fired(part.triggers)?;
    Ok(part.next_row().into_iter().chain(fired).min())
}

/// Whether a key looks at rows of a table that another one lets go along.
fn meet<'l>(lanes: impl Iterator<Item = &'l Lane>) -> bool {
    let mut tables: HashMap<Oid, (bool, bool, usize)> = HashMap::new();
    for lane in lanes {
        let (acts, checks, count) = tables.entry(lane.child.table.oid).or_default();
        (*acts, *checks, *count) = (*acts || lane.acts(), *checks || lane.checks(), *count + 1);
    }
    tables.into_values().any(|(acts, checks, count)| acts && checks && count > 1)
}

/// Whether triggers fire for what goes along, at any distance, so that its order shows.
fn show_order<'l>(cx: &ExecContext<'_>, acting: impl Iterator<Item = &'l Lane>) -> bool {
    let mut reached: Vec<Arc<TableDef>> = acting.map(|lane| Arc::clone(&lane.child.table)).collect();
    let mut seen: HashSet<Oid> = reached.iter().map(|table| table.oid).collect();
    while let Some(table) = reached.pop() {
        if table.triggers.iter().any(|trigger| trigger.enabled != TriggerEnabled::Disabled) {
            return true;
        }
        for constraint in &table.referenced_by {
            let acts = |action| !matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict);
            let takes_along =
                foreign(constraint).is_some_and(|key| acts(key.on_update) || acts(key.on_delete));
            if takes_along && seen.insert(constraint.table) {
                reached.extend(cx.catalog.table_by_oid(constraint.table));
            }
        }
    }
    false
}
