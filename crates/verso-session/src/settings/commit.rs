//! How commits reach the disk: what a statement says, what the session and what the database is set to.
//!
//! ```text
//! COMMIT WRITE …  ─►  commit_wait, commit_logging of the session  ─►  of the database  ─►  WAIT IMMEDIATE
//! ```
//!
//! Each half is taken from the first of these that says something about it. `force_wait` turns that round: commits wait,
//! whatever the statement says, and, where it is the database's, whatever the session says.

use std::cell::Cell;

use verso_exec::plan::CommitWrite;
use verso_storage::{CommitMode, Lsn};

use verso_planner::errors::{SqlError, sqlstate};

/// Whether commits wait for the disk (`commit_wait`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitWait {
    /// They do.
    Wait,
    /// They do not.
    NoWait,
    /// They do, whatever is said below.
    ForceWait,
}

/// How the log of a commit is written (`commit_logging`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitLogging {
    /// Begun at the commit.
    Immediate,
    /// Together with others.
    Batch,
}

/// What one level says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommitLevel {
    /// `commit_wait`, where it is set.
    pub wait: Option<CommitWait>,
    /// `commit_logging`, where it is set.
    pub logging: Option<CommitLogging>,
    /// By which word `synchronous_commit` says that commits wait.
    pub word: Option<&'static str>,
}

/// What a commit is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) mode: CommitMode,
    /// It waits, but not before its procedure ends.
    pub(crate) owes_wait: bool,
}

/// How far the log has to be on disk before the statement that runs ends.
#[derive(Default)]
pub(crate) struct OwedWait(Cell<Lsn>);

impl OwedWait {
    /// A commit within a procedure ends there in the log.
    pub(crate) fn owe(&self, end: Lsn) {
        self.0.set(self.0.get().max(end));
    }

    /// Nothing is owed any more; what was.
    pub(crate) fn take(&self) -> Lsn {
        self.0.replace(Lsn::ZERO)
    }
}

/// How a commit is written. One within a procedure that waits by no express word may do so when that ends.
pub(crate) fn written(
    statement: CommitWrite,
    session: CommitLevel,
    database: CommitLevel,
    waits_later: bool,
) -> Written {
    let forced = [database, session].iter().any(|level| level.wait == Some(CommitWait::ForceWait));
    let usual = session.wait.or(database.wait) != Some(CommitWait::NoWait);
    let waits = forced || statement.wait.unwrap_or(usual);
    let logging = session.logging.or(database.logging);
    let batch = statement.batch.unwrap_or(logging == Some(CommitLogging::Batch));
    let owes_wait = waits_later && waits && !forced && statement.wait.is_none();
    let mode = match (waits, batch) {
        (true, _) if owes_wait => CommitMode::NoWaitBatch,
        (true, false) => CommitMode::Wait,
        (true, true) => CommitMode::WaitBatch,
        (false, false) => CommitMode::NoWait,
        (false, true) => CommitMode::NoWaitBatch,
    };
    Written { mode, owes_wait }
}

