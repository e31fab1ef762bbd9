//! CREATE, DROP, TRUNCATE.

use super::cursor::Cursor;
use super::function::{create_function, function_reference};
use super::instead;
use super::lexer::Token;
use verso_types::sqlstate;

use crate::error::SyntaxError;
use crate::syntax::{
    AlterSequence, CreateSequence, Drop, DropFunction, DropKind, Name, QualifiedName, RoutineKind,
    SequenceOptions, Statement, Truncate,
};

/// CREATE.
pub fn create(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let start = cursor.here().start;
    cursor.expect(&["create"])?;
    let or_replace = cursor.accept(&["or", "replace"]);
    let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
    match word.as_str() {
        "function" | "procedure" => create_function(cursor, or_replace),
        "trigger" => super::trigger::create_trigger(cursor, or_replace),
        "constraint" if cursor.is_at(1, "trigger") => super::trigger::create_trigger(cursor, or_replace),
        "rule" => Err(SyntaxError::unsupported("CREATE RULE").at(start).with_hint(instead::RULES)),
        "event" if cursor.is_at(1, "trigger") => {
            Err(SyntaxError::unsupported("CREATE EVENT TRIGGER").at(start))
        }
        _ if super::view::is_next(cursor) => super::view::create_view(cursor, or_replace),
        "aggregate" => super::aggregate::create_aggregate(cursor, or_replace),
        _ if or_replace => {
            let what = format!("CREATE OR REPLACE {}", word.to_uppercase());
            Err(SyntaxError::unsupported(what).at(start))
        }
        "table" => super::table::create_table(cursor, Persistence::Logged),
        "index" => super::table::create_index(cursor),
        "unique" if cursor.is(&["unique", "index"]) => super::table::create_index(cursor),
        "sequence" => create_sequence(cursor, Persistence::Logged),
        "temp" | "temporary" | "local" | "global" if accept_temporary(cursor) => {
            match cursor.word().as_deref() {
                Some("table") => super::table::create_table(cursor, Persistence::Temporary),
                Some("sequence") => create_sequence(cursor, Persistence::Temporary),
                _ => Err(cursor.unexpected()),
            }
        }
        "unlogged" => {
            cursor.advance();
            match cursor.word().as_deref() {
                Some("table") => super::table::create_table(cursor, Persistence::Unlogged),
                Some("sequence") => create_sequence(cursor, Persistence::Unlogged),
                Some("materialized") => {
                    let text = "materialized views cannot be unlogged";
                    Err(SyntaxError::new("0A000", text).at(start))
                }
                Some("view") => {
                    let text = "views cannot be unlogged because they do not have storage";
                    Err(SyntaxError::syntax(text).at(start))
                }
                _ => Err(cursor.unexpected()),
            }
        }
        "materialized" => super::view::create_materialized(cursor),
        "schema" => super::schema::create_schema(cursor),
        "database" => super::database::create_database(cursor),
        "policy" => super::rights::policy(cursor, false),
        "type" => super::user_type::create_type(cursor),
        "domain" => super::domain::create_domain(cursor),
        "collation" => super::collation::create_collation(cursor),
        "extension" => super::extension::create_extension(cursor),
        "statistics" => super::statistics::create_statistics(cursor),
        "operator" => super::operator_definition::create_operator(cursor),
        "cast" => super::operator_definition::create_cast(cursor),
        "conversion" | "event" | "foreign" | "global" | "group" | "language" | "local" | "publication"
        | "recursive" | "role" | "server" | "subscription" | "tablespace" | "temp" | "temporary" | "text"
        | "unique" | "user" | "view" | "constraint" | "access" | "transform" | "assertion" => {
            Err(instead::kind(cursor, "CREATE", &word, start))
        }
        _ => Err(cursor.unexpected()),
    }
}

