//! Casts among the hot types.

use verso_types::decimal::{POW10, rescale_i128};
use verso_types::{CastKind, ColumnData, NumericSpec, Physical, SqlType};

use super::eval::{Evaluation, left_out, strict};
use super::scratch::{Scratch, Vector};
use super::{Node, Repr};
use crate::functions::kernel::{self, ElementError, ElementResult, Operand, Trap};
use crate::functions::text_kernels::{characters, integers, integers_of_texts};

const MICROS_PER_DAY: i64 = 86_400_000_000;
const RANGE: ElementError = ElementError::OutOfRange("");

/// A cast with a kernel. What a kernel cannot cast (rounding aside) traps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CastKernel {
    /// Between integers, also to a scaled numeric of scale 0.
    Integer(Physical, Physical),
    /// Integer or scaled integer (divided by 10^scale) to double.
    ToFloat(Physical, u8),
    /// real to double.
    FloatToDouble,
    /// Double to integer, rounded to the nearest, halves to even.
    FloatToInteger(Physical),
    /// Scaled integer to another scale and precision.
    Rescale { from: (Physical, u8), to: (Physical, NumericSpec) },
    /// Scaled integer to integer, rounded.
    ToInteger { from: (Physical, u8), to: Physical },
    /// At most so many characters; the texts themselves stay.
    Length(u32),
    /// date to timestamp.
    DateToTimestamp,
    /// Integer to text.
    IntegerToText(Physical),
    /// Text of nothing but digits, perhaps behind a sign, to integer.
    TextToInteger(Physical),
}

/// The kernel for a cast and how its results stand; `None` where there is none.
pub(super) fn find(from: &Repr, to: &SqlType, kind: CastKind) -> Option<(CastKernel, Repr)> {
    let result = Repr::of_type(to);
    let kernel = match (from, to) {
        (Repr::Native(from), to) if from.is_integer() && to.is_integer() => {
            CastKernel::Integer(from.physical(), to.physical())
        }
        (Repr::Native(from), SqlType::Float8) if from.is_integer() => CastKernel::ToFloat(from.physical(), 0),
        (Repr::Native(SqlType::Float4), SqlType::Float8) => CastKernel::FloatToDouble,
        (Repr::Native(SqlType::Float8), to) if to.is_integer() => CastKernel::FloatToInteger(to.physical()),
        (Repr::Native(from), SqlType::Numeric(None)) if from.is_integer() => {
            let kernel = CastKernel::Integer(from.physical(), Physical::I64);
            return Some((kernel, Repr::Scaled64(0)));
        }
        (Repr::Native(from), SqlType::Numeric(Some(spec))) if from.is_integer() => {
            CastKernel::Rescale { from: (from.physical(), 0), to: (to.physical(), *spec) }
        }
        (Repr::Scaled64(_) | Repr::Scaled128(_), SqlType::Numeric(Some(spec))) => {
            CastKernel::Rescale { from: (from.physical(), from.scale()?), to: (to.physical(), *spec) }
        }
        (Repr::Scaled64(_) | Repr::Scaled128(_), SqlType::Float8) => {
            CastKernel::ToFloat(from.physical(), from.scale()?)
        }
        (Repr::Scaled64(_) | Repr::Scaled128(_), to) if to.is_integer() => {
            CastKernel::ToInteger { from: (from.physical(), from.scale()?), to: to.physical() }
        }
        // an explicit cast cuts silently, so what is too long is left to the rows
        (Repr::Native(from), SqlType::Varchar(Some(limit)))
            if from.is_text() && !matches!(from, SqlType::Char(_)) =>
        {
            let _ = kind;
            CastKernel::Length(*limit)
        }
        (Repr::Native(SqlType::Date), SqlType::Timestamp(_)) => CastKernel::DateToTimestamp,
        (Repr::Native(from), SqlType::Text | SqlType::Varchar(None)) if from.is_integer() => {
            CastKernel::IntegerToText(from.physical())
        }
        (Repr::Native(SqlType::Text | SqlType::Varchar(_)), to) if to.is_integer() => {
            CastKernel::TextToInteger(to.physical())
        }
        _ => return None,
    };
    Some((kernel, result))
}

