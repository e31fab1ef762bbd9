//! Keys of hstore: what `?` looks for, and what `@>` looks for.
//!
//! A pair has two keys, so that a search for a key with its value meets no row that has that value under another key.

use super::{Keys, Search, put_text};
use crate::opaque::hstore::{Hstore, Pair};

/// A key alone.
const KEY: u8 = 1;
/// A key with its value.
const PAIR: u8 = 2;

/// Each key alone, and each key with its value.
pub(super) fn keys(part: u8, store: &[u8], keys: &mut Keys) {
    for pair in Hstore::read(store).pairs() {
        keys.push_of(part, |out| put_key(&pair.0, out));
        keys.push_of(part, |out| put_pair(pair, out));
    }
}

/// The search for a key.
pub(super) fn key(part: u8, name: &str) -> Search {
    Search::one(part, |out| put_key(name, out))
}

/// The search for values that have all pairs of this one.
pub(super) fn all(part: u8, store: &[u8]) -> Search {
    let wanted = Hstore::read(store);
    Search::all(wanted.pairs().iter().map(|pair| Search::one(part, |out| put_pair(pair, out))))
}

fn put_key(name: &str, out: &mut Vec<u8>) {
    out.push(KEY);
    put_text(name, out);
}

/// NULL is another value than an empty text.
fn put_pair((name, value): &Pair<'_>, out: &mut Vec<u8>) {
    out.push(PAIR);
    put_text(name, out);
    out.push(value.is_some().into());
    if let Some(value) = value {
        put_text(value, out);
    }
}
