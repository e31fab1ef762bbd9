//! Text against what PostgreSQL 15 answered, settings named as by 18 (DateStyle ISO, MDY; TimeStyle America/New_York), and round trips.

use proptest::prelude::*;

use super::*;
use crate::cast::{CastKind, cast};
use crate::datetime::{END_TIMESTAMP, MAX_DATE, MICROS_PER_DAY, MIN_DATE, MIN_TIMESTAMP, time_zone};
use crate::sqltype::NumericSpec;
use crate::value::{Interval, eq_sql};

pub(crate) fn new_york() -> TimeStyle {
    TimeStyle::of_zone(time_zone("America/New_York").expect("known"))
}

pub(crate) fn named_type(name: &str) -> SqlType {
    let spec = |p, s| SqlType::Numeric(NumericSpec::new(p, s));
    match name {
        "boolean" => SqlType::Bool,
        "smallint" => SqlType::Int2,
        "integer" => SqlType::Int4,
        "bigint" => SqlType::Int8,
        "oid" => SqlType::Oid,
        "real" => SqlType::Float4,
        "double precision" => SqlType::Float8,
        "numeric" => SqlType::Numeric(None),
        "numeric(3,1)" => spec(3, 1),
        "numeric(5,2)" => spec(5, 2),
        "numeric(18,2)" => spec(18, 2),
        "numeric(3,3)" => spec(3, 3),
        "bytea" => SqlType::Bytea,
        "uuid" => SqlType::Uuid,
        "date" => SqlType::Date,
        "time" => SqlType::Time(None),
        "timestamp" => SqlType::Timestamp(None),
        "timestamptz" => SqlType::Timestamptz(None),
        "interval" => SqlType::Interval(None),
        "varchar(2)" => SqlType::Varchar(Some(2)),
        "varchar(3)" => SqlType::Varchar(Some(3)),
        "char(3)" => SqlType::Char(Some(3)),
        "text" => SqlType::Text,
        "integer[]" => SqlType::Array(Box::new(SqlType::Int4)),
        "text[]" => SqlType::Array(Box::new(SqlType::Text)),
        _ => panic!("type {name}"),
    }
}

/// The value cast to text, or the error in one line.
pub(crate) fn show(result: Result<Value, TypeError>, ty: &SqlType, tz: &TimeStyle) -> String {
    let mut out = String::new();
    match result {
        Ok(value) => {
            let text = cast(&value, ty, &SqlType::Text, CastKind::Explicit, tz).expect("a cast to text");
            format_text(&text, &SqlType::Text, tz, &mut out);
        }
        Err(error) => {
            out = format!("ERROR {} {}", error.sqlstate, error.message);
            error.detail.iter().for_each(|detail| out += &format!(" DETAIL {detail}"));
            error.hint.iter().for_each(|hint| out += &format!(" HINT {hint}"));
        }
    }
    out
}

/// Columns: type, input, what `select ('input'::type)::text` printed, or its error.
#[test]
fn input_output_and_errors_are_postgresql_s() {
    let tz = new_york();
    let mut wrong = String::new();
    for line in include_str!("../../testdata/text.tsv").lines() {
        let mut columns = line.splitn(3, '\t');
        let mut next = || columns.next().expect("three columns");
        let (name, input, expected) = (next(), next(), next());
        let ty = named_type(name);
        let got = show(parse_text(&ty, input, &tz), &ty, &tz);
        if got != expected {
            wrong += &format!("{name} {input:?}\n  ours {got}\n  PG   {expected}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,30}", digits in "[-+0-9 :./TZPYMDHS,a-z{}\"\\\\]{0,24}") {
        let tz = new_york();
        for ty in ["boolean", "integer", "oid", "real", "double precision", "numeric(5,2)", "bytea", "uuid", "date", "time",
            "timestamp", "timestamptz", "interval", "text[]", "varchar(3)", "char(3)"] {
            let ty = named_type(ty);
            let _ = parse_text(&ty, &text, &tz);
            let _ = parse_text(&ty, &digits, &tz);
        }
    }

    #[test]
    fn floats_round_trip(bits in any::<u64>(), short in any::<u32>()) {
        for (ty, value) in [(SqlType::Float8, Value::Float8(f64::from_bits(bits))), (SqlType::Float4, Value::Float4(f32::from_bits(short)))] {
            let mut text = String::new();
            format_text(&value, &ty, &TimeStyle::UTC, &mut text);
            prop_assert!(eq_sql(&parse_text(&ty, &text, &TimeStyle::UTC).expect("our own output"), &value), "{text}");
        }
    }

    #[test]
    fn times_round_trip(
        days in MIN_DATE..=MAX_DATE, micros in MIN_TIMESTAMP..END_TIMESTAMP, time in 0..=MICROS_PER_DAY,
        (months, part, span) in (any::<i32>(), any::<i32>(), any::<i64>()),
    ) {
        let tz = new_york();
        // an hour that happens twice reads as the later one
        let local = crate::datetime::to_local(micros, &tz);
        let moment = crate::datetime::to_utc(local, &tz).unwrap_or(0);
        for (ty, value) in [
            (SqlType::Date, Value::Date(days)),
            (SqlType::Timestamp(None), Value::Timestamp(micros)),
            (SqlType::Timestamptz(None), Value::Timestamptz(moment)),
            (SqlType::Time(None), Value::Time(time)),
            (SqlType::Interval(None), Value::Interval(Interval { months, days: part, micros: span.max(-i64::MAX) })),
        ] {
            let mut text = String::new();
            format_text(&value, &ty, &tz, &mut text);
            prop_assert_eq!(parse_text(&ty, &text, &tz), Ok(value), "{}", text);
        }
    }

    #[test]
    fn bytes_uuids_and_arrays_round_trip(
        bytes in proptest::collection::vec(any::<u8>(), 0..20), uuid in any::<u128>(),
        texts in proptest::collection::vec(proptest::option::of("\\PC{0,6}"), 0..5),
    ) {
        let texts = texts.iter().map(|text| text.as_ref().map_or(Value::Null, |text| Value::text(text))).collect();
        for (ty, value) in [
            (SqlType::Bytea, Value::Bytes(bytes.into())),
            (SqlType::Uuid, Value::Uuid(uuid)),
            (named_type("text[]"), Value::Array(texts)),
        ] {
            let mut text = String::new();
            format_text(&value, &ty, &TimeStyle::UTC, &mut text);
            prop_assert_eq!(parse_text(&ty, &text, &TimeStyle::UTC), Ok(value), "{}", text);
        }
    }
}

#[test]
fn output_depends_on_the_type() {
    let text = |value: &Value, ty: &SqlType| {
        let mut out = String::new();
        format_text(value, ty, &TimeStyle::UTC, &mut out);
        out
    };
    assert_eq!(text(&Value::Bool(true), &SqlType::Bool), "t");
    assert_eq!(text(&Value::text("ä"), &SqlType::Char(Some(3))), "ä  ");
    let row = Value::Record(
        [Value::Int4(1), Value::Null, Value::text("a \"b\\"), Value::Bool(false), Value::text("")].into(),
    );
    assert_eq!(text(&row, &SqlType::Record), "(1,,\"a \"\"b\\\\\",f,\"\")");
    assert_eq!(parse_text(&SqlType::Record, "(1)", &TimeStyle::UTC).map_err(|e| e.sqlstate), Err("0A000"));
    assert_eq!(
        parse_text(&SqlType::Name, &"x".repeat(70), &TimeStyle::UTC),
        Ok(Value::text(&"x".repeat(63)))
    );
}
