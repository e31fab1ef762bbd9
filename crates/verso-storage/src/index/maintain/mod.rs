//! Keeping a table's indexes in step with its records.
//!
//! ```text
//! insert, update   heap ─► log ─► entries of the new keys              (a crash in between leaves a dead writer)
//! undo, back-out   entries the undone versions had ─► out ─► heap      (a crash in between: back-out begins again)
//! purge            entries the superseded version had ─► out, unless another version has them
//! ```
//!
//! I3. An entry is removed only if no reachable version of the record has its key: undo removes it with the home page
//!     latched, purge later, unless the key was added again since the home page was.
//! I4. Undo compares the keys of the home record before with those after. A key that one transaction supersedes twice is
//!     in no version entry, so nobody would purge it: it goes at once, before the change, and undo brings it back.
//!
//! A version entry that holds key columns holds all of that index, so a purge knows the whole key.
//! Latches: home page, then the trees'; never the other way round.

mod change;
mod insert;
mod purge;
mod undo;

use std::ops::Range;

use smallvec::SmallVec;
use verso_types::Column;

use crate::StorageError;
use crate::heap::Heap;
use crate::page::Flaw;

pub(crate) use change::{after_change, before_change, concerned, note_split, saved_columns};
pub(crate) use insert::{add_within, added, inserted};
pub(crate) use purge::KeyPurge;
pub(crate) use undo::{after_undo, before_undo};

/// Columns in the order of a key's parts.
type KeyColumns<'a> = SmallVec<[&'a Column; 4]>;

/// Memory for entries that stays between two pages of rows.
const ENTRIES_KEPT: usize = 1 << 20;
/// Bytes that keys of an inverted index take for a byte of their values: twice themselves, and what says where they are.
const KEYS_PER_BYTE: u64 = 8;

/// What the keys take that values of some rows have in an inverted index.
fn inverted_bytes<'a>(columns: impl Iterator<Item = &'a Column>, rows: &Range<usize>) -> u64 {
    let bytes = columns.filter_map(|column| {
        let bytes = column.data.bytes().filter(|_| !rows.is_empty())?;
        let start = if rows.start == 0 { 0 } else { bytes.ends[rows.start - 1] };
        Some(u64::from(bytes.ends[rows.end - 1] - start))
    });
    bytes.sum::<u64>() * KEYS_PER_BYTE
}

/// A key that does not fit its index.
fn bad_key(heap: &Heap, error: verso_types::TypeError) -> StorageError {
    StorageError::corrupt(heap.root, heap.object, Flaw::new(error.message))
}
