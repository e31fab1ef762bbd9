//! ALTER TABLE, and renaming.
//!
//! Each action is a statement of its own, so that it sees what the one before it has done. What changes columns copies the
//! rows ([`super::rewrite`]); a constraint that is added checks them first ([`super::existing_rows`]).

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::{
    COLUMN_COMPRESSION, COLUMN_STORAGE, CatalogError, ColumnDef, ConstraintDef, ConstraintKind, Identity,
    IndexPart, NewConstraint, NewConstraintKind, ObjectKind, Oid, PolicyDef, Relation, RenamedTexts,
    ReplicaIdentity, SequenceDef, StatisticsDef, TableChange, TableDef, TableOptions, check_own_keys,
    going_with_column, going_with_constraint, is_temporary,
};
use verso_exec::plan::{ExprKind, TypedExpr};
use verso_types::{CastKind, SqlType, Value};

use super::alter_partitions::reaches_partitions;
use super::alter_passes;
use super::composite::{refuse_pseudo, refuse_system_name};
use super::create_table::{default_text, identity_column, refuse_identity_of};
use super::drop::kind_of;
use super::index::{like_index, named};
use super::partition::{
    check_key, check_not_null, refuse_identity_alone, refuse_moves, refuse_of_partitions, refuse_period,
    refuse_without_parts,
};
use super::retype::Retyped;
use super::row_types::refuse_held;
use super::sequence::change_of_sequence;
use super::{Schema, options, text};
use crate::client::{CommandTag, Notice, tag};
use crate::failure::Failure;
use verso_parser::syntax::{
    self, AlterAction, AlterTable, ColumnDefinition, ConstraintChange, ConstraintClause,
    ConstraintDefinition, DropKind, Expr, Name, PartitionOf, QualifiedName, SequenceOptions, WhichTriggers,
};
use verso_planner::bind::{Binder, columns_in_scope, columns_of};
use verso_planner::errors::{SqlError, sqlstate};
use verso_storage::{Engine, ObjectId, Packing, StorageError, SweepOptions, TableLockMode, Txn};

/// Asked while storage works.
type GoOn<'g> = &'g mut dyn FnMut() -> Result<(), StorageError>;
/// How a table's pages are packed: [`Engine::pack`], [`Engine::repack`].
type Repack = fn(&Engine, &mut Txn, ObjectId, SweepOptions, GoOn<'_>) -> Result<Packing, StorageError>;

/// Greatest number that SET STATISTICS takes.
const STATISTICS_MAX: u16 = 10_000;

/// The column of an ALTER COLUMN.
fn column_named<'t>(table: &'t TableDef, column: &Name) -> Result<&'t ColumnDef, SqlError> {
    let found = table.shown().iter().find(|known| *known.name == *column.text);
    found.ok_or_else(|| {
        let text = format!("column \"{}\" of relation \"{}\" does not exist", column.text, table.name);
        SqlError::new(sqlstate::UNDEFINED_COLUMN, text)
    })
}

/// STORAGE of a column as its letter; none for that of its type.
pub(super) fn storage_letter(ty: &SqlType, how: &Name) -> Result<Option<Arc<str>>, SqlError> {
    let known = crate::catalogs::storage_of(ty);
    let wanted = match how.text.to_ascii_lowercase().as_str() {
        "plain" => 'p',
        "external" => 'e',
        "extended" => 'x',
        "main" => 'm',
        "default" => known,
        _ => return Err(SqlError::new("22023", format!("invalid storage type \"{}\"", how.text))),
    };
    if wanted == known {
        return Ok(None);
    }
    if known == 'p' {
        let shown = ty.without_modifiers().pg_name();
        let text = format!("column data type {shown} can only have storage PLAIN");
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    Ok(Some(wanted.to_string().into()))
}

/// COMPRESSION of a column as its letter; none for DEFAULT.
pub(super) fn compression_letter(ty: &SqlType, method: &Name) -> Result<Option<Arc<str>>, SqlError> {
    if crate::catalogs::storage_of(ty) == 'p' {
        let shown = ty.without_modifiers().pg_name();
        let text = format!("column data type {shown} does not support compression");
        return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    match method.text.to_ascii_lowercase().as_str() {
        "default" => Ok(None),
        "pglz" => Ok(Some("p".into())),
        "lz4" => Ok(Some("l".into())),
        _ => Err(SqlError::new("22023", format!("invalid compression method \"{}\"", method.text))),
    }
}

/// What a new column says of how its values are kept, as options of it.
pub(super) fn kept_as(column: &ColumnDefinition, ty: &SqlType) -> Result<ColumnWords, SqlError> {
    let storage = column.storage.as_ref().map(|how| storage_letter(ty, how)).transpose()?.flatten();
    let compression =
        column.compression.as_ref().map(|method| compression_letter(ty, method)).transpose()?.flatten();
    let word =
        |name: &str, letter: Option<Arc<str>>| letter.map(|letter| (Arc::<str>::from(name), Some(letter)));
    Ok(word(COLUMN_STORAGE, storage).into_iter().chain(word(COLUMN_COMPRESSION, compression)).collect())
}

/// Options of a column with their values; none takes one away.
pub(super) type ColumnWords = Vec<(Arc<str>, Option<Arc<str>>)>;

/// Refuses a constraint that the partitions of a table would not get.
pub(super) fn refuse_no_inherit(table: &str, constraint: &ConstraintDefinition) -> Result<(), SqlError> {
    match constraint.clause {
        ConstraintClause::NotNull(_) if constraint.no_inherit => {
            let text = "not-null constraints on partitioned tables cannot be NO INHERIT";
            Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text))
        }
        _ if constraint.no_inherit => {
            let text = format!("cannot add NO INHERIT constraint to partitioned table \"{table}\"");
            Err(SqlError::new("42P16", text))
        }
        _ => Ok(()),
    }
}

