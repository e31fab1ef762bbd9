//! SELECT and VALUES.
//!
//! ```text
//! FROM ─► WHERE ─► [Aggregate ─► HAVING] ─► Project (output and hidden sort keys) ─► Distinct ─► Sort ─► Limit
//! ```

use std::sync::Arc;

use verso_row::plan::{ExprKind as K, OutputColumn, Plan, RowLock, SetOperation, SortKey, TypedExpr};
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::aggregate::over_groups;
use super::coerce::exactly;
use super::context::{Clause, Context};
use super::from::Input;
use super::lock::{self, Locking, Mark};
use super::names::output_name;
use super::resolve::{common_type, shown};
use super::scope::Scope;
use super::walk::{map_columns, same};
use super::with::inline_shared;
use crate::errors::{SqlError, sqlstate};
use crate::rewrite::rewrite;
use crate::syntax::{Expr, ExprKind, Literal, OrderItem, Query, QueryBody, Select, SelectItem, SetOperator};

/// An output column, bound.
pub(super) struct Item {
    pub(super) expr: TypedExpr,
    pub(super) name: Arc<str>,
    at: u32,
}

impl Binder<'_> {
    /// Binds a query.
    pub(super) fn query(&self, query: &Query) -> Result<Plan, SqlError> {
        self.query_for(query, &[])
    }

    /// Binds a query whose untyped literals become the target's types where there are targets, else text.
    pub(super) fn query_for(&self, query: &Query, targets: &[SqlType]) -> Result<Plan, SqlError> {
        Ok(self.query_locked(query, targets, Locking { places: query.places, ..Locking::default() })?.0)
    }

    /// The same with locks that a query around it asks for.
    pub(super) fn query_locked(
        &self,
        query: &Query,
        targets: &[SqlType],
        around: Locking<'_>,
    ) -> Result<(Plan, Vec<Mark>), SqlError> {
        if query.with.is_empty() {
            let (plan, marks) = self.body(query, targets, around)?;
            return Ok((rewrite(plan), marks));
        }
        let inside = self.with(&query.with)?;
        let (plan, marks) = inside.body(query, targets, around)?;
        Ok((rewrite(inline_shared(plan)), marks))
    }

    fn body(
        &self,
        query: &Query,
        targets: &[SqlType],
        around: Locking<'_>,
    ) -> Result<(Plan, Vec<Mark>), SqlError> {
        let locking = around.with(query);
        let mut marks = Vec::new();
        let plan = match &query.body {
            QueryBody::Select(select) => {
                let plan;
                (plan, marks) = self.select(select, &query.order_by, &locking, targets)?;
                plan
            }
            QueryBody::Values(rows) => {
                if let Some(lock) = query.locks.first() {
                    return Err(lock::not_applied(lock.strength, "VALUES"));
                }
                let plan = self.values(rows)?;
                self.order_output(plan, &query.order_by)?
            }
            QueryBody::Nested(inner) => {
                let plan;
                (plan, marks) = self.query_locked(inner, targets, locking)?;
                self.order_output(plan, &query.order_by)?
            }
            QueryBody::Set { operator, all, left, right } => {
                if let Some(lock) = locking.locks.first() {
                    return Err(lock::not_allowed(lock.strength, "UNION/INTERSECT/EXCEPT"));
                }
                let plan = self.set_operation(*operator, *all, left, right, targets)?;
                self.order_output(plan, &query.order_by)?
            }
        };
        let limit = self.count(query.limit.as_ref(), Clause::Limit)?;
        let offset = self.count(query.offset.as_ref(), Clause::Offset)?;
        if limit.is_none() && offset.is_none() {
            return Ok((plan, marks));
        }
        let mut plan = plan;
        if let (Some(limit), Plan::Project { input, .. }) = (&limit, &mut plan)
            && let Plan::LockRows { bound, .. } = &mut **input
        {
            bound.push(limit.clone());
            bound.extend(offset.clone());
        }
        Ok((Plan::Limit { input: Box::new(plan), limit, offset }, marks))
    }

    /// LIMIT or OFFSET.
    fn count(&self, expr: Option<&Expr>, clause: Clause) -> Result<Option<TypedExpr>, SqlError> {
        let Some(expr) = expr else { return Ok(None) };
        if let ExprKind::Column(parts) = &expr.kind
            && let [only] = parts.as_slice()
            && clause == Clause::Limit
            && only.text == "all"
        {
            return Ok(None);
        }
        let scope = Scope::default();
        let mut cx = Context::new(&scope, clause);
        let bound = self.expr(expr, &mut cx)?;
        let word = if clause == Clause::Limit { "LIMIT" } else { "OFFSET" };
        if !bound.ty.is_number() && bound.ty != SqlType::Unknown {
            let text = format!(
                "argument of {word} must be type bigint, not type {}",
                super::resolve::shown(&bound.ty)
            );
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(expr.at.start));
        }
        self.coerce(bound, expr.at.start, &SqlType::Int8, CastKind::Assignment).map(Some)
    }

    /// UNION, INTERSECT, EXCEPT: both sides in common types, under the names of the left one.
    fn set_operation(
        &self,
        operator: SetOperator,
        all: bool,
        left: &Query,
        right: &Query,
        targets: &[SqlType],
    ) -> Result<Plan, SqlError> {
        let types = |plan: &Plan| plan.output().into_iter().map(|column| column.ty).collect::<Vec<_>>();
        let word = operator.as_str();
        let mut first = self.query_for(left, targets)?;
        let hints = types(&first);
        let second = self.query_for(right, if targets.is_empty() { &hints } else { targets })?;
        let (ours, theirs) = (types(&first), types(&second));
        if ours.len() != theirs.len() {
            let text = format!("each {word} query must have the same number of columns");
            return Err(SqlError::syntax(text).at(right.at.start));
        }
        // An untyped literal on the left takes the type of the right side.
        if ours.iter().zip(&theirs).any(|(a, b)| common_type([a, b].into_iter()).is_err()) {
            first = self.query_for(left, &theirs)?;
        }
        let mut common = Vec::with_capacity(theirs.len());
        for (a, b) in types(&first).iter().zip(&theirs) {
            common.push(common_type([a, b].into_iter()).map_err(|(a, b)| {
                let text = format!("{word} types {} and {} cannot be matched", shown(&a), shown(&b));
                SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(right.at.start)
            })?);
        }
        let first = Box::new(self.cast_output(first, &common)?);
        let second = Box::new(self.cast_output(second, &common)?);
        let operation = match operator {
            SetOperator::Union => {
                let inputs = match *first {
                    Plan::Append { mut inputs } if all => {
                        inputs.push(*second);
                        inputs
                    }
                    first => vec![first, *second],
                };
                let append = Plan::Append { inputs };
                return Ok(if all { append } else { Plan::Distinct { input: Box::new(append) } });
            }
            SetOperator::Intersect => SetOperation::Intersect,
            SetOperator::Except => SetOperation::Except,
        };
        Ok(Plan::SetOperation { left: first, right: second, operation, all })
    }

    /// The plan with its columns cast.
    pub(super) fn cast_output(&self, plan: Plan, to: &[SqlType]) -> Result<Plan, SqlError> {
        let output = plan.output();
        if output.iter().zip(to).all(|(column, to)| column.ty == *to) {
            return Ok(plan);
        }
        let mut exprs = Vec::with_capacity(to.len());
        for (index, (column, to)) in output.iter().zip(to).enumerate() {
            let expr = TypedExpr::column(index, column.ty.clone());
            exprs.push(exactly(self.coerce(expr, 0, to, CastKind::Implicit)?, to));
        }
        let names = output.into_iter().map(|column| column.name).collect();
        Ok(Plan::Project { input: Box::new(plan), exprs, names })
    }

    fn values(&self, rows: &[Vec<Expr>]) -> Result<Plan, SqlError> {
        let width = rows.first().map_or(0, Vec::len);
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::Values);
        let mut columns: Vec<Vec<(TypedExpr, u32)>> = vec![Vec::new(); width];
        for row in rows {
            if row.len() != width {
                let at = row.first().map_or(0, |expr| expr.at.start);
                return Err(SqlError::syntax("VALUES lists must all be the same length").at(at));
            }
            for (column, expr) in columns.iter_mut().zip(row) {
                column.push((self.expr(expr, &mut cx)?, expr.at.start));
            }
        }
        let mut output = Vec::new();
        let mut table: Vec<Vec<TypedExpr>> = vec![Vec::new(); rows.len()];
        for (number, column) in columns.into_iter().enumerate() {
            let (exprs, ty) = self.unify(column, "VALUES")?;
            output.push(OutputColumn::new(format!("column{}", number + 1), ty));
            for (row, expr) in table.iter_mut().zip(exprs) {
                row.push(expr);
            }
        }
        Ok(Plan::Values { rows: table, columns: output })
    }

    // ── SELECT ───────────────────────────────────────────────────────────────────────────────────────────────────

    fn select(
        &self,
        select: &Select,
        order_by: &[OrderItem],
        locking: &Locking<'_>,
        targets: &[SqlType],
    ) -> Result<(Plan, Vec<Mark>), SqlError> {
        let Input { mut plan, mut scope, mut marks } = self.from(select.from.as_ref(), &locking.locks)?;
        if locking.places && locking.locks.is_empty() {
            lock::positioned(&mut plan, &mut scope, &mut marks);
        }
        lock::check(&locking.locks, select, &scope)?;
        let filter = self.filter(select.filter.as_ref(), &scope)?;
        let mut cx = Context::new(&scope, Clause::Select);
        let mut items = self.items(&select.items, &mut cx)?;
        for (number, item) in items.iter_mut().enumerate() {
            let expr = std::mem::replace(&mut item.expr, TypedExpr::null(SqlType::Unknown));
            item.expr = match targets.get(number) {
                Some(target) if expr.ty == SqlType::Unknown => {
                    self.coerce(expr, item.at, target, CastKind::Assignment)?
                }
                _ => self.settle(expr, item.at)?,
            };
        }
        cx.clause = Clause::GroupBy;
        let mut keys = Vec::new();
        for key in &select.group_by {
            let key = self.group_key(key, &items, &mut cx)?;
            if !keys.iter().any(|known| same(known, &key)) {
                keys.push(key);
            }
        }
        cx.clause = Clause::Having;
        let mut having = match &select.having {
            Some(having) => {
                let bound = self.expr(having, &mut cx)?;
                Some(self.boolean(bound, having.at.start, "HAVING")?)
            }
            None => None,
        };
        cx.clause = Clause::OrderBy;
        let mut hidden: Vec<TypedExpr> = Vec::new();
        let mut sort = Vec::new();
        for item in order_by {
            let column = match self.output_reference(&item.expr, &items, "ORDER BY")? {
                Some(column) => column,
                None => {
                    let bound = self.expr(&item.expr, &mut cx)?;
                    let bound = self.settle(bound, item.expr.at.start)?;
                    let known = items
                        .iter()
                        .map(|item| &item.expr)
                        .chain(&hidden)
                        .position(|expr| same(expr, &bound));
                    known.unwrap_or_else(|| {
                        hidden.push(bound);
                        items.len() + hidden.len() - 1
                    })
                }
            };
            if select.distinct && column >= items.len() {
                let text = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(item.expr.at.start));
            }
            sort.push((column, item.descending, item.nulls_first));
        }
        let Context { aggregates, plain_columns, .. } = cx;
        let grouped = !aggregates.is_empty() || !keys.is_empty() || having.is_some();
        let names: Vec<Arc<str>> = items.iter().map(|item| Arc::clone(&item.name)).collect();
        let mut exprs: Vec<TypedExpr> = items.into_iter().map(|item| item.expr).chain(hidden).collect();
        if let (Some(lock), true) = (locking.locks.first(), grouped) {
            return Err(lock::not_allowed(lock.strength, "aggregate functions"));
        }
        if grouped || select.distinct {
            marks.clear();
        }
        let places = exprs.len();
        let locked = lock::places(&mut marks, &mut exprs);
        if grouped {
            for expr in exprs.iter_mut().chain(having.as_mut()) {
                over_groups(expr, &keys, &plain_columns)?;
            }
        }
        let mut plan = match filter {
            Some(predicate) => Plan::Filter { input: Box::new(plan), predicate },
            None => plan,
        };
        if grouped {
            plan = Plan::Aggregate { input: Box::new(plan), group_by: keys, aggregates };
            if let Some(predicate) = having {
                plan = Plan::Filter { input: Box::new(plan), predicate };
            }
        }
        if locking.export {
            let hidden = locked.iter().map(|_| Arc::from(""));
            let names = names.into_iter().chain(hidden).collect();
            debug_assert!(sort.is_empty() && places + locked.len() == exprs.len());
            return Ok((Plan::Project { input: Box::new(plan), exprs, names }, marks));
        }
        marks.iter_mut().for_each(|mark| mark.row = None);
        let shown = if locking.places { locked.len() } else { 0 };
        let locks = if locking.locks.is_empty() { Vec::new() } else { locked };
        Ok((finish(plan, exprs, names, select.distinct, sort, locks, shown), marks))
    }

    /// WHERE.
    pub(super) fn filter(&self, filter: Option<&Expr>, scope: &Scope) -> Result<Option<TypedExpr>, SqlError> {
        let Some(filter) = filter else { return Ok(None) };
        let mut cx = Context::new(scope, Clause::Where);
        let bound = self.expr(filter, &mut cx)?;
        self.boolean(bound, filter.at.start, "WHERE").map(Some)
    }

    /// An output list; `*` is every column of the scope.
    pub(super) fn items(&self, items: &[SelectItem], cx: &mut Context<'_>) -> Result<Vec<Item>, SqlError> {
        let mut all = Vec::new();
        for item in items {
            match item {
                SelectItem::Expr { expr, alias } => {
                    let name = match alias {
                        Some(alias) => alias.text.clone(),
                        None => output_name(expr),
                    };
                    all.push(Item { expr: self.expr(expr, cx)?, name: name.into(), at: expr.at.start });
                }
                SelectItem::Wildcard { table, at } => {
                    let scope = cx.scope();
                    if scope.tables.is_empty() && scope.columns.is_empty() {
                        return Err(
                            SqlError::syntax("SELECT * with no tables specified is not valid").at(at.start)
                        );
                    }
                    let columns = match table {
                        None => scope.visible.clone(),
                        Some(table) => {
                            let item = scope
                                .table(&table.name.text)
                                .ok_or_else(|| scope.missing_table(&table.name))?;
                            let one = |index: usize| {
                                let (name, ty) = &scope.columns[index];
                                (Arc::clone(name), TypedExpr::column(index, ty.clone()))
                            };
                            item.columns.clone().map(one).collect()
                        }
                    };
                    for (name, expr) in columns {
                        cx.uses(&expr, at.start);
                        all.push(Item { expr, name, at: at.start });
                    }
                }
            }
        }
        Ok(all)
    }

    fn group_key(&self, key: &Expr, items: &[Item], cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let is_input = match &key.kind {
            ExprKind::Column(parts) => match parts.as_slice() {
                [name] => cx.scope().visible.iter().any(|(column, _)| **column == *name.text),
                _ => true,
            },
            _ => false,
        };
        if !is_input && let Some(column) = self.output_reference(key, items, "GROUP BY")? {
            let expr = items[column].expr.clone();
            if expr.any(
                &mut |part| matches!(part.kind, K::Column(column) if column >= super::context::AGGREGATE_BASE),
            ) {
                let text = "aggregate functions are not allowed in GROUP BY";
                return Err(SqlError::new(sqlstate::GROUPING_ERROR, text).at(items[column].at));
            }
            return Ok(expr);
        }
        let bound = self.expr(key, cx)?;
        self.settle(bound, key.at.start)
    }

    /// The output column that a bare name or number in ORDER BY or GROUP BY means.
    fn output_reference(&self, expr: &Expr, items: &[Item], clause: &str) -> Result<Option<usize>, SqlError> {
        match &expr.kind {
            ExprKind::Literal(Literal::Number(digits)) => match digits.parse::<i32>() {
                Ok(position) => {
                    match usize::try_from(position).ok().filter(|n| (1..=items.len()).contains(n)) {
                        Some(position) => Ok(Some(position - 1)),
                        None => {
                            let text = format!("{clause} position {position} is not in select list");
                            Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(expr.at.start))
                        }
                    }
                }
                Err(_) => {
                    Err(SqlError::syntax(format!("non-integer constant in {clause}")).at(expr.at.start))
                }
            },
            ExprKind::Literal(_) => {
                Err(SqlError::syntax(format!("non-integer constant in {clause}")).at(expr.at.start))
            }
            ExprKind::Column(parts) => {
                let [name] = parts.as_slice() else { return Ok(None) };
                let mut fits = items.iter().enumerate().filter(|(_, item)| *item.name == *name.text);
                let Some((first, item)) = fits.next() else { return Ok(None) };
                if fits.any(|(_, other)| !same(&other.expr, &item.expr)) {
                    let text = format!("{clause} \"{}\" is ambiguous", name.text);
                    return Err(SqlError::new(sqlstate::AMBIGUOUS_COLUMN, text).at(name.at.start));
                }
                Ok(Some(first))
            }
            _ => Ok(None),
        }
    }

    /// ORDER BY over the output of a plan.
    fn order_output(&self, plan: Plan, order_by: &[OrderItem]) -> Result<Plan, SqlError> {
        if order_by.is_empty() {
            return Ok(plan);
        }
        let output = plan.output();
        let item = |(index, column): (usize, &OutputColumn)| Item {
            expr: TypedExpr::column(index, column.ty.clone()),
            name: Arc::clone(&column.name),
            at: 0,
        };
        let items: Vec<Item> = output.iter().enumerate().map(item).collect();
        let columns = output.iter().map(|column| (Arc::clone(&column.name), column.ty.clone())).collect();
        let scope = Scope::of(None, None, columns);
        let mut keys = Vec::new();
        for order in order_by {
            let expr = match self.output_reference(&order.expr, &items, "ORDER BY")? {
                Some(column) => items[column].expr.clone(),
                None => {
                    let bound = self.expr(&order.expr, &mut Context::new(&scope, Clause::Limit))?;
                    self.settle(bound, order.expr.at.start)?
                }
            };
            keys.push(SortKey { expr, descending: order.descending, nulls_first: order.nulls_first });
        }
        Ok(Plan::Sort { input: Box::new(plan), keys })
    }
}

