//! Users' types: from and to rows of `pg_type` and `pg_enum`.

use std::collections::HashMap;
use std::sync::Arc;

use verso_types::{EnumLabel, EnumType, SqlType};

use super::assemble::corrupt;
use super::field::{Letter, Name};
use super::row::{EnumRow, TypeRow};
use super::{OWNER_OID, TYPE_ENUM};
use crate::definition::{Oid, TypeDef};
use crate::error::CatalogError;

/// The types that users have made, as the rows have them.
#[derive(Debug, Default)]
pub(super) struct UserTypes {
    definitions: Vec<TypeDef>,
    /// Types and their arrays.
    by_oid: HashMap<Oid, SqlType>,
}

impl UserTypes {
    /// The types of these rows; those of the system are passed over.
    pub(super) fn of(
        rows: Vec<TypeRow>,
        labels: Vec<EnumRow>,
        schema_of: &dyn Fn(Oid) -> Result<Arc<str>, CatalogError>,
    ) -> Result<UserTypes, CatalogError> {
        let mut types = UserTypes::default();
        let mut labels_of: HashMap<Oid, Vec<EnumLabel>> = HashMap::new();
        for row in labels {
            let label = EnumLabel { oid: row.oid.0, place: row.enumsortorder, name: row.enumlabel.0 };
            labels_of.entry(row.enumtypid).or_default().push(label);
        }
        for row in rows.into_iter().filter(|row| !row.oid.is_system() && row.typelem == Oid(0)) {
            let schema = schema_of(row.typnamespace)?;
            let name = row.typname.0;
            let ty = match row.typtype.0 {
                TYPE_ENUM => {
                    let mut labels = labels_of.remove(&row.oid).unwrap_or_default();
                    labels.sort_by_key(|label| label.place);
                    let (schema, name) = (Arc::clone(&schema), Arc::clone(&name));
                    let ty = EnumType { oid: row.oid.0, array: row.typarray.0, schema, name, labels };
                    SqlType::Enum(Arc::new(ty))
                }
                kind => return Err(corrupt(format!("type \"{name}\" is of unknown kind \"{kind}\""))),
            };
            types.by_oid.insert(row.typarray, SqlType::Array(Box::new(ty.clone())));
            types.by_oid.insert(row.oid, ty.clone());
            types.definitions.push(TypeDef { oid: row.oid, array: row.typarray, schema, name, ty });
        }
        Ok(types)
    }

    /// The definitions.
    pub(super) fn definitions(&self) -> &[TypeDef] {
        &self.definitions
    }

    /// The type with this number and modifier, the system's own and arrays included.
    pub(super) fn of_oid(&self, oid: Oid, typmod: i32) -> Result<SqlType, CatalogError> {
        if !oid.is_system() {
            let found = self.by_oid.get(&oid).cloned();
            return found.ok_or_else(|| corrupt(format!("type {oid} is not known")));
        }
        SqlType::from_pg_oid(oid.0, typmod).ok_or_else(|| corrupt(format!("type {oid} is not known")))
    }
}

/// The rows of an enum type: its own, its array's, and its labels'.
pub(crate) fn enum_rows(ty: &EnumType, array_name: &Arc<str>, schema: Oid) -> ([TypeRow; 2], Vec<EnumRow>) {
    let row = TypeRow {
        oid: Oid(ty.oid),
        typname: Name(Arc::clone(&ty.name)),
        typnamespace: schema,
        typowner: OWNER_OID,
        typlen: 4,
        typtype: Letter(TYPE_ENUM),
        typcategory: Letter('E'),
        typelem: Oid(0),
        typarray: Oid(ty.array),
    };
    let array = TypeRow {
        oid: Oid(ty.array),
        typname: Name(Arc::clone(array_name)),
        typlen: -1,
        typtype: Letter('b'),
        typcategory: Letter('A'),
        typelem: Oid(ty.oid),
        typarray: Oid(0),
        ..row.clone()
    };
    let labels = ty.labels.iter().map(|label| label_row(Oid(ty.oid), label)).collect();
    ([row, array], labels)
}

/// The row of a label.
pub(crate) fn label_row(ty: Oid, label: &EnumLabel) -> EnumRow {
    EnumRow {
        oid: Oid(label.oid),
        enumtypid: ty,
        enumsortorder: label.place,
        enumlabel: Name(Arc::clone(&label.name)),
    }
}
