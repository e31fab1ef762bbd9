//! Indexes: B+trees over keys in byte order.

pub mod key;
pub(crate) mod maintain;
pub mod scan;
pub mod set;
pub mod table;

pub use key::{KeyPart, KeyRange};
pub use scan::{IndexScan, IndexScanSpec};
pub use set::IndexSet;
pub use table::{Index, IndexProgress, IndexSpec};
