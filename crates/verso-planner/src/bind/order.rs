//! ORDER BY: what it names, and the end of a SELECT, where its output is computed, sorted and locked.

use std::sync::Arc;

use verso_exec::plan::{ExprKind as K, OutputColumn, Plan, RowLock, SortKey, TypedExpr};
use verso_types::{Derivation, SqlType};

use super::Binder;
use super::collate::{distinguished, ordered};
use super::comparable::{check_equality, compares_roughly};
use super::context::{Clause, Context};
use super::scope::Scope;
use super::select::Item;
use super::set_operation::explicit;
use super::walk::{map_columns, same};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, ExprKind, Literal, OrderItem};

/// A column of the output, perhaps a hidden one, that the rows are ordered by.
pub(super) struct SortColumn {
    pub(super) column: usize,
    pub(super) descending: bool,
    pub(super) nulls_first: bool,
    /// USING an operator that compares bytes, whatever the collation.
    pub(super) by_bytes: bool,
}

impl SortColumn {
    /// A key in ascending order.
    pub(super) fn ascending(column: usize) -> SortColumn {
        SortColumn { column, descending: false, nulls_first: false, by_bytes: false }
    }

    fn key(&self, expr: TypedExpr) -> Result<SortKey, SqlError> {
        let expr = if self.by_bytes { expr } else { ordered(expr, 0)? };
        Ok(SortKey { expr, descending: self.descending, nulls_first: self.nulls_first })
    }
}

/// What a SELECT yields of each row of its input: named columns, then hidden ones, which are taken away at the end.
pub(super) struct Output {
    pub(super) exprs: Vec<TypedExpr>,
    /// Of the named ones.
    pub(super) names: Vec<Arc<str>>,
    pub(super) distinct: bool,
    /// The columns of DISTINCT ON.
    pub(super) distinct_on: Vec<usize>,
    pub(super) sort: Vec<SortColumn>,
    /// Rows locked by what the hidden columns say of them.
    pub(super) locks: Vec<RowLock>,
    /// So many of the last hidden columns stay.
    pub(super) shown: usize,
}

impl Output {
    /// All columns of its input that are computed, without names.
    pub(super) fn of_columns(exprs: Vec<TypedExpr>) -> Output {
        let names = exprs.iter().map(|_| Arc::from("?column?")).collect();
        let (distinct_on, sort, locks) = (Vec::new(), Vec::new(), Vec::new());
        Output { exprs, names, distinct: false, distinct_on, sort, locks, shown: 0 }
    }

    /// Project, Distinct, Sort and LockRows over the input.
    pub(super) fn over(self, input: Plan) -> Result<Plan, SqlError> {
        let Output { exprs, names, distinct, distinct_on, mut sort, locks, shown } = self;
        for key in &distinct_on {
            check_equality(&exprs[*key].ty, 0)?;
        }
        if !sort.is_empty() {
            // The rows of which DISTINCT ON takes the first come one behind the other, whatever ORDER BY leaves open.
            for column in distinct_on.iter().copied() {
                if !sort.iter().any(|key| key.column == column) {
                    sort.push(SortColumn::ascending(column));
                }
            }
        }
        let width = names.len();
        let types: Vec<SqlType> = exprs.iter().map(|expr| expr.ty.clone()).collect();
        let hidden = (width..exprs.len()).map(|_| Arc::from("?column?"));
        let all_names: Vec<Arc<str>> = names.iter().cloned().chain(hidden).collect();
        let together = distinct || !distinct_on.is_empty();
        let seen: Vec<SqlType> = exprs.iter().map(TypedExpr::seen).collect();
        let mut plan = sorted(input, exprs, all_names, width, together, distinct, &sort)?;
        if !distinct_on.is_empty() {
            let keys = distinct_on.iter().map(|n| distinguished(TypedExpr::column(*n, seen[*n].clone()), 0));
            let keys = keys.collect::<Result<_, _>>()?;
            plan = Plan::DistinctOn { input: Box::new(plan), keys };
        }
        let locked = !locks.is_empty();
        if locked {
            plan = Plan::LockRows { input: Box::new(plan), locks, bound: Vec::new() };
        }
        if locked || types.len() > width + shown {
            let kept = (0..width).chain(types.len() - shown..types.len());
            let column = |n: usize| match explicit(&plan, n) {
                Some(derived) => TypedExpr { collation: derived, ..TypedExpr::column(n, seen[n].clone()) },
                None => TypedExpr::column(n, seen[n].clone()),
            };
            let exprs = kept.map(column).collect();
            let names = names.into_iter().chain((0..shown).map(|_| Arc::from(""))).collect();
            plan = Plan::Project { input: Box::new(plan), exprs, names };
        }
        Ok(plan)
    }
}

