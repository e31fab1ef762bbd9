//! Queries whose rows are locked, or whose functions do something, as they are fetched, as in PostgreSQL: those of cursors, and of FOR.
//!
//! F1. What the query reads is read when it is opened, and what it sees stays what it saw then; each row is locked when it is asked
//!     for, by a statement of its own ([`Compiled::set_aside`]). So are the functions called that a select list calls for it.
//! F2. Rows that its transaction has changed or deleted since are passed over.
//! F3. At the end of the transaction a loop that goes on has all its rows: those that are left are locked before.

use std::collections::BTreeMap;
use std::sync::Arc;

use verso_storage::RecordId;
use verso_types::{Batch, ColumnData, Value};

use super::cursor::Portals;
use super::embedded::{check_change, in_statement};
use super::frame::Frame;
use super::program::Embedded;
use super::site::CallSite;
use crate::error::{ExecError, Result};
use crate::exec::{ChangedRecords, Compiled, ExecContext, HeldStatement};
use crate::spill::Spool;

/// So many rows are asked for at once where all are.
pub(super) const ROWS_AT_ONCE: u64 = 1024;

/// An open query whose rows are to be fetched.
pub(super) struct Fetched {
    compiled: Compiled,
    params: Vec<Value>,
    text: Option<Arc<str>>,
    /// What it sees, but while it runs and behind its last row.
    held: Option<HeldStatement>,
    /// So many of its last columns are the places of its records.
    places: usize,
}

impl Fetched {
    /// Opens a query, if its rows can be locked, or its functions called, as they are fetched.
    ///
    /// # Errors
    /// Those of reading its rows; 0A000 and 25006 where it may not lock any.
    pub fn open(
        query: &Embedded,
        params: Option<&[Value]>,
        cx: &ExecContext<'_>,
        frame: &Frame,
    ) -> Result<Option<Fetched>> {
        let Some(statement) = query.fetched.as_ref().filter(|_| !frame.function.read_only) else {
            return Ok(None);
        };
        check_change(query, cx, frame)?;
        let compiled = Compiled::new(statement, cx.executor);
        if !compiled.can_set_aside() {
            return Ok(None);
        }
        let params = params.unwrap_or(&frame.slots).to_vec();
        let text = query.text.clone();
        let mut opened = Fetched { compiled, params, text, held: None, places: query.places.len() };
        let tables = cx.tables()?;
        tables.begin_statement()?;
        let read = opened.within(cx, |compiled, cx| {
            compiled.open(cx)?;
            compiled.set_aside(cx, cx.services.memory, statement)
        });
        match read {
            Ok(()) => {
                opened.held = Some(tables.hold_statement()?);
                Ok(Some(opened))
            }
            Err(error) => {
                tables.abort_statement()?;
                Err(opened.named(error))
            }
        }
    }

    /// Fetches so many rows at most, which may be none of them; `None` at the end.
    ///
    /// # Errors
    /// Those of the query; the rows behind them are not to be had any more.
    pub fn next(&mut self, rows: u64, cx: &ExecContext<'_>) -> Result<Option<Batch>> {
        let Some(held) = self.held.take() else { return Ok(None) };
        let fetched = cx.within_statement(held, || {
            self.within(cx, |compiled, cx| {
                compiled.bound(rows);
                Ok(compiled.next(cx)?.map(|batch| batch.clone()))
            })
        });
        let (batch, held) = fetched.map_err(|error: ExecError| self.named(error))?;
        match &batch {
            Some(_) => self.held = Some(held),
            None => self.compiled.close(),
        }
        Ok(batch)
    }

