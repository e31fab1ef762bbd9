//! What aggregates with an order or without repeats (ORDER BY within the call, DISTINCT, WITHIN GROUP) keep of one group, when it
//! does not fit into memory: each call's rows go to a sort of their own, which has a file, and come back in their order at the end.
//!
//! ```text
//! rows in the accumulator ─ refused ─► sorter of the call ─► … ─► merged ─► plain aggregate, or place among them
//! ```
//!
//! V1. Only one group overflows at a time: where there are several, the others are put aside first.

use verso_types::{Batch, BytesColumn, SqlType, Value};

use super::aggregate::Call;
use super::order::{self, SortOrder};
use super::sort::Sorter;
use super::{BATCH_BYTES, BATCH_ROWS, ExecContext};
use crate::aggregate::{Accumulator, OrderedRows, ValueOrder, same_arguments};
use crate::error::Result;

/// The rows of one group, by call.
#[derive(Default)]
pub(super) struct Overflow(Vec<Option<Rows>>);

/// The rows of a call.
struct Rows {
    sorter: Sorter,
    /// Of the arguments, and of the further sort keys behind them.
    types: Vec<SqlType>,
    args: usize,
    /// By which columns the rows are sorted.
    keys: Vec<usize>,
    orders: Vec<SortOrder>,
    /// How the values of each column are ordered.
    values_orders: Vec<ValueOrder>,
    distinct: bool,
    /// How many have a value that is not NULL.
    present: u64,
}

impl Overflow {
    /// Takes the rows that a call's accumulator keeps; false where it keeps none.
    ///
    /// # Errors
    /// 53200 where there is no place for files; errors of the file.
    pub fn take(
        &mut self,
        cx: &ExecContext<'_>,
        at: usize,
        call: &Call,
        accumulator: &mut Accumulator,
    ) -> Result<bool> {
        accumulator.sort_repeats(&call.call);
        let Some(ordered) = accumulator.ordered_rows() else { return Ok(false) };
        if ordered.is_empty() {
            return Ok(false);
        }
        let rows = self.slot(at).get_or_insert_with(|| Rows::new(cx, call, ordered));
        rows.present += ordered.present() as u64;
        rows.push(cx, accumulator.take_ordered())?;
        Ok(true)
    }

    /// Takes over what another one, and an accumulator, have of a call; false, and nothing has happened, where it has nothing.
    ///
    /// # Errors
    /// As [`Overflow::take`].
    pub fn absorb(
        &mut self,
        cx: &ExecContext<'_>,
        at: usize,
        call: &Call,
        (other, accumulator): (&mut Overflow, &mut Accumulator),
    ) -> Result<bool> {
        let Some(rows) = other.0.get_mut(at).and_then(Option::take) else { return Ok(false) };
        self.take(cx, at, call, accumulator)?;
        let mut batch = Batch::of_types(&rows.types);
        let mut sorted = rows.sorter.finish(cx)?;
        let own = self.slot(at).get_or_insert_with(|| Rows::new(cx, call, &OrderedRows::any(&call.call)));
        own.present += rows.present;
        loop {
            cx.check_cancelled()?;
            batch.clear();
            sorted.fill(&mut batch)?;
            if batch.rows == 0 {
                return Ok(true);
            }
            own.push_batch(cx, &batch)?;
        }
    }

    /// Where the rows of a call stand.
    fn slot(&mut self, at: usize) -> &mut Option<Rows> {
        if self.0.len() <= at {
            self.0.resize_with(at + 1, || None);
        }
        &mut self.0[at]
    }

    /// The result of a call, whose accumulator has the last rows.
    ///
    /// # Errors
    /// Those of the aggregate, and of the file.
    pub fn finish(
        &mut self,
        cx: &ExecContext<'_>,
        at: usize,
        call: &Call,
        mut accumulator: Accumulator,
    ) -> Result<Value> {
        if self.0.get(at).is_some_and(Option::is_some) {
            self.take(cx, at, call, &mut accumulator)?;
        }
        let Some(rows) = self.0.get_mut(at).and_then(Option::take) else {
            return call.finish(cx, accumulator);
        };
        call.complete(cx, &mut accumulator)?;
        let Rows { sorter, types, args, values_orders, distinct, present, .. } = rows;
        let mut sorted = sorter.finish(cx)?;
        let mut batch = Batch::of_types(&types);
        let mut last: Option<Vec<Value>> = None;
        accumulator.finish_sorted(present, |take| {
            loop {
                cx.check_cancelled()?;
                batch.clear();
                sorted.fill(&mut batch)?;
                if batch.rows == 0 {
                    return Ok(());
                }
                for row in 0..batch.rows {
                    let columns = batch.columns.iter().zip(&types).take(args);
                    let values: Vec<Value> = columns.map(|(column, ty)| column.value(row, ty)).collect();
                    if distinct
                        && last.as_deref().is_some_and(|last| same_arguments(last, &values, &values_orders))
                    {
                        continue;
                    }
                    take(&values)?;
                    last = distinct.then_some(values);
                }
            }
        })
    }
}

impl Rows {
    fn new(cx: &ExecContext<'_>, call: &Call, ordered: &OrderedRows) -> Rows {
        let call = &call.call;
        let keys = call.order_by.iter().map(|key| &key.expr);
        let types: Vec<SqlType> = call.args.iter().chain(keys).map(|expr| expr.ty.clone()).collect();
        let order = |(column, descending, nulls_first): &(usize, bool, bool)| {
            SortOrder::new(&types[*column], *descending, *nulls_first)
        };
        Rows {
            sorter: Sorter::new(cx, "an aggregate", &types, usize::MAX),
            args: call.args.len(),
            keys: ordered.keys().iter().map(|(column, ..)| *column).collect(),
            orders: ordered.keys().iter().map(order).collect(),
            values_orders: ordered.orders().to_vec(),
            distinct: ordered.is_distinct(),
            present: 0,
            types,
        }
    }

    /// Takes rows, value by value.
    fn push(&mut self, cx: &ExecContext<'_>, values: Vec<Value>) -> Result<()> {
        let width = self.types.len().max(1);
        let mut values = values.into_iter();
        let mut batch = Batch::of_types(&self.types);
        while values.len() >= width {
            let row: Vec<Value> = values.by_ref().take(width).collect();
            batch.push_row(&row, &self.types)?;
            if batch.rows == BATCH_ROWS || batch.variable_bytes() >= BATCH_BYTES || values.len() < width {
                cx.check_cancelled()?;
                self.push_batch(cx, &batch)?;
                batch.clear();
            }
        }
        Ok(())
    }

    fn push_batch(&mut self, cx: &ExecContext<'_>, batch: &Batch) -> Result<()> {
        let columns = self.keys.iter().map(|column| batch.columns[*column].clone()).collect();
        let keys = Batch { rows: batch.rows, columns };
        let mut encoded = BytesColumn::default();
        for row in 0..batch.rows {
            order::encode(&keys, &self.orders, row, &mut encoded.bytes)?;
            encoded.end_value();
        }
        self.sorter.push(cx, batch, &encoded)
    }
}
