//! ALTER TABLE.
//!
//! Each action is a statement of its own, so that it sees what the one before it has done. What changes columns copies the
//! rows ([`super::rewrite`]); a constraint that is added checks them first ([`super::existing_rows`]).

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::{
    COLUMN_COMPRESSION, COLUMN_STORAGE, CatalogError, ColumnDef, ConstraintDef, ConstraintKind, IndexPart,
    ObjectKind, Oid, Relation, ReplicaIdentity, TableChange, TableDef, check_own_keys, going_with_column,
    going_with_constraint, is_temporary,
};
use verso_types::SqlType;

use super::alter_columns::{column_named, compression_letter, storage_letter};
use super::alter_constraints::of_table;
use super::alter_names::{rename_column, texts_of_renamed};
use super::alter_partitions::reaches_partitions;
use super::composite::{refuse_pseudo, refuse_system_name};
use super::create_table::{default_text, identity_column, refuse_identity_of};
use super::partition::{refuse_identity_alone, refuse_of_partitions, refuse_without_parts};
use super::{Schema, alter_passes, options, text};
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use verso_parser::syntax::{
    self, AlterAction, AlterTable, ConstraintClause, FieldChange, Name, PartitionOf, QualifiedName,
    WhichTriggers,
};
use verso_parser::{OptionsOf, check_options};
use verso_planner::bind::{Binder, columns_in_scope, columns_of};
use verso_planner::errors::{SqlError, sqlstate};
use verso_storage::Engine;

/// Whether an action adds a key.
fn is_key(action: &AlterAction) -> bool {
    let AlterAction::AddConstraint(constraint) = action else { return false };
    matches!(constraint.clause, ConstraintClause::Unique { index: None, .. })
}

/// Whether a constraint is that of a constraint trigger.
pub(super) fn is_of_trigger(table: &TableDef, constraint: &Name) -> bool {
    table.constraint(&constraint.text).is_none() && table.constraint_trigger(&constraint.text).is_some()
}

/// Only superusers say whether foreign keys hold.
fn refuse_keys(table: &TableDef) -> Result<(), SqlError> {
    let is_key = |constraint: &&Arc<ConstraintDef>| matches!(constraint.kind, ConstraintKind::Foreign(_));
    let referencing = table.constraints.iter().find(is_key).map(|key| ('c', key));
    let Some((side, key)) = table.referenced_by.first().map(|key| ('a', key)).or(referencing) else {
        return Ok(());
    };
    let text = format!("permission denied: \"RI_ConstraintTrigger_{side}_{}\" is a system trigger", key.oid);
    Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text))
}

/// Such a constraint goes with its trigger only.
fn refuse_for_trigger(table: &TableDef, constraint: &Name) -> SqlError {
    let trigger = table.constraint_trigger(&constraint.text).map_or("", |trigger| &trigger.name);
    let (name, table) = (&constraint.text, &table.name);
    let trigger = format!("trigger {trigger} on table {table}");
    let text = format!("cannot drop constraint {name} on table {table} because {trigger} requires it");
    SqlError::new("2BP01", text).with_hint(format!("You can drop {trigger} instead."))
}

/// Whether the text of an option that is on or off says that it is on.
fn is_true(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "true" | "on" | "yes" | "1")
}

