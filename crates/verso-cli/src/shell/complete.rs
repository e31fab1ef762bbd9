//! What may stand where a person has pressed TAB: keywords, names out of the catalogs, settings, commands, files,
//! variables. The catalogs are asked at that moment, in the session itself, so that its own new tables are known.

use super::arguments::literal;
use super::command::{COMMANDS, Kind, OPTION_NAMES, Words, find};
use super::format::layout::{Format, LineStyle};
use super::grammar;
use super::peer::Peer;
use super::variables::values_of;

/// More names than these help nobody.
const NAMES_MAX: usize = 1000;

/// What completion knows.
#[derive(Default)]
pub struct Known {
    /// Who is asked for names.
    pub peer: Option<Peer>,
    /// The shell's variables.
    pub variables: Vec<String>,
}

/// One completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// In the list.
    pub shown: String,
    /// In the line.
    pub text: String,
}

/// The completions of the last word of `line`, and where that word begins; `statement` stands before the line.
pub fn candidates(known: &mut Known, statement: &str, line: &str) -> (usize, Vec<Candidate>) {
    let trimmed = line.trim_start();
    if statement.is_empty() && trimmed.starts_with('\\') {
        return of_command(known, line, line.len() - trimmed.len());
    }
    let start = word_start(line, |c| c.is_alphanumeric() || matches!(c, '_' | '.' | '"' | '$' | ':' | '\\'));
    let word = &line[start..];
    if word.starts_with('\\') {
        return (start, commands(word));
    }
    if let Some(name) = word.strip_prefix(':').filter(|name| !name.starts_with(':')) {
        let names = known.variables.iter().filter(|variable| variable.starts_with(name));
        return (start, plain(names.map(|variable| format!(":{variable}"))));
    }
    let before = format!("{statement} {}", &line[..start]);
    (start, in_sql(known, &before, word))
}

fn word_start(line: &str, is_word: impl Fn(char) -> bool) -> usize {
    line.char_indices().rev().take_while(|(_, c)| is_word(*c)).last().map_or(line.len(), |(at, _)| at)
}

/// Completions that are followed by a blank.
fn plain(words: impl Iterator<Item = String>) -> Vec<Candidate> {
    words.map(|word| Candidate { text: format!("{word} "), shown: word }).collect()
}

fn commands(word: &str) -> Vec<Candidate> {
    let name = &word[1..];
    let names = COMMANDS.iter().flat_map(|spec| spec.names).filter(|known| known.starts_with(name));
    let mut names: Vec<String> = names.map(|name| format!("\\{name}")).collect();
    names.sort_unstable();
    plain(names.into_iter())
}

/// Behind a backslash command.
fn of_command(known: &mut Known, line: &str, at: usize) -> (usize, Vec<Candidate>) {
    let Some(end) = line[at..].find(char::is_whitespace).map(|end| at + end) else {
        return (at, commands(&line[at..]));
    };
    let start = word_start(line, |c| !c.is_whitespace()).max(end);
    let word = &line[start..];
    let Some((spec, _)) = find(&line[at + 1..end]) else { return (start, Vec::new()) };
    let earlier: Vec<&str> = line[end..start].split_whitespace().collect();
    let of = |words: &[&str]| {
        let fitting = words.iter().filter(|known| known.starts_with(word));
        plain(fitting.map(|known| (*known).to_owned()))
    };
    let found = match spec.words {
        Words::Any => Vec::new(),
        Words::File => files(word),
        Words::OneOf(words) => of(words),
        Words::Option => match earlier.as_slice() {
            [] => of(OPTION_NAMES),
            ["format"] => of(&Format::ALL.map(|(name, _)| name)),
            ["linestyle"] => of(&LineStyle::ALL.map(|(name, _)| name)),
            ["unicode_border_linestyle" | "unicode_column_linestyle" | "unicode_header_linestyle"] => {
                of(&["single", "double"])
            }
            ["expanded" | "x"] => of(&["on", "off", "auto"]),
            ["pager"] => of(&["on", "off", "always"]),
            [_] => of(&["on", "off"]),
            _ => Vec::new(),
        },
        Words::Variable if spec.names[0] == "set" && !earlier.is_empty() => match earlier.as_slice() {
            [name] => of(values_of(name)),
            _ => Vec::new(),
        },
        Words::Variable => {
            let fitting = known.variables.iter().filter(|name| name.starts_with(word));
            plain(fitting.cloned())
        }
        Words::Names(kind) => names(known, &query_of(kind), word),
        Words::Statement => {
            let all = line[end..].trim_start();
            let begin = line.len() - all.len();
            let typed = all.to_uppercase();
            let fitting = grammar::names().filter(|name| name.starts_with(&typed));
            return (begin, plain(fitting.map(str::to_owned)));
        }
        Words::Sql => in_sql(known, &line[end..start], word),
    };
    (start, found)
}

