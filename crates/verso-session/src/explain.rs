//! EXPLAIN: the plan of a statement as text, as it would run now.

use std::sync::Arc;

use verso_exec::exec::{Probes, execute, reads_whole};
use verso_exec::plan::{Delete, Plan, Statement as Bound, TypedExpr, Update};
use verso_exec::{ExecContext, ExecError};
use verso_types::{Batch, SqlType, Value};

use crate::client::CommandTag;
use crate::client::Results;
use crate::failure::Failure;
use crate::frame::Frame;
use crate::plans::{QUERY_PLAN, text_columns};
use verso_parser::syntax::ExplainOptions;
use verso_planner::errors::SqlError;
use verso_planner::explain::Lines;

/// EXPLAIN.
pub(crate) fn explain(
    frame: &Frame<'_>,
    bound: &Bound,
    options: ExplainOptions,
    params: &[Value],
    results: &mut Results<'_>,
) -> Result<CommandTag, Failure> {
    let mut shown = bound.clone();
    frame.with_context(params, |cx| settle(cx, &mut shown))?;
    let clock = || frame.services.clocks.nanos();
    let probes = Probes::new(options.timing.then_some(&clock));
    let mut lines = Lines::default();
    if options.analyze {
        let start = clock();
        results.counts_only = true;
        let rows = frame.with_context(params, |cx| execute(&shown, &cx.measured(&probes), results));
        results.counts_only = false;
        let rows = results.outcome(rows)?;
        let nanos = clock().saturating_sub(start);
        lines = Lines::measured(&probes);
        lines.statement(&shown);
        lines.add(0, format!("Rows: {rows}"));
        if options.summary {
            lines.add(0, format!("Execution Time: {:.3} ms", nanos as f64 / 1e6));
        }
    } else {
        lines.statement(&shown);
    }
    let lines = lines.finish();
    let mut batch = Batch::of_types(&[SqlType::Text]);
    for line in &lines {
        batch.columns[0].push_value(&Value::text(line), &SqlType::Text).map_err(SqlError::from)?;
        batch.rows += 1;
    }
    results.begin(&text_columns(&[QUERY_PLAN]).into())?;
    results.push(batch)?;
    Ok(CommandTag { text: "EXPLAIN".to_string(), rows: lines.len() as u64 })
}

/// Replaces the scans that would read the whole table, were they opened now, by what they would do.
fn settle(cx: &ExecContext<'_>, bound: &mut Bound) -> Result<(), ExecError> {
    match bound {
        Bound::Query(plan) => settle_plan(cx, plan),
        Bound::Insert(insert) => settle_plan(cx, &mut insert.source),
        Bound::With(with) => with.parts.iter_mut().try_for_each(|part| settle(cx, &mut part.statement)),
        Bound::Merge(merge) => settle_plan(cx, &mut merge.joined),
        Bound::Update(Update { joined: Some(plan), .. })
        | Bound::Delete(Delete { joined: Some(plan), .. }) => settle_plan(cx, plan),
        Bound::Update(Update { table, access, .. }) | Bound::Delete(Delete { table, access, .. }) => {
            if let Some(wanted) = access
                && reads_whole(cx, table, wanted)?
            {
                *access = None;
            }
            Ok(())
        }
    }
}

fn settle_plan(cx: &ExecContext<'_>, plan: &mut Plan) -> Result<(), ExecError> {
    if let Plan::IndexScan { table, columns, access, filter } = plan
        && reads_whole(cx, table, access)?
    {
        let condition = access.instead.take().map(|condition| *condition);
        let filter = TypedExpr::conjunction(condition.into_iter().chain(filter.take()).collect());
        *plan = Plan::TableScan { table: Arc::clone(table), columns: std::mem::take(columns), filter };
    }
    let mut result = Ok(());
    plan.for_each_input_mut(&mut |input| {
        if result.is_ok() {
            result = settle_plan(cx, input);
        }
    });
    result
}
