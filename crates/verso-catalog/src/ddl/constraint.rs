//! Constraints of new and of existing tables, and the indexes behind them.
//!
//! K1. A unique constraint and its index have one name and go away together.
//! K2. A foreign key names the unique index that it relies on; neither that index nor its table is dropped without it.
//! K4. Each column that is NOT NULL has a constraint of that kind, made with the table, the key or the column; a table of an
//!     older file gets those that are missing with its next change.
//! K3. Rows that were there before are the caller's to check, but for uniqueness, which building the index checks.

use std::sync::Arc;

use verso_storage::{ObjectId, TableLockMode, Txn};
use verso_types::{CastKind, SqlType, cast_kind};

use super::index::index_parts;
use super::names::Names;
use crate::catalog::Catalog;
use crate::definition::{
    ColumnDef, ConstraintDef, ConstraintKind, ForeignKey, IndexDef, IndexPart, Oid, ReferentialAction,
    SchemaDef, TableDef,
};
use crate::error::{CatalogError, ObjectKind};
use crate::key_class::KeyClass;
use crate::request::{NewConstraint, NewConstraintKind};
use crate::snapshot::CatalogSnapshot;
use crate::system::assemble::{class_row, constraint_row, index_row};
use crate::system::field::Letter;
use crate::system::row::{AttributeRow, ClassRow, ConstraintRow, IndexRow, InheritsRow};
use crate::system::{KIND_INDEX, UNLOGGED};

/// A table that gets constraints or indexes: a new one, or one of the snapshot.
pub(super) struct Target {
    pub oid: Oid,
    pub schema: Arc<SchemaDef>,
    pub name: Arc<str>,
    pub heap: ObjectId,
    pub unlogged: bool,
    pub columns: Vec<ColumnDef>,
    pub indexes: Vec<Arc<IndexDef>>,
    pub constraints: Vec<Arc<ConstraintDef>>,
}

impl Target {
    pub fn of(table: &TableDef, schema: Arc<SchemaDef>) -> Target {
        Target {
            oid: table.oid,
            schema,
            name: Arc::clone(&table.name),
            heap: table.heap,
            unlogged: table.unlogged,
            columns: table.columns.clone(),
            indexes: table.indexes.clone(),
            constraints: table.constraints.clone(),
        }
    }

    /// The constraint that says that a column is NOT NULL.
    fn not_null(&self, column: u16) -> Option<&Arc<ConstraintDef>> {
        let is_it = |known: &&Arc<ConstraintDef>| known.kind == ConstraintKind::NotNull { column };
        self.constraints.iter().find(is_it)
    }

    /// The numbers of columns; `missing` says what to call one that is not there.
    fn ids(&self, names: &[Arc<str>], missing: impl Fn(&str) -> String) -> Result<Vec<u16>, CatalogError> {
        names.iter().map(|name| Ok(find_column(&self.columns, name, &missing)?.id)).collect()
    }
}

fn find_column<'c>(
    columns: &'c [ColumnDef],
    name: &str,
    missing: impl Fn(&str) -> String,
) -> Result<&'c ColumnDef, CatalogError> {
    let found = columns.iter().find(|column| *column.name == *name);
    found.ok_or_else(|| CatalogError::invalid("42703", missing(name)))
}

impl Catalog {
    /// Adds constraints in PostgreSQL's order: checks, keys, foreign keys. The change has begun.
    pub(super) fn add_constraints(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        names: &mut Names,
        target: &mut Target,
        new: &[NewConstraint],
    ) -> Result<(), CatalogError> {
        for constraint in new {
            if let Some(name) = &constraint.name {
                let exists = target.constraints.iter().any(|known| known.name == *name);
                let given = new.iter().filter(|other| other.name.as_ref() == Some(name)).count();
                if exists || given > 1 {
                    let text =
                        format!("constraint \"{name}\" for relation \"{}\" already exists", target.name);
                    return Err(CatalogError::invalid("42710", text));
                }
                names.take_constraint(name);
            }
        }
        let rank = |constraint: &&NewConstraint| match constraint.kind {
            NewConstraintKind::Check { .. } => 0,
            NewConstraintKind::NotNull { .. } => 1,
            NewConstraintKind::Unique { primary, .. } => 3 - u8::from(primary),
            NewConstraintKind::Foreign { .. } => 4,
        };
        let mut ordered: Vec<&NewConstraint> = new.iter().collect();
        ordered.sort_by_key(rank);
        ordered.into_iter().try_for_each(|one| self.add_constraint(txn, snapshot, names, target, one))?;
        self.complete_not_null(txn, names, target)
    }

