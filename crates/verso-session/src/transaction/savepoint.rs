//! Savepoints, as far as they are the session's: storage keeps those of what was written.

use std::sync::Arc;

use crate::notify::Mark;
use crate::settings::{ChangedSettings, Settings};
use crate::tables::ConstraintModes;

/// A named place in a transaction, and how the session stood there.
pub(crate) struct Savepoint {
    pub(crate) name: String,
    /// RELEASE … ONLY has taken it away: nobody goes back to it, those behind it stay.
    pub(crate) released: bool,
    pub(crate) settings: Arc<Settings>,
    /// Settings that the transaction had changed.
    pub(crate) changed: Option<ChangedSettings>,
    /// Whether the transaction was READ ONLY: SET TRANSACTION behind it lasts as long as the savepoint.
    pub(crate) read_only: bool,
    /// What SET CONSTRAINTS had said.
    pub(crate) constraints: ConstraintModes,
    /// How many triggers waited for the commit.
    pub(crate) events: crate::tables::Place,
    /// What had been said to sessions that listen.
    pub(crate) said: Mark,
    /// How many cursors functions had opened.
    pub(crate) opened: u64,
}
