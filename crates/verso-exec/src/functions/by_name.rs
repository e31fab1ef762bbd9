//! Functions that stand behind casts, operators and operator classes of PostgreSQL, and that only a call by their names asks for.

use std::cmp::Ordering;

use verso_types::opaque::lsn::PgLsn;
use verso_types::{CastKind, Number, SqlType, SystemType, TypeError, Value, byte_of_char, cast, cmp_sql};

use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

/// A moment of one type beside one of another: `date_cmp_timestamp`. The one of the type that knows less becomes one of the other.
fn moments(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let ([a, b], [of_a, of_b]) = (args, types) else { return Err(unexpected("an order of moments", args)) };
    let knows = |ty: &SqlType| match ty {
        SqlType::Date => 0,
        SqlType::Timestamp(_) => 1,
        _ => 2,
    };
    // A day beyond all timestamps that is none of infinity is later than they are.
    let as_other = |value: &Value, from: &SqlType, to: &SqlType| {
        cast(value, from, &to.without_modifiers(), CastKind::Explicit, cx.services.time_zone).ok()
    };
    let is_late = |other: &Value| matches!(other, Value::Timestamp(i64::MAX) | Value::Timestamptz(i64::MAX));
    let order = if knows(of_a) < knows(of_b) {
        match as_other(a, of_a, of_b) {
            Some(a) => cmp_sql(&a, b),
            None => {
                if is_late(b) {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
        }
    } else {
        match as_other(b, of_b, of_a) {
            Some(b) => cmp_sql(a, &b),
            None => {
                if is_late(a) {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
        }
    };
    Ok(Value::Int4(order as i32))
}

/// A value as one of its type with a modifier, as PostgreSQL packs that: `varchar(value, 6, false)` is what `varchar(2)` takes.
fn modified(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType], to: &SqlType) -> Result<Value> {
    let [value, Value::Int4(modifier), rest @ ..] = args else { return Err(unexpected("a cast", args)) };
    // Only where it is asked for what is too long is cut.
    let kind = match rest {
        [Value::Bool(false)] => CastKind::Assignment,
        _ => CastKind::Explicit,
    };
    let from = types.first().map_or_else(|| to.clone(), SqlType::without_modifiers);
    let known = SqlType::from_pg_oid(to.pg_oid(), *modifier).filter(|known| known.typmod() == *modifier);
    match known {
        Some(known) => Ok(cast(value, &from, &known, kind, cx.services.time_zone)?),
        None if from == *to => Ok(value.clone()),
        None => Ok(cast(value, &from, to, kind, cx.services.time_zone)?),
    }
}

const INT4: ArgType = ArgType::Exact(SqlType::Int4);
const BOOL: ArgType = ArgType::Exact(SqlType::Bool);
const CHAR: SqlType = SqlType::System(SystemType::Char);
const OIDS: ArgType = ArgType::ArrayOf(SqlType::System(SystemType::VectorOid));

/// A strict function that depends on the types of its arguments.
macro_rules! typed {
    ($name:literal [$($arg:expr),*] => $result:expr, $volatility:ident, $body:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$($arg),*],
            variadic: false,
            result: ResultType::Fixed($result),
            strict: true,
            volatility: Volatility::$volatility,
            body: Body::Typed($body),
            kernel: None,
        }
    };
}

macro_rules! moments {
    ($($name:literal $a:expr, $b:expr, $volatility:ident;)*) => {
        &[$(typed!($name [ArgType::Exact($a), ArgType::Exact($b)] => SqlType::Int4, $volatility, moments),)*]
    };
}

static MOMENTS: &[BuiltinFunction] = moments! {
    "date_cmp_timestamp" SqlType::Date, SqlType::Timestamp(None), Immutable;
    "date_cmp_timestamptz" SqlType::Date, SqlType::Timestamptz(None), Stable;
    "timestamp_cmp_date" SqlType::Timestamp(None), SqlType::Date, Immutable;
    "timestamp_cmp_timestamptz" SqlType::Timestamp(None), SqlType::Timestamptz(None), Stable;
    "timestamptz_cmp_date" SqlType::Timestamptz(None), SqlType::Date, Stable;
    "timestamptz_cmp_timestamp" SqlType::Timestamptz(None), SqlType::Timestamp(None), Stable;
};

macro_rules! lengths {
    ($($name:literal $from:expr => $to:expr, [$($more:expr),*];)*) => {
        &[$(typed!($name [ArgType::Exact($from), INT4 $(, $more)*] => $to, Immutable,
            |cx, args, types| modified(cx, args, types, &$to)),)*]
    };
}

static LENGTHS: &[BuiltinFunction] = lengths! {
    "varchar" SqlType::Varchar(None) => SqlType::Varchar(None), [BOOL];
    "numeric" SqlType::Numeric(None) => SqlType::Numeric(None), [];
    "bit" SqlType::Int4 => SqlType::Bit(None), [];
    "bit" SqlType::Int8 => SqlType::Bit(None), [];
    "bit" SqlType::Bit(None) => SqlType::Bit(None), [BOOL];
    "varbit" SqlType::Varbit(None) => SqlType::Varbit(None), [BOOL];
    "time" SqlType::Time(None) => SqlType::Time(None), [];
    "timetz" SqlType::Timetz(None) => SqlType::Timetz(None), [];
    "timestamp" SqlType::Timestamp(None) => SqlType::Timestamp(None), [];
    "timestamptz" SqlType::Timestamptz(None) => SqlType::Timestamptz(None), [];
    "interval" SqlType::Interval(None) => SqlType::Interval(None), [];
};

/// A value as one of another type.
fn as_type(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType], to: &SqlType) -> Result<Value> {
    let ([value], [from]) = (args, types) else { return Err(unexpected("a cast", args)) };
    Ok(cast(value, from, to, CastKind::Explicit, cx.services.time_zone)?)
}

