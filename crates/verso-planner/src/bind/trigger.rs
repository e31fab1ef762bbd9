//! WHEN of triggers; NEW and OLD in their functions.

use std::sync::Arc;

use verso_catalog::{TableDef, TriggerDef, TriggerKind};
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{SqlType, Value};

use super::Binder;
use super::context::{Clause, Context};
use super::scope::{Scope, is_hidden};
use super::table_number::{ROW_TABLE, misplaced};
use super::walk::{columns_of, replace_columns};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, Name, QualifiedName};

/// The column of the system that says which table a row is stored in.
const TABLE_NUMBER: &str = "tableoid";

/// Before a row is stored it has none.
const NEW_SYSTEM_COLUMN: &str = "BEFORE trigger's WHEN condition cannot reference NEW system columns";

/// Name and type of each column.
type Columns = Vec<(Arc<str>, SqlType)>;

/// Name and value of each field.
type Fields = Vec<(Arc<str>, TypedExpr)>;

pub(super) fn columns(table: &TableDef) -> Columns {
    table.columns.iter().map(|column| (Arc::clone(&column.name), column.seen())).collect()
}

impl Binder<'_> {
    /// Binds WHEN over the columns of the old row, then those of the new one; `names` are what the trigger calls them.
    pub fn trigger_condition(
        &self,
        expr: &Expr,
        table: &TableDef,
        kind: TriggerKind,
        names: (&str, &str),
    ) -> Result<TypedExpr, SqlError> {
        let own = table.columns.len();
        // Behind the columns of each of the rows the number of its table.
        let mut numbered = columns(table);
        numbered.push((ROW_TABLE.into(), SqlType::Oid));
        let scope = Scope::of(Some(names.0.into()), None, numbered).with_second(names.1);
        let mut cx = Context::new(&scope, Clause::TriggerWhen);
        let bound = self.expr(expr, &mut cx).map_err(|error| {
            let of_new = error.message.starts_with(&format!("column {}.", names.1));
            misplaced(error, |name| match kind.is_before() && of_new {
                true => SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, NEW_SYSTEM_COLUMN),
                false => SqlError::unsupported(format!("the system column \"{name}\" in WHEN of a trigger")),
            })
        })?;
        let mut bound = self.boolean(bound, expr.at.start, "WHEN")?;
        let named = columns_of(&bound);
        replace_columns(&mut bound, &mut |column, ty| match column {
            _ if column == own || column == 2 * own + 1 => {
                TypedExpr::literal(Value::Int8(table.oid.0.into()), SqlType::Oid)
            }
            _ => TypedExpr::column(if column < own { column } else { column - 1 }, ty.clone()),
        });
        // The number of the new row counts as its last column, that of the old one as its first.
        let used: Vec<usize> = named
            .iter()
            .map(|column| match *column {
                column if column == own => 0,
                column if column > own => column - 1,
                column => column,
            })
            .collect();
        let refused = if used.is_empty() {
            None
        } else if !kind.is_row() {
            Some("statement trigger's WHEN condition cannot reference column values")
        } else if kind.has(TriggerKind::INSERT) && used.iter().any(|column| *column < table.columns.len()) {
            Some("INSERT trigger's WHEN condition cannot reference OLD values")
        } else if kind.has(TriggerKind::DELETE) && used.iter().any(|column| *column >= table.columns.len()) {
            Some("DELETE trigger's WHEN condition cannot reference NEW values")
        } else {
            None
        };
        if let Some(text) = refused {
            return Err(SqlError::new("42P17", text).at(expr.at.start));
        }
        if kind.is_before() && named.contains(&(2 * own + 1)) {
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, NEW_SYSTEM_COLUMN).at(expr.at.start));
        }
        // Before the row is whole they have no values.
        let generated = |column: &usize| {
            let new = column.checked_sub(table.columns.len())?;
            table.columns.get(new).filter(|column| column.generated)
        };
        match used.iter().find_map(generated).filter(|_| kind.is_before()) {
            Some(column) => {
                let text = "BEFORE trigger's WHEN condition cannot reference NEW generated columns";
                let detail = format!("Column \"{}\" is a generated column.", column.name);
                Err(SqlError::new("42P17", text).at(expr.at.start).with_detail(detail))
            }
            None => Ok(bound),
        }
    }

    /// The same of what the catalog keeps as text.
    pub fn stored_trigger_condition(
        &self,
        trigger: &TriggerDef,
        table: &TableDef,
    ) -> Result<TypedExpr, SqlError> {
        let text = trigger.condition.as_deref().unwrap_or("true");
        let (old, new) = record_names(trigger);
        // The text was checked when the trigger was made; positions in it mean nothing to the statement.
        let bind = |binder: &Binder<'_>| {
            let binder = binder.in_kept_text();
            verso_parser::parse_expression(text)
                .map_err(SqlError::from)
                .and_then(|expr| binder.trigger_condition(&expr, table, trigger.kind, (&old, &new)))
                .and_then(|condition| binder.expanded(condition, table, 0))
                .and_then(|condition| binder.expanded(condition, table, table.columns.len()))
        };
        let bound = match self.plain_names() {
            None => bind(self),
            // Earlier releases kept names as they were given: what the path of kept texts does not lead to was found along that of
            // whoever writes, and still is.
            Some(plain) => bind(&Binder { catalog: &plain, ..self.clone() }).or_else(|_| bind(self)),
        };
        bound.map_err(|error| SqlError { position: None, ..error })
    }

    /// What a name means as NEW or OLD, or a field of it; none where it is neither.
    pub(super) fn of_record(&self, parts: &[Name]) -> Result<Option<TypedExpr>, SqlError> {
        let Some(first) = parts.first() else { return Ok(None) };
        let Some(record) = self.records.iter().rev().find(|record| *record.name == *first.text) else {
            return self.of_row_variable(parts);
        };
        let parameter = |n: usize, ty: &SqlType| TypedExpr::new(K::Parameter(record.first + n), ty.clone());
        match parts {
            [_] => {
                let shown = record.columns.partition_point(|(name, _)| !is_hidden(name));
                let fields = record.columns[..shown].iter().enumerate().map(|(n, (_, ty))| parameter(n, ty));
                let ty = SqlType::Row(Arc::clone(&record.row));
                let row = TypedExpr::new(K::Row(fields.collect()), ty.clone());
                let is_row = parameter(record.columns.len(), &SqlType::Bool);
                let kind = K::Case { branches: vec![(is_row, row)], otherwise: None };
                Ok(Some(TypedExpr::new(kind, ty)))
            }
            [_, star] if star.text == "*" => self.of_record(&parts[..1]),
            [_, field] => {
                let at = record.columns.iter().position(|(name, _)| **name == *field.text);
                if let (None, TABLE_NUMBER) = (at, field.text.as_str()) {
                    return Ok(Some(TypedExpr::new(K::Parameter(record.table), SqlType::Oid)));
                }
                let at = at.ok_or_else(|| no_field(first, field))?;
                Ok(Some(parameter(at, &record.columns[at].1)))
            }
            _ => Ok(None),
        }
    }

    /// The fields of NEW or OLD, for `NEW.*`.
    pub(super) fn fields_of_record(&self, name: &QualifiedName) -> Option<Fields> {
        let found = self.records.iter().rev().find(|record| *record.name == *name.name.text);
        let Some(record) = found.filter(|_| name.schema.is_none()) else {
            let names: Vec<Name> = name.schema.iter().chain([&name.name]).cloned().collect();
            return self.fields_of_variable(&names);
        };
        let field = |(n, (name, ty)): (usize, &(Arc<str>, SqlType))| {
            (Arc::clone(name), TypedExpr::new(K::Parameter(record.first + n), ty.clone()))
        };
        let shown = record.columns.iter().enumerate().filter(|(_, (name, _))| !is_hidden(name));
        Some(shown.map(field).collect())
    }
}

/// What a trigger calls the old row and the new one.
pub(super) fn record_names(trigger: &TriggerDef) -> (Arc<str>, Arc<str>) {
    let action = trigger.action.as_ref();
    let old = action.and_then(|action| action.old.clone());
    let new = action.and_then(|action| action.new.clone());
    (old.unwrap_or_else(|| "old".into()), new.unwrap_or_else(|| "new".into()))
}

pub(super) fn no_field(record: &Name, field: &Name) -> SqlError {
    let text = format!("record \"{}\" has no field \"{}\"", record.text, field.text);
    SqlError::new(sqlstate::UNDEFINED_COLUMN, text).at(record.at.start)
}
