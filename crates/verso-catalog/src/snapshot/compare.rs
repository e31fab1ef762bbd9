//! Whether two versions of the catalog say the same: what tests ask of changes that are made piece by piece.

use super::{CatalogSnapshot, Contents};

impl CatalogSnapshot {
    /// Whether two versions have the same definitions.
    #[cfg(any(test, debug_assertions))]
    pub(crate) fn says_the_same(&self, other: &CatalogSnapshot) -> bool {
        self.contents == other.contents
    }

    /// Something that another version has and this one has not, or has otherwise.
    #[cfg(any(test, debug_assertions))]
    pub(crate) fn first_difference(&self, other: &CatalogSnapshot) -> String {
        let (own, other) = (&*self.contents, &*other.contents);
        for relation in own.relations_by_oid.values().chain(other.relations_by_oid.values()) {
            let oid = relation.oid();
            let (one, two) = (own.relations_by_oid.get(&oid), other.relations_by_oid.get(&oid));
            if one != two {
                return format!("{one:?}\nis, read as a whole, {two:?}");
            }
        }
        if own.authority != other.authority {
            return format!("{:?}\nis, read as a whole, {:?}", own.authority, other.authority);
        }
        let rest = |contents: &Contents| {
            let schemas: Vec<_> =
                contents.schemas.values().map(|one| (&one.definition, &one.functions)).collect();
            format!(
                "{schemas:?} {:?} {:?} {:?} {:?} {:?} {}",
                contents.functions_by_oid,
                contents.types_by_oid,
                contents.collations,
                contents.comments,
                contents.statistics,
                contents.bytes
            )
        };
        format!("{}\nis, read as a whole, {}", rest(own), rest(other))
    }
}
