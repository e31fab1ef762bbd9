use proptest::prelude::*;

use super::*;
use crate::cast::{CastKind, cast};
use crate::row::{decode_value, encode_value};
use crate::text::{format_text, parse_text};
use crate::value::{Value, cmp_sql};
use crate::wire::{format_binary, parse_binary};

fn bits(text: &str) -> Bits {
    Bits::parse(text).expect("digits")
}

proptest! {
    #[test]
    fn stored_bits_give_the_bits_back_and_are_in_their_order(a in "[01]{0,40}", b in "[01]{0,40}") {
        let (x, y) = (bits(&a).value(), bits(&b).value());
        prop_assert_eq!(Bits::of(&x), bits(&a));
        prop_assert_eq!(Bits::len_of(&x), a.len());
        prop_assert_eq!(x.bytes().cmp(y.bytes()), a.cmp(&b));
    }

    #[test]
    fn any_bytes_are_a_value_of_any_kind(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
        for kind in OpaqueKind::ALL {
            let (mut text, mut sent) = (String::new(), Vec::new());
            let value = Opaque::new(kind, bytes.as_slice());
            format(&value, &TimeStyle::UTC, &mut text);
            send(&value, &mut sent);
            let _ = receive(&kind.plain_type(), kind, &bytes);
        }
    }
}

/// Values of a type in ascending order, as PostgreSQL sorts them.
const ASCENDING: [(&str, &[&str]); 7] = [
    ("varbit", &["", "0", "00", "01", "1", "10", "100000001", "11"]),
    ("timetz", &["00:00:00+15:59", "10:00:00+02", "08:00:00+00", "06:00:00-02", "23:59:59.999999-15:59"]),
    (
        "inet",
        &[
            "0.0.0.0/0",
            "10.0.0.0/8",
            "10.0.0.1/8",
            "10.0.0.0/16",
            "10.1.0.0/16",
            "10.1.2.3",
            "::/0",
            "::1",
            "fe80::/10",
        ],
    ),
    ("cidr", &["10.0.0.0/8", "10.1.0.0/16", "192.168.0.0/24", "::/0", "2001:db8::/32"]),
    ("macaddr", &["00:00:00:00:00:00", "08:00:2b:01:02:03", "ff:00:00:00:00:00"]),
    ("macaddr8", &["00:00:00:00:00:00:00:00", "08:00:2b:ff:fe:01:02:03"]),
    ("money", &["-$92,233,720,368,547,758.08", "-$0.01", "$0.00", "$1,234.50", "$92,233,720,368,547,758.07"]),
];

#[test]
fn every_form_reads_back_in_order() {
    for (name, texts) in ASCENDING {
        let ty =
            OpaqueKind::ALL.map(OpaqueKind::plain_type).into_iter().find(|ty| ty.internal_name() == name);
        let ty = ty.expect("a type of that name");
        let mut values: Vec<Value> = Vec::new();
        for text in texts {
            let value = parse_text(&ty, text, &TimeStyle::UTC).expect("a value");
            let (mut shown, mut sent, mut stored) = (String::new(), Vec::new(), Vec::new());
            format_text(&value, &ty, &TimeStyle::UTC, &mut shown);
            assert_eq!(shown, *text);
            format_binary(&value, &ty, &mut sent);
            assert_eq!(parse_binary(&ty, &sent), Ok(value.clone()), "{text}");
            encode_value(&value, &mut stored);
            assert_eq!(decode_value(&stored), Ok(value.clone()));
            values.push(value);
        }
        assert!(values.is_sorted_by(|a, b| cmp_sql(a, b).is_lt()), "{name}");
        assert_eq!(SqlType::from_pg_oid(ty.pg_oid(), -1), Some(ty.clone()));
        assert_eq!(SqlType::from_pg_oid(ty.array_oid(), -1), Some(SqlType::Array(Box::new(ty))));
    }
}

#[test]
fn lengths_of_bit_strings_hold() {
    let value = bits("10110").into_value();
    let to = |ty: &SqlType, kind| cast(&value, &SqlType::Bit(None), ty, kind, &TimeStyle::UTC);
    let shown = |text: &str| Ok(bits(text).into_value());
    assert_eq!(to(&SqlType::Bit(Some(3)), CastKind::Explicit), shown("101"));
    assert_eq!(to(&SqlType::Bit(Some(7)), CastKind::Explicit), shown("1011000"));
    assert_eq!(to(&SqlType::Varbit(Some(2)), CastKind::Explicit), shown("10"));
    assert_eq!(to(&SqlType::Bit(Some(3)), CastKind::Assignment).map_err(|e| e.sqlstate), Err("22026"));
    assert_eq!(to(&SqlType::Varbit(Some(3)), CastKind::Assignment).map_err(|e| e.sqlstate), Err("22001"));
}
