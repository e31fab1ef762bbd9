//! Constraints of new and of existing tables, and the indexes behind them.
//!
//! K1. A unique constraint and its index have one name and go away together.
//! K2. A foreign key names the unique index that it relies on; neither that index nor its table is dropped without it.
//! K4. Each column that is NOT NULL has a constraint of that kind, made with the table, the key or the column; a table of an
//!     older file gets those that are missing with its next change.
//! K3. Rows that were there before are the caller's to check, but for uniqueness, which building the index checks.

use std::sync::Arc;

use verso_storage::{ObjectId, TableLockMode, Txn};
use verso_types::{Exclusion, SqlType};

use super::claim::Taking;
use super::foreign_key::{check_types, foreign_key};
use super::index::{MAX_KEY_COLUMNS, index_parts, key_collation, refuse_unlike_bytes};
use super::names::Names;
use crate::TableOptions;
use crate::catalog::Catalog;
use crate::definition::{
    ColumnDef, ConstraintDef, ConstraintKind, Excluding, IndexDef, IndexPart, Oid, SchemaDef, TableDef,
};
use crate::error::{CatalogError, ObjectKind};
use crate::key_class::KeyClass;
use crate::request::{NewConstraint, NewConstraintKind};
use crate::snapshot::CatalogSnapshot;
use crate::system::assemble::{class_row, constraint_row, index_row, options_row};
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
    /// The names of constraints that triggers keep.
    pub of_triggers: Vec<Arc<str>>,
}

impl Target {
    /// Whether a constraint has that name.
    fn has(&self, name: &str) -> bool {
        self.constraints.iter().any(|known| *known.name == *name)
            || self.of_triggers.iter().any(|known| **known == *name)
    }

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
            of_triggers: table.triggers.iter().filter_map(|own| own.own_constraint().cloned()).collect(),
        }
    }

    /// The constraint that says that a column is NOT NULL.
    fn not_null(&self, column: u16) -> Option<&Arc<ConstraintDef>> {
        let is_it = |known: &&Arc<ConstraintDef>| known.kind == ConstraintKind::NotNull { column };
        self.constraints.iter().find(is_it)
    }

    /// The numbers of columns; `missing` says what to call one that is not there.
    pub fn ids(
        &self,
        names: &[Arc<str>],
        missing: impl Fn(&str) -> String,
    ) -> Result<Vec<u16>, CatalogError> {
        names.iter().map(|name| Ok(find_column(&self.columns, name, &missing)?.id)).collect()
    }
}

/// Refuses virtual columns for what needs values that are stored.
pub(super) fn refuse_virtual_among(
    columns: &[ColumnDef],
    ids: &[u16],
    what: &str,
) -> Result<(), CatalogError> {
    match columns.iter().any(|column| column.is_virtual && ids.contains(&column.id)) {
        true => {
            let text = format!("{what} on virtual generated columns are not supported");
            Err(CatalogError::invalid("0A000", text))
        }
        false => Ok(()),
    }
}

