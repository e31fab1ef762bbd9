//! Ranges and multiranges: constructors, bounds, operators, what their aggregates end with.
//!
//! An operand is a list of ranges: that of a range has one, that of a multirange its own. So each operator is one function
//! for all pairs of ranges and multiranges.

use verso_types::range::{Bound, sets};
use verso_types::{Multirange, Range, RangeKind, RangeType, SqlType, TypeError, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, ScalarFn, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

const RANGE: ArgType = ArgType::AnyRange;
const MULTI: ArgType = ArgType::AnyMultirange;
const ELEMENT: ArgType = ArgType::AnyElement;
const TEXT: ArgType = ArgType::Exact(SqlType::Text);
const AS_BOOL: ResultType = ResultType::Fixed(SqlType::Bool);

const fn entry(
    name: &'static str,
    operator: Option<&'static str>,
    args: &'static [ArgType],
    result: ResultType,
    body: ScalarFn,
) -> BuiltinFunction {
    function(name, operator, args, result, (true, false), Body::Scalar(body))
}

/// A function that may take NULLs, and any number of its last argument.
const fn function(
    name: &'static str,
    operator: Option<&'static str>,
    args: &'static [ArgType],
    result: ResultType,
    (strict, variadic): (bool, bool),
    body: Body,
) -> BuiltinFunction {
    BuiltinFunction {
        name,
        operator,
        args,
        variadic,
        result,
        strict,
        volatility: Volatility::Immutable,
        body,
        kernel: None,
    }
}

/// The ranges of an operand.
fn ranges(value: &Value) -> Result<&[Range]> {
    match value {
        Value::Range(range) => Ok(std::slice::from_ref(&**range)),
        Value::Multirange(multirange) => Ok(&multirange.ranges),
        other => Err(unexpected("an operator of ranges", std::slice::from_ref(other))),
    }
}

fn kind(value: &Value) -> Result<RangeKind> {
    match value {
        Value::Range(range) => Ok(range.kind),
        Value::Multirange(multirange) => Ok(multirange.kind),
        other => Err(unexpected("an operator of ranges", std::slice::from_ref(other))),
    }
}

fn pair(args: &[Value]) -> Result<(&[Range], &[Range])> {
    match args {
        [a, b] => Ok((ranges(a)?, ranges(b)?)),
        _ => Err(unexpected("an operator of ranges", args)),
    }
}

#[cold]
fn data_exception(text: &str) -> ExecError {
    TypeError::new("22000", text).into()
}

/// An operator that tells something about two operands.
macro_rules! test {
    ($test:expr) => {
        |_, args| {
            let (a, b) = pair(args)?;
            let test: fn(&[Range], &[Range]) -> bool = $test;
            Ok(Value::Bool(test(a, b)))
        }
    };
}

/// The same for every pair of a range and a multirange.
macro_rules! for_pairs {
    ($($op:literal = $test:expr;)*) => {
        &[$(
            entry("", Some($op), &[RANGE, RANGE], AS_BOOL, test!($test)),
            entry("", Some($op), &[RANGE, MULTI], AS_BOOL, test!($test)),
            entry("", Some($op), &[MULTI, RANGE], AS_BOOL, test!($test)),
            entry("", Some($op), &[MULTI, MULTI], AS_BOOL, test!($test)),
        )*]
    };
}

static TESTS: &[BuiltinFunction] = for_pairs! {
    "@>" = sets::contains;
    "<@" = |a, b| sets::contains(b, a);
    "&&" = sets::overlaps;
    "<<" = sets::is_before;
    ">>" = |a, b| sets::is_before(b, a);
    "&<" = sets::ends_within;
    "&>" = sets::begins_within;
    "-|-" = sets::are_adjacent;
};

fn has_value(ranges_: &Value, value: &Value) -> Result<Value> {
    Ok(Value::Bool(sets::contains_value(ranges(ranges_)?, value)))
}

fn contains_value(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [ranges, value] => has_value(ranges, value),
        _ => Err(unexpected("@>", args)),
    }
}

