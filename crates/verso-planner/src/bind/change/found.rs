//! The rows of a change as a query finds them, before the first is changed.

use std::sync::Arc;

use verso_exec::plan::{CursorName, JoinKind, OutputColumn, Plan, RECORD_COLUMN, TypedExpr};
use verso_types::{SqlType, SystemType};

use super::assignments::RowSource;
use crate::bind::Binder;
use crate::bind::from::both;
use crate::bind::partition::refuse_partitioned;
use crate::bind::scope::Scope;
use crate::bind::shown::Changed;
use crate::bind::walk::map_columns;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, FromItem, Name};

/// The rows of a change, as a query finds them: the table's columns, their places, the columns of the others.
pub(super) struct Found {
    plan: Plan,
    pub(super) scope: Scope,
    /// Columns of the table.
    own: usize,
}

impl Found {
    /// The plan's column that a column of the scope is.
    pub(super) fn column(&self, column: usize) -> usize {
        if column < self.own { column } else { column + 1 }
    }

    /// Over the columns of the plan.
    pub(super) fn over(&self, mut expr: TypedExpr) -> TypedExpr {
        map_columns(&mut expr, &mut |column| self.column(column));
        expr
    }

    /// One more value for each row from each of these queries.
    pub(super) fn add(&mut self, sources: Vec<RowSource>) {
        for RowSource { plan, outer } in sources {
            let outer: Vec<TypedExpr> = outer.into_iter().map(|expr| self.over(expr)).collect();
            let left = Box::new(std::mem::replace(
                &mut self.plan,
                Plan::Append { inputs: Vec::new(), pruning: None },
            ));
            let right = Box::new(Plan::Single { input: Box::new(plan) });
            let kind = JoinKind::Left;
            self.plan = if outer.is_empty() {
                Plan::Join { left, right, kind, equal: Vec::new(), filter: None }
            } else {
                Plan::Apply { left, right, outer, kind, filter: None, unread: Vec::new() }
            };
        }
    }

    /// The columns of the scope, `values` over them, and the places.
    pub(super) fn plan(self, values: Vec<TypedExpr>) -> Plan {
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
        Plan::Project { input: Box::new(self.plan), exprs, names }
    }
}

impl Binder<'_> {
    /// The cursor of WHERE CURRENT OF: the one whose name is in a variable of that name, or the one of that name.
    fn cursor_named(&self, name: &Name) -> CursorName {
        let known = self.variables.iter().rev().find(|known| *known.name == *name.text);
        match known {
            Some(known) if known.ty == SqlType::System(SystemType::Refcursor) => {
                CursorName::Variable(known.slot)
            }
            _ => CursorName::Named(name.text.as_str().into()),
        }
    }

    /// The rows of a table joined with FROM or USING that the condition lets through.
    pub(super) fn found(
        &self,
        changed: &Changed,
        target: &Scope,
        from: Option<&FromItem>,
        filter: Option<&Expr>,
        current: Option<&Name>,
    ) -> Result<Found, SqlError> {
        let table = Arc::clone(&changed.table);
        let own = table.columns.len();
        let columns = (0..own).chain([RECORD_COLUMN]).collect();
        if current.is_some() {
            refuse_partitioned(&table, "WHERE CURRENT OF for")?;
        }
        let plan = match current {
            _ if let Some(rows) = changed.rows() => without_places(rows.clone()),
            Some(cursor) => {
                Plan::CurrentRow { table: changed.scanned(), columns, cursor: self.cursor_named(cursor) }
            }
            None => Plan::TableScan { table: changed.scanned(), columns, filter: None },
        };
        let plan = match changed.filter() {
            Some(predicate) => Plan::Filter { input: Box::new(plan), predicate },
            None => plan,
        };
        let numbers = self.numbers_of(changed);
        let plan = if numbers.is_empty() { plan } else { numbers.found(plan, &changed.table) };
        let mut found = Found { plan, scope: target.clone(), own };
        if let Some(from) = from {
            let other = self.items_beside(target, from)?;
            if let Some(name) = target.shared_name(&other.scope) {
                let text = format!("table name \"{name}\" specified more than once");
                return Err(SqlError::new(sqlstate::DUPLICATE_ALIAS, text));
            }
            found.scope = both(target, &other.scope);
            let (left, right) = (Box::new(found.plan), Box::new(other.plan));
            found.plan = Plan::Join { left, right, kind: JoinKind::Inner, equal: Vec::new(), filter: None };
        }
        if let Some(predicate) = self.filter(filter, &found.scope)? {
            let predicate = found.over(self.expanded(predicate, &changed.table, 0)?);
            found.plan = Plan::Filter { input: Box::new(found.plan), predicate };
        }
        Ok(found)
    }
}

/// Rows of a view with a column where the places of records are otherwise.
fn without_places(rows: Plan) -> Plan {
    let output = rows.output();
    let mut names: Vec<Arc<str>> = output.iter().map(|column| Arc::clone(&column.name)).collect();
    let column = |(at, column): (usize, &OutputColumn)| TypedExpr::column(at, column.seen());
    let mut exprs: Vec<TypedExpr> = output.iter().enumerate().map(column).collect();
    exprs.push(TypedExpr::null(SqlType::Int8));
    names.push("record".into());
    Plan::Project { input: Box::new(rows), exprs, names }
}
