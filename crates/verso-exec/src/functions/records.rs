//! Rows as values: their fields.

use verso_types::{SqlType, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// `(row).field`: a row and the number of the field, from 0. The binder writes it, and knows the type.
pub static FIELD: BuiltinFunction = BuiltinFunction {
    name: "",
    operator: Some("."),
    args: &[ArgType::Exact(SqlType::Record), ArgType::Exact(SqlType::Int4)],
    variadic: false,
    result: ResultType::Fixed(SqlType::Text),
    strict: true,
    volatility: Volatility::Immutable,
    body: Body::Scalar(field),
    kernel: None,
};

/// `row.field = value`: a row, the value, the number of the field, from 0, and how many there are. A NULL becomes a row.
pub static SET_FIELD: BuiltinFunction = BuiltinFunction {
    name: "",
    operator: Some(".="),
    args: &[
        ArgType::Exact(SqlType::Record),
        ArgType::Any,
        ArgType::Exact(SqlType::Int4),
        ArgType::Exact(SqlType::Int4),
    ],
    variadic: false,
    result: ResultType::SameAs(0),
    strict: false,
    volatility: Volatility::Immutable,
    body: Body::Scalar(set_field),
    kernel: None,
};

fn set_field(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [row, value, Value::Int4(index), Value::Int4(count)] = args else {
        return Err(unexpected("a field to store to", args));
    };
    let mut values = match row {
        Value::Record(values) => values.to_vec(),
        _ => vec![Value::Null; usize::try_from(*count).unwrap_or(0)],
    };
    if let Some(field) = usize::try_from(*index).ok().and_then(|index| values.get_mut(index)) {
        field.clone_from(value);
    }
    Ok(Value::Record(values.into()))
}

fn field(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Record(values), Value::Int4(index)] = args else { return Err(unexpected("a field", args)) };
    let index = usize::try_from(*index).unwrap_or(usize::MAX);
    Ok(values.get(index).cloned().unwrap_or(Value::Null))
}
