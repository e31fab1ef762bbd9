//! The command line of `verso bench e4`.

use std::path::PathBuf;

use crate::peers::Peer;

/// What to measure and where the results go.
#[derive(Clone, Debug, clap::Args)]
pub struct E4Options {
    /// Words in the table
    #[arg(long, default_value_t = 4_079_052, value_parser = clap::value_parser!(u64).range(100..=1_000_000_000))]
    pub rows: u64,
    /// Numbers of workers
    #[arg(long, value_delimiter = ',', default_value = "1,2,4", value_name = "NUMBERS")]
    pub workers: Vec<usize>,
    /// Engines measured in the same run beside SQLite: duckdb, firebird, postgres=DSN
    #[arg(long, value_delimiter = ',', value_name = "PEERS")]
    pub peers: Vec<Peer>,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw the speed-up into this SVG file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Bytes of Verso's buffer pool and of SQLite's cache
    #[arg(long, default_value_t = 1 << 30, value_name = "BYTES")]
    pub pool_bytes: u64,
    /// Where the databases stand while measured; it decides which disk is measured [default: the temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}
