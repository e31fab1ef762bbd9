//! How a field of a system table's row is stored: its SQL type and its value.

use std::sync::Arc;

use verso_types::{SqlType, Value};

use crate::definition::Oid;

/// A Rust type that a column of a system table can hold.
pub(crate) trait Field: Sized {
    /// May the column be NULL?
    const NULLABLE: bool = false;
    /// The column's type.
    fn sql_type() -> SqlType;
    /// The value to store.
    fn to_value(&self) -> Value;
    /// The field, `None` if the value is of another type.
    fn from_value(value: &Value) -> Option<Self>;
}

/// A name: PostgreSQL's type `name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub Arc<str>);

/// One letter: PostgreSQL's type `"char"`, here `character(1)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Letter(pub char);

impl Letter {
    /// The same, as a capital where that is so.
    pub fn capital(self, capital: bool) -> Letter {
        if capital { Letter(self.0.to_ascii_uppercase()) } else { self }
    }
}

/// Bytes: PostgreSQL's type `bytea`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bytes(pub Arc<[u8]>);

/// A point in time: PostgreSQL's `timestamptz`, in microseconds since 2000-01-01 UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment(pub i64);

macro_rules! plain_field {
    ($($rust:ty => $sql:ident, $value:ident;)*) => {$(
        impl Field for $rust {
            fn sql_type() -> SqlType {
                SqlType::$sql
            }
            fn to_value(&self) -> Value {
                Value::$value(self.clone())
            }
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::$value(inner) => Some(inner.clone()),
                    _ => None,
                }
            }
        }
    )*};
}

plain_field! {
    bool => Bool, Bool;
    i16 => Int2, Int2;
    i32 => Int4, Int4;
    i64 => Int8, Int8;
    Arc<str> => Text, Text;
}

impl Field for Oid {
    fn sql_type() -> SqlType {
        SqlType::Oid
    }
    fn to_value(&self) -> Value {
        Value::Int8(i64::from(self.0))
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Int8(number) => u32::try_from(*number).ok().map(Oid),
            _ => None,
        }
    }
}

impl Field for Name {
    fn sql_type() -> SqlType {
        SqlType::Name
    }
    fn to_value(&self) -> Value {
        Value::Text(Arc::clone(&self.0))
    }
    fn from_value(value: &Value) -> Option<Self> {
        Arc::from_value(value).map(Name)
    }
}

impl Field for Bytes {
    fn sql_type() -> SqlType {
        SqlType::Bytea
    }
    fn to_value(&self) -> Value {
        Value::Bytes(Arc::clone(&self.0))
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Bytes(bytes) => Some(Bytes(Arc::clone(bytes))),
            _ => None,
        }
    }
}

impl Field for Moment {
    fn sql_type() -> SqlType {
        SqlType::Timestamptz(None)
    }
    fn to_value(&self) -> Value {
        Value::Timestamptz(self.0)
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Timestamptz(micros) => Some(Moment(*micros)),
            _ => None,
        }
    }
}

impl Field for Letter {
    fn sql_type() -> SqlType {
        SqlType::Char(Some(1))
    }
    fn to_value(&self) -> Value {
        Value::Text(self.0.to_string().into())
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Text(text) => text.chars().next().map(Letter),
            _ => None,
        }
    }
}

impl<F: Field> Field for Vec<F> {
    fn sql_type() -> SqlType {
        SqlType::Array(Box::new(F::sql_type()))
    }
    fn to_value(&self) -> Value {
        Value::Array(self.iter().map(Field::to_value).collect())
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Array(items) => items.iter().map(F::from_value).collect(),
            _ => None,
        }
    }
}

impl<F: Field> Field for Option<F> {
    const NULLABLE: bool = true;
    fn sql_type() -> SqlType {
        F::sql_type()
    }
    fn to_value(&self) -> Value {
        self.as_ref().map_or(Value::Null, Field::to_value)
    }
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => F::from_value(value).map(Some),
        }
    }
}
