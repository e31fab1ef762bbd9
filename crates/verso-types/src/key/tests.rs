//! Keys order as values do.

use std::cmp::Ordering;
use std::sync::Arc;

use proptest::prelude::*;

use super::{KeyOrder, KeyType, encode_nested};
use crate::array::{Array, Dimension};
use crate::column::Column;
use crate::decimal::Decimal;
use crate::sqltype::{NumericSpec, RowType, SqlType};
use crate::system_type::SystemType;
use crate::value::{Interval, Value, cmp_sql};

fn floats() -> impl Strategy<Value = f64> {
    prop_oneof![
        any::<f64>(),
        prop::sample::select(vec![
            0.0,
            -0.0,
            f64::NAN,
            -f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MIN_POSITIVE,
            -f64::MIN_POSITIVE,
            1.5,
            -1.5
        ]),
    ]
}

fn kinds() -> Vec<(SqlType, BoxedStrategy<Value>)> {
    let small = SqlType::Numeric(NumericSpec::new(18, 2));
    let wide = SqlType::Numeric(NumericSpec::new(38, 4));
    let text = prop_oneof!["[a\u{0}\u{1}b ]{0,4}", ".{0,6}"];
    let bytes = proptest::collection::vec(prop::sample::select(vec![0u8, 1, 2, 32, 254, 255]), 0..6);
    let decimals = prop_oneof![(any::<i128>(), 0u8..39), (-200i128..200, 0u8..6), (-20i128..20, Just(0u8))]
        .prop_map(|(unscaled, scale)| {
            let unscaled = unscaled % Decimal::MAX_UNSCALED;
            Value::Numeric(Decimal::new(unscaled, scale).expect("in range"))
        });
    let narrow = -3i64..3;
    vec![
        (SqlType::Bool, any::<bool>().prop_map(Value::Bool).boxed()),
        (SqlType::Int2, any::<i16>().prop_map(Value::Int2).boxed()),
        (SqlType::Int4, any::<i32>().prop_map(Value::Int4).boxed()),
        (SqlType::Date, any::<i32>().prop_map(Value::Date).boxed()),
        (SqlType::Int8, prop_oneof![any::<i64>(), narrow].prop_map(Value::Int8).boxed()),
        (SqlType::Timestamp(None), any::<i64>().prop_map(Value::Timestamp).boxed()),
        (SqlType::Uuid, any::<u128>().prop_map(Value::Uuid).boxed()),
        (SqlType::Float4, floats().prop_map(|v| Value::Float4(v as f32)).boxed()),
        (SqlType::Float8, floats().prop_map(Value::Float8).boxed()),
        (small, any::<i32>().prop_map(|v| Value::Numeric(Decimal::from_scaled_i64(v.into(), 2))).boxed()),
        (wide, any::<i64>().prop_map(|v| Value::Numeric(Decimal::from_scaled_i64(v, 4))).boxed()),
        (SqlType::Numeric(None), decimals.boxed()),
        (
            SqlType::Interval(None),
            (-3i32..3, -40i32..40, prop_oneof![-9i64..9, (-3i64..3).prop_map(|days| days * 86_400_000_000)])
                .prop_map(|(months, days, micros)| Value::Interval(Interval { months, days, micros }))
                .boxed(),
        ),
        (SqlType::Text, text.clone().prop_map(|v| Value::text(&v)).boxed()),
        (SqlType::Char(Some(4)), text.prop_map(|v| Value::text(&v)).boxed()),
        (SqlType::Bytea, bytes.prop_map(|v| Value::bytes(&v)).boxed()),
        (SqlType::Array(Box::new(SqlType::Int4)), arrays().boxed()),
        (
            SqlType::Row(Arc::new(RowType::unnamed(vec![
                ("a".into(), SqlType::Text),
                ("b".into(), SqlType::Float8),
            ]))),
            (
                maybe("[a\u{0}\u{1}b]{0,2}".prop_map(|v| Value::text(&v)).boxed()),
                floats().prop_map(Value::Float8),
            )
                .prop_map(|(a, b)| Value::Record([a, b].into()))
                .boxed(),
        ),
    ]
}

