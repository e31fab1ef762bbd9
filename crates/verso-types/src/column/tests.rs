//! Column operations against a `Vec<Value>`.

use proptest::prelude::*;

use super::{Batch, Column, NullMask};
use crate::decimal::Decimal;
use crate::sqltype::{NumericSpec, SqlType};
use crate::value::{Interval, Value};

/// A type for each layout, and what its columns can hold.
fn typed_values() -> impl Strategy<Value = (SqlType, Vec<Value>, Vec<Value>)> {
    let small = SqlType::Numeric(NumericSpec::new(18, 2));
    let wide = SqlType::Numeric(NumericSpec::new(38, 4));
    let kinds: Vec<(SqlType, BoxedStrategy<Value>)> = vec![
        (SqlType::Bool, any::<bool>().prop_map(Value::Bool).boxed()),
        (SqlType::Int2, any::<i16>().prop_map(Value::Int2).boxed()),
        (SqlType::Int4, any::<i32>().prop_map(Value::Int4).boxed()),
        (SqlType::Date, any::<i32>().prop_map(Value::Date).boxed()),
        (SqlType::Int8, any::<i64>().prop_map(Value::Int8).boxed()),
        (SqlType::Timestamptz(None), any::<i64>().prop_map(Value::Timestamptz).boxed()),
        (small, (-999_999i64..999_999).prop_map(|v| Value::Numeric(Decimal::from_scaled_i64(v, 2))).boxed()),
        (wide, any::<i64>().prop_map(|v| Value::Numeric(Decimal::from_scaled_i64(v, 4))).boxed()),
        (
            SqlType::Interval(None),
            any::<(i32, i32, i64)>()
                .prop_map(|(months, days, micros)| Value::Interval(Interval { months, days, micros }))
                .boxed(),
        ),
        (SqlType::Uuid, any::<u128>().prop_map(Value::Uuid).boxed()),
        (SqlType::Float4, (-1e6f32..1e6).prop_map(Value::Float4).boxed()),
        (SqlType::Float8, (-1e6f64..1e6).prop_map(Value::Float8).boxed()),
        (SqlType::Text, ".{0,9}".prop_map(|v| Value::text(&v)).boxed()),
        (SqlType::Bytea, proptest::collection::vec(any::<u8>(), 0..9).prop_map(|v| Value::bytes(&v)).boxed()),
        (
            SqlType::Numeric(None),
            (any::<i64>(), 0u8..38).prop_map(|(v, s)| Value::Numeric(Decimal::from_scaled_i64(v, s))).boxed(),
        ),
        (
            SqlType::Array(Box::new(SqlType::Int4)),
            proptest::collection::vec(any::<i32>().prop_map(Value::Int4), 0..4)
                .prop_map(|v| Value::Array(v.into()))
                .boxed(),
        ),
    ];
    proptest::sample::select((0..kinds.len()).collect::<Vec<_>>()).prop_flat_map(move |i| {
        let (ty, value) = kinds[i].clone();
        let value = prop_oneof![4 => value, 1 => Just(Value::Null)];
        let list = proptest::collection::vec(value, 0..200);
        (Just(ty), list.clone(), list)
    })
}

fn column_of(values: &[Value], ty: &SqlType) -> Column {
    let mut column = Column::new(ty.physical());
    for value in values {
        column.push_value(value, ty).expect("a value of the type");
    }
    column
}

fn values_of(column: &Column, ty: &SqlType) -> Vec<Value> {
    column.check().expect("sound");
    (0..column.len()).map(|i| column.value(i, ty)).collect()
}

