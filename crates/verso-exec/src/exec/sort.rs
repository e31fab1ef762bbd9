//! ORDER BY: all rows, in memory, in order; under a LIMIT only the first ones are kept. Equal rows keep the input's
//! order.

use std::cmp::Ordering;

use verso_types::value::{cmp_f32, cmp_f64};
use verso_types::{Batch, Column, ColumnData, SqlType, cmp_sql};

use super::operator::Operator;
use super::{BATCH_ROWS, ExecContext, spool};
use crate::error::Result;
use crate::expr::{Executor, ExprList, RowExpr};
use crate::plan::{SortKey, TypedExpr};

/// Collects the input, sorts row numbers by the keys, yields the rows in that order.
pub(crate) struct SortOperator {
    input: Box<dyn Operator>,
    batch: Batch,
    exprs: ExprList,
    /// Descending, NULLs first.
    directions: Vec<(bool, bool)>,
    rows: Batch,
    order: Option<Vec<u32>>,
    next: usize,
    types: Vec<SqlType>,
    /// How many rows the LIMIT above it asks for, OFFSET included.
    bound: Option<Bound>,
}

/// LIMIT and OFFSET of the operator above.
pub(crate) struct Bound {
    pub limit: RowExpr,
    pub offset: Option<RowExpr>,
}

impl Bound {
    /// How many rows; `None` where all may be needed. What is wrong with the numbers the limit itself reports.
    fn rows(&self, cx: &ExecContext<'_>) -> Option<usize> {
        let count = |expr: &RowExpr| -> Option<usize> {
            usize::try_from(expr.eval_constant(&cx.eval()).ok()?.as_i64()?).ok()
        };
        let offset = self.offset.as_ref().map_or(Some(0), count)?;
        count(&self.limit)?.checked_add(offset)
    }
}

impl SortOperator {
    pub fn new(
        input: Box<dyn Operator>,
        types: &[SqlType],
        keys: &[SortKey],
        bound: Option<Bound>,
        executor: Executor,
    ) -> Self {
        let exprs: Vec<&TypedExpr> = keys.iter().map(|key| &key.expr).collect();
        Self {
            input,
            batch: Batch::of_types(types),
            exprs: ExprList::compile(exprs, executor),
            directions: keys.iter().map(|key| (key.descending, key.nulls_first)).collect(),
            rows: Batch::of_types(types),
            order: None,
            next: 0,
            types: types.to_vec(),
            bound,
        }
    }

    fn collect(&mut self, cx: &ExecContext<'_>) -> Result<Vec<u32>> {
        let mut keys = Batch::of_types(self.exprs.types());
        let mut batch_keys = Batch::of_types(self.exprs.types());
        let bound = self.bound.as_ref().and_then(|bound| bound.rows(cx)).unwrap_or(usize::MAX);
        while self.input.next(cx, &mut self.batch)? {
            self.exprs.eval(&cx.eval(), &self.batch, &mut batch_keys)?;
            self.rows.append(&self.batch);
            keys.append(&batch_keys);
            // sorting now and then costs little beside what it saves
            if self.rows.rows > bound.saturating_mul(2).max(4 * BATCH_ROWS) {
                let mut first = self.order_of(&keys);
                first.truncate(bound);
                self.rows = self.rows.gather(&first);
                keys = keys.gather(&first);
            }
            let bytes = self.rows.heap_bytes() + keys.heap_bytes() + self.rows.rows * 4;
            spool::check_memory(cx, "a sort", bytes as u64)?;
        }
        Ok(self.order_of(&keys))
    }

    /// Row numbers in order.
    fn order_of(&self, keys: &Batch) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.rows.rows as u32).collect();
        let types = self.exprs.types();
        order.sort_by(|a, b| {
            keys.columns
                .iter()
                .zip(types)
                .zip(&self.directions)
                .map(|((column, ty), direction)| compare(column, ty, *direction, *a as usize, *b as usize))
                .find(|order| order.is_ne())
                .unwrap_or(Ordering::Equal)
        });
        order
    }
}

/// The order of two rows by one key.
pub(super) fn compare(
    column: &Column,
    ty: &SqlType,
    (descending, nulls_first): (bool, bool),
    a: usize,
    b: usize,
) -> Ordering {
    match (column.nulls.is_null(a), column.nulls.is_null(b)) {
        (false, false) => {
            let order = compare_values(column, ty, a, b);
            if descending { order.reverse() } else { order }
        }
        (a, b) if a == b => Ordering::Equal,
        (true, _) if nulls_first => Ordering::Less,
        (false, _) if !nulls_first => Ordering::Less,
        _ => Ordering::Greater,
    }
}

fn compare_values(column: &Column, ty: &SqlType, a: usize, b: usize) -> Ordering {
    match (&column.data, ty) {
        (ColumnData::Bool(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I16(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I32(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I64(v), _) => v[a].cmp(&v[b]),
        (ColumnData::I128(v), SqlType::Numeric(_)) => v[a].cmp(&v[b]),
        (ColumnData::F32(v), _) => cmp_f32(v[a], v[b]),
        (ColumnData::F64(v), _) => cmp_f64(v[a], v[b]),
        (ColumnData::Bytes(v), ty) if ty.is_text() || *ty == SqlType::Bytea => v.get(a).cmp(v.get(b)),
        _ => cmp_sql(&column.value(a, ty), &column.value(b, ty)),
    }
}

impl Operator for SortOperator {
    fn open(&mut self, cx: &ExecContext<'_>) -> Result<()> {
        self.order = None;
        self.next = 0;
        self.input.open(cx)
    }

    fn next(&mut self, cx: &ExecContext<'_>, out: &mut Batch) -> Result<bool> {
        if self.order.is_none() {
            self.rows = Batch::of_types(&self.types);
            self.order = Some(self.collect(cx)?);
            self.input.close();
        }
        cx.check_cancelled()?;
        let order = self.order.as_deref().unwrap_or_default();
        let rows = &order[self.next..order.len().min(self.next + BATCH_ROWS)];
        if rows.is_empty() {
            return Ok(false);
        }
        out.clear();
        for (from, to) in self.rows.columns.iter().zip(&mut out.columns) {
            from.gather_into(rows, to);
        }
        out.rows = rows.len();
        self.next += rows.len();
        Ok(true)
    }

    fn close(&mut self) {
        self.input.close();
        self.rows = Batch::of_types(&self.types);
        self.order = None;
    }
}
