//! Rows of the catalog that say nothing sensible: each costs the object that it describes, and not the database.

use std::path::Path;
use std::sync::{Arc, Mutex};

use verso_backup::{BackupOptions, Event, Job, RestoreOptions};
use verso_storage::heap::{ScanBatch, ScanSpec};
use verso_storage::page::ObjectId;
use verso_storage::{CommitMode, TxnOptions};
use versodb::{Batch, Connection, Database, SqlType, Value};

use crate::world::{Memory, answer, database, open, restore};

/// A column of a system table's rows: the number of the table's heap, and its own.
type Place = (u32, u16);

/// Puts a value into a column of the rows whose column `key` has this number.
fn spoil(database: &Database, (heap, column): Place, key: u16, number: i64, (ty, value): (SqlType, Value)) {
    let engine = database.engine();
    let mut txn = engine.begin(TxnOptions::default());
    txn.begin_statement().unwrap();
    let heap = engine.heap(ObjectId(heap)).unwrap();
    let mut found: Vec<(ScanBatch, Vec<u32>)> = Vec::new();
    let mut scan = heap.scan(&txn, ScanSpec { columns: &[key], pages: 0..u32::MAX });
    let mut batch = ScanBatch::default();
    while scan.next(&mut batch).unwrap() {
        let is_it =
            |at: &u32| batch.batch.columns[0].value(*at as usize, &SqlType::Oid) == Value::Int8(number);
        let rows = u32::try_from(batch.batch.rows).unwrap();
        let selection: Vec<u32> = (0..rows).filter(is_it).collect();
        if !selection.is_empty() {
            found.push((std::mem::take(&mut batch), selection));
        }
    }
    drop(scan);
    assert!(!found.is_empty(), "no row of {number}");
    for (batch, selection) in found {
        let mut new = verso_types::Column::new(ty.physical());
        selection.iter().for_each(|_| new.push_value(&value, &ty).unwrap());
        let new = Batch::from_columns(vec![new]);
        heap.update(&mut txn, &batch, Some(&selection), &[column], &new).unwrap();
    }
    txn.end_statement().unwrap();
    txn.commit(CommitMode::Wait).unwrap();
}

