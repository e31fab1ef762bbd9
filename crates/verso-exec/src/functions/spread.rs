//! Variadic functions called with an array: `concat(VARIADIC parts)` sees the elements of `parts` as its last arguments.
//!
//! Each entry calls the function of its name, so what the function does is written once. A NULL in place of the array makes the
//! result NULL, but for `format`, which then has no arguments to format.

use verso_types::{Array, RangeType, SqlType, TypeError, Value};

use super::define::unexpected;
use super::registry::candidates;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::{ExecError, Result};

fn spread(name: &'static str, cx: &EvalContext<'_>, args: &[Value], types: &[SqlType]) -> Result<Value> {
    let Some((list, plain)) = args.split_last() else { return Err(unexpected(name, args)) };
    let mut values = plain.to_vec();
    match list {
        Value::Array(elements) => {
            if name.ends_with("multirange") {
                refuse_members(elements)?;
            }
            values.extend(elements.iter().cloned());
        }
        Value::Null if name == "format" => {}
        Value::Null => return Ok(Value::Null),
        _ => return Err(unexpected(name, args)),
    }
    let mut of = types.get(..plain.len()).unwrap_or_default().to_vec();
    let element = match types.last() {
        Some(SqlType::Array(element)) => (**element).clone(),
        _ => SqlType::Text,
    };
    of.resize(values.len(), element);
    let function = candidates(name).iter().find(|function| function.variadic);
    let function = function.ok_or_else(|| ExecError::raised("XX000", format!("{name} takes no list")))?;
    if function.strict && values.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    match function.body {
        Body::Scalar(scalar) => scalar(cx, &values),
        Body::Typed(typed) => typed(cx, &values, &of),
        Body::Set(_) | Body::TypedSet(_) => Err(unexpected(name, args)),
    }
}

/// A multirange is made of a list of ranges that are there.
fn refuse_members(elements: &Array) -> Result<()> {
    if elements.dimension_count() > 1 {
        let text = "multiranges cannot be constructed from multidimensional arrays";
        return Err(TypeError::new("21000", text).into());
    }
    if elements.iter().any(Value::is_null) {
        return Err(TypeError::new("22004", "multirange values cannot contain null members").into());
    }
    Ok(())
}

macro_rules! spread_entry {
    (steady $($rest:tt)*) => {
        BuiltinFunction { volatility: Volatility::Immutable, ..spread_entry!($($rest)*) }
    };
    ($name:literal [$($plain:ident,)* .. $list:expr] => $result:ident) => {
        BuiltinFunction {
            name: $name,
            operator: None,
            args: &[$(ArgType::Exact(SqlType::$plain),)* $list],
            variadic: false,
            result: ResultType::Fixed(SqlType::$result),
            strict: false,
            volatility: Volatility::Stable,
            body: Body::Typed(|cx, args, types| spread($name, cx, args, types)),
            kernel: None,
        }
    };
}

/// The constructor of a multirange.
macro_rules! multirange_entry {
    ($name:literal $kind:ident) => {
        BuiltinFunction {
            args: &[ArgType::ArrayOf(SqlType::Range(RangeType::$kind))],
            result: ResultType::Fixed(SqlType::Multirange(RangeType::$kind)),
            ..spread_entry!(steady $name [.. ANY] => Text)
        }
    };
}

const ANY: ArgType = ArgType::AnyArray;
const TEXTS: ArgType = ArgType::ArrayOf(SqlType::Text);

static ENTRIES: &[BuiltinFunction] = &[
    spread_entry!("concat" [.. ANY] => Text),
    spread_entry!("concat_ws" [Text, .. ANY] => Text),
    spread_entry!("format" [Text, .. ANY] => Text),
    spread_entry!("json_build_array" [.. ANY] => Json),
    spread_entry!("json_build_object" [.. ANY] => Json),
    spread_entry!("jsonb_build_array" [.. ANY] => Jsonb),
    spread_entry!("jsonb_build_object" [.. ANY] => Jsonb),
    spread_entry!(steady "num_nulls" [.. ANY] => Int4),
    spread_entry!(steady "num_nonnulls" [.. ANY] => Int4),
    spread_entry!("pg_restore_relation_stats" [.. ANY] => Bool),
    spread_entry!("pg_restore_attribute_stats" [.. ANY] => Bool),
    spread_entry!("satisfies_hash_partition" [Oid, Int4, Int4, .. ANY] => Bool),
    spread_entry!(steady "json_extract_path" [Json, .. TEXTS] => Json),
    spread_entry!(steady "json_extract_path_text" [Json, .. TEXTS] => Text),
    spread_entry!(steady "jsonb_extract_path" [Jsonb, .. TEXTS] => Jsonb),
    spread_entry!(steady "jsonb_extract_path_text" [Jsonb, .. TEXTS] => Text),
    multirange_entry!("int4multirange" INT4),
    multirange_entry!("int8multirange" INT8),
    multirange_entry!("nummultirange" NUM),
    multirange_entry!("tsmultirange" TS),
    multirange_entry!("tstzmultirange" TSTZ),
    multirange_entry!("datemultirange" DATE),
];

/// The function of this name as one that takes an array for its last arguments.
#[must_use]
pub fn taking_array(name: &str) -> Option<&'static BuiltinFunction> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

#[cfg(test)]
mod unit_tests {
    use super::{candidates, taking_array};
    use crate::functions::all_functions;

    #[test]
    fn every_variadic_function_takes_an_array() {
        let functions = all_functions().filter(|function| function.variadic && !function.name.is_empty());
        for function in functions.filter(|function| !matches!(function.name, "greatest" | "least")) {
            let Some(entry) = taking_array(function.name) else { panic!("{} has none", function.name) };
            assert_eq!(entry.args.len(), function.args.len(), "{}", function.name);
            let variadic = candidates(function.name).iter().filter(|other| other.variadic);
            assert_eq!(variadic.count(), 1, "{}", function.name);
        }
    }
}
