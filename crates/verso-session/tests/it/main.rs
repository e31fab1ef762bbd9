//! Sessions over a real engine.

mod automatic;
mod cache;
mod campaign;
mod cursors;
mod definitions;
mod direct;
mod ends;
mod experiment;
mod flushes;
mod generated;
mod hints;
mod maintenance;
mod memory;
mod messages;
mod notify;
mod parallel;
mod paths;
mod plans;
mod policies;
mod prepared;
mod rights;
mod settings;
mod sifting;
mod slow;
mod statements;
mod statistics;
mod temporary;
mod timeouts;
mod tpch;
mod transactions;
mod triggers;
mod wide;

use std::sync::Arc;

use verso_env::Env;
use verso_session::{CommandTag, Instance, Member, Notice, OutputColumn, Session, SqlError, StatementSink};
use verso_storage::{Engine, EngineOptions};
use verso_types::{Batch, TimeStyle, Value, format_text};

/// A database in a folder that goes away with it.
struct World {
    instance: Arc<Instance>,
    _folder: tempfile::TempDir,
}

impl World {
    fn new() -> World {
        World::within(Env::real())
    }

    /// In another world than the real one.
    fn within(env: Env) -> World {
        World::with(env, EngineOptions::default())
    }

    fn with(env: Env, options: EngineOptions) -> World {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("test.verso");
        let engine = Engine::create(env, &path, options).expect("a database");
        let instance = Arc::new(Instance::create(engine, Member::alone()).expect("a catalog"));
        World { instance, _folder: folder }
    }

    fn connect(&self) -> Client {
        Client { session: Session::new(Arc::clone(&self.instance)) }
    }
}

struct Client {
    session: Session,
}

impl Client {
    /// Runs a text that must succeed; rows as `a|b`, tags and notices as lines of their own.
    fn run(&mut self, sql: &str) -> Vec<String> {
        self.try_run(sql).unwrap_or_else(|error| panic!("{sql}: {error:?}"))
    }

    fn try_run(&mut self, sql: &str) -> Result<Vec<String>, SqlError> {
        self.run_with(sql, &[])
    }

    fn run_with(&mut self, sql: &str, params: &[Value]) -> Result<Vec<String>, SqlError> {
        let mut sink = Lines::default();
        self.session.execute(sql, params, &mut sink)?;
        Ok(sink.lines)
    }

    /// The code and message of a text that must fail.
    fn fails(&mut self, sql: &str) -> (&'static str, String) {
        match self.try_run(sql) {
            Ok(lines) => panic!("{sql} succeeded: {lines:?}"),
            Err(error) => (error.sqlstate, error.message),
        }
    }

    /// The only value of a query.
    fn value(&mut self, sql: &str) -> String {
        let lines = self.run(sql);
        assert_eq!(lines.len(), 2, "{sql}: {lines:?}");
        lines[0].clone()
    }
}

#[derive(Default)]
struct Lines {
    columns: Vec<OutputColumn>,
    lines: Vec<String>,
}

impl StatementSink for Lines {
    fn begin(&mut self, columns: &[OutputColumn]) -> Result<(), SqlError> {
        self.columns = columns.to_vec();
        Ok(())
    }

    fn batch(&mut self, batch: &Batch) -> Result<(), SqlError> {
        for row in 0..batch.rows {
            let values = self.columns.iter().zip(&batch.columns).map(|(column, values)| {
                let mut text = String::new();
                match values.value(row, &column.ty) {
                    Value::Null => text.push_str("NULL"),
                    value => format_text(&value, &column.ty, &TimeStyle::UTC, &mut text),
                }
                text
            });
            self.lines.push(values.collect::<Vec<_>>().join("|"));
        }
        Ok(())
    }

    fn complete(&mut self, tag: &CommandTag) -> Result<(), SqlError> {
        self.lines.push(tag.text.clone());
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.lines.push(format!("{}: {}", notice.severity, notice.message));
        Ok(())
    }
}
