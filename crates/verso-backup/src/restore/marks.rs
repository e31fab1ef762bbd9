//! How far a restore has come, in the database that it makes.
//!
//! M1. What is done is noted by the transaction that does it. A restore that was cut off goes on with what no durable note says.
//! M2. The notes are those of one archive and one choice of what of it is restored. Those of another one are worth nothing: the
//!     restore begins anew then.

use std::collections::HashSet;
use std::sync::Arc;

use verso_storage::heap::Heap;
use verso_storage::{CommitMode, Txn};
use verso_types::{Batch, Column, Physical, Value};
use versodb::{Connection, Database};

use super::fresh::read_only;
use crate::error::BackupError;

/// Nobody has a schema of this name.
const SCHEMA: &str = "verso restore";

/// Something that is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Mark {
    /// The statement before the rows with this place.
    Before(u32),
    /// The chunk of this number.
    Chunk(u32),
    /// The statement behind the rows with this place.
    After(u32),
}

impl Mark {
    fn number(self) -> i64 {
        let (kind, number) = match self {
            Mark::Before(number) => (1, number),
            Mark::Chunk(number) => (2, number),
            Mark::After(number) => (3, number),
        };
        (kind << 32) | i64::from(number)
    }

    fn of(number: i64) -> Option<Mark> {
        let low = (number & 0xFFFF_FFFF) as u32;
        match number >> 32 {
            1 => Some(Mark::Before(low)),
            2 => Some(Mark::Chunk(low)),
            3 => Some(Mark::After(low)),
            _ => None,
        }
    }
}

/// The notes of a restore.
pub(super) struct Marks {
    heap: Arc<Heap>,
    /// What was done before this run.
    done: HashSet<Mark>,
}

impl Marks {
    /// Begins the notes of a restore, named so.
    pub fn begin(database: &Database, connection: &mut Connection, id: &str) -> Result<Marks, BackupError> {
        connection.execute("BEGIN")?;
        connection.execute(&format!("CREATE SCHEMA \"{SCHEMA}\""))?;
        connection.execute(&format!("CREATE TABLE \"{SCHEMA}\".archive (id text)"))?;
        connection.execute(&format!("CREATE TABLE \"{SCHEMA}\".done (mark bigint)"))?;
        let insert = format!("INSERT INTO \"{SCHEMA}\".archive VALUES ($1)");
        connection.execute_with(&insert, &[Value::text(id)])?;
        connection.execute("COMMIT")?;
        let heap =
            heap(database)?.ok_or_else(|| BackupError::Refused("the notes are not there".to_owned()))?;
        Ok(Marks { heap, done: HashSet::new() })
    }

    /// The notes of a restore that was cut off, if they are those of this one (M2).
    pub fn read(
        database: &Database,
        connection: &mut Connection,
        id: &str,
    ) -> Result<Option<Marks>, BackupError> {
        let Some(heap) = heap(database)? else { return Ok(None) };
        let known = connection.query(&format!("SELECT id FROM \"{SCHEMA}\".archive"))?.into_rows();
        if known.first().map(|row| row.text(0)) != Some(id.to_owned()) {
            return Ok(None);
        }
        let mut done = HashSet::new();
        for row in connection.query(&format!("SELECT mark FROM \"{SCHEMA}\".done"))?.into_rows() {
            done.extend(Mark::of(row.get(0)?));
        }
        Ok(Some(Marks { heap, done }))
    }

    /// Whether that was done before this run.
    pub fn has(&self, mark: Mark) -> bool {
        self.done.contains(&mark)
    }

    /// The chunks that were put in before this run.
    pub fn chunks(&self) -> HashSet<u32> {
        let number = |mark: &Mark| if let Mark::Chunk(number) = mark { Some(*number) } else { None };
        self.done.iter().filter_map(number).collect()
    }

    /// Whether a statement behind the rows was run, before this run.
    pub fn is_behind_rows(&self) -> bool {
        self.done.iter().any(|mark| matches!(mark, Mark::After(_)))
    }

    /// Notes something in the transaction that does it (M1).
    pub fn note(&self, txn: &mut Txn, mark: Mark) -> Result<(), BackupError> {
        let mut column = Column::new(Physical::I64);
        column.extend_fixed_raw(&mark.number().to_le_bytes());
        self.heap.insert(txn, &Batch::from_columns(vec![column]), None)?;
        Ok(())
    }

    /// The statement that notes something in the session's transaction (M1).
    pub fn statement(mark: Mark) -> String {
        format!("INSERT INTO \"{SCHEMA}\".done VALUES ({})", mark.number())
    }

    /// The restore is done: its notes go.
    pub fn end(connection: &mut Connection) -> Result<(), BackupError> {
        connection.execute(&format!("DROP SCHEMA \"{SCHEMA}\" CASCADE"))?;
        Ok(())
    }
}

/// The table of the notes, if there are any.
fn heap(database: &Database) -> Result<Option<Arc<Heap>>, BackupError> {
    let engine = database.engine();
    let mut txn = engine.begin(read_only());
    txn.begin_statement()?;
    let catalog = database.instance().catalog.snapshot(&txn)?;
    let heap = catalog.table(Some(SCHEMA), "done").map(|table| engine.heap(table.heap)).transpose()?;
    txn.end_statement()?;
    txn.commit(CommitMode::NoWait)?;
    Ok(heap)
}

#[cfg(test)]
mod tests {
    use super::Mark;

    #[test]
    fn marks_are_numbers_and_back() {
        for mark in [Mark::Before(0), Mark::Chunk(1), Mark::Chunk(u32::MAX), Mark::After(7)] {
            assert_eq!(Mark::of(mark.number()), Some(mark));
        }
        assert_eq!(Mark::of(5), None);
    }
}