/// Whether an action adds a key.
fn is_key(action: &AlterAction) -> bool {
    let AlterAction::AddConstraint(constraint) = action else { return false };
    matches!(constraint.clause, ConstraintClause::Unique { index: None, .. })
}

/// Whether a constraint is that of a constraint trigger.
fn is_of_trigger(table: &TableDef, constraint: &Name) -> bool {
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
        if relation.is_some() {
            name.schema = Some(Name { text: home.to_string(), at: name.at() });
        }
        let done = tag(if alter.materialized { "ALTER MATERIALIZED VIEW" } else { "ALTER TABLE" });
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
        if let (Some(relation), [action], false) = (relation, alter.actions.as_slice(), alter.materialized)
            && self.changed_beside(relation, &name, action)?
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

    /// ALTER TABLE also gives views, sequences and indexes other names, and the columns of views names and defaults; whether that
    /// was asked for.
    fn changed_beside(
        &self,
        relation: &Relation,
        name: &QualifiedName,
        action: &AlterAction,
    ) -> Result<bool, Failure> {
        let store = &self.frame.services.instance.catalog;
        let txn = || self.frame.txn.borrow_mut();
        match (relation, action) {
            (Relation::Table(table), _) if table.materialized.is_none() => return Ok(false),
            (relation, AlterAction::Rename(to)) => {
                store.rename(&mut txn(), relation.kind(), name.schema_text(), &name.name.text, &text(to))?;
            }
            (Relation::View(view), AlterAction::RenameColumn { column, to }) => {
                store.rename_view_column(&mut txn(), view, &column.text, &text(to))?;
            }
            (Relation::View(view), AlterAction::Default { column, default }) => {
                let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
                let default = default.as_ref().map(|(expr, text)| (expr, text.as_str()));
                return self.view_default(&binder, view, column, default).map(|()| true);
            }
            _ => return Ok(false),
        }
        Ok(true)
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
                if self.release_key(&binder, &table, constraint, *cascade)? {
                    return self.frame.inside(|frame| Schema { frame }.alter(name, &change));
                }
                change
            }
            AlterAction::Rename(to) => {
                TableChange::Rename { to: text(to), texts: self.texts_of_renamed(&table, to) }
            }
            AlterAction::RenameColumn { column, to } => {
                refuse_system_name(&to.text)?;
                self.holders(&table, Some(&column.text))?;
                let policies = self.renamed_policies(&table, column, to)?;
                rename_column(&table, column, to, policies)
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

    /// Options that may make a table due for ANALYZE: whoever runs it looks again.
    fn autovacuum_options<'n>(&self, mut names: impl Iterator<Item = &'n String>) {
        if names.any(|name| name.starts_with("autovacuum")) {
            self.frame.services.instance.engine.changes().wake();
        }
    }

    /// COMPRESS, REPACK: packs the data pages of a table, under its lock; a notice says what became of them.
    fn pack(&self, table: &TableDef, how: Repack) -> Result<(), Failure> {
        let done = self
            .alone_with(table, |engine, txn, options, go_on| how(engine, txn, table.heap, options, go_on))?;
        self.frame.services.notices.tell(Notice::message(format!(
            "table \"{}\": {} data pages packed, {} packed pages made, {} data pages left as they are, {} pages given back",
            table.name, done.packed, done.made, done.left, done.freed
        )));
        Ok(())
    }

    /// SHRINK: gives pages of a table that hold nothing back to the database, under its lock; a notice says how many.
    fn shrink(&self, table: &TableDef) -> Result<(), Failure> {
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
    fn create_dictionary(&self, table: &TableDef) -> Result<(), Failure> {
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

    /// A notice that something of a table, named so, is not there.
    fn skip_missing(&self, kind: &str, part: &Name, table: &TableDef) {
        self.skip_part("00000", kind, part, table, "does not exist");
    }

    fn skip_part(&self, sqlstate: &str, kind: &str, part: &Name, table: &TableDef, how: &str) {
        let text = format!("{kind} \"{}\" of relation \"{}\" {how}, skipping", part.text, table.name);
        self.skip_known(sqlstate, text);
    }

    fn add_column(
        &self,
        binder: &Binder<'_>,
        name: &QualifiedName,
        table: &TableDef,
        column: &ColumnDefinition,
        if_not_exists: bool,
    ) -> Result<(), Failure> {
        if if_not_exists && table.column(&column.name.text).is_some() {
            self.skip_part(sqlstate::DUPLICATE_COLUMN, "column", &column.name, table, "already exists");
            return Ok(());
        }
        let mut new = self.new_column(binder, &table.name, column)?;
        let mut value = None;
        if let Some((expr, text)) = &column.generated {
            let scope = columns_in_scope(table);
            let ty = new.ty.erased();
            let of = (&*column.name.text, &ty);
            let bind = |binder: &Binder<'_>| binder.generation(expr, &table.name, &scope, of);
            let (text, bound) = of_table(binder.clone(), table, text)?.kept_text(expr, text, bind)?;
            match new.is_virtual {
                true => binder.check_virtual(&column.name.text, &new.ty, (&bound, &text))?,
                false => value = Some(bound),
            }
            new.default = Some(text.into());
        }
        let default = column.default.as_ref();
        let default = default
            .map(|(expr, _)| binder.default_value(expr, &column.name.text, &new.ty.erased()))
            .transpose()?;
        let holders = self.holders(table, None)?;
        let is_null = |value: &TypedExpr| matches!(value.kind, ExprKind::Literal(Value::Null));
        if value.iter().chain(&default).any(|value| !is_null(value)) {
            refuse_held(table, &holders)?;
        }
        let words = kept_as(column, &new.ty)?;
        self.rewrite(name, &TableChange::AddColumn(new), |_| Ok(value.or(default)))?;
        self.tell_column(name, &column.name.text, words)?;
        self.reshape_all(&holders)?;
        for constraint in &column.constraints {
            // The column was made with one, which gets the name that was given.
            let action = match (&constraint.clause, &constraint.name) {
                (ConstraintClause::NotNull(_), Some(to)) if !constraint.no_inherit => {
                    match self.not_null_made(name, column)? {
                        Some(made) if made.text == to.text => continue,
                        Some(made) => AlterAction::RenameConstraint { name: made, to: to.clone() },
                        None => AlterAction::AddConstraint(constraint.clone()),
                    }
                }
                _ => AlterAction::AddConstraint(constraint.clone()),
            };
            self.frame.inside(|frame| Schema { frame }.alter_action(name, &action, false))?;
        }
        Ok(())
    }

    /// The name of the NOT NULL that a new column has.
    fn not_null_made(
        &self,
        name: &QualifiedName,
        column: &ColumnDefinition,
    ) -> Result<Option<Name>, Failure> {
        self.frame.inside_now(|frame| {
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
            let table = binder.target(name)?;
            let made = table.column(&column.name.text).and_then(|at| table.not_null_of(table.columns[at].id));
            Ok(made.map(|made| Name { text: made.name.to_string(), at: column.name.at }))
        })
    }

    /// ALTER COLUMN … SET GENERATED, and the options of the sequence of an identity column.
    fn set_identity(
        &self,
        name: &QualifiedName,
        table: &TableDef,
        column: &Name,
        identity: Option<Identity>,
        options: &SequenceOptions,
    ) -> Result<(), Failure> {
        let known = table.column(&column.text).map(|at| &table.columns[at]);
        if let Some(known) = known.filter(|known| known.identity.is_some())
            && *options != SequenceOptions::default()
        {
            let own = |sequence: &&Arc<SequenceDef>| {
                sequence.owned_by.is_some_and(|owner| owner.table == table.oid && owner.column == known.id)
            };
            let sequence = self.frame.catalog.sequences().find(own);
            let sequence =
                sequence.ok_or_else(|| SqlError::internal("an identity column without a sequence"))?;
            let change = change_of_sequence(options);
            let catalog = &self.frame.services.instance.catalog;
            let place = (Some(&*sequence.schema), &*sequence.name);
            let txn = &mut self.frame.txn.borrow_mut();
            catalog.alter_sequence(txn, place, self.frame.catalog.version, &change)?;
        }
        match (known.and_then(|known| known.identity), identity) {
            (Some(_), None) => Ok(()),
            // What is wrong with the column is said there.
            (known, identity) => {
                let identity = identity.or(known).unwrap_or(Identity::Always);
                self.alter(name, &TableChange::SetIdentity { column: text(column), identity })
            }
        }
    }

    /// VALIDATE CONSTRAINT: checks the rows that are there.
    fn validate_constraint(
        &self,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        constraint: &Name,
    ) -> Result<(), Failure> {
        let known = table.constraint(&constraint.text);
        if known.is_some_and(|known| !known.enforced) {
            return Err(SqlError::new("55000", "cannot validate NOT ENFORCED constraint").into());
        }
        if let Some(known) = known.filter(|known| !known.validated) {
            // Writers go on: all that they have added since it is there keeps it, and what was there before is seen behind the lock.
            self.frame.tables().lock(table, TableLockMode::ShareUpdateExclusive)?;
            if let ConstraintKind::Foreign(key) = &known.kind
                && let Some(referenced) = self.frame.catalog.table_by_oid(key.referenced)
            {
                self.frame.tables().lock(&referenced, TableLockMode::RowShare)?;
            }
            self.frame.inside_now(|frame| {
                let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
                Schema { frame }.check_rows(&binder, table, known)
            })?;
        }
        if known.is_some_and(|known| known.kind.own_index().is_some()) || is_of_trigger(table, constraint) {
            let text =
                format!("cannot validate constraint \"{}\" of relation \"{}\"", constraint.text, table.name);
            let detail = "This operation is not supported for this type of constraint.";
            return Err(SqlError::new("42809", text).with_detail(detail).into());
        }
        self.alter(name, &TableChange::Validated(text(constraint)))
    }

    /// ALTER CONSTRAINT: a foreign key that is enforced from now on is checked for the rows that are there.
    fn alter_constraint(
        &self,
        binder: &Binder<'_>,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        constraint: &Name,
        change: ConstraintChange,
    ) -> Result<(), Failure> {
        let wrong = |text: String| Err(SqlError::new("42809", text).into());
        let of = format!("constraint \"{}\" of relation \"{}\"", constraint.text, table.name);
        let Some(known) = table.constraint(&constraint.text) else {
            return match is_of_trigger(table, constraint) {
                true => wrong(format!("{of} is not a foreign key constraint")),
                false => Err(SqlError::new("42704", format!("{of} does not exist")).into()),
            };
        };
        let is_foreign = matches!(known.kind, ConstraintKind::Foreign(_));
        let defers = change.deferrable.is_some() || change.initially_deferred.is_some();
        if defers && !is_foreign {
            return wrong(format!("{of} is not a foreign key constraint"));
        }
        if change.enforced.is_some() && !is_foreign {
            return wrong(format!("cannot alter enforceability of {of}"));
        }
        if change.inherit.is_some() && !matches!(known.kind, ConstraintKind::NotNull { .. }) {
            return wrong(format!("{of} is not a not-null constraint"));
        }
        if change.inherit == Some(false) && table.partitioned.is_some() {
            let text = "not-null constraints on partitioned tables cannot be NO INHERIT";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
        }
        if change.enforced == Some(true) && !known.enforced {
            let enforced = Arc::new(ConstraintDef { enforced: true, ..(**known).clone() });
            self.check_rows(binder, table, &enforced)?;
        }
        let altered = TableChange::AlterConstraint {
            name: text(constraint),
            deferrable: change.deferrable,
            initially_deferred: change.initially_deferred,
            enforced: change.enforced.filter(|enforced| *enforced != known.enforced),
            no_inherit: change.inherit.map(|inherit| !inherit),
        };
        self.alter(name, &altered)
    }

    /// Adds a constraint, then checks the rows that are there. With `only` the partitions of a table do not get a part of a key.
    fn add_constraint(
        &self,
        binder: &Binder<'_>,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        constraint: &ConstraintDefinition,
        only: bool,
    ) -> Result<(), Failure> {
        if let ConstraintClause::Unique { index: Some(index), primary, .. } = &constraint.clause {
            return self.add_constraint_of_index(name, table, constraint, index, *primary);
        }
        if let ConstraintClause::Exclude(exclude) = &constraint.clause {
            return self.add_exclusion(name, constraint, exclude, None, only);
        }
        if table.partitioned.is_some() {
            refuse_no_inherit(&table.name, constraint)?;
        }
        let columns: Vec<_> = table.columns.iter().map(|c| (Arc::clone(&c.name), c.seen())).collect();
        let new = self.new_constraint(binder, (&table.schema, &table.name), &columns, constraint)?;
        // A NOT NULL that is NOT VALID is in the way of another one, whatever the rows have.
        let open = |name: &Arc<str>| {
            let id = table.column(name).map(|at| table.columns[at].id);
            id.and_then(|id| table.not_null_of(id)).is_some_and(|constraint| !constraint.validated)
        };
        let required = match &new.kind {
            NewConstraintKind::NotNull { column } if new.validated => std::slice::from_ref(column),
            NewConstraintKind::Unique { columns, primary: true, .. } => columns.as_slice(),
            _ => &[],
        };
        if !required.is_empty() && !required.iter().any(open) {
            self.refuse_nulls_there(table, required)?;
        }
        if let NewConstraintKind::Unique { columns, without_overlaps: true, .. } = &new.kind {
            self.refuse_empty_there(table, columns.last())?;
        }
        if let NewConstraintKind::Unique { columns, .. } = &new.kind {
            let apart = self.packed(table, &columns.iter().map(|name| &**name).collect::<Vec<_>>())?;
            if !apart.is_empty() {
                self.rewrite(name, &TableChange::ForIndex { hidden: Vec::new(), apart }, |_| Ok(None))?;
            }
        }
        // NULLs were looked for before.
        let checked = new.validated && new.enforced && !matches!(new.kind, NewConstraintKind::NotNull { .. });
        let known: HashSet<_> = table.constraints.iter().map(|known| known.oid).collect();
        if let (Some(partitioned), NewConstraintKind::Unique { columns, primary, .. }) =
            (&table.partitioned, &new.kind)
        {
            check_key(table, partitioned, columns, *primary)?;
            refuse_period(table, partitioned, &new.kind)?;
            if only && *primary {
                check_not_null(table, columns)?;
            }
        }
        if table.partitioned.is_some() {
            let key = table.divided_by().into_iter().filter_map(|id| table.column_with_id(id));
            let key: Vec<&str> = key.map(|at| &*table.columns[at].name).collect();
            refuse_moves(&key, &new.kind)?;
        }
        let change = TableChange::AddConstraint(new.clone());
        self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))?;
        if table.partitioned.is_some() && matches!(new.kind, NewConstraintKind::Unique { .. }) {
            if only {
                return Ok(());
            }
            return self.frame.inside_now(|frame| Schema { frame }.key_of_partitions(name, &new, &known));
        }
        if !checked {
            return Ok(());
        }
        self.frame.inside_now(|frame| {
            let binder = Binder::new(frame.catalog, &frame.services.settings.time_zone, &[]);
            let table = binder.table(name)?;
            let added = table.constraints.iter().find(|one| !known.contains(&one.oid));
            added.map_or(Ok(()), |added| Schema { frame }.check_rows(&binder, &table, added))
        })
    }

    /// ADD CONSTRAINT … USING INDEX.
    fn add_constraint_of_index(
        &self,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        constraint: &ConstraintDefinition,
        index: &Name,
        primary: bool,
    ) -> Result<(), Failure> {
        let at = index.at.start.min(constraint.at);
        let refused = |code: &'static str, text: String| SqlError::new(code, text).at(at);
        if table.partitioned.is_some() {
            let text = "ALTER TABLE / ADD CONSTRAINT USING INDEX is not supported on partitioned tables";
            return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text).into());
        }
        let found = self.frame.catalog.relation(Some(&table.schema), &index.text);
        let Some(Relation::Index(found)) = found else {
            return Err(refused("42704", format!("index \"{}\" does not exist", index.text)).into());
        };
        if found.table != table.oid {
            let text = format!("index \"{}\" does not belong to table \"{}\"", found.name, table.name);
            return Err(refused("55000", text).into());
        }
        if found.constraint.is_some() {
            let text = format!("index \"{}\" is already associated with a constraint", found.name);
            return Err(refused("55000", text).into());
        }
        if !found.valid {
            return Err(refused("55000", format!("index \"{}\" is not valid", found.name)).into());
        }
        let is_plain = |part: &verso_catalog::IndexPart| !part.descending && !part.nulls_first;
        let flaw = if !found.unique {
            Some(format!("\"{}\" is not a unique index", found.name))
        } else if found.parts.iter().any(|part| ColumnDef::is_hidden_id(part.column)) {
            Some(format!("index \"{}\" contains expressions", found.name))
        } else if found.guard.is_some() {
            Some(format!("\"{}\" is a partial index", found.name))
        } else {
            found.parts.iter().position(|part| !is_plain(part)).map(|place| {
                format!(
                    "index \"{}\" column number {} does not have default sorting behavior",
                    found.name,
                    place + 1
                )
            })
        };
        if let Some(text) = flaw {
            let detail = "Cannot create a primary key or unique constraint using such an index.";
            return Err(refused("42809", text).with_detail(detail).into());
        }
        let names = found.parts.iter().filter_map(|part| table.column_with_id(part.column));
        let columns: Vec<Arc<str>> = names.map(|at| Arc::clone(&table.columns[at].name)).collect();
        if primary && !found.nulls_distinct {
            return Err(SqlError::new("42P16", "primary keys cannot use NULLS NOT DISTINCT indexes").into());
        }
        if let Some(given) = constraint.name.as_ref().filter(|given| *given.text != *found.name) {
            self.skip(format!(
                "ALTER TABLE / ADD CONSTRAINT USING INDEX will rename index \"{}\" to \"{}\"",
                found.name, given.text
            ));
        }
        if primary {
            self.refuse_nulls_there(table, &columns)?;
        }
        let new = NewConstraint {
            name: constraint.name.as_ref().map(text),
            kind: NewConstraintKind::Unique {
                columns,
                primary,
                nulls_distinct: found.nulls_distinct,
                without_overlaps: false,
                include: Vec::new(),
            },
            deferrable: constraint.deferrable,
            initially_deferred: constraint.initially_deferred,
            validated: true,
            enforced: true,
            part_of: None,
            no_inherit: false,
            options: TableOptions::default(),
        };
        let change = TableChange::ConstraintOfIndex { index: found.oid, new };
        self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))
    }

    /// Gives the partitions of a table a part of its new key, which is none of those known before; or takes the one that they
    /// have already for it.
    fn key_of_partitions(
        &self,
        name: &QualifiedName,
        new: &NewConstraint,
        known: &HashSet<Oid>,
    ) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let table = binder.table(name)?;
        let added = table.constraints.iter().find_map(|constraint| match constraint.kind {
            ConstraintKind::Unique { index, .. } if !known.contains(&constraint.oid) => table.index(index),
            _ => None,
        });
        let Some(index) = added else { return Ok(()) };
        for partition in table.partitioned.iter().flat_map(|partitioned| &partitioned.partitions) {
            if let Some(like) = like_index(partition, index, &table) {
                let catalog = &self.frame.services.instance.catalog;
                catalog.attach_index(&mut self.frame.txn.borrow_mut(), like, index.oid)?;
                continue;
            }
            let own = NewConstraint { name: None, part_of: Some(index.oid), ..new.clone() };
            let name = named(partition, name);
            self.frame.inside_now(|frame| Schema { frame }.key_of_partition(&name, &own, &table))?;
        }
        Ok(())
    }

    /// The same of one of them.
    pub(super) fn key_of_partition(
        &self,
        name: &QualifiedName,
        new: &NewConstraint,
        whole: &TableDef,
    ) -> Result<(), Failure> {
        let binder = Binder::new(self.frame.catalog, &self.frame.services.settings.time_zone, &[]);
        let table = binder.table(name)?;
        if let NewConstraintKind::Unique { columns, primary, .. } = &new.kind {
            if let Some(partitioned) = &table.partitioned {
                check_key(&table, partitioned, columns, *primary)?;
            }
            if *primary {
                self.refuse_nulls_there(&table, columns)?;
                for column in columns {
                    self.same_not_null(name, &table, whole, column)?;
                }
            }
            let apart = self.packed(&table, &columns.iter().map(|name| &**name).collect::<Vec<_>>())?;
            if !apart.is_empty() {
                self.rewrite(name, &TableChange::ForIndex { hidden: Vec::new(), apart }, |_| Ok(None))?;
            }
        }
        let known: HashSet<_> = table.constraints.iter().map(|known| known.oid).collect();
        let change = TableChange::AddConstraint(new.clone());
        self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))?;
        match table.partitioned {
            Some(_) => self.frame.inside_now(|frame| Schema { frame }.key_of_partitions(name, new, &known)),
            None => Ok(()),
        }
    }

    /// Makes a column of a partition NOT NULL by a constraint of the name that it has in the whole table.
    pub(super) fn same_not_null(
        &self,
        name: &QualifiedName,
        table: &TableDef,
        whole: &TableDef,
        column: &Arc<str>,
    ) -> Result<(), Failure> {
        let of = |table: &TableDef| {
            let id = table.columns[table.column(column)?].id;
            table.not_null_of(id).cloned()
        };
        let (None, Some(constraint)) = (of(table), of(whole)) else { return Ok(()) };
        let change = TableChange::AddConstraint(NewConstraint {
            name: Some(Arc::clone(&constraint.name)),
            kind: NewConstraintKind::NotNull { column: Arc::clone(column) },
            deferrable: false,
            initially_deferred: false,
            validated: constraint.validated,
            enforced: true,
            part_of: None,
            no_inherit: false,
            options: TableOptions::default(),
        });
        self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))
    }

    /// ALTER COLUMN TYPE.
    fn column_type(
        &self,
        binder: &Binder<'_>,
        name: &QualifiedName,
        table: &Arc<TableDef>,
        column: &Name,
        ty: &SqlType,
        using: Option<&Expr>,
    ) -> Result<(), Failure> {
        let at = table.column(&column.text);
        let change = || -> Result<TableChange, Failure> {
            let Retyped { hidden, texts } = match at {
                Some(at) => self.retyped(table, at, ty)?,
                None => Retyped::default(),
            };
            Ok(TableChange::ColumnType { column: text(column), ty: ty.clone(), hidden, texts })
        };
        if let Some(generated) = at.map(|at| &table.columns[at]).filter(|column| column.generated) {
            if let Some(using) = using {
                let text = "cannot specify USING when altering type of generated column";
                let detail = format!("Column \"{}\" is a generated column.", column.text);
                let code = "42611";
                return Err(SqlError::new(code, text).with_detail(detail).at(using.at.start).into());
            }
            let other = ColumnDef { ty: ty.erased(), ..generated.clone() };
            let value = binder.stored_generation(&other, table)?;
            if generated.is_virtual {
                let text = generated.default.as_deref().unwrap_or_default();
                binder.check_virtual(&column.text, ty, (&value, text))?;
            }
            let value = (!generated.is_virtual).then_some(value);
            return self.rewrite(name, &change()?, |_| Ok(value)).map(drop);
        }
        refuse_held(table, &self.holders(table, None)?)?;
        let using = using.map(|using| binder.conversion(using, table, ty)).transpose()?;
        let value = |old: &TableDef| {
            let at = at.unwrap_or_default();
            let own = || TypedExpr::column(at, old.columns[at].ty.clone());
            converted(using.clone().unwrap_or_else(own), column, ty, using.is_some()).map(Some)
        };
        // Of what is wrong that comes first.
        at.map_or(Ok(None), |_| value(table))?;
        self.rewrite(name, &change()?, value).map(drop)
    }

    /// The policies of a table that name a column, with its new name.
    fn renamed_policies(
        &self,
        table: &TableDef,
        column: &Name,
        to: &Name,
    ) -> Result<Vec<PolicyTexts>, SqlError> {
        let renamed = |text: &Option<Arc<str>>| {
            text.as_ref().map(|text| verso_parser::rename_column(text, &column.text, &to.text).into())
        };
        let mut all = Vec::new();
        for policy in self.frame.catalog.policies(table.oid) {
            let texts: PolicyTexts = (policy.oid, renamed(&policy.using), renamed(&policy.check));
            if texts.1 == policy.using && texts.2 == policy.check {
                continue;
            }
            // Whose column a name within a query is, its text alone does not say.
            let asks = |text: &Arc<str>| text.to_ascii_lowercase().contains("select");
            if policy.using.iter().chain(&policy.check).any(asks) {
                let what = format!(
                    "renaming column \"{}\", which policy \"{}\" names beside a query,",
                    column.text, policy.name
                );
                return Err(SqlError::unsupported(what));
            }
            all.push(texts);
        }
        Ok(all)
    }

    /// The texts of a table that name it, with its new name.
    fn texts_of_renamed(&self, table: &TableDef, to: &Name) -> RenamedTexts {
        let is_column = table.column(&table.name).is_some();
        let renamed = |text: &Arc<str>| -> Option<Arc<str>> {
            let changed = verso_parser::rename_table(text, &table.name, &to.text, is_column);
            (changed != **text).then(|| changed.into())
        };
        let check = |constraint: &Arc<ConstraintDef>| match &constraint.kind {
            ConstraintKind::Check { expression } => Some((constraint.oid, renamed(expression)?)),
            _ => None,
        };
        let generated = |column: &ColumnDef| {
            let text = column.default.as_ref().filter(|_| column.generated)?;
            Some((column.id, renamed(text)?))
        };
        let policies = self.frame.catalog.policies(table.oid);
        let policy = |policy: &Arc<PolicyDef>| {
            let (using, check) = (&policy.using, &policy.check);
            let new = |text: &Option<Arc<str>>| text.as_ref().and_then(renamed).or_else(|| text.clone());
            let texts = (policy.oid, new(using), new(check));
            (texts.1 != *using || texts.2 != *check).then_some(texts)
        };
        RenamedTexts {
            checks: table.constraints.iter().filter_map(check).collect(),
            // Those of triggers name the old row and the new one.
            triggers: Vec::new(),
            generated: table.columns.iter().filter_map(generated).collect(),
            policies: policies.iter().filter_map(policy).collect(),
            statistics: renamed_statistics(table, |text| renamed(text)),
        }
    }

    /// A change that leaves the rows as they are.
    pub(super) fn alter(&self, name: &QualifiedName, change: &TableChange) -> Result<(), Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let txn = &mut self.frame.txn.borrow_mut();
        Ok(catalog.alter_table(txn, Some(&self.home(name)), &name.name.text, change)?)
    }

    /// What SET STATISTICS says of a column; none for as many values as usual.
    pub(super) fn column_target(&self, target: Option<i64>) -> Result<Option<u16>, SqlError> {
        let target = target.filter(|target| *target != -1);
        if let Some(target) = target.filter(|target| *target < 0) {
            return Err(SqlError::new("22023", format!("statistics target {target} is too low")));
        }
        if target.is_some_and(|target| target > i64::from(STATISTICS_MAX)) {
            let text = format!("lowering statistics target to {STATISTICS_MAX}");
            self.frame.services.notices.warn("22023", &text);
        }
        let least = |target: i64| u16::try_from(target).unwrap_or(STATISTICS_MAX).min(STATISTICS_MAX);
        Ok(target.map(least))
    }

    /// Sets options of a column, of a table also that was made just now.
    pub(super) fn tell_column(
        &self,
        name: &QualifiedName,
        column: &str,
        options: ColumnWords,
    ) -> Result<(), Failure> {
        if options.is_empty() {
            return Ok(());
        }
        let change = TableChange::ColumnOptions { column: column.into(), options };
        self.frame.inside_now(|frame| Schema { frame }.alter(name, &change))
    }

    /// ALTER … RENAME TO of a table, a sequence or an index.
    pub(super) fn rename(
        &self,
        kind: DropKind,
        name: &QualifiedName,
        to: &Name,
        if_exists: bool,
    ) -> Result<CommandTag, Failure> {
        let (kind, word) = (kind_of(kind), altered(kind));
        let catalog = &self.frame.services.instance.catalog;
        let home = self.home(name);
        if if_exists && self.frame.catalog.relation(Some(&home), &name.name.text).is_none() {
            self.skip(format!("relation \"{}\" does not exist, skipping", name.name.text));
            return Ok(tag(word));
        }
        self.own_named(name)?;
        // ALTER INDEX gives other names to tables and views, too.
        if kind == ObjectKind::Index
            && let Some(relation) = self.frame.catalog.relation(Some(&home), &name.name.text)
            && !matches!(relation, Relation::Index(_))
        {
            let alter = AlterTable {
                name: name.clone(),
                if_exists,
                actions: vec![AlterAction::Rename(to.clone())],
                materialized: false,
                only: false,
            };
            return self.alter_table(&alter).map(|_| tag(word));
        }
        let txn = &mut self.frame.txn.borrow_mut();
        catalog.rename(txn, kind, Some(&home), &name.name.text, &text(to))?;
        Ok(tag(word))
    }
}

