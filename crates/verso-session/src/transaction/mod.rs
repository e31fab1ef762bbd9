//! The transaction a session is in: what it was begun with, how it stands, and what is left of the last one.
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
//! | [`modes`] | what a transaction was begun with |
//! | [`state`] | the states above, without storage |
//! | [`savepoint`] | savepoints, as far as they are the session's |
//!
//! X1. A transaction block lasts to COMMIT or ROLLBACK; one statement alone is a transaction of its own.
//! X2. Several statements of one text, and those of an extended-protocol series up to its Sync, are one *implicit* block:
//!     it commits at the end, a failure undoes it all, BEGIN makes it an explicit one, COMMIT and ROLLBACK end it with a
//!     warning. So PostgreSQL has it.
//! X3. A statement that fails undoes its transaction at once, up to the last savepoint if there is one, and gives back
//!     the locks taken since; ROLLBACK is what the client then has to say. Under NO SAVEPOINT all stays until ROLLBACK.

mod modes;
mod savepoint;
mod state;

use std::cell::RefCell;

use verso_storage::{Txn, TxnOptions};

use verso_parser::syntax::Statement;
use verso_planner::errors::{SqlError, must_rollback};

use crate::plans::changes;
pub(crate) use modes::Modes;
pub(crate) use savepoint::Savepoint;
pub use state::TransactionStatus;
pub(crate) use state::{Block, Condition, State, in_failed_transaction};

/// A session's transaction: the open one, if there is one, and what the next one begins with.
pub(crate) struct Transaction {
    active: Option<Box<Active>>,
    /// The one that ended last: the next begins with what it has left.
    spare: Option<Box<Active>>,
    /// The one whose commit is in the log, but not on disk yet.
    logged: Option<Box<Active>>,
    /// Commits return when they are in the log.
    pub(crate) defers: bool,
    pub(crate) autocommit: bool,
    /// Statements now are parts of an implicit block (X2).
    pub(crate) series: bool,
    /// And the client has sent them as one text.
    pub(crate) several: bool,
    /// Transactions begun so far.
    begun: u64,
}

/// A transaction that has not ended.
pub(crate) struct Active {
    pub(crate) txn: RefCell<Txn>,
    pub(crate) state: State,
}

impl Active {
    /// READ ONLY or READ WRITE from now on.
    pub(crate) fn set_read_only(&mut self, read_only: bool) {
        self.state.modes.read_only = read_only;
        self.txn.get_mut().set_read_only(read_only);
    }
}

impl Default for Transaction {
    fn default() -> Transaction {
        Transaction {
            active: None,
            spare: None,
            logged: None,
            defers: false,
            autocommit: true,
            series: false,
            several: false,
            begun: 0,
        }
    }
}

impl Transaction {
    /// The open one.
    #[inline]
    pub(crate) fn active(&self) -> Option<&Active> {
        self.active.as_deref()
    }

    /// The open one, to be changed.
    #[inline]
    pub(crate) fn active_mut(&mut self) -> Option<&mut Active> {
        self.active.as_deref_mut()
    }

    /// The open one, where there has to be one.
    pub(crate) fn get(&self) -> Result<&Active, SqlError> {
        self.active().ok_or_else(|| SqlError::internal("no transaction"))
    }

    /// How the open one stands.
    pub(crate) fn state(&self) -> Option<&State> {
        self.active().map(|active| &active.state)
    }

    /// Whether one is open.
    pub(crate) fn is_open(&self) -> bool {
        self.active.is_some()
    }

    /// Whether a statement that begins is part of more than itself: of a transaction that is open or always about to begin, or
    /// of several statements of one text.
    pub(crate) fn is_in_block(&self) -> bool {
        self.is_open() || !self.autocommit || self.several
    }

    /// Takes the open one out, to end it.
    pub(crate) fn take(&mut self) -> Option<Box<Active>> {
        self.active.take()
    }

    /// The same, if it ends with this.
    pub(crate) fn take_block(&mut self, block: Block) -> Option<Box<Active>> {
        self.active.take_if(|active| active.state.block == block)
    }

    /// Puts back what was taken out.
    pub(crate) fn put_back(&mut self, active: Box<Active>) {
        self.active = Some(active);
    }

    /// Begins one, in the memory of the last one where that is at hand; `fresh` makes another.
    pub(crate) fn begin(
        &mut self,
        options: TxnOptions,
        modes: Modes,
        block: Block,
        fresh: impl FnOnce(TxnOptions) -> Txn,
    ) -> &mut Active {
        self.begun += 1;
        let state = State::new(self.begun, block, modes);
        let active = match self.spare.take() {
            Some(mut spare) => {
                spare.txn.get_mut().begin_again(options);
                spare.state.begin_again(state);
                spare
            }
            None => Box::new(Active { txn: RefCell::new(fresh(options)), state }),
        };
        self.active.insert(active)
    }

    /// Keeps what an ended one has left.
    pub(crate) fn keep_spare(&mut self, ended: Box<Active>) {
        self.spare = Some(ended);
    }

    /// Keeps one whose commit is in the log, until it is on disk.
    pub(crate) fn keep_logged(&mut self, committed: Box<Active>) {
        self.logged = Some(committed);
    }

    /// The one whose commit is in the log.
    pub(crate) fn logged(&self) -> Option<&Active> {
        self.logged.as_deref()
    }

    /// The same, to be ended.
    #[inline]
    pub(crate) fn take_logged(&mut self) -> Option<Box<Active>> {
        self.logged.take()
    }

    /// What ends the transaction of a statement that finds none open.
    pub(crate) fn block_of_statement(&self) -> Block {
        match (self.autocommit, self.series) {
            (false, _) => Block::Explicit,
            (true, true) => Block::Implicit,
            (true, false) => Block::Statement,
        }
    }

    /// How the session stands.
    pub(crate) fn status(&self) -> TransactionStatus {
        self.state().map_or(TransactionStatus::Idle, State::status)
    }

    /// Tells transactions of the session apart; 0 without one.
    pub(crate) fn serial(&self) -> u64 {
        self.state().map_or(0, |state| state.serial)
    }

    /// How many savepoints are open.
    pub(crate) fn depth(&self) -> usize {
        self.state().map_or(0, State::depth)
    }

    /// Refuses what a transaction that failed does not accept: everything, under NO SAVEPOINT only what changes something.
    pub(crate) fn check_accepts(&self, statement: &Statement) -> Result<(), SqlError> {
        let Some(state) = self.state() else { return Ok(()) };
        match state.condition {
            Condition::Good => {}
            Condition::Failed => return Err(in_failed_transaction()),
            Condition::MustRollback
                if changes(statement).is_some() || matches!(statement, Statement::Savepoint(_)) =>
            {
                return Err(must_rollback());
            }
            Condition::MustRollback => {}
        }
        Ok(())
    }
}
