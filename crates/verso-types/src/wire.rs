//! Values as the PostgreSQL protocol's binary format, and columns straight to either format of the protocol.
//!
//! All numbers are big-endian. Dates and times count from 2000-01-01, as our values do; a numeric is digits to the
//! base 10,000; an array is one-dimensional with lower bound 1.
//!
//! W1. Reading never trusts a length or a count: what does not fit is `08P01` or `22P03`, and nothing is allocated by a count
//!     that the bytes behind it could not hold.
//! W2. Both formats of a value read back as the same value.
//!
//! Source: the `*send` and `*recv` functions of PostgreSQL.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::TimeStyle;

use crate::array::{Array, Dimension, element_count};
use crate::cast::{CastKind, byte_of_char, cast, char_of_byte};
use crate::column::{Column, ColumnData};
use crate::datetime::{is_date, is_timestamp};
use crate::decimal::Decimal;
use crate::error::{TypeError, sqlstate};
use crate::json::{self, Jsonb};
use crate::number::Number;
use crate::opaque::{self, OpaqueKind};
use crate::range;
use crate::sqltype::SqlType;
use crate::system_type::SystemType;
use crate::text::{format_text, type_of};
use crate::value::{Interval, Value};

/// Base of a digit of a numeric.
const BASE: i128 = 10_000;
/// Decimal digits of a digit of a numeric.
const BASE_DIGITS: i32 = 4;
/// `sign` of a negative numeric; beyond it are NaN and the infinities.
const NUMERIC_NEGATIVE: u16 = 0x4000;
/// Arrays within arrays are not read, records within records only so deep.
const DEPTH_MAX: u32 = 8;

