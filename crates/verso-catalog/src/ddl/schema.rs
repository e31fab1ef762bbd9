//! CREATE, ALTER, DROP SCHEMA; what moves things between schemas.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::{Isolation, Txn, TxnOptions};
use verso_types::SqlType;

use super::claim::{NameOf, Taking};
use super::holding::shown_statistics;
use super::needing::{Lost, Needing, function_name, named, operator_name};
use super::refuse_if_needed;
use super::table::{find_table, relation_kind};
use super::together::going_with_schema;
use crate::aggregate::Callee;
use crate::catalog::Catalog;
use crate::collation::CollationDef;
use crate::definition::{ExtensionDef, FunctionDef, Oid, SchemaDef, SequenceDef, TableDef, TypeDef, ViewDef};
use crate::error::{CatalogError, ObjectKind};
use crate::extended::StatisticsDef;
use crate::operator::{CastDef, OperatorDef};
use crate::path::is_temporary;
use crate::rights::Object;
use crate::row_type::is_of_rows;
use crate::snapshot::{CatalogSnapshot, PG_CATALOG, Relation};
use crate::store;
use crate::store::Of;
use crate::system::OWNER_OID;
use crate::system::field::Name;
use crate::system::row::{AuthIdRow, ClassRow, ConstraintRow, ExtensionRow, NamespaceRow, ProcRow};

/// The prefix of schemas that are the system's.
const RESERVED: &str = "pg_";

