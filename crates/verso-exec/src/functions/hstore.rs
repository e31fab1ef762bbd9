//! Functions and operators of PostgreSQL's `hstore`; the values are those of `verso-types`, `opaque/hstore.rs`.

use std::borrow::Cow;
use std::sync::Arc;

use verso_types::opaque::hstore::{Hstore, Pair};
use verso_types::text::type_of;
use verso_types::{Array, Dimension, Jsonb, RowType, SqlType, TypeError, Value, format_text, parse_text};

use super::collected::{Rows, rows};
use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

fn store(value: &Value) -> Result<Hstore<'_>> {
    match value {
        Value::Opaque(value) => Ok(Hstore::of(value)),
        _ => Err(unexpected("hstore", std::slice::from_ref(value))),
    }
}

fn text(value: &Value) -> Result<&str> {
    value.as_str().ok_or_else(|| unexpected("hstore", std::slice::from_ref(value)))
}

fn array(value: &Value) -> Result<&Array> {
    match value {
        Value::Array(array) => Ok(array),
        _ => Err(unexpected("hstore", std::slice::from_ref(value))),
    }
}

fn two(args: &[Value]) -> Result<(&Value, &Value)> {
    match args {
        [a, b] => Ok((a, b)),
        _ => Err(unexpected("hstore", args)),
    }
}

fn one(args: &[Value]) -> Result<Hstore<'_>> {
    args.first().map_or_else(|| Err(unexpected("hstore", args)), store)
}

fn part(text: Option<&str>) -> Value {
    text.map_or(Value::Null, Value::text)
}

fn fetched(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (own, key) = two(args)?;
    Ok(part(store(own)?.get(text(key)?).flatten()))
}

/// With another value of a key; NULL counts as one without keys, and a value may be NULL.
fn with_value(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [own, value, key] = args else { return Err(unexpected("hstore", args)) };
    let Some(key) = key.as_str() else {
        return Err(TypeError::new("22004", "hstore subscript in assignment must not be null").into());
    };
    let mut pairs: Vec<Pair<'_>> = vec![(Cow::Borrowed(key), value.as_str().map(Cow::Borrowed))];
    if !own.is_null() {
        pairs.extend(store(own)?.into_pairs());
    }
    Ok(Hstore::new(pairs).into_value())
}

fn sliced_array(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (own, keys) = two(args)?;
    let (own, keys) = (store(own)?, array(keys)?);
    let found = keys.iter().map(|key| part(key.as_str().and_then(|key| own.get(key)).flatten()));
    Ok(Value::Array(keys.with_values(found.collect())))
}

fn sliced(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (own, keys) = two(args)?;
    let (own, keys) = (store(own)?, array(keys)?);
    let found = keys.iter().filter_map(Value::as_str).filter_map(|key| {
        let value = own.get(key)?;
        Some((Cow::Borrowed(key), value.map(Cow::Borrowed)))
    });
    Ok(Hstore::new(found.collect()).into_value())
}

fn exists(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (own, key) = two(args)?;
    Ok(Value::Bool(store(own)?.get(text(key)?).is_some()))
}

fn is_defined(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (own, key) = two(args)?;
    Ok(Value::Bool(store(own)?.get(text(key)?).flatten().is_some()))
}

/// Keys that are NULL do not count.
fn exists_any(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (own, keys) = two(args)?;
    let own = store(own)?;
    Ok(Value::Bool(array(keys)?.iter().filter_map(Value::as_str).any(|key| own.get(key).is_some())))
}

fn exists_all(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (own, keys) = two(args)?;
    let own = store(own)?;
    Ok(Value::Bool(array(keys)?.iter().filter_map(Value::as_str).all(|key| own.get(key).is_some())))
}

/// The pairs that stay, in their order.
fn kept<'a>(own: Hstore<'a>, stays: impl Fn(&Pair<'a>) -> bool) -> Value {
    Hstore::new(own.into_pairs().into_iter().filter(stays).collect()).into_value()
}

fn without_key(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (own, key) = two(args)?;
    let key = text(key)?;
    Ok(kept(store(own)?, |(own, _)| own != key))
}

