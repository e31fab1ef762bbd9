//! One trigger: its condition, its function, and a call of it.

use std::sync::Arc;

use verso_catalog::{BuiltInTrigger, FunctionDef, TableDef, TriggerDef};
use verso_types::Value;

use super::TriggerEvent;
use super::condition::Condition;
use crate::error::{ExecError, Result};
use crate::exec::ExecContext;
use crate::plpgsql;

/// What a trigger function is called for.
pub(crate) struct TriggerCall<'c> {
    /// The trigger.
    pub trigger: &'c Arc<TriggerDef>,
    /// What it calls; none where it has statements of its own.
    pub function: Option<&'c Arc<FunctionDef>>,
    /// Its table.
    pub table: &'c Arc<TableDef>,
    /// What happens.
    pub event: TriggerEvent,
    /// The row before.
    pub old: Option<&'c [Value]>,
    /// The row behind.
    pub new: Option<&'c [Value]>,
}

/// A trigger ready to be called.
pub(in crate::exec) struct Bound {
    definition: Arc<TriggerDef>,
    function: Option<Arc<FunctionDef>>,
    condition: Option<Condition>,
}

impl Bound {
    pub fn new(cx: &ExecContext<'_>, definition: &Arc<TriggerDef>, table: &Arc<TableDef>) -> Result<Bound> {
        let condition = match definition.condition {
            None => None,
            Some(_) => {
                let bound = cx.services.binding.trigger_condition(definition, table)?;
                Some(Condition::new(bound, table, cx.executor))
            }
        };
        Ok(Bound { condition, ..Bound::without_condition(cx, definition)? })
    }

    pub fn without_condition(cx: &ExecContext<'_>, definition: &Arc<TriggerDef>) -> Result<Bound> {
        let function = match definition.action {
            Some(_) => None,
            None if BuiltInTrigger::of(definition.function).is_some() => None,
            None => Some(find_function(cx, definition)?),
        };
        Ok(Bound { definition: Arc::clone(definition), function, condition: None })
    }

    pub fn definition(&self) -> &Arc<TriggerDef> {
        &self.definition
    }

    pub fn condition(&mut self) -> Option<&mut Condition> {
        self.condition.as_mut()
    }

    /// Whether WHEN lets a row through.
    pub fn wants(
        &mut self,
        cx: &ExecContext<'_>,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> Result<bool> {
        self.condition.as_mut().map_or(Ok(true), |condition| condition.holds(cx, old, new))
    }

    /// Calls the function; yields the row it returns.
    pub fn call(
        &self,
        cx: &ExecContext<'_>,
        table: &Arc<TableDef>,
        event: TriggerEvent,
        old: Option<&[Value]>,
        new: Option<&[Value]>,
    ) -> Result<Option<Vec<Value>>> {
        let (trigger, function) = (&self.definition, self.function.as_ref());
        plpgsql::call_trigger(cx, &TriggerCall { trigger, function, table, event, old, new })
    }
}

/// The function that a trigger calls.
pub(super) fn find_function(cx: &ExecContext<'_>, trigger: &TriggerDef) -> Result<Arc<FunctionDef>> {
    let mut all = cx.catalog.all_functions();
    let found = all.find(|function| function.oid == trigger.function).cloned();
    found.ok_or_else(|| {
        ExecError::raised("XX000", format!("cache lookup failed for function {}", trigger.function))
    })
}
