//! Keys of inverted indexes: the parts of a value that a search may ask for, each a key of its own.
//!
//! ```text
//! value ─► keys, in order, each once ─► an index entry for each            search ─► [`Search`]: which keys a row must have
//! ```
//!
//! | class | keys of a value |
//! |---|---|
//! | `jsonb_ops` | each key of its objects, each scalar; a string of an array counts as a key |
//! | `jsonb_path_ops` | of each scalar one hash: of it and of the keys on the way to it |
//! | `array_ops` | each element; an array without any has the key [`EMPTY`] |
//! | `gin_trgm_ops` | each trigram of a text ([`trigram`]) |
//! | `tsvector_ops` | each lexeme |
//! | `gin_hstore_ops` | each key alone, and each key with its value |
//!
//! 1. Keys begin with the number of the index's part, and none is a prefix of another.
//! 2. Equal values have equal keys; different ones may share a key, and long ones are replaced by their hash. So what a search
//!    finds are candidates: the operator has the last word.
//! 3. A value that an operator accepts is always among the candidates of its search.

mod element;
mod jsonb;
mod lexeme;
mod pair;
mod path;
pub mod trigram;

use crate::error::TypeError;
use crate::json::JsonRef;
use crate::key::{KeyType, encode_bytes};
use crate::opaque::OpaqueKind;
use crate::row;
use crate::text_search::TsQuery;
use crate::value::Value;

/// Longest key, with the number of its part; longer ones are hashed.
const LONGEST: usize = 96;
/// Of keys of jsonb and of arrays, behind the number of the part.
const HASHED: u8 = 0xf0;
/// The one key of an array without elements that are not NULL.
pub const EMPTY: u8 = 0xf1;

/// A set of keys: in order, each once, after [`Keys::sort`].
#[derive(Clone, Debug, Default)]
pub struct Keys {
    bytes: Vec<u8>,
    /// Where each begins and ends.
    places: Vec<(u32, u32)>,
}

impl Keys {
    /// Forgets all, keeps the memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Is there none?
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Adds the key that `write` appends, as it is; none where it appends nothing.
    ///
    /// # Errors
    /// What `write` returns; nothing is added then.
    pub fn push_with<T, E>(&mut self, write: impl FnOnce(&mut Vec<u8>) -> Result<T, E>) -> Result<T, E> {
        let start = self.bytes.len();
        let written = write(&mut self.bytes);
        match written.is_ok() {
            true if self.bytes.len() > start => self.places.push((start as u32, self.bytes.len() as u32)),
            true => {}
            false => self.bytes.truncate(start),
        }
        written
    }

    /// Adds a key of a part of an inverted index.
    fn push_of(&mut self, part: u8, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        self.bytes.push(part);
        write(&mut self.bytes);
        if self.bytes.len() - start > LONGEST {
            let hash = hash(SEED, &self.bytes[start + 1..]);
            self.bytes.truncate(start + 1);
            self.bytes.push(HASHED);
            self.bytes.extend_from_slice(&hash.to_be_bytes());
        }
        self.places.push((start as u32, self.bytes.len() as u32));
    }

    /// The keys.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.places.iter().map(|place| of(&self.bytes, *place))
    }

    /// Brings them into order, each once.
    pub fn sort(&mut self) {
        if self.places.len() > 1 {
            let Keys { bytes, places } = self;
            places.sort_unstable_by(|a, b| of(bytes, *a).cmp(of(bytes, *b)));
            places.dedup_by(|a, b| of(bytes, *a) == of(bytes, *b));
        }
    }

    /// Takes out those that `other` has, too; both are sorted.
    pub fn subtract(&mut self, other: &Keys) {
        let Keys { bytes, places } = self;
        let mut others = other.iter().peekable();
        places.retain(|place| {
            let key = of(bytes, *place);
            while others.next_if(|other| *other < key).is_some() {}
            others.peek().is_none_or(|other| *other != key)
        });
    }
}

impl PartialEq for Keys {
    fn eq(&self, other: &Keys) -> bool {
        self.iter().eq(other.iter())
    }
}

#[inline]
fn of(bytes: &[u8], (start, end): (u32, u32)) -> &[u8] {
    &bytes[start as usize..end as usize]
}

