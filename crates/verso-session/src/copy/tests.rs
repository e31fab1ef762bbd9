use verso_types::{Batch, SqlType, TimeStyle, Value};

use verso_parser::syntax::{Columns, CopyFormat, CopyOptions, Header};

use super::layout::Layout;
use super::reader::{Progress, Reader};
use super::writer::Writer;
use verso_planner::errors::SqlError;

fn columns() -> Vec<(String, SqlType)> {
    vec![("a".to_owned(), SqlType::Int4), ("b".to_owned(), SqlType::Text)]
}

fn types() -> Vec<SqlType> {
    columns().into_iter().map(|(_, ty)| ty).collect()
}

fn write(options: &CopyOptions, rows: &[(Value, Value)]) -> Vec<u8> {
    let layout = Layout::of(options, &["a", "b"], false).unwrap();
    let types = types();
    let mut batch = Batch::of_types(&types);
    for (a, b) in rows {
        batch.push_row(&[a.clone(), b.clone()], &types).unwrap();
    }
    let time_zone = TimeStyle::UTC;
    let mut writer = Writer::new(&layout, &types, &time_zone);
    let mut out = Vec::new();
    writer.begin(&["a", "b"], &mut out);
    (0..batch.rows).for_each(|row| writer.row(&batch, row, &mut out));
    writer.end(&mut out);
    out
}

/// Reads data that come in pieces of `piece` bytes.
fn read(options: &CopyOptions, data: &[u8], piece: usize) -> Result<Vec<(Value, Value)>, SqlError> {
    let layout = Layout::of(options, &["a", "b"], true)?;
    let types = types();
    let mut reader = Reader::new(layout, "COPY t", &columns(), TimeStyle::UTC);
    let mut batch = Batch::of_types(&types);
    let mut pieces = data.chunks(piece);
    let mut at_end = false;
    while reader.read(&mut batch, usize::MAX, at_end)? != Progress::Done {
        match pieces.next() {
            Some(piece) => reader.more().extend_from_slice(piece),
            None => {
                at_end = true;
                reader.end();
            }
        }
    }
    Ok((0..batch.rows)
        .map(|row| (batch.columns[0].value(row, &types[0]), batch.columns[1].value(row, &types[1])))
        .collect())
}

fn rows() -> Vec<(Value, Value)> {
    let texts = [
        "plain",
        "",
        "tab\there",
        "line\nbreak",
        "back\\slash",
        "\\N",
        "\\.",
        "qu\"ote",
        "com,ma",
        "\r",
        "é",
    ];
    let row = |(i, text): (usize, &&str)| (Value::Int4(i as i32), Value::text(text));
    let mut rows: Vec<_> = texts.iter().enumerate().map(row).collect();
    rows.push((Value::Null, Value::Null));
    rows
}

fn options(format: CopyFormat) -> CopyOptions {
    CopyOptions { format, ..CopyOptions::default() }
}

#[test]
fn what_is_written_is_read_back_however_it_is_cut() {
    for format in [CopyFormat::Text, CopyFormat::Csv, CopyFormat::Binary] {
        let data = write(&options(format), &rows());
        for piece in [1, 2, 3, 7, 1_000_000] {
            assert_eq!(read(&options(format), &data, piece).unwrap(), rows(), "{format:?} {piece}");
        }
    }
    let data = write(&options(CopyFormat::Binary), &rows());
    assert_eq!(read(&options(CopyFormat::Binary), &data[..data.len() - 2], 3).unwrap(), rows(), "no trailer");
    let strange = CopyOptions {
        delimiter: Some("|".into()),
        quote: Some("'".into()),
        escape: Some("\\".into()),
        null: Some("nothing".into()),
        header: Header::Match,
        force_quote: Columns::None,
        ..options(CopyFormat::Csv)
    };
    let data = write(&CopyOptions { header: Header::Present, ..strange.clone() }, &rows());
    assert_eq!(read(&strange, &data, 5).unwrap(), rows());
}

#[test]
fn text_is_postgresqls() {
    let data = write(&options(CopyFormat::Text), &rows());
    let text = String::from_utf8(data).unwrap();
    assert!(
        text.starts_with("0\tplain\n1\t\n2\ttab\\there\n3\tline\\nbreak\n4\tback\\\\slash\n5\t\\\\N\n"),
        "{text}"
    );
    assert!(text.ends_with("\\N\t\\N\n"), "{text}");
    let read = |data: &[u8]| read(&options(CopyFormat::Text), data, 4).unwrap();
    assert_eq!(read(b"1\t\\x41\\102\\q\r\n"), [(Value::Int4(1), Value::text("ABq"))]);
    assert_eq!(read(b"1\ta\\\nb\n"), [(Value::Int4(1), Value::text("a\nb"))]);
    assert_eq!(read(b"1\ta\n\\.\nignored"), [(Value::Int4(1), Value::text("a"))]);
    assert_eq!(read(b"1\tno end of line"), [(Value::Int4(1), Value::text("no end of line"))]);
}

