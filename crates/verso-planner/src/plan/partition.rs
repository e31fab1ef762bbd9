//! A scan of a partitioned table: the scans of its partitions, one after the other, without those that have no row that
//! the condition is true for.
//!
//! ```text
//! scan t where a < 3     ─►     append(scan t1 where a < 3, scan t_default where a < 3)
//! ```
//!
//! 1. A term of the condition says something where its value is known when the plan is made. What is a parameter until
//!    the statement runs leaves no partition out.
//! 2. Partitions have columns of the same names and types, not always in the same places.

use std::collections::HashMap;
use std::sync::Arc;

use verso_catalog::partition::{KeyValue, Strategy, key_value};
use verso_catalog::{Oid, Partitioned, TableDef};
use verso_exec::functions::{ArgType, operator_candidates};
use verso_exec::plan::{ExprKind, Plan, RECORD_COLUMN, TypedExpr, place_in};
use verso_types::{SqlType, Value};

use super::derived::Derived;
use super::terms::{self, Says, Term};
use crate::bind::map_columns;
use crate::estimate::Estimate;

/// The scans that a scan of a partitioned table is.
pub(super) fn parts(
    root: &Arc<TableDef>,
    columns: &[usize],
    filter: Option<&TypedExpr>,
    estimate: Estimate<'_>,
) -> Plan {
    let table = root;
    let whole = columns.to_vec();
    let mut inputs = Vec::new();
    let places = columns.last() == Some(&RECORD_COLUMN);
    let numbers: HashMap<Oid, usize> = match places {
        true => table.leaves().iter().enumerate().map(|(number, leaf)| (leaf.oid, number)).collect(),
        false => HashMap::new(),
    };
    let mut open = vec![(Arc::clone(table), columns.to_vec())];
    while let Some((table, columns)) = open.pop() {
        let Some(partitioned) = &table.partitioned else {
            let number = numbers.get(&table.oid).copied().unwrap_or_default();
            inputs.push(scan(root, &whole, table, columns, filter, number));
            continue;
        };
        for place in kept(&table, partitioned, &columns, filter, estimate).into_iter().rev() {
            let part = &partitioned.partitions[place];
            let own = |at: &usize| match *at {
                RECORD_COLUMN | MISSING => *at,
                at => part.column_like(&table, at).unwrap_or(MISSING),
            };
            open.push((Arc::clone(part), columns.iter().map(own).collect()));
        }
    }
    match inputs.len() {
        0 => {
            let scan = Plan::TableScan { table: Arc::clone(table), columns: columns.to_vec(), filter: None };
            Plan::Values { rows: Vec::new(), columns: scan.output() }
        }
        1 => inputs.remove(0),
        _ => Plan::Append { inputs },
    }
}

/// Stands for a column that a leaf has not: one that indexes of others needed.
const MISSING: usize = usize::MAX - 1;

/// The scan of a leaf, by its number. The last column may be the place of each record in the whole table, which `whole` are
/// columns of.
fn scan(
    root: &TableDef,
    whole: &[usize],
    table: Arc<TableDef>,
    columns: Vec<usize>,
    filter: Option<&TypedExpr>,
    leaf: usize,
) -> Plan {
    let missing = columns.contains(&MISSING);
    if leaf == 0 && !missing {
        return Plan::TableScan { table, columns, filter: filter.cloned() };
    }
    let mut read: Vec<usize> = Vec::with_capacity(columns.len());
    let mut places = Vec::with_capacity(columns.len());
    for column in &columns {
        places.push((*column != MISSING).then_some(read.len()));
        read.extend(places.last().copied().flatten().map(|_| *column));
    }
    let filter = filter.cloned().map(|mut filter| {
        // What is missing is in no condition.
        map_columns(&mut filter, &mut |column| places.get(column).copied().flatten().unwrap_or(column));
        filter
    });
    let scan = Plan::TableScan { table, columns: read, filter };
    let output = scan.output();
    let mut exprs = Vec::with_capacity(columns.len());
    let mut names = Vec::with_capacity(columns.len());
    for (place, of) in places.iter().zip(whole) {
        exprs.push(match place {
            Some(at) => TypedExpr::column(*at, output[*at].seen()),
            None => TypedExpr::null(root.columns.get(*of).map_or(SqlType::Unknown, |column| column.seen())),
        });
        names.push(place.map_or_else(|| "".into(), |at| Arc::clone(&output[at].name)));
    }
    let bigint = ArgType::Exact(SqlType::Int8);
    let sums = operator_candidates("+").iter();
    let sum = sums.copied().find(|sum| sum.args.len() == 2 && sum.args.iter().all(|arg| *arg == bigint));
    if whole.last() == Some(&RECORD_COLUMN)
        && let (Some(sum), Some(place)) = (sum, exprs.last_mut())
    {
        let first = TypedExpr::literal(Value::Int8(place_in(leaf)), SqlType::Int8);
        let args = vec![place.clone(), first];
        *place = TypedExpr::new(ExprKind::Call { function: sum, args }, SqlType::Int8);
    }
    Plan::Project { input: Box::new(scan), exprs, names }
}

