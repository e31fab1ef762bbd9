//! What statements may hold: the limits, what happens at them, and that nothing but the statement ends.

use verso_session::{CommandTag, Notice, OutputColumn, SqlError, StatementSink};
use verso_types::Batch;

use crate::{Client, World};

#[test]
fn every_limit_is_shown_and_acts() {
    let world = World::new();
    let mut client = world.connect();
    for (name, no_limit) in
        [("statement_memory_limit", "0"), ("session_memory_limit", "0"), ("temp_file_limit", "-1")]
    {
        assert_eq!(client.value(&format!("SHOW {name}")), no_limit, "{name}");
        client.run(&format!("SET {name} = '8MB'"));
        assert_eq!(client.value(&format!("SHOW {name}")), "8MB", "{name}");
        client.run(&format!("SET {name} = {no_limit}"));
        assert_eq!(client.value(&format!("SHOW {name}")), no_limit, "{name}");
    }
    for refused in
        ["SET statement_memory_limit = '1kB'", "SET session_memory_limit = -1", "SET temp_file_limit = -2"]
    {
        assert_eq!(client.fails(refused).0, "22023", "{refused}");
    }
    assert_eq!(client.fails("SET memory_limit = '1GB'").0, "55P02");

    let long = "SELECT length(repeat('x', 20000000))";
    assert_eq!(client.value(long), "20000000");
    for (set, setting, reset) in [
        ("SET statement_memory_limit = '16MB'", "statement_memory_limit", "RESET statement_memory_limit"),
        ("SET session_memory_limit = '16MB'", "session_memory_limit", "RESET session_memory_limit"),
        (
            "ALTER DATABASE SET memory_limit = '16MB'",
            "memory_limit",
            "ALTER DATABASE SET memory_limit = '4GB'",
        ),
    ] {
        client.run(set);
        let error = client.try_run(long).expect_err(setting);
        assert_eq!(
            (error.sqlstate, &*error.message),
            ("53200", "out of memory: a value needs more than 16777216 bytes")
        );
        assert_eq!(error.hint.as_deref(), Some(&*format!("Raise {setting}.")));
        client.run(reset);
        assert_eq!(client.value(long), "20000000");
    }
    assert_eq!(client.value("SHOW memory_limit"), "4GB");
}

/// What variables hold, and what an expression holds while it computes the rest of itself.
#[test]
fn variables_of_functions_and_long_arguments_count() {
    let world = World::new();
    let mut client = world.connect();
    let held = world.instance.held_bytes();
    client.run("SET statement_memory_limit = '16MB'");
    for text in [
        "DO $$ DECLARE a text[]; BEGIN FOR i IN 1..5000 LOOP a := a || repeat('x', 10000); END LOOP; END $$",
        "DO $$ DECLARE a text[]; BEGIN FOR i IN 1..5000 LOOP a[i] := repeat('x', 10000); END LOOP; END $$",
        "DO $$ DECLARE a bigint[]; BEGIN FOR i IN 1..5000000 LOOP a := a || i; END LOOP; END $$",
        "DO $$ DECLARE r record; BEGIN SELECT repeat('x', 9000000) AS a, repeat('y', 9000000) AS b INTO r; END $$",
        "SELECT ARRAY[repeat('x', 6000000), repeat('y', 6000000), repeat('z', 6000000)] IS NULL",
        "SELECT jsonb_build_array(repeat('x', 5000000)) IS NULL",
        "SELECT row(repeat('x', 9000000))::text IS NULL",
    ] {
        let error = client.try_run(text).expect_err(text);
        assert_eq!(error.sqlstate, "53200", "{text}: {error:?}");
    }
    // One after the other they fit: a variable holds its last value, and what is gone counts no more.
    client.run("DO $$ DECLARE a text; BEGIN FOR i IN 1..20 LOOP a := repeat('x', 3000000); END LOOP; END $$");
    client.run("DO $$ DECLARE a text[]; BEGIN FOR i IN 1..9 LOOP a := NULL; a := a || repeat('x', 3000000); END LOOP; END $$");
    assert_eq!(client.value("SELECT length(repeat('x', 4000000)) + length(repeat('y', 4000000))"), "8000000");
    assert_eq!(world.instance.held_bytes(), held);
}

