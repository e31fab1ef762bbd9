//! Records that a transaction has changed or deleted since a cursor over them was opened, one that locks its rows passes them over;
//! and those that triggers have changed before their statement comes to them, which is an error.

use std::collections::HashMap;

use verso_catalog::{CatalogSnapshot, Oid};
use verso_storage::RecordId;

use super::lock::record_number;
use crate::error::Result;
use crate::memory::{Account, Reservation};
use crate::plan::{leaf_of, place_in_leaf};

/// What a record noted takes in memory.
const RECORD_BYTES: u64 = 48;

/// Records that functions change while BEFORE ROW triggers of a statement fire.
#[derive(Debug)]
pub struct ChangedByTriggers {
    /// By table and place, with the number of the first change.
    records: HashMap<(u32, i64), u64>,
    held: Reservation,
    /// They fire now: what the statement itself changes does not count.
    pub(crate) fire: bool,
}

impl ChangedByTriggers {
    pub(crate) fn new(account: &Account) -> ChangedByTriggers {
        let held = account.reserve("a statement with BEFORE triggers", u64::MAX);
        ChangedByTriggers { records: HashMap::new(), held, fire: false }
    }

    /// Notes records of a table that are changed by what has this number.
    ///
    /// # Errors
    /// 53200.
    pub(crate) fn note(
        &mut self,
        table: u32,
        number: u64,
        records: &mut dyn Iterator<Item = RecordId>,
    ) -> Result<()> {
        for record in records {
            self.records.entry((table, record_number(record))).or_insert(number);
        }
        self.held.resize(RECORD_BYTES * self.records.capacity() as u64)
    }

    /// What was changed by what has a higher number is undone.
    pub(crate) fn forget_since(&mut self, number: u64) {
        self.records.retain(|_, first| *first <= number);
    }

    pub(crate) fn has(&self, table: u32, record: RecordId) -> bool {
        !self.records.is_empty() && self.records.contains_key(&(table, record_number(record)))
    }
}

/// Records of the tables of a cursor.
#[derive(Debug)]
pub struct ChangedRecords {
    /// By table of the cursor the oids of those that have its records: itself, or the leaves of a partitioned one.
    tables: Vec<Vec<u32>>,
    /// By table and place, with the number of the first change.
    records: HashMap<(u32, i64), u64>,
    held: Reservation,
}

impl ChangedRecords {
    /// None yet, of tables with these oids.
    #[must_use]
    pub fn new(tables: &[u32], catalog: &CatalogSnapshot, account: &Account) -> ChangedRecords {
        let leaves = |table: &u32| match catalog.table_by_oid(Oid(*table)) {
            Some(table) if table.partitioned.is_some() => {
                table.leaves().iter().map(|leaf| leaf.oid.0).collect()
            }
            _ => vec![*table],
        };
        ChangedRecords {
            tables: tables.iter().map(leaves).collect(),
            records: HashMap::new(),
            held: account.reserve("a cursor that locks rows", u64::MAX),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Notes records of a table that are changed by what has this number: numbers of cursors and changes ascend together.
    ///
    /// # Errors
    /// 53200.
    pub fn note(
        &mut self,
        table: u32,
        number: u64,
        records: &mut dyn Iterator<Item = RecordId>,
    ) -> Result<()> {
        if !self.tables.iter().flatten().any(|own| *own == table) {
            return Ok(());
        }
        for record in records {
            self.records.entry((table, record_number(record))).or_insert(number);
        }
        self.held.resize(RECORD_BYTES * self.records.capacity() as u64)
    }

    /// What was changed by what has a higher number is undone.
    pub fn forget_since(&mut self, number: u64) {
        self.records.retain(|_, first| *first <= number);
    }

    /// Whether one of the records at these places, one for each table, is among them.
    #[must_use]
    pub fn has_any(&self, places: &[i64]) -> bool {
        let has = |(tables, place): (&Vec<u32>, &i64)| {
            let table = match tables.as_slice() {
                [only] => Some(only),
                leaves => leaves.get(leaf_of(*place)),
            };
            table.is_some_and(|table| self.records.contains_key(&(*table, place_in_leaf(*place))))
        };
        !self.records.is_empty() && self.tables.iter().zip(places).any(has)
    }
}