/// Arrays of few elements, which often begin alike, of one or two dimensions.
fn arrays() -> impl Strategy<Value = Value> {
    let elements = proptest::collection::vec(maybe((-2i32..3).prop_map(Value::Int4).boxed()), 0..5);
    (elements, 0i32..3, any::<bool>()).prop_map(|(values, lower, deep)| {
        let of = |length: usize, lower: i32| Dimension { length: length as i32, lower };
        let plain = if values.is_empty() { vec![] } else { vec![of(values.len(), lower)] };
        let dimensions = if deep && values.len() == 4 { vec![of(2, lower), of(2, 1)] } else { plain };
        Value::Array(Array::shaped(values, &dimensions).expect("as many elements"))
    })
}

fn maybe(value: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    prop_oneof![5 => value, 1 => Just(Value::Null)]
}

/// A type, an order of it, and two values.
fn part() -> impl Strategy<Value = (SqlType, bool, bool, Value, Value)> {
    proptest::sample::select((0..kinds().len()).collect::<Vec<_>>()).prop_flat_map(|index| {
        let (ty, value) = kinds()[index].clone();
        (Just(ty), any::<bool>(), any::<bool>(), maybe(value.clone()), maybe(value))
    })
}

fn order(ty: &SqlType, descending: bool, nulls_first: bool) -> KeyOrder {
    KeyOrder { ty: KeyType::of(ty).expect("a type with keys"), descending, nulls_first }
}

