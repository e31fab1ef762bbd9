//! What a database with snapshot isolation and savepoints must answer, in the plainest possible way.
//!
//! ```text
//! table ─► record id ─► (commit 3, row) (commit 9, row) (commit 12, deleted)
//! transaction: snapshot 9, own changes {record id ─► row or deleted}, a log to undo them to a savepoint
//! ```
//!
//! O1. A transaction sees, of each record, its own change, or else the newest version committed up to its snapshot.
//! O2. A change is refused if another open transaction has changed the record (`Blocked`), or one committed behind
//!     the snapshot (`Changed`), or if the record is not visible (`Missing`).
//! O3. Rolling back to a savepoint restores exactly the own changes that there were; rolling back a transaction, or
//!     a crash, removes all of them.
//! O4. Versions are never purged: a snapshot is a number and stays readable.
//!
//! Snapshot isolation: Berenson et al., *A Critique of ANSI SQL Isolation Levels*, 1995.

mod history;
mod workload;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

pub use self::history::{History, Write, Writes};
pub use self::workload::{ColumnShape, Ending, Mix, Runner, Subject};

/// A row by column; `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// A transaction of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelTxn(u64);

/// Why a change is not done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The record is not visible to the transaction.
    Missing,
    /// A transaction that is still open has changed it.
    Blocked,
    /// A transaction that committed behind the snapshot has changed it.
    Changed,
    /// Somebody can still see a row under the record id of an insert.
    Occupied,
    /// Not a matter of visibility: the disk or the engine failed. The model never says so.
    Failed(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Missing => f.write_str("the record is not visible"),
            Refusal::Blocked => f.write_str("an open transaction has changed the record"),
            Refusal::Changed => f.write_str("the record was changed behind the snapshot"),
            Refusal::Occupied => f.write_str("the record id is in use"),
            Refusal::Failed(what) => write!(f, "failed: {what}"),
        }
    }
}

/// Place of a record: table and record id.
type Place = (u32, u64);

/// Tables as versions per commit.
#[derive(Clone, Debug, Default)]
pub struct Model {
    versions: BTreeMap<Place, Vec<(u64, Option<Row>)>>,
    open: BTreeMap<ModelTxn, Txn>,
    commit_count: u64,
    last_txn: u64,
}

/// An open transaction.
#[derive(Clone, Debug)]
struct Txn {
    snapshot: u64,
    own: BTreeMap<Place, Option<Row>>,
    /// What `own` held before each change, in order.
    undo: Vec<(Place, Option<Option<Row>>)>,
    /// Lengths of `undo`.
    savepoints: Vec<usize>,
}

impl Model {
    /// A model without rows.
    pub fn new() -> Model {
        Model::default()
    }

    /// Begins a transaction that sees what is committed now.
    pub fn begin(&mut self) -> ModelTxn {
        self.last_txn += 1;
        let txn = ModelTxn(self.last_txn);
        let state = Txn {
            snapshot: self.commit_count,
            own: BTreeMap::new(),
            undo: Vec::new(),
            savepoints: Vec::new(),
        };
        self.open.insert(txn, state);
        txn
    }

    /// From now on `txn` sees what is committed now, as at the begin of a READ COMMITTED statement.
    pub fn refresh(&mut self, txn: ModelTxn) {
        let snapshot = self.commit_count;
        self.txn_mut(txn).snapshot = snapshot;
    }

    /// The newest snapshot; a number for [`Model::scan_at`].
    pub fn snapshot(&self) -> u64 {
        self.commit_count
    }

    /// What `txn` sees at a record id.
    pub fn read(&self, txn: ModelTxn, table: u32, rid: u64) -> Option<&Row> {
        let state = self.txn(txn);
        match state.own.get(&(table, rid)) {
            Some(own) => own.as_ref(),
            None => self.read_at(state.snapshot, table, rid),
        }
    }

    /// What a snapshot sees at a record id.
    pub fn read_at(&self, snapshot: u64, table: u32, rid: u64) -> Option<&Row> {
        let versions = self.versions.get(&(table, rid))?;
        versions.iter().rev().find(|(commit, _)| *commit <= snapshot)?.1.as_ref()
    }

    /// All rows of a table that `txn` sees, by record id.
    pub fn scan(&self, txn: ModelTxn, table: u32) -> BTreeMap<u64, Row> {
        let state = self.txn(txn);
        let mut rows = self.scan_at(state.snapshot, table);
        for ((_, rid), own) in state.own.range((table, 0)..=(table, u64::MAX)) {
            match own {
                Some(row) => rows.insert(*rid, row.clone()),
                None => rows.remove(rid),
            };
        }
        rows
    }

    /// All rows of a table that a snapshot sees, by record id.
    pub fn scan_at(&self, snapshot: u64, table: u32) -> BTreeMap<u64, Row> {
        let places = self.versions.range((table, 0)..=(table, u64::MAX));
        places
            .filter_map(|((_, rid), _)| Some((*rid, self.read_at(snapshot, table, *rid)?.clone())))
            .collect()
    }

    /// Adds a row under a record id that the subject has chosen.
    ///
    /// # Errors
    /// `Occupied` when an open transaction or a new one could still see another row there.
    pub fn insert(&mut self, txn: ModelTxn, table: u32, rid: u64, row: Row) -> Result<(), Refusal> {
        let place = (table, rid);
        let snapshots: BTreeSet<u64> = self.open.values().map(|state| state.snapshot).collect();
        let is_seen = snapshots
            .into_iter()
            .chain([self.commit_count])
            .any(|snapshot| self.read_at(snapshot, table, rid).is_some());
        if is_seen || self.open.values().any(|state| state.own.contains_key(&place)) {
            return Err(Refusal::Occupied);
        }
        self.change(txn, place, Some(row));
        Ok(())
    }

