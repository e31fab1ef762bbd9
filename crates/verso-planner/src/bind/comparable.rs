//! Which types have an operator `=`, and which an order: those without are refused where rows are told apart or sorted by them.
//!
//! Rows have them as far as all of their fields have. Operators take others, too, and say so when they come to such a field
//! ([`fields_without`]), as in PostgreSQL.
//!
//! Geometric types have operators `=` and `<`, but of their sizes ([`compares_roughly`]).

use verso_exec::functions::BuiltinFunction;
use verso_exec::plan::{ExprKind as K, TypedExpr};
use verso_types::{SqlType, SystemType};

use super::resolve::{Resolution, function_error, operator_error};
use crate::errors::{SqlError, sqlstate};

/// Whether values of a type can be equal.
fn has_equality(ty: &SqlType) -> bool {
    use SystemType as S;
    match ty {
        SqlType::Json => false,
        SqlType::System(S::JsonPath | S::PgSnapshot | S::TxidSnapshot) => false,
        SqlType::System(ty) => !ty.is_geometric(),
        SqlType::Array(element) => has_equality(element),
        SqlType::Domain(domain) => has_equality(&domain.base),
        SqlType::Row(row) => row.fields.iter().all(|(_, ty)| has_equality(ty)),
        _ => true,
    }
}

/// Whether `=` of a type, where it has one, is of sizes and rough, so that it is asked by itself wherever it is written and nothing
/// that compares values stands in for it.
pub(super) fn compares_roughly(ty: &SqlType) -> bool {
    matches!(ty.plain(), SqlType::System(ty) if ty.is_geometric())
}

/// Whether values of a type are before or behind each other.
fn has_order(ty: &SqlType) -> bool {
    match ty {
        SqlType::System(SystemType::Xid | SystemType::AclItem) => false,
        SqlType::Array(element) => has_order(element),
        SqlType::Domain(domain) => has_order(&domain.base),
        SqlType::Row(row) => row.fields.iter().all(|(_, ty)| has_order(ty)),
        other => has_equality(other),
    }
}

/// The first column of rows that an operator cannot compare, from 0, and what is said of it.
pub(super) fn fields_without(op: &str, fields: &[SqlType]) -> Option<(usize, String)> {
    let (what, known): (_, fn(&SqlType) -> bool) = match op {
        "=" | "<>" => ("an equality operator", has_equality),
        _ => ("a comparison function", has_order),
    };
    let (at, ty) = fields.iter().enumerate().find(|(_, ty)| !known(ty))?;
    Some((at, missing(what, ty, 0).message))
}

/// Whether it is a row that has fields without an operator `=`.
pub(super) fn is_unequaled_row(ty: &SqlType) -> bool {
    ty.is_row() && !has_equality(ty)
}

