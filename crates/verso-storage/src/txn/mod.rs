//! Transactions: who is active, what is committed, what a snapshot sees, and who waits for whom.
//!
//!     begin_write ─► Active ─┬─► Committed n        publish_commit, rolled_back_clean
//!                            └─► Dead ─► Committed n   mark_dead, then backed_out
//!
//! [`table`] holds the running state under one mutex, [`inventory`] the commit numbers that readers look up,
//! [`snapshot`] what a statement sees, [`command`] what it does not see of its own transaction, [`ssi`] makes snapshots serializable, [`frame`] what undo needs, [`image_store`]
//! where old values wait for it, [`history`] which state was there when, [`live`] what monitoring shows, [`prepared`] is about transactions whose end somebody else decides. Locks and waits are
//! in [`crate::lock`].

pub(crate) mod command;
pub mod fate;
pub mod frame;
pub mod history;
pub mod image_store;
pub mod inventory;
pub mod live;
pub mod page_map;
pub mod prepared;
pub mod snapshot;
pub mod ssi;
pub mod table;
pub mod transaction;

pub use fate::TxnFate;
pub use history::HistoryReport;
pub use inventory::TxnState;
pub use snapshot::{ReadView, Registration};
pub use table::{Markers, RestoredTransactions, Transactions};
