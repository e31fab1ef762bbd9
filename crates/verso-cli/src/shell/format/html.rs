//! A table in HTML.

use std::fmt::Write;

use super::Grid;
use super::layout::Layout;

/// A text in HTML; blanks at its start stay, as plans are indented.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut leading = true;
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("<br />\n"),
            ' ' if leading => out.push_str("&nbsp;"),
            other => out.push(other),
        }
        leading &= character == ' ';
    }
    out
}

fn begin(grid: &Grid<'_>, layout: &Layout, out: &mut String) {
    let attributes = layout.tableattr.as_ref().map(|text| format!(" {text}")).unwrap_or_default();
    let _ = writeln!(out, "<table border=\"{}\"{attributes}>", layout.border);
    if let (Some(title), false) = (grid.title, layout.tuples_only) {
        let _ = writeln!(out, "  <caption>{}</caption>", escaped(title));
    }
}

fn data(grid: &Grid<'_>, column: usize, value: &str, out: &mut String) {
    let align = if grid.columns[column].is_right() { "right" } else { "left" };
    let blank = value.bytes().all(|byte| matches!(byte, b' ' | b'\t'));
    let text = if blank { "&nbsp; ".to_owned() } else { escaped(value) };
    let _ = writeln!(out, "    <td align=\"{align}\">{text}</td>");
}

fn end(footers: &[String], layout: &Layout, out: &mut String) {
    out.push_str("</table>\n");
    if !layout.tuples_only && !footers.is_empty() {
        out.push_str("<p>");
        for line in footers {
            let _ = writeln!(out, "{}<br />", escaped(line));
        }
        out.push_str("</p>");
    }
    out.push('\n');
}

/// A row for each row.
pub fn horizontal(grid: &Grid<'_>, layout: &Layout, out: &mut String) {
    begin(grid, layout, out);
    if !layout.tuples_only {
        out.push_str("  <tr>\n");
        for column in grid.columns {
            let _ = writeln!(out, "    <th align=\"center\">{}</th>", escaped(&column.title));
        }
        out.push_str("  </tr>\n");
    }
    for row in grid.rows.iter().filter(|row| !row.is_empty()) {
        out.push_str("  <tr valign=\"top\">\n");
        row.iter().enumerate().for_each(|(at, value)| data(grid, at, value, out));
        out.push_str("  </tr>\n");
    }
    end(&grid.footers, layout, out);
}

/// A row for each value.
pub fn vertical(grid: &Grid<'_>, layout: &Layout, out: &mut String) {
    begin(grid, layout, out);
    for (number, row) in grid.rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
        let _ = match layout.tuples_only {
            true => writeln!(out, "\n  <tr><td colspan=\"2\">&nbsp;</td></tr>"),
            false => {
                writeln!(out, "\n  <tr><td colspan=\"2\" align=\"center\">Record {}</td></tr>", number + 1)
            }
        };
        for (at, value) in row.iter().enumerate() {
            let _ = writeln!(out, "  <tr valign=\"top\">\n    <th>{}</th>", escaped(&grid.columns[at].title));
            data(grid, at, value, out);
            out.push_str("  </tr>\n");
        }
    }
    end(grid.own_footers.unwrap_or_default(), layout, out);
}
