//! The plots over time: bills a minute of each iteration of the batch, alone and beside TPC-C.

use std::collections::BTreeMap;

use super::batch::BatchFigures;
use super::{Contest, E5Figures, Variant, tables};
use crate::chart::{Chart, Lines};

pub(super) fn over_time(verso: &E5Figures, peers: &BTreeMap<String, E5Figures>) -> [Chart; 2] {
    let engines = || {
        let peers = peers.iter().map(|(name, figures)| (name.as_str(), figures));
        std::iter::once(("verso", verso)).chain(peers)
    };
    let chart = |title: &str, part: fn(&Contest) -> &BatchFigures| {
        let line = |(engine, figures): (&str, &E5Figures)| {
            let lines = figures.variants.iter();
            let line = |(variant, contest): (&Variant, &Contest)| {
                (format!("{engine} {}", variant.name()), rates(part(contest)))
            };
            lines.map(line).collect::<Vec<_>>()
        };
        Chart::Lines(Lines {
            title: format!("E5: bills a minute, {title}"),
            over: "seconds",
            from: Some(0.0),
            unit: "bills/min",
            logarithmic: true,
            lines: engines().flat_map(line).collect(),
        })
    };
    [chart("the batch alone", |contest| &contest.alone), chart("beside TPC-C", |contest| &contest.together)]
}

/// The rate of each iteration at its end.
fn rates(figures: &BatchFigures) -> Vec<(f64, f64)> {
    let ends = figures.iteration_s.iter().scan(0.0, |end, seconds| {
        *end += seconds;
        Some((*end, tables::CUSTOMERS as f64 * 60.0 / seconds.max(1e-9)))
    });
    ends.collect()
}
