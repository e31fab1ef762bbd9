//! Sizes of the log, and what it counts.

use std::sync::atomic::AtomicU64;

/// Sizes of the log; the default suits everything but tests.
#[derive(Clone, Copy, Debug)]
pub struct WalOptions {
    /// Size of the first segment file.
    pub segment_bytes_first: u64,
    /// Segments double up to this size.
    pub segment_bytes_max: u64,
    /// A buffer with this much in it is written.
    pub chunk_bytes: usize,
    /// Buffers; together they are what can be logged ahead of the disk.
    pub buffer_count: usize,
    /// The log writer syncs when this much was written without anybody waiting.
    pub sync_bytes: u64,
    /// Whether a thread drains full buffers; without it whoever appends does.
    pub background: bool,
    /// At most this many bytes of used segments are kept for reuse.
    pub spare_bytes_max: u64,
    /// Undo reads values in the log if they stand at most so far behind its end when they are replaced.
    pub undo_bytes: u64,
    /// The log is not kept for undo when it has become longer than this.
    pub undo_bytes_kept: u64,
}

impl Default for WalOptions {
    fn default() -> WalOptions {
        WalOptions {
            segment_bytes_first: 1 << 20,
            segment_bytes_max: 64 << 20,
            chunk_bytes: 256 << 10,
            buffer_count: 16,
            sync_bytes: 4 << 20,
            background: true,
            spare_bytes_max: 256 << 20,
            // Debug builds go all ways with little data.
            undo_bytes: if cfg!(debug_assertions) { 64 << 10 } else { 256 << 20 },
            undo_bytes_kept: if cfg!(debug_assertions) { 256 << 10 } else { 1 << 30 },
        }
    }
}

/// Counters since the log was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WalStats {
    /// Groups appended.
    pub groups: u64,
    /// Bytes of groups appended.
    pub bytes: u64,
    /// Chunks written.
    pub chunks: u64,
    /// Bytes written to segment files, headers and padding included.
    pub bytes_written: u64,
    /// Calls of [`Wal::flush`](crate::wal::Wal::flush) that found something to do.
    pub flushes: u64,
    /// Calls of fsync on segment files.
    pub fsyncs: u64,
    /// Segment files created.
    pub segments_created: u64,
    /// Segment files reused.
    pub segments_recycled: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub chunks: AtomicU64,
    pub bytes_written: AtomicU64,
    pub flushes: AtomicU64,
    pub fsyncs: AtomicU64,
    pub segments_created: AtomicU64,
    pub segments_recycled: AtomicU64,
}
