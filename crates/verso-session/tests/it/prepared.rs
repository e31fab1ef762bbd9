//! Prepared statements and portals. Expected outcomes are PostgreSQL's.

use verso_session::{PortalEnd, SqlError, TransactionStatus};
use verso_types::{SqlType, Value};

use crate::{Client, Lines, World};

/// Types that PostgreSQL infers, or the error's code.
fn types(client: &mut Client, sql: &str) -> Result<Vec<String>, &'static str> {
    let prepared = client.session.prepare(sql, &[]).map_err(|error| error.sqlstate)?;
    Ok(prepared.params().iter().map(SqlType::pg_name).collect())
}

impl Client {
    fn prepared(&mut self, sql: &str, params: &[Value]) -> Result<Vec<String>, SqlError> {
        let prepared = self.session.prepare(sql, &[])?;
        let mut portal = self.session.bind(&prepared, params.to_vec())?;
        let mut sink = Lines::default();
        if let PortalEnd::Complete(tag) = self.session.run_portal(&mut portal, 0, false, &mut sink)? {
            sink.lines.push(tag.text);
        }
        self.session.sync()?;
        Ok(sink.lines)
    }
}

#[test]
fn the_first_use_of_a_parameter_says_its_type() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a bigint, b varchar(5), c numeric(10,2), d date)");
    for (sql, expected) in [
        ("SELECT * FROM t WHERE a = $1", &["bigint"][..]),
        ("INSERT INTO t VALUES ($1, $2, $3, $4)", &["bigint", "character varying", "numeric", "date"]),
        ("UPDATE t SET b = $2 WHERE a = $1 + 1", &["integer", "character varying"]),
        ("SELECT $1", &["text"]),
        ("SELECT $1::date, $2::varchar(3)", &["date", "character varying"]),
        ("SELECT $1 + 1.5, $2 || 'x'", &["numeric", "text"]),
        ("SELECT * FROM t WHERE a BETWEEN $1 AND $2 LIMIT $3", &["bigint", "bigint", "bigint"]),
        ("SELECT * FROM t WHERE a IN ($1, $2)", &["bigint", "bigint"]),
        ("SELECT coalesce($1, 5), CASE WHEN $2 THEN 1 END", &["integer", "boolean"]),
        ("SELECT $1 UNION SELECT 2", &["integer"]),
        ("SELECT 'a' UNION SELECT $1", &["text"]),
        ("SELECT $1, $2 UNION ALL SELECT a, d FROM t EXCEPT SELECT $3, $2", &["bigint", "date", "bigint"]),
        ("SELECT 1", &[]),
        ("", &[]),
    ] {
        assert_eq!(
            types(&mut client, sql).as_deref(),
            Ok(expected.to_vec().as_slice())
                .map(|names: &[&str]| names.iter().map(|n| n.to_string()).collect::<Vec<_>>())
                .as_deref(),
            "{sql}"
        );
    }
    assert_eq!(types(&mut client, "SELECT $2::int"), Err("42P18"));
    assert_eq!(types(&mut client, "SELECT $1 IS NULL, $1 + 1"), Err("42P08"));
    assert_eq!(types(&mut client, "SELECT $1::int, $1::date"), Err("42846"));
    assert_eq!(types(&mut client, "SELECT 1; SELECT 2"), Err("42601"));
    assert_eq!(types(&mut client, "SELEC"), Err("42601"));
    let declared = client.session.prepare("SELECT $1, $2", &[Some(SqlType::Int2)]).expect("one declared");
    assert_eq!(declared.params(), [SqlType::Int2, SqlType::Text]);
}

