//! Keys of arrays: their elements.

use super::{EMPTY, Keys, Search, Strategy, put_text};
use crate::array::Array;
use crate::key::{KeyOrder, KeyType, encode_bytes};
use crate::range;
use crate::sqltype::SqlType;
use crate::value::Value;

/// Each element that is not NULL.
pub(super) fn keys(part: u8, array: &Array, keys: &mut Keys) {
    let before = keys.len();
    for value in array.iter().filter(|value| !value.is_null()) {
        keys.push_of(part, |out| put(value, out));
    }
    if keys.len() == before {
        keys.push_of(part, |out| out.push(EMPTY));
    }
}

/// The search for arrays that are to this one as a strategy says.
pub(super) fn search(part: u8, strategy: Strategy, array: &Array) -> Search {
    let elements = || {
        let element = |value: &Value| Search::one(part, |out| put(value, out));
        let mut list: Vec<Search> = array.iter().filter(|value| !value.is_null()).map(element).collect();
        list.dedup();
        list
    };
    let empty = || Search::one(part, |out| out.push(EMPTY));
    match strategy {
        // No array has an element that is equal to NULL.
        Strategy::Contains if array.iter().any(Value::is_null) => Search::nothing(),
        Strategy::Contains => Search::all(elements()),
        Strategy::Overlaps => Search::any(elements()),
        Strategy::ContainedBy => Search::any(elements().into_iter().chain([empty()])),
        Strategy::Equal if elements().is_empty() => empty(),
        Strategy::Equal => Search::all(elements()),
        _ => Search::Unknown,
    }
}

/// Appends an element: equal ones of one type have equal bytes, and none is a prefix of another's.
fn put(value: &Value, out: &mut Vec<u8>) {
    let start = out.len();
    let ordered = |ty: KeyType, sql: &SqlType, out: &mut Vec<u8>| {
        KeyOrder::ascending(ty).encode_value(value, sql, out).is_ok()
    };
    let done = match value {
        Value::Int2(_) => ordered(KeyType::I16, &SqlType::Int2, out),
        Value::Int4(_) | Value::Date(_) => ordered(KeyType::I32, &SqlType::Int4, out),
        // Of an xid8 the same bits: elements are told apart, not ordered.
        Value::Int8(_) | Value::Xid8(_) | Value::Time(_) | Value::Timestamp(_) | Value::Timestamptz(_) => {
            ordered(KeyType::I64, &SqlType::Int8, out)
        }
        Value::Float4(_) => ordered(KeyType::F32, &SqlType::Float4, out),
        Value::Float8(_) => ordered(KeyType::F64, &SqlType::Float8, out),
        Value::Numeric(_) | Value::Big(_) => ordered(KeyType::Decimal, &SqlType::Numeric(None), out),
        Value::Uuid(_) => ordered(KeyType::Uuid, &SqlType::Uuid, out),
        Value::Jsonb(_) => ordered(KeyType::Jsonb, &SqlType::Jsonb, out),
        Value::Interval(v) => {
            out.push(KeyOrder::VALUE);
            out.extend_from_slice(&v.span().to_be_bytes());
            true
        }
        Value::Bool(v) => {
            out.extend([KeyOrder::VALUE, (*v).into()]);
            true
        }
        Value::Text(v) => {
            out.push(KeyOrder::VALUE);
            // Trailing blanks do not count in char(n).
            put_text(v.trim_end_matches(' '), out);
            true
        }
        Value::Bytes(v) => {
            out.push(KeyOrder::VALUE);
            encode_bytes(v, out);
            true
        }
        Value::Opaque(v) => {
            out.push(KeyOrder::VALUE);
            encode_bytes(v.bytes(), out);
            true
        }
        Value::Range(v) => {
            out.push(KeyOrder::VALUE);
            range::encode_key(v, out).is_ok()
        }
        Value::Multirange(v) => {
            out.push(KeyOrder::VALUE);
            range::encode_multirange_key(v, out).is_ok()
        }
        Value::Null | Value::Array(_) | Value::Record(_) => false,
    };
    if !done {
        // All of them alike: the operator tells them apart.
        out.truncate(start);
        out.push(0);
    }
}
