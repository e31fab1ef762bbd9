//! Plots as SVG: lines over a number, and bars of several engines beside one another.
//!
//! A report's module says what is drawn; how it looks is said here once.

use std::path::Path;

use plotters::coord::Shift;
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::prelude::*;

use crate::BenchError;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn = Result<(), Box<dyn std::error::Error>>;

/// Width and height of one chart.
const SIZE: (u32, u32) = (900, 460);
/// Width of the legend of lines as a share of their width: it would cover them otherwise.
const LEGEND: f64 = 0.4;

/// Lines over a number, such as the passes or the warehouses.
#[derive(Debug)]
pub(crate) struct Lines {
    pub(crate) title: String,
    /// What the numbers at the bottom are.
    pub(crate) over: &'static str,
    /// Where they begin; none for the least of the points.
    pub(crate) from: Option<f64>,
    /// What is drawn, with its unit.
    pub(crate) unit: &'static str,
    /// Engines differ by powers of ten.
    pub(crate) logarithmic: bool,
    /// Name and points of each line.
    pub(crate) lines: Vec<(String, Vec<(f64, f64)>)>,
}

/// Bars in groups: one group for a job, one bar in it for an engine.
#[derive(Debug)]
pub(crate) struct Bars {
    pub(crate) title: String,
    /// What is drawn, with its unit.
    pub(crate) unit: &'static str,
    /// The names of the groups.
    pub(crate) groups: Vec<String>,
    /// Each engine with its values, in the order of the groups; none where it was not measured.
    pub(crate) engines: Vec<(String, Vec<Option<f64>>)>,
}

/// What can be drawn.
#[derive(Debug)]
pub(crate) enum Chart {
    Lines(Lines),
    Bars(Bars),
}

/// Draws the charts one below the other into a file of SVG.
pub(crate) fn write(charts: &[Chart], path: &Path) -> Result<(), BenchError> {
    let mut svg = String::new();
    draw(charts, &mut svg).map_err(|error| BenchError::Plot(error.to_string()))?;
    std::fs::write(path, svg).map_err(BenchError::file(path))
}

fn draw(charts: &[Chart], svg: &mut String) -> Drawn {
    let height = SIZE.1 * u32::try_from(charts.len())?;
    let area = SVGBackend::with_string(svg, (SIZE.0, height)).into_drawing_area();
    area.fill(&WHITE)?;
    for (chart, part) in charts.iter().zip(area.split_evenly((charts.len().max(1), 1))) {
        match chart {
            Chart::Lines(lines) => lines.draw(&part)?,
            Chart::Bars(bars) => bars.draw(&part)?,
        }
    }
    area.present()?;
    Ok(())
}

/// From somewhat below the least value to somewhat above the greatest, for a logarithmic scale.
fn bounds(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let positive = values.filter(|value| *value > 0.0);
    let low = positive.clone().fold(f64::INFINITY, f64::min).clamp(1e-6, 1e12) / 1.5;
    (low, positive.fold(low * 10.0, f64::max) * 1.5)
}

impl Lines {
    fn draw(&self, area: &Area<'_>) -> Drawn {
        let values = self.lines.iter().flat_map(|(_, points)| points.iter().map(|(_, value)| *value));
        if self.logarithmic {
            let (low, high) = bounds(values);
            return self.draw_scaled(area, (low..high).log_scale());
        }
        let high = values.fold(f64::MIN_POSITIVE, f64::max) * 1.1;
        self.draw_scaled(area, 0.0..high)
    }

    fn draw_scaled<Y>(&self, area: &Area<'_>, scale: Y) -> Drawn
    where
        Y: AsRangedCoord<Value = f64>,
        Y::CoordDescType: ValueFormatter<f64>,
    {
        let places = self.lines.iter().flat_map(|(_, points)| points.iter().map(|(place, _)| *place));
        let first = places.clone().fold(f64::INFINITY, f64::min).min(1e12);
        let last = places.fold(first + f64::EPSILON, f64::max);
        let first = self.from.unwrap_or(first);
        let last = last.max(first + f64::EPSILON);
        let margin = (last - first) * 0.03;
        let begin = self.from.unwrap_or(first - margin);
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(34)
            .y_label_area_size(70)
            .build_cartesian_2d(begin..last + margin + (last - first) * LEGEND, scale)?;
        let label = |place: &f64| match *place <= last + margin {
            true if place.fract() == 0.0 => format!("{place:.0}"),
            true if last - first < 4.0 && (place * 2.0).fract() == 0.0 => format!("{place:.1}"),
            _ => String::new(),
        };
        chart
            .configure_mesh()
            .x_desc(self.over)
            .y_desc(self.unit)
            .x_label_formatter(&label)
            .y_label_formatter(&short)
            .draw()?;
        for (at, (name, points)) in self.lines.iter().enumerate() {
            let color = Palette99::pick(at).to_rgba();
            chart
                .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)).point_size(3))?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        }
        legend(&mut chart)
    }
}

