//! Schemas where only some tables of an archive are restored: those that the statements which are run name, and no others. They
//! belong to the role that restores, for the archive's roles are not made.

use super::Plan;
use crate::archive::contents::{Kind, Step};

const CREATE: &str = "CREATE SCHEMA ";

impl Plan {
    /// Leaves out the schemas that nothing restored is in, and whose they are. Into a database that is there (`existing`) only go
    /// statements about the tables.
    pub(super) fn leave_schemas(&mut self, existing: bool) {
        if self.selection.is_all() {
            return;
        }
        let steps = std::mem::take(&mut self.definitions.before);
        let runs = |step: &&Step| {
            created(step).is_none() && (step.table.is_some() || !existing) && self.runs(step)
        };
        let texts: Vec<&str> =
            steps.iter().chain(&self.definitions.after).filter(runs).map(|step| &*step.sql).collect();
        let kept: Vec<Step> = steps
            .iter()
            .filter_map(|step| match created(step) {
                Some(schema) if texts.iter().any(|text| names(text, schema)) => {
                    Some(Step { sql: format!("{CREATE}{schema}"), ..step.clone() })
                }
                Some(_) => None,
                None if step.kind == Kind::Schema && is_of_all(&step.sql) => None,
                None => Some(step.clone()),
            })
            .collect();
        self.definitions.before = kept;
    }
}

/// The schema, as SQL spells it, that a statement makes.
fn created(step: &Step) -> Option<&str> {
    let rest = step.sql.strip_prefix(CREATE).filter(|_| step.kind == Kind::Schema)?;
    let end = match rest.strip_prefix('"') {
        // A quote in a name is doubled.
        Some(quoted) => {
            let mut quotes = quoted.match_indices('"').map(|(at, _)| at);
            let mut end = quotes.next()?;
            while quoted[end + 1..].starts_with('"') {
                quotes.next();
                end = quotes.next()?;
            }
            end + 2
        }
        None => rest.find(' ').unwrap_or(rest.len()),
    };
    Some(&rest[..end])
}

/// Whether a statement about schemas is about the database as a whole: whose `public` is, or that there is none.
fn is_of_all(sql: &str) -> bool {
    sql.starts_with("ALTER SCHEMA ") || sql.starts_with("DROP SCHEMA ")
}

/// Whether a statement names something in a schema, or the schema itself.
fn names(text: &str, schema: &str) -> bool {
    let is_part = |found: char| found.is_alphanumeric() || matches!(found, '_' | '$' | '"');
    text.match_indices(schema).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + schema.len()..]);
        let begins = !before.ends_with(is_part);
        begins && (behind.starts_with('.') || before.ends_with(" SCHEMA "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(sql: &str) -> Step {
        Step { kind: Kind::Schema, table: None, other: None, sql: sql.to_owned() }
    }

    #[test]
    fn the_schema_of_a_statement_is_found_and_so_are_those_that_name_it() {
        for (sql, expected) in [
            ("CREATE SCHEMA s", Some("s")),
            ("CREATE SCHEMA s AUTHORIZATION bob", Some("s")),
            ("CREATE SCHEMA \"Odd AUTHORIZATION \"\"name\"\"\" AUTHORIZATION bob", Some("\"Odd AUTHORIZATION \"\"name\"\"\"")),
            ("CREATE SCHEMA \"a\"\"b\"", Some("\"a\"\"b\"")),
            ("CREATE SCHEMA \"Odd\"", Some("\"Odd\"")),
            ("ALTER SCHEMA public OWNER TO bob", None),
            ("DROP SCHEMA public", None),
            ("CREATE EXTENSION IF NOT EXISTS pg_trgm WITH SCHEMA s", None),
        ] {
            assert_eq!(created(&schema(sql)), expected, "{sql}");
        }
        assert!(names("CREATE TABLE s.t (a integer)", "s") && names("CREATE TABLE \"S s\".t ()", "\"S s\""));
        assert!(names("CREATE EXTENSION IF NOT EXISTS x WITH SCHEMA s", "s"));
        assert!(!names("CREATE TABLE items.t (s integer)", "s") && !names("CREATE TABLE \"s\".t ()", "s"));
    }
}
