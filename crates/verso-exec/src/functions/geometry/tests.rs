//! All functions over pairs of values beside what PostgreSQL 18 answered (`data/geometry_calls.sh`).

use std::collections::HashMap;

use verso_types::{CastKind, SqlType, SystemType, TimeStyle, Value, cast, format_text, parse_text};

use crate::context::Described;
use crate::expr::RowExpr;
use crate::functions::{ArgType, BuiltinFunction, ResultType, candidates, operator_candidates};
use crate::plan::{ExprKind, TypedExpr};
use crate::testing::TestSession;

static CALLS: &str = include_str!("../../../data/geometry_calls.tsv");
static OPERATORS: &str = include_str!("../operators.tsv");

fn type_named(name: &str) -> SqlType {
    match name {
        "double precision" => SqlType::Float8,
        "integer" => SqlType::Int4,
        name => SqlType::System(SystemType::from_name(name).expect("a type")),
    }
}

fn is_geometric(ty: &SqlType) -> bool {
    matches!(ty, SqlType::System(ty) if ty.is_geometric())
}

/// The values of each type that all functions are called with.
fn samples() -> HashMap<String, Vec<Value>> {
    let mut samples: HashMap<String, Vec<Value>> = HashMap::new();
    for line in CALLS.lines() {
        if let ["value", ty, text] = line.split('\t').collect::<Vec<_>>()[..] {
            let value = parse_text(&type_named(ty), text, &TimeStyle::UTC).expect("a value of the type");
            samples.entry(ty.to_owned()).or_default().push(value);
        }
    }
    samples
}

fn taking(functions: &[&'static BuiltinFunction], types: &[SqlType]) -> Option<&'static BuiltinFunction> {
    let wanted: Vec<ArgType> = types.iter().cloned().map(ArgType::Exact).collect();
    functions.iter().copied().find(|function| function.declared(types.len()) == wanted)
}

/// The result as text, or SQLSTATE and message.
fn called(
    session: &TestSession,
    function: &'static BuiltinFunction,
    types: &[SqlType],
    values: &[Value],
) -> String {
    let args = values.iter().zip(types).map(|(value, ty)| TypedExpr::literal(value.clone(), ty.clone()));
    let ResultType::Fixed(ty) = &function.result else { panic!("{function:?} has no fixed result") };
    let expr = TypedExpr::new(ExprKind::Call { function, args: args.collect() }, ty.clone());
    match RowExpr::compile(&expr).eval_constant(&session.context(&session.services())) {
        Ok(Value::Null) => "NULL".to_owned(),
        Ok(value) => match cast(&value, ty, &SqlType::Text, CastKind::Explicit, &TimeStyle::UTC) {
            Ok(Value::Text(text)) => text.to_string(),
            other => panic!("no text: {other:?}"),
        },
        Err(error) => {
            let Described { sqlstate, message, .. } = session.services().binding.describe_error(&error);
            format!("ERROR {sqlstate} {message}")
        }
    }
}

/// A polygon with less digits: sines and cosines may differ in the last one, whatever computes them.
fn rounded(text: &str) -> Option<String> {
    let ty = SqlType::System(SystemType::Polygon);
    let value = parse_text(&ty, text, &TimeStyle::UTC).ok()?;
    let mut rounded = String::new();
    format_text(&value, &ty, &TimeStyle { float_digits: -3, ..TimeStyle::UTC }, &mut rounded);
    Some(rounded)
}

/// All that can be made of one value of each list.
fn combined(lists: &[&Vec<Value>]) -> Vec<Vec<Value>> {
    lists.iter().fold(vec![Vec::new()], |made, list| {
        let with_each = |before: &Vec<Value>| {
            let before = before.clone();
            list.iter().map(move |value| before.iter().cloned().chain([value.clone()]).collect())
        };
        made.iter().flat_map(with_each).collect()
    })
}

#[test]
fn functions_yield_what_postgresql_s_do() {
    let (samples, session) = (samples(), TestSession::default());
    let (mut wrong, mut calls) = (String::new(), 0);
    for line in CALLS.lines().filter(|line| line.starts_with("call\t")) {
        let fields: Vec<&str> = line.split('\t').collect();
        let (name, arguments, results) = (fields[1], fields[2], &fields[3..]);
        let types: Vec<SqlType> = arguments.split(',').map(type_named).collect();
        let Some(function) = taking(candidates(name), &types) else {
            wrong += &format!("{name}({arguments}) is missing\n");
            continue;
        };
        let lists: Vec<&Vec<Value>> = arguments.split(',').map(|ty| &samples[ty]).collect();
        let values = combined(&lists);
        assert_eq!(values.len(), results.len(), "{name}({arguments})");
        for (values, expected) in values.iter().zip(results) {
            calls += 1;
            let got = called(&session, function, &types, values);
            if got != **expected
                && !(name == "polygon" && rounded(&got).is_some_and(|got| rounded(expected) == Some(got)))
            {
                wrong += &format!("{name}({arguments}) {values:?}\n  ours {got}\n  PG   {expected}\n");
            }
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
    assert!(calls > 10_000, "{calls}");
}

#[test]
fn operators_are_postgresql_s_and_mean_their_functions() {
    let (samples, session, mut seen) = (samples(), TestSession::default(), 0);
    for line in OPERATORS.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, symbol, left, right] = fields[..] else { panic!("{line}") };
        let oids =
            [left, right].into_iter().filter_map(|oid| oid.parse::<u32>().ok()).filter(|oid| *oid != 0);
        let types: Vec<SqlType> = oids.filter_map(|oid| SqlType::from_pg_oid(oid, -1)).collect();
        if !types.iter().any(is_geometric) {
            continue;
        }
        seen += 1;
        let operator = taking(operator_candidates(symbol), &types).expect(line);
        let function = taking(candidates(name), &types).expect(line);
        assert_eq!(operator.comparison(), None, "{line}");
        let named = |ty: &SqlType| &samples[&ty.without_modifiers().pg_name()];
        for values in combined(&types.iter().map(named).collect::<Vec<_>>()) {
            let by_name = called(&session, function, &types, &values);
            assert_eq!(called(&session, operator, &types, &values), by_name, "{line}");
        }
    }
    assert_eq!(seen, 157);
}
