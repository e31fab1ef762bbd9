//! JSON_EXISTS, JSON_VALUE, JSON_QUERY, and the rows of JSON_TABLE.
//!
//! ```text
//! document ─ path ─► items ─ test ─► no item: ON EMPTY
//!                      │       └──► one value ─ type ─► the result
//!                      └ what goes wrong with data, anywhere: ON ERROR
//! ```
//!
//! JSON_VALUE gives the item's text to the input function of the type; JSON_QUERY makes of arrays and objects the elements
//! and fields of arrays and rows.
//!
//! Source: PostgreSQL's `ExecEvalJsonExprPath` and `jsonpath_exec.c`.

use std::borrow::Cow;
use std::sync::Arc;

use verso_types::json::path::JsonPath;
use verso_types::json::{self, JsonRef, Jsonb};
use verso_types::{SqlType, TypeError, Value, format_text, parse_text};

use super::encode::to_jsonb;
use super::expand::row_value;
use super::filled::array_of;
use super::path::{path_of, text_of_path};
use super::path_eval::{self, Item, Sink, Walk, flaw, into_value};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use crate::functions::define::unexpected;
use crate::plan::{JsonPathCall, JsonPathTest, JsonWrapping};

/// Whether an error is one that ON ERROR catches: of the data, not of the path or the machine.
pub(crate) fn is_about_data(error: &ExecError) -> bool {
    match error {
        ExecError::Type(error) => error.sqlstate.starts_with("22") && error.sqlstate != "2201B",
        ExecError::Domain(_) => true,
        _ => false,
    }
}

/// The same of a value of a type: names that mean no object (`regclass` and its relatives) are data, too.
pub(crate) fn is_about_value(error: &ExecError, ty: &SqlType) -> bool {
    let names_objects = matches!(ty, SqlType::System(system) if system.is_reference());
    let unnamed =
        |error: &TypeError| matches!(error.sqlstate, "42P01" | "42602" | "42704" | "42725" | "42883");
    is_about_data(error) || names_objects && matches!(error, ExecError::Type(error) if unnamed(error))
}

