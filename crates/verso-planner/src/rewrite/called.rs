//! Rule `functions`: a function in SQL becomes part of the plan that calls it.
//!
//! ```text
//! SELECT f(x + 1) FROM t          f(a): SELECT a % 3                    ─►  SELECT (x + 1) % 3 FROM t
//! SELECT * FROM g(5) WHERE id = 7  g(a): SELECT * FROM t WHERE id > a   ─►  SELECT * FROM t WHERE id > 5 AND id = 7
//! ```
//!
//! C1. Only in plans that are to run: what the catalog keeps still has the call. A plan is kept under the version of the catalog,
//!     so it goes when the function does.
//! C2. The answer is that of the call: neither the rights nor the settings of the body are others than the caller's, it changes
//!     nothing, what the function is declared to be holds of the body, and no argument is computed more often than once where
//!     that could be noticed.
//! C3. A function within its own body stays a call, so that this ends.
//! C4. This rule comes before all others. It replaces calls by bodies with calls of other functions only, of which there are
//!     finitely many.
//!
//! Source: PostgreSQL's `inline_function` and `inline_set_returning_function`.

use std::collections::HashMap;
use std::sync::Arc;

use verso_catalog::{
    CatalogSnapshot, FunctionDef, FunctionLanguage, FunctionReturn, Object, Oid, Rights, Volatility,
};
use verso_env::recursion::check;
use verso_exec::plan::{
    ExprKind as K, Insert, OutputColumn, Plan, RowRules, SetCall, Statement, TypedExpr, Update,
};
use verso_types::{CastKind, SqlType, TimeStyle, cast_kind};

use super::Planning;
use crate::bind::{body_as_query, in_form, is_immutable};
use crate::errors::SqlError;

/// What an argument that is used several times may cost, in calls of built-in functions.
const COST_MAX: usize = 10;

/// Inlines what a statement calls.
pub(crate) fn statement(statement: &mut Statement, planning: Planning<'_>) -> Result<(), SqlError> {
    let Some(mut calls) = Calls::new(planning) else { return Ok(()) };
    let (plans, exprs) = statement.parts_mut();
    plans.into_iter().try_for_each(|plan| calls.plan_if_any(plan))?;
    exprs.into_iter().try_for_each(|expr| calls.expr(expr))?;
    calls.rules_of(statement)
}

/// The same of a query that is no statement by itself.
pub(crate) fn query(plan: &mut Plan, planning: Planning<'_>) -> Result<(), SqlError> {
    Calls::new(planning).map_or(Ok(()), |mut calls| calls.plan_if_any(plan))
}

/// The same of expressions.
pub(crate) fn expressions(exprs: Vec<&mut TypedExpr>, planning: Planning<'_>) -> Result<(), SqlError> {
    let Some(mut calls) = Calls::new(planning) else { return Ok(()) };
    exprs.into_iter().try_for_each(|expr| calls.expr(expr))
}

/// An expression of an index as it is in plans; none where that is what it was.
pub(crate) fn inlined(expr: &TypedExpr, catalog: &Arc<CatalogSnapshot>) -> Option<TypedExpr> {
    let utc = TimeStyle::UTC; // nothing in it depends on it
    let mut calls = Calls { catalog, time_zone: &utc, within: Vec::new(), shared: HashMap::new() };
    let mut own = calls_sql(expr).then(|| expr.clone())?;
    calls.expr(&mut own).ok().map(|()| own)
}

/// What is known while the calls of one statement are looked at.
struct Calls<'s> {
    catalog: &'s Arc<CatalogSnapshot>,
    time_zone: &'s TimeStyle,
    /// The functions whose bodies are around the call (C3).
    within: Vec<Oid>,
    /// Plans read in several places, by address: as they were, which keeps the address, and as they are now.
    shared: HashMap<*const Plan, (Arc<Plan>, Arc<Plan>)>,
}

