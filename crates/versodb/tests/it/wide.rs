//! Rows of many columns and records of many keys: each is stored whatever its values are, and none stops the sessions.

use versodb::{Connection, Database, Options};

use crate::new_database;

/// `item` for each of so many columns, `?` standing for its number.
fn list(columns: usize, item: &str) -> String {
    (1..=columns).map(|number| item.replace('?', &number.to_string())).collect::<Vec<_>>().join(", ")
}

fn number(connection: &mut Connection, query: &str) -> i64 {
    let rows = connection.query(query).unwrap_or_else(|error| panic!("{error}: {:.80}", query));
    rows.into_rows().first().unwrap().get(0).unwrap()
}

fn execute(connection: &mut Connection, sql: &str) {
    connection.execute(sql).unwrap_or_else(|error| panic!("{error}: {sql:.80}"));
}

/// Types, and a value of each from a text of so many characters.
const TYPES: [(&str, &str); 4] = [
    ("text", "repeat('x', %)"),
    ("bytea", "convert_to(repeat('x', %), 'UTF8')"),
    ("jsonb", "to_jsonb(repeat('x', %))"),
    ("numeric", "repeat('9', %)::numeric"),
];

#[test]
fn rows_of_many_columns_are_stored_in_tables_of_all_kinds() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    execute(&mut connection, "CREATE TABLE plain (a int)");
    for columns in [200, 250, 300, 350, 434, 435, 700, 1600] {
        for length in [20, 30, 40, 60, 64, 65, 80] {
            for (at, (ty, value)) in TYPES.iter().enumerate() {
                // Many are much alike.
                if at > 0 && (columns > 435 || length != 60) {
                    continue;
                }
                let what = format!("{columns} columns of {ty} {length}");
                let values = list(columns, &value.replace('%', &length.to_string()));
                let kind = ["", "UNLOGGED ", "TEMPORARY "][(columns + length) % 3];
                execute(
                    &mut connection,
                    &format!("CREATE {kind}TABLE w ({})", list(columns, &format!("c? {ty}"))),
                );
                execute(
                    &mut connection,
                    &format!("INSERT INTO w SELECT {values} FROM generate_series(1, 2)"),
                );
                let all = format!("SELECT sum(length(c1::text)) + sum(length(c{columns}::text)) FROM w");
                let one = number(
                    &mut connection,
                    &format!("SELECT length(({})::text)::bigint", value.replace('%', &length.to_string())),
                );
                assert_eq!(number(&mut connection, &all), one * 4, "{what}");
                // Narrow ones become wide.
                execute(&mut connection, &format!("INSERT INTO w (c1) VALUES ({})", value.replace('%', "1")));
                let set = list(columns, &format!("c? = {}", value.replace('%', &length.to_string())));
                execute(&mut connection, &format!("UPDATE w SET {set}"));
                assert_eq!(number(&mut connection, &all), one * 6, "{what}");
                if columns < 700 {
                    execute(&mut connection, "CREATE TABLE copied AS SELECT * FROM w");
                    assert_eq!(number(&mut connection, "SELECT count(*) FROM copied"), 3, "{what}");
                    execute(&mut connection, "DROP TABLE copied");
                    let added = value.replace('%', "300");
                    execute(&mut connection, &format!("ALTER TABLE w ADD COLUMN more {ty} DEFAULT {added}"));
                    assert_eq!(number(&mut connection, "SELECT count(more) FROM w"), 3, "{what}");
                }
                execute(&mut connection, "DROP TABLE w");
                execute(&mut connection, "INSERT INTO plain VALUES (1)");
            }
        }
    }
    drop(connection);
    assert!(database.engine().check(&mut |_| {}).unwrap().problems.is_empty());
}

#[test]
fn rows_of_many_columns_are_stored_in_small_pages() {
    for page_size in [4096, 8192] {
        let directory = tempfile::tempdir().unwrap();
        let options = Options::new().page_size(page_size);
        let database = Database::create(directory.path().join("small.verso"), options).unwrap();
        let mut connection = database.connect().unwrap();
        for columns in [60, 100, 150, 300, 1600] {
            for length in [20, 40, 60, 80] {
                execute(&mut connection, &format!("CREATE TABLE w ({})", list(columns, "c? text")));
                let values = list(columns, &format!("repeat('x', {length})"));
                execute(
                    &mut connection,
                    &format!("INSERT INTO w SELECT {values} FROM generate_series(1, 3)"),
                );
                let all = format!("SELECT sum(length(c1)) + sum(length(c{columns})) FROM w");
                assert_eq!(number(&mut connection, &all), 6 * length, "{columns} columns, {length}");
                execute(&mut connection, "DROP TABLE w");
            }
        }
    }
}

#[test]
fn a_record_of_many_keys_is_checked() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    // Each of the keys was compared with all of them.
    execute(
        &mut connection,
        "CREATE TABLE g (id int, a int[]); CREATE INDEX g_a ON g USING gin (a);
         INSERT INTO g SELECT 1, array_agg(n) FROM generate_series(1, 30000) n;
         INSERT INTO g SELECT n, ARRAY[n, n + 1, 40000 - n] FROM generate_series(1, 500) n;
         DELETE FROM g WHERE id % 3 = 0; UPDATE g SET a = a || 7 WHERE id % 5 = 0",
    );
    drop(connection);
    assert!(database.engine().check(&mut |_| {}).unwrap().problems.is_empty());
}