#[test]
fn what_takes_values_of_any_type_says_none_of_a_parameter() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a bigint, b text)");
    for sql in [
        "SELECT $1 IS NULL",
        "SELECT a FROM t WHERE $1 IS NOT NULL",
        "SELECT row($1, 1) IS NULL",
        "SELECT $1 IS NOT DISTINCT FROM NULL",
        "SELECT NULL IS DISTINCT FROM $1",
        "SELECT count(DISTINCT $1) FROM t",
        "SELECT count($1) OVER () FROM t",
        "SELECT concat($1, 'x')",
        "SELECT concat_ws(',', $1)",
        "SELECT format('%s', $1)",
        "SELECT json_build_object('a', $1)",
        "SELECT jsonb_build_array($1)",
        "SELECT num_nulls($1)",
    ] {
        assert_eq!(types(&mut client, sql), Err("42P18"), "{sql}");
    }
    for sql in [
        "SELECT $1 IS NULL AND $1::int = 1",
        "SELECT a FROM t WHERE $1 IS NULL OR a = $1",
        "UPDATE t SET a = CASE WHEN $1 IS NULL THEN a ELSE $1 END",
        "SELECT row($1, 1) IS NULL, $1::int",
        "SELECT concat($1), $1::int",
    ] {
        assert_eq!(types(&mut client, sql), Err("42P08"), "{sql}");
    }
    for sql in [
        "SELECT to_json($1)",
        "SELECT json_agg($1)",
        "SELECT jsonb_agg($1)",
        "SELECT array_length($1, 1)",
        "SELECT cardinality('{1}')",
        "SELECT to_jsonb('a')",
        "SELECT array_to_string('{1}', ',')",
    ] {
        assert_eq!(types(&mut client, sql), Err("42804"), "{sql}");
    }
    for (sql, expected) in [
        ("SELECT a = $1 AND $1 IS NULL FROM t", "bigint"),
        ("SELECT $1 IS TRUE", "boolean"),
        ("SELECT $1 IS DISTINCT FROM 1", "integer"),
        ("SELECT coalesce($1, $1), quote_literal($1)", "text"),
        ("SELECT coalesce($1::date, NULL) IS NULL, count($1)", "date"),
        ("SELECT json_object_agg('a', 'b'), nullif(NULL, $1)", "text"),
    ] {
        assert_eq!(types(&mut client, sql), Ok(vec![expected.to_string()]), "{sql}");
    }
}

#[test]
fn columns_are_known_before_execution() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a bigint, b text)");
    let columns = |client: &mut Client, sql: &str| -> Option<Vec<String>> {
        let prepared = client.session.prepare(sql, &[]).expect(sql);
        prepared.columns().map(|columns| {
            columns.iter().map(|column| format!("{} {}", column.name, column.ty.pg_name())).collect()
        })
    };
    let named = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect::<Vec<_>>());
    assert_eq!(columns(&mut client, "SELECT a, b AS c FROM t"), named(&["a bigint", "c text"]));
    assert_eq!(columns(&mut client, "INSERT INTO t VALUES (1)"), None);
    assert_eq!(columns(&mut client, "DELETE FROM t RETURNING b"), named(&["b text"]));
    assert_eq!(columns(&mut client, "SHOW timezone"), named(&["timezone text"]));
    assert_eq!(columns(&mut client, "BEGIN"), None);
}

#[test]
fn portals_hand_out_rows_in_portions() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2), (3), (4), (5)");
    let prepared = client.session.prepare("SELECT a FROM t WHERE a > $1", &[]).expect("prepares");
    let mut portal = client.session.bind(&prepared, vec![Value::Text("1".into())]).expect("binds");
    let mut portion = |client: &mut Client, rows| {
        let mut sink = Lines::default();
        let end = client.session.run_portal(&mut portal, rows, false, &mut sink).expect("runs");
        (sink.lines.join(" "), end)
    };
    assert_eq!(portion(&mut client, 1), ("2".to_string(), PortalEnd::Suspended));
    assert_eq!(portion(&mut client, 2), ("3 4".to_string(), PortalEnd::Suspended));
    let (rows, end) = portion(&mut client, 0);
    assert_eq!(rows, "5");
    assert!(matches!(end, PortalEnd::Complete(_)));
    client.session.sync().expect("commits");
    let mut portal = client.session.bind(&prepared, vec![Value::Int4(0)]).expect("binds");
    let mut sink = Lines::default();
    client.session.run_portal(&mut portal, 2, false, &mut sink).expect("runs");
    client.session.sync().expect("commits");
    let gone =
        client.session.run_portal(&mut portal, 2, false, &mut sink).expect_err("its transaction ended");
    assert_eq!(gone.sqlstate, "34000");
}

