//! Where a benchmark ran.

use serde::{Deserialize, Serialize};

/// Enough to tell two machines apart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Machine {
    /// `x86_64`, `aarch64`, …
    pub architecture: String,
    /// `linux`, …
    pub system: String,
    /// Processors this process may use.
    pub cores: usize,
    /// True for a build with optimisation; figures of others mean nothing.
    pub release_build: bool,
}

impl Machine {
    /// This one.
    pub fn here() -> Machine {
        Machine {
            architecture: std::env::consts::ARCH.to_owned(),
            system: std::env::consts::OS.to_owned(),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            release_build: !cfg!(debug_assertions),
        }
    }
}
