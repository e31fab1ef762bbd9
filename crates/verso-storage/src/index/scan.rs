//! Reading a table through an index.
//!
//! I1. An entry is a hint: a record counts where its visible version has the entry's key, and nowhere else. So a record
//!     comes once, at the key that the snapshot sees, however many entries it has.
//!
//! ```text
//! leaf ─► entries, copied ─► records, page by page ─► keys compared ─► rows in the order of the entries
//! ```
//! Where only columns of the key are wanted, entries that lead to clean pages are rows already ([`clean`](crate::clean)).
//!
//! Latches: a leaf, let go before the heap is visited; a scan finds its next leaf from the root, by the fence where
//! the last one ended.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;
use verso_types::Column;

use super::entries::{RECORD, record_of};
use super::key::{KeyRange, encode_row, successor};
use super::table::Index;
use super::versions::Versions;
use crate::StorageError;
use crate::heap::read::BATCH_BYTES;
use crate::heap::read::{AtHome, Wanted, prepare, read_at_home, read_page};
use crate::heap::{Heap, ScanBatch};
use crate::page::{Flaw, RecordId};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::transaction::{SnapshotReader, Txn};
use crate::txn::{ReadView, Registration};

/// Entries of the first batch; each further one has four times as many, so that who wants one row reads few.
const FIRST_ENTRIES: usize = 16;
/// Entries of a batch at most.
const MOST_ENTRIES: usize = 1024;

/// What to read through an index.
pub struct IndexScanSpec<'a> {
    /// Identities of the columns wanted, in the order of the batch.
    pub columns: &'a [u16],
    /// Which keys.
    pub range: KeyRange,
    /// From the greatest key to the least.
    pub descending: bool,
}

/// Where a scan goes on.
enum Position {
    /// At the first string not less.
    From(Vec<u8>),
    /// At the last string less; `None` = the last of all.
    Below(Option<Vec<u8>>),
    End,
}

/// A scan in the order of an index's keys.
pub struct IndexScan {
    shared: Arc<Shared>,
    heap: Arc<Heap>,
    index: Arc<Index>,
    view: ReadView,
    /// Keeps the versions when the scan runs outside of a statement.
    _registration: Option<Arc<Registration>>,
    cancel: Arc<AtomicBool>,
    /// Columns wanted, then those of the key that are not among them.
    columns: Vec<u16>,
    wanted: usize,
    /// The key says all that is wanted.
    only: bool,
    /// Where the parts of the key stand among `columns`.
    key_columns: SmallVec<[usize; 4]>,
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    position: Position,
    most: usize,
    has_begun: bool,
    /// The entries at hand, one behind the other, and where each ends.
    entries: Vec<u8>,
    ends: Vec<u32>,
    rows: ScanBatch,
}

impl IndexScan {
    /// Reads the next records into `out`, in key order; `false` at the end.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Cancelled`.
    pub fn next(&mut self, out: &mut ScanBatch) -> Result<bool, StorageError> {
        loop {
            if self.cancel.load(Ordering::Relaxed) {
                return Err(StorageError::Cancelled);
            }
            prepare(&self.heap, &self.columns[..self.wanted], out);
            if !std::mem::replace(&mut self.has_begun, true) {
                self.index.uses.scan(self.shared.env.clock.unix_micros_rough());
            }
            self.collect()?;
            self.index.uses.read(self.ends.len(), 0);
            self.resolve(out)?;
            // Long values make batches of few records.
            self.most = match out.batch.variable_bytes() {
                bytes if bytes > BATCH_BYTES => (self.most * BATCH_BYTES / bytes).max(1),
                bytes if bytes > BATCH_BYTES / 4 => self.most,
                _ => (self.most * 4).min(MOST_ENTRIES),
            };
            if !out.records.is_empty() {
                return Ok(true);
            }
            if matches!(self.position, Position::End) {
                return Ok(false);
            }
        }
    }

    /// So many records may be all that is wanted: the first batch is of no more, if nothing was read yet.
    pub fn expect(&mut self, records: u64) {
        if !self.has_begun {
            self.most =
                usize::try_from(records).map_or(FIRST_ENTRIES, |records| records.clamp(1, FIRST_ENTRIES));
        }
    }

