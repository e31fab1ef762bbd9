//! Updates and deletes, a page at a time.
//!
//! V1. A change writes in place and links one immutable entry with the old values; bulk changes link one entry for
//!     many records.
//! V3. A later change by the same transaction to columns its own entries already hold adds nothing; for further columns
//!     it links a continuation whose prior writer is the transaction itself.
//! A writer that finds another active writer waits for its end with no latch held; a dead one is backed out first; one
//! that committed behind the snapshot's back is a conflict (first updater wins).

use std::sync::Arc;

use smallvec::SmallVec;
use verso_types::Batch;

use super::apply::{self, CLEAR_LIVE, EACH, UNIFORM};
use super::layout::{MAX_WRITER, PageLayout};
use super::read::ScanBatch;
use super::slice::{encode_column, encode_from_page};
use super::slots::Slots;
use super::table::Heap;
use super::value_slot::ValueSlot;
use super::{overflow, undo};
use crate::StorageError;
use crate::index::maintain;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::u64_at;
use crate::page::{Flaw, PageKind, RecordId, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::frame::ImageRun;
use crate::txn::transaction::Txn;
use crate::txn::{ReadView, TxnState};
use crate::version::entry::{Entry, EntryKind, NewEntry, VersionPointer};
use crate::version::page as version_page;
use crate::wal::RecordKind;

/// What happens to the records.
#[derive(Clone, Copy)]
enum Change<'a> {
    /// `columns` get row `rows[i]` of `values`.
    Update {
        columns: &'a [u16],
        values: &'a Batch,
        first_row: usize,
    },
    Delete,
}

