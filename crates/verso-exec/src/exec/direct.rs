//! The short way of an INSERT of one row.
//!
//! Most such statements take their values from parameters as they are, and what they have to fulfil besides is NOT NULL:
//! then a row is on its way to the table after a few copies. Whatever else an INSERT can have goes the general way, and so
//! does a row that is refused here: that way gives the error.

use verso_types::{Batch, ColumnData, SqlType, Value};

use crate::plan::{ExprKind, Insert, TypedExpr};

/// Of such an INSERT: what there is to its row.
#[derive(Debug)]
pub(super) struct DirectRow {
    /// Columns that take no NULL.
    not_null: Box<[bool]>,
    /// Where the values come from, where none has to be computed.
    sources: Option<Box<[Source]>>,
}

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
        if more || insert.table.indexes.iter().any(|index| index.deferrable) || row.iter().any(may_read) {
            return None;
        }
        let source = |value: &TypedExpr| match &value.kind {
            ExprKind::Parameter(index) => Some(Source::Parameter(*index)),
            ExprKind::Literal(value) => Some(Source::Constant(value.clone())),
            _ => None,
        };
        let not_null = insert.table.columns.iter().map(|column| column.not_null).collect();
        Some(DirectRow { not_null, sources: row.iter().map(source).collect() })
    }

    /// Whether no value has to be computed.
    pub(super) fn is_given(&self) -> bool {
        self.sources.is_some()
    }

    /// Whether the first row of the batch has no NULL where none may be.
    #[inline]
    pub(super) fn accepts(&self, rows: &Batch) -> bool {
        self.not_null.iter().zip(&rows.columns).all(|(not_null, column)| !not_null || !column.is_null(0))
    }

    /// Appends the row to a batch of columns of these types; `None` where a value has to be computed or is not what its column
    /// takes. The batch is of no use then.
    #[inline]
    pub(super) fn push(&self, params: &[Value], types: &[SqlType], out: &mut Batch) -> Option<()> {
        let sources = self.sources.as_deref()?;
        for (((source, not_null), column), ty) in
            sources.iter().zip(&self.not_null).zip(&mut out.columns).zip(types)
        {
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

/// Whether the value may come out of a table, now or in a function that somebody wrote: that takes a snapshot.
fn may_read(value: &TypedExpr) -> bool {
    value.any(&mut |part| {
        matches!(part.kind, ExprKind::Subquery { .. } | ExprKind::UserCall { .. } | ExprKind::Domain { .. })
    })
}
