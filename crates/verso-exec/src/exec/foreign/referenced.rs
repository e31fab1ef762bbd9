//! Rows that others reference go or change: what goes along, what is refused.

use std::collections::HashSet;
use std::sync::Arc;

use verso_catalog::{ConstraintDef, ReferentialAction, TableDef};
use verso_types::{Batch, CastKind, SqlType, Value, cast};

use super::super::{ExecContext, Sink};
use super::child::{Child, still_referenced};
use super::foreign;
use super::parent::Parent;
use super::rounds::Rounds;
use crate::error::{ExecError, Result};
use crate::plan::{ExprKind, TypedExpr};

/// A referenced key before and after an UPDATE.
pub(super) type Move = (Vec<Value>, Vec<Value>);

/// A foreign key of another table, or its own, that references the table.
pub(super) struct Incoming {
    pub(super) constraint: Arc<ConstraintDef>,
    pub(super) columns: Vec<usize>,
    /// Old keys and, of an UPDATE, the new ones.
    pub(super) keys: Vec<(Vec<Value>, Option<Vec<Value>>)>,
    /// About how much memory they hold.
    pub(super) bytes: u64,
}

impl Incoming {
    pub(super) fn take(&mut self) -> Incoming {
        Incoming {
            constraint: Arc::clone(&self.constraint),
            columns: self.columns.clone(),
            keys: std::mem::take(&mut self.keys),
            bytes: std::mem::take(&mut self.bytes),
        }
    }

    fn action(&self, update: bool) -> ReferentialAction {
        let Some(key) = foreign(&self.constraint) else { return ReferentialAction::NoAction };
        if update { key.on_update } else { key.on_delete }
    }

    /// Whether what it references may not go, whatever goes along.
    pub(super) fn restricts(&self) -> bool {
        [true, false].iter().any(|update| self.action(*update) == ReferentialAction::Restrict)
    }