    /// Gives the columns that are NOT NULL without a constraint one (K4).
    pub(super) fn complete_not_null(
        &self,
        txn: &mut Txn,
        names: &mut Names,
        target: &mut Target,
    ) -> Result<(), CatalogError> {
        let missing: Vec<(u16, Arc<str>)> = target
            .columns
            .iter()
            .filter(|column| column.not_null && !column.is_hidden() && target.not_null(column.id).is_none())
            .map(|column| (column.id, Arc::clone(&column.name)))
            .collect();
        for (id, column) in missing {
            let name = names.constraint(&target.name, &[&column], "not_null").into();
            self.insert_not_null(txn, target, id, (name, true))?;
        }
        Ok(())
    }

    fn insert_not_null(
        &self,
        txn: &mut Txn,
        target: &mut Target,
        column: u16,
        (name, validated): (Arc<str>, bool),
    ) -> Result<(), CatalogError> {
        let plain = NewConstraint {
            name: None,
            kind: NewConstraintKind::NotNull { column: "".into() },
            deferrable: false,
            initially_deferred: false,
            validated,
            enforced: true,
            part_of: None,
        };
        let oid = self.new_oid()?;
        self.insert_constraint(txn, target, &plain, oid, name, ConstraintKind::NotNull { column })
    }

    /// `[CONSTRAINT name] NOT NULL column`; its rows are checked.
    fn add_not_null(
        &self,
        txn: &mut Txn,
        names: &mut Names,
        target: &mut Target,
        new: &NewConstraint,
        column: &Arc<str>,
    ) -> Result<(), CatalogError> {
        if new.deferrable {
            let text = "not-null constraints cannot be marked DEFERRABLE";
            return Err(CatalogError::invalid("0A000", text));
        }
        let missing =
            |name: &str| format!("column \"{name}\" of relation \"{}\" does not exist", target.name);
        let id = find_column(&target.columns, column, missing)?.id;
        if let Some(known) = target.not_null(id) {
            return match &new.name {
                Some(name) if known.name != *name && (known.validated || !new.validated) => {
                    let text = format!(
                        "cannot create not-null constraint \"{name}\" on column \"{column}\" of table \"{}\"",
                        target.name
                    );
                    let detail = format!(
                        "A not-null constraint named \"{}\" already exists for this column.",
                        known.name
                    );
                    Err(CatalogError::InvalidDefinition {
                        sqlstate: "55000",
                        message: text,
                        detail: Some(detail),
                    })
                }
                _ if new.validated && !known.validated => {
                    let text = format!(
                        "incompatible NOT VALID constraint \"{}\" on relation \"{}\"",
                        known.name, target.name
                    );
                    Err(CatalogError::InvalidDefinition { sqlstate: "55000", message: text, detail: None })
                }
                _ => Ok(()),
            };
        }
        self.require_values(txn, target, &[id])?;
        let name = match &new.name {
            Some(name) => Arc::clone(name),
            None => names.constraint(&target.name, &[column], "not_null").into(),
        };
        self.insert_not_null(txn, target, id, (name, new.validated))
    }

    /// Makes columns NOT NULL.
    fn require_values(&self, txn: &mut Txn, target: &mut Target, ids: &[u16]) -> Result<(), CatalogError> {
        self.update_rows(
            txn,
            target.oid,
            |row: &AttributeRow| {
                row.attrelid == target.oid
                    && !row.attnotnull
                    && ids.iter().any(|id| i32::from(*id) == i32::from(row.attnum))
            },
            |row| row.attnotnull = true,
        )?;
        for column in &mut target.columns {
            column.not_null |= ids.contains(&column.id);
        }
        Ok(())
    }

    /// Removes the constraint that says that a column is NOT NULL.
    pub(super) fn remove_not_null(&self, txn: &mut Txn, table: Oid, column: u16) -> Result<(), CatalogError> {
        let number = i32::from(column);
        let is_it = |row: &ConstraintRow| {
            row.conrelid == table
                && row.contype.0 == 'n'
                && row.conkey.as_deref().is_some_and(|key| key.iter().any(|own| i32::from(*own) == number))
        };
        self.delete_rows(txn, table, is_it).map(drop)
    }

