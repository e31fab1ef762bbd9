//! What statements of the schema take: owners and rights, and the roles that they name; what new objects get.

use std::sync::Arc;

use verso_catalog::{CatalogError, Object, ObjectKind, Oid, Relation, Rights};

use super::{Schema, text};
use crate::client::CommandTag;
use crate::failure::Failure;
use verso_parser::syntax::{Name, QualifiedName, RightsStatement, RoleName};
use verso_planner::bind::rights::denied;
use verso_planner::errors::{SqlError, sqlstate};

/// `pg_class.relkind` in words, as messages have them.
pub(super) fn kind_word(relation: &Relation) -> &'static str {
    match relation {
        Relation::Table(_) => "table",
        Relation::View(_) => "view",
        Relation::Sequence(_) => "sequence",
        Relation::Index(_) => "index",
    }
}

/// A language that there are rights on.
pub(super) fn language_named(name: &str) -> Option<Object> {
    match name {
        "sql" => Some(Object::Language(Oid(14))),
        "plpgsql" => Some(Object::Language(verso_catalog::rights::PLPGSQL)),
        _ => None,
    }
}

/// `42501` for what only owners may do.
pub(super) fn not_owner(kind: &str, name: &str) -> SqlError {
    SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("must be owner of {kind} {name}"))
}

