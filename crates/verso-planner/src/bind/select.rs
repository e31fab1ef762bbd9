//! SELECT: its clauses in the order in which their names mean something, each bound in its own context.

use std::collections::BTreeMap;
use std::sync::Arc;

use verso_exec::plan::{ExprKind as K, Plan, SetColumns, TypedExpr};
use verso_types::{CastKind, SqlType, Value};

use super::Binder;
use super::collate::ordered;
use super::context::{Clause, Context, SET_BASE, WINDOW_BASE};
use super::from::Input;
use super::grouping::{Above, Grouping, Keys};
use super::lock::{self, Locking, Mark};
use super::names::{first_column, output_name_with};
use super::order::{Output, SortColumn};
use super::row::with_fields;
use super::scope::Scope;
use super::shared_calls::Before;
use super::trace::StarredField;
use super::walk::{columns_of, in_turn, map_columns, same};
use super::window::Windows;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, Name, OrderItem, Select, SelectItem};

/// Entries of an output list, with the hidden ones that it is sorted and grouped by: the protocol counts columns in 16 bits.
const TARGETS_MAX: usize = 1664;

/// That an output list may have so many entries.
///
/// # Errors
/// 54011, as PostgreSQL words it.
pub(super) fn check_targets(count: usize) -> Result<(), SqlError> {
    if count <= TARGETS_MAX {
        return Ok(());
    }
    let text = format!("target lists can have at most {TARGETS_MAX} entries");
    Err(SqlError::new(sqlstate::TOO_MANY_COLUMNS, text))
}

/// An output column, bound.
pub(super) struct Item {
    pub(super) expr: TypedExpr,
    pub(super) name: Arc<str>,
    pub(super) at: u32,
}

