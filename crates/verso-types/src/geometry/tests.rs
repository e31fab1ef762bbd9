//! Texts beside what PostgreSQL 18 made of them (`testdata/geometry_text.sh`), binary forms, parts.

use proptest::prelude::*;

use super::*;
use crate::TimeStyle;
use crate::cast::{CastKind, cast, cast_kind};
use crate::sqltype::SqlType;
use crate::system_type::SystemType;
use crate::text::tests::show;
use crate::text::{format_text, parse_text};
use crate::wire::{format_binary, parse_binary};

const TYPES: [SystemType; 7] = [
    SystemType::Point,
    SystemType::Lseg,
    SystemType::Line,
    SystemType::Box,
    SystemType::Path,
    SystemType::Polygon,
    SystemType::Circle,
];

fn read(ty: SystemType, text: &str) -> Opaque {
    match parse_text(&SqlType::System(ty), text, &TimeStyle::UTC) {
        Ok(Value::Opaque(value)) => value,
        other => panic!("{text}: {other:?}"),
    }
}

fn written(value: &Opaque, style: &TimeStyle) -> String {
    let mut text = String::new();
    format_text(&Value::Opaque(value.clone()), &value.kind().plain_type(), style, &mut text);
    text
}

/// Columns: type, text, what `('text'::type)::text` printed, or its error.
#[test]
fn texts_are_read_and_written_as_by_postgresql() {
    let mut wrong = String::new();
    for line in include_str!("../../testdata/geometry_text.tsv").lines() {
        let [name, text, expected] = line.split('\t').collect::<Vec<_>>().try_into().expect("three columns");
        let ty = SqlType::System(SystemType::from_name(name).expect("a type"));
        let got = show(parse_text(&ty, text, &TimeStyle::UTC), &ty, &TimeStyle::UTC);
        if got != expected {
            wrong += &format!("{name} {text:?}\n  ours {got}\n  PG   {expected}\n");
        }
    }
    assert!(wrong.is_empty(), "\n{wrong}");
}

#[test]
fn digits_are_those_of_the_setting() {
    let third = read(SystemType::Circle, "<(0.1,-0.3333333333333333),1e-20>");
    let with = |float_digits| TimeStyle { float_digits, ..TimeStyle::UTC };
    assert_eq!(written(&third, &with(1)), "<(0.1,-0.3333333333333333),1e-20>");
    assert_eq!(written(&third, &with(0)), "<(0.1,-0.333333333333333),1e-20>");
    assert_eq!(written(&third, &with(-12)), "<(0.1,-0.333),1e-20>");
}

#[test]
fn binary_forms_lead_back() {
    for (ty, text, bytes) in [
        (SystemType::Point, "(1,-2)", 16),
        (SystemType::Lseg, "[(1,2),(3,4)]", 32),
        (SystemType::Line, "{1,2,3}", 24),
        (SystemType::Box, "(3,4),(1,2)", 32),
        (SystemType::Path, "[(1,2),(3,4)]", 37),
        (SystemType::Path, "((1,2),(3,NaN))", 37),
        (SystemType::Polygon, "((1,2),(3,4),(5,Infinity))", 52),
        (SystemType::Circle, "<(1,2),3>", 24),
    ] {
        let (value, ty) = (Value::Opaque(read(ty, text)), SqlType::System(ty));
        let mut sent = Vec::new();
        format_binary(&value, &ty, &mut sent);
        assert_eq!(sent.len(), bytes, "{text}");
        assert_eq!(parse_binary(&ty, &sent), Ok(value), "{text}");
        for short in 0..sent.len() {
            let error = parse_binary(&ty, &sent[..short]).expect_err(text);
            assert!(matches!(error.sqlstate, "08P01" | "22P03"), "{text}: {error:?}");
        }
        sent.push(0);
        assert_eq!(parse_binary(&ty, &sent).expect_err(text).sqlstate, "22P03", "{text}");
    }
}

#[test]
fn binary_forms_are_checked() {
    let numbers =
        |numbers: &[f64]| numbers.iter().flat_map(|number| number.to_be_bytes()).collect::<Vec<_>>();
    let refused =
        |ty: SystemType, bytes: &[u8]| parse_binary(&SqlType::System(ty), bytes).expect_err("bad").message;
    assert_eq!(refused(SystemType::Line, &numbers(&[0.0, 1e-9, 3.0])), line::NOWHERE);
    assert_eq!(
        refused(SystemType::Circle, &numbers(&[0.0, 0.0, -1.0])),
        "invalid radius in external \"circle\" value"
    );
    assert_eq!(
        refused(SystemType::Polygon, &[0, 0, 0, 0]),
        "invalid number of points in external \"polygon\" value"
    );
    assert_eq!(
        refused(SystemType::Path, &[1, 255, 255, 255, 255]),
        "invalid number of points in external \"path\" value"
    );
    let corners = numbers(&[1.0, 2.0, 3.0, 0.0]);
    let Ok(Value::Opaque(sorted)) = parse_binary(&SqlType::System(SystemType::Box), &corners) else {
        panic!("a box");
    };
    assert_eq!(written(&sorted, &TimeStyle::UTC), "(3,2),(1,0)");
}

