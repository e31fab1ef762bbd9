//! The page as Markdown, with the plots beside it.

use std::fmt::Write as _;

use super::page::{Page, Table};

/// The page.
pub(super) fn page(page: &Page) -> String {
    let mut out = String::from("# Verso: five experiments\n\n");
    for sentence in page.conditions() {
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{}\n", plain(&sentence));
    }
    for section in &page.sections {
        let _ =
            writeln!(out, "## {}\n\n{}\n\n    {}\n", section.title, plain(section.about), section.command);
        if let Some(error) = &section.failed {
            let _ = writeln!(out, "**This experiment has failed:** {}\n", plain(error));
        }
        for table in &section.tables {
            write_table(&mut out, table);
        }
        if let Some(plot) = &section.plot {
            let _ = writeln!(out, "![{}]({plot})\n", section.title);
        }
    }
    out
}

fn write_table(out: &mut String, table: &Table) {
    let line = |out: &mut String, cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|cell| plain(cell)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    };
    let _ = writeln!(out, "{}\n", plain(&table.caption));
    line(out, &table.head);
    let _ = writeln!(out, "|---|{}", "---:|".repeat(table.head.len().saturating_sub(1)));
    for row in &table.rows {
        line(out, row);
    }
    out.push('\n');
}

/// Nothing in it begins a cell, a tag or a line.
fn plain(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<").replace('\n', " ")
}
