//! Settings, system views, DO, EXPLAIN, parameters, errors with their place.

use std::sync::Arc;

use verso_env::Env;
use verso_session::{Instance, Member, Session};
use verso_storage::{Engine, EngineOptions};
use verso_types::Value;

use crate::{Client, World};

#[test]
fn settings_are_shown_set_and_reset() {
    let world = World::new();
    let mut client = world.connect();
    client.run("SET TIME ZONE 'Europe/Berlin'");
    assert_eq!(client.value("SHOW timezone"), "Europe/Berlin");
    assert_eq!(client.value("SELECT current_setting('timezone')"), "Europe/Berlin");
    client.run("RESET timezone");
    assert_eq!(client.value("SHOW TIME ZONE"), "UTC");
    client.run("BEGIN; SET LOCAL executor = row");
    assert_eq!(client.value("SHOW executor"), "row");
    client.run("COMMIT");
    assert_eq!(client.value("SHOW executor"), "auto");
    assert_eq!(client.fails("SHOW nosuch").0, "42704");
    client.run("SET datestyle = 'ISO, MDY'; SET datestyle TO iso");
    assert_eq!(client.fails("SET datestyle = 'ISO, foo'").0, "22023");
    client.run("ALTER DATABASE SET sweep_interval = 20000");
    assert_eq!(client.value("SHOW sweep_interval"), "20000");
    assert_eq!(client.fails("ALTER DATABASE SET nosuch = 1").0, "42704");
    assert!(client.run("SHOW ALL").len() > 10);
}

#[test]
fn settings_are_set_by_a_function() {
    let world = World::new();
    let mut client = world.connect();
    assert_eq!(client.value("SELECT set_config('lock_timeout', '3s', false)"), "3s");
    assert_eq!(client.value("SHOW lock_timeout"), "3s");
    // Of this transaction only; outside of a block that is the statement.
    client.run("SELECT set_config('lock_timeout', '4s', true)");
    assert_eq!(client.value("SHOW lock_timeout"), "3s");
    client.run("BEGIN; SELECT set_config('lock_timeout', '4s', true)");
    assert_eq!(client.value("SELECT current_setting('lock_timeout')"), "4s");
    client.run("COMMIT");
    assert_eq!(client.value("SHOW lock_timeout"), "3s");
    client.run("BEGIN; SELECT set_config('lock_timeout', '5s', false); ROLLBACK");
    assert_eq!(client.value("SHOW lock_timeout"), "3s");
    client.run("SELECT set_config('lock_timeout', NULL, false)");
    assert_eq!(client.value("SHOW lock_timeout"), "0");
    assert_eq!(client.fails("SELECT set_config('lock_timeout', 'soon', false)").0, "22023");
    assert_eq!(client.fails("SELECT set_config('nosuch', '1', false)").0, "42704");
    assert_eq!(client.fails("SELECT set_config(NULL, '1', false)").0, "22004");
    // What fails later leaves nothing behind.
    assert_eq!(client.fails("SELECT set_config('lock_timeout', '9s', false), 1 / (SELECT 0)").0, "22012");
    client.run("SELECT 1");
    assert_eq!(client.value("SHOW lock_timeout"), "0");
    // Names with a period are the client's own.
    client.run("SELECT set_config('app.user', 'ann', false); SET app.other = 'bob'");
    assert_eq!(client.value("SELECT current_setting('app.user') || current_setting('app.other')"), "annbob");
    assert_eq!(client.run("SELECT current_setting('app.none', true) IS NULL")[0], "t");
    assert_eq!(client.fails("SELECT current_setting('app.none')").0, "42704");
}

#[test]
fn a_reset_brings_back_what_the_session_began_with() {
    let world = World::new();
    let mut client = world.connect();
    client.session.set_default("lock_timeout", "7s").expect("known");
    client.run("SET lock_timeout = '1s'; RESET lock_timeout");
    assert_eq!(client.value("SHOW lock_timeout"), "7s");
    client.run("SET lock_timeout = '1s'; SET lock_timeout TO DEFAULT");
    assert_eq!(client.value("SHOW lock_timeout"), "7s");
}