impl Binder<'_> {
    /// A SELECT, and the places of the records it reads.
    pub(super) fn select(
        &self,
        select: &Select,
        order_by: &[OrderItem],
        locking: &Locking<'_>,
        targets: &[SqlType],
    ) -> Result<(Plan, Vec<Mark>), SqlError> {
        let Input { mut plan, mut scope, mut marks } = self.from(select.from.as_ref(), &locking.locks)?;
        if !select.hints.is_empty() {
            let tables = scope.tables.iter();
            let tables = tables.filter_map(|table| Some((table.name.clone()?, table.relation?))).collect();
            self.hints.add(&texts(&select.hints), tables);
        }
        if locking.places && locking.locks.is_empty() {
            lock::positioned(&mut plan, &mut scope, &mut marks);
        }
        lock::check(&locking.locks, select, &scope)?;
        let filter = self.filter(select.filter.as_ref(), &scope)?;
        let mut cx = Context { named_windows: &select.windows, ..Context::new(&scope, Clause::Select) };
        self.check_windows(&mut cx)?;
        let items = self.output_items(&select.items, targets, &mut cx)?;
        let keys = self.group_keys(&select.group_by, select.group_distinct, &items, &mut cx)?;
        let having = self.having(select.having.as_ref(), &mut cx)?;
        let distinct = Distinct { all: select.distinct, on: &select.distinct_on };
        let Sorting { sort, hidden, distinct_on } =
            self.sort_columns(order_by, &distinct, &items, &mut cx)?;
        let Context { aggregates, groupings, windows, sets: set_calls, plain_columns, nulls, .. } = cx;
        let aggregates = aggregates.into_inner();
        let grouped = !aggregates.is_empty()
            || !select.group_by.is_empty()
            || having.is_some()
            || !groupings.borrow().is_empty();
        let names: Vec<Arc<str>> = items.iter().map(|item| Arc::clone(&item.name)).collect();
        let mut exprs: Vec<TypedExpr> = items.into_iter().map(|item| item.expr).chain(hidden).collect();
        let excluded = [
            (grouped, "aggregate functions"),
            (!windows.is_empty(), "window functions"),
            (!set_calls.is_empty(), "set-returning functions in the target list"),
        ];
        if let (Some(lock), Some((_, what))) =
            (locking.locks.first(), excluded.iter().find(|(present, _)| *present))
        {
            return Err(lock::not_allowed(lock.strength, what));
        }
        if grouped
            || select.distinct
            || !select.distinct_on.is_empty()
            || !windows.is_empty()
            || !set_calls.is_empty()
        {
            marks.clear();
        }
        let places = exprs.len();
        let locked = lock::places(&mut marks, &mut exprs);
        let mut plan = match filter {
            Some(predicate) => Plan::Filter { input: Box::new(plan), predicate },
            None => plan,
        };
        let mut above = Above { exprs, having, windows, set_calls };
        let Keys { exprs: mut keys, entries, sets, .. } = keys;
        let mut done = vec![false; above.set_calls.len()];
        // Rows are grouped by what set-returning functions yield.
        let (over, made) = project_sets(plan, &above.set_calls, &mut done, &mut |number| {
            keys.iter().any(|key| columns_of(key).contains(&(SET_BASE + number)))
        });
        plan = over;
        if !made.is_empty() {
            let mut place = |column: usize| made.get(&column).copied().unwrap_or(column);
            keys.iter_mut().for_each(|key| map_columns(key, &mut place));
            above.made_below(&made, &done);
        }
        if grouped {
            let depends = |column: usize, keys: &[TypedExpr]| self.depends(&scope, column, keys);
            let groupings = groupings.into_inner();
            let grouping =
                Grouping { keys, entries, sets, aggregates, groupings, plain_columns: &plain_columns, nulls };
            plan = grouping.over(plan, &mut above, &depends)?;
        }
        if !above.windows.is_empty() {
            // Windows are over the rows that they are divided or ordered by.
            let (over, made) = project_sets(plan, &above.set_calls, &mut done, &mut |number| {
                above.windows.are_by(SET_BASE + number)
            });
            plan = over;
            above.made_below(&made, &done);
        }
        let Above { exprs, having, windows, set_calls } = above;
        if let Some(predicate) = having {
            plan = Plan::Filter { input: Box::new(plan), predicate };
        }
        let (plan, exprs, set_calls) = over_windows(plan, windows, set_calls, exprs);
        // Without ORDER BY the rows of set-returning functions are among those that DISTINCT ON tells apart.
        let late = match order_by {
            [] => None,
            // All of the output is compared.
            _ if select.distinct => None,
            _ => LateSets::of(&exprs, &sort, &distinct_on, &set_calls, &done),
        };
        if let Some(late) = late {
            let output = Output { distinct_on, sort, ..Output::of_columns(late.below) };
            let (plan, made) = project_sets(output.over(plan)?, &late.calls, &mut done, &mut |_| true);
            let mut exprs = late.above;
            let mut place = |column: usize| made.get(&column).copied().unwrap_or(column);
            exprs.iter_mut().for_each(|expr| map_columns(expr, &mut place));
            exprs.truncate(names.len());
            return Ok((Plan::Project { input: Box::new(plan), exprs, names }, marks));
        }
        let (plan, exprs) = over_sets(plan, &set_calls, &mut done, exprs);
        if locking.export {
            let hidden = locked.iter().map(|_| Arc::from(""));
            let names = names.into_iter().chain(hidden).collect();
            debug_assert!(sort.is_empty() && places + locked.len() == exprs.len());
            return Ok((Plan::Project { input: Box::new(plan), exprs, names }, marks));
        }
        marks.iter_mut().for_each(|mark| mark.row = None);
        let shown = if locking.places { locked.len() } else { 0 };
        let locks = if locking.locks.is_empty() { Vec::new() } else { locked };
        let output = Output { exprs, names, distinct: select.distinct, distinct_on, sort, locks, shown };
        Ok((output.over(plan)?, marks))
    }

    /// WHERE.
    pub(super) fn filter(&self, filter: Option<&Expr>, scope: &Scope) -> Result<Option<TypedExpr>, SqlError> {
        let Some(filter) = filter else { return Ok(None) };
        let mut cx = Context::new(scope, Clause::Where);
        let bound = self.expr(filter, &mut cx)?;
        let bound = self.boolean(bound, filter.at.start, "WHERE")?;
        Ok(if bound.is_volatile() { TypedExpr::conjunction(in_turn(bound.conjuncts())) } else { Some(bound) })
    }

    /// The output list, whose untyped literals become the target's types where there are targets, else text.
    fn output_items(
        &self,
        items: &[SelectItem],
        targets: &[SqlType],
        cx: &mut Context<'_>,
    ) -> Result<Vec<Item>, SqlError> {
        let mut items = self.items(items, cx)?;
        for (number, item) in items.iter_mut().enumerate() {
            let expr = std::mem::replace(&mut item.expr, TypedExpr::null(SqlType::Unknown));
            item.expr = match targets.get(number) {
                Some(target) if expr.ty == SqlType::Unknown => {
                    self.coerce(expr, item.at, target, CastKind::Assignment)?
                }
                _ => with_fields(self.settle(expr, item.at)?),
            };
            if let Some(trace) = self.traced {
                trace.output(item.at, &item.expr.ty);
            }
        }
        Ok(items)
    }

    /// An output list; `*` is every column of the scope.
    pub(super) fn items(&self, items: &[SelectItem], cx: &mut Context<'_>) -> Result<Vec<Item>, SqlError> {
        let mut all = Vec::new();
        for item in items {
            match item {
                SelectItem::Expr { expr, alias } => {
                    let bound = self.expr(expr, cx)?;
                    let name: Arc<str> = match alias {
                        Some(alias) => alias.text.as_str().into(),
                        None => output_name_with(expr, &|query| {
                            let known = cx.queries.iter().find(|(at, _)| *at == query.at.start);
                            known.map_or_else(|| first_column(query), |(_, name)| Some(name.to_string()))
                        })
                        .into(),
                    };
                    all.push(Item { expr: bound, name, at: expr.at.start });
                }
                SelectItem::Fields { expr, at } => {
                    let row = self.expr(expr, cx)?;
                    let fields = self.fields(&row).map_err(|error| match row.ty {
                        SqlType::Record => error,
                        _ => error.at(at.start),
                    })?;
                    self.trace_fields(&row, &fields, at.start);
                    all.extend(fields.into_iter().map(|(name, expr)| Item { expr, name, at: at.start }));
                }
                SelectItem::Wildcard { table, at } => {
                    let scope = cx.scope();
                    if let Some(table) = table
                        && scope.table(&table.name.text).is_none()
                        && let Some(fields) = self.fields_of_record(table)
                    {
                        let names: Vec<Name> = table.schema.iter().chain([&table.name]).cloned().collect();
                        self.trace_variable(&names, &fields, at.start);
                        let item = |(name, expr)| Item { expr, name, at: at.start };
                        all.extend(fields.into_iter().map(item));
                        continue;
                    }
                    if let Some(table) = table
                        && scope.table(&table.name.text).is_none()
                        && let Some(columns) = self.starred_around(&table.name.text, at.start)
                    {
                        all.extend(columns.into_iter().map(|(name, expr)| Item { expr, name, at: at.start }));
                        continue;
                    }
                    if scope.tables.is_empty() && scope.columns.is_empty() {
                        return Err(
                            SqlError::syntax("SELECT * with no tables specified is not valid").at(at.start)
                        );
                    }
                    let columns = match table {
                        None => scope.visible.clone(),
                        Some(table) => {
                            scope.check_one(table.schema.as_ref(), &table.name)?;
                            let item = scope
                                .item(table.schema_text(), &table.name.text)
                                .ok_or_else(|| scope.missing_table(&table.name))?;
                            scope.starred(item)
                        }
                    };
                    if let Some(trace) = self.traced {
                        trace.star(at.start, scope, &columns);
                    }
                    for (name, expr) in columns {
                        cx.uses(&expr, at.start);
                        all.push(Item { expr, name, at: at.start });
                    }
                }
            }
            check_targets(all.len())?;
        }
        Ok(all)
    }

    /// Notes what `(row).*` stands for; nothing of what is made of a row that has no type.
    pub(super) fn trace_fields(&self, row: &TypedExpr, fields: &[(Arc<str>, TypedExpr)], place: u32) {
        let (Some(trace), SqlType::Row(columns)) = (self.traced, &row.ty) else { return };
        let then = self.fields_then(columns);
        let field = |(n, (name, expr)): (usize, &(Arc<str>, TypedExpr))| {
            let at = then.as_ref().map_or(Some(n), |then| then.get(n).map(|(at, _)| *at))?;
            let today = Arc::clone(&columns.fields.get(at)?.0);
            Some(StarredField { name: Arc::clone(name), today, at, ty: expr.ty.clone() })
        };
        if let Some(fields) = fields.iter().enumerate().map(field).collect() {
            trace.starred_fields(place, fields);
        }
    }

    /// HAVING.
    fn having(&self, having: Option<&Expr>, cx: &mut Context<'_>) -> Result<Option<TypedExpr>, SqlError> {
        cx.clause = Clause::Having;
        let Some(having) = having else { return Ok(None) };
        let bound = self.expr(having, cx)?;
        self.boolean(bound, having.at.start, "HAVING").map(Some)
    }

    /// ORDER BY and DISTINCT ON: columns of the output, and the hidden ones behind them that they need besides.
    fn sort_columns(
        &self,
        order_by: &[OrderItem],
        distinct: &Distinct<'_>,
        items: &[Item],
        cx: &mut Context<'_>,
    ) -> Result<Sorting, SqlError> {
        cx.clause = Clause::OrderBy;
        let mut sorting = Sorting::default();
        for expr in distinct.on {
            let column = self.sort_column(expr, "SELECT DISTINCT ON", items, &mut sorting.hidden, cx)?;
            if !sorting.distinct_on.contains(&column) {
                sorting.distinct_on.push(column);
            }
        }
        let mut other = None;
        for item in order_by {
            let OrderItem { expr, descending, nulls_first, .. } = item;
            let at = expr.at.start;
            let column = self.sort_column(expr, "ORDER BY", items, &mut sorting.hidden, cx)?;
            // What has no collation is found out while its place is known.
            let sorted = items.get(column).map(|item| &item.expr);
            let mut by_bytes = false;
            if let Some(sorted) = sorted.or_else(|| sorting.hidden.get(column - items.len())) {
                by_bytes = self.sorts_bytes(sorted, item)?;
                if !by_bytes {
                    ordered(sorted.clone(), at)?;
                }
            }
            if distinct.all && column >= items.len() {
                let text = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(at));
            }
            // What is equal by a key is so by the same key again.
            if sorting.sort.iter().any(|key| key.column == column) {
                continue;
            }
            match sorting.distinct_on.contains(&column) {
                true if other.is_some() => return Err(distinct_on_first(other.unwrap_or(at))),
                true => {}
                false => other = other.or(Some(at)),
            }
            let (descending, nulls_first) = (*descending, *nulls_first);
            sorting.sort.push(SortColumn { column, descending, nulls_first, by_bytes });
        }
        // What is left of DISTINCT ON is sorted, too: equal rows stand together.
        for column in sorting.distinct_on.clone() {
            if !sorting.sort.iter().any(|key| key.column == column) {
                if let Some(at) = other {
                    return Err(distinct_on_first(at));
                }
                sorting.sort.push(SortColumn::ascending(column));
            }
        }
        Ok(sorting)
    }

    /// The column of the output that an expression of ORDER BY is; a hidden one where there is none.
    fn sort_column(
        &self,
        expr: &Expr,
        clause: &str,
        items: &[Item],
        hidden: &mut Vec<TypedExpr>,
        cx: &mut Context<'_>,
    ) -> Result<usize, SqlError> {
        if let Some(column) = self.output_reference(expr, items, clause)? {
            return Ok(column);
        }
        let before = Before::of(cx);
        let bound = self.expr(expr, cx)?;
        let mut bound = with_fields(self.settle(bound, expr.at.start)?);
        before.share(&mut bound, cx);
        let mut known = items.iter().map(|item| &item.expr).chain(&*hidden);
        let is_it = |expr: &TypedExpr| same(expr, &bound) && expr.collation == bound.collation;
        if let Some(column) = known.position(is_it) {
            return Ok(column);
        }
        hidden.push(bound);
        let count = items.len() + hidden.len();
        check_targets(count)?;
        Ok(count - 1)
    }
}

