//! Candidates: the records that an inverted index, or several indexes together, find, and reading them.
//!
//! ```text
//! search ─► entries of its keys, each key's in the order of the records ─► united, intersected ─► candidates ─► rows, page by page
//! ```
//!
//! S1. Candidates are a superset of what the search describes, in every version that a snapshot may see: each of those has its
//!     entries (I1). Each record is read once, in its visible version; whoever asked tests the row itself.
//!     Likewise a range of a B+tree: an entry stands there for every version that has a key within it. Versions with other
//!     keys are found, too, and candidates of several indexes are united or intersected before any record is read.
//! S2. Of keys that a record must all have the rarest is read whole, and the others are only asked for the records that are left:
//!     a key that nearly every record has costs no more than a way down the tree for each of those.
//!
//! Latches: a leaf, let go before the next one and before the heap.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_types::inverted::Search;

use super::entries::{RECORD, record_bytes, record_of};
use super::key::{KeyRange, successor};
use super::table::Index;
use crate::StorageError;
use crate::heap::read::{BATCH_BYTES, Wanted, prepare, read_page};
use crate::heap::{Heap, ScanBatch};
use crate::page::RecordId;
use crate::txn::transaction::{SnapshotReader, Txn};

/// Records of a batch, about.
const BATCH_RECORDS: usize = 1024;
/// So few candidates are read rather than looked for under further keys.
const FEW: usize = 8;

/// What indexes find, put together. An index is named by `I`.
#[derive(Clone, Debug)]
pub enum Gather<I> {
    /// The entries within ranges of a B+tree.
    Ranges(I, Vec<KeyRange>),
    /// What an inverted index finds.
    Search(I, Search),
    /// What any of them find.
    Any(Vec<Gather<I>>),
    /// What all of them find.
    All(Vec<Gather<I>>),
}

impl<I> Gather<I> {
    /// The same with other names of the indexes.
    ///
    /// # Errors
    /// That of the first index which has none.
    pub fn named<J, E>(&self, name: &mut dyn FnMut(&I) -> Result<J, E>) -> Result<Gather<J>, E> {
        let mut all =
            |parts: &[Gather<I>]| parts.iter().map(|part| part.named(name)).collect::<Result<Vec<_>, E>>();
        Ok(match self {
            Gather::Any(parts) => Gather::Any(all(parts)?),
            Gather::All(parts) => Gather::All(all(parts)?),
            Gather::Ranges(index, ranges) => Gather::Ranges(name(index)?, ranges.clone()),
            Gather::Search(index, search) => Gather::Search(name(index)?, search.clone()),
        })
    }
}

/// The rows of candidates, in the order of their places.
pub struct CandidateScan {
    reader: SnapshotReader,
    heap: Arc<Heap>,
    columns: Vec<u16>,
    records: Vec<RecordId>,
    at: usize,
}

impl CandidateScan {
    /// Reads the next rows into `out`; `false` at the end.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Cancelled`.
    pub fn next(&mut self, out: &mut ScanBatch) -> Result<bool, StorageError> {
        let mut slots: Vec<u16> = Vec::new();
        prepare(&self.heap, &self.columns, out);
        while out.records.len() < BATCH_RECORDS && out.batch.variable_bytes() < BATCH_BYTES {
            if self.reader.cancel.load(Ordering::Relaxed) {
                return Err(StorageError::Cancelled);
            }
            let rest = &self.records[self.at..];
            let Some(first) = rest.first() else { break };
            slots.clear();
            slots.extend(
                rest.iter()
                    .take_while(|record| record.page_index == first.page_index)
                    .map(|record| record.slot),
            );
            let SnapshotReader { shared, view, .. } = &self.reader;
            let wanted = Wanted::Slots(&slots);
            read_page(shared, &self.heap, view, first.page_index, wanted, &self.columns, out)?;
            self.at += slots.len();
        }
        out.batch.rows = out.records.len();
        self.reader.shared.read.fetch(out.batch.rows);
        self.heap.uses.read(0, out.batch.rows);
        Ok(out.batch.rows > 0)
    }