/// The expressions over the input, distinct or sorted; so many of their names, `width`, are the query's.
fn sorted(
    input: Plan,
    exprs: Vec<TypedExpr>,
    names: Vec<Arc<str>>,
    width: usize,
    together: bool,
    distinct: bool,
    sort: &[SortColumn],
) -> Result<Plan, SqlError> {
    let output = input.output();
    let late: Vec<bool> = (exprs.iter().enumerate())
        .map(|(n, expr)| expr.is_volatile() && !sort.iter().any(|key| key.column == n))
        .collect();
    if !sort.is_empty() && !together && late.contains(&true) {
        let (below, above) = around_sort(exprs, &late, &output);
        let keys = sort.iter().map(|key| key.key(above[key.column].clone()));
        let keys = keys.collect::<Result<_, SqlError>>()?;
        let unnamed = below.iter().map(|_| Arc::from("?column?")).collect();
        let plan = Plan::Project { input: Box::new(input), exprs: below, names: unnamed };
        let plan = Plan::Sort { input: Box::new(plan), keys, sorted: 0 };
        return Ok(Plan::Project { input: Box::new(plan), exprs: above, names });
    }
    let keys: Vec<SortKey> = (sort.iter())
        .map(|key| {
            let mut column = TypedExpr::column(key.column, exprs[key.column].ty.clone());
            column.collation = exprs[key.column].collation.clone();
            key.key(column)
        })
        .collect::<Result<_, SqlError>>()?;
    let unchanged = exprs.len() == output.len()
        && width == exprs.len()
        && exprs.iter().enumerate().all(|(n, expr)| matches!(expr.kind, K::Column(column) if column == n))
        && output.iter().zip(&names).all(|(column, name)| column.name == *name)
        // COLLATE weighs more than the collation of a column (UNION), also where it names the same one; that of a query in FROM
        // is its column's for whoever reads it.
        && !exprs.iter().any(|expr| matches!(expr.collation, Derivation::Explicit(_)))
        && (0..output.len()).all(|column| explicit(&input, column).is_none())
        // COLLATE is all that `a COLLATE c` changes.
        && output.iter().zip(&exprs).all(|(column, expr)| column.collation == expr.collation.kept());
    let mut plan = input;
    if !unchanged {
        plan = Plan::Project { input: Box::new(plan), exprs, names };
    }
    if distinct {
        plan = super::collate::distinct(plan)?;
    }
    if !keys.is_empty() {
        plan = Plan::Sort { input: Box::new(plan), keys, sorted: 0 };
    }
    Ok(plan)
}

/// What is computed below a sort, and the expressions over that above it: what does something (a sequence's next value) is
/// done in the order of the rows that come out, and only for these.
pub(crate) fn around_sort(
    exprs: Vec<TypedExpr>,
    late: &[bool],
    input: &[OutputColumn],
) -> (Vec<TypedExpr>, Vec<TypedExpr>) {
    let mut below: Vec<TypedExpr> = Vec::new();
    let mut above = exprs;
    for (expr, _) in above.iter_mut().zip(late).filter(|(_, late)| !**late) {
        let mut column = TypedExpr::column(below.len(), expr.ty.clone());
        column.collation = expr.collation.clone();
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

impl Binder<'_> {
    /// The output column that a bare name or number in ORDER BY or GROUP BY means.
    pub(super) fn output_reference(
        &self,
        expr: &Expr,
        items: &[Item],
        clause: &str,
    ) -> Result<Option<usize>, SqlError> {
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

    /// An expression as an item of ORDER BY sorts by it.
    pub(super) fn ordered_by(&self, expr: TypedExpr, item: &OrderItem) -> Result<TypedExpr, SqlError> {
        if self.sorts_bytes(&expr, item)? { Ok(expr) } else { ordered(expr, item.expr.at.start) }
    }

    /// Whether the operator of USING compares bytes, whatever the collation.
    ///
    /// # Errors
    /// 42883 for an operator that is not there, 42809 for one that orders nothing.
    pub(super) fn sorts_bytes(&self, expr: &TypedExpr, item: &OrderItem) -> Result<bool, SqlError> {
        let Some(op) = &item.using else { return Ok(false) };
        let side = || (expr.clone(), item.expr.at.start);
        self.operator(&op.text, vec![side(), side()], op.at.start)?;
        match op.text.as_str() {
            "<" | ">" if !compares_roughly(&expr.ty) => Ok(false),
            "~<~" | "~>~" => Ok(true),
            other => {
                let text = format!("operator {other} is not a valid ordering operator");
                let hint = "Ordering operators must be \"<\" or \">\" members of btree operator families.";
                Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_hint(hint).at(op.at.start))
            }
        }
    }

    /// ORDER BY over the output of a plan.
    pub(super) fn order_output(
        &self,
        plan: Plan,
        order_by: &[OrderItem],
        is_set: bool,
    ) -> Result<Plan, SqlError> {
        if order_by.is_empty() {
            return Ok(plan);
        }
        let output = plan.output();
        let item = |(index, column): (usize, &OutputColumn)| Item {
            expr: TypedExpr::column(index, column.seen()),
            name: Arc::clone(&column.name),
            at: 0,
        };
        let items: Vec<Item> = output.iter().enumerate().map(item).collect();
        let columns = output.iter().map(|column| (Arc::clone(&column.name), column.seen())).collect();
        let scope = Scope::of(None, None, columns);
        let mut keys = Vec::new();
        for order in order_by {
            let expr = match self.output_reference(&order.expr, &items, "ORDER BY")? {
                Some(column) => items[column].expr.clone(),
                None => {
                    let bound = self.expr(&order.expr, &mut Context::new(&scope, Clause::Limit))?;
                    if is_set {
                        return Err(no_result_column(order.expr.at.start));
                    }
                    self.settle(bound, order.expr.at.start)?
                }
            };
            let expr = self.ordered_by(expr, order)?;
            keys.push(SortKey { expr, descending: order.descending, nulls_first: order.nulls_first });
        }
        Ok(Plan::Sort { input: Box::new(plan), keys, sorted: 0 })
    }
}

fn no_result_column(at: u32) -> SqlError {
    let text = "invalid UNION/INTERSECT/EXCEPT ORDER BY clause";
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)
        .with_detail("Only result column names can be used, not expressions or functions.")
        .with_hint("Add the expression/function to every SELECT, or move the UNION into a FROM clause.")
        .at(at)
}
