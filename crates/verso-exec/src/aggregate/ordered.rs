//! Aggregates whose values have an order: ORDER BY and DISTINCT inside a call, ordered-set and hypothetical-set ones.
//!
//! ```text
//! rows (values | sort keys)  ─sort─►  [without repeats]  ─►  the plain aggregate, or a place among them
//! ```

use std::cmp::Ordering;

use verso_types::{SqlType, TypeError, Value, cmp_sql, eq_sql};

use crate::error::{ExecError, Result};
use crate::functions::AggregateKind;
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
    distinct: bool,
}

impl OrderedRows {
    /// For calls that need it.
    pub fn of(call: &AggregateCall) -> Option<Self> {
        let args = call.args.len();
        let kind = call.function.kind;
        let own_order = !call.order_by.is_empty();
        // Repeats of one value that does not depend on the order are told by a hash table.
        let sorted_repeats = call.distinct && (args > 1 || kind.heeds_order());
        if !own_order && !sorted_repeats && !kind.is_ordered_set() {
            return None;
        }
        let mut keys: Vec<_> = call
            .order_by
            .iter()
            .enumerate()
            .map(|(n, key)| (args + n, key.descending, key.nulls_first))
            .collect();
        if call.distinct {
            keys.extend((0..args).map(|n| (n, false, false)));
        }
        Some(Self {
            values: Vec::new(),
            width: args + call.order_by.len(),
            args,
            keys,
            distinct: call.distinct,
        })
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
            rows.dedup_by(|a, b| a[..args].iter().zip(&b[..args]).all(|(a, b)| eq_sql(a, b)));
        }
        rows.into_iter().map(|row| &row[..self.args]).collect()
    }

    fn compare(&self, a: &[Value], b: &[Value]) -> Ordering {
        let each = self.keys.iter().map(|(column, descending, nulls_first)| {
            compare_nulls(&a[*column], &b[*column], *descending, *nulls_first)
        });
        each.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }

    /// An ordered-set aggregate of the rows.
    /// # Errors
    /// 22003 for a fraction that is none.
    pub fn place(&self, kind: AggregateKind, direct: &[Value], result: &SqlType) -> Result<Value> {
        let rows = self.sorted();
        match kind {
            AggregateKind::Mode => Ok(mode(&rows)),
            AggregateKind::PercentileCont | AggregateKind::PercentileDisc => {
                let values: Vec<&Value> =
                    rows.iter().map(|row| &row[0]).filter(|value| !value.is_null()).collect();
                let continuous = kind == AggregateKind::PercentileCont;
                match direct.first() {
                    Some(Value::Array(_)) if values.is_empty() => Ok(Value::Null),
                    Some(Value::Array(fractions)) => {
                        let one = |fraction: &Value| percentile(&values, fraction, continuous);
                        let found: Vec<Value> = fractions.iter().map(one).collect::<Result<_>>()?;
                        Ok(Value::Array(fractions.with_values(found)))
                    }
                    Some(fraction) => percentile(&values, fraction, continuous),
                    None => Ok(Value::Null),
                }
            }
            _ => Ok(self.hypothetical(kind, &rows, direct, result)),
        }
    }

    /// Where a row would stand among the others.
    fn hypothetical(
        &self,
        kind: AggregateKind,
        rows: &[&[Value]],
        direct: &[Value],
        result: &SqlType,
    ) -> Value {
        let against = |row: &[Value]| {
            let each = self.keys.iter().enumerate().map(|(n, (_, descending, nulls_first))| {
                compare_nulls(&row[n], direct.get(n).unwrap_or(&Value::Null), *descending, *nulls_first)
            });
            each.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        let before = rows.partition_point(|row| against(row).is_lt());
        let same = rows[before..].iter().take_while(|row| against(row).is_eq()).count();
        let count = rows.len();
        match kind {
            AggregateKind::DenseRank => {
                let groups =
                    rows[..before].chunk_by(|a, b| a.iter().zip(*b).all(|(a, b)| eq_sql(a, b))).count();
                Value::Int8(groups as i64 + 1)
            }
            AggregateKind::PercentRank if count == 0 => Value::Float8(0.0),
            AggregateKind::PercentRank => Value::Float8(before as f64 / count as f64),
            AggregateKind::CumeDist => Value::Float8((before + same + 1) as f64 / (count + 1) as f64),
            _ if *result == SqlType::Int8 => Value::Int8(before as i64 + 1),
            _ => Value::Null,
        }
    }
}

fn compare_nulls(a: &Value, b: &Value, descending: bool, nulls_first: bool) -> Ordering {
    match (a.is_null(), b.is_null()) {
        (false, false) => {
            let order = cmp_sql(a, b);
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

/// The most frequent value; of several the first in order.
fn mode(rows: &[&[Value]]) -> Value {
    let present: Vec<&Value> = rows.iter().map(|row| &row[0]).filter(|value| !value.is_null()).collect();
    let mut best: Option<(&Value, usize)> = None;
    for run in present.chunk_by(|a, b| eq_sql(a, b)) {
        if best.is_none_or(|(_, count)| run.len() > count) {
            best = Some((run[0], run.len()));
        }
    }
    best.map_or(Value::Null, |(value, _)| value.clone())
}

/// The value at a fraction of the rows; NULL for none.
fn percentile(values: &[&Value], fraction: &Value, continuous: bool) -> Result<Value> {
    let Some(fraction) = fraction.as_f64() else { return Ok(Value::Null) };
    if !(0.0..=1.0).contains(&fraction) {
        let text = format!("percentile value {} is not between 0 and 1", short(fraction));
        return Err(ExecError::raised("22003", text));
    }
    if values.is_empty() {
        return Ok(Value::Null);
    }
    if !continuous {
        let number = (fraction * values.len() as f64).ceil().max(1.0) as usize;
        return Ok(values[number.min(values.len()) - 1].clone());
    }
    let place = fraction * (values.len() - 1) as f64;
    let (low, high) = (place.floor() as usize, (place.ceil() as usize).min(values.len() - 1));
    between(values[low], values[high], place - low as f64)
}

/// A number as C's `%g` shows it, where that is short.
fn short(value: f64) -> String {
    if value.is_nan() { "nan".to_string() } else { format!("{value}") }
}

/// So far from one value to the next.
fn between(low: &Value, high: &Value, share: f64) -> Result<Value> {
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
