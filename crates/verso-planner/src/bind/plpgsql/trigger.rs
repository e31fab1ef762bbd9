//! Functions of triggers: NEW, OLD, TG_…, and the row that they return.
//!
//! Such a function is bound for each trigger, to the columns of its table. One function may serve several tables, and say
//! with IF which of its statements are for which: a statement that cannot be bound here fails only when it is reached.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, FunctionDef, TableDef, TriggerDef, Volatility};
use verso_exec::plan::{OutputColumn, PlFunction, PlReturn, PlStatementKind, PlTrigger, TriggerFact};
use verso_types::{SqlType, TimeStyle};

use super::super::scope::Record;
use super::super::trigger::{columns, record_names};
use super::super::with::Cte;
use super::{Binder, Body};
use crate::errors::SqlError;
use verso_parser::syntax::{self, Expr, ExprKind, Literal};

/// Binds the function of a trigger, or the statements that it has instead.
pub fn bind_trigger(
    trigger: &TriggerDef,
    function: Option<&FunctionDef>,
    table: &TableDef,
    block: &syntax::PlBlock,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<PlFunction, SqlError> {
    let (name, signature) = match function {
        Some(function) => (Arc::clone(&function.name), function.named_in_context()),
        None => (Arc::clone(&trigger.name), format!("{}()", trigger.name)),
    };
    let mut body = Body::new(Binder::new(catalog, time_zone, &[]), name);
    body.oid = function.map_or(0, |function| function.oid.0);
    body.read_only = function.is_some_and(|function| function.volatility != Volatility::Volatile);
    body.returns = PlReturn::Trigger;
    let (old_name, new_name) = record_names(trigger);
    let fields: Arc<[(Arc<str>, SqlType)]> = columns(table).into();
    let mut record = |name: Arc<str>| {
        let first = body.variables.len();
        for (_, ty) in fields.iter() {
            body.declare("", ty.clone(), false);
        }
        body.declare("", SqlType::Bool, false);
        body.binder.records.push(Record { name, columns: Arc::clone(&fields), first });
        first
    };
    let (new, old) = (record(new_name), record(old_name));
    let mut facts = Vec::new();
    if function.is_some() {
        for (name, ty, fact) in [
            ("tg_name", SqlType::Name, TriggerFact::Name),
            ("tg_when", SqlType::Text, TriggerFact::When),
            ("tg_level", SqlType::Text, TriggerFact::Level),
            ("tg_op", SqlType::Text, TriggerFact::Op),
            ("tg_relid", SqlType::Oid, TriggerFact::Relid),
            ("tg_relname", SqlType::Name, TriggerFact::TableName),
            ("tg_table_name", SqlType::Name, TriggerFact::TableName),
            ("tg_table_schema", SqlType::Name, TriggerFact::TableSchema),
            ("tg_nargs", SqlType::Int4, TriggerFact::Nargs),
            ("tg_argv", SqlType::Array(Box::new(SqlType::Text)), TriggerFact::Argv),
        ] {
            facts.push((body.declare(name, ty, false), fact));
        }
    }
    for (name, new) in [(&trigger.old_table, false), (&trigger.new_table, true)] {
        if let Some(name) = name {
            let column = |(name, ty): &(Arc<str>, SqlType)| OutputColumn::new(Arc::clone(name), ty.clone());
            body.binder.ctes.push(Cte::transition(name, new, fields.iter().map(column).collect()));
        }
    }
    let shown = table.shown().len();
    body.trigger = Some(PlTrigger { columns: fields.len(), shown, new, old, facts });
    body.finish(signature.into(), 0, block)
}

impl Body<'_> {
    /// RETURN of a trigger: NEW, OLD, NULL, or another row.
    pub(super) fn return_row(&self, value: Option<&Expr>) -> Result<PlStatementKind, SqlError> {
        let Some(value) = value else {
            return Err(SqlError::syntax("missing expression at or near \";\""));
        };
        let record = match &value.kind {
            ExprKind::Literal(Literal::Null) => None,
            ExprKind::Column(parts) => {
                let is = |record: &&Record| matches!(parts.as_slice(), [name] if *name.text == *record.name);
                match self.binder.records.iter().rev().find(is) {
                    Some(record) => Some(record.first),
                    None => return self.other_row(value),
                }
            }
            _ => return self.other_row(value),
        };
        Ok(PlStatementKind::ReturnRow { record })
    }

    fn other_row(&self, value: &Expr) -> Result<PlStatementKind, SqlError> {
        let (value, shape) = self.row_value(value)?;
        Ok(PlStatementKind::ReturnRowValue { value, shape })
    }
}