    /// Copies the next entries of the range.
    fn collect(&mut self) -> Result<(), StorageError> {
        self.entries.clear();
        self.ends.clear();
        while self.ends.len() < self.most {
            match std::mem::replace(&mut self.position, Position::End) {
                Position::From(from) => {
                    let first = self.ends.len();
                    self.collect_up(&from)?;
                    let next = match &self.position {
                        Position::From(next) => Some(&**next),
                        _ => self.end.as_deref(),
                    };
                    let kept = self.kept_keys(&from, next);
                    self.add_kept(first, kept, false);
                }
                Position::Below(below) => {
                    let first = self.ends.len();
                    self.collect_down(below.as_deref())?;
                    let from = match &self.position {
                        Position::Below(Some(next)) => next,
                        _ => &self.start,
                    };
                    let kept = self.kept_keys(from, below.as_deref());
                    self.add_kept(first, kept, true);
                }
                Position::End => break,
            }
        }
        Ok(())
    }

    fn collect_up(&mut self, from: &[u8]) -> Result<(), StorageError> {
        let leaf = self.index.read_leaf(&self.shared, from)?;
        let node = self.index.node(leaf.id(), &leaf)?;
        // With the leaf latched: who adds an entry later finds the note (S1 of the serializable).
        let note = |end: Option<&[u8]>| {
            if let Some(reader) = self.view.reader() {
                reader.reads_range(self.heap.object, self.index.object(), from, end);
            }
        };
        for at in node.find(from).0..node.count() {
            let first = self.entries.len();
            node.string_into(at, &mut self.entries);
            let entry = &self.entries[first..];
            if self.end.as_deref().is_some_and(|end| entry >= end) {
                self.entries.truncate(first);
                note(self.end.as_deref());
                return Ok(());
            }
            self.ends.push(self.entries.len() as u32);
            if self.ends.len() >= self.most {
                // The next string there can be: no entry is a prefix of another.
                let mut next = self.entries[first..].to_vec();
                next.push(0);
                note(Some(&next));
                self.position = Position::From(next);
                return Ok(());
            }
        }
        match node.high() {
            Some(high) if self.end.as_deref().is_none_or(|end| high < end) => {
                note(Some(high));
                self.position = Position::From(high.to_vec());
            }
            _ => note(self.end.as_deref()),
        }
        Ok(())
    }

    fn collect_down(&mut self, below: Option<&[u8]>) -> Result<(), StorageError> {
        let leaf = self.index.read_down(&self.shared, |node| {
            below.map_or(node.count(), |below| node.find(below).0).saturating_sub(1)
        })?;
        let node = self.index.node(leaf.id(), &leaf)?;
        let note = |start: &[u8]| {
            if let Some(reader) = self.view.reader() {
                reader.reads_range(self.heap.object, self.index.object(), start, below);
            }
        };
        for at in (0..below.map_or(node.count(), |below| node.find(below).0)).rev() {
            let first = self.entries.len();
            node.string_into(at, &mut self.entries);
            if self.entries[first..] < self.start[..] {
                self.entries.truncate(first);
                note(&self.start);
                return Ok(());
            }
            self.ends.push(self.entries.len() as u32);
            if self.ends.len() >= self.most {
                note(&self.entries[first..]);
                self.position = Position::Below(Some(self.entries[first..].to_vec()));
                return Ok(());
            }
        }
        note(node.low().max(&self.start[..]));
        if !node.low().is_empty() && node.low() > &self.start[..] {
            self.position = Position::Below(Some(node.low().to_vec()));
        }
        Ok(())
    }

    /// Entries of a part of the range that was just read which have left the index, and may be seen all the same (T4).
    fn kept_keys(&self, from: &[u8], to: Option<&[u8]>) -> Vec<Vec<u8>> {
        let command = self.view.command();
        command.map_or_else(Vec::new, |command| command.kept_keys(self.index.object(), from, to))
    }

    /// Puts further entries among those from the `first`th on.
    fn add_kept(&mut self, first: usize, kept: Vec<Vec<u8>>, descending: bool) {
        if kept.is_empty() {
            return;
        }
        let mut all = kept;
        all.extend((first..self.ends.len()).map(|at| self.entry(at).to_vec()));
        all.sort_unstable();
        all.dedup();
        if descending {
            all.reverse();
        }
        self.ends.truncate(first);
        self.entries.truncate(self.ends.last().map_or(0, |end| *end as usize));
        for entry in all {
            self.entries.extend_from_slice(&entry);
            self.ends.push(self.entries.len() as u32);
        }
    }

