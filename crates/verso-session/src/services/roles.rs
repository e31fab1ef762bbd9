//! Whom statements run as.
//!
//! ```text
//! login ─► SET SESSION AUTHORIZATION ─► SET ROLE ─► the owner of a SECURITY DEFINER function that runs
//! ```
//! The last of these that was said counts.

use std::sync::Arc;

use verso_catalog::{CatalogError, CatalogSnapshot, OWNER_ROLE, Object, ObjectKind, Oid, Rights};
use verso_parser::syntax::{ActAs, Name};
use verso_planner::errors::{SqlError, sqlstate};

use super::Services;
use crate::settings::{Change, KnownRole};

impl Services {
    /// The role that statements run as.
    pub(crate) fn current_role(&self) -> Oid {
        let set = || self.settings.roles_asked()[0].as_ref().map(|(oid, _)| *oid);
        self.acting.get().or_else(set).unwrap_or_else(|| self.session_role())
    }

    /// The role that the running statement was begun as, whatever it has asked for since.
    #[inline]
    pub(crate) fn running_role(&self) -> Oid {
        let settings = &self.settings;
        let set = settings.role.as_ref().or(settings.session_role.as_ref());
        set.map_or(self.identity.role, |(oid, _)| *oid)
    }

    /// The role that the session belongs to.
    pub(crate) fn session_role(&self) -> Oid {
        self.settings.roles_asked()[1].as_ref().map_or(self.identity.role, |(oid, _)| *oid)
    }

    /// The name of the role that statements run as.
    pub(crate) fn current_name(&self) -> Arc<str> {
        let [role, _] = self.settings.roles_asked();
        match (self.acting.get(), role) {
            (Some(role), _) => self.name_of(role).unwrap_or_else(|| role.to_string().into()),
            (None, Some((role, name))) => self.name_of(role).unwrap_or(name),
            (None, None) => self.session_name(),
        }
    }

    /// The name of the role that the session belongs to.
    pub(crate) fn session_name(&self) -> Arc<str> {
        let [_, session] = self.settings.roles_asked();
        let (role, name) = session.unwrap_or_else(|| (self.identity.role, Arc::clone(&self.identity.user)));
        self.name_of(role).unwrap_or(name)
    }

    /// What SET ROLE and SET SESSION AUTHORIZATION change.
    ///
    /// # Errors
    /// 22023 where there is no such role, 42501 where it may not be taken.
    pub(crate) fn wanted_role(&self, catalog: &CatalogSnapshot, who: &ActAs) -> Result<Change, SqlError> {
        let (login, session) = (self.identity.role, self.session_role());
        let (ActAs::Role(name) | ActAs::Session(name)) = who;
        let found = name.as_ref().map(|name| role(catalog, name)).transpose()?;
        let may = found.as_ref().is_none_or(|(found, _)| match who {
            ActAs::Role(_) => catalog.may_become(session, *found),
            ActAs::Session(_) => *found == login || catalog.is_superuser(login),
        });
        match who {
            _ if may && matches!(who, ActAs::Role(_)) => Ok(Change::Role(found)),
            _ if may => Ok(Change::Session(found)),
            ActAs::Role(name) => Err(refused(&format!("set role \"{}\"", text_of(name)))),
            ActAs::Session(name) => Err(refused(&format!("set session authorization \"{}\"", text_of(name)))),
        }
    }

    /// SET ROLE and SET SESSION AUTHORIZATION within a running statement, as SET or `set_config` say it.
    ///
    /// # Errors
    /// The same; 42501 in a function that runs with its owner's rights.
    pub(crate) fn ask_for_role(&self, who: &ActAs, local: bool) -> Result<(), SqlError> {
        if self.acting.get().is_some() {
            let name = if matches!(who, ActAs::Role(_)) { "role" } else { "session_authorization" };
            let text = format!("cannot set parameter \"{name}\" within security-definer function");
            return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text));
        }
        let catalog = self.known_catalog().ok_or_else(|| SqlError::internal("no catalog"))?;
        let change = self.wanted_role(&catalog, who)?;
        self.settings.ask_for(change, local)?;
        self.asked.set(self.asked.get() + 1);
        Ok(())
    }

    /// The name that a role has by now.
    pub(super) fn name_of(&self, role: Oid) -> Option<Arc<str>> {
        let catalog = self.catalog.try_borrow().ok()?;
        catalog.as_ref()?.role_by_oid(role).map(|role| Arc::clone(&role.name))
    }

    /// Whether the role that statements run as may everything.
    pub(crate) fn is_superuser(&self) -> bool {
        let role = self.current_role();
        if role == OWNER_ROLE {
            return true;
        }
        let catalog = self.catalog.borrow();
        match &*catalog {
            Some(catalog) => catalog.is_superuser(role),
            None => role == self.identity.role && self.identity.superuser,
        }
    }

    /// Whether the role has this right on a setting.
    pub(crate) fn may_set(&self, name: &str, right: Rights) -> bool {
        let catalog = self.catalog.borrow();
        let (Some(catalog), Some(number)) = (&*catalog, crate::settings::parameter_number(name)) else {
            drop(catalog);
            return self.is_superuser();
        };
        catalog.rights(self.current_role(), Object::Parameter(Oid(number))).has(right)
    }

    /// Whether the role has the rights of one of those that every database has, or is a superuser.
    pub(crate) fn has_role(&self, wanted: Oid) -> bool {
        let catalog = self.catalog.borrow();
        let role = self.current_role();
        role == OWNER_ROLE || catalog.as_ref().is_some_and(|catalog| catalog.inherits(role, wanted))
    }
}

fn role(catalog: &CatalogSnapshot, name: &Name) -> Result<KnownRole, SqlError> {
    match catalog.role_named(&name.text) {
        Some(role) => Ok((role.oid, Arc::clone(&role.name))),
        None => {
            let error: SqlError = CatalogError::missing(ObjectKind::Role, name.text.as_str()).into();
            Err(SqlError { sqlstate: sqlstate::INVALID_PARAMETER_VALUE, ..error })
        }
    }
}

fn text_of(name: &Option<Name>) -> &str {
    name.as_ref().map_or("", |name| &name.text)
}

/// `42501` for what a role may not do.
pub(crate) fn refused(what: &str) -> SqlError {
    SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied to {what}"))
}
