//! The statistics block after a statement (`\stat on`, `SET STAT ON`) and its elapsed time (`\timing on`).

use std::fmt::Write;

/// What a statement cost, in the units printed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figures {
    /// Bytes of memory of the process beyond the pool's resident frames.
    pub current_memory_bytes: u64,
    /// How that changed during the statement.
    pub delta_memory_bytes: i64,
    /// The most there was after any statement of the session.
    pub max_memory_bytes: u64,
    /// Wall time.
    pub elapsed_nanos: u64,
    /// Frames of the buffer pool.
    pub buffers: u64,
    /// Pages read from disk.
    pub reads: u64,
    /// Pages written to disk.
    pub writes: u64,
    /// Pages asked of the buffer pool.
    pub fetches: u64,
    /// Bytes appended to the log.
    pub redo_bytes: u64,
    /// Waits for the disk, locks, a share of the machine.
    pub waits: u64,
    /// How long they took together.
    pub wait_nanos: u64,
}

impl Figures {
    /// One line for each figure.
    pub fn block(&self) -> String {
        let mut out = String::new();
        let _ = writeln!(out, "Current memory = {}", self.current_memory_bytes);
        let _ = writeln!(out, "Delta memory = {}", self.delta_memory_bytes);
        let _ = writeln!(out, "Max memory = {}", self.max_memory_bytes);
        let _ = writeln!(out, "Elapsed time = {:.3} sec", self.elapsed_nanos as f64 / 1e9);
        let _ = writeln!(out, "Buffers = {}", self.buffers);
        let _ = writeln!(out, "Reads = {}", self.reads);
        let _ = writeln!(out, "Writes = {}", self.writes);
        let _ = writeln!(out, "Fetches = {}", self.fetches);
        let _ = writeln!(out, "Redo = {}", self.redo_bytes);
        let _ = writeln!(out, "Waits = {} ({:.3} sec)", self.waits, self.wait_nanos as f64 / 1e9);
        out
    }
}

/// `Time: 12.345 ms`, with minutes and hours for what takes longer than a second, as psql has it.
pub fn elapsed_line(nanos: u64) -> String {
    let ms = nanos as f64 / 1e6;
    if ms < 1000.0 {
        return format!("Time: {ms:.3} ms\n");
    }
    let seconds = ms / 1000.0;
    let (minutes, rest) = ((seconds / 60.0).floor(), seconds % 60.0);
    if minutes < 60.0 {
        return format!("Time: {ms:.3} ms ({:02}:{rest:06.3})\n", minutes as u64);
    }
    let (hours, minutes) = ((minutes / 60.0).floor(), minutes % 60.0);
    format!("Time: {ms:.3} ms ({:02}:{:02}:{rest:06.3})\n", hours as u64, minutes as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_names_every_figure() {
        let figures = Figures {
            current_memory_bytes: 30_000_000,
            delta_memory_bytes: -4096,
            max_memory_bytes: 31_000_000,
            elapsed_nanos: 16_400_000,
            buffers: 131_072,
            reads: 1,
            writes: 2,
            fetches: 3,
            redo_bytes: 4,
            waits: 5,
            wait_nanos: 12_000_000,
        };
        assert_eq!(
            figures.block(),
            "Current memory = 30000000\nDelta memory = -4096\nMax memory = 31000000\nElapsed time = 0.016 sec\n\
             Buffers = 131072\nReads = 1\nWrites = 2\nFetches = 3\nRedo = 4\nWaits = 5 (0.012 sec)\n"
        );
    }

    #[test]
    fn elapsed_times_as_psql() {
        assert_eq!(elapsed_line(73_000), "Time: 0.073 ms\n");
        assert_eq!(elapsed_line(1_002_003_000), "Time: 1002.003 ms (00:01.002)\n");
        assert_eq!(elapsed_line(61_500_000_000), "Time: 61500.000 ms (01:01.500)\n");
        assert_eq!(elapsed_line(3_661_500_000_000), "Time: 3661500.000 ms (01:01:01.500)\n");
    }
}
