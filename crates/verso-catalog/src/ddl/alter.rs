//! ALTER TABLE.
//!
//! Changes of what columns there are, or of a column's type, give the table a new heap: [`Catalog::begin_rewrite`] makes
//! it, the caller copies the rows, [`Catalog::finish_rewrite`] builds the indexes and drops the old one. A column's number
//! is never used again: a dropped column keeps its row in `pg_attribute`.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;
use verso_types::SqlType;

use super::claim::Taking;
use super::composite::check_depth;
use super::constraint::{Target, relying_on};
use super::foreign_key::{refuse_recollated, refuse_retyped};
use super::index::{key_collation, refuse_unlike_bytes};
use super::names::Names;
use super::needing::{Lost, Needing};
use super::sequence_of;
use super::table::{find_table, refuse_type_of_name, relation_kind};
use super::together::needing_column;
use crate::catalog::Catalog;
use crate::definition::{
    ColumnDef, ConstraintDef, ConstraintKind, DroppedColumn, Identity, IndexDef, Oid, SchemaDef, TableDef,
    TableOptions,
};
use crate::error::{CatalogError, ObjectKind};
use crate::kept::names_plainly;
use crate::needs::Need;
use crate::request::{NewColumn, NewTable, RenamedTexts, RetypedColumn, TableChange};
use crate::row_type::relations_in;
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::system::assemble::{attribute_row, options_row};
use crate::system::field::{Letter, Name};
use crate::system::row::{
    AttributeRow, ClassRow, ConstraintRow, DefaultRow, IndexRow, StatisticExtRow, TriggerRow,
};
use crate::system::{LOGGED, UNLOGGED};

/// A table whose rows have to be copied.
#[derive(Debug)]
pub struct Rewrite {
    /// As it was: where the rows are.
    pub old: Arc<TableDef>,
    /// As it will be, without indexes yet: where they go.
    pub new: Arc<TableDef>,
}

