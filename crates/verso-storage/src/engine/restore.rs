//! State kept in memory, as recovery restores it from the checkpoint and the log behind it.

use std::collections::{BTreeSet, HashSet};

use super::Engine;
use crate::StorageError;
use crate::mini::Mini;
use crate::page::bytes::{checked_u32, checked_u64};
use crate::page::{Flaw, Lsn, ObjectId, PageId, PageKind, TxnId, header};
use crate::recovery::{StateRedo, Store};
use crate::rules::{Rule, disabled};
use crate::shared::{HAS_HISTORY, HAS_UNLOGGED};
use crate::space::{ExtentKind, ExtentRun, SpaceMap};
use crate::txn::history::RestoredHistory;
use crate::txn::{RestoredTransactions, Transactions};
use crate::version;
use crate::version::store::{RestoredVersions, VersionStore};
use crate::wal::RecordKind;

/// Told where recovery is in the log, twice for each place; its error ends recovery.
pub type WatchRecovery<'w> = &'w mut dyn FnMut(Lsn) -> Result<(), StorageError>;

/// What recovery learns of the state kept in memory.
#[derive(Default)]
pub(super) struct Restoring<'w> {
    /// Is told where recovery is in the log, and may end it.
    pub(super) watch: Option<WatchRecovery<'w>>,
    pub(super) transactions: RestoredTransactions,
    pub(super) active: BTreeSet<TxnId>,
    /// Transactions that began behind the checkpoint and logged something: in any order, for an id is given before its
    /// first group is logged.
    seen: HashSet<TxnId>,
    /// Next transaction of the checkpoint.
    first: u64,
    pub(super) left_to_sweep: BTreeSet<TxnId>,
    pub(super) next_object: u32,
    pub(super) versions: RestoredVersions,
    /// Objects whose pages are not logged.
    pub(super) unlogged: BTreeSet<ObjectId>,
}

impl Restoring<'_> {
    /// The state before the first record of the log.
    pub(super) fn of_new_database() -> Self {
        Restoring { next_object: Engine::FIRST_USER_OBJECT, ..Restoring::default() }
    }
}

impl StateRedo for Restoring<'_> {
    fn checkpoint(&mut self, mut state: &[u8]) -> Result<(), Flaw> {
        let (transactions, active) = Transactions::decode(&mut state)?;
        self.transactions = transactions;
        self.active = active.into_iter().collect();
        self.first = self.transactions.next;
        self.next_object = checked_u32(state, 0)?;
        let count = checked_u32(state, 4)?;
        let (has_unlogged, has_history) = (count & HAS_UNLOGGED != 0, count & HAS_HISTORY != 0);
        let count = (count & !(HAS_UNLOGGED | HAS_HISTORY)) as usize;
        for index in 0..count {
            self.left_to_sweep.insert(TxnId(checked_u64(state, 8 + index * 8)?));
        }
        let short = || Flaw::from("checkpoint state cut short");
        let mut rest = state.get(8 + count * 8..).ok_or_else(short)?;
        if has_unlogged {
            let count = checked_u32(rest, 0)? as usize;
            for index in 0..count {
                self.unlogged.insert(ObjectId(checked_u32(rest, 4 + index * 4)?));
            }
            rest = rest.get(4 + count * 4..).ok_or_else(short)?;
        }
        if has_history {
            let length = checked_u32(rest, 0)? as usize;
            let past = rest.get(4..4 + length).ok_or_else(short)?;
            self.transactions.history =
                Some(RestoredHistory::decode(past, self.transactions.commit_counter)?);
            rest = &rest[4 + length..];
        }
        self.versions = RestoredVersions::decode(&mut rest)?;
        Ok(())
    }

    fn reached(&mut self, at: Lsn) -> Result<(), StorageError> {
        self.watch.as_mut().map_or(Ok(()), |watch| watch(at))
    }

    fn group(&mut self, txn: TxnId, _end: Lsn) {
        if txn != TxnId::NONE && txn.0 >= self.first && self.seen.insert(txn) {
            self.active.insert(txn);
            self.transactions.next = self.transactions.next.max(txn.0 + 1);
        }
    }

    fn state(&mut self, kind: RecordKind, txn: TxnId, _end: Lsn, payload: &[u8]) -> Result<(), Flaw> {
        if let Some(past) = &mut self.transactions.history {
            match kind {
                RecordKind::COMMIT => past.ended(txn, checked_u64(payload, 0).ok().map(|time| time as i64)),
                RecordKind::ROLLED_BACK => past.ended(txn, None),
                RecordKind::BACKED_OUT => past.ended(TxnId(checked_u64(payload, 0)?), None),
                _ => {}
            }
        }
        match kind {
            RecordKind::ROLLED_BACK => drop(self.transactions.undone.insert(txn)),
            RecordKind::BACKED_OUT => drop(self.transactions.undone.insert(TxnId(checked_u64(payload, 0)?))),
            _ => {}
        }
        match kind {
            RecordKind::COMMIT | RecordKind::ROLLED_BACK => {
                self.active.remove(&txn);
                self.transactions.limbo.remove(&txn);
            }
            RecordKind::PREPARED => {
                self.active.remove(&txn);
                self.transactions.limbo.insert(txn, payload.to_vec());
            }
            RecordKind::DEAD => {
                self.active.remove(&txn);
                self.transactions.limbo.remove(&txn);
                self.transactions.dead.insert(txn);
                if payload.first() == Some(&1) {
                    self.left_to_sweep.insert(txn);
                }
            }
            RecordKind::BACKED_OUT => {
                let txn = TxnId(checked_u64(payload, 0)?);
                self.transactions.dead.remove(&txn);
                self.active.remove(&txn); // a full log may lack its end
            }
            RecordKind::VERSION_RANGE => self.versions.note(txn, payload)?,
            RecordKind::SWEPT | RecordKind::RESTORE_POINT => {}
            RecordKind::UNLOGGED => {
                self.unlogged.insert(ObjectId(checked_u32(payload, 0)?));
            }
            RecordKind::UNLOGGED_GONE | RecordKind::LOADED => {
                self.unlogged.remove(&ObjectId(checked_u32(payload, 0)?));
            }
            other => return Err(Flaw::new(format!("unknown state record {other}"))),
        }
        Ok(())
    }
}

