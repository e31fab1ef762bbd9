//! The table that is printed.

use std::fmt::Write as _;

use super::{ByWorkers, Found, Report};
use crate::e1::grouped;

/// All figures, a line for each job and engine.
pub(super) fn table(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "E4: {} words, {} bytes; {} processors; seconds by the number of workers\n",
        grouped(report.rows),
        grouped(report.verso.bytes),
        report.machine.cores
    );
    let engines = std::iter::once(("verso", &report.verso))
        .chain(report.peers.iter().map(|(name, found)| (*name, found)));
    for (name, found) in engines {
        lines(&mut out, name, found);
    }
    for (name, why) in &report.skipped {
        let _ = writeln!(out, "skipped: {name}: {why}");
    }
    out
}

fn lines(out: &mut String, name: &str, found: &Found) {
    let line = |out: &mut String, job: &str, seconds: &ByWorkers, note: &str| {
        if seconds.is_empty() {
            return;
        }
        let cells: Vec<String> = seconds.iter().map(|(workers, s)| format!("{workers}: {s:>8.3}")).collect();
        let one = seconds.get(&1);
        // Of the most workers, also where they are slower than one.
        let most = one.zip(seconds.values().next_back()).map(|(one, most)| one / most);
        let speed =
            most.filter(|_| seconds.len() > 1).map_or_else(String::new, |times| format!("  {times:.2}x"));
        let _ = writeln!(out, "{name:<10}{job:<22}{}{speed}{note}", cells.join("  "));
    };
    let once = ByWorkers::from([(1, found.load_s)]);
    line(out, "load", &once, "");
    line(out, "index", &found.index, "");
    line(out, "sweep", &found.sweep, "");
    line(out, "collations", &found.collations, "");
    for (packing, backup) in &found.backup {
        let note = format!("  {} bytes", grouped(backup.bytes));
        line(out, &format!("backup, {packing}"), &backup.seconds, &note);
    }
    for (job, part) in [
        ("restore", (|restore| restore.s) as fn(&super::Restore) -> f64),
        ("  rows", |restore| restore.data_s),
        ("  key and index", |restore| restore.index_s),
    ] {
        let seconds = found.restore.iter().map(|(workers, restore)| (*workers, part(restore))).collect();
        line(out, job, &seconds, "");
    }
    for (job, why) in &found.skipped {
        let _ = writeln!(out, "{name:<10}skipped: {job}: {why}");
    }
    let _ = writeln!(out);
}
