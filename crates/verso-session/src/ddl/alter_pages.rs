//! What ALTER TABLE does with the pages of a table: packed, packed anew, shrunk, given a dictionary.

use std::sync::atomic::Ordering;

use verso_catalog::TableDef;

use super::Schema;
use crate::client::Notice;
use crate::failure::Failure;
use verso_storage::{Engine, ObjectId, Packing, StorageError, SweepOptions, TableLockMode, Txn};

/// Asked while storage works.
type GoOn<'g> = &'g mut dyn FnMut() -> Result<(), StorageError>;

/// How a table's pages are packed: [`Engine::pack`], [`Engine::repack`].
type Repack = fn(&Engine, &mut Txn, ObjectId, SweepOptions, GoOn<'_>) -> Result<Packing, StorageError>;

impl Schema<'_> {
    /// Options that may make a table due for ANALYZE: whoever runs it looks again.
    pub(super) fn autovacuum_options<'n>(&self, mut names: impl Iterator<Item = &'n String>) {
        if names.any(|name| name.starts_with("autovacuum")) {
            self.frame.services.instance.engine.changes().wake();
        }
    }

    /// COMPRESS, REPACK: packs the data pages of a table, under its lock; a notice says what became of them.
    pub(super) fn pack(&self, table: &TableDef, how: Repack) -> Result<(), Failure> {
        let done = self
            .alone_with(table, |engine, txn, options, go_on| how(engine, txn, table.heap, options, go_on))?;
        self.frame.services.notices.tell(Notice::message(format!(
            "table \"{}\": {} data pages packed, {} packed pages made, {} data pages left as they are, {} pages given back",
            table.name, done.packed, done.made, done.left, done.freed
        )));
        Ok(())
    }

    /// SHRINK: gives pages of a table that hold nothing back to the database, under its lock; a notice says how many.
    pub(super) fn shrink(&self, table: &TableDef) -> Result<(), Failure> {
        let done = self.alone_with(table, |engine, txn, options, go_on| {
            engine.shrink(txn, table.heap, options, go_on)
        })?;
        self.frame.services.notices.tell(Notice::message(format!(
            "table \"{}\": {} empty data pages packed, {} pages given back",
            table.name, done.packed, done.freed
        )));
        Ok(())
    }

    /// CREATE DICTIONARY: chooses symbols for the texts of a table, under its lock; a notice says what they save.
    pub(super) fn create_dictionary(&self, table: &TableDef) -> Result<(), Failure> {
        let done =
            self.alone_with(table, |engine, txn, _, go_on| engine.create_dictionary(txn, table.heap, go_on))?;
        let saved = match done.columns {
            0 => "no column gains by a dictionary".to_string(),
            columns => format!(
                "a dictionary of {} symbols for {columns} columns, in which {} bytes take {}",
                done.symbols, done.sampled, done.encoded
            ),
        };
        self.frame.services.notices.tell(Notice::message(format!("table \"{}\": {saved}", table.name)));
        Ok(())
    }

    /// Lets storage do something with a table that nobody else uses meanwhile.
    fn alone_with<T>(
        &self,
        table: &TableDef,
        work: impl FnOnce(&Engine, &mut Txn, SweepOptions, GoOn<'_>) -> Result<T, StorageError>,
    ) -> Result<T, Failure> {
        self.frame.tables().lock(table, TableLockMode::AccessExclusive)?;
        let engine = &self.frame.services.instance.engine;
        let mut go_on = || match self.frame.cancel.load(Ordering::Relaxed) {
            true => Err(StorageError::Cancelled),
            false => Ok(()),
        };
        let options = SweepOptions { session: self.frame.services.info.number, ..SweepOptions::default() };
        Ok(work(engine, &mut self.frame.txn.borrow_mut(), options, &mut go_on)?)
    }
}
