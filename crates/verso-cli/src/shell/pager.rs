//! Results that are longer than the screen go through a program that shows them page by page.

use std::io::Write;
use std::process::{Command, Stdio};

use super::format::{Format, Layout, Pager, Table};
use super::output::{Output, wants_colours};

/// Stands around the text of NULL while a table is laid out.
const MARK: char = '\u{2060}';

/// Prints a table, through the pager if it does not fit.
pub fn print_table(output: &mut Output<'_>, layout: &Layout, table: &Table) {
    let screen = output.screen();
    let width = screen.map(|(_, columns)| columns);
    let text = table.render(layout, width);
    if screen.is_none() || layout.format != Format::Aligned || layout.null.is_empty() || !wants_colours() {
        return page(output, layout, &text);
    }
    // Marks of no width go along with the text of NULL through the layout, and become colours behind it.
    let marked = Layout { null: format!("{MARK}{}{MARK}", layout.null), ..layout.clone() };
    let dim = format!("\x1b[2m{}\x1b[0m", layout.null);
    let shown = table.render(&marked, width).replace(&marked.null, &dim);
    page_as(output, layout, &text, &shown);
}

/// Prints a text, through the pager if it does not fit.
pub fn page(output: &mut Output<'_>, layout: &Layout, text: &str) {
    page_as(output, layout, text, text);
}

/// The same of a text that is shown in colours.
fn page_as(output: &mut Output<'_>, layout: &Layout, text: &str, shown: &str) {
    let lines = text.lines().count();
    let wanted = output.screen().is_some_and(|(rows, columns)| match layout.pager {
        Pager::Off => false,
        Pager::Always => true,
        Pager::On => {
            let too_wide = || text.lines().any(|line| super::format::width(line) > columns);
            lines >= layout.pager_min_lines.max(1) && (lines >= rows || too_wide())
        }
    });
    output.flush();
    if !wanted || run(shown).is_err() {
        output.print(shown);
    }
}

/// Runs `PSQL_PAGER` or `PAGER`, or `less`, and waits for its end.
fn run(text: &str) -> std::io::Result<()> {
    let named = |name: &str| std::env::var(name).ok().filter(|value| !value.trim().is_empty());
    let program = named("PSQL_PAGER").or_else(|| named("PAGER")).unwrap_or_else(|| "less -FRSX".to_owned());
    let mut child = Command::new("sh").args(["-c", &program]).stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        // Who leaves the pager early does not want the rest.
        let _ = input.write_all(text.as_bytes());
    }
    match child.wait()?.code() {
        // The shell has not found it.
        Some(127) => Err(std::io::ErrorKind::NotFound.into()),
        _ => Ok(()),
    }
}
