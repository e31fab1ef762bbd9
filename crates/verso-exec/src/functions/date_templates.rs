//! `to_date` and `to_timestamp`: texts read by the template patterns that `to_char` writes.
//!
//! ```text
//! template ─► pieces (template)
//!                │ beside
//! text ───────► input ─► what it says (parts) ─► day, time, distance from UTC (moment)
//! ```
//!
//! Source: PostgreSQL 18, `DCH_from_char` and `do_to_timestamp` of `formatting.c`. Blanks and separators are matched
//! loosely, unless the template has `FX`.

mod input;
mod moment;
mod parts;
mod standard;
mod template;

use verso_types::datetime::{self, MICROS_PER_DAY, MICROS_PER_SECOND};
use verso_types::{CastKind, SqlType, TypeError, Value, cast};

use super::define::{entry, unexpected};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};
use input::Input;
use parts::{Parts, convention};
pub(super) use standard::read_standard;
use template::{Node, has_suffix, is_open, is_separator, nodes};

/// Reads a text. The standard's way takes separators and letters as they are written, and wants the whole text.
fn read(text: &str, template: &str, standard: bool) -> Result<Parts> {
    let nodes = nodes(template, standard)?;
    let mut parts = Parts::default();
    let mut input = Input { rest: text, fixed: standard, extra: 0, minus: false };
    let refused = |text: String| Err(ExecError::from(TypeError::new("22007", text)));
    for (at, node) in nodes.iter().enumerate() {
        if input.rest.is_empty() {
            if standard {
                return refused("input string is too short for datetime format".into());
            }
            break;
        }
        if !input.fixed && (at == 0 || matches!(node, Node::Field { .. })) {
            input.blanks();
        }
        match node {
            Node::Separator(c) if standard && !input.rest.starts_with(*c) => {
                return refused(format!("unmatched format separator \"{c}\""));
            }
            Node::Letter(c) if standard && !input.rest.starts_with(*c) => {
                return refused(format!("unmatched format character \"{c}\""));
            }
            Node::Separator(_) if input.fixed => input.skip(),
            Node::Separator(_) => {
                input.extra -= 1;
                if input.rest.starts_with(|c: char| c.is_ascii_whitespace() || is_separator(c)) {
                    input.skip();
                    input.extra += 1;
                }
            }
            Node::Letter(_) if input.fixed || input.extra <= 0 => input.skip(),
            Node::Letter(_) => input.extra -= 1,
            Node::Field { name, shown, ordinal, .. } => {
                parts.agree_on(convention(name))?;
                parts.field(&mut input, (name, shown), is_open(&nodes, at))?;
                if *ordinal && has_suffix(name) {
                    input.skip();
                    input.skip();
                }
                if !input.fixed {
                    input.extra = 0;
                    input.blanks();
                }
            }
        }
    }
    if standard && !input.rest.trim_start().is_empty() {
        return refused("trailing characters remain in input string after datetime format".into());
    }
    Ok(parts)
}

fn to_date(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(template)] = args else { return Err(unexpected("to_date", args)) };
    let parts = read(text, template, false)?;
    let days = parts.date(text)?;
    parts.time(text)?;
    let day = i32::try_from(days).ok().filter(|day| datetime::is_date(i64::from(*day)));
    let range = || TypeError::new("22008", format!("date out of range: \"{text}\""));
    Ok(Value::Date(day.ok_or_else(range)?))
}

fn to_timestamp(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(text), Value::Text(template)] = args else {
        return Err(unexpected("to_timestamp", args));
    };
    let parts = read(text, template, false)?;
    let (days, time) = (parts.date(text)?, parts.time(text)?);
    let range = || TypeError::new("22008", format!("timestamp out of range: \"{text}\""));
    let local = days.checked_mul(MICROS_PER_DAY).and_then(|micros| micros.checked_add(time));
    let local = local.filter(|micros| datetime::is_timestamp(*micros)).ok_or_else(range)?;
    let zoned = SqlType::Timestamptz(None);
    let moment = match parts.offset(text, local)? {
        Some(offset) => Value::Timestamptz(local - offset * MICROS_PER_SECOND),
        None => {
            let from = SqlType::Timestamp(None);
            cast(&Value::Timestamp(local), &from, &zoned, CastKind::Implicit, cx.services.time_zone)?
        }
    };
    match parts.digits {
        Some(digits) => {
            let kept = SqlType::Timestamptz(Some(digits));
            Ok(cast(&moment, &zoned, &kept, CastKind::Explicit, cx.services.time_zone)?)
        }
        None => Ok(moment),
    }
}

static READERS: &[BuiltinFunction] = &[
    entry!("to_date" () [Text, Text] => Date, to_date, None),
    BuiltinFunction {
        volatility: Volatility::Stable,
        ..entry!("to_timestamp" () [Text, Text] => Timestamptz, to_timestamp, None)
    },
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [READERS];