fn without_keys(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (own, keys) = two(args)?;
    let mut keys: Vec<&str> = array(keys)?.iter().filter_map(Value::as_str).collect();
    keys.sort_unstable();
    Ok(kept(store(own)?, |(own, _)| keys.binary_search(&&**own).is_err()))
}

fn without_pairs(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (own, other) = two(args)?;
    let other = store(other)?;
    Ok(kept(store(own)?, |(key, value)| other.get(key) != Some(value.as_deref())))
}

/// Of a key that both have the right side's value counts.
fn joined(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (left, right) = two(args)?;
    let (left, mut pairs) = (store(left)?, store(right)?.into_pairs());
    pairs.extend(left.into_pairs());
    Ok(Hstore::new(pairs).into_value())
}

fn has_all(own: &Value, wanted: &Value) -> Result<Value> {
    let (own, wanted) = (store(own)?, store(wanted)?);
    Ok(Value::Bool(wanted.pairs().iter().all(|(key, value)| own.get(key) == Some(value.as_deref()))))
}

fn contains(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (own, wanted) = two(args)?;
    has_all(own, wanted)
}

fn is_contained(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (wanted, own) = two(args)?;
    has_all(own, wanted)
}

/// `hstore(key, value)`: a value may be NULL.
fn of_pair(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (key, value) = two(args)?;
    let Some(key) = key.as_str() else { return Ok(Value::Null) };
    let pair = (Cow::Borrowed(key), value.as_str().map(Cow::Borrowed));
    Ok(Hstore::new(vec![pair]).into_value())
}

/// `hstore(keys, values)`: all values may be missing.
fn of_arrays(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (keys, values) = two(args)?;
    if keys.is_null() {
        return Ok(Value::Null);
    }
    let values = if values.is_null() { None } else { Some(array(values)?) };
    Ok(Hstore::of_arrays(array(keys)?, values)?.into_value())
}

fn of_array(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let list = args.first().map_or_else(|| Err(unexpected("hstore", args)), array)?;
    Ok(Hstore::of_array(list)?.into_value())
}

/// The columns of a row, which may be NULL where its type says them; those of a row without a type are `f1`, `f2`, ….
fn columns(ty: Option<&SqlType>, row: &Value) -> Option<Vec<(Arc<str>, SqlType)>> {
    let named = |of: &RowType| of.fields.iter().map(|(name, ty)| (Arc::clone(name), ty.clone())).collect();
    match (ty, row) {
        (Some(SqlType::Row(of)), Value::Record(values)) if of.fields.len() == values.len() => Some(named(of)),
        (Some(SqlType::Row(of)), Value::Null) if of.of.is_some() => Some(named(of)),
        (Some(SqlType::Record | SqlType::Row(_)), Value::Record(values)) => {
            let column = |(value, n): (&Value, u32)| (format!("f{n}").into(), type_of(value));
            Some(values.iter().zip(1u32..).map(column).collect())
        }
        _ => None,
    }
}

/// `hstore(row)`: its columns by their names, as texts.
fn of_row(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let row = args.first().unwrap_or(&Value::Null);
    let Some(columns) = columns(types.first(), row) else {
        let ty = types.first().map_or_else(String::new, SqlType::pg_name);
        return Err(TypeError::new("42883", format!("function hstore({ty}) does not exist")).into());
    };
    let values: &[Value] = if let Value::Record(values) = row { values } else { &[] };
    let pairs = columns.iter().enumerate().map(|(at, (name, ty))| {
        let value = values.get(at).filter(|value| !value.is_null()).map(|value| {
            let mut text = String::new();
            format_text(value, ty, cx.services.time_zone, &mut text);
            Cow::Owned(text)
        });
        (Cow::Borrowed(&**name), value)
    });
    Ok(Hstore::new(pairs.collect()).into_value())
}

