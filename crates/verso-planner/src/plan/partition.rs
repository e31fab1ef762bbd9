//! A scan of a partitioned table: the scans of its partitions, one after the other, without those that have no row that
//! the condition is true for.
//!
//! ```text
//! scan t where a < 3     ─►     append(scan t1 where a < 3, scan t_default where a < 3)
//! ```
//!
//! 1. A term of the condition whose value is known when the plan is made leaves partitions out of it. Parameters, values of
//!    outer rows and stable functions do so when the scan is opened ([`Pruning`]).
//! 2. Partitions have columns of the same names and types, not always in the same places.

use std::collections::HashMap;
use std::sync::Arc;

use verso_catalog::partition::{Said, comparable};
use verso_catalog::{Oid, Partitioned, TableDef};
use verso_exec::exec::values_in_array;
use verso_exec::functions::{ArgType, operator_candidates};
use verso_exec::plan::{
    ExprKind, Plan, Pruning, PruningStep, PruningTerm, RECORD_COLUMN, Scanned, TypedExpr, place_in,
};
use verso_types::{SqlType, Value};

use super::derived::Derived;
use super::terms::{self, Says};
use crate::bind::map_columns;
use crate::estimate::Estimate;

/// The scans that a scan of a partitioned table is.
pub(super) fn parts(
    root: &Scanned,
    columns: &[usize],
    filter: Option<&TypedExpr>,
    estimate: Estimate<'_>,
) -> Plan {
    let numbered = columns.last() == Some(&RECORD_COLUMN);
    let numbers = match numbered {
        true => root.leaves().iter().enumerate().map(|(number, leaf)| (leaf.oid, number)).collect(),
        false => HashMap::new(),
    };
    let mut found =
        Found { root, whole: columns, filter, estimate, numbers, inputs: Vec::new(), steps: Vec::new() };
    found.add(root, columns.to_vec());
    let Found { mut inputs, steps, .. } = found;
    let pruning = match steps.is_empty() {
        true => None,
        false => Some(Arc::new(Pruning { steps, removed: 0 })),
    };
    match inputs.len() {
        0 => {
            let scan = Plan::TableScan { table: root.clone(), columns: columns.to_vec(), filter: None };
            Plan::Values { rows: Vec::new(), columns: scan.output() }
        }
        1 => {
            let mut scan = inputs.remove(0);
            scan.call(root.called());
            scan
        }
        _ => Plan::Append { inputs, pruning },
    }
}

/// The scans of leaves, and what is left to be looked at when they are opened.
struct Found<'f> {
    root: &'f Scanned,
    /// Columns of the whole table.
    whole: &'f [usize],
    filter: Option<&'f TypedExpr>,
    estimate: Estimate<'f>,
    numbers: HashMap<Oid, usize>,
    inputs: Vec<Plan>,
    steps: Vec<PruningStep>,
}

