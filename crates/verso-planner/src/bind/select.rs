//! SELECT: its clauses in the order in which their names mean something, each bound in its own context.

use std::sync::Arc;

use verso_exec::plan::{ExprKind as K, Plan, TypedExpr};
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::aggregate::over_groups;
use super::context::{AGGREGATE_BASE, Clause, Context};
use super::from::Input;
use super::lock::{self, Locking, Mark};
use super::names::output_name;
use super::order::{Output, SortColumn};
use super::scope::Scope;
use super::unbound;
use super::walk::same;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, ExprKind, GroupItem, OrderItem, Select, SelectItem};

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
        unbound::select(select)?;
        let Input { mut plan, mut scope, mut marks } = self.from(select.from.as_ref(), &locking.locks)?;
        if locking.places && locking.locks.is_empty() {
            lock::positioned(&mut plan, &mut scope, &mut marks);
        }
        lock::check(&locking.locks, select, &scope)?;
        let filter = self.filter(select.filter.as_ref(), &scope)?;
        let mut cx = Context::new(&scope, Clause::Select);
        let items = self.output_items(&select.items, targets, &mut cx)?;
        let keys = self.group_keys(&select.group_by, &items, &mut cx)?;
        let mut having = self.having(select.having.as_ref(), &mut cx)?;
        let (sort, hidden) = self.sort_columns(order_by, select.distinct, &items, &mut cx)?;
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
        let output = Output { exprs, names, distinct: select.distinct, sort, locks, shown };
        Ok((output.over(plan), marks))
    }

    /// WHERE.
    pub(super) fn filter(&self, filter: Option<&Expr>, scope: &Scope) -> Result<Option<TypedExpr>, SqlError> {
        let Some(filter) = filter else { return Ok(None) };
        let mut cx = Context::new(scope, Clause::Where);
        let bound = self.expr(filter, &mut cx)?;
        self.boolean(bound, filter.at.start, "WHERE").map(Some)
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
                _ => self.settle(expr, item.at)?,
            };
        }
        Ok(items)
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
                SelectItem::Fields { expr: _, at } => {
                    return Err(SqlError::unsupported("the fields of a composite value").at(at.start));
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

    /// GROUP BY: each key once.
    fn group_keys(
        &self,
        group_by: &[GroupItem],
        items: &[Item],
        cx: &mut Context<'_>,
    ) -> Result<Vec<TypedExpr>, SqlError> {
        cx.clause = Clause::GroupBy;
        let mut keys = Vec::new();
        for item in group_by {
            let (what, at) = match item {
                GroupItem::Expr(key) => {
                    let key = self.group_key(key, items, cx)?;
                    if !keys.iter().any(|known| same(known, &key)) {
                        keys.push(key);
                    }
                    continue;
                }
                GroupItem::Set(_, at) => ("an empty grouping set", at),
                GroupItem::Rollup(_, at) => ("ROLLUP", at),
                GroupItem::Cube(_, at) => ("CUBE", at),
                GroupItem::Sets(_, at) => ("GROUPING SETS", at),
            };
            return Err(SqlError::unsupported(what).at(at.start));
        }
        Ok(keys)
    }

    /// A bare name is a column of FROM before it is one of the output.
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
            if expr.any(&mut |part| matches!(part.kind, K::Column(column) if column >= AGGREGATE_BASE)) {
                let text = "aggregate functions are not allowed in GROUP BY";
                return Err(SqlError::new(sqlstate::GROUPING_ERROR, text).at(items[column].at));
            }
            return Ok(expr);
        }
        let bound = self.expr(key, cx)?;
        self.settle(bound, key.at.start)
    }

    /// HAVING.
    fn having(&self, having: Option<&Expr>, cx: &mut Context<'_>) -> Result<Option<TypedExpr>, SqlError> {
        cx.clause = Clause::Having;
        let Some(having) = having else { return Ok(None) };
        let bound = self.expr(having, cx)?;
        self.boolean(bound, having.at.start, "HAVING").map(Some)
    }

    /// ORDER BY: columns of the output, and the hidden ones behind them that it needs besides.
    fn sort_columns(
        &self,
        order_by: &[OrderItem],
        distinct: bool,
        items: &[Item],
        cx: &mut Context<'_>,
    ) -> Result<(Vec<SortColumn>, Vec<TypedExpr>), SqlError> {
        cx.clause = Clause::OrderBy;
        let mut hidden: Vec<TypedExpr> = Vec::new();
        let mut sort = Vec::new();
        for &OrderItem { ref expr, descending, nulls_first } in order_by {
            let at = expr.at.start;
            let column = match self.output_reference(expr, items, "ORDER BY")? {
                Some(column) => column,
                None => {
                    let bound = self.expr(expr, cx)?;
                    let bound = self.settle(bound, at)?;
                    let mut known = items.iter().map(|item| &item.expr).chain(&hidden);
                    known.position(|expr| same(expr, &bound)).unwrap_or_else(|| {
                        hidden.push(bound);
                        items.len() + hidden.len() - 1
                    })
                }
            };
            if distinct && column >= items.len() {
                let text = "for SELECT DISTINCT, ORDER BY expressions must appear in select list";
                return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(at));
            }
            sort.push(SortColumn { column, descending, nulls_first });
        }
        Ok((sort, hidden))
    }
}
