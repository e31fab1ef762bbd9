//! Rows of `pg_aggregate`, `pg_operator` and `pg_cast` for what users have made.

use std::sync::Arc;

use verso_catalog::{AggregateDef, Callee, CastDef, CatalogSnapshot, FunctionDef, Oid, OperatorDef};
use verso_types::Value;

use super::{fixed, letter, number, oid};

/// The rows.
pub(super) fn aggregates(catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    let own = catalog.all_functions().filter(|function| function.is_aggregate());
    own.filter_map(|function| Some(row(function, &AggregateDef::parse(&function.body)?))).collect()
}

fn row(function: &FunctionDef, definition: &AggregateDef) -> Vec<Value> {
    let arguments: Vec<i64> = function.inputs().map(|arg| arg.ty.pg_oid().into()).collect();
    let behind = |rest: &[i64]| -> Vec<i64> {
        std::iter::once(i64::from(definition.state.0)).chain(rest.iter().copied()).collect()
    };
    let step = callee(&definition.step, &behind(&arguments));
    let extra: &[i64] = if definition.extra { &arguments } else { &[] };
    let last = definition.last.as_ref().map_or_else(|| number(0), |last| callee(last, &behind(extra)));
    vec![
        oid(function.oid),
        letter('n'),
        Value::Int2(0),
        step,
        last,
        number(0),
        number(0),
        number(0),
        number(0),
        number(0),
        number(0),
        Value::Bool(definition.extra),
        Value::Bool(false),
        letter('r'),
        letter('r'),
        number(0),
        oid(definition.state),
        Value::Int4(0),
        number(0),
        Value::Int4(0),
        definition.initial.as_deref().map_or(Value::Null, Value::text),
        Value::Null,
    ]
}

/// The rows of `pg_operator`.
pub(super) fn operators(catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    catalog.operators().iter().map(|operator| operator_row(catalog, operator)).collect()
}

fn operator_row(catalog: &CatalogSnapshot, operator: &OperatorDef) -> Vec<Value> {
    let sides: Vec<i64> =
        operator.left.into_iter().chain([operator.right]).map(|side| side.0.into()).collect();
    let estimator = |name: &Option<Arc<str>>| {
        let rows = fixed::table("pg_proc");
        let found = rows.iter().flat_map(|rows| rows.iter()).find(|row| row[1].as_str() == name.as_deref());
        name.as_ref().and(found).map_or_else(|| number(0), |row| row[0].clone())
    };
    let other = |symbol: &Option<Arc<str>>, left: Option<Oid>, right: Option<Oid>| {
        let is_it = |one: &&Arc<OperatorDef>| {
            Some(&one.name) == symbol.as_ref() && one.left == left && Some(one.right) == right
        };
        catalog.operators().iter().find(is_it).map_or_else(|| number(0), |one| oid(one.oid))
    };
    vec![
        oid(operator.oid),
        Value::Text(Arc::clone(&operator.name)),
        catalog.schema(&operator.schema).map_or_else(|| number(0), |schema| oid(schema.oid)),
        oid(operator.owner),
        letter(if operator.left.is_some() { 'b' } else { 'l' }),
        Value::Bool(operator.merges),
        Value::Bool(operator.hashes),
        oid(operator.left.unwrap_or(Oid(0))),
        oid(operator.right),
        oid(operator.result),
        other(&operator.commutator, Some(operator.right), operator.left),
        other(&operator.negator, operator.left, Some(operator.right)),
        callee(&operator.function, &sides),
        estimator(&operator.restrict),
        estimator(&operator.join),
    ]
}

/// The rows of `pg_cast`.
pub(super) fn casts(catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    let row = |cast: &CastDef| {
        let function = cast.function.as_ref();
        vec![
            oid(cast.oid),
            oid(cast.source),
            oid(cast.target),
            function.map_or_else(|| number(0), |function| callee(function, &[cast.source.0.into()])),
            letter(cast.context.letter()),
            letter(if function.is_some() { 'f' } else { 'i' }),
        ]
    };
    catalog.casts().iter().map(row).collect()
}

/// The number of a function: of a built-in one that which takes these types, else the first with as many arguments.
fn callee(callee: &Callee, types: &[i64]) -> Value {
    let name = match callee {
        Callee::User(number) => return oid(*number),
        Callee::BuiltIn(name) => name,
    };
    let rows = fixed::table("pg_proc");
    let of_name = |row: &&Vec<Value>| row[1].as_str() == Some(name);
    let taken = |row: &Vec<Value>| -> Vec<i64> {
        match &row[19] {
            Value::Array(types) => types.iter().filter_map(Value::as_i64).collect(),
            _ => Vec::new(),
        }
    };
    let all: Vec<&Vec<Value>> = rows.iter().flat_map(|rows| rows.iter()).filter(of_name).collect();
    let exact = all.iter().find(|row| taken(row) == types);
    let alike = all.iter().find(|row| taken(row).len() == types.len());
    exact.or(alike).map_or_else(|| number(0), |row| row[0].clone())
}
