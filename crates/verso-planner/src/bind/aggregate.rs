//! Aggregates: their calls, the query they belong to, and grouping: what stands above it may use the keys and the
//! aggregates, nothing else.
//!
//! ```text
//! SELECT (SELECT count(x.a)) FROM x     the aggregate is the outer query's: its argument names only columns from there
//! ```

use verso_exec::functions::{AggregateFunction, AggregateKind};
use verso_exec::plan::{AggregateCall, ExprKind as K, SortKey, TypedExpr};
use verso_types::{CastKind, Derivation, SqlType, SystemType};

use super::Binder;
use super::collate::{
    derived_from, distinguished, extreme_keys, extreme_of, is_keyed, ordered, ordered_together, text_of_key,
    unkeyed,
};
use super::comparable;
use super::context::{AGGREGATE_BASE, Context, GROUPING_BASE, Inside, WINDOW_BASE};
use super::resolve::{Declared, Resolution, as_taken, function_error, resolve, result_type, shown};
use super::scope::{Correlation, Scope};
use super::walk::same;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Call, Expr, ExprKind, Literal, OrderItem};

fn grouping_error(text: impl Into<String>, at: u32) -> SqlError {
    SqlError::new(sqlstate::GROUPING_ERROR, text).at(at)
}

/// Refuses aggregates over what a recursive query reads of itself: a round is only a part of its rows.
fn refuse_recursive(scope: &Scope, at: u32) -> Result<(), SqlError> {
    if !scope.recursive {
        return Ok(());
    }
    let text = "aggregate functions are not allowed in a recursive query's recursive term";
    Err(SqlError::new(sqlstate::INVALID_RECURSION, text).at(at))
}

/// What stands for the column of an aggregate: of the least and greatest key its text, of the others the column with the
/// collation that follows from the arguments.
pub(super) struct Shown {
    derived: Derivation,
    /// The type of the text.
    of_key: Option<SqlType>,
}

impl Shown {
    pub(super) fn of(call: &AggregateCall) -> Shown {
        let args = || call.args.iter().map(|arg| extreme_of(arg).unwrap_or(arg));
        let derived = derived_from(args());
        let extreme = matches!(call.function.kind, AggregateKind::Min | AggregateKind::Max);
        let text = |arg: &TypedExpr| match &arg.kind {
            K::Cast { arg, .. } if matches!(arg.ty, SqlType::Char(_)) || arg.ty.own_collation().is_some() => {
                arg.ty.clone()
            }
            _ => arg.ty.clone(),
        };
        let has_key = call.args.iter().any(|arg| extreme_of(arg).is_some());
        let of_key = args().next().filter(|_| extreme && has_key).map(text);
        Shown { derived, of_key }
    }

    pub(super) fn over(self, mut column: TypedExpr) -> Result<TypedExpr, SqlError> {
        match self.of_key {
            Some(ty) => text_of_key(column, &ty, &self.derived),
            None => {
                if column.ty.is_collatable() {
                    column.collation = self.derived;
                }
                Ok(column)
            }
        }
    }
}

