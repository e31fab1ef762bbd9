//! CREATE INDEX, DROP INDEX, REINDEX, ALTER INDEX … INACTIVE.
//!
//! N1. CONCURRENTLY takes the lock that only other changes of the definition exclude, and nobody is waited for: whoever sees
//!     an older version of the catalog has a snapshot from before, for which the old index stays and is kept in step. What is
//!     built so is built before the change is announced, so that others find the catalog settled meanwhile.
//! N2. An index that is not valid has no object: it enforces nothing and costs nothing until it is built anew.

use std::ops::ControlFlow;
use std::sync::Arc;

use verso_storage::heap::ScanBatch;
use verso_storage::index::{IndexSpec, KeyPart};
use verso_storage::{ObjectId, RecordId, StorageError, TableLockMode, Txn, WaitPolicy};
use verso_types::{Collation, Exclusion, SqlType, SystemType, TimeStyle, Value, Within, format_text};

use super::claim::{NameOf, Taking};
use super::constraint::{Target, refuse_virtual_among, relying_on};
use super::names::Names;
use super::online::PreparedIndex;
use super::table::find_table;
use crate::TableOptions;
use crate::catalog::Catalog;
use crate::definition::{ColumnDef, IndexDef, IndexPart, Oid, SchemaDef, TableDef};
use crate::error::{CatalogError, ObjectKind};
use crate::key_class::KeyClass;
use crate::request::{NewIndex, NewIndexPart};
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::system::assemble::{attribute_row, options_row};
use crate::system::row::{AttributeRow, ClassRow, IndexRow, InheritsRow};

/// Greatest number of columns in a key, as in PostgreSQL.
pub(super) const MAX_KEY_COLUMNS: usize = 32;

impl Catalog {
    /// Makes an index over the rows there are; `None` if there is a relation of that name and `if_not_exists` allows it.
    ///
    /// # Errors
    /// `Exists`, `Missing` (the table), `InvalidDefinition`, `SystemObject`; storage's, of which `Unique` says that two
    /// rows have the same key, and `Conflict` that another transaction changed the schema first.
    pub fn create_index(
        &self,
        txn: &mut Txn,
        new: &NewIndex,
        if_not_exists: bool,
    ) -> Result<Option<Oid>, CatalogError> {
        let Some(prepared) = self.prepare_index(txn, new, if_not_exists)? else { return Ok(None) };
        let PreparedIndex { schema, table, mut definition } = prepared;
        if new.concurrently {
            definition.object = self.build_concurrently(txn, &table, &definition)?;
        }
        self.change(txn, |txn| self.insert_index(txn, &mut Target::of(&table, schema), definition)).map(Some)
    }

