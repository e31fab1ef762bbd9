//! Which version of the catalog a view sees, and what transactions that change the schema have under their locks.
//!
//! ```text
//! change ─► announced under its transaction ─► the views that see its commit ─► every view: forgotten
//! ```
//!
//! V1. What a view sees of the catalog is told by which of the transactions that changed it it sees, and by how often its
//!     own has announced a change or undone something. Nothing is written for that, so nobody waits.
//! V2. A version is a number for such a set, never used again while the database is open. A transaction that every view
//!     sees is taken out of all sets, which leaves their numbers as they are; a set without it is nobody's any more.
//! V3. Transactions that were prepared before a restart count as some that have changed the schema.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use verso_storage::{Engine, Txn, TxnId};

use crate::definition::Oid;

/// Sets remembered with their numbers; who comes with another one reads the catalog again.
const SETS_MAX: usize = 64;

/// What a view sees of the changes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    /// Others whose changes it sees, of those that not every view sees yet.
    others: Vec<TxnId>,
    /// Its own transaction, its changes, and how often it has undone something.
    own: Option<(TxnId, u64, u64)>,
}

/// A transaction that changes the schema.
#[derive(Debug, Default)]
struct Change {
    announced: u64,
    /// Definitions that nobody else can change before it ends or gives its locks back: made by it, or locked. With how often
    /// it had given them back before.
    held: BTreeMap<Oid, u64>,
    /// Names of what it has removed are free for itself.
    removed: BTreeSet<Oid>,
}

/// The changes that not every view sees yet, and the versions that they make.
#[derive(Debug)]
pub(crate) struct Versions {
    recent: BTreeMap<TxnId, Change>,
    sets: VecDeque<(Seen, u64)>,
    next: u64,
}

impl Versions {
    /// Of a database that has just been opened, whose catalog was read as version 1.
    pub fn new(prepared: impl Iterator<Item = TxnId>) -> Versions {
        let recent = prepared.map(|txn| (txn, Change::default())).collect();
        let nothing = Seen { others: Vec::new(), own: None };
        Versions { recent, sets: VecDeque::from([(nothing, 1)]), next: 2 }
    }

    /// The transaction is about to change the schema, or has a definition under its lock.
    pub fn announce(&mut self, engine: &Engine, txn: TxnId) {
        self.forget(engine);
        self.recent.entry(txn).or_default().announced += 1;
    }

    /// Nobody else can change that definition before the transaction ends.
    pub fn hold(&mut self, id: TxnId, txn: &Txn, oid: Oid) {
        self.recent.entry(id).or_default().held.insert(oid, txn.released());
    }

    /// Whether [`Versions::hold`] was said of it.
    pub fn is_held(&self, txn: &Txn, oid: Oid) -> bool {
        self.own(txn).is_some_and(|change| change.held.get(&oid) == Some(&txn.released()))
    }

    /// The transaction has removed something.
    pub fn remove(&mut self, txn: TxnId, oid: Oid) {
        self.recent.entry(txn).or_default().removed.insert(oid);
    }

    /// Whether the transaction has removed it; what it has taken back since is in its own view again.
    pub fn is_removed(&self, txn: &Txn, oid: Oid) -> bool {
        self.own(txn).is_some_and(|change| change.removed.contains(&oid))
    }

    fn own(&self, txn: &Txn) -> Option<&Change> {
        txn.id().and_then(|id| self.recent.get(&id))
    }

    /// Whether the transaction has changed the schema, or is about to.
    pub fn is_changed_by(&self, txn: &Txn) -> bool {
        self.own(txn).is_some()
    }

    /// Whether every transaction that has changed the schema is below this one.
    pub fn all_below(&self, limit: TxnId) -> bool {
        self.recent.keys().next_back().is_none_or(|newest| *newest < limit)
    }

    /// The version that the transaction's running statement sees.
    pub fn of(&mut self, engine: &Engine, txn: &Txn) -> u64 {
        let seen = self.seen(txn);
        if let Some((_, version)) = self.sets.iter().find(|(set, _)| *set == seen) {
            return *version;
        }
        self.forget(engine);
        let seen = self.seen(txn);
        let version = self.next;
        self.next += 1;
        self.sets.push_front((seen, version));
        self.sets.truncate(SETS_MAX);
        version
    }

    fn seen(&self, txn: &Txn) -> Seen {
        let own = txn.id();
        let mut seen = Seen { others: Vec::new(), own: None };
        for (writer, change) in &self.recent {
            if own == Some(*writer) {
                seen.own = Some((*writer, change.announced, txn.undone()));
            } else if txn.sees_commit_of(*writer) {
                seen.others.push(*writer);
            }
        }
        seen
    }

    /// Whether two versions differ in nothing but what a transaction has changed itself.
    pub fn differ_in_own_only(&self, one: u64, other: u64) -> bool {
        let others =
            |version| self.sets.iter().find(|(_, known)| *known == version).map(|(set, _)| &set.others);
        matches!((others(one), others(other)), (Some(one), Some(other)) if one == other)
    }

    /// Forgets the transactions that every view sees (V2).
    fn forget(&mut self, engine: &Engine) {
        let settled: Vec<TxnId> =
            self.recent.keys().copied().filter(|writer| engine.is_seen_by_all(*writer)).collect();
        for writer in settled {
            self.recent.remove(&writer);
            self.sets.retain_mut(|(set, _)| {
                let at = set.others.iter().position(|other| *other == writer);
                at.map(|at| set.others.remove(at)).is_some()
            });
        }
    }
}