    /// Whether `txn` may change a record (O2).
    ///
    /// # Errors
    /// `Missing`, `Blocked`, `Changed`.
    pub fn check_change(&self, txn: ModelTxn, table: u32, rid: u64) -> Result<(), Refusal> {
        let place = (table, rid);
        if self.read(txn, table, rid).is_none() {
            return Err(Refusal::Missing);
        }
        if self.open.iter().any(|(other, state)| *other != txn && state.own.contains_key(&place)) {
            return Err(Refusal::Blocked);
        }
        let newest = self.versions.get(&place).and_then(|versions| versions.last());
        match newest {
            Some((commit, _)) if *commit > self.txn(txn).snapshot => Err(Refusal::Changed),
            _ => Ok(()),
        }
    }

    /// Changes columns of a row.
    ///
    /// # Errors
    /// See [`Model::check_change`].
    ///
    /// # Panics
    /// When the row has no such column.
    pub fn update(
        &mut self,
        txn: ModelTxn,
        table: u32,
        rid: u64,
        changes: &[(usize, Option<Vec<u8>>)],
    ) -> Result<(), Refusal> {
        self.check_change(txn, table, rid)?;
        let mut row = self.read(txn, table, rid).ok_or(Refusal::Missing)?.clone();
        for (column, value) in changes {
            row[*column].clone_from(value);
        }
        self.change(txn, (table, rid), Some(row));
        Ok(())
    }

    /// Deletes a row.
    ///
    /// # Errors
    /// See [`Model::check_change`].
    pub fn delete(&mut self, txn: ModelTxn, table: u32, rid: u64) -> Result<(), Refusal> {
        self.check_change(txn, table, rid)?;
        self.change(txn, (table, rid), None);
        Ok(())
    }

    /// Sets a savepoint; its depth is 0 for the first one.
    pub fn savepoint(&mut self, txn: ModelTxn) -> usize {
        let state = self.txn_mut(txn);
        state.savepoints.push(state.undo.len());
        state.savepoints.len() - 1
    }

    /// How many savepoints are set.
    pub fn savepoint_count(&self, txn: ModelTxn) -> usize {
        self.txn(txn).savepoints.len()
    }

    /// Undoes what was done since a savepoint, which stays; those set later are gone.
    ///
    /// # Panics
    /// When there is no such savepoint.
    pub fn rollback_to(&mut self, txn: ModelTxn, depth: usize) {
        let state = self.txn_mut(txn);
        let len = state.savepoints[depth];
        state.savepoints.truncate(depth + 1);
        for (place, before) in state.undo.drain(len..).rev() {
            match before {
                Some(own) => state.own.insert(place, own),
                None => state.own.remove(&place),
            };
        }
    }

    /// Forgets a savepoint and those set later; what was done stays.
    ///
    /// # Panics
    /// When there is no such savepoint.
    pub fn release(&mut self, txn: ModelTxn, depth: usize) {
        let state = self.txn_mut(txn);
        assert!(depth < state.savepoints.len(), "no savepoint at depth {depth}");
        state.savepoints.truncate(depth);
    }

    /// Makes the transaction's changes visible to later snapshots. Returns the snapshot that first sees them.
    pub fn commit(&mut self, txn: ModelTxn) -> u64 {
        let state = self.end(txn);
        if !state.own.is_empty() {
            self.commit_count += 1;
        }
        for (place, own) in state.own {
            self.versions.entry(place).or_default().push((self.commit_count, own));
        }
        self.commit_count
    }

    /// Ends the transaction without its changes.
    pub fn rollback(&mut self, txn: ModelTxn) {
        self.end(txn);
    }

    /// Ends every open transaction without its changes.
    pub fn crash(&mut self) {
        self.open.clear();
    }

    fn change(&mut self, txn: ModelTxn, place: Place, own: Option<Row>) {
        let state = self.txn_mut(txn);
        let before = state.own.insert(place, own);
        state.undo.push((place, before));
    }

    fn end(&mut self, txn: ModelTxn) -> Txn {
        self.open.remove(&txn).expect("the transaction is open")
    }

    fn txn(&self, txn: ModelTxn) -> &Txn {
        self.open.get(&txn).expect("the transaction is open")
    }

    fn txn_mut(&mut self, txn: ModelTxn) -> &mut Txn {
        self.open.get_mut(&txn).expect("the transaction is open")
    }
}

/// Describes the first difference between what was expected and what was found.
pub fn difference(expected: &BTreeMap<u64, Row>, found: &BTreeMap<u64, Row>) -> Option<String> {
    let rids: BTreeSet<&u64> = expected.keys().chain(found.keys()).collect();
    rids.into_iter().find_map(|rid| match (expected.get(rid), found.get(rid)) {
        (Some(expected), Some(found)) if expected == found => None,
        (Some(expected), Some(found)) => {
            let column = expected.iter().zip(found).position(|(expected, found)| expected != found);
            Some(match column {
                Some(column) => format!(
                    "record {rid}, column {column}: expected {:?}, found {:?}",
                    expected[column], found[column],
                ),
                None => format!("record {rid}: {} columns expected, {} found", expected.len(), found.len()),
            })
        }
        (Some(_), None) => Some(format!("record {rid} is missing")),
        (None, _) => Some(format!("record {rid} should not be there")),
    })
}

#[cfg(test)]
mod tests;
