//! Transactions over pages: pages, log, buffer pool, versions, heap, recovery, sweep
#![deny(unsafe_code)] // only buffer/mapping.rs, buffer/frame.rs and buffer/latch.rs allow it

pub mod buffer;
pub mod error;
pub mod mini;
pub mod page;
pub mod recovery;
pub mod space;
pub mod txn;
pub mod wal;

pub use error::StorageError;
pub use mini::{CheckpointGate, Core, Mini, PageHandle, PageRedo, RedoTable};
pub use page::{Flaw, Lsn, ObjectId, PageId, PageKind, RecordId, TxnId};