/// The columns used, in the table's order; the expressions are renumbered to them.
pub(super) fn prune(exprs: &mut [&mut TypedExpr]) -> Vec<usize> {
    let mut used = Vec::new();
    for expr in exprs.iter_mut() {
        map_columns(expr, &mut |column| {
            used.push(column);
            column
        });
    }
    used.sort_unstable();
    used.dedup();
    for expr in exprs.iter_mut() {
        map_columns(expr, &mut |column| used.binary_search(&column).unwrap_or(column));
    }
    used
}

/// What is computed below a sort, and the expressions over that above it: what does something (a sequence's next value) is
/// done in the order of the rows that come out, and only for these.
fn around_sort(
    exprs: Vec<TypedExpr>,
    late: &[bool],
    input: &[OutputColumn],
) -> (Vec<TypedExpr>, Vec<TypedExpr>) {
    let mut below: Vec<TypedExpr> = Vec::new();
    let mut above = exprs;
    for (expr, _) in above.iter_mut().zip(late).filter(|(_, late)| !**late) {
        let column = TypedExpr::column(below.len(), expr.ty.clone());
        below.push(std::mem::replace(expr, column));
    }
    let mut needed: Vec<(usize, usize)> = Vec::new();
    for (expr, _) in above.iter_mut().zip(late).filter(|(_, late)| **late) {
        map_columns(expr, &mut |column| {
            let known = needed.iter().find(|(needed, _)| *needed == column);
            known.map(|(_, at)| *at).unwrap_or_else(|| {
                needed.push((column, below.len()));
                below.push(TypedExpr::column(column, input[column].ty.clone()));
                below.len() - 1
            })
        });
    }
    (below, above)
}

