//! Rows that AFTER triggers look at when the statement is done.
//!
//! A row is kept once, whatever the number of triggers that want it: its event, a bit for each of them, its old values and
//! its new ones, as far as the statement's events have them. Transition tables have all rows, in spools of their own.

use std::sync::Arc;

use verso_catalog::{ConstraintKind, TableDef, TriggerDef};
use verso_types::{Batch, Column, SqlType, Value};

use super::deferred::DeferredEvent;
use super::{EventTriggers, TriggerEvent};
use crate::error::Result;
use crate::exec::ExecContext;
use crate::exec::statement::column_types;
use crate::spill::Spool;

/// Bits of a column of marks.
const MARKS: usize = 63;

/// What a request for memory is called.
const WHAT: &str = "rows for AFTER triggers";
/// The same of the rows of transition tables.
const TRANSITIONS: &str = "a transition table";

/// Whether a trigger fires before PostgreSQL's own ones for foreign keys, which it fires by name among the others.
pub(super) fn stands_before_keys(trigger: &TriggerDef) -> bool {
    *trigger.name < *"RI_ConstraintTrigger"
}

/// Rows noted.
pub(super) struct Noted {
    types: Vec<SqlType>,
    has_old: bool,
    has_new: bool,
    /// How many columns of marks there are.
    marks: usize,
    rows: Spool,
    order: Order,
    firing: Firing,
    transitions: Vec<(TriggerEvent, Transitions)>,
}

/// The numbers of rows, where those of several changes, or foreign keys, take turns: rows that nobody wants have some, too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Order {
    None,
    /// Numbers of its own: that of the next row.
    Own(i64),
    /// Those of all parts of a table that a statement changes.
    OfParts,
}

/// Which triggers fire for a row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::exec) enum Stage {
    /// Those that stand before foreign keys: the row stays, for the others.
    Ahead,
    /// The others.
    Behind,
    All,
}

/// Rows for which triggers fire.
#[derive(Default)]
struct Firing {
    batch: Batch,
    types: Vec<SqlType>,
    /// The first for which they have not fired.
    row: usize,
}

/// The rows of a statement as relations.
#[derive(Debug, Default)]
pub struct Transitions {
    pub(crate) old: Spool,
    pub(crate) new: Spool,
}

/// Whether foreign keys take turns with the triggers of a table.
fn has_keys(table: &TableDef) -> bool {
    let foreign = |kind: &ConstraintKind| matches!(kind, ConstraintKind::Foreign(_));
    !table.referenced_by.is_empty() || table.constraints.iter().any(|constraint| foreign(&constraint.kind))
}

/// A column without values.
fn nulls(ty: &SqlType, rows: usize) -> Result<Column> {
    let mut column = Column::new(ty.physical());
    for _ in 0..rows {
        column.push_value(&Value::Null, ty)?;
    }
    Ok(column)
}

impl Noted {
    pub fn new(table: &TableDef, events: impl Iterator<Item = TriggerEvent>) -> Noted {
        let (mut has_old, mut has_new) = (false, false);
        for event in events {
            has_old |= event != TriggerEvent::Insert;
            has_new |= event != TriggerEvent::Delete;
        }
        let types = column_types(table);
        Noted {
            types,
            has_old,
            has_new,
            marks: 0,
            rows: Spool::default(),
            order: if has_keys(table) { Order::Own(0) } else { Order::None },
            firing: Firing::default(),
            transitions: Vec::new(),
        }
    }

    /// Makes room for the marks of these triggers.
    pub fn fit(&mut self, sets: &[EventTriggers]) {
        let most = sets.iter().map(|set| set.after_row.len()).max().unwrap_or(0);
        self.marks = most.div_ceil(MARKS);
    }

    pub fn clear(&mut self) {
        self.rows = Spool::default();
        self.firing = Firing::default();
        if let Order::Own(next) = &mut self.order {
            *next = 0;
        }
        self.transitions.clear();
    }

    /// Rows get numbers from now on.
    pub fn number_rows(&mut self) {
        self.order = Order::Own(0);
    }

    /// The rows are those of a part of a table: they get numbers together with those of the other parts.
    pub fn number_with_parts(&mut self) {
        self.order = Order::OfParts;
    }

    /// The number of the first of so many rows that are about to be added, 0 where rows have none; `skipped` ones are not added.
    pub fn next_number(&mut self, cx: &ExecContext<'_>, rows: usize, skipped: bool) -> i64 {
        if skipped {
            return self.number(cx, rows).unwrap_or_default();
        }
        match self.order {
            Order::None => 0,
            Order::Own(next) => next,
            Order::OfParts => cx.state().map_or(0, |state| state.number(0)),
        }
    }

    /// The number of the first of so many further rows.
    fn number(&mut self, cx: &ExecContext<'_>, rows: usize) -> Option<i64> {
        match &mut self.order {
            Order::None => None,
            Order::Own(next) => {
                let first = *next;
                *next += rows as i64;
                Some(first)
            }
            Order::OfParts => Some(cx.state().map_or(0, |state| state.number(rows))),
        }
    }

