//! The condition that rows of a partition fulfil, as PostgreSQL says it (`pg_get_partition_constraintdef`).
//!
//! 1. Of a partition of a partition the conditions of the table above come first.
//! 2. A condition by hash is shown as the call that PostgreSQL has for it, which rows are not checked with here.

use std::sync::Arc;

use verso_catalog::partition::{Bound, Datum, Edge, KeyValue, Strategy};
use verso_catalog::{CatalogSnapshot, Oid, Partitioned};
use verso_exec::plan::TypedExpr;
use verso_planner::deparse;
use verso_types::{SqlType, TimeStyle, format_text, parse_text};

use super::definitions::binder;
use crate::views::Views;

/// A key, and how its parts are shown.
struct Key<'p> {
    /// As they are asked for NULL.
    names: Vec<String>,
    /// As they are compared.
    compared: Vec<String>,
    types: &'p [SqlType],
}

/// The condition; none where the table is no partition.
pub(super) fn shown(views: &Views<'_>, catalog: &Arc<CatalogSnapshot>, table: Oid) -> Option<String> {
    let mut levels = Vec::new();
    let mut part = catalog.table_by_oid(table)?;
    while let Some(of) = part.partition_of.clone() {
        let whole = catalog.table_by_oid(of.parent)?;
        levels.push((Arc::clone(&whole), of.bound));
        part = whole;
    }
    let mut shown = Vec::new();
    for (whole, bound) in levels.iter().rev() {
        let partitioned = whole.partitioned.as_ref()?;
        let names = binder(views, catalog).partition_key_texts(whole, partitioned);
        if let Bound::Hash { modulus, remainder } = bound {
            let (oid, key) = (whole.oid, names.join(", "));
            shown.push(format!("satisfies_hash_partition('{oid}'::oid, {modulus}, {remainder}, {key})"));
            continue;
        }
        let compared = |(name, ty): (&String, &SqlType)| match ty.uncollated() {
            SqlType::Varchar(_) => format!("({name})::text"),
            _ => name.clone(),
        };
        let compared = names.iter().zip(&partitioned.types).map(compared).collect();
        shown.extend(conditions(partitioned, &Key { names, compared, types: &partitioned.types }, bound));
    }
    match shown.len() {
        0 => None,
        1 => shown.pop(),
        _ => Some(format!("({})", shown.join(" AND "))),
    }
}

/// What a bound says, one condition after the other.
fn conditions(partitioned: &Partitioned, key: &Key<'_>, bound: &Bound) -> Vec<String> {
    let others = || partitioned.partitions.iter().filter_map(|one| Some(&one.partition_of.as_ref()?.bound));
    match bound {
        Bound::List(values) => listed(key, values),
        Bound::Range { from, to } => {
            let mut all = not_null(key);
            all.extend(within(key, from, to));
            all
        }
        // What no other partition has.
        Bound::Default if partitioned.strategy == Strategy::List => {
            let of = |bound: &Bound| if let Bound::List(own) = bound { own.clone() } else { Vec::new() };
            let mut values: Vec<Datum> = others().flat_map(of).collect();
            let bytes = |datum: &Datum| match &datum.key {
                KeyValue::Key(bytes) => bytes.clone(),
                KeyValue::Null => Vec::new(),
            };
            values.sort_by_cached_key(bytes);
            if values.is_empty() {
                return Vec::new();
            }
            vec![format!("(NOT {})", all_of(listed(key, &values)))]
        }
        Bound::Default => {
            let of = |bound: &Bound| match bound {
                Bound::Range { from, to } => Some(within(key, from, to)),
                _ => None,
            };
            let shown = |range: Vec<String>| if range.is_empty() { "true".to_owned() } else { all_of(range) };
            let mut ranges: Vec<String> = others().filter_map(of).map(shown).collect();
            let any = match ranges.len() {
                0 => return Vec::new(),
                1 => ranges.remove(0),
                _ => format!("({})", ranges.join(" OR ")),
            };
            vec![format!("(NOT ({} AND {any}))", not_null(key).join(" AND "))]
        }
        // It is a call.
        Bound::Hash { .. } => Vec::new(),
    }
}

/// Conditions as one.
fn all_of(mut conditions: Vec<String>) -> String {
    match conditions.len() {
        1 => conditions.remove(0),
        _ => format!("({})", conditions.join(" AND ")),
    }
}

