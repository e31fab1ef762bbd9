//! CREATE TYPE … AS (…) and ALTER TYPE of what it makes. A composite type goes as other types do (`types.rs`).
//!
//! Its fields are rows of `pg_attribute` that have the type's number where columns have their table's: a composite type has no
//! row in `pg_class`. A field that goes leaves its row, as a dropped column does: its number is given to no other.

use std::collections::BTreeSet;
use std::sync::Arc;

use verso_storage::Txn;
use verso_types::SqlType;
use verso_types::composite::{CompositeName, DEPTH_MAX};

use super::alter::refuse_shown;
use super::claim::{NameOf, Taking};
use super::holding::{Holder, holders};
use super::needing::{Lost, Needing, shown_type};
use super::target_schema;
use super::types::array_name;
use crate::catalog::Catalog;
use crate::definition::{Oid, TableDef, TypeDef};
use crate::error::CatalogError;
use crate::request::NewComposite;
use crate::row_type::is_made_of;
use crate::snapshot::CatalogSnapshot;
use crate::system::field::Name;
use crate::system::row::{AttributeRow, CollatedRow};
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
        check_fields(new.fields.iter().map(|(name, ty)| (name, ty)))?;
        self.hold_schema(txn, &schema)?;
        self.hold_types(txn, &snapshot, &schema.name, new.fields.iter().map(|(_, ty)| ty))?;
        self.take_type_name(txn, &snapshot, &schema, (&new.name, Taking::Both))?;
        // As in PostgreSQL the array has the smaller number.
        let (array, oid) = (self.new_oid()?, self.new_oid()?);
        let of = CompositeName {
            oid: oid.0,
            array: array.0,
            schema: Arc::clone(&schema.name),
            name: Arc::clone(&new.name),
        };
        let numbered = (1..).zip(&new.fields).map(|(id, (name, ty))| (id, Arc::clone(name), ty.clone()));
        let fields: Vec<_> = numbered.collect();
        let collations = field_collations(oid, &fields);
        let (types, fields) = composite_rows(&of, &fields, &array_name(&new.name), schema.oid);
        self.makes(txn, oid)?;
        self.change(txn, |txn| {
            self.insert_rows(txn, &types)?;
            self.insert_rows(txn, &collations)?;
            self.insert_rows(txn, &fields)
        })?;
        Ok(oid)
    }

    /// Gives a composite type other fields. The values in columns are the caller's business, and so are its typed tables. What uses a
    /// field that goes refuses that, or goes along with `cascade`.
    ///
    /// # Errors
    /// `InvalidDefinition` (42701: a field that comes twice, 0A000: a column has values of a field that gets another type), `Needed`;
    /// storage's.
    pub fn alter_composite(
        &self,
        txn: &mut Txn,
        ty: &TypeDef,
        fields: &[ChangedField],
        cascade: bool,
    ) -> Result<(), CatalogError> {
        let SqlType::Row(old) = &ty.ty else { return Ok(()) };
        let Some(of) = &old.of else { return Ok(()) };
        let snapshot = self.snapshot(txn)?;
        check_fields(fields.iter().map(|field| (&field.name, &field.ty)))?;
        let is_retyped = |field: &ChangedField| {
            let before = field.id.and_then(|id| ty.field_with_id(id));
            before.is_some_and(|at| *old.written(at) != field.ty)
        };
        let retyped: Vec<&ChangedField> = fields.iter().filter(|field| is_retyped(field)).collect();
        if let (false, Some(column)) = (retyped.is_empty(), column_of(&snapshot, ty.oid)) {
            let name = shown_type(&snapshot, ty);
            let text = format!("cannot alter type \"{name}\" because column \"{column}\" uses it");
            return Err(CatalogError::invalid("0A000", text));
        }
        for field in retyped {
            refuse_shown(&snapshot, (ty.oid, field.id.unwrap_or(0)), &field.name)?;
        }
        let goes = |id: &&u16| !fields.iter().any(|field| field.id == Some(**id));
        let lost: Vec<Lost> = ty.fields.iter().filter(goes).map(|id| Lost::Column(ty.oid, *id)).collect();
        let needing = Needing::of(&snapshot, &lost);
        if !cascade {
            needing.refuse(&snapshot)?;
        }
        self.hold_types(txn, &snapshot, &ty.schema, fields.iter().map(|field| &field.ty))?;
        self.lock_name(txn, NameOf::Type, [&ty.schema, &ty.name])?;
        self.lock_made(txn, &snapshot, ty.oid)?;
        let mut gone: Vec<AttributeRow> = self.read_of(txn, ty.oid)?;
        gone.retain(|row| row.attrelid == ty.oid);
        // A number is nobody else's, so that kept texts tell a field from a later one.
        let highest = gone.iter().map(|row| row.attnum).max().unwrap_or(0);
        gone.retain(|row| row.attisdropped || lost.iter().any(|lost| is_number(*lost, row.attnum)));
        for row in gone.iter_mut().filter(|row| !row.attisdropped) {
            row.attisdropped = true;
            row.attname = Name(format!("........pg.dropped.{}........", row.attnum).into());
            row.atttypid = Oid(0);
            row.atttypmod = -1;
        }
        let mut next = u16::try_from(highest).unwrap_or(0);
        let numbered = fields.iter().map(|field| {
            let id = field.id.unwrap_or_else(|| {
                next = next.saturating_add(1);
                next
            });
            (id, Arc::clone(&field.name), field.ty.clone())
        });
        let numbered: Vec<_> = numbered.collect();
        if usize::from(next) > FIELDS_MAX {
            return Err(too_many());
        }
        let (_, mut rows) = composite_rows(of, &numbered, &array_name(&ty.name), Oid(0));
        rows.append(&mut gone);
        self.change(txn, |txn| {
            self.remove_needing(txn, &snapshot, &needing)?;
            for one in &lost {
                if let Lost::Column(of, id) = *one {
                    self.remove_hanging_on_column(txn, of, id)?;
                }
            }
            self.delete_rows(txn, ty.oid, |row: &AttributeRow| row.attrelid == ty.oid)?;
            self.remove_collated(txn, ty.oid)?;
            self.insert_rows(txn, &field_collations(ty.oid, &numbered))?;
            self.insert_rows(txn, &rows)
        })
    }

    /// The generated columns that name fields of a composite type, with their tables: they go along by a copy of these.
    pub fn generated_of_fields(
        snapshot: &CatalogSnapshot,
        ty: Oid,
        fields: &[u16],
    ) -> Vec<(Arc<TableDef>, Arc<str>)> {
        let of_field = |id: &u16| holders(snapshot, Lost::Column(ty, *id)).into_iter();
        let column = |holder: Holder| match holder {
            Holder::Generated(table, id) => {
                let name = Arc::clone(&table.columns[table.column_with_id(id)?].name);
                Some((table, name))
            }
            _ => None,
        };
        fields.iter().flat_map(of_field).filter_map(column).collect()
    }

    /// What goes along with fields of a composite type under CASCADE, in PostgreSQL's words.
    pub fn along_with_fields(snapshot: &CatalogSnapshot, ty: Oid, fields: &[u16]) -> Vec<String> {
        let lost: Vec<Lost> = fields.iter().map(|id| Lost::Column(ty, *id)).collect();
        Needing::of(snapshot, &lost).names(snapshot)
    }
}

