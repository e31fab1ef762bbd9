//! CREATE TABLE, DROP TABLE, TRUNCATE.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use verso_storage::{TableLockMode, Txn};

use super::claim::Taking;
use super::composite::check_depth;
use super::constraint::Target;
use super::names::{Names, free};
use super::needing::{Lost, Needing, named};
use super::partition::with_partitions;
use super::{next_value, persistence, refuse_if_needed, sequence_of, sequence_spec, target_schema};
use crate::catalog::Catalog;
use crate::definition::{ColumnDef, ConstraintDef, ConstraintKind, Oid, SchemaDef, TableDef, TypeDef};
use crate::error::{CatalogError, ObjectKind};
use crate::request::{KeyPartOf, NewColumn, NewConstraint, NewConstraintKind, NewTable};
use crate::row_type::is_of_rows;
use crate::sequence::SequenceRequest;
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::system::assemble::{attribute_row, class_row, options_row};
use crate::system::field::Letter;
use crate::system::row::{ClassRow, DefaultRow, DependRow, SystemRow};
use crate::system::{DEPENDS_NORMAL, KIND_MATERIALIZED, KIND_PARTITIONED, KIND_TABLE, UNLOGGED};

/// Greatest number of columns, as in PostgreSQL.
pub const MAX_COLUMNS: usize = 1600;

