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
//! L5. Expressions that read rows are such statements, too. In a function that is declared STABLE or IMMUTABLE both see what the
//!     statement around the function sees.

mod block;
mod checks;
mod cursor;
mod diagnostics;
mod dynamic;
mod element;
mod embedded;
mod fetched;
mod frame;
mod growing;
mod held;
mod later;
mod loops;
mod message;
mod program;
mod run;
mod short;
mod site;
#[cfg(test)]
mod tests;
mod trigger;

use std::sync::Arc;

use verso_catalog::{FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn, Object, Rights};
use verso_types::text::type_of;
use verso_types::{Batch, RowType, SqlType, Value};

use crate::context::Services;
use crate::error::{ExecError, Raised, Result};
use crate::exec::{ExecContext, denied};
use crate::expr::RowExpr;
use crate::functions::{is_of_one_row, void};
use crate::memory::Memory;
use crate::plan::{PlReturn, TypedExpr};
use crate::spill::Spool;
pub use cursor::{Firing, Portals, Standing};
use frame::{Frame, check_types};
pub(crate) use program::ProgramPool;
pub(crate) use site::CallSite;
pub(crate) use trigger::call_trigger;

/// Calls a function for its one value.
pub(crate) fn call_scalar(
    cx: &ExecContext<'_>,
    function: &Arc<FunctionDef>,
    args: Vec<Value>,
) -> Result<Value> {
    Ok(call_for_value(cx, function, args, &[])?.0)
}

/// The same, and of a record the columns that it has; `types` are those that the caller wants of a row.
fn call_for_value(
    cx: &ExecContext<'_>,
    function: &Arc<FunctionDef>,
    args: Vec<Value>,
    types: &[SqlType],
) -> Result<(Value, Option<Arc<RowType>>)> {
    check_right(cx, function)?;
    if function.strict && args.iter().any(Value::is_null) {
        return Ok((Value::Null, None));
    }
    let frame = as_definer(cx, function, |cx| call(cx, function, args, types.to_vec()))?;
    let is_void = function.returns == FunctionReturn::Void;
    // One in SQL gives no value.
    let value = if is_void && function.language != FunctionLanguage::Sql { void() } else { frame.value };
    Ok((value, frame.value_shape))
}

/// The columns of the rows of a function each of which is wanted as one value.
fn whole_rows(function: &FunctionDef, types: &[SqlType]) -> Option<Vec<SqlType>> {
    let [SqlType::Row(row)] = types else { return None };
    let whole = match &function.returns {
        FunctionReturn::Set(ty) => ty == &types[0],
        FunctionReturn::Table(columns) => columns.len() > 1,
        _ => false,
    };
    whole.then(|| row.fields.iter().map(|(_, ty)| ty.clone()).collect())
}

/// Rows as values.
fn as_values(cx: &ExecContext<'_>, mut rows: Spool, fields: &[SqlType], types: &[SqlType]) -> Result<Spool> {
    let mut values = Spool::default();
    let mut batch = Batch::default();
    while rows.next(&mut batch)? {
        let mut out = Batch::of_types(types);
        for row in 0..batch.rows {
            out.push_row(&[Value::Record(batch.row(row, fields).into())], types)?;
        }
        values.push(cx.services.memory, "the rows of a function", out)?;
    }
    Ok(values)
}

/// The type of the rows that a function makes as values, where their fields are wanted as columns: one of a domain over a composite
/// type, or of one column that is a row.
fn rows_as_values(function: &FunctionDef, types: &[SqlType]) -> Option<SqlType> {
    if let FunctionReturn::Scalar(SqlType::Row(_)) | FunctionReturn::Set(SqlType::Row(_)) = &function.returns
    {
        return None;
    }
    let row = SqlType::Row(function.returns.fields()?);
    let as_values = matches!(types, [one] if one.erased() == row);
    (!as_values).then_some(row)
}

/// The fields of values that are rows of one type, as columns of these types; each is NULL where the row is.
fn as_columns(cx: &ExecContext<'_>, mut values: Spool, row: &SqlType, types: &[SqlType]) -> Result<Spool> {
    let mut rows = Spool::default();
    let mut batch = Batch::default();
    while values.next(&mut batch)? {
        let mut out = Batch::of_types(types);
        for n in 0..batch.rows {
            match batch.row(n, std::slice::from_ref(row)).pop() {
                Some(Value::Record(fields)) if fields.len() == types.len() => out.push_row(&fields, types)?,
                _ => out.push_row(&vec![Value::Null; types.len()], types)?,
            }
        }
        rows.push(cx.services.memory, "the rows of a function", out)?;
    }
    Ok(rows)
}