impl Bars {
    fn draw(&self, area: &Area<'_>) -> Drawn {
        let (low, high) =
            bounds(self.engines.iter().flat_map(|(_, values)| values.iter().flatten().copied()));
        // Above the bars there is room for the legend.
        let mut chart = ChartBuilder::on(area)
            .caption(&self.title, ("sans-serif", 20))
            .margin(12)
            .x_label_area_size(34)
            .y_label_area_size(70)
            .build_cartesian_2d(0.0..self.groups.len() as f64, (low..high * 20.0).log_scale())?;
        // Below the middle of its bars.
        let label = |place: &f64| match self.groups.get(*place as usize) {
            Some(name) if (place.fract() - 0.5).abs() < 0.01 => name.clone(),
            _ => String::new(),
        };
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(2 * self.groups.len() + 1)
            .x_label_formatter(&label)
            .y_desc(self.unit)
            .y_label_formatter(&short)
            .draw()?;
        let width = 0.8 / self.engines.len().max(1) as f64;
        for (at, (name, values)) in self.engines.iter().enumerate() {
            let color = Palette99::pick(at).to_rgba();
            let bars = values.iter().enumerate().filter_map(|(group, value)| {
                let left = group as f64 + 0.1 + width * at as f64;
                let value = value.filter(|value| *value > 0.0)?;
                Some(Rectangle::new([(left, low), (left + width, value)], color.filled()))
            });
            chart
                .draw_series(bars)?
                .label(name)
                .legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 12, y + 5)], color.filled()));
        }
        legend(&mut chart)
    }
}

fn legend<'a, X, Y>(chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, Y>>) -> Drawn
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64>,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64>,
{
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .draw()?;
    Ok(())
}

/// 1500000 as 1.5M: what stands beside the scale is short.
fn short(value: &f64) -> String {
    let (number, unit) = match value.abs() {
        large if large >= 1e6 => (value / 1e6, "M"),
        large if large >= 1e4 => (value / 1e3, "k"),
        _ => (*value, ""),
    };
    let digits = match number.abs() {
        whole if whole >= 10.0 || whole.fract() == 0.0 => 0,
        tenths if tenths >= 1.0 => 1,
        _ => 3,
    };
    format!("{number:.digits$}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beside_a_scale_are_short() {
        let short: Vec<String> = [1_500_000.0, 20_000.0, 9_000.0, 2.5, 0.05, 0.0].iter().map(short).collect();
        assert_eq!(short, ["1.5M", "20k", "9000", "2.5", "0.050", "0"]);
    }

    #[test]
    fn charts_stand_one_below_the_other() {
        let lines = |logarithmic| {
            let points = vec![(1.0, 5.0), (2.0, 0.5)];
            let (title, lines) = ("A title".to_owned(), vec![("a line".to_owned(), points)]);
            Chart::Lines(Lines { title, over: "workers", from: None, unit: "s", logarithmic, lines })
        };
        let bars = Chart::Bars(Bars {
            title: "Bars".to_owned(),
            unit: "ms",
            groups: vec!["Q1".to_owned(), "Q2".to_owned()],
            engines: vec![("verso".to_owned(), vec![Some(3.0), None])],
        });
        let mut svg = String::new();
        draw(&[lines(true), lines(false), bars], &mut svg).expect("drawn");
        assert!(svg.contains("height=\"1380\""), "three charts");
        for text in ["A title", "a line", "workers", "Bars", "Q1", "Q2", "verso"] {
            assert!(svg.contains(text), "{text}");
        }
        draw(
            &[Chart::Lines(Lines {
                title: String::new(),
                over: "",
                from: Some(0.0),
                unit: "",
                logarithmic: true,
                lines: vec![],
            })],
            &mut svg,
        )
        .expect("nothing to draw is no error");
    }
}