    /// The definition of a new index, whose name is taken and whose table is locked as its build asks.
    ///
    /// # Errors
    /// As [`Catalog::create_index`], without those of the build.
    pub fn prepare_index(
        &self,
        txn: &mut Txn,
        new: &NewIndex,
        if_not_exists: bool,
    ) -> Result<Option<PreparedIndex>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let table = match snapshot.relation(new.schema.as_deref(), &new.table) {
            Some(Relation::Table(table)) if !table.is_system() => Arc::clone(table),
            Some(Relation::Table(_)) => {
                return Err(CatalogError::SystemObject { name: new.table.to_string() });
            }
            Some(_) => {
                let text = format!("cannot create index on relation \"{}\"", new.table);
                return Err(CatalogError::invalid("42809", text));
            }
            None => return Err(CatalogError::missing(ObjectKind::Relation, &*new.table)),
        };
        let schema = snapshot.schema(&table.schema).cloned();
        let schema = schema.ok_or_else(|| CatalogError::missing(ObjectKind::Schema, &*table.schema))?;
        let mut names = Names::new(&snapshot, &schema);
        if let Some(name) = &new.name
            && !names.take_relation(name)
        {
            return if if_not_exists {
                Ok(None)
            } else {
                Err(CatalogError::exists(ObjectKind::Index, &**name))
            };
        }
        if new.parts.len() + new.include.len() > MAX_KEY_COLUMNS {
            let text = format!("cannot use more than {MAX_KEY_COLUMNS} columns in an index");
            return Err(CatalogError::invalid("54011", text));
        }
        let mut parts = Vec::new();
        let number = |name: &Arc<str>| {
            let column = table.shown().iter().find(|column| column.name == *name);
            let missing = || CatalogError::invalid("42703", format!("column \"{name}\" does not exist"));
            column.map(|column| column.id).ok_or_else(missing)
        };
        for part in &new.parts {
            let NewIndexPart { name, hidden, descending, nulls_first, class, collation, excludes } = part;
            let column = hidden.map_or_else(|| number(name), Ok)?;
            let (descending, nulls_first, class) = (*descending, *nulls_first, *class);
            let collation = collation.clone().filter(|_| class == KeyClass::Ordered);
            let excludes = *excludes;
            parts.push(IndexPart { column, descending, nulls_first, class, collation, excludes });
        }
        let include = new.include.iter().map(number).collect::<Result<Vec<u16>, CatalogError>>()?;
        let used: Vec<u16> = parts.iter().map(|part| part.column).chain(include.iter().copied()).collect();
        refuse_virtual_among(&table.columns, &used, "indexes")?;
        if new.unique {
            refuse_unlike_bytes(&table.columns, &used[..parts.len()])?;
        }
        match new.concurrently {
            true => {
                self.lock_definition(txn, &table, &snapshot, TableLockMode::ShareUpdateExclusive)?;
            }
            false => self.lock_for_build(txn, &table, &snapshot)?,
        }
        if let Some(name) = &new.name
            && !self.take_name(txn, &schema.name, name, Taking::Relation)?
        {
            return if if_not_exists {
                Ok(None)
            } else {
                Err(CatalogError::exists(ObjectKind::Index, &**name))
            };
        }
        let mut columns: Vec<&str> = new.parts.iter().map(|part| &*part.name).collect();
        columns.extend(new.include.iter().map(|name| &**name));
        let name = match &new.name {
            Some(name) => Arc::clone(name),
            None => self.index_name(txn, &mut names, &schema, &table.name, (&columns, "idx", false))?,
        };
        let definition = IndexDef {
            oid: self.new_oid()?,
            schema: Arc::clone(&schema.name),
            name,
            table: table.oid,
            object: ObjectId(0),
            valid: true,
            outdated: false,
            parts,
            include,
            guard: new.guard,
            unique: new.unique,
            primary: false,
            nulls_distinct: new.nulls_distinct,
            constraint: None,
            deferrable: false,
            initially_deferred: false,
            part_of: new.part_of,
            excluding: None,
            clustered: false,
            replica_identity: false,
            options: new.options.clone(),
        };
        Ok(Some(PreparedIndex { schema, table, definition }))
    }

    /// Drops an index that no constraint needs; with `cascade` also the foreign keys that rely on it; `concurrently` while
    /// others go on with its table (N1).
    ///
    /// # Errors
    /// `Missing`, `WrongKind`, `Needed`, `SystemObject`; storage's.
    pub fn drop_index(
        &self,
        txn: &mut Txn,
        schema: Option<&str>,
        name: &str,
        cascade: bool,
        concurrently: bool,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let (index, table) = find_index(&snapshot, schema, name)?;
        let owner = table.constraints.iter().find(|constraint| Some(constraint.oid) == index.constraint);
        if let Some(owner) = owner {
            return Err(CatalogError::RequiredBy {
                index: name.to_string(),
                constraint: format!("constraint {} on table {}", owner.name, table.name),
            });
        }
        if let Some(Relation::Index(whole)) = index.part_of.and_then(|oid| snapshot.relation_by_oid(oid)) {
            let constraint = format!("index {}", whole.name);
            return Err(CatalogError::RequiredBy { index: name.to_string(), constraint });
        }
        let parts = index_parts(&table, index.oid);
        if concurrently && table.partitioned.is_some() {
            let text = format!("cannot drop partitioned index \"{name}\" concurrently");
            return Err(CatalogError::invalid("0A000", text));
        }
        // Hidden columns that go are a change of the rows that others write.
        let goes_alone = index.columns().all(|column| !ColumnDef::is_hidden_id(column));
        let mode = match concurrently && goes_alone {
            true => TableLockMode::ShareUpdateExclusive,
            false => TableLockMode::AccessExclusive,
        };
        self.lock_definition(txn, &table, &snapshot, mode)?;
        for (_, partition) in &parts {
            self.lock_definition(txn, partition, &snapshot, mode)?;
        }
        let references = relying_on(&table, index.oid);
        self.change(txn, |txn| {
            let what = format!("index {name}");
            self.release_references(txn, &snapshot, (what.clone(), &what), &references, cascade)?;
            for (index, table) in parts.iter().chain([&(Arc::clone(&index), Arc::clone(&table))]) {
                self.remove_index(txn, index)?;
                self.forget_hidden(txn, table, index)?;
            }
            Ok(())
        })
    }

    /// Makes an index of a partition, which is like it, a part of an index of the whole table.
    ///
    /// # Errors
    /// Storage's, of which `Conflict` says that another transaction changed the schema first.
    pub fn attach_index(&self, txn: &mut Txn, index: &IndexDef, whole: Oid) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let table = snapshot.table_by_oid(index.table);
        let table = table.ok_or_else(|| CatalogError::missing(ObjectKind::Relation, &*index.name))?;
        self.lock_name(txn, NameOf::Part, [&index.oid.0.to_string(), ""])?;
        self.lock_definition(txn, &table, &snapshot, TableLockMode::Share)?;
        self.change(txn, |txn| self.insert_index_part(txn, index.oid, whole))
    }

    pub(super) fn insert_index_part(
        &self,
        txn: &mut Txn,
        index: Oid,
        whole: Oid,
    ) -> Result<(), CatalogError> {
        self.insert_rows(txn, &[InheritsRow { inhrelid: index, inhparent: whole, bound: Vec::new() }])
    }

    /// Sets storage parameters of an index, and gives up those that are named: they act when it is built anew.
    ///
    /// # Errors
    /// `Missing`, `WrongKind`; storage's.
    pub fn set_index_options(
        &self,
        txn: &mut Txn,
        schema: Option<&str>,
        name: &str,
        set: &TableOptions,
        reset: &[Arc<str>],
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let (index, table) = find_index(&snapshot, schema, name)?;
        self.lock_definition(txn, &table, &snapshot, TableLockMode::ShareUpdateExclusive)?;
        let mut all = index.options.clone();
        all.given.retain(|(known, _)| !reset.contains(known) && set.get(known).is_none());
        all.given.extend(set.given.iter().cloned());
        self.change(txn, |txn| {
            let is_it = |row: &ClassRow| row.oid == index.oid;
            self.update_rows(txn, index.oid, is_it, |row| row.reloptions = options_row(&all)).map(drop)
        })
    }

    /// Takes an index out of use: its entries go, its definition stays (N2).
    ///
    /// # Errors
    /// `Missing`, `WrongKind`, `InvalidDefinition` for one that a constraint relies on; storage's.
    pub fn deactivate_index(
        &self,
        txn: &mut Txn,
        schema: Option<&str>,
        name: &str,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let (index, table) = find_index(&snapshot, schema, name)?;
        let owner = table.constraints.iter().find(|constraint| Some(constraint.oid) == index.constraint);
        let relying = relying_on(&table, index.oid);
        if let Some(constraint) = owner.or(relying.first()) {
            let of = snapshot.table_by_oid(constraint.table);
            let of = of.map_or_else(String::new, |table| format!(" on table {}", table.name));
            let text = format!(
                "cannot deactivate index {name} because constraint {}{of} requires it",
                constraint.name
            );
            return Err(CatalogError::invalid("2BP01", text));
        }
        self.lock_out(txn, &table, &snapshot)?;
        if !index.valid {
            return Ok(());
        }
        self.change(txn, |txn| {
            self.set_index_object(txn, &index, None)?;
            self.engine.drop_object(txn, index.object)?;
            Ok(())
        })
    }

    /// The hidden columns of an index that goes, and that no other index of its table needs: from now on they are NULL. They
    /// leave the table when its rows are copied.
    pub(super) fn forget_hidden(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        index: &IndexDef,
    ) -> Result<(), CatalogError> {
        let needed = |id: u16| {
            let others = table.all_indexes().filter(|other| other.oid != index.oid);
            others.flat_map(|other| other.columns()).any(|other| other == id) || table.is_divided_by(id)
        };
        let hidden = table.columns.iter().filter(|column| column.is_hidden());
        for column in hidden.filter(|column| index.columns().any(|id| id == column.id) && !needed(column.id))
        {
            self.remove_default(txn, table, column)?;
            let idle = ColumnDef { default: None, generated: false, ..column.clone() };
            let row = attribute_row(table.oid, &idle);
            let is_it = |old: &AttributeRow| old.attrelid == table.oid && old.attnum == row.attnum;
            self.update_rows(txn, table.oid, is_it, |old| *old = row.clone())?;
        }
        Ok(())
    }

    /// Takes a name for an index that the user gave none (L1): of these columns, with this label, of a constraint or not.
    pub(super) fn index_name(
        &self,
        txn: &mut Txn,
        names: &mut Names,
        schema: &SchemaDef,
        table: &str,
        (columns, label, constraint): (&[&str], &str, bool),
    ) -> Result<Arc<str>, CatalogError> {
        loop {
            let name = names.index(table, columns, label, constraint);
            if self.take_name(txn, &schema.name, &name, Taking::Relation)? {
                return Ok(name.into());
            }
        }
    }

    /// Builds indexes of a table anew: those in use and those whose keys were made from other data of collations, or the one that
    /// is named; all of them are in use from then on. `concurrently` while writers go on (N1).
    ///
    /// # Errors
    /// `Missing`, `SystemObject`; storage's, of which `Unique` says that two rows have the same key.
    pub fn reindex(
        &self,
        txn: &mut Txn,
        schema: Option<&str>,
        table: &str,
        only: Option<Oid>,
        concurrently: bool,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let table = find_table(&snapshot, schema, table)?;
        let is_wanted =
            |index: &&Arc<IndexDef>| only.map_or(index.valid || index.outdated, |only| index.oid == only);
        let wanted: Vec<&Arc<IndexDef>> = table.all_indexes().filter(is_wanted).collect();
        if concurrently {
            self.lock_definition(txn, &table, &snapshot, TableLockMode::ShareUpdateExclusive)?;
            // A statement that puts off the check of the old one would not put off that of the new one.
            let (apart, beside): (Vec<_>, Vec<_>) =
                wanted.into_iter().partition(|index| index.deferrable && !index.excludes());
            beside.into_iter().try_for_each(|index| {
                if index.excludes() {
                    let text = "concurrent index creation for exclusion constraints is not supported";
                    return Err(CatalogError::invalid("0A000", text));
                }
                let object = self.build_concurrently(txn, &table, index)?;
                self.change(txn, |txn| self.replace_index(txn, &table.columns, index, object))
            })?;
            if apart.is_empty() {
                return Ok(());
            }
            // So writers wait for these, which come last.
            self.engine.lock_table(txn, table.heap, TableLockMode::Share, WaitPolicy::Block)?;
            return self.change(txn, |txn| self.build_anew(txn, &table, &apart));
        }
        // Whoever reads through the old index goes on with it (N1).
        self.lock_for_build(txn, &table, &snapshot)?;
        self.change(txn, |txn| self.build_anew(txn, &table, &wanted))
    }

    /// Builds those indexes of a table that have no entries, all from one scan; how many. Those that were there before are
    /// passed over.
    ///
    /// # Errors
    /// `Missing`, `SystemObject`; storage's; `Duplicates` names the index of which two rows have the same key.
    pub fn build_idle(
        &self,
        txn: &mut Txn,
        schema: &str,
        table: &str,
        before: &[Oid],
    ) -> Result<usize, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let table = find_table(&snapshot, Some(schema), table)?;
        let wanted: Vec<&Arc<IndexDef>> =
            table.idle_indexes.iter().filter(|index| !before.contains(&index.oid)).collect();
        if wanted.is_empty() {
            return Ok(0);
        }
        self.lock_for_build(txn, &table, &snapshot)?;
        self.change(txn, |txn| self.build_anew(txn, &table, &wanted))?;
        Ok(wanted.len())
    }

    /// Builds indexes of a table anew, all from one scan. They are other objects, so that one half made when the power goes is
    /// freed whole, like any that is not committed.
    fn build_anew(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        wanted: &[&Arc<IndexDef>],
    ) -> Result<(), CatalogError> {
        let definitions: Vec<&IndexDef> = wanted.iter().map(|index| &***index).collect();
        let built = self.build_indexes(txn, table.heap, &table.columns, &definitions)?;
        for (index, object) in wanted.iter().zip(built) {
            self.replace_index(txn, &table.columns, index, object)?;
        }
        Ok(())
    }

    /// Builds an index anew over a heap, which may be another one than before, and drops the old one.
    pub(super) fn rebuild_index(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        heap: ObjectId,
        index: &IndexDef,
    ) -> Result<(), CatalogError> {
        if !index.valid {
            return Ok(());
        }
        let object = self.build_index(txn, heap, &table.columns, index)?;
        self.replace_index(txn, &table.columns, index, object)
    }

    /// Puts a new object into the place of an index's old one, which goes.
    pub(super) fn replace_index(
        &self,
        txn: &mut Txn,
        columns: &[ColumnDef],
        index: &IndexDef,
        object: ObjectId,
    ) -> Result<(), CatalogError> {
        self.set_index_object(txn, index, Some(object))?;
        self.write_index_collations(txn, columns, index)?;
        if index.valid {
            self.engine.drop_object(txn, index.object)?;
        }
        Ok(())
    }

    /// Notes where an index's entries are from now on, or that it has none.
    fn set_index_object(
        &self,
        txn: &mut Txn,
        index: &IndexDef,
        object: Option<ObjectId>,
    ) -> Result<(), CatalogError> {
        let is_it = |row: &ClassRow| row.oid == index.oid;
        self.update_rows(txn, index.oid, is_it, |row| {
            row.relfilenode = Oid(object.map_or(0, |object| object.0))
        })?;
        if object.is_some() != index.valid {
            let is_it = |row: &IndexRow| row.indexrelid == index.oid;
            self.update_rows(txn, index.oid, is_it, |row| row.indisvalid = object.is_some())?;
        }
        Ok(())
    }
}

