//! Where cursors stand, for WHERE CURRENT OF.
//!
//! The query of a cursor yields the places of its records as further columns: of its one table, or of those that it locks.
//! They are taken off before the client sees the rows; those of the last row that was fetched are kept.
//!
//! 1. While a cursor is open nobody reuses the place of a record that it may stand on: it holds a snapshot from before its
//!    first.

use verso_catalog::CatalogSnapshot;
use verso_exec::exec::ChangedRecords;
use verso_exec::memory::Account;
use verso_storage::HeldView;
use verso_types::{Batch, SqlType};

use super::Advance;
use crate::client::{CommandTag, Notice, OutputColumn, StatementSink};
use crate::portal::{Portal, PortalEnd};
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
    /// Of one that locks its rows, what its transaction has changed since (C4).
    changed: Option<Box<ChangedRecords>>,
}

impl Places {
    /// Before the first row; what is noted of one that locks its rows is charged to the account.
    pub(crate) fn new(
        tables: Vec<u32>,
        locks: bool,
        view: Option<HeldView>,
        catalog: &CatalogSnapshot,
        account: &Account,
    ) -> Places {
        let changed =
            (locks && !tables.is_empty()).then(|| Box::new(ChangedRecords::new(&tables, catalog, account)));
        Places { tables, locks, row: None, view, held: false, changed }
    }

    /// What a statement with WHERE CURRENT OF needs to know.
    pub(crate) fn position(&self, cursor: &str) -> Position {
        let Places { tables, locks, row, view: _, held, changed: _ } = self;
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

    /// What is noted of a cursor that locks its rows.
    pub(crate) fn changed_mut(&mut self) -> Option<&mut ChangedRecords> {
        self.changed.as_deref_mut()
    }

    /// Does the cursor lock its rows?
    pub(crate) fn locks(&self) -> bool {
        self.changed.is_some()
    }

    /// Takes the places off the rows on their way to `sink`.
    pub(crate) fn watch<'s>(&'s mut self, sink: &'s mut dyn StatementSink) -> Watch<'s> {
        Watch { places: self, sink, begun: false, left_out: 0 }
    }

    /// The rows that are what they were when they were locked; `None` where all are.
    fn unchanged(&self, rows: &Batch) -> Option<Vec<u32>> {
        let changed = self.changed.as_ref().filter(|changed| !changed.is_empty())?;
        let is_changed = |row: u32| changed.has_any(&places(rows, row as usize, self.tables.len()));
        let kept: Vec<u32> = (0..rows.rows as u32).filter(|row| !is_changed(*row)).collect();
        (kept.len() < rows.rows).then_some(kept)
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
    /// The sink knows the columns.
    begun: bool,
    /// So many rows did not go on to it (C4).
    left_out: u64,
}

impl Watch<'_> {
    /// Runs the portal on for so many rows that go on to the sink, 0 meaning all: how many there were, and how it ended.
    pub(crate) fn run(
        &mut self,
        portal: &mut Portal,
        rows: u64,
        advance: Advance<'_>,
    ) -> Result<(u64, PortalEnd), SqlError> {
        let mut sent = 0;
        loop {
            let before = self.left_out;
            let (count, end) = advance(portal, rows.saturating_sub(sent), self)?;
            let left_out = self.left_out - before;
            sent += count - left_out;
            if left_out == 0 || rows == 0 || end != PortalEnd::Suspended {
                return Ok((sent, end));
            }
        }
    }
}

impl StatementSink for Watch<'_> {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        if std::mem::replace(&mut self.begun, true) {
            return Ok(());
        }
        self.sink.begin(self.places.visible(columns))
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        let count = self.places.tables.len();
        if count == 0 {
            return self.sink.batch(batch);
        }
        let kept = self.places.unchanged(batch).map(|kept| batch.gather(&kept));
        let rows = kept.as_ref().unwrap_or(batch);
        self.left_out += (batch.rows - rows.rows) as u64;
        let Some(last) = rows.rows.checked_sub(1) else {
            // All of them were left out, or there were none.
            return if batch.rows == 0 {
                self.sink.batch(&self.places.without(batch.clone()))
            } else {
                Ok(())
            };
        };
        self.places.row = Some(places(rows, last, count));
        self.sink.batch(&self.places.without(rows.clone()))
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
