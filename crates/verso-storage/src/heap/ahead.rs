//! Values that are too long to go with their record in one mini-transaction: they are written ahead of it, some pages at a
//! time, and the record's own mini-transaction only takes them over.
//!
//! ```text
//! root ─► placeholder ─(next)─► placeholder of another writer          the list of values that are being written
//!              └─(rest)─► page 2 ─► page 3 ─► …                        grows at its end
//!
//! with the record:  page 1, where the placeholder stood ─► page 2 ─► page 3 ─► …    an overflow chain; not in the list any more
//! ```
//!
//! N1. Every page of such a value is reachable from the list, from the mini-transaction that allocates it to the one that
//!     makes a record lead to it: no crash loses a page.
//! N2. Only statements under way have values in the list, and each knows its own. One that fails gives them back; what a
//!     crash has left goes back when the table is opened next.
//!
//! Latches: those of the record, then the root, then placeholders and pages of the chain.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use smallvec::SmallVec;

use super::overflow::{self, Part};
use super::root;
use super::table::Heap;
use super::unused::{self, Listed};
use super::value_slot::ValueSlot;
use crate::StorageError;
use crate::buffer::BufferPool;
use crate::mini::{Mini, PageHandle};
use crate::page::{PageId, TxnId, header};
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::transaction::Txn;

/// Bytes of a row's values that go with the record. Debug builds go both ways with little data.
pub(super) fn with_record(pool: &BufferPool) -> usize {
    overflow::together(pool).min(if cfg!(debug_assertions) { 32 << 10 } else { usize::MAX })
}

/// Most pages written in one mini-transaction.
const TOGETHER: usize = if cfg!(debug_assertions) { 8 } else { 64 };

/// A value whose pages are written, but for the first.
struct Chain {
    /// Which of the values handed to [`Ahead::write`].
    column: usize,
    /// The placeholder.
    first: PageId,
    incarnation: u16,
}

/// Values of one row that no record leads to yet; given back when dropped.
#[derive(Default)]
pub(super) struct Ahead {
    place: Option<(Arc<Shared>, Arc<Heap>)>,
    chains: SmallVec<[Chain; 1]>,
    /// Their bytes.
    bytes: usize,
}

impl Ahead {
    /// Writes values of a row of `heap`, each with its column, until what is left goes with the record: the longest first.
    ///
    /// # Errors
    /// `TooLarge`, `Full`, `Cancelled`, `Corrupt`, `Poisoned`.
    pub fn write(
        heap: &Arc<Heap>,
        txn: &mut Txn,
        mut values: Vec<(usize, &[u8])>,
    ) -> Result<Ahead, StorageError> {
        if let Some((_, value)) = values.iter().find(|(_, value)| value.len() > overflow::VALUE_MAX) {
            let (size, limit) = (value.len() as u64, overflow::VALUE_MAX as u64);
            return Err(StorageError::TooLarge { what: "a value".into(), size, limit });
        }
        let mut left: usize = values.iter().map(|(_, value)| value.len()).sum();
        let shared = Arc::clone(&txn.shared);
        let (with_record, quarter) = (with_record(&shared.core().pool), shared.page_size / 4);
        values.sort_unstable_by_key(|(column, value)| (std::cmp::Reverse(value.len()), *column));
        let mut ahead = Ahead { place: Some((shared, Arc::clone(heap))), chains: SmallVec::new(), bytes: 0 };
        for (column, value) in values {
            if left <= with_record || value.len() <= quarter {
                break;
            }
            ahead.write_value(txn, column, value)?;
            ahead.bytes += value.len();
            left -= value.len();
        }
        Ok(ahead)
    }

    /// Bytes that need not go with the record any more.
    pub fn bytes(&self) -> usize {
        // The first pages do.
        let room = self.place.as_ref().map_or(0, |(shared, _)| shared.page_size);
        self.bytes.saturating_sub(self.chains.len() * room)
    }