impl Catalog {
    /// Builds the entries of an index.
    pub(super) fn build_index(
        &self,
        txn: &mut Txn,
        heap: ObjectId,
        columns: &[ColumnDef],
        index: &IndexDef,
    ) -> Result<ObjectId, CatalogError> {
        let spec = index_spec(heap, columns, index)?;
        let built = self.engine.create_index(txn, spec, &mut |_| ControlFlow::Continue(()));
        built.map_err(|error| self.duplicates(txn, heap, columns, index, error))
    }

    /// Builds the entries of several indexes of a heap from one scan.
    pub(super) fn build_indexes(
        &self,
        txn: &mut Txn,
        heap: ObjectId,
        columns: &[ColumnDef],
        indexes: &[&IndexDef],
    ) -> Result<Vec<ObjectId>, CatalogError> {
        if indexes.len() < 2 {
            return indexes.iter().map(|index| self.build_index(txn, heap, columns, index)).collect();
        }
        let specs = indexes.iter().map(|index| index_spec(heap, columns, index));
        let specs = specs.collect::<Result<Vec<_>, CatalogError>>()?;
        let built = self.engine.create_indexes(txn, specs, &mut |_| ControlFlow::Continue(()));
        if matches!(
            built,
            Err(StorageError::Unique { .. }
                | StorageError::Excluded { .. }
                | StorageError::IndexRowTooLarge { .. })
        ) {
            // One after the other, they tell which of them it is.
            indexes.iter().try_for_each(|index| self.build_index(txn, heap, columns, index).map(drop))?;
        }
        Ok(built?)
    }

