//! Random schemas, saved and restored: definitions, rights, comments and rows are the same.
//!
//! A statement that the database refuses is left out, so the generator need not know what it may say.

use verso_backup::{BackupOptions, RestoreOptions};
use verso_sim::{Rng, seeds};
use versodb::{Connection, Database, Options};

use crate::world::{archive, open, restore, script};

mod generator;
mod more;

use generator::Generator;

const STATEMENTS: u64 = 70;

/// What is asked of every database, but for the contents of its relations.
const QUESTIONS: &[&str] = &[
    "SELECT c.oid::regclass::text, c.relkind, c.relpersistence, c.reloptions, c.relowner::regrole, c.relacl::text, c.relrowsecurity, c.relreplident,
            pg_get_expr(c.relpartbound, c.oid), pg_get_partkeydef(c.oid), c.reloftype::regtype
       FROM pg_class c WHERE c.oid >= 16384 ORDER BY 1",
    "SELECT c.oid::regclass::text, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attidentity, a.attgenerated,
            a.attcollation::regcollation, a.attacl::text, pg_get_expr(d.adbin, d.adrelid)
       FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
      WHERE c.oid >= 16384 AND a.attnum > 0 AND NOT a.attisdropped ORDER BY 1, a.attnum",
    "SELECT c.oid::regclass::text, pg_get_viewdef(c.oid), pg_get_viewdef(c.oid, true) FROM pg_class c WHERE c.oid >= 16384 AND relkind IN ('v', 'm') ORDER BY 1",
    "SELECT conrelid::regclass::text, contypid::regtype::text, conname, contype, convalidated, condeferrable, pg_get_constraintdef(oid) FROM pg_constraint WHERE oid >= 16384 ORDER BY 1, 2, 3",
    "SELECT indexrelid::regclass::text, pg_get_indexdef(indexrelid), indisvalid, indisclustered FROM pg_index WHERE indexrelid >= 16384 ORDER BY 1",
    "SELECT oid::regprocedure::text, prokind, pg_get_functiondef(oid), proacl::text FROM pg_proc WHERE oid >= 16384 AND prokind <> 'a' AND prosrc NOT LIKE 'range_constructor%' ORDER BY 1",
    "SELECT tgrelid::regclass::text, tgname, tgenabled, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2",
    "SELECT * FROM pg_policies ORDER BY 1, 2, 3",
    "SELECT t.oid::regtype::text, typtype, typnotnull, typdefault, typbasetype::regtype, typcollation::regcollation, typacl::text FROM pg_type t WHERE t.oid >= 16384 ORDER BY 1",
    "SELECT enumtypid::regtype::text, enumlabel FROM pg_enum ORDER BY 1, enumsortorder",
    "SELECT oprnamespace::regnamespace::text, oprname, oprleft::regtype::text, oprright::regtype::text, oprcode::regprocedure FROM pg_operator WHERE oid >= 16384 ORDER BY 1, 2, 3, 4",
    "SELECT collnamespace::regnamespace::text, collname, collisdeterministic, colllocale FROM pg_collation WHERE oid >= 16384 ORDER BY 1, 2",
    "SELECT pg_get_statisticsobjdef(oid) FROM pg_statistic_ext ORDER BY 1",
    "SELECT pg_describe_object(classoid, objoid, objsubid), description FROM pg_description WHERE objoid >= 16384 ORDER BY 1, 2",
    "SELECT inhrelid::regclass::text, inhparent::regclass FROM pg_inherits ORDER BY 1",
    "SELECT seqrelid::regclass::text, seqtypid::regtype, seqstart, seqincrement, pg_sequence_last_value(seqrelid) FROM pg_sequence ORDER BY 1",
    "SELECT nspname, (SELECT array_agg(x::text ORDER BY x::text) FROM unnest(nspacl) AS x)::text, nspowner::regrole FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY 1",
    "SELECT seqrelid::regclass::text, seqmax, seqmin, seqcache, seqcycle FROM pg_sequence ORDER BY 1",
    "SELECT d.refobjid::regclass::text, d.refobjsubid, d.objid::regclass::text FROM pg_depend d JOIN pg_class c ON c.oid = d.objid
      WHERE d.classid = 'pg_class'::regclass AND c.relkind = 'S' AND d.deptype IN ('a', 'i') AND d.objid >= 16384 ORDER BY 1, 2, 3",
    "SELECT defaclrole::regrole::text, defaclnamespace::regnamespace::text, defaclobjtype, defaclacl::text FROM pg_default_acl ORDER BY 1, 2, 3",
    "SELECT stxnamespace::regnamespace::text, stxname, stxstattarget, stxkind FROM pg_statistic_ext ORDER BY 1, 2",
    "SELECT attrelid::regclass::text, attname, attstattarget, attstorage, attcompression, attoptions FROM pg_attribute
      WHERE attrelid >= 16384 AND attnum > 0 AND NOT attisdropped ORDER BY 1, 2",
    "SELECT aggfnoid::regprocedure::text, aggtransfn::regprocedure, aggtranstype::regtype, agginitval FROM pg_aggregate WHERE aggfnoid::oid >= 16384 ORDER BY 1",
    "SELECT castsource::regtype::text, casttarget::regtype::text, castfunc::regprocedure, castcontext FROM pg_cast WHERE oid >= 16384 ORDER BY 1, 2",
    "SELECT rolname, rolcanlogin, rolinherit, rolconfig FROM pg_roles WHERE rolname NOT LIKE 'pg_%' ORDER BY 1",
    "SELECT relname, relispopulated FROM pg_class WHERE relkind = 'm' ORDER BY 1, 2",
];

