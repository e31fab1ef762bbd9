//! Which transaction has written a row (`_xid`); as an operator whose name nobody can write.

use verso_storage::RecordId;
use verso_types::{SqlType, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [&[BuiltinFunction {
    name: "",
    operator: Some("row writer"),
    args: &[ArgType::Exact(SqlType::Int8), ArgType::Exact(SqlType::Int8)],
    variadic: false,
    result: ResultType::Fixed(SqlType::Int8),
    strict: false,
    // Asked where the place of the row is known, and by the session's own thread: no rewrite moves it.
    volatility: Volatility::Volatile,
    body: Body::Scalar(|cx, args| match args {
        [Value::Int8(table), Value::Int8(place)] => {
            let place = place.cast_unsigned();
            let record = RecordId { page_index: (place >> 16) as u32, slot: place as u16 };
            let writer = cx.runtime.writer_of(*table as u32, record)?;
            Ok(writer.map_or(Value::Null, |writer| Value::Int8(writer.cast_signed())))
        }
        [_, Value::Null] => Ok(Value::Null),
        _ => Err(unexpected("_xid", args)),
    }),
    kernel: None,
}]];
