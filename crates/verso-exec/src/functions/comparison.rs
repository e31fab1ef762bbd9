//! `=`, `<>`, `<`, `<=`, `>`, `>=` of every type with an order; `greatest` and `least`.

use std::cmp::Ordering;

use verso_types::collation::small;
use verso_types::{SqlType, SystemType, Value, byte_of_char, cmp_sql, without_blanks};

use super::kernel::{CompareOp, Kernel};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// One comparison of one type.
macro_rules! comparison {
    ($op:literal, $compare:ident, $arg:expr) => {
        comparison!($op, $compare, $arg, $arg, Some(Kernel::Compare(CompareOp::$compare)))
    };
    ($op:literal, $compare:ident, $left:expr, $right:expr, $kernel:expr) => {
        comparison!($op, $compare, $left, $right, $kernel, cmp_sql)
    };
    ($op:literal, $compare:ident, $left:expr, $right:expr, $kernel:expr, $order:expr) => {
        BuiltinFunction {
            name: "",
            operator: Some($op),
            args: &[$left, $right],
            variadic: false,
            result: ResultType::Fixed(SqlType::Bool),
            strict: true,
            volatility: Volatility::Immutable,
            body: Body::Scalar(|_, args| {
                Ok(Value::Bool(CompareOp::$compare.holds($order(&args[0], &args[1]))))
            }),
            kernel: $kernel,
        }
    };
}

macro_rules! comparisons {
    ($($arg:expr),* $(,)?) => {
        &[$(
            comparison!("=", Equal, $arg),
            comparison!("<>", NotEqual, $arg),
            comparison!("<", Less, $arg),
            comparison!("<=", LessOrEqual, $arg),
            comparison!(">", Greater, $arg),
            comparison!(">=", GreaterOrEqual, $arg),
        )*]
    };
}

/// All comparisons of a type whose values have an order of their own, by kernels that know it, too.
macro_rules! ordered {
    ($arg:expr, $order:ident) => {
        ordered!($arg, $order: "=" Equal, "<>" NotEqual, "<" Less, "<=" LessOrEqual, ">" Greater, ">=" GreaterOrEqual)
    };
    ($arg:expr, $order:ident: $($op:literal $compare:ident),*) => {
        &[$(comparison!($op, $compare, $arg, $arg, Some(Kernel::Compare(CompareOp::$compare)), $order)),*]
    };
}

static PADDED: &[BuiltinFunction] = ordered!(ArgType::Exact(SqlType::Char(None)), cmp_padded);

static SINGLE: &[BuiltinFunction] = ordered!(ArgType::Exact(SqlType::System(SystemType::Char)), cmp_single);

/// How values of a type are ordered.
pub(crate) fn order_of(ty: &SqlType) -> fn(&Value, &Value) -> Ordering {
    match ty {
        SqlType::Char(_) => cmp_padded,
        SqlType::System(SystemType::Char) => cmp_single,
        SqlType::System(SystemType::Citext) => cmp_folded,
        _ => cmp_sql,
    }
}

/// The order of two values of `citext`.
pub(super) fn cmp_folded(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => a.chars().map(small).cmp(b.chars().map(small)),
        _ => cmp_sql(a, b),
    }
}

/// How the first argument's type is ordered.
fn order_of_first(types: &[SqlType]) -> fn(&Value, &Value) -> Ordering {
    types.first().map_or(cmp_sql, order_of)
}

/// The order of two texts whose blanks at the end do not count.
fn cmp_padded(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => without_blanks(a.as_bytes()).cmp(without_blanks(b.as_bytes())),
        _ => cmp_sql(a, b),
    }
}

/// The order of two values of the type "char": that of their bytes.
fn cmp_single(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Text(a), Value::Text(b)) => byte_of_char(a.as_bytes()).cmp(&byte_of_char(b.as_bytes())),
        _ => cmp_sql(a, b),
    }
}

static COMPARISONS: &[BuiltinFunction] = comparisons![
    ArgType::Exact(SqlType::Bool),
    ArgType::Exact(SqlType::Int2),
    ArgType::Exact(SqlType::Int4),
    ArgType::Exact(SqlType::Int8),
    ArgType::Exact(SqlType::Float4),
    ArgType::Exact(SqlType::Float8),
    ArgType::Exact(SqlType::Numeric(None)),
    ArgType::Exact(SqlType::Text),
    ArgType::Exact(SqlType::Name),
    ArgType::Exact(SqlType::Bytea),
    ArgType::Exact(SqlType::Date),
    ArgType::Exact(SqlType::Time(None)),
    ArgType::Exact(SqlType::Timestamp(None)),
    ArgType::Exact(SqlType::Timestamptz(None)),
    ArgType::Exact(SqlType::Interval(None)),
    ArgType::Exact(SqlType::Uuid),
    ArgType::Exact(SqlType::Oid),
    ArgType::AnyArray,
    ArgType::Exact(SqlType::Record),
    ArgType::Exact(SqlType::Jsonb),
    ArgType::AnyEnum,
    ArgType::AnyRange,
    ArgType::AnyMultirange,
    ArgType::Exact(SqlType::Timetz(None)),
    ArgType::Exact(SqlType::Bit(None)),
    ArgType::Exact(SqlType::Varbit(None)),
    ArgType::Exact(SqlType::System(SystemType::Inet)),
    ArgType::Exact(SqlType::System(SystemType::Macaddr)),
    ArgType::Exact(SqlType::System(SystemType::Macaddr8)),
    ArgType::Exact(SqlType::System(SystemType::Money)),
    ArgType::Exact(SqlType::System(SystemType::Lsn)),
    ArgType::Exact(SqlType::System(SystemType::Xid8)),
    ArgType::Exact(SqlType::System(SystemType::Tid)),
    ArgType::Exact(SqlType::System(SystemType::TsVector)),
    ArgType::Exact(SqlType::System(SystemType::TsQuery)),
];

