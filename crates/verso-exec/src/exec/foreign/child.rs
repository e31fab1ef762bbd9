//! The referencing side of a foreign key: is there a row with the key, and the statements that change such rows.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use verso_catalog::{ConstraintDef, ConstraintKind, IndexDef, IndexPart, TableDef};
use verso_storage::index::KeyRange;
use verso_types::{Batch, CastKind, Collator, SqlType, Value, cast, eq_sql, hash_sql};

use super::super::ExecContext;
use super::super::access::{Access, Found};
use super::super::change::{DeleteStatement, UpdateStatement};
use super::super::operator::{compile, types_of};
use super::super::trigger::{TriggerEvent, triggers_change_rows};
use super::parent::{Parent, key_text, periods_overlap};
use super::referenced::Move;
use super::{collator_of, foreign, key_columns_read, positions};
use crate::error::{ExecError, Result};
use crate::expr::{Executor, Predicate};
use crate::functions::collations;
use crate::plan::{
    Check, Delete, ExprKind, Generated, IndexAccess, JoinKind, KeyMatch, OutputColumn, Plan, RECORD_COLUMN,
    RowRules, TypedExpr, Update,
};

/// The referencing side of a foreign key.
pub(super) struct Child {
    pub(super) table: Arc<TableDef>,
    /// Positions of its columns.
    pub(super) columns: Vec<usize>,
    /// Types of the referenced columns, in the same order.
    pub(super) from: Vec<SqlType>,
    /// Whether the last column has a period.
    pub(super) period: bool,
}

impl Child {
    pub(super) fn find(
        cx: &ExecContext<'_>,
        parent: &Arc<TableDef>,
        constraint: &ConstraintDef,
    ) -> Option<Child> {
        let key = foreign(constraint)?;
        let table = match constraint.table == parent.oid {
            true => Arc::clone(parent),
            false => cx.catalog.table_by_oid(constraint.table)?,
        };
        // Its partitions have parts of the key, and the rows.
        if table.partitioned.is_some() {
            return None;
        }
        let columns = positions(&table, &key.columns);
        let referenced = positions(parent, &key.referenced_columns);
        let from = referenced.iter().map(|column| parent.columns[*column].ty.clone()).collect();
        Some(Child { table, columns, from, period: key.period })
    }

    /// A referenced key as values of the referencing columns' types; `None` if they have no such values.
    pub(super) fn key(&self, cx: &ExecContext<'_>, key: &[Value]) -> Option<Vec<Value>> {
        let zone = cx.services.time_zone;
        let convert = |((value, from), column): ((&Value, &SqlType), &usize)| {
            let to = self.table.columns[*column].ty.without_modifiers();
            if from.same_base(&to) {
                return Some(value.clone());
            }
            let there = cast(value, from, &to, CastKind::Explicit, zone).ok()?;
            let back = cast(&there, &to, from, CastKind::Explicit, zone).ok()?;
            eq_sql(&back, value).then_some(there)
        };
        key.iter().zip(&self.from).zip(&self.columns).map(convert).collect()
    }

    fn parameter(&self, n: usize) -> TypedExpr {
        let ty = self.table.columns[self.columns[n]].ty.without_modifiers();
        TypedExpr::new(ExprKind::Parameter(n), ty)
    }

    /// The collation by which values of a column of the key are told apart, where bytes do not.
    fn collator(&self, n: usize) -> Option<Collator> {
        collator_of(&self.table.columns[self.columns[n]])
    }

    /// What tells apart the values of a column of the key.
    fn told(&self, n: usize, value: TypedExpr) -> TypedExpr {
        match self.collator(n) {
            Some(collator) => collations::keyed(value, collator, ""),
            None => value,
        }
    }

