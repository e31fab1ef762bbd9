//! Waiting for a client without falling asleep, for the client that is alone.
//!
//! A thread that sleeps is woken by the scheduler, which costs more than a statement that finds one row. So the only
//! session that is busy asks for bytes again and again for some microseconds before its worker sleeps.
//!
//! A1. It does so only if it was the last one to hear of its client many times in a row, and if there is another
//!     processor for the client: with several busy clients the processors have better things to do.
//! A2. A client that takes longer than that is soon waited for asleep; it is tried again ever more rarely.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use verso_env::Clock;

/// How long a thread stays awake.
const AWAKE: Duration = Duration::from_micros(30);
/// Messages of the same client in a row after which it counts as alone (A1).
const ALONE: u32 = 16;
/// A client that was waited for in vain is waited for asleep up to so many times (A2).
const ASLEEP_MAX: u32 = 1 << 10;

/// Which session heard of its client last; shared by all sessions of a server.
#[derive(Debug, Default)]
pub struct Last(AtomicU64);

/// How one session waits. The default always sleeps.
#[derive(Default)]
pub struct Patience {
    shared: Option<(Arc<Last>, Arc<dyn Clock>)>,
    session: u64,
    in_a_row: u32,
    /// Waits to come that are slept through.
    asleep: u32,
    /// How many they will be after the next wait in vain.
    asleep_next: u32,
}

impl std::fmt::Debug for Patience {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Patience").field("in_a_row", &self.in_a_row).finish_non_exhaustive()
    }
}

impl Patience {
    /// Of a session with that number, not 0.
    pub fn new(session: u64, last: Arc<Last>, clock: Arc<dyn Clock>) -> Patience {
        Patience { shared: Some((last, clock)), session, ..Patience::default() }
    }

    /// Asks for bytes again and again for a while, if that is worth it.
    ///
    /// # Errors
    /// That of `ask`.
    pub fn stay_awake<T>(&mut self, mut ask: impl FnMut() -> io::Result<Option<T>>) -> io::Result<Option<T>> {
        let Some((_, clock)) = self.shared.clone().filter(|_| self.tries()) else { return Ok(None) };
        let end = clock.monotonic_nanos().saturating_add(AWAKE.as_nanos() as u64);
        let heard = loop {
            if let Some(heard) = ask()? {
                break Some(heard);
            }
            if clock.monotonic_nanos() >= end {
                break None;
            }
            std::hint::spin_loop();
        };
        self.tried(heard.is_some());
        Ok(heard)
    }

    /// Whether the session is alone, as far as it can tell (A1).
    fn is_alone(&mut self) -> bool {
        let Some((last, _)) = &self.shared else { return false };
        if last.0.load(Ordering::Relaxed) == self.session {
            self.in_a_row = self.in_a_row.saturating_add(1);
        } else {
            last.0.store(self.session, Ordering::Relaxed);
            self.in_a_row = 0;
        }
        self.in_a_row >= ALONE
    }

    /// Whether this wait is worth staying awake (A2).
    fn tries(&mut self) -> bool {
        let tries = self.is_alone() && self.asleep == 0;
        self.asleep = self.asleep.saturating_sub(1);
        tries
    }

    fn tried(&mut self, success: bool) {
        self.asleep_next = if success { 0 } else { (self.asleep_next * 2).clamp(1, ASLEEP_MAX) };
        self.asleep = self.asleep_next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use verso_env::Env;

    fn patience(session: u64, last: &Arc<Last>) -> Patience {
        Patience::new(session, Arc::clone(last), Env::real().clock)
    }

    #[test]
    fn only_who_is_alone_stays_awake() {
        let last = Arc::default();
        let (mut one, mut two) = (patience(1, &last), patience(2, &last));
        for _ in 0..ALONE {
            assert!(!one.tries());
        }
        assert!(one.tries());
        assert!(!two.tries());
        assert!(!one.tries(), "the other one was busy");
        assert!((0..100).all(|_| !Patience::default().tries()));
    }

    #[test]
    fn a_slow_client_is_waited_for_asleep_more_and_more() {
        let last = Arc::default();
        let mut one = patience(1, &last);
        let mut tries = 0;
        for _ in 0..10_000 {
            if one.tries() {
                tries += 1;
                one.tried(false);
            }
        }
        assert!(tries < 25, "{tries}");
        while !one.tries() {}
        one.tried(true);
        assert!(one.tries());
    }
}
