//! Bit strings.
//!
//! Stored are seven bits a byte, each byte being the place of its bits among all strings of up to seven bits in the order in
//! which a dictionary has them: `""`, `0`, `00`, … `1111111`, which are 255. A byte of less than seven bits ends the value. So
//! bytes are in order as bit strings are: bit by bit, and a string before those that go on.

use super::{Opaque, OpaqueKind};
use crate::error::{TypeError, sqlstate};
use crate::interrupt::Pieces;
use crate::sqltype::SqlType;
use crate::value::Value;

/// A bit string while it is worked on: eight bits a byte, the first one at the top, zeroes behind the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bits {
    bytes: Vec<u8>,
    len: usize,
}

/// Bits of a stored byte.
const CHUNK: usize = 7;
/// The longest bit string, in bits: PostgreSQL's.
pub const BITS_MAX: usize = i32::MAX as usize - 7;

/// Bits and their number for each stored byte.
const CHUNKS: [(u8, u8); 255] = chunks();

const fn chunks() -> [(u8, u8); 255] {
    let mut table = [(0, 0); 255];
    let mut place = 0;
    while place < 255 {
        let (mut rest, mut bits, mut len) = (place, 0u8, 0);
        while rest > 0 {
            rest -= 1;
            // so many strings begin with these bits and a zero
            let half = (1usize << (CHUNK - len)) - 1;
            bits <<= 1;
            if rest >= half {
                rest -= half;
                bits |= 1;
            }
            len += 1;
        }
        table[place] = (bits, len as u8);
        place += 1;
    }
    table
}

/// The place of up to seven bits.
fn place(bits: u8, len: usize) -> u8 {
    (0..len).fold(0, |place, at| {
        let bit = bits >> (len - 1 - at) & 1;
        // wide enough: the last place is 254
        place + 1 + if bit == 1 { ((1u16 << (CHUNK - at)) - 1) as u8 } else { 0 }
    })
}

/// The places of seven bits.
static PLACES: [u8; 128] = places();

const fn places() -> [u8; 128] {
    let mut table = [0; 128];
    let mut place = 0;
    while place < 255 {
        let (bits, len) = CHUNKS[place];
        if len as usize == CHUNK {
            table[bits as usize] = place as u8;
        }
        place += 1;
    }
    table
}

impl Bits {
    /// So many zeroes.
    pub fn zeroes(len: usize) -> Bits {
        Bits { bytes: vec![0; len.div_ceil(8)], len }
    }

    /// How many bits there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Are there none?
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bits, eight a byte.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bit at a place from 0; false beyond the last.
    pub fn get(&self, at: usize) -> bool {
        self.bytes.get(at / 8).is_some_and(|byte| byte >> (7 - at % 8) & 1 == 1)
    }

    /// Changes a bit that there is.
    pub fn set(&mut self, at: usize, bit: bool) {
        if at < self.len {
            let mask = 1 << (7 - at % 8);
            if bit { self.bytes[at / 8] |= mask } else { self.bytes[at / 8] &= !mask }
        }
    }