    /// Memory that the list of candidates takes.
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        (self.records.capacity() * size_of::<RecordId>()) as u64
    }
}

impl Heap {
    /// Reads the records that a search in an inverted index finds, as the transaction's current statement sees them. A
    /// search that says nothing finds those that have any key.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Cancelled`.
    pub fn candidates(
        self: &Arc<Self>,
        txn: &Txn,
        index: &Index,
        search: &Search,
        columns: &[u16],
    ) -> Result<CandidateScan, StorageError> {
        let reader = txn.snapshot_reader();
        let searcher = Searcher { reader: &reader, heap: self, index };
        let records = searcher.find(search)?;
        Ok(CandidateScan { reader, heap: Arc::clone(self), columns: columns.to_vec(), records, at: 0 })
    }

    /// As [`Heap::candidates`] for what several indexes find together.
    ///
    /// # Errors
    /// As [`Heap::candidates`].
    pub fn gathered(
        self: &Arc<Self>,
        txn: &Txn,
        gather: &Gather<Arc<Index>>,
        columns: &[u16],
    ) -> Result<CandidateScan, StorageError> {
        self.gathered_by(txn.snapshot_reader(), gather, columns)
    }

    /// As [`Heap::gathered`], as a statement sees the records that runs on another thread.
    ///
    /// # Errors
    /// As [`Heap::candidates`].
    pub fn gathered_by(
        self: &Arc<Self>,
        reader: SnapshotReader,
        gather: &Gather<Arc<Index>>,
        columns: &[u16],
    ) -> Result<CandidateScan, StorageError> {
        let records = found(&reader, self, gather)?;
        Ok(CandidateScan { reader, heap: Arc::clone(self), columns: columns.to_vec(), records, at: 0 })
    }
}

/// The records that indexes find together, in order, each once.
fn found(
    reader: &SnapshotReader,
    heap: &Heap,
    gather: &Gather<Arc<Index>>,
) -> Result<Vec<RecordId>, StorageError> {
    match gather {
        Gather::Search(index, search) => {
            index.uses.scan(reader.shared.env.clock.unix_micros_rough());
            let found = Searcher { reader, heap, index }.find(search)?;
            index.uses.read(found.len(), 0);
            Ok(found)
        }
        Gather::Ranges(index, ranges) => {
            index.uses.scan(reader.shared.env.clock.unix_micros_rough());
            let searcher = Searcher { reader, heap, index };
            let mut all = Vec::new();
            for range in ranges {
                searcher.within(&range.start(), range.end(), &mut all)?;
            }
            index.uses.read(all.len(), 0);
            Ok(each_once(all))
        }
        Gather::Any(parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.append(&mut found(reader, heap, part)?);
            }
            Ok(each_once(all))
        }
        Gather::All(parts) => {
            let mut left: Option<Vec<RecordId>> = None;
            for part in parts {
                if left.as_ref().is_some_and(|left| left.len() <= FEW) {
                    break;
                }
                let more = found(reader, heap, part)?;
                left = Some(match left {
                    Some(left) => in_both(left, &more),
                    None => more,
                });
            }
            Ok(left.unwrap_or_default())
        }
    }
}

/// The records of one list that are in the other, too; both are in order.
fn in_both(mut one: Vec<RecordId>, other: &[RecordId]) -> Vec<RecordId> {
    let mut rest = other.iter().peekable();
    one.retain(|record| {
        while rest.peek().is_some_and(|next| *next < record) {
            rest.next();
        }
        rest.peek() == Some(&record)
    });
    one
}

struct Searcher<'s> {
    reader: &'s SnapshotReader,
    heap: &'s Heap,
    index: &'s Index,
}

