//! UPDATE, DELETE.
//!
//! 1. A change looks at its table row by row where that gives what the state at its start says (rule T2). Otherwise a query
//!    finds all rows first, with the new values and what RETURNING says of them: where there is FROM or USING, where a
//!    subquery reads what the statement changes, and for `SET (a, b) = (SELECT …)`, which runs once a row.
//! 2. WHERE CURRENT OF is a query, too: it finds the row on which the cursor stands.
//! 3. A subquery that depends on no row, and is asked for every row, runs before the first change.

use std::sync::Arc;

use verso_catalog::{Identity, TableDef};
use verso_row::exec::{checks_over, key_columns_read};
use verso_row::plan::{
    Delete, ExprKind as K, JoinKind, Plan, RECORD_COLUMN, Returning, SubqueryTest, TypedExpr, Update,
};
use verso_types::SqlType;

use super::Binder;
use super::context::{Clause, Context};
use super::dml::{reads, target_column};
use super::from::both;
use super::query::prune;
use super::scope::Scope;
use super::subquery::subquery;
use super::walk::map_columns;
use super::with::inline_shared;
use crate::errors::{SqlError, sqlstate};
use crate::rewrite::rewrite;
use crate::syntax::{self, Assignment, Expr, ExprKind, FromItem, Name};

/// `(SELECT …)` for several columns; what it needs of the row comes beside it.
pub(super) struct RowSource {
    plan: Plan,
    outer: Vec<TypedExpr>,
}

/// The rows of a change, as a query finds them: the table's columns, their places, the columns of the others.
struct Found {
    plan: Plan,
    scope: Scope,
    /// Columns of the table.
    own: usize,
}

impl Found {
    /// The plan's column that a column of the scope is.
    fn column(&self, column: usize) -> usize {
        if column < self.own { column } else { column + 1 }
    }

    /// Over the columns of the plan.
    fn over(&self, mut expr: TypedExpr) -> TypedExpr {
        map_columns(&mut expr, &mut |column| self.column(column));
        expr
    }

    /// One more value for each row from each of these queries.
    fn add(&mut self, sources: Vec<RowSource>) {
        for RowSource { plan, outer } in sources {
            let outer: Vec<TypedExpr> = outer.into_iter().map(|expr| self.over(expr)).collect();
            let left = Box::new(std::mem::replace(&mut self.plan, Plan::Append { inputs: Vec::new() }));
            let right = Box::new(Plan::Single { input: Box::new(plan) });
            let kind = JoinKind::Left;
            self.plan = if outer.is_empty() {
                Plan::Join { left, right, kind, equal: Vec::new(), filter: None }
            } else {
                Plan::Apply { left, right, outer, kind, filter: None }
            };
        }
    }

    /// The columns of the scope, `values` over them, `returned` over both, and the places.
    fn plan(self, values: Vec<TypedExpr>, returned: Vec<TypedExpr>) -> Plan {
        let mut exprs: Vec<TypedExpr> = (self.scope.columns.iter().enumerate())
            .map(|(column, (_, ty))| TypedExpr::column(self.column(column), ty.clone()))
            .collect();
        let mut names: Vec<Arc<str>> = self
            .scope
            .columns
            .iter()
            .map(|(name, _)| Arc::clone(name))
            .chain(values.iter().map(|_| "".into()))
            .collect();
        exprs.extend(values.into_iter().map(|value| self.over(value)));
        exprs.push(TypedExpr::column(self.own, SqlType::Int8));
        names.push("record".into());
        let types: Vec<SqlType> = exprs.iter().map(|expr| expr.ty.clone()).collect();
        let mut plan = Plan::Project { input: Box::new(self.plan), exprs, names };
        if !returned.is_empty() {
            let mut exprs: Vec<TypedExpr> =
                types.into_iter().enumerate().map(|(n, ty)| TypedExpr::column(n, ty)).collect();
            let place = exprs.pop();
            exprs.extend(returned);
            exprs.extend(place);
            let names = exprs.iter().map(|_| "".into()).collect();
            plan = Plan::Project { input: Box::new(plan), exprs, names };
        }
        rewrite(inline_shared(plan))
    }
}

