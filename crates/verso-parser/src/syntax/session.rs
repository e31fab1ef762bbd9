//! Prepared statements and cursors of SQL.

use verso_types::SqlType;

use super::{Name, Parsed};

/// BACKUP DATABASE TO STDOUT.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogicalBackup {
    /// SQL instead of an archive.
    pub script: bool,
    /// Threads that read and pack.
    pub parallel: Option<u32>,
    /// How chunks are packed: `zstd:3`, `lz4`, `none`.
    pub compress: Option<String>,
    /// Only these tables, `schema.table` or `table`.
    pub tables: Vec<String>,
    /// No rows.
    pub schema_only: bool,
    /// No definitions.
    pub data_only: bool,
}

/// PREPARE.
#[derive(Clone, Debug, PartialEq)]
pub struct Prepare {
    /// Its name.
    pub name: Name,
    /// Types of the parameters; none is `unknown`.
    pub types: Vec<Option<SqlType>>,
    /// The statement.
    pub statement: Box<Parsed>,
}

/// DECLARE CURSOR.
#[derive(Clone, Debug, PartialEq)]
pub struct Cursor {
    /// Its name.
    pub name: Name,
    /// BINARY: its rows come in the protocol's binary format.
    pub binary: bool,
    /// SCROLL.
    pub scroll: bool,
    /// INSENSITIVE: as all are, but for the locks of FOR UPDATE.
    pub insensitive: bool,
    /// WITH HOLD.
    pub hold: bool,
    /// The query.
    pub query: Box<Parsed>,
}

/// FETCH, MOVE.
#[derive(Clone, Debug, PartialEq)]
pub struct Fetch {
    /// The cursor.
    pub name: Name,
    /// Which rows.
    pub direction: Direction,
    /// MOVE: the rows are skipped.
    pub moves: bool,
}

/// Which rows of a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The next rows; `None` is all of them.
    Forward(Option<i64>),
    /// The rows before, the nearest first.
    Backward(Option<i64>),
    /// The row of that number, from the end if negative.
    Absolute(i64),
    /// The row that far ahead.
    Relative(i64),
}
