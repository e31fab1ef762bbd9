//! SET ROLE, SET SESSION AUTHORIZATION: settings of a kind, which a rollback takes back.

use std::sync::Arc;

use verso_catalog::{CatalogError, CatalogSnapshot, ObjectKind, Oid};

use super::Session;
use crate::client::{CommandTag, tag};
use crate::services::refused;
use crate::transaction::Block;
use verso_parser::syntax::{ActAs, Name};
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    /// Runs one of them.
    pub(crate) fn act_as(&mut self, who: &ActAs, local: bool, reset: bool) -> Result<CommandTag, SqlError> {
        if local && self.transaction.state().is_none_or(|state| state.block == Block::Statement) {
            let text = "SET LOCAL can only be used in transaction blocks";
            self.services.notices.warn(sqlstate::NO_ACTIVE_TRANSACTION, text);
            return Ok(tag("SET"));
        }
        let services = &self.services;
        let (ActAs::Role(name) | ActAs::Session(name)) = who;
        let known = self.with_catalog(|_, catalog, _| {
            let Some(name) = name else { return Ok(None) };
            let found = role(catalog, name)?;
            let (login, session) = (services.identity.role, services.session_role());
            let may = match who {
                ActAs::Role(_) => catalog.may_become(session, found.0),
                ActAs::Session(_) => found.0 == login || catalog.is_superuser(login),
            };
            let what = match who {
                ActAs::Role(_) => "set role",
                ActAs::Session(_) => "set session authorization",
            };
            if may { Ok(Some(found)) } else { Err(refused(&format!("{what} \"{}\"", name.text))) }
        })?;
        let is_session = matches!(who, ActAs::Session(_));
        self.change_settings(local, |settings| {
            settings.role = if is_session { None } else { known.clone() };
            if is_session {
                settings.session_role.clone_from(&known);
            }
            Ok(())
        })?;
        self.services.names_path.forget();
        Ok(tag(if reset { "RESET" } else { "SET" }))
    }
}

fn role(catalog: &CatalogSnapshot, name: &Name) -> Result<(Oid, Arc<str>), SqlError> {
    match catalog.role_named(&name.text) {
        Some(role) => Ok((role.oid, Arc::clone(&role.name))),
        None => {
            let error: SqlError = CatalogError::missing(ObjectKind::Role, name.text.as_str()).into();
            Err(SqlError { sqlstate: sqlstate::INVALID_PARAMETER_VALUE, ..error })
        }
    }
}
