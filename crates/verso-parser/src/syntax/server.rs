//! Statements that matter to servers: COPY and roles.

use super::{CopyOptions, Expr, Name, QualifiedName, Statement};

/// COPY.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// What is copied.
    pub what: CopyWhat,
    /// Into the table, otherwise out of it.
    pub from: bool,
    /// Where the data are.
    pub place: CopyPlace,
    /// How they look.
    pub options: CopyOptions,
    /// WHERE: which rows go into the table.
    pub filter: Option<Expr>,
}

/// What COPY copies.
#[derive(Clone, Debug, PartialEq)]
pub enum CopyWhat {
    /// A table.
    Table {
        /// Its name.
        name: QualifiedName,
        /// Some of its columns; empty for all.
        columns: Vec<Name>,
    },
    /// The rows of a query, or those that a change returns.
    Query(Box<Statement>),
}

/// Where the data of COPY are.
#[derive(Clone, Debug, PartialEq)]
pub enum CopyPlace {
    /// STDIN, STDOUT: with the client.
    Client,
    /// In a file where the database is.
    File(String),
}

/// CREATE, ALTER, DROP ROLE.
#[derive(Clone, Debug, PartialEq)]
pub enum RoleStatement {
    /// CREATE.
    Create {
        /// Its name.
        name: Name,
        /// What it may.
        options: RoleOptions,
    },
    /// ALTER.
    Alter {
        /// Its name; the session's own if there is none.
        name: Option<Name>,
        /// What changes.
        options: RoleOptions,
        /// RENAME TO.
        rename: Option<Name>,
    },
    /// ALTER ROLE … SET, RESET.
    Setting {
        /// Whose; none is the session's own, `ALL` is an empty name.
        name: Option<Name>,
        /// IN DATABASE.
        database: Option<Name>,
        /// The setting; none is RESET ALL.
        setting: Option<Name>,
        /// Its text; none takes it back.
        value: Option<String>,
    },
    /// DROP.
    Drop {
        /// Which.
        names: Vec<Name>,
        /// IF EXISTS.
        if_exists: bool,
    },
}

/// Options of a role as they are written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoleOptions {
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
    /// IN ROLE: what it is a member of.
    pub in_roles: Vec<Name>,
    /// ROLE: its members.
    pub members: Vec<Name>,
    /// ADMIN: members that may grant it.
    pub admins: Vec<Name>,
    /// PASSWORD; `Some(None)` is NULL.
    pub password: Option<Option<String>>,
    /// VALID UNTIL.
    pub valid_until: Option<String>,
}
