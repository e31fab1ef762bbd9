//! Where the cursor of WHERE CURRENT OF stands, as a running statement asks for it.

use verso_catalog::TableDef;
use verso_exec::ExecError;
use verso_exec::error::Result as ExecResult;

/// What a statement with WHERE CURRENT OF needs to know of its cursor.
#[derive(Debug)]
pub(crate) struct Position {
    pub(crate) cursor: String,
    pub(crate) tables: Vec<u32>,
    pub(crate) locks: bool,
    pub(crate) held: bool,
    pub(crate) row: Option<Vec<i64>>,
}

impl Position {
    /// The place of the record of a table.
    pub(super) fn record(&self, table: &TableDef) -> ExecResult<i64> {
        let Position { cursor, tables, locks, held, row } = self;
        let error = |what: String| Err(ExecError::raised("24000", format!("cursor \"{cursor}\" {what}")));
        if *held {
            return error("is held from a previous transaction".into());
        }
        let mut places = (0..tables.len()).filter(|n| tables[*n] == table.oid.0);
        match (places.next(), places.next(), row) {
            (None, ..) if *locks => {
                error(format!("does not have a FOR UPDATE/SHARE reference to table \"{}\"", table.name))
            }
            (None, ..) => error(format!("is not a simply updatable scan of table \"{}\"", table.name)),
            (Some(_), Some(_), _) => {
                error(format!("has multiple FOR UPDATE/SHARE references to table \"{}\"", table.name))
            }
            (Some(_), None, None) => error("is not positioned on a row".into()),
            (Some(n), None, Some(row)) => Ok(row[n]),
        }
    }
}
