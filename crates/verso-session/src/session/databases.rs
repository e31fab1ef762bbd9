//! CREATE, ALTER, DROP DATABASE: who may, and what a new database begins with. The server makes and removes the files.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use verso_catalog::{MembershipChange, OWNER_ROLE, Object, Role, RoleChange};
use verso_storage::{CommitMode, Isolation, Txn, TxnOptions};

use super::Session;
use crate::client::{CommandTag, Notice, StatementSink, tag};
use crate::cluster::{Databases, NewDatabase, Usage, no_database};
use crate::instance::Instance;
use crate::plans::Job;
use crate::services::refused;
use verso_exec::plan::OutputColumn;
use verso_parser::syntax::{
    Comment, Commented, DatabaseStatement, GrantKind, GrantOn, Name, Owned, RightsStatement, RoleName,
    RoleStatement, Statement,
};
use verso_planner::errors::{SqlError, sqlstate};
use verso_types::Batch;

/// Names under which clients of PostgreSQL ask for a new database: here it is empty anyway.
const EMPTY_TEMPLATES: [&str; 2] = ["template0", "template1"];

impl Session {
    /// CREATE DATABASE, DROP DATABASE, ALTER DATABASE … RENAME TO.
    pub(super) fn database_statement(
        &mut self,
        statement: &DatabaseStatement,
    ) -> Result<CommandTag, SqlError> {
        if let DatabaseStatement::Tablespace { name } = statement
            && *name.text == **self.services.database()
        {
            let text = "cannot change the tablespace of the currently open database";
            return Err(SqlError::new(sqlstate::OBJECT_IN_USE, text));
        }
        let databases = self.services.instance.member().cluster().databases()?;
        match statement {
            DatabaseStatement::Create { name, template, owner, page_size, options } => {
                let template = template.as_ref().map(|name| &*name.text);
                let template = template.filter(|name| !EMPTY_TEMPLATES.contains(name));
                let new = NewDatabase { name: &name.text, template, page_size: *page_size };
                let usage = Usage::default().with(*options);
                self.create_database(&*databases, &new, owner.as_ref(), usage)?;
                Ok(tag("CREATE DATABASE"))
            }
            DatabaseStatement::Drop { name, if_exists, force } => {
                let known = databases.list().iter().any(|entry| *entry.name == *name.text);
                if !known && *if_exists {
                    let text = format!("database \"{}\" does not exist, skipping", name.text);
                    self.services.notices.tell(Notice::message(text));
                    return Ok(tag("DROP DATABASE"));
                }
                if !known {
                    return Err(no_database(&name.text));
                }
                if *name.text == **self.services.database() {
                    let text = "cannot drop the currently open database";
                    return Err(SqlError::new(sqlstate::OBJECT_IN_USE, text));
                }
                self.check_owns(&*databases, &name.text)?;
                if usage_of(&*databases, &name.text)?.is_template {
                    let text = "cannot drop a template database";
                    return Err(SqlError::new(sqlstate::WRONG_OBJECT_TYPE, text));
                }
                databases.remove(&name.text, *force, &|| self.check_cancelled())?;
                Ok(tag("DROP DATABASE"))
            }
            DatabaseStatement::Alter { name, options } => {
                let own = *name.text == **self.services.database();
                if !own && !databases.list().iter().any(|entry| *entry.name == *name.text) {
                    return Err(no_database(&name.text));
                }
                self.check_owns(&*databases, &name.text)?;
                if own && options.allow_connections == Some(false) {
                    let text = "cannot disallow connections for current database";
                    return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
                }
                let mut known = Usage::default();
                databases.with(&name.text, &mut |instance| {
                    known = instance.usage().with(*options);
                    instance.set_usage(known)
                })?;
                databases.note_usage(&name.text, known);
                Ok(tag("ALTER DATABASE"))
            }
            DatabaseStatement::Tablespace { name } => {
                if !databases.list().iter().any(|entry| *entry.name == *name.text) {
                    return Err(no_database(&name.text));
                }
                self.check_owns(&*databases, &name.text)?;
                Ok(tag("ALTER DATABASE"))
            }
            DatabaseStatement::Rename { name, to } => {
                if !databases.list().iter().any(|entry| *entry.name == *name.text) {
                    return Err(no_database(&name.text));
                }
                if *name.text == **self.services.database() {
                    let text = "current database cannot be renamed";
                    return Err(SqlError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
                }
                self.check_owns(&*databases, &name.text)?;
                if !self.may_create_databases()? {
                    return Err(refused("rename database"));
                }
                check_name(&to.text)?;
                databases.rename(&name.text, &to.text, &|| self.check_cancelled())?;
                Ok(tag("ALTER DATABASE"))
            }
        }
    }

    fn create_database(
        &self,
        databases: &dyn Databases,
        new: &NewDatabase<'_>,
        owner: Option<&RoleName>,
        usage: Usage,
    ) -> Result<(), SqlError> {
        if !self.may_create_databases()? {
            return Err(refused("create database"));
        }
        check_name(new.name)?;
        if let Some(template) = new.template {
            if new.page_size.is_some() {
                let text = "page_size cannot be given for a copy of another database";
                return Err(SqlError::new(sqlstate::INVALID_PARAMETER_VALUE, text)
                    .with_hint("A copy has the pages of its template."));
            }
            let known = databases.list().iter().any(|entry| *entry.name == *template);
            if !known {
                let text = format!("template database \"{template}\" does not exist");
                return Err(SqlError::new(sqlstate::INVALID_CATALOG_NAME, text));
            }
            if *template == **self.services.database() {
                let text = format!("source database \"{template}\" is being accessed by this session");
                return Err(SqlError::new(sqlstate::OBJECT_IN_USE, text)
                    .with_hint("Connect to another database to copy this one."));
            }
            if !usage_of(databases, template)?.is_template {
                self.check_owns(databases, template).map_err(|error| match error.sqlstate {
                    sqlstate::INSUFFICIENT_PRIVILEGE => refused(&format!("copy database \"{template}\"")),
                    _ => error,
                })?;
            }
        }
        // A copy has the roles of its template; it is the creator's only where that is one of them.
        let owner_is_named = owner.is_some();
        let owner: Arc<str> = match owner {
            Some(RoleName::Named(name)) => name.text.as_str().into(),
            Some(RoleName::Session) => self.services.session_name(),
            Some(RoleName::Current) | None => self.services.current_name(),
        };
        let own = &self.services.instance;
        self.with_catalog(|session, catalog, _| {
            let role = catalog.role_named(&owner);
            let role = role.ok_or_else(|| no_role(&owner))?;
            match catalog.may_become(session.services.current_role(), role.oid)
                || session.services.is_superuser()
            {
                true => Ok(()),
                false => {
                    let text = format!("must be able to SET ROLE \"{owner}\"");
                    Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text))
                }
            }
        })?;
        let mut fill = |made: &Arc<Instance>| {
            if new.template.is_none() {
                copy_roles(own, made)?;
            }
            // a copy is used as the statement says, not as its template
            made.set_usage(usage)?;
            give(made, &owner, owner_is_named)
        };
        databases.create(new, &mut fill, &|| self.check_cancelled())?;
        databases.note_usage(new.name, usage);
        Ok(())
    }

    /// ALTER DATABASE other SET.
    pub(super) fn alter_other_database(
        &self,
        database: &str,
        name: &Name,
        value: Option<&str>,
    ) -> Result<CommandTag, SqlError> {
        let member = self.services.instance.member();
        if !member.cluster().others(member).iter().any(|entry| *entry.name == *database) {
            return Err(no_database(database));
        }
        let databases = member.cluster().databases()?;
        self.check_owns(&*databases, database)?;
        databases.with(database, &mut |other| {
            other.keep_setting(&name.text, value).map_err(|error| error.at(name.at.start))
        })?;
        Ok(tag("ALTER DATABASE"))
    }

    /// Runs a statement that says something of another database than the session's: who owns it, who may do what with it, its
    /// comment, what its roles begin with. All that stands in that database's file, so a session of that database runs it, by
    /// itself: within a transaction block it is refused where it would be run.
    ///
    /// # Errors
    /// 42501 for whoever does not own that database; those of the statement.
    pub(super) fn said_elsewhere(&mut self, job: &Job<'_>) -> Result<Option<CommandTag>, SqlError> {
        if self.transaction.is_open() || self.transaction.several || !self.transaction.autocommit {
            return Ok(None);
        }
        let Some(name) = other_database(job.statement, self.services.database()) else { return Ok(None) };
        let Ok(databases) = self.services.instance.member().cluster().databases() else { return Ok(None) };
        if !databases.list().iter().any(|entry| *entry.name == *name) {
            return Ok(None);
        }
        self.check_writable(job.statement)?;
        self.check_owns(&*databases, name)?;
        let (start, end) = (job.at.start as usize, job.at.end as usize);
        let text: String = job.sql.chars().skip(start).take(end - start).collect();
        let mut told = Told::default();
        databases
            .with(name, &mut |instance| Session::new(Arc::clone(instance)).execute(&text, &[], &mut told))?;
        told.notices.into_iter().for_each(|notice| self.services.notices.tell(notice));
        Ok(told.tag)
    }

    fn may_create_databases(&self) -> Result<bool, SqlError> {
        self.with_catalog(|session, catalog, _| {
            let role = session.services.current_role();
            let may = catalog.role_by_oid(role).is_some_and(|role| role.create_db);
            Ok(may || catalog.is_superuser(role))
        })
    }

    /// Refuses what only the owner of another database may: a superuser, or a role of the owner's name and password there
    /// (D1). Of roles without a password the one counts that the session has logged in as: any other of that name may be one that
    /// somebody has made here, while the server lets a client log in by a name's rules, which are the same for all databases.
    fn check_owns(&self, databases: &dyn Databases, database: &str) -> Result<(), SqlError> {
        let own = self.with_catalog(|session, catalog, _| {
            let role = session.services.current_role();
            let limited = !catalog.is_superuser(role);
            Ok(limited.then(|| (catalog.role_by_oid(role).cloned(), role == session.services.identity.role)))
        })?;
        let Some((own, logged_in)) = own else { return Ok(()) };
        databases.with(database, &mut |other| {
            let same = |role: &&Role| {
                own.as_ref().is_some_and(|own| {
                    let known = own.password.is_some() || logged_in;
                    own.name == role.name && own.password == role.password && known
                })
            };
            let there = other.roles()?;
            let owner = reading(other, |catalog| Ok(catalog.owner_of(Object::Database)))?;
            if there.iter().filter(|role| role.oid == owner).any(|role| same(&role)) {
                return Ok(());
            }
            let text = format!("must be owner of database {database}");
            Err(SqlError::new(sqlstate::INSUFFICIENT_PRIVILEGE, text).with_detail(
                "A role counts as its owner if it has the owner's name and the same password there.",
            ))
        })
    }

    fn check_cancelled(&self) -> Result<(), SqlError> {
        let info = &self.services.info;
        if info.cancel_flag().load(Ordering::Relaxed) { Err(info.reason().error()) } else { Ok(()) }
    }
}

