//! Reserving in RESERVABLE columns, and what becomes of it at commit. The rules: [`crate::reservations`].

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_exec::error::{ExecError, Result};
use verso_exec::exec::{Reserve, Reserving, Scan, TestOfEnds};
use verso_exec::memory::Memory;
use verso_storage::heap::{Heap, ScanBatch};
use verso_storage::index::key::{self, KeyPart};
use verso_storage::rules::{Rule, disabled};
use verso_storage::{ObjectId, RecordId, RecordLockMode, StorageError, TableLockMode, WaitPolicy};
use verso_types::{Batch, Number, SqlType, TypeError, Value};

use super::EngineTables;
use crate::reservations::{Noted, Own, Reach};

/// So often a commit reads a record again that others have changed before it takes a lock.
const LOCKED_AFTER: u32 = 4;
/// So often at all.
const TRIES_MAX: u32 = 100;

/// The number of a column of the first row; none where it is NULL or not finite.
fn number(batch: &Batch, at: usize, ty: &SqlType) -> Option<Number> {
    let number = Number::of(&batch.columns[at].value(0, ty))?;
    matches!(number, Number::Finite { .. }).then_some(number)
}

impl Reserve for EngineTables<'_> {
    fn reserve(
        &self,
        reserving: &Reserving<'_>,
        memory: Memory<'_>,
        test: &mut TestOfEnds<'_>,
    ) -> Result<bool> {
        let table = reserving.table;
        self.refuse_read_only("UPDATE")?;
        self.refuse_unchecked(table)?;
        let heap = self.heap_for_change(table)?;
        let index = self.index(&heap, reserving.index)?;
        let parts = &index.spec().parts;
        let records = index.records_current(&self.txn.borrow(), reserving.key)?;
        for record in records {
            if !self.hold_row(&heap, record)? {
                continue;
            }
            match self.note(&heap, reserving, (record, parts), memory, test) {
                Ok(Noticed::OtherRow) => {}
                Ok(Noticed::Noted) => return Ok(true),
                Ok(Noticed::NoNumber) => return Ok(false),
                Err(error) => {
                    // That it was refused tells what the row has: a serializable transaction has read it then.
                    let mut row = Batch::default();
                    self.get(table, reserving.index, reserving.key, reserving.columns, &mut row)?;
                    return Err(error);
                }
            }
        }
        Ok(false)
    }
}

/// What became of a reservation.
enum Noticed {
    /// The record has another key, or is gone.
    OtherRow,
    Noted,
    /// The usual way has to find out what there is.
    NoNumber,
}

