//! How a transaction stands: what ends it, whether a statement failed in it, what was changed. No storage is needed here.

use super::modes::Modes;
use super::savepoint::Savepoint;
use crate::notify::Leaving;
use crate::settings::ChangedSettings;
use verso_parser::syntax::{IsolationLevel, Name};
use verso_planner::errors::{SqlError, sqlstate};

/// What ends a transaction (X1, X2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
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
pub(crate) enum Condition {
    /// Fine.
    Good,
    /// A statement failed; only the end or ROLLBACK TO is accepted.
    Failed,
    /// A statement failed under NO SAVEPOINT: queries and ROLLBACK are accepted.
    MustRollback,
}

/// The state of a transaction that has not ended.
pub(crate) struct State {
    /// What ends it.
    pub(crate) block: Block,
    /// No statement has run in it yet, so its modes may still change.
    pub(crate) pristine: bool,
    pub(crate) condition: Condition,
    /// The open savepoints, outermost first; a name may come twice and means the inner one.
    pub(crate) savepoints: Vec<Savepoint>,
    /// Settings changed in it: those to go back to when it is rolled back, and those that a commit leaves.
    pub(crate) settings: Option<ChangedSettings>,
    /// What it says to sessions that listen, once its commit is in the log.
    pub(crate) leaving: Option<Box<Leaving>>,
    /// The schema was changed in it, so what it sees of the catalog is its own.
    pub(crate) changed_schema: bool,
    /// Unlike that of any other transaction of the session.
    pub(crate) serial: u64,
    pub(crate) modes: Modes,
}

impl State {
    /// Of a transaction that begins.
    pub(crate) fn new(serial: u64, block: Block, modes: Modes) -> State {
        State {
            block,
            pristine: true,
            condition: Condition::Good,
            savepoints: Vec::new(),
            settings: None,
            leaving: None,
            changed_schema: false,
            serial,
            modes,
        }
    }

    /// Takes the place of an ended one's, whose memory for savepoints it goes on with.
    pub(crate) fn begin_again(&mut self, next: State) {
        let mut savepoints = std::mem::take(&mut self.savepoints);
        savepoints.clear();
        *self = State { savepoints, ..next };
    }

    /// As the protocol says it.
    pub(crate) fn status(&self) -> TransactionStatus {
        match (self.block, self.condition) {
            (Block::Explicit, Condition::Good) => TransactionStatus::InTransaction,
            (Block::Explicit, Condition::Failed | Condition::MustRollback) => TransactionStatus::Failed,
            (Block::Statement | Block::Implicit, _) => TransactionStatus::Idle,
        }
    }

    /// Whether a failed statement is run again on a new snapshot.
    pub(crate) fn restarts(&self) -> bool {
        let level =
            matches!(self.modes.isolation, IsolationLevel::ReadCommitted | IsolationLevel::ReadUncommitted);
        level && self.modes.savepoints
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

    /// Goes back to a savepoint, which stays open, as do those around it.
    pub(crate) fn return_to(&mut self, place: usize) {
        self.savepoints.truncate(place + 1);
        self.condition = Condition::Good;
        self.settings.clone_from(&self.savepoints[place].changed);
    }

    /// The place of a savepoint among the open ones.
    pub(crate) fn find_savepoint(&self, name: &Name) -> Result<usize, SqlError> {
        self.savepoints.iter().rposition(|known| !known.released && known.name == name.text).ok_or_else(
            || {
                let text = format!("savepoint \"{}\" does not exist", name.text);
                SqlError::new(sqlstate::INVALID_SAVEPOINT, text)
            },
        )
    }
}

/// `25P02`.
pub(crate) fn in_failed_transaction() -> SqlError {
    SqlError::new(
        sqlstate::IN_FAILED_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::notify::Mark;
    use crate::settings::Settings;
    use crate::tables::ConstraintModes;
    use verso_parser::syntax::Span;

    fn state(block: Block, savepoints: bool) -> State {
        let settings = Settings { savepoints, ..Settings::default() };
        State::new(1, block, Modes::usual(&settings))
    }

    fn savepoint(state: &mut State, name: &str) {
        state.savepoints.push(Savepoint {
            released: false,
            name: name.into(),
            settings: Arc::default(),
            changed: state.settings.clone(),
            read_only: false,
            constraints: ConstraintModes::default(),
            events: crate::tables::Place::default(),
            said: Mark::default(),
            opened: 0,
        });
    }

    fn named(text: &str) -> Name {
        Name { text: text.into(), at: Span { start: 0, end: 0 } }
    }

    #[test]
    fn x3_a_failure_is_news_once_and_rollback_to_makes_it_good_again() {
        let mut state = state(Block::Explicit, true);
        savepoint(&mut state, "a");
        savepoint(&mut state, "b");
        assert_eq!(state.status(), TransactionStatus::InTransaction);
        assert!(state.fail(), "the first failure undoes");
        assert!(!state.fail(), "the second finds nothing to undo");
        assert_eq!((state.status(), state.condition), (TransactionStatus::Failed, Condition::Failed));
        let place = state.find_savepoint(&named("a")).expect("it is open");
        state.return_to(place);
        assert_eq!((state.status(), state.depth()), (TransactionStatus::InTransaction, 1));
        assert_eq!(state.find_savepoint(&named("b")).expect_err("it is gone").sqlstate, "3B001");
    }

    #[test]
    fn without_savepoints_a_failure_leaves_queries_and_undoes_nothing() {
        let mut state = state(Block::Explicit, false);
        assert!(!state.restarts());
        assert!(!state.fail());
        assert_eq!((state.status(), state.condition), (TransactionStatus::Failed, Condition::MustRollback));
    }

    #[test]
    fn x2_blocks_that_the_client_has_not_begun_are_no_transaction_to_it() {
        for block in [Block::Statement, Block::Implicit] {
            let mut state = state(block, true);
            assert_eq!(state.status(), TransactionStatus::Idle);
            state.fail();
            assert_eq!(state.status(), TransactionStatus::Idle);
        }
    }

    #[test]
    fn of_two_savepoints_with_one_name_the_inner_is_meant() {
        let mut state = state(Block::Explicit, true);
        savepoint(&mut state, "s");
        savepoint(&mut state, "s");
        assert_eq!(state.find_savepoint(&named("s")).expect("it is open"), 1);
    }
}
