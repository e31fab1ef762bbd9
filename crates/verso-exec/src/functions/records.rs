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

fn field(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Record(values), Value::Int4(index)] = args else { return Err(unexpected("a field", args)) };
    let index = usize::try_from(*index).unwrap_or(usize::MAX);
    Ok(values.get(index).cloned().unwrap_or(Value::Null))
}
