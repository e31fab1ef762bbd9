//! Rows for BEFORE ROW triggers, locked as they are found: a trigger is called with a row as it is when it is changed.
//!
//! ```text
//! query ─► rows with their places ─► locked ─► … all rows found ─► BEFORE ROW triggers, row by row
//! ```
//!
//! 1. All rows are locked before the first trigger fires. One that others have changed since the snapshot is a conflict: READ
//!    COMMITTED runs the statement again, which then finds the row as it is, and no trigger has seen another; other levels
//!    fail (40001).
//! 2. Rows are locked only where such triggers are: of a partitioned table in those of its leaves that have some.
//! 3. The rows of changes without a query are locked batch by batch ([`ChangeCursor::hold`](super::ChangeCursor::hold)).

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_storage::{RecordId, RecordLockMode, StorageError, TxnId, WaitPolicy};

use super::ExecContext;
use super::found::by_record;
use super::lock::record_of;
use super::trigger::{TriggerEvent, fires_before_rows};
use crate::error::{ExecError, Result};
use crate::plan::leaf_of;

/// Which rows of a change are locked ahead of its triggers.
pub(crate) struct HeldRows {
    /// By leaf; of a table that is not partitioned the only one.
    tables: Vec<Option<(Arc<TableDef>, RecordLockMode)>>,
    partitioned: bool,
}

/// How strongly a change locks a row: an UPDATE by the columns that it names.
pub(super) fn strength(table: &TableDef, event: TriggerEvent, assigned: &[usize]) -> RecordLockMode {
    let named = |id: u16| assigned.iter().any(|at| table.columns[*at].id == id);
    let mut keys = table.indexes.iter().filter(|index| index.unique);
    if event == TriggerEvent::Update && !keys.any(|index| index.columns().any(named)) {
        return RecordLockMode::NoKeyUpdate;
    }
    RecordLockMode::Update
}

impl HeldRows {
    /// Of an UPDATE of these columns, or a DELETE; none where no trigger sees rows before they change.
    pub fn of(table: &Arc<TableDef>, event: TriggerEvent, assigned: &[usize]) -> Option<Box<HeldRows>> {
        let partitioned = table.partitioned.is_some();
        if table.is_view() || (!partitioned && table.triggers.is_empty()) {
            return None;
        }
        // A row that an UPDATE moves to another leaf is deleted.
        let fires = |own: &TableDef| {
            fires_before_rows(own, event) || (partitioned && fires_before_rows(own, TriggerEvent::Delete))
        };
        let of_leaf = |own: &Arc<TableDef>| {
            let column = |at: &usize| own.column(&table.columns[*at].name);
            let own_columns: Vec<usize> = assigned.iter().filter_map(column).collect();
            (Arc::clone(own), strength(own, event, &own_columns))
        };
        let tables: Vec<_> = match partitioned {
            false => vec![fires(table).then(|| (Arc::clone(table), strength(table, event, assigned)))],
            true => table.leaves().iter().map(|own| fires(own).then(|| of_leaf(own))).collect(),
        };
        let any = tables.iter().any(Option::is_some);
        any.then(|| Box::new(HeldRows { tables, partitioned }))
    }

    /// How strongly the rows of a table that is not partitioned are locked.
    pub fn mode(&self) -> Option<RecordLockMode> {
        self.tables.first().and_then(Option::as_ref).map(|(_, mode)| *mode).filter(|_| !self.partitioned)
    }

    /// Locks the rows at these places; those that are still there, unless that is all of them.
    pub fn lock(&self, cx: &ExecContext<'_>, places: &[i64]) -> Result<Option<Vec<u32>>> {
        let leaf = |place: i64| if self.partitioned { leaf_of(place) } else { 0 };
        let mut kept: Vec<u32> = Vec::with_capacity(places.len());
        let mut next = 0;
        for run in places.chunk_by(|one, other| leaf(*one) == leaf(*other)) {
            cx.check_cancelled()?;
            let first = next;
            next += run.len() as u32;
            let Some((table, mode)) = self.tables.get(leaf(run[0])).and_then(Option::as_ref) else {
                kept.extend(first..next);
                continue;
            };
            let tables = cx.tables()?;
            // The table is locked for the change from the beginning: a lock that has to become stronger may be in another's way.
            tables.change_found(table, &[], by_record(std::iter::empty()))?;
            let records: Vec<RecordId> = run.iter().map(|place| record_of(*place)).collect();
            let locked = tables.lock_rows(table, &records, *mode, WaitPolicy::Block)?;
            kept.extend(locked.into_iter().map(|row| first + row));
        }
        Ok((kept.len() < places.len()).then_some(kept))
    }
}

/// The conflict of a row that is gone where the statement has to look again for what is to be done.
pub(super) fn gone(place: i64) -> ExecError {
    StorageError::Conflict { record: record_of(place), by: TxnId::NONE, deleted: true }.into()
}
