//! How many rows operators yield, and what it costs.
//!
//! ```text
//! size of a table (storage)  ─► rows ─► selectivity of conditions ─► rows of joins, groups …
//! statistics, unique keys    ─► distinct values of columns ────────┘
//! ```
//!
//! E1. Estimates are guesses: they choose among plans with the same answer, nothing else hangs on them.
//! E2. What ANALYZE has found out goes first. Without it a unique key has as many values as its table has rows; a column of
//!     a unique key of n columns has the nth root of it; of other columns the usual guess of [`DISTINCT`] values stands.
//! E3. Costs count steps of some ten nanoseconds, as measured with cached pages.

use std::cell::Cell;
use std::sync::Arc;

use crate::bind::columns_of;
use crate::hints::Hints;
use crate::methods::Methods;
use crate::selectivity::scan_of;
use verso_catalog::{CatalogSnapshot, SystemRelation, SystemView, TableDef};
use verso_env::stack;
use verso_exec::plan::{
    ExprKind as K, IndexAccess, JoinKind, KeyMatch, Places, Plan, SetCall, SetColumns, Span, TypedExpr,
};
use verso_types::{Collator, SqlType, Value};

/// Values that a column without a unique key is taken to have.
pub const DISTINCT: f64 = 200.0;
/// Rows of what tells nothing about its number.
const ROWS: f64 = 1_000.0;
/// Elements that an array is taken to have.
const ELEMENTS: f64 = 10.0;
/// Part of the rows that contain something, or are like a pattern.
const CONTAINS: f64 = 0.01;
/// Part of the rows that fulfils a condition which tells nothing.
pub(crate) const SOME: f64 = 0.33;
/// Part of the rows between two values that are not known: whoever gives both means few.
pub(crate) const BETWEEN: f64 = 0.005;
/// So many operators are looked at for one estimate: what is read in several places is met again each time.
const STEPS_MAX: usize = 2_000;
/// Deeper plans are not looked into for the origin of a column.
pub(crate) const DEPTH_MAX: usize = 200;

/// Steps: a row read by a scan.
pub const SCAN: f64 = 2.0;
/// A row put into a hash table.
pub const BUILD: f64 = 25.0;
/// A row looked up in a hash table.
pub const PROBE: f64 = 12.0;
/// A row passed on.
pub const OUT: f64 = 4.0;
/// A key looked up in an index.
pub const LOOKUP: f64 = 300.0;
/// A row read through an index.
pub const FETCH: f64 = 60.0;
/// A pair of rows compared.
pub const PAIR: f64 = 4.0;

/// Estimates with what storage knows.
#[derive(Clone, Copy, Default)]
pub struct Estimate<'s> {
    /// Knows how large tables are; `None`: all count as equally large.
    pub catalog: Option<&'s Arc<CatalogSnapshot>>,
    /// What there is to choose from.
    pub methods: Methods,
    /// What hints say about joins.
    pub(crate) hints: Option<&'s Hints>,
}

impl<'s> Estimate<'s> {
    /// With what is known of a database's tables, and nothing switched off.
    #[must_use]
    pub fn of(catalog: &'s Arc<CatalogSnapshot>) -> Estimate<'s> {
        Estimate { catalog: Some(catalog), ..Estimate::default() }
    }
}

/// Rows that a call yields, where its definition or its arguments say so.
fn call_rows(call: &SetCall) -> Option<f64> {
    let (function, args) = match call {
        SetCall::User { function, .. } if function.returns.is_set() => {
            return Some(f64::from(function.planning.rows()).max(1.0));
        }
        SetCall::User { .. } => return Some(1.0),
        SetCall::Builtin { function, args } => (function, args),
    };
    let number = |arg: &TypedExpr| match &arg.kind {
        K::Literal(Value::Int4(number)) => Some(f64::from(*number)),
        K::Literal(Value::Int8(number)) => Some(*number as f64),
        _ => None,
    };
    match (function.name, args.as_slice()) {
        ("generate_series", [first, last]) => Some((number(last)? - number(first)? + 1.0).max(0.0)),
        ("generate_series", [first, last, step]) => {
            let step = number(step).filter(|step| *step != 0.0)?;
            Some((((number(last)? - number(first)?) / step).floor() + 1.0).max(0.0))
        }
        ("unnest", [TypedExpr { kind: K::Array(elements), .. }]) => Some(elements.len() as f64),
        ("unnest", [TypedExpr { kind: K::Literal(Value::Array(elements)), .. }]) => {
            Some(elements.len() as f64)
        }
        _ => None,
    }
}

impl Estimate<'_> {
    /// Rows of a table.
    pub fn table(&self, table: &TableDef) -> f64 {
        if let Some(partitioned) = &table.partitioned {
            return partitioned.partitions.iter().map(|part| self.table(part)).sum::<f64>().max(1.0);
        }
        self.catalog.and_then(|catalog| catalog.rows(table)).unwrap_or(ROWS).max(1.0)
    }

