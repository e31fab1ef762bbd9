//! CREATE TYPE, ALTER TYPE, DROP TYPE.

use super::{Name, QualifiedName};

/// A statement about users' types.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeStatement {
    /// CREATE TYPE … AS ENUM.
    CreateEnum {
        /// The type.
        name: QualifiedName,
        /// Its labels in order.
        labels: Vec<String>,
    },
    /// ALTER TYPE … ADD VALUE.
    AddValue {
        /// The type.
        name: QualifiedName,
        /// The new label.
        label: String,
        /// IF NOT EXISTS?
        if_not_exists: bool,
        /// Where it goes.
        place: LabelPlace,
    },
    /// ALTER TYPE … RENAME VALUE.
    RenameValue {
        /// The type.
        name: QualifiedName,
        /// The label.
        from: String,
        /// Its new name.
        to: String,
    },
    /// ALTER TYPE … RENAME TO.
    Rename {
        /// The type.
        name: QualifiedName,
        /// Its new name.
        to: Name,
    },
    /// ALTER TYPE … SET SCHEMA.
    Move {
        /// The type.
        name: QualifiedName,
        /// Its new schema.
        to: Name,
    },
    /// DROP TYPE.
    Drop {
        /// The types.
        names: Vec<QualifiedName>,
        /// IF EXISTS?
        if_exists: bool,
        /// CASCADE?
        cascade: bool,
    },
}

/// Where a new label goes.
#[derive(Clone, Debug, PartialEq)]
pub enum LabelPlace {
    /// Behind all others.
    Last,
    /// In front of this one.
    Before(String),
    /// Behind this one.
    After(String),
}
