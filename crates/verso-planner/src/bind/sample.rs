//! TABLESAMPLE.
//!
//! A row is in the sample by the hash of its place and the seed: of its own place (BERNOULLI), or of its page's (SYSTEM). So
//! REPEATABLE gives the same rows as long as the table does not change.

use std::sync::Arc;

use verso_exec::functions::{candidates, operator_candidates};
use verso_exec::plan::{ExprKind as K, Plan, RECORD_COLUMN, SubqueryTest, TypedExpr};
use verso_types::{CastKind, SqlType};

use super::Binder;
use super::context::{Clause, Context};
use super::scope::{Correlation, Hidden, Scope};
use super::subquery::subquery;
use crate::errors::{SqlError, sqlstate};
use verso_parser::syntax::{Expr, Sample};

impl Binder<'_> {
    /// The same below the policies that decide which rows of the sample are shown.
    pub(super) fn sampled_below(&self, plan: Plan, sample: &Sample) -> Result<Plan, SqlError> {
        Ok(match plan {
            Plan::Project { input, exprs, names } => {
                Plan::Project { input: Box::new(self.sampled_below(*input, sample)?), exprs, names }
            }
            Plan::Filter { input, predicate } => {
                Plan::Filter { input: Box::new(self.sampled_below(*input, sample)?), predicate }
            }
            plan => self.sampled(plan, sample)?,
        })
    }

    /// The sample of a table's rows.
    fn sampled(&self, plan: Plan, sample: &Sample) -> Result<Plan, SqlError> {
        let Plan::TableScan { table, mut columns, filter } = plan else {
            return Err(no_sample_of(sample.at));
        };
        let method = sample.method.name.text.as_str();
        let operator = match method {
            "bernoulli" => "sample rows",
            "system" => "sample pages",
            _ => {
                let text = format!("tablesample method {method} does not exist");
                return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text).at(sample.method.at().start));
            }
        };
        let [percent] = sample.args.as_slice() else {
            let text = format!("tablesample method {method} requires 1 argument, not {}", sample.args.len());
            return Err(SqlError::new("2202H", text).at(sample.at));
        };
        let percent = self.sample_value(percent)?;
        let seed = match &sample.seed {
            Some(seed) => self.sample_value(seed)?,
            None => {
                // Asked once for each execution.
                let Some(random) = candidates("random").iter().find(|entry| entry.args.is_empty()) else {
                    return Err(SqlError::internal("a function that is not there"));
                };
                let call = TypedExpr::new(K::Call { function: random, args: Vec::new() }, SqlType::Float8);
                let input = Box::new(Plan::Values { rows: vec![Vec::new()], columns: Vec::new() });
                let one = Plan::Project { input, exprs: vec![call], names: vec!["".into()] };
                subquery(one, Vec::new(), SubqueryTest::Scalar, Vec::new(), SqlType::Float8)
            }
        };
        let Some(function) = operator_candidates(operator).first().copied() else {
            return Err(SqlError::internal("a function that is not there"));
        };
        let names = columns.iter().map(|index| Arc::clone(&table.columns[*index].name)).collect();
        let exprs = columns.iter().enumerate();
        let exprs = exprs.map(|(n, index)| TypedExpr::column(n, table.columns[*index].seen())).collect();
        let place = TypedExpr::column(columns.len(), SqlType::Int8);
        columns.push(RECORD_COLUMN);
        let predicate = TypedExpr::new(K::Call { function, args: vec![place, percent, seed] }, SqlType::Bool);
        let input = Box::new(Plan::TableScan { table, columns, filter });
        Ok(Plan::Project { input: Box::new(Plan::Filter { input, predicate }), exprs, names })
    }

    fn sample_value(&self, expr: &Expr) -> Result<TypedExpr, SqlError> {
        let scope = Scope::default();
        let mut cx = Context::new(&scope, Clause::From);
        // Nothing of the items before it is known here.
        let bound = Correlation::without_items(self.outer, Hidden::Lateral, &mut |outer| {
            Binder { outer, ..self.clone() }.expr(expr, &mut cx)
        })?;
        self.coerce(bound, expr.at.start, &SqlType::Float8, CastKind::Assignment)
    }
}

/// What has no rows of its own that could be sampled.
pub(super) fn no_sample_of(at: u32) -> SqlError {
    let text = "TABLESAMPLE clause can only be applied to tables and materialized views";
    SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).at(at)
}