    /// Rows that a plan yields.
    pub fn rows(&self, plan: &Plan) -> f64 {
        self.rows_at(plan, &Cell::new(STEPS_MAX)).max(1.0)
    }

    /// The same without what a hint says of the operator itself.
    pub(crate) fn rows_without_hint(&self, plan: &Plan) -> f64 {
        self.rows_unasked(plan, &Cell::new(STEPS_MAX)).max(1.0)
    }

    fn rows_at(&self, plan: &Plan, steps: &Cell<usize>) -> f64 {
        let Some(left) = steps.get().checked_sub(1) else { return ROWS };
        if stack::check().is_err() {
            return ROWS;
        }
        steps.set(left);
        let rows = self.rows_unasked(plan, steps);
        let asked = match plan {
            Plan::Join { .. } | Plan::MergeJoin { .. } | Plan::Apply { .. } | Plan::Semi { .. } => {
                self.hints.and_then(|hints| hints.rows(plan, rows))
            }
            _ => None,
        };
        asked.unwrap_or(rows)
    }

    /// As if no hint were about the operator itself.
    fn rows_unasked(&self, plan: &Plan, steps: &Cell<usize>) -> f64 {
        let below = |input: &Plan| self.rows_at(input, steps).max(1.0);
        match plan {
            Plan::Estimated { rows, .. } => *rows,
            Plan::Values { rows, .. } => rows.len() as f64,
            Plan::TableScan { table, columns, filter } => {
                let places = filter.as_ref().and_then(|filter| Places::of(columns, filter));
                let most = places.and_then(|(places, _)| places.rows()).unwrap_or(f64::INFINITY);
                (self.table(table) * self.optional(filter.as_ref(), plan)).min(most)
            }
            // The filter says what the index is asked for, too.
            Plan::IndexScan { table, access, filter, .. } if access.finds_candidates() => {
                self.table(table) * self.optional(filter.as_ref(), plan)
            }
            Plan::IndexScan { table, access, filter, .. } => {
                self.access(table, access) * self.optional(filter.as_ref(), plan)
            }
            Plan::CurrentRow { .. } | Plan::Single { .. } => 1.0,
            Plan::SystemScan { view: SystemView::Relation(relation), .. } => self.system_rows(relation.get()),
            Plan::External { .. } | Plan::SystemScan { .. } => ROWS,
            Plan::FunctionScan { call, .. } => call_rows(call).unwrap_or(ROWS),
            Plan::FileScan { table, .. } => table.rows,
            Plan::Project { input, .. }
            | Plan::Past { input, .. }
            | Plan::Barrier { input }
            | Plan::Sort { input, .. }
            | Plan::LockRows { input, .. } => below(input),
            Plan::Filter { input, predicate } => below(input) * self.selectivity(predicate, input),
            Plan::Aggregate { input, group_by, .. } | Plan::SortedAggregate { input, group_by, .. } => {
                let rows = below(input);
                self.groups(group_by, input).min(rows)
            }
            Plan::Limit { input, limit, .. } => match limit {
                Some(TypedExpr { kind: K::Literal(Value::Int8(rows)), .. }) => below(input).min(*rows as f64),
                _ => below(input),
            },
            Plan::Distinct { input } => (below(input) * 0.5).max(1.0),
            Plan::Append { inputs, .. } => inputs.iter().map(below).sum(),
            Plan::Join { left, right, equal, filter, .. }
            | Plan::MergeJoin { left, right, equal, filter } => {
                let (ours, theirs) = (below(left), below(right));
                let values: f64 =
                    equal.iter().map(|(a, b)| self.values(a, left).max(self.values(b, right))).product();
                // Several columns together have no more values than a table has rows of which they are a key.
                let keys = [
                    self.keyed(left, equal.iter().map(|(a, _)| a)),
                    self.keyed(right, equal.iter().map(|(_, b)| b)),
                ];
                let values = keys.into_iter().flatten().fold(values, f64::min);
                let pairs = ours * theirs / values * self.optional(filter.as_ref(), plan);
                let kind = if let Plan::Join { kind, .. } = plan { *kind } else { JoinKind::Inner };
                match kind {
                    JoinKind::Inner => pairs,
                    JoinKind::Left => pairs.max(ours),
                    JoinKind::Right => pairs.max(theirs),
                    JoinKind::Full => pairs.max(ours).max(theirs),
                }
            }
            Plan::Apply { left, right, filter, .. } => {
                below(left) * below(right) * self.optional(filter.as_ref(), plan)
            }
            Plan::Semi { left, right, equal, anti, .. } => {
                let known = |(a, b): &(TypedExpr, TypedExpr)| {
                    let K::Column(column) = a.kind else { return None };
                    self.known_column(left, column)?;
                    // Of the values on the left those that are on the right, too.
                    let theirs = self.values(b, right).min(below(right));
                    Some((theirs / self.values(a, left).max(1.0)).min(1.0))
                };
                let found: Option<f64> = equal.iter().map(known).product();
                let found = found.filter(|_| !equal.is_empty()).unwrap_or(0.5);
                let part = if *anti { (1.0 - found).clamp(0.01, 1.0) } else { found.min(1.0) };
                (below(left) * part).max(1.0)
            }
            Plan::SetOperation { left, .. } => below(left),
            Plan::Shared { plan, .. } => below(plan),
            Plan::Recursive { base, .. } => below(base) * 10.0,
            Plan::Transition { .. } => 1000.0,
            Plan::WorkTable { .. } => 10.0,
            Plan::Window { input, .. } => below(input),
            Plan::ProjectSet { input, calls, .. } => {
                let rows = |set: &SetColumns| call_rows(&set.call).unwrap_or(ELEMENTS);
                below(input) * calls.iter().map(rows).fold(1.0, f64::max)
            }
            Plan::DistinctOn { input, .. } => (below(input) * 0.5).max(1.0),
        }
    }

