//! WITH: queries that others read by name.
//!
//! Each reader gets the same [`Plan::Shared`]; which of them become part of their readers is decided when the statement is
//! rewritten.

use std::sync::Arc;

use verso_env::stack;
use verso_exec::plan::{OutputColumn, Plan, TypedExpr};

use super::Binder;
use super::recursive::Arranged;
use super::scope::Correlation;
use super::set_operation::refuse_locks;
use super::unbound;
use crate::depth::levels;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Name, QueryBody, SelectItem, SetOperator};

/// A query of WITH, bound.
#[derive(Clone, Debug)]
pub struct Cte {
    name: Arc<str>,
    rows: CteRows,
}

#[derive(Clone, Debug)]
enum CteRows {
    /// A query; how deep it stands, where it needs a query around it.
    Plan { plan: Arc<Plan>, correlated: Option<usize> },
    /// The last round of the recursive query that is being bound.
    Work { number: usize, columns: Vec<OutputColumn> },
    /// A transition table of a trigger.
    Transition { new: bool, columns: Vec<OutputColumn> },
}

impl Cte {
    /// A transition table of a trigger, under its name there.
    pub(super) fn transition(name: &Arc<str>, new: bool, columns: Vec<OutputColumn>) -> Cte {
        Cte { name: Arc::clone(name), rows: CteRows::Transition { new, columns } }
    }
}

impl<'c> Binder<'c> {
    /// The binder for what stands behind WITH.
    pub(super) fn with(&self, queries: &[syntax::Cte]) -> Result<Binder<'c>, SqlError> {
        let mut inside = self.clone();
        for (query, recursive) in Arranged::of(queries)?.queries {
            unbound::cte(query)?;
            let plan = match recursive {
                true => inside.recursive(query)?,
                false => named(inside.query(&query.query)?, query)?,
            };
            let correlated = plan.uses_outer().then(|| self.outer.map_or(0, Correlation::depth));
            let rows = CteRows::Plan { plan: Arc::new(plan), correlated };
            inside.ctes.push(Cte { name: query.name.text.as_str().into(), rows });
            levels(4 * inside.ctes.len())?; // each may read the one before it, by way of several operators
        }
        Ok(inside)
    }

    /// A query that reads itself: a UNION, perhaps behind a WITH of its own.
    fn recursive(&self, query: &syntax::Cte) -> Result<Plan, SqlError> {
        let mut around = self.clone();
        let mut inner = &query.query;
        let (all, left, right) = loop {
            stack::check()?;
            if !inner.with.is_empty() {
                around = around.with(&inner.with)?;
            }
            match &inner.body {
                QueryBody::Nested(nested) => inner = nested,
                QueryBody::Set { operator: SetOperator::Union, all, left, right } => {
                    break (all, left, right);
                }
                _ => return Err(SqlError::internal("a recursive query of another form")),
            }
        };
        refuse_locks(left)?;
        let base = named(around.query(left)?, query)?;
        let columns = base.output();
        // Numbers only have to differ between recursive queries inside of each other.
        let number = around.ctes.len();
        let rows = CteRows::Work { number, columns: columns.clone() };
        around.ctes.push(Cte { name: query.name.text.as_str().into(), rows });
        refuse_locks(right)?;
        let step = around.query(right)?;
        let types = step.output();
        if types.len() != columns.len() {
            let text = "each UNION query must have the same number of columns";
            return Err(SqlError::syntax(text).at(right.at.start));
        }
        for (index, (column, step)) in columns.iter().zip(&types).enumerate() {
            if !column.ty.same_base(&step.ty) {
                let text = format!(
                    "recursive query \"{}\" column {} has type {} in non-recursive term but type {} overall",
                    query.name.text,
                    index + 1,
                    column.ty.pg_name(),
                    step.ty.pg_name()
                );
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
                    .with_hint("Cast the output of the non-recursive term to the correct type.")
                    .at(column_at(left, index)));
            }
        }
        let types: Vec<_> = columns.into_iter().map(|column| column.ty).collect();
        let step = Box::new(self.cast_output(step, &types)?);
        Ok(Plan::Recursive { number, base: Box::new(base), step, all: *all })
    }

    /// The rows of a query of WITH with this name.
    pub(super) fn with_query(&self, name: &Name) -> Result<Option<Plan>, SqlError> {
        let Some(cte) = self.ctes.iter().rev().find(|cte| *cte.name == *name.text) else { return Ok(None) };
        Ok(Some(match &cte.rows {
            CteRows::Work { number, columns } => {
                Plan::WorkTable { number: *number, columns: columns.clone() }
            }
            CteRows::Transition { new, columns } => Plan::Transition { new: *new, columns: columns.clone() },
            CteRows::Plan { plan, correlated: None } => Plan::shared(Arc::clone(plan)),
            CteRows::Plan { plan, correlated: Some(depth) } => {
                if *depth != self.outer.map_or(0, Correlation::depth) {
                    let what = "a WITH query that needs a query around it, read from another one inside";
                    return Err(SqlError::unsupported(what).at(name.at.start));
                }
                Plan::clone(plan)
            }
        }))
    }
}

/// Where the expression of an output column stands.
fn column_at(query: &syntax::Query, column: usize) -> u32 {
    match &query.body {
        QueryBody::Select(select) => match select.items.get(column) {
            Some(SelectItem::Expr { expr, .. }) => expr.at.start,
            _ => query.at.start,
        },
        _ => query.at.start,
    }
}

/// The plan with the column names that WITH gives.
fn named(plan: Plan, query: &syntax::Cte) -> Result<Plan, SqlError> {
    if query.columns.is_empty() {
        return Ok(plan);
    }
    let output = plan.output();
    if query.columns.len() > output.len() {
        let text = format!(
            "WITH query \"{}\" has {} columns available but {} columns specified",
            query.name.text,
            output.len(),
            query.columns.len()
        );
        return Err(SqlError::new(sqlstate::INVALID_COLUMN_REFERENCE, text).at(query.name.at.start));
    }
    let given = query.columns.iter().map(|name| Arc::from(name.text.as_str()));
    let names = given.chain(output.iter().skip(query.columns.len()).map(|column| Arc::clone(&column.name)));
    let exprs = output.iter().enumerate().map(|(index, column)| TypedExpr::column(index, column.ty.clone()));
    Ok(Plan::Project { exprs: exprs.collect(), names: names.collect(), input: Box::new(plan) })
}
