//! How the size of a page shows: E1's passes and scan, single records read and written, for several sizes in one run.
//!
//! ```text
//! for each size:  E1's database ─► five passes and COMMIT, scans             (module e1, Verso only)
//!                 a table of its own ─► reads, cached and not; single updates (module points)
//! ```
//! Rounds go over all sizes in turn, so that a slow moment of the machine meets all alike; medians of the rounds count.

mod points;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use verso_env::Env;

pub(crate) use points::{PointFigures, measure};

use crate::child::{self, ChildTask, Step};
use crate::e1::{Engine, Variant};
use crate::folder::{WorkFolder, copy_database, remove_database};
use crate::machine::Machine;
use crate::results::median;
use crate::{BenchError, Calibration, calibration};

/// The command line of `verso bench pagesize`.
#[derive(Clone, Debug, clap::Args)]
pub struct PageSizeOptions {
    /// Rows of the table
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1000..=50_000_000))]
    pub rows: u64,
    /// Sizes of pages to compare
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_values_t = [8192, 16384, 32768])]
    pub sizes: Vec<u32>,
    /// Rounds over all sizes; medians are shown
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=99))]
    pub runs: u32,
    /// Bytes of the buffer pool
    #[arg(long, default_value_t = 1 << 30, value_name = "BYTES")]
    pub pool_bytes: u64,
    /// Write the figures to this file
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where the databases stand while measured [default: the temporary folder]
    #[arg(long, value_name = "FOLDER")]
    pub folder: Option<PathBuf>,
}

/// The figures of one size: medians over the rounds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PageFigures {
    /// Milliseconds of a pass of E1.
    pub pass_ms: f64,
    /// Milliseconds of all passes and their durable COMMIT.
    pub total_ms: f64,
    /// Milliseconds of `SELECT count(*), sum(qrt)`, cached.
    pub scan_ms: f64,
    /// Bytes of E1's file before the passes.
    pub file_bytes: f64,
    /// Log bytes of all passes.
    pub redo_bytes: f64,
    /// Single records.
    pub points: PointFigures,
}

/// What `--json` writes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PageSizeReport {
    /// `pagesize`.
    pub workload: String,
    /// Rows of the table.
    pub rows: u64,
    /// Rounds.
    pub runs: u32,
    /// Bytes of the pool.
    pub pool_bytes: u64,
    /// Version of Verso.
    pub version: String,
    /// Where it ran.
    pub machine: Machine,
    /// What the machine gave.
    pub calibration: Calibration,
    /// By bytes of a page.
    pub sizes: BTreeMap<u32, PageFigures>,
}

/// Measures all sizes, prints the table, writes the file that was asked for.
///
/// # Errors
/// As [`crate::run`].
pub fn run(options: &PageSizeOptions) -> Result<PageSizeReport, BenchError> {
    let env = Env::real();
    crate::results::check_outputs(options.json.as_ref(), None)?;
    let parent = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    let folder = WorkFolder::create(&parent, false)?;
    let calibration = calibration::calibrate(&env, folder.path())?;
    for &size in &options.sizes {
        child::spawn::<crate::Measured>(&task(options, size, folder.path(), Step::Create))?;
    }
    let mut rounds: BTreeMap<u32, Vec<PageFigures>> = BTreeMap::new();
    for _ in 0..options.runs {
        for &size in &options.sizes {
            rounds.entry(size).or_default().push(round(options, size, folder.path())?);
        }
    }
    let report = PageSizeReport {
        workload: "pagesize".to_owned(),
        rows: options.rows,
        runs: options.runs,
        pool_bytes: options.pool_bytes,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: Machine::here(),
        calibration,
        sizes: rounds.into_iter().map(|(size, rounds)| (size, medians(&rounds))).collect(),
    };
    print!("{}", render(&report));
    if let Some(path) = &options.json {
        crate::results::write_json(&report, path)?;
    }
    Ok(report)
}

fn task(options: &PageSizeOptions, size: u32, folder: &Path, step: Step) -> ChildTask {
    ChildTask {
        engine: Engine::Verso,
        database: folder.join(format!("pages{size}.verso")),
        rows: options.rows,
        passes: 5,
        page_size: size,
        pool_bytes: options.pool_bytes,
        step,
    }
}

