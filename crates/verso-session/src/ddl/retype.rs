//! What is kept as text and names a column whose type becomes another one: expressions and conditions of indexes, CHECK
//! constraints, expressions of statistics. It is made anew over the column as it is then.
//!
//! 1. The text is that of the definition, in which the casts stand that the old type asked for: of a varchar column `v = 'x'` is
//!    `(v)::text = 'x'::text`. What has no such text is taken as it was given.
//! 2. What does not fit the new type is refused in the words of its binding (42883, 42804), and nothing has happened.
//!
//! Source: PostgreSQL 18, `ATPostAlterTypeCleanup` in `tablecmds.c`.

use std::sync::Arc;

use verso_catalog::{
    CatalogError, ColumnDef, ConstraintDef, ConstraintKind, RenamedTexts, RetypedColumn, StatisticsDef,
    TableDef, guard_text,
};
use verso_exec::plan::TypedExpr;
use verso_parser::syntax::{Expr, Span};
use verso_planner::bind::Binder;
use verso_planner::deparse::{self, Part};
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::key::KeyType;
use verso_types::{CastKind, SqlType};

use super::Schema;
use crate::failure::Failure;

/// What a change of a column's type makes of what names it.
#[derive(Debug, Default)]
pub(super) struct Retyped {
    /// The hidden columns of indexes.
    pub hidden: Vec<RetypedColumn>,
    /// Checks and statistics.
    pub texts: RenamedTexts,
}

/// A table before and after one of its columns has got another type.
struct Change<'c> {
    binder: &'c Binder<'c>,
    was: &'c TableDef,
    now: TableDef,
}

/// Statistics, and the texts of their expressions anew.
type Anew = (verso_catalog::Oid, Vec<Arc<str>>);

impl Schema<'_> {
    /// What a new type of a column makes of what names it.
    pub(super) fn retyped(&self, table: &TableDef, at: usize, ty: &SqlType) -> Result<Retyped, Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let mut now = table.clone();
        now.columns[at].ty = ty.erased();
        now.columns[at].domain = ColumnDef::domain_of(ty);
        let change = Change { binder: &binder, was: table, now };
        let name = &table.columns[at].name;
        let mut found = Retyped::default();
        let default = change.default(&table.columns[at], ty)?;
        found.texts.generated.extend(default.map(|text| (table.columns[at].id, text)));
        for hidden in table.generated_from(name).filter(|column| column.is_hidden()) {
            found.hidden.push(change.hidden(hidden)?);
        }
        for constraint in &table.constraints {
            found.texts.checks.extend(change.check(constraint, name)?);
        }
        let id = table.columns[at].id;
        for statistics in &table.extended {
            if statistics.columns.contains(&id) && KeyType::of(&ty.erased()).is_none() {
                let ty = ty.without_modifiers().pg_name();
                let text = format!(
                    "column \"{name}\" cannot be used in statistics because its type {ty} has no default btree operator class"
                );
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
            }
            found.texts.statistics.extend(change.statistics(statistics, name)?);
        }
        Ok(found)
    }
}

