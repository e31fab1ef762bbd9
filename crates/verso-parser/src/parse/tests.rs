mod fingerprints;
mod grammar;
mod texts;
mod tokens;

use super::*;
use crate::syntax::{
    ExprKind, FromSource, IsolationLevel, LogicalBackup, PlStatementKind, QueryBody, TransactionModes,
};

fn one(text: &str) -> Statement {
    let mut all = parse_script(text).unwrap_or_else(|error| panic!("{text}: {error:?}"));
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0).statement
}

fn fails(text: &str) -> (&'static str, String, Option<u32>) {
    match parse_script(text) {
        Ok(parsed) => panic!("{text} parsed as {parsed:?}"),
        Err(error) => (error.sqlstate, error.message, error.position),
    }
}

#[test]
fn the_scripts_of_the_experiment_parse() {
    let script = r"
CREATE SEQUENCE test_id;
CREATE TABLE test (
    id           NUMERIC(18,2),
    name         VARCHAR(120),
    description  VARCHAR(250),
    cnt          INTEGER,
    qrt          DOUBLE PRECISION,
    ts_change    TIMESTAMP,
    ts_create    TIMESTAMP,
    notes        BLOB
);
CREATE TABLE test2drop (LIKE test);

-- A selectable procedure: inserts how_many records and returns how many there are now.
CREATE FUNCTION insertrecs(how_many INTEGER) RETURNS TABLE (records BIGINT) AS $$
DECLARE
    n BIGINT;
BEGIN
    FOR i IN 1..how_many LOOP
        n := nextval('test_id');
        INSERT INTO test VALUES (n, 'name ' || n, 'description of record ' || n, i, n * 0.5,
                                 CURRENT_TIMESTAMP, CURRENT_TIMESTAMP, ('notes of record ' || n)::bytea);
    END LOOP;
    RETURN QUERY SELECT count(*) FROM test;
END
$$ LANGUAGE plpgsql;

SELECT * FROM insertrecs(100000);
INSERT INTO test2drop SELECT * FROM test;
COMMIT;
DROP TABLE test2drop;      -- its pages are free for reuse, so the file does not grow during the test
SET TIME ON;
SET TRANSACTION NO SAVEPOINT;
UPDATE test SET id = id + 1, qrt = qrt + 1, name = name || '1', ts_change = CURRENT_TIMESTAMP;
";
    let error = parse_script(script).expect_err("SET TIME ON is the shell's");
    let told = ("0A000", "SET TIME outside of the shell is not supported");
    assert_eq!((error.sqlstate, error.message.as_str()), told);
    let parsed = parse_script(&script.replace("SET TIME ON;", "")).expect("parses");
    assert_eq!(parsed.len(), 10);
    let Statement::CreateFunction(function) = &parsed[3].statement else { panic!("{:?}", parsed[3]) };
    let block = parse_body(&function.body.text).expect("parses");
    assert!(matches!(&block.body[0].kind, PlStatementKind::ForInteger { reverse: false, by: None, .. }));
    assert_eq!(block.body[0].line, 5);
    assert!(matches!(&block.body[1].kind, PlStatementKind::ReturnQuery { .. }));
}

