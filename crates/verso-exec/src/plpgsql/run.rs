//! Runs the steps of a compiled function.

use std::sync::Arc;

use verso_types::{Array, SqlType, TypeError, Value};

use super::block::{reraise, run_block};
use super::call_procedure;
use super::cursor::{Opened, begin_loop, close, end_loop, fetch, open};
use super::diagnostics::diagnose;
use super::dynamic::{execute, is_of, no_rows, return_execute};
use super::embedded::{RESTARTS_MAX, Taken, define_into, in_statement, may_change, run_embedded, run_sql};
use super::fetched::fetch_all;
use super::frame::{Frame, Renewed, as_declared, check_assignable, check_columns};
use super::loops::{RowLoop, Turn, run_for_query, run_range, slices, turn};
use super::message::raise;
use super::program::{Program, Step, StepKind};
use super::site::{CallSite, context_line};
use crate::context::{Services, TransactionEnds};
use crate::error::{ExecError, Result};
use crate::exec::{ExecContext, cast_row};
use crate::expr::RowExpr;
use crate::plan::{PlReturn, PlWithin, TypedExpr};

/// Where to go on.
#[derive(Debug)]
pub(super) enum Flow {
    Next,
    Exit(Option<Arc<str>>),
    Continue(Option<Arc<str>>),
    Return,
}

