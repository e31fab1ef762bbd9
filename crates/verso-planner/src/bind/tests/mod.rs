//! What PostgreSQL 15 answers, as literal expectations, against a hand-made catalog.

mod expected;

use super::*;
use expected::{ERRORS, TYPES};
use verso_catalog::{ColumnDef, FunctionArg, FunctionDef, FunctionReturn, Oid, TableDef};
use verso_exec::plan::{ExprKind, PlStatementKind, Plan};
use verso_parser::{parse_body, parse_script};
use verso_storage::page::ObjectId;
use verso_types::{NumericSpec, Value};

fn catalog() -> Arc<CatalogSnapshot> {
    let columns = [
        ("id", SqlType::Numeric(NumericSpec::new(18, 2))),
        ("name", SqlType::Varchar(Some(120))),
        ("cnt", SqlType::Int4),
        ("qrt", SqlType::Float8),
        ("ts", SqlType::Timestamp(None)),
        ("notes", SqlType::Bytea),
        ("flag", SqlType::Bool),
        ("d", SqlType::Date),
        ("tz", SqlType::Timestamptz(None)),
        ("iv", SqlType::Interval(None)),
        ("c", SqlType::Char(Some(5))),
        ("u", SqlType::Uuid),
        ("i2", SqlType::Int2),
        ("i8", SqlType::Int8),
        ("r", SqlType::Float4),
        ("txt", SqlType::Text),
    ];
    let mut builder = CatalogSnapshot::builder(1);
    let column = |(n, (name, ty)): (usize, &(&str, SqlType))| ColumnDef {
        default: (*name == "cnt").then(|| "1 + 1".into()),
        ..ColumnDef::new(*name, n as u16 + 1, ty.clone())
    };
    let table = |oid, schema: &str, name: &str| {
        TableDef::new(Oid(oid), schema, name, ObjectId(oid), columns.iter().enumerate().map(column).collect())
    };
    builder.add_table(table(16_400, "public", "t"));
    builder.add_table(table(16_401, "public", "other"));
    builder.add_table(table(1_259, "pg_catalog", "pg_class"));
    builder.add_function(FunctionDef {
        args: vec![FunctionArg::new("how_many", SqlType::Int4)],
        returns: FunctionReturn::Table(vec![("records".into(), SqlType::Int8)]),
        body: BODY.into(),
        ..FunctionDef::new(Oid(16_500), "public", "insertrecs")
    });
    builder.build()
}

const BODY: &str = "
DECLARE
    n BIGINT;
BEGIN
    FOR i IN 1..how_many LOOP
        n := nextval('test_id');
        INSERT INTO t (id, name, cnt, qrt, ts, notes)
        VALUES (n, 'name ' || n, i, n * 0.5, CURRENT_TIMESTAMP, ('notes of record ' || n)::bytea);
    END LOOP;
    RETURN QUERY SELECT count(*) FROM t;
END
";

fn bind(text: &str) -> Result<Statement, SqlError> {
    let parsed = parse_script(text)?;
    let catalog = catalog();
    Binder::new(&catalog, &TimeStyle::UTC, &[]).statement(&parsed[0].statement)
}

