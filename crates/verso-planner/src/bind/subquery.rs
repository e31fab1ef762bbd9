//! Queries within expressions: what they use of the row around them becomes `Outer(n)` inside.

use std::cell::RefCell;
use std::sync::Arc;

use verso_exec::plan::{ExprKind as K, OutputColumn, Plan, SubqueryTest, TypedExpr};
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::coerce::exactly;
use super::collate::is_keyed;
use super::comparable::compares_roughly;
use super::context::{Clause, Context};
use super::resolve::common_type;
use super::scope::Correlation;
use super::subscript::array_over;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, Query};

impl Binder<'_> {
    /// Refuses a query where PostgreSQL does.
    pub(super) fn refuse_subquery(&self, clause: Clause, at: u32) -> Result<(), SqlError> {
        let place = match clause {
            // Files may have some from before.
            Clause::Check if !self.kept => "check constraint",
            Clause::Default | Clause::ArgumentDefault => "DEFAULT expression",
            Clause::Generated => "column generation expression",
            Clause::IndexExpression => "index expression",
            Clause::IndexPredicate => "index predicate",
            Clause::PartitionKey => "partition key expression",
            Clause::Statistics => "statistics expression",
            Clause::TriggerWhen => "trigger WHEN condition",
            Clause::Transform => "transform expression",
            Clause::CopyWhere => "COPY FROM WHERE condition",
            Clause::CallArgument => "CALL argument",
            Clause::ExecuteArgument => "EXECUTE parameter",
            _ => return Ok(()),
        };
        let text = format!("cannot use subquery in {place}");
        Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at))
    }

    /// Binds a query in the scope of an expression; what it needs of the row there comes beside it.
    fn correlated(&self, query: &Query, cx: &mut Context<'_>) -> Result<(Plan, Vec<TypedExpr>), SqlError> {
        self.correlated_for(query, &[], cx)
    }

    /// The same for columns of these types.
    pub(super) fn correlated_for(
        &self,
        query: &Query,
        targets: &[SqlType],
        cx: &mut Context<'_>,
    ) -> Result<(Plan, Vec<TypedExpr>), SqlError> {
        self.refuse_subquery(cx.clause, query.at.start)?;
        let refs = RefCell::default();
        let plan = {
            let refusal = cx.refuses_aggregates();
            let around = Correlation {
                scope: cx.scope(),
                parent: self.outer,
                refs: &refs,
                hidden: None,
                lateral: false,
                aggregates: Some((&cx.aggregates, refusal.as_deref())),
                groupings: Some(&cx.groupings),
            };
            Binder { outer: Some(&around), ..self.clone() }.query_for(query, targets)?
        };
        let outer = refs.into_inner();
        for expr in &outer {
            // A whole row that is handed in names none of its columns.
            match expr.ty.is_row() && !matches!(expr.kind, K::Column(_)) {
                true => cx.uses_in_row(expr, query.at.start),
                false => cx.uses(expr, query.at.start),
            }
        }
        Ok((plan, outer))
    }

    /// `(query)`, which begins at a place.
    pub(super) fn scalar_subquery(
        &self,
        query: &Query,
        at: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let (plan, outer) = self.correlated(query, cx)?;
        let OutputColumn { name, ty, .. } = only_column(&plan, at)?;
        cx.queries.push((query.at.start, name));
        Ok(subquery(plan, outer, SubqueryTest::Scalar, Vec::new(), ty))
    }

    /// `EXISTS (query)`.
    pub(super) fn exists(&self, query: &Query, cx: &mut Context<'_>) -> Result<TypedExpr, SqlError> {
        let (plan, outer) = self.correlated(query, cx)?;
        Ok(subquery(rows_only(plan), outer, SubqueryTest::Exists, Vec::new(), SqlType::Bool))
    }

    /// `ARRAY(query)`, which begins at a place.
    pub(super) fn array_subquery(
        &self,
        query: &Query,
        at: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let (plan, outer) = self.correlated(query, cx)?;
        let ty = array_over(only_column(&plan, at)?.ty);
        Ok(subquery(plan, outer, SubqueryTest::Array, Vec::new(), ty))
    }

    /// `(a, b) [NOT] IN (query)`: both sides in the types that `=` wants.
    pub(super) fn in_subquery(
        &self,
        args: &[Expr],
        query: &Query,
        negated: bool,
        point: u32,
        cx: &mut Context<'_>,
    ) -> Result<TypedExpr, SqlError> {
        let given = self.before_query(args, cx)?;
        if given.iter().any(|(arg, _)| compares_roughly(&arg.ty)) {
            let member = self.quantified_subquery("=", args, query, false, point, cx)?;
            let not = |member| TypedExpr::new(K::Not(Box::new(member)), SqlType::Bool);
            return Ok(if negated { not(member) } else { member });
        }
        let (plan, outer) = self.correlated(query, cx)?;
        let output = plan.output();
        if output.len() != given.len() {
            let word = if output.len() > given.len() { "many" } else { "few" };
            return Err(SqlError::syntax(format!("subquery has too {word} columns")).at(point));
        }
        let (mut args, mut types, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
        for (index, ((arg, at), column)) in given.into_iter().zip(&output).enumerate() {
            let operands = vec![(arg, at), (TypedExpr::column(index, column.seen()), at)];
            let sides = self.sides(operands, "IN (subquery)", point)?;
            let is_row = |side: &TypedExpr| matches!(side.ty, SqlType::Row(_) | SqlType::Record);
            // Rows of several types are compared field by field, whatever the types are called.
            let ty = match sides.iter().all(is_row) && sides.windows(2).any(|pair| pair[0].ty != pair[1].ty) {
                true => SqlType::Record,
                false => common_type(sides.iter().map(|side| &side.ty))
                    .map_err(|_| SqlError::internal("= over two types"))?,
            };
            let mut sides = sides.into_iter();
            let (Some(arg), Some(side)) = (sides.next(), sides.next()) else {
                return Err(SqlError::internal("a comparison without operands"));
            };
            args.push(exactly(self.coerce(arg, at, &ty, CastKind::Implicit)?, &ty));
            types.push(ty);
            theirs.push(side);
        }
        let plan = match theirs.iter().any(is_keyed) {
            true => {
                let names = output.iter().map(|column| Arc::clone(&column.name)).collect();
                Plan::Project { input: Box::new(plan), exprs: theirs, names }
            }
            false => plan,
        };
        let plan = self.cast_output(plan, &types)?;
        Ok(subquery(plan, outer, SubqueryTest::In { negated }, args, SqlType::Bool))
    }
}