pub(super) fn find_column<'c>(
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
                let given = new.iter().filter(|other| other.name.as_ref() == Some(name)).count();
                if target.has(name) || given > 1 {
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
            NewConstraintKind::Exclude { .. } => 4,
            NewConstraintKind::Foreign { .. } => 5,
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
            self.insert_not_null(txn, target, id, (name, true, false))?;
        }
        Ok(())
    }

    fn insert_not_null(
        &self,
        txn: &mut Txn,
        target: &mut Target,
        column: u16,
        (name, validated, no_inherit): (Arc<str>, bool, bool),
    ) -> Result<(), CatalogError> {
        let plain = NewConstraint {
            name: None,
            kind: NewConstraintKind::NotNull { column: "".into() },
            deferrable: false,
            initially_deferred: false,
            validated,
            enforced: true,
            part_of: None,
            no_inherit,
            options: TableOptions::default(),
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
                        hint: None,
                    })
                }
                _ if new.validated && !known.validated => {
                    let text = format!(
                        "incompatible NOT VALID constraint \"{}\" on relation \"{}\"",
                        known.name, target.name
                    );
                    Err(CatalogError::InvalidDefinition {
                        sqlstate: "55000",
                        message: text,
                        detail: None,
                        hint: None,
                    })
                }
                _ => Ok(()),
            };
        }
        self.require_values(txn, target, &[id])?;
        let name = match &new.name {
            Some(name) => Arc::clone(name),
            None => names.constraint(&target.name, &[column], "not_null").into(),
        };
        self.insert_not_null(txn, target, id, (name, new.validated, new.no_inherit))
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
        self.remove_objects(txn, table, is_it).map(drop)
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
            NewConstraintKind::Unique { .. } => return self.add_unique(txn, names, target, new),
            NewConstraintKind::Exclude { .. } => return self.add_exclusion(txn, names, target, new),
            NewConstraintKind::Foreign { columns, .. } => {
                let key = foreign_key(snapshot, target, &new.kind)?;
                let parent = snapshot.table_by_oid(key.referenced).filter(|parent| parent.oid != target.oid);
                for parent in parent.iter().flat_map(TableDef::with_partitions) {
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
            part_of: new.part_of.filter(|_| matches!(new.kind, NewConstraintKind::Foreign { .. })),
            no_inherit: new.no_inherit,
        };
        self.insert_rows(txn, &[constraint_row(&constraint, target.schema.oid)])?;
        target.constraints.push(Arc::new(constraint));
        Ok(())
    }

    /// UNIQUE or PRIMARY KEY: the index, and for a primary key NOT NULL.
    fn add_unique(
        &self,
        txn: &mut Txn,
        names: &mut Names,
        target: &mut Target,
        new: &NewConstraint,
    ) -> Result<(), CatalogError> {
        let NewConstraintKind::Unique { columns, primary, nulls_distinct, without_overlaps, include } =
            &new.kind
        else {
            return Ok(());
        };
        let (primary, nulls_distinct, without_overlaps) = (*primary, *nulls_distinct, *without_overlaps);
        if primary {
            refuse_second_primary(target)?;
        }
        if columns.len() + include.len() > MAX_KEY_COLUMNS {
            let text = format!("cannot use more than {MAX_KEY_COLUMNS} columns in an index");
            return Err(CatalogError::invalid("54011", text));
        }
        let ids = target.ids(columns, |name| format!("column \"{name}\" named in key does not exist"))?;
        for (n, id) in ids.iter().enumerate() {
            if ids[..n].contains(id) {
                let kind = if primary { "primary key" } else { "unique" };
                let text = format!("column \"{}\" appears twice in {kind} constraint", columns[n]);
                return Err(CatalogError::invalid("42701", text));
            }
        }
        refuse_unlike_bytes(&target.columns, &ids)?;
        let period = ids.last().filter(|_| without_overlaps);
        if period.is_some() && ids.len() < 2 {
            let text = "constraint using WITHOUT OVERLAPS needs at least two columns";
            return Err(CatalogError::invalid("42601", text));
        }
        let is_range = |column: &&ColumnDef| matches!(column.ty, SqlType::Range(_) | SqlType::Multirange(_));
        if let Some(column) = period.and_then(|id| target.columns.iter().find(|column| column.id == *id))
            && !is_range(&column)
        {
            let text =
                format!("column \"{}\" in WITHOUT OVERLAPS is not a range or multirange type", column.name);
            return Err(CatalogError::invalid("42804", text));
        }
        let what = if primary { "primary keys" } else { "unique constraints" };
        refuse_virtual_among(&target.columns, &ids, what)?;
        let include = target.ids(include, |name| format!("column \"{name}\" named in key does not exist"))?;
        let included = include.iter().filter_map(|id| target.columns.iter().find(|column| column.id == *id));
        let included: Vec<Arc<str>> = included.map(|column| Arc::clone(&column.name)).collect();
        let parts: Vec<&str> = columns.iter().chain(&included).map(|column| &**column).collect();
        let its = if primary { (&[][..], "pkey") } else { (&parts[..], "key") };
        let name = self.name_of_key(txn, names, target, new, its)?;
        if primary {
            self.require_keys(txn, target, &ids)?;
        }
        let constraint = self.new_oid()?;
        let key = |id: &u16| {
            let column = target.columns.iter().find(|column| column.id == *id);
            // Which texts are equal is what the constraint asks: where that is their bytes, so are the keys, and no version of
            // the data matters to them.
            let collation = column.and_then(key_collation);
            let collation = collation.filter(|collation| !collation.is_deterministic());
            IndexPart {
                column: *id,
                descending: false,
                nulls_first: false,
                class: KeyClass::Ordered,
                collation,
                excludes: without_overlaps.then_some(match Some(id) == period {
                    true => Exclusion::Overlaps,
                    false => Exclusion::Equal,
                }),
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
            include,
            guard: None,
            unique: true,
            primary,
            nulls_distinct,
            constraint: Some(constraint),
            deferrable: new.deferrable,
            initially_deferred: new.initially_deferred,
            part_of: new.part_of,
            excluding: None,
            clustered: false,
            replica_identity: false,
            options: new.options.clone(),
        };
        let index = self.insert_index(txn, target, definition)?;
        let kind = ConstraintKind::Unique { columns: ids, index, primary };
        self.insert_constraint(txn, target, new, constraint, name, kind)
    }

    /// Makes the columns of a primary key NOT NULL.
    fn require_keys(&self, txn: &mut Txn, target: &mut Target, ids: &[u16]) -> Result<(), CatalogError> {
        for id in ids {
            let Some(known) = target.not_null(*id).filter(|known| !known.validated) else { continue };
            let column = target.columns.iter().find(|column| column.id == *id);
            let column = column.map_or("", |column| &column.name);
            return Err(CatalogError::InvalidDefinition {
                sqlstate: "55000",
                message: format!("cannot create primary key on column \"{column}\""),
                detail: Some(format!(
                    "The constraint \"{}\" on column \"{column}\" of table \"{}\", marked NOT VALID, is \
                     incompatible with a primary key.",
                    known.name, target.name
                )),
                hint: None,
            });
        }
        self.require_values(txn, target, ids)
    }

    /// Makes a unique index that of a constraint, of the same name.
    pub(super) fn add_constraint_of_index(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        target: &mut Target,
        index: &IndexDef,
        new: &NewConstraint,
    ) -> Result<(), CatalogError> {
        let NewConstraintKind::Unique { primary, .. } = new.kind else { return Ok(()) };
        let mut names = Names::new(snapshot, &target.schema);
        let name = new.name.clone().unwrap_or_else(|| Arc::clone(&index.name));
        if target.has(&name) {
            let text = format!("constraint \"{name}\" for relation \"{}\" already exists", target.name);
            return Err(CatalogError::invalid("42710", text));
        }
        names.take_constraint(&name);
        let columns: Vec<u16> = index.parts.iter().map(|part| part.column).collect();
        if primary {
            refuse_second_primary(target)?;
            self.require_keys(txn, target, &columns)?;
            self.complete_not_null(txn, &mut names, target)?;
        }
        if name != index.name {
            let schema = Arc::clone(&target.schema);
            self.rename_relation(txn, snapshot, &schema, index.oid, &name)?;
        }
        let is_it = |row: &IndexRow| row.indexrelid == index.oid;
        self.update_rows(txn, index.oid, is_it, |row| {
            row.indisprimary = primary;
            row.indimmediate = !new.deferrable;
        })?;
        let kind = ConstraintKind::Unique { columns, index: index.oid, primary };
        let oid = self.new_oid()?;
        self.insert_constraint(txn, target, new, oid, name, kind)
    }

    /// The name of a constraint that has an index of the same name.
    fn name_of_key(
        &self,
        txn: &mut Txn,
        names: &mut Names,
        target: &Target,
        new: &NewConstraint,
        (columns, label): (&[&str], &str),
    ) -> Result<Arc<str>, CatalogError> {
        let Some(name) = &new.name else {
            return self.index_name(txn, names, &target.schema, &target.name, (columns, label, true));
        };
        let takes = |txn: &mut Txn| self.take_name(txn, &target.schema.name, name, Taking::Relation);
        if !names.take_relation(name) || !takes(txn)? {
            return Err(CatalogError::exists(ObjectKind::Relation, &**name));
        }
        Ok(Arc::clone(name))
    }

    /// EXCLUDE: the index, whose parts with `=` stand first.
    fn add_exclusion(
        &self,
        txn: &mut Txn,
        names: &mut Names,
        target: &mut Target,
        new: &NewConstraint,
    ) -> Result<(), CatalogError> {
        let NewConstraintKind::Exclude { parts, include, guard, method } = &new.kind else { return Ok(()) };
        let missing = |name: &str| format!("column \"{name}\" named in key does not exist");
        let mut declared = Vec::with_capacity(parts.len());
        for part in parts {
            let column = match part.hidden {
                Some(hidden) => hidden,
                None => find_column(&target.columns, &part.name, missing)?.id,
            };
            declared.push(IndexPart {
                column,
                descending: false,
                nulls_first: false,
                class: part.class,
                collation: part.collation.clone(),
                excludes: part.excludes,
            });
        }
        let columns: Vec<u16> = declared.iter().map(|part| part.column).collect();
        refuse_virtual_among(&target.columns, &columns, "exclusion constraints")?;
        let equal = declared.iter().filter(|part| part.excludes == Some(Exclusion::Equal));
        refuse_unlike_bytes(&target.columns, &equal.map(|part| part.column).collect::<Vec<u16>>())?;
        let include = target.ids(include, missing)?;
        let shown: Vec<&str> = parts.iter().map(|part| &*part.name).collect();
        let name = self.name_of_key(txn, names, target, new, (&shown, "excl"))?;
        let mut physical: Vec<usize> = (0..declared.len()).collect();
        physical.sort_by_key(|at| declared[*at].excludes != Some(Exclusion::Equal));
        let order = (0..declared.len()).filter_map(|at| physical.iter().position(|own| *own == at)).collect();
        let declaration = Arc::new(Excluding { method: Arc::clone(method), order });
        let constraint = self.new_oid()?;
        let definition = IndexDef {
            oid: self.new_oid()?,
            schema: Arc::clone(&target.schema.name),
            name: Arc::clone(&name),
            table: target.oid,
            object: ObjectId(0),
            valid: true,
            outdated: false,
            parts: physical.into_iter().map(|at| declared[at].clone()).collect(),
            include,
            guard: *guard,
            unique: false,
            primary: false,
            nulls_distinct: true,
            constraint: Some(constraint),
            deferrable: new.deferrable,
            initially_deferred: new.initially_deferred,
            part_of: new.part_of,
            excluding: Some(Arc::clone(&declaration)),
            clustered: false,
            replica_identity: false,
            options: new.options.clone(),
        };
        let index = self.insert_index(txn, target, definition)?;
        let kind = ConstraintKind::Exclude { columns, index, declared: declaration };
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
        let class = ClassRow { relpersistence, reloptions: options_row(&definition.options), ..class };
        self.insert_rows(txn, &[class])?;
        self.insert_rows(txn, &[index_row(&definition)])?;
        self.write_index_collations(txn, &target.columns, &definition)?;
        if let Some(whole) = definition.part_of {
            self.insert_index_part(txn, definition.oid, whole)?;
        }
        let oid = definition.oid;
        target.indexes.push(Arc::new(definition));
        Ok(oid)
    }

    /// Removes an index's rows and its pages.
    pub(super) fn remove_index(&self, txn: &mut Txn, index: &IndexDef) -> Result<(), CatalogError> {
        self.remove_objects(txn, index.oid, |row: &ClassRow| row.oid == index.oid)?;
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
        self.remove_objects(txn, table.oid, |row: &ConstraintRow| row.oid == constraint.oid)?;
        if let Some(index) = constraint.kind.own_index().and_then(|index| table.index(index)) {
            self.remove_index(txn, index)?;
            self.forget_hidden(txn, table, index)?;
            for (part, partition) in index_parts(table, index.oid) {
                self.remove_index(txn, &part)?;
                let oid = part.constraint;
                self.remove_objects(txn, partition.oid, |row: &ConstraintRow| Some(row.oid) == oid)?;
            }
        }
        Ok(())
    }
}

fn refuse_second_primary(target: &Target) -> Result<(), CatalogError> {
    let is_primary =
        |known: &Arc<ConstraintDef>| matches!(known.kind, ConstraintKind::Unique { primary: true, .. });
    match target.constraints.iter().any(is_primary) {
        true => {
            let text = format!("multiple primary keys for table \"{}\" are not allowed", target.name);
            Err(CatalogError::invalid("42P16", text))
        }
        false => Ok(()),
    }
}

/// The foreign keys that rely on an index.
pub(super) fn relying_on(table: &TableDef, index: Oid) -> Vec<Arc<ConstraintDef>> {
    let relies = |constraint: &&Arc<ConstraintDef>| matches!(&constraint.kind, ConstraintKind::Foreign(key) if key.index == index);
    table.referenced_by.iter().filter(relies).cloned().collect()
}
