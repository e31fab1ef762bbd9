//! The search path: the schemas in which a name without a schema is looked up.
//!
//! ```text
//! search_path ─► WantedPath (names as given, "$user" replaced) ─► SearchPath (those of them that a snapshot has)
//! ```
//!
//! P1. A session's temporary schema is searched first for relations, then `pg_catalog`, then what the setting names. A schema
//!     that the setting names is searched where it is named, and only there.
//! P2. What is made without a schema goes to the first schema that the setting names and that exists.
//! P3. Two paths have the same number if and only if they search the same schemas in the same order, so a plan that was
//!     made under a path may be kept under its number.

use std::collections::HashMap;
use std::sync::Arc;

use verso_env::sync::Mutex;

use crate::definition::Oid;
use crate::snapshot::{PG_CATALOG, PUBLIC};

/// What the names of temporary schemas begin with.
pub(crate) const TEMPORARY: &str = "pg_temp_";

/// Whether a schema is one for temporary tables.
pub fn is_temporary(schema: &str) -> bool {
    schema.starts_with(TEMPORARY)
}

/// The alias of a session's own temporary schema.
pub const PG_TEMP: &str = "pg_temp";

/// Numbers of paths remembered; beyond that all are forgotten, and the same path gets another number.
const NUMBERS_MAX: usize = 1_024;

/// A search path as a session wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedPath {
    /// The schemas that the setting names, in order; those that do not exist are passed over.
    pub schemas: Vec<Arc<str>>,
    /// The session's temporary schema, once it has one.
    pub temporary: Option<Arc<str>>,
    /// The role whose rights count, where they are limited at all.
    pub role: Option<Oid>,
    /// Whether policies are to decide which rows it sees; else that is an error.
    pub row_security: bool,
}

impl Default for WantedPath {
    fn default() -> WantedPath {
        WantedPath { schemas: vec![PUBLIC.into()], temporary: None, role: None, row_security: true }
    }
}

/// A search path as one version of the catalog has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchPath {
    number: u64,
    /// Everything that is searched, in order.
    searched: Vec<Arc<str>>,
    /// How many of the first ones the setting does not name.
    implicit: usize,
    temporary: Option<Arc<str>>,
    /// The session's temporary schema before it is made, where the setting names it first.
    awaited: Option<Arc<str>>,
    role: Option<Oid>,
    row_security: bool,
}

impl Default for SearchPath {
    fn default() -> SearchPath {
        SearchPath::new(&WantedPath::default(), |_| true)
    }
}

impl SearchPath {
    /// The path that a session wants, where `exists` tells which schemas there are.
    pub(crate) fn new(wanted: &WantedPath, exists: impl Fn(&str) -> bool) -> SearchPath {
        let temporary = wanted.temporary.clone().filter(|name| exists(name));
        let first = wanted.schemas.first().is_some_and(|name| **name == *PG_TEMP);
        let awaited = wanted.temporary.clone().filter(|_| first && temporary.is_none());
        let mut named: Vec<Arc<str>> = Vec::new();
        for name in &wanted.schemas {
            let name = match (&**name, &temporary) {
                (PG_TEMP, Some(temporary)) => temporary,
                (PG_TEMP, None) => continue,
                _ => name,
            };
            if exists(name) && !named.contains(name) {
                named.push(Arc::clone(name));
            }
        }
        let mut searched: Vec<Arc<str>> = Vec::new();
        searched.extend(temporary.iter().filter(|name| !named.contains(name)).cloned());
        if !named.iter().any(|name| **name == *PG_CATALOG) {
            searched.push(PG_CATALOG.into());
        }
        let implicit = searched.len();
        searched.append(&mut named);
        let (role, row_security) = (wanted.role, wanted.row_security);
        let number = number_of(&searched);
        SearchPath { number, searched, implicit, temporary, awaited, role, row_security }
    }

    /// Unlike that of any path that searches other schemas (P3); 0 for `pg_catalog` and then `public`.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether a schema is searched before `pg_catalog`, so that what is in it hides the system's own that takes the same.
    pub fn precedes_system(&self, schema: &str) -> bool {
        let before = self.searched.iter().take_while(|name| ***name != *PG_CATALOG);
        before.filter(|name| self.temporary.as_ref() != Some(*name)).any(|name| **name == *schema)
    }

