//! Bound expressions as SQL text, spelled as PostgreSQL's `pg_get_expr` and `pg_get_constraintdef` spell them.
//!
//! `pretty` leaves out parentheses that precedence makes needless, as PostgreSQL's functions do when asked to.
//!
//! Source: `src/backend/utils/adt/ruleutils.c` of PostgreSQL.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef};
use verso_env::stack;
use verso_exec::functions::BuiltinFunction;
use verso_exec::functions::case::MAPPED;
use verso_exec::functions::collations;
use verso_exec::functions::hstore::SUBSCRIPT as STORE_SUBSCRIPT;
use verso_exec::functions::json::{
    JSON_ARRAY, JSON_OBJECT, JSON_UNIQUE, JSONB_ARRAY, JSONB_OBJECT, SUBSCRIPT,
};
use verso_exec::functions::records::FIELD;
use verso_exec::functions::subscripts::{ELEMENT, SLICE};
use verso_exec::plan::{CastKind, ExprKind, TypedExpr};
use verso_types::{Derivation, SqlType, TimeStyle, Value, format_text};

use crate::json_text::{is_json, path_call};
pub use verso_exec::functions::quote_ident as identifier;

/// A text in quotes, as definitions show it: never as `E'…'`.
pub(super) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// A text in quotes.
pub fn literal(text: &str) -> String {
    let quoted = text.replace('\'', "''");
    match quoted.contains('\\') {
        true => format!("E'{}'", quoted.replace('\\', "\\\\")),
        false => format!("'{quoted}'"),
    }
}

/// An expression over columns of these names.
pub fn expression(expr: &TypedExpr, names: &[&str], pretty: bool) -> String {
    Deparse { names, pretty, value: false, catalog: None }.top(expr)
}

/// The condition of a domain, whose value is `Parameter(0)`.
pub fn bound_domain_condition(catalog: &CatalogSnapshot, expr: &TypedExpr, pretty: bool) -> String {
    Deparse { names: &[], pretty, value: true, catalog: Some(catalog) }.top(expr)
}

/// Where an expression stands, as far as parentheses depend on it.
#[derive(Clone, Copy, PartialEq)]
enum Around {
    /// On its own, or within a list.
    Nothing,
    /// An operand of AND, OR or NOT.
    Logic,
    /// An operand of an operator.
    Operator,
}

struct Deparse<'n> {
    names: &'n [&'n str],
    pretty: bool,
    /// The parameter is the value of a domain.
    value: bool,
    /// Says which functions are found by their names alone; without it all of them are.
    catalog: Option<&'n CatalogSnapshot>,
}

