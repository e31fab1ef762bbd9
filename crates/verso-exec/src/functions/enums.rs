//! Enum types: their first and last label, and all of them.

use std::sync::Arc;

use verso_types::{EnumType, SqlType, TypeError, Value};

use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// The enum type of the first argument, which may be NULL itself.
fn enum_of<'t>(name: &str, args: &[Value], types: &'t [SqlType]) -> Result<&'t Arc<EnumType>> {
    match types.first() {
        Some(SqlType::Enum(ty)) => Ok(ty),
        _ => Err(unexpected(name, args)),
    }
}

fn first(_: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let ty = enum_of("enum_first", args, types)?;
    let label = ty.labels.first().ok_or_else(|| no_labels(ty))?;
    Ok(ty.used(label)?)
}

fn last(_: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let ty = enum_of("enum_last", args, types)?;
    let label = ty.labels.last().ok_or_else(|| no_labels(ty))?;
    Ok(ty.used(label)?)
}

#[cold]
fn no_labels(ty: &EnumType) -> TypeError {
    TypeError::new("55000", format!("enum {} contains no values", ty.shown()))
}

/// The labels between two bounds, of which NULL is none; with one argument all labels.
fn range(_: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let ty = enum_of("enum_range", args, types)?;
    let bound = |at: usize| match (args.len(), args.get(at)) {
        (2, Some(Value::Int8(place))) => Some(*place),
        _ => None,
    };
    let (low, high) = (bound(0), bound(1));
    let inside = |place: i64| low.is_none_or(|low| low <= place) && high.is_none_or(|high| place <= high);
    let labels = ty.labels.iter().filter(|label| inside(label.place));
    let labels: Vec<Value> = labels.map(|label| ty.used(label)).collect::<Result<_, TypeError>>()?;
    Ok(Value::Array(labels.into()))
}

macro_rules! of_enum {
    ($name:literal [$($arg:expr),*] => $result:expr, $body:expr) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$($arg),*],
            variadic: false,
            result: $result,
            strict: false,
            volatility: Volatility::Stable,
            body: Body::Typed($body),
            kernel: None,
        }
    };
}

static ENUMS: &[BuiltinFunction] = &[
    of_enum!("enum_first" [ArgType::AnyEnum] => ResultType::SameAs(0), first),
    of_enum!("enum_last" [ArgType::AnyEnum] => ResultType::SameAs(0), last),
    of_enum!("enum_range" [ArgType::AnyEnum] => ResultType::ArrayOf(0), range),
    of_enum!("enum_range" [ArgType::AnyEnum, ArgType::AnyEnum] => ResultType::ArrayOf(0), range),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [ENUMS];