impl Catalog {
    /// Makes a table; `None` if there is a relation of that name and `if_not_exists` allows it.
    ///
    /// A `serial` column gets a sequence `table_column_seq` that it owns, and NOT NULL.
    ///
    /// # Errors
    /// `Exists`, also when it waited for somebody who made one of that name; `DuplicateColumn`, `TooManyColumns`, `Missing`
    /// (the schema), `SystemObject`; storage's, of which `Conflict` says that another transaction changed what it relies on.
    pub fn create_table(
        &self,
        txn: &mut Txn,
        new: &NewTable,
        if_not_exists: bool,
    ) -> Result<Option<Oid>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, new.schema.as_ref())?;
        if snapshot.relation(Some(&schema.name), &new.name).is_some() {
            return if if_not_exists {
                Ok(None)
            } else {
                Err(CatalogError::exists(ObjectKind::Table, &*new.name))
            };
        }
        refuse_type_of_name(&snapshot, &schema, &new.name)?;
        check_columns(&new.columns)?;
        self.hold_schema(txn, &schema)?;
        if let Some(of) = &new.partition_of {
            self.lock_parent(txn, &snapshot, of, (&new.name, TableLockMode::AccessExclusive))?;
        }
        if !self.take_name(txn, &schema.name, &new.name, Taking::Both)? {
            return if if_not_exists {
                Ok(None)
            } else {
                Err(CatalogError::exists(ObjectKind::Table, &*new.name))
            };
        }
        let of = new.options.of_type().and_then(|ty| snapshot.user_type(ty));
        let types = new.columns.iter().map(|column| &column.ty).chain(of.map(|ty| &ty.ty));
        self.hold_types(txn, &snapshot, &schema.name, types)?;
        self.change(txn, |txn| self.insert_table(txn, &snapshot, &schema, new)).map(Some)
    }

    /// Drops a table: see [`Catalog::drop_tables`].
    ///
    /// # Errors
    /// Also `WrongKind`.
    pub fn drop_table(
        &self,
        txn: &mut Txn,
        schema: Option<&str>,
        name: &str,
        cascade: bool,
    ) -> Result<Vec<String>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let table = find_table(&snapshot, schema, name)?;
        self.drop_tables(txn, &[table], cascade)
    }

    /// Drops tables with their indexes and the sequences that their columns own; with `cascade` also the foreign keys of
    /// other tables that reference them, and the views that show them. Foreign keys among them are in nobody's way. What
    /// went along, in PostgreSQL's words.
    ///
    /// # Errors
    /// `Missing`, `Needed`, `SystemObject`; storage's, of which `Conflict` says that another transaction changed
    /// the schema first.
    pub fn drop_tables(
        &self,
        txn: &mut Txn,
        tables: &[Arc<TableDef>],
        cascade: bool,
    ) -> Result<Vec<String>, CatalogError> {
        self.drop_tables_beside(txn, tables, cascade, &[])
    }

    /// The same where these types go, too: those made of rows with the tables, the others by a later change.
    pub(super) fn drop_tables_beside(
        &self,
        txn: &mut Txn,
        tables: &[Arc<TableDef>],
        cascade: bool,
        types: &[Arc<TypeDef>],
    ) -> Result<Vec<String>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let asked = tables;
        let tables = &with_partitions(tables);
        self.lock_parents(txn, &snapshot, tables)?;
        for table in tables {
            refuse_system(table)?;
            self.lock_to_drop(txn, table, &snapshot)?;
        }
        self.lock_defaults(txn, &snapshot, tables)?;
        let mut lost: Vec<Lost> = tables.iter().map(|table| Lost::Relation(table.oid)).collect();
        // What needs these goes with them: the next version of the catalog cannot be read without them.
        lost.extend(types.iter().filter(|ty| is_of_rows(&ty.ty)).map(|ty| Lost::Type(ty.oid)));
        let going: Vec<Oid> = types.iter().map(|ty| ty.oid).collect();
        let mut needing = Needing::beside(&snapshot, &lost, &going);
        let references = references_from_outside(&snapshot, tables);
        needing.note(references.iter().map(|reference| {
            let Reference { constraint, name, referenced } = reference;
            (constraint.oid, name.clone(), Lost::Relation(*referenced))
        }));
        if !cascade {
            let what = match asked {
                [table] => named(&snapshot, Lost::Relation(table.oid)),
                _ => "desired object(s)".to_string(),
            };
            refuse_if_needed(what, needing.lines(&snapshot))?;
        }
        self.lock_referring(txn, &snapshot, tables)?;
        self.change(txn, |txn| {
            for reference in &references {
                self.remove_foreign_key(txn, &snapshot, &reference.constraint)?;
            }
            self.remove_needing(txn, &snapshot, &needing)?;
            self.remove_tables(txn, Some(&snapshot), tables)?;
            let of_rows = types.iter().filter(|ty| is_of_rows(&ty.ty));
            of_rows.into_iter().try_for_each(|ty| self.remove_type(txn, &snapshot, ty))
        })?;
        Ok(needing.names(&snapshot))
    }

    /// Locks the tables that refer to some that go, and those that these refer to: their foreign keys go, too.
    fn lock_referring(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        gone: &[Arc<TableDef>],
    ) -> Result<(), CatalogError> {
        let mut others: BTreeSet<Oid> = BTreeSet::new();
        for table in gone {
            others.extend(table.referenced_by.iter().map(|constraint| constraint.table));
            others.extend(table.constraints.iter().filter_map(|constraint| match &constraint.kind {
                ConstraintKind::Foreign(key) => Some(key.referenced),
                _ => None,
            }));
        }
        let others: Vec<Arc<TableDef>> =
            others.into_iter().filter_map(|oid| snapshot.table_by_oid(oid)).collect();
        for table in
            with_partitions(&others).iter().filter(|table| gone.iter().all(|one| one.oid != table.oid))
        {
            self.lock_to_drop(txn, table, snapshot)?;
        }
        Ok(())
    }

    /// Empties tables by giving each a new heap; the pages of the old one go back after the commit.
    ///
    /// `restart_identity` starts the sequences owned by their columns again.
    ///
    /// # Errors
    /// As [`Catalog::drop_table`]; `Missing` for a table that another transaction has dropped.
    pub fn truncate(
        &self,
        txn: &mut Txn,
        tables: &[Arc<TableDef>],
        restart_identity: bool,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        for table in tables {
            refuse_system(table)?;
            let current = snapshot.table_by_oid(table.oid);
            let current = current.ok_or_else(|| CatalogError::missing(ObjectKind::Relation, &*table.name))?;
            self.lock_out(txn, &current, &snapshot)?;
        }
        self.change(txn, |txn| {
            let distinct: HashSet<Oid> = tables.iter().map(|table| table.oid).collect();
            for table in distinct.into_iter().filter_map(|oid| snapshot.table_by_oid(oid)) {
                let heap =
                    self.create_heap(txn, table.unlogged, &table.columns, table.all_indexes(), Vec::new())?;
                let is_it = |row: &ClassRow| row.oid == table.oid;
                self.update_rows(txn, table.oid, is_it, |row| row.relfilenode = Oid(heap.0))?;
                for index in &table.indexes {
                    self.rebuild_index(txn, &table, heap, index)?;
                }
                self.engine.drop_object(txn, table.heap)?;
                if restart_identity {
                    for sequence in snapshot.sequences_of(table.oid) {
                        let object = self.engine.create_sequence(txn, sequence_spec(&sequence.bounds))?;
                        let is_it = |row: &ClassRow| row.oid == sequence.oid;
                        self.update_rows(txn, sequence.oid, is_it, |row| row.relfilenode = Oid(object.0))?;
                        self.engine.drop_object(txn, sequence.object)?;
                    }
                }
            }
            Ok(())
        })
    }

    /// Writes the rows of a new table; the change has begun.
    fn insert_table(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        schema: &SchemaDef,
        new: &NewTable,
    ) -> Result<Oid, CatalogError> {
        let oid = self.new_oid()?;
        self.makes(txn, oid)?;
        let mut columns = Vec::new();
        let mut serial = Vec::new();
        for (id, column) in (1..).zip(&new.columns) {
            let mut definition = ColumnDef {
                name: Arc::clone(&column.name),
                id,
                ty: column.ty.erased(),
                domain: ColumnDef::domain_of(&column.ty),
                not_null: column.not_null || column.reservable || column.serial || column.identity.is_some(),
                default: column.default.clone(),
                identity: column.identity,
                generated: column.generated,
                is_virtual: column.is_virtual,
                reservable: column.reservable,
                statistics: None,
            };
            if column.serial {
                let (sequence, default) =
                    self.serial_sequence(txn, snapshot, schema, new, oid, &definition, column)?;
                definition.default = Some(default);
                serial.push((id, sequence));
            } else if let Some(default) = column.default.as_deref().filter(|_| new.partition_of.is_some()) {
                // The whole table's.
                serial.extend(sequence_of(snapshot, default).map(|sequence| (id, sequence)));
            }
            columns.push(definition);
        }
        for (ty, text) in new.partition_by.iter().flat_map(|(_, key)| key).filter_map(|part| match &part.of {
            KeyPartOf::Expression(ty, text) => Some((ty, text)),
            KeyPartOf::Column(_) => None,
        }) {
            let is_it = |column: &ColumnDef| {
                column.is_hidden() && column.declared() == ty && column.default.as_ref() == Some(text)
            };
            if !columns.iter().any(is_it) {
                let hidden = columns.iter().filter(|column| column.is_hidden()).count();
                columns.push(ColumnDef::hidden(ColumnDef::FIRST_HIDDEN + 1 + hidden as u16, ty, text));
            }
        }
        let apart = key_columns(&columns, &new.constraints);
        let heap = self.create_heap(txn, new.unlogged, &columns, std::iter::empty(), apart)?;
        let kind = match (&new.materialized, &new.partition_by) {
            (Some(_), _) => KIND_MATERIALIZED,
            (None, Some(_)) => KIND_PARTITIONED,
            (None, None) => KIND_TABLE,
        };
        let shown = columns.iter().filter(|column| !column.is_hidden()).count();
        let class = class_row(oid, &new.name, schema.oid, heap, kind, shown);
        let relpersistence = if new.unlogged { Letter(UNLOGGED) } else { persistence(schema) };
        let class = ClassRow { reloptions: options_row(&new.options), relpersistence, ..class };
        let class = ClassRow { relispopulated: new.materialized.is_none(), ..class };
        self.insert_rows(txn, &[class])?;
        if let Some(query) = &new.materialized {
            self.insert_rule(txn, oid, query)?;
        }
        self.insert_partition(txn, oid, new, &columns)?;
        let attributes: Vec<_> = columns.iter().map(|column| attribute_row(oid, column)).collect();
        self.insert_rows(txn, &attributes)?;
        self.write_collations(txn, oid, &columns)?;
        self.insert_defaults(txn, oid, &columns, &serial)?;
        let mut names = Names::new(snapshot, schema);
        names.take_relation(&new.name);
        let mut target = Target {
            oid,
            schema: Arc::new(schema.clone()),
            name: Arc::clone(&new.name),
            heap,
            unlogged: new.unlogged,
            columns,
            indexes: Vec::new(),
            constraints: Vec::new(),
            of_triggers: Vec::new(),
        };
        self.add_constraints(txn, snapshot, &mut names, &mut target, &new.constraints)?;
        Ok(oid)
    }

    /// Makes the sequence of a `serial` column and gives it with the column's default.
    #[expect(clippy::too_many_arguments, reason = "a column, its table, and where they are made")]
    pub(super) fn serial_sequence(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        schema: &SchemaDef,
        table: &NewTable,
        table_oid: Oid,
        column: &ColumnDef,
        wanted: &NewColumn,
    ) -> Result<(Oid, Arc<str>), CatalogError> {
        if let Some(name) = &wanted.sequence_name {
            let exists = || CatalogError::exists(ObjectKind::Relation, &**name);
            let known = snapshot.relation(Some(&schema.name), name).is_some();
            let takes = |txn: &mut Txn| self.take_name(txn, &schema.name, name, Taking::Relation);
            if known || *name == table.name || !takes(txn)? {
                return Err(exists());
            }
            return self.owned_sequence(txn, schema, name, (table_oid, table.unlogged), column, wanted);
        }
        let wanted_name = |column: &str, taken: &dyn Fn(&str) -> bool| {
            free(&table.name, &[column], "seq", |name| taken(name))
        };
        let others: Vec<String> = table
            .columns
            .iter()
            .filter(|other| other.serial && other.name != column.name)
            .map(|other| wanted_name(&other.name, &|_| false))
            .collect();
        let mut tried = Vec::new();
        let name = loop {
            let name = wanted_name(&column.name, &|name| {
                snapshot.relation(Some(&schema.name), name).is_some()
                    || *name == *table.name
                    || others.iter().chain(&tried).any(|other| other == name)
            });
            if self.take_name(txn, &schema.name, &name, Taking::Relation)? {
                break name;
            }
            tried.push(name);
        };
        self.owned_sequence(txn, schema, &name.into(), (table_oid, table.unlogged), column, wanted)
    }

    /// Makes a sequence that a column owns and gives it with the column's default; its name is taken.
    fn owned_sequence(
        &self,
        txn: &mut Txn,
        schema: &SchemaDef,
        name: &Arc<str>,
        (table, unlogged): (Oid, bool),
        column: &ColumnDef,
        wanted: &NewColumn,
    ) -> Result<(Oid, Arc<str>), CatalogError> {
        let bounds = match &wanted.sequence {
            Some(bounds) => bounds.clone(),
            None => {
                SequenceRequest { ty: Some(column.ty.clone()), ..SequenceRequest::default() }.resolve()?
            }
        };
        let owner = Some((table, column.id));
        let oid = self.insert_sequence(txn, (schema, name), (&bounds, unlogged), owner)?;
        Ok((oid, next_value(&schema.name, name)))
    }

    /// Stores the defaults of a table; those of `serial` columns need their sequence.
    pub(super) fn insert_defaults(
        &self,
        txn: &mut Txn,
        table: Oid,
        columns: &[ColumnDef],
        serial: &[(u16, Oid)],
    ) -> Result<(), CatalogError> {
        let mut defaults = Vec::new();
        let mut links = Vec::new();
        for column in columns {
            let Some(expression) = &column.default else { continue };
            let oid = self.new_oid()?;
            let number = i16::try_from(column.id).expect("the number of columns was checked");
            defaults.push(DefaultRow { oid, adrelid: table, adnum: number, adbin: Arc::clone(expression) });
            if let Some((_, sequence)) = serial.iter().find(|(id, _)| *id == column.id) {
                links.push(DependRow {
                    classid: DefaultRow::TABLE.oid,
                    objid: oid,
                    objsubid: 0,
                    refclassid: ClassRow::TABLE.oid,
                    refobjid: *sequence,
                    refobjsubid: 0,
                    deptype: Letter(DEPENDS_NORMAL),
                });
            }
        }
        self.insert_rows(txn, &defaults)?;
        self.insert_rows(txn, &links)
    }
}

