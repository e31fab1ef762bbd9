//! Which part of the rows fulfils a condition.
//!
//! ```text
//! condition ─► column, constant ─► common values, histogram (ANALYZE) ─► part of the rows
//!                              └─► without statistics: guesses
//! ```
//!
//! A value is among the common ones, or one of the others, which are taken to be equally frequent. A range has the common
//! values within it, and its share of the histogram. Two sides of a range of one column are one range. Other conditions
//! count as independent of each other, unless statistics of several columns say more ([`crate::extended`]).

use std::sync::Arc;

use verso_catalog::{ColumnStatistics, Oid, TableDef, TableStatistics};
use verso_exec::plan::{ExprKind as K, Plan, TypedExpr};
use verso_types::{Value, cmp_sql};

use crate::bind::columns_of;
use crate::estimate::BETWEEN;
use crate::estimate::{DEPTH_MAX, DISTINCT, Estimate, SOME};

/// Part of the rows that a LIKE with no known beginning finds.
const LIKE: f64 = 0.05;
/// What comes behind the beginning of a LIKE is true for this part.
const BEHIND_PREFIX: f64 = 0.5;

/// A column of a table, or an expression over its columns, with what is known of it.
pub(crate) struct KnownColumn {
    table: Arc<TableStatistics>,
    of: Known,
    /// Rows of the table.
    rows: f64,
}

/// Of what something is known.
enum Known {
    /// A column, by its number.
    Column(u16),
    /// An expression: the number of the statistics that have it, and its place there.
    Expression(Oid, usize),
}

/// One side of a range.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Below { or_equal: bool },
    Above { or_equal: bool },
}

impl KnownColumn {
    /// An expression of statistics, by their number and its place.
    pub fn of_expression(table: Arc<TableStatistics>, (oid, place): (Oid, usize), rows: f64) -> KnownColumn {
        KnownColumn { table, of: Known::Expression(oid, place), rows }
    }

    fn column(&self) -> Option<&ColumnStatistics> {
        match self.of {
            Known::Column(id) => self.table.columns.get(&id),
            Known::Expression(oid, place) => self.table.extended.get(&oid)?.expressions.get(place),
        }
    }

    /// How many different values it has.
    pub fn values(&self) -> Option<f64> {
        self.column()?.values(self.rows)
    }

    /// The part of the rows with one value; `None` stands for a value that is not known yet.
    pub fn equals(&self, value: Option<&Value>) -> f64 {
        let Some(known) = self.column() else { return 1.0 / DISTINCT };
        let distinct = known.values(self.rows).unwrap_or(DISTINCT).max(1.0);
        let Some(value) = value else { return (1.0 - known.null_fraction) / distinct };
        if value.is_null() {
            return 0.0;
        }
        if let Some((_, part)) =
            known.common.iter().find(|(common, _)| order(common, value).is_some_and(|order| order.is_eq()))
        {
            return *part;
        }
        let listed: f64 = known.common.iter().map(|(_, part)| part).sum();
        let others = (distinct - known.common.len() as f64).max(1.0);
        let rest = (1.0 - listed - known.null_fraction).max(0.0) / others;
        let least = known.common.last().map_or(1.0, |(_, part)| *part);
        rest.min(least).max(0.5 / self.rows.max(1.0))
    }

    /// The part of the rows on one side of a value; none where it cannot be told.
    fn side(&self, side: Side, value: &Value) -> Option<f64> {
        let known = self.column()?;
        if known.common.is_empty() && known.bounds.is_empty() {
            return None;
        }
        let fits = |other: &Value| {
            order(other, value).map(|order| match side {
                Side::Below { or_equal } => order.is_lt() || (or_equal && order.is_eq()),
                Side::Above { or_equal } => order.is_gt() || (or_equal && order.is_eq()),
            })
        };
        let mut part = 0.0;
        let mut listed = 0.0;
        for (common, rows) in &known.common {
            listed += rows;
            if fits(common)? {
                part += rows;
            }
        }
        if known.bounds.len() > 1 {
            let below = share_below(&known.bounds, value)?;
            let share = if matches!(side, Side::Below { .. }) { below } else { 1.0 - below };
            part += share * (1.0 - listed - known.null_fraction).max(0.0);
        }
        Some(part.clamp(0.0, 1.0))
    }

