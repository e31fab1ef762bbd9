//! WITH: queries that others read by name.
//!
//! Each reader gets the same [`Plan::Shared`]; which of them become part of their readers is decided when the statement is
//! rewritten.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use verso_env::recursion;
use verso_exec::plan::{ExprKind, Named, OutputColumn, Plan, TransitionTable, TypedExpr, With};

use super::Binder;
use super::collate::told_apart_by;
use super::recursive::Arranged;
use super::resolve::{common_type, shown};
use super::scope::Correlation;
use super::set_operation::{refuse_locks, untyped};
use crate::depth::levels;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{self, Name, QueryBody, SelectItem, SetOperator};
use verso_types::SqlType;

/// A query of NOT MATERIALIZED with more operators is computed once.
const OPERATORS_MAX: usize = 200;

/// A query of WITH, bound.
#[derive(Clone, Debug)]
pub struct Cte {
    pub(super) name: Arc<str>,
    pub(super) rows: CteRows,
}

#[derive(Clone, Debug)]
pub(super) enum CteRows {
    /// A query; how deep it stands, where it needs a query around it.
    Plan { plan: Arc<Plan>, correlated: Option<usize>, materialized: Option<bool> },
    /// The last round of the recursive query that is being bound.
    Work { number: usize, columns: Vec<OutputColumn> },
    /// A transition table of a trigger.
    Transition { new: bool, columns: Vec<OutputColumn> },
    /// What a change returns.
    Changed { number: usize, columns: Vec<OutputColumn> },
}

impl Cte {
    /// A transition table of a trigger, under its name there.
    pub(super) fn transition(name: &Arc<str>, new: bool, columns: Vec<OutputColumn>) -> Cte {
        Cte { name: Arc::clone(name), rows: CteRows::Transition { new, columns } }
    }

    /// The transition table that it is.
    pub(super) fn as_transition(&self) -> Option<TransitionTable> {
        let CteRows::Transition { new, columns } = &self.rows else { return None };
        Some(TransitionTable { name: Arc::clone(&self.name), new: *new, columns: columns.clone() })
    }
}

impl<'c> Binder<'c> {
    /// The same with the transition tables of a trigger under their names.
    #[must_use]
    pub fn with_transitions(mut self, tables: &[TransitionTable]) -> Binder<'c> {
        let table = |one: &TransitionTable| Cte::transition(&one.name, one.new, one.columns.clone());
        self.ctes.extend(tables.iter().map(table));
        self
    }
}