fn files(word: &str) -> Vec<Candidate> {
    let open = word.trim_start_matches('\'');
    let (folder, name) = match open.rfind('/') {
        Some(at) => open.split_at(at + 1),
        None => ("", open),
    };
    let Ok(entries) = std::fs::read_dir(if folder.is_empty() { "." } else { folder }) else {
        return Vec::new();
    };
    let mut found: Vec<Candidate> = entries
        .flatten()
        .filter_map(|entry| Some((entry.file_name().into_string().ok()?, entry.path().is_dir())))
        .filter(|(file, _)| file.starts_with(name) && (name.starts_with('.') || !file.starts_with('.')))
        .map(|(file, is_folder)| {
            let end = if is_folder { "/" } else { " " };
            Candidate { text: format!("{folder}{file}{end}"), shown: file }
        })
        .collect();
    found.sort_by(|a, b| a.shown.cmp(&b.shown));
    found
}

const RELATIONS: &str = "SELECT CASE WHEN pg_catalog.pg_table_is_visible(c.oid) THEN pg_catalog.quote_ident(c.relname) \
    ELSE pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) END \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind IN ('r','v','m','S','f','p')";

/// The query of all names of a kind, in its only column.
fn query_of(kind: Kind) -> String {
    match kind {
        Kind::Relations => RELATIONS.to_owned(),
        Kind::Views => RELATIONS.replace("('r','v','m','S','f','p')", "('v','m')"),
        Kind::Indexes => RELATIONS.replace("('r','v','m','S','f','p')", "('i','I')"),
        Kind::Sequences => RELATIONS.replace("('r','v','m','S','f','p')", "('S')"),
        Kind::Functions => "SELECT pg_catalog.quote_ident(proname) FROM pg_catalog.pg_proc".to_owned(),
        Kind::Schemas => "SELECT pg_catalog.quote_ident(nspname) FROM pg_catalog.pg_namespace".to_owned(),
        Kind::Types => {
            "SELECT pg_catalog.format_type(oid, NULL) FROM pg_catalog.pg_type WHERE typelem = 0".to_owned()
        }
        Kind::Roles => "SELECT pg_catalog.quote_ident(rolname) FROM pg_catalog.pg_roles".to_owned(),
        Kind::Databases => "SELECT pg_catalog.quote_ident(datname) FROM pg_catalog.pg_database".to_owned(),
    }
}

/// The names that a query yields and that begin like a word; those of the system only where its first letters say so.
fn names(known: &mut Known, query: &str, word: &str) -> Vec<Candidate> {
    plain(asked(known, query, word).into_iter())
}