impl Catalog {
    /// Makes one change of a table that leaves its rows as they are.
    ///
    /// What existing rows have to fulfil is the caller's to check, but for uniqueness.
    ///
    /// # Errors
    /// `Missing`, `Exists`, `InvalidDefinition`, `Needed`, `SystemObject`; storage's.
    pub fn alter_table(
        &self,
        txn: &mut Txn,
        schema: Option<&str>,
        name: &str,
        change: &TableChange,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let table = find_table(&snapshot, schema, name)?;
        let schema = schema_of(&snapshot, &table)?;
        self.lock_definition(txn, &table, &snapshot, change.lock_mode())?;
        self.change(txn, |txn| match change {
            TableChange::NotNull { column, not_null } => {
                self.set_not_null(txn, &table, column, *not_null)?;
                let mut target = Target::of(&table, Arc::clone(&schema));
                if *not_null && let Some(at) = table.column(column) {
                    target.columns[at].not_null = true;
                    self.complete_not_null(txn, &mut Names::new(&snapshot, &schema), &mut target)?;
                }
                Ok(())
            }
            TableChange::Reservable { column, reservable } => {
                let column = &table.columns[column_of(&table, column)?];
                let changed = ColumnDef { reservable: *reservable, ..column.clone() };
                let letter = attribute_row(table.oid, &changed).attgenerated;
                let is_it = is_attribute(table.oid, column);
                self.update_rows(txn, table.oid, is_it, |row| row.attgenerated = letter)?;
                Ok(())
            }
            TableChange::Statistics { column, target } => {
                let column = &table.columns[column_of(&table, column)?];
                let changed = ColumnDef { statistics: *target, ..column.clone() };
                let length = attribute_row(table.oid, &changed).attlen;
                self.update_rows(txn, table.oid, is_attribute(table.oid, column), |row| row.attlen = length)?;
                Ok(())
            }
            TableChange::Default { column, default } => {
                self.set_default(txn, &table, column, default.as_ref())
            }
            TableChange::Expression { column, expression: None } => self.drop_expression(txn, &table, column),
            TableChange::AddIdentity(column) => self.add_identity(txn, &snapshot, &schema, &table, column),
            TableChange::SetIdentity { column, identity } => {
                let column = identity_column(&table, column)?;
                let changed = ColumnDef { identity: Some(*identity), ..column.clone() };
                let letter = attribute_row(table.oid, &changed).attidentity;
                self.update_rows(txn, table.oid, is_attribute(table.oid, column), |row| {
                    row.attidentity = letter;
                })?;
                Ok(())
            }
            TableChange::TakeIdentity { column, identity, default } => {
                let column = &table.columns[column_of(&table, column)?];
                self.take_identity(txn, &snapshot, &table, column, (*identity, default))
            }
            TableChange::DropIdentity { column } => self.drop_identity(txn, &snapshot, &table, column),
            TableChange::AddConstraint(new) => {
                let mut names = Names::new(&snapshot, &schema);
                let mut target = Target::of(&table, Arc::clone(&schema));
                self.add_constraints(txn, &snapshot, &mut names, &mut target, std::slice::from_ref(new))
            }
            TableChange::ConstraintOfIndex { index, new } => {
                let mut target = Target::of(&table, Arc::clone(&schema));
                let index = table.index(*index).ok_or_else(|| CatalogError::Corrupt {
                    what: format!("table {} has not the index {index}", table.name),
                })?;
                self.add_constraint_of_index(txn, &snapshot, &mut target, index, new)
            }
            TableChange::ClusterOn(index) => {
                let all: BTreeSet<Oid> = table.all_indexes().map(|index| index.oid).collect();
                let is_it = |row: &IndexRow| all.contains(&row.indexrelid);
                self.update_rows(txn, &all, is_it, |row| row.set_clustered(Some(row.indexrelid) == *index))?;
                Ok(())
            }
            TableChange::ReplicaIdentity(identity, index) => {
                let all: BTreeSet<Oid> = table.all_indexes().map(|index| index.oid).collect();
                let is_it = |row: &IndexRow| all.contains(&row.indexrelid);
                self.update_rows(txn, &all, is_it, |row| {
                    row.set_replica_identity(Some(row.indexrelid) == *index);
                })?;
                let mut options = table.options.clone();
                options.set_replica_identity(*identity);
                self.set_options(txn, table.oid, &options)
            }
            TableChange::ColumnOptions { column, options: changed } => {
                let column = &table.columns[column_of(&table, column)?];
                let mut options = table.options.clone();
                for (name, value) in changed {
                    options.set_of_column(column.id, name, value.as_deref());
                }
                self.set_options(txn, table.oid, &options)
            }
            TableChange::Validated(name) => {
                let constraint = constraint_of(&table, name)?;
                let is_it = |row: &ConstraintRow| row.oid == constraint.oid;
                self.update_rows(txn, table.oid, is_it, |row| row.convalidated = true)?;
                Ok(())
            }
            TableChange::AlterConstraint { name, deferrable, initially_deferred, enforced, no_inherit } => {
                let constraint = constraint_of(&table, name)?;
                let is_it = |row: &ConstraintRow| row.oid == constraint.oid;
                self.update_rows(txn, table.oid, is_it, |row| {
                    let (was, initially) = (row.condeferrable, row.condeferred);
                    row.condeferred = match deferrable {
                        Some(false) => false,
                        _ => initially_deferred.unwrap_or(initially),
                    };
                    row.condeferrable = deferrable.unwrap_or(was) || row.condeferred;
                    if let Some(no_inherit) = *no_inherit {
                        row.confmatchtype = Letter(if no_inherit { 'n' } else { ' ' });
                    }
                    if let Some(enforced) = *enforced {
                        let letter = row.contype.0;
                        let lower = letter.to_ascii_lowercase();
                        row.contype = Letter(if enforced { lower } else { letter.to_ascii_uppercase() });
                        row.convalidated = enforced;
                    }
                })?;
                Ok(())
            }
            TableChange::DropConstraint { name, cascade } => {
                for partition in table.with_partitions().iter().skip(1) {
                    self.lock_out(txn, partition, &snapshot)?;
                }
                let constraint = constraint_of(&table, name)?;
                if let Some(index) = constraint.kind.own_index() {
                    let what = format!("constraint {name} on table {}", table.name);
                    let references = relying_on(&table, index);
                    let own =
                        table.index(index).map_or_else(String::new, |index| format!("index {}", index.name));
                    self.release_references(txn, &snapshot, (what, &own), &references, *cascade)?;
                }
                if let ConstraintKind::NotNull { column } = constraint.kind
                    && let Some(at) = table.column_with_id(column)
                {
                    return self.set_not_null(txn, &table, &table.columns[at].name, false);
                }
                if let ConstraintKind::Foreign(key) = &constraint.kind {
                    // Nobody deletes rows there meanwhile by what the key says.
                    let referenced = snapshot.table_by_oid(key.referenced);
                    for other in referenced.iter().flat_map(TableDef::with_partitions) {
                        self.lock_out(txn, &other, &snapshot)?;
                    }
                    return self.remove_foreign_key(txn, &snapshot, &constraint);
                }
                self.remove_constraint(txn, &table, &constraint)
            }
            TableChange::Rename { to, texts } => {
                self.rename_texts(txn, &table, texts)?;
                self.rename_relation(txn, &snapshot, &schema, table.oid, to)
            }
            TableChange::Triggers { which, enabled } => self.enable_triggers(txn, &table, which, *enabled),
            TableChange::RenameColumn { column, to, texts } => {
                self.rename_texts(txn, &table, texts)?;
                self.rename_column(txn, &table, column, to)
            }
            TableChange::RenameConstraint { name, to } => {
                if table.constraint(to).is_some() || table.constraint_trigger(to).is_some() {
                    let text = format!("constraint \"{to}\" for relation \"{}\" already exists", table.name);
                    return Err(CatalogError::invalid("42710", text));
                }
                if let (None, Some(trigger)) = (table.constraint(name), table.constraint_trigger(name)) {
                    // The trigger keeps its name.
                    let is_it = |row: &TriggerRow| row.oid == trigger.oid;
                    self.update_rows(txn, table.oid, is_it, |row| {
                        row.tgnewname = Some(Name(Arc::clone(to)))
                    })?;
                    return Ok(());
                }
                let constraint = constraint_of(&table, name)?;
                if let Some(index) = constraint.kind.own_index() {
                    self.rename_relation(txn, &snapshot, &schema, index, to)?;
                }
                let is_it = |row: &ConstraintRow| row.oid == constraint.oid;
                self.update_rows(txn, table.oid, is_it, |row| row.conname = Name(Arc::clone(to)))?;
                Ok(())
            }
            TableChange::ResetOptions(names) => {
                let mut all = table.options.clone();
                all.given.retain(|(known, _)| !names.contains(known));
                self.set_options(txn, table.oid, &all)
            }
            TableChange::OfType(ty) => {
                let of = ty.and_then(|ty| snapshot.user_type(ty));
                self.hold_types(txn, &snapshot, &table.schema, of.iter().map(|ty| &ty.ty))?;
                let mut all = table.options.clone();
                all.set_of_type(*ty);
                self.set_options(txn, table.oid, &all)
            }
            TableChange::Options(options) => {
                let mut all = table.options.clone();
                options.given.iter().for_each(|(name, value)| all.set(name, Some(value)));
                self.set_options(txn, table.oid, &all)
            }
            TableChange::AddColumn(_)
            | TableChange::RowTypes
            | TableChange::ForIndex { .. }
            | TableChange::Refresh { .. }
            | TableChange::Logged(_)
            | TableChange::Anew
            | TableChange::DropColumn { .. }
            | TableChange::ColumnType { .. }
            | TableChange::Expression { .. } => {
                Err(CatalogError::Corrupt { what: "a change of columns is no rewrite".to_string() })
            }
        })
    }

