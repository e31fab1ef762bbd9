//! What rows have beside their columns: who has written them, where they are; as operators whose names nobody can write.

use verso_storage::RecordId;
use verso_types::opaque::tid::Tid;
use verso_types::{SqlType, SystemType, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::plan::PLACE;

const PLACED: &[ArgType] = &[ArgType::Exact(SqlType::Int8), ArgType::Exact(SqlType::Int8)];

/// The record whose place in a table is this number.
fn record(place: i64) -> RecordId {
    let place = place.cast_unsigned();
    RecordId { page_index: (place >> 16) as u32, slot: place as u16 }
}

fn writer(cx: &EvalContext<'_>, args: &[Value]) -> Result<Option<u64>> {
    match args {
        [Value::Int8(table), Value::Int8(place)] => cx.runtime.writer_of(*table as u32, record(*place)),
        [_, Value::Null] => Ok(None),
        _ => Err(unexpected("_xid", args)),
    }
}

/// The number of the statement's own transaction.
fn own(cx: &EvalContext<'_>) -> Result<u64> {
    Ok(cx.runtime.transaction_id(true)?.unwrap_or_default())
}

/// The whole number of a transaction.
fn whole(id: u64) -> Value {
    Value::Int8(id.cast_signed())
}

/// What `xid` has of it.
fn half(id: u64) -> Value {
    Value::Int8(i64::from(id as u32))
}

const fn operator(
    name: &'static str,
    args: &'static [ArgType],
    result: SqlType,
    volatility: Volatility,
    body: fn(&EvalContext<'_>, &[Value]) -> Result<Value>,
) -> BuiltinFunction {
    BuiltinFunction {
        name: "",
        operator: Some(name),
        args,
        variadic: false,
        result: ResultType::Fixed(result),
        strict: false,
        volatility,
        body: Body::Scalar(body),
        kernel: None,
    }
}

/// The tables of this module. Writers are asked for where the place of the row is known, and by the session's own thread: no
/// rewrite moves what is volatile.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [&[
    operator("row writer", PLACED, SqlType::Int8, Volatility::Volatile, |cx, args| {
        Ok(writer(cx, args)?.map_or(Value::Null, whole))
    }),
    operator("row xmin", PLACED, SqlType::System(SystemType::Xid), Volatility::Volatile, |cx, args| {
        Ok(writer(cx, args)?.map_or(Value::Null, half))
    }),
    operator(
        PLACE,
        &[ArgType::Exact(SqlType::Int8)],
        SqlType::System(SystemType::Tid),
        Volatility::Immutable,
        |_, args| match args {
            [Value::Int8(place)] => {
                let RecordId { page_index, slot } = record(*place);
                Ok(Value::Opaque(Tid { page: page_index, slot }.value()))
            }
            [Value::Null] => Ok(Value::Null),
            _ => Err(unexpected("ctid", args)),
        },
    ),
    operator("own writer", &[], SqlType::Int8, Volatility::Volatile, |cx, _| Ok(whole(own(cx)?))),
    operator("own xmin", &[], SqlType::System(SystemType::Xid), Volatility::Volatile, |cx, _| {
        Ok(half(own(cx)?))
    }),
]];