    /// The part of the rows within bounds, of which some may be missing or not known (`Some(None)`).
    pub fn range(&self, lower: Option<(Option<&Value>, bool)>, upper: Option<(Option<&Value>, bool)>) -> f64 {
        let nulls = self.column().map_or(0.0, |known| known.null_fraction);
        let side = |bound: Option<(Option<&Value>, bool)>, above: bool| {
            bound.map(|(value, or_equal)| {
                let side = if above { Side::Above { or_equal } } else { Side::Below { or_equal } };
                value.and_then(|value| self.side(side, value)).unwrap_or(SOME)
            })
        };
        let part = match (side(lower, true), side(upper, false)) {
            (Some(above), Some(below))
                if lower.is_some_and(|l| l.0.is_some()) && upper.is_some_and(|u| u.0.is_some()) =>
            {
                // Both leave out rows of their own; what both leave in is the range.
                above + below - (1.0 - nulls)
            }
            _ if lower.is_some_and(|l| l.0.is_none()) && upper.is_some_and(|u| u.0.is_none()) => BETWEEN,
            (Some(above), Some(below)) => above * below,
            (Some(one), None) | (None, Some(one)) => one,
            (None, None) => 1.0 - nulls,
        };
        part.clamp(0.5 / self.rows.max(1.0), 1.0)
    }
}

/// The part of a histogram that is below a value.
fn share_below(bounds: &[Value], value: &Value) -> Option<f64> {
    order(bounds.first()?, value)?;
    let at = bounds.partition_point(|bound| order(bound, value).is_some_and(|order| order.is_lt()));
    let groups = (bounds.len() - 1) as f64;
    if at == 0 {
        return Some(0.0);
    }
    if at == bounds.len() {
        return Some(1.0);
    }
    let within = within(&bounds[at - 1], &bounds[at], value);
    Some(((at - 1) as f64 + within) / groups)
}

/// Where between two bounds a value lies, from 0 to 1.
fn within(low: &Value, high: &Value, value: &Value) -> f64 {
    let (low, high, value) = match (low, high, value) {
        (Value::Text(low), Value::Text(high), Value::Text(value)) => {
            let same = low.bytes().zip(high.bytes()).take_while(|(a, b)| a == b).count();
            let number = |text: &str| {
                let bytes = text.bytes().skip(same).chain(std::iter::repeat(0)).take(6);
                bytes.fold(0.0, |sum, byte| sum * 256.0 + f64::from(byte))
            };
            (number(low), number(high), number(value))
        }
        _ => match (scalar(low), scalar(high), scalar(value)) {
            (Some(low), Some(high), Some(value)) => (low, high, value),
            _ => return 0.5,
        },
    };
    if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
}

/// A value on a line with others of its kind.
fn scalar(value: &Value) -> Option<f64> {
    Some(match value {
        Value::Date(days) => f64::from(*days) * 86_400e6,
        Value::Timestamp(micros) | Value::Timestamptz(micros) | Value::Time(micros) => *micros as f64,
        Value::Bool(value) => f64::from(u8::from(*value)),
        other => other.as_f64()?,
    })
}

/// The order of two values, if they are of one kind.
pub(crate) fn order(a: &Value, b: &Value) -> Option<std::cmp::Ordering> {
    if std::mem::discriminant(a) == std::mem::discriminant(b) {
        return Some(cmp_sql(a, b));
    }
    let (a, b) = (scalar(a)?, scalar(b)?);
    Some(a.total_cmp(&b))
}

/// The value of an expression that is one whatever the row; `None` where it is not known before the statement runs.
pub(crate) fn constant(expr: &TypedExpr) -> Option<Value> {
    match &expr.kind {
        K::Literal(value) => Some(value.clone()),
        K::Cast { arg, .. } => constant(arg),
        K::Call { function, args } => calculated(function.operator?, args),
        _ => None,
    }
}

