//! Giving locks back: at the end of a transaction or of its commit's way into the log, at a rollback to a savepoint, by
//! a session; and waking who may go on then.

use std::sync::atomic::{Ordering, fence};

use super::manager::LockManager;
use super::owner::OwnerCore;
use super::table::{Granted, State, Tag};
use crate::page::TxnId;

impl LockManager {
    /// The owner's transaction has ended, which its state says already: its locks go and who waited for it goes on.
    pub(crate) fn end(&self, owner: &OwnerCore) {
        let txn = owner.txn();
        owner.txn.store(0, Ordering::Release);
        owner.mark.store(0, Ordering::Relaxed);
        let elsewhere = {
            let mut near = owner.near.lock();
            near.tables.clear();
            std::mem::take(&mut near.elsewhere)
        };
        // Either the waiter sees the new state, or we see that somebody waits.
        fence(Ordering::SeqCst);
        if elsewhere {
            self.release_records(owner.id, 0);
            let session_locks = self.release_where(owner, |granted| granted.txn = 0);
            owner.near.lock().elsewhere |= session_locks;
        }
        if txn != TxnId::NONE && self.waiting.load(Ordering::SeqCst) > 0 {
            let mut state = self.state.lock();
            state.wake_who_waits_for(txn, true, &|txn, passes| self.is_active(txn, passes));
        }
        owner.logged.store(false, Ordering::Release);
        owner.saw_logged.store(false, Ordering::Relaxed);
    }

    /// The commit of the owner's transaction is in the log, which its state says already: changes that waited for it go
    /// on (T3-logged).
    pub(crate) fn logged(&self, owner: &OwnerCore) {
        owner.logged.store(true, Ordering::Release);
        // Either the waiter sees that, or we see that somebody waits.
        fence(Ordering::SeqCst);
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let mut state = self.state.lock();
        let active = |txn, passes| self.is_active(txn, passes);
        state.wake_who_waits_for(owner.txn(), false, &active);
        let Some(known) = state.owners.get(&owner.id).filter(|_| owner.near.lock().elsewhere) else { return };
        for (object, page) in &known.pages {
            let locks = state.page_locks(*object, *page).iter().filter(|lock| lock.owner == owner.id);
            locks.for_each(|lock| state.wake_queues(*object, *page, &lock.slots, &active));
        }
        known.ranges.iter().for_each(|object| state.wake_all_queues(*object, &active));
    }

    /// The owner's transaction was rolled back to a savepoint: what was locked at its mark or later goes, and who waited
    /// for a record that it had changed looks again.
    pub(crate) fn release_since(&self, owner: &OwnerCore, mark: u32) {
        let elsewhere = {
            let mut near = owner.near.lock();
            near.tables.retain(|(.., since)| *since < mark);
            near.elsewhere
        };
        if elsewhere {
            self.release_records(owner.id, mark);
            self.release_where(owner, |granted| {
                if granted.since >= mark {
                    granted.txn = 0;
                }
            });
        }
        self.look_again(owner);
    }

    /// The owner's transaction has stepped back from records that it had changed: who waits for one of them, or for a key that
    /// it had, looks whether it is free now.
    pub(crate) fn look_again(&self, owner: &OwnerCore) {
        let txn = owner.txn();
        self.steps_back.fetch_add(1, Ordering::SeqCst);
        fence(Ordering::SeqCst);
        if txn == TxnId::NONE || self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        self.state.lock().step_back(txn);
    }