fn is_contained(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [value, ranges] => has_value(ranges, value),
        _ => Err(unexpected("<@", args)),
    }
}

/// The one range that the ranges are; refused where they are more.
fn one(kind: RangeKind, ranges: Vec<Range>, what: &str) -> Result<Value> {
    match <[Range; 1]>::try_from(ranges) {
        Ok([range]) => Ok(range.into_value()),
        Err(ranges) if ranges.is_empty() => Ok(Range::empty(kind).into_value()),
        Err(_) => Err(data_exception(&format!("result of range {what} would not be contiguous"))),
    }
}

fn joined(args: &[Value]) -> Result<Vec<Range>> {
    let (a, b) = pair(args)?;
    Ok(sets::normalized(a.iter().chain(b).cloned().collect()))
}

fn range_union(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    one(kind(&args[0])?, joined(args)?, "union")
}

fn range_difference(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = pair(args)?;
    let kind = kind(&args[0])?;
    one(kind, sets::difference(kind, a, b), "difference")
}

fn range_intersection(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = pair(args)?;
    let kind = kind(&args[0])?;
    one(kind, sets::intersection(kind, a, b), "intersection")
}

fn union(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    Ok(Multirange::of(kind(&args[0])?, joined(args)?).into_value())
}

fn difference(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = pair(args)?;
    let kind = kind(&args[0])?;
    Ok(Multirange::of(kind, sets::difference(kind, a, b)).into_value())
}

fn intersection(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = pair(args)?;
    let kind = kind(&args[0])?;
    Ok(Multirange::of(kind, sets::intersection(kind, a, b)).into_value())
}

/// The first lower or the last upper bound; none of an empty operand.
fn end(args: &[Value], upper: bool) -> Result<Option<&Bound>> {
    let [value] = args else { return Err(unexpected("a bound", args)) };
    let ranges = ranges(value)?;
    let range = if upper { ranges.last() } else { ranges.first() };
    Ok(range.and_then(|range| range.bounds.as_ref()).map(|(a, b)| if upper { b } else { a }))
}

/// A function of one end: its value, or what it is.
macro_rules! of_end {
    ($upper:literal value) => {
        |_, args| Ok(end(args, $upper)?.and_then(|bound| bound.value.clone()).unwrap_or(Value::Null))
    };
    ($upper:literal $test:expr) => {
        |_, args| {
            let test: fn(&Bound) -> bool = $test;
            Ok(Value::Bool(end(args, $upper)?.is_some_and(test)))
        }
    };
}

macro_rules! ends {
    ($($name:literal $result:expr, $body:expr;)*) => {
        &[$(
            entry($name, None, &[RANGE], $result, $body),
            entry($name, None, &[MULTI], $result, $body),
        )*]
    };
}

static ENDS: &[BuiltinFunction] = ends! {
    "lower" ResultType::ElementOf(0), of_end!(false value);
    "upper" ResultType::ElementOf(0), of_end!(true value);
    "lower_inc" AS_BOOL, of_end!(false |bound| bound.inclusive);
    "upper_inc" AS_BOOL, of_end!(true |bound| bound.inclusive);
    "lower_inf" AS_BOOL, of_end!(false |bound| bound.value.is_none());
    "upper_inf" AS_BOOL, of_end!(true |bound| bound.value.is_none());
    "isempty" AS_BOOL, |_, args| Ok(Value::Bool(end(args, false)?.is_none()));
};

fn merge(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let mut all = Vec::new();
    for arg in args {
        all.extend_from_slice(ranges(arg)?);
    }
    Ok(sets::span(kind(&args[0])?, &all).into_value())
}

fn multirange(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    Ok(Multirange::of(kind(&args[0])?, ranges(&args[0])?.to_vec()).into_value())
}

fn unnest(_: &EvalContext<'_>, args: &[Value]) -> Result<Box<dyn Iterator<Item = Value> + Send>> {
    let ranges = ranges(&args[0])?.to_vec();
    Ok(Box::new(ranges.into_iter().map(Range::into_value)))
}

