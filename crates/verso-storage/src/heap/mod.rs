//! Tables: home records in column-wise pages, updated in place.
//!
//! ```text
//! Heap ─► directory (page index ─► page) ─► data page ─► value slot ─► companion page, overflow chain
//!                                              └► back pointer ─► version entry (module version)
//! ```

mod ahead;
pub(crate) mod append;
pub mod apply;
pub(crate) mod bounds;
pub mod change;
mod changed;
pub mod companion;
mod copier;
mod directory;
mod draw;
mod earlier;
pub(crate) mod image;
pub mod insert;
mod keep_room;
mod key_change;
mod latched_change;
pub mod layout;
mod link;
mod merge;
pub mod moved;
mod obstacle;
pub mod overflow;
mod owners;
pub mod packed;
pub mod read;
mod restore;
mod room;
pub mod root;
mod row;
mod scan;
mod shrink;
mod sieve;
mod since;
pub mod slice;
pub mod slots;
pub mod table;
mod unchanged;
mod undecided;
pub mod undo;
pub mod unused;
mod uses;
pub mod value_slot;

pub use changed::{ChangedRows, ReadCounts, ReadTotals, RowCounts, RowTotals};
pub use draw::Draw;
pub use layout::ColumnSpec;
pub use packed::{Packing, Trained};
pub use read::ScanBatch;
pub use scan::{HeapScan, ScanSpec};
pub use sieve::{Condition, KeySet, has_bit};
pub use table::Heap;
pub use uses::UseCounts;
pub(crate) use uses::Uses;
