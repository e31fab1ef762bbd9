//! Aggregates and groups.

use verso_types::CastKind;

use super::*;
use crate::testing::{call, cast};

#[test]
fn aggregates_have_postgresqls_types_and_scales() {
    let (world, items) = world();
    let all = |calls: Vec<AggregateCall>| {
        world
            .query(Plan::Aggregate {
                input: Box::new(scan(&items, None)),
                group_by: Vec::new(),
                aggregates: calls,
                sets: None,
            })
            .unwrap()
            .remove(0)
    };
    let decimal = |text: &str| Value::Numeric(Decimal::parse(text).unwrap());
    let (id, name, price, weight) = (of(&items, 0), of(&items, 1), of(&items, 2), of(&items, 3));
    let row = all(vec![
        aggregate("count", vec![]),
        aggregate("count", vec![price.clone()]),
        aggregate("sum", vec![id.clone()]),
        aggregate("avg", vec![id.clone()]),
        aggregate("sum", vec![price.clone()]),
        aggregate("avg", vec![price.clone()]),
        aggregate("sum", vec![weight.clone()]),
        aggregate("avg", vec![weight.clone()]),
        aggregate("min", vec![name.clone()]),
        aggregate("max", vec![price.clone()]),
        aggregate("min", vec![weight.clone()]),
    ]);
    assert_eq!(
        row,
        [
            Value::Int8(5),
            Value::Int8(4),
            Value::Int8(15),
            decimal("3.0000000000000000"),
            decimal("14.50"),
            decimal("3.6250000000000000"),
            Value::Float8(8.0),
            Value::Float8(2.0),
            Value::text("a"),
            money(975),
            Value::Float8(0.5),
        ]
    );
    let bigint = cast(id.clone(), SqlType::Int8, CastKind::Implicit);
    let mut distinct = aggregate("count", vec![name.clone()]);
    distinct.distinct = true;
    let mut filtered = aggregate("sum", vec![call("*", vec![id.clone(), lit(10)])]);
    filtered.filter = Some(call(">", vec![id.clone(), lit(3)]));
    let row = all(vec![
        aggregate("sum", vec![bigint]),
        distinct,
        filtered,
        aggregate("string_agg", vec![name.clone(), literal(Value::text("-"))]),
        aggregate("bool_and", vec![call(">", vec![id.clone(), lit(0)])]),
        aggregate(
            "bool_or",
            vec![call(">", vec![price.clone(), cast(lit(99), SqlType::Numeric(None), CastKind::Implicit)])],
        ),
        aggregate("array_agg", vec![id]),
    ]);
    assert_eq!(
        row,
        [
            decimal("15"),
            Value::Int8(2),
            Value::Int8(90),
            Value::text("a-b-a-b"),
            Value::Bool(true),
            Value::Bool(false),
            Value::Array((1..=5).map(int).collect()),
        ]
    );
}

#[test]
fn nothing_aggregates_to_null_and_zero() {
    let (world, items) = world();
    let none = call(">", vec![of(&items, 0), lit(99)]);
    let calls = vec![
        aggregate("count", vec![]),
        aggregate("sum", vec![of(&items, 0)]),
        aggregate("avg", vec![of(&items, 3)]),
        aggregate("max", vec![of(&items, 1)]),
    ];
    let plan = |group_by| Plan::Aggregate {
        input: Box::new(scan(&items, Some(none.clone()))),
        group_by,
        aggregates: calls.clone(),
        sets: None,
    };
    assert_eq!(
        world.query(plan(Vec::new())).unwrap(),
        [[Value::Int8(0), Value::Null, Value::Null, Value::Null]]
    );
    assert!(world.query(plan(vec![of(&items, 1)])).unwrap().is_empty());
}

#[test]
fn groups_come_as_they_are_met_and_nulls_are_one() {
    let (world, items) = world();
    let plan = Plan::Aggregate {
        input: Box::new(scan(&items, None)),
        group_by: vec![of(&items, 1)],
        aggregates: vec![aggregate("count", vec![]), aggregate("sum", vec![of(&items, 2)])],
        sets: None,
    };
    assert_eq!(
        world.query(plan).unwrap(),
        [
            [Value::text("a"), Value::Int8(2), money(375)],
            [Value::text("b"), Value::Int8(2), money(975)],
            [Value::Null, Value::Int8(1), money(100)],
        ]
    );
}
