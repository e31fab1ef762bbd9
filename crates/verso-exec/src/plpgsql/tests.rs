//! Functions over tables in memory.

use std::sync::Arc;

use verso_catalog::{FunctionDef, FunctionReturn, Oid, SequenceBounds, SequenceDef, TableDef};
use verso_storage::ObjectId;
use verso_types::{CastKind, SqlType, Value};

use crate::expr::Executor;
use crate::functions::aggregate_candidates;
use crate::plan::{
    AggregateCall, ExprKind, Insert, OutputColumn, PlBlock, PlCondition, PlDeclaration, PlDefault,
    PlDiagnostic, PlFunction, PlHandler, PlInto, PlPlace, PlReturn, PlStatement, PlStatementKind, PlTargets,
    PlVariable, Plan, RaiseLevel, SetCall, Statement, TypedExpr,
};
use crate::testing::{World, call, cast, column, literal, table};

fn parameter(slot: usize, ty: SqlType) -> TypedExpr {
    TypedExpr::new(ExprKind::Parameter(slot), ty)
}

fn int(v: i32) -> TypedExpr {
    literal(Value::Int4(v))
}

/// Statements on lines 1, 2, ….
fn lines(kinds: Vec<PlStatementKind>) -> Vec<PlStatement> {
    kinds.into_iter().zip(1..).map(|(kind, line)| PlStatement::new(line, kind)).collect()
}

fn block(kinds: Vec<PlStatementKind>) -> PlBlock {
    PlBlock { body: lines(kinds), ..PlBlock::default() }
}

fn variable(name: &str, ty: SqlType) -> PlVariable {
    PlVariable { name: name.into(), ty, not_null: false }
}

fn place(slot: usize, ty: SqlType) -> PlPlace {
    PlPlace { slot, field: None, ty }
}

fn definition(name: &str, returns: FunctionReturn, strict: bool) -> Arc<FunctionDef> {
    Arc::new(FunctionDef { returns, strict, ..FunctionDef::new(Oid(20_000), "public", name) })
}

fn function(
    variables: Vec<PlVariable>,
    argument_count: usize,
    returns: PlReturn,
    body: PlBlock,
) -> PlFunction {
    PlFunction {
        oid: 1,
        sql: false,
        read_only: false,
        one_column: false,
        columns: Arc::default(),
        signature: "f()".into(),
        argument_count,
        variables: variables.into(),
        returns,
        found: None,
        body,
        strict_params: None,
        trigger: None,
    }
}

/// A world with table t (v integer), sequence s, and the function f.
fn world(function: PlFunction) -> (World, Arc<TableDef>) {
    let world = World::new(|builder| {
        builder.add_sequence(SequenceDef {
            oid: Oid(300),
            schema: "public".into(),
            name: "s".into(),
            object: ObjectId(300),
            bounds: SequenceBounds::default(),
            owned_by: None,
            unlogged: false,
        });
    });
    world.session.functions.borrow_mut().insert("f".into(), Arc::new(function));
    (world, target())
}

fn target() -> Arc<TableDef> {
    table(200, "t", &[("v!", SqlType::Int4)])
}

fn insert(value: TypedExpr) -> PlStatementKind {
    let source =
        Plan::Values { rows: vec![vec![value]], columns: vec![OutputColumn::new("v", SqlType::Int4)] };
    let insert = Insert::plain(target(), source, vec![column(0, SqlType::Int4)]);
    PlStatementKind::Sql {
        statement: Box::new(Statement::Insert(insert)),
        into: None,
        text: None,
        perform: false,
    }
}

fn call_f(world: &World, args: Vec<TypedExpr>, ty: SqlType) -> Result<Value, String> {
    let def = definition("f", FunctionReturn::Scalar(ty.clone()), false);
    let expr = TypedExpr::new(ExprKind::UserCall { function: def, args }, ty.clone());
    let plan = Plan::Values { rows: vec![vec![expr]], columns: vec![OutputColumn::new("f", ty)] };
    let (rows, _) = world.run(&Statement::Query(plan), Executor::Auto)?;
    Ok(rows[0][0].clone())
}