/// Rows of the catalogs that are kept count once, and only so much of the memory is for them.
#[test]
fn kept_rows_of_catalogs_count_and_have_a_share() {
    let world = World::new();
    let mut client = world.connect();
    let rows = client.value("SELECT count(*) FROM pg_namespace");
    assert!(rows.parse::<u32>().is_ok_and(|rows| rows > 1));
    let used = || world.instance.memory().used_bytes();
    let (before, held) = (used(), world.instance.held_bytes());
    let question = "SELECT count(proname) FROM pg_proc";
    let functions = client.value(question);
    assert_eq!(client.value(question), functions);
    let kept = used();
    assert!(kept > before, "{kept} after {before}");
    assert_eq!((client.value(question), used()), (functions.clone(), kept));
    assert_eq!(world.instance.held_bytes(), held);
    client.run("ALTER DATABASE SET memory_limit = '16MB'");
    client.run("CREATE TABLE of_another_version (a int)");
    let before = used();
    for texts in [
        "SELECT count(proname || proargtypes::text || prosrc || prorettype::text || pronargs::text) FROM pg_proc",
        "SELECT count(attname || attrelid::text || atttypid::text || attnum::text || attlen::text) FROM pg_attribute",
        "SELECT count(description || objoid::text || classoid::text || objsubid::text) FROM pg_description",
        "SELECT count(oprname || oprcode::oid::text || oprleft::text || oprright::text) FROM pg_operator",
        "SELECT count(typname || typlen::text || typinput::oid::text || typoutput::oid::text) FROM pg_type",
    ] {
        assert_eq!(client.value(texts), client.value(texts), "{texts}");
        assert!(used() <= before + (1 << 20) + (256 << 10), "{} after {before}: {texts}", used());
    }
    assert_eq!(client.value(question), functions);
}

#[test]
fn sorts_joins_and_groups_larger_than_work_mem_go_to_files_up_to_their_limit() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (id int, name text)");
    client
        .run("INSERT INTO t SELECT i, 'name ' || (i * 7919) % 20000 FROM generate_series(1, 20000) AS s(i)");
    let queries = [
        "SELECT count(*), min(id) FROM (SELECT id FROM t ORDER BY name, id OFFSET 5) AS s",
        "SELECT count(*), sum(n) FROM (SELECT name, count(*) AS n FROM t GROUP BY name) AS s",
        "SELECT count(*), sum(a.id) FROM t AS a JOIN t AS b ON a.name = b.name",
        "SELECT count(*), max(name) FROM (SELECT DISTINCT name FROM t) AS s",
        "SELECT count(*), sum(id) FROM t AS a WHERE EXISTS (SELECT FROM t AS b WHERE b.name = a.name AND b.id <> a.id)",
        "SELECT count(*) FROM t AS a WHERE NOT EXISTS (SELECT FROM t AS b WHERE b.name = a.name || 'x')",
        "SELECT count(*), sum(n), sum(g) FROM (SELECT name, count(*) AS n, GROUPING(id) AS g FROM t GROUP BY ROLLUP (name, id)) AS s",
        "SELECT count(*), max(name) FROM (SELECT DISTINCT ON (name, id) name, id FROM t) AS s",
        "SELECT count(*), max(name) FROM (SELECT name FROM t EXCEPT SELECT name FROM t WHERE id < 9) AS s",
    ];
    let plenty: Vec<_> = queries.iter().map(|sql| client.run(sql)).collect();
    client.run("SET work_mem = '64kB'");
    for (sql, plenty) in queries.iter().zip(&plenty) {
        assert_eq!(client.run(sql), *plenty, "{sql}");
    }
    client.run("SET temp_file_limit = '64kB'");
    for sql in queries {
        let error = client.try_run(sql).expect_err(sql);
        assert_eq!(error.sqlstate, "53400", "{sql}: {error:?}");
        assert_eq!(error.message, "temporary file size exceeds \"temp_file_limit\" (64kB)");
    }
    client.run("RESET temp_file_limit");
    // A cursor keeps its rows in a file, and gives them in their order.
    client.run("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT id FROM t ORDER BY id; COMMIT");
    assert_eq!(client.run("FETCH 2 FROM c"), ["1", "2", "FETCH 2"]);
    client.run("MOVE 19990 FROM c");
    assert_eq!(client.run("FETCH ALL FROM c").len(), 9);
    client.run("CLOSE c");
    let temporary = world.instance.engine.temporary_dir().to_path_buf();
    assert_eq!(std::fs::read_dir(temporary).expect("files were made").count(), 0);
}

