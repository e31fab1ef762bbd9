//! Functions behind aggregates and operator classes that applications call or name: the larger and the smaller of two
//! values, the order of two values as a number, LIKE as a function.

use verso_types::{SqlType, SystemType, TypeError, Value, cmp_sql};

use super::comparison::order_of;
use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;
use crate::expr::like::{LikePattern, Work};

pub(crate) fn chosen(args: &[Value], types: &[SqlType], larger: bool) -> Result<Value> {
    let [a, b] = args else { return Err(unexpected("a function of two values", args)) };
    let first = match ordered(types)(a, b) {
        std::cmp::Ordering::Greater => larger,
        std::cmp::Ordering::Less => !larger,
        std::cmp::Ordering::Equal => false,
    };
    Ok(if first { a.clone() } else { b.clone() })
}

/// How the first argument's type is ordered.
fn ordered(types: &[SqlType]) -> fn(&Value, &Value) -> std::cmp::Ordering {
    types.first().map_or(cmp_sql as fn(&Value, &Value) -> std::cmp::Ordering, order_of)
}

macro_rules! of_two {
    ($name:literal, $arg:expr, $result:expr, $body:expr) => {
        of_two!(typed $name, $arg, $result, Body::Scalar($body))
    };
    (typed $name:literal, $arg:expr, $result:expr, $body:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$arg, $arg],
            variadic: false,
            result: $result,
            strict: true,
            volatility: Volatility::Immutable,
            body: $body,
            kernel: None,
        }
    };
}

macro_rules! extremes {
    ($($larger:literal $smaller:literal $arg:expr;)*) => {
        &[$(
            of_two!(typed $larger, $arg, ResultType::SameAs(0), Body::Typed(|_, args, types| chosen(args, types, true))),
            of_two!(typed $smaller, $arg, ResultType::SameAs(0), Body::Typed(|_, args, types| chosen(args, types, false))),
        )*]
    };
}

static EXTREMES: &[BuiltinFunction] = extremes![
    "int2larger" "int2smaller" ArgType::Exact(SqlType::Int2);
    "int4larger" "int4smaller" ArgType::Exact(SqlType::Int4);
    "int8larger" "int8smaller" ArgType::Exact(SqlType::Int8);
    "float4larger" "float4smaller" ArgType::Exact(SqlType::Float4);
    "float8larger" "float8smaller" ArgType::Exact(SqlType::Float8);
    "numeric_larger" "numeric_smaller" ArgType::Exact(SqlType::Numeric(None));
    "oidlarger" "oidsmaller" ArgType::Exact(SqlType::Oid);
    "text_larger" "text_smaller" ArgType::Exact(SqlType::Text);
    "bpchar_larger" "bpchar_smaller" ArgType::Exact(SqlType::Char(None));
    "bytea_larger" "bytea_smaller" ArgType::Exact(SqlType::Bytea);
    "date_larger" "date_smaller" ArgType::Exact(SqlType::Date);
    "time_larger" "time_smaller" ArgType::Exact(SqlType::Time(None));
    "timetz_larger" "timetz_smaller" ArgType::Exact(SqlType::Timetz(None));
    "timestamp_larger" "timestamp_smaller" ArgType::Exact(SqlType::Timestamp(None));
    "timestamptz_larger" "timestamptz_smaller" ArgType::Exact(SqlType::Timestamptz(None));
    "interval_larger" "interval_smaller" ArgType::Exact(SqlType::Interval(None));
    "cashlarger" "cashsmaller" ArgType::Exact(SqlType::System(SystemType::Money));
    "network_larger" "network_smaller" ArgType::Exact(SqlType::System(SystemType::Inet));
    "pg_lsn_larger" "pg_lsn_smaller" ArgType::Exact(SqlType::System(SystemType::Lsn));
    "tidlarger" "tidsmaller" ArgType::Exact(SqlType::System(SystemType::Tid));
    "xid8_larger" "xid8_smaller" ArgType::Exact(SqlType::System(SystemType::Xid8));
    "array_larger" "array_smaller" ArgType::AnyArray;
    "enum_larger" "enum_smaller" ArgType::AnyEnum;
];

