//! What the executors need of storage, within one transaction.
//!
//! | trait | who asks |
//! |---|---|
//! | [`Scan`] | operators that read |
//! | [`Change`] | INSERT, UPDATE, DELETE |
//! | [`Reserve`] | UPDATE of RESERVABLE columns |
//! | [`LockRows`] | SELECT … FOR UPDATE |
//! | [`References`] | foreign keys |
//! | [`Sequences`], [`TransactionState`] | functions |
//! | [`TransactionControl`] | statements within statements, handlers of PL/pgSQL |

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use verso_catalog::{ConstraintDef, IndexDef, SequenceDef, TableDef, TriggerDef};
use verso_storage::heap::{Condition, Draw};
use verso_storage::index::KeyRange;
use verso_storage::{HeldView, RecordId, RecordLockMode, WaitPolicy};
use verso_types::snapshot::Snapshot;
use verso_types::{Batch, Number, Value};

use super::access::Gathering;
use super::found::FoundRecords;
use super::trigger::DeferredEvent;
use crate::context::AdvisoryCall;
use crate::error::Result;
use crate::memory::Memory;
use crate::plan::TableUse;

/// The tables as a transaction sees and changes them: what a whole statement may need. Whoever needs a part of it takes
/// that part.
pub trait Tables:
    Scan + Change + Reserve + LockRows + References + Sequences + TransactionState + TransactionControl
{
}

impl<T> Tables for T where
    T: Scan + Change + Reserve + LockRows + References + Sequences + TransactionState + TransactionControl
{
}

/// Reads rows that the statement sees; `columns` are indexes into `table.columns`.
pub trait Scan {
    /// Locks a table before the first row is read (`plan/ahead.rs`).
    fn lock_for(&self, table: &TableDef, of: TableUse) -> Result<()> {
        let _ = (table, of);
        Ok(())
    }
    /// Rows of a table are read whose places are asked for: a partition is locked as its whole is, for rows to be locked or changed.
    fn lock_as_whole(&self, table: &TableDef) -> Result<()> {
        let _ = table;
        Ok(())
    }
    /// Reads the visible rows of a table.
    fn scan(&self, table: &TableDef, columns: &[usize]) -> Result<Box<dyn TableCursor>>;
    /// Reads the row with a key of a unique index into `out`; whether there is one.
    fn get(
        &self,
        table: &TableDef,
        index: &IndexDef,
        key: &[u8],
        columns: &[usize],
        out: &mut Batch,
    ) -> Result<bool>;
    /// Reads a row by its place into `out`, as the statement sees it; whether it is there.
    fn fetch(&self, table: &TableDef, record: RecordId, columns: &[usize], out: &mut Batch) -> Result<bool>;
    /// Whether ranges of indexes are together so large a part of the table that it is read faster whole.
    fn is_large(&self, table: &TableDef, ranges: &[(&IndexDef, &[KeyRange])]) -> Result<bool>;
    /// What reads rows of a table through some of its indexes on another thread, while the statement lasts.
    fn index_reader(
        &self,
        table: &TableDef,
        indexes: &[&IndexDef],
        columns: &[usize],
    ) -> Result<Box<dyn IndexReader>>;
    /// Reads rows by ranges of an index, in its order or against it.
    fn index_scan(
        &self,
        table: &TableDef,
        index: &IndexDef,
        ranges: Vec<KeyRange>,
        descending: bool,
        columns: &[usize],
    ) -> Result<Box<dyn TableCursor>>;
    /// Reads the rows that indexes find together, in the order of their places, each once: what is looked for, and others.
    fn candidates(
        &self,
        table: &TableDef,
        gathering: &Gathering,
        columns: &[usize],
    ) -> Result<Box<dyn TableCursor>>;
    /// An earlier state of a table, which stays as long as it is held. 72000 where it is gone.
    fn past(&self, table: &TableDef, moment: Moment) -> Result<HeldView>;
    /// What is opened or looked up until [`Scan::leave_past`] is read in that state.
    fn enter_past(&self, past: &HeldView);
    /// Ends [`Scan::enter_past`].
    fn leave_past(&self);
}

