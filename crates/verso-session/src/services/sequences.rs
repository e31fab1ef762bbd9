//! What sequences have yielded in a session: `currval` and `lastval`.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;

use verso_exec::context::SequenceState;

/// The last values of sequences, by oid.
#[derive(Debug, Default)]
pub(crate) struct SequenceValues {
    values: RefCell<HashMap<u32, i64>>,
    last: Cell<Option<u32>>,
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

    fn last_used(&self) -> Option<u32> {
        self.last.get()
    }

    fn note_value(&self, sequence: u32, value: i64, is_last: bool) {
        self.values.borrow_mut().insert(sequence, value);
        if is_last {
            self.last.set(Some(sequence));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setval_changes_values_and_not_which_sequence_was_the_last_one() {
        let values = SequenceValues::default();
        values.note_value(7, 1, true);
        values.note_value(8, 40, false);
        values.note_value(7, 99, false);
        assert_eq!((values.value(7), values.value(8), values.last_used()), (Some(99), Some(40), Some(7)));
        values.forget();
        assert_eq!((values.value(7), values.last_used()), (None, None));
    }
}