/// What an operator makes of constants: numbers, dates and intervals, to which an estimate has no need of exactness.
fn calculated(operator: &str, args: &[TypedExpr]) -> Option<Value> {
    verso_env::stack::check().ok()?;
    let (a, b) = match args {
        [arg] if operator == "-" => return Some(Value::Float8(-constant(arg)?.as_f64()?)),
        [a, b] => (constant(a)?, constant(b)?),
        _ => return None,
    };
    if let (Some(a), Some(b)) = (a.as_f64(), b.as_f64()) {
        return Some(Value::Float8(match operator {
            "+" => a + b,
            "-" => a - b,
            "*" => a * b,
            "/" if b != 0.0 => a / b,
            _ => return None,
        }));
    }
    let sign = match operator {
        "+" => 1.0,
        "-" => -1.0,
        _ => return None,
    };
    let micros = match &b {
        Value::Interval(span) => {
            (f64::from(span.months) * 30.44 + f64::from(span.days)) * 86_400e6 + span.micros as f64
        }
        // Days, behind a date.
        _ if matches!(a, Value::Date(_)) => b.as_f64()? * 86_400e6,
        _ => return None,
    };
    match a {
        Value::Date(_) | Value::Timestamp(_) | Value::Timestamptz(_) => {
            Some(Value::Timestamp((scalar(&a)? + sign * micros) as i64))
        }
        _ => None,
    }
}

/// A condition that compares a column with something that is the same for all rows.
struct Comparison {
    column: usize,
    operator: &'static str,
    value: Option<Value>,
}

impl Comparison {
    fn of(condition: &TypedExpr) -> Option<Comparison> {
        let K::Call { function, args } = &condition.kind else { return None };
        let operator = function.comparison()?;
        let [a, b] = args.as_slice() else { return None };
        let turned = match operator {
            "=" => "=",
            "<>" => "<>",
            "<" => ">",
            "<=" => ">=",
            ">" => "<",
            ">=" => "<=",
            _ => return None,
        };
        let (column, operator, other) = match (column(a), column(b)) {
            (Some(column), None) => (column, operator, b),
            (None, Some(column)) => (column, turned, a),
            _ => return None,
        };
        if !columns_of(other).is_empty() {
            return None;
        }
        Some(Comparison { column, operator, value: constant(other) })
    }

    /// The same of an expression that is no column, which comes beside it.
    fn of_expression(condition: &TypedExpr) -> Option<(&TypedExpr, Comparison)> {
        let K::Call { function, args } = &condition.kind else { return None };
        let [a, b] = args.as_slice() else { return None };
        let (expr, other, is_turned) = match (columns_of(a).is_empty(), columns_of(b).is_empty()) {
            (false, true) => (a, b, false),
            (true, false) => (b, a, true),
            _ => return None,
        };
        let operator = match (function.comparison()?, is_turned) {
            (operator @ ("=" | "<>" | "<" | "<=" | ">" | ">="), false) => operator,
            (operator @ ("=" | "<>"), true) => operator,
            ("<", true) => ">",
            ("<=", true) => ">=",
            (">", true) => "<",
            (">=", true) => "<=",
            _ => return None,
        };
        Some((expr, Comparison { column: usize::MAX, operator, value: constant(other) }))
    }

    /// The part of the rows for which it is true.
    fn part(&self, known: &KnownColumn) -> f64 {
        let value = self.value.as_ref();
        match self.operator {
            "=" => known.equals(value),
            "<>" => {
                let nulls = known.column().map_or(0.0, |column| column.null_fraction);
                (1.0 - nulls - known.equals(value)).max(0.0)
            }
            _ => range(known, &[self]),
        }
    }

    /// Its side of a range.
    fn side(&self) -> Option<(bool, bool)> {
        Some(match self.operator {
            "<" => (false, false),
            "<=" => (false, true),
            ">" => (true, false),
            ">=" => (true, true),
            _ => return None,
        })
    }
}

/// The column that an expression is, whatever its type is made to be.
fn column(expr: &TypedExpr) -> Option<usize> {
    match &expr.kind {
        K::Column(column) => Some(*column),
        K::Cast { arg, .. } => column(arg),
        _ => None,
    }
}