const SCRIPT: &str = r#"
CREATE TABLE sound (a integer PRIMARY KEY, b text);
INSERT INTO sound VALUES (1, 'x'), (2, 'y');
CREATE TABLE typed (a integer PRIMARY KEY, b text);
INSERT INTO typed VALUES (1, 'x');
CREATE VIEW over_typed AS SELECT a FROM typed;
CREATE TABLE kindless (a integer);
CREATE SCHEMA gone;
CREATE TABLE gone.homeless (a integer);
INSERT INTO gone.homeless VALUES (7);
CREATE ROLE leaver;
CREATE TABLE ownerless (a integer);
ALTER TABLE ownerless OWNER TO leaver;
CREATE VIEW unreadable AS SELECT a FROM sound;
CREATE FUNCTION moody(integer) RETURNS integer LANGUAGE sql AS 'SELECT $1';
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TABLE feels (m mood);
CREATE TABLE parted (a integer) PARTITION BY LIST (a);
CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
CREATE TABLE checked (a integer CHECK (a > 0));
CREATE TABLE secured (a integer);
CREATE POLICY own ON secured USING (a = 1);
CREATE SEQUENCE numbers;
CREATE TABLE blank (a integer CHECK (a > 0));
CREATE TABLE indexed (a integer, b integer);
CREATE INDEX of_indexed ON indexed (a);
CREATE TABLE keyed (a integer PRIMARY KEY);
CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE watched (a integer);
CREATE TRIGGER watches AFTER INSERT ON watched FOR EACH ROW EXECUTE FUNCTION nothing();
CREATE FUNCTION step(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT $1 + $2';
CREATE AGGREGATE total(integer) (SFUNC = step, STYPE = integer, INITCOND = '0');
"#;

/// What is damaged, a statement that uses it, and those that get rid of it.
const DAMAGED: [(&str, &str, &[&str]); 15] = [
    ("table public.typed", "SELECT a FROM typed", &["DROP TABLE typed CASCADE"]),
    ("view public.kindless", "SELECT * FROM kindless", &["DROP VIEW kindless"]),
    ("view public.unreadable", "SELECT * FROM unreadable", &["DROP VIEW unreadable"]),
    ("function public.moody(integer)", "SELECT moody(1)", &["DROP FUNCTION moody(integer)"]),
    ("table public.feels", "INSERT INTO feels VALUES ('sad')", &["DROP TABLE feels"]),
    ("type public.mood", "SELECT 'sad'::mood", &["DROP TYPE mood"]),
    ("table public.parted", "SELECT * FROM parted", &["DROP TABLE parted", "DROP TABLE parted_1"]),
    ("table public.checked", "UPDATE checked SET a = -1", &["DROP TABLE checked"]),
    ("table public.secured", "SELECT * FROM secured", &["DROP TABLE secured"]),
    ("sequence public.numbers", "SELECT nextval('numbers')", &["DROP SEQUENCE numbers"]),
    ("table public.blank", "SELECT * FROM blank", &["DROP TABLE blank"]),
    ("table public.indexed", "INSERT INTO indexed VALUES (1, 2)", &["DROP TABLE indexed"]),
    ("table public.keyed", "INSERT INTO keyed VALUES (1)", &["DROP TABLE keyed"]),
    ("table public.watched", "INSERT INTO watched VALUES (1)", &["DROP TABLE watched"]),
    ("function public.total(integer)", "SELECT total(a) FROM sound", &["DROP FUNCTION total(integer)"]),
];

/// A database with rows that nobody can read.
fn spoiled(path: &Path) -> Database {
    let database = database(path, SCRIPT);
    let mut connection = database.connect().unwrap();
    let mut number = |of: &str| -> i64 { answer(&mut connection, of).parse().unwrap() };
    let mut relation = |name: &str| number(&format!("SELECT '{name}'::regclass::oid"));
    let texts = |text: &str| {
        let ty = SqlType::Array(Box::new(SqlType::Text));
        (ty, Value::Array([Value::Text(text.into())].into_iter().collect()))
    };
    let letter = || (SqlType::Char(Some(1)), Value::Text("?".into()));
    let oid = |number: i64| (SqlType::Oid, Value::Int8(number));
    let (typed, kindless) = (relation("typed"), relation("kindless"));
    let (homeless, ownerless) = (relation("gone.homeless"), relation("ownerless"));
    let (unreadable, part, blank) = (relation("unreadable"), relation("parted_1"), relation("blank"));
    let (checked, secured, numbers) = (relation("checked"), relation("secured"), relation("numbers"));
    let (of_indexed, keyed, watched) = (relation("of_indexed"), relation("keyed"), relation("watched"));
    let function = number("SELECT 'moody(integer)'::regprocedure::oid");
    let ty = number("SELECT 'mood'::regtype::oid");
    let aggregate = number("SELECT 'total(integer)'::regprocedure::oid");
    drop(connection);
    // pg_attribute.atttypid, pg_class.relkind, relnamespace and relowner
    spoil(&database, (13, 3), 1, typed, oid(99_999));
    spoil(&database, (12, 6), 1, kindless, letter());
    spoil(&database, (12, 3), 1, homeless, oid(77_777));
    spoil(&database, (12, 4), 1, ownerless, oid(88_888));
    // pg_rewrite.ev_names, pg_proc.provolatile, pg_type.typtype, pg_inherits.bound
    spoil(&database, (50, 9), 3, unreadable, texts("relation"));
    spoil(&database, (16, 8), 1, function, letter());
    spoil(&database, (15, 6), 1, ty, letter());
    spoil(&database, (86, 3), 1, part, texts("nonsense"));
    // pg_constraint.contype, pg_policy.polcmd, pg_sequence.seqtypid
    spoil(&database, (21, 4), 8, checked, letter());
    spoil(&database, (35, 4), 3, secured, letter());
    spoil(&database, (17, 2), 1, numbers, oid(99_999));
    // pg_index.indkey, pg_constraint.conkey, pg_trigger.tgtype, pg_proc.prosrc
    let numbers = |all: &[i16]| {
        let all: Vec<Value> = all.iter().map(|number| Value::Int2(*number)).collect();
        (SqlType::Array(Box::new(SqlType::Int2)), Value::Array(all.into_iter().collect()))
    };
    spoil(&database, (20, 10), 1, of_indexed, numbers(&[7]));
    spoil(&database, (21, 14), 8, keyed, numbers(&[]));
    spoil(&database, (40, 6), 2, watched, (SqlType::Int2, Value::Int2(1)));
    spoil(&database, (16, 15), 1, aggregate, (SqlType::Text, Value::Text("nonsense".into())));
    // A letter that is none: the row cannot be read at all.
    spoil(&database, (21, 4), 8, blank, (SqlType::Char(Some(1)), Value::Text("".into())));
    database
}

fn code(connection: &mut Connection, statement: &str) -> (String, String) {
    match connection.execute(statement) {
        Ok(_) => (String::new(), String::new()),
        Err(error) => (error.sqlstate.to_string(), error.to_string()),
    }
}

#[test]
fn a_row_of_the_catalog_that_is_not_understood_costs_its_object_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spoiled.verso");
    drop(spoiled(&path));
    let database = open(&path);
    let mut connection = database.connect().unwrap();
    // Everything else works, the catalogs over all objects among it.
    assert_eq!(answer(&mut connection, "SELECT b FROM sound ORDER BY a"), "x\ny");
    for all in ["pg_class", "pg_attribute", "pg_type", "pg_proc", "pg_views", "pg_tables", "pg_constraint"] {
        answer(&mut connection, &format!("SELECT * FROM {all}"));
    }
    answer(&mut connection, "SELECT * FROM information_schema.columns");
    connection.execute("CREATE TABLE new (a integer REFERENCES sound); INSERT INTO new VALUES (1)").unwrap();
    connection.execute("ANALYZE").unwrap();
    // A table whose owner has gone is a table.
    assert_eq!(answer(&mut connection, "SELECT count(*) FROM ownerless"), "0");
    let problems = database.catalog_problems().unwrap().join("\n");
    for (object, usage, _) in DAMAGED {
        assert!(problems.contains(&format!("{object} is damaged")), "{object}: {problems}");
        let (sqlstate, text) = code(&mut connection, usage);
        assert_eq!(sqlstate, "XX001", "{usage}: {text}");
        assert!(text.contains(object), "{usage}: {text}");
    }
    assert_eq!(code(&mut connection, "SELECT * FROM over_typed").0, "XX001");
    assert_eq!(code(&mut connection, "ALTER TABLE typed ADD COLUMN c integer").0, "XX001");
    assert_eq!(code(&mut connection, "CREATE TABLE made_of (m mood)").0, "XX001");
    // What is in a schema without a row is there under another name.
    assert!(problems.contains("schema damaged_77777 is damaged"), "{problems}");
    assert_eq!(answer(&mut connection, "SELECT a FROM damaged_77777.homeless"), "7");
    assert_eq!(code(&mut connection, "CREATE TABLE damaged_77777.more (a integer)").0, "XX001");
    connection.execute("ALTER TABLE damaged_77777.homeless SET SCHEMA public").unwrap();
    for (object, _, drops) in DAMAGED {
        for statement in drops {
            let done = code(&mut connection, statement);
            assert_eq!(done.0, "", "{object}, {statement}: {}", done.1);
        }
    }
    assert_eq!(database.catalog_problems().unwrap(), Vec::<String>::new());
    drop((connection, database));
    let database = open(&path);
    assert_eq!(answer(&mut database.connect().unwrap(), "SELECT a FROM homeless"), "7");
    assert!(database.engine().check(&mut |_| {}).unwrap().problems.is_empty());
}

