//! CREATE COLLATION, ALTER COLLATION, DROP COLLATION; indexes whose keys were made from other data.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use verso_storage::Txn;
use verso_types::{Collation, CollationData, Collator, SqlType};

use super::alter::mentions;
use super::claim::NameOf;
use super::needing::{Lost, Needing, each_once, named, shown, shown_type, view_name};
use super::{refuse_if_needed, target_schema};
use crate::catalog::Catalog;
use crate::collation::{CollationDef, system_collation, system_collation_name};
use crate::definition::{ColumnDef, IndexDef, Oid};
use crate::error::{CatalogError, ObjectKind};
use crate::kept::objects_of;
use crate::snapshot::{CatalogSnapshot, Relation};
use crate::store::{self, Of};
use crate::system::field::{Letter, Name};
use crate::system::row::{ClassRow, CollatedRow, CollationRow, IndexRow, TypeRow};

/// CREATE COLLATION.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewCollation {
    /// The schema.
    pub schema: Arc<str>,
    /// The name.
    pub name: Arc<str>,
    /// `i`, or `b` and `c` for one by bytes.
    pub provider: char,
    /// ICU's locale; of one by bytes nothing.
    pub locale: Option<Arc<str>>,
    /// Whether only texts of the same bytes are equal.
    pub deterministic: bool,
}

/// What ALTER COLLATION changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollationChange {
    /// RENAME TO.
    Name(Arc<str>),
    /// SET SCHEMA.
    Schema(Arc<str>),
    /// REFRESH VERSION.
    Version,
    /// OWNER TO.
    Owner(Oid),
}

impl Catalog {
    /// The data that keys of collations are made from.
    pub fn collation_data(&self) -> CollationData {
        self.engine.options().collation_data
    }

