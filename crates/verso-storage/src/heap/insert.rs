//! Inserting records.
//!
//! Records go to the data page of the transaction's writer slot, as many as fit at a time; an insert has no version
//! entry but is *noted* (V1), so that a dead inserter is found. A note stands for its page: it names the records that went
//! there first, and who looks for the others finds their writer beside them.

use std::sync::Arc;

use smallvec::SmallVec;
use verso_types::Batch;

use super::ahead::{self, Ahead};
use super::append::InsertTarget;
use super::apply;
use super::changed::RowCounts;
use super::layout::{PageLayout, SLOT_HIGH};
use super::slice::encode_column;
use super::slots::Slots;
use super::table::Heap;
use super::{moved, overflow, packed, room};
use crate::StorageError;
use crate::buffer::{BufferPool, ExclusivePage};
use crate::engine::RoomInLog;
use crate::index::maintain;
use crate::mini::{Mini, PageHandle};
use crate::page::bytes::{u16_at, u64_at};
use crate::page::{PageId, PageKind, RecordId, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::transaction::Txn;
use crate::version::entry::{EntryKind, NewEntry};
use crate::version::store::Placement;
use crate::wal::RecordKind;

impl Heap {
    /// Inserts every row of `rows` (all columns, in [`Heap::columns`] order); their names are appended to `records`.
    ///
    /// # Errors
    /// `Full`, `TooLarge`, `MustRollback`, `ReadOnly`; rows before the failing one may be in, for the statement to undo.
    pub fn insert(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &Batch,
        mut records: Option<&mut Vec<RecordId>>,
    ) -> Result<(), StorageError> {
        self.check_forms(self.columns().iter(), rows)?;
        txn.begin_insert()?;
        self.keep_room(txn, || 0)?;
        txn.changed(&self.changed, RowCounts { inserted: rows.rows as u64, ..RowCounts::default() });
        let mut row = 0;
        let mut room = RoomInLog::new();
        while row < rows.rows {
            let logged = txn.log_bytes();
            let inserted = match self.append_only_row(txn, rows) {
                Ok(Some(record)) => {
                    if let Some(records) = &mut records {
                        records.push(record);
                    }
                    return Ok(());
                }
                Ok(None) => self.insert_portion(txn, rows, row, &mut records),
                Err(error) => Err(error),
            };
            match inserted {
                Ok(count) => {
                    row += count;
                    room = RoomInLog::new();
                }
                Err(error) if txn.has_room_again(logged, &mut room, &error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Inserts the only row of `rows` by the short way, if there is no other and it can go that way.
    #[inline]
    fn append_only_row(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &Batch,
    ) -> Result<Option<RecordId>, StorageError> {
        if rows.rows == 1 { self.append_row(txn, rows) } else { Ok(None) }
    }

    /// Inserts rows from `row` on into one page; how many.
    fn insert_portion(
        self: &Arc<Self>,
        txn: &mut Txn,
        rows: &Batch,
        row: usize,
        records: &mut Option<&mut Vec<RecordId>>,
    ) -> Result<usize, StorageError> {
        let shared = Arc::clone(&txn.shared);
        let portion = portion(rows, row, &shared.core().pool);
        self.keep_room(txn, || moved_bytes(rows, row..row + portion.0, shared.page_size))?;
        let mut ahead = match portion {
            (1, bytes) if bytes > ahead::with_record(&shared.core().pool) => {
                Ahead::write(self, txn, variable(rows, row))?
            }
            _ => Ahead::default(),
        };
        let mut mini = txn.begin_mini(&shared);
        let (page_index, slots) = self.insert_some(&shared, txn, &mut mini, rows, row, portion, &ahead)?;
        let lsns = mini.commit()?;
        ahead.taken_over();
        shared.core().pool.prepare_ahead();
        txn.wrote(lsns);
        if let Some(records) = records {
            records.extend(slots.iter().map(|slot| RecordId { page_index, slot: *slot }));
        }
        if let Some(reader) = &txn.reader {
            reader.wrote(self.object, page_index, Slots::from_list(&slots))?;
        }
        if self.indexes.any() {
            let taken = row..row + slots.len();
            maintain::inserted(&shared, txn, self, rows, taken, page_index, &slots)?;
        }
        Ok(slots.len())
    }

    /// Inserts rows from `first` on into one page, as many as the portion says at most; its directory index and their
    /// slots. Values that were written ahead are those of the only row.
    #[allow(clippy::too_many_arguments, reason = "all of them describe the rows")]
    fn insert_some<'e>(
        self: &'e Arc<Self>,
        shared: &'e Shared,
        txn: &mut Txn,
        mini: &mut Mini<'e>,
        rows: &Batch,
        first: usize,
        (most, value_bytes): (usize, usize),
        ahead: &Ahead,
    ) -> Result<(u32, Vec<u16>), StorageError> {
        let id = txn.id;
        let page_size = shared.page_size;
        let quarter = page_size / 4;
        let inline = |row: usize| -> usize {
            let lengths =
                rows.columns.iter().filter(|column| column.data.bytes().is_some() && !column.is_null(row));
            lengths.map(|column| column.bytes_at(row).len()).filter(|length| *length <= quarter).sum()
        };
        // A row whose values together exceed half a page has its long values moved out, and so many others that the rest fits.
        let crowded = |row: usize| inline(row) > page_size / 2;
        if value_bytes > 0 {
            overflow::reserve(mini, value_bytes - ahead.bytes())?;
        }
        let (page_index, home) =
            self.target(shared, txn, mini, rows, first, inline(first).min(page_size / 2))?;
        let layout = PageLayout::of(mini.page(home))
            .map_err(|flaw| StorageError::corrupt(mini.page_id(home), self.object, flaw))?;
        let mut room = apply::free_bytes(mini.page(home), &layout);
        // A new page has room for values of the length seen so far; longer ones go elsewhere, all of them.
        let tight = !crowded(first) && inline(first) > room;
        let alone = crowded(first) || tight;
        let mut slots = Vec::new();
        let high = usize::from(u16_at(mini.page(home), SLOT_HIGH));
        {
            let page = mini.page(home);
            let unused = (0..high)
                .filter(|slot| u64_at(page, layout.writer + slot * 8) == 0)
                .chain(high..layout.capacity);
            for (row, slot) in (first..).zip(unused) {
                if row >= first + most || (row > first && (alone || crowded(row))) {
                    break;
                }
                let need = if alone { 0 } else { inline(row) };
                if need > room {
                    break;
                }
                room -= need;
                slots.push(slot as u16);
            }
        }
        let count = slots.len();
        assert!(count > 0, "the target page has room for a record");
        let taken = first..first + count;
        // What stays has to fit before the first value is moved: a page cannot be left half changed.
        let moved = if crowded(first) {
            outgrown(rows, first, quarter.min(64), room)
        } else if tight {
            // Where a page is one record's, what fits it may stay there.
            outgrown(rows, first, quarter, if layout.capacity == 1 { room } else { 0 })
        } else {
            longer_than(rows, taken.clone(), quarter)
        };
        // What the page itself would refuse only behind the change of others; the next records go elsewhere.
        let need = taken.clone().map(inline).sum();
        let columns = self.columns().iter().map(|column| column.id);
        let seen = apply::look(mini.page(home), &layout, Slots::from_list(&slots), columns, need);
        if let Err(flaw) = seen {
            let slot = txn.slot.as_mut().expect("begin_write gave one");
            slot.target = None;
            slot.insert_pages.remove(&self.object);
            self.unshare_page(page_index);
            return Err(StorageError::corrupt(mini.page_id(home), self.object, flaw));
        }
        let references = self.move_out(shared, mini, rows, &moved, ahead)?;
        self.note(shared, txn, mini, page_index, &slots)?;
        if let Some(changes) = &txn.own_changes {
            changes.note_inserted(self.object, page_index, Slots::from_list(&slots));
        }
        let appended = match slots.as_slice() {
            [_] if moved.is_empty() && rows.rows == 1 => self.next_places(mini.page(home), need),
            _ => None,
        };
        if let Some(places) = appended.filter(|_| usize::from(slots[0]) == high) {
            // The same row, in the short words of the log.
            mini.apply_as(home, RecordKind::DATA_APPEND, |page, out| places.append(page, out, id, rows))?;
            return Ok(self.inserted_some(txn, page_index, slots, need));
        }
        mini.apply_with(home, RecordKind::DATA_INSERT, |out| {
            out.extend_from_slice(&id.0.to_le_bytes());
            Slots::from_list(&slots).encode(out);
            out.extend_from_slice(&(rows.columns.len() as u16).to_le_bytes());
            for (index, (spec, column)) in self.columns().iter().zip(&rows.columns).enumerate() {
                let moved = references.get(index).filter(|list| !list.is_empty()).map(Vec::as_slice);
                encode_column(out, spec.id, column, taken.clone(), moved);
            }
        })?;
        Ok(self.inserted_some(txn, page_index, slots, need))
    }

    /// Rows are in their page, with so many variable bytes.
    fn inserted_some(
        &self,
        txn: &mut Txn,
        page_index: u32,
        slots: Vec<u16>,
        bytes: usize,
    ) -> (u32, Vec<u16>) {
        self.observe(slots.len(), bytes);
        if let Some(frame) = txn.frame() {
            let undo = frame.page(self.object, page_index);
            frame.records += undo.bits.extend(Slots::from_list(&slots)) as u64;
        }
        (page_index, slots)
    }

    /// A latched page with a free slot and `need` bytes of room: the slot's own, one with room, or a new one.
    fn target<'e>(
        &'e self,
        shared: &'e Shared,
        txn: &mut Txn,
        mini: &mut Mini<'e>,
        rows: &Batch,
        first: usize,
        need: usize,
    ) -> Result<(u32, PageHandle), StorageError> {
        let open: SmallVec<[u32; 4]> = match self.placement() {
            Placement::Own => txn
                .slot
                .as_ref()
                .and_then(|slot| slot.insert_pages.get(&self.object).copied())
                .into_iter()
                .collect(),
            Placement::Shared => self.shared_pages(),
        };
        let mut own = open.iter().copied();
        while let Some(index) = own.next().or_else(|| self.room.take(need, shared.page_size)) {
            if let Some(page) = self.try_write_home(shared, txn, index, rows.rows > 1)? {
                let layout = PageLayout::of(&page)
                    .map_err(|flaw| StorageError::corrupt(page.id(), self.object, flaw))?;
                if room::room(&page, &layout).is_some_and(|room| room >= need) {
                    self.aim(txn, index, page.id());
                    return Ok((index, mini.take(page)));
                }
                // Shorter records fit, perhaps.
                if self.placement() == Placement::Shared && self.unshare_page(index) || !open.contains(&index)
                {
                    self.room.note(index, &page);
                }
            }
        }
        // The first page's capacity follows the rows at hand.
        let sample = first..rows.rows.min(first + 64);
        let bytes = |row: usize| -> usize {
            let variable =
                rows.columns.iter().filter(|column| column.data.bytes().is_some() && !column.is_null(row));
            variable
                .map(|column| column.bytes_at(row).len())
                .filter(|length| *length <= shared.page_size / 4)
                .sum()
        };
        self.observe(sample.len(), sample.map(bytes).sum());
        let (index, handle) = self.append_page(mini, &shared.space)?;
        mini.use_reserve();
        self.aim(txn, index, mini.page_id(handle));
        Ok((index, handle))
    }

    /// The data page at a directory index, latched for a change unless others have it. One that was packed without records
    /// becomes a page of its own again. Visits of a load that brings `many` rows do not count against eviction.
    fn try_write_home<'e>(
        &self,
        shared: &'e Shared,
        txn: &Txn,
        index: u32,
        many: bool,
    ) -> Result<Option<ExclusivePage<'e>>, StorageError> {
        let pool = &shared.core().pool;
        loop {
            let moves = self.directory.moves();
            let Some(id) = self.page_at(index)? else { return Ok(None) };
            let latched = if many { pool.try_write_for_scan(id) } else { pool.try_write(id) };
            if self.directory.moves() != moves {
                continue;
            }
            let Some(page) = latched? else { return Ok(None) };
            match header::kind(&page) {
                Some(PageKind::Data) => return Ok(Some(page)),
                Some(PageKind::Packed) if packed::is_without_records(&page, index) => {}
                _ => return Ok(None),
            }
            drop(page);
            self.unpack(shared, index, txn.makes_room())?;
        }
    }

    /// The next records go to this page too: the transaction's, or everybody's.
    fn aim(&self, txn: &mut Txn, index: u32, page: PageId) {
        let slot = txn.slot.as_mut().expect("begin_write gave one");
        slot.target = Some(InsertTarget::new(self.object, index, page, self.directory.moves()));
        match self.placement() {
            Placement::Own => drop(slot.insert_pages.insert(self.object, index)),
            Placement::Shared => self.share_page(index),
        }
    }

    /// Moves values, each a column and a row, elsewhere; per column the references by row, or nothing.
    fn move_out<'e>(
        &'e self,
        shared: &'e Shared,
        mini: &mut Mini<'e>,
        rows: &Batch,
        moved: &[(usize, usize)],
        ahead: &Ahead,
    ) -> Result<Vec<Vec<u64>>, StorageError> {
        let mut references: Vec<Vec<u64>> = vec![Vec::new(); rows.columns.len()];
        for (column, row) in moved.iter().copied() {
            let value = rows.columns[column].bytes_at(row);
            mini.use_reserve();
            let root = mini.write(self.root)?;
            let raw = match ahead.take_over(mini, root, column, value)? {
                Some(raw) => raw,
                None => moved::put(mini, shared, self, root, value)?,
            };
            if references[column].is_empty() {
                references[column] = vec![0; rows.rows];
            }
            references[column][row] = raw;
        }
        Ok(references)
    }

    /// Notes that the transaction inserts into a page, if its last note was of another one.
    fn note<'e>(
        &'e self,
        shared: &'e Shared,
        txn: &mut Txn,
        mini: &mut Mini<'e>,
        page_index: u32,
        slots: &[u16],
    ) -> Result<(), StorageError> {
        if disabled(Rule::V1Note) {
            return Ok(());
        }
        let id: TxnId = txn.id;
        let writer = txn.slot.as_mut().expect("begin_write gave one");
        let place = Some((self.object, page_index));
        if writer.note == place {
            return Ok(());
        }
        let entry = NewEntry {
            kind: EntryKind::Insert,
            table: self.object,
            writer: id,
            page_index,
            slots: Slots::from_list(slots),
            prior: &[],
            columns: &[],
            column_count: 0,
            purge: false,
            own: false,
            changes_key: false,
        };
        let (space, transactions) = (&shared.space, &shared.transactions);
        shared.versions.append(mini, space, transactions, writer, self.placement(), &entry)?;
        mini.use_reserve();
        writer.note = place;
        Ok(())
    }
}

