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
//! V3. Transactions that were prepared before a restart count as some that have changed the schema; nobody knows what.
//! V4. What a transaction changes is noted before it is changed. So two versions differ at most in what the transactions have
//!     touched that one of them sees and the other does not, or not as far: whoever has the one reads only that for the
//!     other. A number that is nobody's any more ([`Set::behind`]) is still good for that.
//! V5. What a transaction saw last of its own changes is what others see once they see its commit: the version stays, and its
//!     number with it. That is said when it has committed, not before: of one that is rolled back instead nothing is left.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use std::sync::Arc;

use verso_storage::page::ObjectId;
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

/// Something that a change of the schema has touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Touched {
    /// A relation, type, function or schema, or something that is said of it.
    Object(Oid),
    /// A system table whose rows belong to none.
    Table(ObjectId),
}

/// What a transaction has touched.
#[derive(Debug, Default)]
struct AllTouched {
    /// With the number of the change that did so last.
    last: BTreeMap<Touched, u64>,
    by_change: BTreeSet<(u64, Touched)>,
    /// Nobody knows it.
    unknown: bool,
}

impl AllTouched {
    fn add(&mut self, touched: Touched, change: u64) {
        if let Some(before) = self.last.insert(touched, change) {
            if before == change {
                return;
            }
            self.by_change.remove(&(before, touched));
        }
        self.by_change.insert((change, touched));
    }

    /// Adds what was touched from a change on to `all`, as long as these are `most` at most; `false` if they are more, or if it
    /// is not known.
    fn since(&self, change: u64, most: usize, all: &mut BTreeSet<Touched>) -> bool {
        let first = (change, Touched::Object(Oid(0)));
        for (_, touched) in self.by_change.range(first..) {
            all.insert(*touched);
            if all.len() > most {
                return false;
            }
        }
        !self.unknown
    }
}

/// A transaction that changes the schema.
#[derive(Debug, Default)]
struct Change {
    announced: u64,
    touched: AllTouched,
    /// What it has made: nobody else sees that before it ends. What it has undone since is not in its own view either, and no number
    /// is given twice.
    made: BTreeSet<Oid>,
    /// Definitions that nobody else can change before it ends or gives its locks back. With how often it had given them back
    /// before.
    held: BTreeMap<Oid, u64>,
    /// The same of tables that others can add indexes to, and nothing else.
    held_beside: BTreeMap<Oid, u64>,
    /// Names of what it has removed are free for itself.
    removed: BTreeSet<Oid>,
}

/// What views of one version see.
#[derive(Debug)]
struct Set {
    seen: Seen,
    version: u64,
    /// What transactions have touched that every view sees by now, but those of this version do not: there will be none any
    /// more.
    behind: Vec<Arc<AllTouched>>,
}

/// The changes that not every view sees yet, and the versions that they make.
#[derive(Debug)]
pub(crate) struct Versions {
    recent: BTreeMap<TxnId, Change>,
    /// The newest first, and those that were asked for again when they had grown old.
    sets: VecDeque<Set>,
    next: u64,
    /// How many transactions were forgotten so far.
    ends: u64,
}

impl Versions {
    /// Of a database that has just been opened, whose catalog was read as version 1.
    pub fn new(prepared: impl Iterator<Item = TxnId>) -> Versions {
        let unknown = || AllTouched { unknown: true, ..AllTouched::default() };
        let recent = prepared.map(|txn| (txn, Change { touched: unknown(), ..Change::default() })).collect();
        let seen = Seen { others: Vec::new(), own: None };
        let first = Set { seen, version: 1, behind: Vec::new() };
        Versions { recent, sets: VecDeque::from([first]), next: 2, ends: 0 }
    }

    /// The transaction is about to change the schema, or has a definition under its lock.
    pub fn announce(&mut self, engine: &Engine, txn: TxnId) {
        self.forget(engine);
        self.recent.entry(txn).or_default().announced += 1;
    }

    /// A change touches something (V4). What was not announced changes no definition.
    pub fn touch(&mut self, txn: &Txn, touched: Touched) {
        if let Some(change) = txn.id().and_then(|id| self.recent.get_mut(&id)) {
            change.touched.add(touched, change.announced);
        }
    }