impl Deparse<'_> {
    /// An expression whose own implicit casts are not shown: what it is assigned to says its type.
    fn top(&self, expr: &TypedExpr) -> String {
        match &expr.kind {
            ExprKind::Cast { arg, kind } if *kind != CastKind::Explicit => self.top(arg),
            ExprKind::Literal(value @ (Value::Numeric(_) | Value::Big(_))) => shown(value, &expr.ty),
            _ => self.text(expr, Around::Nothing),
        }
    }

    fn list(&self, exprs: &[TypedExpr]) -> String {
        exprs.iter().map(|expr| self.text(expr, Around::Nothing)).collect::<Vec<_>>().join(", ")
    }

    /// In parentheses, unless they are needless where the expression stands.
    fn wrapped(&self, text: String, around: Around, needless: &[Around]) -> String {
        if self.pretty && needless.contains(&around) { text } else { format!("({text})") }
    }

    /// An expression; where COLLATE stood, it stands again.
    fn text(&self, expr: &TypedExpr, around: Around) -> String {
        let Derivation::Explicit(collation) = &expr.collation else { return self.plain(expr, around) };
        let mut below = false;
        expr.for_each_child(&mut |child| below |= matches!(child.collation, Derivation::Explicit(_)));
        if below {
            return self.plain(expr, around);
        }
        let name = match &*collation.schema {
            "pg_catalog" => identifier(&collation.name),
            schema => format!("{}.{}", identifier(schema), identifier(&collation.name)),
        };
        format!("({} COLLATE {name})", self.plain(expr, Around::Operator))
    }

    /// An element or a slice of an array, a part of a jsonb, or a field of a row: behind what it is taken of, which is in parentheses
    /// unless it is such a part itself.
    fn part(&self, function: &'static BuiltinFunction, args: &[TypedExpr]) -> Option<String> {
        let is = |known: &'static BuiltinFunction| std::ptr::eq(function, known);
        let one = |expr: &TypedExpr| self.text(expr, Around::Nothing);
        let number = |expr: &TypedExpr| match &expr.kind {
            ExprKind::Literal(Value::Int4(number)) => Some(*number),
            _ => None,
        };
        let (of, rest) = args.split_first()?;
        let behind = if is(&ELEMENT) || is(&SUBSCRIPT) || is(&STORE_SUBSCRIPT) {
            rest.iter().map(|place| format!("[{}]", one(place))).collect()
        } else if is(&SLICE) {
            // The bits of the number say which bounds are given.
            let (given, bounds) = rest.split_first()?;
            let given = number(given)?;
            let end = |at: usize| match given >> at & 1 {
                1 => bounds.get(at).map(one).unwrap_or_default(),
                _ => String::new(),
            };
            let steps = 0..bounds.len() / 2;
            steps.map(|step| format!("[{}:{}]", end(2 * step), end(2 * step + 1))).collect::<String>()
        } else if is(&FIELD) {
            let place = usize::try_from(number(rest.first()?)?).ok()?;
            let SqlType::Row(row) = &of.ty else { return None };
            format!(".{}", identifier(&row.fields.get(place)?.0))
        } else {
            return None;
        };
        let bare = match &of.kind {
            ExprKind::Call { function, .. } => {
                let parts = [&ELEMENT, &SLICE, &SUBSCRIPT, &STORE_SUBSCRIPT, &FIELD];
                parts.iter().any(|part| std::ptr::eq(*function, *part))
            }
            ExprKind::Column(_) => !is(&FIELD),
            _ => false,
        };
        let of = self.text(of, Around::Nothing);
        Some(if bare { of + &behind } else { format!("({of}){behind}") })
    }

    fn plain(&self, expr: &TypedExpr, around: Around) -> String {
        use Around::{Logic, Nothing, Operator};
        if stack::check().is_err() {
            return "…".to_string();
        }
        let one = |expr: &TypedExpr, around| self.text(expr, around);
        match &expr.kind {
            ExprKind::Column(index) => {
                self.names.get(*index).map_or_else(String::new, |name| identifier(name))
            }
            ExprKind::Parameter(_) if self.value => "VALUE".to_string(),
            ExprKind::Parameter(index) => format!("${}", index + 1),
            ExprKind::Outer(index) => format!("outer.{}", index + 1),
            ExprKind::Subquery { .. } => "(SubPlan)".to_string(),
            ExprKind::Literal(value) => constant(value, &expr.ty, around == Operator, self.pretty),
            ExprKind::Call { function, args } if let Some((asked, words)) = is_json(function, args) => {
                self.wrapped(format!("{} {words}", one(asked, Operator)), around, &[Nothing, Logic])
            }
            ExprKind::Call { function, args } if let Some(part) = self.part(function, args) => part,
            ExprKind::Call { function, args } => match (function.operator, args.as_slice()) {
                (Some(op), [left, right]) => {
                    let text = format!("{} {op} {}", one(left, Operator), one(right, Operator));
                    self.wrapped(text, around, &[Nothing, Logic])
                }
                (Some(op), [arg]) => {
                    let text = format!("{op} {}", one(arg, Operator));
                    self.wrapped(text, around, &[Nothing, Logic])
                }
                // forms of the language, not the functions of these names
                (None, [absent, unique, pairs @ ..])
                    if std::ptr::eq(*function, &JSON_OBJECT) || std::ptr::eq(*function, &JSONB_OBJECT) =>
                {
                    let is = |flag: &TypedExpr| matches!(flag.kind, ExprKind::Literal(Value::Bool(true)));
                    let pair = |pair: &[TypedExpr]| {
                        pair.iter().map(|part| one(part, Nothing)).collect::<Vec<_>>().join(" : ")
                    };
                    let pairs = pairs.chunks(2).map(pair).collect::<Vec<_>>().join(", ");
                    let absent = if is(absent) { " ABSENT ON NULL" } else { "" };
                    let unique = if is(unique) { " WITH UNIQUE KEYS" } else { "" };
                    let words = if pairs.is_empty() { ["", ""] } else { [absent, unique] };
                    format!("JSON_OBJECT({pairs}{} RETURNING {})", words.concat(), expr.ty)
                }
                (None, [absent, values @ ..])
                    if std::ptr::eq(*function, &JSON_ARRAY) || std::ptr::eq(*function, &JSONB_ARRAY) =>
                {
                    let keeps = matches!(absent.kind, ExprKind::Literal(Value::Bool(false)));
                    let nulls = if keeps && !values.is_empty() { " NULL ON NULL" } else { "" };
                    format!("JSON_ARRAY({}{nulls} RETURNING {})", self.list(values), expr.ty)
                }
                (None, [value]) if std::ptr::eq(*function, &JSON_UNIQUE) => {
                    format!("JSON(({})::text WITH UNIQUE KEYS)", one(value, Nothing))
                }
                // What it compares has the collation anyhow, or says so itself.
                (None, [arg, _, _]) if function.name == collations::KEY => one(arg, around),
                (None, [key]) if function.name == collations::TEXT => one(key, around),
                (None, [arg, name, _]) if function.name == MAPPED => match &name.kind {
                    ExprKind::Literal(Value::Text(name)) => format!("{name}({})", one(arg, Nothing)),
                    _ => one(arg, around),
                },
                (None, []) if matches!(function.name, "current_user" | "session_user") => {
                    function.name.to_uppercase()
                }
                _ => format!("{}({})", function.name, self.arguments(function.name, args)),
            },
            ExprKind::UserCall { function, args } => {
                let is_it = |known: &Arc<FunctionDef>| known.schema == function.schema;
                let is_found =
                    |catalog: &CatalogSnapshot| catalog.functions(None, &function.name).iter().any(is_it);
                let schema = match self.catalog.is_none_or(is_found) {
                    true => String::new(),
                    false => format!("{}.", identifier(&function.schema)),
                };
                format!("{schema}{}({})", identifier(&function.name), self.list(args))
            }
            ExprKind::Fold { rows, .. } => one(rows, around),
            ExprKind::Domain { arg, rules } => {
                format!("({})::{}", one(arg, Operator), rules.ty())
            }
            ExprKind::Cast { arg, kind: _ } => {
                let inner = one(arg, Operator);
                let inner = match inner.starts_with('(') && matches!(arg.kind, ExprKind::Call { .. }) {
                    true => inner,
                    false
                        if self.pretty
                            && matches!(arg.kind, ExprKind::Column(_) | ExprKind::Parameter(_)) =>
                    {
                        inner
                    }
                    false => format!("({inner})"),
                };
                format!("{inner}::{}", expr.ty)
            }
            ExprKind::And(args) => {
                let text = args.iter().map(|arg| one(arg, Logic)).collect::<Vec<_>>().join(" AND ");
                self.wrapped(text, around, &[Nothing])
            }
            ExprKind::Or(args) => {
                let text = args.iter().map(|arg| one(arg, Logic)).collect::<Vec<_>>().join(" OR ");
                self.wrapped(text, around, &[Nothing])
            }
            ExprKind::Not(arg) => self.wrapped(format!("NOT {}", one(arg, Logic)), around, &[Nothing, Logic]),
            ExprKind::IsNull { arg, negated } => {
                let not = if *negated { "NOT " } else { "" };
                let text = format!("{} IS {not}NULL", one(arg, Operator));
                self.wrapped(text, around, &[Nothing, Logic])
            }
            ExprKind::IsBool { arg, value, negated } => {
                let word = match value {
                    Some(true) => "TRUE",
                    Some(false) => "FALSE",
                    None => "UNKNOWN",
                };
                let not = if *negated { "NOT " } else { "" };
                let text = format!("{} IS {not}{word}", one(arg, Operator));
                self.wrapped(text, around, &[Nothing, Logic])
            }
            ExprKind::IsDistinct { left, right, negated } => {
                let (left, right) = (one(left, Operator), one(right, Operator));
                match negated {
                    false => {
                        let text = format!("{left} IS DISTINCT FROM {right}");
                        self.wrapped(text, around, &[Nothing, Logic])
                    }
                    true => format!("(NOT ({left} IS DISTINCT FROM {right}))"),
                }
            }
            ExprKind::Case { branches, otherwise } => {
                let mut out = "\nCASE".to_string();
                for (condition, result) in branches {
                    let (condition, result) = (one(condition, Nothing), one(result, Nothing));
                    out.push_str(&format!("\n    WHEN {condition} THEN {result}"));
                }
                let otherwise = otherwise
                    .as_ref()
                    .map_or_else(|| format!("NULL::{}", expr.ty), |otherwise| one(otherwise, Nothing));
                out + "\n    ELSE " + &otherwise + "\nEND"
            }
            ExprKind::Coalesce(args) => format!("COALESCE({})", self.list(args)),
            ExprKind::NullIf { left, right } => {
                format!("NULLIF({}, {})", one(left, Nothing), one(right, Nothing))
            }
            ExprKind::InList { arg, list, negated } => {
                let (op, word) = if *negated { ("<>", "ALL") } else { ("=", "ANY") };
                let items = list.iter().map(|item| one(item, Operator)).collect::<Vec<_>>().join(", ");
                let text = format!("{} {op} {word} (ARRAY[{items}])", one(arg, Operator));
                self.wrapped(text, around, &[Nothing, Logic])
            }
            ExprKind::Like { arg, pattern, escape, negated, case_insensitive } => {
                let op = match (negated, case_insensitive) {
                    (false, false) => "~~",
                    (true, false) => "!~~",
                    (false, true) => "~~*",
                    (true, true) => "!~~*",
                };
                let pattern = match escape {
                    None => one(pattern, Operator),
                    Some(escape) => {
                        format!("like_escape({}, {})", one(pattern, Nothing), one(escape, Nothing))
                    }
                };
                let text = format!("{} {op} {pattern}", one(arg, Operator));
                self.wrapped(text, around, &[Nothing, Logic])
            }
            ExprKind::Array(items) => format!("ARRAY[{}]", self.list(items)),
            ExprKind::Row(items) => format!("ROW({})", self.list(items)),
            ExprKind::JsonPath(call) => path_call(call, &expr.ty, &mut |part| one(part, Nothing)),
        }
    }

    /// The arguments of a function; the name of a sequence is shown as the `regclass` that PostgreSQL takes.
    fn arguments(&self, function: &str, args: &[TypedExpr]) -> String {
        match args {
            [sequence, rest @ ..] if matches!(function, "nextval" | "currval" | "setval") => {
                let first = match &sequence.kind {
                    ExprKind::Literal(Value::Text(name)) => {
                        let name = name.strip_prefix("public.").unwrap_or(name);
                        format!("{}::regclass", literal(name))
                    }
                    _ => self.text(sequence, Around::Nothing),
                };
                if rest.is_empty() { first } else { format!("{first}, {}", self.list(rest)) }
            }
            args => self.list(args),
        }
    }
}