#[test]
fn discard_all_gives_back_locks_and_forgets_sequences() {
    let world = World::new();
    let (mut client, mut other) = (world.connect(), world.connect());
    client.run("CREATE SEQUENCE s; SELECT nextval('s'); SELECT pg_advisory_lock(7)");
    assert_eq!(other.value("SELECT pg_try_advisory_lock(7)"), "f");
    client.run("DISCARD ALL");
    assert_eq!(other.value("SELECT pg_try_advisory_lock(7)"), "t");
    assert_eq!(client.fails("SELECT lastval()").0, "55000");
    assert_eq!(client.fails("SELECT currval('s')").0, "55000");
}

#[test]
fn arrays_are_parameters_whatever_is_in_them() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int[]); PREPARE put (int[]) AS INSERT INTO t VALUES ($1)");
    client.run("EXECUTE put('{}'); EXECUTE put('{NULL}'); EXECUTE put('{1,NULL}')");
    assert_eq!(client.run("SELECT a FROM t"), ["{}", "{NULL}", "{1,NULL}", "SELECT 3"]);
    let prepared = client.session.prepare("SELECT $1::int[]", &[]).expect("known types");
    for (given, shown) in
        [(&[][..], "{}"), (&[Value::Null], "{NULL}"), (&[Value::Int4(1), Value::Null], "{1,NULL}")]
    {
        let portal = client.session.bind(&prepared, vec![Value::Array(given.into())]);
        assert!(portal.is_ok(), "{shown}: {:?}", portal.err());
    }
}

#[test]
fn an_array_to_be_looked_through_has_the_type_of_what_is_looked_for() {
    let world = World::new();
    let client = &mut world.connect().session;
    let array = verso_types::SqlType::Array(Box::new(verso_types::SqlType::Int4));
    let prepared = client.prepare("SELECT 1 = ANY ($1), 1 <> ALL ($2)", &[]).expect("known types");
    assert_eq!(prepared.params(), [array.clone(), array]);
}

#[test]
fn what_a_session_has_prepared_and_opened_is_shown() {
    let world = World::new();
    let mut client = world.connect();
    client.run("PREPARE add_one (int) AS SELECT $1 + 1");
    assert_eq!(
        client.run("SELECT name, parameter_types, result_types, from_sql FROM pg_prepared_statements"),
        ["add_one|{integer}|{integer}|t", "SELECT 1"]
    );
    // Of a statement that reads no large table there is one plan from the beginning.
    let runs = "SELECT generic_plans, custom_plans FROM pg_prepared_statements";
    assert_eq!(client.value(runs), "0|0");
    client.run("EXECUTE add_one (1); EXECUTE add_one (2); EXECUTE add_one (3)");
    assert_eq!(client.value(runs), "3|0");
    client.run("SET plan_cache_mode = force_custom_plan; EXECUTE add_one (4); RESET plan_cache_mode");
    assert_eq!(client.value(runs), "3|1");
    client.run("BEGIN; DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT 1; DECLARE d CURSOR FOR SELECT 2");
    assert_eq!(
        client.run("SELECT name, is_holdable, is_scrollable FROM pg_cursors ORDER BY name"),
        ["c|t|t", "d|f|f", "SELECT 2"]
    );
    client.run("COMMIT");
    assert_eq!(client.value("SELECT name FROM pg_cursors"), "c");
}

#[test]
fn a_transaction_has_one_id() {
    let world = World::new();
    let mut client = world.connect();
    assert_eq!(client.value("SELECT txid_current_if_assigned() IS NULL"), "t");
    client.run("BEGIN");
    let id = client.value("SELECT txid_current()");
    assert_eq!(client.value("SELECT pg_current_xact_id_if_assigned()"), id);
    client.run("COMMIT");
    assert_ne!(client.value("SELECT pg_current_xact_id()"), id);
}

