//! Casts between types: which there are (PostgreSQL's `pg_cast` and its casts through text), and what they do.

use std::sync::{Arc, LazyLock};

use crate::TimeStyle;

use crate::composite::cast_fields;
use crate::datetime;
use crate::decimal::Decimal;
use crate::error::{TypeError, sqlstate};
use crate::json::{self, JsonRef, Jsonb};
use crate::number::Number;
use crate::opaque::bits::Bits;
use crate::opaque::hardware::Hardware;
use crate::opaque::money::Money;
use crate::opaque::network::Network;
use crate::opaque::timetz::TimeTz;
use crate::opaque::{Opaque, OpaqueKind};
use crate::range::{Multirange, Range};
use crate::sqltype::{LongSpec, SqlType};
use crate::system_type::SystemType;
use crate::text::{format_text, parse_text};
use crate::value::{Interval, Value};

/// Where a cast is applied without being asked for; each kind includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CastKind {
    /// In any expression.
    Implicit,
    /// Of a side of a comparison: as `Implicit`, but a moment out of range is one beyond all others.
    Compared,
    /// When a value is assigned to a column or variable.
    Assignment,
    /// Only where `CAST` or `::` is written.
    Explicit,
}

/// The weakest context in which `from` is cast to `to`; `None` where no cast leads there. Modifiers play no part.
pub fn cast_kind(from: &SqlType, to: &SqlType) -> Option<CastKind> {
    use CastKind::{Assignment, Explicit, Implicit};
    use SqlType as T;
    if from.same_base(to) {
        return Some(Implicit);
    }
    match (from, to) {
        (T::Domain(domain), to) => return cast_kind(&domain.base, to),
        (from, T::Domain(domain)) => return cast_kind(from, &domain.base),
        (T::Collated(collated), to) => return cast_kind(&collated.base, to),
        (from, T::Collated(collated)) => return cast_kind(from, &collated.base),
        _ => {}
    }
    let plain = |ty: &SqlType| matches!(ty, T::LongNumeric(_)).then_some(T::Numeric(None));
    let (plain_from, plain_to) = (plain(from), plain(to));
    let (from, to) = (plain_from.as_ref().unwrap_or(from), plain_to.as_ref().unwrap_or(to));
    Some(match (from, to) {
        (T::Void | T::Named(_), _) | (_, T::Void | T::Named(_)) => return None,
        (T::Unknown, _) => Implicit,
        (_, T::Unknown) => return None,
        // numbers: up is implicit, down an assignment
        (T::Int2, T::Int4 | T::Int8 | T::Numeric(_) | T::Float4 | T::Float8 | T::Oid) => Implicit,
        (T::Int4, T::Int8 | T::Numeric(_) | T::Float4 | T::Float8 | T::Oid) => Implicit,
        (T::Int8, T::Numeric(_) | T::Float4 | T::Float8 | T::Oid) => Implicit,
        (T::Numeric(_), T::Float4 | T::Float8) | (T::Float4, T::Float8) => Implicit,
        (T::Int4, T::Int2) | (T::Int8, T::Int2 | T::Int4) => Assignment,
        (T::Numeric(_), to) if to.is_integer() => Assignment,
        (T::Float4 | T::Float8, to) if to.is_number() => Assignment,
        (T::Oid, T::Int4 | T::Int8) => Assignment,
        (T::Bool, T::Int4) | (T::Int4, T::Bool) => Explicit,
        (T::Range(from), T::Multirange(to)) if from.is_same(to) => Explicit,
        (T::Bit(_), T::Varbit(_)) | (T::Varbit(_), T::Bit(_)) => Implicit,
        (T::Bit(_), T::Int4 | T::Int8) | (T::Int4 | T::Int8, T::Bit(_)) => Explicit,
        (T::Bytea, T::Int2 | T::Int4 | T::Int8) | (T::Int2 | T::Int4 | T::Int8, T::Bytea) => Explicit,
        (T::Time(_), T::Timetz(_)) => Implicit,
        (T::Timetz(_), T::Time(_)) | (T::Timestamptz(_), T::Timetz(_)) => Assignment,
        (T::System(_), _) | (_, T::System(_)) => return system_cast_kind(from, to),
        // dates and times
        (T::Date, T::Timestamp(_) | T::Timestamptz(_)) | (T::Timestamp(_), T::Timestamptz(_)) => Implicit,
        (T::Time(_), T::Interval(_)) => Implicit,
        (T::Timestamp(_), T::Date | T::Time(_))
        | (T::Timestamptz(_), T::Date | T::Time(_) | T::Timestamp(_)) => Assignment,
        (T::Interval(_), T::Time(_)) => Assignment,
        // the character types among themselves
        (T::Name, T::Varchar(_) | T::Char(_)) => Assignment,
        (from, to) if from.is_text() && to.is_text() => Implicit,
        // element by element
        // No array becomes a vector.
        (T::Array(_), T::Array(to)) if matches!(**to, T::System(ty) if ty.is_vector_element()) => {
            return None;
        }
        (T::Array(from), T::Array(to)) => return cast_kind(from, to),
        // json and jsonb through text, and scalars out of a jsonb
        (T::Json, T::Jsonb) | (T::Jsonb, T::Json) => Assignment,
        (T::Jsonb, T::Bool | T::Numeric(_) | T::Float4 | T::Float8) => Explicit,
        (T::Jsonb, to) if to.is_integer() => Explicit,
        // rows as those of a composite type, field by field; and the other way
        (T::Record, T::Row(_)) | (T::Row(_), T::Record) => Implicit,
        (T::Row(from), T::Row(to)) if from.of.is_none() || to.of.is_none() => Implicit,
        // through text: every type becomes text by assignment, text becomes every type when asked
        (_, to) if to.is_text() => Assignment,
        (_, T::Record) => return None,
        (_, T::Row(row)) if row.of.is_none() => return None,
        (from, _) if from.is_text() => Explicit,
        _ => return None,
    })
}

