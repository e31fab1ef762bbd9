//! What is saved comes back.

use std::path::Path;

use verso_backup::{BackupOptions, Compression, RestoreOptions};

use crate::world::{EVERYTHING, answers, archive, database, open, restore, script};

fn comes_back(folder: &Path, name: &str, saved: &BackupOptions, workers: usize) {
    let original = folder.join("original.verso");
    let original = if original.exists() { open(&original) } else { database(&original, EVERYTHING) };
    let bytes = archive(&original, saved);
    let path = folder.join(format!("{name}.verso"));
    let report = restore(&bytes, &path, &RestoreOptions { workers, ..RestoreOptions::default() }).unwrap();
    assert_eq!((report.tables, report.bytes), (20, bytes.len() as u64));
    let copy = open(&path);
    let (before, after) = (answers(&original), answers(&copy));
    for (before, after) in before.iter().zip(&after) {
        assert_eq!(before, after, "{name}");
    }
    assert!(copy.engine().check(&mut |_| {}).unwrap().problems.is_empty());
    if workers == 1 {
        assert_eq!(script(&original), script(&copy));
    }
    copy.close().unwrap();
    original.close().unwrap();
}

#[test]
fn objects_of_every_kind_and_values_of_every_type_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let one = BackupOptions::default();
    comes_back(folder.path(), "one", &one, 1);
    let several = BackupOptions { workers: 3, compression: Compression::Zstd(3), ..one.clone() };
    comes_back(folder.path(), "several", &several, 3);
    comes_back(folder.path(), "plain", &BackupOptions { compression: Compression::None, ..one }, 2);
}

#[test]
fn reservable_columns_come_back_behind_their_keys() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        "CREATE TABLE stock (id int PRIMARY KEY, n int RESERVABLE CHECK (n >= 0), m numeric RESERVABLE);
        INSERT INTO stock SELECT i, i, i FROM generate_series(1, 100) AS s(i)";
    let original = database(&folder.path().join("a.verso"), script);
    let bytes = archive(&original, &BackupOptions::default());
    for workers in [1, 3] {
        let path = folder.path().join(format!("{workers}.verso"));
        restore(&bytes, &path, &RestoreOptions { workers, ..RestoreOptions::default() }).unwrap();
        let copy = open(&path);
        let mut connection = copy.connect().unwrap();
        for column in ["n", "m"] {
            let plan = format!("EXPLAIN UPDATE stock SET {column} = {column} + 1 WHERE id = 1");
            let plan = connection.query(&plan).unwrap().into_rows()[0].text(0);
            assert!(plan.starts_with("Reserve on stock"), "{plan}");
        }
        let refused = connection.execute("UPDATE stock SET n = n - 2 WHERE id = 1").unwrap_err();
        assert_eq!(refused.sqlstate, "23514");
    }
}

#[test]
fn a_script_makes_the_same_database() {
    let folder = tempfile::tempdir().unwrap();
    let original = database(&folder.path().join("a.verso"), EVERYTHING);
    let text = script(&original);
    assert!(text.contains("COPY shop.item (id, name, price, code, parent) FROM stdin;"), "{text}");
    assert!(!text.contains("lock_level") && !text.contains("ROLE"), "only what PostgreSQL has");
    assert!(text.contains("\\\\N\\t\\n\\\\.ä"), "COPY escapes its texts");
}

#[test]
fn workers_share_the_pages_of_one_large_table() {
    let folder = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE t (id bigint PRIMARY KEY, a text, b numeric(12,2));
        INSERT INTO t SELECT n, 'row ' || n, n / 7.0 FROM generate_series(1, 120000) AS s(n);
        UPDATE t SET b = b + 1 WHERE id % 3 = 0;
        DELETE FROM t WHERE id % 10 = 0";
    let original = database(&folder.path().join("a.verso"), script);
    let question = "SELECT count(*), sum(id), sum(b), min(a), max(a), sum(length(a)) FROM t";
    let expected = crate::world::answer(&mut original.connect().unwrap(), question);
    for workers in [1, 4] {
        let bytes = archive(&original, &BackupOptions { workers, ..BackupOptions::default() });
        let path = folder.path().join(format!("{workers}.verso"));
        let report =
            restore(&bytes, &path, &RestoreOptions { workers, ..RestoreOptions::default() }).unwrap();
        assert_eq!(report.rows, 108_000);
        let copy = open(&path);
        assert_eq!(crate::world::answer(&mut copy.connect().unwrap(), question), expected);
        assert!(copy.engine().check(&mut |_| {}).unwrap().problems.is_empty());
    }
}

