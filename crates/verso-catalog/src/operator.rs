//! Operators and casts of users.

use std::sync::Arc;

use crate::aggregate::Callee;
use crate::definition::Oid;

/// An operator that users have made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorDef {
    /// Its row in `pg_operator`.
    pub oid: Oid,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its symbol.
    pub name: Arc<str>,
    /// The role whose it is.
    pub owner: Oid,
    /// The type of the left side; none of a prefix operator.
    pub left: Option<Oid>,
    /// The type of the right side.
    pub right: Oid,
    /// The type of what it gives.
    pub result: Oid,
    /// What it calls.
    pub function: Callee,
    /// The operator with exchanged sides, by its symbol.
    pub commutator: Option<Arc<str>>,
    /// The one that gives the opposite.
    pub negator: Option<Arc<str>>,
    /// RESTRICT and JOIN: PostgreSQL's estimators, by name.
    pub restrict: Option<Arc<str>>,
    /// The same of joins.
    pub join: Option<Arc<str>>,
    /// HASHES, MERGES.
    pub hashes: bool,
    /// The same of sorted inputs.
    pub merges: bool,
}

/// Where a cast happens by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastContext {
    /// Nowhere.
    Explicit,
    /// Where a value is assigned.
    Assignment,
    /// Everywhere.
    Implicit,
}

/// A cast that users have made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CastDef {
    /// Its row in `pg_cast`.
    pub oid: Oid,
    /// From this type.
    pub source: Oid,
    /// To this one.
    pub target: Oid,
    /// What it calls; none goes through the text.
    pub function: Option<Callee>,
    /// Where it happens by itself.
    pub context: CastContext,
}

impl CastContext {
    /// PostgreSQL's `castcontext`.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            CastContext::Explicit => 'e',
            CastContext::Assignment => 'a',
            CastContext::Implicit => 'i',
        }
    }

    /// The context of a letter.
    #[must_use]
    pub fn of(letter: char) -> Option<CastContext> {
        Some(match letter {
            'e' => CastContext::Explicit,
            'a' => CastContext::Assignment,
            'i' => CastContext::Implicit,
            _ => return None,
        })
    }
}
