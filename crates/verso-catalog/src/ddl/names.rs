//! Names for what the user did not name: `t_pkey`, `t_a_b_key`, `t_a_check` … as PostgreSQL makes them.

use std::collections::HashSet;
use std::sync::Arc;

use crate::definition::SchemaDef;
use crate::snapshot::CatalogSnapshot;

/// Longest name in bytes.
const NAME_BYTES_MAX: usize = 63;

/// The names taken in one schema: those of the snapshot and those given since.
pub(super) struct Names<'s> {
    snapshot: &'s CatalogSnapshot,
    schema: Arc<str>,
    relations: HashSet<String>,
    constraints: HashSet<String>,
}

impl<'s> Names<'s> {
    pub fn new(snapshot: &'s CatalogSnapshot, schema: &SchemaDef) -> Names<'s> {
        let schema = Arc::clone(&schema.name);
        Names { snapshot, schema, relations: HashSet::new(), constraints: HashSet::new() }
    }

    fn has_relation(&self, name: &str) -> bool {
        self.relations.contains(name) || self.snapshot.relation(Some(&self.schema), name).is_some()
    }

    fn has_constraint(&self, name: &str) -> bool {
        self.constraints.contains(name) || self.snapshot.has_constraint(&self.schema, name)
    }

    /// A name for an index that belongs to a constraint or to none.
    pub fn index(&mut self, table: &str, columns: &[&str], label: &str, constraint: bool) -> String {
        let columns = told_apart(columns);
        let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
        let name = free(table, &columns, label, |name| {
            self.has_relation(name) || (constraint && self.has_constraint(name))
        });
        self.take_relation(&name);
        if constraint {
            self.take_constraint(&name);
        }
        name
    }

    /// A name for a constraint without an index.
    pub fn constraint(&mut self, table: &str, columns: &[&str], label: &str) -> String {
        let name = free(table, columns, label, |name| self.has_constraint(name));
        self.take_constraint(&name);
        name
    }

    /// Marks a relation's name as taken; false if it was.
    pub fn take_relation(&mut self, name: &str) -> bool {
        !self.has_relation(name) && self.relations.insert(name.to_string())
    }

    /// Marks a constraint's name as taken.
    pub fn take_constraint(&mut self, name: &str) {
        self.constraints.insert(name.to_string());
    }
}

/// The names of an index's columns: equal ones with a number behind them.
pub fn told_apart(columns: &[&str]) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(columns.len());
    for column in columns {
        let numbered = (1u32..).map(|number| {
            let number = number.to_string();
            let end = column.floor_char_boundary(NAME_BYTES_MAX - number.len());
            format!("{}{number}", &column[..end])
        });
        let mut choices = std::iter::once((*column).to_string()).chain(numbered);
        names.extend(choices.find(|name| !names.contains(name)));
    }
    names
}

/// A name made of those of a table and its columns, and a label, that is not taken.
pub fn free(table: &str, columns: &[&str], label: &str, taken: impl Fn(&str) -> bool) -> String {
    let columns = (!columns.is_empty()).then(|| columns.join("_"));
    let mut number = 0u32;
    loop {
        let numbered = if number == 0 { label.to_string() } else { format!("{label}{number}") };
        let name = compose(table, columns.as_deref(), &numbered);
        if !taken(&name) {
            return name;
        }
        number += 1;
    }
}

/// `table_columns_label`, the longer of the first two cut until all fits.
fn compose(table: &str, columns: Option<&str>, label: &str) -> String {
    let fixed = label.len() + 1 + columns.map_or(0, |_| 1);
    let room = NAME_BYTES_MAX.saturating_sub(fixed);
    let (mut first, mut second) = (table.len(), columns.map_or(0, str::len));
    while first + second > room {
        if first > second { first -= 1 } else { second -= 1 }
    }
    let cut = |text: &str, end: usize| {
        let end = (0..=end).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text[..end].to_string()
    };
    match columns {
        Some(columns) => format!("{}_{}_{label}", cut(table, first), cut(columns, second)),
        None => format!("{}_{label}", cut(table, first)),
    }
}

#[cfg(test)]
mod tests {
    use verso_storage::page::ObjectId;

    use super::*;
    use crate::definition::{Oid, TableDef};
    use crate::snapshot::PUBLIC;

    #[test]
    fn names_are_postgresqls() {
        let mut builder = CatalogSnapshot::builder(1);
        builder.add_table(TableDef::new(Oid(1), PUBLIC, "u_pkey", ObjectId(1), Vec::new()));
        let snapshot = builder.build();
        let mut names = Names::new(&snapshot, &SchemaDef::new(Oid(2200), PUBLIC));
        assert_eq!(names.index("u", &[], "pkey", true), "u_pkey1");
        assert_eq!(names.index("t", &[], "pkey", true), "t_pkey");
        assert_eq!(names.index("t", &["a", "b"], "key", true), "t_a_b_key");
        assert_eq!(names.index("t", &["a", "b"], "key", true), "t_a_b_key1");
        assert_eq!(names.index("t", &["a", "a", "a"], "idx", false), "t_a_a1_a2_idx");
        assert_eq!(names.constraint("t", &["a"], "check"), "t_a_check");
        assert_eq!(names.constraint("t", &[], "check"), "t_check");
        let long = compose(&"x".repeat(60), Some(&"y".repeat(60)), "key");
        assert_eq!(long, format!("{}_{}_key", "x".repeat(29), "y".repeat(29)));
    }
}