#[test]
fn a_table_with_packs_of_columns_comes_back() {
    let folder = tempfile::tempdir().unwrap();
    let script_of_it = "DO $$ BEGIN
        EXECUTE 'CREATE TABLE w (id int PRIMARY KEY, ' || (SELECT string_agg(format('c%s %s', n, (ARRAY['int', 'text', 'numeric'])[1 + n % 3]), ', ' ORDER BY n) FROM generate_series(1, 1000) n) || ')';
        INSERT INTO w (id, c1, c2, c998, c999, c1000) SELECT n, 'a' || n, n / 8.0, n * 0.5, CASE WHEN n % 2 = 0 THEN n END, 'z' FROM generate_series(1, 500) AS s(n);
        CREATE INDEX ON w (c999);
      END $$";
    let original = database(&folder.path().join("a.verso"), script_of_it);
    let question =
        "SELECT count(*), sum(id), max(c1), sum(c2), sum(c998), sum(c999), count(c997), min(c1000) FROM w";
    let expected = crate::world::answer(&mut original.connect().unwrap(), question);
    let path = folder.path().join("b.verso");
    restore(&archive(&original, &BackupOptions::default()), &path, &RestoreOptions::default()).unwrap();
    let copy = open(&path);
    assert_eq!(crate::world::answer(&mut copy.connect().unwrap(), question), expected);
    assert!(copy.engine().check(&mut |_| {}).unwrap().problems.is_empty());
    assert_eq!(script(&original), script(&copy));
}

#[test]
fn what_is_made_of_row_types_comes_back_behind_the_tables() {
    let folder = tempfile::tempdir().unwrap();
    let definitions = "CREATE TABLE zz (id int PRIMARY KEY, name text);
        CREATE TYPE ct AS (a int, d zz);
        CREATE TABLE aa (k int, d zz, ds zz[], c ct);
        CREATE TABLE a0 (a aa);
        CREATE VIEW v2 AS SELECT z FROM zz z;
        CREATE FUNCTION f(zz) RETURNS int LANGUAGE sql AS 'SELECT $1.id';
        CREATE FUNCTION g(zz[], v2) RETURNS zz LANGUAGE sql AS 'SELECT $1[1]';
        CREATE FUNCTION same(zz, zz) RETURNS boolean LANGUAGE sql AS 'SELECT $1.id = $2.id';
        CREATE OPERATOR === (LEFTARG = zz, RIGHTARG = zz, FUNCTION = same);
        INSERT INTO zz VALUES (1, 'x');
        INSERT INTO aa VALUES (1, ROW(1, 'a'), ARRAY[ROW(2, 'b')::zz], ROW(1, ROW(2, 'c')));
        INSERT INTO a0 SELECT aa FROM aa";
    let original = database(&folder.path().join("a.verso"), definitions);
    let path = folder.path().join("b.verso");
    restore(&archive(&original, &BackupOptions::default()), &path, &RestoreOptions::default()).unwrap();
    let copy = open(&path);
    let question =
        "SELECT a, (a).c.d.name, f((a).d), (g((a).ds, NULL)).name, zz === (a).d FROM a0 CROSS JOIN zz";
    let expected = crate::world::answer(&mut original.connect().unwrap(), question);
    assert_eq!(crate::world::answer(&mut copy.connect().unwrap(), question), expected);
    assert_eq!(script(&original), script(&copy));
}

