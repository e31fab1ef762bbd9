//! What can go wrong with names and their meaning, grouped by what the caller does next.

use std::sync::Arc;

use crate::relations::INFORMATION_SCHEMA;
use verso_storage::StorageError;

/// Kinds of things that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A schema.
    Schema,
    /// A table.
    Table,
    /// A view.
    View,
    /// A materialized view.
    MaterializedView,
    /// A sequence.
    Sequence,
    /// Anything that shares the tables' name space.
    Relation,
    /// An index.
    Index,
    /// A constraint; named with its table.
    Constraint,
    /// A column.
    Column,
    /// A function; named with its argument types.
    Function,
    /// A type.
    Type,
    /// A collation.
    Collation,
    /// A role.
    Role,
}

impl std::fmt::Display for ObjectKind {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            ObjectKind::Schema => "schema",
            ObjectKind::Table => "table",
            ObjectKind::View => "view",
            ObjectKind::MaterializedView => "materialized view",
            ObjectKind::Sequence => "sequence",
            ObjectKind::Relation => "relation",
            ObjectKind::Index => "index",
            ObjectKind::Constraint => "constraint",
            ObjectKind::Column => "column",
            ObjectKind::Function => "function",
            ObjectKind::Type => "type",
            ObjectKind::Collation => "collation",
            ObjectKind::Role => "role",
        })
    }
}

/// An error of the catalog. The texts are PostgreSQL's.
#[derive(Clone, Debug, thiserror::Error)]
pub enum CatalogError {
    // ── retry, or report ─────────────────────────────────────────────────────────────────────────────────────
    /// Storage refused; a conflict here means that another transaction changed the schema first.
    #[error(transparent)]
    Storage(#[from] StorageError),

    // ── correct the statement ────────────────────────────────────────────────────────────────────────────────
    /// The name is taken (42P07, 42P06, 42723).
    #[error("{}", already_exists(*.kind, .name))]
    Exists {
        /// What it would have become.
        kind: ObjectKind,
        /// The name.
        name: String,
    },
    /// A column name comes twice (42701).
    #[error("column \"{name}\" specified more than once")]
    DuplicateColumn {
        /// The name.
        name: String,
    },
    /// There is nothing of that name (42P01, 3F000, 42883).
    #[error("{}", does_not_exist(*.kind, .name))]
    Missing {
        /// What was looked for.
        kind: ObjectKind,
        /// The name.
        name: String,
    },
    /// The name means something else (42809).
    #[error("\"{name}\" is not {} {kind}", if *.kind == ObjectKind::Index { "an" } else { "a" })]
    WrongKind {
        /// What was expected.
        kind: ObjectKind,
        /// The name.
        name: String,
    },
    /// Others need it; CASCADE would drop them too (2BP01).
    #[error("cannot drop {what} because other objects depend on {}", if *.what == "desired object(s)" { "them" } else { "it" })]
    Needed {
        /// What was to be dropped, with its kind.
        what: String,
        /// Who needs it and why, a line each.
        detail: String,
    },
    /// A constraint needs the index (2BP01).
    #[error("cannot drop index {index} because {constraint} requires it")]
    RequiredBy {
        /// The index.
        index: String,
        /// The constraint and its table.
        constraint: String,
    },
    /// Two rows have the same key, so that no unique index can be built (23505).
    #[error("could not create unique index \"{index}\"")]
    Duplicates {
        /// The index.
        index: String,
        /// The schema and the name of its table.
        table: Option<[String; 2]>,
        /// The duplicate key.
        detail: Option<String>,
    },
    /// Two rows exclude each other, so that no exclusion constraint can be made (23P01).
    #[error("could not create exclusion constraint \"{constraint}\"")]
    Conflicts {
        /// The constraint.
        constraint: String,
        /// The schema and the name of its table.
        table: Option<[String; 2]>,
        /// Both keys.
        detail: Option<String>,
    },
    /// A type that has no order (42704).
    #[error("data type {ty} has no default operator class for access method \"btree\"")]
    NoOrder {
        /// The type.
        ty: String,
    },
    /// CREATE OR REPLACE would change the result type (42P13).
    #[error("cannot change return type of existing function")]
    ReturnTypeChanged {
        /// The function with its argument types.
        function: String,
    },
    /// The system's own tables and schemas (42501).
    #[error("permission denied: \"{name}\" is a system catalog")]
    SystemObject {
        /// The name.
        name: String,
    },
    /// Parameters that contradict each other (22023).
    #[error("{message}")]
    InvalidParameter {
        /// What is wrong.
        message: String,
    },
    /// More than the format can hold (54011 for columns).
    #[error("tables can have at most {limit} columns")]
    TooManyColumns {
        /// The greatest number of columns.
        limit: usize,
    },
    /// More arguments than a function can have (54023).
    #[error("functions cannot have more than {limit} arguments")]
    TooManyArguments {
        /// The greatest number of arguments.
        limit: usize,
    },
    /// No function of that name, whatever its arguments (42883).
    #[error("could not find a function named \"{name}\"")]
    NoFunctionNamed {
        /// The name.
        name: String,
    },
    /// Several functions of that name: the argument types have to be given (42725).
    #[error("function name \"{name}\" is not unique")]
    AmbiguousFunction {
        /// The name.
        name: String,
    },
    /// A definition of a table or constraint that cannot be (42P16, 42830, 42804 …: the code comes along).
    #[error("{message}")]
    InvalidDefinition {
        /// The SQLSTATE.
        sqlstate: &'static str,
        /// What is wrong.
        message: String,
        /// More about it.
        detail: Option<String>,
        /// What to do about it.
        hint: Option<&'static str>,
    },
    /// The prefix `pg_` is the system's (42939).
    #[error("unacceptable schema name \"{name}\"")]
    ReservedName {
        /// The name.
        name: String,
    },

    // ── report ───────────────────────────────────────────────────────────────────────────────────────────────
    /// The definition of one object could not be read (XX001).
    #[error("{object} is damaged: {flaw}")]
    Damaged {
        /// Its kind and its name.
        object: String,
        /// What is wrong.
        flaw: Arc<str>,
    },
    /// A system table contradicts itself (XX001).
    #[error("the catalog is corrupt: {what}")]
    Corrupt {
        /// What is wrong.
        what: String,
    },
}

impl CatalogError {
    /// A name that is taken.
    pub fn exists(kind: ObjectKind, name: impl Into<String>) -> CatalogError {
        CatalogError::Exists { kind, name: name.into() }
    }

