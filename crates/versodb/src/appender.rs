//! Bulk append.

use arrow_array::RecordBatch;
use verso_types::Value;

use crate::{Error, Statement};

/// Rows sent to the table at a time.
const ROWS: usize = 1_024;

/// Adds many rows to a table; see [`Connection::appender`](crate::Connection::appender).
///
/// Rows are collected and inserted a thousand at a time, each time as a transaction of its own unless one is open: begin
/// one where all or none shall be there. Dropping it sends the rest, but cannot tell of errors; [`Appender::finish`]
/// does.
///
/// ```
/// # use versodb::{Database, Options, TxOptions, params};
/// # fn main() -> Result<(), versodb::Error> {
/// # let directory = tempfile::tempdir().unwrap();
/// # let database = Database::create(directory.path().join("a.verso"), Options::new())?;
/// # let mut connection = database.connect()?;
/// connection.execute("CREATE TABLE measure (at bigint, value double precision)")?;
/// let mut transaction = connection.transaction(TxOptions::new())?;
/// let mut appender = transaction.connection().appender("measure", &["at", "value"])?;
/// for at in 0..5_000 {
///     appender.append(params![at, at as f64 / 2.0])?;
/// }
/// assert_eq!(appender.finish()?, 5_000);
/// transaction.commit()?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Appender {
    statement: Statement,
    rows: Vec<Vec<Value>>,
    count: u64,
}

impl Appender {
    pub(crate) fn new(statement: Statement) -> Appender {
        Appender { statement, rows: Vec::with_capacity(ROWS), count: 0 }
    }

    /// Adds a row: a value for each of the appender's columns.
    ///
    /// # Errors
    /// Those of sending rows when enough are there; the rows sent with it are not in the table then.
    pub fn append(&mut self, row: impl Into<Vec<Value>>) -> Result<(), Error> {
        self.rows.push(row.into());
        if self.rows.len() >= ROWS { self.flush() } else { Ok(()) }
    }

    /// Adds the rows of an Arrow record batch, whose columns are the appender's in order.
    ///
    /// # Errors
    /// 0A000 for an Arrow type that has no counterpart; otherwise as [`Appender::append`].
    pub fn append_arrow(&mut self, batch: &RecordBatch) -> Result<(), Error> {
        let columns =
            batch.columns().iter().map(crate::arrow::values).collect::<Result<Vec<Vec<Value>>, Error>>()?;
        for row in 0..batch.num_rows() {
            self.append(columns.iter().map(|column| column[row].clone()).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    /// Sends what has been collected.
    ///
    /// # Errors
    /// Those of INSERT; what was collected is dropped then.
    pub fn flush(&mut self) -> Result<(), Error> {
        if !self.rows.is_empty() {
            self.count += self.statement.execute_batch(std::mem::take(&mut self.rows))?;
        }
        Ok(())
    }

    /// Sends the rest and gives the number of rows added by all.
    ///
    /// # Errors
    /// As [`Appender::flush`].
    pub fn finish(mut self) -> Result<u64, Error> {
        self.flush()?;
        Ok(self.count)
    }
}

impl Drop for Appender {
    fn drop(&mut self) {
        // Nobody is left to tell: who wants to know calls `finish`.
        let _ = self.flush();
    }
}
