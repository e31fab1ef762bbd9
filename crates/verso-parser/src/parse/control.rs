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
const KNOWN: &[&str] = &["copy", "import", "load", "prepare", "refresh", "security", "unload", "connect"];

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
        // Informix's, outside of transactions: here locks of tables last as long as their transaction.
        "unlock" => Err(cursor.unsupported("UNLOCK TABLE")),
        "reindex" => super::table::reindex(cursor),
        "cluster" => super::table::cluster(cursor),
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
            wanted.schema_only = flag(cursor, "schema_only")?;
        } else if cursor.accept(&["data_only"]) {
            wanted.data_only = flag(cursor, "data_only")?;
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

/// `SWEEP [TABLE t] [(PARALLEL n, VERBOSE)]`, `VACUUM [(…)] [VERBOSE] [t, …]`.
fn sweep(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    let vacuum = cursor.is(&["vacuum"]);
    cursor.advance();
    let (mut options, mut tables) = (SweepOptions::default(), Vec::new());
    let mut analyze = None;
    if vacuum && matches!(cursor.peek(), Token::LParen) {
        sweep_options(cursor, &mut options, true)?;
    } else if vacuum {
        options.full = cursor.accept(&["full"]);
        cursor.accept(&["freeze"]);
        options.verbose = cursor.accept(&["verbose"]);
        options.analyze = cursor.accept(&["analyze"]) || cursor.accept(&["analyse"]);
    }
    if vacuum {
        let named = super::table::analyzed(cursor)?;
        if !options.analyze && named.iter().any(|(_, columns)| !columns.is_empty()) {
            let text = "ANALYZE option must be specified when a column list is provided";
            return Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        tables.extend(named.iter().map(|(name, _)| name.clone()));
        let verbose = options.verbose;
        analyze = options.analyze.then_some(Analyze { verbose, tables: named, ..Analyze::default() });
    } else {
        if cursor.accept(&["table"]) {
            tables.push(cursor.qualified()?);
        }
        if matches!(cursor.peek(), Token::LParen) {
            sweep_options(cursor, &mut options, false)?;
        }
    }
    let SweepOptions { verbose, parallel, full, nothing, .. } = options;
    let refused = match nothing {
        false => None,
        true if !tables.is_empty() => Some("a list of tables"),
        true if verbose || full || analyze.is_some() || parallel.is_some() => Some("other VACUUM options"),
        true => None,
    };
    if let Some(what) = refused {
        let text = format!("ONLY_DATABASE_STATS cannot be specified with {what}");
        return Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
    Ok(Statement::Sweep { tables, verbose, parallel, vacuum, analyze, full, nothing })
}

/// What stands in parentheses behind SWEEP and VACUUM.
#[derive(Default)]
struct SweepOptions {
    verbose: bool,
    analyze: bool,
    full: bool,
    nothing: bool,
    parallel: Option<u32>,
}

/// Options of VACUUM, the value that says nothing else than what a sweep does, and whether the other one is PostgreSQL's, too.
const VACUUM_FLAGS: [(&str, bool); 7] = [
    ("disable_page_skipping", false),
    ("process_main", true),
    ("process_toast", true),
    ("truncate", true),
    ("index_cleanup", true),
    // Nothing of a database has to be frozen, has statistics of its own, or is locked by a sweep: both values are the same.
    ("freeze", false),
    ("skip_locked", false),
];

fn sweep_options(
    cursor: &mut Cursor<'_>,
    options: &mut SweepOptions,
    vacuum: bool,
) -> Result<(), SyntaxError> {
    cursor.expect_token(&Token::LParen)?;
    cursor.list(|cursor| {
        let at = cursor.here().start;
        let Some(word) = cursor.word() else { return Err(cursor.unexpected()) };
        cursor.advance();
        let usual = VACUUM_FLAGS.iter().find(|(name, _)| vacuum && *name == word);
        match (word.as_str(), usual) {
            ("parallel", _) => {
                if matches!(cursor.peek(), Token::Comma | Token::RParen) {
                    let text = "parallel option requires a value between 0 and 1024";
                    return Err(SyntaxError::syntax(text).at(at));
                }
                let workers = cursor.integer()?;
                let least = if vacuum { 0 } else { 1 };
                let fits = u32::try_from(workers).ok().filter(|workers| (least..=1024).contains(workers));
                let error = || {
                    let text = format!("parallel workers for vacuum must be between {least} and 1024");
                    SyntaxError::syntax(text).at(at)
                };
                // With none besides, the session's own thread does it.
                options.parallel = Some(fits.ok_or_else(error)?.max(1));
            }
            ("verbose", _) => options.verbose = flag(cursor, &word)?,
            ("analyze", _) if vacuum => options.analyze = flag(cursor, &word)?,
            ("full", _) if vacuum => options.full = flag(cursor, &word)?,
            ("only_database_stats", _) if vacuum => options.nothing = flag(cursor, &word)?,
            ("skip_database_stats", _) if vacuum => drop(flag(cursor, &word)?),
            ("index_cleanup", _) if vacuum && cursor.accept(&["auto"]) => {}
            (_, Some((name, usual))) => {
                let on = flag(cursor, name)?;
                if on != *usual && !matches!(*name, "freeze" | "skip_locked") {
                    let what =
                        format!("VACUUM ({} {})", name.to_uppercase(), if on { "TRUE" } else { "FALSE" });
                    return Err(SyntaxError::unsupported(what).at(at));
                }
            }
            ("buffer_usage_limit", _) if vacuum => {
                return Err(SyntaxError::unsupported("VACUUM (BUFFER_USAGE_LIMIT)").at(at));
            }
            _ => {
                let what = if vacuum { "VACUUM" } else { "SWEEP" };
                return Err(SyntaxError::syntax(format!("unrecognized {what} option \"{word}\"")).at(at));
            }
        }
        Ok(())
    })?;
    cursor.expect_token(&Token::RParen)
}

/// An optional boolean behind an option's name.
fn flag(cursor: &mut Cursor<'_>, name: &str) -> Result<bool, SyntaxError> {
    for (words, value) in [("true", true), ("on", true), ("false", false), ("off", false)] {
        if cursor.accept(&[words]) {
            return Ok(value);
        }
    }
    match cursor.peek() {
        Token::Comma | Token::RParen => Ok(true),
        Token::Number(..) => match cursor.integer()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(SyntaxError::syntax(format!("{name} requires a Boolean value"))),
        },
        _ => Err(SyntaxError::syntax(format!("{name} requires a Boolean value"))),
    }
}
