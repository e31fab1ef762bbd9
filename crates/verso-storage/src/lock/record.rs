//! Locking records: SELECT … FOR UPDATE and its kin, and the foreign keys.
//!
//! R1. The lock of an uncontended writer is the home record's writer itself: nothing is noted. Explicit locks stand in
//!     the common table, as bitmaps by page and owner, and are looked at and taken with the page latched, so that
//!     writer and locker cannot pass each other. A table that has none says so by a counter.
//! R2. A writer in a record's home that has not ended holds it as `NoKeyUpdate`, or as `Update` once it deleted the
//!     record or gave a column of a unique key another value; which, its own version entries say. Where they cannot,
//!     because the entry with the key's columns was there before, the writer takes an explicit lock (`heap/obstacle.rs`).
//! R3. Who waits for a record keeps a place in its queue until it has it, so nobody overtakes.

use std::sync::Arc;

use super::manager::{Place, Request};
use super::mode::{RecordLockMode, WaitPolicy};
use crate::StorageError;
use crate::heap::layout::PageLayout;
use crate::heap::packed::Image;
use crate::heap::read::ScanBatch;
use crate::heap::{Heap, apply, undo};
use crate::page::bytes::u64_at;
use crate::page::{Flaw, PageKind, RecordId, TxnId, header};
use crate::shared::Shared;
use crate::txn::transaction::Txn;
use crate::txn::{ReadView, TxnState};
use crate::version::entry::{Entry, EntryKind, VersionPointer};

/// What became of a request for record locks. Positions count within the selection, or the batch without one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LockedRows {
    /// Locked, and as the snapshot sees them; for `KeyShare` their keys only.
    pub locked: Vec<u32>,
    /// Locked, but others have changed them since the snapshot: to be read anew ([`Heap::fetch_newest`]) or given up.
    pub changed: Vec<u32>,
    /// Deleted by others since the snapshot; not locked. What the transaction has deleted itself is in no list.
    pub gone: Vec<u32>,
    /// Locked by others (SKIP LOCKED).
    pub skipped: Vec<u32>,
}

/// What a page says about a record that is to be locked.
enum Seen {
    Ready,
    Changed,
    Gone,
    /// Deleted by the transaction itself.
    OwnGone,
    /// The writer has not ended and excludes the mode.
    Busy(TxnId),
    Dead(TxnId),
}