#[test]
fn portals_lock_and_compute_rows_as_they_are_asked_for() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run(
        "CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 10); CREATE SEQUENCE s",
    );
    let free =
        "SELECT string_agg(a::text, ' ') FROM (SELECT a FROM t ORDER BY a FOR UPDATE SKIP LOCKED) AS f";
    let prepared = one.session.prepare("SELECT a FROM t ORDER BY a FOR UPDATE", &[]).expect("prepares");
    one.run("BEGIN");
    let mut portal = one.session.bind(&prepared, Vec::new()).expect("binds");
    let mut portion = |client: &mut Client, rows| {
        let mut sink = Lines::default();
        let end = client.session.run_portal(&mut portal, rows, false, &mut sink).expect("runs");
        (sink.lines.join(" "), end)
    };
    assert_eq!(portion(&mut one, 2), ("1 2".to_string(), PortalEnd::Suspended));
    assert_eq!(two.value(free), "3 4 5 6 7 8 9 10");
    // Rows behind are read as they were, and looked up again where others have changed them since.
    two.run("UPDATE t SET a = a + 100 WHERE a = 4; DELETE FROM t WHERE a = 5");
    assert_eq!(portion(&mut one, 3), ("3 104 6".to_string(), PortalEnd::Suspended));
    assert_eq!(two.value(free), "7 8 9 10");
    let (rows, end) = portion(&mut one, 0);
    assert_eq!(rows, "7 8 9 10");
    assert!(matches!(end, PortalEnd::Complete(_)));
    one.run("COMMIT");
    let prepared = one.session.prepare("SELECT nextval('s') FROM t", &[]).expect("prepares");
    let mut portal = one.session.bind(&prepared, Vec::new()).expect("binds");
    let end = one.session.run_portal(&mut portal, 3, false, &mut Lines::default()).expect("runs");
    assert_eq!(end, PortalEnd::Suspended);
    one.session.sync().expect("commits");
    assert_eq!(one.value("SELECT last_value FROM s"), "3");
    // Changes run to their ends.
    let insert = "INSERT INTO t SELECT generate_series(1001, 1010) RETURNING a";
    let prepared = one.session.prepare(insert, &[]).expect("prepares");
    let mut portal = one.session.bind(&prepared, Vec::new()).expect("binds");
    let end = one.session.run_portal(&mut portal, 3, false, &mut Lines::default()).expect("runs");
    assert_eq!(end, PortalEnd::Suspended);
    one.session.sync().expect("commits");
    assert_eq!(one.value("SELECT count(*) FROM t WHERE a > 1000"), "10");
}

#[test]
fn a_series_up_to_sync_is_one_transaction() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE t (a int NOT NULL)");
    let insert = one.session.prepare("INSERT INTO t VALUES ($1)", &[]).expect("prepares");
    let run = |client: &mut Client, value: Value| {
        let mut portal = client.session.bind(&insert, vec![value])?;
        client.session.run_portal(&mut portal, 0, false, &mut Lines::default())
    };
    run(&mut one, Value::Int4(1)).expect("inserts");
    assert_eq!(two.value("SELECT count(*) FROM t"), "0");
    assert_eq!(one.session.status(), TransactionStatus::Idle);
    one.session.sync().expect("commits");
    assert_eq!(two.value("SELECT count(*) FROM t"), "1");
    // A failure undoes the series.
    run(&mut one, Value::Int4(2)).expect("inserts");
    assert_eq!(run(&mut one, Value::Null).expect_err("not null").sqlstate, "23502");
    one.session.sync().expect("nothing to commit");
    assert_eq!(two.value("SELECT count(*) FROM t"), "1");
    // BEGIN makes it a block.
    run(&mut one, Value::Int4(3)).expect("inserts");
    one.prepared("BEGIN", &[]).expect("begins");
    assert_eq!(one.session.status(), TransactionStatus::InTransaction);
    assert_eq!(run(&mut one, Value::Null).expect_err("not null").sqlstate, "23502");
    assert_eq!(one.session.status(), TransactionStatus::Failed);
    assert_eq!(one.session.prepare("SELECT 1", &[]).expect_err("failed").sqlstate, "25P02");
    assert_eq!(run(&mut one, Value::Int4(3)).expect_err("failed").sqlstate, "25P02");
    assert_eq!(one.prepared("COMMIT", &[]).expect("ends"), ["ROLLBACK"]);
    assert_eq!(one.value("SELECT count(*) FROM t"), "1");
}