/// The tag of an ALTER.
pub(super) fn altered(kind: DropKind) -> &'static str {
    match kind {
        DropKind::Table => "ALTER TABLE",
        DropKind::Sequence => "ALTER SEQUENCE",
        DropKind::Index => "ALTER INDEX",
        DropKind::View => "ALTER VIEW",
        DropKind::MaterializedView => "ALTER MATERIALIZED VIEW",
    }
}

/// A policy's number, USING and WITH CHECK.
type PolicyTexts = (Oid, Option<Arc<str>>, Option<Arc<str>>);

/// A new name for a column, in the checks that use it too.
fn rename_column(table: &TableDef, column: &Name, to: &Name, policies: Vec<PolicyTexts>) -> TableChange {
    let checks = table.constraints.iter().filter_map(|constraint| match &constraint.kind {
        ConstraintKind::Check { expression } => {
            let renamed = verso_parser::rename_column(expression, &column.text, &to.text);
            Some((constraint.oid, renamed.into()))
        }
        ConstraintKind::Unique { .. }
        | ConstraintKind::Exclude { .. }
        | ConstraintKind::Foreign(_)
        | ConstraintKind::NotNull { .. } => None,
    });
    let triggers = table.triggers.iter().filter_map(|trigger| {
        let condition = trigger.condition.as_deref()?;
        Some((trigger.oid, verso_parser::rename_column(condition, &column.text, &to.text).into()))
    });
    let generated = table.generated_from(&column.text).filter_map(|other| {
        let renamed = verso_parser::rename_column(other.default.as_deref()?, &column.text, &to.text);
        Some((other.id, renamed.into()))
    });
    let other = |text: &Arc<str>| Some(verso_parser::rename_column(text, &column.text, &to.text).into());
    let texts = RenamedTexts {
        generated: generated.collect(),
        checks: checks.collect(),
        triggers: triggers.collect(),
        policies,
        statistics: renamed_statistics(table, other),
    };
    TableChange::RenameColumn { column: text(column), to: text(to), texts }
}

