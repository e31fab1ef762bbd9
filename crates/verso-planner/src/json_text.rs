//! Forms of SQL/JSON as text, as PostgreSQL shows them.

use verso_exec::functions::json::{BYTES_AS_TEXT, IS_JSON};
use verso_exec::functions::{BuiltinFunction, quote_ident};
use verso_exec::plan::{ExprKind, JsonPathCall, JsonPathTest, JsonWrapping, TypedExpr};
use verso_types::{SqlType, Value};

/// `JSON_VALUE(…)` and its relatives, whose parts `one` shows.
pub fn path_call(call: &JsonPathCall, ty: &SqlType, one: &mut dyn FnMut(&TypedExpr) -> String) -> String {
    let path = one(&call.path);
    let path = path.strip_suffix("::jsonpath").unwrap_or(&path);
    let mut out = format!("{}({}, {path}", call.test.name(), one(&call.document));
    for (n, (name, value)) in call.passing.iter().enumerate() {
        out.push_str(if n == 0 { " PASSING " } else { ", " });
        out.push_str(&format!("{} AS {}", one(value), quote_ident(name)));
    }
    if call.test != JsonPathTest::Exists {
        match call.domain.as_ref().map(|domain| &domain.kind) {
            Some(ExprKind::Domain { rules, .. }) => {
                out.push_str(&format!(" RETURNING {}", rules.of));
            }
            _ => out.push_str(&format!(" RETURNING {ty}")),
        }
    }
    if call.test == JsonPathTest::Query {
        out.push_str(match call.wrapping {
            JsonWrapping::Never => " WITHOUT WRAPPER",
            JsonWrapping::Conditional => " WITH CONDITIONAL WRAPPER",
            JsonWrapping::Always => " WITH UNCONDITIONAL WRAPPER",
        });
        out.push_str(if call.omit_quotes { " OMIT QUOTES" } else { " KEEP QUOTES" });
    }
    let usual = |expr: &TypedExpr| match (&expr.kind, call.test) {
        (ExprKind::Literal(Value::Bool(value)), JsonPathTest::Exists) => !value,
        (ExprKind::Literal(value), JsonPathTest::Value | JsonPathTest::Query) => value.is_null(),
        // NULL of a domain
        (ExprKind::Domain { arg, .. }, _) => matches!(arg.kind, ExprKind::Literal(Value::Null)),
        _ => false,
    };
    let mut fallback = |given: &Option<TypedExpr>, word: &str, out: &mut String| match given {
        None => out.push_str(&format!(" ERROR ON {word}")),
        Some(expr) if usual(expr) => {}
        Some(expr) => {
            let shown = match (&expr.kind, call.test) {
                (ExprKind::Literal(Value::Bool(_)), JsonPathTest::Exists) => "TRUE".to_owned(),
                (_, JsonPathTest::Exists) => "UNKNOWN".to_owned(),
                (ExprKind::JsonPath(empty), _) => match one(&empty.document).starts_with("'[") {
                    true => "EMPTY ARRAY".to_owned(),
                    false => "EMPTY OBJECT".to_owned(),
                },
                _ => format!("DEFAULT {}", one(expr)),
            };
            out.push_str(&format!(" {shown} ON {word}"));
        }
    };
    if call.test != JsonPathTest::Exists {
        fallback(&call.on_empty, "EMPTY", &mut out);
    }
    fallback(&call.on_error, "ERROR", &mut out);
    out.push(')');
    out
}

/// A call of the function behind IS JSON: what it is asked of, and the words.
pub fn is_json<'e>(function: &BuiltinFunction, args: &'e [TypedExpr]) -> Option<(&'e TypedExpr, String)> {
    let [text, kind, unique] = args else { return None };
    let (ExprKind::Literal(Value::Int4(kind)), ExprKind::Literal(Value::Bool(unique))) =
        (&kind.kind, &unique.kind)
    else {
        return None;
    };
    if !std::ptr::eq(function, &IS_JSON) {
        return None;
    }
    // A cast that nobody wrote, or the bytes that are read as a text.
    let asked = match &text.kind {
        ExprKind::Cast { arg, .. } if matches!(arg.ty, SqlType::Json | SqlType::Jsonb) => &**arg,
        ExprKind::Call { function, args } if std::ptr::eq(*function, &BYTES_AS_TEXT) => args.first()?,
        _ => text,
    };
    let kind = ["", " OBJECT", " ARRAY", " SCALAR"].get(usize::try_from(*kind).ok()?)?;
    let unique = if *unique { " WITH UNIQUE KEYS" } else { "" };
    Some((asked, format!("IS JSON{kind}{unique}")))
}
