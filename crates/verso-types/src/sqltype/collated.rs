//! The collation that values of a type have.

use std::sync::Arc;

use super::SqlType;
use crate::collation::{CollatedType, Collation, Derivation};
use crate::system_type::SystemType;

impl SqlType {
    /// Do its values have a collation: is it a type of texts, or an array of one?
    pub fn is_collatable(&self) -> bool {
        match self {
            SqlType::Text | SqlType::Varchar(_) | SqlType::Char(_) | SqlType::Collated(_) => true,
            SqlType::Array(element) => element.is_collatable(),
            SqlType::Domain(domain) => domain.base.is_collatable(),
            _ => false,
        }
    }

    /// The collation that a column of it was declared with: its own, or that of the domain that it is.
    pub fn collation(&self) -> Option<Arc<Collation>> {
        match self {
            SqlType::Collated(collated) => Some(Arc::clone(&collated.collation)),
            SqlType::Domain(domain) => domain.base.collation(),
            SqlType::Array(element) => element.collation(),
            SqlType::System(SystemType::Citext) => Some(Arc::clone(Collation::folded())),
            _ => None,
        }
    }

    /// The collation of a type that has one of its own, which nothing changes: `citext`, and arrays of it. COLLATE says nothing of its
    /// values, and what is made of them has none of theirs.
    pub fn own_collation(&self) -> Option<&'static Arc<Collation>> {
        match self {
            SqlType::System(SystemType::Citext) => Some(Collation::folded()),
            SqlType::Array(element) => element.own_collation(),
            _ => None,
        }
    }

    /// The type of the values of a column that was declared as it, with their collation.
    #[must_use]
    pub fn seen(&self) -> SqlType {
        match self.collation() {
            Some(collation) => self.erased().collated(&Derivation::of_kept(&collation)),
            None => self.erased(),
        }
    }

    /// The type without its collation.
    pub fn uncollated(&self) -> &SqlType {
        match self {
            SqlType::Collated(collated) => &collated.base,
            other => other,
        }
    }

    /// The type alone, and the collation of a column that was declared with it.
    pub fn split_collation(self) -> (SqlType, Derivation) {
        match self {
            SqlType::Collated(collated) => (collated.base.clone(), Derivation::of_kept(&collated.collation)),
            other => (other, Derivation::Default),
        }
    }

    /// The type of a column of it whose values have this collation.
    #[must_use]
    pub fn collated(self, derivation: &Derivation) -> SqlType {
        match derivation.kept() {
            Some(collation) if self.is_collatable() && !matches!(self, SqlType::Collated(_)) => {
                SqlType::Collated(Arc::new(CollatedType { base: self, collation }))
            }
            _ => self,
        }
    }
}
