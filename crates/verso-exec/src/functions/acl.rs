//! Items of lists of rights: made, compared, and taken apart (`aclexplode`).

use verso_types::names::{format_reference, parse_reference};
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

/// The name of a role as an item has it: quoted where it is no plain word, its number where there is none of it.
fn role_named(number: i64) -> String {
    let mut out = String::new();
    match number {
        0 => {}
        number => format_reference(SystemType::Regrole, number, &mut out),
    }
    out
}

/// `makeaclitem(grantee, grantor, rights, grantable)`.
fn makeaclitem(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [grantee, grantor, Value::Text(wanted), Value::Bool(grantable)] = args else {
        return Err(unexpected("makeaclitem", args));
    };
    let mut given = Vec::new();
    for name in wanted.split(',').map(str::trim) {
        let known = RIGHTS.iter().find(|(_, known)| known.eq_ignore_ascii_case(name));
        let known = known.or_else(|| temporary(name));
        let Some((letter, _)) = known else {
            return Err(TypeError::new("22023", format!("unrecognized privilege type: \"{name}\"")).into());
        };
        given.push(*letter);
    }
    let star = if *grantable { "*" } else { "" };
    let letters = RIGHTS.iter().filter(|(letter, _)| given.contains(letter));
    let rights: String = letters.map(|(letter, _)| format!("{letter}{star}")).collect();
    let number = |role: &Value| role.as_i64().unwrap_or_default();
    Ok(Value::text(&format!("{}={rights}/{}", role_named(number(grantee)), role_named(number(grantor)))))
}

/// TEMP is a word for TEMPORARY.
fn temporary(name: &str) -> Option<&'static (char, &'static str)> {
    RIGHTS.iter().find(|(letter, _)| *letter == 'T' && name.eq_ignore_ascii_case("temp"))
}

/// Whether the rights of an item are among those that items of the list give to the same role by the same one.
fn aclcontains(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Array(items), Value::Text(wanted)] = args else {
        return Err(unexpected("aclcontains", args));
    };
    let wanted = Item::of(wanted)?;
    for item in items.iter().filter_map(Value::as_str) {
        if Item::of(item)?.gives(&wanted) {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

/// Whether two items say the same.
fn aclitemeq(_: &EvalContext<'_>, args: &[Value]) -> Result<Value> {
    let [Value::Text(one), Value::Text(other)] = args else { return Err(unexpected("aclitemeq", args)) };
    let (one, other) = (Item::of(one)?, Item::of(other)?);
    Ok(Value::Bool(one.gives(&other) && other.gives(&one)))
}

/// An item, read.
struct Item {
    grantee: i64,
    grantor: i64,
    /// Letters of rights, and whether each may be handed on.
    rights: Vec<(char, bool)>,
}

impl Item {
    fn of(text: &str) -> Result<Item> {
        let (grantee, rest) = role(text)?;
        let rest = rest.strip_prefix('=').ok_or_else(|| invalid(text))?;
        let (letters, grantor) = rest.split_once('/').ok_or_else(|| invalid(text))?;
        let (grantor, _) = role(grantor)?;
        let mut rights = Vec::new();
        let mut letters = letters.chars().peekable();
        while let Some(letter) = letters.next() {
            rights.push((letter, letters.next_if_eq(&'*').is_some()));
        }
        Ok(Item { grantee, grantor, rights })
    }

    /// Whether it gives at least what the other one gives.
    fn gives(&self, other: &Item) -> bool {
        let has = |(letter, grantable): &(char, bool)| {
            self.rights.iter().any(|(own, may)| own == letter && (*may || !grantable))
        };
        (self.grantee, self.grantor) == (other.grantee, other.grantor) && other.rights.iter().all(has)
    }
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

const ITEM: SqlType = SqlType::System(SystemType::AclItem);

/// A strict function of items.
macro_rules! of_items {
    ($body:ident [$($arg:expr),*] $result:expr) => {
        BuiltinFunction {
            name: stringify!($body),
            operator: None,
            args: &[$($arg),*],
            variadic: false,
            result: ResultType::Fixed($result),
            strict: true,
            volatility: Volatility::Immutable,
            body: Body::Scalar($body),
            kernel: None,
        }
    };
}

static ITEMS: &[BuiltinFunction] = &[
    of_items!(makeaclitem
        [
            ArgType::Exact(SqlType::Oid),
            ArgType::Exact(SqlType::Oid),
            ArgType::Exact(SqlType::Text),
            ArgType::Exact(SqlType::Bool)
        ] ITEM),
    BuiltinFunction {
        operator: Some("@>"),
        ..of_items!(aclcontains [ArgType::ArrayOf(ITEM), ArgType::Exact(ITEM)] SqlType::Bool)
    },
    BuiltinFunction {
        operator: Some("="),
        ..of_items!(aclitemeq [ArgType::Exact(ITEM), ArgType::Exact(ITEM)] SqlType::Bool)
    },
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 2] = [ACL, ITEMS];