impl Estimate<'_> {
    /// What is known of a column of a plan.
    pub(crate) fn known_column(&self, plan: &Plan, column: usize) -> Option<KnownColumn> {
        let (table, at) = source(plan, column, 0)?;
        self.known_column_of(table, at)
    }

    /// What is known of a column of a table.
    pub(crate) fn known_column_of(&self, table: &TableDef, at: usize) -> Option<KnownColumn> {
        let known = self.catalog?.statistics(table)?;
        let id = table.columns.get(at)?.id;
        known.columns.get(&id)?;
        Some(KnownColumn { table: Arc::clone(known), of: Known::Column(id), rows: self.table(table) })
    }

    /// The part of a plan's rows for which a condition over its columns is true.
    pub fn selectivity(&self, condition: &TypedExpr, plan: &Plan) -> f64 {
        let one = |part: &TypedExpr| self.selectivity(part, plan);
        let known = |column: usize| self.known_column(plan, column);
        let known_of = |arg: &TypedExpr| match column(arg) {
            Some(column) => known(column),
            None => self.known_expression(arg, plan),
        };
        let values = |arg: &TypedExpr| if columns_of(arg).is_empty() { 1.0 } else { self.values(arg, plan) };
        let same = |a: &TypedExpr, b: &TypedExpr| 1.0 / values(a).max(values(b)).max(1.0);
        match &condition.kind {
            K::Literal(Value::Bool(true)) => 1.0,
            K::Literal(_) => 0.0,
            K::And(_) => self.all(condition, plan),
            K::Or(parts) => 1.0 - parts.iter().map(|part| 1.0 - one(part)).product::<f64>(),
            K::Not(arg) => 1.0 - one(arg),
            K::Column(column) => known(*column).map_or(SOME, |known| known.equals(Some(&Value::Bool(true)))),
            K::IsNull { arg, negated } => {
                let nulls = known_of(arg)
                    .and_then(|known| known.column().map(|column| column.null_fraction))
                    .unwrap_or(0.01);
                if *negated { 1.0 - nulls } else { nulls }
            }
            K::Call { function, args } => {
                if let Some(comparison) = Comparison::of(condition)
                    && let Some(known) = known(comparison.column)
                {
                    return comparison.part(&known);
                }
                if let Some((expr, comparison)) = Comparison::of_expression(condition)
                    && let Some(known) = self.known_expression(expr, plan)
                {
                    return comparison.part(&known);
                }
                match (function.operator, args.as_slice()) {
                    (Some("="), [a, b]) => same(a, b),
                    (Some("<>"), _) => 0.9,
                    _ => SOME,
                }
            }
            K::IsDistinct { left, right, negated } => {
                let same = same(left, right);
                if *negated { same } else { 1.0 - same }
            }
            K::InList { arg, list, negated } => {
                let found = match known_of(arg) {
                    Some(known) => list.iter().map(|item| known.equals(constant(item).as_ref())).sum(),
                    None => list.len() as f64 / self.values(arg, plan),
                };
                let found = f64::min(found, 1.0);
                if *negated { 1.0 - found } else { found }
            }
            K::Like { arg, pattern, negated, case_insensitive, escape } => {
                let found = match (known_of(arg), constant(pattern)) {
                    (Some(known), Some(Value::Text(pattern))) if !case_insensitive && escape.is_none() => {
                        like(&known, &pattern)
                    }
                    _ => LIKE,
                };
                if *negated { 1.0 - found } else { found }
            }
            _ => SOME,
        }
    }

    /// Conditions that all have to be true: ranges of a column taken together, the others by themselves.
    fn all(&self, condition: &TypedExpr, plan: &Plan) -> f64 {
        let mut parts = Vec::new();
        conjuncts(condition, &mut parts);
        let mut ranges: Vec<(usize, Vec<Comparison>)> = Vec::new();
        let mut part = 1.0;
        // What is known of several columns together goes first.
        while let Some((taken, together)) = self.together(&parts, plan) {
            part *= together;
            let mut at = 0;
            parts.retain(|_| {
                at += 1;
                !taken.contains(&(at - 1))
            });
        }
        for conjunct in parts {
            match Comparison::of(conjunct).filter(|comparison| comparison.side().is_some()) {
                Some(comparison) if self.known_column(plan, comparison.column).is_some() => {
                    match ranges.iter_mut().find(|(column, _)| *column == comparison.column) {
                        Some((_, of_column)) => of_column.push(comparison),
                        None => ranges.push((comparison.column, vec![comparison])),
                    }
                }
                _ => part *= self.selectivity(conjunct, plan),
            }
        }
        for (column, comparisons) in &ranges {
            if let Some(known) = self.known_column(plan, *column) {
                part *= range(&known, &comparisons.iter().collect::<Vec<_>>());
            }
        }
        part
    }
}

