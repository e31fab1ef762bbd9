//! `verso stat --server`: asks a running server, over a connection like any other.

use std::io::Write;
use std::process::ExitCode;

use postgres::{NoTls, SimpleQueryMessage};

use crate::remote::configuration;
use crate::run_shell::EXIT_USAGE;

/// What is asked, and whether a row is shown as lines.
const QUESTIONS: [(&str, bool); 4] = [
    ("SELECT * FROM verso_database", true),
    ("SELECT * FROM verso_table_space", false),
    ("SELECT * FROM verso_logs", false),
    (
        "SELECT pid, usename, application_name, client_addr, state, query_start, query FROM pg_stat_activity",
        false,
    ),
];

/// Prints the answers.
pub fn run(connection: &str) -> ExitCode {
    match ask(connection) {
        Ok(text) => {
            // Nobody reads it: then there is nobody to tell.
            let _ = std::io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Err(error) => {
            let message = error.as_db_error().map_or_else(|| error.to_string(), ToString::to_string);
            eprintln!("verso: error: {message}");
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn ask(connection: &str) -> Result<String, postgres::Error> {
    let mut client = configuration(connection, None, "verso stat")?.connect(NoTls)?;
    let mut text = String::new();
    for (question, lines) in QUESTIONS {
        let mut names = Vec::new();
        let mut rows = Vec::new();
        for message in client.simple_query(question)? {
            match message {
                SimpleQueryMessage::RowDescription(columns) => {
                    names = columns.iter().map(|column| column.name().to_owned()).collect();
                }
                SimpleQueryMessage::Row(row) => {
                    rows.push((0..row.len()).map(|i| row.get(i).unwrap_or_default().to_owned()).collect());
                }
                _ => {}
            }
        }
        match lines {
            true => put_lines(&names, &rows, &mut text),
            false => put_table(&names, &rows, &mut text),
        }
        text.push('\n');
    }
    Ok(text)
}

/// A line for each value.
fn put_lines(names: &[String], rows: &[Vec<String>], text: &mut String) {
    let width = names.iter().map(String::len).max().unwrap_or(0);
    for row in rows {
        for (name, value) in names.iter().zip(row) {
            text.push_str(&format!("{name:width$} | {value}\n"));
        }
    }
}

/// Aligned columns.
fn put_table(names: &[String], rows: &[Vec<String>], text: &mut String) {
    let width = |column: usize| {
        let values = rows.iter().filter_map(|row| row.get(column));
        values.chain(names.get(column)).map(|value| value.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..names.len()).map(width).collect();
    let mut line = |row: &[String]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(value, width)| format!("{value:width$}", width = *width)).collect();
        text.push_str(cells.join(" | ").trim_end());
        text.push('\n');
    };
    line(names);
    rows.iter().for_each(|row| line(row));
}
