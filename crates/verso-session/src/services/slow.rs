//! What is kept of a running statement for the log of slow ones.

use std::cell::{Cell, RefCell};

use super::Services;

/// When the running statement began, if its duration may be told, and its plan.
#[derive(Debug, Default)]
pub(crate) struct SlowStatement {
    start: Cell<Option<u64>>,
    plan: RefCell<Option<String>>,
}

impl SlowStatement {
    /// A statement begins.
    pub(crate) fn begin(&self, start: Option<u64>) {
        self.start.set(start);
    }

    /// It ends: its plan, if it was kept.
    pub(crate) fn end(&self) -> Option<String> {
        self.start.set(None);
        self.plan.take()
    }
}

impl Services {
    /// Whether a statement that took so many nanoseconds is logged.
    pub(crate) fn takes_long(&self, nanos: u64) -> bool {
        let least = u64::try_from(self.log_min_duration_ms());
        least.is_ok_and(|least| nanos >= least.saturating_mul(1_000_000))
    }

    /// Whether the running statement's duration may be told.
    pub(crate) fn is_timed(&self) -> bool {
        self.slow.start.get().is_some()
    }

    /// Keeps the plan of the running statement, made by `text`, if it has taken long by now.
    pub(crate) fn keep_plan(&self, text: impl FnOnce() -> String) {
        let since = self.slow.start.get().map(|start| self.clocks.nanos().saturating_sub(start));
        if since.is_some_and(|nanos| self.takes_long(nanos)) {
            self.slow.plan.replace(Some(text()));
        }
    }
}