#[test]
fn an_empty_csv_field_is_null_and_a_quoted_one_is_not() {
    let of = |options: &CopyOptions, data: &[u8]| read(options, data, 100).unwrap().remove(0).1;
    let csv = options(CopyFormat::Csv);
    assert_eq!(of(&csv, b"1,\n"), Value::Null);
    assert_eq!(of(&csv, b"1,\"\"\n"), Value::text(""));
    assert_eq!(of(&csv, b"1,a\"b,c\"d\n"), Value::text("ab,cd"));
    // Only the text format ends with it.
    assert_eq!(
        read(&csv, b"1,a\n2,\\.\n\\.,c\n", 100).unwrap_err().message,
        "invalid input syntax for type integer: \"\\.\""
    );
    assert_eq!(of(&csv, b"2,\\.\n"), Value::text("\\."));
    let all = CopyOptions { force_null: Columns::All, ..csv.clone() };
    assert_eq!(of(&all, b"1,\"\"\n"), Value::Null);
    let named = CopyOptions { force_not_null: Columns::Named(vec!["b".into()]), ..csv };
    assert_eq!(of(&named, b"1,\n"), Value::text(""));
}

#[test]
fn errors_say_where_they_are() {
    let error = |format, data: &[u8]| read(&options(format), data, 100).unwrap_err();
    let missing = error(CopyFormat::Text, b"1\ta\n2\n");
    assert_eq!((missing.sqlstate, missing.message.as_str()), ("22P04", "missing data for column \"b\""));
    assert_eq!(missing.context.as_deref(), Some("COPY t, line 2: \"2\""));
    // Lines within quotes count, and long lines are cut.
    let cases: [(CopyFormat, &[u8], &str); 6] = [
        // Before the first line has ended nobody knows how lines end.
        (CopyFormat::Csv, b"1,\"open\nmore\n", "COPY t, line 1: \"1,\"open\nmore\n\""),
        (CopyFormat::Csv, b"1,a\n5,\"open\nmore", "COPY t, line 3: \"5,\"open\nmore\""),
        (CopyFormat::Csv, b"1,a\n2,\"open\nmore\"\nx,5\n", "COPY t, line 4, column a: \"x\""),
        (CopyFormat::Csv, b"1,a\n2,\"open\nmore\",6\n", "COPY t, line 3: \"2,\"open\nmore\",6\""),
        (CopyFormat::Text, b"1\ta\r\n2\tb\n", "COPY t, line 2"),
        (CopyFormat::Text, b"1\tx\ty\n", "COPY t, line 1: \"1\tx\ty\""),
    ];
    for (format, data, context) in cases {
        assert_eq!(error(format, data).context.as_deref(), Some(context));
    }
    let long = format!("1\t{}\ty\n", "x".repeat(120));
    let context = format!("COPY t, line 1: \"1\t{}...\"", "x".repeat(98));
    assert_eq!(error(CopyFormat::Text, long.as_bytes()).context.as_deref(), Some(context.as_str()));
    let wrong = error(CopyFormat::Text, b"x\ta\n");
    assert_eq!(wrong.sqlstate, "22P02");
    assert_eq!(wrong.context.as_deref(), Some("COPY t, line 1, column a: \"x\""));
    assert_eq!(error(CopyFormat::Text, b"1\t2\t3\n").message, "extra data after last expected column");
    assert_eq!(error(CopyFormat::Csv, b"1,\"open\n").message, "unterminated CSV quoted field");
    assert_eq!(error(CopyFormat::Text, b"1\t\xff\n").sqlstate, "22021");
    assert_eq!(error(CopyFormat::Binary, b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x03").sqlstate, "22P04");
    assert_eq!(
        error(CopyFormat::Binary, b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0\0\x02\0").message,
        "unexpected EOF in COPY data"
    );
    assert_eq!(error(CopyFormat::Binary, b"not a copy at all, is it").sqlstate, "22P04");
}

#[test]
fn the_marker_at_the_end_stands_alone_on_its_line() {
    let text = CopyOptions::default();
    let alone = "end-of-copy marker is not alone on its line";
    let style = "end-of-copy marker does not match previous newline style";
    let cases: [(&[u8], &str); 7] = [
        (b"1\ta\n\\.x\n", alone),
        (b"1\ta\n\\.", alone),
        (b"1\ta\\.\n", alone),
        (b"1\t\\.a\n", alone),
        (b"1\ta\n\\.\\.\n", alone),
        (b"1\ta\r\n\\.\n", style),
        (b"1\ta\n\\.\r\n", style),
    ];
    for (data, message) in cases {
        for piece in [1, 3, 100] {
            let error = read(&text, data, piece).unwrap_err();
            assert_eq!((error.sqlstate, error.message.as_str()), ("22P04", message), "{data:?}");
        }
    }
    assert_eq!(read(&text, b"1\ta\r\n\\.\r\n2\tb\r\n", 1).unwrap().len(), 1);
    assert_eq!(read(&text, b"1\t\\\\.\n", 1).unwrap(), [(Value::Int4(1), Value::text("\\."))]);
    // A header is a line, and data without any line have none.
    let named = CopyOptions { header: Header::Match, ..CopyOptions::default() };
    assert_eq!(read(&named, b"", 1).unwrap_err().sqlstate, "22P04");
    let csv = CopyOptions { header: Header::Present, ..options(CopyFormat::Csv) };
    assert_eq!(read(&csv, b"1,\"open\n", 100).unwrap(), []);
    assert_eq!(read(&csv, b"\xff\n1,a\n", 100).unwrap_err().sqlstate, "22021");
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let refused = |options: CopyOptions| Layout::of(&options, &["a"], true).unwrap_err().sqlstate;
    let text = CopyOptions::default();
    assert_eq!(refused(CopyOptions { quote: Some("x".into()), ..text.clone() }), "0A000");
    assert_eq!(refused(CopyOptions { delimiter: Some("ab".into()), ..text.clone() }), "0A000");
    assert_eq!(refused(CopyOptions { delimiter: Some("\n".into()), ..text.clone() }), "22023");
    assert_eq!(refused(CopyOptions { delimiter: Some("a".into()), ..text.clone() }), "22023");
    assert_eq!(refused(CopyOptions { null: Some("\t".into()), ..text }), "22023");
    let csv = options(CopyFormat::Csv);
    assert_eq!(refused(CopyOptions { delimiter: Some("\"".into()), ..csv.clone() }), "22023");
    let twice = Columns::Named(vec!["a".into(), "a".into()]);
    assert_eq!(refused(CopyOptions { force_null: twice, ..csv.clone() }), "42701");
    assert_eq!(refused(CopyOptions { force_null: Columns::Named(vec!["zz".into()]), ..csv }), "42703");
    let binary = options(CopyFormat::Binary);
    assert_eq!(refused(CopyOptions { null: Some("x".into()), ..binary }), "42601");
}

#[test]
fn lines_end_alike() {
    let text = CopyOptions::default();
    let csv = CopyOptions { format: CopyFormat::Csv, ..CopyOptions::default() };
    let pair = |a: i32, b: &str| (Value::Int4(a), Value::text(b));
    for piece in [1, 2, 100] {
        for end in ["\n", "\r\n", "\r"] {
            let lines = |separator: &str| format!("1{separator}a{end}2{separator}b{end}");
            let expected = vec![pair(1, "a"), pair(2, "b")];
            assert_eq!(read(&text, lines("\t").as_bytes(), piece).unwrap(), expected, "{end:?}");
            assert_eq!(read(&csv, lines(",").as_bytes(), piece).unwrap(), expected, "{end:?}");
        }
        // The first line says how lines end, as in PostgreSQL.
        for (data, message) in [
            ("1,a\n2,b\r\n", "unquoted carriage return found in data"),
            ("1,a\r\n2,b\n", "unquoted newline found in data"),
            ("1,a\n2,b\r3,c\n", "unquoted carriage return found in data"),
            ("1,a\r2,b\n3,c\r", "unquoted newline found in data"),
        ] {
            let error = read(&csv, data.as_bytes(), piece).unwrap_err();
            assert_eq!((error.sqlstate, error.message.as_str()), ("22P04", message), "{data:?}");
            let error = read(&text, data.replace(',', "\t").as_bytes(), piece).unwrap_err();
            assert_eq!(error.message, message.replace("unquoted", "literal"), "{data:?}");
        }
    }
    assert_eq!(read(&csv, b"1,\"a\r\nb\nc\"\n", 3).unwrap(), [pair(1, "a\r\nb\nc")]);
}
