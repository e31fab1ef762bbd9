//! A tree of losers: which of several sorted sources has the least entry.
//!
//! ```text
//!            winner                 nodes[0]: the source of the least entry
//!              │
//!           loser of the last match nodes[1]
//!          ╱      ╲
//!      loser      loser             nodes[2], nodes[3]
//!      ╱  ╲       ╱  ╲
//!    s0    s1   s2    s3            sources: each match keeps its loser, the winner plays the next one
//! ```
//!
//! An entry plays with a *code*: where it first differs from the entry that won last, and the word that it has there. Two entries
//! whose codes differ are told apart by one comparison of numbers, however long a beginning they share; only equal codes
//! lead to the entries themselves, and the loser takes the place where the two differ as its new code. So the bytes of an
//! entry are compared about once, and not once for each level of the tree.
//!
//! O1. The codes of a match are of the same base: the last winner, or nothing before the first one is taken. A loser's
//! code holds for the winner of its match, too.
//!
//! Source: B. Iyer, Hardware assisted sorting in IBM's DB2, 2005; G. Graefe, Implementing sorting in database systems, 2006.

/// Bytes of an entry that are compared as one number, the shorter end filled up with zeros.
const WORD: usize = 6;
/// The place of the first word, counted backwards so that a later difference makes a lesser code.
const FIRST: u64 = 0xFFFE;

/// The code of an entry whose words are those of its base.
pub const SAME: u64 = 0;
/// The code of a source without a further entry.
pub const ENDED: u64 = u64::MAX;

/// The word at this place.
#[inline]
fn word(entry: &[u8], place: usize) -> u64 {
    let rest = entry.get(place * WORD..).unwrap_or_default();
    if let Some(chunk) = rest.first_chunk() {
        return u64::from_be_bytes(*chunk) >> 16;
    }
    let mut chunk = [0; 8];
    let length = rest.len().min(WORD);
    chunk[..length].copy_from_slice(&rest[..length]);
    u64::from_be_bytes(chunk) >> 16
}

/// The first word from `place` on in which two entries differ: its place, and what it is in each.
#[inline]
fn difference(a: &[u8], b: &[u8], mut place: usize) -> Option<(usize, u64, u64)> {
    let longer = a.len().max(b.len());
    while place * WORD < longer {
        let (of_a, of_b) = (word(a, place), word(b, place));
        if of_a != of_b {
            return Some((place, of_a, of_b));
        }
        place += 1;
    }
    None
}

#[inline]
fn code(place: usize, word: u64) -> u64 {
    // An entry has fewer bytes than a page, so the place is far below FIRST.
    (FIRST - place as u64) << 48 | word
}

/// The code of an entry that is not less than its base.
#[inline]
pub fn code_of(entry: &[u8], base: &[u8]) -> u64 {
    difference(entry, base, 0).map_or(SAME, |(place, word, _)| code(place, word))
}

#[derive(Clone, Copy)]
struct Player {
    code: u64,
    source: usize,
}

/// The sources of a merge by their entries.
pub struct Losers {
    /// The winner, then the loser of each match.
    nodes: Vec<Player>,
}

impl Losers {
    /// Sources whose first entries have these codes, of nothing as the base; `entry` yields them.
    pub fn new<'e>(codes: impl ExactSizeIterator<Item = u64>, entry: impl Fn(usize) -> &'e [u8]) -> Losers {
        let count = codes.len();
        let nobody = Player { code: ENDED, source: 0 };
        let mut winners = vec![nobody; count];
        winners.extend(codes.enumerate().map(|(source, code)| Player { code, source }));
        let mut nodes = vec![nobody; count];
        for node in (1..count).rev() {
            let (winner, loser) = play(winners[2 * node], winners[2 * node + 1], &entry);
            winners[node] = winner;
            nodes[node] = loser;
        }
        if let [first, ..] = &mut nodes[..] {
            *first = winners[1];
        }
        Losers { nodes }
    }

    /// The source of the least entry; none when all have ended.
    #[inline]
    pub fn winner(&self) -> Option<usize> {
        self.nodes.first().filter(|player| player.code != ENDED).map(|player| player.source)
    }

    /// The winner has gone on, to an entry with this code, of the one before as the base.
    #[inline]
    pub fn replace<'e>(&mut self, code: u64, entry: impl Fn(usize) -> &'e [u8]) {
        let Some(first) = self.nodes.first() else { return };
        let mut winner = Player { code, source: first.source };
        let mut node = (self.nodes.len() + winner.source) / 2;
        while node > 0 {
            let other = self.nodes[node];
            if winner.code < other.code {
                // The usual way of a source that stays ahead.
            } else if winner.code > other.code {
                self.nodes[node] = std::mem::replace(&mut winner, other);
            } else {
                (winner, self.nodes[node]) = play(winner, other, &entry);
            }
            node /= 2;
        }
        self.nodes[0] = winner;
    }
}