/// Which earlier state of a table is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The one that was there at a time, in microseconds since 2000-01-01 00:00 UTC.
    Time(i64),
    /// The one with this number.
    Number(i64),
}

/// Adds, changes and removes rows.
pub trait Change {
    /// Adds rows: every column of the table, in order.
    fn insert(&self, table: &TableDef, rows: &Batch) -> Result<()>;
    /// As [`Scan::scan`], with the right to change what is read.
    fn scan_for_change<'t>(
        &'t self,
        table: &TableDef,
        columns: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>>;
    /// As [`Scan::index_scan`], with the right to change what is read; `collect` reads all before the first is changed (T2).
    fn index_scan_for_change<'t>(
        &'t self,
        table: &TableDef,
        index: &IndexDef,
        ranges: Vec<KeyRange>,
        columns: &[usize],
        collect: bool,
    ) -> Result<Box<dyn ChangeCursor + 't>>;
    /// As [`Scan::candidates`], with the right to change what is read: all are found before the first is changed (T2).
    fn candidates_for_change<'t>(
        &'t self,
        table: &TableDef,
        gathering: &Gathering,
        columns: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>>;
    /// As [`Change::index_scan_for_change`] for the row, one at most, with this whole key of a unique index.
    fn get_for_change<'t>(
        &'t self,
        table: &TableDef,
        index: &IndexDef,
        key: &[u8],
        columns: &[usize],
    ) -> Result<Box<dyn ChangeCursor + 't>>;
    /// Changes rows found elsewhere: their places and values, those of `columns` first.
    fn change_found<'t>(
        &'t self,
        table: &TableDef,
        columns: &[usize],
        found: FoundRecords,
    ) -> Result<Box<dyn ChangeCursor + 't>>;
}

/// What a statement adds to RESERVABLE columns of the row with a key.
#[derive(Clone, Copy, Debug)]
pub struct Reserving<'r> {
    /// The table.
    pub table: &'r TableDef,
    /// Its primary key.
    pub index: &'r IndexDef,
    /// The whole key.
    pub key: &'r [u8],
    /// The columns, as indexes into `table.columns`.
    pub columns: &'r [usize],
    /// What is added to each of them.
    pub amounts: &'r [Number],
}

/// Tests the least and the greatest values that columns may come to have.
pub type TestOfEnds<'t> = dyn FnMut(&[Value], &[Value]) -> Result<()> + 't;

/// Changes that are noted when the statement runs, and made when the transaction commits.
pub trait Reserve {
    /// Notes that something is added to the columns of a row, if there is such a row and its numbers are finite; whether it
    /// was noted. `test` is handed the least and the greatest values that the columns may come to have, whoever of those who
    /// have reserved something commits, and fails where they may not be.
    fn reserve(
        &self,
        reserving: &Reserving<'_>,
        memory: Memory<'_>,
        test: &mut TestOfEnds<'_>,
    ) -> Result<bool> {
        let _ = (reserving, memory, test);
        Ok(false)
    }
}

/// Locks rows without changing them.
pub trait LockRows {
    /// Whether what the running statement has called has changed a record, which the statement's command sees as it was (T4).
    fn has_changed(&self, table: &TableDef, record: RecordId) -> bool {
        let _ = (table, record);
        false
    }
    /// Fails where rows may not be locked: in a read-only transaction.
    fn check_may_lock(&self, mode: RecordLockMode) -> Result<()>;
    /// Locks records for the transaction; yields the positions of those that were locked. The others are locked by
    /// others and to be skipped, or gone.
    fn lock_rows(
        &self,
        table: &TableDef,
        records: &[RecordId],
        mode: RecordLockMode,
        wait: WaitPolicy,
    ) -> Result<Vec<u32>>;
    /// The same where the statement is not run again for a row that others have changed since it was read, as a cursor has yielded
    /// rows of it: beside the rows that were locked the positions of those that have another version by now, which are locked, too.
    fn lock_fetched(
        &self,
        table: &TableDef,
        records: &[RecordId],
        mode: RecordLockMode,
        wait: WaitPolicy,
    ) -> Result<(Vec<u32>, Vec<u32>)> {
        Ok((self.lock_rows(table, records, mode, wait)?, Vec::new()))
    }
}

