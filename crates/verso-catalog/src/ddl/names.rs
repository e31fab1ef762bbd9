//! Names for what the user did not name: `t_pkey`, `t_a_b_key`, `t_a_check` … as PostgreSQL makes them.

use std::collections::HashSet;

use crate::definition::SchemaDef;
use crate::snapshot::CatalogSnapshot;

/// Longest name in bytes.
const NAME_BYTES_MAX: usize = 63;

/// The names taken in one schema: those of the snapshot and those given since.
pub(super) struct Names {
    relations: HashSet<String>,
    constraints: HashSet<String>,
}

impl Names {
    pub fn new(snapshot: &CatalogSnapshot, schema: &SchemaDef) -> Names {
        let mut names = Names { relations: HashSet::new(), constraints: HashSet::new() };
        for relation in snapshot.relations() {
            let (in_schema, name) = relation.key();
            if **in_schema == *schema.name {
                names.relations.insert(name.to_string());
            }
        }
        for table in snapshot.tables().filter(|table| *table.schema == *schema.name) {
            names.constraints.extend(table.constraints.iter().map(|constraint| constraint.name.to_string()));
        }
        names
    }

    /// A name for an index that belongs to a constraint or to none.
    pub fn index(&mut self, table: &str, columns: &[&str], label: &str, constraint: bool) -> String {
        let name = free(table, columns, label, |name| {
            self.relations.contains(name) || (constraint && self.constraints.contains(name))
        });
        self.take_relation(&name);
        if constraint {
            self.take_constraint(&name);
        }
        name
    }

    /// A name for a constraint without an index.
    pub fn constraint(&mut self, table: &str, columns: &[&str], label: &str) -> String {
        let name = free(table, columns, label, |name| self.constraints.contains(name));
        self.take_constraint(&name);
        name
    }

    /// Marks a relation's name as taken; false if it was.
    pub fn take_relation(&mut self, name: &str) -> bool {
        self.relations.insert(name.to_string())
    }

    /// Marks a constraint's name as taken.
    pub fn take_constraint(&mut self, name: &str) {
        self.constraints.insert(name.to_string());
    }
}

fn free(table: &str, columns: &[&str], label: &str, taken: impl Fn(&str) -> bool) -> String {
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
    use super::*;

    #[test]
    fn names_are_postgresqls() {
        let mut names = Names { relations: HashSet::new(), constraints: HashSet::new() };
        assert_eq!(names.index("t", &[], "pkey", true), "t_pkey");
        assert_eq!(names.index("t", &["a", "b"], "key", true), "t_a_b_key");
        assert_eq!(names.index("t", &["a", "b"], "key", true), "t_a_b_key1");
        assert_eq!(names.constraint("t", &["a"], "check"), "t_a_check");
        assert_eq!(names.constraint("t", &[], "check"), "t_check");
        let long = compose(&"x".repeat(60), Some(&"y".repeat(60)), "key");
        assert_eq!(long, format!("{}_{}_key", "x".repeat(29), "y".repeat(29)));
    }
}
