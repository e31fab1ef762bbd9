//! CREATE FUNCTION, DROP FUNCTION.

use std::sync::Arc;

use verso_catalog::{
    CatalogError, FunctionArg, FunctionLanguage, FunctionReturn, NewFunction, ObjectKind, Planning,
    Volatility,
};
use verso_types::SqlType;

use crate::World;

fn function(types: &[SqlType]) -> NewFunction {
    NewFunction {
        schema: None,
        name: "f".into(),
        args: types.iter().map(|ty| FunctionArg::new("x", ty.clone())).collect(),
        returns: FunctionReturn::Scalar(SqlType::Text),
        language: FunctionLanguage::PlPgSql,
        body: "BEGIN RETURN 'first'; END".into(),
        volatility: Volatility::Volatile,
        strict: false,
        security_definer: false,
        leakproof: false,
        planning: Planning::default(),
        rows_of: None,
        standard_body: false,
        settings: Vec::new(),
    }
}

#[test]
fn a_function_survives_reopening() {
    let world = World::new();
    let returns = FunctionReturn::Table(vec![("records".into(), SqlType::Int8)]);
    let new = NewFunction { returns, ..function(&[SqlType::Int4]) };
    world.run(|catalog, txn| catalog.create_function(txn, &new, false)).unwrap();
    let before = Arc::clone(&world.seen().functions(None, "f")[0]);
    assert_eq!((&before.returns, &*before.body), (&new.returns, &*new.body));
    let world = world.reopen();
    assert_eq!(*world.seen().functions(None, "f"), [before]);
}

#[test]
fn replace_keeps_the_number_and_the_result_type() {
    let world = World::new();
    let first = function(&[SqlType::Int4]);
    let oid = world.run(|catalog, txn| catalog.create_function(txn, &first, false)).unwrap();
    let again = world.run(|catalog, txn| catalog.create_function(txn, &first, false));
    assert!(matches!(again, Err(CatalogError::Exists { kind: ObjectKind::Function, .. })));
    let other = NewFunction { returns: FunctionReturn::Void, ..first.clone() };
    let changed = world.run(|catalog, txn| catalog.create_function(txn, &other, true));
    assert!(matches!(changed, Err(CatalogError::ReturnTypeChanged { function }) if function == "f(integer)"));
    let second = NewFunction { body: "BEGIN RETURN 'second'; END".into(), ..first };
    assert_eq!(world.run(|catalog, txn| catalog.create_function(txn, &second, true)).unwrap(), oid);
    assert_eq!(world.seen().functions(None, "f").len(), 1);
    assert_eq!(world.seen().functions(None, "f")[0].body, second.body);
}

#[test]
fn overloads_are_dropped_one_by_one() {
    let world = World::new();
    for types in [vec![], vec![SqlType::Int4], vec![SqlType::Text, SqlType::Int4]] {
        world.run(|catalog, txn| catalog.create_function(txn, &function(&types), false)).unwrap();
    }
    let drop = |types: &[SqlType]| {
        let functions = world.seen().functions(None, "f").into_owned();
        let function = functions.iter().find(|function| function.takes(types)).expect("it is there");
        world.run(|catalog, txn| catalog.drop_function(txn, function, false)).unwrap();
    };
    drop(&[SqlType::Text, SqlType::Int4]);
    drop(&[]);
    assert_eq!(world.seen().functions(None, "f").len(), 1);
    drop(&[SqlType::Int4]);
    assert!(world.seen().functions(None, "f").is_empty());
}

#[test]
fn arguments_have_a_limit() {
    let world = World::new();
    let many = function(&vec![SqlType::Int4; 101]);
    let refused = world.run(|catalog, txn| catalog.create_function(txn, &many, false));
    assert!(matches!(refused, Err(CatalogError::TooManyArguments { limit: 100 })));
}
