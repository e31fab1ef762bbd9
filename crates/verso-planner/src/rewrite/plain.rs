//! Conditions in a plain form: `NOT (a <> b)`, `a IN (b)` and `(a = b) IS TRUE` say `a = b`, by which tables are joined and looked up.
//!
//! ```text
//! a IN (b)                        ─►  a = b            NOT (p AND q)        ─►  NOT p OR NOT q
//! NOT (a <> b), NOT a NOT IN (b)  ─►  a = b            (a = b) = true       ─►  a = b
//! (a = b) IS TRUE, CASE WHEN a = b THEN true END, COALESCE(a = b, false)    ─►  a = b, where only truth counts
//! ```
//!
//! C1. A plain form has the same value. Where only truth counts, as in a condition and the parts of its AND and OR, it is true for the
//!     same rows, and may be false where the condition was NULL.
//! C2. Each part is looked at once, the parts before what they are parts of: an operator turned around by NOT is plain already.
//! C3. All queries of a statement are made plain once, before it is rewritten ([`queries`]): a query in an expression is asked for
//!     equalities before it is rewritten itself. What is asked of an operator later on stops at the queries within it.
//!
//! Source: `src/backend/optimizer/prep/prepqual.c` and `util/clauses.c` of PostgreSQL.

use std::sync::Arc;

use verso_env::recursion::check;
use verso_exec::functions::{BuiltinFunction, operator_candidates};
use verso_exec::plan::{ExprKind as K, Plan, SubqueryTest, TypedExpr};
use verso_types::{SqlType, Value};

use super::graph::equality;

/// Makes the conditions of an operator plain; not those of its inputs, nor of queries within them.
pub(super) fn conditions(plan: &mut Plan) {
    match plan {
        Plan::Filter { predicate, .. } => plain(predicate),
        Plan::TableScan { filter, .. }
        | Plan::Join { filter, .. }
        | Plan::Semi { filter, .. }
        | Plan::Apply { filter, .. } => filter.iter_mut().for_each(plain),
        _ => {}
    }
}

/// The same of the queries within the expressions of a query, however deep; what is read in several places is left to who rewrites it.
pub(super) fn queries(plan: &mut Plan) {
    if check().is_ok() {
        plan.for_each_expr_mut(&mut queries_within);
        plan.for_each_input_mut(&mut queries);
    }
}

/// The same of an expression.
pub(super) fn queries_within(expr: &mut TypedExpr) {
    if check().is_err() {
        return;
    }
    expr.for_each_child_mut(&mut queries_within);
    if let K::Subquery { plan, .. } = &mut expr.kind
        && plan.any_expr(&mut may_be_plainer)
    {
        let mut own = Plan::clone(plan);
        all_conditions(&mut own);
        queries(&mut own);
        *plan = Arc::new(own);
    }
}

/// Makes the conditions of all operators of a query plain.
fn all_conditions(plan: &mut Plan) {
    if check().is_ok() {
        conditions(plan);
        plan.for_each_input_mut(&mut all_conditions);
    }
}

/// Makes a condition plain.
pub(crate) fn plain(condition: &mut TypedExpr) {
    if condition.any(&mut may_be_plainer) {
        let own = std::mem::replace(condition, truth(true));
        *condition = formed(own, true);
    }
}

/// Whether an operator may have a plainer form.
fn may_be_plainer(expr: &TypedExpr) -> bool {
    match &expr.kind {
        K::Not(_) | K::IsBool { .. } | K::Case { .. } | K::Coalesce(_) => true,
        K::InList { list, .. } => list.len() == 1,
        K::And(parts) | K::Or(parts) => parts.iter().any(|part| matches!(part.kind, K::Literal(_))),
        K::Call { args, .. } => args.iter().any(|arg| said(arg).is_some()),
        _ => false,
    }
}

fn truth(value: bool) -> TypedExpr {
    TypedExpr::literal(Value::Bool(value), SqlType::Bool)
}

/// The truth value that a literal is.
fn said(expr: &TypedExpr) -> Option<bool> {
    match expr.kind {
        K::Literal(Value::Bool(value)) => Some(value),
        _ => None,
    }
}

fn is_null(expr: &TypedExpr) -> bool {
    matches!(expr.kind, K::Literal(Value::Null))
}

/// The plain form; `truth_counts`: nobody tells false from NULL.
fn formed(expr: TypedExpr, truth_counts: bool) -> TypedExpr {
    if check().is_err() {
        return expr;
    }
    let TypedExpr { kind, ty, collation } = expr;
    let kind = match kind {
        K::And(parts) => return joined(parts, true, truth_counts),
        K::Or(parts) => return joined(parts, false, truth_counts),
        K::Not(arg) => return turned(formed(*arg, false)),
        K::IsBool { arg, value: Some(value), negated: false } if truth_counts => {
            return if value { formed(*arg, true) } else { turned(formed(*arg, false)) };
        }
        K::InList { arg, mut list, negated } if list.len() == 1 => match equality(&arg.ty) {
            Some(function) if list[0].ty.same_base(&arg.ty) => {
                let args = vec![*arg, list.remove(0)];
                let call = TypedExpr::new(K::Call { function, args }, SqlType::Bool);
                return if negated { turned(call) } else { call };
            }
            _ => K::InList { arg, list, negated },
        },
        K::Coalesce(mut args) if truth_counts && args.len() == 2 && said(&args[1]) == Some(false) => {
            return formed(args.swap_remove(0), true);
        }
        K::Call { function, mut args } => match (function.comparison(), asked_of_truth(&args)) {
            (Some(operator @ ("=" | "<>")), Some((at, value))) => {
                let part = formed(args.swap_remove(at), truth_counts && value == (operator == "="));
                return if value == (operator == "=") { part } else { turned(part) };
            }
            _ => K::Call { function, args },
        },
        K::Case { branches, otherwise } => match chosen(branches, otherwise, truth_counts) {
            Ok(result) => return formed(result, truth_counts),
            Err(kind) => kind,
        },
        other => other,
    };
    TypedExpr { kind, ty, collation }
}