macro_rules! orders {
    ($($name:literal $arg:expr;)*) => {
        &[$(of_two!(typed $name, $arg, ResultType::Fixed(SqlType::Int4), Body::Typed(|_, args, types| match args {
            [a, b] => Ok(Value::Int4(ordered(types)(a, b) as i32)),
            _ => Err(unexpected($name, args)),
        })),)*]
    };
}

static ORDERS: &[BuiltinFunction] = orders![
    "btboolcmp" ArgType::Exact(SqlType::Bool);
    "btint2cmp" ArgType::Exact(SqlType::Int2);
    "btint4cmp" ArgType::Exact(SqlType::Int4);
    "btint8cmp" ArgType::Exact(SqlType::Int8);
    "btfloat4cmp" ArgType::Exact(SqlType::Float4);
    "btfloat8cmp" ArgType::Exact(SqlType::Float8);
    "btoidcmp" ArgType::Exact(SqlType::Oid);
    "btarraycmp" ArgType::AnyArray;
    "bttextcmp" ArgType::Exact(SqlType::Text);
    "bttext_pattern_cmp" ArgType::Exact(SqlType::Text);
    "bpcharcmp" ArgType::Exact(SqlType::Char(None));
    "btbpchar_pattern_cmp" ArgType::Exact(SqlType::Char(None));
    "btnamecmp" ArgType::Exact(SqlType::Name);
    "numeric_cmp" ArgType::Exact(SqlType::Numeric(None));
    "byteacmp" ArgType::Exact(SqlType::Bytea);
    "date_cmp" ArgType::Exact(SqlType::Date);
    "time_cmp" ArgType::Exact(SqlType::Time(None));
    "timetz_cmp" ArgType::Exact(SqlType::Timetz(None));
    "timestamp_cmp" ArgType::Exact(SqlType::Timestamp(None));
    "timestamptz_cmp" ArgType::Exact(SqlType::Timestamptz(None));
    "interval_cmp" ArgType::Exact(SqlType::Interval(None));
    "uuid_cmp" ArgType::Exact(SqlType::Uuid);
    "jsonb_cmp" ArgType::Exact(SqlType::Jsonb);
    "enum_cmp" ArgType::AnyEnum;
    "range_cmp" ArgType::AnyRange;
    "multirange_cmp" ArgType::AnyMultirange;
    "bitcmp" ArgType::Exact(SqlType::Bit(None));
    "varbitcmp" ArgType::Exact(SqlType::Varbit(None));
    "cash_cmp" ArgType::Exact(SqlType::System(SystemType::Money));
    "network_cmp" ArgType::Exact(SqlType::System(SystemType::Inet));
    "macaddr_cmp" ArgType::Exact(SqlType::System(SystemType::Macaddr));
    "macaddr8_cmp" ArgType::Exact(SqlType::System(SystemType::Macaddr8));
    "pg_lsn_cmp" ArgType::Exact(SqlType::System(SystemType::Lsn));
    "bttidcmp" ArgType::Exact(SqlType::System(SystemType::Tid));
    "xid8cmp" ArgType::Exact(SqlType::System(SystemType::Xid8));
    "tsvector_cmp" ArgType::Exact(SqlType::System(SystemType::TsVector));
    "tsquery_cmp" ArgType::Exact(SqlType::System(SystemType::TsQuery));
];

fn like(cx: &EvalContext<'_>, args: &[Value], fold: bool, negated: bool) -> Result<Value> {
    let [Value::Text(text), Value::Text(pattern)] = args else { return Err(unexpected("like", args)) };
    let pattern = LikePattern::new(pattern, "\\", fold)?;
    let mut go_on = || cx.runtime.check_cancelled();
    Ok(Value::Bool(pattern.matches(text.as_bytes(), &mut Work::new(&mut go_on))? != negated))
}