/// What `range_agg` ends with: the ranges of an array.
fn range_agg(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array)] = args else { return Err(unexpected("range_agg", args)) };
    let mut all = Vec::new();
    let mut of = None;
    for value in array.iter().filter(|value| !value.is_null()) {
        of = Some(kind(value)?);
        all.extend_from_slice(ranges(value)?);
    }
    Ok(of.map_or(Value::Null, |kind| Multirange::of(kind, all).into_value()))
}

fn range_intersect_agg(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(array)] = args else { return Err(unexpected("range_intersect_agg", args)) };
    let mut common: Option<Vec<Range>> = None;
    let (mut of, mut several) = (None, false);
    for value in array.iter().filter(|value| !value.is_null()) {
        let (kind, own) = (kind(value)?, ranges(value)?);
        several = matches!(value, Value::Multirange(_));
        of = Some(kind);
        common = Some(match common {
            None => own.to_vec(),
            Some(common) => sets::intersection(kind, &common, own),
        });
    }
    match of.zip(common) {
        None => Ok(Value::Null),
        Some((kind, common)) if several => Ok(Multirange::of(kind, common).into_value()),
        Some((kind, common)) => one(kind, common, "intersection"),
    }
}

static ALGEBRA: &[BuiltinFunction] = &[
    entry("", Some("@>"), &[RANGE, ELEMENT], AS_BOOL, contains_value),
    entry("", Some("@>"), &[MULTI, ELEMENT], AS_BOOL, contains_value),
    entry("", Some("<@"), &[ELEMENT, RANGE], AS_BOOL, is_contained),
    entry("", Some("<@"), &[ELEMENT, MULTI], AS_BOOL, is_contained),
    entry("range_union", Some("+"), &[RANGE, RANGE], ResultType::SameAs(0), range_union),
    entry("range_minus", Some("-"), &[RANGE, RANGE], ResultType::SameAs(0), range_difference),
    entry("range_intersect", Some("*"), &[RANGE, RANGE], ResultType::SameAs(0), range_intersection),
    entry("multirange_union", Some("+"), &[MULTI, MULTI], ResultType::SameAs(0), union),
    entry("multirange_minus", Some("-"), &[MULTI, MULTI], ResultType::SameAs(0), difference),
    entry("multirange_intersect", Some("*"), &[MULTI, MULTI], ResultType::SameAs(0), intersection),
    entry("range_merge", None, &[RANGE, RANGE], ResultType::SameAs(0), merge),
    entry("range_merge", None, &[MULTI], ResultType::RangeOf(0), merge),
    entry("multirange", None, &[RANGE], ResultType::MultirangeOf(0), multirange),
    function("unnest", None, &[MULTI], ResultType::RangeOf(0), (true, false), Body::Set(unnest)),
    entry("range_agg_end", None, &[ArgType::AnyArray], ResultType::MultirangeOf(0), range_agg),
    entry(
        "range_intersect_agg_end",
        None,
        &[ArgType::AnyArray],
        ResultType::ElementOf(0),
        range_intersect_agg,
    ),
];

/// The range of two bounds that may be NULL, and of the signs of its ends.
fn construct(kind: RangeKind, args: &[Value]) -> Result<Value> {
    let (lower, upper, flags) = match args {
        [lower, upper] => (lower, upper, "[)"),
        [_, _, Value::Null] => {
            return Err(data_exception("range constructor flags argument must not be null"));
        }
        [lower, upper, Value::Text(flags)] => (lower, upper, &**flags),
        _ => return Err(unexpected("a constructor of ranges", args)),
    };
    if !matches!(flags, "[]" | "[)" | "(]" | "()") {
        let error = TypeError::new("42601", "invalid range bound flags");
        return Err(error.with_hint("Valid values are \"[]\", \"[)\", \"(]\", and \"()\".").into());
    }
    let lower = Bound::new(lower, flags.starts_with('['));
    Ok(Range::new(kind, lower, Bound::new(upper, flags.ends_with(']')))?.into_value())
}