    fn add_constraint(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        names: &mut Names,
        target: &mut Target,
        new: &NewConstraint,
    ) -> Result<(), CatalogError> {
        let (name, kind): (Arc<str>, ConstraintKind) = match &new.kind {
            NewConstraintKind::Check { expression, columns } => {
                let only: Vec<&str> =
                    if columns.len() == 1 { columns.iter().map(|c| &**c).collect() } else { Vec::new() };
                let name =
                    new.name.clone().unwrap_or_else(|| names.constraint(&target.name, &only, "check").into());
                (name, ConstraintKind::Check { expression: Arc::clone(expression) })
            }
            NewConstraintKind::NotNull { column } => {
                return self.add_not_null(txn, names, target, new, column);
            }
            NewConstraintKind::Unique { columns, primary, nulls_distinct } => {
                return self.add_unique(txn, names, target, new, columns, *primary, *nulls_distinct);
            }
            NewConstraintKind::Foreign { columns, .. } => {
                let key = foreign_key(snapshot, target, &new.kind)?;
                if let Some(parent) =
                    snapshot.table_by_oid(key.referenced).filter(|parent| parent.oid != target.oid)
                {
                    // Its rows and its key stay, so that every row is checked on one of the two sides.
                    self.lock_definition(txn, &parent, snapshot, TableLockMode::ShareRowExclusive)?;
                }
                let columns: Vec<&str> = columns.iter().map(|column| &**column).collect();
                let name = new
                    .name
                    .clone()
                    .unwrap_or_else(|| names.constraint(&target.name, &columns, "fkey").into());
                check_types(snapshot, target, &name, &key)?;
                (name, ConstraintKind::Foreign(key))
            }
        };
        let oid = self.new_oid()?;
        self.insert_constraint(txn, target, new, oid, name, kind)
    }

    fn insert_constraint(
        &self,
        txn: &mut Txn,
        target: &mut Target,
        new: &NewConstraint,
        oid: Oid,
        name: Arc<str>,
        kind: ConstraintKind,
    ) -> Result<(), CatalogError> {
        let constraint = ConstraintDef {
            oid,
            name,
            table: target.oid,
            kind,
            deferrable: new.deferrable,
            initially_deferred: new.initially_deferred,
            validated: new.validated && new.enforced,
            enforced: new.enforced,
        };
        self.insert_rows(txn, &[constraint_row(&constraint, target.schema.oid)])?;
        target.constraints.push(Arc::new(constraint));
        Ok(())
    }

    /// UNIQUE or PRIMARY KEY: the index, and for a primary key NOT NULL.
    #[expect(clippy::too_many_arguments, reason = "the parts of the one clause it takes apart")]
    fn add_unique(
        &self,
        txn: &mut Txn,
        names: &mut Names,
        target: &mut Target,
        new: &NewConstraint,
        columns: &[Arc<str>],
        primary: bool,
        nulls_distinct: bool,
    ) -> Result<(), CatalogError> {
        let is_primary =
            |known: &Arc<ConstraintDef>| matches!(known.kind, ConstraintKind::Unique { primary: true, .. });
        if primary && target.constraints.iter().any(is_primary) {
            let text = format!("multiple primary keys for table \"{}\" are not allowed", target.name);
            return Err(CatalogError::invalid("42P16", text));
        }
        let ids = target.ids(columns, |name| format!("column \"{name}\" named in key does not exist"))?;
        for (n, id) in ids.iter().enumerate() {
            if ids[..n].contains(id) {
                let kind = if primary { "primary key" } else { "unique" };
                let text = format!("column \"{}\" appears twice in {kind} constraint", columns[n]);
                return Err(CatalogError::invalid("42701", text));
            }
        }
        let parts: Vec<&str> = columns.iter().map(|column| &**column).collect();
        let name: Arc<str> = match &new.name {
            Some(name) => {
                if !names.take_relation(name) || !self.take_name(txn, &target.schema.name, name)? {
                    return Err(CatalogError::exists(ObjectKind::Relation, &**name));
                }
                Arc::clone(name)
            }
            None => {
                let its = if primary { (&[][..], "pkey", true) } else { (&parts[..], "key", true) };
                self.index_name(txn, names, &target.schema, &target.name, its)?
            }
        };
        if primary {
            for (id, column) in ids.iter().zip(columns) {
                let Some(known) = target.not_null(*id).filter(|known| !known.validated) else { continue };
                return Err(CatalogError::InvalidDefinition {
                    sqlstate: "55000",
                    message: format!("cannot create primary key on column \"{column}\""),
                    detail: Some(format!(
                        "The constraint \"{}\" on column \"{column}\" of table \"{}\", marked NOT VALID, is \
                         incompatible with a primary key.",
                        known.name, target.name
                    )),
                });
            }
            self.require_values(txn, target, &ids)?;
        }
        let constraint = self.new_oid()?;
        let key = |id: &u16| {
            let column = target.columns.iter().find(|column| column.id == *id);
            // Which texts are equal is what the constraint asks: where that is their bytes, so are the keys, and no version of
            // the data matters to them.
            let collation = column.and_then(|column| column.declared().collation());
            let collation = collation.filter(|collation| !collation.is_deterministic());
            IndexPart {
                column: *id,
                descending: false,
                nulls_first: false,
                class: KeyClass::Ordered,
                collation,
            }
        };
        let definition = IndexDef {
            oid: self.new_oid()?,
            schema: Arc::clone(&target.schema.name),
            name: Arc::clone(&name),
            table: target.oid,
            object: ObjectId(0),
            valid: true,
            outdated: false,
            parts: ids.iter().map(key).collect(),
            include: Vec::new(),
            guard: None,
            unique: true,
            primary,
            nulls_distinct,
            constraint: Some(constraint),
            deferrable: new.deferrable,
            initially_deferred: new.initially_deferred,
            part_of: new.part_of,
        };
        let index = self.insert_index(txn, target, definition)?;
        let kind = ConstraintKind::Unique { columns: ids, index, primary };
        self.insert_constraint(txn, target, new, constraint, name, kind)
    }

