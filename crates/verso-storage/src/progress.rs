//! How far a long piece of work is, for a bar, and the way to end it.

use crate::StorageError;

/// How far it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What is done now.
    pub phase: &'static str,
    /// Pages or bytes that are done, in all phases.
    pub done: u64,
    /// Of so many; what is read several times counts once for each of them.
    pub total: u64,
}

/// Told how far the work is; an error that it returns ends the work.
pub type WatchProgress<'w> = &'w mut dyn FnMut(Progress) -> Result<(), StorageError>;

/// Counts the steps of work that was planned part by part.
pub(crate) struct Steps<'w> {
    watch: WatchProgress<'w>,
    now: Progress,
    /// Where the part under way ends.
    end: u64,
}

impl Steps<'_> {
    /// Work of so many pages or bytes in all.
    pub(crate) fn new(watch: WatchProgress<'_>, total: u64) -> Steps<'_> {
        Steps { watch, now: Progress { phase: "", done: 0, total }, end: 0 }
    }

    /// The next part begins, for which so much was planned. What the part before has left out is done, too.
    pub(crate) fn enter(&mut self, phase: &'static str, planned: u64) -> Result<(), StorageError> {
        (self.now.phase, self.now.done) = (phase, self.end);
        self.end += planned;
        (self.watch)(self.now)
    }

    /// So much more is done.
    pub(crate) fn advance(&mut self, by: u64) -> Result<(), StorageError> {
        self.now.done = self.end.min(self.now.done + by);
        (self.watch)(self.now)
    }
}