impl CastKernel {
    pub fn eval<'a>(
        self,
        arg: &Node,
        over: &Evaluation<'a, '_>,
        scratch: &mut Scratch,
    ) -> Result<Vector<'a>, Trap> {
        if let CastKernel::Length(limit) = self {
            let vector = arg.eval(over, scratch)?;
            check_length(&vector, limit)?;
            return Ok(vector);
        }
        strict(std::slice::from_ref(arg), self.physical(), over, scratch, |args, nulls, rows, out| {
            let operands = [args[0].operand()];
            match over.reached {
                Some(reached) if self.is_partial() => {
                    self.apply(&operands, &left_out(nulls, reached), rows, out)
                }
                _ => self.apply(&operands, nulls, rows, out),
            }
        })
    }

    /// Whether rows that nobody asks for may well have no result.
    pub fn is_partial(self) -> bool {
        matches!(self, CastKernel::TextToInteger(_))
    }

    fn physical(self) -> Physical {
        match self {
            CastKernel::Integer(_, to)
            | CastKernel::TextToInteger(to)
            | CastKernel::ToInteger { to, .. }
            | CastKernel::FloatToInteger(to) => to,
            CastKernel::Rescale { to: (to, _), .. } => to,
            CastKernel::ToFloat(..) | CastKernel::FloatToDouble => Physical::F64,
            CastKernel::DateToTimestamp => Physical::I64,
            CastKernel::Length(_) | CastKernel::IntegerToText(_) => Physical::Bytes,
        }
    }

    fn apply(
        self,
        args: &[Operand<'_>],
        nulls: &verso_types::NullMask,
        rows: usize,
        out: &mut ColumnData,
    ) -> Result<(), Trap> {
        use Physical::{I16, I32, I64, I128};
        macro_rules! map {
            ($from:ty, $f:expr) => {
                kernel::unary(args, nulls, rows, out, |a: $from| $f(a))
            };
        }
        macro_rules! narrow {
            ($from:ty, $to:ty) => {
                map!($from, |a| <$to>::try_from(a).map_err(|_| RANGE))
            };
        }
        match self {
            CastKernel::Integer(I16, I32) => map!(i16, |a| Ok(i32::from(a))),
            CastKernel::Integer(I16, I64) => map!(i16, |a| Ok(i64::from(a))),
            CastKernel::Integer(I32, I64) => map!(i32, |a| Ok(i64::from(a))),
            CastKernel::Integer(I32, I16) => narrow!(i32, i16),
            CastKernel::Integer(I64, I16) => narrow!(i64, i16),
            CastKernel::Integer(I64, I32) => narrow!(i64, i32),
            CastKernel::Integer(I16, _) => map!(i16, Ok::<i16, ElementError>),
            CastKernel::Integer(I32, _) => map!(i32, Ok::<i32, ElementError>),
            CastKernel::Integer(..) => map!(i64, Ok::<i64, ElementError>),
            CastKernel::ToFloat(I16, _) => map!(i16, |a| Ok(f64::from(a))),
            CastKernel::ToFloat(I32, _) => map!(i32, |a| Ok(f64::from(a))),
            CastKernel::ToFloat(I64, 0) => map!(i64, |a| Ok(a as f64)),
            CastKernel::ToFloat(I64, scale) => map!(i64, |a| to_double(i128::from(a), scale)),
            CastKernel::ToFloat(_, scale) => map!(i128, |a| to_double(a, scale)),
            CastKernel::FloatToInteger(I16) => map!(f64, |a| whole(a, -32_768.0, 32_768.0, |a| a as i16)),
            CastKernel::FloatToInteger(I32) => {
                map!(f64, |a| whole(a, -2_147_483_648.0, 2_147_483_648.0, |a| a as i32))
            }
            CastKernel::FloatToInteger(_) => {
                map!(f64, |a| whole(a, -9_223_372_036_854_775_808.0, 9_223_372_036_854_775_808.0, |a| a
                    as i64))
            }
            CastKernel::FloatToDouble => map!(f32, |a| Ok(f64::from(a))),
            CastKernel::Rescale { from: (from, scale), to: (to, spec) } => match (from, to) {
                (I64, I64) => rescale64(args, nulls, rows, out, scale, spec),
                (I16, I64) => map!(i16, |a| small(rescale(i128::from(a), scale, spec))),
                (I32, I64) => map!(i32, |a| small(rescale(i128::from(a), scale, spec))),
                (I128, I64) => map!(i128, |a| small(rescale(a, scale, spec))),
                (I16, _) => map!(i16, |a| rescale(i128::from(a), scale, spec)),
                (I32, _) => map!(i32, |a| rescale(i128::from(a), scale, spec)),
                (I64, _) => map!(i64, |a| rescale(i128::from(a), scale, spec)),
                _ => map!(i128, |a| rescale(a, scale, spec)),
            },
            CastKernel::ToInteger { from: (from, scale), to } => {
                let whole = |a: i128| rescale_i128(a, scale, 0).ok_or(RANGE);
                match (from, to) {
                    (I64, I16) => map!(i64, |a| i16::try_from(whole(i128::from(a))?).map_err(|_| RANGE)),
                    (I64, I32) => map!(i64, |a| i32::try_from(whole(i128::from(a))?).map_err(|_| RANGE)),
                    (I64, _) => map!(i64, |a| i64::try_from(whole(i128::from(a))?).map_err(|_| RANGE)),
                    (_, I16) => map!(i128, |a| i16::try_from(whole(a)?).map_err(|_| RANGE)),
                    (_, I32) => map!(i128, |a| i32::try_from(whole(a)?).map_err(|_| RANGE)),
                    _ => map!(i128, |a| i64::try_from(whole(a)?).map_err(|_| RANGE)),
                }
            }
            // the infinities are no multiples of a day
            CastKernel::DateToTimestamp => map!(i32, |a: i32| match a {
                i32::MIN | i32::MAX => Err(RANGE),
                days => i64::from(days).checked_mul(MICROS_PER_DAY).ok_or(RANGE),
            }),
            CastKernel::IntegerToText(I16) => integers::<i16>(args, nulls, rows, out),
            CastKernel::IntegerToText(I32) => integers::<i32>(args, nulls, rows, out),
            CastKernel::IntegerToText(_) => integers::<i64>(args, nulls, rows, out),
            CastKernel::TextToInteger(I16) => integers_of_texts::<i16>(args, nulls, rows, out),
            CastKernel::TextToInteger(I32) => integers_of_texts::<i32>(args, nulls, rows, out),
            CastKernel::TextToInteger(_) => integers_of_texts::<i64>(args, nulls, rows, out),
            CastKernel::Length(_) => Err(Trap),
        }
    }
}