fn asked(known: &mut Known, query: &str, word: &str) -> Vec<String> {
    let Some(peer) = known.peer.as_mut().filter(|peer| !peer.transaction().1) else { return Vec::new() };
    let escaped = word.to_lowercase().replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
    let hidden = match word.starts_with("pg_") || word.contains('.') {
        true => "",
        false => {
            " AND name NOT LIKE 'pg\\_%' AND name NOT LIKE '%pg\\_catalog.%' AND name NOT LIKE 'information\\_schema.%'"
        }
    };
    let sql = format!(
        "SELECT DISTINCT name FROM ({query}) AS s(name) WHERE pg_catalog.lower(name) LIKE {}{hidden} ORDER BY 1 LIMIT {NAMES_MAX}",
        literal(&format!("{escaped}%"))
    );
    let rows = peer.ask(&sql).map(|table| table.rows).unwrap_or_default();
    rows.into_iter().flatten().flatten().collect()
}

/// Words behind which a relation is named.
const BEFORE_RELATIONS: [&str; 13] = [
    "FROM",
    "JOIN",
    "INTO",
    "UPDATE",
    "TABLE",
    "VIEW",
    "REFERENCES",
    "TRUNCATE",
    "ANALYZE",
    "VACUUM",
    "SWEEP",
    "COPY",
    "ONLY",
];

fn in_sql(known: &mut Known, before: &str, word: &str) -> Vec<Candidate> {
    let words: Vec<String> = before
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '.' || c == '"'))
        .filter(|word| !word.is_empty())
        .map(str::to_uppercase)
        .collect();
    let last = words.last().map(String::as_str).unwrap_or_default();
    let at_end = before.trim_end();
    if words.is_empty() {
        return keywords_of(grammar::first_words(), word);
    }
    if let Some(next) = words_of_names(&words) {
        return keywords_of(next.into_iter(), word);
    }
    if matches!(last, "SET" | "SHOW" | "RESET") && words.first().is_none_or(|first| first != "UPDATE") {
        let settings = "SELECT name FROM pg_catalog.pg_settings";
        let mut found = names(known, settings, word);
        let others = ["SESSION", "LOCAL", "ROLE", "TRANSACTION", "TIME", "ALL"];
        found.extend(keywords_of(others.into_iter(), word));
        return found;
    }
    if let Some(query) = values_behind(&words, at_end) {
        return names(known, &query, word);
    }
    if let Some(kind) = kind_behind(&words) {
        return names(known, &query_of(kind), word);
    }
    if BEFORE_RELATIONS.contains(&last) && !at_end.ends_with(['(', ')']) {
        let mut found = names(known, RELATIONS, word);
        let schemas = asked(known, &query_of(Kind::Schemas), word);
        let dotted = |schema: String| Candidate { text: format!("{schema}."), shown: format!("{schema}.") };
        found.extend(schemas.into_iter().map(dotted));
        return found;
    }
    if word.contains('.') {
        let mut found = names(known, RELATIONS, word);
        found.extend(names(known, &columns_of(&words, true), word));
        return found;
    }
    // Before the first letter all columns would fit, and every keyword.
    let mut found = names(known, &columns_of(&words, false), word);
    if !word.is_empty() {
        let more = asked(known, &query_of(Kind::Functions), word);
        let call = |name: String| Candidate { text: format!("{name}("), shown: format!("{name}(") };
        found.extend(more.into_iter().map(call));
        let all = asked(known, "SELECT word FROM pg_catalog.pg_get_keywords()", word);
        found.extend(keywords_of(all.iter().map(String::as_str), word));
        found.dedup_by(|a, b| a.shown == b.shown);
    }
    found
}

/// The words that go on with the name of a statement of the schema: behind CREATE, DROP MATERIALIZED and their like.
fn words_of_names(words: &[String]) -> Option<Vec<&'static str>> {
    let first = words.first().filter(|word| ["CREATE", "ALTER", "DROP"].contains(&word.as_str()))?;
    let mut all: Vec<&'static str> = Vec::new();
    for name in grammar::names().filter(|name| name.starts_with(first.as_str())) {
        let mut parts = name.split(' ');
        let begins = words.iter().all(|word| parts.next() == Some(word.as_str()));
        match parts.next() {
            // Behind a whole name comes what it is about.
            None if begins => return None,
            Some(next) if begins && !all.contains(&next) => all.push(next),
            _ => {}
        }
    }
    if words.len() == 1 {
        let before: &[&'static str] = match first.as_str() {
            "CREATE" => &["OR REPLACE", "TEMPORARY", "UNIQUE", "UNLOGGED"],
            _ => &[],
        };
        all.extend(before);
    }
    (!all.is_empty()).then_some(all)
}

