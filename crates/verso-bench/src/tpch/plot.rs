//! The plot: milliseconds of each query, a bar for each engine.

use super::Report;
use crate::chart::{Bars, Chart};

pub(super) fn times(report: &Report) -> Chart {
    let numbers: Vec<String> = (1..=22)
        .map(|number| format!("q{number}"))
        .filter(|query| report.engines.values().any(|engine| engine.contains_key(query)))
        .collect();
    let of_queries = |engine: &std::collections::BTreeMap<String, super::Query>| {
        numbers.iter().map(|query| engine.get(query).map(|query| query.ms)).collect()
    };
    Chart::Bars(Bars {
        title: format!("TPC-H, scale factor {}: milliseconds", report.sf),
        unit: "ms",
        groups: numbers.iter().map(|query| query.to_uppercase()).collect(),
        engines: report.engines.iter().map(|(name, engine)| (name.clone(), of_queries(engine))).collect(),
    })
}
