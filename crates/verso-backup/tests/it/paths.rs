//! What was made along another search path, or over columns that were renamed since, means the same in the copy.

use verso_backup::{BackupOptions, RestoreOptions};

use crate::world::{answer, archive, database, open, restore, script};

/// Operators, collations, types and functions that only the path of the session that names them finds.
const ALONG_ANOTHER_PATH: &str = r#"
CREATE SCHEMA s;
CREATE SCHEMA other;
CREATE FUNCTION s.eq3(int, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT $1 % 3 = $2 % 3';
CREATE FUNCTION other.never(int, int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT false';
CREATE OPERATOR s.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = s.eq3);
CREATE OPERATOR other.=== (LEFTARG = int, RIGHTARG = int, FUNCTION = other.never);
CREATE FUNCTION s.minus(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT -2 * $1';
CREATE OPERATOR s.!! (RIGHTARG = int, FUNCTION = s.minus);
CREATE COLLATION s.german (provider = icu, locale = 'de');
CREATE COLLATION other.german (provider = icu, locale = 'sv');
CREATE TYPE s.mood AS ENUM ('sad', 'ok', 'happy');
SET search_path = s, public;
CREATE TABLE public.t (a int, b int CHECK (a === b), c text COLLATE german, m mood DEFAULT 'ok', d int DEFAULT (!! 4));
CREATE VIEW public.v1 AS SELECT a, b FROM public.t WHERE a + 0 === b AND NOT a === b + 1;
CREATE VIEW public.v2 AS SELECT c COLLATE german AS c FROM public.t ORDER BY c COLLATE german;
CREATE VIEW public.v3 AS SELECT !! a + 1 AS n, m > 'sad'::mood AS g, ARRAY['ok']::mood[] || '{happy}'::_mood AS l FROM public.t;
CREATE INDEX by_rest ON public.t ((a === 1)) WHERE b === 2;
CREATE INDEX by_word ON public.t ((c COLLATE german));
CREATE FUNCTION public.f(x int) RETURNS bool LANGUAGE sql BEGIN ATOMIC SELECT x === 4 AND 'z' COLLATE german < 'ä' IS NOT NULL AND 'ok'::mood < 'happy'; END;
CREATE FUNCTION public.as_text(x int, y int) RETURNS bool LANGUAGE sql IMMUTABLE AS 'SELECT x === y';
CREATE INDEX by_text ON public.t (as_text(a, b));
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';
CREATE TRIGGER noted BEFORE INSERT ON public.t FOR EACH ROW WHEN (new.a === new.b AND new.c COLLATE german < 'x') EXECUTE FUNCTION note();
CREATE POLICY rests ON public.t USING (a === b AND c COLLATE german >= '') WITH CHECK (!! a < 0);
CREATE DOMAIN public.third AS int CHECK (VALUE === 3) DEFAULT (!! -3);
CREATE TABLE public.parts (k int) PARTITION BY RANGE (k);
CREATE TABLE public.part PARTITION OF public.parts FOR VALUES FROM (!! -1) TO (!! -10);
CREATE TABLE public.made (a int, g bool GENERATED ALWAYS AS (a === 3) STORED);
INSERT INTO public.t VALUES (1, 4, 'ä'), (2, 5, 'z');
INSERT INTO public.made VALUES (3), (4);
"#;

const QUESTIONS: [&str; 9] = [
    "SELECT * FROM v1 ORDER BY a",
    "SELECT * FROM v2",
    "SELECT * FROM v3 ORDER BY n",
    "SELECT f(1), f(2)",
    "SELECT * FROM made ORDER BY a",
    "SELECT pg_get_viewdef('v1'::regclass), pg_get_viewdef('v2'::regclass), pg_get_viewdef('v3'::regclass)",
    "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = 't'::regclass ORDER BY 1",
    "SELECT pg_get_functiondef('f'::regproc), (SELECT pg_get_triggerdef(oid) FROM pg_trigger)",
    "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 't'::regclass ORDER BY 1",
];

#[test]
fn what_was_made_along_another_search_path_comes_back_along_every_path() {
    let folder = tempfile::tempdir().unwrap();
    for (n, last) in
        ["", "ALTER DATABASE SET search_path = s, public;", "ALTER DATABASE SET search_path = other, public;"]
            .into_iter()
            .enumerate()
    {
        let path = folder.path().join(format!("{n}.verso"));
        // The body that is given as a string means something along the path of the session only.
        let definitions = match n {
            1 => ALONG_ANOTHER_PATH.to_owned(),
            _ => ALONG_ANOTHER_PATH.replace("CREATE INDEX by_text", "-- "),
        };
        let original = database(&path, &format!("{definitions}{last}"));
        let ask = |database: &versodb::Database| -> Vec<String> {
            let mut connection = database.connect().unwrap();
            QUESTIONS.iter().map(|question| answer(&mut connection, question)).collect()
        };
        let expected = ask(&original);
        assert_eq!(expected[..4], ["1|4\n2|5", "ä\nz", "-6|t|{ok,happy}\n-4|t|{ok,happy}", "t|f"]);
        let bytes = archive(&original, &BackupOptions::default());
        for workers in [1, 3] {
            let path = folder.path().join(format!("{n}-{workers}.verso"));
            restore(&bytes, &path, &RestoreOptions { workers, ..RestoreOptions::default() }).unwrap();
            let copy = open(&path);
            assert_eq!(ask(&copy), expected, "{last}");
            assert_eq!(script(&copy), script(&original));
        }
        // A script is for a database that may have any path.
        let text = script(&original);
        for known in ["OPERATOR(s.===)", "OPERATOR(s.!!)", "COLLATE s.german", "s.mood"] {
            assert!(text.contains(known), "{known} in {text}");
        }
        assert_eq!(text.contains("SET search_path"), n > 0);
    }
}

#[test]
fn rows_as_a_whole_of_tables_whose_columns_were_renamed_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let definitions = "CREATE TABLE w (a int, b text); INSERT INTO w VALUES (1, 'x');
        CREATE VIEW whole AS SELECT w FROM w;
        CREATE VIEW beside AS SELECT x AS r, x.a, x.b FROM w AS x;
        CREATE VIEW lists AS SELECT count(w) AS n, array_agg(w) AS r FROM w;
        ALTER TABLE w RENAME COLUMN b TO renamed;
        COMMENT ON VIEW whole IS 'w'; COMMENT ON TABLE w IS 'v'; COMMENT ON COLUMN w.renamed IS 'u'";
    let original = database(&folder.path().join("a.verso"), definitions);
    let path = folder.path().join("b.verso");
    restore(&archive(&original, &BackupOptions::default()), &path, &RestoreOptions::default()).unwrap();
    let copy = open(&path);
    for question in [
        "SELECT to_json(w), pg_typeof(w) FROM whole",
        "SELECT b, a, pg_typeof(r), (r).renamed FROM beside",
        "SELECT n, r, pg_typeof(r) FROM lists",
    ] {
        let ask = |database: &versodb::Database| answer(&mut database.connect().unwrap(), question);
        assert_eq!(ask(&copy), ask(&original), "{question}");
    }
    assert_eq!(script(&copy), script(&original));
}