    /// Builds the entries of an index while writers go on.
    fn build_concurrently(
        &self,
        txn: &mut Txn,
        table: &TableDef,
        index: &IndexDef,
    ) -> Result<ObjectId, CatalogError> {
        let spec = index_spec(table.heap, &table.columns, index)?;
        let go_on = &mut |_| ControlFlow::Continue(());
        let built = self.engine.create_index_concurrently(txn, spec, &index.name, go_on);
        built.map_err(|error| self.duplicates(txn, table.heap, &table.columns, index, error))
    }

    /// Names the key of two rows where that is what went wrong.
    pub(super) fn duplicates(
        &self,
        txn: &Txn,
        heap: ObjectId,
        columns: &[ColumnDef],
        index: &IndexDef,
        error: StorageError,
    ) -> CatalogError {
        let (record, with) = match error {
            StorageError::Unique { record, .. } => (record, None),
            StorageError::Excluded { record, with, .. } => (record, Some(with)),
            StorageError::IndexRowTooLarge { size, limit, .. } => {
                let name = &index.name;
                let text = format!("index row size {size} exceeds maximum {limit} for index \"{name}\"");
                return CatalogError::invalid("54000", text);
            }
            error => return error.into(),
        };
        let key = |record| self.key_text(txn, heap, columns, index, record);
        let index_name = index.name.to_string();
        let known = self.snapshot(txn).ok();
        let table = known.as_ref().and_then(|known| known.table_by_oid(index.table));
        let table = table.map(|table| [table.schema.to_string(), table.name.to_string()]);
        match with {
            None => {
                let detail = key(record).map(|key| format!("Key {key} is duplicated."));
                CatalogError::Duplicates { index: index_name, table, detail }
            }
            Some(with) => {
                let both = key(record).zip(key(with));
                let detail = both.map(|(key, other)| format!("Key {key} conflicts with key {other}."));
                CatalogError::Conflicts { constraint: index_name, table, detail }
            }
        }
    }

