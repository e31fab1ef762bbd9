//! `jsonb_path_query` and its relatives, `@?` and `@@`.

use std::cell::RefCell;
use std::rc::Rc;

use verso_types::json::path::JsonPath;
use verso_types::json::{JsonRef, Jsonb, Node};
use verso_types::{Opaque, OpaqueKind, SqlType, SystemType, TypeError, Value};

use super::path_eval::{Item, Sink, Variables, Walk, flaw, into_value, quiet};
use super::types::{AS_BOOL, AS_JSONB, BOOL, JSONB};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::define::unexpected;
use crate::functions::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

type Rows = Box<dyn Iterator<Item = Value> + Send>;

const PATH: ArgType = ArgType::Exact(SqlType::System(SystemType::JsonPath));

thread_local! {
    /// The path that was used last: most statements use one for all their rows.
    static LAST: RefCell<Option<(Box<str>, Rc<JsonPath>)>> = const { RefCell::new(None) };
}

/// The text of a value of type `jsonpath`.
pub(super) fn text_of_path(path: &Opaque) -> Result<&str> {
    match path.kind() {
        OpaqueKind::JsonPath => {
            Ok(std::str::from_utf8(path.bytes()).map_err(|_| TypeError::corrupt("jsonpath"))?)
        }
        _ => Err(TypeError::corrupt("jsonpath").into()),
    }
}

pub(super) fn path_of(text: &str) -> Result<Rc<JsonPath>> {
    LAST.with_borrow_mut(|last| {
        if let Some((known, path)) = last
            && **known == *text
        {
            return Ok(Rc::clone(path));
        }
        let path = Rc::new(JsonPath::parse(text)?);
        *last = Some((text.into(), Rc::clone(&path)));
        Ok(path)
    })
}

/// How a path is applied.
#[derive(Clone, Copy)]
struct How {
    /// Is what goes wrong NULL?
    silent: bool,
    /// May the session's zone be used?
    zones: bool,
    /// Is the first item enough, as long as nothing can go wrong behind it?
    exists: bool,
}

/// Applies `use_items` to what a path finds; none where it goes wrong and is to be silent. The arguments are a document and
/// a path, perhaps variables, perhaps whether to be silent.
fn found<T>(
    cx: &EvalContext<'_>,
    args: &[Value],
    how: How,
    use_items: impl FnOnce(Vec<Item<'_>>) -> Result<T>,
) -> Result<Option<T>> {
    let (Some(Value::Jsonb(document)), Some(Value::Opaque(path))) = (args.first(), args.get(1)) else {
        return Err(unexpected("a path", args));
    };
    let text = text_of_path(path)?;
    let variables = match args.get(2) {
        Some(Value::Jsonb(variables)) => {
            if !matches!(variables.root(), JsonRef::Object(_)) {
                let error = TypeError::new("22023", "\"vars\" argument is not an object");
                let detail = "Jsonpath parameters should be encoded as key-value pairs of \"vars\" object.";
                return Err(error.with_detail(detail).into());
            }
            Variables::Object(variables.bytes())
        }
        _ => Variables::None,
    };
    let silent = how.silent || matches!(args.get(3), Some(Value::Bool(true)));
    let path = path_of(text)?;
    let walk = Walk::new(cx, &path, document.bytes(), variables, how.zones);
    let mut sink = Sink { first_only: how.exists && path.lax, ..Sink::all() };
    let outcome = walk.run(&mut sink);
    if !silent {
        outcome?;
        return use_items(sink.items).map(Some);
    }
    match quiet(outcome)? {
        None if how.exists => Ok(None),
        // what was found before it went wrong counts
        _ => quiet(use_items(sink.items)),
    }
}

fn or_null(result: Result<Option<Value>>) -> Result<Value> {
    Ok(result?.unwrap_or(Value::Null))
}

fn exists(cx: &EvalContext<'_>, args: &[Value], how: How) -> Result<Value> {
    let how = How { exists: true, ..how };
    or_null(found(cx, args, how, |items| Ok(Value::Bool(!items.is_empty()))))
}

fn matches(cx: &EvalContext<'_>, args: &[Value], how: How) -> Result<Value> {
    or_null(found(cx, args, how, |items| match items.as_slice() {
        [item] if let Some(JsonRef::Bool(value)) = item.json() => Ok(Value::Bool(value)),
        [item] if let Some(JsonRef::Null) = item.json() => Ok(Value::Null),
        _ => Err(flaw("22038", "single boolean result is expected")),
    }))
}

fn values(cx: &EvalContext<'_>, args: &[Value], how: How) -> Result<Vec<Value>> {
    let all = |items: Vec<Item<'_>>| items.into_iter().map(|item| into_value(item, cx)).collect();
    Ok(found(cx, args, how, all)?.unwrap_or_default())
}

fn query_array(cx: &EvalContext<'_>, args: &[Value], how: How) -> Result<Value> {
    let values = values(cx, args, how)?;
    let bytes = |value: Value| match value {
        Value::Jsonb(value) => Node::Encoded(Jsonb::bytes(&value).to_vec()),
        _ => Node::Null,
    };
    super::encoded(Node::Array(values.into_iter().map(bytes).collect()))
}

fn query_first(cx: &EvalContext<'_>, args: &[Value], how: How) -> Result<Value> {
    let first = |items: Vec<Item<'_>>| match items.into_iter().next() {
        Some(item) => into_value(item, cx),
        None => Ok(Value::Null),
    };
    or_null(found(cx, args, how, first))
}

