//! Variances and regressions: sums of squares of differences from the mean.
//!
//! Doubles are gathered by Youngs and Cramer's method, as PostgreSQL does, in the order of the rows; exact numbers by
//! sums of values and squares in integers of any size, whose quotient is rounded once.

use num_bigint::BigInt;
use verso_types::{Decimal, Number, TypeError, Value};

use super::float_sum::overflows;
use crate::error::Result;
use crate::functions::AggregateKind;

/// Pairs of doubles (y, x); a single argument counts as x.
#[derive(Clone, Debug, Default)]
pub(crate) struct FloatMoments {
    n: f64,
    sx: f64,
    sxx: f64,
    sy: f64,
    syy: f64,
    sxy: f64,
}

impl FloatMoments {
    /// Adds a value.
    /// # Errors
    /// 22003 where finite values have an infinite sum, or one of their squares.
    pub fn add(&mut self, x: f64) -> Result<()> {
        self.add_pair(0.0, x)
    }

    /// Adds a pair.
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_pair(&mut self, y: f64, x: f64) -> Result<()> {
        let before = self.n;
        let (sx, sy) = (self.sx, self.sy);
        self.n += 1.0;
        self.sx += x;
        self.sy += y;
        if before > 0.0 {
            let dx = x * self.n - self.sx;
            let dy = y * self.n - self.sy;
            let scale = 1.0 / (self.n * before);
            self.sxx += dx * dx * scale;
            self.syy += dy * dy * scale;
            self.sxy += dx * dy * scale;
            let of_x = overflows(self.sx, sx, x) || overflows(self.sxx, sx, x);
            let of_y = overflows(self.sy, sy, y) || overflows(self.syy, sy, y);
            if of_x || of_y || overflows(self.sxy, sx, x) && sy.is_finite() && y.is_finite() {
                return Err(TypeError::float_overflow().into());
            }
            for (sum, part) in [(self.sx, &mut self.sxx), (self.sy, &mut self.syy)] {
                if !sum.is_finite() || part.is_infinite() {
                    *part = f64::NAN;
                }
            }
            if !(self.sx.is_finite() && self.sy.is_finite()) || self.sxy.is_infinite() {
                self.sxy = f64::NAN;
            }
        } else {
            // Of an infinite value no difference is known.
            if !x.is_finite() {
                (self.sxx, self.sxy) = (f64::NAN, f64::NAN);
            }
            if !y.is_finite() {
                (self.syy, self.sxy) = (f64::NAN, f64::NAN);
            }
        }
        Ok(())
    }

    /// Adds what another one has gathered, as PostgreSQL combines the states of workers.
    /// # Errors
    /// 22003 where finite values have an infinite sum.
    pub fn merge(&mut self, other: &FloatMoments) -> Result<()> {
        if self.n == 0.0 || other.n == 0.0 {
            if self.n == 0.0 {
                *self = other.clone();
            }
            return Ok(());
        }
        let n = self.n + other.n;
        let scale = self.n * other.n / n;
        let dx = self.sx / self.n - other.sx / other.n;
        let dy = self.sy / self.n - other.sy / other.n;
        let merged = FloatMoments {
            n,
            sx: self.sx + other.sx,
            sxx: self.sxx + other.sxx + scale * dx * dx,
            sy: self.sy + other.sy,
            syy: self.syy + other.syy + scale * dy * dy,
            sxy: self.sxy + other.sxy + scale * dx * dy,
        };
        let sums = [
            (merged.sx, self.sx, other.sx),
            (merged.sxx, self.sxx, other.sxx),
            (merged.sy, self.sy, other.sy),
            (merged.syy, self.syy, other.syy),
            (merged.sxy, self.sxy, other.sxy),
        ];
        if sums.into_iter().any(|(sum, a, b)| overflows(sum, a, b)) {
            return Err(TypeError::float_overflow().into());
        }
        *self = merged;
        Ok(())
    }

    /// All of it, to be put aside.
    pub fn save(&self) -> Vec<Value> {
        let Self { n, sx, sxx, sy, syy, sxy } = *self;
        [n, sx, sxx, sy, syy, sxy].map(|sum| Value::Int8(sum.to_bits().cast_signed())).to_vec()
    }

    /// The inverse of [`save`](Self::save).
    pub fn load(next: &mut impl FnMut() -> Value) -> FloatMoments {
        let [n, sx, sxx, sy, syy, sxy] =
            std::array::from_fn(|_| f64::from_bits(next().as_i64().unwrap_or(0).cast_unsigned()));
        FloatMoments { n, sx, sxx, sy, syy, sxy }
    }