/// Whether a record has the columns that the query wants of it.
fn check_record(shape: Option<&RowType>, types: &[SqlType]) -> Result<()> {
    let Some(shape) = shape else { return Ok(()) };
    let text = "returned record type does not match expected record type";
    check_types(text, shape.fields.iter().map(|(_, ty)| ty), types, &[])
}

/// A row that is not of the columns that the query wants.
fn unlike(detail: String) -> ExecError {
    ExecError::Raised(Box::new(Raised {
        sqlstate: "42804".into(),
        message: "function return row and query-specified return row do not match".into(),
        detail: Some(detail),
        hint: None,
    }))
}

fn check_count(given: usize, wanted: usize) -> Result<()> {
    if given == wanted {
        return Ok(());
    }
    let attributes = if given == 1 { "attribute" } else { "attributes" };
    Err(unlike(format!("Returned row contains {given} {attributes}, but query expects {wanted}.")))
}

fn unlike_type(n: usize, given: &SqlType, wanted: &SqlType) -> ExecError {
    let (given, wanted) = (given.pg_name(), wanted.pg_name());
    unlike(format!("Returned type {given} at ordinal position {}, but query expects {wanted}.", n + 1))
}

/// Whether a row of these types has the columns that the query wants.
pub(crate) fn check_fields(given: &[SqlType], types: &[SqlType]) -> Result<()> {
    check_count(given.len(), types.len())?;
    let mut pairs = given.iter().zip(types).enumerate();
    match pairs.find(|(_, (given, wanted))| !given.same_base(wanted)) {
        Some((n, (given, wanted))) => Err(unlike_type(n, given, wanted)),
        None => Ok(()),
    }
}

/// Whether the row that a function in SQL has made has the columns that the query wants: its body may say ROW.
pub(crate) fn check_row(values: &[Value], types: &[SqlType]) -> Result<()> {
    check_count(values.len(), types.len())?;
    for (n, (value, wanted)) in values.iter().zip(types).enumerate() {
        let given = type_of(value);
        // Values of other types do not tell which they are of.
        if says_its_type(&given) && says_its_type(wanted) && !given.same_base(wanted) {
            return Err(unlike_type(n, &given, wanted));
        }
    }
    Ok(())
}

/// Whether values of this type are of no other.
fn says_its_type(ty: &SqlType) -> bool {
    use SqlType as T;
    let numbers = matches!(ty, T::Int2 | T::Int4 | T::Int8 | T::Float4 | T::Float8 | T::Numeric(_));
    numbers || matches!(ty, T::Bool | T::Text | T::Date | T::Timestamp(_) | T::Timestamptz(_) | T::Uuid)
}

/// The values of a call in the slots of a body: PL/pgSQL has one also for what only comes out.
fn in_slots(function: &FunctionDef, args: Vec<Value>) -> Vec<Value> {
    let all_in = function.args.iter().all(|arg| arg.mode.goes_in());
    if all_in || function.is_procedure() || function.language == FunctionLanguage::Sql {
        return args;
    }
    let mut given = args.into_iter();
    let value = |arg: &FunctionArg| match arg.mode.goes_in() {
        true => given.next().unwrap_or(Value::Null),
        false => Value::Null,
    };
    function.args.iter().map(value).collect()
}

