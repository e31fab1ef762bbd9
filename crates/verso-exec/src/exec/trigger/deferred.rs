//! Triggers that are put off to the commit.

use std::sync::Arc;

use verso_catalog::TriggerDef;
use verso_types::Value;

use super::TriggerEvent;
use super::call::Bound;
use crate::error::Result;
use crate::exec::ExecContext;

/// A row for which a trigger is to fire later.
#[derive(Clone, Debug)]
pub struct DeferredEvent {
    /// The trigger.
    pub trigger: Arc<TriggerDef>,
    event: TriggerEvent,
    old: Option<Box<[Value]>>,
    new: Option<Box<[Value]>>,
}

impl DeferredEvent {
    pub(super) fn new(
        trigger: &Arc<TriggerDef>,
        event: TriggerEvent,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> DeferredEvent {
        DeferredEvent {
            trigger: Arc::clone(trigger),
            event,
            old: old.map(Into::into),
            new: new.map(Into::into),
        }
    }

    /// About how much memory it holds.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let value = |value: &Value| match value {
            Value::Text(text) => text.len() + 16,
            Value::Bytes(bytes) => bytes.len() + 16,
            Value::Array(values) => values.len() * size_of::<Value>() + 16,
            Value::Record(values) => values.len() * size_of::<Value>() + 16,
            _ => 0,
        };
        let row = |row: &Option<Box<[Value]>>| {
            row.as_deref()
                .unwrap_or_default()
                .iter()
                .map(|one| size_of::<Value>() + value(one))
                .sum::<usize>()
        };
        (size_of::<DeferredEvent>() + row(&self.old) + row(&self.new)) as u64
    }
}

/// Fires a trigger that was put off. One that was dropped meanwhile, with its table or without, does nothing.
/// # Errors
/// Those of its function.
pub fn fire_deferred(cx: &ExecContext<'_>, event: &DeferredEvent) -> Result<()> {
    let Some(table) = cx.catalog.table_by_oid(event.trigger.table) else { return Ok(()) };
    let Some(trigger) = table.triggers.iter().find(|trigger| trigger.oid == event.trigger.oid) else {
        return Ok(());
    };
    // Its condition was asked when the row was noted.
    let bound = Bound::without_condition(cx, trigger)?;
    bound.call(cx, &table, event.event, event.old.as_deref(), event.new.as_deref()).map(drop)
}
