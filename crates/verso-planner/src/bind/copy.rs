//! COPY: an INSERT of rows from outside, or a scan.

use std::sync::Arc;

use verso_catalog::{ColumnDef, PolicyFor, Relation, Rights, TableDef, TriggerKind};
use verso_exec::plan::{ExprKind, Insert, OutputColumn, Plan, TypedExpr};
use verso_types::{SqlType, Value};

use super::Binder;
use super::context::{Clause, Context};
use super::dml::table_scope;
use super::walk::columns_of;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, QualifiedName};

/// Name and type of a column.
type NamedType = (String, SqlType);

impl Binder<'_> {
    /// COPY FROM: rows of these columns, or of all, go into the table; the others get their defaults. Where the data may
    /// ask for defaults, a flag for each column stands behind the values of a row; which of them have one comes back.
    pub fn copy_from(
        &self,
        name: &QualifiedName,
        columns: &[&str],
        filter: Option<&Expr>,
        asks_for_defaults: bool,
    ) -> Result<(Insert, Vec<NamedType>, Vec<bool>), SqlError> {
        let table = match self.relation_named(name) {
            Some(Relation::View(view)) if view.is_replaced(TriggerKind::INSERT) => Arc::new(view.as_table()),
            Some(Relation::View(view)) => {
                let text = format!("cannot copy to view \"{}\"", view.name);
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text)
                    .with_hint("To enable copying to a view, provide an INSTEAD OF INSERT trigger."));
            }
            _ => self.target(name)?,
        };
        let chosen = choose(&table, columns)?;
        self.require(&table, Rights::INSERT, &chosen)?;
        let types: Vec<NamedType> = chosen
            .iter()
            .map(|index| &table.columns[*index])
            .map(|column| (column.name.to_string(), column.ty.clone()))
            .collect();
        let mut values = Vec::with_capacity(table.columns.len());
        let mut defaults = vec![false; if asks_for_defaults { types.len() } else { 0 }];
        for (index, column) in table.columns.iter().enumerate() {
            values.push(match chosen.iter().position(|chosen| *chosen == index) {
                Some(n) if asks_for_defaults => {
                    let default = self.column_default(&table, index)?;
                    defaults[n] = !matches!(default.kind, ExprKind::Literal(Value::Null));
                    let given = self.of_fields(TypedExpr::column(n, column.seen()), &column.ty)?;
                    let ty = given.ty.clone();
                    let asked = TypedExpr::column(types.len() + n, SqlType::Bool);
                    let branches = vec![(asked, default)];
                    TypedExpr::new(ExprKind::Case { branches, otherwise: Some(Box::new(given)) }, ty)
                }
                Some(n) => self.of_fields(TypedExpr::column(n, column.seen()), &column.ty)?,
                None => self.column_default(&table, index)?,
            });
        }
        let flag = |(name, _): &NamedType| (name.clone(), SqlType::Bool);
        let flags = types.iter().filter(|_| asks_for_defaults).map(flag);
        let mut source = external(&types.iter().cloned().chain(flags).collect::<Vec<NamedType>>());
        if let Some(filter) = filter {
            // Over the full new row, defaults included.
            let scope = table_scope(&table, None);
            let bound = self.expr(filter, &mut Context::new(&scope, Clause::CopyWhere))?;
            if let Some(at) = columns_of(&bound).into_iter().find(|at| table.columns[*at].generated) {
                let text = "generated columns are not supported in COPY FROM WHERE conditions";
                let detail = format!("Column \"{}\" is a generated column.", table.columns[at].name);
                return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text)
                    .with_detail(detail)
                    .at(filter.at.start));
            }
            let predicate = self.boolean(bound, filter.at.start, "WHERE")?;
            let own = |(n, column): (usize, &ColumnDef)| TypedExpr::column(n, column.seen());
            let row = table.columns.iter().enumerate().map(own).collect();
            let exprs = std::mem::replace(&mut values, row);
            let names = table.columns.iter().map(|column| Arc::clone(&column.name)).collect();
            let input = Box::new(Plan::Project { input: Box::new(source), exprs, names });
            source = Plan::Filter { input, predicate };
        }
        if self.policy_checks(&table, PolicyFor::Insert)?.is_some() {
            // As in PostgreSQL.
            let text = "COPY FROM not supported with row-level security";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
                .with_hint("Use INSERT statements instead."));
        }
        let rules = self.row_rules(&table)?;
        let mut insert = Insert { rules, ..Insert::plain(table, source, values) };
        self.route(&mut insert)?;
        Ok((insert, types, defaults))
    }

    /// COPY TO of a table.
    pub fn copy_to(&self, name: &QualifiedName, columns: &[&str]) -> Result<Plan, SqlError> {
        let refused = |kind: &str, name: &str| {
            let text = format!("cannot copy from {kind} \"{name}\"");
            let error = SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text);
            Err(error.with_hint("Try the COPY (SELECT ...) TO variant."))
        };
        if let Some(Relation::View(view)) = self.relation_named(name) {
            return refused("view", &view.name);
        }
        let table = self.table(name)?;
        if table.partitioned.is_some() {
            return refused("partitioned table", &table.name);
        }
        let columns = choose(&table, columns)?;
        self.require(&table, Rights::SELECT, &columns)?;
        self.secured(Plan::TableScan { table: table.into(), columns, filter: None }, &[PolicyFor::Select])
    }
}

/// The columns that are named, or all.
fn choose(table: &TableDef, names: &[&str]) -> Result<Vec<usize>, SqlError> {
    if names.is_empty() {
        return Ok((0..table.shown().len()).filter(|at| !table.columns[*at].generated).collect());
    }
    let mut chosen = Vec::with_capacity(names.len());
    for name in names {
        let index = table.column(name).ok_or_else(|| {
            let text = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
            SqlError::new(sqlstate::UNDEFINED_COLUMN, text)
        })?;
        if table.columns[index].generated {
            let text = format!("column \"{name}\" is a generated column");
            return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text)
                .with_detail("Generated columns cannot be used in COPY."));
        }
        if chosen.contains(&index) {
            let text = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(sqlstate::DUPLICATE_COLUMN, text));
        }
        chosen.push(index);
    }
    Ok(chosen)
}

/// The plan that yields the rows of the data: a column for each column of the table that they are for.
fn external(columns: &[(String, SqlType)]) -> Plan {
    let columns = columns.iter().map(|(name, ty)| OutputColumn::new(name.as_str(), ty.clone())).collect();
    Plan::External { columns }
}
