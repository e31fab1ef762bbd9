//! What is a partition of what.
//!
//! Q1. Whoever adds or takes away a partition locks the table that it is a part of: bounds are compared with all partitions there
//!     are. One that is new, or goes, locks it against everybody; a table that becomes a partition (ATTACH) only against others who
//!     change definitions, as readers and writers may go on with the partitions that they know.
//! Q2. The default partition is locked against everybody, too: what it takes becomes less, or more. Who comes to it afterwards by
//!     an older list of partitions is told ([`Catalog::takes_the_same`]).

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use verso_storage::{TableLockMode, Txn};

use crate::catalog::Catalog;
use crate::definition::{ColumnDef, Oid, TableDef};
use crate::error::{CatalogError, ObjectKind};
use crate::key_class::KeyClass;
use crate::partition::{Bound, PartitionOf};
use crate::request::{KeyPartOf, NewKeyPart, NewTable};
use crate::snapshot::CatalogSnapshot;
use crate::system::assemble::attribute_row;
use crate::system::field::Letter;
use crate::system::row::{AttributeRow, CollatedRow, InheritsRow, PartitionedRow};

impl Catalog {
    /// Locks the table that gets a new partition, and compares the bounds (Q1).
    pub(super) fn lock_parent(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        of: &PartitionOf,
        (name, mode): (&str, TableLockMode),
    ) -> Result<(), CatalogError> {
        let parent = snapshot.table_by_oid(of.parent);
        let parent =
            parent.ok_or_else(|| CatalogError::missing(ObjectKind::Relation, of.parent.to_string()))?;
        self.lock_definition(txn, &parent, snapshot, mode)?;
        let Some(partitioned) = &parent.partitioned else {
            return Err(CatalogError::invalid("42809", format!("\"{}\" is not partitioned", parent.name)));
        };
        let Some(other) = partitioned.overlapped(&of.bound) else { return Ok(()) };
        let other = &other.name;
        Err(CatalogError::invalid(
            "42P17",
            match of.bound {
                Bound::Default => {
                    format!("partition \"{name}\" conflicts with existing default partition \"{other}\"")
                }
                _ => format!("partition \"{name}\" would overlap partition \"{other}\""),
            },
        ))
    }

    /// Locks the tables that lose partitions, unless they go as well (Q1).
    pub(super) fn lock_parents(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        gone: &[Arc<TableDef>],
    ) -> Result<(), CatalogError> {
        let parents = gone.iter().filter_map(|table| Some(table.partition_of.as_ref()?.parent));
        let stays = |oid: &Oid| gone.iter().all(|table| table.oid != *oid);
        let mut parents: Vec<Oid> = parents.filter(stays).collect();
        parents.sort();
        parents.dedup();
        for parent in parents.into_iter().filter_map(|oid| snapshot.table_by_oid(oid)) {
            self.lock_out(txn, &parent, snapshot)?;
        }
        Ok(())
    }

    /// Locks the default partitions beside partitions that go (Q2).
    pub(super) fn lock_defaults(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        gone: &[Arc<TableDef>],
    ) -> Result<(), CatalogError> {
        let parents = gone.iter().filter_map(|table| snapshot.tables_above(table).next());
        let default = |parent: Arc<TableDef>| {
            let (_, default) = parent.partitioned.as_ref()?.default_partition()?;
            Some(Arc::clone(default))
        };
        let mut defaults: Vec<Arc<TableDef>> = parents.filter_map(default).collect();
        defaults.retain(|default| gone.iter().all(|table| table.oid != default.oid));
        defaults.sort_by_key(|table| table.oid);
        defaults.dedup_by_key(|table| table.oid);
        for table in with_partitions(&defaults) {
            self.lock_out(txn, &table, snapshot)?;
        }
        Ok(())
    }

