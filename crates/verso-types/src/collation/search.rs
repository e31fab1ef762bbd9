//! Searching for a text in another one under a nondeterministic collation.

use std::ops::Range;

use super::Collator;

/// The first place from `from` on, in bytes, where a part of `text` equals `wanted` by the collation: of the parts that begin there
/// the longest, as in PostgreSQL. An empty part is none.
///
/// Every part is tried, so it takes the square of the text's length. `go_on` is asked before each; where it says no there is
/// nothing more to be found.
pub fn find(
    collator: Collator,
    text: &str,
    wanted: &str,
    from: usize,
    go_on: &mut dyn FnMut() -> bool,
) -> Option<Range<usize>> {
    let rest = &text[from..];
    let mut places: Vec<usize> = rest.char_indices().map(|(at, _)| at).collect();
    places.push(rest.len());
    for (n, &start) in places.iter().enumerate() {
        for &end in places[n + 1..].iter().rev() {
            if !go_on() {
                return None;
            }
            if collator.has_same_key(&rest[start..end], wanted) {
                return Some(from + start..from + end);
            }
        }
    }
    None
}

/// What stands between the places where `wanted` is found.
pub fn split<'t>(
    collator: Collator,
    text: &'t str,
    wanted: &str,
    go_on: &mut dyn FnMut() -> bool,
) -> Vec<&'t str> {
    let (mut parts, mut begin) = (Vec::new(), 0);
    while let Some(found) = find(collator, text, wanted, begin, go_on) {
        parts.push(&text[begin..found.start]);
        begin = found.end;
    }
    parts.push(&text[begin..]);
    parts
}