impl Binder<'_> {
    // ── UPDATE ───────────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn update(&self, update: &syntax::Update) -> Result<Update, SqlError> {
        let (table, scope) = self.target_scope(&update.table)?;
        if update.from.is_none()
            && update.current.is_none()
            && let Some(update) = self.update_in_place(update, &table, &scope)?
        {
            return Ok(update);
        }
        self.update_found(update, table, &scope)
    }

    /// Row by row; none where that would be late.
    fn update_in_place(
        &self,
        update: &syntax::Update,
        table: &Arc<TableDef>,
        scope: &Scope,
    ) -> Result<Option<Update>, SqlError> {
        let table = Arc::clone(table);
        let mut filter = self.filter(update.filter.as_ref(), scope)?;
        let mut rows = Vec::new();
        let mut assignments = self.assignments(&update.assignments, &table, scope, Some(&mut rows))?;
        // RETURNING sees the new values: of assigned columns those assigned, of others those read.
        let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
        let shift = table.columns.len();
        let alias = update.table.alias.as_ref();
        let mut returning = self.returning(&update.returning, &table, alias, |expr| {
            map_columns(expr, &mut |column| {
                assigned.iter().position(|assigned| *assigned == column).map_or(column, |n| shift + n)
            });
        })?;
        let read = assignments.iter().map(|(_, value)| value).chain(&filter);
        if !rows.is_empty() || depends(read, &table, false) || returns_changes(returning.as_ref(), &table) {
            return Ok(None);
        }
        let mut kept: Vec<TypedExpr> = Vec::new(); // what RETURNING needs of the read columns
        if let Some(returning) = &mut returning {
            for expr in &mut returning.exprs {
                map_columns(expr, &mut |column| {
                    if column < shift {
                        kept.push(TypedExpr::column(column, table.columns[column].ty.clone()));
                    }
                    column
                });
            }
        }
        let checks = self.checks(&table)?;
        let mut needed = key_columns_read(&table, Some(&assigned));
        for check in &checks {
            let mut used = Vec::new();
            check.condition.any(&mut |part| {
                if let K::Column(column) = part.kind {
                    used.push(column);
                }
                false
            });
            if used.iter().any(|column| assigned.contains(column)) {
                needed.extend(used.into_iter().filter(|column| !assigned.contains(column)));
            }
        }
        kept.extend(needed.into_iter().map(|at| TypedExpr::column(at, table.columns[at].ty.clone())));
        let values = assignments.iter_mut().map(|(_, value)| value);
        let mut exprs: Vec<&mut TypedExpr> = values.chain(filter.as_mut()).chain(kept.iter_mut()).collect();
        let columns = prune(&mut exprs);
        if let Some(returning) = &mut returning {
            for expr in &mut returning.exprs {
                map_columns(expr, &mut |column| match column.checked_sub(shift) {
                    Some(n) => columns.len() + n,
                    None => columns.binary_search(&column).unwrap_or(column),
                });
            }
        }
        let checks = checks_over(checks, &columns, &assigned);
        Ok(Some(Update {
            table,
            columns,
            joined: None,
            access: None,
            filter,
            assignments,
            checks,
            returning,
        }))
    }

    /// The rows come from a query.
    fn update_found(
        &self,
        update: &syntax::Update,
        table: Arc<TableDef>,
        target: &Scope,
    ) -> Result<Update, SqlError> {
        let mut found = {
            let syntax::Update { from, filter, current, .. } = update;
            self.found(&table, target, from.as_ref(), filter.as_ref(), current.as_ref())?
        };
        let mut sources = Vec::new();
        let mut assignments =
            self.assignments(&update.assignments, &table, &found.scope, Some(&mut sources))?;
        let mut returning = self.returning_of(&update.returning, &found.scope, |_| {})?;
        let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
        let late = returns_changes(returning.as_ref(), &table);
        let early =
            late || !sources.is_empty() || depends(assignments.iter().map(|(_, value)| value), &table, false);
        found.add(sources);
        let width = found.scope.columns.len();
        let mut values = Vec::new();
        if early {
            for (n, (_, value)) in assignments.iter_mut().enumerate() {
                let column = TypedExpr::column(width + n, value.ty.clone());
                values.push(std::mem::replace(value, column));
            }
        }
        let mut read = width + values.len();
        let mut returned = Vec::new();
        if let Some(returning) = &mut returning {
            for expr in &mut returning.exprs {
                let new = if late { width } else { read };
                map_columns(expr, &mut |column| {
                    assigned.iter().position(|assigned| *assigned == column).map_or(column, |n| new + n)
                });
            }
            if late {
                returned = take_early(returning, read);
                read += returned.len();
            }
        }
        let checks = checks_over(self.checks(&table)?, &(0..read).collect::<Vec<_>>(), &assigned);
        let columns = (0..table.columns.len()).collect();
        let joined = Some(found.plan(values, returned));
        Ok(Update { table, columns, joined, access: None, filter: None, assignments, checks, returning })
    }

    /// The rows of a table joined with FROM or USING that the condition lets through.
    fn found(
        &self,
        table: &Arc<TableDef>,
        target: &Scope,
        from: Option<&FromItem>,
        filter: Option<&Expr>,
        current: Option<&Name>,
    ) -> Result<Found, SqlError> {
        let own = table.columns.len();
        let columns = (0..own).chain([RECORD_COLUMN]).collect();
        let table = Arc::clone(table);
        let plan = match current {
            Some(cursor) => Plan::CurrentRow { table, columns, cursor: cursor.text.as_str().into() },
            None => Plan::TableScan { table, columns, filter: None },
        };
        let mut found = Found { plan, scope: target.clone(), own };
        if let Some(from) = from {
            let other = self.from(Some(from), &[])?;
            let twice = other.scope.tables.iter().filter_map(|table| table.name.as_deref());
            if let Some(name) = twice.into_iter().find(|name| target.table(name).is_some()) {
                let text = format!("table name \"{name}\" specified more than once");
                return Err(SqlError::new(sqlstate::DUPLICATE_ALIAS, text));
            }
            found.scope = both(target, &other.scope);
            let (left, right) = (Box::new(found.plan), Box::new(other.plan));
            found.plan = Plan::Join { left, right, kind: JoinKind::Inner, equal: Vec::new(), filter: None };
        }
        if let Some(predicate) = self.filter(filter, &found.scope)? {
            let predicate = found.over(predicate);
            found.plan = Plan::Filter { input: Box::new(found.plan), predicate };
        }
        Ok(found)
    }

    /// SET over the columns of a scope. What queries for several columns yield stands behind these columns, in the order of
    /// `rows`; without `rows` each column has a query of its own.
    pub(super) fn assignments(
        &self,
        given: &[Assignment],
        table: &Arc<TableDef>,
        scope: &Scope,
        mut rows: Option<&mut Vec<RowSource>>,
    ) -> Result<Vec<(usize, TypedExpr)>, SqlError> {
        let mut cx = Context::new(scope, Clause::Set);
        let mut assignments: Vec<(usize, TypedExpr)> = Vec::new();
        let mut width = scope.columns.len();
        let add = |assignments: &mut Vec<(usize, TypedExpr)>, index: usize, value: TypedExpr| {
            if assignments.iter().any(|(column, _)| *column == index) {
                let text = format!("multiple assignments to same column \"{}\"", table.columns[index].name);
                return Err(SqlError::syntax(text));
            }
            assignments.push((index, value));
            Ok(())
        };
        for item in given {
            match item {
                Assignment::Value(name, value) => {
                    let index = target_column(table, name)?;
                    let column = &table.columns[index];
                    let value = match &value.kind {
                        ExprKind::Default => self.column_default(table, index)?,
                        _ if column.identity == Some(Identity::Always) => return Err(only_default(column)),
                        _ => {
                            let bound = self.expr(value, &mut cx)?;
                            self.assign(bound, value.at.start, &column.name, &column.ty)?
                        }
                    };
                    add(&mut assignments, index, value)?;
                }
                Assignment::Row(names, query) => {
                    let at = query.at.start;
                    let targets: Vec<usize> =
                        names.iter().map(|name| target_column(table, name)).collect::<Result<_, _>>()?;
                    let types: Vec<SqlType> =
                        targets.iter().map(|index| table.columns[*index].ty.clone()).collect();
                    let (plan, outer) = self.correlated_for(query, &types, &mut cx)?;
                    let output = plan.output();
                    if output.len() != targets.len() {
                        let text = "number of columns does not match number of values";
                        return Err(SqlError::syntax(text).at(at));
                    }
                    if rows.is_none() && plan.is_volatile() {
                        let what = "SET (a, b) = (SELECT …) with a volatile function in ON CONFLICT";
                        return Err(SqlError::unsupported(what).at(at));
                    }
                    for (n, (index, source)) in targets.iter().zip(&output).enumerate() {
                        let column = &table.columns[*index];
                        if column.identity == Some(Identity::Always) {
                            return Err(only_default(column));
                        }
                        let value = match rows {
                            Some(_) => TypedExpr::column(width + n, source.ty.clone()),
                            None => {
                                let one = Plan::Project {
                                    input: Box::new(plan.clone()),
                                    exprs: vec![TypedExpr::column(n, source.ty.clone())],
                                    names: vec![Arc::clone(&source.name)],
                                };
                                let test = SubqueryTest::Scalar;
                                subquery(rewrite(one), outer.clone(), test, Vec::new(), source.ty.clone())
                            }
                        };
                        add(&mut assignments, *index, self.assign(value, at, &column.name, &column.ty)?)?;
                    }
                    if let Some(rows) = &mut rows {
                        width += output.len();
                        rows.push(RowSource { plan, outer });
                    }
                }
            }
        }
        Ok(assignments)
    }

    // ── DELETE ───────────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn delete(&self, delete: &syntax::Delete) -> Result<Delete, SqlError> {
        let (table, scope) = self.target_scope(&delete.table)?;
        if delete.using.is_none()
            && delete.current.is_none()
            && let Some(delete) = self.delete_in_place(delete, &table, &scope)?
        {
            return Ok(delete);
        }
        let found = {
            let syntax::Delete { using, filter, current, .. } = delete;
            self.found(&table, &scope, using.as_ref(), filter.as_ref(), current.as_ref())?
        };
        let mut returning = self.returning_of(&delete.returning, &found.scope, |_| {})?;
        let mut returned = Vec::new();
        if returns_changes(returning.as_ref(), &table)
            && let Some(returning) = &mut returning
        {
            returned = take_early(returning, found.scope.columns.len());
        }
        let columns = (0..table.columns.len()).collect();
        let joined = Some(found.plan(Vec::new(), returned));
        Ok(Delete { table, columns, joined, access: None, filter: None, returning })
    }

    /// Row by row; none where that would be late.
    fn delete_in_place(
        &self,
        delete: &syntax::Delete,
        table: &Arc<TableDef>,
        scope: &Scope,
    ) -> Result<Option<Delete>, SqlError> {
        let table = Arc::clone(table);
        let mut filter = self.filter(delete.filter.as_ref(), scope)?;
        let mut returning = self.returning(&delete.returning, &table, delete.table.alias.as_ref(), |_| {})?;
        if depends(filter.iter(), &table, false) || returns_changes(returning.as_ref(), &table) {
            return Ok(None);
        }
        let mut kept: Vec<TypedExpr> = key_columns_read(&table, None)
            .into_iter()
            .map(|at| TypedExpr::column(at, table.columns[at].ty.clone()))
            .collect();
        let returned = returning.iter_mut().flat_map(|returning| returning.exprs.iter_mut());
        let mut exprs: Vec<&mut TypedExpr> = returned.chain(filter.as_mut()).chain(kept.iter_mut()).collect();
        let columns = prune(&mut exprs);
        Ok(Some(Delete { table, columns, joined: None, access: None, filter, returning }))
    }
}

