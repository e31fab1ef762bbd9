//! Index keys: bytes whose order is SQL's order of the values.
//!
//! ```text
//! key  = part, one behind the other
//! part = 0 NULL first │ 1 value │ 2 NULL last        value bytes are inverted for a descending part
//! ```
//!
//! 1. `memcmp` of two keys of the same parts orders them as SQL does: DESC, NULLS FIRST and LAST, NaN above every
//!    number, -0 equal to 0, 1.0 equal to 1.00, trailing blanks of `char(n)` not counted, text by bytes.
//! 2. No key is a prefix of another of the same parts, so bytes may follow a key without changing the order.
//! 3. A key of the first parts is a prefix of every key that has the same values there.
//!
//! | type | bytes |
//! |---|---|
//! | boolean | 0, 1 |
//! | integers, and what is stored as one | big-endian, sign bit inverted |
//! | uuid | big-endian |
//! | floats | IEEE 754 big-endian, sign bit inverted, all bits for negative ones; one zero, one NaN |
//! | interval | its span as an integer of 128 bits |
//! | numeric | sign 1, 2 (zero), 3; decimal exponent u16; two digits a byte, plus 1; 0. All but the sign inverted if negative |
//! | jsonb | kind, count, and the parts so, as [`json::encode_key`] |
//! | ranges, multiranges | as [`range::encode_key`] |
//! | text, bytea | 0 as 0 255; ends with 0 0 |
//! | `"char"` | its byte |
//! | text of a collation | its [key](crate::collation), as bytea |
//! | arrays, rows | as [`encode_nested`] |

mod nested;

pub use nested::encode_nested;

use crate::cast::byte_of_char;
use crate::collation::Collator;
use crate::column::Column;
use crate::decimal::Decimal;
use crate::error::TypeError;
use crate::json;
use crate::number::Number;
use crate::range;
use crate::row;
use crate::sqltype::{Physical, SqlType};
use crate::system_type::SystemType;
use crate::value::{Interval, Value};

const NULL_FIRST: u8 = 0;
const VALUE: u8 = KeyOrder::VALUE;
const NULL_LAST: u8 = 2;

/// How the values of a key part are stored and compared. The numbers stand on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum KeyType {
    /// Boolean.
    Bool = 1,
    /// 16-bit integer.
    I16 = 2,
    /// 32-bit integer, date.
    I32 = 3,
    /// 64-bit integer, times, numeric of up to 18 digits.
    I64 = 4,
    /// 128-bit integer: numeric of more digits.
    I128 = 5,
    /// `real`.
    F32 = 6,
    /// `double precision`.
    F64 = 7,
    /// Text and bytea, by bytes.
    Bytes = 8,
    /// `char(n)`: trailing blanks do not count.
    PaddedBytes = 9,
    /// Numeric without precision.
    Decimal = 10,
    /// Interval, by its span.
    Interval = 11,
    /// Uuid: 128 bits without sign.
    Uuid = 12,
    /// Jsonb.
    Jsonb = 13,
    /// Ranges and multiranges.
    Range = 14,
    /// Of an inverted index ([`inverted`](crate::inverted)): keys and scalars of jsonb.
    JsonbKeys = 15,
    /// Of an inverted index: scalars of jsonb with the way to them.
    JsonbPaths = 16,
    /// Of an inverted index: elements of arrays.
    Elements = 17,
    /// Of an inverted index: trigrams of texts.
    Trigrams = 18,
    /// Text in the order of a collation: [`Collator::key`].
    Collated(Collator) = 19,
    /// Arrays and rows.
    Nested = 20,
    /// Of an inverted index: lexemes of text search.
    Lexemes = 21,
    /// Transaction numbers of 64 bits, without sign.
    U64 = 22,
    /// Arrays and rows that have such numbers within. Their keys are those of [`Nested`](KeyType::Nested), the number says that
    /// the index was not made by a version to which these numbers had a sign.
    NestedU64 = 23,
    /// `"char"`: its byte, without sign.
    SingleByte = 24,
    /// Of an inverted index: keys of hstore, alone and with their values.
    Pairs = 25,
}