/// DISTINCT and DISTINCT ON.
struct Distinct<'s> {
    all: bool,
    on: &'s [Expr],
}

/// What the rows are ordered by and told apart by.
#[derive(Default)]
struct Sorting {
    sort: Vec<SortColumn>,
    /// Columns behind those of the output.
    hidden: Vec<TypedExpr>,
    /// The columns of DISTINCT ON.
    distinct_on: Vec<usize>,
}

fn distinct_on_first(at: u32) -> SqlError {
    let text = "SELECT DISTINCT ON expressions must match initial ORDER BY expressions";
    SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(at)
}

/// The one row of expressions as many rows as the set-returning functions in it make.
pub(super) fn rows_of_sets(exprs: Vec<TypedExpr>, names: Vec<Arc<str>>, set_calls: Vec<SetColumns>) -> Plan {
    let row = Plan::Values { rows: vec![Vec::new()], columns: Vec::new() };
    let mut done = vec![false; set_calls.len()];
    let (plan, exprs) = over_sets(row, &set_calls, &mut done, exprs);
    Plan::Project { input: Box::new(plan), exprs, names }
}

/// The functions over windows.
fn over_windows(
    plan: Plan,
    windows: Windows,
    mut set_calls: Vec<SetColumns>,
    mut exprs: Vec<TypedExpr>,
) -> (Plan, Vec<TypedExpr>, Vec<SetColumns>) {
    if windows.is_empty() {
        return (plan, exprs, set_calls);
    }
    let (plan, places) = windows.over(plan);
    let mut place = |column: usize| match column {
        SET_BASE.. => column,
        WINDOW_BASE.. => places[column - WINDOW_BASE],
        _ => column,
    };
    exprs.iter_mut().for_each(|expr| map_columns(expr, &mut place));
    let args = set_calls.iter_mut().flat_map(|call| call.call.args_mut());
    args.for_each(|arg| map_columns(arg, &mut place));
    (plan, exprs, set_calls)
}