/// The database that a statement is about, where that is not the session's and the statement names whom it gives something.
fn other_database<'s>(statement: &'s Statement, own: &str) -> Option<&'s str> {
    let is_named = |role: &RoleName| matches!(role, RoleName::Named(_));
    let name = match statement {
        Statement::Rights(RightsStatement::Owner { of: Owned::Database(Some(name)), to, .. }) => {
            is_named(to).then_some(name)?
        }
        Statement::Rights(RightsStatement::Grant(grant)) => {
            let GrantOn::Plain(GrantKind::Database, names) = &grant.on else { return None };
            let [name] = names.as_slice() else { return None };
            grant.to.iter().chain(&grant.by).all(is_named).then_some(name)?
        }
        Statement::Comment(Comment { on: Commented::Database(name), .. }) => name,
        Statement::Role(RoleStatement::Setting { database: Some(database), .. }) => database,
        _ => return None,
    };
    (name.text != own).then_some(&*name.text)
}

/// What a statement without rows has answered.
#[derive(Default)]
struct Told {
    tag: Option<CommandTag>,
    notices: Vec<Notice>,
}

impl StatementSink for Told {
    fn begin(&mut self, _: &[OutputColumn]) -> Result<(), SqlError> {
        Ok(())
    }

    fn batch(&mut self, _: &Batch) -> Result<(), SqlError> {
        Ok(())
    }