/// The expressions of statistics that are others with a new name.
fn renamed_statistics(
    table: &TableDef,
    renamed: impl Fn(&Arc<str>) -> Option<Arc<str>>,
) -> Vec<(Oid, Vec<Arc<str>>)> {
    let all = |one: &Arc<StatisticsDef>| {
        let texts = one.expressions.iter().map(|text| renamed(text).unwrap_or_else(|| Arc::clone(text)));
        let texts: Vec<Arc<str>> = texts.collect();
        (texts != one.expressions).then_some((one.oid, texts))
    };
    table.extended.iter().filter_map(all).collect()
}

/// A value brought to the new type of its column, where an assignment would do so.
fn converted(value: TypedExpr, column: &Name, ty: &SqlType, using: bool) -> Result<TypedExpr, SqlError> {
    let kind = CastKind::Assignment;
    let fits = verso_types::cast_kind(&value.ty, ty).is_some_and(|weakest| weakest <= kind);
    if fits || value.ty == *ty {
        let cast = ExprKind::Cast { arg: Box::new(value), kind };
        return Ok(TypedExpr::new(cast, ty.erased()));
    }
    let (column, shown) = (&column.text, ty.without_modifiers().pg_name());
    let (text, hint) = if using {
        let text = format!(
            "result of USING clause for column \"{column}\" cannot be cast automatically to type {shown}"
        );
        (text, "You might need to add an explicit cast.".to_string())
    } else {
        let text = format!("column \"{column}\" cannot be cast automatically to type {shown}");
        (text, format!("You might need to specify \"USING {column}::{shown}\"."))
    };
    Err(SqlError::new(sqlstate::DATATYPE_MISMATCH, text).with_hint(hint))
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

/// What binds an expression of a table's generated column, which may ask for the table's number. Rows of partitions would be given
/// that of the whole.
fn of_table<'b>(binder: Binder<'b>, table: &TableDef, text: &str) -> Result<Binder<'b>, SqlError> {
    if table.partitioned.is_some() && verso_parser::names(text, "tableoid") {
        return Err(SqlError::unsupported(
            "ALTER TABLE of a partitioned table's column that is made of tableoid",
        ));
    }
    Ok(binder.of_table(table.oid))
}