    /// Makes a table a partition of another one, whose rows the caller has looked at. It takes its numbers from the sequences of
    /// that one's identity columns.
    ///
    /// # Errors
    /// `Missing`, `InvalidDefinition`; storage's.
    pub fn attach_partition(
        &self,
        txn: &mut Txn,
        part: &TableDef,
        of: PartitionOf,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let mode = TableLockMode::ShareUpdateExclusive;
        self.lock_parent(txn, &snapshot, &of, (&part.name, mode))?;
        let part = current(&snapshot, part)?;
        for table in part.with_partitions() {
            self.lock_out(txn, &table, &snapshot)?;
        }
        let whole = snapshot.table_by_oid(of.parent);
        let row = InheritsRow { inhrelid: part.oid, inhparent: of.parent, bound: of.bound.stored() };
        self.change(txn, |txn| {
            self.insert_rows(txn, &[row])?;
            for column in whole.iter().flat_map(|whole| &whole.columns) {
                let (Some(identity), Some(default)) = (column.identity, &column.default) else { continue };
                for table in part.with_partitions() {
                    if let Some(at) = table.column(&column.name) {
                        let own = &table.columns[at];
                        self.take_identity(txn, &snapshot, &table, own, (identity, default))?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Makes a partition a table of its own. Its indexes and constraints stay; identity columns take no numbers any more.
    ///
    /// # Errors
    /// `Missing`; storage's.
    pub fn detach_partition(&self, txn: &mut Txn, part: &TableDef) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let part = current(&snapshot, part)?;
        self.lock_parents(txn, &snapshot, std::slice::from_ref(&part))?;
        let all = part.with_partitions();
        for table in &all {
            self.lock_out(txn, table, &snapshot)?;
        }
        self.lock_defaults(txn, &snapshot, std::slice::from_ref(&part))?;
        let mut gone: BTreeSet<Oid> = part.all_indexes().map(|index| index.oid).collect();
        gone.insert(part.oid);
        self.change(txn, |txn| {
            self.delete_rows(txn, &gone, |row: &InheritsRow| gone.contains(&row.inhrelid))?;
            self.leave_triggers(txn, &snapshot, &part)?;
            self.detach_foreign_keys(txn, &part)?;
            for table in &all {
                for column in table.columns.iter().filter(|column| column.identity.is_some()) {
                    self.remove_default(txn, table, column)?;
                    let plain = ColumnDef { default: None, identity: None, ..column.clone() };
                    let row = attribute_row(table.oid, &plain);
                    let is_it = |old: &AttributeRow| old.attrelid == table.oid && old.attnum == row.attnum;
                    self.update_rows(txn, table.oid, is_it, |old| *old = row.clone())?;
                }
            }
            Ok(())
        })
    }

    /// Writes how a new table is divided, and what it is a part of.
    pub(super) fn insert_partition(
        &self,
        txn: &mut Txn,
        oid: Oid,
        new: &NewTable,
        columns: &[ColumnDef],
    ) -> Result<(), CatalogError> {
        if let Some((strategy, key)) = &new.partition_by {
            let number = |part: &NewKeyPart| {
                let column = columns.iter().find(|column| match &part.of {
                    KeyPartOf::Column(name) => column.name == *name,
                    KeyPartOf::Expression(ty, text) => {
                        column.is_hidden() && column.declared() == ty && column.default.as_ref() == Some(text)
                    }
                });
                let number = column.and_then(|column| i16::try_from(column.id).ok());
                let name = match &part.of {
                    KeyPartOf::Column(part) | KeyPartOf::Expression(_, part) => part,
                };
                number.ok_or_else(|| CatalogError::missing(ObjectKind::Column, &**name))
            };
            let mut partattrs = key.iter().map(number).collect::<Result<Vec<i16>, _>>()?;
            if key.iter().any(|part| part.order.class != KeyClass::Ordered) {
                partattrs.extend(key.iter().map(|part| -i16::from(part.order.class as u8)));
            }
            let row = PartitionedRow { partrelid: oid, partstrat: Letter(strategy.letter()), partattrs };
            self.insert_rows(txn, &[row])?;
            let collated = (1..).zip(key).filter_map(|(number, part)| {
                let collation = Oid(part.order.collation.as_ref()?.oid);
                Some(CollatedRow { objid: oid, objsubid: -number, collation, version: None })
            });
            self.insert_rows(txn, &collated.collect::<Vec<_>>())?;
        }
        if let Some(of) = &new.partition_of {
            let row = InheritsRow { inhrelid: oid, inhparent: of.parent, bound: of.bound.stored() };
            self.insert_rows(txn, &[row])?;
        }
        Ok(())
    }
}

/// A table as it is now.
fn current(snapshot: &CatalogSnapshot, table: &TableDef) -> Result<Arc<TableDef>, CatalogError> {
    let missing = || CatalogError::missing(ObjectKind::Relation, &*table.name);
    snapshot.table_by_oid(table.oid).ok_or_else(missing)
}

/// Tables and all partitions below them, each once.
pub(super) fn with_partitions(tables: &[Arc<TableDef>]) -> Vec<Arc<TableDef>> {
    let mut known = HashSet::new();
    let all = tables.iter().flat_map(|table| table.with_partitions());
    all.filter(|table| known.insert(table.oid)).collect()
}
