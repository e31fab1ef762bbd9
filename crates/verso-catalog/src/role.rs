//! Roles: who may connect, and what that role may do with roles and the database. Rows of `pg_authid`; a snapshot of the
//! catalog has them, too ([`crate::authority`]), as rights on all else are looked up there.

use std::sync::Arc;

use verso_storage::{CommitMode, Isolation, Txn, TxnOptions};
use verso_types::Value;

use crate::catalog::Catalog;
use crate::ddl::claim::{NameOf, conflict};
use crate::definition::Oid;
use crate::error::{CatalogError, ObjectKind};
use crate::store::Of;
use crate::system::OWNER_OID;
use crate::system::field::{Moment, Name};
use crate::system::row::AuthIdRow;

/// The role that every database begins with; it owns everything.
pub const OWNER: &str = "verso";
/// Its number.
pub const OWNER_ROLE: Oid = OWNER_OID;

/// Who may connect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its number.
    pub oid: Oid,
    /// Its name.
    pub name: Arc<str>,
    /// It may do everything.
    pub superuser: bool,
    /// It may change roles.
    pub create_role: bool,
    /// It may create databases.
    pub create_db: bool,
    /// What it is granted from now on it has without SET ROLE.
    pub inherit: bool,
    /// It may connect.
    pub login: bool,
    /// REPLICATION was said of it.
    pub replication: bool,
    /// Policies do not hold for it.
    pub bypass_rls: bool,
    /// How many connections it may have at a time; -1 is any number.
    pub connection_limit: i32,
    /// The verifier of its password.
    pub password: Option<Arc<str>>,
    /// When its password ends to be good, in microseconds since 2000-01-01 UTC.
    pub valid_until: Option<i64>,
}

/// What CREATE ROLE and ALTER ROLE say; what is not given stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleChange {
    /// SUPERUSER.
    pub superuser: Option<bool>,
    /// CREATEROLE.
    pub create_role: Option<bool>,
    /// CREATEDB.
    pub create_db: Option<bool>,
    /// INHERIT.
    pub inherit: Option<bool>,
    /// LOGIN.
    pub login: Option<bool>,
    /// REPLICATION.
    pub replication: Option<bool>,
    /// BYPASSRLS.
    pub bypass_rls: Option<bool>,
    /// CONNECTION LIMIT.
    pub connection_limit: Option<i32>,
    /// PASSWORD, as a verifier; `Some(None)` takes it away.
    pub password: Option<Option<Arc<str>>>,
    /// VALID UNTIL.
    pub valid_until: Option<Option<i64>>,
    /// RENAME TO.
    pub name: Option<Arc<str>>,
}

impl RoleChange {
    fn apply(&self, row: &mut AuthIdRow) {
        let RoleChange { password, valid_until, name, .. } = self;
        row.rolsuper = self.superuser.unwrap_or(row.rolsuper);
        row.rolcreaterole = self.create_role.unwrap_or(row.rolcreaterole);
        row.rolcreatedb = self.create_db.unwrap_or(row.rolcreatedb);
        row.rolinherit = self.inherit.unwrap_or(row.rolinherit);
        row.rolcanlogin = self.login.unwrap_or(row.rolcanlogin);
        row.rolreplication = self.replication.unwrap_or(row.rolreplication);
        row.rolbypassrls = self.bypass_rls.unwrap_or(row.rolbypassrls);
        row.rolconnlimit = self.connection_limit.unwrap_or(row.rolconnlimit);
        if let Some(password) = password {
            row.rolpassword.clone_from(password);
        }
        if let Some(until) = valid_until {
            row.rolvaliduntil = until.map(Moment);
        }
        if let Some(name) = name {
            row.rolname = Name(Arc::clone(name));
        }
    }
}

/// The row of a role that has nothing but a name.
fn plain(oid: Oid, name: &Arc<str>) -> AuthIdRow {
    AuthIdRow {
        oid,
        rolname: Name(Arc::clone(name)),
        rolsuper: false,
        rolinherit: true,
        rolcreaterole: false,
        rolcreatedb: false,
        rolcanlogin: false,
        rolreplication: false,
        rolbypassrls: false,
        rolconnlimit: -1,
        rolpassword: None,
        rolvaliduntil: None,
    }
}

/// The row of the owner.
pub(crate) fn owner() -> AuthIdRow {
    AuthIdRow {
        rolsuper: true,
        rolcreaterole: true,
        rolcreatedb: true,
        rolcanlogin: true,
        rolbypassrls: true,
        ..plain(OWNER_OID, &OWNER.into())
    }
}

impl Catalog {
    /// The roles that the transaction's statement sees, by name.
    ///
    /// # Errors
    /// Those of storage.
    pub fn roles(&self, txn: &Txn) -> Result<Vec<Role>, CatalogError> {
        // One that is lost is not made up, as nobody knows its password.
        let mut roles: Vec<Role> = self.read_all(txn)?.into_iter().map(role).collect();
        roles.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(roles)
    }

