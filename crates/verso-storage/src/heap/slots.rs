//! Sets of slots of one page, ascending: as a run or as a list.
//!
//! Bulk work touches every slot of a page and short work touches one, so a set is nearly always a run of
//! consecutive slots and takes six bytes in a log record or a version entry.
//!
//! Encoding: `count u16 | kind u8 (0 run, 1 list) | pad u8 | first u16` or `… | slots u16 × count`.

use crate::page::Flaw;
use crate::page::bytes::{checked_slice, checked_u8, checked_u16, u16_at};

/// Slots of one page in ascending order, borrowed from wherever they stand.
#[derive(Clone, Copy, Debug)]
pub enum Slots<'a> {
    /// `first .. first + count`.
    Run {
        /// The first slot.
        first: u16,
        /// How many follow each other.
        count: u16,
    },
    /// In memory, ascending.
    List(&'a [u16]),
    /// As encoded: little-endian, ascending.
    Packed(&'a [u8]),
}

impl<'a> Slots<'a> {
    /// The shortest form of an ascending list.
    pub fn from_list(list: &'a [u16]) -> Slots<'a> {
        match (list.first(), list.last()) {
            (Some(&first), Some(&last)) if usize::from(last - first) + 1 == list.len() => {
                Slots::Run { first, count: list.len() as u16 }
            }
            _ => Slots::List(list),
        }
    }

    /// How many slots.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Slots::Run { count, .. } => usize::from(*count),
            Slots::List(list) => list.len(),
            Slots::Packed(bytes) => bytes.len() / 2,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slot at `rank`, which must be below [`Slots::len`].
    #[inline]
    pub fn get(&self, rank: usize) -> u16 {
        match self {
            Slots::Run { first, .. } => first + rank as u16,
            Slots::List(list) => list[rank],
            Slots::Packed(bytes) => u16_at(bytes, rank * 2),
        }
    }

    /// Where `slot` stands in the set.
    #[inline]
    pub fn rank(&self, slot: u16) -> Option<usize> {
        match self {
            Slots::Run { first, count } => {
                (slot >= *first && slot - *first < *count).then(|| usize::from(slot - *first))
            }
            Slots::List(list) => list.binary_search(&slot).ok(),
            Slots::Packed(_) => {
                let (mut low, mut high) = (0, self.len());
                while low < high {
                    let middle = (low + high) / 2;
                    match self.get(middle).cmp(&slot) {
                        std::cmp::Ordering::Equal => return Some(middle),
                        std::cmp::Ordering::Less => low = middle + 1,
                        std::cmp::Ordering::Greater => high = middle,
                    }
                }
                None
            }
        }
    }

    /// The slots, ascending.
    pub fn iter(self) -> impl Iterator<Item = u16> + Clone + 'a {
        (0..self.len()).map(move |rank| self.get(rank))
    }

    /// Ranks `from..to` of the set.
    pub fn part(&self, from: usize, to: usize) -> Slots<'a> {
        match *self {
            Slots::Run { first, .. } => Slots::Run { first: first + from as u16, count: (to - from) as u16 },
            Slots::List(list) => Slots::List(&list[from..to]),
            Slots::Packed(bytes) => Slots::Packed(&bytes[from * 2..to * 2]),
        }
    }

    /// Appends the encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.len() as u16).to_le_bytes());
        match self {
            Slots::Run { first, .. } => {
                out.extend_from_slice(&[0, 0]);
                out.extend_from_slice(&first.to_le_bytes());
            }
            _ => {
                out.extend_from_slice(&[1, 0]);
                for slot in self.iter() {
                    out.extend_from_slice(&slot.to_le_bytes());
                }
            }
        }
    }

    /// Bytes that [`Slots::encode`] appends.
    pub fn encoded_len(&self) -> usize {
        match self {
            Slots::Run { .. } => 6,
            _ => 4 + self.len() * 2,
        }
    }

    /// Reads a set at `*at` and moves `*at` behind it.
    ///
    /// # Errors
    /// A flaw when the bytes are no set.
    pub fn decode(bytes: &'a [u8], at: &mut usize) -> Result<Slots<'a>, Flaw> {
        let count = checked_u16(bytes, *at)?;
        match checked_u8(bytes, *at + 2)? {
            0 => {
                let first = checked_u16(bytes, *at + 4)?;
                if first.checked_add(count).is_none() {
                    return Err(Flaw::from("slot run beyond the greatest slot"));
                }
                *at += 6;
                Ok(Slots::Run { first, count })
            }
            1 => {
                let list = checked_slice(bytes, *at + 4, usize::from(count) * 2)?;
                let slots = Slots::Packed(list);
                if (1..slots.len()).any(|rank| slots.get(rank - 1) >= slots.get(rank)) {
                    return Err(Flaw::from("slots are not ascending"));
                }
                *at += 4 + usize::from(count) * 2;
                Ok(slots)
            }
            other => Err(Flaw::new(format!("unknown slot set kind {other}"))),
        }
    }
}

