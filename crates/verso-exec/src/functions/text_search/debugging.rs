//! What becomes of a text, step by step: `ts_parse`, `ts_debug`, `ts_lexize`, `ts_token_type`.

use verso_types::{SqlType, SystemType, TypeError, Value};

use super::config::Dictionary;
use super::documents::configured;
use super::parser::{Kind, Parser};
use super::{CONFIG, TEXT, function};
use crate::context::EvalContext;
use crate::error::Result;
use crate::functions::collected::{Rows, rows};
use crate::functions::define::unexpected;
use crate::functions::{ArgType, Body, BuiltinFunction, ResultType, SetFn, Volatility};

/// The number of the only parser.
const PARSER: i64 = 3722;
const OID: ArgType = ArgType::Exact(SqlType::Oid);
const DICTIONARY: ArgType = ArgType::Exact(SqlType::System(SystemType::Regdictionary));

/// Whether a value names the parser.
fn check_parser(value: &Value) -> Result<()> {
    match value {
        Value::Int8(PARSER) => Ok(()),
        Value::Int8(oid) => {
            Err(TypeError::new("XX000", format!("cache lookup failed for text search parser {oid}")).into())
        }
        Value::Text(name) => match name.strip_prefix("pg_catalog.").unwrap_or(name) {
            "default" | "\"default\"" => Ok(()),
            _ => {
                let text = format!("text search parser \"{name}\" does not exist");
                Err(TypeError::new("42704", text).into())
            }
        },
        _ => Ok(()),
    }
}

fn number(kind: Kind) -> Value {
    Value::Int4(kind as i32)
}

fn parse(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let [parser, Value::Text(text)] = args else { return Err(unexpected("ts_parse", args)) };
    check_parser(parser)?;
    let mut parser = Parser::new(text);
    let row = |(kind, token)| Ok(Value::Record([number(kind), Value::text(token)].into()));
    rows(cx, std::iter::from_fn(|| parser.next()).map(row))
}

fn token_types(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let [parser] = args else { return Err(unexpected("ts_token_type", args)) };
    check_parser(parser)?;
    let row = |kind: Kind| {
        let (alias, description) = kind.facts();
        Ok(Value::Record([number(kind), Value::text(alias), Value::text(description)].into()))
    };
    rows(cx, Kind::ALL.into_iter().map(row))
}

fn lexize(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Int8(oid), Value::Text(token)] = args else { return Err(unexpected("ts_lexize", args)) };
    Ok(lexemes(Dictionary::find(*oid)?, token))
}

fn lexemes(dictionary: Dictionary, token: &str) -> Value {
    let list: Vec<Value> = dictionary.lexeme(token).iter().map(|lexeme| Value::text(lexeme)).collect();
    Value::Array(list.into())
}

fn debug(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let (config, rest) = configured(cx, args)?;
    let [Value::Text(text)] = rest else { return Err(unexpected("ts_debug", args)) };
    let mut parser = Parser::new(text);
    let row = |(kind, token): (Kind, &str)| {
        let (alias, description) = kind.facts();
        let dictionary = config.dictionary(kind);
        let own = dictionary.map_or(Value::Null, |dictionary| Value::Int8(dictionary.oid()));
        let all: Vec<Value> = dictionary.iter().map(|dictionary| Value::Int8(dictionary.oid())).collect();
        let lexemes = dictionary.map_or(Value::Null, |dictionary| lexemes(dictionary, token));
        let head = [alias, description, token].map(Value::text);
        Ok(Value::Record(head.into_iter().chain([Value::Array(all.into()), own, lexemes]).collect()))
    };
    rows(cx, std::iter::from_fn(|| parser.next()).map(row))
}

static TOKENS: [(&str, SqlType); 2] = [("tokid", SqlType::Int4), ("token", SqlType::Text)];
static TYPES: [(&str, SqlType); 3] =
    [("tokid", SqlType::Int4), ("alias", SqlType::Text), ("description", SqlType::Text)];
const REGDICTIONARY: SqlType = SqlType::System(SystemType::Regdictionary);
static STEPS: [(&str, ResultType); 6] = [
    ("alias", ResultType::Fixed(SqlType::Text)),
    ("description", ResultType::Fixed(SqlType::Text)),
    ("token", ResultType::Fixed(SqlType::Text)),
    ("dictionaries", ResultType::FixedArray(REGDICTIONARY)),
    ("dictionary", ResultType::Fixed(REGDICTIONARY)),
    ("lexemes", ResultType::FixedArray(SqlType::Text)),
];

macro_rules! set {
    ($name:literal [$($arg:expr),*] => $result:expr, $volatility:ident, $body:expr) => {
        BuiltinFunction {
            body: Body::Set($body as SetFn),
            ..function!($name [$($arg),*] => $result, Volatility::$volatility, lexize)
        }
    };
}

pub(super) static FUNCTIONS: &[BuiltinFunction] = &[
    set!("ts_parse" [TEXT, TEXT] => ResultType::Columns(&TOKENS), Stable, parse),
    set!("ts_parse" [OID, TEXT] => ResultType::Columns(&TOKENS), Immutable, parse),
    set!("ts_token_type" [TEXT] => ResultType::Columns(&TYPES), Stable, token_types),
    set!("ts_token_type" [OID] => ResultType::Columns(&TYPES), Immutable, token_types),
    set!("ts_debug" [CONFIG, TEXT] => ResultType::Mixed(&STEPS), Stable, debug),
    set!("ts_debug" [TEXT] => ResultType::Mixed(&STEPS), Stable, debug),
    function!("ts_lexize" [DICTIONARY, TEXT] => ResultType::FixedArray(SqlType::Text), Volatility::Immutable, lexize),
];