    /// How many changes a transaction has announced.
    pub fn announced(&self, txn: &Txn) -> u64 {
        self.own(txn).map_or(0, |change| change.announced)
    }

    /// What a transaction has touched since it had announced so many changes.
    pub fn touched_since(&self, txn: &Txn, changes: u64) -> BTreeSet<Touched> {
        let mut all = BTreeSet::new();
        if let Some(change) = self.own(txn) {
            change.touched.since(changes + 1, usize::MAX, &mut all);
        }
        all
    }

    /// Whether a transaction has touched an object that not every view sees.
    pub fn is_touched(&self, object: Oid) -> bool {
        let touched = Touched::Object(object);
        self.recent
            .values()
            .any(|change| change.touched.unknown || change.touched.last.contains_key(&touched))
    }

    /// How many transactions were forgotten so far.
    pub fn ends(&self) -> u64 {
        self.ends
    }

    fn set(&self, version: u64) -> Option<&Set> {
        self.sets.iter().find(|set| set.version == version)
    }

    /// The place among these versions of the one that differs least from another, and in what they may differ (V4): in `most`
    /// objects at most. None if there is no such one.
    ///
    /// What a transaction has touched in all is looked at only as far as that is less than what was found before: its own
    /// last version comes first, so that its next one costs the same however much it has done.
    pub fn nearest(
        &self,
        to: u64,
        known: impl IntoIterator<Item = u64>,
        most: usize,
    ) -> Option<(usize, BTreeSet<Touched>)> {
        let mut known: Vec<(u64, usize)> =
            known.into_iter().enumerate().map(|(at, version)| (version, at)).collect();
        known.sort_by_key(|(version, _)| version.abs_diff(to));
        let mut nearest: Option<(usize, BTreeSet<Touched>)> = None;
        for (version, at) in known {
            let most = match &nearest {
                Some((_, found)) if found.is_empty() => break,
                Some((_, found)) => found.len() - 1,
                None => most,
            };
            if let Some(found) = self.difference(version, to, most) {
                nearest = Some((at, found));
            }
        }
        nearest
    }

    /// In what two versions may differ by what others have done than the transactions of their views (V4); none if that is not
    /// known.
    pub fn difference_by_others(&self, one: u64, other: u64) -> Option<BTreeSet<Touched>> {
        self.by_others(one, other, usize::MAX)
    }

    /// The same; none either if they are more than `most` objects.
    fn by_others(&self, one: u64, other: u64, most: usize) -> Option<BTreeSet<Touched>> {
        let (one, other) = (self.set(one)?, self.set(other)?);
        let mut all = BTreeSet::new();
        let mut known = true;
        for behind in one.behind.iter().chain(&other.behind) {
            known &= behind.since(0, most, &mut all);
        }
        let (ours, theirs) = (&one.seen.others, &other.seen.others);
        let only = ours.iter().filter(|txn| !theirs.contains(txn));
        for txn in only.chain(theirs.iter().filter(|txn| !ours.contains(txn))) {
            known &= self.recent.get(txn)?.touched.since(0, most, &mut all);
        }
        known.then_some(all)
    }

    /// In what two versions may differ (V4); none if that is not known, or more than `most` objects.
    fn difference(&self, one: u64, other: u64, most: usize) -> Option<BTreeSet<Touched>> {
        let mut all = self.by_others(one, other, most)?;
        let (one, other) = (self.set(one)?, self.set(other)?);
        let mut known = true;
        match (one.seen.own, other.seen.own) {
            (Some((txn, ours, undone)), Some((same, theirs, also))) if txn == same && undone == also => {
                if ours != theirs {
                    known &= self.recent.get(&txn)?.touched.since(ours.min(theirs), most, &mut all);
                }
            }
            (ours, theirs) => {
                for (txn, ..) in ours.into_iter().chain(theirs) {
                    known &= self.recent.get(&txn)?.touched.since(0, most, &mut all);
                }
            }
        }
        known.then_some(all)
    }

    /// The transaction makes something of this number.
    pub fn make(&mut self, id: TxnId, oid: Oid) {
        self.recent.entry(id).or_default().made.insert(oid);
    }

