//! What others may see of the locks.

use super::advisory::AdvisoryKey;
use super::manager::LockManager;
use super::mode::{RecordLockMode, TableLockMode};
use super::table::{Tag, Want};
use crate::page::{ObjectId, RecordId, TxnId};

/// What is locked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockTarget {
    /// A table.
    Table(ObjectId),
    /// Records of a page: the first one and how many.
    Records {
        /// The table.
        object: ObjectId,
        /// The first of them.
        first: RecordId,
        /// How many.
        count: u32,
    },
    /// Whole pages of a table, by their numbers in its directory.
    Pages {
        /// The table.
        object: ObjectId,
        /// The first of them.
        first: u32,
        /// The last of them.
        last: u32,
    },
    /// A transaction's end; a running one holds its own.
    Transaction(TxnId),
    /// An advisory lock.
    Advisory(AdvisoryKey),
    /// A name of the catalog, that of something new or of a schema, by a number made of it.
    Name(u64),
}

/// One lock, held or wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockInfo {
    /// What is locked.
    pub target: LockTarget,
    /// The session, or 0 for a transaction without one.
    pub session: u64,
    /// The running transaction, if it has written.
    pub txn: Option<TxnId>,
    /// As `pg_locks` names it.
    pub mode: &'static str,
    /// Held, not waited for.
    pub granted: bool,
    /// The sessions that it waits for.
    pub blocked_by: Vec<u64>,
}

impl crate::Engine {
    /// Bitmaps and ranges of pages in which explicit record locks stand: what their memory goes by.
    pub fn record_lock_parts(&self) -> usize {
        self.locks_of().record_lock_parts()
    }
}

impl LockManager {
    /// Every lock held or wanted, in no order. Record locks are one line for a page and mode; a writer's locks on the
    /// records that it changed are not listed, they are the records themselves.
    pub fn list(&self) -> Vec<LockInfo> {
        let active = |txn, _passes| {
            use crate::txn::TxnState;
            matches!(self.transactions().state(txn), TxnState::Active | TxnState::Limbo)
        };
        self.with_state(|state| {
            let mut list = Vec::new();
            let txn = |owner: u64| {
                state.owners.get(&owner).map(|owner| owner.core.txn()).filter(|txn| *txn != TxnId::NONE)
            };
            let session = |owner: u64| state.owners.get(&owner).map_or(0, |owner| owner.core.session);
            let info = |owner: u64, target, mode, granted| LockInfo {
                target,
                session: session(owner),
                txn: txn(owner),
                mode,
                granted,
                blocked_by: Vec::new(),
            };
            let table_mode = |mode: u8| TableLockMode::ALL[usize::from(mode)].name();
            for (tag, entry) in &state.tags {
                let target = match *tag {
                    Tag::Table(object) => LockTarget::Table(object),
                    Tag::Advisory(key) => LockTarget::Advisory(key),
                    Tag::Name(name) => LockTarget::Name(name),
                    Tag::Record(..) => continue,
                };
                list.extend(
                    entry.granted.iter().map(|held| info(held.owner, target, table_mode(held.mode), true)),
                );
            }
            for (object, table) in &state.records {
                for (page_index, locks) in &table.pages {
                    for lock in locks {
                        let slot = lock.slots.to_vec().first().copied().unwrap_or(0);
                        let first = RecordId { page_index: *page_index, slot };
                        let target =
                            LockTarget::Records { object: *object, first, count: lock.slots.len() as u32 };
                        list.push(info(lock.owner, target, lock.mode.name(), true));
                    }
                }
                for ((owner, mode), pages) in &table.ranges {
                    let target = |(first, (last, _)): (&u32, &(u32, u32))| LockTarget::Pages {
                        object: *object,
                        first: *first,
                        last: *last,
                    };
                    list.extend(pages.0.iter().map(|range| info(*owner, target(range), mode.name(), true)));
                }
            }
            for (id, owner) in &state.owners {
                for (object, modes, _) in &owner.core.near.lock().tables {
                    for mode in TableLockMode::ALL.into_iter().filter(|mode| modes >> *mode as u8 & 1 == 1) {
                        list.push(info(*id, LockTarget::Table(*object), mode.name(), true));
                    }
                }
                if let Some(txn) = txn(*id) {
                    list.push(info(*id, LockTarget::Transaction(txn), "ExclusiveLock", true));
                }
                let Some(want) = &owner.want else { continue };
                let (target, mode) = match *want {
                    Want::End(txn) => (LockTarget::Transaction(txn), "ShareLock"),
                    Want::Record { object, record, mode, .. } => {
                        let mode = RecordLockMode::ALL[mode as usize].name();
                        (LockTarget::Records { object, first: record, count: 1 }, mode)
                    }
                    Want::Lock { tag: Tag::Table(object), mode } => {
                        (LockTarget::Table(object), table_mode(mode))
                    }
                    Want::Lock { tag: Tag::Advisory(key), mode } => {
                        (LockTarget::Advisory(key), table_mode(mode))
                    }
                    Want::Lock { tag: Tag::Name(name), mode } => (LockTarget::Name(name), table_mode(mode)),
                    Want::Lock { tag: Tag::Record(..), .. } => continue,
                };
                let mut line = info(*id, target, mode, false);
                line.blocked_by = state.blockers(*id, want, &active).iter().map(|by| session(*by)).collect();
                list.push(line);
            }
            list
        })
    }
}
