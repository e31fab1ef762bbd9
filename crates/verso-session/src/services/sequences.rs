//! What sequences have yielded in a session: `currval` and `lastval`.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use verso_exec::context::SequenceState;

/// The last values of sequences, by oid.
#[derive(Debug, Default)]
pub(crate) struct SequenceValues {
    values: RefCell<HashMap<u32, i64>>,
    last: Cell<Option<i64>>,
}

impl SequenceValues {
    /// No sequence was used in the session.
    pub(crate) fn forget(&self) {
        self.values.borrow_mut().clear();
        self.last.set(None);
    }
}

impl SequenceState for SequenceValues {
    fn value(&self, sequence: u32) -> Option<i64> {
        self.values.borrow().get(&sequence).copied()
    }

    fn last_value(&self) -> Option<i64> {
        self.last.get()
    }

    fn note_value(&self, sequence: u32, value: i64, is_last: bool) {
        self.values.borrow_mut().insert(sequence, value);
        if is_last {
            self.last.set(Some(value));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setval_changes_currval_and_not_lastval_and_discard_forgets_both() {
        let values = SequenceValues::default();
        values.note_value(7, 1, true);
        values.note_value(8, 40, false);
        assert_eq!((values.value(7), values.value(8), values.last_value()), (Some(1), Some(40), Some(1)));
        values.forget();
        assert_eq!((values.value(7), values.last_value()), (None, None));
    }
}