#[test]
fn a_recursive_query_without_end_is_bounded_by_memory_and_files() {
    let world = World::new();
    let mut client = world.connect();
    client.run("SET work_mem = '64kB'; SET temp_file_limit = '1MB'");
    // Each round has twice the rows of the one before.
    let doubled = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + i FROM r, (VALUES (1), (2)) AS v(i)) SELECT count(*) FROM r";
    assert_eq!(client.fails(doubled).0, "53400");
    // What has been seen is held.
    let counted = "WITH RECURSIVE r(n) AS (SELECT 1 UNION SELECT n + 1 FROM r) SELECT count(*) FROM r";
    let error = client.try_run(counted).expect_err("no end");
    assert_eq!(
        (error.sqlstate, &*error.message),
        ("53200", "out of memory: WITH RECURSIVE needs more than 65536 bytes")
    );
    assert_eq!(client.value("SELECT 1"), "1");
}

#[test]
fn an_index_that_is_built_is_counted() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (id int, name text)");
    client.run("INSERT INTO t SELECT i, 'name ' || i FROM generate_series(1, 20000) AS s(i)");
    // Sorted in files where it may not hold as much, and refused where they may not, either.
    client
        .run("SET statement_memory_limit = '512kB'; SET temp_file_limit = '64kB'; SET parallel_workers = 1");
    for sql in ["CREATE INDEX i ON t (name)", "ALTER TABLE t ADD UNIQUE (name, id)"] {
        let error = client.try_run(sql).expect_err(sql);
        assert_eq!(
            (error.sqlstate, &*error.message),
            ("53400", "temporary file size exceeds \"temp_file_limit\" (64kB)")
        );
    }
    client.run("RESET temp_file_limit; CREATE INDEX i ON t (name)");
    assert_eq!(client.value("SELECT id FROM t WHERE name = 'name 777'"), "777");
    assert_eq!(world.instance.held_bytes(), 0);
}