fn values(world: &World, table: &TableDef) -> Vec<i64> {
    world.tables.rows(table).iter().map(|row| row[0].as_i64().expect("an integer")).collect()
}

fn count_of(table: Arc<TableDef>) -> Plan {
    let count = aggregate_candidates("count").iter().find(|f| f.args.is_empty()).expect("count(*)");
    Plan::Aggregate {
        input: Box::new(Plan::TableScan { table: table.into(), columns: vec![], filter: None }),
        group_by: Vec::new(),
        aggregates: vec![AggregateCall::plain(count, SqlType::Int8, "count".into())],
        sets: None,
    }
}

/// E1's function: a loop of inserts, `nextval`, and `RETURN QUERY SELECT count(*)`.
#[test]
fn a_loop_inserts_and_a_query_returns() {
    let nextval = call("nextval", vec![literal(Value::text("s"))]);
    let body = block(vec![
        PlStatementKind::ForRange {
            label: None,
            slot: 2,
            from: int(1),
            to: parameter(0, SqlType::Int4),
            by: None,
            reverse: false,
            body: lines(vec![
                PlStatementKind::Assign { slot: 1, value: nextval },
                insert(cast(
                    call("*", vec![parameter(1, SqlType::Int8), literal(Value::Int8(10))]),
                    SqlType::Int4,
                    CastKind::Assignment,
                )),
            ]),
        },
        PlStatementKind::ReturnQuery { query: Box::new(Statement::Query(count_of(target()))), text: None },
    ]);
    let variables =
        vec![variable("how_many", SqlType::Int4), variable("n", SqlType::Int8), variable("i", SqlType::Int4)];
    let (world, table) = world(function(variables, 1, PlReturn::Rows(vec![SqlType::Int8]), body));
    let returns = FunctionReturn::Table(vec![("records".into(), SqlType::Int8)]);
    let plan = Plan::FunctionScan {
        call: SetCall::User { function: definition("f", returns, false), args: vec![int(4)] },
        columns: vec![OutputColumn::new("records", SqlType::Int8)],
    };
    let (rows, _) = world.run(&Statement::Query(plan), Executor::Auto).unwrap();
    assert_eq!(rows, [[Value::Int8(4)]]);
    assert_eq!(values(&world, &table), [10, 20, 30, 40]);
}

#[test]
fn loops_exit_continue_and_count_down() {
    // FOR i IN REVERSE 10..1 BY 3: 10 7 4 1; skip 7, leave at 1
    let is = |v: i32| call("=", vec![parameter(0, SqlType::Int4), int(v)]);
    let body = block(vec![
        PlStatementKind::Loop {
            label: Some("outer".into()),
            body: lines(vec![PlStatementKind::ForRange {
                label: None,
                slot: 0,
                from: int(10),
                to: int(1),
                by: Some(int(3)),
                reverse: true,
                body: lines(vec![
                    PlStatementKind::Continue { label: None, when: Some(is(7)) },
                    PlStatementKind::Exit { label: Some("outer".into()), when: Some(is(1)) },
                    insert(parameter(0, SqlType::Int4)),
                ]),
            }]),
        },
        PlStatementKind::While {
            label: None,
            condition: call("<", vec![parameter(0, SqlType::Int4), int(3)]),
            body: lines(vec![PlStatementKind::Assign {
                slot: 0,
                value: call("+", vec![parameter(0, SqlType::Int4), int(1)]),
            }]),
        },
        PlStatementKind::If {
            operand: None,
            branches: vec![(is(4), lines(vec![PlStatementKind::Return { value: Some(int(-1)) }]))],
            otherwise: lines(vec![PlStatementKind::Return { value: Some(parameter(0, SqlType::Int4)) }]),
            word: "IF",
        },
    ]);
    let (world, table) =
        world(function(vec![variable("i", SqlType::Int4)], 0, PlReturn::Scalar(SqlType::Int4), body));
    assert_eq!(call_f(&world, vec![], SqlType::Int4).unwrap(), Value::Int4(3));
    assert_eq!(values(&world, &table), [10, 4]);
}

