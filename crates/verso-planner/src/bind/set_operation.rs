//! UNION, INTERSECT, EXCEPT: both sides in common types.

use verso_exec::plan::{Plan, SetOperation, TypedExpr};
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::coerce::exactly;
use super::lock;
use super::resolve::{common_type, shown};
use crate::depth::levels;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Query, QueryBody, SetOperator};

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
        let mut plan = self.query_for(start, targets)?;
        for (n, (operator, all, right)) in steps.into_iter().rev().enumerate() {
            let again = (n == 0).then_some(start);
            plan = self.combined(plan, again, (operator, all), right, targets)?;
        }
        Ok(plan)
    }

    /// One step of a chain. The plan on the left can be bound again where it is a single query.
    fn combined(
        &self,
        mut first: Plan,
        again: Option<&Query>,
        (operator, all): (SetOperator, bool),
        right: &Query,
        targets: &[SqlType],
    ) -> Result<Plan, SqlError> {
        let types = |plan: &Plan| plan.output().into_iter().map(|column| column.ty).collect::<Vec<_>>();
        let word = operator.as_str();
        let ours = types(&first);
        refuse_locks(right)?;
        let second = self.query_for(right, if targets.is_empty() { &ours } else { targets })?;
        let theirs = types(&second);
        if ours.len() != theirs.len() {
            let text = format!("each {word} query must have the same number of columns");
            return Err(SqlError::syntax(text).at(right.at.start));
        }
        // An untyped literal on the left takes the type of the right side.
        let differ = ours.iter().zip(&theirs).any(|(a, b)| common_type([a, b].into_iter()).is_err());
        if let (true, Some(left)) = (differ, again) {
            first = self.query_for(left, &theirs)?;
        }
        let mut common = Vec::with_capacity(theirs.len());
        for (a, b) in types(&first).iter().zip(&theirs) {
            common.push(common_type([a, b].into_iter()).map_err(|(a, b)| {
                let text = format!("{word} types {} and {} cannot be matched", shown(&a), shown(&b));
                SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(right.at.start)
            })?);
        }
        let first = self.cast_output(first, &common)?;
        let second = self.cast_output(second, &common)?;
        let operation = match operator {
            SetOperator::Union => return Ok(union(first, second, all)),
            SetOperator::Intersect => SetOperation::Intersect,
            SetOperator::Except => SetOperation::Except,
        };
        Ok(Plan::SetOperation { left: Box::new(first), right: Box::new(second), operation, all })
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
fn union(first: Plan, second: Plan, all: bool) -> Plan {
    let inputs = match first {
        Plan::Append { inputs } if all => inputs,
        Plan::Distinct { input } if !all => match *input {
            Plan::Append { inputs } => inputs,
            input => vec![input],
        },
        first => vec![first],
    };
    let append = Plan::Append { inputs: inputs.into_iter().chain([second]).collect() };
    if all { append } else { Plan::Distinct { input: Box::new(append) } }
}
