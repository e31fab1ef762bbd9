//! Indexes: B+trees over keys in byte order.

pub mod key;
pub mod scan;
pub mod table;

pub use key::{KeyPart, KeyRange};
pub use scan::{IndexScan, IndexScanSpec};
pub use table::{Index, IndexProgress, IndexSpec};
