//! Transactions, settings, maintenance: the statements that are not about tables, and Verso's own.

use sqlparser::tokenizer::Token;

use super::cursor::Cursor;
use super::{parse_body, string_literal};
use crate::errors::SqlError;
use crate::syntax::{FunctionBody, IsolationLevel, Name, Statement, TransactionModes};

/// First words of statements that PostgreSQL or the experiments have and Verso has not, yet.
const KNOWN: &[&str] = &[
    "call", "cluster", "comment", "copy", "grant", "import", "listen", "load", "merge", "notify", "prepare",
    "reassign", "refresh", "revoke", "security", "unlisten", "unload", "prewarm", "backup", "connect",
];

/// Parses a statement that begins with `word`.
pub fn statement(cursor: &mut Cursor<'_>, word: &str) -> Result<Statement, SqlError> {
    match word {
        "begin" => begin(cursor, &["begin"]),
        "start" => begin(cursor, &["start", "transaction"]),
        "commit" | "end" => commit(cursor),
        "rollback" | "abort" => rollback(cursor, word),
        "savepoint" => {
            cursor.advance();
            Ok(Statement::Savepoint(cursor.name()?))
        }
        "release" => release(cursor),
        "set" => set(cursor),
        "show" => show(cursor),
        "reset" => {
            cursor.advance();
            if cursor.accept(&["all"]) {
                return Ok(Statement::ResetAll);
            }
            Ok(Statement::Reset(setting_name(cursor)?))
        }
        "sweep" | "vacuum" => sweep(cursor),
        "checkpoint" => {
            cursor.advance();
            Ok(Statement::Checkpoint)
        }
        "prepare" if cursor.is(&["prepare", "transaction"]) => {
            cursor.expect(&["prepare", "transaction"])?;
            Ok(Statement::PrepareTransaction(string_literal(cursor)?.0))
        }
        "explain" => explain(cursor),
        "do" => do_block(cursor),
        "alter" if cursor.is(&["alter", "database"]) => alter_database(cursor),
        "alter" => super::table::alter(cursor),
        "lock" => super::table::lock_table(cursor),
        "reindex" => super::table::reindex(cursor),
        "analyze" | "analyse" => super::table::analyze(cursor),
        _ if KNOWN.contains(&word) => {
            let second = cursor.word_at(1).filter(|_| word == "refresh");
            let what = match second {
                Some(second) => format!("{} {}", word.to_uppercase(), second.to_uppercase()),
                None => word.to_uppercase(),
            };
            Err(cursor.unsupported(&what))
        }
        _ => Err(cursor.unexpected()),
    }
}

fn begin(cursor: &mut Cursor<'_>, words: &[&str]) -> Result<Statement, SqlError> {
    cursor.expect(words)?;
    let _ = cursor.accept(&["work"]) || cursor.accept(&["transaction"]);
    Ok(Statement::Begin(modes(cursor)?))
}

/// `ISOLATION LEVEL …`, `SNAPSHOT`, `READ ONLY`, `NO SAVEPOINT`, with or without commas.
fn modes(cursor: &mut Cursor<'_>) -> Result<TransactionModes, SqlError> {
    let mut modes = TransactionModes::default();
    loop {
        let at = cursor.here().start;
        let twice = if cursor.accept(&["isolation", "level"]) {
            modes.isolation.replace(level(cursor)?).is_some()
        } else if cursor.accept(&["snapshot", "at", "number"]) {
            modes.isolation.get_or_insert(IsolationLevel::Snapshot);
            let Token::Number(number, _) = cursor.peek() else { return Err(cursor.unexpected()) };
            let number = number.clone();
            cursor.advance();
            modes.snapshot.replace(number).is_some()
        } else if cursor.is(&["snapshot"]) && !matches!(cursor.peek_at(1), Token::SingleQuotedString(_)) {
            cursor.advance();
            modes.isolation.replace(IsolationLevel::Snapshot).is_some()
        } else if cursor.accept(&["read", "only"]) {
            modes.read_only.replace(true).is_some()
        } else if cursor.accept(&["read", "write"]) {
            modes.read_only.replace(false).is_some()
        } else if cursor.accept(&["no", "savepoint"]) {
            modes.savepoints.replace(false).is_some()
        } else if cursor.accept(&["savepoint"]) {
            modes.savepoints.replace(true).is_some()
        } else if cursor.accept(&["deferrable"]) {
            modes.deferrable.replace(true).is_some()
        } else if cursor.accept(&["not", "deferrable"]) {
            modes.deferrable.replace(false).is_some()
        } else {
            return Ok(modes);
        };
        if twice {
            return Err(SqlError::syntax("conflicting or redundant options").at(at));
        }
        if cursor.accept_token(&Token::Comma) && cursor.at_end() {
            return Err(cursor.unexpected());
        }
    }
}