impl Heap {
    /// Locks the selected rows of a scan for the transaction, in the order given.
    ///
    /// # Errors
    /// `Deadlock`, `Cancelled`, `LockTimeout`, `LockNotAvailable`; rows locked before stay locked.
    pub fn lock_records(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &ScanBatch,
        selection: Option<&[u32]>,
        mode: RecordLockMode,
        policy: WaitPolicy,
    ) -> Result<LockedRows, StorageError> {
        let (_registration, view) = txn.view_or_now();
        let count = selection.map_or(rows.records.len(), <[u32]>::len);
        let record = |index: usize| match selection {
            Some(selection) => rows.records[selection[index] as usize],
            None => rows.records[index],
        };
        let mut result = LockedRows::default();
        let mut first = 0;
        while first < count {
            let page_index = record(first).page_index;
            let mut last = first + 1;
            while last < count
                && record(last).page_index == page_index
                && record(last).slot > record(last - 1).slot
            {
                last += 1;
            }
            let slots: Vec<(u32, u16)> =
                (first..last).map(|index| (index as u32, record(index).slot)).collect();
            self.lock_page(txn, &view, page_index, &slots, mode, policy, &mut result)?;
            first = last;
        }
        Ok(result)
    }

    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    fn lock_page(
        self: &Arc<Self>,
        txn: &mut Txn,
        view: &ReadView,
        page_index: u32,
        rows: &[(u32, u16)],
        mode: RecordLockMode,
        policy: WaitPolicy,
        result: &mut LockedRows,
    ) -> Result<(), StorageError> {
        let shared = Arc::clone(&txn.shared);
        let mut image = Image::default();
        let mut rest = rows.to_vec();
        let mut place: Option<Place<'_>> = None;
        while !rest.is_empty() {
            let mut ready: Vec<(u32, u16)> = Vec::new();
            let mut changed: Vec<(u32, u16)> = Vec::new();
            let mut obstacle: Option<(u32, u16, TxnId, bool)> = None;
            let seen;
            {
                seen = shared.locks.seen();
                // Latched also where it is packed: who changes a record unpacks its page before (R1).
                let home = self.home(&shared.core().pool, page_index, false)?;
                let home = home.ok_or(StorageError::NoSuchObject(self.object))?;
                let corrupt = |flaw: Flaw| StorageError::corrupt(home.id(), self.object, flaw);
                let latched = home.bytes(self, &mut image, Some(&[]))?;
                if header::kind(latched) != Some(PageKind::Data) {
                    return Err(corrupt(Flaw::from("not a data page")));
                }
                let layout = PageLayout::of(latched).map_err(corrupt)?;
                let writer_of = |slot: u16| TxnId(u64_at(latched, layout.writer + usize::from(slot) * 8));
                let mut gone = Vec::new();
                for (index, slot) in &rest {
                    match self.look(&shared, txn.id, view, latched, &layout, *slot, mode)? {
                        Seen::Ready => ready.push((*index, *slot)),
                        Seen::Changed => changed.push((*index, *slot)),
                        Seen::Gone => gone.push(*index),
                        Seen::OwnGone => {}
                        Seen::Busy(writer) => obstacle = Some((*index, *slot, writer, false)),
                        Seen::Dead(writer) => obstacle = Some((*index, *slot, writer, true)),
                    }
                    if obstacle.is_some() {
                        break;
                    }
                }
                let mut slots: Vec<u16> = ready.iter().chain(&changed).map(|(_, slot)| *slot).collect();
                slots.sort_unstable();
                // All that can be had are taken under this latch; the first that is denied ends them.
                loop {
                    let is_own = |slot| txn.id != TxnId::NONE && writer_of(slot) == txn.id;
                    let denied =
                        shared.locks.lock_slots(&txn.owner, self, page_index, &slots, mode, false, is_own);
                    let Some(denied) = denied else { break };
                    let (index, _) = *ready
                        .iter()
                        .chain(&changed)
                        .find(|(_, slot)| *slot == denied)
                        .expect("one of the slots asked for");
                    let writer = if is_own(denied) { txn.id } else { TxnId::NONE };
                    obstacle = Some((index, denied, writer, false));
                    for list in [&mut ready, &mut changed] {
                        list.retain(|(other, _)| *other < index);
                    }
                    gone.retain(|other| *other < index);
                    slots = ready.iter().chain(&changed).map(|(_, slot)| *slot).collect();
                    slots.sort_unstable();
                }
                result.gone.extend(gone);
            }
            result.locked.extend(ready.iter().map(|(index, _)| *index));
            result.changed.extend(changed.iter().map(|(index, _)| *index));
            drop(place.take());
            let Some((index, slot, writer, dead)) = obstacle else { break };
            rest.retain(|(other, _)| *other >= index);
            if dead {
                undo::back_out_page(&shared, self, page_index, writer)?;
                continue;
            }
            let record = RecordId { page_index, slot };
            let request = txn.request(policy);
            place = shared.locks.wait_record(&txn.owner, self, record, mode, (writer, seen), request)?;
            if place.is_none() {
                result.skipped.push(index);
                rest.retain(|(other, _)| *other > index);
            }
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments, reason = "all of them describe one record")]
    fn look(
        &self,
        shared: &Shared,
        own: TxnId,
        view: &ReadView,
        page: &[u8],
        layout: &PageLayout,
        slot: u16,
        mode: RecordLockMode,
    ) -> Result<Seen, StorageError> {
        let writer = TxnId(u64_at(page, layout.writer + usize::from(slot) * 8));
        let live = writer != TxnId::NONE && apply::is_live(page, layout, slot);
        if writer != TxnId::NONE && writer == own && !live {
            return Ok(Seen::OwnGone);
        }
        if writer == TxnId::NONE || writer == own || view.visible_committed(writer) {
            return Ok(if live { Seen::Ready } else { Seen::Gone });
        }
        Ok(match shared.transactions.state(writer) {
            TxnState::Dead => Seen::Dead(writer),
            // Its key is what the snapshot sees, and stays so: the rest does not matter to who locks only that.
            TxnState::Committed
                if live
                    && mode == RecordLockMode::KeyShare
                    && !self.has_other_key(shared, view, page, layout, slot)? =>
            {
                Seen::Ready
            }
            TxnState::Committed if live => Seen::Changed,
            TxnState::Committed => Seen::Gone,
            TxnState::Active | TxnState::Limbo => {
                let back = VersionPointer(u64_at(page, layout.back + usize::from(slot) * 8));
                if mode.excludes(self.strength(shared, writer, slot, back)?) {
                    Seen::Busy(writer)
                } else {
                    Seen::Ready
                }
            }
        })
    }

    /// How strongly the changes of `writer`, which has not ended, lock a record (R2).
    pub(crate) fn strength(
        &self,
        shared: &Shared,
        writer: TxnId,
        slot: u16,
        mut pointer: VersionPointer,
    ) -> Result<RecordLockMode, StorageError> {
        while !pointer.is_none() {
            let page = shared.core().pool.read(pointer.page())?;
            let corrupt = |flaw: Flaw| StorageError::corrupt(pointer.page(), self.object, flaw);
            let entry = Entry::linked(&page, pointer.offset()).map_err(corrupt)?;
            if entry.writer() != writer {
                return Ok(RecordLockMode::NoKeyUpdate);
            }
            if entry.kind == EntryKind::Delete || entry.changes_key() {
                return Ok(RecordLockMode::Update);
            }
            let rank = entry.slots.rank(slot);
            let rank = rank.ok_or_else(|| corrupt(Flaw::from("a version entry without its record (V6)")))?;
            let (prior, next) = entry.prior(rank);
            if prior != writer {
                return Ok(RecordLockMode::NoKeyUpdate);
            }
            pointer = next;
        }
        // Inserted by it.
        Ok(RecordLockMode::Update)
    }

    /// Reads the newest committed version of records that the transaction has locked, or its own, into `out`; those that
    /// are deleted are left out. The batch can be changed like one of a scan.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn fetch_newest(
        &self,
        txn: &Txn,
        records: &[RecordId],
        columns: &[u16],
        out: &mut ScanBatch,
    ) -> Result<(), StorageError> {
        let (registration, view) = txn.view_of_now();
        crate::heap::read::prepare(self, columns, out);
        for record in records {
            crate::heap::read::read_page(
                &txn.shared,
                self,
                &view,
                record.page_index,
                crate::heap::read::Wanted::Slots(&[record.slot]),
                columns,
                out,
            )?;
        }
        out.batch.rows = out.records.len();
        out.newest = Some(Arc::new((registration, view)));
        Ok(())
    }
}

/// How a transaction asks.
impl Txn {
    pub(crate) fn request(&self, policy: WaitPolicy) -> Request {
        Request { policy, timeout: self.lock_timeout, passes: false }
    }
}