#[test]
fn verso_s_own_statements() {
    let no_savepoint = TransactionModes { savepoints: Some(false), ..TransactionModes::default() };
    assert_eq!(one("begin no savepoint"), Statement::Begin { modes: no_savepoint.clone(), start: false });
    assert_eq!(one("SET TRANSACTION NO SAVEPOINT"), Statement::SetTransaction(no_savepoint));
    let modes = TransactionModes {
        isolation: Some(IsolationLevel::Snapshot),
        read_only: Some(true),
        savepoints: Some(false),
        ..TransactionModes::default()
    };
    assert_eq!(
        one("START TRANSACTION ISOLATION LEVEL SNAPSHOT, READ ONLY NO SAVEPOINT"),
        Statement::Begin { modes: modes.clone(), start: true }
    );
    assert_eq!(one("BEGIN SNAPSHOT READ ONLY, NO SAVEPOINT"), Statement::Begin { modes, start: false });
    for text in
        ["commit write", "COMMIT WRITE WAIT", "commit write wait batch", "commit work write immediate", "end"]
    {
        assert!(matches!(one(text), Statement::Commit { chain: false, .. }), "{text}");
    }
    let Statement::Commit { write, .. } = one("COMMIT WRITE NOWAIT BATCH") else { panic!() };
    assert_eq!((write.wait, write.batch), (Some(false), Some(true)));
    let plain = Statement::Sweep {
        tables: Vec::new(),
        verbose: false,
        parallel: None,
        vacuum: false,
        analyze: None,
        full: false,
        nothing: false,
    };
    assert_eq!(one("SWEEP"), plain);
    let Statement::Sweep {
        tables,
        verbose: true,
        parallel: Some(2),
        vacuum: false,
        analyze: None,
        full: false,
        nothing: false,
    } = one("sweep table public.t (parallel 2, verbose)")
    else {
        panic!()
    };
    assert_eq!(tables[0].to_string(), "public.t");
    assert!(matches!(
        one("VACUUM VERBOSE t"),
        Statement::Sweep { verbose: true, parallel: None, vacuum: true, analyze: None, .. }
    ));
    for text in ["VACUUM ANALYZE t (a, b)", "VACUUM (ANALYZE) t (a, b)"] {
        let Statement::Sweep { analyze: Some(analyze), .. } = one(text) else { panic!("{text}") };
        assert_eq!((analyze.tables.len(), analyze.tables[0].1.len()), (1, 2), "{text}");
    }
    assert!(matches!(one("VACUUM (ANALYZE off) t"), Statement::Sweep { analyze: None, .. }));
    assert_eq!(one("SHOW STATEMENT STATISTICS"), Statement::ShowStatementStatistics);
    for (text, wanted) in [("SET STAT ON", "on"), ("SET stats OFF", "off")] {
        let Statement::Set { name, value, local: false } = one(text) else { panic!("{text}") };
        assert_eq!((&*name.text, value.as_deref()), ("statement_statistics", Some(wanted)), "{text}");
    }
    assert_eq!(one("checkpoint"), Statement::Checkpoint);
    assert_eq!(one("backup database to '/b'"), Statement::Backup { folder: "/b".to_owned(), parent: None });
    let logical = LogicalBackup {
        script: true,
        parallel: Some(3),
        compress: Some("zstd:3".to_owned()),
        tables: vec!["a".to_owned(), "s.b".to_owned()],
        schema_only: false,
        data_only: true,
    };
    let text = "backup database to stdout with (format sql, parallel 3, compress 'zstd:3', table 'a', table 's.b', data_only, schema_only false)";
    assert_eq!(one(text), Statement::LogicalBackup(logical));
    assert_eq!(one("backup database to stdout"), Statement::LogicalBackup(LogicalBackup::default()));
    let increment = Statement::Backup { folder: "/c".to_owned(), parent: Some("/b".to_owned()) };
    assert_eq!(one("backup database to '/c' incremental from '/b'"), increment);
    assert!(matches!(one("ALTER DATABASE SET sweep_interval = 20000"),
        Statement::AlterDatabase { name, value: Some(value), .. } if name.text == "sweep_interval" && value == "20000"));
    assert!(matches!(one("set timezone to 'Europe/Berlin'"),
        Statement::Set { name, value: Some(value), local: false } if name.text == "timezone" && value == "Europe/Berlin"));
    assert!(matches!(
        one("set local lock_timeout = default"),
        Statement::Set { value: None, local: true, .. }
    ));
}

#[test]
fn operators_remember_their_place() {
    let Statement::Query(query) = one("SELECT  a::int + (b - 1) AS x") else { panic!() };
    let QueryBody::Select(select) = query.body else { panic!() };
    let crate::syntax::SelectItem::Expr { expr, .. } = &select.items[0] else { panic!() };
    assert_eq!(expr.point, 15);
    let ExprKind::Binary { op, left, right } = &expr.kind else { panic!() };
    assert_eq!((op.as_str(), left.point, right.point), ("+", 9, 20));
}

#[test]
fn characters_count_not_bytes() {
    assert_eq!(
        fails("SELECT 'äöü' FROM\n é WHERE"),
        ("42601", "syntax error at end of input".into(), Some(27))
    );
    let (_, message, position) = fails("SELECT 'äöü' FROM é ) x");
    assert_eq!((message.as_str(), position), ("syntax error at or near \")\"", Some(21)));
}

#[test]
fn errors_behind_operators_that_were_cut_apart_point_into_the_text() {
    for (text, position) in [
        ("SELECT 1>-1, 2<>-2 ) x", 20),
        ("SELECT 1>-1,\n'é'>-2, 2<>/*>-*/-2 ) x", 34),
        ("SELECT 1>-1, 2<>-'x", 18),
        ("SELECT 1>--)\n-1 ) x", 17),
    ] {
        let (code, _, found) = fails(text);
        assert_eq!((code, found), ("42601", Some(position)), "{text}");
    }
}

