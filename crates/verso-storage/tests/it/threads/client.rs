//! A client: transactions of random statements, and what it notes of them for the history.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_sim::Rng;
use verso_sim::model::{ColumnShape, Row, Write, Writes};
use verso_storage::heap::{ScanBatch, ScanSpec};
use verso_storage::{CommitMode, Isolation, StorageError, Txn, TxnOptions};

use super::{Stop, Work};
use crate::columns::{COLUMNS, TABLE_COUNT, batch, ids, rid, rows_of};

/// A transaction, its changes, and those at each savepoint.
pub(super) struct Client<'w> {
    work: &'w Work,
    rng: Rng,
    txn: Txn,
    own: Writes,
    savepoints: Vec<Writes>,
}

impl Client<'_> {
    /// One transaction from begin to end.
    pub(super) fn run(work: &Work, mut rng: Rng) -> Result<(), Stop> {
        let isolation = *rng.pick(&[Isolation::Snapshot, Isolation::Snapshot, Isolation::ReadCommitted]);
        let options = TxnOptions { isolation, savepoints: !rng.one_in(5), read_only: false };
        let txn = work.engine.begin(options);
        let mut client = Client { work, rng, txn, own: Writes::new(), savepoints: Vec::new() };
        for _ in 0..client.rng.between(1, 6) {
            match client.step() {
                Ok(()) => {}
                Err(Stop::Conflict) if client.txn.savepoints() && client.rng.one_in(2) => {}
                Err(Stop::Conflict) => return client.roll_back(),
                Err(Stop::Failed) => return Err(Stop::Failed),
            }
        }
        if client.rng.one_in(4) { client.roll_back() } else { client.commit() }
    }

    fn step(&mut self) -> Result<(), Stop> {
        match self.rng.below(20) {
            0 | 1 if self.txn.savepoints() => self.savepoint(),
            2 if !self.savepoints.is_empty() => {
                let depth = self.rng.index(self.savepoints.len());
                let done = self.txn.rollback_to(&format!("s{depth}"));
                done.map_err(|error| self.work.stop(error))?;
                self.savepoints.truncate(depth + 1);
                self.own = self.savepoints[depth].clone();
                Ok(())
            }
            3 if !self.savepoints.is_empty() => {
                let depth = self.rng.index(self.savepoints.len());
                self.txn.release(&format!("s{depth}")).map_err(|error| self.work.stop(error))?;
                self.savepoints.truncate(depth);
                Ok(())
            }
            4..=6 => self.statement(|_, _| Ok(())),
            7..=9 => self.statement(Client::insert),
            10 | 11 => self.statement(Client::delete),
            12 if self.txn.savepoints() => self.failing(),
            _ => self.statement(Client::update),
        }
    }

    fn savepoint(&mut self) -> Result<(), Stop> {
        let name = format!("s{}", self.savepoints.len());
        self.txn.savepoint(&name).map_err(|error| self.work.stop(error))?;
        self.savepoints.push(self.own.clone());
        Ok(())
    }

    /// A statement that reads before and behind `body`; undone when that fails.
    fn statement(
        &mut self,
        body: impl FnOnce(&mut Self, u32) -> Result<(), StorageError>,
    ) -> Result<(), Stop> {
        let before = self.own.clone();
        let table = self.rng.below(u64::from(TABLE_COUNT)) as u32;
        let result = self.txn.begin_statement().and_then(|()| {
            self.look(table)?;
            body(self, table)?;
            self.look(table)
        });
        match result {
            Ok(()) => self.txn.end_statement().map_err(|error| self.work.stop(error)),
            Err(error) => {
                self.own = before;
                let undone = self.txn.abort_statement();
                let stop = self.work.stop(error);
                undone.map_err(|error| self.work.stop(error))?;
                Err(stop)
            }
        }
    }

    /// A statement that does something, also in a nested one, and is undone.
    fn failing(&mut self) -> Result<(), Stop> {
        let before = self.own.clone();
        let table = self.rng.below(u64::from(TABLE_COUNT)) as u32;
        let result = self.txn.begin_statement().and_then(|()| {
            self.update(table)?;
            self.txn.begin_statement()?;
            let inner = self.insert(table).and_then(|()| self.delete(table));
            if self.rng.one_in(2) {
                self.txn.end_statement()?
            } else {
                self.txn.abort_statement()?
            }
            inner
        });
        self.own = before;
        self.txn.abort_statement().map_err(|error| self.work.stop(error))?;
        result.map_err(|error| self.work.stop(error))
    }

    fn seen(&self) -> u64 {
        self.txn.snapshot_number().unwrap()
    }

    fn look(&mut self, table: u32) -> Result<(), StorageError> {
        if self.rng.one_in(2) {
            let found = self.work.read(&self.txn, table)?;
            self.work.history.read(self.seen(), &self.own, table, found);
        }
        Ok(())
    }

    fn note(&mut self, place: (u32, u64), row: Option<Row>) {
        let seen = self.seen();
        match self.own.get_mut(&place) {
            Some(write) => write.row = row,
            None => {
                self.own.insert(place, Write { row, seen, new: false });
            }
        }
    }

    fn insert(&mut self, table: u32) -> Result<(), StorageError> {
        if self.work.sizes[table as usize].load(Ordering::Relaxed) > self.work.load.rows_max {
            return self.delete(table);
        }
        let rng = &mut self.rng;
        let count = rng.between(1, 8);
        let rows: Vec<Row> =
            (0..count).map(|_| (0..COLUMNS.len()).map(|ordinal| value(rng, ordinal)).collect()).collect();
        let ordinals: Vec<usize> = (0..COLUMNS.len()).collect();
        let values = batch(&rows.iter().collect::<Vec<&Row>>(), &ordinals);
        let mut records = Vec::new();
        self.work.heaps[table as usize].insert(&mut self.txn, &values, Some(&mut records))?;
        assert_eq!(records.len(), rows.len());
        let seen = self.seen();
        for (record, row) in records.into_iter().zip(rows) {
            // A slot of a row that the transaction itself inserted and undid comes back.
            self.own.insert((table, rid(record)), Write { row: Some(row), seen, new: true });
        }
        Ok(())
    }

    fn update(&mut self, table: u32) -> Result<(), StorageError> {
        let ordinals: Vec<usize> = (0..COLUMNS.len()).filter(|_| self.rng.one_in(2)).collect();
        let columns: Vec<u16> = ordinals.iter().map(|ordinal| COLUMNS[*ordinal].0.id).collect();
        if columns.is_empty() {
            return Ok(());
        }
        let heap = Arc::clone(&self.work.heaps[table as usize]);
        self.change(table, |client, out, selection, rows| {
            let rng = &mut client.rng;
            for row in rows.iter_mut() {
                ordinals.iter().for_each(|ordinal| row[*ordinal] = value(rng, *ordinal));
            }
            let values = batch(&rows.iter().collect::<Vec<&Row>>(), &ordinals);
            heap.update(&mut client.txn, out, Some(selection), &columns, &values)?;
            for (index, row) in selection.iter().zip(rows.iter()) {
                client.note((table, rid(out.records[*index as usize])), Some(row.clone()));
            }
            Ok(())
        })
    }

    fn delete(&mut self, table: u32) -> Result<(), StorageError> {
        let heap = Arc::clone(&self.work.heaps[table as usize]);
        self.change(table, |client, out, selection, _| {
            heap.delete(&mut client.txn, out, Some(selection))?;
            for index in selection {
                client.note((table, rid(out.records[*index as usize])), None);
            }
            Ok(())
        })
    }

    /// Gives `body` some of the rows of each batch of a scan.
    fn change(
        &mut self,
        table: u32,
        mut body: impl FnMut(&mut Self, &ScanBatch, &[u32], &mut Vec<Row>) -> Result<(), StorageError>,
    ) -> Result<(), StorageError> {
        let ids = ids();
        let heap = &self.work.heaps[table as usize];
        let mut scan = heap.scan(&self.txn, ScanSpec { columns: &ids, pages: 0..u32::MAX });
        let mut out = ScanBatch::default();
        let one_in = *self.rng.pick(&[1, 2, 8, 40]);
        while scan.next(&mut out)? {
            let selection: Vec<u32> =
                (0..out.records.len() as u32).filter(|_| self.rng.one_in(one_in)).collect();
            if selection.is_empty() {
                continue;
            }
            let all = rows_of(&out);
            let mut rows: Vec<Row> = selection.iter().map(|index| all[*index as usize].clone()).collect();
            body(self, &out, &selection, &mut rows)?;
        }
        Ok(())
    }

    fn roll_back(self) -> Result<(), Stop> {
        self.txn.rollback().map_err(|error| self.work.stop(error))
    }

    fn commit(self) -> Result<(), Stop> {
        let Client { work, txn, mut own, .. } = self;
        // What the transaction itself inserted and deleted nobody ever sees.
        own.retain(|_, write| !(write.new && write.row.is_none()));
        let id = txn.id();
        match txn.commit(CommitMode::Wait) {
            Ok(()) => {
                let number = id.map(|id| work.engine.commit_number(id).expect("acknowledged"));
                if let Some(number) = number.filter(|_| !own.is_empty()) {
                    work.history.commit(number, own);
                }
                Ok(())
            }
            // An error undone left a transaction without savepoints to be rolled back.
            Err(StorageError::MustRollback) => Ok(()),
            Err(error) => {
                work.history.in_doubt(own);
                Err(work.stop(error))
            }
        }
    }
}

fn value(rng: &mut Rng, ordinal: usize) -> Option<Vec<u8>> {
    let len = match COLUMNS[ordinal].1 {
        ColumnShape::Fixed(len) | ColumnShape::Few(len) => len,
        ColumnShape::Bytes(most) if rng.one_in(6) => rng.index(most + 1),
        ColumnShape::Bytes(_) | ColumnShape::Words(_) => rng.index(30),
    };
    (!rng.one_in(8)).then(|| rng.bytes(len))
}
