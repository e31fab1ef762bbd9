//! PREPARE, EXECUTE and DEALLOCATE: what is the same for the client and for functions, and how functions run them.
//!
//! E1. The compiled statements of the session may be lent to the statement around the function: one that a function executes is
//!     bound and compiled for that execution.

use std::sync::Arc;

use verso_catalog::CatalogSnapshot;
use verso_exec::plan::{Plan, Statement as Bound};
use verso_types::{SqlType, TimeStyle, Value};

use crate::client::{Client, Collect, Nowhere, OutputColumn, Results};
use crate::failure::Failure;
use crate::frame::Frame;
use crate::framed;
use crate::plans::{Done, Job, Prepared};
use verso_parser::syntax::{ExecutePurpose, Expr, Name, Parsed, Prepare, Statement};
use verso_planner::bind::Binder;
use verso_planner::errors::{SqlError, sqlstate};

/// PREPARE in a function.
pub(crate) fn prepare(frame: &Frame<'_>, prepare: &Prepare, text: &str) -> Result<(), Failure> {
    let services = frame.services;
    let (name, settings) = (&prepare.name.text, &services.settings);
    services.named.check_free(name)?;
    let types = types_of(prepare, frame.catalog, &settings.time_zone)?;
    let held = services.memory.for_kept(settings, text)?;
    let parsed = Some((*prepare.statement).clone());
    let prepared = Prepared::unbound(text.into(), parsed, &types).holding(Some(held));
    let prepared = prepared.bind(frame.catalog, &settings.time_zone, &types, false)?;
    services.named.keep(name, Arc::new(prepared), true, services.clocks.now_rough());
    Ok(())
}

/// EXECUTE in a function.
pub(crate) fn execute(
    frame: &Frame<'_>,
    (name, args, purpose): (&Name, &[Expr], &ExecutePurpose),
    results: &mut Results<'_>,
) -> Result<Done, Failure> {
    let prepared = frame.services.named.get(&name.text)?;
    check_arguments(name, args, &prepared)?;
    let values = if args.is_empty() { Vec::new() } else { values_of(frame, args, &prepared)? };
    let prepared = match purposed(&prepared, purpose)? {
        Some(other) => Arc::new(other),
        None => prepared,
    };
    let job = Job::prepared(&prepared, &values);
    let job = job.ok_or_else(|| SqlError::internal("an empty statement was prepared"))?;
    match prepared.is_plain() {
        true => frame.as_given(&prepared, &job, results),
        false => framed::statement(frame, &job, prepared.params(), results),
    }
}

/// The types that PREPARE gives to parameters.
pub(crate) fn types_of(
    prepare: &Prepare,
    catalog: &Arc<CatalogSnapshot>,
    time_zone: &TimeStyle,
) -> Result<Vec<Option<SqlType>>, SqlError> {
    let binder = Binder::new(catalog, time_zone, &[]);
    let one = |ty: &Option<_>| ty.as_ref().map(|ty| binder.data_type(ty)).transpose();
    prepare.types.iter().map(one).collect()
}

/// Refuses another number of arguments than there are parameters.
pub(crate) fn check_arguments(name: &Name, args: &[Expr], prepared: &Prepared) -> Result<(), SqlError> {
    if args.len() == prepared.params().len() {
        return Ok(());
    }
    let text = format!("wrong number of parameters for prepared statement \"{}\"", name.text);
    let detail = format!("Expected {} parameters but got {}.", prepared.params().len(), args.len());
    Err(SqlError::syntax(text).with_detail(detail))
}

/// The values of EXECUTE's arguments, in the parameters' types.
pub(crate) fn values_of(
    frame: &Frame<'_>,
    args: &[Expr],
    prepared: &Prepared,
) -> Result<Vec<Value>, Failure> {
    let params = prepared.params_in(frame.catalog);
    let types: Vec<SqlType> = params.iter().map(SqlType::erased).collect();
    let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
    let row = args
        .iter()
        .zip(&*params)
        .enumerate()
        .map(|(index, (arg, ty))| binder.argument(arg, index, ty))
        .collect::<Result<Vec<_>, SqlError>>()?;
    let columns = types.iter().map(|ty| OutputColumn::new("", ty.clone())).collect();
    let bound = Bound::Query(Plan::Values { rows: vec![row], columns });
    let mut rows = Vec::new();
    let memory = frame.services.memory.lend();
    let mut held = memory.reserve("arguments");
    let mut nowhere = Nowhere;
    let mut sink = Collect { rows: &mut rows, held: &mut held, client: &mut nowhere };
    let client = Client::new(&mut sink);
    let mut results = Results::aside(&client, memory);
    results.streams = true;
    frame.execute(&bound, &[], &mut results)?;
    let row = rows.pop().ok_or_else(|| SqlError::internal("no row of arguments"))?;
    Ok(row.row(0, &types))
}

/// The statement around a prepared one that EXECUTE is a part of; none where it is executed as it is.
pub(crate) fn purposed(prepared: &Prepared, purpose: &ExecutePurpose) -> Result<Option<Prepared>, SqlError> {
    let Some(inner) = &prepared.parsed else { return Ok(None) };
    let statement = match purpose {
        ExecutePurpose::Run => return Ok(None),
        ExecutePurpose::Explain(options) => {
            Statement::Explain { options: *options, statement: Box::new(inner.statement.clone()) }
        }
        ExecutePurpose::Table(create) => match &inner.statement {
            Statement::Query(query) => {
                let mut create = (**create).clone();
                create.query = query.clone();
                Statement::CreateTableAs(create)
            }
            _ => {
                let text = "prepared statement is not a SELECT";
                return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
            }
        },
    };
    let types: Vec<Option<SqlType>> = prepared.params().iter().cloned().map(Some).collect();
    let (databases, fingerprint) = (Vec::new(), inner.fingerprint.clone());
    let parsed = Parsed { statement, at: inner.at, databases, fingerprint };
    let around = Prepared::unbound(Arc::clone(prepared.text()), Some(parsed), &types);
    Ok(Some(around.around(prepared)))
}