/// Adds the keys that a stored value has as this part of an inverted index; NULL has none. They are not sorted yet.
///
/// # Errors
/// XX001 where the bytes are no such value.
pub fn extract(ty: KeyType, part: u8, raw: Option<&[u8]>, keys: &mut Keys) -> Result<(), TypeError> {
    let Some(raw) = raw else { return Ok(()) };
    match ty {
        KeyType::JsonbKeys => jsonb::keys(part, JsonRef::read(raw), keys),
        KeyType::JsonbPaths => jsonb::paths(part, JsonRef::read(raw), keys),
        KeyType::Elements => match row::decode_value(raw)? {
            Value::Array(array) => element::keys(part, &array, keys),
            _ => return Err(TypeError::corrupt("an array")),
        },
        KeyType::Trigrams => {
            // Bytes that are no text have the keys of what is left of them.
            let text = String::from_utf8_lossy(raw);
            trigram::of(&text).iter().for_each(|trigram| keys.push_of(part, |out| trigram.put(out)));
        }
        KeyType::Lexemes => lexeme::keys(part, raw, keys),
        KeyType::Pairs => pair::keys(part, raw, keys),
        _ => return Err(TypeError::corrupt("a key of an inverted index")),
    }
    Ok(())
}

/// An operator that an inverted index finds rows for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Strategy {
    /// `column @> value`
    Contains,
    /// `column <@ value`
    ContainedBy,
    /// `column && value`
    Overlaps,
    /// `column = value`
    Equal,
    /// `column ? key`
    HasKey,
    /// `column ?| keys`
    HasAnyKey,
    /// `column ?& keys`
    HasAllKeys,
    /// `column @? path`
    PathExists,
    /// `column @@ path`
    PathMatches,
    /// `column LIKE pattern`, `column ILIKE pattern`
    Like,
    /// `column ~ pattern`, `column ~* pattern`
    Regex {
        /// Whatever the case.
        fold: bool,
    },
    /// `column % value`: similar to at least the threshold
    Similar,
    /// `column @@ query` of text search
    Matches,
}

impl KeyType {
    /// Does an inverted index with such keys find rows by this operator?
    #[must_use]
    pub fn finds(self, strategy: Strategy) -> bool {
        use Strategy as S;
        match self {
            KeyType::JsonbKeys => matches!(
                strategy,
                S::Contains | S::HasKey | S::HasAnyKey | S::HasAllKeys | S::PathExists | S::PathMatches
            ),
            KeyType::JsonbPaths => matches!(strategy, S::Contains | S::PathExists | S::PathMatches),
            KeyType::Elements => {
                matches!(strategy, S::Contains | S::ContainedBy | S::Overlaps | S::Equal)
            }
            KeyType::Trigrams => matches!(strategy, S::Like | S::Regex { .. } | S::Similar | S::Equal),
            KeyType::Lexemes => strategy == S::Matches,
            KeyType::Pairs => {
                matches!(strategy, S::Contains | S::HasKey | S::HasAnyKey | S::HasAllKeys)
            }
            _ => false,
        }
    }
}

/// Which keys a row must have to be a candidate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// This one.
    Key(Vec<u8>),
    /// One that begins so.
    Prefix(Vec<u8>),
    /// What all of them say.
    All(Vec<Search>),
    /// What one of them says; without any: no row.
    Any(Vec<Search>),
    /// What at least so many of them say.
    Some(usize, Vec<Search>),
    /// Nothing is known: any row.
    Unknown,
}

impl Search {
    /// No row.
    #[must_use]
    pub fn nothing() -> Search {
        Search::Any(Vec::new())
    }

    /// What all of them say.
    #[must_use]
    pub fn all(parts: impl IntoIterator<Item = Search>) -> Search {
        let mut known: Vec<Search> = parts.into_iter().filter(|part| *part != Search::Unknown).collect();
        match known.len() {
            0 => Search::Unknown,
            1 => known.remove(0),
            _ => Search::All(known),
        }
    }

    /// What one of them says.
    #[must_use]
    pub fn any(parts: impl IntoIterator<Item = Search>) -> Search {
        let mut parts: Vec<Search> = parts.into_iter().collect();
        if parts.contains(&Search::Unknown) {
            return Search::Unknown;
        }
        if parts.len() == 1 { parts.remove(0) } else { Search::Any(parts) }
    }

    fn of_keys(keys: &mut Keys) -> impl Iterator<Item = Search> {
        keys.sort();
        keys.iter().map(|key| Search::Key(key.to_vec()))
    }