/// The values of PASSING as a path sees them.
pub(crate) struct Variables(Vec<(Arc<str>, Item<'static>)>);

impl Variables {
    pub(crate) fn of(
        cx: &EvalContext<'_>,
        names: &[Arc<str>],
        values: &[Value],
        types: &[SqlType],
    ) -> Result<Variables> {
        let item = |((name, value), ty): ((&Arc<str>, &Value), &SqlType)| {
            let item = match (value, ty) {
                // JSON has it by the clock of UTC, whatever the session's is.
                (Value::Timestamptz(_), _) => Item::Time(value.clone(), ty.clone(), Some(0)),
                (Value::Date(_) | Value::Time(_) | Value::Timestamp(_), _)
                | (Value::Opaque(_), SqlType::Timetz(_)) => Item::Time(value.clone(), ty.clone(), None),
                (Value::Null, _) => Item::of(json::Node::Null)?,
                _ => match to_jsonb(cx, std::slice::from_ref(value), std::slice::from_ref(ty))? {
                    Value::Jsonb(value) => Item::Json(Cow::Owned(value.bytes().to_vec())),
                    other => return Err(unexpected("PASSING", &[other])),
                },
            };
            Ok((Arc::clone(name), item))
        };
        Ok(Variables(names.iter().zip(values).zip(types).map(item).collect::<Result<_>>()?))
    }
}

/// What a path finds in a document.
pub(super) fn with_items<T>(
    cx: &EvalContext<'_>,
    document: &Jsonb,
    path: &JsonPath,
    variables: &Variables,
    exists: bool,
    use_items: impl FnOnce(Vec<Item<'_>>) -> Result<T>,
) -> Result<T> {
    let variables = match variables.0.as_slice() {
        [] => path_eval::Variables::None,
        items => path_eval::Variables::Items(items),
    };
    let walk = Walk::new(cx, path, document.bytes(), variables, true);
    let mut sink = Sink { first_only: exists && path.lax, ..Sink::all() };
    walk.run(&mut sink)?;
    use_items(sink.items)
}

/// What a form finds.
pub(crate) enum Found {
    Value(Value),
    Nothing,
}

/// One of the forms, with the type of its result.
pub(crate) struct Form {
    test: JsonPathTest,
    wrapping: JsonWrapping,
    omit_quotes: bool,
    column: Option<Arc<str>>,
    ty: SqlType,
    /// The value is one of a domain, which takes texts as its type does.
    in_domain: bool,
}

impl Form {
    pub(crate) fn of(call: &JsonPathCall, ty: &SqlType) -> Form {
        Form {
            test: call.test,
            wrapping: call.wrapping,
            omit_quotes: call.omit_quotes,
            column: call.column.clone(),
            ty: ty.clone(),
            in_domain: call.domain.is_some(),
        }
    }

    /// The value that a document yields.
    pub(crate) fn apply(
        &self,
        cx: &EvalContext<'_>,
        document: &Value,
        path: &Value,
        variables: &Variables,
    ) -> Result<Found> {
        let (Value::Jsonb(document), Value::Opaque(path)) = (document, path) else {
            return Err(unexpected(self.test.name(), &[document.clone(), path.clone()]));
        };
        let exists = self.test == JsonPathTest::Exists;
        with_items(cx, document, &*path_of(text_of_path(path)?)?, variables, exists, |items| {
            match self.test {
                JsonPathTest::Exists => Ok(Found::Value(Value::Bool(!items.is_empty()))),
                JsonPathTest::Value => self.value(cx, items),
                JsonPathTest::Query => self.query(cx, items),
            }
        })
    }

    /// 22035
    #[cold]
    pub(crate) fn nothing_found(&self) -> ExecError {
        let of = self.column.as_ref().map(|column| format!(" of column \"{column}\"")).unwrap_or_default();
        flaw("22035", format!("no SQL/JSON item found for specified path{of}"))
    }

    #[cold]
    fn must_return(&self, sqlstate: &'static str, what: &str) -> TypeError {
        let whose = match &self.column {
            Some(column) => format!("for column \"{column}\""),
            None => format!("in {}", self.test.name()),
        };
        TypeError::new(sqlstate, format!("JSON path expression {whose} must return {what}"))
    }

    fn value(&self, cx: &EvalContext<'_>, items: Vec<Item<'_>>) -> Result<Found> {
        let mut items = items.into_iter();
        let Some(item) = items.next() else { return Ok(Found::Nothing) };
        if items.next().is_some() {
            return Err(self.must_return("22034", "single scalar item").into());
        }
        let mut text = String::new();
        match (&item, item.json()) {
            (_, Some(JsonRef::Null)) => return Ok(Found::Value(Value::Null)),
            (_, Some(JsonRef::Array(_) | JsonRef::Object(_))) => {
                return Err(self.must_return("2203F", "single scalar item").into());
            }
            _ if matches!(self.ty, SqlType::Json | SqlType::Jsonb) && !self.in_domain => {
                let value = into_value(item, cx)?;
                return self.typed_json(value).map(Found::Value);
            }
            (_, Some(JsonRef::String(string))) => text.push_str(string),
            // as the type boolean writes it
            (_, Some(JsonRef::Bool(value))) => text.push(if value { 't' } else { 'f' }),
            (_, Some(value)) => json::format_into(value, &mut text),
            (Item::Time(value, ty, _), None) => format_text(value, ty, cx.services.time_zone, &mut text),
            (Item::Json(_), None) => return Ok(Found::Nothing),
        }
        Ok(Found::Value(match &self.ty {
            SqlType::Text => Value::Text(text.into()),
            ty => parse_text(ty, &text, cx.services.time_zone)?,
        }))
    }

    fn query(&self, cx: &EvalContext<'_>, items: Vec<Item<'_>>) -> Result<Found> {
        let count = items.len();
        let wraps = match self.wrapping {
            JsonWrapping::Never => false,
            JsonWrapping::Conditional => count > 1,
            JsonWrapping::Always => count > 0,
        };
        let values: Vec<Value> = items.into_iter().map(|item| into_value(item, cx)).collect::<Result<_>>()?;
        let value = if wraps {
            let node = |value: &Value| match value {
                Value::Jsonb(value) => json::Node::Encoded(value.bytes().to_vec()),
                _ => json::Node::Null,
            };
            super::encoded(json::Node::Array(values.iter().map(node).collect()))?
        } else {
            if count > 1 {
                let error = self.must_return("22034", "single item when no wrapper is requested");
                let hint = "Use the WITH WRAPPER clause to wrap SQL/JSON items into an array.";
                return Err(error.with_hint(hint).into());
            }
            match values.into_iter().next() {
                Some(value) => value,
                None => return Ok(Found::Nothing),
            }
        };
        populated(cx, &value, &self.ty, self.omit_quotes).map(Found::Value)
    }

    /// A jsonb as the type `json` or `jsonb`.
    fn typed_json(&self, value: Value) -> Result<Value> {
        match (&self.ty, &value) {
            (SqlType::Json, Value::Jsonb(document)) => {
                let mut text = String::new();
                json::format_into(document.root(), &mut text);
                Ok(Value::Text(text.into()))
            }
            _ => Ok(value),
        }
    }
}

/// A jsonb as a value of a type: arrays and rows take its elements and members. Without quotes it is the text of a value, whatever
/// the type. `null` is a text, too.
pub(super) fn populated(
    cx: &EvalContext<'_>,
    value: &Value,
    ty: &SqlType,
    omit_quotes: bool,
) -> Result<Value> {
    let Value::Jsonb(document) = value else { return Ok(Value::Null) };
    let tz = cx.services.time_zone;
    let mut text = String::new();
    match document.root() {
        JsonRef::String(string) if omit_quotes => text.push_str(string),
        root => json::format_into(root, &mut text),
    }
    match ty {
        SqlType::Jsonb if omit_quotes => Ok(Value::Jsonb(Jsonb::parse(&text)?)),
        SqlType::Jsonb => Ok(value.clone()),
        SqlType::Json => {
            if omit_quotes {
                json::validate(&text)?;
            }
            Ok(Value::Text(text.into()))
        }
        SqlType::Array(element) if !omit_quotes => array_of(&text, element, None, tz),
        SqlType::Row(row) if !omit_quotes => row_value(&text, row, &Value::Null, tz),
        _ => Ok(parse_text(ty, &text, tz)?),
    }
}
