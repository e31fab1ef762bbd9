//! Portals: executions of prepared statements that yield their rows in portions.
//!
//! ```text
//! bind ─► Ready ─run─► Open (operators between two batches) ─► Done
//!                 └──► Held (rows set aside: what changes something runs to its end) ─┘
//! ```
//!
//! T2. An open portal reads the state at its first run, under the view it keeps. Before the session changes anything,
//!     the rest of its rows is set aside, so that it never sees the session's own later changes.
//! Q3. A portal ends with its transaction.

use std::collections::VecDeque;
use std::sync::Arc;

use verso_types::{Batch, Value};

use super::Session;
use super::api::{CommandTag, CopyLayout, Notice, OutputColumn, StatementSink};
use super::prepared::{Prepared, ends_transaction};
use crate::errors::{SqlError, sqlstate};

/// An execution of a prepared statement with its parameters; see [`Session::bind`].
#[derive(Debug)]
pub struct Portal {
    prepared: Arc<Prepared>,
    params: Vec<Value>,
    state: State,
}

#[derive(Debug)]
enum State {
    Ready,
    Held(Held),
    Done,
}

/// Rows to be handed out.
#[derive(Debug)]
struct Held {
    columns: Arc<[OutputColumn]>,
    batches: VecDeque<Batch>,
    tag: CommandTag,
    transaction: u64,
}

/// How a run of a portal ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortalEnd {
    /// The row limit was reached: there may be more rows.
    Suspended,
    /// The statement is done.
    Complete(CommandTag),
    /// There is no statement in the text.
    Empty,
}

impl Portal {
    /// The statement it executes.
    pub fn prepared(&self) -> &Arc<Prepared> {
        &self.prepared
    }

    /// What it yields; none if it yields no rows.
    pub fn columns(&self) -> Option<&[OutputColumn]> {
        self.prepared.columns()
    }
}

impl Session {
    /// Makes a portal: checks the parameters' number and brings them to their types. Nothing runs yet.
    ///
    /// # Errors
    /// 08P01 for another number of parameters; 22P02 and others for texts that cannot be read; 25P02 in a failed
    /// transaction, but for statements that end it.
    pub fn bind(&mut self, prepared: &Arc<Prepared>, params: Vec<Value>) -> Result<Portal, SqlError> {
        let bound = self.bind_within(prepared, params);
        if bound.is_err() {
            self.fail_transaction();
        }
        bound
    }

    fn bind_within(&self, prepared: &Arc<Prepared>, params: Vec<Value>) -> Result<Portal, SqlError> {
        if let Some(parsed) = &prepared.parsed
            && !ends_transaction(&parsed.statement)
        {
            self.check_condition(&parsed.statement)?;
        }
        let params = self.arguments(prepared, params)?;
        Ok(Portal { prepared: Arc::clone(prepared), params, state: State::Ready })
    }

    /// Runs a portal: up to `max_rows` rows go to `sink`, 0 means all. Another run goes on where this one ended. The
    /// sink hears of columns, rows and notices; how it ended is returned.
    ///
    /// Outside of a transaction block everything up to [`Session::sync`] is one transaction.
    ///
    /// # Errors
    /// Those of the statement; 34000 if the portal's transaction has ended.
    pub fn run_portal(
        &mut self,
        portal: &mut Portal,
        max_rows: u64,
        sink: &mut dyn StatementSink,
    ) -> Result<PortalEnd, SqlError> {
        self.series = self.autocommit;
        if let State::Ready = portal.state {
            let prepared = Arc::clone(&portal.prepared);
            let Some(parsed) = &prepared.parsed else { return Ok(PortalEnd::Empty) };
            portal.state = State::Done;
            let mut rows =
                Rows { sink, holds: max_rows > 0, columns: None, batches: VecDeque::new(), tag: None };
            self.one(parsed, prepared.text(), &portal.params, &mut rows)?;
            let tag = rows.tag.unwrap_or_else(|| super::transaction::tag(""));
            let Some(columns) = rows.columns.filter(|_| max_rows > 0) else {
                return Ok(PortalEnd::Complete(tag));
            };
            let transaction = self.transaction_serial();
            portal.state = State::Held(Held { columns, batches: rows.batches, tag, transaction });
        }
        match &mut portal.state {
            State::Held(held) if held.transaction != self.transaction_serial() => {
                portal.state = State::Done;
                Err(SqlError::new(sqlstate::INVALID_CURSOR_NAME, "portal \"\" does not exist"))
            }
            State::Held(held) => {
                let more = held.hand_out(max_rows, sink)?;
                if more {
                    return Ok(PortalEnd::Suspended);
                }
                let tag = held.tag.clone();
                portal.state = State::Done;
                Ok(PortalEnd::Complete(tag))
            }
            State::Ready | State::Done => {
                Err(SqlError::new(sqlstate::OBJECT_NOT_IN_PREREQUISITE_STATE, "portal \"\" cannot be run"))
            }
        }
    }
}

impl Held {
    /// Hands out rows; whether the limit ended it.
    fn hand_out(&mut self, max_rows: u64, sink: &mut dyn StatementSink) -> Result<bool, SqlError> {
        sink.begin(&self.columns)?;
        let mut left = if max_rows == 0 { u64::MAX } else { max_rows };
        while let Some(mut batch) = self.batches.pop_front() {
            if batch.rows as u64 > left {
                let rest: Vec<u32> = (left as u32..batch.rows as u32).collect();
                self.batches.push_front(batch.gather(&rest));
                batch.truncate(left as usize);
            }
            left -= batch.rows as u64;
            sink.batch(&batch)?;
            if left == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Passes rows on, or keeps them.
struct Rows<'s> {
    sink: &'s mut dyn StatementSink,
    holds: bool,
    columns: Option<Arc<[OutputColumn]>>,
    batches: VecDeque<Batch>,
    tag: Option<CommandTag>,
}

impl StatementSink for Rows<'_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        if !self.holds {
            return self.sink.begin(columns);
        }
        self.columns = Some(columns.into());
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        if !self.holds {
            return self.sink.batch(batch);
        }
        self.batches.push_back(batch.clone());
        Ok(())
    }

    fn complete(&mut self, tag: &CommandTag) -> Result<(), SqlError> {
        self.tag = Some(tag.clone());
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.sink.notice(notice)
    }

    fn copy_out(&mut self, layout: CopyLayout) -> Result<(), SqlError> {
        self.sink.copy_out(layout)
    }

    fn copy_data(&mut self, data: &[u8]) -> Result<(), SqlError> {
        self.sink.copy_data(data)
    }

    fn copy_done(&mut self) -> Result<(), SqlError> {
        self.sink.copy_done()
    }

    fn copy_in(&mut self, layout: CopyLayout) -> Result<(), SqlError> {
        self.sink.copy_in(layout)
    }

    fn copy_read(&mut self, into: &mut Vec<u8>) -> Result<bool, SqlError> {
        self.sink.copy_read(into)
    }
}
