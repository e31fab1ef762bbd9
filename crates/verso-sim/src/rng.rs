//! Seeded randomness: SplitMix64 (Steele, Lea, Flood 2014), small and good enough for choosing test cases.

use parking_lot::Mutex;
use verso_env::Random;

/// A seeded source of choices.
#[derive(Clone, Debug)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// The sequence of `seed`; neighbouring seeds give unrelated sequences.
    pub fn new(seed: u64) -> Rng {
        let mut rng = Rng { state: seed ^ 0x5EED_0F5E_ED0F_5EED };
        rng.next_u64();
        rng
    }

    /// An independent sequence, drawn from this one.
    pub fn fork(&mut self) -> Rng {
        Rng::new(self.next_u64())
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    ///
    /// # Panics
    /// When `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "nothing is below zero");
        // The bias of the product method is below 2^-32 for the bounds that tests use.
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// An index into a collection of `len` elements.
    ///
    /// # Panics
    /// When `len` is 0.
    pub fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// A number of `from..=to`.
    ///
    /// # Panics
    /// When `to` is less than `from`.
    pub fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to - from + 1)
    }

    /// True once in `n` draws on average.
    pub fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of `choices`.
    ///
    /// # Panics
    /// When there are none.
    pub fn pick<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.index(choices.len())]
    }

    /// `len` random bytes.
    pub fn bytes(&mut self, len: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(len + 8);
        while bytes.len() < len {
            bytes.extend_from_slice(&self.next_u64().to_le_bytes());
        }
        bytes.truncate(len);
        bytes
    }

    /// Puts `items` into a random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }
}

/// [`Random`] from a seed.
pub struct SimRandom {
    rng: Mutex<Rng>,
}

impl SimRandom {
    /// The sequence of `seed`.
    pub fn new(seed: u64) -> SimRandom {
        SimRandom { rng: Mutex::new(Rng::new(seed)) }
    }
}

impl Random for SimRandom {
    fn next_u64(&self) -> u64 {
        self.rng.lock().next_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_seed_others() {
        let draw = |seed| {
            let random = SimRandom::new(seed);
            (0..50).map(|_| random.next_u64()).collect::<Vec<u64>>()
        };
        assert_eq!(draw(7), draw(7));
        assert!(draw(7).iter().all(|number| !draw(8).contains(number)));
    }

    #[test]
    fn draws_stay_in_bounds_and_reach_all_of_them() {
        let mut rng = Rng::new(1);
        let mut seen = [false; 6];
        for _ in 0..200 {
            let number = rng.between(10, 15);
            seen[(number - 10) as usize] = true;
        }
        assert_eq!(seen, [true; 6]);
        let hits = (0..10_000).filter(|_| rng.one_in(10)).count();
        assert!((800..1200).contains(&hits), "{hits}");
    }

    #[test]
    fn a_shuffle_keeps_the_elements() {
        let mut rng = Rng::new(3);
        let mut items: Vec<u32> = (0..20).collect();
        rng.shuffle(&mut items);
        assert_ne!(items, (0..20).collect::<Vec<u32>>());
        items.sort_unstable();
        assert_eq!(items, (0..20).collect::<Vec<u32>>());
        assert_eq!(rng.bytes(13).len(), 13);
    }
}
