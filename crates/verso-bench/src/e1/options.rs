//! The command line of `verso bench e1`.

use std::path::PathBuf;

use crate::peers::Peer;

/// What to measure and where the results go.
#[derive(Clone, Debug, clap::Args)]
pub struct E1Options {
    /// Rows of the table
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..=50_000_000))]
    pub rows: u64,
    /// Updates of the whole table in the transaction
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub passes: u32,
    /// Runs of each variant; the one with the median total is shown
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub runs: u32,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw the passes into this SVG file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Further engines beside SQLite: duckdb, postgres=DSN
    #[arg(long, value_name = "PEER,…", value_delimiter = ',')]
    pub peers: Vec<Peer>,
    /// Bytes of Verso's buffer pool and of the peers' caches
    #[arg(long, default_value_t = 1 << 30, value_name = "BYTES")]
    pub pool_bytes: u64,
    /// Bytes of a page of Verso: 4096, 8192, 16384 or 32768
    #[arg(long, value_name = "BYTES")]
    pub page_size: Option<u32>,
    /// Where the databases stand while measured; it decides which disk is measured [default: the temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
    /// Leave the databases in that folder
    #[arg(long)]
    pub keep: bool,
}
