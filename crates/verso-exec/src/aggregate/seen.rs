//! The different values that an aggregate with DISTINCT has seen.
//!
//! ```text
//! texts: bytes  a n n a b o b …      ends  4 7 …      slots  hash │ number of the text, from 1 on
//! ```
//!
//! 1. Texts stand one behind the other in one place: they are told apart by their bytes, and many of them are gone at once.
//! 2. Values of other types are told apart as SQL does it.

use std::collections::HashSet;

use verso_types::{SqlType, Value, without_blanks};

use super::accumulator::{Key, payload};
use crate::exec::hash_of_bytes;
use crate::plan::AggregateCall;

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    texts: Texts,
    /// Whether blanks at the end of texts do not count: those of a char.
    padded: bool,
    values: HashSet<Key>,
    /// Bytes of the values beside the places they stand in.
    payload: usize,
}

/// A set of texts.
#[derive(Clone, Debug, Default)]
struct Texts {
    bytes: Vec<u8>,
    /// Where each text ends.
    ends: Vec<usize>,
    /// The upper bits of a hash, and the number of its text; 0 where there is none.
    slots: Vec<u64>,
}

/// Bits of a slot that say the number of a text.
const NUMBER_BITS: u32 = 40;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;
/// Slots of the first table.
const FIRST_SLOTS: usize = 4;

impl Seen {
    /// None yet of the argument of a call.
    pub fn of(call: &AggregateCall) -> Seen {
        let padded = call.args.first().is_some_and(|arg| matches!(arg.ty, SqlType::Char(_)));
        Seen { padded, ..Seen::default() }
    }

    /// Takes a value. False where it was there.
    pub fn insert(&mut self, value: &Value) -> bool {
        if let Value::Text(text) = value {
            return self.insert_text(text.as_bytes());
        }
        let is_new = self.values.insert(Key(value.clone()));
        if is_new {
            self.payload += payload(value);
        }
        is_new
    }

    /// The same for a text with these bytes.
    pub fn insert_text(&mut self, text: &[u8]) -> bool {
        self.texts.insert(if self.padded { without_blanks(text) } else { text })
    }

    /// All of them.
    pub fn into_values(self) -> impl Iterator<Item = Value> {
        let Seen { texts, values, .. } = self;
        let texts = (0..texts.ends.len())
            .map(move |number| Value::text(&String::from_utf8_lossy(texts.text(number))));
        texts.chain(values.into_iter().map(|key| key.0))
    }

    /// Roughly the memory held, itself included; 0 before the first value, as states begin with none.
    pub fn heap_bytes(&self) -> usize {
        let Texts { bytes, ends, slots } = &self.texts;
        let texts = bytes.capacity() + (ends.capacity() + slots.capacity()) * size_of::<u64>();
        match texts + self.values.capacity() * (size_of::<Key>() + 8) + self.payload {
            0 => 0,
            held => held + size_of::<Seen>(),
        }
    }
}

impl Texts {
    fn text(&self, number: usize) -> &[u8] {
        let start = number.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.bytes[start..self.ends[number]]
    }

    fn insert(&mut self, text: &[u8]) -> bool {
        if self.ends.len() >= self.slots.len() / 4 * 3 {
            self.grow();
        }
        let hash = hash_of_bytes(text);
        let last = self.slots.len() - 1;
        let mut at = hash as usize & last;
        loop {
            match self.slots[at] {
                0 => break,
                slot if slot & !NUMBER == hash & !NUMBER
                    && self.text((slot & NUMBER) as usize - 1) == text =>
                {
                    return false;
                }
                _ => at = (at + 1) & last,
            }
        }
        self.bytes.extend_from_slice(text);
        self.ends.push(self.bytes.len());
        self.slots[at] = hash & !NUMBER | self.ends.len() as u64;
        true
    }

    fn grow(&mut self) {
        let slots = (self.slots.len() * 2).max(FIRST_SLOTS);
        self.slots = vec![0; slots];
        for number in 0..self.ends.len() {
            let hash = hash_of_bytes(self.text(number));
            let mut at = hash as usize & (slots - 1);
            while self.slots[at] != 0 {
                at = (at + 1) & (slots - 1);
            }
            self.slots[at] = hash & !NUMBER | (number as u64 + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_is_new_once() {
        let mut seen = Seen::default();
        for round in 0..3 {
            for n in 0..5_000 {
                let text = Value::text(&format!("{}{n}", "x".repeat(n % 40)));
                assert_eq!(seen.insert(&text), round == 0, "{text:?}");
                assert_eq!(seen.insert(&Value::Int4(n as i32)), round == 0);
            }
            assert_eq!(seen.insert(&Value::text("")), round == 0);
        }
        assert!(!seen.insert(&Value::Int8(7)), "numbers are equal whatever their type");
        assert!(seen.heap_bytes() > 100_000);
        assert_eq!(seen.into_values().count(), 10_001);
    }
}