    fn one(part: u8, write: impl FnOnce(&mut Vec<u8>)) -> Search {
        let mut keys = Keys::default();
        keys.push_of(part, write);
        Search::Key(keys.bytes)
    }

    /// The search for `column operator value` through this part of an index.
    ///
    /// A value of a type that the operator does not take says nothing, nor do regular expressions, which are not read here.
    #[must_use]
    pub fn of(ty: KeyType, part: u8, strategy: Strategy, value: &Value) -> Search {
        use Strategy as S;
        let texts = |keys: &crate::array::Array, search: fn(u8, &str) -> Search| -> Vec<Search> {
            keys.iter().filter_map(Value::as_str).map(|key| search(part, key)).collect()
        };
        let mut keys = Keys::default();
        match (ty, strategy, value) {
            (_, _, Value::Null) => Search::nothing(),
            (KeyType::JsonbKeys, S::Contains, Value::Jsonb(value)) => {
                jsonb::keys(part, value.root(), &mut keys);
                Search::all(Search::of_keys(&mut keys))
            }
            (KeyType::JsonbPaths, S::Contains, Value::Jsonb(value)) => {
                jsonb::paths(part, value.root(), &mut keys);
                Search::all(Search::of_keys(&mut keys))
            }
            (KeyType::JsonbKeys, S::HasKey, Value::Text(key)) => jsonb::key(part, key),
            (KeyType::JsonbKeys, S::HasAnyKey, Value::Array(keys)) => Search::any(texts(keys, jsonb::key)),
            (KeyType::JsonbKeys, S::HasAllKeys, Value::Array(keys)) => Search::all(texts(keys, jsonb::key)),
            (KeyType::Pairs, S::Contains, Value::Opaque(value)) if value.kind() == OpaqueKind::Hstore => {
                pair::all(part, value.bytes())
            }
            (KeyType::Pairs, S::HasKey, Value::Text(key)) => pair::key(part, key),
            (KeyType::Pairs, S::HasAnyKey, Value::Array(keys)) => Search::any(texts(keys, pair::key)),
            (KeyType::Pairs, S::HasAllKeys, Value::Array(keys)) => Search::all(texts(keys, pair::key)),
            (
                KeyType::JsonbKeys | KeyType::JsonbPaths,
                S::PathExists | S::PathMatches,
                Value::Opaque(path),
            ) => match std::str::from_utf8(path.bytes()).map(crate::json::path::JsonPath::parse) {
                Ok(Ok(path)) => path::search(ty, part, &path, strategy == S::PathMatches),
                _ => Search::Unknown,
            },
            (KeyType::Elements, _, Value::Array(array)) => element::search(part, strategy, array),
            (KeyType::Lexemes, S::Matches, Value::Opaque(query)) if query.kind() == OpaqueKind::TsQuery => {
                lexeme::search(part, &TsQuery::of(query))
            }
            (KeyType::Trigrams, S::Equal, Value::Text(text)) => {
                Search::all(trigram::of(text).iter().map(|trigram| trigram.search(part)))
            }
            (KeyType::Trigrams, S::Like, Value::Text(pattern)) => {
                Search::all(trigram::like(pattern).iter().map(|trigram| trigram.search(part)))
            }
            _ => Search::Unknown,
        }
    }

    /// The search for texts that have at least this share of all the trigrams of theirs and of `text`.
    #[must_use]
    pub fn similar(part: u8, text: &str, threshold: f32) -> Search {
        if threshold <= 0.0 {
            return Search::Unknown;
        }
        let trigrams = trigram::of(text);
        // What both have is at most what either has, so of the union at least this part is in both; not by the last digits of the threshold.
        let least = (f64::from(threshold) * trigrams.len() as f64 - 1e-4).ceil().max(1.0) as usize;
        Search::Some(least, trigrams.iter().map(|trigram| trigram.search(part)).collect())
    }
}

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// FNV-1a with a last stir, from a state on. It stands on disk.
fn hash(mut state: u64, bytes: &[u8]) -> u64 {
    for byte in bytes {
        state = (state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    let mixed = (state ^ (state >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
    mixed ^ (mixed >> 32)
}

/// Appends a text so that none is a prefix of another.
fn put_text(text: &str, out: &mut Vec<u8>) {
    put_bytes(text.as_bytes(), out);
}

fn put_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    encode_bytes(bytes, out);
}

#[cfg(test)]
mod tests;