/// What one statement made gigabytes of.
#[test]
fn values_and_batches_are_bounded_in_bytes() {
    let world = World::new();
    let mut client = world.connect();
    client.run("SET statement_memory_limit = '64MB'");
    for (sql, code) in [
        ("SELECT length(replace(repeat('x', 1000000000), 'x', 'yy'))", "53200"),
        ("SELECT length(repeat('x', 2000000000))", "54000"),
        ("SELECT length(string_agg(repeat('x', 1000000), '')) FROM generate_series(1, 2000)", "53200"),
        ("SELECT cardinality(array_agg(repeat('x', 1000000))) FROM generate_series(1, 7000)", "53200"),
        ("SELECT length(concat(a, a, a, a)) FROM (SELECT repeat('x', 20000000) AS a) AS s", "53200"),
        ("SELECT length(regexp_replace(repeat('x', 10000000), 'x', 'yyyyyyyyyy', 'g'))", "53200"),
    ] {
        assert_eq!(client.fails(sql).0, code, "{sql}");
    }
    // None of these holds more than a few of its rows at a time.
    for (sql, result) in [
        ("SELECT sum(length(repeat('x', 1000000))) FROM generate_series(1, 300)", "300000000"),
        (
            "SELECT sum(length(a)) FROM (SELECT repeat('x', 1000000) AS a FROM generate_series(1, 300)) AS s",
            "300000000",
        ),
        ("SELECT count(*) FROM generate_series(1, 300) WHERE repeat('x', 1000000) = 'x'", "0"),
        (
            "SELECT sum(length(a || b)) FROM (SELECT repeat('x', 1000000) AS a, i::text AS b FROM generate_series(1, 200) AS s(i)) AS s",
            "200000492",
        ),
        (
            "SELECT sum(length(a)) FROM (VALUES (repeat('x', 9000000))) AS v(a), generate_series(1, 50)",
            "450000000",
        ),
    ] {
        assert_eq!(client.value(sql), result, "{sql}");
    }
    client.run("CREATE TABLE long (id int, a text)");
    client.run("INSERT INTO long SELECT i, repeat('x', 3000000) FROM generate_series(1, 60) AS s(i)");
    assert_eq!(client.value("SELECT sum(length(a)) FROM long"), "180000000");
    client.run("SET work_mem = '16MB'");
    assert_eq!(
        client.value("SELECT sum(length(a)) FROM (SELECT a FROM long ORDER BY id DESC) AS s"),
        "180000000"
    );
}

/// A text is counted before it is parsed, a prepared statement as long as it is there.
#[test]
fn long_texts_are_counted() {
    let world = World::new();
    let mut client = world.connect();
    let long = format!("VALUES {}(0)", "(1),".repeat(100_000));
    client.run("SET session_memory_limit = '16MB'");
    let error = client.try_run(&long).expect_err("too long");
    assert_eq!((error.sqlstate, error.hint.as_deref()), ("53200", Some("Raise session_memory_limit.")));
    client.run("SET session_memory_limit = 0");
    assert_eq!(client.run(&long).len(), 100_002);
    assert_eq!(world.instance.held_bytes(), 0);
    let prepared = client.session.prepare(&long, &[]).expect("a statement");
    assert!(world.instance.held_bytes() > 16 << 20);
    drop(prepared);
    assert_eq!(world.instance.held_bytes(), 0);
}

/// A client in whose sink the server has a bug.
struct Broken;

impl StatementSink for Broken {
    fn begin(&mut self, _: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn batch(&mut self, _: &Batch) -> Result<(), SqlError> {
        panic!("a bug that a test has made");
    }

    fn complete(&mut self, _: &CommandTag) -> Result<(), SqlError> {
        Ok(())
    }

    fn notice(&mut self, _: &Notice) -> Result<(), SqlError> {
        Ok(())
    }
}

#[test]
fn a_panic_ends_its_statement_and_its_transaction_only() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE t (a int)");
    client.run("BEGIN; INSERT INTO t VALUES (1)");
    let error = client.session.execute("SELECT a FROM t", &[], &mut Broken).expect_err("a panic");
    assert_eq!(error.sqlstate, "XX000");
    assert!(error.message.ends_with("a bug that a test has made"), "{error:?}");
    assert_eq!(client.fails("SELECT 1").0, "25P02");
    client.run("ROLLBACK");
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
    client.session.execute("INSERT INTO t VALUES (2) RETURNING a", &[], &mut Broken).expect_err("a panic");
    assert_eq!(client.value("SELECT count(*) FROM t"), "0");
    assert_eq!(world.connect().value("SELECT 1"), "1");
}

