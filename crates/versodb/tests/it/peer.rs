//! PostgreSQL itself on the SQL files: where their expectations come from.
//!
//! `SLT_POSTGRES='host=127.0.0.1 user=postgres dbname=scratch' cargo test -p versodb postgresql` runs every file outside
//! of `verso/` there; with `UPDATE=1` what it answers is written into the files. The database's schema `public` is
//! dropped and made anew for each file. Without the variable the test does nothing.

use std::cell::Cell;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use postgres::{Client, NoTls, SimpleQueryMessage};
use sqllogictest::{DB, DBOutput, DefaultColumnType, Runner, default_column_validator, default_normalizer};

use crate::slt::{cell, files, same_rows};

/// A connection to PostgreSQL.
struct Peer(Client);

/// An error of PostgreSQL; its text is what UPDATE writes into the file.
#[derive(Debug, thiserror::Error)]
#[error("{}", self.text())]
struct PeerError(#[from] postgres::Error);

impl PeerError {
    fn text(&self) -> String {
        match self.0.as_db_error() {
            Some(error) if updating() => format!("SQLSTATE {}", error.code().code()),
            Some(error) => error.message().to_string(),
            None => self.0.to_string(),
        }
    }
}

impl DB for Peer {
    type Error = PeerError;
    type ColumnType = DefaultColumnType;

    fn run(&mut self, sql: &str) -> Result<DBOutput<DefaultColumnType>, PeerError> {
        let (mut columns, mut rows, mut count) = (None, Vec::new(), 0);
        for message in self.0.simple_query(sql)? {
            match message {
                SimpleQueryMessage::RowDescription(description) => columns = Some(description.len()),
                SimpleQueryMessage::Row(row) => {
                    rows.push((0..row.len()).map(|i| cell(row.get(i).map(str::to_string))).collect());
                }
                SimpleQueryMessage::CommandComplete(affected) => count = affected,
                _ => {}
            }
        }
        Ok(match columns {
            Some(count) => DBOutput::Rows { types: vec![DefaultColumnType::Any; count], rows },
            None => DBOutput::StatementComplete(count),
        })
    }

    fn engine_name(&self) -> &str {
        "postgresql"
    }

    fn error_sql_state(error: &PeerError) -> Option<String> {
        error.0.code().map(|state| state.code().to_string())
    }
}

fn updating() -> bool {
    std::env::var_os("UPDATE").is_some()
}

fn connect(dsn: &str, first: bool) -> Result<Peer, PeerError> {
    let mut client = Client::connect(dsn, NoTls)?;
    if first {
        client.batch_execute("DROP SCHEMA IF EXISTS public CASCADE; CREATE SCHEMA public")?;
    }
    client.batch_execute("SET timezone = 'UTC'; SET client_min_messages = error")?;
    Ok(Peer(client))
}

#[test]
fn postgresql_agrees() {
    let Ok(dsn) = std::env::var("SLT_POSTGRES") else { return };
    let mut failures = Vec::new();
    for file in files().into_iter().filter(|file| !file.parent().unwrap().ends_with("verso")) {
        let first = Cell::new(true);
        let mut runner = Runner::new(|| {
            let (dsn, first) = (dsn.clone(), first.replace(false));
            async move { connect(&dsn, first) }
        });
        runner.with_validator(same_rows);
        let result = if updating() {
            let update =
                runner.update_test_file(&file, "\t", same_rows, default_normalizer, default_column_validator);
            let result = finish(update).map_err(|error| error.to_string());
            // The runner can only write an error's text, the files have its code.
            let text = std::fs::read_to_string(&file).unwrap();
            let coded = text.split('\n').map(|line| match line.split_once(" error SQLSTATE ") {
                Some((kind, code)) => format!("{kind} error ({code})"),
                None => line.to_string(),
            });
            std::fs::write(&file, coded.collect::<Vec<_>>().join("\n")).unwrap();
            result
        } else {
            runner.run_file(&file).map_err(|error| error.to_string())
        };
        if let Err(error) = result {
            failures.push(format!("── {}\n{error}", file.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Runs a future that never waits, as all of this one thread do.
fn finish<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}
