//! The plots of the ramp: new orders a minute and page writes a transaction over warehouses, one line for each placement and pool.

use super::Point;
use crate::chart::{Chart, Lines};

pub(super) fn ramp(points: &[Point]) -> [Chart; 2] {
    [
        lines(points, "new orders a minute", |point| point.tpmc),
        lines(points, "page writes a transaction", |point| point.writes_per_tx),
    ]
}

fn lines(points: &[Point], what: &'static str, value: impl Fn(&Point) -> f64) -> Chart {
    let all = [("quarter", true), ("quarter", false), ("all", true), ("all", false)];
    let lines = all.into_iter().map(|(pool, colocate)| {
        let of_line = points.iter().filter(|point| (point.pool, point.colocate) == (pool, colocate));
        let places = of_line.map(|point| (f64::from(point.warehouses), value(point)));
        (format!("pool {pool}, {}", if colocate { "co-located" } else { "shared" }), places.collect())
    });
    let title = format!("E3: {what}");
    Chart::Lines(Lines {
        title,
        over: "warehouses",
        from: None,
        unit: what,
        logarithmic: false,
        lines: lines.collect(),
    })
}
