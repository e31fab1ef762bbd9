//! A connection to a database.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{Ordering, fence};
use std::sync::{Arc, Weak};

use arrow_array::RecordBatch;
use parking_lot::{Mutex, MutexGuard};
use verso_session::{
    Background, CancelHandle, CommandTag, Notice, Notification, OutputColumn, Session, StatementSink,
    StatementStatistics, TransactionStatus,
};
use verso_types::{Batch, SqlType, TimeStyle, Value, arrow_schema};

use crate::{Appender, Error, Rows, Statement, Transaction, TxOptions};

/// A connection: settings, a transaction, one statement at a time.
///
/// It can move between threads; its [`Statement`]s can be used by several threads, which take turns.
#[derive(Debug)]
pub struct Connection {
    inner: Arc<Inner>,
    affected: u64,
}

/// What a connection and its statements share.
#[derive(Debug)]
pub(crate) struct Inner {
    session: Mutex<Session>,
    /// Of the session, for who cannot lock it.
    handle: CancelHandle,
    /// Ends with the last of the database and its connections.
    _background: Arc<Background>,
}

impl Inner {
    /// The session, once no other thread uses it.
    pub(crate) fn session(&self) -> Guard<'_> {
        Guard { inner: self, session: Some(self.session.lock()) }
    }

    /// Gives up the transaction of a session that is to end, if nobody uses it now: who does looks by itself afterwards.
    fn abandon(&self) {
        if let Some(mut session) = self.session.try_lock() {
            session.abandon();
        }
    }
}

/// A session in use.
pub(crate) struct Guard<'i> {
    inner: &'i Inner,
    /// There until the guard is dropped.
    session: Option<MutexGuard<'i, Session>>,
}

impl Deref for Guard<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("there until the guard is dropped")
    }
}

impl DerefMut for Guard<'_> {
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("there until the guard is dropped")
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        let Some(session) = self.session.take().filter(|session| session.in_transaction()) else { return };
        drop(session);
        // Whoever wanted it to end since its last statement found it in use.
        fence(Ordering::SeqCst);
        if self.inner.handle.is_ending() {
            self.inner.abandon();
        }
    }
}

impl Connection {
    pub(crate) fn new(mut session: Session, background: Arc<Background>) -> Connection {
        let inner = Arc::new_cyclic(|inner: &Weak<Inner>| {
            let inner = Weak::clone(inner);
            // A transaction that idles too long gives up its locks, although nobody calls.
            session.on_terminate(Arc::new(move || {
                if let Some(inner) = inner.upgrade() {
                    inner.abandon();
                }
            }));
            Inner { handle: session.cancel_handle(), session: Mutex::new(session), _background: background }
        });
        Connection { inner, affected: 0 }
    }

    fn session(&self) -> Guard<'_> {
        self.inner.session()
    }

    /// Parses and plans a statement once, to be executed often. The types of its parameters follow from their uses.
    ///
    /// # Errors
    /// 42601 for several statements, 42P18 for a parameter whose type cannot be told, and those of planning.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        let prepared = self.session().prepare(sql, &[])?;
        Ok(Statement::new(Arc::clone(&self.inner), prepared))
    }

    /// Begins to add many rows to a table; see [`Appender`]. Columns not named get their defaults; no names means all.
    ///
    /// # Errors
    /// 42P01, 42703 for what is not there.
    pub fn appender(&mut self, table: &str, columns: &[&str]) -> Result<Appender, Error> {
        let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
        let table: Vec<String> = table.split('.').map(quoted).collect();
        let table = table.join(".");
        let count = match columns.len() {
            0 => self.prepare(&format!("SELECT * FROM {table}"))?.columns().map_or(0, <[_]>::len),
            given => given,
        };
        let names: Vec<String> = columns.iter().map(|name| quoted(name)).collect();
        let names = if names.is_empty() { String::new() } else { format!("({})", names.join(", ")) };
        let values: Vec<String> = (1..=count).map(|number| format!("${number}")).collect();
        let sql = format!("INSERT INTO {table} {names} VALUES ({})", values.join(", "));
        Ok(Appender::new(self.prepare(&sql)?))
    }

    /// Runs one or several statements and gives how many rows the last one inserted, changed, deleted or gave.
    ///
    /// # Errors
    /// The first statement's that fails; those after it are not run.
    pub fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        self.execute_with(sql, &[])
    }

    /// The messages of NOTIFY that have come to the channels of the connection's LISTEN since it was asked last, in their order; none
    /// while a transaction is open.
    pub fn notifications(&mut self) -> Vec<Notification> {
        self.session().take_notifications(usize::MAX)
    }

    /// The time zone of the session.
    pub fn timezone(&self) -> verso_types::TimeStyle {
        self.session().timezone().clone()
    }

    /// As [`Connection::execute`], with values for `$1`, `$2` …; see [`params!`](crate::params).
    ///
    /// # Errors
    /// As [`Connection::execute`].
    pub fn execute_with(&mut self, sql: &str, params: &[Value]) -> Result<u64, Error> {
        let mut sink = Collector::counting();
        self.session().execute(sql, params, &mut sink)?;
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
        let time_zone = {
            let mut session = self.session();
            session.execute(sql, params, &mut sink)?;
            session.timezone().clone()
        };
        self.affected = sink.affected;
        Ok(sink.into_rows(time_zone))
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
        self.session().execute(sql, &[], &mut sink)?;
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
        self.session().execute(sql, &[], sink)
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
        self.session().execute("COMMIT", &[], &mut sink)?;
        Ok(sink.tag == "COMMIT")
    }

    /// Has a transaction begun that has not ended?
    pub fn in_transaction(&self) -> bool {
        self.session().in_transaction()
    }

    /// Has the transaction failed, so that only its end, or one of its savepoints, helps?
    pub fn transaction_failed(&self) -> bool {
        self.session().status() == TransactionStatus::Failed
    }

    /// Commit after every statement that is not in a transaction (the default)? If not, the first statement begins a
    /// transaction that lasts until COMMIT or ROLLBACK.
    pub fn set_autocommit(&mut self, on: bool) {
        self.session().set_autocommit(on);
    }

    /// What the last statement took: time, memory, pages, log. `None` before the first, and as long as the setting
    /// `statement_statistics` is off: looking at the counters takes a few microseconds for each statement.
    pub fn statement_statistics(&self) -> Option<StatementStatistics> {
        self.session().last_statistics().cloned()
    }

    /// Ends the statement that runs, from another thread, with error 57014.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.session().cancel_handle()
    }
}

/// Keeps the last result.
#[derive(Debug, Default)]
pub(crate) struct Collector {
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

    pub(crate) fn into_rows(self, time_zone: TimeStyle) -> Rows {
        Rows::new(self.columns, self.batches, time_zone)
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
