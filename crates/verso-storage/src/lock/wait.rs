//! Waiting: until nobody is in the way, a circle is closed, or somebody says that it is enough.

use std::sync::Arc;
use std::sync::atomic::{Ordering, fence};
use std::time::Duration;

use verso_env::sync::MutexGuard;

use super::graph;
use super::manager::{LockManager, Request};
use super::mode::WaitPolicy;
use super::owner::OwnerCore;
use super::table::{State, Want};
use crate::StorageError;
use crate::page::TxnId;
use crate::txn::TxnState;

/// What is waited for in one go, when only time is: clocks take no more than some centuries.
const SLEEP_MAX: Duration = Duration::from_secs(3600);

impl LockManager {
    /// Whether a transaction has not ended: for those who pass one whose commit is logged, and for those who do not.
    pub(super) fn is_active(&self, txn: TxnId, passes: bool) -> bool {
        matches!(self.transactions.state(txn), TxnState::Active | TxnState::Limbo)
            && !(passes && self.transactions.is_logged(txn))
    }

    /// Waits until nobody blocks `want`. A queue is joined, and left by the caller.
    pub(super) fn block(
        &self,
        state: &mut MutexGuard<'_, State>,
        owner: &Arc<OwnerCore>,
        want: Want,
        request: Request,
    ) -> Result<bool, StorageError> {
        // The owner of a transaction in doubt may be gone, so that nobody seems to be in the way.
        self.failed.check()?;
        let active = |txn, passes| self.is_active(txn, passes);
        if !state.is_blocked(owner.id, &want, &active) {
            // A place in the queue all the same, for the caller has yet to take what it may have now.
            if matches!(want, Want::Record { .. }) {
                state.enqueue(owner.id, &want, false);
            }
            return Ok(true);
        }
        match request.policy {
            WaitPolicy::NoWait => return Err(StorageError::LockNotAvailable),
            WaitPolicy::SkipLocked => return Ok(false),
            WaitPolicy::Block => {}
        }
        let deadline = request.timeout.map(|timeout| {
            self.clock.monotonic_nanos().saturating_add(u64::try_from(timeout.as_nanos()).unwrap_or(u64::MAX))
        });
        state.enqueue(owner.id, &want, false);
        debug_assert!(
            state.owners.get(&owner.id).is_none_or(|owner| owner.want.is_none()),
            "an owner waits for one thing at a time (O2)"
        );
        state.set_want(owner.id, Some(want));
        if let Some(tag) = want.tag().filter(|tag| state.is_followed(owner.id, *tag)) {
            // Who holds what this one wants goes before it, and so perhaps before those behind it, too.
            state.wake_queue(tag, &active);
        }
        self.waits.fetch_add(1, Ordering::Relaxed);
        self.waiting.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        let began = self.clock.monotonic_nanos();
        let result = loop {
            // Whom it waits for may have stepped back from the record meanwhile.
            let want = state.owners.get(&owner.id).and_then(|owner| owner.want).unwrap_or(want);
            if !state.is_blocked(owner.id, &want, &active) {
                break Ok(true);
            }
            if owner.cancel.load(Ordering::Acquire) {
                break Err(StorageError::Cancelled);
            }
            if let Err(error) = self.failed.check() {
                break Err(error);
            }
            if let Some(circle) = graph::cycle(state, owner.id, &active) {
                match graph::rearrange(state, owner.id, &circle, &active) {
                    Ok(queues) => queues.iter().for_each(|tag| state.wake_queue(*tag, &active)),
                    Err(detail) => {
                        let victim = owner.txn();
                        self.deadlocks.fetch_add(1, Ordering::Relaxed);
                        break Err(StorageError::Deadlock { victim, detail: detail.into() });
                    }
                }
                // It may be the one that goes first now.
                continue;
            }
            match deadline.map(|deadline| deadline.saturating_sub(self.clock.monotonic_nanos())) {
                None => owner.wake.wait(state),
                Some(0) => break Err(StorageError::LockTimeout),
                Some(nanos) => {
                    owner.wake.wait_for(state, Duration::from_nanos(nanos));
                }
            }
        };
        let nanos = self.clock.monotonic_nanos().saturating_sub(began);
        self.waited.took(nanos);
        owner.waited.took(nanos);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
        state.set_want(owner.id, None);
        if result.is_err()
            && let Some(tag) = want.tag()
            && state.dequeue(owner.id, tag)
        {
            state.wake_queue(tag, &active);
        }
        result
    }

    /// Waits for nobody, until the time is over or the owner is cancelled.
    pub(super) fn sleep(&self, owner: &OwnerCore, duration: Duration) -> Result<(), StorageError> {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let deadline = self.clock.monotonic_nanos().saturating_add(nanos);
        let mut state = self.state.lock();
        loop {
            if owner.cancel.load(Ordering::Acquire) {
                return Err(StorageError::Cancelled);
            }
            match deadline.saturating_sub(self.clock.monotonic_nanos()) {
                0 => return Ok(()),
                // No longer than a condition variable can wait.
                nanos => owner.wake.wait_for(&mut state, Duration::from_nanos(nanos).min(SLEEP_MAX)),
            };
        }
    }

    /// Ends all waits, now and to come, with `Poisoned`: a transaction whose commit failed keeps its locks, because nobody
    /// knows whether it is committed.
    pub(crate) fn fail(&self, why: &StorageError) {
        self.failed.set(Some(why));
        let state = self.state.lock();
        state.owners.values().for_each(|owner| owner.core.wake.notify_all());
    }
}
