//! The plot: rows a second in each mode, a bar for each engine.

use std::collections::BTreeMap;

use super::procedures::Case;
use super::{Loaded, Report};
use crate::chart::{Bars, Chart};

/// SQLite's three levels of durability stand where they promise the same.
const SQLITE: [(&str, &str); 3] = [
    ("full", "commit_wait_immediate"),
    ("normal", "commit_nowait_immediate"),
    ("off", "commit_nowait_batch"),
];

pub(super) fn rates(report: &Report) -> Chart {
    let names: Vec<&'static str> = Case::ALL.iter().map(|case| case.name()).collect();
    let own = |name: &&str| report.verso.get(*name)?.get("rows_per_s")?.as_f64();
    let mut engines = vec![("verso".to_owned(), names.iter().map(own).collect())];
    let sqlite = |name: &&str| {
        let level = SQLITE.iter().find(|(_, mode)| mode == name).map_or(*name, |(level, _)| level);
        Some(report.sqlite.get(level)?.rows_per_s)
    };
    engines.push(("sqlite".to_owned(), names.iter().map(sqlite).collect()));
    if let Some(peer) = &report.postgres {
        let loops: &BTreeMap<_, Loaded> = &peer.loops;
        let theirs = |name: &&str| Some(loops.get(*name)?.rows_per_s);
        engines.push(("postgres".to_owned(), names.iter().map(theirs).collect()));
    }
    let short = |name: &str| name.trim_start_matches("commit_").replace('_', " ");
    Chart::Bars(Bars {
        title: format!("E2: {} inserts by a procedure, rows a second", crate::e1::grouped(report.rows)),
        unit: "rows/s",
        groups: names.iter().map(|name| short(name)).collect(),
        engines,
    })
}
