//! Definitions that could not be read: a row of a system table that says nothing sensible costs the object that it describes, and
//! not the database.
//!
//! ```text
//! pg_attribute: column b of table 16400 has type 99999 ─► 16400: "column "b": type 99999 is not known"
//!                                                        │
//!      SELECT, INSERT, ALTER TABLE … of it: XX001 ◄──────┤
//!      DROP TABLE, verso check, all other objects: work ◄┘
//! ```
//!
//! D1. A damaged object has its number, its schema and its name, so that it can be dropped. What else its definition says is what
//!     could be read of it, and nobody relies on that: whoever uses an object asks [`CatalogSnapshot::check_whole`] first.
//! D2. What is made of something damaged is damaged itself: a table with a column of a type that could not be read.
//! D3. A version of the catalog with damage is read whole, and no other version is made from it: whether an object is damaged
//!     follows from all rows.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use crate::definition::Oid;
use crate::error::CatalogError;
use crate::snapshot::{CatalogSnapshot, Relation};

/// What is wrong with which object, gathered while a version of the catalog is put together.
#[derive(Debug, Default)]
pub(crate) struct Flaws(RefCell<BTreeMap<Oid, Arc<str>>>);

impl Flaws {
    /// Something is wrong with an object. What was found first is told.
    pub fn note(&self, oid: Oid, flaw: impl Into<Arc<str>>) {
        self.0.borrow_mut().entry(oid).or_insert_with(|| flaw.into());
    }

    /// The same, of a row that could not be read.
    pub fn note_error(&self, oid: Oid, error: CatalogError) {
        let flaw = match error {
            CatalogError::Corrupt { what } => what,
            other => other.to_string(),
        };
        self.note(oid, flaw);
    }

    /// Whether something was noted of an object.
    pub fn has(&self, oid: Oid) -> bool {
        self.0.borrow().contains_key(&oid)
    }

    /// All that was noted, by object.
    pub fn into_inner(self) -> BTreeMap<Oid, Arc<str>> {
        self.0.into_inner()
    }
}

/// An object whose definition could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its number.
    pub oid: Oid,
    /// Its kind and its name, as DROP wants them.
    pub object: String,
    /// What is wrong.
    pub flaw: Arc<str>,
}

impl fmt::Display for Damage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "catalog: {} is damaged (rule D1): {}", self.object, self.flaw)
    }
}

impl CatalogSnapshot {
    /// Fails where the definition of an object could not be read (D1).
    ///
    /// # Errors
    /// `Damaged`.
    pub fn check_whole(&self, oid: Oid) -> Result<(), CatalogError> {
        match self.contents().damage.get(&oid) {
            None => Ok(()),
            Some(flaw) => {
                Err(CatalogError::Damaged { object: self.object_in_words(oid), flaw: Arc::clone(flaw) })
            }
        }
    }

    /// Whether the definition of an object could not be read.
    pub fn is_damaged(&self, oid: Oid) -> bool {
        self.contents().damage.get(&oid).is_some()
    }

    /// Whether there is an object that is damaged.
    pub fn has_damage(&self) -> bool {
        !self.contents().damage.is_empty()
    }

    /// Whether an object is damaged that is not in an earlier version of the catalog.
    pub(crate) fn has_damage_beyond(&self, before: &CatalogSnapshot) -> bool {
        self.contents().damage.iter().any(|(oid, _)| !before.is_damaged(*oid))
    }

    /// The objects whose definitions could not be read, by number.
    pub fn damage(&self) -> Vec<Damage> {
        let all = self.contents().damage.iter();
        all.map(|(oid, flaw)| {
            let object = self.object_in_words(*oid);
            Damage { oid: *oid, object, flaw: Arc::clone(flaw) }
        })
        .collect()
    }

    /// The same catalog without what is damaged, and without the views that show it: what a backup can write. Beside it what was
    /// left out, in words.
    pub fn without_damage(self: &Arc<Self>) -> (Arc<CatalogSnapshot>, Vec<String>) {
        if !self.has_damage() {
            return (Arc::clone(self), Vec::new());
        }
        let mut told: Vec<String> =
            self.damage().iter().map(|one| format!("{} is damaged: {}", one.object, one.flaw)).collect();
        let mut gone: BTreeSet<Oid> = BTreeSet::new();
        let mut next: Vec<Oid> = self.contents().damage.iter().map(|(oid, _)| *oid).collect();
        while let Some(oid) = next.pop() {
            if !gone.insert(oid) {
                continue;
            }
            if let Some(table) = self.relation_by_oid(oid).and_then(Relation::as_table) {
                gone.extend(table.all_indexes().map(|index| index.oid));
                let owned = self.sequences_of(oid).into_iter().map(|sequence| sequence.oid);
                gone.extend(owned);
            }
            for view in self.naming(oid).views().filter(|view| !gone.contains(&view.oid)) {
                told.push(format!("{} needs something that is damaged", self.object_in_words(view.oid)));
                next.push(view.oid);
            }
        }
        (self.less(&gone), told)
    }

    /// An object by its kind and name; by its number where nothing else is known of it.
    fn object_in_words(&self, oid: Oid) -> String {
        let place = |schema: &str, name: &str| {
            let [schema, name] = [schema, name].map(crate::ddl::quoted);
            format!("{schema}.{name}")
        };
        if let Some(relation) = self.relation_by_oid(oid) {
            return format!("{} {}", relation.kind(), place(relation.schema(), relation.name()));
        }
        if let Some(function) = self.function_by_oid(oid) {
            let kind = if function.is_procedure() { "procedure" } else { "function" };
            return format!("{kind} {}.{}", crate::ddl::quoted(&function.schema), function.signature());
        }
        if let Some(ty) = self.user_type(oid) {
            return format!("type {}", place(&ty.schema, &ty.name));
        }
        if let Some(schema) = self.schemas().find(|schema| schema.oid == oid) {
            return format!("schema {}", crate::ddl::quoted(&schema.name));
        }
        if let Some(cast) = self.cast_by_oid(oid) {
            let name =
                |oid: Oid| self.type_by_oid(oid.0, -1).map_or_else(|| oid.to_string(), |ty| ty.to_string());
            return format!("cast ({} AS {})", name(cast.source), name(cast.target));
        }
        if let Some(collation) = self.collation_by_oid(oid.0) {
            return format!("collation {}", place(&collation.collation.schema, &collation.collation.name));
        }
        format!("object {oid}")
    }
}