/// The query of the values of a setting, behind `SET name =`.
fn values_behind(words: &[String], before: &str) -> Option<String> {
    let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| *word != "LOCAL").collect();
    let name = match words.as_slice() {
        ["SET", name, "TO"] => name,
        ["SET", name] if before.ends_with('=') => name,
        ["ALTER", "SYSTEM", "SET", name, "TO"] => name,
        ["ALTER", "SYSTEM", "SET", name] if before.ends_with('=') => name,
        _ => return None,
    };
    let name = literal(&name.to_lowercase());
    Some(format!(
        "SELECT pg_catalog.unnest(CASE vartype WHEN 'bool' THEN ARRAY['on', 'off'] ELSE enumvals END || ARRAY['DEFAULT']) \
         FROM pg_catalog.pg_settings WHERE pg_catalog.lower(name) = {name}"
    ))
}

/// What is named behind the last word of a statement that is about something else than the rows of tables.
fn kind_behind(words: &[String]) -> Option<Kind> {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let first = *words.first()?;
    let makes = first == "CREATE";
    Some(match words.as_slice() {
        [.., "OWNER", "TO"] | ["SET", "ROLE"] | ["GRANT" | "REVOKE", .., "TO" | "GRANTED" | "BY"] => {
            Kind::Roles
        }
        ["REVOKE", .., "FROM"] => Kind::Roles,
        [.., "ROLE" | "USER" | "GROUP"] if !makes => Kind::Roles,
        [.., "DATABASE"] if !makes => Kind::Databases,
        [.., "SCHEMA"] if !makes || words.len() > 2 => Kind::Schemas,
        [.., "FUNCTION" | "PROCEDURE" | "ROUTINE"] if !makes || words.len() > 2 => Kind::Functions,
        ["CALL"] => Kind::Functions,
        [.., "TYPE" | "DOMAIN"] if !makes => Kind::Types,
        [.., "INDEX"] if !makes => Kind::Indexes,
        [.., "SEQUENCE"] if !makes => Kind::Sequences,
        [.., "ON"] if makes || ["GRANT", "REVOKE", "DROP", "ALTER"].contains(&first) => Kind::Relations,
        _ => return None,
    })
}

/// Keywords in the case in which the word was begun.
fn keywords_of<'k>(keywords: impl Iterator<Item = &'k str>, word: &str) -> Vec<Candidate> {
    let is_lower = word.chars().any(char::is_lowercase);
    let typed = word.to_uppercase();
    let fitting = keywords.map(str::to_uppercase).filter(|keyword| keyword.starts_with(&typed));
    let cased = fitting.map(|keyword| if is_lower { keyword.to_lowercase() } else { keyword });
    plain(cased)
}