/// Numbers of the columns that constraints make keys of.
fn key_columns(columns: &[ColumnDef], constraints: &[NewConstraint]) -> Vec<u16> {
    let names = constraints.iter().filter_map(|constraint| match &constraint.kind {
        NewConstraintKind::Unique { columns, .. } => Some(columns),
        _ => None,
    });
    let number = |name: &Arc<str>| columns.iter().find(|column| column.name == *name).map(|column| column.id);
    names.flatten().filter_map(number).collect()
}

/// A foreign key of a table that stays.
pub(super) struct Reference {
    pub(super) constraint: Arc<ConstraintDef>,
    /// Itself and its table, in PostgreSQL's words.
    pub(super) name: String,
    /// The table that it references.
    pub(super) referenced: Oid,
}

/// The foreign keys of others that reference these tables.
pub(super) fn references_from_outside(
    snapshot: &CatalogSnapshot,
    tables: &[Arc<TableDef>],
) -> Vec<Reference> {
    let goes = |oid: Oid| tables.iter().any(|table| table.oid == oid);
    let mut found = Vec::new();
    for table in tables {
        let stays = |constraint: &&Arc<ConstraintDef>| {
            let whole = match &constraint.kind {
                ConstraintKind::Foreign(key) => key.whole,
                _ => None,
            };
            // Parts go with the whole, on either side.
            !goes(constraint.table) && constraint.part_of.is_none() && !whole.is_some_and(goes)
        };
        for constraint in table.referenced_by.iter().filter(stays) {
            let owner = snapshot.relation_by_oid(constraint.table);
            let owner = owner.map_or_else(|| "?".to_string(), |owner| super::needing::shown(snapshot, owner));
            let name = format!("constraint {} on table {owner}", constraint.name);
            found.push(Reference { constraint: Arc::clone(constraint), name, referenced: table.oid });
        }
    }
    found
}

