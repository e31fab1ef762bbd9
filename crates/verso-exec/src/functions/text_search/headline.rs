//! `ts_headline`: the part of a document that shows best what was found, its words marked.
//!
//! ```text
//! document ─► words, those of the query marked ─► covers: shortest runs that match ─► one lengthened, or several fragments ─► text
//! ```

mod fragments;
mod one;
mod options;
mod shown;
mod words;

use verso_types::json::Node;
use verso_types::text_search::TsQuery;
use verso_types::{SqlType, Value};

use super::config::Config;
use super::documents::configured;
use super::{ASKED, CONFIG, JSON, JSONB, TEXT, function, json_text, query};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::define::unexpected;
use crate::functions::{BuiltinFunction, ResultType, Volatility};
use crate::memory::room_to_read;
use options::Options;
use shown::Headline;
use words::{look, words};

fn of_text(
    cx: &EvalContext<'_>,
    config: Config,
    text: &str,
    query: &TsQuery,
    options: &Options,
) -> Result<String> {
    let words = words(cx, config, text, query)?;
    let locations = query.locations(&mut |n, _, places| look(&words, n, places)).unwrap_or_default();
    let mut headline = Headline { words, query, locations, options };
    match options.max_fragments {
        0 => headline.show_one(cx)?,
        _ => headline.show_fragments(cx)?,
    }
    Ok(headline.text())
}

/// A jsonb with headlines in place of its strings.
fn of_node(node: Node, other: &mut dyn FnMut(&str) -> Result<String>) -> Result<Node> {
    verso_env::stack::check()?;
    Ok(match node {
        Node::String(text) => Node::String(other(&text)?),
        Node::Array(list) => {
            Node::Array(list.into_iter().map(|node| of_node(node, other)).collect::<Result<_>>()?)
        }
        Node::Object(list) => Node::Object(
            list.into_iter().map(|(key, node)| Ok((key, of_node(node, other)?))).collect::<Result<_>>()?,
        ),
        node => node,
    })
}

/// `ts_headline([config,] document, query [, options])`.
fn headline(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (config, rest) = configured(cx, args)?;
    let [document, Value::Opaque(asked), options @ ..] = rest else {
        return Err(unexpected("ts_headline", args));
    };
    let asked = query(asked)?;
    let options = Options::parse(options.first().and_then(Value::as_str).unwrap_or_default())?;
    match document {
        Value::Text(text) => Ok(Value::text(&of_text(cx, config, text, &asked, &options)?)),
        Value::Jsonb(json) => {
            let mut shown = String::new();
            verso_types::json::format_into(json.root(), &mut shown);
            let node =
                of_node(Node::parse(&shown)?, &mut |text| of_text(cx, config, text, &asked, &options))?;
            Ok(Value::Jsonb(node.encode()?))
        }
        _ => Err(unexpected("ts_headline", args)),
    }
}

/// The same of a json text.
fn json_headline(cx: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let (config, rest) = configured(cx, args)?;
    let [Value::Text(source), Value::Opaque(asked), options @ ..] = rest else {
        return Err(unexpected("ts_headline", args));
    };
    let asked = query(asked)?;
    let options = Options::parse(options.first().and_then(Value::as_str).unwrap_or_default())?;
    let _room = room_to_read(cx.services.memory.account, source, &SqlType::Jsonb)?;
    let text = json_text::with_strings(source, |text| of_text(cx, config, text, &asked, &options))?;
    Ok(Value::text(&text))
}

macro_rules! headlines {
    ($($document:expr => $result:expr, $body:expr;)*) => {
        &[$(
            function!("ts_headline" [CONFIG, $document, ASKED, TEXT] => $result, Volatility::Immutable, $body),
            function!("ts_headline" [CONFIG, $document, ASKED] => $result, Volatility::Immutable, $body),
            function!("ts_headline" [$document, ASKED, TEXT] => $result, Volatility::Stable, $body),
            function!("ts_headline" [$document, ASKED] => $result, Volatility::Stable, $body),
        )*]
    };
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = headlines! {
    TEXT => ResultType::Fixed(SqlType::Text), headline;
    JSONB => ResultType::Fixed(SqlType::Jsonb), headline;
    JSON => ResultType::Fixed(SqlType::Json), json_headline;
};