/// The answer to a question, or why there is none.
fn ask(connection: &mut Connection, question: &str) -> Result<Vec<String>, String> {
    let rows = connection.query(question).map_err(|error| error.message.clone())?.into_rows();
    let text = |row: &versodb::Row| {
        let columns = row.columns().len();
        (0..columns).map(|at| row.text(at)).collect::<Vec<_>>().join("|")
    };
    Ok(rows.iter().map(text).collect())
}

/// Makes the database of a seed; the statements that it took.
fn make(connection: &mut Connection, seed: u64) -> Vec<String> {
    let made = "CREATE SCHEMA s; CREATE SCHEMA \"Odd one\"; CREATE ROLE clerk;
        CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
        CREATE FUNCTION f(bigint) RETURNS bigint IMMUTABLE RETURN $1 + 1;
        CREATE FUNCTION s.f(numeric) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 5';
        CREATE FUNCTION s.plus(bigint, bigint) RETURNS bigint IMMUTABLE RETURN $1 + $2;
        CREATE OPERATOR s.|+| (FUNCTION = s.plus, LEFTARG = bigint, RIGHTARG = bigint);
        CREATE OPERATOR public.|+| (FUNCTION = s.plus, LEFTARG = bigint, RIGHTARG = bigint);
        CREATE FUNCTION g(text) RETURNS int IMMUTABLE RETURN length($1);
        CREATE FUNCTION g(numeric) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 6';
        CREATE FUNCTION \"Odd one\".f(bigint) RETURNS bigint IMMUTABLE RETURN $1 + 2;
        CREATE FUNCTION s.abs(bigint) RETURNS bigint IMMUTABLE RETURN $1 + 3;
        CREATE FUNCTION s.length(text) RETURNS int IMMUTABLE RETURN 4;
        SET statement_timeout = '5s'";
    connection.execute(made).unwrap();
    let mut generator =
        Generator { rng: Rng::new(seed), count: 0, tables: Vec::new(), views: Vec::new(), types: Vec::new() };
    let mut taken = Vec::new();
    for number in 0..STATEMENTS {
        let known = (generator.tables.len(), generator.views.len(), generator.types.len());
        let statements = if number < 3 { generator.table() } else { generator.statements() };
        for statement in statements {
            if connection.execute(&statement).is_err() {
                generator.tables.truncate(known.0);
                generator.views.truncate(known.1);
                generator.types.truncate(known.2);
                break;
            }
            taken.push(statement);
        }
    }
    // Their rows are found anew by a restore.
    let filled = "SELECT oid::regclass::text FROM pg_class WHERE relkind = 'm' AND oid >= 16384 ORDER BY oid";
    for view in ask(connection, filled).unwrap() {
        let _ = connection.execute(&format!("REFRESH MATERIALIZED VIEW {view}"));
    }
    taken
}

#[test]
fn random_schemas_come_back() {
    for seed in seeds(4) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.verso");
        let original = Database::create(&path, Options::new()).unwrap();
        let mut before = original.connect().unwrap();
        let taken = make(&mut before, seed).join(";\n");
        let bytes = archive(&original, &BackupOptions::default());
        let path = folder.path().join("b.verso");
        let restored = restore(&bytes, &path, &RestoreOptions::default());
        if let Err(error) = restored {
            panic!("seed {seed}: {error}\n{taken}");
        }
        let copy = open(&path);
        let mut after = copy.connect().unwrap();
        let relations = "SELECT c.oid::regclass::text FROM pg_class c WHERE c.oid >= 16384 AND relkind IN ('r', 'p', 'v', 'm') ORDER BY 1";
        let mut questions: Vec<String> = QUESTIONS.iter().map(|question| (*question).to_owned()).collect();
        for relation in ask(&mut before, relations).unwrap() {
            questions.push(format!("SELECT x::text FROM {relation} AS x ORDER BY 1"));
        }
        after.execute("SET statement_timeout = '5s'").unwrap();
        for question in questions {
            let (before, after) = (ask(&mut before, &question), ask(&mut after, &question));
            assert_eq!(before, after, "seed {seed}: {question}\n{taken}");
        }
        assert_eq!(script(&original), script(&copy), "seed {seed}\n{taken}");
    }
}
