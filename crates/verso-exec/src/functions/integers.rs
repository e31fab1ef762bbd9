//! Arithmetic of smallint, integer and bigint. Overflow is an error, as in PostgreSQL.

use verso_types::{SqlType, TypeError, Value};

use super::define::elementwise;
use super::kernel::{ElementError, ElementResult, Kernel};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

/// The functions of one integer type.
macro_rules! integers {
    ($module:ident, $ty:ident, $rust:ty, $wide:ty, $sql:literal,
     $add:literal $sub:literal $mul:literal $div:literal $rem:literal $neg:literal $pos:literal
     $and:literal $or:literal $xor:literal $not:literal $shl:literal $shr:literal) => {
        mod $module {
            use super::*;

            const RANGE: ElementError = ElementError::OutOfRange($sql);

            fn add(a: $rust, b: $rust) -> ElementResult<$rust> {
                a.checked_add(b).ok_or(RANGE)
            }
            fn subtract(a: $rust, b: $rust) -> ElementResult<$rust> {
                a.checked_sub(b).ok_or(RANGE)
            }
            fn multiply(a: $rust, b: $rust) -> ElementResult<$rust> {
                a.checked_mul(b).ok_or(RANGE)
            }
            fn divide(a: $rust, b: $rust) -> ElementResult<$rust> {
                if b == 0 { Err(ElementError::DivisionByZero) } else { a.checked_div(b).ok_or(RANGE) }
            }
            /// Takes the sign of the dividend; `MIN % -1` is 0.
            fn remainder(a: $rust, b: $rust) -> ElementResult<$rust> {
                if b == 0 { Err(ElementError::DivisionByZero) } else { Ok(a.wrapping_rem(b)) }
            }
            fn negate(a: $rust) -> ElementResult<$rust> {
                a.checked_neg().ok_or(RANGE)
            }
            fn absolute(a: $rust) -> ElementResult<$rust> {
                a.checked_abs().ok_or(RANGE)
            }
            fn same(a: $rust) -> ElementResult<$rust> {
                Ok(a)
            }
            fn and(a: $rust, b: $rust) -> ElementResult<$rust> {
                Ok(a & b)
            }
            fn or(a: $rust, b: $rust) -> ElementResult<$rust> {
                Ok(a | b)
            }
            fn xor(a: $rust, b: $rust) -> ElementResult<$rust> {
                Ok(a ^ b)
            }
            fn not(a: $rust) -> ElementResult<$rust> {
                Ok(!a)
            }
            /// Counts modulo the width, as the processor does it, which has at least 32 bits.
            fn left(a: $rust, b: i32) -> ElementResult<$rust> {
                Ok((a as $wide).wrapping_shl(b.cast_unsigned()) as $rust)
            }
            fn right(a: $rust, b: i32) -> ElementResult<$rust> {
                Ok((a as $wide).wrapping_shr(b.cast_unsigned()) as $rust)
            }

            // overflow without a branch: both sides have a sign that the result has not
            fn add_quick(a: $rust, b: $rust) -> ($rust, bool) {
                let sum = a.wrapping_add(b);
                (sum, (a ^ sum) & (b ^ sum) < 0)
            }
            fn subtract_quick(a: $rust, b: $rust) -> ($rust, bool) {
                let difference = a.wrapping_sub(b);
                (difference, (a ^ b) & (a ^ difference) < 0)
            }

            pub(in crate::functions) static TABLE: &[BuiltinFunction] = &[
        elementwise!($add("+"): a $ty $rust, b $ty $rust => $ty $rust = add, quick add_quick),
        elementwise!($sub("-"): a $ty $rust, b $ty $rust => $ty $rust = subtract, quick subtract_quick),
        elementwise!($mul("*"): a $ty $rust, b $ty $rust => $ty $rust = multiply),
        elementwise!($div("/"): a $ty $rust, b $ty $rust => $ty $rust = divide),
        elementwise!($rem("%"): a $ty $rust, b $ty $rust => $ty $rust = remainder),
        elementwise!("mod"(): a $ty $rust, b $ty $rust => $ty $rust = remainder),
        elementwise!($neg("-"): a $ty $rust => $ty $rust = negate),
        elementwise!($pos("+"): a $ty $rust => $ty $rust = same),
        elementwise!("abs"("@"): a $ty $rust => $ty $rust = absolute),
        elementwise!($and("&"): a $ty $rust, b $ty $rust => $ty $rust = and),
        elementwise!($or("|"): a $ty $rust, b $ty $rust => $ty $rust = or),
        elementwise!($xor("#"): a $ty $rust, b $ty $rust => $ty $rust = xor),
        elementwise!($not("~"): a $ty $rust => $ty $rust = not),
        elementwise!($shl("<<"): a $ty $rust, b Int4 i32 => $ty $rust = left),
        elementwise!($shr(">>"): a $ty $rust, b Int4 i32 => $ty $rust = right),
            ];
        }
    };
}

integers!(int2, Int2, i16, i32, "smallint",
    "int2pl" "int2mi" "int2mul" "int2div" "int2mod" "int2um" "int2up"
    "int2and" "int2or" "int2xor" "int2not" "int2shl" "int2shr");
integers!(int4, Int4, i32, i32, "integer",
    "int4pl" "int4mi" "int4mul" "int4div" "int4mod" "int4um" "int4up"
    "int4and" "int4or" "int4xor" "int4not" "int4shl" "int4shr");
integers!(int8, Int8, i64, i64, "bigint",
    "int8pl" "int8mi" "int8mul" "int8div" "int8mod" "int8um" "int8up"
    "int8and" "int8or" "int8xor" "int8not" "int8shl" "int8shr");

/// Greatest common divisor and least common multiple, both without a sign.
macro_rules! divisors {
    ($module:ident, $ty:ident, $rust:ident, $type_name:literal) => {
        mod $module {
            use super::*;

            fn gcd(a: $rust, b: $rust) -> ElementResult<$rust> {
                let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
                while b != 0 {
                    (a, b) = (b, a % b);
                }
                $rust::try_from(a).map_err(|_| ElementError::OutOfRange($type_name))
            }
            fn lcm(a: $rust, b: $rust) -> ElementResult<$rust> {
                if a == 0 || b == 0 {
                    return Ok(0);
                }
                let parts = a / gcd(a, b)?;
                let multiple = parts.checked_mul(b).and_then($rust::checked_abs);
                multiple.ok_or(ElementError::OutOfRange($type_name))
            }

            pub(in crate::functions) static TABLE: &[BuiltinFunction] = &[
        elementwise!("gcd"(): a $ty $rust, b $ty $rust => $ty $rust = gcd),
        elementwise!("lcm"(): a $ty $rust, b $ty $rust => $ty $rust = lcm),
            ];
        }
    };
}

divisors!(divisors4, Int4, i32, "integer");
divisors!(divisors8, Int8, i64, "bigint");

/// The tables of the three types.
pub(super) static TABLES: [&[BuiltinFunction]; 5] =
    [int2::TABLE, int4::TABLE, int8::TABLE, divisors4::TABLE, divisors8::TABLE];
