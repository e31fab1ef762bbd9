//! Whom statements run as.
//!
//! ```text
//! login ─► SET SESSION AUTHORIZATION ─► SET ROLE ─► the owner of a SECURITY DEFINER function that runs
//! ```
//! The last of these that was said counts.

use std::sync::Arc;

use verso_catalog::{OWNER_ROLE, Oid};
use verso_planner::errors::{SqlError, sqlstate};

use super::Services;

impl Services {
    /// The role that statements run as.
    pub(crate) fn current_role(&self) -> Oid {
        let set = self.settings.role.as_ref().map(|(oid, _)| *oid);
        self.acting.get().or(set).unwrap_or_else(|| self.session_role())
    }

    /// The role that the session belongs to.
    pub(crate) fn session_role(&self) -> Oid {
        self.settings.session_role.as_ref().map_or(self.identity.role, |(oid, _)| *oid)
    }

    /// The name of the role that statements run as.
    pub(crate) fn current_name(&self) -> Arc<str> {
        match (self.acting.get(), &self.settings.role) {
            (Some(role), _) => self.name_of(role).unwrap_or_else(|| role.to_string().into()),
            (None, Some((role, name))) => self.name_of(*role).unwrap_or_else(|| Arc::clone(name)),
            (None, None) => self.session_name(),
        }
    }

    /// The name of the role that the session belongs to.
    pub(crate) fn session_name(&self) -> Arc<str> {
        let (role, name) = match &self.settings.session_role {
            Some((role, name)) => (*role, name),
            None => (self.identity.role, &self.identity.user),
        };
        self.name_of(role).unwrap_or_else(|| Arc::clone(name))
    }

    /// The name that a role has by now.
    fn name_of(&self, role: Oid) -> Option<Arc<str>> {
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

    /// Whether the role has the rights of one of those that every database has, or is a superuser.
    pub(crate) fn has_role(&self, wanted: Oid) -> bool {
        let catalog = self.catalog.borrow();
        let role = self.current_role();
        role == OWNER_ROLE || catalog.as_ref().is_some_and(|catalog| catalog.inherits(role, wanted))
    }
}

/// `42501` for what a role may not do.
pub(crate) fn refused(what: &str) -> SqlError {
    SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, format!("permission denied to {what}"))
}