    /// Releases the owner's record locks that bear `since` or a later mark.
    fn release_records(&self, owner: u64, since: u32) {
        let mut state = self.state.lock();
        let Some(known) = state.owners.get_mut(&owner) else { return };
        let pages = std::mem::take(&mut known.pages);
        let mut ranges = std::mem::take(&mut known.ranges);
        let touched_whole = ranges.clone();
        let (mut touched, mut left) = (Vec::new(), Vec::new());
        for (object, page) in pages {
            let Some(table) = state.records.get_mut(&object) else { continue };
            let unlocked = table.unlock_page(page, |lock| lock.owner == owner && lock.since >= since);
            if table.pages.get(&page).is_some_and(|locks| locks.iter().any(|lock| lock.owner == owner)) {
                left.push((object, page));
            }
            touched.push((object, page, unlocked));
        }
        ranges.retain(|object| {
            let Some(table) = state.records.get_mut(object) else { return false };
            table.unlock_ranges(owner, since);
            table.ranges.keys().any(|(holder, _)| *holder == owner)
        });
        if let Some(known) = state.owners.get_mut(&owner) {
            (known.pages, known.ranges) = (left, ranges);
        }
        let active = |txn, passes| self.is_active(txn, passes);
        for (object, page, unlocked) in &touched {
            unlocked.iter().for_each(|slots| state.wake_queues(*object, *page, slots, &active));
        }
        touched_whole.iter().for_each(|object| state.wake_all_queues(*object, &active));
        for object in touched.iter().map(|(object, ..)| *object).chain(touched_whole) {
            if state.records.get(&object).is_some_and(|table| table.count.load(Ordering::Relaxed) == 0) {
                state.records.remove(&object);
            }
        }
    }

    /// Gives an advisory lock of the session back; whether it was held.
    pub(super) fn release_one(&self, owner: &OwnerCore, tag: Tag, mode: u8) -> bool {
        let mut state = self.state.lock();
        let Some(entry) = state.tags.get_mut(&tag) else { return false };
        let own =
            |granted: &&mut Granted| granted.owner == owner.id && granted.mode == mode && granted.session > 0;
        let Some(granted) = entry.granted.iter_mut().find(own) else { return false };
        granted.session -= 1;
        self.drop_unheld(&mut state, owner.id, tag);
        true
    }

    /// Whether the owner has a lock for its session and for its transaction as well.
    pub(crate) fn holds_twice(&self, owner: &OwnerCore) -> bool {
        let state = self.state.lock();
        let tags = state.owners.get(&owner.id).into_iter().flat_map(|owner| &owner.tags);
        tags.filter_map(|tag| state.tags.get(tag)).any(|entry| {
            let own = || entry.granted.iter().filter(|granted| granted.owner == owner.id);
            own().any(|granted| granted.session > 0) && own().any(|granted| granted.txn > 0)
        })
    }

    /// Gives all advisory locks of the session back.
    pub(crate) fn release_session(&self, owner: &OwnerCore) {
        self.release_where(owner, |granted| granted.session = 0);
    }

    /// Whether the owner keeps others.
    fn release_where(&self, owner: &OwnerCore, clear: impl Fn(&mut Granted)) -> bool {
        let mut state = self.state.lock();
        let tags = state.owners.get(&owner.id).map(|owner| owner.tags.clone()).unwrap_or_default();
        for tag in tags {
            if let Some(entry) = state.tags.get_mut(&tag) {
                entry.granted.iter_mut().filter(|granted| granted.owner == owner.id).for_each(&clear);
            }
            self.drop_unheld(&mut state, owner.id, tag);
        }
        state.owners.get(&owner.id).is_some_and(|owner| !owner.tags.is_empty())
    }

    /// Removes grants that no scope holds any more and wakes who waited for them.
    fn drop_unheld(&self, state: &mut State, owner: u64, tag: Tag) {
        let mut gone = false;
        let mut left = false;
        if let Some(entry) = state.tags.get_mut(&tag) {
            entry.granted.retain(|granted| {
                let its = granted.owner == owner;
                let keep = !its || granted.session + granted.txn > 0;
                if !keep {
                    gone = true;
                    if let Some(object) = self.strong_object(tag, granted.mode) {
                        self.stripe(object).fetch_sub(1, Ordering::SeqCst);
                    }
                }
                left |= its && keep;
                keep
            });
        }
        if gone {
            if !left && let Some(owner) = state.owners.get_mut(&owner) {
                owner.tags.remove(&tag);
            }
            state.wake_queue(tag, &|txn, passes| self.is_active(txn, passes));
            state.drop_if_empty(tag);
        }
    }
}
