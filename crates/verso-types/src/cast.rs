//! Casts between types: which there are (PostgreSQL's `pg_cast` and its casts through text), and what they do.

mod kinds;
mod numbers;
mod single_byte;
mod texts;
mod times;

use crate::TimeStyle;
use crate::composite::cast_fields;
use crate::error::{TypeError, sqlstate};
use crate::geometry;
use crate::json::{self, JsonRef, Jsonb};
use crate::number::Number;
use crate::opaque::bits::Bits;
use crate::opaque::hardware::Hardware;
use crate::opaque::hstore::Hstore;
use crate::opaque::money::Money;
use crate::opaque::network::Network;
use crate::opaque::timetz::TimeTz;
use crate::opaque::{Opaque, OpaqueKind};
use crate::range::{Multirange, Range};
use crate::sqltype::SqlType;
use crate::system_type::SystemType;
use crate::text::{format_text, parse_text};
use crate::value::Value;
use kinds::is_string;
pub use kinds::{CastKind, cast_kind};
pub(crate) use numbers::constrain_long;
use numbers::{cast_big, cast_float, cast_integer, cast_numeric, integer_of_bytes};
pub use single_byte::byte_of_char;
use single_byte::char_of;
pub(crate) use single_byte::char_of_byte;
use texts::cast_text;
pub use texts::{limit_text, unpadded, without_blanks};
pub use times::limit_time;
use times::{beyond_all, cast_time};

/// Casts a value. `kind` says how it came about: an explicit cast to varchar(n) cuts where an assignment refuses.
/// # Errors
/// 42846 where there is no such cast; 22003, 22001, 22008, 22P02 and more where the value does not fit.
pub fn cast(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    kind: CastKind,
    tz: &TimeStyle,
) -> Result<Value, TypeError> {
    if value.is_null() {
        return Ok(Value::Null);
    }
    if cast_kind(from, to).is_none() {
        return Err(no_cast(from, to));
    }
    if from.is_constrained() || to.is_constrained() {
        return cast(value, &from.erased(), &to.erased(), kind, tz);
    }
    cast_known(value, from, to, kind, tz)
}

/// As [`cast`], a value that is not NULL between types of which the caller knows that there is a cast ([`cast_kind`]) and that
/// they are no domains.
///
/// # Errors
/// As [`cast`].
pub fn cast_known(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    kind: CastKind,
    tz: &TimeStyle,
) -> Result<Value, TypeError> {
    let whole = cast_whole(value, from, to, kind, tz)?;
    Ok(match to {
        SqlType::Time(Some(_))
        | SqlType::Timestamp(Some(_))
        | SqlType::Timestamptz(Some(_))
        | SqlType::Interval(Some(_)) => limit_time(whole, to),
        _ => whole,
    })
}

/// Casts an integer or a floating-point number to another such type, by the short way: without a look at what else there is to
/// cast. `None` for values and types of other kinds, which [`cast`] takes.
#[inline]
pub fn cast_machine_number(value: &Value, to: &SqlType) -> Option<Result<Value, TypeError>> {
    if !matches!(to, SqlType::Int2 | SqlType::Int4 | SqlType::Int8 | SqlType::Float4 | SqlType::Float8) {
        return None;
    }
    match value {
        Value::Int2(v) => cast_integer((*v).into(), to),
        Value::Int4(v) => cast_integer((*v).into(), to),
        Value::Int8(v) => cast_integer(*v, to),
        Value::Float4(v) => cast_float((*v).into(), Some(*v), to),
        Value::Float8(v) => cast_float(*v, None, to),
        _ => None,
    }
}

