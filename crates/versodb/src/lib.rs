//! Verso, a relational database, as a library in your program.
//!
//! One file, one process, several threads; SQL as PostgreSQL speaks it; transactions that survive a power cut.
//!
//! ```
//! use versodb::{Database, Options, params};
//!
//! # fn main() -> Result<(), versodb::Error> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let path = directory.path().join("shop.verso");
//! let database = Database::open_or_create(&path, Options::new())?;
//! let mut connection = database.connect()?;
//!
//! connection.execute("CREATE TABLE item (id integer, name text, price numeric(10,2))")?;
//! connection.execute("INSERT INTO item VALUES (1, 'tea', 3.50), (2, 'coffee', 4.20)")?;
//! connection.execute_with("INSERT INTO item VALUES ($1, $2, $3::numeric)", &params![3, "cake", "2.95"])?;
//!
//! for row in connection.query("SELECT name, price * 2 AS pair FROM item WHERE price > 3 ORDER BY id")? {
//!     let name: String = row.get("name")?;
//!     println!("two of {name} cost {}", row.text(1));
//! }
//! # let rows = connection.query("SELECT count(*) FROM item")?.into_rows();
//! # assert_eq!(rows[0].get::<i64>(0)?, 3);
//! # drop(connection);
//! database.close()?;
//! # Ok(())
//! # }
//! ```
//!
//! # Transactions
//!
//! Outside of a transaction every statement commits by itself: when [`Connection::execute`] returns, the change is on
//! disk. Several statements become one with [`Connection::transaction`]; what is not committed is rolled back, also
//! when the [`Transaction`] is dropped by an early return.
//!
//! ```
//! # use versodb::{Database, Options, TxOptions};
//! # fn main() -> Result<(), versodb::Error> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let database = Database::create(directory.path().join("bank.verso"), Options::new())?;
//! # let mut connection = database.connect()?;
//! # connection.execute("CREATE TABLE account (id integer, balance integer)")?;
//! # connection.execute("INSERT INTO account VALUES (1, 100), (2, 0)")?;
//! let mut transaction = connection.transaction(TxOptions::new())?;
//! transaction.execute("UPDATE account SET balance = balance - 30 WHERE id = 1")?;
//! transaction.execute("UPDATE account SET balance = balance + 30 WHERE id = 2")?;
//! transaction.commit()?;
//! # let rows = connection.query("SELECT balance FROM account ORDER BY id")?.into_rows();
//! # assert_eq!((rows[0].get::<i32>(0)?, rows[1].get::<i32>(0)?), (70, 30));
//! # Ok(())
//! # }
//! ```
//!
//! [`TxOptions`] choose the isolation level, read-only transactions, and transactions without savepoints: these keep no
//! undo at all, so after an error they can only be rolled back.
//!
//! # Errors
//!
//! Every error is an [`Error`] with PostgreSQL's five-character SQLSTATE; see [`Error::sqlstate`].
//!
//! ```
//! # use versodb::{Database, Options};
//! # fn main() -> Result<(), versodb::Error> {
//! # let directory = tempfile::tempdir().unwrap();
//! # let database = Database::create(directory.path().join("errors.verso"), Options::new())?;
//! # let mut connection = database.connect()?;
//! let error = connection.query("SELECT nothing").unwrap_err();
//! assert_eq!(error.sqlstate, "42703");
//! assert_eq!(error.message, "column \"nothing\" does not exist");
//! assert_eq!(error.position, Some(8));
//! # Ok(())
//! # }
//! ```
//!
//! # Arrow
//!
//! Results are columns inside, and can be had as such: [`Connection::query_arrow`] gives Arrow record batches, without
//! copying fixed-width columns.
#![forbid(unsafe_code)]

mod appender;
mod arrow;
mod connection;
mod convert;
mod database;
mod options;
mod rows;
mod statement;
mod transaction;

pub use appender::Appender;
pub use connection::Connection;
pub use convert::{FromValue, ToValue};
pub use database::Database;
pub use options::{Options, TxOptions};
pub use rows::{ColumnIndex, Row, Rows};
pub use statement::{RowRef, Statement};
pub use transaction::Transaction;

pub use verso_session::{
    AtomicBodies, CancelHandle, CommandTag, CopyLayout, Notice, Notification, OutputColumn, Piece, SETTINGS,
    SqlError as Error, StatementSink, StatementStatistics, split_statements,
};
pub use verso_storage::{
    CheckReport, EngineStatistics, Isolation, Markers, SpaceReport, SweepOptions, SweepReport,
};
pub use verso_types::{Batch, Decimal, Interval, SqlType, Value};

/// The parameters of a statement: `params![1, "tea", None::<i32>]`.
#[macro_export]
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        [$($crate::ToValue::to_value(&$value)),*]
    };
}