    /// Writes the rows of an index, which is built unless it has an object.
    pub(super) fn insert_index(
        &self,
        txn: &mut Txn,
        target: &mut Target,
        mut definition: IndexDef,
    ) -> Result<Oid, CatalogError> {
        if definition.object == ObjectId(0) && txn.job_limits().later {
            definition.valid = false;
        } else if definition.object == ObjectId(0) {
            definition.object = self.build_index(txn, target.heap, &target.columns, &definition)?;
        }
        let class = class_row(
            definition.oid,
            &definition.name,
            target.schema.oid,
            definition.object,
            KIND_INDEX,
            definition.parts.len() + definition.include.len(),
        );
        let relpersistence =
            if target.unlogged { Letter(UNLOGGED) } else { super::persistence(&target.schema) };
        let class = ClassRow { relpersistence, ..class };
        self.insert_rows(txn, &[class])?;
        self.insert_rows(txn, &[index_row(&definition)])?;
        self.write_index_collations(txn, &definition)?;
        if let Some(whole) = definition.part_of {
            self.insert_index_part(txn, definition.oid, whole)?;
        }
        let oid = definition.oid;
        target.indexes.push(Arc::new(definition));
        Ok(oid)
    }

    /// Removes an index's rows and its pages.
    pub(super) fn remove_index(&self, txn: &mut Txn, index: &IndexDef) -> Result<(), CatalogError> {
        self.delete_rows(txn, index.oid, |row: &ClassRow| row.oid == index.oid)?;
        self.removes(txn, index.oid)?;
        self.delete_rows(txn, index.oid, |row: &IndexRow| row.indexrelid == index.oid)?;
        self.delete_rows(txn, index.oid, |row: &InheritsRow| row.inhrelid == index.oid)?;
        self.remove_collated(txn, index.oid)?;
        if index.valid {
            self.engine.drop_object(txn, index.object)?;
        }
        Ok(())
    }

    /// Removes a constraint and its index; the foreign keys that rely on it are the caller's business.
    pub(super) fn remove_constraint(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        constraint: &ConstraintDef,
    ) -> Result<(), CatalogError> {
        self.delete_rows(txn, table.oid, |row: &ConstraintRow| row.oid == constraint.oid)?;
        if let ConstraintKind::Unique { index, .. } = &constraint.kind
            && let Some(index) = table.index(*index)
        {
            self.remove_index(txn, index)?;
            for (part, partition) in index_parts(table, index.oid) {
                self.remove_index(txn, &part)?;
                let oid = part.constraint;
                self.delete_rows(txn, partition.oid, |row: &ConstraintRow| Some(row.oid) == oid)?;
            }
        }
        Ok(())
    }