/// As [`cast_kind`], where one side is a type of the system catalogs.
fn system_cast_kind(from: &SqlType, to: &SqlType) -> Option<CastKind> {
    use CastKind::{Assignment, Explicit, Implicit};
    use SqlType as T;
    use SystemType as S;
    Some(match (from, to) {
        (T::System(S::VectorInt2), T::System(_)) | (T::System(S::VectorOid), T::System(_)) => {
            let plain = if *from == T::System(S::VectorInt2) { T::Int2 } else { T::Oid };
            return cast_kind(&plain, to);
        }
        (T::System(S::VectorInt2), to) => return cast_kind(&T::Int2, to),
        (T::System(S::VectorOid), to) => return cast_kind(&T::Oid, to),
        (from, T::System(S::VectorInt2)) => return cast_kind(from, &T::Int2),
        (from, T::System(S::VectorOid)) => return cast_kind(from, &T::Oid),
        (T::System(from), T::Oid) if from.is_reference() => Implicit,
        (T::System(from), T::Int4 | T::Int8) if from.is_reference() => Assignment,
        (T::Oid | T::Int2 | T::Int4 | T::Int8, T::System(to)) if to.is_reference() => Implicit,
        (T::System(S::Regproc), T::System(S::Regprocedure))
        | (T::System(S::Regprocedure), T::System(S::Regproc))
        | (T::System(S::Regoper), T::System(S::Regoperator))
        | (T::System(S::Regoperator), T::System(S::Regoper)) => Implicit,
        (T::Text | T::Varchar(_), T::System(S::Regclass)) => Implicit,
        (T::System(S::Char), T::Int4) | (T::Int4, T::System(S::Char)) => Explicit,
        (T::Text | T::Varchar(_) | T::Char(_), T::System(S::Char)) => Assignment,
        (T::System(S::Xid8), T::System(S::Xid)) => Explicit,
        (T::System(S::Char), T::Text) | (T::System(S::NodeTree), T::Text) => Implicit,
        (T::System(S::Cidr), T::System(S::Inet)) => Implicit,
        (T::System(S::Inet), T::System(S::Cidr)) => Assignment,
        (T::System(S::Macaddr), T::System(S::Macaddr8)) | (T::System(S::Macaddr8), T::System(S::Macaddr)) => {
            Implicit
        }
        (T::System(S::Money), T::Numeric(_)) => Assignment,
        (T::Int4 | T::Int8 | T::Numeric(_), T::System(S::Money)) => Assignment,
        // Through text go strings only, not all types whose values are texts here.
        (_, to) if is_string(to) => Assignment,
        (from, T::System(_)) if is_string(from) => Explicit,
        _ => return None,
    })
}