/// The double nearest to a decimal, where one division yields it.
#[inline]
fn to_double(value: i128, scale: u8) -> ElementResult<f64> {
    if value.unsigned_abs() < 1 << 53 && scale <= 22 {
        Ok(value as i64 as f64 / POW10[usize::from(scale)] as f64)
    } else {
        Err(RANGE)
    }
}

/// A double rounded to an integer that is at least `low` and below `end`; NaN is neither.
#[inline]
fn whole<T>(value: f64, low: f64, end: f64, cast: impl Fn(f64) -> T) -> ElementResult<T> {
    let rounded = value.round_ties_even();
    if rounded >= low && rounded < end { Ok(cast(rounded)) } else { Err(RANGE) }
}

#[inline]
fn rescale(value: i128, from: u8, spec: NumericSpec) -> ElementResult<i128> {
    match rescale_i128(value, from, spec.scale) {
        Some(value) if value.unsigned_abs() < POW10[usize::from(spec.precision)].unsigned_abs() => Ok(value),
        _ => Err(RANGE),
    }
}

#[inline]
fn small(value: ElementResult<i128>) -> ElementResult<i64> {
    i64::try_from(value?).map_err(|_| RANGE)
}

/// The hot one: same or larger scale needs no division.
fn rescale64(
    args: &[Operand<'_>],
    nulls: &verso_types::NullMask,
    rows: usize,
    out: &mut ColumnData,
    scale: u8,
    spec: NumericSpec,
) -> Result<(), Trap> {
    let limit = POW10[usize::from(spec.precision)];
    let Ok(limit) = i64::try_from(limit) else { return Err(Trap) };
    let fits = |value: i64| if value > -limit && value < limit { Ok(value) } else { Err(RANGE) };
    if scale == spec.scale {
        let quick = |value: i64| (value, (value <= -limit) | (value >= limit));
        kernel::unary_quick(args, nulls, rows, out, quick, fits)
    } else if scale < spec.scale {
        let factor = i64::try_from(POW10[usize::from(spec.scale - scale)]).map_err(|_| Trap)?;
        kernel::unary(args, nulls, rows, out, |a: i64| fits(a.checked_mul(factor).ok_or(RANGE)?))
    } else {
        kernel::unary(args, nulls, rows, out, |a: i64| small(rescale(i128::from(a), scale, spec)))
    }
}

/// A text of at most `limit` bytes has at most so many characters; only longer ones are counted.
fn check_length(vector: &Vector<'_>, limit: u32) -> Result<(), Trap> {
    let (column, nulls) = match vector {
        Vector::Borrowed(column) => (*column, &column.nulls),
        Vector::Owned(column) | Vector::Constant(column) => (column, &column.nulls),
    };
    let bytes = column.data.bytes().ok_or(Trap)?;
    let mut start = 0;
    let mut longest = 0;
    for end in &bytes.ends {
        longest = longest.max(end - start);
        start = *end;
    }
    if longest <= limit {
        return Ok(());
    }
    let too_long = |(row, value): (usize, &[u8])| characters(value) > limit as usize && !nulls.is_null(row);
    if bytes.iter().enumerate().any(too_long) { Err(Trap) } else { Ok(()) }
}
