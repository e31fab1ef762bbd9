//! Updates and deletes, a page at a time.
//!
//! A writer that finds another active writer, or an explicit lock, waits in the record's queue with no latch held; a dead
//! writer is backed out first; one that committed behind the snapshot's back is a conflict: the transaction fails (first
//! updater wins), or, at the levels that take a snapshot for each statement, the record is locked as it is now and
//! handed back to be looked at again. What the change itself does, once nothing stands in its way, is in `latched_change`.

use std::ops::Range;
use std::sync::Arc;

use verso_types::Batch;

use super::ahead::{self, Ahead};
use super::apply;
use super::changed::RowCounts;
use super::image::Image;
use super::insert::variable;
use super::link::bytes_of_rows;
use super::obstacle::Obstacle;
use super::owners::Owners;
use super::read::ScanBatch;
use super::slots::Slots;
use super::table::Heap;
use super::{overflow, undo};
use crate::StorageError;
use crate::engine::RoomInLog;
use crate::index::maintain;
use crate::lock::{Place, RecordLockMode, Request, WaitPolicy};
use crate::page::{PageKind, RecordId, TxnId, header};
use crate::txn::ReadView;
use crate::txn::transaction::Txn;

/// What happens to the records.
#[derive(Clone, Copy)]
pub(super) enum Change<'a> {
    /// `columns` get row `rows[i]` of `values`.
    Update {
        columns: &'a [u16],
        values: &'a Batch,
        first_row: usize,
    },
    Delete,
}

impl Change<'_> {
    /// So many rows, as they are counted.
    fn counted(&self, rows: usize) -> RowCounts {
        match self {
            Change::Update { .. } => RowCounts { updated: rows as u64, ..RowCounts::default() },
            Change::Delete => RowCounts { deleted: rows as u64, ..RowCounts::default() },
        }
    }

    /// Columns, values and first row of an update.
    fn update(&self) -> Option<(&[u16], &Batch, usize)> {
        match self {
            Change::Update { columns, values, first_row } => Some((columns, values, *first_row)),
            Change::Delete => None,
        }
    }

    /// Bytes of the variable values of some rows, NULLs perhaps included.
    fn value_bytes(&self, rows: Range<usize>) -> usize {
        let Change::Update { values, .. } = self else { return 0 };
        values.columns.iter().map(|column| bytes_of_rows(column, rows.clone())).sum()
    }
}

/// The order of the records of a batch that came in another one, as an index gives them.
fn unordered(rows: &ScanBatch, selection: Option<&[u32]>) -> Option<Vec<u32>> {
    let record = |at: usize| rows.records[selection.map_or(at, |rows| rows[at] as usize)];
    let count = selection.map_or(rows.records.len(), <[u32]>::len);
    if (1..count).all(|at| record(at - 1) < record(at)) {
        return None;
    }
    let mut order: Vec<u32> = (0..count as u32).collect();
    order.sort_unstable_by_key(|at| record(*at as usize));
    Some(order)
}

fn picked(order: &[u32], selection: Option<&[u32]>) -> Vec<u32> {
    order.iter().map(|at| selection.map_or(*at, |rows| rows[*at as usize])).collect()
}

impl Heap {
    /// Changes `columns` of the selected rows of a scan to `values` (one row per selected row, columns alike in order).
    ///
    /// # Errors
    /// `Conflict`, `Deadlock`, `Cancelled`, `Full`, `MustRollback`; earlier pages may be changed, for the statement to
    /// undo.
    pub fn update(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &ScanBatch,
        selection: Option<&[u32]>,
        columns: &[u16],
        values: &Batch,
    ) -> Result<(), StorageError> {
        if let Some(order) = unordered(rows, selection) {
            let picked = picked(&order, selection);
            return self.update(txn, rows, Some(&picked), columns, &values.gather(&order));
        }
        self.check_update(columns, values)?;
        self.change(txn, rows, selection, None, |first_row| Change::Update { columns, values, first_row })
    }

