//! Expressions as text, over the names of the columns that they read.

use crate::json_text::{is_json, path_call};
use std::cell::RefCell;
use std::sync::Arc;

use verso_env::stack;
use verso_exec::functions::collations;
use verso_exec::plan::{ExprKind, PLACE, Plan, SubqueryTest, TypedExpr};
use verso_types::{Collator, SqlType, SystemType, TimeStyle, Value, format_text};

/// What is visible where an expression stands.
#[derive(Clone, Copy)]
pub(super) struct Scope<'a> {
    /// Texts of the input's columns.
    pub columns: &'a [String],
    /// Texts of what the query around it hands in.
    pub outer: &'a [String],
    /// The queries in expressions so far, whose places are their numbers.
    pub subplans: &'a RefCell<Vec<*const Plan>>,
}

impl Scope<'_> {
    /// The number of a query in an expression, from 1.
    fn number(&self, plan: *const Plan) -> usize {
        let mut subplans = self.subplans.borrow_mut();
        let known = subplans.iter().position(|known| std::ptr::eq(*known, plan));
        1 + known.unwrap_or_else(|| {
            subplans.push(plan);
            subplans.len() - 1
        })
    }
}

/// An expression over columns of these names.
pub(super) fn text(expr: &TypedExpr, names: Scope<'_>) -> String {
    if stack::check().is_err() {
        return "…".to_string();
    }
    let one = |expr: &TypedExpr| text(expr, names);
    let all = |exprs: &[TypedExpr], between: &str| exprs.iter().map(one).collect::<Vec<_>>().join(between);
    let not = |negated: &bool| if *negated { "NOT " } else { "" };
    match &expr.kind {
        ExprKind::Column(index) => names.columns.get(*index).cloned().unwrap_or_else(|| format!("#{index}")),
        ExprKind::Parameter(index) => format!("${}", index + 1),
        ExprKind::Outer(index) => {
            names.outer.get(*index).cloned().unwrap_or_else(|| format!("outer.{}", index + 1))
        }
        ExprKind::Subquery { plan, outer, test, args } => {
            let number = names.number(Arc::as_ptr(plan));
            match test {
                SubqueryTest::Scalar if outer.is_empty() => format!("(InitPlan {number}).col1"),
                SubqueryTest::Scalar => format!("(SubPlan {number})"),
                SubqueryTest::Exists => format!("EXISTS(SubPlan {number})"),
                SubqueryTest::Array => format!("ARRAY(SubPlan {number})"),
                SubqueryTest::In { negated } => {
                    format!("({} {}IN (SubPlan {number}))", all(args, ", "), not(negated))
                }
            }
        }
        ExprKind::Literal(Value::Null) => "NULL".to_string(),
        ExprKind::Literal(value) => {
            let mut out = String::new();
            format_text(value, &expr.ty, &TimeStyle::UTC, &mut out);
            if expr.ty.is_number() || expr.ty == SqlType::Bool {
                out
            } else if expr.ty == SqlType::System(SystemType::Tid) {
                format!("'{out}'::tid")
            } else {
                format!("'{}'", out.replace('\'', "''"))
            }
        }
        ExprKind::Call { function, args } if let Some((asked, words)) = is_json(function, args) => {
            format!("({} {words})", one(asked))
        }
        ExprKind::Call { function, args } => match (function.operator, args.as_slice()) {
            (Some("[]" | "[j]" | "[h]"), [array, subscripts @ ..]) => {
                let subscripts: String = subscripts.iter().map(|arg| format!("[{}]", one(arg))).collect();
                format!("({}){subscripts}", one(array))
            }
            (Some(op @ ("[:]" | "[]=" | "[:]=" | "[j]=" | "[h]=")), args) => {
                format!("{op}({})", all(args, ", "))
            }
            (Some(op), [left, right]) if is_key(left) || is_key(right) => {
                format!("({} {op} {})", key_text(left, names), key_text(right, names))
            }
            (Some(op), [left, right]) => format!("({} {op} {})", one(left), one(right)),
            (None, [arg, ..]) if is_key_within(expr) => one(arg),
            (None, [arg, _, collation]) if is_key(expr) => {
                let name = match &collation.kind {
                    ExprKind::Literal(Value::Text(name)) => name.to_string(),
                    _ => one(collation),
                };
                format!("({} COLLATE {name})", one(arg))
            }
            (Some(PLACE), [place]) => one(place),
            (Some(op), [arg]) => format!("({op} {})", one(arg)),
            _ => format!("{}({})", function.name, all(args, ", ")),
        },
        ExprKind::UserCall { function, args } => format!("{}({})", function.name, all(args, ", ")),
        ExprKind::Fold { rows, .. } => format!("fold({})", one(rows)),
        ExprKind::Domain { arg, rules } => format!("{}::{}", one(arg), rules.ty()),
        ExprKind::Cast { arg, kind: _ } => format!("{}::{}", one(arg), expr.ty),
        ExprKind::And(args) => format!("({})", all(args, " AND ")),
        ExprKind::Or(args) => format!("({})", all(args, " OR ")),
        ExprKind::Not(arg) => format!("(NOT {})", one(arg)),
        ExprKind::IsNull { arg, negated } => format!("({} IS {}NULL)", one(arg), not(negated)),
        ExprKind::IsBool { arg, value, negated } => {
            let word = match value {
                Some(true) => "TRUE",
                Some(false) => "FALSE",
                None => "UNKNOWN",
            };
            format!("({} IS {}{word})", one(arg), not(negated))
        }
        ExprKind::IsDistinct { left, right, negated } => {
            format!("({} IS {}DISTINCT FROM {})", one(left), not(negated), one(right))
        }
        ExprKind::Case { branches, otherwise } => {
            let mut out = "CASE".to_string();
            for (condition, result) in branches {
                out.push_str(&format!(" WHEN {} THEN {}", one(condition), one(result)));
            }
            if let Some(otherwise) = otherwise {
                out.push_str(&format!(" ELSE {}", one(otherwise)));
            }
            out + " END"
        }
        ExprKind::Coalesce(args) => format!("COALESCE({})", all(args, ", ")),
        ExprKind::NullIf { left, right } => format!("NULLIF({}, {})", one(left), one(right)),
        ExprKind::InList { arg, list, negated } => {
            format!("({} {}IN ({}))", one(arg), not(negated), all(list, ", "))
        }
        ExprKind::Like { arg, pattern, escape, negated, case_insensitive } => {
            let word = if *case_insensitive { "ILIKE" } else { "LIKE" };
            let escape = escape.as_ref().map(|escape| format!(" ESCAPE {}", one(escape))).unwrap_or_default();
            format!("({} {}{word} {}{escape})", one(arg), not(negated), one(pattern))
        }
        ExprKind::Array(items) => format!("ARRAY[{}]", all(items, ", ")),
        ExprKind::Row(items) => format!("ROW({})", all(items, ", ")),
        ExprKind::JsonPath(call) => path_call(call, &expr.ty, &mut |part| one(part)),
    }
}

