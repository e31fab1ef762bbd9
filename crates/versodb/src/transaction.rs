//! A transaction as a guard: rolled back unless it was committed.

use verso_types::Value;

use crate::{Connection, Error, Rows, Statement, TxOptions};

/// A transaction; see [`Connection::transaction`]. Dropped without [`commit`](Transaction::commit), it is rolled back.
#[derive(Debug)]
pub struct Transaction<'c> {
    connection: &'c mut Connection,
    ended: bool,
}

impl<'c> Transaction<'c> {
    pub(crate) fn begin(
        connection: &'c mut Connection,
        options: TxOptions,
    ) -> Result<Transaction<'c>, Error> {
        if connection.in_transaction() {
            return Err(Error::new("25001", "there is already a transaction in progress"));
        }
        connection.execute(&options.begin_statement())?;
        Ok(Transaction { connection, ended: false })
    }

    /// As [`Connection::execute`].
    ///
    /// # Errors
    /// The statement's. The transaction is failed then: roll it back, or back to a savepoint.
    pub fn execute(&mut self, sql: &str) -> Result<u64, Error> {
        self.connection.execute(sql)
    }

    /// As [`Connection::execute_with`].
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub fn execute_with(&mut self, sql: &str, params: &[Value]) -> Result<u64, Error> {
        self.connection.execute_with(sql, params)
    }

    /// As [`Connection::query`].
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub fn query(&mut self, sql: &str) -> Result<Rows, Error> {
        self.connection.query(sql)
    }

    /// As [`Connection::query_with`].
    ///
    /// # Errors
    /// As [`Transaction::execute`].
    pub fn query_with(&mut self, sql: &str, params: &[Value]) -> Result<Rows, Error> {
        self.connection.query_with(sql, params)
    }

    /// As [`Connection::prepare`]; the statement outlives the transaction.
    ///
    /// # Errors
    /// As [`Connection::prepare`]; 25P02 once a statement has failed.
    pub fn prepare(&mut self, sql: &str) -> Result<Statement, Error> {
        self.connection.prepare(sql)
    }

    /// Marks a place to come back to.
    ///
    /// # Errors
    /// 3B000 in a transaction without savepoints.
    pub fn savepoint(&mut self, name: &str) -> Result<(), Error> {
        self.connection.execute(&format!("SAVEPOINT {}", quoted(name))).map(drop)
    }

    /// Undoes everything since the savepoint, which stays.
    ///
    /// # Errors
    /// 3B001 if there is no such savepoint.
    pub fn rollback_to(&mut self, name: &str) -> Result<(), Error> {
        self.connection.execute(&format!("ROLLBACK TO SAVEPOINT {}", quoted(name))).map(drop)
    }

    /// Forgets a savepoint; what was done since stays done.
    ///
    /// # Errors
    /// 3B001 if there is no such savepoint.
    pub fn release(&mut self, name: &str) -> Result<(), Error> {
        self.connection.execute(&format!("RELEASE SAVEPOINT {}", quoted(name))).map(drop)
    }

    /// Makes it all last: when this returns, it is on disk.
    ///
    /// # Errors
    /// 25P02 if a statement failed: the transaction was rolled back. Errors of the disk: whether it lasts is unknown
    /// until the database is opened again.
    pub fn commit(mut self) -> Result<(), Error> {
        self.ended = true;
        if self.connection.commit()? {
            return Ok(());
        }
        Err(Error::new("25P02", "the transaction was rolled back, as a statement of it failed"))
    }

    /// Undoes it all.
    ///
    /// # Errors
    /// Those of storage.
    pub fn rollback(mut self) -> Result<(), Error> {
        self.ended = true;
        self.connection.execute("ROLLBACK").map(drop)
    }

    /// The connection it runs on.
    pub fn connection(&mut self) -> &mut Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.ended && self.connection.in_transaction() {
            // Nobody is left to tell; a transaction that cannot be rolled back is dead anyway.
            let _ = self.connection.execute("ROLLBACK");
        }
    }
}

/// A name as SQL text.
fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
