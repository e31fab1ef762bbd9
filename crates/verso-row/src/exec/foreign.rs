//! Foreign keys: what a change of rows means for the tables around.
//!
//! ```text
//! INSERT, UPDATE of c ─► keys noted ─┐                       ┌─► is there a row of p with the key? it stays (KEY SHARE)
//! UPDATE, DELETE of p ─► keys noted ─┴─ end of the statement ┴─► rows of c: refused, or deleted or changed along
//! ```
//!
//! 1. Keys are noted while the statement runs and looked at when it is done, so that rows of one statement may
//!    reference each other; those of a deferred constraint are looked at again at commit.
//! 2. What goes along are statements of their own with the key as parameters. They note keys in turn; a queue, not
//!    recursion, works through them, so a chain of rows may be as long as it likes.
//! 3. Whether a row is referenced, or there to be referenced, is asked of the newest state, not of the snapshot.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;

use verso_catalog::{ConstraintDef, ConstraintKind, ForeignKey, IndexDef, ReferentialAction, TableDef};
use verso_storage::index::KeyRange;
use verso_types::{Batch, CastKind, SqlType, Value, cast, encode_row, eq_sql};

use super::access::{Access, Found, encode, key_parts};
use super::change::{DeleteStatement, UpdateStatement};
use super::check::row_text;
use super::operator::compile;
use super::{ExecContext, Sink};
use crate::error::{ExecError, Result};
use crate::expr::{Executor, Predicate};
use crate::plan::{Check, Delete, ExprKind, IndexAccess, KeyMatch, Plan, TypedExpr, Update};

/// The foreign keys that a statement's changes of a table concern, with the keys noted so far.
pub(crate) struct ForeignKeys {
    table: Arc<TableDef>,
    outgoing: Vec<Outgoing>,
    incoming: Vec<Incoming>,
}

/// A foreign key of the table.
struct Outgoing {
    constraint: Arc<ConstraintDef>,
    columns: Vec<usize>,
    seen: HashSet<Vec<u8>>,
    keys: Vec<Vec<Value>>,
}

/// A foreign key of another table, or its own, that references the table.
struct Incoming {
    constraint: Arc<ConstraintDef>,
    columns: Vec<usize>,
    /// Old keys and, of an UPDATE, the new ones.
    keys: Vec<(Vec<Value>, Option<Vec<Value>>)>,
}

fn positions(table: &TableDef, ids: &[u16]) -> Vec<usize> {
    ids.iter().filter_map(|id| table.column_with_id(*id)).collect()
}

fn foreign(constraint: &ConstraintDef) -> Option<&ForeignKey> {
    match &constraint.kind {
        ConstraintKind::Foreign(key) => Some(key),
        ConstraintKind::Check { .. } | ConstraintKind::Unique { .. } => None,
    }
}

/// The columns that have to be read before rows are changed: all of them that keys are made of. `assigned` are the
/// columns an UPDATE sets; `None` is a DELETE. Indexes into `table.columns`.
#[must_use]
pub fn key_columns_read(table: &Arc<TableDef>, assigned: Option<&[usize]>) -> Vec<usize> {
    let keys = match assigned {
        Some(assigned) => ForeignKeys::of_update(table, assigned),
        None => ForeignKeys::of_delete(table),
    };
    let outgoing = keys.outgoing.iter().flat_map(|key| key.columns.iter().copied());
    outgoing.chain(keys.incoming.iter().flat_map(|key| key.columns.iter().copied())).collect()
}

impl ForeignKeys {
    pub fn of_insert(table: &Arc<TableDef>) -> ForeignKeys {
        ForeignKeys::of(table, |_| true, |_| false)
    }

    pub fn of_update(table: &Arc<TableDef>, assigned: &[usize]) -> ForeignKeys {
        let touched = |columns: &[usize]| columns.iter().any(|column| assigned.contains(column));
        ForeignKeys::of(table, touched, touched)
    }

    pub fn of_delete(table: &Arc<TableDef>) -> ForeignKeys {
        ForeignKeys::of(table, |_| false, |_| true)
    }