    /// Nobody else can change that definition before the transaction ends.
    pub fn hold(&mut self, id: TxnId, txn: &Txn, oid: Oid) {
        self.recent.entry(id).or_default().held.insert(oid, txn.released());
    }

    /// Nobody else can change that table's definition, but for indexes that come to it.
    pub fn hold_beside(&mut self, id: TxnId, txn: &Txn, oid: Oid) {
        self.recent.entry(id).or_default().held_beside.insert(oid, txn.released());
    }

    /// Whether [`Versions::hold_beside`] was said of it.
    pub fn is_held_beside(&self, txn: &Txn, oid: Oid) -> bool {
        self.own(txn).is_some_and(|change| change.held_beside.get(&oid) == Some(&txn.released()))
    }

    /// Whether [`Versions::make`] or [`Versions::hold`] was said of it.
    pub fn is_held(&self, txn: &Txn, oid: Oid) -> bool {
        self.own(txn).is_some_and(|change| {
            change.made.contains(&oid) || change.held.get(&oid) == Some(&txn.released())
        })
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
        let same = |set: &Set| set.seen == seen && set.behind.is_empty();
        if let Some(at) = self.sets.iter().position(same) {
            let version = self.sets[at].version;
            // What others see of a transaction that makes hundreds of versions of its own stays among those remembered.
            if at > SETS_MAX / 2
                && let Some(set) = self.sets.remove(at)
            {
                self.sets.push_front(set);
            }
            return version;
        }
        self.forget(engine);
        let seen = self.seen(txn);
        let version = self.next;
        self.next += 1;
        self.sets.push_front(Set { seen, version, behind: Vec::new() });
        self.sets.truncate(SETS_MAX);
        version
    }

    /// The transaction has committed (V5).
    pub fn committed(&mut self, txn: &Txn) {
        let Some(id) = txn.id() else { return };
        let Some(change) = self.recent.get(&id) else { return };
        self.keep_last(id, change.announced, txn.undone());
    }

    /// The version that a transaction had when it had announced and undone so much is others' from now on.
    fn keep_last(&mut self, id: TxnId, announced: u64, undone: u64) {
        for set in self.sets.iter_mut().filter(|set| set.seen.own == Some((id, announced, undone))) {
            set.seen.own = None;
            let at = set.seen.others.partition_point(|other| *other < id);
            set.seen.others.insert(at, id);
        }
    }

    fn seen(&self, txn: &Txn) -> Seen {
        let others = self.recent.keys().copied().filter(|writer| Some(*writer) != txn.id());
        let own = txn.id().and_then(|own| Some((own, self.recent.get(&own)?.announced, txn.undone())));
        Seen { others: txn.commits_seen(others), own }
    }

    /// Whether two versions differ in nothing but what a transaction has changed itself.
    pub fn differ_in_own_only(&self, one: u64, other: u64) -> bool {
        let set = |version| self.sets.iter().find(|set| set.version == version && set.behind.is_empty());
        matches!((set(one), set(other)), (Some(one), Some(other)) if one.seen.others == other.seen.others)
    }