/// The order of bytes, whatever the collation.
macro_rules! by_bytes {
    ($($op:literal $compare:ident),*) => {
        &[$(
            comparison!($op, $compare, ArgType::Exact(SqlType::Text), ArgType::Exact(SqlType::Text), None),
            comparison!($op, $compare, ArgType::Exact(SqlType::Char(None)), ArgType::Exact(SqlType::Char(None)), None, cmp_padded),
        )*]
    };
}

static BY_BYTES: &[BuiltinFunction] =
    by_bytes!("~<~" Less, "~<=~" LessOrEqual, "~>~" Greater, "~>=~" GreaterOrEqual);

/// `real` beside `double precision`, compared as double precision.
macro_rules! mixed {
    ($($op:literal $compare:ident),*) => {
        &[$(
            comparison!($op, $compare, ArgType::Exact(SqlType::Float4), ArgType::Exact(SqlType::Float8), None),
            comparison!($op, $compare, ArgType::Exact(SqlType::Float8), ArgType::Exact(SqlType::Float4), None),
        )*]
    };
}

static MIXED: &[BuiltinFunction] = mixed!(
    "=" Equal, "<>" NotEqual, "<" Less, "<=" LessOrEqual, ">" Greater, ">=" GreaterOrEqual
);

/// `xid`, which has no order in SQL, and `hstore`, whose order has other names.
static UNORDERED: &[BuiltinFunction] = {
    const XID: ArgType = ArgType::Exact(SqlType::System(SystemType::Xid));
    const HSTORE: ArgType = ArgType::Exact(SqlType::System(SystemType::Hstore));
    &[
        comparison!("=", Equal, HSTORE),
        comparison!("<>", NotEqual, HSTORE),
        comparison!("#<#", Less, HSTORE),
        comparison!("#<=#", LessOrEqual, HSTORE),
        comparison!("#>#", Greater, HSTORE),
        comparison!("#>=#", GreaterOrEqual, HSTORE),
        comparison!("=", Equal, XID),
        comparison!("<>", NotEqual, XID),
        comparison!("=", Equal, XID, ArgType::Exact(SqlType::Int4), None),
        comparison!("<>", NotEqual, XID, ArgType::Exact(SqlType::Int4), None),
    ]
};

/// `value op ANY (array)`, or ALL: NULL where that depends on a NULL.
fn quantified(args: &[Value], types: &[SqlType], op: CompareOp, all: bool) -> Value {
    let order = order_of_first(types);
    let [value, Value::Array(elements)] = args else { return Value::Null };
    let mut unknown = false;
    for element in elements.iter() {
        if value.is_null() || element.is_null() {
            unknown = true;
        } else if op.holds(order(value, element)) != all {
            return Value::Bool(!all);
        }
    }
    if unknown { Value::Null } else { Value::Bool(all) }
}

/// Comparisons with the elements of an array; as operators whose names nobody can write.
macro_rules! quantified {
    ($($any:literal $all:literal $compare:ident),*) => {
        &[$(
            quantified!($any, $compare, false),
            quantified!($all, $compare, true),
        )*]
    };
    ($name:literal, $compare:ident, $all:literal) => {
        BuiltinFunction {
            name: "",
            operator: Some($name),
            args: &[ArgType::AnyElement, ArgType::AnyArray],
            variadic: false,
            result: ResultType::Fixed(SqlType::Bool),
            strict: false,
            volatility: Volatility::Immutable,
            body: Body::Typed(|_, args, types| Ok(quantified(args, types, CompareOp::$compare, $all))),
            kernel: None,
        }
    };
}

static QUANTIFIED: &[BuiltinFunction] = quantified!(
    "= ANY" "= ALL" Equal,
    "<> ANY" "<> ALL" NotEqual,
    "< ANY" "< ALL" Less,
    "<= ANY" "<= ALL" LessOrEqual,
    "> ANY" "> ALL" Greater,
    ">= ANY" ">= ALL" GreaterOrEqual
);

/// The extreme of the arguments that are not NULL.
fn extreme(args: &[Value], types: &[SqlType], keep: CompareOp) -> Value {
    let order = order_of_first(types);
    let mut best = &Value::Null;
    for arg in args.iter().filter(|arg| !arg.is_null()) {
        if best.is_null() || keep.holds(order(arg, best)) {
            best = arg;
        }
    }
    best.clone()
}

fn greatest(_: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    Ok(extreme(args, types, CompareOp::Greater))
}

fn least(_: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    Ok(extreme(args, types, CompareOp::Less))
}

/// A variadic function of one type that skips NULLs.
macro_rules! extreme_of {
    ($name:literal, $f:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[ArgType::AnyElement],
            variadic: true,
            result: ResultType::SameAs(0),
            strict: false,
            volatility: Volatility::Immutable,
            body: Body::Typed($f),
            kernel: None,
        }
    };
}

static EXTREMES: &[BuiltinFunction] = &[extreme_of!("greatest", greatest), extreme_of!("least", least)];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 8] =
    [COMPARISONS, PADDED, SINGLE, BY_BYTES, MIXED, UNORDERED, QUANTIFIED, EXTREMES];