fn construct_several(kind: RangeKind, args: &[Value]) -> Result<Value> {
    if let [Value::Null] = args {
        return Ok(Value::Null);
    }
    let mut all = Vec::with_capacity(args.len());
    for arg in args {
        if arg.is_null() {
            let text = "multirange values cannot contain null members";
            return Err(TypeError::new("22004", text).into());
        }
        all.extend_from_slice(ranges(arg)?);
    }
    Ok(Multirange::of(kind, all).into_value())
}

macro_rules! constructors {
    ($($kind:ident $ty:ident $subtype:expr, $range:literal $multirange:literal;)*) => {
        &[$(
            function(
                $range,
                None,
                &[ArgType::Exact($subtype), ArgType::Exact($subtype)],
                ResultType::Fixed(SqlType::Range(RangeType::$ty)),
                (false, false),
                Body::Scalar(|_, args| construct(RangeKind::$kind, args)),
            ),
            function(
                $range,
                None,
                &[ArgType::Exact($subtype), ArgType::Exact($subtype), TEXT],
                ResultType::Fixed(SqlType::Range(RangeType::$ty)),
                (false, false),
                Body::Scalar(|_, args| construct(RangeKind::$kind, args)),
            ),
            entry(
                $multirange,
                None,
                &[],
                ResultType::Fixed(SqlType::Multirange(RangeType::$ty)),
                |_, args| construct_several(RangeKind::$kind, args),
            ),
            function(
                $multirange,
                None,
                &[ArgType::Exact(SqlType::Range(RangeType::$ty))],
                ResultType::Fixed(SqlType::Multirange(RangeType::$ty)),
                (false, true),
                Body::Scalar(|_, args| construct_several(RangeKind::$kind, args)),
            ),
        )*]
    };
}

static CONSTRUCTORS: &[BuiltinFunction] = constructors! {
    Int4 INT4 SqlType::Int4, "int4range" "int4multirange";
    Int8 INT8 SqlType::Int8, "int8range" "int8multirange";
    Num NUM SqlType::Numeric(None), "numrange" "nummultirange";
    Ts TS SqlType::Timestamp(None), "tsrange" "tsmultirange";
    Tstz TSTZ SqlType::Timestamptz(None), "tstzrange" "tstzmultirange";
    Date DATE SqlType::Date, "daterange" "datemultirange";
};

/// The list of ranges that a call of a multirange constructor has after VARIADIC, or in its place.
fn construct_from(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    match args {
        [Value::Array(list)] if list.dimension_count() > 1 => {
            Err(TypeError::new("21000", "multiranges cannot be constructed from multidimensional arrays")
                .into())
        }
        [Value::Array(list)] => construct_several(RangeKind::Own, list),
        args => construct_several(RangeKind::Own, args),
    }
}

const fn of_own(
    name: &'static str,
    args: &'static [ArgType],
    strict: bool,
    body: ScalarFn,
) -> BuiltinFunction {
    // The type that comes out is that of the user's function.
    function(name, None, args, ResultType::Fixed(SqlType::Unknown), (strict, false), Body::Scalar(body))
}

const ANY: ArgType = ArgType::Any;

/// What is behind the functions that come with users' range types, by their bodies.
static OWN_CONSTRUCTORS: [BuiltinFunction; 5] = [
    of_own("range_constructor2", &[ANY, ANY], false, |_, args| construct(RangeKind::Own, args)),
    of_own("range_constructor3", &[ANY, ANY, TEXT], false, |_, args| construct(RangeKind::Own, args)),
    of_own("multirange_constructor0", &[], true, |_, args| construct_several(RangeKind::Own, args)),
    of_own("multirange_constructor1", &[ANY], true, |_, args| construct_several(RangeKind::Own, args)),
    of_own("multirange_constructor2", &[ANY], true, construct_from),
];

/// The function that a body of a [range constructor](verso_catalog::FunctionDef::is_range_constructor) names.
pub fn own_constructor(body: &str) -> Option<&'static BuiltinFunction> {
    OWN_CONSTRUCTORS.iter().find(|function| function.name == body)
}

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 4] = [TESTS, ENDS, ALGEBRA, CONSTRUCTORS];
