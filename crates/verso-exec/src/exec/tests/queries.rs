//! Operators of queries, their limits, their end.

use verso_catalog::SystemView;
use verso_types::CastKind;

use super::*;
use crate::plan::{ExprKind, OutputColumn, SetCall, SortKey};
use crate::testing::{call, cast};

#[test]
fn scans_filter_project_sort_and_limit() {
    let (world, items) = world();
    let cheap = call("<", vec![of(&items, 2), cast(lit(2), SqlType::Numeric(None), CastKind::Implicit)]);
    let rows = world.query(scan(&items, Some(cheap))).unwrap();
    assert_eq!(ids(&rows), [1, 4]);

    let key = |index: usize, descending: bool, nulls_first: bool| SortKey {
        expr: of(&items, index),
        descending,
        nulls_first,
    };
    let sorted = |keys: Vec<SortKey>| Plan::Sort { input: Box::new(scan(&items, None)), keys, sorted: 0 };
    assert_eq!(
        ids(&world.query(sorted(vec![key(1, false, false), key(0, true, true)])).unwrap()),
        [3, 1, 5, 2, 4]
    );
    assert_eq!(ids(&world.query(sorted(vec![key(2, true, true)])).unwrap()), [2, 5, 3, 1, 4]);
    assert_eq!(ids(&world.query(sorted(vec![key(3, true, false)])).unwrap()), [5, 4, 2, 1, 3]);

    let limited = |limit: Option<TypedExpr>, offset: Option<TypedExpr>| {
        world.query(Plan::Limit { input: Box::new(scan(&items, None)), limit, offset, ties: Vec::new() })
    };
    let bigint = |v: i64| Some(literal(Value::Int8(v)));
    assert_eq!(ids(&limited(bigint(2), bigint(2)).unwrap()), [3, 4]);
    assert_eq!(ids(&limited(bigint(4), None).unwrap()), [1, 2, 3, 4]);
    assert_eq!(ids(&limited(None, bigint(4)).unwrap()), [5]);
    assert_eq!(ids(&limited(bigint(0), None).unwrap()), []);
    assert_eq!(ids(&limited(Some(TypedExpr::null(SqlType::Int8)), bigint(9)).unwrap()), []);
    assert_eq!(limited(bigint(-1), None).unwrap_err(), "2201W LIMIT must not be negative");
    assert_eq!(limited(None, bigint(-1)).unwrap_err(), "2201X OFFSET must not be negative");
}

/// The sort under a LIMIT keeps few rows, and the right ones.
#[test]
fn the_first_of_many_are_found() {
    let world = World::new(|_| {});
    let series = call("generate_series", vec![lit(1), lit(20_000)]);
    let ExprKind::Call { function, args } = series.kind else { panic!("a call") };
    let scan = Plan::FunctionScan {
        call: SetCall::Builtin { function, args },
        columns: vec![OutputColumn::new("generate_series", SqlType::Int4)],
    };
    // 7919 is prime to 20000, so every rest comes once
    let mixed = call("%", vec![call("*", vec![column(0, SqlType::Int4), lit(7919)]), lit(20_000)]);
    let plan = Plan::Limit {
        input: Box::new(Plan::Sort {
            input: Box::new(Plan::Project {
                input: Box::new(scan),
                exprs: vec![mixed],
                names: vec!["v".into()],
            }),
            keys: vec![SortKey { expr: column(0, SqlType::Int4), descending: true, nulls_first: true }],
            sorted: 0,
        }),
        limit: Some(literal(Value::Int8(3))),
        offset: Some(literal(Value::Int8(2))),
        ties: Vec::new(),
    };
    world.session.work_memory.set(200_000);
    assert_eq!(ids(&world.query(plan).unwrap()), [19_997, 19_996, 19_995]);
}

#[test]
fn distinct_and_append_keep_the_first() {
    let (world, items) = world();
    let names = Plan::Project {
        input: Box::new(scan(&items, None)),
        exprs: vec![of(&items, 1)],
        names: vec!["name".into()],
    };
    let twice = Plan::Append { inputs: vec![names.clone(), names], pruning: None };
    assert_eq!(world.query(twice.clone()).unwrap().len(), 10);
    let rows = world.query(Plan::Distinct { input: Box::new(twice) }).unwrap();
    assert_eq!(rows, [[Value::text("a")], [Value::text("b")], [Value::Null]]);
}

