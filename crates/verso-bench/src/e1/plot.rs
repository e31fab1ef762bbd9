//! The plot: milliseconds of each pass, one line for each engine and variant.

use crate::Report;
use crate::chart::{Chart, Lines};

/// The scale is logarithmic: peers differ by powers of ten.
pub(super) fn passes(report: &Report) -> Chart {
    let numbered =
        |passes: &[f64]| passes.iter().enumerate().map(|(pass, ms)| (pass as f64 + 1.0, *ms)).collect();
    let lines = report.engines.iter().flat_map(|(engine, variants)| {
        variants.iter().map(move |(name, measured)| (format!("{engine} {name}"), numbered(&measured.pass_ms)))
    });
    Chart::Lines(Lines {
        title: format!("E1: {} rows, milliseconds a pass", super::grouped(report.rows)),
        over: "pass",
        from: None,
        unit: "ms",
        logarithmic: true,
        lines: lines.collect(),
    })
}
