//! The table that is printed.

use std::fmt::Write as _;

use serde_json::Value;

use super::Report;
use super::procedures::Case;
use crate::e1::grouped;

fn whole(value: f64) -> String {
    grouped(value.round().max(0.0) as u64)
}

fn number(value: &Value, name: &str) -> Option<f64> {
    value.get(name).and_then(Value::as_f64)
}

/// All figures, one line each.
pub(super) fn table(report: &Report) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        out,
        "E2: {} rows; the disk does {} fdatasyncs a second overwriting, {} extending\n",
        grouped(report.rows),
        whole(report.fdatasync_per_s),
        whole(report.fdatasync_extend_per_s)
    );
    let _ = writeln!(
        out,
        "{:<28}{:>10}{:>14}{:>12}{:>12}{:>10}",
        "verso", "seconds", "rows/s", "redo B/row", "of records", "fsyncs"
    );
    for case in Case::ALL {
        let Some(loaded) = report.verso.get(case.name()) else { continue };
        let text = |name: &str, digits: usize| {
            number(loaded, name).map_or_else(String::new, |value| format!("{value:.digits$}"))
        };
        let rate = number(loaded, "rows_per_s").map_or_else(String::new, whole);
        let _ = writeln!(
            out,
            "{:<28}{:>10}{:>14}{:>12}{:>12}{:>10}",
            case.name(),
            text("s", 3),
            rate,
            text("redo_bytes_per_row", 1),
            text("record_bytes_per_row", 1),
            text("fsyncs", 0)
        );
    }
    let _ = writeln!(out, "\n{:<28}{:>10}{:>14}", "sqlite", "seconds", "rows/s");
    for (name, loaded) in &report.sqlite {
        let _ = writeln!(out, "{name:<28}{:>10.3}{:>14}", loaded.s, whole(loaded.rows_per_s));
    }
    if let Some(peer) = &report.postgres {
        let _ = writeln!(out, "\n{:<28}{:>10}{:>14}{:>12}", "postgres", "seconds", "rows/s", "verso / it");
        for (name, loaded) in &peer.loops {
            let own = report.verso.get(*name).and_then(|own| number(own, "rows_per_s"));
            let ratio = own.map_or_else(String::new, |own| format!("{:.1}", own / loaded.rows_per_s));
            let _ = writeln!(out, "{name:<28}{:>10.3}{:>14}{ratio:>12}", loaded.s, whole(loaded.rows_per_s));
        }
        let title = "commits/s, postgres";
        let _ = writeln!(out, "\n{title:<28}{:>24}{:>20}", "durable_per_s", "nowait_per_s");
        for row in &peer.wire {
            let (durable, nowait) = (whole(row.durable_per_s), whole(row.nowait_per_s));
            let _ = writeln!(out, "{:<28}{durable:>24}{nowait:>20}", row.clients);
        }
    }
    for (title, key, fields) in [
        ("commits/s in this process", "concurrent", &["commits_per_s", "fsyncs"][..]),
        ("commits/s through the server", "wire", &["durable_per_s", "nowait_per_s"][..]),
    ] {
        let _ = writeln!(out, "\n{title:<28}{:>24}{:>20}", fields[0], fields[1]);
        for row in report.verso.get(key).and_then(Value::as_array).into_iter().flatten() {
            let clients = number(row, "clients").unwrap_or_default();
            let values: Vec<String> =
                fields.iter().map(|field| number(row, field).map_or_else(String::new, whole)).collect();
            let _ = writeln!(out, "{clients:<28}{:>24}{:>20}", values[0], values[1]);
        }
    }
    let _ = writeln!(out, "\n{:<28}{:>10}", "a step of PL/pgSQL", "ns");
    for (name, nanos) in &report.plpgsql {
        let theirs = report.postgres.as_ref().and_then(|peer| peer.plpgsql.get(name));
        let theirs = theirs.map_or_else(String::new, |theirs| format!("   postgres {theirs:.0}"));
        let _ = writeln!(out, "{name:<28}{nanos:>10.0}{theirs}");
    }
    out
}
