//! Transactions over pages: pages, log, buffer pool, versions, heap, recovery, sweep
#![deny(unsafe_code)] // only buffer/mapping.rs, buffer/frame.rs and buffer/latch.rs allow it

pub mod archive;
pub mod bounds;
pub mod buffer;
pub mod clean;
pub mod engine;
pub mod engine_core;
pub mod error;
mod failed;
pub mod heap;
pub mod index;
pub mod lock;
pub mod maintenance;
pub mod mini;
pub mod page;
pub mod progress;
pub mod recovery;
pub mod rules;
pub mod sequence;
pub mod shared;
pub mod sleeper;
pub mod space;
#[cfg(test)]
mod testing;
pub mod txn;
pub mod unlogged;
pub mod version;
pub mod wal;
pub mod work;
pub mod workers;

pub use buffer::{DamagedPage, FetchCount, ReadAhead, WriteCount};
pub use engine::{
    CheckpointCounts, Engine, EngineOptions, EngineStatistics, GcPolicy, SpaceReport, TableSpace,
    UnloggedLoad,
};
pub use engine_core::{CheckpointGate, Core, PageRedo, RedoTable};
pub use error::StorageError;
pub use heap::{ColumnSpec, Packing, Trained};
pub use index::{
    Index, IndexProgress, IndexScan, IndexScanSpec, IndexSpec, KeyPart, KeyRange, TemporarySpace,
};
pub use lock::{
    AdvisoryKey, CancelHandle, LockInfo, LockManager, LockOwner, LockTarget, LockedRows, RecordLockMode,
    TableLockMode, WaitPolicy, Waited,
};
pub use maintenance::check::{CheckProblem, CheckReport};
pub use maintenance::sweep::{SweepOptions, SweepProgress, SweepReport};
pub use mini::{Mini, PageHandle};
pub use page::{Flaw, Lsn, ObjectId, PageId, PageKind, RecordId, TxnId};
pub use progress::{Progress, WatchProgress};
pub use recovery::Control;
pub use sequence::{Sequence, SequenceSpec};
pub use space::Growth;
pub use txn::live::TxnInfo;
pub use txn::prepared::PreparedInfo;
pub use txn::transaction::{
    CommitMode, HeldView, Isolation, KeyMemory, MemoryGauge, SnapshotReader, Txn, TxnOptions, TxnStatistics,
};
pub use txn::{HistoryReport, Markers, ReadView, TxnFate, TxnState};
pub use work::Work;
pub use workers::{JobInfo, JobLimits, WorkerInfo};