/// Statements of many kinds, each request for memory refused once: the statement does what it says or nothing, and the
/// session goes on.
#[test]
fn memory_that_is_refused_anywhere_ends_the_statement_only() {
    let world = World::new();
    let mut client = world.connect();
    let memory = world.instance.memory();
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, name text, other int); CREATE TABLE copy (id int, name text);
         INSERT INTO t SELECT i, repeat('n', i % 300), i % 50 FROM generate_series(1, 1500) AS s(i);
         CREATE FUNCTION longest(wanted int) RETURNS SETOF text LANGUAGE plpgsql AS $$
           DECLARE n text;
           BEGIN
             FOR n IN SELECT name FROM t WHERE other >= wanted ORDER BY name DESC LOOP
               RETURN NEXT n || repeat('x', 100);
             END LOOP;
           END $$",
    );
    let sum = "SELECT count(*), sum(id), sum(length(name)) FROM";
    for sql in [
        "SELECT id, name FROM t ORDER BY name, id",
        "SELECT other, count(DISTINCT name), string_agg(name, ',' ) FROM t GROUP BY other",
        "SELECT a.id, b.name FROM t AS a LEFT JOIN t AS b ON a.other = b.id",
        "SELECT id FROM t WHERE name IN (SELECT name FROM t WHERE id > 1400) EXCEPT SELECT other FROM t",
        "SELECT n, count(*) FROM longest(3) AS l(n) GROUP BY n",
        "WITH RECURSIVE r(i, n) AS (SELECT 1, 'x' UNION SELECT i + 1, n || 'yyyyyyyyyyyyyyy' FROM r WHERE i < 60) \
         SELECT count(*), max(length(n)) FROM r",
        "INSERT INTO copy SELECT id, name || name FROM t",
        "INSERT INTO copy SELECT id + 1, name FROM copy",
        "UPDATE copy SET name = t.name || 'z' FROM t WHERE t.id = copy.id",
        "DELETE FROM copy USING t WHERE t.id = copy.id AND t.other > 25",
    ] {
        // Rows found for a change are held in memory.
        let changes = sql.starts_with("UPDATE") || sql.starts_with("DELETE");
        client.run(if changes { "SET work_mem = '2MB'" } else { "SET work_mem = '64kB'" });
        let mut refused = 0;
        for request in 1..400 {
            client.run("BEGIN");
            let before = client.run(&format!("{sum} copy"));
            client.run("SAVEPOINT s");
            memory.refuse_at(request);
            let result = client.try_run(sql);
            let was_refused = memory.has_refused();
            memory.refuse_at(0);
            match result {
                Ok(_) => client.run("ROLLBACK"),
                Err(error) => {
                    assert_eq!(error.sqlstate, "53200", "{sql} {request}: {error:?}");
                    client.run("ROLLBACK TO s");
                    assert_eq!(client.run(&format!("{sum} copy")), before, "{sql} {request}");
                    client.run("COMMIT")
                }
            };
            if !was_refused {
                break;
            }
            refused += 1;
        }
        assert!(refused > 0, "{sql} asks for no memory");
        client.run(sql);
    }
    drop(client);
    assert_eq!(world.instance.held_bytes(), 0);
}

/// An UPDATE whose entries split pages of indexes of several kinds, each request for memory refused once: it is undone whole, and what
/// the indexes find is what the table has.
#[test]
fn memory_that_is_refused_while_pages_of_indexes_split_leaves_nothing() {
    let world = World::new();
    let mut client = world.connect();
    let memory = world.instance.memory();
    client.run(
        "CREATE TABLE t (id int PRIMARY KEY, k int, w text, b text[]);
         CREATE UNIQUE INDEX ON t (k, id); CREATE INDEX ON t (w); CREATE INDEX ON t (lower(w), k) WHERE k > 3;
         CREATE INDEX ON t USING gin (b);
         INSERT INTO t SELECT n, n, repeat('w', n % 40) || n, ARRAY[n::text, (n % 7)::text] FROM generate_series(1, 900) AS n",
    );
    // Rows found for a change are held in memory.
    client.run("SET work_mem = '2MB'");
    let change =
        "UPDATE t SET k = t.k * 7919 % 10007 + 20000, w = md5(o.id::text) || repeat('x', 30 + t.id % 60),
                         b = ARRAY[md5(t.id::text), o.w, t.id::text] FROM t AS o WHERE o.id = t.id";
    let questions = [
        "SELECT count(*), sum(hashtext(t::text)) FROM t",
        "SELECT count(*), sum(k) FROM t WHERE k > -1",
        "SELECT count(*), min(w), max(w) FROM t WHERE w >= ''",
        "SELECT count(*), sum(id) FROM t WHERE lower(w) > 'a' AND k > 3",
        "SELECT count(*), sum(id) FROM t WHERE b @> ARRAY['3']",
    ];
    let contents = |client: &mut Client| {
        client.run("SET enable_seqscan = off");
        questions.iter().map(|question| client.run(question)).collect::<Vec<_>>()
    };
    let before = contents(&mut client);
    let mut refused = 0;
    for request in 1..4000 {
        client.run("BEGIN; SAVEPOINT s");
        memory.refuse_at(request);
        let result = client.try_run(change);
        let was_refused = memory.has_refused();
        memory.refuse_at(0);
        if let Err(error) = result {
            assert_eq!(error.sqlstate, "53200", "{request}: {error:?}");
            client.run("ROLLBACK TO s");
            assert_eq!(contents(&mut client), before, "{request}");
        }
        client.run("ROLLBACK");
        if !was_refused {
            break;
        }
        refused += 1;
    }
    assert!(refused > 0, "it asks for no memory");
    assert_eq!(contents(&mut client), before);
    let report = world.instance.engine.check(&mut |_| ()).unwrap();
    assert!(report.problems.is_empty(), "{:?}", report.problems);
}