/// Whether a type is in the category of strings.
fn is_string(ty: &SqlType) -> bool {
    ty.is_text() && !matches!(ty, SqlType::System(_))
}

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
            Ok(Value::Int4(i32::from(byte_of_char(text).cast_signed())))
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

/// The integer whose bytes these are, the highest first; fewer than it has are those of a number that is not negative.
fn integer_of_bytes(bytes: &[u8], to: &SqlType) -> Result<Value, TypeError> {
    let (width, name) = match to {
        SqlType::Int2 => (2, "smallint"),
        SqlType::Int4 => (4, "integer"),
        _ => (8, "bigint"),
    };
    if bytes.len() > width {
        return Err(TypeError::out_of_range(name));
    }
    let number = bytes.iter().fold(0u64, |number, byte| number << 8 | u64::from(*byte));
    Ok(match to {
        SqlType::Int2 => Value::Int2((number as u16).cast_signed()),
        SqlType::Int4 => Value::Int4((number as u32).cast_signed()),
        _ => Value::Int8(number.cast_signed()),
    })
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
        (own, _) if OpaqueKind::of(to) == Some(own) => same(),
        _ => return None,
    })
}

/// The `"char"` of a number.
fn char_of(number: i32) -> Result<Value, TypeError> {
    let byte = i8::try_from(number).map_err(|_| TypeError::out_of_range("\"char\""))?;
    Ok(Value::text(char_of_byte(byte.cast_unsigned())))
}

/// The texts of "char": nothing for 0, `\377` and its like for what is beyond ASCII.
static CHARS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let shown = |byte: u8| match byte {
        0 => String::new(),
        byte if byte.is_ascii() => char::from(byte).to_string(),
        byte => format!("\\{byte:03o}"),
    };
    (0..=u8::MAX).map(shown).collect()
});

pub(crate) fn char_of_byte(byte: u8) -> &'static str {
    &CHARS[usize::from(byte)]
}

fn is_oid(ty: &SqlType) -> bool {
    match ty {
        SqlType::Oid => true,
        SqlType::System(ty) => ty.is_reference(),
        _ => false,
    }
}