#[test]
fn bodies_of_sql_come_back_behind_what_they_read() {
    let folder = tempfile::tempdir().unwrap();
    let definitions = "
        CREATE TABLE events (id serial PRIMARY KEY, at timestamptz DEFAULT '2024-01-01 00:00');
        CREATE VIEW latest AS SELECT max(id) AS id, nextval('events_id_seq') AS next FROM events;
        CREATE FUNCTION counted() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT count(*) FROM events; END;
        CREATE FUNCTION by_way() RETURNS bigint LANGUAGE sql RETURN counted() + 1;
        CREATE FUNCTION of_view() RETURNS int LANGUAGE sql RETURN (SELECT id FROM latest);
        CREATE PROCEDURE add_one() LANGUAGE sql BEGIN ATOMIC INSERT INTO events DEFAULT VALUES; END;
        CREATE PROCEDURE put(n int) LANGUAGE sql BEGIN ATOMIC
            INSERT INTO events (id) VALUES (n) ON CONFLICT (id) DO UPDATE SET at = excluded.at; END;
        CREATE FUNCTION first_at() RETURNS timestamptz LANGUAGE sql RETURN (SELECT at FROM events GROUP BY id ORDER BY id LIMIT 1);
        CREATE OPERATOR @+@ (RIGHTARG = int, FUNCTION = pg_catalog.abs);
        CREATE FUNCTION is_there(n int) RETURNS boolean LANGUAGE sql RETURN EXISTS (SELECT FROM events WHERE id = n);
        CREATE TABLE checked (n int CHECK (is_there(n) OR n > 0));
        CALL add_one(); CALL put(7)";
    let original = database(&folder.path().join("a.verso"), definitions);
    let path = folder.path().join("b.verso");
    restore(&archive(&original, &BackupOptions::default()), &path, &RestoreOptions::default()).unwrap();
    let copy = open(&path);
    let question = "SELECT counted(), by_way(), of_view(), next, first_at(), is_there(7) FROM latest";
    let expected = crate::world::answer(&mut original.connect().unwrap(), question);
    assert_eq!(crate::world::answer(&mut copy.connect().unwrap(), question), expected);
}

#[test]
fn comments_on_policies_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let definitions = "
        CREATE TABLE t (a int); CREATE POLICY \"P 1\" ON t USING (a > 1); CREATE POLICY p ON t;
        COMMENT ON POLICY \"P 1\" ON t IS 'it''s one'";
    let original = database(&folder.path().join("a.verso"), definitions);
    let path = folder.path().join("b.verso");
    restore(&archive(&original, &BackupOptions::default()), &path, &RestoreOptions::default()).unwrap();
    let question = "SELECT polname, obj_description(oid, 'pg_policy') FROM pg_policy ORDER BY 1";
    let answer = crate::world::answer(&mut open(&path).connect().unwrap(), question);
    assert_eq!(crate::world::answer(&mut original.connect().unwrap(), question), answer);
    assert!(format!("{answer:?}").contains("it's one"), "{answer:?}");
}

#[test]
fn policies_come_back_with_what_their_names_meant() {
    let folder = tempfile::tempdir().unwrap();
    let definitions = "
        CREATE TABLE t (a int, k int); CREATE TABLE u (m int); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3); INSERT INTO u VALUES (2);
        CREATE VIEW v AS SELECT m FROM u;
        CREATE POLICY p ON t USING (EXISTS (SELECT FROM u WHERE m = k) OR ROW(t.*) = ROW(3, 3));
        CREATE POLICY q ON t USING (k IN (SELECT v.m FROM v WHERE a > 9)) WITH CHECK (t IS NOT NULL);
        ALTER TABLE t ENABLE ROW LEVEL SECURITY; GRANT SELECT ON t, u, v TO PUBLIC; CREATE ROLE reader;
        ALTER TABLE u ADD COLUMN k int DEFAULT 2; ALTER TABLE t ADD COLUMN m int DEFAULT 2;
        CREATE OR REPLACE VIEW v AS SELECT m, 10 AS a FROM u;
        ALTER TABLE t RENAME COLUMN a TO id; ALTER TABLE u RENAME COLUMN m TO a; ALTER TABLE u RENAME TO \"U 2\";
        CREATE SCHEMA moved; ALTER VIEW v SET SCHEMA moved; GRANT USAGE ON SCHEMA moved TO PUBLIC";
    let original = database(&folder.path().join("a.verso"), definitions);
    let path = folder.path().join("b.verso");
    restore(&archive(&original, &BackupOptions::default()), &path, &RestoreOptions::default()).unwrap();
    let copy = open(&path);
    let ask = |database: &versodb::Database, question: &str| {
        let mut connection = database.connect().unwrap();
        connection.execute("SET ROLE reader").unwrap();
        crate::world::answer(&mut connection, question)
    };
    let policies = "SELECT policyname, qual, with_check FROM pg_policies ORDER BY 1";
    assert_eq!(ask(&copy, policies), ask(&original, policies));
    let rows = "SELECT id FROM t ORDER BY 1";
    assert_eq!((ask(&copy, rows).as_str(), ask(&original, rows).as_str()), ("2\n3", "2\n3"));
}