#[test]
fn options_of_explain_are_checked_as_postgresql_does() {
    let analyzes = |options: &str| match one(&format!("EXPLAIN {options} SELECT 1")) {
        Statement::Explain { options, .. } => options.analyze,
        other => panic!("{other:?}"),
    };
    for options in [
        "",
        "VERBOSE",
        "(COSTS OFF, VERBOSE, BUFFERS false, SETTINGS 1, SUMMARY on, MEMORY 'off', GENERIC_PLAN off)",
        "(FORMAT JSON)",
        "(FORMAT YAML)",
        "(MEMORY)",
        "(COSTS off, FORMAT xml)",
        "(FORMAT text, FORMAT 'TEXT', SERIALIZE none)",
        "(TIMING off, WAL 0, ANALYZE false)",
        "(ANALYZE, ANALYZE off)",
    ] {
        assert!(!analyzes(options), "{options}");
    }
    for options in
        ["ANALYZE", "ANALYSE VERBOSE", "(ANALYZE)", "(TIMING, WAL, ANALYZE true, MEMORY, BUFFERS 0)"]
    {
        assert!(analyzes(options), "{options}");
    }
    for (options, code, message) in [
        ("FORMAT nosuch", "22023", "unrecognized value for EXPLAIN option \"format\": \"nosuch\""),
        ("FORMAT", "42601", "format requires a parameter"),
        ("SERIALIZE nosuch", "22023", "unrecognized value for EXPLAIN option \"serialize\": \"nosuch\""),
        ("nosuch on", "42601", "unrecognized EXPLAIN option \"nosuch\""),
        ("ANALYZE nosuch", "42601", "analyze requires a Boolean value"),
        ("COSTS 2", "42601", "costs requires a Boolean value"),
        ("TIMING", "22023", "EXPLAIN option TIMING requires ANALYZE"),
        ("WAL, ANALYZE off", "22023", "EXPLAIN option WAL requires ANALYZE"),
        ("SERIALIZE", "22023", "EXPLAIN option SERIALIZE requires ANALYZE"),
        (
            "ANALYZE, GENERIC_PLAN",
            "22023",
            "EXPLAIN options ANALYZE and GENERIC_PLAN cannot be used together",
        ),
    ] {
        let (found, text, _) = fails(&format!("EXPLAIN ({options}) SELECT 1"));
        assert_eq!((found, text.as_str()), (code, message), "{options}");
    }
}

#[test]
fn what_verso_lacks_is_refused_by_name_and_place() {
    for (text, what, position) in [
        ("SELECT xmlparse(document '<a/>')", "XMLPARSE", 8),
        ("CREATE OPERATOR CLASS c FOR TYPE a USING btree AS OPERATOR 1 <", "CREATE OPERATOR CLASS", 17),
        ("UPDATE t SET (a[1], b) = (SELECT 1, 2)", "assignment of a subquery's row to parts of columns", 15),
        ("CREATE INDEX i ON t USING gist (a)", "an index USING gist", 27),
        ("CREATE TABLE t (a xml)", "type xml", 19),
        ("ALTER TABLE t ENABLE RULE x", "ALTER TABLE … ENABLE RULE", 15),
        ("CREATE EVENT TRIGGER x ON ddl_command_start EXECUTE FUNCTION f()", "CREATE EVENT TRIGGER", 1),
    ] {
        let (code, message, at) = fails(text);
        assert_eq!(
            (code, message.as_str(), at),
            ("0A000", format!("{what} is not supported").as_str(), Some(position)),
            "{text}"
        );
    }
}