/// The byte that a text means as "char": the first one, or that of `\377`.
pub(crate) fn byte_of_char(text: &str) -> u8 {
    let octal = |byte: u8| (b'0'..=b'7').contains(&byte).then_some(u32::from(byte - b'0'));
    if let [b'\\', a, b, c] = *text.as_bytes()
        && let (Some(a), Some(b), Some(c)) = (octal(a), octal(b), octal(c))
    {
        return ((a * 64 + b * 8 + c) & 0xFF) as u8;
    }
    text.bytes().next().unwrap_or(0)
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
        _ => {
            let kind = match root {
                JsonRef::Bool(_) => "boolean",
                JsonRef::Number(_) => "numeric",
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

/// Between the character types; the value is shared where nothing is cut.
fn cast_text(
    value: &Value,
    text: &str,
    from: &SqlType,
    to: &SqlType,
    kind: CastKind,
) -> Result<Value, TypeError> {
    match (from, to) {
        // The length leaves the type, so its blanks go into the value.
        (SqlType::Char(Some(length)), SqlType::Char(None)) if kind != CastKind::Assignment => {
            let missing = (*length as usize).saturating_sub(text.chars().count());
            return Ok(match missing {
                0 => value.clone(),
                _ => Value::text(&format!("{text}{}", " ".repeat(missing))),
            });
        }
        (SqlType::Char(None), SqlType::Char(None)) if kind != CastKind::Assignment => {
            return Ok(value.clone());
        }
        (_, SqlType::Char(None)) if is_string(from) && kind != CastKind::Assignment => {
            return Ok(value.clone());
        }
        _ => {}
    }
    let seen = trim_char(text, from);
    let limited = limit_text(seen, to, kind == CastKind::Explicit)?;
    Ok(if limited == text { value.clone() } else { Value::text(limited) })
}

/// A text as a value of a character type: varchar(n) and char(n) hold n characters (22001 beyond, unless only blanks
/// are lost or `cut`, that is for explicit casts), char is stored without its trailing blanks, name has 63 bytes.
/// # Errors
/// 22001.
pub fn limit_text<'a>(text: &'a str, ty: &SqlType, cut: bool) -> Result<&'a str, TypeError> {
    let limited = match ty {
        SqlType::Varchar(Some(n)) | SqlType::Char(Some(n)) => {
            // bytes ≥ characters, so most texts need no counting
            let end = match text.len() <= *n as usize {
                true => None,
                false => text.char_indices().nth(*n as usize).map(|(end, _)| end),
            };
            let Some(end) = end else { return Ok(trim_char(text, ty)) };
            let (kept, lost) = text.split_at(end);
            if !cut && lost.bytes().any(|byte| byte != b' ') {
                return Err(TypeError::new(
                    sqlstate::STRING_DATA_RIGHT_TRUNCATION,
                    format!("value too long for type {}", ty.pg_name()),
                ));
            }
            kept
        }
        SqlType::Name if text.len() > 63 => &text[..text.floor_char_boundary(63)],
        SqlType::System(SystemType::Char) => char_of_byte(byte_of_char(text)),
        _ => text,
    };
    Ok(trim_char(limited, ty))
}

/// A time as a value of a type with modifiers: rounded to its digits, an interval without the fields that it has not.
pub fn limit_time(value: Value, ty: &SqlType) -> Value {
    let rounded = |micros: i64, digits: u8| {
        // as in PostgreSQL, away from zero at the half
        let unit = 10i64.pow(6u32.saturating_sub(digits.into()));
        let half = if micros < 0 { -(unit / 2) } else { unit / 2 };
        micros.checked_add(half).map_or(micros, |micros| micros / unit * unit)
    };
    let finite = |micros: i64, digits: u8| match micros {
        i64::MIN | i64::MAX => micros,
        _ => rounded(micros, digits),
    };
    match (value, ty) {
        (Value::Time(v), SqlType::Time(Some(digits))) => Value::Time(rounded(v, *digits)),
        (Value::Timestamp(v), SqlType::Timestamp(Some(digits))) => Value::Timestamp(finite(v, *digits)),
        (Value::Timestamptz(v), SqlType::Timestamptz(Some(digits))) => Value::Timestamptz(finite(v, *digits)),
        (Value::Interval(v), SqlType::Interval(Some(spec))) if v.is_finite() => {
            let mut kept = datetime::cut_interval(v, *spec);
            kept.micros = rounded(kept.micros, spec.digits());
            Value::Interval(kept)
        }
        (value, _) => value,
    }
}

/// A numeric as a value of a numeric(p,s) of many digits.
pub(crate) fn constrain_long(value: Value, spec: LongSpec) -> Result<Value, TypeError> {
    Number::of(&value).ok_or_else(TypeError::numeric_overflow)?.constrain_long(spec)
}

/// Trailing blanks of char(n) mean nothing and are not stored.
fn trim_char<'a>(text: &'a str, ty: &SqlType) -> &'a str {
    if matches!(ty, SqlType::Char(_)) { text.trim_end_matches(' ') } else { text }
}

