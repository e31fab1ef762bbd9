//! Keys of jsonb.
//!
//! As PostgreSQL's two classes have them: by keys and values apart, or by values with the way to them.

use super::{Keys, SEED, Search, hash, put_text};
use crate::json::{DEPTH_MAX, JsonRef};
use crate::key::{encode_big, encode_decimal};

/// Key of an object, or a string of an array: what `?` looks for.
const KEY: u8 = 1;
const NULL: u8 = 2;
const BOOL: u8 = 3;
const NUMBER: u8 = 4;
const STRING: u8 = 5;

/// A scalar of a path, or of a document.
#[derive(Clone, Copy)]
pub(super) enum Place {
    /// The value of a key.
    Value,
    /// An element of an array, or the whole document.
    Element,
}

fn put_scalar(value: JsonRef<'_>, place: Place, out: &mut Vec<u8>) {
    match value {
        JsonRef::Null => out.push(NULL),
        JsonRef::Bool(v) => out.extend([BOOL, v.into()]),
        JsonRef::Number(v) => {
            out.push(NUMBER);
            encode_decimal(&v, out);
        }
        JsonRef::Long(v) => {
            out.push(NUMBER);
            encode_big(&v.number(), out);
        }
        JsonRef::String(v) => {
            out.push(if matches!(place, Place::Element) { KEY } else { STRING });
            put_text(v, out);
        }
        JsonRef::Array(_) | JsonRef::Object(_) => {}
    }
}

/// Each key of an object, each scalar.
pub(super) fn keys(part: u8, root: JsonRef<'_>, keys: &mut Keys) {
    visit(part, root, Place::Element, 0, keys);
}

fn visit(part: u8, value: JsonRef<'_>, place: Place, depth: usize, keys: &mut Keys) {
    match value {
        _ if depth > DEPTH_MAX => {}
        JsonRef::Array(elements) => {
            elements.iter().for_each(|element| visit(part, element, Place::Element, depth + 1, keys));
        }
        JsonRef::Object(pairs) => pairs.iter().for_each(|(name, value)| {
            keys.push_of(part, |out| {
                out.push(KEY);
                put_text(name, out);
            });
            visit(part, value, Place::Value, depth + 1, keys);
        }),
        scalar => keys.push_of(part, |out| put_scalar(scalar, place, out)),
    }
}

/// The search for a key of an object.
pub(super) fn key(part: u8, name: &str) -> Search {
    Search::one(part, |out| {
        out.push(KEY);
        put_text(name, out);
    })
}

/// The search for a scalar that is an element or a value.
pub(super) fn scalar(part: u8, value: JsonRef<'_>) -> Search {
    let at = |place| Search::one(part, |out| put_scalar(value, place, out));
    match value {
        JsonRef::String(_) => Search::any([at(Place::Value), at(Place::Element)]),
        _ => at(Place::Value),
    }
}

/// The way to a value, as a hash of the keys on it: elements of arrays are where their array is.
#[derive(Clone, Copy)]
pub(super) struct Way(u64);

impl Way {
    pub fn root() -> Way {
        Way(SEED)
    }

    #[must_use]
    pub fn member(self, name: &str) -> Way {
        Way(hash(self.0.rotate_left(7), name.as_bytes()))
    }

    fn put(self, value: JsonRef<'_>, out: &mut Vec<u8>) {
        let start = out.len();
        put_scalar(value, Place::Value, out);
        let hash = hash(self.0, &out[start..]);
        out.truncate(start);
        out.extend_from_slice(&hash.to_be_bytes());
    }

    /// The search for a scalar at its end.
    pub fn search(self, part: u8, value: JsonRef<'_>) -> Search {
        Search::one(part, |out| self.put(value, out))
    }
}

/// Each scalar with the way to it.
pub(super) fn paths(part: u8, root: JsonRef<'_>, keys: &mut Keys) {
    walk(part, root, Way::root(), 0, keys);
}

fn walk(part: u8, value: JsonRef<'_>, way: Way, depth: usize, keys: &mut Keys) {
    match value {
        _ if depth > DEPTH_MAX => {}
        JsonRef::Array(elements) => {
            elements.iter().for_each(|element| walk(part, element, way, depth + 1, keys));
        }
        JsonRef::Object(pairs) => {
            pairs.iter().for_each(|(name, value)| walk(part, value, way.member(name), depth + 1, keys));
        }
        scalar => keys.push_of(part, |out| way.put(scalar, out)),
    }
}
