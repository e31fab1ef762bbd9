//! Labels that the running transaction has added to enum types: nobody may use them before it commits.
//!
//! L1. A label of a type that the transaction has made itself is no such label: if the label goes, the type goes, too.
//! L2. What is taken back by a savepoint stays noted. No other label or type gets its number.
//! L3. Reading a text as a label asks for each value: where nothing is noted it looks at one flag.

use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

/// What the running transaction of a session has added.
#[derive(Default)]
pub(crate) struct NewLabels {
    /// Is there any label?
    any: AtomicBool,
    noted: Mutex<Noted>,
}

#[derive(Default)]
struct Noted {
    types: Vec<u32>,
    labels: Vec<u32>,
}

impl NewLabels {
    /// The transaction has made this type.
    pub(crate) fn note_type(&self, ty: u32) {
        self.noted.lock().types.push(ty);
    }

    /// The transaction has added this label to the type.
    pub(crate) fn note(&self, ty: u32, label: u32) {
        let mut noted = self.noted.lock();
        if !noted.types.contains(&ty) {
            noted.labels.push(label);
            self.any.store(true, Ordering::Release);
        }
    }

    /// Whether the label waits for its transaction.
    pub(crate) fn has(&self, label: u32) -> bool {
        self.any.load(Ordering::Acquire) && self.noted.lock().labels.contains(&label)
    }

    /// Another transaction begins, or none.
    pub(crate) fn forget(&self) {
        let mut noted = self.noted.lock();
        noted.types.clear();
        noted.labels.clear();
        self.any.store(false, Ordering::Release);
    }
}