fn level(cursor: &mut Cursor<'_>) -> Result<IsolationLevel, SqlError> {
    for (words, level) in [
        (&["read", "uncommitted"][..], IsolationLevel::ReadUncommitted),
        (&["read", "committed"], IsolationLevel::ReadCommitted),
        (&["repeatable", "read"], IsolationLevel::Snapshot),
        (&["snapshot"], IsolationLevel::Snapshot),
        (&["serializable"], IsolationLevel::Serializable),
    ] {
        if cursor.accept(words) {
            return Ok(level);
        }
    }
    Err(cursor.unexpected())
}

/// Behind COMMIT or ROLLBACK: `[WORK | TRANSACTION] [AND [NO] CHAIN]`.
fn chain(cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
    let _ = cursor.accept(&["work"]) || cursor.accept(&["transaction"]);
    if cursor.accept(&["and", "no", "chain"]) {
        return Ok(false);
    }
    Ok(cursor.accept(&["and", "chain"]))
}

fn commit(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.advance();
    if cursor.is(&["prepared"]) {
        cursor.advance();
        return Ok(Statement::EndPrepared { gid: string_literal(cursor)?.0, commit: true });
    }
    let chain = chain(cursor)?;
    if cursor.accept(&["write"]) {
        commit_write(cursor)?;
    }
    Ok(Statement::Commit { chain })
}

/// `COMMIT WRITE [WAIT | NOWAIT] [IMMEDIATE | BATCH]`: every commit waits for the disk so far.
pub(super) fn commit_write(cursor: &mut Cursor<'_>) -> Result<(), SqlError> {
    let (mut wait, mut logging) = (false, false);
    loop {
        if cursor.is(&["nowait"]) {
            return Err(cursor.unsupported("COMMIT WRITE NOWAIT"));
        } else if !wait && cursor.accept(&["wait"]) {
            wait = true;
        } else if !logging && (cursor.accept(&["immediate"]) || cursor.accept(&["batch"])) {
            logging = true;
        } else {
            return Ok(());
        }
    }
}

fn rollback(cursor: &mut Cursor<'_>, word: &str) -> Result<Statement, SqlError> {
    cursor.advance();
    if word == "rollback" {
        if cursor.is(&["prepared"]) {
            cursor.advance();
            return Ok(Statement::EndPrepared { gid: string_literal(cursor)?.0, commit: false });
        }
        let _ = cursor.accept(&["work"]) || cursor.accept(&["transaction"]);
        if cursor.accept(&["to"]) {
            cursor.accept(&["savepoint"]);
            return Ok(Statement::RollbackTo(cursor.name()?));
        }
    }
    Ok(Statement::Rollback { chain: chain(cursor)? })
}

fn release(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.advance();
    cursor.accept(&["savepoint"]);
    let name = cursor.name()?;
    if cursor.is(&["only"]) {
        return Err(cursor.unsupported("RELEASE … ONLY"));
    }
    Ok(Statement::Release(name))
}

fn set(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.advance();
    if cursor.accept(&["session", "characteristics", "as", "transaction"]) {
        return Ok(Statement::SetSessionCharacteristics(some_modes(cursor)?));
    }
    if cursor.accept(&["transaction", "snapshot"]) {
        let snapshot = Some(string_literal(cursor)?.0);
        return Ok(Statement::SetTransaction(TransactionModes { snapshot, ..TransactionModes::default() }));
    }
    if cursor.accept(&["transaction"]) {
        return Ok(Statement::SetTransaction(some_modes(cursor)?));
    }
    if cursor.is(&["constraints"]) {
        return super::table::set_constraints(cursor);
    }
    for (words, what) in [
        (&["role"][..], "SET ROLE"),
        (&["session", "authorization"], "SET SESSION AUTHORIZATION"),
        (&["isolation"], "SET ISOLATION"),
        (&["lock", "mode"], "SET LOCK MODE"),
    ] {
        if cursor.is(words) {
            return Err(cursor.unsupported(what));
        }
    }
    let local = cursor.accept(&["local"]);
    if !local {
        cursor.accept(&["session"]);
    }
    if cursor.is(&["time", "zone"]) {
        let at = cursor.here();
        cursor.expect(&["time", "zone"])?;
        let name = Name { text: "timezone".to_string(), at };
        if cursor.accept(&["local"]) {
            return Ok(Statement::Set { name, value: None, local });
        }
        return Ok(Statement::Set { name, value: setting_value(cursor)?, local });
    }
    let name = setting_name(cursor)?;
    if !cursor.accept_token(&Token::Eq) {
        cursor.expect(&["to"])?;
    }
    Ok(Statement::Set { name, value: setting_value(cursor)?, local })
}

