//! Unique keys: who else has one.
//!
//! I2. A record's key is added first, and under the same latch it is seen who else has entries of it. Without the
//!     latch their newest versions are looked at: live and committed, or one's own, is a duplicate; uncommitted is waited
//!     for and looked at again; deleted, changed or dead does not count. Of two racers exactly the later sees the other.
//!
//! INSERT checks at once, UPDATE when its statement ends (so `SET id = id + 1` passes), both when a deferred constraint
//! is due. What is due later is noted: the record and the key for which there were others.
//!
//! I5. An index that the transaction itself has dropped gets keys as before, for the drop may be undone, and forbids none.
//!     Nobody else is let go by it: until the commit the index is there for them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::exclusion::{self, Pending, Unsettled};
use super::table::Index;
use super::versions::Versions;
use crate::StorageError;
use crate::heap::Heap;
use crate::heap::layout::PageLayout;
use crate::heap::packed::Image;
use crate::page::{ObjectId, RecordId, TxnId};
use crate::shared::Shared;
use crate::txn::TxnState;
use crate::txn::transaction::Txn;

/// A key to be looked at again.
struct Due {
    heap: Arc<Heap>,
    index: Arc<Index>,
    record: RecordId,
    key: Box<[u8]>,
    /// Depth of the statement at whose end; `None` = when the constraint is checked.
    depth: Option<usize>,
    /// Of an exclusion constraint: it has met others.
    unsettled: Option<Unsettled>,
}

/// What a transaction has to check later.
#[derive(Default)]
pub struct UniqueChecks {
    deferred: HashSet<ObjectId>,
    due: Vec<Due>,
    /// Of indexes of exclusion constraints: which of the due records are not settled.
    pending: HashMap<ObjectId, Pending>,
    /// Objects that the transaction has dropped, each with how many frames were open (I5).
    dropped: Vec<(ObjectId, usize)>,
    /// Bytes of what is due.
    bytes: u64,
}

impl Due {
    /// What it takes, twice over: while it is looked at the list is divided.
    fn bytes(&self) -> u64 {
        (2 * size_of::<Due>() + self.key.len() + size_of::<usize>() * 2) as u64
    }
}

impl UniqueChecks {
    /// Nothing is deferred or to be looked at any more.
    pub(crate) fn clear(&mut self) {
        self.deferred.clear();
        self.due.clear();
        self.pending.clear();
        self.dropped.clear();
        self.bytes = 0;
    }

    /// Bytes of what is due.
    #[inline]
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The transaction drops an object, within so many frames.
    pub(crate) fn note_drop(&mut self, object: ObjectId, frames: usize) {
        self.dropped.push((object, frames));
    }

    /// Whether the transaction has dropped an object, so that an index forbids nothing any more (I5).
    #[inline]
    pub(crate) fn is_dropped(&self, object: ObjectId) -> bool {
        self.dropped.iter().any(|(dropped, _)| *dropped == object)
    }

    /// All frames but the outer `frames` were undone.
    pub(crate) fn frames_undone(&mut self, frames: usize) {
        self.dropped.retain(|(_, within)| *within <= frames);
    }

    /// All frames but the outer `frames` were merged into the last of these.
    pub(crate) fn frames_released(&mut self, frames: usize) {
        self.dropped.iter_mut().for_each(|(_, within)| *within = (*within).min(frames));
    }

    /// Whether keys of `index` are checked at the end of the transaction.
    pub(crate) fn is_deferred(&self, index: ObjectId) -> bool {
        !self.deferred.is_empty() && self.deferred.contains(&index)
    }

    pub(crate) fn defer(&mut self, index: ObjectId, deferred: bool) {
        if deferred {
            self.deferred.insert(index);
        } else {
            self.deferred.remove(&index);
        }
    }