    fn of(
        table: &Arc<TableDef>,
        out: impl Fn(&[usize]) -> bool,
        within: impl Fn(&[usize]) -> bool,
    ) -> ForeignKeys {
        let outgoing = table.constraints.iter().filter_map(|constraint| {
            let columns = positions(table, &foreign(constraint)?.columns);
            let constraint = Arc::clone(constraint);
            out(&columns).then(|| Outgoing { constraint, columns, seen: HashSet::new(), keys: Vec::new() })
        });
        let incoming = table.referenced_by.iter().filter_map(|constraint| {
            let columns = positions(table, &foreign(constraint)?.referenced_columns);
            let constraint = Arc::clone(constraint);
            within(&columns).then(|| Incoming { constraint, columns, keys: Vec::new() })
        });
        ForeignKeys { table: Arc::clone(table), outgoing: outgoing.collect(), incoming: incoming.collect() }
    }

    pub fn is_empty(&self) -> bool {
        self.outgoing.is_empty() && self.incoming.is_empty()
    }

    /// Notes rows that are inserted or have new values: `value` gives that of a column in a row.
    pub fn note_new(&mut self, rows: usize, value: impl Fn(usize, usize) -> Value) -> Result<()> {
        for key in &mut self.outgoing {
            for row in 0..rows {
                key.note(&self.table, key.columns.iter().map(|column| value(*column, row)).collect())?;
            }
        }
        Ok(())
    }

    /// Notes rows that go or change: `old` gives their values, `new` those of an UPDATE.
    pub fn note_old(
        &mut self,
        rows: usize,
        old: impl Fn(usize, usize) -> Value,
        new: Option<&dyn Fn(usize, usize) -> Value>,
    ) {
        for key in &mut self.incoming {
            for row in 0..rows {
                let before: Vec<Value> = key.columns.iter().map(|column| old(*column, row)).collect();
                if before.iter().any(Value::is_null) {
                    continue;
                }
                let after: Option<Vec<Value>> =
                    new.map(|new| key.columns.iter().map(|column| new(*column, row)).collect());
                let same = |after: &Vec<Value>| before.iter().zip(after).all(|(a, b)| eq_sql(a, b));
                if !after.as_ref().is_some_and(same) {
                    key.keys.push((before, after));
                }
            }
        }
    }

    /// At the end of the statement: checks and does what the keys noted ask for.
    pub fn finish(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        if self.outgoing.iter().all(|key| key.keys.is_empty())
            && self.incoming.iter().all(|key| key.keys.is_empty())
        {
            return Ok(());
        }
        let first = ForeignKeys {
            table: Arc::clone(&self.table),
            outgoing: self.outgoing.iter_mut().map(Outgoing::take).collect(),
            incoming: self.incoming.iter_mut().map(Incoming::take).collect(),
        };
        let mut queue = VecDeque::from([first]);
        // Restricting checks come last, when all that goes along has gone.
        let mut checks = Vec::new();
        while let Some(keys) = queue.pop_front() {
            cx.check_cancelled()?;
            within_statement(cx, |cx| {
                for key in keys.incoming.iter().filter(|key| !key.keys.is_empty()) {
                    key.act(cx, &keys.table, &mut queue)?;
                }
                Ok(())
            })?;
            checks.push(keys);
        }
        within_statement(cx, |cx| {
            for keys in &checks {
                for key in &keys.incoming {
                    key.check(cx, &keys.table)?;
                }
                for key in &keys.outgoing {
                    key.check(cx, &keys.table)?;
                }
            }
            Ok(())
        })
    }
}

/// Runs `work` as a statement of its own, which sees what was done before.
fn within_statement(cx: &ExecContext<'_>, work: impl FnOnce(&ExecContext<'_>) -> Result<()>) -> Result<()> {
    cx.tables.begin_statement()?;
    let result = work(cx);
    if result.is_ok() {
        cx.tables.end_statement()?
    } else {
        cx.tables.abort_statement()?
    }
    result
}

