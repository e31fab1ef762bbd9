//! The write-ahead log: a stream of groups of log records, made durable in chunks.
//!
//! ```text
//!  mini-transactions ──► Group ──► append (memcpy) ──► buffers ──► chunk ──► segment files
//!                                                        ▲           ▲
//!                                  log writer drains full ones       └ flush: whoever needs it first, one fsync for all
//! ```
//!
//! An LSN is the byte offset of a group in the stream since the database was created; chunk headers, padding and
//! segment files have no LSNs. What is where on disk stands in `docs/FORMAT.md`.
//!
//! W1. A group lies in one chunk; a chunk is written once, from a sector boundary on, so that writing never touches
//!     a sector that was acknowledged as durable.
//! W2. Chunks are written in LSN order; [`Wal::durable`] never passes a byte that was not synced.
//! W3. A chunk counts in recovery only if its checksum, database, start LSN and recovery epoch fit: every recovery
//!     starts a new epoch, so that remains of a lost tail can never be taken for a continuation.
//! W4. A write or fsync that failed is never retried: it poisons the log for good.
//! W5. Room on disk is reserved before a mini-transaction changes its first page, so a full disk loses nothing.
//!
//! Locks, in order: `turns` (who leads a flush), `tail` (files), `queue` (buffers); pins last. Source: self-clocked group commit
//! as in Aether (Johnson et al., 2010); epochs as timelines in PostgreSQL.

mod chunk;
mod closing;
mod group;
mod log;
mod lookup;
mod mark;
mod options;
mod queue;
mod reader;
mod record;
mod remains;
mod room;
mod segment;
mod stream;
mod tail;
#[cfg(test)]
mod tests;
mod turns;
mod writer;

pub use chunk::{CHUNK_HEADER, DatabaseId, LOG_FORMAT, SECTOR};
pub use closing::{SegmentInfo, SegmentState};
pub use group::{Group, GroupView, MAX_GROUP, RecordView};
pub(crate) use group::{put_varint, varint, varint_bytes, varint_u32};
pub use log::{FIRST_LSN, Wal};
pub use lookup::{LogLookup, LogPin};
pub use options::{WalOptions, WalProgress, WalStats};
pub(crate) use reader::corrupt;
pub use reader::{LogGap, LogGaps, LogImage, LogOrigin};
pub use record::{RecordKind, RecordShape};
pub use remains::Remains;
pub use room::{Promise, Reservation};
pub(crate) use segment::SEGMENT;
pub(crate) use stream::{LogStream, StreamedChunk, chunk_crc, segment_header, segment_path};