#[test]
fn a_backup_leaves_out_what_is_damaged_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("spoiled.verso");
    drop(spoiled(&path));
    let database = open(&path);
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let (listened, memory) = (Arc::clone(&told), Memory::default());
    let job = Arc::new(Job::new(move |event| {
        if let Event::Notice(text) = event {
            listened.lock().unwrap().push((*text).to_owned());
        }
    }));
    verso_backup::backup(&database, memory.clone(), &BackupOptions::default(), &job).unwrap();
    let told = told.lock().unwrap().join("\n");
    for (object, ..) in DAMAGED {
        assert!(told.contains(&format!("left out: {object} is damaged")), "{object}: {told}");
    }
    assert!(told.contains("left out: view public.over_typed needs"), "{told}");
    let copy = folder.path().join("copy.verso");
    let archive = memory.0.lock().unwrap().clone();
    restore(&archive, &copy, &RestoreOptions::default()).unwrap();
    let copy = open(&copy);
    let mut connection = copy.connect().unwrap();
    assert_eq!(answer(&mut connection, "SELECT b FROM sound ORDER BY a"), "x\ny");
    assert_eq!(code(&mut connection, "SELECT * FROM typed").0, "42P01");
}

/// The first data page of system tables by the numbers of their heaps, or their root pages.
fn pages_of(database: &Database, heaps: &[u32], root: bool) -> Vec<u32> {
    let engine = database.engine();
    let page = |heap: &u32| {
        let heap = engine.heap(ObjectId(*heap)).unwrap();
        if root { heap.root.0 } else { heap.page_at(0).unwrap().unwrap().0 }
    };
    heaps.iter().map(page).collect()
}

