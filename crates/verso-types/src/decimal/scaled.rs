//! Numeric columns as plain scaled integers: what kernels do to a whole vector at once.
//!
//! A NULL row may hold any number, so an overflow counts only where the row is not NULL.

use super::{POW10, rescale_i128};
use crate::column::NullMask;
use crate::error::{TypeError, sqlstate};
use crate::sqltype::NumericSpec;

/// 10^0 ..= 10^18.
pub const POW10_I64: [i64; 19] = {
    let mut powers = [1; 19];
    let mut i = 1;
    while i < 19 {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
};

/// Has the unscaled integer at most `precision` digits?
#[inline]
pub fn in_precision(value: i128, precision: u8) -> bool {
    POW10.get(usize::from(precision)).is_none_or(|limit| value.unsigned_abs() < limit.unsigned_abs())
}

/// Has the unscaled integer at most `precision` digits?
#[inline]
pub fn in_precision_i64(value: i64, precision: u8) -> bool {
    POW10_I64.get(usize::from(precision)).is_none_or(|limit| value.unsigned_abs() < limit.unsigned_abs())
}

/// Moves a scaled integer from one scale to another, rounding half away from zero; `None` on overflow of i64.
#[inline]
pub fn rescale_i64(value: i64, from: u8, to: u8) -> Option<i64> {
    if to >= from {
        return match POW10_I64.get(usize::from(to - from)) {
            Some(factor) => value.checked_mul(*factor),
            None => (value == 0).then_some(0),
        };
    }
    match POW10_I64.get(usize::from(from - to)) {
        Some(divisor) => Some(div_round_i64(value, *divisor)),
        None => rescale_i128(value.into(), from, to)?.try_into().ok(),
    }
}

/// `value / divisor`, rounded half away from zero.
#[inline]
fn div_round_i64(value: i64, divisor: i64) -> i64 {
    let (quotient, rest) = (value / divisor, value % divisor);
    let up = rest != 0 && rest.unsigned_abs() >= divisor.unsigned_abs().div_ceil(2);
    quotient + if up { value.signum() } else { 0 }
}

/// Brings a whole column of scaled 64-bit integers to the scale of `to`, checking its precision.
/// # Errors
/// 22003 with PostgreSQL's detail; the values are then undefined.
pub fn rescale_column_i64(
    values: &mut [i64],
    nulls: &NullMask,
    from: u8,
    to: NumericSpec,
) -> Result<(), TypeError> {
    rescale_column(values, nulls, to, |value| {
        rescale_i64(value, from, to.scale).filter(|value| in_precision_i64(*value, to.precision))
    })
}

/// Brings a whole column of scaled 128-bit integers to the scale of `to`, checking its precision.
/// # Errors
/// 22003 with PostgreSQL's detail; the values are then undefined.
pub fn rescale_column_i128(
    values: &mut [i128],
    nulls: &NullMask,
    from: u8,
    to: NumericSpec,
) -> Result<(), TypeError> {
    rescale_column(values, nulls, to, |value| {
        rescale_i128(value, from, to.scale).filter(|value| in_precision(*value, to.precision))
    })
}

fn rescale_column<T: Copy + Default>(
    values: &mut [T],
    nulls: &NullMask,
    to: NumericSpec,
    rescale: impl Fn(T) -> Option<T>,
) -> Result<(), TypeError> {
    for (i, value) in values.iter_mut().enumerate() {
        match rescale(*value) {
            Some(rescaled) => *value = rescaled,
            None if nulls.is_null(i) => *value = T::default(),
            None => return Err(field_overflow(to)),
        }
    }
    Ok(())
}

/// Are all values that are not NULL within `precision` digits? One pass without branches for the usual yes.
pub fn column_in_precision_i64(values: &[i64], nulls: &NullMask, precision: u8) -> bool {
    let Some(limit) = POW10_I64.get(usize::from(precision)) else { return true };
    let limit = limit.unsigned_abs();
    let largest = values.iter().fold(0, |largest, value| value.unsigned_abs().max(largest));
    largest < limit
        || values.iter().enumerate().all(|(i, value)| value.unsigned_abs() < limit || nulls.is_null(i))
}

/// Are all values that are not NULL within `precision` digits?
pub fn column_in_precision_i128(values: &[i128], nulls: &NullMask, precision: u8) -> bool {
    values.iter().enumerate().all(|(i, value)| in_precision(*value, precision) || nulls.is_null(i))
}

/// 22003 as PostgreSQL words it for a value beyond a numeric(p,s).
#[cold]
pub fn field_overflow(spec: NumericSpec) -> TypeError {
    let NumericSpec { precision, scale } = spec;
    let limit = match precision - scale {
        0 => "1".to_string(),
        digits => format!("10^{digits}"),
    };
    TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow").with_detail(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than {limit}."
    ))
}