/// U2: gives back what unlogged objects hold, unless the database was closed in order, `complete`; the greatest number of one.
pub(super) fn restore_unlogged(
    store: &Store,
    space: &SpaceMap,
    unlogged: &BTreeSet<ObjectId>,
    complete: bool,
) -> Result<u32, StorageError> {
    for object in unlogged {
        if complete || disabled(Rule::U2) {
            store.core.unlogged.insert(*object);
            continue;
        }
        let mut mini = Mini::begin(&store.core, TxnId::NONE);
        mini.use_reserve();
        space.free_owner(&mut mini, *object)?;
        mini.state(RecordKind::UNLOGGED_GONE, &object.0.to_le_bytes())?;
        mini.commit()?;
    }
    Ok(unlogged.last().map_or(0, |object| object.0))
}

/// Whose entries a version page holds.
fn writers(store: &Store, page: PageId) -> Result<BTreeSet<TxnId>, StorageError> {
    let bytes = store.core.pool.read(page)?;
    if header::kind(&bytes) != Some(PageKind::Version) {
        return Err(StorageError::corrupt(page, ObjectId::SYSTEM, "not a version page"));
    }
    let entries = version::page::entries(&bytes);
    let entries = entries.map_err(|flaw| StorageError::corrupt(page, ObjectId::SYSTEM, flaw))?;
    Ok(entries.into_iter().map(|(_, entry)| entry.writer()).collect())
}

/// V8: keeps pages that name a dead transaction or hold a purge list, or (H3) that a state of the past needs; frees every
/// other extent of version pages.
pub(super) fn restore_versions(
    store: &Store,
    space: &SpaceMap,
    restored: RestoredVersions,
    dead: &BTreeSet<TxnId>,
    past: Option<&RestoredHistory>,
) -> Result<VersionStore, StorageError> {
    let extents: Vec<ExtentRun> =
        space.extents_of_kind(ExtentKind::Version).into_iter().flat_map(|(_, run)| run.by_unit()).collect();
    let pages: BTreeSet<PageId> = extents.iter().flat_map(|run| run.page_ids()).collect();
    let mut kept = restored.pages;
    let past = past.filter(|_| !disabled(Rule::H3));
    let is_needed = |txn: &TxnId| dead.contains(txn) || past.is_some_and(|past| past.is_missed(*txn));
    kept.retain(|page, info| {
        pages.contains(page) && (info.purge || disabled(Rule::V8Free) || info.txns.iter().any(is_needed))
    });
    for (page, info) in &mut kept {
        if past.is_some() && !info.purge && !info.txns.iter().any(|txn| dead.contains(txn)) {
            // The newest of its writers is listed, which is all that matters of those that have committed.
            continue;
        }
        match writers(store, *page) {
            Ok(writers) => {
                let unknown: Vec<TxnId> =
                    writers.into_iter().filter(|writer| !info.txns.contains(writer)).collect();
                info.txns.extend(unknown);
            }
            // It stays in use, and what waits for it goes on waiting.
            Err(error) if error.is_of_a_page() => store.core.pool.note_damage(&error),
            Err(error) => return Err(error),
        }
    }
    let is_busy = |run: &ExtentRun| run.page_ids().any(|page| kept.contains_key(&page));
    let (mut busy, whole): (Vec<ExtentRun>, Vec<ExtentRun>) = extents.into_iter().partition(is_busy);
    if !whole.is_empty() {
        let mut mini = Mini::begin(&store.core, TxnId::NONE);
        match space.free_runs(&mut mini, &whole) {
            Ok(()) => drop(mini.commit()?),
            // On a full disk the database opens all the same: they serve as they are.
            Err(StorageError::Full { .. }) => busy.extend(whole),
            Err(error) => return Err(error),
        }
    }
    let free: Vec<PageId> =
        busy.iter().flat_map(|run| run.page_ids()).filter(|page| !kept.contains_key(page)).collect();
    let incarnation = (store.core.wal.appended().0 >> 9) as u16;
    Ok(VersionStore::restore(kept, free.into_iter(), incarnation))
}
