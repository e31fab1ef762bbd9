//! What names mean is the same in a database that is restored, whatever was made after what names it.

use std::path::Path;
use std::sync::{Arc, Mutex};

use verso_backup::{BackupOptions, Event, Job, RestoreOptions};
use versodb::Database;

use crate::world::{Memory, answer, archive, database, open, restore, script};

/// Saves what a script makes, restores it, and asks both the same questions.
fn means_the_same(made: &str, questions: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let original = database(&folder.path().join("a.verso"), made);
    let path = folder.path().join("b.verso");
    restore(&archive(&original, &BackupOptions::default()), &path, &RestoreOptions::default()).unwrap();
    let copy = open(&path);
    for question in questions {
        let [before, after] = [&original, &copy].map(|one| answer(&mut one.connect().unwrap(), question));
        assert_eq!(before, after, "{question}");
    }
    assert_eq!(script(&original), script(&copy));
}

#[test]
fn casts_say_which_of_several_functions_and_operators_is_meant() {
    means_the_same(
        "CREATE SCHEMA s;
        CREATE FUNCTION h(bigint) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 64';
        CREATE FUNCTION s.plus(bigint, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1 + $2';
        CREATE OPERATOR s.|+| (FUNCTION = s.plus, LEFTARG = bigint, RIGHTARG = bigint);
        CREATE TABLE t (id int PRIMARY KEY, a int DEFAULT h(1) CHECK (h(a) > 63), b int GENERATED ALWAYS AS (h(a)) STORED,
            c bigint DEFAULT (1 OPERATOR(s.|+|) 2));
        CREATE DOMAIN d AS int DEFAULT h(1) CHECK (h(VALUE) > 63);
        CREATE VIEW v AS SELECT h(1) AS one, h(id) AS two, id OPERATOR(s.|+|) 1 AS three FROM t;
        ALTER VIEW v ALTER COLUMN one SET DEFAULT h(3);
        CREATE VIEW over_v AS SELECT one, h(2) FROM v;
        CREATE MATERIALIZED VIEW m AS SELECT h(5);
        CREATE TABLE p (a int) PARTITION BY RANGE (h(a));
        CREATE TABLE p64 PARTITION OF p FOR VALUES FROM (64) TO (65);
        CREATE INDEX i ON t (h(a)) WHERE h(a) > 1;
        CREATE POLICY allowed ON t USING (h(a) > 63) WITH CHECK (h(1) = 64);
        CREATE FUNCTION f(x int DEFAULT h(1)) RETURNS int RETURN h(x);
        CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
        CREATE TRIGGER told BEFORE UPDATE ON t FOR EACH ROW WHEN (h(NEW.a) > 63) EXECUTE FUNCTION nothing();
        CREATE STATISTICS st ON (h(a)), a FROM t;
        INSERT INTO t (id) VALUES (1), (2);
        INSERT INTO p VALUES (1);
        CREATE FUNCTION h(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 32';
        CREATE FUNCTION s.minus(int, int) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT $1 - $2';
        CREATE OPERATOR s.|+| (FUNCTION = s.minus, LEFTARG = int, RIGHTARG = int);
        CREATE VIEW of_int AS SELECT h(1) AS thirty_two, 1 OPERATOR(s.|+|) 2 AS difference",
        &[
            "TABLE v",
            "TABLE over_v",
            "TABLE m",
            "TABLE of_int",
            "SELECT * FROM t ORDER BY id",
            "SELECT f(), f(1)",
            "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef ORDER BY 1",
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint ORDER BY 1",
            "SELECT pg_get_partkeydef('p'::regclass), pg_get_indexdef('i'::regclass), pg_get_viewdef('v'::regclass)",
            "SELECT qual, with_check FROM pg_policies",
            "SELECT typdefault FROM pg_type WHERE typname = 'd'",
            "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal",
            "SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext",
        ],
    );
}

#[test]
fn built_in_functions_are_meant_whatever_users_have_called_as_they_are() {
    means_the_same(
        "CREATE TABLE t (id int, w varchar CHECK (upper(w) <> 'X') DEFAULT upper('a'::varchar));
        INSERT INTO t VALUES (1, 'b');
        CREATE VIEW v AS SELECT upper(w) AS big, length(w) AS long FROM t;
        CREATE FUNCTION big(varchar) RETURNS text RETURN upper($1);
        CREATE FUNCTION own() RETURNS int LANGUAGE sql AS 'SELECT 5';
        CREATE MATERIALIZED VIEW m AS SELECT upper(w), own() FROM t;
        CREATE FUNCTION upper(varchar) RETURNS text LANGUAGE sql IMMUTABLE AS $$SELECT 'mine'$$;
        CREATE FUNCTION length(varchar) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT -1';
        CREATE VIEW own_upper AS SELECT upper(w) FROM t",
        &["TABLE v", "TABLE m", "TABLE own_upper", "SELECT big('c')", "TABLE t"],
    );
}

#[test]
fn functions_that_call_each_other_come_back() {
    means_the_same(
        "CREATE FUNCTION even(n int) RETURNS boolean RETURN n = 0;
        CREATE FUNCTION odd(n int) RETURNS boolean IMMUTABLE RETURN CASE n WHEN 0 THEN false ELSE even(n - 1) END;
        CREATE OR REPLACE FUNCTION even(n int) RETURNS boolean STRICT RETURN CASE n WHEN 0 THEN true ELSE odd(n - 1) END;
        CREATE FUNCTION over_both(n int) RETURNS boolean BEGIN ATOMIC SELECT even(n) OR odd(n); END;
        CREATE TABLE t (a int, b boolean DEFAULT even(4));
        CREATE VIEW v AS SELECT over_both(a), count(*) FROM t GROUP BY a;
        CREATE FUNCTION texts_1(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
        CREATE FUNCTION texts_2(int) RETURNS int LANGUAGE sql AS 'SELECT texts_1($1)';
        CREATE OR REPLACE FUNCTION texts_1(int) RETURNS int LANGUAGE sql AS 'SELECT CASE WHEN $1 > 0 THEN texts_2($1 - 1) ELSE 0 END';
        INSERT INTO t (a) VALUES (1)",
        &[
            "SELECT even(7), odd(7), over_both(3)",
            "TABLE t",
            "TABLE v",
            "SELECT texts_1(3)",
            "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1",
        ],
    );
}

#[test]
fn functions_that_call_themselves_and_that_use_casts_come_back() {
    means_the_same(
        "CREATE FUNCTION countdown(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
        CREATE OR REPLACE FUNCTION countdown(int) RETURNS int LANGUAGE sql
            BEGIN ATOMIC SELECT CASE WHEN $1 > 0 THEN countdown($1 - 1) ELSE 0 END; END;
        CREATE TYPE c AS (f int);
        CREATE TYPE shade AS ENUM ('dark', 'light');
        CREATE FUNCTION castf(c) RETURNS int LANGUAGE sql IMMUTABLE RETURN ($1).f;
        CREATE CAST (c AS int) WITH FUNCTION castf(c);
        CREATE CAST (shade AS int) WITH INOUT;
        CREATE FUNCTION by_function() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT row(1)::c::int; END;
        CREATE FUNCTION by_text(shade) RETURNS int LANGUAGE sql RETURN $1::int;
        CREATE TABLE t (a c);
        INSERT INTO t VALUES (row(7));
        CREATE FUNCTION over_rows() RETURNS int LANGUAGE sql BEGIN ATOMIC SELECT a::int FROM t; END",
        &[
            "SELECT countdown(3), by_function(), over_rows()",
            "SELECT proname, pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace ORDER BY 1",
        ],
    );
}

#[test]
fn functions_that_came_with_range_types_keep_the_names_that_they_have() {
    means_the_same(
        "CREATE SCHEMA s;
        CREATE TYPE rg AS RANGE (subtype = int);
        CREATE TYPE other AS RANGE (subtype = text);
        CREATE VIEW v AS SELECT rg(1, 2), rg(1, 2, '[]') AS closed, rg_multirange(rg(3, 4)) AS several, rg_multirange() AS none;
        CREATE TABLE t (a int, b int);
        CREATE INDEX i ON t (rg(a, b));
        ALTER TYPE rg RENAME TO rg2;
        ALTER TYPE rg2 SET SCHEMA s;
        ALTER TYPE rg_multirange RENAME TO many;
        ALTER FUNCTION other(text, text) RENAME TO another",
        &[
            "TABLE v",
            "SELECT pg_get_indexdef('i'::regclass), pg_get_viewdef('v'::regclass)",
            "SELECT p.oid::regprocedure::text, pronamespace::regnamespace FROM pg_proc p WHERE p.oid >= 16384 ORDER BY 1",
            "SELECT another('a', 'b'), other('a', 'b', '[]')",
        ],
    );
}

#[test]
fn views_that_read_themselves_come_back() {
    means_the_same(
        "CREATE TABLE t (a int);
        CREATE VIEW v AS SELECT a FROM t;
        CREATE VIEW w AS SELECT a FROM v;
        CREATE VIEW x AS SELECT a FROM w WHERE a > 1;
        CREATE OR REPLACE VIEW v AS SELECT a FROM w UNION SELECT a FROM t;
        CREATE VIEW own AS SELECT 1 AS n;
        CREATE OR REPLACE VIEW own AS SELECT n FROM own",
        &[
            "SELECT c.relname, a.attname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE relkind = 'v' AND c.oid >= 16384 ORDER BY 1, 2",
        ],
    );
}

#[test]
fn names_of_not_null_constraints_that_tables_share_come_back() {
    means_the_same(
        "CREATE TABLE t (a int NOT NULL, s serial);
        ALTER TABLE t RENAME TO a_other;
        CREATE TABLE t (a int NOT NULL);
        ALTER TABLE t RENAME CONSTRAINT t_a_not_null1 TO t_a_not_null;
        CREATE TABLE same (id int GENERATED ALWAYS AS IDENTITY, n bigint);
        ALTER TABLE same ALTER COLUMN n SET DEFAULT nextval('same_id_seq')",
        &[
            "SELECT conrelid::regclass::text, conname FROM pg_constraint ORDER BY 1, 2",
            "SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef ORDER BY 1",
        ],
    );
}

#[test]
fn columns_that_are_renamed_and_used_as_fields_come_back() {
    means_the_same(
        "CREATE TABLE r (a int, b int, c text);
        INSERT INTO r VALUES (1, 2, 'three');
        CREATE FUNCTION field(x r) RETURNS int RETURN x.b;
        CREATE FUNCTION first_field(r) RETURNS int RETURN ($1).b;
        CREATE FUNCTION rows_of() RETURNS SETOF r LANGUAGE sql AS 'SELECT * FROM r';
        CREATE FUNCTION of_rows() RETURNS text RETURN (SELECT c FROM rows_of());
        CREATE VIEW over_rows AS SELECT c FROM rows_of() AS f WHERE f.b = 2;
        CREATE FUNCTION changes() RETURNS void BEGIN ATOMIC UPDATE r SET b = b + 1 WHERE c = 'three'; END;
        ALTER TABLE r RENAME COLUMN b TO bb;
        ALTER TABLE r RENAME COLUMN c TO cc",
        &[
            "SELECT field(r), first_field(r), of_rows() FROM r",
            "TABLE over_rows",
            "SELECT changes() IS NULL",
            "TABLE r",
        ],
    );
}

#[test]
fn a_script_asks_for_the_extensions_that_its_indexes_need() {
    let folder = tempfile::tempdir().unwrap();
    let made = "CREATE TABLE t (id int, w text, r int4range, EXCLUDE USING gist (id WITH =, r WITH &&));
        CREATE INDEX ON t USING gin (w gin_trgm_ops)";
    let original = database(&folder.path().join("a.verso"), made);
    let text = script(&original);
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what}: {text}"));
    for extension in ["btree_gist", "pg_trgm"] {
        let made = format!("CREATE EXTENSION IF NOT EXISTS {extension} WITH SCHEMA public;");
        assert!(place(&made) < place("CREATE TABLE"), "{text}");
    }
    place("public.gin_trgm_ops");
}

fn notices(database: &Database, tables: &[&str]) -> Vec<String> {
    let told = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&told);
    let job = Job::new(move |event| {
        if let Event::Notice(text) = event {
            heard.lock().unwrap().push((*text).to_owned());
        }
    });
    let tables = tables.iter().map(|table| (*table).to_owned()).collect();
    let options = BackupOptions { tables, ..BackupOptions::default() };
    verso_backup::backup(database, Memory::default(), &options, &Arc::new(job)).unwrap();
    let told = told.lock().unwrap();
    told.clone()
}

#[test]
fn a_table_without_its_partitions_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let path: &Path = &folder.path().join("a.verso");
    let made = "CREATE TABLE p (a int) PARTITION BY LIST (a);
        CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
        CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2)";
    let original = database(path, made);
    let text = "table public.p is saved without its partitions, and these have its rows: public.p2";
    assert_eq!(notices(&original, &["p", "p1"]), [text]);
    assert!(notices(&original, &[]).is_empty() && notices(&original, &["p1"]).is_empty());
}
