//! The macros that make a registry entry, scalar and kernel, from one definition.

/// A strict, immutable function of fixed-width values: `elementwise!("int4pl" ("+"): a Int4 i32, b Int4 i32 => Int4 i32 = add)`.
/// The definition is a function of the Rust values that yields an [`ElementResult`](super::kernel::ElementResult).
macro_rules! elementwise {
    ($name:literal ($($op:literal)?): $a:ident $ta:ident $ra:ty => $tr:ident $rr:ty = $f:expr) => {
        $crate::functions::define::entry!(
            $name ($($op)?) [$ta] => $tr,
            |_, args| match args {
                [Value::$ta($a)] => Ok(Value::$tr($f(*$a).map_err(TypeError::from)?)),
                _ => Err($crate::functions::define::unexpected($name, args)),
            },
            Some(Kernel::Columns(|args, nulls, rows, out| {
                $crate::functions::kernel::unary::<$ra, $rr>(args, nulls, rows, out, $f)
            }))
        )
    };
    ($name:literal ($($op:literal)?): $a:ident $ta:ident $ra:ty, $b:ident $tb:ident $rb:ty => $tr:ident $rr:ty = $f:expr, quick $quick:expr) => {
        $crate::functions::define::entry!(
            $name ($($op)?) [$ta, $tb] => $tr,
            |_, args| match args {
                [Value::$ta($a), Value::$tb($b)] => Ok(Value::$tr($f(*$a, *$b).map_err(TypeError::from)?)),
                _ => Err($crate::functions::define::unexpected($name, args)),
            },
            Some(Kernel::Columns(|args, nulls, rows, out| {
                $crate::functions::kernel::binary_quick::<$ra, $rb, $rr>(args, nulls, rows, out, $quick, $f)
            }))
        )
    };
    ($name:literal ($($op:literal)?): $a:ident $ta:ident $ra:ty, $b:ident $tb:ident $rb:ty => $tr:ident $rr:ty = $f:expr) => {
        $crate::functions::define::entry!(
            $name ($($op)?) [$ta, $tb] => $tr,
            |_, args| match args {
                [Value::$ta($a), Value::$tb($b)] => Ok(Value::$tr($f(*$a, *$b).map_err(TypeError::from)?)),
                _ => Err($crate::functions::define::unexpected($name, args)),
            },
            Some(Kernel::Columns(|args, nulls, rows, out| {
                $crate::functions::kernel::binary::<$ra, $rb, $rr>(args, nulls, rows, out, $f)
            }))
        )
    };
}

/// A strict, immutable function: name, operator, argument types, result type, scalar body, kernel.
macro_rules! entry {
    ($name:literal ($($op:literal)?) [$($arg:ident),*] => $res:ident, $body:expr, $kernel:expr) => {
        BuiltinFunction {
            name: $name,
            operator: $crate::functions::define::optional!($($op)?),
            args: &[$(ArgType::Exact($crate::functions::define::sql_type!($arg))),*],
            variadic: false,
            result: ResultType::Fixed($crate::functions::define::sql_type!($res)),
            strict: true,
            volatility: Volatility::Immutable,
            body: Body::Scalar($body),
            kernel: $kernel,
        }
    };
}

/// `None` or `Some(literal)`.
macro_rules! optional {
    () => {
        None
    };
    ($op:literal) => {
        Some($op)
    };
}

