//! INSERT, UPDATE, DELETE.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_row::plan::{
    Delete, ExprKind as K, Insert, OutputColumn, Plan, Returning, SetCall, TypedExpr, Update,
};
use verso_types::SqlType;

use super::Binder;
use super::expr::{Clause, Context};
use super::query::prune;
use super::scope::Scope;
use super::walk::map_columns;
use crate::errors::{SqlError, sqlstate};
use crate::syntax::{self, Expr, ExprKind, FromItem, FromSource, Name, QueryBody, SelectItem};

impl Binder<'_> {
    // ── INSERT ───────────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn insert(&self, insert: &syntax::Insert) -> Result<Insert, SqlError> {
        let table = self.target(&insert.table)?;
        let columns = insert_columns(&table, &insert.columns)?;
        let (source, given) = match &insert.source {
            None => (Plan::Values { rows: vec![Vec::new()], columns: Vec::new() }, 0),
            Some(query) => match &query.body {
                QueryBody::Values(rows)
                    if query.order_by.is_empty() && query.limit.is_none() && query.offset.is_none() =>
                {
                    self.insert_values(rows, &table, &columns, insert)?
                }
                _ => self.insert_query(query, &table, &columns, insert)?,
            },
        };
        let explicit = !insert.columns.is_empty();
        let output = source.output();
        let mut values = Vec::with_capacity(table.columns.len());
        for (index, column) in table.columns.iter().enumerate() {
            let given = columns.iter().position(|column| *column == index).filter(|n| *n < given);
            values.push(match given {
                Some(n) => {
                    let at = insert.source.as_ref().map_or(0, |query| query.at.start);
                    self.assign(TypedExpr::column(n, output[n].ty.clone()), at, &column.name, &column.ty)?
                }
                None => self.column_default(&table, index)?,
            });
        }
        debug_assert!(explicit || columns.len() == table.columns.len());
        let returning = self.returning(&insert.returning, &table, insert.alias.as_ref(), |_| {})?;
        let spool = reads(&source, &table);
        Ok(Insert { table, source, values, spool, returning })
    }

    /// VALUES: each value goes straight to its column's type, and may be DEFAULT.
    fn insert_values(
        &self,
        rows: &[Vec<Expr>],
        table: &TableDef,
        columns: &[usize],
        insert: &syntax::Insert,
    ) -> Result<(Plan, usize), SqlError> {
        let width = rows.first().map_or(0, Vec::len);
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::Values);
        let mut bound = Vec::with_capacity(rows.len());
        for row in rows {
            if row.len() != width {
                let at = row.first().map_or(0, |expr| expr.at.start);
                return Err(SqlError::syntax("VALUES lists must all be the same length").at(at));
            }
            check_width(width, columns, insert, row.get(columns.len()).map(|expr| expr.at.start))?;
            let mut values = Vec::with_capacity(width);
            for (expr, index) in row.iter().zip(columns) {
                let column = &table.columns[*index];
                values.push(match &expr.kind {
                    ExprKind::Default => self.column_default(table, *index)?,
                    _ => {
                        let value =
                            self.expr(expr, &mut cx).map_err(|error| unreachable_column(error, table))?;
                        self.assign(value, expr.at.start, &column.name, &column.ty)?
                    }
                });
            }
            bound.push(values);
        }
        let output = columns[..width]
            .iter()
            .map(|index| &table.columns[*index])
            .map(|column| OutputColumn::new(Arc::clone(&column.name), column.ty.clone()))
            .collect();
        Ok((Plan::Values { rows: bound, columns: output }, width))
    }

    fn insert_query(
        &self,
        query: &syntax::Query,
        table: &TableDef,
        columns: &[usize],
        insert: &syntax::Insert,
    ) -> Result<(Plan, usize), SqlError> {
        let targets: Vec<SqlType> = columns.iter().map(|index| table.columns[*index].ty.clone()).collect();
        let plan = self.query_for(query, &targets)?;
        let width = plan.output().len();
        let extra = match &query.body {
            QueryBody::Select(select) => match select.items.get(columns.len()) {
                Some(SelectItem::Expr { expr, alias: _ }) => expr.at.start,
                _ => query.at.start,
            },
            _ => query.at.start,
        };
        check_width(width, columns, insert, Some(extra))?;
        Ok((plan, width))
    }

    /// The default of a column; NULL where it has none.
    pub(super) fn column_default(&self, table: &TableDef, index: usize) -> Result<TypedExpr, SqlError> {
        let column = &table.columns[index];
        let Some(text) = &column.default else { return Ok(TypedExpr::null(column.ty.clone())) };
        // The text was checked when the column was made; positions in it mean nothing to the statement.
        let bound = crate::parse::parse_expression(text)
            .and_then(|expr| self.default_value(&expr, &column.name, &column.ty));
        bound.map_err(|error| SqlError { position: None, ..error })
    }

    // ── UPDATE ───────────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn update(&self, update: &syntax::Update) -> Result<Update, SqlError> {
        let (table, scope) = self.target_scope(&update.table)?;
        let mut filter = self.filter(update.filter.as_ref(), &scope)?;
        let mut cx = Context::new(&scope, Clause::Set);
        let mut assignments: Vec<(usize, TypedExpr)> = Vec::new();
        for (name, value) in &update.assignments {
            let index = target_column(&table, name)?;
            if assignments.iter().any(|(column, _)| *column == index) {
                let text = format!("multiple assignments to same column \"{}\"", name.text);
                return Err(SqlError::syntax(text));
            }
            let column = &table.columns[index];
            let value = match &value.kind {
                ExprKind::Default => self.column_default(&table, index)?,
                _ => {
                    let bound = self.expr(value, &mut cx)?;
                    self.assign(bound, value.at.start, &column.name, &column.ty)?
                }
            };
            assignments.push((index, value));
        }
        // RETURNING sees the new values: of assigned columns those assigned, of others those read.
        let assigned: Vec<usize> = assignments.iter().map(|(column, _)| *column).collect();
        let shift = table.columns.len();
        let alias = update.table.alias.as_ref();
        let mut returning = self.returning(&update.returning, &table, alias, |expr| {
            map_columns(expr, &mut |column| {
                assigned.iter().position(|assigned| *assigned == column).map_or(column, |n| shift + n)
            });
        })?;
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
        reads_itself(assignments.iter().map(|(_, value)| value).chain(&filter), &table)?;
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
        Ok(Update { table, columns, filter, assignments, returning })
    }

    // ── DELETE ───────────────────────────────────────────────────────────────────────────────────────────────────

    pub(super) fn delete(&self, delete: &syntax::Delete) -> Result<Delete, SqlError> {
        let (table, scope) = self.target_scope(&delete.table)?;
        let mut filter = self.filter(delete.filter.as_ref(), &scope)?;
        let mut returning = self.returning(&delete.returning, &table, delete.table.alias.as_ref(), |_| {})?;
        reads_itself(filter.iter(), &table)?;
        let returned = returning.iter_mut().flat_map(|returning| returning.exprs.iter_mut());
        let mut exprs: Vec<&mut TypedExpr> = returned.chain(filter.as_mut()).collect();
        let columns = prune(&mut exprs);
        Ok(Delete { table, columns, filter, returning })
    }

    // ── shared ───────────────────────────────────────────────────────────────────────────────────────────────────

    /// A table to change: no system table.
    pub(crate) fn target(&self, name: &syntax::QualifiedName) -> Result<Arc<TableDef>, SqlError> {
        let view = self.catalog.system_view(name.schema_text(), &name.name.text).is_some();
        let system = view || self.table(name)?.is_system();
        if system {
            let text = format!("permission denied: \"{}\" is a system catalog", name.name.text);
            return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).at(name.at().start));
        }
        self.table(name)
    }

    fn target_scope(&self, item: &FromItem) -> Result<(Arc<TableDef>, Scope), SqlError> {
        let FromSource::Table(name) = &item.source else {
            return Err(SqlError::internal("the target of a change is a table"));
        };
        let table = self.target(name)?;
        let scope = table_scope(&table, item.alias.as_ref());
        Ok((table, scope))
    }

    /// RETURNING over the full row; `renumber` adapts its columns.
    fn returning(
        &self,
        items: &[SelectItem],
        table: &TableDef,
        alias: Option<&Name>,
        mut renumber: impl FnMut(&mut TypedExpr),
    ) -> Result<Option<Returning>, SqlError> {
        if items.is_empty() {
            return Ok(None);
        }
        let scope = table_scope(table, alias);
        let mut cx = Context::new(&scope, Clause::Returning);
        let mut returning = Returning { exprs: Vec::new(), names: Vec::new() };
        for item in self.items(items, &mut cx)? {
            let mut expr = self.settle(item.expr, 0)?;
            renumber(&mut expr);
            returning.exprs.push(expr);
            returning.names.push(item.name);
        }
        Ok(Some(returning))
    }
}

