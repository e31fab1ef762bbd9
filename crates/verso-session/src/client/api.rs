//! What a session says to whoever executes statements on it.

use std::sync::Arc;

use verso_types::{Batch, TimeStyle};

pub use verso_exec::plan::OutputColumn;

use verso_planner::errors::SqlError;

/// Takes the results of statements. An error of the sink ends the statement as an error of its own would.
pub trait StatementSink {
    /// A statement that yields rows begins; these are its columns.
    ///
    /// # Errors
    /// Ends the statement.
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError>;
    /// The rows of the statement that begins next are those of a cursor with BINARY. Whoever chooses formats by other
    /// means need not care.
    fn binary(&mut self) {}
    /// Some rows; they are the session's again when this returns.
    ///
    /// # Errors
    /// Ends the statement.
    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError>;
    /// The statement is done.
    ///
    /// # Errors
    /// Ends the script.
    fn complete(&mut self, tag: &CommandTag) -> Result<(), SqlError>;
    /// A message that is no error.
    ///
    /// # Errors
    /// Ends the statement.
    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError>;
    /// A message of a function that still runs: a sink that keeps things back sends it now, with all before it.
    ///
    /// # Errors
    /// Ends the statement.
    fn notice_now(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.notice(notice)
    }

    /// The session's time zone has changed; rows from now on are to be shown in this one.
    fn time_zone(&mut self, _time_zone: &TimeStyle) {}

    /// COPY TO STDOUT begins.
    ///
    /// # Errors
    /// Ends the statement; the default is that nobody is there to take the data.
    fn copy_out(&mut self, _layout: CopyLayout) -> Result<(), SqlError> {
        Err(SqlError::unsupported("COPY TO STDOUT here"))
    }
    /// A piece of COPY TO STDOUT: a whole row, or a header.
    ///
    /// # Errors
    /// Ends the statement.
    fn copy_data(&mut self, _data: &[u8]) -> Result<(), SqlError> {
        Err(SqlError::unsupported("COPY TO STDOUT here"))
    }
    /// COPY TO STDOUT has ended.
    ///
    /// # Errors
    /// Ends the statement.
    fn copy_done(&mut self) -> Result<(), SqlError> {
        Ok(())
    }
    /// COPY FROM STDIN begins.
    ///
    /// # Errors
    /// Ends the statement; the default is that nobody is there to give data.
    fn copy_in(&mut self, _layout: CopyLayout) -> Result<(), SqlError> {
        Err(SqlError::unsupported("COPY FROM STDIN here"))
    }
    /// Appends the next piece of COPY FROM STDIN, cut anywhere; false at the end of the data.
    ///
    /// # Errors
    /// Ends the statement.
    fn copy_read(&mut self, _into: &mut Vec<u8>) -> Result<bool, SqlError> {
        Ok(false)
    }
}

/// What the data of a COPY look like, as far as whoever carries them has to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopyLayout {
    /// Not text.
    pub binary: bool,
    /// Columns of a row.
    pub columns: usize,
}

/// What was done, as PostgreSQL's command tags say it: `UPDATE 3`, `CREATE TABLE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandTag {
    /// The tag.
    pub text: String,
    /// Rows returned or changed.
    pub rows: u64,
}

impl CommandTag {
    /// A word and a count. Every statement has one, so it is put together by hand.
    pub(crate) fn counted(word: &str, rows: u64) -> CommandTag {
        let mut digits = [0; 20];
        let mut at = digits.len();
        let mut left = rows;
        loop {
            at -= 1;
            digits[at] = b'0' + (left % 10) as u8;
            left /= 10;
            if left == 0 {
                break;
            }
        }
        let mut text = String::with_capacity(word.len() + 1 + digits.len() - at);
        text.push_str(word);
        text.push(' ');
        text.extend(digits[at..].iter().map(|digit| char::from(*digit)));
        CommandTag { text, rows }
    }
}

/// A tag without a count.
pub(crate) fn tag(text: &str) -> CommandTag {
    CommandTag { text: text.to_string(), rows: 0 }
}

/// A message that is no error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// `NOTICE`, `WARNING`, `INFO`.
    pub severity: &'static str,
    /// Its code: `00000`, `01000`, ….
    pub sqlstate: Arc<str>,
    /// The message.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in nested code: innermost first, one line each.
    pub context: Option<String>,
    /// Where in the client's text, in characters from 1.
    pub position: Option<u32>,
}

impl Notice {
    /// A plain notice.
    pub fn message(message: impl Into<String>) -> Notice {
        Notice::new("NOTICE", "00000", message)
    }

    /// A warning with its code.
    pub fn warning(sqlstate: &str, message: impl Into<String>) -> Notice {
        Notice::new("WARNING", sqlstate, message)
    }

    fn new(severity: &'static str, sqlstate: &str, message: impl Into<String>) -> Notice {
        Notice {
            severity,
            sqlstate: sqlstate.into(),
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            position: None,
        }
    }
}

/// What one statement cost: real counters of the engine, and of the process where memory is meant.
///
/// Other sessions' work at the same time is counted, too.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StatementStatistics {
    /// Resident memory of the process beside the buffer pool's resident frames, behind the statement.
    pub memory_current_bytes: u64,
    /// By how much the statement changed it.
    pub memory_delta_bytes: i64,
    /// The most there was behind any statement of this session.
    pub memory_max_bytes: u64,
    /// From parsing to the last row, and the commit where the statement commits.
    pub elapsed_nanos: u64,
    /// Frames of the buffer pool.
    pub buffers: u64,
    /// Pages read from the file.
    pub reads: u64,
    /// Pages written to the file.
    pub writes: u64,
    /// Pages asked of the buffer pool.
    pub fetches: u64,
    /// Bytes of log.
    pub redo_bytes: u64,
    /// How often the session has waited: for the disk, for locks, for a share of the machine.
    pub waits: u64,
    /// How long together.
    pub wait_nanos: u64,
    /// Commits in the log, of all sessions.
    pub commits: u64,
    /// Commits that became durable, of all sessions.
    pub commits_durable: u64,
    /// Flushes that made any of them durable.
    pub commit_groups: u64,
    /// Calls of fsync for the log.
    pub fsyncs: u64,
    /// How long these took together.
    pub fsync_nanos: u64,
}

impl StatementStatistics {
    /// How many commits one flush made durable, on average; 0 where there was none.
    #[must_use]
    pub fn group_size(&self) -> f64 {
        if self.commit_groups == 0 { 0.0 } else { self.commits_durable as f64 / self.commit_groups as f64 }
    }

    /// How long a call of fsync took, on average; 0 where there was none.
    #[must_use]
    pub fn fsync_mean_nanos(&self) -> u64 {
        self.fsync_nanos.checked_div(self.fsyncs).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_written_in_full() {
        for rows in [0, 7, 10, 1_234_567, u64::MAX] {
            assert_eq!(CommandTag::counted("SELECT", rows).text, format!("SELECT {rows}"));
        }
    }
}
