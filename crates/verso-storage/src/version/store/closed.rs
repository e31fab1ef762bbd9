//! Closed pages: what they wait for, and how they are retired.
//!
//! ```text
//! closed ─► waiting for a transaction that has not ended ─► ready at the greatest commit number in it ─► retired, free
//! ```
//!
//! V4. A page is retired only when every transaction with entries in it is committed at or below the horizon, or dead
//!     and fully backed out; a page waits in the list of the first of its transactions that has not ended.
//! V5. A page with a purge list is read at retirement; one without is freed unread.

use std::collections::BTreeSet;

use super::restart::range_payload;
use super::{Inner, VersionStore};
use crate::StorageError;
use crate::mini::Mini;
use crate::page::{PageId, TxnId};
use crate::rules::{Rule, disabled};
use crate::space::{ExtentRun, SpaceMap, UNIT_PAGES};
use crate::txn::Transactions;
use crate::wal::RecordKind;

impl VersionStore {
    /// A transaction has ended: the pages that waited for it wait for the next one, or are ready.
    pub fn ended(&self, txn: TxnId, transactions: &Transactions) {
        let mut inner = self.inner.lock();
        for page in inner.waiting.remove(&txn).unwrap_or_default() {
            inner.settle(page, transactions);
        }
        drop(inner);
        transactions.housekeeping.call();
    }

    /// Closes the pages of slots nobody uses, and shared ones, so that they can be retired too.
    pub fn close_idle(&self, transactions: &Transactions) {
        let mut inner = self.inner.lock();
        let mut pages: Vec<PageId> =
            inner.idle.iter_mut().filter_map(|slot| slot.page.take()).map(|(page, _)| page).collect();
        pages.extend(inner.shared.drain());
        pages.append(&mut inner.full);
        for page in pages {
            inner.settle(page, transactions);
        }
    }

    /// After restart: pages in use are closed.
    pub fn close_all(&self, transactions: &Transactions) {
        let mut inner = self.inner.lock();
        let mut pages: Vec<PageId> = inner.pages.keys().copied().collect();
        pages.sort_unstable();
        for page in pages {
            inner.settle(page, transactions);
        }
    }

    /// Takes up to `most` pages that nobody needs at `horizon`, or that nothing leads to (V9), out of the ready list, with
    /// their place in it and whether they have a purge list.
    pub fn take_ready(&self, horizon: u64, most: usize) -> Vec<(u64, PageId, bool)> {
        let horizon = if disabled(Rule::V4) { u64::MAX - 1 } else { horizon };
        let mut inner = self.inner.lock();
        let keys: Vec<(u64, PageId)> =
            inner.ready.range(..(horizon + 1, PageId(0))).take(most).map(|(key, ())| *key).collect();
        let rest = most - keys.len();
        let behind = inner.unlinked.range((horizon + 1, PageId(0))..).take(rest).copied();
        let keys: Vec<(u64, PageId)> = keys.iter().copied().chain(behind).collect();
        keys.into_iter()
            .map(|key| {
                inner.ready.remove(&key);
                inner.unlinked.remove(&key);
                let info = inner.pages.get_mut(&key.1);
                (
                    key.0,
                    key.1,
                    info.is_some_and(|info| {
                        info.ready = None;
                        info.purge
                    }),
                )
            })
            .collect()
    }

    /// Puts a page back that could not be retired now.
    pub fn put_back(&self, number: u64, page: PageId) {
        self.inner.lock().is_ready(number, page);
    }

    /// Keeps a page in use whose purge met damage.
    pub fn hold(&self, number: u64, page: PageId) {
        self.inner.lock().held.push((number, page));
    }

    /// Pages whose purge met damage are tried again.
    pub fn release_held(&self) {
        let mut inner = self.inner.lock();
        let held = std::mem::take(&mut inner.held);
        held.into_iter().for_each(|(number, page)| inner.is_ready(number, page));
    }

    /// Those of `extents` whose pages are all free: they are no longer the store's.
    pub fn take_unused(&self, extents: Vec<ExtentRun>) -> Vec<ExtentRun> {
        let mut inner = self.inner.lock();
        let mut unused = extents;
        unused.retain(|run| run.page_ids().all(|page| inner.free.contains(&page)));
        for page in unused.iter().flat_map(|run| run.page_ids()) {
            inner.free.remove(&page);
        }
        unused
    }

