//! `json_populate_record` and its relatives: a row, with the values of a JSON object in place of its own.

use verso_types::sqltype::RowType;
use verso_types::{SqlType, TimeStyle, TypeError, Value, json};

use super::expand::{column_value, text_form};
use super::types::{JSON, JSONB};
use super::{invalid, json_function};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::collected::{Rows, rows};
use crate::functions::define::unexpected;
use crate::functions::{ArgType, Body, BuiltinFunction, ResultType};

const ROW: ArgType = ArgType::AnyElement;
const SAME: ResultType = ResultType::SameAs(0);

/// The composite type of the first argument.
fn composite<'t>(name: &str, types: &'t [SqlType]) -> Result<&'t RowType> {
    match types.first() {
        Some(SqlType::Row(row)) => Ok(row),
        _ => {
            let record = types.first().is_some_and(|ty| matches!(ty, SqlType::Record | SqlType::Unknown));
            Err(match record {
                true => {
                    let text = format!("could not determine row type for result of {name}");
                    TypeError::new("0A000", text).with_hint(
                        "Provide a non-null record argument, or call the function in the FROM clause using a column \
                         definition list.",
                    )
                }
                false => TypeError::new("42804", format!("first argument of {name} must be a row type")),
            }
            .into())
        }
    }
}

/// The row that `base` becomes by an object.
fn populated(raw: &str, row: &RowType, base: &Value, tz: &TimeStyle) -> Result<Value> {
    let Some(found) = json::fields(raw)? else {
        let what = if json::elements(raw)?.is_some() { "an array" } else { "a scalar" };
        return Err(invalid(format!("cannot call populate_composite on {what}")));
    };
    let own = match base {
        Value::Record(values) => &values[..],
        _ => &[],
    };
    let value = |(at, (name, ty)): (usize, &(std::sync::Arc<str>, SqlType))| match found
        .iter()
        .rev()
        .find(|(key, _)| **key == **name)
    {
        Some((_, raw)) => column_value(raw, ty, tz),
        None => Ok(own.get(at).cloned().unwrap_or(Value::Null)),
    };
    Ok(Value::Record(row.fields.iter().enumerate().map(value).collect::<Result<Vec<_>>>()?.into()))
}

fn record(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let [base, from] = args else { return Err(unexpected("json_populate_record", args)) };
    let name = match types.get(1) {
        Some(SqlType::Jsonb) => "jsonb_populate_record",
        _ => "json_populate_record",
    };
    let row = composite(name, types)?;
    match from {
        Value::Null => Ok(base.clone()),
        from => populated(&text_form(from), row, base, cx.services.time_zone),
    }
}

fn recordset(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType], _: &[SqlType]) -> Result<Rows> {
    let [base, from] = args else { return Err(unexpected("json_populate_recordset", args)) };
    let name =
        if matches!(from, Value::Jsonb(_)) { "jsonb_populate_recordset" } else { "json_populate_recordset" };
    let row = composite(name, types)?;
    if from.is_null() {
        return rows(cx, std::iter::empty());
    }
    let text = text_form(from);
    let Some(elements) = json::elements(&text)? else {
        return Err(invalid(format!("cannot call {name} on a non-array")));
    };
    let mut records = Vec::with_capacity(elements.len());
    for element in elements {
        if !element.trim_start().starts_with('{') {
            return Err(invalid(format!("argument of {name} must be an array of objects")));
        }
        let record = populated(element, row, base, cx.services.time_zone)?;
        records.push(match record {
            Value::Record(values) if values.len() == 1 => values.first().cloned().unwrap_or(Value::Null),
            record => record,
        });
    }
    rows(cx, records.into_iter().map(Ok))
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = &[
    json_function!("json_populate_record" [ROW, JSON] => SAME, variadic false, strict false, Body::Typed(record)),
    json_function!("jsonb_populate_record" [ROW, JSONB] => SAME, variadic false, strict false, Body::Typed(record)),
    json_function!("json_populate_recordset" [ROW, JSON] => SAME, variadic false, strict false,
        Body::TypedSet(recordset)),
    json_function!("jsonb_populate_recordset" [ROW, JSONB] => SAME, variadic false, strict false,
        Body::TypedSet(recordset)),
];
