//! The past: how long it is kept, and which state was there at a moment.
//!
//! H1. Where history is kept ([`crate::txn::history`]), its oldest state holds the horizon and the markers as a snapshot would.

use std::sync::Arc;

use verso_env::Clock;

use super::Transactions;
use crate::page::TxnId;
use crate::txn::history::{History, HistoryReport, RestoredHistory};

impl Transactions {
    /// Keeps old versions for so long from now on; 0 is not at all. A past that was kept before stays within reach as far
    /// as the new time goes. Whether it begins now.
    pub fn keep_history(&self, micros: i64, clock: &Arc<dyn Clock>) -> bool {
        let mut state = self.state.lock();
        let begins = micros > 0 && state.history.is_none();
        match &mut state.history {
            _ if micros <= 0 => state.history = None,
            Some(history) => {
                history.set_retention(micros);
                history.trim();
            }
            None => state.history = Some(History::new(Arc::clone(clock), micros)),
        }
        drop(state);
        self.housekeeping.wake();
        begins
    }

    /// Tells a past that a restart has brought back what time it is.
    pub(crate) fn set_clock(&self, clock: &Arc<dyn Clock>) {
        if let Some(history) = &mut self.state.lock().history {
            history.set_clock(clock);
        }
    }

    /// Whether old versions stay for a time.
    pub(crate) fn keeps_history(&self) -> bool {
        self.state.lock().history.is_some()
    }

    /// Lets the horizon pass what is older than history is kept; the report of what is left.
    pub fn trim_history(&self) -> Option<HistoryReport> {
        let mut state = self.state.lock();
        let counter = state.counter;
        let history = state.history.as_mut()?;
        history.trim();
        Some(history.report(counter))
    }

    /// Lets an eighth of the moments go, the oldest, as they take more space than they may; whether there were any.
    pub(crate) fn shorten_history(&self) -> bool {
        self.state.lock().history.as_mut().is_some_and(History::shorten)
    }

    /// The number of the state that was there at a moment (microseconds since 1970); none where it cannot be read any more.
    pub fn number_at(&self, moment: i64) -> Option<u64> {
        let state = self.state.lock();
        state.history.as_ref()?.number_at(moment, state.counter)
    }

    /// Appends the past for a checkpoint, if it is kept (H3).
    pub(crate) fn encode_history(&self, out: &mut Vec<u8>) -> bool {
        let mut state = self.state.lock();
        let Some(history) = &mut state.history else { return false };
        history.trim();
        let directory = self.directory();
        let oldest = history.oldest().map_or(TxnId(u64::MAX), |mark| mark.all_below);
        let next = TxnId(state.next);
        let first = oldest.max(directory.floor()).min(next);
        let history = state.history.as_ref().expect("there above");
        RestoredHistory::encode_numbers(first, directory.numbers(first..next), out);
        history.encode(out);
        true
    }
}
