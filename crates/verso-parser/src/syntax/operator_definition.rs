//! Operators and casts of users.

use verso_types::SqlType;

use super::{Name, OptionValue, QualifiedName};

/// What makes and drops operators.
#[derive(Clone, Debug, PartialEq)]
pub enum OperatorStatement {
    /// CREATE OPERATOR.
    Create {
        /// Its symbol.
        name: QualifiedName,
        /// What stands in parentheses.
        options: Vec<OperatorOption>,
    },
    /// DROP OPERATOR.
    Drop {
        /// The operators.
        operators: Vec<OperatorReference>,
        /// IF EXISTS?
        if_exists: bool,
        /// CASCADE?
        cascade: bool,
    },
    /// ALTER OPERATOR … SET SCHEMA.
    Move {
        /// The operator.
        operator: OperatorReference,
        /// The schema.
        to: Name,
    },
}

/// `name = value` of CREATE OPERATOR.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorOption {
    /// Which.
    pub name: Name,
    /// What.
    pub value: OptionValue,
}

/// An operator that a statement names.
#[derive(Clone, Debug, PartialEq)]
pub struct OperatorReference {
    /// Its symbol.
    pub name: QualifiedName,
    /// The type of the left side, if it has one.
    pub left: Option<SqlType>,
    /// That of the right side.
    pub right: SqlType,
}

/// What makes and drops casts.
#[derive(Clone, Debug, PartialEq)]
pub enum CastStatement {
    /// CREATE CAST.
    Create {
        /// From.
        source: SqlType,
        /// To.
        target: SqlType,
        /// How.
        method: CastMethod,
        /// When.
        time: CastTime,
    },
    /// DROP CAST.
    Drop {
        /// From.
        source: SqlType,
        /// To.
        target: SqlType,
        /// IF EXISTS?
        if_exists: bool,
    },
}

/// How a cast is done.
#[derive(Clone, Debug, PartialEq)]
pub enum CastMethod {
    /// WITH FUNCTION, with argument types where given.
    Function(QualifiedName, Option<Vec<SqlType>>),
    /// WITH INOUT.
    Text,
    /// WITHOUT FUNCTION.
    Binary,
}

/// When a cast happens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastTime {
    /// Never.
    Explicit,
    /// AS ASSIGNMENT.
    Assignment,
    /// AS IMPLICIT.
    Implicit,
}