impl Catalog {
    /// Makes a schema, of the role `owner` or of the database's owner; `None` if there is one of that name and
    /// `if_not_exists` allows it.
    ///
    /// # Errors
    /// `Exists`, `ReservedName`, `Missing` (the role); storage's, of which `Conflict` says that another transaction
    /// changed the schema first.
    pub fn create_schema(
        &self,
        txn: &mut Txn,
        name: &Arc<str>,
        owner: Option<&str>,
        if_not_exists: bool,
    ) -> Result<Option<Oid>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        if name.starts_with(RESERVED) {
            return Err(CatalogError::ReservedName { name: name.to_string() });
        }
        let exists = || match if_not_exists {
            true => Ok(None),
            false => Err(CatalogError::exists(ObjectKind::Schema, &**name)),
        };
        let owner = self.role_number(txn, owner)?;
        if snapshot.schema(name).is_some() {
            return exists();
        }
        if !self.take_schema_name(txn, name)? {
            return exists();
        }
        self.insert_schema(txn, name, owner).map(Some)
    }

    /// Makes a session's schema for temporary tables, unless it is there.
    ///
    /// # Errors
    /// Storage's.
    pub fn create_temporary_schema(&self, txn: &mut Txn, name: &Arc<str>) -> Result<(), CatalogError> {
        if self.snapshot(txn)?.schema(name).is_some() || !self.take_schema_name(txn, name)? {
            return Ok(());
        }
        self.insert_schema(txn, name, OWNER_OID).map(drop)
    }

    /// Drops temporary schemas with all that is in them, in a transaction of its own: that of a session, or every one that
    /// is there when a database is opened.
    ///
    /// # Errors
    /// Storage's.
    pub fn drop_temporary(&self, name: Option<&str>) -> Result<(), CatalogError> {
        let options = TxnOptions { isolation: Isolation::ReadCommitted, savepoints: true, read_only: false };
        let mut txn = self.engine.begin(options);
        txn.begin_statement()?;
        let snapshot = self.snapshot(&txn)?;
        let wanted = |schema: &&Arc<SchemaDef>| match name {
            Some(name) => *schema.name == *name,
            None => is_temporary(&schema.name),
        };
        let schemas: Vec<Arc<SchemaDef>> = snapshot.schemas().filter(wanted).cloned().collect();
        for schema in schemas {
            self.drop_schema(&mut txn, &schema.name, true)?;
        }
        txn.end_statement()?;
        txn.commit(verso_storage::CommitMode::Wait)?;
        Ok(())
    }

    fn insert_schema(&self, txn: &mut Txn, name: &Arc<str>, owner: Oid) -> Result<Oid, CatalogError> {
        let oid = self.new_oid()?;
        self.makes(txn, oid)?;
        let row = NamespaceRow { oid, nspname: Name(Arc::clone(name)), nspowner: owner };
        self.change(txn, |txn| self.insert_rows(txn, &[row]))?;
        Ok(oid)
    }

    /// Takes a schema's name for a new one; whether it is free.
    fn take_schema_name(&self, txn: &mut Txn, name: &Arc<str>) -> Result<bool, CatalogError> {
        self.lock_name(txn, NameOf::Schema, [name, ""])?;
        let taken = self.committed()?.schema(name).map(|schema| schema.oid);
        Ok(taken.is_none_or(|oid| self.is_removed(txn, oid)))
    }

    /// The number of a role; the database's owner where none is named.
    fn role_number(&self, txn: &Txn, name: Option<&str>) -> Result<Oid, CatalogError> {
        let Some(name) = name else { return Ok(OWNER_OID) };
        let rows: Vec<AuthIdRow> = store::read(&self.engine, txn)?;
        let found = rows.into_iter().find(|row| &*row.rolname.0 == name);
        found.map(|row| row.oid).ok_or_else(|| CatalogError::missing(ObjectKind::Role, name))
    }

    /// Gives a schema another name.
    ///
    /// # Errors
    /// As [`Catalog::create_schema`]; `SystemObject`.
    pub fn rename_schema(&self, txn: &mut Txn, name: &str, to: &Arc<str>) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = find_schema(&snapshot, name)?;
        if to.starts_with(RESERVED) {
            return Err(CatalogError::ReservedName { name: to.to_string() });
        }
        if snapshot.schema(to).is_some() {
            return Err(CatalogError::exists(ObjectKind::Schema, &**to));
        }
        self.lock_name(txn, NameOf::Schema, [name, ""])?;
        if !self.take_schema_name(txn, to)? {
            return Err(CatalogError::exists(ObjectKind::Schema, &**to));
        }
        self.check_same(txn, &snapshot, [schema.oid])?;
        self.change(txn, |txn| {
            let is_it = |row: &NamespaceRow| row.oid == schema.oid;
            self.update_rows(txn, schema.oid, is_it, |row| row.nspname = Name(Arc::clone(to)))?;
            self.removes(txn, schema.oid)
        })
    }

    /// Gives a schema to another role.
    ///
    /// # Errors
    /// `Missing`, `SystemObject`; storage's.
    pub fn set_schema_owner(&self, txn: &mut Txn, name: &str, owner: &str) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = snapshot.schema(name).ok_or_else(|| CatalogError::missing(ObjectKind::Schema, name))?;
        let owner = self.role_number(txn, Some(owner))?;
        self.change(txn, |txn| {
            let is_it = |row: &NamespaceRow| row.oid == schema.oid;
            self.update_rows(txn, schema.oid, is_it, |row| row.nspowner = owner).map(drop)
        })
    }

    /// Moves a table with its indexes and the sequences that its columns own, or a sequence, to another schema.
    ///
    /// # Errors
    /// `Missing`, `WrongKind`, `SystemObject`, `InvalidDefinition` (42P07: the name is taken there); storage's.
    pub fn set_schema(
        &self,
        txn: &mut Txn,
        kind: ObjectKind,
        place: (Option<&str>, &str),
        to: &str,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let (schema, name) = place;
        let relation = snapshot.relation(schema, name).cloned();
        let relation = relation.ok_or_else(|| CatalogError::missing(ObjectKind::Relation, name))?;
        if relation_kind(&relation) != kind {
            return Err(CatalogError::WrongKind { kind, name: name.to_string() });
        }
        if relation.oid().is_system() {
            return Err(CatalogError::SystemObject { name: name.to_string() });
        }
        let target = super::target_schema(&snapshot, Some(&to.into()))?;
        if relation.key().0 == &target.name {
            return Ok(());
        }
        if is_temporary(relation.key().0) || is_temporary(&target.name) {
            let text = "cannot move objects into or out of temporary schemas";
            return Err(CatalogError::invalid("0A000", text));
        }
        let mut moved = vec![(relation.oid(), Arc::clone(relation.key().1))];
        match &relation {
            Relation::Table(table) => {
                let table = find_table(&snapshot, schema, &table.name)?;
                self.lock_out(txn, &table, &snapshot)?;
                moved.extend(table.all_indexes().map(|index| (index.oid, Arc::clone(&index.name))));
                for sequence in snapshot.sequences_of(table.oid) {
                    moved.push((sequence.oid, Arc::clone(&sequence.name)));
                }
            }
            Relation::Sequence(sequence) if sequence.owned_by.is_some() => {
                let owner = sequence.owned_by.and_then(|owner| snapshot.table_by_oid(owner.table));
                let owner = owner.map_or_else(|| "?".into(), |table| Arc::clone(&table.name));
                return Err(CatalogError::InvalidDefinition {
                    sqlstate: "0A000",
                    message: "cannot move an owned sequence into another schema".to_string(),
                    detail: Some(format!("Sequence \"{name}\" is linked to table \"{owner}\".")),
                    hint: None,
                });
            }
            Relation::Sequence(_) | Relation::Index(_) | Relation::View(_) => {}
        }
        self.hold_schema(txn, &target)?;
        for (oid, name) in &moved {
            let taken = snapshot.relation(Some(&target.name), name).is_some();
            let of = Taking::of(snapshot.relation_by_oid(*oid));
            let ty = snapshot.type_named(Some(&target.name), name);
            if of == Taking::Both && ty.is_some_and(|ty| !ty.ty.is_row()) {
                let text = format!("type \"{name}\" already exists in schema \"{}\"", target.name);
                return Err(CatalogError::invalid("42710", text));
            }
            if taken || !self.take_name(txn, &target.name, name, of)? {
                let text = format!("relation \"{name}\" already exists in schema \"{}\"", target.name);
                return Err(CatalogError::invalid("42P07", text));
            }
        }
        let numbers: BTreeSet<Oid> = moved.iter().map(|(oid, _)| *oid).collect();
        self.change(txn, |txn| {
            let is_it = |row: &ClassRow| numbers.contains(&row.oid);
            self.update_rows(txn, &numbers, is_it, |row| row.relnamespace = target.oid)?;
            let is_its = |row: &ConstraintRow| numbers.contains(&row.conrelid);
            self.update_rows(txn, &numbers, is_its, |row| row.connamespace = target.oid)?;
            moved.iter().try_for_each(|(oid, _)| self.removes(txn, *oid))
        })
    }

    /// Moves a function to another schema.
    ///
    /// # Errors
    /// `Missing`, `SystemObject`, `InvalidDefinition` (42723: there is one of that name and arguments); storage's.
    pub fn set_function_schema(
        &self,
        txn: &mut Txn,
        function: &FunctionDef,
        to: &str,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let target = super::target_schema(&snapshot, Some(&to.into()))?;
        if target.name == function.schema {
            return Ok(());
        }
        self.hold_schema(txn, &target)?;
        self.lock_name(txn, NameOf::Function, [&target.name, &function.name])?;
        let types: Vec<_> = function.inputs().map(|arg| arg.ty.clone()).collect();
        for known in [&snapshot, &self.committed()?] {
            if known.functions(Some(to), &function.name).iter().any(|other| other.takes(&types)) {
                let text = format!("function {} already exists in schema \"{to}\"", function.signature());
                return Err(CatalogError::invalid("42723", text));
            }
        }
        self.change(txn, |txn| {
            let is_it = |row: &ProcRow| row.oid == function.oid;
            self.update_rows(txn, function.oid, is_it, |row| row.pronamespace = target.oid).map(drop)
        })
    }

    /// Drops a schema; with `cascade` also what is in it, and what needs that ([`going_with_schema`](crate::going_with_schema)). Columns of
    /// tables of other schemas are the caller's to drop first, as that copies rows.
    ///
    /// # Errors
    /// `Missing`, `SystemObject`, `Needed`; storage's, of which `Conflict` says that another transaction changed
    /// the schema first.
    pub fn drop_schema(&self, txn: &mut Txn, name: &str, cascade: bool) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = find_schema(&snapshot, name)?;
        if !cascade {
            let (_, lines) = going_with_schema(&snapshot, &schema);
            refuse_if_needed(format!("schema {name}"), lines)?;
        }
        let mut contents = Contents::of(&snapshot, &schema);
        for oid in contents.types.iter().flat_map(|ty| super::TypeUses::of(&snapshot, ty).all_of_tables()) {
            if contents.tables.iter().all(|known| known.oid != oid)
                && let Some(table) = snapshot.table_by_oid(oid)
            {
                contents.tables.push(table);
            }
        }
        // Dropping a column copies its table: a statement of its own.
        for ty in &contents.types {
            let is_inside = |(table, _): &(Oid, u16)| contents.tables.iter().any(|known| known.oid == *table);
            let uses = super::TypeUses::of(&snapshot, ty);
            if !uses.columns.iter().all(is_inside) {
                let text = format!(
                    "DROP SCHEMA CASCADE while a table of another schema has columns of type {name}.{}",
                    ty.name
                );
                return Err(CatalogError::invalid("0A000", text));
            }
            // So does dropping a type that others are made of, and the half of a range type.
            let goes = |oid: &Oid| contents.types.iter().any(|one| one.oid == *oid);
            let halves = match &ty.ty {
                SqlType::Range(of) | SqlType::Multirange(of) => [of.own_name(false), of.own_name(true)],
                _ => [None, None],
            };
            let mut needing = uses.domains.iter().chain(uses.fields.iter().map(|(of, _)| of));
            if !needing.all(goes) || !halves.into_iter().flatten().all(|half| goes(&Oid(half.oid))) {
                let text =
                    format!("DROP SCHEMA CASCADE while a type of another schema needs {name}.{}", ty.name);
                return Err(CatalogError::invalid("0A000", text));
            }
        }
        for one in &contents.collations {
            let tables: Vec<Oid> = contents.tables.iter().map(|table| table.oid).collect();
            if super::collation::is_used_elsewhere(&snapshot, &one.collation, &tables) {
                let text = format!(
                    "DROP SCHEMA CASCADE while a table of another schema has columns of collation {name}.{}",
                    one.collation.name
                );
                return Err(CatalogError::invalid("0A000", text));
            }
        }
        // Whoever is making something in it ends first; what that was the next snapshot has.
        self.lock_name(txn, NameOf::Schema, [name, ""])?;
        let views = contents.views.iter().map(|one| one.oid);
        let sequences = contents.sequences.iter().map(|one| one.oid);
        let others = contents.functions.iter().map(|one| one.oid).chain(sequences);
        self.claim_gone(txn, &snapshot, views.chain(others))?;
        self.check_contents(txn, &snapshot, &schema, &contents)?;
        let seen = snapshot;
        self.drop_what_needs(txn, &seen, &contents)?;
        self.drop_tables_beside(txn, &contents.tables, true, &contents.types)?;
        // A multirange type goes with its range type.
        contents.types.retain(|ty| !is_of_rows(&ty.ty) && !matches!(ty.ty, SqlType::Multirange(_)));
        // The views over its tables are gone with them.
        let snapshot = self.snapshot_now(txn)?;
        let views: Vec<_> = contents.views.iter().filter_map(|view| snapshot.view_by_oid(view.oid)).collect();
        self.drop_views(txn, &views, true)?;
        self.change(txn, |txn| self.remove_schema(txn, &seen, &schema, &contents))
    }

    /// A schema whose name is locked has what it has in `seen`, and that is what it was, but for the transaction's own changes. What
    /// needs its relations and functions is looked at with them, what needs its types is not: then nothing at all may have changed.
    fn check_contents(
        &self,
        txn: &Txn,
        seen: &CatalogSnapshot,
        schema: &SchemaDef,
        contents: &Contents,
    ) -> Result<(), CatalogError> {
        let newest = self.committed()?;
        let now = Contents::of(&newest, schema);
        if !(contents.has_relations_only() && now.has_relations_only()) {
            return self.check_newest(txn, seen);
        }
        let all: BTreeSet<Oid> = contents.numbers().chain(now.numbers()).chain([schema.oid]).collect();
        self.check_same(txn, seen, all)
    }

    /// Drops what needs something of a schema and is in another one: views, functions, operators, casts, triggers. A version of the catalog
    /// in which they are left cannot be read.
    fn drop_what_needs(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        contents: &Contents,
    ) -> Result<(), CatalogError> {
        let types: Vec<Oid> = contents.types.iter().map(|ty| ty.oid).collect();
        let mut needing = Needing::beside(snapshot, &contents.lost(), &types);
        needing.leave(&contents.operators, &contents.casts);
        let is_outside = |relation: &&Relation| relation.schema() != &contents.name;
        let mut released = false;
        for function in &contents.functions {
            let calls = |relation: &Relation| {
                relation.triggers().iter().any(|trigger| trigger.function == function.oid)
            };
            if snapshot.naming(function.oid).relations().filter(is_outside).any(calls) {
                self.release_triggers(txn, snapshot, function, true)?;
                released = true;
            }
        }
        if !needing.is_empty() {
            self.change(txn, |txn| self.remove_needing(txn, snapshot, &needing))?;
        }
        if released || !needing.is_empty() {
            self.snapshot_now(txn)?;
        }
        Ok(())
    }

    /// What the transaction sees after what it has just changed.
    pub(super) fn snapshot_now(&self, txn: &mut Txn) -> Result<Arc<CatalogSnapshot>, CatalogError> {
        txn.begin_statement()?;
        let snapshot = self.snapshot(txn);
        txn.end_statement()?;
        snapshot
    }

    fn remove_schema(
        &self,
        txn: &mut Txn,
        seen: &CatalogSnapshot,
        schema: &SchemaDef,
        contents: &Contents,
    ) -> Result<(), CatalogError> {
        // Those of the tables just removed are gone with them.
        let goes = |oid: Oid| contents.tables.iter().any(|table| table.oid == oid);
        let stays = |sequence: &&Arc<SequenceDef>| !sequence.owned_by.is_some_and(|owner| goes(owner.table));
        for sequence in contents.sequences.iter().filter(stays) {
            self.remove_sequence(txn, sequence)?;
        }
        let functions: BTreeSet<Oid> = contents.functions.iter().map(|one| one.oid).collect();
        self.remove_objects(txn, &functions, |row: &ProcRow| row.pronamespace == schema.oid)?;
        let own = contents.types.iter().filter(|ty| !ty.is_of_extension());
        for ty in own {
            self.remove_type(txn, seen, ty)?;
        }
        contents.collations.iter().try_for_each(|one| self.remove_collation(txn, seen, one.oid()))?;
        self.remove_objects(txn, Of::All, |row: &ExtensionRow| row.extnamespace == schema.oid)?;
        let left: Vec<&StatisticsDef> =
            contents.statistics.iter().map(|one| &**one).filter(|one| !goes(one.table)).collect();
        self.remove_statistics(txn, &left)?;
        contents.operators.iter().try_for_each(|one| self.remove_operator(txn, one.oid))?;
        contents.casts.iter().try_for_each(|one| self.remove_cast(txn, one.oid))?;
        self.remove_objects(txn, schema.oid, |row: &NamespaceRow| row.oid == schema.oid)?;
        self.removes(txn, schema.oid)
    }
}