/// The variable values of a row, each with its column.
pub(super) fn variable(rows: &Batch, row: usize) -> Vec<(usize, &[u8])> {
    let columns = rows.columns.iter().enumerate();
    let variable = columns.filter(|(_, column)| column.data.bytes().is_some() && !column.is_null(row));
    variable.map(|(index, column)| (index, column.bytes_at(row))).collect()
}

/// The values of some rows that are longer than `longest`, each a column and a row.
fn longer_than(rows: &Batch, taken: std::ops::Range<usize>, longest: usize) -> Vec<(usize, usize)> {
    let variable = rows.columns.iter().enumerate().filter(|(_, column)| column.data.bytes().is_some());
    variable
        .flat_map(|(index, column)| taken.clone().map(move |row| (index, column, row)))
        .filter(|(_, column, row)| !column.is_null(*row) && column.bytes_at(*row).len() > longest)
        .map(|(index, _, row)| (index, row))
        .collect()
}

/// Bytes of the values of a portion that may be moved out of their records: any of the first row, which can be crowded or alone in its
/// page, and the long ones of the others.
fn moved_bytes(rows: &Batch, portion: std::ops::Range<usize>, page_size: usize) -> usize {
    let of_first: usize = variable(rows, portion.start).iter().map(|(_, value)| value.len()).sum();
    let others = longer_than(rows, portion.start + 1..portion.end, page_size / 4);
    of_first + others.iter().map(|(column, row)| rows.columns[*column].bytes_at(*row).len()).sum::<usize>()
}