impl Binder<'_> {
    /// An aggregate without OVER: noted in the query that it belongs to; what stands for it comes back.
    pub(super) fn aggregate(
        &self,
        entries: &'static [&'static AggregateFunction],
        call: &Call,
        at: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let levels = self.levels();
        let refusal = cx.refuses_aggregates();
        let inside = std::mem::replace(&mut cx.inside, Inside::Aggregate);
        let bound = self.aggregate_call(entries, call, at, cx);
        cx.inside = inside;
        let bound = bound?;
        let shown = Shown::of(&bound);
        let column = match self.home(bound.exprs()) {
            0 => {
                if let Some(text) = refusal {
                    return Err(grouping_error(text, at));
                }
                refuse_recursive(cx.scope(), at)?;
                let ty = bound.ty.clone();
                let mut own = cx.aggregates.borrow_mut();
                own.push(bound);
                TypedExpr::column(AGGREGATE_BASE + own.len() - 1, ty)
            }
            home => lift(bound, &levels, home, at)?,
        };
        shown.over(column)
    }

    /// How many queries further out a call with these arguments belongs: to the innermost one whose columns it names.
    fn home<'e>(&self, exprs: impl Iterator<Item = &'e TypedExpr>) -> usize {
        let mut nearest: Option<usize> = None;
        for expr in exprs {
            expr.any(&mut |part| {
                let level = match part.kind {
                    K::Column(_) => Some(0),
                    K::Outer(number) => self.outer.map(|outer| level_of(outer, number)),
                    _ => None,
                };
                nearest = nearest.into_iter().chain(level).min();
                false
            });
        }
        nearest.unwrap_or(0)
    }

    /// The call with its arguments cast.
    pub(super) fn aggregate_call(
        &self,
        entries: &'static [&'static AggregateFunction],
        call: &Call,
        at: u32,
        cx: &mut Context<'_>,
    ) -> Result<AggregateCall, SqlError> {
        let name = call.name.name.text.as_str();
        let wrong = |text: String| SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).at(at);
        let ordered_set = entries.iter().any(|entry| entry.kind.is_ordered_set());
        let hypothetical = entries.iter().any(|entry| entry.kind.is_hypothetical());
        if hypothetical && call.within_group.is_empty() {
            return Err(wrong(format!("WITHIN GROUP is required for ordered-set aggregate {name}")));
        }
        if ordered_set == call.within_group.is_empty() {
            // No function takes these arguments on these sides of WITHIN GROUP.
            let mut types = Vec::new();
            for arg in call.args.iter().chain(call.within_group.iter().map(|item| &item.expr)) {
                types.push(self.expr(arg, cx)?.ty);
            }
            return Err(function_error(name, &types, &Resolution::None).at(at));
        }
        if call.args.is_empty() && !call.star && !ordered_set {
            return Err(wrong(format!("{name}(*) must be used to call a parameterless aggregate function")));
        }
        if call.star && call.distinct {
            return Err(SqlError::syntax("DISTINCT specified, but there is nothing to count").at(at));
        }
        let filter = match call.filter.as_deref() {
            None => None,
            Some(filter) => {
                let inside = std::mem::replace(&mut cx.inside, Inside::Filter);
                let bound = self.expr(filter, cx);
                cx.inside = inside;
                let bound = bound?;
                Some(self.boolean(bound, filter.at.start, "FILTER")?)
            }
        };
        if ordered_set {
            let bound = self.ordered_set(entries, call, at, cx)?;
            return Ok(AggregateCall { filter, ..bound });
        }
        let args = self.located(&call.args, cx)?;
        let types: Vec<SqlType> = args.iter().map(|(arg, _)| arg.ty.clone()).collect();
        let declared: Vec<Declared> = entries.iter().map(|entry| entry.args.to_vec()).collect();
        let (function, to) = match resolve(&declared, &types, false) {
            Resolution::One(index, to) => (entries[index], to),
            found => return Err(function_error(name, &types, &found).at(at)),
        };
        if name == "any_value" {
            super::polymorphic::known_element(function.args, &types)?;
        }
        let args = self.with_any_types(function.args, args)?;
        if let Some(trace) = self.traced {
            trace.operands(at, &as_taken(function.args, &to, &types));
        }
        let extreme = matches!(function.kind, AggregateKind::Min | AggregateKind::Max);
        if extreme && to.iter().any(|ty| !comparable::has_extremes(ty)) {
            return Err(function_error(name, &types, &Resolution::None).at(at)); // as PostgreSQL has none
        }
        if extreme {
            args.iter().try_for_each(|(arg, _)| comparable::check_row_extremes(arg))?;
        }
        let args = args
            .into_iter()
            .zip(&to)
            .map(|((arg, at), to)| match to {
                // One `min` serves all types here; PostgreSQL has none for varchar and takes that of text.
                SqlType::Varchar(_) | SqlType::Name if extreme => {
                    let arg = self.coerce(arg, at, to, CastKind::Implicit)?;
                    Ok(TypedExpr::new(
                        K::Cast { arg: Box::new(arg), kind: CastKind::Implicit },
                        SqlType::Text,
                    ))
                }
                to => match extreme.then(|| taken_as(to)).flatten() {
                    Some(taken) => self.coerce(arg, at, &taken, CastKind::Implicit),
                    None => self.coerce(arg, at, to, CastKind::Implicit),
                },
            })
            .collect::<Result<Vec<_>, SqlError>>()?;
        let types: Vec<SqlType> = args.iter().map(|arg| arg.ty.clone()).collect();
        let order_by = self.sort_keys(&call.order_by, cx)?;
        if let (true, Some(n)) = (
            call.distinct,
            order_by.iter().zip(&call.order_by).position(|(key, item)| {
                let parts: Vec<(&TypedExpr, &Expr)> = match (args.as_slice(), call.args.as_slice()) {
                    (
                        [TypedExpr { kind: K::Row(parts), .. }],
                        [Expr { kind: ExprKind::Row(written), .. }],
                    ) if name == "array_gathered_parts" => parts.iter().zip(written).collect(),
                    (args, written) => args.iter().zip(written).collect(),
                };
                let fits = |(arg, written): (&TypedExpr, &Expr)| {
                    is_sorted_by(arg, unkeyed(&key.expr)) && collated_alike(written, &item.expr)
                };
                !parts.into_iter().any(fits)
            }),
        ) {
            let text = "in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list";
            let at = call.order_by.get(n).map_or(at, |item| item.expr.at.start);
            return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(at));
        }
        let mut ty = result_type(&function.result, &types);
        let mut args = args;
        if extreme && let Some((keys, _)) = extreme_keys(&args, at)? {
            ty = keys.first().map_or(SqlType::Bytea, |key| key.ty.clone());
            args = keys;
        } else if call.distinct {
            let told = args.iter().map(|arg| distinguished(arg.clone(), at));
            let told = told.collect::<Result<Vec<_>, _>>()?;
            let keyed = told.iter().any(is_keyed);
            // Only a count does not show which of the equal texts it has taken.
            let counts = function.kind == AggregateKind::Count && order_by.is_empty();
            if keyed && !counts || order_by.iter().any(|key| is_keyed(&key.expr)) {
                let text = format!("{name}(DISTINCT) under a collation that is not by bytes");
                return Err(SqlError::unsupported(text).at(at));
            }
            args = told;
        }
        Ok(AggregateCall {
            distinct: call.distinct,
            args,
            order_by,
            filter,
            ..AggregateCall::plain(function, ty, name.into())
        })
    }

    /// ORDER BY where only expressions over the input stand, no names or numbers of the output.
    pub(super) fn sort_keys(
        &self,
        items: &[OrderItem],
        cx: &mut Context<'_>,
    ) -> Result<Vec<SortKey>, SqlError> {
        let one = |item: &OrderItem| {
            let bound = self.expr(&item.expr, cx)?;
            let expr = self.settle(bound, item.expr.at.start)?;
            let expr = self.ordered_by(expr, item)?;
            Ok(SortKey { expr, descending: item.descending, nulls_first: item.nulls_first })
        };
        items.iter().map(one).collect()
    }

    /// `f(direct) WITHIN GROUP (ORDER BY args)`.
    fn ordered_set(
        &self,
        entries: &'static [&'static AggregateFunction],
        call: &Call,
        at: u32,
        cx: &mut Context<'_>,
    ) -> Result<AggregateCall, SqlError> {
        let name = call.name.name.text.as_str();
        if call.distinct {
            return Err(SqlError::syntax("cannot use DISTINCT with WITHIN GROUP").at(at));
        }
        // Direct arguments may name grouped columns only, so they count as used plainly.
        let inside = std::mem::replace(&mut cx.inside, Inside::Nothing);
        let direct = self.located(&call.args, cx);
        cx.inside = inside;
        let mut direct = direct?;
        let aggregated = |part: &TypedExpr| matches!(part.kind, K::Column(n) if (AGGREGATE_BASE..WINDOW_BASE).contains(&n));
        if let Some((_, at)) = direct.iter().find(|(arg, _)| arg.any(&mut |part| aggregated(part))) {
            return Err(grouping_error("aggregate function calls cannot be nested", *at));
        }
        let mut args: Vec<(TypedExpr, u32)> = Vec::new();
        for item in &call.within_group {
            let bound = self.expr(&item.expr, cx)?;
            if self.sorts_bytes(&bound, item)? && !bound.collation.is_default() {
                return Err(SqlError::unsupported("WITHIN GROUP by bytes under a collation").at(at));
            }
            args.push((bound, item.expr.at.start));
        }
        let types = |direct: &[(TypedExpr, u32)], args: &[(TypedExpr, u32)]| -> Vec<SqlType> {
            direct.iter().chain(args).map(|(arg, _)| arg.ty.clone()).collect()
        };
        let given = types(&direct, &args);
        let missing = || function_error(name, &given, &Resolution::None).at(at);
        let (function, ty, direct, args) = if entries.iter().any(|entry| entry.kind.is_hypothetical()) {
            if direct.len() != args.len() {
                return Err(missing());
            }
            let function = entries.first().ok_or_else(missing)?;
            let mut pairs = (Vec::new(), Vec::new());
            for (one, other) in direct.into_iter().zip(args) {
                let mut both = self.unify(vec![one, other], "WITHIN GROUP")?.0.into_iter();
                pairs.0.extend(both.next());
                pairs.1.extend(both.next());
            }
            (*function, result_type(&function.result, &[]), pairs.0, pairs.1)
        } else {
            let several = matches!(direct.first(), Some((TypedExpr { ty: SqlType::Array(_), .. }, _)));
            if several && let Some((fractions, at)) = direct.first_mut() {
                let to = SqlType::Array(Box::new(SqlType::Float8));
                let own = std::mem::replace(fractions, TypedExpr::null(SqlType::Unknown));
                *fractions = self.coerce(own, *at, &to, CastKind::Implicit)?;
            }
            let mut wanted = types(&direct, &args);
            if several && let Some(first) = wanted.first_mut() {
                *first = SqlType::Float8;
            }
            let declared: Vec<Declared> = entries.iter().map(|entry| entry.args.to_vec()).collect();
            let (function, to) = match resolve(&declared, &wanted, false) {
                Resolution::One(index, to) if entries[index].direct == direct.len() => (entries[index], to),
                _ => return Err(missing()),
            };
            if matches!(name, "mode" | "percentile_disc") {
                super::polymorphic::known_element(function.args, &wanted)?;
            }
            if let Some(trace) = self.traced {
                let mut given = to.clone();
                if several && let Some(fractions) = given.first_mut() {
                    *fractions = SqlType::Array(Box::new(SqlType::Float8));
                }
                trace.operands(at, &given);
            }
            let skipped = usize::from(several);
            let cast =
                |(arg, at): (TypedExpr, u32), to: &SqlType| self.coerce(arg, at, to, CastKind::Implicit);
            let given = direct.len();
            let mut direct_cast = Vec::new();
            for (n, arg) in direct.into_iter().enumerate() {
                direct_cast.push(if n < skipped { arg.0 } else { cast(arg, &to[n])? });
            }
            let args = args.into_iter().zip(&to[given..]).map(|(arg, to)| cast(arg, to));
            let args = args.collect::<Result<Vec<_>, _>>()?;
            let ty = result_type(&function.result, &to);
            if several && matches!(ty, SqlType::Array(_)) {
                let text = format!("could not find array type for data type {}", shown(&ty));
                return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(at));
            }
            let ty = if several { SqlType::Array(Box::new(ty)) } else { ty };
            (function, ty, direct_cast, args)
        };
        let (mut direct, mut args) = (direct, args);
        // What the rows are sorted by, where it is not the argument itself.
        let mut keys: Vec<Option<TypedExpr>> = vec![None; args.len()];
        for (n, item) in call.within_group.iter().enumerate().take(args.len()) {
            // A rank says nothing of the texts; what other functions yield is one.
            if let (true, Some(row)) = (function.kind.is_hypothetical(), direct.get(n)) {
                let both = vec![row.clone(), args[n].clone()];
                let mut both = ordered_together(both, item.expr.at.start)?.into_iter();
                if let (Some(row), Some(arg)) = (both.next(), both.next()) {
                    (direct[n], args[n]) = (row, arg);
                }
                continue;
            }
            let key = ordered(args[n].clone(), item.expr.at.start)?;
            if !is_keyed(&key) {
                continue;
            }
            // The most frequent one is told by the texts, which are not equal where their bytes are not.
            if function.kind == AggregateKind::Mode
                && is_keyed(&distinguished(args[n].clone(), item.expr.at.start)?)
            {
                let text = "mode() under a collation that is not by bytes";
                return Err(SqlError::unsupported(text).at(at));
            }
            keys[n] = Some(key);
        }
        let order_by = args.iter().zip(keys).zip(&call.within_group).map(|((arg, key), item)| SortKey {
            expr: key.unwrap_or_else(|| arg.clone()),
            descending: item.descending,
            nulls_first: item.nulls_first,
        });
        Ok(AggregateCall {
            order_by: order_by.collect(),
            args,
            direct,
            ..AggregateCall::plain(function, ty, name.into())
        })
    }

    /// GROUPING(a, b): which of them the row is not grouped by.
    pub(super) fn grouping(&self, call: &Call, at: u32, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        if call.args.len() > 31 {
            let text = "GROUPING must have fewer than 32 arguments";
            return Err(SqlError::new(sqlstate::TOO_MANY_ARGUMENTS, text).at(at));
        }
        let levels = self.levels();
        let used = cx.plain_columns.len();
        let is_within = std::mem::replace(&mut cx.of_grouping, true);
        let bound = self.located(&call.args, cx);
        cx.of_grouping = is_within;
        let mut args: Vec<TypedExpr> = bound?.into_iter().map(|(arg, _)| arg).collect();
        let home = self.home(args.iter());
        if home == 0 && !cx.clause.allows_aggregates() {
            let text = format!("grouping operations are not allowed in {}", cx.clause.name());
            return Err(grouping_error(text, at));
        }
        let refused = match cx.inside {
            Inside::Aggregate => Some("aggregate function calls cannot be nested"),
            Inside::Filter => Some("grouping operations are not allowed in FILTER"),
            Inside::Nothing | Inside::Window => None,
        };
        if let (0, Some(text)) = (home, refused) {
            return Err(grouping_error(text, at));
        }
        let around = levels.get(..home).unwrap_or(&levels);
        for (outer, known) in around {
            let mut refs = outer.refs.borrow_mut();
            args.iter_mut().for_each(|arg| replace_outer(arg, &refs));
            refs.truncate(*known);
        }
        let groupings = match around.last() {
            None => &cx.groupings,
            Some((outermost, _)) => match (outermost.groupings, outermost.aggregates) {
                (Some(groupings), Some((_, None))) => groupings,
                (_, Some((_, Some(refusal)))) => {
                    let text = refusal.replace("aggregate functions", "grouping operations");
                    return Err(grouping_error(text, at));
                }
                _ => {
                    let text = "grouping operations are not allowed in FROM clause of their own query level";
                    return Err(grouping_error(text, at));
                }
            },
        };
        cx.plain_columns.truncate(used);
        let mut groupings = groupings.borrow_mut();
        let is_it = |(known, _): &(Vec<TypedExpr>, u32)| {
            known.len() == args.len() && known.iter().zip(&args).all(|(known, arg)| same(known, arg))
        };
        let number = groupings.iter().position(is_it).unwrap_or_else(|| {
            groupings.push((args, at));
            groupings.len() - 1
        });
        drop(groupings);
        let column = TypedExpr::column(GROUPING_BASE + number, SqlType::Int4);
        Ok(around.iter().rev().fold(column, |column, (outer, _)| outer.hand_in(column)))
    }

    /// Each query around, with the number of references into it.
    fn levels(&self) -> Vec<(&Correlation<'_>, usize)> {
        let mut levels = Vec::new();
        let mut around = self.outer;
        while let Some(outer) = around {
            levels.push((outer, outer.refs.borrow().len()));
            around = outer.parent;
        }
        levels
    }
}

