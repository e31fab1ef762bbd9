//! A reader who holds a snapshot while the load runs: `verso bench tpcc --hold-snapshot`.
//!
//! At the end it has to read what it read at the beginning, whatever the terminals have changed since. What the old versions
//! cost is the load's rate, beside a run without, and the bytes by which the database has grown.

use serde::Serialize;

use super::session::{Console, Target};
use crate::BenchError;

/// Sums over what the load changes most.
const SUMS: &str = "SELECT (SELECT sum(w_ytd) FROM warehouse), (SELECT sum(d_next_o_id) FROM district), \
    (SELECT sum(s_quantity) FROM stock), (SELECT sum(c_balance) FROM customer), (SELECT count(*) FROM orders)";

/// Bytes of the database's files.
const BYTES: &str = "SELECT pg_database_size(current_database())";

/// Bytes of old versions, and how many of them went by merging.
const VERSIONS: &str = "SELECT version_pages * page_size, merged_versions FROM verso_database";

/// What holding a snapshot has cost.
#[derive(Clone, Debug, Serialize)]
pub struct Held {
    /// Bytes of the database when the snapshot was taken …
    pub bytes_before: u64,
    /// … and when it was given up.
    pub bytes_after: u64,
    /// Bytes of old versions then, where the target can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version_bytes: Option<u64>,
    /// Version entries that were merged, where the target can tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub merged_versions: Option<u64>,
}

/// The reader, in its transaction.
pub(crate) struct Holder {
    reader: Box<dyn Console>,
    observer: Box<dyn Console>,
    sums: Vec<String>,
    bytes: u64,
}

fn number(row: &[String], at: usize) -> Result<u64, BenchError> {
    let number = row.get(at).and_then(|text| text.parse().ok());
    number.ok_or_else(|| BenchError::Wrong { engine: "tpcc", message: format!("no number: {row:?}") })
}

impl Holder {
    /// Takes the snapshot and reads under it.
    pub fn begin<T: Target>(target: &T) -> Result<Holder, BenchError> {
        let (mut reader, mut observer) = (target.console()?, target.console()?);
        let bytes = number(&observer.row(BYTES)?, 0)?;
        reader.row("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")?;
        let sums = reader.row(SUMS)?;
        Ok(Holder { reader, observer, sums, bytes })
    }

    /// Reads the same once more and gives the snapshot up.
    pub fn end(mut self) -> Result<Held, BenchError> {
        let again = self.reader.row(SUMS)?;
        if again != self.sums {
            let message = format!("one snapshot has two states: {:?}, later {again:?}", self.sums);
            return Err(BenchError::Wrong { engine: "tpcc", message });
        }
        let bytes_after = number(&self.observer.row(BYTES)?, 0)?;
        let versions = self.observer.row(VERSIONS).ok();
        let told = |at: usize| versions.as_ref().map(|row| number(row, at)).transpose();
        let held = Held {
            bytes_before: self.bytes,
            bytes_after,
            version_bytes: told(0)?,
            merged_versions: told(1)?,
        };
        self.reader.row("COMMIT")?;
        Ok(held)
    }
}

impl Held {
    /// A line for people.
    pub fn line(&self, name: &str) -> String {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let grown = mib(self.bytes_after) - mib(self.bytes_before);
        let mut line = format!("{name}: the database grew by {grown:.1} MiB under the snapshot");
        if let (Some(bytes), Some(merged)) = (self.version_bytes, self.merged_versions) {
            line += &format!("; old versions take {:.1} MiB, {merged} of them were merged", mib(bytes));
        }
        line
    }
}
