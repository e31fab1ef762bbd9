//! Jobs of maintenance on several threads; the parts of a query run on the same ones.
//!
//! ```text
//! caller ─► Job (listed: phase, pages, workers) ─► Crew: the caller and threads of the pool
//!             rounds, one behind the other: part 0 in the caller, parts 1… in the threads
//!             ranges of pages from one splitter ([`Ranges`]), the last ones small
//! ```
//!
//! W1. [`Ranges`] gives out each page once, in pieces that get smaller to the end, so that one large table keeps all
//!     workers busy until it is done.
//! W2. The caller works itself, and does the parts for which the pool has no thread: a job never waits for a thread.
//! W3. A round ends when all of its parts have: what the caller holds for them (a table's gate) it holds to the end. A
//!     worker takes nothing that its caller may hold.
//! W4. A part that fails stops the others at their next page; [`Stop::Behind`] lets parts before it go on, so that of
//!     several errors the one is told that one worker alone would have met. A part that panics stops all of them; the panic
//!     goes on in the caller, once all have ended.
//! W5. Workers of housekeeping give way: between two pages, when they hold no latch, they rest where sessions want the
//!     processors. They do not rest while somebody waits for the gate of the table that they hold.

mod job;
mod pool;
mod ranges;
#[cfg(test)]
mod tests;

pub use job::{Job, JobInfo, Listed};
pub use pool::{Crew, Part, Rest, Stop, Watch, WorkerInfo, WorkerPool};
pub use ranges::Ranges;

/// What a job may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobLimits {
    /// Threads, the caller's among them.
    pub workers: u32,
    /// Memory for sorting; beyond it temporary files are used.
    pub memory_bytes: u64,
    /// Indexes are not built now: all of a table will be, from one scan.
    pub later: bool,
}

impl Default for JobLimits {
    fn default() -> JobLimits {
        JobLimits { workers: 1, memory_bytes: 256 << 20, later: false }
    }
}