    /// Does what goes along, in statements of which the keys and triggers come later.
    pub(super) fn act(
        &self,
        cx: &ExecContext<'_>,
        parent: &Arc<TableDef>,
        rounds: &mut Rounds<'_>,
    ) -> Result<()> {
        let update = self.keys.iter().any(|(_, new)| new.is_some());
        let action = self.action(update);
        if matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict) {
            return Ok(());
        }
        let Some(child) = Child::find(cx, parent, &self.constraint) else { return Ok(()) };
        // BEFORE triggers count it as one; AFTER triggers, which fire with those of the statement, do not.
        let cx = &cx.going_along();
        if action == ReferentialAction::Cascade && !update {
            let mut delete = child.delete(cx.executor);
            rounds.enter(delete.triggers_mut());
            let mut run = || -> Result<()> {
                delete.begin(cx)?;
                for (old, _) in &self.keys {
                    if let Some(key) = child.key(cx, old) {
                        delete.run_changes(&cx.with_params(&key), &mut Nowhere)?;
                    }
                }
                Ok(())
            };
            let done = run().and_then(|()| self.check_met(cx, &child));
            done.map_err(|error| self.within(error, &child, action, update))?;
            let (keys, triggers) = delete.into_parts();
            rounds.push(keys, triggers);
            return Ok(());
        }
        let moves = if action == ReferentialAction::Cascade { self.moves(cx, &child)? } else { Vec::new() };
        let together = Incoming::meet(&child, &moves);
        let (mut statement, moves) = match together {
            true => (child.update_together(cx, moves)?, Vec::new()),
            false => (child.update(cx, self.assignments(cx, &child, action, update)?)?, moves),
        };
        rounds.enter(statement.triggers_mut());
        let run = || -> Result<()> {
            statement.begin(cx)?;
            if together {
                statement.run_changes(cx, &mut Nowhere)?;
            } else if action == ReferentialAction::Cascade {
                for (mut params, new) in moves {
                    params.extend(new);
                    statement.run_changes(&cx.with_params(&params), &mut Nowhere)?;
                }
            } else {
                for key in self.keys.iter().filter_map(|(old, _)| child.key(cx, old)) {
                    statement.run_changes(&cx.with_params(&key), &mut Nowhere)?;
                }
            }
            Ok(())
        };
        let done = run().and_then(|()| self.check_met(cx, &child));
        done.map_err(|error| self.within(error, &child, action, update))?;
        let (keys, triggers) = statement.into_parts();
        rounds.push(keys, triggers);
        Ok(())
    }

    /// Fails where others have committed rows with the keys behind the transaction's snapshot, which therefore did not go along.
    fn check_met(&self, cx: &ExecContext<'_>, child: &Child) -> Result<()> {
        for (old, _) in &self.keys {
            let Some(key) = child.key(cx, old) else { continue };
            if child.was_missed(cx, &key)? {
                let text = "could not serialize access due to concurrent update";
                return Err(ExecError::raised("40001", text));
            }
        }
        Ok(())
    }

    /// The error with the statement that PostgreSQL would run for the key.
    #[cold]
    fn within(&self, error: ExecError, child: &Child, action: ReferentialAction, update: bool) -> ExecError {
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
        let only = foreign(&self.constraint).map(|key| key.delete_columns.as_slice()).unwrap_or_default();
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
    fn moves(&self, cx: &ExecContext<'_>, child: &Child) -> Result<Vec<Move>> {
        let zone = cx.services.time_zone;
        let mut moves = Vec::with_capacity(self.keys.len());
        for (old, new) in &self.keys {
            let (Some(old), Some(new)) = (child.key(cx, old), new) else { continue };
            let values = new.iter().zip(&child.from).zip(&child.columns).map(|((value, from), column)| {
                cast(value, from, &child.table.columns[*column].ty, CastKind::Assignment, zone)
            });
            moves.push((old, values.collect::<std::result::Result<Vec<_>, _>>()?));
        }
        Ok(moves)
    }

    /// Whether a key becomes one that others had: then no row may be moved by one and found by the next.
    fn meet(child: &Child, moves: &[Move]) -> bool {
        if moves.len() < 2 {
            return false;
        }
        let old: HashSet<u64> = moves.iter().map(|(old, _)| child.key_hash(old)).collect();
        moves.iter().any(|(_, new)| old.contains(&child.key_hash(new)))
    }

    /// What the referencing columns are set to.
    fn assignments(
        &self,
        cx: &ExecContext<'_>,
        child: &Child,
        action: ReferentialAction,
        update: bool,
    ) -> Result<Vec<(usize, TypedExpr)>> {
        let only = foreign(&self.constraint).map(|key| key.delete_columns.as_slice()).unwrap_or_default();
        let mut assignments = Vec::new();
        for (n, at) in child.columns.iter().enumerate() {
            let column = &child.table.columns[*at];
            if !update && !only.is_empty() && !only.contains(&column.id) {
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

    /// Refuses what is still referenced: where that restricts, or where it is only looked at in the end.
    pub(super) fn check(
        &self,
        cx: &ExecContext<'_>,
        parent: &Arc<TableDef>,
        restricting: bool,
    ) -> Result<()> {
        let Some(child) = Child::find(cx, parent, &self.constraint) else { return Ok(()) };
        for (old, new) in &self.keys {
            let action = self.action(new.is_some());
            let restrict = action == ReferentialAction::Restrict;
            // SET DEFAULT may have set the very key that goes.
            if restrict != restricting
                || !restrict && !matches!(action, ReferentialAction::NoAction | ReferentialAction::SetDefault)
            {
                continue;
            }
            let Some(key) = child.key(cx, old) else { continue };
            if !restrict && cx.tables()?.is_deferred(&self.constraint) {
                cx.tables()?.defer(&self.constraint, &key, true, cx.services.memory)?;
                continue;
            }
            if child.period {
                let Some(side) = Parent::find(cx, &child.table, &self.constraint) else { continue };
                if child.is_bare(cx, &key, &side)? {
                    let (columns, constraint) = (&self.columns, &self.constraint);
                    return Err(still_referenced(cx, parent, columns, &child, constraint, old, restrict));
                }
                continue;
            }
            if !child.exists(cx, &key)? {
                continue;
            }
            let again = !restrict
                && match Parent::find(cx, &child.table, &self.constraint) {
                    Some(side) => side.has(cx, &key)?,
                    None => false,
                };
            if !again {
                let (columns, constraint) = (&self.columns, &self.constraint);
                return Err(still_referenced(cx, parent, columns, &child, constraint, old, restrict));
            }
        }
        Ok(())
    }
}

/// A sink for statements without rows.
struct Nowhere;

impl Sink for Nowhere {
    fn batch(&mut self, _: &Batch) -> Result<()> {
        Ok(())
    }
}
