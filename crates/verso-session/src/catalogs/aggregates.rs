//! Rows of `pg_aggregate`, `pg_operator` and `pg_cast` for what users have made.

use std::sync::Arc;

use verso_catalog::{
    AggregateDef, Callee, CastDef, CatalogSnapshot, FunctionDef, MovingDef, Oid, OperatorDef,
};
use verso_types::Value;

use super::{fixed, letter, number, oid};

/// The rows.
pub(super) fn aggregates(catalog: &Arc<CatalogSnapshot>) -> Vec<Vec<Value>> {
    let own = catalog.all_functions().filter(|function| function.is_aggregate());
    own.filter_map(|function| Some(row(function, &AggregateDef::parse(&function.body)?))).collect()
}

fn row(function: &FunctionDef, definition: &AggregateDef) -> Vec<Value> {
    let arguments: Vec<i64> = function.inputs().map(|arg| arg.ty.pg_oid().into()).collect();
    let behind = |state: Oid, rest: &[i64]| -> Vec<i64> {
        std::iter::once(i64::from(state.0)).chain(rest.iter().copied()).collect()
    };
    let extra = |extra: bool| if extra { arguments.as_slice() } else { &[] };
    let own = definition.state;
    let maybe = |function: Option<&Callee>, types: Vec<i64>| {
        function.map_or_else(|| number(0), |function| callee(function, &types))
    };
    let moving = definition.moving.as_ref();
    let of_moving = |function: fn(&MovingDef) -> Option<&Callee>, last: bool| {
        let Some(moving) = moving else { return number(0) };
        let rest = if last { extra(moving.extra) } else { arguments.as_slice() };
        maybe(function(moving), behind(moving.state, rest))
    };
    vec![
        oid(function.oid),
        letter('n'),
        Value::Int2(0),
        callee(&definition.step, &behind(own, &arguments)),
        maybe(definition.last.as_ref(), behind(own, extra(definition.extra))),
        maybe(definition.combine.as_ref(), behind(own, &[own.0.into()])),
        number(0),
        number(0),
        of_moving(|moving| Some(&moving.step), false),
        of_moving(|moving| Some(&moving.inverse), false),
        of_moving(|moving| moving.last.as_ref(), true),
        Value::Bool(definition.extra),
        Value::Bool(moving.is_some_and(|moving| moving.extra)),
        letter(definition.modify.letter()),
        letter(moving.map_or('r', |moving| moving.modify.letter())),
        number(0),
        oid(own),
        Value::Int4(definition.space),
        oid(moving.map_or(Oid(0), |moving| moving.state)),
        Value::Int4(moving.map_or(0, |moving| moving.space)),
        definition.initial.as_deref().map_or(Value::Null, Value::text),
        moving.and_then(|moving| moving.initial.as_deref()).map_or(Value::Null, Value::text),
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
