//! Expected values are those of PostgreSQL's documentation and of PostgreSQL itself.

use std::collections::HashSet;

use verso_types::{CastKind, Decimal, SqlType, TimeStyle, Value, format_text, parse_text};

use super::{Body, all_functions};
use crate::context::{Described, EvalContext};
use crate::expr::RowExpr;
use crate::plan::TypedExpr;
use crate::testing::{TestSession, call, cast, literal};

fn eval(expr: &TypedExpr) -> Result<Value, String> {
    let session = TestSession::default();
    RowExpr::compile(expr).eval_constant(&session.context(&session.services())).map_err(|error| {
        let Described { sqlstate, message, .. } = session.services().binding.describe_error(&error);
        format!("{sqlstate} {message}")
    })
}

/// Value of an expression as text, or SQLSTATE and message.
fn show(expr: &TypedExpr) -> String {
    match eval(expr) {
        Ok(Value::Null) => "NULL".to_owned(),
        Ok(value) => {
            let mut out = String::new();
            format_text(&value, &expr.ty, &TimeStyle::UTC, &mut out);
            out
        }
        Err(error) => error,
    }
}

/// A literal written as PostgreSQL reads it: `"12.5::numeric"`, `"NULL::text"`.
fn lit(text: &str) -> TypedExpr {
    let (text, name) = text.rsplit_once("::").expect("a literal has a type");
    let ty = match name {
        "bool" => SqlType::Bool,
        "int2" => SqlType::Int2,
        "int4" => SqlType::Int4,
        "int8" => SqlType::Int8,
        "float4" => SqlType::Float4,
        "float8" => SqlType::Float8,
        "numeric" => SqlType::Numeric(None),
        "text" => SqlType::Text,
        "bytea" => SqlType::Bytea,
        "date" => SqlType::Date,
        "time" => SqlType::Time(None),
        "timestamp" => SqlType::Timestamp(None),
        "timestamptz" => SqlType::Timestamptz(None),
        "interval" => SqlType::Interval(None),
        "int4[]" => SqlType::Array(Box::new(SqlType::Int4)),
        other => panic!("no type {other}"),
    };
    if text == "NULL" {
        return TypedExpr::null(ty);
    }
    TypedExpr::literal(parse_text(&ty, text, &TimeStyle::UTC).expect("a literal of the type"), ty)
}

fn check(cases: &[(&str, &[&str], &str)]) {
    for (name, args, expected) in cases {
        let expr = call(name, args.iter().map(|arg| lit(arg)).collect());
        assert_eq!(show(&expr), *expected, "{name}({})", args.join(", "));
    }
}

#[test]
fn integers_follow_postgresql() {
    check(&[
        ("+", &["2::int4", "3::int4"], "5"),
        ("+", &["2147483647::int4", "1::int4"], "22003 integer out of range"),
        ("*", &["9223372036854775807::int8", "2::int8"], "22003 bigint out of range"),
        ("-", &["-32768::int2", "1::int2"], "22003 smallint out of range"),
        ("/", &["7::int4", "2::int4"], "3"),
        ("/", &["-7::int4", "2::int4"], "-3"),
        ("/", &["1::int4", "0::int4"], "22012 division by zero"),
        ("/", &["-2147483648::int4", "-1::int4"], "22003 integer out of range"),
        ("%", &["-7::int4", "3::int4"], "-1"),
        ("%", &["-2147483648::int4", "-1::int4"], "0"),
        ("mod", &["5::int8", "0::int8"], "22012 division by zero"),
        ("abs", &["-9223372036854775808::int8"], "22003 bigint out of range"),
        ("&", &["91::int4", "15::int4"], "11"),
        ("|", &["32::int4", "3::int4"], "35"),
        ("#", &["17::int4", "5::int4"], "20"),
        ("~", &["1::int4"], "-2"),
        ("<<", &["1::int4", "4::int4"], "16"),
        (">>", &["8::int4", "2::int4"], "2"),
        ("+", &["NULL::int4", "3::int4"], "NULL"),
    ]);
}

