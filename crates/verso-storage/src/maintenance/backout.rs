//! Back-out of the dead, from their own version pages.
//!
//! Damaged pages hold up only the dead transactions that need them: everything else of theirs is backed out, they stay
//! dead, and the next sweep or restart tries again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::heap::undo;
use crate::mini::Mini;
use crate::page::TxnId;
use crate::shared::Shared;
use crate::version::entry::EntryKind;
use crate::version::page as version_page;
use crate::wal::RecordKind;
use crate::workers::{Crew, Ranges, Stop, Watch};
use crate::{ObjectId, StorageError};

/// Data pages that are backed out between two rests.
const PAGES_BETWEEN_RESTS: usize = 32;
/// A rest is so many times as long as the work before it.
const REST: u32 = 3;

/// Data pages that are still backed out when the database is being closed; the rest waits for the next opening, as after a crash: who
/// stops a server does not wait for minutes.
const PAGES_WHILE_CLOSING: usize = 512;

/// Who backs out, and how eagerly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// Somebody waits for it.
    Full,
    /// Housekeeping: nobody waits, for readers step over what is dead and writers back out what they meet. It rests most
    /// of the time, so that who reads the table right after a rollback has memory and latches nearly to himself.
    Resting,
}

/// Backs out everything the dead transaction left, then forgets that it was dead; data pages visited.
///
/// # Errors
/// `Corrupt`, `Io`, `Poisoned`.
pub fn back_out(
    shared: &Arc<Shared>,
    txn: TxnId,
    pace: Pace,
    crew: &Crew,
    watch: Watch<'_>,
) -> Result<u64, StorageError> {
    let mut pages: BTreeSet<(ObjectId, u32)> = BTreeSet::new();
    let mut created = Vec::new();
    let mut purges = Vec::new();
    let mut damage = Damage { shared, met: false };
    for id in shared.versions.pages_of(txn) {
        let read = shared.core().pool.read(id).map(|page| page.to_vec());
        let Some(bytes) = damage.steps_over(read)? else { continue };
        let entries = version_page::entries(&bytes);
        let entries = entries.map_err(|flaw| StorageError::corrupt(id, ObjectId::SYSTEM, flaw));
        let Some(entries) = damage.steps_over(entries)? else { continue };
        for (offset, entry) in entries.iter().filter(|(_, entry)| entry.writer() == txn) {
            match entry.kind {
                EntryKind::CreateObject => created.push(entry.table()),
                EntryKind::DropObject => {}
                EntryKind::Update | EntryKind::Delete | EntryKind::Insert => {
                    pages.insert((entry.table(), entry.page_index()));
                }
            }
            if entry.needs_purge() {
                purges.push((id, *offset));
            }
        }
    }
    pages.retain(|(table, _)| !created.contains(table));
    let count = pages.len() as u64;
    match pace {
        Pace::Full => back_out_by(shared, txn, pages, crew, watch, &mut damage)?,
        Pace::Resting => back_out_resting(shared, txn, &pages, &mut damage)?,
    }
    if damage.met {
        shared.held_up.lock().insert(txn);
        return Ok(count);
    }
    // Behind the undo, for which a void entry is one that a savepoint's undo left, and before anybody may purge.
    for (id, offset) in purges {
        let mut mini = Mini::begin(shared.core(), TxnId::NONE);
        let handle = mini.write(id)?;
        mini.apply(handle, RecordKind::VERSION_VOID, &offset.to_le_bytes())?;
        mini.commit()?;
    }
    for object in created {
        damage.steps_over(shared.free_object(object))?;
    }
    if damage.met {
        shared.held_up.lock().insert(txn);
        return Ok(count);
    }
    shared.held_up.lock().remove(&txn);
    let mut mini = Mini::begin(shared.core(), TxnId::NONE);
    mini.state(RecordKind::BACKED_OUT, &txn.0.to_le_bytes())?;
    mini.commit_with(|_, _| {
        shared.left_to_sweep.lock().remove(&txn);
        shared.transactions.backed_out(txn);
    })?;
    shared.versions.ended(txn, &shared.transactions);
    Ok(count)
}