fn plan(text: &str) -> Plan {
    match bind(text) {
        Ok(Statement::Query(plan)) => plan,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn names_and_types_are_postgresql_s() {
    let mut wrong = Vec::new();
    for (expr, name, ty) in TYPES {
        match bind(&format!("SELECT {expr} FROM t")) {
            Ok(statement) => {
                let column = statement.output().remove(0);
                let found = (column.name.to_string(), column.ty.pg_name());
                if found != (name.to_string(), ty.to_string()) {
                    wrong.push(format!("{expr}: {found:?} instead of {:?}", (name, ty)));
                }
            }
            Err(error) => wrong.push(format!("{expr}: {error:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn errors_are_postgresql_s() {
    let mut wrong = Vec::new();
    for (statement, code, message, position, hint) in ERRORS {
        match bind(statement) {
            Ok(found) => wrong.push(format!("{statement}: bound as {found:?}")),
            Err(error) => {
                let found = (
                    error.sqlstate,
                    error.message.as_str(),
                    error.position.unwrap_or(0),
                    error.hint.as_deref().unwrap_or(""),
                );
                if found != (*code, *message, *position, *hint) {
                    wrong.push(format!(
                        "{statement}:\n   {found:?}\n   {:?}",
                        (code, message, position, hint)
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_scan_reads_what_is_used_and_nothing_else() {
    let Plan::Project { input, exprs, .. } = plan("SELECT qrt + 1 FROM t WHERE cnt > 3") else { panic!() };
    let Plan::TableScan { columns, filter: Some(_), .. } = *input else { panic!() };
    assert_eq!(columns, [2, 3]);
    assert!(exprs[0].any(&mut |part| matches!(part.kind, ExprKind::Column(1))));
    let Plan::Aggregate { input, .. } = plan("SELECT count(*) FROM t") else { panic!() };
    let Plan::TableScan { columns, .. } = *input else { panic!() };
    assert!(columns.is_empty());
    let Plan::TableScan { columns, .. } = plan("SELECT * FROM t") else { panic!("no projection is needed") };
    assert_eq!(columns.len(), 16);
}

#[test]
fn the_experiment_s_update_casts_constants_once() {
    let Ok(Statement::Update(update)) =
        bind("UPDATE t SET id = id + 1, qrt = qrt + 1, name = name || '1', ts = CURRENT_TIMESTAMP")
    else {
        panic!()
    };
    assert_eq!(update.columns, [0, 1, 3]);
    for (_, value) in &update.assignments {
        let casts_a_constant = value.any(&mut |part| match &part.kind {
            ExprKind::Cast { arg, .. } => matches!(arg.kind, ExprKind::Literal(_)),
            _ => false,
        });
        assert!(!casts_a_constant, "{value:?}");
    }
    let types: Vec<String> = update.assignments.iter().map(|(_, value)| value.ty.pg_name()).collect();
    assert_eq!(
        types,
        ["numeric(18,2)", "double precision", "character varying(120)", "timestamp without time zone"]
    );
}

#[test]
fn inserts_fill_every_column_and_know_when_they_read_themselves() {
    let Ok(Statement::Insert(insert)) = bind("INSERT INTO t (name, cnt) VALUES ('a', DEFAULT), (1, 2)")
    else {
        panic!()
    };
    assert_eq!(insert.values.len(), 16);
    assert!(matches!(insert.values[1].kind, ExprKind::Column(0)));
    assert!(matches!(insert.values[2].kind, ExprKind::Column(1)));
    assert!(matches!(insert.values[0].kind, ExprKind::Literal(Value::Null)));
    assert!(!insert.spool);
    let Ok(Statement::Insert(insert)) = bind("INSERT INTO t DEFAULT VALUES RETURNING cnt, id AS x") else {
        panic!()
    };
    assert!(matches!(insert.values[2].kind, ExprKind::Call { .. }));
    assert_eq!(insert.returning.expect("returning").names[1].as_ref(), "x");
    for (text, spool) in [
        ("INSERT INTO t SELECT * FROM t", true),
        ("INSERT INTO t SELECT * FROM other", false),
        ("INSERT INTO t (cnt) SELECT i FROM generate_series(1, 3) AS g(i)", false),
        ("INSERT INTO t (i8) SELECT * FROM insertrecs(3)", true),
    ] {
        let Ok(Statement::Insert(insert)) = bind(text) else { panic!("{text}") };
        assert_eq!(insert.spool, spool, "{text}");
    }
    // Untyped literals of a query become the column's type, as in PostgreSQL.
    bind("INSERT INTO t (ts, d) SELECT '2020-01-01', '2020-01-02' FROM other").expect("dates");
}

#[test]
fn returning_sees_the_new_values() {
    let Ok(Statement::Update(update)) =
        bind("UPDATE t SET cnt = cnt + 1 WHERE i2 = 1 RETURNING name, cnt, i8")
    else {
        panic!()
    };
    assert_eq!(update.columns, [1, 2, 12, 13]);
    let columns: Vec<usize> = update
        .returning
        .expect("returning")
        .exprs
        .iter()
        .map(|expr| match expr.kind {
            ExprKind::Column(column) => column,
            _ => panic!(),
        })
        .collect();
    assert_eq!(columns, [0, 4, 3]);
}

#[test]
fn system_tables_are_read_not_written() {
    bind("SELECT * FROM pg_class").expect("readable");
    bind("SELECT oit, next_xid FROM verso_database").expect("readable");
    bind("SELECT * FROM verso_tip(1, 100)").expect("a function");
    for text in
        ["DELETE FROM pg_class", "INSERT INTO verso_database VALUES (1)", "UPDATE pg_class SET cnt = 1"]
    {
        assert_eq!(bind(text).expect_err("refused").sqlstate, "42501", "{text}");
    }
}

#[test]
fn the_experiment_s_function_binds() {
    let catalog = catalog();
    let function = catalog.functions(None, "insertrecs")[0].clone();
    let block = parse_body(&function.body).expect("parses");
    let bound = bind_function(&function, &block, &catalog, &TimeStyle::UTC).expect("binds");
    assert_eq!(bound.signature.as_ref(), "insertrecs(integer)");
    let names: Vec<&str> = bound.variables.iter().map(|variable| &*variable.name).collect();
    assert_eq!(names, ["how_many", "records", "found", "n", "i"]);
    let PlStatementKind::ForRange { slot: 4, body, .. } = &bound.body.body[0].kind else { panic!() };
    assert_eq!((body.len(), body[0].line), (2, 6));
    let PlStatementKind::Sql { statement, into: None, .. } = &body[1].kind else { panic!() };
    assert!(matches!(**statement, Statement::Insert(_)));
}

#[test]
fn bodies_are_checked() {
    let catalog = catalog();
    for (body, code, message) in [
        ("BEGIN x := 1; END", "42601", "\"x\" is not a known variable"),
        ("DECLARE x CONSTANT int := 1; BEGIN x := 2; END", "22005", "variable \"x\" is declared CONSTANT"),
        ("BEGIN EXIT; END", "42601", "EXIT cannot be used outside a loop, unless it has a label"),
        ("BEGIN RETURN 1; END", "42804", "RETURN cannot have a parameter in function returning void"),
        ("BEGIN RETURN QUERY SELECT 1; END", "42804", "cannot use RETURN QUERY in a non-SETOF function"),
        ("DECLARE a int; a int; BEGIN END", "42601", "duplicate declaration at or near \"a\""),
    ] {
        let block = parse_body(body).unwrap_or_else(|error| panic!("{body}: {error}"));
        let error = bind_block(&block, &catalog, &TimeStyle::UTC).expect_err(body);
        assert_eq!((error.sqlstate, error.message.as_str()), (code, message), "{body}");
        let line = "compilation of PL/pgSQL function \"inline_code_block\" near line 1";
        assert_eq!(error.context.as_deref(), Some(line), "{body}");
        assert!(error.position.is_some(), "{body}");
    }
    // What PostgreSQL says when they are reached.
    for (body, code, message) in [
        ("DECLARE cnt int; BEGIN PERFORM cnt FROM t; END", "42702", "column reference \"cnt\" is ambiguous"),
        ("BEGIN RAISE; END", "0Z002", "RAISE without parameters cannot be used outside an exception handler"),
        ("BEGIN PERFORM nosuch(1); END", "42883", "function nosuch(integer) does not exist"),
        ("DECLARE r record; BEGIN PERFORM r.a; END", "55000", "record \"r\" is not assigned yet"),
    ] {
        let block = parse_body(body).unwrap_or_else(|error| panic!("{body}: {error}"));
        let bound = bind_block(&block, &catalog, &TimeStyle::UTC).expect(body);
        let PlStatementKind::Later(later) = &bound.body.body[0].kind else { panic!("{body}: not put off") };
        let error = SqlError::from(later.unbound.bind(&[None], &catalog, &TimeStyle::UTC).expect_err(body));
        assert_eq!((error.sqlstate, error.message.as_str()), (code, message), "{body}");
    }
    let good = "<<outer>> DECLARE a int := 1; b text; BEGIN
        FOR i IN REVERSE 3..1 LOOP
            SELECT count(*), max(name) INTO a, b FROM t WHERE t.cnt = outer.a + i;
            EXIT outer WHEN NOT FOUND;
            CASE a WHEN 1, 2 THEN RAISE NOTICE 'a % %', a, b; ELSE NULL; END CASE;
        END LOOP;
        WHILE a < 10 LOOP a := a + 1.5; END LOOP;
    EXCEPTION WHEN division_by_zero OR SQLSTATE '22003' THEN RAISE; WHEN OTHERS THEN RAISE WARNING '%', SQLERRM; END";
    let block = parse_body(good).expect("parses");
    bind_block(&block, &catalog, &TimeStyle::UTC).expect("binds");
}
