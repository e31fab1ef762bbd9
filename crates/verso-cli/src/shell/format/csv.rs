//! Comma-separated values, as RFC 4180 has them but for the lines' ends.

use super::Grid;
use super::layout::Layout;

/// Appends a field, in quotes where it needs them; also where COPY would take the line for the end of its data.
pub fn push_field(value: &str, separator: char, out: &mut String) {
    let special = |c: char| c == separator || matches!(c, '\r' | '\n' | '"');
    if value.contains(special) || value == "\\." || matches!(separator, '\\' | '.') {
        out.push('"');
        out.push_str(&value.replace('"', "\"\""));
        out.push('"');
    } else {
        out.push_str(value);
    }
}

/// A heading, and a line for each row.
pub fn horizontal(grid: &Grid<'_>, layout: &Layout, out: &mut String) {
    let separator = layout.csv_fieldsep;
    let mut line = |values: &mut dyn Iterator<Item = &str>| {
        for (at, value) in values.enumerate() {
            if at > 0 {
                out.push(separator);
            }
            push_field(value, separator, out);
        }
        out.push('\n');
    };
    if !layout.tuples_only {
        line(&mut grid.columns.iter().map(|column| column.title.as_str()));
    }
    for row in grid.rows.iter().filter(|row| !row.is_empty()) {
        line(&mut row.iter().map(AsRef::as_ref));
    }
}

/// A line for each value.
pub fn vertical(grid: &Grid<'_>, layout: &Layout, out: &mut String) {
    for row in &grid.rows {
        for (column, value) in grid.columns.iter().zip(row) {
            push_field(&column.title, layout.csv_fieldsep, out);
            out.push(layout.csv_fieldsep);
            push_field(value, layout.csv_fieldsep, out);
            out.push('\n');
        }
    }
}
