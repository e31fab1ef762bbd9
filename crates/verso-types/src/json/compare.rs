//! Order, equality, hash, containment and index keys of jsonb.
//!
//! PostgreSQL's order: objects above arrays above booleans above numbers above strings above null; more pairs or elements
//! above fewer; then pair by pair, element by element. A scalar that stands alone counts as an array of one element,
//! below such an array.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use super::{DEPTH_MAX, JsonRef};
use crate::key::{encode_big, encode_bytes, encode_decimal};

fn rank(value: &JsonRef<'_>) -> u8 {
    match value {
        JsonRef::Null => 1,
        JsonRef::String(_) => 2,
        JsonRef::Number(_) | JsonRef::Long(_) => 3,
        JsonRef::Bool(_) => 4,
        JsonRef::Array(_) => 5,
        JsonRef::Object(_) => 6,
    }
}

/// The order of two values that stand alone.
#[must_use]
pub fn compare(a: JsonRef<'_>, b: JsonRef<'_>) -> Ordering {
    match (a, b) {
        // A scalar beside an array: by length, then below it.
        (JsonRef::Array(array), scalar) if scalar.is_scalar() => array.len().cmp(&1).then(Ordering::Greater),
        (scalar, JsonRef::Array(array)) if scalar.is_scalar() => {
            1usize.cmp(&array.len()).then(Ordering::Less)
        }
        (a, b) => nested(a, b, 0),
    }
}

fn nested(a: JsonRef<'_>, b: JsonRef<'_>, depth: usize) -> Ordering {
    if depth > DEPTH_MAX {
        return Ordering::Equal;
    }
    match (a, b) {
        (JsonRef::Bool(a), JsonRef::Bool(b)) => a.cmp(&b),
        (JsonRef::Number(a), JsonRef::Number(b)) => a.compare(&b),
        (JsonRef::Number(_) | JsonRef::Long(_), JsonRef::Number(_) | JsonRef::Long(_)) => {
            let both = a.as_number().zip(b.as_number());
            both.map_or(Ordering::Equal, |(a, b)| a.compare(&b))
        }
        (JsonRef::String(a), JsonRef::String(b)) => a.cmp(b),
        (JsonRef::Array(a), JsonRef::Array(b)) => {
            let unequal = || a.iter().zip(b.iter()).map(|(a, b)| nested(a, b, depth + 1)).find(|o| o.is_ne());
            a.len().cmp(&b.len()).then_with(|| unequal().unwrap_or(Ordering::Equal))
        }
        (JsonRef::Object(a), JsonRef::Object(b)) => {
            let pair = |((key_a, a), (key_b, b)): ((&str, JsonRef<'_>), (&str, JsonRef<'_>))| {
                key_a.cmp(key_b).then_with(|| nested(a, b, depth + 1))
            };
            let unequal = || a.iter().zip(b.iter()).map(pair).find(|order| order.is_ne());
            a.len().cmp(&b.len()).then_with(|| unequal().unwrap_or(Ordering::Equal))
        }
        (a, b) => rank(&a).cmp(&rank(&b)),
    }
}

/// Feeds a hash that agrees with [`compare`].
pub fn hash<H: Hasher>(value: JsonRef<'_>, state: &mut H) {
    nested_hash(value, state, 0);
}

fn nested_hash<H: Hasher>(value: JsonRef<'_>, state: &mut H, depth: usize) {
    state.write_u8(rank(&value));
    if depth > DEPTH_MAX {
        return;
    }
    match value {
        JsonRef::Null => {}
        JsonRef::Bool(v) => v.hash(state),
        JsonRef::Number(v) => v.hash_number(state),
        JsonRef::Long(v) => v.number().hash_number(state),
        JsonRef::String(v) => v.hash(state),
        JsonRef::Array(elements) => elements.iter().for_each(|value| nested_hash(value, state, depth + 1)),
        JsonRef::Object(pairs) => pairs.iter().for_each(|(key, value)| {
            key.hash(state);
            nested_hash(value, state, depth + 1);
        }),
    }
}

/// Appends bytes whose order is that of [`compare`], none a prefix of another's.
pub fn encode_key(value: JsonRef<'_>, out: &mut Vec<u8>) {
    match value {
        JsonRef::Object(_) => nested_key(value, out, 0),
        JsonRef::Array(elements) => {
            out.push(5);
            put_count(elements.len(), out);
            out.push(1);
            elements.iter().for_each(|element| nested_key(element, out, 1));
        }
        scalar => {
            out.push(5);
            put_count(1, out);
            out.push(0);
            nested_key(scalar, out, 1);
        }
    }
}

fn put_count(count: usize, out: &mut Vec<u8>) {
    out.extend_from_slice(&(count as u32).to_be_bytes());
}

fn nested_key(value: JsonRef<'_>, out: &mut Vec<u8>, depth: usize) {
    if depth > DEPTH_MAX {
        return;
    }
    out.push(rank(&value));
    match value {
        JsonRef::Null => {}
        JsonRef::Bool(v) => out.push(v.into()),
        JsonRef::Number(v) => encode_decimal(&v, out),
        JsonRef::Long(v) => encode_big(&v.number(), out),
        JsonRef::String(v) => encode_bytes(v.as_bytes(), out),
        JsonRef::Array(elements) => {
            put_count(elements.len(), out);
            elements.iter().for_each(|element| nested_key(element, out, depth + 1));
        }
        JsonRef::Object(pairs) => {
            put_count(pairs.len(), out);
            for (key, value) in pairs.iter() {
                encode_bytes(key.as_bytes(), out);
                nested_key(value, out, depth + 1);
            }
        }
    }
}

/// `a @> b`: all of `b` is in `a`, at the same places of objects, at any place of arrays. An array contains a scalar
/// that stands alone.
#[must_use]
pub fn contains(a: JsonRef<'_>, b: JsonRef<'_>) -> bool {
    match (a, b) {
        (JsonRef::Array(elements), scalar) if scalar.is_scalar() => {
            elements.iter().any(|element| nested(element, scalar, 0).is_eq())
        }
        (a, b) => nested_contains(a, b, 0),
    }
}

fn nested_contains(a: JsonRef<'_>, b: JsonRef<'_>, depth: usize) -> bool {
    if depth > DEPTH_MAX {
        return false;
    }
    match (a, b) {
        (JsonRef::Object(a), JsonRef::Object(b)) => b.iter().all(|(key, wanted)| {
            a.get(key).is_some_and(|found| nested_contains(JsonRef::read(found), wanted, depth + 1))
        }),
        (JsonRef::Array(a), JsonRef::Array(b)) => {
            b.iter().all(|wanted| a.iter().any(|found| nested_contains(found, wanted, depth + 1)))
        }
        (a, b) if a.is_scalar() && b.is_scalar() => nested(a, b, depth).is_eq(),
        _ => false,
    }
}