    fn entry(&self, at: usize) -> &[u8] {
        let first = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.entries[first as usize..self.ends[at] as usize]
    }

    /// Which of the entries at hand stand for their records: those of clean pages ([`clean`](crate::clean)), where the
    /// key is all that is wanted.
    fn settled(&self, records: &[RecordId]) -> Vec<bool> {
        if !self.only || self.view.is_dirty() {
            return Vec::new();
        }
        if let Some(reader) = self.view.reader() {
            // Before the look at the pages: who changes one afterwards finds the notes.
            records
                .iter()
                .for_each(|record| reader.reads_record(self.heap.object, record.page_index, record.slot));
        }
        let moves = self.heap.moves();
        let Some(pages) = self.shared.core().clean.look() else { return Vec::new() };
        let mut last = (u32::MAX, false);
        let clean = records.iter().map(|record| {
            if record.page_index != last.0 {
                // An error is met by who reads the record.
                let page = self.heap.page_at(record.page_index).ok().flatten();
                last = (record.page_index, page.is_some_and(|page| pages.contains(&page)));
            }
            last.1
        });
        let clean = clean.collect();
        // A page that was given up meanwhile may be another one by now.
        if self.heap.moves() == moves { clean } else { Vec::new() }
    }

    /// Reads the records of the entries at hand, and keeps those whose visible version has the entry's key (I1).
    fn resolve(&mut self, out: &mut ScanBatch) -> Result<(), StorageError> {
        let records: Vec<RecordId> = (0..self.ends.len()).map(|at| record_of(self.entry(at))).collect();
        let settled = self.settled(&records);
        if !settled.contains(&true) {
            return self.resolve_some(0, records, out);
        }
        let mut first = 0;
        let mut part = ScanBatch::default();
        // Runs of entries in turn, so that the order stays.
        while first < records.len() {
            let count = settled[first..].iter().take_while(|its| **its == settled[first]).count();
            if settled[first] {
                self.take_keys(first..first + count, &records, out)?;
            } else {
                prepare(&self.heap, &self.columns[..self.wanted], &mut part);
                self.resolve_some(first, records[first..first + count].to_vec(), &mut part)?;
                for (from, to) in part.batch.columns.iter().zip(&mut out.batch.columns) {
                    to.append(from);
                }
                out.records.append(&mut part.records);
            }
            first += count;
        }
        out.batch.rows = out.records.len();
        Ok(())
    }

    /// Makes rows of the keys of entries.
    fn take_keys(
        &self,
        entries: Range<usize>,
        records: &[RecordId],
        out: &mut ScanBatch,
    ) -> Result<(), StorageError> {
        let corrupt = |error: verso_types::TypeError| {
            StorageError::corrupt(self.index.root(), self.index.object(), Flaw::new(error.message))
        };
        // Parts behind the last one wanted are not looked at.
        let last = self.key_columns.iter().rposition(|column| *column < self.wanted);
        let parts = &self.index.spec().parts[..last.map_or(0, |last| last + 1)];
        for at in entries.clone() {
            let entry = self.entry(at);
            let mut key = &entry[..entry.len() - RECORD];
            for (part, column) in parts.iter().zip(&self.key_columns).filter(|(part, _)| !part.guard) {
                let done = match out.batch.columns.get_mut(*column) {
                    Some(column) => part.order().decode(&mut key, column),
                    None => part.order().decode(&mut key, &mut Column::new(part.ty.physical())),
                };
                done.map_err(corrupt)?;
            }
        }
        out.records.extend_from_slice(&records[entries]);
        Ok(())
    }

