//! COMMENT ON.

use verso_types::SqlType;

use super::{DropKind, Name, OperatorReference, QualifiedName, RoutineKind};

/// COMMENT ON.
#[derive(Clone, Debug, PartialEq)]
pub struct Comment {
    /// On what.
    pub on: Commented,
    /// The text; `None` takes it away.
    pub text: Option<String>,
}

/// What a comment is on.
#[derive(Clone, Debug, PartialEq)]
pub enum Commented {
    /// A relation.
    Relation(DropKind, QualifiedName),
    /// A column of a relation.
    Column {
        /// The relation.
        relation: QualifiedName,
        /// The column.
        column: Name,
    },
    /// A schema.
    Schema(Name),
    /// A database.
    Database(Name),
    /// A role.
    Role(Name),
    /// A tablespace.
    Tablespace(Name),
    /// A type.
    Type(QualifiedName),
    /// A function, with argument types where given.
    Function(RoutineKind, QualifiedName, Option<Vec<SqlType>>),
    /// An operator.
    Operator(OperatorReference),
    /// A cast.
    Cast(SqlType, SqlType),
    /// A collation.
    Collation(QualifiedName),
    /// An extension.
    Extension(Name),
    /// Statistics.
    Statistics(QualifiedName),
    /// A trigger.
    Trigger {
        /// The trigger.
        name: Name,
        /// Its table or view.
        table: QualifiedName,
    },
    /// A policy.
    Policy {
        /// Which.
        name: Name,
        /// Its table.
        table: QualifiedName,
    },
    /// A constraint of a domain.
    DomainConstraint {
        /// Which.
        name: Name,
        /// Of which domain.
        domain: QualifiedName,
    },
    /// A constraint.
    Constraint {
        /// The constraint.
        name: Name,
        /// Its table.
        table: QualifiedName,
    },
}