#[test]
fn partitioned_tables_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let made = "CREATE TABLE r (id int PRIMARY KEY);
        INSERT INTO r SELECT n FROM generate_series(1, 30) AS s(n);
        CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN new; END $$;
        CREATE TABLE whole (id int NOT NULL REFERENCES r, t int, v text DEFAULT 'x', CONSTRAINT pos CHECK (id > 0), PRIMARY KEY (id, t))
            PARTITION BY RANGE (t);
        CREATE TABLE part_1 PARTITION OF whole (v DEFAULT 'y' NOT NULL, CONSTRAINT own CHECK (id < 100)) FOR VALUES FROM (0) TO (10);
        CREATE TABLE a_part PARTITION OF whole FOR VALUES FROM (10) TO (20) PARTITION BY LIST (t);
        CREATE TABLE a_part_11 PARTITION OF a_part FOR VALUES IN (11, 12);
        CREATE TABLE a_part_rest PARTITION OF a_part DEFAULT;
        CREATE TABLE other (v text, t int NOT NULL, id int NOT NULL, CONSTRAINT pos CHECK (id > 0));
        CREATE INDEX other_by_v ON other (v);
        ALTER TABLE whole ATTACH PARTITION other FOR VALUES FROM (20) TO (30);
        CREATE INDEX by_v ON whole (v) WHERE id > 3;
        ALTER INDEX part_1_pkey RENAME TO \"The key\";
        CREATE TRIGGER t BEFORE INSERT ON whole FOR EACH ROW EXECUTE FUNCTION f();
        ALTER TABLE part_1 DISABLE TRIGGER t;
        CREATE FUNCTION a_third(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1 / 3';
        CREATE TABLE by_value (t text, n int) PARTITION BY RANGE (lower(t), a_third(n));
        CREATE TABLE by_value_1 PARTITION OF by_value FOR VALUES FROM ('a', 0) TO ('b', 2) PARTITION BY LIST ((n % 2));
        CREATE TABLE by_value_1_0 PARTITION OF by_value_1 FOR VALUES IN (0, 1);
        INSERT INTO by_value VALUES ('A', 1), ('aB', 2);
        CREATE TABLE hashed (a numeric, b text) PARTITION BY HASH (a, b);
        CREATE TABLE hashed_0 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 0);
        CREATE TABLE hashed_1 PARTITION OF hashed FOR VALUES WITH (MODULUS 2, REMAINDER 1);
        INSERT INTO whole SELECT n, n - 1, 'v' || n FROM generate_series(1, 30) AS s(n);
        INSERT INTO hashed SELECT n, 'b' || n FROM generate_series(1, 50) AS s(n);
        CREATE TABLE g (x int, y int, FOREIGN KEY (x, y) REFERENCES whole);
        INSERT INTO g VALUES (5, 4)";
    let original = database(&folder.path().join("a.verso"), made);
    let questions = [
        "SELECT string_agg(id || v || t, ',' ORDER BY id) FROM part_1",
        "SELECT string_agg(id || v || t, ',' ORDER BY id) FROM a_part_11",
        "SELECT string_agg(id || v || t, ',' ORDER BY id) FROM a_part_rest",
        "SELECT string_agg(id || v || t, ',' ORDER BY id) FROM other",
        "SELECT string_agg(a || b, ',' ORDER BY a) FROM hashed_0",
        "SELECT string_agg(c.relname || coalesce(i.inhparent::regclass::text, '-') || coalesce(pg_get_expr(c.relpartbound, c.oid), ''), ',' ORDER BY c.relname)
           FROM pg_class AS c LEFT JOIN pg_inherits AS i ON i.inhrelid = c.oid WHERE c.oid >= 16384",
        "SELECT string_agg(conname || conrelid::regclass || (conparentid <> 0) || pg_get_constraintdef(oid), ',' ORDER BY conname, conrelid::regclass::text) FROM pg_constraint",
        "SELECT string_agg(tgname || tgrelid::regclass || tgenabled::text, ',' ORDER BY tgrelid::regclass::text) FROM pg_trigger",
        "SELECT string_agg(indexrelid::regclass || ' ' || indisvalid, ',' ORDER BY indexrelid::regclass::text) FROM pg_index WHERE indexrelid >= 16384",
    ];
    for workers in [1, 3] {
        let bytes = archive(&original, &BackupOptions { workers, ..BackupOptions::default() });
        let path = folder.path().join(format!("{workers}.verso"));
        restore(&bytes, &path, &RestoreOptions { workers, ..RestoreOptions::default() }).unwrap();
        let copy = open(&path);
        for question in questions {
            let ask =
                |database| crate::world::answer(&mut versodb::Database::connect(database).unwrap(), question);
            assert_eq!(ask(&original), ask(&copy), "{question}");
        }
        assert!(copy.engine().check(&mut |_| {}).unwrap().problems.is_empty());
        assert_eq!(script(&original), script(&copy));
        copy.close().unwrap();
    }
    original.close().unwrap();
}

