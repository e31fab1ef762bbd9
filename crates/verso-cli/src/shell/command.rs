//! What the shell itself obeys: backslash commands, and the spellings of the published scripts that do the same.
//!
//!     \i file        INPUT file;
//!     \c file        CONNECT 'file' USER 'u' PASSWORD 'p';
//!     \timing on     SET TIME ON;
//!     \stat on       SET STAT ON;
//!     \q             QUIT; (rolls back)   EXIT; (commits)
//!
//! Everything else is SQL and goes to the session.

use std::path::PathBuf;

/// What `on`, `off` or nothing behind a command means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Set it.
    To(bool),
    /// Turn it over.
    Toggle,
}

impl Switch {
    /// The value afterwards.
    pub fn apply(self, value: bool) -> bool {
        match self {
            Switch::To(value) => value,
            Switch::Toggle => !value,
        }
    }
}

/// What happens to the open transaction when a script or the shell is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leave {
    /// `\q`: nothing; the end of the shell rolls it back.
    AsIs,
    /// `EXIT`.
    Commit,
    /// `QUIT`.
    Rollback,
}

/// What `\d…` lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listing {
    /// Tables and sequences.
    Relations,
    /// Tables.
    Tables,
    /// Functions.
    Functions,
    /// Indexes.
    Indexes,
    /// Sequences.
    Sequences,
}

/// One command of the shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// End the script, or at the prompt the shell.
    Leave(Leave),
    /// Run a script.
    Include(PathBuf),
    /// Open another database; without a path, say which one is open.
    Connect(Option<PathBuf>),
    /// Make a database and open it.
    CreateDatabase {
        /// The file.
        path: PathBuf,
        /// Bytes of a page.
        page_size: Option<u32>,
    },
    /// List objects.
    List(Listing),
    /// Describe one table or sequence.
    Describe(String),
    /// Expanded output.
    Expanded(Switch),
    /// Elapsed time after each statement.
    Timing(Switch),
    /// Statistics after each statement.
    Statistics(Switch),
    /// Set a variable; without a value, to the empty text.
    Set {
        /// Upper case.
        name: String,
        /// As written.
        value: String,
    },
    /// Show all variables.
    ShowVariables,
    /// Back to a variable's default.
    Unset(String),
    /// Print a line.
    Echo {
        /// The words, one blank between them.
        text: String,
        /// False for `-n`.
        newline: bool,
    },
    /// The commands of the shell.
    Help,
    /// The SQL statements, or the syntax of one.
    SqlHelp(Option<String>),
    /// Run the statement typed so far.
    Run,
    /// Show the statement typed so far.
    Print,
    /// Forget the statement typed so far.
    Reset,
}

/// Parses what stands behind a backslash.
///
/// # Errors
/// A message for the user: an unknown command, a missing or surplus argument.
pub fn parse_backslash(text: &str) -> Result<Command, String> {
    let mut words = words(text);
    // `\echo` wants its words as they are, others need to know their number.
    let name = if words.is_empty() { String::new() } else { words.remove(0).text };
    let mut arguments = Arguments { name: &name, words, at: 0 };
    let command = match name.as_str() {
        "q" | "quit" => Command::Leave(Leave::AsIs),
        "i" | "ir" | "include" | "include_relative" => Command::Include(arguments.required()?.into()),
        "c" | "connect" => Command::Connect(arguments.optional().map(PathBuf::from)),
        "conninfo" => Command::Connect(None),
        "d" => match arguments.optional() {
            Some(name) => Command::Describe(name),
            None => Command::List(Listing::Relations),
        },
        "dt" => Command::List(Listing::Tables),
        "df" => Command::List(Listing::Functions),
        "di" => Command::List(Listing::Indexes),
        "ds" => Command::List(Listing::Sequences),
        "x" => Command::Expanded(arguments.switch()?),
        "timing" => Command::Timing(arguments.switch()?),
        "stat" => Command::Statistics(arguments.switch()?),
        "set" => match arguments.optional() {
            Some(name) => Command::Set { name: name.to_uppercase(), value: arguments.rest().join("") },
            None => Command::ShowVariables,
        },
        "unset" => Command::Unset(arguments.required()?.to_uppercase()),
        "echo" => {
            let mut words = arguments.rest();
            let newline = words.first().is_none_or(|word| word != "-n");
            if !newline {
                words.remove(0);
            }
            Command::Echo { text: words.join(" "), newline }
        }
        "?" => Command::Help,
        "h" | "help" => {
            let rest = arguments.rest().join(" ");
            let topic = rest.trim_end_matches(';').trim().to_uppercase();
            Command::SqlHelp((!topic.is_empty()).then_some(topic))
        }
        "g" => Command::Run,
        "p" | "print" => Command::Print,
        "r" | "reset" => Command::Reset,
        _ => return Err(format!("invalid command \\{name}\nHINT:  Try \\? for help.")),
    };
    arguments.finish()?;
    Ok(command)
}

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

