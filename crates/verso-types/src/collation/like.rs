//! LIKE under a nondeterministic collation: what stands between wildcards equals a part of the text by the collation.

use super::Collator;

/// A part of a pattern.
enum Part {
    /// `%`.
    Any,
    /// `_`.
    One,
    /// A text, and its sort key.
    Text(Vec<u8>),
}

/// Whether a text matches a pattern; `None` where the pattern ends with its escape character.
///
/// Every part of the text that a piece between wildcards may be is tried, so a pattern with several `%` takes the square of
/// the text's length. `go_on` is asked now and then.
pub fn like(
    collator: Collator,
    text: &str,
    pattern: &str,
    escape: Option<char>,
    go_on: &mut dyn FnMut() -> bool,
) -> Option<bool> {
    let mut parts = Vec::new();
    let mut piece = String::new();
    let flush = |piece: &mut String, parts: &mut Vec<Part>| {
        if !piece.is_empty() {
            let mut key = Vec::new();
            collator.sort_key(piece.as_bytes(), &mut key);
            parts.push(Part::Text(key));
            piece.clear();
        }
    };
    let mut chars = pattern.chars();
    while let Some(next) = chars.next() {
        match next {
            _ if Some(next) == escape => piece.push(chars.next()?),
            '%' => {
                flush(&mut piece, &mut parts);
                if !matches!(parts.last(), Some(Part::Any)) {
                    parts.push(Part::Any);
                }
            }
            '_' => {
                flush(&mut piece, &mut parts);
                parts.push(Part::One);
            }
            other => piece.push(other),
        }
    }
    flush(&mut piece, &mut parts);
    // Which places of the text a part may begin at, part by part.
    let places: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut begins = vec![false; places.len()];
    begins[0] = true;
    let mut key = Vec::new();
    for (n, part) in parts.iter().enumerate() {
        let last = n + 1 == parts.len();
        let mut ends = vec![false; places.len()];
        match part {
            Part::Any => {
                let first = begins.iter().position(|begins| *begins);
                first.into_iter().for_each(|first| ends[first..].fill(true));
            }
            Part::One => (1..places.len()).for_each(|at| ends[at] = begins[at - 1]),
            Part::Text(wanted) => {
                for from in (0..places.len()).filter(|at| begins[*at]) {
                    // The last part goes to the end of the text.
                    let tried = if last { places.len() - 1..places.len() } else { from..places.len() };
                    for to in tried.filter(|to| *to >= from) {
                        if ends[to] && !last {
                            continue;
                        }
                        if !go_on() {
                            return Some(false);
                        }
                        key.clear();
                        collator.sort_key(&text.as_bytes()[places[from]..places[to]], &mut key);
                        ends[to] |= key == *wanted;
                    }
                }
            }
        }
        begins = ends;
    }
    Some(begins[places.len() - 1])
}
