//! The command line of `verso bench e2`.

use std::path::PathBuf;

use crate::peers::Peer;

/// What to measure and where the results go.
#[derive(Clone, Debug, clap::Args)]
pub struct E2Options {
    /// Rows that each procedure inserts
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub rows: u64,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw the rates into this SVG file
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Seconds of each measurement with several clients
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=600))]
    pub seconds: u64,
    /// Bytes of Verso's buffer pool and of SQLite's cache
    #[arg(long, default_value_t = 1 << 30, value_name = "BYTES")]
    pub pool_bytes: u64,
    /// A server beside Verso: postgres=DSN; its table demo is made anew
    #[arg(long, value_name = "PEERS", value_delimiter = ',')]
    pub peers: Vec<Peer>,
    /// Where the databases stand while measured; it decides which disk is measured [default: the temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}
