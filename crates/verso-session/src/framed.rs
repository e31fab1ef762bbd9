//! Which part runs a statement in its frame: plans, COPY, EXPLAIN, statements of the schema.

use std::borrow::Cow;
use std::sync::Arc;

use verso_catalog::{FunctionArg, FunctionDef};
use verso_exec::context::{Notifications, TransactionEnds};
use verso_exec::plan::TypedExpr;
use verso_exec::{ExecContext, ExecError, evaluate, run_procedure};
use verso_types::{Batch, SqlType, Value};

use crate::client::{CommandTag, OutputColumn, Results, tag};
use crate::explain::{Explained, explain};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::inside::Inside;
use crate::plans::{Done, Job, changes, changes_temporary, in_read_only, types_in};
use crate::settings::PlanCacheMode;
use crate::{copy, ddl};
use verso_parser::syntax::{Call, FunctionBody, Statement};
use verso_planner::Rules;
use verso_planner::bind::{Binder, Inference};
use verso_planner::errors::{InQuery, SqlError};

/// Runs a statement of any kind that runs in a frame.
pub(crate) fn statement(
    frame: &Frame<'_>,
    job: &Job<'_>,
    types: &[SqlType],
    results: &mut Results<'_>,
) -> Result<Done, Failure> {
    if frame.txn.borrow().is_read_only()
        && let Some(word) = changes(job.statement)
        && !changes_temporary(job.statement, frame.catalog)
    {
        return Err(in_read_only(word).into());
    }
    if let Some(prepared) = job.prepared
        && prepared.is_plain()
    {
        // Kept plans have all rewrites, and of texts with literals those of any.
        let settings = &frame.services.settings;
        let custom = settings.plan_cache_mode == PlanCacheMode::ForceCustom && prepared.is_normal();
        if settings.rules != Rules::ALL || custom {
            return frame.as_given(prepared, job, results);
        }
        match frame.prepared(prepared, job, results) {
            Err(_) if prepared.is_stale() => return frame.as_given(prepared, job, results),
            result => return result,
        }
    }
    let settings = &frame.services.settings;
    let types = &*types_in(types, frame.catalog);
    // What EXPLAIN and CREATE TABLE AS execute was prepared.
    let own = job.prepared.filter(|prepared| prepared.has_read_literals());
    let now = &settings.time_zone;
    let style = &*own.map_or(Cow::Borrowed(now), |prepared| prepared.style_for(frame.catalog, now));
    let lasts = own.is_some();
    let binder = Binder::new(frame.catalog, style, types).with_rules(settings.rules).lasting(lasts);
    let binder = match job.statement {
        Statement::CreateTableAs(_) | Statement::Explain { .. } => {
            binder.with_transitions(frame.transitions.tables)
        }
        _ => binder,
    };
    let tag = match job.statement {
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_) => {
            let bound = frame.services.planning(|| binder.statement(job.statement))?;
            return frame.run_once(bound, binder.told(), job, results);
        }
        Statement::Flashback(flashback) => {
            let bound = binder.flashback(flashback)?;
            // It is told of as one statement, not of the changes that it is made of.
            frame.run_once(bound, binder.told(), job, results)?;
            tag("FLASHBACK TABLE")
        }
        Statement::Do(body) => {
            inline_block(frame, body)?;
            tag("DO")
        }
        Statement::Call(call) => procedure(frame, &binder, call, job.params, results)?,
        Statement::Copy(copy) => copy::copy(frame, &binder, copy, results)?,
        Statement::CreateTableAs(create) => ddl::create_table_as(frame, &binder, create, job.params)?,
        Statement::Explain { options, statement } => {
            let start = frame.services.clocks.nanos();
            let inference = Inference::default();
            let binder = match options.generic_plan {
                true => Binder::inferring(frame.catalog, style, &inference)
                    .with_rules(settings.rules)
                    .with_transitions(frame.transitions.tables)
                    .lasting(lasts),
                false if job.generic || settings.plan_cache_mode == PlanCacheMode::ForceGeneric => binder,
                false => binder.with_values(job.params),
            };
            // What is only shown may read materialized views without rows.
            let binder = if options.analyze { binder } else { binder.unread() };
            let bound = binder.statement(statement)?;
            let planning_nanos = frame.services.clocks.nanos().saturating_sub(start);
            let explained = Explained { planning_nanos, id: job.identity.explained() };
            frame.tell(&binder.told());
            explain(frame, &bound, *options, explained, job.params, results)?
        }
        Statement::Listen(channel) => {
            frame.services.listen(&channel.text)?;
            tag("LISTEN")
        }
        Statement::Notify(channel, payload) => {
            frame.services.notify(&channel.text, payload)?;
            tag("NOTIFY")
        }
        Statement::Unlisten(channel) => {
            frame.services.unlisten(channel.as_ref().map(|channel| &*channel.text))?;
            tag("UNLISTEN")
        }
        other => ddl::define(frame, &binder, other)?,
    };
    Ok(Done::Tag(tag))
}

