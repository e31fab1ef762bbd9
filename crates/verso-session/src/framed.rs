//! Which part runs a statement in its frame: plans, COPY, EXPLAIN, statements of the schema.

use std::sync::Arc;

use verso_catalog::{FunctionArg, FunctionDef, FunctionLanguage, FunctionReturn, Oid, Volatility};
use verso_exec::plan::{ExprKind, Plan, Statement as Bound, TypedExpr};
use verso_types::{SqlType, Value};

use crate::client::{OutputColumn, Results, tag};
use crate::explain::explain;
use crate::failure::Failure;
use crate::frame::Frame;
use crate::plans::{Done, Job};
use crate::{copy, ddl};
use verso_parser::syntax::Statement;
use verso_planner::Rules;
use verso_planner::bind::Binder;

/// Runs a statement of any kind that runs in a frame.
pub(crate) fn statement(
    frame: &Frame<'_>,
    job: &Job<'_>,
    types: &[SqlType],
    results: &mut Results<'_>,
) -> Result<Done, Failure> {
    if let Some(prepared) = job.prepared
        && prepared.is_plain()
    {
        // Kept plans have all rewrites.
        if frame.services.settings.rules != Rules::ALL {
            return frame.as_given(job, results);
        }
        match frame.prepared(prepared, job, results) {
            Err(_) if prepared.is_stale() => return frame.as_given(job, results),
            result => return result,
        }
    }
    let settings = &frame.services.settings;
    let binder = Binder::new(frame.catalog, &settings.time_zone, types).with_rules(settings.rules);
    let tag = match job.statement {
        Statement::Query(_)
        | Statement::Insert(_)
        | Statement::Update(_)
        | Statement::Delete(_)
        | Statement::Merge(_) => {
            return frame.run_once(binder.statement(job.statement)?, job, results);
        }
        Statement::Do(body) => {
            inline_block(frame, &body.text, job.params)?;
            tag("DO")
        }
        Statement::Copy(copy) => copy::copy(frame, &binder, copy, results)?,
        Statement::CreateTableAs(create) => ddl::create_table_as(frame, &binder, create, job.params)?,
        Statement::Explain { analyze, statement } => {
            let bound = binder.statement(statement)?;
            explain(frame, &bound, *analyze, job.params, results)?
        }
        other => ddl::define(frame, &binder, other)?,
    };
    Ok(Done::Tag(tag))
}

/// DO: the block as a function of its own that nobody else can call.
fn inline_block(frame: &Frame<'_>, text: &str, params: &[Value]) -> Result<(), Failure> {
    let function = Arc::new(FunctionDef {
        oid: Oid(0),
        schema: "".into(),
        name: "inline_code_block".into(),
        args: Vec::<FunctionArg>::new(),
        returns: FunctionReturn::Void,
        language: FunctionLanguage::PlPgSql,
        body: text.into(),
        volatility: Volatility::Volatile,
        strict: false,
    });
    let call = TypedExpr::new(ExprKind::UserCall { function, args: Vec::new() }, SqlType::Void);
    let columns = vec![OutputColumn::new("do", SqlType::Void)];
    let bound = Bound::Query(Plan::Values { rows: vec![vec![call]], columns });
    frame.count(&bound, params).map(drop)
}