    /// The aggregate asked for.
    pub fn finish(&self, kind: AggregateKind) -> Value {
        use AggregateKind as K;
        let Self { n, sx, sxx, sy, syy, sxy } = *self;
        let value = match kind {
            K::RegrCount => return Value::Int8(n as i64),
            _ if n < 1.0 => None,
            K::VarPop | K::StddevPop => Some(sxx / n),
            K::VarSamp | K::StddevSamp => (n > 1.0).then(|| sxx / (n - 1.0)),
            K::CovarPop => Some(sxy / n),
            K::CovarSamp => (n > 1.0).then(|| sxy / (n - 1.0)),
            K::Corr => (sxx != 0.0 && syy != 0.0).then(|| sxy / (sxx * syy).sqrt()),
            K::RegrAvgx => Some(sx / n),
            K::RegrAvgy => Some(sy / n),
            K::RegrSxx => Some(sxx),
            K::RegrSyy => Some(syy),
            K::RegrSxy => Some(sxy),
            K::RegrR2 => match (sxx != 0.0, syy != 0.0) {
                (false, _) => None,
                (true, false) => Some(1.0),
                (true, true) => Some((sxy * sxy) / (sxx * syy)),
            },
            K::RegrSlope => (sxx != 0.0).then(|| sxy / sxx),
            K::RegrIntercept => (sxx != 0.0).then(|| (sy - sx * sxy / sxx) / n),
            _ => None,
        };
        let root = matches!(kind, K::StddevPop | K::StddevSamp);
        value.map_or(Value::Null, |value| Value::Float8(if root { value.sqrt() } else { value }))
    }
}

/// Exact numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct ExactMoments {
    n: i64,
    /// Of values and of squares, at the scales `scale` and twice that.
    sum: BigInt,
    squares: BigInt,
    scale: u32,
    /// NaN or an infinity was among them: so is the result.
    is_nan: bool,
}

/// The most digits behind the point of a quotient, as in PostgreSQL.
const QUOTIENT_SCALE_MAX: u32 = 1000;

impl ExactMoments {
    /// Adds a value.
    pub fn add(&mut self, value: &Decimal) {
        self.add_scaled(value.unscaled().into(), u32::from(value.scale()));
    }

    /// Adds a value of any number of digits.
    pub fn add_long(&mut self, value: &Number) {
        let text = value.to_string();
        let behind = text.find('.').map_or(0, |point| text.len() - point - 1);
        match text.replacen('.', "", 1).parse() {
            Ok(unscaled) => self.add_scaled(unscaled, u32::try_from(behind).unwrap_or(0)),
            Err(_) => {
                self.is_nan = true;
                self.n += 1;
            }
        }
    }

    fn add_scaled(&mut self, unscaled: BigInt, scale: u32) {
        if scale > self.scale {
            self.sum *= power(scale - self.scale);
            self.squares *= power(2 * (scale - self.scale));
            self.scale = scale;
        }
        let value = unscaled * power(self.scale - scale);
        self.squares += &value * &value;
        self.sum += value;
        self.n += 1;
    }

    /// All of it, to be put aside.
    pub fn save(&self) -> Vec<Value> {
        let long = |sum: &BigInt| Value::Bytes(sum.to_signed_bytes_le().into());
        let (sum, squares) = (long(&self.sum), long(&self.squares));
        vec![Value::Int8(self.n), sum, squares, Value::Int8(self.scale.into()), Value::Bool(self.is_nan)]
    }

    /// The inverse of [`save`](Self::save).
    pub fn load(next: &mut impl FnMut() -> Value) -> ExactMoments {
        let long = |value: Value| match value {
            Value::Bytes(bytes) => BigInt::from_signed_bytes_le(&bytes),
            _ => BigInt::ZERO,
        };
        ExactMoments {
            n: next().as_i64().unwrap_or(0),
            sum: long(next()),
            squares: long(next()),
            scale: next().as_i64().and_then(|scale| u32::try_from(scale).ok()).unwrap_or(0),
            is_nan: next().as_bool() == Some(true),
        }
    }

    /// How many bytes the sums have.
    pub fn heap_bytes(&self) -> usize {
        usize::try_from((self.sum.bits() + self.squares.bits()) / 8).unwrap_or(usize::MAX)
    }

    /// Adds what another one has gathered.
    pub fn merge(&mut self, other: &ExactMoments) {
        let scale = self.scale.max(other.scale);
        let at = |value: &BigInt, from: u32| value * power(scale - from);
        self.sum = at(&self.sum, self.scale) + at(&other.sum, other.scale);
        let squares = |value: &BigInt, from: u32| value * power(2 * (scale - from));
        self.squares = squares(&self.squares, self.scale) + squares(&other.squares, other.scale);
        self.scale = scale;
        self.n += other.n;
        self.is_nan |= other.is_nan;
    }

