//! What a run found, in the shape of its JSON file.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::BenchError;
use crate::machine::Machine;

/// What the machine gave in the same run; figures of different machines compare only divided by it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Calibration {
    /// Copying memory on one core, gigabytes (10⁹) a second.
    pub memcpy_gb_s: f64,
    /// Durable overwrites of 4 KiB a second, in the benchmark's folder.
    pub fdatasync_per_s: f64,
    /// How much more two threads do than one, of work that shares nothing: processors may share a core, or its clock.
    pub two_threads: f64,
}

/// Refuses a file that could not be written at the end: before anything is measured.
///
/// # Errors
/// `File`.
pub(crate) fn check_writable(path: Option<&std::path::PathBuf>) -> Result<(), BenchError> {
    let Some(path) = path else { return Ok(()) };
    let was_there = path.exists();
    // Nothing of a file that is there is lost if the run fails.
    std::fs::OpenOptions::new().append(true).create(true).open(path).map_err(BenchError::file(path))?;
    if !was_there {
        // It is made again with the figures.
        let _ = std::fs::remove_file(path);
    }
    Ok(())
}

/// The same of both files that a run may write.
///
/// # Errors
/// `File`.
pub(crate) fn check_outputs(
    json: Option<&std::path::PathBuf>,
    plot: Option<&std::path::PathBuf>,
) -> Result<(), BenchError> {
    check_writable(json)?;
    check_writable(plot)
}

/// The middle one, of an even number the greater of the two; 0 of none.
pub(crate) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.into_iter().collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// One engine in one variant: the run with the median total of several.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Measured {
    /// Milliseconds of each pass.
    pub pass_ms: Vec<f64>,
    /// Milliseconds of COMMIT, durable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit_ms: Option<f64>,
    /// Milliseconds of ROLLBACK.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rollback_ms: Option<f64>,
    /// `SELECT count(*), sum(qrt)` before the first pass, median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan_before_ms: Option<f64>,
    /// The same right after the end of the transaction, median.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan_after_ms: Option<f64>,
    /// The first of these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan_first_ms: Option<f64>,
    /// Most memory of the process beyond resident pool frames, while measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mem_peak_bytes: Option<u64>,
    /// That peak less the memory before the first pass.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mem_growth_bytes: Option<u64>,
    /// Change over each pass.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub mem_delta_bytes: Vec<i64>,
    /// Log bytes of the passes and their end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redo_bytes: Option<u64>,
    /// Pages written in each pass.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub writes: Vec<u64>,
    /// Bytes of the database file before the first pass, with the second table dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_bytes_before: Option<u64>,
    /// The same after the passes and their end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_bytes_after: Option<u64>,
    /// The same after everything was dropped and made again, with its passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_bytes_again: Option<u64>,
    /// Passes and end together, one for each run.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub total_ms_of_runs: Vec<f64>,
}

impl Measured {
    /// Passes and end together.
    pub fn total_ms(&self) -> f64 {
        self.pass_ms.iter().sum::<f64>() + self.end_ms()
    }

    /// COMMIT or ROLLBACK, whichever ended the run.
    pub fn end_ms(&self) -> f64 {
        self.commit_ms.or(self.rollback_ms).unwrap_or(0.0)
    }

    /// Of several runs the one with the median total, which keeps the totals of all.
    pub fn median_run(mut runs: Vec<Measured>) -> Option<Measured> {
        let totals = runs.iter().map(Measured::total_ms).collect();
        runs.sort_by(|a, b| a.total_ms().total_cmp(&b.total_ms()));
        let middle = runs.len().checked_sub(1)? / 2;
        let mut median = runs.swap_remove(middle);
        median.total_ms_of_runs = totals;
        Some(median)
    }
}

/// A scan of one column.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Scan {
    /// Rows of the table.
    pub rows: u64,
    /// Milliseconds of `SELECT count(*), sum(qrt)`.
    pub count_sum_ms: f64,
}

/// The whole file: the machine, the settings, then one entry for each engine with its variants.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// `e1`.
    pub workload: String,
    /// Rows of the table.
    pub rows: u64,
    /// Passes of the transaction.
    pub passes: u32,
    /// Runs of each variant.
    pub runs: u32,
    /// Bytes of a page of Verso.
    pub page_size: u32,
    /// Bytes of Verso's pool and of the peers' caches.
    pub pool_bytes: u64,
    /// Version of Verso.
    pub version: String,
    /// Where it ran.
    pub machine: Machine,
    /// What the machine gave.
    pub calibration: Calibration,
    /// Verso's scan of all rows, cached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scan: Option<Scan>,
    /// Peers that were asked for and are not there, with the reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub skipped: BTreeMap<String, String>,
    /// Engine, variant, figures.
    #[serde(flatten)]
    pub engines: BTreeMap<String, BTreeMap<String, Measured>>,
}

/// Writes what a workload found.
pub(crate) fn write_json(report: &impl Serialize, path: &Path) -> Result<(), BenchError> {
    let mut text =
        serde_json::to_string_pretty(report).map_err(|error| BenchError::Usage(error.to_string()))?;
    text.push('\n');
    std::fs::write(path, text).map_err(BenchError::file(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_refused_and_another_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        check_writable(Some(&path)).unwrap();
        assert!(!path.exists());
        std::fs::write(&path, "figures").unwrap();
        check_writable(Some(&path)).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "figures");
        assert!(check_writable(Some(&folder.path().join("missing").join("a.json"))).is_err());
        check_writable(None).unwrap();
    }

    #[test]
    fn the_median_run_keeps_all_totals() {
        let run = |ms: f64| Measured { pass_ms: vec![ms, ms], commit_ms: Some(1.0), ..Measured::default() };
        let median = Measured::median_run(vec![run(9.0), run(1.0), run(2.0)]).expect("three runs");
        assert_eq!(median.pass_ms, [2.0, 2.0]);
        assert_eq!(median.total_ms_of_runs, [19.0, 3.0, 5.0]);
        assert!(Measured::median_run(Vec::new()).is_none());
    }

    #[test]
    fn engines_stand_at_the_top_of_the_json() {
        let report = Report {
            workload: "e1".into(),
            rows: 10,
            passes: 2,
            runs: 1,
            page_size: 16384,
            pool_bytes: 1 << 30,
            version: "0".into(),
            machine: Machine::here(),
            calibration: Calibration { memcpy_gb_s: 9.5, fdatasync_per_s: 1000.0, two_threads: 1.9 },
            scan: Some(Scan { rows: 10, count_sum_ms: 0.5 }),
            skipped: BTreeMap::new(),
            engines: BTreeMap::from([(
                "sqlite".into(),
                BTreeMap::from([(
                    "default".into(),
                    Measured { pass_ms: vec![1.5], commit_ms: Some(2.0), ..Measured::default() },
                )]),
            )]),
        };
        let json: serde_json::Value = serde_json::to_value(&report).expect("serialises");
        assert_eq!(json["rows"], 10);
        assert_eq!(json["calibration"]["fdatasync_per_s"], 1000.0);
        assert_eq!(json["scan"], serde_json::json!({"rows": 10, "count_sum_ms": 0.5}));
        assert_eq!(json["sqlite"]["default"], serde_json::json!({"pass_ms": [1.5], "commit_ms": 2.0}));
        let back: Report = serde_json::from_value(json).expect("reads back");
        assert_eq!(back.engines["sqlite"]["default"].commit_ms, Some(2.0));
    }
}
