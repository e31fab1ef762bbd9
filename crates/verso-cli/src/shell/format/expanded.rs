//! A block for each record, a line for each column.

use super::Grid;
use super::cells::{Line, extent, fitting, lines, pad};
use super::layout::{Format, HeaderWidth, Layout, LineStyle};
use super::style::{self, Rule, Style};

/// The least columns of data that are left when the screen is narrow.
const DATA_COLUMNS_MIN: usize = 3;

/// What the whole block is drawn with.
struct Frame {
    style: Style,
    border: u16,
    is_old: bool,
    /// Some heading has several lines.
    tall_heading: bool,
    /// Some value has, or is wrapped.
    tall_data: bool,
    heading: usize,
    data: usize,
}

/// Prints all records.
pub fn print(grid: &Grid<'_>, layout: &Layout, screen: Option<usize>, out: &mut String) {
    if grid.rows.is_empty() || grid.columns.is_empty() {
        if !layout.tuples_only {
            footers(&grid.footers, out);
        }
        out.push('\n');
        return;
    }
    let frame = frame(grid, layout, screen);
    if let (Some(title), false) = (grid.title, layout.tuples_only) {
        out.push_str(title);
        out.push('\n');
    }
    for (number, row) in grid.rows.iter().enumerate() {
        let line = if number == 0 { &frame.style.top } else { &frame.style.below_heading };
        match layout.tuples_only {
            false => rule(&frame, layout, screen, line, Some(number + 1), out),
            true if number > 0 || frame.border == 2 => rule(&frame, layout, screen, line, None, out),
            true => {}
        }
        for (column, value) in grid.columns.iter().zip(row) {
            record_line(&frame, &lines(&column.title), &lines(value), out);
        }
    }
    if frame.border == 2 {
        rule(&frame, layout, screen, &frame.style.bottom, None, out);
    }
    if let (Some(own), false) = (grid.own_footers, layout.tuples_only) {
        if frame.border < 2 {
            out.push('\n');
        }
        footers(own, out);
    }
    out.push('\n');
}

fn footers(lines: &[String], out: &mut String) {
    for line in lines {
        out.push_str(line);
        out.push('\n');
    }
}

fn frame(grid: &Grid<'_>, layout: &Layout, screen: Option<usize>) -> Frame {
    let border = layout.border.min(2);
    let is_old = layout.linestyle == LineStyle::OldAscii;
    let (mut heading, mut data, mut tall_heading, mut tall_data) = (0, 0, false, false);
    for column in grid.columns {
        let (width, height) = extent(&column.title);
        heading = heading.max(width);
        tall_heading |= height > 1;
    }
    for value in grid.rows.iter().flatten() {
        let (width, height) = extent(value);
        data = data.max(width);
        tall_data |= height > 1;
    }
    // Between the two: blanks, the rule, room for marks.
    let mut between = match border {
        0 => 1 + usize::from(tall_heading),
        1 => 3 + usize::from(tall_heading && is_old),
        _ => 7,
    };
    let marks_need_room = border < 2 && !is_old;
    between += usize::from(tall_data && marks_need_room);
    // In wrapped output the lines above the records count, too.
    let without_rule = layout.tuples_only || layout.format != Format::Wrapped;
    let record = match (without_rule, border) {
        (true, _) => 0,
        (false, 0) => digits(grid.rows.len()) + 9,
        (false, 1) => digits(grid.rows.len()) + 12,
        (false, _) => digits(grid.rows.len()) + 15,
    };
    let wanted = loop {
        let whole = (heading + between + data).max(record);
        let width = match screen.filter(|_| layout.format == Format::Wrapped) {
            Some(screen) => {
                let least = (heading + between + DATA_COLUMNS_MIN).max(record);
                screen.clamp(least.min(whole), whole)
            }
            None => whole,
        };
        let wanted = width - heading - between;
        if wanted >= data || tall_data || !marks_need_room {
            break wanted;
        }
        tall_data = true;
        between += 1;
    };
    let style = style::of(layout);
    Frame { style, border, is_old, tall_heading, tall_data, heading, data: wanted }
}

fn digits(count: usize) -> usize {
    count.to_string().len()
}