    /// The variance or its root, as PostgreSQL rounds it.
    /// # Errors
    /// 22003 where it has too many digits.
    pub fn finish(&self, kind: AggregateKind) -> Result<Value> {
        use AggregateKind as K;
        let sample = matches!(kind, K::VarSamp | K::StddevSamp);
        if self.n == 0 || (sample && self.n == 1) {
            return Ok(Value::Null);
        }
        if self.is_nan {
            return Ok(Number::parse_value("NaN")?);
        }
        let n = BigInt::from(self.n);
        let numerator = &n * &self.squares - &self.sum * &self.sum;
        if numerator <= BigInt::ZERO {
            return Ok(Value::Numeric(Decimal::ZERO));
        }
        let divisor = if sample { &n * (&n - 1u32) } else { &n * &n };
        let own = 2 * self.scale;
        let scale = quotient_scale(&numerator, own, &divisor);
        let mut result = round_divide(
            &(numerator * power(scale.saturating_sub(own))),
            &(divisor * power(own.saturating_sub(scale))),
        );
        if matches!(kind, K::StddevPop | K::StddevSamp) {
            result = round_root(&(result * power(scale)));
        }
        let digits = format!("{:0>1$}", result.to_string(), scale as usize + 1);
        let (whole, behind) = digits.split_at(digits.len() - scale as usize);
        let point = if behind.is_empty() { "" } else { "." };
        Ok(Number::parse_value(&format!("{whole}{point}{behind}"))?)
    }
}

fn power(exponent: u32) -> BigInt {
    BigInt::from(10u32).pow(exponent)
}

/// Rounded half up; both are above zero.
fn round_divide(value: &BigInt, divisor: &BigInt) -> BigInt {
    (value * 2u32 + divisor) / (divisor * 2u32)
}

/// The root, rounded to the nearest integer.
fn round_root(value: &BigInt) -> BigInt {
    let root = value.sqrt();
    // (root + 1/2)² = root² + root + 1/4
    if value - &root * &root > root { root + 1u32 } else { root }
}

/// PostgreSQL's `select_div_scale`: at least 16 significant digits, counted in groups of four.
fn quotient_scale(value: &BigInt, scale: u32, divisor: &BigInt) -> u32 {
    let (weight, first) = leading_group(value, scale);
    let (other_weight, other_first) = leading_group(divisor, 0);
    let quotient = weight - other_weight - i64::from(first <= other_first);
    u32::try_from(16 - quotient * 4).unwrap_or(0).max(scale).min(QUOTIENT_SCALE_MAX)
}

/// The place of the first group of four digits that is not zero, and its value.
fn leading_group(value: &BigInt, scale: u32) -> (i64, u32) {
    let digits = value.magnitude().to_string();
    let exponent = digits.len() as i64 - 1 - i64::from(scale);
    let weight = exponent.div_euclid(4);
    let count = (exponent - 4 * weight + 1) as usize;
    let group: String = digits.chars().chain(std::iter::repeat('0')).take(count).collect();
    (weight, group.parse().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(values: &[&str], kind: AggregateKind) -> String {
        let mut moments = ExactMoments::default();
        for value in values {
            moments.add(&Decimal::parse(value).expect("a number"));
        }
        match moments.finish(kind).expect("in range") {
            Value::Numeric(value) => value.to_string(),
            other => format!("{other:?}"),
        }
    }

    /// Results of PostgreSQL 18.
    #[test]
    fn exact_variances_have_postgresql_s_digits() {
        use AggregateKind as K;
        assert_eq!(exact(&["1", "2", "3", "4"], K::VarSamp), "1.6666666666666667");
        assert_eq!(exact(&["1", "2", "3", "4"], K::VarPop), "1.2500000000000000");
        assert_eq!(exact(&["1", "2", "3", "4"], K::StddevSamp), "1.2909944487358056");
        assert_eq!(exact(&["10.50", "5.25", "100", "7.77"], K::StddevSamp), "46.1298450029912847");
        assert_eq!(exact(&["10.50", "5.25", "100", "7.77"], K::VarPop), "1595.9719500000000000");
        assert_eq!(exact(&["0.001", "0.002"], K::VarPop), "0.000000250000000000000000");
        assert_eq!(exact(&["5"], K::VarPop), "0");
        assert_eq!(exact(&["123456789012345", "3"], K::StddevPop), "61728394506171");
    }
}