    /// A definition that cannot be.
    pub fn invalid(sqlstate: &'static str, message: impl Into<String>) -> CatalogError {
        CatalogError::InvalidDefinition { sqlstate, message: message.into(), detail: None, hint: None }
    }

    /// The same with what to do about it; other errors stay as they are.
    #[must_use]
    pub fn with_hint(self, hint: &'static str) -> CatalogError {
        match self {
            CatalogError::InvalidDefinition { sqlstate, message, detail, hint: _ } => {
                CatalogError::InvalidDefinition { sqlstate, message, detail, hint: Some(hint) }
            }
            other => other,
        }
    }

    /// A name that means nothing. The standard's schema is there, but made of no definitions: nothing can be made in it or changed of it.
    pub fn missing(kind: ObjectKind, name: impl Into<String>) -> CatalogError {
        let name = name.into();
        if kind == ObjectKind::Schema && name == INFORMATION_SCHEMA {
            let message =
                format!("schema \"{name}\" is built in: nothing can be created in it or changed of it");
            return CatalogError::invalid("0A000", message);
        }
        CatalogError::Missing { kind, name }
    }
}

fn already_exists(kind: ObjectKind, name: &str) -> String {
    match kind {
        ObjectKind::Schema | ObjectKind::Role | ObjectKind::Type | ObjectKind::Collation => {
            format!("{kind} \"{name}\" already exists")
        }
        ObjectKind::Function => {
            let bare = name.split('(').next().unwrap_or(name);
            format!("function \"{bare}\" already exists with same argument types")
        }
        _ => format!("relation \"{name}\" already exists"),
    }
}

fn does_not_exist(kind: ObjectKind, name: &str) -> String {
    match kind {
        ObjectKind::Function => format!("function {name} does not exist"),
        kind => format!("{kind} \"{name}\" does not exist"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_postgresqls() {
        let text = |error: CatalogError| error.to_string();
        assert_eq!(text(CatalogError::exists(ObjectKind::Table, "t")), "relation \"t\" already exists");
        assert_eq!(
            text(CatalogError::exists(ObjectKind::Function, "f(integer)")),
            "function \"f\" already exists with same argument types"
        );
        assert_eq!(text(CatalogError::missing(ObjectKind::Table, "t")), "table \"t\" does not exist");
        assert_eq!(
            text(CatalogError::missing(ObjectKind::Function, "f(integer)")),
            "function f(integer) does not exist"
        );
    }
}
