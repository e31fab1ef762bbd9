//! Statements over tables in memory, by both executors.

use std::sync::Arc;

use verso_catalog::{SystemView, TableDef};
use verso_types::{CastKind, Decimal, NumericSpec, SqlType, Value};

use crate::expr::Executor;
use crate::functions::aggregate_candidates;
use crate::plan::{
    AggregateCall, Delete, ExprKind, Insert, OutputColumn, Plan, Returning, SetCall, SortKey, Statement,
    TypedExpr, Update,
};
use crate::testing::{World, call, cast, column, literal, table};

const BOTH: [Executor; 2] = [Executor::Row, Executor::Vector];

fn int(v: i32) -> Value {
    Value::Int4(v)
}

fn lit(v: i32) -> TypedExpr {
    literal(int(v))
}

fn items() -> Arc<TableDef> {
    table(
        100,
        "items",
        &[
            ("id", SqlType::Int4),
            ("name", SqlType::Text),
            ("price", SqlType::Numeric(NumericSpec::new(8, 2))),
            ("weight", SqlType::Float8),
        ],
    )
}

fn money(cents: i128) -> Value {
    Value::Numeric(Decimal::new(cents, 2).unwrap())
}

/// (1 'a' 1.50 0.5) (2 'b' NULL 1.5) (3 'a' 2.25 NULL) (4 NULL 1.00 2.5) (5 'b' 9.75 3.5)
fn world() -> (World, Arc<TableDef>) {
    let items = items();
    let world = World::new(|_| {});
    let text = |t: &str| Value::text(t);
    world.tables.fill(
        &items,
        vec![
            vec![int(1), text("a"), money(150), Value::Float8(0.5)],
            vec![int(2), text("b"), Value::Null, Value::Float8(1.5)],
            vec![int(3), text("a"), money(225), Value::Null],
            vec![int(4), Value::Null, money(100), Value::Float8(2.5)],
            vec![int(5), text("b"), money(975), Value::Float8(3.5)],
        ],
    );
    (world, items)
}

fn scan(table: &Arc<TableDef>, filter: Option<TypedExpr>) -> Plan {
    Plan::TableScan { table: Arc::clone(table), columns: (0..table.columns.len()).collect(), filter }
}

fn of(table: &TableDef, index: usize) -> TypedExpr {
    column(index, table.columns[index].ty.clone())
}

fn ids(rows: &[Vec<Value>]) -> Vec<i64> {
    rows.iter().map(|row| row[0].as_i64().expect("an id")).collect()
}

