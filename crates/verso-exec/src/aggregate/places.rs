//! Ordered-set and hypothetical-set aggregates: places among rows that come in their order, one by one.

use verso_types::{SqlType, Value};

use super::ordered::{OrderedRows, ValueOrder, between, compare_nulls, same, same_arguments, short};
use crate::error::{ExecError, Result};
use crate::functions::AggregateKind;

/// What a call is looking for.
pub(crate) struct Places {
    form: Form,
    /// Rows with a value that is not NULL so far; for hypothetical ones all rows.
    seen: u64,
}

enum Form {
    /// The most frequent value, of several the first; and the one that comes just now; with how often they came.
    Mode {
        best: Option<(Value, u64)>,
        now: Option<(Value, u64)>,
        order: Option<ValueOrder>,
    },
    Percentiles(Percentiles),
    Hypothetical(Box<Hypothetical>),
}

struct Percentiles {
    fractions: Value,
    /// The values to be found, by their numbers, each with what was found.
    wanted: Vec<(u64, Value)>,
    /// The first of them that has not come yet.
    next: usize,
    continuous: bool,
    /// Of so many values.
    count: u64,
}

/// A row that is not there, among the others.
struct Hypothetical {
    kind: AggregateKind,
    row: Vec<Value>,
    /// Descending, NULLs first.
    keys: Vec<(bool, bool)>,
    orders: Vec<ValueOrder>,
    before: u64,
    same: u64,
    /// How many different rows come before it, and the last of them.
    groups: u64,
    last: Option<Vec<Value>>,
    is_whole: bool,
}

impl Places {
    /// For rows of which `present` have a value that is not NULL.
    ///
    /// # Errors
    /// 22003 for a fraction that is none.
    pub fn new(
        rows: &OrderedRows,
        kind: AggregateKind,
        direct: &[Value],
        result: &SqlType,
        present: u64,
    ) -> Result<Places> {
        let form = match kind {
            AggregateKind::Mode => {
                Form::Mode { best: None, now: None, order: rows.orders().first().copied() }
            }
            AggregateKind::PercentileCont | AggregateKind::PercentileDisc => {
                let fractions = direct.first().cloned().unwrap_or(Value::Null);
                let continuous = kind == AggregateKind::PercentileCont;
                Form::Percentiles(Percentiles::new(fractions, continuous, present)?)
            }
            _ => Form::Hypothetical(Box::new(Hypothetical {
                kind,
                row: direct.to_vec(),
                keys: rows.keys().iter().map(|(_, descending, first)| (*descending, *first)).collect(),
                orders: rows.orders().to_vec(),
                before: 0,
                same: 0,
                groups: 0,
                last: None,
                is_whole: *result == SqlType::Int8,
            })),
        };
        Ok(Places { form, seen: 0 })
    }

    /// Takes the arguments of the next row.
    pub fn push(&mut self, row: &[Value]) {
        let number = self.seen;
        match &mut self.form {
            Form::Hypothetical(place) => {
                self.seen += 1;
                place.push(row);
            }
            _ if row[0].is_null() => {}
            Form::Mode { best, now, order } => {
                self.seen += 1;
                match now {
                    Some((value, count)) if is_same(value, &row[0], *order) => *count += 1,
                    _ => keep_better(best, now.replace((row[0].clone(), 1))),
                }
            }
            Form::Percentiles(percentiles) => {
                self.seen += 1;
                if let Some((wanted, value)) = percentiles.wanted.get_mut(percentiles.next)
                    && *wanted == number
                {
                    *value = row[0].clone();
                    percentiles.next += 1;
                }
            }
        }
    }

    /// The result, behind the last row.
    ///
    /// # Errors
    /// Those of computing between two values.
    pub fn finish(self) -> Result<Value> {
        match self.form {
            Form::Mode { mut best, now, .. } => {
                keep_better(&mut best, now);
                Ok(best.map_or(Value::Null, |(value, _)| value))
            }
            Form::Percentiles(percentiles) => percentiles.finish(),
            Form::Hypothetical(place) => Ok(place.finish(self.seen)),
        }
    }
}

fn is_same(a: &Value, b: &Value, order: Option<ValueOrder>) -> bool {
    order.is_some_and(|order| same(a, b, order))
}