    /// Reads the records of some entries, from the `offset`th on.
    fn resolve_some(
        &mut self,
        offset: usize,
        records: Vec<RecordId>,
        out: &mut ScanBatch,
    ) -> Result<(), StorageError> {
        let mut order = records.clone();
        if !order.is_sorted() {
            order.sort_unstable();
        }
        order.dedup();
        prepare(&self.heap, &self.columns, &mut self.rows);
        let mut slots: Vec<u16> = Vec::new();
        for page in order.chunk_by(|a, b| a.page_index == b.page_index) {
            slots.clear();
            slots.extend(page.iter().map(|record| record.slot));
            let index = page[0].page_index;
            read_page(
                &self.shared,
                &self.heap,
                &self.view,
                index,
                Wanted::Slots(&slots),
                &self.columns,
                &mut self.rows,
            )?;
        }
        let keys: SmallVec<[&Column; 4]> =
            self.key_columns.iter().map(|at| &self.rows.batch.columns[*at]).collect();
        let parts = &self.index.spec().parts;
        let mut selection: Vec<u32> = Vec::with_capacity(records.len());
        let mut key = Vec::new();
        for (at, record) in records.iter().enumerate() {
            let Ok(row) = self.rows.records.binary_search(record) else { continue };
            key.clear();
            encode_row(parts, &keys, row, &mut key).map_err(|error| {
                StorageError::corrupt(self.heap.root, self.heap.object, Flaw::new(error.message))
            })?;
            let entry = self.entry(offset + at);
            if key == entry[..entry.len() - RECORD] || disabled(Rule::I1) {
                selection.push(row as u32);
            }
        }
        drop(keys);
        let rows = self.rows.records.len();
        let all = selection.len() == rows && selection.iter().zip(0..).all(|(row, at)| *row == at);
        if all {
            let wanted = self.rows.batch.columns.iter_mut().take(self.wanted);
            wanted.zip(&mut out.batch.columns).for_each(|(from, to)| std::mem::swap(from, to));
            std::mem::swap(&mut self.rows.records, &mut out.records);
        } else {
            for (from, to) in self.rows.batch.columns.iter().zip(&mut out.batch.columns) {
                from.gather_into(&selection, to);
            }
            out.records.extend(selection.iter().map(|row| self.rows.records[*row as usize]));
        }
        self.shared.read.fetch(selection.len());
        self.index.uses.read(0, selection.len());
        out.batch.rows = out.records.len();
        Ok(())
    }
}

