use proptest::prelude::*;

use super::*;
use crate::column::Column;
use crate::text::parse_text;

fn binary(value: &Value, ty: &SqlType) -> Vec<u8> {
    let mut out = Vec::new();
    format_binary(value, ty, &mut out);
    out
}

fn numeric(text: &str) -> Vec<u8> {
    let value = Decimal::parse(text).unwrap();
    let bytes = binary(&Value::Numeric(value), &SqlType::Numeric(None));
    let back = parse_binary(&SqlType::Numeric(None), &bytes).unwrap();
    assert_eq!(back, Value::Numeric(value), "{text}");
    bytes
}

#[test]
fn numerics_have_postgresqls_digits() {
    // As numeric_send gives them: digits, weight, sign, scale.
    assert_eq!(numeric("0"), [0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(numeric("1"), [0, 1, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(numeric("-1.5"), [0, 2, 0, 0, 0x40, 0, 0, 1, 0, 1, 0x13, 0x88]);
    assert_eq!(numeric("10000"), [0, 1, 0, 1, 0, 0, 0, 0, 0, 1]);
    assert_eq!(numeric("0.0001"), [0, 1, 0xff, 0xff, 0, 0, 0, 4, 0, 1]);
    assert_eq!(numeric("0.00"), [0, 0, 0, 0, 0, 0, 0, 2]);
    numeric("12345678901234567890.123456789012345678");
    numeric("99999999999999999999999999999999999999");
    numeric("0.00000000000000000000000000000000000001");
}

#[test]
fn infinite_intervals_are_read() {
    // As interval_send gives 'infinity' and '-infinity'.
    let parts = |micros: i64, days: i32, months: i32| {
        [&micros.to_be_bytes()[..], &days.to_be_bytes(), &months.to_be_bytes()].concat()
    };
    let read = |bytes: &[u8]| parse_binary(&SqlType::Interval(None), bytes).unwrap();
    assert_eq!(read(&parts(i64::MAX, i32::MAX, i32::MAX)), Value::Interval(Interval::INFINITY));
    assert_eq!(read(&parts(i64::MIN, i32::MIN, i32::MIN)), Value::Interval(Interval::NEGATIVE_INFINITY));
    let greatest = Interval { months: i32::MAX, days: i32::MAX, micros: i64::MAX - 1 };
    let bytes = parts(greatest.micros, greatest.days, greatest.months);
    assert_eq!(parse_binary(&SqlType::Interval(None), &bytes).unwrap(), Value::Interval(greatest));
}

#[test]
fn a_char_is_one_byte() {
    // As charsend gives them.
    let ty = SqlType::System(SystemType::Char);
    for (text, byte) in [("", 0), ("a", b'a'), ("\\377", 255)] {
        let value = Value::text(text);
        assert_eq!(binary(&value, &ty), [byte], "{text}");
        assert_eq!(parse_binary(&ty, &[byte]).unwrap(), value);
    }
    assert_eq!(parse_binary(&ty, &[]).unwrap_err().sqlstate, sqlstate::PROTOCOL_VIOLATION);
    assert_eq!(parse_binary(&ty, b"ab").unwrap_err().sqlstate, sqlstate::INVALID_BINARY_REPRESENTATION);
}

#[test]
fn arrays_carry_their_element_type_and_nulls() {
    let ty = SqlType::Array(Box::new(SqlType::Int4));
    let value = Value::Array([Value::Int4(7), Value::Null].into());
    let bytes = binary(&value, &ty);
    let expected: &[u8] = &[
        0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 23, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 7, 255, 255, 255,
        255,
    ];
    assert_eq!(bytes, expected);
    assert_eq!(parse_binary(&ty, &bytes).unwrap(), value);
    let empty = Value::Array([].into());
    assert_eq!(parse_binary(&ty, &binary(&empty, &ty)).unwrap(), empty);
}

#[test]
fn every_type_reads_back_from_both_formats() {
    let samples = [
        (SqlType::Bool, "t"),
        (SqlType::Int2, "-7"),
        (SqlType::Int4, "2147483647"),
        (SqlType::Int8, "-9223372036854775808"),
        (SqlType::Float4, "1.5"),
        (SqlType::Float8, "-0.1"),
        (SqlType::Numeric(crate::NumericSpec::new(10, 2)), "-12.30"),
        (SqlType::Text, "héllo"),
        (SqlType::Varchar(Some(5)), "abc"),
        (SqlType::Char(Some(5)), "abc"),
        (SqlType::Bytea, "\\x00ff"),
        (SqlType::Date, "1999-12-31"),
        (SqlType::Date, "infinity"),
        (SqlType::Time(None), "23:59:59.5"),
        (SqlType::Timestamp(None), "2024-02-29 12:00:00.000001"),
        (SqlType::Timestamptz(None), "2024-02-29 12:00:00+00"),
        (SqlType::Interval(None), "1 mon 2 days 03:00:00"),
        (SqlType::Uuid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
        (SqlType::Oid, "4294967295"),
        (SqlType::Name, "pg_class"),
        (SqlType::Array(Box::new(SqlType::Text)), "{a,NULL,\"b c\"}"),
    ];
    for (ty, text) in samples {
        let value = parse_text(&ty, text, &TimeStyle::UTC).unwrap();
        let mut column = Column::new(ty.physical());
        column.push_value(&value, &ty).unwrap();
        let mut bytes = Vec::new();
        column.put_binary(0, &ty, &mut bytes);
        let length = i32::from_be_bytes(bytes[..4].try_into().unwrap());
        assert_eq!(length as usize, bytes.len() - 4, "{ty}");
        assert_eq!(parse_binary(&ty, &bytes[4..]).unwrap(), value, "{ty}");
        bytes.clear();
        column.put_text(0, &ty, &TimeStyle::UTC, &mut bytes);
        let shown = std::str::from_utf8(&bytes[4..]).unwrap();
        assert_eq!(parse_text(&ty, shown, &TimeStyle::UTC).unwrap(), value, "{ty}");
        let mut expected = String::new();
        format_text(&value, &ty, &TimeStyle::UTC, &mut expected);
        assert_eq!(shown, expected, "{ty}");
    }
}

#[test]
fn modifiers_hold_for_binary_values() {
    let error = parse_binary(&SqlType::Varchar(Some(2)), b"abc").unwrap_err();
    assert_eq!(error.sqlstate, "22001");
    let bytes = binary(&Value::Numeric(Decimal::parse("1.005").unwrap()), &SqlType::Numeric(None));
    let ty = SqlType::Numeric(crate::NumericSpec::new(5, 2));
    assert_eq!(parse_binary(&ty, &bytes).unwrap(), Value::Numeric(Decimal::parse("1.01").unwrap()));
}

#[test]
fn numbers_of_many_digits_read_back() {
    let ty = SqlType::Numeric(None);
    for bytes in [[0, 1, 0x7f, 0xff, 0, 0, 0, 0, 0, 1], [0, 1, 0xf0, 0x61, 0, 0, 0x3e, 0x80, 0, 1]] {
        let value = parse_binary(&ty, &bytes).unwrap();
        assert_eq!(binary(&value, &ty), bytes);
    }
    assert_eq!(
        binary(&parse_binary(&ty, &[0, 0, 0, 0, 0xD0, 0, 0, 32]).unwrap(), &ty),
        [0, 0, 0, 0, 0xD0, 0, 0, 32]
    );
}

#[test]
fn what_does_not_fit_is_an_error() {
    let bad = |oid: u32, bytes: &[u8]| {
        parse_binary(&SqlType::from_pg_oid(oid, -1).unwrap(), bytes).unwrap_err().sqlstate
    };
    // name, int2vector, inet, timetz, bit, int4range, int4multirange, tsvector, tsquery, int4[], record, aclitem, pg_snapshot
    assert_eq!(bad(19, &[b'n'; 64]), "42622");
    assert_eq!(bad(22, &[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 21]), "22P03");
    assert_eq!(bad(869, &[9]), "22P03");
    assert_eq!(bad(1266, &[255; 8]), "22008");
    assert_eq!(bad(1560, &[0x7f, 255, 255, 255]), "22P03");
    assert_eq!(bad(3904, &[1, 0]), "08P01");
    assert_eq!((bad(4451, &[255; 4]), bad(4451, &[0x7f, 0, 0, 0])), ("54000", "XX000"));
    assert_eq!((bad(3614, &[255; 4]), bad(3614, &[0, 0, 0, 1, b'a'])), ("XX000", "08P01"));
    assert_eq!((bad(3615, &[255; 4]), bad(3615, &[0; 4])), ("XX000", "XX000"));
    assert_eq!((bad(1007, &[255; 4]), bad(1007, &[0, 0, 0, 7])), ("22P03", "54000"));
    assert_eq!(bad(2249, &[0; 4]), "0A000");
    assert_eq!(bad(1033, &[0; 4]), "42883");
    assert_eq!(bad(5038, &[0; 20]), "22P03");

    let bad = |ty: &SqlType, bytes: &[u8]| parse_binary(ty, bytes).unwrap_err().sqlstate;
    assert_eq!(bad(&SqlType::Int4, &[0, 0, 1]), "08P01");
    assert_eq!(bad(&SqlType::Int4, &[0, 0, 0, 0, 1]), "22P03");
    assert_eq!(bad(&SqlType::Text, &[0xff]), "22021");
    assert_eq!(bad(&SqlType::Text, b"a\0b"), "22021");
    assert_eq!(bad(&SqlType::Date, &i32::to_be_bytes(i32::MAX - 1)), "22008");
    assert_eq!(bad(&SqlType::Numeric(None), &[0, 0, 0, 0, 0xC1, 0, 0, 0]), "22P03");
    assert_eq!(bad(&SqlType::Numeric(None), &[0, 1, 0, 0, 0, 0, 0, 0, 0x27, 0x10]), "22P03");
    // A count of a hundred million elements with nothing behind it, and one beyond the limit.
    let array = SqlType::Array(Box::new(SqlType::Int4));
    let bomb = |count: u8| [0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 23, count, 0xff, 0xff, 0xff, 0, 0, 0, 1];
    assert_eq!((bad(&array, &bomb(0x05)), bad(&array, &bomb(0x3f))), ("08P01", "54000"));
}

proptest! {
    #[test]
    fn junk_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        for oid in [16u32, 20, 21, 23, 25, 17, 700, 701, 1700, 1082, 1083, 1114, 1186, 2950, 26, 1007, 1231, 2249] {
            let ty = SqlType::from_pg_oid(oid, -1).unwrap();
            if let Ok(value) = parse_binary(&ty, &bytes) {
                let mut out = Vec::new();
                format_binary(&value, &ty, &mut out);
            }
        }
    }

    #[test]
    fn numerics_read_back(unscaled in -(10i128.pow(38) - 1)..10i128.pow(38), scale in 0u8..=38) {
        let value = Value::Numeric(Decimal::new(unscaled, scale).unwrap());
        let ty = SqlType::Numeric(None);
        prop_assert_eq!(parse_binary(&ty, &binary(&value, &ty)).unwrap(), value);
    }
}
