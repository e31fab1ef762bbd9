//! Aggregates whose values have an order: ORDER BY and DISTINCT inside a call, ordered-set and hypothetical-set ones.
//!
//! ```text
//! rows (values | sort keys)  ─sort─►  [without repeats]  ─►  the plain aggregate, or a place among them
//! ```

use std::cmp::Ordering;

use verso_types::{SqlType, TypeError, Value, eq_sql};

use super::places::Places;
use crate::error::Result;
use crate::functions::{AggregateKind, order_of};
use crate::plan::AggregateCall;

/// Rows set aside until all are there.
#[derive(Clone, Debug)]
pub(crate) struct OrderedRows {
    /// Row by row: the arguments, then further sort keys.
    values: Vec<Value>,
    /// Values of one row.
    width: usize,
    /// How many of them are arguments.
    args: usize,
    /// Column, descending, NULLs first.
    keys: Vec<(usize, bool, bool)>,
    /// How the values of each column are ordered.
    orders: Vec<ValueOrder>,
    distinct: bool,
}

/// The order of two values that are not NULL.
pub(crate) type ValueOrder = fn(&Value, &Value) -> Ordering;

impl OrderedRows {
    /// For calls that need it.
    pub fn of(call: &AggregateCall) -> Option<Self> {
        let args = call.args.len();
        let kind = call.function.kind;
        let own_order = !call.order_by.is_empty();
        // Repeats of one value that does not depend on the order are told by a hash table.
        let sorted_repeats = call.distinct && (args > 1 || kind.heeds_order());
        let is_kept = own_order || sorted_repeats || kind.is_ordered_set();
        is_kept.then(|| Self::any(call))
    }

    /// For any call: sorting finds repeats, too.
    pub fn any(call: &AggregateCall) -> Self {
        let args = call.args.len();
        let mut keys: Vec<_> = call
            .order_by
            .iter()
            .enumerate()
            .map(|(n, key)| (args + n, key.descending, key.nulls_first))
            .collect();
        if call.distinct {
            keys.extend((0..args).map(|n| (n, false, false)));
        }
        let sorted_by = call.order_by.iter().map(|key| &key.expr);
        let orders = call.args.iter().chain(sorted_by).map(|expr| order_of(&expr.ty)).collect();
        let width = args + call.order_by.len();
        Self { values: Vec::new(), width, args, keys, orders, distinct: call.distinct }
    }

    /// Takes the arguments and sort keys of a row; what stands behind them is not looked at.
    pub fn push(&mut self, row: &[Value]) {
        self.values.extend(row.iter().take(self.width).cloned());
    }

    /// What it was given.
    pub fn into_values(self) -> Vec<Value> {
        self.values
    }

    /// Goes on from what another one was given.
    pub fn set_values(&mut self, values: Vec<Value>) {
        self.values = values;
    }

    /// Roughly the memory held.
    pub fn heap_bytes(&self) -> usize {
        self.values.capacity() * size_of::<Value>()
    }

    /// The arguments, row by row, in order.
    pub fn sorted(&self) -> Vec<&[Value]> {
        let mut rows: Vec<&[Value]> = self.values.chunks_exact(self.width.max(1)).collect();
        rows.sort_by(|a, b| self.compare(a, b));
        if self.distinct {
            let args = self.args;
            rows.dedup_by(|a, b| same_arguments(&a[..args], &b[..args], &self.orders));
        }
        rows.into_iter().map(|row| &row[..self.args]).collect()
    }

    fn compare(&self, a: &[Value], b: &[Value]) -> Ordering {
        let each = self.keys.iter().map(|(column, descending, nulls_first)| {
            compare_nulls(self.orders[*column], (&a[*column], &b[*column]), *descending, *nulls_first)
        });
        each.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// An ordered-set aggregate of the rows.
    ///
    /// # Errors
    /// 22003 for a fraction that is none.
    pub fn place(&self, kind: AggregateKind, direct: &[Value], result: &SqlType) -> Result<Value> {
        let rows = self.sorted();
        let mut places = Places::new(self, kind, direct, result, self.present() as u64)?;
        rows.into_iter().for_each(|row| places.push(row));
        places.finish()
    }

    /// How many rows have a value that is not NULL.
    pub fn present(&self) -> usize {
        self.values.chunks_exact(self.width.max(1)).filter(|row| !row[0].is_null()).count()
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Takes the rows out, value by value.
    pub fn take_values(&mut self) -> Vec<Value> {
        std::mem::take(&mut self.values)
    }

    /// How rows stand before one another: column, descending, NULLs first.
    pub fn keys(&self) -> &[(usize, bool, bool)] {
        &self.keys
    }

    /// How the values of each column are ordered.
    pub fn orders(&self) -> &[ValueOrder] {
        &self.orders
    }

    /// Of rows with the same arguments only the first counts.
    pub fn is_distinct(&self) -> bool {
        self.distinct
    }
}

/// Whether two rows have the same arguments.
pub(crate) fn same_arguments(a: &[Value], b: &[Value], orders: &[ValueOrder]) -> bool {
    a.iter().zip(b).zip(orders).all(|((a, b), order)| same(a, b, *order))
}

/// Whether two values are the same one to DISTINCT.
pub(super) fn same(a: &Value, b: &Value, order: ValueOrder) -> bool {
    eq_sql(a, b) || !a.is_null() && !b.is_null() && order(a, b).is_eq()
}

pub(super) fn compare_nulls(
    order: ValueOrder,
    (a, b): (&Value, &Value),
    descending: bool,
    nulls_first: bool,
) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (false, false) => {
            let order = order(a, b);
            if descending { order.reverse() } else { order }
        }
        (true, true) => Ordering::Equal,
        (true, false) => {
            if nulls_first {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
        (false, true) => {
            if nulls_first {
                Ordering::Greater
            } else {
                Ordering::Less
            }
        }
    }
}

/// A number as C's `%g` shows it, where that is short.
pub(super) fn short(value: f64) -> String {
    if value.is_nan() { "nan".to_string() } else { format!("{value}") }
}

/// So far from one value to the next.
pub(super) fn between(low: &Value, high: &Value, share: f64) -> Result<Value> {
    match (low, high) {
        (Value::Interval(low), Value::Interval(high)) => {
            let distance = high.checked_add(low.checked_neg()?)?;
            Ok(Value::Interval(low.checked_add(distance.checked_mul(share)?)?))
        }
        _ => match (low.as_f64(), high.as_f64()) {
            (Some(low), Some(high)) if low.to_bits() == high.to_bits() => Ok(Value::Float8(low)),
            (Some(low), Some(high)) => Ok(Value::Float8(low + share * (high - low))),
            _ => Err(TypeError::new("XX000", "a percentile of values that are no numbers").into()),
        },
    }
}