    fn within<T>(
        &mut self,
        cx: &ExecContext<'_>,
        work: impl FnOnce(&mut Compiled, &ExecContext<'_>) -> Result<T>,
    ) -> Result<T> {
        let site = self.text.as_ref().map(|text| CallSite::of_statement(cx.calls(), text));
        let inner = cx.with_params(&self.params);
        match &site {
            Some(site) => work(&mut self.compiled, &inner.called(site)),
            None => work(&mut self.compiled, &inner),
        }
    }

    fn named(&self, error: ExecError) -> ExecError {
        match &self.text {
            Some(text) => in_statement(error, text),
            None => error,
        }
    }

    /// The rows of a batch that its transaction has left as they were (F2).
    pub fn unchanged(&self, batch: Batch, changed: Option<&ChangedRecords>) -> Batch {
        let Some(changed) = changed.filter(|changed| !changed.is_empty()) else { return batch };
        let columns = &batch.columns[batch.columns.len() - self.places..];
        let place = |column: &verso_types::Column, row: u32| match &column.data {
            ColumnData::I64(places) => places[row as usize],
            _ => 0,
        };
        let is_changed =
            |row: u32| changed.has_any(&columns.iter().map(|column| place(column, row)).collect::<Vec<_>>());
        let kept: Vec<u32> = (0..batch.rows as u32).filter(|row| !is_changed(*row)).collect();
        if kept.len() == batch.rows { batch } else { batch.gather(&kept) }
    }
}

/// The loops that run over such queries, by number.
#[derive(Default)]
pub(super) struct Loops {
    running: BTreeMap<u64, LoopRows>,
    begun: u64,
}

/// The rows of a loop.
struct LoopRows {
    /// The query; none while it runs, and when all its rows were set aside.
    query: Option<Fetched>,
    /// What its transaction has changed since.
    changed: ChangedRecords,
    /// Rows that were fetched as a transaction ended (F3).
    aside: Spool,
}

impl Loops {
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    pub fn note_changed(
        &mut self,
        table: u32,
        number: u64,
        records: &(impl Iterator<Item = RecordId> + Clone),
    ) -> Result<()> {
        let mut changed = self.running.values_mut().map(|rows| &mut rows.changed);
        changed.try_for_each(|changed| changed.note(table, number, &mut records.clone()))
    }

    pub fn forget_since(&mut self, number: u64) {
        self.running.values_mut().for_each(|rows| rows.changed.forget_since(number));
    }
}

/// A loop over the rows of a query that locks them.
pub(super) struct FetchingLoop(u64);

impl FetchingLoop {
    /// Begins one.
    pub fn begin(portals: &Portals, query: Fetched, changed: ChangedRecords) -> FetchingLoop {
        let mut loops = portals.fetching.borrow_mut();
        loops.begun += 1;
        let number = loops.begun;
        loops.running.insert(number, LoopRows { query: Some(query), changed, aside: Spool::default() });
        FetchingLoop(number)
    }

    /// The next rows, so many at most; `None` at the end.
    ///
    /// # Errors
    /// Those of the query.
    pub fn next(&self, rows: u64, cx: &ExecContext<'_>) -> Result<Option<Batch>> {
        let loops = &cx.services.portals.fetching;
        let query = {
            let mut loops = loops.borrow_mut();
            let Some(own) = loops.running.get_mut(&self.0) else { return Ok(None) };
            let mut batch = Batch::default();
            match own.query.take() {
                Some(query) => query,
                None => return Ok(own.aside.next(&mut batch)?.then_some(batch)),
            }
        };
        fetch(self.0, query, rows, cx)
    }

    /// However the loop has ended.
    pub fn end(self, cx: &ExecContext<'_>) {
        cx.services.portals.fetching.borrow_mut().running.remove(&self.0);
    }
}

/// Fetches rows of a loop's query, which is put back: functions that it calls may begin loops, and change rows.
fn fetch(number: u64, mut query: Fetched, rows: u64, cx: &ExecContext<'_>) -> Result<Option<Batch>> {
    let fetched = query.next(rows, cx)?;
    let mut loops = cx.services.portals.fetching.borrow_mut();
    let Some(own) = loops.running.get_mut(&number) else { return Ok(None) };
    let fetched = fetched.map(|batch| query.unchanged(batch, Some(&own.changed)));
    own.query = fetched.is_some().then_some(query);
    Ok(fetched)
}

/// Before a transaction ends: all rows of the loops that are running are fetched (F3).
///
/// # Errors
/// Those of the queries.
pub(super) fn fetch_all(cx: &ExecContext<'_>) -> Result<()> {
    let loops = &cx.services.portals.fetching;
    let numbers: Vec<u64> = loops.borrow().running.keys().copied().collect();
    for number in numbers {
        loop {
            let query = loops.borrow_mut().running.get_mut(&number).and_then(|own| own.query.take());
            let Some(query) = query else { break };
            let Some(batch) = fetch(number, query, ROWS_AT_ONCE, cx)? else { break };
            if let Some(own) = loops.borrow_mut().running.get_mut(&number) {
                own.aside.push(cx.services.memory, "FOR over a query", batch)?;
            }
        }
    }
    Ok(())
}
