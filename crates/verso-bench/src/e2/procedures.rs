//! The procedures of the experiment, on Verso.

use serde::{Deserialize, Serialize};
use verso_env::Env;
use versodb::{Connection, Database, Options};

use super::{E2Task, Loaded};
use crate::BenchError;
use crate::folder::remove_database;

pub(super) const NAME: &str = "verso";

const PEOPLE: &str =
    "ARRAY['Marc','Bill','George','Eliot','Matt','Trey','Tracy','Greg','Steve','Kristina','Katie','Jeff']";

/// How the rows come, and how they are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Case {
    AtEnd,
    Default,
    WaitImmediate,
    WaitBatch,
    NowaitImmediate,
    NowaitBatch,
    Bulk,
}

impl Case {
    /// In the order of the table.
    pub const ALL: [Case; 7] = [
        Case::AtEnd,
        Case::Default,
        Case::WaitImmediate,
        Case::WaitBatch,
        Case::NowaitImmediate,
        Case::NowaitBatch,
        Case::Bulk,
    ];

    /// As in the JSON.
    pub fn name(self) -> &'static str {
        match self {
            Case::AtEnd => "commit_at_end",
            Case::Default => "commit_default",
            Case::WaitImmediate => "commit_wait_immediate",
            Case::WaitBatch => "commit_wait_batch",
            Case::NowaitImmediate => "commit_nowait_immediate",
            Case::NowaitBatch => "commit_nowait_batch",
            Case::Bulk => "bulk",
        }
    }

    /// What stands behind each INSERT.
    fn commit(self) -> &'static str {
        match self {
            Case::AtEnd | Case::Bulk => "",
            Case::Default => "COMMIT;",
            Case::WaitImmediate => "COMMIT WRITE WAIT IMMEDIATE;",
            Case::WaitBatch => "COMMIT WRITE WAIT BATCH;",
            Case::NowaitImmediate => "COMMIT WRITE NOWAIT IMMEDIATE;",
            Case::NowaitBatch => "COMMIT WRITE NOWAIT BATCH;",
        }
    }

    /// The statement that is measured.
    pub fn script(self, rows: u64) -> String {
        let last = rows - 1;
        if self == Case::Bulk {
            return format!(
                "INSERT INTO demo SELECT i, ({PEOPLE})[1 + trunc(random() * 12)::int], trunc(random() * 10000)
                 FROM generate_series(0, {last}) AS g(i)"
            );
        }
        format!(
            "DO $$
             DECLARE
                 people VARCHAR(15)[] := {PEOPLE};
                 n      INTEGER;
             BEGIN
                 FOR i IN 0..{last} LOOP
                     n := trunc(random() * 10000);
                     INSERT INTO demo VALUES (i, people[1 + trunc(random() * 12)::int], n);
                     {}
                 END LOOP;
                 COMMIT;
             END
             $$",
            self.commit()
        )
    }
}

/// A new database in the task's folder; what stood there before goes away.
pub(super) fn create(task: &E2Task) -> Result<(Database, Connection), BenchError> {
    let error = BenchError::engine::<versodb::Error>(NAME);
    let path = task.folder.join("e2.verso");
    remove_database(&path)?;
    let options = Options::new().buffer_pool(task.pool_bytes);
    let database = Database::create(&path, options).map_err(&error)?;
    let mut connection = database.connect().map_err(&error)?;
    let table = "CREATE TABLE demo (id INTEGER PRIMARY KEY, text VARCHAR(15), number INTEGER)";
    connection.execute(table).map_err(&error)?;
    Ok((database, connection))
}

/// Runs one of them, and looks whether all rows are there.
pub(super) fn run(env: &Env, task: &E2Task, case: Case) -> Result<Loaded, BenchError> {
    let error = BenchError::engine::<versodb::Error>(NAME);
    let (database, mut connection) = create(task)?;
    let script = case.script(task.rows);
    let before = database.statistics().log;
    let start = env.clock.monotonic_nanos();
    connection.execute(&script).map_err(&error)?;
    let nanos = env.clock.monotonic_nanos() - start;
    let after = database.statistics().log;
    check(&mut connection, task.rows)?;
    drop(connection);
    database.close().map_err(&error)?;
    Ok(Loaded {
        redo_bytes_per_row: Some((after.bytes_written - before.bytes_written) as f64 / task.rows as f64),
        record_bytes_per_row: Some((after.bytes - before.bytes) as f64 / task.rows as f64),
        fsyncs: Some(after.fsyncs - before.fsyncs),
        ..Loaded::new(task.rows, nanos)
    })
}

fn check(connection: &mut Connection, rows: u64) -> Result<(), BenchError> {
    let error = BenchError::engine::<versodb::Error>(NAME);
    let sql = "SELECT count(*), min(id)::bigint, max(id)::bigint, count(text), count(*) FILTER (WHERE number BETWEEN 0 AND 9999) FROM demo";
    for row in connection.query(sql).map_err(&error)? {
        let value = |n: usize| row.get::<i64>(n).map_err(&error);
        let found = [value(0)?, value(1)?, value(2)?, value(3)?, value(4)?];
        let rows = rows.cast_signed();
        let expected = [rows, 0, rows - 1, rows, rows];
        if found != expected {
            let message = format!("the table has {found:?} where {expected:?} is right");
            return Err(BenchError::Wrong { engine: NAME, message });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_stands_in_its_script() {
        for case in Case::ALL {
            let script = case.script(10);
            assert!(script.contains("demo") && script.contains('9'), "{script}");
            let words = case.name().replace("commit_", "").replace('_', " ").to_uppercase();
            if case.commit().contains("WRITE") {
                assert!(script.contains(&format!("COMMIT WRITE {words};")), "{script}");
            }
        }
    }
}