    /// Renames a table, sequence or index, with the constraint of an index.
    ///
    /// # Errors
    /// `Missing`, `Exists`, `WrongKind`, `SystemObject`; storage's.
    pub fn rename(
        &self,
        txn: &mut Txn,
        kind: ObjectKind,
        schema: Option<&str>,
        name: &str,
        to: &Arc<str>,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let relation = snapshot.relation(schema, name).cloned();
        let relation = relation.ok_or_else(|| CatalogError::missing(ObjectKind::Relation, name))?;
        if relation_kind(&relation) != kind {
            return Err(CatalogError::WrongKind { kind, name: name.to_string() });
        }
        if relation.oid().is_system() {
            return Err(CatalogError::SystemObject { name: name.to_string() });
        }
        let schema = snapshot.schema(relation.key().0).cloned();
        let schema = schema.ok_or_else(|| CatalogError::missing(ObjectKind::Schema, name))?;
        self.change(txn, |txn| {
            self.rename_relation(txn, &snapshot, &schema, relation.oid(), to)?;
            if let Relation::Index(index) = &relation
                && let Some(constraint) = index.constraint
            {
                let is_it = |row: &ConstraintRow| row.oid == constraint;
                self.update_rows(txn, index.table, is_it, |row| row.conname = Name(Arc::clone(to)))?;
            }
            Ok(())
        })
    }

