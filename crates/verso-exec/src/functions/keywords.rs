//! `pg_get_keywords`, and `pg_options_to_table`, which ask for nothing but their arguments. PostgreSQL's list of words is
//! `keywords.tsv`: `copy (select word, catcode, barelabel from pg_get_keywords() order by 1) to stdout`.

use verso_types::{SqlType, SystemType, Value};

use super::define::unexpected;
use super::sets::set_function;
use super::{ArgType, Body, BuiltinFunction, ResultType, SetFn, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

type Rows = Box<dyn Iterator<Item = Value> + Send>;

const WORDS: &str = include_str!("keywords.tsv");

fn keywords(_: &EvalContext<'_>, _: &[Value]) -> Result<Rows> {
    Ok(Box::new(WORDS.lines().map(|line| {
        let mut fields = line.split('\t');
        let (word, class) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let bare = fields.next() == Some("t");
        let what = match class {
            "C" => "unreserved (cannot be function or type name)",
            "T" => "reserved (can be function or type name)",
            "R" => "reserved",
            _ => "unreserved",
        };
        let label = if bare { "can be bare label" } else { "requires AS" };
        let fields =
            [Value::text(word), Value::text(class), Value::Bool(bare), Value::text(what), Value::text(label)];
        Value::Record(fields.into())
    })))
}

/// `{a=b,c}` as rows of names and values.
fn options(_: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let [Value::Array(options)] = args else { return Err(unexpected("pg_options_to_table", args)) };
    let row = |option: &Value| {
        let text = option.as_str().unwrap_or_default();
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Value::text(value)),
            None => (text, Value::Null),
        };
        Value::Record([Value::text(name), value].into())
    };
    let rows: Vec<Value> = options.iter().map(row).collect();
    Ok(Box::new(rows.into_iter()))
}

static KEYWORDS: &[BuiltinFunction] = &[
    set_function!("pg_get_keywords" [] => ResultType::Columns(&[
        ("word", SqlType::Text),
        ("catcode", SqlType::System(SystemType::Char)),
        ("barelabel", SqlType::Bool),
        ("catdesc", SqlType::Text),
        ("baredesc", SqlType::Text),
    ]), keywords),
    set_function!("pg_options_to_table" [ArgType::ArrayOf(SqlType::Text)] => ResultType::Columns(&[
        ("option_name", SqlType::Text),
        ("option_value", SqlType::Text),
    ]), options),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [KEYWORDS];