#[test]
fn system_views_answer() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int)");
    assert_eq!(client.run("SELECT count(*) FROM verso_database").len(), 2);
    let sessions = client.run("SELECT state, statement FROM verso_sessions");
    assert_eq!(sessions[0], "active|SELECT state, statement FROM verso_sessions");
    assert_eq!(client.value("SELECT table_name FROM verso_table_space WHERE schema_name = 'public'"), "t");
    assert_eq!(client.value("SELECT setting FROM verso_settings WHERE name = 'executor'"), "auto");
    client.run(
        "SELECT * FROM verso_tip(1, 10); SELECT * FROM verso_transactions; SELECT * FROM verso_page_writes",
    );
    assert_eq!(client.value("SELECT relname FROM pg_class WHERE relname = 't'"), "t");
    assert_eq!(client.run("SWEEP (VERBOSE)").last().map(String::as_str), Some("SWEEP"));
    let workers = client.value("SHOW parallel_workers");
    assert_eq!(client.value("SELECT workers FROM verso_sweep_history"), workers);
    assert_eq!(client.run("CHECKPOINT"), ["CHECKPOINT"]);
    client.run("BEGIN");
    assert_eq!(client.fails("SWEEP").0, "25001");
}

#[test]
fn blocks_run_and_say_where_they_fail() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int)");
    assert_eq!(
        client.run("DO $$ BEGIN FOR i IN 1..3 LOOP INSERT INTO t VALUES (i); END LOOP; RAISE NOTICE 'done %', 3; END $$"),
        ["NOTICE: done 3", "DO"]
    );
    assert_eq!(client.value("SELECT sum(a) FROM t"), "6");
    let error = client.try_run("DO $$ BEGIN\n  PERFORM 1 / 0;\nEND $$").expect_err("fails");
    assert_eq!(error.sqlstate, "22012");
    assert!(error.context.expect("context").contains("inline_code_block line 2"));
    let error = client
        .try_run("DO $$ BEGIN RAISE EXCEPTION 'no %', 'way' USING ERRCODE = 'AB123', HINT = 'go'; END $$")
        .expect_err("fails");
    assert_eq!(
        (error.sqlstate, error.message.as_str(), error.hint.as_deref()),
        ("AB123", "no way", Some("go"))
    );
    client.run("CREATE FUNCTION f(a int, b int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN a + b; END'");
    assert_eq!(client.value("SELECT f(1, 2) + 1"), "4");
    assert_eq!(client.run("DROP FUNCTION f(int, int)"), ["DROP FUNCTION"]);
    assert_eq!(client.fails("SELECT f(1, 2)").0, "42883");
}

#[test]
fn what_does_not_exist_is_skipped_when_asked() {
    let world = World::new();
    let mut client = world.connect();
    assert_eq!(
        client.run("DROP TABLE IF EXISTS nosuch"),
        ["NOTICE: table \"nosuch\" does not exist, skipping", "DROP TABLE"]
    );
    assert_eq!(client.fails("DROP TABLE nosuch"), ("42P01", "table \"nosuch\" does not exist".to_string()));
    client.run("CREATE TABLE t (a int)");
    assert_eq!(
        client.fails("CREATE TABLE t (a int)"),
        ("42P07", "relation \"t\" already exists".to_string())
    );
    assert_eq!(
        client.run("CREATE TABLE IF NOT EXISTS t (a int)"),
        ["NOTICE: relation \"t\" already exists, skipping", "CREATE TABLE"]
    );
    assert_eq!(client.fails("CREATE TABLE u (a int, a int)").0, "42701");
}

#[test]
fn plans_are_shown() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, 'y')");
    assert_eq!(
        client.run(
            "EXPLAIN (COSTS off) SELECT b, count(*) FROM t WHERE a > 1 GROUP BY b ORDER BY 2 DESC LIMIT 3"
        ),
        [
            "Limit",
            "  ->  Sort",
            "        Sort Key: (count(*)) DESC",
            "        ->  HashAggregate",
            "              Group Key: b",
            "              ->  Seq Scan on t",
            "                    Filter: (a > 1)",
            "EXPLAIN"
        ]
    );
    let lines = client
        .run("EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off, BUFFERS off) UPDATE t SET a = a + 1");
    assert_eq!(lines[..2], ["Update on t (actual rows=0.00 loops=1)", "  ->  Seq Scan on t"]);
    assert_eq!(client.value("SELECT sum(a) FROM t"), "5");
}

