//! The plot of a run: milliseconds of each pass, one line for each engine and variant, as SVG.

use std::path::Path;

use plotters::prelude::*;

use crate::{BenchError, Report};

const SIZE: (u32, u32) = (900, 520);
/// Width of the legend as a share of the passes'.
const LEGEND: f64 = 0.4;

/// Draws the passes into `path`. The scale is logarithmic: peers differ by powers of ten.
pub fn passes(report: &Report, path: &Path) -> Result<(), BenchError> {
    let mut svg = String::new();
    draw(report, &mut svg).map_err(|error| BenchError::Plot(error.to_string()))?;
    std::fs::write(path, svg).map_err(BenchError::file(path))
}

fn draw(report: &Report, svg: &mut String) -> Result<(), Box<dyn std::error::Error>> {
    let lines: Vec<(String, &[f64])> = report
        .engines
        .iter()
        .flat_map(|(engine, variants)| {
            variants
                .iter()
                .map(move |(name, measured)| (format!("{engine} {name}"), measured.pass_ms.as_slice()))
        })
        .collect();
    let all = || lines.iter().flat_map(|(_, passes)| passes.iter().copied()).filter(|ms| *ms > 0.0);
    let low = all().fold(f64::INFINITY, f64::min).min(1e6) / 1.5;
    let high = all().fold(low * 10.0, f64::max) * 1.5;

    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let title = format!("E1: {} rows, milliseconds a pass", crate::e1::grouped(report.rows));
    // Behind the last pass there is room for the legend, which would cover lines otherwise.
    let passes = f64::from(report.passes);
    let end = passes + 0.2 + passes * LEGEND;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(34)
        .y_label_area_size(60)
        .build_cartesian_2d(0.8..end, (low..high).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("pass")
        .y_desc("ms")
        .x_labels(report.passes as usize + 2)
        .x_label_formatter(&|pass| match pass.fract() == 0.0 && *pass <= passes {
            true => format!("{pass:.0}"),
            false => String::new(),
        })
        .draw()?;
    for (at, (name, passes)) in lines.iter().enumerate() {
        let color = Palette99::pick(at).to_rgba();
        let points = passes.iter().enumerate().map(|(pass, &ms)| (pass as f64 + 1.0, ms));
        chart
            .draw_series(LineSeries::new(points, color.stroke_width(2)).point_size(3))?
            .label(name.as_str())
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
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