/// A growing set of slots of one page, kept in frames: a run while it is one, else a bitmap.
#[derive(Clone, Debug)]
pub enum SlotSet {
    /// `first .. first + count`.
    Run {
        /// The first slot.
        first: u16,
        /// How many follow each other.
        count: u16,
    },
    /// Bit `slot % 64` of word `slot / 64`.
    Bits(Box<[u64]>),
}

impl Default for SlotSet {
    fn default() -> SlotSet {
        SlotSet::Run { first: 0, count: 0 }
    }
}

impl From<Slots<'_>> for SlotSet {
    fn from(slots: Slots<'_>) -> SlotSet {
        let mut set = SlotSet::default();
        set.extend(slots);
        set
    }
}

impl SlotSet {
    /// Whether `slot` is in the set.
    #[inline]
    pub fn contains(&self, slot: u16) -> bool {
        match self {
            SlotSet::Run { first, count } => slot >= *first && slot - first < *count,
            SlotSet::Bits(words) => {
                words.get(usize::from(slot / 64)).is_some_and(|word| word >> (slot % 64) & 1 == 1)
            }
        }
    }

    /// Whether every slot of `slots` is in the set.
    pub fn contains_all(&self, slots: Slots<'_>) -> bool {
        match (self, slots) {
            (_, slots) if slots.is_empty() => true,
            (SlotSet::Run { .. }, Slots::Run { first, count }) => {
                self.contains(first) && self.contains(first + count - 1)
            }
            _ => slots.iter().all(|slot| self.contains(slot)),
        }
    }

    /// Whether every slot of `other` is in the set.
    pub fn includes(&self, other: &SlotSet) -> bool {
        match other {
            SlotSet::Run { first, count } => self.contains_all(Slots::Run { first: *first, count: *count }),
            SlotSet::Bits(_) => other.to_vec().iter().all(|slot| self.contains(*slot)),
        }
    }

    /// The set as bits, with room for `slot`.
    fn bits(&mut self, slot: u16) -> &mut [u64] {
        let wanted = usize::from(slot) / 64 + 1;
        let mut words = match std::mem::take(self) {
            SlotSet::Bits(words) => words.into_vec(),
            SlotSet::Run { first, count } => {
                let mut words = vec![0; wanted.max((usize::from(first) + usize::from(count)).div_ceil(64))];
                set_run(&mut words, first, count);
                words
            }
        };
        words.resize(words.len().max(wanted), 0);
        *self = SlotSet::Bits(words.into_boxed_slice());
        match self {
            SlotSet::Bits(words) => words,
            SlotSet::Run { .. } => unreachable!("just made one of bits"),
        }
    }

    /// Adds `slot`; whether it is new.
    pub fn insert(&mut self, slot: u16) -> bool {
        // Who inserts one after the other adds to the end of a run.
        if let SlotSet::Run { first, count } = self
            && *count > 0
            && slot.checked_sub(*first) == Some(*count)
        {
            *count += 1;
            return true;
        }
        self.extend(Slots::Run { first: slot, count: 1 }) == 1
    }

    /// Adds every slot of `slots`; how many are new.
    pub fn extend(&mut self, slots: Slots<'_>) -> usize {
        if slots.is_empty() {
            return 0;
        }
        let before = self.len();
        match (&mut *self, slots) {
            (SlotSet::Run { first, count }, Slots::Run { first: more, count: add }) if *count == 0 => {
                (*first, *count) = (more, add);
            }
            // Runs that touch or overlap are one.
            (SlotSet::Run { first, count }, Slots::Run { first: more, count: add })
                if more <= *first + *count && *first <= more + add =>
            {
                let end = (*first + *count).max(more + add);
                *first = more.min(*first);
                *count = end - *first;
            }
            (_, Slots::Run { first, count }) => set_run(self.bits(first + count - 1), first, count),
            (_, slots) => {
                let words = self.bits(slots.get(slots.len() - 1));
                slots.iter().for_each(|slot| words[usize::from(slot / 64)] |= 1 << (slot % 64));
            }
        }
        self.len() - before
    }

    /// Adds the slots of `other`; how many are new.
    pub fn union(&mut self, other: &SlotSet) -> usize {
        match other {
            SlotSet::Run { first, count } => self.extend(Slots::Run { first: *first, count: *count }),
            SlotSet::Bits(theirs) => {
                let before = self.len();
                let words = self.bits((theirs.len() * 64 - 1) as u16);
                words.iter_mut().zip(theirs).for_each(|(word, theirs)| *word |= theirs);
                self.len() - before
            }
        }
    }

    /// Removes the slots that `unwanted` picks.
    pub fn remove_if(&mut self, unwanted: impl Fn(u16) -> bool) {
        let kept: Vec<u16> = self.to_vec().into_iter().filter(|slot| !unwanted(*slot)).collect();
        if kept.len() < self.len() {
            *self = SlotSet::from(Slots::from_list(&kept));
        }
    }