    /// A hash that is equal where two keys are, whatever they look like.
    pub(super) fn key_hash(&self, key: &[Value]) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (n, value) in key.iter().enumerate() {
            match (self.collator(n), value) {
                (Some(collator), Value::Text(text)) => {
                    let mut key = Vec::new();
                    collator.sort_key(text.as_bytes(), &mut key);
                    key.hash(&mut hasher);
                }
                (_, value) => hash_sql(value, &mut hasher),
            }
        }
        hasher.finish()
    }

    /// The index that finds the rows of a key best, by its first `count` columns.
    fn access(&self, count: usize) -> Option<IndexAccess> {
        let prefix = |index: &Arc<IndexDef>| {
            let position = |part: &IndexPart| {
                let at = self.table.column_with_id(part.column)?;
                let n = self.columns[..count].iter().position(|column| *column == at)?;
                // An index of another order has equal texts apart.
                let collator = self.collator(n);
                let own = part.collation.as_ref().and_then(|collation| collation.collator);
                (collator.is_none() || own == collator).then_some(n)
            };
            index.parts.iter().map_while(position).collect::<Vec<_>>()
        };
        let (index, parts) = self
            .table
            .indexes
            .iter()
            .filter(|index| index.guard.is_none() && !index.is_inverted())
            .map(|index| (index, prefix(index)))
            .max_by_key(|(index, parts)| (parts.len(), std::cmp::Reverse(index.oid)))?;
        if parts.is_empty() {
            return None;
        }
        let equals = parts.into_iter().map(|n| KeyMatch::Equal(self.parameter(n))).collect();
        Some(IndexAccess { equals, ..IndexAccess::all(Arc::clone(index)) })
    }

    /// The condition on a row whose columns `read` are at hand, over the first `count` columns of the key.
    fn filter(&self, read: &[usize], count: usize) -> TypedExpr {
        let equal = |(n, column): (usize, &usize)| {
            let at = read.iter().position(|one| one == column).unwrap_or_default();
            let left = self.told(n, TypedExpr::column(at, self.table.columns[*column].ty.clone()));
            let right = Box::new(self.told(n, self.parameter(n)));
            let kind = ExprKind::IsDistinct { left: Box::new(left), right, negated: true };
            TypedExpr::new(kind, SqlType::Bool)
        };
        TypedExpr::new(
            ExprKind::And(self.columns[..count].iter().enumerate().map(equal).collect()),
            SqlType::Bool,
        )
    }

    /// Whether a row with the key was committed behind the snapshot of the transaction, so that what goes along has not met it. Rows
    /// that the snapshot has, which triggers have kept, do not count.
    pub(super) fn was_missed(&self, cx: &ExecContext<'_>, key: &[Value]) -> Result<bool> {
        let count = self.columns.len();
        Ok(!self.any_seen(cx, key, count, &mut |_| Ok(true))?
            && self.any_beyond(cx, key, count, &mut |_| Ok(true))?)
    }

    /// Whether a row has the key.
    pub(super) fn exists(&self, cx: &ExecContext<'_>, key: &[Value]) -> Result<bool> {
        self.any(cx, key, self.columns.len(), &mut |_| Ok(true))
    }

    /// Of a key with a period: whether a row with the other columns of the key, whose period overlaps its, is not covered by what
    /// is there to be referenced.
    pub(super) fn is_bare(&self, cx: &ExecContext<'_>, key: &[Value], side: &Parent) -> Result<bool> {
        let count = self.columns.len().saturating_sub(1);
        let Some(period) = key.get(count) else { return Ok(false) };
        self.any(cx, key, count, &mut |own| {
            let overlaps = own.get(count).is_some_and(|own| periods_overlap(own, period));
            Ok(overlaps && !side.has(cx, own)?)
        })
    }

    /// Whether a row that has the first `count` columns of the key fulfils a condition on all of them.
    fn any(
        &self,
        cx: &ExecContext<'_>,
        key: &[Value],
        count: usize,
        wanted: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<bool> {
        Ok(self.any_seen(cx, key, count, wanted)? || self.any_beyond(cx, key, count, wanted)?)
    }

    /// The same of the rows that the statement sees.
    fn any_seen(
        &self,
        cx: &ExecContext<'_>,
        key: &[Value],
        count: usize,
        wanted: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<bool> {
        let (table, columns) = (Arc::clone(&self.table), self.columns.clone());
        let filter = Some(self.filter(&columns, count));
        let plan = match self.access(count) {
            Some(access) => Plan::IndexScan { table: table.into(), columns, access, filter },
            None => Plan::TableScan { table: table.into(), columns, filter },
        };
        let types = types_of(&plan);
        let mut batch = Batch::of_types(&types);
        let mut operator = compile(&plan, cx.executor);
        let cx = cx.with_params(&key[..count]);
        operator.open(&cx)?;
        let mut found = Ok(false);
        while matches!(found, Ok(false)) {
            match operator.next(&cx, &mut batch) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    found = Err(error);
                    break;
                }
            }
            for row in 0..batch.rows {
                found = wanted(&batch.row(row, &types));
                if !matches!(found, Ok(false)) {
                    break;
                }
            }
        }
        operator.close();
        found
    }

    /// The same of the newest rows, where the transaction has a snapshot.
    fn any_beyond(
        &self,
        cx: &ExecContext<'_>,
        key: &[Value],
        count: usize,
        wanted: &mut dyn FnMut(&[Value]) -> Result<bool>,
    ) -> Result<bool> {
        let cx = cx.with_params(&key[..count]);
        let types: Vec<SqlType> = self.columns.iter().map(|at| self.table.columns[*at].ty.clone()).collect();
        let mut predicate = Predicate::compile(&self.filter(&self.columns, count), cx.executor);
        let mut access = self.access(count).map(|access| Access::compile(&self.table, &access));
        let range = match &mut access {
            None => None,
            Some(access) => {
                let (index, found) = access.open_parts(&cx.eval())?;
                Some((
                    index,
                    match found {
                        Found::Nothing => return Ok(false),
                        Found::Point(key) => vec![KeyRange::prefix(key)],
                        Found::Ranges(ranges) => ranges,
                        // No inverted index is asked.
                        Found::Candidates(_) | Found::All => vec![KeyRange::all()],
                    },
                ))
            }
        };
        cx.tables()?.exists_beyond_snapshot(&self.table, &self.columns, range, &mut |rows| {
            let mut selection = Vec::new();
            if let Some(error) = predicate.select(&cx.eval(), rows, &mut selection) {
                return Err(error);
            }
            let mut kept = Vec::with_capacity(selection.len());
            for row in selection {
                if wanted(&rows.row(row as usize, &types))? {
                    kept.push(row);
                }
            }
            Ok(kept)
        })
    }

    pub(super) fn delete(&self, executor: Executor) -> DeleteStatement {
        let mut columns = key_columns_read(&self.table, None);
        columns.extend(&self.columns);
        columns.sort_unstable();
        columns.dedup();
        let delete = Delete {
            table: Arc::clone(&self.table).into(),
            filter: Some(self.filter(&columns, self.columns.len())),
            joined: None,
            access: self.access(self.columns.len()),
            columns,
            returning: None,
            parts: Vec::new(),
        };
        DeleteStatement::new(&delete, executor)
    }

    pub(super) fn update(
        &self,
        cx: &ExecContext<'_>,
        mut assignments: Vec<(usize, TypedExpr)>,
    ) -> Result<UpdateStatement> {
        let rules = cx.services.binding.row_rules(&self.table)?;
        set_generated(&mut assignments, &rules);
        let named = assignments.len();
        if triggers_change_rows(&self.table, TriggerEvent::Update) {
            keep_others(&mut assignments, &self.table);
        }
        let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
        let mut columns = key_columns_read(&self.table, Some(&assigned));
        columns.extend(&self.columns);
        let conditions = rules.checks.iter().map(|check| &check.condition);
        let keys = rules.partition.iter().flat_map(|rule| rule.keys());
        for expr in conditions.chain(keys).chain(rules.generated.iter().map(|generated| &generated.value)) {
            expr.any(&mut |part| {
                if let ExprKind::Column(column) = part.kind {
                    columns.push(column);
                }
                false
            });
        }
        columns.sort_unstable();
        columns.dedup();
        let update = Update {
            table: Arc::clone(&self.table).into(),
            filter: Some(self.filter(&columns, self.columns.len())),
            joined: None,
            access: self.access(self.columns.len()),
            rules: rules_over(rules, &columns, &assigned),
            columns,
            assignments,
            named,
            returning: None,
            parts: None,
        };
        Ok(UpdateStatement::new(&update, cx.executor))
    }
}

