//! What is written about JSON and means something else: aggregates, IS JSON. The aggregates of ranges are made the same way.
//!
//! ```text
//! json_agg(x ORDER BY y)          json_agg_end(array_agg(json_agg_item(x) ORDER BY y))
//! json_agg(DISTINCT x)            json_agg_of(array_gathered(DISTINCT x))
//! jsonb_object_agg(k, v)          jsonb_object_agg_end(array_agg(ROW(jsonb_agg_key(k), to_jsonb(v))))
//! range_agg(x)                    range_agg_end(array_agg(x))
//! json_agg_strict(x)              json_agg_end(json_agg_present(array_agg(json_agg_item_strict(x))))
//! ```

use verso_exec::functions::json::{BYTES_AS_TEXT, IS_JSON};
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_parser::syntax::{Call, Expr, ExprKind, JsonKind, Literal, Name, QualifiedName, Span};
use verso_types::{CastKind, SqlType, Value};

use super::Binder;
use super::resolve::shown;
use crate::errors::{SqlError, sqlstate};

/// A name of `pg_catalog`.
pub(super) fn named(text: &str, at: Span) -> QualifiedName {
    let name = |text: &str| Name { text: text.to_owned(), at };
    QualifiedName { schema: Some(name("pg_catalog")), name: name(text) }
}

/// An expression that stands where another does.
fn at(kind: ExprKind, like: &Expr) -> Expr {
    Expr { kind, at: like.at, point: like.point }
}

fn call_of(name: &str, args: Vec<Expr>, call: &Call, like: &Expr) -> Expr {
    at(ExprKind::Call(Box::new(Call::plain(named(name, call.name.name.at), args))), like)
}

/// Whether calls of that name are such aggregates: what stands for them is never shown.
pub(crate) fn is_json_aggregate(name: &str) -> bool {
    let plain = name.strip_suffix("_strict").unwrap_or(name);
    let of_objects = plain.strip_suffix("_unique").unwrap_or(plain);
    matches!(plain, "json_agg" | "jsonb_agg")
        || matches!(of_objects, "json_object_agg" | "jsonb_object_agg")
        || matches!(name, "range_agg" | "range_intersect_agg")
}

/// An aggregate of JSON as what it stands for; none for all other calls.
pub(super) fn json_aggregate(call: &Call, expr: &Expr) -> Option<Expr> {
    let name = call.name.name.text.as_str();
    // Of objects the last step leaves NULLs out: their keys count, too.
    let suffix = |suffix: &str| {
        let plain = name.strip_suffix(suffix)?;
        matches!(plain, "json_object_agg" | "jsonb_object_agg").then_some((
            plain,
            false,
            &name[plain.len()..],
        ))
    };
    let (plain, strict, kind) =
        suffix("_unique_strict").or(suffix("_unique")).or(suffix("_strict")).unwrap_or_else(|| {
            let plain = name.strip_suffix("_strict").unwrap_or(name);
            (plain, plain != name, "")
        });
    let (prefix, convert) =
        if plain.starts_with("jsonb_") { ("jsonb", "to_jsonb") } else { ("json", "to_json") };
    let end_of_object;
    let (item, end) = match (plain, call.args.as_slice()) {
        ("range_agg", [value]) => (value.clone(), "range_agg_end"),
        ("range_intersect_agg", [value]) => (value.clone(), "range_intersect_agg_end"),
        // distinct are the values, not what they look like
        ("json_agg", [value]) if call.distinct => (value.clone(), "json_agg_of"),
        ("jsonb_agg", [value]) if call.distinct => (value.clone(), "jsonb_agg_of"),
        ("json_agg", [value]) => {
            let item = if strict { "json_agg_item_strict" } else { "json_agg_item" };
            (call_of(item, vec![value.clone()], call, value), "json_agg_end")
        }
        ("jsonb_agg", [value]) => (call_of(convert, vec![value.clone()], call, value), "jsonb_agg_end"),
        ("json_object_agg" | "jsonb_object_agg", [key, value]) => {
            // It may be of any type: a literal is a text.
            let kept = |value: &Expr| match &value.kind {
                ExprKind::Literal(Literal::String(_) | Literal::Null) => {
                    let (arg, at_type) = (Box::new(value.clone()), value.at.start);
                    at(ExprKind::Cast { arg, ty: SqlType::Text, at_type }, value)
                }
                _ => value.clone(),
            };
            // Before the pair stand the values that are distinct: these are sorted by, not what they look like.
            let mut parts = if call.distinct { vec![kept(key), kept(value)] } else { Vec::new() };
            parts.push(call_of(&format!("{prefix}_agg_key"), vec![key.clone()], call, key));
            parts.push(call_of(convert, vec![kept(value)], call, value));
            let pair = ExprKind::Row(parts);
            end_of_object = format!("{prefix}_object_agg{kind}_end");
            (at(pair, value), end_of_object.as_str())
        }
        _ => return None,
    };
    let mut gathered = call.clone();
    let gathers = match end {
        "json_agg_of" | "jsonb_agg_of" => "array_gathered",
        _ if call.distinct && matches!(item.kind, ExprKind::Row(_)) && call.args.len() == 2 => {
            "array_gathered_parts"
        }
        _ => "array_agg",
    };
    gathered.name = named(gathers, call.name.name.at);
    gathered.args = vec![item];
    let mut gathered = at(ExprKind::Call(Box::new(gathered)), expr);
    if strict {
        gathered = call_of("json_agg_present", vec![gathered], call, expr);
    }
    Some(call_of(end, vec![gathered], call, expr))
}

impl Binder<'_> {
    /// `a IS [NOT] JSON …`.
    pub(super) fn is_json(
        &self,
        value: TypedExpr,
        at: u32,
        kind: JsonKind,
        unique: bool,
        negated: bool,
    ) -> Result<TypedExpr, SqlError> {
        let value = match value.ty {
            SqlType::Bytea => {
                TypedExpr::new(K::Call { function: &BYTES_AS_TEXT, args: vec![value] }, SqlType::Text)
            }
            _ => value,
        };
        if !(value.ty.is_text() || matches!(value.ty, SqlType::Json | SqlType::Jsonb)) {
            let text = format!("cannot use type {} in IS JSON predicate", shown(&value.ty));
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(at));
        }
        let text = self.coerce(value, at, &SqlType::Text, CastKind::Explicit)?;
        let kind = match kind {
            JsonKind::Value => 0,
            JsonKind::Object => 1,
            JsonKind::Array => 2,
            JsonKind::Scalar => 3,
        };
        let args = vec![
            text,
            TypedExpr::literal(Value::Int4(kind), SqlType::Int4),
            TypedExpr::literal(Value::Bool(unique), SqlType::Bool),
        ];
        let test = TypedExpr::new(K::Call { function: &IS_JSON, args }, SqlType::Bool);
        Ok(if negated { TypedExpr::new(K::Not(Box::new(test)), SqlType::Bool) } else { test })
    }
}
