//! UNION, INTERSECT, EXCEPT: both sides in common types.

use std::borrow::Cow;
use std::sync::Arc;

use verso_exec::plan::{OutputColumn, Plan, SetOperation, TypedExpr};

use verso_types::{CastKind, Collation, Derivation, SqlType};

use super::Binder;
use super::coerce::{exactly, unconverted};
use super::collate::told_apart_by;
use super::lock;
use super::parameter::Inference;
use super::resolve::{common_type, shown};
use crate::depth::levels;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{ExprKind, GroupItem, Literal, Query, QueryBody, SelectItem, SetOperator};

impl Binder<'_> {
    /// UNION, INTERSECT, EXCEPT: both sides in common types, under the names of the left one. A chain of them, as long as
    /// it may be, is bound from its left end on.
    pub(super) fn set_operation(&self, body: &QueryBody, targets: &[SqlType]) -> Result<Plan, SqlError> {
        let mut steps = Vec::new();
        let mut first = body;
        let mut start = None;
        while let QueryBody::Set { operator, all, left, right } = first {
            steps.push((*operator, *all, &**right));
            start = Some(&**left);
            match &left.body {
                QueryBody::Set { .. } if left.is_bare() => first = &left.body,
                _ => break,
            }
        }
        levels(2 * steps.iter().filter(|(operator, _, _)| *operator != SetOperator::Union).count())?;
        let Some(start) = start else { return Err(SqlError::internal("no set operation")) };
        refuse_locks(start)?;
        let known = self.inference.map(Inference::known);
        let mut plan = self.query_for(start, targets)?;
        for (n, (operator, all, right)) in steps.into_iter().rev().enumerate() {
            let again = (n == 0).then_some((start, &known));
            plan = self.combined(plan, again, (operator, all), right, targets)?;
        }
        Ok(plan)
    }

    /// One step of a chain. The plan on the left can be bound again where it is a single query: with what was known of parameters
    /// before it.
    fn combined(
        &self,
        mut first: Plan,
        again: Option<(&Query, &Option<Vec<SqlType>>)>,
        (operator, all): (SetOperator, bool),
        right: &Query,
        targets: &[SqlType],
    ) -> Result<Plan, SqlError> {
        let types = |plan: &Plan| plan.output().into_iter().map(|column| column.ty).collect::<Vec<_>>();
        let word = operator.as_str();
        let ours = types(&first);
        refuse_locks(right)?;
        // Literals without a type take the one of the other side, not its length.
        let bare = |types: &[SqlType]| types.iter().map(SqlType::without_modifiers).collect::<Vec<_>>();
        let wanted = if targets.is_empty() { bare(&ours) } else { targets.to_vec() };
        let mut second = self.query_for(right, &untyped(right, &wanted))?;
        let theirs = types(&second);
        if ours.len() != theirs.len() {
            let text = format!("each {word} query must have the same number of columns");
            return Err(SqlError::syntax(text).at(right.at.start));
        }
        // An untyped literal or parameter on the left takes the type of the right side.
        let differs = |(a, b): (&SqlType, &SqlType)| {
            common_type([a, b].into_iter()).is_err()
                || *a == SqlType::Text && matches!(b, SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Name)
        };
        let differ = ours.iter().zip(&theirs).any(differs);
        if let (true, Some((left, known))) = (differ, again) {
            if let (Some(inference), Some(known)) = (self.inference, known) {
                let found = inference.known();
                inference.go_back(known.clone());
                first = self.query_for(left, &untyped(left, &bare(&theirs)))?;
                inference.go_on(&found);
                if inference.known() != found {
                    // It may have them, too.
                    second = self.query_for(right, &untyped(right, &bare(&types(&first))))?;
                }
            } else {
                first = self.query_for(left, &untyped(left, &bare(&theirs)))?;
            }
        }
        let mut common = Vec::with_capacity(theirs.len());
        for (a, b) in types(&first).iter().zip(&theirs) {
            common.push(common_type([a, b].into_iter()).map_err(|(a, b)| {
                let text = format!("{word} types {} and {} cannot be matched", shown(&a), shown(&b));
                SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(right.at.start)
            })?);
        }
        let cast = |plan| self.cast_output(plan, &common).map_err(|error| unconverted(error, word));
        let (first, second) = (cast(first)?, cast(second)?);
        let first = self.collated_together(first, &second, all && operator == SetOperator::Union)?;
        let operation = match operator {
            SetOperator::Union => return union(first, second, all),
            SetOperator::Intersect => SetOperation::Intersect,
            SetOperator::Except => SetOperation::Except,
        };
        let collators = told_apart_by(&first.output())?;
        Ok(Plan::SetOperation { left: Box::new(first), right: Box::new(second), operation, all, collators })
    }

    /// The first of two plans with the collations of both: a column that has different ones has none where nothing asks for
    /// it (`any`), and is refused otherwise.
    fn collated_together(&self, first: Plan, second: &Plan, any: bool) -> Result<Plan, SqlError> {
        let (ours, theirs) = (first.output(), second.output());
        if ours.iter().chain(&theirs).all(|column| column.collation.is_none()) {
            return Ok(first);
        }
        let mut exprs = Vec::with_capacity(ours.len());
        for (n, (a, b)) in ours.iter().zip(&theirs).enumerate() {
            let mut column = TypedExpr::column(n, a.ty.clone());
            // One of which none follows gives way to any other.
            let known = |column: &OutputColumn| {
                column.collation.clone().filter(|collation| collation.oid != Collation::OPEN)
            };
            let is_explicit = |plan: &Plan| explicit(plan, n).is_some();
            let without = |column: &OutputColumn| column.collation.is_some() && known(column).is_none();
            column.collation = match (&known(a), &known(b)) {
                (None, None) if without(a) && without(b) => Derivation::Without,
                // COLLATE of one of them counts; of both, it is one too many
                (Some(one), Some(two))
                    if one.oid != two.oid && (is_explicit(&first) || is_explicit(second)) =>
                {
                    if is_explicit(&first) && is_explicit(second) {
                        let text =
                            format!("collation mismatch between explicit collations \"{one}\" and \"{two}\"");
                        return Err(SqlError::new("42P21", text));
                    }
                    Derivation::Implicit(Arc::clone(if is_explicit(&first) { one } else { two }))
                }
                (Some(one), Some(two)) if one.oid != two.oid && !any => {
                    let text =
                        format!("collation mismatch between implicit collations \"{one}\" and \"{two}\"");
                    let hint = "You can choose the collation by applying the COLLATE clause to one or both \
                                expressions.";
                    return Err(SqlError::new("42P21", text).with_hint(hint));
                }
                (Some(one), Some(two)) if one.oid != two.oid => {
                    Derivation::Open(Arc::new((Arc::clone(one), Arc::clone(two))))
                }
                (Some(one), _) | (None, Some(one)) => Derivation::Implicit(Arc::clone(one)),
                (None, None) => Derivation::Default,
            };
            exprs.push(column);
        }
        if exprs.iter().zip(&ours).all(|(expr, column)| expr.collation.kept() == column.collation) {
            return Ok(first);
        }
        let names = ours.into_iter().map(|column| column.name).collect();
        Ok(Plan::Project { input: Box::new(first), exprs, names })
    }

    /// The plan with its columns cast.
    pub(super) fn cast_output(&self, plan: Plan, to: &[SqlType]) -> Result<Plan, SqlError> {
        let output = plan.output();
        if output.iter().zip(to).all(|(column, to)| column.ty == *to) {
            return Ok(plan);
        }
        let mut exprs = Vec::with_capacity(to.len());
        for (index, (column, to)) in output.iter().zip(to).enumerate() {
            let expr = TypedExpr::column(index, column.seen());
            let collation = explicit(&plan, index).unwrap_or_else(|| expr.collation.clone());
            let keeps = expr.ty.own_collation().is_none();
            let mut cast = exactly(self.coerce(expr, 0, to, CastKind::Implicit)?, to);
            if keeps && cast.ty.is_collatable() {
                cast.collation = collation;
            }
            exprs.push(cast);
        }
        let names = output.into_iter().map(|column| column.name).collect();
        Ok(Plan::Project { input: Box::new(plan), exprs, names })
    }
}

