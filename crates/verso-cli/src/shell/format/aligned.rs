//! Columns beneath each other; in the format `wrapped` made narrower until they fit the screen.

use std::borrow::Cow;

use super::cells::{Line, extent, fitting, lines, pad};
use super::layout::{Expanded, Format, Layout};
use super::style::{self, Rule, Style};
use super::{Grid, expanded};

/// Why a cell has another line.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    None,
    Newline,
    Wrap,
}

/// A cell that is being printed line by line.
struct Flow {
    lines: Vec<Line>,
    line: usize,
    /// Bytes of the line that are printed.
    offset: usize,
}

impl Flow {
    fn new(value: &str) -> Flow {
        Flow { lines: lines(value), line: 0, offset: 0 }
    }

    /// What follows now, if anything.
    fn mark(&self) -> Mark {
        match (self.line < self.lines.len(), self.offset, self.line) {
            (false, ..) | (true, 0, 0) => Mark::None,
            (true, 0, _) => Mark::Newline,
            (true, ..) => Mark::Wrap,
        }
    }

    fn is_over(&self) -> bool {
        self.line >= self.lines.len()
    }

    /// The next piece of at most `width` columns, and how many it takes.
    fn next(&mut self, width: usize) -> Option<(String, usize)> {
        let line = self.lines.get(self.line)?;
        let rest = &line.text[self.offset..];
        let (bytes, columns) = fitting(rest, width);
        let piece = rest[..bytes].to_owned();
        self.offset += bytes;
        if self.offset == line.text.len() {
            self.line += 1;
            self.offset = 0;
        }
        Some((piece, columns.min(width)))
    }
}

/// The widths of the columns, and what the borders take.
struct Widths {
    columns: Vec<usize>,
    total: usize,
    headings: usize,
}

fn border_width(border: u16, columns: usize) -> usize {
    match border {
        0 => columns,
        1 => (columns * 3).saturating_sub(1),
        _ => columns * 3 + 1,
    }
}

fn measure(grid: &Grid<'_>, layout: &Layout, border: u16, screen: Option<usize>) -> Widths {
    let count = grid.columns.len();
    let heading: Vec<usize> = grid.columns.iter().map(|column| extent(&column.title).0).collect();
    let (mut widest, mut sum) = (heading.clone(), vec![0_usize; count]);
    for row in &grid.rows {
        for (at, value) in row.iter().enumerate() {
            let value = extent(value).0;
            widest[at] = widest[at].max(value);
            sum[at] += value;
        }
    }
    let average: Vec<usize> = sum.iter().map(|sum| sum / grid.rows.len().max(1)).collect();
    let borders = border_width(border, count);
    let mut total = borders + widest.iter().sum::<usize>();
    let headings = borders + heading.iter().sum::<usize>();
    let mut columns = widest.clone();
    if let (Format::Wrapped, Some(screen)) = (layout.format, screen.filter(|&screen| screen >= headings)) {
        // The column whose widest value stands out most gives way, one by one; wide ones a little earlier.
        while total > screen {
            let ratio = |at: usize| columns[at] as f64 / average[at] as f64 + widest[at] as f64 * 0.01;
            let narrowable = (0..count).filter(|&at| average[at] > 0 && columns[at] > heading[at]);
            let worst = narrowable.fold(None, |worst: Option<(usize, f64)>, at| match worst {
                Some((_, most)) if ratio(at) <= most => worst,
                _ => Some((at, ratio(at))),
            });
            let Some((worst, _)) = worst else { break };
            columns[worst] -= 1;
            total -= 1;
        }
    }
    Widths { columns, total, headings }
}

/// Prints the table; as blocks if it should not be wider than the screen, but is.
pub fn print(grid: &Grid<'_>, layout: &Layout, screen: Option<usize>, out: &mut String) {
    let border = layout.border.min(2);
    let style = &style::of(layout);
    let widths = measure(grid, layout, border, screen);
    let too_wide = screen.is_some_and(|screen| screen < widths.total || screen < widths.headings);
    if layout.expanded == Expanded::Auto && grid.columns.len() > 1 && too_wide {
        return expanded::print(grid, layout, screen, out);
    }
    if !layout.tuples_only {
        if let Some(title) = grid.title {
            let (columns, _) = extent(title);
            pad(out, widths.total.saturating_sub(columns) / 2);
            out.push_str(title);
            out.push('\n');
        }
        headings(grid, border, style, &widths.columns, out);
    }
    // A row without columns takes no line.
    for row in grid.rows.iter().filter(|row| !row.is_empty()) {
        print_row(grid, row, border, style, &widths.columns, out);
    }
    if border == 2 {
        rule(&style.bottom, &widths.columns, border, out);
    }
    if !layout.tuples_only {
        for footer in &grid.footers {
            out.push_str(footer);
            out.push('\n');
        }
    }
    out.push('\n');
}