    /// Removes foreign keys, or with them in the way refuses to drop `what`.
    /// Removes a foreign key; the change has begun.
    pub(super) fn remove_foreign_key(
        &self,
        txn: &mut Txn,
        constraint: &ConstraintDef,
    ) -> Result<(), CatalogError> {
        self.delete_rows(txn, constraint.table, |row: &ConstraintRow| row.oid == constraint.oid).map(drop)
    }

    pub(super) fn release_references(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        what: String,
        references: &[Arc<ConstraintDef>],
        cascade: bool,
    ) -> Result<(), CatalogError> {
        let table_name = |constraint: &ConstraintDef| {
            snapshot
                .table_by_oid(constraint.table)
                .map_or_else(|| "?".into(), |table| Arc::clone(&table.name))
        };
        if !cascade {
            let line = |constraint: &Arc<ConstraintDef>| {
                format!(
                    "constraint {} on table {} depends on {what}",
                    constraint.name,
                    table_name(constraint)
                )
            };
            return super::refuse_if_needed(what.clone(), references.iter().map(line).collect());
        }
        for constraint in references {
            self.delete_rows(txn, constraint.table, |row: &ConstraintRow| row.oid == constraint.oid)?;
        }
        Ok(())
    }
}

/// The foreign keys that rely on an index.
pub(super) fn relying_on(table: &TableDef, index: Oid) -> Vec<Arc<ConstraintDef>> {
    let relies = |constraint: &&Arc<ConstraintDef>| matches!(&constraint.kind, ConstraintKind::Foreign(key) if key.index == index);
    table.referenced_by.iter().filter(relies).cloned().collect()
}

/// A foreign key with its columns and the unique index found.
fn foreign_key(
    snapshot: &CatalogSnapshot,
    target: &Target,
    kind: &NewConstraintKind,
) -> Result<ForeignKey, CatalogError> {
    let NewConstraintKind::Foreign {
        columns,
        schema,
        table,
        referenced,
        match_full,
        on_delete,
        on_update,
        delete_columns,
    } = kind
    else {
        return Err(CatalogError::Corrupt { what: "no foreign key".to_string() });
    };
    let missing =
        |name: &str| format!("column \"{name}\" referenced in foreign key constraint does not exist");
    let ids = target.ids(columns, missing)?;
    let own = *table == target.name && schema.as_ref().is_none_or(|schema| *schema == target.schema.name);
    let found;
    let (oid, names, indexes): (Oid, &[ColumnDef], &[Arc<IndexDef>]) = if own {
        (target.oid, &target.columns, &target.indexes)
    } else {
        found = snapshot
            .table(schema.as_deref(), table)
            .ok_or_else(|| CatalogError::missing(ObjectKind::Relation, &**table))?;
        if found.is_system() {
            return Err(CatalogError::SystemObject { name: table.to_string() });
        }
        if found.unlogged && !target.unlogged {
            let text = "constraints on permanent tables may reference only permanent tables";
            return Err(CatalogError::invalid("42P16", text));
        }
        if found.partitioned.is_some() {
            let text = "FOREIGN KEY that references a partitioned table is not implemented";
            return Err(CatalogError::invalid("0A000", text));
        }
        if found.materialized.is_some() {
            let text = format!("referenced relation \"{table}\" is not a table");
            return Err(CatalogError::invalid("42809", text));
        }
        (found.oid, &found.columns, &found.indexes)
    };
    let (referenced_columns, index) = if referenced.is_empty() {
        let primary = indexes.iter().find(|index| index.primary).ok_or_else(|| {
            CatalogError::invalid(
                "42704",
                format!("there is no primary key for referenced table \"{table}\""),
            )
        })?;
        (primary.parts.iter().map(|part| part.column).collect::<Vec<_>>(), Arc::clone(primary))
    } else {
        let wanted: Vec<u16> = referenced
            .iter()
            .map(|name| Ok(find_column(names, name, missing)?.id))
            .collect::<Result<_, CatalogError>>()?;
        let fits = |index: &&Arc<IndexDef>| {
            index.unique
                && index.guard.is_none()
                && index.parts.len() == wanted.len()
                && index.parts.iter().all(|part| wanted.contains(&part.column))
        };
        let index = indexes.iter().find(fits).ok_or_else(|| {
            let text =
                format!("there is no unique constraint matching given keys for referenced table \"{table}\"");
            CatalogError::invalid("42830", text)
        })?;
        (wanted, Arc::clone(index))
    };
    if referenced_columns.len() != ids.len() {
        let text = "number of referencing and referenced columns for foreign key disagree";
        return Err(CatalogError::invalid("42830", text));
    }
    if index.deferrable {
        let text = format!("cannot use a deferrable unique constraint for referenced table \"{table}\"");
        return Err(CatalogError::invalid("55000", text));
    }
    let told_by_bytes = |column: &ColumnDef| {
        column.declared().collation().is_none_or(|collation| collation.is_deterministic())
    };
    let by_bytes = target.columns.iter().filter(|column| ids.contains(&column.id)).all(told_by_bytes)
        && names.iter().filter(|column| referenced_columns.contains(&column.id)).all(told_by_bytes);
    if !by_bytes {
        let text = "foreign keys over columns with nondeterministic collations are not supported";
        return Err(CatalogError::invalid("0A000", text));
    }
    let delete_columns = target.ids(delete_columns, missing)?;
    if target.columns.iter().any(|column| column.generated && ids.contains(&column.id)) {
        let sets = |action: &ReferentialAction| {
            matches!(action, ReferentialAction::SetNull | ReferentialAction::SetDefault)
        };
        let update = sets(on_update) || *on_update == ReferentialAction::Cascade;
        if update || sets(on_delete) {
            let what = if update { "UPDATE" } else { "DELETE" };
            let text =
                format!("invalid ON {what} action for foreign key constraint containing generated column");
            return Err(CatalogError::invalid("42601", text));
        }
    }
    if let Some(other) = delete_columns.iter().position(|id| !ids.contains(id)) {
        let name = target.columns.iter().find(|column| column.id == delete_columns[other]);
        let text = format!(
            "column \"{}\" referenced in ON DELETE SET action must be part of foreign key",
            name.map_or("", |column| &column.name)
        );
        return Err(CatalogError::invalid("42P10", text));
    }
    if !delete_columns.is_empty()
        && !matches!(on_delete, ReferentialAction::SetNull | ReferentialAction::SetDefault)
    {
        return Err(CatalogError::invalid(
            "42601",
            "a column list is only for ON DELETE SET NULL or SET DEFAULT",
        ));
    }
    Ok(ForeignKey {
        columns: ids,
        referenced: oid,
        referenced_columns,
        index: index.oid,
        match_full: *match_full,
        on_delete: *on_delete,
        on_update: *on_update,
        delete_columns,
    })
}