/// What REPLICA IDENTITY says of a table, and the index that it names.
fn replica_identity(
    table: &TableDef,
    identity: &syntax::ReplicaIdentity,
) -> Result<(ReplicaIdentity, Option<Oid>), SqlError> {
    let name = match identity {
        syntax::ReplicaIdentity::Default => return Ok((ReplicaIdentity::Default, None)),
        syntax::ReplicaIdentity::Full => return Ok((ReplicaIdentity::Full, None)),
        syntax::ReplicaIdentity::Nothing => return Ok((ReplicaIdentity::Nothing, None)),
        syntax::ReplicaIdentity::Index(name) => name,
    };
    let index = super::cluster::index_of(table, name)?;
    let refuse = |sqlstate, what: &str| {
        let text = format!("cannot use {what} index \"{}\" as replica identity", index.name);
        Err(SqlError::new(sqlstate, text))
    };
    let is_hidden = |part: &IndexPart| ColumnDef::is_hidden_id(part.column);
    match () {
        () if !index.unique => return refuse(sqlstate::WRONG_OBJECT_TYPE, "non-unique"),
        () if index.deferrable => return refuse(sqlstate::FEATURE_NOT_SUPPORTED, "non-immediate"),
        () if index.parts.iter().any(is_hidden) => {
            return refuse(sqlstate::FEATURE_NOT_SUPPORTED, "expression");
        }
        () if index.guard.is_some() => return refuse(sqlstate::FEATURE_NOT_SUPPORTED, "partial"),
        () => {}
    }
    let columns = index.parts.iter().filter_map(|part| table.column_with_id(part.column));
    if let Some(at) = columns.into_iter().find(|at| !table.columns[*at].not_null) {
        let text = format!(
            "index \"{}\" cannot be used as replica identity because column \"{}\" is nullable",
            index.name, table.columns[at].name
        );
        return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
    }
    Ok((ReplicaIdentity::Index, Some(index.oid)))
}

