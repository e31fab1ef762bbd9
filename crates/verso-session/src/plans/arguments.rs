//! Values for the parameters of prepared statements.

use std::borrow::Cow;

use verso_catalog::{CatalogSnapshot, is_of_users};
use verso_exec::memory::{Account, room_to_read};
use verso_types::text::type_of;
use verso_types::{CastKind, OpaqueKind, Range, RangeKind, SqlType, SystemType, TimeStyle, Value};
use verso_types::{cast, cast_kind, parse_text};

use crate::plans::Prepared;
use verso_planner::errors::{SqlError, sqlstate};

impl Prepared {
    /// The types of the parameters as this version of the catalog defines them: users' types may have changed since the statement
    /// was prepared, and values are always read as they are defined now.
    pub(crate) fn params_in(&self, catalog: &CatalogSnapshot) -> Cow<'_, [SqlType]> {
        types_in(&self.params, catalog)
    }

    /// Whether a type of its parameters may have changed.
    #[inline]
    pub(crate) fn takes_types_of_users(&self) -> bool {
        self.params.iter().any(is_of_users)
    }
}

/// Types as a version of the catalog defines them.
pub(crate) fn types_in<'t>(types: &'t [SqlType], catalog: &CatalogSnapshot) -> Cow<'t, [SqlType]> {
    match types.iter().any(is_of_users) {
        true => types.iter().map(|ty| catalog.type_now(ty)).collect::<Vec<_>>().into(),
        false => types.into(),
    }
}

/// Whether values are of the parameters' number and types as they are.
pub(crate) fn takes(types: &[SqlType], values: &[Value]) -> bool {
    values.len() == types.len()
        && values.iter().zip(types).all(|(value, ty)| match (value, ty) {
            // The most usual ones, at once.
            (Value::Int8(_), SqlType::Int8)
            | (Value::Int4(_), SqlType::Int4)
            | (Value::Text(_), SqlType::Text) => true,
            _ => fits(value, ty),
        })
}

/// Values as the parameters' types want them: texts are read, numbers widened.
pub(crate) fn arguments(
    types: &[SqlType],
    mut values: Vec<Value>,
    time_zone: &TimeStyle,
    account: &Account,
) -> Result<Vec<Value>, SqlError> {
    if values.len() != types.len() {
        let text = format!(
            "bind message supplies {} parameters, but prepared statement \"\" requires {}",
            values.len(),
            types.len()
        );
        return Err(SqlError::new(sqlstate::PROTOCOL_VIOLATION, text));
    }
    read_arguments(types, &mut values, time_zone, account).map_err(|(_, error)| error)?;
    Ok(values)
}

/// Brings values to the parameters' types; which one could not be.
pub(crate) fn read_arguments(
    types: &[SqlType],
    values: &mut [Value],
    time_zone: &TimeStyle,
    account: &Account,
) -> Result<(), (usize, SqlError)> {
    for (index, (value, to)) in values.iter_mut().zip(types).enumerate() {
        if !fits(value, to) {
            *value = convert(value, to, time_zone, index, account).map_err(|error| (index, error))?;
        }
    }
    Ok(())
}

/// Whether a value is one of the type as it is.
fn fits(value: &Value, ty: &SqlType) -> bool {
    match (value, ty) {
        (Value::Null, _)
        | (Value::Bool(_), SqlType::Bool)
        | (Value::Int2(_), SqlType::Int2)
        | (Value::Int4(_), SqlType::Int4)
        | (Value::Int8(_), SqlType::Int8)
        | (Value::Float4(_), SqlType::Float4)
        | (Value::Float8(_), SqlType::Float8)
        | (Value::Numeric(_) | Value::Big(_), SqlType::Numeric(None))
        | (Value::Text(_), SqlType::Text | SqlType::Varchar(None))
        | (Value::Bytes(_), SqlType::Bytea)
        | (Value::Date(_), SqlType::Date)
        | (Value::Time(_), SqlType::Time(None))
        | (Value::Timestamp(_), SqlType::Timestamp(None))
        | (Value::Timestamptz(_), SqlType::Timestamptz(None))
        | (Value::Interval(_), SqlType::Interval(None))
        | (Value::Jsonb(_), SqlType::Jsonb)
        | (Value::Uuid(_), SqlType::Uuid) => true,
        // Numbers of objects and transactions, as they come in binary form.
        (Value::Int8(number), SqlType::System(system)) => {
            system.is_four_bytes() && u32::try_from(*number).is_ok()
        }
        (Value::Xid8(_), SqlType::System(system)) => *system == SystemType::Xid8,
        // A range of a type of users does not tell the type.
        (Value::Range(range), SqlType::Range(of)) => {
            range.kind == RangeKind::Own && of.own_name(false).is_some() && within(range, &of.subtype())
        }
        (Value::Multirange(many), SqlType::Multirange(of)) => {
            let within = |range: &Range| within(range, &of.subtype());
            many.kind == RangeKind::Own && of.own_name(true).is_some() && many.ranges.iter().all(within)
        }
        (Value::Opaque(value), ty) if ty.typmod() < 0 => OpaqueKind::of(ty) == Some(value.kind()),
        // Only places of labels are values of the type.
        (Value::Int8(place), SqlType::Enum(ty)) => ty.at(*place).is_some(),
        // What an array without values is made of cannot be seen.
        (Value::Array(values), SqlType::Array(element)) => values.iter().all(|value| fits(value, element)),
        (Value::Record(values), SqlType::Row(row)) if row.of.is_some() => {
            let pairs = || values.iter().zip(&row.fields);
            values.len() == row.fields.len() && pairs().all(|(value, (_, ty))| fits(value, ty))
        }
        _ => type_of(value) == *ty,
    }
}

/// Whether the bounds of a range are values of a type.
fn within(range: &Range, subtype: &SqlType) -> bool {
    let bounds = range.bounds.iter().flat_map(|(lower, upper)| [lower, upper]);
    bounds.filter_map(|bound| bound.value.as_ref()).all(|value| fits(value, &subtype.without_modifiers()))
}

fn convert(
    value: &Value,
    to: &SqlType,
    time_zone: &TimeStyle,
    index: usize,
    account: &Account,
) -> Result<Value, SqlError> {
    let from = type_of(value);
    let converted = match value {
        Value::Text(text) => {
            let _held = room_to_read(account, text, to)?;
            parse_text(to, text, time_zone)
        }
        value if from.same_base(to) => return Ok(value.clone()),
        // Elements that came as texts are read one by one.
        Value::Array(values) if let SqlType::Array(element) = to => {
            let convert = |value: &Value| match value.is_null() || fits(value, element) {
                true => Ok(value.clone()),
                false => convert(value, element, time_zone, index, account),
            };
            let read = values.iter().map(convert).collect::<Result<Vec<_>, _>>()?;
            return Ok(Value::Array(values.with_values(read)));
        }
        value if cast_kind(&from, to).is_some_and(|kind| kind <= CastKind::Assignment) => {
            cast(value, &from, to, CastKind::Assignment, time_zone)
        }
        _ => {
            let text = format!(
                "parameter ${} is of type {} but a value of type {} was given",
                index + 1,
                to.pg_name(),
                from.pg_name()
            );
            return Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text));
        }
    };
    Ok(converted?)
}
