//! `tableoid`: the number of the table that a row is stored in, of a partitioned table that of a partition. `_xid`: the
//! transaction that has written the version of the row which the statement sees.
//!
//! A statement is bound without them, and once more where one was missed: rows of tables then have it as a column that no `*`
//! shows.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_exec::functions::operator_candidates;
use verso_exec::plan::{ExprKind, OutputColumn, Plan, RECORD_COLUMN, TypedExpr};
use verso_types::{SqlType, Value};

use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::Statement;

/// A number that rows have beside their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowNumber {
    /// Of the table.
    Table,
    /// Of the transaction.
    Writer,
}

impl RowNumber {
    const ALL: [RowNumber; 2] = [RowNumber::Table, RowNumber::Writer];

    /// What statements call it.
    pub(super) fn name(self) -> &'static str {
        match self {
            RowNumber::Table => "tableoid",
            RowNumber::Writer => "_xid",
        }
    }

    /// What the column is called among those of a scope: no name of a user's column.
    pub(super) fn column(self) -> &'static str {
        match self {
            RowNumber::Table => "\0tableoid",
            RowNumber::Writer => "\0_xid",
        }
    }

    /// The number whose column among those of a scope is called so.
    pub(super) fn of_column(name: &str) -> Option<RowNumber> {
        RowNumber::ALL.into_iter().find(|number| number.column() == name)
    }

    fn ty(self) -> SqlType {
        match self {
            RowNumber::Table => SqlType::Oid,
            RowNumber::Writer => SqlType::Int8,
        }
    }
}

/// Which number a statement could not be bound without.
pub(super) fn missing(error: &SqlError) -> Option<RowNumber> {
    let named =
        error.message.strip_prefix("column ").and_then(|text| text.strip_suffix(" does not exist"))?;
    let names = |number: &RowNumber| {
        let name = number.name();
        named.trim_matches('"') == name || named.strip_suffix(name).is_some_and(|rest| rest.ends_with('.'))
    };
    RowNumber::ALL.into_iter().filter(|_| error.sqlstate == sqlstate::UNDEFINED_COLUMN).find(names)
}

/// The error of a statement that was bound with the number: changes of rows do not have it.
pub(super) fn refused(error: SqlError, statement: &Statement, had: RowNumber) -> SqlError {
    match statement {
        Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) | Statement::Merge(_)
            if let Some(number) = missing(&error) =>
        {
            let what = format!("{} of the table whose rows change", number.name());
            SqlError { position: error.position, ..SqlError::unsupported(&what) }
        }
        _ if let Some(number) = missing(&error).filter(|number| *number != had) => {
            let what = format!("{} beside {} in one statement", number.name(), had.name());
            SqlError { position: error.position, ..SqlError::unsupported(&what) }
        }
        _ => error,
    }
}

/// The rows of a table with the number behind the columns that are shown; the table. None for plans that are no scan of a whole
/// table.
pub(super) fn numbered(plan: &Plan, number: RowNumber) -> Option<(Plan, Arc<TableDef>)> {
    let Plan::TableScan { table, columns, filter: None } = plan else { return None };
    if !columns.iter().copied().eq(0..table.columns.len()) {
        return None;
    }
    let mut inputs: Vec<Plan> = table.leaves().into_iter().map(|leaf| leaf_of(table, leaf, number)).collect();
    let plan = match inputs.len() {
        0 => {
            let shown = table.shown().iter();
            let shown = shown.map(|column| OutputColumn::new(Arc::clone(&column.name), column.seen()));
            let number = OutputColumn::new(number.column(), number.ty());
            Plan::Values { rows: Vec::new(), columns: shown.chain([number]).collect() }
        }
        1 => inputs.remove(0),
        _ => Plan::Append { inputs, pruning: None },
    };
    Some((plan, Arc::clone(table)))
}

/// The rows of one that has rows itself, with the columns of the whole table.
fn leaf_of(whole: &TableDef, leaf: Arc<TableDef>, number: RowNumber) -> Plan {
    let column = |column: &verso_catalog::ColumnDef| {
        TypedExpr::column(leaf.column(&column.name).unwrap_or_default(), column.seen())
    };
    let oid = Value::Int8(leaf.oid.0.into());
    let mut columns: Vec<usize> = (0..leaf.columns.len()).collect();
    let value = match (number, operator_candidates("row writer").first()) {
        (RowNumber::Writer, Some(function)) => {
            let place = TypedExpr::column(columns.len(), SqlType::Int8);
            columns.push(RECORD_COLUMN);
            let args = vec![TypedExpr::literal(oid, SqlType::Int8), place];
            TypedExpr::new(ExprKind::Call { function, args }, SqlType::Int8)
        }
        _ => TypedExpr::literal(oid, SqlType::Oid),
    };
    let exprs = whole.shown().iter().map(column).chain([value]).collect();
    let shown = whole.shown().iter().map(|column| Arc::clone(&column.name));
    let names = shown.chain([number.column().into()]).collect();
    let scan = Plan::TableScan { table: leaf, columns, filter: None };
    Plan::Project { input: Box::new(scan), exprs, names }
}
