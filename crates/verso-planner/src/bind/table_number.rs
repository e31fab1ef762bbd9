//! `tableoid`: the number of the table that a row is stored in, of a partitioned table that of a partition.
//!
//! A statement is bound without it, and once more where it was missed: rows of tables then have it as a column that no `*` shows.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_exec::plan::{OutputColumn, Plan, TypedExpr};
use verso_types::{SqlType, Value};

use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::Statement;

/// What the column is called among those of a scope: no name of a user's column.
pub(super) const COLUMN: &str = "\0tableoid";

/// Whether a statement could not be bound because it names the number.
pub(super) fn is_missing(error: &SqlError) -> bool {
    let named = error.message.strip_prefix("column ").and_then(|text| text.strip_suffix(" does not exist"));
    let is_it = |name: &str| name == "\"tableoid\"" || name.ends_with(".tableoid");
    error.sqlstate == sqlstate::UNDEFINED_COLUMN && named.is_some_and(is_it)
}

/// The error of a statement that was bound with the number: changes of rows do not have it.
pub(super) fn refused(error: SqlError, statement: &Statement) -> SqlError {
    match statement {
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_)
            if is_missing(&error) =>
        {
            let refused = SqlError::unsupported("tableoid of the table whose rows change");
            SqlError { position: error.position, ..refused }
        }
        _ => error,
    }
}

/// The rows of a table with the number behind the columns that are shown; the table. None for plans that are no scan of a whole
/// table.
pub(super) fn numbered(plan: &Plan) -> Option<(Plan, Arc<TableDef>)> {
    let Plan::TableScan { table, columns, filter: None } = plan else { return None };
    if !columns.iter().copied().eq(0..table.columns.len()) {
        return None;
    }
    let mut inputs: Vec<Plan> = table.leaves().into_iter().map(|leaf| leaf_of(table, leaf)).collect();
    let plan = match inputs.len() {
        0 => {
            let shown = table.shown().iter();
            let shown = shown.map(|column| OutputColumn::new(Arc::clone(&column.name), column.seen()));
            let number = OutputColumn::new(COLUMN, SqlType::Oid);
            Plan::Values { rows: Vec::new(), columns: shown.chain([number]).collect() }
        }
        1 => inputs.remove(0),
        _ => Plan::Append { inputs, pruning: None },
    };
    Some((plan, Arc::clone(table)))
}

/// The rows of one that has rows itself, with the columns of the whole table.
fn leaf_of(whole: &TableDef, leaf: Arc<TableDef>) -> Plan {
    let column = |column: &verso_catalog::ColumnDef| {
        TypedExpr::column(leaf.column(&column.name).unwrap_or_default(), column.seen())
    };
    let number = TypedExpr::literal(Value::Int8(leaf.oid.0.into()), SqlType::Oid);
    let exprs = whole.shown().iter().map(column).chain([number]).collect();
    let names = whole.shown().iter().map(|column| Arc::clone(&column.name)).chain([COLUMN.into()]).collect();
    let columns = (0..leaf.columns.len()).collect();
    let scan = Plan::TableScan { table: leaf, columns, filter: None };
    Plan::Project { input: Box::new(scan), exprs, names }
}