/// Of a condition and a truth value that a literal says, compared: the place of the first, and the second. Columns, and what indexes may
/// be over, stay as they are compared.
fn asked_of_truth(args: &[TypedExpr]) -> Option<(usize, bool)> {
    let [left, right] = args else { return None };
    let computed = |expr: &TypedExpr| match &expr.kind {
        K::And(_) | K::Or(_) | K::Not(_) | K::InList { .. } | K::Like { .. } | K::IsNull { .. } => true,
        K::IsBool { .. } | K::IsDistinct { .. } => true,
        K::Call { function, .. } => {
            matches!(function.comparison(), Some("=" | "<>" | "<" | "<=" | ">" | ">="))
        }
        _ => false,
    };
    match (said(left), said(right)) {
        (None, Some(value)) if computed(left) => Some((0, value)),
        (Some(value), None) if computed(right) => Some((1, value)),
        _ => None,
    }
}

/// AND of parts (`all`), or OR.
fn joined(parts: Vec<TypedExpr>, all: bool, truth_counts: bool) -> TypedExpr {
    let mut kept = Vec::with_capacity(parts.len());
    for part in parts {
        let part = formed(part, truth_counts);
        let said = said(&part).or_else(|| (truth_counts && is_null(&part)).then_some(false));
        match (said, part.kind) {
            (Some(value), _) if value == all => {}
            (Some(_), _) => return truth(!all),
            (None, K::And(inner)) if all => kept.extend(inner),
            (None, K::Or(inner)) if !all => kept.extend(inner),
            (None, kind) => kept.push(TypedExpr { kind, ty: part.ty, collation: part.collation }),
        }
    }
    match kept.len() {
        0 => truth(all),
        1 => kept.swap_remove(0),
        _ => TypedExpr::new(if all { K::And(kept) } else { K::Or(kept) }, SqlType::Bool),
    }
}

/// NOT of what is plain.
fn turned(expr: TypedExpr) -> TypedExpr {
    let not = |expr| TypedExpr::new(K::Not(Box::new(expr)), SqlType::Bool);
    if check().is_err() {
        return not(expr);
    }
    let TypedExpr { kind, ty, collation } = expr;
    let kind = match kind {
        K::Not(arg) => return *arg,
        K::And(parts) => K::Or(parts.into_iter().map(turned).collect()),
        K::Or(parts) => K::And(parts.into_iter().map(turned).collect()),
        K::Literal(Value::Bool(value)) => K::Literal(Value::Bool(!value)),
        // A row with some NULLs is neither NULL nor not.
        K::IsNull { arg, negated } if !arg.ty.is_row() => K::IsNull { arg, negated: !negated },
        K::IsBool { arg, value, negated } => K::IsBool { arg, value, negated: !negated },
        K::IsDistinct { left, right, negated } => K::IsDistinct { left, right, negated: !negated },
        K::InList { arg, list, negated } => K::InList { arg, list, negated: !negated },
        K::Subquery { plan, outer, test: SubqueryTest::In { negated }, args } => {
            K::Subquery { plan, outer, test: SubqueryTest::In { negated: !negated }, args }
        }
        K::Call { function, args } => match opposite(function) {
            Some(function) => K::Call { function, args },
            None => return not(TypedExpr { kind: K::Call { function, args }, ty, collation }),
        },
        kind => return not(TypedExpr { kind, ty, collation }),
    };
    TypedExpr { kind, ty, collation }
}

/// The comparison that holds where one of two values does not.
fn opposite(function: &BuiltinFunction) -> Option<&'static BuiltinFunction> {
    let operator = match function.comparison()? {
        "=" => "<>",
        "<>" => "=",
        "<" => ">=",
        ">=" => "<",
        ">" => "<=",
        "<=" => ">",
        _ => return None,
    };
    let fits = |one: &&'static BuiltinFunction| one.comparison().is_some() && one.args == function.args;
    operator_candidates(operator).iter().copied().find(fits)
}

/// The result of a CASE that is known, or what is left of it.
fn chosen(
    branches: Vec<(TypedExpr, TypedExpr)>,
    otherwise: Option<Box<TypedExpr>>,
    truth_counts: bool,
) -> Result<TypedExpr, K> {
    let possible =
        |(condition, _): &(TypedExpr, TypedExpr)| said(condition) != Some(false) && !is_null(condition);
    let mut branches: Vec<_> = branches.into_iter().filter(possible).collect();
    if branches.first().is_some_and(|(condition, _)| said(condition) == Some(true)) {
        return Ok(branches.swap_remove(0).1);
    }
    let is_false = |expr: &TypedExpr| said(expr) == Some(false) || is_null(expr);
    match (branches.as_slice(), &otherwise) {
        ([], Some(_)) => otherwise.map(|otherwise| *otherwise).ok_or(K::Literal(Value::Null)),
        ([], None) => Err(K::Literal(Value::Null)),
        ([(_, result)], otherwise)
            if truth_counts && said(result) == Some(true) && otherwise.as_deref().is_none_or(is_false) =>
        {
            Ok(branches.swap_remove(0).0)
        }
        _ => Err(K::Case { branches, otherwise }),
    }
}