/// Appends the binary form of a value of type `ty`, without a length; NULL appends nothing.
pub fn format_binary(value: &Value, ty: &SqlType, out: &mut Vec<u8>) {
    match value {
        Value::Null => {}
        Value::Bool(v) => out.push(u8::from(*v)),
        Value::Int2(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Int4(v) | Value::Date(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Int8(v) if matches!(ty, SqlType::Enum(_)) => {
            let mut label = String::new();
            format_text(&Value::Int8(*v), ty, &TimeStyle::UTC, &mut label);
            out.extend_from_slice(label.as_bytes());
        }
        Value::Int8(v) if is_four_bytes(ty) => out.extend_from_slice(&(*v as u32).to_be_bytes()),
        Value::Int8(v) | Value::Time(v) | Value::Timestamp(v) | Value::Timestamptz(v) => {
            out.extend_from_slice(&v.to_be_bytes());
        }
        Value::Xid8(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Float4(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Float8(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Numeric(v) => put_numeric(v, out),
        Value::Big(v) => v.put_binary(out),
        // One byte, be it 0.
        Value::Text(v) if *ty == SqlType::System(SystemType::Char) => out.push(byte_of_char(v.as_bytes())),
        Value::Text(v)
            if matches!(ty, SqlType::System(SystemType::PgSnapshot | SystemType::TxidSnapshot)) =>
        {
            put_snapshot(v, out);
        }
        Value::Text(v) => {
            out.extend_from_slice(v.as_bytes());
            pad(v, ty, out);
        }
        Value::Bytes(v) => out.extend_from_slice(v),
        Value::Opaque(v) => opaque::send(v, out),
        Value::Range(v) => range::send(v, ty, out),
        Value::Multirange(v) => range::send_multirange(v, ty, out),
        // Its version, then text, as in PostgreSQL.
        Value::Jsonb(v) => {
            let mut text = String::new();
            json::format_into(v.root(), &mut text);
            out.push(1);
            out.extend_from_slice(text.as_bytes());
        }
        Value::Interval(Interval { months, days, micros }) => {
            out.extend_from_slice(&micros.to_be_bytes());
            out.extend_from_slice(&days.to_be_bytes());
            out.extend_from_slice(&months.to_be_bytes());
        }
        Value::Uuid(v) => out.extend_from_slice(&v.to_be_bytes()),
        Value::Array(values) => put_array(values, ty, out),
        Value::Record(values) => {
            out.extend_from_slice(&(values.len() as i32).to_be_bytes());
            let fields = ty.fields_of(values.len());
            for (i, value) in values.iter().enumerate() {
                let ty = fields.map_or_else(|| type_of(value), |fields| fields[i].1.clone());
                out.extend_from_slice(&ty.pg_oid().to_be_bytes());
                put_item(value, &ty, out);
            }
        }
    }
}

/// Is a number of eight bytes sent as four?
fn is_four_bytes(ty: &SqlType) -> bool {
    match ty {
        SqlType::Oid => true,
        SqlType::System(system) => system.is_four_bytes(),
        _ => false,
    }
}

/// The blanks that a `char(n)` is shown with.
fn pad(text: &str, ty: &SqlType, out: &mut Vec<u8>) {
    if let SqlType::Char(Some(length)) = ty {
        let missing = (*length as usize).saturating_sub(text.chars().count());
        out.extend(std::iter::repeat_n(b' ', missing));
    }
}

/// A snapshot of transactions.
fn put_snapshot(text: &str, out: &mut Vec<u8>) {
    let mut parts = text.splitn(3, ':');
    let mut number = || parts.next().and_then(|part| part.parse::<i64>().ok()).unwrap_or_default();
    let (first, end) = (number(), number());
    let running: Vec<i64> =
        parts.next().unwrap_or_default().split(',').filter_map(|part| part.parse().ok()).collect();
    out.extend_from_slice(&(running.len() as i32).to_be_bytes());
    [first, end].iter().chain(&running).for_each(|number| out.extend_from_slice(&number.to_be_bytes()));
}

/// A value with its length in front; NULL has length -1.
fn put_item(value: &Value, ty: &SqlType, out: &mut Vec<u8>) {
    if value.is_null() {
        return out.extend_from_slice(&(-1i32).to_be_bytes());
    }
    with_length(out, |out| format_binary(value, ty, out));
}

/// What `write` appends, its length in front.
fn with_length(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = i32::try_from(out.len() - at - 4).unwrap_or(i32::MAX);
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

fn put_array(values: &Array, ty: &SqlType, out: &mut Vec<u8>) {
    let guessed;
    let element = match ty {
        SqlType::Array(element) => &**element,
        _ => {
            guessed = values.iter().find(|value| !value.is_null()).map_or(SqlType::Text, type_of);
            &guessed
        }
    };
    let dimensions = values.dimensions();
    out.extend_from_slice(&(dimensions.len() as i32).to_be_bytes());
    out.extend_from_slice(&i32::from(values.iter().any(Value::is_null)).to_be_bytes());
    out.extend_from_slice(&element.pg_oid().to_be_bytes());
    for Dimension { length, lower } in dimensions {
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(&lower.to_be_bytes());
    }
    values.iter().for_each(|value| put_item(value, element, out));
}

fn put_numeric(value: &Decimal, out: &mut Vec<u8>) {
    let scale = i32::from(value.scale());
    let mut rest = value.unscaled().unsigned_abs();
    // Digits of base 10,000 are aligned to the point: the last one may hold fewer decimals than four.
    let mut digits = [0u16; 20];
    let mut count = 0;
    let partial = scale % BASE_DIGITS;
    if partial != 0 && rest != 0 {
        let part = 10u128.pow(partial.unsigned_abs());
        digits[count] = (rest % part) as u16 * 10u16.pow((BASE_DIGITS - partial).unsigned_abs());
        rest /= part;
        count += 1;
    }
    let below_point = scale / BASE_DIGITS + i32::from(partial != 0);
    while rest != 0 {
        digits[count] = (rest % BASE as u128) as u16;
        rest /= BASE as u128;
        count += 1;
    }
    let weight = count as i32 - below_point - 1;
    let used = &digits[..count];
    let trailing = used.iter().take_while(|digit| **digit == 0).count();
    let leading = used.iter().rev().take_while(|digit| **digit == 0).count();
    let (used, weight) = if trailing == count {
        (&used[..0], 0)
    } else {
        (&used[trailing..count - leading], weight - leading as i32)
    };
    let sign = if value.is_negative() { NUMERIC_NEGATIVE } else { 0 };
    out.extend_from_slice(&(used.len() as u16).to_be_bytes());
    out.extend_from_slice(&(weight as i16).to_be_bytes());
    out.extend_from_slice(&sign.to_be_bytes());
    out.extend_from_slice(&(scale as u16).to_be_bytes());
    used.iter().rev().for_each(|digit| out.extend_from_slice(&digit.to_be_bytes()));
}

/// Reads the binary form of a value of type `ty`; a modifier of the type is applied.
/// # Errors
/// 08P01 for too few bytes, 22P03 for those that are none, 22021 for text that is not UTF-8, 22003 and 22008 beyond the range.
pub fn parse_binary(ty: &SqlType, bytes: &[u8]) -> Result<Value, TypeError> {
    let mut reader = Reader { rest: bytes };
    let value = reader.value(ty, 0)?;
    reader.finish()?;
    match (&value, ty) {
        (
            _,
            SqlType::Numeric(Some(_))
            | SqlType::LongNumeric(_)
            | SqlType::Varchar(Some(_))
            | SqlType::Char(_)
            | SqlType::Time(Some(_))
            | SqlType::Timestamp(Some(_))
            | SqlType::Timestamptz(Some(_))
            | SqlType::Interval(Some(_)),
        ) => {
            let plain = ty.without_modifiers();
            crate::cast::cast(&value, &plain, ty, crate::cast::CastKind::Assignment, &TimeStyle::UTC)
        }
        _ => Ok(value),
    }
}

#[cold]
pub(crate) fn malformed(what: &str) -> TypeError {
    TypeError::new(sqlstate::INVALID_BINARY_REPRESENTATION, what)
}

/// PostgreSQL takes a value that ends too early for a flaw of the message.
#[cold]
pub(crate) fn insufficient() -> TypeError {
    TypeError::new(sqlstate::PROTOCOL_VIOLATION, "insufficient data left in message")
}

/// Bytes of a name at most.
const NAME_BYTES_MAX: usize = 63;
/// Transactions of a snapshot at most, as in PostgreSQL.
const SNAPSHOT_RUNNING_MAX: i32 = ((1 << 30) - 24) / 8;

/// PostgreSQL's words for what is left behind a value within another.
#[cold]
pub(crate) fn left_over() -> TypeError {
    TypeError::new(sqlstate::PROTOCOL_VIOLATION, "invalid message format")
}

/// For what behind a value belongs to nothing: who knows whose value it is may add that.
pub const SURPLUS: &str = "incorrect binary data format";

struct Reader<'b> {
    rest: &'b [u8],
}

impl<'b> Reader<'b> {
    fn bytes(&mut self, count: usize) -> Result<&'b [u8], TypeError> {
        let (head, tail) = self.rest.split_at_checked(count).ok_or_else(insufficient)?;
        self.rest = tail;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], TypeError> {
        let mut bytes = [0; N];
        bytes.copy_from_slice(self.bytes(N)?);
        Ok(bytes)
    }

    fn i32(&mut self) -> Result<i32, TypeError> {
        self.array().map(i32::from_be_bytes)
    }

    fn u16(&mut self) -> Result<u16, TypeError> {
        self.array().map(u16::from_be_bytes)
    }

    fn i64(&mut self) -> Result<i64, TypeError> {
        self.array().map(i64::from_be_bytes)
    }

    fn text(&mut self) -> Result<Value, TypeError> {
        let bytes = std::mem::take(&mut self.rest);
        utf8(bytes).map(Value::text)
    }

    fn finish(&self) -> Result<(), TypeError> {
        if self.rest.is_empty() { Ok(()) } else { Err(malformed(SURPLUS)) }
    }

    fn value(&mut self, ty: &SqlType, depth: u32) -> Result<Value, TypeError> {
        Ok(match ty {
            SqlType::Bool if self.rest.is_empty() => {
                return Err(TypeError::new(sqlstate::PROTOCOL_VIOLATION, "no data left in message"));
            }
            SqlType::Bool => Value::Bool(self.array::<1>()?[0] != 0),
            SqlType::Int2 => Value::Int2(self.array().map(i16::from_be_bytes)?),
            SqlType::Int4 => Value::Int4(self.i32()?),
            SqlType::Int8 => Value::Int8(self.i64()?),
            SqlType::Oid => Value::Int8(self.array().map(u32::from_be_bytes)?.into()),
            SqlType::Float4 => Value::Float4(self.array().map(f32::from_be_bytes)?),
            SqlType::Float8 => Value::Float8(self.array().map(f64::from_be_bytes)?),
            SqlType::Numeric(_) | SqlType::LongNumeric(_) => self.numeric()?,
            SqlType::Name if self.rest.len() > NAME_BYTES_MAX => {
                let error = TypeError::new("42622", "identifier too long");
                return Err(error.with_detail("Identifier must be less than 64 characters."));
            }
            SqlType::Text | SqlType::Varchar(_) | SqlType::Name | SqlType::Unknown => self.text()?,
            SqlType::Char(_) => self.text()?,
            SqlType::Void => Value::text(""),
            SqlType::Bytea => Value::bytes(std::mem::take(&mut self.rest)),
            SqlType::Date => {
                let days = self.i32()?;
                if !(is_date(days.into()) || days == i32::MAX || days == i32::MIN) {
                    return Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "date out of range"));
                }
                Value::Date(days)
            }
            SqlType::Time(_) => {
                let micros = self.i64()?;
                if !(0..=86_400_000_000).contains(&micros) {
                    return Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "time out of range"));
                }
                Value::Time(micros)
            }
            SqlType::Timestamp(_) => Value::Timestamp(self.timestamp()?),
            SqlType::Timestamptz(_) => Value::Timestamptz(self.timestamp()?),
            SqlType::Interval(_) => {
                let (micros, days, months) = (self.i64()?, self.i32()?, self.i32()?);
                Value::Interval(Interval { months, days, micros })
            }
            SqlType::Uuid => Value::Uuid(self.array().map(u128::from_be_bytes)?),
            ty if let Some(kind) = OpaqueKind::of(ty) => {
                Value::Opaque(opaque::receive(ty, kind, std::mem::take(&mut self.rest))?)
            }
            SqlType::Timetz(_) | SqlType::Bit(_) | SqlType::Varbit(_) => self.text()?,
            SqlType::Range(ty) => range::receive(ty, std::mem::take(&mut self.rest))?.into_value(),
            SqlType::Multirange(ty) => {
                range::receive_multirange(ty, std::mem::take(&mut self.rest))?.into_value()
            }
            SqlType::Enum(ty) => ty.parse(utf8(std::mem::take(&mut self.rest))?)?,
            SqlType::Domain(domain) => return self.value(&domain.base, depth),
            SqlType::Collated(collated) => return self.value(&collated.base, depth),
            SqlType::Named(name) => return Err(TypeError::unknown_type(name)),
            SqlType::Array(element) => self.elements(element, depth)?,
            SqlType::System(system) => self.system(*system)?,
            SqlType::Row(row) if row.of.is_some() => self.composite(&row.fields, depth)?,
            SqlType::Record | SqlType::Row(_) if depth == 0 => {
                let text = "input of anonymous composite types is not implemented";
                return Err(TypeError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
            }
            SqlType::Record | SqlType::Row(_) => self.record(depth)?,
            SqlType::Json => {
                let text = utf8(std::mem::take(&mut self.rest))?;
                json::validate(text)?;
                Value::text(text)
            }
            SqlType::Jsonb => {
                let [version] = self.array()?;
                if version != 1 {
                    let text = format!("unsupported jsonb version number {version}");
                    return Err(TypeError::new(sqlstate::INTERNAL_ERROR, text));
                }
                Value::Jsonb(Jsonb::parse(utf8(std::mem::take(&mut self.rest))?)?)
            }
        })
    }

    fn system(&mut self, ty: SystemType) -> Result<Value, TypeError> {
        Ok(match ty {
            SystemType::VectorInt2 => Value::Int2(self.u16()?.cast_signed()),
            ty if ty.is_four_bytes() => Value::Int8(self.i32()?.cast_unsigned().into()),
            SystemType::Xid8 => Value::Xid8(self.i64()?.cast_unsigned()),
            SystemType::Char => {
                let [byte] = self.array()?;
                Value::text(char_of_byte(byte))
            }
            SystemType::NodeTree | SystemType::Refcursor | SystemType::Citext => self.text()?,
            SystemType::PgSnapshot | SystemType::TxidSnapshot => self.snapshot()?,
            SystemType::AclItem => {
                let text = "no binary input function available for type aclitem";
                return Err(TypeError::new("42883", text));
            }
            _ => {
                let text = format!("binary input of type {}", ty.name());
                return Err(TypeError::new(
                    sqlstate::FEATURE_NOT_SUPPORTED,
                    format!("{text} is not supported"),
                ));
            }
        })
    }

    /// A snapshot of transactions: how many are running, the first one, the one behind the last, and those that run.
    fn snapshot(&mut self) -> Result<Value, TypeError> {
        let wrong = || malformed("invalid external pg_snapshot data");
        let count = self.i32()?;
        if !(0..=SNAPSHOT_RUNNING_MAX).contains(&count) {
            return Err(wrong());
        }
        let (first, end) = (self.i64()?, self.i64()?);
        if first <= 0 || end < first {
            return Err(wrong());
        }
        let (mut text, mut last) = (format!("{first}:{end}:"), 0);
        for _ in 0..count {
            let running = self.i64()?;
            if running < last || running < first || running > end {
                return Err(wrong());
            }
            if running > last {
                let _ = write!(text, "{}{running}", if last > 0 { "," } else { "" });
            }
            last = running;
        }
        Ok(Value::text(&text))
    }

    fn timestamp(&mut self) -> Result<i64, TypeError> {
        let micros = self.i64()?;
        if is_timestamp(micros) || micros == i64::MAX || micros == i64::MIN {
            return Ok(micros);
        }
        Err(TypeError::new(sqlstate::DATETIME_FIELD_OVERFLOW, "timestamp out of range"))
    }

    /// A value with its length in front.
    fn item(&mut self, ty: &SqlType, depth: u32) -> Result<Value, TypeError> {
        match self.i32()? {
            -1 => Ok(Value::Null),
            length => {
                let length = usize::try_from(length).ok().filter(|length| *length <= self.rest.len());
                let length = length.ok_or_else(|| malformed("insufficient data left in message"))?;
                let mut inner = Reader { rest: self.bytes(length)? };
                let value = inner.value(ty, depth + 1)?;
                inner.finish()?;
                Ok(value)
            }
        }
    }

    fn elements(&mut self, element: &SqlType, depth: u32) -> Result<Value, TypeError> {
        if depth > DEPTH_MAX {
            return Err(malformed("arrays are nested too deeply"));
        }
        let dimensions = self.i32()?;
        if dimensions < 0 {
            return Err(malformed("invalid number of dimensions"));
        }
        if dimensions > 6 {
            let text = format!("number of array dimensions ({dimensions}) exceeds the maximum allowed (6)");
            return Err(TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text));
        }
        let (flags, oid) = (self.i32()?, self.i32()?.cast_unsigned());
        if !(0..=1).contains(&flags) {
            return Err(malformed("invalid array flags"));
        }
        let same = oid == element.pg_oid() || (element.is_text() && matches!(oid, 25 | 1043 | 1042 | 19));
        if !same {
            let name = |ty: &SqlType| format!("{} ({})", ty.pg_oid(), ty.pg_name());
            let found = SqlType::from_pg_oid(oid, -1).map_or_else(|| oid.to_string(), |ty| name(&ty));
            let text =
                format!("binary data has array element type {found} instead of expected {}", name(element));
            return Err(TypeError::new("42804", text));
        }
        let vector = match element {
            SqlType::System(SystemType::VectorInt2) => Some("int2vector"),
            SqlType::System(SystemType::VectorOid) => Some("oidvector"),
            _ => None,
        };
        match (dimensions, vector) {
            (0, None) => return Ok(Value::Array([].into())),
            (0, Some(name)) => return Err(malformed(&format!("invalid {name} data"))),
            _ => {}
        }
        let mut shape = Vec::new();
        for _ in 0..dimensions {
            let dimension = Dimension { length: self.i32()?, lower: self.i32()? };
            if dimension.length < 0 {
                let text = "array size exceeds the maximum allowed (134217727)";
                return Err(TypeError::new(sqlstate::PROGRAM_LIMIT_EXCEEDED, text));
            }
            shape.push(dimension);
        }
        let count = element_count(&shape)?;
        let values: Result<Vec<Value>, TypeError> = (0..count).map(|_| self.item(element, depth)).collect();
        let values = values?;
        if let Some(name) = vector {
            let is_plain = matches!(shape[..], [Dimension { length: 1.., lower: 0 }]);
            if !is_plain || values.iter().any(Value::is_null) {
                return Err(malformed(&format!("invalid {name} data")));
            }
        }
        Ok(Value::Array(Array::shaped(values, &shape)?))
    }

    fn record(&mut self, depth: u32) -> Result<Value, TypeError> {
        if depth > DEPTH_MAX {
            return Err(malformed("records are nested too deeply"));
        }
        let count = usize::try_from(self.i32()?).map_err(|_| malformed("invalid number of columns"))?;
        if count > self.rest.len() / 8 {
            return Err(insufficient());
        }
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            let oid = self.i32()?.cast_unsigned();
            let ty = SqlType::from_pg_oid(oid, -1).ok_or_else(|| malformed("unknown type of a column"))?;
            values.push(self.item(&ty, depth)?);
        }
        Ok(Value::Record(values.into()))
    }

    /// A row of a composite type: the columns of the type, each with the number of its own.
    fn composite(&mut self, fields: &[(Arc<str>, SqlType)], depth: u32) -> Result<Value, TypeError> {
        if depth > DEPTH_MAX {
            return Err(malformed("records are nested too deeply"));
        }
        let count = self.i32()?;
        if usize::try_from(count) != Ok(fields.len()) {
            let text = format!("wrong number of columns: {count}, expected {}", fields.len());
            return Err(TypeError::new("42804", text));
        }
        let mut values = Vec::with_capacity(fields.len());
        for (n, (_, ty)) in fields.iter().enumerate() {
            let oid = self.i32()?.cast_unsigned();
            if oid != ty.pg_oid() {
                let name = |ty: &SqlType| format!("{} ({})", ty.pg_oid(), ty.pg_name());
                let found = SqlType::from_pg_oid(oid, -1).map_or_else(|| oid.to_string(), |ty| name(&ty));
                let text = format!(
                    "binary data has type {found} instead of expected {} in record column {}",
                    name(&ty.without_modifiers()),
                    n + 1
                );
                return Err(TypeError::new("42804", text));
            }
            let value = self.item(ty, depth)?;
            values.push(cast(&value, &ty.without_modifiers(), ty, CastKind::Assignment, &TimeStyle::UTC)?);
        }
        Ok(Value::Record(values.into()))
    }

    fn numeric(&mut self) -> Result<Value, TypeError> {
        let (count, weight, sign, scale) = (self.u16()?, self.u16()?, self.u16()?, self.u16()?);
        let weight = i32::from(weight.cast_signed());
        let special = match sign {
            0 | NUMERIC_NEGATIVE => None,
            0xC000 => Some(Number::NaN),
            0xD000 => Some(Number::Infinity),
            0xF000 => Some(Number::NegativeInfinity),
            _ => return Err(malformed("invalid sign in external \"numeric\" value")),
        };
        if usize::from(scale) > crate::number::SCALE_MAX {
            return Err(malformed("invalid scale in external \"numeric\" value"));
        }
        let mut digits = Vec::new();
        for _ in 0..count {
            let digit = self.u16()?;
            if i128::from(digit) >= BASE {
                return Err(malformed("invalid digit in external \"numeric\" value"));
            }
            digits.push(digit);
        }
        if let Some(special) = special {
            return special.value();
        }
        Number::of_base_digits(&digits, weight, sign == NUMERIC_NEGATIVE, usize::from(scale)).value()
    }
}