/// A char as tables, arrays and rows keep it: without the blanks at its end. There it is compared by its bytes.
pub fn unpadded(value: Value) -> Value {
    match &value {
        Value::Text(text) if text.ends_with(' ') => Value::text(text.trim_end_matches(' ')),
        _ => value,
    }
}

/// A char as it is compared: blanks at its end do not count.
pub fn without_blanks(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    &text[..end]
}

/// Integers to numbers, oid and boolean; `None` where there is no cast.
fn cast_integer(v: i64, to: &SqlType) -> Option<Result<Value, TypeError>> {
    Some(match to {
        SqlType::Int2 => v.try_into().map(Value::Int2).map_err(|_| TypeError::out_of_range("smallint")),
        SqlType::Int4 => v.try_into().map(Value::Int4).map_err(|_| TypeError::out_of_range("integer")),
        SqlType::Int8 => Ok(Value::Int8(v)),
        // a negative integer is the oid of the same 32 bits
        SqlType::System(SystemType::VectorInt2) => cast_integer(v, &SqlType::Int2)?,
        SqlType::System(system) if !system.is_four_bytes() => Ok(Value::Int8(v)),
        SqlType::Oid | SqlType::System(_) => match v {
            -0x8000_0000..0 => Ok(Value::Int8(v + (1 << 32))),
            0..=0xffff_ffff => Ok(Value::Int8(v)),
            _ => Err(TypeError::out_of_range("OID")),
        },
        SqlType::Float4 => Ok(Value::Float4(v as f32)),
        SqlType::Float8 => Ok(Value::Float8(v as f64)),
        SqlType::Numeric(None) => Ok(Value::Numeric(v.into())),
        SqlType::LongNumeric(spec) => constrain_long(Value::Numeric(v.into()), *spec),
        SqlType::Numeric(Some(spec)) => Decimal::from(v).constrain(*spec).map(Value::Numeric),
        SqlType::Bool => Ok(Value::Bool(v != 0)),
        _ => return None,
    })
}

/// Numeric to numbers; integers round half away from zero.
fn cast_numeric(v: Decimal, to: &SqlType) -> Option<Result<Value, TypeError>> {
    Some(match to {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => match v.to_i64() {
            Some(integer) => cast_integer(integer, to)?,
            None => Err(TypeError::out_of_range(to.base_name())),
        },
        SqlType::Float4 => Ok(Value::Float4(v.to_string().parse().expect("a decimal is a float literal"))),
        SqlType::Float8 => Ok(Value::Float8(v.to_f64())),
        SqlType::Numeric(None) => Ok(Value::Numeric(v)),
        SqlType::LongNumeric(spec) => constrain_long(Value::Numeric(v), *spec),
        SqlType::Numeric(Some(spec)) => v.constrain(*spec).map(Value::Numeric),
        _ => return None,
    })
}

/// A numeric of many digits to numbers.
fn cast_big(v: &Arc<Number>, to: &SqlType) -> Option<Result<Value, TypeError>> {
    let special = |name: &str| match **v {
        Number::Finite { .. } => None,
        Number::NaN => Some(format!("cannot convert NaN to {name}")),
        _ => Some(format!("cannot convert infinity to {name}")),
    };
    let double = |single: bool| {
        let number = match **v {
            // Rounded once: not to a double first.
            Number::Finite { .. } if single => v.to_string().parse::<f32>().map_or(f64::NAN, f64::from),
            _ => v.to_f64(),
        };
        match **v {
            Number::Finite { .. } if number.is_infinite() || number == 0.0 && !v.is_zero() => {
                let name = if single { "real" } else { "double precision" };
                let text = format!("\"{v}\" is out of range for type {name}");
                Err(TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, text))
            }
            _ => Ok(number),
        }
    };
    Some(match to {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => {
            if let Some(text) = special(to.base_name()) {
                return Some(Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, text)));
            }
            match v.to_i64() {
                Some(integer) => cast_integer(integer, to)?,
                None => Err(TypeError::out_of_range(to.base_name())),
            }
        }
        SqlType::Float4 => double(true).map(|number| Value::Float4(number as f32)),
        SqlType::Float8 => double(false).map(Value::Float8),
        SqlType::Numeric(None) => Ok(Value::Big(Arc::clone(v))),
        SqlType::LongNumeric(spec) => v.constrain_long(*spec),
        SqlType::Numeric(Some(spec)) => v.constrain(*spec).map(Value::Numeric),
        _ => return None,
    })
}

