//! Rows that others reference go or change: what goes along, what is refused.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::Arc;

use verso_catalog::{ConstraintDef, ReferentialAction, TableDef};
use verso_types::{Batch, CastKind, SqlType, Value, cast};

use super::super::change::{DeleteStatement, UpdateStatement};
use super::super::trigger::Triggers;
use super::super::{ExecContext, Sink};
use super::child::{Child, still_referenced};
use super::parent::Parent;
use super::rounds::Rounds;
use super::{ForeignKeys, foreign, key_bytes, within_statement};
use crate::error::{ExecError, Result};
use crate::plan::{ExprKind, TypedExpr};

/// A referenced key before and after an UPDATE.
pub(super) type Move = (Vec<Value>, Vec<Value>);

/// A foreign key of another table, or its own, that references the table.
pub(super) struct Incoming {
    pub(super) constraint: Arc<ConstraintDef>,
    pub(super) columns: Vec<usize>,
    /// In the order of the rows.
    pub(super) keys: Vec<OldKey>,
    /// About how much memory they hold.
    pub(super) bytes: u64,
}

/// The key of a row that goes or changes.
pub(super) struct OldKey {
    /// The number of the row.
    pub(super) row: i64,
    pub(super) old: Vec<Value>,
    /// Of an UPDATE.
    pub(super) new: Option<Vec<Value>>,
}

impl Incoming {
    pub(super) fn of(constraint: Arc<ConstraintDef>, columns: Vec<usize>) -> Incoming {
        Incoming { constraint, columns, keys: Vec::new(), bytes: 0 }
    }

    pub(super) fn take(&mut self) -> Incoming {
        let empty = Incoming::of(Arc::clone(&self.constraint), self.columns.clone());
        std::mem::replace(self, empty)
    }

    pub(super) fn note(&mut self, row: i64, old: Vec<Value>, new: Option<Vec<Value>>) {
        self.bytes += key_bytes(&old) + new.as_deref().map_or(0, key_bytes);
        self.keys.push(OldKey { row, old, new });
    }
}

/// The keys noted for one foreign key that references the table: what goes along with them, or the question whether they are
/// still referenced. Both come a row after the other.
pub(super) struct Lane {
    /// By which its statement is found while it is under way.
    number: usize,
    key: Incoming,
    parent: Arc<TableDef>,
    pub(super) child: Child,
    action: ReferentialAction,
    update: bool,
    moves: Moves,
    /// The first key that is not dealt with.
    next: usize,
}

/// What the keys of an ON UPDATE CASCADE become.
enum Moves {
    /// There are none, or they are not calculated yet.
    None,
    /// For each key.
    ByRow(Vec<Option<Move>>),
    /// They are done, all of them with the first.
    Done,
}

impl Lane {
    /// None where no table is there to reference it.
    pub(super) fn new(
        cx: &ExecContext<'_>,
        number: usize,
        parent: &Arc<TableDef>,
        key: Incoming,
    ) -> Option<Lane> {
        let child = Child::find(cx, parent, &key.constraint)?;
        let update = key.keys.iter().any(|key| key.new.is_some());
        let action = foreign(&key.constraint)
            .map_or(ReferentialAction::NoAction, |key| if update { key.on_update } else { key.on_delete });
        Some(Lane {
            number,
            key,
            parent: Arc::clone(parent),
            child,
            action,
            update,
            moves: Moves::None,
            next: 0,
        })
    }

    /// Whether rows go along.
    pub(super) fn acts(&self) -> bool {
        !matches!(self.action, ReferentialAction::NoAction | ReferentialAction::Restrict)
    }

    /// Whether rows that reference what goes are refused. SET DEFAULT may have set the very key.
    pub(super) fn checks(&self) -> bool {
        !matches!(self.action, ReferentialAction::Cascade | ReferentialAction::SetNull)
    }

    /// The number of the next row; none when all are dealt with.
    pub(super) fn next_row(&self) -> Option<i64> {
        self.key.keys.get(self.next).map(|key| key.row)
    }

    /// Does what follows from the keys of the rows up to this one.
    pub(super) fn deal(&mut self, cx: &ExecContext<'_>, rounds: &mut Rounds<'_>, row: i64) -> Result<()> {
        let first = self.next;
        let count = self.key.keys[first..].partition_point(|key| key.row <= row);
        if count == 0 {
            return Ok(());
        }
        self.next += count;
        let keys = first..self.next;
        if self.acts() {
            within_statement(cx, |cx| {
                // BEFORE triggers count it as one; AFTER triggers, which fire with those of the statement, do not.
                let cx = &cx.going_along();
                let done = self.act(cx, rounds, keys.clone()).and_then(|()| self.check_met(cx, keys.clone()));
                done.map_err(|error| self.within(error))
            })?;
        }
        if self.checks() {
            within_statement(cx, |cx| self.key.keys[keys].iter().try_for_each(|key| self.check(cx, key)))?;
        }
        Ok(())
    }

