//! The way of a statement's rows to the client: at once, or held until it is certain that it will not run again (S2).

use std::sync::Arc;

use verso_exec::Sink;
use verso_exec::error::ExecError;
use verso_exec::memory::Memory;
use verso_exec::spill::Spool;
use verso_types::Batch;

use crate::client::{OutputColumn, StatementSink};
use crate::failure::Failure;
use verso_planner::errors::SqlError;

/// What is named where the rows need too much memory.
const RESULT: &str = "the result";

/// The rows of one statement on their way.
pub(crate) struct Results<'s> {
    sink: &'s mut dyn StatementSink,
    /// Rows go out at once.
    pub(crate) streams: bool,
    /// Rows are counted by the executor and dropped here.
    pub(crate) counts_only: bool,
    /// The client has seen something.
    pub(crate) sent: bool,
    columns: Option<Arc<[OutputColumn]>>,
    held: Spool,
    memory: Memory<'s>,
    error: Option<SqlError>,
}

impl<'s> Results<'s> {
    pub(crate) fn new(sink: &'s mut dyn StatementSink, memory: Memory<'s>) -> Results<'s> {
        Results {
            sink,
            streams: false,
            counts_only: false,
            sent: false,
            columns: None,
            held: Spool::default(),
            memory,
            error: None,
        }
    }

    /// The statement yields rows of these columns.
    pub(crate) fn begin(&mut self, columns: &Arc<[OutputColumn]>) -> Result<(), SqlError> {
        if self.streams {
            self.sink.begin(columns)
        } else {
            self.columns = Some(Arc::clone(columns));
            Ok(())
        }
    }

    /// What the executors' result means: an error of the client's sink comes back as itself.
    pub(crate) fn outcome<T>(&mut self, result: Result<T, ExecError>) -> Result<T, Failure> {
        match (result, self.error.take()) {
            (Err(_), Some(error)) => Err(error.into()),
            (result, _) => Ok(result?),
        }
    }

    /// Sends rows that were set aside.
    pub(crate) fn pass(&mut self, batch: &Batch) -> Result<(), SqlError> {
        self.sent = true;
        self.sink.batch(batch)
    }

    /// The client, for statements that talk with it in their own way.
    pub(crate) fn client(&mut self) -> &mut (dyn StatementSink + 's) {
        self.sink
    }

    /// Adds rows of the session's own making.
    ///
    /// # Errors
    /// 53200.
    pub(crate) fn push(&mut self, batch: Batch) -> Result<(), SqlError> {
        Ok(self.held.push(self.memory, RESULT, batch)?)
    }

    /// Drops what was held: the statement runs again.
    pub(crate) fn forget(&mut self) {
        self.columns = None;
        self.held = Spool::default();
        self.error = None;
    }

    /// Sends what was held.
    pub(crate) fn finish(&mut self) -> Result<(), SqlError> {
        let Some(columns) = &self.columns else { return Ok(()) };
        if !self.streams {
            self.sink.begin(columns)?;
            let mut batch = Batch::default();
            while self.held.next(&mut batch)? {
                self.sink.batch(&batch)?;
            }
        }
        Ok(())
    }
}

impl Sink for Results<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExecError> {
        if self.counts_only {
            return Ok(());
        }
        if !self.streams {
            return self.held.push(self.memory, RESULT, batch.clone());
        }
        self.sent = true;
        self.sink.batch(batch).map_err(|error| {
            let message = error.message.clone();
            self.error = Some(error);
            ExecError::Sink(message)
        })
    }
}