/// Floats to numbers; integers round half to even. `single` is the value where it came as a single.
fn cast_float(v: f64, single: Option<f32>, to: &SqlType) -> Option<Result<Value, TypeError>> {
    Some(match to {
        SqlType::Int2 | SqlType::Int4 | SqlType::Int8 => {
            let rounded = v.round_ties_even();
            // exactly representable borders: -2^63 ≤ v < 2^63
            match (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&rounded) {
                true => cast_integer(rounded as i64, to)?,
                false => Err(TypeError::out_of_range(to.base_name())),
            }
        }
        SqlType::Float4 => f64_to_f32(v).map(Value::Float4),
        SqlType::Float8 => Ok(Value::Float8(v)),
        SqlType::Numeric(None) => Number::value_of_float(v, single.is_some()),
        SqlType::LongNumeric(spec) => {
            Number::value_of_float(v, single.is_some()).and_then(|value| constrain_long(value, *spec))
        }
        SqlType::Numeric(Some(spec)) => Number::value_of_float(v, single.is_some())
            .and_then(|value| Number::of(&value).ok_or_else(TypeError::numeric_overflow)?.constrain(*spec))
            .map(Value::Numeric),
        _ => return None,
    })
}

/// A double as a single.
/// # Errors
/// 22003 where a finite number would become infinite, or another one zero.
pub fn f64_to_f32(v: f64) -> Result<f32, TypeError> {
    let single = v as f32;
    let flaw = match single {
        f if f.is_infinite() && v.is_finite() => "value out of range: overflow",
        0.0 if v != 0.0 => "value out of range: underflow",
        _ => return Ok(single),
    };
    Err(TypeError::new(sqlstate::NUMERIC_VALUE_OUT_OF_RANGE, flaw))
}

/// What a moment that is out of range is in comparisons: greater or less than all that are in range, but not infinite.
fn beyond_all(value: &Value, to: &SqlType) -> Option<Value> {
    let is_late = match value {
        Value::Date(days) => *days > 0,
        Value::Timestamp(micros) => *micros > 0,
        _ => return None,
    };
    let micros = if is_late { i64::MAX - 1 } else { i64::MIN + 1 };
    match to {
        SqlType::Timestamp(_) => Some(Value::Timestamp(micros)),
        SqlType::Timestamptz(_) => Some(Value::Timestamptz(micros)),
        _ => None,
    }
}

