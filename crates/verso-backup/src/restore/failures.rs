//! What of an archive a restore that goes on has left out.

use std::sync::Arc;

use verso_env::sync::Mutex;

use crate::error::BackupError;

/// The statements that failed, where the restore goes on without them.
#[derive(Clone, Debug, Default)]
pub(super) struct Failures {
    goes_on: bool,
    texts: Arc<Mutex<Vec<String>>>,
}

impl Failures {
    pub fn new(goes_on: bool) -> Failures {
        Failures { goes_on, texts: Arc::default() }
    }

    /// Whether the restore goes on without what fails.
    pub fn go_on(&self) -> bool {
        self.goes_on
    }

    /// Takes down a statement that has failed.
    ///
    /// # Errors
    /// The same one, where the restore ends by it: a full disk, a lack of memory or a server that is shut down is no matter of the
    /// statement.
    pub fn take(&self, error: BackupError) -> Result<(), BackupError> {
        if !self.may_take(&error) {
            return Err(error);
        }
        self.note(error.to_string());
        Ok(())
    }

    /// Whether the restore goes on without what failed so.
    pub fn may_take(&self, error: &BackupError) -> bool {
        let of_statement = matches!(error, BackupError::Statement { error, .. }
            if !["53", "57", "58", "XX"].iter().any(|class| error.sqlstate.starts_with(class)));
        self.goes_on && of_statement
    }

    /// Takes down something else that is left out.
    pub fn note(&self, text: String) {
        self.texts.lock().push(text);
    }

    /// What was taken down.
    pub fn texts(&self) -> Vec<String> {
        self.texts.lock().clone()
    }
}