impl Outgoing {
    fn take(&mut self) -> Outgoing {
        self.seen.clear();
        Outgoing {
            constraint: Arc::clone(&self.constraint),
            columns: self.columns.clone(),
            seen: HashSet::new(),
            keys: std::mem::take(&mut self.keys),
        }
    }

    fn note(&mut self, table: &TableDef, key: Vec<Value>) -> Result<()> {
        let nulls = key.iter().filter(|value| value.is_null()).count();
        if nulls > 0 {
            let full = foreign(&self.constraint).is_some_and(|key| key.match_full);
            if full && nulls < key.len() {
                let detail = "MATCH FULL does not allow mixing of null and nonnull key values.".to_string();
                return Err(missing(table, &self.constraint, detail));
            }
            return Ok(());
        }
        let mut bytes = Vec::new();
        encode_row(&key, &mut bytes);
        if self.seen.insert(bytes) {
            self.keys.push(key);
        }
        Ok(())
    }

    fn check(&self, cx: &ExecContext<'_>, table: &Arc<TableDef>) -> Result<()> {
        if self.keys.is_empty() {
            return Ok(());
        }
        if cx.tables.is_deferred(&self.constraint) {
            self.keys.iter().for_each(|key| cx.tables.defer(&self.constraint, key, false));
            return Ok(());
        }
        let Some(parent) = Parent::find(cx, table, &self.constraint) else { return Ok(()) };
        for key in &self.keys {
            cx.check_cancelled()?;
            if !parent.has(cx, key)? {
                return Err(parent.absent(cx, table, &self.constraint, key));
            }
        }
        Ok(())
    }
}

/// `insert or update … violates`.
fn missing(table: &TableDef, constraint: &ConstraintDef, detail: String) -> ExecError {
    let message = format!(
        "insert or update on table \"{}\" violates foreign key constraint \"{}\"",
        table.name, constraint.name
    );
    ExecError::violation("23503", message, Some(detail), table, &constraint.name)
}

fn key_text(cx: &ExecContext<'_>, table: &TableDef, columns: &[usize], key: &[Value]) -> String {
    let names: Vec<&str> = columns.iter().map(|column| &*table.columns[*column].name).collect();
    format!("Key ({})=({})", names.join(", "), row_text(cx, key))
}

/// The referenced side of a foreign key.
struct Parent {
    table: Arc<TableDef>,
    index: Arc<IndexDef>,
    /// For each part of the index, which of the foreign key's columns it is, and that column's type.
    parts: Vec<(usize, SqlType)>,
    own: Vec<usize>,
}

impl Parent {
    fn find(cx: &ExecContext<'_>, child: &Arc<TableDef>, constraint: &ConstraintDef) -> Option<Parent> {
        let key = foreign(constraint)?;
        let table = match key.referenced == child.oid {
            true => Arc::clone(child),
            false => cx.catalog.table_by_oid(key.referenced)?,
        };
        let index = Arc::clone(table.index(key.index)?);
        let own = positions(child, &key.columns);
        let part = |part: &verso_catalog::IndexPart| {
            let at = key.referenced_columns.iter().position(|id| *id == part.column)?;
            Some((at, child.columns[*own.get(at)?].ty.clone()))
        };
        let parts = index.parts.iter().map(part).collect::<Option<Vec<_>>>()?;
        Some(Parent { table, index, parts, own })
    }

    /// Whether the key is there; it then stays.
    fn has(&self, cx: &ExecContext<'_>, key: &[Value]) -> Result<bool> {
        let (parts, types) = key_parts(&self.table, &self.index);
        let mut bytes = Vec::new();
        for ((part, ty), (at, from)) in parts.iter().zip(&types).zip(&self.parts) {
            if !encode(part, ty, &key[*at], from, &mut bytes)? {
                return Ok(false);
            }
        }
        cx.tables.hold_key(&self.table, &self.index, &bytes)
    }

    fn absent(
        &self,
        cx: &ExecContext<'_>,
        child: &TableDef,
        constraint: &ConstraintDef,
        key: &[Value],
    ) -> ExecError {
        let key = key_text(cx, child, &self.own, key);
        missing(child, constraint, format!("{key} is not present in table \"{}\".", self.table.name))
    }
}

