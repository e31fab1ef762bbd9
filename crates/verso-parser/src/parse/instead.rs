//! Kinds of objects that PostgreSQL has and Verso has not: how they are refused, and what serves instead.

use super::cursor::Cursor;
use super::ddl::kind_in_words;
use crate::error::SyntaxError;

/// In place of INHERITS.
pub(super) const INHERITANCE: &str = "Partitioned tables (PARTITION BY) hold rows in several tables; LIKE takes the columns of another one over.";
/// In place of rules.
pub(super) const RULES: &str =
    "Write a trigger: on a view an INSTEAD OF trigger does what such a rule would.";
/// In place of foreign tables and what belongs to them.
pub(super) const FOREIGN_TABLES: &str = "read_csv, read_json and read_parquet read files as tables.";
/// In place of large objects.
pub(super) const LARGE_OBJECTS: &str = "A value of bytea holds up to 1 GB.";

/// `0A000` for a statement over a kind of objects that there is not; `word` is the one that comes next.
pub(super) fn kind(cursor: &Cursor<'_>, verb: &str, word: &str, start: u32) -> SyntaxError {
    let kind = kind_in_words(cursor, word);
    let error = SyntaxError::unsupported(format!("{verb} {kind}")).at(start);
    match word {
        "rule" => error.with_hint(RULES),
        "foreign" | "server" => error.with_hint(FOREIGN_TABLES),
        "user" if kind == "USER MAPPING" => error.with_hint(FOREIGN_TABLES),
        "large" => error.with_hint(LARGE_OBJECTS),
        "tablespace" => error.with_hint("A database is one file, and the folder of its log."),
        "publication" | "subscription" => error.with_hint(
            "An archive of the log (archive_target) brings a database back as it was at any moment.",
        ),
        "text" => error.with_hint("The text search configurations of PostgreSQL's languages are built in."),
        _ => error,
    }
}