fn some_modes(cursor: &mut Cursor<'_>) -> Result<TransactionModes, SqlError> {
    let start = cursor.here();
    let modes = modes(cursor)?;
    if cursor.here() == start { Err(cursor.unexpected()) } else { Ok(modes) }
}

/// A setting's name; `a.b` is one name.
fn setting_name(cursor: &mut Cursor<'_>) -> Result<Name, SqlError> {
    let mut name = cursor.name()?;
    while cursor.accept_token(&Token::Period) {
        let part = cursor.name()?;
        name.text = format!("{}.{}", name.text, part.text);
        name.at = name.at.to(part.at);
    }
    Ok(name)
}

/// A setting's value; `None` is DEFAULT. Several values become one text with commas.
fn setting_value(cursor: &mut Cursor<'_>) -> Result<Option<String>, SqlError> {
    if cursor.accept(&["default"]) {
        return Ok(None);
    }
    let parts = cursor.list(|cursor| {
        let sign = match cursor.peek() {
            Token::Minus => "-",
            Token::Plus => "+",
            _ => "",
        };
        if !sign.is_empty() {
            cursor.advance();
        }
        let text = match cursor.peek() {
            Token::Number(digits, _) => format!("{sign}{digits}"),
            _ if !sign.is_empty() => return Err(cursor.unexpected()),
            Token::Word(word) if word.quote_style.is_none() => word.value.to_lowercase(),
            Token::Word(word) => word.value.clone(),
            _ => return Ok(string_literal(cursor)?.0),
        };
        cursor.advance();
        Ok(text)
    })?;
    Ok(Some(parts.join(", ")))
}

fn show(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.advance();
    if cursor.accept(&["all"]) {
        return Ok(Statement::ShowAll);
    }
    if cursor.accept(&["statement", "statistics"]) {
        return Ok(Statement::ShowStatementStatistics);
    }
    let at = cursor.here();
    if cursor.accept(&["transaction", "isolation", "level"]) {
        return Ok(Statement::Show(Name { text: "transaction_isolation".to_string(), at }));
    }
    if cursor.accept(&["time", "zone"]) {
        return Ok(Statement::Show(Name { text: "timezone".to_string(), at }));
    }
    Ok(Statement::Show(setting_name(cursor)?))
}

/// `SWEEP [TABLE t] [(PARALLEL n, VERBOSE)]`, `VACUUM [(…)] [VERBOSE] [t]`.
fn sweep(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    let vacuum = cursor.is(&["vacuum"]);
    cursor.advance();
    let (mut verbose, mut parallel, mut table) = (false, None, None);
    if vacuum && matches!(cursor.peek(), Token::LParen) {
        sweep_options(cursor, &mut verbose, &mut parallel)?;
    }
    if vacuum {
        for what in ["full", "freeze"] {
            if cursor.is(&[what]) {
                return Err(cursor.unsupported(&format!("VACUUM {}", what.to_uppercase())));
            }
        }
        verbose |= cursor.accept(&["verbose"]);
        cursor.accept(&["analyze"]); // there are no statistics to collect
        if !cursor.at_end() {
            table = Some(cursor.qualified()?);
        }
        if matches!(cursor.peek(), Token::Comma | Token::LParen) {
            return Err(cursor.unsupported("VACUUM of several tables or of columns"));
        }
    } else {
        if cursor.accept(&["table"]) {
            table = Some(cursor.qualified()?);
        }
        if matches!(cursor.peek(), Token::LParen) {
            sweep_options(cursor, &mut verbose, &mut parallel)?;
        }
    }
    Ok(Statement::Sweep { table, verbose, parallel })
}