/// The query of the columns of all relations that a statement names, with `table.` before them if they are to be.
fn columns_of(words: &[String], qualified: bool) -> String {
    let mut tables: Vec<String> = Vec::new();
    for pair in words.windows(2) {
        if BEFORE_RELATIONS.contains(&pair[0].as_str()) {
            let name = pair[1].rsplit('.').next().unwrap_or_default().trim_matches('"');
            tables.push(literal(&name.to_lowercase()));
        }
    }
    if tables.is_empty() {
        tables.push("NULL".to_owned());
    }
    let before = if qualified { "pg_catalog.quote_ident(c.relname) || '.' || " } else { "" };
    format!(
        "SELECT {before}pg_catalog.quote_ident(a.attname) FROM pg_catalog.pg_attribute a \
         JOIN pg_catalog.pg_class c ON c.oid = a.attrelid \
         WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relname IN ({})",
        tables.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(statement: &str, line: &str) -> (usize, Vec<String>) {
        let mut known = Known { peer: None, variables: vec!["own".to_owned()] };
        let (start, found) = candidates(&mut known, statement, line);
        (start, found.into_iter().map(|candidate| candidate.text).collect())
    }

    #[test]
    fn commands_options_and_variables_are_completed() {
        assert_eq!(shown("", "\\tim"), (0, vec!["\\timing ".to_owned()]));
        assert_eq!(shown("", "\\pset form"), (6, vec!["format ".to_owned()]));
        assert_eq!(shown("", "\\pset format mark"), (13, vec!["markdown ".to_owned()]));
        assert_eq!(shown("", "\\x a"), (3, vec!["auto ".to_owned()]));
        assert_eq!(shown("select 1", " \\gd"), (1, vec!["\\gdesc ".to_owned()]));
        assert_eq!(shown("", "select :ow"), (7, vec![":own ".to_owned()]));
        assert_eq!(
            shown("", "\\h create ta"),
            (3, vec!["CREATE TABLE ".to_owned(), "CREATE TABLE AS ".to_owned()])
        );
    }

    #[test]
    fn what_a_statement_is_about_is_completed_by_its_kind() {
        let kind = |text: &str| kind_behind(&text.split(' ').map(str::to_uppercase).collect::<Vec<_>>());
        assert_eq!(kind("alter table t owner to"), Some(Kind::Roles));
        assert_eq!(kind("drop index"), Some(Kind::Indexes));
        assert_eq!(kind("create index"), None);
        assert_eq!(kind("create index i on"), Some(Kind::Relations));
        assert_eq!(kind("grant select on"), Some(Kind::Relations));
        assert_eq!(kind("select a from t join u on"), None);
        assert_eq!(kind("revoke all on t from"), Some(Kind::Roles));
        let words = |text: &str| text.split(' ').map(str::to_uppercase).collect::<Vec<_>>();
        assert!(values_behind(&words("set local jit"), "set local jit =").is_some());
        assert!(values_behind(&words("alter system set jit to"), "alter system set jit to").is_some());
        assert!(values_behind(&words("set jit"), "set jit").is_none());
    }

    #[test]
    fn variables_are_completed_and_values_of_those_that_switch_something() {
        assert_eq!(shown("", "\\set ow"), (5, vec!["own ".to_owned()]));
        assert_eq!(shown("", "\\set ON_ERROR_STOP o"), (19, vec!["on ".to_owned(), "off ".to_owned()]));
        assert_eq!(shown("", "\\set VERBOSITY t"), (15, vec!["terse ".to_owned()]));
        assert_eq!(shown("", "\\set own o").1, Vec::<String>::new());
        assert_eq!(shown("", "\\unset ow"), (7, vec!["own ".to_owned()]));
    }

    #[test]
    fn names_of_statements_are_completed_word_by_word() {
        let (start, found) = shown("", "create ta");
        assert_eq!((start, found), (7, vec!["table ".to_owned()]));
        let all = shown("", "CREATE ").1;
        assert!(all.contains(&"TABLE ".to_owned()) && all.contains(&"UNIQUE ".to_owned()), "{all:?}");
        assert_eq!(shown("", "drop materialized "), (18, vec!["VIEW ".to_owned()]));
        let words = |text: &str| text.split(' ').map(str::to_uppercase).collect::<Vec<_>>();
        assert_eq!(words_of_names(&words("create table")), None);
        assert_eq!(words_of_names(&words("select")), None);
    }

    #[test]
    fn first_words_keep_their_case() {
        assert_eq!(shown("", "sel"), (0, vec!["select ".to_owned()]));
        assert_eq!(shown("", "SEL"), (0, vec!["SELECT ".to_owned()]));
    }
}