impl Program {
    /// Runs the function; whether a RETURN ended it.
    pub(crate) fn run(&mut self, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<bool> {
        frame.set_found(false);
        let flow = run_block(&mut self.body, cx, frame)?;
        frame.settle();
        match flow {
            Flow::Return => Ok(true),
            Flow::Next => Ok(false),
            Flow::Exit(_) | Flow::Continue(_) => {
                Err(ExecError::raised("42601", "EXIT or CONTINUE outside a loop"))
            }
        }
    }
}

pub(super) fn run_steps(steps: &mut [Step], cx: &ExecContext<'_>, frame: &mut Frame) -> Result<Flow> {
    for step in steps {
        // What others have defined by now is seen by the next statement, as the rows are that they have committed.
        if let (StepKind::Later(_), Some(ends)) = (&step.kind, cx.ends()) {
            ends.look_anew(false)?;
        }
        let mut tries = 0;
        let flow = loop {
            let again = tries < RESTARTS_MAX;
            let ran = match cx.defined_since() {
                None => run_located(step, again, cx, frame)?,
                Some(_) => as_of_now(cx, frame, |cx, frame| run_located(step, again, cx, frame))?,
            };
            if let Some(flow) = ran {
                break flow;
            }
            tries += 1;
        };
        match flow {
            Flow::Next => {}
            flow => return Ok(flow),
        }
    }
    Ok(Flow::Next)
}

/// Runs a step; its error says where it stands. `None` where it has done nothing, as others have changed what it was bound to,
/// and may run `again`.
#[inline]
fn run_located(
    step: &mut Step,
    again: bool,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
) -> Result<Option<Flow>> {
    if let Some(site) = cx.calls() {
        site.stands_at(step);
    }
    frame.stale.set(false);
    match run_step(step, cx, frame) {
        Ok(flow) => Ok(Some(flow)),
        // A statement within this one has said where it stands.
        Err(_) if frame.stale.take() && again && !frame.located => Ok(None),
        Err(error) => Err(in_context(error, cx, frame, step)),
    }
}

/// Runs a part of a body with the catalog and the settings that what came before it has left.
pub(super) fn as_of_now<T>(
    cx: &ExecContext<'_>,
    frame: &mut Frame,
    run: impl FnOnce(&ExecContext<'_>, &mut Frame) -> Result<T>,
) -> Result<T> {
    let Some(Renewed { defined, now, programs }) = frame.renewed(cx)? else { return run(cx, frame) };
    let services = Services { time_zone: &now.time_zone, ..*cx.services };
    run(&cx.with_renewed(&now.catalog, &services, (defined, &programs)), frame)
}

/// The same for one of several statements of a step, which is run again by itself where others have changed what it was bound to.
pub(super) fn part_of_now<T>(
    cx: &ExecContext<'_>,
    frame: &mut Frame,
    mut run: impl FnMut(&ExecContext<'_>, &mut Frame) -> Result<T>,
) -> Result<T> {
    let mut tries = 0;
    loop {
        match as_of_now(cx, frame, &mut run) {
            Err(_) if frame.stale.take() && tries < RESTARTS_MAX && !frame.located => tries += 1,
            done => return done,
        }
    }
}

/// Adds the line of the innermost statement, once per call: a statement within this one has said it already.
#[cold]
fn in_context(error: ExecError, cx: &ExecContext<'_>, frame: &mut Frame, step: &Step) -> ExecError {
    if std::mem::replace(&mut frame.located, true) {
        return error;
    }
    frame.settle();
    within(error, step.within(), cx, frame).in_function(context_line(
        &frame.function,
        step.line,
        step.kind.name(),
    ))
}

/// Adds the line of the query that PostgreSQL was running or planning, if it was.
#[cold]
pub(super) fn within(error: ExecError, lines: &[PlWithin], cx: &ExecContext<'_>, frame: &Frame) -> ExecError {
    match line_of(&error, lines, cx, frame) {
        Some(line) => error.in_function(line.line.to_string()),
        None => error,
    }
}

/// The query that PostgreSQL was running or planning, if it was. What it computes in planning depends on nothing but the
/// variables, and is computed here again: an error of another part says nothing of it.
#[cold]
pub(super) fn line_of<'l>(
    error: &ExecError,
    lines: &'l [PlWithin],
    cx: &ExecContext<'_>,
    frame: &Frame,
) -> Option<&'l PlWithin> {
    if lines.is_empty() {
        return None;
    }
    let told = |error: &ExecError| cx.services.binding.describe_error(error).message;
    let message = told(error);
    let gives = |expr: &TypedExpr| match frame.eval(cx, &RowExpr::compile(expr)) {
        Err(error) => told(&error) == message,
        Ok(_) => false,
    };
    lines.iter().find(|line| line.of.as_ref().is_none_or(|exprs| exprs.iter().any(gives)))
}

pub(super) fn run_step(step: &mut Step, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<Flow> {
    if !step.kind.settles_itself() {
        frame.settle();
    }
    let asks = step.asks;
    if asks {
        frame.row_count = 1;
    }
    match &mut step.kind {
        StepKind::Assign { slot, value } => {
            let value = value.eval(cx, frame)?;
            frame.assign(cx, *slot, value)?;
        }
        StepKind::Change(change) => change.run(cx, frame)?,
        StepKind::Append(append) => append.run(cx, frame)?,
        StepKind::AssignField { place, value } => {
            let value = frame.eval(cx, value)?;
            let ty = place.ty.clone();
            frame.put(cx, place, value, &ty)?;
        }
        StepKind::AssignRow(assignment) => frame.assign_composite(cx, assignment)?,
        StepKind::Define { text, query, into } => {
            define_into(text, query.as_deref(), into.as_ref(), cx, frame)?;
        }
        StepKind::Later(later) => return later.run(step.line, cx, frame),
        StepKind::Sql { statement, into, .. } => run_sql(statement, into.as_ref(), cx, frame)?,
        StepKind::If { operand, branches, otherwise, .. } => {
            if let Some((slot, value)) = operand {
                let value = value.eval(cx, frame)?;
                frame.assign(cx, *slot, value)?;
            }
            for (condition, body) in branches {
                if condition.holds(cx, frame)? {
                    return run_steps(body, cx, frame);
                }
            }
            return run_steps(otherwise, cx, frame);
        }
        StepKind::ForRange(range) => return run_range(range, cx, frame),
        StepKind::Loop { label, body } => loop {
            match turn(body, label.as_ref(), cx, frame)? {
                Turn::Again => {}
                Turn::Done => break,
                Turn::Leave(flow) => return Ok(flow),
            }
        },
        StepKind::While { label, condition, body } => {
            while condition.holds(cx, frame)? {
                match turn(body, label.as_ref(), cx, frame)? {
                    Turn::Again => {}
                    Turn::Done => break,
                    Turn::Leave(flow) => return Ok(flow),
                }
            }
            if asks {
                // Its condition was asked last.
                frame.row_count = 1;
            }
        }
        StepKind::ForQuery { label, query, targets, cursor: Some(cursor), args, body } => {
            for (slot, value) in args {
                let value = frame.eval(cx, value)?;
                frame.assign(cx, *slot, value)?;
            }
            let looping = begin_loop(cursor, query, cx, frame)?;
            let flow = run_for_query(
                RowLoop { label: label.as_ref(), cursor: Some(&looping), targets },
                query,
                None,
                body,
                cx,
                frame,
            );
            end_loop(looping, cx, frame);
            return flow;
        }
        StepKind::ForQuery { label, query, targets, cursor: None, args: _, body } => {
            return run_for_query(
                RowLoop { label: label.as_ref(), cursor: None, targets },
                query,
                None,
                body,
                cx,
                frame,
            );
        }
        StepKind::Foreach { label, targets, slice, array, element, body } => {
            let Value::Array(array) = frame.eval(cx, array)? else {
                return Err(TypeError::new("22004", "FOREACH expression must not be null").into());
            };
            let mut leave = Flow::Next;
            let whole = SqlType::Array(Box::new(element.clone()));
            let from = if *slice == 0 { &*element } else { &whole };
            let (shape, width) = slices(&array, *slice)?;
            for values in array.chunks(width) {
                let value = match *slice {
                    0 => values[0].clone(),
                    _ => Value::Array(Array::shaped(values.into(), &shape)?),
                };
                frame.take_element(cx, targets, value, from)?;
                match turn(body, label.as_ref(), cx, frame)? {
                    Turn::Again => {}
                    Turn::Done => break,
                    Turn::Leave(flow) => {
                        leave = flow;
                        break;
                    }
                }
            }
            frame.set_found(!array.is_empty());
            return Ok(leave);
        }
        StepKind::Block(block) => return run_block(block, cx, frame),
        StepKind::Exit { label, when } => {
            if when.as_ref().map_or(Ok(true), |when| when.holds(cx, frame))? {
                return Ok(Flow::Exit(label.clone()));
            }
        }
        StepKind::Continue { label, when } => {
            if when.as_ref().map_or(Ok(true), |when| when.holds(cx, frame))? {
                return Ok(Flow::Continue(label.clone()));
            }
        }
        StepKind::Return { value } => {
            if let Some(value) = value {
                frame.value = frame.eval(cx, value)?;
            }
            return Ok(Flow::Return);
        }
        StepKind::ReturnCast { value, from, to } => {
            let mut value = frame.eval(cx, value)?;
            let one = std::slice::from_ref;
            cast_row(cx, std::slice::from_mut(&mut value), one(from), one(to))
                .map_err(|error| as_returned(error, frame))?;
            frame.value = value;
            return Ok(Flow::Return);
        }
        StepKind::ReturnComposite { value, shape, types } => {
            frame.value = match (frame.eval(cx, value)?, &types) {
                (Value::Record(row), Some(wanted)) => {
                    let names: Vec<Arc<str>> =
                        wanted.fields.iter().map(|(name, _)| Arc::clone(name)).collect();
                    let types: Vec<SqlType> = wanted.as_declared().map(|(_, ty)| ty.clone()).collect();
                    let row = as_declared(cx, row.to_vec(), shape, &types, &names, MISMATCH);
                    Value::Record(row.map_err(|error| as_returned(error, frame))?.into())
                }
                (Value::Record(row), None) if frame.function.sql && !frame.row_types.is_empty() => {
                    let from: Vec<SqlType> = shape.as_declared().map(|(_, ty)| ty.clone()).collect();
                    check_assignable(&from, &frame.row_types)?;
                    let mut row = row.to_vec();
                    cast_row(cx, &mut row, &from, &frame.row_types)?;
                    Value::Record(row.into())
                }
                (value, _) => value,
            };
            if types.is_none() && !frame.function.sql {
                frame.value_shape = Some(Arc::clone(shape));
            }
            return Ok(Flow::Return);
        }
        StepKind::ReturnNextComposite { value, shape } => {
            frame.check_takes_rows()?;
            let types = match &frame.function.returns {
                PlReturn::Rows(declared) if declared.len() == frame.row_types.len() => declared.clone(),
                _ => frame.row_types.clone(),
            };
            let row = match frame.eval(cx, value)? {
                Value::Record(row) => {
                    // A row that is written there has no names.
                    let is_written =
                        shape.of.is_none() && shape.fields.first().is_some_and(|(name, _)| **name == *"f1");
                    let text =
                        if is_written { MISMATCH } else { "wrong record type supplied in RETURN NEXT" };
                    as_declared(cx, row.to_vec(), shape, &types, &frame.function.columns, text)?
                }
                _ => vec![Value::Null; types.len()],
            };
            frame.push_row(cx, &row)?;
        }
        StepKind::ReturnRow { record } => {
            frame.record = record.and_then(|first| frame.record(first));
            return Ok(Flow::Return);
        }
        StepKind::ReturnRowValue { value, types } => {
            frame.record = match frame.eval(cx, value)? {
                Value::Record(row) => Some(frame.as_row_of_table(cx, row.to_vec(), types)?),
                _ => None,
            };
            return Ok(Flow::Return);
        }
        StepKind::ReturnNext { values } => {
            let row: Vec<Value> = values.iter().map(|value| frame.eval(cx, value)).collect::<Result<_>>()?;
            frame.push_row(cx, &row)?;
        }
        StepKind::ReturnQuery { query } => {
            if let (true, Some(change)) = (query.types.is_empty(), query.change) {
                let error = no_rows(change);
                return Err(match &query.text {
                    Some(text) => in_statement(error, text),
                    None => error,
                });
            }
            check_columns(frame, query)?;
            let rows = run_embedded(query, None, cx, frame, Taken::Result)?;
            frame.counted(rows);
        }
        StepKind::Raise(message) => raise(message, cx, frame)?,
        StepKind::Reraise => {
            // It says where it came from.
            frame.located = !frame.handled.is_empty();
            return Err(reraise(frame));
        }
        StepKind::GetDiagnostics { items } => diagnose(items, cx, frame)?,
        StepKind::Execute { text, into } => execute(text, into.as_ref(), cx, frame)?,
        StepKind::ForExecute { label, text, targets, body } => {
            let looping = RowLoop { label: label.as_ref(), cursor: None, targets };
            return text.bind(cx, frame)?.over(cx, frame, |query, params, _, frame| {
                run_for_query(looping, query, Some(params), body, cx, frame)
            });
        }
        StepKind::ReturnExecute { text } => {
            return_execute(text, cx, frame)?;
        }
        StepKind::Open { cursor, args, query, text, scroll } => {
            for (slot, value) in args {
                let value = frame.eval(cx, value)?;
                frame.assign(cx, *slot, value)?;
            }
            let lines = &step.within;
            let is_planned = |error: &ExecError, frame: &Frame| line_of(error, lines, cx, frame).is_some();
            let opened = Opened { query, text, params: None, scroll: *scroll };
            open(cursor, opened, is_planned, cx, frame)?;
        }
        StepKind::OpenExecute { cursor, text, scroll } => {
            let opening = text.bind_cursor(cx, frame)?;
            let text = Arc::clone(&opening.text);
            opening.over(cx, frame, |query, params, planned, frame| {
                let is_planned = |error: &ExecError, _: &Frame| is_of(error, params, planned, cx);
                let opened = Opened { query, text: &text, params: Some(params), scroll: *scroll };
                open(cursor, opened, is_planned, cx, frame)
            })?;
        }
        StepKind::Fetch { cursor, movement, count, targets } => {
            let movement = match count {
                None => *movement,
                Some(count) => movement.with_count(counted(frame.eval(cx, count)?)?),
            };
            fetch(cursor, movement, targets.as_ref(), cx, frame)?
        }
        StepKind::Refused => {
            return Err(ExecError::raised("0A000", "unsupported transaction command in PL/pgSQL"));
        }
        StepKind::Close { cursor } => close(cursor, cx, frame)?,
        StepKind::Assert { condition, message } => {
            if checks_asserts(cx) && !frame.holds(cx, condition)? {
                let message = message.as_ref().map(|message| frame.eval(cx, message)).transpose()?;
                let message = message.as_ref().and_then(Value::as_str).unwrap_or("assertion failed");
                return Err(ExecError::raised("P0004", message));
            }
        }
        StepKind::Call { function, args, out, text } => {
            let word = if function.oid.0 == 0 { "DO" } else { "CALL" };
            may_change(frame, word).map_err(|error| in_statement(error, text))?;
            let args = args.iter().map(|arg| frame.eval(cx, arg)).collect::<Result<Vec<_>>>();
            let args = args.map_err(|error| in_statement(error, text))?;
            let site = CallSite::of_statement(cx.calls(), text);
            let values = call_procedure(&cx.calling(&site), function, args, frame.savepoints > 0)
                .map_err(|error| in_statement(error, text))?;
            for (arg, place) in out {
                frame.put(cx, place, values[*arg].clone(), &function.args[*arg].ty)?;
            }
        }
        StepKind::Commit { chain, write } => {
            let ends = may_end(cx, frame, "commit")?;
            fetch_all(cx)?;
            // Triggers that were put off say where they fire.
            cx.services.portals.around.within(cx, None, || ends.commit(*write, *chain))?;
        }
        StepKind::Rollback { chain } => {
            let ends = may_end(cx, frame, "roll back")?;
            fetch_all(cx)?;
            ends.rollback(*chain)?;
        }
        StepKind::Nothing => {}
    }
    Ok(Flow::Next)
}

/// Of a row that is returned.
const MISMATCH: &str = "returned record type does not match expected record type";

/// An error of casting what is returned comes behind the RETURN.
#[cold]
fn as_returned(error: ExecError, frame: &mut Frame) -> ExecError {
    let signature = &frame.function.signature;
    let what = "while casting return value to function's return type";
    frame.located = true;
    error.in_function(format!("PL/pgSQL function {signature} {what}"))
}

/// The number of FETCH and MOVE.
fn counted(value: Value) -> Result<i64> {
    let null = || ExecError::raised("22004", "relative or absolute cursor position is null");
    value.as_i64().ok_or_else(null)
}

/// Whether ASSERT tests anything: `plpgsql.check_asserts`.
fn checks_asserts(cx: &ExecContext<'_>) -> bool {
    let setting = cx.services.settings.setting("plpgsql.check_asserts");
    !setting.is_some_and(|value| ["off", "false", "no", "0"].contains(&&*value.to_ascii_lowercase()))
}

/// What ends the transaction, where a procedure or a block may do that here.
fn may_end<'a>(cx: &ExecContext<'a>, frame: &Frame, what: &str) -> Result<&'a dyn TransactionEnds> {
    let refused = |message: &str| ExecError::raised("2D000", message);
    let Some(ends) = cx.ends() else { return Err(refused("invalid transaction termination")) };
    if frame.savepoints > 0 {
        return Err(refused(&format!("cannot {what} while a subtransaction is active")));
    }
    if cx.services.portals.changing.get() > 0 {
        let text = "cannot perform transaction commands inside a cursor loop that is not read-only";
        return Err(ExecError::raised("55000", text));
    }
    Ok(ends)
}
