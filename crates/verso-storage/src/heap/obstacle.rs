//! What stands in the way of a change, and locks on own records whose entries do not tell that their key changes.
//!
//! A writer that finds another active writer, or an explicit lock, waits; a dead writer is backed out first; one that committed
//! behind the snapshot's back is a conflict.

use smallvec::SmallVec;

use super::apply;
use super::layout::{MAX_WRITER, PageLayout};
use super::owners::Owners;
use super::slots::Slots;
use super::table::Heap;
use crate::StorageError;
use crate::lock::RecordLockMode;
use crate::page::TxnId;
use crate::page::bytes::u64_at;
use crate::rules::{Rule, disabled};
use crate::shared::Shared;
use crate::txn::transaction::Txn;
use crate::txn::{ReadView, TxnState};
use crate::version::entry::VersionPointer;

/// What stands in the way of a change.
pub(super) enum Obstacle {
    /// A writer that has not ended, or (the own transaction, or none) an explicit lock.
    Occupied { slot: u16, writer: TxnId },
    /// What a dead writer left.
    Dead(TxnId),
    /// The record was changed behind the snapshot's back; whether there still is one.
    Conflict { slot: u16, by: TxnId, live: bool },
}

impl Heap {
    /// Locks those of the transaction's own records whose entries do not say that their key changes, though it does now:
    /// what the change adds to them may be no entry at all (V3).
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    pub(super) fn lock_hidden(
        &self,
        shared: &Shared,
        txn: &Txn,
        page: &[u8],
        layout: &PageLayout,
        page_index: u32,
        own: &[u16],
        passes: bool,
    ) -> Result<(), StorageError> {
        let mut hidden: SmallVec<[u16; 8]> = SmallVec::new();
        for slot in own {
            let back = VersionPointer(u64_at(page, layout.back + usize::from(*slot) * 8));
            if self.strength(shared, txn.id, *slot, back)? != RecordLockMode::Update {
                hidden.push(*slot);
            }
        }
        if !hidden.is_empty() {
            let mode = RecordLockMode::Update;
            let denied =
                shared.locks.lock_slots(&txn.owner, self, page_index, &hidden, mode, passes, |_| true);
            debug_assert_eq!(denied, None, "nobody stood in the way under the same latch");
        }
        Ok(())
    }

    /// The first that stands in the way.
    #[allow(clippy::too_many_arguments, reason = "all of them describe one page")]
    pub(super) fn obstacle(
        &self,
        shared: &Shared,
        txn: &Txn,
        view: &ReadView,
        page: &[u8],
        layout: &PageLayout,
        page_index: u32,
        slots: &[u16],
        owners: &Owners,
        strength: RecordLockMode,
    ) -> Option<Obstacle> {
        let own = txn.id;
        let undisturbed = TxnId(u64_at(page, MAX_WRITER)) < view.all_below();
        let live = |slot| apply::is_live(page, layout, slot);
        let stands = |writer| {
            !undisturbed && writer != own && !view.visible_committed(writer) && !disabled(Rule::FirstUpdater)
        };
        let obstacle = |slot, writer| {
            Some(match shared.transactions.state(writer) {
                TxnState::Committed => Obstacle::Conflict { slot, by: writer, live: live(slot) },
                TxnState::Active if view.sees_logged() && shared.transactions.is_logged(writer) => {
                    Obstacle::Conflict { slot, by: writer, live: live(slot) }
                }
                TxnState::Active | TxnState::Limbo => Obstacle::Occupied { slot, writer },
                TxnState::Dead => Obstacle::Dead(writer),
            })
        };
        if let Owners::Alike((writer, _)) = owners {
            let writer = TxnId(*writer);
            if stands(writer) {
                return obstacle(slots[0], writer);
            }
            if let Some(slot) = apply::first_dead(page, layout, Slots::from_list(slots)) {
                return Some(Obstacle::Conflict { slot, by: writer, live: false });
            }
        } else {
            let mut last = TxnId::NONE;
            for (rank, slot) in slots.iter().enumerate() {
                let writer = TxnId(owners.get(rank).0);
                if writer != last && stands(writer) {
                    return obstacle(*slot, writer);
                }
                last = writer;
                if !live(*slot) {
                    return Some(Obstacle::Conflict { slot: *slot, by: writer, live: false });
                }
            }
        }
        // R1: the page's latch orders this with those who lock.
        let (pages, passes) = (self.locks_pages(), view.sees_logged());
        if self.explicit_locks.load(std::sync::atomic::Ordering::Relaxed) == 0 && !pages {
            return None;
        }
        let is_own = |slot| u64_at(page, layout.writer + usize::from(slot) * 8) == own.0;
        let slot = if pages {
            shared.locks.lock_slots(&txn.owner, self, page_index, slots, strength, passes, is_own)?
        } else {
            shared.locks.denied(&txn.owner, self.object, page_index, slots, strength, passes, is_own)?
        };
        Some(Obstacle::Occupied { slot, writer: if is_own(slot) { own } else { TxnId::NONE } })
    }
}
