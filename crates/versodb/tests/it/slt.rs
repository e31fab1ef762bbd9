//! Runs every file of `tests/slt` by the row executor, by the vectorised one, by prepared statements and by several workers.
//!
//! `SLT=types/num` runs the files whose path contains that. A file's expectations come from PostgreSQL; see `peer.rs`.

use std::path::{Path, PathBuf};

use sqllogictest::{DB, DBOutput, DefaultColumnType, Normalizer, Runner};
use versodb::{Connection, Error};

use crate::new_database;

/// A connection as the runner wants it; whether queries and changes of rows are prepared first.
struct Verso(Connection, bool);

impl DB for Verso {
    type Error = Error;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, Error> {
        let word = sql.split_whitespace().next().unwrap_or_default().to_ascii_uppercase();
        let plain = ["SELECT", "WITH", "VALUES", "INSERT", "UPDATE", "DELETE", "MERGE"].contains(&&*word);
        // What is prepared for good reads `now` when it is prepared.
        let rows = if self.1 && plain && !sql.contains(';') && !sql.contains("'now'") {
            let statement = self.0.prepare(sql)?;
            if statement.columns().is_none() {
                return statement.execute(&[]).map(DBOutput::StatementComplete);
            }
            statement.query(&[])?
        } else {
            self.0.query(sql)?
        };
        if rows.columns().is_empty() && rows.len() == 0 {
            let affected = self.0.affected_rows();
            return Ok(DBOutput::StatementComplete(affected));
        }
        let types = vec![DefaultColumnType::Any; rows.columns().len()];
        let null = |row: &versodb::Row, i: usize| matches!(row.values()[i], versodb::Value::Null);
        let cells = |row: versodb::Row| {
            (0..types.len()).map(|i| cell((!null(&row, i)).then(|| row.text(i)))).collect()
        };
        let rows = rows.map(cells).collect();
        Ok(DBOutput::Rows { types, rows })
    }

    fn engine_name(&self) -> &str {
        "verso"
    }

    fn error_sql_state(error: &Error) -> Option<String> {
        Some(error.sqlstate.to_string())
    }
}

/// A value as the files write it.
pub fn cell(text: Option<String>) -> String {
    match text {
        None => "NULL".to_string(),
        Some(text) if text.is_empty() => "(empty)".to_string(),
        Some(text) => text,
    }
}

/// Rows are equal when their columns are, separated by tabs; blanks at the end of a line do not count.
pub fn same_rows(_: Normalizer, actual: &[Vec<String>], expected: &[String]) -> bool {
    let line = |row: &Vec<String>| row.join("\t").trim_end().to_string();
    actual.len() == expected.len()
        && actual.iter().zip(expected).all(|(row, expected)| line(row) == expected.trim_end())
}

/// The files, sorted, as paths below `tests/slt`.
pub fn files() -> Vec<PathBuf> {
    fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "slt") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(&root(), &mut found);
    if let Ok(wanted) = std::env::var("SLT") {
        found.retain(|path| path.to_string_lossy().contains(&wanted));
    }
    found.sort();
    assert!(!found.is_empty(), "there are SQL files");
    found
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/slt").canonicalize().unwrap()
}

/// Runs every file with a new database each, and fails with all that went wrong.
fn run_all(executor: &str, prepared: bool, workers: &str) {
    let mut failures = Vec::new();
    for file in files() {
        let (_directory, database) = new_database();
        let mut runner = Runner::new(|| async {
            let mut connection = database.connect()?;
            connection.execute("SET timezone = 'UTC'")?;
            connection.execute(&format!("SET executor = '{executor}'"))?;
            if !workers.is_empty() {
                connection.execute(workers)?;
            }
            Ok(Verso(connection, prepared))
        });
        runner.with_validator(same_rows);
        // On after a failure: one that stands alone does not hide the others.
        for record in sqllogictest::parse_file(&file).unwrap() {
            if let Err(error) = runner.run(record) {
                failures.push(error.to_string());
            }
        }
    }
    assert!(failures.is_empty(), "{} failures ({executor}):\n\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn files_by_the_row_executor() {
    run_all("row", false, "");
}

#[test]
fn files_by_the_vectorised_executor() {
    run_all("vector", false, "");
}

#[test]
fn files_by_prepared_statements() {
    run_all("vector", true, "");
}

/// Whatever the size of a table.
#[test]
fn files_by_several_workers() {
    run_all("auto", false, "SET parallel_workers = 3; SET min_parallel_table_scan_size = 0");
}