    /// The key that a record has in an index, as PostgreSQL shows it.
    fn key_text(
        &self,
        txn: &Txn,
        heap: ObjectId,
        columns: &[ColumnDef],
        index: &IndexDef,
        record: RecordId,
    ) -> Option<String> {
        let column = |part: &IndexPart| columns.iter().find(|column| column.id == part.column);
        let parts: Vec<&ColumnDef> = index.declared().into_iter().filter_map(column).collect();
        let ids: Vec<u16> = parts.iter().map(|column| column.id).collect();
        let mut found = ScanBatch::default();
        let fetched = self.engine.heap(heap).and_then(|heap| heap.fetch(txn, record, &ids, &mut found));
        if !matches!(fetched, Ok(true)) {
            return None;
        }
        let named = |column: &&ColumnDef| match column.is_hidden() {
            true => column.default.as_deref().unwrap_or_default().to_string(),
            false => column.name.to_string(),
        };
        let names: Vec<String> = parts.iter().map(named).collect();
        let mut values = String::new();
        for (column, definition) in found.batch.columns.iter().zip(&parts) {
            if !values.is_empty() {
                values.push_str(", ");
            }
            match column.value(0, &definition.ty) {
                Value::Null => values.push_str("null"),
                value => format_text(&value, &definition.ty, &TimeStyle::UTC, &mut values),
            }
        }
        Some(format!("({})=({values})", names.join(", ")))
    }
}

