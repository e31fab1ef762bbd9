//! What the disk does by itself: 4 KiB and an fdatasync, again and again.

use std::path::Path;

use verso_env::{Env, OpenMode};

use crate::BenchError;

const BLOCK_BYTES: usize = 4096;
const BLOCKS: u64 = 256;
const NANOS: u64 = 500_000_000;

/// Durable writes a second: over blocks that are there, or at the end of a file that grows.
pub(super) fn syncs_per_s(env: &Env, folder: &Path, extend: bool) -> Result<f64, BenchError> {
    let path = folder.join("raw");
    let mode = OpenMode { create: true, truncate: true, ..OpenMode::default() };
    let writes = || -> std::io::Result<f64> {
        let file = env.vfs.open(&path, mode)?;
        let block = vec![7_u8; BLOCK_BYTES];
        let written = if extend { 0 } else { BLOCKS };
        for at in 0..written {
            file.write_at(&block, at * BLOCK_BYTES as u64)?;
        }
        file.sync_data()?;
        let start = env.clock.monotonic_nanos();
        let mut count = 0_u64;
        loop {
            let at = if extend { count } else { count % BLOCKS };
            file.write_at(&block, at * BLOCK_BYTES as u64)?;
            file.sync_data()?;
            count += 1;
            let elapsed = env.clock.monotonic_nanos() - start;
            if elapsed >= NANOS {
                return Ok(count as f64 / (elapsed as f64 / 1e9));
            }
        }
    };
    let rate = writes().map_err(BenchError::file(&path))?;
    env.vfs.remove_file(&path).map_err(BenchError::file(&path))?;
    Ok(rate)
}
