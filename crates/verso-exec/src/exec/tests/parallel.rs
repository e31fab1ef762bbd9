//! Operators with several workers: the same answers, whatever memory there is; what becomes of errors and panics of workers.

use verso_types::SqlType;

use super::memory::{Little, texts};
use super::*;
use crate::plan::GroupingSets;
use crate::testing::call;

#[test]
fn several_workers_change_no_answer() {
    let little = Little::new(2_400);
    for (name, ordered, plan, expected) in little.cases(2) {
        let expected = texts(&expected, ordered);
        for (workers, bytes, batch) in [
            (2, 64 << 20, 1024),
            (8, 64 << 20, 100),
            (2, 64 << 10, 100),
            (3, 256 << 10, 3),
            (8, 512 << 10, 7),
        ] {
            little.world.session.workers.set(workers);
            little.world.session.work_memory.set(bytes);
            little.world.tables.batch_rows.set(batch);
            let rows = little.run(&plan);
            let rows = rows.unwrap_or_else(|error| panic!("{name} {workers} {bytes} {batch}: {error}"));
            let rows = texts(&rows, ordered);
            assert!(
                rows == expected,
                "{name} {workers} {bytes} {batch}: {} rows, not {}",
                rows.len(),
                expected.len()
            );
        }
    }
}

/// Every aggregate that several workers may compute, over groups, sets of them and all rows, with and without a filter.
#[test]
fn states_of_workers_merge() {
    let little = Little::new(3_000);
    let of = |index: usize| vec![column(index, little.many.columns[index].ty.clone())];
    let numeric = || {
        let wide =
            crate::testing::cast(of(0).remove(0), SqlType::Numeric(None), verso_types::CastKind::Explicit);
        vec![call("*", vec![wide.clone(), wide])]
    };
    let positive = call(">", vec![of(0).remove(0), lit(100)]);
    let mut aggregates = vec![aggregate("count", vec![])];
    for name in
        ["count", "sum", "avg", "min", "max", "bit_and", "bit_or", "bit_xor", "var_samp", "stddev_pop"]
    {
        aggregates.push(aggregate(name, of(1)));
    }
    for name in ["sum", "avg", "max", "variance"] {
        aggregates.push(aggregate(name, numeric()));
    }
    aggregates.push(aggregate("bool_and", vec![positive.clone()]));
    aggregates.push(aggregate("bool_or", vec![positive.clone()]));
    for name in ["count", "sum", "min"] {
        let mut distinct = aggregate(name, of(1));
        distinct.distinct = true;
        aggregates.push(distinct);
        let mut filtered = aggregate(name, of(1));
        filtered.filter = Some(positive.clone());
        aggregates.push(filtered);
    }
    let plan = |group_by: Vec<TypedExpr>, sets| Plan::Aggregate {
        input: Box::new(scan(&little.many, None)),
        group_by,
        aggregates: aggregates.clone(),
        sets,
    };
    let keys = || vec![of(1).remove(0), of(2).remove(0)];
    let sets = GroupingSets { sets: vec![vec![0, 1], vec![0], vec![]], calls: vec![vec![0, 1]] };
    let id = || vec![of(0).remove(0)];
    for (name, plan) in [
        ("all", plan(Vec::new(), None)),
        ("keys", plan(keys(), None)),
        ("many keys", plan(id(), None)),
        ("sets", plan(keys(), Some(sets))),
    ] {
        little.world.session.work_memory.set(64 << 20);
        little.world.session.workers.set(1);
        let expected = texts(&little.run(&plan).expect("an answer"), false);
        for (workers, bytes) in [(2, 64 << 20), (8, 64 << 20), (2, 2 << 20), (3, 6 << 20)] {
            little.world.session.workers.set(workers);
            little.world.session.work_memory.set(bytes);
            little.world.tables.batch_rows.set(90);
            match little.run(&plan) {
                Ok(rows) => assert_eq!(texts(&rows, false), expected, "{name} {workers} {bytes}"),
                // Sums of squares cannot be put aside.
                Err(error) => assert!(error.starts_with("53200") && bytes < 64 << 20, "{name}: {error}"),
            }
        }
    }
}

/// Rows of a group stand together, and some groups lie across what two workers read: these come out once, with all their rows.
#[test]
fn groups_that_few_workers_share_are_whole() {
    let little = Little::new(4_000);
    let of = |index: usize| vec![column(index, little.many.columns[index].ty.clone())];
    for width in [1, 4, 7, 500] {
        let plan = Plan::Aggregate {
            input: Box::new(scan(&little.many, None)),
            group_by: vec![call("/", vec![of(0).remove(0), lit(width)])],
            aggregates: vec![aggregate("count", vec![]), aggregate("sum", of(0)), aggregate("max", of(1))],
            sets: None,
        };
        little.world.session.workers.set(1);
        let expected = texts(&little.run(&plan).expect("an answer"), false);
        assert_eq!(expected.len(), 4_000_usize.div_ceil(width as usize), "as many groups");
        for (workers, rows) in [(2, 90), (3, 90), (8, 130), (2, 1_000)] {
            little.world.session.workers.set(workers);
            little.world.tables.batch_rows.set(rows);
            let answer = texts(&little.run(&plan).expect("an answer"), false);
            assert_eq!(answer, expected, "{width} {workers} {rows}");
        }
    }
}

#[test]
fn an_error_of_a_worker_ends_the_statement_and_so_does_a_panic() {
    let little = Little::new(2_000);
    little.world.tables.batch_rows.set(50);
    let total = |input| Plan::Aggregate {
        input: Box::new(input),
        group_by: Vec::new(),
        aggregates: vec![aggregate("count", vec![])],
        sets: None,
    };
    let id = || column(0, SqlType::Int4);
    let failing = call("=", vec![call("/", vec![lit(1), call("-", vec![id(), lit(1_500)])]), lit(0)]);
    for workers in [1, 2, 8] {
        little.world.session.workers.set(workers);
        let error = little.run(&total(scan(&little.many, Some(failing.clone())))).expect_err("no answer");
        assert_eq!(error, "22012 division by zero", "{workers} workers");
        let count = little.run(&total(scan(&little.many, None))).expect("the next statement works");
        assert_eq!(count, vec![vec![Value::Int8(2_000)]]);
    }
    // The cursor of a table in memory panics at so many rows.
    let large = Little::new(10_000);
    large.world.session.workers.set(2);
    let error = large.run(&total(scan(&large.many, None))).expect_err("no answer");
    assert!(
        error.starts_with("XX000 the statement failed by a bug of the server: a statement feeds"),
        "{error}"
    );
}

/// What needs the session stays on its thread: a subquery, a volatile function, an aggregate that heeds the order.
#[test]
fn what_is_not_safe_has_one_thread() {
    let little = Little::new(500);
    little.world.session.workers.set(4);
    little.world.tables.batch_rows.set(50);
    let random = call("<", vec![call("random", Vec::new()), literal(Value::Float8(2.0))]);
    let plan = |filter, aggregates| Plan::Aggregate {
        input: Box::new(scan(&little.many, filter)),
        group_by: Vec::new(),
        aggregates,
        sets: None,
    };
    let rows = little.run(&plan(Some(random), vec![aggregate("count", vec![])])).expect("one thread");
    assert_eq!(rows, vec![vec![Value::Int8(500)]]);
    let ids =
        little.run(&plan(None, vec![aggregate("array_agg", vec![column(0, SqlType::Int4)])])).expect("rows");
    let expected: Vec<Value> = (0..500).map(int).collect();
    assert_eq!(ids, vec![vec![Value::Array(expected.into())]]);
}
