//! The plot: milliseconds of each query, a bar for each engine, as SVG.

use std::path::Path;

use plotters::prelude::*;

use super::Report;
use crate::BenchError;

const SIZE: (u32, u32) = (1100, 460);

/// Draws the times into `path`. The scale is logarithmic: engines differ by powers of ten.
pub(super) fn times(report: &Report, path: &Path) -> Result<(), BenchError> {
    let mut svg = String::new();
    draw(report, &mut svg).map_err(|error| BenchError::Plot(error.to_string()))?;
    std::fs::write(path, svg).map_err(BenchError::file(path))
}

fn draw(report: &Report, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let all = || report.engines.values().flat_map(|engine| engine.values()).map(|query| query.ms);
    let low = all().fold(f64::INFINITY, f64::min).clamp(0.01, 1e6) / 1.5;
    let high = all().fold(low * 10.0, f64::max) * 3.0;
    let numbers: Vec<usize> = (1..=22)
        .filter(|number| report.engines.values().any(|engine| engine.contains_key(&format!("q{number}"))))
        .collect();
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let title = format!("TPC-H, scale factor {}: milliseconds", report.sf);
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(34)
        .y_label_area_size(60)
        .build_cartesian_2d(0.0..numbers.len() as f64, (low..high).log_scale())?;
    // Below the middle of its bars.
    let label = |at: &f64| match numbers.get(*at as usize) {
        Some(number) if (at.fract() - 0.5).abs() < 0.01 => format!("Q{number}"),
        _ => String::new(),
    };
    chart
        .configure_mesh()
        .disable_x_mesh()
        .x_labels(2 * numbers.len() + 1)
        .x_label_formatter(&label)
        .y_desc("ms")
        .draw()?;
    let width = 0.8 / report.engines.len() as f64;
    for (at, (name, engine)) in report.engines.iter().enumerate() {
        let color = Palette99::pick(at).to_rgba();
        let bars = numbers.iter().enumerate().filter_map(|(place, number)| {
            let query = engine.get(&format!("q{number}"))?;
            let left = place as f64 + 0.1 + width * at as f64;
            Some(Rectangle::new([(left, low), (left + width, query.ms)], color.filled()))
        });
        chart
            .draw_series(bars)?
            .label(name.as_str())
            .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], color.filled()));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    area.present()?;
    Ok(())
}