impl Searcher<'_> {
    /// The records that a search finds, in order, each once.
    fn find(&self, search: &Search) -> Result<Vec<RecordId>, StorageError> {
        match search {
            Search::Key(key) => self.all_of(key),
            Search::Prefix(start) => self.all_of(start).map(each_once),
            Search::All(parts) => {
                let (first, others) = self.by_weight(parts)?;
                let Some(first) = first else { return Ok(Vec::new()) };
                self.narrow(self.find(first)?, others)
            }
            Search::Any(parts) => {
                let mut all = self.together(parts)?;
                all.dedup();
                Ok(all)
            }
            Search::Some(least, parts) => {
                let all = self.together(parts)?;
                let enough = |run: &[RecordId]| run.len() >= *least;
                Ok(all.chunk_by(|a, b| a == b).filter(|run| enough(run)).map(|run| run[0]).collect())
            }
            Search::Unknown => self.all_of(&[]).map(each_once),
        }
    }

    fn together(&self, parts: &[Search]) -> Result<Vec<RecordId>, StorageError> {
        let mut all = Vec::new();
        for part in parts {
            all.append(&mut self.find(part)?);
        }
        all.sort_unstable();
        Ok(all)
    }

    /// The part that finds the fewest records, and the others, those of few records first.
    fn by_weight<'p>(
        &self,
        parts: &'p [Search],
    ) -> Result<(Option<&'p Search>, std::vec::IntoIter<&'p Search>), StorageError> {
        let weighed = parts.iter().map(|part| Ok((self.weight(part)?, part)));
        let mut weighed = weighed.collect::<Result<Vec<(f64, &Search)>, StorageError>>()?;
        weighed.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut parts = weighed.into_iter().map(|(_, part)| part).collect::<Vec<_>>().into_iter();
        Ok((parts.next(), parts))
    }

    /// Those of the records that all of the parts find, too.
    fn narrow<'p>(
        &self,
        mut records: Vec<RecordId>,
        parts: impl Iterator<Item = &'p Search>,
    ) -> Result<Vec<RecordId>, StorageError> {
        for part in parts {
            if records.len() <= FEW {
                break;
            }
            records = self.among(part, records)?;
        }
        Ok(records)
    }

    /// Those of the records that a search finds.
    fn among(&self, search: &Search, mut records: Vec<RecordId>) -> Result<Vec<RecordId>, StorageError> {
        match search {
            Search::Key(key) => {
                let mut list = Postings::new(self, key);
                let mut kept = 0;
                for at in 0..records.len() {
                    let record = records[at];
                    if list.has(record)? {
                        records[kept] = record;
                        kept += 1;
                    }
                }
                records.truncate(kept);
                Ok(records)
            }
            Search::All(parts) => {
                let (first, others) = self.by_weight(parts)?;
                self.narrow(records, first.into_iter().chain(others))
            }
            Search::Any(parts) => self.found_by(1, parts, &records),
            Search::Some(least, parts) => self.found_by(*least, parts, &records),
            Search::Prefix(_) => {
                let found = self.find(search)?;
                records.retain(|record| found.binary_search(record).is_ok());
                Ok(records)
            }
            Search::Unknown => Ok(records),
        }
    }

    /// Those of the records that at least so many of the parts find.
    fn found_by(
        &self,
        least: usize,
        parts: &[Search],
        records: &[RecordId],
    ) -> Result<Vec<RecordId>, StorageError> {
        let mut all = Vec::new();
        for part in parts {
            all.append(&mut self.among(part, records.to_vec())?);
        }
        all.sort_unstable();
        let enough = |run: &&[RecordId]| run.len() >= least;
        Ok(all.chunk_by(|a, b| a == b).filter(enough).map(|run| run[0]).collect())
    }

    /// About which part of the index a search reads.
    fn weight(&self, search: &Search) -> Result<f64, StorageError> {
        let weights = |parts: &[Search]| {
            parts.iter().map(|part| self.weight(part)).collect::<Result<Vec<f64>, StorageError>>()
        };
        Ok(match search {
            Search::Key(key) | Search::Prefix(key) => self.index.part_of(&self.reader.shared, key)?,
            Search::All(parts) => weights(parts)?.into_iter().fold(1.0, f64::min),
            Search::Any(parts) | Search::Some(_, parts) => weights(parts)?.into_iter().sum(),
            Search::Unknown => 1.0,
        })
    }

    /// The records that have a key, or one that begins so.
    fn all_of(&self, key: &[u8]) -> Result<Vec<RecordId>, StorageError> {
        let mut all = Vec::new();
        self.within(key, successor(key), &mut all)?;
        Ok(all)
    }

    /// Adds the records of the entries from a string up to another one.
    fn within(
        &self,
        start: &[u8],
        end: Option<Vec<u8>>,
        all: &mut Vec<RecordId>,
    ) -> Result<(), StorageError> {
        if end.as_deref().is_some_and(|end| end <= start) {
            return Ok(());
        }
        let mut list = Postings { end, ..Postings::new(self, start) };
        while let Some(from) = list.next.take() {
            list.read(&from)?;
            all.append(&mut list.records);
        }
        Ok(())
    }
}

