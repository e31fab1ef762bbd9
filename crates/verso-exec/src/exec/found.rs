//! Rows that a query has found for a change, all of them before the first is changed (T2): beyond the session's work memory
//! they stand in a file. Where the query calls functions that may look for what has become of the rows before, each is changed
//! before the next is looked for; the statement does not see that (T4).

use std::collections::HashMap;

use verso_catalog::TableDef;
use verso_storage::RecordId;
use verso_types::{Batch, ColumnData, SqlType};

use super::ExecContext;
use super::held::HeldRows;
use super::lock::record_of;
use super::operator::Operator;
use crate::error::{ExecError, Result};
use crate::memory::Reservation;
use crate::spill::Spool;

/// Rows found elsewhere: their places, and what was read and computed of them.
pub(super) type FoundRows = (Vec<i64>, Batch);

/// The next rows of a change: their records, and what was read and computed of them.
pub type FoundRecords = Box<dyn Iterator<Item = Result<(Vec<RecordId>, Batch)>> + Send>;

/// Places of rows by table, a bit for each: neighbours share a word.
#[derive(Default)]
pub(super) struct Places {
    words: HashMap<(u32, i64), u64>,
}

impl Places {
    /// Adds one; whether it is new.
    pub fn insert(&mut self, table: u32, place: i64) -> bool {
        let word = self.words.entry((table, place >> 6)).or_default();
        let bit = 1 << (place & 63);
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    /// Memory that it takes.
    pub fn held_bytes(&self) -> u64 {
        (self.words.capacity() * (size_of::<((u32, i64), u64)>() + 1)) as u64
    }
}

const WHAT: &str = "a change of joined rows";

/// The rows that an open query finds for a change, each once: with what it was first joined with. Those that triggers are about
/// to see are locked.
pub(super) struct Finding<'s> {
    table: &'s TableDef,
    held_rows: Option<&'s HeldRows>,
    seen: Places,
    held: Reservation,
}

impl<'s> Finding<'s> {
    pub fn new(cx: &ExecContext<'_>, table: &'s TableDef, held_rows: Option<&'s HeldRows>) -> Self {
        Finding { table, held_rows, seen: Places::default(), held: cx.reserve(WHAT) }
    }

    /// The next rows, whose last column says where they are; may be none of them. `None` at the end.
    pub fn next(
        &mut self,
        cx: &ExecContext<'_>,
        operator: &mut dyn Operator,
        types: &[SqlType],
    ) -> Result<Option<Batch>> {
        let mut rows = Batch::of_types(types);
        if !operator.next(cx, &mut rows)? {
            return Ok(None);
        }
        cx.check_cancelled()?;
        let Some(ColumnData::I64(places)) = rows.columns.last().map(|column| &column.data) else {
            return Err(without_places());
        };
        let table = self.table.oid.0;
        let free = |place| cx.state().is_none_or(|state| state.changes_first(table, place));
        let seen = &mut self.seen;
        let mut is_new = |row: &u32| {
            let place = places[*row as usize];
            seen.insert(0, place) && free(place)
        };
        let new: Vec<u32> = (0..places.len() as u32).filter(|row| is_new(row)).collect();
        if new.len() < rows.rows {
            rows.filter(&new);
        }
        if let (Some(held_rows), Some(column)) = (self.held_rows, rows.columns.last())
            && let ColumnData::I64(places) = &column.data
            && let Some(kept) = held_rows.lock(cx, places)?
        {
            rows.filter(&kept);
        }
        self.held.resize(self.seen.held_bytes())?;
        Ok(Some(rows))
    }
}

/// The rows of a batch, and their places, which are its last column.
pub(super) fn with_places_apart(mut rows: Batch) -> Result<FoundRows> {
    match rows.columns.pop().map(|column| column.data) {
        Some(ColumnData::I64(places)) => Ok((places, rows)),
        _ => Err(without_places()),
    }
}

/// All rows that a query finds for a change. Batch by batch.
pub(super) struct Gathered {
    /// With the places as the last column.
    rows: Spool,
}

impl Gathered {
    /// Runs the query, whose last column says where the rows are; those that triggers are about to see are locked.
    pub fn of(
        cx: &ExecContext<'_>,
        operator: &mut dyn Operator,
        types: &[SqlType],
        table: &TableDef,
        held_rows: Option<&HeldRows>,
    ) -> Result<Gathered> {
        operator.open(cx)?;
        let mut found = Gathered { rows: Spool::default() };
        let mut finding = Finding::new(cx, table, held_rows);
        while let Some(rows) = finding.next(cx, operator, types)? {
            found.rows.push(cx.services.memory, WHAT, rows)?;
        }
        operator.close();
        Ok(found)
    }

    fn take(&mut self) -> Result<Option<FoundRows>> {
        let mut rows = Batch::default();
        if self.rows.next(&mut rows)? { with_places_apart(rows).map(Some) } else { Ok(None) }
    }
}

impl Iterator for Gathered {
    type Item = Result<FoundRows>;

    fn next(&mut self) -> Option<Self::Item> {
        self.take().transpose()
    }
}

/// Rows with the records that they are.
pub(super) fn by_record(found: impl Iterator<Item = Result<FoundRows>> + Send + 'static) -> FoundRecords {
    Box::new(found.map(|rows| rows.map(|(places, rows)| (places.into_iter().map(record_of).collect(), rows))))
}

fn without_places() -> ExecError {
    ExecError::raised("XX000", "rows to change without their places")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_new_once_in_each_table() {
        let mut places = Places::default();
        for place in [0, 63, 64, 7 << 16, (7 << 16) + 1, i64::MAX] {
            assert!(
                places.insert(1, place) && !places.insert(1, place) && places.insert(2, place),
                "{place}"
            );
        }
        assert!(!places.insert(1, 63) && places.insert(1, 62));
        let mut many = Places::default();
        assert!((0..100_000).all(|place| many.insert(0, place)));
        assert!(many.held_bytes() < 100_000, "{}", many.held_bytes());
    }
}