fn sweep_options(
    cursor: &mut Cursor<'_>,
    verbose: &mut bool,
    parallel: &mut Option<u32>,
) -> Result<(), SqlError> {
    cursor.expect_token(&Token::LParen)?;
    cursor.list(|cursor| {
        let at = cursor.here().start;
        if cursor.accept(&["parallel"]) {
            let workers = cursor.integer()?;
            let fits = u32::try_from(workers).ok().filter(|workers| (1..=1024).contains(workers));
            let error = || SqlError::new("22023", "PARALLEL must be between 1 and 1024").at(at);
            *parallel = Some(fits.ok_or_else(error)?);
        } else if cursor.accept(&["verbose"]) {
            *verbose = flag(cursor)?;
        } else if let Some(word) = cursor.word() {
            let error = SqlError::syntax(format!("unrecognized SWEEP option \"{word}\""));
            return Err(error.at(at));
        } else {
            return Err(cursor.unexpected());
        }
        Ok(())
    })?;
    cursor.expect_token(&Token::RParen)
}

/// An optional boolean behind an option's name.
fn flag(cursor: &mut Cursor<'_>) -> Result<bool, SqlError> {
    for (words, value) in [("true", true), ("on", true), ("false", false), ("off", false)] {
        if cursor.accept(&[words]) {
            return Ok(value);
        }
    }
    Ok(true)
}

fn explain(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.advance();
    let mut analyze = false;
    if matches!(cursor.peek(), Token::LParen) && is_option_list(cursor) {
        cursor.advance();
        cursor.list(|cursor| {
            if cursor.accept(&["analyze"]) {
                analyze = flag(cursor)?;
            } else if cursor.accept(&["format", "text"]) || cursor.accept(&["costs", "off"]) {
                // Text without costs is what there is.
            } else if let Some(word) = cursor.word() {
                return Err(cursor.unsupported(&format!("EXPLAIN ({})", word.to_uppercase())));
            } else {
                return Err(cursor.unexpected());
            }
            Ok(())
        })?;
        cursor.expect_token(&Token::RParen)?;
    } else {
        analyze = cursor.accept(&["analyze"]);
        if cursor.is(&["verbose"]) {
            return Err(cursor.unsupported("EXPLAIN VERBOSE"));
        }
    }
    let at = cursor.here();
    if cursor.is(&["explain"]) {
        return Err(cursor.unexpected()); // before it recurses
    }
    let statement = super::statement(cursor)?;
    match &statement {
        Statement::Query(_) | Statement::Insert(_) | Statement::Update(_) | Statement::Delete(_) => {
            Ok(Statement::Explain { analyze, statement: Box::new(statement) })
        }
        _ => Err(cursor.source().near(at.start)),
    }
}

/// `EXPLAIN (SELECT 1)` is a query in parentheses, `EXPLAIN (ANALYZE) …` has options.
fn is_option_list(cursor: &Cursor<'_>) -> bool {
    cursor.word_at(1).is_some_and(|word| !matches!(word.as_str(), "select" | "values" | "with" | "table"))
}

fn do_block(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.advance();
    let mut language = "plpgsql".to_string();
    let mut body = None;
    while !cursor.at_end() {
        if cursor.accept(&["language"]) {
            language = cursor.name()?.text;
        } else if body.is_none() {
            body = Some(string_literal(cursor)?);
        } else {
            return Err(cursor.unexpected());
        }
    }
    let Some((text, at, start)) = body else {
        return Err(SqlError::syntax("no inline code specified"));
    };
    if language != "plpgsql" {
        return Err(SqlError::unsupported(format!("DO in language {language}")).at(at.start));
    }
    let block = parse_body(&text).map_err(|error| within(error, at.start, start))?;
    Ok(Statement::Do(FunctionBody { text, at, start, block: Some(Box::new(block)) }))
}

/// Moves an error's position from a body to the statement it is part of.
pub(super) fn within(mut error: SqlError, literal: u32, start: Option<u32>) -> SqlError {
    error.position = match (error.position, start) {
        (Some(position), Some(start)) => Some(start + position),
        (_, None) | (None, _) => Some(literal + 1),
    };
    error
}

fn alter_database(cursor: &mut Cursor<'_>) -> Result<Statement, SqlError> {
    cursor.expect(&["alter", "database"])?;
    if !cursor.is(&["set"]) && !cursor.is(&["reset"]) {
        cursor.name()?; // there is one database; its name may be given
    }
    if cursor.accept(&["reset"]) {
        return Ok(Statement::AlterDatabase { name: setting_name(cursor)?, value: None });
    }
    if !cursor.accept(&["set"]) {
        return Err(cursor.unsupported("ALTER DATABASE other than SET"));
    }
    let name = setting_name(cursor)?;
    if !cursor.accept_token(&Token::Eq) {
        cursor.expect(&["to"])?;
    }
    Ok(Statement::AlterDatabase { name, value: setting_value(cursor)? })
}