impl<'c> Binder<'c> {
    /// The binder for what stands behind WITH.
    pub(super) fn with(&self, queries: &[syntax::Cte]) -> Result<Binder<'c>, SqlError> {
        let mut inside = self.clone();
        for (query, recursive) in Arranged::of(queries)?.queries {
            inside.add_query(query, recursive)?;
        }
        Ok(inside)
    }

    /// Adds a query of a WITH; `recursive`: does it read itself?
    pub(super) fn add_query(&mut self, query: &syntax::Cte, recursive: bool) -> Result<(), SqlError> {
        if let QueryBody::Change(_) = query.query.body {
            let text = "WITH clause containing a data-modifying statement must be at the top level";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(query.name.at.start));
        }
        let plan = match recursive {
            _ if query.search.is_some() || query.cycle.is_some() => self.searched(query, recursive)?,
            true => self.recursive(query)?,
            false => named(self.query(&query.query)?, query)?,
        };
        let correlated = plan.uses_outer().then(|| self.outer.map_or(0, Correlation::depth));
        let rows = CteRows::Plan { plan: Arc::new(plan), correlated, materialized: query.materialized };
        self.ctes.push(Cte { name: query.name.text.as_str().into(), rows });
        levels(4 * self.ctes.len())?; // each may read the one before it, by way of several operators
        Ok(())
    }

    /// A query that reads itself: a UNION, perhaps behind a WITH of its own.
    pub(super) fn recursive(&self, query: &syntax::Cte) -> Result<Plan, SqlError> {
        let mut around = self.clone();
        let mut inner = &query.query;
        let (all, left, right) = loop {
            recursion::check()?;
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
        // Recursive queries that run at the same time have different numbers, wherever they stand.
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed) % With::FIRST_NUMBER;
        let rows = CteRows::Work { number, columns: columns.clone() };
        around.ctes.push(Cte { name: query.name.text.as_str().into(), rows });
        refuse_locks(right)?;
        // Literals without a type take that of the base's column.
        let wanted: Vec<SqlType> = columns.iter().map(|column| column.ty.without_modifiers()).collect();
        let step = around.query_for(right, &untyped(right, &wanted))?;
        let types = step.output();
        if types.len() != columns.len() {
            let text = "each UNION query must have the same number of columns";
            return Err(SqlError::syntax(text).at(right.at.start));
        }
        for (index, (column, step)) in columns.iter().zip(&types).enumerate() {
            let overall = match column.ty.same_base(&step.ty) {
                true if column.ty == step.ty => column.ty.clone(),
                true => column.ty.without_modifiers(),
                false => common_type([&column.ty, &step.ty].into_iter()).map_err(|(base, step)| {
                    let text = format!("UNION types {} and {} cannot be matched", shown(&base), shown(&step));
                    SqlError::new(sqlstate::DATATYPE_MISMATCH, text).at(column_at(right, index))
                })?,
            };
            // A modifier that not all terms have is none: the values of the others would be cut or rounded.
            let modified = column.ty != step.ty && column.ty != column.ty.without_modifiers();
            if modified || !column.ty.same_base(&overall) {
                let (ours, overall) = (column.ty.pg_name(), overall.pg_name());
                let text = format!(
                    "recursive query \"{}\" column {} has type {ours} in non-recursive term but type {overall} overall",
                    query.name.text,
                    index + 1,
                );
                return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text)
                    .with_hint("Cast the output of the non-recursive term to the correct type.")
                    .at(column_at(left, index)));
            }
            let own = column.collation.as_ref();
            if let Some(collation) = &step.collation
                && own.is_none_or(|own| own.oid != collation.oid)
            {
                let text = format!(
                    "recursive query \"{}\" column {} has collation \"{}\" in non-recursive term but collation \"{}\" overall",
                    query.name.text,
                    index + 1,
                    own.map_or("default", |own| &own.name),
                    collation.name
                );
                return Err(SqlError::new(sqlstate::COLLATION_MISMATCH, text)
                    .with_hint("Use the COLLATE clause to set the collation of the non-recursive term.")
                    .at(column_at(left, index)));
            }
        }
        let collators = if *all { Vec::new() } else { told_apart_by(&columns)? };
        let types: Vec<_> = columns.into_iter().map(|column| column.ty).collect();
        let step = Box::new(self.cast_output(step, &types)?);
        Ok(Plan::Recursive { number, base: Box::new(base), step, all: *all, collators })
    }

    /// Whether a query of WITH has this name.
    pub(super) fn is_with_query(&self, name: &Name) -> bool {
        self.ctes.iter().any(|cte| *cte.name == *name.text)
    }

    /// The rows of a query of WITH with this name.
    pub(super) fn with_query(&self, name: &Name) -> Result<Option<Plan>, SqlError> {
        let Some(cte) = self.ctes.iter().rev().find(|cte| *cte.name == *name.text) else { return Ok(None) };
        let named = Some(Arc::new(Named { own: Some(Arc::clone(&cte.name)), alias: Arc::clone(&cte.name) }));
        let called = |columns: Vec<OutputColumn>| -> Vec<OutputColumn> {
            columns.into_iter().map(|column| OutputColumn { of: named.clone(), ..column }).collect()
        };
        Ok(Some(match &cte.rows {
            CteRows::Work { number, columns } => {
                Plan::WorkTable { number: *number, columns: called(columns.clone()) }
            }
            CteRows::Transition { new, columns } => Plan::Transition { new: *new, columns: columns.clone() },
            CteRows::Changed { columns, .. } if columns.is_empty() => {
                let text = format!("WITH query \"{}\" does not have a RETURNING clause", name.text);
                return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(name.at.start));
            }
            CteRows::Changed { number, columns } => {
                Plan::WorkTable { number: *number, columns: called(columns.clone()) }
            }
            // NOT MATERIALIZED: each reader has one of its own, unless they could differ.
            CteRows::Plan { plan, correlated: None, materialized: Some(false) }
                if !plan.is_volatile() && !stays_one(plan) =>
            {
                Plan::clone(plan)
            }
            CteRows::Plan { plan, correlated: None, materialized } => Plan::Shared {
                plan: Arc::clone(plan),
                columns: called(plan.output()),
                fence: *materialized == Some(true),
            },
            CteRows::Plan { plan, correlated: Some(depth), .. } => {
                let mut plan = Plan::clone(plan);
                // What is handed in to the query with the WITH goes on to the one that reads it.
                if let Some(outer) = self.outer.filter(|outer| outer.depth() > *depth) {
                    change_outer(&mut plan, &mut |value| {
                        let carried = outer.carry(value.clone(), *depth);
                        value.kind = carried.kind;
                    })?;
                }
                plan
            }
        }))
    }
}

/// Changes the values that are handed in to a plan; what is handed in to queries within it is theirs.
fn change_outer(plan: &mut Plan, change: &mut dyn FnMut(&mut TypedExpr)) -> Result<(), SqlError> {
    fn of_expr(expr: &mut TypedExpr, change: &mut dyn FnMut(&mut TypedExpr)) {
        match expr.kind {
            ExprKind::Outer(_) => change(expr),
            _ => expr.for_each_child_mut(&mut |child| of_expr(child, change)),
        }
    }
    recursion::check()?;
    plan.for_each_expr_mut(&mut |expr| of_expr(expr, change));
    match plan {
        Plan::Apply { left, .. } => change_outer(left, change),
        // A plan that several read needs nothing of the queries around.
        Plan::Shared { .. } => Ok(()),
        plan => {
            let mut result = Ok(());
            plan.for_each_input_mut(&mut |input| {
                if result.is_ok() {
                    result = change_outer(input, change);
                }
            });
            result
        }
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

/// Whether a plan is computed once also for NOT MATERIALIZED: a recursive one, or one of many operators, since queries that
/// read the one before twice would double it each time.
fn stays_one(plan: &Plan) -> bool {
    let mut operators = 0;
    plan.any(&mut |part| {
        operators += 1;
        operators > OPERATORS_MAX || matches!(part, Plan::Recursive { .. })
    })
}

/// The plan with the column names that WITH gives.
pub(super) fn named(plan: Plan, query: &syntax::Cte) -> Result<Plan, SqlError> {
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
    let exprs = output.iter().enumerate().map(|(index, column)| TypedExpr::column(index, column.seen()));
    Ok(Plan::Project { exprs: exprs.collect(), names: names.collect(), input: Box::new(plan) })
}
