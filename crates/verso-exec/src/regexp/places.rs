//! Sets of places in a text: a bit for each byte that a run may reach.

/// Places between two others, both included.
#[derive(Debug, Default)]
pub(super) struct Places {
    first: usize,
    words: Vec<u64>,
}

impl Places {
    /// None of the places from the one to the other, in whichever order they are given. It grows with those that come in.
    pub fn between(one: usize, other: usize) -> Places {
        Places { first: one.min(other), words: Vec::new() }
    }

    /// Adds a place, which is one of those it was made for.
    pub fn insert(&mut self, place: usize) {
        let bit = place - self.first;
        if self.words.len() <= bit / 64 {
            self.words.resize(bit / 64 + 1, 0);
        }
        self.words[bit / 64] |= 1 << (bit % 64);
    }

    pub fn contains(&self, place: usize) -> bool {
        let Some(bit) = place.checked_sub(self.first) else { return false };
        self.words.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    /// The places in their order, or the last one first.
    pub fn iter(&self, backward: bool) -> impl Iterator<Item = usize> + '_ {
        let count = self.words.len();
        let words = (0..count).map(move |n| if backward { count - 1 - n } else { n });
        words.flat_map(move |n| {
            let mut word = self.words[n];
            std::iter::from_fn(move || {
                let bit = match (word, backward) {
                    (0, _) => return None,
                    (word, true) => 63 - word.leading_zeros(),
                    (word, false) => word.trailing_zeros(),
                };
                word &= !(1 << bit);
                Some(self.first + n * 64 + bit as usize)
            })
        })
    }
}