/// DO: the block as a procedure of its own that nobody else can call.
fn inline_block(frame: &Frame<'_>, body: &FunctionBody) -> Result<(), Failure> {
    let function = Arc::new(FunctionDef::inline(&body.text));
    let done = inside(frame, &[], |cx| run_procedure(cx, &function, Vec::new()));
    done.map(drop).map_err(|mut failure| {
        // What is wrong with the block itself is shown in the client's text.
        let whole = |internal: &&mut Box<InQuery>| internal.query == body.text;
        let compiled = failure.error.context.as_ref().is_some_and(|context| {
            context.starts_with("compilation of PL/pgSQL function") && !context.contains('\n')
        });
        if compiled
            && let Some(position) = failure.error.internal.as_mut().filter(whole).map(|at| at.position)
        {
            let error = SqlError { internal: None, position: Some(position), ..failure.error };
            failure.error = ddl::in_literal(error, body);
        }
        failure
    })
}

/// CALL: what goes out of the procedure is a row.
fn procedure(
    frame: &Frame<'_>,
    binder: &Binder<'_>,
    call: &Call,
    params: &[Value],
    results: &mut Results<'_>,
) -> Result<CommandTag, Failure> {
    let (function, args) = binder.procedure(call)?;
    let values = inside(frame, params, |cx| {
        let value = |(arg, parameter): (&TypedExpr, &FunctionArg)| match parameter.mode.goes_in() {
            false => Ok(Value::Null),
            true => evaluate(cx, arg),
        };
        let args = args.iter().zip(&function.args).map(value).collect::<Result<Vec<_>, _>>()?;
        run_procedure(cx, &function, args)
    })?;
    let columns = outgoing_columns(&function);
    if !columns.is_empty() {
        let out = values.into_iter().zip(&function.args).filter(|(_, arg)| arg.mode.goes_out());
        let row: Vec<Value> = out.map(|(value, _)| value).collect();
        let types: Vec<SqlType> = columns.iter().map(|column| column.ty.clone()).collect();
        let mut batch = Batch::of_types(&types);
        batch.push_row(&row, &types).map_err(SqlError::from)?;
        results.begin(&columns.into());
        results.push(batch)?;
    }
    Ok(tag("CALL"))
}

/// The columns of what goes out of a procedure.
pub(crate) fn outgoing_columns(function: &FunctionDef) -> Vec<OutputColumn> {
    let column = |(n, arg): (usize, &FunctionArg)| match &*arg.name {
        "" => OutputColumn::new(format!("column{}", n + 1), arg.ty.clone()),
        name => OutputColumn::new(name, arg.ty.clone()),
    };
    if !function.is_procedure() {
        return Vec::new();
    }
    let out = function.outputs();
    out.enumerate().map(column).collect()
}

/// Runs a procedure or block, which may end the transaction if the statement is no part of one.
fn inside<T>(
    frame: &Frame<'_>,
    params: &[Value],
    run: impl FnOnce(&ExecContext<'_>) -> Result<T, ExecError>,
) -> Result<T, Failure> {
    let tables = frame.tables();
    let inside = frame.services.may_end.get().then(|| Inside::new(frame, &tables));
    let ends = inside.as_ref().map(|inside| inside as &dyn TransactionEnds);
    let services = frame.lend();
    let executor = frame.services.settings.executor;
    let cx = ExecContext::new(&tables, frame.catalog, params, &services, frame.cancel, executor);
    Ok(run(&cx.with_ends(ends).with_definitions(frame))?)
}
