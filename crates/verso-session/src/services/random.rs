//! Random numbers of a session.

use std::cell::Cell;
use std::sync::Arc;

use verso_env::Random;
use verso_exec::context::Random as _;
use verso_planner::errors::{SqlError, sqlstate};

/// The random numbers of a session: a sequence of its own, which begins where the world's randomness or `setseed` says; behind a
/// seed it is PostgreSQL's. What must not be guessed (UUIDs, random bytes) is the world's randomness itself.
pub(crate) struct RandomNumbers {
    random: Arc<dyn Random>,
    /// Where the sequence stands, once it has begun.
    state: Cell<Option<[u64; 2]>>,
    /// Of the last time-ordered UUID, in nanoseconds since 1970.
    stamp: Cell<i128>,
}

impl RandomNumbers {
    pub(crate) fn new(random: Arc<dyn Random>) -> RandomNumbers {
        RandomNumbers { random, state: Cell::new(None), stamp: Cell::new(0) }
    }
}

impl super::Services {
    /// `SET seed`: the next random numbers are those that follow from it.
    ///
    /// # Errors
    /// 22023 for what is no number from -1 to 1.
    pub(crate) fn seed(&self, value: &str) -> Result<(), SqlError> {
        let refused = |text: String| Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
        match value.trim().parse::<f64>() {
            Ok(seed) if (-1.0..=1.0).contains(&seed) => {
                self.random.seed_random(seed);
                Ok(())
            }
            Ok(seed) if !seed.is_nan() => {
                refused(format!("{seed} is outside the valid range for parameter \"seed\" (-1 .. 1)"))
            }
            _ => refused(format!("invalid value for parameter \"seed\": \"{value}\"")),
        }
    }
}

/// The state that a seed leads to: two numbers of splitmix64 (Steele, Lea, Flood 2014), never both zero.
fn seeded(seed: u64) -> [u64; 2] {
    let nth = |n: u64| {
        let mixed = seed.wrapping_add(n.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    };
    [nth(1), nth(2)]
}

impl verso_exec::context::Random for RandomNumbers {
    fn random_u64(&self) -> u64 {
        // xoroshiro128** (Blackman, Vigna 2018)
        let [s0, s1] = self.state.get().unwrap_or_else(|| seeded(self.random.next_u64()));
        let mixed = s1 ^ s0;
        self.state.set(Some([s0.rotate_left(24) ^ mixed ^ (mixed << 16), mixed.rotate_left(37)]));
        s0.wrapping_mul(5).rotate_left(7).wrapping_mul(9)
    }

    fn seed_random(&self, seed: f64) {
        // As PostgreSQL makes 64 bits of it: 52 of them hang on the fraction, those above on the sign.
        let bits = ((1_u64 << 52) - 1) as f64 * seed;
        self.state.set(Some(seeded((bits as i64).cast_unsigned())));
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
