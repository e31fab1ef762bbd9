//! Sizes of the log, and what it counts.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::chunk::{CHUNK_HEADER, SECTOR, disk_len};

/// Sizes of the log; the default suits everything but tests.
#[derive(Clone, Copy, Debug)]
pub struct WalOptions {
    /// Size of the two segment files that a small database leaves when it is closed.
    pub segment_bytes_least: u64,
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
    /// How long the log writer collects commits that do not wait before it syncs.
    pub nowait_delay: Duration,
}

impl Default for WalOptions {
    fn default() -> WalOptions {
        WalOptions {
            segment_bytes_least: 64 << 10,
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
            nowait_delay: Duration::from_millis(10),
        }
    }
}

impl WalOptions {
    /// Room kept beyond what is promised: unused ends of segments, chunk headers and padding.
    pub(super) fn slack(&self) -> u64 {
        3 * disk_len(self.chunk_bytes)
    }

    /// As much of the slack as is for the unused ends of segments: nothing is lost so of what goes into one segment.
    pub(super) fn slack_of_ends(&self) -> u64 {
        let chunks = (self.buffer_count + 4) * (CHUNK_HEADER + SECTOR);
        self.slack().saturating_sub(chunks as u64)
    }

    /// Size of the segment files of a short log.
    pub(super) fn least(&self) -> u64 {
        self.segment_bytes_least.min(self.segment_bytes_first)
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
    /// Nanoseconds spent in fsync.
    pub fsync_nanos: u64,
    /// How often a group found all buffers full.
    pub buffers_full: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub fsync_nanos: AtomicU64,
    pub buffers_full: AtomicU64,
    /// Commit records appended.
    pub commits: AtomicU64,
    /// Of them, at least so many are durable.
    pub commits_durable: AtomicU64,
    /// Fsyncs by how long they took, in powers of two of microseconds.
    pub fsync_micros: Histogram,
    /// Flushes by how many commits each made durable, in powers of two.
    pub group_commits: Histogram,
    pub chunks: AtomicU64,
    pub bytes_written: AtomicU64,
    pub flushes: AtomicU64,
    pub fsyncs: AtomicU64,
    pub segments_created: AtomicU64,
    pub segments_recycled: AtomicU64,
}

/// Counts by size: bucket `n` holds what is below `2^n` and in no bucket before.
pub(super) struct Histogram([AtomicU64; BUCKETS]);

const BUCKETS: usize = 24;

impl Default for Histogram {
    fn default() -> Histogram {
        Histogram([const { AtomicU64::new(0) }; BUCKETS])
    }
}

impl Histogram {
    pub fn count(&self, size: u64) {
        let bucket = (u64::BITS - size.leading_zeros()) as usize;
        self.0[bucket.min(BUCKETS - 1)].fetch_add(1, Ordering::Relaxed);
    }

    /// Upper bounds, exclusive, and counts of the buckets that hold something.
    pub fn buckets(&self) -> Vec<(u64, u64)> {
        let counts = self.0.iter().map(|count| count.load(Ordering::Relaxed)).enumerate();
        counts.filter(|(_, count)| *count > 0).map(|(bucket, count)| (1 << bucket, count)).collect()
    }
}

/// How far the log is, and how its flushes went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WalProgress {
    /// Where the next group will start.
    pub appended: u64,
    /// Everything before is handed to the operating system.
    pub written: u64,
    /// Everything before is on disk.
    pub durable: u64,
    /// Commits appended since the log was opened.
    pub commits: u64,
    /// Of them, those known to be on disk. The others may be lost in a crash.
    pub commits_durable: u64,
    /// Fsyncs that took less than so many microseconds, and not less than half of that.
    pub fsync_micros: Vec<(u64, u64)>,
    /// Flushes that made fewer than so many commits durable, and not fewer than half of that.
    pub group_commits: Vec<(u64, u64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_counted_below_the_next_power_of_two() {
        let histogram = Histogram::default();
        [0, 1, 1, 2, 3, 4, 1000, u64::MAX].into_iter().for_each(|size| histogram.count(size));
        assert_eq!(histogram.buckets(), [(1, 1), (2, 2), (4, 2), (8, 1), (1024, 1), (1 << 23, 1)]);
    }
}