/// As [`cast`], a value that is not NULL; times with all their digits.
fn cast_whole(
    value: &Value,
    from: &SqlType,
    to: &SqlType,
    kind: CastKind,
    tz: &TimeStyle,
) -> Result<Value, TypeError> {
    match (value, to) {
        (Value::Text(text), SqlType::Int4) if *from == SqlType::System(SystemType::Char) => {
            Ok(Value::Int4(i32::from(byte_of_char(text.as_bytes()).cast_signed())))
        }
        (Value::Int4(v), SqlType::System(SystemType::Char)) => char_of(*v),
        // the lower 32 bits
        (Value::Xid8(v), SqlType::System(SystemType::Xid)) => Ok(Value::Int8((*v as u32).into())),
        // the integer of the same 32 bits
        (Value::Int8(v), SqlType::Int4) if is_oid(from) => Ok(Value::Int4((*v as u32).cast_signed())),
        (Value::Int8(v), to) if *from == SqlType::Int8 && is_oid(to) && *v < 0 => {
            Err(TypeError::out_of_range("OID"))
        }
        // the same labels, or those from before one was added
        (Value::Int8(_), SqlType::Enum(_)) => Ok(value.clone()),
        // A text that is one of them has their form.
        (
            Value::Text(text),
            SqlType::System(SystemType::PgSnapshot | SystemType::TxidSnapshot | SystemType::AclItem),
        ) if from != to => read_text(text, to, kind, tz),
        (Value::Text(text), to) if to.is_text() => cast_text(value, text, from, to, kind),
        (Value::Bool(v), to) if to.is_text() && *to != SqlType::Name => {
            let text: &str = if *v { "true" } else { "false" };
            Ok(Value::text(limit_text(text, to, kind == CastKind::Explicit)?))
        }
        // What is read of a char(n) has its blanks, whatever it is.
        (Value::Text(text), to) if matches!(from, SqlType::Char(Some(_))) && !is_char_cast(to) => {
            let mut shown = String::with_capacity(text.len());
            format_text(value, from, tz, &mut shown);
            match shown.len() == text.len() {
                true => read_text(text, to, kind, tz),
                false => read_text(&shown, to, kind, tz),
            }
        }
        (Value::Text(text), _) if from.is_text() => read_text(text, to, kind, tz),
        (_, to) if to.is_text() => {
            let mut text = String::new();
            match value {
                Value::Opaque(v) if v.kind() == OpaqueKind::Inet && *to != SqlType::Name => {
                    text = Network::of(v).shown()
                }
                _ => format_text(value, from, tz, &mut text),
            }
            Ok(Value::text(limit_text(&text, to, kind == CastKind::Explicit)?))
        }
        (Value::Text(text), SqlType::Jsonb) => Ok(Value::Jsonb(Jsonb::parse(text)?)),
        (Value::Jsonb(v), SqlType::Json) => {
            let mut text = String::new();
            json::format_into(v.root(), &mut text);
            Ok(Value::Text(text.into()))
        }
        (Value::Jsonb(v), to) if *to != SqlType::Jsonb => cast_jsonb(v, to),
        (Value::Range(v), SqlType::Multirange(ty)) => {
            Ok(Multirange::of(ty.kind(), vec![Range::clone(v)]).into_value())
        }
        (Value::Array(v), SqlType::System(SystemType::Hstore)) => Hstore::of_array(v).map(Hstore::into_value),
        (Value::Opaque(v), _) => cast_opaque(v, to, kind).unwrap_or_else(|| Err(no_cast(from, to))),
        (Value::Int4(_) | Value::Int8(_), SqlType::Bit(length)) => {
            let number = value.as_i64().expect("an integer");
            Ok(Bits::of_integer(number, length.unwrap_or(1) as usize).into_value())
        }
        (Value::Int4(_) | Value::Int8(_), SqlType::System(SystemType::Money)) => {
            Money::of_integer(value.as_i64().expect("an integer")).map(Money::into_value)
        }
        (Value::Numeric(_) | Value::Big(_), SqlType::System(SystemType::Money)) => {
            let number = Number::of(value).ok_or_else(|| no_cast(from, to))?;
            Money::of_number(&number).map(Money::into_value)
        }
        (Value::Int2(v), SqlType::Bytea) => Ok(Value::Bytes(v.to_be_bytes().as_slice().into())),
        (Value::Int4(v), SqlType::Bytea) => Ok(Value::Bytes(v.to_be_bytes().as_slice().into())),
        (Value::Int8(v), SqlType::Bytea) => Ok(Value::Bytes(v.to_be_bytes().as_slice().into())),
        (Value::Bytes(v), to) if to.is_integer() => integer_of_bytes(v, to),
        (Value::Time(v), SqlType::Timetz(_)) => Ok(TimeTz::of_time(*v, tz).limit(to).into_value()),
        (Value::Timestamptz(i64::MIN | i64::MAX), SqlType::Timetz(_)) => Ok(Value::Null),
        (Value::Timestamptz(v), SqlType::Timetz(_)) => Ok(TimeTz::of_moment(*v, tz).limit(to).into_value()),
        (Value::Int2(_) | Value::Int4(_) | Value::Int8(_), _) => {
            cast_integer(value.as_i64().expect("an integer"), to).unwrap_or_else(|| Err(no_cast(from, to)))
        }
        (Value::Numeric(v), _) => cast_numeric(*v, to).unwrap_or_else(|| Err(no_cast(from, to))),
        (Value::Big(v), _) => cast_big(v, to).unwrap_or_else(|| Err(no_cast(from, to))),
        (Value::Float8(v), _) => cast_float(*v, None, to).unwrap_or_else(|| Err(no_cast(from, to))),
        (Value::Float4(v), _) => {
            cast_float((*v).into(), Some(*v), to).unwrap_or_else(|| Err(no_cast(from, to)))
        }
        (Value::Bool(v), SqlType::Int4) => Ok(Value::Int4((*v).into())),
        (Value::Array(values), SqlType::Array(target)) => {
            let SqlType::Array(source) = from else { return Err(TypeError::mismatch(value, from)) };
            let cast_one = |value: &Value| -> Result<Value, TypeError> {
                let made = cast(value, source, target, kind, tz)?;
                Ok(if **target == SqlType::Char(None) { unpadded(made) } else { made })
            };
            Ok(Value::Array(values.with_values(values.iter().map(cast_one).collect::<Result<_, _>>()?)))
        }
        (Value::Record(values), SqlType::Row(row)) if row.of.is_some() => {
            cast_fields(values, from, to, kind, tz)
        }
        (Value::Record(_), SqlType::Record | SqlType::Row(_)) => Ok(value.clone()),
        _ if from.same_base(to) => Ok(value.clone()),
        _ => match cast_time(value, to, tz).unwrap_or_else(|| Err(no_cast(from, to))) {
            Err(error) if kind == CastKind::Compared => beyond_all(value, to).ok_or(error),
            cast => cast,
        },
    }
}

