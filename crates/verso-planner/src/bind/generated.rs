//! Expressions that are stored with a row: generated columns, and what their values may depend on.
//!
//! G1. Such an expression depends on the row alone: it is immutable (42P17), has no subquery, and reads no other generated
//!     column. That is asked when it is defined: what a file has is computed as it was, but no search uses an index over what is not
//!     immutable.
//! G2. Values are computed from columns that are not generated. An expression of an index may read generated columns, as
//!     PostgreSQL's may: their expressions stand in it in their places.

use std::sync::Arc;

use verso_catalog::{ColumnDef, TableDef};
use verso_exec::exec::{TriggerEvent, triggers_change_rows};
use verso_exec::plan::{Generated, TypedExpr};
use verso_types::SqlType;

use super::Binder;
use super::context::{Clause, Context};
use super::scope::{Scope, is_hidden};
use super::steady::is_immutable;
use super::table_number::{is_misplaced, misplaced, settle_own_number, with_own_number};
use super::virtual_columns::expand;
use super::walk::columns_of;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, Name};

/// What indexes are not made of.
const OF_SYSTEM: &str = "index creation on system columns is not supported";

/// A column that an expression may name: its name, its type, whether it is generated itself.
pub type ColumnInScope = (Arc<str>, SqlType, bool);

