//! A value that an expression uses several times, computed once.
//!
//! ```text
//! x BETWEEN l AND h  ─►  x >= l AND x <= h                                       where x is small
//!                    ─►  (SELECT $1 >= $2 AND $1 <= $3) of x, l, h               where it is large
//! ```
//!
//! Written out, a chain of n such expressions within each other has 2ⁿ parts. The operand of CASE is computed once also where
//! it is volatile; that of BETWEEN is asked twice then, as in PostgreSQL.

use std::sync::Arc;

use verso_exec::plan::{ExprKind as K, Plan, SubqueryTest, TypedExpr};
use verso_types::SqlType;

use super::subquery::subquery;
use crate::errors::SqlError;

/// A value of more parts is not written twice.
const PARTS_MAX: usize = 64;
/// Stands for the value until the columns are numbered.
const VALUE: usize = usize::MAX;

/// As [`once`], and a volatile value is computed once however small it is: CASE compares one value with each of its branches.
pub(super) fn once_if_volatile(
    value: (TypedExpr, u32),
    build: impl FnOnce((TypedExpr, u32)) -> Result<TypedExpr, SqlError>,
) -> Result<TypedExpr, SqlError> {
    match value.0.is_volatile() && value.0.ty != SqlType::Unknown {
        true => written_once(value, build),
        false => once(value, build),
    }
}

/// What `build` makes of a value, a pair of an expression and its place.
pub(super) fn once(
    value: (TypedExpr, u32),
    build: impl FnOnce((TypedExpr, u32)) -> Result<TypedExpr, SqlError>,
) -> Result<TypedExpr, SqlError> {
    let (expr, at) = value;
    if expr.size(PARTS_MAX + 1) <= PARTS_MAX || expr.ty == SqlType::Unknown {
        return build((expr, at));
    }
    written_once((expr, at), build)
}

fn written_once(
    (expr, at): (TypedExpr, u32),
    build: impl FnOnce((TypedExpr, u32)) -> Result<TypedExpr, SqlError>,
) -> Result<TypedExpr, SqlError> {
    let ty = expr.ty.clone();
    let mut result = build((TypedExpr::new(K::Outer(VALUE), ty), at))?;
    let mut outer = vec![expr];
    hand_in(&mut result, &mut outer);
    let ty = result.ty.clone();
    let row = Plan::Values { rows: vec![Vec::new()], columns: Vec::new() };
    let plan = Plan::Project { input: Box::new(row), exprs: vec![result], names: vec![Arc::from("")] };
    Ok(subquery(plan, outer, SubqueryTest::Scalar, Vec::new(), ty))
}

/// Hands the value, and what else an expression needs of its surroundings, in from outside.
fn hand_in(expr: &mut TypedExpr, outer: &mut Vec<TypedExpr>) {
    match expr.kind {
        K::Outer(VALUE) => expr.kind = K::Outer(0),
        K::Column(_) | K::Outer(_) => {
            let column = TypedExpr::new(K::Outer(outer.len()), expr.ty.clone());
            outer.push(std::mem::replace(expr, column));
        }
        _ => expr.for_each_child_mut(&mut |child| hand_in(child, outer)),
    }
}
