//! Rows of a table that a worker of a query finds through indexes, as the statement sees them.

use std::sync::Arc;

use verso_catalog::packs::Wanted;
use verso_catalog::{IndexDef, TableDef};
use verso_exec::ExecError;
use verso_exec::error::Result;
use verso_exec::exec::{Gathering, IndexReader, TableCursor};
use verso_storage::heap::{Heap, ScanBatch};
use verso_storage::index::{Index, IndexScanSpec, KeyRange};
use verso_storage::{Isolation, ObjectId, SnapshotReader};
use verso_types::Batch;

use super::cursor::{Candidates, Pages, Ranges, Reader, Rows, columns_at};

/// A larger part of a table than this is read faster whole: rows through an index cost several times as much each.
const LARGE_SHARE: f64 = 0.2;

/// Whether ranges of indexes are together so large a part of their table that it is read faster whole; `share` says which part
/// those of an index are, where that can be said.
pub(super) fn is_large(
    isolation: Isolation,
    ranges: &[(&IndexDef, &[KeyRange])],
    mut share: impl FnMut(&IndexDef, &[KeyRange]) -> Result<Option<f64>>,
) -> Result<bool> {
    // A serializable transaction conflicts with less where it reads through the index.
    if isolation == Isolation::Serializable {
        return Ok(false);
    }
    let mut all = 0.0;
    for (index, ranges) in ranges {
        all += share(index, ranges)?.unwrap_or_default();
    }
    Ok(all > LARGE_SHARE)
}

/// See the module. The table is locked by the transaction.
pub(super) struct Lookups {
    reader: SnapshotReader,
    isolation: Isolation,
    heap: Arc<Heap>,
    /// By what the catalog calls them; the first one is searched for keys.
    indexes: Vec<(ObjectId, Arc<Index>)>,
    wanted: Wanted,
    rows: ScanBatch,
}

impl Lookups {
    pub fn new(
        (reader, isolation): (SnapshotReader, Isolation),
        heap: Arc<Heap>,
        indexes: Vec<(ObjectId, Arc<Index>)>,
        table: &TableDef,
        columns: &[usize],
    ) -> Lookups {
        let wanted = Wanted::of(&heap, columns_at(table, columns));
        Lookups { reader, isolation, heap, indexes, wanted, rows: ScanBatch::default() }
    }

    fn index(&self, def: &IndexDef) -> Result<&Arc<Index>> {
        let known = self.indexes.iter().find(|(object, _)| *object == def.object);
        known.map(|(_, index)| index).ok_or_else(missing)
    }
}

fn missing() -> ExecError {
    ExecError::raised("XX000", "a worker of a query was not given the index")
}

impl IndexReader for Lookups {
    fn get(&mut self, key: &[u8], out: &mut Batch) -> Result<bool> {
        let Lookups { reader, heap, indexes, wanted, rows, .. } = self;
        let (_, index) = indexes.first().ok_or_else(missing)?;
        std::mem::swap(out, &mut rows.batch);
        let found = heap.get_by(reader, index, key, wanted.ids(), rows);
        let finished = wanted.finish(&mut rows.batch);
        std::mem::swap(out, &mut rows.batch);
        finished?;
        Ok(found?)
    }

    fn candidates(&mut self, gathering: &Gathering) -> Result<Box<dyn TableCursor>> {
        let gather = gathering.named(&mut |index| self.index(index).cloned())?;
        let scan = self.heap.gathered_by(self.reader.clone(), &gather, self.wanted.ids())?;
        Ok(Box::new(Reader::new(Rows::Candidates(Candidates::of(scan, self.wanted.clone())))))
    }

    fn scan(&mut self, mut ranges: Vec<KeyRange>, descending: bool) -> Result<Box<dyn TableCursor>> {
        if descending {
            ranges.reverse();
        }
        let (_, index) = self.indexes.first().ok_or_else(missing)?;
        let columns = self.wanted.ids();
        let scan = |range| {
            let spec = IndexScanSpec { columns, range, descending };
            self.heap.index_scan_by(self.reader.clone(), index, spec)
        };
        let scans = ranges.into_iter().map(scan).collect();
        Ok(Box::new(Reader::new(Rows::Index(Ranges::of(scans, self.wanted.clone())))))
    }

    fn whole(&mut self) -> Result<Box<dyn TableCursor>> {
        let pages = Pages::of(&self.heap, self.reader.clone(), self.wanted.clone());
        Ok(Box::new(Reader::new(Rows::Heap(pages))))
    }

    fn is_large(&self, ranges: &[(&IndexDef, &[KeyRange])]) -> Result<bool> {
        is_large(self.isolation, ranges, |index, ranges| {
            Ok(self.index(index)?.share_by(&self.reader, ranges)?)
        })
    }
}