/// An index, with its table.
fn find_index(
    snapshot: &CatalogSnapshot,
    schema: Option<&str>,
    name: &str,
) -> Result<(Arc<IndexDef>, Arc<TableDef>), CatalogError> {
    let index = match snapshot.relation(schema, name) {
        None => return Err(CatalogError::missing(ObjectKind::Index, name)),
        Some(Relation::Index(index)) => Arc::clone(index),
        Some(_) => {
            return Err(CatalogError::WrongKind { kind: ObjectKind::Index, name: name.to_string() });
        }
    };
    let table = snapshot.table_by_oid(index.table);
    let table = table.ok_or_else(|| CatalogError::Corrupt { what: format!("index {name} has no table") })?;
    Ok((index, table))
}

/// An index over a heap as storage knows it.
fn index_spec(heap: ObjectId, columns: &[ColumnDef], index: &IndexDef) -> Result<IndexSpec, CatalogError> {
    let (unique, nulls_distinct) = (index.unique, index.nulls_distinct);
    let fill_factor = index.options.get("fillfactor").and_then(|value| value.parse().ok());
    let fill_factor = fill_factor.unwrap_or(IndexSpec::FILL_FACTOR);
    Ok(IndexSpec { table: heap, parts: key_parts(columns, index)?, unique, nulls_distinct, fill_factor })
}

