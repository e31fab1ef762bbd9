//! The way of a statement's rows to the client: at once, or held until it is certain that it will not run again (S2).

use std::sync::Arc;

use verso_env::Clock;
use verso_exec::Sink;
use verso_exec::error::ExecError;
use verso_exec::memory::Memory;
use verso_exec::spill::Spool;
use verso_types::{Batch, SqlType, TimeStyle};

use crate::client::{Client, OutputColumn, Told};
use crate::failure::Failure;
use verso_planner::errors::SqlError;

/// What is named where the rows need too much memory.
const RESULT: &str = "the result";

/// The rows of one statement on their way.
pub(crate) struct Results<'s> {
    client: &'s Client<'s>,
    /// Its client is no one: what functions say is kept for the one behind it.
    silent: bool,
    /// Rows go out at once.
    pub(crate) streams: bool,
    /// Rows are counted by the executor and dropped here.
    pub(crate) counts_only: bool,
    /// These rows are put into the protocol's form before.
    pub(crate) serialized: Option<Serialized>,
    /// The client has seen something.
    pub(crate) sent: bool,
    /// What the rows are, where there are any. Rows that go out at once are announced by the first of them: a statement that runs
    /// again before may yield other ones.
    columns: Option<Arc<[OutputColumn]>>,
    announced: bool,
    held: Spool,
    memory: Memory<'s>,
}

/// Rows that are put into the protocol's form and dropped.
pub(crate) struct Serialized {
    /// The types of their columns.
    pub(crate) types: Vec<SqlType>,
    pub(crate) binary: bool,
    pub(crate) style: TimeStyle,
    /// Measures the time, where it is to be.
    pub(crate) clock: Option<Arc<dyn Clock>>,
    /// What came out so far, and in which time.
    pub(crate) bytes: u64,
    pub(crate) nanos: u64,
    row: Vec<u8>,
}

impl Serialized {
    pub(crate) fn new(
        types: Vec<SqlType>,
        binary: bool,
        style: TimeStyle,
        clock: Option<Arc<dyn Clock>>,
    ) -> Serialized {
        Serialized { types, binary, style, clock, bytes: 0, nanos: 0, row: Vec::new() }
    }

    fn take(&mut self, batch: &Batch) {
        let start = self.clock.as_ref().map(|clock| clock.monotonic_nanos());
        for row in 0..batch.rows {
            self.row.clear();
            for (column, ty) in batch.columns.iter().zip(&self.types) {
                match self.binary {
                    true => column.put_binary(row, ty, &mut self.row),
                    false => column.put_text(row, ty, &self.style, &mut self.row),
                }
            }
            // before them a row says how many columns it has
            self.bytes += 2 + self.row.len() as u64;
        }
        if let (Some(clock), Some(start)) = (&self.clock, start) {
            self.nanos += clock.monotonic_nanos().saturating_sub(start);
        }
    }
}

impl<'s> Results<'s> {
    pub(crate) fn new(client: &'s Client<'s>, memory: Memory<'s>) -> Results<'s> {
        Results {
            client,
            silent: false,
            streams: false,
            counts_only: false,
            serialized: None,
            sent: false,
            columns: None,
            announced: false,
            held: Spool::default(),
            memory,
        }
    }

    /// Rows that go to a sink of the session's own.
    pub(crate) fn aside(client: &'s Client<'s>, memory: Memory<'s>) -> Results<'s> {
        Results { silent: true, ..Results::new(client, memory) }
    }

    /// Where messages of functions go at once.
    pub(crate) fn told(&self) -> Option<&'s dyn Told> {
        (!self.silent).then_some(self.client as &dyn Told)
    }

    /// The statement yields rows of these columns.
    pub(crate) fn begin(&mut self, columns: &Arc<[OutputColumn]>) {
        self.columns = Some(Arc::clone(columns));
        self.announced = false;
    }

    /// Tells the client which rows are to come, once.
    #[inline]
    fn announce(&mut self) -> Result<(), SqlError> {
        if std::mem::replace(&mut self.announced, true) {
            return Ok(());
        }
        self.columns.as_ref().map_or(Ok(()), |columns| self.client.with(|sink| sink.begin(columns)))
    }

    /// What the executors' result means: an error of the client's sink comes back as itself.
    pub(crate) fn outcome<T>(&mut self, result: Result<T, ExecError>) -> Result<T, Failure> {
        match (result, self.client.take_error()) {
            (Err(_), Some(error)) => Err(error.into()),
            (result, _) => Ok(result?),
        }
    }

    /// Sends rows that were set aside.
    pub(crate) fn pass(&mut self, batch: &Batch) -> Result<(), SqlError> {
        self.announce()?;
        self.sent = true;
        self.client.with(|sink| sink.batch(batch))
    }

    /// The client, for statements that talk with it in their own way.
    pub(crate) fn client(&self) -> &'s Client<'s> {
        self.client
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
        drop(self.client.take_error());
    }

    /// The statement has failed for good while it ran: rows that would have gone out at once were announced, as in PostgreSQL.
    pub(crate) fn fail(&mut self) {
        if self.streams {
            // What the client gets is the statement's error.
            let _ = self.announce();
        }
    }

    /// Sends what was held.
    pub(crate) fn finish(&mut self) -> Result<(), SqlError> {
        if self.columns.is_none() {
            return Ok(());
        }
        self.announce()?;
        if !self.streams {
            let mut batch = Batch::default();
            while self.held.next(&mut batch)? {
                self.client.with(|sink| sink.batch(&batch))?;
            }
        }
        Ok(())
    }
}

impl Sink for Results<'_> {
    fn batch(&mut self, batch: &Batch) -> Result<(), ExecError> {
        if self.counts_only {
            if let Some(serialized) = &mut self.serialized {
                serialized.take(batch);
            }
            return Ok(());
        }
        if !self.streams {
            return self.held.push(self.memory, RESULT, batch.clone());
        }
        if !self.announced {
            // An error of the sink's stays with the client (`outcome`).
            self.announced = true;
            if let Some(columns) = &self.columns {
                self.client.within(|sink| sink.begin(columns))?;
            }
        }
        self.sent = true;
        self.client.within(|sink| sink.batch(batch))
    }
}
