//! CREATE EXTENSION, DROP EXTENSION. What an extension brings is a part of the program; the catalog remembers which ones
//! a database has asked for.

use std::sync::Arc;

use verso_storage::Txn;

use super::claim::{NameOf, Taking};
use super::types::TypeUses;
use super::{refuse_if_needed, target_schema};
use crate::catalog::Catalog;
use crate::definition::{ExtensionDef, Oid};
use crate::error::CatalogError;
use crate::extensions::types_of;
use crate::store::Of;
use crate::system::field::Name;
use crate::system::row::ExtensionRow;

impl Catalog {
    /// Notes that a database has an extension.
    ///
    /// # Errors
    /// `InvalidDefinition` (42710) where it has it; `Missing` (the schema); `Exists` (a type of the name of one that it brings); storage's.
    pub fn create_extension(
        &self,
        txn: &mut Txn,
        schema: &str,
        name: &Arc<str>,
        version: &str,
        owner: Oid,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(&schema.into()))?;
        self.hold_schema(txn, &schema)?;
        self.lock_name(txn, NameOf::Extension, ["", name])?;
        let newest = self.committed()?;
        let stays = |other: &ExtensionDef| !self.is_removed(txn, other.oid);
        if snapshot.extension(name).is_some() || newest.extension(name).is_some_and(stays) {
            let text = format!("extension \"{name}\" already exists");
            return Err(CatalogError::invalid("42710", text));
        }
        for ty in types_of(name, &schema.name) {
            self.take_type_name(txn, &snapshot, &schema, (&ty.name, Taking::Type))?;
            self.hold(txn, ty.oid)?;
        }
        let oid = self.new_oid()?;
        self.makes(txn, oid)?;
        let row = ExtensionRow {
            oid,
            extname: Name(Arc::clone(name)),
            extowner: owner,
            extnamespace: schema.oid,
            extversion: version.into(),
        };
        self.change(txn, |txn| self.insert_rows(txn, std::slice::from_ref(&row)))
    }

    /// Moves an extension to another schema, as far as the catalog tells where it is.
    ///
    /// # Errors
    /// `Missing` (the schema); storage's.
    pub fn move_extension(
        &self,
        txn: &mut Txn,
        extension: &ExtensionDef,
        schema: &str,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(&schema.into()))?;
        self.hold_schema(txn, &schema)?;
        if schema.name != extension.schema {
            for ty in types_of(&extension.name, &schema.name) {
                self.take_type_name(txn, &snapshot, &schema, (&ty.name, Taking::Type))?;
            }
        }
        self.change(txn, |txn| {
            let is_it = |row: &ExtensionRow| row.oid == extension.oid;
            self.update_rows(txn, Of::All, is_it, |row| row.extnamespace = schema.oid).map(drop)
        })
    }

    /// Forgets an extension and the comment on it; with `cascade` the functions, views and the like that need a type that it brings go,
    /// too.
    ///
    /// # Errors
    /// `Needed` while something is of a type that it brings; storage's.
    pub fn drop_extension(
        &self,
        txn: &mut Txn,
        extension: &ExtensionDef,
        cascade: bool,
    ) -> Result<(), CatalogError> {
        let snapshot = self.snapshot(txn)?;
        // Whoever comments on it ends first.
        self.lock_name(txn, NameOf::Made, [&extension.oid.0.to_string(), ""])?;
        for ty in extension.types() {
            let uses = TypeUses::of(&snapshot, &ty);
            if !cascade || uses.is_made_of() {
                refuse_if_needed(format!("extension {}", extension.name), uses.lines(&snapshot, &ty))?;
            }
            self.lock_made(txn, &snapshot, ty.oid)?;
            self.change(txn, |txn| self.remove_users(txn, &snapshot, &uses, &ty))?;
        }
        self.change(txn, |txn| {
            self.remove_objects(txn, Of::All, |row: &ExtensionRow| row.oid == extension.oid)?;
            self.removes(txn, extension.oid)?;
            // Their names are free for what the transaction makes next.
            extension.types().into_iter().try_for_each(|ty| self.removes(txn, ty.oid))
        })
    }
}
