//! CREATE STATISTICS, ALTER STATISTICS, DROP STATISTICS.

use super::{IndexKey, Name, QualifiedName, Span};

/// A statement about statistics of several columns and of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum StatisticsStatement {
    /// CREATE STATISTICS.
    Create {
        /// The name, where one was given.
        name: Option<QualifiedName>,
        /// IF NOT EXISTS?
        if_not_exists: bool,
        /// What is to be found out; everything where nothing was said.
        kinds: Vec<Name>,
        /// The columns and expressions.
        items: Vec<StatisticsItem>,
        /// The table.
        table: QualifiedName,
    },
    /// ALTER STATISTICS … SET STATISTICS.
    Target {
        /// Which.
        name: QualifiedName,
        /// IF EXISTS?
        if_exists: bool,
        /// How many common values; none: what the columns have.
        target: Option<i64>,
    },
    /// ALTER STATISTICS … RENAME TO.
    Rename {
        /// Which.
        name: QualifiedName,
        /// The new name.
        to: Name,
    },
    /// ALTER STATISTICS … SET SCHEMA.
    Move {
        /// Which.
        name: QualifiedName,
        /// The new schema.
        to: Name,
    },
    /// DROP STATISTICS.
    Drop {
        /// Which.
        names: Vec<QualifiedName>,
        /// IF EXISTS?
        if_exists: bool,
    },
}

/// A column or an expression of them.
#[derive(Clone, Debug, PartialEq)]
pub struct StatisticsItem {
    /// What it is.
    pub key: IndexKey,
    /// Where it stands.
    pub at: Span,
}
