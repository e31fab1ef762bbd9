//! The functions that only windows have, and their types: those of PostgreSQL.

use verso_types::SqlType;

use super::{ArgType, ResultType};

/// What a function of windows computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "PostgreSQL's own names")]
pub enum WindowKind {
    RowNumber,
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
    Ntile,
    Lag,
    Lead,
    FirstValue,
    LastValue,
    NthValue,
}

impl WindowKind {
    /// PostgreSQL's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        WINDOWS.iter().find(|entry| entry.kind == self).map_or("", |entry| entry.name)
    }
}

/// A function of windows.
#[derive(Debug, PartialEq)]
pub struct WindowEntry {
    /// PostgreSQL's name.
    pub name: &'static str,
    /// What it computes.
    pub kind: WindowKind,
    /// Argument types. `lag` and `lead` with a default unify its type with that of the value.
    pub args: &'static [ArgType],
    /// The type of the result.
    pub result: ResultType,
}

const INT4: ArgType = ArgType::Exact(SqlType::Int4);

macro_rules! windows {
    ($($name:literal $kind:ident [$($arg:expr),*] $result:expr;)*) => {
        &[$(WindowEntry { name: $name, kind: WindowKind::$kind, args: &[$($arg),*], result: $result }),*]
    };
}

/// Every function of windows.
static WINDOWS: &[WindowEntry] = windows! {
    "row_number" RowNumber [] ResultType::Fixed(SqlType::Int8);
    "rank" Rank [] ResultType::Fixed(SqlType::Int8);
    "dense_rank" DenseRank [] ResultType::Fixed(SqlType::Int8);
    "percent_rank" PercentRank [] ResultType::Fixed(SqlType::Float8);
    "cume_dist" CumeDist [] ResultType::Fixed(SqlType::Float8);
    "ntile" Ntile [INT4] ResultType::Fixed(SqlType::Int4);
    "lag" Lag [ArgType::AnyElement] ResultType::SameAs(0);
    "lag" Lag [ArgType::AnyElement, INT4] ResultType::SameAs(0);
    "lag" Lag [ArgType::AnyElement, INT4, ArgType::AnyElement] ResultType::SameAs(0);
    "lead" Lead [ArgType::AnyElement] ResultType::SameAs(0);
    "lead" Lead [ArgType::AnyElement, INT4] ResultType::SameAs(0);
    "lead" Lead [ArgType::AnyElement, INT4, ArgType::AnyElement] ResultType::SameAs(0);
    "first_value" FirstValue [ArgType::AnyElement] ResultType::SameAs(0);
    "last_value" LastValue [ArgType::AnyElement] ResultType::SameAs(0);
    "nth_value" NthValue [ArgType::AnyElement, INT4] ResultType::SameAs(0);
};

/// Every function of windows of this (lower-case) name.
#[must_use]
pub fn window_candidates(name: &str) -> Vec<&'static WindowEntry> {
    WINDOWS.iter().filter(|entry| entry.name == name).collect()
}
