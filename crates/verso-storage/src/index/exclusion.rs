//! Exclusion constraints: records that may not be there together.
//!
//! The parts of the index that an operator stands at say which records exclude each other: those for which all the operators
//! hold. The parts with `=` stand first, so records that may exclude each other stand together, as a *group*.
//!
//! XC1. A record's key is added, and the records that exclude it are collected, while nobody else does so in this index. So of
//!      two records the later comer meets the other. What was collected is looked at as the same key in a unique index is
//!      (I2): live and committed, or one's own, it is refused; uncommitted it is waited for.
//! XC2. Ranges under `&&` that exclude nobody stand in the order of their ends, too. So the look for those that overlap one
//!      begins where it ends, goes to the front, and is over at the first committed one that does not overlap it. That holds
//!      while all others are settled: a record that has met others, and waits for them or for the end of its statement or
//!      transaction, may overlap several. While there is one the look goes through the whole group.
//!
//! So a look reads one or two entries, beside those of dead versions, for `=`, for `&&` of ranges, and for `<>`; and the whole
//! group for other operators.
//!
//! Latches: `arrivals` comes behind the gate of the indexes and before all latches; nobody waits for a transaction with it.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use smallvec::SmallVec;
use verso_env::sync::Mutex;
use verso_types::exclusion::{Overlapping, overlapping};
use verso_types::{Exclusion, TypeError};

use super::entries::{Entries, RECORD, record_of};
use super::key::successor;
use super::table::Index;
use super::unique::{Holder, check_record, holder_by};
use super::versions::RawValue;
use crate::StorageError;
use crate::heap::Heap;
use crate::page::{Flaw, RecordId};
use crate::rules::{Rule, disabled};
use crate::txn::transaction::Txn;

/// Most uncommitted records collected at a time.
const MOST_RIVALS: usize = 256;
/// Entries read at first; more each time.
const FIRST_ENTRIES: usize = 4;
const MOST_ENTRIES: usize = 256;

/// Who comes to an index, one after the other.
#[derive(Default)]
pub(super) struct Arrivals {
    /// Held while a key is added and others are looked for (XC1).
    one: Mutex<()>,
    /// Records that have met others and are not settled (XC2).
    unsettled: AtomicUsize,
}

/// A record that has met others: until this goes it counts as not settled.
pub(crate) struct Unsettled(Arc<Index>);

impl Unsettled {
    fn new(index: &Arc<Index>) -> Unsettled {
        index.arrivals.unsettled.fetch_add(1, Ordering::AcqRel);
        Unsettled(Arc::clone(index))
    }