/// One round of one size.
fn round(options: &PageSizeOptions, size: u32, folder: &Path) -> Result<PageFigures, BenchError> {
    let mut e1 = task(options, size, folder, Step::Measure(Variant::NoSavepoint));
    let original = e1.database.clone();
    e1.database = folder.join(format!("copy{size}.verso"));
    copy_database(&original, &e1.database)?;
    let measured: crate::Measured = child::spawn(&e1)?;
    remove_database(&e1.database)?;

    let mut points = task(options, size, folder, Step::Points);
    points.database = folder.join(format!("points{size}.verso"));
    let found: PointFigures = child::spawn(&points)?;
    remove_database(&points.database)?;
    Ok(PageFigures {
        pass_ms: median(measured.pass_ms.clone()),
        total_ms: measured.total_ms(),
        scan_ms: measured.scan_before_ms.unwrap_or_default(),
        file_bytes: measured.file_bytes_before.unwrap_or_default() as f64,
        redo_bytes: measured.redo_bytes.unwrap_or_default() as f64,
        points: found,
    })
}

fn medians(rounds: &[PageFigures]) -> PageFigures {
    let of = |figure: fn(&PageFigures) -> f64| median(rounds.iter().map(figure));
    PageFigures {
        pass_ms: of(|round| round.pass_ms),
        total_ms: of(|round| round.total_ms),
        scan_ms: of(|round| round.scan_ms),
        file_bytes: of(|round| round.file_bytes),
        redo_bytes: of(|round| round.redo_bytes),
        points: PointFigures {
            read_us: of(|round| round.points.read_us),
            read_uncached_us: of(|round| round.points.read_uncached_us),
            write_us: of(|round| round.points.write_us),
            write_log_bytes: of(|round| round.points.write_log_bytes),
            write_page_bytes: of(|round| round.points.write_page_bytes),
        },
    }
}

/// A line of the table: its title and the figure.
type Line = (&'static str, fn(&PageFigures) -> f64);

const LINES: [Line; 10] = [
    ("E1, a pass, ms", |page| page.pass_ms),
    ("E1, five passes and COMMIT, ms", |page| page.total_ms),
    ("E1, log of five passes, MB", |page| page.redo_bytes / 1e6),
    ("E1, file, MB", |page| page.file_bytes / 1e6),
    ("scan, count(*), sum(qrt), ms", |page| page.scan_ms),
    ("point read, cached, µs", |page| page.points.read_us),
    ("point read, pool of an eighth, µs", |page| page.points.read_uncached_us),
    ("random write up to its checkpoint, µs", |page| page.points.write_us),
    ("random write, log bytes", |page| page.points.write_log_bytes),
    ("random write, page bytes", |page| page.points.write_page_bytes),
];

fn render(report: &PageSizeReport) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "page sizes over {} rows, median of {} runs; memcpy {:.1} GB/s, {:.0} fdatasync/s{}\n",
        report.rows,
        report.runs,
        report.calibration.memcpy_gb_s,
        report.calibration.fdatasync_per_s,
        if report.machine.release_build { "" } else { "; UNOPTIMISED BUILD: the figures mean nothing" }
    );
    let _ = write!(out, "{:<40}", "bytes of a page");
    for size in report.sizes.keys() {
        let _ = write!(out, "{size:>12}");
    }
    out.push('\n');
    for (title, figure) in LINES {
        let _ = write!(out, "{title:<40}");
        for page in report.sizes.values() {
            let _ = write!(out, "{:>12.2}", figure(page));
        }
        out.push('\n');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_are_taken_figure_by_figure() {
        let round = |pass_ms: f64, scan_ms: f64| PageFigures { pass_ms, scan_ms, ..PageFigures::default() };
        let median = medians(&[round(1.0, 9.0), round(3.0, 7.0), round(2.0, 8.0)]);
        assert_eq!((median.pass_ms, median.scan_ms), (2.0, 8.0));
    }

    #[test]
    fn points_are_read_back_as_they_were_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let task = ChildTask {
            engine: Engine::Verso,
            database: folder.path().join("p.verso"),
            rows: 3_000,
            passes: 1,
            page_size: 4096,
            pool_bytes: 16 << 20,
            step: Step::Points,
        };
        let figures = measure(&Env::real(), &task).expect("measured and verified");
        assert!(figures.read_us > 0.0 && figures.read_uncached_us > 0.0 && figures.write_us > 0.0);
        assert!(figures.write_log_bytes > 8.0 && figures.write_page_bytes > 100.0, "{figures:?}");
    }
}