impl KeyType {
    const ALL: [KeyType; 18] = [
        KeyType::Bool,
        KeyType::I16,
        KeyType::I32,
        KeyType::I64,
        KeyType::I128,
        KeyType::F32,
        KeyType::F64,
        KeyType::Bytes,
        KeyType::PaddedBytes,
        KeyType::Decimal,
        KeyType::Interval,
        KeyType::Uuid,
        KeyType::Jsonb,
        KeyType::Range,
        KeyType::JsonbKeys,
        KeyType::JsonbPaths,
        KeyType::Elements,
        KeyType::Trigrams,
    ];

    /// The type's number on disk.
    pub fn code(self) -> u8 {
        match self {
            KeyType::Collated(_) => KeyType::COLLATED,
            KeyType::Nested => KeyType::NESTED,
            KeyType::Lexemes => KeyType::LEXEMES,
            KeyType::U64 => KeyType::UNSIGNED,
            KeyType::NestedU64 => KeyType::NESTED_UNSIGNED,
            KeyType::SingleByte => KeyType::SINGLE_BYTE,
            KeyType::Pairs => KeyType::PAIRS,
            other => (1..).zip(KeyType::ALL).find(|(_, ty)| *ty == other).map_or(0, |(code, _)| code),
        }
    }

    /// The number on disk of texts in the order of a collation, which stands beside it.
    pub const COLLATED: u8 = 19;
    const NESTED: u8 = 20;
    const LEXEMES: u8 = 21;
    const UNSIGNED: u8 = 22;
    const NESTED_UNSIGNED: u8 = 23;
    const SINGLE_BYTE: u8 = 24;
    const PAIRS: u8 = 25;

    /// The type with this number on disk, [`KeyType::COLLATED`] without.
    pub fn from_code(code: u8) -> Option<KeyType> {
        match code {
            KeyType::NESTED => Some(KeyType::Nested),
            KeyType::LEXEMES => Some(KeyType::Lexemes),
            KeyType::UNSIGNED => Some(KeyType::U64),
            KeyType::NESTED_UNSIGNED => Some(KeyType::NestedU64),
            KeyType::SINGLE_BYTE => Some(KeyType::SingleByte),
            KeyType::PAIRS => Some(KeyType::Pairs),
            code => KeyType::ALL.get(usize::from(code).checked_sub(1)?).copied(),
        }
    }

    /// How values of `ty` make keys; `None` for types without an order that keys can have (json, rows of unknown columns).
    pub fn of(ty: &SqlType) -> Option<KeyType> {
        Some(match ty {
            SqlType::Uuid => KeyType::Uuid,
            SqlType::Interval(_) => KeyType::Interval,
            SqlType::Numeric(None) | SqlType::LongNumeric(_) => KeyType::Decimal,
            SqlType::Char(_) => KeyType::PaddedBytes,
            SqlType::Jsonb => KeyType::Jsonb,
            SqlType::Range(_) | SqlType::Multirange(_) => KeyType::Range,
            SqlType::Array(element) => return nested::is_ordered(element).then(|| nested::key_type(ty)),
            SqlType::Row(row) => {
                let ordered = row.fields.iter().all(|(_, ty)| nested::is_ordered(ty));
                return ordered.then(|| nested::key_type(ty));
            }
            SqlType::Void | SqlType::Unknown | SqlType::Record => return None,
            SqlType::Json | SqlType::Named(_) => return None,
            SqlType::System(SystemType::JsonPath) => return None,
            SqlType::System(ty) if ty.is_geometric() => return None,
            SqlType::System(SystemType::Xid8) => KeyType::U64,
            SqlType::System(SystemType::Char) => KeyType::SingleByte,
            SqlType::Domain(domain) => return KeyType::of(&domain.base),
            SqlType::Collated(collated) => {
                return KeyType::of(&collated.base)?.collated(collated.collation.collator);
            }
            other => match other.physical() {
                Physical::Bool => KeyType::Bool,
                Physical::I16 => KeyType::I16,
                Physical::I32 => KeyType::I32,
                Physical::I64 => KeyType::I64,
                Physical::I128 => KeyType::I128,
                Physical::F32 => KeyType::F32,
                Physical::F64 => KeyType::F64,
                Physical::Bytes => KeyType::Bytes,
            },
        })
    }