/// Bytes as characters of one byte each.
fn latin(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// LIKE over bytes: `_` is one of them.
fn like_bytes(cx: &EvalContext<'_>, args: &[Value], negated: bool) -> Result<Value> {
    let [Value::Bytes(bytes), Value::Bytes(pattern)] = args else { return Err(unexpected("like", args)) };
    let pattern = LikePattern::new(&latin(pattern), "\\", false)?;
    let mut go_on = || cx.runtime.check_cancelled();
    let matches = pattern.matches(latin(bytes).as_bytes(), &mut Work::new(&mut go_on))?;
    Ok(Value::Bool(matches != negated))
}

/// A pattern whose escape character is a backslash.
fn like_escape(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Bytes(pattern), Value::Bytes(escape)] = args else {
        return Err(unexpected("like_escape", args));
    };
    let mark = match escape[..] {
        [] => None,
        [mark] => Some(mark),
        _ => {
            return Err(TypeError::new("22025", "invalid escape string")
                .with_hint("Escape string must be empty or one character.")
                .into());
        }
    };
    let (mut out, mut escaped) = (Vec::with_capacity(pattern.len()), false);
    for byte in pattern.iter().copied() {
        match byte {
            byte if Some(byte) == mark && !escaped => {
                out.push(b'\\');
                escaped = true;
                continue;
            }
            b'\\' if !escaped => out.extend_from_slice(b"\\\\"),
            byte => out.push(byte),
        }
        escaped = false;
    }
    Ok(Value::bytes(&out))
}

/// Every text is UTF-8, of which there is no conversion to ASCII.
fn to_ascii(_: &EvalContext<'_>, _: &[Value]) -> Result<Value> {
    Err(TypeError::new("0A000", "encoding conversion from UTF8 to ASCII not supported").into())
}

static COUNTS: &[BuiltinFunction] = &[
    entry!("int8inc" () [Int8] => Int8, |_, args| counted("int8inc", args, 1), None),
    entry!("int8dec" () [Int8] => Int8, |_, args| counted("int8dec", args, -1), None),
    entry!("int4inc" () [Int4] => Int4, |_, args| match args {
        [Value::Int4(n)] => {
            Ok(Value::Int4(n.checked_add(1).ok_or_else(|| TypeError::out_of_range("integer"))?))
        }
        _ => Err(unexpected("int4inc", args)),
    }, None),
];

fn counted(name: &str, args: &[Value], by: i64) -> Result<Value> {
    let [Value::Int8(n)] = args else { return Err(unexpected(name, args)) };
    Ok(Value::Int8(n.checked_add(by).ok_or_else(|| TypeError::out_of_range("bigint"))?))
}

static PATTERNS: &[BuiltinFunction] = &[
    of_two!("like", ArgType::Exact(SqlType::Text), ResultType::Fixed(SqlType::Bool), |cx, args| like(
        cx, args, false, false
    )),
    of_two!("notlike", ArgType::Exact(SqlType::Text), ResultType::Fixed(SqlType::Bool), |cx, args| like(
        cx, args, false, true
    )),
    of_two!("texticlike", ArgType::Exact(SqlType::Text), ResultType::Fixed(SqlType::Bool), |cx, args| like(
        cx, args, true, false
    )),
    of_two!("texticnlike", ArgType::Exact(SqlType::Text), ResultType::Fixed(SqlType::Bool), |cx, args| like(
        cx, args, true, true
    )),
    of_two!("like", ArgType::Exact(SqlType::Bytea), ResultType::Fixed(SqlType::Bool), |cx, args| like_bytes(
        cx, args, false
    )),
    of_two!("notlike", ArgType::Exact(SqlType::Bytea), ResultType::Fixed(SqlType::Bool), |cx, args| {
        like_bytes(cx, args, true)
    }),
    of_two!("like_escape", ArgType::Exact(SqlType::Bytea), ResultType::Fixed(SqlType::Bytea), like_escape),
    BuiltinFunction {
        args: &[ArgType::Exact(SqlType::Text)],
        ..of_two!("to_ascii", ArgType::Exact(SqlType::Text), ResultType::Fixed(SqlType::Text), to_ascii)
    },
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 4] = [EXTREMES, ORDERS, COUNTS, PATTERNS];
