//! Databases that earlier versions have written are opened and used, and are of the newest format then.
//!
//! The files in `earlier/` were written by a program of their format, with pages of 4 kB, from the script beside them. In both, objects
//! behind the first page map of the file have units of pages, and indexes have trees from the start.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use versodb::{Connection, Database, Options};

/// A database that was closed.
const CLOSED: &[(&str, &[u8])] = &[("", include_bytes!("earlier/format8_closed.zst"))];
/// A database whose program was killed in the middle of a transaction: its file, and what lies in the folder of its log.
const CRASHED: &[(&str, &[u8])] = &[
    ("", include_bytes!("earlier/format8_crashed.zst")),
    ("0000000000000001.log", include_bytes!("earlier/format8_crashed_0000000000000001.zst")),
    ("0000000000000002.log", include_bytes!("earlier/format8_crashed_0000000000000002.zst")),
    ("doublewrite", include_bytes!("earlier/format8_crashed_doublewrite.zst")),
    ("durable", include_bytes!("earlier/format8_crashed_durable.zst")),
];

/// Puts the parts of a database into a folder that goes away: its file, which has no name there, and its log.
fn unpacked(parts: &[(&str, &[u8])]) -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("old.verso");
    let log = directory.path().join("old.verso-wal");
    std::fs::create_dir(&log).unwrap();
    for (name, packed) in parts {
        let to = if name.is_empty() { path.clone() } else { log.join(name) };
        std::fs::write(to, zstd::decode_all(*packed).unwrap()).unwrap();
    }
    (directory, path)
}

/// The formats that both copies of the superblock say.
fn formats(path: &Path) -> [u8; 2] {
    let bytes = std::fs::read(path).unwrap();
    [bytes[8], bytes[2048 + 8]]
}

#[track_caller]
fn answers(connection: &mut Connection, expected: &[(&str, &str)]) {
    for (question, answer) in expected {
        let rows = connection.query(question).unwrap().into_rows();
        assert_eq!(rows[0].text(0), *answer, "{question}");
    }
}

#[track_caller]
fn sound(database: &Database) {
    let problems = database.engine().check(&mut |_| {}).unwrap().problems;
    assert!(problems.is_empty(), "{problems:?}");
}

#[test]
fn a_closed_database_of_format_8_is_opened_and_used() {
    let (_directory, path) = unpacked(CLOSED);
    assert_eq!(formats(&path), [8, 8]);
    let kept = [
        (
            "SELECT string_agg(left(body, 1) || length(body), ' ' ORDER BY id) FROM long WHERE id < 6",
            "a20001 b20002 d20004 e20005",
        ),
        ("SELECT count(*) FROM behind WHERE words @> ARRAY['w2']", "20"),
        ("SELECT count(*) || ' ' || min(t) || ' ' || sum(id) FROM packed", "3000 text 0 4501500"),
        ("SELECT count(*) || ' ' || max(t) FROM quick", "20 q9"),
        ("SELECT n || ' ' || total FROM sums WHERE name = 'name 6'", "55 13616.25"),
        ("SELECT note FROM first WHERE id = 60", "{\"g\": 60, \"even\": true}"),
    ];
    let before = [
        ("SELECT count(*) || ' ' || sum(amount) FROM first", "393 98141.25"),
        ("SELECT string_agg(t, ' ' ORDER BY id) FROM late", "one two"),
        ("SELECT count(*) FROM first WHERE name = 'changed'", "8"),
        ("SELECT count(*) FROM empty", "0"),
        ("SELECT nextval('numbers')", "42"),
    ];
    let database = Database::open(&path, Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    answers(&mut connection, &kept);
    answers(&mut connection, &before);
    sound(&database);
    let script = "
        INSERT INTO empty SELECT g, 't' || g FROM generate_series(1, 500) AS g;
        CREATE TABLE new (id int PRIMARY KEY, t text);
        INSERT INTO new VALUES (1, 'new');
        INSERT INTO long (body) VALUES (repeat('j', 50000));
        DELETE FROM first WHERE id > 100;
        UPDATE first SET name = 'again' WHERE name = 'changed';
        UPDATE late SET t = t || '!';
        VACUUM;
        DROP TABLE behind;
        CREATE UNLOGGED TABLE quicker (id int PRIMARY KEY);
        INSERT INTO quicker SELECT generate_series(1, 300)";
    for one in script.split(';') {
        connection.execute(one).unwrap();
    }
    assert_eq!(connection.execute("INSERT INTO empty VALUES (501, 't7')").unwrap_err().sqlstate, "23505");
    let after = [
        ("SELECT count(*) || ' ' || max(id) FROM first", "100 100"),
        ("SELECT count(*) FROM first WHERE name = 'again'", "2"),
        ("SELECT string_agg(t, ' ' ORDER BY id) FROM late", "one! two!"),
        ("SELECT id FROM empty WHERE t = 't444'", "444"),
        ("SELECT t FROM new WHERE id = 1", "new"),
        ("SELECT length(body) FROM long WHERE id = 10", "50000"),
        ("SELECT count(*) FROM quicker", "300"),
    ];
    answers(&mut connection, &after);
    sound(&database);
    drop(connection);
    database.close().unwrap();
    assert_eq!(formats(&path), [9, 9]);
    let database = Database::open(&path, Options::new()).unwrap();
    let mut connection = database.connect().unwrap();
    answers(&mut connection, &after);
    answers(&mut connection, &[kept[0], kept[2], kept[3], kept[5]]);
    sound(&database);
}

#[test]
fn a_database_of_format_8_that_was_not_closed_is_recovered() {
    let (_directory, path) = unpacked(CRASHED);
    assert_eq!(formats(&path), [8, 8]);
    let there = [
        ("SELECT count(*) || ' ' || count(*) FILTER (WHERE name = 'changed') FROM first", "290 5"),
        ("SELECT count(*) FROM first WHERE name = 'never'", "0"),
        (
            "SELECT string_agg(left(body, 1) || length(body), '' ORDER BY id) FROM second WHERE id > 6",
            "g5000h5000i5000",
        ),
        ("SELECT count(*) FROM third", "0"),
        (
            "SELECT string_agg(relname, ' ' ORDER BY relname) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace",
            "first second third",
        ),
    ];
    for _ in 0..2 {
        let database = Database::open(&path, Options::new()).unwrap();
        let mut connection = database.connect().unwrap();
        answers(&mut connection, &there);
        connection.execute("INSERT INTO third SELECT generate_series(1, 200); DELETE FROM third").unwrap();
        connection.execute("VACUUM").unwrap();
        sound(&database);
        drop(connection);
        database.close().unwrap();
        assert_eq!(formats(&path), [9, 9]);
    }
}