/// A text as the input function of a type reads it.
fn read_text(text: &str, to: &SqlType, kind: CastKind, tz: &TimeStyle) -> Result<Value, TypeError> {
    match to {
        // Fields say how a literal is read; a text that is cast is read without them and then cut.
        SqlType::Interval(Some(_)) => parse_text(&SqlType::Interval(None), text, tz),
        SqlType::Bit(Some(_)) | SqlType::Varbit(Some(_)) => {
            match parse_text(&to.without_modifiers(), text, tz)? {
                Value::Opaque(bits) => cast_opaque(&bits, to, kind).unwrap_or(Ok(Value::Opaque(bits))),
                other => Ok(other),
            }
        }
        _ => parse_text(to, text, tz),
    }
}

/// Whether a char becomes one by a cast of its own, which does not look at its blanks.
fn is_char_cast(to: &SqlType) -> bool {
    is_string(to) || *to == SqlType::System(SystemType::Char)
}

/// Values with a form of their own.
fn cast_opaque(value: &Opaque, to: &SqlType, kind: CastKind) -> Option<Result<Value, TypeError>> {
    let same = || Ok(Value::Opaque(value.clone()));
    Some(match (value.kind(), to) {
        (OpaqueKind::Bits, SqlType::Bit(Some(_)) | SqlType::Varbit(Some(_))) => {
            Bits::of(value).fit(to, kind == CastKind::Explicit).map(Bits::into_value)
        }
        (OpaqueKind::Bits, SqlType::Int4) => match Bits::of(value).to_integer(32) {
            Some(bits) => Ok(Value::Int4((bits as u32).cast_signed())),
            None => Err(TypeError::out_of_range("integer")),
        },
        (OpaqueKind::Bits, SqlType::Int8) => match Bits::of(value).to_integer(64) {
            Some(bits) => Ok(Value::Int8(bits.cast_signed())),
            None => Err(TypeError::out_of_range("bigint")),
        },
        (OpaqueKind::TimeTz, SqlType::Timetz(Some(_))) => Ok(TimeTz::of(value).limit(to).into_value()),
        (OpaqueKind::TimeTz, SqlType::Time(_)) => Ok(limit_time(Value::Time(TimeTz::of(value).micros), to)),
        (OpaqueKind::Inet, SqlType::System(SystemType::Cidr)) => {
            Ok(Network::of(value).network().into_value())
        }
        (OpaqueKind::Cidr, SqlType::System(SystemType::Inet)) => {
            Ok(Network { cidr: false, ..Network::of(value) }.into_value())
        }
        (OpaqueKind::Mac, SqlType::System(SystemType::Macaddr8)) => {
            Ok(Hardware::of(value).widen().into_value())
        }
        (OpaqueKind::Mac8, SqlType::System(SystemType::Macaddr)) => {
            Hardware::of(value).narrow().map(Hardware::into_value)
        }
        (OpaqueKind::Money, SqlType::Numeric(_) | SqlType::LongNumeric(_)) => {
            match Money::of(value).to_numeric() {
                Value::Numeric(number) => cast_numeric(number, to)?,
                other => Ok(other),
            }
        }
        (OpaqueKind::Hstore, SqlType::Json) => Hstore::of(value).json(false).map(|text| Value::text(&text)),
        (OpaqueKind::Hstore, SqlType::Jsonb) => {
            Hstore::of(value).json(false).and_then(|text| Jsonb::parse(&text)).map(Value::Jsonb)
        }
        (own, _) if OpaqueKind::of(to) == Some(own) => same(),
        _ => return geometry::cast(value, OpaqueKind::of(to)?),
    })
}