proptest! {
    #[test]
    fn columns_do_as_vectors_of_values((ty, values, more) in typed_values(), picks in proptest::collection::vec(any::<u32>(), 0..99), cut in 0usize..200) {
        let column = column_of(&values, &ty);
        prop_assert_eq!(&values_of(&column, &ty), &values);

        let picks: Vec<u32> = if values.is_empty() { vec![] } else { picks.iter().map(|p| p % values.len() as u32).collect() };
        let picked: Vec<Value> = picks.iter().map(|p| values[*p as usize].clone()).collect();
        prop_assert_eq!(values_of(&column.gather(&picks), &ty), picked);

        let mut kept = picks.clone();
        kept.sort_unstable();
        kept.dedup();
        let mut filtered = column.clone();
        filtered.filter(&kept);
        prop_assert_eq!(values_of(&filtered, &ty), kept.iter().map(|p| values[*p as usize].clone()).collect::<Vec<_>>());
        filtered.append(&column);
        prop_assert_eq!(&values_of(&filtered, &ty)[kept.len()..], &values[..]);

        let mut joined = column.clone();
        let other = column_of(&more, &ty);
        let part = cut.min(more.len());
        joined.append_range(&other, part..more.len());
        let expected: Vec<Value> = values.iter().chain(&more[part..]).cloned().collect();
        prop_assert_eq!(values_of(&joined, &ty), expected.clone());
        joined.truncate(cut);
        prop_assert_eq!(values_of(&joined, &ty), expected[..cut.min(expected.len())].to_vec());

        if let Some(raw) = column.fixed_bytes() {
            let mut copied = Column::new(ty.physical());
            copied.extend_fixed_raw(raw);
            prop_assert_eq!(&copied.data, &column.data);
            copied.data.clear();
            copied.data.extend_fixed_gather(raw, picks.iter().map(|pick| *pick as usize));
            prop_assert_eq!(copied.data, column.gather(&picks).data);
        }
    }

    #[test]
    fn null_masks_copy_any_run_of_bits(bits in proptest::collection::vec(any::<u8>(), 0..40), at in 0usize..200, first in 0usize..330, count in 0usize..330) {
        let bit = |i: usize| bits.get(i / 8).is_some_and(|byte| byte >> (i % 8) & 1 != 0);
        let mut mask = NullMask::default();
        mask.set(0);
        mask.append_bitmap(at + 1, &bits, first, count);
        let expected: Vec<usize> = std::iter::once(0).chain((0..count).filter(|i| bit(first + i)).map(|i| at + 1 + i)).collect();
        prop_assert_eq!(mask.iter().collect::<Vec<_>>(), expected.clone());
        prop_assert_eq!(mask.count(), expected.len());
        prop_assert_eq!(mask.end(), expected.last().map_or(0, |i| i + 1));
        let words = mask.words().to_vec();
        prop_assert_eq!(&NullMask::from_words(words, at + 1 + count), &mask);
        mask.unset_range(first..first + at);
        let left: Vec<usize> = expected.into_iter().filter(|i| *i < first || *i >= first + at).collect();
        prop_assert_eq!(mask.iter().collect::<Vec<_>>(), left);
    }
}

#[test]
fn clear_keeps_the_memory() {
    for ty in [SqlType::Int8, SqlType::Text] {
        let mut column = column_of(&vec![Value::Null; 1000], &ty);
        let held = column.heap_bytes();
        column.clear();
        assert_eq!((column.len(), column.nulls.any(), column.heap_bytes()), (0, false, held));
    }
}

#[test]
fn a_numeric_takes_the_column_s_scale_or_is_refused() {
    let ty = SqlType::Numeric(NumericSpec::new(4, 2));
    let mut column = Column::new(ty.physical());
    let number = |text: &str| Value::Numeric(Decimal::parse(text).expect("a number"));
    column.push_value(&number("12.345"), &ty).expect("fits after rounding");
    assert_eq!(column.data.i64s(), Some(&[1235][..]));
    let error = column.push_value(&number("99.995"), &ty).expect_err("rounds to 100.00");
    assert_eq!((error.sqlstate, column.len()), ("22003", 1));
    assert_eq!(column.push_value(&Value::Int4(1), &ty).expect_err("no numeric").sqlstate, "XX000");
}

#[test]
fn a_row_that_does_not_fit_leaves_the_batch_as_it_was() {
    let types = [SqlType::Int4, SqlType::Numeric(NumericSpec::new(1, 0))];
    let mut batch = Batch::of_types(&types);
    let rows = [vec![Value::Int4(1), Value::Null], vec![Value::Int4(2), Value::Numeric(Decimal::from(10))]];
    batch.push_row(&rows[0], &types).expect("fits");
    batch.push_row(&rows[1], &types).expect_err("two digits");
    batch.check().expect("sound");
    assert_eq!((batch.rows, batch.row(0, &types)), (1, rows[0].clone()));
    let twice = batch.gather(&[0, 0]);
    batch.append(&twice);
    batch.filter(&[0, 2]);
    assert_eq!((batch.rows, batch.row(1, &types)), (2, rows[0].clone()));
}

#[test]
fn a_constant_is_repeated() {
    let column = Column::constant(&Value::text("ab"), &SqlType::Text, 3).expect("a text");
    assert_eq!(values_of(&column, &SqlType::Text), vec![Value::text("ab"); 3]);
    assert!(Column::constant(&Value::Null, &SqlType::Int4, 0).expect("nothing").is_empty());
}

#[test]
fn filling_many_nulls_names_each_row() {
    let mut mask = NullMask::default();
    mask.set_range(3..200);
    mask.unset(100);
    assert_eq!(
        (mask.count(), mask.is_null(2), mask.is_null(3), mask.is_null(100)),
        (196, false, true, false)
    );
    let mut other = NullMask::default();
    other.set(2);
    other.union(&mask);
    assert_eq!(other.count(), 197);
}

#[test]
fn check_finds_broken_columns() {
    let mut column = column_of(&[Value::Bool(true)], &SqlType::Bool);
    column.data.bools_mut().expect("booleans")[0] = 2;
    assert!(column.check().is_err());
    let mut column = column_of(&[Value::text("ab")], &SqlType::Text);
    column.data.bytes_mut().expect("bytes").ends[0] = 1;
    assert!(column.check().is_err());
    let mut column = Column::new(crate::Physical::I16);
    column.nulls.set(0);
    assert!(column.check().is_err());
}