    /// Writes all of a value but what stands on its first page.
    fn write_value(&mut self, txn: &mut Txn, column: usize, value: &[u8]) -> Result<(), StorageError> {
        let Some((shared, heap)) = self.place.clone() else { return Ok(()) };
        let room = shared.page_size - header::SIZE;
        let together = TOGETHER.min(shared.core().pool.capacity() / 8).max(1);
        let incarnation = shared.incarnations.next();
        let mut rest = &value[room.min(value.len())..];
        let (mut first, mut last) = (None, None);
        while first.is_none() || !rest.is_empty() {
            if txn.cancel.load(Ordering::Relaxed) {
                return Err(StorageError::Cancelled);
            }
            let mut mini = Mini::begin(shared.core(), txn.id);
            mini.reserve((together * shared.page_size) as u64 * 2)?;
            let root = mini.write(heap.root)?;
            let end = last.or(first).map(|page| mini.write(page)).transpose()?;
            let wanted = rest.len().div_ceil(room).min(together) + usize::from(end.is_none());
            let mut pages = allocate(&mut mini, &shared, &heap, root, wanted)?;
            let placeholder = if end.is_none() { Some(pages.remove(0)) } else { None };
            let now = rest.chunks(room).take(pages.len());
            for (index, bytes) in now.enumerate() {
                let next = pages.get(index + 1).copied().unwrap_or(PageId::NONE);
                let remaining = rest.len() - index * room;
                let handle = mini.create(pages[index])?;
                overflow::put(&mut mini, handle, heap.object, Part { next, remaining, incarnation, bytes })?;
            }
            let next = pages.first().copied().unwrap_or(PageId::NONE);
            if let Some(placeholder) = placeholder {
                let handle = mini.create(placeholder)?;
                let list = root::written_head(mini.page(root));
                Listed { next: list, rest: next, incarnation }.put(&mut mini, handle, heap.object)?;
                if !disabled(Rule::N1) {
                    root::set_written_head(&mut mini, root, placeholder)?;
                }
                // The root is latched: who looks for what a crash has left finds it known.
                heap.written.lock().insert(placeholder);
                self.chains.push(Chain { column, first: placeholder, incarnation });
                first = Some(placeholder);
            } else if let Some(end) = end {
                match Listed::of(mini.page(end), heap.object) {
                    Some(listed) => Listed { rest: next, ..listed }.put(&mut mini, end, heap.object)?,
                    None => overflow::lead_to(&mut mini, end, next)?,
                }
            }
            let lsns = mini.commit()?;
            txn.wrote(lsns);
            shared.core().pool.prepare_ahead();
            last = pages.last().copied().or(last);
            rest = &rest[rest.len().min(pages.len() * room)..];
        }
        Ok(())
    }

    /// The reference to the value of a column, if it was written ahead: its first page gets its bytes, and it leaves the
    /// list. The table's root is latched; the mini-transaction makes a record lead to it.
    ///
    /// # Errors
    /// Those of the mini-transaction.
    pub fn take_over(
        &self,
        mini: &mut Mini<'_>,
        root: PageHandle,
        column: usize,
        value: &[u8],
    ) -> Result<Option<u64>, StorageError> {
        let Some((_, heap)) = &self.place else { return Ok(None) };
        let Some(chain) = self.chains.iter().find(|chain| chain.column == column) else { return Ok(None) };
        let Chain { first, incarnation, .. } = *chain;
        let (handle, listed) = unlist(mini, heap, root, first)?;
        let bytes = &value[..value.len().min(mini.page(handle).len() - header::SIZE)];
        let part = Part { next: listed.rest, remaining: value.len(), incarnation, bytes };
        overflow::put(mini, handle, heap.object, part)?;
        Ok(Some(ValueSlot::Overflow { page: first, incarnation }.encode()))
    }

