//! Functions of triggers: NEW, OLD, TG_…, and the row that they return.
//!
//! Such a function is bound for each trigger, to the columns of its table. One function may serve several tables, and say
//! with IF which of its statements are for which: a statement that cannot be bound here fails only when it is reached.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, ColumnDef, FunctionDef, Relation, TableDef, TriggerDef, Volatility};
use verso_exec::plan::{OutputColumn, PlFunction, PlReturn, PlStatementKind, PlTrigger, TriggerFact};
use verso_types::{RowType, SqlType, TimeStyle};

use super::super::scope::Record;
use super::super::trigger::{columns, record_names};
use super::super::with::Cte;
use super::result::not_composite;
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
    let (body, signature) = of_trigger(trigger, function, table, catalog, time_zone);
    body.finish(signature.into(), 0, block)
}

/// What is said of the statements of a trigger when it is made.
///
/// # Errors
/// Those of binding them, each in its text.
pub fn check_trigger_statements(
    trigger: &TriggerDef,
    table: &TableDef,
    block: &syntax::PlBlock,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<(), SqlError> {
    let (body, signature) = of_trigger(trigger, None, table, catalog, time_zone);
    let bound = Body { strict: true, ..body }.finish(signature.into(), 0, block);
    bound.map(drop).map_err(|error| SqlError { context: None, ..error })
}

/// The body of a trigger, with its table's columns in scope, and what it is called.
fn of_trigger<'c>(
    trigger: &TriggerDef,
    function: Option<&FunctionDef>,
    table: &TableDef,
    catalog: &'c Arc<CatalogSnapshot>,
    time_zone: &'c TimeStyle,
) -> (Body<'c>, String) {
    let (name, signature) = match function {
        Some(function) => (Arc::clone(&function.name), function.named_in_context()),
        None => (Arc::clone(&trigger.name), format!("{}()", trigger.name)),
    };
    let fields: Arc<[(Arc<str>, SqlType)]> = columns(table).into();
    let (old_name, new_name) = record_names(trigger);
    let binder = Binder::new(catalog, time_zone, &[]);
    let row = row_type(table, catalog);
    let (mut body, told) = body(binder, name, function, [new_name, old_name], (&fields, row));
    for (name, new) in [(&trigger.old_table, false), (&trigger.new_table, true)] {
        if let Some(name) = name {
            let column = |(name, ty): &(Arc<str>, SqlType)| OutputColumn::new(Arc::clone(name), ty.clone());
            body.binder.ctes.push(Cte::transition(name, new, fields.iter().map(column).collect()));
        }
    }
    body.trigger = Some(PlTrigger { shown: table.shown().len(), ..told });
    (body, signature)
}

/// The type of the rows of a trigger's table, or view.
fn row_type(table: &TableDef, catalog: &CatalogSnapshot) -> Arc<RowType> {
    let shown = table.shown();
    let known = catalog.relation_by_oid(table.oid).and_then(Relation::row_type);
    match known.map(|known| known.ty) {
        Some(SqlType::Row(row)) if row.fields.len() == shown.len() => row,
        _ => {
            let field = |column: &ColumnDef| (Arc::clone(&column.name), column.seen());
            Arc::new(RowType::unnamed(shown.iter().map(field).collect()))
        }
    }
}

/// What is said of the function of triggers when it is made. Its tables are not known: what needs their columns waits.
pub(super) fn check_trigger_function(
    function: &FunctionDef,
    block: &syntax::PlBlock,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<(), SqlError> {
    let binder = Binder::new(catalog, time_zone, &[]);
    let names = ["new".into(), "old".into()];
    let row = Arc::new(RowType::unnamed(Vec::new()));
    let of_none = (&Arc::default(), row);
    let (mut body, told) = body(binder, Arc::clone(&function.name), Some(function), names, of_none);
    body.trigger = Some(told);
    body.finish(function.named_in_context().into(), 0, block).map(drop)
}

/// The columns of a table, as fields of NEW and OLD.
type Fields = Arc<[(Arc<str>, SqlType)]>;

/// The body of a function of triggers, with NEW, OLD and TG_… in scope, and what it is told.
fn body<'c>(
    binder: Binder<'c>,
    name: Arc<str>,
    function: Option<&FunctionDef>,
    [new_name, old_name]: [Arc<str>; 2],
    (fields, row): (&Fields, Arc<RowType>),
) -> (Body<'c>, PlTrigger) {
    let mut body = Body::new(binder, name);
    body.oid = function.map_or(0, |function| function.oid.0);
    body.read_only = function.is_some_and(|function| function.volatility != Volatility::Volatile);
    body.returns = PlReturn::Trigger;
    let mut record = |name: Arc<str>| {
        let first = body.variables.len();
        for (_, ty) in fields.iter() {
            body.declare("", ty.clone(), false);
        }
        body.declare("", SqlType::Bool, false);
        let table = body.declare("", SqlType::Oid, false);
        let (columns, row) = (Arc::clone(fields), Arc::clone(&row));
        body.binder.records.push(Record { name, columns, row, first, table });
        (first, table)
    };
    let ((new, of_new), (old, of_old)) = (record(new_name), record(old_name));
    let mut facts = vec![(of_new, TriggerFact::NewStored), (of_old, TriggerFact::OldStored)];
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
    let told = PlTrigger { columns: fields.len(), shown: fields.len(), new, old, facts };
    (body, told)
}

impl Body<'_> {
    /// RETURN of a trigger: NEW, OLD, NULL, or another row.
    pub(super) fn return_row(&self, value: Option<&Expr>) -> Result<PlStatementKind, SqlError> {
        let Some(value) = value else {
            return Err(self.missing_expression());
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
        let (value, shape) = self.row_value(value).map_err(not_composite)?;
        Ok(PlStatementKind::ReturnRowValue { value, shape })
    }
}