#[test]
fn each_option_of_explain_shows_what_it_says() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE TABLE t (a int, b text); INSERT INTO t SELECT g, 'x' || g FROM generate_series(1, 9000) g",
    );
    let text = |client: &mut Client, options: &str, query: &str| {
        client.run(&format!("EXPLAIN ({options}) {query}")).join("\n")
    };
    let usual = text(&mut client, "FORMAT text", "SELECT a FROM t");
    assert!(usual.starts_with("Seq Scan on t  (cost=0.00..") && usual.contains(" rows="), "{usual}");
    assert!(!usual.contains("Time"), "{usual}");
    let verbose = text(&mut client, "VERBOSE, COSTS off", "SELECT a + 1 FROM t");
    assert_eq!(verbose, "Seq Scan on public.t\n  Output: (t.a + 1)\nEXPLAIN");
    assert!(text(&mut client, "SUMMARY", "SELECT a FROM t").contains("Planning Time: "));
    // What the statement has done.
    let run = text(&mut client, "ANALYZE", "SELECT a FROM t WHERE a < 10");
    for part in ["(actual time=", "rows=9.00 loops=1)", "Buffers: shared hit=", "Execution Time: "] {
        assert!(run.contains(part), "{part}: {run}");
    }
    let log = text(&mut client, "ANALYZE, WAL", "UPDATE t SET a = a + 1");
    assert!(log.contains("WAL: records="), "{log}");
    assert!(!text(&mut client, "ANALYZE, WAL", "SELECT a FROM t").contains("WAL"));
    // Memory of the operator that holds it, not of those around it.
    client.run("SET work_mem = '256kB'");
    let planned = text(&mut client, "MEMORY, COSTS off", "SELECT a FROM t ORDER BY b");
    assert!(planned.contains("Planning:"), "{planned}");
    assert!(planned.contains("  Memory: used=") && planned.contains("kB  allocated="), "{planned}");
    let sort = text(&mut client, "ANALYZE, MEMORY, SETTINGS", "SELECT a FROM t ORDER BY b");
    let lines: Vec<&str> = sort.lines().collect();
    assert!(lines[0].starts_with("Sort "), "{sort}");
    assert!(lines[2].contains("Sort Method: external merge  Disk: "), "{sort}");
    assert!(lines[3].contains("Memory Usage: ") && lines[3].contains("Disk Usage: "), "{sort}");
    assert_eq!(sort.matches("Disk Usage").count(), 1, "{sort}");
    assert!(sort.contains("Settings: work_mem = '256kB'"), "{sort}");
    // The same as JSON.
    let json = client.run(
        "EXPLAIN (ANALYZE, FORMAT JSON, MEMORY) SELECT b, count(*) FROM t GROUP BY b HAVING count(*) > 1",
    );
    let document = json[0].clone();
    assert_eq!(json.len(), 2);
    let part = |client: &mut Client, path: &str| {
        client.value(&format!("SELECT '{}'::jsonb #>> '{path}'", document.replace('\'', "''")))
    };
    for (path, value) in [
        ("{0,Plan,Node Type}", "Aggregate"),
        ("{0,Plan,Strategy}", "Hashed"),
        ("{0,Plan,Rows Removed by Filter}", "9000"),
        ("{0,Plan,Actual Rows}", "0.00"),
        ("{0,Plan,Plans,0,Relation Name}", "t"),
        ("{0,Plan,Plans,0,Parent Relationship}", "Outer"),
        ("{0,Plan,Plans,0,Actual Rows}", "9000.00"),
        ("{0,Plan,Plans,0,Shared Read Blocks}", "0"),
    ] {
        assert_eq!(part(&mut client, path), value, "{path} of {document}");
    }
    assert!(part(&mut client, "{0,Execution Time}").parse::<f64>().is_ok(), "{document}");
}