#[test]
fn several_statements_of_a_text_are_one_transaction() {
    let world = World::new();
    let (mut one, mut two) = (world.connect(), world.connect());
    one.run("CREATE TABLE t (a int NOT NULL)");
    assert_eq!(one.fails("INSERT INTO t VALUES (1); INSERT INTO t VALUES (NULL)").0, "23502");
    assert_eq!(two.value("SELECT count(*) FROM t"), "0");
    let warning = "WARNING: there is no transaction in progress";
    let lines = one
        .run("INSERT INTO t VALUES (1); COMMIT; INSERT INTO t VALUES (2); ROLLBACK; SELECT count(*) FROM t");
    assert_eq!(lines, ["INSERT 0 1", warning, "COMMIT", "INSERT 0 1", warning, "ROLLBACK", "1", "SELECT 1"]);
    // So does PREPARE TRANSACTION, which prepares all the same.
    let lines = one.run("INSERT INTO t VALUES (9); PREPARE TRANSACTION 'series'");
    assert_eq!(lines, ["INSERT 0 1", warning, "PREPARE TRANSACTION"]);
    one.run("ROLLBACK PREPARED 'series'");
    let lines = one.run("PREPARE TRANSACTION 'first'; SELECT 1");
    assert_eq!(lines, [warning, "PREPARE TRANSACTION", "1", "SELECT 1"]);
    one.run("ROLLBACK PREPARED 'first'");
    // BEGIN takes what came before into its block.
    one.run("INSERT INTO t VALUES (3); BEGIN; INSERT INTO t VALUES (4)");
    assert_eq!(one.session.status(), TransactionStatus::InTransaction);
    assert_eq!(two.value("SELECT count(*) FROM t"), "1");
    one.run("ROLLBACK");
    assert_eq!(two.value("SELECT count(*) FROM t"), "1");
    assert_eq!(one.fails("SELECT 1; SAVEPOINT s").0, "25P01");
    assert_eq!(one.session.status(), TransactionStatus::Idle);
}

#[test]
fn parameters_are_checked_when_they_are_bound() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int)");
    assert_eq!(client.prepared("SELECT $1::int", &[]).expect_err("none").sqlstate, "08P01");
    assert_eq!(client.prepared("SELECT $1::int", &[Value::text("x")]).expect_err("text").sqlstate, "22P02");
    assert_eq!(client.prepared("SELECT $1::int", &[Value::Bool(true)]).expect_err("bool").sqlstate, "42804");
    assert_eq!(client.prepared("SELECT $1::int + 1", &[Value::Int8(4)]).expect("narrows"), ["5", "SELECT 1"]);
    assert_eq!(client.prepared("SELECT $1::int", &[Value::Null]).expect("null"), ["NULL", "SELECT 1"]);
    assert_eq!(
        client.prepared("INSERT INTO t VALUES ($1)", &[Value::text("7")]).expect("reads"),
        ["INSERT 0 1"]
    );
    assert_eq!(client.value("SELECT a FROM t"), "7");
}

#[test]
fn a_portal_in_portions_sees_the_catalog_of_now_behind_a_function_that_defined_something() {
    let world = World::new();
    let (mut client, mut other) = (world.connect(), world.connect());
    client.run(
        "CREATE FUNCTION make() RETURNS void LANGUAGE plpgsql AS $$ BEGIN CREATE TABLE own (a int); END $$",
    );
    client.run("SELECT make()");
    other.run("CREATE TABLE later (a int)");
    let sql = "SELECT relname FROM pg_class WHERE relname IN ('own', 'later') ORDER BY relname";
    let prepared = client.session.prepare(sql, &[]).expect("prepares");
    let mut portal = client.session.bind(&prepared, Vec::new()).expect("binds");
    let mut sink = Lines::default();
    client.session.run_portal(&mut portal, 5, false, &mut sink).expect("runs");
    assert_eq!(sink.lines, ["later", "own"]);
    client.session.sync().expect("commits");
}