#[test]
fn bytes_that_break_their_form_read_as_zero() {
    assert_eq!(Point::take(&[1]), Point::default());
    assert_eq!(Polygon::take(&[]).points, [Point::default()]);
    assert_eq!(Path::take(&[]), Path { closed: false, points: vec![Point::default()] });
    assert_eq!(Path::take(&[1, 2, 3]).points.len(), 1);
}

#[test]
fn parts_are_counted_from_zero() {
    let rect = read(SystemType::Box, "(3,4),(1,2)");
    assert_eq!(part(&rect, 1), Some(Point::new(1.0, 2.0).into_value()));
    for at in [-1, 2, i32::MIN, i32::MAX] {
        assert_eq!(part(&rect, at), None);
        assert_eq!(
            with_part(&rect, at, &Point::default().into_value()).expect_err("no such part").sqlstate,
            "2202E"
        );
    }
    let turned = with_part(&rect, 0, &Point::default().into_value()).expect("a part");
    assert_eq!(written(&turned, &TimeStyle::UTC), "(0,0),(1,2)");
    assert_eq!(part(&read(SystemType::Line, "{1,2,3}"), 2), Some(Value::Float8(3.0)));
    assert_eq!(part(&read(SystemType::Circle, "<(1,2),3>"), 0), None);
}

#[test]
fn arrays_of_boxes_have_semicolons() {
    let ty = SqlType::Array(Box::new(SqlType::System(SystemType::Box)));
    for text in ["{(3,4),(1,2);NULL;(9,9),(8,8)}", "{}", "[0:0]={(3,4),(1,2)}"] {
        let value = parse_text(&ty, text, &TimeStyle::UTC);
        assert_eq!(show(value, &ty, &TimeStyle::UTC), text);
    }
    assert_eq!(
        show(parse_text(&ty, "{;}", &TimeStyle::UTC), &ty, &TimeStyle::UTC),
        "ERROR 22P02 malformed array literal: \"{;}\" DETAIL Unexpected \";\" character."
    );
    let points = SqlType::Array(Box::new(SqlType::System(SystemType::Point)));
    let value = parse_text(&points, "{\"(1,2)\"}", &TimeStyle::UTC);
    assert_eq!(show(value, &points, &TimeStyle::UTC), "{\"(1,2)\"}");
}

/// PostgreSQL's `pg_cast`: `a` by assignment, `e` where it is asked for.
#[test]
fn casts_are_pg_cast_s() {
    let known = "point>box a, lseg>point e, path>polygon a, box>point e, box>lseg e, box>polygon a, box>circle e, \
        polygon>point e, polygon>path a, polygon>box e, polygon>circle e, circle>point e, circle>box e, circle>polygon e";
    for (from, to) in TYPES.iter().flat_map(|from| TYPES.iter().map(move |to| (*from, *to))) {
        let entry = format!("{}>{} ", from.name(), to.name());
        let place = known.find(&entry).map(|at| &known[at + entry.len()..][..1]);
        let expected = match place {
            _ if from == to => Some(CastKind::Implicit),
            Some("a") => Some(CastKind::Assignment),
            Some(_) => Some(CastKind::Explicit),
            None => None,
        };
        let (source, target) = (SqlType::System(from), SqlType::System(to));
        assert_eq!(cast_kind(&source, &target), expected, "{entry}");
        let text = match from {
            SystemType::Point => "(1,2)",
            SystemType::Circle => "<(1,2),3>",
            _ => "(1,2),(3,4)",
        };
        let value = Value::Opaque(read(from, text));
        let cast = cast(&value, &source, &target, CastKind::Explicit, &TimeStyle::UTC);
        assert_eq!(cast.is_ok(), expected.is_some(), "{entry}: {cast:?}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_panic(text in "\\PC{0,30}", signs in "[-+0-9 .,()\\[\\]{}<>eExXpinfa\t]{0,40}") {
        for ty in TYPES {
            let _ = parse_text(&SqlType::System(ty), &text, &TimeStyle::UTC);
            let _ = parse_text(&SqlType::System(ty), &signs, &TimeStyle::UTC);
        }
    }

    #[test]
    fn points_lead_back_from_their_text(bits in prop::collection::vec(any::<u64>(), 2..9), closed in any::<bool>()) {
        let points: Vec<Point> = bits.chunks_exact(2)
            .map(|pair| Point::new(f64::from_bits(pair[0]), f64::from_bits(pair[1])))
            .map(|point| Point::new(if point.x.is_nan() { f64::NAN } else { point.x }, if point.y.is_nan() { f64::NAN } else { point.y }))
            .collect();
        for value in [Path { closed, points: points.clone() }.value(), Polygon::new(points).value()] {
            let text = written(&value, &TimeStyle::UTC);
            let SqlType::System(ty) = value.kind().plain_type() else { unreachable!("a type of the system") };
            prop_assert_eq!(read(ty, &text), value, "{}", text);
        }
    }

    #[test]
    fn any_bytes_are_computed_with(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        for ty in TYPES {
            let _ = parse_binary(&SqlType::System(ty), &bytes);
        }
        let (one, other) = (Polygon::take(&bytes), Polygon::take(&bytes[bytes.len() / 2..]));
        let _ = (one.contains(&other), one.overlaps(&other), one.distance(&other), one.is_same(&other));
        let _ = (one.to_circle(), one.to_path().area(), one.to_path().length());
    }
}