#[test]
fn queries_in_expressions_have_numbers() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int PRIMARY KEY, b int); CREATE TABLE u (k int)");
    assert_eq!(
        client.run(
            "EXPLAIN (COSTS off) SELECT (SELECT max(b) FROM t), (SELECT t.b FROM t WHERE t.a = u.k) FROM u, u v"
        ),
        [
            "Nested Loop",
            "  InitPlan 1",
            "    ->  Aggregate",
            "          ->  Seq Scan on t",
            "  ->  Seq Scan on u",
            "  ->  Seq Scan on u v",
            "  SubPlan 2",
            "    ->  Index Scan using t_pkey on t t_1",
            "          Index Cond: (t_1.a = u.k)",
            "EXPLAIN"
        ]
    );
}

#[test]
fn parameters_are_typed_by_their_values() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int, b text)");
    let lines =
        client.run_with("INSERT INTO t VALUES ($1, $2) RETURNING a + $1, b", &[Value::Int4(4), Value::Null]);
    assert_eq!(lines.expect("inserted"), ["8|NULL", "INSERT 0 1"]);
    let error = client.run_with("SELECT $2", &[Value::Int4(1)]).expect_err("no such parameter");
    assert_eq!((error.sqlstate, error.position), ("42P02", Some(8)));
}

#[test]
fn positions_count_in_the_whole_text() {
    let world = World::new();
    let mut client = world.connect();
    let error = client.try_run("SELECT 1; SELECT nosuch FROM verso_database").expect_err("fails");
    assert_eq!(error.position, Some(18));
}

/// As PostgreSQL 18 points to them; in each statement `^` stands in front of the place.
#[test]
fn errors_of_partition_bounds_point_to_values() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE r (a int) PARTITION BY RANGE (a); CREATE TABLE r1 PARTITION OF r FOR VALUES FROM (1) TO (5)");
    client.run(
        "CREATE TABLE l (a int) PARTITION BY LIST (a); CREATE TABLE l1 PARTITION OF l FOR VALUES IN (1, 2)",
    );
    client.run("CREATE TABLE h (a int) PARTITION BY HASH (a); CREATE TABLE h1 PARTITION OF h FOR VALUES WITH (MODULUS 2, REMAINDER 0)");
    client.run("CREATE TABLE rd PARTITION OF r DEFAULT; CREATE TABLE other (a int)");
    for marked in [
        "CREATE TABLE x PARTITION OF r FOR VALUES FROM (^5) TO (3)",
        "CREATE TABLE x PARTITION OF r FOR VALUES FROM (^2) TO (7)",
        "CREATE TABLE x PARTITION OF r FOR VALUES FROM (0) TO (^2)",
        "CREATE TABLE x PARTITION OF r ^DEFAULT",
        "CREATE TABLE x PARTITION OF l FOR VALUES IN (3, ^2)",
        "CREATE TABLE x PARTITION OF h FOR VALUES ^WITH (MODULUS 2, REMAINDER 0)",
        "ALTER TABLE r ATTACH PARTITION other FOR VALUES FROM (^3) TO (4)",
    ] {
        let place = marked.find('^').expect("marked");
        let error = client.try_run(&marked.replace('^', "")).expect_err("no such bound");
        assert_eq!((error.sqlstate, error.position), ("42P17", Some(place as u32 + 1)), "{marked}");
    }
    let error = client.try_run("CREATE TABLE x PARTITION OF r FOR VALUES IN (1)").expect_err("a range");
    assert_eq!((error.sqlstate, error.position), ("42P16", Some(42)));
    client.run("CREATE TABLE g (a int, v int GENERATED ALWAYS AS (a) STORED) PARTITION BY RANGE (a)");
    client.run("CREATE TABLE gv (a int, v int GENERATED ALWAYS AS (a) VIRTUAL)");
    assert_eq!(client.fails("ALTER TABLE g ATTACH PARTITION gv FOR VALUES FROM (1) TO (2)").0, "42804");
    // That the name is taken is told first.
    let error =
        client.try_run("CREATE TABLE r1 PARTITION OF r FOR VALUES FROM (1) TO (5)").expect_err("taken");
    assert_eq!(error.sqlstate, "42P07");
}

