//! Schemas: what makes, changes and drops them, and what moves things between them.

use verso_types::SqlType;

use super::{DropKind, Name, QualifiedName};

/// CREATE, ALTER and DROP SCHEMA.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaStatement {
    /// CREATE SCHEMA.
    Create {
        /// Its name; where none is given it is that of its owner.
        name: Option<Name>,
        /// AUTHORIZATION: whose it is; else the user's.
        owner: Option<RoleName>,
        /// IF NOT EXISTS.
        if_not_exists: bool,
    },
    /// ALTER SCHEMA … RENAME TO.
    Rename {
        /// Which.
        name: Name,
        /// Its new name.
        to: Name,
    },
    /// ALTER SCHEMA … OWNER TO.
    Owner {
        /// Which.
        name: Name,
        /// Whose it is from now on.
        owner: RoleName,
    },
    /// DROP SCHEMA.
    Drop {
        /// Which.
        names: Vec<Name>,
        /// IF EXISTS.
        if_exists: bool,
        /// CASCADE.
        cascade: bool,
    },
    /// ALTER TABLE, SEQUENCE … SET SCHEMA.
    Move {
        /// What kind.
        kind: DropKind,
        /// Which.
        name: QualifiedName,
        /// The schema it is in from now on.
        to: Name,
        /// IF EXISTS.
        if_exists: bool,
    },
    /// ALTER FUNCTION … SET SCHEMA.
    MoveFunction {
        /// Which.
        name: QualifiedName,
        /// Its argument types, where they are given.
        args: Option<Vec<SqlType>>,
        /// The schema it is in from now on.
        to: Name,
    },
}

/// A role, by its name or by its part in the session.
#[derive(Clone, Debug, PartialEq)]
pub enum RoleName {
    /// By its name.
    Named(Name),
    /// CURRENT_USER, CURRENT_ROLE.
    Current,
    /// SESSION_USER.
    Session,
}
