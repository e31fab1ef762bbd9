//! Statements that are not about rows: which they are, and those for maintenance.

use super::lexer::Token;

use super::block::{call, do_block};
use super::cursor::Cursor;
use super::database::alter_database;
use super::explain::explain;
use super::setting::{reset, set, show};
use super::string_literal;
use super::transaction::{begin, commit, release, rollback};
use crate::error::SyntaxError;
use crate::syntax::{Analyze, Flashback, LogicalBackup, Statement};
use verso_types::sqlstate;

/// First words of statements that PostgreSQL or the experiments have and Verso has not, yet.
const KNOWN: &[&str] =
    &["cluster", "copy", "import", "load", "prepare", "refresh", "security", "unload", "connect"];

/// Parses a statement that begins with `word`.
pub fn statement(cursor: &mut Cursor<'_>, word: &str) -> Result<Statement, SyntaxError> {
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
        "reset" => reset(cursor),
        "sweep" | "vacuum" => sweep(cursor),
        "prewarm" => {
            cursor.advance();
            cursor.accept(&["table"]);
            Ok(Statement::Prewarm(cursor.qualified()?))
        }
        "flashback" => {
            cursor.expect(&["flashback", "table"])?;
            let table = cursor.qualified()?;
            if !cursor.is(&["to", "timestamp"]) && !cursor.is(&["to", "snapshot"]) {
                return Err(cursor.unexpected());
            }
            let past = cursor.past()?;
            Ok(Statement::Flashback(Box::new(Flashback { table, past })))
        }
        "checkpoint" => {
            cursor.advance();
            Ok(Statement::Checkpoint)
        }
        "backup" => backup(cursor),
        "prepare" if cursor.is(&["prepare", "transaction"]) => {
            cursor.expect(&["prepare", "transaction"])?;
            Ok(Statement::PrepareTransaction(string_literal(cursor)?.0))
        }
        "explain" => explain(cursor),
        "comment" => super::comment::comment(cursor),
        "do" => do_block(cursor),
        "call" => Ok(Statement::Call(call(cursor)?)),
        "alter" if cursor.is(&["alter", "database"]) || cursor.is(&["alter", "system"]) => {
            alter_database(cursor)
        }
        "alter" if cursor.is(&["alter", "default", "privileges"]) => super::rights::default_rights(cursor),
        "alter" if cursor.is(&["alter", "policy"]) => {
            cursor.advance();
            super::rights::policy(cursor, true)
        }
        "alter" => super::table::alter(cursor),
        "grant" | "revoke" => super::rights::grant(cursor),
        "reassign" => super::rights::reassign(cursor),
        "lock" => super::table::lock_table(cursor),
        "reindex" => super::table::reindex(cursor),
        "refresh" => super::view::refresh(cursor),
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

/// `BACKUP DATABASE TO 'folder' [INCREMENTAL FROM 'folder']`, `BACKUP DATABASE TO STDOUT [(option, …)]`.
fn backup(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.expect(&["backup", "database", "to"])?;
    if cursor.accept(&["stdout"]) {
        return Ok(Statement::LogicalBackup(logical_backup(cursor)?));
    }
    let folder = string_literal(cursor)?.0;
    let parent = match cursor.accept(&["incremental", "from"]) {
        true => Some(string_literal(cursor)?.0),
        false => None,
    };
    Ok(Statement::Backup { folder, parent })
}

/// `[[WITH] (FORMAT archive | sql, PARALLEL n, COMPRESS 'how', TABLE 'name', SCHEMA_ONLY, DATA_ONLY)]`.
fn logical_backup(cursor: &mut Cursor<'_>) -> Result<LogicalBackup, SyntaxError> {
    let mut wanted = LogicalBackup::default();
    let with = cursor.accept(&["with"]);
    if !with && !matches!(cursor.peek(), Token::LParen) {
        return Ok(wanted);
    }
    cursor.expect_token(&Token::LParen)?;
    cursor.list(|cursor| {
        let at = cursor.here().start;
        if cursor.accept(&["format"]) {
            wanted.script = match cursor.word().as_deref() {
                Some("archive") => false,
                Some("sql") => true,
                _ => return Err(cursor.unexpected()),
            };
            cursor.advance();
        } else if cursor.accept(&["parallel"]) {
            wanted.parallel = Some(workers(cursor, at)?);
        } else if cursor.accept(&["compress"]) {
            wanted.compress = Some(string_literal(cursor)?.0);
        } else if cursor.accept(&["table"]) {
            wanted.tables.push(string_literal(cursor)?.0);
        } else if cursor.accept(&["schema_only"]) {
            wanted.schema_only = flag(cursor)?;
        } else if cursor.accept(&["data_only"]) {
            wanted.data_only = flag(cursor)?;
        } else if let Some(word) = cursor.word() {
            let error = SyntaxError::syntax(format!("unrecognized BACKUP option \"{word}\""));
            return Err(error.at(at));
        } else {
            return Err(cursor.unexpected());
        }
        Ok(())
    })?;
    cursor.expect_token(&Token::RParen)?;
    Ok(wanted)
}

/// How many threads PARALLEL asks for.
fn workers(cursor: &mut Cursor<'_>, at: u32) -> Result<u32, SyntaxError> {
    let workers = cursor.integer()?;
    let fits = u32::try_from(workers).ok().filter(|workers| (1..=1024).contains(workers));
    fits.ok_or_else(|| SyntaxError::new("22023", "PARALLEL must be between 1 and 1024").at(at))
}

/// `SWEEP [TABLE t] [(PARALLEL n, VERBOSE)]`, `VACUUM [(…)] [VERBOSE] [t]`.
fn sweep(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let vacuum = cursor.is(&["vacuum"]);
    cursor.advance();
    let (mut verbose, mut parallel, mut table) = (false, None, None);
    let mut wanted = false;
    let mut analyze = None;
    if vacuum && matches!(cursor.peek(), Token::LParen) {
        sweep_options(cursor, &mut verbose, &mut parallel, Some(&mut wanted))?;
    }
    if vacuum {
        for what in ["full", "freeze"] {
            if cursor.is(&[what]) {
                return Err(cursor.unsupported(&format!("VACUUM {}", what.to_uppercase())));
            }
        }
        verbose |= cursor.accept(&["verbose"]);
        wanted |= cursor.accept(&["analyze"]) || cursor.accept(&["analyse"]);
        let tables = super::table::analyzed(cursor)?;
        match tables.as_slice() {
            [] => {}
            [(one, columns)] if wanted || columns.is_empty() => table = Some(one.clone()),
            [_] => {
                let text = "ANALYZE option must be specified when a column list is provided";
                return Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
            }
            _ => return Err(cursor.unsupported("VACUUM of several tables")),
        }
        analyze = wanted.then_some(Analyze { verbose, tables, ..Analyze::default() });
    } else {
        if cursor.accept(&["table"]) {
            table = Some(cursor.qualified()?);
        }
        if matches!(cursor.peek(), Token::LParen) {
            sweep_options(cursor, &mut verbose, &mut parallel, None)?;
        }
    }
    Ok(Statement::Sweep { table, verbose, parallel, vacuum, analyze })
}

fn sweep_options(
    cursor: &mut Cursor<'_>,
    verbose: &mut bool,
    parallel: &mut Option<u32>,
    mut analyze: Option<&mut bool>,
) -> Result<(), SyntaxError> {
    cursor.expect_token(&Token::LParen)?;
    cursor.list(|cursor| {
        let at = cursor.here().start;
        if cursor.accept(&["parallel"]) {
            *parallel = Some(workers(cursor, at)?);
        } else if cursor.accept(&["verbose"]) {
            *verbose = flag(cursor)?;
        } else if analyze.is_some() && cursor.accept(&["analyze"]) {
            let on = flag(cursor)?;
            if let Some(analyze) = &mut analyze {
                **analyze = on;
            }
        } else if let Some(word) = cursor.word() {
            let error = SyntaxError::syntax(format!("unrecognized SWEEP option \"{word}\""));
            return Err(error.at(at));
        } else {
            return Err(cursor.unexpected());
        }
        Ok(())
    })?;
    cursor.expect_token(&Token::RParen)
}

/// An optional boolean behind an option's name.
fn flag(cursor: &mut Cursor<'_>) -> Result<bool, SyntaxError> {
    for (words, value) in [("true", true), ("on", true), ("false", false), ("off", false)] {
        if cursor.accept(&[words]) {
            return Ok(value);
        }
    }
    Ok(true)
}
