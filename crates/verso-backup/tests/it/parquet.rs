//! Folders of Parquet files.

use std::path::Path;
use std::sync::Arc;

use verso_backup::{BackupError, BackupOptions, BackupReport, parquet_to_folder};
use versodb::Database;

use crate::world::{answer, database};

const SHOP: &str = r#"
CREATE SCHEMA shop;
CREATE TYPE shop.mood AS ENUM ('sad', 'glad');
CREATE TABLE shop.item (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "de-x-icu" UNIQUE, price numeric(10,2),
  twice numeric GENERATED ALWAYS AS (price * 2) STORED, thrice numeric GENERATED ALWAYS AS (price * 3), mood shop.mood, made timestamptz, tags text[], raw bytea, n numeric, j jsonb, u uuid,
  b bool, d date, r int4range);
INSERT INTO shop.item (name, price, mood, made, tags, raw, n, j, u, b, d, r) VALUES
  ('tea', 3.50, 'glad', '2024-02-29 12:00:00.5+01', '{a,"b c"}', '\x00ff', 123456789012345678901234567890.5, '{"a": [1]}',
   'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', true, '1999-12-31', '[1,5)'),
  ('Ärmel', -0.01, 'sad', NULL, NULL, NULL, 'NaN', NULL, NULL, NULL, NULL, 'empty'), (NULL, NULL, NULL, NULL, '{}', '', 0, 'null', NULL, false, '0001-01-01 BC', NULL);
CREATE TABLE "odd/na.me"(item int REFERENCES shop.item, "A b" int);
INSERT INTO "odd/na.me" SELECT 1 + n % 3, n FROM generate_series(1, 200) AS s(n);
CREATE INDEX ON "odd/na.me" ("A b");
CREATE TABLE nothing ();
INSERT INTO nothing SELECT FROM generate_series(1, 3);
CREATE TABLE whole (a int, t text) PARTITION BY LIST (a);
CREATE TABLE part_1 PARTITION OF whole FOR VALUES IN (1);
CREATE TABLE part_2 PARTITION OF whole DEFAULT;
INSERT INTO whole VALUES (1, 'x'), (2, 'y');
CREATE VIEW cheap AS SELECT name FROM shop.item WHERE price < 1;
CREATE SEQUENCE counted; SELECT nextval('counted');
"#;

const QUESTIONS: [&str; 8] = [
    "SELECT * FROM shop.item ORDER BY id",
    "SELECT count(*), sum(item), sum(\"A b\") FROM \"odd/na.me\"",
    "SELECT count(*) FROM nothing",
    "SELECT tableoid::regclass, * FROM whole ORDER BY a",
    "SELECT * FROM cheap",
    "SELECT nextval('counted'), nextval('shop.item_id_seq')",
    "SELECT indexrelid::regclass::text FROM pg_index WHERE indexrelid >= 16384 ORDER BY 1",
    "SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE oid >= 16384 ORDER BY 1",
];

fn save(
    database: &Database,
    folder: &Path,
    replace: bool,
    options: &BackupOptions,
) -> Result<BackupReport, BackupError> {
    verso_parquet::provide();
    parquet_to_folder(database, folder, replace, options, &Arc::default())
}

/// The database that the scripts of a folder make, run beside it.
fn load(folder: &Path, path: &Path) -> Database {
    let copy = database(path, "");
    let mut connection = copy.connect().unwrap();
    for name in ["schema.sql", "load.sql", "keys.sql"] {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        // A user changes the folder; the folder of this process is not the test's to change.
        let text = text.replace("FROM '", &format!("FROM '{}/", folder.display()));
        connection.execute(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    copy
}

#[test]
fn what_a_folder_of_parquet_files_holds_comes_back() {
    let place = tempfile::tempdir().unwrap();
    let original = database(&place.path().join("a.verso"), SHOP);
    let folder = place.path().join("out");
    let options = BackupOptions { workers: 3, ..BackupOptions::default() };
    let report = save(&original, &folder, false, &options).unwrap();
    assert_eq!((report.tables, report.rows), (5, 208));
    assert!(!place.path().join("out.part").exists());
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let files = ["public.odd%2fna%2eme.parquet", "public.part_1.parquet", "public.part_2.parquet"];
    let scripts = ["keys.sql", "load.sql"];
    assert_eq!(names, [&scripts[..], &files, &["schema.sql", "shop.item.parquet"]].concat());
    let copy = load(&folder, &place.path().join("b.verso"));
    let (mut before, mut after) = (original.connect().unwrap(), copy.connect().unwrap());
    for question in QUESTIONS {
        assert_eq!(answer(&mut before, question), answer(&mut after, question), "{question}");
    }
    // A reader of Parquet sees generated columns, too.
    let read = format!(
        "SELECT name, price, twice FROM read_parquet('{}') WHERE price > 0",
        folder.join("shop.item.parquet").display()
    );
    assert_eq!(answer(&mut after, &read), "tea|3.50|7.00");
}

#[test]
fn a_folder_is_replaced_only_where_a_backup_has_written_it() {
    let place = tempfile::tempdir().unwrap();
    let original =
        database(&place.path().join("a.verso"), "CREATE TABLE t (a int); INSERT INTO t VALUES (1)");
    let folder = place.path().join("out");
    let options = BackupOptions::default();
    save(&original, &folder, false, &options).unwrap();
    let refused = |error: BackupError| match error {
        BackupError::Refused(text) => text,
        other => panic!("{other}"),
    };
    assert!(refused(save(&original, &folder, false, &options).unwrap_err()).contains("--replace"));
    let only_rows = BackupOptions { schema: false, ..BackupOptions::default() };
    save(&original, &folder, true, &only_rows).unwrap();
    std::fs::write(folder.join("letter.txt"), "mine").unwrap();
    let text = refused(save(&original, &folder, true, &options).unwrap_err());
    assert!(text.contains("no backup has written: letter.txt"), "{text}");
    assert!(folder.join("letter.txt").exists());
}

#[test]
fn a_value_that_parquet_has_not_names_its_table_and_leaves_nothing() {
    let place = tempfile::tempdir().unwrap();
    let script = "CREATE TABLE t (a date); INSERT INTO t VALUES ('infinity')";
    let original = database(&place.path().join("a.verso"), script);
    let error = save(&original, &place.path().join("out"), false, &BackupOptions::default()).unwrap_err();
    assert!(matches!(&error, BackupError::Statement { error, .. } if error.sqlstate == "22008"), "{error}");
    assert!(error.to_string().contains("table public.t"), "{error}");
    assert!(!place.path().join("out").exists() && !place.path().join("out.part").exists());
}
