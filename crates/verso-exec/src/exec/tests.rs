//! Statements over tables in memory, by both executors.

mod aggregates;
mod changes;
mod memory;
mod parallel;
mod queries;
mod windows;

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_types::{Decimal, NumericSpec, SqlType, Value};

use crate::expr::Executor;
use crate::functions::aggregate_candidates;
use crate::plan::{AggregateCall, Plan, TypedExpr};
use crate::testing::{World, column, literal, table};

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
    Plan::TableScan { table: Arc::clone(table).into(), columns: (0..table.columns.len()).collect(), filter }
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
        crate::functions::ResultType::FixedArray(ty) => SqlType::Array(Box::new(ty.clone())),
        _ => args[0].ty.clone(),
    };
    AggregateCall { args, ..AggregateCall::plain(function, ty, name.into()) }
}