fn expected(ty: &SqlType, order: KeyOrder, a: &Value, b: &Value) -> Ordering {
    let strip = |value: &Value| match value {
        Value::Text(text) if matches!(ty, SqlType::Char(_)) => Value::text(text.trim_end_matches(' ')),
        other => other.clone(),
    };
    match (a.is_null(), b.is_null()) {
        (true, true) => Ordering::Equal,
        (true, false) if order.nulls_first => Ordering::Less,
        (true, false) => Ordering::Greater,
        (false, true) if order.nulls_first => Ordering::Greater,
        (false, true) => Ordering::Less,
        _ if order.descending => cmp_sql(&strip(b), &strip(a)),
        _ => cmp_sql(&strip(a), &strip(b)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn keys_order_as_values_do(parts in proptest::collection::vec(part(), 1..4)) {
        let (mut a, mut b) = (Vec::new(), Vec::new());
        let mut sql = Ordering::Equal;
        for (ty, descending, nulls_first, left, right) in &parts {
            let order = order(ty, *descending, *nulls_first);
            order.encode_value(left, ty, &mut a).expect("encodes");
            order.encode_value(right, ty, &mut b).expect("encodes");
            sql = sql.then(expected(ty, order, left, right));
        }
        prop_assert_eq!(a.cmp(&b), sql);
        prop_assert!(a == b || !a.starts_with(&b) && !b.starts_with(&a), "no key is a prefix of another");
    }

    #[test]
    fn stored_values_make_the_same_keys_and_exact_ones_come_back((ty, descending, nulls_first, value, _) in part()) {
        let order = order(&ty, descending, nulls_first);
        let mut column = Column::new(ty.physical());
        column.push_value(&value, &ty).expect("a value of the type");
        let (mut key, mut stored) = (vec![7], vec![7]);
        order.encode_value(&value, &ty, &mut key).expect("encodes");
        let raw = (!column.is_null(0)).then(|| column.raw_at(0));
        order.encode_raw(raw, &mut stored).expect("encodes");
        prop_assert_eq!(&key, &stored);
        if order.ty.is_exact() {
            let mut back = Column::new(ty.physical());
            key.push(9);
            let mut rest = &key[1..];
            order.decode(&mut rest, &mut back).expect("decodes");
            prop_assert_eq!(back, column);
            prop_assert_eq!(rest, [9]);
        }
    }

    #[test]
    fn junk_never_panics(bytes in proptest::collection::vec(any::<u8>(), 0..24), code in 1u8..14, descending: bool) {
        let code = if code == 13 { 20 } else { code };
        let order = KeyOrder { ty: KeyType::from_code(code).expect("a type"), descending, nulls_first: false };
        let _ = order.encode_raw(Some(&bytes), &mut Vec::new());
        if order.ty.is_exact() {
            let _ = order.decode(&mut &bytes[..], &mut Column::new(order.ty.physical()));
        }
    }
}

#[test]
fn numbers_of_other_types_make_keys_where_a_value_can_equal_them() {
    let key = |ty: &SqlType, value: Value| {
        let mut out = Vec::new();
        KeyOrder::ascending(KeyType::of(ty).expect("a type with keys"))
            .encode_value(&value, ty, &mut out)
            .map(|()| out)
    };
    assert_eq!(key(&SqlType::Int8, Value::Int4(-7)), key(&SqlType::Int8, Value::Int8(-7)));
    assert_eq!(key(&SqlType::Int2, Value::Int8(40_000)).expect_err("too large").sqlstate, "22003");
    let money = SqlType::Numeric(NumericSpec::new(10, 2));
    let number = |unscaled, scale| Value::Numeric(Decimal::from_scaled_i64(unscaled, scale));
    assert_eq!(key(&money, number(15, 1)), key(&money, number(1500, 3)));
    assert_eq!(key(&money, Value::Int4(2)), key(&money, number(200, 2)));
    assert_eq!(key(&money, number(1501, 3)).expect_err("between two values").sqlstate, "22003");
    assert!(key(&SqlType::Int4, Value::text("1")).is_err());
    let xid8 = SqlType::System(SystemType::Xid8);
    let of_number = |number: u64| key(&xid8, Value::Xid8(number)).expect("a key");
    assert!(of_number(u64::MAX) > of_number(i64::MAX as u64));
    let list = SqlType::Array(Box::new(xid8.clone()));
    let of_list = |number: u64| key(&list, Value::Array(vec![Value::Xid8(number)].into())).expect("a key");
    assert!(of_list(u64::MAX) > of_list(i64::MAX as u64));
    assert_eq!(KeyType::of(&list), Some(KeyType::NestedU64));
    for code in 0..=u8::MAX {
        // 19 stands beside its collation.
        let alone = (1..=18).contains(&code) || (20..=25).contains(&code);
        assert_eq!(KeyType::from_code(code).map(KeyType::code), alone.then_some(code));
    }
    assert_eq!(KeyType::of(&SqlType::Record), None);
}

/// Rows whose columns are known at run time only are sorted by the same bytes.
#[test]
fn nested_values_have_keys_in_their_order() {
    let (int, text) = (Value::Int4, Value::text);
    let record = |values: &[Value]| Value::Record(values.into());
    let array = |values: &[Value]| Value::Array(values.to_vec().into());
    let days = |months, days| record(&[Value::Interval(Interval { months, days, micros: 0 })]);
    let values = [
        array(&[]),
        array(&[int(-5)]),
        array(&[int(1), int(2)]),
        array(&[int(1), Value::Null]),
        array(&[Value::Null]),
        array(&[record(&[int(1), array(&[text("a")])])]),
        array(&[record(&[int(1), array(&[text("a"), text("a")])])]),
        record(&[text("a"), Value::Float8(-0.5)]),
        record(&[text("a"), Value::Float8(f64::NAN)]),
        record(&[text("a\0"), Value::Float8(0.0)]),
        record(&[text("b"), Value::Null]),
        days(0, 30),
        days(1, 0),
    ];
    let key = |value: &Value| {
        let mut key = Vec::new();
        encode_nested(value, &mut key).expect("a key");
        key
    };
    for a in &values {
        for b in &values {
            if std::mem::discriminant(a) == std::mem::discriminant(b) {
                assert_eq!(key(a).cmp(&key(b)), cmp_sql(a, b), "{a:?} {b:?}");
            }
        }
    }
    assert_eq!(key(&days(0, 30)), key(&days(1, 0)));
}
