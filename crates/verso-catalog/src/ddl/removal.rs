//! What goes with tables that are dropped: their rows in all system tables.
//!
//! R1. Each system table is read once, however many tables go: a session's temporary tables go together when it ends.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;

use crate::catalog::Catalog;
use crate::definition::{IndexDef, Oid, SequenceDef, TableDef};
use crate::error::{CatalogError, ObjectKind};
use crate::rights::Object;
use crate::snapshot::CatalogSnapshot;
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
        let gone: BTreeSet<Oid> = tables.iter().map(|table| table.oid).collect();
        let indexes: Vec<&Arc<IndexDef>> = tables.iter().flat_map(|table| table.all_indexes()).collect();
        let relations: BTreeSet<Oid> =
            gone.iter().copied().chain(indexes.iter().map(|index| index.oid)).collect();
        let classes = self.delete_rows(txn, &relations, |row: &ClassRow| relations.contains(&row.oid))?;
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
            self.delete_rows(txn, &relations, |row: &IndexRow| relations.contains(&row.indexrelid))?;
        }
        let (class, ..) = Object::Relation(first.oid).key();
        self.delete_rows(txn, &gone, |row: &AclRow| row.classoid == class && gone.contains(&row.objoid))?;
        let policies = self.delete_rows(txn, &gone, |row: &PolicyRow| gone.contains(&row.polrelid))?;
        self.forget_needs(txn, &policies.iter().map(|policy| policy.oid).collect())?;
        let described = ClassRow::TABLE.oid;
        self.delete_rows(txn, &gone, |row: &DescriptionRow| {
            row.classoid == described && gone.contains(&row.objoid)
        })?;
        self.delete_rows(txn, &gone, |row: &StatisticRow| gone.contains(&row.starelid))?;
        self.delete_rows(txn, &gone, |row: &ConstraintRow| gone.contains(&row.conrelid))?;
        self.delete_rows(txn, &gone, |row: &TriggerRow| gone.contains(&row.tgrelid))?;
        let rules = self.delete_rows(txn, &gone, |row: &RewriteRow| gone.contains(&row.ev_class))?;
        self.delete_rows(txn, &gone, |row: &AttributeRow| gone.contains(&row.attrelid))?;
        self.delete_rows(txn, &relations, |row: &CollatedRow| relations.contains(&row.objid))?;
        self.delete_rows(txn, &gone, |row: &PartitionedRow| gone.contains(&row.partrelid))?;
        self.delete_rows(txn, &relations, |row: &InheritsRow| relations.contains(&row.inhrelid))?;
        let defaults = self.delete_rows(txn, &gone, |row: &DefaultRow| gone.contains(&row.adrelid))?;
        let rules: BTreeSet<Oid> = rules.iter().map(|rule| rule.oid).collect();
        let defaults: BTreeSet<Oid> = defaults.iter().map(|default| default.oid).collect();
        if !rules.is_empty() || !defaults.is_empty() {
            let both: BTreeSet<Oid> = rules.union(&defaults).copied().collect();
            self.delete_rows(txn, &both, |row: &DependRow| {
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
