//! Estimates by what CREATE STATISTICS has found out: of several columns together, and of expressions.
//!
//! ```text
//! a = 1 AND b = 2 AND …   ─► values that are common together, or which columns tell which ─► part of the rows
//! GROUP BY a, b, …        ─► how many different values they have together
//! f(a) = 1, GROUP BY f(a) ─► what is known of the expression, as of a column
//! ```
//!
//! 1. Of several statistics those count first that are about most of what is asked for; what is left is asked of the others.
//! 2. Columns of a plan are those of one scan of a table: the same table twice is two.
//!
//! Source: `src/backend/statistics` of PostgreSQL.

use std::sync::Arc;

use verso_catalog::{CommonValues, ExtendedStatistics, StatisticsDef, TableDef, TableStatistics};
use verso_exec::plan::{ExprKind as K, Plan, TypedExpr};
use verso_types::{TimeStyle, Value};

use crate::bind::{Binder, columns_of, map_columns, same};
use crate::estimate::Estimate;
use crate::selectivity::{KnownColumn, constant, order, scan_of};

/// An expression over one scan of a plan, as one over the columns of its table.
struct Located<'p> {
    scan: &'p Plan,
    table: &'p Arc<TableDef>,
    expr: TypedExpr,
}

/// A condition that something has one of some values, or is less or greater than one.
struct Comparison<'p> {
    of: Located<'p>,
    /// None stands for a value that is not known yet.
    values: Vec<Option<Value>>,
    /// `<`, `<=`, `>` or `>=`: the one value is a bound.
    bound: Option<&'static str>,
    /// The part of the rows for which it is true by itself.
    part: f64,
}

/// A condition on a column or an expression of statistics.
struct Item<'e> {
    number: i16,
    values: &'e [Option<Value>],
    bound: Option<&'static str>,
    part: f64,
}

impl Item<'_> {
    /// Whether it is true of a value.
    fn fits(&self, own: &Value) -> bool {
        let is = |value: &Value| {
            let Some(order) = order(own, value) else { return false };
            match self.bound {
                None => order.is_eq(),
                Some("<") => order.is_lt(),
                Some("<=") => order.is_le(),
                Some(">") => order.is_gt(),
                Some(_) => order.is_ge(),
            }
        };
        !own.is_null() && self.values.iter().flatten().any(is)
    }
}

