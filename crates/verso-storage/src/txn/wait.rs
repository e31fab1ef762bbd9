//! Who waits for whom, and the locks on whole objects.
//!
//! W1. A waiting transaction waits for another's end or for an object. Whom the latter means is looked up in the lock
//!     table when asked, so a lock granted later needs no new edge.
//! W2. Only a transaction that does not wait gets locks, so only a new wait can close a cycle; who closes it gives way.
//! W3. Shared locks (changes of rows) go with each other, exclusive ones (changes of the definition) with none. A lock
//!     is its transaction's until that ends; asking again is free, and a shared one can become exclusive.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use verso_env::sync::Condvar;

use crate::page::{ObjectId, TxnId};

/// What a transaction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// The end of a transaction.
    End(TxnId),
    /// A lock on an object.
    Lock { object: ObjectId, exclusive: bool },
}

/// The locks on objects.
#[derive(Default)]
pub(super) struct ObjectLocks {
    /// Per object its holders, and whether exclusively.
    holders: HashMap<ObjectId, BTreeMap<TxnId, bool>>,
    held: HashMap<TxnId, Vec<ObjectId>>,
}

impl ObjectLocks {
    /// Gives the lock, which nobody blocks.
    pub(super) fn grant(&mut self, txn: TxnId, object: ObjectId, exclusive: bool) {
        match self.holders.entry(object).or_default().entry(txn) {
            std::collections::btree_map::Entry::Occupied(mut held) => *held.get_mut() |= exclusive,
            std::collections::btree_map::Entry::Vacant(new) => {
                new.insert(exclusive);
                self.held.entry(txn).or_default().push(object);
            }
        }
    }

    /// Takes all locks of `txn` away and returns their objects.
    pub(super) fn release(&mut self, txn: TxnId) -> Vec<ObjectId> {
        let objects = self.held.remove(&txn).unwrap_or_default();
        for object in &objects {
            if let Some(holders) = self.holders.get_mut(object) {
                holders.remove(&txn);
                if holders.is_empty() {
                    self.holders.remove(object);
                }
            }
        }
        objects
    }

    fn blockers(&self, txn: TxnId, object: ObjectId, exclusive: bool) -> Vec<TxnId> {
        let Some(holders) = self.holders.get(&object) else { return Vec::new() };
        // An exclusive holder has nobody beside it, so asking again finds no other.
        let others = holders.iter().filter(|(holder, _)| **holder != txn);
        others.filter(|(_, held)| exclusive || **held).map(|(holder, _)| *holder).collect()
    }
}

struct Waiting {
    target: Target,
    wake: Arc<Condvar>,
}

/// The wait-for graph.
#[derive(Default)]
pub(super) struct Waits {
    waiting: BTreeMap<(TxnId, u64), Waiting>,
    next_key: u64,
}

impl Waits {
    /// Notes a wait; the condition variable is notified when it may be over.
    pub(super) fn add(&mut self, waiter: TxnId, target: Target) -> ((TxnId, u64), Arc<Condvar>) {
        let wake = Arc::new(Condvar::new());
        let key = (waiter, self.next_key);
        self.next_key += 1;
        self.waiting.insert(key, Waiting { target, wake: wake.clone() });
        (key, wake)
    }

    /// The wait is over.
    pub(super) fn remove(&mut self, key: (TxnId, u64)) {
        self.waiting.remove(&key);
    }

    /// `txn` ended, or `released` has fewer holders: wakes whom that concerns.
    pub(super) fn wake(&self, txn: TxnId, released: &[ObjectId]) {
        for waiting in self.waiting.values() {
            let concerned = match waiting.target {
                Target::End(holder) => holder == txn,
                Target::Lock { object, .. } => released.contains(&object),
            };
            if concerned {
                waiting.wake.notify_all();
            }
        }
    }

    /// Number of waits.
    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.waiting.len()
    }

    /// Whether `waiter` waiting for `target` would wait for itself.
    pub(super) fn closes_cycle(
        &self,
        locks: &ObjectLocks,
        active: &BTreeSet<TxnId>,
        waiter: TxnId,
        target: Target,
    ) -> bool {
        let mut seen = BTreeSet::new();
        let mut open = blockers(locks, active, waiter, target);
        while let Some(txn) = open.pop() {
            if txn == waiter {
                return true;
            }
            if seen.insert(txn) {
                for (_, waiting) in self.waiting.range((txn, 0)..=(txn, u64::MAX)) {
                    open.extend(blockers(locks, active, txn, waiting.target));
                }
            }
        }
        false
    }
}

/// The transactions in the way of `target`; none means that the wait is over.
pub(super) fn blockers(
    locks: &ObjectLocks,
    active: &BTreeSet<TxnId>,
    waiter: TxnId,
    target: Target,
) -> Vec<TxnId> {
    match target {
        Target::End(holder) => active.get(&holder).copied().into_iter().collect(),
        Target::Lock { object, exclusive } => locks.blockers(waiter, object, exclusive),
    }
}