/// Calls a function for its rows, of these types. One that returns no set yields one row.
pub(crate) fn call_rows(
    cx: &ExecContext<'_>,
    function: &Arc<FunctionDef>,
    args: Vec<Value>,
    types: &[SqlType],
) -> Result<Spool> {
    if let Some(row) = rows_as_values(function, types) {
        let values = call_rows(cx, function, args, std::slice::from_ref(&row))?;
        return as_columns(cx, values, &row, types);
    }
    let strict_null = function.strict && args.iter().any(Value::is_null);
    if function.returns.is_set() {
        check_right(cx, function)?;
        if strict_null {
            let mut rows = Spool::default();
            if function.oid.is_system() && is_of_one_row(&function.name) {
                let mut row = Batch::of_types(types);
                row.push_row(&vec![Value::Null; types.len()], types)?;
                rows.push(cx.services.memory, "the rows of a function", row)?;
            }
            return Ok(rows);
        }
        let fields = whole_rows(function, types);
        let rows = as_definer(cx, function, |cx| {
            let mut frame = call(cx, function, args, fields.clone().unwrap_or_else(|| types.to_vec()))?;
            frame.flush(cx)?;
            Ok(frame.rows)
        })?;
        return match fields {
            Some(fields) => as_values(cx, rows, &fields, types),
            None => Ok(rows),
        };
    }
    let (value, shape) = call_for_value(cx, function, args, types)?;
    let mut row = Batch::of_types(types);
    match (&function.returns, value) {
        (FunctionReturn::Scalar(ty), Value::Record(values)) if ty.is_row() => {
            check_record(shape.as_deref(), types).map_err(|error| {
                let what = "while casting return value to function's return type";
                error.in_function(format!("PL/pgSQL function {} {what}", function.named_in_context()))
            })?;
            check_row(&values, types)?;
            row.push_row(&values, types)?;
        }
        (FunctionReturn::Scalar(ty), _) if ty.is_row() => {
            row.push_row(&vec![Value::Null; types.len()], types)?
        }
        (_, value) => row.push_row(&[value], types)?,
    }
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
        let mut nested = cx.nested_call(guarded)?;
        if function.language == FunctionLanguage::Sql {
            // As in PostgreSQL, one in SQL ends no transaction, nor does what it calls.
            nested = nested.with_ends(None);
        }
        let mut program = cx.programs().take(cx, function)?;
        let mut frame = Frame::new(&program, args, Vec::new());
        let site = CallSite::of_function(cx.calls(), &program.function);
        let result = program.run(&nested.called(&site), &mut frame);
        cx.programs().give((function.oid, function.variant), program);
        result?;
        frame.slots.truncate(count);
        Ok(frame.slots)
    })
}

/// Refuses a function that the role may not call; a block is nobody's.
pub(crate) fn check_right(cx: &ExecContext<'_>, function: &FunctionDef) -> Result<()> {
    let Some(role) = cx.catalog.acting_role().filter(|_| function.oid.0 != 0) else { return Ok(()) };
    if cx.catalog.rights(role, Object::Function(function.oid)).has(Rights::EXECUTE) {
        return Ok(());
    }
    let kind = if function.is_procedure() { "procedure" } else { "function" };
    Err(denied(kind, &function.name))
}

/// Calls a function with the rights of its owner where it says so (SECURITY DEFINER), and with its settings.
pub(crate) fn as_definer<T>(
    cx: &ExecContext<'_>,
    function: &FunctionDef,
    call: impl FnOnce(&ExecContext<'_>) -> Result<T>,
) -> Result<T> {
    if !function.security_definer {
        return with_settings(cx, function, call);
    }
    let owner = cx.catalog.owner_of(Object::Function(function.oid));
    let limited = Some(owner).filter(|owner| !cx.catalog.is_superuser(*owner));
    let catalog = cx.catalog.with_role(limited);
    let identity = cx.services.identity;
    let before = identity.act_as(Some(owner));
    // As in PostgreSQL, such a procedure ends no transaction.
    let result = with_settings(&cx.of_role(&catalog).with_ends(None), function, call);
    identity.act_as(before);
    result
}

/// Calls a function with the settings of its definition in force, which are what they were when it has ended.
fn with_settings<T>(
    cx: &ExecContext<'_>,
    function: &FunctionDef,
    call: impl FnOnce(&ExecContext<'_>) -> Result<T>,
) -> Result<T> {
    if function.settings.is_empty() {
        return call(cx);
    }
    let settings = cx.services.settings;
    let held = settings.hold(&function.settings, cx.catalog)?;
    let memory = cx.services.memory;
    let memory = Memory { work_bytes: held.work_bytes.unwrap_or(memory.work_bytes), ..memory };
    let services = Services { time_zone: &held.time_zone, memory, ..*cx.services };
    let result = call(&cx.with_held(&held.catalog, &services).with_ends(None));
    settings.release(cx.catalog);
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
    let args = in_slots(function, args);
    let mut frame = Frame::new(&program, args, types);
    let site = CallSite::of_function(cx.calls(), &program.function);
    let result = program.run(&nested.called(&site), &mut frame);
    let returns = program.function.returns.clone();
    cx.programs().give((function.oid, function.variant), program);
    let returned = result?;
    if !returned && matches!(returns, PlReturn::Scalar(_) | PlReturn::Record) {
        let error = Box::new(ExecError::raised("2F005", "control reached end of function without RETURN"));
        let context = format!("PL/pgSQL function {}", frame.function.signature);
        return Err(ExecError::InFunction { error, context });
    }
    Ok(frame)
}
