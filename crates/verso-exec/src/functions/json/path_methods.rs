//! Methods of the path language: `.size()`, `.double()`, `.datetime()` and the others.

use verso_types::json::path::{Expr, Method};
use verso_types::json::{JsonRef, Node};
use verso_types::text::{parse_bool, parse_f64};
use verso_types::{
    CastKind, Decimal, LongSpec, Number, SqlType, TimeStyle, TimeZone, TypeError, Value, cast, parse_text,
};

use super::encode::iso_text;
use super::path_eval::{Item, Walk, flaw};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::calendar::overflow;
use crate::functions::date_templates::read_standard;

/// A date or time as JSON has it.
pub(super) fn time_text(
    value: &Value,
    ty: &SqlType,
    clock: Option<i32>,
    cx: &EvalContext<'_>,
) -> Result<String> {
    match clock {
        None => Ok(iso_text(value, ty, cx.services.time_zone)),
        // By the clock that it was read from, whatever the session's is.
        Some(offset) => {
            let zone = jiff::tz::Offset::from_seconds(offset).map(TimeZone::fixed);
            let zone = zone.map_err(|_| overflow("timestamp out of range"))?;
            Ok(iso_text(value, ty, &TimeStyle { zone, ..cx.services.time_zone.clone() }))
        }
    }
}