/// The referencing side of a foreign key.
struct Child {
    table: Arc<TableDef>,
    /// Positions of its columns.
    columns: Vec<usize>,
    /// Types of the referenced columns, in the same order.
    from: Vec<SqlType>,
}

impl Child {
    fn find(cx: &ExecContext<'_>, parent: &Arc<TableDef>, constraint: &ConstraintDef) -> Option<Child> {
        let key = foreign(constraint)?;
        let table = match constraint.table == parent.oid {
            true => Arc::clone(parent),
            false => cx.catalog.table_by_oid(constraint.table)?,
        };
        let columns = positions(&table, &key.columns);
        let referenced = positions(parent, &key.referenced_columns);
        let from = referenced.iter().map(|column| parent.columns[*column].ty.clone()).collect();
        Some(Child { table, columns, from })
    }

    /// A referenced key as values of the referencing columns' types; `None` if they have no such values.
    fn key(&self, cx: &ExecContext<'_>, key: &[Value]) -> Option<Vec<Value>> {
        let zone = cx.services.time_zone();
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

    /// The index that finds the rows of a key best.
    fn access(&self) -> Option<IndexAccess> {
        let prefix = |index: &Arc<IndexDef>| {
            let position = |id: u16| {
                let at = self.table.column_with_id(id)?;
                self.columns.iter().position(|column| *column == at)
            };
            index.parts.iter().map_while(|part| position(part.column)).collect::<Vec<_>>()
        };
        let (index, parts) = self
            .table
            .indexes
            .iter()
            .map(|index| (index, prefix(index)))
            .max_by_key(|(index, parts)| (parts.len(), std::cmp::Reverse(index.oid)))?;
        if parts.is_empty() {
            return None;
        }
        let equals = parts.into_iter().map(|n| KeyMatch::Equal(self.parameter(n))).collect();
        Some(IndexAccess { equals, ..IndexAccess::all(Arc::clone(index)) })
    }

    /// The condition on a row whose columns `read` are at hand.
    fn filter(&self, read: &[usize]) -> TypedExpr {
        let equal = |(n, column): (usize, &usize)| {
            let at = read.iter().position(|one| one == column).unwrap_or_default();
            let left = Box::new(TypedExpr::column(at, self.table.columns[*column].ty.clone()));
            let kind = ExprKind::IsDistinct { left, right: Box::new(self.parameter(n)), negated: true };
            TypedExpr::new(kind, SqlType::Bool)
        };
        TypedExpr::new(ExprKind::And(self.columns.iter().enumerate().map(equal).collect()), SqlType::Bool)
    }

    /// Whether a row has the key.
    fn exists(&self, cx: &ExecContext<'_>, key: &[Value]) -> Result<bool> {
        let (table, columns) = (Arc::clone(&self.table), self.columns.clone());
        let filter = Some(self.filter(&columns));
        let plan = match self.access() {
            Some(access) => Plan::IndexScan { table, columns, access, filter },
            None => Plan::TableScan { table, columns, filter },
        };
        let mut batch = Batch::of_types(&super::operator::types_of(&plan));
        let mut operator = compile(&plan, cx.executor);
        let cx = cx.with_params(key);
        operator.open(&cx)?;
        let found = operator.next(&cx, &mut batch);
        operator.close();
        if found? && batch.rows > 0 {
            return Ok(true);
        }
        let mut predicate = Predicate::compile(&self.filter(&self.columns), cx.executor);
        let mut access = self.access().map(|access| Access::compile(&self.table, &access));
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
                    },
                ))
            }
        };
        cx.tables.exists_beyond_snapshot(&self.table, &self.columns, range, &mut |rows| {
            let mut selection = Vec::new();
            match predicate.select(&cx.eval(), rows, &mut selection) {
                Some(error) => Err(error),
                None => Ok(selection),
            }
        })
    }

    fn delete(&self, executor: Executor) -> DeleteStatement {
        let mut columns = key_columns_read(&self.table, None);
        columns.extend(&self.columns);
        columns.sort_unstable();
        columns.dedup();
        let delete = Delete {
            table: Arc::clone(&self.table),
            filter: Some(self.filter(&columns)),
            access: self.access(),
            columns,
            returning: None,
        };
        DeleteStatement::new(&delete, executor)
    }

    fn update(&self, cx: &ExecContext<'_>, assignments: Vec<(usize, TypedExpr)>) -> Result<UpdateStatement> {
        let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
        let checks = cx.services.row_checks(&self.table)?;
        let mut columns = key_columns_read(&self.table, Some(&assigned));
        columns.extend(&self.columns);
        for check in &checks {
            check.condition.any(&mut |part| {
                if let ExprKind::Column(column) = part.kind {
                    columns.push(column);
                }
                false
            });
        }
        columns.sort_unstable();
        columns.dedup();
        let update = Update {
            table: Arc::clone(&self.table),
            filter: Some(self.filter(&columns)),
            access: self.access(),
            checks: checks_over(checks, &columns, &assigned),
            columns,
            assignments,
            returning: None,
        };
        Ok(UpdateStatement::new(&update, cx.executor))
    }
}

