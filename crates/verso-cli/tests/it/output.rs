//! What the shell prints: tables, notices, statistics, descriptions.

use crate::world::World;

#[test]
fn tables_stand_as_in_psql() {
    let world = World::new();
    let sql = "CREATE TABLE t (id NUMERIC(18,2), name VARCHAR(20), b BYTEA, f DOUBLE PRECISION, ok BOOLEAN, d DATE);
               INSERT INTO t VALUES (1, 'a', '\\x0102', 1.5, true, '2020-01-31'), (2.5, NULL, NULL, NULL, NULL, NULL);";
    world.sql("a.verso", sql);
    assert_eq!(
        world.sql("a.verso", "SELECT * FROM t ORDER BY id"),
        concat!(
            "  id  | name |   b    |  f  | ok |     d      \n",
            "------+------+--------+-----+----+------------\n",
            " 1.00 | a    | \\x0102 | 1.5 | t  | 2020-01-31\n",
            " 2.50 |      |        |     |    | \n",
            "(2 rows)\n\n"
        )
    );
    let run = world.verso(&["shell", "a.verso", "-c", "\\x", "-c", "SELECT id, name FROM t WHERE id = 1"]);
    assert_eq!(run.out, "Expanded display is on.\n-[ RECORD 1 ]\nid   | 1.00\nname | a\n\n", "{run:?}");
}

#[test]
fn figures_follow_each_statement_when_switched_on() {
    let world = World::new();
    let input = "CREATE TABLE t (a INTEGER);\nSET TIME ON;\nSET STAT ON;\nINSERT INTO t VALUES (1);\nSET STAT OFF;\nSET TIME OFF;\nSELECT 1;\n";
    let run = world.verso_with_input(&["shell", "a.verso"], input);
    let lines: Vec<&str> = run.out.lines().collect();
    let names: Vec<&str> =
        lines[2..13].iter().map(|line| line.split([':', '=']).next().unwrap_or("").trim()).collect();
    assert_eq!(lines[..2], ["CREATE TABLE", "INSERT 0 1"], "{run:?}");
    assert_eq!(
        names,
        [
            "Time",
            "Current memory",
            "Delta memory",
            "Max memory",
            "Elapsed time",
            "Buffers",
            "Reads",
            "Writes",
            "Fetches",
            "Redo",
            "Waits"
        ]
    );
    let figure = |name: &str| -> i64 {
        let line = lines.iter().find(|line| line.starts_with(name)).expect("it is there");
        line.rsplit("= ").next().and_then(|number| number.parse().ok()).expect("a number")
    };
    // Real counters: an insert touches pages, writes log, and the process has memory.
    assert!(figure("Fetches") > 0 && figure("Redo") > 0, "{run:?}");
    assert!(figure("Buffers") > 0 && figure("Current memory") > 1_000_000, "{run:?}");
    assert_eq!(run.out.matches("Fetches").count(), 1);
}