/// Both sides of each column pair must be comparable.
fn check_types(
    snapshot: &CatalogSnapshot,
    target: &Target,
    name: &str,
    key: &ForeignKey,
) -> Result<(), CatalogError> {
    let table = snapshot.table_by_oid(key.referenced);
    let columns = match &table {
        Some(table) if key.referenced != target.oid => &table.columns,
        _ => &target.columns,
    };
    for (own, other) in key.columns.iter().zip(&key.referenced_columns) {
        let own = target.columns.iter().find(|column| column.id == *own);
        let other = columns.iter().find(|column| column.id == *other);
        let (Some(own), Some(other)) = (own, other) else { continue };
        if !is_comparable(&own.ty, &other.ty) {
            return Err(CatalogError::InvalidDefinition {
                sqlstate: "42804",
                message: format!("foreign key constraint \"{name}\" cannot be implemented"),
                detail: Some(format!(
                    "Key columns \"{}\" of the referencing table and \"{}\" of the referenced table are of \
                     incompatible types: {} and {}.",
                    own.name,
                    other.name,
                    own.ty.without_modifiers().pg_name(),
                    other.ty.without_modifiers().pg_name()
                )),
            });
        }
    }
    Ok(())
}

/// Whether a referencing value can be looked for among referenced ones: PostgreSQL has an equality of the two types in the
/// order of the referenced one, or turns the referencing value into it unasked.
fn is_comparable(own: &SqlType, referenced: &SqlType) -> bool {
    use SqlType::{Date, Float4, Float8, Timestamp, Timestamptz};
    let is_in = |family: &[SqlType], ty: &SqlType| family.iter().any(|known| known.same_base(ty));
    let among = |family: &[SqlType]| is_in(family, own) && is_in(family, referenced);
    cast_kind(own, referenced) == Some(CastKind::Implicit)
        || (own.is_integer() && referenced.is_integer())
        || among(&[Float4, Float8])
        || among(&[Date, Timestamp(None), Timestamptz(None)])
        || (*own == SqlType::Name && matches!(referenced, SqlType::Varchar(_)))
}