/// The kind of an object that comes next, whose first word is known, as messages have it.
pub(super) fn kind_in_words(cursor: &Cursor<'_>, word: &str) -> String {
    const KINDS: [&[&str]; 11] = [
        &["text", "search", "configuration"],
        &["text", "search", "dictionary"],
        &["text", "search", "parser"],
        &["text", "search", "template"],
        &["foreign", "data", "wrapper"],
        &["foreign", "server"],
        &["foreign", "table"],
        &["user", "mapping"],
        &["access", "method"],
        &["event", "trigger"],
        &["large", "object"],
    ];
    let found = KINDS.into_iter().find(|words| cursor.is(words));
    found.map_or_else(|| word.to_uppercase(), |words| words.join(" ").to_uppercase())
}

/// What stands between CREATE and TABLE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Persistence {
    Logged,
    Unlogged,
    Temporary,
}

/// `[LOCAL | GLOBAL] TEMPORARY`, if it comes next.
pub(super) fn accept_temporary(cursor: &mut Cursor<'_>) -> bool {
    let forms: [&[&str]; 6] = [
        &["temp"],
        &["temporary"],
        &["local", "temp"],
        &["local", "temporary"],
        &["global", "temp"],
        &["global", "temporary"],
    ];
    forms.iter().any(|words| cursor.accept(words))
}

pub(super) fn if_not_exists(cursor: &mut Cursor<'_>) -> Result<bool, SyntaxError> {
    if !cursor.accept(&["if"]) {
        return Ok(false);
    }
    cursor.expect(&["not", "exists"])?;
    Ok(true)
}

// ── sequences ────────────────────────────────────────────────────────────────────────────────────────────────────

fn create_sequence(cursor: &mut Cursor<'_>, persistence: Persistence) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_not_exists = if_not_exists(cursor)?;
    let temporary = persistence == Persistence::Temporary;
    let unlogged = persistence == Persistence::Unlogged;
    let named = empty_sequence(cursor.qualified()?);
    let mut sequence = CreateSequence { if_not_exists, temporary, unlogged, ..named };
    sequence_options(cursor, &mut sequence)?;
    Ok(Statement::CreateSequence(sequence))
}

/// A sequence without any option.
pub(super) fn empty_sequence(name: QualifiedName) -> CreateSequence {
    let options = SequenceOptions::default();
    CreateSequence { name, if_not_exists: false, temporary: false, unlogged: false, options }
}

/// The options of a new sequence, in any order.
pub(super) fn sequence_options(
    cursor: &mut Cursor<'_>,
    sequence: &mut CreateSequence,
) -> Result<(), SyntaxError> {
    options_of_sequence(cursor, &mut sequence.options, Some(&mut sequence.name))
}

/// ALTER SEQUENCE name, but for RENAME, SET SCHEMA: its options.
pub(super) fn alter_sequence(
    cursor: &mut Cursor<'_>,
    name: QualifiedName,
    if_exists: bool,
) -> Result<Statement, SyntaxError> {
    let mut options = SequenceOptions::default();
    if cursor.is(&["owner"]) {
        return Err(cursor.unsupported("ALTER SEQUENCE … OWNER TO"));
    }
    for (word, logged) in [("logged", true), ("unlogged", false)] {
        if cursor.accept(&["set", word]) {
            let logged = Some(logged);
            return Ok(Statement::AlterSequence(AlterSequence { name, if_exists, options, logged }));
        }
    }
    if cursor.at_end() {
        return Err(cursor.unexpected());
    }
    options_of_sequence(cursor, &mut options, None)?;
    Ok(Statement::AlterSequence(AlterSequence { name, if_exists, options, logged: None }))
}

/// Options of a sequence in any order: of a new one, whose name may be among them, or of one that is there.
fn options_of_sequence(
    cursor: &mut Cursor<'_>,
    options: &mut SequenceOptions,
    mut name: Option<&mut QualifiedName>,
) -> Result<(), SyntaxError> {
    let mut seen: Vec<&str> = Vec::new();
    while cursor.word().is_some() {
        option_of_sequence(cursor, options, &mut name, &mut seen)?;
    }
    Ok(())
}

