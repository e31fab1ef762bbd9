//! A connection to a database.

use arrow_array::RecordBatch;
use verso_sql::{
    CancelHandle, CommandTag, Notice, OutputColumn, Session, StatementSink, StatementStatistics,
};
use verso_types::{Batch, SqlType, Value, arrow_schema};

use crate::{Error, Rows, Transaction, TxOptions};

/// A connection: settings, a transaction, one statement at a time. It can move between threads.
#[derive(Debug)]
pub struct Connection {
    session: Session,
    affected: u64,
}

impl Connection {
    pub(crate) fn new(session: Session) -> Connection {
        Connection { session, affected: 0 }
    }

    /// Runs one or several statements and gives how many rows the last one inserted, changed, deleted or gave.
    ///
    /// # Errors
    /// The first statement's that fails; those after it are not run.
    pub fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        self.execute_with(sql, &[])
    }

    /// The time zone of the session.
    pub fn timezone(&self) -> &verso_types::TimeZone {
        self.session.timezone()
    }

    /// As [`Connection::execute`], with values for `$1`, `$2` …; see [`params!`](crate::params).
    ///
    /// # Errors
    /// As [`Connection::execute`].
    pub fn execute_with(&mut self, sql: &str, params: &[Value]) -> Result<u64, Error> {
        let mut sink = Collector::counting();
        self.session.execute(sql, params, &mut sink)?;
        self.affected = sink.affected;
        Ok(sink.affected)
    }

    /// Runs a query and gives its rows. Of several statements the last one with a result counts.
    ///
    /// # Errors
    /// As [`Connection::execute`].
    pub fn query(&mut self, sql: &str) -> Result<Rows, Error> {
        self.query_with(sql, &[])
    }

    /// As [`Connection::query`], with values for `$1`, `$2` …; see [`params!`](crate::params).
    ///
    /// # Errors
    /// As [`Connection::execute`].
    pub fn query_with(&mut self, sql: &str, params: &[Value]) -> Result<Rows, Error> {
        let mut sink = Collector::default();
        self.session.execute(sql, params, &mut sink)?;
        self.affected = sink.affected;
        Ok(Rows::new(sink.columns, sink.batches, self.session.timezone().clone()))
    }

    /// How many rows the last statement inserted, changed, deleted or gave.
    pub fn affected_rows(&self) -> u64 {
        self.affected
    }

    /// Runs a query and gives its result as Arrow record batches, without copying columns of fixed width.
    ///
    /// A result without rows is one batch without rows, so that the schema is always there.
    ///
    /// # Errors
    /// As [`Connection::execute`].
    pub fn query_arrow(&mut self, sql: &str) -> Result<Vec<RecordBatch>, Error> {
        let mut sink = Collector::default();
        self.session.execute(sql, &[], &mut sink)?;
        let names = sink.columns.iter().map(|column| (&*column.name, &column.ty));
        let schema = arrow_schema(names);
        let types: Vec<SqlType> = sink.columns.iter().map(|column| column.ty.clone()).collect();
        if sink.batches.is_empty() {
            return Ok(vec![RecordBatch::new_empty(schema)]);
        }
        let mut batches = Vec::with_capacity(sink.batches.len());
        for batch in sink.batches {
            batches.push(batch.into_arrow(&types, schema.clone())?);
        }
        Ok(batches)
    }

    /// Runs statements and hands results, notices and command tags to `sink` as they come; nothing is kept, so a
    /// result may be larger than memory.
    ///
    /// # Errors
    /// As [`Connection::execute`].
    pub fn execute_script(&mut self, sql: &str, sink: &mut dyn StatementSink) -> Result<(), Error> {
        self.session.execute(sql, &[], sink)
    }

    /// Begins a transaction, which is rolled back when it is dropped without a commit.
    ///
    /// # Errors
    /// 25001 if one was begun before by SQL.
    pub fn transaction(&mut self, options: TxOptions) -> Result<Transaction<'_>, Error> {
        Transaction::begin(self, options)
    }

    /// Commits; false if the transaction had failed and was rolled back instead.
    pub(crate) fn commit(&mut self) -> Result<bool, Error> {
        let mut sink = Collector::counting();
        self.session.execute("COMMIT", &[], &mut sink)?;
        Ok(sink.tag == "COMMIT")
    }

    /// Has a transaction begun that has not ended?
    pub fn in_transaction(&self) -> bool {
        self.session.in_transaction()
    }

    /// Commit after every statement that is not in a transaction (the default)? If not, the first statement begins a
    /// transaction that lasts until COMMIT or ROLLBACK.
    pub fn set_autocommit(&mut self, on: bool) {
        self.session.set_autocommit(on);
    }

    /// What the last statement took: time, memory, pages, log. `None` before the first, and as long as the setting
    /// `statement_statistics` is off: looking at the counters takes a few microseconds for each statement.
    pub fn statement_statistics(&self) -> Option<&StatementStatistics> {
        self.session.last_statistics()
    }

    /// Ends the statement that runs, from another thread, with error 57014.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.session.cancel_handle()
    }
}

/// Keeps the last result.
#[derive(Debug, Default)]
struct Collector {
    columns: Vec<OutputColumn>,
    batches: Vec<Batch>,
    affected: u64,
    tag: String,
    /// Only the number of rows is wanted.
    counting: bool,
}

impl Collector {
    fn counting() -> Collector {
        Collector { counting: true, ..Collector::default() }
    }
}

impl StatementSink for Collector {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), Error> {
        self.columns = columns.to_vec();
        self.batches.clear();
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), Error> {
        if !self.counting && batch.rows > 0 {
            self.batches.push(batch.clone());
        }
        Ok(())
    }

    fn complete(&mut self, tag: &CommandTag) -> Result<(), Error> {
        self.affected = tag.rows;
        self.tag.clone_from(&tag.text);
        Ok(())
    }

    fn notice(&mut self, _notice: &Notice) -> Result<(), Error> {
        Ok(())
    }
}
