//! CREATE, ALTER, DROP ROLE.

use std::sync::Arc;

use verso_catalog::{CatalogError, ObjectKind, RoleChange};
use verso_types::datetime::parse_timestamptz;

use super::Schema;
use crate::client::tag;
use crate::client::{CommandTag, Notice};
use crate::failure::Failure;
use crate::scram::Verifier;
use verso_parser::syntax::{RoleOptions, RoleStatement};
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// Runs a statement about roles.
    pub(super) fn role(&self, statement: &RoleStatement) -> Result<CommandTag, Failure> {
        let catalog = &self.frame.services.instance.catalog;
        let txn = &mut self.frame.txn.borrow_mut();
        match statement {
            RoleStatement::Create { name, options } => {
                self.allow("create role")?;
                catalog.create_role(txn, &name.text.as_str().into(), &self.change(options)?)?;
                Ok(tag("CREATE ROLE"))
            }
            RoleStatement::Alter { name, options, rename } => {
                let own = Arc::clone(&self.frame.services.identity.user);
                let name = name.as_ref().map_or(own.clone(), |name| name.text.as_str().into());
                // Everybody may change the own password.
                let only_password =
                    RoleOptions { password: options.password.clone(), ..RoleOptions::default() };
                if name != own || *options != only_password || rename.is_some() {
                    self.allow("alter role")?;
                }
                let mut change = self.change(options)?;
                change.name = rename.as_ref().map(|name| name.text.as_str().into());
                catalog.alter_role(txn, &name, &change)?;
                Ok(tag("ALTER ROLE"))
            }
            RoleStatement::Drop { names, if_exists } => {
                self.allow("drop role")?;
                for name in names {
                    if *name.text == *self.frame.services.identity.user {
                        let error = SqlError::new(sqlstate::OBJECT_IN_USE, "current user cannot be dropped");
                        return Err(error.into());
                    }
                    match catalog.drop_role(txn, &name.text) {
                        Err(CatalogError::Missing { kind: ObjectKind::Role, name }) if *if_exists => {
                            let text = format!("role \"{name}\" does not exist, skipping");
                            self.frame.services.notices.tell(Notice::message(text));
                        }
                        result => result?,
                    }
                }
                Ok(tag("DROP ROLE"))
            }
        }
    }

    fn allow(&self, what: &str) -> Result<(), SqlError> {
        if self.frame.services.identity.superuser {
            return Ok(());
        }
        let text = format!("permission denied to {what}");
        Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text))
    }

    fn change(&self, options: &RoleOptions) -> Result<RoleChange, SqlError> {
        let RoleOptions { superuser, create_role, login, password, valid_until } = options;
        let until = |text: &String| parse_timestamptz(text, &self.frame.services.settings.time_zone);
        Ok(RoleChange {
            superuser: *superuser,
            create_role: *create_role,
            login: *login,
            password: password
                .as_ref()
                .map(|password| password.as_deref().and_then(|text| self.verifier(text))),
            valid_until: valid_until.as_ref().map(until).transpose()?.map(Some),
            name: None,
        })
    }

    /// What is kept of a password; a client may send that itself. The empty one is none.
    fn verifier(&self, password: &str) -> Option<Arc<str>> {
        if password.is_empty() {
            return None;
        }
        if Verifier::parse(password).is_some() {
            return Some(password.into());
        }
        Some(Verifier::of_password(password, &*self.frame.services.env.random).to_string().into())
    }
}
