//! CREATE, ALTER, DROP ROLE.

use std::sync::Arc;

use verso_catalog::{CatalogError, MembershipChange, ObjectKind, Oid, Role, RoleChange};
use verso_types::datetime::parse_timestamptz;

use super::Schema;
use super::memberships::check_owners;
use crate::client::tag;
use crate::client::{CommandTag, Notice};
use crate::failure::Failure;
use crate::scram::{Verifier, is_md5};
use crate::services::refused;
use verso_parser::syntax::{Name, RoleOptions, RoleStatement};
use verso_planner::errors::{SqlError, sqlstate};

impl Schema<'_> {
    /// Runs a statement about roles.
    pub(super) fn role(&self, statement: &RoleStatement) -> Result<CommandTag, Failure> {
        match statement {
            RoleStatement::Create { name, options } => self.create_role(name, options),
            RoleStatement::Alter { name, options, rename } => {
                self.alter_role(name.as_ref(), options, rename.as_ref())
            }
            RoleStatement::Setting { name, database, setting, value } => {
                if let Some(database) = database {
                    self.database(database)?;
                }
                self.role_setting(name.as_ref(), database.is_some(), setting.as_ref(), value.as_deref())
            }
            RoleStatement::Drop { names, if_exists } => self.drop_roles(names, *if_exists),
        }
    }

    fn create_role(&self, name: &Name, options: &RoleOptions) -> Result<CommandTag, Failure> {
        check_name(&name.text).map_err(|error| match name.text.starts_with("pg_") {
            true => error,
            false => error.at(name.at.start),
        })?;
        self.may_give(options, "create")?;
        let change = self.change(options)?;
        let catalog = &self.frame.services.instance.catalog;
        let role =
            catalog.create_role(&mut self.frame.txn.borrow_mut(), &name.text.as_str().into(), &change)?;
        let limited = self.limited();
        let member = |role: Oid, member: Oid, admin: bool, plain: bool| {
            check_owners(role, member)?;
            self.frame.inside(|frame| {
                let change = MembershipChange::Grant {
                    admin: Some(admin),
                    inherit: plain.then_some(false),
                    set: plain.then_some(false),
                };
                let of = (role, member, verso_catalog::OWNER_ROLE);
                catalog.change_membership(&mut frame.txn.borrow_mut(), frame.catalog, of, change)?;
                Ok(())
            })
        };
        // Who makes a role may grant it.
        if let Some(own) = limited {
            member(role, own, true, true)?;
        }
        for of in &options.in_roles {
            let of = self.role_called(&of.text)?;
            self.may_administer(of, "grant")?;
            member(of, role, false, false)?;
        }
        for (names, admin) in [(&options.members, false), (&options.admins, true)] {
            for name in names {
                member(role, self.role_called(&name.text)?, admin, false)?;
            }
        }
        Ok(tag("CREATE ROLE"))
    }

    /// Refuses options that the session's role may not give.
    fn may_give(&self, options: &RoleOptions, doing: &str) -> Result<(), SqlError> {
        let Some(own) = self.limited() else { return Ok(()) };
        let Some(role) = self.frame.catalog.role_by_oid(own) else {
            return Err(refused(&format!("{doing} role")));
        };
        let error = refused(&format!("{doing} role"));
        if !role.create_role {
            let detail = format!("Only roles with the CREATEROLE attribute may {doing} roles.");
            return Err(error.with_detail(detail));
        }
        let asks = [
            (options.superuser == Some(true), false, "SUPERUSER"),
            (options.create_db == Some(true), role.create_db, "CREATEDB"),
            (options.replication == Some(true), role.replication, "REPLICATION"),
            (options.bypass_rls == Some(true), role.bypass_rls, "BYPASSRLS"),
        ];
        match asks.into_iter().find(|(asked, has, _)| *asked && !has) {
            Some((.., word)) if doing == "create" => Err(error.with_detail(format!(
                "Only roles with the {word} attribute may create roles with the {word} attribute."
            ))),
            Some((.., word)) => Err(error.with_detail(format!(
                "Only roles with the {word} attribute may change the {word} attribute."
            ))),
            None => Ok(()),
        }
    }

    fn alter_role(
        &self,
        name: Option<&Name>,
        options: &RoleOptions,
        rename: Option<&Name>,
    ) -> Result<CommandTag, Failure> {
        let snapshot = self.frame.catalog;
        let role = match name {
            Some(name) => self.role_called(&name.text)?,
            None => self.current(),
        };
        let known = snapshot.role_by_oid(role).cloned();
        let Some(known) = known else { return Err(SqlError::internal("no such role").into()) };
        check_name(&known.name)?;
        if let Some(name) = rename {
            check_name(&name.text)?;
        }
        let only_password = RoleOptions { password: options.password.clone(), ..RoleOptions::default() };
        // Everybody may change the own password.
        if role != self.current() || *options != only_password || rename.is_some() {
            let doing = if rename.is_some() { "rename" } else { "alter" };
            if options.superuser.is_some() && self.limited().is_some() {
                let detail = "Only roles with the SUPERUSER attribute may change the SUPERUSER attribute.";
                return Err(refused("alter role").with_detail(detail).into());
            }
            self.may_alter(&known, doing)?;
            if rename.is_none() {
                self.may_give(options, "alter")?;
            }
        }
        let mut change = self.change(options)?;
        if role == verso_catalog::OWNER_ROLE && change.superuser == Some(false) {
            let text = "permission denied to alter role";
            let detail = "The bootstrap superuser must have the SUPERUSER attribute.";
            return Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).with_detail(detail).into());
        }
        if rename.is_some() && role == self.frame.services.session_role() {
            return Err(SqlError::unsupported("session user cannot be renamed").into());
        }
        change.name = rename.map(|name| name.text.as_str().into());
        let catalog = &self.frame.services.instance.catalog;
        catalog.alter_role(&mut self.frame.txn.borrow_mut(), &known.name, &change)?;
        Ok(tag("ALTER ROLE"))
    }

    /// Refuses a role that the session's may not change.
    pub(super) fn may_alter(&self, role: &Role, doing: &str) -> Result<(), SqlError> {
        let Some(own) = self.limited() else { return Ok(()) };
        let catalog = self.frame.catalog;
        let error = refused(&format!("{doing} role"));
        if role.superuser {
            let text = format!(
                "Only roles with the SUPERUSER attribute may {doing} roles with the SUPERUSER attribute."
            );
            return Err(error.with_detail(text));
        }
        let creates = catalog.role_by_oid(own).is_some_and(|own| own.create_role);
        if creates && catalog.administers(own, role.oid) {
            return Ok(());
        }
        Err(error.with_detail(format!(
            "Only roles with the CREATEROLE attribute and the ADMIN option on role \"{}\" may {doing} this role.",
            role.name
        )))
    }

    fn drop_roles(&self, names: &[Name], if_exists: bool) -> Result<CommandTag, Failure> {
        let (snapshot, services) = (self.frame.catalog, self.frame.services);
        if let Some(own) = self.limited()
            && !snapshot.role_by_oid(own).is_some_and(|own| own.create_role)
        {
            let detail = "Only roles with the CREATEROLE attribute and the ADMIN option on the target roles may \
                          drop roles.";
            return Err(refused("drop role").with_detail(detail).into());
        }
        for name in names {
            let Some(role) = snapshot.role_named(&name.text) else {
                let missing = CatalogError::missing(ObjectKind::Role, name.text.as_str());
                if if_exists {
                    services.notices.tell(Notice::message(format!("{missing}, skipping")));
                    continue;
                }
                return Err(missing.into());
            };
            if role.is_predefined() {
                let text =
                    format!("cannot drop role {} because it is required by the database system", role.name);
                return Err(SqlError::new("2BP01", text).into());
            }
            for (own, word) in [(self.current(), "current"), (services.session_role(), "session")] {
                if role.oid == own {
                    let text = format!("{word} user cannot be dropped");
                    return Err(SqlError::new(sqlstate::OBJECT_IN_USE, text).into());
                }
            }
            self.may_alter(role, "drop")?;
            services.instance.catalog.claim_role(&mut self.frame.txn.borrow_mut(), snapshot, role.oid)?;
            let mut needed = self.needed_role(role.oid);
            let goes = |oid: verso_catalog::Oid| {
                names.iter().any(|name| snapshot.role_named(&name.text).is_some_and(|role| role.oid == oid))
            };
            let granted = snapshot
                .memberships()
                .iter()
                .filter(|one| one.grantor == role.oid && !goes(one.member) && !goes(one.role));
            needed.extend(granted.map(|one| {
                let (member, of) = (self.role_text(one.member), self.role_text(one.role));
                format!("privileges for membership of role {member} in role {of}")
            }));
            if !needed.is_empty() {
                let text =
                    format!("role \"{}\" cannot be dropped because some objects depend on it", role.name);
                return Err(SqlError::new("2BP01", text).with_detail(needed.join("\n")).into());
            }
            let catalog = &services.instance.catalog;
            catalog.drop_role(&mut self.frame.txn.borrow_mut(), &name.text)?;
        }
        Ok(tag("DROP ROLE"))
    }

    /// Says of a role that sessions are to begin as that there is none.
    fn tell_of_role(&self, name: &str) {
        if name != "none" && self.frame.catalog.role_named(name).is_none() {
            let missing = CatalogError::missing(ObjectKind::Role, name);
            self.skip_known(sqlstate::UNDEFINED_OBJECT, missing.to_string());
        }
    }

    /// ALTER ROLE … SET: what sessions of the role begin with.
    fn role_setting(
        &self,
        name: Option<&Name>,
        here: bool,
        setting: Option<&Name>,
        value: Option<&str>,
    ) -> Result<CommandTag, Failure> {
        let role = match name {
            // ALL
            Some(name) if name.text.is_empty() => {
                if self.limited().is_some() {
                    let error =
                        SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, "permission denied to alter setting");
                    let detail = "Only roles with the SUPERUSER attribute may alter settings globally.";
                    return Err(error.with_detail(detail).into());
                }
                Oid(0)
            }
            Some(name) => self.role_called(&name.text)?,
            None => self.current(),
        };
        if role != self.current()
            && let Some(known) = self.frame.catalog.role_by_oid(role)
        {
            self.may_alter(known, "alter")?;
        }
        let setting = setting.map(|name| name.text.to_ascii_lowercase());
        if let (Some(name), Some(value)) = (&setting, value) {
            match name.as_str() {
                // Whether it may be taken is asked when a session begins.
                "role" => self.tell_of_role(value),
                // It has to be one, and to take the value.
                _ => crate::settings::Settings::default().set(name, Some(value))?,
            }
        }
        if let Some(name) = &setting {
            crate::settings::check_may_set(name, || {
                self.frame.services.may_set(name, verso_catalog::Rights::SET)
            })?;
        }
        let catalog = &self.frame.services.instance.catalog;
        let txn = &mut self.frame.txn.borrow_mut();
        catalog.set_role_setting(txn, role, here, setting.as_deref(), value)?;
        Ok(tag("ALTER ROLE"))
    }

    fn change(&self, options: &RoleOptions) -> Result<RoleChange, SqlError> {
        let RoleOptions { password, valid_until, .. } = options;
        let until = |text: &String| parse_timestamptz(text, &self.frame.services.settings.time_zone);
        Ok(RoleChange {
            superuser: options.superuser,
            create_role: options.create_role,
            create_db: options.create_db,
            inherit: options.inherit,
            login: options.login,
            replication: options.replication,
            bypass_rls: options.bypass_rls,
            connection_limit: options.connection_limit,
            password: match password {
                Some(Some(text)) => Some(self.verifier(text)?),
                Some(None) => Some(None),
                None => None,
            },
            valid_until: valid_until.as_ref().map(until).transpose()?.map(Some),
            name: None,
        })
    }

    /// What is kept of a password; a client may send that itself. The empty one is none.
    fn verifier(&self, password: &str) -> Result<Option<Arc<str>>, SqlError> {
        if password.is_empty() {
            return Ok(None);
        }
        if Verifier::parse(password).is_some() {
            return Ok(Some(password.into()));
        }
        // Were it taken for a password, whoever knows the hash could log in with it, and the role's owner could not.
        if is_md5(password) {
            let hint = "Give the password itself, or its verifier as PostgreSQL keeps it with \
                        password_encryption = 'scram-sha-256'.";
            return Err(SqlError::unsupported("a password in the form of MD5").with_hint(hint));
        }
        let services = self.frame.services;
        let iterations = services.settings.scram_iterations;
        Ok(Some(Verifier::of_password(password, iterations, &*services.env.random).to_string().into()))
    }
}

/// Refuses names of roles that the system keeps for its own.
fn check_name(name: &str) -> Result<(), SqlError> {
    if matches!(name, "public" | "none") {
        return Err(SqlError::new("42939", format!("role name \"{name}\" is reserved")));
    }
    if !name.starts_with("pg_") {
        return Ok(());
    }
    let error = SqlError::new("42939", format!("role name \"{name}\" is reserved"));
    Err(error.with_detail("Role names starting with \"pg_\" are reserved."))
}
