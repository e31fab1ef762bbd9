//! Time as a trait.

use std::time::Duration;

/// A monotonic clock, a wall clock and sleeping.
pub trait Clock: Send + Sync {
    /// Nanoseconds since some fixed moment of this process; never runs backwards.
    fn monotonic_nanos(&self) -> u64;

    /// Microseconds since 1970-01-01 00:00 UTC; may jump when the machine's clock is set.
    fn unix_micros(&self) -> i64;

    /// As [`Clock::unix_micros`], perhaps a few milliseconds behind where that is cheaper.
    fn unix_micros_rough(&self) -> i64 {
        self.unix_micros()
    }

    /// Blocks the calling thread for at least `duration` (simulated: lets the others run and advances time).
    fn sleep(&self, duration: Duration);
}