/// Refuses rows with such fields where something else than the operator compares them; the field is named.
pub(super) fn check_fields_equality(row: &SqlType) -> Result<(), SqlError> {
    let SqlType::Row(row) = row else { return Ok(()) };
    match row.fields.iter().find(|(_, ty)| !has_equality(ty)) {
        Some((_, ty)) => Err(missing("an equality operator", ty, 0)),
        None => Ok(()),
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

/// Whether there are a least and a greatest value: PostgreSQL has `min` and `max` for these types only.
pub(super) fn has_extremes(ty: &SqlType) -> bool {
    use SystemType as S;
    match ty {
        SqlType::Bool | SqlType::Uuid | SqlType::Json | SqlType::Jsonb => false,
        SqlType::Bit(_) | SqlType::Varbit(_) | SqlType::Range(_) | SqlType::Multirange(_) => false,
        SqlType::System(S::Macaddr | S::Macaddr8 | S::TsVector | S::TsQuery | S::Refcursor | S::Hstore) => {
            false
        }
        SqlType::Domain(domain) => has_extremes(&domain.base),
        SqlType::Array(_) | SqlType::Row(_) => true,
        other => has_order(other),
    }
}

/// Refuses `x op ANY (array)`, `IN` and their like where the type has no such operator.
pub(super) fn check_member(op: &str, ty: &SqlType, sides: [&SqlType; 2], point: u32) -> Result<(), SqlError> {
    let known = if matches!(op, "=" | "<>") { has_equality(ty) } else { has_order(ty) };
    if known {
        return Ok(());
    }
    let sides = sides.map(SqlType::clone);
    Err(operator_error(op, &sides, &Resolution::None).at(point))
}

/// Refuses calls that compare the elements of arrays that cannot be compared. PostgreSQL says so when it comes to them.
pub(super) fn check_call(function: &BuiltinFunction, types: &[SqlType]) -> Result<(), SqlError> {
    let element = types.iter().find_map(|ty| match ty {
        SqlType::Array(element) => Some(&**element),
        _ => None,
    });
    let Some(element) = element else { return Ok(()) };
    let of_ranges = matches!(element, SqlType::Range(_) | SqlType::Multirange(_) | SqlType::Unknown);
    if let Some(name) = function.name.strip_suffix("_end").filter(|name| name.starts_with("range_"))
        && !of_ranges
    {
        return Err(function_error(name, std::slice::from_ref(element), &Resolution::None));
    }
    let (what, known): (_, fn(&SqlType) -> bool) = match (function.operator, function.name) {
        (Some("=" | "<>" | "@>" | "<@" | "&&"), _)
        | (_, "array_position" | "array_positions" | "array_remove" | "array_replace") => {
            ("an equality operator", has_equality)
        }
        (Some("<" | "<=" | ">" | ">="), _) | (_, "width_bucket") => ("a comparison function", has_order),
        (_, "hash_array" | "hash_array_extended") => ("a hash function", has_equality),
        _ => return Ok(()),
    };
    if known(element) { Ok(()) } else { Err(missing(what, element, 0)) }
}

/// Refuses GREATEST and LEAST of what has no order.
pub(super) fn check_extremes(ty: &SqlType) -> Result<(), SqlError> {
    if has_order(ty) { Ok(()) } else { Err(missing("a comparison function", ty, 0)) }
}

/// Refuses the least and the greatest of rows whose first field has no order. PostgreSQL says so of each field when it comes to it:
/// where those before it decide it never does.
pub(super) fn check_row_extremes(row: &TypedExpr) -> Result<(), SqlError> {
    let first = match (&row.ty, &row.kind) {
        (SqlType::Row(row), _) => row.fields.first().map(|(_, ty)| ty),
        (SqlType::Record, K::Row(parts)) => parts.first().map(|part| &part.ty),
        _ => None,
    };
    match first.filter(|ty| !has_order(ty)) {
        Some(ty) => Err(missing("a comparison function", ty, 0)),
        None => Ok(()),
    }
}

/// Rows of no composite type are not named, but the field that they cannot be compared by.
fn missing(what: &str, ty: &SqlType, at: u32) -> SqlError {
    if let SqlType::Row(row) = ty
        && row.of.is_none()
        && let Some((_, field)) = row.fields.iter().find(|(_, ty)| !has_order(ty))
    {
        return missing(what, field, at);
    }
    let text = format!("could not identify {what} for type {}", ty.pg_name());
    let error = SqlError::new(sqlstate::UNDEFINED_FUNCTION, text);
    if at == 0 { error } else { error.at(at) }
}

/// Whether an operator compares, perhaps with the elements of an array.
pub(super) fn is_comparison(operator: &str) -> bool {
    let base = operator.strip_suffix(" ANY").or_else(|| operator.strip_suffix(" ALL")).unwrap_or(operator);
    matches!(base, "=" | "<>" | "<" | "<=" | ">" | ">=")
}

/// Whether dates and moments are seen as moments of another type when they are compared: those that are out of range are beyond all
/// others then, and no error, as in PostgreSQL, which compares them without a cast.
pub(super) fn is_widened(from: &SqlType, to: &SqlType) -> bool {
    fn of(ty: &SqlType) -> &SqlType {
        match ty {
            SqlType::Array(element) => element,
            ty => ty,
        }
    }
    match of(from) {
        SqlType::Date => matches!(of(to), SqlType::Timestamp(_) | SqlType::Timestamptz(_)),
        SqlType::Timestamp(_) => matches!(of(to), SqlType::Timestamptz(_)),
        _ => false,
    }
}