#[test]
fn numerics_follow_postgresql() {
    check(&[
        ("+", &["1.10::numeric", "2.205::numeric"], "3.305"),
        ("*", &["1.10::numeric", "2.5::numeric"], "2.750"),
        ("/", &["7::numeric", "3::numeric"], "2.3333333333333333"),
        ("/", &["1::numeric", "0::numeric"], "22012 division by zero"),
        ("%", &["7.5::numeric", "2::numeric"], "1.5"),
        ("round", &["42.4382::numeric", "2::int4"], "42.44"),
        ("round", &["1234.56::numeric", "-1::int4"], "1230"),
        ("round", &["42.5::numeric"], "43"),
        ("trunc", &["42.4382::numeric", "2::int4"], "42.43"),
        ("ceil", &["-42.8::numeric"], "-42"),
        ("floor", &["-42.8::numeric"], "-43"),
        ("sign", &["-8.4::numeric"], "-1"),
        ("abs", &["-17.4::numeric"], "17.4"),
        ("div", &["9::numeric", "4::numeric"], "2"),
        ("scale", &["8.4100::numeric"], "4"),
        ("trim_scale", &["8.4100::numeric"], "8.41"),
    ]);
}

#[test]
fn floats_follow_postgresql() {
    check(&[
        ("/", &["1::float8", "3::float8"], "0.3333333333333333"),
        ("/", &["1::float8", "0::float8"], "22012 division by zero"),
        ("*", &["1e308::float8", "10::float8"], "22003 value out of range: overflow"),
        ("*", &["1e-308::float8", "1e-308::float8"], "22003 value out of range: underflow"),
        ("+", &["Infinity::float8", "1::float8"], "Infinity"),
        ("sqrt", &["2::float8"], "1.4142135623730951"),
        ("sqrt", &["-1::float8"], "2201F cannot take square root of a negative number"),
        ("ln", &["0::float8"], "2201E cannot take logarithm of zero"),
        ("ln", &["2::float8"], "0.6931471805599453"),
        ("power", &["9::float8", "3::float8"], "729"),
        ("power", &["0::float8", "-1::float8"], "2201F zero raised to a negative power is undefined"),
        ("^", &["2::float8", "10::float8"], "1024"),
        ("exp", &["1::float8"], "2.718281828459045"),
        ("round", &["2.5::float8"], "2"),
        ("round", &["-42.4::float8"], "-42"),
        ("trunc", &["-42.8::float8"], "-42"),
        ("ceil", &["-42.8::float8"], "-42"),
        ("sign", &["-0.5::float8"], "-1"),
        ("sign", &["NaN::float8"], "0"),
        ("asin", &["2::float8"], "22003 input is out of range"),
        ("cbrt", &["27::float8"], "3"),
    ]);
}