#[test]
fn statements_around_a_query_take_its_parameters() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a bigint); INSERT INTO t VALUES (1), (2), (3)");
    for sql in [
        "CREATE TABLE u AS SELECT a, $2 AS b FROM t WHERE a >= $1",
        "SELECT a, $2 AS b INTO v FROM t WHERE a >= $1",
        "EXPLAIN SELECT a, $2 FROM t WHERE a >= $1",
        "EXPLAIN (ANALYZE) INSERT INTO t SELECT $1 WHERE $2 = 'x'",
        "DECLARE c CURSOR FOR SELECT a, $2 FROM t WHERE a >= $1",
    ] {
        assert_eq!(
            types(&mut client, sql).as_deref(),
            Ok(&["bigint".to_string(), "text".to_string()][..]),
            "{sql}"
        );
    }
    let values = [Value::Int8(2), Value::text("two")];
    let mut run = |sql: &str| client.prepared(sql, &values).expect(sql);
    assert_eq!(run("CREATE TABLE u AS SELECT a, $2 AS b FROM t WHERE a >= $1"), ["SELECT 2"]);
    assert_eq!(run("SELECT a, $2 AS b INTO v FROM t WHERE a >= $1"), ["SELECT 2"]);
    let plan = run("EXPLAIN (COSTS OFF) SELECT $2 FROM t WHERE a >= $1").join(" ");
    assert!(plan.contains(">="), "{plan}");
    client.run("BEGIN");
    client.prepared("DECLARE c CURSOR FOR SELECT a || $2 FROM t WHERE a >= $1", &values).expect("DECLARE");
    assert_eq!(client.value("FETCH c"), "2two");
    client.run("ROLLBACK");
    assert_eq!(
        client.value("SELECT string_agg(a || b, ',') FROM (SELECT * FROM u UNION SELECT * FROM v) w"),
        "2two,3two"
    );
    assert_eq!(types(&mut client, "CREATE TABLE w AS SELECT $1 FROM nowhere"), Err("42P01"));
    assert_eq!(types(&mut client, "CREATE TABLE w AS SELECT $2::int"), Err("42P18"));
}

/// A first statement by the extended protocol is in no block, whatever follows it up to the Sync.
#[test]
fn what_wants_a_block_is_refused_outside_of_one() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int)");
    for sql in ["DECLARE c CURSOR FOR SELECT 1", "LOCK TABLE t"] {
        assert_eq!(client.prepared(sql, &[]).expect_err(sql).sqlstate, "25P01", "{sql}");
        client.session.sync().expect("a Sync");
    }
    let told = client.prepared("SET CONSTRAINTS ALL DEFERRED", &[]).expect("SET CONSTRAINTS");
    assert!(told[0].ends_with("SET CONSTRAINTS can only be used in transaction blocks"), "{told:?}");
    client.prepared("DECLARE h CURSOR WITH HOLD FOR SELECT 1", &[]).expect("DECLARE");
    client.run("CLOSE h; BEGIN");
    client.prepared("DECLARE c CURSOR FOR SELECT 1", &[]).expect("DECLARE");
    client.prepared("LOCK TABLE t", &[]).expect("LOCK TABLE");
    assert_eq!(client.prepared("SET CONSTRAINTS ALL DEFERRED", &[]).expect("SET CONSTRAINTS").len(), 1);
    client.run("ROLLBACK");
}

#[test]
fn values_as_the_binary_protocol_carries_them() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TYPE whole AS RANGE (subtype = int4)");
    // Elements that are texts, of arrays of types that texts are read as.
    let texts = Value::Array(vec![Value::text("{\"a\":1}"), Value::Null].into());
    let lines = client.prepared("SELECT $1::json[]", &[texts]).unwrap();
    assert_eq!(lines[0], "{\"{\\\"a\\\":1}\",NULL}");
    let broken = Value::Array(vec![Value::text("{")].into());
    assert_eq!(client.prepared("SELECT $1::json[]", &[broken]).unwrap_err().sqlstate, "22P02");
    // Numbers of transactions and objects.
    for (ty, number) in [
        ("xid", Value::Int8(77)),
        ("xid8", Value::Xid8(77)),
        ("oid", Value::Int8(77)),
        ("regclass", Value::Int8(77)),
    ] {
        assert_eq!(client.prepared(&format!("SELECT $1::{ty}"), &[number]).unwrap()[0], "77", "{ty}");
    }
    assert_eq!(client.prepared("SELECT $1::xid", &[Value::Int8(-1)]).unwrap_err().sqlstate, "42804");
    // A range type of users.
    assert_eq!(types(&mut client, "SELECT $1::whole"), Ok(vec!["whole".to_string()]));
    assert_eq!(client.prepared("SELECT $1::whole", &[Value::text("[1,3)")]).unwrap()[0], "[1,3)");
    let ty = client.session.prepare("SELECT $1::whole", &[]).unwrap().params()[0].clone();
    let range = verso_types::parse_text(&ty, "[1,3)", &verso_types::TimeStyle::UTC).unwrap();
    let range = [range];
    assert_eq!(client.prepared("SELECT $1::whole", &range).unwrap()[0], "[1,3)");
    assert_eq!(client.prepared("SELECT $1::int4range", &range).unwrap_err().sqlstate, "42846");
}