#[test]
fn syntax_errors_name_the_token_as_postgresql_does() {
    for (text, message, position) in [
        ("SELEC 1", "syntax error at or near \"SELEC\"", 1),
        ("SELECT 1 +", "syntax error at end of input", 11),
        ("SELECT FROM WHERE x", "syntax error at or near \"WHERE\"", 13),
        ("SELECT 'abc", "unterminated quoted string at or near \"'abc\"", 8),
        ("SELECT /* abc", "unterminated /* comment at or near \"/* abc\"", 8),
        ("CREATE TABLE select (a int)", "syntax error at or near \"select\"", 14),
        ("CREATE TABLE t (a int,)", "syntax error at or near \")\"", 23),
        ("SELECT * FRM t", "syntax error at or near \"FRM\"", 10),
        ("SELECT 1 2", "syntax error at or near \"2\"", 10),
        ("SELECT ARRAY[1, 2][1]", "syntax error at or near \"[\"", 19),
        ("BEGIN; SELEKT 2; END", "syntax error at or near \"SELEKT\"", 8),
        ("SELECT 1 +; SELECT 2", "syntax error at or near \";\"", 11),
        ("SELECT a FROM t WHERE a = b = c", "syntax error at or near \"=\"", 29),
        ("SELECT a BETWEEN 1 AND 2 BETWEEN 3 AND 4", "syntax error at or near \"BETWEEN\"", 26),
        ("SELECT a LIKE b LIKE c", "syntax error at or near \"LIKE\"", 17),
        ("SELECT * FROM t JOIN u", "syntax error at end of input", 23),
        ("SELECT * FROM a SEMI JOIN b", "syntax error at end of input", 28),
        ("SELECT * FROM left", "syntax error at or near \"left\"", 15),
        ("SELECT 'a' 'b'", "syntax error at or near \"'b'\"", 12),
        ("SELECT f(a => 1, 2)", "positional argument cannot follow named argument", 18),
        ("INSERT INTO t (a) SELECT 1 INTO u", "SELECT ... INTO is not allowed here", 33),
        ("SELECT 1 UNION SELECT 2 INTO u", "SELECT ... INTO is not allowed here", 30),
        ("SELECT 1 LIMIT 1 LIMIT 2", "multiple LIMIT clauses not allowed", 18),
        ("SELECT \"\"", "zero-length delimited identifier at or near \"\"\"\"", 8),
        ("DROP TABLE", "syntax error at end of input", 11),
        ("EXPLAIN EXPLAIN SELECT 1", "syntax error at or near \"EXPLAIN\"", 9),
    ] {
        let (code, found, at) = fails(text);
        assert_eq!((code, found.as_str(), at), ("42601", message, Some(position)), "{text}");
    }
}

#[test]
fn deep_texts_are_refused_not_overflowed() {
    let deep = [
        format!("SELECT {}1{}", "(".repeat(5_000), ")".repeat(5_000)),
        format!("SELECT {}1", "- ".repeat(50_000)),
        format!("SELECT {}1", "NOT ".repeat(50_000)),
        format!("SELECT 1{}", " + 1".repeat(50_000)),
        format!("SELECT 1{}", "::int".repeat(50_000)),
        format!("SELECT a{}", " || a".repeat(50_000)),
        format!("SELECT a{}", " BETWEEN 1 AND 2 IS NULL".repeat(50_000)),
        format!("SELECT {}(SELECT 1){}", "(".repeat(5_000), ")".repeat(5_000)),
        format!("SELECT {}1{}", "ARRAY[".repeat(5_000), "]".repeat(5_000)),
        format!("WITH {}SELECT 1{}", "a AS (WITH ".repeat(5_000), ")".repeat(5_000)),
        format!("SELECT a{}", " IS NULL".repeat(50_000)),
        format!("SELECT a{}", "[1]".repeat(50_000)),
        format!("SELECT {}1{}", "CASE WHEN true THEN ".repeat(5_000), " END".repeat(5_000)),
        format!("SELECT * FROM {}t{}", "(SELECT * FROM ".repeat(5_000), ") x".repeat(5_000)),
        format!("SELECT 1{}", " UNION SELECT 1".repeat(50_000)),
        format!("SELECT * FROM t{}", " JOIN t".repeat(50_000)),
        format!("SELECT f({}1{})", "f(".repeat(5_000), ")".repeat(5_000)),
    ];
    for text in deep {
        let code = parse_script(&text).err().map(|error| error.sqlstate);
        assert_eq!(code, Some("54001"), "{}", &text[..40]);
    }
    // Bodies are read by themselves, when they are compiled.
    for body in ["BEGIN ".repeat(50_000), format!("BEGIN {} END", "IF a THEN ".repeat(50_000))] {
        let code = super::plpgsql::parse_body(&body).err().map(|error| error.sqlstate);
        assert_eq!(code, Some("54001"), "{}", &body[..40]);
    }
    // What is long, not deep, has no limit.
    for text in [
        format!("SELECT a{}", " AND a".repeat(50_000)),
        format!("SELECT a{}", " OR NOT a".repeat(50_000)),
        format!("SELECT 1{}", ", 1".repeat(50_000)),
        format!("SELECT a IN (1{})", ", 1".repeat(50_000)),
        format!("VALUES (1){}", ", (1)".repeat(50_000)),
        format!("CREATE TABLE t (a int{})", "[]".repeat(50_000)),
        format!("SELECT {}", "$$a$$ -- b\n, ".repeat(20_000) + "1"),
    ] {
        assert!(parse_script(&text).is_ok(), "{}", &text[..40]);
    }
    // What people write still passes.
    let conditions: Vec<String> = (0..1_500).map(|n| format!("a = {n}")).collect();
    one(&format!("SELECT 1 WHERE {}", conditions.join(" OR ")));
    one(&format!("SELECT 1{}", " + 1".repeat(300)));
    one(&format!("SELECT {}1{}", "(".repeat(25), ")".repeat(25)));
    one(&format!("SELECT 1{}", "::int".repeat(300)));
    one(&format!("SELECT 1{}", " IS NULL".repeat(300)));
    one(&format!("SELECT 1{}", " UNION ALL SELECT 1".repeat(200)));
    one(&format!("SELECT * FROM a{}", ", a".repeat(800)));
}

