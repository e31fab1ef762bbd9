//! What concurrent transactions read and wrote, checked against snapshot isolation afterwards.
//!
//! Threads note what they see and do as they go, with the numbers the subject gave: the snapshot of a statement, the
//! commit number of a transaction. Nothing is locked together with the subject, so nothing is ordered by the test.
//!
//! Y1. A read equals the versions committed up to its snapshot, with the transaction's own changes over them.
//! Y2. Whoever writes a record has seen its newest version: first updater wins, no update is lost.
//! Y3. A new record stands where no snapshot of its transaction has one.
//! Y4. After a crash everything acknowledged is there, and each transaction whose commit was under way whole or not at all.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use super::{Row, difference};

/// Table and record id.
pub type Place = (u32, u64);

/// A transaction's newest change of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The row, unless it was deleted.
    pub row: Option<Row>,
    /// Snapshot of the statement that first changed the record.
    pub seen: u64,
    /// The transaction has inserted it.
    pub new: bool,
}

/// A transaction's changes.
pub type Writes = BTreeMap<Place, Write>;

struct Read {
    snapshot: u64,
    own: Writes,
    table: u32,
    found: BTreeMap<u64, Row>,
}

/// See the module.
#[derive(Default)]
pub struct History {
    base: BTreeMap<Place, Row>,
    commits: Mutex<BTreeMap<u64, Writes>>,
    in_doubt: Mutex<Vec<Writes>>,
    reads: Mutex<Vec<Read>>,
}

type Versions<'h> = BTreeMap<Place, Vec<(u64, Option<&'h Row>)>>;

impl History {
    /// A history that begins with these rows, older than every snapshot.
    pub fn new(base: BTreeMap<Place, Row>) -> History {
        History { base, ..History::default() }
    }

    /// A statement has read a whole table.
    pub fn read(&self, snapshot: u64, own: &Writes, table: u32, found: BTreeMap<u64, Row>) {
        let range = (table, 0)..=(table, u64::MAX);
        let own = own.range(range).map(|(place, write)| (*place, write.clone())).collect();
        self.reads.lock().push(Read { snapshot, own, table, found });
    }

    /// A commit was acknowledged.
    ///
    /// # Panics
    /// When two have one number.
    pub fn commit(&self, number: u64, writes: Writes) {
        let before = self.commits.lock().insert(number, writes);
        assert!(before.is_none(), "two transactions have the commit number {number}");
    }

    /// A commit failed: it may have happened or not.
    pub fn in_doubt(&self, writes: Writes) {
        self.in_doubt.lock().push(writes);
    }

    /// Commits and reads so far.
    pub fn counts(&self) -> (usize, usize) {
        (self.commits.lock().len(), self.reads.lock().len())
    }

