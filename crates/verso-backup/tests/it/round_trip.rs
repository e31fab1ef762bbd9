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
    assert_eq!((report.tables, report.bytes), (16, bytes.len() as u64));
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