#[test]
fn distinct_knows_sql_equality() {
    let world = World::new(|_| {});
    let numeric = |unscaled, scale| literal(Value::Numeric(Decimal::new(unscaled, scale).unwrap()));
    let values = |rows: Vec<Vec<TypedExpr>>, ty: SqlType| Plan::Distinct {
        input: Box::new(Plan::Values { rows, columns: vec![OutputColumn::new("v", ty)] }),
    };
    let rows = vec![vec![numeric(10, 1)], vec![numeric(100, 2)], vec![numeric(1, 0)], vec![numeric(2, 0)]];
    assert_eq!(world.query(values(rows, SqlType::Numeric(None))).unwrap().len(), 2);
    let float = |v: f64| vec![literal(Value::Float8(v))];
    let rows = vec![float(0.0), float(-0.0), float(f64::NAN), float(-f64::NAN)];
    assert_eq!(world.query(values(rows, SqlType::Float8)).unwrap().len(), 2);
}

#[test]
fn functions_and_views_yield_rows() {
    let world = World::new(|_| {});
    let series = call("generate_series", vec![lit(1), lit(3000)]);
    let ExprKind::Call { function, args } = series.kind else { panic!("a call") };
    let plan = Plan::FunctionScan {
        call: SetCall::Builtin { function, args },
        columns: vec![OutputColumn::new("generate_series", SqlType::Int4)],
    };
    let total = Plan::Aggregate {
        input: Box::new(plan),
        group_by: Vec::new(),
        aggregates: vec![aggregate("sum", vec![column(0, SqlType::Int4)])],
        sets: None,
    };
    assert_eq!(world.query(total).unwrap(), [[Value::Int8(4_501_500)]]);
    let view = Plan::SystemScan {
        view: SystemView::PageWrites,
        args: Vec::new(),
        columns: vec![1],
        output: vec![OutputColumn::new("writes", SqlType::Int8)],
        keys: Vec::new(),
    };
    assert_eq!(world.query(view).unwrap(), [[Value::Int8(7)], [Value::Int8(9)]]);
}

#[test]
fn memory_is_counted_and_refused() {
    let (world, items) = world();
    world.session.work_memory.set(64);
    let sort = Plan::Sort {
        input: Box::new(scan(&items, None)),
        keys: vec![SortKey { expr: of(&items, 0), descending: false, nulls_first: false }],
        sorted: 0,
    };
    assert_eq!(world.query(sort).unwrap_err(), "53200 out of memory: a sort needs more than 64 bytes");
    let distinct = Plan::Distinct { input: Box::new(scan(&items, None)) };
    assert_eq!(world.query(distinct).unwrap_err(), "53200 out of memory: DISTINCT needs more than 64 bytes");
}

#[test]
fn a_cancelled_statement_ends() {
    let (world, items) = world();
    world.cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(world.query(scan(&items, None)).unwrap_err(), "57014 canceling statement due to user request");
}

/// Scans that leave few rows read the other columns for these: a filter of a join, a condition on another column, and columns that
/// only the rows left need; a few at a time, as where values are long.
#[test]
fn columns_that_few_rows_need_are_read_late() {
    let types =
        [("id", SqlType::Int4), ("grp", SqlType::Int4), ("name", SqlType::Text), ("n", SqlType::Int4)];
    let (large, few) = (table(400, "large", &types), table(401, "few", &types[..1]));
    let world = World::new(|_| {});
    let row = |i: i32| {
        let grp = if i % 7 == 0 { Value::Null } else { int(i % 90) };
        vec![int(i), grp, Value::text(&format!("name {i}")), int(i * 3)]
    };
    world.tables.fill(&large, (0..3000).map(row).collect());
    world.tables.fill(&few, (0..40).map(|i| vec![int(i * 2)]).collect());
    let condition = |most: i32| call("<", vec![call("%", vec![of(&large, 3), lit(100)]), lit(most)]);
    for batch in [0, 50, 333] {
        world.tables.batch_rows.set(batch);
        for most in [100, 60, 9, 1, 0] {
            let rows = world.query(scan(&large, Some(condition(most)))).expect("rows");
            let expected: Vec<Vec<Value>> = (0..3000).filter(|i| i * 3 % 100 < most).map(row).collect();
            assert_eq!(rows, expected, "{most} {batch}");
            // The right rows tell the left scan which groups there are.
            let plan = Plan::Join {
                left: Box::new(scan(&large, Some(condition(most)))),
                right: Box::new(scan(&few, Some(call("<", vec![of(&few, 0), lit(6)])))),
                kind: crate::plan::JoinKind::Inner,
                equal: vec![(of(&large, 1), of(&few, 0))],
                filter: None,
            };
            let rows = world.query(plan).expect("rows");
            let joins = |i: &i32| i % 7 != 0 && [0, 2, 4].contains(&(i % 90)) && i * 3 % 100 < most;
            let pair = |i: i32| [&row(i)[..], &[int(i % 90)]].concat();
            let expected: Vec<Vec<Value>> = (0..3000).filter(joins).map(pair).collect();
            assert_eq!(rows, expected, "join {most} {batch}");
        }
    }
}