fn aggregate(name: &str, args: Vec<TypedExpr>) -> AggregateCall {
    let function = aggregate_candidates(name)
        .iter()
        .find(|function| {
            function.args.len() == args.len()
                && function.args.iter().zip(&args).all(|(declared, arg)| match declared {
                    crate::functions::ArgType::Exact(ty) => ty.same_base(&arg.ty),
                    _ => true,
                })
        })
        .unwrap_or_else(|| panic!("no {name}"));
    let ty = match &function.result {
        crate::functions::ResultType::Fixed(ty) => ty.clone(),
        crate::functions::ResultType::ArrayOf(i) => SqlType::Array(Box::new(args[*i].ty.clone())),
        _ => args[0].ty.clone(),
    };
    AggregateCall { function, distinct: false, args, filter: None, ty, name: name.into() }
}

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
    let sorted = |keys: Vec<SortKey>| Plan::Sort { input: Box::new(scan(&items, None)), keys };
    assert_eq!(
        ids(&world.query(sorted(vec![key(1, false, false), key(0, true, true)])).unwrap()),
        [3, 1, 5, 2, 4]
    );
    assert_eq!(ids(&world.query(sorted(vec![key(2, true, true)])).unwrap()), [2, 5, 3, 1, 4]);
    assert_eq!(ids(&world.query(sorted(vec![key(3, true, false)])).unwrap()), [5, 4, 2, 1, 3]);

    let limited = |limit: Option<TypedExpr>, offset: Option<TypedExpr>| {
        world.query(Plan::Limit { input: Box::new(scan(&items, None)), limit, offset })
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
        }),
        limit: Some(literal(Value::Int8(3))),
        offset: Some(literal(Value::Int8(2))),
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
    let twice = Plan::Append { inputs: vec![names.clone(), names] };
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
fn aggregates_have_postgresqls_types_and_scales() {
    let (world, items) = world();
    let all = |calls: Vec<AggregateCall>| {
        world
            .query(Plan::Aggregate {
                input: Box::new(scan(&items, None)),
                group_by: Vec::new(),
                aggregates: calls,
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
    };
    assert_eq!(world.query(total).unwrap(), [[Value::Int8(4_501_500)]]);
    let view = Plan::SystemScan {
        view: SystemView::PageWrites,
        args: Vec::new(),
        columns: vec![1],
        output: vec![OutputColumn::new("writes", SqlType::Int8)],
    };
    assert_eq!(world.query(view).unwrap(), [[Value::Int8(7)], [Value::Int8(9)]]);
}

fn update(items: &Arc<TableDef>, filter: Option<TypedExpr>, assignments: Vec<(usize, TypedExpr)>) -> Update {
    Update {
        table: Arc::clone(items),
        columns: vec![0, 1, 2, 3],
        joined: None,
        access: None,
        filter,
        assignments,
        checks: Vec::new(),
        returning: None,
    }
}

#[test]
fn updates_change_the_selected_rows() {
    for executor in BOTH {
        let (world, items) = world();
        let heavy = call(">", vec![of(&items, 3), literal(Value::Float8(1.0))]);
        let assignments = vec![
            (0, call("+", vec![of(&items, 0), lit(10)])),
            (1, call("||", vec![of(&items, 1), literal(Value::text("!"))])),
        ];
        let mut update = update(&items, Some(heavy), assignments);
        update.returning = Some(Returning {
            // old price, new name
            exprs: vec![of(&items, 0), of(&items, 2), column(5, SqlType::Text)],
            names: vec!["id".into(), "price".into(), "name".into()],
        });
        let (rows, count) = world.run(&Statement::Update(update), executor).unwrap();
        assert_eq!(count, 3);
        assert_eq!(rows[2], [int(5), money(975), Value::text("b!")]);
        let all = world.tables.rows(&items);
        assert_eq!(ids(&all), [1, 12, 3, 14, 15]);
        assert_eq!(all[1][1], Value::text("b!"));
        assert_eq!(all[3][1], Value::Null);
        assert_eq!(all[4][2], money(975));
    }
}

#[test]
fn failed_updates_report_in_row_order() {
    for executor in BOTH {
        let (world, items) = world();
        // the filter fails for row 2 (id 2), the assignment for row 1 already
        let filter =
            call(">", vec![call("/", vec![lit(8), call("-", vec![of(&items, 0), lit(2)])]), lit(-99)]);
        let bad = call("/", vec![lit(1), call("-", vec![of(&items, 0), lit(1)])]);
        let far = call("+", vec![literal(int(i32::MAX)), of(&items, 0)]);
        let run = |assignment| {
            let update = update(&items, Some(filter.clone()), vec![(0, assignment)]);
            world.run(&Statement::Update(update), executor).unwrap_err()
        };
        assert_eq!(run(far), "22003 integer out of range");
        assert_eq!(run(bad), "22012 division by zero");
        assert_eq!(run(lit(0)), "22012 division by zero");
        assert_eq!(ids(&world.tables.rows(&items)), [1, 2, 3, 4, 5]);
    }
}

#[test]
fn deletes_remove_the_selected_rows() {
    for executor in BOTH {
        let (world, items) = world();
        let unnamed = TypedExpr::new(
            ExprKind::Or(vec![
                TypedExpr::new(
                    ExprKind::IsNull { arg: Box::new(of(&items, 1)), negated: false },
                    SqlType::Bool,
                ),
                call("=", vec![of(&items, 0), lit(1)]),
            ]),
            SqlType::Bool,
        );
        let delete = Delete {
            table: Arc::clone(&items),
            columns: vec![0, 1],
            joined: None,
            access: None,
            filter: Some(unnamed),
            returning: Some(Returning { exprs: vec![of(&items, 0)], names: vec!["id".into()] }),
        };
        let (rows, count) = world.run(&Statement::Delete(delete), executor).unwrap();
        assert_eq!((ids(&rows), count), (vec![1, 4], 2));
        assert_eq!(ids(&world.tables.rows(&items)), [2, 3, 5]);
        let all = Delete {
            table: Arc::clone(&items),
            columns: vec![],
            joined: None,
            access: None,
            filter: None,
            returning: None,
        };
        assert_eq!(world.run(&Statement::Delete(all), executor).unwrap().1, 3);
    }
}

#[test]
fn inserts_take_values_and_queries() {
    for executor in BOTH {
        let target = table(101, "target", &[("a", SqlType::Int4), ("b!", SqlType::Text)]);
        let (world, items) = world();
        let insert = |source, values, spool| {
            Statement::Insert(Insert {
                table: Arc::clone(&target),
                source,
                values,
                spool,
                checks: Vec::new(),
                on_conflict: None,
                returning: Some(Returning { exprs: vec![column(0, SqlType::Int4)], names: vec!["a".into()] }),
            })
        };
        let columns = vec![OutputColumn::new("x", SqlType::Text), OutputColumn::new("y", SqlType::Int4)];
        let row = |x: Option<&str>, y: i32| {
            vec![x.map_or(TypedExpr::null(SqlType::Text), |x| literal(Value::text(x))), lit(y)]
        };
        let values = vec![call("+", vec![column(1, SqlType::Int4), lit(1)]), column(0, SqlType::Text)];
        let source =
            Plan::Values { rows: vec![row(Some("p"), 1), row(Some("q"), 2)], columns: columns.clone() };
        let (rows, count) = world.run(&insert(source, values.clone(), false), executor).unwrap();
        assert_eq!((ids(&rows), count), (vec![2, 3], 2));
        let source = Plan::Values { rows: vec![row(Some("p"), 1), row(None, 2)], columns };
        assert_eq!(
            world.run(&insert(source, values, false), executor).unwrap_err(),
            "23502 null value in column \"b!\" of relation \"target\" violates not-null constraint"
        );
        let query = scan(&items, Some(call("<>", vec![of(&items, 1), literal(Value::text("z"))])));
        let values = vec![of(&items, 0), of(&items, 1)];
        assert_eq!(world.run(&insert(query, values, false), executor).unwrap().1, 4);
        // T2: the rows added are not read again
        let own = Plan::TableScan { table: Arc::clone(&target), columns: vec![0, 1], filter: None };
        let values = vec![of(&target, 0), of(&target, 1)];
        assert_eq!(world.run(&insert(own, values, true), executor).unwrap().1, 6);
        assert_eq!(ids(&world.tables.rows(&target)), [2, 3, 1, 2, 3, 5, 2, 3, 1, 2, 3, 5]);
    }
}

#[test]
fn memory_is_counted_and_refused() {
    let (world, items) = world();
    world.session.work_memory.set(64);
    let sort = Plan::Sort {
        input: Box::new(scan(&items, None)),
        keys: vec![SortKey { expr: of(&items, 0), descending: false, nulls_first: false }],
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
