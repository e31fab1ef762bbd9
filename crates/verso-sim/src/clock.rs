//! Time that passes only when the simulation says so.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use verso_env::Clock;
use verso_env::simulation::{self, WaitKey, WaitKind, Woken};

/// 2024-01-01 00:00 UTC, where simulated wall clocks begin.
const START_UNIX_MICROS: i64 = 1_704_067_200_000_000;

/// A simulated clock; clones show the same time.
#[derive(Clone, Debug, Default)]
pub struct SimClock {
    nanos: Arc<AtomicU64>,
}

impl SimClock {
    /// A clock at its start.
    pub fn new() -> SimClock {
        SimClock::default()
    }

    /// Lets `duration` pass.
    pub fn advance(&self, duration: Duration) {
        self.nanos.fetch_add(nanos_of(duration), Ordering::SeqCst);
    }

    /// Moves on to `nanos`, unless it is past already.
    pub(crate) fn advance_to(&self, nanos: u64) {
        self.nanos.fetch_max(nanos, Ordering::SeqCst);
    }

    /// Nanoseconds since the start.
    pub(crate) fn now(&self) -> u64 {
        self.nanos.load(Ordering::SeqCst)
    }
}

/// A duration in nanoseconds, at most 292 years, so that sums do not overflow.
pub(crate) fn nanos_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX / 2)
}

impl Clock for SimClock {
    fn monotonic_nanos(&self) -> u64 {
        self.now()
    }

    fn unix_micros(&self) -> i64 {
        START_UNIX_MICROS + (self.now() / 1000) as i64
    }

    #[track_caller]
    fn sleep(&self, duration: Duration) {
        let Some(scheduler) = simulation::current() else {
            self.advance(duration);
            return;
        };
        let key = WaitKey { kind: WaitKind::Sleep, address: 0 };
        if scheduler.block(key, Some(duration), Location::caller()) == Woken::Aborted {
            simulation::unwind_aborted();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_passes_only_by_sleeping_and_advancing() {
        let clock = SimClock::new();
        let start = clock.unix_micros();
        assert_eq!(clock.monotonic_nanos(), clock.monotonic_nanos());
        clock.clone().sleep(Duration::from_secs(3));
        clock.advance(Duration::from_secs(1));
        assert_eq!(clock.monotonic_nanos(), 4_000_000_000);
        assert_eq!(clock.unix_micros() - start, 4_000_000);
    }
}