    /// What earlier versions had as the key of such values, in another order.
    pub fn earlier(self) -> Option<KeyType> {
        match self {
            KeyType::SingleByte => Some(KeyType::Bytes),
            KeyType::U64 => Some(KeyType::I64),
            KeyType::NestedU64 => Some(KeyType::Nested),
            _ => None,
        }
    }

    /// The same in the order of a collation; `None` for what is no text.
    pub fn collated(self, collator: Option<Collator>) -> Option<KeyType> {
        match (self, collator) {
            (_, None) => Some(self),
            (KeyType::Bytes | KeyType::PaddedBytes, Some(collator)) => Some(KeyType::Collated(collator)),
            _ => None,
        }
    }

    /// How such values are stored.
    pub fn physical(self) -> Physical {
        match self {
            KeyType::Bool => Physical::Bool,
            KeyType::I16 => Physical::I16,
            KeyType::I32 => Physical::I32,
            KeyType::I64 | KeyType::U64 => Physical::I64,
            KeyType::I128 | KeyType::Interval | KeyType::Uuid => Physical::I128,
            KeyType::F32 => Physical::F32,
            KeyType::F64 => Physical::F64,
            KeyType::JsonbKeys
            | KeyType::JsonbPaths
            | KeyType::Elements
            | KeyType::Trigrams
            | KeyType::Lexemes
            | KeyType::Pairs => Physical::Bytes,
            KeyType::Bytes
            | KeyType::PaddedBytes
            | KeyType::SingleByte
            | KeyType::Decimal
            | KeyType::Jsonb
            | KeyType::Range
            | KeyType::Nested
            | KeyType::NestedU64
            | KeyType::Collated(_) => Physical::Bytes,
        }
    }

    /// Whether a value has several keys, or none ([`inverted`](crate::inverted)).
    #[inline]
    pub fn is_inverted(self) -> bool {
        matches!(
            self,
            KeyType::JsonbKeys
                | KeyType::JsonbPaths
                | KeyType::Elements
                | KeyType::Trigrams
                | KeyType::Lexemes
                | KeyType::Pairs
        )
    }

    /// Whether a key gives the stored value back, bit by bit.
    pub fn is_exact(self) -> bool {
        !self.is_inverted()
            && !matches!(
                self,
                KeyType::F32
                    | KeyType::F64
                    | KeyType::PaddedBytes
                    | KeyType::SingleByte
                    | KeyType::Decimal
                    | KeyType::Interval
                    | KeyType::Jsonb
                    | KeyType::Range
                    | KeyType::Nested
                    | KeyType::NestedU64
                    | KeyType::Collated(_)
            )
    }
}

/// How one part of a key is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyOrder {
    /// What its values are.
    pub ty: KeyType,
    /// Greater values first.
    pub descending: bool,
    /// NULL before all values (else behind them), whatever the direction.
    pub nulls_first: bool,
}

impl KeyOrder {
    /// The first byte of every part that is not NULL.
    pub const VALUE: u8 = 1;

    /// Ascending, NULLs last.
    pub fn ascending(ty: KeyType) -> KeyOrder {
        KeyOrder { ty, descending: false, nulls_first: false }
    }