    /// Where nothing goes along: leaves only keys that are still referenced, which triggers may change yet. The others cannot be
    /// referenced any more.
    pub(super) fn look_ahead(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        let mut kept = Vec::new();
        for key in std::mem::take(&mut self.key.keys) {
            cx.check_cancelled()?;
            let deferred = self.is_deferred(cx)?;
            if deferred {
                self.check(cx, &key)?;
            } else if let Some(values) = self.child.key(cx, &key.old)
                && self.is_referenced(cx, &values)?
            {
                kept.push(key);
            }
        }
        self.key.keys = kept;
        Ok(())
    }

    /// Lets rows go along in a statement of which the keys and triggers come later.
    fn act(&mut self, cx: &ExecContext<'_>, rounds: &mut Rounds<'_>, keys: Range<usize>) -> Result<()> {
        if matches!(self.moves, Moves::Done) {
            return Ok(());
        }
        let going = rounds.take(self.number);
        if self.update && self.action == ReferentialAction::Cascade && matches!(self.moves, Moves::None) {
            let moves = self.calculate_moves(cx)?;
            if Lane::meet(&self.child, &moves) {
                self.moves = Moves::Done;
                let all = moves.into_iter().flatten().collect();
                let mut along = Along::Update(Box::new(self.child.update_together(cx, all)?));
                rounds.enter(along.triggers_mut());
                along.begin(cx)?;
                along.run(cx)?;
                rounds.keep(self.number, along);
                return Ok(());
            }
            self.moves = Moves::ByRow(moves);
        }
        let mut along = match going {
            Some(along) => along,
            None => {
                let mut along = self.statement(cx)?;
                rounds.enter(along.triggers_mut());
                along.begin(cx)?;
                along
            }
        };
        for at in keys {
            let params = match &mut self.moves {
                Moves::ByRow(moves) => moves[at].take().map(|(mut old, new)| {
                    old.extend(new);
                    old
                }),
                _ => self.child.key(cx, &self.key.keys[at].old),
            };
            if let Some(params) = params {
                along.run(&cx.with_params(&params))?;
            }
        }
        rounds.keep(self.number, along);
        Ok(())
    }

    /// What goes along, with the key as parameters.
    fn statement(&self, cx: &ExecContext<'_>) -> Result<Along> {
        Ok(match self.action == ReferentialAction::Cascade && !self.update {
            true => Along::Delete(Box::new(self.child.delete(cx.executor))),
            false => Along::Update(Box::new(self.child.update(cx, self.assignments(cx)?)?)),
        })
    }

    /// Fails where others have committed rows with the keys behind the transaction's snapshot, which therefore did not go along.
    fn check_met(&self, cx: &ExecContext<'_>, keys: Range<usize>) -> Result<()> {
        for key in &self.key.keys[keys] {
            let Some(key) = self.child.key(cx, &key.old) else { continue };
            if self.child.was_missed(cx, &key)? {
                let text = "could not serialize access due to concurrent update";
                return Err(ExecError::raised("40001", text));
            }
        }
        Ok(())
    }

    /// The error with the statement that PostgreSQL would run for the key.
    #[cold]
    fn within(&self, error: ExecError) -> ExecError {
        let Lane { child, action, update, .. } = self;
        let (action, update) = (*action, *update);
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let table = format!("{}.{}", quoted(&child.table.schema), quoted(&child.table.name));
        let columns: Vec<String> =
            child.columns.iter().map(|at| quoted(&child.table.columns[*at].name)).collect();
        // Texts of limited length are compared as texts.
        let cast = |ty: &SqlType| match ty.without_modifiers() {
            SqlType::Varchar(_) => "::pg_catalog.text",
            _ => "",
        };
        let cascades = action == ReferentialAction::Cascade;
        let first = if cascades && update { columns.len() } else { 0 };
        let equal = |(n, column): (usize, &String)| {
            let (left, right) = (cast(&child.from[n]), cast(&child.table.columns[child.columns[n]].ty));
            format!("${}{left} OPERATOR(pg_catalog.=) {column}{right}", first + n + 1)
        };
        let filter = columns.iter().enumerate().map(equal).collect::<Vec<_>>().join(" AND ");
        let only = foreign(&self.key.constraint).map(|key| key.delete_columns.as_slice()).unwrap_or_default();
        let set = |(n, column): (usize, &String)| {
            let own = child.table.columns[child.columns[n]].id;
            let left_out = !update && !only.is_empty() && !only.contains(&own);
            (!left_out).then(|| match action {
                ReferentialAction::Cascade => format!("{column} = ${}", n + 1),
                ReferentialAction::SetDefault => format!("{column} = DEFAULT"),
                _ => format!("{column} = NULL"),
            })
        };
        let assigned = columns.iter().enumerate().filter_map(set).collect::<Vec<_>>().join(", ");
        let text = match cascades && !update {
            true => format!("DELETE FROM ONLY {table} WHERE {filter}"),
            false => format!("UPDATE ONLY {table} SET {assigned} WHERE {filter}"),
        };
        error.in_function(format!("SQL statement \"{text}\""))
    }