#[test]
fn the_parts_of_a_text_are_charged_as_they_are_made_and_bounded() {
    let world = World::new();
    let mut client = world.connect();
    let parts = |count: usize| format!("SELECT cardinality(string_to_array(repeat('a,', {count}), ','))");
    assert_eq!(client.value(&parts(100_000)), "100001");
    client.run("SET statement_memory_limit = '16MB'");
    let text = parts(1_000_000);
    let by_pattern = text.replace("string_to_array", "regexp_split_to_array");
    for sql in [text.replace("','))", "NULL))"), text, by_pattern] {
        let refused = ("53200", "out of memory: an array needs more than 16777216 bytes".to_string());
        assert_eq!(client.fails(&sql), refused, "{sql}");
    }
}

#[test]
fn statements_and_cursors_that_are_kept_are_charged() {
    let world = World::new();
    let mut client = world.connect();
    client.run("SET session_memory_limit = '1MB'");
    client.run("BEGIN");
    let refused = |client: &mut Client, text: &dyn Fn(usize) -> String| {
        let first = (0..1000).find(|n| client.try_run(&text(*n)).is_err()).expect("a limit");
        assert!((10..200).contains(&first), "{first}");
        client.run("ROLLBACK; BEGIN");
    };
    refused(&mut client, &|n| format!("DECLARE c{n} CURSOR FOR SELECT {n}"));
    // Those of a transaction that has ended take nothing any more.
    refused(&mut client, &|n| format!("DECLARE c{n} CURSOR FOR SELECT {n}"));
    refused(&mut client, &|n| format!("PREPARE p{n} AS SELECT {n}"));
    assert_eq!(client.fails("PREPARE q AS SELECT 1").0, "53200");
    client.run("ROLLBACK; DEALLOCATE ALL; PREPARE q AS SELECT 1");
    assert_eq!(client.value("EXECUTE q"), "1");
}

#[test]
fn a_long_line_of_copy_is_charged_while_it_comes() {
    let world = World::new();
    let mut client = world.connect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("long.txt");
    std::fs::write(&file, format!("short\n{}\n", "x".repeat(3 << 20))).unwrap();
    client.run("CREATE TABLE t (a text)");
    let copy = format!("COPY t FROM '{}'", file.display());
    client.run("SET statement_memory_limit = '4MB'");
    let (sqlstate, message) = client.fails(&copy);
    assert_eq!((sqlstate, message.contains("a line of COPY")), ("53200", true), "{message}");
    client.run("SET statement_memory_limit = '64MB'");
    assert_eq!(client.run(&copy), ["COPY 2"]);
    assert_eq!(client.value("SELECT max(length(a)) FROM t"), "3145728");
}