/// Project, Distinct and Sort over the input; hidden columns are behind the named ones and taken away again, but for the
/// last `shown`.
fn finish(
    input: Plan,
    exprs: Vec<TypedExpr>,
    names: Vec<Arc<str>>,
    distinct: bool,
    sort: Vec<(usize, bool, bool)>,
    locks: Vec<RowLock>,
    shown: usize,
) -> Plan {
    let width = names.len();
    let types: Vec<SqlType> = exprs.iter().map(|expr| expr.ty.clone()).collect();
    let output = input.output();
    let unchanged = exprs.len() == output.len()
        && width == exprs.len()
        && exprs.iter().enumerate().all(|(n, expr)| matches!(expr.kind, K::Column(column) if column == n))
        && output.iter().zip(&names).all(|(column, name)| column.name == *name);
    let key = |expr: TypedExpr, (_, descending, nulls_first): &(usize, bool, bool)| SortKey {
        expr,
        descending: *descending,
        nulls_first: *nulls_first,
    };
    let hidden = (width..exprs.len()).map(|_| Arc::from("?column?"));
    let all_names: Vec<Arc<str>> = names.iter().cloned().chain(hidden).collect();
    let late: Vec<bool> = (exprs.iter().enumerate())
        .map(|(n, expr)| expr.is_volatile() && !sort.iter().any(|(column, ..)| *column == n))
        .collect();
    let mut plan = input;
    if !sort.is_empty() && !distinct && late.contains(&true) {
        let (below, above) = around_sort(exprs, &late, &output);
        let keys = sort.iter().map(|item| key(above[item.0].clone(), item)).collect();
        let names = below.iter().map(|_| Arc::from("?column?")).collect();
        plan = Plan::Project { input: Box::new(plan), exprs: below, names };
        plan = Plan::Sort { input: Box::new(plan), keys };
        plan = Plan::Project { input: Box::new(plan), exprs: above, names: all_names };
    } else {
        if !unchanged {
            plan = Plan::Project { input: Box::new(plan), exprs, names: all_names };
        }
        if distinct {
            plan = Plan::Distinct { input: Box::new(plan) };
        }
        if !sort.is_empty() {
            let column = |item: &(usize, bool, bool)| TypedExpr::column(item.0, types[item.0].clone());
            let keys = sort.iter().map(|item| key(column(item), item)).collect();
            plan = Plan::Sort { input: Box::new(plan), keys };
        }
    }
    let locked = !locks.is_empty();
    if locked {
        plan = Plan::LockRows { input: Box::new(plan), locks, bound: Vec::new() };
    }
    if locked || types.len() > width + shown {
        let kept = (0..width).chain(types.len() - shown..types.len());
        let exprs = kept.map(|n| TypedExpr::column(n, types[n].clone())).collect();
        let names = names.into_iter().chain((0..shown).map(|_| Arc::from(""))).collect();
        plan = Plan::Project { input: Box::new(plan), exprs, names };
    }
    plan
}