impl Child {
    /// An UPDATE that gives all rows of these keys their new ones at once: all of them are found before the first is changed, so
    /// that none is moved twice.
    pub(super) fn update_together(&self, cx: &ExecContext<'_>, moves: Vec<Move>) -> Result<UpdateStatement> {
        let rules = cx.services.binding.row_rules(&self.table)?;
        let (width, count) = (self.table.columns.len(), self.columns.len());
        let types = |n: usize| self.table.columns[self.columns[n % count]].ty.without_modifiers();
        let literals = |(old, new): Move| {
            let values = old.into_iter().chain(new).enumerate();
            values.map(|(n, value)| TypedExpr::literal(value, types(n))).collect()
        };
        let pairs = Plan::Values {
            rows: moves.into_iter().map(literals).collect(),
            columns: (0..2 * count).map(|n| OutputColumn::new("key", types(n))).collect(),
        };
        let scan = Plan::TableScan {
            table: Arc::clone(&self.table).into(),
            columns: (0..width).chain([RECORD_COLUMN]).collect(),
            filter: None,
        };
        let own = |at: usize| TypedExpr::column(at, self.table.columns[at].ty.clone());
        let equal = self.columns.iter().enumerate();
        let equal = equal.map(|(n, at)| {
            let own = in_form(TypedExpr::column(*at, self.table.columns[*at].ty.clone()), &types(n));
            (self.told(n, own), self.told(n, TypedExpr::column(n, types(n))))
        });
        let join = Plan::Join {
            left: Box::new(scan),
            right: Box::new(pairs),
            kind: JoinKind::Inner,
            equal: equal.collect(),
            filter: None,
        };
        // The columns, the keys, the place of the record.
        let keys = (0..2 * count).map(|n| TypedExpr::column(width + 1 + n, types(n)));
        let place = TypedExpr::column(width, SqlType::Int8);
        let exprs: Vec<TypedExpr> = (0..width).map(own).chain(keys).chain([place]).collect();
        let names = exprs.iter().map(|_| Arc::from("")).collect();
        let mut assignments: Vec<(usize, TypedExpr)> = (self.columns.iter().enumerate())
            .map(|(n, at)| {
                let new = TypedExpr::column(width + count + n, types(n));
                (*at, in_form(new, &self.table.columns[*at].ty))
            })
            .collect();
        set_generated(&mut assignments, &rules);
        let named = assignments.len();
        if triggers_change_rows(&self.table, TriggerEvent::Update) {
            keep_others(&mut assignments, &self.table);
        }
        let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
        let read: Vec<usize> = (0..width + 2 * count).collect();
        let update = Update {
            table: Arc::clone(&self.table).into(),
            columns: (0..width).collect(),
            parts: None,
            joined: Some(Plan::Project { input: Box::new(join), exprs, names }),
            access: None,
            filter: None,
            rules: rules_over(rules, &read, &assigned),
            assignments,
            named,
            returning: None,
        };
        Ok(UpdateStatement::new(&update, cx.executor))
    }
}

