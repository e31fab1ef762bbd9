//! `aclexplode`: the rights of a list, one by one.

use verso_types::names::parse_reference;
use verso_types::{SqlType, SystemType, TypeError, Value};

use super::collected::{Rows, rows};
use super::define::unexpected;
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};
use crate::context::EvalContext;
use crate::error::Result;

/// The letter of each right, and its name.
const RIGHTS: [(char, &str); 15] = [
    ('a', "INSERT"),
    ('r', "SELECT"),
    ('w', "UPDATE"),
    ('d', "DELETE"),
    ('D', "TRUNCATE"),
    ('x', "REFERENCES"),
    ('t', "TRIGGER"),
    ('X', "EXECUTE"),
    ('U', "USAGE"),
    ('C', "CREATE"),
    ('T', "TEMPORARY"),
    ('c', "CONNECT"),
    ('s', "SET"),
    ('A', "ALTER SYSTEM"),
    ('m', "MAINTAIN"),
];

fn invalid(item: &str) -> TypeError {
    TypeError::new("22P02", format!("invalid input syntax for type aclitem: \"{item}\""))
}

/// The number of the role that a text begins with, which ends before one of `=` and `/` or with the text; and the rest.
fn role(item: &str) -> Result<(i64, &str)> {
    let end = match item.strip_prefix('"') {
        // within quotes two of them stand for one
        Some(quoted) => {
            let mut quotes = quoted.match_indices('"');
            let mut last = None;
            while let Some((at, _)) = quotes.next() {
                if quoted[at + 1..].starts_with('"') {
                    quotes.next();
                    continue;
                }
                last = Some(at + 2);
                break;
            }
            last.ok_or_else(|| invalid(item))?
        }
        None => item.find(['=', '/']).unwrap_or(item.len()),
    };
    let (name, rest) = item.split_at(end);
    let number = if name.is_empty() { 0 } else { parse_reference(SystemType::Regrole, name)? };
    Ok((number, rest))
}

/// `grantee=rights/grantor`, where a right with a star may be handed on.
fn explode(item: &str, out: &mut Vec<Value>) -> Result<()> {
    let (grantee, rest) = role(item)?;
    let rest = rest.strip_prefix('=').ok_or_else(|| invalid(item))?;
    let (rights, grantor) = rest.split_once('/').ok_or_else(|| invalid(item))?;
    let (grantor, _) = role(grantor)?;
    let mut letters = rights.chars().peekable();
    while let Some(letter) = letters.next() {
        let right = RIGHTS.iter().find(|(known, _)| *known == letter);
        let (_, name) = right.ok_or_else(|| invalid(item))?;
        let grantable = letters.next_if_eq(&'*').is_some();
        let row = [Value::Int8(grantor), Value::Int8(grantee), Value::text(name), Value::Bool(grantable)];
        out.push(Value::Record(row.into()));
    }
    Ok(())
}

fn aclexplode(cx: &EvalContext<'_>, args: &[Value]) -> Result<Rows> {
    let [Value::Array(items)] = args else { return Err(unexpected("aclexplode", args)) };
    let mut all = Vec::new();
    for item in items.iter() {
        if let Some(item) = item.as_str() {
            explode(item, &mut all)?;
        }
    }
    rows(cx, all.into_iter().map(Ok))
}

static COLUMNS: [(&str, SqlType); 4] = [
    ("grantor", SqlType::Oid),
    ("grantee", SqlType::Oid),
    ("privilege_type", SqlType::Text),
    ("is_grantable", SqlType::Bool),
];

static ACL: &[BuiltinFunction] = &[BuiltinFunction {
    name: "aclexplode",
    operator: None,
    args: &[ArgType::ArrayOf(SqlType::System(SystemType::AclItem))],
    variadic: false,
    result: ResultType::Columns(&COLUMNS),
    strict: true,
    volatility: Volatility::Stable,
    body: Body::Set(aclexplode),
    kernel: None,
}];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [ACL];