fn table_scope(table: &TableDef, alias: Option<&Name>) -> Scope {
    Scope::of(
        Some(alias.map_or_else(|| Arc::clone(&table.name), |alias| alias.text.as_str().into())),
        alias.map(|_| Arc::clone(&table.name)),
        table.columns.iter().map(|column| (Arc::clone(&column.name), column.ty.clone())).collect(),
    )
}

fn target_column(table: &TableDef, name: &Name) -> Result<usize, SqlError> {
    table.column(&name.text).ok_or_else(|| {
        let text = format!("column \"{}\" of relation \"{}\" does not exist", name.text, table.name);
        SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(name.at.start)
    })
}

/// VALUES sees no columns; says so where one of the target was meant.
fn unreachable_column(error: SqlError, table: &TableDef) -> SqlError {
    let named = |column: &&verso_catalog::ColumnDef| {
        error.message == format!("column \"{}\" does not exist", column.name)
    };
    match table.columns.iter().find(named) {
        Some(column) => {
            let hint = format!(
                "There is a column named \"{}\" in table \"{}\", but it cannot be referenced from this part of the query.",
                column.name, table.name
            );
            error.with_hint(hint)
        }
        None => error,
    }
}

/// The columns an INSERT names, or all.
fn insert_columns(table: &TableDef, names: &[Name]) -> Result<Vec<usize>, SqlError> {
    if names.is_empty() {
        return Ok((0..table.columns.len()).collect());
    }
    let mut columns = Vec::with_capacity(names.len());
    for name in names {
        let index = target_column(table, name)?;
        if columns.contains(&index) {
            let text = format!("column \"{}\" specified more than once", name.text);
            return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text).at(name.at.start));
        }
        columns.push(index);
    }
    Ok(columns)
}