/// What is in a schema.
pub(super) struct Contents {
    /// The name of the schema.
    name: Arc<str>,
    tables: Vec<Arc<TableDef>>,
    views: Vec<Arc<ViewDef>>,
    sequences: Vec<Arc<SequenceDef>>,
    functions: Vec<Arc<FunctionDef>>,
    types: Vec<Arc<TypeDef>>,
    collations: Vec<Arc<CollationDef>>,
    extensions: Vec<ExtensionDef>,
    operators: Vec<Arc<OperatorDef>>,
    /// Those of its types and functions.
    casts: Vec<CastDef>,
    /// Those of tables of other schemas.
    statistics: Vec<Arc<StatisticsDef>>,
}

impl Contents {
    /// Whether there is nothing but relations and functions.
    fn has_relations_only(&self) -> bool {
        self.types.is_empty()
            && self.collations.is_empty()
            && self.extensions.is_empty()
            && self.operators.is_empty()
            && self.casts.is_empty()
            && self.statistics.is_empty()
    }

    /// The relations and functions.
    fn numbers(&self) -> impl Iterator<Item = Oid> {
        let tables = self.tables.iter().map(|one| one.oid);
        let views = self.views.iter().map(|one| one.oid);
        let sequences = self.sequences.iter().map(|one| one.oid);
        tables.chain(views).chain(sequences).chain(self.functions.iter().map(|one| one.oid))
    }