thread_local! {
    static KEY: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

impl Heap {
    /// Reads records in the order of an index's keys, as the transaction's current statement sees them.
    pub fn index_scan(self: &Arc<Self>, txn: &Txn, index: &Arc<Index>, spec: IndexScanSpec<'_>) -> IndexScan {
        self.index_scan_by(txn.snapshot_reader(), index, spec)
    }

    /// As [`Heap::index_scan`], as a statement sees the records that runs on another thread.
    pub fn index_scan_by(
        self: &Arc<Self>,
        reader: SnapshotReader,
        index: &Arc<Index>,
        spec: IndexScanSpec<'_>,
    ) -> IndexScan {
        let mut columns = spec.columns.to_vec();
        let key_columns = index.spec().parts.iter().map(|part| {
            columns.iter().position(|column| *column == part.column).unwrap_or_else(|| {
                columns.push(part.column);
                columns.len() - 1
            })
        });
        let key_columns: SmallVec<[usize; 4]> = key_columns.collect();
        let only = index.answers(spec.columns);
        let (start, end) = (spec.range.start(), spec.range.end());
        let position = match (spec.descending, &end) {
            _ if end.as_ref().is_some_and(|end| *end <= start) => Position::End,
            (false, _) => Position::From(start.clone()),
            (true, end) => Position::Below(end.clone()),
        };
        IndexScan {
            shared: reader.shared,
            heap: Arc::clone(self),
            index: Arc::clone(index),
            view: reader.view,
            _registration: reader.registration,
            cancel: reader.cancel,
            wanted: spec.columns.len(),
            only,
            columns,
            key_columns,
            start,
            end,
            position,
            most: FIRST_ENTRIES,
            has_begun: false,
            entries: Vec::new(),
            ends: Vec::new(),
            rows: ScanBatch::default(),
        }
    }

    /// Reads the record with this key of a unique index into `out`; whether there is one visible.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn get(
        &self,
        txn: &Txn,
        index: &Index,
        key: &[u8],
        columns: &[u16],
        out: &mut ScanBatch,
    ) -> Result<bool, StorageError> {
        let (_registration, view) = txn.view_or_now();
        self.get_in((&txn.shared, &view), index, key, columns, out)
    }

    /// As [`Heap::get`], as a statement sees the record that runs on another thread.
    ///
    /// # Errors
    /// As [`Heap::get`].
    pub fn get_by(
        &self,
        reader: &SnapshotReader,
        index: &Index,
        key: &[u8],
        columns: &[u16],
        out: &mut ScanBatch,
    ) -> Result<bool, StorageError> {
        self.get_in((&reader.shared, &reader.view), index, key, columns, out)
    }

    fn get_in(
        &self,
        (shared, view): (&Shared, &ReadView),
        index: &Index,
        key: &[u8],
        columns: &[u16],
        out: &mut ScanBatch,
    ) -> Result<bool, StorageError> {
        prepare(self, columns, out);
        index.uses.scan(shared.env.clock.unix_micros_rough());
        let mut records: SmallVec<[RecordId; 4]> = SmallVec::new();
        {
            let leaf = index.read_leaf(shared, key)?;
            let node = index.node(leaf.id(), &leaf)?;
            // The rest of the key's entries, on further leaves, is read afterwards.
            if let Some(reader) = view.reader() {
                reader.reads_range(self.object, index.object(), key, successor(key).as_deref());
            }
            let suffix = node.truncated(key);
            let mut at = node.find(key).0;
            while at < node.count() && node.suffix(at).starts_with(suffix) {
                let entry = node.suffix(at);
                let whole = || record_of(&node.string(at));
                records.push(if entry.len() >= RECORD { record_of(entry) } else { whole() });
                at += 1;
            }
            let goes_on = at == node.count() && node.high().is_some_and(|high| high.starts_with(key));
            drop(leaf);
            if goes_on {
                records = SmallVec::from_vec(index.records_of(shared, key)?);
            }
            if let Some(command) = view.command() {
                // One that is among them twice is read once: the key is unique.
                let kept = command.kept_keys(index.object(), key, successor(key).as_deref());
                records.extend(kept.iter().map(|entry| record_of(entry)));
            }
        }
        let entries = records.len();
        for record in records {
            if let Some(reader) = view.reader() {
                reader.reads_record(self.object, record.page_index, record.slot);
            }
            let accept = |page: &[u8], layout: &_| -> Result<bool, StorageError> {
                KEY.with_borrow_mut(|home| {
                    home.clear();
                    let (index_of, slot) = (record.page_index, record.slot);
                    Versions::home(shared, self, index, page, layout, index_of, slot).key(home)?;
                    Ok(home[..] == *key || disabled(Rule::I1))
                })
            };
            match read_at_home(shared, self, view, record, accept, || index.columns(), columns, out)? {
                AtHome::Read => {
                    index.uses.read(entries, 1);
                    return Ok(true);
                }
                AtHome::Nothing => {}
                AtHome::Older => {
                    if self.get_older(shared, view, index, key, record, columns, out)? {
                        index.uses.read(entries, 1);
                        return Ok(true);
                    }
                }
            }
        }
        index.uses.read(entries, 0);
        Ok(false)
    }

    /// As [`Heap::get`] for a record of which an older version may be the one to be seen.
    #[cold]
    #[allow(clippy::too_many_arguments, reason = "one place calls it")]
    fn get_older(
        &self,
        shared: &Shared,
        view: &ReadView,
        index: &Index,
        key: &[u8],
        record: RecordId,
        columns: &[u16],
        out: &mut ScanBatch,
    ) -> Result<bool, StorageError> {
        let parts = &index.spec().parts;
        let mut all = columns.to_vec();
        all.extend(parts.iter().map(|part| part.column));
        let mut rows = ScanBatch::default();
        prepare(self, &all, &mut rows);
        read_page(shared, self, view, record.page_index, Wanted::Slots(&[record.slot]), &all, &mut rows)?;
        if rows.records.is_empty() {
            return Ok(false);
        }
        let keys: SmallVec<[&Column; 4]> = rows.batch.columns[columns.len()..].iter().collect();
        let mut its = Vec::new();
        encode_row(parts, &keys, 0, &mut its)
            .map_err(|error| StorageError::corrupt(self.root, self.object, Flaw::new(error.message)))?;
        if its != key && !disabled(Rule::I1) {
            return Ok(false);
        }
        for (from, to) in rows.batch.columns.iter().zip(&mut out.batch.columns) {
            to.append(from);
        }
        out.records.push(record);
        out.batch.rows = 1;
        shared.read.fetch(1);
        Ok(true)
    }
}