    /// Makes a collation of a role.
    ///
    /// # Errors
    /// `Exists`, `Missing` (the schema), `SystemObject`, `InvalidDefinition` for a locale that is none; storage's.
    pub fn create_collation(
        &self,
        txn: &mut Txn,
        new: &NewCollation,
        owner: Oid,
    ) -> Result<Oid, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let data = self.collation_data();
        if new.provider == 'i' {
            let locale = new.locale.as_deref().unwrap_or_default();
            Collator::new(locale, new.deterministic, data)
                .map_err(|error| CatalogError::invalid(error.sqlstate, error.message))?;
        }
        let schema = target_schema(&snapshot, Some(&new.schema))?;
        self.hold_schema(txn, &schema)?;
        self.take_collation_name(txn, &snapshot, &schema.name, &new.name)?;
        let oid = self.new_oid()?;
        self.makes(txn, oid)?;
        let row = CollationRow {
            oid,
            collname: Name(Arc::clone(&new.name)),
            collnamespace: schema.oid,
            collowner: owner,
            collprovider: Letter(new.provider),
            collisdeterministic: new.deterministic,
            colllocale: new.locale.clone(),
            collversion: (new.provider == 'i').then(|| data.version().into()),
        };
        self.change(txn, |txn| self.insert_rows(txn, std::slice::from_ref(&row)))?;
        Ok(oid)
    }

    fn take_collation_name(
        &self,
        txn: &mut Txn,
        snapshot: &CatalogSnapshot,
        schema: &str,
        name: &str,
    ) -> Result<(), CatalogError> {
        let exists = || Err(CatalogError::exists(ObjectKind::Collation, name));
        if snapshot.collation(Some(schema), name).is_some() {
            return exists();
        }
        self.lock_name(txn, NameOf::Collation, [schema, name])?;
        match self.committed()?.collation(Some(schema), name) {
            Some(other) if !self.is_removed(txn, other.oid()) => exists(),
            _ => Ok(()),
        }
    }

    /// Changes a collation.
    ///
    /// # Errors
    /// `Exists`, `Missing`; storage's.
    pub fn alter_collation(
        &self,
        txn: &mut Txn,
        collation: &CollationDef,
        change: &CollationChange,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let (oid, known) = (collation.oid(), &collation.collation);
        if oid.is_system() {
            return Err(CatalogError::SystemObject { name: known.name.to_string() });
        }
        let moved = match change {
            CollationChange::Version | CollationChange::Owner(_) => None,
            CollationChange::Name(name) => Some((Arc::clone(&known.schema), Arc::clone(name))),
            CollationChange::Schema(schema) => Some((Arc::clone(schema), Arc::clone(&known.name))),
        };
        let place = match &moved {
            None => None,
            Some((schema, name)) => {
                let schema = target_schema(&snapshot, Some(schema))?;
                self.hold_schema(txn, &schema)?;
                self.take_collation_name(txn, &snapshot, &schema.name, name)?;
                Some((schema.oid, Arc::clone(name)))
            }
        };
        self.lock_name(txn, NameOf::Collation, [&known.schema, &known.name])?;
        self.check_same(txn, &snapshot, [oid])?;
        let version: Arc<str> = self.collation_data().version().into();
        self.change(txn, |txn| {
            let is_it = |row: &CollationRow| row.oid == oid;
            self.update_rows(txn, Of::All, is_it, |row| match (&place, change) {
                (Some((schema, name)), _) => {
                    row.collnamespace = *schema;
                    row.collname = Name(Arc::clone(name));
                }
                (None, CollationChange::Owner(owner)) => row.collowner = *owner,
                (None, _) => row.collversion = row.collversion.is_some().then(|| Arc::clone(&version)),
            })
            .map(drop)
        })
    }

    /// Drops a collation; with `cascade` also what names it in a text: that, in PostgreSQL's words. What else needs it is the caller's to
    /// drop first ([`collation_uses`]), as a column goes by a copy of its table.
    ///
    /// # Errors
    /// `Needed`, `SystemObject`; storage's.
    pub fn drop_collation(
        &self,
        txn: &mut Txn,
        collation: &CollationDef,
        cascade: bool,
    ) -> Result<Vec<String>, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let (oid, known) = (collation.oid(), &collation.collation);
        if oid.is_system() {
            return Err(CatalogError::SystemObject { name: known.name.to_string() });
        }
        // Those whose texts name it by number are among the others.
        let by_name = |one: &CollationUse| match one {
            CollationUse::View(view) => snapshot
                .all_views()
                .any(|known| known.oid == *view && !objects_of(&known.query.text).contains(&oid)),
            _ => true,
        };
        let uses = collation_uses(&snapshot, known).into_iter().filter(|(one, _)| by_name(one));
        let what = named(&snapshot, Lost::Other(oid));
        let mut lines: Vec<String> = uses.map(|(_, one)| format!("{one} depends on {what}")).collect();
        let needing = Needing::of(&snapshot, &[Lost::Other(oid)]);
        if !cascade || !lines.is_empty() {
            lines.extend(needing.lines(&snapshot));
            refuse_if_needed(what, each_once(lines))?;
        }
        self.lock_name(txn, NameOf::Collation, [&known.schema, &known.name])?;
        self.change(txn, |txn| {
            self.remove_needing(txn, &snapshot, &needing)?;
            self.remove_collation(txn, &snapshot, oid)
        })?;
        Ok(needing.names(&snapshot))
    }

    /// Removes the rows of a collation of which nothing that stays is made in `seen` (L4); the change has begun.
    pub(super) fn remove_collation(
        &self,
        txn: &mut Txn,
        seen: &CatalogSnapshot,
        oid: Oid,
    ) -> Result<(), CatalogError> {
        self.lock_name(txn, NameOf::Made, [&oid.0.to_string(), ""])?;
        // Views of earlier releases name it by its name.
        self.check_newest(txn, seen)?;
        let gone = self.remove_objects(txn, Of::All, |row: &CollationRow| row.oid == oid)?;
        if gone.is_empty() {
            return Err(CatalogError::missing(ObjectKind::Collation, ""));
        }
        self.removes(txn, oid)
    }

    /// Writes the collations of columns of a relation, which may have had others.
    pub(super) fn write_collations(
        &self,
        txn: &mut Txn,
        relation: Oid,
        columns: &[ColumnDef],
    ) -> Result<(), CatalogError> {
        let own = |row: &CollatedRow| {
            row.objid == relation && columns.iter().any(|column| row.objsubid == i32::from(column.id))
        };
        self.delete_rows(txn, relation, own)?;
        let row = |column: &ColumnDef| match column.declared() {
            SqlType::Collated(collated) => Some(CollatedRow {
                objid: relation,
                objsubid: i32::from(column.id),
                collation: Oid(collated.collation.oid),
                version: None,
            }),
            _ => None,
        };
        let rows: Vec<CollatedRow> = columns.iter().filter_map(row).collect();
        self.insert_rows(txn, &rows)
    }

    /// Writes the collations of an index of a table with these columns, and from which data its keys are made. Those that its
    /// expressions and its condition use stand behind those of its parts, with numbers below 0.
    pub(super) fn write_index_collations(
        &self,
        txn: &mut Txn,
        columns: &[ColumnDef],
        index: &IndexDef,
    ) -> Result<(), CatalogError> {
        self.delete_rows(txn, index.oid, |row: &CollatedRow| row.objid == index.oid)?;
        let parts = (1..).zip(&index.parts).filter_map(|(number, part)| {
            let collation = part.collation.as_ref()?;
            let version = collation.collator.map(|collator| collator.version().into());
            Some(CollatedRow { objid: index.oid, objsubid: number, collation: Oid(collation.oid), version })
        });
        let mut rows: Vec<CollatedRow> = parts.collect();
        let within = self.collations_within(txn, columns, index)?;
        let version: Arc<str> = self.collation_data().version().into();
        rows.extend((1..).zip(within).map(|(number, collation)| CollatedRow {
            objid: index.oid,
            objsubid: -number,
            collation,
            version: Some(Arc::clone(&version)),
        }));
        self.insert_rows(txn, &rows)
    }

    /// The collations of ICU that the expressions and the condition of an index may use: those of the columns, domains and COLLATE
    /// that they name.
    fn collations_within(
        &self,
        txn: &Txn,
        columns: &[ColumnDef],
        index: &IndexDef,
    ) -> Result<BTreeSet<Oid>, CatalogError> {
        let hidden =
            columns.iter().filter(|column| column.is_hidden() && index.columns().any(|id| id == column.id));
        let texts = hidden.filter_map(|column| column.default.as_deref());
        let texts: Vec<&str> = texts.collect();
        let numbers: BTreeSet<Oid> = texts.iter().flat_map(|text| objects_of(text)).collect();
        let names: HashSet<String> = texts.into_iter().flat_map(verso_parser::all_names).collect();
        let mut found = BTreeSet::new();
        if names.is_empty() {
            return Ok(found);
        }
        let data = self.collation_data();
        let is_icu = |one: &CollationDef| one.collation.collator.is_some();
        let system = names.iter().filter_map(|name| system_collation(name, data)).filter(is_icu);
        found.extend(system.map(|one| one.oid()));
        let users: Vec<CollationRow> = self.read_all(txn)?;
        let users: Vec<CollationRow> = users.into_iter().filter(|row| row.collprovider.0 == 'i').collect();
        let named = |row: &&CollationRow| names.contains(&*row.collname.0) || numbers.contains(&row.oid);
        found.extend(users.iter().filter(named).map(|row| row.oid));
        let named = columns.iter().filter(|column| names.contains(&*column.name));
        let declared = named.filter_map(|column| column.declared().collation());
        found.extend(declared.filter(|one| one.collator.is_some()).map(|one| Oid(one.oid)));
        let types: Vec<TypeRow> = self.read_all(txn)?;
        let is_named = |row: &&TypeRow| names.contains(&*row.typname.0) || numbers.contains(&row.oid);
        for ty in types.iter().filter(|row| !row.oid.is_system()).filter(is_named) {
            for row in self.read_of::<CollatedRow>(txn, ty.oid)? {
                let system = || system_collation(system_collation_name(row.collation.0)?, data);
                let icu =
                    users.iter().any(|one| one.oid == row.collation) || system().as_ref().is_some_and(is_icu);
                found.extend(icu.then_some(row.collation));
            }
        }
        Ok(found)
    }

    /// Removes what says which collations a relation's columns, an index's parts, a domain or the fields of a composite type have.
    pub(super) fn remove_collated(&self, txn: &mut Txn, of: Oid) -> Result<(), CatalogError> {
        self.delete_rows(txn, of, |row: &CollatedRow| row.objid == of).map(drop)
    }

    /// Takes indexes out of use whose keys were made from other data than the program's: their entries go, their definitions
    /// stay. How many.
    pub(crate) fn retire_indexes(
        engine: &verso_storage::Engine,
        txn: &mut Txn,
    ) -> Result<usize, CatalogError> {
        let current = engine.options().collation_data.version();
        let rows: Vec<CollatedRow> = store::read(engine, txn)?;
        let other = |row: &&CollatedRow| row.version.as_deref().is_some_and(|version| version != current);
        let mut old: Vec<Oid> = rows.iter().filter(other).map(|row| row.objid).collect();
        old.sort_unstable();
        old.dedup();
        if old.is_empty() {
            return Ok(0);
        }
        let mut retired = 0;
        let valid: Vec<IndexRow> = store::read(engine, txn)?;
        for index in valid.iter().filter(|row| row.indisvalid && old.contains(&row.indexrelid)) {
            let mut object = None;
            for class in store::read::<ClassRow>(engine, txn)? {
                if class.oid == index.indexrelid {
                    object = Some(verso_storage::ObjectId(class.relfilenode.0));
                }
            }
            store::update(
                engine,
                txn,
                |row: &ClassRow| row.oid == index.indexrelid,
                |row| row.relfilenode = Oid(0),
            )?;
            store::update(
                engine,
                txn,
                |row: &IndexRow| row.indexrelid == index.indexrelid,
                |row| row.indisvalid = false,
            )?;
            // No program has these data: also the one that has made the keys finds them gone when it comes back.
            store::update(
                engine,
                txn,
                |row: &CollatedRow| row.objid == index.indexrelid && row.version.is_some(),
                |row| row.version = Some("".into()),
            )?;
            if let Some(object) = object {
                engine.drop_object(txn, object)?;
            }
            retired += 1;
        }
        Ok(retired)
    }
}

