//! ALTER DEFAULT PRIVILEGES: rights on what roles will make.

use verso_catalog::{Acl, CatalogError, Object, ObjectKind, Oid, Rights, RightsOf};

use super::Schema;
use super::grant::dependent;
use crate::client::{CommandTag, tag};
use crate::failure::Failure;
use verso_parser::syntax::{Grant, GrantKind, GrantOn, Name, RoleName};
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// ALTER DEFAULT PRIVILEGES.
    pub(super) fn default_rights(
        &self,
        roles: &[RoleName],
        schemas: &[Name],
        grant: &Grant,
    ) -> Result<CommandTag, Failure> {
        let GrantOn::All(kind, _) = &grant.on else { return Err(SqlError::internal("no kind").into()) };
        let kind = match kind {
            GrantKind::Table => RightsOf::Table,
            GrantKind::Sequence => RightsOf::Sequence,
            GrantKind::Function | GrantKind::Procedure | GrantKind::Routine => RightsOf::Function,
            GrantKind::Type => RightsOf::Type,
            GrantKind::Schema => RightsOf::Schema,
            GrantKind::Language | GrantKind::Database | GrantKind::Parameter | GrantKind::Tablespace => {
                return Err(SqlError::internal("no default rights").into());
            }
        };
        if kind == RightsOf::Schema && !schemas.is_empty() {
            let text = "cannot use IN SCHEMA clause when using GRANT/REVOKE ON SCHEMAS";
            return Err(SqlError::new("0LP01", text).into());
        }
        let mut rights = Rights::NONE;
        for (name, columns) in &grant.rights {
            let right = Rights::named(&name.text)
                .ok_or_else(|| SqlError::syntax(format!("unrecognized privilege type \"{}\"", name.text)))?;
            if !columns.is_empty() {
                let text = "default privileges cannot be set for columns";
                return Err(SqlError::new("0LP01", text).into());
            }
            if !kind.all().has(right) {
                let word = if kind == RightsOf::Table { "relation" } else { kind.word() };
                return Err(
                    SqlError::new("0LP01", format!("invalid privilege type {right} for {word}")).into()
                );
            }
            rights = rights.with(right);
        }
        if grant.rights.is_empty() {
            rights = kind.all();
        }
        let to = grant.to.iter().map(|role| self.grantee(role)).collect::<Result<Vec<_>, _>>()?;
        let roles = match roles {
            [] => vec![self.current()],
            roles => roles.iter().map(|role| self.role_number(role)).collect::<Result<_, _>>()?,
        };
        let mut places = Vec::new();
        for schema in schemas {
            let known = self.frame.catalog.schema(&schema.text);
            places.push(known.ok_or_else(|| CatalogError::missing(ObjectKind::Schema, &*schema.text))?.oid);
        }
        if schemas.is_empty() {
            places.push(Oid(0));
        }
        for role in roles {
            if self.limited().is_some_and(|own| !self.frame.catalog.inherits(own, role)) {
                let text = "permission denied to change default privileges";
                return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).into());
            }
            for schema in &places {
                self.change_default(grant, (role, *schema, kind), rights, &to)?;
            }
        }
        Ok(tag("ALTER DEFAULT PRIVILEGES"))
    }

    /// Gives a new schema the rights that were said for what its owner makes.
    pub(super) fn default_rights_of_schema(&self, schema: Oid, owner: &str) -> Result<(), Failure> {
        if self.frame.catalog.default_acls().is_empty() {
            return Ok(());
        }
        let owner = self.role_called(owner)?;
        let Some(acl) = self.frame.catalog.acl_for_new(owner, None, RightsOf::Schema) else { return Ok(()) };
        let store = &self.frame.services.instance.catalog;
        Ok(store.write_new_acl(&mut self.frame.txn.borrow_mut(), Object::Schema(schema), &acl)?)
    }

    fn change_default(
        &self,
        grant: &Grant,
        of: (Oid, Oid, RightsOf),
        rights: Rights,
        to: &[Oid],
    ) -> Result<(), Failure> {
        let (role, schema, kind) = of;
        self.frame.inside(|frame| {
            let catalog = frame.catalog;
            let system = match schema.0 {
                0 => Acl::default_of(kind, role),
                _ => Acl::default(),
            };
            let known = catalog.default_acls().iter();
            let known =
                known.clone().find(|one| one.role == role && one.schema == schema && one.kind == kind);
            let mut acl = known.map_or_else(|| system.clone(), |one| one.acl.clone());
            for grantee in to {
                if grant.revoke {
                    let gone = acl.revoke(*grantee, role, rights, grant.option, role, grant.cascade);
                    gone.map_err(|_| dependent())?;
                } else {
                    acl.grant(*grantee, role, rights, grant.option);
                }
            }
            let kept = Some(&acl).filter(|acl| **acl != system);
            let store = &frame.services.instance.catalog;
            Ok(store.set_default_acl(&mut frame.txn.borrow_mut(), catalog, of, kept)?)
        })
    }
}