impl Change<'_> {
    /// Columns, values and first row of an update.
    fn update(&self) -> Option<(&[u16], &Batch, usize)> {
        match self {
            Change::Update { columns, values, first_row } => Some((columns, values, *first_row)),
            Change::Delete => None,
        }
    }

    /// Bytes of the variable values of one row.
    fn value_bytes(&self, row: usize) -> usize {
        let Change::Update { values, .. } = self else { return 0 };
        let variable =
            values.columns.iter().filter(|column| column.data.bytes().is_some() && !column.is_null(row));
        variable.map(|column| column.bytes_at(row).len()).sum()
    }
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
        self.change(txn, rows, selection, |first_row| Change::Update { columns, values, first_row })
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
        self.change(txn, rows, selection, |_| Change::Delete)
    }

    fn change<'a>(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &ScanBatch,
        selection: Option<&[u32]>,
        change: impl Fn(usize) -> Change<'a>,
    ) -> Result<(), StorageError> {
        txn.begin_write()?;
        let (_registration, view) = txn.view_or_now();
        let count = selection.map_or(rows.records.len(), <[u32]>::len);
        let record = |index: usize| match selection {
            Some(selection) => rows.records[selection[index] as usize],
            None => rows.records[index],
        };
        let mut slots = Vec::new();
        let mut first = 0;
        while first < count {
            let page_index = record(first).page_index;
            slots.clear();
            let change = change(first);
            let mut value_bytes = 0;
            for index in first..count {
                let row_bytes = change.value_bytes(index);
                let together = index == first || value_bytes + row_bytes <= overflow::TOGETHER;
                if record(index).page_index != page_index || !together {
                    break;
                }
                value_bytes += row_bytes;
                slots.push(record(index).slot);
            }
            self.change_page(txn, &view, page_index, &slots, change, value_bytes)?;
            first += slots.len();
        }
        Ok(())
    }

    fn change_page(
        self: &Arc<Self>,
        txn: &mut Txn,
        view: &ReadView,
        page_index: u32,
        slots: &[u16],
        change: Change<'_>,
        value_bytes: usize,
    ) -> Result<(), StorageError> {
        let shared = Arc::clone(&txn.shared);
        let page = self.page_at(page_index).ok_or(StorageError::NoSuchObject(self.object))?;
        loop {
            if txn.cancel.load(std::sync::atomic::Ordering::Relaxed) {
                return Err(StorageError::Cancelled);
            }
            let mut mini = Mini::begin(shared.core(), txn.id);
            if value_bytes > 0 {
                overflow::reserve(&mut mini, value_bytes)?;
            }
            let home = mini.write(page)?;
            if header::kind(mini.page(home)) != Some(PageKind::Data) {
                return Err(StorageError::corrupt(page, self.object, "not a data page"));
            }
            let layout = PageLayout::of(mini.page(home))
                .map_err(|flaw| StorageError::corrupt(page, self.object, flaw))?;
            match self.obstacle(&shared, txn.id, view, mini.page(home), &layout, page_index, slots)? {
                None => {
                    let page = mini.page(home);
                    let update = change.update();
                    let keys = maintain::before_change(
                        &shared, txn, self, page, &layout, page_index, slots, update,
                    )?;
                    let purge = keys.is_some();
                    let done = self
                        .change_latched(&shared, txn, mini, home, &layout, page_index, slots, change, purge);
                    return maintain::after_change(&shared, txn, self, page_index, keys, done);
                }
                Some(writer) => {
                    drop(mini);
                    match shared.transactions.state(writer) {
                        TxnState::Dead => undo::back_out_page(&shared, self, page_index, writer)?,
                        _ => shared.transactions.wait_end(txn.id, writer, &txn.cancel, None)?,
                    }
                }
            }
        }
    }

    /// The first writer that stands in the way and may go away: active or dead.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    fn obstacle(
        &self,
        shared: &Shared,
        own: TxnId,
        view: &ReadView,
        page: &[u8],
        layout: &PageLayout,
        page_index: u32,
        slots: &[u16],
    ) -> Result<Option<TxnId>, StorageError> {
        let undisturbed = TxnId(u64_at(page, MAX_WRITER)) < view.all_below();
        let mut last = TxnId::NONE;
        for slot in slots {
            let conflict = |by| StorageError::Conflict { record: RecordId { page_index, slot: *slot }, by };
            let writer = TxnId(u64_at(page, layout.writer + usize::from(*slot) * 8));
            if !undisturbed && writer != last && writer != own && !view.visible_committed(writer) {
                return match shared.transactions.state(writer) {
                    TxnState::Committed => Err(conflict(writer)),
                    TxnState::Active | TxnState::Limbo | TxnState::Dead => Ok(Some(writer)),
                };
            }
            last = writer;
            if !apply::is_live(page, layout, *slot) {
                return Err(conflict(writer));
            }
        }
        Ok(None)
    }

    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    fn change_latched<'e>(
        &'e self,
        shared: &'e Shared,
        txn: &mut Txn,
        mut mini: Mini<'e>,
        home: PageHandle,
        layout: &PageLayout,
        page_index: u32,
        slots: &[u16],
        change: Change<'_>,
        purge: bool,
    ) -> Result<(), StorageError> {
        let id = txn.id;
        let columns: &[u16] = match change {
            Change::Update { columns, .. } => columns,
            Change::Delete => &[],
        };
        let saved = maintain::saved_columns(self, columns);
        let corrupt = |flaw: Flaw| StorageError::corrupt(self.root, self.object, flaw);
        // Who changes a record for the first time, and who goes on with its own.
        let owner = |page: &[u8], slot: u16| -> (u64, u64) {
            let at = usize::from(slot) * 8;
            (u64_at(page, layout.writer + at), u64_at(page, layout.back + at))
        };
        let page = mini.page(home);
        let mut pairs: Vec<(u64, u64)> = slots.iter().map(|slot| owner(page, *slot)).collect();
        let (mut fresh, mut own) = (Vec::new(), Vec::new());
        for (slot, (writer, _)) in slots.iter().zip(&pairs) {
            if TxnId(*writer) == id { own.push(*slot) } else { fresh.push(*slot) }
        }
        let image =
            self.image(txn, page, layout, page_index, &own, columns, matches!(change, Change::Delete))?;

        // V1, V3: which columns need an entry, for which records.
        let mut links: Vec<(Vec<u16>, SmallVec<[u16; 8]>)> = Vec::new();
        if !fresh.is_empty() {
            links.push((fresh.clone(), saved.clone()));
        }
        if matches!(change, Change::Delete) {
            if !own.is_empty() {
                links.push((own.clone(), SmallVec::new()));
            }
        } else if !disabled(Rule::V3) {
            let mut memo: Option<(u64, SmallVec<[u16; 8]>)> = None;
            for slot in &own {
                let (_, back) = owner(page, *slot);
                if memo.as_ref().is_none_or(|(pointer, _)| *pointer != back) {
                    let (missing, whole_run) =
                        self.missing_columns(shared, id, VersionPointer(back), *slot, &saved)?;
                    memo = Some((if whole_run { back } else { u64::MAX }, missing));
                }
                let missing = &memo.as_ref().expect("set above").1;
                if !missing.is_empty() {
                    match links
                        .iter_mut()
                        .skip(usize::from(!fresh.is_empty()))
                        .find(|(_, set)| set == missing)
                    {
                        Some((list, _)) => list.push(*slot),
                        None => links.push((vec![*slot], missing.clone())),
                    }
                }
            }
        } else if !own.is_empty() {
            links.push((own.clone(), saved.clone()));
        }

        // Before the entries: the object's root is latched before the space map, as everywhere.
        let references = match change {
            Change::Update { values, first_row, .. } => {
                self.make_room(shared, &mut mini, home, layout, slots, columns, values, first_row)?
            }
            Change::Delete => Vec::new(),
        };
        if !references.is_empty() {
            mini.use_reserve();
        }
        let mut voids = Vec::new();
        for (group, saved) in &links {
            self.link(
                shared,
                txn,
                &mut mini,
                home,
                layout,
                page_index,
                group,
                saved,
                matches!(change, Change::Delete),
                purge,
                slots,
                &mut pairs,
                &mut voids,
            )?;
        }
        let uniform = pairs.iter().all(|pair| *pair == pairs[0]);
        mini.apply_with(home, RecordKind::DATA_UPDATE, |out| {
            let unchanged = links.is_empty();
            let live = if matches!(change, Change::Delete) { CLEAR_LIVE } else { 0 };
            out.push(
                live | if unchanged {
                    0
                } else if uniform {
                    UNIFORM
                } else {
                    EACH
                },
            );
            Slots::from_list(slots).encode(out);
            let written = if unchanged {
                0
            } else if uniform {
                1
            } else {
                pairs.len()
            };
            for (writer, back) in &pairs[..written] {
                out.extend_from_slice(&writer.to_le_bytes());
                out.extend_from_slice(&back.to_le_bytes());
            }
            out.extend_from_slice(&(columns.len() as u16).to_le_bytes());
            if let Change::Update { values, first_row, .. } = change {
                for (index, (column_id, column)) in columns.iter().zip(&values.columns).enumerate() {
                    let moved =
                        references.get(index).filter(|list: &&Vec<u64>| !list.is_empty()).map(Vec::as_slice);
                    encode_column(out, *column_id, column, first_row..first_row + slots.len(), moved);
                }
            }
        })
        .map_err(|error| match error {
            StorageError::Corrupt { flaw, .. } => corrupt(flaw),
            other => other,
        })?;
        let lsns = mini.commit()?;
        txn.wrote(lsns);
        // F1: bits and images of the innermost frame.
        if let Some(frame) = txn.frame() {
            frame.voids.extend(voids);
            let undo = frame.tables.entry(self.object).or_default().entry(page_index).or_default();
            undo.images.extend(image);
            if !fresh.is_empty() && !disabled(Rule::F1Bits) {
                frame.records += undo.bits.extend(Slots::from_list(&fresh)) as u64;
            }
        }
        Ok(())
    }

    /// The image that F1 asks for before `own` records change, if any.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    fn image(
        &self,
        txn: &mut Txn,
        page: &[u8],
        layout: &PageLayout,
        page_index: u32,
        own: &[u16],
        columns: &[u16],
        live: bool,
    ) -> Result<Option<ImageRun>, StorageError> {
        let Some(frame) = txn.frame() else { return Ok(None) };
        if own.is_empty() || disabled(Rule::F1) {
            return Ok(None);
        }
        let known = frame.tables.get(&self.object).and_then(|pages| pages.get(&page_index));
        let slots: Vec<u16> = match known {
            Some(undo) if !undo.bits.is_empty() => {
                own.iter().copied().filter(|slot| !undo.bits.contains(*slot)).collect()
            }
            _ => own.to_vec(),
        };
        let lacks = |slot: u16, column: u16| known.is_none_or(|undo| !undo.has_image(slot, column));
        let slots: Vec<u16> = match known.filter(|undo| !undo.images.is_empty()) {
            Some(undo) => slots
                .into_iter()
                .filter(|slot| {
                    columns.iter().any(|column| lacks(*slot, *column))
                        || (live && !undo.has_live_image(*slot))
                })
                .collect(),
            None => slots,
        };
        if slots.is_empty() {
            return Ok(None);
        }
        // Columns that every one of these records has an image of already are left out; for others an older image wins.
        let wanted: Vec<u16> =
            columns.iter().copied().filter(|column| slots.iter().any(|slot| lacks(*slot, *column))).collect();
        let mut data = Vec::new();
        for column in &wanted {
            let ordinal = layout.ordinal(*column).ok_or(StorageError::NoSuchObject(self.object))?;
            encode_from_page(&mut data, page, &layout.columns[ordinal], Slots::from_list(&slots))
                .map_err(|flaw| StorageError::corrupt(self.root, self.object, flaw))?;
        }
        let mut kept = super::slots::SlotSet::default();
        kept.extend(Slots::Run { first: 0, count: slots.len() as u16 });
        Ok(Some(ImageRun { slots, columns: wanted.clone(), data: data.into(), live, kept, wanted }))
    }

    /// Columns of `columns` that the transaction's own entries of `slot` behind `pointer` do not hold yet (V3), and
    /// whether the answer holds for every record with this pointer.
    fn missing_columns(
        &self,
        shared: &Shared,
        id: TxnId,
        mut pointer: VersionPointer,
        slot: u16,
        columns: &[u16],
    ) -> Result<(SmallVec<[u16; 8]>, bool), StorageError> {
        let mut missing = SmallVec::from_slice(columns);
        let mut entries = 0;
        if pointer.is_none() || disabled(Rule::V3Continuation) {
            missing.clear(); // inserted by the transaction itself: nobody else ever saw it
        }
        while !pointer.is_none() && !missing.is_empty() {
            let page = shared.core().pool.read(pointer.page())?;
            let corrupt = |flaw: Flaw| StorageError::corrupt(pointer.page(), self.object, flaw);
            let entry = Entry::decode(&page, pointer.offset()).map_err(corrupt)?;
            if entry.writer() != id {
                break;
            }
            for slice in entry.columns().map_err(corrupt)? {
                missing.retain(|column| *column != slice.id);
            }
            entries += 1;
            let rank = entry
                .slots
                .rank(slot)
                .ok_or_else(|| corrupt(Flaw::from("a version entry without its record (V6)")))?;
            let (writer, next) = entry.prior(rank);
            if writer != id {
                break;
            }
            if next.is_none() {
                missing.clear();
            }
            pointer = next;
        }
        Ok((missing, entries <= 1))
    }

    /// Links entries with the old values of `saved` for the records of `group`, as few as fit pages, and notes the new
    /// writer and pointer of each in `pairs`.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    fn link<'e>(
        &'e self,
        shared: &'e Shared,
        txn: &mut Txn,
        mini: &mut Mini<'e>,
        home: PageHandle,
        layout: &PageLayout,
        page_index: u32,
        group: &[u16],
        saved: &[u16],
        delete: bool,
        purge: bool,
        slots: &[u16],
        pairs: &mut [(u64, u64)],
        voids: &mut Vec<VersionPointer>,
    ) -> Result<(), StorageError> {
        let saved = if disabled(Rule::V1) { &[] } else { saved };
        let index_of = |slot: u16| slots.binary_search(&slot).expect("groups are parts of the slots");
        let mut prior: Vec<(u64, u64)> = group.iter().map(|slot| pairs[index_of(*slot)]).collect();
        if prior.iter().all(|pair| *pair == prior[0]) {
            prior.truncate(1);
        }
        let set = Slots::from_list(group);
        let mut columns = Vec::new();
        let keys = purge;
        let mut purge = delete || keys;
        for column in saved {
            let ordinal = layout.ordinal(*column).ok_or(StorageError::NoSuchObject(self.object))?;
            let place = &layout.columns[ordinal];
            encode_from_page(&mut columns, mini.page(home), place, set)
                .map_err(|flaw| StorageError::corrupt(mini.page_id(home), self.object, flaw))?;
            purge |= place.is_variable()
                && group.iter().any(|slot| {
                    let raw = u64_at(mini.page(home), place.data + usize::from(*slot) * 8);
                    matches!(ValueSlot::decode(raw), Some(ValueSlot::Overflow { .. }))
                });
        }
        let entry = NewEntry {
            kind: if delete { EntryKind::Delete } else { EntryKind::Update },
            table: self.object,
            writer: txn.id,
            page_index,
            slots: set,
            prior: &prior,
            columns: &columns,
            column_count: saved.len() as u16,
            purge,
        };
        if entry.encoded_len() > version_page::capacity(shared.page_size) {
            // Too much for one version page: fewer records, or, for a single one, fewer columns in a chain (V3).
            if group.len() > 1 {
                let (left, right) = group.split_at(group.len() / 2);
                self.link(
                    shared, txn, mini, home, layout, page_index, left, saved, delete, keys, slots, pairs,
                    voids,
                )?;
                return self.link(
                    shared, txn, mini, home, layout, page_index, right, saved, delete, keys, slots, pairs,
                    voids,
                );
            }
            if saved.len() > 1 {
                let (left, right) = saved.split_at(saved.len() / 2);
                self.link(
                    shared, txn, mini, home, layout, page_index, group, left, delete, keys, slots, pairs,
                    voids,
                )?;
                return self.link(
                    shared, txn, mini, home, layout, page_index, group, right, delete, keys, slots, pairs,
                    voids,
                );
            }
        }
        let writer = txn.slot.as_mut().expect("begin_write gave one");
        let pointer = shared.versions.append(mini, &shared.space, &shared.transactions, writer, &entry)?;
        mini.use_reserve();
        if purge {
            voids.push(pointer);
        }
        for slot in group {
            pairs[index_of(*slot)] = (txn.id.0, pointer.0);
        }
        Ok(())
    }

    /// Moves new values that the page has no room for to overflow chains; per column the references by row of `values`.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    fn make_room<'e>(
        &'e self,
        shared: &'e Shared,
        mini: &mut Mini<'e>,
        home: PageHandle,
        layout: &PageLayout,
        slots: &[u16],
        columns: &[u16],
        values: &Batch,
        first_row: usize,
    ) -> Result<Vec<Vec<u64>>, StorageError> {
        let set = Slots::from_list(slots);
        let mut room = apply::free_bytes(mini.page(home), layout);
        let mut cells: Vec<(usize, usize, usize)> = Vec::new(); // length, column, row
        let mut need = 0;
        for (index, (id, column)) in columns.iter().zip(&values.columns).enumerate() {
            let Some(ordinal) = layout.ordinal(*id).filter(|_| column.data.bytes().is_some()) else {
                continue;
            };
            room += apply::inline_bytes(mini.page(home), &layout.columns[ordinal], set);
            for row in (first_row..first_row + slots.len()).filter(|row| !column.is_null(*row)) {
                let length = column.bytes_at(row).len();
                need += length;
                cells.push((length, index, row));
            }
        }
        let quarter = shared.page_size / 4;
        if need <= room && cells.iter().all(|(length, ..)| *length <= quarter) {
            return Ok(Vec::new());
        }
        let mut references = vec![Vec::new(); columns.len()];
        cells.sort_unstable_by(|a, b| b.cmp(a));
        for (length, index, row) in cells {
            if need <= room && length <= quarter {
                break;
            }
            let root = mini.write(self.root)?;
            let incarnation = shared.next_incarnation.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            let value = values.columns[index].bytes_at(row);
            let raw = overflow::write(mini, &shared.space, self.object, root, incarnation, value)?;
            if references[index].is_empty() {
                references[index] = vec![0u64; values.rows];
            }
            references[index][row] = raw;
            need -= length;
        }
        Ok(references)
    }
}
