//! What a session begins with: whether its role may connect, and the settings that are kept for it.

use verso_catalog::{Object, Oid, Rights};
use verso_parser::syntax::{ActAs, Name, Span};

use super::Session;
use verso_planner::errors::{SqlError, sqlstate};

impl Session {
    /// Refuses a role that may not connect, or has as many sessions as it may have, and everybody whom the database does not let in.
    ///
    /// # Errors
    /// 42501, 53300, 55000.
    pub fn check_connect(&self) -> Result<(), SqlError> {
        let services = &self.services;
        let role = services.identity.role;
        let usage = services.instance.usage();
        if !usage.allow_connections {
            let text = format!("database \"{}\" is not currently accepting connections", services.database());
            return Err(SqlError::new("55000", text));
        }
        self.with_catalog(|_, catalog, _| {
            // Policies, and rights that were taken from them, may be among what is lost.
            if services.instance.catalog.is_incomplete() && !catalog.is_superuser(role) {
                let text = "the catalog is incomplete: only superusers can connect";
                return Err(SqlError::new("XX001", text));
            }
            if !catalog.rights(role, Object::Database).has(Rights::CONNECT) {
                let text = format!("permission denied for database \"{}\"", services.database());
                return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text)
                    .with_detail("User does not have CONNECT privilege."));
            }
            let limit = usage.connection_limit;
            if limit >= 0 && !catalog.is_superuser(role) {
                let count = services.instance.sessions.of(&services.instance.member).len();
                if count > usize::try_from(limit).unwrap_or(0) {
                    let text = format!("too many connections for database \"{}\"", services.database());
                    return Err(SqlError::new("53300", text));
                }
            }
            let limit = catalog.role_by_oid(role).map_or(-1, |role| role.connection_limit);
            if limit >= 0 && !catalog.is_superuser(role) {
                let own = services.instance.sessions.of(&services.instance.member).into_iter();
                let count = own.filter(|info| info.identity.lock().role == role).count();
                if count > usize::try_from(limit).unwrap_or(0) {
                    let text = format!("too many connections for role \"{}\"", services.identity.user);
                    return Err(SqlError::new("53300", text));
                }
            }
            Ok(())
        })
    }

    /// Goes on with the settings that ALTER ROLE has left for a role: those for this database count more than those for all, and
    /// both more than those of ALTER DATABASE, with which the session has begun; least those of ALTER ROLE ALL. One that is refused is told, and left out.
    ///
    /// # Errors
    /// Those of reading the catalog.
    pub fn apply_kept_settings(&mut self, role: Oid) -> Result<(), SqlError> {
        let mut kept: Vec<(Oid, String, String)> = Vec::new();
        self.with_catalog(|session, catalog, _| {
            for (database, of, config) in catalog.kept_settings() {
                let of_all = of.0 == 0 && database.0 == 0;
                // ALTER ROLE ALL counts less than ALTER DATABASE
                let stronger = match of_all {
                    true => session.services.instance.catalog.database_settings()?,
                    false => Vec::new(),
                };
                let settings = config.iter().filter(|_| *of == role || of_all);
                let settings = settings.filter_map(|one| one.split_once('='));
                let settings = settings.filter(|(name, _)| !stronger.iter().any(|(known, _)| known == name));
                if of_all {
                    let first = settings.map(|(name, value)| (*database, name.to_owned(), value.to_owned()));
                    drop(kept.splice(0..0, first));
                    continue;
                }
                kept.extend(settings.map(|(name, value)| (*database, name.to_owned(), value.to_owned())));
            }
            Ok(())
        })?;
        kept.sort_by_key(|(database, ..)| database.0);
        for (_, name, value) in kept {
            let set = match name.as_str() {
                "role" => self.begin_with_role(&value),
                _ => self.set_default(&name, &value),
            };
            if let Err(error) = set {
                self.services.notices.warn(error.sqlstate, &error.message);
            }
        }
        Ok(())
    }

    /// The session begins as another role than it has logged in as, and RESET ROLE goes back to that one.
    fn begin_with_role(&mut self, name: &str) -> Result<(), SqlError> {
        let named = Some(name).filter(|name| *name != "none");
        let named = named.map(|name| Name { text: name.to_owned(), at: Span::default() });
        let who = ActAs::Role(named);
        let change = self.with_catalog(|session, catalog, _| session.services.wanted_role(catalog, &who))?;
        self.change(&change, false)?;
        self.services.settings.set_default_role(&change)
    }
}
