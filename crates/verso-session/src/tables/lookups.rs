//! Rows of a table that a worker of a query finds through an index, as the statement sees them.

use std::sync::Arc;

use verso_catalog::TableDef;
use verso_catalog::packs::Wanted;
use verso_exec::error::Result;
use verso_exec::exec::{IndexReader, TableCursor};
use verso_storage::SnapshotReader;
use verso_storage::heap::{Heap, ScanBatch};
use verso_storage::index::{Index, IndexScanSpec, KeyRange};
use verso_types::Batch;
use verso_types::inverted::Search;

use super::cursor::{Candidates, Ranges, Reader, Rows, columns_at};

/// See the module. The table is locked by the transaction.
pub(super) struct Lookups {
    reader: SnapshotReader,
    heap: Arc<Heap>,
    index: Arc<Index>,
    wanted: Wanted,
    rows: ScanBatch,
}

impl Lookups {
    pub fn new(
        reader: SnapshotReader,
        heap: Arc<Heap>,
        index: Arc<Index>,
        table: &TableDef,
        columns: &[usize],
    ) -> Lookups {
        let wanted = Wanted::of(&heap, columns_at(table, columns));
        Lookups { reader, heap, index, wanted, rows: ScanBatch::default() }
    }
}

impl IndexReader for Lookups {
    fn get(&mut self, key: &[u8], out: &mut Batch) -> Result<bool> {
        let Lookups { reader, heap, index, wanted, rows } = self;
        std::mem::swap(out, &mut rows.batch);
        let found = heap.get_by(reader, index, key, wanted.ids(), rows);
        let finished = wanted.finish(&mut rows.batch);
        std::mem::swap(out, &mut rows.batch);
        finished?;
        Ok(found?)
    }

    fn candidates(&mut self, search: &Search) -> Result<Box<dyn TableCursor>> {
        let columns = self.wanted.ids();
        let scan = self.heap.candidates_by(self.reader.clone(), &self.index, search, columns)?;
        Ok(Box::new(Reader::new(Rows::Candidates(Candidates::of(scan, self.wanted.clone())))))
    }

    fn scan(&mut self, mut ranges: Vec<KeyRange>, descending: bool) -> Result<Box<dyn TableCursor>> {
        if descending {
            ranges.reverse();
        }
        let columns = self.wanted.ids();
        let scan = |range| {
            let spec = IndexScanSpec { columns, range, descending };
            self.heap.index_scan_by(self.reader.clone(), &self.index, spec)
        };
        let scans = ranges.into_iter().map(scan).collect();
        Ok(Box::new(Reader::new(Rows::Index(Ranges::of(scans, self.wanted.clone())))))
    }
}