/// The values of a row that are longer than `longest`, and the longest of the others until the rest takes at most `room`
/// bytes; each a column and the row.
fn outgrown(rows: &Batch, row: usize, longest: usize, room: usize) -> Vec<(usize, usize)> {
    let mut values: Vec<(usize, usize)> =
        variable(rows, row).into_iter().map(|(column, value)| (column, value.len())).collect();
    values.sort_unstable_by_key(|(column, length)| (std::cmp::Reverse(*length), *column));
    let mut rest: usize = values.iter().map(|(_, length)| length).sum();
    let mut moved = Vec::new();
    for (column, length) in values {
        if length <= longest && rest <= room {
            break;
        }
        rest -= length;
        moved.push((column, row));
    }
    moved.sort_unstable();
    moved
}

/// How many rows from `first` on are inserted together at most, and the bytes of their variable values.
fn portion(rows: &Batch, first: usize, pool: &BufferPool) -> (usize, usize) {
    let page_size = pool.page_size();
    if rows.columns.iter().all(|column| column.data.bytes().is_none()) {
        return (rows.rows - first, 0);
    }
    let together = overflow::together(pool);
    let (mut count, mut bytes, mut inline) = (0, 0, 0);
    for row in first..rows.rows {
        let variable =
            rows.columns.iter().filter(|column| column.data.bytes().is_some() && !column.is_null(row));
        let (all, small) = variable.map(|column| column.bytes_at(row).len()).fold((0, 0), |sums, length| {
            (sums.0 + length, sums.1 + if length <= page_size / 4 { length } else { 0 })
        });
        // Each record takes sixteen bytes and more besides its values.
        if count > 0 && (bytes + all > together || inline > page_size || count * 16 > page_size) {
            break;
        }
        (count, bytes, inline) = (count + 1, bytes + all, inline + small);
    }
    (count, bytes)
}