#[test]
fn handlers_undo_their_block() {
    let fail = call("/", vec![int(1), parameter(0, SqlType::Int4)]);
    let guarded = PlBlock {
        body: lines(vec![insert(int(2)), PlStatementKind::Assign { slot: 0, value: fail }, insert(int(3))]),
        handlers: vec![
            PlHandler {
                conditions: vec![PlCondition::SqlState("23505".into())],
                body: lines(vec![insert(int(98))]),
            },
            PlHandler {
                conditions: vec![PlCondition::SqlState("22000".into())],
                body: lines(vec![insert(int(4))]),
            },
            PlHandler { conditions: vec![PlCondition::Others], body: lines(vec![insert(int(99))]) },
        ],
        error_slots: Some((1, 2)),
        ..PlBlock::default()
    };
    let said = call("||", vec![parameter(1, SqlType::Text), parameter(2, SqlType::Text)]);
    let body = block(vec![
        insert(int(1)),
        PlStatementKind::Block(guarded),
        PlStatementKind::Return { value: Some(said) },
    ]);
    let variables = vec![
        variable("x", SqlType::Int4),
        variable("sqlstate", SqlType::Text),
        variable("sqlerrm", SqlType::Text),
    ];
    let (world, table) = world(function(variables, 1, PlReturn::Scalar(SqlType::Text), body));
    assert_eq!(call_f(&world, vec![int(0)], SqlType::Text).unwrap(), Value::text("22012division by zero"));
    assert_eq!(values(&world, &table), [1, 4]);
}

#[test]
fn errors_name_the_line_and_undo_the_statement() {
    let fail = call("/", vec![int(1), int(0)]);
    let body = block(vec![
        insert(int(1)),
        PlStatementKind::If {
            operand: None,
            branches: vec![(
                literal(Value::Bool(true)),
                vec![PlStatement::new(7, PlStatementKind::Assign { slot: 0, value: fail })],
            )],
            otherwise: Vec::new(),
            word: "IF",
        },
    ]);
    let (world, table) =
        world(function(vec![variable("x", SqlType::Int4)], 0, PlReturn::Scalar(SqlType::Int4), body));
    assert_eq!(
        call_f(&world, vec![], SqlType::Int4).unwrap_err(),
        "22012 division by zero\nPL/pgSQL function f() line 7 at assignment"
    );
    assert!(values(&world, &table).is_empty());
}

#[test]
fn queries_fill_variables_and_loops() {
    let all = Plan::TableScan { table: target().into(), columns: vec![0], filter: None };
    let select = Box::new(Statement::Query(all));
    let into = |strict| PlStatementKind::Sql {
        statement: select.clone(),
        into: Some(PlInto {
            targets: PlTargets::Places(vec![place(0, SqlType::Int4)]),
            strict,
            params: Vec::new(),
        }),
        text: None,
        perform: false,
    };
    let body = block(vec![
        insert(int(5)),
        insert(int(6)),
        into(false),
        PlStatementKind::ForQuery {
            label: None,
            query: select.clone(),
            cursor: None,
            args: Vec::new(),
            targets: PlTargets::Places(vec![place(1, SqlType::Int8)]),
            // adds to the table it reads: the loop still ends
            body: lines(vec![insert(cast(
                call("+", vec![parameter(1, SqlType::Int8), literal(Value::Int8(10))]),
                SqlType::Int4,
                CastKind::Assignment,
            ))]),
        },
        PlStatementKind::GetDiagnostics { items: vec![(PlDiagnostic::RowCount, place(1, SqlType::Int8))] },
        PlStatementKind::If {
            operand: None,
            branches: vec![(parameter(2, SqlType::Bool), lines(vec![into(true)]))],
            otherwise: Vec::new(),
            word: "IF",
        },
    ]);
    let variables =
        vec![variable("a", SqlType::Int4), variable("b", SqlType::Int8), variable("found", SqlType::Bool)];
    let mut f = function(variables, 0, PlReturn::Scalar(SqlType::Int4), body);
    f.found = Some(2);
    let (world, table) = world(f);
    assert_eq!(
        call_f(&world, vec![], SqlType::Int4).unwrap_err(),
        "P0003 query returned more than one row\nPL/pgSQL function f() line 1 at SQL statement"
    );
    assert!(values(&world, &table).is_empty());
}