impl Found<'_> {
    /// Adds the scans of a table; how deep partitions nest has a limit in the catalog.
    fn add(&mut self, table: &Arc<TableDef>, columns: Vec<usize>) {
        let Some(partitioned) = &table.partitioned else {
            let number = self.numbers.get(&table.oid).copied().unwrap_or_default();
            let name = format!("{}_{}", self.root.called(), self.inputs.len() + 1);
            let leaf = Scanned::called_so(Arc::clone(table), name.into()).of_whole(self.root);
            let scan = scan(self.root, self.whole, leaf, columns, self.filter, number);
            self.inputs.push(scan);
            return;
        };
        let Terms { said, later } = self.terms(table, partitioned, &columns);
        let mut inputs = Vec::new();
        for place in partitioned.kept(&said) {
            let part = &partitioned.partitions[place];
            let own = |at: &usize| match *at {
                RECORD_COLUMN | MISSING => *at,
                at => part.column_like(table, at).unwrap_or(MISSING),
            };
            let first = self.inputs.len();
            self.add(part, columns.iter().map(own).collect());
            inputs.push((place, first..self.inputs.len()));
        }
        let runs = later.iter().any(|(_, term)| !term.values().iter().all(is_literal));
        if runs && inputs.len() > 1 {
            self.steps.push(PruningStep { table: Arc::clone(table), terms: later, inputs });
        }
    }

    /// What the condition says of the key: where all values are known, and in any case.
    fn terms(&self, table: &TableDef, partitioned: &Partitioned, columns: &[usize]) -> Terms {
        let Some(filter) = self.filter else { return Terms::default() };
        let derived = Derived::of(table, self.estimate);
        let mut later = Vec::new();
        let mut said = Vec::new();
        for term in terms::of(table, columns, filter, &derived) {
            let at = partitioned.columns.iter().position(|column| *column == term.column);
            let (Some(at), None) = (at, term.spec) else { continue };
            let found = match term.says {
                Says::Equal(value) => PruningTerm::Equal(value.clone()),
                Says::In(values) => PruningTerm::In(values.to_vec()),
                Says::Any(array) => PruningTerm::Any(array.into_owned()),
                Says::Null => PruningTerm::Null,
                Says::Lower(value, _) => PruningTerm::Lower(value.clone()),
                Says::Upper(value, included) => PruningTerm::Upper(value.clone(), included),
                Says::From(value) => PruningTerm::Lower(value.clone()),
                Says::To(value) => PruningTerm::Upper(value.clone(), true),
                Says::Prefix(_) | Says::Spans(_) => continue,
            };
            // Another order than that of the column says nothing of where less and greater values are.
            let ranges = matches!(found, PruningTerm::Lower(_) | PruningTerm::Upper(..));
            if !partitioned.is_told(at, ranges) {
                continue;
            }
            // A query is asked for its rows when it is its turn.
            let asks =
                |value: &TypedExpr| value.any(&mut |part| matches!(part.kind, ExprKind::Subquery { .. }));
            if found.values().iter().any(asks) {
                continue;
            }
            said.extend(known(&found, &partitioned.types[at]).map(|said| (term.column, said)));
            later.push((term.column, found));
        }
        Terms { said, later }
    }
}

/// What a condition says of the columns of a key, by number.
#[derive(Default)]
struct Terms {
    /// Where all values are known.
    said: Vec<(u16, Said)>,
    /// In any case.
    later: Vec<(u16, PruningTerm)>,
}

fn is_literal(expr: &TypedExpr) -> bool {
    matches!(expr.kind, ExprKind::Literal(_))
}

/// What a term says, where its values are known when the plan is made.
fn known(term: &PruningTerm, ty: &SqlType) -> Option<Said> {
    let value = |expr: &TypedExpr| match &expr.kind {
        ExprKind::Literal(value) => comparable(value, &expr.ty, ty),
        _ => None,
    };
    Some(match term {
        PruningTerm::Equal(expr) => Said::Equal(value(expr)?),
        PruningTerm::In(list) => Said::In(list.iter().map(value).collect::<Option<_>>()?),
        PruningTerm::Any(array) => Said::In(match &array.kind {
            ExprKind::Literal(value) => values_in_array(value, &array.ty, ty)?,
            ExprKind::Array(values) => values.iter().map(value).collect::<Option<_>>()?,
            _ => return None,
        }),
        PruningTerm::Null => Said::Null,
        PruningTerm::Lower(expr) => Said::Lower(value(expr)?),
        PruningTerm::Upper(expr, included) => Said::Upper(value(expr)?, *included),
    })
}

/// Stands for a column that a leaf has not: one that indexes of others needed.
const MISSING: usize = usize::MAX - 1;

/// The scan of a leaf, by its number. The last column may be the place of each record in the whole table, which `whole` are
/// columns of.
fn scan(
    root: &TableDef,
    whole: &[usize],
    table: Scanned,
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