impl Column {
    /// Appends value `i` of type `ty` in binary form, its length in front; NULL has length -1.
    pub fn put_binary(&self, i: usize, ty: &SqlType, out: &mut Vec<u8>) {
        if self.is_null(i) {
            return out.extend_from_slice(&(-1i32).to_be_bytes());
        }
        match (&self.data, ty) {
            (ColumnData::I32(data), _) => {
                out.extend_from_slice(&4i32.to_be_bytes());
                out.extend_from_slice(&data[i].to_be_bytes());
            }
            (ColumnData::I64(data), SqlType::Int8 | SqlType::Timestamp(_) | SqlType::Timestamptz(_)) => {
                out.extend_from_slice(&8i32.to_be_bytes());
                out.extend_from_slice(&data[i].to_be_bytes());
            }
            (
                ColumnData::Bytes(data),
                SqlType::Text | SqlType::Varchar(_) | SqlType::Bytea | SqlType::Json,
            ) => {
                with_length(out, |out| out.extend_from_slice(data.get(i)));
            }
            _ => put_item(&self.value(i, ty), ty, out),
        }
    }

    /// Appends value `i` of type `ty` as text, its length in front; NULL has length -1.
    pub fn put_text(&self, i: usize, ty: &SqlType, tz: &TimeStyle, out: &mut Vec<u8>) {
        if self.is_null(i) {
            return out.extend_from_slice(&(-1i32).to_be_bytes());
        }
        with_length(out, |out| self.append_text(i, ty, tz, out));
    }