    /// Appends a bit.
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(8) {
            self.bytes.push(0);
        }
        self.len += 1;
        self.set(self.len - 1, bit);
    }

    /// Appends other bits.
    pub fn append(&mut self, other: &Bits) {
        if self.len.is_multiple_of(8) {
            self.bytes.extend_from_slice(&other.bytes);
            self.len += other.len;
        } else {
            self.bytes.reserve(other.bytes.len() + 1);
            for at in (0..other.len).step_by(8) {
                let count = (other.len - at).min(8);
                self.push_bits(other.get_bits(at, count), count);
            }
        }
    }

    /// Appends the last `count` bits of a byte, 8 at most; the others are zero.
    fn push_bits(&mut self, bits: u8, count: usize) {
        if count == 0 {
            return;
        }
        let used = self.len % 8;
        let [first, second] = (u16::from(bits) << (16 - count - used)).to_be_bytes();
        match self.bytes.last_mut() {
            Some(last) if used > 0 => *last |= first,
            _ => self.bytes.push(first),
        }
        if used + count > 8 {
            self.bytes.push(second);
        }
        self.len += count;
    }

    /// `count` bits from a place on, 8 at most and at least one.
    fn get_bits(&self, at: usize, count: usize) -> u8 {
        let byte = |at: usize| self.bytes.get(at).copied().unwrap_or(0);
        let window = u16::from_be_bytes([byte(at / 8), byte(at / 8 + 1)]) << (at % 8);
        (window >> (16 - count)) as u8
    }

    /// `take` bits behind the first `skip`, or as many as there are.
    #[must_use]
    pub fn part(&self, skip: usize, take: usize) -> Bits {
        let skip = skip.min(self.len);
        let take = take.min(self.len - skip);
        let mut part = Bits { bytes: Vec::with_capacity(take.div_ceil(8)), len: 0 };
        for at in (skip..skip + take).step_by(8) {
            let count = (skip + take - at).min(8);
            part.push_bits(self.get_bits(at, count), count);
        }
        part
    }

    /// Byte by byte with another of the same length.
    #[must_use]
    pub fn zip(&self, other: &Bits, with: impl Fn(u8, u8) -> u8) -> Bits {
        Bits {
            bytes: self.bytes.iter().zip(&other.bytes).map(|(a, b)| with(*a, *b)).collect(),
            len: self.len,
        }
    }

    /// Every bit inverted.
    #[must_use]
    pub fn not(&self) -> Bits {
        let mut bits = Bits { bytes: self.bytes.iter().map(|byte| !byte).collect(), len: self.len };
        bits.clear_rest();
        bits
    }

    fn clear_rest(&mut self) {
        if let (Some(last), used @ 1..) = (self.bytes.last_mut(), self.len % 8) {
            *last &= 0xff << (8 - used);
        }
    }

    /// Moved towards the front (to the back with a negative number), zeroes instead of what is lost.
    #[must_use]
    pub fn shift(&self, by: i64) -> Bits {
        let by_bits = usize::try_from(by.unsigned_abs()).unwrap_or(usize::MAX).min(self.len);
        let zeroes = Bits::zeroes(by_bits);
        let (mut front, back) = match by < 0 {
            true => (zeroes, self.part(0, self.len - by_bits)),
            false => (self.part(by_bits, self.len - by_bits), zeroes),
        };
        front.append(&back);
        front
    }

    /// Reads `101`, `b101`, `x1F`.
    /// # Errors
    /// 22P02.
    pub fn parse(text: &str) -> Result<Bits, TypeError> {
        let wrong = |c: char, kind: &str| {
            let text = format!("\"{c}\" is not a valid {kind} digit");
            TypeError::new(sqlstate::INVALID_TEXT_REPRESENTATION, text)
        };
        let mut bits = Bits::default();
        let mut work = Pieces::default();
        match text.strip_prefix(['x', 'X']) {
            Some(digits) => {
                for c in digits.chars() {
                    let digit = c.to_digit(16).ok_or_else(|| wrong(c, "hexadecimal"))?;
                    bits.push_bits(digit as u8, 4);
                    work.one_more()?;
                }
            }
            None => {
                for c in text.strip_prefix(['b', 'B']).unwrap_or(text).chars() {
                    match c {
                        '0' | '1' => bits.push_bits(u8::from(c == '1'), 1),
                        _ => return Err(wrong(c, "binary")),
                    }
                    work.one_more()?;
                }
            }
        }
        Ok(bits)
    }

    /// Appends zeroes and ones.
    pub fn format(&self, out: &mut String) {
        out.reserve(self.len);
        let mut left = self.len;
        for byte in &self.bytes {
            let digits: [u8; 8] = std::array::from_fn(|at| b'0' + (byte >> (7 - at) & 1));
            out.push_str(std::str::from_utf8(&digits[..left.min(8)]).unwrap_or_default());
            left = left.saturating_sub(8);
        }
    }

    /// As a value of a type with a length: `cut` for explicit casts, which shorten or add zeroes.
    /// # Errors
    /// 22026, 22001 where the length does not fit.
    pub fn fit(mut self, ty: &SqlType, cut: bool) -> Result<Bits, TypeError> {
        match ty {
            SqlType::Bit(Some(wanted)) if *wanted as usize != self.len => {
                if !cut {
                    let text = format!("bit string length {} does not match type bit({wanted})", self.len);
                    return Err(TypeError::new("22026", text));
                }
                let wanted = *wanted as usize;
                self.bytes.resize(wanted.div_ceil(8), 0);
                self.len = wanted;
                self.clear_rest();
            }
            SqlType::Varbit(Some(wanted)) if (*wanted as usize) < self.len => {
                if !cut {
                    let text = format!("bit string too long for type bit varying({wanted})");
                    return Err(TypeError::new(sqlstate::STRING_DATA_RIGHT_TRUNCATION, text));
                }
                self.len = *wanted as usize;
                self.bytes.truncate(self.len.div_ceil(8));
                self.clear_rest();
            }
            _ => {}
        }
        Ok(self)
    }

    /// The lowest `len` bits of a number, with its sign in front of them.
    pub fn of_integer(number: i64, len: usize) -> Bits {
        // those in front are all like the sign
        let sign = if number < 0 { 0xff } else { 0 };
        let mut bits = Bits { bytes: vec![sign; len.div_ceil(8)], len };
        bits.clear_rest();
        for at in len.saturating_sub(64)..len {
            let from_end = len - 1 - at;
            bits.set(at, number >> from_end.min(63) & 1 == 1);
        }
        bits
    }

    /// The number whose last bits these are; `None` for more than `width` bits.
    pub fn to_integer(&self, width: usize) -> Option<u64> {
        let number = |bits: &Bits| (0..bits.len).fold(0, |number, at| number << 1 | u64::from(bits.get(at)));
        (self.len <= width).then(|| number(self))
    }

    /// The stored value.
    pub fn value(&self) -> Opaque {
        let mut stored = Vec::with_capacity(self.len / CHUNK + 1);
        let mut at = 0;
        loop {
            let len = (self.len - at).min(CHUNK);
            if len < CHUNK {
                let bits = if len > 0 { self.get_bits(at, len) } else { 0 };
                stored.push(place(bits, len));
                return Opaque::new(OpaqueKind::Bits, stored);
            }
            stored.push(PLACES[usize::from(self.get_bits(at, CHUNK))]);
            at += len;
        }
    }

    /// As [`Bits::value`], a value.
    pub fn into_value(self) -> Value {
        Value::Opaque(self.value())
    }

    /// The bits of a stored value.
    pub fn of(value: &Opaque) -> Bits {
        let mut bits = Bits { bytes: Vec::with_capacity(value.bytes().len()), len: 0 };
        for byte in value.bytes() {
            let (chunk, len) = CHUNKS.get(usize::from(*byte)).copied().unwrap_or_default();
            bits.push_bits(chunk, usize::from(len));
        }
        bits
    }

    /// How many bits a stored value has.
    pub fn len_of(value: &Opaque) -> usize {
        let Some((last, rest)) = value.bytes().split_last() else { return 0 };
        rest.len() * CHUNK + CHUNKS.get(usize::from(*last)).map_or(0, |(_, len)| usize::from(*len))
    }

    pub(super) fn send(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&i32::try_from(self.len).unwrap_or(i32::MAX).to_be_bytes());
        out.extend_from_slice(&self.bytes);
    }

    pub(super) fn receive(bytes: &[u8]) -> Result<Bits, TypeError> {
        let (head, rest) = bytes.split_first_chunk().ok_or_else(crate::wire::insufficient)?;
        let len = usize::try_from(i32::from_be_bytes(*head))
            .ok()
            .filter(|len| *len <= BITS_MAX)
            .ok_or_else(|| crate::wire::malformed("invalid length in external bit string"))?;
        match rest.len().cmp(&len.div_ceil(8)) {
            std::cmp::Ordering::Less => return Err(crate::wire::insufficient()),
            std::cmp::Ordering::Greater => return Err(crate::wire::malformed(crate::wire::SURPLUS)),
            std::cmp::Ordering::Equal => {}
        }
        let mut bits = Bits { bytes: rest.to_vec(), len };
        bits.clear_rest();
        Ok(bits)
    }
}
