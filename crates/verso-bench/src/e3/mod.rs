//! E3: what it is worth under TPC-C that one transaction's writes stand in pages of their own.
//!
//! SI-CV (TPCTC 2011) placed the versions that a transaction writes together, in PostgreSQL 8.4 on flash: up to 30 % more new orders a
//! minute where the machine was bound by its disk, fewer writes, hardly more space. Verso does so by default; here the same load
//! runs with `colocate` on and off over a rising number of warehouses, with a buffer pool of a quarter of the data and with
//! one that holds all of it.
//!
//!     for each number of warehouses: load once ─► for each pool, for each placement: copy ─► open ─► TPC-C ─► count pages written
//!
//! C1. Both placements begin with copies of one file, and after each run TPC-C's twelve conditions hold (B3).

mod plot;
mod point;
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use serde::Serialize;
use verso_env::Env;

use crate::BenchError;
use crate::calibration::calibrate;
use crate::chart;
use crate::folder::{WorkFolder, copy_database};
use crate::results::Calibration;
pub use point::Point;

/// Options of `verso bench e3`.
#[derive(Debug, clap::Args)]
pub struct E3Options {
    /// The ramp: numbers of warehouses, 100 MB each
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_values_t = [1, 2, 4, 8])]
    pub warehouses: Vec<u32>,
    /// Terminals at a time, for each warehouse
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub terminals: u32,
    /// Seconds that count, at each point
    #[arg(long, value_name = "SECONDS", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// Seconds before them
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    pub warm_up: u64,
    /// Random values are a function of it
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Draw the ramp into this file, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
    /// Where the databases are made
    #[arg(long, value_name = "DIRECTORY")]
    pub folder: Option<PathBuf>,
}

/// What the experiment found, in the shape of its JSON.
#[derive(Debug, Serialize)]
struct E3Report {
    seconds: u64,
    calibration: Calibration,
    points: Vec<Point>,
}

/// Runs the experiment, prints its table, writes its JSON and its plot.
///
/// # Errors
/// A database that cannot be made or copied, a transaction that fails, a condition that does not hold.
pub fn run(options: &E3Options) -> Result<(), BenchError> {
    if options.warehouses.is_empty() || options.warehouses.contains(&0) || options.terminals == 0 {
        return Err(BenchError::Usage("there must be warehouses and terminals at each point".to_owned()));
    }
    let env = Env::real();
    crate::results::check_outputs(options.json.as_ref(), options.plot.as_ref())?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = WorkFolder::create(&parent, false)?;
    let calibration = calibrate(&env, folder.path())?;
    let mut points = Vec::new();
    print_head();
    for &warehouses in &options.warehouses {
        let (loaded, copy) = (folder.path().join("loaded.verso"), folder.path().join("e3.verso"));
        let bytes = point::fill(&env, &loaded, warehouses, options.seed)?;
        for (pool, pool_bytes) in [("quarter", bytes / 4), ("all", bytes * 2)] {
            for colocate in [true, false] {
                copy_database(&loaded, &copy)?;
                let asked = point::Asked { warehouses, pool, pool_bytes, colocate };
                let point = point::measure(&env, &copy, &asked, options)?;
                print_line(&point);
                points.push(point);
            }
        }
    }
    print_comparison(&points);
    if let Some(path) = &options.plot {
        chart::write(&plot::ramp(&points), path)?;
    }
    if let Some(path) = &options.json {
        let report = E3Report { seconds: options.seconds, calibration, points };
        let json =
            serde_json::to_string_pretty(&report).map_err(|error| BenchError::Usage(error.to_string()))?;
        std::fs::write(path, json).map_err(BenchError::file(path))?;
    }
    Ok(())
}

fn print_head() {
    println!(
        "{:>10} {:<8} {:<8} {:>9} {:>9} {:>9} {:>10} {:>9} {:>9} {:>9} {:>9}",
        "warehouses",
        "pool",
        "colocate",
        "tpmC",
        "p50 ms",
        "p95 ms",
        "writes/tx",
        "data",
        "index",
        "version",
        "grown MB"
    );
}

fn print_line(point: &Point) {
    let of = |kinds: &[&str]| -> f64 { kinds.iter().map(|kind| point.writes_of(kind)).sum() };
    println!(
        "{:>10} {:<8} {:<8} {:>9.0} {:>9.2} {:>9.2} {:>10.2} {:>9.2} {:>9.2} {:>9.2} {:>9.1}",
        point.warehouses,
        point.pool,
        if point.colocate { "on" } else { "off" },
        point.tpmc,
        point.p50_ms,
        point.p95_ms,
        point.writes_per_tx,
        of(&["data", "companion", "overflow"]),
        of(&["index inner", "index leaf"]),
        of(&["version"]),
        point.grown_bytes as f64 / 1e6,
    );
}

/// Each pair that differs in nothing but the placement.
fn print_comparison(points: &[Point]) {
    for on in points.iter().filter(|point| point.colocate) {
        let same =
            |other: &&Point| !other.colocate && (other.warehouses, other.pool) == (on.warehouses, on.pool);
        let Some(off) = points.iter().find(same) else { continue };
        let change = |on: f64, off: f64| (on / off.max(f64::MIN_POSITIVE) - 1.0) * 100.0;
        println!(
            "{} warehouses, pool {}: co-location changes tpmC by {:+.1} %, page writes a transaction by {:+.1} %, the file by {:+.2} %",
            on.warehouses,
            on.pool,
            change(on.tpmc, off.tpmc),
            change(on.writes_per_tx, off.writes_per_tx),
            change(on.bytes as f64, off.bytes as f64),
        );
    }
    println!(
        "Published (2011): equal below the knee, up to 30 % more new orders above it, fewer writes, 0.0016 % more space."
    );
}
