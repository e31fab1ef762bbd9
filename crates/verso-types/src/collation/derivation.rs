//! The collation of an expression, and how it follows from those of its parts.

use std::sync::Arc;

use super::Collation;

/// The collation of an expression of a type of texts.
///
/// 1. COLLATE says it: explicit. Two different ones within one expression are an error.
/// 2. A column has the one that it was declared with: implicit. Two different ones leave it open, which is an error where a
///    collation is needed.
/// 3. Everything else has the database's, which gives way to any other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Derivation {
    /// The database's.
    #[default]
    Default,
    /// That of a column.
    Implicit(Arc<Collation>),
    /// Of columns with different ones: two of them.
    Open(Arc<(Arc<Collation>, Arc<Collation>)>),
    /// Of a column of a query of which none follows: it gives way to any other.
    Without,
    /// That of COLLATE.
    Explicit(Arc<Collation>),
    /// Of two COLLATE that say different things.
    Mismatch(Arc<(Arc<Collation>, Arc<Collation>)>),
}

impl Derivation {
    /// The derivation of what has parts of these.
    #[must_use]
    pub fn and(&self, other: &Derivation) -> Derivation {
        use Derivation::{Default, Explicit, Implicit, Mismatch, Open, Without};
        match (self, other) {
            (Default | Without, one) | (one, Default) => one.clone(),
            (_, Without) => self.clone(),
            (Mismatch(_), _) => self.clone(),
            (_, Mismatch(_)) => other.clone(),
            (Explicit(one), Explicit(two)) if one.oid != two.oid => {
                Mismatch(Arc::new((Arc::clone(one), Arc::clone(two))))
            }
            (Explicit(_), _) => self.clone(),
            (_, Explicit(_)) => other.clone(),
            (Implicit(one), Implicit(two)) if one.oid == two.oid => self.clone(),
            (Implicit(one), Implicit(two)) => Open(Arc::new((Arc::clone(one), Arc::clone(two)))),
            (Open(_), _) => self.clone(),
            (_, Open(_)) => other.clone(),
        }
    }

    /// The collation, where it is neither the database's nor open.
    pub fn collation(&self) -> Option<&Arc<Collation>> {
        match self {
            Derivation::Implicit(collation) | Derivation::Explicit(collation) => Some(collation),
            _ => None,
        }
    }

    /// What a column of the expression has: that of COLLATE, too, is implicit from there on.
    #[must_use]
    pub fn of_column(&self) -> Derivation {
        match self {
            Derivation::Explicit(collation) => Derivation::Implicit(Arc::clone(collation)),
            Derivation::Open(_) => Derivation::Without,
            other => other.clone(),
        }
    }

    /// What the column of an expression keeps of it; nothing of the database's. That none follows is a collation, too, which
    /// no column of a table has ([`Collation::OPEN`]).
    pub fn kept(&self) -> Option<Arc<Collation>> {
        match self {
            Derivation::Open(_) | Derivation::Without => Some(Arc::new(Collation {
                oid: Collation::OPEN,
                schema: "".into(),
                name: "(null)".into(), // as PostgreSQL shows it
                collator: None,
            })),
            other => other.collation().cloned(),
        }
    }

    /// That of a column which keeps a collation.
    #[must_use]
    pub fn of_kept(collation: &Arc<Collation>) -> Derivation {
        match collation.oid {
            Collation::OPEN => Derivation::Without,
            _ => Derivation::Implicit(Arc::clone(collation)),
        }
    }

    /// Is it the database's?
    pub fn is_default(&self) -> bool {
        *self == Derivation::Default
    }
}
