//! The figures of one session: counted under a lock of its own, and taken over by whoever wants to see them.

use std::cell::Cell;
use std::sync::Arc;

use parking_lot::Mutex;

use super::Key;
use super::figures::{Figures, Run};
use super::table::Tracked;

/// Statements that a session counts before it hands them on.
const KEPT_MAX: usize = 32;

/// What a session has counted that nobody has taken over yet.
#[derive(Debug, Default)]
pub(super) struct Counted {
    pub(super) entries: Vec<(Key, Figures)>,
    /// The one that was counted last: it is often the next one.
    last: usize,
}

impl Counted {
    #[inline]
    fn find(&mut self, key: Key) -> Option<&mut Figures> {
        if self.entries.get(self.last).is_none_or(|(known, _)| *known != key) {
            self.last = self.entries.iter().position(|(known, _)| *known == key)?;
        }
        self.entries.get_mut(self.last).map(|(_, figures)| figures)
    }

    pub(super) fn take(&mut self) -> Vec<(Key, Figures)> {
        self.last = 0;
        std::mem::take(&mut self.entries)
    }
}

/// The figures of a session.
#[derive(Debug, Default)]
pub(crate) struct OwnFigures {
    counted: Arc<Mutex<Counted>>,
    is_known: Cell<bool>,
}

impl OwnFigures {
    /// Counts an execution by the session of that number; `text` makes the statement's text where the database has none.
    #[inline]
    pub(crate) fn count(
        &self,
        (tracked, session): (&Tracked, u64),
        key: Key,
        run: &Run,
        now: impl FnOnce() -> i64,
        text: impl FnOnce() -> String,
    ) {
        let mut counted = self.counted.lock();
        if let Some(figures) = counted.find(key) {
            figures.add(run);
            return;
        }
        if !self.is_known.replace(true) {
            tracked.add_session(session, &self.counted);
        }
        if counted.entries.len() >= KEPT_MAX {
            tracked.fold(counted.entries.drain(..));
        }
        // Whoever makes room asks all sessions for what they have counted.
        drop(counted);
        if tracked.ensure(key, now, text) {
            let mut counted = self.counted.lock();
            let mut figures = Figures::default();
            figures.add(run);
            counted.last = counted.entries.len();
            counted.entries.push((key, figures));
        }
    }

    /// The session ends: hands on what it has counted.
    pub(crate) fn end(&self, tracked: &Tracked, session: u64) {
        if self.is_known.get() {
            tracked.end_session(session);
        }
    }
}
