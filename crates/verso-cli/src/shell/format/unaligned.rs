//! Values with a separator between them.

use super::Grid;
use super::layout::Layout;

/// Lines with a separator between, not behind them.
struct Lines<'l> {
    layout: &'l Layout,
    begun: bool,
}

impl Lines<'_> {
    fn start(&mut self, out: &mut String) {
        if std::mem::replace(&mut self.begun, true) {
            out.push_str(self.layout.recordsep.text());
        }
    }

    /// The last line ends, too: with a newline where lines end in one or in something readable.
    fn end(&self, out: &mut String) {
        if self.begun {
            out.push_str(if self.layout.recordsep.is_zero() { "\0" } else { "\n" });
        }
    }
}

/// A line for each row.
pub fn horizontal(grid: &Grid<'_>, layout: &Layout, out: &mut String) {
    let mut lines = Lines { layout, begun: false };
    let separator = layout.fieldsep.text();
    if !layout.tuples_only {
        if let Some(title) = grid.title {
            lines.start(out);
            out.push_str(title);
        }
        lines.start(out);
        let titles: Vec<&str> = grid.columns.iter().map(|column| column.title.as_str()).collect();
        out.push_str(&titles.join(separator));
    }
    for row in grid.rows.iter().filter(|row| !row.is_empty()) {
        lines.start(out);
        out.push_str(&row.join(separator));
    }
    if !layout.tuples_only {
        for footer in &grid.footers {
            lines.start(out);
            out.push_str(footer);
        }
    }
    lines.end(out);
}

/// A line for each value.
pub fn vertical(grid: &Grid<'_>, layout: &Layout, out: &mut String) {
    let mut lines = Lines { layout, begun: false };
    if let (Some(title), false) = (grid.title, layout.tuples_only) {
        lines.start(out);
        out.push_str(title);
    }
    for row in &grid.rows {
        // An empty line between records.
        if lines.begun {
            out.push_str(layout.recordsep.text());
        }
        for (column, value) in grid.columns.iter().zip(row) {
            lines.start(out);
            out.push_str(&column.title);
            out.push_str(layout.fieldsep.text());
            out.push_str(value);
        }
    }
    let footers = if grid.rows.is_empty() { Some(grid.footers.as_slice()) } else { grid.own_footers };
    if let (Some(footers), false) = (footers.filter(|lines| !lines.is_empty()), layout.tuples_only) {
        if !grid.rows.is_empty() {
            out.push_str(layout.recordsep.text());
        }
        for footer in footers {
            lines.start(out);
            out.push_str(footer);
        }
    }
    lines.end(out);
}
