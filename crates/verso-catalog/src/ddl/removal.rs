//! What goes with objects that are dropped: tables' rows in all system tables, and what is said of any object.
//!
//! R1. Each system table is read once, however many tables go: a session's temporary tables go together when it ends.
//! R2. Comments, lists of rights, notes of what an object needs and default privileges within a schema go with the row of
//!     their object: rows of objects are removed by [`Catalog::remove_objects`].

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::{ObjectId, Txn};

use crate::catalog::Catalog;
use crate::definition::{IndexDef, Oid, SequenceDef, TableDef};
use crate::error::{CatalogError, ObjectKind};
use crate::snapshot::CatalogSnapshot;
use crate::store::Of;
use crate::system::row::{
    AclRow, AttributeRow, ClassRow, CollatedRow, ConstraintRow, DefaultAclRow, DefaultRow, DependRow,
    DescriptionRow, IndexRow, InheritsRow, NamespaceRow, Numbered, PartitionedRow, PolicyRow, RewriteRow,
    StatisticExtRow, StatisticRow, SystemRow, TriggerRow, TypeRow,
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
        let mut relations: BTreeSet<Oid> =
            gone.iter().copied().chain(indexes.iter().map(|index| index.oid)).collect();
        // Indexes that could not be read are in no definition.
        let mut unread: BTreeSet<Oid> = BTreeSet::new();
        if snapshot.is_some_and(CatalogSnapshot::has_damage) {
            let all = self.delete_rows(txn, &gone, |row: &IndexRow| {
                gone.contains(&row.indrelid) && !relations.contains(&row.indexrelid)
            })?;
            unread.extend(all.iter().map(|row| row.indexrelid));
            relations.extend(&unread);
        }
        let classes = self.delete_rows(txn, &relations, |row: &ClassRow| relations.contains(&row.oid))?;
        if classes.iter().filter(|row| gone.contains(&row.oid)).count() < tables.len() {
            // Named twice in one statement.
            return Err(CatalogError::missing(ObjectKind::Table, &*first.name));
        }
        relations.iter().try_for_each(|oid| self.removes(txn, *oid))?;
        let owned =
            |sequence: &&Arc<SequenceDef>| sequence.owned_by.is_some_and(|owner| gone.contains(&owner.table));
        let mut sequences: Vec<Arc<SequenceDef>> = Vec::new();
        for naming in snapshot.iter().flat_map(|snapshot| gone.iter().map(move |oid| snapshot.naming(*oid))) {
            sequences.extend(naming.sequences().filter(owned).cloned());
        }
        sequences.iter().try_for_each(|sequence| self.remove_sequence(txn, sequence))?;
        if !indexes.is_empty() {
            self.delete_rows(txn, &relations, |row: &IndexRow| relations.contains(&row.indexrelid))?;
        }
        let policies = self.delete_rows(txn, &gone, |row: &PolicyRow| gone.contains(&row.polrelid))?;
        self.delete_rows(txn, &gone, |row: &StatisticRow| gone.contains(&row.starelid))?;
        let extended = self.delete_rows(txn, &gone, |row: &StatisticExtRow| gone.contains(&row.stxrelid))?;
        extended.iter().try_for_each(|row| self.removes(txn, row.oid))?;
        let constraints = self.delete_rows(txn, &gone, |row: &ConstraintRow| gone.contains(&row.conrelid))?;
        let triggers = self.delete_rows(txn, &gone, |row: &TriggerRow| gone.contains(&row.tgrelid))?;
        let rules = self.delete_rows(txn, &gone, |row: &RewriteRow| gone.contains(&row.ev_class))?;
        self.delete_rows(txn, &gone, |row: &AttributeRow| gone.contains(&row.attrelid))?;
        self.delete_rows(txn, &relations, |row: &CollatedRow| relations.contains(&row.objid))?;
        self.delete_rows(txn, &gone, |row: &PartitionedRow| gone.contains(&row.partrelid))?;
        self.delete_rows(txn, &relations, |row: &InheritsRow| relations.contains(&row.inhrelid))?;
        let defaults = self.delete_rows(txn, &gone, |row: &DefaultRow| gone.contains(&row.adrelid))?;
        let mut all = numbers(&classes);
        all.extend(numbers(&policies));
        all.extend(numbers(&extended));
        all.extend(numbers(&constraints));
        all.extend(numbers(&triggers));
        all.extend(numbers(&rules));
        all.extend(numbers(&defaults));
        self.remove_hanging(txn, &all)?;
        let objects = indexes.iter().filter(|index| index.valid).map(|index| index.object);
        for object in objects.chain(tables.iter().map(|table| table.heap)) {
            engine.drop_object(txn, object)?;
        }
        for class in classes.iter().filter(|class| unread.contains(&class.oid)) {
            let object = ObjectId(class.relfilenode.0);
            if engine.has_object(object) {
                engine.drop_object(txn, object)?;
            }
        }
        Ok(())
    }

    /// Removes rows of objects, and what is said of these; the change has begun.
    pub(crate) fn remove_objects<'o, R: Numbered>(
        &self,
        txn: &mut Txn,
        of: impl Into<Of<'o>>,
        matches: impl Fn(&R) -> bool,
    ) -> Result<Vec<R>, CatalogError> {
        let rows = self.delete_rows(txn, of, matches)?;
        self.remove_hanging(txn, &numbers(&rows))?;
        Ok(rows)
    }

    /// Removes what is said of objects that go (R2); the change has begun.
    pub(super) fn remove_hanging(&self, txn: &mut Txn, gone: &BTreeSet<Gone>) -> Result<(), CatalogError> {
        if gone.is_empty() {
            return Ok(());
        }
        let oids: BTreeSet<Oid> = gone.iter().map(|(_, oid)| *oid).collect();
        // Fields of a composite type are columns of its relation, which has the type's number here.
        let of_type = |row: &DescriptionRow| {
            row.classoid == ClassRow::TABLE.oid && gone.contains(&(TypeRow::TABLE.oid, row.objoid))
        };
        // The constraint of a constraint trigger has the trigger's number.
        let of_trigger = |row: &DescriptionRow| {
            row.classoid == ConstraintRow::TABLE.oid && gone.contains(&(TriggerRow::TABLE.oid, row.objoid))
        };
        let is_gone = |row: &DescriptionRow| {
            gone.contains(&(row.classoid, row.objoid)) || of_type(row) || of_trigger(row)
        };
        // Whoever comments on an object holds it, so no comment comes any more; those that others have made while this transaction
        // waited for the object go, too.
        Catalog::within_change_now(txn, |txn| self.delete_rows(txn, &oids, is_gone))?;
        self.delete_rows(txn, &oids, |row: &AclRow| gone.contains(&(row.classoid, row.objoid)))?;
        self.delete_rows(txn, &oids, |row: &DependRow| gone.contains(&(row.classid, row.objid)))?;
        if gone.iter().any(|(class, _)| *class == NamespaceRow::TABLE.oid) {
            let is_inside =
                |row: &DefaultAclRow| gone.contains(&(NamespaceRow::TABLE.oid, row.defaclnamespace));
            self.delete_rows(txn, Of::All, is_inside)?;
        }
        Ok(())
    }

    /// The same of a column of a relation that stays; what ANALYZE has found out of it goes, too.
    pub(super) fn remove_hanging_on_column(
        &self,
        txn: &mut Txn,
        relation: Oid,
        column: u16,
    ) -> Result<(), CatalogError> {
        let is_it = |class: Oid, oid: Oid, number: i32| {
            class == ClassRow::TABLE.oid && oid == relation && number == i32::from(column)
        };
        let is_its = |row: &DescriptionRow| is_it(row.classoid, row.objoid, row.objsubid);
        Catalog::within_change_now(txn, |txn| self.delete_rows(txn, relation, is_its))?;
        self.delete_rows(txn, relation, |row: &AclRow| is_it(row.classoid, row.objoid, row.objsubid))?;
        let is_its = |row: &StatisticRow| row.starelid == relation && row.staattnum == i32::from(column);
        self.delete_rows(txn, relation, is_its).map(drop)
    }
}

/// An object: the system table that its row is in, and its number.
pub(super) type Gone = (Oid, Oid);

/// The objects of these rows.
fn numbers<R: Numbered>(rows: &[R]) -> BTreeSet<Gone> {
    rows.iter().map(|row| (R::TABLE.oid, row.oid())).collect()
}