#[test]
fn texts_follow_postgresql() {
    check(&[
        ("||", &["Post::text", "greSQL::text"], "PostgreSQL"),
        ("||", &["Value: ::text", "42::int4"], "Value: 42"),
        ("||", &["true::bool", "!::text"], "true!"),
        ("concat", &["abc::text", "NULL::text", "22::int4", "true::bool"], "abc22t"),
        ("concat_ws", &[",::text", "abc::text", "2::int4", "NULL::text", "22::int4"], "abc,2,22"),
        ("length", &["jösé::text"], "4"),
        ("octet_length", &["jösé::text"], "6"),
        ("lower", &["TOM::text"], "tom"),
        ("upper", &["tom::text"], "TOM"),
        ("initcap", &["hi THOMAS::text"], "Hi Thomas"),
        ("substr", &["alphabet::text", "3::int4"], "phabet"),
        ("substr", &["alphabet::text", "3::int4", "2::int4"], "ph"),
        ("substring", &["alphabet::text", "-1::int4", "4::int4"], "al"),
        (
            "substring",
            &["Thomas::text", "2::int4", "-1::int4"],
            "22011 negative substring length not allowed",
        ),
        ("substring", &["äöüß::text", "2::int4", "2::int4"], "öü"),
        ("btrim", &["xyxtrimyyx::text", "xyz::text"], "trim"),
        ("ltrim", &["zzzytest::text", "xyz::text"], "test"),
        ("rtrim", &["testxxzx::text", "xyz::text"], "test"),
        ("btrim", &["  a ::text"], "a"),
        ("strpos", &["high::text", "ig::text"], "2"),
        ("position", &["Thomas::text", "om::text"], "3"),
        ("strpos", &["high::text", "x::text"], "0"),
        ("replace", &["abcdefabcdef::text", "cd::text", "XX::text"], "abXXefabXXef"),
        ("translate", &["12345::text", "143::text", "ax::text"], "a2x5"),
        ("repeat", &["Pg::text", "4::int4"], "PgPgPgPg"),
        ("repeat", &["Pg::text", "-4::int4"], ""),
        ("repeat", &["Pg::text", "2000000000::int4"], "54000 requested length too large"),
        ("left", &["abcde::text", "2::int4"], "ab"),
        ("left", &["abcde::text", "-2::int4"], "abc"),
        ("right", &["abcde::text", "2::int4"], "de"),
        ("right", &["abcde::text", "-2::int4"], "cde"),
        ("lpad", &["hi::text", "5::int4", "xy::text"], "xyxhi"),
        ("rpad", &["hi::text", "5::int4", "xy::text"], "hixyx"),
        ("lpad", &["hello::text", "3::int4"], "hel"),
        ("reverse", &["abcde::text"], "edcba"),
        ("chr", &["65::int4"], "A"),
        ("chr", &["0::int4"], "54000 null character not permitted"),
        ("ascii", &["x::text"], "120"),
        ("ascii", &["::text"], "0"),
        ("split_part", &["a,b::text", ",::text", "-3::int4"], ""),
        ("split_part", &["abc~@~def~@~ghi::text", "~@~::text", "2::int4"], "def"),
        ("split_part", &["abc,def,ghi,jkl::text", ",::text", "-2::int4"], "ghi"),
        ("starts_with", &["alphabet::text", "alph::text"], "t"),
        ("quote_literal", &["O'Reilly::text"], "'O''Reilly'"),
        ("quote_ident", &["Foo bar::text"], "\"Foo bar\""),
        ("to_hex", &["2147483647::int4"], "7fffffff"),
        ("encode", &["\\x123456::bytea", "hex::text"], "123456"),
        ("length", &["\\x123456::bytea"], "3"),
        ("||", &["\\x12::bytea", "\\x34::bytea"], "\\x1234"),
    ]);
}

#[test]
fn patterns_follow_postgresql() {
    check(&[
        ("~", &["thomas::text", "t.*ma::text"], "t"),
        ("~*", &["thomas::text", "T.*ma::text"], "t"),
        ("!~", &["thomas::text", "t.*max::text"], "t"),
        ("~", &["thomas::text", "(::text"], "2201B invalid regular expression: parentheses () not balanced"),
        ("regexp_replace", &["foobarbaz::text", "b..::text", "X::text"], "fooXbaz"),
        ("regexp_replace", &["foobarbaz::text", "b..::text", "X::text", "g::text"], "fooXX"),
        ("regexp_replace", &["foobarbaz::text", "b(..)::text", "X\\1Y::text", "g::text"], "fooXarYXazY"),
    ]);
}

