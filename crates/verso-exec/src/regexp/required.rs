//! What a text must have to match: its trigrams, for inverted indexes.
//!
//! ```text
//! expression ─► pieces one behind the other: characters, and gaps where anything may stand ─► trigrams
//!               several branches: a gap, and the trigrams of one of them
//! ```

use verso_types::inverted::Search;
use verso_types::inverted::trigram::{Piece, required};

use super::syntax::{Assert, Node, Set};
use super::{Options, parse};

/// Deeper parts of an expression say nothing.
const DEPTH_MAX: usize = 50;
/// A repeated part is looked at so often.
const TIMES_MAX: u32 = 8;

/// The search for texts of which a part matches a pattern.
pub(crate) fn search(part: u8, pattern: &str, fold: bool) -> Search {
    let Ok((node, ..)) = parse::parse(pattern, Options { fold, ..Options::default() }) else {
        return Search::Unknown; // the operator tells what is wrong
    };
    branch(part, &node, 0)
}

/// What stands somewhere in a text.
fn branch(part: u8, node: &Node, depth: usize) -> Search {
    let mut walk = Walk { part, pieces: vec![Piece::Gap], others: Vec::new() };
    walk.node(node, depth);
    walk.pieces.push(Piece::Gap);
    let trigrams = required(&walk.pieces);
    Search::all(trigrams.iter().map(|trigram| trigram.search(part)).chain(walk.others))
}

struct Walk {
    part: u8,
    pieces: Vec<Piece>,
    /// What is asked for beside the pieces.
    others: Vec<Search>,
}

impl Walk {
    fn node(&mut self, node: &Node, depth: usize) {
        if depth > DEPTH_MAX {
            self.pieces.push(Piece::Gap);
            return;
        }
        match node {
            Node::Empty | Node::Look { .. } | Node::Assert(Assert::NoWordEdge) => {}
            // No letter or digit on one side: a word ends or begins, as at a blank.
            Node::Assert(_) => self.pieces.push(Piece::Char(' ')),
            Node::Set(set) => self.pieces.push(only(set).map_or(Piece::Gap, Piece::Char)),
            Node::Back(_) => self.pieces.push(Piece::Gap),
            Node::Concat(parts) => parts.iter().for_each(|part| self.node(part, depth + 1)),
            Node::Group(_, node) => self.node(node, depth + 1),
            Node::Alternate(branches) => {
                self.pieces.push(Piece::Gap);
                let branches = branches.iter().map(|node| branch(self.part, node, depth + 1));
                let any = Search::any(branches.collect::<Vec<_>>());
                self.others.push(any);
            }
            Node::Repeat { node, min, max, .. } => {
                let times = (*min).min(TIMES_MAX);
                (0..times).for_each(|_| self.node(node, depth + 1));
                if *max != Some(times) {
                    self.pieces.push(Piece::Gap);
                }
            }
        }
    }
}

/// The one character of a set, in whatever case.
fn only(set: &Set) -> Option<char> {
    if set.negated || !set.classes.is_empty() {
        return None;
    }
    let alike = |c: char| c.to_lowercase().eq(set.ranges[0].0.to_lowercase());
    let (first, rest) = set.ranges.split_first()?;
    let single = |(low, high): &(char, char)| low == high && alike(*low);
    (single(first) && rest.iter().all(single)).then_some(first.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(search: &Search) -> Vec<String> {
        match search {
            Search::Key(key) => vec![String::from_utf8_lossy(&key[1..]).into_owned()],
            Search::All(parts) => parts.iter().flat_map(keys).collect(),
            Search::Any(parts) => vec![format!(
                "({})",
                parts.iter().map(|part| keys(part).join("&")).collect::<Vec<_>>().join("|")
            )],
            Search::Prefix(_) | Search::Some(..) | Search::Unknown => vec!["?".into()],
        }
    }

    #[test]
    fn trigrams_are_taken_where_every_match_has_them() {
        let cases: [(&str, &[&str]); 16] = [
            ("abcd", &["abc", "bcd"]),
            ("^abc", &["  a", " ab", "abc"]),
            ("abc$", &["abc", "bc "]),
            ("ab.cde", &["cde"]),
            ("abc*def", &["def"]),
            ("(abc)+d", &["abc"]),
            ("(abc){2}", &["abc", "bca", "cab"]),
            ("x(abc|def)y", &["(abc|def)"]),
            ("abc|.", &["?"]),
            ("[aA]bc", &["abc"]),
            ("[ab]cde", &["cde"]),
            (r"\mabc", &["  a", " ab", "abc"]),
            ("(?=x)abc", &["abc"]),
            ("a", &["?"]),
            ("***=a.cde", &["  c", " cd", "cde"]),
            ("(", &["?"]),
        ];
        for (pattern, expected) in cases {
            let mut found = keys(&search(0, pattern, false));
            found.sort();
            assert_eq!(found, expected, "{pattern}");
        }
    }
}
