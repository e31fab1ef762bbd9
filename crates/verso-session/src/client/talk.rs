//! The client of a statement, to which rows go and, in between, messages of the functions that run.

use std::cell::RefCell;

use verso_exec::error::ExecError;

use crate::client::{Notice, StatementSink};
use verso_planner::errors::SqlError;

/// A client that rows and messages reach by different ways, one at a time.
pub(crate) struct Client<'s> {
    sink: RefCell<&'s mut dyn StatementSink>,
    /// What the sink has failed with: executors carry its text only.
    error: RefCell<Option<SqlError>>,
}

impl<'s> Client<'s> {
    pub(crate) fn new(sink: &'s mut dyn StatementSink) -> Client<'s> {
        Client { sink: RefCell::new(sink), error: RefCell::default() }
    }

    /// Talks with the client. What is done meanwhile must not run anything of the statement.
    pub(crate) fn with<T>(&self, talk: impl FnOnce(&mut dyn StatementSink) -> T) -> T {
        talk(&mut **self.sink.borrow_mut())
    }

    /// Talks with the client from within an executor, which ends where that fails.
    pub(crate) fn within<T>(
        &self,
        talk: impl FnOnce(&mut dyn StatementSink) -> Result<T, SqlError>,
    ) -> Result<T, ExecError> {
        self.with(talk).map_err(|error| {
            let message = error.message.clone();
            self.error.replace(Some(error));
            ExecError::Sink(message)
        })
    }

    /// What the sink has failed with since the last time.
    pub(crate) fn take_error(&self) -> Option<SqlError> {
        self.error.take()
    }
}

/// A client as messages see it: frames are lent to shorter and shorter work, which [`Client`] itself cannot be.
pub(crate) trait Told {
    /// Sends a message at once.
    fn tell(&self, notice: &Notice) -> Result<(), ExecError>;
}

impl Told for Client<'_> {
    fn tell(&self, notice: &Notice) -> Result<(), ExecError> {
        self.within(|sink| sink.notice_now(notice))
    }
}
