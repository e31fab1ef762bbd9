//! What the name of a type means: the catalog knows users' types.

use std::sync::Arc;

use verso_catalog::TypeDef;
use verso_types::{NamedType, SqlType, TypeError};

use super::Binder;
use crate::errors::{SqlError, sqlstate};

impl Binder<'_> {
    /// The type that a statement means.
    ///
    /// # Errors
    /// 42704, and 3F000 for a schema that there is not.
    pub fn data_type(&self, ty: &SqlType) -> Result<SqlType, SqlError> {
        Ok(match ty {
            SqlType::Named(named) => self.user_type(named)?.ty.clone(),
            SqlType::Array(element) => SqlType::Array(Box::new(self.data_type(element)?)),
            SqlType::Collated(collated) if collated.collation.oid == 0 => {
                let base = self.data_type(&collated.base)?;
                self.declared_collation(base, &collated.collation)?
            }
            known => known.clone(),
        })
    }

    /// The user's type of a name: the one that was noted of it, or the one found along the path.
    fn user_type(&self, named: &Arc<NamedType>) -> Result<Arc<TypeDef>, SqlError> {
        let found = match self.stored.and_then(|stored| stored.type_at(named.at)) {
            Some(oid) => self.catalog.user_type(oid),
            None => self.catalog.type_named(named.schema.as_deref(), &named.name),
        };
        if let Some(found) = found {
            if let Some(noting) = self.noting {
                noting.user_type(named.at, found.oid);
            }
            return Ok(Arc::clone(found));
        }
        Err(match &named.schema {
            Some(schema) if self.catalog.schema(schema).is_none() => {
                let text = format!("schema \"{schema}\" does not exist");
                SqlError::new(sqlstate::INVALID_SCHEMA_NAME, text).at(named.at)
            }
            _ => SqlError::from(TypeError::unknown_type(named)).at(named.at),
        })
    }
}
