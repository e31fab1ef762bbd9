//! Where cursors stand, for WHERE CURRENT OF.
//!
//! The query of a cursor yields the places of its records as further columns: of its one table, or of those that it locks.
//! They are taken off before the client sees the rows; those of the last row that was fetched are kept.
//!
//! 1. While a cursor is open nobody reuses the place of a record that it may stand on: it holds a snapshot from before its
//!    first.

use verso_exec::plan::Origin;
use verso_exec::{ExecError, error::Result as ExecResult};
use verso_storage::HeldView;
use verso_types::{Batch, SqlType};

use crate::Session;
use crate::client::{CommandTag, Notice, OutputColumn, StatementSink};
use crate::portal::Portal;
use verso_parser::syntax::Statement;
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

/// What a statement with WHERE CURRENT OF needs to know of its cursor.
#[derive(Debug)]
pub(crate) struct Position {
    cursor: String,
    tables: Vec<u32>,
    locks: bool,
    held: bool,
    row: Option<Vec<i64>>,
}

impl Places {
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
}

impl Session {
    /// The places of a cursor about to be opened.
    pub(crate) fn places(&self, portal: &Portal, locks: bool) -> Result<Places, SqlError> {
        let columns = portal.columns().unwrap_or_default();
        let record = |column: &OutputColumn| column.origin.filter(|origin| origin.column == Origin::RECORD);
        let tables: Vec<u32> = columns.iter().filter_map(record).map(|origin| origin.table).collect();
        let view = match &self.active {
            Some(active) if !tables.is_empty() => {
                let mut txn = active.txn.borrow_mut();
                txn.begin_statement()?;
                Some(txn.end_statement_holding()?)
            }
            _ => None,
        };
        Ok(Places { tables, locks, row: None, view, held: false })
    }

    /// Before a statement that may have WHERE CURRENT OF: where its cursor stands.
    pub(crate) fn note_position(&self, statement: &Statement) {
        let name = match statement {
            Statement::Update(update) => &update.current,
            Statement::Delete(delete) => &delete.current,
            Statement::Explain { statement, .. } => return self.note_position(statement),
            _ => return,
        };
        let Some(name) = name else { return };
        let position = self.services.cursors.get(&name.text).map(|cursor| {
            let Places { tables, locks, row, view: _, held } = cursor.place();
            let cursor = name.text.clone();
            Position { cursor, tables: tables.clone(), locks: *locks, held: *held, row: row.clone() }
        });
        *self.services.position.borrow_mut() = position;
    }
}

impl Position {
    /// The place of the record of a table, if this is the cursor.
    pub(crate) fn place(&self, cursor: &str, table: &verso_catalog::TableDef) -> Option<ExecResult<i64>> {
        (self.cursor == cursor).then(|| self.record(table))
    }

    fn record(&self, table: &verso_catalog::TableDef) -> ExecResult<i64> {
        let Position { cursor, tables, locks, held, row } = self;
        let error = |what: String| Err(ExecError::raised("24000", format!("cursor \"{cursor}\" {what}")));
        if *held {
            return error("is held from a previous transaction".into());
        }
        let mut places = (0..tables.len()).filter(|n| tables[*n] == table.oid.0);
        match (places.next(), places.next(), row) {
            (None, ..) if *locks => {
                error(format!("does not have a FOR UPDATE/SHARE reference to table \"{}\"", table.name))
            }
            (None, ..) => error(format!("is not a simply updatable scan of table \"{}\"", table.name)),
            (Some(_), Some(_), _) => {
                error(format!("has multiple FOR UPDATE/SHARE references to table \"{}\"", table.name))
            }
            (Some(_), None, None) => error("is not positioned on a row".into()),
            (Some(n), None, Some(row)) => Ok(row[n]),
        }
    }
}