pub(super) fn subquery(
    plan: Plan,
    outer: Vec<TypedExpr>,
    test: SubqueryTest,
    args: Vec<TypedExpr>,
    ty: SqlType,
) -> TypedExpr {
    TypedExpr::new(K::Subquery { plan: Arc::new(plan), outer, test, args }, ty)
}

/// The rows of a query without their columns, which nobody computes then; whether there is one depends neither on them nor
/// on their order, nor on how often a row is there, unless OFFSET passes over some.
fn rows_only(plan: Plan) -> Plan {
    without_columns(plan, false)
}

fn without_columns(plan: Plan, counted: bool) -> Plan {
    let mut input = plan;
    loop {
        input = match input {
            Plan::Limit { input, limit, offset, ties: _ } => {
                let input = Box::new(without_columns(*input, counted || offset.is_some()));
                return Plan::Limit { input, limit, offset, ties: Vec::new() };
            }
            Plan::Project { input, .. } | Plan::Sort { input, .. } | Plan::Window { input, .. } => *input,
            Plan::DistinctOn { input, .. } | Plan::Distinct { input } if !counted => *input,
            // There is a group where there is a row.
            Plan::Aggregate { input, group_by, aggregates, sets: None }
                if !counted && !group_by.is_empty() && aggregates.is_empty() =>
            {
                *input
            }
            input => {
                return Plan::Project { input: Box::new(input), exprs: Vec::new(), names: Vec::new() };
            }
        };
    }
}

/// A query's one column, with the type that its values are seen as.
fn only_column(plan: &Plan, at: u32) -> Result<OutputColumn, SqlError> {
    let mut output = plan.output();
    match (output.pop(), output.is_empty()) {
        (Some(column), true) => Ok(OutputColumn { ty: column.seen(), ..column }),
        _ => Err(SqlError::syntax("subquery must return only one column").at(at)),
    }
}