/// Refuses FOR UPDATE behind one of the queries that are put together.
pub(super) fn refuse_locks(query: &Query) -> Result<(), SqlError> {
    let mut inner = query;
    loop {
        if let Some(lock) = inner.locks.first() {
            return Err(lock::not_allowed(lock.strength, "UNION/INTERSECT/EXCEPT"));
        }
        match &inner.body {
            QueryBody::Nested(nested) => inner = nested,
            _ => return Ok(()),
        }
    }
}

/// UNION, in one level with a UNION on its left. Duplicates that go at its end need not go before.
fn union(first: Plan, second: Plan, all: bool) -> Result<Plan, SqlError> {
    let inputs = match first {
        Plan::Append { inputs, .. } if all => inputs,
        Plan::Distinct { input } if !all => match *input {
            Plan::Append { inputs, .. } => inputs,
            input => vec![input],
        },
        first => vec![first],
    };
    let append = Plan::Append { inputs: inputs.into_iter().chain([second]).collect(), pruning: None };
    if all { Ok(append) } else { super::collate::distinct(append) }
}

/// The collation of a column of a query, if COLLATE says it there.
pub(super) fn explicit(plan: &Plan, column: usize) -> Option<Derivation> {
    let mut plan = plan;
    while let Plan::Distinct { input }
    | Plan::DistinctOn { input, .. }
    | Plan::Sort { input, .. }
    | Plan::Limit { input, .. }
    | Plan::LockRows { input, .. } = plan
    {
        plan = input;
    }
    let Plan::Project { exprs, .. } = plan else { return None };
    let derived = exprs.get(column).map(|expr| &expr.collation);
    derived.filter(|derived| matches!(derived, Derivation::Explicit(_))).cloned()
}