#[test]
fn keys_of_foreign_keys_are_charged_and_looked_at_before_there_are_too_many() {
    let world = World::new();
    let mut client = world.connect();
    client.run("CREATE TABLE p (id int PRIMARY KEY)");
    client.run("INSERT INTO p SELECT generate_series(1, 80000)");
    client.run("CREATE TABLE c (id int REFERENCES p)");
    client.run("CREATE TABLE late (id int REFERENCES p DEFERRABLE INITIALLY DEFERRED)");
    client.run("CREATE TABLE own (id int PRIMARY KEY, above int REFERENCES own)");
    client.run("SET statement_memory_limit = '8MB'");
    let add = "INSERT INTO c SELECT generate_series(1, 80000)";
    assert_eq!(client.run(add), ["INSERT 0 80000"]);
    // One that is not there, in the middle of those that are.
    let missing =
        "INSERT INTO c SELECT CASE i WHEN 30000 THEN 0 ELSE i END FROM generate_series(1, 80000) AS s(i)";
    assert_eq!(client.fails(missing).0, "23503");
    assert_eq!(client.value("SELECT count(*) FROM c"), "80000");
    client.run("ALTER TABLE c ADD FOREIGN KEY (id) REFERENCES p");
    // What has to wait for the end is bounded.
    for (sql, what) in [
        ("INSERT INTO own SELECT i, i FROM generate_series(1, 80000) AS s(i)", "foreign keys"),
        ("DELETE FROM p", "foreign keys"),
        ("INSERT INTO late SELECT generate_series(1, 80000)", "foreign keys deferred to the commit"),
    ] {
        let (sqlstate, message) = client.fails(sql);
        assert_eq!(
            (sqlstate, &*message),
            ("53200", &*format!("out of memory: {what} needs more than 8388608 bytes")),
            "{sql}"
        );
    }
    client.run("SET statement_memory_limit = 0");
    assert_eq!(
        client.run("INSERT INTO own SELECT i, i FROM generate_series(1, 80000) AS s(i)"),
        ["INSERT 0 80000"]
    );
    assert_eq!(client.run("INSERT INTO late SELECT generate_series(1, 80000)"), ["INSERT 0 80000"]);
}

#[test]
fn a_text_that_grows_is_charged_with_the_room_that_it_moves_to() {
    let world = World::new();
    let mut client = world.connect();
    client.run("SET statement_memory_limit = '8MB'");
    let grow = |thousands: u32| {
        format!(
            "DO $$ DECLARE s text := ''; BEGIN
               FOR i IN 1..{thousands} LOOP s := s || repeat('x', 1000); END LOOP;
             END $$"
        )
    };
    assert_eq!(client.run(&grow(2000)), ["DO"]);
    assert_eq!(client.fails(&grow(5500)).0, "53200");
}

#[test]
fn messages_that_wait_are_charged_and_those_that_are_sent_at_once_are_not() {
    let world = World::new();
    let mut client = world.connect();
    client.run("SET statement_memory_limit = '8MB'");
    let raise = "DO $$ BEGIN FOR i IN 1..20000 LOOP RAISE NOTICE '%', repeat('x', 1000); END LOOP; END $$";
    assert_eq!(client.run(raise).len(), 20_001);
    // What is done at the commit has no client of its own.
    client.run(
        "CREATE TABLE t (a int);
         CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$
begin
  for i in 1..20000 loop raise notice '%', repeat('x', 1000); end loop;
  return null;
end $$;
         CREATE CONSTRAINT TRIGGER late AFTER INSERT ON t INITIALLY DEFERRED
             FOR EACH ROW EXECUTE FUNCTION late()",
    );
    let raise = "INSERT INTO t VALUES (1)";
    let (sqlstate, message) = client.fails(raise);
    assert_eq!((sqlstate, message.contains("messages to the client")), ("53200", true), "{message}");
    client.run("SET statement_memory_limit = 0");
    client.run(raise);
}
