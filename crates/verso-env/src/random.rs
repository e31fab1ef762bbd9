//! Randomness as a trait.

/// A source of random numbers.
pub trait Random: Send + Sync {
    /// The next 64 bits; unpredictable in the real world, a function of the seed in a simulation.
    fn next_u64(&self) -> u64;
}