/// `row #= hstore`: the row with the values of keys that are called like its columns.
fn filled(cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let (row, own) = two(args)?;
    if own.is_null() {
        return Ok(row.clone());
    }
    let own = store(own)?;
    if !row.is_null() && own.pairs().is_empty() {
        return Ok(row.clone());
    }
    if types.first().is_some_and(SqlType::has_constrained_fields) {
        let text = "hstore in a row with columns of domains is not supported";
        return Err(TypeError::new("0A000", text).into());
    }
    let Some(columns) = columns(types.first(), row) else {
        return Err(TypeError::new("42804", "first argument must be a rowtype").into());
    };
    let before: &[Value] = if let Value::Record(values) = row { values } else { &[] };
    let values = columns.iter().enumerate().map(|(at, (name, ty))| match own.get(name) {
        Some(Some(text)) => Ok(parse_text(ty, text, cx.services.time_zone)?),
        Some(None) => Ok(Value::Null),
        None => Ok(before.get(at).cloned().unwrap_or(Value::Null)),
    });
    Ok(Value::Record(values.collect::<Result<Vec<_>>>()?.into()))
}

fn keys(own: &Hstore<'_>) -> Vec<Value> {
    own.pairs().iter().map(|(key, _)| Value::text(key)).collect()
}

fn values(own: &Hstore<'_>) -> Vec<Value> {
    own.pairs().iter().map(|(_, value)| part(value.as_deref())).collect()
}

fn in_turn(own: &Hstore<'_>) -> Vec<Value> {
    own.pairs().iter().flat_map(|(key, value)| [Value::text(key), part(value.as_deref())]).collect()
}

fn matrix(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let own = one(args)?;
    let length = i32::try_from(own.pairs().len()).map_err(|_| TypeError::out_of_range("integer"))?;
    if length == 0 {
        return Ok(Value::Array(Array::default()));
    }
    let shape = [length, 2].map(|length| Dimension { length, lower: 1 });
    Ok(Value::Array(Array::shaped(in_turn(&own), &shape)?))
}

fn key_rows(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    rows(cx, keys(&one(args)?).into_iter().map(Ok))
}

fn value_rows(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    rows(cx, values(&one(args)?).into_iter().map(Ok))
}

fn pair_rows(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let own = one(args)?;
    let row = |(key, value): &Pair<'_>| {
        Ok(Value::Record([Value::text(key), part(value.as_deref())].as_slice().into()))
    };
    rows(cx, own.pairs().iter().map(row))
}

pub(super) fn json(args: &[Value], loose: bool) -> Result<Value> {
    Ok(Value::text(&one(args)?.json(loose)?))
}

fn jsonb(args: &[Value], loose: bool) -> Result<Value> {
    Ok(Value::Jsonb(Jsonb::parse(&one(args)?.json(loose)?)?))
}

const HSTORE: SqlType = SqlType::System(verso_types::SystemType::Hstore);
const H: ArgType = ArgType::Exact(HSTORE);
const T: ArgType = ArgType::Exact(SqlType::Text);
const TEXTS: ArgType = ArgType::ArrayOf(SqlType::Text);
const STORE: ResultType = ResultType::Fixed(HSTORE);
const TEXT: ResultType = ResultType::Fixed(SqlType::Text);
const LIST: ResultType = ResultType::FixedArray(SqlType::Text);
const TRUTH: ResultType = ResultType::Fixed(SqlType::Bool);
const JSON: ResultType = ResultType::Fixed(SqlType::Json);
const JSONB: ResultType = ResultType::Fixed(SqlType::Jsonb);
const PAIRS: ResultType = ResultType::Columns(&[("key", SqlType::Text), ("value", SqlType::Text)]);

/// A strict function, perhaps behind an operator.
const fn function(
    name: &'static str,
    operator: Option<&'static str>,
    args: &'static [ArgType],
    result: ResultType,
    body: Body,
) -> BuiltinFunction {
    BuiltinFunction {
        name,
        operator,
        args,
        variadic: false,
        result,
        strict: true,
        volatility: Volatility::Immutable,
        body,
        kernel: None,
    }
}

/// One that looks at its NULLs itself.
const fn of_nulls(
    name: &'static str,
    operator: Option<&'static str>,
    args: &'static [ArgType],
    result: ResultType,
    body: Body,
) -> BuiltinFunction {
    let mut made = function(name, operator, args, result, body);
    made.strict = false;
    made
}

