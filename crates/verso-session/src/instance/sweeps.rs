//! Sweeps that are done, for `verso_sweep_history`.

use verso_storage::{Markers, SweepReport};

use super::Instance;
use crate::services::EPOCH_MICROS;

/// Sweeps remembered for `verso_sweep_history`.
const SWEEPS_KEPT: usize = 1_000;

/// A sweep that is done.
#[derive(Clone, Debug)]
pub struct SweepRecord {
    /// The session that asked for it; none if it started by itself.
    pub(crate) session: Option<u64>,
    pub(crate) started: i64,
    pub(crate) seconds: f64,
    pub(crate) workers: u32,
    pub(crate) table: Option<String>,
    pub(crate) pages_visited: u64,
    pub(crate) pages_skipped: u64,
    pub(crate) pages_backed_out: u64,
    pub(crate) before: Markers,
    pub(crate) after: Markers,
}

impl SweepRecord {
    /// One that started by itself.
    pub(crate) fn automatic(report: &SweepReport) -> SweepRecord {
        SweepRecord {
            session: None,
            started: report.started_unix_micros - EPOCH_MICROS,
            seconds: report.seconds,
            workers: report.workers,
            table: None,
            pages_visited: report.pages_visited,
            pages_skipped: report.pages_skipped,
            pages_backed_out: report.pages_backed_out,
            before: report.before,
            after: report.after,
        }
    }
}

impl Instance {
    /// Remembers a sweep.
    pub(crate) fn remember_sweep(&self, record: SweepRecord) {
        let mut sweeps = self.sweeps.lock();
        if sweeps.len() >= SWEEPS_KEPT {
            sweeps.remove(0);
        }
        sweeps.push(record);
    }
}
