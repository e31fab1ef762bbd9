use super::*;
use crate::TimeStyle;
use crate::row::{decode_value, encode_value};
use crate::text::{format_text, parse_text};
use crate::value::cmp_sql;
use crate::wire::{format_binary, parse_binary};
use crate::{KeyOrder, KeyType, SqlType};

fn shown(ty: &SqlType, text: &str) -> Result<String, TypeError> {
    let mut out = String::new();
    format_text(&parse_text(ty, text, &TimeStyle::UTC)?, ty, &TimeStyle::UTC, &mut out);
    Ok(out)
}

#[test]
fn texts_are_postgresql_s() {
    for (name, text, expected) in [
        ("int4range", "[1,5]", "[1,6)"),
        ("int4range", "(1,5)", "[2,5)"),
        ("int4range", "(1,2)", "empty"),
        ("int4range", " (,5] ", "(,6)"),
        ("int4range", "[3,3)", "empty"),
        ("int4range", " EMPTY ", "empty"),
        ("int8range", "[,]", "(,)"),
        ("numrange", "[1.50,2.0]", "[1.50,2.0]"),
        ("numrange", "(1,1]", "empty"),
        ("daterange", "[2020-01-31,2020-02-29]", "[2020-01-31,2020-03-01)"),
        ("daterange", "[-infinity,infinity]", "[-infinity,infinity]"),
        ("tsrange", "[2020-01-01,\"2020-01-02 03:04\")", "[\"2020-01-01 00:00:00\",\"2020-01-02 03:04:00\")"),
        ("int4multirange", "{[1,3),[2,5),[7,8),empty}", "{[1,5),[7,8)}"),
        ("int4multirange", "{[5,7),[1,5)}", "{[1,7)}"),
        ("int4multirange", " { } ", "{}"),
    ] {
        let ty = RangeType::type_named(name).expect("a type");
        assert_eq!(shown(&ty, text).as_deref(), Ok(expected), "{text}::{name}");
    }
}

#[test]
fn what_is_malformed_says_why() {
    for (name, text, detail) in [
        ("int4range", "1,2", "Missing left parenthesis or bracket."),
        ("int4range", "[1)", "Missing comma after lower bound."),
        ("int4range", "[1,2,3)", "Too many commas."),
        ("int4range", "[1,2) x", "Junk after right parenthesis or bracket."),
        ("int4range", "[1,2", "Unexpected end of input."),
        ("int4range", "emptyx", "Junk after \"empty\" key word."),
        ("int4multirange", "[1,2)", "Missing left brace."),
        ("int4multirange", "{1,2}", "Expected range start."),
        ("int4multirange", "{[1,2) [3,4)}", "Expected comma or end of multirange."),
        ("int4multirange", "{[1,2)} x", "Junk after closing right brace."),
        ("int4multirange", "{[1,2)", "Unexpected end of input."),
    ] {
        let error = shown(&RangeType::type_named(name).expect("a type"), text).expect_err(text);
        assert_eq!((error.sqlstate, error.detail.as_deref()), ("22P02", Some(detail)), "{text}");
    }
    let error = shown(&SqlType::Range(RangeType::INT4), "[5,1]").expect_err("the wrong way round");
    assert_eq!(error.sqlstate, "22000");
    let error = shown(&SqlType::Range(RangeType::INT4), "[1,2147483647]").expect_err("no next integer");
    assert_eq!(error.message, "integer out of range");
}

/// In PostgreSQL's order.
const ASCENDING: [&str; 10] =
    ["empty", "(,)", "(-5,-1)", "[1,2)", "[1,2]", "[1,3)", "[1,)", "(1,2)", "(1,)", "[2,2]"];

#[test]
fn every_form_reads_back_in_order() {
    reads_back(RangeType::NUM);
    let name =
        |oid: u32, name: &str| RangeName { oid, array: oid + 1, schema: "public".into(), name: name.into() };
    let own = OwnRange {
        range: name(16_400, "own"),
        multirange: name(16_402, "own_multirange"),
        subtype: SqlType::Float8,
    };
    reads_back(RangeType::Own(std::sync::Arc::new(own)));
}

fn reads_back(of: RangeType) {
    let (ty, multi) = (of.clone().ty(false), of.ty(true));
    let order = KeyOrder::ascending(KeyType::of(&ty).expect("keys"));
    let mut last: Option<(Value, Vec<u8>)> = None;
    for text in ASCENDING {
        let value = parse_text(&ty, text, &TimeStyle::UTC).expect("a range");
        let (mut stored, mut sent, mut key) = (Vec::new(), Vec::new(), Vec::new());
        encode_value(&value, &mut stored);
        assert_eq!(decode_value(&stored), Ok(value.clone()));
        format_binary(&value, &ty, &mut sent);
        assert_eq!(parse_binary(&ty, &sent), Ok(value.clone()));
        order.encode_raw(Some(&stored), &mut key).expect("a key");
        if let Some((before, smaller)) = &last {
            assert!(cmp_sql(before, &value).is_lt(), "{text}");
            assert!(*smaller < key, "{text}");
        }
        last = Some((value, key));
        let several = parse_text(&multi, &format!("{{{text}}}"), &TimeStyle::UTC).expect("a multirange");
        let (mut stored, mut sent) = (Vec::new(), Vec::new());
        encode_value(&several, &mut stored);
        assert_eq!(decode_value(&stored), Ok(several.clone()));
        format_binary(&several, &multi, &mut sent);
        assert_eq!(parse_binary(&multi, &sent), Ok(several));
    }
}

#[test]
fn broken_bounds_are_refused() {
    let mut stored = Vec::new();
    let range = parse(&RangeType::INT4, "[1,5)", &TimeStyle::UTC).expect("a range");
    encode_value(&range.into_value(), &mut stored);
    for cut in 0..stored.len() {
        assert!(decode_value(&stored[..cut]).is_err());
    }
    // upper bound 5 becomes -5
    let last = stored.len() - 1;
    stored[last] = 9;
    assert_eq!(decode_value(&stored).map_err(|error| error.sqlstate), Err("XX001"));
}