fn check_width(
    width: usize,
    columns: &[usize],
    insert: &syntax::Insert,
    extra: Option<u32>,
) -> Result<(), SqlError> {
    if width > columns.len() {
        let error = SqlError::syntax("INSERT has more expressions than target columns");
        return Err(extra.map_or(error.clone(), |at| error.at(at)));
    }
    match insert.columns.get(width) {
        Some(name) => {
            Err(SqlError::syntax("INSERT has more target columns than expressions").at(name.at.start))
        }
        None => Ok(()),
    }
}

/// Refuses a subquery that would see what its own statement has done already (rule T2): one over the changed table that is
/// run anew for later rows. One that depends on no row, and is asked for every row, runs before the first change.
fn reads_itself<'e>(exprs: impl Iterator<Item = &'e TypedExpr>, table: &TableDef) -> Result<(), SqlError> {
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
    let mut exprs = exprs;
    if exprs.any(|expr| again(expr, table, false)) {
        return Err(SqlError::unsupported("a subquery over the changed table that depends on its rows")
            .with_hint(
                "Collect the new values in another table first, or read the table in FROM of an INSERT.",
            ));
    }
    Ok(())
}

/// Whether a plan may read what is written to the table (rule T2): it scans it, or calls a function that may.
pub(super) fn reads(plan: &Plan, table: &TableDef) -> bool {
    let calls = |part: &Plan| {
        let user = |expr: &TypedExpr| expr.any(&mut |part| matches!(part.kind, K::UserCall { .. }));
        part.exprs().into_iter().any(user)
    };
    plan.any(&mut |part| match part {
        Plan::TableScan { table: scanned, .. } if scanned.oid == table.oid => true,
        Plan::FunctionScan { call: SetCall::User { .. }, .. } => true,
        Plan::Values { rows, .. } => rows.len() > 1 && calls(part), // a single row is there before it is written
        _ => calls(part),
    })
}