fn type_name(item: &Item<'_>) -> &'static str {
    match (item, item.json()) {
        (Item::Time(_, ty, _), _) => ty.base_name(),
        (_, Some(JsonRef::Null)) => "null",
        (_, Some(JsonRef::Bool(_))) => "boolean",
        (_, Some(JsonRef::Number(_) | JsonRef::Long(_))) => "number",
        (_, Some(JsonRef::String(_))) => "string",
        (_, Some(JsonRef::Array(_))) => "array",
        _ => "object",
    }
}

/// The argument of a method that is a whole number.
fn whole(arg: &Expr) -> Option<i64> {
    match arg {
        Expr::Number(number) => number.to_i64(),
        _ => None,
    }
}

/// What `.decimal(precision, scale)` asks for: any `numeric(p,s)`.
fn spec_of(precision: i64, scale: i64) -> Result<LongSpec> {
    let refused = |what: &str, given: i64, least: i64| {
        let text = format!("NUMERIC {what} {given} must be between {least} and 1000");
        Err(flaw("22023", text))
    };
    match (u16::try_from(precision), i16::try_from(scale)) {
        (Ok(precision @ 1..=1000), Ok(scale @ -1000..=1000)) => Ok(LongSpec { precision, scale }),
        (Ok(1..=1000), _) => refused("scale", scale, -1000),
        _ => refused("precision", precision, 1),
    }
}

impl<'a> Walk<'a> {
    /// What a method yields for an item.
    pub(super) fn method(&self, method: Method, args: &[Expr], item: Item<'a>) -> Result<Vec<Item<'a>>> {
        let name = method.name();
        let only = |sqlstate: &'static str, what: &str| {
            Err(flaw(sqlstate, format!("jsonpath item method .{name}() can only be applied to {what}")))
        };
        let node = match (method, item.json()) {
            (Method::Type, _) => Node::String(type_name(&item).into()),
            (Method::Size, Some(JsonRef::Array(array))) => Node::Number(Decimal::from(array.len() as i64)),
            (Method::Size, _) if self.path.lax => Node::Number(Decimal::ONE),
            (Method::Size, _) => return only("22039", "an array"),
            (Method::Abs, Some(JsonRef::Number(number))) => Node::Number(number.abs()),
            (Method::Floor, Some(JsonRef::Number(number))) => Node::Number(number.floor()),
            (Method::Ceiling, Some(JsonRef::Number(number))) => Node::Number(number.ceil()),
            (Method::Abs, Some(JsonRef::Long(number))) => Node::of_number(&number.number().abs())?,
            (Method::Floor, Some(JsonRef::Long(number))) => Node::of_number(&number.number().floor())?,
            (Method::Ceiling, Some(JsonRef::Long(number))) => Node::of_number(&number.number().ceil())?,
            (Method::Abs | Method::Floor | Method::Ceiling, _) => return only("22036", "a numeric value"),
            (Method::KeyValue, Some(JsonRef::Object(object))) => {
                let id = match &item {
                    // where it stands in the document tells objects apart
                    Item::Json(std::borrow::Cow::Borrowed(bytes)) => {
                        (bytes.as_ptr() as usize).wrapping_sub(self.root.as_ptr() as usize)
                    }
                    _ => 0,
                };
                let pair = |(key, raw): (&str, &[u8])| {
                    Item::of(Node::Object(vec![
                        ("key".into(), Node::String(key.into())),
                        ("value".into(), Node::Encoded(raw.to_vec())),
                        ("id".into(), Node::Number(Decimal::from(id as i64))),
                    ]))
                };
                return object.iter_raw().map(pair).collect();
            }
            (Method::KeyValue, _) => return only("2203C", "an object"),
            (Method::Boolean, Some(JsonRef::Bool(value))) => Node::Bool(value),
            (Method::Boolean, Some(JsonRef::Number(number))) => {
                let value = number.to_i64().filter(|_| number.scale() == 0);
                let value = value.and_then(|value| i32::try_from(value).ok());
                Node::Bool(value.ok_or_else(|| self.invalid(method, &number.to_string(), "boolean"))? != 0)
            }
            (Method::Boolean, Some(JsonRef::Long(number))) => {
                return Err(self.invalid(method, &number.number().to_string(), "boolean"));
            }
            (Method::Boolean, Some(JsonRef::String(text))) => {
                Node::Bool(parse_bool(text).map_err(|_| self.invalid(method, text, "boolean"))?)
            }
            (Method::Boolean, _) => return only("22036", "a boolean, string, or numeric value"),
            (Method::String, Some(JsonRef::String(text))) => Node::String(text.into()),
            (Method::String, Some(JsonRef::Number(number))) => Node::String(number.to_string()),
            (Method::String, Some(JsonRef::Long(number))) => Node::String(number.number().to_string()),
            (Method::String, Some(JsonRef::Bool(value))) => Node::String(value.to_string()),
            (Method::String, None) => match &item {
                Item::Time(value, ty, clock) => Node::String(time_text(value, ty, *clock, self.cx)?),
                Item::Json(_) => return Ok(Vec::new()),
            },
            (Method::String, _) => return only("22036", "a boolean, string, numeric, or datetime value"),
            (
                Method::Double | Method::BigInt | Method::Integer | Method::Number | Method::Decimal,
                Some(JsonRef::Number(_) | JsonRef::Long(_) | JsonRef::String(_)),
            ) => self.number(method, args, &item)?,
            (Method::Double | Method::BigInt | Method::Integer | Method::Number | Method::Decimal, _) => {
                return only("22036", "a string or numeric value");
            }
            (_, Some(JsonRef::String(text))) => return Ok(vec![self.time(method, args, text)?]),
            _ => return only("22031", "a string"),
        };
        Ok(vec![Item::of(node)?])
    }

    fn invalid(&self, method: Method, text: &str, ty: &str) -> crate::error::ExecError {
        let name = method.name();
        let text = format!("argument \"{text}\" of jsonpath item method .{name}() is invalid for type {ty}");
        flaw("22036", text)
    }

    fn number(&self, method: Method, args: &[Expr], item: &Item<'_>) -> Result<Node> {
        let (text, number) = match item.json() {
            Some(JsonRef::String(text)) => (text.to_string(), None),
            Some(JsonRef::Number(number)) => (number.to_string(), Some(Value::Numeric(number))),
            Some(JsonRef::Long(number)) => {
                let number = number.number();
                (number.to_string(), Some(number.value()?))
            }
            _ => (String::new(), None),
        };
        let (ty, name) = match method {
            Method::BigInt => (SqlType::Int8, "bigint"),
            Method::Integer => (SqlType::Int4, "integer"),
            Method::Double => (SqlType::Float8, "double precision"),
            _ => (SqlType::Numeric(None), "numeric"),
        };
        let wrong = |_| self.invalid(method, &text, name);
        let value = match (method, number) {
            (Method::Double, _) => Value::Float8(parse_f64(&text).map_err(wrong)?),
            (_, Some(number)) => {
                let kind = CastKind::Explicit;
                let from = SqlType::Numeric(None);
                cast(&number, &from, &ty, kind, self.cx.services.time_zone).map_err(wrong)?
            }
            (_, None) => parse_text(&ty, &text, self.cx.services.time_zone).map_err(wrong)?,
        };
        let value = match value {
            Value::Float8(v) if !v.is_finite() => {
                let name = method.name();
                let text = format!("NaN or Infinity is not allowed for jsonpath item method .{name}()");
                return Err(flaw("22036", text));
            }
            Value::Float8(v) => Number::value_of_float(v, false)?,
            other => other,
        };
        let node = |value: &Value| {
            let number = Number::of(value).ok_or_else(TypeError::numeric_overflow);
            number.and_then(|number| Node::of_number(&number)).map_err(wrong)
        };
        let number = match value {
            number @ (Value::Numeric(_) | Value::Big(_)) => number,
            other => Value::Numeric(Decimal::from(other.as_i64().unwrap_or(0))),
        };
        let [precision, scale @ ..] = args else { return node(&number) };
        let spec = spec_of(
            whole(precision).unwrap_or(0),
            scale.first().map_or(Some(0), whole).unwrap_or(i64::from(i32::MAX)),
        )?;
        let (from, to) = (SqlType::Numeric(None), SqlType::LongNumeric(spec));
        match cast(&number, &from, &to, CastKind::Explicit, self.cx.services.time_zone) {
            Ok(number) => node(&number),
            Err(_) => Err(self.invalid(method, &text, "numeric")),
        }
    }

    /// A date or time that a text spells in ISO 8601.
    fn time(&self, method: Method, args: &[Expr], text: &str) -> Result<Item<'a>> {
        if let [Expr::String(template)] = args {
            let (value, ty, clock) = read_standard(text, template)?;
            return Ok(Item::Time(value, ty, clock));
        }
        let digits = match args.first().map(whole) {
            None => None,
            Some(digits) => {
                let digits = digits.and_then(|digits| u8::try_from(digits).ok());
                let flawed = || {
                    let name = method.name();
                    flaw(
                        "22031",
                        format!(
                            "time precision of jsonpath item method .{name}() is out of range for type integer"
                        ),
                    )
                };
                Some(digits.ok_or_else(flawed)?.min(6))
            }
        };
        let read = ISO_TEMPLATES.iter().find_map(|template| read_standard(text, template).ok());
        let Some((value, ty, clock)) = read else {
            let name = method.name();
            let error = TypeError::new("22031", format!("{name} format is not recognized: \"{text}\""));
            return Err(match method {
                Method::DateTime => error
                    .with_hint("Use a datetime template argument to specify the input data format.")
                    .into(),
                _ => error.into(),
            });
        };
        let to = match method {
            Method::Date => SqlType::Date,
            Method::Time => SqlType::Time(digits),
            Method::TimeTz => SqlType::Timetz(digits),
            Method::Timestamp => SqlType::Timestamp(digits),
            Method::TimestampTz => SqlType::Timestamptz(digits),
            _ => return Ok(Item::Time(value, ty, clock)),
        };
        let possible = match (&ty, &to) {
            (SqlType::Date, SqlType::Time(_) | SqlType::Timetz(_)) => false,
            (SqlType::Time(_) | SqlType::Timetz(_), to) => {
                matches!(to, SqlType::Time(_) | SqlType::Timetz(_))
            }
            (SqlType::Timestamp(_), SqlType::Timetz(_)) => false,
            _ => true,
        };
        if !possible {
            return Err(flaw("22031", format!("{} format is not recognized: \"{text}\"", method.name())));
        }
        let converted = self.convert(&value, &ty, &to)?;
        let clock = clock.filter(|_| matches!(to, SqlType::Timestamptz(_)));
        Ok(Item::Time(converted, to.without_modifiers(), clock))
    }

    /// A date or time as one of another type; what needs the session's zone is refused unless it may be used.
    pub(super) fn convert(&self, value: &Value, from: &SqlType, to: &SqlType) -> Result<Value> {
        let zoned = |ty: &SqlType| matches!(ty, SqlType::Timetz(_) | SqlType::Timestamptz(_));
        if zoned(from) != zoned(to) && !self.zones {
            let name = |ty: &SqlType| ty.without_modifiers().internal_name();
            let text =
                format!("cannot convert value from {} to {} without time zone usage", name(from), name(to));
            let error = TypeError::new("0A000", text);
            return Err(error.with_hint("Use *_tz() function for time zone support.").into());
        }
        Ok(cast(value, from, to, CastKind::Explicit, self.cx.services.time_zone)?)
    }
}

/// The forms of ISO 8601 that a text may have, in the order in which they are tried.
static ISO_TEMPLATES: [&str; 13] = [
    "yyyy-mm-dd",
    "HH24:MI:SS.USTZ",
    "HH24:MI:SSTZ",
    "HH24:MI:SS.US",
    "HH24:MI:SS",
    "yyyy-mm-dd HH24:MI:SS.USTZ",
    "yyyy-mm-dd HH24:MI:SSTZ",
    "yyyy-mm-dd\"T\"HH24:MI:SS.USTZ",
    "yyyy-mm-dd\"T\"HH24:MI:SSTZ",
    "yyyy-mm-dd HH24:MI:SS.US",
    "yyyy-mm-dd HH24:MI:SS",
    "yyyy-mm-dd\"T\"HH24:MI:SS.US",
    "yyyy-mm-dd\"T\"HH24:MI:SS",
];