    /// Begins a change of a table's columns; `None` if there is nothing to do (`if_exists`).
    ///
    /// # Errors
    /// `Missing`, `DuplicateColumn`, `Needed`, `SystemObject`; storage's.
    pub fn begin_rewrite(
        &self,
        txn: &mut Txn,
        schema: Option<&str>,
        name: &str,
        change: &TableChange,
    ) -> Result<Rewrite, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let table = find_table(&snapshot, schema, name)?;
        let schema = schema_of(&snapshot, &table)?;
        self.lock_definition(txn, &table, &snapshot, change.lock_mode())?;
        if let TableChange::AddColumn(NewColumn { ty, .. }) | TableChange::ColumnType { ty, .. } = change {
            let mut within = Vec::new();
            relations_in(ty, &mut within);
            if within.contains(&table.oid) {
                let text = format!("composite type {} cannot be made a member of itself", table.name);
                return Err(CatalogError::invalid("42P16", text));
            }
            check_depth(ty)?;
            self.hold_types(txn, &snapshot, &schema.name, [ty])?;
        }
        self.change(txn, |txn| {
            let mut new = (*table).clone();
            match change {
                TableChange::AddColumn(column) => {
                    self.add_column(txn, &snapshot, &schema, &mut new, column)?;
                }
                TableChange::RowTypes | TableChange::Anew => {}
                TableChange::ForIndex { hidden, .. } => self.add_hidden(txn, &mut new, hidden)?,
                TableChange::Refresh { populated, .. } => {
                    let is_it = |row: &ClassRow| row.oid == table.oid;
                    self.update_rows(txn, table.oid, is_it, |row| row.relispopulated = *populated)?;
                }
                TableChange::Logged(logged) => {
                    Self::check_references(&snapshot, &table, *logged)?;
                    new.unlogged = !logged;
                    let letter = if *logged { LOGGED } else { UNLOGGED };
                    let all: BTreeSet<Oid> =
                        table.all_indexes().map(|index| index.oid).chain([table.oid]).collect();
                    let is_it = |row: &ClassRow| all.contains(&row.oid);
                    self.update_rows(txn, &all, is_it, |row| row.relpersistence = Letter(letter))?;
                    self.log_sequences(txn, &snapshot, table.oid, *logged)?;
                }
                TableChange::DropColumn { column, cascade } => {
                    self.drop_column(txn, &snapshot, &mut new, column, *cascade)?;
                }
                TableChange::ColumnType { column, ty, hidden, texts } => {
                    let at = column_of(&table, column)?;
                    let column = &table.columns[at];
                    refuse_shown(&snapshot, (table.oid, column.id), &column.name)?;
                    refuse_used(&table, &table.columns[at])?;
                    refuse_guarded(&snapshot, &table, &table.columns[at])?;
                    refuse_recollated(&table, &table.columns[at], ty)?;
                    refuse_retyped(&snapshot, &table, &table.columns[at], ty)?;
                    new.columns[at].ty = ty.erased();
                    new.columns[at].domain = ColumnDef::domain_of(ty);
                    let row = attribute_row(table.oid, &new.columns[at]);
                    let is_it = |old: &AttributeRow| old.attrelid == table.oid && old.attnum == row.attnum;
                    self.update_rows(txn, table.oid, is_it, |old| *old = row.clone())?;
                    self.write_collations(txn, table.oid, std::slice::from_ref(&new.columns[at]))?;
                    if table.columns[at].identity.is_some() {
                        self.retype_sequences(txn, &snapshot, &table, &new.columns[at])?;
                    }
                    self.forget_statistics_of(txn, &table, &table.columns[at])?;
                    self.rename_texts(txn, &table, texts)?;
                    for changed in hidden {
                        self.retype_hidden(txn, &mut new, changed)?;
                    }
                }
                TableChange::Expression { column, expression: Some(expression) } => {
                    let at = column_of(&table, column)?;
                    require_generated(&table, &table.columns[at])?;
                    let is_check =
                        |known: &Arc<ConstraintDef>| matches!(known.kind, ConstraintKind::Check { .. });
                    if table.constraints.iter().any(is_check) {
                        let tables = " in tables with check constraints";
                        refuse_virtual(&table, &table.columns[at], "SET EXPRESSION", tables)?;
                    }
                    self.remove_default(txn, &table, &table.columns[at])?;
                    new.columns[at].default = Some(Arc::clone(expression));
                    self.insert_defaults(txn, table.oid, &new.columns[at..=at], &[])?;
                }
                _ => return Err(CatalogError::Corrupt { what: "a rewrite changes columns".to_string() }),
            }
            // Rows are copied without what no index needs any more.
            for column in new.columns.iter().filter(|column| column.is_hidden() && !column.generated) {
                self.remove_column(txn, &table, column)?;
            }
            new.columns.retain(|column| !column.is_hidden() || column.generated);
            new.columns.sort_by_key(|column| column.id);
            let apart = match change {
                TableChange::ForIndex { apart, .. } => apart.clone(),
                _ => Vec::new(),
            };
            new.heap = self.create_heap(txn, new.unlogged, &new.columns, table.all_indexes(), apart)?;
            let is_it = |row: &ClassRow| row.oid == table.oid;
            self.update_rows(txn, table.oid, is_it, |row| row.relfilenode = Oid(new.heap.0))?;
            new.indexes.clear();
            new.idle_indexes.clear();
            new.constraints.clear();
            new.referenced_by.clear();
            new.triggers.clear();
            Ok(Rewrite { old: Arc::clone(&table), new: Arc::new(new) })
        })
    }

    /// Ends a rewrite: the copied rows get their indexes, the old ones go.
    ///
    /// # Errors
    /// Storage's, of which `Unique` says that two rows have the same key now.
    pub fn finish_rewrite(&self, txn: &mut Txn, rewrite: &Rewrite) -> Result<(), CatalogError> {
        let Rewrite { old, new } = rewrite;
        self.change(txn, |txn| {
            let indexes: BTreeSet<Oid> = old.indexes.iter().map(|index| index.oid).collect();
            let kept: Vec<ClassRow> = self.read_of(txn, &indexes)?;
            for index in &old.indexes {
                if kept.iter().any(|row| row.oid == index.oid) {
                    if index.unique && old.columns != new.columns {
                        let key: Vec<u16> = index.parts.iter().map(|part| part.column).collect();
                        refuse_unlike_bytes(&new.columns, &key)?;
                    }
                    self.rebuild_index(txn, new, new.heap, &recollated(index, old, new))?;
                }
            }
            self.engine.drop_object(txn, old.heap)?;
            Ok(())
        })
    }

    // ── the single changes ───────────────────────────────────────────────────────────────────────────────────────

    fn set_options(&self, txn: &mut Txn, table: Oid, options: &TableOptions) -> Result<(), CatalogError> {
        let is_it = |row: &ClassRow| row.oid == table;
        self.update_rows(txn, table, is_it, |row| row.reloptions = options_row(options))?;
        Ok(())
    }

    fn set_not_null(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        column: &str,
        not_null: bool,
    ) -> Result<(), CatalogError> {
        let column = &table.columns[column_of(table, column)?];
        if !not_null {
            let in_key = table.primary_key().is_some_and(|key| has_column(key, column.id));
            if in_key {
                let text = format!("column \"{}\" is in a primary key", column.name);
                return Err(CatalogError::invalid("42P16", text));
            }
            let in_identity = |index: &&Arc<IndexDef>| {
                index.replica_identity && index.parts.iter().any(|part| part.column == column.id)
            };
            if table.all_indexes().any(|index| in_identity(&index)) {
                let text = format!("column \"{}\" is in index used as replica identity", column.name);
                return Err(CatalogError::invalid("42P16", text));
            }
            if column.identity.is_some() {
                let text = format!(
                    "column \"{}\" of relation \"{}\" is an identity column",
                    column.name, table.name
                );
                return Err(CatalogError::invalid("42601", text));
            }
            self.remove_not_null(txn, table.oid, column.id)?;
        }
        if not_null && let Some(known) = table.not_null_of(column.id).filter(|known| !known.validated) {
            // Its rows are known to have values by now.
            let is_it = |row: &ConstraintRow| row.oid == known.oid;
            self.update_rows(txn, table.oid, is_it, |row| row.convalidated = true)?;
        }
        let is_it = is_attribute(table.oid, column);
        self.update_rows(txn, table.oid, is_it, |row| row.attnotnull = not_null)?;
        Ok(())
    }

    pub(super) fn set_default(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        column: &str,
        default: Option<&Arc<str>>,
    ) -> Result<(), CatalogError> {
        let column = &table.columns[column_of(table, column)?];
        if column.identity.is_some() {
            let text =
                format!("column \"{}\" of relation \"{}\" is an identity column", column.name, table.name);
            let error = CatalogError::invalid("42601", text);
            return Err(match default {
                Some(_) => error,
                None => error.with_hint("Use ALTER TABLE ... ALTER COLUMN ... DROP IDENTITY instead."),
            });
        }
        if column.generated {
            let text =
                format!("column \"{}\" of relation \"{}\" is a generated column", column.name, table.name);
            let hint = match default {
                Some(_) => "Use ALTER TABLE ... ALTER COLUMN ... SET EXPRESSION instead.",
                None if column.is_virtual => return Err(CatalogError::invalid("42601", text)),
                None => "Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.",
            };
            return Err(CatalogError::invalid("42601", text).with_hint(hint));
        }
        self.remove_default(txn, table, column)?;
        let is_it = is_attribute(table.oid, column);
        self.update_rows(txn, table.oid, is_it, |row| row.atthasdef = default.is_some())?;
        let changed = ColumnDef { default: default.cloned(), ..column.clone() };
        self.insert_defaults(txn, table.oid, &[changed], &[])
    }

    /// Makes a generated column one like others, which keeps its values.
    fn drop_expression(&self, txn: &mut Txn, table: &TableDef, column: &str) -> Result<(), CatalogError> {
        let column = &table.columns[column_of(table, column)?];
        require_generated(table, column)?;
        refuse_virtual(table, column, "DROP EXPRESSION", "")?;
        self.remove_default(txn, table, column)?;
        let plain = ColumnDef { default: None, generated: false, ..column.clone() };
        let row = attribute_row(table.oid, &plain);
        self.update_rows(txn, table.oid, is_attribute(table.oid, column), |old| *old = row.clone())?;
        Ok(())
    }

    /// Makes a column one whose values a sequence of its own gives.
    fn add_identity(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        schema: &SchemaDef,
        table: &TableDef,
        wanted: &NewColumn,
    ) -> Result<(), CatalogError> {
        let column = &table.columns[column_of(table, &wanted.name)?];
        let of = format!("column \"{}\" of relation \"{}\"", column.name, table.name);
        let refused = |text: String| Err(CatalogError::invalid("55000", text));
        if !column.not_null {
            return refused(format!("{of} must be declared NOT NULL before identity can be added"));
        }
        if column.identity.is_some() {
            return refused(format!("{of} is already an identity column"));
        }
        if column.default.is_some() {
            return refused(format!("{of} already has a default value"));
        }
        let mut shape = NewTable::new(Arc::clone(&table.name), Vec::new());
        shape.unlogged = table.unlogged;
        let (sequence, default) =
            self.serial_sequence(txn, snapshot, schema, &shape, table.oid, column, wanted)?;
        self.rights_of_owned(txn, snapshot, (table.oid, schema.oid), sequence)?;
        let changed = ColumnDef { default: Some(default), identity: wanted.identity, ..column.clone() };
        let row = attribute_row(table.oid, &changed);
        self.update_rows(txn, table.oid, is_attribute(table.oid, column), |old| {
            (old.atthasdef, old.attidentity) = (row.atthasdef, row.attidentity);
        })?;
        self.insert_defaults(txn, table.oid, std::slice::from_ref(&changed), &[(changed.id, sequence)])
    }

    /// Makes a column of a partition one whose values the whole table's sequence gives.
    pub(super) fn take_identity(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        table: &TableDef,
        column: &ColumnDef,
        (identity, default): (Identity, &Arc<str>),
    ) -> Result<(), CatalogError> {
        self.remove_default(txn, table, column)?;
        let default = Some(Arc::clone(default));
        let changed = ColumnDef { default, identity: Some(identity), ..column.clone() };
        let row = attribute_row(table.oid, &changed);
        self.update_rows(txn, table.oid, is_attribute(table.oid, column), |old| {
            (old.atthasdef, old.attidentity) = (row.atthasdef, row.attidentity);
        })?;
        let sequence = sequence_of(snapshot, changed.default.as_deref().unwrap_or_default());
        let link: Vec<(u16, Oid)> = sequence.map(|sequence| (changed.id, sequence)).into_iter().collect();
        self.insert_defaults(txn, table.oid, std::slice::from_ref(&changed), &link)
    }

    /// Makes an identity column one like others; its sequence goes.
    fn drop_identity(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        table: &TableDef,
        column: &str,
    ) -> Result<(), CatalogError> {
        let column = identity_column(table, column)?;
        if let Some(sequence) = snapshot.identity_sequence(table, column) {
            let needing = Needing::of(snapshot, &[Lost::Relation(sequence.oid)]);
            needing.refuse(snapshot)?;
            self.claim_gone(txn, snapshot, [sequence.oid])?;
            self.remove_sequence(txn, sequence)?;
        }
        self.remove_default(txn, table, column)?;
        let plain = ColumnDef { default: None, identity: None, ..column.clone() };
        let letter = attribute_row(table.oid, &plain).attidentity;
        self.update_rows(txn, table.oid, is_attribute(table.oid, column), |row| {
            (row.atthasdef, row.attidentity) = (false, letter);
        })?;
        Ok(())
    }

    pub(super) fn remove_default(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        column: &ColumnDef,
    ) -> Result<(), CatalogError> {
        let number = i32::from(column.id);
        let is_its = |row: &DefaultRow| row.adrelid == table.oid && i32::from(row.adnum) == number;
        self.remove_objects(txn, table.oid, is_its).map(drop)
    }

    pub(super) fn rename_relation(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        schema: &SchemaDef,
        oid: Oid,
        to: &Arc<str>,
    ) -> Result<(), CatalogError> {
        let exists = snapshot.relation(Some(&schema.name), to).is_some();
        let of = Taking::of(snapshot.relation_by_oid(oid));
        if !exists && of == Taking::Both {
            refuse_type_of_name(snapshot, schema, to)?;
        }
        if exists || !self.take_name(txn, &schema.name, to, of)? {
            return Err(CatalogError::exists(ObjectKind::Relation, &**to));
        }
        let is_it = |row: &ClassRow| row.oid == oid;
        self.update_rows(txn, oid, is_it, |row| row.relname = Name(Arc::clone(to)))?;
        self.removes(txn, oid)
    }

    /// Writes the texts that have another name of the table or of a column.
    fn rename_texts(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        texts: &RenamedTexts,
    ) -> Result<(), CatalogError> {
        for (id, expression) in &texts.generated {
            let is_it = |row: &DefaultRow| row.adrelid == table.oid && i32::from(row.adnum) == i32::from(*id);
            self.update_rows(txn, table.oid, is_it, |row| row.adbin = Arc::clone(expression))?;
        }
        for (oid, condition) in &texts.triggers {
            let is_it = |row: &TriggerRow| row.oid == *oid;
            self.update_rows(txn, table.oid, is_it, |row| row.tgqual = Some(Arc::clone(condition)))?;
        }
        for (oid, expressions) in &texts.statistics {
            let is_it = |row: &StatisticExtRow| row.oid == *oid;
            self.update_rows(txn, table.oid, is_it, |row| row.stxexprs = Some(expressions.clone()))?;
        }
        for (oid, expression) in &texts.checks {
            let is_it = |row: &ConstraintRow| row.oid == *oid;
            self.update_rows(txn, table.oid, is_it, |row| row.conbin = Some(Arc::clone(expression)))?;
        }
        Ok(())
    }

    fn rename_column(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        column: &str,
        to: &Arc<str>,
    ) -> Result<(), CatalogError> {
        let column = &table.columns[column_of(table, column)?];
        if table.column(to).is_some() {
            let text = format!("column \"{to}\" of relation \"{}\" already exists", table.name);
            return Err(CatalogError::invalid("42701", text));
        }
        let is_it = is_attribute(table.oid, column);
        self.update_rows(txn, table.oid, is_it, |row| row.attname = Name(Arc::clone(to)))?;
        Ok(())
    }

    fn add_column(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        schema: &SchemaDef,
        table: &mut TableDef,
        column: &NewColumn,
    ) -> Result<(), CatalogError> {
        if table.column(&column.name).is_some() {
            let text = format!("column \"{}\" of relation \"{}\" already exists", column.name, table.name);
            return Err(CatalogError::invalid("42701", text));
        }
        let rows: Vec<AttributeRow> = self.read_of(txn, table.oid)?;
        let its = rows.iter().filter(|row| row.attrelid == table.oid).map(|row| row.attnum);
        let used = its.filter(|id| i32::from(*id) < i32::from(ColumnDef::FIRST_HIDDEN)).max();
        let id = used.unwrap_or(0) + 1;
        if id as usize > super::table::MAX_COLUMNS {
            return Err(CatalogError::TooManyColumns { limit: super::table::MAX_COLUMNS });
        }
        let mut definition = ColumnDef {
            name: Arc::clone(&column.name),
            id: id.unsigned_abs(),
            ty: column.ty.erased(),
            domain: ColumnDef::domain_of(&column.ty),
            not_null: column.not_null || column.reservable || column.serial,
            default: column.default.clone(),
            identity: column.identity,
            generated: column.generated,
            is_virtual: column.is_virtual,
            reservable: column.reservable,
            statistics: None,
        };
        let mut serial = Vec::new();
        if column.serial {
            let mut shape = NewTable::new(Arc::clone(&table.name), Vec::new());
            shape.unlogged = table.unlogged;
            let (sequence, default) =
                self.serial_sequence(txn, snapshot, schema, &shape, table.oid, &definition, column)?;
            self.rights_of_owned(txn, snapshot, (table.oid, schema.oid), sequence)?;
            definition.default = Some(default);
            serial.push((definition.id, sequence));
        }
        self.insert_rows(txn, &[attribute_row(table.oid, &definition)])?;
        self.write_collations(txn, table.oid, std::slice::from_ref(&definition))?;
        self.insert_defaults(txn, table.oid, std::slice::from_ref(&definition), &serial)?;
        let is_it = |row: &ClassRow| row.oid == table.oid;
        self.update_rows(txn, table.oid, is_it, |row| row.relnatts = id)?;
        table.columns.push(definition);
        let mut target = Target::of(table, Arc::new(schema.clone()));
        let known = target.constraints.len();
        self.complete_not_null(txn, &mut Names::new(snapshot, schema), &mut target)?;
        table.constraints.extend(target.constraints.drain(known..));
        Ok(())
    }

    /// Adds hidden columns for an index.
    fn add_hidden(
        &self,
        txn: &mut Txn,
        table: &mut TableDef,
        columns: &[(SqlType, Arc<str>)],
    ) -> Result<(), CatalogError> {
        for column in self.hidden_columns(txn, table, columns)? {
            self.insert_rows(txn, &[attribute_row(table.oid, &column)])?;
            self.insert_defaults(txn, table.oid, std::slice::from_ref(&column), &[])?;
            table.columns.push(column);
        }
        Ok(())
    }

    /// Gives a hidden column another type and expression.
    fn retype_hidden(
        &self,
        txn: &mut Txn,
        table: &mut TableDef,
        changed: &RetypedColumn,
    ) -> Result<(), CatalogError> {
        let Some(at) = table.column_with_id(changed.id) else { return Ok(()) };
        let column = ColumnDef::hidden(changed.id, &changed.ty, &changed.text);
        let row = attribute_row(table.oid, &column);
        self.update_rows(txn, table.oid, is_attribute(table.oid, &column), |old| *old = row.clone())?;
        self.remove_default(txn, table, &column)?;
        self.insert_defaults(txn, table.oid, std::slice::from_ref(&column), &[])?;
        table.columns[at] = column;
        Ok(())
    }

    /// Further hidden columns of a table.
    pub(super) fn hidden_columns(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        columns: &[(SqlType, Arc<str>)],
    ) -> Result<Vec<ColumnDef>, CatalogError> {
        let rows: Vec<AttributeRow> = self.read_of(txn, table.oid)?;
        let its = rows.iter().filter(|row| row.attrelid == table.oid).map(|row| row.attnum.unsigned_abs());
        let mut next = its.max().unwrap_or(0).max(ColumnDef::FIRST_HIDDEN);
        let column = |(ty, text): &(SqlType, Arc<str>)| {
            next += 1;
            if i16::try_from(next).is_err() {
                return Err(CatalogError::TooManyColumns { limit: super::table::MAX_COLUMNS });
            }
            Ok(ColumnDef::hidden(next, ty, text))
        };
        columns.iter().map(column).collect()
    }

    /// Drops a column with its default, its sequence, and the indexes and constraints it is in.
    fn drop_column(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        table: &mut TableDef,
        name: &str,
        cascade: bool,
    ) -> Result<(), CatalogError> {
        let at = column_of(table, name)?;
        let column = table.columns[at].clone();
        let what = format!("column {name} of table {}", table.name);
        if !cascade {
            needing_column(snapshot, table, &column).refuse(snapshot)?;
        }
        self.release_column(txn, table, &column, what.clone(), cascade)?;
        let needing = Needing::of(snapshot, &[Lost::Column(table.oid, column.id)]);
        let hidden: Vec<Arc<str>> = table
            .generated_from(name)
            .filter(|column| column.is_hidden())
            .map(|column| Arc::clone(&column.name))
            .collect();
        for other in &hidden {
            self.drop_column(txn, snapshot, table, other, true)?;
        }
        let generated: Vec<Arc<str>> = table
            .generated_from(name)
            .filter(|column| !column.is_hidden())
            .map(|column| Arc::clone(&column.name))
            .collect();
        for other in &generated {
            self.drop_column(txn, snapshot, table, other, true)?;
        }
        self.remove_needing(txn, snapshot, &needing)?;
        let lost: Vec<Arc<IndexDef>> =
            table.all_indexes().filter(|index| has_column(index, column.id)).cloned().collect();
        for index in &lost {
            let references = relying_on(table, index.oid);
            self.release_references(txn, snapshot, (what.clone(), &what), &references, cascade)?;
            if index.constraint.is_none() {
                self.remove_index(txn, index)?;
                self.forget_hidden(txn, table, index)?;
                table.indexes.retain(|other| other.oid != index.oid);
                table.idle_indexes.retain(|other| other.oid != index.oid);
            }
        }
        let is_lost = |index: Oid| lost.iter().any(|lost| lost.oid == index);
        let mentions = |constraint: &&Arc<ConstraintDef>| match &constraint.kind {
            ConstraintKind::Check { expression } => names_plainly(expression, &column.name),
            ConstraintKind::NotNull { column: own } => *own == column.id,
            // Its index holds the columns of INCLUDE, too.
            ConstraintKind::Unique { .. } | ConstraintKind::Exclude { .. } => {
                constraint.kind.own_index().is_some_and(is_lost)
            }
            ConstraintKind::Foreign(key) => key.columns.contains(&column.id),
        };
        let gone: Vec<Arc<ConstraintDef>> = table.constraints.iter().filter(mentions).cloned().collect();
        for constraint in gone {
            self.remove_constraint(txn, table, &constraint)?;
            let index = constraint.kind.own_index();
            table.constraints.retain(|other| other.oid != constraint.oid);
            table.indexes.retain(|other| Some(other.oid) != index);
            table.idle_indexes.retain(|other| Some(other.oid) != index);
        }
        for sequence in snapshot.sequences_of(table.oid) {
            if sequence.owned_by.is_some_and(|owner| owner.column == column.id) {
                self.remove_sequence(txn, sequence)?;
            }
        }
        self.remove_statistics_of(txn, table, &column)?;
        self.remove_column(txn, table, &column)?;
        table.columns.retain(|other| other.id != column.id);
        Ok(())
    }

    /// Takes a column out of the catalog.
    pub(super) fn remove_column(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        column: &ColumnDef,
    ) -> Result<(), CatalogError> {
        self.remove_default(txn, table, column)?;
        let dropped = DroppedColumn { id: column.id, ty: SqlType::Unknown };
        let gone = Name(dropped.name().into());
        self.update_rows(txn, table.oid, is_attribute(table.oid, column), |row| {
            row.attisdropped = true;
            row.attname = gone.clone();
            row.atthasdef = false;
            row.attnotnull = false;
        })?;
        self.remove_hanging_on_column(txn, table.oid, column.id)?;
        // Its collation may be dropped from now on.
        let uncollated = ColumnDef { ty: SqlType::Void, domain: None, ..column.clone() };
        self.write_collations(txn, table.oid, &[uncollated])
    }
}