#[test]
fn messages_and_raised_errors() {
    let raise = |level, sqlstate: Option<&str>| PlStatementKind::Raise {
        level,
        format: Some("value % of %%".into()),
        args: vec![literal(Value::text("7"))],
        by_option: false,
        sqlstate: sqlstate.map(Into::into),
        errcode: None,
        detail: Some(literal(Value::text("why"))),
        hint: None,
        about: Vec::new(),
    };
    let body = block(vec![raise(RaiseLevel::Warning, None), raise(RaiseLevel::Exception, Some("22000"))]);
    let (world, _) = world(function(vec![], 0, PlReturn::Scalar(SqlType::Int4), body));
    assert_eq!(
        call_f(&world, vec![], SqlType::Int4).unwrap_err(),
        "22000 value 7 of %\nPL/pgSQL function f() line 2 at RAISE"
    );
    let notices = world.session.notices.borrow();
    assert_eq!((&*notices[0].sqlstate, &*notices[0].message), ("01000", "value 7 of %"));
    assert_eq!(notices[0].detail.as_deref(), Some("why"));
}

#[test]
fn variables_are_initialised_checked_and_cast() {
    let body = PlBlock {
        declarations: vec![PlDeclaration {
            slot: 0,
            default: PlDefault::Value(int(3)),
            line: 1,
            within: Vec::new(),
        }],
        body: lines(vec![PlStatementKind::Assign { slot: 0, value: TypedExpr::null(SqlType::Int4) }]),
        ..PlBlock::default()
    };
    let strict = PlVariable { name: "n".into(), ty: SqlType::Int4, not_null: true };
    let (world, _) = world(function(vec![strict], 0, PlReturn::Scalar(SqlType::Int4), body));
    assert_eq!(
        call_f(&world, vec![], SqlType::Int4).unwrap_err(),
        "22004 null value cannot be assigned to variable \"n\" declared NOT NULL\n\
         PL/pgSQL function f() line 1 at assignment"
    );
}

#[test]
fn recursion_has_slots_of_its_own_and_an_end() {
    let def = definition("f", FunctionReturn::Scalar(SqlType::Int4), false);
    let n = || parameter(0, SqlType::Int4);
    let inner = TypedExpr::new(
        ExprKind::UserCall { function: def, args: vec![call("-", vec![n(), int(1)])] },
        SqlType::Int4,
    );
    let body = block(vec![
        PlStatementKind::If {
            operand: None,
            branches: vec![(
                call("=", vec![n(), int(0)]),
                lines(vec![PlStatementKind::Return { value: Some(int(0)) }]),
            )],
            otherwise: Vec::new(),
            word: "IF",
        },
        PlStatementKind::Return { value: Some(call("+", vec![inner, n()])) },
    ]);
    let (world, _) =
        world(function(vec![variable("n", SqlType::Int4)], 1, PlReturn::Scalar(SqlType::Int4), body));
    assert_eq!(call_f(&world, vec![int(10)], SqlType::Int4).unwrap(), Value::Int4(55));
    let error = call_f(&world, vec![int(-1)], SqlType::Int4).unwrap_err();
    assert!(error.starts_with("54001 stack depth limit exceeded"), "{error}");
}

#[test]
fn a_function_must_return() {
    let (world, _) =
        world(function(vec![], 0, PlReturn::Scalar(SqlType::Int4), block(vec![PlStatementKind::Nothing])));
    assert_eq!(
        call_f(&world, vec![], SqlType::Int4).unwrap_err(),
        "2F005 control reached end of function without RETURN\nPL/pgSQL function f()"
    );
}