/// Checks over full rows as checks over the columns read, then the values assigned; those that the assignments cannot
/// break are left out.
#[must_use]
pub fn checks_over(checks: Vec<Check>, read: &[usize], assigned: &[usize]) -> Vec<Check> {
    let touched = |check: &Check| {
        check
            .condition
            .any(&mut |part| matches!(part.kind, ExprKind::Column(column) if assigned.contains(&column)))
    };
    let mut kept: Vec<Check> = checks.into_iter().filter(touched).collect();
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

/// A sink for statements without rows.
struct Nowhere;

impl Sink for Nowhere {
    fn batch(&mut self, _: &Batch) -> Result<()> {
        Ok(())
    }
}

impl Incoming {
    fn take(&mut self) -> Incoming {
        Incoming {
            constraint: Arc::clone(&self.constraint),
            columns: self.columns.clone(),
            keys: std::mem::take(&mut self.keys),
        }
    }

    fn action(&self, update: bool) -> ReferentialAction {
        let Some(key) = foreign(&self.constraint) else { return ReferentialAction::NoAction };
        if update { key.on_update } else { key.on_delete }
    }

    /// Does what goes along; the keys that these statements note go to the end of the queue.
    fn act(
        &self,
        cx: &ExecContext<'_>,
        parent: &Arc<TableDef>,
        queue: &mut VecDeque<ForeignKeys>,
    ) -> Result<()> {
        let update = self.keys.iter().any(|(_, new)| new.is_some());
        let action = self.action(update);
        if matches!(action, ReferentialAction::NoAction | ReferentialAction::Restrict) {
            return Ok(());
        }
        let Some(child) = Child::find(cx, parent, &self.constraint) else { return Ok(()) };
        if action == ReferentialAction::Cascade && !update {
            let mut delete = child.delete(cx.executor);
            for (old, _) in &self.keys {
                if let Some(key) = child.key(cx, old) {
                    delete.run_changes(&cx.with_params(&key), &mut Nowhere)?;
                }
            }
            queue.push_back(delete.into_keys());
            return Ok(());
        }
        let mut statement = child.update(cx, self.assignments(cx, &child, action, update)?)?;
        for (old, new) in &self.keys {
            let Some(mut params) = child.key(cx, old) else { continue };
            if let (Some(new), ReferentialAction::Cascade) = (new, action) {
                let zone = cx.services.time_zone();
                for ((value, from), column) in new.iter().zip(&child.from).zip(&child.columns) {
                    let to = &child.table.columns[*column].ty;
                    params.push(cast(value, from, to, CastKind::Assignment, zone)?);
                }
            }
            statement.run_changes(&cx.with_params(&params), &mut Nowhere)?;
        }
        queue.push_back(statement.into_keys());
        Ok(())
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
                ReferentialAction::SetDefault => cx.services.column_default(column)?,
                _ => TypedExpr::null(column.ty.clone()),
            };
            assignments.push((*at, value));
        }
        Ok(assignments)
    }

    /// Refuses what is still referenced.
    fn check(&self, cx: &ExecContext<'_>, parent: &Arc<TableDef>) -> Result<()> {
        let Some(child) = Child::find(cx, parent, &self.constraint) else { return Ok(()) };
        for (old, new) in &self.keys {
            let action = self.action(new.is_some());
            let restrict = action == ReferentialAction::Restrict;
            // SET DEFAULT may have set the very key that goes.
            if !restrict && !matches!(action, ReferentialAction::NoAction | ReferentialAction::SetDefault) {
                continue;
            }
            let Some(key) = child.key(cx, old) else { continue };
            if !restrict && cx.tables.is_deferred(&self.constraint) {
                cx.tables.defer(&self.constraint, &key, true);
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
                return Err(still_referenced(cx, parent, &self.columns, &child, &self.constraint, old));
            }
        }
        Ok(())
    }
}

