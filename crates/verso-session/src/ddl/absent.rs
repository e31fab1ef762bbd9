//! DROP of kinds of objects that databases do not have, or have only from the start.
//!
//! Scripts drop them IF EXISTS, which tells that they are not there. What is there from the start is not dropped.

use verso_catalog::{CatalogError, ObjectKind, Relation};
use verso_parser::syntax::{AbsentKind, DropAbsent, Name, QualifiedName};
use verso_planner::errors::{SqlError, sqlstate};

use super::Schema;
use crate::catalogs::is_built_in;
use crate::client::{CommandTag, tag};
use crate::failure::Failure;

fn missing(text: String) -> SqlError {
    SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
}

fn required(what: &str) -> SqlError {
    SqlError::new("2BP01", format!("cannot drop {what} because it is required by the database system"))
}

impl Schema<'_> {
    pub(super) fn drop_absent(&self, drop: &DropAbsent) -> Result<CommandTag, Failure> {
        for name in &drop.names {
            let missing = self.absence(&drop.kind, name)?;
            if !drop.if_exists {
                return Err(missing.into());
            }
            self.skip(format!("{}, skipping", missing.message));
        }
        Ok(tag(drop.kind.tag()))
    }

    /// The schema of a name, if there is none, as an error.
    pub(super) fn schema_absent(&self, name: &QualifiedName) -> Option<SqlError> {
        super::schema_absent(self.frame.catalog, name)
    }

    /// The error that says that an object is not there. What IF EXISTS does not pass over comes as an error.
    fn absence(&self, kind: &AbsentKind, name: &QualifiedName) -> Result<SqlError, SqlError> {
        if let Some(error) = self.schema_absent(name) {
            return Ok(error);
        }
        let (words, own) = (kind.words(), &name.name.text);
        let plain = || missing(format!("{words} \"{name}\" does not exist"));
        let built_in = |relation: &str| match is_built_in(relation, 1, own) {
            true => Err(required(&format!("{words} {own}"))),
            false => Ok(plain()),
        };
        match kind {
            AbsentKind::Rule(table) => self.rule_absence(&name.name, table),
            AbsentKind::Language => built_in("pg_language"),
            AbsentKind::AccessMethod => built_in("pg_am"),
            AbsentKind::SearchParser => built_in("pg_ts_parser"),
            AbsentKind::SearchDictionary => built_in("pg_ts_dict"),
            AbsentKind::SearchTemplate => built_in("pg_ts_template"),
            AbsentKind::SearchConfiguration => built_in("pg_ts_config"),
            AbsentKind::Tablespace if matches!(own.as_str(), "pg_default" | "pg_global") => {
                let text = format!("permission denied for tablespace {own}");
                Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text))
            }
            AbsentKind::ForeignTable => match self.frame.catalog.relation(name.schema_text(), own) {
                Some(relation) => {
                    let is = relation.kind().to_string();
                    let article = if is.starts_with('i') { "an" } else { "a" };
                    let text = format!("\"{own}\" is not a foreign table");
                    let hint = format!("Use DROP {} to remove {article} {is}.", is.to_uppercase());
                    Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).with_hint(hint))
                }
                None => {
                    let text = format!("foreign table \"{own}\" does not exist");
                    Ok(SqlError::new(sqlstate::UNDEFINED_TABLE, text))
                }
            },
            AbsentKind::OperatorClass(method) | AbsentKind::OperatorFamily(method) => {
                let method = &method.text;
                if !is_built_in("pg_am", 1, method) {
                    return Err(missing(format!("access method \"{method}\" does not exist")));
                }
                let class = matches!(kind, AbsentKind::OperatorClass(_));
                let relation = if class { "pg_opclass" } else { "pg_opfamily" };
                match is_built_in(relation, 2, own) {
                    true => Err(required(&format!("{words} {own} for access method {method}"))),
                    false => {
                        let text =
                            format!("{words} \"{name}\" does not exist for access method \"{method}\"");
                        Ok(missing(text))
                    }
                }
            }
            AbsentKind::UserMapping(role) => match role {
                Some(role) if self.frame.catalog.role_named(&role.text).is_none() => {
                    Ok(missing(format!("role \"{}\" does not exist", role.text)))
                }
                _ => Ok(missing(format!("server \"{own}\" does not exist"))),
            },
            AbsentKind::Transform(ty) => match self.data_type(ty) {
                Ok(ty) => {
                    let text =
                        format!("transform for type {} language \"{own}\" does not exist", ty.pg_name());
                    Ok(missing(text))
                }
                Err(error) if is_absence(&error) => Ok(error),
                Err(error) => Err(error),
            },
            _ => Ok(plain()),
        }
    }

    /// The same of a rule of a relation. The only rules are those that views are.
    fn rule_absence(&self, rule: &Name, table: &QualifiedName) -> Result<SqlError, SqlError> {
        if let Some(error) = self.schema_absent(table) {
            return Ok(error);
        }
        let name = &rule.text;
        match self.frame.catalog.relation(table.schema_text(), &table.name.text) {
            None => Ok(CatalogError::missing(ObjectKind::Relation, table.to_string()).into()),
            Some(relation) => {
                let of = relation.name();
                let is_view = match relation {
                    Relation::View(_) => true,
                    Relation::Table(table) => table.materialized.is_some(),
                    _ => false,
                };
                if is_view && name == "_RETURN" {
                    let kind = relation.kind();
                    let text =
                        format!("cannot drop rule _RETURN on {kind} {of} because {kind} {of} requires it");
                    let hint = format!("You can drop {kind} {of} instead.");
                    return Err(SqlError::new("2BP01", text).with_hint(hint));
                }
                Ok(missing(format!("rule \"{name}\" for relation \"{of}\" does not exist")))
            }
        }
    }
}

/// Whether an error says that a schema or a type that a statement names is not there, over which IF EXISTS passes.
pub(super) fn is_absence(error: &SqlError) -> bool {
    matches!(error.sqlstate, sqlstate::UNDEFINED_OBJECT | sqlstate::INVALID_SCHEMA_NAME)
}
