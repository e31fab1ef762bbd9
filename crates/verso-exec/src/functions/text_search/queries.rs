//! What is done with a `tsquery`.

use std::collections::BTreeSet;

use verso_types::text_search::{Item, POSITION_MAX, TsQuery};
use verso_types::{TypeError, Value};

use super::{AS_BOOL, AS_INT4, AS_TEXT, ASKED, INT4, QUERY, function, query};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::define::unexpected;
use crate::functions::{BuiltinFunction, Volatility};

fn two(name: &str, args: &[Value]) -> Result<(TsQuery, TsQuery)> {
    match args {
        [Value::Opaque(a), Value::Opaque(b), ..] => Ok((query(a)?, query(b)?)),
        _ => Err(unexpected(name, args)),
    }
}

fn and(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = two("tsquery_and", args)?;
    Ok(TsQuery::joined(Item::And, a, b).into_value())
}

fn or(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = two("tsquery_or", args)?;
    Ok(TsQuery::joined(Item::Or, a, b).into_value())
}

fn not(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Opaque(own)] = args else { return Err(unexpected("tsquery_not", args)) };
    Ok(query(own)?.negated().into_value())
}

fn phrase(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = two("tsquery_phrase", args)?;
    let distance = match args.get(2) {
        Some(Value::Int4(distance)) => *distance,
        _ => 1,
    };
    let most = POSITION_MAX + 1;
    let Some(distance) = u16::try_from(distance).ok().filter(|distance| *distance <= most) else {
        let text =
            format!("distance in phrase operator must be an integer value between zero and {most} inclusive");
        return Err(TypeError::new("22023", text).into());
    };
    Ok(TsQuery::joined(Item::Phrase(distance), a, b).into_value())
}

fn node_count(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Opaque(own)] = args else { return Err(unexpected("numnode", args)) };
    Ok(Value::Int4(i32::try_from(query(own)?.items().len()).unwrap_or(i32::MAX)))
}

/// What an index can be asked for.
fn tree(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Opaque(own)] = args else { return Err(unexpected("querytree", args)) };
    let own = query(own)?;
    if own.is_empty() {
        return Ok(Value::text(""));
    }
    let rest = own.without_negations();
    let mut text = String::new();
    if rest.is_empty() {
        text.push('T')
    } else {
        rest.format(&mut text)
    }
    Ok(Value::Text(text.into()))
}

/// Whether all the words of one query are in the other.
fn has_words_of(whole: &TsQuery, part: &TsQuery) -> bool {
    let words = |query: &TsQuery| -> BTreeSet<String> {
        query.operands().map(|operand| operand.word.to_string()).collect()
    };
    words(part).is_subset(&words(whole))
}

fn contains(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = two("tsq_mcontains", args)?;
    Ok(Value::Bool(has_words_of(&a, &b)))
}

fn contained(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (a, b) = two("tsq_mcontained", args)?;
    Ok(Value::Bool(has_words_of(&b, &a)))
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = &[
    function!("tsquery_and" "&&" [ASKED, ASKED] => QUERY, Volatility::Immutable, and),
    function!("tsquery_or" "||" [ASKED, ASKED] => QUERY, Volatility::Immutable, or),
    function!("tsquery_not" "!!" [ASKED] => QUERY, Volatility::Immutable, not),
    function!("tsquery_phrase" "<->" [ASKED, ASKED] => QUERY, Volatility::Immutable, phrase),
    function!("tsquery_phrase" [ASKED, ASKED, INT4] => QUERY, Volatility::Immutable, phrase),
    function!("tsq_mcontains" "@>" [ASKED, ASKED] => AS_BOOL, Volatility::Immutable, contains),
    function!("tsq_mcontained" "<@" [ASKED, ASKED] => AS_BOOL, Volatility::Immutable, contained),
    function!("numnode" [ASKED] => AS_INT4, Volatility::Immutable, node_count),
    function!("querytree" [ASKED] => AS_TEXT, Volatility::Immutable, tree),
];