/// Whether a column or an index of a table other than these has a collation.
pub(super) fn is_used_elsewhere(snapshot: &CatalogSnapshot, collation: &Collation, tables: &[Oid]) -> bool {
    let is_it = |other: &Collation| other.oid == collation.oid;
    snapshot.tables().filter(|table| !tables.contains(&table.oid)).any(|table| {
        let mut columns = table.columns.iter().filter_map(|column| column.declared().collation());
        let mut parts = table.all_indexes().flat_map(|index| &index.parts);
        let mut orders = table.partitioned.iter().flat_map(|own| &own.orders);
        columns.any(|one| is_it(&one))
            || parts.any(|part| part.collation.as_deref().is_some_and(is_it))
            || orders.any(|order| order.collation.as_deref().is_some_and(is_it))
    })
}

/// Something that needs a collation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CollationUse {
    /// A column of a table, or a field of a composite type.
    Column(Oid, u16),
    /// An index.
    Index(Oid),
    /// A CHECK of a table, by its name.
    Check(Oid, Arc<str>),
    /// A domain.
    Domain(Oid),
    /// A view.
    View(Oid),
    /// The key by which a table is divided.
    Key(Oid),
}

/// What needs a collation, with what it is called.
pub fn collation_uses(snapshot: &CatalogSnapshot, collation: &Collation) -> Vec<(CollationUse, String)> {
    let mut uses = Vec::new();
    let is_it = |ty: &SqlType| matches!(ty, SqlType::Collated(one) if one.collation.oid == collation.oid);
    for table in snapshot.tables() {
        // A column of the key takes the table along.
        let divided = table.divided_by();
        let mut divides = false;
        for column in table.columns.iter().filter(|column| !column.is_hidden() && is_it(column.declared())) {
            if divided.contains(&column.id) {
                divides = true;
                continue;
            }
            let name = named(snapshot, Lost::Column(table.oid, column.id));
            uses.push((CollationUse::Column(table.oid, column.id), name));
        }
        let mut orders = table.partitioned.iter().flat_map(|own| &own.orders);
        if divides || orders.any(|order| order.collation.as_ref().is_some_and(|one| one.oid == collation.oid))
        {
            let name = named(snapshot, Lost::Relation(table.oid));
            uses.push((CollationUse::Key(table.oid), name));
        }
        for index in table.all_indexes() {
            let collations = index.parts.iter().filter_map(|part| part.collation.as_ref());
            let hidden = table
                .columns
                .iter()
                .filter(|column| column.is_hidden() && index.columns().any(|id| id == column.id));
            let mut texts = hidden.filter_map(|column| column.default.as_deref());
            if collations.map(|one| one.oid).any(|oid| oid == collation.oid)
                || texts.any(|text| mentions(text, &collation.name))
            {
                let name = match table.constraint(&index.name) {
                    Some(constraint) => {
                        format!(
                            "constraint {} on {}",
                            constraint.name,
                            named(snapshot, Lost::Relation(table.oid))
                        )
                    }
                    None => format!("index {}", shown(snapshot, &Relation::Index(Arc::clone(index)))),
                };
                uses.push((CollationUse::Index(index.oid), name));
            }
        }
        for constraint in &table.constraints {
            if let crate::definition::ConstraintKind::Check { expression } = &constraint.kind
                && mentions(expression, &collation.name)
            {
                let on = named(snapshot, Lost::Relation(table.oid));
                let name = format!("constraint {} on {on}", constraint.name);
                uses.push((CollationUse::Check(table.oid, Arc::clone(&constraint.name)), name));
            }
        }
    }
    for ty in snapshot.types() {
        if let SqlType::Domain(domain) = &ty.ty
            && is_it(&domain.base)
        {
            uses.push((CollationUse::Domain(ty.oid), format!("type {}", shown_type(snapshot, ty))));
        }
        if let SqlType::Row(row) = &ty.ty {
            let fields = row.as_written().zip(&ty.fields);
            for (_, id) in fields.filter(|((_, field), _)| is_it(field)) {
                let name = named(snapshot, Lost::Column(ty.oid, *id));
                uses.push((CollationUse::Column(ty.oid, *id), name));
            }
        }
    }
    for view in snapshot.all_views() {
        let text = &view.query.text;
        let numbered = objects_of(text).iter().any(|oid| snapshot.collation_by_oid(oid.0).is_some());
        if objects_of(text).contains(&Oid(collation.oid)) || !numbered && mentions(text, &collation.name) {
            uses.push((CollationUse::View(view.oid), view_name(snapshot, &view)));
        }
    }
    uses
}
