//! What the name of a type means: the catalog knows users' types.

use std::sync::Arc;

use verso_catalog::{INFORMATION_SCHEMA, kept};
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
            SqlType::Named(named) => self.user_type(named)?,
            SqlType::Array(element) => {
                let element = self.data_type(element).map_err(|error| match error.sqlstate {
                    sqlstate::UNDEFINED_OBJECT if matches!(**element, SqlType::Named(_)) => {
                        let message = error.message.replace("\" does not exist", "[]\" does not exist");
                        SqlError { message, ..error }
                    }
                    _ => error,
                })?;
                if element.array_oid() == 0 && !matches!(element, SqlType::Array(_)) {
                    let text = format!("type \"{}[]\" does not exist", element.regtype_name());
                    return Err(SqlError::new(sqlstate::UNDEFINED_OBJECT, text));
                }
                SqlType::Array(Box::new(element))
            }
            SqlType::Collated(collated) if collated.collation.oid == 0 => {
                let base = self.data_type(&collated.base)?;
                self.declared_collation(base, &collated.collation)?
            }
            known => known.clone(),
        })
    }

    /// The type that a text of the catalog means, as it is shown along whatever path: texts of earlier releases have names of types only.
    ///
    /// # Errors
    /// 42704, and 3F000 for a schema that there is not.
    pub(crate) fn type_in_text(&self, ty: &SqlType) -> Result<SqlType, SqlError> {
        match self.plain_names() {
            Some(plain) if self.stored.is_none() => Binder { catalog: &plain, ..self.clone() }.data_type(ty),
            _ => self.data_type(ty),
        }
    }

    /// The user's type of a name: the one that was noted of it, or the one found along the path. `_t` is the array of `t` where
    /// no type is called so.
    fn user_type(&self, named: &Arc<NamedType>) -> Result<SqlType, SqlError> {
        if named.schema.as_deref() == Some(INFORMATION_SCHEMA)
            && let Some(ty) = of_standard(&named.name)
        {
            return Ok(ty);
        }
        self.check_usage(named.schema.as_deref(), named.at)?;
        let element = named.name.strip_prefix('_');
        let found = match self.stored.and_then(|stored| stored.type_at(named.at)) {
            Some(oid) => {
                let known = self.catalog.type_or_row_by_oid(oid);
                known.map(|known| {
                    let is_array = element.is_some() && *known.name != *named.name;
                    (known, is_array)
                })
            }
            None if let Some(oid) = kept::number_of(named.schema.as_deref()) => {
                self.catalog.type_or_row_by_oid(oid).map(|known| {
                    let is_array = known.oid != oid;
                    (known, is_array)
                })
            }
            None => {
                let along = |name: &str| self.catalog.type_or_row(named.schema.as_deref(), name);
                let own = along(&named.name).map(|known| (known, false));
                own.or_else(|| element.and_then(along).map(|known| (known, true)))
            }
        };
        if let Some((found, is_array)) = found {
            self.catalog.check_whole(found.oid)?;
            if let Some(noting) = self.noting {
                noting.user_type(named.at, found.oid);
            }
            let number = if is_array { found.array } else { found.oid };
            self.notes().for_each(|notes| notes.user_type(named.at, &found, number));
            let ty = found.ty.clone();
            return Ok(if is_array { SqlType::Array(Box::new(ty)) } else { ty });
        }
        Err(match &named.schema {
            Some(schema) if &**schema != INFORMATION_SCHEMA && self.catalog.schema(schema).is_none() => {
                let text = format!("schema \"{schema}\" does not exist");
                SqlError::new(sqlstate::INVALID_SCHEMA_NAME, text).at(named.at)
            }
            _ => SqlError::from(TypeError::unknown_type(named)).at(named.at),
        })
    }
}

/// The type beneath a domain of the standard's schema, or the array of it. A value that is cast to the domain is of that: what the
/// domains demand of values only the views see to whose columns have them.
fn of_standard(name: &str) -> Option<SqlType> {
    Some(match name {
        "cardinal_number" => SqlType::Int4,
        "character_data" => SqlType::Varchar(None),
        "sql_identifier" => SqlType::Name,
        "time_stamp" => SqlType::Timestamptz(Some(2)),
        "yes_or_no" => SqlType::Varchar(Some(3)),
        name => SqlType::Array(Box::new(of_standard_element(name.strip_prefix('_')?)?)),
    })
}

/// The same of the element of an array.
fn of_standard_element(name: &str) -> Option<SqlType> {
    if name.starts_with('_') { None } else { of_standard(name) }
}