    fn complete(&mut self, tag: &CommandTag) -> Result<(), SqlError> {
        self.tag = Some(tag.clone());
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) -> Result<(), SqlError> {
        self.notices.push(notice.clone());
        Ok(())
    }
}

/// How a database may be used.
fn usage_of(databases: &dyn Databases, name: &str) -> Result<Usage, SqlError> {
    let mut usage = Usage::default();
    databases.with(name, &mut |instance| {
        usage = instance.usage();
        Ok(())
    })?;
    Ok(usage)
}

/// Refuses names that are no file's, and those that clients take for PostgreSQL's templates.
fn check_name(name: &str) -> Result<(), SqlError> {
    if EMPTY_TEMPLATES.contains(&name) {
        let text = format!("database \"{name}\" already exists");
        return Err(SqlError::new(sqlstate::DUPLICATE_DATABASE, text));
    }
    let fits = |c: char| !c.is_control() && !matches!(c, '/' | '\\');
    if !name.starts_with('.') && name.chars().all(fits) {
        return Ok(());
    }
    let text = format!("database name \"{}\" is not the name of a file", name.escape_debug());
    Err(SqlError::new("42602", text)
        .with_hint("It may not begin with a dot or contain slashes, backslashes or control characters."))
}

fn no_role(name: &str) -> SqlError {
    SqlError::new(sqlstate::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
}

fn reading<T>(
    instance: &Instance,
    read: impl FnOnce(&verso_catalog::CatalogSnapshot) -> Result<T, SqlError>,
) -> Result<T, SqlError> {
    let options = TxnOptions { isolation: Isolation::ReadCommitted, savepoints: true, read_only: true };
    let mut txn = instance.engine.begin(options);
    txn.begin_statement()?;
    let snapshot = instance.catalog.snapshot(&txn);
    txn.end_statement()?;
    txn.end_unseen()?;
    read(&*snapshot?)
}

/// Whether a role is a member of another, or is it. Superusers are no exception.
///
/// # Errors
/// Those of storage.
pub(crate) fn is_member(instance: &Instance, role: &str, other: &str) -> Result<bool, SqlError> {
    reading(instance, |catalog| {
        let named = |name: &str| catalog.role_named(name).map(|role| role.oid);
        let (Some(role), Some(other)) = (named(role), named(other)) else { return Ok(false) };
        Ok(role == other || catalog.is_really_member(role, other))
    })
}

/// The name of the role that owns a database.
///
/// # Errors
/// Those of storage.
pub(crate) fn owner_of(instance: &Instance) -> Result<Option<Arc<str>>, SqlError> {
    reading(instance, |catalog| {
        let owner = catalog.role_by_oid(catalog.owner_of(Object::Database));
        Ok(owner.map(|role| Arc::clone(&role.name)))
    })
}

/// Runs one step of a transaction as a statement.
fn step<T>(txn: &mut Txn, step: impl FnOnce(&mut Txn) -> Result<T, SqlError>) -> Result<T, SqlError> {
    txn.begin_statement()?;
    let done = step(txn);
    txn.end_statement()?;
    done
}

fn writing(
    instance: &Instance,
    write: impl FnOnce(&mut Txn) -> Result<(), SqlError>,
) -> Result<(), SqlError> {
    let options = TxnOptions { isolation: Isolation::ReadCommitted, savepoints: true, read_only: false };
    let mut txn = instance.engine.begin(options);
    match write(&mut txn) {
        Ok(()) => Ok(txn.commit(CommitMode::Wait).map(drop)?),
        Err(error) => {
            txn.rollback()?;
            Err(error)
        }
    }
}

/// Gives a new database the roles of the one that it was made from, with their passwords and members.
fn copy_roles(from: &Instance, to: &Instance) -> Result<(), SqlError> {
    let roles: Vec<Role> = from.roles()?.into_iter().filter(|role| !role.is_predefined()).collect();
    let memberships = reading(from, |catalog| {
        let name = |oid| catalog.role_by_oid(oid).map(|role| Arc::clone(&role.name));
        let all = catalog.memberships().iter();
        Ok(all.map(|one| (name(one.role), name(one.member), name(one.grantor), *one)).collect::<Vec<_>>())
    })?;
    writing(to, |txn| {
        for role in &roles {
            let change = RoleChange {
                superuser: Some(role.superuser),
                create_role: Some(role.create_role),
                create_db: Some(role.create_db),
                inherit: Some(role.inherit),
                login: Some(role.login),
                replication: Some(role.replication),
                bypass_rls: Some(role.bypass_rls),
                connection_limit: Some(role.connection_limit),
                password: Some(role.password.clone()),
                valid_until: Some(role.valid_until),
                name: None,
            };
            step(txn, |txn| {
                if role.oid == OWNER_ROLE {
                    let name = (&*role.name != verso_catalog::OWNER).then(|| Arc::clone(&role.name));
                    let change = RoleChange { name, ..change };
                    return Ok(to.catalog.alter_role(txn, verso_catalog::OWNER, &change)?);
                }
                Ok(to.catalog.create_role(txn, &role.name, &change).map(drop)?)
            })?;
        }
        for (role, member, grantor, old) in &memberships {
            step(txn, |txn| {
                let snapshot = to.catalog.snapshot(txn)?;
                let number = |name: &Option<Arc<str>>| {
                    name.as_ref().and_then(|name| snapshot.role_named(name)).map(|role| role.oid)
                };
                let (Some(role), Some(member)) = (number(role), number(member)) else { return Ok(()) };
                let of = (role, member, number(grantor).unwrap_or(OWNER_ROLE));
                let change = MembershipChange::Grant {
                    admin: Some(old.admin),
                    inherit: Some(old.inherit),
                    set: Some(old.set),
                };
                Ok(to.catalog.change_membership(txn, &snapshot, of, change).map(drop)?)
            })?;
        }
        Ok(())
    })
}

/// Makes a role the owner of a new database; one that the database does not know is an error only if it was `named`.
fn give(new: &Instance, owner: &str, named: bool) -> Result<(), SqlError> {
    writing(new, |txn| {
        step(txn, |txn| {
            let snapshot = new.catalog.snapshot(txn)?;
            match snapshot.role_named(owner) {
                Some(role) if role.oid == snapshot.owner_of(Object::Database) => Ok(()),
                Some(role) => Ok(new.catalog.set_owner(txn, &snapshot, &[Object::Database], role.oid)?),
                None if named => Err(no_role(owner).with_detail("The template has no such role.")),
                None => Ok(()),
            }
        })
    })
}