/// Flips a bit of a page in the file of a closed database.
fn flip(path: &Path, page: u32, page_size: usize) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[page as usize * page_size + 100] ^= 4;
    std::fs::write(path, bytes).unwrap();
}

const PLAIN: &str = "CREATE TABLE sound (a integer PRIMARY KEY, b text DEFAULT 'd' CHECK (b <> ''));
    INSERT INTO sound VALUES (1, 'x'), (2, 'y');
    COMMENT ON TABLE sound IS 'told';
    CREATE VIEW over_sound AS SELECT b FROM sound;
    CREATE FUNCTION one() RETURNS integer LANGUAGE sql AS 'SELECT 1';
    CREATE SEQUENCE numbers;
    CREATE ROLE reader;
    GRANT SELECT ON sound TO reader;
    ANALYZE";

#[test]
fn a_damaged_page_of_comments_or_statistics_costs_these_only() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("beside.verso");
    let database = database(&path, PLAIN);
    let pages = pages_of(&database, &[51, 70], false);
    let page_size = database.engine().page_size();
    database.close().unwrap();
    pages.into_iter().for_each(|page| flip(&path, page, page_size));
    let database = open(&path);
    let mut connection = database.connect().unwrap();
    let problems = database.catalog_problems().unwrap().join("\n");
    assert!(problems.contains("pg_description") && problems.contains("pg_statistic"), "{problems}");
    connection.execute("CREATE TABLE new (a integer); INSERT INTO new VALUES (1); DROP TABLE new").unwrap();
    connection.execute("INSERT INTO sound VALUES (3, 'z')").unwrap();
    assert_eq!(answer(&mut connection, "SELECT b FROM over_sound ORDER BY 1"), "x\ny\nz");
}

#[test]
fn a_database_with_a_damaged_page_of_definitions_can_be_read_and_saved_and_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("whole.verso");
    let database = database(&path, PLAIN);
    // pg_namespace, pg_class, pg_attribute, pg_attrdef, pg_type, pg_proc, pg_sequence, pg_depend, pg_index, pg_constraint, pg_authid,
    // verso_acl and pg_rewrite
    let heaps = [11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 30, 33, 50];
    let pages = pages_of(&database, &heaps, false);
    let page_size = database.engine().page_size();
    database.close().unwrap();
    let whole = std::fs::read(&path).unwrap();
    for (heap, page) in heaps.into_iter().zip(pages) {
        std::fs::write(&path, &whole).unwrap();
        flip(&path, page, page_size);
        let database = open(&path);
        let mut connection = database.connect().unwrap();
        let problems = database.catalog_problems().unwrap().join("\n");
        assert!(problems.contains(&format!("page {page} of")), "{heap}: {problems}");
        for change in ["CREATE TABLE new (a integer)", "CREATE ROLE other", "DROP SEQUENCE numbers"] {
            let (sqlstate, text) = code(&mut connection, change);
            assert!(!sqlstate.is_empty(), "{heap}, {change}: {text}");
        }
        assert_eq!(code(&mut connection, "CREATE SCHEMA new").0, "XX001", "{heap}");
        // What the page does not say is there.
        if ![11, 12, 13].contains(&heap) {
            assert_eq!(answer(&mut connection, "SELECT a FROM sound ORDER BY a"), "1\n2", "{heap}");
            assert_eq!(code(&mut connection, "INSERT INTO sound VALUES (3, 'z')").0, "XX001", "{heap}");
        }
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let (listened, memory) = (Arc::clone(&told), Memory::default());
        let job = Arc::new(Job::new(move |event| {
            if let Event::Notice(text) = event {
                listened.lock().unwrap().push((*text).to_owned());
            }
        }));
        verso_backup::backup(&database, memory.clone(), &BackupOptions::default(), &job)
            .unwrap_or_else(|error| panic!("{heap}: {error}"));
        let told = told.lock().unwrap().join("\n");
        assert!(told.contains(&format!("page {page} of")), "{heap}: {told}");
    }
}
