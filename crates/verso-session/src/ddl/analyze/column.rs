//! From the values of a sample to what is known of a column, by PostgreSQL's methods.
//!
//! How many different values a column has is estimated from how many values the sample has once and how many it has at all
//! (Haas and Stokes, 1998, estimator Duj1). Values that are clearly more common than the average are listed, the others
//! make a histogram with groups of equal size.

use verso_catalog::{ColumnStatistics, value_bytes as type_bytes};
use verso_types::{SqlType, Value, cmp_sql};

use super::value_bytes;

/// Common values listed, and groups of a histogram, where SET STATISTICS says nothing else.
pub(super) const TARGET: usize = 100;
/// Longer values are counted as different from all others, and are not kept.
const WIDTH_MAX: usize = 1_024;

/// The values of a column in a sample, in the order of the rows.
#[derive(Default)]
pub(super) struct Sampled {
    values: Vec<Value>,
    nulls: u64,
    /// Values that are too long to be kept.
    wide: u64,
    /// Bytes of all values.
    bytes: f64,
}

impl Sampled {
    /// Takes a value; how many bytes that keeps.
    pub fn add(&mut self, value: Value, ty: &SqlType) -> u64 {
        let length = match &value {
            Value::Null => {
                self.nulls += 1;
                return 0;
            }
            Value::Text(text) => Some(text.len()),
            Value::Bytes(bytes) => Some(bytes.len()),
            Value::Opaque(value) => Some(value.bytes().len()),
            Value::Array(_) | Value::Record(_) | Value::Jsonb(_) => {
                // Neither ordered cheaply nor short: only counted.
                self.wide += 1;
                self.bytes += type_bytes(ty);
                return 0;
            }
            _ => None,
        };
        self.bytes += length.map_or_else(|| type_bytes(ty), |length| length as f64 + 1.0);
        if length.is_some_and(|length| length > WIDTH_MAX) || *ty == SqlType::Json {
            self.wide += 1;
            return 0;
        }
        let kept = value_bytes(&value);
        self.values.push(value);
        kept
    }

    /// What it tells about a column of a table with so many rows.
    pub fn statistics(self, ty: &SqlType, target: usize, rows_of_table: f64) -> ColumnStatistics {
        let kept = self.values.len();
        let present = kept as f64 + self.wide as f64;
        let sampled = present + self.nulls as f64;
        if sampled == 0.0 {
            return ColumnStatistics { width: type_bytes(ty), ..ColumnStatistics::default() };
        }
        let null_fraction = self.nulls as f64 / sampled;
        let width = if present > 0.0 { self.bytes / present } else { 0.0 };
        let mut known = ColumnStatistics { null_fraction, width, ..ColumnStatistics::default() };
        if kept == 0 {
            // Nothing can be compared; a column of NULLs has one value at most.
            known.distinct = if self.wide > 0 { 0.0 } else { 1.0 };
            return known;
        }
        let mut order: Vec<u32> = (0..kept as u32).collect();
        order.sort_by(|a, b| cmp_sql(&self.values[*a as usize], &self.values[*b as usize]).then(a.cmp(b)));
        let runs = runs(&self.values, &order);
        // Where each value was met once, all rows are taken to have different ones.
        let present_rows = rows_of_table * (1.0 - null_fraction);
        known.distinct = match runs.len() == kept {
            true => -(1.0 - null_fraction),
            false => distinct(&runs, kept as f64, self.wide as f64, present_rows),
        };
        if known.distinct > 0.1 * rows_of_table {
            known.distinct = -(known.distinct / rows_of_table.max(1.0)).min(1.0);
        }
        let different = known.values(rows_of_table).unwrap_or(1.0);
        known.common = common(&self, &runs, &order, target, different, sampled);
        known.bounds = bounds(&self.values, &runs, &order, target, &known.common);
        known.correlation = correlation(&order);
        known
    }
}

/// Runs of equal values in the order of the values: where each begins and how long it is.
fn runs(values: &[Value], order: &[u32]) -> Vec<(usize, usize)> {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for (at, row) in order.iter().enumerate() {
        match runs.last_mut() {
            Some((start, length))
                if cmp_sql(&values[order[*start] as usize], &values[*row as usize]).is_eq() =>
            {
                *length += 1;
            }
            _ => runs.push((at, 1)),
        }
    }
    runs
}

/// About how many different values there are among `all` that are not NULL.
fn distinct(runs: &[(usize, usize)], kept: f64, wide: f64, all: f64) -> f64 {
    let found = runs.len() as f64 + wide;
    let once = runs.iter().filter(|(_, length)| *length == 1).count() as f64 + wide;
    let sampled = kept + wide;
    if once == 0.0 || sampled >= all {
        // Each was met again, or everything was read: there are no others.
        return found;
    }
    let estimate = sampled * found / ((sampled - once) + once * sampled / all.max(1.0));
    estimate.clamp(found, all.max(found)).round()
}