/// The set-returning functions level by level, and the output over them.
fn over_sets(
    plan: Plan,
    set_calls: &[SetColumns],
    done: &mut [bool],
    mut exprs: Vec<TypedExpr>,
) -> (Plan, Vec<TypedExpr>) {
    let (plan, made) = project_sets(plan, set_calls, done, &mut |_| true);
    if !made.is_empty() {
        let mut place = |column: usize| made.get(&column).copied().unwrap_or(column);
        exprs.iter_mut().for_each(|expr| map_columns(expr, &mut place));
    }
    (plan, exprs)
}

/// With ORDER BY rows are sorted, and DISTINCT ON takes the first one of each group, before set-returning functions of the output
/// make several of each, unless rows are told apart or ordered by what one of them yields. So a LIMIT ends the functions, too.
struct LateSets {
    /// What is computed before; the first ones are entries of the output, or stand in place of them.
    below: Vec<TypedExpr>,
    /// The output over that.
    above: Vec<TypedExpr>,
    calls: Vec<SetColumns>,
}

impl LateSets {
    fn of(
        exprs: &[TypedExpr],
        sort: &[SortColumn],
        distinct_on: &[usize],
        set_calls: &[SetColumns],
        done: &[bool],
    ) -> Option<LateSets> {
        let has_set = |expr: &TypedExpr| columns_of(expr).into_iter().any(|column| column >= SET_BASE);
        let mut keys = sort.iter().map(|key| key.column).chain(distinct_on.iter().copied());
        if done.iter().all(|done| *done) || keys.any(|n| has_set(&exprs[n])) {
            return None;
        }
        let (mut below, mut above, mut calls) = (exprs.to_vec(), exprs.to_vec(), set_calls.to_vec());
        let mut known: Vec<(usize, usize)> = Vec::new();
        let mut place = |expr: &mut TypedExpr, below: &mut Vec<TypedExpr>| {
            let mut types = Vec::new();
            expr.any(&mut |part| {
                if let K::Column(column) = part.kind {
                    types.push((column, part.clone()));
                }
                false
            });
            map_columns(expr, &mut |column| {
                if column >= SET_BASE {
                    return column;
                }
                let found = known.iter().find(|(of, _)| *of == column).map(|(_, at)| *at);
                found.unwrap_or_else(|| {
                    let part = types.iter().find(|(of, _)| *of == column).map(|(_, part)| part.clone());
                    below.push(part.unwrap_or_else(|| TypedExpr::null(SqlType::Text)));
                    known.push((column, below.len() - 1));
                    below.len() - 1
                })
            });
        };
        for (n, expr) in above.iter_mut().enumerate() {
            if has_set(expr) {
                place(expr, &mut below);
                below[n] = TypedExpr::literal(Value::Bool(true), SqlType::Bool);
            } else {
                let mut column = TypedExpr::column(n, expr.seen());
                column.collation = expr.collation.clone();
                *expr = column;
            }
        }
        calls.iter_mut().flat_map(|call| call.call.args_mut()).for_each(|arg| place(arg, &mut below));
        Some(LateSets { below, above, calls })
    }
}

