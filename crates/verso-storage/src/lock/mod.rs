//! The lock manager (T3): locks of transactions and sessions, waiting, deadlocks.
//!
//! ```text
//! statement ──► weak table lock: the owner's own list      (no shared memory, O1)
//!           ──► record: home writer = lock                 (nothing noted, R1)
//!                  │ occupied, or FOR …
//!                  ▼
//!           common table, one mutex: holders, FIFO queues ──► wait ──► granted │ 55P03 │ 57014
//!                                                              │
//!                                                              └► wait-for graph ──► 40P01
//! ```
//!
//! | module | what it is |
//! |---|---|
//! | [`mode`] | modes and what they exclude |
//! | [`owner`] | sessions as holders; cancelling |
//! | [`table`] | the common table |
//! | [`manager`] | getting, waiting, releasing |
//! | [`awaited`] | who waits for which transaction |
//! | [`graph`] | deadlocks |
//! | [`record`] | locking records |
//! | [`pages`] | record locks of one table |
//! | [`waited`] | how often somebody waited, and how long |
//! | [`wait`] | waiting, cancelling, time limits |
//! | [`release`] | giving back, and who goes on then |
//! | [`advisory`] | advisory locks |
//! | [`handover`] | locks of prepared transactions |
//! | [`info`] | what views show |
//!
//! T3. Requests for one thing are served in the order in which they came, except that who holds it already goes before
//!     those who wait for it. A lock is its transaction's until that ends or is rolled back to a savepoint before it, or
//!     its session's until it is given back. What stays past such a rollback are the locks of changed definitions.
//!
//! Memory: a table or advisory lock takes some 100 bytes; explicit record locks take a bitmap and some 60 bytes for a
//! page, owner and mode. Beyond 4,096 pages all record locks of an owner become locks of whole pages, kept as ranges, at
//! most 1,024 for a table and mode: those nearest to each other become one. That locks more than was asked for, never
//! less, and takes nothing from those who have their locks already. So it is half a megabyte at most, whatever is locked.
//!
//! Latches: locks are waited for with no latch held. The manager's mutex may be taken under a page latch; nothing is
//! latched under it. Order of mutexes: the manager's, then an owner's.

mod advisory;
mod awaited;
mod graph;
mod handover;
mod info;
mod manager;
mod mode;
mod owner;
mod pages;
mod record;
mod release;
mod table;
mod wait;
mod waited;

#[cfg(test)]
mod tests;

pub use advisory::AdvisoryKey;
pub use info::{LockInfo, LockTarget};
pub use manager::LockManager;
pub(crate) use manager::{Place, Request, Seen};
pub use mode::{RecordLockMode, TableLockMode, WaitPolicy};
pub(crate) use owner::OwnerCore;
pub use owner::{CancelHandle, LockOwner};
pub use record::LockedRows;
pub use waited::Waited;