/// The places of the partitions that may have rows for which the condition is true.
fn kept(
    table: &TableDef,
    partitioned: &Partitioned,
    columns: &[usize],
    filter: Option<&TypedExpr>,
    estimate: Estimate<'_>,
) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..partitioned.partitions.len()).collect();
    let Some(filter) = filter else { return kept };
    let derived = Derived::of(table, estimate);
    let terms = terms::of(table, columns, filter, &derived);
    for term in &terms {
        if let Some(places) = said(term, partitioned) {
            kept.retain(|place| places.contains(place));
        }
    }
    if let Some(place) = routed(&terms, partitioned) {
        kept.retain(|kept| Some(*kept) == place);
    }
    kept
}

/// The places that one term leaves.
fn said(term: &Term<'_>, partitioned: &Partitioned) -> Option<Vec<usize>> {
    if partitioned.columns.first() != Some(&term.column) || partitioned.strategy == Strategy::Hash {
        return None;
    }
    let ty = partitioned.types.first()?;
    let key = |expr: &TypedExpr| key_value(&known(expr, ty)?, ty).ok();
    let bytes = |value: KeyValue| match value {
        KeyValue::Key(bytes) => Some(bytes),
        KeyValue::Null => None,
    };
    // Of texts in the order of a collation only what is equal is told by their bytes.
    let ordered = ty.collation().is_none_or(|collation| collation.collator.is_none());
    match &term.says {
        _ if term.spec.is_some() => None,
        Says::Equal(value) => Some(partitioned.with_first(&[key(value)?])),
        Says::In(list) => {
            let values: Option<Vec<KeyValue>> = list.iter().map(key).collect();
            Some(partitioned.with_first(&values?))
        }
        Says::Null => Some(partitioned.with_first(&[KeyValue::Null])),
        Says::Lower(value, _) if ordered => Some(partitioned.within(Some(&bytes(key(value)?)?), None)),
        Says::Upper(value, _) if ordered => Some(partitioned.within(None, Some(&bytes(key(value)?)?))),
        Says::Lower(..) | Says::Upper(..) | Says::Prefix(_) => None,
    }
}

/// The place of the only partition that rows with a whole key belong to, where the terms say the key.
fn routed(terms: &[Term<'_>], partitioned: &Partitioned) -> Option<Option<usize>> {
    let value = |(column, ty): (&u16, &SqlType)| {
        let of_column = terms.iter().filter(|term| term.column == *column && term.spec.is_none());
        of_column.into_iter().find_map(|term| match term.says {
            Says::Equal(value) => known(value, ty).filter(|value| !value.is_null()),
            Says::Null => Some(Value::Null),
            _ => None,
        })
    };
    let key: Option<Vec<Value>> = partitioned.columns.iter().zip(&partitioned.types).map(value).collect();
    partitioned.route(&key?).ok()
}

/// The value that an expression is known to have, as one of the column's type; texts of no deterministic collation are
/// equal to others, too.
fn known(expr: &TypedExpr, ty: &SqlType) -> Option<Value> {
    let ExprKind::Literal(value) = &expr.kind else { return None };
    if ty.collation().and_then(|one| one.collator).is_some_and(|collator| !collator.is_deterministic()) {
        return None;
    }
    let column = ty.erased();
    match (value, &column) {
        (Value::Null, _) => Some(Value::Null),
        (value, SqlType::Int2) => Some(Value::Int2(i16::try_from(value.as_i64()?).ok()?)),
        (value, SqlType::Int4) => Some(Value::Int4(i32::try_from(value.as_i64()?).ok()?)),
        (value, SqlType::Int8) => Some(Value::Int8(value.as_i64()?)),
        (Value::Text(_), ty) if ty.is_text() => Some(value.clone()),
        (value, ty) if expr.ty.same_base(ty) && !ty.is_number() => Some(value.clone()),
        _ => None,
    }
}