    /// Whether nothing is to be checked.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.due.is_empty()
    }

    pub(crate) fn note(
        &mut self,
        heap: &Arc<Heap>,
        index: &Arc<Index>,
        record: RecordId,
        key: &[u8],
        depth: usize,
    ) {
        let depth = (!self.is_deferred(index.object())).then_some(depth);
        let (heap, index) = (Arc::clone(heap), Arc::clone(index));
        let due = Due { heap, index, record, key: key.into(), depth, unsettled: None };
        self.bytes += due.bytes();
        self.due.push(due);
    }

    /// As [`UniqueChecks::note`] of a record that has met others under an exclusion constraint.
    pub(crate) fn note_excluded(
        &mut self,
        heap: &Arc<Heap>,
        (record, key): (RecordId, &[u8]),
        unsettled: Unsettled,
        depth: usize,
    ) {
        self.note(heap, unsettled.index(), record, key, depth);
        if let Some(due) = self.due.last_mut() {
            due.unsettled = Some(unsettled);
        }
    }

    /// The records that have met others in an index and are not settled, taken out for a while.
    pub(crate) fn take_pending(&mut self, index: ObjectId) -> Pending {
        self.pending.remove(&index).unwrap_or_default()
    }

    /// Gives them back.
    pub(crate) fn put_pending(&mut self, index: ObjectId, pending: Pending) {
        self.pending.insert(index, pending);
    }

    /// A statement was undone: what it noted is not due any more.
    pub(crate) fn abandon(&mut self, depth: usize) {
        if self.due.is_empty() {
            return;
        }
        self.due.retain(|due| due.depth.is_none_or(|its| its < depth));
        self.count();
    }

    /// Counts what is due anew.
    fn count(&mut self) {
        self.bytes = self.due.iter().map(Due::bytes).sum();
        self.pending.clear();
        for due in self.due.iter().filter(|due| due.unsettled.is_some()) {
            self.pending.entry(due.index.object()).or_default().note(due.record);
        }
    }
}

/// Who has a key in its newest version.
pub(super) enum Holder {
    Nobody,
    /// Committed, or the asking transaction itself.
    Current,
    /// Wait for it.
    Active(TxnId),
}

fn holder(
    shared: &Shared,
    heap: &Heap,
    index: &Index,
    key: &[u8],
    record: RecordId,
    own: TxnId,
) -> Result<Holder, StorageError> {
    let mut its = Vec::with_capacity(key.len());
    holder_by(shared, heap, index, record, own, &mut |versions| {
        its.clear();
        versions.key(&mut its)?;
        Ok(versions.live && its == key)
    })
}