/// One option of a sequence; `seen` are those before it.
pub(super) fn option_of_sequence(
    cursor: &mut Cursor<'_>,
    options: &mut SequenceOptions,
    name: &mut Option<&mut QualifiedName>,
    seen: &mut Vec<&'static str>,
) -> Result<(), SyntaxError> {
    let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
    let at = cursor.here().start;
    let (option, no) = match (word.as_str(), cursor.word_at(1).as_deref()) {
        ("no", Some(option @ ("minvalue" | "maxvalue" | "cycle"))) => (option.to_string(), true),
        _ => (word.clone(), false),
    };
    let option = match option.as_str() {
        "as" => "as",
        "start" => "start",
        "increment" => "increment",
        "minvalue" => "minvalue",
        "maxvalue" => "maxvalue",
        "cycle" => "cycle",
        "cache" => "cache",
        "owned" if cursor.word_at(1).as_deref() == Some("by") => "owned by",
        "sequence" if name.as_ref().is_some_and(|name| name.name.text.is_empty()) => "sequence name",
        "restart" if name.is_none() => "restart",
        _ => return Err(cursor.unexpected()),
    };
    if seen.contains(&option) {
        return Err(SyntaxError::syntax("conflicting or redundant options").at(at));
    }
    seen.push(option);
    cursor.advance();
    if no {
        cursor.advance();
        match option {
            "minvalue" => options.min = Some(None),
            "maxvalue" => options.max = Some(None),
            _ => options.cycle = Some(false),
        }
        return Ok(());
    }
    match option {
        "as" => {
            let ty = cursor.data_type()?;
            if !ty.is_integer() {
                let text = "sequence type must be smallint, integer, or bigint";
                return Err(SyntaxError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
            }
            options.ty = Some(ty);
        }
        "start" => {
            cursor.accept(&["with"]);
            options.start = Some(cursor.integer()?);
        }
        "increment" => {
            cursor.accept(&["by"]);
            options.increment = Some(cursor.integer()?);
        }
        "minvalue" => options.min = Some(Some(cursor.integer()?)),
        "maxvalue" => options.max = Some(Some(cursor.integer()?)),
        "cycle" => options.cycle = Some(true),
        "restart" => {
            let with = cursor.accept(&["with"]);
            let number = with || matches!(cursor.peek(), Token::Minus | Token::Plus | Token::Number(..));
            options.restart = Some(if number { Some(cursor.integer()?) } else { None });
        }
        "owned by" => {
            cursor.expect(&["by"])?;
            options.owned_by = Some(owning_column(cursor)?);
        }
        // Of an identity column: dumps name its sequence.
        "sequence name" => {
            cursor.expect(&["name"])?;
            let given = cursor.qualified()?;
            if let Some(name) = name {
                **name = given;
            }
        }
        _ => {
            let cache = cursor.integer()?;
            if cache < 1 {
                let text = format!("CACHE ({cache}) must be greater than zero");
                return Err(SyntaxError::new(sqlstate::INVALID_PARAMETER_VALUE, text));
            }
            options.cache = Some(cache);
        }
    }
    Ok(())
}

/// `table.column` or `NONE`, behind OWNED BY.
pub(super) fn owning_column(cursor: &mut Cursor<'_>) -> Result<Option<(QualifiedName, Name)>, SyntaxError> {
    if cursor.is(&["none"]) && !matches!(cursor.peek_at(1), Token::Period) {
        cursor.advance();
        return Ok(None);
    }
    let at = cursor.here().start;
    let mut names = vec![cursor.name()?];
    while cursor.accept_token(&Token::Period) {
        names.push(cursor.label()?);
    }
    let column = names.pop();
    cursor.without_database(&mut names, 2, true)?;
    match (names.pop(), names.pop(), column) {
        (Some(name), schema, Some(column)) => Ok(Some((QualifiedName { schema, name }, column))),
        _ => {
            let error = SyntaxError::syntax("invalid OWNED BY option").at(at);
            Err(error.with_hint("Specify OWNED BY table.column or OWNED BY NONE."))
        }
    }
}

// ── drop, truncate ───────────────────────────────────────────────────────────────────────────────────────────────

/// DROP.
pub fn drop(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let start = cursor.here().start;
    cursor.expect(&["drop"])?;
    if let Some(statement) = super::absent::drop_absent(cursor)? {
        return Ok(statement);
    }
    let word = cursor.word().ok_or_else(|| cursor.unexpected())?;
    let kind = match word.as_str() {
        "table" => Some(DropKind::Table),
        "sequence" => Some(DropKind::Sequence),
        "index" => Some(DropKind::Index),
        "view" => Some(DropKind::View),
        "materialized" if cursor.is(&["materialized", "view"]) => {
            cursor.advance();
            Some(DropKind::MaterializedView)
        }
        "function" | "procedure" | "routine" | "aggregate" => None,
        "trigger" => {
            cursor.advance();
            let if_exists = cursor.accept(&["if", "exists"]);
            return super::trigger::drop_trigger(cursor, if_exists);
        }
        "schema" => return super::schema::drop_schema(cursor),
        "database" => return super::database::drop_database(cursor),
        "type" | "domain" => return super::user_type::drop_type(cursor, word == "domain"),
        "collation" => return super::collation::drop_collation(cursor),
        "policy" => return super::rights::drop_policy(cursor),
        "owned" => return super::rights::drop_owned(cursor),
        "extension" => return super::extension::drop_extension(cursor),
        "statistics" => return super::statistics::drop_statistics(cursor),
        "operator" => return super::operator_definition::drop_operator(cursor),
        "cast" => return super::operator_definition::drop_cast(cursor),
        "role" | "user" | "materialized" | "text" | "foreign" | "event" | "access" => {
            return Err(instead::kind(cursor, "DROP", &word, start));
        }
        _ => return Err(cursor.unexpected()),
    };
    let routine = RoutineKind::of(&word);
    cursor.advance();
    let concurrently = kind == Some(DropKind::Index) && cursor.accept(&["concurrently"]);
    let if_exists = cursor.accept(&["if", "exists"]);
    match kind {
        Some(kind) => {
            let names = cursor.list(Cursor::qualified)?;
            let cascade = cascade(cursor);
            let refused = match concurrently {
                true if names.len() > 1 => Some("dropping multiple objects"),
                true if cascade => Some("CASCADE"),
                _ => None,
            };
            if let Some(what) = refused {
                let text = format!("DROP INDEX CONCURRENTLY does not support {what}");
                return Err(SyntaxError::new("0A000", text).at(start));
            }
            Ok(Statement::Drop(Drop { kind, names, if_exists, cascade, concurrently }))
        }
        None => {
            let functions = match routine {
                RoutineKind::Aggregate => cursor.list(super::aggregate::aggregate_reference)?,
                _ => cursor.list(function_reference)?,
            };
            let cascade = cascade(cursor);
            Ok(Statement::DropFunction(DropFunction { kind: routine, functions, if_exists, cascade }))
        }
    }
}

/// CASCADE or RESTRICT.
pub(super) fn cascade(cursor: &mut Cursor<'_>) -> bool {
    let cascade = cursor.accept(&["cascade"]);
    if !cascade {
        cursor.accept(&["restrict"]);
    }
    cascade
}

/// Tables, each perhaps with ONLY or `*`.
pub(super) fn table_list(cursor: &mut Cursor<'_>) -> Result<Vec<(QualifiedName, bool)>, SyntaxError> {
    cursor.list(|cursor| {
        let only = cursor.accept(&["only"]);
        let enclosed = only && cursor.accept_token(&Token::LParen);
        let table = cursor.qualified()?;
        if enclosed {
            cursor.expect_token(&Token::RParen)?;
        } else if !only {
            cursor.accept_token(&Token::Mul);
        }
        Ok((table, only))
    })
}

/// TRUNCATE.
pub fn truncate(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["truncate"])?;
    cursor.accept(&["table"]);
    let tables = table_list(cursor)?;
    let restart_identity = cursor.accept(&["restart", "identity"]);
    if !restart_identity {
        cursor.accept(&["continue", "identity"]);
    }
    Ok(Statement::Truncate(Truncate { tables, restart_identity, cascade: cascade(cursor) }))
}
