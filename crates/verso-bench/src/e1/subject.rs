//! What the driver needs of an engine.

use crate::BenchError;
use crate::child::ChildTask;
use crate::e1::Variant;
use crate::e1::expected::FoundRow;
use crate::memory::Probe;

/// The measured statement; every engine takes it as it stands.
pub const UPDATE: &str =
    "UPDATE test SET id = id + 1, qrt = qrt + 1, name = name || '1', ts_change = CURRENT_TIMESTAMP";

/// The scan before and after.
pub const SCAN: &str = "SELECT count(*), sum(qrt) FROM test";

/// Counters of an engine since it was opened; the driver takes differences.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    /// Bytes appended to the log.
    pub redo_bytes: u64,
    /// Pages written to disk.
    pub page_writes: u64,
    /// Bytes of the database file.
    pub file_bytes: u64,
}

/// An engine with an open database that holds the tables of the workload.
pub trait Subject {
    /// Its name in messages.
    fn name(&self) -> &'static str;
    /// DROP of the second table, as published: its pages are free for reuse; then every record into the cache.
    fn prepare(&mut self) -> Result<(), BenchError>;
    /// Starts the transaction of a variant.
    fn begin(&mut self, variant: Variant) -> Result<(), BenchError>;
    /// One [`UPDATE`].
    fn pass(&mut self) -> Result<(), BenchError>;
    /// A named savepoint.
    fn savepoint(&mut self, name: &str) -> Result<(), BenchError>;
    /// A durable commit.
    fn commit(&mut self) -> Result<(), BenchError>;
    /// Undoes the passes.
    fn rollback(&mut self) -> Result<(), BenchError>;
    /// [`SCAN`].
    fn scan(&mut self) -> Result<(u64, f64), BenchError>;
    /// Every row of the table, in any order.
    fn rows(&mut self, each: &mut dyn FnMut(&FoundRow<'_>)) -> Result<(), BenchError>;
    /// Drops everything, makes it again and runs the passes to their COMMIT once more, where that is of interest.
    fn again(&mut self, _: &ChildTask) -> Result<bool, BenchError> {
        Ok(false)
    }
    /// Counters, where the engine has them.
    fn counters(&mut self) -> Result<Option<Counters>, BenchError> {
        Ok(None)
    }
    /// Memory beyond the pool's frames, where the engine can tell them apart.
    fn memory_probe(&self) -> Option<Probe> {
        None
    }
}