    /// Old and new keys of an UPDATE that goes along, as values of the referencing columns.
    fn calculate_moves(&self, cx: &ExecContext<'_>) -> Result<Vec<Option<Move>>> {
        let (zone, child) = (cx.services.time_zone, &self.child);
        let mut moves = Vec::with_capacity(self.key.keys.len());
        for OldKey { old, new, .. } in &self.key.keys {
            let (Some(old), Some(new)) = (child.key(cx, old), new) else {
                moves.push(None);
                continue;
            };
            let values = new.iter().zip(&child.from).zip(&child.columns).map(|((value, from), column)| {
                cast(value, from, &child.table.columns[*column].ty, CastKind::Assignment, zone)
            });
            moves.push(Some((old, values.collect::<std::result::Result<Vec<_>, _>>()?)));
        }
        Ok(moves)
    }

    /// Whether a key becomes one that a later row had: then no row may be moved by one and found by the other.
    fn meet(child: &Child, moves: &[Option<Move>]) -> bool {
        let mut later = HashSet::new();
        moves.iter().flatten().rev().any(|(old, new)| {
            let met = later.contains(&child.key_hash(new));
            later.insert(child.key_hash(old));
            met
        })
    }

    /// What the referencing columns are set to.
    fn assignments(&self, cx: &ExecContext<'_>) -> Result<Vec<(usize, TypedExpr)>> {
        let Lane { child, action, update, .. } = self;
        let only = foreign(&self.key.constraint).map(|key| key.delete_columns.as_slice()).unwrap_or_default();
        let mut assignments = Vec::new();
        for (n, at) in child.columns.iter().enumerate() {
            let column = &child.table.columns[*at];
            if !*update && !only.is_empty() && !only.contains(&column.id) {
                continue;
            }
            let value = match action {
                ReferentialAction::Cascade => {
                    TypedExpr::new(ExprKind::Parameter(child.columns.len() + n), column.ty.clone())
                }
                ReferentialAction::SetDefault => cx.services.binding.column_default(column)?,
                _ => TypedExpr::null(column.ty.clone()),
            };
            assignments.push((*at, value));
        }
        Ok(assignments)
    }

    fn is_deferred(&self, cx: &ExecContext<'_>) -> Result<bool> {
        Ok(self.action != ReferentialAction::Restrict && cx.tables()?.is_deferred(&self.key.constraint))
    }

    /// Refuses a key that is still referenced, or puts it off to the commit.
    fn check(&self, cx: &ExecContext<'_>, OldKey { old, .. }: &OldKey) -> Result<()> {
        let Some(key) = self.child.key(cx, old) else { return Ok(()) };
        let constraint = &self.key.constraint;
        if self.is_deferred(cx)? {
            return cx.tables()?.defer(constraint, &key, true, cx.services.memory);
        }
        if !self.is_referenced(cx, &key)? {
            return Ok(());
        }
        let restrict = self.action == ReferentialAction::Restrict;
        let (parent, columns) = (&self.parent, &self.key.columns);
        Err(still_referenced(cx, parent, columns, &self.child, constraint, old, restrict))
    }

    /// Whether rows reference a key that is not there any more, or may not go.
    fn is_referenced(&self, cx: &ExecContext<'_>, key: &[Value]) -> Result<bool> {
        let child = &self.child;
        let side = || Parent::find(cx, &child.table, &self.key.constraint);
        if child.period {
            return side().map_or(Ok(false), |side| child.is_bare(cx, key, &side));
        }
        if !child.exists(cx, key)? {
            return Ok(false);
        }
        // Another row has it.
        let again = match side().filter(|_| self.action != ReferentialAction::Restrict) {
            Some(side) => side.has(cx, key)?,
            None => false,
        };
        Ok(!again)
    }
}

/// A statement that goes along, under way.
pub(super) enum Along {
    Delete(Box<DeleteStatement>),
    Update(Box<UpdateStatement>),
}

impl Along {
    fn triggers_mut(&mut self) -> Option<&mut Triggers> {
        match self {
            Along::Delete(delete) => delete.triggers_mut(),
            Along::Update(update) => update.triggers_mut(),
        }
    }

    fn begin(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        match self {
            Along::Delete(delete) => delete.begin(cx),
            Along::Update(update) => update.begin(cx),
        }
    }

    fn run(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        match self {
            Along::Delete(delete) => delete.run_changes(cx, &mut Nowhere).map(drop),
            Along::Update(update) => update.run_changes(cx, &mut Nowhere).map(drop),
        }
    }

    /// The keys and rows that it has noted.
    pub(super) fn into_parts(self) -> (ForeignKeys, Option<Box<Triggers>>) {
        match self {
            Along::Delete(delete) => delete.into_parts(),
            Along::Update(update) => update.into_parts(),
        }
    }
}

/// A sink for statements without rows.
struct Nowhere;

impl Sink for Nowhere {
    fn batch(&mut self, _: &Batch) -> Result<()> {
        Ok(())
    }
}
