//! Who waits for which transaction: an index of the waits, so that the end of a transaction costs those who waited for it
//! and nobody else.
//!
//! A1. A wait that the end of a transaction may end stands here under that transaction: the queue of a record if one in it
//!     saw the transaction as the record's writer, and an owner if it waits for the end itself. What has ended goes with
//!     its end; when nobody waits at all nothing stands here.

use std::cell::Cell;

use smallvec::SmallVec;

use super::table::{IsActive, State, Tag, Want};
use crate::page::TxnId;

/// What waits for one transaction.
#[derive(Default)]
pub(super) struct Awaited {
    /// Who runs it, once somebody has asked.
    pub(super) owner: Cell<Option<u64>>,
    /// Queues of records.
    pub(super) queues: SmallVec<[Tag; 2]>,
    /// Owners that wait for its end.
    pub(super) enders: SmallVec<[u64; 2]>,
}

impl State {
    /// What `owner` waits for from now on, if anything.
    pub(super) fn set_want(&mut self, owner: u64, want: Option<Want>) {
        let Some(state) = self.owners.get_mut(&owner) else { return };
        self.wanting += usize::from(want.is_some());
        self.wanting -= usize::from(state.want.is_some());
        state.want = want;
        match want {
            Some(Want::End(txn)) => {
                let awaited = self.awaited.entry(txn).or_default();
                if !awaited.enders.contains(&owner) {
                    awaited.enders.push(owner);
                }
            }
            Some(Want::Record { object, record, writer, .. }) if writer != TxnId::NONE => {
                let (awaited, tag) = (self.awaited.entry(writer).or_default(), Tag::Record(object, record));
                if !awaited.queues.contains(&tag) {
                    awaited.queues.push(tag);
                }
            }
            Some(Want::Record { .. } | Want::Lock { .. }) => {}
            None if self.wanting == 0 => self.awaited.clear(),
            None => {}
        }
    }

    /// The transaction that has changed a wanted record, or whose end is wanted, if it is in the way.
    pub(super) fn awaited_by(want: &Want, active: IsActive<'_>) -> Option<TxnId> {
        let (txn, passes) = match *want {
            Want::End(txn) => (txn, false),
            Want::Record { writer, passes, .. } => (writer, passes),
            Want::Lock { .. } => return None,
        };
        Some(txn).filter(|txn| *txn != TxnId::NONE && active(*txn, passes))
    }

    /// Who runs a transaction. Looks at all owners, once for each transaction that somebody waits for.
    pub(super) fn owner_of(&self, txn: TxnId) -> Option<u64> {
        let awaited = self.awaited.get(&txn);
        if let Some(owner) = awaited.and_then(|awaited| awaited.owner.get()) {
            return Some(owner);
        }
        let owner = self.owners.values().find(|other| other.core.txn() == txn).map(|other| other.core.id);
        if let Some(awaited) = awaited {
            awaited.owner.set(owner);
        }
        owner
    }

    /// Wakes those who wait for a transaction that has ended (`over`), or whose commit is logged, and whom nobody else
    /// blocks. Who stands behind others sleeps on: when they leave the queue they wake him.
    pub(super) fn wake_who_waits_for(&mut self, txn: TxnId, over: bool, active: IsActive<'_>) {
        let Some(awaited) = self.awaited.get(&txn) else { return };
        awaited.queues.iter().for_each(|tag| self.wake_queue(*tag, active));
        if !over {
            return;
        }
        let enders = awaited.enders.iter().filter_map(|owner| self.owners.get(owner));
        enders
            .filter(|owner| owner.want == Some(Want::End(txn)))
            .for_each(|owner| owner.core.wake.notify_all());
        self.awaited.remove(&txn);
    }

    /// A transaction is not in the way any more where it was, though it has not ended: who waits for it looks again.
    pub(super) fn step_back(&mut self, txn: TxnId) {
        let Some(awaited) = self.awaited.remove(&txn) else { return };
        let mut concerned = awaited.enders;
        for tag in awaited.queues {
            let queue = self.tags.get(&tag).into_iter().flat_map(|entry| &entry.queue);
            concerned.extend(queue.map(|(waiter, _)| *waiter));
        }
        for owner in concerned {
            let Some(other) = self.owners.get_mut(&owner) else { continue };
            if let Some(Want::Record { writer, .. } | Want::End(writer)) = &mut other.want
                && *writer == txn
            {
                *writer = TxnId::NONE;
                other.core.wake.notify_all();
            }
        }
    }
}
