//! CREATE TYPE … AS (…) and ALTER TYPE of what it makes. A composite type goes as other types do (`types.rs`).
//!
//! Its fields are rows of `pg_attribute` that have the type's number where columns have their table's: a composite type has no
//! row in `pg_class`.

use std::sync::Arc;

use verso_storage::Txn;
use verso_types::SqlType;
use verso_types::composite::{CompositeName, DEPTH_MAX};

use super::claim::NameOf;
use super::needing::shown_type;
use super::target_schema;
use super::types::{TypeUses, array_name};
use crate::catalog::Catalog;
use crate::definition::{Oid, TypeDef};
use crate::error::{CatalogError, ObjectKind};
use crate::request::NewComposite;
use crate::system::row::AttributeRow;
use crate::system::types::composite_rows;

/// As many fields as PostgreSQL's composite types have.
const FIELDS_MAX: usize = 1600;

impl Catalog {
    /// Makes a composite type.
    ///
    /// # Errors
    /// `Exists`, `Missing` (the schema), `SystemObject`, `InvalidDefinition` (42701: a field that comes twice, 54011: too many
    /// fields, 54001: types too deep in each other); storage's.
    pub fn create_composite(&self, txn: &mut Txn, new: &NewComposite) -> Result<Oid, CatalogError> {
        let snapshot = self.snapshot(txn)?;
        let schema = target_schema(&snapshot, Some(&new.schema))?;
        check_fields(&new.fields)?;
        self.hold_schema(txn, &schema)?;
        self.hold_types(txn, &snapshot, &schema.name, new.fields.iter().map(|(_, ty)| ty))?;
        self.take_type_name(txn, &snapshot, &schema, &new.name)?;
        if !self.take_name(txn, &schema.name, &new.name)? {
            return Err(CatalogError::exists(ObjectKind::Table, &*new.name));
        }
        // As in PostgreSQL the array has the smaller number.
        let (array, oid) = (self.new_oid()?, self.new_oid()?);
        let of = CompositeName {
            oid: oid.0,
            array: array.0,
            schema: Arc::clone(&schema.name),
            name: Arc::clone(&new.name),
        };
        let (types, fields) = composite_rows(&of, &new.fields, &array_name(&new.name), schema.oid);
        self.hold(txn, oid)?;
        self.change(txn, |txn| {
            self.insert_rows(txn, &types)?;
            self.insert_rows(txn, &fields)
        })?;
        Ok(oid)
    }

    /// Gives a composite type that nothing holds other fields; with `in_columns` columns of tables may, whose values are the
    /// caller's business.
    ///
    /// # Errors
    /// `InvalidDefinition` (42701: a field that comes twice, 0A000: something holds the type); storage's.
    pub fn alter_composite(
        &self,
        txn: &mut Txn,
        ty: &TypeDef,
        fields: &[(Arc<str>, SqlType)],
        in_columns: bool,
    ) -> Result<(), CatalogError> {
        let SqlType::Row(old) = &ty.ty else { return Ok(()) };
        let Some(of) = &old.of else { return Ok(()) };
        let snapshot = self.snapshot(txn)?;
        check_fields(fields)?;
        let mut uses = TypeUses::of(&snapshot, ty);
        // Typed tables are changed by the caller, too.
        uses.tables.clear();
        if in_columns {
            uses.columns.clear();
        }
        if let Some(holder) = uses.holder(&snapshot, ty) {
            let name = shown_type(&snapshot, ty);
            let text = format!("cannot alter type \"{name}\" because {holder} uses it");
            return Err(CatalogError::invalid("0A000", text));
        }
        self.hold_types(txn, &snapshot, &ty.schema, fields.iter().map(|(_, ty)| ty))?;
        self.lock_name(txn, NameOf::Type, [&ty.schema, &ty.name])?;
        self.lock_made(txn, &snapshot, ty.oid)?;
        let (_, rows) = composite_rows(of, fields, &array_name(&ty.name), Oid(0));
        self.change(txn, |txn| {
            self.delete_rows(txn, ty.oid, |row: &AttributeRow| row.attrelid == ty.oid)?;
            self.insert_rows(txn, &rows)
        })
    }
}

fn check_fields(fields: &[(Arc<str>, SqlType)]) -> Result<(), CatalogError> {
    if fields.len() > FIELDS_MAX {
        return Err(CatalogError::invalid("54011", format!("tables can have at most {FIELDS_MAX} columns")));
    }
    for (n, (name, ty)) in fields.iter().enumerate() {
        if fields[..n].iter().any(|(known, _)| known == name) {
            return Err(CatalogError::invalid(
                "42701",
                format!("column \"{name}\" specified more than once"),
            ));
        }
        check_depth(&ty.erased())?;
    }
    Ok(())
}

/// Refuses a field or column in which as many composite types are in each other as may be.
pub(super) fn check_depth(ty: &SqlType) -> Result<(), CatalogError> {
    match ty.composite_depth() >= DEPTH_MAX {
        true => Err(CatalogError::invalid("54001", "composite types are too deep in each other")),
        false => Ok(()),
    }
}
