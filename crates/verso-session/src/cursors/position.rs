//! Where cursors stand, for WHERE CURRENT OF.
//!
//! The query of a cursor yields the places of its records as further columns: of its one table, or of those that it locks.
//! They are taken off before the client sees the rows; those of the last row that was fetched are kept.
//!
//! 1. While a cursor is open nobody reuses the place of a record that it may stand on: it holds a snapshot from before its
//!    first.

use verso_storage::HeldView;
use verso_types::{Batch, SqlType};

use crate::client::{CommandTag, Notice, OutputColumn, StatementSink};
use crate::services::Position;
use verso_planner::errors::SqlError;

/// Where a cursor stands.
#[derive(Debug)]
pub(crate) struct Places {
    /// Oids of the tables whose records the last columns are.
    tables: Vec<u32>,
    /// It has FOR UPDATE or a relative.
    locks: bool,
    /// The places, on a row.
    row: Option<Vec<i64>>,
    /// Keeps the records' places; none once the transaction has ended.
    view: Option<HeldView>,
    held: bool,
}

impl Places {
    /// Before the first row.
    pub(crate) fn new(tables: Vec<u32>, locks: bool, view: Option<HeldView>) -> Places {
        Places { tables, locks, row: None, view, held: false }
    }

    /// What a statement with WHERE CURRENT OF needs to know.
    pub(crate) fn position(&self, cursor: &str) -> Position {
        let Places { tables, locks, row, view: _, held } = self;
        Position {
            cursor: cursor.to_string(),
            tables: tables.clone(),
            locks: *locks,
            held: *held,
            row: row.clone(),
        }
    }

    /// The columns that the client sees.
    pub(crate) fn visible<'c>(&self, columns: &'c [OutputColumn]) -> &'c [OutputColumn] {
        &columns[..columns.len() - self.tables.len()]
    }

    /// The rows as the client sees them.
    pub(crate) fn without(&self, mut rows: Batch) -> Batch {
        rows.columns.truncate(rows.columns.len() - self.tables.len());
        rows
    }

    /// Stands on no row.
    pub(crate) fn leave(&mut self) {
        self.row = None;
    }

    /// Stands on a row of those collected, the first being 1.
    pub(crate) fn stand(&mut self, rows: &Batch, position: i64) {
        let row = usize::try_from(position - 1).ok().filter(|row| *row < rows.rows);
        self.row = row.map(|row| places(rows, row, self.tables.len()));
    }

    /// The transaction has ended.
    pub(crate) fn end(&mut self) {
        (self.held, self.view, self.row) = (true, None, None);
    }

    /// Takes the places off the rows on their way to `sink`.
    pub(crate) fn watch<'s>(&'s mut self, sink: &'s mut dyn StatementSink) -> Watch<'s> {
        Watch { places: self, sink }
    }
}

fn places(rows: &Batch, row: usize, count: usize) -> Vec<i64> {
    let columns = &rows.columns[rows.columns.len() - count..];
    columns.iter().map(|column| column.value(row, &SqlType::Int8).as_i64().unwrap_or_default()).collect()
}

/// Rows on their way to a client.
pub(crate) struct Watch<'s> {
    places: &'s mut Places,
    sink: &'s mut dyn StatementSink,
}

impl StatementSink for Watch<'_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.sink.begin(self.places.visible(columns))
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        let count = self.places.tables.len();
        if count == 0 {
            return self.sink.batch(batch);
        }
        if let Some(last) = batch.rows.checked_sub(1) {
            self.places.row = Some(places(batch, last, count));
        }
        self.sink.batch(&self.places.without(batch.clone()))
    }

    fn complete(&mut self, tag: &CommandTag) -> Result<(), SqlError> {
        self.sink.complete(tag)
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.sink.notice(notice)
    }

    fn notice_now(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.sink.notice_now(notice)
    }
}