    /// Checks everything noted (Y1 to Y3).
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), String> {
        let commits = self.commits.lock();
        let mut versions: Versions<'_> =
            self.base.iter().map(|(place, row)| (*place, vec![(0, Some(row))])).collect();
        for (number, writes) in commits.iter() {
            for (place, write) in writes {
                let versions = versions.entry(*place).or_default();
                if let Some((newest, row)) = versions.last() {
                    if !write.new && *newest > write.seen {
                        return Err(format!(
                            "Y2: commit {number} changed record {place:?} as snapshot {} saw it; commit {newest} had changed it",
                            write.seen
                        ));
                    }
                    if write.new && row.is_some() {
                        return Err(format!(
                            "Y3: commit {number} inserted {place:?} over the row of commit {newest}"
                        ));
                    }
                }
                versions.push((*number, write.row.as_ref()));
            }
        }
        for read in self.reads.lock().iter() {
            let range = (read.table, 0)..=(read.table, u64::MAX);
            let visible = versions.range(range).filter_map(|((_, rid), versions)| {
                let (_, row) = versions.iter().rev().find(|(number, _)| *number <= read.snapshot)?;
                Some((*rid, (*row)?.clone()))
            });
            let mut expected: BTreeMap<u64, Row> = visible.collect();
            for ((_, rid), own) in &read.own {
                match &own.row {
                    Some(row) => expected.insert(*rid, row.clone()),
                    None => expected.remove(rid),
                };
            }
            if let Some(text) = difference(&expected, &read.found) {
                let rows = (read.table, read.snapshot, read.own.len());
                return Err(format!("Y1: table, snapshot, own changes {rows:?}: {text}"));
            }
        }
        Ok(())
    }

    /// The rows after the last acknowledged commit.
    pub fn last(&self) -> BTreeMap<Place, Row> {
        let mut rows = self.base.clone();
        self.commits.lock().values().for_each(|writes| apply(&mut rows, writes));
        rows
    }

    /// Takes `found`, everything there is after a crash, as the beginning of the next history (Y4).
    ///
    /// # Errors
    /// What is neither acknowledged nor of a commit that was under way.
    pub fn after_crash(&self, found: BTreeMap<Place, Row>) -> Result<History, String> {
        let mut expected = self.last();
        // Transactions in doubt have locked their records, so none can hide another.
        for writes in self.in_doubt.lock().iter() {
            let there = writes.iter().find(|(place, write)| {
                expected.get(place) != write.row.as_ref() && found.get(place) == write.row.as_ref()
            });
            if there.is_some() {
                apply(&mut expected, writes);
            }
        }
        for table in 0..=expected.keys().chain(found.keys()).map(|place| place.0).max().unwrap_or(0) {
            let part = |rows: &BTreeMap<Place, Row>| -> BTreeMap<u64, Row> {
                let range = rows.range((table, 0)..=(table, u64::MAX));
                range.map(|((_, rid), row)| (*rid, row.clone())).collect()
            };
            if let Some(text) = difference(&part(&expected), &part(&found)) {
                return Err(format!("Y4: table {table}: {text}"));
            }
        }
        Ok(History::new(found))
    }
}

fn apply(rows: &mut BTreeMap<Place, Row>, writes: &Writes) {
    for (place, write) in writes {
        match &write.row {
            Some(row) => rows.insert(*place, row.clone()),
            None => rows.remove(place),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(value: u8) -> Row {
        vec![Some(vec![value])]
    }

    fn update(value: u8, seen: u64) -> Writes {
        [((0, 5), Write { row: Some(row(value)), seen, new: false })].into()
    }

    fn base() -> History {
        History::new([((0, 5), row(1))].into())
    }

    #[test]
    fn y1_reads_are_compared_with_their_snapshot_and_own_changes() {
        let history = base();
        history.commit(3, update(2, 0));
        history.read(2, &Writes::new(), 0, [(5, row(1))].into());
        history.read(3, &Writes::new(), 0, [(5, row(2))].into());
        history.read(2, &update(9, 2), 0, [(5, row(9))].into());
        assert_eq!(history.check(), Ok(()));
        history.read(2, &Writes::new(), 0, [(5, row(2))].into());
        assert!(history.check().unwrap_err().starts_with("Y1"));
    }

    #[test]
    fn y2_y3_a_lost_update_and_an_insert_over_a_row_show() {
        let history = base();
        history.commit(3, update(2, 0));
        history.commit(4, update(3, 2));
        assert!(history.check().unwrap_err().starts_with("Y2"));
        let history = base();
        history.commit(3, [((0, 5), Write { row: Some(row(7)), seen: 2, new: true })].into());
        assert!(history.check().unwrap_err().starts_with("Y3"));
    }

    #[test]
    fn y4_what_was_under_way_is_whole_or_absent() {
        let history = base();
        history.commit(3, update(2, 0));
        let mut writes = update(3, 3);
        writes.insert((0, 6), Write { row: Some(row(8)), seen: 3, new: true });
        history.in_doubt(writes);
        assert!(history.after_crash([((0, 5), row(2))].into()).is_ok());
        assert!(history.after_crash([((0, 5), row(3)), ((0, 6), row(8))].into()).is_ok());
        assert!(history.after_crash([((0, 5), row(3))].into()).is_err());
        assert!(history.after_crash([((0, 5), row(1))].into()).is_err());
    }
}