/// What a relation is called.
pub(super) fn relation_kind(relation: &Relation) -> ObjectKind {
    relation.kind()
}

/// The table of that name, if it may be changed.
pub(super) fn find_table(
    snapshot: &CatalogSnapshot,
    schema: Option<&str>,
    name: &str,
) -> Result<Arc<TableDef>, CatalogError> {
    match snapshot.relation(schema, name) {
        None => Err(CatalogError::missing(ObjectKind::Table, name)),
        Some(Relation::Sequence(_) | Relation::Index(_) | Relation::View(_)) => {
            Err(CatalogError::WrongKind { kind: ObjectKind::Table, name: name.to_string() })
        }
        Some(Relation::Table(table)) => {
            refuse_system(table)?;
            Ok(Arc::clone(table))
        }
    }
}

fn refuse_system(table: &TableDef) -> Result<(), CatalogError> {
    if table.is_system() {
        return Err(CatalogError::SystemObject { name: table.name.to_string() });
    }
    Ok(())
}

/// Refuses a name that a type has, as a relation's rows have a type of its name.
pub(super) fn refuse_type_of_name(
    snapshot: &CatalogSnapshot,
    schema: &SchemaDef,
    name: &str,
) -> Result<(), CatalogError> {
    match snapshot.type_named(Some(&schema.name), name) {
        Some(ty) if !ty.ty.is_row() => Err(CatalogError::exists(ObjectKind::Type, name)),
        _ => Ok(()),
    }
}

fn check_columns(columns: &[NewColumn]) -> Result<(), CatalogError> {
    if columns.len() > MAX_COLUMNS {
        return Err(CatalogError::TooManyColumns { limit: MAX_COLUMNS });
    }
    columns.iter().try_for_each(|column| check_depth(&column.ty))?;
    let mut names = HashSet::new();
    match columns.iter().find(|column| !names.insert(&*column.name)) {
        Some(twice) => Err(CatalogError::DuplicateColumn { name: twice.name.to_string() }),
        None => Ok(()),
    }
}