/// The values that are more common than the average by a quarter, the most common first.
fn common(
    sampled: &Sampled,
    runs: &[(usize, usize)],
    order: &[u32],
    target: usize,
    distinct: f64,
    rows: f64,
) -> Vec<(Value, f64)> {
    let mut repeated: Vec<(usize, usize)> = runs.iter().copied().filter(|(_, length)| *length > 1).collect();
    // Of equally common ones the smaller value first, so that the same sample gives the same list.
    repeated.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let complete = runs.len() <= target && repeated.len() == runs.len() && sampled.wide == 0;
    if !complete {
        let present = (sampled.values.len() as u64 + sampled.wide) as f64;
        let average = present / distinct.max(1.0);
        // A value that fills a group of the histogram is listed in any case.
        let least = (average * 1.25).max(2.0).min((present / target as f64).max(2.0));
        repeated.retain(|(_, length)| *length as f64 >= least);
        repeated.truncate(target);
    }
    let value = |start: usize| sampled.values[order[start] as usize].clone();
    repeated.into_iter().map(|(start, length)| (value(start), length as f64 / rows)).collect()
}

/// Bounds between groups of equal size of the values that are not listed.
fn bounds(
    values: &[Value],
    runs: &[(usize, usize)],
    order: &[u32],
    target: usize,
    common: &[(Value, f64)],
) -> Vec<Value> {
    let listed = |start: usize| {
        let value = &values[order[start] as usize];
        common.iter().any(|(listed, _)| cmp_sql(listed, value).is_eq())
    };
    let others: Vec<&(usize, usize)> =
        runs.iter().filter(|(start, length)| *length == 1 || !listed(*start)).collect();
    let rest: Vec<u32> =
        others.iter().flat_map(|(start, length)| order[*start..*start + *length].iter().copied()).collect();
    let groups = others.len().saturating_sub(1).min(target);
    if groups == 0 {
        return Vec::new();
    }
    (0..=groups).map(|n| values[rest[n * (rest.len() - 1) / groups] as usize].clone()).collect()
}

/// How much the order of the values is that of the rows.
fn correlation(order: &[u32]) -> Option<f64> {
    let n = order.len() as f64;
    if order.len() < 2 {
        return None;
    }
    let products: f64 = order.iter().enumerate().map(|(rank, row)| rank as f64 * f64::from(*row)).sum();
    let sum = (n - 1.0) * n / 2.0;
    let squares = (n - 1.0) * n * (2.0 * n - 1.0) / 6.0;
    Some((n * products - sum * sum) / (n * squares - sum * sum))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(values: impl IntoIterator<Item = Option<i32>>, rows: f64) -> ColumnStatistics {
        let mut sampled = Sampled::default();
        for value in values {
            sampled.add(value.map_or(Value::Null, Value::Int4), &SqlType::Int4);
        }
        sampled.statistics(&SqlType::Int4, TARGET, rows)
    }

    #[test]
    fn a_key_has_as_many_values_as_rows_and_a_flag_has_few() {
        let key = of((0..1000).map(Some), 50_000.0);
        assert_eq!((key.distinct, key.common.len(), key.bounds.len()), (-1.0, 0, 101));
        assert_eq!(key.correlation, Some(1.0));
        let flag = of((0..1000).map(|n| Some(n % 2)), 50_000.0);
        assert_eq!((flag.distinct, flag.bounds.len()), (2.0, 0));
        assert_eq!(flag.common, [(Value::Int4(0), 0.5), (Value::Int4(1), 0.5)]);
    }

    #[test]
    fn nulls_and_what_stands_out_are_counted_apart() {
        // A quarter is NULL, a quarter is 7, the others are different.
        let mixed = of(
            (0..1000).map(|n| match n % 4 {
                0 => None,
                1 => Some(7),
                _ => Some(1000 + n),
            }),
            1000.0,
        );
        assert_eq!(mixed.null_fraction, 0.25);
        assert_eq!(mixed.common, [(Value::Int4(7), 0.25)]);
        assert_eq!(mixed.distinct, -0.501);
        assert_eq!(mixed.bounds.first(), Some(&Value::Int4(1002)));
        assert_eq!(mixed.bounds.last(), Some(&Value::Int4(1999)));
    }

    #[test]
    fn values_that_are_met_once_tell_of_others() {
        // Each of 500 values twice in the sample, of a table ten times as large: they are all there are.
        let twice = of((0..1000).map(|n| Some(n % 500)), 10_000.0);
        assert_eq!(twice.distinct, 500.0);
        // Some once: there are more.
        let mut values: Vec<Option<i32>> = (0..500).flat_map(|n| [Some(n), Some(n)]).collect();
        values.extend((500..600).map(Some));
        assert!(of(values, 100_000.0).distinct > 600.0);
        assert_eq!(of([None, None], 2.0).null_fraction, 1.0);
        assert_eq!(of([], 0.0), ColumnStatistics { width: 4.0, ..ColumnStatistics::default() });
    }
}
