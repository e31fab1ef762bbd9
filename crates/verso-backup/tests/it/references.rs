//! Values that name objects come back with the numbers that these have in the copy.

use verso_backup::{BackupOptions, RestoreOptions};

use crate::world::{answer, archive, database, open, restore, script};

const OBJECTS: &str = r#"
    CREATE TABLE gone1 (a int); CREATE TABLE gone2 (a int PRIMARY KEY); DROP TABLE gone1; DROP TABLE gone2;
    CREATE SCHEMA s; CREATE ROLE "Odd role";
    CREATE TABLE s."T x" (id int PRIMARY KEY, a text);
    CREATE VIEW s.v AS SELECT a FROM s."T x";
    CREATE SEQUENCE seq;
    CREATE TYPE s.mood AS ENUM ('ok');
    CREATE TYPE pair AS (a int, of regclass);
    CREATE DOMAIN place AS regclass;
    CREATE FUNCTION s.f(a int) RETURNS int LANGUAGE sql AS 'SELECT a';
    CREATE FUNCTION s.f(a text) RETURNS int LANGUAGE sql AS 'SELECT 1';
    CREATE OPERATOR s.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq);
    CREATE COLLATION s.c FROM "C";
    CREATE TABLE names (n int PRIMARY KEY, c regclass, cs regclass[], t regtype, p regproc, q regprocedure, qs regprocedure[],
        s regnamespace, r regrole, o regoper, os regoperator, co regcollation, cf regconfig, d regdictionary, pair pair, place place,
        also regclass GENERATED ALWAYS AS (c) STORED);
    INSERT INTO names VALUES
        (1, 's."T x"', ARRAY['seq', NULL, 's.v']::regclass[], 's.mood[]', 'int4eq', 's.f(text)', ARRAY['s.f(int)', 'lower(text)']::regprocedure[],
         's', '"Odd role"', 's.===', 's.===(int, int)', 's.c', 'english', 'simple', ROW(1, 'names'), 'names'),
        (2, 'seq', '{}', 'text', 0, 0, NULL, 0, 0, 0, '+(int, int)', 0, 0, 0, NULL, NULL),
        (3, 2000000001, ARRAY[2000000001]::regclass[], 2000000001, 2000000001, 2000000001, NULL, NULL, NULL, 2000000001, NULL, NULL, NULL, NULL, ROW(NULL, 2000000001), 5),
        (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
    CREATE TABLE later (c regclass, cs regclass[]);
    INSERT INTO later VALUES ('names_pkey', ARRAY['s."T x_pkey"', 's.v', 'names']::regclass[]), ('s.v', '{s.v}'), ('names', NULL);
"#;

const QUESTIONS: [&str; 3] = [
    "SELECT * FROM names ORDER BY n",
    "SELECT * FROM later ORDER BY c::text",
    "SELECT c.relname FROM names n JOIN pg_class c ON c.oid = n.c ORDER BY 1",
];

#[test]
fn values_that_name_objects_come_back_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let original = database(&folder.path().join("a.verso"), OBJECTS);
    let ask = |database: &versodb::Database| {
        let mut connection = database.connect().unwrap();
        QUESTIONS.map(|question| answer(&mut connection, question))
    };
    let expected = ask(&original);
    assert!(expected[1].contains("names_pkey|{") && expected[2] == "T x\nseq", "{expected:?}");
    for workers in [1, 3] {
        let bytes = archive(&original, &BackupOptions { workers, ..BackupOptions::default() });
        let path = folder.path().join(format!("{workers}.verso"));
        restore(&bytes, &path, &RestoreOptions { workers, ..RestoreOptions::default() }).unwrap();
        let copy = open(&path);
        assert_eq!(ask(&copy), expected);
        assert_eq!(script(&copy), script(&original));
    }
    let text = script(&original);
    assert!(text.contains("1\ts.\"T x\"\t"), "{text}");
    assert!(text.contains("\npublic.names_pkey\t"), "names with their schema: {text}");
}

#[test]
fn rows_with_names_go_into_a_database_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let original = database(&folder.path().join("a.verso"), OBJECTS);
    let expected = answer(&mut original.connect().unwrap(), QUESTIONS[1]);
    let bytes = archive(&original, &BackupOptions::default());
    let path = folder.path().join("b.verso");
    let tables = vec!["later".to_owned()];
    let only_rows = RestoreOptions { schema: false, tables, ..RestoreOptions::default() };
    let there = database(
        &path,
        "CREATE TABLE other (a int); CREATE SCHEMA s; CREATE TABLE names (n int PRIMARY KEY); CREATE TABLE s.\"T x\" (n int PRIMARY KEY);
         CREATE TABLE later (c regclass, cs regclass[]);",
    );
    there.close().unwrap();
    let refused = restore(&bytes, &path, &only_rows).unwrap_err().to_string();
    assert!(refused.contains("relation \"s.v\" does not exist: column c of table public.later"), "{refused}");
    let there = open(&path);
    there.connect().unwrap().execute("CREATE VIEW s.v AS SELECT 1 AS a").unwrap();
    there.close().unwrap();
    restore(&bytes, &path, &only_rows).unwrap();
    assert_eq!(answer(&mut open(&path).connect().unwrap(), QUESTIONS[1]), expected);
}
