//! The transaction a session is in, and the statements that begin and end it.
//!
//! ```text
//! Idle ──BEGIN, first statement──► Active ──COMMIT, ROLLBACK──► Idle
//!                                    │ error                     ▲
//!                                    ├──► Failed (25P02) ──ROLLBACK┤   ROLLBACK TO makes it active again
//!                                    └──► MustRollback (25V01) ────┘   NO SAVEPOINT: queries still run
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`begin`] | BEGIN, SET TRANSACTION |
//! | [`ending`] | COMMIT, ROLLBACK, PREPARE TRANSACTION |
//! | [`settle`] | commits whose wait for the disk is left to others |
//! | [`savepoint`] | SAVEPOINT, ROLLBACK TO, RELEASE |
//!
//! X1. A transaction block lasts to COMMIT or ROLLBACK; one statement alone is a transaction of its own.
//! X2. Several statements of one text, and those of an extended-protocol series up to its Sync, are one *implicit* block:
//!     it commits at the end, a failure undoes it all, BEGIN makes it an explicit one, COMMIT and ROLLBACK end it with a
//!     warning. So PostgreSQL has it.
//! X3. A statement that fails undoes its transaction at once, up to the last savepoint if there is one, and gives back
//!     the locks taken since; ROLLBACK is what the client then has to say. Under NO SAVEPOINT all stays until ROLLBACK.

mod begin;
mod ending;
mod savepoint;
mod settle;

use std::cell::RefCell;

use verso_storage::Txn;

use crate::Session;
use crate::client::CommandTag;
use crate::session::ChangedSettings;
use begin::Modes;
pub(crate) use ending::Ending;
use savepoint::Savepoint;
pub(crate) use settle::Commits;
use verso_parser::syntax::{IsolationLevel, TransactionModes};
use verso_planner::errors::{SqlError, sqlstate};

/// A transaction that has not ended.
pub struct Active {
    pub(crate) txn: RefCell<Txn>,
    /// What ends it.
    pub(crate) block: Block,
    /// No statement has run in it yet, so its modes may still change.
    pub(crate) pristine: bool,
    pub(crate) condition: Condition,
    /// The open savepoints, outermost first; a name may come twice and means the inner one.
    savepoints: Vec<Savepoint>,
    /// Settings changed in it: those to go back to when it is rolled back, and those that a commit leaves.
    pub(crate) settings: Option<ChangedSettings>,
    /// The schema was changed in it, so what it sees of the catalog is its own.
    pub(crate) changed_schema: bool,
    /// Unlike that of any other transaction of the session.
    pub(crate) serial: u64,
    modes: Modes,
}

/// What ends a transaction (X1, X2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Block {
    /// Its only statement.
    Statement,
    /// The end of the text, or Sync.
    Implicit,
    /// COMMIT or ROLLBACK: it began by BEGIN or with autocommit off.
    Explicit,
}

/// How a session stands, as the protocol's ReadyForQuery says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionStatus {
    /// No transaction block is open.
    Idle,
    /// In a transaction block.
    InTransaction,
    /// In a transaction block that failed.
    Failed,
}

/// How a transaction is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Condition {
    /// Fine.
    Good,
    /// A statement failed; only the end or ROLLBACK TO is accepted.
    Failed,
    /// A statement failed under NO SAVEPOINT: queries and ROLLBACK are accepted.
    MustRollback,
}

impl Active {
    fn new(txn: Txn, modes: Modes) -> Active {
        Active {
            txn: RefCell::new(txn),
            block: Block::Statement,
            pristine: true,
            condition: Condition::Good,
            savepoints: Vec::new(),
            settings: None,
            changed_schema: false,
            serial: 0,
            modes,
        }
    }

    /// All but the transaction itself begins anew.
    fn begin(&mut self, serial: u64, block: Block, modes: Modes) {
        (self.serial, self.block, self.modes) = (serial, block, modes);
        (self.pristine, self.condition, self.changed_schema) = (true, Condition::Good, false);
        self.savepoints.clear();
        self.settings = None;
    }

    /// Whether a failed statement is run again on a new snapshot.
    pub(crate) fn restarts(&self) -> bool {
        let level =
            matches!(self.modes.isolation, IsolationLevel::ReadCommitted | IsolationLevel::ReadUncommitted);
        level && self.modes.savepoints
    }

    pub(crate) fn read_only(&self) -> bool {
        self.modes.read_only
    }

    /// How many savepoints are open.
    pub(crate) fn depth(&self) -> usize {
        self.savepoints.len()
    }

    /// Remembers that a statement failed; whether that is news, and nothing can be read any more.
    pub(crate) fn fail(&mut self) -> bool {
        let was_good = self.condition == Condition::Good;
        self.condition = if self.modes.savepoints { Condition::Failed } else { Condition::MustRollback };
        was_good && self.modes.savepoints
    }
}

impl Session {
    /// Opens a transaction if there is none. For a statement that changes nothing and is a transaction of its own, one
    /// that keeps no frames will do.
    pub(crate) fn ensure_active_for(&mut self, reads: bool) -> Result<(), SqlError> {
        if self.active.is_none() {
            let block = match (self.autocommit, self.series) {
                (false, _) => Block::Explicit,
                (true, true) => Block::Implicit,
                (true, false) => Block::Statement,
            };
            self.only_reads = reads && block == Block::Statement;
            let opened = self.open(&TransactionModes::default(), block);
            self.only_reads = false;
            opened?;
        }
        Ok(())
    }

    /// Tells transactions of the session apart; 0 without one.
    pub(crate) fn transaction_serial(&self) -> u64 {
        self.active.as_ref().map_or(0, |active| active.serial)
    }
}

/// A tag without a count.
pub fn tag(text: &str) -> CommandTag {
    CommandTag { text: text.to_string(), rows: 0 }
}

/// `25P02`.
pub fn in_failed_transaction() -> SqlError {
    SqlError::new(
        sqlstate::IN_FAILED_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}