    /// How many columns stand before those of the rows.
    fn columns_ahead(&self) -> usize {
        1 + self.marks + usize::from(self.order != Order::None)
    }

    pub fn transitions(&self, event: TriggerEvent) -> Option<&Transitions> {
        self.transitions.iter().find(|(of, _)| *of == event).map(|(_, transitions)| transitions)
    }

    /// Keeps rows that triggers of a set want.
    pub fn add(
        &mut self,
        cx: &ExecContext<'_>,
        set: &mut EventTriggers,
        rows: usize,
        old: Option<&[Column]>,
        new: Option<&[Column]>,
    ) -> Result<()> {
        self.keep_transitions(cx, set, rows, old, new)?;
        let first = self.number(cx, rows);
        if set.after_row.is_empty() {
            return Ok(());
        }
        let mut marks = vec![vec![0i64; rows]; self.marks];
        let mut wanted = false;
        let mut both: Option<Batch> = None;
        for (n, trigger) in set.after_row.iter_mut().enumerate() {
            let (word, bit) = (n / MARKS, 1i64 << (n % MARKS));
            let Some(condition) = trigger.condition() else {
                marks[word].iter_mut().for_each(|mark| *mark |= bit);
                wanted = true;
                continue;
            };
            let both = match &mut both {
                Some(both) => both,
                none => none.insert(condition.rows(rows, old, new)?),
            };
            for row in condition.select(cx, both)? {
                marks[word][*row as usize] |= bit;
                wanted = true;
            }
        }
        if !wanted {
            return Ok(());
        }
        let mut columns = Vec::new();
        let mut numbers = |values: &mut dyn Iterator<Item = i64>| -> Result<()> {
            let mut column = Column::new(SqlType::Int8.physical());
            for value in values {
                column.push_value(&Value::Int8(value), &SqlType::Int8)?;
            }
            columns.push(column);
            Ok(())
        };
        numbers(&mut std::iter::repeat_n(set.event as i64, rows))?;
        for word in &marks {
            numbers(&mut word.iter().copied())?;
        }
        if let Some(first) = first {
            numbers(&mut (first..first + rows as i64))?;
        }
        for (kept, given) in [(self.has_old, old), (self.has_new, new)] {
            match given {
                _ if !kept => {}
                Some(given) => columns.extend_from_slice(&given[..self.types.len()]),
                None => {
                    for ty in &self.types {
                        columns.push(nulls(ty, rows)?);
                    }
                }
            }
        }
        let mut batch = Batch { rows, columns };
        let unwanted = |row: &u32| marks.iter().all(|word| word[*row as usize] == 0);
        if (0..rows as u32).any(|row| unwanted(&row)) {
            let kept: Vec<u32> = (0..rows as u32).filter(|row| !unwanted(row)).collect();
            batch.filter(&kept);
        }
        self.rows.push(cx.services.memory, WHAT, batch)
    }

    fn keep_transitions(
        &mut self,
        cx: &ExecContext<'_>,
        set: &EventTriggers,
        rows: usize,
        old: Option<&[Column]>,
        new: Option<&[Column]>,
    ) -> Result<()> {
        let (keeps_old, keeps_new) = (set.keeps_old(), set.keeps_new());
        if !keeps_old && !keeps_new {
            return Ok(());
        }
        let width = self.types.len();
        let transitions = self.transitions_of(set.event);
        for (keeps, given, spool) in
            [(keeps_old, old, &mut transitions.old), (keeps_new, new, &mut transitions.new)]
        {
            if let Some(given) = given.filter(|_| keeps) {
                let batch = Batch { rows, columns: given[..width].to_vec() };
                spool.push(cx.services.memory, TRANSITIONS, batch)?;
            }
        }
        Ok(())
    }

    fn transitions_of(&mut self, event: TriggerEvent) -> &mut Transitions {
        let at = match self.transitions.iter().position(|(known, _)| *known == event) {
            Some(at) => at,
            None => {
                self.transitions.push((event, Transitions::default()));
                self.transitions.len() - 1
            }
        };
        &mut self.transitions[at].1
    }

    /// Takes the transition tables of an event away.
    pub fn take_transitions(&mut self, event: TriggerEvent) -> Option<Transitions> {
        let at = self.transitions.iter().position(|(known, _)| *known == event)?;
        Some(self.transitions.swap_remove(at).1)
    }

    /// Puts rows of a statement before to the front of the transition tables of an event.
    pub fn put_before(
        &mut self,
        cx: &ExecContext<'_>,
        event: TriggerEvent,
        mut before: Transitions,
    ) -> Result<()> {
        let after = self.take_transitions(event).unwrap_or_default();
        let mut batch = Batch::default();
        for (spool, mut rest) in [(&mut before.old, after.old), (&mut before.new, after.new)] {
            while rest.next(&mut batch)? {
                cx.check_cancelled()?;
                spool.push(cx.services.memory, TRANSITIONS, batch.clone())?;
            }
        }
        self.transitions.push((event, before));
        Ok(())
    }

