//! Files that queries read like tables: `read_csv`, `read_json`.

use std::path::Path;

use versodb::Connection;

use crate::new_database;

/// The rows of a query, values separated by `|`, rows by a blank; or its SQLSTATE.
fn run(connection: &mut Connection, sql: &str) -> String {
    let rows = match connection.query(sql) {
        Ok(rows) => rows,
        Err(error) => return error.sqlstate.to_string(),
    };
    let count = rows.columns().len();
    let row = |row: versodb::Row| {
        let cell = |i: usize| match &row.values()[i] {
            versodb::Value::Null => "NULL".to_owned(),
            _ => row.text(i),
        };
        (0..count).map(cell).collect::<Vec<_>>().join("|")
    };
    rows.map(row).collect::<Vec<_>>().join(" ")
}

/// Names and types of what a query yields.
fn columns(connection: &mut Connection, sql: &str) -> String {
    let rows = connection.query(sql).unwrap();
    let columns = rows.columns().iter().map(|column| format!("{}:{}", column.name, column.ty));
    columns.collect::<Vec<_>>().join(" ")
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn csv_files_are_tables_whose_types_are_found_out() {
    let (folder, database) = new_database();
    let mut connection = database.connect().unwrap();
    let text = "id,name,weight,born,seen,ok,long,code\n\
                1,\"a, b\",1.5,2024-02-29,2024-02-29 10:11:12,true,12345678901234567890,007\n\
                2,,2,2024-03-01,2024-03-01,false,1,1\n\
                3,\"\",-0.25,,,,,\n";
    let path = write(folder.path(), "a.csv", text);
    assert_eq!(
        columns(&mut connection, &format!("SELECT * FROM read_csv('{path}')")),
        "id:bigint name:text weight:double precision born:date seen:timestamp without time zone ok:boolean \
         long:numeric code:text"
    );
    let sum =
        format!("SELECT sum(id), sum(weight), max(born), count(name), count(*) FROM read_csv('{path}')");
    assert_eq!(run(&mut connection, &sum), "6|3.25|2024-03-01|2|3");
    let named = format!("SELECT code, name FROM read_csv('{path}') t WHERE t.id <> 2 ORDER BY id DESC");
    assert_eq!(run(&mut connection, &named), "NULL| 007|a, b");
    // twice the same text, with the file changed in between: its columns are not kept
    let all = format!("SELECT * FROM read_csv('{path}')");
    write(folder.path(), "a.csv", "x;y\n1;2\n");
    assert_eq!(run(&mut connection, &all), "1|2");
    write(folder.path(), "a.csv", "z\nq\n");
    assert_eq!(columns(&mut connection, &all), "z:text");
    let table = format!("CREATE TABLE kept AS SELECT * FROM read_csv('{path}', header => true)");
    assert_eq!(run(&mut connection, &table), "");
    assert_eq!(run(&mut connection, "SELECT z FROM kept"), "q");
    let join = format!("SELECT count(*) FROM kept, LATERAL (SELECT * FROM read_csv('{path}') f(a)) f");
    assert_eq!(run(&mut connection, &join), "1");
}

#[test]
fn options_say_what_a_csv_file_looks_like() {
    let (folder, database) = new_database();
    let mut connection = database.connect().unwrap();
    let path = write(folder.path(), "b.csv", "a~1~'x~y'\nb~-~'it''s'\n");
    let options = "header => false, delimiter => '~', quote => '''', null_text => '-'";
    let all = format!("SELECT * FROM read_csv('{path}', {options})");
    assert_eq!(columns(&mut connection, &all), "column1:text column2:bigint column3:text");
    assert_eq!(run(&mut connection, &all), "a|1|x~y b|NULL|it's");
    let texts = format!("SELECT column2 || '!' FROM read_csv('{path}', all_text => true, {options}) LIMIT 1");
    assert_eq!(run(&mut connection, &texts), "1!");
    let defined =
        format!("SELECT k, n + 1 FROM read_csv('{path}', {options}) AS t(k varchar(3), n int2, q text)");
    assert_eq!(run(&mut connection, &defined), "a|2 b|NULL");
    let wrong = format!("SELECT * FROM read_csv('{path}', colour => 1)");
    assert_eq!(run(&mut connection, &wrong), "42883");
    assert_eq!(run(&mut connection, "SELECT * FROM read_csv()"), "42883");
    assert_eq!(run(&mut connection, "SELECT read_csv('f')"), "0A000");
    assert_eq!(run(&mut connection, "SELECT * FROM read_csv('f') WITH ORDINALITY"), "0A000");
    assert_eq!(run(&mut connection, "SELECT * FROM read_csv(NULL::text)"), "22004");
    assert_eq!(run(&mut connection, "SELECT * FROM read_csv(chr(65))"), "0A000");
    assert_eq!(run(&mut connection, "SELECT * FROM read_csv('/nowhere/there.csv')"), "58P01");
    assert_eq!(run(&mut connection, "SELECT * FROM read_csv('/nowhere/*.csv')"), "58P01");
    assert_eq!(run(&mut connection, &format!("CREATE VIEW v AS SELECT * FROM read_csv('{path}')")), "0A000");
    let prepared =
        connection.prepare(&format!("SELECT column1 FROM read_csv('{path}', {options}) ORDER BY 1"));
    let statement = prepared.unwrap();
    for _ in 0..2 {
        let rows = statement.query(&[]).unwrap().map(|row| row.text(0)).collect::<Vec<_>>();
        assert_eq!(rows, ["a", "b"]);
    }
}

#[test]
fn rows_of_another_length_do_not_hide_the_columns() {
    let (folder, database) = new_database();
    let mut connection = database.connect().unwrap();
    // lines without anything are no rows
    let path = write(folder.path(), "a.csv", "n;t\n1;a\n\n2;b\n\n\n");
    let all = format!("SELECT * FROM read_csv('{path}')");
    assert_eq!(columns(&mut connection, &all), "n:bigint t:text");
    assert_eq!(run(&mut connection, &all), "1|a 2|b");
    for (text, line, padded) in [
        ("a,b,c\n1,2,3\n4,5\n6,7,8\n", "line 3", "1|2|3 4|5|NULL 6|7|8"),
        ("a,b\n1,2\n3,4,5\n", "line 3", "1|2|NULL 3|4|5"),
        ("1,2,3\n4,5\n", "line 2", "1|2|3 4|5|NULL"),
    ] {
        write(folder.path(), "a.csv", text);
        let error = connection.query(&all).map(|_| ()).unwrap_err();
        assert_eq!(error.sqlstate, "22P04", "{text}");
        assert!(error.context.as_deref().unwrap_or_default().contains(line), "{error:?}");
        let pads = format!("SELECT * FROM read_csv('{path}', null_padding => true)");
        assert_eq!(run(&mut connection, &pads), padded, "{text}");
    }
    // Rows that have nothing in common but their delimiter are not one column of texts.
    write(folder.path(), "a.csv", "a,b\n1,2\n3\n4,5,6\n");
    let error = connection.query(&all).map(drop).unwrap_err();
    assert_eq!(error.sqlstate, "22P04");
    assert!(error.context.as_deref().is_some_and(|context| context.contains("a.csv, line 3")), "{error:?}");
    for text in ["a,b\n1,2\n3,\"x\n4,5\n", "a,b\n1,2\n3,\"x\n"] {
        write(folder.path(), "a.csv", text);
        let error = connection.query(&all).map(drop).unwrap_err();
        assert_eq!(error.sqlstate, "22P04");
        let context = error.context.as_deref().unwrap_or_default();
        assert!(context.contains("a.csv, line 3"), "{error:?}");
    }
    // texts with a comma here and there are one column
    write(folder.path(), "a.csv", "hello\nwell, yes\nno\n");
    assert_eq!(columns(&mut connection, &all), "hello:text");
}

#[test]
fn several_files_have_the_same_columns() {
    let (folder, database) = new_database();
    let mut connection = database.connect().unwrap();
    let head = "n,t\n";
    for at in 0..3 {
        let rows: String = (0..2_000).map(|row| format!("{},r{row}\n", at * 2_000 + row)).collect();
        write(folder.path(), &format!("part{at}.csv"), &format!("{head}{rows}"));
    }
    write(folder.path(), "other.txt", "no");
    let place = folder.path().display();
    let all = format!("SELECT count(*), sum(n), count(DISTINCT t) FROM read_csv('{place}/part*.csv')");
    assert_eq!(run(&mut connection, &all), "6000|17997000|2000");
    let list = format!("SELECT sum(n) FROM read_csv(ARRAY['{place}/part0.csv', '{place}/part?.csv'])");
    assert_eq!(run(&mut connection, &list), "19996000");
    write(folder.path(), "part3.csv", "t,n\nx,1\n");
    assert_eq!(run(&mut connection, &all), "22P04");
    // a value behind the rows that types were found out from
    let path = write(folder.path(), "late.csv", "n\n1\n2\nx\n");
    let late = format!("SELECT sum(n) FROM read_csv('{path}', sample_rows => 2, header => true)");
    let error = connection.query(&late).map(|_| ()).unwrap_err();
    assert_eq!(error.sqlstate, "22P02");
    assert!(error.context.as_deref().unwrap_or_default().contains("line 4, column n: \"x\""), "{error:?}");
    assert_eq!(run(&mut connection, &late.replace("=> 2", "=> 0").replace("sum(n)", "max(n)")), "x");
}

#[test]
fn json_files_are_tables() {
    let (folder, database) = new_database();
    let mut connection = database.connect().unwrap();
    let lines = "{\"id\": 1, \"name\": \"a\\n}\", \"at\": \"2024-02-29T10:11:12Z\", \"part\": {\"x\": [1]}}\n\
                 {\"id\": 2, \"more\": 1.5, \"name\": null, \"mixed\": 1}\n\n\
                 {\"id\": 3, \"mixed\": \"m\", \"id\": 4}";
    let path = write(folder.path(), "a.json", lines);
    let all = format!("SELECT * FROM read_json('{path}')");
    assert_eq!(
        columns(&mut connection, &all),
        "id:bigint name:text at:timestamp with time zone part:jsonb more:double precision mixed:jsonb"
    );
    connection.execute("SET timezone = 'UTC'").unwrap();
    assert_eq!(
        run(&mut connection, &all),
        "1|a\n}|2024-02-29 10:11:12+00|{\"x\": [1]}|NULL|NULL 2|NULL|NULL|NULL|1.5|1 4|NULL|NULL|NULL|NULL|\"m\""
    );
    let path = write(folder.path(), "b.json", "[\n {\"a\": 1},\n {\"a\": 2, \"b\": \"x\"}\n]\n");
    assert_eq!(run(&mut connection, &format!("SELECT b, a FROM read_json('{path}')")), "NULL|1 x|2");
    let defined = format!("SELECT * FROM read_json('{path}') AS t(a text, c int)");
    assert_eq!(run(&mut connection, &defined), "1|NULL 2|NULL");
    for (text, code) in
        [("{\"a\": 1", "22P02"), ("{\"a\" 1}", "22P02"), ("1", "22P02"), ("[{\"a\": 1}", "22P02")]
    {
        let path = write(folder.path(), "bad.json", text);
        assert_eq!(run(&mut connection, &format!("SELECT * FROM read_json('{path}')")), code, "{text}");
    }
    // objects that lie across the pieces in which a file is read
    let long = "x".repeat(1_000);
    let rows: String = (0..2_000).map(|n| format!("{{\"n\": {n}, \"t\": \"{long}\"}}\n")).collect();
    let path = write(folder.path(), "long.json", &rows);
    let sum = format!("SELECT count(*), sum(n), sum(length(t)) FROM read_json('{path}')");
    assert_eq!(run(&mut connection, &sum), "2000|1999000|2000000");
}

#[test]
fn files_are_read_by_those_who_may_read_files() {
    let (folder, database) = new_database();
    let mut connection = database.connect().unwrap();
    let path = write(folder.path(), "a.csv", "a\n1\n");
    connection.execute("CREATE ROLE reader").unwrap();
    connection.execute("CREATE ROLE nobody").unwrap();
    connection.execute("GRANT pg_read_server_files TO reader").unwrap();
    let query = format!("SELECT a FROM read_csv('{path}')");
    for (role, expected) in [("reader", "1"), ("nobody", "42501")] {
        connection.execute(&format!("SET ROLE {role}")).unwrap();
        assert_eq!(run(&mut connection, &query), expected, "{role}");
        connection.execute("RESET ROLE").unwrap();
    }
}

#[test]
fn parquet_files_are_written_by_copy_and_read_as_tables() {
    let (folder, database) = new_database();
    let mut connection = database.connect().unwrap();
    let path = folder.path().join("a.parquet").display().to_string();
    connection.execute("SET timezone = 'UTC'").unwrap();
    let values = "SELECT n::int2 AS s, n AS i, n::bigint * 10000000000 AS l, n / 4.0::float8 AS d, n::real AS r, \
                  (n / 8.0)::numeric(10, 3) AS m, (n / 8.0)::numeric(30, 5) AS w, n::numeric AS u, n % 2 = 0 AS b, \
                  'text ' || n AS t, date '1969-12-30' + n AS day, time '10:00' + n * interval '1 s' AS clock, \
                  timestamp '1969-12-31 23:59:59.5' + n * interval '1 s' AS stamp, \
                  timestamptz '2024-02-29 10:00+02' AS zoned, decode(to_hex(n + 16), 'hex') AS bytes, \
                  md5(n::text)::uuid AS id, jsonb_build_object('n', n) AS doc, int4range(1, n + 1) AS other \
                  FROM generate_series(1, 3) n UNION ALL SELECT NULL, NULL, NULL, NULL, NULL, NULL::numeric(10, 3), NULL::numeric(30, 5), NULL, NULL, \
                  NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL";
    connection.execute(&format!("CREATE TABLE kept AS {values}")).unwrap();
    connection.execute(&format!("COPY kept TO '{path}' (FORMAT parquet)")).unwrap();
    let all = format!("SELECT * FROM read_parquet('{path}')");
    assert_eq!(
        columns(&mut connection, &all),
        "s:smallint i:integer l:bigint d:double precision r:real m:numeric(10,3) w:numeric(30,5) u:text b:boolean \
         t:text day:date clock:time without time zone stamp:timestamp without time zone \
         zoned:timestamp with time zone bytes:bytea id:uuid doc:json other:text"
    );
    assert_eq!(run(&mut connection, &all), run(&mut connection, "SELECT * FROM kept"));
    let some = format!("SELECT count(*), sum(m), max(t) FROM read_parquet('{path}') WHERE i >= 2");
    assert_eq!(run(&mut connection, &some), "2|0.625|text 3");
    assert_eq!(run(&mut connection, &format!("SELECT count(*) FROM read_parquet('{path}')")), "4");
    connection
        .execute("CREATE TABLE back (t text, l bigint, i bigint, other int4range, stamp timestamp(0))")
        .unwrap();
    let copied = connection.execute(&format!("COPY back FROM '{path}' (FORMAT parquet)"));
    copied.unwrap();
    let same = "SELECT count(*) FROM back b JOIN kept k USING (t, l, i, other)";
    assert_eq!(run(&mut connection, same), "3");
    connection.execute("CREATE TABLE wrong (nothing int)").unwrap();
    let wrong = format!("COPY wrong FROM '{path}' (FORMAT parquet)");
    assert_eq!(run(&mut connection, &wrong), "22P04");
    let infinite = format!("COPY (SELECT date 'infinity' AS d) TO '{path}' (FORMAT parquet)");
    assert_eq!(run(&mut connection, &infinite), "22008");
    let twice = format!("COPY (SELECT 1 AS a, 2 AS a) TO '{path}' (FORMAT parquet)");
    assert_eq!(run(&mut connection, &twice), "42701");
    // more rows than a group has
    let many = "SELECT n AS i, 'r' || n % 10 AS t FROM generate_series(1, 300000) n";
    connection.execute(&format!("COPY ({many}) TO '{path}' (FORMAT parquet)")).unwrap();
    let sum = format!("SELECT count(*), sum(i), count(DISTINCT t) FROM read_parquet('{path}')");
    assert_eq!(run(&mut connection, &sum), "300000|45000150000|10");
    // damaged ones are errors
    let bytes = std::fs::read(&path).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 40 + 1) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x55;
        std::fs::write(&path, &damaged).unwrap();
        let got = run(&mut connection, &sum);
        assert!(got.contains('|') || got.len() == 5, "{got}");
    }
    std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
    assert_eq!(run(&mut connection, &sum), "22P04");
    let path = write(folder.path(), "no.parquet", "no");
    assert_eq!(run(&mut connection, &format!("SELECT * FROM read_parquet('{path}')")), "22P04");
}
