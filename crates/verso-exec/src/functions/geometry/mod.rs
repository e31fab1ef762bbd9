//! Functions and operators of the geometric types. What they compute is in [`verso_types::geometry`]; the tables here give it
//! PostgreSQL's names.
//!
//! The comparisons `=`, `<` and their like are of sizes, and allow for a millionth: the same size is another thing than the same
//! value, so nothing may take these operators for the equality or the order of a type
//! ([`BuiltinFunction::comparison`]).

mod boxes;
mod circles;
mod lines;
mod paths;
mod points;
mod polygons;
mod segments;
#[cfg(test)]
mod tests;

use verso_types::geometry::{Circle, Line, Lseg, Path, Point, Polygon, Rect, Shape, number};
use verso_types::{TypeError, Value};

use super::BuiltinFunction;
use super::define::unexpected;
use crate::error::Result;

/// A table of functions, each over one or two arguments: `functions!{ "box_add" ("+") [Box, Point] => Box = Rect::plus; }`. The
/// definition is a function of references to the arguments and yields an [`Outcome`].
macro_rules! functions {
    ($($name:literal ($($op:literal)?) [$($ty:ident),+] => $result:ident = $with:expr;)*) => {
        &[$($crate::functions::define::entry!(
            $name ($($op)?) [$($ty),+] => $result,
            |_, args| $crate::functions::geometry::called!($name, args, [$($ty),+], $with),
            None
        ),)*]
    };
}

/// A call with one argument or two.
macro_rules! called {
    ($name:literal, $args:ident, [$a:ident], $with:expr) => {
        $crate::functions::geometry::of_one($name, $args, $with)
    };
    ($name:literal, $args:ident, [$a:ident, $b:ident], $with:expr) => {
        $crate::functions::geometry::of_two($name, $args, $with)
    };
}

use {called, functions};

/// What an argument is to a function.
trait Argument: Sized {
    fn read(value: &Value) -> Option<Self>;
}

/// What a function yields.
trait Outcome {
    fn value(self) -> std::result::Result<Value, TypeError>;
}

macro_rules! shapes {
    ($($shape:ident)*) => {$(
        impl Argument for $shape {
            fn read(value: &Value) -> Option<$shape> {
                match value {
                    Value::Opaque(value) if value.kind() == $shape::KIND => Some(Shape::of(value)),
                    _ => None,
                }
            }
        }

        impl Outcome for $shape {
            fn value(self) -> std::result::Result<Value, TypeError> {
                Ok(self.into_value())
            }
        }
    )*};
}

shapes!(Point Lseg Line Rect Path Polygon Circle);

macro_rules! plain {
    ($($ty:ident $value:ident)*) => {$(
        impl Argument for $ty {
            fn read(value: &Value) -> Option<$ty> {
                match value {
                    Value::$value(value) => Some(*value),
                    _ => None,
                }
            }
        }

        impl Outcome for $ty {
            fn value(self) -> std::result::Result<Value, TypeError> {
                Ok(Value::$value(self))
            }
        }
    )*};
}

plain!(f64 Float8 i32 Int4 bool Bool);

impl<T: Outcome> Outcome for Option<T> {
    fn value(self) -> std::result::Result<Value, TypeError> {
        self.map_or(Ok(Value::Null), Outcome::value)
    }
}

impl<T: Outcome> Outcome for number::Result<T> {
    fn value(self) -> std::result::Result<Value, TypeError> {
        self.and_then(Outcome::value)
    }
}

fn of_one<A: Argument, R: Outcome>(name: &str, args: &[Value], with: impl Fn(&A) -> R) -> Result<Value> {
    match args {
        [a] if let Some(a) = A::read(a) => Ok(with(&a).value()?),
        _ => Err(unexpected(name, args)),
    }
}

fn of_two<A: Argument, B: Argument, R: Outcome>(
    name: &str,
    args: &[Value],
    with: impl Fn(&A, &B) -> R,
) -> Result<Value> {
    match args {
        [a, b] if let (Some(a), Some(b)) = (A::read(a), B::read(b)) => Ok(with(&a, &b).value()?),
        _ => Err(unexpected(name, args)),
    }
}

/// Compares two values by a number that is computed of each.
fn by<S>(
    a: &S,
    of_a: fn(&S) -> number::Result<f64>,
    holds: fn(f64, f64) -> bool,
    b: &S,
    of_b: fn(&S) -> number::Result<f64>,
) -> number::Result<bool> {
    Ok(holds(of_a(a)?, of_b(b)?))
}

/// The tables of this module.
pub(super) static TABLES: [&[BuiltinFunction]; 9] = [
    points::FUNCTIONS,
    lines::FUNCTIONS,
    segments::FUNCTIONS,
    boxes::FUNCTIONS,
    paths::FUNCTIONS,
    paths::JOINED,
    polygons::FUNCTIONS,
    polygons::OF_CIRCLES,
    circles::FUNCTIONS,
];
