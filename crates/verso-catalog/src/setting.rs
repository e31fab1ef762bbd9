//! Settings of the database: what ALTER DATABASE SET leaves for the time after a restart. Rows of `pg_db_role_setting`, read
//! when the database is opened; no statement is bound to them, so they are not part of catalog snapshots.

use std::sync::Arc;

use verso_storage::{CommitMode, Isolation, StorageError, Txn, TxnOptions};

use crate::catalog::Catalog;
use crate::definition::Oid;
use crate::error::CatalogError;
use crate::store::Of;
use crate::system::row::DbRoleSettingRow;

/// The row's database: there is one.
pub(crate) const DATABASE: Oid = Oid(1);
/// For every role.
const EVERYBODY: Oid = Oid(0);

/// How the names begin of what Verso keeps among the settings for itself: no statement sets or shows them.
pub const OWN_PREFIX: &str = "verso.";

fn is_it(row: &DbRoleSettingRow) -> bool {
    (row.setdatabase, row.setrole) == (DATABASE, EVERYBODY)
}

/// The row of a new database with these settings.
pub(crate) fn first(settings: &[(&str, &str)]) -> DbRoleSettingRow {
    let kept = settings.iter().map(|(name, value)| Arc::from(format!("{name}={value}")));
    DbRoleSettingRow { setdatabase: DATABASE, setrole: EVERYBODY, setconfig: Some(kept.collect()) }
}

impl Catalog {
    /// The settings kept, as names and values.
    ///
    /// # Errors
    /// Those of storage.
    pub fn database_settings(&self) -> Result<Vec<(String, String)>, CatalogError> {
        let mut settings = self.all_settings()?;
        settings.retain(|(name, _)| !name.starts_with(OWN_PREFIX));
        Ok(settings)
    }

    /// What is kept under a name of Verso's own.
    ///
    /// # Errors
    /// Those of storage.
    pub fn database_property(&self, name: &str) -> Result<Option<String>, CatalogError> {
        let found = self.all_settings()?.into_iter().find(|(known, _)| known == name);
        Ok(found.map(|(_, value)| value))
    }

    fn all_settings(&self) -> Result<Vec<(String, String)>, CatalogError> {
        self.alone(true, |txn| {
            let rows: Vec<DbRoleSettingRow> = match self.read_all(txn) {
                // A database from before there were any.
                Err(CatalogError::Storage(StorageError::NoSuchObject(_))) => Vec::new(),
                rows => rows?,
            };
            let kept = rows.iter().filter(|row| is_it(row)).flat_map(|row| row.setconfig.iter().flatten());
            Ok(kept
                .filter_map(|setting| setting.split_once('='))
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .collect())
        })
    }

    /// Keeps a setting in place of what was kept under its name; without a value nothing is kept any more. It is committed
    /// when this returns.
    ///
    /// # Errors
    /// Those of storage, of which `Conflict` says that another session has just done the same.
    pub fn set_database_setting(&self, name: &str, value: Option<&str>) -> Result<(), CatalogError> {
        let change = |row: &mut DbRoleSettingRow| {
            let kept = row.setconfig.iter().flatten();
            let others = kept.filter(|other| other.split_once('=').is_none_or(|(other, _)| other != name));
            let new = value.map(|value| Arc::from(format!("{name}={value}")));
            row.setconfig = Some(others.cloned().chain(new).collect());
        };
        self.alone(false, |txn| {
            if self.update_rows(txn, Of::All, is_it, change)? == 0 {
                let mut row = DbRoleSettingRow { setdatabase: DATABASE, setrole: EVERYBODY, setconfig: None };
                change(&mut row);
                self.insert_rows(txn, &[row])?;
            }
            Ok(())
        })
    }

    /// Runs a statement in a transaction of its own.
    pub(crate) fn alone<T>(
        &self,
        read_only: bool,
        work: impl FnOnce(&mut Txn) -> Result<T, CatalogError>,
    ) -> Result<T, CatalogError> {
        let options = TxnOptions { isolation: Isolation::ReadCommitted, savepoints: true, read_only };
        let mut txn = self.engine.begin(options);
        txn.begin_statement()?;
        let done = work(&mut txn)?;
        txn.end_statement()?;
        txn.commit(CommitMode::Wait)?;
        Ok(done)
    }
}
