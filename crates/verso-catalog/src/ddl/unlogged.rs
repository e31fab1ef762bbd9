//! Tables that are not logged: what a crash has emptied; loads that are logged from their end on.

use std::sync::Arc;

use verso_storage::heap::{ScanBatch, ScanSpec};
use verso_storage::{ObjectId, Txn, UnloggedLoad};

use crate::catalog::Catalog;
use crate::definition::{ConstraintKind, Oid, SequenceDef, TableDef};
use crate::error::{CatalogError, ObjectKind};
use crate::snapshot::CatalogSnapshot;
use crate::system::row::ClassRow;

impl Catalog {
    /// Gives new, empty heaps to the unlogged tables, and new numbers to the unlogged sequences, that have lost theirs when the database was not closed in order; how many
    /// there were.
    ///
    /// # Errors
    /// Those of storage.
    pub(crate) fn empty_lost_tables(&self, txn: &mut Txn) -> Result<usize, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let is_lost = |table: &&Arc<TableDef>| table.unlogged && !self.engine.has_object(table.heap);
        let lost: Vec<Arc<TableDef>> = snapshot.tables().filter(is_lost).cloned().collect();
        let mut emptied = 0;
        for table in &lost {
            match self.change(txn, |txn| self.replace_heap(txn, table, true).map(drop)) {
                Ok(()) => emptied += 1,
                // A prepared transaction has changed its definition: it is tried again when the database is opened next.
                Err(error) => {
                    tracing::warn!(table = &*table.name, %error, "the unlogged table stays without rows and pages");
                }
            }
        }
        let is_lost =
            |sequence: &&Arc<SequenceDef>| sequence.unlogged && !self.engine.has_object(sequence.object);
        let lost: Vec<Arc<SequenceDef>> = snapshot.sequences().filter(is_lost).cloned().collect();
        for sequence in &lost {
            let (bounds, start) = (&sequence.bounds, (sequence.bounds.start, false));
            let begun = self.change(txn, |txn| self.replace_sequence(txn, sequence, bounds, start, true));
            match begun {
                Ok(()) => emptied += 1,
                Err(error) => {
                    tracing::warn!(sequence = &*sequence.name, %error, "the unlogged sequence stays without numbers");
                }
            }
        }
        Ok(emptied)
    }

    /// Begins to load an empty table without log: until [`Catalog::end_load`] its rows go to a new heap that the log does not
    /// know. Nobody else can get at the table. `None` if the log has to tell of all rows.
    ///
    /// # Errors
    /// `InvalidDefinition` if the table has rows; `Missing`; storage's.
    pub fn begin_load(
        &self,
        txn: &mut Txn,
        table: &TableDef,
    ) -> Result<Option<UnloggedLoad<'_>>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let current = snapshot.table_by_oid(table.oid);
        let table = current.ok_or_else(|| CatalogError::missing(ObjectKind::Relation, &*table.name))?;
        if table.partitioned.is_some() {
            return Err(CatalogError::invalid(
                "0A000",
                "COPY with nolog into a partitioned table is not supported",
            ));
        }
        self.lock_out(txn, &table, &snapshot)?;
        let Some(load) = self.engine.begin_unlogged_load() else { return Ok(None) };
        self.change(txn, |txn| {
            let heap = self.engine.heap(table.heap)?;
            let mut out = ScanBatch::default();
            if heap.scan(txn, ScanSpec { columns: &[], pages: 0..u32::MAX }).next(&mut out)? {
                let text = format!("COPY with nolog needs an empty table, and \"{}\" has rows", table.name);
                return Err(CatalogError::invalid("55000", text));
            }
            let old: Vec<ObjectId> = table.indexes.iter().map(|index| index.object).collect();
            self.replace_heap(txn, &table, true)?;
            old.into_iter().try_for_each(|index| self.engine.drop_object(txn, index))?;
            self.engine.drop_object(txn, table.heap)?;
            Ok(())
        })?;
        Ok(Some(load))
    }

    /// Ends a load: the table's rows are on disk and logged from now on.
    ///
    /// # Errors
    /// Those of storage.
    pub fn end_load(
        &self,
        txn: &mut Txn,
        load: UnloggedLoad<'_>,
        table: &TableDef,
    ) -> Result<(), CatalogError> {
        Ok(load.end(txn, table.heap)?)
    }

    /// Puts a new heap and new indexes, all of them empty, into the place of a table's; the change has begun. The old ones are
    /// left to the caller.
    fn replace_heap(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        unlogged: bool,
    ) -> Result<ObjectId, CatalogError> {
        let heap = self.create_heap(txn, unlogged, &table.columns, table.all_indexes(), Vec::new())?;
        let is_it = |row: &ClassRow| row.oid == table.oid;
        self.update_rows(txn, table.oid, is_it, |row| row.relfilenode = Oid(heap.0))?;
        for index in &table.indexes {
            let object = self.build_index(txn, heap, &table.columns, index)?;
            let is_it = |row: &ClassRow| row.oid == index.oid;
            self.update_rows(txn, index.oid, is_it, |row| row.relfilenode = Oid(object.0))?;
        }
        Ok(heap)
    }

    /// Refuses to log a table, or not to log it, where a foreign key would lead from a logged one to one that is not.
    pub(super) fn check_references(
        snapshot: &CatalogSnapshot,
        table: &TableDef,
        logged: bool,
    ) -> Result<(), CatalogError> {
        let other_table = |oid: Oid| snapshot.table_by_oid(oid).filter(|other| other.oid != table.oid);
        let (word, other) = if logged {
            let referenced = table.constraints.iter().filter_map(|constraint| match &constraint.kind {
                ConstraintKind::Foreign(key) => other_table(key.referenced),
                _ => None,
            });
            ("logged", referenced.into_iter().find(|other| other.unlogged))
        } else {
            let referencing =
                table.referenced_by.iter().filter_map(|constraint| other_table(constraint.table));
            ("unlogged", referencing.into_iter().find(|other| !other.unlogged))
        };
        let Some(other) = other else { return Ok(()) };
        let is = if other.unlogged { "unlogged" } else { "logged" };
        let text = format!(
            "could not change table \"{}\" to {word} because it references {is} table \"{}\"",
            table.name, other.name
        );
        Err(CatalogError::invalid("42P16", text))
    }
}