impl Change<'_> {
    /// A text as the catalog keeps it, over the table as it is now, with what it is then. `kept` binds the old text itself, where it has no other.
    fn text(
        &self,
        stored: &str,
        part: Part<'_>,
        bind: impl FnOnce(&Binder<'_>, &Expr) -> Result<TypedExpr, SqlError>,
        kept: impl FnOnce() -> Result<TypedExpr, SqlError>,
    ) -> Result<(Arc<str>, TypedExpr), SqlError> {
        let shown = deparse::over_table(self.binder, stored, self.was, part, false);
        let parsed = shown.and_then(|text| Some((verso_parser::parse_expression(&text).ok()?, text)));
        let nowhere = |error: SqlError| SqlError { position: None, ..error };
        let Some((expr, text)) = parsed else { return Ok((stored.into(), kept().map_err(nowhere)?)) };
        // It stands at the beginning of its text, parentheses included.
        let whole = Expr { at: Span { start: 0, ..expr.at }, ..expr.clone() };
        let bound = self.binder.kept_text(&whole, &text, |binder| bind(binder, &expr));
        let (text, bound) = bound.map_err(nowhere)?;
        Ok((text.into(), bound))
    }

    /// A hidden column: the expression of an index's part, or its condition.
    fn hidden(&self, column: &ColumnDef) -> Result<RetypedColumn, Failure> {
        let stored = column.default.as_deref().unwrap_or_default();
        let now = &self.now;
        if now.all_indexes().any(|index| index.guard == Some(column.id)) {
            let (text, bound) = self.text(
                stored,
                Part::Guard,
                |binder, expr| binder.index_predicate(expr, now),
                || self.binder.stored_generation(column, now),
            )?;
            let text = if *text == *stored { text } else { guard_text(&text).into() };
            return Ok(RetypedColumn { id: column.id, ty: bound.ty, text });
        }
        let (text, bound) = self.text(
            stored,
            Part::Expression,
            |binder, expr| binder.index_expression(expr, now),
            || self.binder.kept_index_expression(&verso_parser::parse_expression(stored)?, now),
        )?;
        let parts = now.all_indexes().flat_map(|index| &index.parts);
        for part in parts.filter(|part| part.column == column.id) {
            if part.class.key_type(&bound.ty).is_none() {
                let ty = bound.ty.without_modifiers().pg_name();
                return Err(CatalogError::NoOrder { ty }.into());
            }
        }
        Ok(RetypedColumn { id: column.id, ty: bound.ty, text })
    }

    /// Refuses a type that the default of the column does not become by an assignment. A literal, which had its type from the
    /// column, keeps that: its text from then on.
    fn default(&self, column: &ColumnDef, ty: &SqlType) -> Result<Option<Arc<str>>, SqlError> {
        let Some(stored) = column.default.as_deref().filter(|_| !column.generated) else { return Ok(None) };
        let written = self.binder.written_default_type(stored)?;
        let is_literal = written == SqlType::Unknown;
        let own = if is_literal { column.seen() } else { written };
        let fits = verso_types::cast_kind(&own, ty).is_some_and(|kind| kind <= CastKind::Assignment);
        if !fits && own.erased() != ty.erased() {
            let (name, ty) = (&column.name, ty.without_modifiers().pg_name());
            let text = format!("default for column \"{name}\" cannot be cast automatically to type {ty}");
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
        }
        if !is_literal || own.erased() == ty.erased() {
            return Ok(None);
        }
        let (text, _) = self.text(
            stored,
            Part::Value(&column.ty),
            |binder, expr| binder.default_value(expr, &column.name, ty),
            || self.binder.stored_default(column),
        )?;
        Ok(Some(text))
    }

    /// A constraint, where it is a CHECK that names the column.
    fn check(
        &self,
        constraint: &ConstraintDef,
        column: &str,
    ) -> Result<Option<(verso_catalog::Oid, Arc<str>)>, SqlError> {
        let ConstraintKind::Check { expression } = &constraint.kind else { return Ok(None) };
        if !verso_parser::names(expression, column) {
            return Ok(None);
        }
        let now = &self.now;
        let columns: Vec<_> =
            now.columns.iter().map(|column| (Arc::clone(&column.name), column.seen())).collect();
        let (text, _) = self.text(
            expression,
            Part::Value(&SqlType::Bool),
            |binder, expr| binder.condition(expr, &now.name, &columns),
            || self.binder.stored_condition(expression, now),
        )?;
        Ok(Some((constraint.oid, text)))
    }

    /// The expressions of statistics, where some name the column.
    fn statistics(&self, statistics: &StatisticsDef, column: &str) -> Result<Option<Anew>, SqlError> {
        let all = &statistics.expressions;
        if !all.iter().any(|text| verso_parser::names(text, column)) {
            return Ok(None);
        }
        let is_several = statistics.columns.len() + all.len() > 1;
        let mut texts = Vec::with_capacity(all.len());
        for stored in all {
            if !verso_parser::names(stored, column) {
                texts.push(Arc::clone(stored));
                continue;
            }
            let (text, bound) = self.text(
                stored,
                Part::Expression,
                |binder, expr| binder.statistics_expression(expr, &self.now),
                || self.binder.kept_statistics_expression(stored, &self.now),
            )?;
            super::statistics::check_type(&bound.ty, is_several)?;
            texts.push(text);
        }
        Ok(Some((statistics.oid, texts)))
    }
}