#[test]
fn dates_follow_postgresql() {
    check(&[
        ("+", &["2001-09-28::date", "7::int4"], "2001-10-05"),
        ("+", &["2001-09-28::date", "1 hour::interval"], "2001-09-28 01:00:00"),
        ("+", &["2001-09-28::date", "03:00::time"], "2001-09-28 03:00:00"),
        ("-", &["2001-10-01::date", "2001-09-28::date"], "3"),
        ("-", &["2001-10-01::date", "7::int4"], "2001-09-24"),
        ("+", &["2001-09-28 01:00::timestamp", "23 hours::interval"], "2001-09-29 00:00:00"),
        ("+", &["2024-01-31 00:00::timestamp", "1 month::interval"], "2024-02-29 00:00:00"),
        ("-", &["2001-09-29 03:00::timestamp", "2001-07-27 12:00::timestamp"], "63 days 15:00:00"),
        ("*", &["1 second::interval", "900::float8"], "00:15:00"),
        ("-", &["05:00::time", "03:00::time"], "02:00:00"),
        ("date_trunc", &["hour::text", "2001-02-16 20:38:40::timestamp"], "2001-02-16 20:00:00"),
        ("date_trunc", &["year::text", "2001-02-16 20:38:40::timestamp"], "2001-01-01 00:00:00"),
        ("date_trunc", &["week::text", "2001-02-16 20:38:40::timestamp"], "2001-02-12 00:00:00"),
        ("date_trunc", &["quarter::text", "2001-08-16 20:38:40::timestamp"], "2001-07-01 00:00:00"),
        ("date_trunc", &["century::text", "2000-12-16 12:21:13::timestamp"], "1901-01-01 00:00:00"),
        ("date_trunc", &["hour::text", "3 days 02:47:33::interval"], "3 days 02:00:00"),
        ("date_trunc", &["day::text", "2001-02-16 20:38:40+00::timestamptz"], "2001-02-16 00:00:00+00"),
        (
            "date_trunc",
            &["fortnight::text", "2001-02-16 20:38:40::timestamp"],
            "22023 unit \"fortnight\" not recognized for type timestamp without time zone",
        ),
        ("extract", &["century::text", "2000-12-16 12:21:13::timestamp"], "20"),
        ("extract", &["century::text", "2001-02-16 20:38:40::timestamp"], "21"),
        ("extract", &["day::text", "2001-02-16 20:38:40::timestamp"], "16"),
        ("extract", &["decade::text", "2001-02-16 20:38:40::timestamp"], "200"),
        ("extract", &["dow::text", "2001-02-16 20:38:40::timestamp"], "5"),
        ("extract", &["doy::text", "2001-02-16 20:38:40::timestamp"], "47"),
        ("extract", &["epoch::text", "2001-02-16 20:38:40.12-08::timestamptz"], "982384720.120000"),
        ("extract", &["epoch::text", "2001-02-16 20:38:40.12::timestamp"], "982355920.120000"),
        ("extract", &["epoch::text", "5 days 3 hours::interval"], "442800.000000"),
        ("extract", &["isodow::text", "2001-02-18 20:38:40::timestamp"], "7"),
        ("extract", &["isoyear::text", "2006-01-01::date"], "2005"),
        ("extract", &["julian::text", "2006-01-01::date"], "2453737"),
        ("extract", &["julian::text", "2006-01-01 12:00::timestamp"], "2453737.50000000000000000000"),
        ("extract", &["milliseconds::text", "17:12:28.5::time"], "28500.000"),
        ("extract", &["microseconds::text", "17:12:28.5::time"], "28500000"),
        ("extract", &["millennium::text", "2001-02-16 20:38:40::timestamp"], "3"),
        ("extract", &["quarter::text", "2001-02-16 20:38:40::timestamp"], "1"),
        ("extract", &["second::text", "17:12:28.5::time"], "28.500000"),
        ("extract", &["week::text", "2001-02-16 20:38:40::timestamp"], "7"),
        ("extract", &["month::text", "2 years 13 months::interval"], "1"),
        ("date_part", &["day::text", "2001-02-16 20:38:40::timestamp"], "16"),
        ("extract", &["hour::text", "2001-02-16::date"], "0A000 unit \"hour\" not supported for type date"),
        ("make_date", &["2013::int4", "7::int4", "15::int4"], "2013-07-15"),
        (
            "make_date",
            &["2013::int4", "2::int4", "30::int4"],
            "22008 date field value out of range: 2013-02-30",
        ),
        ("to_timestamp", &["1284352323::float8"], "2010-09-13 04:32:03+00"),
        ("now", &[], "2024-02-29 12:30:45.678901+00"),
        ("localtimestamp", &[], "2024-02-29 12:30:45.678901"),
        ("current_date", &[], "2024-02-29"),
        ("localtime", &[], "12:30:45.678901"),
    ]);
}

#[test]
fn comparisons_and_extremes() {
    check(&[
        ("=", &["1.0::numeric", "1.00::numeric"], "t"),
        ("<", &["a::text", "b::text"], "t"),
        ("<", &["NaN::float8", "Infinity::float8"], "f"),
        ("=", &["NaN::float8", "NaN::float8"], "t"),
        ("=", &["1 month::interval", "30 days::interval"], "t"),
        ("<>", &["1::int4", "NULL::int4"], "NULL"),
        ("greatest", &["1::int4", "NULL::int4", "3::int4"], "3"),
        ("least", &["NULL::int4", "2::int4"], "2"),
        ("array_length", &["{1,2,3}::int4[]", "1::int4"], "3"),
        ("cardinality", &["{}::int4[]"], "0"),
    ]);
}

