//! Tables as they were: which state a moment means, and whether the table had the same columns in it.

use verso_catalog::{TableDef, Was};
use verso_exec::error::{ExecError, Result};
use verso_exec::exec::Moment;
use verso_storage::{HeldView, StorageError};
use verso_types::TypeError;

use super::EngineTables;
use crate::services::EPOCH_MICROS;

impl EngineTables<'_> {
    /// An earlier state of a table.
    pub(super) fn past_state(&self, table: &TableDef, moment: Moment) -> Result<HeldView> {
        if table.is_system() {
            return Err(ExecError::raised("0A000", "AS OF is not supported for tables of the catalog"));
        }
        let number = match moment {
            Moment::Number(number) => u64::try_from(number).unwrap_or(0),
            Moment::Time(micros) => {
                let moment = micros.saturating_add(EPOCH_MICROS);
                if moment > self.engine.env().clock.unix_micros() {
                    return Err(ExecError::raised("22023", "the moment of AS OF lies in the future"));
                }
                self.engine.number_at(moment).map_err(|error| self.too_old(error))?
            }
        };
        let newest = self.engine.newest_number();
        if number > newest {
            let text = format!("snapshot {number} lies in the future: the newest is {newest}");
            return Err(ExecError::raised("22023", text));
        }
        let held = self.txn.borrow().past(number).map_err(|error| self.too_old(error))?;
        match self.catalog.was(table, number)? {
            Was::Same => Ok(held),
            Was::Rewritten(name) => {
                let text = format!("The rows of table \"{name}\" have been written anew since then.");
                Err(TypeError::new("72000", "snapshot too old")
                    .with_detail(text)
                    .with_hint("Statements such as VACUUM FULL, CLUSTER and TRUNCATE leave no old versions.")
                    .into())
            }
            Was::Other => {
                let text = format!("the definition of table \"{}\" has changed since then", table.name);
                Err(TypeError::new("0A000", text)
                    .with_detail(
                        "Rows are read only as of states in which the table had the same columns and partitions.",
                    )
                    .into())
            }
        }
    }

    /// What is said of a state that is gone.
    fn too_old(&self, error: StorageError) -> ExecError {
        if !matches!(error, StorageError::SnapshotTooOld) {
            return error.into();
        }
        let error = TypeError::new("72000", "snapshot too old");
        match self.engine.history() {
            None => error
                .with_detail("Old versions are not kept.")
                .with_hint("ALTER SYSTEM SET version_retention = '1h' keeps them from then on."),
            Some(report) => error
                .with_detail(format!("The oldest state that can be read is snapshot {}.", report.oldest))
                .with_hint("Raise version_retention; verso_history shows what is within reach."),
        }
        .into()
    }
}
