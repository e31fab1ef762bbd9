//! `json_populate_record` and its relatives: a row, with the values of a JSON object in place of its own.
//!
//! A row without a name has the fields `f1`, `f2`, …. Where the query lists the columns, a NULL of type `record` becomes a row of
//! them ([`with_definitions`]); a row that is there must be of their number and types.

use std::sync::Arc;

use verso_types::sqltype::RowType;
use verso_types::text::type_of;
use verso_types::{SqlType, TypeError, Value};

use super::expand::{in_columns, objects, row_value, text_form};
use super::json_function;
use super::types::{JSON, JSONB};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::functions::collected::{Rows, rows};
use crate::functions::define::unexpected;
use crate::functions::{ArgType, Body, BuiltinFunction, ResultType};
use crate::memory::room_to_read;
use crate::plpgsql::{check_fields, check_row};

const ROW: ArgType = ArgType::AnyElement;
const SAME: ResultType = ResultType::SameAs(0);

/// The type of the row that is the first argument.
fn composite(name: &str, types: &[SqlType], base: &Value) -> Result<Arc<RowType>> {
    match (types.first(), base) {
        (Some(SqlType::Row(row)), base) if row.of.is_some() || !base.is_null() => Ok(Arc::clone(row)),
        (Some(SqlType::Record), Value::Record(values)) => Ok(Arc::new(own_type(values))),
        (Some(SqlType::Record | SqlType::Row(_) | SqlType::Unknown), _) => {
            let text = format!("could not determine row type for result of {name}");
            let hint = "Provide a non-null record argument, or call the function in the FROM clause using a column \
                        definition list.";
            Err(TypeError::new("0A000", text).with_hint(hint).into())
        }
        _ => Err(TypeError::new("42804", format!("first argument of {name} must be a row type")).into()),
    }
}

/// The type of a row of which no more is known than its values.
fn own_type(values: &[Value]) -> RowType {
    let field = |(value, n): (&Value, u32)| {
        let ty = match type_of(value) {
            SqlType::Unknown => SqlType::Text,
            ty => ty,
        };
        (format!("f{n}").into(), ty)
    };
    RowType::unnamed(values.iter().zip(1u32..).map(field).collect())
}

fn name_of(types: &[SqlType], json: &'static str, jsonb: &'static str) -> &'static str {
    if matches!(types.get(1), Some(SqlType::Jsonb)) { jsonb } else { json }
}

fn record_name(types: &[SqlType]) -> &'static str {
    name_of(types, "json_populate_record", "jsonb_populate_record")
}

fn recordset_name(types: &[SqlType]) -> &'static str {
    name_of(types, "json_populate_recordset", "jsonb_populate_recordset")
}

fn record(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let [base, from, ..] = args else { return Err(unexpected("json_populate_record", args)) };
    let row = composite(record_name(types), types, base)?;
    match from {
        Value::Null => Ok(base.clone()),
        from => row_value(&text_form(from), &row, base, cx.services.time_zone),
    }
}

/// Whether an object is fit for the fields of a row: what `json_populate_record` does not fail of.
fn record_valid(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let [base, from] = args else { return Err(unexpected("jsonb_populate_record_valid", args)) };
    let row = composite(record_name(types), types, base)?;
    if from.is_null() {
        // A row is given back as it is.
        return Ok(if base.is_null() { Value::Null } else { Value::Bool(true) });
    }
    match row_value(&text_form(from), &row, base, cx.services.time_zone) {
        Ok(_) => Ok(Value::Bool(true)),
        Err(ExecError::Type(error)) if error.sqlstate.starts_with("22") => Ok(Value::Bool(false)),
        Err(error) => Err(error),
    }
}

fn recordset(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType], columns: &[SqlType]) -> Result<Rows> {
    let [base, from, ..] = args else { return Err(unexpected("json_populate_recordset", args)) };
    let row = composite(recordset_name(types), types, base)?;
    // In a list of SELECT each row is one value.
    let whole = match columns {
        [SqlType::Record] => true,
        [SqlType::Row(wanted)] => **wanted == *row,
        _ => false,
    };
    records(cx, from, types, (&row, base), if whole { &[] } else { columns })
}

/// A row for each object of an array, for these columns.
fn records(
    cx: &EvalContext<'_>,
    from: &Value,
    types: &[SqlType],
    (row, base): (&RowType, &Value),
    columns: &[SqlType],
) -> Result<Rows> {
    if from.is_null() {
        return rows(cx, std::iter::empty());
    }
    let text = text_form(from);
    let _room = room_to_read(cx.services.memory.account, &text, &SqlType::Jsonb)?;
    let objects = objects(&text, from, recordset_name(types))?;
    let one =
        |object: Result<&str>| Ok(in_columns(row_value(object?, row, base, cx.services.time_zone)?, columns));
    rows(cx, objects.map(one))
}

