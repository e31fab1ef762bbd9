//! CREATE, DROP, TRUNCATE.

use super::lexer::Token;
use verso_types::SqlType;

use super::block::{function_body, sql_body};
use super::cursor::Cursor;
use super::string_literal;
use verso_types::sqlstate;

use crate::error::SyntaxError;
use crate::syntax::{
    AlterSequence, ArgMode, CreateFunction, CreateSequence, Drop, DropFunction, DropKind, Name,
    QualifiedName, Returns, SequenceOptions, Statement, Truncate, Volatility,
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
        "rule" => {
            let hint = "Write a trigger: on a view an INSTEAD OF trigger does what such a rule would.";
            Err(SyntaxError::unsupported("CREATE RULE").at(start).with_hint(hint))
        }
        "event" if cursor.is_at(1, "trigger") => {
            Err(SyntaxError::unsupported("CREATE EVENT TRIGGER").at(start))
        }
        _ if super::view::is_next(cursor) => super::view::create_view(cursor, or_replace),
        _ if or_replace => {
            let what = format!("CREATE OR REPLACE {}", word.to_uppercase());
            Err(SyntaxError::unsupported(what).at(start))
        }
        "table" => super::table::create_table(cursor, false),
        "index" => super::table::create_index(cursor),
        "unique" if cursor.is(&["unique", "index"]) => super::table::create_index(cursor),
        "sequence" => create_sequence(cursor, false),
        "temp" | "temporary" | "local" | "global" if accept_temporary(cursor) => {
            match cursor.word().as_deref() {
                Some("table") => super::table::create_table(cursor, true),
                Some("sequence") => create_sequence(cursor, true),
                _ => Err(cursor.unexpected()),
            }
        }
        "materialized" => super::view::create_materialized(cursor),
        "schema" => super::schema::create_schema(cursor),
        "policy" => super::rights::policy(cursor, false),
        "type" => super::user_type::create_type(cursor),
        "domain" => super::domain::create_domain(cursor),
        "aggregate" | "cast" | "collation" | "conversion" | "database" | "event" | "extension"
        | "foreign" | "global" | "group" | "language" | "local" | "operator" | "publication"
        | "recursive" | "role" | "server" | "statistics" | "subscription" | "tablespace" | "temp"
        | "temporary" | "text" | "unique" | "unlogged" | "user" | "view" | "constraint" | "access"
        | "transform" => Err(SyntaxError::unsupported(format!("CREATE {}", word.to_uppercase())).at(start)),
        _ => Err(cursor.unexpected()),
    }
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

fn create_sequence(cursor: &mut Cursor<'_>, temporary: bool) -> Result<Statement, SyntaxError> {
    cursor.advance();
    let if_not_exists = if_not_exists(cursor)?;
    let mut sequence = CreateSequence { if_not_exists, temporary, ..empty_sequence(cursor.qualified()?) };
    sequence_options(cursor, &mut sequence)?;
    Ok(Statement::CreateSequence(sequence))
}

/// A sequence without any option.
pub(super) fn empty_sequence(name: QualifiedName) -> CreateSequence {
    CreateSequence { name, if_not_exists: false, temporary: false, options: SequenceOptions::default() }
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
    if cursor.is(&["set"]) {
        return Err(cursor.unsupported("ALTER SEQUENCE … SET LOGGED"));
    }
    if cursor.at_end() {
        return Err(cursor.unexpected());
    }
    options_of_sequence(cursor, &mut options, None)?;
    Ok(Statement::AlterSequence(AlterSequence { name, if_exists, options }))
}