/// Is it the key of a text under a collation?
fn is_key(expr: &TypedExpr) -> bool {
    matches!(&expr.kind, ExprKind::Call { function, .. } if function.name == collations::KEY)
}

/// Is it a row with keys in place of its texts?
fn is_key_within(expr: &TypedExpr) -> bool {
    let ExprKind::Call { args, .. } = &expr.kind else { return false };
    let is_unnamed =
        |name: &TypedExpr| matches!(&name.kind, ExprKind::Literal(Value::Text(name)) if name.is_empty());
    is_key(expr) && args.get(2).is_some_and(is_unnamed)
}

/// What a key is of: the text that a constant one says.
pub(super) fn key_text(expr: &TypedExpr, names: Scope<'_>) -> String {
    if let ExprKind::Literal(Value::Bytes(key)) = &expr.kind
        && let Some(Ok(text)) = Collator::text_of_key(key).map(std::str::from_utf8)
    {
        return format!("'{}'", text.replace('\'', "''"));
    }
    match &expr.kind {
        // What has no columns is a value, whose key is made when the statement runs.
        ExprKind::Call { args, .. }
            if is_key(expr) && !expr.any(&mut |part| matches!(part.kind, ExprKind::Column(_))) =>
        {
            args.first().map_or_else(String::new, |arg| text(arg, names))
        }
        _ => text(expr, names),
    }
}

/// Each of them.
pub(super) fn list(exprs: &[TypedExpr], names: Scope<'_>) -> Vec<String> {
    exprs.iter().map(|expr| text(expr, names)).collect()
}