/// As [`holder`] of what `has` says of a version: it is asked of the newest one, and of the one before where that counts.
pub(super) fn holder_by(
    shared: &Shared,
    heap: &Heap,
    index: &Index,
    record: RecordId,
    own: TxnId,
    has: &mut dyn FnMut(&Versions<'_>) -> Result<bool, StorageError>,
) -> Result<Holder, StorageError> {
    let Some(home) = heap.home(&shared.core().pool, record.page_index, false)? else {
        return Ok(Holder::Nobody);
    };
    let mut image = Image::default();
    let page = home.bytes(heap, &mut image, Some(&index.columns()))?;
    let layout = PageLayout::of(page).map_err(|flaw| StorageError::corrupt(home.id(), heap.object, flaw))?;
    let mut versions = Versions::home(shared, heap, index, page, &layout, record.page_index, record.slot);
    if versions.writer == TxnId::NONE {
        return Ok(Holder::Nobody);
    }
    let (writer, current) = (versions.writer, has(&versions)?);
    if writer == own {
        return Ok(if current { Holder::Current } else { Holder::Nobody });
    }
    match shared.transactions.state(writer) {
        TxnState::Committed if current => Ok(Holder::Current),
        TxnState::Committed => Ok(Holder::Nobody),
        // What it did is as good as undone.
        TxnState::Dead if versions.older_writer()? && has(&versions)? => Ok(Holder::Current),
        TxnState::Dead => Ok(Holder::Nobody),
        // It may be rolled back: then what was there before counts.
        _ if current || (versions.older_writer()? && has(&versions)?) => Ok(Holder::Active(writer)),
        _ => Ok(Holder::Nobody),
    }
}

/// Fails if `record` has `key` in its newest version; waits for who may change that.
pub(crate) fn check_record(
    txn: &Txn,
    heap: &Heap,
    index: &Index,
    key: &[u8],
    record: RecordId,
) -> Result<(), StorageError> {
    let shared = &txn.shared;
    loop {
        if txn.cancel.load(Ordering::Relaxed) {
            return Err(StorageError::Cancelled);
        }
        // Keeps the versions of those who are active now while they are looked at.
        let (_registration, _view) = txn.view_or_now();
        let seen = shared.locks.seen();
        match holder(shared, heap, index, key, record, txn.id)? {
            Holder::Nobody => return Ok(()),
            Holder::Current => {
                // Whose key it is has perhaps ended the transaction: that is what to tell, for another attempt will see
                // the key (PostgreSQL's read-write-unique).
                txn.reader.as_ref().map_or(Ok(()), |reader| reader.check())?;
                return Err(StorageError::Unique { index: index.object(), record });
            }
            Holder::Active(other) => {
                drop(_registration);
                txn.wait_end(other, seen)?;
            }
        }
    }
}

impl Index {
    /// Whether a record that has an entry of `key` has it in its newest version, too; waits for who may change that.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Cancelled`; those of waiting; `Serialization` where whose key it is has ended the transaction.
    pub fn is_held(
        &self,
        txn: &Txn,
        heap: &Heap,
        key: &[u8],
        record: RecordId,
    ) -> Result<bool, StorageError> {
        match check_record(txn, heap, self, key, record) {
            Ok(()) => Ok(false),
            Err(StorageError::Unique { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// As [`check_record`] for an index that is filled: fails if `record` and `other` both have `key` in their newest versions;
/// waits for who may change that.
pub(super) fn check_pair(
    txn: &Txn,
    heap: &Heap,
    index: &Index,
    key: &[u8],
    (record, other): (RecordId, RecordId),
) -> Result<(), StorageError> {
    let shared = &txn.shared;
    'again: loop {
        if txn.cancel.load(Ordering::Relaxed) {
            return Err(StorageError::Cancelled);
        }
        // The first once more: it may have lost the key before the other one got it.
        for one in [record, other, record] {
            let (registration, _view) = txn.view_or_now();
            let seen = shared.locks.seen();
            match holder(shared, heap, index, key, one, txn.id)? {
                Holder::Nobody => return Ok(()),
                Holder::Current => {}
                Holder::Active(writer) => {
                    drop(registration);
                    txn.wait_end(writer, seen)?;
                    continue 'again;
                }
            }
        }
        return Err(StorageError::Unique { index: index.object(), record: other });
    }
}

/// Whether a key is held by two of `records`, as far as is known without waiting; one of them.
pub(super) fn held_twice(
    shared: &Shared,
    own: TxnId,
    heap: &Heap,
    index: &Index,
    key: &[u8],
    records: impl Iterator<Item = RecordId>,
) -> Result<Option<RecordId>, StorageError> {
    let mut held = false;
    for record in records {
        let found = holder(shared, heap, index, key, record, own)?;
        if matches!(found, Holder::Current | Holder::Active(_)) {
            if held {
                return Ok(Some(record));
            }
            held = true;
        }
    }
    Ok(None)
}

/// Until when what was checked in order stays so.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Checked {
    /// For good.
    Over,
    /// Until the transaction goes back to a savepoint: it stays due.
    SoFar,
}

/// Checks what is due at the end of a statement of this depth, or everything.
pub(crate) fn check_due(txn: &mut Txn, depth: Option<usize>, checked: Checked) -> Result<(), StorageError> {
    let (due, later): (Vec<Due>, Vec<Due>) = std::mem::take(&mut txn.unique.due)
        .into_iter()
        .partition(|due| depth.is_none() || due.depth == depth);
    txn.unique.due = later;
    let (dropped, due): (Vec<Due>, Vec<Due>) =
        due.into_iter().partition(|due| txn.unique.is_dropped(due.index.object()));
    if checked == Checked::SoFar {
        // The drop may be undone.
        txn.unique.due.extend(dropped.into_iter().filter(|due| due.depth.is_none()));
    }
    let (excluding, due): (Vec<Due>, Vec<Due>) = due.into_iter().partition(|due| due.unsettled.is_some());
    let mut failed = None;
    for check in &due {
        let mine = holder(&txn.shared, &check.heap, &check.index, &check.key, check.record, txn.id)?;
        if !matches!(mine, Holder::Current) {
            continue;
        }
        let records = {
            // One that was being filled may have gone with its transaction.
            let gate = check.heap.indexes.enter();
            match gate.iter().any(|listed| listed.object() == check.index.object()) {
                true => check.index.records_of(&txn.shared, &check.key)?,
                false => Vec::new(),
            }
        };
        for record in records {
            if record != check.record
                && let Err(error) = check_record(txn, &check.heap, &check.index, &check.key, record)
            {
                failed = Some(error);
                break;
            }
        }
        if failed.is_some() {
            break;
        }
    }
    let excluding = match failed.is_some() {
        true => excluding,
        false => check_excluding(txn, excluding, checked, &mut failed),
    };
    let due = due.into_iter().chain(excluding);
    if failed.is_some() || checked == Checked::SoFar {
        // If it failed the caller undoes the statement or the transaction; deferred checks stay due until then.
        txn.unique.due.extend(due.filter(|due| due.depth.is_none()));
    }
    txn.unique.count();
    txn.let_keys_go();
    failed.map_or(Ok(()), Err)
}

/// The indexes with keys that wait for the end of the transaction, and still are those of their records.
pub(crate) fn indexes_due(txn: &Txn) -> Result<Vec<ObjectId>, StorageError> {
    let mut found = Vec::new();
    for due in txn.unique.due.iter().filter(|due| due.depth.is_none()) {
        let index = due.index.object();
        if found.contains(&index) || txn.unique.is_dropped(index) {
            continue;
        }
        let its = holder(&txn.shared, &due.heap, &due.index, &due.key, due.record, txn.id)?;
        if matches!(its, Holder::Current) {
            found.push(index);
        }
    }
    Ok(found)
}

/// Checks records that have met others under exclusion constraints, in the order of their keys: what was checked is settled for
/// those behind it (XC2). Gives back those that stay due if they are checked so far only.
fn check_excluding(
    txn: &Txn,
    mut excluding: Vec<Due>,
    checked: Checked,
    failed: &mut Option<StorageError>,
) -> Vec<Due> {
    excluding.sort_by(|a, b| (a.index.object(), &a.key).cmp(&(b.index.object(), &b.key)));
    let mut over = 0;
    while over < excluding.len() {
        let index = Arc::clone(&excluding[over].index);
        let mut pending = Pending::default();
        let is_its = |due: &&Due| due.unsettled.is_some() && Arc::ptr_eq(&due.index, &index);
        excluding[over..]
            .iter()
            .chain(&txn.unique.due)
            .filter(is_its)
            .for_each(|due| pending.note(due.record));
        while let Some(due) = excluding.get_mut(over).filter(|due| Arc::ptr_eq(&due.index, &index)) {
            if let Err(error) = check_excluded(txn, due, &pending) {
                *failed = Some(error);
                return excluding;
            }
            if checked == Checked::Over {
                pending.settle(due.record);
                due.unsettled = None;
            }
            over += 1;
        }
    }
    excluding
}

fn check_excluded(txn: &Txn, due: &Due, pending: &Pending) -> Result<(), StorageError> {
    let Due { heap, index, record, key, .. } = due;
    let mine = holder(&txn.shared, heap, index, key, *record, txn.id)?;
    if !matches!(mine, Holder::Current) {
        return Ok(());
    }
    let found = {
        let gate = heap.indexes.enter();
        match gate.iter().any(|listed| listed.object() == index.object()) {
            true => exclusion::look_again(txn, heap, index, (key, *record), pending)?,
            false => return Ok(()),
        }
    };
    exclusion::settle(txn, heap, index, (key, *record), found, pending)
}