impl super::Decimal {
    /// The number as a value of numeric(p,s): rounded half away from zero to the scale, within the precision.
    /// # Errors
    /// 22003 with PostgreSQL's detail.
    pub fn constrain(&self, spec: NumericSpec) -> Result<super::Decimal, TypeError> {
        let rescaled = rescale_i128(self.unscaled, self.scale(), spec.scale);
        match rescaled.filter(|value| in_precision(*value, spec.precision)) {
            Some(unscaled) => Ok(super::Decimal::new(unscaled, spec.scale)?),
            None => Err(field_overflow(spec)),
        }
    }

    /// The quotient `sum / count` as PostgreSQL's avg(numeric).
    /// # Errors
    /// `DivisionByZero`, `Overflow`.
    pub fn average(sum: super::Decimal, count: i64) -> Result<super::Decimal, super::DecimalError> {
        sum.checked_div(&super::Decimal::from(count))
    }
}

#[cfg(test)]
mod tests {
    use super::super::div_round;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn both_widths_rescale_alike(value in any::<i64>(), from in 0u8..=38, to in 0u8..=38) {
            let wide = rescale_i128(value.into(), from, to).and_then(|v| i64::try_from(v).ok());
            prop_assert_eq!(rescale_i64(value, from, to), wide);
        }

        #[test]
        fn rounding_is_half_away_from_zero(value in -10_000i64..10_000, shift in 1u8..4) {
            let exact = value as f64 / 10f64.powi(shift.into());
            let expected = (exact.abs() + 1e-9).round().copysign(exact) as i64; // thousandths: far from any other half
            prop_assert_eq!(rescale_i64(value, shift, 0), Some(expected));
            prop_assert_eq!(div_round(value.into(), POW10[usize::from(shift)]), expected.into());
        }
    }

    #[test]
    fn columns_overflow_only_where_not_null() {
        let spec = NumericSpec::new(4, 2).expect("valid");
        let mut nulls = NullMask::default();
        let values = [i64::MAX, 100, -9999];
        let error = rescale_column_i64(&mut values.clone(), &nulls, 2, spec).expect_err("row 0");
        let detail = "A field with precision 4, scale 2 must round to an absolute value less than 10^2.";
        assert_eq!((error.sqlstate, error.detail.as_deref()), ("22003", Some(detail)));
        assert!(!column_in_precision_i64(&values, &nulls, 4));
        nulls.set(0);
        assert!(column_in_precision_i64(&values, &nulls, 4));
        assert!(!column_in_precision_i64(&values, &nulls, 3));
        let mut rescaled = values;
        rescale_column_i64(&mut rescaled, &nulls, 2, spec).expect("only a NULL overflows");
        assert_eq!(rescaled, [0, 100, -9999]);
        let mut wide = [155i128];
        rescale_column_i128(&mut wide, &nulls, 2, NumericSpec::new(2, 1).expect("valid")).expect("1.6");
        assert_eq!(wide, [16]);
        assert!(column_in_precision_i128(&wide, &nulls, 2));
    }

    #[test]
    fn the_detail_of_a_pure_fraction_says_one() {
        let error = field_overflow(NumericSpec::new(3, 3).expect("valid"));
        assert!(error.detail.is_some_and(|detail| detail.ends_with("less than 1.")));
    }
}