    /// Rows of a relation of the system catalogs.
    pub(crate) fn system_rows(&self, relation: &SystemRelation) -> f64 {
        self.catalog.and_then(|catalog| catalog.system_rows(relation)).unwrap_or(ROWS)
    }

    /// Whether its rows are made from a database's own definitions.
    pub(crate) fn is_made(&self, relation: &SystemRelation) -> bool {
        !matches!(relation.name, "pg_proc" | "pg_operator" | "pg_opclass" | "pg_description" | "pg_aggregate")
    }

    /// How many values a column of such a relation has.
    pub(crate) fn system_values(&self, relation: &SystemRelation, column: usize) -> f64 {
        self.catalog.and_then(|catalog| catalog.system_values(relation, column)).unwrap_or(DISTINCT)
    }

    /// Rows of a range of an index.
    pub(crate) fn access(&self, table: &TableDef, access: &IndexAccess) -> f64 {
        if access.is_point() {
            return 1.0;
        }
        if let Some(together) = &access.together {
            let rows = self.table(table);
            let parts = together.parts.iter().map(|part| self.access(table, part) / rows);
            return rows * if together.all { parts.product() } else { parts.sum::<f64>().min(1.0) };
        }
        let known = |column: u16| self.known_column_of(table, table.column_with_id(column)?);
        let guarded =
            access.index.guard.map_or(1.0, |guard| known(guard).map_or(SOME, |its| its.range(None, None)));
        let rows = self.table(table) * guarded;
        let mut part = CONTAINS.powi(access.searched.len() as i32);
        let mut keys = Vec::new();
        for (found, key) in access.equals.iter().zip(&access.index.parts) {
            let values = match table.column_with_id(key.column) {
                Some(column) => self.column(table, column),
                None => DISTINCT,
            };
            let collated = key.collation.as_ref().is_some_and(|collation| collation.collator.is_some());
            let sought = |value: &TypedExpr| sought(value, collated);
            let one = match (found, known(key.column)) {
                (KeyMatch::Equal(value), Some(known)) => known.equals(sought(value).as_ref()),
                (KeyMatch::In(list), Some(known)) => {
                    list.iter().map(|value| known.equals(sought(value).as_ref())).sum::<f64>().min(1.0)
                }
                (KeyMatch::Any(array), _) => (self.elements(array) / values).min(1.0),
                (KeyMatch::Equal(_) | KeyMatch::Null, _) => 1.0 / values,
                (KeyMatch::In(list), None) => (list.len() as f64 / values).min(1.0),
            };
            match found {
                KeyMatch::Equal(value) => keys.push((key.column, vec![sought(value)], one)),
                KeyMatch::In(list) => keys.push((key.column, list.iter().map(sought).collect(), one)),
                _ => part *= one,
            }
        }
        let alone: f64 = keys.iter().map(|(.., one)| one).product();
        part *= self.keys_together(table, &keys).unwrap_or(alone);
        let next = access.index.parts.get(access.equals.len()).and_then(|part| known(part.column));
        let by_keys = access.index.parts.get(access.equals.len()).is_some_and(|part| {
            part.collation.as_ref().is_some_and(|collation| collation.collator.is_some())
        });
        fn given(bound: &Option<(TypedExpr, bool)>) -> Option<(&TypedExpr, bool)> {
            bound.as_ref().map(|(value, inclusive)| (value, *inclusive))
        }
        let between = |lower: Option<(&TypedExpr, bool)>, upper: Option<(&TypedExpr, bool)>| match &next {
            Some(known) if lower.is_some() || upper.is_some() => {
                // Statistics have the order of the bytes.
                let value = |bound: (&TypedExpr, bool)| literal(bound.0).filter(|_| !by_keys).cloned();
                let (low, high) = (lower.and_then(value), upper.and_then(value));
                let lower = lower.map(|(_, inclusive)| (low.as_ref(), inclusive));
                let upper = upper.map(|(_, inclusive)| (high.as_ref(), inclusive));
                known.range(lower, upper)
            }
            _ => match (lower.map(|(value, _)| literal(value)), upper.map(|(value, _)| literal(value))) {
                (Some(None), Some(None)) => BETWEEN,
                (lower, upper) => SOME.powi((lower.iter().count() + upper.iter().count()) as i32),
            },
        };
        if access.spans.is_empty() {
            return rows * part * between(given(&access.lower), given(&access.upper));
        }
        let of_span = |span: &Span| match (span, &next) {
            (Span::Equal(value), Some(known)) => known.equals(sought(value, by_keys).as_ref()),
            (Span::Equal(_), None) => 1.0 / DISTINCT,
            (span, _) => {
                let (lower, upper) = span.bounds();
                between(lower, upper)
            }
        };
        rows * part * access.spans.iter().map(of_span).sum::<f64>().min(1.0)
    }