    /// Everything that is searched, in order.
    pub fn searched(&self) -> &[Arc<str>] {
        &self.searched
    }

    /// Those of them that the setting names.
    pub fn named(&self) -> &[Arc<str>] {
        &self.searched[self.implicit..]
    }

    /// The schemas that are searched, or only those that the setting names, as the session sees them: what it makes next without a
    /// schema goes to its temporary one, where the setting names that first, though it is not there yet.
    pub fn shown(&self, implicit: bool) -> Vec<Arc<str>> {
        let mut shown = self.searched.clone();
        if let Some(awaited) = &self.awaited {
            shown.insert(self.implicit, Arc::clone(awaited));
        }
        shown.split_off(if implicit { 0 } else { self.implicit })
    }

    /// The role whose rights count, where they are limited at all.
    pub fn role(&self) -> Option<Oid> {
        self.role
    }

    /// Whether policies are to decide which rows it sees; else that is an error.
    pub fn row_security(&self) -> bool {
        self.row_security
    }

    /// The same for another role.
    pub(crate) fn of_role(&self, role: Option<Oid>) -> SearchPath {
        SearchPath { role, ..self.clone() }
    }

    /// The session's temporary schema, if it is there.
    pub fn temporary(&self) -> Option<&Arc<str>> {
        self.temporary.as_ref()
    }
}

/// The number of a path (P3).
fn number_of(searched: &[Arc<str>]) -> u64 {
    /// The numbers given, and the next one.
    #[derive(Default)]
    struct Numbers {
        known: HashMap<Vec<Arc<str>>, u64>,
        last: u64,
    }
    static NUMBERS: Mutex<Option<Numbers>> = Mutex::new(None);
    if let [system, public] = searched
        && **system == *PG_CATALOG
        && **public == *PUBLIC
    {
        return 0;
    }
    let mut numbers = NUMBERS.lock();
    let numbers = numbers.get_or_insert_default();
    if let Some(number) = numbers.known.get(searched) {
        return *number;
    }
    if numbers.known.len() >= NUMBERS_MAX {
        numbers.known.clear();
    }
    numbers.last += 1;
    numbers.known.insert(searched.to_vec(), numbers.last);
    numbers.last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(schemas: &[&str], temporary: Option<&str>) -> SearchPath {
        let schemas = schemas.iter().map(|name| Arc::from(*name)).collect();
        let wanted = WantedPath { schemas, temporary: temporary.map(Arc::from), ..WantedPath::default() };
        SearchPath::new(&wanted, |name| name != "nowhere")
    }

    fn texts(names: &[Arc<str>]) -> Vec<&str> {
        names.iter().map(|name| &**name).collect()
    }

    #[test]
    fn the_system_comes_first_unless_it_is_named() {
        let plain = path(&["a", "nowhere", "b", "a"], None);
        assert_eq!(texts(plain.searched()), [PG_CATALOG, "a", "b"]);
        assert_eq!(texts(plain.named()), ["a", "b"]);
        let last = path(&["a", PG_CATALOG], None);
        assert_eq!(texts(last.searched()), ["a", PG_CATALOG]);
        assert_eq!(texts(last.named()), ["a", PG_CATALOG]);
    }

    #[test]
    fn temporary_tables_come_before_everything_unless_they_are_named() {
        let first = path(&["a"], Some("pg_temp_3"));
        assert_eq!(texts(first.searched()), ["pg_temp_3", PG_CATALOG, "a"]);
        let last = path(&["a", PG_TEMP], Some("pg_temp_3"));
        assert_eq!(texts(last.searched()), [PG_CATALOG, "a", "pg_temp_3"]);
        assert_eq!(texts(path(&[PG_TEMP, "a"], None).named()), ["a"]);
    }

    #[test]
    fn numbers_tell_paths_apart() {
        assert_eq!(SearchPath::default().number(), 0);
        assert_eq!(path(&["nowhere", PUBLIC], None).number(), 0);
        let (one, other) = (path(&["a", "b"], None), path(&["b", "a"], None));
        assert!(one.number() != other.number() && one.number() != 0);
        assert_eq!(one.number(), path(&["a", "nowhere", "b"], None).number());
    }
}
