//! Collations: in which order texts stand, and which of them are equal.
//!
//! ```text
//! "C", "POSIX", ucs_basic, default   the bytes; nothing here is asked
//! "de-x-icu", CREATE COLLATION …     a Collator: text ─► key, and keys compare by bytes
//! ```
//!
//! 1. A key of a deterministic collation is ICU's sort key, a zero byte and the text: two texts that the language does not
//!    tell apart stand in the order of their bytes, and only equal texts have equal keys. ICU's keys have no zero byte.
//! 2. A key of a nondeterministic collation is ICU's sort key alone: equal keys are equal texts.
//! 3. Whatever compares texts compares keys: statements call `collation_key`, indexes hold keys ([`KeyType::Collated`]).
//!    So no other part of the executor knows collations.
//! 4. `citext` is a type with a collation of its own, whose keys are the texts in small letters ([`Collation::folded`]).
//! 5. Rows have texts of several collations in them ([`Within`]): keys stand in their place where rows are compared.
//! 6. The collation of an expression is derived while it is bound ([`Derivation`]), as PostgreSQL derives it.
//!
//! [`KeyType::Collated`]: crate::KeyType::Collated

mod ascii;
mod collator;
mod derivation;
mod folded;
mod like;
mod search;
#[cfg(test)]
mod tests;
mod within;

use std::fmt;
use std::sync::{Arc, LazyLock};

pub use collator::{CollationData, Collator};
pub use derivation::Derivation;
pub use folded::small;
pub use like::like;
pub use search::{find, split};
pub use within::Within;

use crate::sqltype::SqlType;

/// A collation of the catalog.
#[derive(Clone, Debug)]
pub struct Collation {
    /// Its row in `pg_collation`.
    pub oid: u32,
    /// The schema it is in.
    pub schema: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// How it orders; `None` by bytes.
    pub collator: Option<Collator>,
}

impl Collation {
    /// `pg_collation.oid` of `default`.
    pub const DEFAULT: u32 = 100;

    /// Stands for the collation of a column of a query of which none follows ([`Derivation::kept`]).
    pub const OPEN: u32 = u32::MAX;

    /// The number of [`Collation::folded`], which stands beside the parts of indexes over such values.
    pub const FOLDED: u32 = 9994;

    /// That of `citext`: texts are equal, and in order, as they are in small letters.
    pub fn folded() -> &'static Arc<Collation> {
        static FOLDED: LazyLock<Arc<Collation>> = LazyLock::new(|| {
            Arc::new(Collation {
                oid: Collation::FOLDED,
                schema: "pg_catalog".into(),
                name: "default".into(), // as PostgreSQL shows it, where small letters are made by the database's
                collator: Some(Collator::folding(CollationData::BUILT_IN)),
            })
        });
        &FOLDED
    }

    /// The number that catalogs show of it.
    pub fn shown_oid(&self) -> u32 {
        if self.oid == Collation::FOLDED { Collation::DEFAULT } else { self.oid }
    }

    /// Whether only texts of the same bytes are equal.
    pub fn is_deterministic(&self) -> bool {
        self.collator.is_none_or(|collator| collator.is_deterministic())
    }
}

impl fmt::Display for Collation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// One that is altered is another one.
impl PartialEq for Collation {
    fn eq(&self, other: &Self) -> bool {
        (self.oid, &self.name, &self.schema, &self.collator)
            == (other.oid, &other.name, &other.schema, &other.collator)
    }
}

impl Eq for Collation {}

impl std::hash::Hash for Collation {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.oid.hash(state);
    }
}

/// A type of texts with the collation that a column of it was declared with.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CollatedType {
    /// The type.
    pub base: SqlType,
    /// The collation.
    pub collation: Arc<Collation>,
}