impl CommitLevel {
    /// Sets one of the settings of commits, all of which the session and the database have; `None` takes it back. False for
    /// any other setting.
    ///
    /// # Errors
    /// 22023.
    pub fn set(&mut self, name: &str, value: Option<&str>) -> Result<bool, SqlError> {
        let lower = value.map(str::to_ascii_lowercase);
        let invalid = |hint: &str| {
            let text = format!("invalid value for parameter \"{name}\": \"{}\"", value.unwrap_or_default());
            Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text).with_hint(hint))
        };
        // Without standbys all of these are the same.
        const WAITS: [&str; 4] = ["on", "local", "remote_write", "remote_apply"];
        if name == "commit_wait" {
            self.word = None;
        }
        match (name, lower.as_deref()) {
            ("commit_wait", None) => self.wait = None,
            ("commit_wait", Some("wait")) => self.wait = Some(CommitWait::Wait),
            ("commit_wait", Some("nowait")) => self.wait = Some(CommitWait::NoWait),
            ("commit_wait", Some("force_wait")) => self.wait = Some(CommitWait::ForceWait),
            ("commit_wait", _) => return invalid("Available values: wait, nowait, force_wait."),
            ("commit_logging", None) => self.logging = None,
            ("commit_logging", Some("immediate")) => self.logging = Some(CommitLogging::Immediate),
            ("commit_logging", Some("batch")) => self.logging = Some(CommitLogging::Batch),
            ("commit_logging", _) => return invalid("Available values: immediate, batch."),
            ("synchronous_commit", None) => *self = CommitLevel::default(),
            ("synchronous_commit", Some("off" | "false" | "no" | "0")) => {
                let (wait, logging) = (Some(CommitWait::NoWait), Some(CommitLogging::Batch));
                *self = CommitLevel { wait, logging, word: None };
            }
            ("synchronous_commit", Some(word))
                if WAITS.contains(&word) || ["true", "yes", "1"].contains(&word) =>
            {
                let (wait, logging) = (Some(CommitWait::Wait), Some(CommitLogging::Immediate));
                let word = WAITS.into_iter().find(|known| *known == word);
                *self = CommitLevel { wait, logging, word };
            }
            ("synchronous_commit", _) => {
                return invalid("Available values: local, remote_write, remote_apply, on, off.");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Shows one of the settings of commits, below a level that may say what this one does not.
    pub fn show(self, name: &str, above: CommitLevel) -> Option<&'static str> {
        let wait = match above.wait {
            Some(CommitWait::ForceWait) => above.wait,
            _ => self.wait.or(above.wait),
        };
        Some(match name {
            "commit_wait" => match wait {
                None | Some(CommitWait::Wait) => "wait",
                Some(CommitWait::NoWait) => "nowait",
                Some(CommitWait::ForceWait) => "force_wait",
            },
            "commit_logging" => match self.logging.or(above.logging) {
                None | Some(CommitLogging::Immediate) => "immediate",
                Some(CommitLogging::Batch) => "batch",
            },
            "synchronous_commit" => match wait {
                Some(CommitWait::NoWait) => "off",
                _ => if self.wait.is_some() { self.word } else { above.word }.unwrap_or("on"),
            },
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAITS: [Option<CommitWait>; 4] =
        [None, Some(CommitWait::Wait), Some(CommitWait::NoWait), Some(CommitWait::ForceWait)];
    const LOGGINGS: [Option<CommitLogging>; 3] =
        [None, Some(CommitLogging::Immediate), Some(CommitLogging::Batch)];
    const FLAGS: [Option<bool>; 3] = [None, Some(true), Some(false)];

    /// What the rows of the guide's table say, one after the other: the first that applies decides.
    fn waits(statement: Option<bool>, session: Option<CommitWait>, database: Option<CommitWait>) -> bool {
        match (statement, session, database) {
            (_, _, Some(CommitWait::ForceWait)) | (_, Some(CommitWait::ForceWait), _) => true,
            (Some(wait), _, _) => wait,
            (None, Some(CommitWait::Wait), _) => true,
            (None, Some(CommitWait::NoWait), _) => false,
            (None, None, Some(CommitWait::NoWait)) => false,
            (None, None, None | Some(CommitWait::Wait)) => true,
        }
    }

    #[test]
    fn all_combinations_of_the_three_levels() {
        let mut combinations = 0;
        for statement_wait in FLAGS {
            for session_wait in WAITS {
                for database_wait in WAITS {
                    for statement_batch in FLAGS {
                        for session_logging in LOGGINGS {
                            for database_logging in LOGGINGS {
                                for inside in [false, true] {
                                    let statement =
                                        CommitWrite { wait: statement_wait, batch: statement_batch };
                                    let session = CommitLevel {
                                        wait: session_wait,
                                        logging: session_logging,
                                        word: None,
                                    };
                                    let database = CommitLevel {
                                        wait: database_wait,
                                        logging: database_logging,
                                        word: None,
                                    };
                                    let written = written(statement, session, database, inside);
                                    let wait = waits(statement_wait, session_wait, database_wait);
                                    let forced =
                                        [session_wait, database_wait].contains(&Some(CommitWait::ForceWait));
                                    let later = inside && wait && statement_wait.is_none() && !forced;
                                    let batch = match (statement_batch, session_logging, database_logging) {
                                        (Some(batch), _, _) => batch,
                                        (None, Some(logging), _) | (None, None, Some(logging)) => {
                                            logging == CommitLogging::Batch
                                        }
                                        (None, None, None) => false,
                                    };
                                    let said = format!("{statement:?} {session:?} {database:?} {inside}");
                                    assert_eq!(written.owes_wait, later, "{said}");
                                    assert_eq!(written.mode.waits(), wait && !later, "{said}");
                                    assert_eq!(written.mode.batches(), batch || later, "{said}");
                                    combinations += 1;
                                }
                            }
                        }
                    }
                }
            }
        }
        assert_eq!(combinations, 3 * 4 * 4 * 3 * 3 * 3 * 2);
    }

    #[test]
    fn synchronous_commit_is_another_word_for_both() {
        let mut level = CommitLevel::default();
        for (value, wait, logging, shown) in [
            ("off", "nowait", "batch", "off"),
            ("on", "wait", "immediate", "on"),
            ("OFF", "nowait", "batch", "off"),
            ("local", "wait", "immediate", "local"),
            ("true", "wait", "immediate", "on"),
            ("remote_apply", "wait", "immediate", "remote_apply"),
        ] {
            assert!(level.set("synchronous_commit", Some(value)).expect(value));
            let shows = |name| level.show(name, CommitLevel::default());
            assert_eq!(shows("commit_wait"), Some(wait), "{value}");
            assert_eq!(shows("commit_logging"), Some(logging), "{value}");
            assert_eq!(shows("synchronous_commit"), Some(shown), "{value}");
        }
        let forced = CommitLevel { wait: Some(CommitWait::ForceWait), ..CommitLevel::default() };
        level.set("commit_wait", Some("nowait")).expect("known");
        assert_eq!(level.show("commit_wait", forced), Some("force_wait"));
        for (name, value) in
            [("commit_wait", "later"), ("commit_logging", "now"), ("synchronous_commit", "maybe")]
        {
            assert_eq!(level.set(name, Some(value)).expect_err(value).sqlstate, "22023");
        }
        assert!(!level.set("work_mem", Some("1MB")).expect("somebody else's"));
    }
}