    /// Appends the part for a stored value: its little-endian bytes as in a [`Column`], `None` for NULL.
    ///
    /// # Errors
    /// XX001 where the bytes are no such value.
    #[inline]
    pub fn encode_raw(&self, raw: Option<&[u8]>, out: &mut Vec<u8>) -> Result<(), TypeError> {
        let Some(raw) = raw else {
            out.push(if self.nulls_first { NULL_FIRST } else { NULL_LAST });
            return Ok(());
        };
        out.push(VALUE);
        let start = out.len();
        let corrupt = || TypeError::corrupt("index key");
        match self.ty {
            KeyType::Bool => out.push(*raw.first().ok_or_else(corrupt)?),
            KeyType::I16 => out.extend_from_slice(
                &(u16::from_le_bytes(raw.try_into().map_err(|_| corrupt())?) ^ 1 << 15).to_be_bytes(),
            ),
            KeyType::I32 => out.extend_from_slice(
                &(u32::from_le_bytes(raw.try_into().map_err(|_| corrupt())?) ^ 1 << 31).to_be_bytes(),
            ),
            KeyType::I64 => out.extend_from_slice(
                &(u64::from_le_bytes(raw.try_into().map_err(|_| corrupt())?) ^ 1 << 63).to_be_bytes(),
            ),
            KeyType::U64 => out
                .extend_from_slice(&u64::from_le_bytes(raw.try_into().map_err(|_| corrupt())?).to_be_bytes()),
            KeyType::I128 => out.extend_from_slice(
                &(u128::from_le_bytes(raw.try_into().map_err(|_| corrupt())?) ^ 1 << 127).to_be_bytes(),
            ),
            KeyType::Uuid => out.extend_from_slice(
                &u128::from_le_bytes(raw.try_into().map_err(|_| corrupt())?).to_be_bytes(),
            ),
            KeyType::Interval => {
                let packed = i128::from_le_bytes(raw.try_into().map_err(|_| corrupt())?);
                let span = Interval::unpack(packed).span().cast_unsigned() ^ 1 << 127;
                out.extend_from_slice(&span.to_be_bytes());
            }
            KeyType::F32 => {
                let value = f32::from_le_bytes(raw.try_into().map_err(|_| corrupt())?);
                let value = if value.is_nan() { f32::NAN } else { value + 0.0 };
                let bits = value.to_bits() & if value.is_nan() { u32::MAX >> 1 } else { u32::MAX };
                let flip = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
                out.extend_from_slice(&(bits ^ flip).to_be_bytes());
            }
            KeyType::F64 => {
                let value = f64::from_le_bytes(raw.try_into().map_err(|_| corrupt())?);
                let value = if value.is_nan() { f64::NAN } else { value + 0.0 };
                let bits = value.to_bits() & if value.is_nan() { u64::MAX >> 1 } else { u64::MAX };
                let flip = if bits >> 63 == 1 { u64::MAX } else { 1 << 63 };
                out.extend_from_slice(&(bits ^ flip).to_be_bytes());
            }
            KeyType::Bytes => encode_bytes(raw, out),
            KeyType::PaddedBytes => {
                let length = raw.iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
                encode_bytes(&raw[..length], out);
            }
            KeyType::SingleByte => out.push(byte_of_char(raw)),
            KeyType::Collated(collator) => {
                let mut key = Vec::with_capacity(4 * raw.len() + 8);
                collator.key(raw, &mut key);
                encode_bytes(&key, out);
            }
            KeyType::Decimal => match Number::value_from_bytes(raw)? {
                Value::Numeric(number) => encode_decimal(&number, out),
                other => encode_big(&Number::of(&other).ok_or_else(corrupt)?, out),
            },
            KeyType::Jsonb => json::encode_key(json::JsonRef::read(raw), out),
            KeyType::Range => match row::decode_value(raw)? {
                Value::Range(v) => range::encode_key(&v, out)?,
                Value::Multirange(v) => range::encode_multirange_key(&v, out)?,
                _ => return Err(corrupt()),
            },
            KeyType::Nested | KeyType::NestedU64 => match row::decode_value(raw)? {
                value @ (Value::Array(_) | Value::Record(_)) => encode_nested(&value, out)?,
                _ => return Err(corrupt()),
            },
            // Their values have no single key.
            KeyType::JsonbKeys
            | KeyType::JsonbPaths
            | KeyType::Elements
            | KeyType::Trigrams
            | KeyType::Lexemes
            | KeyType::Pairs => return Err(corrupt()),
        }
        if self.descending {
            out[start..].iter_mut().for_each(|byte| *byte = !*byte);
        }
        Ok(())
    }

