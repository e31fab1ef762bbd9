//! The short way of an INSERT of one row.
//!
//! Most such statements take their values from parameters as they are, and what they have to fulfil besides is NOT NULL:
//! then a row is on its way to the table after a few copies. Whatever else an INSERT can have goes the general way, and so
//! does a row that is refused here: that way gives the error.

use verso_types::{Batch, ColumnData, SqlType, Value};

use crate::plan::{ExprKind, Insert, TypedExpr};

/// Where the values of the row come from, one of each column.
#[derive(Debug)]
pub(super) struct DirectRow(Vec<(Source, bool)>);

#[derive(Debug)]
enum Source {
    Parameter(usize),
    Constant(Value),
}

impl DirectRow {
    /// `None` where the short way will not do for the statement, whose only row is `row`. Foreign keys are not looked at.
    pub(super) fn of(insert: &Insert, row: &[TypedExpr]) -> Option<DirectRow> {
        let rules = &insert.rules;
        let more = !rules.checks.is_empty()
            || !rules.generated.is_empty()
            || insert.on_conflict.is_some()
            || rules.partition.is_some()
            || !insert.routes.is_empty()
            || insert.table.partitioned.is_some()
            || insert.returning.is_some();
        if more || insert.table.indexes.iter().any(|index| index.deferrable) {
            return None;
        }
        let source = |(value, column): (&TypedExpr, &verso_catalog::ColumnDef)| match &value.kind {
            ExprKind::Parameter(index) => Some((Source::Parameter(*index), column.not_null)),
            ExprKind::Literal(value) => Some((Source::Constant(value.clone()), column.not_null)),
            _ => None,
        };
        row.iter().zip(&insert.table.columns).map(source).collect::<Option<_>>().map(DirectRow)
    }

    /// Appends the row to a batch of columns of these types; `None` where a value is not what its column takes. The batch
    /// is of no use then.
    #[inline]
    pub(super) fn push(&self, params: &[Value], types: &[SqlType], out: &mut Batch) -> Option<()> {
        for (((source, not_null), column), ty) in self.0.iter().zip(&mut out.columns).zip(types) {
            let value = match source {
                Source::Parameter(index) => params.get(*index)?,
                Source::Constant(value) => value,
            };
            if *not_null && matches!(value, Value::Null) {
                return None;
            }
            match (&mut column.data, value) {
                // The most usual ones, at once.
                (ColumnData::I64(data), Value::Int8(number)) => data.push(*number),
                (ColumnData::I32(data), Value::Int4(number)) => data.push(*number),
                (ColumnData::Bytes(data), Value::Text(text)) => data.push(text.as_bytes()),
                _ => column.push_value(value, ty).ok()?,
            }
        }
        out.rows += 1;
        Some(())
    }
}
