//! The plots of the ramp: new orders a minute and page writes a transaction over warehouses, one line for each placement and pool.

use std::path::Path;

use plotters::prelude::*;

use super::Point;
use crate::BenchError;

const SIZE: (u32, u32) = (1100, 460);
/// Width of the legend as a share of the ramp's.
const LEGEND: f64 = 0.5;

/// Draws both into `path`.
pub(super) fn ramp(points: &[Point], path: &Path) -> Result<(), BenchError> {
    let mut svg = String::new();
    draw(points, &mut svg).map_err(|error| BenchError::Plot(error.to_string()))?;
    std::fs::write(path, svg).map_err(BenchError::file(path))
}

fn draw(points: &[Point], svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let (left, right) = area.split_horizontally(SIZE.0 / 2);
    lines(points, &left, "new orders a minute", |point| point.tpmc)?;
    lines(points, &right, "page writes a transaction", |point| point.writes_per_tx)?;
    area.present()?;
    Ok(())
}

fn lines(
    points: &[Point],
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    value: impl Fn(&Point) -> f64,
) -> Result<(), Box<dyn std::error::Error>> {
    let most = points.iter().map(|point| point.warehouses).max().unwrap_or(1);
    let high = points.iter().map(&value).fold(0.0, f64::max).max(f64::MIN_POSITIVE) * 1.1;
    // Behind the last point there is room for the legend, which would cover lines otherwise.
    let end = f64::from(most) * (1.0 + LEGEND) + 0.5;
    let mut chart = ChartBuilder::on(area)
        .caption(format!("E3: {title}"), ("sans-serif", 18))
        .margin(12)
        .x_label_area_size(34)
        .y_label_area_size(64)
        .build_cartesian_2d(0.0..end, 0.0..high)?;
    let whole = |at: &f64| match at.fract() == 0.0 && *at <= f64::from(most) {
        true => format!("{at:.0}"),
        false => String::new(),
    };
    chart.configure_mesh().x_desc("warehouses").x_label_formatter(&whole).draw()?;
    let all = [("quarter", true), ("quarter", false), ("all", true), ("all", false)];
    for (at, (pool, colocate)) in all.into_iter().enumerate() {
        let color = Palette99::pick(at).to_rgba();
        let of_line = points.iter().filter(|point| (point.pool, point.colocate) == (pool, colocate));
        let places = of_line.map(|point| (f64::from(point.warehouses), value(point)));
        let name = format!("pool {pool}, {}", if colocate { "co-located" } else { "shared" });
        chart
            .draw_series(LineSeries::new(places, color.stroke_width(2)).point_size(3))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}