#[test]
fn junk_never_panics() {
    let words = [
        "SELECT",
        "FROM",
        "WHERE",
        "(",
        ")",
        ",",
        ";",
        "a",
        "1",
        "'x'",
        "$$",
        "$1",
        "CASE",
        "WHEN",
        "THEN",
        "END",
        "INSERT INTO",
        "VALUES",
        "UPDATE",
        "SET",
        "=",
        "DELETE",
        "CREATE",
        "TABLE",
        "FUNCTION",
        "BEGIN",
        "DECLARE",
        "LOOP",
        "FOR",
        "IN",
        "..",
        "1..2",
        "IF",
        ":=",
        "::",
        "int",
        "numeric(1,2)",
        "[",
        "]",
        "*",
        "-",
        "+",
        "AND",
        "NOT",
        "IS",
        "NULL",
        "LIKE",
        "BETWEEN",
        "INTERVAL",
        "DATE",
        "EXTRACT",
        "CAST",
        "AS",
        "ORDER BY",
        "LIMIT",
        "é",
        "\"q\"",
        "E'\\x",
        "--",
        "/*",
        "*/",
        "\n",
        "EXPLAIN",
        "DO",
        "$$BEGIN",
        "SWEEP",
        "COMMIT WRITE",
        "RETURNING",
        "DEFAULT",
        "EXCEPTION",
        "RAISE",
        "'%'",
        "INTO",
        "GROUP BY",
        "HAVING",
        "<<",
        ">>",
        "\0",
        "LATERAL",
    ];
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize
    };
    for _ in 0..6_000 {
        let count = next() % 14;
        let text: Vec<&str> = (0..count).map(|_| words[next() % words.len()]).collect();
        fuzz_parse(text.join(" ").as_bytes());
    }
    for _ in 0..3_000 {
        let bytes: Vec<u8> = (0..next() % 40).map(|_| (next() % 256) as u8).collect();
        fuzz_parse(&bytes);
    }
}

#[test]
fn functions_in_from_and_ranges() {
    let Statement::Query(query) = one("SELECT * FROM generate_series(1, 10) AS g(i)") else { panic!() };
    let QueryBody::Select(select) = query.body else { panic!() };
    let from = select.from.expect("from");
    assert!(matches!(from.source, FromSource::Function(..)));
    assert_eq!((from.alias.expect("alias").text.as_str(), from.columns[0].text.as_str()), ("g", "i"));
    for body in [
        "BEGIN FOR i IN REVERSE 10..1 BY 2 LOOP NULL; END LOOP; END",
        "BEGIN FOR i IN a+1..b LOOP NULL; END LOOP; END",
    ] {
        assert!(super::plpgsql::parse_body(body).is_ok(), "{body}");
    }
}

#[test]
fn defaults_keep_their_text() {
    let Statement::CreateTable(table) =
        one("CREATE TABLE t (a numeric DEFAULT 1::numeric(5, 2) NOT NULL, b text)")
    else {
        panic!()
    };
    let crate::syntax::TableElement::Column(column) = &table.elements[0] else { panic!() };
    assert_eq!(column.default.as_ref().map(|(_, text)| text.as_str()), Some("1::numeric(5, 2)"));
    assert!(column.not_null);
}