fn is_oid(ty: &SqlType) -> bool {
    match ty {
        SqlType::Oid => true,
        SqlType::System(ty) => ty.is_reference(),
        _ => false,
    }
}

/// A jsonb that is a number or a boolean; null becomes NULL.
fn cast_jsonb(value: &Jsonb, to: &SqlType) -> Result<Value, TypeError> {
    let root = value.root();
    match (root, to) {
        (JsonRef::Null, _) => Ok(Value::Null),
        (JsonRef::Bool(v), SqlType::Bool) => Ok(Value::Bool(v)),
        (JsonRef::Number(v), to) if *to != SqlType::Bool => {
            cast_numeric(v, to).unwrap_or_else(|| Err(no_cast(&SqlType::Jsonb, to)))
        }
        (JsonRef::Long(v), to) if to.is_number() => {
            let number = v.number().value()?;
            cast(&number, &SqlType::Numeric(None), to, CastKind::Explicit, &TimeStyle::UTC)
        }
        _ => {
            let kind = match root {
                JsonRef::Bool(_) => "boolean",
                JsonRef::Number(_) | JsonRef::Long(_) => "numeric",
                other => other.type_name(),
            };
            let text = format!("cannot cast jsonb {kind} to type {}", to.base_name());
            Err(TypeError::new(sqlstate::INVALID_PARAMETER_VALUE, text))
        }
    }
}

/// 42846.
#[cold]
fn no_cast(from: &SqlType, to: &SqlType) -> TypeError {
    let message = format!("cannot cast type {} to {}", from.without_modifiers(), to.without_modifiers());
    TypeError::new(sqlstate::CANNOT_COERCE, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::{named_type, new_york, show};

    /// Columns: from, to, text of the value, what `('text'::from::to)::text` printed, or its error.
    #[test]
    fn explicit_casts_are_postgresql_s() {
        let tz = new_york();
        let mut wrong = String::new();
        for line in include_str!("../testdata/casts.tsv").lines() {
            let [from, to, input, expected] =
                line.split('\t').collect::<Vec<_>>().try_into().expect("four columns");
            let (source, target) = (named_type(from), named_type(to));
            let value = parse_text(&source, input, &tz).expect("a value");
            let got = show(cast(&value, &source, &target, CastKind::Explicit, &tz), &target, &tz);
            if got != expected {
                wrong += &format!("{input}::{from}::{to}\n  ours {got}\n  PG   {expected}\n");
            }
        }
        assert!(wrong.is_empty(), "\n{wrong}");
    }

    #[test]
    fn an_assignment_refuses_what_an_explicit_cast_cuts() {
        let to = SqlType::Varchar(Some(3));
        let assign =
            |text: &str| cast(&Value::text(text), &SqlType::Text, &to, CastKind::Assignment, &TimeStyle::UTC);
        assert_eq!(assign("äöü"), Ok(Value::text("äöü")));
        assert_eq!(assign("abc  "), Ok(Value::text("abc")));
        let error = assign("abcd").expect_err("too long");
        assert_eq!(
            (error.sqlstate, error.message.as_str()),
            ("22001", "value too long for type character varying(3)")
        );
        let explicit = cast(&Value::text("abcd"), &SqlType::Text, &to, CastKind::Explicit, &TimeStyle::UTC);
        assert_eq!(explicit, Ok(Value::text("abc")));
    }
}