impl EngineTables<'_> {
    /// Keeps a row from being deleted (RV3), if the transaction sees it.
    fn hold_row(&self, heap: &Arc<Heap>, record: RecordId) -> Result<bool> {
        let mut txn = self.txn.borrow_mut();
        let mut rows = ScanBatch::default();
        rows.records.push(record);
        let (mode, wait) = (RecordLockMode::KeyShare, WaitPolicy::Block);
        if heap.lock_records(&mut txn, &rows, None, mode, wait)?.locked.is_empty() {
            return Ok(false);
        }
        Ok(txn.isolation().by_statement() || heap.is_in_snapshot(&txn, record)?)
    }

    /// Tests and notes the amounts (RV1).
    fn note(
        &self,
        heap: &Arc<Heap>,
        reserving: &Reserving<'_>,
        (record, parts): (RecordId, &[KeyPart]),
        memory: Memory<'_>,
        test: &mut TestOfEnds<'_>,
    ) -> Result<Noticed> {
        let columns = &reserving.table.columns;
        let own_ids: Vec<u16> = reserving.columns.iter().map(|at| columns[*at].id).collect();
        // The key is read together with the values.
        let keys = parts.len();
        let ids: Vec<u16> = parts.iter().map(|part| part.column).chain(own_ids.iter().copied()).collect();
        let txn_id = self.txn.borrow_mut().assign_id()?;
        let place = (heap.object, record);
        let journal = &self.services.instance.reservations;
        let mut shard = journal.lock(place);
        let notes = shard.notes(self.engine, place);
        let (mut rows, mut prepared) = (ScanBatch::default(), ScanBatch::default());
        let known = |txn| notes.iter().any(|noted| noted.txn == txn);
        let txn = self.txn.borrow();
        let undecided = heap.fetch_undecided(&txn, record, &ids, &mut rows, &mut prepared, &known)?;
        drop(txn);
        if rows.batch.rows == 0 {
            return Ok(Noticed::OtherRow);
        }
        let stored: Vec<&verso_types::Column> = rows.batch.columns[..keys].iter().collect();
        let mut found = Vec::new();
        key::encode_row(parts, &stored, 0, &mut found)?;
        if found != reserving.key {
            return Ok(Noticed::OtherRow);
        }
        let ty = |id: u16| {
            let at = reserving.table.column_with_id(id);
            at.map_or(SqlType::Unknown, |at| columns[at].ty.clone())
        };
        let value = |(column, part): (&&verso_types::Column, &KeyPart)| column.value(0, &ty(part.column));
        let key: Arc<[Value]> = stored.iter().zip(parts).map(value).collect();
        let key_bytes = size_of_val::<[Value]>(&key) + reserving.key.len();
        self.deferred.borrow_mut().reserved.grow(own_ids.len(), key_bytes, memory)?;
        let counts = |noted: &&Noted| noted.txn != txn_id && !rows.sees(noted.txn) && !disabled(Rule::RV1);
        let (mut least, mut most, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for (at, (id, amount)) in own_ids.iter().zip(reserving.amounts).enumerate() {
            let ty = &columns[reserving.columns[at]].ty;
            let Some(value) = number(&rows.batch, keys + at, ty) else { return Ok(Noticed::NoNumber) };
            let (mut low, mut high) = (value.clone(), value.clone());
            let mut count = |reach: &Reach| {
                low = low.plus(&reach.least);
                high = high.plus(&reach.most);
            };
            for noted in notes.iter().filter(|noted| noted.column == *id).filter(counts) {
                count(&noted.reach());
            }
            if undecided.is_some() && prepared.batch.rows > 0 && !disabled(Rule::RV5Prepared) {
                let Some(would_be) = number(&prepared.batch, keys + at, ty) else {
                    return Ok(Noticed::NoNumber);
                };
                count(&Reach::default().with(&would_be.minus(&value)));
            }
            let before = notes.iter().find(|noted| noted.txn == txn_id && noted.column == *id);
            count(&before.map(Noted::reach).unwrap_or_default().with(amount));
            least.push(low.assigned_to(ty)?);
            most.push(high.assigned_to(ty)?);
            own.push(Own {
                place,
                table: reserving.table.oid,
                column: *id,
                amount: amount.clone(),
                key_bytes,
            });
        }
        test(&least, &most)?;
        for own in own {
            shard.note(place, txn_id, reserving.table.oid, &key, &own);
            self.deferred.borrow_mut().reserved.push(journal, txn_id, own);
        }
        Ok(Noticed::Noted)
    }

    /// Before a change of RESERVABLE columns in another way than by reserving: waits for those who have reserved something
    /// of these rows, and keeps others from it (RV3).
    pub(super) fn hold_against_reservations(
        &self,
        heap: &Arc<Heap>,
        rows: &ScanBatch,
        selection: Option<&[u32]>,
        columns: &[u16],
    ) -> Result<()> {
        self.refuse_reserved(heap.object, rows, selection, columns)?;
        if disabled(Rule::RV3) {
            return Ok(());
        }
        let mut txn = self.txn.borrow_mut();
        heap.lock_records(&mut txn, rows, selection, RecordLockMode::Update, WaitPolicy::Block)?;
        Ok(())
    }

    /// Refuses to set columns of rows of which the transaction itself has reserved something.
    fn refuse_reserved(
        &self,
        object: ObjectId,
        rows: &ScanBatch,
        selection: Option<&[u32]>,
        columns: &[u16],
    ) -> Result<()> {
        let deferred = self.deferred.borrow();
        let mine = &deferred.reserved;
        let count = if mine.is_empty() { 0 } else { selection.map_or(rows.records.len(), <[u32]>::len) };
        for at in 0..count {
            let record = rows.records[selection.map_or(at, |rows| rows[at] as usize)];
            if columns.iter().any(|column| mine.has((object, record), *column)) {
                let text =
                    "cannot set a RESERVABLE column of a row of which the transaction has reserved something";
                return Err(TypeError::new("0A000", text)
                    .with_hint("Reserve (column = column + amount), or commit before.")
                    .into());
            }
        }
        Ok(())
    }

    /// Adds what the transaction has reserved to the records: at its commit, and when it is prepared (RV5).
    pub(crate) fn apply_reservations(
        &self,
        table_of: &dyn Fn(verso_catalog::Oid) -> Option<Arc<TableDef>>,
    ) -> Result<()> {
        // SET TRANSACTION READ ONLY may stand behind the statements that have reserved.
        let read_only = self.txn.borrow().is_read_only();
        self.txn.borrow_mut().set_read_only(false);
        let done = self.add_sums(table_of);
        self.txn.borrow_mut().set_read_only(read_only);
        done
    }

    fn add_sums(&self, table_of: &dyn Fn(verso_catalog::Oid) -> Option<Arc<TableDef>>) -> Result<()> {
        let sums = self.deferred.borrow().reserved.sums();
        for ((object, record), (oid, columns)) in sums {
            // A table that the transaction has dropped since has no rows either.
            let Some(table) = table_of(oid) else { continue };
            if table.heap != object {
                let text = format!(
                    "table \"{}\" was made anew by a transaction that has reserved something of its rows",
                    table.name
                );
                return Err(ExecError::raised("55006", text));
            }
            let columns = columns
                .into_iter()
                .filter(|(_, sum)| sum.compare(&Number::zero()).is_ne())
                .collect::<Vec<_>>();
            if !columns.is_empty() {
                self.add(&table, record, &columns)?;
            }
        }
        Ok(())
    }

    /// Adds to columns of a record, as it is now, whoever has changed it since the transaction's snapshot.
    fn add(&self, table: &TableDef, record: RecordId, sums: &[(u16, Number)]) -> Result<()> {
        self.lock(table, TableLockMode::RowExclusive)?;
        let heap = self.heap_for_locks(table)?;
        let ids: Vec<u16> = sums.iter().map(|(id, _)| *id).collect();
        let column = |id: &u16| Some(table.columns[table.column_with_id(*id)?].ty.clone());
        let types: Option<Vec<SqlType>> = ids.iter().map(column).collect();
        let types =
            types.ok_or_else(|| ExecError::raised("XX000", "a reservation of a column that is not there"))?;
        let mut txn = self.txn.borrow_mut();
        let mut rows = ScanBatch::default();
        let mut tries = 0;
        loop {
            rows.records = vec![record];
            if tries >= LOCKED_AFTER {
                // Somebody else was faster each time. Locked, it stays as it is read.
                let (mode, wait) = (RecordLockMode::NoKeyUpdate, WaitPolicy::Block);
                heap.lock_records(&mut txn, &rows, None, mode, wait)?;
            }
            heap.fetch_newest(&txn, &[record], &ids, &mut rows)?;
            if rows.batch.rows == 0 {
                // The transaction has deleted it itself: nobody else could (RV3).
                return Ok(());
            }
            let mut values = Batch::of_types(&types);
            for (at, ((_, sum), ty)) in sums.iter().zip(&types).enumerate() {
                let value = Number::of(&rows.batch.columns[at].value(0, ty)).unwrap_or_else(Number::zero);
                values.columns[at].push_value(&value.plus(sum).assigned_to(ty)?, ty)?;
            }
            values.rows = 1;
            match heap.update(&mut txn, &rows, None, &ids, &values) {
                // Committed since it was read, by whom it has waited for.
                Err(StorageError::Conflict { .. }) if tries < TRIES_MAX => tries += 1,
                done => return Ok(done?),
            }
        }
    }
}
