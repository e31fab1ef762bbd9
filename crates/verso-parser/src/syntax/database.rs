//! CREATE, ALTER, DROP DATABASE.

use super::{Name, RoleName};

/// A statement about databases of the server, the own one or others. What ALTER DATABASE sets is
/// [`Statement::AlterDatabase`](super::Statement::AlterDatabase).
#[derive(Clone, Debug, PartialEq)]
pub enum DatabaseStatement {
    /// CREATE DATABASE.
    Create {
        /// The new one.
        name: Name,
        /// The one that is copied; `template0`, `template1` and DEFAULT stand for an empty one, as none does.
        template: Option<Name>,
        /// Whose it is; the session's role's without it.
        owner: Option<RoleName>,
        /// Bytes of its pages, where they are said.
        page_size: Option<u32>,
        /// Who may connect.
        options: DatabaseOptions,
    },
    /// ALTER DATABASE … CONNECTION LIMIT and its like.
    Alter {
        /// Which.
        name: Name,
        /// What is said.
        options: DatabaseOptions,
    },
    /// DROP DATABASE.
    Drop {
        /// Which.
        name: Name,
        /// One that is not there is no error.
        if_exists: bool,
        /// Its sessions are ended.
        force: bool,
    },
    /// ALTER DATABASE … SET TABLESPACE, which is where it is.
    Tablespace {
        /// Which.
        name: Name,
    },
    /// ALTER DATABASE … RENAME TO.
    Rename {
        /// Which.
        name: Name,
        /// Its new name.
        to: Name,
    },
}

/// How a database may be used, as far as a statement says it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DatabaseOptions {
    /// CONNECTION LIMIT; -1 is none.
    pub connection_limit: Option<i32>,
    /// IS_TEMPLATE: whoever may make databases may copy it, and nobody drops it.
    pub is_template: Option<bool>,
    /// ALLOW_CONNECTIONS.
    pub allow_connections: Option<bool>,
}
