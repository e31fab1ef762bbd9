//! What became of a transaction, for a client that lost its connection before it was told.
//!
//! A transaction that was rolled back and of which nothing is left counts as committed everywhere else, so the newest of these are
//! listed here. Nothing of it is on disk: a restart knows those that the log behind its checkpoint tells of.

use std::collections::BTreeSet;

use crate::page::TxnId;

/// So many are listed.
const LISTED_MAX: usize = 1 << 16;

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TxnFate {
    /// It has not ended, or its commit is not on disk yet.
    InProgress,
    /// It has committed.
    Committed,
    /// It was rolled back, or the database stopped before it committed.
    Aborted,
    /// It is too old for this to be known.
    Unknown,
}

/// Transactions of which nothing is left.
#[derive(Debug, Default)]
pub struct Undone {
    /// Of those from here on all are listed.
    since: TxnId,
    ids: BTreeSet<TxnId>,
}

impl Undone {
    /// Those that a restart has met; it knows all from `since` on.
    pub(crate) fn since(since: TxnId, met: BTreeSet<TxnId>) -> Undone {
        let mut undone = Undone { since, ids: met };
        undone.ids = undone.ids.split_off(&since);
        undone.bound();
        undone
    }

    pub(crate) fn add(&mut self, txn: TxnId) {
        if txn >= self.since {
            self.ids.insert(txn);
            self.bound();
        }
    }

    /// What became of one of which nothing says that it did not commit.
    pub(crate) fn fate(&self, txn: TxnId) -> TxnFate {
        match self.ids.contains(&txn) {
            _ if txn < self.since => TxnFate::Unknown,
            true => TxnFate::Aborted,
            false => TxnFate::Committed,
        }
    }

    fn bound(&mut self) {
        while self.ids.len() > LISTED_MAX {
            if let Some(oldest) = self.ids.pop_first() {
                self.since = TxnId(oldest.0 + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_are_forgotten_first() {
        let mut undone = Undone::since(TxnId(10), BTreeSet::from([TxnId(4), TxnId(12)]));
        assert_eq!(undone.fate(TxnId(9)), TxnFate::Unknown);
        assert_eq!(undone.fate(TxnId(11)), TxnFate::Committed);
        assert_eq!(undone.fate(TxnId(12)), TxnFate::Aborted);
        undone.add(TxnId(3));
        assert_eq!(undone.fate(TxnId(3)), TxnFate::Unknown);
        let many = 2 * LISTED_MAX as u64;
        (0..many).filter(|n| n % 2 == 0).for_each(|n| undone.add(TxnId(100 + n)));
        assert_eq!(undone.fate(TxnId(12)), TxnFate::Unknown, "one more than are listed");
        assert_eq!(undone.fate(TxnId(13)), TxnFate::Committed);
        assert_eq!(undone.fate(TxnId(100 + many - 2)), TxnFate::Aborted);
    }
}
