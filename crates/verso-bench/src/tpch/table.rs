//! The table that is printed.

use std::fmt::Write as _;

use super::{Query, Report};
use crate::e1::grouped;

/// Loading, then a line for each query with all engines, then their means.
pub(super) fn table(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "TPC-H, scale factor {}: milliseconds, median of {} runs, with {} workers and with 1; every answer verified{}\n",
        report.sf,
        report.runs,
        report.machine.cores,
        if report.machine.release_build { "" } else { "; UNOPTIMISED BUILD: the figures mean nothing" }
    );
    for (name, load) in &report.loads {
        let bytes = load.bytes.map_or_else(String::new, grouped);
        let _ = writeln!(
            out,
            "{name:<10} load {:>7.2} s, with keys {:>7.2} s, {bytes} bytes",
            load.data_s, load.s
        );
    }
    let _ = write!(out, "\n{:<8}", "query");
    for name in report.engines.keys() {
        let _ = write!(out, "{name:>12}{:>10}", "1 worker");
    }
    let _ = writeln!(out, "{:>12}{:>12}{:>10}", "memory", "spilled", "ratio");
    let Some(verso) = report.engines.get("verso") else { return out };
    let mut numbers: Vec<&String> = verso.keys().collect();
    numbers.sort_by_key(|name| (name.len(), name.as_str()));
    for number in numbers {
        let _ = write!(out, "{number:<8}");
        for engine in report.engines.values() {
            let query = &engine[number];
            let sign = if query.over_limit { "> " } else { "" };
            let alone = query.ms_1_worker.map_or_else(String::new, |ms| format!("{ms:.1}"));
            let _ = write!(out, "{:>12}{alone:>10}", format!("{sign}{:.1}", query.ms));
        }
        let query = &verso[number];
        let megabytes = |bytes: Option<u64>| format!("{:.1} MB", bytes.unwrap_or_default() as f64 / 1e6);
        let _ = write!(out, "{:>12}{:>12}", megabytes(query.mem_bytes), megabytes(query.spilled_bytes));
        let _ = writeln!(out, "{:>10}", best_peer(report, number, query));
    }
    let _ = write!(out, "{:<8}", "mean");
    for name in report.engines.keys() {
        let mean = |name: &str| report.geomean.get(name).copied().unwrap_or_default();
        let _ = write!(out, "{:>12.1}{:>10.1}", mean(name), mean(&format!("{name}_1_worker")));
    }
    out.push('\n');
    for (peer, reason) in &report.skipped {
        let _ = writeln!(out, "{peer}: skipped, {reason}");
    }
    out.push_str("\nmean: geometric; ratio: Verso's time over that of the quickest peer; memory: what the operators held at most, added up; > : given up, which the mean counts as so long\n");
    out
}

fn best_peer(report: &Report, number: &str, query: &Query) -> String {
    let peers = report.engines.iter().filter(|(name, _)| *name != "verso");
    let best = peers.filter_map(|(_, engine)| engine.get(number)).map(|peer| peer.ms).reduce(f64::min);
    best.map_or_else(String::new, |best| format!("{:.2}", query.ms / best))
}
