//! Indexes: B+trees over keys in byte order. A record has one key in an index, or several in an inverted one.

mod build;
mod check;
pub(crate) mod entries;
pub(crate) mod exclusion;
mod filling;
mod hint;
pub mod key;
pub(crate) mod maintain;
pub(crate) mod node;
pub mod purging;
mod scan;
mod search;
pub mod set;
mod shape;
mod stale;
pub mod table;
mod tree;
pub(crate) mod unique;
mod versions;

pub use hint::LeafHints;
pub use key::{KeyPart, KeyRange};
pub use scan::{IndexScan, IndexScanSpec};
pub use search::{CandidateScan, Gather};
pub(crate) use set::ClosedGate;
pub use set::IndexSet;
pub use table::{Index, IndexProgress, IndexSpec, IndexStatistics};

pub use build::TemporarySpace;
pub(crate) use build::{New, create, create_concurrently, free, validate};
pub(crate) use check::check;
pub(crate) use tree::empty_leaf;

#[cfg(test)]
mod tests;