impl Schema<'_> {
    /// The role whose rights count, where they are limited.
    pub(super) fn limited(&self) -> Option<Oid> {
        let catalog = self.frame.catalog;
        catalog.acting_role().filter(|role| !catalog.is_superuser(*role))
    }

    /// The role that the session acts as.
    pub(super) fn current(&self) -> Oid {
        self.frame.services.current_role()
    }

    /// Refuses what is not the role's own.
    pub(super) fn own(&self, object: Object, kind: &str, name: &str) -> Result<(), SqlError> {
        match self.limited() {
            Some(role) if !self.frame.catalog.owns(role, object) => Err(not_owner(kind, name)),
            _ => Ok(()),
        }
    }

    /// The same of a relation.
    pub(super) fn own_relation(&self, relation: &Relation) -> Result<(), SqlError> {
        self.own(Object::Relation(relation.oid()), kind_word(relation), relation.name())
    }

    /// The same of a relation by its name, where there is one.
    pub(super) fn own_named(&self, name: &QualifiedName) -> Result<(), SqlError> {
        match self.frame.catalog.relation(name.schema_text(), &name.name.text) {
            Some(relation) => self.own_relation(relation),
            None => Ok(()),
        }
    }

    /// What goes with a DROP has to be the role's own, or in a schema that is.
    pub(super) fn own_to_drop(
        &self,
        object: Object,
        schema: &str,
        kind: &str,
        name: &str,
    ) -> Result<(), SqlError> {
        let Some(role) = self.limited() else { return Ok(()) };
        let catalog = self.frame.catalog;
        let of_schema = catalog.schema(schema).is_some_and(|one| catalog.owns(role, Object::Schema(one.oid)));
        if of_schema || catalog.owns(role, object) { Ok(()) } else { Err(not_owner(kind, name)) }
    }

    /// Refuses what the role has not all of these rights on.
    pub(super) fn needs(
        &self,
        object: Object,
        rights: Rights,
        kind: &str,
        name: &str,
    ) -> Result<(), SqlError> {
        match self.limited() {
            Some(role) if !self.frame.catalog.rights(role, object).has(rights) => Err(denied(kind, name)),
            _ => Ok(()),
        }
    }

    /// Refuses a schema in which the role may make nothing.
    pub(super) fn may_create_in(&self, schema: &str) -> Result<(), SqlError> {
        match self.frame.catalog.schema(schema) {
            Some(known) => self.needs(Object::Schema(known.oid), Rights::CREATE, "schema", schema),
            None => Ok(()),
        }
    }

    /// Something new is the role's, with the rights that were said for what it makes; so are the sequences of a table's
    /// columns.
    pub(super) fn made(&self, object: Object, schema: Option<&str>) -> Result<(), Failure> {
        let role = self.current();
        let catalog = self.frame.catalog;
        let is_owners = role == verso_catalog::OWNER_ROLE;
        if is_owners && catalog.default_acls().is_empty() {
            return Ok(());
        }
        self.frame.inside(|frame| {
            let (store, catalog) = (&frame.services.instance.catalog, frame.catalog);
            let txn = &mut frame.txn.borrow_mut();
            if !is_owners {
                store.set_owner(txn, catalog, &[object], role)?;
            }
            let schema = schema.and_then(|name| catalog.schema(name)).map(|schema| schema.oid);
            let mut all = vec![object];
            if let Object::Relation(table) = object {
                all.extend(
                    catalog.sequences_of(table).into_iter().map(|sequence| Object::Relation(sequence.oid)),
                );
            }
            for object in all {
                if let Some(acl) = catalog.acl_for_new(role, schema, catalog.rights_kind(object)) {
                    store.write_new_acl(txn, object, &acl)?;
                }
            }
            Ok(())
        })
    }

    /// The number of a role.
    pub(super) fn role_number(&self, role: &RoleName) -> Result<Oid, SqlError> {
        match role {
            RoleName::Current => Ok(self.current()),
            RoleName::Session => Ok(self.frame.services.session_role()),
            RoleName::Named(name) => self.role_called(&name.text),
        }
    }

    /// The number of the role of that name.
    pub(super) fn role_called(&self, name: &str) -> Result<Oid, SqlError> {
        let found = self.frame.catalog.role_named(name);
        Ok(found.ok_or_else(|| CatalogError::missing(ObjectKind::Role, name))?.oid)
    }

    /// The same where it may be PUBLIC.
    pub(super) fn grantee(&self, role: &RoleName) -> Result<Oid, SqlError> {
        match role {
            RoleName::Named(name) if name.text == "public" => Ok(Oid(0)),
            role => self.role_number(role),
        }
    }

    pub(super) fn role_text(&self, role: Oid) -> String {
        let known = self.frame.catalog.role_by_oid(role);
        known.map_or_else(|| role.to_string(), |role| role.name.to_string())
    }

    /// Runs a statement about rights.
    pub(super) fn rights_statement(&self, statement: &RightsStatement) -> Result<CommandTag, Failure> {
        match statement {
            RightsStatement::Grant(grant) => self.grant(grant),
            RightsStatement::GrantRole(grant) => self.grant_role(grant),
            RightsStatement::Default { roles, schemas, grant } => self.default_rights(roles, schemas, grant),
            RightsStatement::Owner { of, to, if_exists } => self.change_owner(of, to, *if_exists),
            RightsStatement::Reassign { from, to } => self.reassign(from, to),
            RightsStatement::DropOwned { roles, cascade } => self.drop_owned(roles, *cascade),
            RightsStatement::CreatePolicy(policy) => self.create_policy(policy),
            RightsStatement::AlterPolicy(policy) => self.alter_policy(policy),
            RightsStatement::RenamePolicy { name, table, to } => self.rename_policy(name, table, to),
            RightsStatement::DropPolicy { name, table, if_exists } => {
                self.drop_policy(name, table, *if_exists)
            }
        }
    }

    /// Whether a name is a database's of this server.
    pub(super) fn is_database(&self, name: &Name) -> bool {
        let own = &self.frame.services.instance.member;
        let others = || own.cluster().others(own);
        *name.text == **own.name() || others().iter().any(|entry| *entry.name == *name.text)
    }

    /// The database of that name, which is the session's.
    pub(super) fn database(&self, name: &Name) -> Result<Object, SqlError> {
        let own = &self.frame.services.instance.member;
        if *name.text == **own.name() {
            return Ok(Object::Database);
        }
        if own.cluster().others(own).iter().any(|entry| *entry.name == *name.text) {
            return Err(crate::cluster::elsewhere(&name.text));
        }
        let text = format!("database \"{}\" does not exist", name.text);
        Err(SqlError::new(sqlstate::INVALID_CATALOG_NAME, text))
    }

    pub(super) fn no_relation(&self, name: &QualifiedName) -> SqlError {
        let text = format!("relation \"{name}\" does not exist");
        SqlError::new(sqlstate::UNDEFINED_TABLE, text)
    }

    /// The name of a role that a statement means.
    pub(super) fn role_name(&self, role: &RoleName) -> Result<Arc<str>, SqlError> {
        match role {
            RoleName::Named(name) => Ok(text(name)),
            role => Ok(self.role_text(self.role_number(role)?).into()),
        }
    }
}