    pub(super) fn of(snapshot: &CatalogSnapshot, schema: &SchemaDef) -> Contents {
        let inside = |name: &Arc<str>| *name == schema.name;
        let types: Vec<&Arc<TypeDef>> = snapshot.types_in(&schema.name).collect();
        let relations = || snapshot.relations_in(&schema.name);
        let is_its_type = |oid: Oid| types.iter().any(|ty| ty.oid == oid || ty.array == oid);
        let calls_its = |callee: &Callee| match callee {
            Callee::User(oid) => snapshot.function_by_oid(*oid).is_some_and(|one| inside(&one.schema)),
            Callee::BuiltIn(_) => false,
        };
        let cast_goes = |cast: &&CastDef| {
            is_its_type(cast.source)
                || is_its_type(cast.target)
                || cast.function.as_ref().is_some_and(calls_its)
        };
        let operator_goes = |one: &&Arc<OperatorDef>| {
            inside(&one.schema)
                || calls_its(&one.function)
                || one.left.is_some_and(is_its_type)
                || is_its_type(one.right)
        };
        Contents {
            name: Arc::clone(&schema.name),
            operators: snapshot.operators().iter().filter(operator_goes).cloned().collect(),
            casts: snapshot.casts().iter().filter(cast_goes).cloned().collect(),
            extensions: snapshot.extensions().iter().filter(|one| inside(&one.schema)).cloned().collect(),
            tables: relations().filter_map(Relation::as_table).cloned().collect(),
            views: relations().filter_map(Relation::as_view).cloned().collect(),
            sequences: relations().filter_map(Relation::as_sequence).cloned().collect(),
            functions: snapshot.functions_in(&schema.name).cloned().collect(),
            types: types.iter().copied().cloned().collect(),
            statistics: snapshot
                .statistics_in(&schema.name)
                .filter(|one| snapshot.table_by_oid(one.table).is_some_and(|table| !inside(&table.schema)))
                .cloned()
                .collect(),
            collations: snapshot
                .collations()
                .into_iter()
                .filter(|one| inside(&one.collation.schema))
                .collect(),
        }
    }