    /// Keeps the rows of a part of the table, which has the same columns at other places.
    pub fn keep_of_part(
        &mut self,
        cx: &ExecContext<'_>,
        (event, new): (TriggerEvent, bool),
        table: &TableDef,
        mut rows: Spool,
        part: &TableDef,
    ) -> Result<()> {
        let places: Vec<Option<usize>> =
            table.columns.iter().map(|column| part.column(&column.name)).collect();
        let mut batch = Batch::default();
        while rows.next(&mut batch)? {
            cx.check_cancelled()?;
            let mut columns = Vec::with_capacity(places.len());
            for (place, ty) in places.iter().zip(&self.types) {
                // What indexes keep beside the columns is not shown.
                columns.push(match place {
                    Some(place) => batch.columns[*place].clone(),
                    None => nulls(ty, batch.rows)?,
                });
            }
            let kept = Batch { rows: batch.rows, columns };
            let transitions = self.transitions_of(event);
            let spool = if new { &mut transitions.new } else { &mut transitions.old };
            spool.push(cx.services.memory, TRANSITIONS, kept)?;
        }
        Ok(())
    }

    /// AFTER ROW triggers fire for the rows noted, or are put off to the commit.
    pub fn fire(
        &mut self,
        cx: &ExecContext<'_>,
        table: &Arc<TableDef>,
        sets: &[EventTriggers],
    ) -> Result<()> {
        while self.next_order()?.is_some() {
            self.fire_row(cx, table, sets, Stage::All)?;
        }
        Ok(())
    }

    /// The number of the next row for which they fire, 0 where rows have none; none when they have fired for all.
    pub fn next_order(&mut self) -> Result<Option<i64>> {
        if self.firing.row >= self.firing.batch.rows {
            self.firing.row = 0;
            if !self.rows.next(&mut self.firing.batch)? {
                self.firing.batch = Batch::default();
                return Ok(None);
            }
            self.firing.types = self.kept_types();
        }
        let Firing { batch, row, .. } = &self.firing;
        if self.order == Order::None {
            return Ok(Some(0));
        }
        let order = batch.columns[1 + self.marks].value(*row, &SqlType::Int8);
        Ok(Some(order.as_i64().unwrap_or_default()))
    }

    /// They fire for that row.
    pub fn fire_row(
        &mut self,
        cx: &ExecContext<'_>,
        table: &Arc<TableDef>,
        sets: &[EventTriggers],
        stage: Stage,
    ) -> Result<()> {
        let Firing { batch, types, row } = &mut self.firing;
        let values = batch.row(*row, types);
        if stage != Stage::Ahead {
            *row += 1;
        }
        self.fire_values(cx, (table, sets), &values, stage)
    }

    /// The types of what is kept of a row.
    fn kept_types(&self) -> Vec<SqlType> {
        let mut types = vec![SqlType::Int8; self.columns_ahead()];
        for _ in 0..usize::from(self.has_old) + usize::from(self.has_new) {
            types.extend_from_slice(&self.types);
        }
        types
    }

    /// They fire for a row as it is kept.
    fn fire_values(
        &self,
        cx: &ExecContext<'_>,
        (table, sets): (&Arc<TableDef>, &[EventTriggers]),
        values: &[Value],
        stage: Stage,
    ) -> Result<()> {
        cx.check_cancelled()?;
        let width = self.types.len();
        let old_at = self.columns_ahead();
        let new_at = old_at + if self.has_old { width } else { 0 };
        let event = values[0].as_i64().unwrap_or_default();
        let Some(set) = sets.iter().find(|set| set.event as i64 == event) else { return Ok(()) };
        let old = (set.event != TriggerEvent::Insert).then(|| &values[old_at..old_at + width]);
        let new = (set.event != TriggerEvent::Delete).then(|| &values[new_at..new_at + width]);
        for (n, trigger) in set.after_row.iter().enumerate() {
            let mark = values[1 + n / MARKS].as_i64().unwrap_or_default();
            if mark & (1 << (n % MARKS)) == 0 {
                continue;
            }
            let definition = trigger.definition();
            if stage != Stage::All && stands_before_keys(definition) != (stage == Stage::Ahead) {
                continue;
            }
            if definition.deferrable && cx.tables()?.is_trigger_deferred(definition) {
                let event = DeferredEvent::new(definition, set.event, old, new);
                cx.tables()?.defer_trigger(event, cx.services.memory)?;
                continue;
            }
            let cx = &cx.with_transitions(self.transitions(set.event));
            trigger.call(cx, table, set.event, old, new)?;
        }
        Ok(())
    }
}