/// Records of several keys in order, each once.
fn each_once(mut records: Vec<RecordId>) -> Vec<RecordId> {
    records.sort_unstable();
    records.dedup();
    records
}

/// The records that have a key, in their order, or those of a range.
struct Postings<'s> {
    searcher: &'s Searcher<'s>,
    key: &'s [u8],
    end: Option<Vec<u8>>,
    /// Those of the leaf that was read last.
    records: Vec<RecordId>,
    /// How many of them lie behind.
    passed: usize,
    /// Where the next leaf's begin.
    next: Option<Vec<u8>>,
}

impl<'s> Postings<'s> {
    fn new(searcher: &'s Searcher<'s>, key: &'s [u8]) -> Postings<'s> {
        let (end, next) = (successor(key), Some(key.to_vec()));
        Postings { searcher, key, end, records: Vec::new(), passed: 0, next }
    }

    /// Reads the entries from a string on that stand on its leaf.
    fn read(&mut self, from: &[u8]) -> Result<(), StorageError> {
        let Searcher { reader, heap, index } = self.searcher;
        if reader.cancel.load(Ordering::Relaxed) {
            return Err(StorageError::Cancelled);
        }
        self.records.clear();
        self.passed = 0;
        let leaf = index.read_leaf(&reader.shared, from)?;
        let node = index.node(leaf.id(), &leaf)?;
        let first = node.find(from).0;
        let count = match &self.end {
            Some(end) if node.covers(end) => node.find(end).0,
            _ => node.count(),
        };
        for at in first..count {
            let entry = node.suffix(at);
            self.records.push(match entry.len() >= RECORD {
                true => record_of(entry),
                false => record_of(&node.string(at)),
            });
        }
        let before_end = |high: &&[u8]| self.end.as_deref().is_none_or(|end| *high < end);
        self.next = node.high().filter(before_end).map(<[u8]>::to_vec);
        if let Some(command) = reader.view.command() {
            let end = self.next.as_deref().or(self.end.as_deref());
            let mut all = command.kept_keys(index.object(), from, end);
            if !all.is_empty() {
                all.extend((first..count).map(|at| node.string(at).to_vec()));
                all.sort_unstable();
                all.dedup();
                self.records = all.iter().map(|entry| record_of(entry)).collect();
            }
        }
        // With the leaf latched: who adds an entry later finds the note.
        if let Some(noted) = reader.view.reader() {
            let end = self.next.as_deref().or(self.end.as_deref());
            noted.reads_range(heap.object, index.object(), from, end);
        }
        Ok(())
    }

    /// Whether a record has the key. Records are asked for in ascending order.
    fn has(&mut self, record: RecordId) -> Result<bool, StorageError> {
        loop {
            let rest = &self.records[self.passed..];
            self.passed += rest.partition_point(|other| *other < record);
            match self.records.get(self.passed) {
                Some(other) => return Ok(*other == record),
                None => {
                    let Some(next) = self.next.take() else { return Ok(false) };
                    let mut wanted = self.key.to_vec();
                    wanted.extend_from_slice(&record_bytes(record));
                    self.read(&next.max(wanted))?;
                }
            }
        }
    }
}
