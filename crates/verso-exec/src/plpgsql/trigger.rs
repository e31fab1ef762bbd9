//! Calls of trigger functions: what they find in their variables, and the row that they return.

use std::sync::Arc;

use verso_types::{Array, Dimension, Value};

use super::frame::Frame;
use super::{CallSite, as_definer};
use crate::error::{ExecError, Result};
use crate::exec::{ExecContext, InUse, TriggerCall};
use crate::plan::{PlTrigger, TriggerFact};

/// Calls the function of a trigger; yields the row that it returns.
pub(crate) fn call_trigger(cx: &ExecContext<'_>, call: &TriggerCall<'_>) -> Result<Option<Vec<Value>>> {
    match call.function {
        Some(function) => as_definer(cx, function, |cx| run(cx, call)),
        None => run(cx, call),
    }
}

fn run(cx: &ExecContext<'_>, call: &TriggerCall<'_>) -> Result<Option<Vec<Value>>> {
    let used = [call.table.oid];
    let in_use = InUse::always(&used, cx.in_use());
    let nested = cx.within_trigger()?.using(&in_use);
    let mut program = cx.programs().take_trigger(cx, call)?;
    let mut frame = Frame::new(&program, Vec::new(), Vec::new());
    let site = CallSite::of_function(cx.calls(), &program.function);
    let nested = nested.called(&site);
    let signature = Arc::clone(&program.function.signature);
    let result = match &program.function.trigger {
        Some(slots) => {
            fill(&mut frame.slots, slots, call);
            program.run(&nested, &mut frame)
        }
        None => Err(ExecError::raised("XX000", "a trigger calls a function that is none of triggers")),
    };
    cx.programs().give((call.trigger.oid, 0), program);
    if !result? {
        let error = ExecError::raised("2F005", "control reached end of trigger procedure without RETURN");
        return Err(error.in_function(format!("PL/pgSQL function {signature}")));
    }
    Ok(frame.record)
}

/// Sets NEW, OLD and TG_….
fn fill(slots: &mut [Value], places: &PlTrigger, call: &TriggerCall<'_>) {
    for (first, row) in [(places.new, call.new), (places.old, call.old)] {
        if let Some(row) = row {
            slots[first..first + places.columns].clone_from_slice(&row[..places.columns]);
        }
        slots[first + places.columns] = Value::Bool(row.is_some());
    }
    let kind = call.trigger.kind;
    for (slot, fact) in &places.facts {
        slots[*slot] = match fact {
            TriggerFact::Name => Value::Text(call.trigger.name.clone()),
            TriggerFact::When => Value::text(kind.timing()),
            TriggerFact::Level => Value::text(kind.level()),
            TriggerFact::Op => Value::text(call.event.word()),
            TriggerFact::Relid => Value::Int8(call.table.oid.0.into()),
            TriggerFact::TableName => Value::Text(call.table.name.clone()),
            TriggerFact::TableSchema => Value::Text(call.table.schema.clone()),
            TriggerFact::Nargs => Value::Int4(i32::try_from(call.trigger.args.len()).unwrap_or(i32::MAX)),
            TriggerFact::Argv => argv(&call.trigger.args),
            TriggerFact::NewStored if call.new.is_some() => {
                Value::Int8(if kind.is_after() { call.table.oid.0.into() } else { 0 })
            }
            TriggerFact::OldStored if call.old.is_some() && !kind.is_instead() => {
                Value::Int8(call.table.oid.0.into())
            }
            TriggerFact::OldStored if call.old.is_some() => Value::Int8(0),
            TriggerFact::NewStored | TriggerFact::OldStored => Value::Null,
        };
    }
}

/// The arguments of a trigger, counted from 0; NULL without any.
fn argv(args: &[Arc<str>]) -> Value {
    if args.is_empty() {
        return Value::Null;
    }
    let values: Vec<Value> = args.iter().map(|arg| Value::Text(arg.clone())).collect();
    let length = i32::try_from(values.len()).unwrap_or_default();
    // So many arguments are always an array.
    Value::Array(Array::shaped(values, &[Dimension { length, lower: 0 }]).unwrap_or_default())
}