/// The wanted ones of the set-returning functions that are not `done` yet, level by level: those whose arguments need
/// another one come above it. Where the column is that stands for each.
fn project_sets(
    mut plan: Plan,
    set_calls: &[SetColumns],
    done: &mut [bool],
    wanted: &mut dyn FnMut(usize) -> bool,
) -> (Plan, BTreeMap<usize, usize>) {
    let mut made = BTreeMap::new();
    let needs = |number: usize| {
        let args = set_calls[number].call.args().iter().flat_map(columns_of);
        args.filter(|column| *column >= SET_BASE).map(|column| column - SET_BASE).collect::<Vec<_>>()
    };
    let mut open: Vec<usize> =
        (0..set_calls.len()).filter(|number| !done[*number] && wanted(*number)).collect();
    let mut looked = 0;
    while let Some(number) = open.get(looked).copied() {
        let more: Vec<usize> = needs(number).into_iter().filter(|n| !done[*n] && !open.contains(n)).collect();
        open.extend(more);
        looked += 1;
    }
    open.sort_unstable();
    while !open.is_empty() {
        let (now, later): (Vec<usize>, Vec<usize>) =
            open.iter().partition(|number| needs(**number).iter().all(|needed| !open.contains(needed)));
        let width = plan.output().len();
        let mut calls = Vec::new();
        for number in &now {
            let mut call = set_calls[*number].clone();
            for arg in call.call.args_mut() {
                map_columns(arg, &mut |column| made.get(&column).copied().unwrap_or(column));
            }
            calls.push(call);
        }
        for (n, number) in now.iter().enumerate() {
            made.insert(SET_BASE + number, width + n);
            done[*number] = true;
        }
        plan = Plan::ProjectSet { input: Box::new(plan), calls, ordinality: false, unread: Vec::new() };
        open = later;
    }
    (plan, made)
}

/// The texts of hints.
pub(super) fn texts(hints: &[verso_parser::syntax::Hint]) -> Vec<&str> {
    hints.iter().map(|hint| hint.text.as_str()).collect()
}
