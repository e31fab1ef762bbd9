//! Functions and operators of `json` and `jsonb`.
//!
//! | module | what it is |
//! |---|---|
//! | [`encode`] | values of any type as JSON: `to_json`, `row_to_json`, builders, what aggregates end with |
//! | [`access`], [`kernels`] | `->`, `#>`, subscripts, lengths, types, `@>`, `?`; some of them over columns |
//! | [`change`] | `||`, `-`, `#-`, `jsonb_set` and its relatives |
//! | [`expand`] | functions that yield rows |
//! | [`filled`] | arrays from JSON arrays |
//! | [`construct`] | what `JSON_OBJECT(…)`, `JSON_ARRAY(…)`, `JSON(…)` are made of |
//! | [`query`] | `JSON_VALUE(…)` and its relatives |
//! | [`path`], [`path_eval`], [`path_methods`] | the path language |
//!
//! A `json` is its text, read again by each function, as in PostgreSQL; a `jsonb` is looked into in its binary form.

mod access;
mod change;
mod construct;
mod encode;
mod expand;
mod filled;
mod kernels;
mod path;
mod path_eval;
mod path_methods;
mod populate;
mod query;
mod table;

pub use access::{IS_JSON, SUBSCRIPT};
pub use change::SET_SUBSCRIPT;
pub use construct::{
    BYTES_AS_TEXT, JSON_ARRAY, JSON_OBJECT, JSON_UNIQUE, JSONB_ARRAY, JSONB_OBJECT, TEXT_AS_BYTES,
};
pub use populate::with_definitions;
pub(crate) use query::{Form, Found, Variables, is_about_value};
pub use table::JSON_TABLE;

use verso_types::json::{JsonRef, Jsonb, Node};
use verso_types::{TypeError, Value, json};

use super::BuiltinFunction;
use crate::error::{ExecError, Result};

/// A strict, immutable function.
macro_rules! json_function {
    ($name:literal $(($op:literal))? [$($arg:expr),*] => $result:expr, $f:expr) => {
        json_function!($name $(($op))? [$($arg),*] => $result, variadic false, strict true, $crate::functions::Body::Scalar($f))
    };
    ($name:literal ($op:literal) [$($arg:expr),*] => $result:expr, $f:expr, $kernel:expr) => {
        $crate::functions::BuiltinFunction {
            kernel: Some($kernel),
            ..json_function!($name ($op) [$($arg),*] => $result, $f)
        }
    };
    ($name:literal $(($op:literal))? [$($arg:expr),*] => $result:expr, variadic $variadic:literal, strict $strict:literal, $body:expr) => {
        $crate::functions::BuiltinFunction {
            name: $name,
            operator: $crate::functions::define::optional!($($op)?),
            args: &[$($arg),*],
            variadic: $variadic,
            result: $result,
            strict: $strict,
            volatility: $crate::functions::Volatility::Immutable,
            body: $body,
            kernel: None,
        }
    };
}

use json_function;

/// Short names of the types that most of these functions have.
mod types {
    use verso_types::SqlType;

    use crate::functions::{ArgType, ResultType};

    pub const JSON: ArgType = ArgType::Exact(SqlType::Json);
    pub const JSONB: ArgType = ArgType::Exact(SqlType::Jsonb);
    pub const TEXT: ArgType = ArgType::Exact(SqlType::Text);
    pub const TEXTS: ArgType = ArgType::ArrayOf(SqlType::Text);
    pub const INT4: ArgType = ArgType::Exact(SqlType::Int4);
    pub const BOOL: ArgType = ArgType::Exact(SqlType::Bool);
    pub const AS_JSON: ResultType = ResultType::Fixed(SqlType::Json);
    pub const AS_JSONB: ResultType = ResultType::Fixed(SqlType::Jsonb);
    pub const AS_TEXT: ResultType = ResultType::Fixed(SqlType::Text);
    pub const AS_INT4: ResultType = ResultType::Fixed(SqlType::Int4);
    pub const AS_BOOL: ResultType = ResultType::Fixed(SqlType::Bool);
}

/// A jsonb from its binary form.
fn jsonb(bytes: &[u8]) -> Value {
    Value::Jsonb(Jsonb::from_bytes(bytes))
}

/// A jsonb from a tree.
fn encoded(node: Node) -> Result<Value> {
    Ok(Value::Jsonb(node.encode()?))
}

/// The text of a value as `->>` gives it: a string without its quotes, none of null. What is no string is written into `room`.
fn shown<'a>(bytes: &'a [u8], room: &'a mut String) -> Option<&'a str> {
    match JsonRef::read(bytes) {
        JsonRef::Null => None,
        JsonRef::String(text) => Some(text),
        value => {
            room.clear();
            json::format_into(value, room);
            Some(room)
        }
    }
}

/// The same as a value; null is NULL.
fn as_text(bytes: &[u8]) -> Value {
    shown(bytes, &mut String::new()).map_or(Value::Null, Value::text)
}

/// The same of a json text.
fn text_of(source: &str) -> Result<Value> {
    let mut scanner = json::Scanner::new(source, false);
    scanner.advance()?;
    Ok(match source.trim_start().as_bytes().first() {
        Some(b'"') => Value::Text(scanner.string()?.into()),
        Some(b'n') => Value::Null,
        _ => Value::text(source),
    })
}

/// The texts of a text array that is not NULL; none for a NULL element.
fn texts(array: &[Value]) -> Vec<Option<&str>> {
    array.iter().map(Value::as_str).collect()
}

/// 22023.
#[cold]
fn invalid(text: impl Into<String>) -> ExecError {
    TypeError::new("22023", text).into()
}

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 7] = [
    encode::FUNCTIONS,
    access::FUNCTIONS,
    change::FUNCTIONS,
    expand::FUNCTIONS,
    populate::FUNCTIONS,
    path::FUNCTIONS,
    path::OPERATORS,
];