#[test]
fn errors_of_unique_indexes_that_are_built_name_the_table() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE SCHEMA s; CREATE TABLE s.t (a int); INSERT INTO s.t VALUES (1), (1)");
    for text in ["CREATE UNIQUE INDEX ON s.t (a)", "ALTER TABLE s.t ADD EXCLUDE USING btree (a WITH =)"] {
        let error = client.try_run(text).expect_err("two rows");
        let subject = error.subject.expect("a table");
        assert_eq!((subject.schema.as_deref(), subject.table.as_deref()), (Some("s"), Some("t")), "{text}");
    }
}

#[test]
fn cancel_without_a_statement_does_nothing() {
    let world = World::new();
    let mut client = world.connect();
    client.session.cancel_handle().cancel();
    assert_eq!(client.value("SELECT 1"), "1");
}

/// As PostgreSQL 18 says it.
#[test]
fn words_and_codes_are_postgresqls() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE p (id int PRIMARY KEY, t text UNIQUE)");
    client.run("CREATE TABLE c (id int REFERENCES p ON DELETE RESTRICT)");
    client.run("INSERT INTO p VALUES (1, 'x'); INSERT INTO c VALUES (1)");
    let restricts = "update or delete on table \"p\" violates RESTRICT setting of foreign key constraint \"c_id_fkey\" \
                     on table \"c\"";
    assert_eq!(client.fails("DELETE FROM p"), ("23001", restricts.to_string()));
    let warning = "WARNING: SET CONSTRAINTS can only be used in transaction blocks";
    assert_eq!(client.run("SET CONSTRAINTS ALL DEFERRED"), [warning, "SET CONSTRAINTS"]);
    client.run("BEGIN; SELECT 1");
    let late = "SET TRANSACTION ISOLATION LEVEL must be called before any query".to_string();
    assert_eq!(client.fails("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"), ("25001", late));
    client.run("ROLLBACK");
    let absent = "could not open file \"/nosuch/x\" for reading: No such file or directory".to_string();
    assert_eq!(client.fails("COPY p FROM '/nosuch/x'"), ("58P01", absent));
    // What pools and drivers say when a session is taken and given back.
    assert_eq!(client.run("UNLISTEN *"), ["UNLISTEN"]);
    client.run("SET extra_float_digits = 3; SET search_path TO \"$user\", public");
    client.run("SET search_path = elsewhere");
    assert_eq!(client.value("SHOW search_path"), "elsewhere");
    assert_eq!(client.value("SHOW server_version_num"), "180000");
}

#[test]
fn a_damaged_page_is_an_error_of_its_table_and_listed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("test.verso");
    let open = || {
        let engine = Engine::open(Env::real(), &path, EngineOptions::default()).expect("it opens");
        let instance = Arc::new(Instance::open(engine, Member::alone()).expect("a catalog"));
        Client { session: Session::new(instance) }
    };
    let engine = Engine::create(Env::real(), &path, EngineOptions::default()).expect("a database");
    let instance = Arc::new(Instance::create(engine, Member::alone()).expect("a catalog"));
    let mut client = Client { session: Session::new(Arc::clone(&instance)) };
    client.run("CREATE TABLE bad (a int, b text); CREATE TABLE good (a int)");
    client.run("INSERT INTO bad SELECT n, 'a row of the damaged page' FROM generate_series(1, 50) AS g(n)");
    client.run("INSERT INTO good VALUES (1)");
    drop(client);
    instance.engine.close().expect("it closes");
    drop(instance);
    let mut bytes = std::fs::read(&path).expect("its file");
    let text = b"a row of the damaged page";
    let at = bytes.windows(text.len()).position(|window| window == text).expect("it is there");
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).expect("written");
    let mut client = open();
    let (code, message) = client.fails("SELECT * FROM bad");
    assert_eq!(code, "XX001", "{message}");
    assert_eq!(client.value("SELECT count(*) || ' ' || min(table_name) FROM verso_damage"), "1 bad");
    assert_eq!(client.value("SELECT problem LIKE '%checksum%' FROM verso_damage"), "t");
    client.run("UPDATE good SET a = a + 1");
    assert_eq!(client.run("SWEEP TABLE good"), ["SWEEP"]);
    assert_eq!(client.fails("SWEEP TABLE bad").0, "XX001");
    let lines = client.run("SWEEP");
    assert!(lines[0].contains("1 damaged pages were left out"), "{lines:?}");
    assert_eq!(client.value("SELECT a FROM good"), "2");
    client.run("DROP TABLE bad");
}