fn to_lsn(args: &[Value]) -> Result<Value> {
    let out_of_range = || ExecError::from(TypeError::new("22023", "pg_lsn out of range"));
    match args {
        [Value::Numeric(number)] if number.is_negative() => Err(out_of_range()),
        [Value::Numeric(number)] => {
            let text = number.round(0).map_err(TypeError::from)?.to_string();
            text.parse().map(|place| PgLsn(place).into_value()).map_err(|_| out_of_range())
        }
        [Value::Big(number)] if matches!(**number, Number::Finite { .. }) => Err(out_of_range()),
        [Value::Big(number)] => {
            let what = if number.is_nan() { "NaN" } else { "infinity" };
            Err(TypeError::new("0A000", format!("cannot convert {what} to pg_lsn")).into())
        }
        _ => Err(unexpected("pg_lsn", args)),
    }
}

/// What stands for the bytes of an encoding from a first one on, up to the last byte that UTF-8 has.
type Letters = (u8, &'static [u8]);
const LATIN1: Letters =
    (160, b"  cL Y  \"Ca  -R     'u .,      ???AAAAACEEEEIIII NOOOOOxOUUUUYTBaaaaaaaceeeeiiii nooo");
const LATIN2: Letters =
    (160, b" A L LS \"SSTZ-ZZ a,l'ls ,sstz\"zz??AAALCCCEEEEIIDDNNOOOOxRUUUUYTBraaaalccceeeeiiddnnoo");
const LATIN9: Letters =
    (160, b"  cL YS sCa  -R     Zu .z   EeY???AAAAACEEEEIIII NOOOOOxOUUUUYTBaaaaaaaceeeeiiii nooo");
const WIN1250: Letters = (
    128,
    b"  ' \"    %S<STZZ `'\"\".--  s>stzz   L A  \"CS  -RZ  ,l'u .,as L\"lz??AAALCCCEEEEIIDDNNOOOOxRUUUUYTBraaaalccceeeeiiddnnoo",
);

/// `to_ascii(text, encoding)`: as in PostgreSQL the bytes count, which are those of UTF-8, as if they were of that encoding.
fn to_ascii(text: &str, encoding: &str) -> Result<Value> {
    let plain: String =
        encoding.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect();
    let known = match plain.as_str() {
        "latin1" | "iso88591" => Some(LATIN1),
        "latin2" | "iso88592" => Some(LATIN2),
        "latin9" | "iso885915" => Some(LATIN9),
        "win1250" | "windows1250" => Some(WIN1250),
        _ => None,
    };
    if let Some((first, letters)) = known {
        let letter = |byte: u8| match byte {
            byte if byte.is_ascii() => byte,
            byte if byte < first => b' ',
            byte => letters.get(usize::from(byte - first)).copied().unwrap_or(b'?'),
        };
        let shown: String = text.bytes().map(|byte| char::from(letter(byte))).collect();
        return Ok(Value::text(&shown));
    }
    if ["utf8", "unicode", "sqlascii"].contains(&plain.as_str()) {
        let name = if plain == "sqlascii" { "SQL_ASCII" } else { "UTF8" };
        let text = format!("encoding conversion from {name} to ASCII not supported");
        return Err(TypeError::new("0A000", text).into());
    }
    Err(TypeError::new("42704", format!("{encoding} is not a valid encoding name")).into())
}

/// The same by PostgreSQL's number of the encoding.
fn to_ascii_by_number(text: &str, encoding: i32) -> Result<Value> {
    match encoding {
        8 => to_ascii(text, "latin1"),
        9 => to_ascii(text, "latin2"),
        16 => to_ascii(text, "latin9"),
        29 => to_ascii(text, "win1250"),
        0 => to_ascii(text, "sql_ascii"),
        6 => to_ascii(text, "utf8"),
        _ => Err(TypeError::new("42704", format!("{encoding} is not a valid encoding code")).into()),
    }
}

static CASTS: &[BuiltinFunction] = &[
    typed!("btcharcmp" [ArgType::Exact(CHAR), ArgType::Exact(CHAR)] => SqlType::Int4, Immutable, |_, args, _| match args {
        [Value::Text(a), Value::Text(b)] => {
            let byte = |text: &str| i32::from(byte_of_char(text.as_bytes()));
            Ok(Value::Int4(byte(a) - byte(b)))
        }
        _ => Err(unexpected("btcharcmp", args)),
    }),
    typed!("char" [INT4] => CHAR, Immutable, |cx, args, types| as_type(cx, args, types, &CHAR)),
    typed!("char" [ArgType::Exact(SqlType::Text)] => CHAR, Immutable, |cx, args, types| as_type(cx, args, types, &CHAR)),
    entry!("pg_lsn" () [Numeric] => Lsn, |_, args| to_lsn(args), None),
    entry!("to_ascii" () [Text, Name] => Text, |_, args| match args {
        [Value::Text(text), Value::Text(encoding)] => to_ascii(text, encoding),
        _ => Err(unexpected("to_ascii", args)),
    }, None),
    entry!("to_ascii" () [Text, Int4] => Text, |_, args| match args {
        [Value::Text(text), Value::Int4(encoding)] => to_ascii_by_number(text, *encoding),
        _ => Err(unexpected("to_ascii", args)),
    }, None),
];

/// Lists of numbers of objects are ordered by their lengths first.
fn order_of_lists(args: &[Value]) -> Result<Ordering> {
    let [Value::Array(a), Value::Array(b)] = args else { return Err(unexpected("an oidvector", args)) };
    let pairs = || a.iter().zip(b.iter()).map(|(a, b)| cmp_sql(a, b));
    Ok(a.len().cmp(&b.len()).then_with(|| pairs().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)))
}