/// Refuses another type for a column that generated columns are computed from.
fn refuse_used(table: &TableDef, column: &ColumnDef) -> Result<(), CatalogError> {
    match table.generated_from(&column.name).find(|other| !other.is_hidden()) {
        None => Ok(()),
        Some(other) => Err(CatalogError::InvalidDefinition {
            sqlstate: "0A000",
            message: "cannot alter type of a column used by a generated column".to_string(),
            detail: Some(format!(
                "Column \"{}\" is used by generated column \"{}\".",
                column.name, other.name
            )),
            hint: None,
        }),
    }
}

fn require_generated(table: &TableDef, column: &ColumnDef) -> Result<(), CatalogError> {
    if column.generated {
        return Ok(());
    }
    let text = format!("column \"{}\" of relation \"{}\" is not a generated column", column.name, table.name);
    Err(CatalogError::invalid("55000", text))
}

/// Refuses what is not done to a virtual generated column, as PostgreSQL says it.
pub(super) fn refuse_virtual(
    table: &TableDef,
    column: &ColumnDef,
    what: &str,
    where_: &str,
) -> Result<(), CatalogError> {
    if !column.is_virtual {
        return Ok(());
    }
    Err(CatalogError::InvalidDefinition {
        sqlstate: "0A000",
        message: format!("ALTER TABLE / {what} is not supported for virtual generated columns{where_}"),
        detail: Some(format!(
            "Column \"{}\" of relation \"{}\" is a virtual generated column.",
            column.name, table.name
        )),
        hint: None,
    })
}