impl Estimate<'_> {
    /// What is known of a table with statistics of several columns or of expressions.
    fn extended(&self, table: &TableDef) -> Option<Arc<TableStatistics>> {
        let any = !table.extended.is_empty();
        let known = self.catalog.filter(|_| any)?.statistics(table)?;
        (!known.extended.is_empty()).then(|| Arc::clone(known))
    }

    /// Where an expression comes from, if that has such statistics.
    fn located<'p>(&self, expr: &TypedExpr, plan: &'p Plan) -> Option<Located<'p>> {
        let used = columns_of(expr);
        let (scan, _) = scan_of(plan, *used.first()?, 0)?;
        let (Plan::TableScan { table, columns, .. } | Plan::IndexScan { table, columns, .. }) = scan else {
            return None;
        };
        let table: &Arc<TableDef> = table;
        if table.extended.is_empty() {
            return None;
        }
        let place = |column: usize| {
            let (own, at) = scan_of(plan, column, 0)?;
            std::ptr::eq(own, scan).then(|| columns.get(at).copied()).flatten()
        };
        if used.iter().any(|column| place(*column).is_none()) {
            return None;
        }
        let mut expr = expr.clone();
        map_columns(&mut expr, &mut |column| place(column).unwrap_or(usize::MAX));
        Some(Located { scan, table, expr })
    }

    /// What is known of an expression that is no column.
    pub(crate) fn known_expression(&self, expr: &TypedExpr, plan: &Plan) -> Option<KnownColumn> {
        if matches!(expr.kind, K::Column(_) | K::Literal(_)) {
            return None;
        }
        let located = self.located(expr, plan)?;
        let known = self.extended(located.table)?;
        let found = located.table.extended.iter().find_map(|one| {
            let place = self.place_of(one, &located)?;
            known.extended.get(&one.oid)?.expressions.get(place)?;
            Some((one.oid, place))
        });
        let rows = self.table(located.table);
        found.map(|(oid, place)| KnownColumn::of_expression(known, (oid, place), rows))
    }

    /// Which of the expressions of statistics this is.
    fn place_of(&self, statistics: &StatisticsDef, located: &Located<'_>) -> Option<usize> {
        let catalog = self.catalog.filter(|_| !statistics.expressions.is_empty())?;
        let utc = TimeStyle::UTC; // nothing in them depends on it
        let binder = Binder::new(catalog, &utc, &[]);
        let is_it = |text: &Arc<str>| {
            let bound = binder.kept_statistics_expression(text, located.table);
            bound.is_ok_and(|bound| same(&bound, &located.expr))
        };
        statistics.expressions.iter().position(is_it)
    }

    /// The number that a column or an expression has among those of statistics.
    fn number_of(&self, statistics: &StatisticsDef, located: &Located<'_>) -> Option<i16> {
        let mut expr = &located.expr;
        while let K::Cast { arg, .. } = &expr.kind {
            expr = arg;
        }
        if let K::Column(at) = expr.kind {
            let id = located.table.columns.get(at)?.id;
            return statistics.columns.contains(&id).then(|| i16::try_from(id).ok()).flatten();
        }
        let place = i16::try_from(self.place_of(statistics, located)?).ok()?;
        Some(-1 - place)
    }

    /// How many groups some of these keys make together: which they are, and how many.
    pub(crate) fn groups_together(&self, keys: &[&TypedExpr], plan: &Plan) -> Option<(Vec<usize>, f64)> {
        let located: Vec<Option<Located<'_>>> = keys.iter().map(|key| self.located(key, plan)).collect();
        let mut best: Option<(Vec<usize>, f64)> = None;
        for first in located.iter().flatten() {
            let Some(known) = self.extended(first.table) else { continue };
            for one in &first.table.extended {
                let Some(own) = known.extended.get(&one.oid) else { continue };
                let mut taken: Vec<(usize, i16)> = Vec::new();
                for (at, key) in located.iter().enumerate() {
                    let key = key.as_ref().filter(|key| std::ptr::eq(key.scan, first.scan));
                    let number = key.and_then(|key| self.number_of(one, key));
                    // The same key twice makes no more groups.
                    taken.extend(number.map(|number| (at, number)));
                }
                let mut numbers: Vec<i16> = taken.iter().map(|(_, number)| *number).collect();
                numbers.sort_unstable();
                numbers.dedup();
                let is_it = |entry: &&(Vec<i16>, f64)| {
                    entry.0.len() == numbers.len() && entry.0.iter().all(|item| numbers.contains(item))
                };
                let Some((_, values)) = own.distinct.iter().find(is_it) else { continue };
                if numbers.len() > 1 && best.as_ref().is_none_or(|(known, _)| known.len() < taken.len()) {
                    let values = values.min(self.table(first.table)).max(1.0);
                    best = Some((taken.into_iter().map(|(at, _)| at).collect(), values));
                }
            }
        }
        best
    }

    /// The part of the rows for which some of these conditions are true together: which they are, and the part.
    pub(crate) fn together(&self, conditions: &[&TypedExpr], plan: &Plan) -> Option<(Vec<usize>, f64)> {
        let found: Vec<Option<Comparison<'_>>> =
            conditions.iter().map(|condition| self.comparison(condition, plan)).collect();
        if found.iter().flatten().count() < 2 {
            return None;
        }
        let mut best: Option<(Vec<usize>, f64)> = None;
        for first in found.iter().flatten() {
            let Some(known) = self.extended(first.of.table) else { continue };
            for one in &first.of.table.extended {
                let Some(own) = known.extended.get(&one.oid) else { continue };
                let mut all: Vec<(usize, Item<'_>)> = Vec::new();
                for (at, condition) in found.iter().enumerate() {
                    let own =
                        condition.as_ref().filter(|condition| std::ptr::eq(condition.of.scan, first.of.scan));
                    let number = own.and_then(|own| self.number_of(one, &own.of));
                    let (Some(own), Some(number)) = (own, number) else { continue };
                    let (values, bound, part) = (own.values.as_slice(), own.bound, own.part);
                    all.push((at, Item { number, values, bound, part }));
                }
                // The two sides of a range of one column are left to each other, a second equality to itself.
                let is_alone = |at: usize, item: &Item<'_>| {
                    let mut others = all.iter().filter(|(_, other)| other.number == item.number);
                    match item.bound {
                        Some(_) => others.count() == 1,
                        None => {
                            others.find(|(_, other)| other.bound.is_none()).is_some_and(|(n, _)| *n == at)
                        }
                    }
                };
                let taken: Vec<usize> =
                    all.iter().filter(|(at, item)| is_alone(*at, item)).map(|(at, _)| *at).collect();
                let items = all.into_iter().filter(|(at, _)| taken.contains(at)).map(|(_, item)| item);
                let items: Vec<Item<'_>> = items.collect();
                if items.len() < 2 || best.as_ref().is_some_and(|(known, _)| known.len() >= items.len()) {
                    continue;
                }
                if let Some(part) = self.part(first.of.table, one, own, &items) {
                    best = Some((taken, part));
                }
            }
        }
        best
    }

    /// The part of a table's rows in which columns, by number, have one of some values each: those of a key of an index, whose parts
    /// for each column by itself come beside them.
    pub(crate) fn keys_together(
        &self,
        table: &TableDef,
        keys: &[(u16, Vec<Option<Value>>, f64)],
    ) -> Option<f64> {
        let known = self.extended(table)?;
        let mut best: Option<(usize, f64)> = None;
        for one in &table.extended {
            let Some(own) = known.extended.get(&one.oid) else { continue };
            let (mut items, mut others): (Vec<Item<'_>>, f64) = (Vec::new(), 1.0);
            for (column, values, part) in keys {
                match i16::try_from(*column).ok().filter(|_| one.columns.contains(column)) {
                    Some(number) => items.push(Item { number, values, bound: None, part: *part }),
                    None => others *= part,
                }
            }
            if items.len() < 2 || best.is_some_and(|(count, _)| count >= items.len()) {
                continue;
            }
            if let Some(part) = self.part(table, one, own, &items) {
                best = Some((items.len(), part * others));
            }
        }
        best.map(|(_, part)| part)
    }

    /// The part of the rows for which conditions on columns and expressions of statistics are true together.
    fn part(
        &self,
        table: &TableDef,
        statistics: &StatisticsDef,
        own: &ExtendedStatistics,
        items: &[Item<'_>],
    ) -> Option<f64> {
        let part = common(&statistics.items(), &own.common, items).or_else(|| dependent(own, items))?;
        Some(part.clamp(0.5 / self.table(table).max(1.0), 1.0))
    }

    /// A condition as one that compares something with constants.
    fn comparison<'p>(&self, condition: &TypedExpr, plan: &'p Plan) -> Option<Comparison<'p>> {
        let (expr, values, bound) = match &condition.kind {
            K::Call { function, args } => {
                let [a, b] = args.as_slice() else { return None };
                let (expr, value, is_turned) = match (columns_of(a).is_empty(), columns_of(b).is_empty()) {
                    (false, true) => (a, b, false),
                    (true, false) => (b, a, true),
                    _ => return None,
                };
                let bound = match (function.comparison()?, is_turned) {
                    ("=", _) => None,
                    ("<", false) | (">", true) => Some("<"),
                    ("<=", false) | (">=", true) => Some("<="),
                    (">", false) | ("<", true) => Some(">"),
                    (">=", false) | ("<=", true) => Some(">="),
                    _ => return None,
                };
                (expr, vec![constant(value)], bound)
            }
            K::InList { arg, list, negated: false } => {
                if list.iter().any(|item| !columns_of(item).is_empty()) {
                    return None;
                }
                (&**arg, list.iter().map(constant).collect(), None)
            }
            _ => return None,
        };
        let of = self.located(expr, plan)?;
        Some(Comparison { of, values, bound, part: self.selectivity(condition, plan) })
    }
}