/// A value as its type writes it.
fn shown(value: &Value, ty: &SqlType) -> String {
    let mut out = String::new();
    format_text(value, ty, &TimeStyle::UTC, &mut out);
    out
}

/// A constant, with its type where the text does not tell it.
fn constant(value: &Value, ty: &SqlType, operand: bool, pretty: bool) -> String {
    let name = ty.without_modifiers();
    let text = shown(value, ty);
    match value {
        Value::Null => format!("NULL::{name}"),
        Value::Bool(value) => value.to_string(),
        Value::Int2(_)
        | Value::Int4(_)
        | Value::Int8(_)
        | Value::Numeric(_)
        | Value::Big(_)
        | Value::Float4(_)
        | Value::Float8(_)
            if ty.is_number() =>
        {
            let whole = text.bytes().all(|byte| byte.is_ascii_digit());
            let plain =
                ty.is_integer() || matches!(ty, SqlType::Numeric(_) | SqlType::LongNumeric(_)) && !whole;
            match (text.starts_with('-'), plain) {
                (true, _) => format!(
                    "'{text}'::{}",
                    if ty.is_integer() { SqlType::Int4.to_string() } else { name.to_string() }
                ),
                (false, true) => text,
                (false, false) if operand && whole && pretty => format!("{text}::{name}"),
                (false, false) if operand && whole => format!("({text})::{name}"),
                (false, false) => format!("'{text}'::{name}"),
            }
        }
        _ => format!("{}::{name}", quoted(&text)),
    }
}