/// Dates, times and intervals; `None` where there is no cast.
fn cast_time(value: &Value, to: &SqlType, tz: &TimeStyle) -> Option<Result<Value, TypeError>> {
    let time_of = |micros: i64| match micros {
        i64::MIN | i64::MAX => Value::Null, // an infinity has no time of day
        _ => Value::Time(datetime::split_timestamp(micros).1),
    };
    Some(match (value, to) {
        (Value::Date(v), SqlType::Timestamp(_)) => datetime::date_to_timestamp(*v).map(Value::Timestamp),
        (Value::Date(v), SqlType::Timestamptz(_)) => {
            datetime::date_to_timestamp(*v).and_then(|v| datetime::to_utc(v, tz)).map(Value::Timestamptz)
        }
        (Value::Timestamp(v), SqlType::Date) => Ok(Value::Date(datetime::timestamp_to_date(*v))),
        (Value::Timestamp(v), SqlType::Time(_)) => Ok(time_of(*v)),
        (Value::Timestamp(v), SqlType::Timestamptz(_)) => datetime::to_utc(*v, tz).map(Value::Timestamptz),
        (Value::Timestamptz(v), SqlType::Date) => {
            Ok(Value::Date(datetime::timestamp_to_date(datetime::to_local(*v, tz))))
        }
        (Value::Timestamptz(v), SqlType::Time(_)) => Ok(time_of(datetime::to_local(*v, tz))),
        (Value::Timestamptz(v), SqlType::Timestamp(_)) => Ok(Value::Timestamp(datetime::to_local(*v, tz))),
        (Value::Time(v), SqlType::Interval(_)) => {
            Ok(Value::Interval(Interval { micros: *v, ..Interval::default() }))
        }
        (Value::Interval(v), SqlType::Time(_)) if !v.is_finite() => {
            let message = "cannot convert infinite interval to time";
            Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, message))
        }
        (Value::Interval(v), SqlType::Time(_)) => {
            Ok(Value::Time(v.micros.rem_euclid(datetime::MICROS_PER_DAY)))
        }
        _ => return None,
    })
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

    /// Columns: from, to, `pg_cast.castcontext` (or what casts through text allow, - for none).
    #[test]
    fn the_matrix_of_casts_is_pg_cast_s() {
        let types = [
            SqlType::Bool,
            SqlType::Int2,
            SqlType::Int4,
            SqlType::Int8,
            SqlType::Float4,
            SqlType::Float8,
            SqlType::Numeric(None),
            SqlType::Text,
            SqlType::Varchar(None),
            SqlType::Char(None),
            SqlType::Name,
            SqlType::Bytea,
            SqlType::Date,
            SqlType::Time(None),
            SqlType::Timestamp(None),
            SqlType::Timestamptz(None),
            SqlType::Interval(None),
            SqlType::Uuid,
            SqlType::Oid,
        ];
        let find = |name: &str| types.iter().find(|ty| ty.internal_name() == name).expect("a type");
        for line in include_str!("../testdata/cast_kinds.tsv").lines() {
            let [from, to, context] = line.split('\t').collect::<Vec<_>>().try_into().expect("three columns");
            let expected = match context {
                "i" => Some(CastKind::Implicit),
                "a" => Some(CastKind::Assignment),
                "e" => Some(CastKind::Explicit),
                _ => None,
            };
            assert_eq!(cast_kind(find(from), find(to)), expected, "{from} to {to}");
        }
        assert_eq!(cast_kind(&SqlType::Unknown, &SqlType::Uuid), Some(CastKind::Implicit));
        assert_eq!(cast_kind(&SqlType::Void, &SqlType::Text), None);
    }

    #[test]
    fn a_cast_that_has_no_kind_is_refused_and_others_work() {
        let tz = TimeStyle::UTC;
        let samples = [
            "boolean",
            "smallint",
            "integer",
            "bigint",
            "oid",
            "real",
            "double precision",
            "numeric",
            "text",
            "varchar(3)",
            "char(3)",
            "bytea",
            "date",
            "time",
            "timestamp",
            "timestamptz",
            "interval",
            "uuid",
            "text[]",
        ];
        let value = |ty: &SqlType| match ty {
            SqlType::Date | SqlType::Timestamp(_) | SqlType::Timestamptz(_) => {
                parse_text(ty, "2021-03-04", &tz)
            }
            SqlType::Uuid => parse_text(ty, &"0".repeat(32), &tz),
            SqlType::Time(_) => parse_text(ty, "01:00", &tz),
            SqlType::Array(_) => parse_text(ty, "{1}", &tz),
            _ => parse_text(ty, "1", &tz),
        };
        for (from, to) in samples.iter().flat_map(|from| samples.iter().map(move |to| (from, to))) {
            let (source, target) = (named_type(from), named_type(to));
            let result = cast(&value(&source).expect("valid"), &source, &target, CastKind::Explicit, &tz);
            let refused = result.is_err_and(|error| error.sqlstate == "42846");
            assert_eq!(refused, cast_kind(&source, &target).is_none(), "{from} to {to}");
        }
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
