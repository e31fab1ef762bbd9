//! A table in Markdown, as it is written on GitHub.

use super::cells::{pad, width};
use super::layout::Layout;
use super::{Column, Grid};

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace("\r\n", "<br>").replace('\n', "<br>")
}

/// A line for each row.
pub fn horizontal(grid: &Grid<'_>, layout: &Layout, out: &mut String) {
    let rows = grid.rows.iter().map(|row| row.iter().map(|value| escaped(value)).collect()).collect();
    let right: Vec<bool> = grid.columns.iter().map(Column::is_right).collect();
    let titles = grid.columns.iter().map(|column| escaped(&column.title)).collect();
    print(titles, &right, rows, layout, out);
}

/// A line for each value, a table for each record.
pub fn vertical(grid: &Grid<'_>, layout: &Layout, out: &mut String) {
    for (number, row) in grid.rows.iter().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        let line = |(column, value): (&Column, &std::borrow::Cow<'_, str>)| {
            vec![escaped(&column.title), escaped(value)]
        };
        let rows = grid.columns.iter().zip(row).map(line).collect();
        let titles = vec!["column".to_owned(), "value".to_owned()];
        print(titles, &[false, false], rows, layout, out);
    }
}

fn print(titles: Vec<String>, right: &[bool], rows: Vec<Vec<String>>, layout: &Layout, out: &mut String) {
    let widths: Vec<usize> = titles
        .iter()
        .enumerate()
        .map(|(at, title)| rows.iter().map(|row| width(&row[at])).fold(width(title), usize::max))
        .collect();
    if !layout.tuples_only {
        for (title, &columns) in titles.iter().zip(&widths) {
            let spare = columns - width(title);
            out.push_str("| ");
            pad(out, spare / 2);
            out.push_str(title);
            pad(out, spare.div_ceil(2));
            out.push(' ');
        }
        out.push_str("|\n");
        for (&columns, right) in widths.iter().zip(right) {
            out.push('|');
            out.extend(std::iter::repeat_n('-', columns + 1));
            out.push(if *right { ':' } else { '-' });
        }
        out.push_str("|\n");
    }
    for row in rows {
        for ((value, &columns), right) in row.iter().zip(&widths).zip(right) {
            let spare = columns - width(value);
            out.push_str("| ");
            pad(out, if *right { spare } else { 0 });
            out.push_str(value);
            pad(out, if *right { 0 } else { spare });
            out.push(' ');
        }
        out.push_str("|\n");
    }
}
