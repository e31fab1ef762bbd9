//! Whether a recursive function may go one level deeper.
//!
//! It may not where the thread's stack ends ([`stack`]), and need not where who asked for the work has cancelled it. Binding,
//! rewriting and planning are recursive all through and do little between two levels: because each level asks here, a
//! cancel or a timeout ends them as soon as it ends a running query, and no function carries a flag around.
//!
//! C1. What is cancellable is said by whoever runs the statement, for the running thread and for as long as the
//!     [`Cancellable`] lives; where nobody has said so, nothing is.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::stack::{self, StackExhausted};

/// Why a recursive function goes no deeper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Nothing of the stack is left but the reserve (54001).
    #[error(transparent)]
    Stack(#[from] StackExhausted),
    /// The statement was cancelled, or has taken too long (57014).
    #[error("canceled")]
    Cancelled,
}

thread_local! {
    /// True as soon as what the thread works on is cancelled.
    static CANCEL: RefCell<Option<Arc<AtomicBool>>> = const { RefCell::new(None) };
}

/// Whether the caller may recurse one level deeper. Costs two thread-local reads and two comparisons.
///
/// # Errors
/// Only the reserve of the stack is left, or the work is cancelled.
#[inline]
pub fn check() -> Result<(), Refused> {
    stack::check()?;
    if is_wanted() { Ok(()) } else { Err(Refused::Cancelled) }
}

/// Whether what the thread works on has not been cancelled.
pub fn is_wanted() -> bool {
    CANCEL.with_borrow(|cancel| cancel.as_ref().is_none_or(|cancel| !cancel.load(Ordering::Relaxed)))
}

/// While it lives, [`check`] refuses on this thread as soon as the flag is set.
#[derive(Debug)]
#[must_use = "what is dropped at once makes nothing cancellable"]
pub struct Cancellable {
    /// What was cancellable around it.
    before: Option<Arc<AtomicBool>>,
    /// It belongs to the thread that made it.
    _thread: std::marker::PhantomData<*const ()>,
}

impl Cancellable {
    /// The flag counts from now on.
    pub fn by(flag: Arc<AtomicBool>) -> Cancellable {
        Cancellable { before: CANCEL.replace(Some(flag)), _thread: std::marker::PhantomData }
    }
}

impl Drop for Cancellable {
    fn drop(&mut self) {
        CANCEL.set(self.before.take());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_flag_counts_and_only_while_it_is_there() {
        let (outer, inner) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(true)));
        assert_eq!(check(), Ok(()));
        let around = Cancellable::by(Arc::clone(&outer));
        assert_eq!(check(), Ok(()));
        {
            let _within = Cancellable::by(inner);
            assert_eq!(check(), Err(Refused::Cancelled));
        }
        assert_eq!(check(), Ok(()));
        outer.store(true, Ordering::Relaxed);
        assert_eq!(check(), Err(Refused::Cancelled));
        drop(around);
        assert_eq!(check(), Ok(()));
    }
}
