//! A table in AsciiDoc.

use std::fmt::Write;

use super::Grid;
use super::layout::Layout;

fn escaped(text: &str) -> String {
    text.replace('|', "\\|")
}

fn is_blank(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' ' | b'\t'))
}

fn begin(grid: &Grid<'_>, layout: &Layout, columns: &str, out: &mut String) {
    out.push('\n');
    if let (Some(title), false) = (grid.title, layout.tuples_only) {
        let _ = writeln!(out, ".{title}");
    }
    let frame = match layout.border {
        0 => ",frame=\"none\",grid=\"none\"",
        1 => ",frame=\"none\"",
        2 => ",frame=\"all\",grid=\"all\"",
        _ => "",
    };
    let _ = writeln!(out, "[{columns}{frame}]\n|====");
}

fn end(footers: &[String], layout: &Layout, out: &mut String) {
    out.push_str("|====\n");
    if !layout.tuples_only && !footers.is_empty() {
        let _ = writeln!(out, "\n....\n{}\n....", footers.join("\n"));
    }
}

/// A line for each row.
pub fn horizontal(grid: &Grid<'_>, layout: &Layout, out: &mut String) {
    let sides: Vec<&str> =
        grid.columns.iter().map(|column| if column.is_right() { ">l" } else { "<l" }).collect();
    let heading = if layout.tuples_only { "" } else { "options=\"header\"," };
    begin(grid, layout, &format!("{heading}cols=\"{}\"", sides.join(",")), out);
    if !layout.tuples_only {
        let titles: Vec<String> =
            grid.columns.iter().map(|column| format!("^l|{}", escaped(&column.title))).collect();
        let _ = writeln!(out, "{}", titles.join(" "));
    }
    for row in grid.rows.iter().filter(|row| !row.is_empty()) {
        for (at, value) in row.iter().enumerate() {
            out.push_str(if at > 0 { " |" } else { "|" });
            match is_blank(value) {
                false => out.push_str(&escaped(value)),
                true if at + 1 < row.len() => out.push(' '),
                true => {}
            }
        }
        out.push('\n');
    }
    end(&grid.footers, layout, out);
}

/// A line for each value.
pub fn vertical(grid: &Grid<'_>, layout: &Layout, out: &mut String) {
    begin(grid, layout, "cols=\"h,l\"", out);
    for (number, row) in grid.rows.iter().enumerate().filter(|(_, row)| !row.is_empty()) {
        let _ = match layout.tuples_only {
            true => writeln!(out, "2+|"),
            false => writeln!(out, "2+^|Record {}", number + 1),
        };
        for (column, value) in grid.columns.iter().zip(row) {
            let side = if column.is_right() { ">l" } else { "<l" };
            let value = if is_blank(value) { " ".to_owned() } else { escaped(value) };
            let _ = writeln!(out, "<l|{} {side}|{value}", escaped(&column.title));
        }
    }
    end(grid.own_footers.unwrap_or_default(), layout, out);
}