/// `store['key']`: the value of the key. The binder writes it.
pub static SUBSCRIPT: BuiltinFunction = function("", Some("[h]"), &[H, T], TEXT, Body::Scalar(fetched));
/// `store['key'] = value`: store, value, key. The binder writes it.
pub static SET_SUBSCRIPT: BuiltinFunction =
    of_nulls("", Some("[h]="), &[H, T, T], STORE, Body::Scalar(with_value));

static FUNCTIONS: &[BuiltinFunction] = &[
    function("fetchval", Some("->"), &[H, T], TEXT, Body::Scalar(fetched)),
    function("slice_array", Some("->"), &[H, TEXTS], LIST, Body::Scalar(sliced_array)),
    function("slice", None, &[H, TEXTS], STORE, Body::Scalar(sliced)),
    function("exist", Some("?"), &[H, T], TRUTH, Body::Scalar(exists)),
    function("isexists", None, &[H, T], TRUTH, Body::Scalar(exists)),
    function("defined", None, &[H, T], TRUTH, Body::Scalar(is_defined)),
    function("isdefined", None, &[H, T], TRUTH, Body::Scalar(is_defined)),
    function("exists_any", Some("?|"), &[H, TEXTS], TRUTH, Body::Scalar(exists_any)),
    function("exists_all", Some("?&"), &[H, TEXTS], TRUTH, Body::Scalar(exists_all)),
    function("delete", Some("-"), &[H, T], STORE, Body::Scalar(without_key)),
    function("delete", Some("-"), &[H, TEXTS], STORE, Body::Scalar(without_keys)),
    function("delete", Some("-"), &[H, H], STORE, Body::Scalar(without_pairs)),
    function("hs_concat", Some("||"), &[H, H], STORE, Body::Scalar(joined)),
    function("hs_contains", Some("@>"), &[H, H], TRUTH, Body::Scalar(contains)),
    function("hs_contained", Some("<@"), &[H, H], TRUTH, Body::Scalar(is_contained)),
    of_nulls("hstore", None, &[T, T], STORE, Body::Scalar(of_pair)),
    of_nulls("tconvert", None, &[T, T], STORE, Body::Scalar(of_pair)),
    of_nulls("hstore", None, &[TEXTS, TEXTS], STORE, Body::Scalar(of_arrays)),
    function("hstore", None, &[TEXTS], STORE, Body::Scalar(of_array)),
    of_nulls("hstore", None, &[ArgType::AnyElement], STORE, Body::Typed(of_row)),
    of_nulls(
        "populate_record",
        Some("#="),
        &[ArgType::AnyElement, H],
        ResultType::SameAs(0),
        Body::Typed(filled),
    ),
    function("akeys", None, &[H], LIST, Body::Scalar(|_, args| Ok(Value::Array(keys(&one(args)?).into())))),
    function("avals", None, &[H], LIST, Body::Scalar(|_, args| Ok(Value::Array(values(&one(args)?).into())))),
    function(
        "hstore_to_array",
        Some("%%"),
        &[H],
        LIST,
        Body::Scalar(|_, args| Ok(Value::Array(in_turn(&one(args)?).into()))),
    ),
    function("hstore_to_matrix", Some("%#"), &[H], LIST, Body::Scalar(matrix)),
    function("skeys", None, &[H], TEXT, Body::Set(key_rows)),
    function("svals", None, &[H], TEXT, Body::Set(value_rows)),
    function("each", None, &[H], PAIRS, Body::Set(pair_rows)),
    function("hstore_to_json", None, &[H], JSON, Body::Scalar(|_, args| json(args, false))),
    function("hstore_to_json_loose", None, &[H], JSON, Body::Scalar(|_, args| json(args, true))),
    function("hstore_to_jsonb", None, &[H], JSONB, Body::Scalar(|_, args| jsonb(args, false))),
    function("hstore_to_jsonb_loose", None, &[H], JSONB, Body::Scalar(|_, args| jsonb(args, true))),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [FUNCTIONS];
