//! UNION, INTERSECT, EXCEPT: both sides in common types.

use verso_exec::plan::{Plan, SetOperation, TypedExpr};
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::coerce::exactly;
use super::resolve::{common_type, shown};
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Query, SetOperator};

impl Binder<'_> {
    /// UNION, INTERSECT, EXCEPT: both sides in common types, under the names of the left one.
    pub(super) fn set_operation(
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
}
