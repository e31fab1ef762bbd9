//! Arithmetic against what PostgreSQL 15 answered, and against 128-bit integers.

use std::hash::{DefaultHasher, Hasher};

use proptest::prelude::*;

use super::{Decimal, DecimalError};

fn decimal(text: &str) -> Decimal {
    Decimal::parse(text).expect("a number")
}

fn show(result: Result<Decimal, DecimalError>) -> String {
    match result {
        Ok(value) => value.to_string(),
        Err(DecimalError::DivisionByZero) => "zero".to_string(),
        Err(DecimalError::Overflow) => "overflow".to_string(),
    }
}

/// Columns: a, b, a + b, a - b, a * b, a / b, a % b, div(a, b), as psql printed them.
#[test]
fn results_and_scales_are_postgresql_s() {
    for line in include_str!("../../testdata/numeric_arithmetic.tsv").lines() {
        let [a, b, sum, difference, product, quotient, rest, whole] =
            line.split('\t').collect::<Vec<_>>().try_into().expect("eight columns");
        let (x, y) = (decimal(a), decimal(b));
        assert_eq!(show(x.checked_add(&y)), sum, "{a} + {b}");
        assert_eq!(show(x.checked_sub(&y)), difference, "{a} - {b}");
        assert_eq!(show(x.checked_mul(&y)), product, "{a} * {b}");
        assert_eq!(show(x.checked_div(&y)), quotient, "{a} / {b}");
        assert_eq!(show(x.checked_rem(&y)), rest, "{a} % {b}");
        assert_eq!(show(x.checked_div_trunc(&y)), whole, "div({a}, {b})");
    }
}

#[test]
fn rounding_is_postgresql_s() {
    let round = |text: &str, places| show(decimal(text).round(places));
    let trunc = |text: &str, places| show(decimal(text).trunc(places));
    for (got, expected) in [
        (round("2.5", 0), "3"),
        (round("-2.5", 0), "-3"),
        (round("1.005", 2), "1.01"),
        (round("1234.5", -2), "1200"),
        (round("1250", -2), "1300"),
        (round("55", -2), "100"),
        (round("1.5", 4), "1.5000"),
        (round("5", -1), "10"),
        (round("4.99", -1), "0"),
        (round("4.99", i32::MIN), "0"),
        (round("4", i32::MAX), "overflow"),
        (trunc("-2.55", 1), "-2.5"),
        (trunc("1299.9", -2), "1200"),
        (decimal("-1.5").ceil().to_string(), "-1"),
        (decimal("1.01").ceil().to_string(), "2"),
        (decimal("-1.01").floor().to_string(), "-2"),
        (decimal("1.9").floor().to_string(), "1"),
        (decimal("-3.20").signum().to_string(), "-1"),
        (decimal("-3.20").abs().to_string(), "3.20"),
        (decimal("-3.20").negate().to_string(), "3.20"),
        (decimal("3.200").normalize().to_string(), "3.2"),
    ] {
        assert_eq!(got, expected);
    }
}

#[test]
fn more_than_38_digits_are_an_overflow() {
    let largest = Decimal::new(Decimal::MAX_UNSCALED, 0).expect("38 digits");
    assert_eq!(largest.checked_add(&Decimal::ONE), Err(DecimalError::Overflow));
    assert_eq!(largest.negate().checked_sub(&Decimal::ONE), Err(DecimalError::Overflow));
    assert_eq!(largest.checked_mul(&decimal("1.0")), Err(DecimalError::Overflow));
    assert_eq!(largest.checked_div(&decimal("0.1")), Err(DecimalError::Overflow));
    assert_eq!(Decimal::new(Decimal::MAX_UNSCALED + 1, 0), Err(DecimalError::Overflow));
    assert_eq!(Decimal::new(0, 39), Err(DecimalError::Overflow));
    assert_eq!(Decimal::new(i128::MIN, 0), Err(DecimalError::Overflow));
}

