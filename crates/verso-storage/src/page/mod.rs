//! What a page is: its identity, its header, its checksum, and the byte helpers every page codec uses.
//!
//! ```text
//!  0        4    5     6           8     16     20      24        32                    page size
//!  checksum│kind│flags│incarnation│ lsn │ page │ owner │ per kind │ body … ──────────────────┤
//! ```
//!
//! P1. Every number on a page is little-endian and of fixed width.
//! P2. No page kind is 0, so a zeroed page is never a valid one.
//! P3. The checksum covers everything behind itself, the page's own number included: a page read from the
//!     wrong place is as corrupt as a page with a flipped bit.
//! P4. Bytes that come from disk are checked before use: a [`Flaw`] says what is wrong, nothing panics.

pub mod bytes;
mod flaw;
pub mod header;
mod ids;
mod kind;

pub use flaw::Flaw;
pub use ids::{Lsn, ObjectId, PageId, RecordId, TxnId};
pub use kind::PageKind;

/// Page sizes a database can be created with.
pub const PAGE_SIZES: [usize; 4] = [4096, 8192, 16384, 32768];
