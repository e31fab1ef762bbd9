//! Reading a table through an index.

use std::sync::Arc;

use super::key::KeyRange;
use super::table::Index;
use crate::StorageError;
use crate::heap::{Heap, ScanBatch};
use crate::txn::transaction::Txn;

/// What to read through an index.
pub struct IndexScanSpec<'a> {
    /// Identities of the columns wanted, in the order of the batch.
    pub columns: &'a [u16],
    /// Which keys.
    pub range: KeyRange,
    /// From the greatest key to the least.
    pub descending: bool,
}

/// A scan in the order of an index's keys.
pub struct IndexScan {
    heap: Arc<Heap>,
}

impl IndexScan {
    /// Reads the next records into `out`, in key order; `false` at the end.
    ///
    /// # Errors
    /// `Corrupt`, `Io`, `Cancelled`.
    pub fn next(&mut self, out: &mut ScanBatch) -> Result<bool, StorageError> {
        let _ = out;
        Err(StorageError::NoSuchObject(self.heap.object))
    }
}

impl Heap {
    /// Reads records in the order of an index's keys, as the transaction's current statement sees them.
    pub fn index_scan(self: &Arc<Self>, txn: &Txn, index: &Arc<Index>, spec: IndexScanSpec<'_>) -> IndexScan {
        let _ = (txn, index, spec);
        IndexScan { heap: Arc::clone(self) }
    }

    /// Reads the record with this key of a unique index into `out`; whether there is one visible.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn get(
        &self,
        txn: &Txn,
        index: &Index,
        key: &[u8],
        columns: &[u16],
        out: &mut ScanBatch,
    ) -> Result<bool, StorageError> {
        let _ = (txn, key, columns, out);
        Err(StorageError::NoSuchObject(index.object()))
    }
}