fn still_referenced(
    cx: &ExecContext<'_>,
    parent: &TableDef,
    columns: &[usize],
    child: &Child,
    constraint: &ConstraintDef,
    key: &[Value],
) -> ExecError {
    let message = format!(
        "update or delete on table \"{}\" violates foreign key constraint \"{}\" on table \"{}\"",
        parent.name, constraint.name, child.table.name
    );
    let key = key_text(cx, parent, columns, key);
    let detail = format!("{key} is still referenced from table \"{}\".", child.table.name);
    ExecError::violation("23503", message, Some(detail), &child.table, &constraint.name)
}

/// Checks a foreign key for all rows of its table.
/// # Errors
/// `Violation` for the first row that references nothing.
pub fn check_foreign_key(
    cx: &ExecContext<'_>,
    table: &Arc<TableDef>,
    constraint: &Arc<ConstraintDef>,
) -> Result<()> {
    let Some(key) = foreign(constraint) else { return Ok(()) };
    let columns = positions(table, &key.columns);
    let types: Vec<SqlType> = columns.iter().map(|column| table.columns[*column].ty.clone()).collect();
    let mut outgoing = Outgoing {
        constraint: Arc::clone(constraint),
        columns: columns.clone(),
        seen: HashSet::new(),
        keys: Vec::new(),
    };
    let mut cursor = cx.tables.scan(table, &columns)?;
    let mut batch = Batch::of_types(&types);
    while cursor.next(&mut batch)? {
        cx.check_cancelled()?;
        for row in 0..batch.rows {
            outgoing.note(table, batch.row(row, &types))?;
        }
    }
    let Some(parent) = Parent::find(cx, table, constraint) else { return Ok(()) };
    for key in &outgoing.keys {
        if !parent.has(cx, key)? {
            return Err(parent.absent(cx, table, constraint, key));
        }
    }
    Ok(())
}

/// Checks a key that was put off to the commit: if a row has it, it must be there. `referenced` says that the key went,
/// not that a row came.
/// # Errors
/// `Violation`.
pub fn check_deferred_key(
    cx: &ExecContext<'_>,
    constraint: &Arc<ConstraintDef>,
    key: &[Value],
    referenced: bool,
) -> Result<()> {
    let Some(definition) = foreign(constraint) else { return Ok(()) };
    let (Some(table), Some(parent)) =
        (cx.catalog.table_by_oid(constraint.table), cx.catalog.table_by_oid(definition.referenced))
    else {
        return Ok(()); // dropped meanwhile
    };
    if table.constraint(&constraint.name).is_none() {
        return Ok(());
    }
    let Some(child) = Child::find(cx, &parent, constraint) else { return Ok(()) };
    let Some(side) = Parent::find(cx, &table, constraint) else { return Ok(()) };
    if !child.exists(cx, key)? || side.has(cx, key)? {
        return Ok(());
    }
    if referenced {
        let columns = positions(&parent, &definition.referenced_columns);
        return Err(still_referenced(cx, &parent, &columns, &child, constraint, key));
    }
    Err(side.absent(cx, &table, constraint, key))
}