macro_rules! lists {
    ($($name:literal $test:expr;)*) => {
        &[$(BuiltinFunction {
            name: $name,
            operator: None,
            args: &[OIDS, OIDS],
            variadic: false,
            result: ResultType::Fixed(SqlType::Bool),
            strict: true,
            volatility: Volatility::Immutable,
            body: Body::Scalar(|_, args| order_of_lists(args).map(|order: Ordering| Value::Bool($test(order)))),
            kernel: None,
        },)*]
    };
}

static LISTS: &[BuiltinFunction] = lists! {
    "oidvectoreq" Ordering::is_eq;
    "oidvectorne" Ordering::is_ne;
    "oidvectorlt" Ordering::is_lt;
    "oidvectorle" Ordering::is_le;
    "oidvectorgt" Ordering::is_gt;
    "oidvectorge" Ordering::is_ge;
};

macro_rules! orders {
    ($($name:literal $a:expr, $b:expr;)*) => {
        &[$(BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Exact($a), ArgType::Exact($b)],
            variadic: false,
            result: ResultType::Fixed(SqlType::Int4),
            strict: true,
            volatility: Volatility::Immutable,
            body: Body::Scalar(|_, args| match args {
                [a, b] => Ok(Value::Int4(cmp_sql(a, b) as i32)),
                _ => Err(unexpected($name, args)),
            }),
            kernel: None,
        },)*]
    };
}

static ORDERS: &[BuiltinFunction] = orders! {
    "btnametextcmp" SqlType::Name, SqlType::Text;
    "bttextnamecmp" SqlType::Text, SqlType::Name;
};

static OF_LISTS: &[BuiltinFunction] = &[BuiltinFunction {
    name: "btoidvectorcmp",
    operator: None,
    args: &[OIDS, OIDS],
    variadic: false,
    result: ResultType::Fixed(SqlType::Int4),
    strict: true,
    volatility: Volatility::Immutable,
    body: Body::Scalar(|_, args| order_of_lists(args).map(|order| Value::Int4(order as i32))),
    kernel: None,
}];

/// The range in the form that all equal ones have, which every range has here.
macro_rules! canonical {
    ($($name:literal $ty:expr;)*) => {
        &[$(BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::Exact($ty)],
            variadic: false,
            result: ResultType::SameAs(0),
            strict: true,
            volatility: Volatility::Immutable,
            body: Body::Scalar(|_, args| Ok(args[0].clone())),
            kernel: None,
        },)*]
    };
}

static CANONICAL: &[BuiltinFunction] = canonical! {
    "int4range_canonical" SqlType::Range(verso_types::RangeType::INT4);
    "int8range_canonical" SqlType::Range(verso_types::RangeType::INT8);
    "daterange_canonical" SqlType::Range(verso_types::RangeType::DATE);
};

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 7] =
    [MOMENTS, LENGTHS, CASTS, LISTS, ORDERS, OF_LISTS, CANONICAL];