    /// All of it that others may need.
    pub(super) fn lost(&self) -> Vec<Lost> {
        let tables = self.tables.iter().map(|table| Lost::Relation(table.oid));
        let views = self.views.iter().map(|view| Lost::Relation(view.oid));
        let sequences = self.sequences.iter().map(|sequence| Lost::Relation(sequence.oid));
        let types = self.types.iter().map(|ty| Lost::Type(ty.oid));
        let functions = self.functions.iter().map(|function| Lost::Function(function.oid));
        let all = tables.chain(views).chain(sequences).chain(types).chain(functions);
        all.chain(self.others()).collect()
    }

    /// Its collations, and the operators that go with it.
    pub(super) fn others(&self) -> Vec<Lost> {
        let operators = self.operators.iter().map(|one| Lost::Other(one.oid));
        operators.chain(self.collations.iter().map(|one| Lost::Other(one.oid()))).collect()
    }

    /// The operators that are in it themselves.
    pub(super) fn own_operators(&self) -> Vec<Arc<OperatorDef>> {
        self.operators.iter().filter(|one| one.schema == self.name).cloned().collect()
    }

    /// The rest, as objects.
    pub(super) fn objects(&self) -> Vec<Object> {
        let tables = self.tables.iter().map(|one| Object::Relation(one.oid));
        let views = self.views.iter().map(|one| Object::Relation(one.oid));
        let sequences = self.sequences.iter().map(|one| Object::Relation(one.oid));
        let types = self.types.iter().map(|one| Object::Type(one.oid));
        let functions = self.functions.iter().map(|one| Object::Function(one.oid));
        tables.chain(views).chain(sequences).chain(types).chain(functions).collect()
    }

