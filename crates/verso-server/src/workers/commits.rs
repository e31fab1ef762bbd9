//! Sessions whose answers wait for the disk.
//!
//! Who finds nobody leading leads: writes the log for all who are here, and answers them then. Who comes meanwhile is left
//! behind for the next, and is not waited for: a thread goes on with other sessions, whoever commits.

use std::sync::Arc;

use verso_env::sync::Mutex;

use super::seat::Seat;

/// The log that answers wait for.
pub trait Log: Send + Sync {
    /// How far it is on disk.
    fn durable(&self) -> u64;

    /// Waits until it is on disk up to there; false if it cannot be written, then and for good.
    fn flush(&self, upto: u64) -> bool;
}

/// Who waits.
#[derive(Default)]
pub(super) struct Commits(Mutex<State>);

#[derive(Default)]
struct State {
    leads: bool,
    /// In the order in which they came, with how far the log has to be on disk for each.
    seats: Vec<(u64, Arc<Seat>)>,
}

impl Commits {
    /// A session waits for the log. Whether the caller is to [`Commits::lead`].
    #[must_use]
    pub fn add(&self, upto: u64, seat: Arc<Seat>) -> bool {
        let mut state = self.0.lock();
        state.seats.push((upto, seat));
        !std::mem::replace(&mut state.leads, true)
    }

    /// A session waits for the log, and the caller will [`Commits::lead_on`].
    pub fn leave(&self, upto: u64, seat: Arc<Seat>) {
        self.0.lock().seats.push((upto, seat));
    }

    /// Writes the log for all who wait, and gives back those who need not wait any more, and whether it could be written.
    /// From then on somebody else may lead.
    pub fn lead(&self, log: &dyn Log) -> (Vec<Arc<Seat>>, bool) {
        let upto = self.0.lock().seats.iter().map(|(upto, _)| *upto).max().unwrap_or(0);
        // A log that cannot be written is told to all.
        let written = log.flush(upto);
        let durable = log.durable();
        let mut state = self.0.lock();
        state.leads = false;
        let done = state.seats.extract_if(.., |(upto, _)| !written || *upto <= durable);
        (done.map(|(_, seat)| seat).collect(), written)
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
