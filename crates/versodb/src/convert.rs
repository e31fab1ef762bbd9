//! Rust values from and to SQL values.

use std::sync::Arc;

use verso_types::{Decimal, Interval, SqlType, Value};

use crate::Error;

/// A Rust type that a value of a result can be read as.
///
/// Integers, floats and decimals may be read as wider types; whatever the type, [`Row::text`](crate::Row::text) gives
/// its text. NULL is read as `Option::None`.
pub trait FromValue: Sized {
    /// The value, `None` if it is not of a type that fits.
    fn from_value(value: &Value) -> Option<Self>;
    /// What NULL becomes, `None` if it is an error.
    fn null() -> Option<Self> {
        None
    }
}

/// A Rust value that can be a parameter of a statement.
pub trait ToValue {
    /// The SQL value.
    fn to_value(&self) -> Value;
}

/// Reads `value`; the error names `column` and its type.
pub(crate) fn read<T: FromValue>(value: &Value, column: &str, ty: &SqlType) -> Result<T, Error> {
    if matches!(value, Value::Null) {
        return T::null().ok_or_else(|| {
            Error::new("22002", format!("column \"{column}\" is null: read it as an Option"))
        });
    }
    // An enum reads as its label: the number behind it is nobody's business.
    let label = match (value, ty) {
        (Value::Int8(place), SqlType::Enum(of)) => of.at(*place).map(|label| Value::text(&label.name)),
        _ => None,
    };
    T::from_value(label.as_ref().unwrap_or(value)).ok_or_else(|| {
        let wanted = std::any::type_name::<T>();
        Error::new("42804", format!("column \"{column}\" of type {ty} cannot be read as {wanted}"))
    })
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: &Value) -> Option<Self> {
        T::from_value(value).map(Some)
    }
    fn null() -> Option<Self> {
        Some(None)
    }
}

impl FromValue for Value {
    fn from_value(value: &Value) -> Option<Self> {
        Some(value.clone())
    }
    fn null() -> Option<Self> {
        Some(Value::Null)
    }
}

macro_rules! from_value {
    ($($rust:ty: $($pattern:pat => $result:expr),+;)*) => {$(
        impl FromValue for $rust {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    $($pattern => Some($result),)+
                    _ => None,
                }
            }
        }
    )*};
}

from_value! {
    bool: Value::Bool(v) => *v;
    i16: Value::Int2(v) => *v;
    i32: Value::Int4(v) => *v, Value::Int2(v) => i32::from(*v);
    i64: Value::Int8(v) => *v, Value::Int4(v) => i64::from(*v), Value::Int2(v) => i64::from(*v);
    f32: Value::Float4(v) => *v;
    f64: Value::Float8(v) => *v, Value::Float4(v) => f64::from(*v);
    Decimal: Value::Numeric(v) => *v, Value::Int8(v) => Decimal::from(*v),
        Value::Int4(v) => Decimal::from(i64::from(*v)), Value::Int2(v) => Decimal::from(i64::from(*v));
    String: Value::Text(v) => v.to_string();
    Arc<str>: Value::Text(v) => Arc::clone(v);
    Vec<u8>: Value::Bytes(v) => v.to_vec();
    Arc<[u8]>: Value::Bytes(v) => Arc::clone(v);
    Interval: Value::Interval(v) => *v;
    u128: Value::Uuid(v) => *v;
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value {
        (**self).to_value()
    }
}

macro_rules! to_value {
    ($($rust:ty: $value:ident => $result:expr;)*) => {$(
        impl ToValue for $rust {
            fn to_value(&self) -> Value {
                let $value = self;
                $result
            }
        }
    )*};
}

to_value! {
    Value: v => v.clone();
    bool: v => Value::Bool(*v);
    i16: v => Value::Int2(*v);
    i32: v => Value::Int4(*v);
    i64: v => Value::Int8(*v);
    f32: v => Value::Float4(*v);
    f64: v => Value::Float8(*v);
    Decimal: v => Value::Numeric(*v);
    str: v => Value::Text(v.into());
    String: v => Value::Text(v.as_str().into());
    Arc<str>: v => Value::Text(Arc::clone(v));
    [u8]: v => Value::Bytes(v.into());
    Vec<u8>: v => Value::Bytes(v.as_slice().into());
    Interval: v => Value::Interval(*v);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_widen_but_never_narrow() {
        let read_as_i64 = |value: Value| i64::from_value(&value);
        assert_eq!(read_as_i64(Value::Int2(5)), Some(5));
        assert_eq!(read_as_i64(Value::Int8(5)), Some(5));
        assert_eq!(i32::from_value(&Value::Int8(5)), None);
        assert_eq!(Decimal::from_value(&Value::Int4(7)), Some(Decimal::from(7)));
    }

    #[test]
    fn null_is_an_error_unless_an_option_is_asked_for() {
        let error = read::<i32>(&Value::Null, "a", &SqlType::Int4).unwrap_err();
        assert_eq!(error.sqlstate, "22002");
        assert_eq!(read::<Option<i32>>(&Value::Null, "a", &SqlType::Int4).unwrap(), None);
        assert_eq!(read::<Value>(&Value::Null, "a", &SqlType::Int4).unwrap(), Value::Null);
    }

    #[test]
    fn another_type_is_an_error_that_names_the_column() {
        let error = read::<i32>(&Value::Bool(true), "flag", &SqlType::Bool).unwrap_err();
        assert_eq!(error.sqlstate, "42804");
        assert!(error.message.contains("\"flag\" of type boolean"), "{}", error.message);
    }

    #[test]
    fn parameters_are_made_of_rust_values() {
        let values = crate::params![1, 2i64, "x", None::<i32>, 1.5, true, String::from("y")];
        assert_eq!(values[0], Value::Int4(1));
        assert_eq!(values[1], Value::Int8(2));
        assert_eq!(values[2], Value::Text("x".into()));
        assert_eq!(values[3], Value::Null);
        assert_eq!(values[6], Value::Text("y".into()));
    }
}