    /// What of it needs the schema, in PostgreSQL's words.
    pub(super) fn names(&self, snapshot: &CatalogSnapshot) -> Vec<String> {
        self.entries(snapshot).into_iter().map(|(_, what)| what).collect()
    }

    /// The same, with its numbers. Parts go with the whole: partitions, sequences of columns, what a type has brought along.
    fn entries(&self, snapshot: &CatalogSnapshot) -> Vec<(Oid, String)> {
        let mut all: Vec<(Oid, String)> = Vec::new();
        let is_part = |table: &TableDef| {
            let parent = table.partition_of.as_ref().map(|of| of.parent);
            parent.is_some_and(|parent| self.tables.iter().any(|other| other.oid == parent))
        };
        let tables = self.tables.iter().filter(|table| !is_part(table)).map(|one| one.oid);
        let loose = self.sequences.iter().filter(|sequence| sequence.owned_by.is_none());
        let relations = tables.chain(self.views.iter().map(|one| one.oid)).chain(loose.map(|one| one.oid));
        all.extend(relations.map(|oid| (oid, named(snapshot, Lost::Relation(oid)))));
        let statistics = self.statistics.iter();
        all.extend(
            statistics.map(|one| (one.oid, format!("statistics object {}", shown_statistics(snapshot, one)))),
        );
        let functions = self.functions.iter().filter(|one| !one.is_range_constructor());
        all.extend(functions.map(|one| (one.oid, function_name(snapshot, one))));
        let is_own = |ty: &&Arc<TypeDef>| !ty.is_of_extension() && !matches!(ty.ty, SqlType::Multirange(_));
        let types = self.types.iter().filter(is_own);
        all.extend(types.map(|one| (one.oid, named(snapshot, Lost::Type(one.oid)))));
        all.extend(self.collations.iter().map(|one| (one.oid(), named(snapshot, Lost::Other(one.oid())))));
        all.extend(self.own_operators().iter().map(|one| (one.oid, operator_name(snapshot, one))));
        all.extend(self.extensions.iter().map(|one| (one.oid, format!("extension {}", one.name))));
        all.sort();
        all
    }
}

/// What is in a schema, with its numbers, in PostgreSQL's words.
pub(super) fn contents_of(snapshot: &CatalogSnapshot, schema: &SchemaDef) -> Vec<(Oid, String)> {
    Contents::of(snapshot, schema).entries(snapshot)
}

/// The schema of that name, if it may be changed.
fn find_schema(snapshot: &CatalogSnapshot, name: &str) -> Result<Arc<SchemaDef>, CatalogError> {
    let schema = snapshot.schema(name).ok_or_else(|| CatalogError::missing(ObjectKind::Schema, name))?;
    if name == PG_CATALOG {
        return Err(CatalogError::SystemObject { name: name.to_string() });
    }
    Ok(Arc::clone(schema))
}