/// The collation of a column's keys: none of an array, as texts in arrays are in the order of their bytes.
pub(super) fn key_collation(column: &ColumnDef) -> Option<Arc<Collation>> {
    column.declared().collation().filter(|_| !matches!(column.ty.plain(), SqlType::Array(_)))
}

/// Refuses keys that are to be unique and whose equality is not that of their bytes: arrays of texts that a collation makes equal, and
/// rows with such texts within.
pub(super) fn refuse_unlike_bytes(columns: &[ColumnDef], key: &[u16]) -> Result<(), CatalogError> {
    let is_unlike = |column: &&ColumnDef| {
        let collation = column.declared().collation();
        matches!(column.ty.plain(), SqlType::Array(_))
            && collation.is_some_and(|collation| !collation.is_deterministic())
            || Within::of(column.declared()).is_some_and(|within| within.is_coarse())
    };
    let mut columns = columns.iter().filter(|column| key.contains(&column.id));
    columns.find(is_unlike).map_or(Ok(()), |column| {
        let text = format!(
            "unique keys over column \"{}\" of type {} with a nondeterministic collation are not supported",
            column.name,
            column.ty.without_modifiers().pg_name()
        );
        Err(CatalogError::invalid("0A000", text))
    })
}

/// The parts of an index's key as storage knows them.
pub(crate) fn key_parts(columns: &[ColumnDef], index: &IndexDef) -> Result<Vec<KeyPart>, CatalogError> {
    let part = |id: u16, class: KeyClass| {
        let column = columns.iter().find(|column| column.id == id);
        let column = column.ok_or_else(|| CatalogError::Corrupt {
            what: format!("index \"{}\" has a column that its table has not", index.name),
        })?;
        let ty = class
            .key_type(&column.ty)
            .ok_or_else(|| CatalogError::NoOrder { ty: column.ty.without_modifiers().pg_name() })?;
        Ok(KeyPart::ascending(id, ty))
    };
    let classes = index.parts.iter().map(|part| part.class).chain(std::iter::repeat(KeyClass::Ordered));
    let held = index.held().zip(classes).map(|(id, class)| part(id, class));
    let mut parts = held.collect::<Result<Vec<KeyPart>, CatalogError>>()?;
    for (key, part) in parts.iter_mut().zip(&index.parts) {
        (key.descending, key.nulls_first) = (part.descending, part.nulls_first);
        key.excludes = part.excludes;
        let ty = columns.iter().find(|column| column.id == part.column).map(|column| &column.ty);
        let is_set = match ty {
            Some(SqlType::Range(_) | SqlType::Multirange(_)) => true,
            Some(SqlType::System(SystemType::Inet | SystemType::Cidr)) => {
                part.excludes == Some(Exclusion::Overlaps)
            }
            _ => false,
        };
        if let (Some(Exclusion::Overlaps | Exclusion::Adjacent), Some(ty), false) =
            (part.excludes, ty, is_set)
        {
            let (ty, method) = (ty.without_modifiers().pg_name(), index.method());
            let text = format!("data type {ty} has no default operator class for access method \"{method}\"");
            return Err(CatalogError::invalid("42704", text));
        }
        let collator = part.collation.as_ref().and_then(|collation| collation.collator);
        key.ty = key.ty.collated(collator).ok_or_else(|| CatalogError::Corrupt {
            what: format!("index \"{}\" has a collation of what is no text", index.name),
        })?;
    }
    if let Some(guard) = index.guard {
        parts.push(KeyPart { guard: true, ..part(guard, KeyClass::Ordered)? });
    }
    Ok(parts)
}

/// The parts of an index of a partitioned table, in its partitions and theirs.
pub(super) fn index_parts(table: &TableDef, index: Oid) -> Vec<(Arc<IndexDef>, Arc<TableDef>)> {
    let mut parts = Vec::new();
    let mut open = vec![(table.partitioned.clone(), index)];
    while let Some((partitioned, whole)) = open.pop() {
        for partition in partitioned.iter().flat_map(|it| &it.partitions) {
            for index in partition.all_indexes().filter(|index| index.part_of == Some(whole)) {
                parts.push((Arc::clone(index), Arc::clone(partition)));
                open.push((partition.partitioned.clone(), index.oid));
            }
        }
    }
    parts
}
