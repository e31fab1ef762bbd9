//! What a transaction was begun with.

use verso_storage::{Isolation, TxnOptions};

use crate::settings::{Settings, ShownModes};
use verso_parser::syntax::{IsolationLevel, TransactionModes};

/// What a transaction was begun with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Modes {
    pub(crate) isolation: IsolationLevel,
    pub(crate) read_only: bool,
    pub(crate) savepoints: bool,
    pub(crate) deferrable: bool,
}

impl Modes {
    /// Those that a session's settings say.
    pub(crate) fn usual(settings: &Settings) -> Modes {
        let &Settings { isolation, read_only, savepoints, deferrable, .. } = settings;
        Modes { isolation, read_only, savepoints, deferrable }
    }

    /// As storage names them.
    pub(crate) fn options(self) -> TxnOptions {
        let isolation = match self.isolation {
            IsolationLevel::ReadUncommitted => Isolation::ReadUncommitted,
            IsolationLevel::ReadCommitted => Isolation::ReadCommitted,
            IsolationLevel::Snapshot => Isolation::Snapshot,
            IsolationLevel::Serializable => Isolation::Serializable,
        };
        TxnOptions { isolation, savepoints: self.savepoints, read_only: self.read_only }
    }

    /// Those that are given, and these besides.
    pub(crate) fn with(self, given: &TransactionModes) -> Modes {
        Modes {
            isolation: given.isolation.unwrap_or(self.isolation),
            read_only: given.read_only.unwrap_or(self.read_only),
            savepoints: given.savepoints.unwrap_or(self.savepoints),
            deferrable: given.deferrable.unwrap_or(self.deferrable),
        }
    }

    /// As SHOW names them.
    pub(crate) fn shown(self) -> ShownModes {
        let Modes { isolation, read_only, savepoints, deferrable } = self;
        ShownModes { isolation: isolation.as_str(), read_only, savepoints, deferrable }
    }
}
