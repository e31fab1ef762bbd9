//! Who statements are sent to: an open database, or a server.

use std::path::PathBuf;

use verso_types::{Batch, TimeStyle};
use versodb::{CommandTag, Connection, Database, Error, Notice, OutputColumn, StatementSink};

use super::format::Table;
use super::remote::Remote;
use super::report::Said;
use super::results::{headings, push_batch};

/// A database that this process has opened.
pub struct OpenDatabase {
    /// Its file.
    pub path: PathBuf,
    // Dropped before the database: fields drop in order.
    /// The shell's session.
    pub connection: Connection,
    /// All of it.
    pub database: Database,
}

/// One of both.
pub enum Peer {
    /// A file.
    Opened(Box<OpenDatabase>),
    /// A server.
    Server(Box<Remote>),
}

impl Peer {
    /// Whether a transaction is open, and whether it has failed.
    pub fn transaction(&self) -> (bool, bool) {
        match self {
            Peer::Opened(open) => (open.connection.in_transaction(), open.connection.transaction_failed()),
            Peer::Server(remote) => remote.transaction(),
        }
    }

    /// The name that the prompt shows.
    pub fn name(&self) -> String {
        match self {
            Peer::Opened(open) => {
                open.path.file_stem().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
            }
            Peer::Server(remote) => remote.database.clone(),
        }
    }

    /// The rows of a question of the shell's own, as texts.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn ask(&mut self, sql: &str) -> Result<Table, Box<Said>> {
        match self {
            Peer::Opened(open) => {
                let time_zone = open.connection.timezone();
                let mut sink = Collected { table: Table::default(), columns: Vec::new(), time_zone };
                let done = open.connection.execute_script(sql, &mut sink);
                done.map_err(|error| Box::new(Said::from(&error)))?;
                Ok(sink.table)
            }
            Peer::Server(remote) => remote.ask(sql),
        }
    }

    /// The columns of a statement that is not run: names, and types with their modifiers.
    ///
    /// # Errors
    /// Those of the statement.
    pub fn describe(&mut self, sql: &str) -> Result<Vec<(String, u32, i32)>, Box<Said>> {
        match self {
            Peer::Opened(open) => {
                let prepared = open.connection.prepare(sql);
                let prepared = prepared.map_err(|error| Box::new(Said::from(&error)))?;
                let column =
                    |column: &OutputColumn| (column.name.to_string(), column.ty.pg_oid(), column.ty.typmod());
                Ok(prepared.columns().unwrap_or_default().iter().map(column).collect())
            }
            Peer::Server(remote) => remote.describe(sql),
        }
    }
}

/// The rows of the last statement.
struct Collected {
    table: Table,
    columns: Vec<OutputColumn>,
    time_zone: TimeStyle,
}

impl StatementSink for Collected {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), Error> {
        self.columns = columns.to_vec();
        self.table = Table { columns: headings(columns), ..Table::default() };
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), Error> {
        push_batch(&mut self.table, &self.columns, batch, &self.time_zone);
        Ok(())
    }

    fn complete(&mut self, _tag: &CommandTag) -> Result<(), Error> {
        Ok(())
    }

    fn notice(&mut self, _notice: &Notice) -> Result<(), Error> {
        Ok(())
    }
}