    /// Logs that `pages` hold nothing any more and frees whole extents of free pages.
    ///
    /// # Errors
    /// As the mini-transaction.
    pub fn retire<'e>(
        &'e self,
        mini: &mut Mini<'e>,
        space: &'e SpaceMap,
        pages: &[PageId],
    ) -> Result<(), StorageError> {
        for page in pages {
            mini.void(*page)?;
            mini.state(RecordKind::VERSION_RANGE, &range_payload(*page, TxnId::NONE, false))?;
        }
        let mut free: BTreeSet<PageId> = pages.iter().copied().collect();
        let mut whole = Vec::new();
        {
            let mut inner = self.inner.lock();
            // A few extents stay at hand.
            let spare = (inner.free.len() + free.len()).saturating_sub(8 * UNIT_PAGES as usize);
            let firsts: BTreeSet<u32> = pages.iter().map(|page| page.0 / UNIT_PAGES * UNIT_PAGES).collect();
            for first in firsts.into_iter().map(PageId) {
                let run = ExtentRun { first, pages: UNIT_PAGES };
                if whole.len() * UNIT_PAGES as usize + UNIT_PAGES as usize <= spare
                    && run.page_ids().all(|page| free.contains(&page) || inner.free.contains(&page))
                {
                    run.page_ids().for_each(|page| {
                        free.remove(&page);
                        inner.free.remove(&page);
                    });
                    whole.push(run);
                }
            }
        }
        if !whole.is_empty() {
            space.free_runs(mini, &whole)?;
        }
        let retired = pages.to_vec();
        mini.on_commit(move |_, _| {
            let mut inner = self.inner.lock();
            retired.iter().for_each(|page| {
                inner.pages.remove(page);
            });
        });
        // Not before their frames are dropped: who gets a page fills it at once.
        mini.on_release(move || self.inner.lock().free.extend(free));
        Ok(())
    }
}

impl Inner {
    /// Puts a closed page where it waits (V4).
    pub(super) fn settle(&mut self, page: PageId, transactions: &Transactions) {
        let Some(info) = self.pages.get_mut(&page) else { return };
        let (mut number, mut all_committed) = (0, true);
        let mut newest = None;
        for txn in &info.txns {
            // One look at each: a commit may be published at any moment, and its number counts then. Who has none yet says
            // afterwards that it has ended. The dead have one when they are backed out.
            match transactions.commit_number(*txn) {
                Some(committed) => {
                    if newest.is_none() || committed > number {
                        newest = Some(*txn);
                    }
                    number = number.max(committed);
                }
                None if disabled(Rule::V4Unfinished) => all_committed = false,
                None => {
                    self.waiting.entry(*txn).or_default().push(page);
                    return;
                }
            }
        }
        if all_committed {
            info.all_committed = true;
            // A restart must know which states of the past need it, too (H3).
            let listed = newest.filter(|_| info.purge || transactions.keeps_history());
            info.txns = listed.into_iter().collect();
        }
        self.is_ready(number, page);
    }

    /// Puts a page into the list of those that wait for the horizon, and of those that need not (V9).
    fn is_ready(&mut self, number: u64, page: PageId) {
        self.ready.insert((number, page), ());
        let Some(info) = self.pages.get_mut(&page) else { return };
        info.ready = Some(number);
        if info.is_unlinked() {
            self.unlinked.insert((number, page));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use smallvec::SmallVec;
    use verso_env::Env;

    use super::*;
    use crate::page::Lsn;
    use crate::txn::RestoredTransactions;
    use crate::version::store::PageInfo;

    /// A page is closed at the very moment at which the commit in it is published: whoever is first, it is not ready before
    /// snapshots without that commit are gone.
    #[test]
    fn v4_a_page_closed_while_its_commit_is_published_waits_for_the_commits_number() {
        const ROUNDS: u64 = 30_000;
        // Spinning tells at once; on a single processor the other one has to get it.
        let until = |turn: &AtomicU64, round| {
            for spun in 1_u32.. {
                if turn.load(Ordering::Acquire) >= round {
                    return;
                }
                if spun % 1024 == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
            }
        };
        let transactions = Arc::new(Transactions::new(RestoredTransactions::default()));
        let store = Arc::new(VersionStore::default());
        let (go, done) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let publisher = {
            let (transactions, go, done) = (Arc::clone(&transactions), Arc::clone(&go), Arc::clone(&done));
            Env::real().spawn("publisher", move || {
                for round in 1..=ROUNDS {
                    until(&go, round);
                    transactions.publish_durable(Lsn(round));
                    done.store(round, Ordering::Release);
                }
            })
        };
        for round in 1..=ROUNDS {
            let (txn, page) = (transactions.begin_write(), PageId(round as u32));
            transactions.mark_committing(txn, Lsn(round));
            let info = PageInfo { txns: SmallVec::from_slice(&[txn]), ..PageInfo::default() };
            store.inner.lock().pages.insert(page, info);
            go.store(round, Ordering::Release);
            // At another moment in each round.
            for _ in 0..round % 64 {
                std::hint::spin_loop();
            }
            store.inner.lock().settle(page, &transactions);
            until(&done, round);
            store.ended(txn, &transactions);
            let number = transactions.commit_number(txn).unwrap();
            assert!(store.inner.lock().ready.remove(&(number, page)).is_some(), "round {round}");
        }
        publisher.join().unwrap();
    }
}
