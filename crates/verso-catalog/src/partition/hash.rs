//! Hashes of partition keys: PostgreSQL's, bit for bit.
//!
//! Source: Bob Jenkins, "lookup3.c", 2006 (public domain), as PostgreSQL's `hash_bytes_extended` uses it.

use verso_types::key::KeyType;
use verso_types::{SqlType, TimeStyle, TypeError, Value, format_text, without_blanks};

/// PostgreSQL's `HASH_PARTITION_SEED`.
const SEED: u64 = 0x7A5B_2236_7996_DCFD;

/// Whether values of a type can be hashed.
pub fn is_hashed(ty: &SqlType) -> bool {
    let erased = ty.erased();
    if let SqlType::Array(element) = &erased {
        return !matches!(**element, SqlType::Array(_)) && is_hashed(element);
    }
    matches!(
        erased,
        SqlType::Bool
            | SqlType::Int2
            | SqlType::Int4
            | SqlType::Int8
            | SqlType::Oid
            | SqlType::Float4
            | SqlType::Float8
            | SqlType::Numeric(_)
            | SqlType::LongNumeric(_)
            | SqlType::Text
            | SqlType::Varchar(_)
            | SqlType::Char(_)
            | SqlType::Name
            | SqlType::Bytea
            | SqlType::Uuid
            | SqlType::Date
            | SqlType::Time(_)
            | SqlType::Interval(_)
            | SqlType::Timestamp(_)
            | SqlType::Timestamptz(_)
    ) && !matches!(KeyType::of(ty), Some(KeyType::Collated(collator)) if !collator.is_deterministic())
}

/// The hash of the key of a row. NULLs do not count.
///
/// # Errors
/// 0A000 for a type that [`is_hashed`] does not know.
pub fn of_row(values: &[Value], types: &[SqlType]) -> Result<u64, TypeError> {
    let mut row = 0_u64;
    for (value, ty) in values.iter().zip(types) {
        if let Some(hash) = of_value(value, ty)? {
            let mixed =
                hash.wrapping_add(0x49a0_f4dd_15e5_a8e3).wrapping_add(row << 54).wrapping_add(row >> 7);
            row ^= mixed;
        }
    }
    Ok(row)
}

fn of_value(value: &Value, ty: &SqlType) -> Result<Option<u64>, TypeError> {
    let hash = match value {
        Value::Null => return Ok(None),
        Value::Bool(value) => of_word(u32::from(*value), SEED),
        Value::Int8(value) if ty.erased() == SqlType::Oid => of_word(*value as u32, SEED),
        Value::Float4(value) => of_float(f64::from(*value)),
        Value::Float8(value) => of_float(*value),
        Value::Numeric(_) | Value::Big(_) => {
            let mut text = String::new();
            format_text(value, &ty.erased(), &TimeStyle::UTC, &mut text);
            of_numeric(&text)
        }
        Value::Time(micros) => of_long(*micros),
        Value::Interval(interval) => {
            let days = i128::from(interval.months) * 30 + i128::from(interval.days);
            of_long((days * 86_400_000_000 + i128::from(interval.micros)) as i64)
        }
        Value::Array(array) => {
            let SqlType::Array(element) = ty.erased() else { return Err(unknown(ty)) };
            let mut hash = 1_u64;
            for value in array.iter() {
                let own = of_value(value, &element)?.unwrap_or_default();
                hash = hash.wrapping_mul(31).wrapping_add(own);
            }
            hash
        }
        Value::Int2(value) => of_word(i32::from(*value).cast_unsigned(), SEED),
        Value::Int4(value) | Value::Date(value) => of_word(value.cast_unsigned(), SEED),
        Value::Int8(value) | Value::Timestamp(value) | Value::Timestamptz(value) => of_long(*value),
        // Blanks at the end of a char do not count.
        Value::Text(text) if matches!(ty.erased(), SqlType::Char(_)) => {
            of_bytes(without_blanks(text.as_bytes()), SEED)
        }
        Value::Text(text) => of_bytes(text.as_bytes(), SEED),
        Value::Bytes(bytes) => of_bytes(bytes, SEED),
        Value::Uuid(number) => of_bytes(&number.to_be_bytes(), SEED),
        _ => return Err(unknown(ty)),
    };
    Ok(Some(hash))
}

fn unknown(ty: &SqlType) -> TypeError {
    TypeError::new("0A000", format!("hashing of type {} is not supported", ty.pg_name()))
}

/// Zeros of both signs are equal, and so are all that are not a number.
fn of_float(value: f64) -> u64 {
    match value {
        0.0 => SEED,
        value if value.is_nan() => of_bytes(&f64::NAN.to_bits().to_le_bytes(), SEED),
        value => of_bytes(&value.to_le_bytes(), SEED),
    }
}