impl Binder<'_> {
    /// Binds the expression of a new generated column over the columns of its table.
    pub fn generation(
        &self,
        expr: &Expr,
        table: &str,
        columns: &[ColumnInScope],
        of: (&str, &SqlType),
    ) -> Result<TypedExpr, SqlError> {
        let (bound, immutable) = self.generation_of(expr, table, columns, of)?;
        match is_hidden(of.0) || immutable {
            true => Ok(bound),
            false => Err(SqlError::new("42P17", "generation expression is not immutable")),
        }
    }

    /// The value of a generated column, and whether what is written is immutable: the cast to the column's type need not be, as
    /// in PostgreSQL.
    fn generation_of(
        &self,
        expr: &Expr,
        table: &str,
        columns: &[ColumnInScope],
        of: (&str, &SqlType),
    ) -> Result<(TypedExpr, bool), SqlError> {
        let named = columns.iter().map(|(name, ty, _)| (Arc::clone(name), ty.clone())).collect();
        let scope = with_own_number(Scope::of(Some(table.into()), None, named));
        let mut bound = self.expr(expr, &mut Context::new(&scope, Clause::Generated)).map_err(|error| {
            misplaced(error, |name| {
                let text = format!("cannot use system column \"{name}\" in column generation expression");
                SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text)
            })
        })?;
        let immutable = is_immutable(&bound);
        settle_own_number(&mut bound, columns.len(), self.own_table);
        Ok((self.generated_value(bound, expr, columns, of)?, immutable))
    }

    fn kept_generation(
        &self,
        expr: &Expr,
        table: &str,
        columns: &[ColumnInScope],
        of: (&str, &SqlType),
    ) -> Result<TypedExpr, SqlError> {
        Ok(self.generation_of(expr, table, columns, of)?.0)
    }

    fn generated_value(
        &self,
        bound: TypedExpr,
        expr: &Expr,
        columns: &[ColumnInScope],
        (column, ty): (&str, &SqlType),
    ) -> Result<TypedExpr, SqlError> {
        let bound = self.assign(bound, expr.at.start, column, ty)?;
        if is_hidden(column) {
            return Ok(bound); // it was looked at when its index was made
        }
        if let Some(other) = columns_of(&bound).into_iter().find(|at| columns[*at].2) {
            let text = format!(
                "cannot use generated column \"{}\" in column generation expression",
                columns[other].0
            );
            return Err(SqlError::new("42P17", text)
                .with_detail("A generated column cannot reference another generated column.")
                .at(expr.at.start));
        }
        Ok(bound)
    }

    /// Binds an expression of an index that there is.
    pub fn kept_index_expression(&self, expr: &Expr, table: &TableDef) -> Result<TypedExpr, SqlError> {
        let bound = self.of_index(expr, table, Clause::IndexExpression)?;
        self.settle(bound, expr.at.start)
    }

    /// Binds an expression of a new index over the columns of its table.
    pub fn index_expression(&self, expr: &Expr, table: &TableDef) -> Result<TypedExpr, SqlError> {
        let bound = self.of_index(expr, table, Clause::IndexExpression)?;
        match is_immutable(&bound) {
            true => self.settle(bound, expr.at.start),
            false => Err(SqlError::new("42P17", "functions in index expression must be marked IMMUTABLE")),
        }
    }

    /// Binds an expression of the key by which a new table is divided, over the columns of that table.
    pub fn partition_expression(
        &self,
        expr: &Expr,
        table: &str,
        columns: &[ColumnInScope],
    ) -> Result<TypedExpr, SqlError> {
        let named = columns.iter().map(|(name, ty, _)| (Arc::clone(name), ty.clone())).collect();
        let scope = Scope::of(Some(table.into()), None, named);
        let bound = self.expr(expr, &mut Context::new(&scope, Clause::PartitionKey));
        let bound = bound.map_err(|error| match is_misplaced(&error) {
            true => {
                SqlError::new("42P17", "partition key expressions cannot contain system column references")
            }
            false => error,
        })?;
        let bound = self.settle(bound, expr.at.start)?;
        let used = columns_of(&bound);
        if let Some(generated) = used.iter().find(|at| columns[**at].2) {
            let detail = format!("Column \"{}\" is a generated column.", columns[*generated].0);
            return Err(SqlError::new("42P17", "cannot use generated column in partition key")
                .with_detail(detail)
                .at(expr.at.start));
        }
        if !is_immutable(&bound) {
            let text = "functions in partition key expression must be marked IMMUTABLE";
            return Err(SqlError::new("42P17", text));
        }
        match used.is_empty() {
            true => Err(SqlError::new("42P17", "cannot use constant expression as partition key")),
            false => Ok(bound),
        }
    }

    /// Binds an expression of statistics over the columns of their table.
    pub fn statistics_expression(&self, expr: &Expr, table: &TableDef) -> Result<TypedExpr, SqlError> {
        let columns = table.columns.iter().map(|column| (Arc::clone(&column.name), column.seen()));
        let scope = Scope::of(Some(Arc::clone(&table.name)), None, columns.collect());
        let bound = self.expr(expr, &mut Context::new(&scope, Clause::Statistics))?;
        if columns_of(&bound).into_iter().any(|at| table.columns[at].is_virtual) {
            let text = "statistics creation on virtual generated columns is not supported";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        self.settle(bound, expr.at.start)
    }

    /// The same of an expression as the catalog keeps it.
    pub fn kept_statistics_expression(&self, text: &str, table: &TableDef) -> Result<TypedExpr, SqlError> {
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.kept_statistics_expression(text, table);
        }
        let expr = verso_parser::parse_expression(text)?;
        let bound = self.in_kept_text().statistics_expression(&expr, table);
        bound.map_err(|error| SqlError { position: None, ..error })
    }

    /// Binds the condition of a partial index.
    pub fn index_predicate(&self, expr: &Expr, table: &TableDef) -> Result<TypedExpr, SqlError> {
        let bound = self.of_index(expr, table, Clause::IndexPredicate)?;
        let bound = self.boolean(bound, expr.at.start, "WHERE")?;
        match is_immutable(&bound) {
            true => Ok(bound),
            false => Err(SqlError::new("42P17", "functions in index predicate must be marked IMMUTABLE")),
        }
    }

    /// Binds the condition by which ON CONFLICT names partial indexes: it may have parameters.
    pub(super) fn conflict_predicate(
        &self,
        expr: &Expr,
        table: &TableDef,
        alias: Option<&Name>,
    ) -> Result<TypedExpr, SqlError> {
        let name = alias.map_or_else(|| Arc::clone(&table.name), |alias| alias.text.as_str().into());
        let bound = self.of_index_called(name, expr, table, Clause::IndexPredicate)?;
        self.boolean(bound, expr.at.start, "WHERE")
    }

    fn of_index(&self, expr: &Expr, table: &TableDef, clause: Clause) -> Result<TypedExpr, SqlError> {
        self.of_index_called(Arc::clone(&table.name), expr, table, clause)
    }

    /// The same where the expression calls the table by another name.
    fn of_index_called(
        &self,
        name: Arc<str>,
        expr: &Expr,
        table: &TableDef,
        clause: Clause,
    ) -> Result<TypedExpr, SqlError> {
        let columns = table.columns.iter().map(|column| (Arc::clone(&column.name), column.seen()));
        let scope = Scope::of(Some(name), None, columns.collect());
        let bound = self.expr(expr, &mut Context::new(&scope, clause));
        let bound = bound.map_err(|error| match is_misplaced(&error) {
            true => SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, OF_SYSTEM),
            false => error,
        })?;
        match columns_of(&bound).into_iter().any(|at| table.columns[at].is_virtual) {
            true => Err(SqlError::new("0A000", "indexes on virtual generated columns are not supported")),
            false => Ok(bound),
        }
    }

    /// The expressions and the condition of a table's indexes: each with the hidden column that has its values.
    pub(crate) fn hidden(&self, table: &TableDef) -> Vec<(usize, TypedExpr)> {
        let hidden =
            table.columns.iter().enumerate().filter(|(_, column)| column.is_hidden() && column.generated);
        // What cannot be bound any more serves no query, nor does what may give something else now (G1).
        let bound = hidden.filter_map(|(at, column)| Some((at, self.stored_generation(column, table).ok()?)));
        bound.filter(|(_, value)| is_immutable(value)).collect()
    }

    /// Binds the expression that a generated column has in the catalog, over all columns of its table.
    pub fn stored_generation(&self, column: &ColumnDef, table: &TableDef) -> Result<TypedExpr, SqlError> {
        if let Some(plain) = self.plain_names() {
            return Binder { catalog: &plain, ..self.clone() }.stored_generation(column, table);
        }
        let columns = columns_in_scope(table);
        let text = column.default.as_deref().unwrap_or("NULL");
        // The text was checked when the column was made; positions in it mean nothing to the statement.
        let bound = verso_parser::parse_expression(text).map_err(SqlError::from).and_then(|expr| {
            let binder = self.in_kept_text().of_table(table.oid);
            binder.kept_generation(&expr, &table.name, &columns, (&column.name, &column.ty))
        });
        bound.map_err(|error| SqlError { position: None, ..error })
    }

    /// The generated columns of a table that are stored.
    pub(super) fn generated(&self, table: &TableDef) -> Result<Vec<Generated>, SqlError> {
        let generated =
            table.columns.iter().enumerate().filter(|(_, column)| column.generated && !column.is_virtual);
        let bind = |(at, column): (usize, &ColumnDef)| {
            Ok(Generated { column: at, value: self.stored_generation(column, table)? })
        };
        let mut generated: Vec<Generated> = generated.map(bind).collect::<Result<_, SqlError>>()?;
        // All are computed from the row as it is given: one of an index that reads another one computes that, too (G2).
        let (mut own, plain): (Vec<_>, Vec<_>) =
            generated.into_iter().partition(|one| table.columns[one.column].is_hidden());
        own.iter_mut().for_each(|one| expand(&mut one.value, &plain, 0));
        generated = plain.into_iter().chain(own).collect();
        generated.sort_by_key(|one| one.column);
        if [TriggerEvent::Insert, TriggerEvent::Update]
            .map(|event| triggers_change_rows(table, event))
            .contains(&true)
        {
            // What triggers make of them is not kept.
            let nothing = |(at, column): (usize, &ColumnDef)| Generated {
                column: at,
                value: TypedExpr::null(column.ty.clone()),
            };
            generated.extend(
                table.columns.iter().enumerate().filter(|(_, column)| column.is_virtual).map(nothing),
            );
        }
        Ok(generated)
    }
}

/// The columns of a table, as its generated ones see them.
pub fn columns_in_scope(table: &TableDef) -> Vec<ColumnInScope> {
    let column = |column: &ColumnDef| (Arc::clone(&column.name), column.seen(), column.generated);
    table.columns.iter().map(column).collect()
}

/// The condition that a period is not empty, as SQL text.
pub fn filled_text(period: &str) -> String {
    format!("NOT pg_catalog.isempty({})", verso_types::keyword::quoted(period))
}
