//! Queries: SELECT, VALUES, UNION and its relatives, with ORDER BY, LIMIT and OFFSET around them.
//!
//! ```text
//! FROM ─► WHERE ─► [Aggregate ─► HAVING] ─► Project (output and hidden sort keys) ─► Distinct ─► Sort ─► Limit
//! ```

use verso_env::recursion;
use verso_exec::plan::{ExprKind as K, OutputColumn, Plan, TypedExpr};
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::collate::{derived_from, refuse_mismatch};
use super::context::{Clause, Context};
use super::lock::{self, Locking, Mark};
use super::resolve::shown;
use super::scope::Scope;
use super::select::check_targets;
use super::walk::map_columns;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, ExprKind, LockWait, Query, QueryBody};

impl Binder<'_> {
    /// Binds a query.
    pub(super) fn query(&self, query: &Query) -> Result<Plan, SqlError> {
        self.query_for(query, &[])
    }

    /// Binds a query whose untyped literals become the target's types where there are targets, else text.
    pub(super) fn query_for(&self, query: &Query, targets: &[SqlType]) -> Result<Plan, SqlError> {
        Ok(self.query_locked(query, targets, Locking { places: query.places, ..Locking::default() })?.0)
    }

    /// A query whose WITH is bound already.
    pub(super) fn query_behind_with(&self, query: &Query) -> Result<Plan, SqlError> {
        let locking = Locking { places: query.places, ..Locking::default() };
        Ok(self.watched(|binder| binder.body(query, &[], locking))?.0)
    }

    /// The same with locks that a query around it asks for.
    pub(super) fn query_locked(
        &self,
        query: &Query,
        targets: &[SqlType],
        around: Locking<'_>,
    ) -> Result<(Plan, Vec<Mark>), SqlError> {
        recursion::check()?;
        self.watched(|binder| match query.with.is_empty() {
            true => binder.body(query, targets, around),
            false => binder.with(&query.with)?.body(query, targets, around),
        })
    }

    /// A query without its WITH, and the places of the records it reads that a query around it locks.
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
                self.order_output(plan, &query.order_by, false)?
            }
            QueryBody::Nested(inner) => {
                let plan;
                (plan, marks) = self.query_locked(inner, targets, locking)?;
                self.order_output(plan, &query.order_by, false)?
            }
            QueryBody::Change(_) => {
                return Err(SqlError::internal("a change is no query"));
            }
            QueryBody::Set { .. } => {
                if let Some(lock) = locking.locks.first() {
                    return Err(lock::not_allowed(lock.strength, "UNION/INTERSECT/EXCEPT"));
                }
                let plan = self.set_operation(&query.body, targets)?;
                self.order_output(plan, &query.order_by, true)?
            }
        };
        let limit = self.count(query.limit.as_ref(), Clause::Limit)?;
        let offset = self.count(query.offset.as_ref(), Clause::Offset)?;
        if limit.is_none() && offset.is_none() {
            return Ok((plan, marks));
        }
        let mut plan = plan;
        if query.with_ties && limit.is_some() {
            if let Some(lock) = query.locks.iter().find(|lock| lock.wait == LockWait::SkipLocked) {
                let text = "SKIP LOCKED and WITH TIES options cannot be used together";
                return Err(SqlError::syntax(text).at(lock.at));
            }
            return match limit_with_ties(plan, limit, offset) {
                Some(plan) => Ok((plan, marks)),
                None => {
                    let text = "WITH TIES cannot be specified without ORDER BY clause";
                    Err(SqlError::syntax(text).at(query.at.start))
                }
            };
        }
        // What locks rows may stop when it has locked as many as are wanted.
        if let (Some(limit), Plan::Project { input, .. }) = (&limit, &mut plan)
            && let Plan::LockRows { bound, .. } = &mut **input
        {
            bound.push(limit.clone());
            bound.extend(offset.clone());
        }
        Ok((Plan::Limit { input: Box::new(plan), limit, offset, ties: Vec::new() }, marks))
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
            let text = format!("argument of {word} must be type bigint, not type {}", shown(&bound.ty));
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(expr.at.start));
        }
        self.coerce(bound, expr.at.start, &SqlType::Int8, CastKind::Assignment).map(Some)
    }

    /// VALUES: each column in a common type.
    fn values(&self, rows: &[Vec<Expr>]) -> Result<Plan, SqlError> {
        let scope = Scope::default();
        let spread: Vec<Vec<Expr>>;
        let rows = match rows.iter().flatten().any(Expr::is_starred) {
            false => rows,
            true => {
                spread = rows.iter().map(|row| self.spread_all(row, &scope)).collect();
                &spread
            }
        };
        let width = rows.first().map_or(0, Vec::len);
        check_targets(width)?;
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
            let at = column.first().map_or(0, |(_, at)| *at);
            let (exprs, ty) = self.unify(column, "VALUES")?;
            let mut shown = OutputColumn::new(format!("column{}", number + 1), ty);
            if exprs.iter().any(|expr| !expr.collation.is_default()) {
                let derived = derived_from(&exprs);
                refuse_mismatch(&derived, at)?;
                shown.collation = derived.collation().cloned();
            }
            output.push(shown);
            for (row, expr) in table.iter_mut().zip(exprs) {
                row.push(expr);
            }
        }
        Ok(Plan::Values { rows: table, columns: output })
    }
}

/// The first rows and those equal to the last of them: below the projection that takes hidden sort keys away. None without
/// an order.
fn limit_with_ties(plan: Plan, limit: Option<TypedExpr>, offset: Option<TypedExpr>) -> Option<Plan> {
    match plan {
        Plan::Project { input, exprs, names } => {
            let input = Box::new(limit_with_ties(*input, limit, offset)?);
            Some(Plan::Project { input, exprs, names })
        }
        plan => {
            let ties = order_of(&plan)?;
            Some(Plan::Limit { input: Box::new(plan), limit, offset, ties })
        }
    }
}

/// What the rows of a plan are in the order of, over its output.
fn order_of(plan: &Plan) -> Option<Vec<TypedExpr>> {
    match plan {
        Plan::Sort { keys, .. } => Some(keys.iter().map(|key| key.expr.clone()).collect()),
        Plan::DistinctOn { input, .. } | Plan::LockRows { input, .. } | Plan::ProjectSet { input, .. } => {
            order_of(input)
        }
        Plan::Project { input, exprs, .. } => {
            let mut keys = order_of(input)?;
            let mut is_whole = true;
            let mut place = |column: usize| {
                let found = exprs.iter().position(|expr| matches!(expr.kind, K::Column(at) if at == column));
                is_whole &= found.is_some();
                found.unwrap_or(column)
            };
            keys.iter_mut().for_each(|key| map_columns(key, &mut place));
            is_whole.then_some(keys)
        }
        _ => None,
    }
}