/// The winner and the loser of a match.
fn play<'e>(mut a: Player, mut b: Player, entry: &impl Fn(usize) -> &'e [u8]) -> (Player, Player) {
    if a.code != b.code || a.code == ENDED {
        return if a.code <= b.code { (a, b) } else { (b, a) };
    }
    // Both have what the code says, and before that what their base has.
    let place = if a.code == SAME { 0 } else { (FIRST - (a.code >> 48)) as usize + 1 };
    let (of_a, of_b) = (entry(a.source), entry(b.source));
    match difference(of_a, of_b, place) {
        Some((place, word_a, word_b)) if word_a < word_b => {
            b.code = code(place, word_b);
            (a, b)
        }
        Some((place, word_a, _)) => {
            a.code = code(place, word_a);
            (b, a)
        }
        // One may still have more zeros at its end.
        None if (of_a.len(), a.source) < (of_b.len(), b.source) => {
            b.code = SAME;
            (a, b)
        }
        None => {
            a.code = SAME;
            (b, a)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Merges sorted lists as a build does; with the matches that led to the entries themselves.
    fn merged(lists: &[Vec<Vec<u8>>]) -> (Vec<Vec<u8>>, usize) {
        let looks = std::cell::Cell::new(0);
        let mut at = vec![0; lists.len()];
        let first = |list: &Vec<Vec<u8>>| list.first().map_or(ENDED, |entry| code_of(entry, &[]));
        let look = |at: &[usize], source: usize| {
            looks.set(looks.get() + 1);
            lists[source][at[source]].as_slice()
        };
        let mut losers = Losers::new(lists.iter().map(first), |source| look(&at, source));
        let mut all = Vec::new();
        while let Some(source) = losers.winner() {
            let list = &lists[source];
            let taken = &list[at[source]];
            all.push(taken.clone());
            at[source] += 1;
            let code = list.get(at[source]).map_or(ENDED, |next| code_of(next, taken));
            losers.replace(code, |source| look(&at, source));
        }
        (all, looks.get() / 2)
    }

    proptest! {
        #[test]
        fn sorted_lists_are_merged(
            mut lists in proptest::collection::vec(
                proptest::collection::vec((0..3usize, proptest::collection::vec(0..3u8, 0..16)), 0..40), 0..9)
        ) {
            let beginnings: [&[u8]; 3] = [b"", b"a beginning", &[0; 9]];
            let mut lists: Vec<Vec<Vec<u8>>> = lists
                .iter_mut()
                .map(|list| list.drain(..).map(|(which, rest)| [beginnings[which], &rest].concat()).collect())
                .collect();
            lists.iter_mut().for_each(|list: &mut Vec<Vec<u8>>| list.sort());
            let mut expected = lists.concat();
            expected.sort();
            prop_assert_eq!(merged(&lists).0, expected);
        }
    }

    /// However much the keys have in common, and however many lists there are, entries are compared about once.
    #[test]
    fn a_long_beginning_is_not_compared_at_each_level() {
        let key = |n: u32| [&[7; 90][..], &(n.wrapping_mul(2_654_435_761)).to_be_bytes()].concat();
        let mut lists: Vec<Vec<Vec<u8>>> = vec![Vec::new(); 64];
        (0..6400).for_each(|n| lists[n as usize % 64].push(key(n)));
        lists.iter_mut().for_each(|list| list.sort());
        let (all, looks) = merged(&lists);
        assert!(all.is_sorted() && all.len() == 6400);
        assert!(looks < 2 * 6400, "{looks} matches of 6 levels with 6400 entries");
    }
}
