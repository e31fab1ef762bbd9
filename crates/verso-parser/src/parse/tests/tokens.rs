//! Literals and their errors, as PostgreSQL 18 reads them.

use crate::parse::{parse_expression, parse_script};
use crate::syntax::{ExprKind, Literal};

fn text_of(literal: &str) -> Result<String, (&'static str, String, Option<u32>)> {
    match parse_expression(literal) {
        Ok(expr) => match expr.kind {
            ExprKind::Literal(Literal::String(text)) => Ok(text),
            other => panic!("{literal}: {other:?}"),
        },
        Err(error) => Err((error.sqlstate, error.message, error.position)),
    }
}

#[test]
fn literals_of_every_form() {
    for (literal, text) in [
        ("'it''s'", "it's"),
        ("N'a'", "a"),
        ("$$a'b$$", "a'b"),
        ("$x$a $$ b$x$", "a $$ b"),
        (r"E'a\nb\tc\\d\'e'", "a\nb\tc\\d'e"),
        (r"e'\101\x41\u0041\U00000041\q'", "AAAAq"),
        (r"E'\xc3\xa4 \303\244'", "ä ä"),
        (r"E'\ud83d\ude00'", "😀"),
        (r"U&'d\0061t\+000061 \\'", "data \\"),
        (r"U&'d!0061t' UESCAPE '!'", "dat"),
        (r"u&'\D83D\DE00'", "😀"),
        ("'a'\n'b'", "ab"),
        ("'a' -- c\n 'b'", "ab"),
        ("E'a\\n'\n'\\tb'", "a\n\tb"),
        ("U&'a\\0062'\n'c'", "abc"),
        ("'ä'\n\n'ö'''", "äö'"),
    ] {
        assert_eq!(text_of(literal).as_deref(), Ok(text), "{literal}");
    }
}

#[test]
fn flawed_literals_are_named_as_postgresql_does() {
    for (literal, code, message, position) in [
        (r"U&'a\0000b'", "42601", "invalid Unicode escape value", 5),
        (r"U&'\00zz'", "42601", "invalid Unicode escape", 4),
        (r"U&'\D800'", "42601", "invalid Unicode surrogate pair", 9),
        (r"U&'a' UESCAPE '+'", "42601", "invalid Unicode escape character at or near \"'+'\"", 15),
        (r"E'\xff'", "22021", "invalid byte sequence for encoding \"UTF8\": 0xff", 1),
        (r"E'\xc3a'", "22021", "invalid byte sequence for encoding \"UTF8\": 0xc3 0x61", 1),
        (r"E'a\000b'", "22021", "invalid byte sequence for encoding \"UTF8\": 0x00", 1),
        (r"E'\u00'", "22025", "invalid Unicode escape", 3),
        (r"E'\u0000'", "42601", "invalid Unicode escape value at or near \"\\u0000\"", 3),
        (r"E'\ud800'", "42601", "invalid Unicode surrogate pair at or near \"\\ud800\"", 3),
        ("E'abc", "42601", "unterminated quoted string at or near \"E'abc\"", 1),
        ("$a$ b", "42601", "unterminated dollar-quoted string at or near \"$a$ b\"", 1),
        ("\"abc", "42601", "unterminated quoted identifier at or near \"\"abc\"", 1),
        ("$1a", "42601", "trailing junk after parameter at or near \"$1a\"", 1),
        ("12abc", "42601", "trailing junk after numeric literal at or near \"12abc\"", 1),
        ("B'12'", "22P02", "\"2\" is not a valid binary digit", 1),
    ] {
        assert_eq!(text_of(literal), Err((code, message.to_string(), Some(position))), "{literal}");
    }
}

#[test]
fn places_count_characters_and_slices_bytes() {
    let error = parse_script("SELECT 'äöü', ü AS \"é\" -- ü\n, /* ö */ )").expect_err("no expression");
    assert_eq!((error.message.as_str(), error.position), ("syntax error at or near \")\"", Some(39)));
}

#[test]
fn names_are_folded_and_cut() {
    let name = |text: &str| match parse_expression(text).expect(text).kind {
        ExprKind::Column(parts) => parts.into_iter().map(|part| part.text).collect::<Vec<_>>(),
        other => panic!("{other:?}"),
    };
    assert_eq!(name("Ab.\"Cd\"\"e\""), ["ab", "Cd\"e"]);
    assert_eq!(name(r#"U&"d\0061t""#), ["dat"]);
    assert_eq!(name(&"ä".repeat(40)), ["ä".repeat(31)]);
    assert_eq!(name("t.select"), ["t", "select"]);
}

#[test]
fn columns_are_named_where_columns_may_stand() {
    let named = |text: &str| crate::names_column(text, "date");
    for text in [
        "date > 1",
        "t.date",
        "\"date\" = 1",
        "f(date)",
        "extract(year from date)",
        "(date)::date",
        "a = date",
    ] {
        assert!(named(text), "{text}");
    }
    for text in [
        "a::date",
        "cast(a as date)",
        "date '2020-01-01' < a",
        "date(a)",
        "extract(date from a)",
        "a collate date",
        "f(date => 1)",
        "a = 'date'",
        "b.dates",
    ] {
        assert!(!named(text), "{text}");
    }
    let renamed = crate::rename_column("date > a::date and f(t.date) = date '2020-01-01'", "date", "day");
    assert_eq!(renamed, "day > a::date and f(t.day) = date '2020-01-01'");
}