    /// Appends the part for a value of `ty`, the column's type. Integers of any width make keys of any integer column
    /// that can hold them, and numbers those of a numeric column with scale that holds them exactly.
    ///
    /// # Errors
    /// 22003 for a number that no value of the column equals; XX000 for a value of another type.
    pub fn encode_value(&self, value: &Value, ty: &SqlType, out: &mut Vec<u8>) -> Result<(), TypeError> {
        let mismatch = || TypeError::mismatch(value, ty);
        match (self.ty, value) {
            (_, Value::Null) => self.encode_raw(None, out),
            (KeyType::I16, Value::Int2(v)) => self.encode_raw(Some(&v.to_le_bytes()), out),
            (KeyType::I32, Value::Int4(v) | Value::Date(v)) => self.encode_raw(Some(&v.to_le_bytes()), out),
            (KeyType::I64, Value::Int8(v) | Value::Time(v) | Value::Timestamp(v) | Value::Timestamptz(v)) => {
                self.encode_raw(Some(&v.to_le_bytes()), out)
            }
            (KeyType::Bytes | KeyType::PaddedBytes | KeyType::SingleByte, Value::Text(v)) => {
                self.encode_raw(Some(v.as_bytes()), out)
            }
            (KeyType::Bytes | KeyType::PaddedBytes, Value::Bytes(v)) => self.encode_raw(Some(v), out),
            (KeyType::Collated(_), Value::Text(v)) => self.encode_raw(Some(v.as_bytes()), out),
            // A key that was made before.
            (KeyType::Collated(_), Value::Bytes(key)) => {
                out.push(VALUE);
                let start = out.len();
                encode_bytes(key, out);
                if self.descending {
                    out[start..].iter_mut().for_each(|byte| *byte = !*byte);
                }
                Ok(())
            }
            (KeyType::I64 | KeyType::I128, _) if matches!(ty, SqlType::Numeric(_)) => {
                let SqlType::Numeric(Some(spec)) = ty else { return Err(mismatch()) };
                let number = match value {
                    Value::Numeric(number) => *number,
                    Value::Big(number) => {
                        number.normalize().to_decimal().ok_or_else(TypeError::numeric_overflow)?
                    }
                    other => Decimal::from(other.as_i64().ok_or_else(mismatch)?),
                };
                let scaled = number.rescale(spec.scale)?;
                if scaled.compare(&number) != std::cmp::Ordering::Equal {
                    return Err(TypeError::numeric_overflow());
                }
                let unscaled = scaled.unscaled();
                if self.ty == KeyType::I128 {
                    return self.encode_raw(Some(&unscaled.to_le_bytes()), out);
                }
                let small = i64::try_from(unscaled).map_err(|_| TypeError::numeric_overflow())?;
                self.encode_raw(Some(&small.to_le_bytes()), out)
            }
            (
                KeyType::I16 | KeyType::I32 | KeyType::I64,
                Value::Int2(_) | Value::Int4(_) | Value::Int8(_),
            ) => {
                let number = value.as_i64().ok_or_else(mismatch)?;
                let range = || TypeError::out_of_range(&ty.pg_name());
                match self.ty {
                    KeyType::I16 => {
                        let number = i16::try_from(number).map_err(|_| range())?;
                        self.encode_raw(Some(&number.to_le_bytes()), out)
                    }
                    KeyType::I32 => {
                        let number = i32::try_from(number).map_err(|_| range())?;
                        self.encode_raw(Some(&number.to_le_bytes()), out)
                    }
                    _ => self.encode_raw(Some(&number.to_le_bytes()), out),
                }
            }
            (KeyType::Decimal, Value::Int2(_) | Value::Int4(_) | Value::Int8(_)) => {
                let mut raw = Vec::new();
                Decimal::from(value.as_i64().ok_or_else(mismatch)?).to_bytes(&mut raw);
                self.encode_raw(Some(&raw), out)
            }
            _ => {
                let mut column = Column::new(self.ty.physical());
                column.push_value(value, ty)?;
                self.encode_raw(Some(column.raw_at(0)), out)
            }
        }
    }

