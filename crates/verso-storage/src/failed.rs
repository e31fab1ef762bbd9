//! Whether a part of the engine has failed for good, and why.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use crate::StorageError;

/// Set once, by the first failure; to look costs one load.
#[derive(Debug, Default)]
pub(crate) struct Failed {
    has: AtomicBool,
    why: OnceLock<Arc<StorageError>>,
}

impl Failed {
    /// From now on it has failed; whether it had not before.
    pub(crate) fn set(&self, why: Option<&StorageError>) -> bool {
        let why = match why {
            // A consequence: the reason is the one behind it.
            Some(StorageError::Poisoned { why }) => why.clone(),
            Some(error) => Some(Arc::new(error.clone())),
            None => None,
        };
        if let Some(why) = why {
            // The first reason stays.
            let _ = self.why.set(why);
        }
        !self.has.swap(true, Ordering::AcqRel)
    }

    #[inline]
    pub(crate) fn has(&self) -> bool {
        self.has.load(Ordering::Acquire)
    }

    /// # Errors
    /// `Poisoned` with the reason, once it has failed.
    #[inline]
    pub(crate) fn check(&self) -> Result<(), StorageError> {
        if self.has() { Err(self.error()) } else { Ok(()) }
    }

    /// What whoever wants to change something is told.
    #[cold]
    pub(crate) fn error(&self) -> StorageError {
        StorageError::Poisoned { why: self.why.get().cloned() }
    }
}