#[test]
fn statements_put_off_fail_where_they_are_reached() {
    // As PostgreSQL 18 has them.
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "CREATE FUNCTION late(how int) RETURNS int LANGUAGE plpgsql AS $$
declare r record;
begin
  if how = 1 then
    select * into r from nowhere;
  elsif how = 2 then
    return r.a;
  end if;
  return 0;
end $$",
    );
    assert_eq!(client.run("SELECT late(0)"), ["0", "SELECT 1"]);
    let error = client.try_run("SELECT late(1)").expect_err("there is no such table");
    assert_eq!(error.message, "relation \"nowhere\" does not exist");
    assert_eq!(error.context.as_deref(), Some("PL/pgSQL function late(integer) line 5 at SQL statement"));
    let at = error.internal.expect("it is a place in the statement, whose INTO is blank");
    assert_eq!((at.query.as_str(), at.position), ("select *        from nowhere", 22));
    let error = client.try_run("SELECT late(2)").expect_err("nothing is assigned");
    assert_eq!(error.sqlstate, "55000");
    let context = "PL/pgSQL expression \"r.a\"\nPL/pgSQL function late(integer) line 7 at RETURN";
    assert_eq!(error.context.as_deref(), Some(context));
    let error = client
        .try_run("CREATE FUNCTION bad() RETURNS int LANGUAGE plpgsql AS $$begin\n x := 1;\nend $$")
        .expect_err("there is no such variable");
    // The place is one in the client's text.
    assert_eq!((error.sqlstate, error.position, error.context), ("42601", Some(64), None));
}

#[test]
fn errors_of_bodies_point_into_the_text_that_is_wrong() {
    // As PostgreSQL 18 has them: the text, the place in it, and whether the client's own text has it.
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int)");
    for (body, query, place) in [
        ("declare x int; begin x := nowhere + 1; end", "x := nowhere + 1", 6),
        ("begin perform a, b from t; end", "SELECT a, b from t", 11),
        ("begin if b > 1 then null; end if; end", "b > 1", 1),
        ("declare x int[]; begin x[1] := y; end", "x[1] := y", 9),
        ("begin execute 'select b from t'; end", "select b from t", 8),
        ("declare r record; begin for r in select b from t loop null; end loop; end", "select b from t", 8),
    ] {
        let error = client.try_run(&format!("DO $$ {body} $$")).expect_err(body);
        let at = error.internal.unwrap_or_else(|| panic!("{body}: no place"));
        assert_eq!((at.query.as_str(), at.position, error.position), (query, place, None), "{body}");
    }
    for (text, place) in [
        ("DO $$ begin y := 1; end $$", 13),
        ("DO $$ begin exit nolabel; end $$", 18),
        ("CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'select nothing'", 57),
    ] {
        let error = client.try_run(text).expect_err(text);
        assert_eq!((error.position, error.internal, error.context), (Some(place), None, None), "{text}");
    }
    let text = "DO $$ declare y int := 0;\n x int := 1/y; begin end $$";
    let error = client.try_run(text).expect_err("there is no such number");
    assert_eq!(
        error.context.as_deref(),
        Some(
            "PL/pgSQL function inline_code_block line 2 during statement block local variable initialization"
        )
    );
}