/// What these definitions make comes back: both databases answer the questions alike, none with nothing, and have one script, which
/// it returns.
fn answers_come_back(definitions: &str, questions: &[&str]) -> String {
    let folder = tempfile::tempdir().unwrap();
    let original = database(&folder.path().join("a.verso"), definitions);
    let bytes = archive(&original, &BackupOptions::default());
    let path = folder.path().join("b.verso");
    restore(&bytes, &path, &RestoreOptions::default()).unwrap();
    let copy = open(&path);
    for question in questions {
        let [before, after] =
            [&original, &copy].map(|one| crate::world::answer(&mut one.connect().unwrap(), question));
        assert_eq!(before, after, "{question}");
        assert!(!before.is_empty(), "{question}");
    }
    let text = script(&original);
    assert_eq!(script(&copy), text);
    text
}

#[test]
fn statistics_typed_tables_and_orders_of_keys_come_back() {
    let definitions = "CREATE SCHEMA s; CREATE ROLE clerk;
        CREATE TYPE s.pair AS (a int, b text);
        COMMENT ON COLUMN s.pair.b IS 'a field';
        CREATE TABLE typed OF s.pair (a WITH OPTIONS PRIMARY KEY);
        INSERT INTO typed VALUES (1, 'x');
        CREATE TABLE t (a int, b int, c text) WITH (toast_tuple_target = 4000);
        INSERT INTO t SELECT n % 20, n % 20 / 2, 'c' || n % 3 FROM generate_series(1, 1000) AS s(n);
        CREATE STATISTICS s.st (ndistinct, dependencies) ON a, b FROM t;
        CREATE STATISTICS \"Ex\" ON a, (a % 3), lower(c) FROM t;
        CREATE STATISTICS one ON (a + b) FROM t;
        ALTER STATISTICS s.st SET STATISTICS 500;
        ALTER STATISTICS one OWNER TO clerk;
        COMMENT ON STATISTICS \"Ex\" IS 'expressions';
        CREATE MATERIALIZED VIEW m AS SELECT a, b FROM t;
        CREATE STATISTICS of_m ON a, b FROM m;
        CREATE TABLE p (a text, b text) PARTITION BY RANGE (a COLLATE \"C\", lower(b) text_pattern_ops);
        CREATE TABLE p1 PARTITION OF p FOR VALUES FROM ('A', 'a') TO ('a', 'a');
        INSERT INTO p VALUES ('Z', 'Z')";
    let questions = [
        "SELECT pg_get_statisticsobjdef(oid), stxstattarget, stxowner::regrole, obj_description(oid, 'pg_statistic_ext') FROM pg_statistic_ext ORDER BY 1",
        "SELECT c.relname, t.typname FROM pg_class c JOIN pg_type t ON t.oid = c.reloftype ORDER BY 1",
        "SELECT pg_get_partkeydef('p'::regclass), (SELECT count(*) FROM p1)",
        "SELECT (SELECT col_description(oid, 2) FROM pg_class WHERE relname = 'pair'), (SELECT reloptions FROM pg_class WHERE relname = 't')",
        "TABLE typed",
    ];
    let text = answers_come_back(definitions, &questions);
    for line in [
        "CREATE STATISTICS s.st (ndistinct, dependencies) ON a, b FROM public.t",
        "ALTER STATISTICS s.st SET STATISTICS 500",
        "ALTER TABLE ONLY public.typed OF s.pair",
        "toast_tuple_target",
        "PARTITION BY RANGE (a COLLATE",
    ] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn collations_of_fields_come_back() {
    let definitions = "CREATE SCHEMA s;
        CREATE COLLATION s.mine (provider = icu, locale = 'de');
        CREATE TYPE s.person AS (first text COLLATE s.mine, n int, others text[] COLLATE \"C\");
        CREATE TABLE t (v s.person, w s.person[]);
        CREATE TABLE u (v t);
        INSERT INTO t VALUES (ROW('b', 1, NULL), NULL), (ROW('B', 2, '{x}'), NULL), (ROW('a', 3, NULL), NULL);
        INSERT INTO u SELECT t FROM t";
    let questions = [
        "SELECT attname, attcollation::regcollation FROM pg_attribute WHERE attrelid = 's.person'::regclass ORDER BY attnum",
        "SELECT v FROM t ORDER BY v",
        "SELECT v FROM u ORDER BY v DESC",
    ];
    let text = answers_come_back(definitions, &questions);
    assert!(text.contains("first text COLLATE s.mine, n integer, others text[] COLLATE \"C\""), "{text}");
}

#[test]
fn rights_on_what_the_system_has_come_back() {
    let definitions = "CREATE ROLE clerk;
        REVOKE EXECUTE ON FUNCTION pg_sleep(float8) FROM PUBLIC;
        GRANT EXECUTE ON FUNCTION pg_stat_reset() TO clerk;
        REVOKE EXECUTE ON FUNCTION repeat(text, int) FROM PUBLIC;
        REVOKE SELECT ON pg_stat_activity FROM PUBLIC;
        GRANT SELECT ON pg_authid TO clerk WITH GRANT OPTION;
        GRANT SET ON PARAMETER session_replication_role TO clerk;
        GRANT CREATE ON TABLESPACE pg_default TO clerk;
        REVOKE USAGE ON TYPE point FROM PUBLIC;
        REVOKE USAGE ON LANGUAGE plpgsql FROM PUBLIC;
        REVOKE USAGE ON SCHEMA information_schema, public FROM PUBLIC";
    let questions = [
        "SELECT oid::regprocedure, proacl::text FROM pg_proc WHERE proname IN ('pg_sleep', 'pg_stat_reset', 'repeat') ORDER BY oid",
        "SELECT relname, relacl::text FROM pg_class WHERE relname IN ('pg_stat_activity', 'pg_authid') ORDER BY 1",
        "SELECT parname, paracl::text FROM pg_parameter_acl",
        "SELECT spcname, spcacl::text FROM pg_tablespace ORDER BY 1",
        "SELECT typacl::text FROM pg_type WHERE typname = 'point'",
        "SELECT lanacl::text FROM pg_language WHERE lanname = 'plpgsql'",
        "SELECT nspname, nspacl::text FROM pg_namespace WHERE nspname IN ('information_schema', 'public') ORDER BY 1",
        "SELECT has_function_privilege('clerk', 'pg_sleep(float8)', 'execute'), has_function_privilege('clerk', 'pg_stat_reset()', 'execute'), has_schema_privilege('clerk', 'public', 'usage'), has_language_privilege('clerk', 'plpgsql', 'usage')",
    ];
    answers_come_back(definitions, &questions);
}
