//! EXPLAIN: the plan of a statement as text or a document, as it would run now, and with ANALYZE as it did.

use std::sync::Arc;

use verso_catalog::{CatalogSnapshot, PG_STAT_STATEMENTS};
use verso_exec::exec::{Measured, Probes, check_rights, execute, prune, reads_whole};
use verso_exec::plan::{Delete, Plan, Statement as Bound, TypedExpr, Update};
use verso_exec::{ExecContext, ExecError};
use verso_storage::work;
use verso_types::{Batch, Value};

use crate::client::CommandTag;
use crate::client::{Results, Serialized};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::plans::explain_columns;
use crate::settings::{QueryIds, Settings};
use verso_parser::syntax::{ExplainFormat, ExplainOptions, ExplainSerialize};
use verso_planner::errors::SqlError;
use verso_planner::estimate::Estimate;
use verso_planner::explain::{Serialization, Shown, Summary, Tree, bytes_of, json, text, xml, yaml};

/// Settings that plans and the work of operators depend on.
pub(crate) const SETTINGS: [&str; 8] = [
    "executor",
    "memory_limit",
    "plan_cache_mode",
    "search_path",
    "session_memory_limit",
    "statement_memory_limit",
    "verso_rules_off",
    "work_mem",
];

/// What is known of a statement that EXPLAIN shows.
#[derive(Clone, Copy, Default)]
pub(crate) struct Explained {
    /// How long planning it took.
    pub(crate) planning_nanos: u64,
    /// Its number, which constants have no say in.
    pub(crate) id: Option<i64>,
}

impl Explained {
    /// The number, where EXPLAIN shows it.
    fn shown(self, frame: &Frame<'_>, options: ExplainOptions) -> Option<i64> {
        let shows = match frame.services.settings.tracks.ids {
            QueryIds::On => true,
            QueryIds::Auto => frame.catalog.extension(PG_STAT_STATEMENTS).is_some(),
            QueryIds::Off | QueryIds::Regress => false,
        };
        self.id.filter(|_| options.verbose && shows)
    }
}

/// EXPLAIN of a statement.
pub(crate) fn explain(
    frame: &Frame<'_>,
    bound: &Bound,
    options: ExplainOptions,
    explained: Explained,
    params: &[Value],
    results: &mut Results<'_>,
) -> Result<CommandTag, Failure> {
    let mut shown = bound.clone();
    if !options.generic_plan {
        frame.with_context(params, |cx| settle(cx, &mut shown))?;
    }
    let clock = || frame.services.clocks.nanos();
    let probes = Probes::new(options.timing.then(|| Arc::clone(&frame.services.env.clock)));
    let estimate = Estimate::of(frame.catalog);
    let tree = Tree::new(estimate, options.verbose);
    let mut summary = Summary {
        settings: options.settings.then(|| changed_settings(frame)),
        query_id: explained.shown(frame, options),
        serialization: None,
        planning_bytes: (options.memory && !options.analyze).then(|| bytes_of(&shown)),
        planning_nanos: options.summary.then_some(explained.planning_nanos),
        execution_nanos: None,
    };
    let node = if options.analyze {
        let (start, before) = (clock(), work::done());
        results.counts_only = true;
        results.serialized = options.serialize.map(|form| {
            let types = bound.output().iter().map(|column| column.ty.clone()).collect();
            let clock = options.timing.then(|| Arc::clone(&frame.services.env.clock));
            let style = frame.services.settings.time_zone.clone();
            Serialized::new(types, form == ExplainSerialize::Binary, style, clock)
        });
        let rows = frame.with_context(params, |cx| execute(&shown, &cx.measured(&probes), results));
        results.counts_only = false;
        summary.serialization = results.serialized.take().map(|done| Serialization {
            nanos: done.clock.as_ref().map(|_| done.nanos),
            bytes: done.bytes,
            binary: done.binary,
        });
        let rows = results.outcome(rows)?;
        let nanos = clock().saturating_sub(start);
        summary.execution_nanos = options.summary.then_some(nanos);
        let mut node = tree.measured(&probes).statement(&shown);
        let returned = if returns_rows(&shown) { rows } else { 0 };
        node.measure(Measured::whole(returned, nanos, work::done() - before));
        node
    } else {
        frame.with_context(params, |cx| check_rights(cx, &shown))?;
        tree.statement(&shown)
    };
    let numbers = Shown {
        costs: options.costs,
        analyze: options.analyze,
        timing: options.timing,
        buffers: options.buffers,
        wal: options.wal,
        memory: options.memory,
    };
    let columns = explain_columns(options.format);
    let lines = match options.format {
        ExplainFormat::Text => text(&node, numbers, &summary),
        ExplainFormat::Json => vec![json(&node, numbers, &summary)],
        ExplainFormat::Yaml => vec![yaml(&node, numbers, &summary)],
        ExplainFormat::Xml => vec![xml(&node, numbers, &summary)],
    };
    let ty = columns[0].ty.clone();
    let mut batch = Batch::of_types(std::slice::from_ref(&ty));
    for line in &lines {
        batch.columns[0].push_value(&Value::text(line), &ty).map_err(SqlError::from)?;
        batch.rows += 1;
    }
    results.begin(&columns.into());
    results.push(batch)?;
    Ok(CommandTag { text: "EXPLAIN".to_string(), rows: lines.len() as u64 })
}

/// The plan of a statement that has run, for the log, with what was measured if anything was.
pub(crate) fn plan_lines(
    catalog: &Arc<CatalogSnapshot>,
    bound: &Bound,
    probes: Option<&Probes>,
) -> Vec<String> {
    let tree = Tree::new(Estimate::of(catalog), false);
    let node = match probes {
        Some(probes) => tree.measured(probes).statement(bound),
        None => tree.statement(bound),
    };
    let analyze = probes.is_some();
    let shown =
        Shown { costs: true, analyze, timing: analyze, buffers: analyze, wal: false, memory: analyze };
    text(&node, shown, &Summary::default())
}

/// The settings that say something about plans and are not what they are by default.
fn changed_settings(frame: &Frame<'_>) -> Vec<(String, String)> {
    let (settings, usual) = (&frame.services.settings, Settings::default());
    let changed = |name: &&str| Some((settings.show(name)?, usual.show(name)));
    SETTINGS
        .iter()
        .filter_map(|name| {
            let (value, usual) = changed(name)?;
            (Some(&value) != usual.as_ref()).then(|| (name.to_string(), value))
        })
        .collect()
}

/// Whether a statement yields rows.
fn returns_rows(bound: &Bound) -> bool {
    match bound {
        Bound::Query(_) => true,
        Bound::Insert(insert) => insert.returning.is_some(),
        Bound::Update(update) => update.returning.is_some(),
        Bound::Delete(delete) => delete.returning.is_some(),
        Bound::Merge(merge) => !merge.output.is_empty(),
        Bound::With(with) => with.main().is_some_and(returns_rows),
    }
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
    prune(cx, plan);
    if let Plan::IndexScan { table, columns, access, filter } = plan
        && reads_whole(cx, table, access)?
    {
        let condition = access.instead.take().map(|condition| *condition);
        let filter = TypedExpr::conjunction(condition.into_iter().chain(filter.take()).collect());
        *plan = Plan::TableScan { table: table.clone(), columns: std::mem::take(columns), filter };
    }
    let mut result = Ok(());
    plan.for_each_input_mut(&mut |input| {
        if result.is_ok() {
            result = settle_plan(cx, input);
        }
    });
    result
}
