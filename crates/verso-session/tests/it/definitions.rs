//! Generated definitions from several sessions, in transactions that end in every way, with savepoints: each version of the
//! catalog that a session sees says what the system tables say.
//!
//! Debug builds read the system tables as a whole whenever a version is made from another one, and compare the two; they also
//! look among all definitions for what needs something that goes, and compare that with what the references lead to. So here is
//! only to see that statements of all kinds meet, and that the database says the same when it is opened again. `SEED` and
//! `VERSO_DEFINITIONS` set the first seed and how many statements run.

use std::sync::Arc;

use verso_env::Env;
use verso_generator::Random;
use verso_session::{Instance, Member, Session};
use verso_storage::{Engine, EngineOptions};

use crate::Client;

/// Statements of the everyday run.
const STATEMENTS: u64 = 900;
const SESSIONS: usize = 4;

/// What is asked to see the whole catalog.
const CATALOG: [&str; 8] = [
    "SELECT n.nspname, c.relname, c.relkind, c.relpersistence, c.relrowsecurity, c.relowner::regrole, c.relacl::text
     FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid >= 16384 ORDER BY 1, 2",
    "SELECT attrelid::regclass::text, attnum, attname, format_type(atttypid, atttypmod), attnotnull
     FROM pg_attribute WHERE attrelid >= 16384 AND attnum > 0 ORDER BY 1, 2",
    "SELECT adrelid::regclass::text, adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef ORDER BY 1, 2",
    "SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint ORDER BY 1, 2, 3",
    "SELECT pg_get_indexdef(indexrelid), indisvalid FROM pg_index WHERE indexrelid >= 16384 ORDER BY 1",
    "SELECT p.oid::regprocedure::text, pg_get_function_result(p.oid) FROM pg_proc p WHERE p.oid >= 16384 ORDER BY 1",
    "SELECT t.typname, n.nspname, t.typtype FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
     WHERE t.oid >= 16384 ORDER BY 1, 2",
    "SELECT classoid::regclass::text, objoid, objsubid, description FROM pg_description WHERE objoid >= 16384 ORDER BY 1, 2, 3",
];

fn definition(random: &mut Random, session: usize) -> String {
    let table = format!("t{}", random.below(6));
    let other = format!("t{}", random.below(6));
    let (n, m) = (random.below(4), random.below(4));
    match random.below(48) {
        0..=5 => match random.below(4) {
            0 => format!("CREATE TABLE {table} (id serial PRIMARY KEY, c{n} int NOT NULL DEFAULT 1, e{m} mood{m})"),
            1 => format!("CREATE TABLE {table} (id int UNIQUE, r int REFERENCES {other}, CHECK (id > 0))"),
            2 => format!(
                "CREATE TABLE {table} (id bigint GENERATED ALWAYS AS IDENTITY, c{n} text COLLATE \"C\", d{m} dom{m},
                 g int GENERATED ALWAYS AS ({n} + 1) STORED)"
            ),
            _ => format!("CREATE TABLE {table} (LIKE {other} INCLUDING ALL)"),
        },
        6 | 7 => format!("DROP TABLE {table} CASCADE"),
        8 => format!("ALTER TABLE {table} RENAME TO {other}"),
        9 | 10 => format!("ALTER TABLE {table} ADD COLUMN c{n} int DEFAULT {m}"),
        11 => format!("ALTER TABLE {table} DROP COLUMN c{n} CASCADE"),
        12 => format!("ALTER TABLE {table} RENAME COLUMN c{n} TO c{m}"),
        13 => format!("ALTER TABLE {table} ALTER COLUMN c{n} SET NOT NULL"),
        14 => format!("ALTER TABLE {table} ALTER COLUMN c{n} SET DEFAULT {m}"),
        15 => format!("CREATE INDEX i{n} ON {table} (c{m}) WHERE c{m} > 1"),
        16 => format!("CREATE INDEX ON {table} (c{m}, (c{m} + 1))"),
        17 => format!("DROP INDEX i{n}"),
        18 => format!("ALTER INDEX i{n} RENAME TO i{m}"),
        19 => format!("ALTER TABLE {table} ADD CONSTRAINT k{n} CHECK (c{m} < 100)"),
        20 => format!("ALTER TABLE {table} DROP CONSTRAINT k{n}"),
        21 => format!("ALTER TABLE {table} RENAME CONSTRAINT k{n} TO k{m}"),
        22 => format!("ALTER TABLE {table} ADD CONSTRAINT f{n} FOREIGN KEY (c{m}) REFERENCES {other} (id)"),
        23 => format!("CREATE OR REPLACE VIEW v{n} AS SELECT * FROM {table}"),
        24 => format!("DROP VIEW v{n} CASCADE"),
        25 => format!("CREATE MATERIALIZED VIEW m{n} AS SELECT * FROM {table}"),
        26 => format!("DROP MATERIALIZED VIEW m{n}"),
        27 => format!("CREATE FUNCTION fun{n}(x {table}) RETURNS int LANGUAGE sql AS 'SELECT 1'"),
        28 => format!("CREATE OR REPLACE FUNCTION rows{n}() RETURNS SETOF {table} LANGUAGE sql AS 'SELECT * FROM {table}'"),
        29 => format!("DROP FUNCTION IF EXISTS rows{n}"),
        30 => format!("ALTER SEQUENCE {table}_id_seq RENAME TO s{n}"),
        31 => format!("CREATE SEQUENCE s{n} OWNED BY {table}.id"),
        32 => format!("COMMENT ON TABLE {table} IS 'comment {n}'"),
        33 => format!("COMMENT ON COLUMN {table}.c{n} IS 'comment {m}'"),
        34 => format!("GRANT SELECT, INSERT ON {table} TO role{n}"),
        35 => format!("GRANT UPDATE (c{n}) ON {table} TO role{m}"),
        36 => format!("REVOKE ALL ON {table} FROM role{n}"),
        37 => format!("CREATE POLICY p{n} ON {table} USING (true)"),
        38 => format!("ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"),
        39 => format!("ALTER TABLE {table} OWNER TO role{n}"),
        40 => match random.below(4) {
            0 => format!("CREATE SCHEMA other{n}"),
            1 => format!("ALTER SCHEMA other{n} RENAME TO other{m}"),
            2 => format!("ALTER TABLE {table} SET SCHEMA other{n}"),
            _ => format!("DROP SCHEMA other{n} CASCADE"),
        },
        41 => match random.below(4) {
            0 => format!("CREATE TYPE mood{n} AS ENUM ('a', 'b')"),
            1 => format!("ALTER TYPE mood{n} ADD VALUE 'v{}'", random.below(100)),
            2 => format!("ALTER TYPE mood{n} RENAME TO mood{m}"),
            _ => format!("DROP TYPE mood{n} CASCADE"),
        },
        42 => match random.below(4) {
            0 => format!("CREATE DOMAIN dom{n} AS int CHECK (VALUE > 0)"),
            1 => format!("ALTER DOMAIN dom{n} SET DEFAULT {m}"),
            2 => format!("CREATE TYPE pair{n} AS (a int, b dom{m})"),
            _ => format!("DROP DOMAIN dom{n} CASCADE"),
        },
        43 => match random.below(6) {
            3 => format!("CREATE COLLATION coll{n} (provider = icu, locale = 'de')"),
            4 => format!("DROP COLLATION coll{n}"),
            5 => format!("ALTER TABLE {table} ADD COLUMN l{n} text COLLATE coll{m}"),
            0 => format!("CREATE ROLE role{n}"),
            1 => format!("GRANT role{n} TO role{m}"),
            _ => format!("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO role{n}"),
        },
        44 => format!("CREATE TEMP TABLE temp{session} (id int PRIMARY KEY, c{n} int) ON COMMIT DROP"),
        45 => format!("CREATE TEMP TABLE kept{n} (id serial); DROP TABLE IF EXISTS kept{m}"),
        46 => format!("TRUNCATE {table}"),
        _ => format!("INSERT INTO {table} (c{n}) VALUES (1); ANALYZE {table}"),
    }
}