/// Which rows a key is looked for among.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyOf {
    /// All that are committed by now.
    Now,
    /// Those of them that the transaction's snapshot has, too, where it has one for all its statements: a row that refers to one
    /// that came later is refused, as in PostgreSQL.
    Snapshot,
}

/// What foreign keys ask for: they hold against what is committed by now, whatever the statement's snapshot sees.
pub trait References {
    /// Whether a row with this key of a unique index is there, whoever committed it when; it then stays until the end of
    /// the transaction (KEY SHARE).
    fn hold_key(&self, table: &TableDef, index: &IndexDef, key: &[u8], of: KeyOf) -> Result<bool>;
    /// Whether the transaction's snapshot has a row with this key of a unique index; at levels whose statements have one each it
    /// tells nothing, and that is no.
    fn saw_key(&self, table: &TableDef, index: &IndexDef, key: &[u8]) -> Result<bool>;
    /// The periods of the rows of a key WITHOUT OVERLAPS whose other columns have the key `prefix`, and which overlap a period,
    /// whoever committed them when; these rows then stay until the end of the transaction (KEY SHARE).
    fn hold_periods(
        &self,
        table: &TableDef,
        index: &IndexDef,
        prefix: &[u8],
        period: &Value,
        of: KeyOf,
    ) -> Result<Vec<Value>>;
    /// Whether a row fulfils a condition in the newest state, for a transaction whose snapshot may not show it: `matches`
    /// gives the positions of a batch's rows that do. False at levels whose statements see the newest state anyway.
    fn exists_beyond_snapshot(
        &self,
        table: &TableDef,
        columns: &[usize],
        access: Option<(&IndexDef, Vec<KeyRange>)>,
        matches: &mut dyn FnMut(&Batch) -> Result<Vec<u32>>,
    ) -> Result<bool>;
    /// Whether a constraint is checked at commit in this transaction.
    fn is_deferred(&self, constraint: &ConstraintDef) -> bool;
    /// Notes a key of a foreign key's columns, to be checked at commit ([`check_deferred_key`](super::check_deferred_key)).
    fn defer(
        &self,
        constraint: &Arc<ConstraintDef>,
        key: &[Value],
        referenced: bool,
        memory: Memory<'_>,
    ) -> Result<()>;
    /// Whether a trigger that keeps a constraint fires at commit in this transaction.
    fn is_trigger_deferred(&self, trigger: &TriggerDef) -> bool;
    /// Keeps an event of such a trigger for the commit.
    fn defer_trigger(&self, event: DeferredEvent, memory: Memory<'_>) -> Result<()>;
}

/// Numbers that are handed out once.
pub trait Sequences {
    /// The next value of a sequence.
    fn next_value(&self, sequence: &SequenceDef) -> Result<i64>;
    /// Sets a sequence: the next value is this one, or the one behind it if it `is_called`.
    fn set_value(&self, sequence: &SequenceDef, value: i64, is_called: bool) -> Result<()>;
}

/// What functions may ask of the transaction.
pub trait TransactionState {
    /// Takes or gives back an advisory lock; whether that was possible.
    fn advisory(&self, call: AdvisoryCall) -> Result<bool>;
    /// The name under which other transactions can take over this one's snapshot.
    fn export_snapshot(&self) -> Result<String>;
    /// The transaction's id; one that has none yet gets it if `assign`.
    fn transaction_id(&self, assign: bool) -> Result<Option<u64>>;
    /// Which transactions the running statement sees.
    fn shown_snapshot(&self) -> Result<Snapshot>;
    /// Which transaction has written the version of a row that the running statement sees; tables in memory do not know.
    fn writer_of(&self, _table: &TableDef, _record: RecordId) -> Result<Option<u64>> {
        Ok(None)
    }
}

/// What a statement saw, and the places of its records, which nobody uses again as long as this lives.
pub type HeldStatement = Box<dyn Any + Send>;

/// Frames of statements and savepoints within the transaction.
pub trait TransactionControl {
    /// Opens a statement's frame and takes its snapshot; statements nest.
    fn begin_statement(&self) -> Result<()>;
    /// As [`TransactionControl::begin_statement`] for one that adds a row and reads nothing, and needs no snapshot for it.
    /// False where it has to begin like any other.
    fn begin_row(&self) -> Result<bool>;
    /// The running statement does not see what it changes from now on, nor what functions and triggers do that it calls (T4); false
    /// where that was so already. Tables in memory know nothing of it.
    fn begin_command(&self) -> bool {
        false
    }
    /// The running statement sees all of that again.
    fn end_command(&self) {}
    /// The running statement leaves out what the one around it does.
    fn share_command(&self) {}
    /// Whether the statement has left a unique key double so far; its end looks, too.
    fn check_keys(&self) -> Result<()> {
        Ok(())
    }
    /// Keeps what the statement did.
    fn end_statement(&self) -> Result<()>;
    /// Undoes what the statement did.
    fn abort_statement(&self) -> Result<()>;
    /// Keeps what the statement did, and what it saw, for [`TransactionControl::begin_statement_under`].
    fn hold_statement(&self) -> Result<HeldStatement>;
    /// As [`TransactionControl::begin_statement`], for a statement that sees what an earlier one saw.
    fn begin_statement_under(&self, held: HeldStatement) -> Result<()>;
    /// Runs `work` as the statement around the running one sees the tables.
    fn under_outer_view(&self, work: &mut dyn FnMut() -> Result<()>) -> Result<()>;
    /// Keeps the places of the records that the statement sees from being used again, as long as the result lives.
    fn hold_places(&self) -> Result<Box<dyn Any + Send>>;
    /// Whether savepoints can be set (not under NO SAVEPOINT).
    fn savepoints(&self) -> bool;
    /// Whether a statement that meets a newer version is run again on a new snapshot (READ COMMITTED).
    fn restarts(&self) -> bool;
    /// Whether the transaction is READ ONLY.
    fn is_read_only(&self) -> bool {
        false
    }
    /// Opens a named frame.
    fn savepoint(&self, name: &str) -> Result<()>;
    /// Undoes everything since the frame was opened; it stays.
    fn rollback_to(&self, name: &str) -> Result<()>;
    /// Closes a named frame, keeping what was done in it.
    fn release(&self, name: &str) -> Result<()>;
}

/// Reads rows of one table through some of its indexes, as the statement sees them, on the thread that it was given to.
pub trait IndexReader: Send {
    /// As [`Scan::get`], by the first index.
    fn get(&mut self, key: &[u8], out: &mut Batch) -> Result<bool>;
    /// As [`Scan::index_scan`], by the first index.
    fn scan(&mut self, ranges: Vec<KeyRange>, descending: bool) -> Result<Box<dyn TableCursor>>;
    /// As [`Scan::candidates`].
    fn candidates(&mut self, gathering: &Gathering) -> Result<Box<dyn TableCursor>>;
    /// As [`Scan::scan`].
    fn whole(&mut self) -> Result<Box<dyn TableCursor>>;
    /// As [`Scan::is_large`].
    fn is_large(&self, ranges: &[(&IndexDef, &[KeyRange])]) -> Result<bool>;
}

/// Reads a table.
pub trait TableCursor: Send {
    /// Replaces `out` by the next rows, columns in the order asked for. False at the end.
    fn next(&mut self, out: &mut Batch) -> Result<bool>;
    /// Memory that it takes beside the rows, which grows with what it has found.
    fn held_bytes(&self) -> u64 {
        0
    }
    /// The places of the rows just read, where there are any.
    fn records(&self) -> &[RecordId] {
        &[]
    }
    /// From now on [`TableCursor::next`] reads these of the columns only, and leaves the others empty; all again without any. False,
    /// and nothing has changed, where the others could not be read [later](TableCursor::read_late).
    fn read_first(&mut self, columns: Option<&[usize]>) -> bool {
        let _ = columns;
        false
    }
    /// Reads other columns of some of the rows just read, ascending, into those columns of `out`: of the first ones only, where
    /// values are long. How many.
    fn read_late(&mut self, rows: &[u32], columns: &[usize], out: &mut Batch) -> Result<usize> {
        let _ = (rows, columns, out);
        Ok(0)
    }
    /// From now on rows are left out for which one of these does not hold, too; columns are given by their identities. False, and
    /// nothing has changed, where it cannot look at them by itself.
    fn sift(&mut self, conditions: &[Condition]) -> bool {
        let _ = conditions;
        false
    }
    /// Reads the rows of these pages only, which ascend; of a cursor of a whole table that has read nothing yet.
    fn keep_pages(&mut self, pages: Vec<Range<u32>>) {
        let _ = pages;
    }
    /// So many rows may be all that is wanted: a hint to a cursor that has read nothing yet, which reads no more at first.
    fn expect(&mut self, rows: u64) {
        let _ = rows;
    }
    /// Reads only the rows that are drawn, of a cursor of a whole table that has read nothing yet. False, and nothing has changed,
    /// where it cannot.
    fn draw(&mut self, draw: Draw) -> bool {
        let _ = draw;
        false
    }
    /// How many pages are still to be read, if several threads can share them.
    fn pages_left(&self) -> Option<u64> {
        None
    }
    /// So many cursors that together read the rest of the rows, in any order; only where [`TableCursor::pages_left`] tells
    /// something. This one is at its end then.
    fn split(&mut self, parts: usize) -> Vec<Box<dyn TableCursor>> {
        let _ = parts;
        Vec::new()
    }
}

/// Reads a table and changes the rows just read.
pub trait ChangeCursor {
    /// Reads the next rows. False at the end.
    fn next(&mut self) -> Result<bool>;
    /// The rows just read.
    fn batch(&self) -> &Batch;
    /// Sets columns (ids of storage) of the selected rows, all of them without a selection; `values` has one row per
    /// selected row. At a level that takes a snapshot for each statement, rows that others have changed since it may be
    /// left alone, locked, with their positions (within the selection, or the batch) in `stale`; without `stale`, and at
    /// other levels, they are a conflict.
    fn update(
        &mut self,
        selection: Option<&[u32]>,
        columns: &[u16],
        values: &Batch,
        stale: Option<&mut Vec<u32>>,
    ) -> Result<()>;
    /// Whether the command of the statement does not see one of the selected rows as it is by now: what was called has changed it.
    fn is_changed(&self, selection: Option<&[u32]>) -> bool {
        let _ = selection;
        false
    }
    /// The same of a row just read by a statement that has changed nothing yet, since the command of the statement around it began.
    fn is_changed_around(&self, row: u32) -> bool {
        let _ = row;
        false
    }
    /// Removes the selected rows; `stale` as for an update.
    fn delete(&mut self, selection: Option<&[u32]>, stale: Option<&mut Vec<u32>>) -> Result<()>;
    /// Locks some of the rows just read, which are about to be changed; yields those that are still there. Rows that others have
    /// changed since the snapshot are a conflict.
    fn hold(&mut self, table: &TableDef, rows: &[u32], mode: RecordLockMode) -> Result<Vec<u32>> {
        let _ = (table, mode);
        Ok(rows.to_vec())
    }
    /// Replaces the rows just read by the newest versions of some of them, which are locked; those deleted are left out.
    fn reread(&mut self, rows: &[u32]) -> Result<()>;
    /// Whether a row just read has this key of a unique index in its newest version, too; waits for others who may change that.
    fn is_held(&mut self, index: &IndexDef, key: &[u8], row: u32) -> Result<bool>;
    /// Whether triggers that fire for the statement have changed one of the rows just read.
    fn is_changed_by_triggers(&self, row: u32) -> bool {
        let _ = row;
        false
    }
    /// All columns of one of the rows just read, as it is: for the details of an error, and for who asks what triggers made of it.
    fn whole_row(&mut self, table: &TableDef, row: u32) -> Option<Vec<Value>> {
        let _ = (table, row);
        None
    }
}
