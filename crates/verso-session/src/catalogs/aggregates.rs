//! Rows of `pg_aggregate` for aggregates of users.

use std::sync::Arc;

use verso_catalog::{AggregateDef, Callee, CatalogSnapshot, FunctionDef};
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