/// Begins, ends or goes back.
fn control(random: &mut Random) -> String {
    let n = random.below(3);
    match random.below(12) {
        0..=2 => "BEGIN".to_string(),
        3 => "BEGIN ISOLATION LEVEL REPEATABLE READ".to_string(),
        4 => "BEGIN ISOLATION LEVEL READ UNCOMMITTED".to_string(),
        5..=6 => format!("SAVEPOINT s{n}"),
        7 => format!("ROLLBACK TO s{n}"),
        8 => format!("RELEASE s{n}"),
        9 => "ROLLBACK".to_string(),
        _ => "COMMIT".to_string(),
    }
}

/// Everything that the catalog says.
fn whole(client: &mut Client) -> Vec<Vec<String>> {
    CATALOG.iter().map(|query| client.run(query)).collect()
}

fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(otherwise)
}

#[test]
fn generated_definitions_of_several_sessions_make_versions_that_say_what_the_tables_say() {
    let (seed, statements) = (number("SEED", 1), number("VERSO_DEFINITIONS", STATEMENTS));
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("test.verso");
    let engine = Engine::create(Env::real(), &path, EngineOptions::default()).expect("a database");
    let instance = Arc::new(Instance::create(engine, Member::alone()).expect("a catalog"));
    let connect = || {
        let mut client = Client { session: Session::new(Arc::clone(&instance)) };
        client.run("SET lock_timeout = '5ms'; SET client_min_messages = error");
        client
    };
    let mut clients: Vec<Client> = (0..SESSIONS).map(|_| connect()).collect();
    clients[0].run(
        "CREATE TYPE mood0 AS ENUM ('a'); CREATE DOMAIN dom0 AS int; CREATE ROLE role0; CREATE ROLE role1",
    );
    let mut random = Random::new(seed);
    let mut done = 0u64;
    for count in 0..statements {
        let at = random.below(SESSIONS);
        if random.below(200) == 0 {
            // A session ends in the middle of what it does, with its temporary tables.
            clients[at] = connect();
        }
        let text = if random.below(5) == 0 { control(&mut random) } else { definition(&mut random, at) };
        let client = &mut clients[at];
        for text in [&*text, "SELECT count(*) FROM pg_class"] {
            match client.try_run(text) {
                Ok(_) => done += 1,
                Err(error) if error.sqlstate.starts_with("XX") => {
                    panic!("seed {seed}, statement {count}: {text}: {error:?}")
                }
                Err(error) if error.sqlstate == "25P02" => drop(client.try_run("ROLLBACK")),
                Err(_) => {}
            }
        }
    }
    assert!(done > statements, "{done} of {statements} statements and as many queries");
    clients.clear();
    let mut client = connect();
    let before = whole(&mut client);
    drop(client);
    instance.engine.close().expect("it closes");
    drop(instance);
    let engine = Engine::open(Env::real(), &path, EngineOptions::default()).expect("it opens");
    let instance = Arc::new(Instance::open(engine, Member::alone()).expect("a catalog"));
    let mut client = Client { session: Session::new(instance) };
    assert_eq!(before, whole(&mut client), "seed {seed}");
    assert!(before.iter().map(Vec::len).sum::<usize>() > 40, "{before:?}");
}
