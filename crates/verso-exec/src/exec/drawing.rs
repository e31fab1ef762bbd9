//! TABLESAMPLE as the scan of the table does it: what is not in the sample is not read.
//!
//! D1. Rows are the same ones as those for which the condition is true that stands in the plan; where a cursor cannot draw, the
//!     scan asks it of the places of the rows.

use std::sync::Arc;

use verso_storage::RecordId;
use verso_storage::heap::Draw;

use super::TableCursor;
use crate::context::EvalContext;
use crate::error::Result;
use crate::expr::RowExpr;
use crate::functions::samples;
use crate::plan::{RECORD_COLUMN, TypedExpr};

/// A sample of a table, before it is known how large.
#[derive(Clone)]
pub(crate) struct Drawing {
    pages: bool,
    percent: Arc<RowExpr>,
    seed: Arc<RowExpr>,
}

impl Drawing {
    /// The sample that a condition over `columns` of a table asks for, and the rest of the condition.
    pub fn of(columns: &[usize], condition: Option<&TypedExpr>) -> (Option<Drawing>, Option<TypedExpr>) {
        let whole = || (None, condition.cloned());
        let (Some(condition), Some(place)) =
            (condition, columns.iter().position(|one| *one == RECORD_COLUMN))
        else {
            return whole();
        };
        let mut conjuncts = condition.clone().conjuncts();
        let Some(at) = conjuncts.iter().position(|one| samples::drawn(one, place).is_some()) else {
            return whole();
        };
        let drawn = conjuncts.remove(at);
        let Some((pages, percent, seed)) = samples::drawn(&drawn, place) else { return whole() };
        let compiled = |expr| Arc::new(RowExpr::compile(expr));
        let drawing = Drawing { pages, percent: compiled(percent), seed: compiled(seed) };
        (Some(drawing), TypedExpr::conjunction(conjuncts))
    }

    /// Has a cursor that has just been opened read the sample only; what else is to be drawn of its rows.
    pub fn begin(&self, cx: &EvalContext<'_>, cursor: &mut dyn TableCursor) -> Result<Option<Draw>> {
        let (percent, seed) = (self.percent.eval_constant(cx)?, self.seed.eval_constant(cx)?);
        let draw = samples::draw(self.pages, &percent, &seed)?;
        Ok(if cursor.draw(draw) { None } else { Some(draw) })
    }
}

/// The rows at these places that are drawn.
pub(crate) fn drawn(draw: Draw, records: &[RecordId], selection: &mut Vec<u32>) {
    selection.clear();
    selection.extend((0u32..).zip(records).filter(|(_, record)| draw.has(**record)).map(|(row, _)| row));
}
