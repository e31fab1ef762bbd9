//! The dashboard and the guide name figures that there are, and use them as what they are.

use std::path::PathBuf;

use serde_json::Value;
use verso_session::metrics::{DATABASE_METRICS, Metric, MetricKind, SERVER_METRICS};

fn docs(path: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn all() -> impl Iterator<Item = &'static Metric> {
    SERVER_METRICS.iter().chain(DATABASE_METRICS).copied()
}

/// The expressions of a dashboard, wherever they stand.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if matches!(name.as_str(), "expr" | "query") => {
                        found.push(text.clone());
                    }
                    value => expressions(value, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

/// Figures named in an expression: what stands before each, and the name.
fn named(expression: &str) -> Vec<(&str, &str)> {
    let mut names = Vec::new();
    let mut at = 0;
    while let Some(found) = expression[at..].find("verso_") {
        let start = at + found;
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = expression[start..].find(|c| !is_name(c)).map_or(expression.len(), |length| start + length);
        names.push((&expression[..start], &expression[start..end]));
        at = end;
    }
    names
}

#[test]
fn every_expression_of_the_dashboard_names_a_figure_and_uses_it_as_its_kind() {
    let dashboard: Value = serde_json::from_str(&docs("grafana/verso.json")).unwrap();
    let mut found = Vec::new();
    expressions(&dashboard, &mut found);
    assert!(found.len() > 40, "{}", found.len());
    let mut used = 0;
    for expression in found.iter().filter(|expression| *expression != "prometheus") {
        let names = named(expression);
        assert!(!names.is_empty(), "{expression} names none");
        for (before, name) in names {
            let series = |metric: &&Metric| match metric.kind {
                MetricKind::Histogram => ["_bucket", "_sum", "_count"]
                    .iter()
                    .any(|part| name.strip_suffix(part).is_some_and(|name| name == metric.name)),
                _ => metric.name == name,
            };
            let metric = all().find(series).unwrap_or_else(|| panic!("there is no {name}: {expression}"));
            let by_time = before.ends_with("rate(") || before.ends_with("increase(");
            let is_looked_up = before.ends_with("label_values(");
            assert!(is_looked_up || by_time == (metric.kind != MetricKind::Gauge), "{expression}");
            used += 1;
        }
    }
    assert!(used > 40);
}

#[test]
fn the_guide_tells_of_every_figure() {
    let guide = docs("guide/server.md");
    for metric in all() {
        assert!(guide.contains(&format!("`{}`", metric.name)), "{} is not in the guide", metric.name);
    }
}
