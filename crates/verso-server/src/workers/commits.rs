//! Sessions whose answers wait for the disk.
//!
//! A worker that finds nobody leading leads: it writes the log for all sessions that wait, and answers them then. A session
//! that comes meanwhile is left behind for the next lead.
//!
//! C1. While a session waits for the log, a worker leads, or is about to look ([`Commits::lead_on`]) without waiting for
//!     anything before. A leader that would run statements in between might wait for a lock of the very session that it
//!     has left behind: [`Led::leaves_some`] tells it not to.

use verso_env::sync::Mutex;

/// The log that answers wait for.
pub trait Log: Send + Sync {
    /// How far it is on disk.
    fn durable(&self) -> u64;

    /// Waits until it is on disk up to there; false if it cannot be written, then and for good.
    fn flush(&self, upto: u64) -> bool;
}

/// Sessions that wait.
pub(super) struct Commits<S>(Mutex<State<S>>);

struct State<S> {
    leads: bool,
    /// In the order in which they came, with how far the log has to be on disk for each.
    seats: Vec<(u64, S)>,
}

/// What a lead has done.
pub(super) struct Led<S> {
    /// Sessions that need not wait any more.
    pub done: Vec<S>,
    /// Whether the log could be written.
    pub written: bool,
    /// Sessions came while the log was written, and wait for the next lead.
    pub leaves_some: bool,
}

impl<S> Default for Commits<S> {
    fn default() -> Commits<S> {
        Commits(Mutex::new(State { leads: false, seats: Vec::new() }))
    }
}

impl<S> Commits<S> {
    /// A session waits for the log. Whether the caller is to [`Commits::lead`].
    #[must_use]
    pub fn add(&self, upto: u64, seat: S) -> bool {
        let mut state = self.0.lock();
        state.seats.push((upto, seat));
        !std::mem::replace(&mut state.leads, true)
    }

    /// A session waits for the log, and the caller will [`Commits::lead_on`].
    pub fn leave(&self, upto: u64, seat: S) {
        self.0.lock().seats.push((upto, seat));
    }

    /// Writes the log for all who wait. From then on somebody else may lead.
    pub fn lead(&self, log: &dyn Log) -> Led<S> {
        let upto = self.0.lock().seats.iter().map(|(upto, _)| *upto).max().unwrap_or(0);
        // A log that cannot be written is told to all.
        let written = log.flush(upto);
        let durable = log.durable();
        let mut state = self.0.lock();
        state.leads = false;
        let done = state.seats.extract_if(.., |(upto, _)| !written || *upto <= durable);
        let done = done.map(|(_, seat)| seat).collect();
        Led { done, written, leaves_some: !state.seats.is_empty() }
    }

    /// Whether somebody waits and nobody leads: the caller does then.
    #[must_use]
    pub fn lead_on(&self) -> bool {
        let mut state = self.0.lock();
        let leads = !state.leads && !state.seats.is_empty();
        state.leads |= leads;
        leads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// While it is written another session comes.
    struct Visited<'c>(&'c Commits<&'static str>);

    impl Log for Visited<'_> {
        fn durable(&self) -> u64 {
            10
        }

        fn flush(&self, upto: u64) -> bool {
            assert_eq!(upto, 10);
            assert!(!self.0.add(20, "second"), "somebody leads");
            true
        }
    }

    #[test]
    fn a_leader_is_told_of_sessions_that_came_while_it_wrote() {
        let commits = Commits::default();
        assert!(commits.add(10, "first"), "nobody leads");
        let led = commits.lead(&Visited(&commits));
        assert_eq!((led.done, led.written, led.leaves_some), (vec!["first"], true, true));
        assert!(commits.lead_on(), "the second waits, and nobody leads");
    }
}