    /// Appends value `i` of type `ty` as text; NULL appends nothing.
    pub fn append_text(&self, i: usize, ty: &SqlType, tz: &TimeStyle, out: &mut Vec<u8>) {
        if self.is_null(i) {
            return;
        }
        match (&self.data, ty) {
            (ColumnData::I16(data), _) => put_integer(data[i].into(), out),
            (ColumnData::I32(data), SqlType::Int4) => put_integer(data[i].into(), out),
            (ColumnData::I64(data), SqlType::Int8 | SqlType::Oid) => put_integer(data[i], out),
            (
                ColumnData::Bytes(data),
                SqlType::Text | SqlType::Varchar(_) | SqlType::Name | SqlType::Json,
            ) => {
                out.extend_from_slice(data.get(i));
            }
            (ColumnData::Bytes(data), SqlType::Char(length)) => {
                let bytes = data.get(i);
                out.extend_from_slice(bytes);
                let blanks = length.map_or(0, |length| {
                    // Bytes that begin a character.
                    let chars = bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
                    (length as usize).saturating_sub(chars)
                });
                out.extend(std::iter::repeat_n(b' ', blanks));
            }
            _ => {
                let mut text = String::new();
                format_text(&self.value(i, ty), ty, tz, &mut text);
                out.extend_from_slice(text.as_bytes());
            }
        }
    }
}

/// Appends a number's decimal digits.
fn put_integer(value: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = value.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if value < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// The text that a client's bytes are.
///
/// # Errors
/// 22021 for what is no UTF-8, and for NUL.
pub fn utf8(bytes: &[u8]) -> Result<&str, TypeError> {
    let text = std::str::from_utf8(bytes);
    let valid = text.map_or_else(|error| error.valid_up_to(), str::len);
    let bad = match (bytes[..valid].iter().position(|byte| *byte == 0), text) {
        (None, Ok(text)) => return Ok(text),
        (nul, _) => nul.unwrap_or(valid),
    };
    // As many bytes as the first one asks for.
    let wanted = match bytes[bad] {
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf7 => 4,
        _ => 1,
    };
    let shown: Vec<String> = bytes[bad..].iter().take(wanted).map(|byte| format!("0x{byte:02x}")).collect();
    let message = format!("invalid byte sequence for encoding \"UTF8\": {}", shown.join(" "));
    Err(TypeError::new(sqlstate::CHARACTER_NOT_IN_REPERTOIRE, message))
}

#[cfg(test)]
mod tests;