#[test]
fn sequences_and_settings() {
    let session = TestSession::default();
    let services = session.services();
    let cx: EvalContext<'_> = session.context(&services);
    let run = |name: &str, args: Vec<TypedExpr>| RowExpr::compile(&call(name, args)).eval_constant(&cx);
    let sequence = || literal(Value::text("s"));
    assert!(run("currval", vec![sequence()]).is_err());
    assert_eq!(run("nextval", vec![sequence()]).unwrap(), Value::Int8(1));
    assert_eq!(run("nextval", vec![sequence()]).unwrap(), Value::Int8(2));
    assert_eq!(run("currval", vec![sequence()]).unwrap(), Value::Int8(2));
    assert_eq!(run("lastval", vec![]).unwrap(), Value::Int8(2));
    assert_eq!(run("setval", vec![sequence(), literal(Value::Int8(9))]).unwrap(), Value::Int8(9));
    assert_eq!(run("current_setting", vec![literal(Value::text("TimeZone"))]).unwrap(), Value::text("UTC"));
    for _ in 0..100 {
        let Value::Float8(r) = run("random", vec![]).unwrap() else { panic!("a double") };
        assert!((0.0..1.0).contains(&r));
        let args = vec![literal(Value::Int4(-2)), literal(Value::Int4(3))];
        let Value::Int4(r) = run("random", args).unwrap() else { panic!("an integer") };
        assert!((-2..=3).contains(&r));
    }
}

#[test]
fn uuids_have_their_version_and_grow() {
    let session = TestSession::default();
    let services = session.services();
    let cx = session.context(&services);
    let uuid = |name: &str| match RowExpr::compile(&call(name, vec![])).eval_constant(&cx).unwrap() {
        Value::Uuid(uuid) => uuid,
        other => panic!("no uuid: {other:?}"),
    };
    for (name, version) in [("gen_random_uuid", 4), ("uuidv4", 4), ("uuidv7", 7)] {
        let (a, b) = (uuid(name), uuid(name));
        assert_ne!(a, b);
        assert_eq!((a >> 76 & 0xf, a >> 62 & 0b11), (version, 0b10), "{name}");
    }
    let stamp = call("uuid_extract_timestamp", vec![call("uuidv7", vec![])]);
    let (stamp, now) = (eval(&stamp).unwrap(), eval(&call("clock_timestamp", vec![])).unwrap());
    let (Value::Timestamptz(stamp), Value::Timestamptz(now)) = (stamp, now) else { panic!("timestamps") };
    assert_eq!(stamp, now - now.rem_euclid(1000));
}

#[test]
fn pg_typeof_knows_modifiers_away() {
    let varchar = cast(literal(Value::text("x")), SqlType::Varchar(Some(9)), CastKind::Explicit);
    assert_eq!(show(&call("pg_typeof", vec![varchar])), "character varying");
    assert_eq!(show(&call("pg_typeof", vec![TypedExpr::null(SqlType::Int2)])), "smallint");
}

#[test]
fn series_end_before_they_overflow() {
    let session = TestSession::default();
    let rows = |args: &[Value]| -> Vec<Value> {
        let call = call("generate_series", args.iter().cloned().map(literal).collect());
        let crate::plan::ExprKind::Call { function, .. } = call.kind else { panic!("a call") };
        let Body::Set(set) = function.body else { panic!("a set") };
        set(&session.context(&session.services()), args).unwrap().collect()
    };
    let ints = |values: &[i32]| values.iter().map(|v| Value::Int4(*v)).collect::<Vec<_>>();
    assert_eq!(rows(&ints(&[2, 4])), ints(&[2, 3, 4]));
    assert_eq!(rows(&ints(&[5, 1, -2])), ints(&[5, 3, 1]));
    assert_eq!(rows(&ints(&[4, 3])), ints(&[]));
    assert_eq!(rows(&[Value::Int8(i64::MAX - 1), Value::Int8(i64::MAX)]).len(), 2);
    let half = Decimal::new(5, 1).unwrap();
    let numerics =
        rows(&[Value::Numeric(Decimal::ONE), Value::Numeric(Decimal::from(2)), Value::Numeric(half)]);
    assert_eq!(numerics.len(), 3);
}

#[test]
fn entries_are_sound() {
    let mut seen = HashSet::new();
    for function in all_functions() {
        assert!(!function.name.is_empty() || function.operator.is_some());
        let key = (function.name, function.operator, format!("{:?}", function.args), function.variadic);
        assert!(seen.insert(key), "{function:?} twice");
        assert!(!function.variadic || !function.args.is_empty());
    }
}