impl Schema<'_> {
    /// ALTER TABLE; tells what CASCADE has dropped.
    pub(super) fn alter_table(&self, alter: &AlterTable) -> Result<CommandTag, Failure> {
        let along = self.going_along(alter);
        let done = self.alter_table_quietly(alter)?;
        along.iter().for_each(|along| self.tell_along(along));
        Ok(done)
    }

    /// What goes along with what the actions drop, for each of them.
    fn going_along(&self, alter: &AlterTable) -> Vec<Vec<String>> {
        let catalog = self.frame.catalog;
        let relation = catalog.relation(Some(&self.home(&alter.name)), &alter.name.name.text);
        let Some(table) = relation.and_then(Relation::as_table) else { return Vec::new() };
        let of = |action: &AlterAction| match action {
            AlterAction::DropColumn { column, cascade: true, .. } => {
                let at = table.column(&column.text)?;
                Some(going_with_column(catalog, table, &table.columns[at]))
            }
            AlterAction::DropConstraint { name, cascade: true, .. } => {
                Some(going_with_constraint(catalog, table, table.constraint(&name.text)?))
            }
            _ => None,
        };
        alter.actions.iter().filter_map(of).collect()
    }

    /// ALTER TABLE within another statement, which tells itself what goes along.
    pub(super) fn alter_table_quietly(&self, alter: &AlterTable) -> Result<CommandTag, Failure> {
        let mut name = alter.name.clone();
        // Found once: what its actions make does not hide it from the next.
        let home = self.home(&name);
        let relation = self.frame.catalog.relation(Some(&home), &name.name.text);
        if let Some(relation) = relation {
            self.frame.catalog.check_whole(relation.oid())?;
            name.schema = Some(Name { text: home.to_string(), at: name.at() });
        }
        let done = tag(if alter.materialized { "ALTER MATERIALIZED VIEW" } else { "ALTER TABLE" });
        if relation.is_none() {
            // As in PostgreSQL fields of composite types get other names so, and nothing else of these changes.
            if let [AlterAction::RenameColumn { column, to }] = alter.actions.as_slice()
                && self.is_composite(&name)
            {
                let change = FieldChange::Rename(column.clone(), to.clone());
                self.alter_fields(&name, &[change], false)?;
                return Ok(done);
            }
            let kind = if alter.materialized { ObjectKind::MaterializedView } else { ObjectKind::Table };
            self.refuse_composite(kind, &name)?;
        }
        if relation.is_none() && alter.if_exists {
            self.skip(format!("relation \"{}\" does not exist, skipping", name.name.text));
            return Ok(done);
        }
        if let Some(relation) =
            relation.filter(|relation| alter.materialized && relation.kind() != ObjectKind::MaterializedView)
        {
            let name = relation.name().to_string();
            return Err(CatalogError::WrongKind { kind: ObjectKind::MaterializedView, name }.into());
        }
        if let Some(relation) = relation {
            self.own_relation(relation)?;
        }
        if let Some(Relation::Table(table)) = relation {
            self.refuse_reserved(table)?;
            super::typed::refuse_of_typed(table, &alter.actions)?;
            if table.materialized.is_none() || alter.materialized {
                self.lock_to_alter(table, alter)?;
            }
        }
        // Dumps of PostgreSQL alter materialized views as tables.
        let as_view;
        let is_view = relation.is_some_and(|relation| relation.kind() == ObjectKind::MaterializedView);
        let alter = if is_view && alter.actions.iter().all(AlterAction::suits_materialized_views) {
            as_view = AlterTable { materialized: true, ..alter.clone() };
            &as_view
        } else {
            alter
        };
        if let Some(relation) = relation.filter(|_| !alter.materialized)
            && self.altered_beside(relation, &name, &alter.actions)?
        {
            return Ok(done);
        }
        let is_whole = matches!(relation, Some(Relation::Table(table)) if table.partitioned.is_some());
        let early = |action: &AlterAction| match relation {
            Some(Relation::Table(table)) => self.reads_dropped(table, action, &alter.actions),
            _ => false,
        };
        let ordered = alter_passes::in_order(&alter.actions, &early);
        let kept = match relation {
            Some(Relation::Table(table)) => self.keep_before_types(&name, table, &ordered)?,
            _ => Vec::new(),
        };
        let mut actions = &*ordered;
        while let Some(action) = actions.first() {
            let keys = actions.iter().take_while(|action| is_key(action)).count();
            if keys > 1 && !is_whole {
                let (keys, rest) = actions.split_at(keys);
                self.frame.inside(|frame| Schema { frame }.add_keys(&name, keys, alter))?;
                actions = rest;
                continue;
            }
            self.frame.inside(|frame| Schema { frame }.alter_whole(&name, action, alter))?;
            if let AlterAction::Rename(to) = action {
                name.name = to.clone();
            }
            actions = &actions[1..];
        }
        self.drop_kept(&name, kept, alter)?;
        if ordered.iter().any(|action| matches!(action, AlterAction::ColumnType { .. })) {
            self.frame.inside(|frame| {
                let table = frame.catalog.table(name.schema_text(), &name.name.text);
                table.map_or(Ok(()), |table| Ok(check_own_keys(&table)?))
            })?;
        }
        Ok(done)
    }

    /// Whether USING of a new type reads a column that goes in the same statement.
    fn reads_dropped(&self, table: &Arc<TableDef>, action: &AlterAction, all: &[AlterAction]) -> bool {
        let AlterAction::ColumnType { ty, using: Some(using), .. } = action else { return false };
        let goes = |at: usize| {
            all.iter().any(|other| {
                matches!(other, AlterAction::DropColumn { column, .. } if *column.text == *table.columns[at].name)
            })
        };
        if !(0..table.columns.len()).any(goes) {
            return false;
        }
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let bound = binder.data_type(ty).and_then(|ty| binder.conversion(using, table, &ty));
        bound.is_ok_and(|bound| columns_of(&bound).into_iter().any(goes))
    }

    /// Several keys of a table, which are built from one scan.
    fn add_keys(
        &self,
        name: &QualifiedName,
        keys: &[AlterAction],
        alter: &AlterTable,
    ) -> Result<(), Failure> {
        let table = self.frame.catalog.table(name.schema_text(), &name.name.text);
        let idle = table.iter().flat_map(|table| &table.idle_indexes);
        let idle: Vec<Oid> = idle.map(|index| index.oid).collect();
        self.frame.txn.borrow_mut().build_later(true);
        let added = keys
            .iter()
            .try_for_each(|key| self.frame.inside(|frame| Schema { frame }.alter_whole(name, key, alter)));
        let instance = &self.frame.services.instance;
        let later = instance.builds_later.load(Ordering::Relaxed);
        self.frame.txn.borrow_mut().build_later(later);
        added?;
        if later {
            return Ok(());
        }
        self.frame.inside_now(|frame| {
            let txn = &mut frame.txn.borrow_mut();
            instance.catalog.build_idle(txn, &self.home(name), &name.name.text, &idle)?;
            Ok(())
        })
    }

    /// One action, refused where it would make a partition unlike the others; the whole table's reaches its partitions.
    pub(super) fn alter_whole(
        &self,
        name: &QualifiedName,
        action: &AlterAction,
        AlterTable { materialized, only, .. }: &AlterTable,
    ) -> Result<(), Failure> {
        let materialized = *materialized;
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let table = if materialized { binder.table(name)? } else { binder.target(name)? };
        refuse_of_partitions(self.frame.catalog, &table, action)?;
        let has_parts = table.partitioned.as_ref().is_some_and(|whole| !whole.partitions.is_empty());
        if *only && table.partitioned.is_some() {
            refuse_identity_alone(action)?;
        }
        // Keys of partitions are parts of the whole table's and go with it.
        let of_parts = match action {
            AlterAction::DropConstraint { name, .. } => table.constraint(&name.text).is_some_and(|known| {
                !matches!(known.kind, ConstraintKind::Check { .. } | ConstraintKind::NotNull { .. })
            }),
            _ => false,
        };
        if *only && has_parts && !of_parts {
            refuse_without_parts(self.frame.catalog, &table, action)?;
            return match action {
                AlterAction::AddConstraint(constraint) => {
                    self.add_constraint(&binder, name, &table, constraint, true)
                }
                action => self.alter_action(name, action, materialized),
            };
        }
        match table.partitioned.is_some() && reaches_partitions(action) {
            true => self.alter_with_partitions(name, &table, action),
            false => self.alter_action(name, action, materialized),
        }
    }

    pub(super) fn alter_action(
        &self,
        name: &QualifiedName,
        action: &AlterAction,
        materialized: bool,
    ) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let table = if materialized { binder.table(name)? } else { binder.target(name)? };
        let change = match action {
            AlterAction::AddColumn { column, if_not_exists } => {
                refuse_system_name(&column.name.text)?;
                return self.add_column(&binder, name, &table, column, *if_not_exists);
            }
            AlterAction::DropColumn { column, if_exists, cascade } => {
                if *if_exists && table.column(&column.text).is_none() {
                    self.skip_missing("column", column, &table);
                    return Ok(());
                }
                if *cascade && self.drop_generated_elsewhere(&table, &column.text)? {
                    return self
                        .frame
                        .inside(|frame| Schema { frame }.alter_action(name, action, materialized));
                }
                let change = TableChange::DropColumn { column: text(column), cascade: *cascade };
                let holders = self.holders(&table, Some(&column.text))?;
                self.rewrite(name, &change, |_| Ok(None))?;
                return self.reshape_all(&holders);
            }
            AlterAction::ColumnType { column, ty, using } => {
                let ty = binder.data_type(ty)?;
                self.may_use(&ty)?;
                refuse_pseudo(&column.text, &ty)?;
                let known = table.column(&column.text).map(|at| &table.columns[at]);
                if known.is_some_and(|known| known.identity.is_some()) {
                    refuse_identity_of(&ty)?;
                }
                return self.column_type(&binder, name, &table, column, &ty, using.as_ref());
            }
            AlterAction::NotNull { column, not_null } => {
                if *not_null {
                    self.refuse_nulls_there(&table, &[text(column)])?;
                }
                TableChange::NotNull { column: text(column), not_null: *not_null }
            }
            AlterAction::Reservable { column, reservable } => {
                let is_null = |at: usize| !table.columns[at].not_null;
                if *reservable && table.column(&column.text).is_some_and(is_null) {
                    self.refuse_nulls_there(&table, &[text(column)])?;
                    self.alter(name, &TableChange::NotNull { column: text(column), not_null: true })?;
                }
                let change = TableChange::Reservable { column: text(column), reservable: *reservable };
                return self.frame.inside_now(|frame| Schema { frame }.alter(name, &change));
            }
            AlterAction::Statistics { column, target } => {
                TableChange::Statistics { column: text(column), target: self.column_target(*target)? }
            }
            AlterAction::ClusterOn(index) => {
                let index = match index {
                    Some(name) => {
                        let index = super::cluster::index_of(&table, name)?;
                        super::cluster::check_order(index)?;
                        Some(index.oid)
                    }
                    None => None,
                };
                TableChange::ClusterOn(index)
            }
            AlterAction::OfType(ty) => self.of_type(&table, ty.as_ref())?,
            AlterAction::ReplicaIdentity(identity) => {
                let (identity, index) = replica_identity(&table, identity)?;
                TableChange::ReplicaIdentity(identity, index)
            }
            AlterAction::ColumnOptions { column, options } => {
                let (reservable, others): (Vec<_>, Vec<_>) =
                    options.iter().cloned().partition(|(name, _)| name == "reservable");
                // Of several of one name the last counts.
                if let Some((_, value)) = reservable.last() {
                    let reservable = value.as_deref().is_some_and(is_true);
                    let action = AlterAction::Reservable { column: column.clone(), reservable };
                    self.alter_action(name, &action, materialized)?;
                }
                if others.is_empty() {
                    return Ok(());
                }
                let options = others.into_iter().map(|(name, value)| (name.into(), value.map(Into::into)));
                return self.tell_column(name, &column.text, options.collect());
            }
            AlterAction::Storage { column, how } => {
                let letter = storage_letter(column_named(&table, column)?.declared(), how)?;
                return self.tell_column(name, &column.text, vec![(COLUMN_STORAGE.into(), letter)]);
            }
            AlterAction::Compression { column, method } => {
                let letter = compression_letter(column_named(&table, column)?.declared(), method)?;
                return self.tell_column(name, &column.text, vec![(COLUMN_COMPRESSION.into(), letter)]);
            }
            AlterAction::Default { column, default } => {
                let at = table.column(&column.text);
                let default = match (default, at) {
                    (Some((expr, text)), Some(at)) => {
                        let ty = table.columns[at].declared();
                        default_text(&binder, (expr, text.as_str()), &column.text, ty)?
                    }
                    (default, _) => default.as_ref().map(|(_, text)| text.as_str().into()),
                };
                TableChange::Default { column: text(column), default }
            }
            AlterAction::SetExpression { column, expression: (expr, kept) } => {
                let at = table.column(&column.text);
                let ty = at.map_or(SqlType::Text, |at| table.columns[at].ty.clone());
                let scope = columns_in_scope(&table);
                let bind =
                    |binder: &Binder<'_>| binder.generation(expr, &table.name, &scope, (&column.text, &ty));
                let (kept, value) = of_table(binder.clone(), &table, kept)?.kept_text(expr, kept, bind)?;
                let computed = at.map(|at| &table.columns[at]).filter(|column| column.is_virtual);
                if let Some(column) = computed {
                    binder.check_virtual(&column.name, column.declared(), (&value, &kept))?;
                }
                let value = computed.is_none().then_some(value);
                let change = TableChange::Expression { column: text(column), expression: Some(kept.into()) };
                return self.rewrite(name, &change, |_| Ok(value)).map(drop);
            }
            AlterAction::DropExpression { column, if_exists } => {
                let generated = table.column(&column.text).map(|at| table.columns[at].generated);
                if *if_exists && generated == Some(false) {
                    self.skip_part("00000", "column", column, &table, "is not a generated column");
                    return Ok(());
                }
                TableChange::Expression { column: text(column), expression: None }
            }
            AlterAction::AddIdentity { column, identity, sequence } => {
                let ty = table.column(&column.text).map_or(SqlType::Int8, |at| table.columns[at].ty.clone());
                TableChange::AddIdentity(identity_column(column, ty, *identity, sequence)?)
            }
            AlterAction::SetIdentity { column, identity, options } => {
                return self.set_identity(name, &table, column, *identity, options);
            }
            AlterAction::DropIdentity { column, if_exists } => {
                let identity = table.column(&column.text).map(|at| table.columns[at].identity);
                if *if_exists && identity == Some(None) {
                    self.skip_part("00000", "column", column, &table, "is not an identity column");
                    return Ok(());
                }
                TableChange::DropIdentity { column: text(column) }
            }
            AlterAction::AttachPartition { partition, bound: (bound, at) } => {
                let of = PartitionOf { parent: name.clone(), bound: bound.clone(), at: *at };
                return self.attach_partition(&binder, &table, partition, &of);
            }
            AlterAction::DetachPartition { partition, later } => {
                return self.detach_partition(&binder, &table, partition, *later);
            }
            AlterAction::AddConstraint(constraint) => {
                return self.add_constraint(&binder, name, &table, constraint, false);
            }
            AlterAction::ValidateConstraint(constraint) => {
                return self.validate_constraint(name, &table, constraint);
            }
            AlterAction::AlterConstraint { name: constraint, change } => {
                return self.alter_constraint(&binder, name, &table, constraint, *change);
            }
            AlterAction::DropConstraint { name: constraint, if_exists, cascade } => {
                if is_of_trigger(&table, constraint) {
                    return Err(refuse_for_trigger(&table, constraint).into());
                }
                if *if_exists && table.constraint(&constraint.text).is_none() {
                    self.skip_missing("constraint", constraint, &table);
                    return Ok(());
                }
                let change = TableChange::DropConstraint { name: text(constraint), cascade: *cascade };
                if self.release_constraint(&binder, &table, constraint, *cascade)? {
                    return self.frame.inside(|frame| Schema { frame }.alter(name, &change));
                }
                change
            }
            AlterAction::Rename(to) => {
                let texts = self.by_anybody(|binder| texts_of_renamed(binder, &table, to));
                TableChange::Rename { to: text(to), texts }
            }
            AlterAction::RenameColumn { column, to } => {
                refuse_system_name(&to.text)?;
                self.holders(&table, Some(&column.text))?;
                self.by_anybody(|binder| rename_column(binder, &table, column, to))
            }
            AlterAction::RenameConstraint { name: constraint, to } => {
                TableChange::RenameConstraint { name: text(constraint), to: text(to) }
            }
            AlterAction::Triggers { which, state } => {
                if matches!(which, WhichTriggers::All) && self.limited().is_some() {
                    refuse_keys(&table)?;
                }
                let (which, enabled) = super::trigger::enabled(which, *state);
                TableChange::Triggers { which, enabled }
            }
            AlterAction::Logged(logged) => {
                if is_temporary(&table.schema) {
                    let text = format!(
                        "cannot change logged status of table \"{}\" because it is temporary",
                        table.name
                    );
                    return Err(SqlError::new("42P16", text).into());
                }
                if table.unlogged != *logged {
                    return Ok(());
                }
                return self.rewrite(name, &TableChange::Logged(*logged), |_| Ok(None)).map(drop);
            }
            AlterAction::Owner(to) => return self.owner_of_table(&table, to),
            AlterAction::Pack => return self.pack(&table, Engine::pack),
            AlterAction::Repack => return self.pack(&table, Engine::repack),
            AlterAction::CreateDictionary => return self.create_dictionary(&table),
            AlterAction::Shrink => return self.shrink(&table),
            AlterAction::Options(given) => {
                check_options(OptionsOf::Table, given)?;
                self.autovacuum_options(given.iter().map(|(name, _)| name));
                TableChange::Options(options(given))
            }
            AlterAction::ResetOptions(names) => {
                self.autovacuum_options(names.iter());
                TableChange::ResetOptions(names.iter().map(|name| name.as_str().into()).collect())
            }
            AlterAction::RowSecurity { enabled, forced } => {
                let catalog = &self.frame.services.instance.catalog;
                let txn = &mut self.frame.txn.borrow_mut();
                return Ok(catalog.set_row_security(txn, &table, *enabled, *forced)?);
            }
        };
        self.alter(name, &change)
    }

    /// A notice that something of a table, named so, is not there.
    fn skip_missing(&self, kind: &str, part: &Name, table: &TableDef) {
        self.skip_part("00000", kind, part, table, "does not exist");
    }

    pub(super) fn skip_part(&self, sqlstate: &str, kind: &str, part: &Name, table: &TableDef, how: &str) {
        let text = format!("{kind} \"{}\" of relation \"{}\" {how}, skipping", part.text, table.name);
        self.skip_known(sqlstate, text);
    }

    /// A change that leaves the rows as they are.
    pub(super) fn alter(&self, name: &QualifiedName, change: &TableChange) -> Result<(), Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let txn = &mut self.frame.txn.borrow_mut();
        Ok(catalog.alter_table(txn, Some(&self.home(name)), &name.name.text, change)?)
    }
}