/// A field of a composite type as it is to be: its number, unless it is a new one.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedField {
    /// The number that it has.
    pub id: Option<u16>,
    /// Its name, folded.
    pub name: Arc<str>,
    /// What it is declared as.
    pub ty: SqlType,
}

fn is_number(lost: Lost, number: i16) -> bool {
    matches!(lost, Lost::Column(_, id) if i32::from(id) == i32::from(number))
}

/// The first column of a table whose values are made of a type, with its table's name.
fn column_of(snapshot: &CatalogSnapshot, ty: Oid) -> Option<String> {
    let mut tables: Vec<_> = snapshot.naming(ty).tables().filter(|table| !table.is_system()).collect();
    tables.sort_by_key(|table| table.oid);
    tables.into_iter().find_map(|table| {
        let column = table.shown().iter().find(|column| is_made_of(column.declared(), ty))?;
        Some(format!("{}.{}", table.name, column.name))
    })
}

fn too_many() -> CatalogError {
    CatalogError::invalid("54011", format!("tables can have at most {FIELDS_MAX} columns"))
}

/// The rows that say which collations the numbered fields of a composite type have.
fn field_collations(of: Oid, fields: &[(u16, Arc<str>, SqlType)]) -> Vec<CollatedRow> {
    let row = |(id, _, ty): &(u16, Arc<str>, SqlType)| match ty {
        SqlType::Collated(collated) => Some(CollatedRow {
            objid: of,
            objsubid: i32::from(*id),
            collation: Oid(collated.collation.oid),
            version: None,
        }),
        _ => None,
    };
    fields.iter().filter_map(row).collect()
}

fn check_fields<'f>(
    fields: impl ExactSizeIterator<Item = (&'f Arc<str>, &'f SqlType)>,
) -> Result<(), CatalogError> {
    if fields.len() > FIELDS_MAX {
        return Err(too_many());
    }
    let mut names = BTreeSet::new();
    for (name, ty) in fields {
        if !names.insert(name) {
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