    /// Removes the slots of `other`.
    pub fn subtract(&mut self, other: &SlotSet) {
        match (&*self, other) {
            (SlotSet::Run { first, count }, SlotSet::Run { .. })
                if other.contains_all(Slots::Run { first: *first, count: *count }) =>
            {
                *self = SlotSet::default();
            }
            _ if other.is_empty() => {}
            _ => self.remove_if(|slot| other.contains(slot)),
        }
    }

    /// How many slots.
    pub fn len(&self) -> usize {
        match self {
            SlotSet::Run { count, .. } => usize::from(*count),
            SlotSet::Bits(words) => words.iter().map(|word| word.count_ones() as usize).sum(),
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The slots, ascending.
    pub fn to_vec(&self) -> Vec<u16> {
        match self {
            SlotSet::Run { first, count } => (*first..first + count).collect(),
            SlotSet::Bits(words) => {
                let mut slots = Vec::with_capacity(self.len());
                for (index, &word) in words.iter().enumerate() {
                    let mut rest = word;
                    while rest != 0 {
                        slots.push((index * 64) as u16 + rest.trailing_zeros() as u16);
                        rest &= rest - 1;
                    }
                }
                slots
            }
        }
    }

    /// Bytes on the heap beyond the value itself.
    pub fn heap_bytes(&self) -> usize {
        match self {
            SlotSet::Run { .. } => 0,
            SlotSet::Bits(words) => words.len() * 8,
        }
    }
}

fn set_run(words: &mut [u64], first: u16, count: u16) {
    let (mut slot, end) = (usize::from(first), usize::from(first) + usize::from(count));
    while slot < end {
        let (word, bit) = (slot / 64, slot % 64);
        let bits = (end - slot).min(64 - bit);
        words[word] |= (u64::MAX >> (64 - bits)) << bit;
        slot += bits;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_and_lists_come_back_and_rank_alike() {
        for list in [vec![3u16, 4, 5, 6], vec![1, 7, 9, 64, 65], vec![0], vec![]] {
            let mut bytes = vec![9];
            let slots = Slots::from_list(&list);
            slots.encode(&mut bytes);
            assert_eq!(bytes.len(), 1 + slots.encoded_len());
            let mut at = 1;
            let back = Slots::decode(&bytes, &mut at).unwrap();
            assert_eq!(at, bytes.len());
            assert_eq!(back.iter().collect::<Vec<_>>(), list);
            for slot in 0..70 {
                assert_eq!(back.rank(slot), list.iter().position(|s| *s == slot), "slot {slot}");
            }
        }
    }

    #[test]
    fn junk_is_a_flaw() {
        for junk in [&[1u8][..], &[2, 0, 1, 0, 5, 0, 5, 0], &[2, 0, 0, 0, 255, 255], &[1, 0, 7, 0, 0, 0]] {
            assert!(Slots::decode(junk, &mut 0).is_err(), "{junk:?}");
        }
    }

    #[test]
    fn a_set_adds_runs_across_words() {
        let mut set = SlotSet::default();
        assert_eq!(set.extend(Slots::Run { first: 60, count: 80 }), 80);
        assert_eq!(set.extend(Slots::List(&[1, 60, 200])), 2);
        assert!(set.contains(139) && !set.contains(140) && set.contains(200));
        let mut expected: Vec<u16> = (60..140).collect();
        expected.insert(0, 1);
        expected.push(200);
        assert_eq!(set.to_vec(), expected);
        set.remove_if(|slot| slot == 60);
        assert!(!set.contains(60) && set.len() == expected.len() - 1);
    }

    proptest::proptest! {
        #[test]
        fn a_set_is_what_was_put_into_it(
            steps in proptest::collection::vec((0u16..150, 0u16..70, 0u8..5), 1..12),
        ) {
            let (mut set, mut model) = (SlotSet::default(), std::collections::BTreeSet::new());
            for (first, count, what) in steps {
                let list: Vec<u16> = (first..first + count).filter(|slot| what != 1 || slot % 3 == 0).collect();
                let before = model.len();
                let other = SlotSet::from(Slots::from_list(&list));
                match what {
                    0 | 1 => {
                        model.extend(list.iter().copied());
                        assert_eq!(set.extend(Slots::from_list(&list)), model.len() - before);
                    }
                    2 => {
                        model.extend(list.iter().copied());
                        assert_eq!(set.union(&other), model.len() - before);
                    }
                    3 => list.iter().for_each(|slot| assert_eq!(set.insert(*slot), model.insert(*slot))),
                    _ => {
                        set.subtract(&other);
                        model.retain(|slot| !list.contains(slot));
                    }
                }
                assert_eq!(set.to_vec(), model.iter().copied().collect::<Vec<_>>());
                assert_eq!((set.len(), set.is_empty()), (model.len(), model.is_empty()));
                assert!((0..260).all(|slot| set.contains(slot) == model.contains(&slot)));
                assert_eq!(set.contains_all(Slots::from_list(&list)), list.iter().all(|slot| model.contains(slot)));
            }
        }
    }
}
