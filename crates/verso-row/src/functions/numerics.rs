//! Arithmetic of numeric: exact, with PostgreSQL's result scales. Irrational results (`sqrt`, `ln`, `power`)
//! are those of double precision.

use verso_types::{Decimal, SqlType, TypeError, Value};

use super::define::{entry, unexpected};
use super::kernel::{Kernel, NumericOp};
use super::{ArgType, Body, BuiltinFunction, ResultType, Volatility};

macro_rules! of_one {
    ($name:literal ($($op:literal)?) = $f:expr, $kernel:expr) => {
        entry!($name ($($op)?) [Numeric] => Numeric, |_, args| match args {
            [Value::Numeric(a)] => Ok(Value::Numeric($f(a).map_err(TypeError::from)?)),
            _ => Err(unexpected($name, args)),
        }, $kernel)
    };
}

macro_rules! of_two {
    ($name:literal ($($op:literal)?) = $f:expr, $kernel:expr) => {
        entry!($name ($($op)?) [Numeric, Numeric] => Numeric, |_, args| match args {
            [Value::Numeric(a), Value::Numeric(b)] => Ok(Value::Numeric($f(a, b).map_err(TypeError::from)?)),
            _ => Err(unexpected($name, args)),
        }, $kernel)
    };
}

macro_rules! to_places {
    ($name:literal = $f:expr) => {
        entry!($name () [Numeric, Int4] => Numeric, |_, args| match args {
            [Value::Numeric(a), Value::Int4(places)] => {
                Ok(Value::Numeric($f(a, *places).map_err(TypeError::from)?))
            }
            _ => Err(unexpected($name, args)),
        }, None)
    };
}

type Infallible = Result<Decimal, TypeError>;

fn fine(value: Decimal) -> Infallible {
    Ok(value)
}

const fn kernel(op: NumericOp) -> Option<Kernel> {
    Some(Kernel::Numeric(op))
}

static NUMERICS: &[BuiltinFunction] = &[
    of_two!("numeric_add"("+") = Decimal::checked_add, kernel(NumericOp::Add)),
    of_two!("numeric_sub"("-") = Decimal::checked_sub, kernel(NumericOp::Subtract)),
    of_two!("numeric_mul"("*") = Decimal::checked_mul, kernel(NumericOp::Multiply)),
    of_two!("numeric_div"("/") = Decimal::checked_div, None),
    of_two!("numeric_mod"("%") = Decimal::checked_rem, None),
    of_two!("mod"() = Decimal::checked_rem, None),
    of_two!("div"() = Decimal::checked_div_trunc, None),
    of_one!("numeric_uminus"("-") = |a: &Decimal| fine(a.negate()), kernel(NumericOp::Negate)),
    of_one!("numeric_uplus"("+") = |a: &Decimal| fine(*a), None),
    of_one!("abs"("@") = |a: &Decimal| fine(a.abs()), kernel(NumericOp::Absolute)),
    of_one!("sign"() = |a: &Decimal| fine(a.signum()), None),
    of_one!("ceil"() = |a: &Decimal| fine(a.ceil()), None),
    of_one!("ceiling"() = |a: &Decimal| fine(a.ceil()), None),
    of_one!("floor"() = |a: &Decimal| fine(a.floor()), None),
    of_one!("round"() = |a: &Decimal| a.round(0), None),
    of_one!("trunc"() = |a: &Decimal| a.trunc(0), None),
    of_one!("trim_scale"() = |a: &Decimal| fine(a.normalize()), None),
    to_places!("round" = Decimal::round),
    to_places!("trunc" = Decimal::trunc),
    entry!("scale" () [Numeric] => Int4, |_, args| match args {
        [Value::Numeric(a)] => Ok(Value::Int4(a.scale().into())),
        _ => Err(unexpected("scale", args)),
    }, None),
];

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 1] = [NUMERICS];
