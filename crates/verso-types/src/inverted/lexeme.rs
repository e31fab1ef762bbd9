//! Keys of text search: the lexemes of a `tsvector`.
//!
//! Behind the number of the part and [`WHOLE`] stands the lexeme as its bytes; a long one is a hash, as everywhere.

use super::{HASHED, Keys, Search, put_bytes};
use crate::text_search::{Item, Operand, TsQuery, TsVector};

/// In front of a lexeme.
const WHOLE: u8 = 1;
/// Operators one within another that a search follows; what lies deeper is left to the operator.
const DEPTH_MAX: usize = 64;

/// Each lexeme.
pub(super) fn keys(part: u8, vector: &[u8], keys: &mut Keys) {
    for word in TsVector::words_of(vector) {
        keys.push_of(part, |out| put(word, out));
    }
}

fn put(word: &[u8], out: &mut Vec<u8>) {
    out.push(WHOLE);
    put_bytes(word, out);
}

fn operand(part: u8, operand: &Operand) -> Search {
    if !operand.prefix {
        return Search::one(part, |out| put(operand.word.as_bytes(), out));
    }
    let start = |bytes: &[u8]| Search::Prefix([&[part], bytes].concat());
    let mut word = vec![WHOLE];
    word.extend_from_slice(operand.word.as_bytes());
    // Of a long lexeme the index has no more than a hash.
    let whole = if word.len() < super::LONGEST { Some(start(&word)) } else { None };
    Search::any(whole.into_iter().chain([start(&[HASHED])]))
}

/// The search for the vectors that a query matches: places and weights are left to the operator.
pub(super) fn search(part: u8, query: &TsQuery) -> Search {
    if query.is_empty() {
        return Search::nothing();
    }
    let mut done: Vec<(Search, usize)> = Vec::new();
    for item in query.items().iter().rev() {
        let next = match item {
            Item::Operand(one) => (operand(part, one), 0),
            Item::Not => {
                done.pop();
                (Search::Unknown, 0)
            }
            _ => {
                let (Some((right, deep)), Some((left, deeper))) = (done.pop(), done.pop()) else {
                    return Search::Unknown;
                };
                let depth = 1 + deep.max(deeper);
                match item {
                    Item::Or => one_of(left, right, depth),
                    _ => both(left, right, depth),
                }
            }
        };
        done.push(next);
    }
    done.pop().map_or(Search::Unknown, |(search, _)| search)
}

/// A chain of one operator is one list, however long it is.
fn both(left: Search, right: Search, depth: usize) -> (Search, usize) {
    match (left, right) {
        (Search::Unknown, other) | (other, Search::Unknown) => (other, depth),
        (Search::All(mut parts), other) => {
            parts.push(other);
            (Search::All(parts), depth - 1)
        }
        (left, _) if depth > DEPTH_MAX => (left, depth - 1),
        (left, right) => (Search::All(vec![left, right]), depth),
    }
}

fn one_of(left: Search, right: Search, depth: usize) -> (Search, usize) {
    match (left, right) {
        (Search::Unknown, _) | (_, Search::Unknown) => (Search::Unknown, 0),
        (Search::Any(mut parts), other) => {
            parts.push(other);
            (Search::Any(parts), depth - 1)
        }
        (_, _) if depth > DEPTH_MAX => (Search::Unknown, 0),
        (left, right) => (Search::Any(vec![left, right]), depth),
    }
}
