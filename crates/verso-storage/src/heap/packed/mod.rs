//! Packed pages: several data pages in one, each of them encoded column by column.
//!
//! ```text
//! directory   … │ 17 │ 18 │ 19 │ 20 │ …        data page 20 is as it was
//!                  └────┴────┴──► packed page: [ part of 17 │ part of 18 │ part of 19 ]
//! ```
//!
//! A record keeps its name, directory index and slot, so indexes know nothing of it. Who reads a packed data page gets the
//! page that it was, expanded in memory, with the columns wanted; who changes a record makes it a page of its own again first.
//! So everything else in this module works on plain data pages alone.
//!
//! P1. A part has only what every snapshot sees: no deleted record, no older version, no value outside of the page. So it
//!     never changes, and nothing that ends a transaction has to look for it.
//! P2. The directory leads to a packed page exactly for the indexes of its parts. Both change in one mini-transaction, with
//!     the pages that an entry leads to, before and after, latched exclusively. Who has read an entry asks with the page
//!     latched whether the entry still leads there: the page may have been given up, and still look as it did.
//! P3. A part expands to a page of its own size: it was one.
//!
//! Modules: what a part looks like and how it is read [`part`], how it is made [`encode`], texts in symbols
//! [`symbols`], which a table's dictionaries have [`dictionary`], the page around it
//! [`container`], the way through the directory [`home`], packing [`repack`] (by itself: `maintenance/packing.rs`), unpacking [`unpack`]. Log records: `PACKED_INIT`,
//! `PACKED_REMOVE`, `DATA_IMAGE`, `DICTIONARY_INIT`. Why: docs/decisions/0026-page-encodings.md. Bytes: docs/FORMAT.md § Packed page.

mod bits;
pub mod container;
pub(crate) mod dictionary;
mod encode;
mod home;
mod part;
mod repack;
mod symbols;
#[cfg(test)]
mod tests;
mod unpack;

pub(crate) use container::is_without_records;
pub(crate) use dictionary::Dictionaries;
pub use dictionary::Trained;
pub(crate) use part::Image;
pub use repack::Packing;
pub(crate) use repack::{PackingState, Units, Which, pack_table};