    /// As [`Heap::update`], but rows that others have changed or deleted since the snapshot are left alone: they are
    /// locked as they are now, and their positions (within the selection, or the batch without one) appended to `stale`.
    /// Only for levels that take a snapshot for each statement.
    ///
    /// # Errors
    /// As [`Heap::update`], without `Conflict`.
    pub fn update_unless_stale(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &ScanBatch,
        selection: Option<&[u32]>,
        columns: &[u16],
        values: &Batch,
        stale: &mut Vec<u32>,
    ) -> Result<(), StorageError> {
        if let Some(order) = unordered(rows, selection) {
            let (picked, mut at) = (picked(&order, selection), Vec::new());
            let values = values.gather(&order);
            let done = self.update_unless_stale(txn, rows, Some(&picked), columns, &values, &mut at);
            stale.extend(at.iter().map(|at| order[*at as usize]));
            return done;
        }
        self.check_update(columns, values)?;
        let change = |first_row| Change::Update { columns, values, first_row };
        self.change(txn, rows, selection, Some(stale), change)
    }

    /// Deletes the selected rows of a scan.
    ///
    /// # Errors
    /// As [`Heap::update`].
    pub fn delete(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &ScanBatch,
        selection: Option<&[u32]>,
    ) -> Result<(), StorageError> {
        if let Some(order) = unordered(rows, selection) {
            return self.delete(txn, rows, Some(&picked(&order, selection)));
        }
        self.change(txn, rows, selection, None, |_| Change::Delete)
    }

    /// As [`Heap::delete`], for [`Heap::update_unless_stale`]'s purpose.
    ///
    /// # Errors
    /// As [`Heap::delete`], without `Conflict`.
    pub fn delete_unless_stale(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &ScanBatch,
        selection: Option<&[u32]>,
        stale: &mut Vec<u32>,
    ) -> Result<(), StorageError> {
        if let Some(order) = unordered(rows, selection) {
            let mut at = Vec::new();
            let done = self.delete_unless_stale(txn, rows, Some(&picked(&order, selection)), &mut at);
            stale.extend(at.iter().map(|at| order[*at as usize]));
            return done;
        }
        self.change(txn, rows, selection, Some(stale), |_| Change::Delete)
    }

    /// That the values of an update have the forms of its columns.
    fn check_update(&self, columns: &[u16], values: &Batch) -> Result<(), StorageError> {
        let own = columns.iter().filter_map(|id| self.columns().iter().find(|column| column.id == *id));
        self.check_forms(own, values)
    }

