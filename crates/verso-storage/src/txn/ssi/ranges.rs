//! Parts of an index that a transaction has read.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::RANGES_MAX;

/// Parts of an index, apart from each other: where each begins, and before what it ends.
#[derive(Default)]
pub(super) struct Ranges(BTreeMap<Vec<u8>, Option<Vec<u8>>>);

impl Ranges {
    /// Adds a part; those that it touches become one with it.
    pub(super) fn add(&mut self, start: &[u8], end: Option<&[u8]>) {
        let mut start = start.to_vec();
        let mut end = end.map(<[u8]>::to_vec);
        if let Some((before, its_end)) =
            self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(&start[..]))).next_back()
            && its_end.as_ref().is_none_or(|its_end| *its_end >= start)
        {
            start.clone_from(before);
            end = its_end.clone().and_then(|its_end| end.map(|end| end.max(its_end)));
        }
        let within = |at: &Vec<u8>| end.as_ref().is_none_or(|end| at <= end);
        let behind = self.0.range::<[u8], _>((Bound::Included(&start[..]), Bound::Unbounded));
        let touched: Vec<Vec<u8>> = behind.map(|(at, _)| at).take_while(|at| within(at)).cloned().collect();
        for at in touched {
            let its_end = self.0.remove(&at).flatten();
            // Only the last of them may end behind the new one.
            end = its_end.and_then(|its_end| end.map(|end| end.max(its_end)));
        }
        self.0.insert(start, end);
        if self.0.len() > RANGES_MAX {
            self.0 = BTreeMap::from([(Vec::new(), None)]);
        }
    }

    pub(super) fn hold(&self, entry: &[u8]) -> bool {
        let before = self.0.range::<[u8], _>((Bound::Unbounded, Bound::Included(entry))).next_back();
        before.is_some_and(|(_, end)| end.as_ref().is_none_or(|end| entry < &end[..]))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Against a set of all strings of one letter.
    #[test]
    fn ranges_hold_what_was_added() {
        for seed in verso_sim::seeds(200) {
            let mut rng = verso_sim::Rng::new(seed);
            let (mut ranges, mut model) = (Ranges::default(), BTreeSet::new());
            for _ in 0..rng.below(12) {
                let start = rng.below(24) as u8;
                let end = (rng.below(8) > 0).then(|| start + rng.below(6) as u8);
                ranges.add(&[start], end.map(|end| [end]).as_ref().map(|end| &end[..]));
                model.extend(start..end.unwrap_or(40));
            }
            for letter in 0..40 {
                assert_eq!(ranges.hold(&[letter]), model.contains(&letter), "seed {seed}, {letter}");
            }
            let parts: Vec<_> = ranges.0.iter().collect();
            assert!(
                parts.windows(2).all(|two| two[0].1.as_ref().is_some_and(|end| end < two[1].0)),
                "seed {seed}"
            );
        }
    }

    #[test]
    fn many_ranges_become_one() {
        let mut ranges = Ranges::default();
        for at in 0..RANGES_MAX as u16 {
            ranges.add(&(at * 2).to_be_bytes(), Some(&(at * 2 + 1).to_be_bytes()));
        }
        assert!(!ranges.hold(&3_u16.to_be_bytes()));
        ranges.add(&u16::MAX.to_be_bytes(), None);
        assert!(ranges.hold(&3_u16.to_be_bytes()));
        assert_eq!(ranges.0.len(), 1);
    }
}
