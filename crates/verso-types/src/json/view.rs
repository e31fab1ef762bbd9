//! Reading the binary form.

use crate::decimal::Decimal;
use crate::number::Number;
use crate::value::Value;

/// A value within the binary form.
#[derive(Clone, Copy, Debug)]
pub enum JsonRef<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number
    Number(Decimal),
    /// A number of more than 38 digits
    Long(LongNumber<'a>),
    /// A string, without its quotes and escapes
    String(&'a str),
    /// `[…]`
    Array(ArrayRef<'a>),
    /// `{…}`
    Object(ObjectRef<'a>),
}

/// A number of more digits than a [`Decimal`] has, in the layout of numeric columns.
#[derive(Clone, Copy, Debug)]
pub struct LongNumber<'a>(&'a [u8]);

impl<'a> LongNumber<'a> {
    fn read(bytes: &'a [u8]) -> Option<LongNumber<'a>> {
        Number::is_finite_in_bytes(bytes).then_some(LongNumber(bytes))
    }

    /// Its layout.
    pub(super) fn bytes(self) -> &'a [u8] {
        self.0
    }

    /// The number.
    #[must_use]
    pub fn number(self) -> Number {
        match Number::value_from_bytes(self.0) {
            Ok(Value::Big(number)) => Number::clone(&number),
            Ok(_) | Err(_) => Number::zero(),
        }
    }
}

/// Integers of one width.
#[derive(Clone, Copy, Debug)]
struct Ends<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl Ends<'_> {
    fn get(&self, index: usize) -> Option<usize> {
        let at = index.checked_mul(self.width)?;
        let raw = self.bytes.get(at..at + self.width)?;
        Some(raw.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
    }

    /// The bytes of item `index` among `items`.
    fn item<'i>(&self, index: usize, items: &'i [u8]) -> Option<&'i [u8]> {
        let start = match index.checked_sub(1) {
            Some(before) => self.get(before)?,
            None => 0,
        };
        items.get(start..self.get(index)?)
    }
}

/// The elements of an array.
#[derive(Clone, Copy, Debug)]
pub struct ArrayRef<'a> {
    count: usize,
    ends: Ends<'a>,
    values: &'a [u8],
}

/// The pairs of an object, in the order of the keys.
#[derive(Clone, Copy, Debug)]
pub struct ObjectRef<'a> {
    count: usize,
    key_ends: Ends<'a>,
    value_ends: Ends<'a>,
    keys: &'a [u8],
    values: &'a [u8],
}

/// Takes `count` integers of `width` from the front.
fn take_ends<'a>(bytes: &'a [u8], count: usize, width: usize) -> Option<(Ends<'a>, &'a [u8])> {
    let (ends, rest) = bytes.split_at_checked(count.checked_mul(width)?)?;
    Some((Ends { bytes: ends, width }, rest))
}

/// Count and what is behind it.
fn take_count(bytes: &[u8], width: usize) -> Option<(usize, &[u8])> {
    let (count, rest) = take_ends(bytes, 1, width)?;
    Some((count.get(0)?, rest))
}

fn array(bytes: &[u8], width: usize) -> Option<JsonRef<'_>> {
    let (count, rest) = take_count(bytes, width)?;
    let (ends, values) = take_ends(rest, count, width)?;
    Some(JsonRef::Array(ArrayRef { count, ends, values }))
}

fn object(bytes: &[u8], width: usize) -> Option<JsonRef<'_>> {
    let (count, rest) = take_count(bytes, width)?;
    let (key_ends, rest) = take_ends(rest, count, width)?;
    let (value_ends, rest) = take_ends(rest, count, width)?;
    let keys_length = count.checked_sub(1).map_or(Some(0), |last| key_ends.get(last))?;
    let (keys, values) = rest.split_at_checked(keys_length)?;
    Some(JsonRef::Object(ObjectRef { count, key_ends, value_ends, keys, values }))
}