/// Refuses another type for a column that a trigger or a policy names.
fn refuse_guarded(
    snapshot: &CatalogSnapshot,
    table: &TableDef,
    column: &ColumnDef,
) -> Result<(), CatalogError> {
    let trigger = table.triggers.iter().find(|trigger| trigger.names(column));
    let need = Need::Column(table.oid, column.id);
    let policy = || snapshot.naming(table.oid).policies().find(|policy| policy.needs().contains(&need));
    let (word, which) = match (trigger, policy()) {
        (Some(trigger), _) => ("trigger", format!("trigger {} on table {}", trigger.name, table.name)),
        (None, Some(policy)) => ("policy", super::needing::policy_name(snapshot, policy)),
        (None, None) => return Ok(()),
    };
    Err(CatalogError::InvalidDefinition {
        sqlstate: "0A000",
        message: format!("cannot alter type of a column used in a {word} definition"),
        detail: Some(format!("{which} depends on column \"{}\"", column.name)),
        hint: None,
    })
}

/// Refuses another type for a column, or for an attribute, that a view or the body of a function uses.
pub(super) fn refuse_shown(
    snapshot: &CatalogSnapshot,
    (of, id): (Oid, u16),
    name: &str,
) -> Result<(), CatalogError> {
    let refuse = |by: &str, detail: String| {
        Err(CatalogError::InvalidDefinition {
            sqlstate: "0A000",
            message: format!("cannot alter type of a column used by a {by}"),
            detail: Some(format!("{detail} depends on column \"{name}\"")),
            hint: None,
        })
    };
    let naming = snapshot.naming(of);
    if let Some(view) = naming.views().find(|view| view.query.uses(of, id)) {
        let view = super::needing::view_name(snapshot, &view);
        return refuse("view or rule", format!("rule _RETURN on {view}"));
    }
    let mut functions = naming.functions();
    match functions.find(|function| function.needs.contains(&Need::Column(of, id))) {
        Some(function) => refuse("function or procedure", super::needing::function_name(snapshot, function)),
        None => Ok(()),
    }
}

