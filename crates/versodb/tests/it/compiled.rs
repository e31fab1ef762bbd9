//! What is said of bodies in PL/pgSQL when they are compiled: codes, texts, places and contexts.
//!
//! `compiled.txt` has the cases, and PostgreSQL's answers:
//!
//! ```text
//! == name
//! statements before
//! --
//! the statement that fails
//! ----
//! code: message
//! DETAIL: …        HINT: …
//! at line:column   of the statement
//! in text at n     of the text of a body, or of a statement within one
//! CONTEXT: …       its lines with | between
//! ```

use std::fmt::Write;

use crate::new_database;

/// An error in the words of the file.
fn told(statement: &str, error: &versodb::Error) -> String {
    let mut told = format!("{}: {}\n", error.sqlstate, error.message);
    for (word, text) in [("DETAIL", &error.detail), ("HINT", &error.hint)] {
        if let Some(text) = text {
            writeln!(told, "{word}: {text}").unwrap();
        }
    }
    if let Some(position) = error.position {
        let before: String = statement.chars().take(position as usize - 1).collect();
        let line = before.rsplit('\n').next().unwrap_or_default();
        writeln!(told, "at {}:{}", before.matches('\n').count() + 1, line.chars().count() + 1).unwrap();
    }
    if let Some(within) = &error.internal {
        writeln!(told, "in {} at {}", within.query.replace('\n', "\\n"), within.position).unwrap();
    }
    if let Some(context) = &error.context {
        writeln!(told, "CONTEXT: {}", context.replace('\n', " | ")).unwrap();
    }
    told
}

#[test]
fn bodies_are_refused_in_postgresqls_words_at_its_places() {
    let (_directory, database) = new_database();
    let mut connection = database.connect().unwrap();
    let (mut wrong, mut count) = (String::new(), 0);
    for case in include_str!("compiled.txt").split("\n== ").skip(1) {
        let (name, rest) = case.split_once('\n').unwrap();
        let (statement, expected) = rest.split_once("\n----\n").unwrap();
        let (before, statement) = statement.split_once("\n--\n").unwrap_or(("", statement));
        connection.execute("BEGIN").unwrap();
        connection.execute(before).unwrap();
        let answer = match connection.execute(statement) {
            Ok(_) => "ok\n".to_owned(),
            Err(error) => told(statement, &error),
        };
        connection.execute("ROLLBACK").unwrap();
        count += 1;
        if answer.trim_end() != expected.trim_end() {
            writeln!(wrong, "== {name}\n{}\n---- but\n{answer}", expected.trim_end()).unwrap();
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count > 300);
}
