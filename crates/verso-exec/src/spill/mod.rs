//! Rows in temporary files, where they exceed what an operator may hold.
//!
//! ```text
//! operator ─► Run, Partitions ─► SpillFile ─► TempSpace (temp_file_limit of a session) ─► TempFiles (a directory)
//!              lists of blocks     a block is some rows, column by column
//! ```
//!
//! 1. A file loses its name as soon as it is there: it goes with its last handle, so with its operator, its process or the
//!    machine. What a crash between the two leaves is removed when the database is opened.
//! 2. Space is counted before it is written, and given back when the file is dropped. Blocks are written once.
//! 3. Nothing is synced: nobody reads the files after a restart. Blocks that come back otherwise than they were written
//!    are an error, never a panic.
//! 4. Rows of a run, and of a partition, come back in the order in which they were written.
//!
//! | module | what it is |
//! |---|---|
//! | [`file`] | temporary files and their space |
//! | [`codec`] | batches as bytes |
//! | [`partitions`] | rows by their hashes |
//! | [`spool`] | rows set aside in their order |

mod codec;
mod file;
mod partitions;
mod spool;
#[cfg(test)]
mod tests;

pub(crate) use file::{Run, RunReader, SpillFile};
pub use file::{TempFiles, TempSpace};
pub(crate) use partitions::{Partitions, partition_of};
pub use spool::{Spool, SpoolReader};