impl<'a> JsonRef<'a> {
    /// The value with this binary form; null where that is broken.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> JsonRef<'a> {
        let Some((tag, rest)) = bytes.split_first() else { return JsonRef::Null };
        let found = match tag {
            2 => Some(JsonRef::Bool(false)),
            3 => Some(JsonRef::Bool(true)),
            4 => match Decimal::from_bytes(rest) {
                Ok(number) => Some(JsonRef::Number(number)),
                Err(_) => LongNumber::read(rest).map(JsonRef::Long),
            },
            5 => std::str::from_utf8(rest).ok().map(JsonRef::String),
            6..=8 => array(rest, 1 << (tag - 6)),
            9..=11 => object(rest, 1 << (tag - 9)),
            _ => None,
        };
        found.unwrap_or(JsonRef::Null)
    }

    /// `object`, `array`, `string`, `number`, `boolean`, `null`.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            JsonRef::Null => "null",
            JsonRef::Bool(_) => "boolean",
            JsonRef::Number(_) | JsonRef::Long(_) => "number",
            JsonRef::String(_) => "string",
            JsonRef::Array(_) => "array",
            JsonRef::Object(_) => "object",
        }
    }

    /// The number that it is, however long.
    #[must_use]
    pub fn as_number(&self) -> Option<Number> {
        match self {
            JsonRef::Number(number) => Some(Number::from(*number)),
            JsonRef::Long(number) => Some(number.number()),
            _ => None,
        }
    }

    /// Is it neither an array nor an object?
    #[must_use]
    pub fn is_scalar(&self) -> bool {
        !matches!(self, JsonRef::Array(_) | JsonRef::Object(_))
    }
}

impl<'a> ArrayRef<'a> {
    /// How many elements there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Has it none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The binary form of an element.
    #[must_use]
    pub fn raw(&self, index: usize) -> Option<&'a [u8]> {
        (index < self.count).then(|| self.ends.item(index, self.values).unwrap_or(&[]))
    }

    /// The binary form of the element at an index that counts from the end if it is negative.
    #[must_use]
    pub fn at(&self, index: i64) -> Option<&'a [u8]> {
        let index = if index < 0 { index.checked_add(i64::try_from(self.count).ok()?)? } else { index };
        self.raw(usize::try_from(index).ok()?)
    }

    /// The binary forms of all elements.
    pub fn iter_raw(self) -> impl Iterator<Item = &'a [u8]> {
        (0..self.count).map(move |index| self.ends.item(index, self.values).unwrap_or(&[]))
    }

    /// All elements.
    pub fn iter(self) -> impl Iterator<Item = JsonRef<'a>> {
        self.iter_raw().map(JsonRef::read)
    }
}

impl<'a> ObjectRef<'a> {
    /// How many pairs there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.count
    }

    /// Has it none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn key_bytes(&self, index: usize) -> &'a [u8] {
        self.key_ends.item(index, self.keys).unwrap_or(&[])
    }

    /// A key.
    #[must_use]
    pub fn key(&self, index: usize) -> &'a str {
        std::str::from_utf8(self.key_bytes(index)).unwrap_or_default()
    }

    /// The binary form of the value at an index.
    #[must_use]
    pub fn raw(&self, index: usize) -> &'a [u8] {
        self.value_ends.item(index, self.values).unwrap_or(&[])
    }

    /// The binary form of the value of a key: by bisection.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&'a [u8]> {
        let (mut low, mut high) = (0, self.count);
        let wanted = (key.len(), key.as_bytes());
        while low < high {
            let middle = (low + high) / 2;
            let found = self.key_bytes(middle);
            match (found.len(), found).cmp(&wanted) {
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
                std::cmp::Ordering::Equal => return Some(self.raw(middle)),
            }
        }
        None
    }

    /// All keys with the binary forms of their values.
    pub fn iter_raw(self) -> impl Iterator<Item = (&'a str, &'a [u8])> {
        (0..self.count).map(move |index| (self.key(index), self.raw(index)))
    }

    /// All pairs.
    pub fn iter(self) -> impl Iterator<Item = (&'a str, JsonRef<'a>)> {
        self.iter_raw().map(|(key, raw)| (key, JsonRef::read(raw)))
    }
}