/// `-[ RECORD 1 ]-+----`: the cross stands where the columns meet, unless the words reach over it.
fn rule(
    frame: &Frame,
    layout: &Layout,
    screen: Option<usize>,
    rule: &Rule,
    record: Option<usize>,
    out: &mut String,
) {
    let heading = frame.heading + usize::from(frame.border < 2 && frame.tall_heading && frame.is_old);
    let line = if frame.border > 0 { rule.line } else { " " };
    // How wide the line may become; what stands in it counts from its beginning.
    let words = match (record, frame.border) {
        (None, _) => String::new(),
        (Some(record), 0) => format!("* Record {record}"),
        (Some(record), _) => format!("[ RECORD {record} ]"),
    };
    match frame.border {
        2 => out.extend([rule.left, rule.line]),
        1 => out.push_str(rule.line),
        _ => {}
    }
    out.push_str(&words);
    let mut taken = words.len() + usize::from(frame.border != 2);
    while taken < heading {
        out.push_str(line);
        taken += 1;
    }
    let mut over = taken - heading;
    let between: &[&str] = if frame.border > 0 { &[rule.line, rule.middle, rule.line] } else { &[" "] };
    for piece in between {
        match over {
            0 => out.push_str(piece),
            _ => over -= 1,
        }
    }
    let data = match layout.xheader_width {
        HeaderWidth::Full => frame.data,
        HeaderWidth::Column => 0,
        HeaderWidth::Page => limited(frame, heading, screen.unwrap_or(usize::MAX)),
        HeaderWidth::Columns(columns) => limited(frame, heading, columns),
    };
    out.extend(std::iter::repeat_n(line, data.saturating_sub(over)));
    if frame.border == 2 {
        out.extend([rule.line, rule.right]);
    }
    out.push('\n');
}

/// The columns of data below a header line of at most `whole` columns.
fn limited(frame: &Frame, heading: usize, whole: usize) -> usize {
    let others = match frame.border {
        0 => heading + 1,
        1 => heading + 3,
        _ => heading + 7,
    };
    frame.data.min(whole.saturating_sub(others))
}

/// A column's name and value, side by side, until both are over.
fn record_line(frame: &Frame, title: &[Line], value: &[Line], out: &mut String) {
    let Frame { style, border, is_old, tall_heading, tall_data, heading, data } = *frame;
    let (mut at_title, mut at_value, mut offset) = (0, 0, 0);
    while at_title < title.len() || at_value < value.len() {
        if border == 2 {
            out.push_str(style.data.left);
        }
        match title.get(at_title) {
            Some(line) => {
                if border == 2 || (tall_heading && is_old) {
                    out.push_str(if at_title > 0 { style.heading_left } else { " " });
                }
                out.push_str(&line.text);
                pad(out, heading - line.width);
                at_title += 1;
                if border > 0 || (tall_heading && !is_old) {
                    out.push_str(if at_title < title.len() { style.heading_right } else { " " });
                }
            }
            None => {
                let more = usize::from(border < 2 && tall_heading && is_old)
                    + usize::from(border == 0 && !is_old && tall_heading);
                // A format with a width of nothing prints its one blank all the same.
                pad(out, (heading + usize::from(border) + more).max(1));
            }
        }
        if border > 0 {
            out.push_str(match (offset, at_value) {
                (0, 0) => style.data.middle,
                (0, _) => style.middle_newline,
                _ => style.middle_wrap,
            });
        }
        let Some(line) = value.get(at_value) else {
            if border == 2 {
                pad(out, data + 2);
                out.push_str(style.data.right);
            }
            out.push('\n');
            continue;
        };
        out.push_str(if offset == 0 { " " } else { style.wrap_left });
        let rest = &line.text[offset..];
        let (bytes, columns) = fitting(rest, data);
        out.push_str(&rest[..bytes]);
        offset += bytes;
        let spare = data.saturating_sub(columns);
        let with_marks = border > 1 || (tall_data && !is_old);
        if offset < line.text.len() {
            if with_marks {
                pad(out, spare);
                out.push_str(style.wrap_right);
            }
        } else {
            offset = 0;
            at_value += 1;
            if at_value < value.len() {
                if with_marks {
                    pad(out, spare);
                    out.push_str(style.newline_right);
                }
            } else if border > 1 {
                pad(out, spare);
                out.push(' ');
            }
        }
        if border == 2 {
            out.push_str(style.data.right);
        }
        out.push('\n');
    }
}
