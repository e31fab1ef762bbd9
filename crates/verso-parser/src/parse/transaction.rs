//! BEGIN, COMMIT, ROLLBACK, SAVEPOINT, and the modes of transactions.

use super::lexer::Token;

use super::cursor::Cursor;
use super::string_literal;
use crate::error::SyntaxError;
use crate::syntax::{CommitWrite, IsolationLevel, Statement, TransactionModes};

/// BEGIN, START TRANSACTION: behind these words.
pub(super) fn begin(cursor: &mut Cursor<'_>, words: &[&str]) -> Result<Statement, SyntaxError> {
    cursor.expect(words)?;
    let _ = cursor.accept(&["work"]) || cursor.accept(&["transaction"]);
    Ok(Statement::Begin { modes: modes(cursor)?, start: words.len() > 1 })
}

/// `ISOLATION LEVEL …`, `SNAPSHOT`, `READ ONLY`, `NO SAVEPOINT`, with or without commas; of several that are about the same the last one
/// counts, as in PostgreSQL.
fn modes(cursor: &mut Cursor<'_>) -> Result<TransactionModes, SyntaxError> {
    let mut modes = TransactionModes::default();
    loop {
        if cursor.accept(&["isolation", "level"]) {
            modes.isolation = Some(level(cursor)?);
        } else if cursor.accept(&["snapshot", "at", "number"]) {
            modes.isolation.get_or_insert(IsolationLevel::Snapshot);
            let Token::Number(number) = cursor.peek() else { return Err(cursor.unexpected()) };
            let number = cursor.source().meaning(number);
            cursor.advance();
            modes.snapshot = Some(number.to_string());
        } else if cursor.is(&["snapshot"]) && !matches!(cursor.peek_at(1), Token::String(_)) {
            cursor.advance();
            modes.isolation = Some(IsolationLevel::Snapshot);
        } else if cursor.accept(&["read", "only"]) {
            modes.read_only = Some(true);
        } else if cursor.accept(&["read", "write"]) {
            modes.read_only = Some(false);
        } else if cursor.accept(&["no", "savepoint"]) {
            modes.savepoints = Some(false);
        } else if cursor.accept(&["savepoint"]) {
            modes.savepoints = Some(true);
        } else if cursor.accept(&["deferrable"]) {
            modes.deferrable = Some(true);
        } else if cursor.accept(&["not", "deferrable"]) {
            modes.deferrable = Some(false);
        } else {
            return Ok(modes);
        }
        if cursor.accept_token(&Token::Comma) && cursor.at_end() {
            return Err(cursor.unexpected());
        }
    }
}

fn level(cursor: &mut Cursor<'_>) -> Result<IsolationLevel, SyntaxError> {
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
pub(super) fn chain(cursor: &mut Cursor<'_>) -> Result<bool, SyntaxError> {
    let _ = cursor.accept(&["work"]) || cursor.accept(&["transaction"]);
    if cursor.accept(&["and", "no", "chain"]) {
        return Ok(false);
    }
    Ok(cursor.accept(&["and", "chain"]))
}

/// COMMIT, COMMIT PREPARED.
pub(super) fn commit(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    if cursor.is(&["prepared"]) {
        cursor.advance();
        return Ok(Statement::EndPrepared { gid: string_literal(cursor)?.0, commit: true });
    }
    let (chain, write) = commit_options(cursor)?;
    Ok(Statement::Commit { chain, write })
}

/// Behind COMMIT: `[WORK | TRANSACTION] [WRITE …] [AND [NO] CHAIN] [WRITE …]`.
pub(super) fn commit_options(cursor: &mut Cursor<'_>) -> Result<(bool, CommitWrite), SyntaxError> {
    let _ = cursor.accept(&["work"]) || cursor.accept(&["transaction"]);
    let mut write = commit_write(cursor);
    let chain = chain(cursor)?;
    if write == CommitWrite::default() {
        write = commit_write(cursor);
    }
    Ok((chain, write))
}

/// `WRITE [WAIT | NOWAIT] [IMMEDIATE | BATCH]`, in any order.
fn commit_write(cursor: &mut Cursor<'_>) -> CommitWrite {
    let mut write = CommitWrite::default();
    if !cursor.accept(&["write"]) {
        return write;
    }
    loop {
        let (part, words) = match (write.wait, write.batch) {
            (None, _) if cursor.is(&["wait"]) || cursor.is(&["nowait"]) => (&mut write.wait, "wait"),
            (_, None) if cursor.is(&["batch"]) || cursor.is(&["immediate"]) => (&mut write.batch, "batch"),
            _ => return write,
        };
        *part = Some(cursor.is(&[words]));
        cursor.advance();
    }
}

/// ROLLBACK, ROLLBACK TO, ROLLBACK PREPARED.
pub(super) fn rollback(cursor: &mut Cursor<'_>, word: &str) -> Result<Statement, SyntaxError> {
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

/// RELEASE.
pub(super) fn release(cursor: &mut Cursor<'_>) -> Result<Statement, SyntaxError> {
    cursor.advance();
    cursor.accept(&["savepoint"]);
    let name = cursor.name()?;
    let only = cursor.accept(&["only"]);
    Ok(Statement::Release { name, only })
}

/// Modes, of which there is one at least.
pub(super) fn some_modes(cursor: &mut Cursor<'_>) -> Result<TransactionModes, SyntaxError> {
    let start = cursor.here();
    let modes = modes(cursor)?;
    if cursor.here() == start { Err(cursor.unexpected()) } else { Ok(modes) }
}
