//! Group commit: who finds no flush under way leads one, for all that was appended so far; others wait for its end.
//!
//! G1. At most one leads.
//! G2. The end of a lead, however it comes, wakes all who wait; each looks again whether what he wants is done, and
//!     one of those for whom it is not leads next. So nobody sleeps while nobody leads.
//!
//! All interleavings of it are tried by `tests/interleavings`.

use verso_env::sync::{Condvar, Mutex};

/// Whose turn it is.
pub(super) struct Turns {
    leading: Mutex<bool>,
    ended: Condvar,
}

/// The lead; dropping it ends it.
#[must_use]
pub(super) struct Lead<'t>(&'t Turns);

impl Turns {
    pub(super) fn new() -> Turns {
        Turns { leading: Mutex::new(false), ended: Condvar::new() }
    }

    /// Waits until `done` (then nothing is left to do) or until nobody leads: then this thread does.
    ///
    /// # Errors
    /// That of `done`.
    pub(super) fn take<E>(&self, done: impl Fn() -> Result<bool, E>) -> Result<Option<Lead<'_>>, E> {
        let mut leading = self.leading.lock();
        loop {
            if done()? {
                return Ok(None);
            }
            if !*leading {
                *leading = true;
                return Ok(Some(Lead(self)));
            }
            self.ended.wait(&mut leading);
        }
    }
}

impl Drop for Lead<'_> {
    fn drop(&mut self) {
        *self.0.leading.lock() = false;
        self.0.ended.notify_all();
    }
}
