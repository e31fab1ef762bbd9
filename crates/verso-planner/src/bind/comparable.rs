//! Which types have an operator `=`, and which an order: those without are refused where rows are told apart or sorted by them.
//!
//! Rows of composite types are let through, as in PostgreSQL, which looks at their fields when they are compared.

use verso_types::{SqlType, SystemType};

use crate::errors::{SqlError, sqlstate};

/// Whether values of a type can be equal.
fn has_equality(ty: &SqlType) -> bool {
    match ty {
        SqlType::Json | SqlType::System(SystemType::JsonPath) => false,
        SqlType::Array(element) => has_equality(element),
        SqlType::Domain(domain) => has_equality(&domain.base),
        _ => true,
    }
}

/// Whether values of a type are before or behind each other.
fn has_order(ty: &SqlType) -> bool {
    match ty {
        SqlType::System(SystemType::Xid) => false,
        SqlType::Array(element) => has_order(element),
        SqlType::Domain(domain) => has_order(&domain.base),
        other => has_equality(other),
    }
}

/// Refuses what rows cannot be told apart by; the place is 0 where none is known.
pub(super) fn check_equality(ty: &SqlType, at: u32) -> Result<(), SqlError> {
    if has_equality(ty) {
        return Ok(());
    }
    Err(missing("an equality operator", ty, at))
}

/// Refuses what rows cannot be sorted by.
pub(super) fn check_order(ty: &SqlType, at: u32) -> Result<(), SqlError> {
    if has_order(ty) {
        return Ok(());
    }
    let error = missing("an ordering operator", ty, at);
    Err(error.with_hint("Use an explicit ordering operator or modify the query."))
}

fn missing(what: &str, ty: &SqlType, at: u32) -> SqlError {
    let text = format!("could not identify {what} for type {}", ty.pg_name());
    let error = SqlError::new(sqlstate::UNDEFINED_FUNCTION, text);
    if at == 0 { error } else { error.at(at) }
}