/// The row that the query's definitions want, or the row that is there has: then of their types.
fn defined_row(
    base: &Value,
    types: &[SqlType],
    names: &[Value],
    columns: &[SqlType],
) -> Result<Arc<RowType>> {
    match (base, types.first()) {
        (Value::Record(_), Some(SqlType::Row(row))) => {
            let given: Vec<SqlType> = row.fields.iter().map(|(_, ty)| ty.clone()).collect();
            check_fields(&given, columns)?;
            Ok(Arc::clone(row))
        }
        (Value::Record(values), _) => {
            check_row(values, columns)?;
            Ok(Arc::new(own_type(values)))
        }
        _ => {
            let field =
                |(name, ty): (&Value, &SqlType)| (name.as_str().unwrap_or_default().into(), ty.clone());
            Ok(Arc::new(RowType::unnamed(names.iter().zip(columns).map(field).collect())))
        }
    }
}

/// `json_populate_record(row, json) AS t(a int, …)`: the names of the columns are the last argument.
fn defined_record(
    cx: &EvalContext<'_>,
    args: &[Value],
    types: &[SqlType],
    columns: &[SqlType],
) -> Result<Rows> {
    let [base, from, Value::Array(names)] = args else {
        return Err(unexpected("json_populate_record", args));
    };
    let row = defined_row(base, types, names, columns)?;
    let record = match from {
        Value::Null => base.clone(),
        from => row_value(&text_form(from), &row, base, cx.services.time_zone)?,
    };
    rows(cx, std::iter::once(Ok(in_columns(record, columns))))
}

fn defined_recordset(
    cx: &EvalContext<'_>,
    args: &[Value],
    types: &[SqlType],
    columns: &[SqlType],
) -> Result<Rows> {
    let [base, from, Value::Array(names)] = args else {
        return Err(unexpected("json_populate_recordset", args));
    };
    let row = defined_row(base, types, names, columns)?;
    records(cx, from, types, (&row, base), columns)
}

const NAMES: ArgType = ArgType::ArrayOf(SqlType::Text);
const RECORDS: ResultType = ResultType::Fixed(SqlType::Record);

static DEFINED: [BuiltinFunction; 4] = [
    json_function!("json_populate_record" [ROW, JSON, NAMES] => RECORDS, variadic false, strict false,
        Body::TypedSet(defined_record)),
    json_function!("jsonb_populate_record" [ROW, JSONB, NAMES] => RECORDS, variadic false, strict false,
        Body::TypedSet(defined_record)),
    json_function!("json_populate_recordset" [ROW, JSON, NAMES] => RECORDS, variadic false, strict false,
        Body::TypedSet(defined_recordset)),
    json_function!("jsonb_populate_recordset" [ROW, JSONB, NAMES] => RECORDS, variadic false, strict false,
        Body::TypedSet(defined_recordset)),
];

/// The function that stands for one of this name where the query lists the columns: their names are one more argument.
#[must_use]
pub fn with_definitions(name: &str) -> Option<&'static BuiltinFunction> {
    DEFINED.iter().find(|function| function.name == name)
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = &[
    json_function!("json_populate_record" [ROW, JSON] => SAME, variadic false, strict false, Body::Typed(record)),
    json_function!("jsonb_populate_record" [ROW, JSONB] => SAME, variadic false, strict false, Body::Typed(record)),
    // What the third argument asks for PostgreSQL has given up.
    json_function!("json_populate_record" [ROW, JSON, ArgType::Exact(SqlType::Bool)] => SAME, variadic false,
        strict false, Body::Typed(record)),
    json_function!("json_populate_recordset" [ROW, JSON, ArgType::Exact(SqlType::Bool)] => SAME, variadic false,
        strict false, Body::TypedSet(recordset)),
    json_function!("jsonb_populate_record_valid" [ROW, JSONB] => ResultType::Fixed(SqlType::Bool), variadic false,
        strict false, Body::Typed(record_valid)),
    json_function!("json_populate_recordset" [ROW, JSON] => SAME, variadic false, strict false,
        Body::TypedSet(recordset)),
    json_function!("jsonb_populate_recordset" [ROW, JSONB] => SAME, variadic false, strict false,
        Body::TypedSet(recordset)),
];