/// How far out the query is whose column `Outer(number)` is, seen from inside of `outer`.
fn level_of(outer: &Correlation<'_>, number: usize) -> usize {
    let refs = outer.refs.borrow();
    let mut nearest = usize::MAX;
    if let Some(expr) = refs.get(number) {
        expr.any(&mut |part| {
            let level = match (&part.kind, outer.parent) {
                (K::Column(_), _) => 1,
                (K::Outer(number), Some(parent)) => 1 + level_of(parent, *number),
                _ => usize::MAX,
            };
            nearest = nearest.min(level);
            false
        });
    }
    nearest.min(usize::MAX - 1)
}

/// Moves a call into the query `home` levels further out, and yields what stands for it here. `levels` has each query
/// around with the number of references that it had before the arguments were bound.
fn lift(
    mut call: AggregateCall,
    levels: &[(&Correlation<'_>, usize)],
    home: usize,
    at: u32,
) -> Result<TypedExpr, SqlError> {
    let around = levels.get(..home).unwrap_or(levels);
    for (outer, known) in around {
        let mut refs = outer.refs.borrow_mut();
        call.exprs_mut().for_each(|expr| replace_outer(expr, &refs));
        refs.truncate(*known);
    }
    let Some((outermost, _)) = around.last() else {
        return Err(SqlError::internal("an aggregate of no query"));
    };
    let mut nested = None;
    for expr in call.exprs() {
        expr.any(&mut |part| {
            if let K::Column(column @ AGGREGATE_BASE..) = part.kind {
                nested = Some(if column >= WINDOW_BASE {
                    "cannot contain window function calls"
                } else {
                    "cannot be nested"
                });
            }
            false
        });
    }
    if let Some(what) = nested {
        return Err(grouping_error(format!("aggregate function calls {what}"), at));
    }
    let ty = call.ty.clone();
    let mut result = match outermost.aggregates {
        Some((_, Some(refusal))) => return Err(grouping_error(refusal, at)),
        Some((aggregates, None)) => {
            refuse_recursive(outermost.scope, at)?;
            let mut aggregates = aggregates.borrow_mut();
            aggregates.push(call);
            TypedExpr::column(AGGREGATE_BASE + aggregates.len() - 1, ty)
        }
        None => {
            let text = "aggregate functions are not allowed in FROM clause of their own query level";
            return Err(grouping_error(text, at));
        }
    };
    for (outer, _) in around.iter().rev() {
        result = outer.hand_in(result);
    }
    Ok(result)
}

/// The expression over the columns of the query around, where it was one over what that hands in.
pub(super) fn replace_outer(expr: &mut TypedExpr, refs: &[TypedExpr]) {
    if let K::Outer(number) = expr.kind {
        if let Some(handed) = refs.get(number) {
            *expr = handed.clone();
        }
        return;
    }
    expr.for_each_child_mut(&mut |child| replace_outer(child, refs));
}

/// Adds columns that the keys determine to them, where an expression above the grouping uses them plainly.
pub(super) fn add_dependent(
    expr: &TypedExpr,
    keys: &mut Vec<TypedExpr>,
    depends: &dyn Fn(usize, &[TypedExpr]) -> bool,
) {
    if keys.iter().any(|key| same(key, expr)) {
        return;
    }
    if let K::Column(column) = expr.kind {
        if column < AGGREGATE_BASE && depends(column, keys) {
            keys.push(expr.clone());
        }
        return;
    }
    expr.for_each_child(&mut |child| add_dependent(child, keys, depends));
}

/// Rewrites an expression over the input into one over keys (first), aggregates and GROUPING() (behind them).
///
/// `columns` tells, for columns used plainly, where and under which name: for the error.
pub fn over_groups(
    expr: &mut TypedExpr,
    keys: &[TypedExpr],
    aggregates: usize,
    columns: &[(usize, u32, String)],
) -> Result<(), SqlError> {
    if let Some(key) = keys.iter().position(|key| same(key, expr)) {
        expr.kind = K::Column(key);
        return Ok(());
    }
    match &mut expr.kind {
        K::Column(column) if *column >= WINDOW_BASE => Ok(()),
        K::Column(column) if *column >= GROUPING_BASE => {
            *column = *column - GROUPING_BASE + keys.len() + aggregates;
            Ok(())
        }
        K::Column(column) if *column >= AGGREGATE_BASE => {
            *column = *column - AGGREGATE_BASE + keys.len();
            Ok(())
        }
        K::Column(column) => {
            let used = columns.iter().find(|(index, _, _)| index == column);
            let (at, name) = used.map_or((0, ""), |(_, at, name)| (*at, name.as_str()));
            let text = format!(
                "column \"{name}\" must appear in the GROUP BY clause or be used in an aggregate function"
            );
            Err(SqlError::new(sqlstate::GROUPING_ERROR, text).at(at))
        }
        _ => {
            let mut result = Ok(());
            expr.for_each_child_mut(&mut |child| {
                if result.is_ok() {
                    result = over_groups(child, keys, aggregates, columns);
                }
            });
            result
        }
    }
}

/// Whether both are written with the same COLLATE, or none. What is quoted has no type yet, so that it is like nothing else.
fn collated_alike(arg: &Expr, key: &Expr) -> bool {
    match (&arg.kind, &key.kind) {
        (_, ExprKind::Literal(Literal::String(_) | Literal::Null)) => false,
        (ExprKind::Collate { collation: one, .. }, ExprKind::Collate { collation: other, .. }) => {
            one.name.text == other.name.text
        }
        (ExprKind::Collate { .. }, _) | (_, ExprKind::Collate { .. }) => false,
        _ => true,
    }
}

/// The type whose `min` and `max` PostgreSQL takes for values of a type that has none of its own.
fn taken_as(ty: &SqlType) -> Option<SqlType> {
    match ty {
        SqlType::System(SystemType::Cidr) => Some(SqlType::System(SystemType::Inet)),
        SqlType::System(SystemType::Char) => Some(SqlType::Text),
        SqlType::System(ty) if ty.is_reference() => Some(SqlType::Oid),
        _ => None,
    }
}

/// Whether an argument is what ORDER BY within the call names, as it is written: an implicit cast is not.
fn is_sorted_by(arg: &TypedExpr, key: &TypedExpr) -> bool {
    match &arg.kind {
        K::Cast { arg: written, kind: CastKind::Implicit } if same(written, key) => true,
        _ => same(arg, key),
    }
}
