//! What changes no answer: statements that fail halfway, bulk updates that write back what was read.

use std::sync::Arc;

use verso_sim::Rng;
use verso_sim::model::{ColumnShape, Refusal, Row};
use verso_storage::StorageError;
use verso_storage::heap::{ScanBatch, ScanSpec};
use verso_types::Batch;

use super::{Tables, Work, refusal};
use crate::columns::{COLUMNS, TABLE_COUNT, batch, ids, record, rid};

impl Tables {
    /// Now and then does one of them.
    pub(super) fn disturb(&self, work: &mut Work) -> Result<(), Refusal> {
        work.changing.get_or_insert_with(|| Arc::clone(&self.changing));
        let mut rng = self.rng.lock().fork();
        if !work.no_savepoint && rng.one_in(5) {
            work.txn.begin_statement().map_err(refusal)?;
            let failed = self.scribble(work, &mut rng);
            work.txn.abort_statement().map_err(refusal)?;
            match failed {
                Ok(()) | Err(StorageError::Conflict { .. }) => {}
                Err(error) => return Err(refusal(error)),
            }
        }
        if rng.one_in(5) {
            self.statement(work, |work| self.write_back(work, &mut rng))?;
        }
        Ok(())
    }

    /// Changes own records and adds some, also in nested statements.
    fn scribble(&self, work: &mut Work, rng: &mut Rng) -> Result<(), StorageError> {
        for _ in 0..rng.between(1, 4) {
            let nested = rng.one_in(3);
            if nested {
                work.txn.begin_statement()?;
            }
            let result = self.scribble_once(work, rng);
            if nested && (result.is_err() || rng.one_in(3)) {
                work.txn.abort_statement()?;
            } else if nested {
                work.txn.end_statement()?;
            }
            match result {
                Ok(()) => {}
                Err(StorageError::Conflict { .. }) if nested => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn scribble_once(&self, work: &mut Work, rng: &mut Rng) -> Result<(), StorageError> {
        let ordinals: Vec<usize> = (0..COLUMNS.len()).collect();
        let some_row = |rng: &mut Rng| -> Row {
            let lens = COLUMNS.map(|(_, shape)| match shape {
                ColumnShape::Fixed(len) | ColumnShape::Few(len) => len,
                ColumnShape::Bytes(most) | ColumnShape::Words(most) => rng.index(most + 1),
            });
            lens.into_iter().map(|len| (!rng.one_in(8)).then(|| rng.bytes(len))).collect()
        };
        if work.own.is_empty() || rng.one_in(4) {
            let rows: Vec<Row> = (0..rng.between(1, 6)).map(|_| some_row(rng)).collect();
            let rows: Vec<&Row> = rows.iter().collect();
            let table = rng.below(u64::from(TABLE_COUNT)) as u32;
            return self.heap(table).insert(&mut work.txn, &batch(&rows, &ordinals), None);
        }
        let (table, rid) = *rng.pick(&work.own);
        let mut out = ScanBatch::default();
        if !self.heap(table).fetch(&work.txn, record(rid), &ids(), &mut out)? {
            return Ok(());
        }
        if rng.one_in(4) {
            return self.heap(table).delete(&mut work.txn, &out, None);
        }
        let ordinals: Vec<usize> = ordinals.into_iter().filter(|_| rng.one_in(2)).collect();
        let ids: Vec<u16> = ordinals.iter().map(|ordinal| COLUMNS[*ordinal].0.id).collect();
        let row = some_row(rng);
        self.heap(table).update(&mut work.txn, &out, None, &ids, &batch(&[&row], &ordinals))
    }

    /// Updates own rows of a table in bulk to what they are.
    fn write_back(&self, work: &mut Work, rng: &mut Rng) -> Result<(), StorageError> {
        let Some((table, _)) = work.own.last().copied() else { return Ok(()) };
        let ordinals: Vec<usize> = (0..COLUMNS.len()).filter(|_| rng.one_in(2)).collect();
        if ordinals.is_empty() {
            return Ok(());
        }
        let ids: Vec<u16> = ordinals.iter().map(|ordinal| COLUMNS[*ordinal].0.id).collect();
        let mut scan = self.heap(table).scan(&work.txn, ScanSpec { columns: &ids, pages: 0..u32::MAX });
        let mut out = ScanBatch::default();
        while scan.next(&mut out)? {
            let own = |row: &u32| work.own.contains(&(table, rid(out.records[*row as usize])));
            let selection: Vec<u32> = (0..out.records.len() as u32).filter(own).collect();
            if selection.is_empty() {
                continue;
            }
            let columns = out.batch.columns.iter().map(|column| column.gather(&selection));
            let values = Batch::from_columns(columns.collect());
            self.heap(table).update(&mut work.txn, &out, Some(&selection), &ids, &values)?;
        }
        Ok(())
    }
}
