//! The machine's clocks.

use std::time::{Duration, Instant};

use crate::Clock;

/// The machine's clocks; monotonic time counts from this value's creation.
pub(crate) struct RealClock {
    start: Instant,
}

impl RealClock {
    #[expect(clippy::disallowed_methods, reason = "this is the real clock behind the trait")]
    pub(crate) fn new() -> RealClock {
        RealClock { start: Instant::now() }
    }
}

impl Clock for RealClock {
    fn monotonic_nanos(&self) -> u64 {
        let nanos = self.start.elapsed().as_nanos();
        u64::try_from(nanos).expect("a process lives less than 580 years")
    }

    #[cfg(target_os = "linux")]
    fn unix_micros(&self) -> i64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Realtime);
        now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
    }

    #[cfg(not(target_os = "linux"))]
    #[expect(clippy::disallowed_methods, reason = "this is the real clock behind the trait")]
    fn unix_micros(&self) -> i64 {
        use std::time::{SystemTime, UNIX_EPOCH};
        let micros = match SystemTime::now().duration_since(UNIX_EPOCH) {
            Ok(after) => i64::try_from(after.as_micros()),
            Err(before) => i64::try_from(before.duration().as_micros()).map(|micros| -micros),
        };
        micros.expect("the clock stands within 290,000 years of 1970")
    }

    #[cfg(target_os = "linux")]
    fn unix_micros_rough(&self) -> i64 {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::RealtimeCoarse);
        now.tv_sec * 1_000_000 + now.tv_nsec / 1_000
    }

    fn sleep(&self, duration: Duration) {
        std::thread::sleep(duration);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_by_at_least_what_was_slept() {
        let clock = RealClock::new();
        let before = clock.monotonic_nanos();
        clock.sleep(Duration::from_millis(2));
        assert!(clock.monotonic_nanos() - before >= 2_000_000);
        let now = clock.unix_micros();
        assert!(now > 1_700_000_000_000_000);
        assert!((now - 1_000_000..now + 1_000_000).contains(&clock.unix_micros_rough()));
    }
}