/// Options of a sequence in any order: of a new one, whose name may be among them, or of one that is there.
fn options_of_sequence(
    cursor: &mut Cursor<'_>,
    options: &mut SequenceOptions,
    mut name: Option<&mut QualifiedName>,
) -> Result<(), SyntaxError> {
    let mut seen: Vec<&str> = Vec::new();
    while let Some(word) = cursor.word() {
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
            continue;
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
                if let Some(name) = &mut name {
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
    match (names.pop(), names.pop(), names.is_empty(), column) {
        (Some(name), schema, true, Some(column)) => Ok(Some((QualifiedName { schema, name }, column))),
        _ => {
            let error = SyntaxError::syntax("invalid OWNED BY option").at(at);
            Err(error.with_hint("Specify OWNED BY table.column or OWNED BY NONE."))
        }
    }
}

// ── functions ────────────────────────────────────────────────────────────────────────────────────────────────────

fn create_function(cursor: &mut Cursor<'_>, or_replace: bool) -> Result<Statement, SyntaxError> {
    let procedure = cursor.is(&["procedure"]);
    cursor.advance();
    let name = cursor.qualified()?;
    cursor.expect_token(&Token::LParen)?;
    let (mut args, mut modes) = (Vec::new(), Vec::new());
    if !cursor.accept_token(&Token::RParen) {
        let all = cursor.list(|cursor| {
            let mode = if procedure { argument_mode(cursor) } else { ArgMode::In };
            Ok((function_argument(cursor)?, mode))
        })?;
        (args, modes) = all.into_iter().unzip();
        cursor.expect_token(&Token::RParen)?;
    }
    let mut returns = procedure.then_some(Returns::Procedure(modes));
    if !procedure && cursor.accept(&["returns"]) {
        returns = Some(function_returns(cursor)?);
    }
    let (mut language, mut body, mut volatility, mut strict) = (None, None, None, None);
    let mut definer: Option<bool> = None;
    while let Some(word) = cursor.word() {
        let at = cursor.here().start;
        let twice = match word.as_str() {
            "as" => {
                cursor.advance();
                let literal = string_literal(cursor)?;
                if matches!(cursor.peek(), Token::Comma) {
                    return Err(cursor.unsupported("a function in an object file"));
                }
                body.replace(literal).is_some()
            }
            "language" => {
                cursor.advance();
                let at = cursor.here();
                let name = match cursor.peek() {
                    Token::String(_) => Name { text: string_literal(cursor)?.0, at },
                    _ => cursor.name()?,
                };
                language.replace(name).is_some()
            }
            "immutable" | "stable" | "volatile" | "strict" | "called" | "returns" | "parallel" | "cost"
            | "rows"
                if procedure =>
            {
                let text = "invalid attribute in procedure definition";
                return Err(SyntaxError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text).at(at));
            }
            "immutable" | "stable" | "volatile" => {
                cursor.advance();
                let level = match word.as_str() {
                    "immutable" => Volatility::Immutable,
                    "stable" => Volatility::Stable,
                    _ => Volatility::Volatile,
                };
                volatility.replace(level).is_some()
            }
            "strict" => {
                cursor.advance();
                strict.replace(true).is_some()
            }
            "called" => {
                cursor.expect(&["called", "on", "null", "input"])?;
                strict.replace(false).is_some()
            }
            "returns" => {
                cursor.expect(&["returns", "null", "on", "null", "input"])?;
                strict.replace(true).is_some()
            }
            "parallel" => {
                cursor.advance();
                let known =
                    cursor.accept(&["safe"]) || cursor.accept(&["unsafe"]) || cursor.accept(&["restricted"]);
                if !known {
                    return Err(cursor.unexpected());
                }
                false
            }
            "cost" | "rows" => {
                // Estimates: there is no planner that would use them, and no answer depends on them.
                cursor.advance();
                cursor.integer()?;
                false
            }
            "security" | "external" if cursor.is_any(&["security", "external"]) => {
                cursor.accept(&["external"]);
                cursor.expect(&["security"])?;
                let is_definer = cursor.accept(&["definer"]);
                if !is_definer {
                    cursor.expect(&["invoker"])?;
                }
                definer.replace(is_definer).is_some()
            }
            "window" | "leakproof" | "support" | "transform" | "set" | "return" | "begin" | "not" => {
                return Err(cursor.unsupported(&format!("CREATE FUNCTION … {}", word.to_uppercase())));
            }
            _ => return Err(cursor.unexpected()),
        };
        if twice {
            return Err(SyntaxError::syntax("conflicting or redundant options").at(at));
        }
    }
    let invalid = |text: &str| SyntaxError::new(sqlstate::INVALID_FUNCTION_DEFINITION, text);
    let (text, at, start) = body.ok_or_else(|| invalid("no function body specified"))?;
    let language = language.ok_or_else(|| invalid("no language specified"))?;
    let returns = returns.ok_or_else(|| invalid("function result type must be specified"))?;
    let is_sql = language.text == "sql";
    if language.text != "plpgsql" && !is_sql {
        return Err(match language.text.as_str() {
            "c" | "internal" => SyntaxError::unsupported(format!("LANGUAGE {}", language.text)),
            other => {
                SyntaxError::new(sqlstate::UNDEFINED_OBJECT, format!("language \"{other}\" does not exist"))
            }
        }
        .at(language.at.start));
    }
    Ok(Statement::CreateFunction(CreateFunction {
        name,
        or_replace,
        args,
        returns,
        language,
        body: if is_sql { sql_body(text, at, start)? } else { function_body(text, at, start)? },
        volatility: volatility.unwrap_or(Volatility::Volatile),
        strict: strict.unwrap_or(false),
        security_definer: definer.unwrap_or(false),
    }))
}

/// `IN | OUT | INOUT | IN OUT`, before a procedure's argument.
fn argument_mode(cursor: &mut Cursor<'_>) -> ArgMode {
    let alone = |cursor: &Cursor<'_>| matches!(cursor.peek_at(1), Token::Comma | Token::RParen);
    if cursor.accept(&["in", "out"]) || cursor.is(&["inout"]) && !alone(cursor) && cursor.accept(&["inout"]) {
        ArgMode::InOut
    } else if cursor.is(&["out"]) && !alone(cursor) {
        cursor.advance();
        ArgMode::Out
    } else {
        ArgMode::In
    }
}

fn function_argument(cursor: &mut Cursor<'_>) -> Result<(Option<Name>, SqlType), SyntaxError> {
    for mode in ["out", "inout", "variadic"] {
        if cursor.is(&[mode]) && !matches!(cursor.peek_at(1), Token::Comma | Token::RParen) {
            return Err(cursor.unsupported(&format!("{} arguments", mode.to_uppercase())));
        }
    }
    if cursor.is(&["in"]) {
        cursor.advance();
    }
    // A name stands before a type, unless the two words are one type.
    let two_words = cursor.is(&["double", "precision"]) || cursor.is(&["character", "varying"]);
    let named = matches!(cursor.peek_at(1), Token::Word(_) | Token::Quoted(_))
        && !two_words
        && !cursor.word_at(1).is_some_and(|word| matches!(word.as_str(), "default" | "with" | "without"));
    let name = if named { Some(cursor.name()?) } else { None };
    let ty = cursor.data_type()?;
    if cursor.is(&["default"]) || matches!(cursor.peek(), Token::Eq) {
        return Err(cursor.unsupported("a default for an argument"));
    }
    Ok((name, ty))
}

fn function_returns(cursor: &mut Cursor<'_>) -> Result<Returns, SyntaxError> {
    if cursor.accept(&["setof"]) {
        return Ok(Returns::Set(result_type(cursor)?));
    }
    if cursor.accept(&["table"]) {
        cursor.expect_token(&Token::LParen)?;
        let columns = cursor.list(|cursor| Ok((cursor.name()?, cursor.data_type()?)))?;
        cursor.expect_token(&Token::RParen)?;
        return Ok(Returns::Table(columns));
    }
    if cursor.accept(&["trigger"]) {
        return Ok(Returns::Trigger);
    }
    Ok(Returns::Type(result_type(cursor)?))
}

fn result_type(cursor: &mut Cursor<'_>) -> Result<SqlType, SyntaxError> {
    for what in ["void", "record"] {
        if cursor.is(&[what]) {
            if what != "void" {
                return Err(cursor.unsupported(&format!("RETURNS {}", what.to_uppercase())));
            }
            cursor.advance();
            return Ok(SqlType::Void);
        }
    }
    cursor.data_type()
}

// ── drop, truncate ───────────────────────────────────────────────────────────────────────────────────────────────

/// DROP.
pub fn drop(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let start = cursor.here().start;
    cursor.expect(&["drop"])?;
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
        "function" | "procedure" => None,
        "trigger" => {
            cursor.advance();
            let if_exists = cursor.accept(&["if", "exists"]);
            return super::trigger::drop_trigger(cursor, if_exists);
        }
        "schema" => return super::schema::drop_schema(cursor),
        "type" | "domain" => return super::user_type::drop_type(cursor, word == "domain"),
        "policy" => return super::rights::drop_policy(cursor),
        "owned" => return super::rights::drop_owned(cursor),
        "database" | "role" | "user" | "extension" | "aggregate" | "materialized" | "rule" | "operator"
        | "cast" | "collation" | "routine" | "tablespace" | "publication" | "subscription" => {
            return Err(SyntaxError::unsupported(format!("DROP {}", word.to_uppercase())).at(start));
        }
        _ => return Err(cursor.unexpected()),
    };
    let procedure = word == "procedure";
    cursor.advance();
    if kind == Some(DropKind::Index) && cursor.is(&["concurrently"]) {
        return Err(cursor.unsupported("DROP INDEX CONCURRENTLY"));
    }
    let if_exists = cursor.accept(&["if", "exists"]);
    match kind {
        Some(kind) => {
            let names = cursor.list(Cursor::qualified)?;
            Ok(Statement::Drop(Drop { kind, names, if_exists, cascade: cascade(cursor) }))
        }
        None => {
            let functions = cursor.list(function_reference)?;
            let cascade = cascade(cursor);
            Ok(Statement::DropFunction(DropFunction { procedure, functions, if_exists, cascade }))
        }
    }
}

pub(super) fn function_reference(
    cursor: &mut Cursor<'_>,
) -> Result<(QualifiedName, Option<Vec<SqlType>>), SyntaxError> {
    let name = cursor.qualified()?;
    if !cursor.accept_token(&Token::LParen) {
        return Ok((name, None));
    }
    if cursor.accept_token(&Token::RParen) {
        return Ok((name, Some(Vec::new())));
    }
    let types = cursor.list(|cursor| Ok(function_argument(cursor)?.1))?;
    cursor.expect_token(&Token::RParen)?;
    Ok((name, Some(types)))
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
pub(super) fn table_list(cursor: &mut Cursor<'_>) -> Result<Vec<QualifiedName>, SyntaxError> {
    cursor.list(|cursor| {
        cursor.accept(&["only"]);
        let table = cursor.qualified()?;
        cursor.accept_token(&Token::Mul);
        Ok(table)
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
