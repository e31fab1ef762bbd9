//! COMMENT ON.

use std::sync::Arc;

use verso_catalog::{CatalogError, CommentOn, OWNER_ROLE, Object, ObjectKind, Oid, Relation, TypeDef};
use verso_types::SqlType;

use super::Schema;
use super::drop::kind_of;
use crate::catalogs::extensions::{PLPGSQL, PLPGSQL_OID};
use crate::catalogs::tablespace;
use crate::client::CommandTag;
use crate::client::tag;
use crate::failure::Failure;
use verso_parser::syntax::{Comment, Commented, Name, QualifiedName};
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// COMMENT ON.
    pub(super) fn comment(&self, comment: &Comment) -> Result<CommandTag, Failure> {
        if let Commented::Database(name) = &comment.on
            && !self.is_database(name)
        {
            // As in PostgreSQL, so that a script may name the database that it was made from.
            self.frame.services.notices.warn("3D000", &format!("database \"{}\" does not exist", name.text));
            return Ok(tag("COMMENT"));
        }
        let on = self.commented(&comment.on)?;
        let text = comment.text.as_deref().map(Into::into);
        let catalog = &self.frame.services.instance.catalog;
        catalog.comment(&mut self.frame.txn.borrow_mut(), on, text.as_ref())?;
        Ok(tag("COMMENT"))
    }

    fn commented(&self, on: &Commented) -> Result<CommentOn, Failure> {
        match on {
            Commented::Relation(kind, name) => {
                let relation = self.relation(name)?;
                let kind = kind_of(*kind);
                if relation.kind() != kind {
                    return Err(CatalogError::WrongKind { kind, name: name.name.text.clone() }.into());
                }
                self.own_relation(&relation)?;
                Ok(CommentOn::Relation(relation.oid()))
            }
            Commented::Column { relation, column } => {
                if let Some(ty) = self.composite_called(relation) {
                    return self.field_commented(&ty, relation, column);
                }
                let found = self.relation(relation)?;
                let columns = match &found {
                    Relation::Table(table) => &table.columns,
                    Relation::View(view) => &view.columns,
                    Relation::Sequence(_) | Relation::Index(_) => {
                        let text = format!("cannot set comment on relation \"{}\"", relation.name.text);
                        return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
                    }
                };
                let at = columns.iter().find(|known| *known.name == *column.text);
                self.own_relation(&found)?;
                let missing = || missing_column(relation, column);
                Ok(CommentOn::Column(found.oid(), at.ok_or_else(missing)?.id))
            }
            Commented::Schema(name) => {
                let schema = self.frame.catalog.schema(&name.text);
                let missing = || CatalogError::missing(ObjectKind::Schema, name.text.as_str());
                let schema = schema.ok_or_else(missing)?;
                self.own(Object::Schema(schema.oid), "schema", &schema.name)?;
                Ok(CommentOn::Schema(schema.oid))
            }
            Commented::Database(name) => {
                let database = self.database(name)?;
                self.own(database, "database", &name.text)?;
                Ok(CommentOn::Database)
            }
            Commented::Role(name) => {
                let role = self.role_called(&name.text)?;
                let known = self.frame.catalog.role_by_oid(role);
                known.map_or(Ok(()), |known| self.may_alter(known, "comment on"))?;
                Ok(CommentOn::Role(role))
            }
            Commented::Tablespace(name) => {
                let number = tablespace(&name.text).ok_or_else(|| {
                    let text = format!("tablespace \"{}\" does not exist", name.text);
                    SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
                })?;
                if self.limited().is_some() {
                    let text = format!("must be owner of tablespace {}", name.text);
                    return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).into());
                }
                Ok(CommentOn::Tablespace(Oid(number)))
            }
            Commented::Type(name) => {
                let ty = self.user_type(name)?;
                self.own(Object::Type(ty.oid), "type", &ty.name)?;
                Ok(CommentOn::Type(ty.oid))
            }
            Commented::Function(kind, name, types) => {
                let types = self.argument_types(types.as_deref())?;
                let function = self.routine(*kind, name, types.as_deref())?;
                self.own(Object::Function(function.oid), function.kind_word(), &function.name)?;
                Ok(CommentOn::Function(function.oid))
            }
            Commented::Operator(reference) => {
                let operator = self.user_operator(reference)?;
                self.own_role_object(operator.owner, "operator", &operator.name)?;
                Ok(CommentOn::Operator(operator.oid))
            }
            Commented::Cast(source, target) => {
                let (source, target) = (self.data_type(source)?, self.data_type(target)?);
                let cast = self.user_cast(&source, &target)?;
                self.own_cast(&source, &target)?;
                Ok(CommentOn::Cast(cast.oid))
            }
            Commented::Collation(name) => {
                let collation = self.collation(name)?;
                self.own_collation(&collation)?;
                Ok(CommentOn::Collation(collation.oid()))
            }
            // It comes with the database, and is its first role's; every dump says what it is.
            Commented::Extension(name) if name.text == PLPGSQL => {
                self.own_role_object(OWNER_ROLE, "extension", PLPGSQL)?;
                Ok(CommentOn::Extension(PLPGSQL_OID))
            }
            Commented::Extension(name) => {
                let extension = self.extension(name)?;
                self.own_extension(&extension)?;
                Ok(CommentOn::Extension(extension.oid))
            }
            Commented::Statistics(name) => {
                let statistics = self.statistics_called(name)?;
                self.own_statistics(&statistics)?;
                Ok(CommentOn::Statistics(statistics.oid))
            }
            Commented::Trigger { name, table } => {
                let found = self.relation(table)?;
                let trigger = found.triggers().iter().find(|trigger| *trigger.name == *name.text);
                let missing = || {
                    let text =
                        format!("trigger \"{}\" for table \"{}\" does not exist", name.text, found.name());
                    SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
                };
                let oid = trigger.ok_or_else(missing)?.oid;
                self.own_relation(&found)?;
                Ok(CommentOn::Trigger(oid, found.oid()))
            }
            Commented::Policy { name, table } => {
                let found = self.relation(table)?;
                self.own_relation(&found)?;
                let policies = self.frame.catalog.policies(found.oid());
                let policy = policies.iter().find(|policy| *policy.name == *name.text);
                let missing = || {
                    let (policy, table) = (&name.text, found.name());
                    let text = format!("policy \"{policy}\" for table \"{table}\" does not exist");
                    SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
                };
                Ok(CommentOn::Policy(policy.ok_or_else(missing)?.oid, found.oid()))
            }
            Commented::DomainConstraint { name, domain } => {
                let ty = self.user_type(domain)?;
                let missing = || {
                    let text = format!("constraint \"{}\" for domain {} does not exist", name.text, ty.name);
                    SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
                };
                let SqlType::Domain(definition) = &ty.ty else {
                    let text = format!("\"{}\" is not a domain", ty.name);
                    return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text).into());
                };
                let check = definition.checks.iter().find(|check| *check.name == *name.text);
                let demand = definition.not_null && *definition.not_null_name == *name.text;
                let oid = match (check, demand) {
                    (Some(check), _) => check.oid,
                    (None, true) => definition.not_null_oid,
                    (None, false) => return Err(missing().into()),
                };
                self.own(Object::Type(ty.oid), "type", &ty.name)?;
                Ok(CommentOn::Constraint(Oid(oid), ty.oid))
            }
            Commented::Constraint { name, table } => {
                let found = self.relation(table)?;
                let Relation::Table(table) = &found else {
                    let name = table.name.text.clone();
                    return Err(CatalogError::WrongKind { kind: ObjectKind::Table, name }.into());
                };
                let constraint = table.constraint(&name.text).map(|constraint| constraint.oid);
                let of_trigger = || table.constraint_trigger(&name.text).map(|trigger| trigger.oid);
                let constraint = constraint.or_else(of_trigger).ok_or_else(|| {
                    let text =
                        format!("constraint \"{}\" for table \"{}\" does not exist", name.text, table.name);
                    SqlError::new(sqlstate::UNDEFINED_OBJECT, text)
                })?;
                self.own(Object::Relation(table.oid), "table", &table.name)?;
                Ok(CommentOn::Constraint(constraint, table.oid))
            }
        }
    }

    /// The composite type of that name, unless it is that of a relation.
    pub(super) fn composite_called(&self, name: &QualifiedName) -> Option<Arc<TypeDef>> {
        if self.frame.catalog.relation(name.schema_text(), &name.name.text).is_some() {
            return None;
        }
        self.frame
            .catalog
            .type_named(name.schema_text(), &name.name.text)
            .filter(|ty| ty.ty.is_row())
            .cloned()
    }

    fn field_commented(
        &self,
        ty: &TypeDef,
        name: &QualifiedName,
        field: &Name,
    ) -> Result<CommentOn, Failure> {
        let SqlType::Row(row) = &ty.ty else { return Err(missing_column(name, field).into()) };
        let at = row.fields.iter().position(|(known, _)| **known == *field.text);
        let number =
            at.and_then(|at| ty.fields.get(at)).copied().ok_or_else(|| missing_column(name, field))?;
        self.own(Object::Type(ty.oid), "type", &ty.name)?;
        Ok(CommentOn::Column(ty.oid, number))
    }

    /// The relation of that name.
    fn relation(&self, name: &QualifiedName) -> Result<Relation, SqlError> {
        let found = self.frame.catalog.relation(name.schema_text(), &name.name.text);
        found.cloned().ok_or_else(|| {
            let text = format!("relation \"{name}\" does not exist");
            SqlError::new(sqlstate::UNDEFINED_TABLE, text).at(name.at().start)
        })
    }
}

fn missing_column(relation: &QualifiedName, column: &Name) -> SqlError {
    let text = format!("column \"{}\" of relation \"{relation}\" does not exist", column.text);
    SqlError::new(sqlstate::UNDEFINED_COLUMN, text)
}