    /// How many elements an array has, or is taken to have.
    fn elements(&self, array: &TypedExpr) -> f64 {
        match &array.kind {
            K::Array(elements) => elements.len() as f64,
            K::Subquery { plan, .. } => self.rows(plan),
            _ => match literal(array) {
                Some(Value::Array(array)) => array.len() as f64,
                _ => ELEMENTS,
            },
        }
    }

    /// Whether a table has been analyzed.
    pub(crate) fn is_known(&self, table: &TableDef) -> bool {
        self.catalog.is_some_and(|catalog| catalog.statistics(table).is_some())
    }

    fn optional(&self, condition: Option<&TypedExpr>, plan: &Plan) -> f64 {
        condition.map_or(1.0, |condition| self.selectivity(condition, plan))
    }

    /// Rows of the table that a plan reads, whatever its conditions leave of them.
    pub fn whole(&self, plan: &Plan) -> Option<f64> {
        match plan {
            Plan::TableScan { table, .. } | Plan::IndexScan { table, .. } => Some(self.table(table)),
            Plan::Filter { input, .. } => self.whole(input),
            _ => None,
        }
    }

    /// The rows of the table that these columns of a plan come from, if they hold a key of it: several columns together.
    fn keyed<'e>(&self, plan: &Plan, exprs: impl Iterator<Item = &'e TypedExpr>) -> Option<f64> {
        let columns: Vec<usize> = exprs.filter_map(column_of).collect();
        if columns.len() < 2 { None } else { self.keyed_at(plan, &columns, 0) }
    }

    fn keyed_at(&self, plan: &Plan, asked: &[usize], depth: usize) -> Option<f64> {
        if asked.len() < 2 || depth > DEPTH_MAX {
            return None;
        }
        match plan {
            Plan::TableScan { table, columns, .. } | Plan::IndexScan { table, columns, .. } => {
                let id = |at: &usize| Some(table.columns.get(*columns.get(*at)?)?.id);
                let ids: Vec<u16> = asked.iter().filter_map(id).collect();
                let mut keys = table.indexes.iter().filter(|index| index.unique && index.guard.is_none());
                keys.any(|index| index.parts.iter().all(|part| ids.contains(&part.column)))
                    .then(|| self.table(table))
            }
            Plan::Project { input, exprs, .. } => {
                let columns: Vec<usize> =
                    asked.iter().filter_map(|at| exprs.get(*at).and_then(column_of)).collect();
                self.keyed_at(input, &columns, depth + 1)
            }
            Plan::Filter { input, .. } | Plan::Sort { input, .. } => self.keyed_at(input, asked, depth + 1),
            Plan::Semi { left, .. } => self.keyed_at(left, asked, depth + 1),
            Plan::Join { left, right, .. }
            | Plan::MergeJoin { left, right, .. }
            | Plan::Apply { left, right, .. } => {
                // The columns of one side are enough.
                let width = left.output().len();
                let ours: Vec<usize> = asked.iter().copied().filter(|at| *at < width).collect();
                let theirs: Vec<usize> = asked.iter().filter_map(|at| at.checked_sub(width)).collect();
                let ours = self.keyed_at(left, &ours, depth + 1);
                ours.or_else(|| self.keyed_at(right, &theirs, depth + 1))
            }
            _ => None,
        }
    }

    /// How many groups these keys make of a plan's rows, if there are rows enough.
    pub fn groups(&self, keys: &[TypedExpr], plan: &Plan) -> f64 {
        let mut left: Vec<&TypedExpr> = keys.iter().collect();
        let mut groups = 1.0;
        while let Some((taken, together)) = self.groups_together(&left, plan) {
            groups *= together;
            let mut at = 0;
            left.retain(|_| {
                at += 1;
                !taken.contains(&(at - 1))
            });
        }
        // Of each scan: the values of its keys multiplied, those of the key with the most, and how many keys there are.
        let mut scans: Vec<(&Plan, f64, f64, usize)> = Vec::new();
        for key in left {
            let values = self.values(key, plan);
            let scan = columns_of(key).first().and_then(|column| scan_of(plan, *column, 0));
            let Some((scan, _)) = scan else {
                groups *= values;
                continue;
            };
            match scans.iter_mut().find(|(known, ..)| std::ptr::eq(*known, scan)) {
                Some((_, product, most, keys)) => {
                    (*product, *most, *keys) = (*product * values, most.max(values), *keys + 1);
                }
                None => scans.push((scan, values, values, 1)),
            }
        }
        scans.into_iter().fold(groups, |groups, (scan, product, most, keys)| match scan {
            // Columns of a table depend on each other: together they are taken to have not more values than a tenth of its
            // rows, as in PostgreSQL (`estimate_num_groups`).
            Plan::TableScan { table, .. } | Plan::IndexScan { table, .. } if keys > 1 => {
                let rows = self.table(table);
                groups * product.min((rows / 10.0).max(most).min(rows)).max(1.0)
            }
            _ => groups * product,
        })
    }

    /// How many values an expression over a plan's columns has.
    pub fn values(&self, expr: &TypedExpr, plan: &Plan) -> f64 {
        match &expr.kind {
            K::Column(column) => self.distinct(plan, *column, 0),
            K::Cast { arg, .. } => self.values(arg, plan),
            _ => {
                let known = self.known_expression(expr, plan).and_then(|known| known.values());
                known.unwrap_or(DISTINCT)
            }
        }
    }

    /// How many values a column of a plan has.
    fn distinct(&self, plan: &Plan, column: usize, depth: usize) -> f64 {
        if depth > DEPTH_MAX {
            return DISTINCT;
        }
        match plan {
            Plan::TableScan { table, columns, .. } | Plan::IndexScan { table, columns, .. } => {
                columns.get(column).map_or(DISTINCT, |at| self.column(table, *at))
            }
            Plan::Project { input, exprs, .. } => match exprs.get(column).map(|expr| &expr.kind) {
                Some(K::Column(inner)) => self.distinct(input, *inner, depth + 1),
                _ => DISTINCT,
            },
            Plan::Aggregate { input, group_by, .. } | Plan::SortedAggregate { input, group_by, .. } => {
                match group_by.as_slice() {
                    [only] if column == 0 => self.values(only, input),
                    keys => match keys.get(column).map(|key| &key.kind) {
                        Some(K::Column(inner)) => self.distinct(input, *inner, depth + 1),
                        _ => DISTINCT,
                    },
                }
            }
            Plan::Filter { input, .. }
            | Plan::Sort { input, .. }
            | Plan::Limit { input, .. }
            | Plan::LockRows { input, .. }
            | Plan::Past { input, .. }
            | Plan::Single { input }
            | Plan::Barrier { input }
            | Plan::Estimated { input, .. }
            | Plan::Distinct { input } => self.distinct(input, column, depth + 1),
            Plan::Semi { left, .. } => self.distinct(left, column, depth + 1),
            Plan::Shared { plan, .. } => self.distinct(plan, column, depth + 1),
            Plan::Join { left, right, .. }
            | Plan::MergeJoin { left, right, .. }
            | Plan::Apply { left, right, .. } => {
                let width = left.output().len();
                if column < width {
                    self.distinct(left, column, depth + 1)
                } else {
                    self.distinct(right, column - width, depth + 1)
                }
            }
            Plan::Values { rows, .. } => (rows.len() as f64).max(1.0),
            Plan::SystemScan { view: SystemView::Relation(relation), columns, .. } => {
                columns.get(column).map_or(DISTINCT, |at| self.system_values(relation.get(), *at))
            }
            _ => DISTINCT,
        }
    }

    /// How many values a column of a table has (E2).
    fn column(&self, table: &TableDef, at: usize) -> f64 {
        let rows = self.table(table);
        let Some(column) = table.columns.get(at) else { return DISTINCT };
        let known =
            self.catalog.and_then(|catalog| catalog.statistics(table)?.columns.get(&column.id)?.values(rows));
        if let Some(values) = known {
            return values.max(1.0);
        }
        let keys = table.indexes.iter().filter(|index| {
            index.unique && index.guard.is_none() && index.parts.iter().any(|part| part.column == column.id)
        });
        let root = keys.map(|index| index.parts.len()).min();
        root.map_or(DISTINCT.min(rows), |parts| rows.powf(1.0 / parts as f64)).max(1.0)
    }

    /// Bytes of a value of a type.
    pub fn width(&self, ty: &verso_types::SqlType) -> f64 {
        verso_catalog::value_bytes(ty)
    }

    /// Bytes of a table's column.
    pub fn column_width(&self, table: &TableDef, at: usize) -> f64 {
        let Some(column) = table.columns.get(at) else { return 0.0 };
        let known = self.catalog.and_then(|catalog| catalog.statistics(table)?.columns.get(&column.id));
        known.map_or_else(|| self.width(&column.ty), |known| known.width)
    }

    /// Rows that a lookup by these columns of a table finds, if an index begins with some of them: columns whose values are handed in,
    /// and columns whose values the table's own conditions `fix`.
    pub fn lookup(&self, table: &Arc<TableDef>, known: &[u16], fixed: &[u16]) -> Option<f64> {
        let rows = self.table(table);
        let usable = table.indexes.iter().filter(|index| index.guard.is_none() && !index.is_inverted());
        let found = usable.filter_map(|index| {
            let parts: Vec<u16> = index.parts.iter().map(|part| part.column).collect();
            let bound = parts.iter().take_while(|part| known.contains(part) || fixed.contains(part)).count();
            if !parts[..bound].iter().any(|part| known.contains(part)) {
                return None;
            }
            if bound == parts.len() && index.unique {
                return Some(1.0);
            }
            let values: f64 = parts[..bound]
                .iter()
                .map(|part| table.column_with_id(*part).map_or(1.0, |at| self.column(table, at)))
                .product();
            Some((rows / values).max(1.0))
        });
        found.min_by(f64::total_cmp)
    }
}

/// The column that an expression is, also where it is seen as another type.
fn column_of(expr: &TypedExpr) -> Option<usize> {
    match &expr.kind {
        K::Column(at) => Some(*at),
        K::Cast { arg, .. } => column_of(arg),
        _ => None,
    }
}

/// The value that a part of a key is compared with: of the key of a text the text.
fn sought(expr: &TypedExpr, collated: bool) -> Option<Value> {
    match literal(expr)? {
        Value::Bytes(key) if collated && expr.ty == SqlType::Bytea => match Collator::text_of_key(key) {
            Some(text) => std::str::from_utf8(text).ok().map(Value::text),
            None => Some(Value::Bytes(key.clone())),
        },
        value => Some(value.clone()),
    }
}

/// The value of an expression, where it is known before the statement runs.
fn literal(expr: &TypedExpr) -> Option<&Value> {
    match &expr.kind {
        K::Literal(value) => Some(value),
        K::Cast { arg, .. } => literal(arg),
        _ => None,
    }
}