#[test]
fn objects_are_listed_and_described() {
    let world = World::new();
    let script = "CREATE SEQUENCE s START 5;
        CREATE TABLE test (id NUMERIC(18,2) NOT NULL, name VARCHAR(120) COLLATE \"de-x-icu\" DEFAULT 'x', notes BLOB);
        CREATE VIEW v AS SELECT name FROM test;
        CREATE FUNCTION f(n INTEGER) RETURNS TABLE (records BIGINT) AS $$ BEGIN RETURN QUERY SELECT count(*) FROM test; END $$ LANGUAGE plpgsql;";
    world.sql("a.verso", script);
    assert_eq!(
        world.sql("a.verso", "\\d"),
        concat!(
            "        List of relations\n",
            " Schema | Name |   Type   | Owner \n",
            "--------+------+----------+-------\n",
            " public | s    | sequence | verso\n",
            " public | test | table    | verso\n",
            " public | v    | view     | verso\n",
            "(3 rows)\n\n"
        )
    );
    assert!(world.sql("a.verso", "\\d v").contains("View \"public.v\""));
    assert_eq!(
        world.sql("a.verso", "\\d TEST"),
        concat!(
            "                               Table \"public.test\"\n",
            " Column |          Type          | Collation | Nullable |        Default         \n",
            "--------+------------------------+-----------+----------+------------------------\n",
            " id     | numeric(18,2)          |           | not null | \n",
            " name   | character varying(120) | de-x-icu  |          | 'x'::character varying\n",
            " notes  | bytea                  |           |          | \n",
            "\n"
        )
    );
    assert!(
        world
            .sql("a.verso", "\\df")
            .contains(" public | f    | TABLE(records bigint) | n integer           | func\n")
    );
    let sequence = world.sql("a.verso", "\\d s");
    assert!(sequence.contains("Sequence \"public.s\"") && sequence.contains("     5 |"), "{sequence}");
    let run = world.verso(&["shell", "a.verso", "-c", "\\d nosuch"]);
    assert_eq!(run.code, 1);
    assert!(run.err.contains("Did not find any relation named \"nosuch\""), "{run:?}");
}

#[test]
fn indexes_and_constraints_stand_below_the_columns() {
    let world = World::new();
    let script = "CREATE TABLE p (id INTEGER PRIMARY KEY, n TEXT UNIQUE DEFERRABLE, c INTEGER CHECK (c > 0));
        CREATE TABLE c (a INTEGER, b TEXT, FOREIGN KEY (a) REFERENCES p ON DELETE CASCADE);
        CREATE UNIQUE INDEX c_ab ON c (b DESC, a NULLS FIRST) NULLS NOT DISTINCT; CREATE INDEX ON c (a);";
    world.sql("a.verso", script);
    let below =
        |text: String| text.lines().skip_while(|line| !line.ends_with(':')).collect::<Vec<_>>().join("\n");
    assert_eq!(
        below(world.sql("a.verso", "\\d p")),
        concat!(
            "Indexes:\n",
            "    \"p_pkey\" PRIMARY KEY, btree (id)\n",
            "    \"p_n_key\" UNIQUE CONSTRAINT, btree (n) DEFERRABLE\n",
            "Check constraints:\n",
            "    \"p_c_check\" CHECK (c > 0)\n",
            "Referenced by:\n",
            "    TABLE \"c\" CONSTRAINT \"c_a_fkey\" FOREIGN KEY (a) REFERENCES p(id) ON DELETE CASCADE\n"
        )
    );
    assert_eq!(
        below(world.sql("a.verso", "\\d c")),
        concat!(
            "Indexes:\n",
            "    \"c_a_idx\" btree (a)\n",
            "    \"c_ab\" UNIQUE, btree (b DESC, a NULLS FIRST) NULLS NOT DISTINCT\n",
            "Foreign-key constraints:\n",
            "    \"c_a_fkey\" FOREIGN KEY (a) REFERENCES p(id) ON DELETE CASCADE\n"
        )
    );
    assert!(world.sql("a.verso", "\\d p_pkey").ends_with("primary key, btree, for table \"public.p\"\n\n"));
    assert!(world.sql("a.verso", "\\di").contains(" public | c_ab    | index | verso | c\n"));
}

#[test]
fn notices_go_to_standard_error() {
    let world = World::new();
    let sql = "DO $$ BEGIN RAISE NOTICE 'hello %', 7; END $$";
    let run = world.verso(&["shell", "a.verso", "-c", sql]);
    assert_eq!((run.code, run.err.as_str()), (0, "NOTICE:  hello 7\n"), "{run:?}");
}

#[test]
fn the_demo_answers_sql_at_once_and_leaves_nothing() {
    let world = World::new();
    let run = world.verso_with_input(&["shell", "--demo"], "SELECT count(*) AS n FROM book;\n");
    assert_eq!((run.code, run.out.as_str()), (0, " n \n---\n 6\n(1 row)\n\n"), "{run:?}");
    assert_eq!(std::fs::read_dir(world.path()).expect("readable").count(), 0);
    let insert = "INSERT INTO reading VALUES (7, '2026-01-05', 1);\n";
    let run = world.verso_with_input(&["shell", "--demo"], insert);
    assert!(run.err.contains("23503") && run.err.contains("is not present in table \"book\""), "{run:?}");
    world.sql("mine.verso", "CREATE TABLE t (a INTEGER)");
    let run = world.verso_with_input(&["shell", "mine.verso", "--demo"], "SELECT count(*) FROM t;\n");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("mine.verso is there already: --demo adds nothing to it"), "{run:?}");
    let run = world.verso_with_input(&["shell", "new.verso", "--demo"], "SELECT count(*) FROM book;\n");
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
}

#[test]
fn without_a_database_the_hint_says_how_to_open_one() {
    let run = World::new().verso_with_input(&["shell"], "SELECT 1;\n");
    assert!(run.err.contains("08003") && run.err.contains("HINT:"), "{run:?}");
}