/// By values that are common together; none where some are not known.
fn common(names: &[i16], common: &[CommonValues], items: &[Item<'_>]) -> Option<f64> {
    if common.is_empty() || items.iter().any(|one| one.values.iter().any(Option::is_none)) {
        return None;
    }
    let places: Vec<(usize, &Item<'_>)> = items
        .iter()
        .map(|one| Some((names.iter().position(|name| *name == one.number)?, one)))
        .collect::<Option<_>>()?;
    let fits = |values: &[Value]| {
        places.iter().all(|(place, one)| values.get(*place).is_some_and(|own| one.fits(own)))
    };
    let (mut found, mut base, mut all) = (0.0, 0.0, 0.0);
    for one in common {
        all += one.frequency;
        if fits(&one.values) {
            found += one.frequency;
            base += one.base;
        }
    }
    let independent: f64 = items.iter().map(|one| one.part).product();
    Some(found + (independent - base).max(0.0).min((1.0 - all).max(0.0)))
}

/// By which columns tell which.
fn dependent(own: &ExtendedStatistics, items: &[Item<'_>]) -> Option<f64> {
    let equal = items.iter().filter(|one| one.bound.is_none());
    let mut parts: Vec<(i16, f64)> = equal.map(|one| (one.number, one.part)).collect();
    let others: f64 = items.iter().filter(|one| one.bound.is_some()).map(|one| one.part).product();
    let mut open: Vec<i16> = parts.iter().map(|(number, _)| *number).collect();
    let mut steps = Vec::new();
    // The strongest first: that of most columns, and of these the one of the highest degree. What is told tells nothing more.
    while open.len() > 1 {
        let fits = |(of, _): &&(Vec<i16>, f64)| of.iter().all(|number| open.contains(number));
        let strongest = own
            .dependencies
            .iter()
            .filter(fits)
            .max_by(|a, b| a.0.len().cmp(&b.0.len()).then(a.1.total_cmp(&b.1)));
        let Some((of, degree)) = strongest else { break };
        let Some((implied, determining)) = of.split_last() else { break };
        open.retain(|number| number != implied);
        steps.push((determining, *implied, *degree));
    }
    if steps.is_empty() {
        return None;
    }
    for (determining, implied, degree) in steps {
        let part =
            |number: &i16| parts.iter().find(|(known, _)| known == number).map_or(1.0, |(_, part)| *part);
        let (told, own) = (determining.iter().map(part).product::<f64>(), part(&implied));
        let new = match told <= own {
            true => degree + (1.0 - degree) * own,
            false => degree * own / told + (1.0 - degree) * own,
        };
        parts.iter_mut().filter(|(number, _)| *number == implied).for_each(|(_, part)| *part = new);
    }
    Some(parts.into_iter().map(|(_, part)| part).product::<f64>() * others)
}
