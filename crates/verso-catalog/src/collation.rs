//! Collations: those that every database has, and those that users have made.
//!
//! 1. The system's own are PostgreSQL's, with its numbers: `default`, `C`, `POSIX`, `ucs_basic`, `pg_c_utf8`, `pg_unicode_fast`, which order by bytes, and one
//!    of ICU for each of its locales (`data/collations.tsv`). They are in no system table.
//! 2. A column, a domain or a part of an index with a collation has a row in `verso_collated`; of an index it says the version
//!    of the data that its keys were made from. One with another version than the program's is out of use from the moment when
//!    the database is opened (`Catalog::load`), and writes that it would have to check are refused until it is built anew.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use verso_types::{Collation, CollationData, Collator};

use crate::definition::Oid;
use crate::snapshot::PG_CATALOG;

/// A collation with what `pg_collation` says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CollationDef {
    /// How it orders, with its number and name.
    pub collation: Arc<Collation>,
    /// Whose it is.
    pub owner: Oid,
    /// `b` by bytes, `c` by the bytes of the operating system's C, `d` the database's, `i` ICU's.
    pub provider: char,
    /// Whether only texts of the same bytes are equal.
    pub deterministic: bool,
    /// ICU's locale, or `C`.
    pub locale: Option<Arc<str>>,
    /// The version of the data when it was made, or refreshed.
    pub version: Option<Arc<str>>,
}

impl CollationDef {
    /// Its row in `pg_collation`.
    pub fn oid(&self) -> Oid {
        Oid(self.collation.oid)
    }
}

/// Those that order by bytes: number, name, provider.
const BY_BYTES: [(u32, &str, char); 6] = [
    (Collation::DEFAULT, "default", 'd'),
    (950, "C", 'c'),
    (951, "POSIX", 'c'),
    (962, "ucs_basic", 'b'),
    (811, "pg_c_utf8", 'b'),
    (6411, "pg_unicode_fast", 'b'),
];

/// Number and locale of those of ICU, by name; and the names by number.
struct Icu {
    by_name: HashMap<&'static str, (u32, &'static str)>,
    names: Vec<(u32, &'static str)>,
}

static ICU: LazyLock<Icu> = LazyLock::new(|| {
    let mut icu = Icu { by_name: HashMap::new(), names: Vec::new() };
    for line in include_str!("../data/collations.tsv").lines() {
        let mut fields = line.split('\t');
        let (Some(Ok(oid)), Some(name), Some(locale)) =
            (fields.next().map(str::parse), fields.next(), fields.next())
        else {
            continue;
        };
        icu.by_name.insert(name, (oid, locale));
        icu.names.push((oid, name));
    }
    icu
});

/// The system's own collation of that name.
pub fn system_collation(name: &str, data: CollationData) -> Option<CollationDef> {
    let of =
        |oid, collator| Arc::new(Collation { oid, schema: PG_CATALOG.into(), name: name.into(), collator });
    let owner = crate::system::OWNER_OID;
    if let Some((oid, _, provider)) = BY_BYTES.iter().find(|(_, known, _)| *known == name) {
        let (locale, version) = match provider {
            'b' => {
                let locale = match name {
                    "pg_c_utf8" => "C.UTF-8",
                    "pg_unicode_fast" => "PG_UNICODE_FAST",
                    _ => "C",
                };
                (Some(locale.into()), Some("1".into()))
            }
            _ => (None, None),
        };
        let collation = of(*oid, None);
        return Some(CollationDef {
            collation,
            owner,
            provider: *provider,
            deterministic: true,
            locale,
            version,
        });
    }
    let (oid, locale) = ICU.by_name.get(name)?;
    let collator = Collator::new(locale, true, data).ok()?;
    Some(CollationDef {
        collation: of(*oid, Some(collator)),
        owner,
        provider: 'i',
        deterministic: true,
        locale: Some((*locale).into()),
        version: Some(data.version().into()),
    })
}

/// The system's own collation with that number; also that of `citext`, which has no name.
pub fn system_collation_by_oid(oid: u32, data: CollationData) -> Option<CollationDef> {
    if oid == Collation::FOLDED {
        return Some(CollationDef {
            collation: Arc::clone(Collation::folded()),
            owner: crate::system::OWNER_OID,
            provider: 'd',
            deterministic: false,
            locale: None,
            version: None,
        });
    }
    system_collation(system_collation_name(oid)?, data)
}

/// The name of the system's own collation with that number.
pub fn system_collation_name(oid: u32) -> Option<&'static str> {
    let by_bytes = BY_BYTES.iter().find(|(known, ..)| *known == oid).map(|(_, name, _)| *name);
    by_bytes.or_else(|| {
        let at = ICU.names.binary_search_by_key(&oid, |(known, _)| *known).ok()?;
        Some(ICU.names[at].1)
    })
}

/// The names of the system's own collations.
pub fn system_collation_names() -> impl Iterator<Item = &'static str> {
    BY_BYTES.iter().map(|(_, name, _)| *name).chain(ICU.names.iter().map(|(_, name)| *name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_collation_of_the_list_is_there_by_name_and_by_number() {
        let mut count = 0;
        for name in system_collation_names() {
            let found = system_collation(name, CollationData::BUILT_IN).expect(name);
            assert_eq!(system_collation_name(found.oid().0), Some(name));
            assert!(found.oid().is_system());
            count += 1;
        }
        assert_eq!(count, 730);
        let german = system_collation("de-x-icu", CollationData::BUILT_IN).unwrap();
        assert_eq!(german.collation.collator.unwrap().locale(), "de");
        assert!(
            system_collation("xx", CollationData::BUILT_IN).is_none() && system_collation_name(1).is_none()
        );
    }
}