impl<'s> Calls<'s> {
    fn new(planning: Planning<'s>) -> Option<Calls<'s>> {
        let (catalog, time_zone) = (planning.estimate.catalog?, planning.time_zone?);
        let calls = Calls { catalog, time_zone, within: Vec::new(), shared: HashMap::new() };
        planning.rules.functions.then_some(calls)
    }

    /// CHECK constraints and generated columns of what a statement writes.
    fn rules_of(&mut self, statement: &mut Statement) -> Result<(), SqlError> {
        match statement {
            Statement::Insert(insert) => self.rules_of_insert(insert),
            Statement::Update(update) => self.rules_of_update(update),
            Statement::With(with) => {
                with.parts.iter_mut().try_for_each(|part| self.rules_of(&mut part.statement))
            }
            // Rows that go have to fulfil nothing; what MERGE writes is checked by calls.
            Statement::Query(_) | Statement::Delete(_) | Statement::Merge(_) => Ok(()),
        }
    }

    fn rules_of_insert(&mut self, insert: &mut Insert) -> Result<(), SqlError> {
        self.rules(&mut insert.rules)?;
        let update = insert.on_conflict.as_mut().and_then(|clause| clause.update.as_mut());
        if let Some(rules) = update.and_then(|update| update.rules.as_mut()) {
            self.rules(rules)?;
        }
        insert.routes.iter_mut().try_for_each(|route| self.rules_of_insert(route))
    }

    fn rules_of_update(&mut self, update: &mut Update) -> Result<(), SqlError> {
        self.rules(&mut update.rules)?;
        match &mut update.parts {
            Some(parts) => {
                parts.leaves.iter_mut().try_for_each(|leaf| self.rules_of_update(leaf))?;
                self.rules_of_insert(&mut parts.moved)
            }
            None => Ok(()),
        }
    }

    fn rules(&mut self, rules: &mut RowRules) -> Result<(), SqlError> {
        let checks = rules.checks.iter_mut().map(|check| &mut check.condition);
        let values = rules.generated.iter_mut().map(|generated| &mut generated.value);
        checks.chain(values).try_for_each(|expr| match calls_sql(expr) {
            true => self.expr(expr),
            false => Ok(()),
        })
    }

    /// Most plans call no such function, and are not walked through to be changed.
    fn plan_if_any(&mut self, plan: &mut Plan) -> Result<(), SqlError> {
        let mut any = false;
        plan.any(&mut |part| {
            any = matches!(part, Plan::FunctionScan { call: SetCall::User { function, .. }, .. } if is_sql(function))
                || part.exprs().into_iter().any(calls_sql);
            any
        });
        if any { self.plan(plan) } else { Ok(()) }
    }

    fn plan(&mut self, plan: &mut Plan) -> Result<(), SqlError> {
        check()?;
        let mut result = Ok(());
        plan.for_each_expr_mut(&mut |expr| {
            if result.is_ok() {
                result = self.expr(expr);
            }
        });
        result?;
        match plan {
            Plan::Shared { plan, .. } => self.shared(plan),
            Plan::FunctionScan { call: SetCall::User { function, args }, columns } => {
                let function = Arc::clone(function);
                if let Some(inlined) = self.rows(&function, args, columns)? {
                    *plan = inlined;
                }
                Ok(())
            }
            plan => {
                let mut result = Ok(());
                plan.for_each_input_mut(&mut |input| {
                    if result.is_ok() {
                        result = self.plan(input);
                    }
                });
                result
            }
        }
    }

    fn shared(&mut self, plan: &mut Arc<Plan>) -> Result<(), SqlError> {
        if let Some((_, known)) = self.shared.get(&Arc::as_ptr(plan)) {
            *plan = Arc::clone(known);
            return Ok(());
        }
        let mut own = Plan::clone(plan);
        self.plan(&mut own)?;
        let own = Arc::new(own);
        let before = std::mem::replace(plan, Arc::clone(&own));
        self.shared.insert(Arc::as_ptr(&before), (before, own));
        Ok(())
    }

    fn expr(&mut self, expr: &mut TypedExpr) -> Result<(), SqlError> {
        check()?;
        let mut result = Ok(());
        expr.for_each_child_mut(&mut |child| {
            if result.is_ok() {
                result = self.expr(child);
            }
        });
        result?;
        match &mut expr.kind {
            K::Subquery { plan, .. } => {
                let mut own = Plan::clone(plan);
                self.plan_if_any(&mut own)?;
                *plan = Arc::new(own);
            }
            K::UserCall { function, args } => {
                let function = Arc::clone(function);
                if let Some(inlined) = self.value(&function, args, &expr.ty)? {
                    // The call's type and collation decided on what is around it.
                    expr.kind = inlined.kind;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether the body runs as if the caller had written it (C2, C3).
    fn may_go(&self, function: &FunctionDef, args: &[TypedExpr]) -> bool {
        is_sql(function)
            && !function.is_procedure()
            && !function.security_definer
            && function.settings.is_empty()
            && function.called_with().count() == args.len()
            && function.called_with().zip(args).all(|(arg, given)| arg.ty.same_base(&given.ty))
            && !self.within.contains(&function.oid)
            && self.catalog.acting_role().is_none_or(|role| {
                self.catalog.rights(role, Object::Function(function.oid)).has(Rights::EXECUTE)
            })
    }

    /// A body on its way into a plan, with the calls in it.
    fn within<T>(
        &mut self,
        function: &FunctionDef,
        work: impl FnOnce(&mut Self) -> Result<T, SqlError>,
    ) -> Result<T, SqlError> {
        self.within.push(function.oid);
        let result = work(self);
        self.within.pop();
        result
    }

    /// The value that a call is.
    fn value(
        &mut self,
        function: &FunctionDef,
        args: &[TypedExpr],
        ty: &SqlType,
    ) -> Result<Option<TypedExpr>, SqlError> {
        let FunctionReturn::Scalar(declared) = &function.returns else { return Ok(None) };
        if declared.is_row()
            || *declared == SqlType::Record
            || *declared != *ty
            || !self.may_go(function, args)
        {
            return Ok(None);
        }
        let body = body_as_query(function, self.catalog, self.time_zone);
        let Some(value) = body.and_then(only_value) else { return Ok(None) };
        let steady = match function.volatility {
            Volatility::Immutable => is_immutable(&over_columns(&value)),
            Volatility::Stable => !value.is_volatile(),
            Volatility::Volatile => true,
        };
        let queries = value.any(&mut |part| matches!(part.kind, K::Subquery { .. }));
        if !steady || queries || function.strict && !is_strict(&value) {
            return Ok(None);
        }
        for (n, arg) in args.iter().enumerate() {
            match uses(&value, n) {
                0 if function.strict => return Ok(None),
                0 | 1 => {}
                _ if arg.is_volatile() || cost(arg).is_none_or(|cost| cost > COST_MAX) => return Ok(None),
                _ => {}
            }
        }
        let Some(mut value) = casted(value, ty) else { return Ok(None) };
        self.within(function, |calls| calls.expr(&mut value))?;
        put_whole(&mut value, args, &mut HashMap::new());
        Ok(Some(value))
    }

    /// The rows that a call in FROM yields.
    fn rows(
        &mut self,
        function: &FunctionDef,
        args: &[TypedExpr],
        columns: &[OutputColumn],
    ) -> Result<Option<Plan>, SqlError> {
        let sets = matches!(function.returns, FunctionReturn::Set(_) | FunctionReturn::Table(_));
        let queries = |arg: &TypedExpr| arg.any(&mut |part| matches!(part.kind, K::Subquery { .. }));
        if !sets
            || function.strict
            || function.volatility == Volatility::Volatile
            || !self.may_go(function, args)
            || args.iter().any(|arg| arg.is_volatile() || queries(arg))
        {
            return Ok(None);
        }
        let Some(mut body) = body_as_query(function, self.catalog, self.time_zone) else { return Ok(None) };
        let fixed = args.iter().all(is_fixed);
        let stays = body.any(&mut |part| match part {
            // Its number is one of the statement.
            Plan::Recursive { .. } | Plan::WorkTable { .. } | Plan::LockRows { .. } => true,
            Plan::Shared { .. } => !fixed,
            _ => false,
        });
        let output = body.output();
        if stays || output.len() != columns.len() {
            return Ok(None);
        }
        let mut exprs = Vec::with_capacity(columns.len());
        for (n, (given, wanted)) in output.into_iter().zip(columns).enumerate() {
            match casted(TypedExpr::column(n, given.ty), &wanted.ty) {
                Some(expr) => exprs.push(expr),
                None => return Ok(None),
            }
        }
        self.within(function, |calls| calls.plan(&mut body))?;
        put_in_plan(&mut body, args, &mut HashMap::new());
        let names = columns.iter().map(|column| Arc::clone(&column.name)).collect();
        Ok(Some(Plan::Project { input: Box::new(body), exprs, names }))
    }
}

fn is_sql(function: &FunctionDef) -> bool {
    function.language == FunctionLanguage::Sql
}

fn calls_sql(expr: &TypedExpr) -> bool {
    expr.any(&mut |part| matches!(&part.kind, K::UserCall { function, .. } if is_sql(function)))
}

/// The value that a query without FROM and other clauses yields.
fn only_value(mut plan: Plan) -> Option<TypedExpr> {
    match &mut plan {
        Plan::Project { input, exprs, .. } => match &**input {
            Plan::Values { rows, columns } if rows.len() == 1 && columns.is_empty() && exprs.len() == 1 => {
                exprs.pop()
            }
            _ => None,
        },
        Plan::Values { rows, .. } if rows.len() == 1 && rows[0].len() == 1 => rows[0].pop(),
        _ => None,
    }
}

/// A value of the body as the type that the function is declared to return. Domains and rows are made by the call.
fn casted(value: TypedExpr, ty: &SqlType) -> Option<TypedExpr> {
    if value.ty == *ty {
        return Some(value);
    }
    let plain = |ty: &SqlType| !ty.is_row() && *ty != SqlType::Record && *ty != SqlType::Void;
    if !plain(ty) || !plain(&value.ty) || value.ty == SqlType::Unknown {
        return None;
    }
    let assignable =
        value.ty.same_base(ty) || cast_kind(&value.ty, ty).is_some_and(|kind| kind <= CastKind::Assignment);
    // Nobody has written the cast, and without a modifier it is the same of every kind.
    assignable.then(|| TypedExpr::new(K::Cast { arg: Box::new(value), kind: CastKind::Implicit }, ty.clone()))
}

/// The same over columns instead of parameters, which stay the same for ever no more than these.
fn over_columns(value: &TypedExpr) -> TypedExpr {
    let mut value = value.clone();
    fn change(expr: &mut TypedExpr) {
        if let K::Parameter(n) = expr.kind {
            expr.kind = K::Column(n);
        }
        expr.for_each_child_mut(&mut change);
    }
    change(&mut value);
    value
}

/// Whether NULL for a parameter makes it NULL, whatever the parameter.
fn is_strict(value: &TypedExpr) -> bool {
    !value.any(&mut |part| match &part.kind {
        K::Column(_) | K::Parameter(_) | K::Literal(_) | K::Cast { .. } | K::Not(_) | K::Like { .. } => false,
        K::Call { function, .. } => !function.strict,
        K::UserCall { function, .. } => !function.strict,
        _ => true,
    })
}

/// How often a parameter is used.
fn uses(value: &TypedExpr, parameter: usize) -> usize {
    let mut count = 0;
    value.any(&mut |part| {
        count += usize::from(matches!(part.kind, K::Parameter(n) if n == parameter));
        false
    });
    count
}

/// What an argument costs, in calls of built-in functions; none where it asks a query.
fn cost(arg: &TypedExpr) -> Option<usize> {
    let mut cost = 0;
    let queries = arg.any(&mut |part| {
        cost += match &part.kind {
            K::Column(_) | K::Parameter(_) | K::Outer(_) | K::Literal(_) => 0,
            K::And(_) | K::Or(_) | K::Not(_) => 0,
            K::UserCall { .. } | K::Fold { .. } => 100,
            _ => 1,
        };
        matches!(part.kind, K::Subquery { .. })
    });
    (!queries).then_some(cost)
}

/// Whether it means the same wherever it stands in a statement.
fn is_fixed(arg: &TypedExpr) -> bool {
    !arg.any(&mut |part| matches!(part.kind, K::Column(_) | K::Outer(_) | K::Subquery { .. }))
}

type Replaced = HashMap<*const Plan, (Arc<Plan>, Arc<Plan>)>;

/// Puts arguments in the place of parameters. What is given may have another modifier than the parameter, which changes no value:
/// only where it becomes a column it has to have the parameter's form ([`put_whole`]).
fn put(expr: &mut TypedExpr, args: &[TypedExpr], shared: &mut Replaced) {
    if let K::Parameter(n) = expr.kind {
        if let Some(arg) = args.get(n) {
            *expr = arg.clone();
        }
        return;
    }
    expr.for_each_child_mut(&mut |child| put(child, args, shared));
    if let K::Subquery { plan, outer, .. } = &mut expr.kind {
        let mut own = Plan::clone(plan);
        let inner = handed_in(&own, args, outer);
        put_in_plan(&mut own, &inner, shared);
        *plan = Arc::new(own);
    }
}

/// The same in an expression that becomes a column, whose type is known to what reads it (P6 of the plan).
fn put_whole(expr: &mut TypedExpr, args: &[TypedExpr], shared: &mut Replaced) {
    let ty = expr.ty.clone();
    put(expr, args, shared);
    if !expr.ty.same_form(&ty) {
        let given = std::mem::replace(expr, TypedExpr::null(SqlType::Unknown));
        *expr = in_form(given, &ty);
    }
}

fn put_in_plan(plan: &mut Plan, args: &[TypedExpr], shared: &mut Replaced) {
    plan.for_each_expr_mut(&mut |expr| put_whole(expr, args, shared));
    match plan {
        Plan::Apply { left, right, outer, .. } => {
            put_in_plan(left, args, shared);
            let inner = handed_in(right, args, outer);
            put_in_plan(right, &inner, shared);
        }
        Plan::Shared { plan, .. } => {
            if let Some((_, known)) = shared.get(&Arc::as_ptr(plan)) {
                *plan = Arc::clone(known);
                return;
            }
            let mut own = Plan::clone(plan);
            put_in_plan(&mut own, args, shared);
            let own = Arc::new(own);
            let before = std::mem::replace(plan, Arc::clone(&own));
            shared.insert(Arc::as_ptr(&before), (before, own));
        }
        plan => plan.for_each_input_mut(&mut |input| put_in_plan(input, args, shared)),
    }
}

/// The arguments as a plan within sees them, to which `outer` is handed in: what depends on the place is handed in, too.
fn handed_in(plan: &Plan, args: &[TypedExpr], outer: &mut Vec<TypedExpr>) -> Vec<TypedExpr> {
    let used = |n: usize| plan.any_expr(&mut |part| matches!(part.kind, K::Parameter(m) if m == n));
    let inner = args.iter().enumerate().map(|(n, arg)| match is_fixed(arg) || !used(n) {
        true => arg.clone(),
        false => {
            outer.push(arg.clone());
            TypedExpr::new(K::Outer(outer.len() - 1), arg.ty.clone())
        }
    });
    inner.collect()
}