/// A column seen as one of another modifier, in the form that such a column has (P6 of the plan): a `numeric(6,2)` is a scaled integer.
fn in_form(column: TypedExpr, ty: &SqlType) -> TypedExpr {
    if column.ty.same_form(ty) {
        return TypedExpr { ty: ty.clone(), ..column };
    }
    TypedExpr::new(ExprKind::Cast { arg: Box::new(column), kind: CastKind::Assignment }, ty.clone())
}

/// Adds to the assignments of an UPDATE that the other columns, of which all are read, keep their values: triggers may set
/// any of them.
pub fn keep_others(assignments: &mut Vec<(usize, TypedExpr)>, table: &TableDef) {
    for (at, column) in table.columns.iter().enumerate() {
        if !assignments.iter().any(|(assigned, _)| *assigned == at) {
            // Triggers do not see what is computed behind them.
            let value = match column.generated {
                true => TypedExpr::null(column.ty.clone()),
                false => TypedExpr::column(at, column.ty.clone()),
            };
            assignments.push((at, value));
        }
    }
}

/// Adds the generated columns that follow from assigned ones; their values are computed when the others are there.
pub fn set_generated(assignments: &mut Vec<(usize, TypedExpr)>, rules: &RowRules) {
    let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
    for Generated { column, value } in &rules.generated {
        let follows = value
            .any(&mut |part| matches!(part.kind, ExprKind::Column(column) if assigned.contains(&column)));
        if follows && !assigned.contains(column) {
            assignments.push((*column, TypedExpr::null(value.ty.clone())));
        }
    }
}