    /// The roles as they are committed.
    ///
    /// # Errors
    /// Those of storage.
    pub fn committed_roles(&self) -> Result<Vec<Role>, CatalogError> {
        let options = TxnOptions { isolation: Isolation::ReadCommitted, savepoints: true, read_only: true };
        let mut txn = self.engine.begin(options);
        txn.begin_statement()?;
        let roles = self.roles(&txn);
        txn.end_statement()?;
        txn.commit(CommitMode::Wait)?;
        roles
    }

    /// Makes a role.
    ///
    /// # Errors
    /// `Exists`, `ReservedName`; storage's, of which `Conflict` says that another transaction changed the schema first.
    pub fn create_role(
        &self,
        txn: &mut Txn,
        name: &Arc<str>,
        change: &RoleChange,
    ) -> Result<Oid, CatalogError> {
        self.check_new_name(txn, name)?;
        self.take_role_name(txn, name)?;
        let oid = self.new_oid()?;
        self.makes(txn, oid)?;
        let mut row = plain(oid, name);
        change.apply(&mut row);
        self.change(txn, |txn| self.insert_rows(txn, &[row]))?;
        Ok(oid)
    }

    /// Changes a role.
    ///
    /// # Errors
    /// `Missing`, `Exists` for a new name; storage's.
    pub fn alter_role(&self, txn: &mut Txn, name: &str, change: &RoleChange) -> Result<(), CatalogError> {
        let found = self.roles(txn)?.into_iter().find(|role| &*role.name == name);
        let found = found.ok_or_else(|| CatalogError::missing(ObjectKind::Role, name))?;
        if let Some(new) = &change.name {
            self.check_new_name(txn, new)?;
            self.take_role_name(txn, new)?;
        }
        self.change(txn, |txn| {
            let of_it = |row: &AuthIdRow| row.oid == found.oid;
            self.update_rows(txn, Of::All, of_it, |row| change.apply(row))?;
            if change.name.is_some() { self.removes(txn, found.oid) } else { Ok(()) }
        })
    }

    /// Drops a role.
    ///
    /// # Errors
    /// `Missing`, `SystemObject` for the owner; storage's.
    pub fn drop_role(&self, txn: &mut Txn, name: &str) -> Result<(), CatalogError> {
        let found = self.roles(txn)?.into_iter().find(|role| &*role.name == name);
        let found = found.ok_or_else(|| CatalogError::missing(ObjectKind::Role, name))?;
        if found.oid == OWNER_OID {
            return Err(CatalogError::SystemObject { name: name.to_string() });
        }
        self.change(txn, |txn| {
            self.removes(txn, found.oid)?;
            self.remove_role_rows(txn, found.oid)?;
            self.remove_objects(txn, Of::All, |row: &AuthIdRow| row.oid == found.oid).map(drop)
        })
    }

    /// Locks the name of a new role; fails if somebody has made one of that name meanwhile.
    fn take_role_name(&self, txn: &mut Txn, name: &str) -> Result<(), CatalogError> {
        self.lock_name(txn, NameOf::Role, [name, ""])?;
        // A role that the transaction knows may have got this name meanwhile.
        let is_new = |role: &Role| &*role.name == name && !self.is_removed(txn, role.oid);
        if self.committed_roles()?.iter().any(is_new) {
            return Err(conflict());
        }
        Ok(())
    }

    fn check_new_name(&self, txn: &Txn, name: &Arc<str>) -> Result<(), CatalogError> {
        if name.starts_with("pg_") || matches!(&**name, "public" | "none") {
            return Err(CatalogError::ReservedName { name: name.to_string() });
        }
        if self.roles(txn)?.iter().any(|role| role.name == *name) {
            return Err(CatalogError::exists(ObjectKind::Role, &**name));
        }
        Ok(())
    }
}

pub(crate) fn role(row: AuthIdRow) -> Role {
    Role {
        oid: row.oid,
        name: row.rolname.0,
        superuser: row.rolsuper,
        create_role: row.rolcreaterole,
        create_db: row.rolcreatedb,
        inherit: row.rolinherit,
        login: row.rolcanlogin,
        replication: row.rolreplication,
        bypass_rls: row.rolbypassrls,
        connection_limit: row.rolconnlimit,
        password: row.rolpassword,
        valid_until: row.rolvaliduntil.map(|moment| moment.0),
    }
}

impl Role {
    /// A role that has nothing but a name.
    pub(crate) fn plain(oid: Oid, name: Arc<str>) -> Role {
        role(plain(oid, &name))
    }

    /// Is it one that every database has, and that has no row?
    pub fn is_predefined(&self) -> bool {
        self.oid.is_system() && self.oid != OWNER_OID
    }

    /// The row of `pg_roles`: its password is not shown.
    pub fn to_values(&self) -> Vec<Value> {
        vec![
            Value::Text(Arc::clone(&self.name)),
            Value::Bool(self.superuser),
            Value::Bool(self.inherit),
            Value::Bool(self.create_role),
            Value::Bool(self.create_db),
            Value::Bool(self.login),
            Value::Bool(self.replication),
            Value::Int4(self.connection_limit),
            Value::text("********"),
            self.valid_until.map_or(Value::Null, Value::Timestamptz),
            Value::Bool(self.bypass_rls),
            Value::Int8(self.oid.0.into()),
        ]
    }
}