/// `428C9`.
fn only_default(column: &verso_catalog::ColumnDef) -> SqlError {
    let text = format!("column \"{}\" can only be updated to DEFAULT", column.name);
    SqlError::new("428C9", text)
        .with_detail(format!("Column \"{}\" is an identity column defined as GENERATED ALWAYS.", column.name))
}

/// The expressions of RETURNING, to be computed with the rows; it then only reads them, from column `first` on.
fn take_early(returning: &mut Returning, first: usize) -> Vec<TypedExpr> {
    let read = |(n, expr): (usize, &mut TypedExpr)| {
        let column = TypedExpr::column(first + n, expr.ty.clone());
        std::mem::replace(expr, column)
    };
    returning.exprs.iter_mut().enumerate().map(read).collect()
}

/// Whether RETURNING reads the changed table in a subquery, which would be asked when some of it has changed.
fn returns_changes(returning: Option<&Returning>, table: &TableDef) -> bool {
    returning.is_some_and(|returning| depends(returning.exprs.iter(), table, true))
}

/// Whether a subquery would see what its own statement has done already (rule T2): one over the changed table that is run
/// anew for later rows, or may be run `late` for the first time.
fn depends<'e>(exprs: impl IntoIterator<Item = &'e TypedExpr>, table: &TableDef, late: bool) -> bool {
    fn again(expr: &TypedExpr, table: &TableDef, maybe_late: bool) -> bool {
        let late = maybe_late || matches!(expr.kind, K::Case { .. } | K::Coalesce(_) | K::And(_) | K::Or(_));
        if let K::Subquery { plan, outer, .. } = &expr.kind
            && (late || !outer.is_empty())
            && reads(plan, table)
        {
            return true;
        }
        let mut found = false;
        expr.for_each_child(&mut |child| found |= again(child, table, late));
        found
    }
    exprs.into_iter().any(|expr| again(expr, table, late))
}