fn rule(rule: &Rule, widths: &[usize], border: u16, out: &mut String) {
    match border {
        1 => out.push_str(rule.line),
        2 => {
            out.push_str(rule.left);
            out.push_str(rule.line);
        }
        _ => {}
    }
    for (at, &width) in widths.iter().enumerate() {
        out.extend(std::iter::repeat_n(rule.line, width));
        if at + 1 < widths.len() {
            match border {
                0 => out.push(' '),
                _ => out.extend([rule.line, rule.middle, rule.line]),
            }
        }
    }
    match border {
        1 => out.push_str(rule.line),
        2 => {
            out.push_str(rule.line);
            out.push_str(rule.right);
        }
        _ => {}
    }
    out.push('\n');
}

fn headings(grid: &Grid<'_>, border: u16, style: &Style, widths: &[usize], out: &mut String) {
    if border == 2 {
        rule(&style.top, widths, border, out);
    }
    let titles: Vec<Vec<Line>> = grid.columns.iter().map(|column| lines(&column.title)).collect();
    let height = titles.iter().map(Vec::len).max().unwrap_or(0);
    for number in 0..height {
        if border == 2 {
            out.push_str(style.data.left);
        }
        for (at, title) in titles.iter().enumerate() {
            if border != 0 || (!style.marks_right && at > 0) {
                out.push_str(if number > 0 { style.heading_left } else { " " });
            }
            match title.get(number) {
                Some(line) => {
                    let spare = widths[at].saturating_sub(line.width);
                    pad(out, spare / 2);
                    out.push_str(&line.text);
                    pad(out, spare.div_ceil(2));
                }
                None => pad(out, widths[at]),
            }
            if border != 0 || style.marks_right {
                out.push_str(if number + 1 < title.len() { style.heading_right } else { " " });
            }
            if border != 0 && at + 1 < titles.len() {
                out.push_str(style.data.middle);
            }
        }
        if border == 2 {
            out.push_str(style.data.right);
        }
        out.push('\n');
    }
    rule(&style.below_heading, widths, border, out);
}

fn print_row(
    grid: &Grid<'_>,
    row: &[Cow<'_, str>],
    border: u16,
    style: &Style,
    widths: &[usize],
    out: &mut String,
) {
    let mut flows: Vec<Flow> = row.iter().map(|value| Flow::new(value)).collect();
    let last = flows.len() - 1;
    loop {
        if border == 2 {
            out.push_str(style.data.left);
        }
        for at in 0..flows.len() {
            let to_end = border == 2 || at < last;
            let before = flows[at].mark();
            if border != 0 {
                out.push_str(match before {
                    Mark::Wrap => style.wrap_left,
                    Mark::Newline => style.newline_left,
                    Mark::None => " ",
                });
            }
            let right = grid.columns[at].is_right();
            let piece = flows[at].next(widths[at]);
            let after = flows[at].mark();
            match piece {
                None if to_end => pad(out, widths[at]),
                None => {}
                Some((text, columns)) if right => {
                    pad(out, widths[at] - columns);
                    out.push_str(&text);
                }
                Some((text, columns)) => {
                    out.push_str(&text);
                    if to_end || after != Mark::None {
                        pad(out, widths[at] - columns);
                    }
                }
            }
            match after {
                Mark::Wrap => out.push_str(style.wrap_right),
                Mark::Newline => out.push_str(style.newline_right),
                Mark::None if to_end => out.push(' '),
                Mark::None => {}
            }
            if border != 0 && at < last {
                let next = &flows[at + 1];
                out.push_str(match next.mark() {
                    Mark::Wrap => style.middle_wrap,
                    Mark::Newline => style.middle_newline,
                    Mark::None if next.is_over() => style.middle_blank,
                    Mark::None => style.data.middle,
                });
            }
        }
        if border == 2 {
            out.push_str(style.data.right);
        }
        out.push('\n');
        if flows.iter().all(Flow::is_over) {
            return;
        }
    }
}
