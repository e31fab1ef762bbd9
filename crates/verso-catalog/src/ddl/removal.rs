//! What goes with tables that are dropped: their rows in all system tables.
//!
//! R1. Each system table is read once, however many tables go: a session's temporary tables go together when it ends.

use std::collections::HashSet;
use std::sync::Arc;

use verso_storage::Txn;

use crate::catalog::Catalog;
use crate::definition::{IndexDef, Oid, SequenceDef, TableDef};
use crate::error::{CatalogError, ObjectKind};
use crate::rights::Object;
use crate::snapshot::CatalogSnapshot;
use crate::store;
use crate::system::row::{
    AclRow, AttributeRow, ClassRow, CollatedRow, ConstraintRow, DefaultRow, DependRow, DescriptionRow,
    IndexRow, InheritsRow, PartitionedRow, PolicyRow, RewriteRow, StatisticRow, SystemRow, TriggerRow,
};

impl Catalog {
    /// Removes tables with their columns, defaults, indexes and the sequences that their columns own.
    pub(super) fn remove_tables(
        &self,
        txn: &mut Txn,
        snapshot: Option<&CatalogSnapshot>,
        tables: &[Arc<TableDef>],
    ) -> Result<(), CatalogError> {
        let Some(first) = tables.first() else { return Ok(()) };
        let engine = &self.engine;
        let gone: HashSet<Oid> = tables.iter().map(|table| table.oid).collect();
        let indexes: Vec<&Arc<IndexDef>> = tables.iter().flat_map(|table| table.all_indexes()).collect();
        let relations: HashSet<Oid> =
            gone.iter().copied().chain(indexes.iter().map(|index| index.oid)).collect();
        let classes = store::delete(engine, txn, |row: &ClassRow| relations.contains(&row.oid))?;
        if classes.iter().filter(|row| gone.contains(&row.oid)).count() < tables.len() {
            // Named twice in one statement.
            return Err(CatalogError::missing(ObjectKind::Table, &*first.name));
        }
        relations.iter().try_for_each(|oid| self.removes(txn, *oid))?;
        let owned =
            |sequence: &&Arc<SequenceDef>| sequence.owned_by.is_some_and(|owner| gone.contains(&owner.table));
        let sequences: Vec<Arc<SequenceDef>> =
            snapshot.iter().flat_map(|snapshot| snapshot.sequences()).filter(owned).cloned().collect();
        sequences.iter().try_for_each(|sequence| self.remove_sequence(txn, sequence))?;
        if !indexes.is_empty() {
            store::delete(engine, txn, |row: &IndexRow| relations.contains(&row.indexrelid))?;
        }
        let (class, ..) = Object::Relation(first.oid).key();
        store::delete(engine, txn, |row: &AclRow| row.classoid == class && gone.contains(&row.objoid))?;
        store::delete(engine, txn, |row: &PolicyRow| gone.contains(&row.polrelid))?;
        let described = ClassRow::TABLE.oid;
        store::delete(engine, txn, |row: &DescriptionRow| {
            row.classoid == described && gone.contains(&row.objoid)
        })?;
        store::delete(engine, txn, |row: &StatisticRow| gone.contains(&row.starelid))?;
        store::delete(engine, txn, |row: &ConstraintRow| gone.contains(&row.conrelid))?;
        store::delete(engine, txn, |row: &TriggerRow| gone.contains(&row.tgrelid))?;
        let rules = store::delete(engine, txn, |row: &RewriteRow| gone.contains(&row.ev_class))?;
        store::delete(engine, txn, |row: &AttributeRow| gone.contains(&row.attrelid))?;
        store::delete(engine, txn, |row: &CollatedRow| relations.contains(&row.objid))?;
        store::delete(engine, txn, |row: &PartitionedRow| gone.contains(&row.partrelid))?;
        store::delete(engine, txn, |row: &InheritsRow| gone.contains(&row.inhrelid))?;
        let defaults = store::delete(engine, txn, |row: &DefaultRow| gone.contains(&row.adrelid))?;
        let rules: HashSet<Oid> = rules.iter().map(|rule| rule.oid).collect();
        let defaults: HashSet<Oid> = defaults.iter().map(|default| default.oid).collect();
        if !rules.is_empty() || !defaults.is_empty() {
            store::delete(engine, txn, |row: &DependRow| {
                row.classid == DefaultRow::TABLE.oid && defaults.contains(&row.objid)
                    || row.classid == RewriteRow::TABLE.oid && rules.contains(&row.objid)
            })?;
        }
        let objects = indexes.iter().filter(|index| index.valid).map(|index| index.object);
        for object in objects.chain(tables.iter().map(|table| table.heap)) {
            engine.drop_object(txn, object)?;
        }
        Ok(())
    }
}
