//! Variables of PL/pgSQL that are rows: their fields.

use std::sync::Arc;

use verso_exec::functions::records::FIELD;
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{RowType, SqlType, Value};

use super::Binder;
use super::plpgsql::not_assigned;
use super::scope::Variable;
use super::trace::Source;
use super::trigger::no_field;
use crate::errors::SqlError;
use verso_parser::syntax::{Name, PlConflict};

/// Names and values of fields.
type Fields = Vec<(Arc<str>, TypedExpr)>;

impl Binder<'_> {
    /// The variable that the first names mean, and the names behind them.
    pub(super) fn variable_of<'n>(&self, names: &'n [Name]) -> Option<(&Variable, &'n [Name])> {
        let plain = |name: &Name| self.variables.iter().rev().find(|known| *known.name == *name.text);
        let in_block = |block: &Name, name: &Name| {
            let own = |known: &&Variable| *known.block == *block.text && *known.name == *name.text;
            self.variables.iter().rev().find(own)
        };
        match names {
            [name, rest @ ..] if let Some(found) = plain(name) => Some((found, rest)),
            [block, name, rest @ ..] => Some((in_block(block, name)?, rest)),
            _ => None,
        }
    }

    /// What a name means as a field of a variable, or as the whole of it (`r.*`); none where it is no such thing.
    pub(super) fn of_row_variable(&self, names: &[Name]) -> Result<Option<TypedExpr>, SqlError> {
        let Some((variable, rest)) = self.variable_of(names) else { return Ok(None) };
        let Some(last) = rest.last() else { return Ok(None) };
        let record = &names[names.len() - rest.len() - 1];
        let mut value = TypedExpr::new(K::Parameter(variable.slot), variable.ty.erased());
        let has_fields = matches!(&value.ty, SqlType::Row(row) if !row.fields.is_empty());
        if rest.len() == 1 && last.text == "*" && has_fields {
            if let (Some(trace), Some(first)) = (self.traced, names.first()) {
                trace.column(first.at.start, Source::Variable(variable.slot));
            }
            return Ok(Some(value));
        }
        let mut fields = Vec::new();
        for name in rest {
            fields.push(self.field_today(&value.ty, &name.text).into());
            value = match value.ty.clone() {
                SqlType::Record => return Err(not_assigned(&record.text)),
                SqlType::Row(row) if row.fields.is_empty() => return Err(not_assigned(&record.text)),
                SqlType::Row(row) => self.field_of(value, &row, record, name)?,
                _ => return Ok(None),
            };
        }
        if let (Some(trace), Some(first)) = (self.traced, names.first()) {
            trace.column(first.at.start, Source::Fields(variable.slot, fields));
        }
        Ok(Some(value))
    }

    /// Whether this names a part of an argument of a function in SQL: such a row may be in front of a function.
    pub(super) fn is_sql_variable(&self, names: &[Name]) -> bool {
        let is_record =
            names.first().is_some_and(|first| self.records.iter().any(|record| *record.name == *first.text));
        let variable = self.variable_of(names);
        !is_record
            && variable.is_some_and(|(known, rest)| rest.len() == 1 && known.conflict == PlConflict::Column)
    }

    /// The fields of a variable, for `r.*`.
    pub(super) fn fields_of_variable(&self, names: &[Name]) -> Option<Fields> {
        let (variable, []) = self.variable_of(names)? else { return None };
        let ty = variable.ty.erased();
        let SqlType::Row(row) = &ty else { return None };
        if row.fields.is_empty() {
            return None;
        }
        (0..row.fields.len()).for_each(|at| self.note_field(row, at));
        let value = |(n, (name, _)): (usize, &(Arc<str>, SqlType))| {
            let whole = TypedExpr::new(K::Parameter(variable.slot), ty.clone());
            (Arc::clone(name), self.nth(whole, row, n))
        };
        let mut fields: Fields = row.fields.iter().enumerate().map(value).collect();
        if let Some(then) = self.fields_then(row) {
            fields = then.into_iter().map(|(at, name)| (name, fields[at].1.clone())).collect();
        }
        Some(fields)
    }

    /// Notes what the star of `r.*` at a place stands for.
    pub(super) fn trace_variable(&self, names: &[Name], fields: &Fields, place: u32) {
        let (Some(trace), Some((variable, []))) = (self.traced, self.variable_of(names)) else { return };
        trace.column(place, Source::Variable(variable.slot));
        let row = TypedExpr::new(K::Parameter(variable.slot), variable.ty.erased());
        self.trace_fields(&row, fields, place);
    }

    fn field_of(
        &self,
        value: TypedExpr,
        row: &RowType,
        record: &Name,
        name: &Name,
    ) -> Result<TypedExpr, SqlError> {
        let at = self.field_place(row, &name.text);
        let at = at.ok_or_else(|| no_field(record, name))?;
        self.note_field(row, at);
        Ok(self.nth(value, row, at))
    }

    /// A field of a row, with the collation of the column that it is of a relation's row.
    fn nth(&self, value: TypedExpr, row: &RowType, n: usize) -> TypedExpr {
        // A row has fewer columns than that.
        let index = TypedExpr::literal(Value::Int4(n as i32), SqlType::Int4);
        let call = K::Call { function: &FIELD, args: vec![value, index] };
        TypedExpr {
            collation: self.collation_of_field(row, n),
            ..TypedExpr::new(call, row.fields[n].1.clone())
        }
    }
}