/// The conditions in an AND, whatever its shape.
fn conjuncts<'e>(condition: &'e TypedExpr, parts: &mut Vec<&'e TypedExpr>) {
    match &condition.kind {
        K::And(inner) if verso_env::stack::check().is_ok() => {
            inner.iter().for_each(|part| conjuncts(part, parts));
        }
        _ => parts.push(condition),
    }
}

/// The part of the rows that are within all of these sides.
fn range(known: &KnownColumn, comparisons: &[&Comparison]) -> f64 {
    let mut lower: Option<(Option<&Value>, bool)> = None;
    let mut upper: Option<(Option<&Value>, bool)> = None;
    for comparison in comparisons {
        let Some((above, or_equal)) = comparison.side() else { continue };
        let bound = if above { &mut lower } else { &mut upper };
        let value = comparison.value.as_ref();
        // Of several the narrowest that is known.
        let narrower = match (&*bound, value) {
            (None, _) | (Some((None, _)), _) => true,
            (Some(_), None) => false,
            (Some((Some(old), _)), Some(new)) => {
                order(new, old).is_some_and(|order| if above { order.is_gt() } else { order.is_lt() })
            }
        };
        if narrower {
            *bound = Some((value, or_equal));
        }
    }
    known.range(lower, upper)
}

/// The part of the rows that a pattern finds.
fn like(known: &KnownColumn, pattern: &str) -> f64 {
    let end = pattern.find(['%', '_', '\\']).unwrap_or(pattern.len());
    let (prefix, behind) = pattern.split_at(end);
    if behind.is_empty() {
        return known.equals(Some(&Value::text(prefix)));
    }
    let Some(last) = prefix.chars().last() else { return LIKE };
    let start = Value::text(prefix);
    let next = char::from_u32(u32::from(last) + 1)
        .map(|next| format!("{}{next}", &prefix[..prefix.len() - last.len_utf8()]));
    let stop = next.map(|next| Value::text(&next));
    let found = known.range(Some((Some(&start), true)), stop.as_ref().map(|stop| (Some(stop), false)));
    if behind == "%" { found } else { found * BEHIND_PREFIX }
}

/// The table that a column of a plan comes from, unchanged, and its place there.
pub(crate) fn source(plan: &Plan, column: usize, depth: usize) -> Option<(&Arc<TableDef>, usize)> {
    match scan_of(plan, column, depth)? {
        (Plan::TableScan { table, columns, .. } | Plan::IndexScan { table, columns, .. }, column) => {
            columns.get(column).map(|at| (&**table, *at))
        }
        _ => None,
    }
}

/// The scan of a table that a column of a plan comes from, unchanged, and its place among what that yields.
pub(crate) fn scan_of(plan: &Plan, column: usize, depth: usize) -> Option<(&Plan, usize)> {
    if depth > DEPTH_MAX {
        return None;
    }
    let below = |input, column| scan_of(input, column, depth + 1);
    match plan {
        Plan::TableScan { .. } | Plan::IndexScan { .. } => Some((plan, column)),
        Plan::Project { input, exprs, .. } => match exprs.get(column)?.kind {
            K::Column(inner) => below(input, inner),
            _ => None,
        },
        Plan::Aggregate { input, group_by, sets: None, .. } => match group_by.get(column)?.kind {
            K::Column(inner) => below(input, inner),
            _ => None,
        },
        Plan::Filter { input, .. }
        | Plan::Sort { input, .. }
        | Plan::Limit { input, .. }
        | Plan::LockRows { input, .. }
        | Plan::Past { input, .. }
        | Plan::Single { input }
        | Plan::Barrier { input }
        | Plan::Estimated { input, .. }
        | Plan::Distinct { input }
        | Plan::DistinctOn { input, .. } => below(input, column),
        Plan::Semi { left, .. } => below(left, column),
        Plan::Shared { plan, .. } => below(plan, column),
        Plan::Join { left, right, .. }
        | Plan::MergeJoin { left, right, .. }
        | Plan::Apply { left, right, .. } => {
            let width = left.output().len();
            if column < width { below(left, column) } else { below(right, column - width) }
        }
        _ => None,
    }
}
