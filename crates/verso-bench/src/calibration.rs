//! What the machine gives at the moment of a run: memory copies, durable writes, a second thread.

use std::fmt::Write as _;
use std::hint::black_box;
use std::path::Path;

use verso_env::{Env, OpenMode};

use crate::BenchError;
use crate::results::{Calibration, median};

const COPY_BYTES: usize = 64 << 20;
const COPIES: u32 = 8;
const SYNC_BLOCKS: u64 = 256;
const SYNC_BLOCK_BYTES: usize = 4096;
const SYNC_NANOS: u64 = 400_000_000;

/// Times that one thread works and then two do.
const PAIRS: usize = 9;
/// Rows of a thread's work.
const ROWS: u64 = 300_000;
/// Bytes it works in.
const SCRATCH_BYTES: usize = 1 << 16;

/// Measures all in about two seconds; `folder` is where the databases will stand.
pub fn calibrate(env: &Env, folder: &Path) -> Result<Calibration, BenchError> {
    Ok(Calibration {
        memcpy_gb_s: memcpy_gb_s(env),
        fdatasync_per_s: fdatasync_per_s(env, folder)?,
        two_threads: two_threads(env),
    })
}

/// The median of several pairs: two threads against one, each with its own work in its own memory.
fn two_threads(env: &Env) -> f64 {
    let timed = |threads: u64| {
        let start = env.clock.monotonic_nanos();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                scope.spawn(move || black_box(format_rows(thread)));
            }
        });
        (env.clock.monotonic_nanos() - start).max(1)
    };
    median((0..PAIRS).map(|_| 2.0 * timed(1) as f64 / timed(2) as f64))
}

/// What a database does for a row, without one: a name made up, copied to some place, a number computed.
fn format_rows(thread: u64) -> u64 {
    let mut scratch = vec![0_u8; SCRATCH_BYTES];
    let mut name = String::new();
    let mut number = thread;
    for row in 0..ROWS {
        name.clear();
        // Writing to a string cannot fail.
        let _ = write!(name, "item number {row}");
        number = number.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(row);
        let at = (number >> 48) as usize % (SCRATCH_BYTES - name.len());
        scratch[at..at + name.len()].copy_from_slice(name.as_bytes());
        number = number.wrapping_add(u64::from(scratch[(number >> 40) as usize % SCRATCH_BYTES]));
    }
    number
}

/// The best of several copies: what disturbs only slows down.
fn memcpy_gb_s(env: &Env) -> f64 {
    let source = vec![1_u8; COPY_BYTES];
    let mut target = vec![0_u8; COPY_BYTES];
    let mut best = u64::MAX;
    for _ in 0..COPIES {
        let start = env.clock.monotonic_nanos();
        black_box(&mut target).copy_from_slice(black_box(&source));
        best = best.min(env.clock.monotonic_nanos() - start);
    }
    COPY_BYTES as f64 / best.max(1) as f64
}

/// Overwrites blocks of a file written before, as a log with recycled segments does.
fn fdatasync_per_s(env: &Env, folder: &Path) -> Result<f64, BenchError> {
    let path = folder.join("calibration");
    let mode = OpenMode { create: true, truncate: true, ..OpenMode::default() };
    let writes = || -> std::io::Result<f64> {
        let file = env.vfs.open(&path, mode)?;
        let block = vec![7_u8; SYNC_BLOCK_BYTES];
        for at in 0..SYNC_BLOCKS {
            file.write_at(&block, at * SYNC_BLOCK_BYTES as u64)?;
        }
        file.sync_data()?;
        let start = env.clock.monotonic_nanos();
        let mut count = 0_u64;
        loop {
            file.write_at(&block, (count % SYNC_BLOCKS) * SYNC_BLOCK_BYTES as u64)?;
            file.sync_data()?;
            count += 1;
            let elapsed = env.clock.monotonic_nanos() - start;
            if elapsed >= SYNC_NANOS {
                return Ok(count as f64 / (elapsed as f64 / 1e9));
            }
        }
    };
    let rate = writes().map_err(BenchError::file(&path))?;
    env.vfs.remove_file(&path).map_err(BenchError::file(&path))?;
    Ok(rate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_figures_are_positive_and_no_file_is_left() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let calibration = calibrate(&Env::real(), folder.path()).expect("calibrates");
        let Calibration { memcpy_gb_s, fdatasync_per_s, two_threads } = calibration;
        assert!(memcpy_gb_s > 0.0 && fdatasync_per_s > 0.0 && two_threads > 0.0);
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 0);
    }
}
