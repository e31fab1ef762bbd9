//! Random numbers of a session.

use std::cell::Cell;
use std::sync::Arc;

use verso_env::Random;

/// The random numbers of a session: a sequence of its own, which begins where the world's randomness or `setseed` says. What must
/// not be guessed (UUIDs, random bytes) is the world's randomness itself.
pub(crate) struct RandomNumbers {
    random: Arc<dyn Random>,
    /// Where the sequence stands, once it has begun.
    seed: Cell<Option<u64>>,
    /// Of the last time-ordered UUID, in nanoseconds since 1970.
    stamp: Cell<i128>,
}

impl RandomNumbers {
    pub(crate) fn new(random: Arc<dyn Random>) -> RandomNumbers {
        RandomNumbers { random, seed: Cell::new(None), stamp: Cell::new(0) }
    }
}

impl verso_exec::context::Random for RandomNumbers {
    fn random_u64(&self) -> u64 {
        let state = self.seed.get().unwrap_or_else(|| self.random.next_u64());
        // splitmix64 (Steele, Lea, Flood 2014): a seeded session repeats itself, as setseed promises.
        let next = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.seed.set(Some(next));
        let mixed = (next ^ (next >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn seed_random(&self, seed: f64) {
        self.seed.set(Some(seed.to_bits()));
    }

    fn unseeded_u64(&self) -> u64 {
        self.random.next_u64()
    }

    fn uuid_stamp(&self, micros: i64) -> i128 {
        // twelve bits of a millisecond: a little more than 244 nanoseconds
        let stamp = (i128::from(micros) * 1000).max(self.stamp.get() + 245);
        self.stamp.set(stamp);
        stamp
    }
}