/// The types that literals of a side take from the other one: of a SELECT, whose output they are; those of VALUES, and of several
/// queries put together, have been given one before, and so have those that rows are told apart, grouped or ordered by.
pub(super) fn untyped<'t>(query: &Query, types: &'t [SqlType]) -> Cow<'t, [SqlType]> {
    let select = match &query.body {
        QueryBody::Select(select) if !select.distinct && select.distinct_on.is_empty() => select,
        QueryBody::Nested(inner) if query.order_by.is_empty() => return untyped(inner, types),
        _ => return Cow::default(),
    };
    let ordered = query.order_by.iter().map(|item| Some(&item.expr));
    let grouped = select.group_by.iter().map(|item| match item {
        GroupItem::Expr(expr) => Some(expr),
        _ => None,
    });
    let mut types = Cow::Borrowed(types);
    for key in ordered.chain(grouped) {
        match key.map(|key| &key.kind) {
            // The number of a column.
            Some(ExprKind::Literal(Literal::Number(number))) => {
                let column = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                if let Some(ty) = column.and_then(|column| types.to_mut().get_mut(column)) {
                    *ty = SqlType::Text;
                }
            }
            // Perhaps its name.
            Some(ExprKind::Column(parts)) => {
                for (n, item) in select.items.iter().enumerate() {
                    if let SelectItem::Expr { alias: Some(alias), .. } = item
                        && matches!(parts.as_slice(), [name] if name.text == alias.text)
                        && let Some(ty) = types.to_mut().get_mut(n)
                    {
                        *ty = SqlType::Text;
                    }
                }
            }
            Some(_) => {}
            None => return Cow::default(),
        }
    }
    types
}