    fn change<'a>(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &ScanBatch,
        selection: Option<&[u32]>,
        stale: Option<&mut Vec<u32>>,
        change: impl Fn(usize) -> Change<'a>,
    ) -> Result<(), StorageError> {
        let done = self.change_each(txn, rows, selection, stale, change);
        txn.ends_deleting_anyway();
        done
    }

    /// Changes the records page by page, and tries again where the log or the file has no room at first.
    fn change_each<'a>(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &ScanBatch,
        selection: Option<&[u32]>,
        mut stale: Option<&mut Vec<u32>>,
        change: impl Fn(usize) -> Change<'a>,
    ) -> Result<(), StorageError> {
        let id = txn.begin_write()?;
        let (_registration, view) = match rows.newest.as_deref() {
            Some((_, view)) => (None, view.clone().with_own(id)),
            None => txn.view_or_now(),
        };
        let count = selection.map_or(rows.records.len(), <[u32]>::len);
        let record = |index: usize| match selection {
            Some(selection) => rows.records[selection[index] as usize],
            None => rows.records[index],
        };
        let change_all = change(0);
        let together = overflow::together(&txn.shared.core().pool);
        let splits = change_all.value_bytes(0..count) > together;
        let mut slots = Vec::new();
        let mut first = 0;
        // A stale row behind others ends their group.
        let mut end = count;
        let mut room = RoomInLog::new();
        while first < count {
            // A deletion may take of the reserve: it is how space is made.
            if let Change::Update { .. } = change_all {
                self.keep_room(txn, || change_all.value_bytes(first..end))?;
            }
            let page_index = record(first).page_index;
            slots.clear();
            for record in (first..end).map(record) {
                if record.page_index != page_index {
                    break;
                }
                slots.push(record.slot);
            }
            if splits {
                let fits = |end: &usize| change_all.value_bytes(first..first + end) <= together;
                let most = (2..=slots.len()).take_while(fits).last().unwrap_or(1);
                slots.truncate(most);
            }
            let logged = txn.log_bytes();
            let done = self.change_together(txn, &view, page_index, &slots, change(first));
            match (done, &mut stale) {
                (Ok(done), _) => {
                    txn.changed(&self.changed, change_all.counted(done));
                    first += done;
                    room = RoomInLog::new();
                    if txn.deletes_anyway() && !txn.shared.space.has_quarter() {
                        txn.ends_deleting_anyway();
                    }
                }
                (Err(error @ StorageError::Full { .. }), _) => {
                    let again = txn.has_room_again(logged, &mut room, &error)
                        || change_all.update().is_none() && txn.begins_to_delete_anyway(logged, &error);
                    if !again {
                        return Err(error);
                    }
                }
                (Err(StorageError::Conflict { record, .. }), Some(stale)) => {
                    // Those before it go by themselves; it is left alone.
                    let rank = slots.iter().position(|slot| *slot == record.slot).unwrap_or(0);
                    end = first + rank;
                    if rank == 0 {
                        stale.push(first as u32);
                        first += 1;
                    }
                }
                (Err(error), _) => return Err(error),
            }
            if first >= end {
                end = count;
            }
        }
        Ok(())
    }

    /// As [`Heap::change_page`]; a single record keeps long values that it has already.
    fn change_together(
        self: &Arc<Self>,
        txn: &mut Txn,
        view: &ReadView,
        page_index: u32,
        slots: &[u16],
        change: Change<'_>,
    ) -> Result<usize, StorageError> {
        if let (&[slot], Some((columns, values, row))) = (slots, change.update())
            && let Some(narrowed) =
                self.narrowed(&txn.shared.core().pool, page_index, slot, columns, values, row)?
        {
            let change =
                Change::Update { columns: &narrowed.columns, values: &narrowed.values, first_row: 0 };
            match self.change_ahead(txn, view, page_index, slots, change, &narrowed.kept)? {
                0 => {}
                done => return Ok(done),
            }
        }
        self.change_ahead(txn, view, page_index, slots, change, &[])
    }

    /// As [`Heap::change_page`]; long values of a single record are written ahead.
    fn change_ahead(
        self: &Arc<Self>,
        txn: &mut Txn,
        view: &ReadView,
        page_index: u32,
        slots: &[u16],
        change: Change<'_>,
        kept: &[(u16, u64)],
    ) -> Result<usize, StorageError> {
        let (bytes, mut ahead) = match change.update() {
            None => (0, Ahead::default()),
            Some((_, values, row)) => {
                let bytes = change.value_bytes(row..row + slots.len());
                let is_long = || bytes > ahead::with_record(&txn.shared.core().pool);
                match slots.len() == 1 && is_long() {
                    true => (bytes, Ahead::write(self, txn, variable(values, row))?),
                    false => (bytes, Ahead::default()),
                }
            }
        };
        let bytes = bytes - ahead.bytes();
        self.change_page(txn, view, page_index, slots, change, bytes, &mut ahead, kept)
    }

    /// Changes records of one page; how many of them, as those of which the key changes go by themselves. What was written
    /// ahead are values of the only record; none is changed if it has other references than those `kept`.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    fn change_page(
        self: &Arc<Self>,
        txn: &mut Txn,
        view: &ReadView,
        page_index: u32,
        slots: &[u16],
        change: Change<'_>,
        value_bytes: usize,
        ahead: &mut Ahead,
        kept: &[(u16, u64)],
    ) -> Result<usize, StorageError> {
        let shared = Arc::clone(&txn.shared);
        let passes = view.sees_logged();
        // Kept until the change is made, so that nobody overtakes.
        let mut place: Option<Place<'_>> = None;
        loop {
            if txn.cancel.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(StorageError::Cancelled);
            }
            let gate = self.indexes.any().then(|| self.indexes.enter());
            let mut mini = txn.begin_mini(&shared);
            if value_bytes > 0 {
                overflow::reserve(&mut mini, value_bytes)?;
            }
            let seen = shared.locks.seen();
            // Many records of a page are changed by those who go through many pages.
            let home = match slots.len() {
                1 => self.write_home(&mut mini, page_index)?,
                _ => self.write_home_for_scan(&mut mini, page_index)?,
            };
            let home = home.ok_or(StorageError::NoSuchObject(self.object))?;
            let page = mini.page_id(home);
            if header::kind(mini.page(home)) != Some(PageKind::Data)
                || apply::page_index(mini.page(home)) != page_index
            {
                drop(mini);
                drop(gate);
                self.unpack(&shared, page_index, txn.makes_room() || txn.deletes_anyway())?;
                continue;
            }
            if gate.is_none() && self.indexes.any() {
                continue; // the first one has just come (B2)
            }
            let layout = self
                .layout_of(mini.page(home))
                .map_err(|flaw| StorageError::corrupt(page, self.object, flaw))?;
            let layout = &*layout;
            let (run, changes_key) = match change.update() {
                Some((columns, values, first_row)) => {
                    self.key_run(&shared, mini.page(home), layout, slots, columns, values, first_row)?
                }
                None => (slots.len(), true),
            };
            let slots = &slots[..run];
            let strength = if changes_key { RecordLockMode::Update } else { RecordLockMode::NoKeyUpdate };
            let owners = Owners::of(mini.page(home), layout, Slots::from_list(slots));
            let bytes = mini.page(home);
            match self.obstacle(&shared, txn, view, bytes, layout, page_index, slots, &owners, strength) {
                None => {
                    let page = mini.page(home);
                    if !kept.is_empty() && !self.still_has(page, layout, slots[0], kept) {
                        return Ok(0);
                    }
                    let (own, fresh) = owners.split(txn.id, slots);
                    if let Some(changes) = &txn.own_changes
                        && let Some(bytes) = changes.note(
                            &shared.core().pool,
                            (self.object, page_index),
                            (mini.page_id(home), page, layout),
                            &own,
                            &fresh,
                        )?
                    {
                        let changes = Arc::clone(changes);
                        drop(mini);
                        drop(gate);
                        changes.reserve(&shared, bytes)?;
                        continue;
                    }
                    let update = change.update();
                    let columns = update.map_or(&[][..], |(columns, ..)| columns);
                    let image = match self.image(
                        shared.core(),
                        txn,
                        page,
                        layout,
                        page_index,
                        &own,
                        columns,
                        update.is_none(),
                    )? {
                        Image::None => None,
                        Image::Made(image) => Some(image),
                        Image::NoRoom(bytes) => {
                            drop(mini);
                            drop(gate);
                            txn.images.reserve(&shared, bytes)?;
                            continue;
                        }
                    };
                    if changes_key && update.is_some() && !own.is_empty() {
                        self.lock_hidden(&shared, txn, page, layout, page_index, &own, passes)?;
                    }
                    let keys =
                        maintain::before_change(&shared, txn, self, page, layout, page_index, slots, update)?;
                    let purge = maintain::concerned(self, columns);
                    let parts = (&*own, &*fresh);
                    let done = self.change_latched(
                        &shared,
                        txn,
                        mini,
                        home,
                        layout,
                        page_index,
                        slots,
                        parts,
                        owners,
                        image,
                        change,
                        (purge, changes_key),
                        ahead,
                    );
                    drop(place);
                    maintain::after_change(&shared, txn, self, keys, done)?;
                    if let Some(reader) = &txn.reader {
                        reader.wrote(self.object, page_index, Slots::from_list(slots))?;
                    }
                    return Ok(run);
                }
                Some(Obstacle::Dead(writer)) => {
                    drop(mini);
                    drop(gate);
                    undo::back_out_page(&shared, self, page_index, writer)?;
                }
                Some(Obstacle::Occupied { slot, writer }) => {
                    drop(mini);
                    drop(gate);
                    drop(place.take());
                    let record = RecordId { page_index, slot };
                    let request = Request { passes, ..txn.request(WaitPolicy::Block) };
                    place = shared.locks.wait_record(
                        &txn.owner,
                        self,
                        record,
                        strength,
                        (writer, seen),
                        request,
                    )?;
                }
                Some(Obstacle::Conflict { slot, by, live }) => {
                    let record = RecordId { page_index, slot };
                    let conflict = StorageError::Conflict { record, by, deleted: !live };
                    if !live || !txn.isolation().by_statement() {
                        return Err(conflict);
                    }
                    // It stays as it is until the statement has looked at it again.
                    let (owner, slots) = (&txn.owner, [slot]);
                    let denied =
                        shared.locks.lock_slots(owner, self, page_index, &slots, strength, passes, |_| false);
                    drop(mini);
                    drop(gate);
                    drop(place.take());
                    if denied.is_none() {
                        return Err(conflict);
                    }
                    let request = Request { passes, ..txn.request(WaitPolicy::Block) };
                    let none = (TxnId::NONE, seen);
                    place = shared.locks.wait_record(&txn.owner, self, record, strength, none, request)?;
                }
            }
        }
    }
}