/// The SQL type behind a short name.
macro_rules! sql_type {
    (Numeric) => {
        SqlType::Numeric(None)
    };
    (Time) => {
        SqlType::Time(None)
    };
    (Timestamp) => {
        SqlType::Timestamp(None)
    };
    (Timestamptz) => {
        SqlType::Timestamptz(None)
    };
    (Interval) => {
        SqlType::Interval(None)
    };
    (Timetz) => {
        SqlType::Timetz(None)
    };
    (Bit) => {
        SqlType::Bit(None)
    };
    (Varbit) => {
        SqlType::Varbit(None)
    };
    (Inet) => {
        SqlType::System(verso_types::SystemType::Inet)
    };
    (Cidr) => {
        SqlType::System(verso_types::SystemType::Cidr)
    };
    (Macaddr) => {
        SqlType::System(verso_types::SystemType::Macaddr)
    };
    (Macaddr8) => {
        SqlType::System(verso_types::SystemType::Macaddr8)
    };
    (Money) => {
        SqlType::System(verso_types::SystemType::Money)
    };
    (Lsn) => {
        SqlType::System(verso_types::SystemType::Lsn)
    };
    (TsVector) => {
        SqlType::System(verso_types::SystemType::TsVector)
    };
    (TsQuery) => {
        SqlType::System(verso_types::SystemType::TsQuery)
    };
    (Regconfig) => {
        SqlType::System(verso_types::SystemType::Regconfig)
    };
    (Regdictionary) => {
        SqlType::System(verso_types::SystemType::Regdictionary)
    };
    (Xid) => {
        SqlType::System(verso_types::SystemType::Xid)
    };
    (Xid8) => {
        SqlType::System(verso_types::SystemType::Xid8)
    };
    (PgSnapshot) => {
        SqlType::System(verso_types::SystemType::PgSnapshot)
    };
    (TxidSnapshot) => {
        SqlType::System(verso_types::SystemType::TxidSnapshot)
    };
    (Citext) => {
        SqlType::System(verso_types::SystemType::Citext)
    };
    (Point) => {
        SqlType::System(verso_types::SystemType::Point)
    };
    (Lseg) => {
        SqlType::System(verso_types::SystemType::Lseg)
    };
    (Line) => {
        SqlType::System(verso_types::SystemType::Line)
    };
    (Box) => {
        SqlType::System(verso_types::SystemType::Box)
    };
    (Path) => {
        SqlType::System(verso_types::SystemType::Path)
    };
    (Polygon) => {
        SqlType::System(verso_types::SystemType::Polygon)
    };
    (Circle) => {
        SqlType::System(verso_types::SystemType::Circle)
    };
    (Char) => {
        SqlType::Char(None)
    };
    ($name:ident) => {
        SqlType::$name
    };
}

/// The pattern of a value of a short-named type.
macro_rules! pattern {
    (Bytea, $v:ident) => {
        Value::Bytes($v)
    };
    (Timetz, $v:ident) => {
        Value::Opaque($v)
    };
    (Bit, $v:ident) => {
        Value::Opaque($v)
    };
    (Varbit, $v:ident) => {
        Value::Opaque($v)
    };
    (Inet, $v:ident) => {
        Value::Opaque($v)
    };
    (Cidr, $v:ident) => {
        Value::Opaque($v)
    };
    (Macaddr, $v:ident) => {
        Value::Opaque($v)
    };
    (Macaddr8, $v:ident) => {
        Value::Opaque($v)
    };
    (Money, $v:ident) => {
        Value::Opaque($v)
    };
    (Lsn, $v:ident) => {
        Value::Opaque($v)
    };
    (TsVector, $v:ident) => {
        Value::Opaque($v)
    };
    (TsQuery, $v:ident) => {
        Value::Opaque($v)
    };
    (Regconfig, $v:ident) => {
        Value::Int8($v)
    };
    (Regdictionary, $v:ident) => {
        Value::Int8($v)
    };
    ($ty:ident, $v:ident) => {
        Value::$ty($v)
    };
}

/// A strict, immutable function whose body yields a result: `valued!("bit_or" ("|"): a Bit, b Bit => Bit = or(a, b))`.
macro_rules! valued {
    ($name:literal ($($op:literal)?): $($v:ident $ty:ident),* => $res:ident = $body:expr) => {
        $crate::functions::define::entry!($name ($($op)?) [$($ty),*] => $res, |_, args| match args {
            [$($crate::functions::define::pattern!($ty, $v)),*] => $body,
            _ => Err($crate::functions::define::unexpected($name, args)),
        }, None)
    };
}

pub(crate) use {elementwise, entry, optional, pattern, sql_type, valued};

use verso_types::error::sqlstate;
use verso_types::{TypeError, Value};

use crate::error::ExecError;

/// A bug of the binder: arguments of types that the function does not take.
#[cold]
pub(crate) fn unexpected(name: &str, args: &[Value]) -> ExecError {
    TypeError::new(sqlstate::INTERNAL_ERROR, format!("{name} cannot take {args:?}")).into()
}