fn schema_of(snapshot: &CatalogSnapshot, table: &TableDef) -> Result<Arc<SchemaDef>, CatalogError> {
    let schema = snapshot.schema(&table.schema).cloned();
    schema.ok_or_else(|| CatalogError::missing(ObjectKind::Schema, &*table.schema))
}

fn has_column(index: &IndexDef, column: u16) -> bool {
    index.columns().any(|id| id == column)
}

fn is_attribute(table: Oid, column: &ColumnDef) -> impl Fn(&AttributeRow) -> bool + use<> {
    let number = i32::from(column.id);
    move |row| row.attrelid == table && i32::from(row.attnum) == number
}

fn column_of(table: &TableDef, name: &str) -> Result<usize, CatalogError> {
    table.column(name).ok_or_else(|| {
        let text = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
        CatalogError::invalid("42703", text)
    })
}

fn constraint_of(table: &TableDef, name: &str) -> Result<Arc<ConstraintDef>, CatalogError> {
    table.constraint(name).cloned().ok_or_else(|| {
        let text = format!("constraint \"{name}\" of relation \"{}\" does not exist", table.name);
        CatalogError::invalid("42704", text)
    })
}

/// An index over columns that may have got other collations: its parts take those of their columns, where they had these.
fn recollated(index: &IndexDef, old: &TableDef, new: &TableDef) -> IndexDef {
    let mut index = index.clone();
    let collation = |table: &TableDef, id: u16| {
        let column = table.column_with_id(id).map(|at| &table.columns[at]);
        column.and_then(key_collation)
    };
    for part in index.parts.iter_mut().filter(|part| part.class == crate::KeyClass::Ordered) {
        let (before, now) = (collation(old, part.column), collation(new, part.column));
        if before != now && part.collation == before {
            part.collation = now;
        }
    }
    if index.constraint.is_some() {
        for part in &mut index.parts {
            let now = collation(new, part.column);
            part.collation = now.filter(|collation| !collation.is_deterministic());
        }
    }
    index
}

/// Whether an expression names a column.
pub(crate) fn mentions(expression: &str, column: &str) -> bool {
    verso_parser::names(expression, column)
}

/// The identity column of this name.
fn identity_column<'t>(table: &'t TableDef, column: &str) -> Result<&'t ColumnDef, CatalogError> {
    let column = &table.columns[column_of(table, column)?];
    if column.identity.is_none() {
        let text =
            format!("column \"{}\" of relation \"{}\" is not an identity column", column.name, table.name);
        return Err(CatalogError::invalid("55000", text));
    }
    Ok(column)
}
