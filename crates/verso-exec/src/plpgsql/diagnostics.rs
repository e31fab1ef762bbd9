//! GET DIAGNOSTICS: how many rows the last statement had, and what the error that is handled says.

use verso_types::{SqlType, Value};

use super::frame::Frame;
use super::site::context_of;
use crate::context::Described;
use crate::error::{ExecError, Result};
use crate::exec::ExecContext;
use crate::plan::{PlDiagnostic as Item, PlPlace};

/// Assigns the items, in order.
pub(super) fn diagnose(items: &[(Item, PlPlace)], cx: &ExecContext<'_>, frame: &mut Frame) -> Result<()> {
    for (item, place) in items {
        let (value, ty) = match item {
            Item::RowCount => (Value::Int8(frame.row_count), SqlType::Int8),
            Item::Context => {
                let text = context_of(cx).unwrap_or_default();
                (Value::text(&text), SqlType::Text)
            }
            Item::RoutineOid => (Value::Int8(frame.function.oid.into()), SqlType::Oid),
            item => (Value::text(&of_error(*item, cx, frame)?), SqlType::Text),
        };
        frame.put(cx, place, value, &ty)?;
    }
    Ok(())
}

/// What the error says whose handler runs; an empty text where it says nothing.
fn of_error(item: Item, cx: &ExecContext<'_>, frame: &Frame) -> Result<String> {
    let Some(error) = frame.handled.last() else {
        let text = "GET STACKED DIAGNOSTICS cannot be used outside an exception handler";
        return Err(ExecError::raised("0Z002", text));
    };
    let Described { sqlstate, message, detail, hint, context, column, constraint, datatype, table, schema } =
        cx.services.binding.describe_error(error);
    Ok(match item {
        Item::ReturnedSqlstate => sqlstate.to_string(),
        Item::MessageText => message,
        Item::Detail => detail.unwrap_or_default(),
        Item::Hint => hint.unwrap_or_default(),
        Item::ExceptionContext => context.unwrap_or_default(),
        Item::ColumnName => column.unwrap_or_default(),
        Item::ConstraintName => constraint.unwrap_or_default(),
        Item::DatatypeName => datatype.unwrap_or_default(),
        Item::TableName => table.unwrap_or_default(),
        Item::SchemaName => schema.unwrap_or_default(),
        Item::RowCount | Item::Context | Item::RoutineOid => String::new(),
    })
}
