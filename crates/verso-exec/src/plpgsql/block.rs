//! Blocks: declarations, savepoint, handlers.

use std::sync::atomic::Ordering;

use verso_types::Value;

use super::frame::Frame;
use super::program::{Block, Declaration, Default, Handler};
use super::run::{Flow, run_step, run_steps, within};
use crate::context::Described;
use crate::error::{ExecError, Result};
use crate::exec::ExecContext;
use crate::plan::PlCondition;

/// What is never caught by OTHERS: a cancelled query, a failed assertion.
const NOT_OTHERS: [&str; 2] = [CANCELLED, "P0004"];

/// The code of a statement that is cancelled.
const CANCELLED: &str = "57014";

/// Runs a block.
pub(super) fn run_block(block: &mut Block, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<Flow> {
    for slot in &block.cursors {
        frame.looping.remove(slot);
        frame.clear(*slot);
    }
    if !block.declarations.is_empty() {
        frame.settle();
    }
    for declaration in &mut block.declarations {
        let slot = declaration.slot;
        let mut computed = false;
        let given = match &mut declaration.default {
            // NULL without a default is checked where it is declared (42601), by the binder
            Default::Null => {
                frame.clear(slot);
                continue;
            }
            Default::Value(value) => frame.eval(cx, value).and_then(|value| {
                computed = true;
                frame.assign(cx, slot, value)
            }),
            Default::Step(step) => {
                frame.clear(slot);
                run_step(step, cx, frame).map(drop)
            }
        };
        given.map_err(|error| in_declaration(error, cx, frame, declaration, computed))?;
    }
    let flow = if block.handlers.is_empty() {
        run_steps(&mut block.body, cx, frame)?
    } else {
        run_guarded(block, cx, frame)?
    };
    Ok(match flow {
        Flow::Exit(Some(label)) if block.label.as_ref() == Some(&label) => Flow::Next,
        other => other,
    })
}

/// Adds where a variable that has no value is declared; whether its first value was computed, and could not be assigned.
#[cold]
fn in_declaration(
    error: ExecError,
    cx: &ExecContext<'_>,
    frame: &mut Frame,
    declaration: &Declaration,
    computed: bool,
) -> ExecError {
    let Declaration { default, line, .. } = declaration;
    let error = match default {
        _ if computed => error,
        Default::Step(step) => within(error, step.within(), cx, frame),
        _ => within(error, &declaration.within, cx, frame),
    };
    frame.located = true;
    let signature = &frame.function.signature;
    let what = "during statement block local variable initialization";
    error.in_function(format!("PL/pgSQL function {signature} line {line} {what}"))
}

/// Runs the body under a savepoint, and a handler where it fails.
fn run_guarded(block: &mut Block, cx: &ExecContext<'_>, frame: &mut Frame) -> Result<Flow> {
    frame.savepoints += 1;
    // no identifier of SQL starts with a blank
    let name = format!(" block {}.{}", cx.depth(), frame.savepoints);
    cx.tables()?.savepoint(&name)?;
    let opened = cx.services.portals.opened();
    let result = run_steps(&mut block.body, cx, frame);
    frame.savepoints -= 1;
    let error = match result {
        Ok(flow) => {
            cx.tables()?.release(&name)?;
            return Ok(flow);
        }
        // A client that has gone hears of no handler.
        Err(error) if matches!(error.root(), ExecError::Sink(_)) => return Err(error),
        // Nor does a session that is to end.
        Err(error) if is_cancelled(cx) && cx.services.signals.ends_session() => return Err(error),
        Err(error) => error,
    };
    let Described { sqlstate, message, .. } = cx.services.binding.describe_error(&error);
    let handler = block.handlers.iter_mut().find(|handler| catches(handler, &sqlstate));
    let Some(handler) = handler else { return Err(error) };
    // What is caught is over: the handler, and what follows it, runs on.
    let is_cancel = *sqlstate == *CANCELLED && !matches!(error.root(), ExecError::Raised(_));
    let error = if is_cancel && is_cancelled(cx) {
        cx.services.signals.forget_cancel();
        // Why it was cancelled nobody knows any more.
        error.with_root(ExecError::raised(&sqlstate, message.clone()))
    } else {
        error
    };
    cx.tables()?.rollback_to(&name)?;
    cx.services.portals.close_since(opened);
    cx.services.cursors.close_declared_since(opened);
    cx.tables()?.release(&name)?;
    frame.settle();
    if let Some((state_slot, message_slot)) = block.error_slots {
        frame.slots[state_slot] = Value::Text(sqlstate);
        frame.slots[message_slot] = Value::text(&message);
    }
    frame.located = false;
    frame.handled.push(error);
    let flow = run_steps(&mut handler.body, cx, frame);
    frame.handled.pop();
    flow
}

/// Whether the statement of the client is cancelled.
fn is_cancelled(cx: &ExecContext<'_>) -> bool {
    cx.cancel.load(Ordering::Relaxed)
}

fn catches(handler: &Handler, sqlstate: &str) -> bool {
    handler.conditions.iter().any(|condition| match condition {
        PlCondition::Others => !NOT_OTHERS.contains(&sqlstate),
        PlCondition::SqlState(wanted) => {
            sqlstate == &**wanted || wanted.ends_with("000") && sqlstate.get(..2) == wanted.get(..2)
        }
    })
}

/// `RAISE` without anything.
pub(super) fn reraise(frame: &Frame) -> ExecError {
    frame.handled.last().cloned().unwrap_or_else(|| {
        ExecError::raised("0Z002", "RAISE without parameters cannot be used outside an exception handler")
    })
}