    /// Takes the part from the front of `key` and appends its value to `column`, which has the part's layout. Only for
    /// [exact](KeyType::is_exact) types.
    ///
    /// # Errors
    /// XX001 for bytes that are no such part.
    pub fn decode(&self, key: &mut &[u8], column: &mut Column) -> Result<(), TypeError> {
        let corrupt = || TypeError::corrupt("index key");
        let (marker, rest) = key.split_first().ok_or_else(corrupt)?;
        if *marker != VALUE {
            column.push_null();
            *key = rest;
            return Ok(());
        }
        let flip = if self.descending { 0xff } else { 0 };
        if self.ty.physical() == Physical::Bytes {
            let mut value = Vec::new();
            let mut at = 0;
            loop {
                let byte = rest.get(at).ok_or_else(corrupt)? ^ flip;
                at += 1;
                if byte != 0 {
                    value.push(byte);
                    continue;
                }
                match rest.get(at).ok_or_else(corrupt)? ^ flip {
                    0 => break,
                    _ => value.push(0),
                }
                at += 1;
            }
            column.data.bytes_mut().ok_or_else(corrupt)?.push(&value);
            *key = &rest[at + 1..];
            return Ok(());
        }
        let width = self.ty.physical().width().ok_or_else(corrupt)?;
        let bytes = rest.get(..width).ok_or_else(corrupt)?;
        let mut raw = [0u8; 16];
        bytes.iter().rev().zip(&mut raw).for_each(|(byte, raw)| *raw = byte ^ flip);
        if matches!(self.ty, KeyType::I16 | KeyType::I32 | KeyType::I64 | KeyType::I128) {
            raw[width - 1] ^= 0x80;
        }
        column.extend_fixed_raw(&raw[..width]);
        *key = &rest[width..];
        Ok(())
    }
}

pub(crate) fn encode_bytes(mut raw: &[u8], out: &mut Vec<u8>) {
    while let Some(zero) = raw.iter().position(|byte| *byte == 0) {
        out.extend_from_slice(&raw[..zero]);
        out.extend_from_slice(&[0, 0xff]);
        raw = &raw[zero + 1..];
    }
    out.extend_from_slice(raw);
    out.extend_from_slice(&[0, 0]);
}

/// As [`encode_decimal`]; what has more digits in front of the point than fit its exponent stands behind a byte of its
/// own, as do NaN and the infinities.
pub(crate) fn encode_big(number: &Number, out: &mut Vec<u8>) {
    let Some((negative, exponent, mut digits)) = number.key_parts() else {
        out.extend_from_slice(match number {
            Number::NegativeInfinity => &[0, 0],
            Number::Infinity => &[4, 1],
            Number::NaN => &[4, 2],
            Number::Finite { .. } => &[2],
        });
        return;
    };
    let narrow = i16::try_from(exponent).ok();
    out.extend_from_slice(match (narrow.is_some(), negative) {
        (true, true) => &[1],
        (true, false) => &[3],
        (false, true) => &[0, 1],
        (false, false) => &[4, 0],
    });
    let start = out.len();
    match narrow {
        Some(narrow) => out.extend_from_slice(&(narrow.cast_unsigned() ^ 1 << 15).to_be_bytes()),
        None => out.extend_from_slice(&exponent.to_be_bytes()),
    }
    digits.resize(digits.len().next_multiple_of(2), 0);
    out.extend(digits.chunks_exact(2).map(|pair| pair[0] * 10 + pair[1] + 1));
    out.push(0);
    if negative {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

pub(crate) fn encode_decimal(number: &Decimal, out: &mut Vec<u8>) {
    if number.is_zero() {
        out.push(2);
        return;
    }
    out.push(if number.is_negative() { 1 } else { 3 });
    let start = out.len();
    let mut rest = number.unscaled().unsigned_abs();
    let (mut digits, mut count) = ([0u8; 40], 0);
    while rest > 0 {
        digits[count] = (rest % 10) as u8;
        rest /= 10;
        count += 1;
    }
    // The number is 0.d₁d₂… × 10^exponent.
    let exponent = count as i16 - i16::from(number.scale());
    out.extend_from_slice(&(exponent.cast_unsigned() ^ 1 << 15).to_be_bytes());
    digits[..count].reverse();
    let used = digits[..count].iter().rposition(|digit| *digit != 0).map_or(0, |last| last + 1);
    // Behind the last digit there are zeroes, so an odd count needs no care.
    digits[used..].fill(0);
    out.extend(digits[..used.next_multiple_of(2)].chunks_exact(2).map(|pair| pair[0] * 10 + pair[1] + 1));
    out.push(0);
    if number.is_negative() {
        out[start..].iter_mut().for_each(|byte| *byte = !*byte);
    }
}

#[cfg(test)]
mod tests;
