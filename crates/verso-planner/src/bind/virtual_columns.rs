//! VIRTUAL generated columns: computed when a row is read.
//!
//! V1. Records have nothing of such a column, NULL stands in its place. So a row is computed where it leaves its table: above
//!     the scan of FROM ([`Binder::with_virtual`]), and of rows that change within the expressions over them
//!     ([`Binder::expanded`]).
//! V2. Rows that a change writes, and those that it hands to triggers, keep the NULL.

use std::sync::Arc;

use verso_catalog::{ColumnDef, TableDef};
use verso_exec::plan::{Check, CheckOf, ExprKind as K, Generated, Plan, RECORD_COLUMN, Scanned, TypedExpr};
use verso_types::SqlType;

use super::Binder;
use super::walk::{map_columns, replace_columns};
use crate::errors::{SqlError, sqlstate};

impl Binder<'_> {
    /// The virtual columns of a table, each with its expression over all columns.
    pub(super) fn virtual_columns(&self, table: &TableDef) -> Result<Vec<Generated>, SqlError> {
        let columns = table.columns.iter().enumerate().filter(|(_, column)| column.is_virtual);
        let bind = |(at, column): (usize, &ColumnDef)| {
            Ok(Generated { column: at, value: self.stored_generation(column, table)? })
        };
        columns.map(bind).collect()
    }

    /// An expression over stored rows, whose columns from `first` on are those of the table: with the expressions of the virtual
    /// ones in their places.
    ///
    /// # Errors
    /// Those of binding them.
    pub fn expanded(
        &self,
        mut expr: TypedExpr,
        table: &TableDef,
        first: usize,
    ) -> Result<TypedExpr, SqlError> {
        if table.has_virtual() {
            expand(&mut expr, &self.virtual_columns(table)?, first);
        }
        Ok(expr)
    }

    /// The same of several, over rows that begin with the table's columns.
    pub(super) fn expand_all<'e>(
        &self,
        exprs: impl Iterator<Item = &'e mut TypedExpr>,
        table: &TableDef,
    ) -> Result<(), SqlError> {
        if table.has_virtual() {
            let computed = self.virtual_columns(table)?;
            exprs.for_each(|expr| expand(expr, &computed, 0));
        }
        Ok(())
    }

    /// NOT NULL of virtual columns, as conditions over stored rows.
    pub(super) fn virtual_not_null(&self, table: &TableDef) -> Result<Vec<Check>, SqlError> {
        let mut checks = Vec::new();
        for Generated { column, value } in self.virtual_columns(table)? {
            let own = &table.columns[column];
            if own.not_null {
                let kind = K::IsNull { arg: Box::new(value), negated: true };
                let condition = TypedExpr::new(kind, SqlType::Bool);
                checks.push(Check {
                    name: Arc::clone(&own.name),
                    condition,
                    of: CheckOf::NotNull { validated: table.is_never_null(column) },
                });
            }
        }
        Ok(checks)
    }

    /// The rows of one item of FROM, with what their virtual columns are. The query of a view that is made is bound without: it
    /// is to depend on these columns.
    pub(super) fn with_virtual(&self, plan: Plan) -> Result<Plan, SqlError> {
        match plan {
            _ if self.noting.is_some() => Ok(plan),
            Plan::TableScan { table, columns, filter } if computes(&table, &columns) => {
                self.computed(table, columns, |table, columns| Plan::TableScan { table, columns, filter })
            }
            Plan::Past { input, table, moment } => match *input {
                Plan::TableScan { table: scanned, columns, filter } if computes(&scanned, &columns) => self
                    .computed(scanned, columns, |scanned, columns| {
                        let scan = Plan::TableScan { table: scanned, columns, filter };
                        Plan::Past { input: Box::new(scan), table, moment }
                    }),
                input => Ok(Plan::Past { input: Box::new(input), table, moment }),
            },
            Plan::Filter { input, predicate } => {
                Ok(Plan::Filter { input: Box::new(self.with_virtual(*input)?), predicate })
            }
            Plan::Project { input, exprs, names } => {
                Ok(Plan::Project { input: Box::new(self.with_virtual(*input)?), exprs, names })
            }
            Plan::Append { inputs, pruning } => {
                let inputs = inputs.into_iter().map(|input| self.with_virtual(input));
                Ok(Plan::Append { inputs: inputs.collect::<Result<_, _>>()?, pruning })
            }
            plan => Ok(plan),
        }
    }

    fn computed(
        &self,
        table: Scanned,
        columns: Vec<usize>,
        scan: impl FnOnce(Scanned, Vec<usize>) -> Plan,
    ) -> Result<Plan, SqlError> {
        let mut read = columns.clone();
        let (mut exprs, mut names) = (Vec::new(), Vec::new());
        let computed = self.virtual_columns(&table)?;
        for (place, column) in columns.into_iter().enumerate() {
            if column == RECORD_COLUMN {
                exprs.push(TypedExpr::column(place, SqlType::Int8));
                names.push("".into());
                continue;
            }
            names.push(Arc::clone(&table.columns[column].name));
            let Some(Generated { value, .. }) = computed.iter().find(|known| known.column == column) else {
                exprs.push(TypedExpr::column(place, table.columns[column].seen()));
                continue;
            };
            let mut value = value.clone();
            map_columns(&mut value, &mut |column| match read.iter().position(|known| *known == column) {
                Some(at) => at,
                None => {
                    read.push(column);
                    read.len() - 1
                }
            });
            exprs.push(value);
        }
        let input = Box::new(scan(table, read));
        Ok(Plan::Project { input, exprs, names })
    }

    /// Refuses what the expression of a virtual column, declared as a type, may not be made of.
    ///
    /// # Errors
    /// 0A000, as PostgreSQL has it.
    pub fn check_virtual(
        &self,
        column: &str,
        ty: &SqlType,
        (value, text): (&TypedExpr, &str),
    ) -> Result<(), SqlError> {
        // Rows of partitions are read as rows of the whole, whose column it is.
        if verso_parser::names(text, "tableoid") {
            return Err(SqlError::unsupported("tableoid in a virtual generated column"));
        }
        let refuse = |text: String| SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text);
        let later = |what: &str| {
            format!("Virtual generated columns that make use of user-defined {what} are not yet supported.")
        };
        if matches!(ty, SqlType::Domain(_)) {
            return Err(refuse(format!("virtual generated column \"{column}\" cannot have a domain type")));
        }
        if is_users(ty) {
            let text = format!("virtual generated column \"{column}\" cannot have a user-defined type");
            return Err(refuse(text).with_detail(later("types")));
        }
        if value.any(&mut |part| matches!(part.kind, K::UserCall { .. })) {
            let text = "generation expression uses user-defined function".to_string();
            return Err(refuse(text).with_detail(later("functions")));
        }
        if value.any(&mut |part| is_users(&part.ty) || matches!(part.kind, K::Domain { .. })) {
            let text = "generation expression uses user-defined type".to_string();
            return Err(refuse(text).with_detail(later("types")));
        }
        Ok(())
    }
}

/// Puts the expressions of virtual columns in their places; the columns of the row begin at `first`.
pub(super) fn expand(expr: &mut TypedExpr, computed: &[Generated], first: usize) {
    replace_columns(expr, &mut |column, ty| {
        let own = column.checked_sub(first);
        match computed.iter().find(|known| Some(known.column) == own) {
            Some(Generated { value, .. }) => {
                let mut value = value.clone();
                map_columns(&mut value, &mut |column| first + column);
                value
            }
            None => TypedExpr::column(column, ty.clone()),
        }
    });
}

fn computes(table: &TableDef, columns: &[usize]) -> bool {
    table.has_virtual()
        && columns.iter().any(|at| table.columns.get(*at).is_some_and(|column| column.is_virtual))
}

/// Whether a type is no built-in one.
fn is_users(ty: &SqlType) -> bool {
    ty.pg_oid() >= verso_catalog::Oid::FIRST_USER.0
}
