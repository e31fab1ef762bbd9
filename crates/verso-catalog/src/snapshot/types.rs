//! What names and numbers of types and collations mean.

use std::sync::Arc;

use verso_types::{CollationData, NamedType, SqlType};

use super::relation::Relation;
use super::{CatalogSnapshot, PG_CATALOG};
use crate::collation::{CollationDef, system_collation, system_collation_by_oid};
use crate::definition::{Oid, TypeDef};
use crate::kept::number_of;
use crate::relations::{RelationId, SystemRelation};
use crate::row_type::relation_of;

/// Whether users have made a type, or what it is an array of: then its definition may change.
pub fn is_of_users(ty: &SqlType) -> bool {
    !Oid(ty.pg_oid()).is_system()
}

impl CatalogSnapshot {
    /// The user's type of that name.
    pub fn type_named(&self, schema: Option<&str>, name: &str) -> Option<&Arc<TypeDef>> {
        if let Some(oid) = number_of(schema) {
            return self.user_type(oid);
        }
        self.path(schema).find_map(|schema| schema.types.get(name))
    }

    /// What a name means where a type is wanted: a type that a user has made, or the type of a relation's rows.
    pub fn type_or_row(&self, schema: Option<&str>, name: &str) -> Option<Arc<TypeDef>> {
        if let Some(oid) = number_of(schema) {
            return self.type_or_row_by_oid(oid);
        }
        let found = self.path(schema).find_map(|schema| match schema.types.get(name) {
            Some(known) => Some(Arc::clone(known)),
            None => schema.relations.get(name).and_then(Relation::row_type).map(Arc::new),
        });
        found.or_else(|| {
            let system = RelationId::find(schema.unwrap_or(PG_CATALOG), name)?;
            Some(Arc::new(system.get().rows()))
        })
    }

    /// The type with that row in `pg_type`, or whose array has it: one that a user has made, or that of a relation's rows.
    pub fn type_or_row_by_oid(&self, oid: Oid) -> Option<Arc<TypeDef>> {
        let row = || self.relation_by_oid(relation_of(oid))?.row_type().map(Arc::new);
        let system = || Some(Arc::new(SystemRelation::of_rows(oid)?.rows()));
        self.user_type(oid).cloned().or_else(row).or_else(system)
    }

    /// The user's type with that row in `pg_type`, or whose array has it.
    pub fn user_type(&self, oid: Oid) -> Option<&Arc<TypeDef>> {
        self.contents.types_by_oid.get(&oid)
    }

    /// The type with that row in `pg_type`: one of the system's or of a user's, or an array of one.
    pub fn type_by_oid(&self, oid: u32, typmod: i32) -> Option<SqlType> {
        SqlType::from_pg_oid(oid, typmod).or_else(|| {
            let known = self.type_or_row_by_oid(Oid(oid))?;
            Some(match known.oid.0 == oid {
                true => known.ty.clone(),
                false => SqlType::Array(Box::new(known.ty.clone())),
            })
        })
    }

    /// A type as it is defined here: what users have made may have got other labels, attributes or checks, and another name. One that
    /// is not there any more stays what it was.
    pub fn type_now(&self, ty: &SqlType) -> SqlType {
        match is_of_users(ty) {
            true => self.type_by_oid(ty.pg_oid(), ty.typmod()).unwrap_or_else(|| ty.clone()),
            false => ty.clone(),
        }
    }

    /// The data that keys of collations are made from.
    pub fn collation_data(&self) -> CollationData {
        self.contents.collation_data
    }

    /// The collation of that name: the system's own first.
    pub fn collation(&self, schema: Option<&str>, name: &str) -> Option<Arc<CollationDef>> {
        if matches!(schema, None | Some(PG_CATALOG))
            && let Some(own) = system_collation(name, self.contents.collation_data)
        {
            return Some(Arc::new(own));
        }
        if let Some(oid) = number_of(schema) {
            return self.collation_by_oid(oid.0);
        }
        self.path(schema).find_map(|schema| {
            let mut users = self.contents.collations.values();
            let is_it = |one: &&Arc<CollationDef>| {
                *one.collation.name == *name && one.collation.schema == schema.definition.name
            };
            users.find(is_it).cloned()
        })
    }

    /// The collation with that row in `pg_collation`.
    pub fn collation_by_oid(&self, oid: u32) -> Option<Arc<CollationDef>> {
        match self.contents.collations.get(&oid) {
            Some(user) => Some(Arc::clone(user)),
            None => system_collation_by_oid(oid, self.contents.collation_data).map(Arc::new),
        }
    }

    /// Every collation that a user has made, by number.
    pub fn collations(&self) -> Vec<Arc<CollationDef>> {
        let mut all: Vec<_> = self.contents.collations.values().cloned().collect();
        all.sort_by_key(|one| one.oid());
        all
    }

    /// Every type that a user has made, by schema and name.
    pub fn types(&self) -> impl Iterator<Item = &Arc<TypeDef>> {
        self.contents.schemas.values().flat_map(|schema| schema.types.values())
    }

    /// Whether the type is what its name means without a schema.
    pub fn is_visible_type(&self, ty: &TypeDef) -> bool {
        self.type_or_row(None, &ty.name).is_some_and(|found| found.oid == ty.oid)
    }

    /// A type with what users' types the names in it mean, the system's as they are; the name that means nothing.
    ///
    /// # Errors
    /// The name.
    pub fn resolve_type(&self, ty: &SqlType) -> Result<SqlType, Arc<NamedType>> {
        match ty {
            SqlType::Named(named) => match self.type_or_row(named.schema.as_deref(), &named.name) {
                Some(known) => Ok(known.ty.clone()),
                // The array of a type is called like it, with an underscore in front.
                None => (named.name.strip_prefix('_'))
                    .and_then(|element| self.type_or_row(named.schema.as_deref(), element))
                    .map(|element| SqlType::Array(Box::new(element.ty.clone())))
                    .ok_or_else(|| Arc::clone(named)),
            },
            SqlType::Array(element) => Ok(SqlType::Array(Box::new(self.resolve_type(element)?))),
            known => Ok(known.clone()),
        }
    }
}