const LOUD: How = How { silent: false, zones: false, exists: false };
const ZONED: How = How { zones: true, ..LOUD };
const SILENT: How = How { silent: true, ..LOUD };

const fn entry(
    name: &'static str,
    operator: Option<&'static str>,
    args: &'static [ArgType],
    result: ResultType,
    volatility: Volatility,
    body: Body,
) -> BuiltinFunction {
    BuiltinFunction {
        name,
        operator,
        args,
        variadic: false,
        result,
        strict: true,
        volatility,
        body,
        kernel: None,
    }
}

/// A function of a document and a path, perhaps with variables, perhaps silent; and the one that uses zones.
macro_rules! path_functions {
    ($($name:literal $zoned:literal $result:expr, $kind:ident $f:ident;)*) => {
        &[$(
            path_functions!(one $name $result, Immutable, $kind, LOUD, $f, [JSONB, PATH]),
            path_functions!(one $name $result, Immutable, $kind, LOUD, $f, [JSONB, PATH, JSONB]),
            path_functions!(one $name $result, Immutable, $kind, LOUD, $f, [JSONB, PATH, JSONB, BOOL]),
            path_functions!(one $zoned $result, Stable, $kind, ZONED, $f, [JSONB, PATH]),
            path_functions!(one $zoned $result, Stable, $kind, ZONED, $f, [JSONB, PATH, JSONB]),
            path_functions!(one $zoned $result, Stable, $kind, ZONED, $f, [JSONB, PATH, JSONB, BOOL]),
        )*]
    };
    (one $name:literal $result:expr, $volatility:ident, Scalar, $how:ident, $f:ident, $args:expr) => {
        entry($name, None, &$args, $result, Volatility::$volatility, Body::Scalar(|cx, args| $f(cx, args, $how)))
    };
    (one $name:literal $result:expr, $volatility:ident, Set, $how:ident, $f:ident, $args:expr) => {
        entry($name, None, &$args, $result, Volatility::$volatility, Body::Set(|cx, args| {
            let rows: Rows = Box::new($f(cx, args, $how)?.into_iter());
            Ok(rows)
        }))
    };
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = path_functions! {
    "jsonb_path_exists" "jsonb_path_exists_tz" AS_BOOL, Scalar exists;
    "jsonb_path_match" "jsonb_path_match_tz" AS_BOOL, Scalar matches;
    "jsonb_path_query" "jsonb_path_query_tz" AS_JSONB, Set values;
    "jsonb_path_query_array" "jsonb_path_query_array_tz" AS_JSONB, Scalar query_array;
    "jsonb_path_query_first" "jsonb_path_query_first_tz" AS_JSONB, Scalar query_first;
};

pub(super) static OPERATORS: &[BuiltinFunction] = &[
    entry(
        "",
        Some("@?"),
        &[JSONB, PATH],
        AS_BOOL,
        Volatility::Immutable,
        Body::Scalar(|cx, args| exists(cx, args, SILENT)),
    ),
    entry(
        "",
        Some("@@"),
        &[JSONB, PATH],
        AS_BOOL,
        Volatility::Immutable,
        Body::Scalar(|cx, args| matches(cx, args, SILENT)),
    ),
];