    /// Forgets the transactions that every view sees (V2).
    fn forget(&mut self, engine: &Engine) {
        let settled: Vec<TxnId> =
            self.recent.keys().copied().filter(|writer| engine.is_seen_by_all(*writer)).collect();
        for writer in settled {
            let Some(change) = self.recent.remove(&writer) else { continue };
            self.ends += 1;
            let touched = Arc::new(change.touched);
            for set in &mut self.sets {
                match set.seen.others.iter().position(|other| *other == writer) {
                    Some(at) => drop(set.seen.others.remove(at)),
                    None => set.behind.push(Arc::clone(&touched)),
                }
                set.seen.own = set.seen.own.filter(|(own, ..)| *own != writer);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_touched_is_known_by_change() {
        let mut touched = AllTouched::default();
        let object = |number| Touched::Object(Oid(number));
        let since = |touched: &AllTouched, change| {
            let mut all = BTreeSet::new();
            touched.since(change, usize::MAX, &mut all).then_some(all)
        };
        touched.add(object(1), 1);
        touched.add(object(2), 1);
        touched.add(object(1), 3);
        touched.add(Touched::Table(ObjectId(7)), 2);
        assert_eq!(since(&touched, 0).map(|all| all.len()), Some(3));
        assert_eq!(since(&touched, 2), Some(BTreeSet::from([object(1), Touched::Table(ObjectId(7))])));
        assert_eq!(since(&touched, 3), Some(BTreeSet::from([object(1)])));
        touched.unknown = true;
        assert_eq!(since(&touched, 0), None);
    }

    #[test]
    fn versions_differ_in_what_one_of_them_does_not_see() {
        let change = |number: u32, announced: u64| {
            let mut touched = AllTouched::default();
            (1..=announced).for_each(|at| touched.add(Touched::Object(Oid(number + at as u32)), at));
            Change { announced, touched, ..Change::default() }
        };
        let (first, second) = (TxnId(10), TxnId(20));
        let set = |version, others: &[TxnId], own| Set {
            seen: Seen { others: others.to_vec(), own },
            version,
            behind: Vec::new(),
        };
        let mut versions = Versions {
            recent: BTreeMap::from([(first, change(100, 1)), (second, change(200, 3))]),
            sets: VecDeque::from([
                set(1, &[], None),
                set(2, &[first], None),
                set(3, &[], Some((second, 2, 0))),
                set(4, &[first], Some((second, 3, 0))),
                set(5, &[], Some((second, 3, 1))),
            ]),
            next: 6,
            ends: 0,
        };
        let numbers = |versions: &Versions, one, other| -> Option<Vec<u32>> {
            let number = |touched| if let Touched::Object(oid) = touched { oid.0 } else { 0 };
            let difference = |one, other| versions.difference(one, other, usize::MAX);
            assert_eq!(difference(one, other), difference(other, one));
            difference(one, other).map(|all| all.into_iter().map(number).collect())
        };
        assert_eq!(numbers(&versions, 1, 1), Some(vec![]));
        assert_eq!(numbers(&versions, 1, 2), Some(vec![101]));
        assert_eq!(numbers(&versions, 1, 3), Some(vec![201, 202, 203]));
        // What the change was at when the older one was read counts too.
        assert_eq!(numbers(&versions, 3, 4), Some(vec![101, 202, 203]));
        // Something was undone: nobody knows how far.
        assert_eq!(numbers(&versions, 3, 5), Some(vec![201, 202, 203]));
        assert_eq!(numbers(&versions, 1, 9), None);
        // What the own transaction did is not what others did.
        let by_others = |one, other| versions.difference_by_others(one, other).map(|all| all.len());
        assert_eq!((by_others(1, 3), by_others(3, 4), by_others(1, 9)), (Some(0), Some(1), None));
        // The nearest one is found however far the others are.
        let near = |to, known: &[u64], most| {
            let found = versions.nearest(to, known.iter().copied(), most);
            found.map(|(at, touched)| (known[at], touched.len()))
        };
        assert_eq!(near(4, &[1, 2, 3], usize::MAX), Some((3, 3)));
        assert_eq!(near(4, &[3, 4], usize::MAX), Some((4, 0)));
        assert_eq!(near(4, &[1, 2], 2), None);
        assert_eq!(near(4, &[1, 2], 3), Some((2, 3)));
        versions.sets[0].behind.push(Arc::new(change(300, 1).touched));
        assert_eq!(numbers(&versions, 1, 2), Some(vec![101, 301]));
        versions.sets[1].behind.push(Arc::new(AllTouched { unknown: true, ..AllTouched::default() }));
        assert_eq!(numbers(&versions, 1, 2), None);
        // What the transaction saw before it undid something is not what it has committed.
        versions.sets.iter_mut().for_each(|set| set.behind.clear());
        versions.keep_last(second, 3, 1);
        let others: Vec<usize> = versions.sets.iter().map(|set| set.seen.others.len()).collect();
        assert_eq!(others, [0, 1, 0, 1, 1]);
        assert_eq!(versions.sets[4].seen, Seen { others: vec![second], own: None });
    }
}