    /// A record leads to all of them: the mini-transaction is committed.
    pub fn taken_over(&mut self) {
        if let Some((_, heap)) = &self.place {
            let mut written = heap.written.lock();
            for chain in self.chains.drain(..) {
                written.remove(&chain.first);
            }
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        let Some((shared, heap)) = &self.place else { return };
        for chain in self.chains.drain(..) {
            if let Err(error) = give_back(shared, heap, chain.first) {
                tracing::warn!(%error, page = chain.first.0, "pages of a value that was not stored are free after the next start");
            }
            heap.written.lock().remove(&chain.first);
        }
    }
}

/// Pages of the table whose root is latched: as many as there is room for, at least one.
fn allocate<'e>(
    mini: &mut Mini<'e>,
    shared: &'e Shared,
    heap: &Heap,
    root: PageHandle,
    wanted: usize,
) -> Result<SmallVec<[PageId; TOGETHER]>, StorageError> {
    let mut pages = SmallVec::new();
    while pages.len() < wanted {
        match root::allocate_page(mini, &shared.space, heap.object, root) {
            Ok(page) => pages.push(page),
            // What is allocated is written, so that it stands in the list.
            Err(StorageError::Full { .. }) if !pages.is_empty() => break,
            Err(error) => return Err(error),
        }
    }
    Ok(pages)
}

/// Takes a placeholder, latched then, out of the list of the table whose root is latched; what it said.
fn unlist(
    mini: &mut Mini<'_>,
    heap: &Heap,
    root: PageHandle,
    first: PageId,
) -> Result<(PageHandle, Listed), StorageError> {
    let corrupt =
        |page: PageId| StorageError::corrupt(page, heap.object, "not a value that is being written");
    let handle = mini.write(first)?;
    let listed = Listed::of(mini.page(handle), heap.object).ok_or_else(|| corrupt(first))?;
    let head = root::written_head(mini.page(root));
    let (mut before, mut at) = (None, head);
    while at != first && !disabled(Rule::N1) {
        let page = mini.write(at)?;
        let next = Listed::of(mini.page(page), heap.object).ok_or_else(|| corrupt(at))?.next;
        (before, at) = (Some(page), next);
    }
    if let Some(before) = before {
        overflow::lead_to(mini, before, listed.next)?;
    }
    // In any case: whoever counts the table's pages sees by the root that something has changed.
    root::set_written_head(mini, root, if before.is_some() { head } else { listed.next })?;
    Ok((handle, listed))
}

/// Gives the pages of a value back that no record leads to.
fn give_back(shared: &Shared, heap: &Heap, first: PageId) -> Result<(), StorageError> {
    let mut mini = Mini::begin(shared.core(), TxnId::NONE);
    mini.use_reserve();
    let root = mini.write(heap.root)?;
    let (handle, listed) = unlist(&mut mini, heap, root, first)?;
    let next = root::free_head(mini.page(root));
    Listed { next, ..listed }.put(&mut mini, handle, heap.object)?;
    root::set_free_head(&mut mini, root, first)?;
    mini.commit().map(drop)
}

impl Heap {
    /// Gives back what statements that a crash has ended had written ahead of their records (N2).
    ///
    /// # Errors
    /// Those of the mini-transactions.
    pub(crate) fn give_back_unfinished(&self, shared: &Shared) -> Result<(), StorageError> {
        if disabled(Rule::N2) {
            return Ok(());
        }
        loop {
            let found = {
                let root = shared.core().pool.read(self.root)?;
                let mut found = None;
                let head = root::written_head(&root);
                unused::each_page(&shared.core().pool, self.object, head, |page, is_rest| {
                    if !is_rest && !self.written.lock().contains(&page) {
                        found = Some(page);
                    }
                    found.is_none()
                })?;
                found
            };
            match found {
                Some(first) => give_back(shared, self, first)?,
                None => return Ok(()),
            }
        }
    }
}
