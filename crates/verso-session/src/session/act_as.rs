//! SET ROLE, SET SESSION AUTHORIZATION: settings of a kind, which a rollback takes back.

use super::Session;
use crate::client::{CommandTag, tag};
use crate::settings::Change;
use crate::transaction::Block;
use verso_parser::syntax::ActAs;
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    /// Runs one of them.
    pub(crate) fn act_as(&mut self, who: &ActAs, local: bool, reset: bool) -> Result<CommandTag, SqlError> {
        if local && self.transaction.state().is_none_or(|state| state.block == Block::Statement) {
            let text = "SET LOCAL can only be used in transaction blocks";
            self.services.notices.warn(sqlstate::NO_ACTIVE_TRANSACTION, text);
            return Ok(tag("SET"));
        }
        let change = match who {
            ActAs::Role(None) if reset => Change::Role(self.services.settings.default_role()),
            who => self.with_catalog(|session, catalog, _| session.services.wanted_role(catalog, who))?,
        };
        self.change(&change, local)?;
        Ok(tag(if reset { "RESET" } else { "SET" }))
    }
}
