//! The printed table of E1: passes, end, total, and how each total stands to Verso's default.

use std::fmt::Write;

use crate::{Measured, Report};

/// Engines in the order of the table.
const ENGINES: [&str; 4] = ["verso", "sqlite", "duckdb", "postgres"];
const VARIANTS: [&str; 5] = ["default", "no_savepoint", "savepoints", "rollback", "rollback_no_savepoint"];

/// The table and what it says in one line each.
pub fn render(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "E1: {} passes over {} rows in one transaction, milliseconds, median of {} runs; every value verified",
        report.passes,
        grouped(report.rows),
        report.runs
    );
    let _ = writeln!(
        out,
        "{} {}, {} cores; memcpy {:.1} GB/s, {:.0} fdatasync/s; pages of {} KiB, pool {} MiB{}\n",
        report.machine.system,
        report.machine.architecture,
        report.machine.cores,
        report.calibration.memcpy_gb_s,
        report.calibration.fdatasync_per_s,
        report.page_size / 1024,
        report.pool_bytes >> 20,
        if report.machine.release_build { "" } else { "; UNOPTIMISED BUILD: the figures mean nothing" }
    );
    let _ = write!(out, "{:<31}", "engine, variant");
    for pass in 1..=report.passes {
        let _ = write!(out, "{:>9}", format!("pass {pass}"));
    }
    let _ = writeln!(out, "{:>9}{:>10}{:>9}{:>10}{:>9}", "end", "total", "ratio", "memory+", "scan");
    let base = figures(report, "verso", "default").map(Measured::total_ms);
    for engine in ENGINES {
        for variant in VARIANTS {
            if let Some(measured) = figures(report, engine, variant) {
                line(&format!("{engine} {variant}"), measured, base, &mut out);
            }
        }
    }
    for (peer, reason) in &report.skipped {
        let _ = writeln!(out, "{peer}: skipped, {reason}");
    }
    out.push_str("\nend: COMMIT or ROLLBACK; ratio: total over Verso's default; memory+: growth beyond pool frames, MB; ");
    out.push_str("scan: count(*), sum(qrt)\n");
    summary(report, &mut out);
    out
}

fn line(name: &str, measured: &Measured, base: Option<f64>, out: &mut String) {
    let _ = write!(out, "{name:<31}");
    for pass in &measured.pass_ms {
        let _ = write!(out, "{pass:>9.2}");
    }
    let _ = write!(out, "{:>9.2}{:>10.2}", measured.end_ms(), measured.total_ms());
    match base {
        Some(base) if base > 0.0 => {
            let _ = write!(out, "{:>9.2}", measured.total_ms() / base);
        }
        _ => out.push_str("        –"),
    }
    match measured.mem_growth_bytes {
        Some(bytes) => {
            let _ = write!(out, "{:>10.1}", bytes as f64 / 1e6);
        }
        None => out.push_str("         –"),
    }
    match measured.scan_before_ms {
        Some(scan) => {
            let _ = writeln!(out, "{scan:>9.2}");
        }
        None => out.push_str("        –\n"),
    }
}

/// The comparisons that E1 is about.
fn summary(report: &Report, out: &mut String) {
    let total = |engine, variant| figures(report, engine, variant).map(Measured::total_ms);
    let mut ratio = |what: &str, a: Option<f64>, b: Option<f64>| {
        if let (Some(a), Some(b)) = (a, b) {
            let _ = writeln!(out, "{what:<44}{:>8.2}", a / b.max(f64::MIN_POSITIVE));
        }
    };
    let default = total("verso", "default");
    for peer in &ENGINES[1..] {
        ratio(&format!("{peer} / verso"), total(peer, "default"), default);
    }
    ratio("default / no_savepoint", default, total("verso", "no_savepoint"));
    ratio("savepoints / default", total("verso", "savepoints"), default);
    if let Some(passes) = figures(report, "verso", "default").map(|measured| &measured.pass_ms) {
        let slowest = passes.iter().copied().reduce(f64::max);
        ratio("slowest pass / first pass", slowest, passes.first().copied());
    }
    for variant in ["rollback", "rollback_no_savepoint"] {
        if let Some(measured) = figures(report, "verso", variant) {
            ratio(
                &format!("{variant}: scan after / before"),
                measured.scan_after_ms,
                measured.scan_before_ms,
            );
        }
    }
    if let Some(measured) = figures(report, "verso", "default") {
        files(measured, out);
    }
}

/// What became of the database file.
fn files(measured: &Measured, out: &mut String) {
    let steps = [
        ("before the passes", measured.file_bytes_before),
        ("after them", measured.file_bytes_after),
        ("dropped and made again", measured.file_bytes_again),
    ];
    let text: Vec<String> = steps
        .iter()
        .filter_map(|(when, bytes)| bytes.map(|bytes| format!("{when} {:.1}", bytes as f64 / 1e6)))
        .collect();
    if !text.is_empty() {
        let _ = writeln!(out, "file, MB: {}", text.join(", "));
    }
}

fn figures<'r>(report: &'r Report, engine: &str, variant: &str) -> Option<&'r Measured> {
    report.engines.get(engine)?.get(variant)
}

/// 100,000 for 100000.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::Calibration;
    use crate::machine::Machine;

    #[test]
    fn thousands_are_grouped() {
        assert_eq!(grouped(7), "7");
        assert_eq!(grouped(100_000), "100,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn ratios_are_taken_to_the_default() {
        let run = |ms: f64| Measured { pass_ms: vec![ms, ms], commit_ms: Some(0.0), ..Measured::default() };
        let verso = BTreeMap::from([("default".to_owned(), run(5.0)), ("no_savepoint".to_owned(), run(4.0))]);
        let sqlite = BTreeMap::from([("default".to_owned(), run(30.0))]);
        let report = Report {
            workload: "e1".into(),
            rows: 1000,
            passes: 2,
            runs: 1,
            page_size: 16384,
            pool_bytes: 1 << 30,
            version: "0".into(),
            machine: Machine::here(),
            calibration: Calibration { memcpy_gb_s: 1.0, fdatasync_per_s: 1.0, two_threads: 2.0 },
            scan: None,
            skipped: BTreeMap::from([("duckdb".to_owned(), "not here".to_owned())]),
            engines: BTreeMap::from([("verso".to_owned(), verso), ("sqlite".to_owned(), sqlite)]),
        };
        let text = render(&report);
        let has =
            |start: &str, end: &str| text.lines().any(|line| line.starts_with(start) && line.ends_with(end));
        assert!(has("sqlite / verso", "6.00"), "{text}");
        assert!(has("default / no_savepoint", "1.25"), "{text}");
        assert!(has("slowest pass / first pass", "1.00"), "{text}");
        assert!(has("duckdb: skipped", "not here"), "{text}");
    }
}
