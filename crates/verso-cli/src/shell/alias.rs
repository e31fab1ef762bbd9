//! Statements that are the shell's, not the session's: the spellings of the published scripts.
//!
//!     INPUT file;                              \i file
//!     CONNECT 'file' USER 'u' PASSWORD 'p';    \c file
//!     SET TIME ON;                             \timing on
//!     SET STAT ON;                             \stat on
//!     QUIT; (rolls back)   EXIT; (commits)     \q
//!
//! Everything else is SQL and goes to the session.

use std::path::PathBuf;

use super::command::{Command, Leave, Switch};

/// Recognises a statement (with or without its semicolon) that is the shell's, not the session's.
///
/// # Errors
/// A message for the user when the statement is the shell's but malformed.
pub fn parse_alias(statement: &str) -> Result<Option<Command>, String> {
    // Most statements are long and none of these: decide by the first word.
    let start = statement.trim_start();
    let first: String = start.chars().take_while(char::is_ascii_alphabetic).take(10).collect();
    if !["QUIT", "EXIT", "INPUT", "CONNECT", "CREATE", "SET"].contains(&first.to_ascii_uppercase().as_str()) {
        return Ok(None);
    }
    let words = words(start.trim_end().trim_end_matches(';'));
    let upper: Vec<String> =
        words.iter().map(|word| if word.quoted { String::new() } else { word.text.to_uppercase() }).collect();
    let upper: Vec<&str> = upper.iter().map(String::as_str).collect();
    let switch = |word: &str| match word {
        "ON" => Some(Switch::To(true)),
        "OFF" => Some(Switch::To(false)),
        _ => None,
    };
    Ok(match upper.as_slice() {
        ["QUIT"] => Some(Command::Leave(Leave::Rollback)),
        ["EXIT"] => Some(Command::Leave(Leave::Commit)),
        ["SET", "TIME"] => Some(Command::Timing(Switch::Toggle)),
        ["SET", "TIME", word] => switch(word).map(Command::Timing),
        ["SET", "STAT" | "STATS"] => Some(Command::Statistics(Switch::Toggle)),
        ["SET", "STAT" | "STATS", word] => switch(word).map(Command::Statistics),
        ["SET", "PER_TABLE_STATS"] => Some(Command::TableStatistics(Switch::Toggle)),
        ["SET", "PER_TABLE_STATS", word] => switch(word).map(Command::TableStatistics),
        ["INPUT"] => return Err("INPUT: the file is missing".to_owned()),
        ["INPUT", _] => Some(Command::Include(PathBuf::from(&words[1].text))),
        ["CONNECT"] => return Err("CONNECT: the database's path is missing".to_owned()),
        ["CONNECT", _, options @ ..] => {
            database_options("CONNECT", options)?;
            Some(Command::Connect(Some(PathBuf::from(&words[1].text))))
        }
        // Without quotes it would be PostgreSQL's statement, which the session refuses.
        ["CREATE", "DATABASE", "", options @ ..] => {
            let page_size = database_options("CREATE DATABASE", options)?;
            Some(Command::CreateDatabase { path: PathBuf::from(&words[2].text), page_size })
        }
        _ => None,
    })
}

/// `[USER u] [PASSWORD p] [PAGE_SIZE [=] n]` in any order. An embedded database knows no users, so those are read over.
fn database_options(statement: &str, mut options: &[&str]) -> Result<Option<u32>, String> {
    let mut page_size = None;
    loop {
        options = match options {
            [] => return Ok(page_size),
            ["USER" | "PASSWORD", _, rest @ ..] => rest,
            ["PAGE_SIZE", "=", size, rest @ ..] | ["PAGE_SIZE", size, rest @ ..] => {
                page_size = Some(size.parse().map_err(|_| format!("{statement}: PAGE_SIZE needs a number"))?);
                rest
            }
            [other, ..] => return Err(format!("{statement}: {other} is not understood here")),
        };
    }
}

struct Word {
    text: String,
    quoted: bool,
}

/// Words at blanks; quotes (either kind, doubled inside) keep blanks together and vanish.
fn words(text: &str) -> Vec<Word> {
    let mut words = Vec::new();
    let mut characters = text.chars().peekable();
    loop {
        while characters.next_if(|c| c.is_whitespace()).is_some() {}
        if characters.peek().is_none() {
            return words;
        }
        let mut word = Word { text: String::new(), quoted: false };
        while let Some(c) = characters.next_if(|c| !c.is_whitespace()) {
            if !matches!(c, '\'' | '"') {
                word.text.push(c);
                continue;
            }
            word.quoted = true;
            while let Some(inner) = characters.next() {
                if inner != c {
                    word.text.push(inner);
                } else if characters.next_if_eq(&c).is_some() {
                    word.text.push(c);
                } else {
                    break;
                }
            }
        }
        words.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aliases_of_the_published_scripts() {
        let alias = |text| parse_alias(text).expect("well formed");
        assert_eq!(alias("SET TIME ON;"), Some(Command::Timing(Switch::To(true))));
        assert_eq!(alias("SET PER_TABLE_STATS on;"), Some(Command::TableStatistics(Switch::To(true))));
        assert_eq!(alias("set stat off ;"), Some(Command::Statistics(Switch::To(false))));
        assert_eq!(alias("QUIT;"), Some(Command::Leave(Leave::Rollback)));
        assert_eq!(alias("exit"), Some(Command::Leave(Leave::Commit)));
        assert_eq!(alias("INPUT 'my file.sql';"), Some(Command::Include("my file.sql".into())));
        assert_eq!(alias("INPUT create.sql;"), Some(Command::Include("create.sql".into())));
        assert_eq!(
            alias("CONNECT 'a.verso' USER 'SYSDBA' PASSWORD 'masterkey';"),
            Some(Command::Connect(Some("a.verso".into())))
        );
        assert_eq!(
            alias("CREATE DATABASE 'a.verso'\n PAGE_SIZE = 8192 USER 'u';"),
            Some(Command::CreateDatabase { path: "a.verso".into(), page_size: Some(8192) })
        );
    }

    #[test]
    fn sql_is_left_to_the_session() {
        for text in [
            "SET TIME ZONE 'UTC';",
            "SET TRANSACTION NO SAVEPOINT;",
            "SET statement_timeout = 1;",
            "CREATE DATABASE mine;",
            "CREATE TABLE input (exit int);",
            "SELECT 1;",
            "QUITE;",
        ] {
            assert_eq!(parse_alias(text), Ok(None), "{text}");
        }
    }

    #[test]
    fn malformed_aliases_are_told() {
        assert!(parse_alias("CREATE DATABASE 'x' PAGE_SIZE big;").is_err());
        assert!(parse_alias("CONNECT 'x' ROLE y;").is_err());
        assert!(parse_alias("INPUT;").is_err());
    }
}