#[test]
fn an_output_list_has_at_most_1664_entries() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    let list = |count: usize| (0..count).map(|n| format!("a + {n}")).collect::<Vec<_>>().join(", ");
    let most = list(1663);
    assert_eq!(client.value(&format!("SELECT 5 FROM t ORDER BY {most}")), "5");
    assert_eq!(client.value(&format!("SELECT 5 FROM t GROUP BY {most}")), "5");
    let refused = ("54011", "target lists can have at most 1664 entries".to_string());
    for sql in [
        format!("SELECT {} FROM t", list(1665)),
        format!("SELECT count(*) FROM (SELECT {} FROM t) AS s", list(1665)),
        format!("SELECT 5 FROM t ORDER BY {}", list(1664)),
        format!("SELECT DISTINCT ON ({}) 5 FROM t", list(1664)),
        // Before it was bounded, its time grew with the square of the number and no cancel ended it.
        format!("SELECT 5 FROM t GROUP BY {}", list(30_000)),
        format!("VALUES ({})", vec!["1"; 1665].join(", ")),
    ] {
        assert_eq!(client.fails(&sql), refused, "{}", &sql[..40]);
    }
}

/// Of large tables columns that only the rows left by a condition need are read for those alone: also in older versions, of rows
/// with long values, and of the transaction's own.
#[test]
fn columns_read_late_are_those_of_the_same_rows() {
    let world = World::new();
    let mut client = world.connect();
    client.run(
        "SET parallel_workers = 1; CREATE TABLE t (id int, grp int, name text, n numeric(10, 2), long text);
         INSERT INTO t SELECT i, i % 1000, 'name ' || i, i, CASE WHEN i % 5000 = 3 THEN repeat('long', 20000) END
           FROM generate_series(1, 60000) AS s(i);
         DELETE FROM t WHERE id % 10 = 7;
         CREATE TABLE keys (grp int); INSERT INTO keys VALUES (3), (17), (900), (NULL)",
    );
    let mut reader = world.connect();
    reader.run("SET parallel_workers = 1; BEGIN ISOLATION LEVEL REPEATABLE READ");
    // The condition in the scan, and the same sums without one.
    let pairs = |condition: &str| {
        let of = |value: &str| format!("CASE WHEN {condition} THEN {value} END");
        let (id, n, name, long) = (of("id"), of("n"), of("name"), of("length(long)"));
        (
            format!("SELECT count(id), sum(n), min(name), sum(length(long)) FROM t WHERE {condition}"),
            format!("SELECT count({id}), sum({n}), min({name}), sum({long}) FROM t"),
        )
    };
    let conditions = ["grp = 3", "grp < 20 AND n > 500", "name LIKE '%77'", "long IS NOT NULL", "id % 2 = 0"];
    let check = |client: &mut Client, when: &str| {
        for condition in conditions {
            let (filtered, whole) = pairs(condition);
            assert_eq!(client.run(&filtered), client.run(&whole), "{when}: {filtered}");
        }
        let joined = "SELECT count(*), sum(n), min(name), sum(length(long)) FROM t JOIN keys USING (grp)";
        let listed = "SELECT count(*), sum(n), min(name), sum(length(long)) FROM t WHERE grp = 3 OR grp = 17 OR grp = 900";
        assert_eq!(client.run(joined), client.run(listed), "{when}");
    };
    let before: Vec<_> = conditions.iter().map(|condition| reader.run(&pairs(condition).0)).collect();
    check(&mut client, "as inserted");
    client.run("UPDATE t SET name = 'other ' || id, n = -n WHERE id % 3 = 0; UPDATE t SET grp = grp + 1 WHERE grp = 3");
    check(&mut client, "updated");
    let after: Vec<_> = conditions.iter().map(|condition| reader.run(&pairs(condition).0)).collect();
    assert_eq!(before, after, "the older versions");
    check(&mut reader, "the older versions");
    client.run("BEGIN; UPDATE t SET n = 1 WHERE grp < 100; DELETE FROM t WHERE grp = 18");
    check(&mut client, "its own");
    client.run("ROLLBACK");
    check(&mut client, "rolled back");
}
