//! INSERT, UPDATE, DELETE.

use super::*;
use crate::plan::{Delete, ExprKind, Insert, OutputColumn, Returning, RowRules, Statement, Update};
use crate::testing::call;

fn update(items: &Arc<TableDef>, filter: Option<TypedExpr>, assignments: Vec<(usize, TypedExpr)>) -> Update {
    Update {
        table: Arc::clone(items).into(),
        columns: vec![0, 1, 2, 3],
        joined: None,
        access: None,
        filter,
        named: assignments.len(),
        assignments,
        rules: RowRules::default(),
        returning: None,
        parts: None,
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
            table: Arc::clone(&items).into(),
            columns: vec![0, 1],
            joined: None,
            access: None,
            filter: Some(unnamed),
            returning: Some(Returning { exprs: vec![of(&items, 0)], names: vec!["id".into()] }),
            parts: Vec::new(),
        };
        let (rows, count) = world.run(&Statement::Delete(delete), executor).unwrap();
        assert_eq!((ids(&rows), count), (vec![1, 4], 2));
        assert_eq!(ids(&world.tables.rows(&items)), [2, 3, 5]);
        let all = Delete {
            table: Arc::clone(&items).into(),
            columns: vec![],
            joined: None,
            access: None,
            filter: None,
            returning: None,
            parts: Vec::new(),
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
                returns_old: false,
                routes: Vec::new(),
                keys: Vec::new(),
                table: Arc::clone(&target),
                source,
                values,
                spool,
                rules: RowRules::default(),
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
        let own = Plan::TableScan { table: Arc::clone(&target).into(), columns: vec![0, 1], filter: None };
        let values = vec![of(&target, 0), of(&target, 1)];
        assert_eq!(world.run(&insert(own, values, true), executor).unwrap().1, 6);
        assert_eq!(ids(&world.tables.rows(&target)), [2, 3, 1, 2, 3, 5, 2, 3, 1, 2, 3, 5]);
    }
}