fn not_null(key: &Key<'_>) -> Vec<String> {
    key.names.iter().map(|name| format!("({name} IS NOT NULL)")).collect()
}

/// A value as SQL text: a constant that has the modifiers of the key.
fn value(datum: &Datum, ty: &SqlType) -> String {
    let ty = ty.uncollated();
    let text = datum.text.as_deref().unwrap_or_default();
    let Ok(value) = parse_text(&ty.erased(), text, &TimeStyle::UTC) else {
        return format!("{}::{}", deparse::literal(text), ty.pg_name());
    };
    if matches!(ty, SqlType::Int4 | SqlType::Bool) {
        return deparse::expression(&TypedExpr::literal(value, ty.clone()), &[], false);
    }
    let mut text = String::new();
    format_text(&value, ty, &TimeStyle::UTC, &mut text);
    let is_numeric = matches!(ty, SqlType::Numeric(_) | SqlType::LongNumeric(_));
    // What is a numeric anyhow needs no quotes.
    let plain = is_numeric && text.starts_with(|first: char| first.is_ascii_digit()) && text.contains('.');
    match (plain, ty.typmod() < 0) {
        (true, true) => text,
        (true, false) => format!("{text}::{}", ty.pg_name()),
        (false, _) => format!("{}::{}", deparse::literal(&text), ty.pg_name()),
    }
}

fn listed(key: &Key<'_>, values: &[Datum]) -> Vec<String> {
    let (Some(name), Some(compared), Some(ty)) = (key.names.first(), key.compared.first(), key.types.first())
    else {
        return Vec::new();
    };
    let given: Vec<String> =
        values.iter().filter(|datum| datum.text.is_some()).map(|datum| value(datum, ty)).collect();
    let is_array = matches!(ty.uncollated(), SqlType::Array(_));
    let one_of = match given.as_slice() {
        [] => None,
        [one] => Some(format!("({compared} = {one})")),
        many if is_array => {
            let all: Vec<String> = many.iter().map(|one| format!("({compared} = {one})")).collect();
            Some(format!("({})", all.join(" OR ")))
        }
        many => Some(format!("({compared} = ANY (ARRAY[{}]))", many.join(", "))),
    };
    match (given.len() < values.len(), one_of) {
        (false, one_of) => std::iter::once(format!("({name} IS NOT NULL)")).chain(one_of).collect(),
        (true, Some(one_of)) => vec![format!("(({name} IS NULL) OR {one_of})")],
        (true, None) => vec![format!("({name} IS NULL)")],
    }
}

/// The ends of a range, of several columns in the order of which the first decides.
fn within(key: &Key<'_>, from: &[Edge], to: &[Edge]) -> Vec<String> {
    let count = key.compared.len();
    let equal = from.iter().zip(to).take_while(|(from, to)| match (from, to) {
        (Edge::At(from), Edge::At(to)) => from.key == to.key,
        _ => false,
    });
    let first = equal.count();
    let compared = |at: usize, edges: &[Edge], operator: &str| match edges.get(at) {
        Some(Edge::At(datum)) => {
            Some(format!("({} {operator} {})", key.compared[at], value(datum, &key.types[at])))
        }
        _ => None,
    };
    let mut all: Vec<String> = (0..first).filter_map(|at| compared(at, from, "=")).collect();
    let arms = |edges: &[Edge], strict: &str, open: &str, is_open: &dyn Fn(usize) -> bool| {
        let mut arms = Vec::new();
        for last in first..count {
            let mut terms: Vec<String> = (first..last).filter_map(|at| compared(at, edges, "=")).collect();
            terms.extend(compared(last, edges, if is_open(last) { open } else { strict }));
            if !terms.is_empty() {
                arms.push(all_of(terms));
            }
            // Behind what is unbounded nothing is compared.
            let goes_on = |at: usize| matches!(edges.get(at), Some(Edge::At(_)));
            if !goes_on(last) || !goes_on(last + 1) {
                break;
            }
        }
        match arms.len() {
            0 | 1 => arms.pop(),
            _ => Some(format!("({})", arms.join(" OR "))),
        }
    };
    let least = |at: usize| at + 1 == count || matches!(from.get(at + 1), Some(Edge::Min));
    let greatest = |at: usize| matches!(to.get(at + 1), Some(Edge::Max));
    all.extend(arms(from, ">", ">=", &least));
    all.extend(arms(to, "<", "<=", &greatest));
    all
}
