//! Which schemas statements name, and which of them make one.

use crate::archive::contents::{Kind, Step};

/// How a statement begins that makes a schema.
pub(crate) const CREATE: &str = "CREATE SCHEMA ";

/// The schema, as SQL spells it, that a statement makes.
pub(crate) fn created(step: &Step) -> Option<&str> {
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

/// Whether a statement names something in a schema, or the schema itself.
pub(crate) fn names(text: &str, schema: &str) -> bool {
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
            (
                "CREATE SCHEMA \"Odd AUTHORIZATION \"\"name\"\"\" AUTHORIZATION bob",
                Some("\"Odd AUTHORIZATION \"\"name\"\"\""),
            ),
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
