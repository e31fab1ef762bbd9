//! SET: which value each assigned column gets.

use std::sync::Arc;

use verso_catalog::{ColumnDef, Identity, TableDef};
use verso_exec::plan::{Plan, SubqueryTest, TypedExpr};
use verso_types::SqlType;

use crate::bind::Binder;
use crate::bind::context::{Clause, Context};
use crate::bind::dml::target_column;
use crate::bind::scope::Scope;
use crate::bind::shown::Changed;
use crate::bind::subquery::subquery;
use crate::errors::SqlError;
use verso_parser::syntax::{Assignment, Expr, ExprKind, Name, Query, Step};

/// `(SELECT …)` for several columns; what it needs of the row comes beside it.
pub(in crate::bind) struct RowSource {
    pub(super) plan: Plan,
    pub(super) outer: Vec<TypedExpr>,
}

/// A column and the value that it gets.
type Assigned = (usize, TypedExpr);

impl Binder<'_> {
    /// SET over the columns of a scope. What queries for several columns yield stands behind these columns, in the order of
    /// `rows`; without `rows` each column has a query of its own.
    pub(in crate::bind) fn assignments(
        &self,
        given: &[Assignment],
        changed: &Changed,
        scope: &Scope,
        mut rows: Option<&mut Vec<RowSource>>,
    ) -> Result<Vec<Assigned>, SqlError> {
        let table = &changed.seen;
        let mut cx = Context::new(scope, Clause::Set);
        let mut assignments: Vec<Assigned> = Vec::new();
        let mut parts: Vec<usize> = Vec::new();
        let mut width = scope.columns.len();
        for item in given {
            let assigned = match item {
                Assignment::Value(name, value) => vec![self.assigned_value(changed, name, value, &mut cx)?],
                Assignment::Part(name, steps, value) => {
                    let index = target_column(table, name)?;
                    // Several parts of a column are assigned one after the other.
                    let earlier = parts.contains(&index).then(|| {
                        let place = assignments.iter().position(|(column, _)| *column == index);
                        place.map(|place| assignments.remove(place).1)
                    });
                    parts.push(index);
                    let earlier = earlier.flatten();
                    vec![(index, self.assigned_part(table, index, name, steps, value, earlier, &mut cx)?)]
                }
                Assignment::List(names, values, at) => {
                    let values = self.spread_all(values, scope);
                    if values.len() != names.len() {
                        let text = "number of columns does not match number of values";
                        return Err(SqlError::syntax(text).at(at.start));
                    }
                    let pairs = names.iter().zip(&values);
                    let pairs = pairs.map(|(name, value)| self.assigned_value(changed, name, value, &mut cx));
                    pairs.collect::<Result<_, _>>()?
                }
                Assignment::Row(names, query) => {
                    let first = rows.is_some().then_some(width);
                    let (assigned, source) = self.assigned_row(table, names, query, first, &mut cx)?;
                    if let Some(rows) = &mut rows {
                        width += assigned.len();
                        rows.push(source);
                    }
                    assigned
                }
            };
            for (index, value) in assigned {
                if assignments.iter().any(|(column, _)| *column == index) {
                    let text =
                        format!("multiple assignments to same column \"{}\"", table.columns[index].name);
                    return Err(SqlError::syntax(text));
                }
                assignments.push((index, value));
            }
        }
        Ok(assignments)
    }

    /// `column = value`.
    fn assigned_value(
        &self,
        changed: &Changed,
        name: &Name,
        value: &Expr,
        cx: &mut Context<'_>,
    ) -> Result<Assigned, SqlError> {
        let table = &changed.seen;
        let index = target_column(table, name)?;
        let column = &table.columns[index];
        let value = match &value.kind {
            // A view says itself what its columns are set to: NULL, if it says nothing.
            ExprKind::Default if let Some(own) = changed.own_default(index) => {
                if self.is_computed(column) {
                    return Err(only_default(column));
                }
                self.stored_default(&ColumnDef { default: own.cloned(), ..column.clone() })?
            }
            ExprKind::Default => self.column_default(table, index)?,
            _ if self.is_computed(column) => return Err(only_default(column)),
            _ => {
                let bound = self.expr(value, cx)?;
                self.assign(bound, value.at.start, &column.name, &column.ty)?
            }
        };
        Ok((index, value))
    }

    /// `column[1] = value`: the new value of the column, whose own value so far is `earlier` or what the row has.
    #[expect(clippy::too_many_arguments, reason = "an assignment and where it stands")]
    fn assigned_part(
        &self,
        table: &Arc<TableDef>,
        index: usize,
        name: &Name,
        steps: &[Step],
        value: &Expr,
        earlier: Option<TypedExpr>,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let column = &table.columns[index];
        if matches!(value.kind, ExprKind::Default) {
            return Err(SqlError::new("0A000", "cannot set an array element to DEFAULT").at(name.at.start));
        }
        if self.is_computed(column) {
            return Err(only_default(column));
        }
        // The columns of the table that is changed come first in the scope.
        let old = earlier.unwrap_or_else(|| TypedExpr::column(index, column.seen()));
        let bound = (self.expr(value, cx)?, value.at.start);
        self.assigned_within(old, (&column.name, name.at.start), steps, bound, cx)
    }

    /// `(a, b) = (SELECT …)`, whose row stands in the columns from `first` on, or is asked for anew by each of them.
    fn assigned_row(
        &self,
        table: &Arc<TableDef>,
        names: &[Name],
        query: &Query,
        first: Option<usize>,
        cx: &mut Context<'_>,
    ) -> Result<(Vec<Assigned>, RowSource), SqlError> {
        let at = query.at.start;
        let targets: Vec<usize> =
            names.iter().map(|name| target_column(table, name)).collect::<Result<_, _>>()?;
        let types: Vec<SqlType> = targets.iter().map(|index| table.columns[*index].ty.clone()).collect();
        let (plan, outer) = self.correlated_for(query, &types, cx)?;
        let output = plan.output();
        if output.len() != targets.len() {
            return Err(SqlError::syntax("number of columns does not match number of values").at(at));
        }
        if first.is_none() && plan.is_volatile() {
            let what = "SET (a, b) = (SELECT …) with a volatile function in ON CONFLICT or MERGE";
            return Err(SqlError::unsupported(what).at(at));
        }
        let mut assigned = Vec::with_capacity(targets.len());
        for (n, (index, source)) in targets.into_iter().zip(&output).enumerate() {
            let column = &table.columns[index];
            if self.is_computed(column) {
                return Err(only_default(column));
            }
            let value = match first {
                Some(first) => TypedExpr::column(first + n, source.ty.clone()),
                None => {
                    let one = Plan::Project {
                        input: Box::new(plan.clone()),
                        exprs: vec![TypedExpr::column(n, source.ty.clone())],
                        names: vec![Arc::clone(&source.name)],
                    };
                    let test = SubqueryTest::Scalar;
                    subquery(one, outer.clone(), test, Vec::new(), source.ty.clone())
                }
            };
            assigned.push((index, self.assign(value, at, &column.name, &column.ty)?));
        }
        Ok((assigned, RowSource { plan, outer }))
    }

    /// Whether the statement may give the column no value.
    fn is_computed(&self, column: &ColumnDef) -> bool {
        column.generated || column.identity == Some(Identity::Always) && !self.flashes_back
    }
}

/// `428C9`.
fn only_default(column: &ColumnDef) -> SqlError {
    let text = format!("column \"{}\" can only be updated to DEFAULT", column.name);
    let kind = match column.generated {
        true => "a generated column",
        false => "an identity column defined as GENERATED ALWAYS",
    };
    SqlError::new("428C9", text).with_detail(format!("Column \"{}\" is {kind}.", column.name))
}
