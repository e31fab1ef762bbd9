//! The one error of this crate: what the client is told, with PostgreSQL's SQLSTATE.

use std::fmt;

/// Codes used here, named as in PostgreSQL's appendix A.
pub mod sqlstate {
    /// A value does not fit the number type.
    pub const NUMERIC_VALUE_OUT_OF_RANGE: &str = "22003";
    /// A string is longer than its declared length.
    pub const STRING_DATA_RIGHT_TRUNCATION: &str = "22001";
    /// Division by zero.
    pub const DIVISION_BY_ZERO: &str = "22012";
    /// Text that is not a date or time at all.
    pub const INVALID_DATETIME_FORMAT: &str = "22007";
    /// A date or time outside the range.
    pub const DATETIME_FIELD_OVERFLOW: &str = "22008";
    /// A message of the protocol that ends within a value.
    pub const PROTOCOL_VIOLATION: &str = "08P01";
    /// More of something than there may be.
    pub const PROGRAM_LIMIT_EXCEEDED: &str = "54000";
    /// An interval outside the range.
    pub const INTERVAL_FIELD_OVERFLOW: &str = "22015";
    /// A time zone displacement outside the range.
    pub const INVALID_TIME_ZONE_DISPLACEMENT: &str = "22009";
    /// Text that does not spell a value of the type.
    pub const INVALID_TEXT_REPRESENTATION: &str = "22P02";
    /// Bytes that are no value of the type in the protocol's binary format.
    pub const INVALID_BINARY_REPRESENTATION: &str = "22P03";
    /// An escape sequence or a parameter that means nothing.
    pub const INVALID_PARAMETER_VALUE: &str = "22023";
    /// Bytes that are not text in the database's encoding.
    pub const CHARACTER_NOT_IN_REPERTOIRE: &str = "22021";
    /// Subscripts or dimensions that do not fit an array.
    pub const ARRAY_SUBSCRIPT_ERROR: &str = "2202E";
    /// No cast leads from one type to the other.
    pub const CANNOT_COERCE: &str = "42846";
    /// Known to PostgreSQL, not to us.
    pub const FEATURE_NOT_SUPPORTED: &str = "0A000";
    /// Encoded bytes that break their format.
    pub const DATA_CORRUPTED: &str = "XX001";
    /// A bug of ours: a value does not have the type it was announced with.
    pub const INTERNAL_ERROR: &str = "XX000";
}

/// What went wrong with a value, ready to be sent to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeError {
    /// Five characters, as PostgreSQL's appendix A.
    pub sqlstate: &'static str,
    /// PostgreSQL's wording where it has one.
    pub message: String,
    /// The DETAIL line.
    pub detail: Option<String>,
    /// The HINT line.
    pub hint: Option<String>,
}

impl TypeError {
    /// 42704: there is no type of this name.
    #[cold]
    pub fn unknown_type(name: &crate::sqltype::NamedType) -> TypeError {
        TypeError::new(crate::sqlstate::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
    }

    /// An error with neither detail nor hint.
    #[cold]
    pub fn new(sqlstate: &'static str, message: impl Into<String>) -> TypeError {
        TypeError { sqlstate, message: message.into(), detail: None, hint: None }
    }

    /// The same error with a DETAIL line.
    pub fn with_detail(mut self, detail: impl Into<String>) -> TypeError {
        self.detail = Some(detail.into());
        self
    }

    /// The same error with a HINT line.
    pub fn with_hint(mut self, hint: impl Into<String>) -> TypeError {
        self.hint = Some(hint.into());
        self
    }

    /// 22P02 as PostgreSQL words it: `invalid input syntax for type integer: "x"`.
    #[cold]
    pub fn syntax(type_name: &str, text: &str) -> TypeError {
        TypeError::new(
            sqlstate::INVALID_TEXT_REPRESENTATION,
            format!("invalid input syntax for type {type_name}: \"{text}\""),
        )
    }

    /// 22003 as PostgreSQL words it: `integer out of range`.
    #[cold]
    pub fn out_of_range(type_name: &str) -> TypeError {
        TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, format!("{type_name} out of range"))
    }

    /// 22003: finite doubles have a result that is none.
    #[cold]
    pub fn float_overflow() -> TypeError {
        TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value out of range: overflow")
    }

    /// 22003: the result has more digits than a numeric holds.
    #[cold]
    pub fn numeric_overflow() -> TypeError {
        TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, "value overflows numeric format")
    }

    /// 22012.
    #[cold]
    pub fn division_by_zero() -> TypeError {
        TypeError::new(sqlstate::DIVISION_BY_ZERO, "division by zero")
    }

    /// XX001: encoded bytes that break their format.
    #[cold]
    pub fn corrupt(what: &str) -> TypeError {
        TypeError::new(sqlstate::DATA_CORRUPTED, format!("corrupt value: {what}"))
    }

    /// XX000: a value that does not have the type it was announced with.
    #[cold]
    pub fn mismatch(value: &crate::Value, ty: &crate::SqlType) -> TypeError {
        let name = ty.pg_name();
        TypeError::new(sqlstate::INTERNAL_ERROR, format!("{value:?} is not a value of type {name}"))
    }
}

impl fmt::Display for TypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for TypeError {}