#[test]
fn a_scale_beyond_38_is_left_to_numbers() {
    let half = decimal("0.00000000000000000005");
    assert_eq!(half.checked_mul(&half), Err(DecimalError::Overflow));
    assert_eq!(decimal("0.0001").checked_div(&decimal("1e20")), Err(DecimalError::Overflow));
    assert_eq!(half.round(39), Err(DecimalError::Overflow));
}

#[test]
fn integers_come_out_rounded() {
    assert_eq!((decimal("2.5").to_i64(), decimal("-2.5").to_i64()), (Some(3), Some(-3)));
    assert_eq!(decimal("9223372036854775807.4").to_i64(), Some(i64::MAX));
    assert_eq!(decimal("9223372036854775807.5").to_i64(), None);
}

fn hash(value: &Decimal) -> u64 {
    let mut state = DefaultHasher::new();
    value.hash_number(&mut state);
    state.finish()
}

proptest! {
    #[test]
    fn sums_products_and_rests_are_those_of_integers(a in -(1i128 << 62)..(1i128 << 62), b in -(1i128 << 62)..(1i128 << 62), scale in 0u8..=18) {
        let (x, y) = (Decimal::new(a, scale).expect("fits"), Decimal::new(b, scale).expect("fits"));
        prop_assert_eq!(x.checked_add(&y), Decimal::new(a + b, scale));
        prop_assert_eq!(x.checked_sub(&y), Decimal::new(a - b, scale));
        prop_assert_eq!(x.checked_mul(&y), Decimal::new(a * b, 2 * scale));
        if b != 0 {
            prop_assert_eq!(x.checked_rem(&y), Decimal::new(a % b, scale));
            prop_assert_eq!(x.checked_div_trunc(&y), Decimal::new(a / b, 0));
        }
        prop_assert_eq!(x.compare(&y), a.cmp(&b));
    }

    #[test]
    fn a_quotient_is_the_nearest_one(a in -Decimal::MAX_UNSCALED..=Decimal::MAX_UNSCALED, b in any::<i64>(), s in 0u8..=38, t in 0u8..=18) {
        prop_assume!(b != 0);
        let (x, y) = (Decimal::new(a, s).expect("fits"), Decimal::from_scaled_i64(b, t));
        if let Ok(quotient) = x.checked_div(&y) {
            // |x - q y| ≤ |y| / 2 units of q's last place, checked in 30 digits less where it must fit
            let back = quotient.to_f64() * y.to_f64();
            let slack = y.to_f64().abs() * 10f64.powi(-i32::from(quotient.scale())) + x.to_f64().abs() * 1e-15;
            prop_assert!((back - x.to_f64()).abs() <= slack, "{x} / {y} = {quotient}");
        }
    }

    #[test]
    fn equal_numbers_of_any_scale_compare_and_hash_alike(a in any::<i64>(), s in 0u8..=18, more in 0u8..=19) {
        let x = Decimal::from_scaled_i64(a, s);
        let y = x.rescale(s + more).expect("19 and 19 digits");
        prop_assert!(x.compare(&y).is_eq() && y.compare(&x).is_eq());
        prop_assert_eq!(hash(&x), hash(&y));
        prop_assert_eq!(y.normalize(), x.normalize());
    }

    #[test]
    fn order_survives_any_scale(a in -Decimal::MAX_UNSCALED..=Decimal::MAX_UNSCALED, b in any::<i64>(), s in 0u8..=38, t in 0u8..=38) {
        let (x, y) = (Decimal::new(a, s).expect("fits"), Decimal::from_scaled_i64(b, t));
        prop_assert_eq!(x.compare(&y), y.compare(&x).reverse());
        if (x.to_f64() - y.to_f64()).abs() > x.to_f64().abs() * 1e-12 {
            prop_assert_eq!(x.compare(&y), x.to_f64().total_cmp(&y.to_f64()));
        }
    }
}
