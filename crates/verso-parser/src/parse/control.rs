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
const KNOWN: &[&str] = &["copy", "import", "prepare", "refresh", "security", "unload", "connect"];

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
        "load" => super::extension::load(cursor),
        "refresh" => super::view::refresh(cursor),
        "analyze" | "analyse" => super::table::analyze(cursor),
        _ if KNOWN.contains(&word) => {
            let longer: [&[&str]; 2] = [&["import", "foreign", "schema"], &["security", "label"]];
            let second = cursor.word_at(1).filter(|_| word == "refresh");
            let what = match (longer.into_iter().find(|words| cursor.is(words)), second) {
                (Some(words), _) => words.join(" ").to_uppercase(),
                (None, Some(second)) => format!("{} {}", word.to_uppercase(), second.to_uppercase()),
                (None, None) => word.to_uppercase(),
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
        let (named, only) = super::table::analyzed(cursor)?;
        if !options.analyze && named.iter().any(|(_, columns)| !columns.is_empty()) {
            let text = "ANALYZE option must be specified when a column list is provided";
            return Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
        }
        tables.extend(named.iter().map(|(name, _)| name.clone()));
        let verbose = options.verbose;
        analyze = options.analyze.then_some(Analyze { verbose, tables: named, only, ..Analyze::default() });
    } else {
        if cursor.accept(&["table"]) {
            tables.push(cursor.qualified()?);
        }
        if matches!(cursor.peek(), Token::LParen) {
            sweep_options(cursor, &mut options, false)?;
        }
    }
    let SweepOptions { verbose, parallel, full, mut nothing, .. } = options;
    if full && let Some(text) = options.refused_by_full() {
        return Err(SyntaxError::new(sqlstate::FEATURE_NOT_SUPPORTED, text));
    }
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
    if !options.process_main && !nothing {
        // Long values stand with the rows of their table: nothing is left to be swept.
        match analyze {
            Some(analyze) => return Ok(Statement::Analyze(analyze)),
            None => nothing = true,
        }
    }
    Ok(Statement::Sweep { tables, verbose, parallel, vacuum, analyze, full, nothing })
}

/// What stands in parentheses behind SWEEP and VACUUM.
struct SweepOptions {
    verbose: bool,
    analyze: bool,
    full: bool,
    nothing: bool,
    parallel: Option<u32>,
    process_main: bool,
    process_toast: bool,
    every_page: bool,
    /// BUFFER_USAGE_LIMIT was given.
    limited: bool,
}

impl Default for SweepOptions {
    fn default() -> SweepOptions {
        SweepOptions {
            verbose: false,
            analyze: false,
            full: false,
            nothing: false,
            parallel: None,
            process_main: true,
            process_toast: true,
            every_page: false,
            limited: false,
        }
    }
}

impl SweepOptions {
    /// What PostgreSQL says of options that FULL does not go with.
    fn refused_by_full(&self) -> Option<&'static str> {
        if self.parallel.is_some_and(|workers| workers > 1) {
            return Some("VACUUM FULL cannot be performed in parallel");
        }
        if self.limited && !self.analyze {
            return Some("BUFFER_USAGE_LIMIT cannot be specified for VACUUM FULL");
        }
        if self.every_page {
            return Some("VACUUM option DISABLE_PAGE_SKIPPING cannot be used with FULL");
        }
        (!self.process_toast).then_some("PROCESS_TOAST required with VACUUM FULL")
    }
}

/// Options of VACUUM of which both values ask for what a sweep does anyway: it skips only pages without anything to remove, cuts
/// nothing off a file that others would have to wait for, removes entries of indexes along with their rows, freezes
/// nothing, and waits for no lock.
const VACUUM_FLAGS: [&str; 4] = ["truncate", "index_cleanup", "freeze", "skip_locked"];

/// The value of BUFFER_USAGE_LIMIT, which is checked: pages that a sweep reads are the first that leave the buffer pool anyway.
pub(super) fn usage_limit(cursor: &mut Cursor<'_>, at: u32) -> Result<(), SyntaxError> {
    let text = match cursor.peek() {
        Token::String(_) => string_literal(cursor)?.0,
        Token::Number(_) => cursor.integer()?.to_string(),
        Token::Comma | Token::RParen => {
            return Err(SyntaxError::syntax("buffer_usage_limit requires a parameter").at(at));
        }
        _ => return Err(cursor.unexpected()),
    };
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let unit = match text[digits..].trim() {
        "" | "kB" => Some(1),
        "MB" => Some(1 << 10),
        "GB" => Some(1 << 20),
        "TB" => Some(1 << 30),
        _ => None,
    };
    let size = text[..digits].parse::<u64>().ok().zip(unit).and_then(|(size, unit)| size.checked_mul(unit));
    if size.is_some_and(|size| size == 0 || (128..=16_777_216).contains(&size)) {
        return Ok(());
    }
    let text = "BUFFER_USAGE_LIMIT option must be 0 or between 128 kB and 16777216 kB";
    Err(SyntaxError::new(sqlstate::INVALID_PARAMETER_VALUE, text).at(at))
}

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
        match word.as_str() {
            "parallel" => {
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
            "verbose" => options.verbose = flag(cursor, &word)?,
            "analyze" if vacuum => options.analyze = flag(cursor, &word)?,
            "full" if vacuum => options.full = flag(cursor, &word)?,
            "only_database_stats" if vacuum => options.nothing = flag(cursor, &word)?,
            "skip_database_stats" if vacuum => drop(flag(cursor, &word)?),
            "process_main" if vacuum => options.process_main = flag(cursor, &word)?,
            "process_toast" if vacuum => options.process_toast = flag(cursor, &word)?,
            "disable_page_skipping" if vacuum => options.every_page = flag(cursor, &word)?,
            "index_cleanup" if vacuum && cursor.accept(&["auto"]) => {}
            own if vacuum && VACUUM_FLAGS.contains(&own) => drop(flag(cursor, &word)?),
            "buffer_usage_limit" if vacuum => {
                usage_limit(cursor, at)?;
                options.limited = true;
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