/// Backs out pages, each worker some of them.
fn back_out_by(
    shared: &Arc<Shared>,
    txn: TxnId,
    pages: BTreeSet<(ObjectId, u32)>,
    crew: &Crew,
    watch: Watch<'_>,
    damage: &mut Damage<'_>,
) -> Result<(), StorageError> {
    let pages: Vec<(ObjectId, u32)> = pages.into_iter().collect();
    let ranges = Ranges::new(pages.len() as u64, crew.size());
    crew.job().enter("backing out", pages.len() as u64);
    let (shared, job) = (Arc::clone(shared), Arc::clone(crew.job()));
    let met = crew.run(Stop::All, watch, move |part| {
        let mut damage = Damage { shared: &shared, met: false };
        while let Some(range) = ranges.take() {
            for (table, page_index) in &pages[range.start as usize..range.end as usize] {
                if let Some(Some(heap)) = damage.steps_over(shared.heap_if_there(*table))? {
                    damage.steps_over(undo::back_out_page(&shared, &heap, *page_index, txn))?;
                }
                job.advance(1);
                part.go_on()?;
            }
        }
        Ok(damage.met)
    })?;
    damage.met |= met.contains(&true);
    Ok(())
}

/// Backs out pages, and rests in between.
///
/// # Errors
/// `Closed` where the database is being closed and much is left.
fn back_out_resting(
    shared: &Arc<Shared>,
    txn: TxnId,
    pages: &BTreeSet<(ObjectId, u32)>,
    damage: &mut Damage<'_>,
) -> Result<(), StorageError> {
    let clock = &shared.env.clock;
    let mut since = clock.monotonic_nanos();
    let mut closing = 0;
    for (count, (table, page_index)) in pages.iter().enumerate() {
        let rests = (count + 1) % PAGES_BETWEEN_RESTS == 0;
        if shared.closed.load(Ordering::Acquire) {
            closing += 1;
            if closing > PAGES_WHILE_CLOSING {
                return Err(StorageError::Closed);
            }
        } else if rests {
            let worked = Duration::from_nanos(clock.monotonic_nanos().saturating_sub(since));
            clock.sleep(worked.min(Duration::from_millis(10)) * REST);
            since = clock.monotonic_nanos();
        }
        if let Some(Some(heap)) = damage.steps_over(shared.heap_if_there(*table))? {
            damage.steps_over(undo::back_out_page(shared, &heap, *page_index, txn))?;
        }
    }
    Ok(())
}

/// Damaged pages that were met on the way.
struct Damage<'s> {
    shared: &'s Shared,
    met: bool,
}

impl Damage<'_> {
    /// Notes an error that says that a page is damaged; others are given back.
    fn steps_over<T>(&mut self, result: Result<T, StorageError>) -> Result<Option<T>, StorageError> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(error) if error.is_of_a_page() => {
                self.shared.core().pool.note_damage(&error);
                self.met = true;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

/// Backs out every dead transaction, those left to sweep (F5) and those held up by damage only when sweep asks; data pages
/// visited.
///
/// # Errors
/// As [`back_out`].
pub fn back_out_all(
    shared: &Arc<Shared>,
    sweeping: bool,
    pace: Pace,
    crew: &Crew,
    watch: Watch<'_>,
) -> Result<u64, StorageError> {
    let mut pages = 0;
    for txn in shared.transactions.dead() {
        let left = || shared.left_to_sweep.lock().contains(&txn) || shared.held_up.lock().contains(&txn);
        if sweeping || !left() {
            pages += match back_out(shared, txn, pace, crew, watch) {
                // A checkpoint gives log back.
                Err(StorageError::Full { .. }) => {
                    shared.store.checkpoint(|| shared.collect())?;
                    back_out(shared, txn, Pace::Full, crew, watch)?
                }
                done => done?,
            };
        }
    }
    Ok(pages)
}