/// The hash of a number in decimal digits: PostgreSQL's digits of base 10,000 without zeros at either end, then their place.
fn of_numeric(text: &str) -> u64 {
    let digits = text.trim_start_matches('-');
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if !digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return SEED; // NaN, infinities
    }
    let padded = format!("{}{whole}", "0".repeat((4 - whole.len() % 4) % 4));
    let mut weight = padded.len() as i64 / 4 - 1;
    let all = format!("{padded}{fraction}{}", "0".repeat((4 - fraction.len() % 4) % 4));
    let digit = |four: &[u8]| four.iter().fold(0_u16, |digit, byte| digit * 10 + u16::from(byte - b'0'));
    let digits: Vec<u16> = all.as_bytes().chunks(4).map(digit).collect();
    let Some(first) = digits.iter().position(|digit| *digit != 0) else { return SEED.wrapping_sub(1) };
    let end = digits.iter().rposition(|digit| *digit != 0).map_or(first, |last| last + 1);
    weight -= first as i64;
    let bytes: Vec<u8> = digits[first..end].iter().flat_map(|digit| digit.to_le_bytes()).collect();
    of_bytes(&bytes, SEED) ^ weight.cast_unsigned()
}

/// Equal numbers of different widths have equal hashes.
fn of_long(value: i64) -> u64 {
    let (low, high) = (value as u32, (value >> 32) as u32);
    of_word(low ^ if value >= 0 { high } else { !high }, SEED)
}

fn rotate_into(state: &mut [u32; 3]) {
    let [a, b, c] = state;
    for (first, second) in [(4, 6), (16, 19)] {
        let third = if first == 4 { 8 } else { 4 };
        *a = a.wrapping_sub(*c) ^ c.rotate_left(first);
        *c = c.wrapping_add(*b);
        *b = b.wrapping_sub(*a) ^ a.rotate_left(second);
        *a = a.wrapping_add(*c);
        *c = c.wrapping_sub(*b) ^ b.rotate_left(third);
        *b = b.wrapping_add(*a);
    }
}

fn finished([mut a, mut b, mut c]: [u32; 3]) -> u64 {
    c = (c ^ b).wrapping_sub(b.rotate_left(14));
    a = (a ^ c).wrapping_sub(c.rotate_left(11));
    b = (b ^ a).wrapping_sub(a.rotate_left(25));
    c = (c ^ b).wrapping_sub(b.rotate_left(16));
    a = (a ^ c).wrapping_sub(c.rotate_left(4));
    b = (b ^ a).wrapping_sub(a.rotate_left(14));
    c = (c ^ b).wrapping_sub(b.rotate_left(24));
    u64::from(b) << 32 | u64::from(c)
}

/// The state that a hash of so many bytes begins with.
fn begun(length: usize, seed: u64) -> [u32; 3] {
    let first = 0x9e37_79b9_u32.wrapping_add(length as u32).wrapping_add(3_923_095);
    let mut state = [first; 3];
    if seed != 0 {
        state[0] = state[0].wrapping_add((seed >> 32) as u32);
        state[1] = state[1].wrapping_add(seed as u32);
        rotate_into(&mut state);
    }
    state
}

fn of_word(word: u32, seed: u64) -> u64 {
    let mut state = begun(4, seed);
    state[0] = state[0].wrapping_add(word);
    finished(state)
}

fn of_bytes(bytes: &[u8], seed: u64) -> u64 {
    let mut state = begun(bytes.len(), seed);
    let word = |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |word, byte| word << 8 | u32::from(*byte));
    let chunks = bytes.chunks_exact(12);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (part, bytes) in state.iter_mut().zip(chunk.chunks(4)) {
            *part = part.wrapping_add(word(bytes));
        }
        rotate_into(&mut state);
    }
    for (number, (part, bytes)) in state.iter_mut().zip(rest.chunks(4)).enumerate() {
        // the lowest byte of the last word is the length's
        let shift = if number == 2 { 8 } else { 0 };
        *part = part.wrapping_add(word(bytes) << shift);
    }
    finished(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `satisfies_hash_partition` of PostgreSQL 18.4 says the same of these.
    #[test]
    fn hashes_are_those_of_postgresql() {
        let one = |value: Value, ty: SqlType| of_row(&[value], &[ty]).unwrap() % 1009;
        let found = [
            one(Value::Int4(1), SqlType::Int4),
            one(Value::Int4(-7), SqlType::Int4),
            one(Value::Int8(5_000_000_000), SqlType::Int8),
            one(Value::Int8(-5_000_000_000), SqlType::Int8),
            one(Value::text("a"), SqlType::Text),
            one(Value::text("exactly-12-b"), SqlType::Text),
            one(Value::text("a text of more than twenty-four bytes"), SqlType::Text),
        ];
        assert_eq!(found, [37, 773, 837, 461, 107, 402, 891]);
        let both = of_row(&[Value::Int4(1), Value::text("x")], &[SqlType::Int4, SqlType::Text]).unwrap();
        assert_eq!(both % 1009, 594);
    }
}