struct Arguments<'a> {
    name: &'a str,
    words: Vec<Word>,
    at: usize,
}

impl Arguments<'_> {
    fn optional(&mut self) -> Option<String> {
        let word = self.words.get(self.at)?;
        self.at += 1;
        Some(word.text.trim_end_matches(';').to_owned())
    }

    fn required(&mut self) -> Result<String, String> {
        let name = self.name;
        self.optional().ok_or_else(|| format!("\\{name}: missing required argument"))
    }

    fn rest(&mut self) -> Vec<String> {
        let rest = self.words[self.at..].iter().map(|word| word.text.clone()).collect();
        self.at = self.words.len();
        rest
    }

    fn switch(&mut self) -> Result<Switch, String> {
        let name = self.name;
        match self.optional().map(|word| word.to_lowercase()) {
            None => Ok(Switch::Toggle),
            Some(word) => match parse_flag(&word) {
                Some(value) => Ok(Switch::To(value)),
                None => Err(format!("\\{name}: \"{word}\" is neither on nor off")),
            },
        }
    }

    fn finish(&self) -> Result<(), String> {
        match self.words.get(self.at) {
            None => Ok(()),
            Some(word) => Err(format!("\\{}: extra argument \"{}\"", self.name, word.text)),
        }
    }
}

/// `on`, `off` and what PostgreSQL accepts in their place.
pub fn parse_flag(word: &str) -> Option<bool> {
    match word.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn switches_set_or_toggle() {
        assert_eq!(parse_backslash("timing on"), Ok(Command::Timing(Switch::To(true))));
        assert_eq!(parse_backslash("stat off"), Ok(Command::Statistics(Switch::To(false))));
        assert_eq!(parse_backslash("x"), Ok(Command::Expanded(Switch::Toggle)));
        assert_eq!(parse_backslash("x maybe"), Err("\\x: \"maybe\" is neither on nor off".to_owned()));
    }

    #[test]
    fn aliases_of_the_published_scripts() {
        let alias = |text| parse_alias(text).expect("well formed");
        assert_eq!(alias("SET TIME ON;"), Some(Command::Timing(Switch::To(true))));
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

    #[test]
    fn variables_and_echo_take_words() {
        assert_eq!(
            parse_backslash("set AUTOCOMMIT off"),
            Ok(Command::Set { name: "AUTOCOMMIT".into(), value: "off".into() })
        );
        assert_eq!(parse_backslash("set"), Ok(Command::ShowVariables));
        assert_eq!(
            parse_backslash("echo hi   'there  you' it''s"),
            Ok(Command::Echo { text: "hi there  you its".into(), newline: true })
        );
        assert_eq!(parse_backslash("echo -n x"), Ok(Command::Echo { text: "x".into(), newline: false }));
    }

    #[test]
    fn files_tables_and_help() {
        assert_eq!(parse_backslash("i 'a b.sql'"), Ok(Command::Include("a b.sql".into())));
        assert_eq!(parse_backslash("i"), Err("\\i: missing required argument".to_owned()));
        assert_eq!(parse_backslash("d test;"), Ok(Command::Describe("test".into())));
        assert_eq!(parse_backslash("d"), Ok(Command::List(Listing::Relations)));
        assert_eq!(parse_backslash("h create table"), Ok(Command::SqlHelp(Some("CREATE TABLE".into()))));
        assert_eq!(parse_backslash("q now"), Err("\\q: extra argument \"now\"".to_owned()));
        assert!(parse_backslash("nonsense").is_err());
    }
}