/// Keeps the more frequent one; of equal ones the first.
fn keep_better(best: &mut Option<(Value, u64)>, other: Option<(Value, u64)>) {
    if other.as_ref().map(|(_, count)| *count) > best.as_ref().map(|(_, count)| *count) {
        *best = other;
    }
}

impl Percentiles {
    fn new(fractions: Value, continuous: bool, count: u64) -> Result<Percentiles> {
        let mut numbers = Vec::new();
        let mut want = |fraction: &Value| -> Result<()> {
            if let Some(fraction) = checked(fraction)?
                && count > 0
            {
                let (low, high, _) = numbers_of(fraction, continuous, count);
                numbers.extend([low, high]);
            }
            Ok(())
        };
        match &fractions {
            Value::Array(_) if count == 0 => {}
            Value::Array(fractions) => fractions.iter().try_for_each(want)?,
            fraction => want(fraction)?,
        }
        numbers.sort_unstable();
        numbers.dedup();
        let wanted = numbers.into_iter().map(|number| (number, Value::Null)).collect();
        Ok(Percentiles { fractions, wanted, next: 0, continuous, count })
    }

    fn finish(&self) -> Result<Value> {
        match &self.fractions {
            Value::Array(_) if self.count == 0 => Ok(Value::Null),
            Value::Array(fractions) => {
                let found: Vec<Value> = fractions.iter().map(|one| self.at(one)).collect::<Result<_>>()?;
                Ok(Value::Array(fractions.with_values(found)))
            }
            fraction => self.at(fraction),
        }
    }

    /// The value at a fraction of the rows; NULL for none.
    fn at(&self, fraction: &Value) -> Result<Value> {
        let Some(fraction) = checked(fraction)?.filter(|_| self.count > 0) else { return Ok(Value::Null) };
        let (low, high, share) = numbers_of(fraction, self.continuous, self.count);
        let value = |number| {
            let at = self.wanted.binary_search_by_key(&number, |(number, _)| *number);
            at.map_or(&Value::Null, |at| &self.wanted[at].1)
        };
        if self.continuous { between(value(low), value(high), share) } else { Ok(value(low).clone()) }
    }
}

/// A fraction that is not NULL.
fn checked(fraction: &Value) -> Result<Option<f64>> {
    let Some(fraction) = fraction.as_f64() else { return Ok(None) };
    if !(0.0..=1.0).contains(&fraction) {
        let text = format!("percentile value {} is not between 0 and 1", short(fraction));
        return Err(ExecError::raised("22003", text));
    }
    Ok(Some(fraction))
}

/// Between which of so many values a fraction lies, and how far from the first to the second.
fn numbers_of(fraction: f64, continuous: bool, count: u64) -> (u64, u64, f64) {
    if !continuous {
        let number = ((fraction * count as f64).ceil().max(1.0) as u64).min(count) - 1;
        return (number, number, 0.0);
    }
    let place = fraction * (count - 1) as f64;
    (place.floor() as u64, (place.ceil() as u64).min(count - 1), place - place.floor())
}

impl Hypothetical {
    fn push(&mut self, row: &[Value]) {
        let each = self.keys.iter().enumerate().map(|(n, (descending, nulls_first))| {
            let own = self.row.get(n).unwrap_or(&Value::Null);
            compare_nulls(self.orders[n], (&row[n], own), *descending, *nulls_first)
        });
        let order = each.into_iter().find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal);
        if order.is_eq() {
            self.same += 1;
        } else if order.is_lt() {
            self.before += 1;
            if self.kind == AggregateKind::DenseRank
                && !self.last.as_deref().is_some_and(|last| same_arguments(last, row, &self.orders))
            {
                self.groups += 1;
                self.last = Some(row.to_vec());
            }
        }
    }

    fn finish(&self, count: u64) -> Value {
        match self.kind {
            AggregateKind::DenseRank => Value::Int8(self.groups as i64 + 1),
            AggregateKind::PercentRank if count == 0 => Value::Float8(0.0),
            AggregateKind::PercentRank => Value::Float8(self.before as f64 / count as f64),
            AggregateKind::CumeDist => {
                Value::Float8((self.before + self.same + 1) as f64 / (count + 1) as f64)
            }
            _ if self.is_whole => Value::Int8(self.before as i64 + 1),
            _ => Value::Null,
        }
    }
}