/// Rules for full rows as rules over the columns read, then the values assigned; checks that the assignments cannot
/// break, and generated columns that are not among them, are left out.
#[must_use]
pub fn rules_over(rules: RowRules, read: &[usize], assigned: &[usize]) -> RowRules {
    let mut generated = rules.generated;
    generated.retain(|generated| assigned.contains(&generated.column));
    let place = &mut |column: usize| match assigned.iter().position(|one| *one == column) {
        Some(n) => read.len() + n,
        None => read.iter().position(|one| *one == column).unwrap_or_default(),
    };
    generated.iter_mut().for_each(|generated| renumber(&mut generated.value, place));
    let mut partition = rules.partition.filter(|rule| rule.concerns(assigned));
    partition.iter_mut().flat_map(|rule| rule.keys_mut()).for_each(|key| renumber(key, place));
    RowRules { checks: checks_over(rules.checks, read, assigned), generated, partition, set: rules.set }
}

fn checks_over(checks: Vec<Check>, read: &[usize], assigned: &[usize]) -> Vec<Check> {
    let mut kept: Vec<Check> = checks.into_iter().filter(|check| check.concerns(assigned)).collect();
    for check in &mut kept {
        renumber(&mut check.condition, &mut |column| match assigned.iter().position(|one| *one == column) {
            Some(n) => read.len() + n,
            None => read.iter().position(|one| *one == column).unwrap_or_default(),
        });
    }
    kept
}

fn renumber(expr: &mut TypedExpr, map: &mut dyn FnMut(usize) -> usize) {
    if let ExprKind::Column(column) = &mut expr.kind {
        *column = map(*column);
    }
    expr.for_each_child_mut(&mut |child| renumber(child, map));
}

#[allow(clippy::too_many_arguments, reason = "all of them describe one reference")]
pub(super) fn still_referenced(
    cx: &ExecContext<'_>,
    parent: &TableDef,
    columns: &[usize],
    child: &Child,
    constraint: &ConstraintDef,
    key: &[Value],
    restrict: bool,
) -> ExecError {
    // RESTRICT has words and a code of its own.
    let (code, setting, still) =
        if restrict { ("23001", "RESTRICT setting of ", "") } else { ("23503", "", "still ") };
    let (referencing, name) = whole_of(cx, &child.table, constraint);
    let message = format!(
        "update or delete on table \"{}\" violates {setting}foreign key constraint \"{name}\" on table \"{}\"",
        parent.name, referencing.name
    );
    let key = key_text(cx, parent, columns, key);
    let detail = format!("{key} is {still}referenced from table \"{}\".", referencing.name);
    ExecError::violation(code, message, Some(detail), &referencing, &name)
}

/// The table that a foreign key was given to, of which this one may be a partition, and what its name is. Where it references a
/// partition because the whole is referenced, PostgreSQL numbers it by the partitions.
pub(super) fn whole_of(
    cx: &ExecContext<'_>,
    child: &Arc<TableDef>,
    constraint: &ConstraintDef,
) -> (Arc<TableDef>, Arc<str>) {
    let (mut table, mut name, mut part_of) =
        (Arc::clone(child), Arc::clone(&constraint.name), constraint.part_of);
    while let Some(whole) = table
        .partition_of
        .as_ref()
        .filter(|_| part_of.is_some())
        .and_then(|of| cx.catalog.table_by_oid(of.parent))
    {
        let Some(above) = whole.constraints.iter().find(|own| Some(own.oid) == part_of) else { break };
        (name, part_of) = (Arc::clone(&above.name), above.part_of);
        table = Arc::clone(&whole);
    }
    if let ConstraintKind::Foreign(key) = &constraint.kind
        && let Some(referenced) = key.whole.and_then(|whole| cx.catalog.table_by_oid(whole))
    {
        let parts = referenced.with_partitions();
        let place = parts.iter().position(|part| part.oid == key.referenced).unwrap_or_default();
        name = format!("{name}_{place}").into();
    }
    (table, name)
}