    pub(crate) fn index(&self) -> &Arc<Index> {
        &self.0
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        self.0.arrivals.unsettled.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Records of a transaction in one index that are not settled.
#[derive(Default)]
pub(crate) struct Pending {
    /// How many times one of them is noted.
    pub count: usize,
    /// Which they are.
    pub records: HashSet<RecordId>,
}

impl Pending {
    pub fn note(&mut self, record: RecordId) {
        self.count += 1;
        self.records.insert(record);
    }

    pub fn settle(&mut self, record: RecordId) {
        self.count = self.count.saturating_sub(1);
        self.records.remove(&record);
    }
}

/// A record that excludes another one, and the key that it does so with.
pub(crate) struct Rival {
    record: RecordId,
    key: Box<[u8]>,
}

/// What a look for others has found.
#[derive(Default)]
pub(crate) struct Found {
    rivals: Vec<Rival>,
    /// There may be more of them.
    cut: bool,
}

/// An entry that was added and has met others.
pub(crate) struct Met {
    /// Which of the entries.
    pub item: usize,
    pub found: Found,
    pub unsettled: Unsettled,
}

/// Adds entries to the index of an exclusion constraint; those that have met others (XC1). They are to be settled or noted.
pub(crate) fn add(
    txn: &mut Txn,
    heap: &Heap,
    index: &Arc<Index>,
    entries: &Entries,
) -> Result<Vec<Met>, StorageError> {
    let mut pending = txn.unique.take_pending(index.object());
    let met = add_among(txn, heap, index, entries, &mut pending);
    txn.unique.put_pending(index.object(), pending);
    met
}

fn add_among(
    txn: &mut Txn,
    heap: &Heap,
    index: &Arc<Index>,
    entries: &Entries,
    pending: &mut Pending,
) -> Result<Vec<Met>, StorageError> {
    let shared = Arc::clone(&txn.shared);
    let mut met = Vec::new();
    // Keeps the versions of those who are active now while they are looked at.
    let (_registration, _view) = txn.view_or_now();
    let _one = index.arrivals.one.lock();
    let written = index.add(&shared, txn.id, entries, false, &mut Vec::new())?;
    txn.wrote(written.lsns());
    if txn.unique.is_dropped(index.object()) {
        return Ok(met);
    }
    for item in 0..entries.len() {
        let (key, record) = (entries.key(item), entries.record(item));
        let found = look(txn, heap, index, key, record, pending)?;
        if !found.rivals.is_empty() {
            pending.note(record);
            met.push(Met { item, found, unsettled: Unsettled::new(index) });
        }
    }
    Ok(met)
}

/// Notes entries that have met others for the end of the statement, or of the transaction.
pub(crate) fn note_all(
    txn: &mut Txn,
    heap: &Arc<Heap>,
    index: &Arc<Index>,
    entries: &Entries,
    met: Vec<Met>,
) {
    let depth = txn.statement_depth();
    debug_assert!(met.iter().all(|one| Arc::ptr_eq(&one.unsettled.0, index)));
    for one in met {
        let (key, record) = (entries.key(one.item), entries.record(one.item));
        txn.unique.note_excluded(heap, (record, key), one.unsettled, depth);
    }
}

/// Settles entries of inserted records that have met others, or notes them where the constraint is deferred.
pub(crate) fn settle_all(
    txn: &mut Txn,
    heap: &Arc<Heap>,
    index: &Arc<Index>,
    entries: &Entries,
    met: Vec<Met>,
) -> Result<(), StorageError> {
    if txn.unique.is_deferred(index.object()) {
        note_all(txn, heap, index, entries, met);
        return txn.hold_keys(0);
    }
    for Met { item, found, unsettled } in met {
        let (key, record) = (entries.key(item), entries.record(item));
        let mut pending = txn.unique.take_pending(index.object());
        let settled = settle(txn, heap, index, (key, record), found, &pending);
        pending.settle(record);
        txn.unique.put_pending(index.object(), pending);
        drop(unsettled);
        settled?;
    }
    Ok(())
}

/// Fails if a record excludes one that is there, waiting for those of which that is not known yet. `found` is what a first look
/// has found.
pub(crate) fn settle(
    txn: &Txn,
    heap: &Heap,
    index: &Arc<Index>,
    (key, record): (&[u8], RecordId),
    mut found: Found,
    pending: &Pending,
) -> Result<(), StorageError> {
    loop {
        for rival in &found.rivals {
            check_record(txn, heap, index, &rival.key, rival.record).map_err(|error| match error {
                StorageError::Unique { index, record: with } => {
                    StorageError::Excluded { index, record, with }
                }
                error => error,
            })?;
        }
        if !found.cut {
            return Ok(());
        }
        found = look_again(txn, heap, index, (key, record), pending)?;
    }
}

/// Looks for the records that exclude one whose key was added before.
pub(crate) fn look_again(
    txn: &Txn,
    heap: &Heap,
    index: &Arc<Index>,
    (key, record): (&[u8], RecordId),
    pending: &Pending,
) -> Result<Found, StorageError> {
    let (_registration, _view) = txn.view_or_now();
    let _one = index.arrivals.one.lock();
    look(txn, heap, index, key, record, pending)
}

/// Checks all records of an index that was built, while nobody changes the table.
pub(super) fn check_all(txn: &Txn, heap: &Heap, index: &Arc<Index>) -> Result<(), StorageError> {
    let none = Pending::default();
    let (_registration, _view) = txn.view_or_now();
    let mut from = Vec::new();
    loop {
        // Ascending, so that those in front of an entry are settled (XC2).
        let (entries, high) = {
            let leaf = index.read_leaf(&txn.shared, &from)?;
            let node = index.node(leaf.id(), &leaf)?;
            let first = node.find(&from).0;
            let entries: Vec<_> = (first..node.count()).map(|at| node.string(at)).collect();
            (entries, node.high().map(<[u8]>::to_vec))
        };
        for entry in &entries {
            let (key, record) = (&entry[..entry.len().saturating_sub(RECORD)], record_of(entry));
            let found = look(txn, heap, index, key, record, &none)?;
            if let Some(rival) = found.rivals.first() {
                let (index, with) = (index.object(), rival.record);
                return Err(StorageError::Excluded { index, record, with });
            }
        }
        match high {
            Some(high) => from = high,
            None => return Ok(()),
        }
    }
}

/// A record whose others are looked for.
struct Subject<'i> {
    index: &'i Index,
    values: SmallVec<[RawValue; 4]>,
}

/// Entries from a string on up to another one, which is exclusive.
struct Stretch {
    start: Vec<u8>,
    end: Option<Vec<u8>>,
    /// Whether the look is over at one that does not overlap (XC2).
    ordered: bool,
}

impl Subject<'_> {
    /// Whether another record with these values excludes it.
    fn excludes(&self, others: &[RawValue]) -> Result<bool, TypeError> {
        for (part, (own, other)) in self.index.spec().parts.iter().zip(self.values.iter().zip(others)) {
            let Some(operator) = part.excludes else { continue };
            let (Some(own), Some(other)) = (own, other) else { return Ok(false) };
            if !operator.holds(part.order(), own, other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Where those stand that may exclude it.
    fn stretches(&self) -> Result<SmallVec<[Stretch; 2]>, TypeError> {
        let parts = &self.index.spec().parts;
        let operators = || parts.iter().zip(&self.values).filter(|(part, _)| part.excludes.is_some());
        if operators().any(|(_, value)| value.is_none()) {
            return Ok(SmallVec::new());
        }
        let mut group = Vec::new();
        let mut rest = operators().peekable();
        while let Some((part, value)) = rest.next_if(|(part, _)| part.excludes == Some(Exclusion::Equal)) {
            part.order().encode_raw(value.as_deref(), &mut group)?;
        }
        let whole = |start: Vec<u8>, end| Stretch { start, end, ordered: false };
        let all = || {
            let end = successor(&group);
            SmallVec::from_iter([whole(group.clone(), end)])
        };
        let Some((part, Some(value))) = rest.next() else { return Ok(all()) };
        match part.excludes {
            Some(Exclusion::Different) => {
                let mut own = group.clone();
                part.order().encode_raw(Some(value), &mut own)?;
                let behind = successor(&own).map(|behind| whole(behind, successor(&group)));
                let before = whole(group.clone(), Some(own));
                Ok(behind.into_iter().chain([before]).collect())
            }
            Some(Exclusion::Overlaps) => match overlapping(part.order(), value)? {
                Overlapping::Nowhere => Ok(SmallVec::new()),
                Overlapping::Anywhere => Ok(all()),
                Overlapping::Between(start, end) => {
                    let at = |place: Vec<u8>| [group.as_slice(), &place].concat();
                    let ordered = rest.next().is_none();
                    Ok(SmallVec::from_iter([Stretch { start: at(start), end: Some(at(end)), ordered }]))
                }
            },
            _ => Ok(all()),
        }
    }
}

/// Records of a temporal key whose periods may overlap one.
pub struct Overlaps {
    start: Vec<u8>,
    below: Option<Vec<u8>>,
    ordered: bool,
    most: usize,
    over: bool,
}

impl Index {
    /// The records whose last part may overlap a stored range or multirange, and whose parts in front of it have the key
    /// `prefix`; `None` where there can be none.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are no range.
    pub fn overlapping(&self, prefix: &[u8], period: &[u8]) -> Result<Option<Overlaps>, StorageError> {
        let part = self.spec().parts.iter().rfind(|part| part.excludes == Some(Exclusion::Overlaps));
        let Some(part) = part else { return Ok(None) };
        let found = overlapping(part.order(), period)
            .map_err(|error| self.corrupt(self.root(), Flaw::new(error.message)))?;
        let (start, below, ordered) = match found {
            Overlapping::Nowhere => return Ok(None),
            Overlapping::Anywhere => (prefix.to_vec(), successor(prefix), false),
            Overlapping::Between(start, end) => {
                ([prefix, &start].concat(), Some([prefix, &end].concat()), true)
            }
        };
        Ok(Some(Overlaps { start, below, ordered, most: FIRST_ENTRIES, over: false }))
    }
}

impl Overlaps {
    /// The next records, from where the period ends to the front; `false` at the end. Not every one has the key in its newest
    /// version.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Cancelled`.
    pub fn next(&mut self, index: &Index, txn: &Txn, out: &mut Vec<RecordId>) -> Result<bool, StorageError> {
        if self.over {
            return Ok(false);
        }
        if txn.cancel.load(Ordering::Relaxed) {
            return Err(StorageError::Cancelled);
        }
        let mut entries = Vec::new();
        let below = self.below.as_deref();
        let next = index.entries_below(&txn.shared, below, &self.start, self.most, &mut entries)?;
        out.extend(entries.iter().map(|entry| record_of(entry)));
        self.most = (self.most * 4).min(MOST_ENTRIES);
        self.over = next.is_none();
        self.below = next;
        Ok(true)
    }

    /// Whether one that does not overlap the period is the last that need be looked at.
    pub fn is_ordered(&self) -> bool {
        self.ordered
    }
}

/// Looks for records that exclude one. With one that is committed the look is over: it decides by itself.
fn look(
    txn: &Txn,
    heap: &Heap,
    index: &Arc<Index>,
    key: &[u8],
    record: RecordId,
    pending: &Pending,
) -> Result<Found, StorageError> {
    let shared = &txn.shared;
    let mut found = Found::default();
    let mut values = None;
    let own = holder_by(shared, heap, index, record, txn.id, &mut |versions| {
        let mut its = Vec::with_capacity(key.len());
        versions.key(&mut its)?;
        let is_it = versions.live && its == key;
        if is_it {
            values = Some(versions.values()?);
        }
        Ok(is_it)
    })?;
    let Some(values) = values.filter(|_| !matches!(own, Holder::Nobody)) else { return Ok(found) };
    if disabled(Rule::XC1) {
        return Ok(found);
    }
    let corrupt =
        |error: TypeError| StorageError::corrupt(index.root(), index.object(), Flaw::new(error.message));
    let subject = Subject { index, values };
    let mut entries = Vec::new();
    for stretch in subject.stretches().map_err(corrupt)? {
        // Nobody else comes meanwhile, and who was not settled before may be by now.
        let settled =
            index.arrivals.unsettled.load(Ordering::Acquire) == pending.count || disabled(Rule::XC2);
        let mut below = stretch.end;
        let mut most = FIRST_ENTRIES;
        loop {
            if txn.cancel.load(Ordering::Relaxed) {
                return Err(StorageError::Cancelled);
            }
            entries.clear();
            let next = index.entries_below(shared, below.as_deref(), &stretch.start, most, &mut entries)?;
            most = (most * 4).min(MOST_ENTRIES);
            for entry in &entries {
                let (its_key, other) = (&entry[..entry.len().saturating_sub(RECORD)], record_of(entry));
                if other == record {
                    continue;
                }
                let mut excluded = Ok(false);
                let holder = holder_by(shared, heap, index, other, txn.id, &mut |versions| {
                    let mut key = Vec::with_capacity(its_key.len());
                    versions.key(&mut key)?;
                    let is_it = versions.live && key == its_key;
                    if is_it {
                        excluded = subject.excludes(&versions.values()?);
                    }
                    Ok(is_it)
                })?;
                let rival = || Rival { record: other, key: its_key.into() };
                match (holder, excluded.map_err(corrupt)?) {
                    (Holder::Current, true) => {
                        found.rivals.push(rival());
                        found.cut = true;
                        return Ok(found);
                    }
                    (Holder::Active(_), true) => found.rivals.push(rival()),
                    (Holder::Current, false)
                        if stretch.ordered && settled && !pending.records.contains(&other) =>
                    {
                        return Ok(found);
                    }
                    _ => {}
                }
                if found.rivals.len() >= MOST_RIVALS {
                    found.cut = true;
                    return Ok(found);
                }
            }
            match next {
                Some(next) => below = Some(next),
                None => break,
            }
        }
    }
    Ok(found)
}
