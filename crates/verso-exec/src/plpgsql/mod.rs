//! PL/pgSQL: bound functions compiled to a tree of closures and statements, and run.
//!
//! ```text
//! call ─► Program (compiled once per statement and level of recursion) ─► Frame (slots, result rows)
//! ```
//!
//! L1. Variables are slots; expressions and embedded statements read them as parameters.
//! L2. Every embedded statement has a storage frame of its own: it is kept or undone whole.
//! L3. A block with handlers runs under a savepoint; a caught error undoes the block first.
//! L4. The rows of `FOR … IN query` are collected before the body runs, so the body may change the tables read (T2).

mod block;
mod cursor;
mod diagnostics;
mod dynamic;
mod later;
mod message;
mod program;
mod run;
mod short;
#[cfg(test)]
mod tests;
mod trigger;

use std::sync::Arc;

use verso_catalog::{FunctionDef, FunctionReturn, Object, Rights};
use verso_types::{Batch, SqlType, Value};

use crate::error::{ExecError, Result};
use crate::exec::{ExecContext, denied};
use crate::expr::RowExpr;
use crate::functions::void;
use crate::plan::{PlReturn, TypedExpr};
use crate::spill::Spool;
pub(crate) use program::ProgramPool;
use run::Frame;
pub(crate) use trigger::call_trigger;

/// Calls a function for its one value.
pub(crate) fn call_scalar(
    cx: &ExecContext<'_>,
    function: &Arc<FunctionDef>,
    args: Vec<Value>,
) -> Result<Value> {
    check_right(cx, function)?;
    if function.strict && args.iter().any(Value::is_null) {
        return Ok(Value::Null);
    }
    let frame = as_definer(cx, function, |cx| call(cx, function, args, Vec::new()))?;
    Ok(if function.returns == FunctionReturn::Void { void() } else { frame.value })
}

/// Calls a function for its rows, of these types. One that returns no set yields one row.
pub(crate) fn call_rows(
    cx: &ExecContext<'_>,
    function: &Arc<FunctionDef>,
    args: Vec<Value>,
    types: &[SqlType],
) -> Result<Spool> {
    let strict_null = function.strict && args.iter().any(Value::is_null);
    if function.returns.is_set() {
        check_right(cx, function)?;
        return if strict_null {
            Ok(Spool::default())
        } else {
            as_definer(cx, function, |cx| {
                let mut frame = call(cx, function, args, types.to_vec())?;
                frame.flush(cx)?;
                Ok(frame.rows)
            })
        };
    }
    let value = call_scalar(cx, function, args)?;
    let mut row = Batch::of_types(types);
    row.push_row(&[value], types)?;
    let mut spool = Spool::default();
    spool.push(cx.services.memory, "the rows of a function", row)?;
    Ok(spool)
}

/// Runs a procedure or a block, which is no part of a statement: it may end the transaction if `cx` says so. What is in
/// its first slots afterwards: the arguments.
///
/// # Errors
/// Those of its statements.
pub fn run_procedure(
    cx: &ExecContext<'_>,
    function: &Arc<FunctionDef>,
    args: Vec<Value>,
) -> Result<Vec<Value>> {
    call_procedure(cx, function, args, false)
}

/// As [`run_procedure`], from a block that has handlers if `guarded`.
pub(crate) fn call_procedure(
    cx: &ExecContext<'_>,
    function: &Arc<FunctionDef>,
    args: Vec<Value>,
    guarded: bool,
) -> Result<Vec<Value>> {
    check_right(cx, function)?;
    as_definer(cx, function, |cx| {
        let count = args.len();
        let nested = cx.nested_call(guarded)?;
        let mut program = cx.programs().take(cx, function)?;
        let mut frame = Frame::new(&program, args, Vec::new());
        let result = program.run(&nested, &mut frame);
        cx.programs().give(function.oid, program);
        result?;
        frame.slots.truncate(count);
        Ok(frame.slots)
    })
}

/// Refuses a function that the role may not call; a block is nobody's.
fn check_right(cx: &ExecContext<'_>, function: &FunctionDef) -> Result<()> {
    let Some(role) = cx.catalog.acting_role().filter(|_| function.oid.0 != 0) else { return Ok(()) };
    if cx.catalog.rights(role, Object::Function(function.oid)).has(Rights::EXECUTE) {
        return Ok(());
    }
    let kind = if function.procedure().is_some() { "procedure" } else { "function" };
    Err(denied(kind, &function.name))
}

/// Calls a function with the rights of its owner where it says so (SECURITY DEFINER).
pub(crate) fn as_definer<T>(
    cx: &ExecContext<'_>,
    function: &FunctionDef,
    call: impl FnOnce(&ExecContext<'_>) -> Result<T>,
) -> Result<T> {
    if !function.security_definer {
        return call(cx);
    }
    let owner = cx.catalog.owner_of(Object::Function(function.oid));
    let limited = Some(owner).filter(|owner| !cx.catalog.is_superuser(*owner));
    let catalog = cx.catalog.with_role(limited);
    let identity = cx.services.identity;
    let before = identity.act_as(Some(owner));
    let result = call(&cx.of_role(&catalog));
    identity.act_as(before);
    result
}

/// The value of an expression that stands for itself: an argument of CALL.
///
/// # Errors
/// Those of the expression.
pub fn evaluate(cx: &ExecContext<'_>, expr: &TypedExpr) -> Result<Value> {
    RowExpr::compile(expr).eval_constant(&cx.eval())
}

fn call(
    cx: &ExecContext<'_>,
    function: &Arc<FunctionDef>,
    args: Vec<Value>,
    types: Vec<SqlType>,
) -> Result<Frame> {
    let nested = cx.nested()?;
    let mut program = cx.programs().take(cx, function)?;
    let mut frame = Frame::new(&program, args, types);
    let result = program.run(&nested, &mut frame);
    let returns = program.function.returns.clone();
    cx.programs().give(function.oid, program);
    let returned = result?;
    if !returned && matches!(returns, PlReturn::Scalar(_)) {
        return Err(ExecError::raised("2F005", "control reached end of function without RETURN"));
    }
    Ok(frame)
}
