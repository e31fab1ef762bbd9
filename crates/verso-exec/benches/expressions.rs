//! Nanoseconds per row of E1's assignments and of its aggregates, over batches in memory.
//!
//! `cargo bench -p verso-exec`: prints a line per measurement; no threshold, the workbench judges.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use verso_catalog::{CatalogSnapshot, ColumnDef, Oid, TableDef};
use verso_env::Env;
use verso_exec::expr::{Executor, ExprList};
use verso_exec::functions::{
    ArgType, BuiltinFunction, aggregate_candidates, candidates, operator_candidates,
};
use verso_exec::plan::{AggregateCall, CastKind, ExprKind, Plan, Statement, TypedExpr};
use verso_exec::{ExecContext, ExecError, Sink, execute};
use verso_storage::ObjectId;
use verso_types::{Batch, Decimal, NumericSpec, SqlType, TimeStyle, Value};

mod session;

const ROWS: usize = 2048;
const TURNS: u64 = 2000;

fn call(function: &'static BuiltinFunction, args: Vec<TypedExpr>, ty: SqlType) -> TypedExpr {
    TypedExpr::new(ExprKind::Call { function, args }, ty)
}

fn cast(arg: TypedExpr, ty: SqlType, kind: CastKind) -> TypedExpr {
    TypedExpr::new(ExprKind::Cast { arg: Box::new(arg), kind }, ty)
}

fn operator(symbol: &str, name: &str) -> &'static BuiltinFunction {
    operator_candidates(symbol).iter().find(|function| function.name == name).expect("a built-in operator")
}

fn main() {
    let env = Env::real();
    let session = session::Session { zone: TimeStyle::UTC, portals: Default::default() };
    let money = SqlType::Numeric(NumericSpec::new(18, 2));
    let name = SqlType::Varchar(Some(120));
    let types = [money.clone(), SqlType::Float8, name.clone()];
    let mut batch = Batch::of_types(&types);
    for i in 0..ROWS as i128 {
        let row = [
            Value::Numeric(Decimal::new(i * 100, 2).expect("small")),
            Value::Float8(i as f64 * 0.5),
            Value::text(&format!("name {i}")),
        ];
        batch.push_row(&row, &types).expect("values of the types");
    }
    let one = |ty: SqlType| cast(TypedExpr::literal(Value::Int4(1), SqlType::Int4), ty, CastKind::Implicit);
    let column = |i: usize| TypedExpr::column(i, types[i].clone());
    let numeric = SqlType::Numeric(None);
    let id = call(operator("+", "numeric_add"), vec![column(0), one(numeric.clone())], numeric);
    let id = cast(id, money, CastKind::Assignment);
    let qrt = call(operator("+", "float8pl"), vec![column(1), one(SqlType::Float8)], SqlType::Float8);
    let digit = TypedExpr::literal(Value::text("1"), SqlType::Text);
    let text = call(operator("||", "textcat"), vec![column(2), digit], SqlType::Text);
    let text = cast(text, name, CastKind::Assignment);
    let now = cast(
        call(candidates("now")[0], vec![], SqlType::Timestamptz(None)),
        SqlType::Timestamp(None),
        CastKind::Assignment,
    );
    let all = vec![id.clone(), qrt.clone(), text.clone(), now.clone()];
    for (label, exprs) in [
        ("id + 1", vec![id]),
        ("qrt + 1", vec![qrt]),
        ("name || '1'", vec![text]),
        ("CURRENT_TIMESTAMP", vec![now]),
        ("all of E1", all),
    ] {
        for executor in [Executor::Vector, Executor::Row] {
            let mut list = ExprList::compile(&exprs, executor);
            let mut out = Batch::of_types(list.types());
            let services = session.services();
            let start = env.clock.monotonic_nanos();
            let turns = if executor == Executor::Row { TURNS / 20 } else { TURNS };
            for _ in 0..turns {
                list.eval(&session.context(&services), &batch, &mut out).expect("no errors");
            }
            let nanos = env.clock.monotonic_nanos() - start;
            let per_row = nanos as f64 / (turns * ROWS as u64) as f64;
            println!("{label:<20} {executor:?}: {per_row:.2} ns per row");
        }
    }
    aggregates(&env, &session);
}

/// `SELECT count(*), sum(qrt)` against the scan alone.
fn aggregates(env: &Env, session: &session::Session) {
    let values: Vec<f64> = (0..ROWS).map(|i| i as f64 * 0.5).collect();
    let tables = session::table::Doubles { values, batches: TURNS };
    let qrt = ColumnDef::new("qrt", 1, SqlType::Float8);
    let table = Arc::new(TableDef::new(Oid(1), "public", "test", ObjectId(1), vec![qrt]));
    let scan = Plan::TableScan { table: table.into(), columns: vec![0], filter: None };
    let aggregate = |name: &str, args: Vec<TypedExpr>, ty: SqlType| AggregateCall {
        function: aggregate_candidates(name)
            .iter()
            .find(|f| match f.args {
                [] => args.is_empty(),
                [declared] => args.first().is_some_and(|arg| *declared == ArgType::Exact(arg.ty.clone())),
                _ => false,
            })
            .expect("a built-in aggregate"),
        distinct: false,
        args,
        order_by: Vec::new(),
        direct: Vec::new(),
        filter: None,
        ty,
        name: name.into(),
    };
    let sum = aggregate("sum", vec![TypedExpr::column(0, SqlType::Float8)], SqlType::Float8);
    let plan = Plan::Aggregate {
        input: Box::new(scan.clone()),
        group_by: Vec::new(),
        aggregates: vec![aggregate("count", vec![], SqlType::Int8), sum],
        sets: None,
    };
    let cancel = Arc::new(AtomicBool::new(false));
    let catalog = CatalogSnapshot::builder(1).build();
    for (label, plan) in [("scan", scan), ("count(*), sum(qrt)", plan)] {
        for executor in [Executor::Auto, Executor::Row] {
            let services = session.services();
            let cx = ExecContext::new(&tables, &catalog, &[], &services, &cancel, executor);
            let start = env.clock.monotonic_nanos();
            execute(&Statement::Query(plan.clone()), &cx, &mut Nowhere).expect("no errors");
            let nanos = env.clock.monotonic_nanos() - start;
            println!(
                "{label:<20} {executor:?}: {:.2} ns per row",
                nanos as f64 / (TURNS * ROWS as u64) as f64
            );
        }
    }
}

struct Nowhere;

impl Sink for Nowhere {
    fn batch(&mut self, _: &Batch) -> Result<(), ExecError> {
        Ok(())
    }
}
