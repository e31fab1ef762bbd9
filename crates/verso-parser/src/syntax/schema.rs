//! Schemas: what makes, changes and drops them, and what moves things between them.

use verso_types::SqlType;

use super::{DropKind, Name, QualifiedName, RoutineKind, Volatility};

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
        /// Statements that make objects in it and grant rights on them, in the order in which they run.
        elements: Vec<super::Parsed>,
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
    /// ALTER FUNCTION, PROCEDURE or ROUTINE, but for OWNER TO.
    AlterFunction {
        /// What kind.
        kind: RoutineKind,
        /// Which.
        name: QualifiedName,
        /// Its argument types, where they are given.
        args: Option<Vec<SqlType>>,
        /// What becomes of it.
        action: AlterFunction,
    },
}

/// What ALTER FUNCTION does.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterFunction {
    /// SET SCHEMA: the schema it is in from now on.
    Move(Name),
    /// RENAME TO.
    Rename(Name),
    /// Properties of its definition.
    Properties {
        /// IMMUTABLE, STABLE, VOLATILE.
        volatility: Option<Volatility>,
        /// STRICT, RETURNS NULL ON NULL INPUT; CALLED ON NULL INPUT.
        strict: Option<bool>,
        /// SECURITY DEFINER; SECURITY INVOKER.
        security_definer: Option<bool>,
        /// LEAKPROOF, NOT LEAKPROOF.
        leakproof: Option<bool>,
        /// COST, ROWS, PARALLEL.
        planning: super::Planning,
        /// SET, RESET, in their order.
        settings: Vec<FunctionSetting>,
        /// The place of the first of them that a procedure does not have.
        of_functions: Option<u32>,
    },
}

/// A change of the settings under which a function runs.
#[derive(Clone, Debug, PartialEq)]
pub enum FunctionSetting {
    /// SET name = value; SET name FROM CURRENT without one.
    Set(Name, Option<String>),
    /// RESET name, SET name TO DEFAULT.
    Reset(Name),
    /// RESET ALL.
    ResetAll,
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
