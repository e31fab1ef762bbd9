//! Who a session belongs to, and what a server needs to know of it beside statements.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::Role;
use verso_exec::ExecError;

use super::Session;
use super::instance::Instance;
use super::registry::Reason;
use super::services::Services;
use super::settings;
use verso_planner::errors::{SqlError, sqlstate};

/// Ends a session from another thread.
pub type Terminate = Arc<dyn Fn() + Send + Sync>;

/// Who a session belongs to. Programs that embed the database are the owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The role.
    pub user: Arc<str>,
    /// It may do everything.
    pub superuser: bool,
    /// Where its client is; none within the program.
    pub client: Option<String>,
}

impl Default for Identity {
    fn default() -> Identity {
        Identity { user: verso_catalog::OWNER.into(), superuser: true, client: None }
    }
}

impl Session {
    /// Its number, unique as long as the database is open.
    pub fn id(&self) -> u64 {
        self.services.info.number
    }

    /// Why it is to end, if it is.
    pub fn ending(&self) -> Option<SqlError> {
        self.services.info.ending().map(Reason::error)
    }

    /// Says who it belongs to.
    pub fn identify(&mut self, identity: Identity) {
        *self.services.info.identity.lock() = identity.clone();
        self.services.identity = identity;
    }

    /// Whom to tell when the session is to end while it is idle: by a timeout, or because an administrator wants it. The
    /// owner then drops the session, or calls [`Session::abandon`]. A session that is busy ends its statement with the
    /// error, gives up its transaction, tells, and refuses everything after it.
    ///
    /// It is called from other threads, and from the session's own within a call of it.
    pub fn on_terminate(&mut self, terminate: Terminate) {
        self.services.info.set_hook(Some(terminate));
    }

    /// An error that happened outside of statements fails the transaction, as one of a statement does.
    pub fn fail(&mut self) {
        self.fail_transaction();
    }

    /// The value of a setting, as SHOW gives it; upper and lower case are one.
    pub fn show(&self, name: &str) -> Option<String> {
        self.services.show(&name.to_ascii_lowercase())
    }

    /// Grows whenever settings change, also where the end of a transaction brings old values back.
    pub fn settings_epoch(&self) -> u64 {
        self.services.epoch
    }

    /// Sets a setting at the session's start: RESET brings it back to this.
    ///
    /// # Errors
    /// As SET.
    pub fn set_default(&mut self, name: &str, value: &str) -> Result<(), SqlError> {
        let name = name.to_ascii_lowercase();
        self.change_settings(false, |settings| settings.set(&name, Some(value)))?;
        let mut defaults = (*self.services.settings_default).clone();
        defaults.set(&name, Some(value))?;
        self.services.settings_default = Arc::new(defaults);
        Ok(())
    }
}

impl Instance {
    /// The role of that name.
    ///
    /// # Errors
    /// Those of storage.
    pub fn role(&self, name: &str) -> Result<Option<Role>, SqlError> {
        Ok(self.catalog.committed_roles()?.into_iter().find(|role| &*role.name == name))
    }

    /// All roles.
    ///
    /// # Errors
    /// Those of storage.
    pub fn roles(&self) -> Result<Vec<Role>, SqlError> {
        Ok(self.catalog.committed_roles()?)
    }

    /// Cancels the statement of a session; false if there is no such session.
    pub fn cancel_session(&self, id: u64) -> bool {
        self.sessions.find(id).map(|session| session.interrupt(Reason::User)).is_some()
    }

    /// Ends a session, as soon as its owner notices; false if there is no such session.
    pub fn terminate_session(&self, id: u64) -> bool {
        self.sessions.find(id).map(|session| session.interrupt(Reason::Administrator)).is_some()
    }
}

/// A session's number as PostgreSQL's process number.
pub(super) fn backend_id(id: u64) -> i32 {
    i32::try_from(id).unwrap_or(i32::MAX)
}

impl Services {
    /// Cancels the statement of another session, or ends the session; false if there is none.
    pub(super) fn signal(&self, id: i32, terminate: bool) -> Result<bool, ExecError> {
        let id = u64::try_from(id).unwrap_or(0);
        let Some(other) = self.instance.sessions.find(id) else { return Ok(false) };
        let owner = other.identity.lock().clone();
        if !self.identity.superuser && (owner.superuser || owner.user != self.identity.user) {
            let what = if terminate { "terminate process" } else { "cancel query" };
            return Err(ExecError::raised(
                sqlstate::INSUFFICIENT_PRIVILEGE,
                format!("permission denied to {what}"),
            ));
        }
        Ok(if terminate { self.instance.terminate_session(id) } else { self.instance.cancel_session(id) })
    }
}

/// Settings that a client sees but nobody can change: some drivers and tools ask for them.
pub(super) fn fixed_setting(services: &Services, name: &str) -> Option<String> {
    let on = |value: bool| Some(settings::on(value));
    let identity = &services.identity;
    let text = match name {
        "is_superuser" => return on(identity.superuser),
        "session_authorization" => &*identity.user,
        "in_hot_standby" | "default_transaction_deferrable" | "transaction_deferrable" => return on(false),
        "integer_datetimes" | "data_checksums" | "fsync" => return on(true),
        "block_size" => return Some(services.instance.engine.space().page_size.to_string()),
        "lc_collate" | "lc_ctype" | "lc_messages" | "lc_monetary" | "lc_numeric" | "lc_time" => "C",
        "max_connections" => {
            let connections = services.instance.connections_max.load(Ordering::Relaxed);
            return (connections > 0).then(|| connections.to_string());
        }
        "max_identifier_length" => "63",
        "max_index_keys" => "32",
        "wal_level" => "replica",
        _ => return None,
    };
    Some(text.to_string())
}
